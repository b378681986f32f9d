"""The derivatives of a graph in every way that there is, against each other.

Of the sum of its float results, each element with a weight of its own, along random directions: differences of two steps, a complex step
where the graph is analytic ("Squire, Trapp, Using complex variables to estimate derivatives of real functions, 1998": no subtraction, so
right to the last digits), forward and reverse mode; of second order: forward over reverse, reverse over forward, reverse over reverse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from irad.core.interp import _Frame, interpret
from irad.core.ir import Graph, Node, Program, Value, build, copy, emit, inline
from irad.core.promotion import of_numpy_2
from irad.core.types import F64
from irad.errors import UnsupportedError
from irad.ops import OPS
from irad.ops import elementwise as ew
from irad.ops.array import sum_
from irad.ops.constant import const
from irad.ops.control import RaisedInGraph
from irad.passes.derivatives.expand import expand

FIRST, SECOND = ("f", "r"), ("rf", "fr", "rr")  # modes, the inner one first
NAMES = {"f": "forward", "r": "reverse", "rf": "forward over reverse", "fr": "reverse over forward", "rr": "reverse over reverse"}
STEP = 1e-3  # of differences, of arguments of size 1
EXACT, NEAR = 1e-7, 1e-5  # what two exact ways, and differences, may differ by

Directions = Sequence[Mapping[int, np.ndarray]]  # by the number of the parameter


def derivative_differs(program: Program, args: Sequence[Any]) -> tuple[str, str]:
    """The first way whose derivative is another number, and both numbers; ("", "") if all agree.

    What is not smooth along the directions, raises, or has no finite derivative is not compared.
    """
    total = _total(program)
    if total is None or not _finite(args):
        return "", ""
    ds = _directions(total, args)
    for order, modes in ((1, FIRST), (2, SECOND)):
        found = _compared(total, args, ds[:order], modes)
        if found != ("", ""):
            return found
    return "", ""


def _compared(total: Program, args: Sequence[Any], ds: Directions, modes: Sequence[str]) -> tuple[str, str]:
    try:
        ways = {NAMES[m]: _value(_derived(total, ds, m), args) for m in modes}
        by_differences = _differences(_derived(total, ds[1:], "f" * (len(ds) - 1)), args, ds[0])
    except (RaisedInGraph, UnsupportedError):
        return "", ""
    if by_differences is None or not all(np.isfinite(x) for x in ways.values()):
        return "", ""
    want, scale = by_differences
    if len(ds) == 1:
        step = complex_step(total, args, ds[0])
        if step is not None:
            ways = {"complex step": step, **ways}
    first = next(iter(ways.values()))
    for name, x in ways.items():
        if abs(x - want) > NEAR * (scale + abs(want)):
            return name, f"{x!r}, not {want!r} as differences say"
        if abs(x - first) > EXACT * (scale + abs(first)):
            return name, f"{x!r}, not {first!r} as {next(iter(ways))} says"
    return "", ""


# ---- programs -------------------------------------------------------------------------------------------------------------


def _total(program: Program) -> Program | None:
    """The weighted sum of the float results; None if there is no float parameter or result of constant extents, or a tape."""
    (name, g), *others = program.items()
    moving = [p for p in g.params if _moves(p)]
    if not moving or not any(_moves(v) for v in g.results) or any(v.type.dtype == "tape" for v in (*g.params, *g.results)):
        return None

    def body(*vs: Value) -> Value:
        out = None
        for k, v in enumerate(inline(g, *vs)):
            if not _moves(v):
                continue
            t = ew.cast_to(v, "f64")
            weights = np.cos(1.0 + k + np.arange(t.type.size)).reshape(t.type.dims)
            part = t * const(value=weights if t.type.shape else float(weights), type=t.type)
            part = sum_(part, axes=tuple(range(t.type.rank))) if t.type.shape else part
            out = part if out is None else out + part
        assert out is not None
        return out

    return {name: build([p.type for p in g.params], body, name), **dict(others)}


def _moves(v: Value) -> bool:
    return v.type.dtype in ("f64", "f32") and v.type.static


def _derived(program: Program, ds: Directions, modes: str) -> Program:
    """The derivative along directions, one after the other."""
    for d, mode in zip(ds, modes):
        program = _along(program, d, mode)
    return expand(program)


def _along(program: Program, d: Mapping[int, np.ndarray], mode: str) -> Program:
    (name, g), *others = program.items()

    def body(*vs: Value) -> Value:
        f, wrt = copy(Graph(g.params, g.nodes, g.results), {}), tuple(d)
        steps = [const(value=d[k].astype(vs[k].type.numpy)[()], type=vs[k].type) for k in wrt]
        if mode == "f":
            return emit(OPS["jvp"], *vs, *steps, regions=[f], wrt=wrt)[-1]
        outs = emit(OPS["vjp"], *vs, const(value=1.0, type=F64), regions=[f], wrt=wrt)[-len(wrt) :]
        parts = [o * s for o, s in zip(outs, steps)]
        sums = [ew.cast_to(sum_(p, axes=tuple(range(p.type.rank))) if p.type.shape else p, "f64") for p in parts]
        total = sums[0]
        for s in sums[1:]:
            total = total + s
        return total

    return {name: build([p.type for p in g.params], body, name), **dict(others)}


# ---- numbers ----------------------------------------------------------------------------------------------------------------


def _finite(args: Sequence[Any]) -> bool:
    return all(bool(np.all(np.isfinite(a))) for a in map(np.asarray, args) if a.dtype.kind == "f")


def _directions(total: Program, args: Sequence[Any]) -> Directions:
    rng, params = np.random.default_rng(0), next(iter(total.values())).params
    at = [k for k, p in enumerate(params) if _moves(p)]
    return [{k: np.asarray(rng.uniform(-1.0, 1.0, np.shape(args[k]))) for k in at} for _ in range(2)]


def _moved(args: Sequence[Any], d: Mapping[int, np.ndarray], h: float) -> list[Any]:
    return [np.asarray(x) + h * d[k] if k in d else x for k, x in enumerate(args)]


def _value(program: Program, args: Sequence[Any]) -> float:
    return float(interpret(program, *args)[-1])


def _differences(program: Program, args: Sequence[Any], d: Mapping[int, np.ndarray]) -> tuple[float, float] | None:
    """Richardson's differences, and the size of the numbers they are made of; None where steps say other things, as at a kink."""
    params = next(iter(program.values())).params
    step = STEP if all(params[k].type.dtype == "f64" for k in d) else 3e-2
    size = max(1.0, *(float(np.max(np.abs(args[k]), initial=0.0)) for k in d))
    found, scale = [], 0.0
    for h in (step, step / 2, step / 4):
        up, down = (_value(program, _moved(args, d, s * h * size)) for s in (1, -1))
        found.append((up - down) / (2 * h * size))
        scale = max(scale, abs(up), abs(down))
    first, second = ((4 * b - a) / 3 for a, b in zip(found, found[1:]))
    best = (16 * second - first) / 15
    near = NEAR if step == STEP else 1e-2
    if not np.isfinite(best) or abs(first - second) > near * (abs(best) + scale):
        return None
    return (best, scale) if step == STEP else None


# ---- a complex step -----------------------------------------------------------------------------------------------------------------


class NotAnalytic(Exception):
    """The graph does something with a number that has no meaning for complex ones, or is not analytic."""


TINY = 1e-40
_MOVES = set(
    "broadcast reshape transpose copy select index update update_add concat sum dot cumsum if for while call checkpoint".split()
)
_ANALYTIC = set("add sub mul div neg sqrt exp expm1 log log1p sin cos tan sinh cosh tanh arcsin arctan arcsinh arctanh".split())


def complex_step(program: Program, args: Sequence[Any], d: Mapping[int, np.ndarray]) -> float | None:
    """The imaginary part of the result of x + i h d over h; None where the graph is not analytic, or not in double precision."""
    program = expand(program)
    entry = next(iter(program.values()))
    if any(entry.params[k].type.dtype != "f64" for k in d):
        return None
    moved = [np.asarray(x) + 1j * TINY * d[k] if k in d else x for k, x in enumerate(args)]
    try:
        with of_numpy_2(), np.errstate(all="ignore"):
            out = _Complex(program).graph(entry, moved, {})[-1]
    except (NotAnalytic, RaisedInGraph):
        return None
    return float(np.imag(out)) / TINY if np.iscomplexobj(out) else 0.0


def _analytic_power(x: Any, y: Any) -> bool:
    return not np.iscomplexobj(y) and bool(np.all((y == np.rint(y)) | (np.real(x) > 0)))


class _Complex(_Frame):
    """The interpreter on complex numbers in the place of real ones."""

    def node(self, node: Node, env: dict[Value, Any]) -> Sequence[Any]:
        if node.op.regions or node.op.name == "call" or not any(np.iscomplexobj(env[v]) for v in node.inputs):
            self._known(node)
            return super().node(node, env)
        name = node.op.name
        if node.op.elementwise and node.out.type.dtype == "bool":  # the real part decides
            return super().node(node, {**env, **{v: np.real(env[v]) for v in node.inputs}})
        if name not in _MOVES | _ANALYTIC and not (name == "pow" and _analytic_power(*(env[v] for v in node.inputs))):
            raise NotAnalytic(name)
        whole = {v: np.asarray(env[v], complex)[()] for v in node.inputs if v.type.dtype == "f64"}
        out = super().node(node, {**env, **whole})
        if not all(np.iscomplexobj(x) for x, v in zip(out, node.outputs) if v.type.dtype == "f64"):
            raise NotAnalytic(name)
        return out

    def _known(self, node: Node) -> None:
        if node.op.regions and node.op.name not in _MOVES:
            raise NotAnalytic(node.op.name)
