"""Functions of eigenvalues, element by element: their making, read from a graph, and the tables of their slopes that irad.ops.matrix_functions
wants. They are made when they are needed, before each differentiation: each takes the slopes of what the one before has made."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

from irad.core.ir import Builder, Graph, Node, Value, copy, current
from irad.core.types import Type
from irad.ops import elementwise as ew
from irad.ops.array import broadcast, reshape_to
from irad.ops.constant import const
from irad.ops.custom import stop_gradient
from irad.ops.matrix_functions import (
    matrix_function,
    parts,
    spectral_sum,
)
from irad.passes.derivatives import forward
from irad.passes.derivatives.reverse import Differentiation
from irad.passes.rewrite import rebuild, splat_of

Defs = MutableMapping[Value, Node]  # never written to

# ---- how it is made -----------------------------------------------------------------------------------------------------------------


class Chain:
    """How vectors are made of w, element by element, of constants and of scalars. `vectors`: of the type of w, but for its dtype.

    `pieces`: parts of w, put together again in their places, are as good. `hidden`: they are made of something else too. `mixed`: of constants that differ from element to element.
    """

    def __init__(self, defs: Defs, vectors: Sequence[Value], w: Value, pieces: bool = False):
        self.defs, self.w, self.shape, self.pieces = defs, w, w.type.shape, pieces
        self.nodes: list[Node] = []
        self.roots: list[Value] = []  # w, or w as a constant
        self.scalars: dict[Value, Value] = {}  # by the broadcast that spreads it
        self.seen: set[Value] = set()
        self.mixed = False
        self.hidden = not all([self._visit(v) for v in vectors])

    def _visit(self, v: Value) -> bool:
        if v in self.seen:
            return True
        self.seen.add(v)
        n = self.defs.get(v)
        if self._is(v, self.w):
            self.roots.append(v)
            return True
        if n is None:
            return False
        if n.op is const:
            self.mixed = self.mixed or splat_of(n) is None
        elif n.op.name == "broadcast" and self._spreads(n):
            if splat_of(self.defs.get(n.inputs[0])) is None and n.out.type.differentiable:
                self.scalars[v] = n.inputs[0]
                return n.out.type.dtype[0] == "f"
        elif not (
            n.op.elementwise
            or n.op.name in ("reshape", "broadcast")
            and self._moves(n)
            or self.pieces
            and n.op.name in ("index", "concat", "update", "update_add")
            and n.out.type.rank == 1
        ):
            return False
        elif not all([self._visit(x) for x in n.inputs]):
            return False
        self.nodes.append(n)
        return True

    def _is(self, v: Value, other: Value) -> bool:
        n = self.defs.get(v)
        return v is other or n is not None and n.op is stop_gradient and n.inputs[0] is other

    def _spreads(self, n: Node) -> bool:
        """Is it one number for all elements of a vector of the stack?"""
        lead, shape = self.shape[:-1], n.inputs[0].type.shape
        along = tuple(n.attrs["dims"][: len(lead)]) == tuple(range(len(lead)))
        return all(d == 1 for d in shape) or shape[: len(lead)] == lead and along and all(d == 1 for d in shape[len(lead) :])

    def _moves(self, n: Node) -> bool:
        """Are its elements the same, in the same order, with axes of length 1 in other places?"""
        return [d for d in n.out.type.shape if d != 1] == [d for d in n.inputs[0].type.shape if d != 1]

    def spread_scalars(self) -> list[Value]:
        """The scalars that are not constants, one for each vector of a stack."""
        lead = self.shape[:-1]
        ones = [reshape_to(c, () if all(d == 1 for d in c.type.shape) else lead) for c in dict.fromkeys(self.scalars.values())]
        ones = [ew.cast_to(c, self.w.type.dtype) for c in ones]
        return [c if c.type.shape == lead else broadcast(c, shape=lead, dims=()) for c in ones]

    def again(self, vectors: Sequence[Value], w: Value, scalars: Sequence[Value]) -> list[Value]:
        """Emit the vectors again, made of another w and other scalars."""
        env: dict[Value, Value] = dict.fromkeys(self.roots, w)
        new = dict(zip(dict.fromkeys(self.scalars.values()), scalars))
        for v, c in self.scalars.items():
            env[v] = self._spread_out(new[c], v.type)
        graph = copy(Graph((), tuple(self.nodes), tuple(vectors)), env)
        current().nodes += graph.nodes
        return list(graph.results)

    def _spread_out(self, c: Value, t: Type) -> Value:
        return ew.cast_to(broadcast(c, shape=t.shape, dims=tuple(range(len(self.shape) - 1))), t.dtype)


def _slopes(nodes: Sequence[Node], vectors: Sequence[Value], x: Value) -> list[Value]:
    """Emit the derivatives of vectors along ones in x, with what they are made of once more."""
    graph = copy(Graph((), tuple(nodes), tuple(vectors)), {})
    return forward.linearized(Differentiation({}), graph, [x], [ew.full(1.0, x)])


# ---- what the next derivative needs --------------------------------------------------------------------------------------------------


def completed(graph: Graph) -> Graph:
    """The graph in which functions of matrices have the slopes of what they are made of, where that is seen."""
    if not _wanting(graph):
        return graph
    return _completed(graph, {})


def _wanting(graph: Graph) -> bool:
    return any(_wants(n) or any(map(_wanting, n.regions)) for n in graph.nodes)


def _wants(n: Node) -> bool:
    return n.op in (matrix_function, spectral_sum) and not n.attrs["whole"]


def _completed(graph: Graph, defs: dict[Value, Node]) -> Graph:
    nodes: list[Node] = []
    for n in graph.nodes:
        n = rebuild(n, {}, tuple(_completed(r, defs) for r in n.regions))
        with Builder(n.loc, n.deriv) as b:
            if not _wants(n) or not complete(defs, n):
                b.nodes.append(n)
        nodes += b.nodes
        defs.update((v, m) for m in b.nodes for v in m.outputs)
    return graph.replace(nodes=nodes)


def complete(defs: Defs, n: Node) -> bool:
    """Emit the node with all that its derivative needs; False if that is not seen."""
    p = parts(n)
    chain = Chain(defs, p.table, p.of.w, pieces=True)
    sources = [_unfixed(defs, c) for c in dict.fromkeys(chain.scalars.values())]
    if chain.hidden or any(c not in p.of.scalars for c in sources):
        return False
    w, scalars = stop_gradient(p.of.w), {c: stop_gradient(c) for c in p.of.scalars}
    before = len(current().nodes)
    table = chain.again(p.table, w, [scalars[c] for c in sources])
    made = current().nodes[before:]
    table += _slopes(made, table[-1:], w)
    by_scalars = [f for c in scalars.values() for f in _slopes(made, table[:-1], c)]
    first = n.inputs[: len(n.inputs) - len(p.table) - len(p.directions)]
    inputs = (*first, *table, *by_scalars, *p.directions)
    current().nodes.append(Node(n.op, inputs, n.outputs, {**n.attrs, "whole": True}, (), n.loc, n.deriv))
    return True


def _unfixed(defs: Defs, c: Value) -> Value:
    n = defs.get(c)
    return n.inputs[0] if n is not None and n.op is stop_gradient else c
