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
    begun: dict[Value, Node | None] = {}  # with what a chain of additions begins, each of which is read by the next one only
    for n in graph.nodes:
        if n.op is not update_add or not n.deriv:
            continue
        x = n.inputs[0]
        out = begun[n.out] = (begun[x] if x in begun else known.get(x)) if count[x] == 1 else None
        if out is None or not _takes_out(out, n, zeros) or out.out in env:
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


def _takes_out(out: Node, add: Node, zeros: frozenset[Value]) -> bool:
    """Is it the store of zero to the place that is added to?"""
    return (
        out.op is update
        and out.deriv
        and "g" not in add.attrs["spec"]
        and out.inputs[2:] == add.inputs[2:]
        and out.attrs["spec"] == add.attrs["spec"]
        and out.inputs[1] in zeros
    )


def _read_there(add: Node, out: Node, known: dict[Value, Node]) -> bool:
    """Is what is added the element that was there before it was set to zero?"""
    read = known.get(add.inputs[1])
    if read is None or read.op is not index or read.attrs["spec"] != out.attrs["spec"]:
        return False
    return read.inputs[0] is out.inputs[0] and read.inputs[1:] == out.inputs[2:]
