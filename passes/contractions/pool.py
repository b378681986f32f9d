"""Pooling: maxima over a few elements, and scatters with one place per row (the adjoint of a maximum), made elementwise.

A maximum over a handful of elements, as in `x.reshape(b, c, h, 2, w, 2).max((3, 5))`, has too short an axis for lanes; taken as a
chain of operations on its slices, the lanes run along the rows.

Where the positions along some axes are the row's own number, no two elements meet; each element can then tell whether it is the
one written to, `x + select(position == its own, v, 0)`, which is elementwise and fuses with what comes before and after.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import reduce
from math import prod

from irad.core.ir import Builder, Graph, Node, Value, defs
from irad.core.types import Type, is_float
from irad.ops.array import Slice, argmax, argmin, broadcast, index, iota, max_, min_
from irad.ops.constant import const
from irad.ops.core import OPS
from irad.ops.elementwise import eq, gt, isnan, lt, select
from irad.passes.rewrite import give_last, splat_of

FEW = 8  # elements that a maximum is taken over
MANY = 64  # results


def pooling_elementwise(graph: Graph) -> Graph:
    """The graph with maxima over a few elements, and scatters of one element per row, as elementwise operations."""
    return scatters_as_selects(_small_maxima(graph))


def _small_maxima(graph: Graph) -> Graph:
    made = defs(graph)
    nodes: list[Node] = []
    for n in graph.nodes:
        slices = _slices(n, made)
        if slices is None:
            nodes.append(n)
            continue
        with Builder(n.loc, deriv=n.deriv) as b:
            parts = [s() for s in slices]
            if n.op in (argmax, argmin):
                _position_of_best(parts, gt if n.op is argmax else lt)
            else:
                reduce(OPS[n.op.fold], parts)
        give_last(b.nodes, n.outputs)
        nodes += b.nodes
    return graph.replace(nodes=nodes)


def _slices(n: Node, made: dict[Value, Node]) -> list[Callable[[], Value]] | None:
    """The elements that a maximum is taken over, in order, as slices of the shape of its result; None if not a few."""
    if n.op not in (max_, min_, argmax, argmin) or not n.inputs[0].type.static or not n.out.type.shape:
        return None
    (x,) = n.inputs
    axes = n.attrs["axes"] if "axes" in n.attrs else (n.attrs["axis"],)
    extents = [int(x.type.shape[k]) for k in axes]  # type: ignore[arg-type]
    if not 1 < prod(extents) <= FEW or n.out.type.size < MANY or not is_float(x.type.dtype):
        return None
    whole = _before_merging(x, axes, made)
    if whole is not None:
        x, extents = whole
        axes = tuple(range(x.type.rank - len(extents), x.type.rank))

    def part(at: Sequence[int]) -> Callable[[], Value]:
        where = dict(zip(axes, at))
        spec = tuple(where.get(k, Slice(0, d)) for k, d in enumerate(x.type.shape))
        return lambda: index(x, spec=spec)

    return [part(at) for at in itertools.product(*map(range, extents))]


def _before_merging(x: Value, axes: Sequence[int], made: dict[Value, Node]) -> tuple[Value, list[int]] | None:
    """If x's last axis is the only one reduced and a reshape has merged it: the array before, and its last extents."""
    d = made.get(x)
    if tuple(axes) != (x.type.rank - 1,) or d is None or d.op.name != "reshape":
        return None
    y, kept = d.inputs[0], x.type.rank - 1
    return (y, [int(e) for e in y.type.shape[kept:]]) if y.type.shape[:kept] == x.type.shape[:kept] else None  # type: ignore[arg-type]


def _position_of_best(parts: Sequence[Value], beats: Callable[[Value, Value], Value]) -> None:
    """As argmax: NaN beats all, the first of equals wins."""
    best, where = parts[0], const(value=0, type=parts[0].type.with_dtype("i64"))
    for k, x in enumerate(parts[1:], 1):
        better = beats(x, best) | isnan(x) & ~isnan(best)
        best = best if k == len(parts) - 1 else select(better, x, best)
        where = select(better, k, where)


def scatters_as_selects(graph: Graph) -> Graph:
    """The graph with such `update_add` nodes as selects."""
    made = defs(graph)
    rows = {n: found for n in graph.nodes if (found := _rows(n, made)) is not None}
    return graph.replace(nodes=[m for n in graph.nodes for m in (_selected(n, rows[n], made) if n in rows else [n])])


def _rows(n: Node, made: dict[Value, Node]) -> dict[int, int] | None:
    """Axis of the array -> axis of the scattered value whose number it is; None if that does not tell all elements apart."""
    if n.op.name != "update_add" or any(s != "g" for s in n.attrs["spec"]) or not n.out.type.static:
        return None
    v, at = n.inputs[1], n.inputs[2:]
    rows: dict[int, int] = {}
    for axis, g in enumerate(at):
        d = made.get(g)
        if d is not None and d.op.name == "iota" and d.attrs["axis"] not in rows.values():
            rows[axis] = d.attrs["axis"]
    whole = all(n.out.type.shape[a] == v.type.shape[k] for a, k in rows.items())
    in_order = list(rows.values()) == sorted(rows.values())
    return rows if whole and in_order and len(rows) == v.type.rank and len(rows) < len(at) else None


def _selected(n: Node, rows: dict[int, int], made: dict[Value, Node]) -> list[Node]:
    x, v, *at = n.inputs
    shape = n.out.type.shape
    dims = tuple(sorted(rows, key=rows.__getitem__))
    with Builder(n.loc, deriv=n.deriv) as b:
        here: Value | None = None
        for axis, g in enumerate(at):
            if axis not in rows:
                same = eq(broadcast(g, shape=shape, dims=dims), iota(type=Type("i64", shape), axis=axis))
                here = same if here is None else here & same
        assert here is not None
        spread = broadcast(v, shape=shape, dims=dims)
        if splat_of(made.get(x)) == 0:
            select(here, spread, const(value=0.0, type=n.out.type))
        else:
            select(here, x + spread, x)
    give_last(b.nodes, n.outputs)
    return b.nodes
