"""`x.flat` and `np.nditer` against NumPy: reading, storing, indices, orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from tests.support.surface import check

M = np.random.default_rng(0).random((3, 4))


def flat_reads(a: np.ndarray) -> Any:
    s = a.flat[5] * 2 + a.T.flat[1] + len(a.flat) + max(a.flat) + sum(a.flat) + np.sum(a.flat) + a.flat.base[0, 1]
    for i, v in enumerate(a.flat):
        s = s + i * v**2
    return s + np.sum(a.flat[1:8:3]) + np.sum(a.flat[[0, 0, 3]]) + np.sum(a.flat[a.ravel() > 0.5]) + np.sum(a.flat.copy()[2:])


def flat_stores(a: np.ndarray) -> Any:
    a = a.copy()
    a.flat[2] = 7.0
    a.flat[-1] += a.flat[0]
    a.flat[::3] = a.flat[1]
    a.flat[[1, 4]] *= 3.0
    a.flat[4:9] = [a[0, 0], 2.0]  # repeated
    a[2].flat = range(9)  # cut off
    a.T.flat[5] = a[0, 0] ** 2
    return np.sum(a * np.arange(12.0).reshape(3, 4))


def flat_slice_is_a_copy(a: np.ndarray) -> Any:
    a = a.copy()
    t = a.flat[2:7]
    t[0] = 100.0
    return np.sum(a**2) + np.sum(t)


def flat_in_a_loop(a: np.ndarray) -> Any:
    b = np.asfortranarray(a * 1.0)
    for i in range(b.size):
        b.flat[i] = b.flat[i] ** 2 + i
    return np.sum(b * np.arange(12.0).reshape(3, 4)) + b.flat[np.argmax(b)]


def readwrite(a: np.ndarray) -> Any:
    a, s = a.copy(), 0.0
    for v in np.nditer(a):
        s = s + v**2
    with np.nditer(a, op_flags=[["readwrite"]]) as it:
        for v in it:
            v[...] = v * v + 1
    return s + np.sum(a * np.arange(4))


def while_loop(a: np.ndarray) -> Any:
    """The numerical gradient as it is often written."""
    grad = np.zeros_like(a)
    it = np.nditer(a, flags=["multi_index"], op_flags=["readwrite"])
    while not it.finished:
        k = it.multi_index
        old = a[k]
        a[k] = old + 0.5
        above = np.sum(a**3)
        a[k] = old - 0.5
        grad[k] = above - np.sum(a**3)
        a[k] = old
        it.iternext()
    return np.sum(grad * np.arange(12.0).reshape(3, 4))


def several(a: np.ndarray) -> Any:
    b, s = np.zeros_like(a), 0.0
    for x, y in np.nditer([a, b], op_flags=[["readonly"], ["readwrite"]]):
        y[...] = x**3
    for x, y in np.nditer([a, np.arange(4)]):  # broadcast
        s = s + x * y
    it = np.nditer([a, None])
    for x, y in it:
        y[...] = 2 * x
    return s + np.sum(b) + np.sum(it.operands[1] * a)


def orders(a: np.ndarray) -> Any:
    s = 0.0
    for v in np.nditer(a.T):  # as it lies in memory
        s = 0.9 * s + v
    for order in "FC":
        for v in np.nditer(a, order=order):
            s = 0.9 * s + v
    for flag in ("c_index", "f_index"):
        it = np.nditer(a.T, flags=[flag, "multi_index"])
        for v in it:
            s = s + v * it.index + it.multi_index[0] * v
    return s


CASES = [flat_reads, flat_stores, flat_slice_is_a_copy, flat_in_a_loop, readwrite, while_loop, several, orders]


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_as_numpy(f: Callable[..., Any]) -> None:
    check(f, M)


def test_arguments_are_changed() -> None:
    def f(a: np.ndarray) -> None:
        a.flat[3] = 5.0
        for v in np.nditer(a, op_flags=["readwrite"]):
            v[...] = 2 * v

    got, want = M.copy(), M.copy()
    irad.compile(f)(got)
    f(want)
    assert np.array_equal(got, want)


def test_read_only() -> None:
    def f(a: np.ndarray) -> None:
        for v in np.nditer(a):
            v[...] = 1.0

    with pytest.raises(ValueError, match="read-only"):
        irad.compile(f)(M.copy())


@pytest.mark.parametrize("flag", ["external_loop", "common_dtype"])
def test_refused(flag: str) -> None:
    with pytest.raises(irad.UnsupportedError, match=flag):
        irad.compile(lambda a: np.sum([v for v in np.nditer(a, flags=[flag])]))(M)
