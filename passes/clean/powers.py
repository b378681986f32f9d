"""Strength reduction: cheaper operations with the same results.

A power with a small constant exponent becomes multiplications, divisions and a square root, within the accuracy stated for
powers and with the same special values; the square of a difference is written in one order, so that (a - b)**2 and (b - a)**2
are one computation (negation changes no square). Runs after differentiation, and on derivatives too.
"""

from __future__ import annotations

import math

from irad.core.ir import Builder, Graph, Node, Program, Value, current, substitute_node
from irad.core.types import is_float
from irad.ops.constant import const
from irad.ops.elementwise import eq, mul, select, sqrt, sub
from irad.ops.regions import map_control
from irad.passes.rewrite import splat_of

WHOLE, HALVES = (3.0, 4.0, -1.0, -2.0, -3.0, -4.0), (0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, -3.5)


def powers(program: Program) -> Program:
    """The program with cheaper operations."""
    return {name: _Strength().graph(g) for name, g in program.items()}


class _Strength:
    def __init__(self) -> None:
        self.defs: dict[Value, Node] = {}
        self.env: dict[Value, Value] = {}

    def graph(self, graph: Graph) -> Graph:
        nodes: list[Node] = []
        for n in graph.nodes:
            n = map_control(substitute_node(n, self.env), self.graph)
            nodes += self.node(n)
            self.defs.update(dict.fromkeys(n.outputs, n))
        return graph.replace(nodes=nodes, results=[self.env.get(v, v) for v in graph.results])

    def node(self, n: Node) -> list[Node]:
        with Builder(n.loc, deriv=n.deriv) as b:
            new = self.power(n) if n.op.name == "pow" else self.square(n) if n.op is mul else None
        if new is None:
            return [n]
        self.env[n.out] = new
        self.defs.update({v: m for m in b.nodes for v in m.outputs})
        return b.nodes

    def power(self, n: Node) -> Value | None:
        x, y = n.inputs
        node = self.defs.get(y)
        exponent = splat_of(node) if node is not None and node.op is const else None
        if exponent is None or not is_float(x.type.dtype):
            return None
        if exponent in WHOLE:
            return _whole(x, int(exponent))
        return _half(x, float(exponent)) if exponent in HALVES else None

    def square(self, n: Node) -> Value | None:
        x, y = n.inputs
        d = self.defs.get(x)
        if x is not y or d is None or d.op is not sub or not is_float(x.type.dtype) or d.inputs[0].id < d.inputs[1].id:
            return None
        s = d.inputs[1] - d.inputs[0]
        return s * s


def _whole(x: Value, k: int) -> Value:
    square = x * x if abs(k) > 1 else x
    p = {1: x, 2: square, 3: square * x if abs(k) == 3 else x, 4: square * square if abs(k) == 4 else x}[abs(k)]
    return p if k > 0 else 1 / p


def _half(x: Value, k: float) -> Value:
    """x**k for odd multiples of a half. As pow, -inf gives inf or 0, and -0.0 counts as 0."""
    root = sqrt(x) + 0
    if k > 0:
        p = root
        for _ in range(int(k)):
            p = p * x
        return select(eq(x, -math.inf), math.inf, p)
    if current().deriv:
        p = 1 / (root * x if k < -1 else root)
    else:
        p = 1 / root  # factor by factor: nothing overflows before the result does
        p = p / x if k < -1 else p
    for _ in range(int(-k) - 1):
        p = p / x
    return select(eq(x, -math.inf), 0, p)
