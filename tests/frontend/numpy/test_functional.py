"""NumPy's functions that take functions or make arrays of indices, records and grids: against NumPy, with slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from tests.support.surface import check

M = np.random.default_rng(0).random((3, 4))


@np.vectorize
def larger(x: float, y: float) -> float:
    return x * y if x > y else x + y


@np.vectorize(excluded=["p"])
def polynomial(x: float, p: Any) -> Any:
    return x * p[0] + p[1]


def vectorize(a: np.ndarray) -> Any:
    squares = np.vectorize(lambda t: t**2 if t > 0.5 else 2 * t, otypes=[float])
    dots = np.vectorize(lambda u, v: u @ v, signature="(n),(n)->()")
    rows = np.vectorize(lambda u, k: k * np.cumsum(u), signature="(n),()->(n)")
    both = np.vectorize(lambda t, u: (t * u, t - u))
    p, q = both(a, a[0])
    total = np.sum(larger(a, 0.4)) + np.sum(larger(a, a[0])) + np.sum(squares(a)) + np.sum(dots(a, a[1])) + dots(a[0], a[1])
    return (
        total
        + np.sum(rows(a, [1.0, 2.0, 3.0]))
        + np.sum(p**2)
        + np.sum(q * a)
        + np.sum(polynomial(a, p=[2.0, a[0, 0]]))
        + squares(0.3)
    )


def per_element(a: np.ndarray) -> Any:
    f, g = np.frompyfunc(lambda t: t**2, 1, 1), np.frompyfunc(lambda u, v: u * v + 1, 2, 1)
    return np.sum(f(a).astype(float)) + np.sum(g(a, a[0]).astype(float))


def by_axis(a: np.ndarray) -> Any:
    s = np.sum(np.apply_over_axes(np.sum, a, [0, 1]) ** 2) + np.sum(np.apply_over_axes(lambda x, k: np.max(x, axis=k), a, -1))
    s += np.sum(np.apply_along_axis(lambda r, k: np.dot(r, r) * k, 1, a, 3.0)) + np.sum(np.apply_along_axis(np.cumsum, 0, a))
    return s + np.sum(np.fromfunction(lambda i, j: a[0, 0] * i + j**2 * a[1, 1], (3, 2)))


def rows(a: np.ndarray) -> Any:
    joined = np.r_[a[0], 1.0, a[1], 0:3, True]
    s = np.sum(joined * np.arange(len(joined))) + np.sum(np.c_[a[0], a[1]] * [1, 2]) + np.sum(np.c_[np.ones(3), a, a[:, 0]] ** 2)
    s += (
        np.sum(np.r_["0,2", a[0], a[1]] * [[1], [2]])
        + np.sum(np.r_["-1", a, a] ** 2)
        + np.sum(np.r_["1,2,0", a[0], a[1]] * [1, 3])
    )
    return s + np.sum(np.r_[a[0, 0] : 2.0 : 5j] ** 2) + np.sum(np.r_["0,3,-2", a[0], a[0]][0]) + np.sum(a[0][np.r_[0:2, 3]])


def grids(a: np.ndarray) -> Any:
    y, x = np.mgrid[0 : a[0, 0] + 2 : 3j, 0:1:2j]
    u, v = np.ogrid[0 : a[0, 1] : 4j, -1:2]
    return np.sum(x * y**2) + np.sum(u * v + u) + np.sum(np.mgrid[0 : a[1, 1] : 5j] ** 2) + np.sum(np.mgrid[0:3, 0:4][0] * a)


def choices(a: np.ndarray) -> Any:
    x = a[0]
    s = np.sum(np.piecewise(x, [x < 0.2, (x >= 0.2) & (x < 0.5)], [lambda t, c: c * t, lambda t, c: t**c, 7.0], 2.0))
    s += np.sum(np.select([x < 0.3, x < 0.6], [x**2, 2 * x], default=1.0)) + np.sum(np.delete(a, range(2), axis=1) ** 2)
    return s + np.sum(np.insert(x, [1, 3], [a[1, 0], 2.0]) * range(6)) + np.sum(a[np.ix_(range(2), [1, 3])])


def records(a: np.ndarray) -> Any:
    r, q = np.rec.fromarrays([a[0], a[1]], names="x, y"), np.recarray((4,), dtype=[("x", float), ("y", float)])
    q.x, q["y"] = a[0] ** 2, a[1]
    t = np.rec.fromrecords([(a[0, 0], 1), (a[0, 1], 2)], names="u,n")
    w = np.rec.array([(a[1, 0], 1.0), (2.0, a[1, 1])], dtype=[("x", float), ("y", float)])
    return np.sum(r.x * r.y) + np.sum(q.x * q.y) + np.sum(t.u * t.n) + sum(v.x * v.y for v in w)


CASES = [vectorize, per_element, by_axis, rows, grids, choices, records]


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_as_numpy(f: Callable[..., Any]) -> None:
    check(f, M)


def test_grids_of_a_number() -> None:
    """The number that shapes the grid is fixed."""

    def f(s: float, n: int) -> Any:
        y, x = np.mgrid[0:n, 0 : 2 * n : 2]
        u, v = np.ogrid[-n:n:3j, :n]
        return np.sum(np.exp(-s * (x - y) ** 2)) + np.sum(u * v * s) + np.sum(np.r_[0:n, s] ** 2)

    for n in (3, 4):
        check(f, 0.4, n)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda a: np.r_[a[0], "0,2"], "first entry"), (lambda a: np.r_["r", a[0]], "matrices"), (lambda a: np.r_["x", a[0]], "unknown special"),
        (lambda a: np.vectorize(lambda u: u, signature="(n,m)->(n,m)")(a[0]), "core dimensions"),
    ],
)  # fmt: skip
def test_wrong(f: Callable[..., Any], words: str) -> None:
    with pytest.raises(ValueError if "matrices" not in words else irad.UnsupportedError, match=words):
        irad.compile(f)(M)


@np.vectorize
def root(x: float) -> Any:
    low, high = 0.0, 4.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if middle * middle > x else (middle, high)
        if high - low < 1e-9 and x > 0:
            return middle
    return None


def test_vectorize_of_what_may_return_none() -> None:
    x = np.array([2.0, 3.0, 5.0])
    np.testing.assert_array_equal(irad.compile(lambda x: root(x))(x), root(x))
    with pytest.raises(TypeError, match="None"):
        irad.compile(lambda x: root(x))(x - 2.5)
