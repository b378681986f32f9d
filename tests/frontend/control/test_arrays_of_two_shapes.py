"""A variable that is an array of one shape on one path, and of another number of axes or other extents on another."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

SAMPLES = (np.array([0.6, 0.2, 0.4]), np.array([0.4, 0.2, 0.9]), np.array([0.1, 0.6, 0.2]))


def settled_by_its_rank(x: Any) -> Any:
    y = x
    if x[0] > 0.5:
        y = x[:, None]
    if y.ndim == 1:
        y = y.reshape(-1, 1)
    return np.sum(y * np.arange(6.0).reshape(3, 2))


def settled_by_its_shape(x: Any) -> Any:
    v = x if x[0] > 0.5 else x.reshape(1, 3)
    first = v[0] if v.shape == (3,) else v[0, 1] * 10
    if len(v.shape) == 1:
        v = v[np.newaxis, :]
    n, m = v.shape
    return n * m + np.sum(v**2) + first


def both_at_once(x: Any) -> Any:
    b = x if x[0] > 0.5 else np.column_stack([x, 2 * x])
    a = np.arange(9.0).reshape(3, 3) + np.eye(3)
    r = a @ b
    return np.sum(np.linalg.solve(a, b)) + np.sum(r * b) + np.sum(b) / b.size + np.mean(np.atleast_2d(b))


def stored_into(x: Any) -> Any:
    y, z = np.zeros(3), np.ones((3, 1))
    w = y if x[0] > 0.5 else z
    other = w
    w[0] = 5 * x[1]
    w += x[2]
    y[1] = 7.0
    other[1:] *= 2
    return np.sum(y) + 2 * np.sum(z) + np.sum(w) + (w is other) + (w is y)


def in_loops(x: Any, n: int = 3) -> Any:
    h = x
    for k in range(n):
        if h.ndim == 1 and x[k] > 0.5:
            h = h[:, None] * 2
        elif h.ndim == 2 and x[k] < 0.3:
            h = h[:, 0] + 1
        h = h * 1.1
    g, k = x, 0
    while k < n:
        g = np.outer(x, x) if x[k] > 0.5 else g
        g = g + x[k]
        k += 1
    return np.sum(h) * h.ndim + np.sum(g**2)


def other_extents(x: Any) -> Any:
    def made() -> Any:
        if x[0] > 0.5:
            return np.ones((2, 3)) * x
        return np.ones((3, 2)) * x[1]

    a, t = made(), 0.0
    for row in made():
        t = t + np.sum(row) ** 2
    return np.sum(a**2) + a.shape[0] + t + sum((1, 2) if x[0] > 0.5 else (3, 4, 5))


PROGRAMS = [settled_by_its_rank, settled_by_its_shape, both_at_once, stored_into, in_loops, other_extents]


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_numpy(program: Callable[[Any], Any]) -> None:
    compiled, slope = irad.compile(program), irad.grad(program)
    for x in SAMPLES:
        np.testing.assert_allclose(compiled(x), program(x), rtol=1e-12)
        slopes = [(program(x + e) - program(x - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(slope(x), slopes, rtol=1e-6, atol=1e-8)


def test_results_zero_trips_and_shapes_that_do_not_fit() -> None:
    def either(x: Any) -> Any:
        return x if x[0] > 0.5 else np.outer(x, x)

    compiled = irad.compile(either)
    for x in SAMPLES:
        assert compiled(x).shape == either(x).shape
        np.testing.assert_allclose(compiled(x), either(x), rtol=1e-15)
    np.testing.assert_allclose(irad.compile(in_loops)(SAMPLES[0], 0), in_loops(SAMPLES[0], 0))

    def unfit(x: Any) -> Any:
        b = x if x[0] > 0.5 else x[:2, None]
        return np.sum(x + b)

    compiled = irad.compile(unfit)
    np.testing.assert_allclose([compiled(x) for x in SAMPLES], [unfit(x) for x in SAMPLES], rtol=1e-14)

    def never(x: Any) -> Any:
        b = x if x[0] > 0.5 else np.zeros((2, 2))
        return np.sum(x + b)

    with pytest.raises(ValueError, match="could not be broadcast together"):
        irad.compile(never)(SAMPLES[1])
    np.testing.assert_allclose(irad.compile(never)(SAMPLES[0]), never(SAMPLES[0]), rtol=1e-14)


def test_of_three_shapes() -> None:
    def f(x: Any) -> Any:
        v = x if x[0] > 0.5 else x[:, None] if x[1] > 0.5 else np.outer(x, x)
        return np.sum(v)

    with pytest.raises(irad.UnsupportedError, match="give it one number of axes on all paths"):
        irad.compile(f)(SAMPLES[0])
