"""Shapes of arrays whose lengths data decide: reshapes, diagonals, lists and tables of them; what one mask picks has one length."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from tests.support.surface import slope


def reshaped(x: Any) -> Any:
    y = x[x > 0.2]
    n = len(y) // 4
    z = y[: 4 * n].reshape(n, 4)
    v = z.reshape(n, 2, 2).reshape(2 * n, 2)
    t = v.reshape(-1).reshape(-1, 4)
    s = np.reshape(t, (2, 2 * n))
    w = z.copy()
    w.reshape(n, 2, 2)[:, 1, 0] = 5.0
    total = np.sum(v[:, 0] * np.arange(2 * n)) + np.sum(t[0] ** 3) + 2 * np.sum(s[1]) + np.sum(s.T.reshape(n, 4)[:, 1] ** 2)
    return total + np.sum(w**2) + np.sum(z.ravel() * np.arange(4 * n))


def one_mask(x: Any) -> Any:
    a, b, picked = np.outer(x, x), np.arange(len(x)) * x, x > 0.3
    if np.any(picked):
        a, b = a[picked, :], b[picked]
    rows, columns = a.shape
    if rows == b.size:
        c = (np.ones([columns, 1]) * b).transpose()
    elif columns == b.size:
        c = np.ones([rows, 1]) * b
    return np.sum(a * c)


def diagonals(x: Any) -> Any:
    z = x[x > 0.2]
    m = np.outer(z, z)
    return np.sum(np.diag(m)) + np.sum(np.diagonal(m[1:]) ** 2) + np.trace(m)


def as_lists(x: Any) -> Any:
    q = deque([-1.0])
    q.extend(x[x > 0.5].tolist())
    rows = np.outer(x, x)[x > 0.3].tolist()
    total = np.sum(x[x > 0.4]) + len(q) + 3 * q[-1] + rows[1][2]
    for k in np.where(x > 0.3)[0].tolist():
        total += x[k] ** 2
    return total


def tables(x: Any) -> Any:
    z = x[x > 0.2]
    t = np.array([np.sum(z[i : i + 3] ** 2) for i in range(0, len(z) - 3, 2)])
    u = np.array([v * x[:3] for v in z])
    return np.sum(t**2) + np.sum(u[-1]) + len(u)


@pytest.mark.parametrize("f", [reshaped, one_mask, diagonals, as_lists, tables], ids=lambda f: f.__name__)
def test_values_and_gradients(f: Callable[[Any], Any]) -> None:
    g = irad.value_and_grad(f)
    for seed in (1, 2):
        r = np.random.default_rng(seed)
        x, d, h = r.random(17), r.standard_normal(17), 1e-5
        value, gradient = g(x)
        assert value == pytest.approx(f(x), rel=1e-13)
        assert gradient @ d == pytest.approx((f(x + h * d) - f(x - h * d)) / (2 * h), rel=1e-7)


def test_shapes_that_do_not_fit() -> None:
    x = np.linspace(0, 1, 20)
    with pytest.raises(ValueError, match=r"cannot reshape array of size 10 into shape \(-1,7\)"):
        irad.compile(lambda x: x[x > 0.5].reshape(-1, 7))(x)
    with pytest.raises(ValueError, match=r"into shape \(3,5\)"):
        irad.compile(lambda x: x[x > 0.5].reshape(3, 5))(x)
    assert np.array_equal(irad.compile(lambda x: x[x > 0.5].reshape(2, -1))(x), x[x > 0.5].reshape(2, -1))


def test_a_table_without_elements() -> None:
    c = irad.compile(lambda x: np.array([v * x for v in x[x > 0.5]]))
    assert c(np.ones(3)).shape == (3, 3)
    with pytest.raises(ValueError, match="no array of a comprehension without elements"):
        c(np.zeros(3))
    assert irad.compile(lambda x: np.array([v * 2 for v in x[x > 0.5]]))(np.zeros(3)).shape == (0,)


def test_blocks_between_known_places() -> None:
    """How long blocks are, that a loop takes by places in a small array, has a bound in the gradient too."""

    def blocks(x: Any) -> Any:
        at = np.floor(np.linspace(0, len(x), 4)).astype(int)
        xy, xx = np.zeros((3, 2)), np.zeros((3, 2, 2))
        for i in range(3):
            xy[i, ...] = np.dot(x[at[i] : at[i + 1], ...].T, x[at[i] : at[i + 1], 0]).reshape((1, 2))
            xx[i, ...] = np.dot(x[at[i] : at[i + 1], ...].T, x[at[i] : at[i + 1], ...])
        return np.sum(xy**2) + np.sum(np.linalg.solve(xx.sum(axis=0), xy.sum(axis=0)))

    slope(blocks, np.random.default_rng(0).random((7, 2)))


def test_counts_of_few_bits() -> None:
    """As many bins as a number of 32 bits may say take no memory that is not needed."""
    counted = lambda k, w: np.sum(np.bincount(k, weights=w) ** 2) + len(np.bincount(k))
    c, slopes = irad.compile(counted), irad.grad(counted, argnums=1)
    for dtype in (np.uint32, np.int32, np.uint16, np.int64):
        k, w = np.array([3, 1, 3, 2000], dtype), np.array([1.0, 2.0, 3.0, 4.0])
        assert c(k, w) == 16 + 4 + 16 + 2001 and np.array_equal(slopes(k, w), [8.0, 4.0, 8.0, 8.0])


def test_ranges_and_grids_by_data() -> None:
    """np.r_, mgrid and ogrid with bounds that data decide, and with ints that are constants of a version."""

    def grids(x: Any) -> Any:
        n = int(x[0] * 10)
        line = np.sum(np.r_[0:n, 3.5, x, x[1] : 4 : 0.5] ** 2)
        rows, columns = np.ogrid[1:n, 0:n:2]
        return line + np.sum(np.mgrid[0:n, 0:3] * x[1]) + np.sum(rows * x[2] * columns) + np.sum(np.mgrid[0:n])

    slope(grids, np.array([0.55, 0.71, 0.3]))
    f = irad.compile(lambda x, n: np.sum(np.mgrid[0:n, 0:3] * x) + np.sum(np.r_[0:n]))
    for n in (4, 7):
        assert f(2.0, n) == np.sum(np.mgrid[0:n, 0:3] * 2.0) + np.sum(np.r_[0:n])
