"""Comprehensions of dicts, and arrays, tuples and targets of assignments, of as many elements as data decide."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

X = np.array([0.33, 1.24, 2.77, 1.98, 0.65, 2.26])


def dicts_of_containers(x: Any) -> Any:
    d = defaultdict(list)
    for v in x:
        d[int(v)].append(v)
    ordered = {k: sorted(v) for k, v in d.items() if len(v) > 1}
    ordered[0].append(x[1])
    d[0].append(x[2])
    return sum((k + 1) * v[0] * sum(v) for k, v in ordered.items()) + sum(d[0])


def dicts_of_numbers(x: Any) -> Any:
    d: dict[int, Any] = {}
    for v in x:
        d[int(v)] = d.get(int(v), 0.0) + v
    total = sum(d.values())
    p = {k: v / total for k, v in d.items()}
    names = {v: k for k, v in p.items()}
    pairs = {(i, j): p[i] * q for i, q in p.items() for j in range(2) if i != j}
    p[7] = x[0]
    p[0] *= 2
    a, places = np.fromiter(d.values(), float), tuple(sorted(d))
    more = sum(d[k] * (i + 1) for i, k in enumerate(places))
    return sum(k * v for k, v in p.items()) + len(names) + sum(pairs.values()) + np.sum(a * a) + more + len(places)


def pairs_as_values(x: Any) -> Any:
    d: dict[int, Any] = {}
    for v in x:
        if int(v) not in d:
            d[int(v)] = [0, 0.0]
        d[int(v)][0] += 1
        d[int(v)][1] += v
    return sum(s / n * (k + 1) for k, (n, s) in d.items())


@pytest.mark.parametrize("f", [dicts_of_containers, dicts_of_numbers, pairs_as_values], ids=lambda f: f.__name__)
def test_value_and_gradient(f: Callable[[Any], Any]) -> None:
    value, slope = irad.value_and_grad(f)(X)
    assert np.isclose(value, f(X), rtol=1e-12)
    expected = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(len(X))]
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)


def test_a_list_that_is_taken_from_another_dict_is_one_list() -> None:
    def f(x: Any, change: bool) -> Any:
        d = defaultdict(list)
        for v in x:
            d[int(v)].append(v)
        e = {k: v for k, v in d.items()}
        if change:
            d[0].append(x[1])
        return sum((k + 1) * sum(v) for k, v in e.items())

    assert np.isclose(irad.compile(f)(X, False), f(X, False))
    with pytest.raises(irad.IradError, match="is a value of two dicts"):
        irad.compile(f)(X, True)


def test_a_list_of_another_length_is_not_unpacked() -> None:
    def f(x: Any) -> Any:
        found = [v for v in x if v > 1.0]
        a, b = found
        return a * b

    c = irad.compile(f)
    assert c(np.array([0.5, 2.0, 3.0])) == 6.0
    for x in ([0.5, 0.5, 3.0], [2.0, 2.0, 3.0]):
        with pytest.raises(ValueError) as got:
            c(np.array(x))
        with pytest.raises(ValueError) as want:
            f(np.array(x))
        assert str(got.value) == str(want.value)


def test_a_tuple_by_data_is_not_changed() -> None:
    def f(x: Any) -> Any:
        t = tuple(v for v in x if v > 1.0)
        t[0] = 1.0  # type: ignore[index]
        return t[0]

    with pytest.raises(irad.UnsupportedError, match="tuple is changed"):
        irad.compile(f)(X)


def test_a_tuple_by_data_is_a_tuple() -> None:
    def f(x: Any) -> Any:
        t = tuple(v for v in x if v > 1.0)
        kinds = isinstance(t, tuple), isinstance(t, list), type(t) is tuple
        return (
            t,
            t[1:],
            t[::-1],
            {"rows": tuple((v, 2) for v in x if v > 1.0)},
            kinds,
            np.array(t),
            np.mean(t),
            list(t),
            t[-1],
            len(t),
        )

    got, want = irad.compile(f)(X), f(X)
    assert str(got) == str(want) and type(got[0]) is tuple and type(got[1]) is tuple
    with pytest.raises(AttributeError, match="'tuple' object has no attribute 'append'"):
        irad.compile(lambda x: tuple(v for v in x if v > 1.0).append(1.0))(X)  # type: ignore[attr-defined]
    with pytest.raises(IndexError, match="tuple index out of range"):
        irad.compile(lambda x: tuple(v for v in x if v > 1.0)[5])(X)
    with pytest.raises(irad.UnsupportedError, match="as a key"):
        irad.compile(lambda x: len({tuple(v for v in x if v > 1.0): 1}))(X)
