"""Fuse dense computation into `loop` ops: elementwise, broadcasts, slices, gathers, reductions, stores, matrix-vector products.

Three steps: `fuse_groups` decides which nodes share a loop; `nests` below merges loops over the same rows into one outer loop
with inner loops (softmax, matvec + link + transposed matvec); then each group is emitted, from the last one back, so
that only what is needed is stored. Runs after autodiff. Regions are fused on their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irad.core.affine import symbols
from irad.core.ir import Builder, Graph, Node, Program, Value, current, reads
from irad.core.lazy_dataclass import dataclass
from irad.core.notes import Notes
from irad.core.types import Dim, Type
from irad.ops.array import STORES, Slice, dim_value, update
from irad.ops.constant import const, empty
from irad.ops.loop import Map, Out, fold_width, loop, neutral
from irad.ops.regions import map_control
from irad.passes.fusion.access import Elements, Member, Position, as_dim, classify, indices
from irad.passes.fusion.groups import Group, Grouping, Nest, is_elementwise
from irad.passes.fusion.matrix_form import matrix_form
from irad.passes.fusion.nests import merge_rows
from irad.passes.fusion.notes import note_unit
from irad.passes.fusion.windows import static_position
from irad.passes.rewrite import give_last, splat_of


def fuse(program: Program, notes: Notes | None = None) -> Program:
    """Every graph of the program with its dense computation in `loop` nodes."""
    return {name: _fuse_graph(g, {}, notes) for name, g in program.items()}


def _fuse_graph(graph: Graph, outside: dict[Value, Node], notes: Notes | None) -> Graph:
    """One graph; `outside`: constants of the surrounding graphs, which are written out where they are read."""
    known = {**outside, **{n.outputs[0]: n for n in graph.nodes if splat_of(n) is not None}}
    inner = lambda r: _fuse_graph(r, known, notes)
    graph = graph.replace(nodes=[m for n in graph.nodes for m in _prepared(map_control(n, inner))])
    if not any(v.type.shape for n in graph.nodes for v in n.outputs) and not any(classify(n) for n in graph.nodes):
        return graph
    return Fusion(graph, outside, notes).run()


class Fusion:
    def __init__(self, graph: Graph, outside: dict[Value, Node], notes: Notes | None = None):
        self.graph, self.grouping, self.notes = graph, Grouping(graph, outside, notes), notes
        self.said: list[Notes] = []
        self.needed: set[Value] = set(self.grouping.must)
        self.needed.update(graph.results)
        self._here: set[Node] = set()

    def run(self) -> Graph:
        units = merge_rows(self.grouping, self.accesses)
        out = [self.emit(unit) for unit in reversed(units)]
        for said in reversed(self.said):
            self.notes.decisions += said.decisions  # type: ignore[union-attr]
        return self.graph.replace(nodes=[n for nodes in reversed(out) for n in nodes])

    # ---- one group or nest ---------------------------------------------------------------------------------

    def emit(self, unit: Nest) -> list[Node]:
        (group, *_) = unit.parts
        if group.space is None:
            (node,) = group.nodes
            self.needed.update(reads(node))
            return [node]
        for part in unit.parts:  # a constant, or a value at all places, has extents that nothing else may read
            self.needed.update(symbols(*(part.space or ())))
        if self.notes is not None:
            self.said.append(note_unit(self.grouping, unit, self.needed))
        with Builder() as b:
            if unit.prefix:
                self._nest(unit)
            else:
                self._plain(group)
        return b.nodes

    def _wanted(self, group: Group) -> list[Member]:
        return [m for m in group.members if any(v in self.needed for v in m.node.outputs)]

    def _computed(self, group: Group, v: Value) -> Node | None:
        node = self.grouping.defs.get(v)
        if node is None:
            return None
        if self.grouping.inlinable(node):
            return node
        return node if self.grouping.group_of.get(v) is group and node in self._here else None

    def _elements(self, group: Group, inside: dict[Value, tuple[Value, int]] | None = None) -> Elements:
        self._here = {m.node for m in group.members if is_elementwise(m)}
        return Elements(lambda v: self._computed(group, v), self.grouping.defs.get, inside)

    def _plain(self, group: Group) -> None:
        wanted = self._wanted(group)
        if not wanted:
            return
        assert group.space is not None
        idx = indices(len(group.space))
        el = self._elements(group)
        with Builder() as body:
            pieces = [self._piece(el, m, idx, 0) for m in wanted]
        self.needed.update(v for v, _ in el.reads)
        _emit_loop(group.space, idx, body.nodes, pieces, [_outputs(m) for m in wanted])

    def _piece(self, el: Elements, m: Member, idx: Sequence[Value], prefix: int) -> Piece:
        """One result of a loop over the axes after `prefix`: destination, out, and the values it yields."""
        node, pos = m.node, tuple(as_dim(v) for v in idx)
        value = el.at(node.out, pos) if is_elementwise(m) else el.compute(node, pos)
        inner = idx[prefix:]
        if node.op in STORES:
            x, where = node.inputs[0], self._where(el, node, pos)
            extra = list(dict.fromkeys(s for s in symbols(*where) if s not in inner))
            rows = Map.of(where, [*inner, *extra])
            self.needed.add(x)
            return Piece([x], Out(m.kind, rows, len(extra), unique="g" not in node.attrs["spec"]), [value, *extra])
        kept_here = tuple(r - prefix for r in m.rows if r >= prefix)
        t = Type(node.outputs[0].type.dtype, tuple(d for r, d in zip(m.rows, node.outputs[0].type.shape) if r >= prefix))
        rows = Map.select(len(inner), kept_here)
        if fold_width(m.kind) == 2:
            (x,) = node.inputs
            worst = neutral(m.kind, x.type.dtype)
            dests = [const(value=worst, type=t.with_dtype(x.type.dtype)), const(value=-1, type=t)]
            return Piece(dests, Out(m.kind, rows), [value, idx[node.attrs["axis"]]])
        if m.kind == "store" or len(kept_here) == len(inner):  # a fold over outer axes only yields its row
            return Piece([empty(type=t)], Out("store", rows), [value])
        return Piece([const(value=neutral(m.kind, t.dtype), type=t)], Out(m.kind, rows), [value])

    def _where(self, el: Elements, node: Node, pos: Position) -> Position:
        """Where an update stores; what is added at affine positions, as over windows, adds up along the lanes' own axis."""
        spec, operands = node.attrs["spec"], node.inputs[2:]
        known = (
            static_position(self.grouping.defs.get, spec, operands, pos) if node.op.name == "update_add" and "g" in spec else None
        )
        return el.positions(spec, operands, pos) if known is None else known

    # ---- nests ---------------------------------------------------------------------------------------------

    def _nest(self, unit: Nest) -> None:
        p = unit.prefix
        first = unit.parts[0].space
        assert first is not None
        outer = indices(p)
        available: dict[Value, tuple[Value, int]] = {}
        wanted, made = self._demand(unit)
        with Builder() as body:
            for group in unit.parts:
                if wanted[group]:
                    available.update(self._part(group, wanted[group], outer, p, available))
        pieces, outputs = [], []
        for group in unit.parts:
            for m in wanted[group]:
                v = m.node.outputs[0]
                if v in self.needed:
                    pieces.append(self._outer_piece(m, available[v][0], outer, p))
                    outputs.append(_outputs(m, arg=False))
        self.needed |= made
        _emit_loop(first[:p], outer, body.nodes, pieces, outputs)

    def _demand(self, unit: Nest) -> tuple[dict[Group, list[Member]], set[Value]]:
        """What each part has to compute, given what is needed outside; and what the nest reads from outside."""
        wanted: dict[Group, list[Member]] = {}
        inner_needed: set[Value] = set()
        outside: set[Value] = set()
        own = {v for g in unit.parts for n in g.nodes for v in n.outputs}
        for group in reversed(unit.parts):
            ms = [m for m in group.members if any(v in self.needed or v in inner_needed for v in m.node.outputs)]
            wanted[group] = ms
            for v, _ in self.accesses(group, ms)[1]:
                (inner_needed if v in own else outside).add(v)
        return wanted, outside

    def accesses(self, group: Group, members: Iterable[Member]) -> tuple[list[Value], list[tuple[Value, Position]]]:
        """Every read from memory that computing these members makes (a dry run), and the indices it is written in."""
        assert group.space is not None
        idx = indices(len(group.space))
        el = self._elements(group)
        with Builder():
            for m in members:
                self._piece_reads(el, m, idx)
        return idx, el.reads

    def _piece_reads(self, el: Elements, m: Member, idx: Sequence[Value]) -> None:
        pos = tuple(as_dim(v) for v in idx)
        el.compute(m.node, pos)
        if m.node.op in STORES:
            self._where(el, m.node, pos)
            el.reads.append((m.node.inputs[0], ()))

    def _part(
        self, group: Group, members: list[Member], outer: list[Value], p: int, available: dict[Value, tuple[Value, int]]
    ) -> dict[Value, tuple[Value, int]]:
        """Emit one part for one row; its values: a scalar, or a row, per member."""
        assert group.space is not None
        inner = indices(len(group.space) - p, start=p)
        el = self._elements(group, available)
        idx = [*outer, *inner]
        if not inner:
            pos = tuple(as_dim(v) for v in idx)
            return {
                m.node.outputs[0]: (el.at(m.node.out, pos) if is_elementwise(m) else el.compute(m.node, pos), p) for m in members
            }
        with Builder() as body:
            pieces = [self._piece(el, m, idx, p) for m in members]
        rows = [[Value(d.type, m.node.outputs[0].hint) for d in q.dests] for q, m in zip(pieces, members)]
        _emit_loop(group.space[p:], inner, body.nodes, pieces, rows)
        return {m.node.outputs[0]: (vs[-1], p) for m, vs in zip(members, rows)}

    def _outer_piece(self, m: Member, row: Value, outer: list[Value], p: int) -> Piece:
        out = m.node.outputs[0].type
        kept = tuple(r for r in m.rows if r < p)
        if kept == tuple(range(p)):
            return Piece([empty(type=out)], Out("store", Map.identity(p)), [row])
        return Piece([const(value=neutral(m.kind, out.dtype), type=out)], Out(m.kind, Map.select(p, kept)), [row])


def _prepared(node: Node) -> list[Node]:
    """The node in the form that fusion and code generation take."""
    if node.op.name == "concat":
        return _concat_as_stores(node)
    return matrix_form(node) if node.op.name == "dot" and classify(node) is None else [node]


def _concat_as_stores(node: Node) -> list[Node]:
    """Each part of a concatenation stored into its place, so that it can be fused with what computes it."""
    axis, at = node.attrs["axis"], 0
    t = node.out.type
    with Builder(node.loc) as b:
        x = empty(type=t)
        for part in node.inputs:
            size = part.type.shape[axis]
            spec = tuple(
                Slice(at if isinstance(at, int) else None, size) if k == axis else Slice(0, d) for k, d in enumerate(t.shape)
            )
            x = update(x, part, *([] if isinstance(at, int) else [dim_value(at)]), spec=spec)
            at = at + size
    give_last(b.nodes, node.outputs)
    return b.nodes


@dataclass
class Piece:
    """One out of a loop under construction."""

    dests: list[Value]
    out: Out
    yields: list[Value]


def _emit_loop(
    extents: tuple[Dim, ...], idx: Sequence[Value], nodes: list[Node], pieces: list[Piece], outputs: list[list[Value]]
) -> None:
    b = current()
    dests_made = {v for p in pieces for v in p.dests}
    hoisted = [n for n in nodes if n.op.fills and any(v in dests_made for v in n.outputs)]
    b.nodes += hoisted
    body = Graph(tuple(idx), tuple(n for n in nodes if n not in hoisted), tuple(v for p in pieces for v in p.yields))
    loc = next((n.loc for n in nodes if n.loc), None)
    attrs = {"extents": tuple(extents), "outs": tuple(p.out for p in pieces)}
    b.nodes.append(
        Node(loop, tuple(d for p in pieces for d in p.dests), tuple(v for o in outputs for v in o), attrs, (body,), loc)
    )


def _outputs(m: Member, arg: bool = True) -> list[Value]:
    """The values a member's out defines: an arg fold has its extreme value before the position."""
    (v,) = m.node.outputs
    return [Value(v.type.with_dtype(m.node.inputs[0].type.dtype)), v] if arg and fold_width(m.kind) == 2 else [v]
