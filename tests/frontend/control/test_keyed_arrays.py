"""Arrays that are values of dicts whose keys data decide, changed in place; dicts that get keys which they lack, by data."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

X = np.array([0.33, 1.24, 2.77, 1.98, 0.65, 2.26])


def a_table_of_states(x: Any) -> Any:
    q: Any = defaultdict(lambda: np.zeros(2))
    t, s = 0.0, 0
    for v in x:
        a = int(np.argmax(q[s])) if v > 1 else int(10 * v) % 2
        after = int(3 * v) % 4
        q[s][a] += 0.5 * (v + 0.9 * np.max(q[after]) - q[s][a])
        t += q[s].sum() + 0.1 * (q[s] @ q[after]) + (2.0 * q[s] * np.array([1.0, 2.0]))[1] + len(q[s])
        s = after
    return t + sum(np.sum(r * r) * (k + 1) for k, r in q.items())


def rows_with_other_names(x: Any) -> Any:
    def add(row: Any, v: Any) -> Any:
        row[1] += v
        return row

    q: dict[int, Any] = {}
    t = 0.0
    for v in x:
        if int(v) not in q:
            q[int(v)] = np.zeros(3)
        row = q[int(v)]
        row[0] += v
        q[int(v)][1] += row[0]
        row += 0.5
        row[1:] *= 2.0
        t += row[2] + add(q[int(v)], v)[1]
    q[9] = q[0]
    q[0][0] += x[1]
    old, q[1] = q[1], q[1] * 2.0
    old[0] += 100.0
    return t + q[9][0] * q[0][1] + q[1][0] + sum(r[0] * r[1] for r in q.values())


def distributions(x: Any) -> Any:
    p = {0: 1.0}
    for v in x[:4]:
        new: dict[int, Any] = {}
        for s, w in p.items():
            for step, share in ((int(v), 0.3), (1, 0.7)):
                new[s + step] = new.get(s + step, 0.0) + w * share * v
        p = new
        if len(p) > 5:
            p = {3: x[0]}
    return sum(s * s * w for s, w in p.items())


def keys_that_come_later(x: Any) -> Any:
    d = {0: 1.0, 1: 2.0}
    for v in x:
        d[int(v)] = v
    return sum(k * v for k, v in d.items()) + len(d)


PROGRAMS = [a_table_of_states, rows_with_other_names, distributions, keys_that_come_later]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient(f: Callable[[Any], Any]) -> None:
    value, slope = irad.value_and_grad(f)(X)
    assert np.isclose(value, f(X), rtol=1e-12)
    expected = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(len(X))]
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)


def test_a_returned_table() -> None:
    def f(x: Any) -> Any:
        q: Any = defaultdict(lambda: np.zeros(2))
        for v in x:
            q[int(v)][1] += v
        return q, q[0]

    (got, row), (want, first) = irad.compile(f)(X), f(X)
    assert type(got) is defaultdict and list(got) == list(want) and np.array_equal(row, first)
    assert all(np.array_equal(got[k], want[k]) for k in want)


def test_keys_that_are_not_there() -> None:
    def f(x: Any) -> Any:
        q: dict[int, Any] = {}
        for v in x:
            if v < 2.0:
                q[int(v)] = np.zeros(2)
            q[int(v)][0] += v
        return q[0][0]

    c = irad.compile(f)
    assert c(X[:2]) == f(X[:2])
    for g in (c, f):
        with pytest.raises(KeyError, match="2"):
            g(X)


def _named(x: Any) -> Any:
    q: dict[int, Any] = {}
    a = np.zeros(2)
    for v in x:
        q[int(v)] = a
        q[int(v)][0] += v
    return a[0]


def _a_part_that_is_kept(x: Any) -> Any:
    q: Any = defaultdict(lambda: np.zeros(3))
    for v in x:
        part = q[int(v)][0:2]
        q[int(v)][0] += v
    return part[0] + q[0][0]


def _in_two_dicts(x: Any) -> Any:
    q, best = defaultdict(lambda: np.zeros(2)), {}
    for v in x:
        q[int(v)][0] += v
        best[int(v)] = q[int(v)]
    return sum(r[0] for r in best.values())


@pytest.mark.parametrize(
    "f, message", [(_named, "put a copy"), (_a_part_that_is_kept, "copy the array"), (_in_two_dicts, "put a copy")]
)
def test_refused(f: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(irad.UnsupportedError, match=message):
        irad.compile(f)(X)


def test_cures() -> None:
    def f(x: Any) -> Any:
        q, best = defaultdict(lambda: np.zeros(2)), {}
        a = np.ones(2)
        for v in x:
            q[int(v)][0] += v
            best[int(v)] = q[int(v)].copy()
            part = q[int(v)][0:2].copy()
            q[int(v)] = a.copy()
            q[int(v)][1] += part[0]
        return sum(r[0] for r in best.values()) + part[0] + sum(r[1] for r in q.values()) + a[0]

    assert np.isclose(irad.compile(f)(X), f(X))
