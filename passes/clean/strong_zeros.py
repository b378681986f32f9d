"""Weaken strong-zero products: `szmul` becomes `mul`, `szmul2` one of the two, and `szdiv` becomes `div`, where both must agree.

`szmul(c, p)` differs from `c * p` only where c is 0 and p is inf or NaN. It is there for *masked zeros*: cotangents that
are 0 because something was not chosen, not because a formula came out as 0. So it becomes `mul` if p is finite by
construction, or if no element of c can be a masked zero.

A masked zero comes from a cotangent or tangent that the user supplies, a zero constant (a `select` with a zero branch, an
accumulator that starts from zeros, a stored zero), a slope that is zero by convention (`sign` at 0), or a number made of
integers or bools; products of such and anything, sums of such and such. Where values meet again (branches, carries, tape
entries, calls) one is enough. The least fixed point over the whole program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from irad.core.ir import Graph, Node, Program, Value, map_regions, walk
from irad.ops.constant import const
from irad.ops.elementwise import div, mul, szdiv, szmul, szmul2
from irad.passes.analyses.flow import Step, reached


def weaken(program: Program, seeds: Iterable[Value], nodes: Collection[Node]) -> Program:
    """The program with those strong products in `nodes` weakened that may be. `seeds`: values whose zeros the user supplies."""
    flow = _Flow(program, seeds)
    return {name: _rebuild(g, flow, nodes) for name, g in program.items()}


def _rebuild(graph: Graph, flow: _Flow, nodes: Collection[Node]) -> Graph:
    inner = lambda r: _rebuild(r, flow, nodes)
    return graph.replace(nodes=[_weakened(n, flow) if n in nodes else map_regions(n, inner) for n in graph.nodes])


def _weakened(n: Node, flow: _Flow) -> Node:
    """The weakest product, or quotient, that does."""
    x, y = n.inputs
    first, second = x in flow.masked and y not in flow.finite, y in flow.masked and x not in flow.finite
    if n.op is szdiv:
        op, ins = szdiv if x in flow.masked else div, n.inputs
    elif n.op is szmul2 and second:
        op, ins = (szmul2, n.inputs) if first else (szmul, (y, x))
    else:
        op, ins = szmul if first else mul, n.inputs
    return n if op is n.op else n.replace(op=op, inputs=ins, regions=())


class _Flow:
    """`masked`: values (tape entries, function results) that may hold a masked zero; `finite`: values without inf and NaN."""

    def __init__(self, program: Program, seeds: Iterable[Value]):
        self.masked = reached(program, seeds, _masked, {})
        self.finite: set[Value] = set()
        for g in program.values():
            for n in walk(g):
                if _is_finite(n, self.finite):
                    self.finite.update(v for v in n.outputs if v.type.differentiable)


# ---- masked zeros ---------------------------------------------------------------------------------------


def _masked(n: Node) -> Step | None:
    rule, floats = n.op.zero_at, [v for v in n.outputs if v.type.differentiable]
    if n.op is const:
        rule = "nowhere" if np.all(n.attrs["value"]) else "anywhere"
    elif n.op.name == "cast" and n.inputs[0].type.dtype[0] != n.outputs[0].type.dtype[0]:
        rule = "anywhere"
    if rule == "nowhere" or not floats:
        return None
    if rule == "anywhere":
        return (), floats, True
    return ((n.inputs[rule],) if isinstance(rule, int) else n.inputs), floats, rule == "all"


# ---- finite values ----------------------------------------------------------------------------------------


def _is_finite(n: Node, finite: set[Value]) -> bool:
    name = n.op.name
    if n.op is const:
        return bool(np.all(np.isfinite(n.attrs["value"])))
    if name == "iota":
        return n.outputs[0].type.dtype != "f16"
    if name == "cast":
        return n.attrs["dtype"] != "f16" and not n.inputs[0].type.differentiable
    return n.op.finite and all(v in finite for v in n.inputs if v.type.differentiable)
