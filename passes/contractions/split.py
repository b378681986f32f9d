"""Slices of a contraction's result taken before it is made.

The gates of an LSTM are slices of one product: `i, f, g, o = split(x @ W + b, 4, axis=1)`. Where every reader of a value takes a
slice along one free axis, and no two slices overlap, the slice goes to the operands: four products, each of a part of W. One
register tile makes the same columns of all four, so that the gates meet in registers.
"""

from __future__ import annotations

from collections.abc import Callable

from irad.core.ir import Builder, Graph, Node, Value, defs, emit, readers
from irad.ops.array import Product, Slice, dot, index
from irad.passes.rewrite import give_last, live

Spec = tuple[int | str | Slice, ...]


def split_slices(graph: Graph, wanted: Callable[[Node], bool]) -> Graph:
    """The graph with slices moved before the `wanted` contractions that only slices read."""
    return _Slices(graph, wanted).run()


class _Slices:
    def __init__(self, graph: Graph, wanted: Callable[[Node], bool]):
        self.graph, self.wanted = graph, wanted
        self.defs = defs(graph)
        self.users = readers(graph)
        self.results = set(graph.results)
        self.sliceable: set[Node] = set()
        for n in graph.nodes:
            if self._is_sliceable(n):
                self.sliceable.add(n)

    def run(self) -> Graph:
        slices = {u for n in self.graph.nodes if self._splits(n) for u in self.users[n.out]}
        if not slices:
            return self.graph
        nodes = [m for n in self.graph.nodes for m in (self._pushed(n) if n in slices else [n])]
        return self.graph.replace(nodes=live(nodes, self.results, lambda n: n.op.elementwise or n.op in (dot, index)))

    def _splits(self, n: Node) -> bool:
        """Is the node a sum of contractions that is read by disjoint slices of one axis only?"""
        if len(n.outputs) != 1 or n.out in self.results or n not in self.sliceable:
            return False
        users = self.users.get(n.out, [])
        if len(users) < 2 or any(u.op.name != "index" or u.inputs != (n.out,) for u in users):
            return False
        axes, spans = set(), []
        for u in users:
            for k, (s, d) in enumerate(zip(u.attrs["spec"], n.out.type.shape)):
                if not isinstance(s, Slice) or s.start is None or s.step != 1 or not isinstance(s.size, int):
                    return False
                if (s.start, s.size) != (0, d):
                    axes.add(k)
                    spans.append((s.start, s.start + s.size))
        spans.sort()
        return len(axes) == 1 and len(spans) == len(users) and all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))

    def _is_sliceable(self, n: Node) -> bool:
        """A contraction, or an elementwise node whose operands are that (read once) or views of what is in memory."""
        if n.op.name == "dot":
            return self.wanted(n)
        if not n.op.elementwise:
            return False
        found = False
        for v in n.inputs:
            d = self.defs.get(v)
            if d is not None and len(self.users[v]) == 1 and v not in self.results and d in self.sliceable:
                found = True
            elif d is not None and d.op.elementwise and d.op.name != "cast":
                return False
        return found

    def _pushed(self, n: Node) -> list[Node]:
        """The slice node, computed from slices of what its operand is computed from."""
        with Builder(n.loc, deriv=n.deriv) as b:
            self._sliced(n.inputs[0], n.attrs["spec"])
        give_last(b.nodes, n.outputs)
        return b.nodes

    def _sliced(self, v: Value, spec: Spec) -> Value:
        n = self.defs.get(v)
        if n is not None and n.op.name == "dot" and self.wanted(n):
            return self._sliced_dot(n, spec)
        if n is not None and n in self.sliceable:
            return emit(n.op, *(self._sliced(x, spec) for x in n.inputs), **n.attrs)[0]
        return index(v, spec=spec)

    def _sliced_dot(self, n: Node, spec: Spec) -> Value:
        """The product of slices of the operands."""
        p, shape = Product(n), n.inputs[0].type.shape
        specs = p.spread(spec, [Slice(0, shape[k]) for k in p.contract[0]])
        return dot(*(index(v, spec=s) for v, s in zip(n.inputs, specs)), **n.attrs)
