"""Are the iterations of a loop independent? The memory that they touch, as affine byte positions over the loops' variables.

Whether positions meet, irad.core.dependence says. Slots of an arena are one memory where their bytes overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from math import inf
from typing import Any

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import integer, trips
from irad.codegen.kernel.substitute import replaced
from irad.core.affine import WHOLE, Affine, Integer, Interval, bounds, constant, divisible, factors, fill, symbols, terms
from irad.core.dependence import apart, dense, steady
from irad.core.lazy_dataclass import dataclass, field, replace
from irad.core.types import DTYPES

SUMS = 1 << 18  # bytes of the arrays that the blocks of a loop add to

Ranges = Mapping[str, Interval]  # of loop variables
Scope = Mapping[str, Any]  # the statements and parameters that declare the buffers and folds outside


@dataclass
class Independent:
    """What a parallel loop takes with it: scratch buffers of its own, the folds outside that it combines into, what it adds to.

    `met`: buffers to which its trips only add, several of them to one element perhaps.
    """

    private: list[kf.Buffer]
    folds: list[kf.Fold]
    sums: list[Sum]
    met: set[str] = field(default_factory=set)


@dataclass
class Sum:
    """Elements [start, start + size) of a buffer, which the iterations add to.

    With `count`, only so many of them are there, and are added to.
    """

    buf: str
    dtype: str
    start: Integer
    size: int
    count: Integer | None = None


@dataclass
class ByteAccess:
    """A load or store of bytes [at, at + width) of the memory `root`; `loops`: the loops and branches around it, from outside in."""

    buf: str
    at: Integer
    width: int
    write: bool
    loops: tuple[kf.Stmt, ...]
    order: int
    add: bool = False


class Body:
    """The memory accesses of a loop's body; `run` is False where something in it cannot run in parallel."""

    def __init__(self, loop: kf.For, scope: Scope, but: frozenset[str] = frozenset()):
        self.loop, self.scope, self.but = loop, scope, but
        self.accesses: list[ByteAccess] = []
        self.seen: set[Any] = set()
        self.folds: list[kf.Fold] = []
        self.local: set[str] = set()  # variables, folds and buffers of the iteration

    def run(self) -> bool:
        inside = list(kf.walk(self.loop.body))
        self.local = {s.name for s in inside if isinstance(s, (kf.Var, kf.Fold, kf.Buffer))} | self.but
        self.numbers = {s.name for s in inside if isinstance(s, (kf.Let, kf.Var))}
        return self.block(self.loop.body, ())

    def of(self, s: kf.Stmt, loops: tuple[kf.Stmt, ...]) -> list[ByteAccess]:
        """The accesses of one statement that is no loop or branch."""
        if isinstance(s, (kf.Let, kf.Store)):
            self.numbers = set()
            self.statement(s, loops)
        return self.accesses

    def block(self, body: Sequence[kf.Stmt], loops: tuple[kf.Stmt, ...]) -> bool:
        return all(self.statement(s, loops) for s in body)

    def statement(self, s: kf.Stmt, loops: tuple[kf.Stmt, ...]) -> bool:
        if isinstance(s, kf.For):
            return s.kind != "par" and self.block(s.body, (*loops, s))
        if isinstance(s, kf.If):
            return self.block(s.then, (*loops, s)) and self.block(s.orelse, (*loops, replace(s)))
        if isinstance(s, kf.Let):
            return self.expression(s.expr, loops)
        if isinstance(s, kf.Store):
            return (not s.add or self.access(s.buf, s.idx, False, loops, True)) and self.access(s.buf, s.idx, True, loops, s.add)
        if isinstance(s, kf.Combine):
            return s.fold in self.local or self.outer_fold(s)
        if isinstance(s, kf.Assign):
            return s.name in self.local
        return isinstance(s, (kf.Var, kf.Fold, kf.Buffer, kf.Prefetch, kf.Begin))

    def expression(self, e: kf.Expr, loops: tuple[kf.Stmt, ...]) -> bool:
        if isinstance(e, kf.Load):
            return self.access(e.buf, e.idx, False, loops)
        return e.fold in self.local if isinstance(e, kf.Part) else isinstance(e, kf.Apply) or e.var in self.local

    def outer_fold(self, s: kf.Combine) -> bool:
        f = self.scope.get(s.fold)
        if not isinstance(f, kf.Fold) or f.shape:
            return False
        if f not in self.folds:
            self.folds.append(f)
        return True

    def access(self, name: str, idx: Sequence[kf.Index], write: bool, loops: tuple[kf.Stmt, ...], add: bool = False) -> bool:
        if name in self.local:
            return True
        b = self.scope.get(name)
        if b is None or isinstance(b, kf.View) and b.dtype is None:
            return False
        width = DTYPES[b.dtype].itemsize
        at = position(b, idx) * width
        key = (name, at, write, add, tuple(map(id, loops)))
        if key not in self.seen:
            self.seen.add(key)
            self.accesses.append(ByteAccess(name, at, width, write, loops, len(self.accesses), add))
        return not write or not self.numbers.intersection(symbols(at))  # a scatter


def position(b: Any, idx: Sequence[kf.Index]) -> Integer:
    """Which element of a buffer an index means, counted from its first one."""
    at: Integer = 0
    stride: Integer = 1
    for i, n in zip(reversed(idx), reversed((1,) if isinstance(b, kf.Deref) else b.shape)):
        at, stride = at + integer(i) * stride, stride * integer(n)
    return at


def overlapping(groups: Mapping[str, list[ByteAccess]], scope: Scope, ranges: Ranges) -> Iterator[list[ByteAccess]]:
    """Accesses to memory that is written, each list with all that may touch the same; slots of an arena are laid out in bytes."""
    slots: list[tuple[Interval, list[ByteAccess]]] = []
    others: dict[Any, list[ByteAccess]] = {}  # by what tells their memory from others'
    for name, accesses in groups.items():
        b = scope.get(name)
        if not isinstance(b, kf.View):
            others.setdefault((b.buf, integer(b.idx)) if isinstance(b, kf.Deref) else name, []).extend(accesses)
            continue
        moved = [replace(a, at=a.at + integer(b.offset) * a.width) for a in accesses]
        slots.append((bytes_of(accesses, b, ranges), moved))
    yield from (accesses for accesses in others.values() if any(a.write for a in accesses))
    slots.sort(key=lambda t: t[0])
    group: list[ByteAccess] = []
    end = -inf
    for (lo, hi), accesses in slots:
        if lo > end and group:
            if any(a.write for a in group):
                yield group
            group = []
        group = [*group, *accesses]
        end = max(end, hi)
    if any(a.write for a in group):
        yield group


def bytes_of(accesses: Sequence[ByteAccess], slot: Any, ranges: Ranges) -> Interval:
    """The bytes of an arena from the first to the last that the accesses touch, if their buffer is at the slot."""
    spans = [(interval(a.at + integer(slot.offset) * a.width, ranges), a.width) for a in accesses]
    return min(lo for (lo, _), _ in spans), max(hi + width - 1 for (_, hi), width in spans)


def disjoint(accesses: Sequence[ByteAccess], s: kf.For, ranges: Ranges) -> bool:
    """Does no iteration of s write what another one touches?"""
    inner = {l.var for a in accesses for l in a.loops if isinstance(l, kf.For)}
    return apart([(a.at, a.width) for a in accesses], s.var, s.step, trips(s), inner, lambda name: ranges.get(name, WHOLE))


def summed(accesses: Sequence[ByteAccess], s: kf.For, b: Any, ranges: Ranges) -> Sum | None:
    """The elements that all iterations add to, if that is all that they do with the buffer and they are few."""
    first = accesses[0]
    inner = {l.var for a in accesses for l in a.loops if isinstance(l, kf.For)}
    outer = {steady(a.at, inner) for a in accesses}
    if not all(a.add and a.buf == first.buf for a in accesses) or len(outer) > 1 or len(getattr(b, "shape", ())) != 1:
        return None
    start = outer.pop()
    if s.var in symbols(start, *(a.at for a in accesses)):
        return None
    spans = [interval(a.at - start, ranges) for a in accesses]
    lo, hi = min(x for x, _ in spans), max(y for _, y in spans)
    if hi - lo > SUMS // 4:
        return None
    if isinstance(b, kf.View):
        start = start - integer(b.offset) * first.width
    start = start + int(lo)
    if constant(start) % first.width or not divisible(start, first.width):
        return None
    return Sum(first.buf, b.dtype, start // first.width, int(hi - lo) // first.width + 1)


def written_first(accesses: Sequence[ByteAccess], ranges: Ranges) -> bool:
    """Is every element written in an iteration before it is read?"""
    return all(covered(a, [w for w in accesses if w.write and w.order < a.order], ranges) for a in accesses if not a.write)


def covered(read: ByteAccess, writes: Sequence[ByteAccess], ranges: Ranges) -> bool:
    """Do the writes, which come first, fill the range of positions that a read may look at?"""
    spans: dict[int, list[Interval]] = {}
    for w in reversed(writes):
        depth = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(read.loops, w.loops)))
        fixed = {l.var for l in read.loops[:depth] if isinstance(l, kf.For)}
        rest, inner = w.loops[depth:], read.loops[depth:]
        if not all(isinstance(l, kf.For) and trips(l) >= 1 for l in rest):
            continue  # it may not happen
        span = _dense(w, rest)
        if span is None or _outer_and(w.at, fixed, rest) != _outer_and(read.at, fixed, inner):
            continue
        spans.setdefault(depth, []).append(span)
        lo, hi = interval(_moving(read.at, inner), ranges)
        if fill(spans[depth], (lo, hi + read.width - 1)):
            return True
    return False


def _moving(at: Integer, loops: Sequence[kf.Stmt]) -> Integer:
    names = {l.var for l in loops if isinstance(l, kf.For)}
    return Affine.of(constant(at), {k: v for k, v in terms(at) if not names.isdisjoint(factors(k))})


def _outer_and(at: Integer, fixed: set[str], loops: Sequence[kf.Stmt]) -> Integer:
    names = {l.var for l in loops if isinstance(l, kf.For)}
    return Affine.of(0, {k: v for k, v in terms(at) if fixed.issuperset(factors(k)) or names.isdisjoint(factors(k))})


def _dense(w: ByteAccess, loops: Sequence[kf.Stmt]) -> Interval | None:
    """The bytes that a store fills, if they are all of a range."""
    spans: list[tuple[str, int, int, int]] = []
    for l in loops:
        assert isinstance(l, kf.For)
        lo, count = integer(l.lo), trips(l)
        if not isinstance(lo, int) or count == inf or l.step < 0:
            return None
        spans.append((l.var, lo, l.step, int(count)))
    return dense(w.at, w.width, spans)


# ---- ranges --------------------------------------------------------------------------------------------------------------


def interval(a: Integer, ranges: Ranges) -> Interval:
    """Bounds of an index."""
    return bounds(a, lambda s: _product(s, ranges) if type(s) is tuple else ranges.get(s, WHOLE))


def _product(names: Sequence[str], ranges: Ranges) -> Interval:
    """Bounds of a product of symbols, all of which are in known ranges."""
    lo: float = 1
    hi: float = 1
    for name in names:
        a, b = ranges.get(name, WHOLE)
        if inf in (-a, b):
            return WHOLE
        ends = (lo * a, lo * b, hi * a, hi * b)
        lo, hi = min(ends), max(ends)
    return lo, hi


def span_of(s: kf.For, ranges: Ranges) -> Interval:
    """Least and greatest value of a loop's variable."""
    (lo, lo_most), (hi_least, hi) = interval(integer(s.lo), ranges), interval(integer(s.hi), ranges)
    if s.step < 0:
        return min(hi_least + 1, lo_most), lo_most
    last = hi - 1 if lo != lo_most or inf in (-lo, hi) else lo + (hi - 1 - lo) // s.step * s.step
    return lo, max(lo, last)


def all_ranges(s: kf.For, accesses: Sequence[ByteAccess], outside: Ranges) -> Ranges:
    """Bounds of the variables in a loop; loops one after another may share a name, which then has the hull of their ranges."""
    out = {**outside, s.var: span_of(s, outside)}
    seen: set[int] = set()
    names: set[str] = set()
    for a in accesses:
        for l in a.loops:
            if isinstance(l, kf.For) and id(l) not in seen:
                lo, hi = span_of(l, out)
                out[l.var] = (min(lo, out[l.var][0]), max(hi, out[l.var][1])) if l.var in names else (lo, hi)
                seen.add(id(l))
                names.add(l.var)
    return out


# ---- bounds where the extents are known at run time only ------------------------------------------------------------------
#
# `i*n + j` is below `n*n` in a nest over i < n and j < n. Numbers say between what `n` is, not that `i < n`. So each loop's variable is
# replaced by its first or last value, from the inside out, as the sign of what it is multiplied by says; what is left are the extents.


def loops_in(scope: Scope) -> list[kf.For]:
    """The loops around, from the outside in."""
    return [s for s in scope.values() if isinstance(s, kf.For)]


def least(e: Integer, loops: Sequence[kf.For], ranges: Ranges) -> float:
    """A lower bound of a form in all trips of some loops, outermost first."""
    return interval(lowest(e, loops, ranges), ranges)[0]


def lowest(e: Integer, loops: Sequence[kf.For], ranges: Ranges) -> Integer:
    """What a form is at least in trips of some loops, outermost first; variables stay where it is not known at which end that is."""
    for l in reversed(loops):
        c = factor(e, l.var)
        if c is None:
            continue
        lo, hi = interval(c, ranges)
        first, last = integer(l.lo), integer(l.hi) - (1 if l.step > 0 else -1)
        if lo >= 0:
            e = replaced(e, {l.var: first if l.step > 0 else last})
        elif hi <= 0:
            e = replaced(e, {l.var: last if l.step > 0 else first})
    return e


def below(e: Integer, end: int, ranges: Ranges) -> Ranges:
    """The ranges of numbers where it is known that a form is below `end`."""
    if len(terms(e)) != 1:
        return ranges
    ((name, c),) = terms(e)
    if abs(c) != 1 or not isinstance(name, str):
        return ranges
    (lo, hi), limit = ranges.get(name, WHOLE), end - 1 - constant(e)
    return {**ranges, name: (lo, min(hi, limit)) if c > 0 else (max(lo, -limit), hi)}


def inside(at: Integer, size: Integer, loops: Sequence[kf.For], ranges: Ranges) -> bool:
    """Is a position at least 0 and below `size` in all trips of some loops, outermost first?"""
    return least(at, loops, ranges) >= 0 and least(size - at, loops, ranges) > 0


def elements(b: object) -> Integer:
    """Elements that a buffer surely has."""
    if isinstance(b, kf.Param) and b.shape is not None and len(b.shape) == 1 and b.shape[0] != kf.ANY:
        return integer(b.shape[0])
    return b.least if isinstance(b, (kf.Param, kf.View)) else 0


def factor(e: Integer, name: str) -> Integer | None:
    """What a symbol is multiplied by; None if it does not occur, or in a square."""
    out: dict[object, int] = {}
    for s, c in terms(e):
        fs = factors(s)
        if name in fs:
            rest = _without(fs, name)
            if name in rest:
                return None
            out[rest[0] if len(rest) == 1 else rest] = c
    if not out:
        return None
    const = out.pop((), 0)
    return Affine.of(const, out)


def _without(xs: Iterable[str], name: str) -> tuple[str, ...]:
    rest = list(xs)
    rest.remove(name)
    return tuple(rest)
