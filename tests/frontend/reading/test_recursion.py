"""Recursion: inlined where its depth is known, calls of program graphs where it depends on data."""

from __future__ import annotations

import functools
from typing import Any

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


def simpson(x, a, b, depth):
    m = 0.5 * (a + b)
    if depth == 0:
        return (b - a) / 6.0 * (np.exp(-x * a) + 4.0 * np.exp(-x * m) + np.exp(-x * b))
    return simpson(x, a, m, depth - 1) + simpson(x, m, b, depth - 1)


def halves(x, depth):
    """The number decides a shape, so each copy is another program."""
    if depth == 0:
        return np.sum(x)
    return np.sin(halves(x, depth - 1)) + halves(x[: 2**depth] * 1.5, depth - 1)


def stores(x, out, depth):
    if depth == 0:
        out[0] += np.sin(x[0] * out[0])
        return
    for _ in range(3):
        stores(x, out, depth - 1)


def into(x):
    out = np.ones(1) * x[1]
    stores(x, out, 3)
    return out[0]


def orders(x, items, k):
    """The sum over all orders of the items of x[a]**2 * x[b] * ..., a first."""
    if k == len(items):
        out = x[items[0]]
        for i in items:
            out = out * x[i]
        return out
    total = 0.0
    for i in range(k, len(items)):
        items[k], items[i] = items[i], items[k]
        total += orders(x, items, k + 1)
        items[k], items[i] = items[i], items[k]
    return total


def inner(x):
    def go(depth, s):
        return s * s if depth == 5 else go(depth + 1, s + x[0]) + go(depth + 1, s * x[1])

    return go(0, 1.0)


MANY = [
    (lambda x: simpson(x[0], 0.0, 1.0, 6), True),
    (lambda x: halves(x, 6), False),
    (into, True),
    (lambda x: orders(x, np.arange(4), 0), True),
    (inner, True),
]


@pytest.mark.parametrize("f, graph", MANY)
def test_many_calls_of_known_depth(f, graph):
    """Copies that differ in numbers only become graphs: one that calls itself, or one for each depth."""
    x = np.linspace(0.5, 0.9, 64 if not graph else 4)
    value, gradient = irad.value_and_grad(f)(x)
    assert np.isclose(value, f(x), rtol=1e-13)
    steps = [1e-4 * e for e in np.eye(len(x))]
    right = [(8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / 12e-4 for h in steps]
    assert np.allclose(gradient, right, rtol=1e-7, atol=1e-9 * np.max(np.abs(right)))
    assert len(trace(f, (x,)).program) > 1 or not graph


# ---- lists whose lengths depend on data ----------------------------------------------------------------------------


def quickselect(xs, k):
    p = xs[len(xs) // 2]
    low = [v for v in xs if v < p]
    equal = [v for v in xs if v == p]
    high = [v for v in xs if v > p]
    if k < len(low):
        return quickselect(low, k)
    if k < len(low) + len(equal):
        return p * p
    return quickselect(high, k - len(low) - len(equal))


def test_a_list_that_gets_shorter_by_data() -> None:
    x = np.array([0.3, 0.1, 0.9, 0.5, 0.7, 0.2])

    def f(x):
        return quickselect(list(x), 2)

    assert irad.compile(f)(x) == f(x) == 0.3**2
    assert np.allclose(irad.grad(f)(x), [0.6, 0, 0, 0, 0, 0])


def quicksort(xs):
    if len(xs) <= 1:
        return xs
    p = xs[0]
    low = [v for v in xs[1:] if v < p]
    high = [v for v in xs[1:] if v >= p]
    return quicksort(low) + [p] + quicksort(high)


def merged(a, b):
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    return out + a[i:] + b[j:]


def merge_sort(xs):
    return xs if len(xs) < 2 else merged(merge_sort(xs[: len(xs) // 2]), merge_sort(xs[len(xs) // 2 :]))


def subdivided(f, a, b, depth):
    m = 0.5 * (a + b)
    if depth == 0 or abs(f(a) + f(b) - 2 * f(m)) < 0.05:
        return [(b, f(b))]
    return subdivided(f, a, m, depth - 1) + subdivided(f, m, b, depth - 1)


def area(x):
    pts = [(0.0, 0.0), *subdivided(lambda t: np.sin(x * t), 0.0, 3.0, 7)]
    return sum((q[0] - p[0]) * (p[1] + q[1]) / 2 for p, q in zip(pts, pts[1:])) + 0.0 * len(pts)


def test_lists_that_a_recursion_makes_longer_by_data() -> None:
    """Sorted lists, weighed by their places: the slope of an element is its place."""
    x = np.random.default_rng(0).normal(size=23)
    for sort in (quicksort, merge_sort):
        f = lambda x, sort=sort: np.dot(sort(list(x)), np.arange(23.0))
        assert np.isclose(irad.compile(f)(x), np.dot(np.sort(x), np.arange(23)), rtol=1e-13)
    f = lambda x: np.dot(quicksort(list(x)), np.arange(23.0))
    assert np.array_equal(irad.grad(f)(x), np.argsort(np.argsort(x)))
    assert np.isclose(irad.compile(area)(2.0), area(2.0), rtol=1e-13)
    assert np.isclose(irad.grad(area)(2.0), (area(2.0 + 1e-6) - area(2.0 - 1e-6)) / 2e-6, rtol=1e-8)


def test_more_elements_than_there_was_room_for() -> None:
    """The call begins again in a version with more."""

    def f(x, n):
        def down(t, n):
            return [t] if n <= 0 else [t, *down(t * 0.99, n - 1), t]

        got = down(x, n)
        return sum(got), len(got)

    for n in (5, 700):
        total, count = irad.compile(f)(2.0, n)
        assert count == 2 * n + 1 and np.isclose(total, f(2.0, n)[0], rtol=1e-12)


def test_large_arrays_in_deep_recursions() -> None:
    """Their memory is not the stack's: 300 calls with 60 KB each."""

    def f(m, a, n):
        return m if n <= 0 else f(np.sin(m) * a + m * 0.5, a, n - 1) + 0.1 * m

    a = np.random.default_rng(1).normal(size=(50, 50)) / 20
    assert np.allclose(irad.compile(f)(a, a, 300), f(a, a, 300), rtol=1e-12)
    slope = irad.grad(lambda s: np.sum(f(a * s, a, 300)))(1.0)
    total = lambda s: np.sum(f(a * s, a, 300))
    assert np.isclose(slope, (total(1 + 1e-6) - total(1 - 1e-6)) / 2e-6, rtol=1e-6)


def test_a_list_that_is_handed_on_longer() -> None:
    def grown(xs, s):
        if s > 3.0:
            return s + len(xs)
        return grown(xs + [s] if s > 1.0 else xs, s + xs[0])

    with pytest.raises(irad.UnsupportedError, match="grown is given a list that may be longer in each call"):
        irad.grad(lambda x: grown([x], x))(0.5)


# ---- containers and objects that are changed ------------------------------------------------------------------------


class Search:
    def __init__(self, scale):
        self.calls, self.best, self.scale = 0, 1e9, scale

    def go(self, s, deep):
        self.calls += 1
        if s < self.best:
            self.best = s
        if deep <= 0 or s > 3.0:
            return
        self.go(s * 1.3, deep - 1)
        self.go(s * 0.9 + 0.1 * self.scale, deep - 1)


def an_object(x):
    t = Search(1.0)
    t.go(x, int(x * 8))
    return t.best**2 + t.calls


OUTSIDE = Search(0.5)


def an_object_from_outside(x):
    def rec(o, s):
        return s * o.scale if s > 3.0 else rec(o, s * 1.5) + o.scale

    return rec(OUTSIDE, x)


def exchanged_lists(x):
    def rec(xs, ys, s):
        xs[0] += s
        ys[0] += 2 * s * s
        return s if s > 3.0 else rec(ys, xs, s + 0.7)

    a, b = [x], [1.0]
    return rec(a, b, x) + 10 * a[0] + 100 * b[0]


def a_dict_of_counts(x):
    def rec(n, d, s):
        d["calls"] += 1
        d["sum"] += s * s
        return 1.0 if s > 3.0 else rec(n - 1, d, s + 0.7) + rec(n - 2, d, s + 1.1)

    d = {"calls": 0, "sum": 0.0}
    return rec(3, d, x) + d["calls"] * d["sum"]


def a_list_in_a_tuple(x):
    def rec(p, s):
        p[0][0] *= s
        return s if s > 3.0 else rec(p, s + 0.7)

    p = ([x], x)
    return rec(p, x) + p[0][0]


@pytest.mark.parametrize("f", [an_object, an_object_from_outside, exchanged_lists, a_dict_of_counts, a_list_in_a_tuple])
def test_changed_containers(f) -> None:
    for x in (0.55, 0.83):
        assert np.isclose(irad.compile(f)(x), f(x), rtol=1e-13)
        assert np.isclose(irad.grad(f)(x), (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rtol=1e-6)


def test_one_list_given_twice() -> None:
    def rec(xs, ys, s):
        xs[0] += s
        return s + ys[0] if s > 3.0 else rec(ys, xs, s + 0.7)

    def f(x):
        a = [x]
        return rec(a, a, x)

    with pytest.raises(irad.UnsupportedError, match="is given one list, dict or object twice"):
        irad.compile(f)(0.5)


def test_a_list_that_each_call_makes_longer() -> None:
    def rec(path, s):
        if s > 3.0:
            return sum(path)
        path.append(s)
        out = rec(path, s + path[0])
        path.pop()
        return out

    with pytest.raises(irad.UnsupportedError, match="is given a list that may be longer in each call"):
        irad.compile(lambda x: rec([x], x))(0.5)


def test_numpys_numbers_that_are_known() -> None:
    def rec(v, n):
        return v if n <= 0 else rec(v * np.float64(0.5), n - 1) + v

    def halves(v, n):
        return v if n <= 0 else halves(v + np.float32(0.5), n - 1) * np.float32(2)

    for f in (lambda n: rec(np.float64(0.7), n), lambda n: halves(np.float32(0.5), n)):
        c = irad.compile(f)
        for n in (0, 3, 6):
            assert c(n) == f(n) and type(c(n)) is type(f(n))


def test_a_function_that_cannot_become_a_graph_is_not_called_as_one_later() -> None:
    def rec(k, v, seen):
        if k <= 0 or v > 3.0:
            return v
        seen[0] += 0.1
        return rec(k - 1, v + seen[1], seen) * 0.5

    def f(s, n):
        m, w = 0, [s, 0.5, 1.5]
        for _ in range(n):
            if m < 2:
                s += 0.1 * rec(3, np.tanh(0.84), w)
                m += 1
            w[m % 3] = np.tanh(s)
        return s

    def g(s, n):  # as above, in a form that no graph of it fits
        m, w = 0, [s, 0.5, 1.5]

        def tick(v):
            nonlocal m
            m += 3 if v > 0.4 else 1
            return v * 0.5

        for _ in range(n):
            if m <= 1:
                s += 0.1 * rec(3, np.tanh(0.84), w)
                s = tick(s)
            w[m % 3] = np.tanh(s)
        return s

    for h in (f, g):
        try:
            assert np.isclose(irad.compile(h)(0.3, 5), h(0.3, 5), rtol=1e-13)
        except irad.UnsupportedError as e:
            assert "changes a list that it is given" in str(e)


def test_methods_of_objects_that_refer_to_each_other() -> None:
    class Optimiser:
        def __init__(self, owner: Any):
            self.owner, self.steps = owner, 0

        def update(self, g: Any) -> Any:
            self.steps += 1
            self.owner.x = self.owner.x - 0.1 * g
            return np.sum(g * g)

    class Model:
        def __init__(self, n: int):
            self.x, self.optimiser = np.zeros(n), Optimiser(self)

        def fit(self, y: Any) -> Any:
            return self.optimiser.update(self.x - y)

    def f(y: Any) -> Any:
        m, last = Model(3), 0.0
        for _ in range(4):
            last = m.fit(y)
        return np.sum(m.x**2) + last * m.optimiser.steps

    y = np.array([1.0, 2.0, 3.0])
    value, slope = irad.value_and_grad(f)(y)
    # m.x is (1 - 0.9**4) y at the end, and the last g is -0.9**3 y
    scale = (1 - 0.9**4) ** 2 + 4 * 0.9**6
    np.testing.assert_allclose(value, scale * 14, rtol=1e-14)
    np.testing.assert_allclose(slope, 2 * scale * y, rtol=1e-14)


class Endless:
    def __init__(self, a, b):
        self.a, self.b, self.n = a, b, 1

    def step(self, v):
        if self.n > 2:
            return self.b
        return self.step(v * 0.5) + self.a[0]

    @functools.cached_property
    def size(self):
        self.n += 1
        return np.sum(self.a * self.a) + self.b


def test_an_endless_recursion_of_methods_in_a_branch() -> None:
    def each(v, a, o):
        for u in a:
            o.step(u * 0.1)

    def f(x, s, n):
        o, c = Endless(x.copy(), np.tanh(s)), 0.0
        if x[1] > 1.01:
            for _ in range(n + 2):
                c += np.tanh(max(o.size, 0.5))
            o.b = each(o.b, o.a, o)

    with pytest.raises(irad.UnsupportedError, match="calls nest deeper than 400"):
        irad.compile(f)(np.ones(4), -0.7, 2)


class Unknown:
    """A number of which a sum of multiples is kept; it has no text before it has a value."""

    def __init__(self, value: Any):
        self.parts = Sum({self: 1.0})
        self.value = value

    def __repr__(self) -> str:
        return f"<{self.value}>"


class Sum:
    def __init__(self, terms: dict[Any, Any]):
        self.terms = terms

    def at(self, depth: int) -> Any:
        if depth == 0:
            return sum(k * u.value for u, k in self.terms.items())
        return Sum({u: 2 * k for u, k in self.terms.items()}).at(depth - 1)


def test_recursion_on_dicts_whose_keys_are_objects() -> None:
    def f(x):
        a, b = Unknown(x[0]), Unknown(x[1])
        return Sum({**a.parts.terms, b: x[0]}).at(3) + Sum({**b.parts.terms, a: x[1]}).at(2)

    check(f, np.array([2.0, 5.0]))  # 8 (a + b a) + 4 (b + a b)
    assert np.array_equal(irad.grad(f)(np.array([2.0, 5.0])), [8 + 12 * 5, 4 + 12 * 2])
