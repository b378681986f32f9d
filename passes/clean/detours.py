"""Elements of a cotangent that are taken out of an array and added again, or become another number by way of zero.

The backward of `a[i] -= v` takes the cotangent of a[i] out of the array and adds it again: both stores are void, whatever other
elements get in between, for sums of a derivative may be taken in any order. What is added right after a zero is stored is stored itself.
"""

from __future__ import annotations

from irad.core.ir import Graph, Node, Value, defs, substitute_node, uses
from irad.ops.array import index, update, update_add
from irad.ops.regions import map_control
from irad.passes.rewrite import lookup, splat_of


def without_detours(graph: Graph, zeros: frozenset[Value] = frozenset()) -> Graph:
    """The graph with fewer stores. `zeros`: constants of surrounding graphs."""
    zeros |= {n.out for n in graph.nodes if (x := splat_of(n)) is not None and x == 0}
    graph = graph.replace(nodes=[map_control(n, lambda r: without_detours(r, zeros)) for n in graph.nodes])
    known, count = defs(graph), uses(graph)
    env: dict[Value, Value] = {}
    stored: dict[Value, Node] = {}
    for n in graph.nodes:
        out = _taken_out(n, known, count, zeros) if n.op is update_add and n.deriv else None
        if out is None or out.out in env:
            continue
        if _read_there(n, out, known):
            env[out.out], env[n.out] = out.inputs[0], n.inputs[0]
        elif out.out is n.inputs[0]:
            env[out.out] = out.inputs[0]
            stored[n.out] = n.replace(op=update)
    if not env:
        return graph
    to = {v: lookup(env, v) for v in env}
    gone = env.keys()
    nodes = [
        substitute_node(stored.get(n.outputs[0], n) if n.outputs else n, to) for n in graph.nodes if gone.isdisjoint(n.outputs)
    ]
    return graph.replace(nodes=nodes, results=[to.get(v, v) for v in graph.results])


def _taken_out(add: Node, known: dict[Value, Node], count: dict[Value, int], zeros: frozenset[Value]) -> Node | None:
    """The store of zero to the same place, if nothing but additions comes in between."""
    if "g" in add.attrs["spec"]:
        return None
    x: Value = add.inputs[0]
    while x in known and count[x] == 1:
        n = known[x]
        if n.op is update and n.deriv and n.inputs[2:] == add.inputs[2:] and n.attrs["spec"] == add.attrs["spec"]:
            return n if n.inputs[1] in zeros else None
        if n.op is not update_add or not n.deriv:
            return None
        x = n.inputs[0]
    return None


def _read_there(add: Node, out: Node, known: dict[Value, Node]) -> bool:
    """Is what is added the element that was there before it was set to zero?"""
    read = known.get(add.inputs[1])
    if read is None or read.op is not index or read.attrs["spec"] != out.attrs["spec"]:
        return False
    return read.inputs[0] is out.inputs[0] and read.inputs[1:] == out.inputs[2:]
