"""Elements of arrays whose lengths data decide, in lists and comprehensions; insertions, transforms; loops whose every trip raises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad
from tests.support.surface import slope

X = np.array([0.5, -1.0, 2.3, -0.2, 0.7, 1.1])


def nearest_first(x: Any) -> Any:
    """A list of positions from which some are taken."""
    left, s = list(np.nonzero(x > 0)[0]), 0.0
    for k in range(3):
        if not left:
            break
        p = np.argmin(np.abs(x[left] - k))
        s += x[left[p]] * (k + 1)
        left.pop(p)
    return s + len(left) + sum(sorted(list(x[x > 0.6]))[:2])


def of_one_kind_or_the_other(x: Any) -> Any:
    """Numbers, or rows of them: an exception says which, whatever the data."""
    found = list(map(lambda v: 2 * v, (v for v in x[x > 0])))
    try:
        z = np.array([float(v[0]) for v in found])
    except (IndexError, TypeError):
        z = np.array([float(v) for v in found])
    return np.sum(z**2)


def put_in(x: Any) -> Any:
    y, k = x[x > 0], np.argmax(x)
    a = np.insert(y, 0, 7.0)
    b = np.insert(y, -1, x[0])
    c = np.insert(x, k, [x[1], 2.0])
    d = np.insert(np.ones((3, 1)) * x, k - 1, 9.0, axis=1)
    return np.sum(a * np.arange(len(a))) + np.sum(b**2) + np.sum(c * np.arange(8.0)) + np.sum(d * np.arange(7.0))


def transformed(x: Any) -> Any:
    y = x[x > 0]
    return np.sum(np.abs(np.fft.fft(y, 3)) ** 3) + np.sum(np.abs(np.fft.rfft(y, 6))) + np.sum(np.abs(np.fft.ifft(y, 8)))


@pytest.mark.parametrize("f", [nearest_first, of_one_kind_or_the_other, put_in, transformed])
def test_values_and_slopes(f: Any) -> None:
    slope(f, X)


def test_positions_that_are_not_there() -> None:
    def f(x: Any, k: Any) -> Any:
        return np.sum(np.insert(x[x > 0], k, 7.0)) + np.sum(np.insert(x, k + np.argmax(x), 1.0))

    c = irad.compile(f, static="k")
    assert c(X, 4) == pytest.approx(f(X, 4))
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 4"):
        c(X, 5)
    with pytest.raises(IndexError, match="index -5 is out of bounds for axis 0 with size 4"):
        c(X, -5)


def test_max_of_none() -> None:
    c = irad.compile(lambda x: max(x[x > 1.0]))
    assert c(X) == 2.3
    with pytest.raises(ValueError, match="empty"):
        c(X - 9)


def raising_for(x: Any) -> Any:
    s = 0.0
    for v in x[x > 0]:
        s += v
        raise ValueError(f"no {v}")
    else:
        s = 7.0
    return np.sum(x**2) + s


def raising_while(x: Any) -> Any:
    n, k = np.sum(x > 0), 0
    try:
        while k < n:
            k += 1
            raise KeyError(k)
    except KeyError:
        return x[0] * k
    return np.sum(x) + k


def raising_where_nothing_is_read(x: Any) -> Any:
    try:
        for _ in x[x > 0]:
            raise ArithmeticError
    except ArithmeticError:
        return -np.sum(x**2)
    return np.sum(x)


def test_a_loop_whose_every_trip_raises_has_one_trip_at_most() -> None:
    f = irad.compile(raising_for)
    assert f(-X[[0, 2]]) == raising_for(-X[[0, 2]])
    with pytest.raises(ValueError, match="no 0.5"):
        f(X)
    for g in (raising_while, raising_where_nothing_is_read):
        slope(g, X)
        slope(g, -np.abs(X))


def solved(A: Any, b: Any) -> Any:
    try:
        x = np.linalg.solve(A, b)
    except np.linalg.nowhere.LinAlgError:  # no such name: an error only where something is raised
        x = b
    return np.sum(x**2)


def test_the_class_of_a_handler_is_looked_for_only_when_something_is_raised() -> None:
    A, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.ones(2)
    value, g = irad.value_and_grad(solved)(A, b)
    assert value == pytest.approx(0.2) and g == pytest.approx(np.array([[-0.16, -0.08], [0.0, 0.0]]))
    with pytest.raises(AttributeError, match="no attribute 'nowhere'"):
        irad.compile(solved)(np.zeros((2, 2)), b)
