"""What all trips of a derivative's loop add to one element is summed in a register, and added once after the loop.

`for j: ct[i] += g*y[j]; ct[j] -= g*y[i]` is what a backward of pairs looks like. Each addition to memory waits for the one before,
through a store and a load. No two of them need be told apart: an array to which a loop only adds has the same sums in any order, which
derivatives leave open, also where i and j are the same. Where the loop reads or stores elements too, these must be others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import inf

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.cost import work
from irad.codegen.kernel.form import Apply, Const, integer
from irad.codegen.kernel.independence import Ranges, Scope, least
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
    def statement(self, s: kf.Stmt, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        (s,) = self.inside(s, scope, ranges)
        if not isinstance(s, kf.For) or s.kind != "seq" or kf.trips(s) <= 1:
            return [s]
        if work([s]) >= WORTH and self.independent(s, scope, ranges) is not None:
            return [s]  # threads may share it, each with sums of its own
        sums = _sums(s, scope, ranges)
        return self.summed(s, sums, scope) if sums else [s]

    def summed(self, s: kf.For, sums: Places, scope: Scope) -> list[kf.Stmt]:
        """The loop, adding to variables."""
        before: list[kf.Stmt] = []
        after: list[kf.Stmt] = []
        new: dict[int, list[kf.Stmt]] = {}
        for (buf, at), adds in sums.items():
            dtype = scope[buf].dtype
            var, total = self.fresh(f"{buf}_sum"), self.fresh(f"{buf}_total")
            before.append(kf.Var(var, dtype, Const(-0.0, dtype)))
            for t in adds:
                more = self.fresh("more")
                new[id(t)] = [kf.Let(more, dtype, Apply("add", (var, t.value)), contract=True), kf.Assign(var, more)]
            after += [kf.Let(total, dtype, Apply("cast", (var,)), contract=True), kf.Store(buf, (at,), total, add=True)]
        if kf.trips(s) == inf:  # the element may not be there if there is no trip
            some = self.fresh("some")
            before.append(kf.Let(some, "bool", Apply("lt" if s.step > 0 else "gt", (s.lo, s.hi))))
            after = [kf.If(some, after)]
        return [*before, replace(s, body=[u for t in s.body for u in new.get(id(t), (t,))]), *after]


def _sums(s: kf.For, scope: Scope, ranges: Ranges) -> Places:
    """The additions of every trip to the same element, of arrays where the loop does nothing else with that element.

    Nothing else can be where such an array is: it lives through the whole loop.
    """
    numbers, changing = derived(s.body), bound([s]) | assigned(s.body)
    others = _Others(s)
    out: Places = {}
    for t in s.body:
        if not isinstance(t, kf.Store) or not t.add or len(t.idx) != 1 or not changing.isdisjoint(symbols(integer(t.idx[0]))):
            continue
        b = scope.get(t.buf)
        if not isinstance(b, (kf.Param, kf.View)) or b.dtype is None:
            continue
        if t.value in numbers and is_float(b.dtype) and others.elsewhere(t.buf, integer(t.idx[0]), ranges):
            out.setdefault((t.buf, integer(t.idx[0])), []).append(t)
    return out


class _Others:
    """What a loop does with arrays but for adding to elements."""

    def __init__(self, s: kf.For):
        self.mentioned = Counter(_memory(s.body))
        self.accesses: dict[str, list[tuple[Integer, tuple[kf.For, ...]]]] = {}  # places of one index, and the loops around them
        self.find(s.body, (s,))

    def find(self, body: Sequence[kf.Stmt], loops: tuple[kf.For, ...]) -> None:
        for t in body:
            if isinstance(t, kf.For):
                self.find(t.body, (*loops, t))
            elif isinstance(t, kf.If):
                self.find([*t.then, *t.orelse], loops)
            elif isinstance(t, kf.Store) and t.add:
                self.mentioned[t.buf] -= 1
            elif isinstance(t, kf.Store) and len(t.idx) == 1:
                self.access(t.buf, t.idx[0], loops)
            elif isinstance(t, kf.Let) and isinstance(t.expr, kf.Load) and len(t.expr.idx) == 1:
                self.access(t.expr.buf, t.expr.idx[0], loops)

    def access(self, buf: str, at: kf.Index, loops: tuple[kf.For, ...]) -> None:
        self.mentioned[buf] -= 1
        self.accesses.setdefault(buf, []).append((integer(at), loops))

    def elsewhere(self, buf: str, at: Integer, ranges: Ranges) -> bool:
        """Is all that is done with an array done at other places than this one?"""
        if self.mentioned[buf]:
            return False
        apart = (
            least(there - at, loops, ranges) > 0 or least(at - there, loops, ranges) > 0
            for there, loops in self.accesses.get(buf, ())
        )
        return all(apart)


def _memory(body: Sequence[kf.Stmt]) -> Iterable[str]:
    """The names that statements mention, as often as they do; all that a loop does with a buffer is there."""
    for s in kf.walk(body):
        yield from (s.a, s.b) if isinstance(s, kf.Swap) else getattr(s, "writes", ())
        yield from reads([s] if not isinstance(s, (kf.For, kf.While, kf.If)) else [])
