"""Lists, tuples, ranges and deques where NumPy makes arrays of them: as operands and as indices."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from tests.support.surface import check

M = np.random.default_rng(0).random((3, 4))


def operands(m: np.ndarray) -> Any:
    a = m[0] * [1.0, 2.0, 3.0, 4.0] + (4, 3, 2, 1) - [1, 2, 3, 4] * m[1] + m[2] / range(1, 5) + range(4) ** m[0]
    return np.sum(a) + np.sum((m == range(4)) * m) + m[0] @ range(4) + np.sum(m[1] * deque([1, 2, 3, 4]))


def traced_lists(m: np.ndarray) -> Any:
    a = [m[0, 0], 2.0, m[0, 1], 3.0]
    b = m[1] * a + a * m[2]
    b += [1.0, m[0, 0], 2.0, 3.0]
    b *= range(1, 5)
    return np.sum(b)


def numbers(m: np.ndarray) -> Any:
    return np.sum(m[0, 0] * range(3)) + np.sum(m[0, 1] + [1, 2]) + np.sum((1.0, 2.0) / m[1, 1])


def functions(m: np.ndarray) -> Any:
    a = np.multiply(m, range(4)) + np.maximum(m[0], [0.5] * 4) + np.where([True, False, True, False], m[0], range(4))
    return np.sum(a) + np.interp(m[0, 0], range(4), [0, 1, 4, 9]) + np.dot(m[0], range(4)) + np.average(m[0], weights=range(1, 5))


def indices(m: np.ndarray) -> Any:
    return np.sum(m[range(2), range(2)] * 2) + np.sum(m[:, range(3)] ** 2) + np.sum(m[deque([0, 2])]) + m[range(1), 1][0]


def stores(m: np.ndarray) -> Any:
    m = m.copy()
    m[range(3), range(3)] += 2.0
    m[:, range(1, 3)] = 0.5 * m[:, range(2)]
    m[0] = range(4)
    m[1, range(2)] *= (2.0, 3.0)
    return np.sum(m**2)


@pytest.mark.parametrize("f", [operands, traced_lists, numbers, functions, indices, stores], ids=lambda f: f.__name__)
def test_as_numpy(f: Callable[..., Any]) -> None:
    check(f, M)


def test_range_of_an_argument() -> None:
    """The number that a range is made of is fixed, and the function compiled again for another one."""

    def f(m: np.ndarray, n: int) -> Any:
        return np.sum(m[range(n)] ** 2) + np.sum(m[range(n), range(1, n + 1)]) + np.sum(range(n) * m[0, :n])

    for n in (2, 3):
        check(f, M, n)


def test_range_in_a_loop() -> None:
    """A range that grows from trip to trip is an array of that length."""

    def f(x: np.ndarray) -> Any:
        s = 0.0
        for i in range(1, 9):
            s = s + np.sum(x[range(i)]) * x[i]
        return s

    check(f, np.random.default_rng(0).random(9))


@pytest.mark.parametrize("n", [2, np.int64(2)], ids=repr)
def test_repetition(n: Any) -> None:
    """An int repeats a list, as NumPy's does."""
    check(lambda x, n: np.sum(np.array([x[0], 2.0] * n) ** 2), np.ones(2), n)


def test_float_times_a_list() -> None:
    with pytest.raises(TypeError, match="can't multiply sequence by non-int of type 'float'"):
        irad.compile(lambda x: x * [1.0, 2.0])(2.0)
