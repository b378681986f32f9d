"""Running passes: a table of them by name, and a loop that verifies after each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from time import perf_counter
from typing import Any

from irad.core.ir import Program
from irad.core.notes import Notes
from irad.core.verify import verify
from irad.passes.clean.cse import cse
from irad.passes.clean.dce import dce
from irad.passes.clean.fold import fold
from irad.passes.clean.inline import inline
from irad.passes.clean.licm import licm
from irad.passes.clean.powers import powers
from irad.passes.clean.ranges import ranges
from irad.passes.clean.reciprocal import reciprocal
from irad.passes.clean.result_extents import result_extents
from irad.passes.clean.shorter_records import shorter_records
from irad.passes.clean.simplify import simplify
from irad.passes.clean.unscatter import unscatter
from irad.passes.complex.complex_parts import complex_parts
from irad.passes.contractions.fuse_dot import fuse_dot
from irad.passes.derivatives.autodiff import grad, vjp
from irad.passes.derivatives.custom import custom
from irad.passes.derivatives.expand import expand
from irad.passes.fusion.fuse import fuse
from irad.passes.fusion.recompute import recompute
from irad.passes.fusion.versions import versions
from irad.passes.memory.pingpong import pingpong
from irad.passes.memory.plan import plan
from irad.passes.memory.unfilled import unfilled
from irad.passes.small_arrays.linear_carry import linear_carry
from irad.passes.small_arrays.scalarize import scalarize

Pass = Callable[..., Program]
Observer = Callable[[str, Program, Program, float], None]

PASSES: dict[str, Pass] = {
    "inline": inline,
    "expand": expand,
    "custom": custom,
    "autodiff": vjp,
    "grad": grad,
    "complex_parts": complex_parts,
    "simplify": simplify,
    "fold": fold,
    "cse": cse,
    "result_extents": result_extents,
    "reciprocal": reciprocal,
    "licm": licm,
    "linear_carry": linear_carry,
    "ranges": ranges,
    "dce": dce,
    "shorter_records": shorter_records,
    "unscatter": unscatter,
    "scalarize": scalarize,
    "powers": powers,
    "versions": versions,
    "fuse_dot": fuse_dot,
    "fuse": fuse,
    "recompute": recompute,
    "unfilled": unfilled,
    "pingpong": pingpong,
    "plan": plan,
}


# Passes that also take the flags of `irad.compile(fastmath=)`: liberties with numbers that are no derivatives.
FLAGGED = ("simplify", "reciprocal", "linear_carry")
IDEMPOTENT = ("simplify", "fold", "cse", "dce")  # not run again before something has changed
NOTED = ("expand", "scalarize", "fuse_dot", "fuse", "recompute", "plan")


def run(
    program: Program,
    names: Iterable[str],
    observe: Observer | None = None,
    fastmath: Set[str] = frozenset(),
    donated: Set[int] = frozenset(),
    notes: Notes | None = None,
    budget: int | None = None,
) -> Program:
    """The program after the named passes, in order; each result is verified.

    `fastmath`: flags, see irad.options. `donated`: parameters of the entry whose memory `plan` may use. `notes`: where passes
    of `NOTED` say what they decide. `budget`: bytes that a loop may keep for its backward, see irad.passes.derivatives.checkpointing.

    `observe(name, before, after, seconds)` is called after each pass; the time is the pass's own, without verification.
    Raises KeyError for a name that is no pass and VerifyError, naming the pass, if one breaks an invariant.
    """
    last: dict[str, Program] = {}  # what each pass of IDEMPOTENT gave
    for name in names:
        if name not in PASSES:
            raise KeyError(f"there is no pass {name!r}; there are {', '.join(sorted(PASSES))}")
        start = perf_counter()
        more = fastmath if name in FLAGGED else donated if name == "plan" else ()
        said: dict[str, Any] = {"notes": notes} if notes is not None and name in NOTED else {}
        if name == "expand" and budget is not None:
            said["budget"] = budget
        if name in last and _same(program, last[name]):
            after = program
        else:
            after = PASSES[name](program, more, **said) if more else PASSES[name](program, **said)
        seconds = perf_counter() - start
        verify(after, name)
        if name in IDEMPOTENT:
            last[name] = after
        if observe is not None:
            observe(name, program, after, seconds)
        program = after
    return program


def _same(a: Program, b: Program) -> bool:
    """The very graphs, in the same order?"""
    return len(a) == len(b) and all(f == g and a[f] is b[g] for f, g in zip(a, b))
