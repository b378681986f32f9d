"""What reverse mode keeps for one region: cotangents by value, and the pair of forward and backward under construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from irad.core.ir import Builder, Graph, Node, Value
from irad.core.types import TAPE
from irad.ops.array import Spec, update_add
from irad.ops.control import push, zero
from irad.passes.derivatives.save_or_recompute import bytes_of

Augment = Callable[[Value], tuple[list[Node], Value]]


class Adjoint(dict[Value, Value]):
    """Value -> its cotangent so far, in the scope of the backward; absent is zero.

    What is scattered into an array without accumulator waits for one: where an old version of an array is read after a
    store made the next, the store hands its accumulator on, and no array of zeros is made and added in each trip.
    """

    def __init__(self, ad: Any, init: Mapping[Value, Value] | None = None):
        super().__init__(init or {})
        self.ad = ad
        self.waiting: dict[Value, list[tuple[Value, Sequence[Value], Spec]]] = {}

    def add(self, v: Value, ct: Value | None) -> None:
        """Add a cotangent; None is zero. Ignored for a value that carries no derivative."""
        if ct is not None and self.ad.active(v):
            self[v] = self[v] + ct if v in self else ct

    def scatter(self, v: Value, ct: Value, at: Sequence[Value], spec: Spec) -> None:
        """Add a cotangent at a place of an array, in place."""
        self.waiting.setdefault(v, []).append((ct, at, spec))
        if v in self:
            self.settle([v])

    def settle(self, values: Iterable[Value]) -> None:
        """Add what waits for the accumulators of some values, which are made if need be."""
        for v in values:
            if v in self.waiting:
                acc = self.pop(v) if v in self else zero(v.type)
                for ct, at, spec in self.waiting.pop(v):
                    acc = update_add(acc, ct, *at, spec=spec)
                self[v] = acc

    def take(self, v: Value) -> Value:
        """Hand the accumulator over, made if need be."""
        self.settle([v])
        return self.pop(v) if v in self else zero(v.type)

    def full(self, v: Value) -> Value:
        """The cotangent as a value, zeros if there is none."""
        self.settle([v])
        return self[v] if v in self else zero(v.type)


class RegionPair:
    """A region with its augmented forward and its backward. `direct`: both are in one scope, nothing is saved."""

    def __init__(self, graph: Graph, direct: bool = False):
        self.graph, self.direct = graph, direct
        self.standins: dict[Value, Value] = {}  # forward value -> backward value
        self.augment: dict[Node, Augment] = {}  # forward node -> what replaces it, given the tape before it
        self.records: list[tuple[int, list[Value]]] = []  # (site, forward values), in the order pushed
        self.trips = 1  # about how often it is run, each time that what surrounds it is
        self.nested = 0  # bytes that the regions in it push, in one run
        self.tape0 = self.tape = Value(TAPE, "tape")  # in the backward: after its own pops; after what it has emitted

    @property
    def taped(self) -> bool:
        return bool(self.records) or self.tape is not self.tape0

    @property
    def saved(self) -> int:
        """Bytes that one run of the forward pushes, about."""
        return self.nested + sum(bytes_of(v) for _, values in self.records for v in values)

    def forward(self, tape: Value) -> tuple[tuple[Node, ...], Value]:
        """The augmented nodes, and the tape after them."""
        nodes: list[Node] = []
        for node in self.graph.nodes:
            if node in self.augment:
                new, tape = self.augment[node](tape)
                nodes += new
            else:
                nodes.append(node)
        with Builder() as b:
            for site, values in self.records:
                tape = push(tape, *values, site=site)
        return (*nodes, *b.nodes), tape
