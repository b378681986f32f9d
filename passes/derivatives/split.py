"""Cut the joint graph of `vjp` in two, for a pullback that Python calls later: forward and backward."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from irad.core.ir import Builder, Graph, Node, Program, Value, reads, walk
from irad.core.lazy_dataclass import dataclass
from irad.core.types import I64, TAPE
from irad.ops.control import pop
from irad.ops.elementwise import limit
from irad.passes.analyses.capacity import record_bounds
from irad.passes.clean.dce import dce, effectful, has_effects
from irad.passes.derivatives.save_or_recompute import choose
from irad.passes.rewrite import Env, lookup, rebuild, rename_bound


@dataclass(frozen=True)
class Residual:
    """A value that the backward reads: argument or result number `index`, or value number `index` of the forward's own.

    An argument or a result is an object that Python may change before the pullback runs: whoever keeps it, copies it.
    """

    source: Literal["argument", "result", "value"]
    index: int


@dataclass(frozen=True)
class Split:
    """`forward`: (x...) -> (y..., values...); `backward`: (residuals..., ct...) -> cotangents.

    A value may be a tape; the pullback reads it from its end, so one that runs again needs the tape whole.
    """

    forward: Program
    backward: Program
    residuals: tuple[Residual, ...]


def split(program: Program, args: int, results: int) -> Split:
    """Cut the entry of `program`: its first `args` parameters and first `results` results are the function's own.

    What does not depend on the other parameters (the cotangents) goes into the forward, but for what only the backward
    reads and can compute from no more memory than saving it takes.
    """
    program = _bounded(program)
    g = next(iter(program.values()))
    x, ct, y, dx = g.params[:args], g.params[args:], g.results[:results], g.results[results:]
    effects = effectful(program)
    late = _dependents(g, ct)
    early = [n for n in g.nodes if n not in late]
    primal = _needed(early, y, effects)
    bound = {v for n in late for v in n.outputs}
    wanted = dict.fromkeys(v for n in g.nodes if n in late for v in reads(n))
    wanted.update(dict.fromkeys([*dx, *(s for v in ct for s in v.type.symbols)]))
    needed = [v for v in wanted if v not in bound and v not in ct]

    def cheap(n: Node) -> bool:
        if any(v.type == TAPE for v in (*n.inputs, *n.outputs)) or has_effects(n, effects):
            return False
        return n.op.cheap or n not in primal

    saved, again = choose(Graph(x, tuple(early), ()), needed, lambda v: False, cheap)
    if any(not v.type.static for v in saved):  # what bounds the length of an array stands in the forward: run it again
        saved, again = list(x), [n for n in early if n.outputs or not has_effects(n, effects)]
    order = {v: k for k, v in enumerate([*x, *(v for n in early for v in n.outputs)])}
    saved.sort(key=lambda v: (not v.type.static, order[v]))  # extents stand before what mentions them
    residuals, values = _sources(saved, x, y)
    forward = Graph(x, tuple(early), (*y, *values), _fresh(program, "forward"))
    backward = Graph((*saved, *ct), (*again, *(n for n in g.nodes if n in late)), dx, _fresh(program, "backward"))
    rest = dict(list(program.items())[1:])
    return Split(dce({forward.name: forward, **rest}), dce({backward.name: backward, **rest}), residuals)


def _bounded(program: Program) -> Program:
    """The program with bounds at the extents that it takes off a tape: the backward alone does not see what was put there."""
    if not any(v.type.symbols for g in program.values() for n in walk(g) if n.op is pop for v in n.outputs):
        return program
    most = record_bounds(program)

    def graph(g: Graph, env: Env) -> Graph:
        nodes: list[Node] = []
        for n in g.nodes:
            nodes.append(rebuild(n, env, [graph(r, env) for r in n.regions]))
            for k, v in enumerate(n.outputs[1:] if n.op is pop else ()):
                if v.type == I64 and (n.attrs["site"], k) in most:
                    with Builder(loc=n.loc, deriv=n.deriv) as b:
                        env[v] = limit(v, most[n.attrs["site"], k])
                    nodes += b.nodes
        return g.replace(rename_bound(g.params, env), nodes, [lookup(env, v) for v in g.results])

    return {name: graph(g, {}) for name, g in program.items()}


def _fresh(program: Program, kind: str) -> str:
    """A name for a half of the entry: @f.vjp gives @f.forward and @f.backward."""
    name = f"{next(iter(program)).removesuffix('.vjp')}.{kind}"
    while name in program:
        name += "_"
    return name


def _dependents(g: Graph, params: Iterable[Value]) -> set[Node]:
    """The nodes that depend on some parameters."""
    reached, nodes = set(params), set()
    for n in g.nodes:
        if any(v in reached for v in reads(n)):
            reached.update(n.outputs)
            nodes.add(n)
    return nodes


def _needed(nodes: list[Node], results: Iterable[Value], effects: set[str]) -> set[Node]:
    """The nodes that some results, or the effects among the nodes, need."""
    want, found = set(results), set()
    for n in reversed(nodes):
        if any(v in want for v in n.outputs) or any(has_effects(m, effects) for m in _with_regions(n)):
            found.add(n)
            want.update(reads(n))
    return found


def _with_regions(n: Node) -> Iterable[Node]:
    yield n
    for r in n.regions:
        for m in r.nodes:
            yield from _with_regions(m)


def _sources(saved: Iterable[Value], x: tuple[Value, ...], y: tuple[Value, ...]) -> tuple[tuple[Residual, ...], list[Value]]:
    """Where each saved value comes from, and the ones that the forward must return on top of its results."""
    residuals: list[Residual] = []
    values: list[Value] = []
    for v in saved:
        if v in x:
            residuals.append(Residual("argument", x.index(v)))
        elif v in y:
            residuals.append(Residual("result", y.index(v)))
        else:
            residuals.append(Residual("value", len(values)))
            values.append(v)
    return tuple(residuals), values
