"""Sizes of planned memory."""

from __future__ import annotations

from irad.core.ir import Graph, values

ALIGN = 64


def arena_size(graph: Graph) -> int:
    """Bytes of arena that a planned graph needs: what the plan pass noted, or (read from text) the end of the last place."""
    if "arena" not in graph.memo:
        ends = (int(v.at[1:]) + v.type.size * v.type.numpy.itemsize for v in values(graph) if v.at[:1] == "a")
        graph.memo["arena"] = -(-max(ends, default=0) // ALIGN) * ALIGN
    return graph.memo["arena"]
