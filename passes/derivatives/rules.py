"""Which rules the engines of both modes use: those of control flow and of the tape, and those that the user gives.

All other ops are differentiated by their rows (irad.ops.core).
"""

from __future__ import annotations

from irad.passes.derivatives import custom_rules, forward, reverse_loops, reverse_rules
from irad.passes.derivatives.reverse import Rules

RULES = Rules(
    reverse={
        "if": reverse_rules.branches, "checkpoint": reverse_rules.run_again, "for": reverse_loops.for_loop,
        "while": reverse_loops.while_loop, "call": reverse_rules.called, "tape": reverse_rules.empty_tape,
        "push": reverse_rules.pushed, "pop": reverse_rules.popped, "custom_vjp": custom_rules.vjp_reverse,
        "custom_jvp": custom_rules.jvp_reverse,
    },
    forward={
        "if": forward.branches, "checkpoint": forward.branches, "for": forward.loops, "while": forward.loops,
        "call": forward.called, "push": forward.pushed, "pop": forward.popped, "custom_vjp": custom_rules.vjp_forward,
        "custom_jvp": custom_rules.jvp_forward,
    },
)  # fmt: skip
