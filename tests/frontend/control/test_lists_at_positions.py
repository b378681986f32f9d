"""Stores into lists at positions that data decides: values, exceptions and slopes beside plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.text import show
from irad.frontend.trace import trace
from tests.support.as_python import check

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


# ---- other changes at positions that data decides -------------------------------------------------------------------


def deleted(x):
    xs = [1.0, 2.0, x, 4.0]
    del xs[int(x)]
    return xs


def last_deleted(x):
    xs = [1.0, 2.0, x, 4.0]
    del xs[-int(x + 1)]
    return xs


def slice_deleted(x):
    xs, k = [1.0, 2.0, x, 4.0], int(x)
    del xs[k : k + 2]
    return xs


def slice_stored(x):
    xs, k = [1.0, 2.0, x, 4.0], int(x)
    xs[k : k + 2] = [x * 5]
    return xs


def stored_before_its_start(x):
    xs, k = [1.0, 2.0, x, 4.0], int(x)
    xs[k + 2 : k] = [x, x * 3]
    return xs


def stored_with_a_step(x):
    xs, k = [1.0, 2.0, x, 4.0, 5.0], int(x)
    xs[k + 1 :: 2] = [x, x * x]
    return xs


def inserted(x):
    xs, k = [1.0, 2.0, x, 4.0], int(x)
    xs.insert(k, 9.0 * x)
    xs.insert(-k, x)
    xs.insert(k + 40, 3.0)
    return xs


def popped(x):
    xs, k = [1.0, 2.0, x, 4.0], int(np.argmax(np.array([x, 1.2, x * x])))
    y = xs.pop(k)
    return [*xs, y * x, xs.pop(-k)]


def removed(x):
    xs = [1.0, 2.0, x, 4.0]
    xs.remove(x)
    return xs


def of_a_list_that_grew(x):
    xs: list[Any] = []
    for k in range(10):
        xs.append(x * k)
    k = int(x)
    xs[k : k + 2] = [1.0, x, 3.0]
    del xs[k + 4 :]
    return xs


def rows_moved(x):
    xs = [x * i for i in range(12)]
    for k in range(5):
        xs.insert(k, xs.pop(int(x) + k))
    return xs


_CHANGES = [
    deleted,
    last_deleted,
    slice_deleted,
    slice_stored,
    stored_before_its_start,
    stored_with_a_step,
    inserted,
    popped,
    removed,
    of_a_list_that_grew,
    rows_moved,
]


@pytest.mark.parametrize("f", _CHANGES, ids=lambda f: f.__name__)
def test_changes(f: Any) -> None:
    def total(x):
        return sum([math.sin(k + 1.0) * v for k, v in enumerate(f(x))])

    for x in (0.5, 1.3):
        assert np.allclose(irad.compile(f)(x), f(x), rtol=1e-13)
        slope = (total(x + 1e-6) - total(x - 1e-6)) / 2e-6
        assert np.isclose(irad.grad(total)(x), slope, rtol=1e-7, atol=1e-8)


def test_a_store_of_another_size_into_a_slice_with_a_step() -> None:
    def f(x):
        xs = [1.0, 2.0, x, 4.0]
        xs[int(x) :: 2] = [x]
        return xs

    with pytest.raises(ValueError, match="attempt to assign sequence of size 1 to extended slice of size 2"):
        irad.compile(f)(0.5)


def _item(k):
    return [1.0, 2.0, 3.0][k]


def _stored(k):
    xs = [1.0, 2.0, 3.0]
    xs[k] += 0.5
    return xs


def _parts(k):
    return np.arange(3.0)[:k], [1.0, 2.0, 3.0][k:]


@pytest.mark.parametrize("f", [_item, _stored, _parts])
@pytest.mark.parametrize("k", [np.int8(-1), np.uint8(2), np.int16(1), np.uint64(1), np.uint64(2**63 + 1), np.uint64(2**64 - 1)])
def test_numpy_integers_as_positions(f: Any, k: Any) -> None:
    try:
        want = f(k)
    except IndexError as e:
        with pytest.raises(IndexError, match=str(e)):
            irad.compile(f)(k)
        return
    for a, b in zip(
        np.atleast_1d(irad.compile(f)(k)) if f is _item else irad.compile(f)(k), np.atleast_1d(want) if f is _item else want
    ):
        assert np.array_equal(a, b)


def test_an_array_at_a_position_beyond_64_bits() -> None:
    with pytest.raises(OverflowError, match="too large"):
        irad.compile(lambda x, k: x[k])(X, np.uint64(2**64 - 1))


def test_a_bool_as_a_position() -> None:
    def f(x):
        xs = [x, 2 * x]
        xs[x > 1] += 1.0
        return xs[0] * 10 + xs[x > 1]

    for x in (0.5, 1.5):
        assert irad.compile(f)(x) == f(x)


def test_a_length_that_becomes_known_later() -> None:
    """The two positions are one number, which only the passes find out."""

    def f(x):
        xs = [1.0, 2.0, 3.0]
        xs[int(abs(x)) % 3 : int(abs(x)) % 3] = [x, 2.0]
        return xs

    for x in (0.5, 1.5, -2.5):
        assert irad.compile(f)(x) == f(x)


def test_a_position_that_only_later_trips_do_not_know() -> None:
    """In the first trip of a `while` loop the position is a constant: the list is taken for one of single elements at first."""

    def numbers(s: Any, n: Any) -> Any:
        w, k, m = [s, 0.5, 1.5], 0, 0
        while k < n and w[0] > -5.0:
            k, m = k + 1, m + 1
            w[m % 3] = w[m % 3 - 1] * s + k
        return w[0] + 2.0 * w[1] + 3.0 * w[2]

    def arrays(s: Any, n: Any) -> Any:
        rows, k = [np.array([s, 1.0]), np.array([2.0, s]), np.ones(2)], 0
        while k < n:
            rows[k % 3] = rows[k % 3] * s + k
            k += 1
        return np.sum(rows[0] * rows[1] + rows[2])

    def pairs(s: Any, n: Any) -> Any:
        found, k = [(s, 1.0), (0.5, s)], 0
        while k < n:
            a, b = found[k % 2]
            found[k % 2] = (a * s, b + k)
            k += 1
        return found[0][0] * found[1][1] + found[1][0] * found[0][1]

    for f in (numbers, arrays, pairs):
        c, g = irad.compile(f), irad.grad(f)
        for n in (0, 1, 2, 5):
            assert np.isclose(c(0.7, n), f(0.7, n), rtol=1e-13)
            assert np.isclose(g(0.7, n), (f(0.7 + 1e-6, n) - f(0.7 - 1e-6, n)) / 2e-6, rtol=1e-6)


def test_none_is_put_into_a_list():
    """At a position that data decide; what is read may be None then."""

    def labels(x):
        found = [False] * len(x)
        for i in range(len(x)):
            if found[i] == False:  # noqa: E712
                k = int(np.argmax(x[i:])) + i
                found[k] = None if x[i] < 0 else 3
        return sum((i + 1) * x[i] for i in range(len(x)) if found[i] is not None)

    def cleared(x):
        kept = [v for v in x if v > 0.21]
        for i in range(len(kept)):
            if kept[i] > x[2]:
                kept[i] = None
        return sum([1.0 if v is None else v * v for v in kept])

    def rows(x):
        some = [x * k for k in range(4)]
        some[int(x[0] * 8)] = None
        return sum(np.sum(row) for row in some if row is not None)

    x = np.array([0.3, 0.52, 0.45, 0.13, -0.19, 0.7])
    for f in (labels, cleared, rows):
        for y in (x, x * 0.6, x[::-1] * 0.45):
            assert np.isclose(irad.compile(f)(y), f(y))
            irad.check_grads(f, (y,), modes=("rev",))


def picked(x):
    """The number of what is best, kept in a list of floats, is an index."""
    picks, total = [0.0] * len(X), 0.0
    for t in range(len(picks)):
        best = 0
        for k in range(1, len(x)):
            if x[k] * np.cos(t * k) > x[best] * np.cos(t * best):
                best = k
        picks[t] = best
        total += x[picks[t]] * (t + 1)
        picks[best] = 0.5
        picks[t - best] += 1
        total += picks[t] * picks[best]
    return total + sum(picks)


def long_picked(x, n):
    picks, total = [0.0] * n, 0.0
    for t in range(n):
        picks[t] = int(10 * abs(np.sin(t * x[0]))) % 4
        total += x[picks[t]] * (t + 1)
    return total + sum(picks)


def test_a_number_that_was_just_stored_keeps_its_class():
    check(picked, (X,))
    assert irad.compile(long_picked)(X, 90) == long_picked(X, 90)
    assert show(trace(long_picked, (X, 90)).program).count("sin ") == 1
