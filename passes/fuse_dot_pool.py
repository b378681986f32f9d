"""Scatters with one place per row, turned round: the adjoint of a maximum (max pooling, the row maximum of softmax).

Where the positions along some axes are the row's own number, no two elements meet; whether an element is the one written to can
then be asked of it, `x + select(position == its own, v, 0)`, which is elementwise and fuses with what comes before and after.
"""

from __future__ import annotations

from irad.ir import Builder, Graph, Node, Value, defs
from irad.ops.array import broadcast, iota
from irad.ops.constant import const
from irad.ops.elementwise import add, eq, logical_and, select
from irad.types import Type


def scatters_as_selects(graph: Graph) -> Graph:
    """The graph with such `update_add` nodes as selects."""
    made = defs(graph)
    nodes: list[Node] = []
    for n in graph.nodes:
        rows = _rows(n, made)
        nodes += [n] if rows is None else _selected(n, rows, made)
    return graph.replace(nodes=nodes)


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
                here = same if here is None else logical_and(here, same)
        assert here is not None
        spread = broadcast(v, shape=shape, dims=dims)
        base = made.get(x)
        if base is not None and base.op.name == "const" and not hasattr(base.attrs["value"], "shape") and base.attrs["value"] == 0:
            select(here, spread, const(value=0.0, type=n.out.type))
        else:
            select(here, add(x, spread), x)
    last = b.nodes[-1]
    b.nodes[-1] = Node(last.op, last.inputs, n.outputs, last.attrs, (), n.loc, n.deriv)
    return b.nodes
