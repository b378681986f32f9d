"""Variables that are a list on some paths and a tuple on others, or tuples of several lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad

X = np.array([0.3, 0.52, 0.45, 0.1, -0.2, 0.7])


class Attitude:
    def __init__(self) -> None:
        self.q: Any = [1.0, 0.0, 0.0]

    def update(self, a: Any) -> None:
        size = a[0] * a[0]
        if size < 0.05:
            return
        u, v, w = (self.q[k] for k in range(3))
        self.q = (u + a[0], v + a[1], w + size)


def attribute(x: Any) -> Any:
    s = Attitude()
    for k in range(4):
        s.update(x[k:])
    u, v, w = s.q
    return u + 2 * v + 3 * w + len(s.q)


def results_of_two_lengths(x: Any) -> Any:
    def ends(y: Any) -> Any:
        if y[0] > 0.2:
            return y[0], y[1]
        return y[0], y[1], y[2]

    total = 0.0
    for k in range(4):
        t = ends(x[k:])
        total += sum(t) + len(t) + t[-1]
    return total


def in_a_loop(x: Any) -> Any:
    q: Any = [x[0], x[1]]
    s = 0.0
    for i in range(50):
        s += q[0] * q[1]
        if s < 3 * x[i % 6]:
            q = (q[1], x[i % 6])
    for v in q:
        s += v
    a, b = q
    return s + a + 2 * b + max(q)


def appended(x: Any) -> Any:
    q: Any = [x[0]]
    if x[1] > 0:
        q = (x[1], x[2])
    if len(q) == 1:
        q.append(x[3])
    return q[0] * q[1] if isinstance(q, list) else q[0] - q[1]


def of_arrays(x: Any) -> Any:
    q: Any = [x, x * 2]
    if x[1] > 0:
        q = (x * 3, x * x)
    q[0][1] = 5.0
    return np.sum(q[0] * q[1])


@pytest.mark.parametrize("f", [attribute, results_of_two_lengths, in_a_loop, appended, of_arrays])
@pytest.mark.parametrize("x", [X, X * 0.45, -X, X + 0.013 * np.arange(6)])
def test_as_in_python(f: Any, x: np.ndarray) -> None:
    assert np.isclose(irad.compile(f)(x.copy()), f(x.copy()), rtol=1e-13)
    irad.check_grads(f, (x,), modes=("rev",))


def test_results_of_two_lengths_for_the_caller() -> None:
    g = irad.compile(lambda x: (x, x * 2) if x > 0 else (x,))
    assert g(1.5) == (1.5, 3.0) and g(-1.5) == (-1.5,)
