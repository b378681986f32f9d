"""Tapes of loops that are counted: room for all records at once, and records at affine places.

Where each trip of a loop moves the top of a tape by the same number of words, the top is an induction variable: what it is in a
trip is its start and a multiple of the trip (Aho, Sethi, Ullman, "Compilers", 1986, 10.7). The check for room and the read of the
tape's address leave the loop. Loops are taken from the inside out, so nests of them become affine too, and other passes can tell
that the records of two trips do not meet.
"""

from __future__ import annotations

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, integer
from irad.codegen.kernel.independence import Ranges, Scope, interval
from irad.codegen.kernel.mentions import assigned, bound
from irad.codegen.kernel.substitute import replaced, substituted
from irad.codegen.transform.loops import Loops
from irad.core.affine import Integer, number, symbol, symbols
from irad.core.lazy_dataclass import dataclass, replace

UNKNOWN = ("", 0)  # a slot, of which only is known that memory is made for it


def reserved(kernel: kf.Kernel) -> kf.Kernel:
    """The kernel with room for the tapes of such loops made before them."""
    if not any(isinstance(s, kf.Deref) for s in kf.walk(kernel.body)):
        return kernel
    return _Tapes.over(kernel)


@dataclass
class _Growth:
    """`need` and what stands between it and the room for so many words: reading the capacity, comparing, growing."""

    need: str
    capacity: kf.Let
    full: kf.Let
    grow: kf.If


class _Tapes(Loops):
    def statement(self, s: kf.Stmt, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        (s,) = self.inside(s, scope, ranges)
        return self.loop(s, ranges) if isinstance(s, kf.For) and s.kind == "seq" and abs(s.step) == 1 else [s]

    def loop(self, loop: kf.For, ranges: Ranges) -> list[kf.Stmt]:
        """The loop with what can stand before it, and after it."""
        before: list[kf.Stmt] = []
        after: list[kf.Stmt] = []
        trips = kf.count(loop)
        if trips and interval(trips, ranges)[0] >= 0 and assigned(loop.body).isdisjoint(symbols(trips)):
            for top in _counted(loop):
                found = _Top(loop, top, ranges)
                if found.moves_evenly():
                    loop, pre, post = self.at_known_places(found)
                    before, after = [*before, *pre], [*after, *post]
        addresses = _addresses(loop) if before else []
        body = [s for s in loop.body if not any(s is a for a in addresses)]
        return [*before, *addresses, replace(loop, body=body), *after]

    def at_known_places(self, t: _Top) -> tuple[kf.For, list[kf.Stmt], list[kf.Stmt]]:
        """The loop without the variable, and the statements before it and after it."""
        start, trips = self.fresh(f"{t.top}_start"), kf.count(t.loop)
        before: list[kf.Stmt] = [kf.Let(start, "i64", Apply("cast", (t.top,)))]
        if t.growths:
            g = t.growths[0]
            most = t.most + (t.total if t.up else 0) * (trips - 1)
            need, full = self.fresh(g.need), self.fresh(g.full.name)
            before += [
                kf.Let(need, "i64", _moved(start, most)),
                g.capacity,
                kf.Let(full, "bool", Apply("gt", (need, g.capacity.name))),
                replace(g.grow, cond=full, then=[substituted(s, {g.need: integer(need)}) for s in g.grow.then]),
            ]
        end = self.fresh(f"{t.top}_end")
        after: list[kf.Stmt] = [kf.Let(end, "i64", _moved(start, t.total * trips)), kf.Assign(t.top, end)]
        trip = (integer(t.loop.var) - integer(t.loop.lo)) * t.loop.step
        return replace(t.loop, body=t.rest({t.top: integer(start) + trip * t.total})), before, after


class _Top:
    """A variable of a loop as an affine function of what it is when a trip starts."""

    def __init__(self, loop: kf.For, top: str, ranges: Ranges):
        self.loop, self.top, self.ranges = loop, top, ranges
        self.changing = bound([loop]) | assigned(loop.body)
        self.values: dict[str, Integer] = {}  # numbers that depend on it alone
        self.moves: list[Integer] = []  # what it is after each statement
        self.total: Integer = 0  # by which a trip moves it
        self.up = False  # is that not below 0?
        self.most: Integer = 0  # words from the top at the start of a trip for which it makes room
        self.growths: list[_Growth] = []

    def moves_evenly(self) -> bool:
        """Is it a tape's top, which each trip moves by the same number of words?"""
        now = integer(self.top)
        for s in self.loop.body:
            if isinstance(s, kf.Let) and s.dtype == "i64" and isinstance(s.expr, Apply):
                value = self._value(s.expr, now)
                if value is not None:
                    self.values[s.name] = value
            if isinstance(s, kf.Assign) and s.name == self.top:
                if s.value not in self.values:
                    return False
                now = self.values[s.value]  # type: ignore[index]
            elif any(isinstance(t, (kf.Assign, kf.Var)) and t.name == self.top for t in kf.walk([s])):
                return False
            self.moves.append(now)
        self.total = now - symbol(self.top)
        if not self.total or not self.changing.isdisjoint(symbols(self.total)) or not self._of_a_tape():
            return False
        lo, hi = interval(self.total, self.ranges)
        self.up = lo >= 0
        return (self.up or hi <= 0) and self._find_growths()

    def _value(self, e: Apply, now: Integer) -> Integer | None:
        """A sum, difference or copy of the variable and constants."""
        if e.op not in ("add", "sub", "cast"):
            return None
        args: list[Integer] = []
        for a in e.args:
            if isinstance(a, Const):
                args.append(int(a.value))
                continue
            at = integer(a)
            if any(n in self.changing and n != self.top and n not in self.values for n in symbols(at)):
                return None
            args.append(replaced(at, {**self.values, self.top: now}))
        out = args[0] if e.op == "cast" else args[0] + args[1] if e.op == "add" else args[0] - args[1]
        return out if self.top in symbols(out) else None

    def _of_a_tape(self) -> bool:
        """Is it part of a place in memory that an address leads to?"""
        memory = {s.name for s in kf.walk(self.loop.body) if isinstance(s, kf.Deref)}
        names = {self.top, *self.values}
        at: tuple[kf.Index, ...]
        for s in kf.walk(self.loop.body):
            if isinstance(s, kf.View):
                buf, at = s.buf, (s.offset,)
            elif isinstance(s, kf.Store):
                buf, at = s.buf, s.idx
            elif isinstance(s, kf.Let) and isinstance(s.expr, kf.Load):
                buf, at = s.expr.buf, s.expr.idx
            else:
                continue
            if buf in memory and any(n in names for i in at for n in symbols(integer(i))):
                return True
        return False

    def _find_growths(self) -> bool:
        """All that makes room for the tape, in the loop itself; False if there is more of it elsewhere."""
        lets = {s.name: s for s in self.loop.body if isinstance(s, kf.Let)}
        for s in self.loop.body:
            if not isinstance(s, kf.If):
                continue
            calls = [t for t in s.then if isinstance(t, kf.Call) and t.symbol == kf.GROW_NAME]
            full = lets.get(s.cond) if isinstance(s.cond, str) else None
            if not calls or full is None or not isinstance(full.expr, Apply) or full.expr.args[0] not in self.values:
                continue
            need, cap = full.expr.args
            capacity = lets.get(cap) if isinstance(cap, str) else None
            if s.orelse or len(s.then) > 2 or capacity is None or not isinstance(capacity.expr, kf.Load):
                return False
            assert isinstance(need, str)
            self.growths.append(_Growth(need, capacity, full, s))
        if self.up and not self.growths:
            return False
        if self.growths:
            ends = [self.values[g.need] - symbol(self.top) for g in self.growths]
            most = next((e for e in ends if all(interval(e - f, self.ranges)[0] >= 0 for f in ends)), None)
            if most is None or not self.changing.isdisjoint(symbols(most)):
                return False
            self.most = most
        places = {_slot(g.grow) for g in self.growths}
        others = [t for t in kf.walk(self.loop.body) if isinstance(t, kf.If) and all(t is not g.grow for g in self.growths)]
        return len(places) <= 1 and UNKNOWN not in places and not any(_slot(t) in places for t in others)

    def rest(self, start: dict[str, Integer]) -> list[kf.Stmt]:
        """The body with affine integers in place of the variable and of what depends on it."""
        gone = {id(s) for g in self.growths for s in (g.capacity, g.full, g.grow)}
        to = {name: replaced(v, start) for name, v in self.values.items()}
        out: list[kf.Stmt] = []
        before = integer(self.top)
        for s, now in zip(self.loop.body, self.moves):
            assigned = isinstance(s, kf.Assign) and s.name == self.top
            if not (assigned or id(s) in gone or isinstance(s, kf.Let) and s.name in to):
                out.append(substituted(s, {**to, self.top: replaced(before, start)}))
            before = now
        return out


def _moved(start: str, by: Integer) -> Apply:
    """A number of words further on."""
    return Apply("add", (start, Const(by, "i64"))) if isinstance(by, int) else Apply("cast", (integer(start) + by,))


def _counted(loop: kf.For) -> list[str]:
    """Variables that a loop assigns sums or differences of whole numbers."""
    sums = {s.name for s in loop.body if isinstance(s, kf.Let) and s.dtype == "i64" and isinstance(s.expr, Apply)}
    return list(dict.fromkeys(s.name for s in loop.body if isinstance(s, kf.Assign) and s.value in sums))


def _slot(s: kf.If) -> tuple[str, Integer] | None:
    """The slot of the tape that a branch makes room for; UNKNOWN if it does, but where is not seen."""
    views = {t.name: t for t in s.then if isinstance(t, kf.View)}
    for t in s.then:
        if isinstance(t, kf.Call) and t.symbol == kf.GROW_NAME:
            v = views.get(t.args[0])  # type: ignore[arg-type]
            return (v.buf, integer(v.offset)) if v is not None else UNKNOWN
    return None


def _addresses(loop: kf.For) -> list[kf.Stmt]:
    """What reads the addresses of memory that does not move while the loop runs."""
    inside = list(kf.walk(loop.body))
    moving = {_slot(s) for s in inside if isinstance(s, kf.If)} - {None}
    if UNKNOWN in moving:
        return []
    written = {n for s in inside for n in ((s.buf,) if isinstance(s, kf.Store) else getattr(s, "writes", ()))}
    lets = {s.name: s for s in loop.body if isinstance(s, kf.Let)}
    out: list[kf.Stmt] = []
    for s in loop.body:
        if (
            isinstance(s, kf.Deref)
            and s.buf not in written
            and (s.buf, integer(s.idx)) not in moving
            and number(integer(s.idx)) is not None
        ):
            sizes = [lets.get(n) for n in ([] if s.size is None else sorted(symbols(integer(s.size))))]
            if all(l is not None and isinstance(l.expr, kf.Load) and l.expr.buf == s.buf for l in sizes):
                out += [*(l for l in sizes if l is not None), s]
    return out
