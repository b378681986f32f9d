"""Least squares: a polynomial close to the sign of t at n points between -1 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np


def residual(x: Any, n: int) -> Any:
    """With arrays: x holds the m coefficients, the constant first; the polynomial by Horner's rule on all points."""
    t = -1.0 + 2.0 * np.arange(n) / (n - 1)
    value = np.zeros(n)
    for j in range(len(x) - 1, -1, -1):
        value = value * t + x[j]
    return 0.5 * np.sum((np.sign(t) - value) ** 2)


def residual_loops(x: Any, n: int) -> Any:
    """The same, point by point, with powers that are carried along."""
    total = 0.0
    for i in range(n):
        t = -1.0 + 2.0 * i / (n - 1)
        power, value = 1.0, 0.0
        for j in range(len(x)):
            value += x[j] * power
            power *= t
        total += (np.sign(t) - value) ** 2
    return 0.5 * total


def generate(m: int, n: int, seed: int = 0) -> tuple[Any, ...]:
    return np.random.default_rng(seed).normal(size=m), n
