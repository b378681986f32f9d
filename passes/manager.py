"""Running passes: a table of them by name, and a loop that verifies after each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from time import perf_counter
from typing import Any

from irad.ir import Program
from irad.notes import Notes
from irad.passes.autodiff import grad, vjp
from irad.passes.complex_parts import complex_parts
from irad.passes.covered import covered
from irad.passes.cse import cse
from irad.passes.custom_rules import custom
from irad.passes.dce import dce
from irad.passes.expand import expand
from irad.passes.fold import fold
from irad.passes.fuse import fuse
from irad.passes.fuse_dot import fuse_dot
from irad.passes.inline import inline
from irad.passes.licm import licm
from irad.passes.linear_carry import linear_carry
from irad.passes.pingpong import pingpong
from irad.passes.plan import plan
from irad.passes.ranges import ranges
from irad.passes.reciprocal import reciprocal
from irad.passes.recompute import recompute
from irad.passes.result_extents import result_extents
from irad.passes.scalarize import scalarize
from irad.passes.simplify import simplify
from irad.passes.strength import strength
from irad.passes.tapes import tapes
from irad.passes.unscatter import unscatter
from irad.passes.versions import versions
from irad.verify import verify

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
    "tapes": tapes,
    "unscatter": unscatter,
    "scalarize": scalarize,
    "strength": strength,
    "versions": versions,
    "fuse_dot": fuse_dot,
    "fuse": fuse,
    "recompute": recompute,
    "covered": covered,
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
    of `NOTED` say what they decide. `budget`: bytes that a loop may keep for its backward, see irad.passes.schedule_loops.

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
