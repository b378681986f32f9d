"""sorted, max, min, list and zip of lists of which data decide how long they are."""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
import pytest

import irad
from tests.support.as_python import check
from tests.support.outcomes import agrees

X = np.array([3.0, 2.0, 1.0, 3.5, 7.0, 0.5])


def grown(x: np.ndarray) -> Any:
    xs, ys = [], []
    for v in x:
        if v > 1.5:
            xs.append(v)
            ys.append((v * v, int(v)))
    return xs, ys


def by_order(x: np.ndarray) -> Any:
    xs, ys = grown(x)
    down = sorted(xs, reverse=True)
    ys.sort(key=lambda t: -t[0])
    return sorted(xs), down, ys[0], sorted(zip(xs, ys))[0], sorted(range(len(xs)), key=lambda i: xs[i]), sorted(ys)[:1]


def stable(x: np.ndarray) -> Any:
    pairs = [(int(v) % 2, v) for v in x if v > 0.7]
    return sorted(pairs, key=lambda t: t[0]), sorted(pairs, key=lambda t: t[0], reverse=True)


def extremes(x: np.ndarray) -> Any:
    xs, ys = grown(x)
    none = [v for v in x if v > 100]
    return (
        max(xs, key=lambda v: -v),
        min(ys),
        max(ys, key=lambda t: t[1])[0],
        max(zip(xs, ys))[0],
        max(none, default=np.float64(5.0)),
        sorted(none),
    )


def joined(x: np.ndarray) -> Any:
    xs, ys = grown(x)
    both = list(zip(xs, ys))
    return both[-1], len(both), list(enumerate(xs))[1], list(reversed(xs))[0]


@pytest.mark.parametrize("f", [by_order, stable, extremes, joined])
def test_as_python(f: Any) -> None:
    agrees(f, X)


def test_gradients() -> None:
    ranked = lambda x: sum(v * (i + 1) for i, v in enumerate(sorted(grown(x)[0], reverse=True)))
    np.testing.assert_array_equal(irad.grad(ranked)(X), [3, 4, 0, 2, 1, 0])
    best = lambda x: max(grown(x)[1])[0] + 3 * min(grown(x)[1], key=lambda t: t[0])[0]
    np.testing.assert_array_equal(irad.grad(best)(X), [0, 12, 0, 0, 14, 0])


def test_nothing_to_choose_from() -> None:
    with pytest.raises(ValueError, match="max.*empty"):
        irad.compile(lambda x: max([v for v in x if v > 100], key=lambda v: -v))(X)
    with pytest.raises(ValueError, match="NaN"):
        irad.compile(lambda x: sorted([v for v in x if not v > 100]))(np.array([1.0, np.nan]))


def sorted_rows(x: np.ndarray, s: float) -> Any:
    pairs = [(s, x), (x[1], x + 1.0)]
    for k in range(20):
        x[k % 3] += 1.0
        pairs.sort(key=lambda p: p[0] * (-1) ** k)
    rows = [x, x * 2]
    rows.sort(key=lambda a: -a[0])
    rows[1][0] = 50.0
    x[2] += 9.0
    return sum(b[0] + 2 * b[2] for _, b in pairs), rows[0][0], rows[1][0], x


def test_what_is_sorted_are_the_arrays_themselves() -> None:
    for s in (0.5, 5.0):
        agrees(sorted_rows, np.array([1.0, 2.0, 3.0]), s)

    def many(x: np.ndarray) -> Any:
        rows = [x * k for k in (3.0, 1.0, 5.0, 2.0)] + [x]
        rows.sort(key=lambda a: a[0])
        x[0] = 9.0
        return rows[0][0]

    with pytest.raises(irad.UnsupportedError, match="changed since"):
        irad.compile(many)(np.array([1.0, 2.0]))


def cheapest_first(x: np.ndarray) -> Any:
    queue: list[Any] = []
    for i in range(len(x)):
        heapq.heappush(queue, (x[i], i, x * i))  # the position stands before the array, so that arrays are never compared
    out = np.zeros(len(x))
    while queue:
        cost, i, a = heapq.heappop(queue)
        out = out * 0.5 + cost * a
    return out, (x[0], x) < (x[1], x * 2), (x[0], x * 2) == (x[1], x)


def test_what_stands_behind_in_a_tuple_is_compared_only_where_it_decides() -> None:
    x = np.array([2.0, 1.0, 1.0, 3.0])
    agrees(cheapest_first, x)
    h = 1e-6
    total = lambda x: np.sum(cheapest_first(x)[0])
    x = np.array([2.0, 1.0, 1.5, 3.0])
    want = [(total(x + h * e) - total(x - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(irad.grad(total)(x), want, rtol=1e-8)
    with pytest.raises(ValueError, match="ambiguous"):
        irad.compile(lambda x: (x[0], x) < (x[1], x * 2))(np.array([1.0, 1.0]))


def test_whether_lists_are_equal():
    def of_numbers(x):
        a, b, c = [v for v in x if v > 0.2], [v for v in x if v > 0.15], [v * 2 for v in x if v > 0.2]
        same = [a == b, a != c, a == [], [] != a, a == a, a == [x[0], x[1], x[2]], a == [x[0]]]
        return sum(2.0**k for k, s in enumerate(same) if s)

    def of_lists(x):
        a, b = [[i for i in range(4) if x[i] > 0.2]], [[i for i in range(4) if x[i] > 0.15]]
        a.append([i for i in range(4) if x[i] < 0])
        b.append([3])
        return (a == b) + 2 * (a[1] == b[1]) + 4 * (a[0] == [])

    def until_empty(x):
        fronts, n, k = [[i for i in range(4) if x[i] > 0.2]], 0, 0
        while fronts[k] != []:
            fronts.append([j for j in fronts[k] if x[j] > 0.3 * (k + 1)])
            n += len(fronts[k])
            k += 1
        return n * x[0]

    x = np.array([0.3, 0.5, 0.45, -0.2])
    for f in (of_numbers, of_lists, until_empty):
        g = irad.compile(f)
        for y in (x, -x, x + 0.3, np.array([0.3, 0.18, 0.45, 0.7])):
            assert g(y) == f(y)
    missing = irad.compile(lambda x: [v for v in x if not v < 0.4] == [v for v in x if not v < 0.4])
    assert missing(x)
    with pytest.raises(irad.IradError, match="NaN at one place"):
        missing(np.array([np.nan, 1.0]))


def test_stars_of_lists_of_unknown_length() -> None:
    def f(x):
        h = [(v, v * v) for v in x if v > 0]
        a, b = zip(*h)
        first, last = map(list, zip(*h))
        return [1.0, *a, x[0], *b], len(a), first[0] + last[-1], np.array(list(zip(*h))), [sum(c) for c in zip(*h)]

    c = irad.compile(f)
    for x in (np.array([1.0, -2.0, 3.0]), np.array([1.0, 2.0, 3.0])):
        got, want = c(x), f(x)
        assert got[:3] == want[:3] and np.array_equal(got[3], want[3]) and np.allclose(got[4], want[4], rtol=1e-15)
    with pytest.raises(ValueError, match="of an empty list"):
        c(-np.ones(3))
    total = lambda x: sum(k * v for k, v in enumerate(f(x)[0]))
    assert np.array_equal(irad.grad(total)(np.array([1.0, -2.0, 3.0])), [1 + 3 + 2 * 4, 0, 2 + 6 * 5])


def test_parts_of_arrays_that_data_cut_are_unpacked() -> None:
    table = np.array([5.0, 2.0, -1.0, 5.0, -5.0, 2.0, 1.0])

    def f(x):
        k = np.searchsorted(table[:2] * 0 + [1, 2], x[0]) * 2
        a, b, c = table[k : k + 3]
        (d, e), g = x[k % 2 : k % 2 + 2], b
        return a * x[0] + g * x[1] + c * d * e

    c = irad.compile(f)
    for x in ([0.5, 3.0, 2.0], [1.5, 0.25, -1.0], [3.0, 1.0, 1.0]):
        assert c(np.array(x)) == f(np.array(x))
    assert np.array_equal(irad.grad(f)(np.array([1.5, 0.25, -1.0])), [-1 - 5 * 0.25, 5 - 5 * 1.5, 0])  # a, b, c = -1, 5, -5

    def cut(x):
        k = int(x[0])
        a, b = x[k : k + 2]
        return a * b

    c = irad.compile(cut)
    assert c(np.array([0.0, 2.0, 3.0])) == 0 and c(np.array([1.0, 2.0, 3.0])) == 6
    for k, n in ((2, 1), (3, 0)):
        with pytest.raises(ValueError, match=rf"^not enough values to unpack \(expected 2, got {n}\)"):
            c(np.array([k, 2.0, 3.0]))
    with pytest.raises(ValueError, match=r"^too many values to unpack \(expected 1\)"):
        irad.compile(lambda x: [a for (a,) in [x[int(x[0]) :]]][0])(np.array([1.0, 2.0, 3.0]))


def test_filter() -> None:
    def f(x):
        rows = [[v, v * v - 4.0] if v > 1.5 else [] for v in x]
        for k in range(len(rows)):
            rows[k] = list(filter(lambda v: v != 0, rows[k]))
        xs, _ = grown(x)
        return sum(sum(r) for r in rows) + sum(len(r) for r in rows) + sum(filter(lambda v: v < 4, xs))

    assert irad.compile(f)(X) == f(X) == 89.25
    assert np.array_equal(irad.grad(f)(X), [8.0, 2.0, 0.0, 9.0, 15.0, 0.0])  # 1 + 2 v (1 where v * v - 4 is 0), and 1 below 4


class Point(NamedTuple):
    x: Any
    y: Any


def test_named_tuples_are_looked_for() -> None:
    """In lists that shrink, by a named tuple or a tuple of the same numbers."""

    def ears(x: Any) -> Any:
        points, cut = [Point(v, v * 2) for v in x], []
        while len(points) > 3:
            for i in range(len(points)):
                a, b, c = points[i - 1], points[i], points[(i + 1) % len(points)]
                if a.x < c.x or len(points) < 5:
                    points.remove(b)
                    cut.append(b)
                    break
        return sum(a * b * (i + 1) for i, (a, b) in enumerate(points)) + len(cut) * cut[-1].y

    def known(x: Any) -> Any:
        points = [Point(x[0], x[1]), Point(x[1], x[2]), Point(x[2], x[0])]
        p = points[1] if x[0] > 0.5 else points[0]
        points.remove(p)
        points.remove((x[2], x[0]))
        return sum(a * b for a, b in points) + p.x

    for x in (np.random.default_rng(0).random(6), np.random.default_rng(1).random(6)):
        check(ears, (x,))
        check(known, (x,))
