"""Transcendental functions as functions of the module, where it is used so often that inlining would make the text long.

Inlined, a function is some 40 instructions on each register of lanes, and what LLVM takes for a loop's body grows faster than the
body. A call passes the lanes in registers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from irad.codegen.emit.folds import Rule
from irad.codegen.emit.function import OpenFunction
from irad.codegen.kernel.form import Apply, Kernel, Let, walk
from irad.codegen.llvm_text import Val, type_text
from irad.codegen.math.poly import FUNCTIONS
from irad.codegen.math.values import Values

_INLINED = 24  # uses of a function in a module that are inlined at most


class SharedFunctions:
    """Transcendental functions that a module uses so often that they are functions in it instead of inlined."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        uses = Counter(s.expr.op for k in kernels for s in walk(k.body) if isinstance(s, Let) and isinstance(s.expr, Apply))
        self.often = frozenset(op for op, n in uses.items() if n > _INLINED and op in FUNCTIONS)
        self.made: dict[str, Values] = {}
        self.texts: list[str] = []

    def call(self, b: Values, rule: Rule, op: str, args: Sequence[Val], dtype: str) -> Val:
        """The value of the function for the operands' lanes; its text is made at the first call."""
        lanes = max(a.lanes for a in args)
        args = [b.broadcast(a, lanes) for a in args]
        name = "irad." + "_".join([op, *(a.dtype for a in args), dtype, str(lanes)])
        if name not in self.made:
            self.made[name] = self._define(rule, name, args, dtype)
        given = ", ".join(f"{a.ty} {a.n}" for a in args)
        result = type_text(dtype, lanes)
        return b.op(f"call {result} @{name}({given})", dtype, lanes, result, max(a.d for a in args))

    def _define(self, rule: Rule, name: str, args: Sequence[Val], dtype: str) -> Values:
        inner = OpenFunction()
        inner.b.lanes = max(a.lanes for a in args)
        params = [Val(f"%a{k}", a.dtype, a.lanes, a.ty, 0) for k, a in enumerate(args)]
        out = rule(inner.b, params, dtype)
        head = f"internal {out.ty} @{name}({', '.join(f'{p.ty} {p.n}' for p in params)})"
        self.texts.append(inner.text(head, f"{out.ty} {out.n}"))
        return inner.b
