"""What each row of a loop reads with a stride is copied once, and read from the copy; the numbers stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad


def by_a_column(a, q, k):
    return a @ q[:, k]


def powers(a, q, k):
    """A column of each step is read before the next one is stored beside it."""
    q = q.copy()
    for j in range(q.shape[1] - 1):
        q[:, j + 1] = a @ q[:, j] * 0.1 + k
    return q


def onto_what_is_read(a, q, k):
    """The column that is read is written by the loop that reads it."""
    q = q.copy()
    q[:30, k] += a[:30, :30] @ q[:30, k]
    return q


def backwards(a, q, k):
    return np.sum(np.tanh(a * q[::-1, k]), axis=1)


def by_places_in_data(a, q, k):
    """Which element a row reads is computed in the row."""
    places = np.argsort(q[:, 0])
    return np.sum(a * q[places, k], axis=1)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("f", [by_a_column, powers, onto_what_is_read, backwards, by_places_in_data], ids=lambda f: f.__name__)
def test_the_same_numbers(f: Callable[..., Any], dtype: str, threads: int) -> None:
    rng = np.random.default_rng(4)
    a, q = rng.standard_normal((37, 37)).astype(dtype), rng.standard_normal((37, 5)).astype(dtype)
    tolerance = 1e-5 if dtype == "f4" else 1e-13
    np.testing.assert_allclose(irad.compile(f, threads=threads)(a, q, 2), f(a, q, 2), rtol=tolerance, atol=tolerance * 10)


def test_a_column_is_copied_once() -> None:
    a, q = np.ones((37, 37)), np.ones((37, 5))
    kernel = irad.compile(by_a_column).lower(a, q, 1).kernel
    (line,) = (s for s in kernel.splitlines() if "= p1[5*" in s)
    assert line.index("q") == 8, "it stands in one loop only"
    assert "packed" in kernel and "packed" not in irad.compile(by_a_column).lower(a, q[:, :1].copy(), 0).kernel


def test_gradients() -> None:
    rng = np.random.default_rng(5)
    a, q = rng.standard_normal((20, 20)), rng.standard_normal((20, 3))
    f = lambda a, q: np.sum(by_a_column(a, q, 1) ** 2)
    ga, gq = irad.grad(f, argnums=(0, 1))(a, q)
    r = 2 * a @ q[:, 1]
    np.testing.assert_allclose(ga, np.outer(r, q[:, 1]), rtol=1e-12)
    np.testing.assert_allclose(gq, np.outer(a.T @ r, [0, 1, 0]), rtol=1e-12, atol=1e-12)


def test_neighbours_on_a_ring() -> None:
    """One turn at most is an addition or subtraction under a condition; more turns, and divisors of unknown sign, are divisions."""

    def ring(x, d):
        y, n = np.zeros(len(x)), len(x)
        for i in range(n):
            y[i] = x[(i + 1) % n] + 2 * x[(i - 1) % n] + 3 * x[(i - n) % n] + 5 * x[(2 * i + 1) % n]
            y[i] += 7 * x[(2 * i + 2) % n] + 11 * x[(i - n - 1) % n] + (i - 3) % d
        return y

    x = np.random.default_rng(6).random(7)
    for d in (1, 2, 5, -3):
        np.testing.assert_allclose(irad.compile(ring)(x, d), ring(x, d), rtol=1e-14)
