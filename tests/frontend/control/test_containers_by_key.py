"""Lists, sets and dicts as values of dicts whose keys data decide: values, gradients, names of one list, what is refused."""

from __future__ import annotations

import collections
import copy
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import IradError, UnsupportedError
from tests.support.outcomes import agrees

X = np.array([1.5, 2.0, 1.25, 3.0, 2.5, 1.75])


def groups(x: np.ndarray) -> Any:
    d = collections.defaultdict(list)
    for v in x:
        d[int(v)].append(v)
    means = {k: np.mean(v) for k, v in sorted(d.items())}
    longest = max(d, key=lambda k: len(d[k]))
    return means, longest, d[longest][-1], len(d[9]), [len(v) for v in d.values()], d


def lists_of_pairs(x: np.ndarray) -> Any:
    d: dict[int, Any] = {}
    for i, v in enumerate(x):
        k = int(v)
        if k not in d:
            d[k] = []
        d[k].append((i, v))
    for k in d:
        d[k].sort(key=lambda p: -p[1])
    first = d.pop(2)
    return [d[k][0] for k in sorted(d)], first[0], len(d), d.get(2, []), d.get(1)[1]


def all_of_a_list(x: np.ndarray) -> Any:
    d = {}
    for v in x:
        k = int(v)
        d[k] = d[k] + [v] if k in d else [v]
    xs = d[1]
    xs += [x[0] * 7, x[0] * 8]
    xs.insert(1, x[0] / 3)
    xs.remove(x[0] * 7)
    last = xs.pop()
    xs[0] = x[1] * 2
    xs.reverse()
    del xs[1]
    return (
        last,
        list(d[1]),
        d[1] is xs or len(d[1]) == len(xs),
        x[1] * 2 in d[1],
        d[1].index(x[1] * 2),
        xs.count(x[1] * 2),
        np.array(d[2]),
        d[1][1:],
    )


def one_list_of_many_names(x: np.ndarray) -> Any:
    kept, d = [1.0], {}
    for v in x:
        d[int(v)] = kept
    kept.append(2.0)
    d[2].append(3.0)
    return len(kept), sum(d[1]), len(d)


def sets(x: np.ndarray) -> Any:
    d = collections.defaultdict(set)
    for a, b in zip(x[:-1], x[1:]):
        d[int(a)].add(int(b))
        d[int(b)].add(int(a))
    u = d[1]
    u |= {5}
    u &= {1, 2, 5}
    return sorted(d[1]), 3 in d[2], len(d[3]), sorted(d[1] & d[2]), d


def dicts(x: np.ndarray) -> Any:
    c: Any = collections.defaultdict(lambda: collections.defaultdict(int))
    for a, b in zip(x[:-1], x[1:]):
        c[int(a)][int(b)] += 1
    p = 0.0
    for a in c:
        n = sum(c[a].values())
        for b, m in c[a].items():
            p += m / n * b
    return p, c[3][9], {k: sum(v.values()) for k, v in c.items()}


def counters(x: np.ndarray) -> Any:
    c: dict[int, Any] = {}
    for i, v in enumerate(x):
        c.setdefault(int(v), collections.Counter())[i % 2] += 1
    return c[1].most_common(1), [sum(c[k].values()) for k in sorted(c)]


def copies(x: np.ndarray) -> Any:
    d, e = collections.defaultdict(list), {}
    for v in x:
        d[int(v)].append(v)
        e[int(v)] = e.get(int(v), 0.0) + v
    one, two, three, four = copy.copy(d[1]), copy.deepcopy(d), dict(e), copy.copy(e)
    one.append(x[0])
    two[1].append(x[0])
    three[1] = four[2] = x[0]
    shared = d.copy()
    shared[1].append(x[0])
    c = collections.Counter(int(v) for v in x)
    same = d[1] is d[1], d[1] is shared[1], d[1] is one, d[1] is not d[2], d[1] is two[1]
    return (
        len(one),
        len(d[1]),
        len(two[1]),
        e[1],
        e[2],
        e.copy(),
        same,
        collections.Counter(c),
        c + c,
        c - collections.Counter([1]),
    )


def stored_while_gone_over(x: np.ndarray) -> Any:
    d, e = collections.defaultdict(list), {}
    for v in x:
        d[int(v)].append(v)
        e[int(v)] = v
    s = t = 0.0
    for k in d:
        for i, v in enumerate(d[k]):
            s += v
            if i + 1 < len(d[k]):
                d[k][i + 1] += 2 * v
    for k, v in e.items():
        t += v
        if 2 in e:
            e[2] = e[2] + k
    for v in d[1]:
        d[1].append(d[1].pop(0))
        s = 2 * s + v
    c = collections.Counter(int(v) for v in x)
    del c[7]
    xs = d[2]
    xs *= 2
    return s, t, len(d[2]), c, d


def in_two_dicts(x: np.ndarray) -> Any:
    d, e = collections.defaultdict(list), {}
    for v in x:
        d[int(v)].append(v)
    for k, v in d.items():
        if len(v) > 1:
            e[k] = v
    return e, sum(len(e[k]) + d[k][0] for k in e)


@pytest.mark.parametrize(
    "f",
    [
        stored_while_gone_over,
        in_two_dicts,
        groups,
        lists_of_pairs,
        all_of_a_list,
        one_list_of_many_names,
        sets,
        dicts,
        counters,
        copies,
    ],
)
def test_as_python(f: Any) -> None:
    agrees(f, X)
    agrees(f, X[::-1] * 0.75 + 1.0)


def chosen(x: np.ndarray, c: int) -> Any:
    low: list[Any] = []
    high: list[Any] = []
    table: dict[int, list[Any]] = {k: [] for k in range(1, 4)}
    three: list[Any] = [[], [], []]
    for v in x:
        (high if v > 2 else low).append(v)
        table[int(v)].append(v * c)
        three[int(v) - 1] += [v, 1.0]
    return low, high, table, [len(t) for t in three], sum(three[1])


def test_one_of_a_few() -> None:
    agrees(chosen, X, 2)
    with pytest.raises(KeyError, match="9"):
        irad.compile(chosen)(np.array([1.0, 9.5]), 2)


def test_gradients() -> None:
    f = lambda x: sum(m * m for m in groups(x)[0].values()) + 3 * groups(x)[2]
    want = np.array([1.0, 4.5 / 2, 1.0, 6.0, 4.5 / 2, 1.0])  # 2 m / n of its group, and 3 for the last of the longest
    want[5] += 3.0
    np.testing.assert_allclose(irad.grad(f)(X), want)

    def tables(x: np.ndarray) -> Any:
        q: dict[int, dict[int, Any]] = {}
        for i, v in enumerate(x):
            row = q.setdefault(int(v), {})
            row[i % 2] = row.get(i % 2, 0.0) * 0.5 + v * v
        return sum(sum(row.values()) for row in q.values())

    np.testing.assert_allclose(irad.grad(tables)(X), 2 * X * [0.5, 1, 1, 1, 1, 1])


def test_generators_of_unknown_length() -> None:
    def f(x: np.ndarray) -> Any:
        out = []
        for i, v in enumerate(x):
            if v > 1.6:
                out.append((i, v))
        return max(v for _, v in out), min(i for i, _ in out), any(v > 2.8 for _, v in out), sum(i * v for i, v in out)

    agrees(f, X)
    with pytest.raises(ValueError, match="empty"):
        irad.compile(f)(X * 0)
    np.testing.assert_array_equal(irad.grad(lambda x: f(x)[0])(X), [0, 0, 0, 1, 0, 0])


def changed_inside(x: np.ndarray) -> Any:
    d = collections.defaultdict(list)
    for v in x:
        d[int(v)].append(v)
    for v in d[1]:
        d[int(v)].append(v + 1)
    return len(d)


def grown_inside(x: np.ndarray) -> Any:
    d = {}
    for v in x:
        d[int(v)] = v
    for k in d.keys():
        d[k + 9] = 1.0
    return d


def changed_in_two_dicts(x: np.ndarray) -> Any:
    d, e = collections.defaultdict(list), {}
    for v in x:
        d[int(v)].append(v)
    for k in d:
        e[k] = d[k]
        e[k].append(1.0)
    return d


def taken_by_a_comprehension(x: np.ndarray) -> Any:
    d = collections.defaultdict(list)
    for v in x:
        d[int(v)].append(v)
    return {k: v for k, v in d.items() if len(v) > 1}[1][0]


def begun_again(x: np.ndarray) -> Any:
    d = {}
    for v in x:
        d[int(v)] = d.get(int(v), 0.0) + v
        if len(d) > 2:
            d = {}
    return sum(d.values())


def test_refused() -> None:
    with pytest.raises(IradError, match="while a loop goes over it"):
        irad.compile(changed_inside)(X)
    with pytest.raises(IradError, match="value of two dicts"):
        irad.compile(changed_in_two_dicts)(X)
    agrees(grown_inside, X)
    agrees(begun_again, X)
    agrees(taken_by_a_comprehension, X)


def test_returned_factories() -> None:
    def f(x: np.ndarray) -> Any:
        d: Any = collections.defaultdict(lambda: collections.defaultdict(float))
        e: Any = collections.defaultdict(lambda: np.ones(2))
        e[1] = e[2] + x[0]
        for v in x:
            d[int(v)][int(v * 2)] += v
        return d, e

    got, want = irad.compile(f)(X), f(X)
    assert got[0] == want[0]
    assert got[0][99][5] == 0.0
    assert np.array_equal(got[1][1], want[1][1]) and np.array_equal(got[1][9], [1.0, 1.0])

    def g(x: np.ndarray) -> Any:
        start = x[0]
        return collections.defaultdict(lambda: start)

    with pytest.raises(UnsupportedError, match="factory"):
        irad.compile(g)(X)


def test_taking_out_at_a_position_of_data() -> None:
    def f(x: np.ndarray) -> Any:
        xs: list[Any] = []
        d: dict[int, Any] = {}
        s = 0.0
        for v in x:
            xs.append((v, v * 2))
            if v > 2:
                s += xs.pop(int(v) - 2)[1]
            if int(v) in d:
                del d[int(v)]
            else:
                d[int(v)] = v
        del xs[int(x[0])]
        return s, xs, d

    agrees(f, X)
    total = lambda x: f(x)[0] + 3 * sum(v for v, _ in f(x)[1]) + 5 * sum(f(x)[2].values())
    steps = np.eye(len(X)) * 1e-3
    x = X + 0.125
    want = [(total(x + h) - total(x - h)) / 2e-3 for h in steps]
    np.testing.assert_allclose(irad.grad(total)(x), want, rtol=1e-9)
