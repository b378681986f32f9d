"""Elements that a mask selects, and that are only folded or stored where they were, are not gathered.

`x[m].mean()` and `x[m] *= 2` need no array of the selected elements, nor of their positions: each element of `x` takes part where
the mask holds. What is computed of the selected ones is computed of all, and of what is not selected the fold gets its unit and the
array keeps what it had. That pays while it is less work than finding the positions, so only a few cheap operations are done
so; and it is possible where all that is made of the positions is of this kind. A sum of floats is taken in another order.
"""

from __future__ import annotations

from irad.core.ir import Builder, Graph, Node, Program, Value, defs, map_regions, readers
from irad.core.types import Type
from irad.ops.array import STORES, broadcast, index, update_add
from irad.ops.constant import const
from irad.ops.core import OPS
from irad.ops.elementwise import add, select
from irad.ops.loop import neutral
from irad.ops.mask import nonzero
from irad.passes.rewrite import give_last

_GATHER = ("g",)
_MOST = 12.0  # what is computed of an element, in additions: finding and gathering it takes about as long


def unselect(program: Program) -> Program:
    """The program without such gathers. Graphs that have none stay the same."""
    return {name: _graph(g) for name, g in program.items()}


def _graph(graph: Graph) -> Graph:
    graph = graph.replace(nodes=[map_regions(n, _graph) for n in graph.nodes])
    for n in [n for n in graph.nodes if n.op is nonzero and n.inputs[0].type.rank == 1 and n.inputs[0].type.static]:
        graph = _Selection(graph, n).done()
    return graph


class _Selection:
    """What is made of the positions of the elements that one mask selects: `at` has the nodes, and none where it stays as it is."""

    def __init__(self, graph: Graph, node: Node):
        self.graph, self.mask, self.places = graph, node.inputs[0], node.out
        self.defs, self.readers = defs(graph), readers(graph)
        self.full: dict[Value, Value] = {}  # arrays of the selected elements, and of all that stand for them
        self.at = self._users()

    def _users(self) -> set[Node]:
        found: set[Node] = set()
        waiting, made, cost = [self.places], set[Value](), 0.0
        while waiting:
            v = waiting.pop()
            if v in self.graph.results:
                return set()
            for n in self.readers.get(v, ()):
                if n in found:
                    continue
                if not self._fits(n):
                    return set()
                found.add(n)
                if n.out.type.shape == self.places.type.shape:
                    cost += n.op.cost if n.op.elementwise else 0
                    made.add(n.out)
                    waiting.append(n.out)
        of_all = all(v in made or v == self.places or self._spread(v) for n in found for v in self._selected(n))
        return found if of_all and cost <= _MOST else set()

    def _fits(self, n: Node) -> bool:
        """Is the node one of those that can be done with all elements?"""
        whole = lambda v: v.type.shape == self.mask.type.shape
        if n.op is index:
            return n.attrs["spec"] == _GATHER and whole(n.inputs[0]) and n.inputs[1] is self.places
        if n.op in STORES:
            return (
                n.attrs["spec"] == _GATHER
                and whole(n.inputs[0])
                and n.inputs[2] is self.places
                and n.inputs[1] is not self.places
            )
        if self.places in n.inputs or len(n.outputs) != 1:
            return False
        if n.op.fold in OPS and not n.op.elementwise:
            return n.attrs.get("axes") == (0,) and n.out.type.dtype != "bool"
        return n.op.elementwise and not (n.op.divides and n.out.type.dtype[0] in "iu")

    def _selected(self, n: Node) -> tuple[Value, ...]:
        """Its operands that have an element for each one that is selected."""
        return n.inputs[1:] if n.op is index or n.op in STORES else n.inputs

    def _spread(self, v: Value) -> bool:
        """Is it one number for each?"""
        node = self.defs.get(v)
        return node is not None and (node.op is const or node.op is broadcast and not node.inputs[0].type.shape)

    def done(self) -> Graph:
        if not self.at:
            return self.graph
        nodes: list[Node] = []
        for n in self.graph.nodes:
            if n not in self.at:
                nodes.append(n)
                continue
            with Builder(loc=n.loc, deriv=n.deriv) as b:
                out = self._of_all(n)
            if n.out.type.shape == self.places.type.shape:
                self.full[n.out] = out
            else:
                give_last(b.nodes, n.outputs)
            nodes += b.nodes
        return self.graph.replace(nodes=nodes)

    def _of_all(self, n: Node) -> Value:
        if n.op is index:
            return n.inputs[0]
        given = [self._whole(v) for v in self._selected(n) if v is not self.places]
        if n.op.elementwise:
            return n.op(*given, **n.attrs)
        if n.op in STORES:
            old, new = n.inputs[0], given[0]
            return select(self.mask, add(old, new) if n.op is update_add else new, old)
        dtype = given[0].type.dtype
        rest = const(value=neutral(n.op.fold, dtype), type=Type(dtype, self.mask.type.shape))
        return n.op(select(self.mask, given[0], rest), **n.attrs)

    def _whole(self, v: Value) -> Value:
        """The array of all elements that stands for one of the selected ones."""
        if v not in self.full:
            node, shape = self.defs[v], self.mask.type.shape
            if node.op is const:
                return const(value=node.attrs["value"], type=Type(v.type.dtype, shape))
            return broadcast(node.inputs[0], shape=shape, dims=())
        return self.full[v]
