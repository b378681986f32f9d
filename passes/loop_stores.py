"""Does a fused loop read elements of its own destination that it stores to in another trip? If not, it may run in place.

A history, `U[n+1] = f(U[n])`, reads row n and stores row n+1: nothing is read that the loop writes. Positions are affine in
indices and in what stands outside; a clash is a set of integer points, which irad.passes.polyhedron shows to be empty.
"""

from __future__ import annotations

from functools import cached_property

from irad.ir import Graph, Node, Value, walk
from irad.ops.loop import load
from irad.passes.final_values import FinalValues
from irad.passes.polyhedron import is_empty
from irad.types import I64, Dim, affine


class LoopStores:
    """Questions about the fused loops of one function."""

    def __init__(self, graph: Graph):
        self._graph = graph

    @cached_property
    def _values(self) -> FinalValues:
        return FinalValues(self._graph)

    def apart(self, node: Node, k: int, x: Value) -> bool:
        """Does the loop read elements of x only that its out k stores to in no trip?"""
        (body,) = node.regions
        out, extra = node.attrs["outs"][k], _extra(node, k)
        inner = {body: node.attrs["extents"]}
        loads = []
        for n in walk(body):
            inner.update((r, n.attrs["extents"]) for r in n.regions)
            if x in n.inputs:
                if n.op is not load:
                    return False
                loads.append(n)
        if x in body.results or out.width > 1:
            return False
        made = {v for r in inner for v in (*r.params, *(o for n in r.nodes for o in n.outputs))}
        ranges: list[Dim] = []
        for r, extents in inner.items():
            for i, d in zip(r.params, extents):
                ranges += [affine(0, {i: -1}), affine(1, {i: 1}) - self._form(d)]
        other = {v: Value(I64) for v in made}  # of the trip that stores
        fresh = lambda e: e if isinstance(e, int) else e.rename(lambda v: other.get(v, v))
        stored = [fresh(self._row(row, [*body.params, *extra])) for row in out.map.rows]
        known = [*ranges, *map(fresh, ranges)]
        return all(self._never([self._row(r, n.inputs[1:]) for r in n.attrs["map"].rows], stored, known) for n in loads)

    def _never(self, read: list[Dim], stored: list[Dim], known: list[Dim]) -> bool:
        """Do the two positions differ whatever the unknowns are? A store of rows names the leading axes alone."""
        zero = [a - b for a, b in zip(read, stored)]
        if any(isinstance(e, int) and e for e in zero):
            return True
        unknowns = {v for e in zero if not isinstance(e, int) for v, _ in e.terms}
        return is_empty(zero, [*known, *(e for v in unknowns for e in self._values.domain(v))])

    def _row(self, row: tuple[int, ...], operands: list[Value] | tuple[Value, ...]) -> Dim:
        e: Dim = row[-1]
        for c, v in zip(row, operands):
            if c:
                e = e + self._values.form(v) * c
        return e

    def _form(self, d: Dim) -> Dim:
        if isinstance(d, int):
            return d
        e: Dim = d.const
        for v, c in d.terms:
            e = e + self._values.form(v) * c
        return e


def _extra(node: Node, k: int) -> tuple[Value, ...]:
    """The positions that the body yields for out k, beside its indices."""
    at = sum(o.width + o.extra for o in node.attrs["outs"][:k])
    out = node.attrs["outs"][k]
    return node.regions[0].results[at + out.width : at + out.width + out.extra]
