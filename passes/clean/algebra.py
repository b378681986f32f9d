"""Like terms in derivatives: `x*x + t + x*x` with `t = x*x` becomes `3*t`.

A sum of a derivative is flattened into terms: a number times a product of values. Terms whose products are equal as
multisets of factors are collected into one, written with the cheapest of their products. NumPy does not define the bits
of a derivative, so the order of its sums and products is free; a product that is NaN or infinite stays so, because the
numbers of collected terms never add up to zero (such terms are left as they are).
"""

from __future__ import annotations

from collections.abc import Sequence

from irad.core.ir import Builder, Graph, Node, Value, defs, map_regions, uses
from irad.core.lazy_dataclass import dataclass
from irad.core.types import is_float
from irad.passes.rewrite import splat_of

DEGREE = 16  # products of more factors are not looked into

Monomial = tuple[Value, ...]  # factors in order of their ids
Defs = dict[Value, Node]


@dataclass
class _Term:
    number: float
    value: Value


def collect(graph: Graph, everywhere: bool = False) -> Graph:
    """The graph with like terms collected in every sum of a derivative; `everywhere`: in every sum of floats."""
    return _Collector(everywhere).graph(graph)


class _Collector:
    """`everywhere`: all sums and products may be re-ordered, not only those of derivatives."""

    def __init__(self, everywhere: bool):
        self.everywhere = everywhere

    def graph(self, graph: Graph, outer: Defs | None = None) -> Graph:
        known = {**(outer or {}), **defs(graph)} if outer else defs(graph)
        nodes: list[Node] = []
        for node in graph.nodes:
            node = map_regions(node, lambda r: self.graph(r, known))
            nodes += self.collected(node, known, uses(graph)) if self.is_sum(node) and not self.is_inside(node, graph) else [node]
        return graph.replace(nodes=nodes)

    def free(self, node: Node) -> bool:
        """May the operation be re-ordered?"""
        return node.deriv or self.everywhere

    def is_sum(self, node: Node | None) -> bool:
        return node is not None and self.free(node) and bool(node.op.adds) and is_float(node.out.type.dtype)

    def is_inside(self, node: Node, graph: Graph) -> bool:
        """Is the only reader another sum, which will see this one's terms?"""
        key = ("summed", self.everywhere)
        if key not in graph.memo:
            graph.memo[key] = {v for n in graph.nodes if self.is_sum(n) for v in n.inputs}
        return uses(graph)[node.out] == 1 and node.out in graph.memo[key] if node.out in uses(graph) else False

    def collected(self, node: Node, known: Defs, count: dict[Value, int]) -> list[Node]:
        """The nodes that compute the sum, the last one binding its value; the node alone if no two terms are alike."""
        groups: dict[Monomial, list[_Term]] = {}
        terms = self.terms(node, 1.0, known, count)
        for t in terms:
            groups.setdefault(_monomial(t.value, known), []).append(t)
        merged = []
        for group in groups.values():
            total = sum(t.number for t in group)
            if len(group) > 1 and total != 0:
                merged.append(_Term(total, min(group, key=lambda t: self.cost(t.value, known)).value))
            else:
                merged += group
        if len(merged) == len(terms):
            return [node]
        with Builder(node.loc, node.deriv) as b:
            result = _sum(merged)
        last = b.nodes.pop() if b.nodes and b.nodes[-1].outputs == (result,) else None
        if last is None:  # the sum is a value that is there already: x itself
            return [node]
        return [*b.nodes, node.replace(op=last.op, inputs=last.inputs, attrs=last.attrs, regions=())]

    def terms(self, node: Node, sign: float, known: Defs, count: dict[Value, int]) -> list[_Term]:
        """The terms of a sum, from left to right; without recursion along its left spine, which may be long."""
        out: list[_Term] = []
        todo: list[tuple[Value, float]] = [(node.inputs[1], sign * node.op.adds), (node.inputs[0], sign)]
        while todo:
            v, s = todo.pop()
            d = known.get(v)
            opened = d is not None and self.free(d) and count.get(v) == 1
            if opened and self.is_sum(d):
                todo += [(d.inputs[1], s * d.op.adds), (d.inputs[0], s)]  # type: ignore[union-attr]
            elif opened and d.op.name == "neg":  # type: ignore[union-attr]
                todo.append((d.inputs[0], -s))  # type: ignore[union-attr]
            else:
                out.append(self.scaled(v, s, known))
        return out

    def scaled(self, v: Value, number: float, known: Defs) -> _Term:
        """A term `c * v` with the constant factors of its product taken out."""
        d = known.get(v)
        if d is not None and self.free(d) and d.op.name == "mul":
            for k in (0, 1):
                c = splat_of(known.get(d.inputs[k]))
                if c is not None:
                    return _Term(number * float(c), d.inputs[1 - k])
        return _Term(number, v)

    def cost(self, v: Value, known: Defs) -> int:
        """Multiplications in the product that only derivatives need, as far as `_monomial` looks."""
        count, todo = 0, [v]
        while todo and count < DEGREE:
            d = known.get(todo.pop())
            if d is not None and self.free(d) and d.op.name == "mul":
                count += 1
                todo += d.inputs
        return count


def _monomial(v: Value, known: Defs) -> Monomial:
    factors: list[Value] = []
    todo = [v]
    while todo:
        f = todo.pop()
        d = known.get(f)
        if d is not None and d.op.name == "mul" and len(factors) + len(todo) < DEGREE:
            todo += d.inputs
        else:
            factors.append(f)
    return tuple(sorted(factors, key=lambda f: f.id))


def _sum(terms: Sequence[_Term]) -> Value:
    """Emit a sum that starts with a positive term where there is one."""
    order = sorted(range(len(terms)), key=lambda k: (k != next((j for j, t in enumerate(terms) if t.number > 0), 0), k))
    total: Value | None = None
    for t in (terms[k] for k in order):
        size = abs(t.number)
        v = t.value if size == 1 else size * t.value
        if total is None:
            total = v if t.number > 0 else -v
        else:
            total = total + v if t.number > 0 else total - v
    assert total is not None
    return total
