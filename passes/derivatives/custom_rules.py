"""Derivatives that the user gives: the rules of `custom_vjp`, `custom_jvp` and `stop_gradient`.

Either rule serves both modes. The backward of a custom_vjp is linear in its cotangent and the rule of a custom_jvp in its
tangent, so the other mode is the transpose, which reverse mode gives (Radul et al., "You only linearize once", 2022).
"""

from __future__ import annotations

from collections.abc import Sequence

from irad.core.ir import Graph, Node, Value, captured, captures, copy, current, inline
from irad.errors import UnsupportedError
from irad.ops.control import zero
from irad.passes.derivatives.custom import bound
from irad.passes.derivatives.forward import Forward, Tangents, new_tangents
from irad.passes.derivatives.region_pairs import Adjoint
from irad.passes.derivatives.reverse import Cotangents, Reverse, joint


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


def vjp_reverse(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
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


def jvp_reverse(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
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


def jvp_forward(ad: Forward, node: Node, tan: Tangents) -> None:
    """The rule in place of the function."""
    _closed(ad, node)
    rule = node.regions[1]
    floats = [v for v in node.outputs if v.type.differentiable]
    ds = new_tangents(floats)
    tangents = [tan.full(v) for v in node.inputs]
    current().nodes += bound(rule, (*node.inputs, *tangents), (*node.outputs, *ds))
    tan.update(zip(floats, ds))


def vjp_forward(ad: Forward, node: Node, tan: Tangents) -> None:
    """The transpose of the backward, which is linear in the cotangents."""
    _closed(ad, node)
    _, fwd, bwd = node.regions
    kept = _residuals(node)
    current().nodes += bound(fwd, node.inputs, (*node.outputs, *kept)) if fwd.results else [node]
    floats = [v for v in node.outputs if v.type.differentiable]
    seeds = [zero(v.type) for v in floats]
    again = copy(Graph((), bwd.nodes, bwd.results), dict(zip(bwd.params, (*kept, *seeds))))
    tan.update(zip(floats, joint(ad.diff, again, seeds, [tan.full(v) for v in node.inputs], once=False)))
