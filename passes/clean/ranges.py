"""Range analysis: checks that cannot fail, wrap-arounds and clips that cannot act are removed.

What is known of integers comes from constants, trip counts, extents, the op rows' `intervals`, and the conditions of the
branches and checks that were passed; see irad.passes.analyses.facts. A comparison that this decides becomes a constant, a
`select`, `minimum`, `maximum` or `remainder` that changes nothing becomes its operand, a `raise_if` that cannot fire goes. A
`remainder` of what is at most one turn away (`(i + 1) % n`, `(i - 1) % n`) becomes an addition or subtraction under a condition.
"""

from __future__ import annotations

from irad.core.ir import Graph, Node, Program, Value
from irad.core.types import BOOL, I64
from irad.ops.constant import const
from irad.ops.core import Op
from irad.ops.elementwise import add, ge, lt, select, sub
from irad.passes.analyses.carries import regions
from irad.passes.analyses.facts import Facts
from irad.passes.rewrite import Env, lookup, rebuild, rename_bound


def ranges(program: Program) -> Program:
    """The program without integer checks, wrap-arounds and clips that are proven never to act."""
    return {name: _Ranges(g).graph(g) for name, g in program.items()}


class _Ranges:
    def __init__(self, graph: Graph):
        self.facts = Facts(graph)
        self.env: Env = self.facts.env

    def graph(self, graph: Graph) -> Graph:
        params = rename_bound(graph.params, self.env)
        self.facts.extents(params)
        nodes: list[Node] = []
        for node in graph.nodes:
            self.node(node, nodes)
        return graph.replace(params, nodes, [lookup(self.env, v) for v in graph.results])

    def node(self, node: Node, nodes: list[Node]) -> None:
        if node.regions:
            node = rebuild(node, self.env, [self.graph(r) for r in regions(self.facts, node)])
            self.facts.after(node)
        else:
            node = rebuild(node, self.env, ())
            if node.op.name == "raise_if" and self.facts.decide(node.inputs[0]) is False:
                return
            new = self.operand(node)
            if new is not None:
                self.env[node.out] = new
                return
            node = self.decided(node)
            if node.op.name == "remainder" and (turn := self.turn(node)):
                self.facts.passed(node)  # the bounds of a remainder, which the selections do not show
                nodes.extend(turn)
                return
        nodes.append(node)
        self.facts.passed(node)
        if node.op.name == "raise_if":
            self.facts.assume(node.inputs[0], False)

    def decided(self, node: Node) -> Node:
        """A bool that is known, as a constant under the same name."""
        if len(node.outputs) != 1 or node.out.type.dtype != "bool" or node.op is const:
            return node
        known = self.facts.decide(node.out)
        if known is None:
            return node
        return node.replace(op=const, inputs=(), attrs={"value": known, "type": node.out.type}, regions=())

    def operand(self, node: Node) -> Value | None:
        """The operand that the node is sure to give back."""
        f, name, ins = self.facts, node.op.name, node.inputs
        if name == "select":
            known = f.decide(ins[0])
            return None if known is None else ins[1 if known else 2]
        if len(node.outputs) != 1 or node.out.type.dtype[0] not in "iu":
            return None
        if node.op.extreme:
            for k in (0, 1):
                if f.at_most(ins[k], ins[1 - k]):
                    return ins[k] if node.op.extreme < 0 else ins[1 - k]
        if name == "abs" and f.interval(ins[0])[0] >= 0:
            return ins[0]
        return ins[0] if name == "remainder" and f.interval(ins[0])[0] >= 0 and f.at_most(ins[0], ins[1], -1) else None

    def turn(self, node: Node) -> list[Node] | None:
        """x % y with -y <= x < 2 y as x, x + y or x - y; None where it is not sure that one of them is meant."""
        f, (x, y), out = self.facts, node.inputs, node.out
        if out.type.dtype != "i64" or out.type.shape:
            return None
        (low, high), least = f.interval(x), f.interval(y)[0]
        if least < 1 or not (high < 2 * least or f.at_most(x, y)):
            return None
        if low < -least and not f.negative(-f.linear(x) - f.linear(y)):
            return None
        over = not f.at_most(x, y, -1)
        nodes: list[Node] = []

        def made(op: Op, *inputs: Value, to: Value | None = None) -> Value:
            to = to or Value(BOOL if op in (lt, ge) else I64)
            nodes.append(node.replace(op=op, inputs=inputs, outputs=(to,)))
            return to

        if low < 0 and not f.negative(-f.linear(x)):
            zero = Value(I64)
            nodes.append(node.replace(op=const, inputs=(), outputs=(zero,), attrs={"value": 0, "type": I64}))
            x = made(select, made(lt, x, zero), made(add, x, y), x, to=None if over else out)
        if over:
            made(select, made(ge, x, y), made(sub, x, y), x, to=out)
        return nodes
