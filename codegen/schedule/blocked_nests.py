"""Nests that take a block of rows through each stage in turn, so that scalar stages run with lanes over the rows of the block."""

from __future__ import annotations

from collections.abc import Sequence

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, Fold, integer
from irad.codegen.lower.control import over
from irad.codegen.lower.graph import Address, KernelBuilder
from irad.codegen.schedule.elements import REGISTER, LoopResult, accumulator, element, results
from irad.codegen.schedule.loops import FlatLoop
from irad.core.affine import Integer, number
from irad.core.ir import Node, Value, captured
from irad.core.switches import on
from irad.ops.core import HEAVY
from irad.ops.loop import Out, loop

L1_SHARE = 28672  # bytes of a block's rows
MAX_BLOCK = 128
MAX_TILE = 24  # registers


def inner_out(node: Node, v: Value) -> Out:
    return next(r.out for r in results(node) if v in r.finals)


def cast_const(f: KernelBuilder, d: Value, dtype: str) -> kf.Operand:
    x = f.operand(d)
    return Const(x.value, dtype) if isinstance(x, Const) else f.let(Apply("cast", (x,)), dtype)


class Nest:
    """An outer loop whose body holds inner loops. `folds`: the register folds of scalar results, by their numbers."""

    def __init__(self, f: KernelBuilder, node: Node):
        self.f, self.node = f, node
        (self.body,) = node.regions
        self.results = results(node)
        self.extents = [f.dim(d) for d in node.attrs["extents"]]
        self.folds: dict[int, str] = {}

    def _start_fold(self, j: int, r: LoopResult) -> None:
        f, dtype = self.f, accumulator(r.out.kind, r.values[0].type.dtype)
        self.folds[j] = f.fresh("acc")
        f.block.append(Fold(self.folds[j], r.out.kind, (dtype,), (cast_const(f, r.dests[0], dtype),)))

    def _fold(self, j: int, r: LoopResult) -> None:
        """What a row gives to fold j."""
        f, (v,) = self.f, r.values
        x, dtype = f.operand(v), accumulator(r.out.kind, v.type.dtype)
        f.block.append(kf.Combine(self.folds[j], (f.let(Apply("cast", (x,)), dtype) if dtype != v.type.dtype else x,)))

    def _read_folds(self) -> None:
        """Take the results from the folds, after the nest."""
        f = self.f
        for j, acc in self.folds.items():
            r = self.results[j]
            part = f.let(kf.Part(acc, 0), accumulator(r.out.kind, r.values[0].type.dtype), "s")
            f.env[r.finals[0]] = f.let(Apply("cast", (part,)), r.values[0].type.dtype, "s")


class BlockedNest(Nest):
    """Like `NestedLoop`, but a block of rows at a time: each stage runs for the whole block. `block` is 1 where that is of no use."""

    def __init__(self, f: KernelBuilder, node: Node):
        super().__init__(f, node)
        self.stages = _stages(self.body.nodes)
        self.block = self._block()

    def _block(self) -> int:
        n = number(self.extents[-1])
        scalars = [m for kind, nodes in self.stages if kind == "scalar" for m in nodes]
        heavy = any(m.op.cost >= HEAVY for m in scalars)
        if not heavy or not on("blocks") or not self._only_row_sums() or len(self.extents) != 1 or n is not None and n < 8:
            return 1
        width = max((_row_bytes(m) for m in self.body.nodes if m.op is loop), default=8)
        most = max(8, min(MAX_BLOCK, L1_SHARE // width))
        if n is None:
            return most - most % 8
        if n <= most:
            return n
        for step in (64, 32, 16, 8):  # whole vectors for the scalar stages, if the rows divide so
            for b in range(most - most % step, most // 2, -step):
                if n % b == 0:
                    return b
        return most - most % 8

    def _only_row_sums(self) -> bool:
        """Are the rows that inner loops make all sums over the outer loop, read by nothing else?"""
        read = {v for m in self.body.nodes for v in (*m.inputs, *captured(m))}
        sums = [r.values[0] for r in self.results if r.out.kind == "add" and r.values[0].type.shape]
        made = [v for m in self.body.nodes if m.op is loop for v in m.outputs if v.type.shape]
        return (
            all(v not in read and sums.count(v) == 1 for v in made)
            and all(self._adds_from_zero(m, v) for m in self.body.nodes if m.op is loop for v in m.outputs if v.type.shape)
            and all(r.out.kind != "store" or not r.values[0].type.shape for r in self.results)
        )

    def _adds_from_zero(self, maker: Node, v: Value) -> bool:
        """Is a row just what the inner loop adds up or stores, so that it may be added to what is there already?"""
        start = self.f.defs[maker.inputs[maker.outputs.index(v)]]
        kind = inner_out(maker, v).kind
        return kind == "store" and start.op.name == "empty" or kind == "add" and start.attrs.get("value") == 0

    # ---- one block -------------------------------------------------------------------------------------------

    def lower(self) -> None:
        f, n = self.f, self.extents[0]
        self.accumulate: dict[Value, Address] = {}
        self.totals: dict[int, str] = {}
        self.tiles: dict[Value, tuple[str, int]] = {}
        self.columns: dict[Value, str] = {}
        for j, r in enumerate(self.results):
            self._prepare(j, r)
        self._columns()
        i0 = f.fresh("i0")
        rest = (
            n % self.block
            if isinstance(n, int)
            else integer(f.let(Apply("remainder", (n, Const(self.block, "i64"))), "i64", "rest"))
        )
        f.block.append(kf.For(i0, "seq", 0, n - rest, f.within(lambda: self._run(integer(i0), self.block)), step=self.block))
        if rest != 0:
            self._run(n - rest, rest)
        self._finish()

    def _prepare(self, j: int, r: LoopResult) -> None:
        f, (v,), (final,) = self.f, r.values, r.finals
        if not final.type.shape:
            self._start_fold(j, r)
        elif v.type.shape and r.out.kind == "add":
            f.address(r.dests[0])
            lanes = REGISTER // v.type.numpy.itemsize
            if v.type.rank == 1 and v.type.static and v.type.size <= MAX_TILE * lanes and len(self._maker(v).attrs["outs"]) == 1:
                self.tiles[v] = (f.fresh("tile"), lanes)
                self._total(j, r)
            else:
                self.accumulate[v] = self._block_sum(j, r)

    def _maker(self, v: Value) -> Node:
        return next(n for n in self.body.nodes if v in n.outputs)

    def _total(self, j: int, r: LoopResult) -> None:
        """A float64 total for a tile of float32, which is added to it after each block."""
        f, (final,) = self.f, r.finals
        if accumulator("add", final.type.dtype) != final.type.dtype:
            self.totals[j] = total = f.fresh("total")
            f.head.append(kf.Buffer(total, "f64", (final.type.size,)))
            over(f, final, lambda i: [kf.Store(total, (i,), Const(0, "f64"))])

    def _block_sum(self, j: int, r: LoopResult) -> Address:
        """Where a row sum is added to: its destination; for float32, sums of a block, which then go to a float64 total."""
        f, (final,) = self.f, r.finals
        here = f.address(final)
        if accumulator("add", final.type.dtype) == final.type.dtype or final.type.size > 4096:
            return here
        self.totals[j] = f.fresh("total")
        f.head.append(kf.Buffer(self.totals[j], "f64", (final.type.size,)))
        name = f.fresh("part")
        f.head.append(kf.Buffer(name, final.type.dtype, (final.type.size,)))
        total = self.totals[j]
        over(f, final, lambda i: [kf.Store(total, (i,), Const(0, "f64")), kf.Store(name, (i,), Const(0, final.type.dtype))])
        return Address(name)

    def _columns(self) -> None:
        """A buffer over the block for each scalar that a later stage reads."""
        made: dict[Value, int] = {}
        for s, (_, nodes) in enumerate(self.stages):
            for m in nodes:
                for v in (*m.inputs, *captured(m)):
                    if made.get(v, s) != s and not v.type.shape and v not in self.columns:
                        self._column(v)
                made.update(dict.fromkeys(m.outputs, s))
        self.made = made
        if any(self._made_at(r) > self._last_scalar() for r in self.results if not r.values[0].type.shape):
            self.stages.append(("scalar", []))  # where results of the last inner loops are folded and stored
        for r in self.results:
            for v in (*r.values, *r.extra):
                if v in made and not v.type.shape and made[v] != self._out_stage(r) and v not in self.columns:
                    self._column(v)

    def _column(self, v: Value) -> None:
        name = self.f.fresh(v.hint or "col")
        self.f.head.append(kf.Buffer(name, v.type.dtype, (self.block,)))
        self.columns[v] = name

    def _run(self, start: Integer, rows: Integer) -> None:
        f = self.f
        for column in self.columns.values():
            f.begin_at(Address(column), self.block)
        for v, (tile, lanes) in self.tiles.items():
            shape = (-(-v.type.size // lanes) * lanes,)
            f.block.append(Fold(tile, "add", (v.type.dtype,), (Const(0, v.type.dtype),), shape=shape, lanes=lanes))
        for s, (kind, nodes) in enumerate(self.stages):
            i = f.fresh("i")
            f.env[self.body.params[0]] = start + integer(i)

            def stage(s: int = s, kind: str = kind, nodes: Sequence[Node] = nodes, i: str = i) -> None:
                self._stage(s, nodes, i, vector=kind == "scalar")

            stmts = f.within(stage)
            if kind == "scalar":
                lanes = self._lanes(nodes, rows)
                f.block.append(kf.For(i, "vec", 0, rows, stmts, lanes=lanes, full=isinstance(rows, int) and rows <= 2 * lanes))
            else:
                f.block.append(kf.For(i, "seq", 0, rows, stmts))
        for j, r in enumerate(self.results):
            if r.values[0] in self.tiles:
                self._flush_tile(j, r)
            elif j in self.totals:
                self._flush(j, self.totals[j])

    def _flush_tile(self, j: int, r: LoopResult) -> None:
        """Add the tile to the total, or to the result itself."""
        f, (v,), (final,) = self.f, r.values, r.finals
        (tile, lanes), i, x, y = self.tiles[v], f.fresh("i"), f.fresh("x"), f.fresh("y")
        place = Address(self.totals[j]) if j in self.totals else f.address(final)
        stmts: list[kf.Stmt] = [kf.Let(x, v.type.dtype, kf.Part(tile, 0, (i,)))]
        if j in self.totals:
            stmts.append(kf.Let(y, "f64", Apply("cast", (x,))))
        stmts.append(kf.Store(place.buf, (place.offset + integer(i),), y if j in self.totals else x, add=True))
        f.block.append(kf.For(i, "vec", 0, v.type.size, stmts, lanes=lanes, full=True))

    def _stage(self, s: int, nodes: Sequence[Node], i: str, vector: bool) -> None:
        f = self.f
        for v, column in self.columns.items():
            if self.made[v] < s:
                f.env[v] = f.let(kf.Load(column, (i,)), v.type.dtype, v.hint or "v")
        for n in nodes:
            if n.op is loop:
                FlatLoop(f, n, self.accumulate, self.tiles).lower()
            else:
                element(f, n)
        for v, column in self.columns.items():
            if self.made[v] == s:
                f.block.append(kf.Store(column, (i,), f.operand(v)))
        for j, r in enumerate(self.results):
            if vector and self._out_stage(r) == s:
                self._out(j, r)

    def _out_stage(self, r: LoopResult) -> int:
        """The scalar stage that an out belongs to: where its value is made, or the last one."""
        if r.values[0].type.shape:
            return -1
        at = self._made_at(r)
        return next((k for k, (kind, _) in enumerate(self.stages) if kind == "scalar" and k >= at), self._last_scalar())

    def _made_at(self, r: LoopResult) -> int:
        """The stage after which all of an out is known."""
        return max((self.made.get(v, 0) for v in (*r.values, *r.extra)), default=0)

    def _last_scalar(self) -> int:
        return max((k for k, (kind, _) in enumerate(self.stages) if kind == "scalar"), default=-1)

    def _out(self, j: int, r: LoopResult) -> None:
        f, (v,), (final,) = self.f, r.values, r.finals
        if j in self.folds:
            return self._fold(j, r)
        at = f.flat(final, r.out.map, [f.aff(self.body.params[0]), *map(f.aff, r.extra)])
        assert r.out.kind == "store"
        f.block.append(kf.Store(f.address(final).buf, (at,), f.operand(v)))

    def _flush(self, j: int, total: str) -> None:
        """Add the sums of a block to the total and start the next block from zero."""
        f, r = self.f, self.results[j]
        part, (v,) = self.accumulate[r.values[0]].buf, r.finals
        x, y = f.fresh("x"), f.fresh("x")
        over(f, v, lambda i: [
            kf.Let(x, v.type.dtype, kf.Load(part, (i,))), kf.Let(y, "f64", Apply("cast", (x,))),
            kf.Store(total, (i,), y, add=True), kf.Store(part, (i,), Const(0, v.type.dtype)),
        ])  # fmt: skip

    def _finish(self) -> None:
        self._read_folds()
        for j, total in self.totals.items():
            self._add_total(self.results[j].finals[0], total)

    def _add_total(self, v: Value, total: str) -> None:
        """Add a float64 total to the result."""
        place, x, y = self.f.address(v), self.f.fresh("x"), self.f.fresh("x")
        over(self.f, v, lambda i: [
            kf.Let(x, "f64", kf.Load(total, (i,))), kf.Let(y, v.type.dtype, Apply("cast", (x,))),
            kf.Store(place.buf, (place.offset + i,), y, add=True),
        ])  # fmt: skip

    def _lanes(self, nodes: Sequence[Node], rows: Integer) -> int:
        widest = max((v.type.numpy.itemsize for n in nodes for v in n.outputs), default=8)
        heavy = any(m.op.cost >= HEAVY for m in nodes)
        lanes = REGISTER // widest * (4 if heavy else 1)
        while isinstance(rows, int) and lanes > 1 and lanes // 2 >= rows:
            lanes //= 2
        return lanes


def _stages(nodes: Sequence[Node]) -> list[tuple[str, list[Node]]]:
    """The body cut into alternating stages: inner loops (with their destinations) and the scalars between them."""
    out: list[tuple[str, list[Node]]] = []
    level: dict[Value, int] = {}
    for n in nodes:
        if n.op.fills:
            continue
        kind = "rows" if n.op is loop else "scalar"
        need = max((level.get(v, -1) for v in (*n.inputs, *captured(n))), default=-1)
        at = max(need, 0)
        while at < len(out) and (out[at][0] != kind):
            at += 1
        if at == len(out):
            out.append((kind, []))
        out[at][1].append(n)
        level.update(dict.fromkeys(n.outputs, at))
    return out


def _row_bytes(node: Node) -> int:
    size = node.regions[0].nodes[0].outputs[0].type.numpy.itemsize if node.regions[0].nodes else 8
    for d in node.attrs["extents"]:
        size *= d if isinstance(d, int) else 64
    return max(size, 8)
