"""The body of a loop as what each lane of a vector does: branches become selections, memory of the trip becomes the lane's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import prod

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, Load, integer
from irad.codegen.kernel.independence import Ranges, Scope, elements, inside, least, loops_in
from irad.codegen.kernel.mentions import bound, reads
from irad.core.affine import Integer, number, symbols
from irad.core.lazy_dataclass import replace
from irad.core.types import DTYPES, is_float
from irad.ops import OPS

LANE = "@lane"  # stands for the number of a lane until the vec loop is made
PRIVATE = 1 << 14  # bytes of a trip's own memory, for all lanes


class Unfit(Exception):
    """The loop stays as it is."""


class Lanes:
    """Makes the body of a trip into that of a lane. `ranges`: of loop variables, `var` the loop's own; `width`: lanes."""

    def __init__(
        self, fresh: Callable[[str], str], scope: Scope, ranges: Ranges, var: str, width: int, dtypes: Mapping[str, str]
    ):
        self.fresh, self.scope, self.ranges, self.var, self.width = fresh, dict(scope), ranges, var, width
        self.dtypes = dict(dtypes)  # of variables
        self.sums: dict[str, str] = {}  # folds by addition from outside, with their dtypes
        self.buffers: list[kf.Stmt] = []  # declared outside of the loop
        self.moved: dict[
            str, tuple[str, tuple[int, ...], Integer]
        ] = {}  # memory that each lane has of its own: name, extents, start
        self.varying: set[str] = set()

    def own(self, b: kf.Buffer) -> kf.Buffer:
        """The buffer with an element for each lane in place of each of its own."""
        size = prod(b.shape) * self.width
        if size * 8 > PRIVATE or b.freed:
            raise Unfit
        wide = kf.Buffer(self.fresh(f"{b.name}_lanes"), b.dtype, (size,))
        self.moved[b.name] = (wide.name, b.shape, 0)
        return wide

    def body(self, body: Sequence[kf.Stmt]) -> list[kf.Stmt]:
        """What a lane does."""
        inside = list(kf.walk(body))
        self.buffers = [self.own(s) for s in inside if isinstance(s, kf.Buffer)]
        names = Counter(s.name for s in inside if isinstance(s, (kf.Let, kf.Var, kf.Fold)))
        if any(isinstance(s, kf.If) for s in inside) and any(n > 1 for n in names.values()):
            raise Unfit  # the sides of branches will stand in one block
        self._find_varying(body)
        return self._block(body, None)

    def placed(self, s: kf.Stmt) -> kf.Stmt:
        """A statement outside of the lanes that reads what a lane has."""
        if isinstance(s, kf.Let) and isinstance(s.expr, Load):
            return replace(s, expr=Load(*self.place(s.expr.buf, s.expr.idx)))
        return s

    def place(self, buf: str, idx: tuple[kf.Index, ...]) -> tuple[str, tuple[kf.Index, ...]]:
        """Where a lane has what the trip has at an index of a buffer."""
        if buf not in self.moved:
            return buf, idx
        name, shape, start = self.moved[buf]
        at: Integer = 0
        for i, n in zip(idx, shape or (1,)):
            at = at * n + integer(i)
        return name, ((at - start) * self.width + integer(LANE),)

    # ---- what differs between lanes ----

    def _find_varying(self, body: Sequence[kf.Stmt]) -> None:
        """The names of numbers, variables and folds that may differ between lanes."""
        self.varying = {self.var, LANE, *self.moved}
        inside = list(kf.walk(body))
        before = -1
        while len(self.varying) != before:
            before = len(self.varying)
            for s in inside:
                name = s.fold if isinstance(s, kf.Combine) else getattr(s, "name", None)
                if name is not None and not self.varying.isdisjoint(reads([s] if not isinstance(s, (kf.For, kf.If)) else [])):
                    self.varying.add(name)
            for s in inside:
                if isinstance(s, kf.If) and isinstance(s.cond, str) and s.cond in self.varying:
                    self.varying |= {t.name for t in kf.walk([*s.then, *s.orelse]) if isinstance(t, kf.Assign)}

    def _same(self, x: kf.Index) -> bool:
        return self.varying.isdisjoint(symbols(integer(x)))

    # ---- statements; `cond` says in which lanes they count ----

    def _block(self, body: Sequence[kf.Stmt], cond: str | None, own: frozenset[str] = frozenset()) -> list[kf.Stmt]:
        """`own`: variables declared under this condition, which no other lanes see; under a narrower one they are chosen."""
        own |= {s.name for s in body if isinstance(s, kf.Var)} if cond is not None else set()
        return [t for s in body for t in self._statement(s, cond, own)]

    def _statement(self, s: kf.Stmt, cond: str | None, own: frozenset[str]) -> list[kf.Stmt]:
        if isinstance(s, kf.Let):
            return [self._let(s, cond)]
        if isinstance(s, kf.Store):
            return self._store(s, cond)
        if isinstance(s, kf.Assign):
            if cond is None or s.name in own:
                return [s]
            dtype = self.dtypes[s.name]
            return self._chosen(cond, s.value, s.name, dtype, lambda new: kf.Assign(s.name, new))
        if isinstance(s, kf.Combine):
            return self._combine(s, cond)
        if isinstance(s, kf.For):
            if s.kind not in ("seq", "unroll") or not (self._same(s.lo) and self._same(s.hi)):
                raise Unfit
            return self._loop(s, cond, own)
        if isinstance(s, kf.If):
            return self._branch(s, cond)
        if isinstance(s, (kf.Buffer, kf.Prefetch)):
            return []
        if isinstance(s, kf.Var) and s.lanes == 1 or isinstance(s, kf.Fold) and s.lanes == s.copies == 1 and not s.shape:
            return [s]
        raise Unfit

    def _let(self, s: kf.Let, cond: str | None) -> kf.Let:
        e = s.expr
        if cond is not None and isinstance(e, Apply) and OPS[e.op].divides and not is_float(s.dtype):
            raise Unfit
        if not isinstance(e, Load):
            if not isinstance(e, (Apply, kf.Part)):
                raise Unfit
            return s
        if cond is not None:
            self._inside(e.buf, e.idx)
        buf, idx = self.place(e.buf, e.idx)
        return replace(s, expr=Load(buf, idx))

    def _store(self, s: kf.Store, cond: str | None) -> list[kf.Stmt]:
        buf, idx = self.place(s.buf, s.idx)
        if cond is None and not s.add:
            return [replace(s, buf=buf, idx=idx)]
        if cond is not None:
            self._inside(s.buf, s.idx)
        b = self.scope.get(s.buf)
        dtype = b.dtype if b is not None and b.dtype is not None else None
        if dtype is None or (s.add and dtype == "bool"):
            raise Unfit
        old, new = self.fresh("old"), self.fresh("new")
        out: list[kf.Stmt] = [kf.Let(old, dtype, Load(buf, idx))]
        value: kf.Operand = s.value
        if s.add:
            out.append(kf.Let(new, dtype, Apply("add", (old, value)), contract=is_float(dtype)))
            value = new
        if cond is not None:
            return [*out, *self._chosen(cond, value, old, dtype, lambda v: kf.Store(buf, idx, v))]
        return [*out, kf.Store(buf, idx, value)]

    def _combine(self, s: kf.Combine, cond: str | None) -> list[kf.Stmt]:
        if cond is None:
            return [s]
        if s.fold not in self.sums:
            raise Unfit
        (value,) = s.values
        zero = Const(-0.0, self.sums[s.fold])
        return self._chosen(cond, value, zero, zero.dtype, lambda v: replace(s, values=(v,)))

    def _chosen(self, cond: str, new: kf.Operand, old: kf.Operand, dtype: str, use: Callable[[str], kf.Stmt]) -> list[kf.Stmt]:
        name = self.fresh("chosen")
        return [kf.Let(name, dtype, Apply("select", (cond, new, old))), use(name)]

    def _branch(self, s: kf.If, cond: str | None) -> list[kf.Stmt]:
        """Both sides, each for its lanes."""
        out: list[kf.Stmt] = []
        taken, other = self.fresh("taken"), self.fresh("other")
        out.append(kf.Let(taken, "bool", Apply("logical_and", (cond, s.cond)) if cond else Apply("cast", (s.cond,))))
        if s.orelse:
            out.append(kf.Let(other, "bool", Apply("logical_not", (s.cond,))))
            if cond:
                both = self.fresh("other")
                out.append(kf.Let(both, "bool", Apply("logical_and", (cond, other))))
                other = both
        out += self._block(s.then, taken)
        return out + (self._block(s.orelse, other) if s.orelse else [])

    def _inside(self, buf: str, idx: Sequence[kf.Index]) -> None:
        """Is an element that only some lanes use there for all of them?"""
        if buf in self.moved:
            return
        b = self.scope.get(buf)
        loops = loops_in(self.scope)
        shape = getattr(b, "shape", None)
        if shape == (kf.ANY,):
            shape = (elements(b),)
        if shape is None or not all(inside(integer(i), integer(n), loops, self.ranges) for i, n in zip(idx, shape)):
            if not isinstance(b, kf.View) or b.dtype is None or len(idx) != 1:
                raise Unfit
            arena, size = self.scope[b.buf], DTYPES[b.dtype].itemsize  # what is there may be of another array, but it is there
            at, end = integer(idx[0]), (integer(b.offset) + integer(idx[0]) + 1) * size
            if least(at, loops, self.ranges) < 0 or least(integer(arena.shape[0]) - end, loops, self.ranges) < 0:
                raise Unfit

    # ---- loops ----

    def _loop(self, s: kf.For, cond: str | None, own: frozenset[str]) -> list[kf.Stmt]:
        """A loop, with variables for elements that all of its trips add to."""
        before: list[kf.Stmt] = []
        after: list[kf.Stmt] = []
        new: dict[int, list[kf.Stmt]] = {}
        for adds in self._promoted(s) if kf.trips(s) > 0 and least(kf.count(s), loops_in(self.scope), self.ranges) > 0 else ():
            if cond is not None:
                self._inside(adds[0].buf, adds[0].idx)
            place, idx = self.place(adds[0].buf, adds[0].idx)
            dtype = self.scope[adds[0].buf].dtype
            start, var = self.fresh("start"), self.fresh(f"{place}_sum")
            before += [kf.Let(start, dtype, Load(place, idx)), kf.Var(var, dtype, start)]
            self.dtypes[var] = dtype
            for t in adds:
                more = self.fresh("more")
                add = kf.Let(more, dtype, Apply("add", (var, t.value)), contract=is_float(dtype))
                new[id(t)] = [add, kf.Assign(var, more)]
            after.append(kf.Store(place, idx, var))
        body = [u for t in s.body for u in new.get(id(t), (t,))]
        self.scope[s.var] = s
        loop = replace(s, body=self._block(body, cond, own))
        del self.scope[s.var]
        return [*before, loop, *after]

    def _promoted(self, s: kf.For) -> list[list[kf.Store]]:
        """The additions to each element that a loop adds to in every trip, of arrays with which it does nothing else."""
        mine = bound([s])
        mentioned = Counter(reads([s]))
        found: dict[str, list[kf.Store]] = {}
        for t in s.body:
            if isinstance(t, kf.Store) and t.add and isinstance(self.scope.get(t.buf), kf.Param) and len(t.idx) == 1:
                found.setdefault(t.buf, []).append(t)
        out: list[list[kf.Store]] = []
        for buf, adds in found.items():
            places = dict.fromkeys(integer(t.idx[0]) for t in adds)
            apart = all(number(x - y) for x, y in combinations(places, 2))
            if mentioned[buf] == len(adds) and apart and mine.isdisjoint(symbols(*places)):
                out += [[t for t in adds if integer(t.idx[0]) == at] for at in places]
        return out
