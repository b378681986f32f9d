"""Derivatives that the user gives: `custom_vjp`, `custom_jvp` and `stop_gradient`; and the pass that takes ops with a rule of their
own apart once all derivatives have been taken.

Either rule serves both modes. The backward of a custom_vjp is linear in its cotangent and the rule of a custom_jvp in its
tangent, so the other mode is the transpose, which reverse mode gives (Radul et al., "You only linearize once", 2022).
"""

from __future__ import annotations

from collections.abc import Sequence

from irad.core.ir import Builder, Graph, Node, Program, Value, captured, captures, copy, current, inline, walk
from irad.errors import UnsupportedError
from irad.ops.array import reshape
from irad.ops.control import zero
from irad.passes.analyses import activity
from irad.passes.derivatives import forward, reverse
from irad.passes.derivatives.forward import Forward, Tangents
from irad.passes.derivatives.region_pairs import Adjoint
from irad.passes.derivatives.reverse import Cotangents, Reverse, joint

CUSTOM = ("custom_vjp", "custom_jvp")


# ---- the pass ---------------------------------------------------------------------------------------------------------------


def custom(program: Program) -> Program:
    """The program with ordinary nodes for custom functions, stopped gradients, and ops that are made of others (`expand` of
    their row): they are ops for the sake of their derivatives, all of which have been taken."""
    return {name: _plain(g) for name, g in program.items()}


def _made_of_others(n: Node) -> bool:
    return n.op.name in CUSTOM or n.op.name == "stop_gradient" or "expand" in n.op.extra


def _plain(graph: Graph) -> Graph:
    if not any(map(_made_of_others, walk(graph))):
        return graph
    nodes: list[Node] = []
    for n in graph.nodes:
        if n.op.name == "stop_gradient":
            nodes.append(_same(n.inputs[0], n.outputs[0]))
        elif n.op.name in CUSTOM:
            nodes += bound(_plain(n.regions[0]), n.inputs, n.outputs)
        elif "expand" in n.op.extra:
            nodes += bound(_plain(_expanded(n)), n.inputs, n.outputs)
        elif n.regions:
            nodes.append(Node(n.op, n.inputs, n.outputs, n.attrs, tuple(map(_plain, n.regions)), n.loc, n.deriv))
        else:
            nodes.append(n)
    return graph.replace(nodes=nodes)


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


# ---- rules ------------------------------------------------------------------------------------------------------------------


def _closed(ad: Reverse | Forward, node: Node) -> None:
    """A rule says nothing about what its function reads from outside."""
    for v in captured(node):
        if ad.active(v):
            name = f"`{v.hint}`" if v.hint else f"a value of type {v.type}"
            raise UnsupportedError(
                f"a function with a custom rule reads {name} from its surroundings, and the derivative depends on it; "
                "pass it as an argument, or write irad.stop_gradient around it", node.loc,
            )  # fmt: skip


def _dense(cts: Cotangents, outputs: Sequence[Value]) -> list[Value]:
    """Cotangents of the float results, zeros where there is none."""
    return [zero(v.type) if ct is None else ct for ct, v in zip(cts, outputs) if v.type.differentiable]


def _vjp_reverse(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    """The forward becomes `fwd`, whose residuals are values of the surroundings like any other."""
    _closed(ad, node)
    _, fwd, bwd = node.regions
    frame = ad.frames[-1]
    kept = _residuals(node)
    if fwd.results:
        ad.frame_of.update(dict.fromkeys(kept, frame))
        frame.augment[node] = lambda tape: (bound(fwd, node.inputs, (*node.outputs, *kept)), tape)
    backward = copy(bwd, {v: ad.need(v) for v in captures(bwd)})
    seeds = _dense(cts, [ad.need(v) for v in node.outputs])
    for v, d in zip(node.inputs, inline(backward, *map(ad.need, kept), *seeds)):
        adj.add(ad.need(v), d)


def _residuals(node: Node) -> tuple[Value, ...]:
    """New values for what the forward of a custom_vjp keeps, or its operands, if there is nothing else."""
    fwd = node.regions[1]
    return tuple(Value(v.type, v.hint) for v in fwd.results[len(node.outputs) :]) if fwd.results else node.inputs


def _jvp_reverse(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    """The transpose of the rule, which is linear in the tangents: its values do not matter, zeros will do."""
    _closed(ad, node)
    rule, count = node.regions[1], len(node.outputs)
    primals, tangents = rule.params[: len(node.inputs)], rule.params[len(node.inputs) :]
    env = {v: ad.need(v) for v in captures(rule)} | dict(zip(primals, map(ad.need, node.inputs)))
    env |= {p: zero(env[x].type) for p, x in zip(tangents, primals)}
    again = copy(Graph((), rule.nodes, rule.results[count:]), env)
    wrt = [env[p] for p in tangents]
    seeds = _dense(cts, [ad.need(v) for v in node.outputs])
    for v, d in zip(node.inputs, joint(ad.diff, again, wrt, seeds, once=False)):
        adj.add(ad.need(v), d)


def _jvp_forward(ad: Forward, node: Node, tan: Tangents) -> None:
    """The rule in place of the function."""
    _closed(ad, node)
    rule = node.regions[1]
    floats = [v for v in node.outputs if v.type.differentiable]
    ds = [Value(v.type, f"d{v.hint}" if v.hint else "") for v in floats]
    tangents = [tan.full(v) for v in node.inputs]
    current().nodes += bound(rule, (*node.inputs, *tangents), (*node.outputs, *ds))
    tan.update(zip(floats, ds))


def _vjp_forward(ad: Forward, node: Node, tan: Tangents) -> None:
    """The transpose of the backward, which is linear in the cotangents."""
    _closed(ad, node)
    _, fwd, bwd = node.regions
    kept = _residuals(node)
    current().nodes += bound(fwd, node.inputs, (*node.outputs, *kept)) if fwd.results else [node]
    floats = [v for v in node.outputs if v.type.differentiable]
    seeds = [zero(v.type) for v in floats]
    again = copy(Graph((), bwd.nodes, bwd.results), dict(zip(bwd.params, (*kept, *seeds))))
    tan.update(zip(floats, joint(ad.diff, again, seeds, [tan.full(v) for v in node.inputs], once=False)))


reverse.RULES["custom_vjp"] = _vjp_reverse
reverse.RULES["custom_jvp"] = _jvp_reverse
forward.RULES["custom_vjp"] = _vjp_forward
forward.RULES["custom_jvp"] = _jvp_forward
activity.RULES["stop_gradient"] = lambda n, active: None
