"""Lists of lists that data fill: elements are changed where they stand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

X = np.array([0.33, 1.24, 2.77, 1.98, 0.64, 2.26])


def runs(x: Any) -> Any:
    s = [[x[0]]]
    for a, b in zip(x[:-1], x[1:]):
        if b > a:
            s[-1].append(b)
        else:
            s.append([b])
    return s


def rising(x: Any) -> Any:
    s = runs(x)
    last = s[-1]
    last.append(x[1])
    s[0][0] += x[2]
    return sum(sum(t) ** 2 * len(t) for t in s) + s[-1][-1] * last[0]


def from_nothing(x: Any) -> Any:
    s: Any = []
    t = 0.0
    for v in x:
        if v < 1.0:
            s.append([])
        if len(s) > 0:
            s[-1].append(v * v)
            t += s[-1][0] + len(s[-1])
        if v > 2.5:
            t += s[-1].pop()
    return t + sum(sum(u) * (k + 1) for k, u in enumerate(s))


def in_a_function(x: Any) -> Any:
    def push(rows: Any, v: Any) -> None:
        if v > 2.0:
            rows.append([])
        rows[-1].append(v)

    s: Any = [[]]
    for v in x:
        push(s, v)
    return sum(sum(r) * (k + 1) for k, r in enumerate(s))


def neighbours(x: Any) -> Any:
    adjacent: Any = [[] for _ in range(70)]
    for v, w in zip(x[:-1], x[1:]):
        adjacent[int(20 * v)].append(w)
        adjacent[int(20 * w)].append(v)
    return sum(sum(a) * (k + 1) for k, a in enumerate(adjacent))


@pytest.mark.parametrize("f", [rising, from_nothing, in_a_function, neighbours], ids=lambda f: f.__name__)
def test_value_and_gradient(f: Callable[[Any], Any]) -> None:
    value, slope = irad.value_and_grad(f)(X)
    assert np.isclose(value, f(X), rtol=1e-12)
    expected = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(len(X))]
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)


def test_returned() -> None:
    c = irad.compile(runs)
    assert c(X) == runs(X) and c(X[:1]) == runs(X[:1]) and c(-X) == runs(-X)
