"""Scheduling of nests: an outer loop over rows whose body holds inner loops (softmax, matvec + link + transposed matvec).

`NestedLoop` runs row by row: a row's values stay in registers and in small buffers. Where the scalars between the inner
loops are costly (an exp per row), `BlockedNest` takes a block of rows through each stage in turn, so that the scalar
stages run with lanes over the rows of the block while its data are in L1.
"""

from __future__ import annotations

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, integer
from irad.codegen.lower.control import over
from irad.codegen.lower.graph import Address, KernelBuilder, rule
from irad.codegen.lower.tape import make_room
from irad.codegen.schedule.blocked_nests import BlockedNest, Nest, inner_out
from irad.codegen.schedule.contractions import lower_contraction
from irad.codegen.schedule.loops import FlatLoop, LoopResult, element
from irad.codegen.schedule.notes import note_rows
from irad.core.affine import Integer
from irad.core.ir import Node, Value, captured, uses
from irad.core.switches import on
from irad.ops.array import copy as copy_op
from irad.ops.loop import loop


@rule("loop")
def lower_loop(f: KernelBuilder, node: Node) -> None:
    """A loop node as kernel-form loops."""
    make_room(f, node)
    (body,) = node.regions
    if not any(n.op is loop for n in body.nodes):
        FlatLoop(f, node).lower()
        return
    if on("contractions") and lower_contraction(f, node):
        return
    node = _own_starts(f, node)
    nest = BlockedNest(f, node)
    if nest.block > 1:
        note_rows(f, nest, nest.block)
        nest.lower()
    else:
        rows = NestedLoop(f, node)
        note_rows(f, rows, 1)
        rows.lower()


def _own_starts(f: KernelBuilder, node: Node) -> Node:
    """The nest with a start of its own for each inner result, made just before the loop that folds into it: an equal constant
    may stand outside of the nest, or start several loops, and an array of the nest may be read after a loop has gone on from it.
    """
    (body,) = node.regions
    count = uses(body)
    inner = {v for n in body.nodes if n.op is loop for v in n.outputs}
    nodes: list[Node] = []
    for n in body.nodes:
        if n.op is loop:
            inputs = list(n.inputs)
            for k, v in enumerate(inputs[: len(n.outputs)]):
                if v.type.shape and not (v in inner and count[v] == 1):
                    nodes.append(_start(f, v))
                    inputs[k] = nodes[-1].out
            n = n.replace(inputs=inputs)
        nodes.append(n)
    read = {v for n in nodes for v in (*n.inputs, *captured(n))} | set(body.results)
    nodes = [n for n in nodes if not n.op.fills or n.out in read or not n.out.type.shape]
    return node.replace(regions=(body.replace(nodes=nodes),))


def _start(f: KernelBuilder, v: Value) -> Node:
    """A node that makes the array v anew."""
    made, own = f.defs.get(v), Value(v.type, v.hint)
    if made is not None and made.op.fills and not hasattr(made.attrs.get("value"), "shape"):
        node = made.replace(inputs=(), outputs=(own,))
    else:
        node = Node(copy_op, (v,), (own,), {})
    f.defs[own] = node
    return node


class NestedLoop(Nest):
    """An outer loop over rows whose body holds inner loops: a row's values stay in registers and in small buffers."""

    def __init__(self, f: KernelBuilder, node: Node):
        super().__init__(f, node)
        self.names = [f.fresh(p.hint or "i") for p in self.body.params]
        for p, n in zip(self.body.params, self.names):
            f.env[p] = integer(n)
        self.inner = {v: n for n in self.body.nodes if n.op is loop for v in n.outputs}
        self.read = {v for n in self.body.nodes for v in (*n.inputs, *captured(n))}
        self.rows: list[Value] = []  # rows in small buffers, which begin with each row of the nest

    def lower(self) -> None:
        f = self.f
        self.accumulate: dict[Value, Address] = {}
        for j, r in enumerate(self.results):
            self._prepare(j, r)
        self._buffers()
        stmts = f.within(self._row)
        for name, extent in reversed(list(zip(self.names, self.extents))):
            stmts = [kf.For(name, "seq", 0, extent, stmts)]
        f.block += stmts
        self._read_folds()

    def _prepare(self, j: int, r: LoopResult) -> None:
        """Where result j goes: a register fold, straight into its destination row, or added there."""
        f, (v,), (final,) = self.f, r.values, r.finals
        if not final.type.shape:
            return self._start_fold(j, r)
        f.address(r.dests[0])
        node = self.inner.get(v)
        if node is None or not v.type.shape or v in f.addresses or v in self.accumulate or v in self.read:
            return
        if any(e in n.outputs for n in self.body.nodes for e in r.extra):
            return  # where it goes is not known before the row
        at = self._at(r)
        if r.out.kind == "store":
            f.addresses[v] = at
        elif r.out.kind == "add" and inner_out(node, v).kind == "store" and self._starts_empty(node, v):
            self.accumulate[v] = at

    def _starts_empty(self, node: Node, v: Value) -> bool:
        """Does the inner loop that makes v write all of it, so that nothing need be there before?"""
        return self.f.defs[node.inputs[node.outputs.index(v)]].op.name == "empty"

    def _at(self, r: LoopResult) -> Address:
        f, (final,) = self.f, r.finals
        place = f.address(final)
        return Address(place.buf, f.flat(final, r.out.map, [*map(integer, self.names), *map(f.aff, r.extra)]))

    def _buffers(self) -> None:
        """Memory for rows that live inside the nest only."""
        f = self.f
        for v in self.inner:
            if v.type.shape and v not in f.addresses and v not in self.accumulate:
                name = f.fresh("row")
                f.head.append(kf.Buffer(name, v.type.dtype, (v.type.size,)))
                f.addresses[v] = Address(name)
                self.rows.append(v)
        for v, n in reversed(self.inner.items()):
            if v.type.shape:
                f.addresses[n.inputs[n.outputs.index(v)]] = f.addresses.get(v) or self.accumulate[v]

    def _row(self) -> None:
        f = self.f
        for v in self.rows:
            f.begin_at(f.addresses[v], v.type.size)
        for n in self.body.nodes:
            if n.op is loop:
                FlatLoop(f, n, self.accumulate).lower()
            else:
                element(f, n)
        for j, r in enumerate(self.results):
            self._finish(j, r)

    def _finish(self, j: int, r: LoopResult) -> None:
        f, (v,) = self.f, r.values
        if j in self.folds:
            return self._fold(j, r)
        at = self._at(r)
        if not v.type.shape:
            if r.out.kind == "store":
                f.block.append(kf.Store(at.buf, (at.offset,), f.operand(v)))
            else:
                old = f.let(kf.Load(at.buf, (at.offset,)), v.type.dtype)
                f.block.append(kf.Store(at.buf, (at.offset,), f.let(Apply(r.out.kind, (old, f.operand(v))), v.type.dtype)))
        elif v not in self.accumulate and f.addresses.get(v) != at:
            self._row_into(r.out.kind, v, at)

    def _row_into(self, kind: str, v: Value, at: Address) -> None:
        f, source = self.f, self.f.address(v)

        def body(i: Integer) -> list[kf.Stmt]:
            x = f.fresh("x")
            stmts: list[kf.Stmt] = [kf.Let(x, v.type.dtype, kf.Load(source.buf, (source.offset + i,)))]
            if kind not in ("store", "add"):
                old, new = f.fresh("x"), f.fresh("x")
                stmts.append(kf.Let(old, v.type.dtype, kf.Load(at.buf, (at.offset + i,))))
                stmts.append(kf.Let(new, v.type.dtype, Apply(kind, (old, x))))
                x = new
            return [*stmts, kf.Store(at.buf, (at.offset + i,), x, add=kind == "add")]

        over(f, v, body)
