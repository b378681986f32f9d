"""What a backward needs of its forward: recompute or save?

A cheap value is recomputed from its *roots*, the values that cannot be recomputed (parameters, results of costly ops),
if saving the roots takes no more memory than saving the value. This is a greedy minimum cut: linear, and exact where
cheap values have one root, as most have. What an array still holds at the end is read from there (`remembered`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod

from irad.core.ir import Graph, Node, Value, reads
from irad.core.types import TAPE, is_float
from irad.ops.array import Spec, index
from irad.ops.constant import const

Roots = frozenset[Value]
Last = Callable[[Value, Sequence[Value], Spec], Value | None]  # (array, operands, spec) -> a version that lasts
SLACK = 8 / 9  # of the roots' memory: a whole array is copied faster than a part of it is stored beside other results
LEAST = 512  # bytes of an array
_MANY = 3  # a cheap value with more roots than this counts as a root itself
_UNKNOWN_EXTENT = 1024  # what a run-time extent counts


def bytes_of(v: Value) -> int:
    """Memory of a value; a run-time extent counts as a large number, a tape as more than anything."""
    if v.type == TAPE:
        return 1 << 60
    return v.type.numpy.itemsize * prod(d if isinstance(d, int) else _UNKNOWN_EXTENT for d in v.type.shape)


def in_lanes(v: Value) -> bool:
    """Is it an array of real floats that is computed in vectors? Not one so small that its elements may be numbers in registers."""
    return is_float(v.type.dtype) and bytes_of(v) >= LEAST


def nearly_whole(node: Node) -> bool:
    """Is it a slice of almost all of an array, of known extents? Then that array is saved instead, once for all its slices."""
    x, y = node.inputs[0], node.outputs[0]
    return len(node.inputs) == 1 and x.type.static and y.type.static and bytes_of(y) >= SLACK * bytes_of(x)


def choose(
    graph: Graph, needed: Iterable[Value], free: Callable[[Value], bool], cheap: Callable[[Node], bool]
) -> tuple[list[Value], list[Node]]:
    """(values of `graph` to save, its nodes to run again, in order) such that every value in `needed` can be had.

    `free(v)`: v need not be saved (it comes from an outer scope); `cheap(node)`: the node may run again.
    """
    needed = list(needed)
    roots = _roots(graph, free, cheap)
    saved: dict[Value, None] = {}
    for v in needed:
        new = roots.get(v, frozenset([v])) - saved.keys()
        better = SLACK * sum(map(bytes_of, new)) <= bytes_of(v)
        saved.update(dict.fromkeys(sorted(new, key=lambda u: u.id) if better else [v]))
    for v in list(saved):  # the roots of v were saved after it
        r = roots.get(v, frozenset([v]))
        if v not in r and r <= saved.keys() - {v}:
            del saved[v]
    for v in list(saved):  # the extents of what is saved stand before it
        saved.update(dict.fromkeys(s for s in v.type.symbols if not free(s)))
    return list(saved), _again(graph, needed, saved, free)


def _roots(graph: Graph, free: Callable[[Value], bool], cheap: Callable[[Node], bool]) -> dict[Value, Roots]:
    roots: dict[Value, Roots] = {}
    for node in graph.nodes:
        if cheap(node):
            r = frozenset().union(*(roots.get(u, frozenset([u])) for u in reads(node) if not free(u)))
            if len(r) <= _MANY:
                roots.update((v, r) for v in node.outputs)
    return roots


def _again(graph: Graph, needed: Iterable[Value], saved: dict[Value, None], free: Callable[[Value], bool]) -> list[Node]:
    want = {v for v in needed if v not in saved and not free(v)}
    nodes = []
    for node in reversed(graph.nodes):
        if want and any(v in want for v in node.outputs):
            nodes.append(node)
            want.update(u for u in reads(node) if u not in saved and not free(u))
    return nodes[::-1]


def remembered(
    graph: Graph, needed: Iterable[Value], free: Callable[[Value], bool], cheap: Callable[[Node], bool], last: Last
) -> Graph:
    """`graph` for `choose`: where something needed was read from or stored into an array, it is read from a version that lasts.

    `free`, `cheap`: as those of `choose`.
    """
    stores = {n.inputs[1]: n for n in graph.nodes if n.op.name == "update"}
    early = _positions(graph, free)
    want, new = set(needed), {}
    for node in reversed(graph.nodes):
        if not any(v in want for v in node.outputs):
            continue
        read = _read(node, stores, early, last) if not (cheap(node) and node.op is index) else None
        if read is not None:
            new[node] = read
        if read is not None or cheap(node):
            want.update(reads(read or node))
    if not new:
        return graph
    first = [n for n in graph.nodes if n in early]
    return Graph(graph.params, (*first, *(new.get(n, n) for n in graph.nodes if n not in early)), graph.results)


def _read(node: Node, stores: dict[Value, Node], early: set[Node | Value], last: Last) -> Node | None:
    """A node that reads the output of `node` from memory."""
    if node.op is index:
        x, *at = node.inputs
        spec = node.attrs["spec"]
    elif len(node.outputs) == 1 and node.out in stores and node.op is not const:
        store = stores[node.out]
        x, at, spec = store.out, list(store.inputs[2:]), store.attrs["spec"]
        if not all(v in early for v in at):
            return None
    else:
        return None
    array = last(x, at, spec)
    return None if array is None else node.replace(op=index, inputs=(array, *at), attrs={"spec": spec}, regions=())


def _positions(graph: Graph, free: Callable[[Value], bool]) -> set[Node | Value]:
    """Integer arithmetic that could stand at the start of the graph, as nodes, with all values known there."""
    early: set[Node | Value] = set(graph.params)
    for n in graph.nodes:
        early.update(v for v in n.inputs if free(v))
        integers = (n.op.elementwise or n.op is const) and not n.out.type.shape and not n.out.type.differentiable
        if integers and all(v in early for v in reads(n)):
            early.update((n, n.out))
    return early
