"""A smaller graph that still shows a fault: delta debugging over results, nodes, regions and extents.

After A. Zeller and R. Hildebrandt, "Simplifying and isolating failure-inducing input", 2002. Values that the graph no longer computes
become parameters with the values that they had, so that what is left runs on the same numbers.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from irad.core.interp import _Frame
from irad.core.ir import Builder, Graph, Node, Program, Value, inline, substitute_node, uses
from irad.core.text import parse, show
from irad.core.types import TAPE
from irad.core.verify import verify
from irad.errors import IradError
from irad.ops.constant import const
from irad.ops.control import for_, if_
from irad.passes.clean.dce import dce

Sample = tuple[Program, list[Any]]  # a program and its arguments
SECONDS = 60.0


def reduced(
    program: Program, args: Sequence[Any], fails: Callable[[Program, list[Any]], bool], seconds: float = SECONDS
) -> Sample:
    """The smallest sample found, in so many seconds, for which `fails` still holds, as it does for the one that is given."""
    sample, end = (program, list(args)), time.monotonic() + seconds
    while True:
        for candidate in smaller(*sample):
            if time.monotonic() > end:
                return sample
            if _valid(*candidate) and fails(*candidate):
                sample = candidate
                break
        else:
            return sample


def _valid(program: Program, args: Sequence[Any]) -> bool:
    try:
        verify(program)
    except IradError:
        return False
    params = next(iter(program.values())).params
    return len(params) == len(args) and all(not p.type.static or np.shape(a) == p.type.dims for p, a in zip(params, args))


def smaller(program: Program, args: list[Any]) -> Iterator[Sample]:
    """Smaller samples, those that are most smaller first."""
    for make in (_fewer_results, _cut, _without_node, _without_parameter, _regions, _inner_nodes, _extents):
        try:
            found = make(program, args)
            while True:
                yield next(found)
        except StopIteration:
            continue
        except (IradError, ArithmeticError, LookupError, TypeError, ValueError, AssertionError):
            continue  # what this way makes of the graph is none


def _entry(program: Program) -> Graph:
    return next(iter(program.values()))


def _with(program: Program, entry: Graph) -> Program:
    name = next(iter(program))
    return dce({**program, name: entry})


def _fewer_results(program: Program, args: list[Any]) -> Iterator[Sample]:
    entry = _entry(program)
    for k in range(len(entry.results) if len(entry.results) > 1 else 0):
        yield _with(program, entry.replace(results=[entry.results[k]])), args
    for k in range(len(entry.results) if len(entry.results) > 2 else 0):
        yield _with(program, entry.replace(results=entry.results[:k] + entry.results[k + 1 :])), args


def values_of(program: Program, args: Sequence[Any]) -> dict[Value, Any]:
    """What each value of the entry (not of its regions) is."""
    frame, entry = _Frame(program), _entry(program)
    env = dict(zip(entry.params, [np.asarray(a, p.type.numpy)[()] for a, p in zip(args, entry.params)]))
    with np.errstate(all="ignore"):
        for node in entry.nodes:
            env.update(zip(node.outputs, frame.node(node, env)))
    return env


def _cut(program: Program, args: list[Any]) -> Iterator[Sample]:
    """Only the first nodes, or only the last ones."""
    entry = _entry(program)
    n = len(entry.nodes)
    known = values_of(program, args)
    for k in dict.fromkeys((n // 2, n // 4, 3 * n // 4, n - 1, 1)):
        if 0 < k < n:
            yield _from(program, args, known, set(entry.nodes[:k]))
            last = [v for v in entry.nodes[k - 1].outputs if v.type != TAPE]
            if last:
                yield _with(program, entry.replace(nodes=entry.nodes[:k], results=last)), args


def _from(program: Program, args: list[Any], known: dict[Value, Any], gone: set[Node]) -> Sample:
    """Without these nodes: what they gave is given."""
    entry = _entry(program)
    left = [n for n in entry.nodes if n not in gone]
    read = uses(Graph((), tuple(left), entry.results))
    lost = [v for n in entry.nodes if n in gone for v in n.outputs if v in read]
    new = {v: Value(v.type, v.hint) for v in lost}
    nodes = [substitute_node(n, new) for n in left]
    results = [new.get(v, v) for v in entry.results]
    params = [*entry.params, *new.values()]
    return _with(program, Graph(tuple(params), tuple(nodes), tuple(results), entry.name)), [*args, *[known[v] for v in lost]]


def _without_node(program: Program, args: list[Any]) -> Iterator[Sample]:
    known = values_of(program, args)
    for node in reversed(_entry(program).nodes):
        if all(v.type != TAPE and not v.type.symbols for v in node.outputs) and not node.op.fills:
            yield _from(program, args, known, {node})


def _without_parameter(program: Program, args: list[Any]) -> Iterator[Sample]:
    entry = _entry(program)
    read = uses(entry)
    symbols = {s for p in entry.params for s in p.type.symbols}
    left = [k for k, p in enumerate(entry.params) if p in read or p in symbols]
    if len(left) < len(entry.params):
        yield {**program, next(iter(program)): entry.replace(params=[entry.params[k] for k in left])}, [args[k] for k in left]


def _regions(program: Program, args: list[Any]) -> Iterator[Sample]:
    """A branch in the place of an `if`; one trip in the place of a `for`."""
    for k, node in enumerate(_entry(program).nodes):
        if node.op is if_:
            for region in node.regions:
                yield _replaced(program, args, k, functools.partial(inline, region))
        elif node.op is for_:
            yield _replaced(program, args, k, functools.partial(_first_trip, node))


def _first_trip(node: Node) -> Sequence[Value]:
    return inline(node.regions[0], const(value=0, type=node.inputs[0].type), *node.inputs[1:])


def _replaced(program: Program, args: list[Any], k: int, make: Callable[[], Sequence[Value]]) -> Sample:
    """Other nodes in the place of node k of the entry."""
    entry = _entry(program)
    node = entry.nodes[k]
    with Builder(node.loc, node.deriv) as b:
        new = dict(zip(node.outputs, make()))
    nodes = [*entry.nodes[:k], *b.nodes, *[substitute_node(n, new) for n in entry.nodes[k + 1 :]]]
    return _with(program, Graph(entry.params, tuple(nodes), tuple(new.get(v, v) for v in entry.results), entry.name)), args


def _inner_nodes(program: Program, args: list[Any]) -> Iterator[Sample]:
    """An operand, or a constant, in the place of a node of a region or of the entry."""
    for name, graph in program.items():
        for changed in _simplified(graph):
            yield dce({**program, name: changed}), args


def _simplified(graph: Graph) -> Iterator[Graph]:
    for k, node in enumerate(graph.nodes):
        for j, region in enumerate(node.regions):
            for r in _simplified(region):
                regions = (*node.regions[:j], r, *node.regions[j + 1 :])
                new = node.replace(regions=regions)
                yield graph.replace(nodes=[*graph.nodes[:k], new, *graph.nodes[k + 1 :]])
        if len(node.outputs) != 1 or node.op.fills or node.out.type == TAPE:
            continue
        for other in [v for v in node.inputs if v.type == node.out.type]:
            nodes = [substitute_node(n, {node.out: other}) for n in graph.nodes[k + 1 :]]
            yield graph.replace(nodes=[*graph.nodes[:k], *nodes], results=[other if v is node.out else v for v in graph.results])
        if node.out.type.static and node.op.elementwise:
            with Builder(node.loc, node.deriv) as b:
                one = const(value=1, type=node.out.type)
            nodes = [substitute_node(n, {node.out: one}) for n in graph.nodes[k + 1 :]]
            yield graph.replace(
                nodes=[*graph.nodes[:k], *b.nodes, *nodes], results=[one if v is node.out else v for v in graph.results]
            )


def _extents(program: Program, args: list[Any]) -> Iterator[Sample]:
    """Another number in the place of an extent, wherever it stands in the text."""
    text = show(program)
    extents = sorted({d for p in re.findall(r"\[[\d,]+\]", text) for d in map(int, p[1:-1].split(",")) if d > 1}, reverse=True)
    for d in extents:
        for less in dict.fromkeys((1, 2, 3, d // 2, d - 1)):
            if not 0 < less < d:
                continue
            try:
                other = parse(re.sub(rf"(?<![\w.%@]){d}(?![\w.])", str(less), text))
            except IradError:
                continue
            params = _entry(other).params
            if any(not p.type.static or np.ndim(a) != p.type.rank for p, a in zip(params, args)):
                continue
            yield other, [np.asarray(a)[tuple(slice(e) for e in p.type.dims)] for a, p in zip(args, params)]
