"""Divisions by one divisor as multiplications by its reciprocal: in derivatives, and elsewhere under the flag "reciprocal" of
`irad.compile(fastmath=)`.

It pays where one division serves many: a divisor that is spread over an array, or comes from outside of a loop (its reciprocal is
then computed before the loop, see irad.passes.clean.licm), or, under the flag, one by which several values are divided. It
also pays in a loop of a derivative where a carried value is divided: the next trip then waits for a product, not for a quotient.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from functools import partial

from irad.core.ir import Builder, Graph, Node, Program, Value, defs, map_regions, reads
from irad.core.lazy_dataclass import dataclass, field
from irad.core.types import is_float
from irad.ops.elementwise import div, mul, szdiv, szmul
from irad.ops.regions import is_loop


def reciprocal(program: Program, fastmath: Set[str] = frozenset()) -> Program:
    """The program with fewer divisions. Graphs without any to change stay the same."""
    return {name: _graph(g, None, False, "reciprocal" in fastmath) for name, g in program.items()}


PRODUCTS = {div: mul, szdiv: szmul}


@dataclass
class _Trip:
    """The body of a loop, with the branches in it: what it binds, and reciprocals of what it does not, which stand at its start."""

    bound: set[Value] = field(default_factory=set)
    made: dict[Value, Value] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)


def _graph(graph: Graph, trip: _Trip | None, body: bool, everywhere: bool) -> Graph:
    """`trip`: the loop that runs the graph, of which it is the `body` or a branch; `everywhere`: not in derivatives only."""
    known = defs(graph)
    free = lambda n: n.op in PRODUCTS and (everywhere or n.deriv) and is_float(n.out.type.dtype)
    divisors = {n: _source(n.inputs[1], known) for n in graph.nodes if free(n)}
    if not divisors and not any(n.regions for n in graph.nodes):
        return graph
    late = _after_carries(graph, [n for n in divisors if n.deriv]) if body else set()
    count = Counter(divisors.values())
    if trip is not None:
        trip.bound |= {*graph.params, *known}
    made: dict[Value, Value] = {}
    nodes: list[Node] = []
    for n in graph.nodes:
        n = map_regions(n, partial(_region, node=n, trip=trip, everywhere=everywhere))
        y = divisors.get(n)
        outside = trip is not None and y not in trip.bound
        if y is None or not (outside or everywhere and count[y] > 1 or y is not n.inputs[1] or n in late):
            nodes.append(n)
            continue
        reciprocals, before = (trip.made, trip.nodes) if trip is not None and outside else (made, nodes)
        if y not in reciprocals:
            with Builder(n.loc, n.deriv) as b:
                reciprocals[y] = 1 / y
            before += b.nodes
        with Builder(n.loc, n.deriv) as b:
            spread = known[n.inputs[1]] if y is not n.inputs[1] else None
            PRODUCTS[n.op](n.inputs[0], reciprocals[y] if spread is None else spread.op(reciprocals[y], **spread.attrs))
        last = b.nodes.pop()
        nodes += [*b.nodes, n.replace(op=last.op, inputs=last.inputs, attrs={}, regions=())]
    return graph.replace(nodes=[*trip.nodes, *nodes] if trip is not None and body else nodes)


def _region(region: Graph, node: Node, trip: _Trip | None, everywhere: bool) -> Graph:
    if is_loop(node):
        return _graph(region, _Trip(), True, everywhere)
    return _graph(region, trip if node.op.name == "if" else None, False, everywhere)


def _after_carries(graph: Graph, divisions: list[Node]) -> set[Node]:
    """The divisions of a loop's body that wait for a carried float while their divisors do not."""
    if not divisions:
        return set()
    waits = {p for p in graph.params if p.type.differentiable}
    for n in graph.nodes:
        if any(v in waits for v in reads(n)):
            waits.update(n.outputs)
    return {n for n in divisions if n.inputs[0] in waits and n.inputs[1] not in waits}


def _source(v: Value, known: dict[Value, Node]) -> Value:
    """The value of fewer elements that is spread over v, or v."""
    n = known.get(v)
    return n.inputs[0] if n is not None and n.op.name == "broadcast" and n.inputs[0].type.rank < v.type.rank else v
