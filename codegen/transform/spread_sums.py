"""Sums that trips of a derivative add to neighbours, apart from the trips: then the trips may run side by side.

The adjoint of a stencil in a loop, `ct[i-1] += u; ct[i] += v; ct[i+1] += w`, lets trips meet. What they add goes to a buffer for each
neighbour, and from there to the array in loops of their own, where no two of one loop meet (loop distribution: Kennedy, McKinley,
"Loop distribution with arbitrary control flow", 1990). Sums are re-ordered, which derivatives allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, Load, integer
from irad.codegen.kernel.independence import Ranges, Scope, elements, inside, loops_in, span_of
from irad.codegen.kernel.mentions import assigned, bound
from irad.codegen.kernel.substitute import replaced
from irad.codegen.transform.lane_body import Unfit
from irad.codegen.transform.sums import derived
from irad.core.affine import Integer, coefficient, symbol, symbols
from irad.core.lazy_dataclass import dataclass, replace
from irad.core.types import DTYPES

BYTES = 1 << 14  # of all buffers
MOST = 8  # neighbours


@dataclass
class _Place:
    """What trips add to elements that are so many elements from each other; `always`: does every trip add?"""

    buf: str
    at: Integer
    dtype: str
    adds: list[kf.Store]
    always: bool
    sums: str = ""  # the buffer


class SpreadSums:
    """A loop of a derivative whose trips meet only where they add to arrays, those in `met`. Raises Unfit."""

    def __init__(self, s: kf.For, met: Set[str], scope: Scope, ranges: Ranges, fresh: Callable[[str], str]):
        self.loop, self.scope, self.fresh = s, scope, fresh
        self.ranges = {**ranges, s.var: span_of(s, ranges)}
        self.met = met
        numbers = derived(s.body)
        slopes = {t.buf for t in kf.walk(s.body) if isinstance(t, kf.Store) and t.add and t.value in numbers}
        if not met <= slopes:  # what a derivative adds to is one, whatever else is added
            raise Unfit
        self.fixed = bound(s.body) | assigned(s.body)
        self.places: dict[tuple[str, Integer], _Place] = {}
        self.find(s.body, True)
        if not self.places or len(self.places) > MOST:
            raise Unfit
        for p in self.places.values():
            if not p.always and not self.inside(p):
                raise Unfit
            p.sums = fresh(f"{p.buf}_apart")
        self.size = BYTES // sum(DTYPES[p.dtype].itemsize for p in self.places.values())

    def find(self, body: Iterable[kf.Stmt], always: bool) -> None:
        for t in body:
            if isinstance(t, kf.If):
                self.find([*t.then, *t.orelse], False)
            elif isinstance(t, (kf.For, kf.While)):
                if any(isinstance(u, kf.Store) and u.buf in self.met for u in kf.walk([t])):
                    raise Unfit
            elif isinstance(t, kf.Store) and t.buf in self.met:
                at = integer(t.idx[0])
                step = coefficient(at, self.loop.var)
                rest = at - symbol(self.loop.var) * step
                if len(t.idx) != 1 or not step or not t.add:
                    raise Unfit
                if not self.fixed.isdisjoint(symbols(rest)) or self.loop.var in symbols(rest):
                    raise Unfit
                p = self.places.setdefault((t.buf, at), _Place(t.buf, at, self.scope[t.buf].dtype, [], False))
                p.adds.append(t)
                p.always |= always

    def inside(self, p: _Place) -> bool:
        """Is the element there in each trip?"""
        return inside(p.at, elements(self.scope[p.buf]), [*loops_in(self.scope), self.loop], self.ranges)

    @property
    def buffers(self) -> list[kf.Buffer]:
        trips = min(self.size, kf.most_trips(self.loop))
        return [kf.Buffer(p.sums, p.dtype, (int(trips),)) for p in self.places.values()]

    def part(self, first: Integer, count: Integer) -> tuple[kf.For, list[kf.Stmt]]:
        """`count` trips from trip `first` on, adding to the buffers; and the loops that add these to the arrays."""
        s = self.loop
        lo = integer(s.lo) + first * s.step
        trip = (integer(s.var) - lo) * s.step
        before: list[kf.Stmt] = []
        end: list[kf.Stmt] = []
        after: list[kf.Stmt] = []
        new: dict[int, list[kf.Stmt]] = {}
        for p in self.places.values():
            up = coefficient(p.at, s.var) * s.step > 0  # where memory goes up, the buffer does
            own = trip if up else count - 1 - trip
            if len(p.adds) == 1 and p.always:
                (t,) = p.adds
                new[id(t)] = [kf.Store(p.sums, (own,), t.value)]
            else:
                var = self.fresh(f"{p.buf}_added")
                before.append(kf.Var(var, p.dtype, Const(-0.0, p.dtype)))
                for t in p.adds:
                    more = self.fresh("more")
                    add = kf.Let(more, p.dtype, Apply("add", (var, t.value)), contract=True)
                    new[id(t)] = [add, kf.Assign(var, more)]
                end.append(kf.Store(p.sums, (own,), var))
            k, x = self.fresh("k"), self.fresh("x")
            at = replaced(p.at, {s.var: lo + (integer(k) if up else count - 1 - integer(k)) * s.step})
            take: list[kf.Stmt] = [
                kf.Let(x, p.dtype, Load(p.sums, (integer(k),)), contract=True),
                kf.Store(p.buf, (at,), x, add=True),
            ]
            after.append(kf.For(k, "vec", 0, count, take, lanes=64 // DTYPES[p.dtype].itemsize))
        body = [*before, *kf.exchanged(s.body, new), *end]
        return replace(s, lo=lo, hi=lo + count * s.step, body=body), after
