"""Scheduling of `loop` nodes: axis order, lanes, where folds accumulate; the result is kernel form.

Decisions, with the figures behind them (64-byte registers):
- adjacent axes that every access walks as one are collapsed;
- the vector axis is the one with most unit strides, the last one if in doubt; an axis of fewer than 4 elements is not used
  while a longer one is there (lanes then run over rows, with strided loads);
- lanes: 4 registers if the body has a transcendental function (independent chains hide their latency), 2 if it folds, else 1;
- a fold whose reduced axes all lie inside its kept axes accumulates in registers, any other in its destination; sums go there for
  several rows at once, where the vector loop is inside that over the rows;
- long float32 sums accumulate in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, Fold, integer
from irad.codegen.lower.graph import Address, KernelBuilder
from irad.codegen.schedule.elements import REGISTER, LoopResult, accumulator, element, identity, results
from irad.codegen.schedule.notes import note_flat
from irad.codegen.schedule.packed import coefficient_of, pack
from irad.core.affine import Integer, number
from irad.core.ir import Graph, Node, Value
from irad.core.lazy_dataclass import replace
from irad.core.switches import on
from irad.core.types import BOOL, I64, bits, is_float
from irad.ops.core import HEAVY
from irad.ops.loop import Map, load

SHORT_AXIS = 4
SHORT_BODY = 12  # operations: a masked remainder of so few is no loss
LONG_BODY = 400  # operations: from here on 2 registers of lanes are enough
ROWS = 4  # trips of a sum in memory that are added up before: one load and one store of the sum for all
FEW_TRIPS = 8  # vector iterations: below, 2 registers of lanes are as fast as 4, and compiled in half the time


class FlatLoop:
    """A loop without inner loops.

    `accumulate`: results whose stores add to memory that is initialised already. `tiles`: results that fold into a
    register tile (its name and lanes); the loop then is straight line.
    """

    def __init__(
        self,
        f: KernelBuilder,
        node: Node,
        accumulate: dict[Value, Address] | None = None,
        tiles: dict[Value, tuple[str, int]] | None = None,
    ):
        self.f, self.node = f, node
        (self.body,) = node.regions
        self.results = results(node)
        self.accumulate, self.tiles, self.inner = accumulate or {}, tiles or {}, accumulate is not None
        self.jam = -1  # the axis of which ROWS trips at a time are in the innermost body
        self.packed: dict[Node, str] = {}  # loads whose elements were copied to a buffer
        self.extents: list[Integer] = [f.dim(d) for d in node.attrs["extents"]]
        self.names = [f.fresh(p.hint or "i") for p in self.body.params]
        for p, n in zip(self.body.params, self.names):
            f.env[p] = integer(n)

    # ---- what the loop touches -----------------------------------------------------------------------------

    def lower(self) -> None:
        for r in self.results:
            for d, v in zip(r.dests, r.finals):
                if v.type.shape and v not in self.accumulate and v not in self.tiles:
                    self.f.address(d), self.f.address(v)
        if any(e == 0 for e in self.extents):
            self._nothing()
            return
        self._drop_units()
        if on("collapse"):
            self._collapse()
        self.order, self.vec = self._axes()
        if self.vec >= 0 and not self.inner:
            self.packed = pack(self.f, self.body, self.results, self.names, self.extents, self.vec)
        self._emit()

    def _nothing(self) -> None:
        for r in self.results:
            for d, v in zip(r.dests, r.finals):
                if not v.type.shape:
                    self.f.env[v] = self.f.operand(d)

    def _accesses(self) -> list[Integer]:
        """Flat positions of all loads and stores."""
        f = self.f
        out = []
        for n in self.body.nodes:
            if n.op is load:
                known = [i for i in n.inputs[1:] if i in f.env]
                rows = tuple((*(c for c, i in zip(r, n.inputs[1:]) if i in f.env), 0) for r in n.attrs["map"].rows)
                out.append(f.flat(n.inputs[0], Map(rows), [f.aff(i) for i in known]))
        for r in self.results:
            idx = [f.aff(p) for p in self.body.params]
            rows = tuple((*row[: len(idx)], 0) for row in r.out.map.rows)
            for v in r.finals:
                if v.type.shape and r.out.map.rows and v not in self.tiles:
                    out.append(f.flat(v, Map(rows), idx, self.accumulate.get(v)))
        return out

    def _drop_units(self) -> None:
        """Take out axes of one trip: their index is 0."""
        for k in reversed(range(len(self.names))):
            if self.extents[k] == 1 and len(self.names) > 1:
                self._drop(k)

    def _drop(self, k: int) -> None:
        """Take out axis k, whose index becomes 0."""
        self.f.env[self.body.params[k]] = 0
        del self.names[k], self.extents[k]
        self.body = Graph(self.body.params[:k] + self.body.params[k + 1 :], self.body.nodes, self.body.results)
        for r in self.results:
            r.out = replace(r.out, map=Map(tuple(row[:k] + row[k + 1 :] for row in r.out.map.rows)))

    def _collapse(self) -> None:
        """Merge axis k into k+1 where every access walks both as one."""
        plain = {v for n in self.body.nodes if n.op is not load for v in n.inputs} | set(self.body.results)
        k = 0
        while k + 1 < len(self.names):
            a, b, m = self.names[k], self.names[k + 1], number(self.extents[k + 1])
            pa, pb = self.body.params[k], self.body.params[k + 1]
            if (
                m is not None
                and pa not in plain
                and pb not in plain
                and all(coefficient_of(x, a) == coefficient_of(x, b) * m for x in self._accesses())
            ):
                self.extents[k + 1] = self.extents[k] * m
                self._drop(k)
                k = max(k - 1, 0)
            else:
                k += 1

    def _axes(self) -> tuple[list[int], int]:
        """Axis order, outermost first, and the vector axis (-1: none)."""
        n = len(self.names)
        if not n:
            return [], -1
        accesses = self._accesses()
        ordered = any(not r.out.unique and r.out.kind == "store" for r in self.results)
        best, vec = -1e9, n - 1
        for k in range(n):
            extent = number(self.extents[k])
            coefs = [coefficient_of(x, self.names[k]) for x in accesses]
            unit = sum(1 for c in coefs if c in (1, -1))
            strided = sum(1 for c in coefs if c not in (0, 1, -1))
            score = unit - 1.5 * strided + (0.5 if k == n - 1 else 0) - (8 if extent is not None and extent < SHORT_AXIS else 0)
            if score > best:
                best, vec = score, k
        extent = number(self.extents[vec])
        if ordered or extent == 1:
            return list(range(n)), -1
        inner = [k for k in range(vec + 1, n)]
        small = all((number(self.extents[k]) or 1 << 30) <= 16 for k in inner)
        order = list(range(n)) if small else [k for k in range(n) if k != vec] + [vec]
        if not self._lanes_meet(order, vec):
            return order, vec
        kept = next(k for k in self._kept() if vec not in k)
        order = [k for k in order if k in kept] + [k for k in order if k not in kept]
        return (list(range(n)), -1) if self._lanes_meet(order, vec) else (order, vec)

    def _kept(self) -> list[set[int]]:
        """For each fold with an op other than a sum, the axes that its result has."""
        folds = [r for r in self.results if r.out.kind not in ("store", "add") and r.finals[0] not in self.accumulate]
        return [{k for k in range(len(self.names)) if any(row[k] for row in r.out.map.rows)} for r in folds]

    def _lanes_meet(self, order: Sequence[int], vec: int) -> bool:
        """Would the lanes of the vector loop fold into one element in memory, which only a sum can do?"""
        return any(vec not in kept and kept and not _inside(order, kept) for kept in self._kept())

    # ---- emission ------------------------------------------------------------------------------------------

    def _emit(self) -> None:
        """Open the loops from outside in; folds are declared where their last kept axis is open."""
        self.folds: dict[int, str] = {}
        depth_of = {axis: d for d, axis in enumerate(self.order)}
        declare: dict[int, list[int]] = {}
        for j, r in enumerate(self.results):
            if r.out.kind == "store" or r.finals[0] in self.accumulate:
                continue
            kept = {k for k in range(len(self.names)) if any(row[k] for row in r.out.map.rows)}
            if r.out.extra or len(kept) == len(self.names) or not _inside(self.order, kept):
                continue  # in memory, on what the destination holds
            declare.setdefault(max((depth_of[k] for k in kept), default=-1) + 1, []).append(j)
        self._open(0, declare)
        note_flat(self.f, self, self.inner)

    def _open(self, depth: int, declare: dict[int, list[int]]) -> None:
        f = self.f
        for j in declare.get(depth, ()):
            self._declare(j)
        if depth == len(self.order):
            self._innermost()
        else:
            axis = self.order[depth]
            name, extent = self.names[axis], self.extents[axis]
            inner = lambda: f.within(lambda: self._open(depth + 1, declare))
            if axis == self.vec:
                self._vector(name, extent, inner)
            else:
                inside = self.vec in self.order[:depth]
                kind = "unroll" if inside and (number(extent) or 99) <= 8 else "seq"
                if kind == "seq" and self._jams(depth, declare):
                    assert isinstance(extent, int)
                    jammed = extent // ROWS * ROWS
                    f.block.append(kf.For(name, kind, 0, jammed, self._jammed(axis, inner), ROWS))
                    f.block += [kf.For(name, kind, jammed, extent, inner())] if jammed < extent else []
                else:
                    f.block.append(kf.For(name, kind, 0, extent, inner()))
        for j in declare.get(depth, ()):
            self._finish(j)

    def _jams(self, depth: int, declare: dict[int, list[int]]) -> bool:
        """Does the loop at this depth add rows to one row of sums in memory, which the vector loop inside goes along?"""
        axis, extent = self.order[depth], self.extents[self.order[depth]]
        if not isinstance(extent, int) or extent < 2 * ROWS or self.vec != self.order[-1] or depth != len(self.order) - 2:
            return False
        if declare or self.tiles or len(self.body.nodes) > SHORT_BODY or self._in_place() or not on("jam"):
            return False
        return all(
            r.out.kind == "add" and r.out.width == 1 and not r.out.extra
            and all(v.type.shape and is_float(v.type.dtype) for v in r.finals)
            and not any(row[axis] for row in r.out.map.rows) and any(row[self.vec] for row in r.out.map.rows)
            for r in self.results
        )  # fmt: skip

    def _jammed(self, axis: int, inner: Callable[[], list[kf.Stmt]]) -> list[kf.Stmt]:
        self.jam = axis
        out = inner()
        self.jam = -1
        return out

    def _rows(self) -> list[list[kf.Operand]]:
        """What is added to each result: the sum of several rows."""
        f, param = self.f, self.body.params[self.jam]
        first, totals = integer(self.names[self.jam]), list[list[kf.Operand]]()
        for k in range(ROWS):
            f.env[param] = first + k
            for n in self.body.nodes:
                self._element(n)
            values = [[f.operand(v) for v in r.values] for r in self.results]
            for total, new, r in zip(totals, values, self.results):
                total[0] = f.let(Apply("add", (total[0], new[0])), r.values[0].type.dtype, deriv=True)
            totals = totals or values
        f.env[param] = first
        return totals

    def _vector(self, name: str, extent: Integer, body: Callable[[], list[kf.Stmt]]) -> None:
        """The vector loop.

        What a constant trip leaves over is in a last vector that overlaps; else, of a costly body, in a loop of one register's
        lanes: less code than a masked vector.
        """
        f, n = self.f, number(extent)
        lanes = self._lanes(n)
        if n is None:
            f.block.append(kf.For(name, "vec", 0, extent, body(), lanes=lanes))
            return
        if self.tiles:
            lanes = next(iter(self.tiles.values()))[1]
            f.block.append(kf.For(name, "vec", 0, n, body(), lanes=lanes, full=True))
            return
        main = n - n % lanes
        stmts = body()
        twice = main < n and n > 2 * lanes and kf.repeatable(stmts) and not self._in_place()
        if twice or main in (0, n) or len(self.body.nodes) < SHORT_BODY:
            f.block.append(kf.For(name, "vec", 0, n, stmts, lanes=lanes, full=n <= 2 * lanes, twice=twice))
            return
        f.block.append(kf.For(name, "vec", 0, main, stmts, lanes=lanes, full=main == lanes))
        few = min(lanes, REGISTER // self._widest())
        while few // 2 >= n - main:
            few //= 2
        f.block.append(kf.For(name, "vec", main, n, body(), lanes=few, full=n - main <= few))

    def _in_place(self) -> bool:
        """May it read memory that it writes, under another name?"""
        read = {n.inputs[0].at for n in self.body.nodes if n.op is load}
        return any(v.at in read for r in self.results for v in r.finals if v.type.shape)

    def _declare(self, j: int) -> None:
        f, r = self.f, self.results[j]
        dtypes = tuple(self._wide(r, v) for v in r.finals)
        name = f.fresh("acc")
        kind = r.out.kind
        start = tuple(Const(x, d) for x, d in zip(identity(kind, dtypes[0]), dtypes))
        f.block.append(Fold(name, kind, dtypes, start))
        self.folds[j] = name

    def _finish(self, j: int) -> None:
        """The folded value, combined with what the destination held, where it belongs."""
        f, r = self.f, self.results[j]
        at = self._position(r)
        parts: list[kf.Operand] = []
        for k, v in enumerate(r.finals):
            dtype = self._wide(r, v)
            part: kf.Operand = f.let(kf.Part(self.folds[j], k), dtype, "s")
            parts.append(part)
        if not self._starts_at_identity(r):
            old = [
                f.let(kf.Load(at.buf, (at.offset,)), v.type.dtype) if v.type.shape else f.operand(d)
                for v, d in zip(r.finals, r.dests)
            ]
            old = [f.let(Apply("cast", (o,)), self._wide(r, v)) for o, v in zip(old, r.finals)]
            parts = [f.let(Apply(r.out.kind, (o, p)), self._wide(r, v)) for o, p, v in zip(old, parts, r.finals)]
        for v, p in zip(r.finals, parts):
            if self._wide(r, v) != v.type.dtype:
                p = f.let(Apply("cast", (p,)), v.type.dtype, "s")
            if v.type.shape:
                here = self._position(r, v)
                f.block.append(kf.Store(here.buf, (here.offset,), p))
            else:
                f.env[v] = p

    def _wide(self, r: LoopResult, v: Value) -> str:
        """The dtype that a fold of v accumulates in."""
        trips: int | None = 1
        for k, e in enumerate(self.extents):
            if not any(row[k] for row in r.out.map.rows):
                trips = trips * e if isinstance(trips, int) and isinstance(e, int) else None
        return accumulator(r.out.kind, v.type.dtype, trips)

    def _starts_at_identity(self, r: LoopResult) -> bool:
        node = self.f.defs.get(r.dests[0])
        if r.out.width == 2:
            return True
        if node is None or node.op.name != "const" or hasattr(node.attrs["value"], "shape"):
            return False
        return node.attrs["value"] == identity(r.out.kind, r.dests[0].type.dtype)[0]

    def _position(self, r: LoopResult, v: Value | None = None) -> Address:
        """Flat position of the result at the current indices."""
        v = r.finals[0] if v is None else v
        if not v.type.shape:
            return Address("", 0)
        f = self.f
        idx = [integer(n) for n in self.names] + [f.aff(e) for e in r.extra]
        place = self.accumulate.get(v) or f.address(v)
        return Address(place.buf, f.flat(v, r.out.map, idx, self.accumulate.get(v)))

    def _element(self, n: Node) -> None:
        """A node of the body."""
        f = self.f
        if n in self.packed:
            got = kf.Load(self.packed[n], (integer(self.names[self.vec]),))
            f.env[n.outputs[0]] = f.let(got, n.inputs[0].type.dtype, n.inputs[0].hint or "x")
        else:
            element(f, n)

    def _innermost(self) -> None:
        f = self.f
        if self.jam >= 0:
            for r, (x,) in zip(self.results, self._rows()):
                self._store(r, r.finals[0], x)
            return
        for n in self.body.nodes:
            self._element(n)
        for j, r in enumerate(self.results):
            values = [f.operand(v) for v in r.values]
            if j in self.folds:
                staged = [self._widen(x, v, r) for x, v in zip(values, r.values)]
                f.block.append(kf.Combine(self.folds[j], tuple(staged)))
                continue
            if r.out.width == 2:
                self._fold_in_memory(r, values)
                continue
            for v, x in zip(r.finals, values):
                self._store(r, v, x)

    def _fold_in_memory(self, r: LoopResult, values: Sequence[kf.Operand]) -> None:
        """An arg fold combined with the value and the index that its destinations hold."""
        f, places = self.f, [self._position(r, v) for v in r.finals]
        dtypes = tuple(v.type.dtype for v in r.finals)
        old = tuple(f.let(kf.Load(at.buf, (at.offset,)), d) for at, d in zip(places, dtypes))
        name = f.fresh("acc")
        f.block += [Fold(name, r.out.kind, dtypes, old), kf.Combine(name, tuple(values))]
        for k, (at, d) in enumerate(zip(places, dtypes)):
            f.block.append(kf.Store(at.buf, (at.offset,), f.let(kf.Part(name, k), d)))

    def _widen(self, x: kf.Operand, v: Value, r: LoopResult) -> kf.Operand:
        dtype = self._wide(r, v)
        return x if dtype == v.type.dtype else self.f.let(Apply("cast", (x,)), dtype)

    def _store(self, r: LoopResult, v: Value, x: kf.Operand) -> None:
        f = self.f
        if not v.type.shape:
            f.env[v] = x
            return
        if v in self.tiles:
            f.block.append(kf.Combine(self.tiles[v][0], (x,), (integer(self.names[0]),)))
            return
        at = self._position(r, v)
        kind = "add" if v in self.accumulate else r.out.kind
        if kind == "store":
            f.block.append(kf.Store(at.buf, (at.offset,), x))
        elif kind == "add":
            f.block.append(kf.Store(at.buf, (at.offset,), x, add=True))
        else:
            old = f.let(kf.Load(at.buf, (at.offset,)), v.type.dtype)
            f.block.append(kf.Store(at.buf, (at.offset,), f.let(Apply(kind, (old, x)), v.type.dtype)))

    def _lanes(self, trip: int | None) -> int:
        """Lanes of the vector loop."""
        ops = len(self.body.nodes)
        heavy = any(n.op.cost >= HEAVY for n in self.body.nodes)
        folds = any(r.out.kind != "store" for r in self.results)
        most = 4 * REGISTER // self._widest()
        few = all(number(e) is not None for e in self.extents) and prod(number(e) or 0 for e in self.extents) < FEW_TRIPS * most
        lanes = (most if ops < LONG_BODY and not few else most // 2) if heavy else most // 2 if folds else most // 4
        while trip is not None and lanes > 1 and lanes // 2 >= trip:
            lanes //= 2
        return lanes

    def _widest(self) -> int:
        """Bytes of the widest number."""
        return max((bits(v.type.dtype) // 8 for n in self.body.nodes for v in n.outputs if v.type not in (I64, BOOL)), default=8)


def _inside(order: Sequence[int], kept: set[int]) -> bool:
    """Do the axes of `kept` come first, so that the others reduce in registers?"""
    return set(order[: len(kept)]) == kept
