"""How much memory an array of run-time extents can need: the largest value of each extent, from range analysis."""

from __future__ import annotations

import math
from collections import Counter

from irad.core.ir import Graph, Node, Program, Value, values, walk
from irad.core.types import I64, Dim, Extent
from irad.errors import NO_BOUND, UnsupportedError
from irad.ops.array import Slice
from irad.ops.loop import groups, load
from irad.passes.analyses.carries import regions
from irad.passes.analyses.facts import Facts, Interval

NONE = 2**31  # from here on it is no bound of memory, as for counts of 32-bit numbers


class Records:
    """Bounds of the whole numbers in tape records, by site and place: a popped array is as long as one that was pushed."""

    def __init__(self, program: Program):
        self.left = Counter(n.attrs["site"] for g in program.values() for n in walk(g) if n.op.name == "push")
        self.bounds: dict[tuple[int, int], Interval] = {}

    def pushed(self, node: Node, facts: Facts) -> None:
        site = node.attrs["site"]
        self.left[site] -= 1
        for k, v in enumerate(node.inputs[1:]):
            if v.type == I64:
                lo, hi = facts.interval(v)
                a, b = self.bounds.get((site, k), (lo, hi))
                self.bounds[site, k] = min(lo, a), max(hi, b)

    def popped(self, node: Node, facts: Facts) -> None:
        site = node.attrs["site"]
        for k, v in enumerate(node.outputs[1:]) if not self.left[site] else ():  # else some push is not seen yet
            if (site, k) in self.bounds:
                facts.bound(v, self.bounds[site, k])


def pops_last(program: Program) -> list[str]:
    """The names of the graphs, those that pop what others push at the end."""
    return sorted(program, key=lambda name: any(n.op.name == "pop" for n in walk(program[name])))


def capacities(graph: Graph, records: Records | None = None) -> dict[Value, int]:
    """For each array of run-time extents, the most elements it can have. `records` learns what the graph pushes; without it, other
    graphs that push what this one pops are not known.

    Raises UnsupportedError, at the line that makes the array, if there is no bound.
    """
    if all(v.type.static for v in values(graph)):
        return {}
    capacity = _Capacity(graph, records or Records({graph.name: graph}))
    capacity.facts.checked_first(graph)
    capacity.graph(graph, None)
    return capacity.sizes


def record_bounds(program: Program) -> dict[tuple[int, int], int]:
    """The greatest whole numbers that tape records hold, by site and place, where they are bounded."""
    records = Records(program)
    for name in pops_last(program):
        try:
            capacities(program[name], records)
        except UnsupportedError:  # the passes say it, if it is still so after them
            pass
    return {at: int(hi) for at, (_, hi) in records.bounds.items() if hi < NONE}


class _Capacity:
    def __init__(self, graph: Graph, records: Records):
        self.facts, self.records = Facts(graph), records
        self.sizes: dict[Value, int] = {}

    def graph(self, graph: Graph, owner: Node | None) -> None:
        self.facts.extents(graph.params)
        self._record(graph.params, owner)
        for node in graph.nodes:
            self.facts.extents(node.outputs)
        for node in graph.nodes:
            if node.op.name in _LEARN:
                _LEARN[node.op.name](self, node)
        for node in graph.nodes:
            if node.regions:
                for r in regions(self.facts, node):
                    self.graph(r, node)
                self.facts.after(node)
            if node.op.name == "push":
                self.records.pushed(node, self.facts)
            elif node.op.name == "pop":
                self.records.popped(node, self.facts)
            self._record(node.outputs, node)

    def _selected(self, node: Node) -> None:
        """A mask selects no more than all of its elements."""
        d, mask = node.attrs["size"], node.inputs[0].type
        if isinstance(d, Extent) and (mask.static or mask.rank == 1):
            self._at_most(d, mask.size if mask.static else mask.shape[0])

    def _sliced(self, node: Node) -> None:
        """A slice is no longer than the axis."""
        for s, d in zip(node.attrs["spec"], node.inputs[0].type.shape):
            if isinstance(s, Slice) and isinstance(s.size, Extent):
                self._at_most(s.size, d)

    def _loop(self, node: Node) -> None:
        """A fused loop that reads or writes an array along one of its axes has no more trips than the array has elements there."""
        (body,) = node.regions
        extent = dict(zip(body.params, node.attrs["extents"]))
        found = [(m.attrs["map"], m.inputs[0], m.inputs[1:]) for m in body.nodes if m.op is load]
        outs = groups(node.attrs["outs"], node.inputs, body.results)
        found += [(o.map, made[0], (*body.params, *places)) for o, made, _, places in outs]
        for at, array, indices in found:
            for row, d in zip(at.rows, array.type.shape):
                along = [(c, v) for c, v in zip(row, indices) if c and v in extent]
                first = row[-1] + sum(
                    c * self.facts.interval(v)[0 if c > 0 else 1] for c, v in zip(row, indices) if c and v not in extent
                )
                if len(along) == 1 and along[0][0] > 0 and first >= 0 and isinstance(e := extent.get(along[0][1]), Extent):
                    self._at_most(e, d)

    def _at_most(self, e: Extent, d: Dim) -> None:
        more = e - d
        self.facts.learn(more.rename(self.facts.resolve) if isinstance(more, Extent) else more)
        if isinstance(d, Extent):
            most = self.facts.bounds(d.rename(self.facts.resolve))[1]
            if most < NONE:
                self._at_most(e, int(most))

    def _record(self, values: tuple[Value, ...], node: Node | None) -> None:
        for v in values:
            if not v.type.static:
                self.sizes[v] = math.prod(self._largest(d, v, node) for d in v.type.shape)

    def _largest(self, d: Dim, v: Value, node: Node | None) -> int:
        if isinstance(d, int):
            return d
        most = self.facts.bounds(d.rename(self.facts.resolve))[1]
        if most >= NONE:
            raise UnsupportedError(
                f"{NO_BOUND} {v.type} is only known at run time and has no bound that could be found; "
                "allocate the largest array first and use a slice of it", node.loc if node else None,
            )  # fmt: skip
        return max(0, int(most))


_LEARN = {
    "nonzero": _Capacity._selected, "index": _Capacity._sliced, "update": _Capacity._sliced, "update_add": _Capacity._sliced,
    "loop": _Capacity._loop,
}  # fmt: skip
