"""Index-set splitting: loops in parts, in each of which conditions on the loop's own index are known.

`for j in range(n): if j > 0: ...` decides in each trip what only the first one has in common with no other. The trips of one part all
go the same way (Griebl, Feautrier, Lengauer, "Index set splitting", 2000), so its branches are gone, and with them what keeps trips
from being lanes and numbers from staying in registers. `(j + 1) % n`, a subtraction under a condition, is a plain index in each part;
so is `max(j - 1, 0)`, which decides which of the two it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from math import inf

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, integer
from irad.codegen.kernel.independence import Ranges, Scope, below, least, loops_in
from irad.codegen.kernel.mentions import assigned, reads
from irad.codegen.kernel.substitute import substituted
from irad.codegen.transform.loops import Loops
from irad.core.affine import Integer, coefficient, number, symbol, symbols
from irad.core.lazy_dataclass import dataclass, replace
from irad.core.notes import Notes
from irad.ops.core import OPS

LEAST = 16  # trips
PARTS = 3
LARGE = 400  # statements of all parts
ORDERS = ("lt", "le", "gt", "ge")
CONNECTIVES = ("logical_and", "logical_or", "logical_not", "cast")
Key = tuple[str, kf.Expr]  # the name of a number, and how it is made


def split_trips(kernel: kf.Kernel, notes: Notes | None = None) -> kf.Kernel:
    """The kernel with such loops in parts, from the inside out."""
    return _Splitter.over(kernel, notes)


class _Splitter(Loops):
    def statement(self, s: kf.Stmt, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        (s,) = self.inside(s, scope, ranges)
        if not isinstance(s, kf.For) or s.kind != "seq" or kf.trips(s) < LEAST:
            return [s]
        if kf.trips(s) < inf:
            return self.parts(s, int(kf.trips(s)), scope, ranges)
        if abs(s.step) != 1 or not assigned(s.body).isdisjoint(symbols(integer(s.lo), integer(s.hi))):
            return [s]
        trips = kf.count(self.plain(s))
        parts = self.parts(self.plain(s), trips, scope, below(-trips, 1 - LEAST, ranges))
        if len(parts) == 1:
            return [s]
        if least(trips, loops_in(scope), ranges) >= LEAST:
            return parts
        many = self.fresh("many")  # the parts are in order where there are that many trips
        return [kf.Let(many, "bool", Apply("ge", (trips, Const(LEAST, "i64")))), kf.If(many, parts, [s])]

    @cached_property
    def maxima(self) -> dict[Integer, Integer]:
        """The numbers that are max(n, 0), by what n is."""
        lets = [(symbol(t.name), t.expr) for t in self.whole if isinstance(t, kf.Let) and isinstance(t.expr, Apply)]
        found = [(name, [_whole(x) for x in e.args]) for name, e in lets if e.op == "maximum"]
        return {name: xs[0] for name, xs in found if xs[1] == 0 and xs[0] is not None}

    def plain(self, s: kf.For) -> kf.For:
        """The loop up to n where it is one up to max(n, 0), which makes the same trips."""
        return replace(s, hi=self.maxima[integer(s.hi)]) if s.step > 0 and s.lo == 0 and integer(s.hi) in self.maxima else s

    def parts(self, s: kf.For, trips: Integer, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        """The parts of a loop of so many trips, or the loop."""
        lets = {_key(t): t for t in kf.walk(s.body) if isinstance(t, kf.Let)}
        found = {key: c for key, t in lets.items() if (c := _Condition.of(t, s, trips)) is not None}
        if not found:
            return [s]
        deciding = _deciding(s.body)
        found = {key: c for key, c in found.items() if key[0] in deciding}
        edges = sorted({e for c in found.values() for e in c.edges()}, key=lambda e: (e.behind, e.trip))
        if not edges or len(edges) >= PARTS or (len(edges) + 1) * sum(1 for _ in kf.walk(s.body)) > LARGE:
            return [s]
        out: list[kf.Stmt] = []
        for a, b in zip([Edge(0, False), *edges], [*edges, Edge(0, True)]):
            known = {key: c.in_part(a) for key, c in found.items()}
            part = replace(s, lo=a.at(s, trips), hi=b.at(s, trips))
            loops = [*loops_in(scope), part]
            out.append(replace(part, body=_Part(known, assigned(s.body), loops, ranges).block(s.body)))
        return out


@dataclass(frozen=True)
class Edge:
    """Where a part of a loop begins: a trip counted from the first one, or with `behind` (below 0) from the end."""

    trip: int
    behind: bool

    def at(self, s: kf.For, trips: Integer) -> Integer:
        return integer(s.lo) + (trips + self.trip if self.behind else self.trip) * s.step


def _key(t: kf.Let) -> Key:
    """What tells a number from those of the same name in other parts of a loop inside."""
    return t.name, t.expr


class _Condition:
    """A comparison of the loop's index: `at`, an affine function of the trip alone, with zero.

    Of the greater or lesser of two whole numbers: is it the first? With `behind`, trips are counted from the end. `trips`: how many
    trips there are to look for a change in; `LEAST` where only the run counts them, and then changes are near one end.
    """

    def __init__(self, op: str, start: int, step: int, behind: bool, trips: int):
        self.op, self.start, self.step, self.behind, self.trips = op, start, step, behind, trips

    @staticmethod
    def of(t: kf.Let, s: kf.For, trips: Integer) -> _Condition | None:
        e = t.expr
        if not isinstance(e, Apply) or not (OPS[e.op].compares if t.dtype == "bool" else OPS[e.op].extreme):
            return None
        a, b = (_whole(x) for x in e.args)
        if a is None or b is None:
            return None
        at = a - b
        if s.var not in symbols(at):
            return None
        step = coefficient(at, s.var) * s.step
        first = at + (integer(s.lo) - symbol(s.var)) * coefficient(at, s.var)
        start, end = number(first), number(first + trips * step)
        if start is None and end is None or not step:
            return None
        op = e.op
        if way := OPS[op].extreme:  # of equal ones it is the one that moves, as where `j > 0` is asked
            moves = s.var in symbols(a)
            op = ("ge" if moves else "gt") if way > 0 else ("le" if moves else "lt")
        if isinstance(trips, int) and start is not None:
            return _Condition(op, start, step, False, trips)
        c = _Condition(op, start, step, False, LEAST) if start is not None else _Condition(op, end or 0, step, True, LEAST)
        return c if c.settled else None

    def holds(self, trip: int) -> bool:
        compare = OPS[self.op].eval
        assert compare is not None
        return bool(compare(self.start + trip * self.step, 0))

    @property
    def zero(self) -> int:
        """It changes within two trips of this one."""
        return -self.start // self.step

    @property
    def settled(self) -> bool:
        """Is it the same in all trips but for less than half of `LEAST` at one end?"""
        return self.zero - 2 > -LEAST // 2 if self.behind else self.zero + 3 < LEAST // 2

    def edges(self) -> Iterator[Edge]:
        """The trips at which it is no longer what it was in the trip before."""
        lo, hi = (1 - self.trips, 0) if self.behind else (1, self.trips)
        for k in range(max(lo, self.zero - 1), min(hi, self.zero + 3)):
            if self.holds(k) != self.holds(k - 1):
                yield Edge(k, self.behind)

    def in_part(self, first: Edge) -> bool:
        """Does it hold in the part of the loop that begins there?"""
        if first.behind == self.behind:
            return self.holds(first.trip)
        return self.holds(-LEAST // 2 if self.behind else LEAST // 2)


def _whole(x: kf.Operand) -> Integer | None:
    """A whole number as an affine function."""
    if isinstance(x, Const):
        return int(x.value) if x.dtype[0] in "iu" else None
    return integer(x)


def _deciding(body: Sequence[kf.Stmt]) -> set[str]:
    """The conditions on which branches, or places in memory, depend; whole numbers that decide between two."""
    out = {s.cond for s in kf.walk(body) if isinstance(s, kf.If) and isinstance(s.cond, str)}
    lets = [(s, s.expr) for s in kf.walk(body) if isinstance(s, kf.Let) and isinstance(s.expr, Apply)]
    out |= {e.args[0] for s, e in lets if e.op == "select" and s.dtype == "i64" and isinstance(e.args[0], str)}
    out |= {s.name for s, e in lets if s.dtype == "i64" and OPS[e.op].extreme}
    for s, e in reversed(lets):
        if s.name in out and e.op in CONNECTIVES and s.dtype == "bool":
            out |= {x for x in e.args if isinstance(x, str)}
    return out


class _Part:
    """Makes the body of a loop into that of trips in which the truth of some conditions is known.

    `loops`: those around, from the outside in, the part last.
    """

    def __init__(self, decided: dict[Key, bool], changing: set[str], loops: Sequence[kf.For], ranges: Ranges):
        self.decided, self.changing, self.loops, self.ranges = decided, changing, loops, ranges
        self.known: dict[str, bool] = {}  # by name, of what has been met

    def block(self, body: Iterable[kf.Stmt]) -> list[kf.Stmt]:
        """The statements. `to` are numbers that have become plain."""
        to: dict[str, Integer] = {}
        out: list[kf.Stmt] = []
        for s in body:
            out += self.statement(substituted(s, to) if to and not to.keys().isdisjoint(reads([s])) else s, to)
        return out

    def statement(self, s: kf.Stmt, to: dict[str, Integer]) -> list[kf.Stmt]:
        if isinstance(s, kf.Let):
            return self.let(s, to)
        if isinstance(s, kf.If) and s.cond in self.known:
            return self.block(s.then if self.known[s.cond] else s.orelse)  # type: ignore[index]
        if isinstance(s, kf.Raise) and isinstance(s.cond, str) and self.known.get(s.cond) is False:
            return []
        parts = {p: self.block(getattr(s, p)) for p in ("test", "body", "then", "orelse") if hasattr(s, p)}
        return [replace(s, **parts) if parts else s]

    def let(self, s: kf.Let, to: dict[str, Integer]) -> list[kf.Stmt]:
        truth = self.truth(s)
        if truth is not None:
            self.known[s.name] = truth
            return [replace(s, expr=Apply("cast", (Const(truth, "bool"),)))]
        self.known.pop(s.name, None)  # a name of another part, where it was known
        e = s.expr
        one: kf.Operand | None = None
        if isinstance(e, Apply) and e.op == "select" and e.args[0] in self.known:
            one = e.args[1 if self.known[e.args[0]] else 2]  # type: ignore[index]
        elif isinstance(e, Apply) and OPS[e.op].extreme and _key(s) in self.decided:
            one = e.args[0 if self.decided[_key(s)] else 1]
        elif isinstance(e, Apply) and OPS[e.op].extreme and s.dtype == "i64":
            one = self.extreme(e)
        if one is not None:
            if s.dtype == "i64" and (plain := _whole(one)) is not None and self.changing.isdisjoint(symbols(plain)):
                to[s.name] = plain
            return [replace(s, expr=Apply("cast", (one,)))]
        return [s]

    def truth(self, s: kf.Let) -> bool | None:
        """Whether a condition holds; None if that is not known."""
        e = s.expr
        if s.dtype == "bool" and _key(s) in self.decided:
            return self.decided[_key(s)]
        if s.dtype != "bool" or not isinstance(e, Apply):
            return None
        if OPS[e.op].compares:
            return self.compared(e)
        if e.op not in CONNECTIVES:
            return None
        found = [bool(x.value) if isinstance(x, Const) else self.known.get(x) if isinstance(x, str) else None for x in e.args]
        if e.op == "logical_and":
            return False if False in found else True if None not in found else None
        if e.op == "logical_or":
            return True if True in found else False if None not in found else None
        return None if found[0] is None else found[0] == (e.op == "cast")

    def extreme(self, e: Apply) -> kf.Operand | None:
        """The greater or lesser of two whole numbers, if it is the same one in all trips."""
        a, b = (_whole(x) for x in e.args)
        if a is None or b is None or not self.changing.isdisjoint(symbols(a, b)):
            return None
        d = (a - b) * OPS[e.op].extreme
        if least(d, self.loops, self.ranges) >= 0:
            return e.args[0]
        return e.args[1] if least(-d, self.loops, self.ranges) >= 0 else None

    def compared(self, e: Apply) -> bool | None:
        """Whether a comparison of whole numbers holds in all trips, or in none."""
        a, b = (_whole(x) for x in e.args)
        if a is None or b is None or isinstance(a - b, int) or not self.changing.isdisjoint(symbols(a, b)):
            return None
        lo, hi = least(a - b, self.loops, self.ranges), -least(b - a, self.loops, self.ranges)
        compare = OPS[e.op].eval
        assert compare is not None
        found = {bool(compare(x, 0)) for x in (lo, hi)}
        return found.pop() if len(found) == 1 and (lo > 0 or hi < 0 or e.op in ORDERS) else None
