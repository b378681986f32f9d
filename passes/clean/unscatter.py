"""Chains of stores into slices of one array, turned round: each element gathers what is stored to it.

The adjoint of a stencil adds one shifted array per neighbour: five passes over memory for a five-point stencil. If it is cut along
the bounds of the slices, the array falls into rectangles, and in each of them the same stores act; each rectangle is then written once, with
the stores applied in their order, so every element has the bits it had before.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from irad.core.ir import Builder, Graph, Node, Program, Value, map_regions, uses
from irad.ops.array import STORES, Slice, index, update
from irad.ops.constant import const
from irad.passes.clean.unscatter_sweep import unscatter_sweeps
from irad.passes.rewrite import give_last, splat_of

MAX_RECTANGLES = 40
MIN_SIZE = 128  # elements of the array: below this the passes cost nothing
PUSHED = ("mul", "neg", "add", "sub", "cast")  # computed again per rectangle instead of being stored whole

Box = tuple[tuple[int, int], ...]  # (start, end) per axis


def unscatter(program: Program) -> Program:
    """The program with every such chain as one store per rectangle; and sweeps turned round (irad.passes.clean.unscatter_sweep)."""
    return {name: _graph(g) for name, g in unscatter_sweeps(program).items()}


def _graph(graph: Graph) -> Graph:
    nodes: list[Node] = []
    count, defs = uses(graph), {v: n for n in graph.nodes for v in n.outputs}
    chains = _chains(graph, count)
    inside = {n for chain in chains.values() for n in chain}
    for n in graph.nodes:
        if n in chains:
            nodes += _gathered(chains[n], defs)
        elif n not in inside:
            nodes.append(map_regions(n, _graph))
    return graph.replace(nodes=nodes)


def _box(n: Node) -> Box | None:
    """The rectangle that a store node writes, if it is one with unit steps and elements in it."""
    if n.op not in STORES or not n.out.type.static or len(n.inputs) != 2 or 0 in n.inputs[1].type.shape:
        return None
    if not all(isinstance(s, Slice) and s.step == 1 and s.start is not None and isinstance(s.size, int) for s in n.attrs["spec"]):
        return None
    return tuple((s.start, s.start + s.size) for s in n.attrs["spec"])


def _chains(graph: Graph, count: dict[Value, int]) -> dict[Node, list[Node]]:
    """Maximal chains of such nodes, each feeding only the next: by their last node."""
    by_base: dict[Value, Node] = {}
    for n in graph.nodes:
        if _box(n) is not None:
            by_base.setdefault(n.inputs[0], n)
    starts = [n for n in by_base.values()]
    out: dict[Node, list[Node]] = {}
    taken: set[Node] = set()
    for n in starts:
        if n in taken:
            continue
        chain = [n]
        while (v := chain[-1].out) in by_base and count.get(v) == 1:
            chain.append(by_base[v])
        taken.update(chain)
        if len(chain) > 1 and chain[0].out.type.size >= MIN_SIZE and len(_rectangles(chain)) <= MAX_RECTANGLES:
            out[chain[-1]] = chain
    return out


def _rectangles(chain: Sequence[Node]) -> list[tuple[Box, list[Node]]]:
    """The pieces of the array, with the stores that act on each."""
    boxes = [_box(n) for n in chain]
    cuts = [sorted({x for b in boxes if b for x in b[k]}) for k in range(chain[0].out.type.rank)]
    out = []
    for piece in itertools.product(*(zip(c, c[1:]) for c in cuts)):
        acting = [n for n, b in zip(chain, boxes) if b and all(lo <= p and q <= hi for (p, q), (lo, hi) in zip(piece, b))]
        if acting:
            out.append((piece, acting))
    return out


def _gathered(chain: list[Node], defs: dict[Value, Node]) -> list[Node]:
    base, last = chain[0].inputs[0], chain[-1]
    with Builder(last.loc, deriv=last.deriv) as b:
        y = base
        for piece, acting in sorted(_rectangles(chain), key=lambda r: -_area(r[0])):
            value: Value | None = None
            for n in acting:
                box = _box(n)
                assert box is not None
                part = _sliced(n.inputs[1], tuple((p - lo, q - lo) for (p, q), (lo, _) in zip(piece, box)), defs)
                if n.op.name == "update":
                    value = part
                else:
                    value = (_sliced(base, piece, {}) if value is None else value) + part
            assert value is not None
            y = update(y, value, spec=tuple(Slice(p, q - p) for p, q in piece))
    give_last(b.nodes, last.outputs)
    return b.nodes


def _area(piece: Box) -> int:
    size = 1
    for p, q in piece:
        size *= q - p
    return size


def _sliced(v: Value, piece: Box, defs: dict[Value, Node], depth: int = 3) -> Value:
    """v[piece]; a cheap operation with a constant is done on the slice."""
    shape = tuple(q - p for p, q in piece)
    node = defs.get(v)
    if node is not None and splat_of(node) is not None:
        return const(value=node.attrs["value"], type=v.type.with_shape(shape))
    if node is not None and depth and node.op.name in PUSHED:
        others = [x for x in node.inputs if splat_of(defs.get(x)) is None]
        if len(others) <= 1:
            return node.op(*(_sliced(x, piece, defs, depth - 1) for x in node.inputs), **node.attrs)
    if shape == v.type.shape:
        return v
    return index(v, spec=tuple(Slice(p, q - p) for p, q in piece))
