"""Does a fused loop read elements of its own destination that it stores to in another trip? If not, it may run in place.

A history, `U[n+1] = f(U[n])`, reads row n and stores row n+1: nothing is read that the loop writes. A step of an elimination,
`A[i, k:] -= A[i, k] * A[j, k:]`, reads each element before it is written, and row j. Positions are affine in
indices and in what stands outside; a clash is a set of integer points, which irad.core.dependence shows to be empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from irad.core.affine import substitute
from irad.core.dependence import Access, meets, renamed
from irad.core.ir import Graph, Node, Value, values
from irad.core.types import I64, Dim, affine
from irad.ops.loop import Map, beside, load
from irad.passes.analyses.final_values import FinalValues


class LoopStores:
    """Questions about the fused loops of one function."""

    def __init__(self, graph: Graph):
        self._graph = graph

    @cached_property
    def _values(self) -> FinalValues:
        return FinalValues(self._graph)

    def apart(self, node: Node, k: int, x: Value) -> bool:
        """Does the loop read elements of x only that its out k stores to in no other trip? What a trip reads it reads first."""
        (body,) = node.regions
        out, extra = node.attrs["outs"][k], beside(node, k)
        reads = list(self._reads(body, node.attrs["extents"], x, []))
        if x in body.results or out.width > 1 or any(n.op is not load for n, _ in reads):
            return False
        other = {v: Value(I64) for v in values(body)}  # of the trip that stores
        fresh = lambda v: other.get(v, v)
        stored = self._access(out.map, [*body.params, *extra])
        trip = [renamed(e, fresh) for e in self._ranges(body, node.attrs["extents"])]
        ways = [[]] if out.kind != "store" else [[affine(1, {a: s, other[a]: -s})] for a in body.params for s in (1, -1)]

        def never(n: Node, known: list[Dim]) -> bool:
            read = self._access(n.attrs["map"], n.inputs[1:])  # a store of rows names the leading axes alone
            meet = lambda way: meets(read, stored, self._values.domain, fresh, [*known, *trip, *way])
            return not meet([]) or not any(map(meet, ways))

        return all(never(n, known) for n, known in reads)

    def _reads(self, body: Graph, extents: Sequence[Dim], x: Value, known: list[Dim]) -> Iterator[tuple[Node, list[Dim]]]:
        """The nodes that read x, with the ranges of the loops around them: of no others, which may have no trips."""
        known = [*known, *self._ranges(body, extents)]
        for n in body.nodes:
            if x in n.inputs:
                yield n, known
            for r in n.regions:
                yield from self._reads(r, n.attrs["extents"], x, known)

    def _ranges(self, body: Graph, extents: Sequence[Dim]) -> list[Dim]:
        """What is known of a loop's indices, as forms that are <= 0."""
        return [
            e
            for i, d in zip(body.params, extents)
            for e in (affine(0, {i: -1}), affine(1, {i: 1}) - substitute(d, self._values.form))
        ]

    def _access(self, map: Map, operands: Sequence[Value]) -> Access:
        return Access.at(map.at([self._values.form(v) for v in operands]))
