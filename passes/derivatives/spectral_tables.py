"""Functions of eigenvalues, element by element: how they are made, as read from a graph, and the tables of their slopes that
irad.ops.matrix_functions wants. The tables are made when they are needed, before each differentiation: each takes the slopes of what
the one before has made."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass

from irad.core.ir import Builder, Graph, Node, Value, copy, current, map_regions
from irad.ops import elementwise as ew
from irad.ops.array import Slice, broadcast, reshape_to
from irad.ops.constant import const
from irad.ops.custom import stop_gradient
from irad.ops.matrix_functions import matrix_function, parts, spectral_sum
from irad.passes.derivatives import forward
from irad.passes.derivatives.reverse import Differentiation
from irad.passes.derivatives.rules import RULES
from irad.passes.rewrite import splat_of

Defs = MutableMapping[Value, Node]  # never written to

# ---- how it is made -----------------------------------------------------------------------------------------------------------------


class Chain:
    """How vectors are made of w, element by element, of constants and of scalars. `vectors`: of the type of w, but for its dtype.

    `again`: a table is made a second time. Parts of w that are put together again in their places count as w then, and so are
    stacks in which something is repeated, as `vmap` makes them of what it does not batch. `hidden`: they are made of something
    else too. `mixed`: of constants that differ from element to element.
    """

    def __init__(self, defs: Defs, vectors: Sequence[Value], w: Value, again: bool = False):
        self.defs, self.w, self.shape, self.second = defs, w, w.type.shape, again
        self.core = _core(defs, w, _axes(w), len(self.shape) - 1) if again else Core(w, _axes(w), ())
        self.nodes: list[Node] = []
        self.roots: dict[Value, Core] = {}  # w, or w as a constant, or what w repeats
        self.scalars: dict[Value, Value] = {}  # by the broadcast that spreads it
        self.axes: dict[Value, Axes] = {}  # of what was visited
        self.mixed = False
        self.hidden = not all([self._visit(v, _axes(v)) for v in vectors])

    def _visit(self, v: Value, axes: Axes) -> bool:
        if v in self.axes:
            return self.axes[v] == axes
        self.axes[v] = axes
        n = self.defs.get(v)
        if (root := self._root(v, axes)) is not None:
            self.roots[v] = root
            return True
        if n is None:
            return False
        if n.op is const:
            self.mixed = self.mixed or splat_of(n) is None
        elif n.op.name == "broadcast" and self._spreads(n, axes):
            if splat_of(self.defs.get(n.inputs[0])) is None and n.out.type.differentiable:
                self.scalars[v] = n.inputs[0]
                return n.out.type.dtype[0] == "f"
        elif (inner := self._inner(n, axes)) is None or not all([self._visit(x, inner) for x in n.inputs]):
            return False
        self.nodes.append(n)
        return True

    def _root(self, v: Value, axes: Axes) -> Core | None:
        if not self.second:
            return self.core if _unfixed(self.defs, v) is self.w else None
        found = _core(self.defs, v, axes, len(self.shape) - 1)
        return found if found.same(self.core) else None

    def _inner(self, n: Node, axes: Axes) -> Axes | None:
        """The axes of the inputs of a node that goes element by element."""
        if n.op.elementwise:
            return axes
        if n.op.name == "reshape" and _moves(n):
            kept = iter([k for k, d in zip(axes, n.out.type.shape) if d != 1])
            return tuple(None if d == 1 else next(kept) for d in n.inputs[0].type.shape)
        if n.op.name == "broadcast" and (self.second or _moves(n)):
            return _below(n, axes)
        return (*axes[:-1], len(self.shape) - 1) if self.second and _along_last(n) and axes else None

    def _spreads(self, n: Node, axes: Axes) -> bool:
        """Is it one number for all elements of a vector of the stack?"""
        x = n.inputs[0]
        if self.second:
            return x.type.rank < len(axes) and len(self.shape) - 1 not in _below(n, axes)
        lead, shape = self.shape[:-1], x.type.shape
        along = tuple(n.attrs["dims"][: len(lead)]) == tuple(range(len(lead)))
        return all(d == 1 for d in shape) or shape[: len(lead)] == lead and along and all(d == 1 for d in shape[len(lead) :])

    def owners(self, scalars: Sequence[Value]) -> dict[Value, Value | None]:
        """For each value that spreads a scalar out (one number for each vector of the stack): which of the scalars it is."""
        out: dict[Value, Value | None] = {}
        for v, c in self.scalars.items():
            mine = _below(self.defs[v], self.axes[v])
            exact = [s for s in scalars if _unfixed(self.defs, c) is _unfixed(self.defs, s) and mine == _axes(s)]
            found = exact or [s for s in scalars if _core(self.defs, c, mine).same(_core(self.defs, s, _axes(s)))]
            owner = found[0] if len(found) == 1 else None
            out[c] = owner if c not in out or out[c] is owner else None
        return out

    def spread_scalars(self) -> list[Value]:
        """The scalars that are not constants, one for each vector of a stack."""
        lead = self.shape[:-1]
        ones = [reshape_to(c, () if all(d == 1 for d in c.type.shape) else lead) for c in dict.fromkeys(self.scalars.values())]
        ones = [ew.cast_to(c, self.w.type.dtype) for c in ones]
        return [c if c.type.shape == lead else broadcast(c, shape=lead, dims=()) for c in ones]

    def again(self, vectors: Sequence[Value], w: Value, scalars: Sequence[Value]) -> list[Value]:
        """Emit the vectors again, made of another w (of what it repeats, if it is a table made a second time) and other scalars."""
        env: dict[Value, Value] = {
            v: broadcast(w, shape=v.type.shape, dims=root.dims) if v.type.rank > w.type.rank else w
            for v, root in self.roots.items()
        }
        new = dict(zip(dict.fromkeys(self.scalars.values()), scalars))
        for v, c in self.scalars.items():
            env[v] = self._spread_out(new[c], self.defs[v])
        graph = copy(Graph((), tuple(self.nodes), tuple(vectors)), env)
        current().nodes += graph.nodes
        return list(graph.results)

    def _spread_out(self, c: Value, n: Node) -> Value:
        dims = n.attrs["dims"] if self.second else tuple(range(len(self.shape) - 1))
        return ew.cast_to(broadcast(c, shape=n.out.type.shape, dims=dims), n.out.type.dtype)


Axes = tuple[int | None, ...]  # which ones of the stack the axes of a value are; None: of length 1


def _axes(v: Value) -> Axes:
    return tuple(None if d == 1 else k for k, d in enumerate(v.type.shape))


def _below(n: Node, axes: Axes) -> Axes:
    """The axes of what a broadcast repeats."""
    return tuple(None if d == 1 else axes[k] for k, d in zip(n.attrs["dims"], n.inputs[0].type.shape))


def _moves(n: Node) -> bool:
    """Are its elements the same, in the same order, with axes of length 1 in other places?"""
    return [d for d in n.out.type.shape if d != 1] == [d for d in n.inputs[0].type.shape if d != 1]


def _unfixed(defs: Defs, v: Value) -> Value:
    n = defs.get(v)
    return n.inputs[0] if n is not None and n.op is stop_gradient else v


@dataclass(frozen=True)
class Core:
    """What a value repeats, its axes in the stack, and where in the value they are."""

    value: Value
    axes: Axes
    dims: tuple[int, ...]

    def same(self, other: Core) -> bool:
        return self.value is other.value and self.axes == other.axes


def _core(defs: Defs, v: Value, axes: Axes, along: int | None = None) -> Core:
    """`along`: the axis that is kept."""
    dims, v = tuple(range(len(axes))), _unfixed(defs, v)
    while (n := defs.get(v)) is not None and n.op.name == "broadcast":
        below = _below(n, axes)
        if len(below) == len(axes) or along in axes and along not in below:
            break
        axes, dims = below, tuple(dims[k] for k in n.attrs["dims"])
        v = _unfixed(defs, n.inputs[0])
    return Core(v, axes, dims)


def _along_last(n: Node) -> bool:
    """Does it take, or put together, pieces of the last axis, and keep the others?"""
    t = n.inputs[0].type
    if n.op.name == "concat":
        return t.rank > 0 and n.attrs["axis"] == t.rank - 1
    if "spec" not in n.attrs or n.out.type.rank != t.rank or len(n.attrs["spec"]) != t.rank:
        return False
    return all(isinstance(s, Slice) and (s.start, s.size, s.step) == (0, d, 1) for s, d in zip(n.attrs["spec"][:-1], t.shape))


def _slopes(nodes: Sequence[Node], vectors: Sequence[Value], xs: Sequence[Value]) -> list[Value]:
    """Emit the derivatives of vectors along ones in all of xs, with what they are made of once more."""
    graph = copy(Graph((), tuple(nodes), tuple(vectors)), {})
    return forward.linearized(Differentiation({}, RULES), graph, xs, [ew.full(1.0, x) for x in xs])


# ---- what the next derivative needs --------------------------------------------------------------------------------------------------


def completed(graph: Graph) -> Graph:
    """The graph in which functions of matrices have the slopes of what they are made of, where that is seen."""
    return _completed(graph, {}) if _wanting(graph) else graph


def _wanting(graph: Graph) -> bool:
    return any(_wants(n) or any(map(_wanting, n.regions)) for n in graph.nodes)


def _wants(n: Node) -> bool:
    return n.op in (matrix_function, spectral_sum) and not n.attrs["whole"]


def _completed(graph: Graph, defs: dict[Value, Node]) -> Graph:
    nodes: list[Node] = []
    for n in graph.nodes:
        n = map_regions(n, lambda r: _completed(r, defs))
        with Builder(n.loc, n.deriv) as b:
            if not _wants(n) or not complete(defs, n):
                b.nodes.append(n)
        nodes += b.nodes
        defs.update((v, m) for m in b.nodes for v in m.outputs)
    return graph.replace(nodes=nodes)


def complete(defs: Defs, n: Node) -> bool:
    """Emit the node with all that its derivative needs; False if that is not seen."""
    p = parts(n)
    chain = Chain(defs, p.table, p.of.w, again=True)
    fixed = {c: stop_gradient(_unfixed(defs, c)) for c in dict.fromkeys(chain.scalars.values())}
    owners = chain.owners(p.of.scalars)
    if chain.hidden or None in owners.values():
        return False
    w = stop_gradient(chain.core.value)
    before = len(current().nodes)
    table = chain.again(p.table, w, list(fixed.values()))
    made = current().nodes[before:]
    table += _slopes(made, table[-1:], [w])
    by_scalars = [f for s in p.of.scalars for f in _slopes(made, table[:-1], [x for c, x in fixed.items() if owners[c] is s])]
    first = n.inputs[: len(n.inputs) - len(p.table) - len(p.directions)]
    inputs = (*first, *table, *by_scalars, *p.directions)
    current().nodes.append(n.replace(inputs=inputs, attrs={**n.attrs, "whole": True}))
    return True
