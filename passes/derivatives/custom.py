"""Ops made of others, and functions with a given derivative, become what they are made of once all derivatives have been taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irad.core.ir import Builder, Graph, Node, Program, Value, copy, map_regions, walk
from irad.ops.array import reshape
from irad.ops.custom import stop_gradient

CUSTOM = ("custom_vjp", "custom_jvp")


def custom(program: Program) -> Program:
    """The program with ordinary nodes for custom functions, stopped gradients, and ops that are made of others (`expand` of
    their row): they are ops for the sake of their derivatives, all of which have been taken."""
    return {name: _plain(g) for name, g in program.items()}


def taken_apart(nodes: Iterable[Node], regions: bool = True) -> list[Node]:
    """The nodes without such ops; without `regions`, nodes with regions stay.

    A slope's row has operands that only its own slopes read: where there will be none, less is kept for it.
    """
    return [new for n in nodes for new in (_apart(n) if regions or not n.regions else [n])]


def _plain(graph: Graph) -> Graph:
    made_of_others = lambda n: n.op.name in CUSTOM or n.op is stop_gradient or "expand" in n.op.extra
    return graph.replace(nodes=taken_apart(graph.nodes)) if any(map(made_of_others, walk(graph))) else graph


def _apart(n: Node) -> list[Node]:
    if n.op.name == "stop_gradient":
        return [_same(n.inputs[0], n.outputs[0])]
    if n.op.name in CUSTOM:
        return bound(_plain(n.regions[0]), n.inputs, n.outputs)
    return bound(_plain(_expanded(n)), n.inputs, n.outputs) if "expand" in n.op.extra else [map_regions(n, _plain)]


def _expanded(n: Node) -> Graph:
    """The op as a graph of the ops that it is made of."""
    params = tuple(Value(v.type, v.hint) for v in n.inputs)
    with Builder(n.loc, n.deriv) as b:
        results = n.op.extra["expand"](*params, **n.attrs)
    return Graph(params, tuple(b.nodes), tuple(results))


def _same(x: Value, y: Value) -> Node:
    """y = x: a reshape to the shape that it has, which `simplify` drops."""
    return Node(reshape, (x,), (y,), {"shape": y.type.shape})


def bound(graph: Graph, args: Sequence[Value], outs: Sequence[Value]) -> list[Node]:
    """The nodes of a copy of the graph at `args` whose results are the values `outs`."""
    env = dict(zip(graph.params, args))
    inside = {v for n in graph.nodes for v in n.outputs}
    others: list[tuple[Value, Value]] = []
    for r, o in zip(graph.results, outs):
        if r in inside and r not in env:
            env[r] = o
        else:
            others.append((r, o))
    nodes = copy(Graph((), graph.nodes, ()), env).nodes
    return [*nodes, *(_same(env.get(r, r), o) for r, o in others)]
