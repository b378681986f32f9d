"""Methods that change one of several containers which data choose; objects beside arrays; arrays of float steps; empty masks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

X = np.array([3.1, 1.0, 2.25, 2.9, 0.7])


def clusters(x: Any) -> Any:
    centres = np.array([1.0, 3.0])
    for _ in range(3):
        members: list[list[int]] = [[] for _ in range(2)]
        for i, v in enumerate(x):
            members[int(np.argmin(np.abs(v - centres)))].append(i)
        for k, at in enumerate(members):
            centres[k] = np.mean(x[at])
    return np.sum(centres * [1.0, 2.0])


def numbers_in_lists(x: Any) -> Any:
    low_high: tuple[list[Any], list[Any]] = ([], [])
    for v in x:
        low_high[0 if v < 2.0 else -1].append(v * v)
    return sum(low_high[0]) * 2 + len(low_high[1]) * sum(low_high[1])


def sets_and_extend(x: Any) -> Any:
    found: list[list[Any]] = [[0.5], [], [1.0]]
    for k in range(4):
        found[int(x[k] + 0.01)].extend([x[k], x[k + 1]]) if x[k] < 2.8 else None
    return sum(found[0]) + 2 * sum(found[1]) + 3 * sum(found[2])


class Pair:
    """An object that NumPy takes for an array."""

    def __init__(self, values: Any):
        self._values = np.array(values, dtype=float)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._values

    def __getitem__(self, k: Any) -> Any:
        return self._values[k]

    def __mul__(self, other: Any) -> Any:
        return Pair(self._values * (other._values if isinstance(other, Pair) else other))


def objects_beside_arrays(x: Any) -> Any:
    p = Pair(x)
    r = (p * p) * 0.5 - 2.0 * x
    p += 0.1 * r
    return np.sum(r**2) + np.linalg.norm(p) + np.sum(1.0 / p)


def renamed(fn: Any) -> Any:
    @functools.wraps(fn)
    def of(self: Any, *args: Any) -> Any:
        return fn(*args) * self.factor

    return of


class Backend:
    factor = 2.0
    asarray = renamed(np.asarray)
    exp = staticmethod(np.exp)
    total = renamed(np.sum)


backend = Backend()


def wrapped_functions(x: Any) -> Any:
    return backend.total(backend.asarray(x) ** 2) + np.sum(backend.exp(-x))


def steps_of_floats(x: Any) -> Any:
    total = 0.0
    for e in np.arange(0.0, x[0], x[1] / 3):
        total += e * x[2]
    s = np.arange(x[1], 4.05 * x[0], 0.5)
    return total + np.sum(s**2) * s[-1] + len(np.arange(x[0], x[1], 0.25)) + np.sum(np.arange(x[0], x[1], -0.4))


def steps_in_a_list(x: Any) -> Any:
    found = []
    for s in np.arange(0.1, x[0] * x[1] + 0.05, 0.3):
        found.append(s * s * x[2])
    return sum(found)


def empty_masks(x: Any) -> Any:
    z = x * 1.0
    z[z[x == -1.0] == 0.0] += 0.5
    y = z[z[x > 100.0] > 0.0]
    return np.sum(z**2) + np.sum(y)


CASES = [
    clusters, numbers_in_lists, sets_and_extend, objects_beside_arrays, wrapped_functions, steps_of_floats, steps_in_a_list, empty_masks,
]  # fmt: skip


@pytest.mark.parametrize("f", CASES, ids=[f.__name__ for f in CASES])
def test_value_and_gradient(f: Callable[[Any], Any]) -> None:
    value, slope = irad.value_and_grad(f)(X)
    assert np.isclose(value, f(X), rtol=1e-12)
    h = 1e-6
    expected = [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(len(X))]
    assert np.allclose(slope, expected, rtol=1e-6, atol=1e-7)


def test_masks_of_another_length_are_an_error() -> None:
    def f(x: Any) -> Any:
        return np.sum(x[x[x > 2.0] > 0.0])

    with pytest.raises(IndexError, match="boolean index did not match"):
        irad.compile(f)(X)
    assert irad.compile(f)(X + 5.0) == np.sum(X + 5.0) and irad.compile(f)(X - 5.0) == 0.0


def test_a_bucket_out_of_range() -> None:
    def f(x: Any) -> Any:
        found: list[list[Any]] = [[], []]
        found[int(x[0])].append(1.0)
        return len(found[1]) * x[0]

    assert irad.compile(f)(X - 2.0) == f(X - 2.0)
    with pytest.raises(IndexError, match="list index out of range"):
        irad.compile(f)(X)
