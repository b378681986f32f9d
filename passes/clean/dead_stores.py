"""Dead stores: a store to the very place of the store before it makes the earlier one void, if nothing reads the array in between.

Where something reads it, the chain stays as it is: without the first store, two versions of the array would be alive at once, and
one of them would have to be copied.
"""

from __future__ import annotations

from irad.core.ir import Graph, Node, Program, Value, uses
from irad.ops.array import update
from irad.ops.regions import map_control


def without_dead_stores(program: Program) -> Program:
    """The program without stores that the next one to the same place makes void."""
    return {name: _graph(g) for name, g in program.items()}


def _graph(graph: Graph) -> Graph:
    stores: dict[Value, Node] = {}
    nodes = []
    for n in graph.nodes:
        if n.op is update:
            n = stores[n.out] = _over_dead(n, stores, uses(graph))
        nodes.append(map_control(n, _graph))
    return graph.replace(nodes=nodes)


def _over_dead(node: Node, stores: dict[Value, Node], count: dict[Value, int]) -> Node:
    """The store, into what the array was before the store that it makes void."""
    x, *rest = node.inputs
    before = stores.get(x)
    if before is None or count[x] > 1 or before.inputs[2:] != node.inputs[2:] or before.attrs["spec"] != node.attrs["spec"]:
        return node
    return node.replace(inputs=(before.inputs[0], *rest))
