"""The meaning of a graph in which transforms stand: the interpreter, with `vjp` and `jvp` by differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.interp import _Frame
from irad.core.ir import Node, Program, Value, walk

STEP = 1e-3


def has_transforms(program: Program) -> bool:
    return any(n.op.name in ("vjp", "jvp", "vmap") for g in program.values() for n in walk(g))


def interpret(program: Program, *args: Any) -> list[Any]:
    """Results of the entry; those of derivatives are right to about 10 digits, nested ones to about 8."""
    with np.errstate(all="ignore"):
        return _Differences(program).graph(next(iter(program.values())), args, {})


class _Differences(_Frame):
    def node(self, node: Node, env: dict[Value, Any]) -> Sequence[Any]:
        if node.op.name not in ("vjp", "jvp"):
            return super().node(node, env)
        (region,) = node.regions
        ins = [np.asarray(env[v], float) for v in node.inputs]
        xs, given = ins[: len(region.params)], ins[len(region.params) :]
        f, wrt = self._region(region, env), node.attrs["wrt"]
        if node.op.name == "jvp":
            return (*f(*xs), *slope(f, xs, dict(zip(wrt, given))))
        return (*f(*xs), *(cotangent(f, xs, k, given) for k in wrt))


def slope(f: Callable[..., list[Any]], xs: list[Any], along: dict[int, Any]) -> list[Any]:
    """The derivative of each result along a direction, by Richardson's differences."""
    at = lambda t: [np.asarray(r) for r in f(*(x + t * along[k] if k in along else x for k, x in enumerate(xs)))]
    near, far = zip(at(STEP), at(-STEP)), zip(at(2 * STEP), at(-2 * STEP))
    return [(8 * (a - b) - (c - d)) / (12 * STEP) for (a, b), (c, d) in zip(near, far)]


def cotangent(f: Callable[..., list[Any]], xs: list[Any], k: int, given: list[Any]) -> Any:
    """The cotangent of argument `k`, element by element, for the given cotangents of the results."""
    out = np.zeros(np.shape(xs[k]))
    for at in np.ndindex(out.shape):
        unit = np.zeros(out.shape)
        unit[at] = 1.0
        out[at] = sum(np.sum(c * s) for c, s in zip(given, slope(f, xs, {k: unit}), strict=True))
    return out[()]
