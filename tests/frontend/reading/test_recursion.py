"""Recursion: inlined where its depth is known, calls of program graphs where it depends on data."""

from __future__ import annotations

import numpy as np
import pytest

import irad
from irad.core.ir import size
from irad.errors import IradError
from irad.frontend.trace import trace
from tests.support.as_called import check

X = np.array([5.0, -2.0, 3.0, 8.0, 1.0])


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half * x if n % 2 else half * half


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def halve(x):
    return x if np.max(np.abs(x)) < 1 else halve(x / 2)


def search(x, v, lo, hi):
    if lo >= hi:
        return lo
    mid = (lo + hi) // 2
    if x[mid] < v:
        return search(x, v, mid + 1, hi)
    return search(x, v, lo, mid)


def reverse(x, i, j):
    if i < j:
        x[i], x[j] = x[j], x[i]
        reverse(x, i + 1, j - 1)


def partition_sort(x, lo, hi):
    if lo < hi:
        pivot, k = x[hi], lo
        for j in range(lo, hi):
            if x[j] < pivot:
                x[k], x[j] = x[j], x[k]
                k += 1
        x[k], x[hi] = x[hi], x[k]
        partition_sort(x, lo, k - 1)
        partition_sort(x, k + 1, hi)


def with_closure(x, n):
    scale = x[0] * 2

    def go(k, total):
        if k <= 0:
            return total
        return go(k - 1, total + scale * k)

    return go(n, 0.0)


def counting(x, depth=0):
    if x[0] < 1 or depth > 10:
        return depth
    return counting(x / 3, depth + 1)


def tree_sum(x):
    n = x.shape[0]
    if n == 1:
        return x[0]
    return tree_sum(x[: n // 2]) + tree_sum(x[n // 2 :])


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def test_numbers():
    check(fib, 10, others=((0,), (1,), (15,)))
    check(power, 1.5, 10, others=((2.0, 0), (0.5, 7)))
    check(ackermann, 2, 3, others=((1, 1),))


def test_mutual():
    check(even, 10, others=((7,), (0,)))


def test_arrays():
    check(halve, X, others=((X / 100,),))
    check(search, np.sort(X), 3.0, 0, 5, others=((np.sort(X), 100.0, 0, 5),))
    check(tree_sum, X, exact=False)
    check(counting, X, others=((X * 1000,),))


def test_arrays_changed_in_place():
    check(reverse, X, 0, 4, others=((X, 1, 3),))
    check(partition_sort, X, 0, 4, others=((X[::-1].copy(), 0, 4),))


def test_values_of_the_surroundings():
    check(with_closure, X, 6, others=((X * 2, 9),))
    check(lambda x, n: with_closure(x, n) + with_closure(x[::-1], n), X, 6)


def test_inside_loops():
    def f(x, n):
        s = 0
        for k in range(n):
            s += fib(k)
            if x[0] > 0:
                s += fib(k + 1)
        return s

    check(f, X, 9)


def test_one_graph_per_function():
    traced = trace(lambda n: fib(n) + fib(n + 1) * fib(n + 2), (5,))
    assert len(traced.program) == 2 and size(traced.program) < 100


def test_without_base_case():
    def f(n):
        return f(n - 1) if n > 0 else f(n + 1)

    with pytest.raises(IradError, match="no base case"):
        trace(f, (3,))


def by_calls(x, m):
    if m == 1:
        return x
    t = 0.0
    for _ in range(m):
        t = t + by_calls(x, m - 1)
    return t


def without_a_base_but_no_trips(x, m):
    t = x
    for j in range(m):
        t = t + without_a_base_but_no_trips(x, m - 1) * (j + 1)
    return t


def in_a_while_loop(x, m):
    if m <= 0:
        return x * x
    t, j = x, 0
    while j < m:
        t = t + in_a_while_loop(x, m - 1 - j)
        j = j + 1
    return t


def in_a_sum(x, m):
    if m <= 0:
        return x
    return sum(in_a_sum(x, m - 1 - j) for j in range(m))


def expansion(a, n, used, row):
    """The determinant, by its first row."""
    if row == n:
        return 1.0
    total, sign = 0.0, 1.0
    for j in range(n):
        if used[j] == 0:
            used[j] = 1
            total += sign * a[row, j] * expansion(a, n, used, row + 1)
            used[j] = 0
            sign = -sign
    return total


def test_calls_in_a_loop():
    """What the calls return is known from the base case, or from what comes after a loop of no trips."""
    check(by_calls, 2.0, 4)  # 2 * 2 * 3 * 4
    check(without_a_base_but_no_trips, 2.0, 3)
    check(in_a_while_loop, 3.0, 3)
    check(in_a_sum, 2.0, 4)
    check(expansion, np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]), 3, np.zeros(3), 0)  # 18


def test_calls_in_a_loop_have_a_gradient():
    assert irad.grad(by_calls)(2.0, 4) == 24.0
    assert irad.grad(in_a_while_loop)(3.0, 2) == 14.0  # f(0) = x*x, f(1) = x + f(0), f(2) = x + f(1) + f(0) = 2*x + 2*x*x
