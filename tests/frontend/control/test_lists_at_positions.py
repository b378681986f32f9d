"""Stores into lists at positions that data decides: values, exceptions and slopes beside plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import irad

X = np.array([1.2, 0.3, 3.4, 1.1])


def histogram(x):
    counts, sums = [0] * 4, [0.0] * 4
    for v in x:
        counts[int(v)] += 1
        sums[int(v)] += v * v
    return sum(s / c for s, c in zip(sums, counts) if c > 0)


def insertion_sort(x):
    a = list(x)
    for i in range(1, len(a)):
        j, v = i, a[i]
        while j > 0 and a[j - 1] > v:
            a[j] = a[j - 1]
            j -= 1
        a[j] = v
    return a[0] + 10 * a[1] + 100 * a[2] ** 2 + a[3]


def selection_sort(x):
    a = [v for v in x]
    for i in range(len(a)):
        m = i
        for j in range(i + 1, len(a)):
            if a[j] < a[m]:
                m = j
        a[i], a[m] = a[m], a[i]
    return a[0] + 10 * a[1] + 100 * a[2] ** 2 + a[3]


def union_find(x):
    parent = list(range(4))

    def root(k):
        while parent[k] != k:
            k = parent[k]
        return k

    total = 0.0
    for i in range(3):
        p, q = root(int(x[i])), root(int(x[i + 1]))
        if p != q:
            parent[p] = q
            total += x[i] * x[i + 1]
    return total


class Histogram:
    def __init__(self, n):
        self.sums, self.seen = [0.0] * n, 0

    def add(self, v):
        k = int(v)
        if k >= len(self.sums):
            return False
        self.sums[k] += math.exp(v)
        self.seen += 1
        return True


def in_an_object(x):
    h = Histogram(3)
    kept = sum(h.add(v) for v in x)
    return kept * h.seen * h.sums[0] + h.sums[1]


def tuples(x):
    c = [(0, 0.0)] * 4
    for i, v in enumerate(x):
        c[int(v)] = (i, v * v)
    return sum(i * v for i, v in c)


def from_the_end(x):
    c = [0.0] * 4
    k = int(x[0])
    c[-k] = x[1]
    c[k - 2] += x[2] * x[1]
    return c[3] * c[1] + c[-1]


def arrays(x):
    us = [x, 2 * x, x**2]
    us[int(x[0])] = np.sin(x)
    return us[1] @ us[0] + us[2][3]


def two_names(x):
    c = [0.0] * 4
    both = [c, 1.0]
    for v in x:
        c[int(v)] += v
    both[0].append(x[0])
    return sum(c[k] * k for k in range(len(c)))


@pytest.mark.parametrize(
    "f", [histogram, insertion_sort, selection_sort, union_find, in_an_object, tuples, from_the_end, arrays, two_names]
)
def test_value_and_slope(f: Any) -> None:
    assert np.isclose(irad.compile(f)(X.copy()), f(X.copy()), rtol=1e-13)
    gradient = irad.grad(f)(X.copy())
    e = 1e-6 * np.eye(4)
    assert np.allclose(gradient, [(f(X + d) - f(X - d)) / 2e-6 for d in e], rtol=1e-7, atol=1e-8)


def test_the_list_of_the_caller() -> None:
    def f(x, c):
        for v in x:
            c[int(v)] += v

    mine, theirs = [0.0] * 5, [0.0] * 5
    irad.compile(f)(X, mine)
    f(X, theirs)
    assert np.allclose(mine, theirs)


def test_out_of_range() -> None:
    def f(x):
        c = [0.0] * 2
        for v in x:
            c[int(v)] += v
        return c[0]

    with pytest.raises(IndexError, match=r"list index out of range"):
        irad.compile(f)(X)


def test_elements_of_other_kinds_need_a_known_position() -> None:
    def f(x):
        c = [None, "a"]
        c[int(x[1])] = x[0]
        return x[0]

    with pytest.raises(irad.IradError, match="an index into a list must be known"):
        irad.compile(f)(X)


def test_a_loop_that_must_be_written_out_and_cannot() -> None:
    """What it raises names the line; it is no exception of the compiler's own."""

    def f(a, m):
        k = i = 0
        while k < 2 and a > 1.0:
            k += 1
            i = pow(math.gcd(m, k), 2, 11)
        return i

    with pytest.raises(irad.IradError, match="must be known at compile time"):
        irad.compile(f)(2.0, 4)
