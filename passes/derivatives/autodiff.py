"""Derivatives of whole programs: `vjp` and `grad` (reverse mode), `jvp` (forward mode) of the entry.

Both give one joint graph in which the passes share work between a function and its derivative; irad.passes.derivatives.split cuts
the graph of `vjp` for a pullback.
"""

from __future__ import annotations

from collections.abc import Sequence

from irad.core.ir import Builder, Graph, Program, Value, copy
from irad.errors import IradTypeError, IradValueError
from irad.ops.constant import const
from irad.passes.clean.dce import dce
from irad.passes.clean.strong_zeros import weaken
from irad.passes.derivatives.checkpointing import NOTHING_ASKED, Asked
from irad.passes.derivatives.expand import expand
from irad.passes.derivatives.forward import linearized
from irad.passes.derivatives.reverse import Differentiation, cotangent_type, joint
from irad.passes.derivatives.rules import RULES
from irad.passes.derivatives.wholes import wholes


def vjp(
    program: Program, wrt: Sequence[int] | None = None, results: Sequence[int] | None = None, asked: Asked = NOTHING_ASKED
) -> Program:
    """@f(x...) -> y...  becomes  @f.vjp(x..., ct...) -> (y..., cotangents of the parameters `wrt`).

    `wrt`: positions of float parameters, all of them by default. `results`: positions of the results to differentiate,
    by default every float one: each brings a cotangent parameter of its type. `asked`: the memory of loops, see there.
    Raises UnsupportedError at an operation without derivative, IradTypeError if `wrt` or `results` names a non-float.
    """
    program, f, params = _prepare(program, wrt)
    chosen = _chosen(f.results, results, "result")
    diff = Differentiation(program, RULES, asked)
    ct = {k: Value(cotangent_type(f.results[k], f.params), _hint("ct", f.results[k])) for k in chosen}
    with Builder() as b:
        dx = joint(diff, f, params, [ct.get(k) for k in range(len(f.results))])
    return _finish(diff, "vjp", f, list(ct.values()), b, dx)


def grad(program: Program, wrt: Sequence[int] | None = None, result: int = 0, asked: Asked = NOTHING_ASKED) -> Program:
    """@f(x...) -> y...  becomes  @f.grad(x...) -> (y..., d y[result] / d the parameters `wrt`).

    As `vjp` with a cotangent of 1, which leaves no masked zero to guard against. The result must be a scalar.
    """
    program, f, params = _prepare(program, wrt)
    (k,) = _chosen(f.results, [result], "result")
    if f.results[k].type.shape:
        raise IradTypeError(f"the gradient of a result of type {f.results[k].type}; it must be a scalar (use vjp or jacobian)")
    diff = Differentiation(program, RULES, asked)
    with Builder() as b:
        with Builder(deriv=True) as seed:
            one = const(value=1.0, type=f.results[k].type)
        b.nodes += seed.nodes
        dx = joint(diff, f, params, [one if j == k else None for j in range(len(f.results))])
    return _finish(diff, "grad", f, [], b, dx)


def jvp(program: Program, wrt: Sequence[int] | None = None) -> Program:
    """@f(x...) -> y...  becomes  @f.jvp(x..., tangents of the parameters `wrt`) -> (y..., tangents of the float results).

    Arguments and errors as those of `vjp`.
    """
    program, f, params = _prepare(program, wrt)
    diff = Differentiation(program, RULES)
    ds = [Value(v.type, _hint("d", v)) for v in params]
    with Builder() as b:
        dy = linearized(diff, f, params, ds)
    return _finish(diff, "jvp", f, ds, b, dy)


def _hint(prefix: str, v: Value) -> str:
    return f"{prefix}_{v.hint}" if v.hint else prefix


def _prepare(program: Program, wrt: Sequence[int] | None) -> tuple[Program, Graph, list[Value]]:
    """The program without transform ops and dead code; a copy of its entry; the values to differentiate by."""
    program = dce(wholes(expand(program)))
    f = copy(next(iter(program.values())), {})
    return program, f, [f.params[k] for k in _chosen(f.params, wrt, "parameter")]


def _chosen(values: Sequence[Value], positions: Sequence[int] | None, what: str) -> list[int]:
    if positions is None:
        return [k for k, v in enumerate(values) if v.type.differentiable]
    for k in positions:
        if not 0 <= k < len(values):
            raise IradValueError(f"there is no {what} {k}: the function has {len(values)}")
        if not values[k].type.differentiable:
            raise IradTypeError(f"{what} {k} has type {values[k].type}, which has no derivative; cast it to a float first")
    if len(set(positions)) < len(positions):
        raise IradValueError(f"{what} positions {tuple(positions)} name one twice")
    return list(positions)


def _finish(diff: Differentiation, kind: str, f: Graph, extra: list[Value], b: Builder, d: list[Value]) -> Program:
    """The program whose entry is the derivative; the function itself stays if it is still called."""
    name = next(iter(diff.program))
    new = diff.fresh(f"{name}.{kind}")
    graph = Graph((*f.params, *extra), tuple(b.nodes), (*f.results, *d), new)
    made = {name: Graph(g.params, g.nodes, g.results, name) for name, g in diff.made.items()}
    return dce(weaken({new: graph, **diff.program, **made}, extra, diff.products))
