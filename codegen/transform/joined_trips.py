"""The backward of a trip right after its forward: loops of a derivative whose trips are independent, joined.

The forward of `for i: ...` leaves on a tape what all trips need in the backward, which is a loop of its own, from the last trip to
the first. Where the backward of one trip does not need what the forwards of others made, nor leaves anything to them but sums, both
loops become one (loop fusion: Kennedy, McKinley, "Maximizing loop parallelism and improving data locality via loop fusion and
distribution", 1993), and the records of one trip are a small buffer in place of an array for all trips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import Any, TypeGuard

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, Load, integer
from irad.codegen.kernel.independence import Ranges, Scope, factor, inside, interval, span_of
from irad.codegen.kernel.mentions import assigned, bound, reads
from irad.codegen.kernel.substitute import replaced, substituted
from irad.codegen.transform.lane_body import Unfit
from irad.codegen.transform.loops import Loops
from irad.codegen.transform.sums import derived, direct, sum_of
from irad.core.affine import Affine, Integer, applied, coefficient, constant, divisible, factors, symbol, symbols, terms
from irad.core.lazy_dataclass import dataclass, replace
from irad.core.notes import Notes
from irad.core.types import DTYPES

WORD = 8  # bytes: what records are counted in
MOST = 512  # words of a trip's records
PLAIN = (kf.Let, kf.Store, kf.Var, kf.Assign, kf.Fold, kf.Combine, kf.For, kf.If, kf.Buffer)


def joined(kernel: kf.Kernel, notes: Notes | None = None) -> kf.Kernel:
    """The kernel with such loops joined."""
    return _Joiner.over(kernel, notes)


class _Joiner(Loops):
    def block(self, body: Sequence[kf.Stmt], outside: Scope, ranges: Ranges) -> list[kf.Stmt]:
        out = super().block(body, outside, ranges)
        scope = {**outside, **{s.name: s for s in out if isinstance(s, (kf.Buffer, kf.View, kf.Deref, kf.Fold))}}
        if not any(isinstance(s, kf.Deref) for s in scope.values()):
            return out
        pops, pushes = _Asked(_pops, scope), _Asked(_pushes, scope)
        done: set[int] = set()
        at, aheads = 0, list[kf.For]()
        while at < len(out):
            back, at = out[at], at + 1
            if id(back) not in done and pops(back):
                done.add(id(back))
                joined = self.first_pair(out, aheads, back, scope, ranges)
                if joined is not None:
                    out, at, aheads = joined, 0, []
                    continue
            if pushes(back):
                aheads.append(back)
        return out

    def first_pair(
        self, block: list[kf.Stmt], aheads: Sequence[kf.For], back: kf.For, scope: Scope, ranges: Ranges
    ) -> list[kf.Stmt] | None:
        """The block with `back` in the last loop ahead of it that it can be joined with."""
        for ahead in reversed(aheads):
            try:
                return self.pair(block, ahead, back, scope, ranges)
            except Unfit:
                pass
        return None

    def pair(self, block: list[kf.Stmt], ahead: kf.For, back: kf.For, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        """The block with both loops in one; raises Unfit."""
        a, b = _index(block, ahead), _index(block, back)
        trips = kf.count(ahead)
        if trips != kf.count(back) or kf.trips(ahead) == 0:
            raise Unfit
        back = replace(back, body=direct(back.body))
        if bound([ahead]) & bound([back]):
            raise Unfit
        changing = assigned([*block[a:b], back])
        if not changing.isdisjoint(symbols(*(integer(x) for l in (ahead, back) for x in (l.lo, l.hi)))):
            raise Unfit
        last = integer(back.lo) + (trips - 1) * back.step
        trip = last - (integer(ahead.var) - integer(ahead.lo)) * (back.step * ahead.step)
        later = [substituted(s, {back.var: trip}) for s in back.body]
        known = _Known(block)
        records = _Records(ahead, later, scope, ranges, known, self.fresh)
        self.reorderable(replace(back, body=records.local(back.body, None)), scope, ranges)
        own, later = records.local(ahead.body, known), records.local(later, known)
        once = replace(ahead, body=[*records.buffers, *own])
        between, after = _sorted([once], block[a + 1 : b], later, scope)
        before = [s for s in block[:a] if not records.room(s, block, trips)]
        one = replace(once, body=[*once.body, *later])
        if self.notes is not None:
            text = f"loop {ahead.var}: the backward of each trip follows it, with its {records.words} records in a buffer"
            self.notes.add("loop", text, form="joined", records=records.words)
        return [*before, *between, one, *after, *block[b + 1 :]]

    def reorderable(self, back: kf.For, scope: Scope, ranges: Ranges) -> None:
        """Raises Unfit unless trips of a backward may run in another order: they share nothing but what they add to."""
        carried = assigned(back.body) - bound(back.body)
        if not all(sum_of(back.body, n, "") is not None for n in carried):
            raise Unfit
        found = self.independent(back, scope, ranges, frozenset(carried), turns=True)
        numbers = derived(back.body)
        sums = {x.buf for x in found.sums} | found.met if found else set()
        if found is None or found.folds or found.private:
            raise Unfit
        if not all(s.value in numbers for s in kf.walk(back.body) if isinstance(s, kf.Store) and s.buf in sums):
            raise Unfit


def _index(block: Sequence[kf.Stmt], s: kf.Stmt) -> int:
    return next(k for k, t in enumerate(block) if t is s)


def _pushes(s: kf.Stmt, scope: Scope) -> TypeGuard[kf.For]:
    return isinstance(s, kf.For) and s.kind == "seq" and abs(s.step) == 1 and any(True for _ in _stores(s, scope))


def _pops(s: kf.Stmt, scope: Scope) -> TypeGuard[kf.For]:
    return isinstance(s, kf.For) and s.kind == "seq" and abs(s.step) == 1 and any(True for _ in _loads(s, scope))


class _Asked:
    """A question about statements of one scope that is answered once for each."""

    def __init__(self, test: Callable[[kf.Stmt, Scope], bool], scope: Scope):
        self.test, self.scope = test, scope
        self.known: dict[int, tuple[kf.Stmt, bool]] = {}  # by identity; the statement is kept, so that it stays its own

    def __call__(self, s: kf.Stmt) -> TypeGuard[kf.For]:
        if id(s) not in self.known:
            self.known[id(s)] = s, self.test(s, self.scope)
        return self.known[id(s)][1]


def _stores(s: kf.Stmt, scope: Scope) -> Iterator[kf.Store]:
    return (t for t in kf.walk([s]) if isinstance(t, kf.Store) and isinstance(scope.get(t.buf), kf.Deref))


def _loads(s: kf.Stmt, scope: Scope) -> Iterator[Load]:
    return (
        t.expr for t in kf.walk([s])
        if isinstance(t, kf.Let) and isinstance(t.expr, Load) and isinstance(scope.get(t.expr.buf), kf.Deref)
    )  # fmt: skip


# ---- where records are ---------------------------------------------------------------------------------------------------


class _Known:
    """Whole numbers of a block as affine functions of what is not known."""

    def __init__(self, block: Sequence[kf.Stmt]):
        self.of: dict[str, Integer] = {}
        now: dict[str, Integer] = {}
        for k, s in enumerate(block):
            if isinstance(s, kf.Let) and s.dtype == "i64" and isinstance(s.expr, Apply):
                args = [self._value(x, now) for x in s.expr.args]
                x = args[0] if s.expr.op == "cast" else applied(s.expr.op, *args) if len(args) == 2 else None
                if x is not None:
                    self.of[s.name] = x
            elif isinstance(s, kf.Var) and s.dtype == "i64":
                now[s.name] = self._value(s.init, now)
            elif isinstance(s, kf.Assign):
                now[s.name] = self._value(s.value, now)
            else:
                now.update({n: symbol(f"{n}@{k}") for n in assigned([s])})

    def _value(self, x: kf.Operand, now: dict[str, Integer]) -> Integer:
        if isinstance(x, Const):
            return int(x.value) if DTYPES[x.dtype].kind in "iu" else symbol(f"{x.value}")
        if isinstance(x, str):
            return now.get(x, self.of.get(x, symbol(x)))
        return self.seen(x)

    def seen(self, x: kf.Index) -> Integer:
        return replaced(x, self.of)


class _Records:
    """The records that a trip leaves on the tape, as buffers of its own. Raises Unfit if they are not all that it leaves there."""

    def __init__(self, ahead: kf.For, later: Sequence[kf.Stmt], scope: Scope, ranges: Ranges, known: _Known, fresh: Any):
        self.ahead, self.scope, self.known = ahead, scope, known
        inside = [ahead, *later]
        self.ranges: dict[str, Any] = {**ranges}
        for s in kf.walk(inside):
            if isinstance(s, kf.For):
                self.ranges[s.var] = span_of(s, self.ranges)
        self.inner = {s.var for s in kf.walk([*ahead.body, *later]) if isinstance(s, kf.For)}
        if any(True for _ in _loads(ahead, scope)) or any(True for s in later for _ in _stores(s, scope)):
            raise Unfit
        pushed = [(s.buf, s.idx) for s in _stores(ahead, scope)]
        popped = [(e.buf, e.idx) for s in later for e in _loads(s, scope)]
        self.origin: Integer | None = None
        try:
            self._find_base(pushed, popped)
        except Unfit:
            self._find_origin(later)
        found = {self.dtype(buf) for buf, _ in (*pushed, *popped)}
        self.names = {d: fresh(f"{ahead.var}_records") for d in sorted(found)}
        whole = {d: all(self._whole(buf, idx) for buf, idx in (*pushed, *popped) if self.dtype(buf) == d) for d in found}
        self.unit = {d: _scale(d) if whole[d] else 1 for d in found}
        self.buffers: list[kf.Stmt] = [
            kf.Buffer(name, d, (self.words * _scale(d) // self.unit[d],)) for d, name in self.names.items()
        ]

    def dtype(self, buf: str) -> str:
        d = self.scope[buf].dtype
        assert d is not None
        return d

    def _find_base(self, pushed: Sequence[tuple[str, Any]], popped: Sequence[tuple[str, Any]]) -> None:
        """Where the records of a trip are: `words` of them, from `base` + `words` * trip on."""
        spans, outer = [], set()
        for buf, idx in (*pushed, *popped):
            scale = _scale(self.dtype(buf))
            start, rest = self._parts(idx)
            if not divisible(start, scale):
                raise Unfit
            outer.add(start // scale)
            lo, hi = interval(rest, self.ranges)
            if inf in (-lo, hi):
                raise Unfit
            spans.append((lo // scale, hi // scale))
        if len(outer) != 1:
            raise Unfit
        self.start = outer.pop()
        self.words = abs(coefficient(self.start, self.ahead.var))
        self.base = int(min(lo for lo, _ in spans))
        if not 0 < self.words <= MOST or max(hi for _, hi in spans) >= self.base + self.words:
            raise Unfit
        if self.ahead.var in symbols(self.start - symbol(self.ahead.var) * coefficient(self.start, self.ahead.var)):
            raise Unfit

    def _find_origin(self, later: Sequence[kf.Stmt]) -> None:
        """The same where only the run counts the records of a trip: from `origin` on, `each` of them, `words` at most."""
        accesses = [*_records(self.ahead.body, self.scope), *_records(later, self.scope)]
        if not accesses or any(_scale(self.dtype(buf)) != 1 for buf, _, _ in accesses):
            raise Unfit
        first = self.known.seen(accesses[0][1])
        each = factor(first, self.ahead.var)
        if each is None:
            raise Unfit
        self.each = each * self.ahead.step
        lo, hi = interval(self.each, self.ranges)
        self.origin = Affine.of(constant(first), {k: v for k, v in terms(first) if self.inner.isdisjoint(factors(k))})
        changing = (bound([self.ahead, *later]) | assigned([self.ahead, *later])) - self.inner
        for _, at, loops in accesses:
            rest = self.known.seen(at) - self.origin
            if not changing.isdisjoint(symbols(rest, self.each)) or not inside(rest, self.each, loops, self.ranges):
                raise Unfit
        if lo <= 0 or hi > MOST:
            raise Unfit
        self.words = int(hi)

    def _parts(self, idx: tuple[kf.Index, ...]) -> tuple[Integer, Integer]:
        """What is the same for all of a trip's records, and the rest."""
        at = self.known.seen(idx[0])
        inner = Affine.of(constant(at), {k: v for k, v in terms(at) if not self.inner.isdisjoint(factors(k))})
        if not set(symbols(inner)) <= self.inner:
            raise Unfit
        return at - inner, inner

    def _whole(self, buf: str, idx: tuple[kf.Index, ...]) -> bool:
        return self.origin is not None or divisible(self._parts(idx)[1], _scale(self.dtype(buf)))

    def local(self, body: Sequence[kf.Stmt], known: _Known | None) -> list[kf.Stmt]:
        """The statements with their records in buffers; without `known`, any buffer: what other trips touch is not asked."""

        def place(buf: str, idx: tuple[kf.Index, ...]) -> tuple[str, tuple[kf.Index, ...]]:
            d = self.dtype(buf)
            if self.origin is not None:
                return self.names[d], (self.known.seen(idx[0]) - self.origin,)
            at = self._parts(idx)[1] - self.base * _scale(d)
            return self.names[d], (at // self.unit[d] if self.unit[d] > 1 else at,)

        def change(s: kf.Stmt) -> kf.Stmt:
            if isinstance(s, kf.Store) and isinstance(self.scope.get(s.buf), kf.Deref):
                buf, idx = place(s.buf, s.idx)
                return replace(s, buf=buf, idx=idx)
            if isinstance(s, kf.Let) and isinstance(s.expr, Load) and isinstance(self.scope.get(s.expr.buf), kf.Deref):
                if known is None:
                    return replace(s, expr=Apply("cast", (Const(0, s.dtype),)))
                return replace(s, expr=Load(*place(s.expr.buf, s.expr.idx)))
            return s

        return kf.rewritten(body, change)

    def room(self, s: kf.Stmt, block: Sequence[kf.Stmt], trips: Integer) -> bool:
        """Does the statement make room on the tape for these records only?"""
        if not isinstance(s, kf.If) or not any(isinstance(t, kf.Call) and t.symbol == kf.GROW_NAME for t in s.then):
            return False
        full = next((t for t in block if isinstance(t, kf.Let) and t.name == s.cond), None)
        if full is None or not isinstance(full.expr, Apply) or not isinstance(full.expr.args[0], str):
            return False
        if self.origin is not None:
            start = replaced(self.origin, {self.ahead.var: integer(self.ahead.lo)})
            return self.known.seen(full.expr.args[0]) - start == self.each * trips
        least = self.start - symbol(self.ahead.var) * coefficient(self.start, self.ahead.var) + self.base
        end = self.known.seen(full.expr.args[0]) - least - coefficient(self.start, self.ahead.var) * integer(self.ahead.lo)
        return end == trips * self.words


def _records(
    body: Iterable[kf.Stmt], scope: Scope, loops: tuple[kf.For, ...] = ()
) -> Iterator[tuple[str, kf.Index, tuple[kf.For, ...]]]:
    """What is stored on tapes and loaded from them, with the loops around it."""
    for s in body:
        e = s if isinstance(s, kf.Store) else s.expr if isinstance(s, kf.Let) else None
        if isinstance(e, (kf.Store, Load)) and isinstance(scope.get(e.buf), kf.Deref):
            yield e.buf, e.idx[0], loops
        for part in ("test", "body", "then", "orelse"):
            yield from _records(getattr(s, part, ()), scope, (*loops, s) if isinstance(s, kf.For) else loops)


def _scale(dtype: str) -> int:
    return WORD // DTYPES[dtype].itemsize


# ---- what stands between the loops ---------------------------------------------------------------------------------------


def _sorted(
    ahead: Sequence[kf.Stmt], between: Sequence[kf.Stmt], back: Sequence[kf.Stmt], scope: Scope
) -> tuple[list[kf.Stmt], list[kf.Stmt]]:
    """What stands between the loops: what can be before both, and what can be after both. Raises Unfit."""
    touch = _Touch(scope)
    if not all(isinstance(s, PLAIN) for s in kf.walk([*ahead, *back])):
        raise Unfit
    forward, backward = touch.of(ahead), touch.of(back)
    forward.writes -= bound(ahead)  # its own records
    if _meet(backward.reads, forward.writes) or _meet(backward.writes, forward.reads | forward.writes):
        raise Unfit
    early: list[kf.Stmt] = []
    late: list[kf.Stmt] = []
    made = forward.writes
    for s in between:
        t = touch.of([s])
        if _meet(made, t.reads | t.writes):
            late.append(s)
            made = made | t.writes | bound([s])
        else:
            early.append(s)
    one, two = touch.of(early), touch.of(late)
    if _meet(one.writes, forward.reads) or _meet(backward.reads, made):
        raise Unfit
    if _meet(two.reads, one.writes | backward.writes) or _meet(
        two.writes, one.reads | one.writes | backward.reads | backward.writes
    ):
        raise Unfit
    if not all(isinstance(s, PLAIN) for s in kf.walk(late)):
        raise Unfit
    leaves = any(isinstance(s, kf.Raise) or isinstance(s, kf.Call) and s.symbol != kf.GROW_NAME for s in kf.walk(early))
    if leaves and any(isinstance(scope.get(s.buf), kf.Param) for s in kf.walk(ahead) if isinstance(s, kf.Store)):
        raise Unfit
    return early, late


@dataclass
class _Effects:
    reads: set[Any]
    writes: set[Any]


class _Touch:
    """What statements read and write: names of variables and buffers, spans of bytes of an arena; memory of tapes is one thing."""

    def __init__(self, scope: Scope):
        self.scope = scope

    def of(self, body: Sequence[kf.Stmt]) -> _Effects:
        wrote = assigned(body) | {s.fold for s in kf.walk(body) if isinstance(s, kf.Combine)}
        wrote |= {s.buf for s in kf.walk(body) if isinstance(s, kf.Store)}
        wrote |= {n for s in kf.walk(body) for n in getattr(s, "writes", ())}
        wrote |= {n for s in kf.walk(body) if isinstance(s, kf.Swap) for n in (s.a, s.b)}
        return _Effects({self._thing(n) for n in reads(body)}, {self._thing(n) for n in wrote})

    def _thing(self, name: str) -> Any:
        b = self.scope.get(name)
        if isinstance(b, kf.Deref):
            return "@tape"
        if not isinstance(b, kf.View):
            return name
        size = b.shape[0] if len(b.shape) == 1 else None
        if b.dtype is None or not isinstance(b.offset, int) or not isinstance(size, int):
            raise Unfit
        width = DTYPES[b.dtype].itemsize
        return b.buf, b.offset * width, (b.offset + size) * width


def _meet(xs: set[Any], ys: set[Any]) -> bool:
    """May two sets have memory or a variable in common?"""
    spans = [y for y in ys if isinstance(y, tuple)]
    return bool(xs & ys) or any(x[0] == y[0] and x[1] < y[2] and y[1] < x[2] for x in xs if isinstance(x, tuple) for y in spans)
