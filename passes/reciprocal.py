"""Divisions by one divisor as multiplications by its reciprocal, under the flag "reciprocal" of `irad.compile(fastmath=)`.

It pays where one division serves many: a divisor that several divide by, that is spread over an array, or that comes from
outside of a loop (its reciprocal is then computed before the loop, see irad.passes.licm).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

from irad.ir import Builder, Graph, Node, Program, Value, defs
from irad.ops.elementwise import div, full, mul
from irad.passes.rewrite import rebuild
from irad.types import is_float


def reciprocal(program: Program, fastmath: Set[str] = frozenset()) -> Program:
    """The program with fewer divisions; the program itself without the flag."""
    return {name: _graph(g, False) for name, g in program.items()} if "reciprocal" in fastmath else program


def _graph(graph: Graph, repeated: bool) -> Graph:
    """`repeated`: the graph is run in each trip of a loop."""
    known = defs(graph)
    divisors = {n: _source(n.inputs[1], known) for n in graph.nodes if n.op is div and is_float(n.out.type.dtype)}
    count = Counter(divisors.values())
    bound = {*graph.params, *known}
    made: dict[Value, Value] = {}
    nodes: list[Node] = []
    for n in graph.nodes:
        n = rebuild(n, {}, [_graph(r, n.op.name in ("for", "while")) for r in n.regions])
        y = divisors.get(n)
        if y is None or not (count[y] > 1 or y is not n.inputs[1] or (repeated and y not in bound)):
            nodes.append(n)
            continue
        with Builder(n.loc, n.deriv) as b:
            if y not in made:
                made[y] = div(full(1.0, y), y)
            spread = known[n.inputs[1]] if y is not n.inputs[1] else None
            mul(n.inputs[0], made[y] if spread is None else spread.op(made[y], **spread.attrs))
        last = b.nodes.pop()
        nodes += [*b.nodes, Node(last.op, last.inputs, n.outputs, {}, (), n.loc, n.deriv)]
    return graph.replace(nodes=nodes)


def _source(v: Value, known: dict[Value, Node]) -> Value:
    """The value of fewer elements that is spread over v, or v."""
    n = known.get(v)
    return n.inputs[0] if n is not None and n.op.name == "broadcast" and n.inputs[0].type.rank < v.type.rank else v
