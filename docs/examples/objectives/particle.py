"""A charged particle, steered by one number so that it meets the axis close to the origin: nested derivatives in loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from descent import argmin, norm

import irad

STEP = 0.1


def miss(w: Any, mode: str) -> Any:
    """The square of where the particle meets the axis; `mode`: of the derivative of the potential."""
    first, second = np.array([10.0, 10.0 - w[0]]), np.array([10.0, 0.0])
    force = irad.grad(lambda x: 1.0 / norm(x - first) + 1.0 / norm(x - second), mode=mode)
    x, v = np.array([0.0, 8.0]), np.array([0.75, 0.0])
    while True:
        a = -force(x)
        x = x + STEP * v
        if x[1] <= 0.0:
            break
        v = v + STEP * a
    rest = -x[1] / v[1]
    return (x[0] + rest * v[0]) ** 2


def solve(w: float, outer: str, inner: str) -> Any:
    """The w that minimises `miss`, from the given one; modes "forward" or "reverse"."""
    return argmin(lambda w: miss(w, inner), np.array([w]), outer)[0]


def generate() -> tuple[Any, ...]:
    return (0.0,)
