"""Contractions as nests with their epilogues.

A `dot` large enough to be worth register tiles, but not so large that a BLAS is better, becomes an outer `loop` over the axes of
its result around an inner one that sums; codegen (irad.codegen.contract) tiles it. What views do to its operands (transpose,
slice, broadcast, splitting reshape) goes into the index maps, so they are read where they lie. The elementwise operations
that follow at the same positions go into the outer body (the epilogue), as do transposes of the result and its store into
a part of another array. Two contractions that meet in an elementwise operation share one nest.

Runs before fuse, which leaves these loops alone. A nest stands where its last operand is known and before anything else reads
what it makes, so that no other node moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from irad.ir import Builder, Graph, Node, Program, Value, defs, reads
from irad.ops.array import Slice
from irad.ops.constant import const, empty
from irad.ops.elementwise import mul
from irad.ops.loop import Map, Out, load, loop
from irad.passes.fuse_access import Elements, Position, as_dim, classify, inlinable
from irad.passes.fuse_dot_operands import Operands, splits
from irad.types import I64, Dim, Type

Shape = tuple[Dim, ...]
MOST = 512**3  # multiplications of one product: above this a BLAS, which blocks for all caches, is ahead
MAX_SUMS = 8  # products in one nest


def fuse_dot(program: Program) -> Program:
    """The program with its contractions as nests."""
    return {name: _graph(g, None)[0] for name, g in program.items()}


def _graph(graph: Graph, outer: set[Value] | None) -> tuple[Graph, list[Node]]:
    """A graph with its contractions as nests, and nodes for the graph around it: what does not change inside a loop.

    `outer`: the values from outside that may be used there (None: nothing can be moved out).
    """
    nodes: list[Node] = []
    known = set(graph.params) | (outer or set())
    for n in graph.nodes:
        if n.regions and n.op is not loop:
            inner = [_graph(r, known if n.op.name in ("for", "while") else None) for r in n.regions]
            nodes += [m for _, moved in inner for m in moved]
            if any(g is not r for (g, _), r in zip(inner, n.regions)):
                n = Node(n.op, n.inputs, n.outputs, n.attrs, tuple(g for g, _ in inner), n.loc, n.deriv)
        nodes.append(n)
        known.update(n.outputs)
    graph = graph.replace(nodes=nodes)
    if not any(n.op.name == "dot" for n in nodes):
        return graph, []
    return _Contractions(graph, outer).run()


def wanted(node: Node) -> bool:
    """Is the node a contraction to make a nest of?"""
    if node.op.name != "dot" or classify(node) is not None:
        return False
    a, b = (v.type for v in node.inputs)
    if not (a.static and b.static) or a.dtype not in ("f32", "f64"):
        return False
    (ca, _), (ba, _) = node.attrs["contract"], node.attrs["batch"]
    out, work = node.out.type.size, 1
    for k in ca:
        work *= int(a.shape[k])  # type: ignore[call-overload]
    for k in ba:
        out //= max(1, int(a.shape[k]))  # type: ignore[call-overload]
    return 0 < out * work <= MOST


@dataclass(eq=False)
class Unit:
    """One nest: products, the elementwise nodes around them, and where each value stands in terms of the nest's indices."""

    index: list[Value]
    extents: list[int]
    dots: list[Node] = field(default_factory=list)
    places: dict[Value, Position] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    after: int = 0  # it can stand after this node, at the earliest


class _Contractions:
    def __init__(self, graph: Graph, outer: set[Value] | None):
        self.graph, self.outer = graph, outer
        self.defs = defs(graph)
        self.number = {v: k for k, n in enumerate(graph.nodes) for v in n.outputs}
        self.users: dict[Value, list[int]] = {}
        for k, n in enumerate(graph.nodes):
            for v in dict.fromkeys(reads(n)):
                self.users.setdefault(v, []).append(k)
        self.results = set(graph.results)
        self.unit_of: dict[Value, Unit] = {}
        self.taken: dict[int, Unit] = {}

    def run(self) -> tuple[Graph, list[Node]]:
        operands = Operands(self.graph, self.defs, self.outer)
        for k, n in enumerate(self.graph.nodes):
            if wanted(n):
                self._start(k, n, operands)
            else:
                self._join(k, n)
        for unit in dict.fromkeys(self.unit_of.values()):
            self._absorb_before(unit)
        units = list(dict.fromkeys(self.unit_of.values()))
        at: dict[int, list[Unit]] = {}
        for u in units:
            at.setdefault(u.after, []).append(u)
        nodes: list[Node] = []
        for k, n in enumerate(self.graph.nodes):
            if k not in self.taken:
                nodes.append(n)
            for u in at.get(k, ()):
                nodes += self._emit(u, operands)
        return self.graph.replace(nodes=nodes), operands.moved

    # ---- what belongs to a nest --------------------------------------------------------------------------------

    def _start(self, k: int, node: Node, operands: Operands) -> None:
        t = node.out.type
        index = [Value(I64, "ijklmnpq"[min(r, 7)]) for r in range(t.rank)]
        unit = Unit(index, [int(d) for d in t.shape], [node], {node.out: tuple(map(as_dim, index))}, [node], k)  # type: ignore[arg-type]
        self.unit_of[node.out] = unit
        self.taken[k] = unit

    def _join(self, k: int, n: Node) -> None:
        """Take node k into the nest of its operands, if it can be."""
        if len(n.outputs) != 1 or n.regions:
            return
        units = list(dict.fromkeys(self.unit_of[v] for v in n.inputs if v in self.unit_of))
        if not units:
            return
        place = self._place(n, units)
        if place is None:
            return
        after = max([u.after for u in units] + [self.number.get(v, -1) for v in self._outside(n, units)])
        if any(j < after + 1 for u in units for v in u.places for j in self._uses_outside(v, units, k)):
            return
        if sum(len(u.dots) for u in units) > MAX_SUMS:
            return
        unit = self._merged(units)
        unit.places[n.out] = place(unit)
        unit.nodes.append(n)
        unit.after = after
        self.unit_of[n.out], self.taken[k] = unit, unit

    def _outside(self, n: Node, units: Sequence[Unit]) -> list[Value]:
        """What the node reads that no nest of `units` makes, views looked through."""
        return [v for v in reads(n) if self.unit_of.get(v) not in units]

    def _uses_outside(self, v: Value, units: Sequence[Unit], before: int) -> list[int]:
        return [j for j in self.users.get(v, ()) if j < before and self.taken.get(j) not in units]

    def _place(self, n: Node, units: list[Unit]):  # type: ignore[no-untyped-def]
        """Where the node's value would stand: a function of the merged unit; None if the node cannot join."""
        if n.op.elementwise:
            members = [v for v in n.inputs if v in self.unit_of]
            if any(v.type.shape != n.out.type.shape for v in n.inputs):
                return None
            first = units[0]
            for u in units[1:]:
                if u.extents != first.extents:
                    return None
            rows = {_renamed(self.unit_of[v].places[v], self.unit_of[v].index, first.index) for v in members}
            return (lambda u: u.places[members[0]]) if len(rows) == 1 else None
        if len(units) > 1 or n.inputs[0] not in units[0].places or len(n.inputs) != 1:
            return None
        pos = units[0].places[n.inputs[0]]
        if n.op.name == "transpose":
            return lambda u: tuple(u.places[n.inputs[0]][p] for p in n.attrs["perm"])
        if n.op.name == "reshape":
            merged = _merged_positions(pos, n.inputs[0].type.shape, n.out.type.shape)
            return None if merged is None else (lambda u: merged)
        return None

    def _merged(self, units: list[Unit]) -> Unit:
        first, *others = units
        for u in others:
            for v, pos in u.places.items():
                first.places[v] = _renamed(pos, u.index, first.index)
                self.unit_of[v] = first
            first.dots += u.dots
            first.nodes += u.nodes
            first.after = max(first.after, u.after)
            for k, w in list(self.taken.items()):
                if w is u:
                    self.taken[k] = first
        if others:
            first.nodes.sort(key=lambda n: self.number[n.out])
        return first

    def _absorb_before(self, unit: Unit) -> None:
        """Elementwise nodes that only this nest reads are computed in it."""
        inside = set(unit.nodes)
        for k in range(unit.after, -1, -1):
            n = self.graph.nodes[k]
            if k in self.taken or not n.op.elementwise or not n.out.type.shape or n.out in self.results or inlinable(n):
                continue
            users = self.users.get(n.out, ())
            if users and all(self.taken.get(j) is unit and self.graph.nodes[j].op.elementwise for j in users):
                (j, *_) = users
                shapes = {self.graph.nodes[i].out.type.shape for i in users}
                places = {unit.places[self.graph.nodes[i].out] for i in users}
                if shapes == {n.out.type.shape} and len(places) == 1:
                    unit.places[n.out] = unit.places[self.graph.nodes[j].out]
                    unit.nodes.append(n)
                    inside.add(n)
                    self.taken[k] = unit
                    self.unit_of[n.out] = unit

    # ---- emission ----------------------------------------------------------------------------------------------

    def _emit(self, unit: Unit, operands: Operands) -> list[Node]:
        own = set(unit.nodes)
        accumulators = self._accumulators(unit)
        stored = [v for v in unit.places if self._needed(v, unit) and v in {n.out for n in own}]
        el = _Epilogue(self, unit, {x.out for x in accumulators})
        with Builder() as b:
            chains = self._sums(unit, b, operands, el)
            assert chains is not None
            values, outs, dests, finals = [], [], [], []
            for v in stored:
                node = self.defs[v]
                pos = unit.places[v]
                if node in accumulators:
                    dest, part = accumulators[node]
                    values.append(el.value(part))
                    outs.append(Out("add", Map(tuple(_row(d, unit.index) for d in pos))))
                    dests.append(dest)
                else:
                    values.append(el.value(v))
                    outs.append(Out("store", Map(tuple(_row(d, unit.index) for d in pos))))
                    dests.append(None)
                finals.append(v)
        with Builder(unit.dots[0].loc) as o:
            made = [empty(type=v.type) if d is None else d for d, v in zip(dests, finals)]
        body = Graph(tuple(unit.index), tuple(b.nodes), tuple(values))
        attrs = {"extents": tuple(unit.extents), "outs": tuple(outs)}
        node = Node(loop, tuple(made), tuple(finals), attrs, (body,), unit.dots[0].loc, unit.dots[0].deriv)
        return [*operands.take(), *o.nodes, node]

    def _needed(self, v: Value, unit: Unit) -> bool:
        return v in self.results or any(self.taken.get(j) is not unit for j in self.users.get(v, ()))

    def _accumulators(self, unit: Unit) -> dict[Node, tuple[Value, Value]]:
        """Nodes `add(x, sum)` that can add to x where it is: x is carried by a loop. -> (x, sum)."""
        out = {}
        params = set(self.graph.params)
        for n in unit.nodes:
            if n.op.name == "add" and n.out in self.results and not any(self.taken.get(j) is unit for j in self.users.get(n.out, ())):
                for x, y in (n.inputs, n.inputs[::-1]):
                    if x in params and y in unit.places and len(self.users[x]) == 1 and x not in self.results and x is not y:
                        out[n] = (x, y)
                        break
        return out

    def _sums(self, unit: Unit, b: Builder, operands: Operands, el: _Epilogue) -> bool:
        """Emit the inner loops; a sum of two products continues where the first ended."""
        done: dict[Value, Value] = {}
        for n in unit.nodes:
            if n.op.name == "add" and all(self._only_here(v, n, unit) for v in n.inputs):
                x, y = n.inputs
                chain = [v for v in (x, y) if v in {d.out for d in unit.dots} or v in done]
                if len(chain) == 2 and x is not y:
                    done[n.out] = n.out
                    el.chained[n.out] = (x, y)
        for d in unit.dots:
            el.products[d.out] = (d, operands)
        return True

    def _only_here(self, v: Value, n: Node, unit: Unit) -> bool:
        users = self.users.get(v, ())
        return v in self.unit_of and len(users) == 1 and v not in self.results


class _Epilogue:
    """The scalar code of a nest's body."""

    def __init__(self, c: _Contractions, unit: Unit, skip: set[Value]):
        self.c, self.unit = c, unit
        self.products: dict[Value, tuple[Node, Operands]] = {}
        self.chained: dict[Value, tuple[Value, Value]] = {}
        self.memo: dict[Value, Value] = {}
        own = set(unit.nodes)
        self.inner = {n.out for n in own}
        self.elements = Elements(self._computed)

    def _computed(self, v: Value) -> Node | None:
        node = self.c.defs.get(v)
        return node if node is not None and inlinable(node) and v not in self.inner else None

    def value(self, v: Value, start: Value | None = None) -> Value:
        """The element of a value of the nest at its own position; with `start`, a sum of products added to that."""
        if start is None and v in self.memo:
            return self.memo[v]
        if v in self.products:
            out = self._product(v, start)
        elif v in self.chained:
            x, y = self.chained[v]
            out = self.value(y, self.value(x, start))
        else:
            out = self._apply(v)
        self.memo[v] = out
        return out

    def _apply(self, v: Value) -> Value:
        from irad.ir import current, emit

        node = self.c.defs[v]
        if not node.op.elementwise:
            return self.value(node.inputs[0])
        pos = self.unit.places[v]
        args = [self.value(x) if x in self.inner else self.elements.at(x, pos) for x in node.inputs]
        b = current()
        b.loc, b.deriv = node.loc, node.deriv
        return emit(node.op, *args, **node.attrs)[0]

    def _product(self, v: Value, start: Value | None) -> Value:
        from irad.ir import current

        node, operands = self.products[v]
        current().loc = node.loc
        pos = self.unit.places[v]
        terms, factors = operands.factors(node, pos)
        zero = const(value=0.0, type=Type(node.out.type.dtype)) if start is None else start
        with Builder(node.loc, deriv=node.deriv) as body:
            x, y = (f() for f in factors)
            p = mul(x, y)
        out = Value(p.type, "s")
        graph = Graph(tuple(terms), tuple(body.nodes), (p,))
        attrs = {"extents": tuple(operands.extents(node)), "outs": (Out("add", Map(())),)}
        current().nodes.append(Node(loop, (zero,), (out,), attrs, (graph,), node.loc, node.deriv))
        return out


def _renamed(pos: Position, old: Sequence[Value], new: Sequence[Value]) -> Position:
    names = dict(zip(old, new))
    return tuple(d if isinstance(d, int) else d.rename(lambda v: names.get(v, v)) for d in pos)


def _merged_positions(pos: Position, old: Shape, new: Shape) -> Position | None:
    """Positions after a reshape that merges neighbouring axes (or moves axes of extent 1); None for any other."""
    groups = splits(new, old)
    if groups is None:
        return None
    out: list[Dim] = []
    for group in groups:
        at: Dim = 0
        for k in group:
            d = old[k]
            assert isinstance(d, int)
            at = at * d + pos[k]
        out.append(at)
    return tuple(out)


def _row(d: Dim, idx: Sequence[Value]) -> tuple[int, ...]:
    coefs = {} if isinstance(d, int) else dict(d.terms)
    return (*(coefs.get(v, 0) for v in idx), d if isinstance(d, int) else d.const)
