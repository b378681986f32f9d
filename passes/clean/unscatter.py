"""Chains of stores into slices of one array, turned round: each element gathers what is stored to it.

The adjoint of a stencil adds one shifted array per neighbour: five passes over memory for a five-point stencil. If it is cut along
the bounds of the slices, the array falls into rectangles, and in each of them the same stores act; each rectangle is then written once, with
the stores applied in their order, so every element has the bits it had before.

What such stores leave of an array that must stay as it is, or of a constant (`dy = x.copy(); dy[1:] *= y[:-1]` in a loop), is written
piece by piece too: the array is not copied, or filled, whole. And of a cotangent that a store cleared but for its borders only those are
added to another.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial

from irad.core.ir import Builder, Graph, Node, Program, Value, defs, map_regions, uses
from irad.ops.array import STORES, Slice, index, update, update_add
from irad.ops.constant import const, empty
from irad.ops.elementwise import add
from irad.ops.regions import is_loop
from irad.passes.clean.unscatter_sweep import unscatter_sweeps
from irad.passes.rewrite import give_last, splat_of

MAX_RECTANGLES = 40
MIN_SIZE = 128  # elements of the array: below this the passes cost nothing
LARGE = 512  # elements: a smaller array is copied or filled in no time
PUSHED = ("mul", "neg", "add", "sub", "cast")  # computed again per rectangle instead of being stored whole

NOTHING: Mapping[Value, Node | None] = {}
Box = tuple[tuple[int, int], ...]  # (start, end) per axis


def unscatter(program: Program) -> Program:
    """The program with every such chain as one store per rectangle; and sweeps turned round (irad.passes.clean.unscatter_sweep)."""
    return {name: _graph(g) for name, g in unscatter_sweeps(program).items()}


def _graph(graph: Graph, around: Mapping[Value, Node | None] = NOTHING) -> Graph:
    """`around`: the values from around the innermost loop that the graph is in, and what makes them."""
    graph = _borders_added(graph, around)
    nodes: list[Node] = []
    count, made = uses(graph), defs(graph)
    chains = _chains(graph, count, made, around)
    inside = {n for chain in chains.values() for n in chain}
    for n in graph.nodes:
        if n in chains:
            nodes += _gathered(chains[n], {**around, **made}, _kept(chains[n], made, around))
        elif n not in inside and n.regions:
            here = {**around, **dict.fromkeys(graph.params), **made} if is_loop(n) else around
            nodes.append(map_regions(n, partial(_graph, around=here)))
        elif n not in inside:
            nodes.append(n)
    return graph.replace(nodes=nodes)


def _kept(chain: Sequence[Node], made: dict[Value, Node], around: Mapping[Value, Node | None]) -> bool:
    """Is the first store into a constant, or an array from around the loop? They stay as they are, so the stores happen in a copy."""
    base = chain[0].inputs[0]
    return base.type.size >= LARGE and (base in around or splat_of(made.get(base)) is not None)


def _borders_added(graph: Graph, around: Mapping[Value, Node | None]) -> Graph:
    """`a + (c with zeros stored into its middle)` as `a` with the borders of `c` added to it."""
    count, made = uses(graph), defs(graph)
    nodes: list[Node] = []
    gone = set[Node]()
    for n in graph.nodes:
        store = _cleared(n, graph, count, made, around)
        if store is None:
            nodes.append(n)
            continue
        a = next(v for v in n.inputs if v is not store.out)
        with Builder(n.loc, deriv=True) as b:
            for piece, _ in _rectangles([store], whole=True):
                if piece != _box(store):
                    a = update_add(a, _sliced(store.inputs[0], piece, {}), spec=_spec(piece))
        give_last(b.nodes, n.outputs)
        nodes += b.nodes
        gone.add(store)
    return graph.replace(nodes=[n for n in nodes if n not in gone]) if gone else graph


def _cleared(
    n: Node, graph: Graph, count: dict[Value, int], made: dict[Value, Node], around: Mapping[Value, Node | None]
) -> Node | None:
    """The store of zeros that only this sum reads, where its other operand is read by nothing else either."""
    if n.op is not add or not n.deriv or not n.out.type.static or n.out.type.size < LARGE:
        return None
    for v, other in (n.inputs, n.inputs[::-1]):
        store = made.get(v)
        if (
            store is None
            or store.op is not update
            or count[v] != 1
            or _box(store) is None
            or splat_of(around.get(store.inputs[1]) or made.get(store.inputs[1])) != 0
        ):
            continue
        if count[other] == 1 and (other in made or other in graph.params) and splat_of(made.get(other)) is None:
            return store
    return None


def _box(n: Node) -> Box | None:
    """The rectangle that a store node writes, if it is one with unit steps and elements in it."""
    if n.op not in STORES or not n.out.type.static or len(n.inputs) != 2 or 0 in n.inputs[1].type.shape:
        return None
    if not all(isinstance(s, Slice) and s.step == 1 and s.start is not None and isinstance(s.size, int) for s in n.attrs["spec"]):
        return None
    return tuple((s.start, s.start + s.size) for s in n.attrs["spec"])


def _chains(
    graph: Graph, count: dict[Value, int], made: dict[Value, Node], around: Mapping[Value, Node | None]
) -> dict[Node, list[Node]]:
    """Maximal chains of such nodes, each feeding only the next: by their last node. One node is a chain where it saves a copy."""
    stores = [n for n in graph.nodes if _box(n) is not None]
    by_base = {n.inputs[0]: n for n in reversed(stores)}  # of several the first
    out: dict[Node, list[Node]] = {}
    taken: set[Node] = set()
    for n in stores:
        if n in taken:
            continue
        chain = [n]
        while (v := chain[-1].out) in by_base and count.get(v) == 1:
            chain.append(by_base[v])
        taken.update(chain)
        if (
            (len(chain) > 1 or _kept(chain, made, around))
            and chain[0].out.type.size >= MIN_SIZE
            and len(_rectangles(chain)) <= MAX_RECTANGLES
        ):
            out[chain[-1]] = chain
    return out


def _rectangles(chain: Sequence[Node], whole: bool = False) -> list[tuple[Box, list[Node]]]:
    """The pieces of the array, with the stores that act on each. `whole`: those without any too, as few as there may be."""
    boxes, t = [_box(n) for n in chain], chain[0].out.type
    cuts = [sorted({x for b in boxes if b for x in b[k]} | ({0, n} if whole else set())) for k, n in enumerate(t.dims)]
    out = []
    for piece in itertools.product(*(zip(c, c[1:]) for c in cuts)):
        acting = [n for n, b in zip(chain, boxes) if b and all(lo <= p and q <= hi for (p, q), (lo, hi) in zip(piece, b))]
        if acting or whole:
            out.append((piece, acting))
    return _merged(out, t.rank) if whole else out


def _merged(pieces: list[tuple[Box, list[Node]]], rank: int) -> list[tuple[Box, list[Node]]]:
    """Neighbours that the same stores act on are one piece, along the last axis first."""
    for k in reversed(range(rank)):
        out = dict[tuple, tuple[Box, list[Node]]]()
        for piece, acting in pieces:
            rest, (lo, hi) = piece[:k] + piece[k + 1 :], piece[k]
            before = out.pop((rest, lo, tuple(acting)), None)
            start = before[0][k][0] if before else lo
            out[rest, hi, tuple(acting)] = ((*piece[:k], (start, hi), *piece[k + 1 :]), acting)
        pieces = list(out.values())
    return pieces


def _gathered(chain: list[Node], made: Mapping[Value, Node | None], kept: bool) -> list[Node]:
    """The rectangles. `kept`: in new memory, with what no store acts on."""
    base, last = chain[0].inputs[0], chain[-1]
    nothing = kept and last.deriv and splat_of(made.get(base)) == 0
    with Builder(last.loc, deriv=last.deriv) as b:
        y = empty(type=base.type) if kept else base
        for piece, acting in sorted(_rectangles(chain, kept), key=lambda r: -_area(r[0])):
            value = None if acting else _sliced(base, piece, made)
            for n in acting:
                box = _box(n)
                assert box is not None
                part = _sliced(n.inputs[1], tuple((p - lo, q - lo) for (p, q), (lo, _) in zip(piece, box)), made)
                if n.op is update or value is None and nothing:
                    value = part
                else:
                    value = (_sliced(base, piece, {}) if value is None else value) + part
            assert value is not None
            y = update(y, value, spec=_spec(piece))
    give_last(b.nodes, last.outputs)
    return b.nodes


def _spec(piece: Box) -> tuple[Slice, ...]:
    return tuple(Slice(p, q - p) for p, q in piece)


def _area(piece: Box) -> int:
    size = 1
    for p, q in piece:
        size *= q - p
    return size


def _sliced(v: Value, piece: Box, made: Mapping[Value, Node | None], depth: int = 3) -> Value:
    """v[piece]; a cheap operation with a constant is done on the slice."""
    shape = tuple(q - p for p, q in piece)
    node = made.get(v)
    if node is not None and splat_of(node) is not None:
        return const(value=node.attrs["value"], type=v.type.with_shape(shape))
    if node is not None and depth and node.op.name in PUSHED:
        others = [x for x in node.inputs if splat_of(made.get(x)) is None]
        if len(others) <= 1:
            return node.op(*(_sliced(x, piece, made, depth - 1) for x in node.inputs), **node.attrs)
    if shape == v.type.shape:
        return v
    return index(v, spec=_spec(piece))
