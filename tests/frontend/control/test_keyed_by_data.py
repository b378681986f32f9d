"""Dicts, sets and Counters whose keys data decide: visited places, tables of results, counts; values, gradients, refusals."""

from __future__ import annotations

import collections
import heapq
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import UnsupportedError
from tests.support.outcomes import agrees

X = np.array([1.5, 2.0, 1.25, 3.0, 2.5])


def visited(x: np.ndarray) -> Any:
    seen = set()
    n = 0
    for v in x:
        k = int(v)
        if k in seen:
            continue
        seen.add(k)
        n += 1
    seen.discard(3)
    return n, len(seen), sorted(seen), 2 in seen, max(seen), sum(seen)


def sums(x: np.ndarray) -> Any:
    d: dict[int, Any] = {}
    for v in x:
        k = int(v)
        d[k] = d.get(k, 0.0) + v
    s = 0.0
    for k, v in d.items():
        s += k * v
    return d, len(d), s, max(d, key=d.get), list(d), d.get(99)


def taken_out(x: np.ndarray) -> Any:
    d = {}
    for v in x:
        d[int(v)] = v
    first = list(d)
    del d[first[0]]
    return first, d.pop(2), len(d), d


def counts(x: np.ndarray) -> Any:
    c = collections.Counter(int(v) for v in x)
    d: collections.defaultdict[int, float] = collections.defaultdict(float)
    for v in x:
        d[int(v)] += v
        c[7] += 1
    return c, c[1], c[99], len(c), c.most_common(1), d, isinstance(d, dict)


def made_at_once(x: np.ndarray) -> Any:
    s, t, d = {int(v) for v in x}, set(int(v) * 2 for v in x if v > 2), {int(v): v * 2 for v in x}
    u = {int(x[0]), int(x[1])}
    return sorted(s), len(s | t), len(s & t), sorted(s - t), u <= s, d, {**d, 5: x[0]}, dict(zip([int(v) for v in x], x))


def algebra(x: np.ndarray) -> Any:
    s, t = {int(v) for v in x}, {2, 3, 9}
    u = s
    s |= {4}
    s &= {1, 2, 4}
    s ^= t
    more = s - {9}, sorted(s | t), s >= {9}, s < {1, 2, 3, 4, 9}, s.isdisjoint({0}), s == u, u.symmetric_difference(t)
    c = collections.Counter(int(v) for v in x)
    c.subtract([1, 5])
    d = {int(v): v for v in x}
    d |= {0: 5.0}
    return [sorted(m) if isinstance(m, set) else m for m in more], sorted(u), c, list(d)


def pairs_as_keys(x: np.ndarray) -> Any:
    d = {}
    for i in range(len(x)):
        d[(int(x[i]), i % 2)] = x[i : i + 1] * 2
    return (2, 1) in d, len(d), sum(v.sum() for v in d.values())


class Table:
    def __init__(self) -> None:
        self.q: dict[Any, Any] = {}
        self.seen: set[Any] = set()

    def step(self, s: np.ndarray) -> Any:
        k = (int(s[0] * 2), int(s[1] * 2))
        self.seen.add(k)
        self.q[k] = self.q.get(k, 0.0) + s[0]
        return self.q[k]


def attributes(x: np.ndarray) -> Any:
    t, total = Table(), 0.0
    for i in range(len(x) - 1):
        total += t.step(x[i : i + 2])
    return total, len(t.seen)


def first_again(x: np.ndarray) -> Any:
    first = {}
    for i, v in enumerate(x):
        if int(v) in first:
            return first[int(v)], i
        first[int(v)] = i
    return None


def views(x: np.ndarray) -> Any:
    """They show what is in the dict when somebody looks."""
    d: dict[int, Any] = {}
    ks, vs, pairs = d.keys(), d.values(), d.items()
    for v in x:
        d[int(v)] = v
    s = 0.0
    for i, (k, v) in enumerate(pairs):
        s += v * i
        if k == 1:
            d[2] = d[2] + 1.0
    side = [k * v for k, v in zip(d.keys(), d.values())]
    return s, sum(vs), len(ks), 2 in ks, list(ks), max(vs), sorted(pairs), [k for k in ks], dict(pairs), side, next(iter(vs))


@pytest.mark.parametrize(
    "f", [views, visited, sums, taken_out, counts, made_at_once, algebra, pairs_as_keys, attributes, first_again]
)
def test_as_python(f: Any) -> None:
    agrees(f, X)
    agrees(f, X[::-1] + 1.0)


def dijkstra(w: np.ndarray) -> Any:
    dist = {0: 0.0}
    queue = [(0.0, 0)]
    done = set()
    while queue:
        d, u = heapq.heappop(queue)
        if u in done:
            continue
        done.add(u)
        for v in range(len(w)):
            if w[u, v] > 0 and (v not in dist or d + w[u, v] < dist[v]):
                dist[v] = d + w[u, v]
                heapq.heappush(queue, (dist[v], v))
    return sum(dist.values())


def test_gradients() -> None:
    w = np.array([[0, 1.0, 4.0], [0, 0, 1.5], [0, 0, 0]])
    assert irad.compile(dijkstra)(w) == 3.5
    np.testing.assert_array_equal(irad.grad(dijkstra)(w), [[0, 2, 0], [0, 0, 1], [0, 0, 0]])
    total = lambda x: sum(v * v for v in sums(x)[0].values())
    np.testing.assert_allclose(irad.grad(total)(X), 2 * np.array([2.75, 4.5, 2.75, 3.0, 4.5]))


def test_a_missing_key_raises() -> None:
    def f(x: np.ndarray) -> Any:
        d = {}
        for v in x:
            d[int(v)] = v
        return d[int(x[0] * 10)]

    with pytest.raises(KeyError, match="15"):
        irad.compile(f)(X)


def test_keys_that_are_known_stay_pythons() -> None:
    def f(x: np.ndarray, n: int) -> Any:
        d = {"a": x, n: x * 2}
        d[n + 1] = x * 3
        return d

    agrees(f, X, 2)


class Tally(collections.Counter):  # type: ignore[type-arg]
    def add(self, k: Any) -> None:
        self[k] += 2


def class_of_the_program(x: np.ndarray) -> Any:
    tally = Tally()
    for v in x:
        tally.add(int(v))
    return tally[1]


def deques_as_values(x: np.ndarray) -> Any:
    groups: dict[int, Any] = {}
    for v in x:
        groups.setdefault(int(v), collections.deque()).append(v)
    return len(groups)


def order_of_a_set_in_a_dict(x: np.ndarray) -> Any:
    d: dict[int, set[int]] = {}
    for v in x:
        d.setdefault(int(v), set()).add(int(3 * v))
    return [k for k in d[2]]


@pytest.mark.parametrize(
    "f, text",
    [
        (deques_as_values, "pairs in one list"),
        (order_of_a_set_in_a_dict, r"sorted\(xs\)"),
        (class_of_the_program, "must be known"),
    ],
)
def test_refused(f: Any, text: str) -> None:
    with pytest.raises(UnsupportedError, match=text):
        irad.compile(f)(X)


def test_after_a_loop_of_which_data_decide_how_many_trips_it_makes() -> None:
    def without_gaps(x: np.ndarray) -> Any:
        label = x.astype(int)
        for k in range(label.max()):
            while len(np.nonzero(label == k)[0]) == 0:
                label[np.where(label > k)] -= 1
            if label.max() == k:
                break
        assert set(label) == set(range(label.max() + 1))
        return np.sum(x * label)

    value, slope = irad.value_and_grad(without_gaps)(X)
    assert value == without_gaps(X) and slope.tolist() == [0, 1, 0, 2, 1]


def test_known_sets_and_sets_by_data() -> None:
    """Operators with the known one in front, and changes of it under two names."""

    def f(x: Any) -> Any:
        t = {int(v) for v in x}
        s = {1, 7}
        same, u = s, set()
        s |= {int(x[1])}
        u.update(t)
        u -= {int(x[0])}
        made = [sorted({1, 5} | t), sorted({1, 5} & t), sorted({1, 5} - t), sorted({1, 5} ^ t)]
        return made, {0, 1, 2} == t, {1} < t, {1, 9} <= t, sorted(s), sorted(same), sorted(u)

    x = np.array([1.2, 2.7, 1.6, 0.3])
    assert irad.compile(f)(x) == f(x)
    with pytest.raises(irad.UnsupportedError, match="frozenset"):
        irad.compile(lambda x: len(frozenset([1]) | {int(v) for v in x}))(x)
    with pytest.raises(irad.UnsupportedError, match="joined in place"):
        irad.compile(lambda x, s: s.update({int(v) for v in x}))(x, {7})


def test_dicts_beside_numbers():
    """enumerate and zip of the dict itself, not of a view of it."""

    def f(x):
        d = {}
        for v in x:
            d[int(v * 5)] = v
        total = 0.0
        for i, k in enumerate(d):
            total += (i + 1) * k * d[k]
        for i, k in zip(range(2, 4), d):
            total += i * k
        return total

    x = np.array([0.3, 0.5, 0.45, 0.1, 0.7])
    assert np.isclose(irad.compile(f)(x), f(x))
    irad.check_grads(f, (x,), modes=("rev",))


def test_dicts_of_known_keys_that_are_joined_with_others():
    """update, |= and | of dicts, one of which has keys that data decide."""

    def f(s):
        a, b, c = {1: 0.5}, {1: 0.5}, collections.defaultdict(float, {2: 0.5})
        a.update({int(s * 3): s})
        a.update([(int(s * 2), s + 1.0), (2, 1.0)], x=3.0)
        b |= {int(s * 3): s}
        c.update({int(s): s})
        new = {1: 0.5, 7: 2.0} | {int(s * 3): s}
        return sum(a.values()), len(a), sum(b.values()), sum(c.values()), len(new), sum(new.values())

    for s in (1.5, 0.4):
        assert irad.compile(f)(s) == f(s)
    assert irad.grad(lambda s: f(s)[0])(0.4) == 2.0
    with pytest.raises(irad.UnsupportedError, match="a dict is updated with one"):
        irad.compile(lambda s, d: d.update({int(s): s}))(1.5, {1: 0.5})
