"""A chain of linear differential equations, y_0' = x_0 and y_i' = x_i y_(i-1), by the classic Runge-Kutta method from 0 to 2."""

from __future__ import annotations

from typing import Any

import numpy as np


def slope(x: Any, y: Any) -> Any:
    return x * np.concatenate([np.ones(1), y[:-1]])


def solve(x: Any, s: int) -> Any:
    """y(2) after s steps, with arrays."""
    y, h = np.zeros(len(x)), 2.0 / s
    for _ in range(s):
        k1 = slope(x, y)
        k2 = slope(x, y + h / 2 * k1)
        k3 = slope(x, y + h / 2 * k2)
        k4 = slope(x, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def slope_loops(x: Any, y: Any) -> Any:
    dy = np.empty(len(x))
    dy[0] = x[0]
    for i in range(1, len(x)):
        dy[i] = x[i] * y[i - 1]
    return dy


def moved(y: Any, h: float, k: Any) -> Any:
    out = np.empty(len(y))
    for i in range(len(y)):
        out[i] = y[i] + h * k[i]
    return out


def solve_loops(x: Any, s: int) -> Any:
    """The same, element by element."""
    y, h = np.zeros(len(x)), 2.0 / s
    for _ in range(s):
        k1 = slope_loops(x, y)
        k2 = slope_loops(x, moved(y, h / 2, k1))
        k3 = slope_loops(x, moved(y, h / 2, k2))
        k4 = slope_loops(x, moved(y, h, k3))
        for i in range(len(y)):
            y[i] = y[i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i])
    return y


def last(x: Any, s: int) -> Any:
    """What `gradient` differentiates: the last element."""
    return solve(x, s)[-1]


def last_loops(x: Any, s: int) -> Any:
    return solve_loops(x, s)[-1]


def generate(n: int, s: int, seed: int = 0) -> tuple[Any, ...]:
    return np.random.default_rng(seed).uniform(0.5, 1.5, n), s
