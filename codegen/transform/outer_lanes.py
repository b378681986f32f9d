"""Outer-loop vectorisation: trips of a loop around scalar loops run side by side, as lanes.

`for i: t = 0; for k: t += a[k]*p; p *= x[i]` has loops inside whose trips wait for each other, but its own do not. So many trips as
a vector has lanes run at once, a strip (Nuzman, Zaks, "Outer-loop vectorization, revisited for short SIMD architectures", 2008):
their numbers are vectors in registers, and the inner loops run once for all of them. What each trip computes is the same, in the
same order. What trips hand on to the next one (`s += t*t`) is done after the lanes of a strip, trip by trip; a sum of a derivative
has a part for each lane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import inf
from typing import Any

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, Load, Part, integer
from irad.codegen.kernel.independence import Body, ByteAccess, Independent, Ranges, Scope, Sum, all_ranges, interval, span_of
from irad.codegen.kernel.mentions import assigned, bound, reads, waiting
from irad.codegen.kernel.substitute import substituted
from irad.codegen.transform.branch_sums import unbranched
from irad.codegen.transform.lane_body import LANE, Lanes, Unfit
from irad.codegen.transform.loops import Loops
from irad.codegen.transform.recurrence_apart import RecurrenceApart
from irad.codegen.transform.spread_sums import SpreadSums
from irad.codegen.transform.sums import SumOfTrips, derived, direct, folded, sum_of
from irad.codegen.transform.unswitch import unswitched
from irad.core.affine import Integer, coefficient, symbols
from irad.core.lazy_dataclass import dataclass, replace
from irad.core.notes import Notes
from irad.core.types import DTYPES, is_float
from irad.ops.core import cost_of

REGISTER = 64  # bytes of a vector
MANY = 60  # statements from which on one register a number is enough to keep the core busy
MOST = 300  # statements of a body
WORTH = 6.0  # additions in a trip without loops, from which on lanes are ahead of moving numbers between loops
SUMS = 1 << 15  # bytes of sums that each lane has a part of


def laned(kernel: kf.Kernel, notes: Notes | None = None) -> kf.Kernel:
    """The kernel with such loops as strips of lanes."""
    return _Strips.over(kernel, notes)


@dataclass
class _Split:
    """A trip: `after` are the ids of statements that wait for the trip before; the others are what a lane does."""

    body: list[kf.Stmt]
    after: set[int]
    sums: list[SumOfTrips]

    @property
    def lanes(self) -> list[kf.Stmt]:
        return [s for s in self.body if id(s) not in self.after]


class _Strips(Loops):
    @cached_property
    def variables(self) -> dict[str, str]:
        return {t.name: t.dtype for t in kf.walk(self.whole) if isinstance(t, kf.Var)}

    def statement(self, s: kf.Stmt, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        if (
            isinstance(s, kf.For)
            and s.kind == "seq"
            and abs(s.step) == 1
            and assigned(s.body).isdisjoint(symbols(integer(s.lo), integer(s.hi)))
        ):
            found = self.tried(s, scope, ranges)
            if found is None:
                found = unswitched(s, ranges, self.fresh, lambda loop, known: self.tried(loop, scope, known))
            if found is not None:
                return found
        return self.inside(s, scope, ranges)

    def tried(self, s: kf.For, scope: Scope, ranges: Ranges) -> list[kf.Stmt] | None:
        """What the first of several ways makes of a loop."""
        runs = [self.lanes_before]
        if _fits(s) and not self.better_inside(s, scope, ranges):
            runs = [self.strips, self.apart, self.lanes_after, self.lanes_before]
        for run in runs:
            try:
                return run(s, scope, ranges)
            except Unfit:
                pass
        return None

    def better_inside(self, s: kf.For, scope: Scope, ranges: Ranges) -> bool:
        """Are there loops inside whose trips are independent, and that go along memory where this one steps over it?"""
        inner = [t for t in s.body if isinstance(t, kf.For)]
        if not inner or not _strided(s, s.var, scope):
            return False
        own = {**ranges, s.var: span_of(s, ranges)}
        return all(
            t.kind == "seq" and not _strided(t, t.var, scope)
            and assigned(t.body) <= bound(t.body) and self.independent(t, scope, own) is not None
            for t in inner
        )  # fmt: skip

    def strips(self, s: kf.For, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        """The loop as strips; raises Unfit."""
        whole, s = s, replace(s, body=unbranched(direct(s.body), self.fresh))
        carried = {n: self.variables[n] for n in assigned(s.body) - bound(s.body)}
        split = _split(s, carried)
        width = _width(split.lanes)
        if min(kf.trips(s), interval(kf.count(s), ranges)[1]) < width:
            raise Unfit
        found = self.found(whole, split, carried, scope, ranges)
        accesses = _accesses(s, scope)
        lanes = Lanes(self.fresh, {**scope, s.var: s}, all_ranges(s, accesses, ranges), s.var, width, self.variables)
        before, after = self.folds(split, lanes)
        for a in found.sums:
            zero, add = self.lane_sums(a, lanes)
            if kf.trips(s) == inf:  # the elements may not be there if there is no trip
                some = self.fresh("some")
                add = [kf.Let(some, "bool", Apply("gt", (kf.count(s), Const(0, "i64")))), kf.If(some, add)]
            before, after = [*before, *zero], [*after, *add]
        before += [lanes.own(b) for b in found.private]
        body, rest = self.hand_over(split)
        body, rest = lanes.body(body), [lanes.placed(t) for t in rest]
        before += lanes.buffers
        if self.notes is not None:
            text = f"loop {s.var}: {width} trips side by side" + (", then what one hands on to the next" if rest else "")
            self.notes.add("loop", text, form="lanes of trips", lanes=width)
        steps = [coefficient(a.at, s.var) * s.step for a in accesses]
        down = not rest and sum(x < 0 for x in steps) > sum(x > 0 for x in steps)
        return [*before, *self.loop(_turned(s) if down else s, body, rest, width, ranges), *after]

    def apart(self, s: kf.For, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        """The loop as strips, and what its trips add to neighbours in loops of their own; raises Unfit."""
        carried = frozenset(assigned(s.body) - bound(s.body))
        met = self.independent(s, scope, ranges, carried, turns=True)
        if met is None or not met.met:
            raise Unfit
        sums = SpreadSums(s, met.met, scope, ranges, self.fresh)
        scope = {**scope, **{b.name: b for b in sums.buffers}}

        def part(first: Integer, size: Integer, ranges: Ranges) -> list[kf.Stmt]:
            loop, after = sums.part(first, size)
            self.variables.update({t.name: t.dtype for t in loop.body if isinstance(t, kf.Var)})
            return [*self.strips(loop, scope, ranges), *after]

        return [*sums.buffers, *self.blocks(s, sums.size, part, ranges)]

    def lanes_after(self, s: kf.For, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        """The recurrence first, some trips ahead, and what else there is as strips; raises Unfit."""
        return self.recurrence_apart(s, scope, ranges, False)

    def lanes_before(self, s: kf.For, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        """What asks for no trip before as strips, then the recurrence; raises Unfit."""
        return self.recurrence_apart(s, scope, ranges, True)

    def recurrence_apart(self, s: kf.For, scope: Scope, ranges: Ranges, lanes_first: bool) -> list[kf.Stmt]:
        s = replace(s, body=unbranched(direct(s.body), self.fresh))
        if sum(1 for _ in kf.walk(s.body)) > MOST:
            raise Unfit
        carried = {n: self.variables[n] for n in assigned(s.body) - bound(s.body)}
        parts = RecurrenceApart(s, carried, scope, ranges, self.fresh, lanes_first)
        if self.mixed(parts.by_buffer, scope, all_ranges(s, _accesses(s, scope), ranges)):
            raise Unfit
        buffers = parts.buffers
        scope = {**scope, **{b.name: b for b in buffers}}

        def part(first: Integer, size: Integer, ranges: Ranges) -> list[kf.Stmt]:
            one, other = parts.loops(first, size)
            if lanes_first:
                return [*self.strips(one, scope, ranges), *self.inside(other, scope, ranges)]
            return [*self.statement(one, scope, ranges), *self.strips(other, scope, ranges)]

        return [*buffers, *self.blocks(s, parts.size, part, ranges)]

    def blocks(
        self, s: kf.For, most: int, part: Callable[[Integer, Integer, Ranges], list[kf.Stmt]], ranges: Ranges
    ) -> list[kf.Stmt]:
        """The loop as parts (first trip, how many trips, ranges) of `most` trips or a few less."""
        if kf.trips(s) == inf:
            return self.run_time_blocks(s, most, part, ranges)
        trips = int(kf.trips(s))
        if trips == 0:  # a part of a loop in parts
            raise Unfit
        blocks = -(-trips // most)
        size = trips // blocks
        if blocks == 1:
            return part(0, size, ranges)
        block = self.fresh("block")
        inner = part(integer(block) * size, size, {**ranges, block: (0, blocks - 1)})
        out: list[kf.Stmt] = [kf.For(block, "seq", 0, blocks, inner)]
        rest = replace(s, lo=integer(s.lo) + blocks * size * s.step)
        return [*out, rest] if blocks * size < trips else out

    def run_time_blocks(
        self, s: kf.For, most: int, part: Callable[[Integer, Integer, Ranges], list[kf.Stmt]], ranges: Ranges
    ) -> list[kf.Stmt]:
        """The same of a loop whose trips only the run counts."""
        block, left, size = self.fresh("block"), self.fresh("left"), self.fresh("size")
        longest = interval(kf.count(s), ranges)[1]
        ranges = {**ranges, block: (0, max(0, longest - 1)), size: (1, min(most, longest))}
        body: list[kf.Stmt] = [
            kf.Let(left, "i64", Apply("sub", (kf.count(s), block))),
            kf.Let(size, "i64", Apply("minimum", (left, Const(most, "i64")))),
            *part(integer(block), integer(size), ranges),
        ]
        return [kf.For(block, "seq", 0, kf.count(s), body, step=most)]

    def found(self, s: kf.For, split: _Split, carried: Mapping[str, str], scope: Scope, ranges: Ranges) -> Independent:
        """What the loop needs that its trips may run side by side."""
        found = self.independent(s, scope, ranges, frozenset(carried), counted=True)
        if found is None or found.folds or not all(_derived(s.body, a) and a.size * REGISTER <= SUMS for a in found.sums):
            raise Unfit
        loaded = {t.expr.buf for t in kf.walk(split.lanes) if isinstance(t, kf.Let) and isinstance(t.expr, Load)}
        touched = loaded | {t.buf for t in kf.walk(split.lanes) if isinstance(t, kf.Store)}
        for t in split.body:
            if id(t) in split.after:
                buf = (
                    t.buf
                    if isinstance(t, kf.Store)
                    else t.expr.buf
                    if isinstance(t, kf.Let) and isinstance(t.expr, Load)
                    else None
                )
                place = scope.get(buf) if buf is not None else None
                record = isinstance(t, kf.Store) and isinstance(place, kf.Deref) and buf not in loaded
                if buf is not None and not record and (buf in touched or not isinstance(place, kf.Param)):
                    raise Unfit
        return found

    def loop(self, s: kf.For, body: list[kf.Stmt], after: list[kf.Stmt], width: int, ranges: Ranges) -> list[kf.Stmt]:
        """Strips of `width` trips, and what is left of them."""
        strip, lane, trip = self.fresh("strip"), self.fresh("lane"), self.fresh("trip")
        lo = integer(s.lo)

        def one(first: Integer, count: Integer) -> list[kf.Stmt]:
            def each(name: str, part: list[kf.Stmt]) -> list[kf.Stmt]:
                to = {s.var: lo + (first + integer(name)) * s.step, LANE: integer(name)}
                return [substituted(t, to) for t in part]

            known = isinstance(count, int)
            part = kf.For(lane, "vec", 0, count, each(lane, body), lanes=width, full=known, most=None if known else width - 1)
            return [part, kf.For(trip, "seq", 0, count, each(trip, after), most=part.most)] if after else [part]

        if kf.trips(s) == inf:
            before, trips = self.not_negative(kf.count(s), ranges)
            left = self.fresh("left")
            before.append(kf.Let(left, "i64", Apply("remainder", (trips, Const(width, "i64")))))
            last = trips - integer(left)
            most = int(longest) // width if (longest := interval(trips, ranges)[1]) < inf else None
            strips = kf.For(strip, "seq", 0, last, one(integer(strip), width), step=width, most=most)
            return [*before, strips, *one(last, integer(left))]
        many, rest = divmod(int(kf.trips(s)), width)
        out: list[kf.Stmt] = [kf.For(strip, "seq", 0, many, one(integer(strip) * width, width))]
        return out + one(many * width, rest) if rest else out

    def not_negative(self, trips: Integer, ranges: Ranges) -> tuple[list[kf.Stmt], Integer]:
        """How many trips there are, and what computes that."""
        if interval(trips, ranges)[0] >= 0:
            return [], trips
        name = self.fresh("trips")
        return [kf.Let(name, "i64", Apply("maximum", (trips, Const(0, "i64"))))], integer(name)

    # ---- what trips hand on ----

    def hand_over(self, split: _Split) -> tuple[list[kf.Stmt], list[kf.Stmt]]:
        """What a lane does, storing what comes after it reads, and what comes after it."""
        dtypes = {t.name: t.dtype for t in kf.walk(split.lanes) if isinstance(t, (kf.Let, kf.Var))}
        kept: dict[str, str] = {}
        body: list[kf.Stmt] = []
        after: list[kf.Stmt] = []
        for t in split.body:
            if id(t) not in split.after:
                body.append(t)
                for n in assigned([t]):
                    kept.pop(n, None)
                continue
            for n in sorted(dtypes.keys() & set(reads([t])) - kept.keys()):
                buf = kf.Buffer(self.fresh(f"{n}_lanes"), dtypes[n], (1,))
                body += [buf, kf.Store(buf.name, (0,), n)]
                kept[n] = self.fresh(n)
                if dtypes[n] not in ("i64", "bool") and not is_float(dtypes[n]):
                    raise Unfit
                after.append(kf.Let(kept[n], dtypes[n], Load(buf.name, (0,))))
            after.append(_renamed(t, {n: integer(k) if dtypes[n] == "i64" else k for n, k in kept.items()}))
        return body, after

    def folds(self, split: _Split, lanes: Lanes) -> tuple[list[kf.Stmt], list[kf.Stmt]]:
        """Folds in place of sums; statements before the loop and after it."""
        before: list[kf.Stmt] = []
        after: list[kf.Stmt] = []
        for s in split.sums:
            f, total, both = self.fresh(f"{s.var}_sum"), self.fresh(f"{s.var}_total"), self.fresh(f"{s.var}_both")
            before.append(kf.Fold(f, "add", (s.dtype,), (Const(0.0, s.dtype),), lanes=lanes.width))
            lanes.sums[f] = s.dtype
            after += [
                kf.Let(total, s.dtype, Part(f)),
                kf.Let(both, s.dtype, Apply("add", (s.var, total)), contract=True),
                kf.Assign(s.var, both),
            ]
            split.body = folded(split.body, s, f)
        return before, after

    def lane_sums(self, a: Sum, lanes: Lanes) -> tuple[list[kf.Stmt], list[kf.Stmt]]:
        """A part of a sum for each lane: made before the loop, added up after it."""
        wide, k, l = self.fresh(f"{a.buf}_sums"), self.fresh("k"), self.fresh("lane")
        part, total, zero = self.fresh("part"), self.fresh("total"), Const(0, a.dtype)
        at, width = integer(k) * lanes.width + integer(l), lanes.width
        lanes.moved[a.buf] = (wide, (a.size,), a.start)
        f = self.fresh("sum")
        before: list[kf.Stmt] = [
            kf.Buffer(wide, a.dtype, (a.size * width,)),
            kf.For(l, "vec", 0, a.size * width, [kf.Store(wide, (integer(l),), zero)], lanes=width),
        ]
        add: list[kf.Stmt] = [
            kf.Fold(f, "add", (a.dtype,), (zero,), lanes=width),
            kf.For(
                l, "vec", 0, width, [kf.Let(part, a.dtype, Load(wide, (at,))), kf.Combine(f, (part,))], lanes=width, full=True
            ),
            kf.Let(total, a.dtype, Part(f)),
            kf.Store(a.buf, (a.start + integer(k),), total, add=True),
        ]
        return before, [kf.For(k, "seq", 0, a.size if a.count is None else a.count, add)]


# ---- which loops, and how many lanes -------------------------------------------------------------------------------------


def _fits(s: kf.For) -> bool:
    """Is it a loop with loops inside, or much to do, and nothing that cannot be in a lane?"""
    inside = list(kf.walk(s.body))
    if len(inside) > MOST:
        return False
    if any(isinstance(t, kf.For) and t.kind not in ("seq", "unroll") for t in inside):
        return False
    return any(isinstance(t, kf.For) for t in inside) or _operations(s.body) >= WORTH


def _operations(body: Sequence[kf.Stmt]) -> float:
    """Additions of floats that take as long as what a trip does."""
    made = [s.expr.op for s in kf.walk(body) if isinstance(s, kf.Let) and isinstance(s.expr, Apply) and is_float(s.dtype)]
    return sum(map(cost_of, made)) + sum(isinstance(s, kf.Store) and s.add for s in kf.walk(body))


def _width(body: Sequence[kf.Stmt]) -> int:
    """Lanes: two registers of the widest numbers; one where there are many of them."""
    inside = [s for s in kf.walk(body) if isinstance(s, (kf.Let, kf.Var)) and is_float(s.dtype)]
    widest = max((DTYPES[s.dtype].itemsize for s in inside), default=8)
    return REGISTER // widest * (1 if len(inside) > MANY else 2)


def _turned(s: kf.For) -> kf.For:
    """The loop from its last trip to its first."""
    last = integer(s.lo) + (kf.count(s) - 1) * s.step
    return replace(s, lo=last, hi=integer(s.lo) - s.step, step=-s.step)


def _accesses(s: kf.For, scope: Scope) -> list[ByteAccess]:
    found = Body(s, scope)
    found.run()
    return found.accesses


def _strided(s: kf.For, var: str, scope: Scope) -> bool:
    """Does it step over memory?"""
    return any(abs(coefficient(a.at, var)) > a.width for a in _accesses(s, scope))


def _derived(body: Sequence[kf.Stmt], a: Sum) -> bool:
    """Is what is added part of a derivative, whose sums may be re-ordered?"""
    numbers = derived(body)
    return all(s.value in numbers for s in kf.walk(body) if isinstance(s, kf.Store) and s.buf == a.buf)


# ---- the parts of a trip -------------------------------------------------------------------------------------------------


def _split(s: kf.For, carried: Mapping[str, str]) -> _Split:
    """The parts of a trip. Raises Unfit if there is a loop or a branch in what waits for the trip before, or too little beside it."""
    sums = [found for n, dtype in carried.items() if (found := sum_of(s.body, n, dtype)) is not None]
    after = waiting(s.body, set(carried) - {x.var for x in sums})
    if any(not after.isdisjoint(x.terms) for x in sums):
        sums, after = [], waiting(s.body, carried)
    split = _Split(s.body, after, sums)
    rest = [t for t in s.body if id(t) in after]
    if not all(isinstance(t, (kf.Let, kf.Assign, kf.Store, kf.Var)) for t in rest):
        raise Unfit
    if not any(isinstance(t, kf.For) for t in split.lanes) and _operations(split.lanes) < WORTH:
        raise Unfit
    return split


def _renamed(s: kf.Stmt, to: Mapping[str, Any]) -> kf.Stmt:
    """A statement that reads other names."""
    return substituted(s, {n: k for n, k in to.items() if n in set(reads([s]))})
