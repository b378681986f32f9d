"""Where the life of memory begins, and how places lie in an arena whose accesses are checked.

Places of the arena are used again once what they held is dead. Code that checks its memory (irad.codegen.transform.memory_check) wants
to know where a new life begins: from there on nothing that was in the place may be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from irad.codegen.kernel import form as kf
from irad.core.affine import Integer
from irad.core.ir import Graph, Node, Value, captured, values

GAP = 64  # bytes between places; a multiple of the alignment

Slots = tuple[dict[str, int], dict[tuple[str, str], int], int, list[tuple[int, int]]]


def begun(node: Node, defs: Mapping[Value, Node]) -> list[Value]:
    """The arrays whose memory begins a new life with this node.

    Memory that nothing has written yet (`empty`) begins with the node that first writes to it. What is written over an operand,
    element by element, is no new life.
    """
    name = node.op.name
    if name in ("empty", "reshape"):  # no memory yet, or the operand's
        return []
    fresh = [v for v in node.inputs if v in defs and defs[v].op.name == "empty"]
    made = [] if node.regions else node.outputs  # the nodes inside make their results
    held = {v.at for v in (*node.inputs, *captured(node)) if v not in fresh}
    found = [v for v in (*fresh, *made) if v.type.shape and v.at[:1] in ("a", "r") and v.at not in held]
    return list({v.at: v for v in found}.values())


def slots(graph: Graph) -> Slots:
    """The first byte of each place, the elements of each by place and dtype, the bytes of the whole arena, and its gaps.

    Places keep their order and lie `GAP` further apart than the plan pass laid them out, so what did not overlap does not, and
    before, between and behind all of them is memory that nobody may touch.
    """
    extents: dict[tuple[str, str], int] = {}
    ends: dict[str, int] = {}
    for v in values(graph):
        if v.at[:1] == "a":
            key, size = (v.at, v.type.dtype), v.type.size if v.type.static else kf.ANY
            extents[key] = max(extents.get(key, 0), size)
            ends[v.at] = max(ends.get(v.at, 0), size * v.type.numpy.itemsize)
    order = sorted(ends, key=lambda at: int(at[1:]))
    starts = {at: int(at[1:]) + (k + 1) * GAP for k, at in enumerate(order)}
    total = graph.memo.get("arena", max((int(at[1:]) + n for at, n in ends.items()), default=0))
    arena = -(-total // GAP) * GAP + (len(order) + 1) * GAP
    return starts, extents, arena, _gaps([(starts[at], starts[at] + ends[at]) for at in order], arena)


def least_extents(graph: Graph, size: Callable[[Value], Integer]) -> dict[tuple[str, str], Integer]:
    """Elements that each array in a place of the arena has, by place and dtype; `size` says it of an array, or 0."""
    least: dict[tuple[str, str], Integer] = {}
    for v in values(graph):
        if v.at[:1] == "a":
            key, new = (v.at, v.type.dtype), size(v)
            old = least.get(key, new)
            least[key] = new if old == new else min(old, new) if isinstance(old, int) and isinstance(new, int) else 0
    return least


def _gaps(used: list[tuple[int, int]], end: int) -> list[tuple[int, int]]:
    """What spans in ascending order leave of [0, end)."""
    gaps, at = [], 0
    for start, stop in used:
        if start > at:
            gaps.append((at, start))
        at = max(at, stop)
    return [*gaps, (at, end)] if at < end else gaps
