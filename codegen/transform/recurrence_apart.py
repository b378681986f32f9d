"""Loops with a recurrence, in two: the recurrence by itself, and what can be in lanes, before it or after it.

`for k: h = a + b*h; s += log(h) + y[k]/h` waits for h from trip to trip, but no logarithm waits for another one. So the recurrence runs
first, some trips ahead, and leaves in buffers what the others read (loop distribution with scalar expansion: Kennedy, McKinley, "Loop
distribution with arbitrary control flow", 1990). The others then are a loop of their own, whose trips may be lanes. What does not ask
for h at all may be such a loop before the recurrence. Each number is computed as before, and sums are taken in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Load, integer
from irad.codegen.kernel.independence import Body, ByteAccess, Ranges, Scope, all_ranges, disjoint, overlapping
from irad.codegen.kernel.mentions import assigned, bound, reads, waiting
from irad.codegen.kernel.substitute import substituted
from irad.codegen.transform.lane_body import Unfit
from irad.codegen.transform.sums import sum_of
from irad.core.affine import Integer, number
from irad.core.lazy_dataclass import dataclass, replace
from irad.core.types import DTYPES, is_float
from irad.ops.core import cost_of

BYTES = 1 << 13  # of all buffers
SHORT = 16  # trips of loops inside: beside longer ones, lanes save little
MOST = 8  # numbers that are handed over
DEAR = 20.0  # additions that one operation takes, beside which a recurrence costs little
WORTH = 60.0  # additions of all operations that do


@dataclass
class _Access:
    """What a statement of the body does with memory; `order`: which of them."""

    access: ByteAccess
    order: int


class RecurrenceApart:
    """A loop as two. `carried`: the variables that its trips hand on, with their dtypes. Raises Unfit.

    `lanes_first`: the second one is the recurrence, with all that asks for it, else the first one is.
    """

    def __init__(
        self, s: kf.For, carried: dict[str, str], scope: Scope, ranges: Ranges, fresh: Callable[[str], str], lanes_first: bool
    ):
        self.loop, self.body, self.scope, self.fresh = s, s.body, scope, fresh
        self.carried = carried
        if not _worth([t for t in self.body if not isinstance(t, (kf.For, kf.While))], set()):
            raise Unfit  # soon: most loops are such
        declared = Counter(t.name for t in self.body if isinstance(t, (kf.Let, kf.Var, kf.Fold, kf.Buffer)))
        if any(n > 1 for n in declared.values()) or any(isinstance(t, (kf.Fold, kf.Buffer)) for t in self.body):
            raise Unfit
        self.dtypes = {**carried, **{t.name: t.dtype for t in self.body if isinstance(t, (kf.Let, kf.Var))}}
        self.accesses = self.memory()
        recurrent = {x.order for g in self.meeting(ranges) for x in g}
        self.first = self.beside(recurrent) if lanes_first else self.chosen(recurrent)
        if any(self.turned_round(x, y) for x in self.accesses for y in self.accesses):
            raise Unfit
        self.again = self.repeated()
        self.handed = self.between()
        self.places = {n: fresh(f"{n}_ahead") for n in self.handed}  # where they wait
        self.size = BYTES // max(8, sum(DTYPES[self.dtypes[n]].itemsize for n in self.handed))

    # ---- memory ----

    def memory(self) -> list[_Access]:
        """The accesses of each statement. Raises Unfit where one is not known."""
        found = Body(self.loop, self.scope, frozenset(self.carried))
        scans = any(isinstance(t, kf.Let) and isinstance(t.expr, kf.LinScan) for t in kf.walk(self.body))
        if not found.run() or found.folds or scans:
            raise Unfit
        out: list[_Access] = []
        for order, t in enumerate(self.body):
            found.accesses, found.seen = [], set()
            found.statement(t, ())
            out += [_Access(a, order) for a in found.accesses]
        return out

    def meeting(self, ranges: Ranges) -> list[list[_Access]]:
        """Accesses by which trips wait for each other: the recurrences in memory."""
        inner = all_ranges(self.loop, [x.access for x in self.accesses], ranges)
        out = []
        for group in overlapping(self.by_buffer, self.scope, inner):
            if not disjoint(group, self.loop, inner):
                bufs = {a.buf for a in group}
                out.append([x for x in self.accesses if x.access.buf in bufs])
        return out

    @property
    def by_buffer(self) -> dict[str, list[ByteAccess]]:
        out: dict[str, list[ByteAccess]] = {}
        for x in self.accesses:
            out.setdefault(x.access.buf, []).append(x.access)
        return out

    def turned_round(self, x: _Access, y: _Access) -> bool:
        """Does the second loop do in a trip with x what the first one does with y, though x comes before, at one place perhaps?"""
        if x.order >= y.order or x.order in self.first or y.order not in self.first or not (x.access.write or y.access.write):
            return False
        a, b = (self.scope.get(z.access.buf) for z in (x, y))
        tape = isinstance(a, kf.Deref) and isinstance(b, kf.Deref) and (a.buf, a.idx) == (b.buf, b.idx)
        if x.access.buf == y.access.buf or tape:
            distance = number(x.access.at - y.access.at)
            return distance is None or abs(distance) < max(x.access.width, y.access.width)
        return isinstance(a, kf.View) and isinstance(b, kf.View)

    # ---- the parts ----

    def chosen(self, recurrent: Set[int]) -> set[int]:
        """The statements of the first loop: those of all that is carried, or of what others wait for."""
        names = set(self.carried)
        late = {n for n in names if n not in self.mentioned(self.feeding(names - {n}, recurrent))}
        for left in (set[str](), late):  # variables that only the second loop asks for, as sums of what is dear
            first = self.in_time(self.feeding(names - left, recurrent))
            rest = [t for order, t in enumerate(self.body) if order not in first]
            if first and _worth(rest, waiting(self.body, left)):
                return first
        raise Unfit

    def in_time(self, first: set[int]) -> set[int]:
        """The statements, and those that read what they change before they do."""
        before = -1
        while len(first) != before:
            before = len(first)
            changes = {n: order for order in sorted(first) for n in assigned([self.body[order]])}
            early = {
                order
                for order, t in enumerate(self.body)
                if order not in first and any(changes.get(n, -1) > order for n in reads([t]))
            }
            first = self.feeding(set(), first | early)
        return first

    def beside(self, recurrent: Set[int]) -> set[int]:
        """The statements of the first loop: those that ask for nothing that the trip before leaves."""
        others = {id(self.body[order]) for order in recurrent}
        sums = [x for n, dtype in self.carried.items() if (x := sum_of(self.body, n, dtype)) is not None]
        late, found = set[int](), -1
        while len(sums) != found:  # sums of a derivative are lanes too, if nothing that they add waits
            found = len(sums)
            late = waiting(self.body, set(self.carried) - {x.var for x in sums}, others)
            sums = [x for x in sums if late.isdisjoint(x.terms)]
        second = [t for t in self.body if id(t) in late]
        first = [t for t in self.body if id(t) not in late]
        if not second or not _worth(first, set()) or any(isinstance(t, kf.For) and kf.trips(t) > SHORT for t in kf.walk(second)):
            raise Unfit
        return {order for order, t in enumerate(self.body) if id(t) not in late}

    def feeding(self, names: Set[str], statements: Set[int]) -> set[int]:
        """The statements that make some variables, and others, with all that they read."""
        out, wanted, before = set[int](), set(names), -1
        while len(out) != before:
            before = len(out)
            for order, t in enumerate(self.body):
                if order not in out and (order in statements or not wanted.isdisjoint(bound([t]) | assigned([t]))):
                    out.add(order)
                    wanted |= {*reads([t]), *assigned([t])} | ({t.name} if isinstance(t, kf.Var) else set())
        return out

    def mentioned(self, statements: Set[int]) -> set[str]:
        chosen = [t for order, t in enumerate(self.body) if order in statements]
        return {*reads(chosen), *assigned(chosen)}

    def repeated(self) -> dict[int, kf.Let]:
        """Statements of the first loop that the second one had better do again: loads of what nobody stores, and a step from there."""
        stored = {x.access.buf for x in self.accesses if x.access.write}
        slots = any(isinstance(self.scope.get(b), (kf.View, kf.Deref)) for b in stored)
        made = bound(self.body) | assigned(self.body) | set(self.carried)
        known, out = set[str](), dict[int, kf.Let]()
        for order, t in enumerate(self.body):
            if not isinstance(t, kf.Let) or not {n for n in reads([t]) if n in made} <= known:
                continue
            e = t.expr
            if isinstance(e, Load):
                b = self.scope.get(e.buf)
                again = e.buf not in stored and not (slots and not isinstance(b, kf.Param))
            else:
                again = isinstance(e, Apply) and cost_of(e.op) <= 1
            if again:
                known.add(t.name)
                out[order] = t
        wanted = {n for order, t in enumerate(self.body) if order not in self.first for n in reads([t])}
        for order, t in reversed(out.items()):
            if order in self.first and t.name in wanted:
                wanted |= set(reads([t]))
        return {order: t for order, t in out.items() if order in self.first and t.name in wanted}

    def between(self) -> list[str]:
        """The numbers that the first loop hands over. Raises Unfit where they change after they are read."""
        inside = [order for order in range(len(self.body)) if order not in self.first]
        again = {t.name for t in self.again.values()}
        made = {n for order in self.first for n in (bound([self.body[order]]) | assigned([self.body[order]]))}
        read = {n: [order for order in inside if n in set(reads([self.body[order]]))] for n in sorted(made - again)}
        out = [n for n, orders in read.items() if orders and n in self.dtypes]
        if not bound([self.body[order] for order in inside]).isdisjoint(out):
            raise Unfit
        for n in out:
            changes = [order for order in self.first if n in assigned([self.body[order]])]
            if changes and max(changes) > min(read[n]):
                raise Unfit
            if self.dtypes[n] not in ("i64", "bool") and not is_float(self.dtypes[n]):
                raise Unfit
        if not out or len(out) > MOST:
            raise Unfit
        return out

    # ---- the loops ----

    @property
    def buffers(self) -> list[kf.Buffer]:
        """The memory of what is handed over."""
        trips = int(min(self.size, kf.most_trips(self.loop)))
        return [kf.Buffer(b, self.dtypes[n], (trips,)) for n, b in self.places.items()]

    def loops(self, first: Integer, count: Integer) -> tuple[kf.For, kf.For]:
        """`count` trips from trip `first` on."""
        s = self.loop
        lo = integer(s.lo) + first * s.step
        at = ((integer(s.var) - lo) * s.step,)
        store = [kf.Store(b, at, n) for n, b in self.places.items()]
        names = {n: self.fresh(n) for n in self.places}
        load = [kf.Let(names[n], self.dtypes[n], Load(b, at), contract=self.contract(n)) for n, b in self.places.items()]
        to: dict[str, Any] = {n: integer(new) if self.dtypes[n] == "i64" else new for n, new in names.items()}
        ahead = [t for order, t in enumerate(self.body) if order in self.first]
        behind = [substituted(t, to) for order, t in enumerate(self.body) if order not in self.first or order in self.again]
        bounds = {"lo": lo, "hi": lo + count * s.step}
        return replace(s, **bounds, body=[*ahead, *store]), replace(s, **bounds, body=[*load, *behind])

    def contract(self, name: str) -> bool:
        """Is a number part of a derivative?"""
        return any(isinstance(t, kf.Let) and t.name == name and t.contract for t in self.body)


def _worth(body: Iterable[kf.Stmt], but: Set[int]) -> bool:
    """Is there much to do in statements without loops, `but` for some?"""
    inside: Sequence[kf.Stmt] = list(kf.walk(t for t in body if id(t) not in but))
    costs = [cost_of(t.expr.op) for t in inside if isinstance(t, kf.Let) and isinstance(t.expr, Apply) and is_float(t.dtype)]
    loops = any(isinstance(t, (kf.For, kf.While)) for t in kf.walk(body))
    return not loops and (max(costs, default=0.0) >= DEAR or sum(costs) >= WORTH)
