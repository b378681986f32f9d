"""Arrays of dtype object: lists with a shape, of numbers and arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad


def network(x: Any) -> Any:
    sizes = [2, 3, 1]
    w = np.array([np.ones((3, 2)) * x, np.ones((1, 3)) * x * x], dtype=object)
    b = np.empty(2, dtype=object)
    for i in range(2):
        b[i] = np.zeros(sizes[i + 1]) + 0.1 * x
    a = np.array([0.3, 0.7])
    for m, c in zip(w, b):
        a = np.tanh(m @ a + c)
    slopes = np.zeros(2, dtype="O")
    for i in range(2):
        slopes[i] = w[i] * a[0]
    w = w - 0.5 * slopes
    w += slopes * np.float64(0.1)
    for i in range(len(w)):
        w[i] -= 0.01 * w[i]
    return sum(np.sum(m**2) for m in w) + a[0]


def in_a_loop(x: Any, n: int = 3) -> Any:
    g = np.array([np.ones(2), np.ones(3)], dtype=object)
    d = np.array([np.ones(2) * x, np.ones(3) * x**2], dtype=object)
    for _ in range(n):
        g = g - 0.1 * d * g
    return np.sum(g[0]) + np.sum(g[1] ** 2) + np.sum(np.concatenate(g))


def views_and_copies(x: Any) -> Any:
    a = np.empty((2, 3), dtype=object)
    for i in range(2):
        for j in range(3):
            a[i, j] = x * (i + 2 * j)
    row, column, copied = a[1], a[:, 1], a[[0, 1]]
    row[0] = 7 * x
    column[:] = [x, x**2]
    copied[0, 0] = 1000.0
    t = a.T.copy()
    t[0, 0] = 100.0
    parts = a.sum() + np.sum(a[1]) * a[1, 0] + t[2, 1] + np.mean(a) + a.sum(axis=0)[1] + len(a) + a.shape[1]
    return parts + np.sum(np.array(a.tolist()) ** 2) + np.sum(a.astype(float)[1]) + np.sum(a.reshape(3, 2)[2])


def elements_are_themselves(x: Any) -> Any:
    v = np.ones(2) * x
    a = np.array([v, 1.0, [2.0, x]], dtype=object)
    b = a
    a[0][0] = 9.0
    a[2].append(x)
    b[1] = x
    return v[0] * x + a[0][1] + a[1] + sum(a[2])


def operators(x: Any) -> Any:
    m = np.array([[x, 1.0], [2.0, x * x]], dtype=object)
    n = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = [(m * m)[1, 1], (m + m.T)[0, 1], (m - 1.0)[0, 0], (2.0**m)[1, 0], (n * m)[1, 1], (np.float64(2.0) * m)[0, 0]]
    return sum(found) + (m / n[0])[0, 1] + np.dot(m[0], m[1]) + np.any(m > 1.5) + isinstance(m, np.ndarray) + (-m)[1, 1] + m.max()


PROGRAMS = [network, in_a_loop, views_and_copies, elements_are_themselves, operators]


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_numpy(program: Callable[[Any], Any]) -> None:
    compiled = irad.compile(program)
    for x in (0.4, 1.7):
        np.testing.assert_allclose(compiled(x), program(x), rtol=1e-12)
        slope = (program(x + 1e-6) - program(x - 1e-6)) / 2e-6
        np.testing.assert_allclose(irad.grad(program)(x), slope, rtol=1e-6)


def test_no_trips_positions_and_results() -> None:
    assert irad.compile(in_a_loop)(0.4, 0) == in_a_loop(0.4, 0)

    def stored(x: Any, k: Any) -> Any:
        a = np.array([x, 2 * x, 3 * x], dtype=object)
        a[k[0]] = a[k[1]] ** 2
        return a

    got, want = irad.compile(stored)(2.0, np.array([2, 1])), stored(2.0, np.array([2, 1]))
    assert got.dtype == object and got.tolist() == want.tolist() == [2.0, 4.0, 16.0]

    def ragged(x: Any) -> Any:
        return np.array([np.ones(2) * x, np.ones(3)], dtype=object)

    got = irad.compile(ragged)(2.0)
    assert got.shape == (2,) and got[0].tolist() == [2.0, 2.0] and got[1].tolist() == [1.0] * 3


def test_what_is_refused() -> None:
    def unlike(x: Any) -> Any:
        return np.array([np.ones((2, 3)) * x, np.ones((2, 2))], dtype=object)

    def of_lists(x: Any) -> Any:
        return np.cumsum(np.array([x, 2 * x], dtype=object))

    with pytest.raises(ValueError, match="could not broadcast"):
        irad.compile(unlike)(1.0)
    with pytest.raises(irad.UnsupportedError, match="np.cumsum of an array of objects; call it of each element"):
        irad.compile(of_lists)(1.0)
