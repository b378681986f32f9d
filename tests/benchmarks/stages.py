"""Stages over n and n - 1 elements, planes with the levels last or first, triangles, views: CPU time beside NumPy, one thread.

    python -m tests.benchmarks.stages            all; or names

Results are fresh in each call. With `MALLOC_MMAP_THRESHOLD_` and `MALLOC_TRIM_THRESHOLD_` set to a large number the C library keeps
their memory; else page faults are half of the time of some gradients.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import irad


def runge_kutta(slope, x, s):
    y, h = np.zeros(len(x)), 2.0 / s
    for _ in range(s):
        k1 = slope(x, y)
        k2 = slope(x, y + h / 2 * k1)
        k3 = slope(x, y + h / 2 * k2)
        k4 = slope(x, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.sum(y)


def joined(x, y):
    return x * np.concatenate([np.ones(1), y[:-1]])


def stored(x, y):
    dy = np.empty_like(y)
    dy[0] = x[0]
    dy[1:] = x[1:] * y[:-1]
    return dy


def multiplied(x, y):
    dy = x.copy()
    dy[1:] *= y[:-1]
    return dy


def stages_joined(x, s):
    return runge_kutta(joined, x, s)


def stages_stored(x, s):
    return runge_kutta(stored, x, s)


def stages_multiplied(x, s):
    return runge_kutta(multiplied, x, s)


def levels_last(a, b, c, d):
    n = a.shape[-1]
    cp, dp, x = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
    cp[:, :, 0] = c[:, :, 0] / b[:, :, 0]
    dp[:, :, 0] = d[:, :, 0] / b[:, :, 0]
    for k in range(1, n):
        m = b[:, :, k] - a[:, :, k] * cp[:, :, k - 1]
        cp[:, :, k] = c[:, :, k] / m
        dp[:, :, k] = (d[:, :, k] - a[:, :, k] * dp[:, :, k - 1]) / m
    x[:, :, n - 1] = dp[:, :, n - 1]
    for k in range(n - 2, -1, -1):
        x[:, :, k] = dp[:, :, k] - cp[:, :, k] * x[:, :, k + 1]
    return np.sum(x * x)


def levels_first(a, b, c, d):
    n = a.shape[0]
    cp, dp, x = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for k in range(1, n):
        m = b[k] - a[k] * cp[k - 1]
        cp[k] = c[k] / m
        dp[k] = (d[k] - a[k] * dp[k - 1]) / m
    x[n - 1] = dp[n - 1]
    for k in range(n - 2, -1, -1):
        x[k] = dp[k] - cp[k] * x[k + 1]
    return np.sum(x * x)


def three_points(a, x):
    y = np.zeros_like(x)
    y[..., 0] = x[..., 0]
    y[..., 1] = x[..., 1]
    for k in range(2, x.shape[-1]):
        y[..., k] = a[..., k] * y[..., k - 1] * (1 - 0.1 * y[..., k - 1]) - 0.3 * y[..., k - 2] + x[..., k]
    return np.sum(y * y)


def advection(u, w):
    out = np.zeros_like(u)
    for k in range(1, u.shape[-1] - 1):
        out[:, :, k] = w[:, :, k] * (u[:, :, k + 1] - u[:, :, k - 1]) * 0.5
    return np.sum(out * out)


def triangle(x):
    n = x.shape[1]
    c = np.zeros((n, n))
    for i in range(n):
        c[i, i:] = x[:, i] @ x[:, i:]
    return np.sum(c * c)


def view(x, vals):
    m = vals[: len(x) * 4].reshape(len(x), 4)
    for i in range(len(x)):
        m[i, i % 4] += x[i] * x[i]
    return np.sum(vals * vals)


def best(call: Callable[[], Any], seconds: float) -> float:
    """Microseconds of CPU time, the least of many runs."""
    call()
    least, end = np.inf, time.time() + seconds
    while time.time() < end:
        start = time.process_time()
        call()
        least = min(least, time.process_time() - start)
    return least * 1e6


def main(names: list[str]) -> None:
    of = lambda *shape: np.random.default_rng(0).uniform(0.5, 1.5, shape)
    long, last, first, small = of(100_000), (64, 64, 50), (50, 64, 64), (16, 16, 20)
    system = lambda shape: (0.1 * of(*shape), of(*shape) + 1, 0.1 * of(*shape), of(*shape))
    cases: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "stages, joined": (stages_joined, (long, 10)),
        "stages, stored": (stages_stored, (long, 10)),
        "stages, multiplied": (stages_multiplied, (long, 10)),
        "levels last": (levels_last, system(last)),
        "levels first": (levels_first, system(first)),
        "levels last, 16 x 16 x 20": (levels_last, system(small)),
        "levels first, 20 x 16 x 16": (levels_first, system(small[::-1])),
        "three points": (three_points, (0.3 * of(64, 64, 80), of(64, 64, 80))),
        "advection": (advection, (of(*last), of(*last))),
        "triangle": (triangle, (of(300, 200),)),
        "view": (view, (of(1000), of(100_000))),
    }
    print(f"{'us':28}{'NumPy':>10}{'value':>10}{'gradient':>10}")
    for name, (f, args) in cases.items():
        if names and name not in names:
            continue
        at = tuple(k for k, x in enumerate(args) if isinstance(x, np.ndarray))
        calls = (f, irad.compile(f, threads=1), irad.compile(irad.value_and_grad(f, argnums=at), threads=1))
        times = [best(partial(c, *args), 0.5) for c in calls]
        print(f"{name:28}" + "".join(f"{t:10.1f}" for t in times), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
