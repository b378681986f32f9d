"""What all trips of a loop add to one element is summed in a register, and stored once after the loop.

`for j: ct[i] += g*y[j]; ct[j] -= g*y[i]` is what a backward of pairs looks like. Each addition to memory waits for the one before,
through a store and a load. No two of them need be told apart: an array to which a loop only adds has the same sums in any order, which
derivatives leave open, also where i and j are the same. Where the loop reads or stores elements too, these must be others.

What is no derivative starts from the element and is added in the order of the source, so that the bits are the same; there what the
loop adds to other elements must be elsewhere too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import inf

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.cost import work
from irad.codegen.kernel.form import Apply, Const, integer
from irad.codegen.kernel.independence import Ranges, Scope, elements, inside, least, loops_in
from irad.codegen.kernel.mentions import assigned, bound, reads
from irad.codegen.transform.loops import Loops
from irad.codegen.transform.parallel import WORTH
from irad.codegen.transform.sums import derived
from irad.core.affine import Integer, symbols
from irad.core.lazy_dataclass import replace
from irad.core.notes import Notes
from irad.core.types import is_float

Places = dict[tuple[str, Integer], list[kf.Store]]


def accumulated(kernel: kf.Kernel, notes: Notes | None = None) -> kf.Kernel:
    """The kernel with such sums in its loops that run in order, from the inside out."""
    return _Sums.over(kernel, notes)


class _Sums(Loops):
    shared = False  # may threads share a loop around?

    def statement(self, s: kf.Stmt, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        if not isinstance(s, kf.For) or s.kind != "seq":
            return self.inside(s, scope, ranges)
        around = self.shared
        own = not around and work([s]) >= WORTH and self.independent(s, scope, ranges) is not None
        self.shared = around or own
        (s,) = self.inside(s, scope, ranges)
        self.shared = around
        if not isinstance(s, kf.For) or kf.trips(s) <= 1 or own:  # threads that share a loop have sums of their own
            return [s]
        sums, exact = _sums(s, scope, ranges)
        return self.summed(s, sums, exact, scope) if sums or exact else [s]

    def summed(self, s: kf.For, sums: Places, exact: Places, scope: Scope) -> list[kf.Stmt]:
        """The loop, adding to variables."""
        before: list[kf.Stmt] = []
        first: list[kf.Stmt] = []
        after: list[kf.Stmt] = []
        new: dict[int, list[kf.Stmt]] = {}
        for (buf, at), adds in [*sums.items(), *exact.items()]:
            dtype, derivative = scope[buf].dtype, (buf, at) in sums
            var, total = self.fresh(f"{buf}_sum"), self.fresh(f"{buf}_total")
            before.append(kf.Var(var, dtype, Const(-0.0 if is_float(dtype) else 0, dtype)))
            if not derivative:
                start = self.fresh(f"{buf}_start")
                first += [kf.Let(start, dtype, kf.Load(buf, (at,))), kf.Assign(var, start)]
            for t in adds:
                more = self.fresh("more")
                new[id(t)] = [kf.Let(more, dtype, Apply("add", (var, t.value)), contract=derivative), kf.Assign(var, more)]
            after += [
                kf.Let(total, dtype, Apply("cast", (var,)), contract=derivative),
                kf.Store(buf, (at,), total, add=derivative),
            ]
        if kf.trips(s) == inf:  # the element may not be there if there is no trip
            some = self.fresh("some")
            before.append(kf.Let(some, "bool", Apply("lt" if s.step > 0 else "gt", (s.lo, s.hi))))
            first, after = [kf.If(some, first)] if first else [], [kf.If(some, after)]
        return [*before, *first, replace(s, body=kf.exchanged(s.body, new)), *after]


def _sums(s: kf.For, scope: Scope, ranges: Ranges) -> tuple[Places, Places]:
    """The additions of every trip to the same element, of arrays where the loop does nothing else with that element: those of
    derivatives, and those whose order counts.

    Nothing else can be where such an array is: it lives through the whole loop.
    """
    numbers, changing = derived(s.body), bound([s]) | assigned(s.body)
    stops = any(isinstance(t, kf.Raise) for t in kf.walk(s.body))
    others = _Others(s)
    sums: Places = {}
    exact: Places = {}
    for t in _straight(s.body):
        if not isinstance(t, kf.Store) or not t.add or len(t.idx) != 1 or not changing.isdisjoint(symbols(integer(t.idx[0]))):
            continue
        b = scope.get(t.buf)
        if not isinstance(b, (kf.Param, kf.View)) or b.dtype is None or b.dtype == "bool":
            continue
        at = integer(t.idx[0])
        always = any(t is u for u in s.body)
        if t.value in numbers:
            if always and is_float(b.dtype) and others.elsewhere(t.buf, at, ranges):
                sums.setdefault((t.buf, at), []).append(t)
        elif always and not stops or inside(at, elements(b), loops_in(scope), ranges):
            if others.elsewhere(t.buf, at, ranges, exact=True):
                exact.setdefault((t.buf, at), []).append(t)
    for place in exact.keys() & sums.keys():
        exact[place] += sums.pop(place)
    return sums, {p: adds for p, adds in exact.items() if len(adds) == others.additions(*p)}


def _straight(body: Sequence[kf.Stmt]) -> Iterable[kf.Stmt]:
    """Statements that a trip runs once or, under a condition, not at all."""
    for t in body:
        if isinstance(t, kf.If):
            yield from _straight([*t.then, *t.orelse])
        else:
            yield t


class _Others:
    """What a loop does with arrays but for adding to elements, and where it adds."""

    def __init__(self, s: kf.For):
        self.mentioned = Counter(_memory(s.body))
        self.accesses: dict[str, list[tuple[Integer, tuple[kf.For, ...]]]] = {}  # places of one index, and the loops around them
        self.adds: dict[str, list[tuple[Integer, tuple[kf.For, ...]]]] = {}
        self.find(s.body, (s,))

    def find(self, body: Sequence[kf.Stmt], loops: tuple[kf.For, ...]) -> None:
        for t in body:
            if isinstance(t, kf.For):
                self.find(t.body, (*loops, t))
            elif isinstance(t, kf.If):
                self.find([*t.then, *t.orelse], loops)
            elif isinstance(t, kf.Store) and t.add:
                self.access(self.adds, t.buf, t.idx, loops)
            elif isinstance(t, kf.Store) and len(t.idx) == 1:
                self.access(self.accesses, t.buf, t.idx, loops)
            elif isinstance(t, kf.Let) and isinstance(t.expr, kf.Load) and len(t.expr.idx) == 1:
                self.access(self.accesses, t.expr.buf, t.expr.idx, loops)

    def access(
        self,
        to: dict[str, list[tuple[Integer, tuple[kf.For, ...]]]],
        buf: str,
        idx: Sequence[kf.Index],
        loops: tuple[kf.For, ...],
    ) -> None:
        self.mentioned[buf] -= 1
        to.setdefault(buf, []).append((integer(idx[0]), loops))

    def additions(self, buf: str, at: Integer) -> int:
        """How many statements add to this element."""
        return sum(there == at for there, _ in self.adds.get(buf, ()))

    def elsewhere(self, buf: str, at: Integer, ranges: Ranges, exact: bool = False) -> bool:
        """Is all that is done with an array done at other places than this one? `exact`: but for additions once a trip, which are there."""
        if self.mentioned[buf]:
            return False
        others = self.accesses.get(buf, [])
        if exact:
            others = [*others, *(a for a in self.adds.get(buf, ()) if a[0] != at or len(a[1]) > 1)]
        return all(least(there - at, loops, ranges) > 0 or least(at - there, loops, ranges) > 0 for there, loops in others)


def _memory(body: Sequence[kf.Stmt]) -> Iterable[str]:
    """The names that statements mention, as often as they do; all that a loop does with a buffer is there."""
    for s in kf.walk(body):
        yield from (s.a, s.b) if isinstance(s, kf.Swap) else getattr(s, "writes", ())
        yield from reads([s] if not isinstance(s, (kf.For, kf.While, kf.If)) else [])
