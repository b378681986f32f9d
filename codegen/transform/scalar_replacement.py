"""Scalar replacement: what one trip stores or loads, and the next trip loads from the same place, stays in a register.

`a[i] = f(a[i-1])` waits in each trip for the store of the trip before and loads it again, some ten cycles on the way through memory.
The store stays; the load becomes a variable, which is loaded once, before the loop (Callahan, Carr, Kennedy, "Improving register
allocation for subscripted variables", 1990). A place that one trip loads and the next one loads again is not loaded twice either.

For each load at P(i), the place P(i+1) of the next trip is looked up in the body: its last load or store there, in every trip, tells
the number that the next trip finds, unless a later store may change it: then it is one to the very same place, under a condition
perhaps, which sets the variable too, or the load stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, integer
from irad.codegen.kernel.independence import Ranges, Scope, interval, position, span_of
from irad.codegen.kernel.mentions import assigned, bound
from irad.codegen.kernel.substitute import replaced
from irad.codegen.transform.loops import Loops
from irad.core.affine import Integer, symbol, symbols
from irad.core.lazy_dataclass import dataclass, field, replace
from irad.core.notes import Notes

MOST = 6  # variables for one loop: they take registers
LARGE = 400  # statements of a body from which on it is left alone


def forwarded(kernel: kf.Kernel, notes: Notes | None = None) -> kf.Kernel:
    """The kernel with such loads replaced in its loops that run in order."""
    return _Replacer.over(kernel, notes)


@dataclass
class _Access:
    """A load or a store. `top`: is it made in every trip, once? `plain`: under conditions at most, in no loop inside."""

    stmt: kf.Let | kf.Store
    buf: str
    at: Integer
    order: int
    top: bool
    plain: bool
    ranges: Ranges

    @property
    def write(self) -> bool:
        return isinstance(self.stmt, kf.Store)


@dataclass
class _Carried:
    """Loads of one place, and what tells the number that the next trip finds there."""

    loads: list[_Access]
    source: _Access
    later: list[_Access]  # stores to the same place after it
    first: Integer  # the place in the first trip
    in_trip: bool  # is it loaded in the first trip, not before it?


class _Body:
    """The accesses of the body of a loop, in order, and where in it the program may stop."""

    def __init__(self, loop: kf.For, scope: Scope, ranges: Ranges):
        self.loop, self.scope = loop, dict(scope)
        self.accesses: list[_Access] = []
        self.raises: list[tuple[int, set[str]]] = []  # order, and the names that they depend on
        self.untouchable: set[str] = set()  # memory that changes by other means, or begins a new life
        self.lets: dict[str, kf.Let] = {}
        self.innermost = not any(isinstance(s, (kf.For, kf.While)) for s in kf.walk(loop.body))
        self.count = 0
        self.block(loop.body, True, True, {**ranges, loop.var: span_of(loop, ranges)})

    def block(self, body: Iterable[kf.Stmt], top: bool, plain: bool, ranges: Ranges) -> None:
        for s in body:
            self.count += 1
            if isinstance(s, kf.For):
                self.block(s.body, False, False, {**ranges, s.var: span_of(s, ranges)})
            elif isinstance(s, kf.If):
                self.block(s.then, False, plain, ranges)
                self.block(s.orelse, False, plain, ranges)
            elif isinstance(s, kf.While):
                self.block([*s.test, *s.body], False, False, ranges)
            else:
                self.statement(s, top, plain, ranges)

    def statement(self, s: kf.Stmt, top: bool, plain: bool, ranges: Ranges) -> None:
        if isinstance(s, (kf.Buffer, kf.View, kf.Deref)):
            self.scope[s.name] = s
            self.untouchable.add(s.name)
        elif isinstance(s, kf.Begin):
            self.untouchable.add(self.root(s.buf))
        elif isinstance(s, kf.Swap):
            self.untouchable |= {self.root(s.a), self.root(s.b)}
        elif isinstance(s, (kf.Call, kf.Parallel)):
            self.untouchable |= {self.root(b) for b in s.writes}
        elif isinstance(s, kf.Raise):
            self.raises.append((self.count, self.depends(s.cond)))
        elif isinstance(s, kf.Store):
            self.access(s, s.buf, s.idx, top, plain, ranges)
        elif isinstance(s, kf.Let):
            self.lets[s.name] = s
            if isinstance(s.expr, kf.Load):
                self.access(s, s.expr.buf, s.expr.idx, top, plain, ranges)

    def access(self, s: kf.Let | kf.Store, buf: str, idx: Sequence[kf.Index], top: bool, plain: bool, ranges: Ranges) -> None:
        self.accesses.append(_Access(s, buf, position(self.scope[buf], idx), self.count, top, plain, ranges))

    def depends(self, x: kf.Operand) -> set[str]:
        """The names that a number is computed from, without those of what was read from memory."""
        out: set[str] = set()
        todo = list(symbols(integer(x))) if not isinstance(x, Const) else []
        while todo:
            name = todo.pop()
            if name in out:
                continue
            out.add(name)
            e = self.lets[name].expr if name in self.lets else None
            if isinstance(e, Apply):
                todo += [n for a in e.args if not isinstance(a, Const) for n in symbols(integer(a))]
        return out

    def root(self, name: str) -> str:
        """What tells the memory of a buffer from that of others: its own name, or that of what it is a view of."""
        b = self.scope.get(name)
        while isinstance(b, kf.Deref) or isinstance(b, kf.View) and b.dtype is None:
            name = b.buf
            b = self.scope.get(name)
        return name


class _Replacer(Loops):
    def statement(self, s: kf.Stmt, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        (s,) = self.inside(s, scope, ranges)
        return self.loop(s, scope, ranges) if isinstance(s, kf.For) and s.kind == "seq" and kf.trips(s) > 1 else [s]

    def loop(self, s: kf.For, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        if not any(isinstance(t, kf.Let) and isinstance(t.expr, kf.Load) for t in kf.walk(s.body)):
            return [s]
        if sum(1 for _ in kf.walk(s.body)) > LARGE:
            return [s]
        found = carried(_Body(s, scope, ranges))
        return self.rewritten(s, found) if found else [s]

    def rewritten(self, s: kf.For, found: Sequence[_Carried]) -> list[kf.Stmt]:
        """The loop with variables for loads, and what sets them before it."""
        before: list[kf.Stmt] = []
        edit = _Edit()
        start = list[kf.Stmt]()
        some = ""
        if kf.trips(s) == inf and any(not c.in_trip for c in found):
            some = self.fresh("some")
            before.append(kf.Let(some, "bool", Apply("lt" if s.step > 0 else "gt", (s.lo, s.hi))))
        first = ""
        if any(c.in_trip for c in found):
            first = self.fresh("first")
            start.append(kf.Let(first, "bool", Apply("eq", (s.var, s.lo))))
        for c in found:
            let = c.loads[0].stmt
            assert isinstance(let, kf.Let)
            base = let.name.split("_kept")[0]  # of one that was made for a loop inside
            var, old = self.fresh(f"{base}_kept"), self.fresh(f"{base}_old")
            start.append(kf.Let(old, let.dtype, Apply("cast", (var,))))
            load = kf.Load(c.source.buf, (c.first,))
            before += self.initial(var, let.dtype, load, c.in_trip, some)
            for l in c.loads:
                edit.instead[id(l.stmt)] = self.kept(l, old, load, first if c.in_trip else "")
            for a in (c.source, *c.later):
                self.set(a, var, let.dtype, edit)
        return [*before, replace(s, body=[*start, *edit.block(s.body)])]

    def initial(self, var: str, dtype: str, load: kf.Load, in_trip: bool, some: str) -> list[kf.Stmt]:
        """The variable, with what the first trip loads; not where there may be no trip."""
        zero = kf.Var(var, dtype, Const(False if dtype == "bool" else 0.0 if dtype[0] == "f" else 0, dtype))
        if in_trip:
            return [zero]
        value = self.fresh(f"{var}_first")
        let = kf.Let(value, dtype, load)
        return [zero, kf.If(some, [let, kf.Assign(var, value)])] if some else [let, kf.Var(var, dtype, value)]

    def kept(self, a: _Access, old: str, load: kf.Load, first: str) -> list[kf.Stmt]:
        """What stands for a load."""
        assert isinstance(a.stmt, kf.Let)
        name, dtype = a.stmt.name, a.stmt.dtype
        if not first:
            return [kf.Let(name, dtype, Apply("cast", (old,)))]
        var, value = self.fresh(f"{name}_kept"), self.fresh(f"{name}_first")
        return [
            kf.Var(var, dtype, old),
            kf.If(first, [kf.Let(value, dtype, load), kf.Assign(var, value)]),
            kf.Let(name, dtype, Apply("cast", (var,))),
        ]

    def set(self, a: _Access, var: str, dtype: str, edit: _Edit) -> None:
        """Set the variable after a load or store; one that adds becomes a load, a sum and a store."""
        s, k = a.stmt, id(a.stmt)
        value: kf.Operand = s.name if isinstance(s, kf.Let) else s.value
        if isinstance(s, kf.Store) and s.add:
            if k not in edit.sums:
                old, new = self.fresh("before"), self.fresh("sum")
                edit.sums[k] = new
                edit.instead[k] = [
                    kf.Let(old, dtype, kf.Load(s.buf, s.idx)),
                    kf.Let(new, dtype, Apply("add", (old, s.value)), contract=dtype[0] == "f"),
                    replace(s, value=new, add=False),
                ]
            value = edit.sums[k]
        edit.after.setdefault(k, []).append(kf.Assign(var, value))


@dataclass
class _Edit:
    """What stands for statements, and what follows them; by their identity."""

    instead: dict[int, list[kf.Stmt]] = field(default_factory=dict)
    after: dict[int, list[kf.Stmt]] = field(default_factory=dict)
    sums: dict[int, str] = field(default_factory=dict)

    def block(self, body: Iterable[kf.Stmt]) -> list[kf.Stmt]:
        out: list[kf.Stmt] = []
        for s in body:
            parts = [p for p in ("test", "body", "then", "orelse") if hasattr(s, p)]
            new = replace(s, **{p: self.block(getattr(s, p)) for p in parts}) if parts else s
            out += self.instead.get(id(s), [new])
            out += self.after.get(id(s), ())
        return out


# ---- which loads -----------------------------------------------------------------------------------------------------------


def carried(body: _Body) -> list[_Carried]:
    """What can be kept, the places that are stored to first: there a trip waits for the one before."""
    loop = body.loop
    changing = bound(loop.body) | assigned(loop.body)
    last: dict[tuple[str, Integer], _Access] = {}
    for a in body.accesses:
        if a.top:
            last[a.buf, a.at] = a
    found: dict[tuple[str, Integer], _Carried] = {}
    for a in body.accesses:
        if not isinstance(a.stmt, kf.Let) or a.stmt.dtype != body.scope[a.buf].dtype:
            continue
        if not a.plain or loop.var not in symbols(a.at) or changing.intersection(symbols(a.at)):
            continue
        there = replaced(a.at, {loop.var: symbol(loop.var) + loop.step})
        source = last.get((a.buf, there))
        if source is None or body.root(a.buf) in body.untouchable or a.buf in body.untouchable:
            continue
        c = _kept(body, a, source, there)
        if c is None:
            continue
        known = found.setdefault((a.buf, a.at), c)
        if known is not c:
            known.loads.append(a)
            known.in_trip |= c.in_trip
    stored = lambda c: c.source.write or bool(c.later)
    chosen = [c for c in found.values() if stored(c) or body.innermost and not c.in_trip]
    return sorted(chosen, key=stored, reverse=True)[:MOST]


def _kept(body: _Body, a: _Access, source: _Access, there: Integer) -> _Carried | None:
    """The load, if what the next trip finds is known: stores before it, and after the source, are elsewhere or set the variable too."""
    later: list[_Access] = []
    if isinstance(source.stmt, kf.Store) and source.stmt.add and body.scope[source.buf].dtype == "bool":
        return None
    for w in body.accesses:
        if not w.write or body.root(w.buf) != body.root(a.buf):
            continue
        if w.order < a.order and not _apart(w, a.buf, a.at):
            return None
        if w.order > source.order and not _apart(w, a.buf, there):
            if w.buf != a.buf or w.at != there or not w.plain:
                return None
            later.append(w)
    stops = any(order < a.order and names.intersection(symbols(a.at)) for order, names in body.raises)
    return _Carried([a], source, later, replaced(a.at, {body.loop.var: integer(body.loop.lo)}), not a.top or stops)


def _apart(w: _Access, buf: str, at: Integer) -> bool:
    """Does a store of a trip never touch this place?"""
    if w.buf != buf:
        return False
    lo, hi = interval(w.at - at, w.ranges)
    return lo > 0 or hi < 0
