"""Contractions as nests with their epilogues.

A `dot` large enough to be worth register tiles, but not so large that a BLAS is better, becomes an outer `loop` over the axes of
its result around an inner one that sums; codegen (irad.codegen.schedule.contractions) tiles it. What views do to its operands
(transpose, slice, broadcast, splitting reshape, windows) goes into the index maps, so they are read where they lie, unless a copy
is cheaper (irad.passes.contractions.price). The elementwise operations that follow at the same positions go into the outer body
(the epilogue), as do transposes of the result and its store into a part of another array. Contractions that meet in an
elementwise operation share one nest.

Runs before fuse, which leaves these loops alone. A nest stands where its last operand is known and before anything else reads
what it makes, so no other node moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irad.core.ir import Builder, Graph, Node, Program, Value, current, defs, emit, reads
from irad.core.lazy_dataclass import dataclass, field
from irad.core.notes import Notes
from irad.core.once import COMPILER
from irad.core.types import Type
from irad.ops.array import STORES, Slice, Spec, located, operand_types
from irad.ops.constant import const, empty
from irad.ops.loop import Map, Out, loop
from irad.ops.regions import is_loop
from irad.passes.contractions.operands import Operands, merged_positions
from irad.passes.contractions.pool import pooling_elementwise
from irad.passes.contractions.price import walk
from irad.passes.contractions.split import split_slices
from irad.passes.contractions.wanted import wanted_in
from irad.passes.fusion.access import Position, as_dim, classify, indices, inlinable

MAX_SUMS = 8  # products in one nest


def fuse_dot(program: Program, notes: Notes | None = None) -> Program:
    """The program with its contractions as nests."""
    return {name: _graph(g, None, notes)[0] for name, g in program.items()}


def _graph(graph: Graph, outer: set[Value] | None, notes: Notes | None) -> tuple[Graph, list[Node]]:
    """A graph with its contractions as nests, and nodes for the graph around it: copies that no trip changes.

    `outer`: the values from outside that may be used there (None: nothing can be moved out).
    """
    nodes: list[Node] = []
    known = set(graph.params) | (outer or set())
    for n in graph.nodes:
        if n.regions and n.op is not loop:
            inner = [_graph(r, known if is_loop(n) else None, notes) for r in n.regions]
            nodes += [m for _, moved in inner for m in moved]
            if any(g is not r for (g, _), r in zip(inner, n.regions)):
                n = n.replace(regions=tuple(g for g, _ in inner))
        nodes.append(n)
        known.update(n.outputs)
    graph = pooling_elementwise(graph.replace(nodes=nodes))
    if any(n.op.name == "dot" for n in graph.nodes):
        graph = split_slices(graph, wanted_in(graph))
        if any("g" in n.attrs.get("spec", ()) for n in graph.nodes):
            with COMPILER:
                from irad.passes.contractions.scatter import convolutions  # not loaded by programs without gathers
            graph = convolutions(graph, notes)
    wanted = wanted_in(graph)
    if notes is not None:
        _note_others(notes, graph, wanted)
    return _Contractions(graph, wanted, outer, notes).run() if any(map(wanted, graph.nodes)) else (graph, [])


def _note_others(notes: Notes, graph: Graph, wanted: Callable[[Node], bool]) -> None:
    """Say what becomes of products that get no nest of their own."""
    for n in graph.nodes:
        if n.op.name == "dot" and not wanted(n):
            what = " x ".join(str(v.type) for v in n.inputs)
            if classify(n) is not None:
                notes.add("contraction", f"{what}: a plain loop, which fuses with what is around it", n.loc, kind="loop")
            else:
                notes.add("contraction", f"{what}: a BLAS call or plain loops; not fused", n.loc, kind="apart")


@dataclass(eq=False)
class Unit:
    """One nest: the nodes in it, and where each value stands in terms of the nest's indices (its `places`)."""

    index: list[Value]
    extents: list[int]
    dots: list[Node]
    places: dict[Value, Position]
    nodes: list[Node]
    after: int  # number of the node that it is put after
    stores: list[Node] = field(default_factory=list)  # updates of other arrays with a value of the nest

    def makes(self) -> list[Value]:
        """All that the nest gives: its values, and the arrays that it stores into."""
        return [*self.places, *(n.out for n in self.stores)]


class _Contractions:
    """The nests of one graph."""

    def __init__(self, graph: Graph, wanted: Callable[[Node], bool], outer: set[Value] | None, notes: Notes | None = None):
        self.wanted, self.notes = wanted, notes
        self.graph, self.defs = graph, defs(graph)
        self.number = {v: k for k, n in enumerate(graph.nodes) for v in n.outputs}
        self.users: dict[Value, list[int]] = {}
        for k, n in enumerate(graph.nodes):
            for v in dict.fromkeys(reads(n)):
                self.users.setdefault(v, []).append(k)
        self.results = set(graph.results)
        self.unit_of: dict[Value, Unit] = {}  # of all that nests make
        self.operands = Operands(self.defs, self.unit_of, outer, notes)
        self.taken: dict[int, Unit] = {}

    def run(self) -> tuple[Graph, list[Node]]:
        """The graph with nests, and the nodes to put before the loop that it is the body of."""
        for k, n in enumerate(self.graph.nodes):
            if self.wanted(n):
                self._start(k, n)
            elif len(n.outputs) == 1 and not n.regions:
                self._join(k, n)
        units = list(dict.fromkeys(self.unit_of.values()))
        at: dict[int, list[Unit]] = {}
        for u in units:
            self._absorb_before(u)
            if self.notes is not None:
                self._note(self.notes, u)
            at.setdefault(u.after, []).append(u)
        nodes: list[Node] = []
        for k, n in enumerate(self.graph.nodes):
            if k not in self.taken:
                nodes.append(n)
            for u in self._in_order(at.get(k, [])):
                nodes += _Nest(self, u).nodes()
        return self.graph.replace(nodes=nodes), self.operands.moved

    def _in_order(self, units: list[Unit]) -> list[Unit]:
        """Nests that stand at one place, each after those it reads."""
        out: list[Unit] = []

        def put(u: Unit) -> None:
            if u in units and u not in out:
                for other in {self.unit_of[v]: None for n in (*u.nodes, *u.stores) for v in n.inputs if v in self.unit_of}:
                    if other is not u:
                        put(other)
                out.append(u)

        for u in units:
            put(u)
        return out

    def _note(self, notes: Notes, u: Unit) -> None:
        what = ", ".join(" x ".join(str(v.type) for v in d.inputs) for d in u.dots)
        more = [n.op.name for n in (*u.nodes, *u.stores) if n not in u.dots]
        text = f"{what}: a nest of its own" + (f" with {', '.join(more)} in it (epilogue)" if more else "")
        notes.add("contraction", text, u.dots[0].loc, kind="nest", dots=len(u.dots), epilogue=more)

    # ---- what belongs to a nest --------------------------------------------------------------------------------

    def _start(self, k: int, node: Node) -> None:
        t = node.out.type
        index = indices(t.rank)
        extents = [int(d) for d in t.shape]  # type: ignore[arg-type]
        unit = Unit(index, extents, [node], {node.out: tuple(map(as_dim, index))}, [node], k)
        self.unit_of[node.out] = self.taken[k] = unit

    def _join(self, k: int, n: Node) -> None:
        """Take node k into the nest of its operands, if it can be: all their nests become one, or it goes to the last."""
        units = list(dict.fromkeys(self.unit_of[v] for v in n.inputs if v in self.unit_of))
        if units and not self._join_all(k, n, units) and len(units) > 1:
            self._join_all(k, n, [max(units, key=lambda u: u.after)])

    def _join_all(self, k: int, n: Node, units: list[Unit]) -> bool:
        if sum(len(u.dots) for u in units) > MAX_SUMS or any(u.extents != units[0].extents for u in units):
            return False
        after = max([u.after for u in units] + [self._known(v) for v in reads(n) if self.unit_of.get(v) not in units])
        if any(used <= after for u in units for v in u.makes() for used in self._uses_outside(v, units, k)):
            return False
        if not self._element_by_element(units):
            return False
        update = n.op in STORES
        place = self._stored_at(n, units) if update else self._place(n, units)
        if place is None:
            return False
        unit = self._merged(units)
        unit.after = after
        self.taken[k] = unit
        if update:
            unit.stores.append(n)
            self.unit_of[n.out] = unit
        else:
            unit.nodes.append(n)
            unit.places[n.out] = place
            self.unit_of[n.out] = unit
        return True

    def _element_by_element(self, units: list[Unit]) -> bool:
        """Does what these nests read of each other stand at the places where they make it? No product does, which reads the whole of
        its operands, and no reader of an array that is stored into."""
        places = {v: _renamed(pos, u.index, units[0].index) for u in units for v, pos in u.places.items()}
        stored = {n.out for u in units for n in u.stores}
        if any(v in places for u in units for d in u.dots for v in d.inputs):
            return False
        if any(v in stored for u in units for n in (*u.nodes, *u.stores) for v in n.inputs):
            return False
        whole = [n for u in units for n in u.nodes if n.op.elementwise]
        return all(places[v] == places[n.out] for n in whole for v in n.inputs if v in places)

    def _known(self, v: Value) -> int:
        """Number of the node after which v is known."""
        return self.unit_of[v].after if v in self.unit_of else self.number.get(v, -1)

    def _uses_outside(self, v: Value, units: Sequence[Unit], before: int) -> list[int]:
        """Where v is read outside of the nests, before node `before`."""
        readers = [j for j in self.users.get(v, ()) if j < before and self.taken.get(j) not in units]
        return [self.taken[j].after if j in self.taken else j for j in readers]

    def _place(self, n: Node, units: list[Unit]) -> Position | None:
        """Where the node's value stands, in indices of the first unit; None if the node cannot join."""
        if n.op.elementwise:
            if any(v.type.shape != n.out.type.shape for v in n.inputs):
                return None
            members = [v for v in n.inputs if self.unit_of.get(v) in units]
            if not all(v in self.unit_of[v].places for v in members):
                return None  # an array that the nest stores into
            places = {_renamed(self.unit_of[v].places[v], self.unit_of[v].index, units[0].index) for v in members}
            return places.pop() if len(places) == 1 else None
        if not n.op.each_once:
            return None
        pos = units[0].places.get(n.inputs[0])
        if pos is None:
            return None
        if n.op.name == "transpose":
            return tuple(pos[p] for p in n.attrs["perm"])
        return merged_positions(pos, n.inputs[0].type.shape, n.out.type.shape)

    def _stored_at(self, n: Node, units: list[Unit]) -> Position | None:
        """Where an update stores a value of the nest; None if it has other parts or its place is known at run time only."""
        x, v = n.inputs[:2]
        spec = n.attrs["spec"]
        if len(n.inputs) > 2 or self.unit_of.get(x) in units or self.unit_of.get(v) not in units or not x.type.static:
            return None
        if v in self.results or len(self.users[v]) > 1 or v not in units[0].places:
            return None
        return _placed(units[0].places[v], spec)

    def _merged(self, units: list[Unit]) -> Unit:
        first, *others = units
        for u in others:
            for v, pos in u.places.items():
                first.places[v] = _renamed(pos, u.index, first.index)
            self.unit_of.update(dict.fromkeys(u.makes(), first))
            first.dots += u.dots
            first.nodes += u.nodes
            first.stores += u.stores
            self.taken.update((k, first) for k, w in self.taken.items() if w is u)
        return first

    def _absorb_before(self, unit: Unit) -> None:
        """Elementwise nodes that only this nest reads are computed in it."""
        for k in range(unit.after, -1, -1):
            n = self.graph.nodes[k]
            if k in self.taken or not n.op.elementwise or n.out in self.results or inlinable(n):
                continue
            users = [self.graph.nodes[j] for j in self.users.get(n.out, ()) if self.taken.get(j) is unit]
            if not users or len(users) < len(self.users[n.out]) or not all(m.op.elementwise for m in users):
                continue
            places = {unit.places[m.out] for m in users}
            if len(places) == 1 and all(m.out.type.shape == n.out.type.shape for m in users):
                unit.places[n.out] = places.pop()
                unit.nodes.append(n)
                self.unit_of[n.out] = self.taken[k] = unit


class _Nest:
    """Emits one nest."""

    def __init__(self, c: _Contractions, unit: Unit):
        self.c, self.unit = c, unit
        self.members = {n.out: n for n in unit.nodes}
        self.memo: dict[Value, Value] = {}
        self.elements = c.operands.elements()
        self.chained = {n.out for n in unit.nodes if self._chains(n)}

    def nodes(self) -> list[Node]:
        """The nest, after the copies of operands that it needs."""
        unit, first = self.unit, self.unit.dots[0]
        stored = [v for v in self.members if self._needed(v)]
        targets = [(unit.places[v], v.type) for v in stored]
        targets += [(_placed(unit.places[n.inputs[1]], n.attrs["spec"]) or (), n.out.type) for n in unit.stores]
        self.stored = [walk(pos, [int(d) for d in t.shape]) for pos, t in targets]  # type: ignore[arg-type]
        with Builder(first.loc) as body:
            pieces = [self._result(v) for v in stored] + [self._store(n) for n in unit.stores]
        with Builder(first.loc) as before:
            dests = [empty(type=final.type) if d is None else d for d, _, _, final in pieces]
        graph = Graph(tuple(unit.index), tuple(body.nodes), tuple(value for _, _, value, _ in pieces))
        attrs = {"extents": tuple(unit.extents), "outs": tuple(out for _, out, _, _ in pieces)}
        nest = Node(loop, tuple(dests), tuple(final for *_, final in pieces), attrs, (graph,), first.loc, first.deriv)
        return [*self.c.operands.take(), *before.nodes, nest]

    def _needed(self, v: Value) -> bool:
        c = self.c
        return v in c.results or any(c.taken.get(j) is not self.unit for j in c.users.get(v, ()))

    def _result(self, v: Value) -> tuple[Value | None, Out, Value, Value]:
        """Destination (None: a new array), out, what the body yields, and the result."""
        rows = self._rows(self.unit.places[v])
        accumulated = self._accumulator(self.members[v])
        if accumulated is not None:
            dest, part = accumulated
            return dest, Out("add", rows), self.value(part), v
        return None, Out("store", rows), self.value(v), v

    def _store(self, n: Node) -> tuple[Value | None, Out, Value, Value]:
        x, v = n.inputs
        rows = self._rows(_placed(self.unit.places[v], n.attrs["spec"]) or ())
        return x, Out("store" if n.op.name == "update" else "add", rows), self.value(v), n.out

    def _rows(self, pos: Position) -> Map:
        return Map.of(pos, self.unit.index)

    def _accumulator(self, n: Node) -> tuple[Value, Value] | None:
        """`add(x, sum)` adds to x where it is if x is carried by the loop around: (x, sum)."""
        c = self.c
        if n.op.name != "add" or n.out not in c.results or any(c.taken.get(j) is self.unit for j in c.users.get(n.out, ())):
            return None
        for x, y in (n.inputs, n.inputs[::-1]):
            if x in c.graph.params and y in self.members and len(c.users[x]) == 1 and x not in c.results:
                return x, y
        return None

    # ---- the body ----------------------------------------------------------------------------------------------

    def _chains(self, n: Node) -> bool:
        """A sum of two sums of products that nothing else reads: the second continues where the first ended."""
        return n.op.name == "add" and n.inputs[0] is not n.inputs[1] and all(self._sums(v) for v in n.inputs)

    def _sums(self, v: Value) -> bool:
        n = self.members.get(v)
        if n is None or len(self.c.users[v]) > 1 or v in self.c.results:
            return False
        return n.op.name == "dot" or self._chains(n)

    def value(self, v: Value, start: Value | None = None) -> Value:
        """The element of a value of the nest at its place; a sum of products is added to `start`."""
        if v not in self.memo:
            node = self.members[v]
            if node.op.name == "dot":
                self.memo[v] = self._product(node, start)
            elif v in self.chained:
                x, y = node.inputs
                self.memo[v] = self.value(y, self.value(x, start))
            else:
                self.memo[v] = self._apply(node)
        return self.memo[v]

    def _apply(self, node: Node) -> Value:
        if not node.op.elementwise:
            return self.value(node.inputs[0])
        pos = self.unit.places[node.out]
        args = [self.value(x) if x in self.members else self.elements.at(x, pos) for x in node.inputs]
        b = current()
        b.loc, b.deriv = node.loc, node.deriv
        return emit(node.op, *args, **node.attrs)[0]

    def _product(self, node: Node, start: Value | None) -> Value:
        terms, extents, factors = self.c.operands.factors(node, self.unit.places[node.out], self.stored)
        zero = const(value=0.0, type=Type(node.out.type.dtype)) if start is None else start
        with Builder(node.loc, deriv=node.deriv) as body:
            x, y = (f() for f in factors)
            p = x * y
        out = Value(p.type, "s")
        attrs = {"extents": tuple(extents), "outs": (Out("add", Map(())),)}
        graph = Graph(tuple(terms), tuple(body.nodes), (p,))
        current().nodes.append(Node(loop, (zero,), (out,), attrs, (graph,), node.loc, node.deriv))
        return out


# ---- positions -------------------------------------------------------------------------------------------------


def _renamed(pos: Position, old: Sequence[Value], new: Sequence[Value]) -> Position:
    names = dict(zip(old, new))
    return tuple(d if isinstance(d, int) else d.rename(lambda v: names.get(v, v)) for d in pos)


def _placed(pos: Position, spec: Spec) -> Position | None:
    """Positions in the array of a value stored by `spec`; None if a part of it is known at run time only."""
    if operand_types(spec):
        return None
    it = iter(pos)
    return tuple([at + next(it) * s.step if isinstance(s, Slice) else at for s, at in located(spec, ())])
