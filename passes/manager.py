"""Running passes: a table of them by name, and a loop that verifies after each, or at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from time import perf_counter
from typing import Any

from irad.core.ir import Program
from irad.core.lazy_dataclass import dataclass
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
from irad.passes.clean.stored_views import stored_views
from irad.passes.clean.unscatter import unscatter
from irad.passes.clean.unselect import unselect
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

Observer = Callable[[str, Program, Program, float], None]


@dataclass(frozen=True)
class Pass:
    """A row of the table: a pass, what must hold of a program for it and what holds afterwards (irad.core.pipelines).

    expanded: no transforms are left. plain: no ops with a rule of their own. real: no complex numbers. sized: run-time extents of
    results are results. scalar: small arrays in loops are scalars. contracted: contractions are nests. fused: dense computation is in
    loops. planned: each array has its place.
    `takes`: what it is told besides the program: fastmath, donated, notes, budget; see `run`.
    `settles`: run twice, it changes nothing more, so it waits until another pass has changed something.
    """

    run: Callable[..., Program]
    needs: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    too_late: tuple[str, ...] = ("planned",)
    takes: tuple[str, ...] = ()
    settles: bool = False

    def __call__(self, program: Program, **told: Any) -> Program:
        return self.run(program, **told)


_UNFUSED = ("fused", "planned")
PASSES: dict[str, Pass] = {
    "inline": Pass(inline, too_late=_UNFUSED),
    "stored_views": Pass(stored_views, too_late=_UNFUSED),
    "expand": Pass(expand, makes=("expanded",), too_late=("plain", *_UNFUSED), takes=("budget", "notes")),
    "custom": Pass(custom, ("expanded",), makes=("plain",)),
    "autodiff": Pass(vjp, too_late=("plain", *_UNFUSED)),
    "grad": Pass(grad, too_late=("plain", *_UNFUSED)),
    "complex_parts": Pass(complex_parts, ("plain",), makes=("real",), too_late=_UNFUSED),
    "simplify": Pass(simplify, takes=("fastmath",), settles=True),
    "fold": Pass(fold, settles=True),
    "cse": Pass(cse, settles=True),
    "dce": Pass(dce, settles=True),
    "licm": Pass(licm),
    "ranges": Pass(ranges, too_late=_UNFUSED),
    "result_extents": Pass(result_extents, ("real",), makes=("sized",), too_late=("sized", *_UNFUSED)),
    "reciprocal": Pass(reciprocal, ("plain",), takes=("fastmath",), too_late=_UNFUSED),
    "unselect": Pass(unselect, ("real",), too_late=_UNFUSED),
    "unscatter": Pass(unscatter, ("real",), too_late=_UNFUSED),
    "scalarize": Pass(scalarize, ("real",), makes=("scalar",), too_late=_UNFUSED, takes=("notes",)),
    "powers": Pass(powers, ("plain",), too_late=_UNFUSED),
    "shorter_records": Pass(shorter_records, ("expanded",), too_late=_UNFUSED),
    "linear_carry": Pass(linear_carry, ("scalar",), too_late=_UNFUSED, takes=("fastmath",)),
    "versions": Pass(versions, ("real",), too_late=("contracted", *_UNFUSED)),
    "fuse_dot": Pass(fuse_dot, ("real",), makes=("contracted",), too_late=_UNFUSED, takes=("notes",)),
    "fuse": Pass(fuse, ("real", "contracted"), makes=("fused",), too_late=_UNFUSED, takes=("notes",)),
    "recompute": Pass(recompute, ("fused",), takes=("notes",)),
    "unfilled": Pass(unfilled, ("fused",)),
    "pingpong": Pass(pingpong, ("fused",)),
    "plan": Pass(plan, ("fused", "sized"), makes=("planned",), takes=("donated", "notes")),
}


def run(
    program: Program,
    names: Iterable[str],
    observe: Observer | None = None,
    fastmath: Set[str] = frozenset(),
    donated: Set[int] = frozenset(),
    notes: Notes | None = None,
    budget: int | None = None,
    each: bool = True,
) -> Program:
    """The program after the named passes, in order; each result is verified, or with `each=False` only the last.

    What the passes that want it are told: `fastmath`: flags, see irad.options; `donated`: parameters of the entry whose memory `plan`
    may use; `notes`: where passes say what they decide; `budget`: bytes that a loop may keep for its backward, see
    irad.passes.derivatives.checkpointing.

    `observe(name, before, after, seconds)` is called after each pass; the time is the pass's own, without verification.
    Raises KeyError for a name that is no pass and VerifyError, naming the pass, if one breaks an invariant.
    """
    told = {"fastmath": fastmath, "donated": donated, "notes": notes, "budget": budget}
    last: dict[str, Program] = {}  # what each pass that settles gave
    for name in names:
        if name not in PASSES:
            raise KeyError(f"there is no pass {name!r}; there are {', '.join(sorted(PASSES))}")
        start, row = perf_counter(), PASSES[name]
        after = program if name in last and _same(program, last[name]) else row(program, **{k: told[k] for k in row.takes})
        seconds = perf_counter() - start
        if each:
            verify(after, name)
        if row.settles:
            last[name] = after
        if observe is not None:
            observe(name, program, after, seconds)
        program = after
    return program if each else verify(program)


def _same(a: Program, b: Program) -> bool:
    """The very graphs, in the same order?"""
    return len(a) == len(b) and all(f == g and a[f] is b[g] for f, g in zip(a, b))
