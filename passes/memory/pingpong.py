"""Double buffering of stencils in loops.

`u[1:-1] += f(u[2:], u[:-2])` reads neighbours that it overwrites, so it cannot run in place. Inside a loop the array gets a
second buffer instead of being copied twice a trip: each trip writes the new state into the other buffer, and the two change
places. What the store leaves alone is equal in both buffers from the start; so each trip must store to the same elements. Runs
after fuse. A new array that takes the place of the old one (`z = np.empty(n); z[0] = a; z[1:] = f(u[1:], u[:-1]); u = z`) is the
same; the plan pass and codegen exchange the buffers by name (`swap` on the loop: pairs of carries).
"""

from __future__ import annotations

from irad.core.affine import symbols
from irad.core.ir import Builder, Graph, Node, Program, Value, captures, extents_in, uses
from irad.ops.array import update
from irad.ops.constant import empty
from irad.ops.loop import Out, beside, load, loop
from irad.ops.regions import Loop, is_loop, map_control
from irad.passes.memory.copies import read_in_place


def pingpong(program: Program) -> Program:
    """The program with a second buffer for each stencil carried through a loop."""
    return {name: _graph(g) for name, g in program.items()}


def _graph(graph: Graph) -> Graph:
    nodes = [map_control(n, _graph) for n in graph.nodes]
    return graph.replace(nodes=[_loop(n) if is_loop(n) else n for n in nodes])


def _loop(node: Node) -> Node:
    for k in range(len(node.outputs)):
        view = Loop(node)
        sites = _stencil(view.body, view.carries[k], view.yields[k])
        if sites:
            node = _doubled(view, k, sites)
    return node


def _stencil(body: Graph, p: Value, result: Value) -> list[tuple[Node, int]]:
    """What stores into carry p, or into new memory, one after another, to make `result`: loops, and which of their outs do, or
    updates of an element.

    Empty if they could run in place, if this is not all that happens to p, or if trips store to different elements.
    """
    if not p.type.shape or body.results.count(result) > 1 or p in body.results:
        return []
    inside = {*body.params, *(v for n in body.nodes for v in n.outputs)}
    stores = lambda n: n.op is loop or n.op is empty or n.op is update and _one_place(n, inside)
    made = {v: n for n in body.nodes if stores(n) for v in n.outputs}
    count = uses(body)
    sites: list[tuple[Node, int]] = []
    v = result
    while v is not p:
        n = made.get(v)
        if n is not None and n.op is empty:
            return sites if count[v] == 1 and _reads_elsewhere(sites, p) else []
        if n is not None and n.op is update and count[v] == 1:
            sites.append((n, 0))
            v = n.inputs[0]
            continue
        if n is None or count[v] > 1 or len(n.inputs) != len(n.attrs["outs"]):
            return []
        if any(v in inside for v in symbols(*extents_in(n))):
            return []
        j = n.outputs.index(v)
        out = n.attrs["outs"][j]
        if out.kind not in ("store", "add") or n.inputs.count(n.inputs[j]) > 1:
            return []
        if out.extra and (out.kind == "add" or not (inside | _bound(n)).isdisjoint(beside(n, j))):
            return []
        sites.append((n, j))
        v = n.inputs[j]
    loops = [(n, j) for n, j in sites if n.op is loop]
    if len(sites) > 1 and any(n.attrs["outs"][j].kind == "add" for n, j in loops):
        return []
    return sites if any(p in captures(n.regions[0]) for n, _ in loops) else []


def _one_place(n: Node, inside: set[Value]) -> bool:
    """Does an update store one element, at the same place in all trips?"""
    return all(isinstance(s, int) or s == "i" for s in n.attrs["spec"]) and inside.isdisjoint(n.inputs[2:])


def _bound(n: Node) -> set[Value]:
    """What is made in the body of a loop."""
    (body,) = n.regions
    return {*body.params, *(v for m in body.nodes for v in m.outputs)}


def _reads_elsewhere(sites: list[tuple[Node, int]], p: Value) -> bool:
    """Does a loop of new memory read p where another trip stores? If not, the new memory may be p's."""
    loops = [(n, n.attrs["outs"][j]) for n, j in sites if n.op is loop]
    return any(p in captures(n.regions[0]) and not read_in_place(n, p, out) for n, out in loops)


def _doubled(view: Loop, k: int, sites: list[tuple[Node, int]]) -> Node:
    """The loop with carry k in two buffers."""
    node, body, p = view.node, view.body, view.carries[k]
    other, out = Value(p.type, p.hint), Value(p.type, p.hint)
    first, j = sites[-1]
    stored = _stores(first, j, p, other)
    nodes = [stored if n is first else n for n in body.nodes]
    regions = [c.replace(params=(*c.params, Value(p.type, p.hint))) for c in view.conds]
    regions.append(Graph((*body.params, other), tuple(nodes), (*body.results, p)))
    swap = (*node.attrs.get("swap", ()), (k, len(node.outputs)))
    inputs = (*node.inputs, view.inits[k])
    return node.replace(inputs=inputs, outputs=(*node.outputs, out), attrs={**node.attrs, "swap": swap}, regions=regions)


def _stores(site: Node, j: int, p: Value, other: Value) -> Node:
    """The fused loop storing the whole new value into the other buffer."""
    if site.op is update:
        return site.replace(inputs=(other, *site.inputs[1:]))
    (body,) = site.regions
    outs = list(site.attrs["outs"])
    results = list(body.results)
    nodes = list(body.nodes)
    if outs[j].kind == "add":
        with Builder(site.loc, deriv=site.deriv) as b:
            old = load(p, *body.params, map=outs[j].map)
            results[j] = old + results[j]
        nodes += b.nodes
        outs[j] = Out("store", outs[j].map)
    inputs = tuple(other if i == j else v for i, v in enumerate(site.inputs))
    region = Graph(body.params, tuple(nodes), tuple(results))
    return site.replace(inputs=inputs, attrs={**site.attrs, "outs": tuple(outs)}, regions=(region,))
