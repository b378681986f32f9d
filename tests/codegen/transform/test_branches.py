"""Branches that become selections, and branches on branches: the same bits, exceptions and stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.switches import without


def thresholds(x):
    s, above, y = 0.0, 0, np.zeros(len(x))
    for i in range(len(x)):
        new = 1.0 if x[i] > 0.5 else -0.0 if x[i] < 0.2 else 0.0
        if new > 0.0:
            above += 1
        y[i] = np.copysign(s + 1.0, new)
        s += new * x[i]
    return s + np.sum(y), above


def branch_not_taken(x):
    """Its number is infinite, or no number."""
    s = 0.0
    for i in range(len(x)):
        t = np.log(x[i])
        if x[i] > 0.0:
            s += t * t
        else:
            s -= x[i]
    return s


def turns(x):
    a, b, s = 1, 2, 0.0
    for i in range(len(x)):
        if x[i] > 0.4:
            a, b = b, a
        s += a * x[i]
    return s


def neighbours(x):
    y, n = np.zeros((4, 5)), 0
    for k in range(len(x)):
        i, j = k // 5, k % 5
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            a, b = i + di, j + dj
            if 0 <= a < 4 and 0 <= b < 5 and not (y[a, b] > 0.6) and x[5 * a + b] < x[k]:
                y[a, b] += x[k] * x[k]
                n += 1
    return np.sum(y**2), n


def first_or_last(x):
    s, last = 0.0, -1
    for i in range(len(x)):
        if i == 0 or x[i] > x[i - 1]:
            s += x[i] ** 2
            last = i
    return s, last


X = np.random.default_rng(5).random(20)
CASES = [thresholds, branch_not_taken, turns, neighbours, first_or_last]


def first(f: Callable[..., Any]) -> Callable[..., Any]:
    def value(x):
        out = f(x)
        return out[0] if isinstance(out, tuple) else out

    return value


@pytest.mark.parametrize("f", CASES)
def test_values_and_slopes(f: Callable[..., Any]) -> None:
    """NumPy's values; the bits and slopes that come with branches."""
    x = np.where(X < 0.1, 0.0, X) if f is branch_not_taken else X
    with np.errstate(divide="ignore"):
        got, want = irad.compile(f)(x), f(x)
    assert np.allclose(got, want, rtol=1e-15, atol=0.0)
    value, slope = irad.compile(first(f)).value_and_grad(x)
    with without("select", "short_circuits"):
        plain, same = irad.compile(first(f)).value_and_grad(x)
    assert value == plain and np.allclose(slope, same, rtol=1e-13, atol=0.0)
    steps = [np.where(np.arange(len(x)) == k, 1e-7, 0.0) for k in (2, 5)]
    slopes = [(first(f)(x + h) - first(f)(x - h)) / 2e-7 for h in steps] if f is not branch_not_taken else slope[[2, 5]]
    assert np.allclose(slope[[2, 5]], slopes, rtol=1e-6, atol=1e-7)


def test_what_they_become() -> None:
    choices = irad.compile(thresholds).lower(X).kernel
    assert "select(" in choices and "if " not in choices
    kernel, plain = irad.compile(neighbours).lower(X).kernel, ""
    with without("short_circuits"):
        plain = irad.compile(neighbours).lower(X).kernel
    assert plain.count("var(False, bool)") >= 4 and "var(False, bool)" not in kernel


def test_an_index_is_checked_where_it_was_before() -> None:
    def found(x, at):
        s = 0.0
        for k in at:
            if k >= 0 and x[k] > 0.5:
                s += x[k]
        return s

    compiled = irad.compile(found)
    at = np.array([-90, 3, 19])
    assert compiled(X, at) == found(X, at)
    with pytest.raises(IndexError, match="index 20 is out of bounds for axis 0 with size 20"):
        compiled(X, np.array([3, 20]))


def cheapest(cost):
    """Each element is read by a condition and once more under it; what is read may have changed, or its place."""
    n, m = cost.shape
    cost = cost.copy()
    k, s = 0, 0.0
    for i in range(1, n):
        for j in range(m):
            best = cost[i - 1, j]
            if j > 0 and cost[i - 1, j - 1] < best:
                best = cost[i - 1, j - 1]
            if j < m - 1 and cost[i - 1, j + 1] < best:
                best = cost[i - 1, j + 1]
            cost[i, j] += best
            low = cost[i, k] < best
            if low:
                k = (k + 1) % m
            if low:
                s += cost[i, k]
            if low:
                cost[i, k] += 0.125
                s -= cost[i, k]
    return cost, s, k


def test_load_that_was_made_before() -> None:
    cost = np.random.default_rng(5).random((30, 17))
    compiled = irad.compile(cheapest)
    for got, want in zip(compiled(cost), cheapest(cost)):
        np.testing.assert_array_equal(got, want)
    w = np.random.default_rng(6).random(cost.shape)
    value = lambda c: np.sum(cheapest(c)[0] * w) + cheapest(c)[1]
    d = np.random.default_rng(7).standard_normal(cost.shape)
    step = (value(cost + 1e-7 * d) - value(cost - 1e-7 * d)) / 2e-7
    np.testing.assert_allclose(np.sum(irad.grad(value)(cost) * d), step, rtol=1e-5)
