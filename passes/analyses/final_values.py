"""The array is the tape where it can be: which array, later on, still holds an element that was read or stored?

An element read from (or stored into) one version of an array is *final* in a later version if no store between the two
writes its place: stores in the same trip, and in all later trips of the loops that are left on the way. Positions are
affine in loop indices, so a clash is a set of integer points, which irad.core.dependence shows to be empty. In-place
LU and Cholesky factorisation, triangular solves and recurrences read final elements only.

Equality of the two reads is an identity between values, whatever the arguments are; so it holds for derivatives of them,
of every order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from irad.core.affine import number, substitute, symbols
from irad.core.dependence import Access, Axis, Rename, meets, renamed
from irad.core.ir import Graph, Node, Value
from irad.core.lazy_dataclass import dataclass, field
from irad.core.types import I64, Dim, affine, form
from irad.ops.array import STORES, Slice, Spec, located
from irad.ops.regions import BRANCHES, Loop, is_loop, loop_of

STEPS = 48  # stores looked at for one element; beyond them it is taped
UNKNOWN = 256  # what an unknown trip count counts
DEPTH = 12  # definitions followed in a position


@dataclass(eq=False)
class RegionAt:
    """A graph with its place: the node that owns it, and that node's region."""

    graph: Graph
    owner: Node | None = None
    outer: RegionAt | None = None
    kept: set[Value] = field(default_factory=set)  # versions from which a result of the region came about by stores

    def within(self, other: RegionAt) -> bool:
        here: RegionAt | None = self
        while here is not None and here is not other:
            here = here.outer
        return here is other


class FinalValues:
    """Array versions of one graph and its regions. Build it once, then ask `find`."""

    def __init__(self, graph: Graph):
        self.home: dict[Value, RegionAt] = {}
        self.node: dict[Value, Node] = {}
        self.index: dict[Node, Value] = {}  # of a loop; a `while` is given one, which counts its trips
        self.trips: dict[Value, Value | None] = {}  # index -> trip count, None for a `while`
        self.carried: dict[Value, tuple[Node, int]] = {}  # parameter of a loop's body -> where it is carried
        self.later: dict[Value, list[Value]] = {}  # a version -> those that a store or a region op makes of it
        self.bodies: dict[Node, list[RegionAt]] = {}
        self._forms: dict[Value, Dim] = {}
        self._earlier: dict[Value, Value | None] = {}
        self._budget = 0
        self._visit(RegionAt(graph))

    def find(self, array: Value, operands: Sequence[Value], spec: Spec) -> Value | None:
        """The last version of `array`, outside its loops if possible, that still holds what it holds at a place."""
        read, here = self.access(operands, spec), self.home.get(array)
        self._budget = STEPS
        if here is None or all(start is None for start, _, _ in read.axes):
            return None
        at = self._retreat(array, here, read)
        while True:
            at = self._advance(at, here, read)
            owner = here.owner
            if owner is None or here.outer is None or at not in here.graph.results:
                break
            if is_loop(owner) and not self._survives_trips(at, here, read):
                break
            at, here = owner.outputs[here.graph.results.index(at)], here.outer
        return None if at is array else at

    # ---- versions ----------------------------------------------------------------------------------------------

    def _visit(self, region: RegionAt) -> None:
        graph = region.graph
        self.home.update(dict.fromkeys(graph.params, region))
        for node in graph.nodes:
            self.home.update(dict.fromkeys(node.outputs, region))
            self.node.update(dict.fromkeys(node.outputs, node))
            self.bodies[node] = [RegionAt(r, node, region) for r in node.regions]
            if is_loop(node):
                self._loop(node)
            for r in self.bodies[node]:
                self._visit(r)
            for v in node.outputs:
                if v.type.shape and (before := self._before(v)) is not None:
                    self.later.setdefault(before, []).append(v)
        for v in graph.results:
            at: Value | None = v if v.type.shape else None
            while at is not None and self.home.get(at) is region:
                region.kept.add(at)
                at = self._before(at)

    def _loop(self, node: Node) -> None:
        body, loop = self.bodies[node][-1], Loop(node)
        self.carried.update((p, (node, k)) for k, p in enumerate(loop.carries))
        self.index[node] = index = loop.index or Value(I64)
        self.trips[index] = loop.trips
        self.home[index] = body

    def _before(self, v: Value) -> Value | None:
        """The version in the same region that v is after stores; None if v is a new array."""
        if v not in self._earlier:
            node = self.node.get(v)
            self._earlier[v] = None if node is None else self._made_from(node, v)
        return self._earlier[v]

    def _made_from(self, node: Node, v: Value) -> Value | None:
        if node.op in STORES:
            return node.inputs[0]
        if loop := loop_of(node):
            k = node.outputs.index(v)
            return loop.inits[k] if self._reaches(loop.yields[k], loop.carries[k]) else None
        if node.op.name in BRANCHES:
            k = node.outputs.index(v)
            sources = {self._source(r.graph.results[k], r) for r in self.bodies[node]}
            return sources.pop() if len(sources) == 1 else None
        return None

    def _reaches(self, v: Value | None, start: Value) -> bool:
        while v is not None and v is not start:
            v = self._before(v)
        return v is start

    def _source(self, v: Value, region: RegionAt) -> Value | None:
        """The version outside a branch that v is after stores in the branch."""
        at: Value | None = v
        while at is not None and at in self.home and self.home[at].within(region):
            at = self._before(at)
        return at

    def _retreat(self, at: Value, here: RegionAt, read: Access) -> Value:
        """Go back from a version that leads to no result of the region to one that does and holds the same element."""
        while at not in here.kept and at in self.node and self._budget > 0:
            before = self._before(at)
            if before is None or self.home[before] is not here or not self._survives(self.node[at], at, read):
                break
            at = before
        return at

    def _advance(self, at: Value, here: RegionAt, read: Access) -> Value:
        """The last version in this region that still holds the element, on the way to a result of the region."""
        while True:
            ways = self.later.get(at, [])
            best = [v for v in ways if v in here.kept] or (ways[-1:] if here.owner is None else [])
            step = next((v for v in best if self._survives(self.node[v], v, read)), None)
            if step is None:
                return at
            at = step

    # ---- stores --------------------------------------------------------------------------------------------------

    def _survives(self, node: Node, v: Value, read: Access) -> bool:
        """Does the element outlive the store or the region op that makes version v, in the same trip?"""
        inside = self.bodies[node]
        other = _fresh_names(lambda s: any(self.home[s].within(r) for r in inside if s in self.home))
        return all(self._apart(read, w, other, []) for w in self._stores(node, v))

    def _survives_trips(self, result: Value, body: RegionAt, read: Access) -> bool:
        """Does it outlive the later trips of the loop that carries the array?"""
        assert body.owner is not None
        k = body.graph.results.index(result)
        start = body.graph.params[len(body.graph.params) - len(body.owner.outputs) + k]
        if not self._reaches(result, start):
            return False
        other = _fresh_names(lambda s: s in self.home and self.home[s].within(body))
        i = self.index[body.owner]
        order = [affine(1, {i: 1, other(i): -1}), *self.domain(i), *(renamed(e, other) for e in self.domain(i))]
        return all(self._apart(read, w, other, order) for w in self._stores(body.owner, body.owner.outputs[k]))

    def _stores(self, node: Node, v: Value) -> Iterator[Access]:
        """The places that a node writes on the way to the version v that it makes."""
        if node.op in STORES:
            yield self.access(node.inputs[2:], node.attrs["spec"])
            return
        k = node.outputs.index(v)
        for region in self.bodies[node][-1:] if is_loop(node) else self.bodies[node]:
            at = region.graph.results[k]
            while at in self.node and self.home[at].within(region):
                yield from self._stores(self.node[at], at)
                before = self._before(at)
                assert before is not None
                at = before

    def apart(self, read: Access, write: Access) -> bool:
        """Do a read and a store that runs once beside it never touch the same element?"""
        self._budget = STEPS
        return self._apart(read, write, lambda v: v, [])

    def _apart(self, read: Access, write: Access, other: Rename, order: list[Dim]) -> bool:
        """Do the read and the store, its own loop indices renamed by `other`, never touch the same element?"""
        self._budget -= 1
        return self._budget >= 0 and not meets(read, write, self.domain, other, order)

    def domain(self, v: Value) -> list[Dim]:
        """What is known of an unknown, as forms that are <= 0: 0 <= v < trips for the index of a `for`, and so on for the indices
        in its trip count.

        Trip counts and positions are taken as not wrapped around: one that was would be out of bounds or take centuries.
        """
        if v not in self.trips:
            return []
        rows: list[Dim] = [affine(0, {v: -1})]
        count = self.trips[v]
        if count is not None:
            trips = self.form(count)
            rows += [affine(1, {v: 1}) - trips, *(e for u in symbols(trips) for e in self.domain(u))]
        return rows

    def known(self, v: Value) -> int | None:
        """The value of an integer, if it is a constant."""
        return number(self.form(v))

    def expected(self, v: Value) -> int:
        """About how large an integer is: loop indices count half their trips, what is unknown as a large number."""
        return substitute(self.form(v), self._typical)

    def _typical(self, u: Value) -> int:
        node, trips = self.node.get(u), self.trips.get(u)
        if node is not None and node.op.extreme:
            return (max if node.op.extreme > 0 else min)(map(self.expected, node.inputs))
        return UNKNOWN if trips is None else (self.expected(trips) - 1) // 2

    def bounded(self, v: Value) -> bool:
        """Is an integer made of constants and indices of loops whose trips are, too?"""
        counts = [self.trips.get(u) for u in symbols(self.form(v))]
        return all(trips is not None and self.bounded(trips) for trips in counts)

    def step(self, p: Value) -> int | None:
        """The constant by which a carried integer changes in each trip, if it does."""
        loop, k = self.carried[p]
        new = self.node.get(loop.regions[-1].results[k])
        if p.type != I64 or new is None or not new.op.adds:
            return None
        a, b = new.inputs if new.op.adds < 0 or new.inputs[0] is p else new.inputs[::-1]
        step = self.known(b) if a is p else None
        return None if step is None else step * new.op.adds

    # ---- positions -----------------------------------------------------------------------------------------------

    def access(self, operands: Sequence[Value], spec: Spec) -> Access:
        axes: list[Axis] = []
        for s, at in located(spec, operands):
            start = None if s == "g" else self.form(at) if isinstance(at, Value) else at
            axes.append((start, s.size, s.step) if isinstance(s, Slice) else (start, None, 1))
        return Access(tuple(axes))

    def form(self, v: Value, depth: int = DEPTH) -> Dim:
        """An i64 scalar in affine form over what its definitions bottom out in."""
        if v not in self._forms:
            self._forms[v] = self._form(v, depth)
        return self._forms[v]

    def _form(self, v: Value, depth: int) -> Dim:
        if v in self.carried and v.type == I64:
            return self._counter(v, depth)
        return form(v, self.node.get(v) if depth else None, lambda x: self.form(x, depth - 1))

    def _counter(self, p: Value, depth: int) -> Dim:
        """What a loop carries and changes by a constant in each trip: an affine form of its index."""
        step = self.step(p)
        if step is None:
            return affine(0, {p: 1})
        loop, k = self.carried[p]
        start = self.form(loop.inputs[len(loop.inputs) - len(loop.outputs) + k], depth - 1)
        return start + affine(0, {self.index[loop]: step})


def _fresh_names(inside: Callable[[Value], bool]) -> Rename:
    """What stands for a value in another trip: a fresh name if it is made inside the loop, else itself."""
    names: dict[Value, Value] = {}

    def rename(v: Value) -> Value:
        if v not in names:
            names[v] = Value(I64) if inside(v) else v
        return names[v]

    return rename
