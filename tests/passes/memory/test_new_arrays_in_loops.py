"""New arrays that a loop fills piece by piece: their ends, then the rest. Nothing is copied, and pieces are not shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

Y = np.linspace(0.2, 1.0, 41)


def one_step(y, a):
    for _ in range(7):
        z = np.empty_like(y)
        z[0] = a
        z[1:] = y[1:] + 0.1 * (y[:-1] - y[1:]) * y[1:]
        y = z
    return y


def both_ends(y, a):
    for n in range(7):
        z = np.zeros(len(y))
        z[0], z[-1] = a, 2.0 * n
        z[1:-1] = y[1:-1] + 0.1 * (y[:-2] - y[2:]) * y[1:-1]
        y = z
    return y


def two_stages(y, a):
    def slope(y):
        z = np.empty_like(y)
        z[0] = a
        z[1:] = -(y[1:] - y[:-1]) * y[1:]
        return z

    for _ in range(7):
        k = slope(y)
        y = y + 0.1 * k + 0.1 * slope(y + 0.05 * k)
    return y


def in_a_while(y, a):
    n = 0
    while n < 7:
        z = np.zeros(len(y))
        z[:2] = a
        z[2:] = np.sin(y[:-2]) * y[1:-1]
        y, n = z, n + 1
    return y


def only_the_end_is_stored(y, a):
    for _ in range(7):
        z = np.zeros(len(y))
        z[0] = a
        z[3:] = y[1:-2] * 2.0
        y = z + 0.5 * y[::-1]
    return y


def rows(y, a):
    A = np.outer(y, y)
    for _ in range(5):
        B = np.empty_like(A)
        B[0] = a
        B[1:] = A[:-1] * np.cos(A[1:])
        A = B
    return A


def the_old_one_is_read_after(y, a):
    total = 0.0
    for _ in range(6):
        z = np.empty_like(y)
        z[0] = a
        z[1:] = y[:-1] * y[1:]
        total = total + y @ z
        y = z
    return y * total


LOOPS = [one_step, both_ends, two_stages, in_a_while, only_the_end_is_stored, rows, the_old_one_is_read_after]


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [3, 8, 21, 41])
def test_values_and_slopes(f: Callable[..., Any], size: int) -> None:
    y = Y[:size].copy()
    np.testing.assert_allclose(irad.compile(f)(y.copy(), 0.3), f(y, 0.3), rtol=1e-13, atol=1e-15)
    irad.check_grads(lambda y, a: np.sum(np.sin(f(y, a))), (y, 0.3))


@pytest.mark.parametrize("f", [one_step, both_ends, two_stages, in_a_while], ids=lambda f: f.__name__)
def test_a_trip_copies_nothing(f: Callable[..., Any]) -> None:
    notes = irad.compile(f).lower(Y, 0.3).notes
    assert {d.facts["trip"] for d in notes.of("memory") if "trip" in d.facts} == {0}
