"""One of several lists, dicts, arrays or objects, which data choose: what is changed through it is changed under every name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

X = np.array([0.33, 1.24, 2.77, 1.98, 0.65, 2.26])


class Box:
    def __init__(self, weight: Any):
        self.weight, self.of, self.pos, self.n = weight, [weight, 0.0], np.zeros(2), 0

    def add(self, v: Any) -> Any:
        self.weight += v
        self.n += 1
        return self.weight * 2

    @property
    def double(self) -> Any:
        return 2 * self.weight

    def push(self, other: Any, v: Any) -> None:
        other.weight -= v
        self.weight += v


def one_list_under_two_names(x: Any) -> Any:
    a, b = [1.0, 2.0], [3.0, 4.0]
    q, d = [a, a, b], {0: a, 1: b, 2: a}
    for v in x:
        q[int(v)][0] += v
        q[int(v)][1] *= a[0]
        d[int(v)][0] += v * q[2][0]
    return a[0] + 2 * b[0] + 3 * q[1][1] + b[1] + d[0][0]


def a_row_that_is_kept(x: Any) -> Any:
    q = [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]
    first, t = q[int(x[2])], 0.0
    for v in x:
        row = q[int(v)]
        q[int(v)][0] += v
        row[1] += row[0] * v
        first[1] += first[0]
        for r in q:
            r[0] *= 1.1
        t += row[0]
    q[2][0] = x[1]
    return t + first[0] * first[1] + sum(r[0] * r[1] for r in q)


def a_row_that_is_rebound(x: Any) -> Any:
    q = [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]
    row, other = q[int(x[0])], q[0]
    for v in x:
        row[0] += v
        row = q[int(v)]
        row[1] += row[0]
        if v > 1.5:
            other = q[int(v)]
        other[0] += v
        q[1][0] *= 1.5
    row[0] += 5.0
    old, q[1] = q[int(x[1])], [10.0, 20.0]
    old[0] += x[0]
    q[int(x[1])][0] += x[1]
    return sum((k + 1) * (r[0] * r[1] + r[0]) for k, r in enumerate(q)) + row[0] + 3 * old[0] + 2 * other[0]


def rows_of_rows(x: Any) -> Any:
    t = [[[1.0 * i + j + 0.1 * k for k in range(2)] for j in range(2)] for i in range(3)]
    s = 0.0
    for v in x:
        i, j, k = int(v), int(2 * v) % 2, int(10 * v) % 2
        t[i][j][k] += v
        s += t[i][j][1 - k] * max(t[i][j])
        t[i][j][k] = s * 0.1
    return s + sum(t[i][j][k] * (i + 2 * j + 3 * k) for i in range(3) for j in range(2) for k in range(2))


def lists_of_several_lengths(x: Any) -> Any:
    b, t = [[1.0], [1.0, 2.0], [1.0, 2.0, 3.0]], 0.0
    for v in x:
        k = int(v)
        b[k][0] += v
        b[k].append(v)
        t += b[k].pop(0) + len(b[k]) if b[k] else 0.0
        t += sum(b[k]) + b[k][-1]
    return t + sum(sum(r) for r in b)


def dicts(x: Any) -> Any:
    q, t = {s: {a: 0.1 * s for a in "lru"} for s in range(3)}, 0.0
    names = {"l": [1.0, 2.0], "r": [3.0, 4.0], "u": [5.0, 6.0]}
    for v in x:
        s, b = int(v), "l" if v > 2 else "r" if v > 1 else "u"
        t += q[s][max(q[s], key=q[s].get)] + max(q[s].values()) + sum(q[s].values())
        q[s][b] += v
        names[b][int(10 * v) % 2] *= 1.1
        if b in q[s] and q[s]["u"] > 0.5:
            t += v * names[b][0]
        for k, w in q[s].items():
            t += w * v * q[s][k]
        q[s]["l"] *= 2
    return t + sum(w * (s + 1) for s, r in q.items() for w in r.values())


def arrays(x: Any) -> Any:
    q = [np.zeros(3) + k for k in range(9)]
    grid, t = {(i, j): np.zeros(2) for i in range(2) for j in range(2)}, 0.0
    for v in x:
        k, cell = int(v * 3), (int(v) // 2, int(v) % 2)
        q[k][int(v)] += v
        q[k][0:2] *= 1.5
        row = q[k]
        row[2] = row[0] * 2
        grid[cell][int(10 * v) % 2] += 0.5 * (v + np.max(grid[cell]))
        t += np.max(q[k]) + q[k].sum() + row[2]
    return t + sum(np.sum(r * np.arange(3)) * (1 + k) for k, r in enumerate(q)) + sum(c[0] + 2 * c[1] for c in grid.values())


def objects(x: Any) -> Any:
    boxes, t = [Box(1.0 * k) for k in range(3)], 0.0
    boxes.append(boxes[0])
    for v, w in zip(x[:-1], x[1:]):
        b = boxes[int(v + 1)]
        b.weight += v
        boxes[2].weight *= 1.1
        t += b.weight * b.double + b.add(v)
        c = b
        c.of[1] += v
        c.pos += v
        t += b.of[1] + len(b.of) + b.pos[0]
        boxes[int(v)].push(boxes[int(w)], v)
        if boxes[int(v)] is not boxes[int(w)]:
            boxes[int(v)].weight *= boxes[int(w)].weight
    return t + sum((k + 1) * b.weight * (b.n + 1) + sum(b.of) for k, b in enumerate(boxes))


def the_largest_and_the_smallest(x: Any) -> Any:
    boxes, last = [Box(v) for v in x], None
    for _ in range(3):
        hi, lo = max(boxes, key=lambda b: b.weight), min(boxes, key=lambda b: b.weight)
        d = 0.3 * (hi.weight - lo.weight)
        hi.weight -= d
        lo.weight += d
        if d > 0.3:
            last = lo
        if last is not None:
            last.n += 1
    return sum(b.weight**2 * (b.n + 1) for b in boxes)


def a_row_given_to_a_function(x: Any) -> Any:
    def update(row: Any, v: Any) -> Any:
        row[0] += v
        return row[0]

    q, t = [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]], 0.0
    for v in x:
        old, copy = list(q[int(v)]), q[int(v)][:]
        t += update(q[int(v)], v) * old[0] + copy[0]
    return t + sum(r[0] * (k + 1) for k, r in enumerate(q))


PROGRAMS: list[Callable[[Any], Any]] = [
    one_list_under_two_names, a_row_that_is_kept, a_row_that_is_rebound, rows_of_rows, lists_of_several_lengths, dicts, arrays, objects,
    the_largest_and_the_smallest, a_row_given_to_a_function,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient(f: Callable[[Any], Any]) -> None:
    value, slope = irad.value_and_grad(f)(X)
    assert np.isclose(value, f(X), rtol=1e-12)
    expected = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(len(X))]
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)


def test_exceptions_are_pythons() -> None:
    def f(x: Any) -> Any:
        q = {(0, 1): {"a": 1.0}, (1, 0): {"a": 2.0}}
        rows = [[1.0, 2.0], [3.0]]
        name = ""
        for v in x:
            if v > 0.5:
                name = "a"
        q[(int(x[0]), 1)][name] += x[1]
        rows[int(x[2])][1] += x[1]
        return q[(0, 1)]["a"] + rows[0][1]

    c = irad.compile(f)
    for x in ([2.0, 1.0, 0.0], [0.1, 0.2, 0.0], [0.0, 2.0, 1.0], [0.0, 2.0, 2.0]):
        with pytest.raises((KeyError, IndexError)) as got:
            c(np.array(x))
        with pytest.raises((KeyError, IndexError)) as want:
            f(np.array(x))
        assert type(got.value) is type(want.value) and str(got.value).strip("'") == str(want.value).strip("'")
    assert c(np.array([0.0, 2.0, 0.0])) == 7.0


def test_what_is_looked_at_may_not_change_meanwhile() -> None:
    def f(x: Any) -> Any:
        q = ([1.0, 2.0], [3.0, 4.0])
        t = 0.0
        for v in q[int(x[0])]:
            q[0][1] += 1.0
            t += v
        return t

    with pytest.raises(irad.UnsupportedError, match="a list is changed that is one of several"):
        irad.compile(f)(X)


def test_where_data_choose_two_containers_of_which_one_is_new() -> None:
    def f(x: Any) -> Any:
        q = [[1.0, 2.0], [3.0, 4.0]]
        row = q[int(x[0])]
        if x[1] > 1.0:
            row = [x[1], x[2]]
        row[0] += 1.0
        return row[0] + q[0][0]

    with pytest.raises(irad.UnsupportedError, match="one of several things"):
        irad.compile(f)(X)


def test_stores_into_one_of_few_arrays_of_other_sizes() -> None:
    def f(x):
        rows = [np.zeros(2), np.ones(3), np.arange(4.0)]
        for _ in range(3):
            k = np.argmax(x)
            rows[k][1] = 2 * x[0]
            rows[k][k % 2] += x[1]
            rows[k][-1] += x[1] * len(rows[k]) + 0.1 * np.sum(rows[k][1:])
            x = x * np.array([0.9, 0.2, 0.7])
        return sum(np.sum(v * v) for v in rows)

    c = irad.compile(f)
    for x in ([0.3, 0.8, 0.5], [0.9, 0.1, 0.2], [0.1, 0.2, 0.8]):
        x = np.array(x)
        assert np.isclose(c(x), f(x), rtol=1e-14)
        h = 1e-6 * np.eye(3)
        np.testing.assert_allclose(irad.grad(f)(x), [(f(x + e) - f(x - e)) / 2e-6 for e in h], rtol=1e-7, atol=1e-7)
    beyond = irad.compile(lambda x: [np.zeros(2), np.ones(3)][int(x[0])].__setitem__(int(x[1]), x[2]))
    with pytest.raises(IndexError):
        beyond(np.array([0.0, 2.0, 1.0]))
