"""Copies wherever an array must be in memory of its own: what is stored into, loop carries, branch results, results.

The next step lets a copy's source and target share memory where they can; what remains is really copied.
"""

from __future__ import annotations

from collections.abc import Sequence

from irad.core.affine import Integer, symbol
from irad.core.dependence import told_apart
from irad.core.ir import Graph, Node, Value, captures, readers, substitute
from irad.ops.array import copy as copy_op
from irad.ops.array import index, one_place
from irad.ops.loop import Out, groups, load
from irad.ops.loop import loop as loop_op
from irad.ops.regions import map_control
from irad.passes.memory.loop_stores import LoopStores
from irad.passes.rewrite import live


def insert_copies(graph: Graph) -> Graph:
    """The graph with a copy at every place where memory changes hands."""
    graph = _reads_first(graph)
    return _Copies(LoopStores(graph)).graph(graph, results=True)


def _reads_first(graph: Graph) -> Graph:
    """The graph with elements read before the first node that may write over their array: no copy is made for them."""
    nodes: list[Node] = []
    user: dict[Value, Node] = {}  # of an array, the first node that it is an operand of
    before: dict[Node, list[Node]] = {}
    for n in graph.nodes:
        n = map_control(n, _reads_first)
        if n.op is index and one_place(n.attrs["spec"]):
            if n.inputs[0] in user:
                before.setdefault(user[n.inputs[0]], []).append(n)
                continue
        else:
            for v in n.inputs:
                if v.type.shape:
                    user.setdefault(v, n)
        nodes.append(n)
    return graph.replace(nodes=[m for n in nodes for m in (*before.get(n, ()), n)])


def _copied(v: Value) -> Node:
    return Node(copy_op, (v,), (Value(v.type, v.hint),))


class _Copies:
    def __init__(self, stores: LoopStores) -> None:
        self.stores = stores
        self.made: dict[Value, Node] = {}  # constants and empties, by value
        self.spare: set[Value] = set()  # second buffers: theirs is the memory to write into

    def graph(self, graph: Graph, results: bool = False) -> Graph:
        nodes: list[Node] = []
        for n in graph.nodes:
            if n.op.fills:
                self.made[n.outputs[0]] = n
            rule = getattr(self, f"_{n.op.name}", None)
            nodes += rule(n) if rule is not None else [n]
        if results:
            copies, new = self._own(graph.results)
            return graph.replace(nodes=_without_dead([*nodes, *copies], new), results=new)
        return graph.replace(nodes=_without_dead(nodes, graph.results))

    def _own(self, values: Sequence[Value]) -> tuple[list[Node], list[Value]]:
        """Fresh copies of the arrays among the values; constants are made anew instead."""
        nodes: list[Node] = []
        out: list[Value] = []
        for v in values:
            if not v.type.shape or v in self.spare:
                out.append(v)
                continue
            made = self.made.get(v)
            if made is not None and (made.op.name == "empty" or not hasattr(made.attrs["value"], "shape")):
                node = Node(made.op, (), (Value(v.type, v.hint),), made.attrs, (), made.loc)
            else:
                node = _copied(v)
            nodes.append(node)
            out.append(node.outputs[0])
        return nodes, out

    def _loop(self, node: Node) -> list[Node]:
        copies, dests = self._own(node.inputs)
        self.spare.update(v for d, v in zip(node.inputs, node.outputs) if d in self.spare)  # a chain of stores into one
        (body,) = node.regions
        moved = {
            old: new
            for k, (old, new, o) in enumerate(zip(node.inputs, dests, node.attrs["outs"]))
            if old is not new and (read_in_place(node, old, o) or old in captures(body) and self.stores.apart(node, k, old))
        }
        body = substitute(body, moved)
        return [*copies, node.replace(inputs=dests, regions=(body,))]

    def _update(self, node: Node) -> list[Node]:
        x, *rest = node.inputs
        copies, (dest,) = self._own([x])
        if x in self.spare:
            self.spare.add(node.out)
        return [*copies, node.replace(inputs=(dest, *rest))]

    _update_add = _update

    def _for(self, node: Node) -> list[Node]:
        (body,) = node.regions
        copies, init = self._own(node.inputs)
        return [*copies, node.replace(inputs=init, regions=(self._body(body, 1, node.attrs.get("swap", ())),))]

    def _while(self, node: Node) -> list[Node]:
        cond, body = node.regions
        copies, init = self._own(node.inputs)
        regions = (self.graph(cond), self._body(body, 0, node.attrs.get("swap", ())))
        return [*copies, node.replace(inputs=init, regions=regions)]

    def _body(self, body: Graph, offset: int, swap: Sequence[tuple[int, int]]) -> Graph:
        """Copies of what is carried on; a carry that becomes another one goes through memory of its own first.

        Carries whose buffers change places are left alone.
        """
        self.spare.update(body.params[offset + b] for _, b in swap)
        body = self.graph(body)
        alias = {n.outputs[0]: n.inputs[0] for n in body.nodes if n.op.name == "reshape"}
        params = body.params[offset:]
        first: list[Node] = []
        through: list[Value] = []
        exchanged = {k for pair in swap for k in pair}
        for k, (v, p) in enumerate(zip(body.results, params)):
            if k in exchanged:
                through.append(v)
                continue
            root = v
            while root in alias:
                root = alias[root]
            if v.type.shape and root in params and root is not p:
                first.append(_copied(v))
                v = first[-1].outputs[0]
            through.append(v)
        kept = [v for k, v in enumerate(through) if k not in exchanged]
        copies, own = self._own(kept)
        owned = iter(own)
        results = [v if k in exchanged else next(owned) for k, v in enumerate(through)]
        return body.replace(nodes=_without_dead([*body.nodes, *first, *copies], results), results=results)

    def _if(self, node: Node) -> list[Node]:
        regions = []
        for r in node.regions:
            r = self.graph(r)
            copies, results = self._own(r.results)
            regions.append(r.replace(nodes=_without_dead([*r.nodes, *copies], results), results=results))
        return [node.replace(regions=regions)]

    _checkpoint = _if


def read_in_place(loop: Node, x: Value, out: Out) -> bool:
    """Is x read in the loop, and only at the very position that this trip stores to, and no other trip? In a loop inside, whose result
    the trip stores, too."""
    (body,) = loop.regions
    reading = readers(body).get(x, ())
    if not reading or x in body.results:
        return False
    extents, maps, idx = loop.attrs["extents"], out.map.at(_numbered(loop.attrs["extents"])), body.params
    if (inner := _row(loop, x, out, reading)) is not None:
        n, row = inner
        reading, idx = readers(n.regions[0])[x], (*idx, *n.regions[0].params)
        extents = (*extents, *n.attrs["extents"])
        maps = (*maps, *row.map.at(_numbered(extents)[len(body.params) :]))
    at = {v: symbol(k) for k, v in enumerate(idx)}
    same = lambda n: all(v in at for v in n.inputs[1:]) and n.attrs["map"].at([at[v] for v in n.inputs[1:]]) == maps
    return not out.extra and all([n.op is load and same(n) for n in reading]) and told_apart(maps, dict(enumerate(extents)))


def _numbered(extents: Sequence[object]) -> list[Integer]:
    return [symbol(k) for k in range(len(extents))]


def _row(loop: Node, x: Value, out: Out, reading: Sequence[Node]) -> tuple[Node, Out] | None:
    """The loop inside that alone reads x and makes what the trip stores, and its own out."""
    n = reading[0]
    if len(reading) > 1 or n.op is not loop_op or x in (*n.inputs, *n.regions[0].results):
        return None
    found = groups(loop.attrs["outs"], loop.outputs, loop.regions[0].results)
    values = {v for o, _, vs, _ in found if o == out for v in vs}
    rows = [o for o, vs, _, _ in groups(n.attrs["outs"], n.outputs, n.regions[0].results) if not values.isdisjoint(vs)]
    return (n, rows[0]) if len(values) == len(rows) == 1 and rows[0].kind == "store" and not rows[0].extra else None


def _without_dead(nodes: list[Node], results: Sequence[Value]) -> list[Node]:
    """Drop constants and empties that nothing reads any more."""
    return live(nodes, results, lambda n: n.op.fills)
