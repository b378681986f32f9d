"""Arrays that have another dtype on each path of a branch: afterwards they have the wider one, as numbers do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import UnsupportedError

X = np.array([1.0, 2.0, 3.0])


def complex_on_one(x: np.ndarray) -> Any:
    y = x * 2
    if x[0] > 0:
        y = np.sqrt(x + 0j)
    return np.abs(y) ** 2


def single_in_a_loop(x: np.ndarray) -> Any:
    m = np.eye(3, dtype=np.float32)
    for i in range(3):
        if x[i] > 0:
            m = m @ np.diag(x)
    return m


def whole_numbers(x: np.ndarray) -> Any:
    y = np.arange(3)
    if x[0] > 0:
        y = y + x
    return y * 2


def made_on_both(x: np.ndarray) -> Any:
    y = x.astype(np.float32)
    if x[0] > 0:
        y = y + x
    else:
        y = y * 2
    y[1] = 9
    return y


@pytest.mark.parametrize("f", [complex_on_one, single_in_a_loop, whole_numbers, made_on_both])
def test_the_wider_dtype(f: Any) -> None:
    c = irad.compile(f)
    for x in (X, X * [-1, 1, 1]):
        got, wide = c(x), f(X).dtype
        np.testing.assert_array_equal(got, f(x))
        assert got.dtype == wide


def test_gradients() -> None:
    np.testing.assert_allclose(irad.grad(lambda x: np.sum(complex_on_one(x)))(X), 1)
    np.testing.assert_allclose(irad.grad(lambda x: np.sum(complex_on_one(x)))(-X), -8 * X)
    np.testing.assert_allclose(irad.grad(lambda x: np.sum(single_in_a_loop(x)))(X), 3 * X**2)


def test_which_array_it_is_is_not_forgotten() -> None:
    def stored(x: np.ndarray) -> Any:
        a = x.astype(np.float32)
        y = a + x if x[0] > 0 else a
        y[1] = 5.0
        return a

    def changed(x: np.ndarray) -> Any:
        a = x.astype(np.float32)
        y = a + x if x[0] > 0 else a
        a[0] = 7
        return y

    for f in (stored, changed):
        with pytest.raises(UnsupportedError, match="copy"):
            irad.compile(f)(X)


def test_arrays_of_lengths_and_dtypes_that_data_decide():
    """They have the wider dtype afterwards, as numbers have."""

    def places(x):
        at = np.nonzero(x > 0.21)[0]
        if x[4] < 0:
            at = np.round((np.nonzero(x > 0.12)[0] + 1) / 2.0)
        return np.sum(at) * x[0] + len(at)

    def numbers(x):
        v = x[x > 0.21] * 2
        if x[4] < 0:
            v = np.nonzero(x > 0.12)[0]
        return np.sum(v * x[0]) + np.mean(v / 2)

    def turned(x):
        v = x[x > 0.21]
        if x[4] < 0:
            v = v * 1j
        return np.sum(np.abs(v + x[0]) ** 2)

    x = np.array([0.3, 0.5, 0.45, 0.1, -0.19, 0.7])
    for f in (places, numbers, turned):
        for y in (x, np.abs(x)):
            assert np.isclose(irad.compile(f)(y), f(y))
            irad.check_grads(f, (y,), modes=("rev",))
