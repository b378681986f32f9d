"""A saddle point by two descents, the outer one through the whole of the inner one: min over x of max over y of |x|^2 - |y|^2."""

from __future__ import annotations

from typing import Any

import numpy as np
from descent import argmax, argmin


def value(x: Any, y: Any) -> Any:
    return np.sum(x * x) - np.sum(y * y)


def solve(start: Any, outer: str, inner: str) -> Any:
    """(x0, x1, y0, y1); modes "forward" or "reverse"."""

    def highest(x: Any) -> Any:
        return value(x, argmax(lambda y: value(x, y), start, inner))

    x = argmin(highest, start, outer)
    y = argmax(lambda y: value(x, y), start, inner)
    return np.concatenate([x, y])


def generate() -> tuple[Any, ...]:
    return (np.array([1.0, 1.0]),)
