"""Chains of stores into slices of one array, turned round: each element gathers what is stored to it.

The adjoint of a stencil adds one shifted array per neighbour: five passes over memory for a five-point stencil. If it is cut
along the bounds of the slices, the array falls into rectangles, and in each of them the same stores act; each rectangle is then
written once, with the stores applied in their order, so every element has the bits it had before.

What such stores leave of an array that must stay as it is, or of a constant (`dy = x.copy(); dy[1:] *= y[:-1]` in a loop), is written
piece by piece too: the array is not copied, or filled, whole. And of a cotangent that a store cleared but for its borders only those are
added to another.

Extents may be known at run time only, if what checks at the beginning of the function say of them is enough to put the bounds of the
slices in order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from irad.core.affine import LINEAR, symbols
from irad.core.ir import Builder, Graph, Node, Program, Value, defs, map_regions, uses, walk
from irad.core.once import import_later
from irad.core.types import Dim, Type, elements
from irad.ops.array import STORES, Slice, dim_value, index, update, update_add
from irad.ops.constant import const, empty
from irad.ops.elementwise import add, cast
from irad.ops.regions import is_loop
from irad.passes.analyses.facts import Facts
from irad.passes.clean.unscatter_sweep import unscatter_sweeps
from irad.passes.rewrite import give_last, splat_of

MAX_RECTANGLES = 40
MIN_SIZE = 128  # elements of the array: below this the passes cost nothing
UNKNOWN = 1 << 20  # what an extent that is known at run time only counts
LARGE = 512  # elements: a smaller array is copied or filled in no time

NOTHING: Mapping[Value, Node | None] = {}
Box = tuple[tuple[Dim, Dim], ...]  # (start, end) per axis


def unscatter(program: Program) -> Program:
    """The program with every such chain as one store per rectangle; and sweeps turned round (irad.passes.clean.unscatter_sweep), and
    without detours (irad.passes.clean.detours)."""
    return {name: _function(_without_detours(g)) for name, g in unscatter_sweeps(program).items()}


def _without_detours(graph: Graph) -> Graph:
    """Few programs add to what is in an array."""
    if not any(n.op is update_add and n.deriv for n in walk(graph)):
        return graph
    return import_later("irad.passes.clean.detours").without_detours(graph)


def _function(graph: Graph) -> Graph:
    known = _Known(graph)
    graph = _graph(graph, known)
    at = next((k for k, n in enumerate(graph.nodes) if n.regions or any(v.type.shape for v in n.outputs)), len(graph.nodes))
    return graph.replace(nodes=[*graph.nodes[:at], *known.nodes, *graph.nodes[at:]]) if known.nodes else graph


class _Known:
    """What is known of integers from the checks at the beginning of a function, and positions that are the same all over it, which are
    computed there."""

    def __init__(self, graph: Graph):
        facts = Facts(graph)
        facts.checked_first(graph)
        self.bounds, self.params = facts.bounds, set(graph.params)
        self.nodes: list[Node] = []
        self.made: dict[Dim, Value] = {}

    def position(self, d: Dim) -> Value:
        if d not in self.made:
            if not all(s in self.params for s in symbols(d)):
                return dim_value(d)
            with Builder() as b:
                self.made[d] = dim_value(d)
            self.nodes += b.nodes
        return self.made[d]

    def starts(self, piece: Box) -> list[Value]:
        """The operands for starts that are known at run time only."""
        return [self.position(p) for p, _ in piece if not isinstance(p, int)]


def _graph(graph: Graph, known: _Known, around: Mapping[Value, Node | None] = NOTHING) -> Graph:
    """`around`: the values from around the innermost loop that the graph is in, and what makes them."""
    graph = _borders_added(graph, known, around)
    nodes: list[Node] = []
    count, made = uses(graph), defs(graph)
    chains = _chains(graph, known, count, made, around)
    inside = {n for chain in chains.values() for n in chain}
    for n in graph.nodes:
        if n in chains:
            nodes += _gathered(chains[n], known, {**around, **made}, _kept(chains[n], made, around))
        elif n not in inside and n.regions:
            here = {**around, **dict.fromkeys(graph.params), **made} if is_loop(n) else around
            nodes.append(map_regions(n, partial(_graph, known=known, around=here)))
        elif n not in inside:
            nodes.append(n)
    return graph.replace(nodes=nodes)


def _kept(chain: Sequence[Node], made: dict[Value, Node], around: Mapping[Value, Node | None]) -> bool:
    """Is the first store into a constant, or an array from around the loop? They stay as they are, so the stores happen in a copy."""
    base = chain[0].inputs[0]
    return _may_hold(base.type, LARGE) and (base in around or splat_of(made.get(base)) is not None)


def _may_hold(t: Type, size: int) -> bool:
    """Has an array so many elements, as far as is known?"""
    return not t.static or t.size >= size


def _borders_added(graph: Graph, known: _Known, around: Mapping[Value, Node | None]) -> Graph:
    """`a + (c with zeros stored into its middle)` as `a` with the borders of `c` added to it."""
    count, made = uses(graph), defs(graph)
    nodes: list[Node] = []
    gone = set[Node]()
    for n in graph.nodes:
        store = _cleared(n, graph, count, made, around)
        pieces = _rectangles([store], known, whole=True) if store is not None else None
        if store is None or pieces is None:
            nodes.append(n)
            continue
        a = next(v for v in n.inputs if v is not store.out)
        with Builder(n.loc, deriv=True) as b:
            for piece, _ in pieces:
                if piece != _box(store):
                    a = update_add(a, _sliced(store.inputs[0], piece, known, {}), *known.starts(piece), spec=_spec(piece))
        give_last(b.nodes, n.outputs)
        nodes += b.nodes
        gone.add(store)
    return graph.replace(nodes=[n for n in nodes if n not in gone]) if gone else graph


def _cleared(
    n: Node, graph: Graph, count: dict[Value, int], made: dict[Value, Node], around: Mapping[Value, Node | None]
) -> Node | None:
    """The store of zeros that only this sum reads, where its other operand is read by nothing else either."""
    if n.op is not add or not n.deriv or not n.out.type.shape or not _may_hold(n.out.type, LARGE):
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
    if n.op not in STORES or len(n.inputs) != 2 or 0 in n.inputs[1].type.shape:
        return None
    if not all(isinstance(s, Slice) and s.step == 1 and s.start is not None for s in n.attrs["spec"]):
        return None
    return tuple((s.start, s.start + s.size) for s in n.attrs["spec"])


def _chains(
    graph: Graph, known: _Known, count: dict[Value, int], made: dict[Value, Node], around: Mapping[Value, Node | None]
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
            and _may_hold(chain[0].out.type, MIN_SIZE)
            and (pieces := _rectangles(chain, known)) is not None
            and len(pieces) <= MAX_RECTANGLES
        ):
            out[chain[-1]] = chain
    return out


def _rectangles(chain: Sequence[Node], known: _Known, whole: bool = False) -> list[tuple[Box, list[Node]]] | None:
    """The pieces of the array, with the stores that act on each. `whole`: those without any too, as few as there may be. None if the
    order of the bounds is not known."""
    boxes, t = [_box(n) for n in chain], chain[0].out.type
    cuts: list[list[Dim]] = []
    for k, n in enumerate(t.shape):
        found = _in_order({x for b in boxes if b for x in b[k]} | ({0, n} if whole else set()), known)
        if found is None:
            return None
        cuts.append(found)
    place = [{x: j for j, x in enumerate(c)} for c in cuts]
    within = lambda piece, box: all(at[lo] <= at[p] and at[q] <= at[hi] for at, (p, q), (lo, hi) in zip(place, piece, box))
    out = []
    for piece in itertools.product(*(zip(c, c[1:]) for c in cuts)):
        acting = [n for n, b in zip(chain, boxes) if b and within(piece, b)]
        if acting or whole:
            out.append((piece, acting))
    return _merged(out, t.rank) if whole else out


def _in_order(found: Iterable[Dim], known: _Known) -> list[Dim] | None:
    """Integers in ascending order; None if that is not known of two of them."""
    out: list[Dim] = []
    for x in found:
        at = 0
        for y in out:
            lo, hi = known.bounds(x - y)
            if lo > 0:
                at += 1
            elif hi >= 0:
                return None
        out.insert(at, x)
    return out


def _merged(pieces: list[tuple[Box, list[Node]]], rank: int) -> list[tuple[Box, list[Node]]]:
    """Neighbours that the same stores act on are one piece, along the last axis first."""
    for k in reversed(range(rank)):
        out = dict[Any, tuple[Box, list[Node]]]()
        for piece, acting in pieces:
            rest, (lo, hi) = piece[:k] + piece[k + 1 :], piece[k]
            before = out.pop((rest, lo, tuple(acting)), None)
            start = before[0][k][0] if before else lo
            out[rest, hi, tuple(acting)] = ((*piece[:k], (start, hi), *piece[k + 1 :]), acting)
        pieces = list(out.values())
    return pieces


def _gathered(chain: list[Node], known: _Known, made: Mapping[Value, Node | None], kept: bool) -> list[Node]:
    """The rectangles. `kept`: in new memory, with what no store acts on."""
    base, last = chain[0].inputs[0], chain[-1]
    nothing = kept and last.deriv and splat_of(made.get(base)) == 0
    pieces = _rectangles(chain, known, kept)
    if pieces is None:  # where only what the stores leave is at places that are not known
        return chain
    with Builder(last.loc, deriv=last.deriv) as b:
        y = empty(type=base.type) if kept else base
        for piece, acting in sorted(pieces, key=lambda r: -elements((q - p for p, q in r[0]), UNKNOWN)):
            value = None if acting else _sliced(base, piece, known, made)
            for n in acting:
                box = _box(n)
                assert box is not None
                units = [isinstance(s, int | str) for s in _spec(piece)]
                inner = tuple((p - lo, q - lo) for (p, q), (lo, _) in zip(piece, box))
                part = _sliced(n.inputs[1], inner, known, made, units)
                if n.op is update or value is None and nothing:
                    value = part
                else:
                    value = (_sliced(base, piece, known, {}) if value is None else value) + part
            assert value is not None
            y = update(y, value, *known.starts(piece), spec=_spec(piece))
    give_last(b.nodes, last.outputs)
    return b.nodes


def _spec(piece: Box, units: Sequence[bool] | None = None) -> tuple[int | str | Slice, ...]:
    """What a piece is of an array. Of one that starts at a place known at run time only the axes of one element go (`units`, if it
    is not the piece itself that says so)."""
    if units is None:
        apart = any(not isinstance(p, int) for p, _ in piece)
        units = [apart and q - p == 1 for p, q in piece]
    place = lambda p: p if isinstance(p, int) else None
    return tuple((p if isinstance(p, int) else "i") if unit else Slice(place(p), q - p) for (p, q), unit in zip(piece, units))


def _whole(node: Node) -> Value | None:
    """What a node is a part of, if it is one from known places on."""
    plain = node.op is index and all(isinstance(s, Slice) and s.step == 1 and s.start is not None for s in node.attrs["spec"])
    return node.inputs[0] if plain else None


def _sliced(
    v: Value, piece: Box, known: _Known, made: Mapping[Value, Node | None], units: Sequence[bool] | None = None, depth: int = 3
) -> Value:
    """v[piece]; a cheap operation with a constant is done on the slice. `units`: see `_spec`."""
    spec = _spec(piece, units)
    shape = tuple(q - p for s, (p, q) in zip(spec, piece) if isinstance(s, Slice))
    node = made.get(v)
    if node is not None and splat_of(node) is not None:
        return const(value=node.attrs["value"], type=v.type.with_shape(shape))
    if node is not None and depth and (node.op.name in LINEAR or node.op is cast):  # cheaper than to store it whole
        others = [x for x in node.inputs if splat_of(made.get(x)) is None]
        if len(others) <= 1:
            return node.op(*(_sliced(x, piece, known, made, units, depth - 1) for x in node.inputs), **node.attrs)
    if shape == v.type.shape:
        return v
    if node is not None and known.starts(piece) and (base := _whole(node)) is not None:
        shifted = tuple((p + s.start, q + s.start) for (p, q), s in zip(piece, node.attrs["spec"]))
        return _sliced(base, shifted, known, made, [not isinstance(s, Slice) for s in spec], depth)
    return index(v, *known.starts(piece), spec=spec)
