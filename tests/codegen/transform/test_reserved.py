"""Tapes of loops of known trips: room for all trips is made once, before the outermost of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.switches import without

X = np.linspace(0.1, 0.9, 12)


def a_number(x):
    s = x[0]
    for k in range(9):
        s = np.sin(s) * x[k]
    return s


def an_array(x):
    for _ in range(7):
        x = np.tanh(x) * x[::-1]
    return np.sum(x)


def numbers_and_arrays(x):
    s = 1.0
    for k in range(10):
        s = s * np.cos(x[k] * s)
        x = x * np.exp(-s * x)
    return s * np.sum(x)


def a_nest(x):
    total = 0.0
    for i in range(len(x)):
        p, s = 1.0, 0.0
        for k in range(5):
            s = s + np.sin(p) * k
            p = p * x[i]
        total = total + s * s
    return total


def two_loops_in_a_trip(x):
    s = 1.0
    for i in range(4):
        for k in range(3):
            s = np.sin(s) + x[k]
        t = s * s
        for k in range(6):
            t = np.cos(t * x[i + k])
        s = s + t
    return s


def downwards(x):
    s = x[-1]
    for k in range(10, 1, -2):
        s = np.sin(s * x[k])
    return s


def under_a_condition(x):
    s = x[0]
    for k in range(9):
        if x[k] > 0.4:
            for j in range(3):
                s = np.sin(s) * x[j]
        s = s * s
    return s


def until_it_is_small(x):
    s, n = x[0], 0
    while s > 1e-3 and n < 40:
        for k in range(4):
            s = np.sin(s) * x[k + 6]
        n += 1
    return s


def trips_from_data(x):
    s = x[0]
    for k in range(int(x[3] * 20)):
        s = np.sin(s + x[k % 5])
    return s


EVEN = [a_number, an_array, numbers_and_arrays, a_nest, two_loops_in_a_trip, downwards, trips_from_data]
UNEVEN = [under_a_condition, until_it_is_small]


def gradient(f: Callable[..., Any], off: tuple[str, ...]) -> np.ndarray:
    with without(*off):
        return irad.compile(irad.grad(lambda x: f(x), mode="reverse"))(X)


@pytest.mark.parametrize("f", [*EVEN, *UNEVEN], ids=lambda f: f.__name__)
def test_the_same_gradient(f: Callable[..., Any]) -> None:
    got = gradient(f, ())
    np.testing.assert_allclose(got, gradient(f, ("reserve",)), rtol=1e-13)  # what becomes a fused multiply-add may differ
    h = 1e-6
    want = [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(len(X))]
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("f", EVEN, ids=lambda f: f.__name__)
def test_loops_do_not_ask_for_room(f: Callable[..., Any]) -> None:
    """What grows a tape, and reads its address, stands outside of all loops."""
    with without("join"):
        kernel = irad.compile(irad.grad(f, mode="reverse")).lower(X).kernel
    assert "irad_grow" in kernel
    for line in kernel.splitlines():
        inside = line.startswith("        ") and "irad_grow" not in line or line.startswith(" " * 12)
        assert not inside or "irad_grow" not in line and "deref" not in line, line


def test_trips_that_nobody_counts_ask_in_each() -> None:
    kernel = irad.compile(irad.grad(until_it_is_small, mode="reverse")).lower(X).kernel
    assert any(" " * 12 in line and "irad_grow" in line for line in kernel.splitlines())


def test_second_derivatives() -> None:
    H = irad.hessian(numbers_and_arrays)(X)
    with without("reserve"):
        np.testing.assert_allclose(irad.compile(irad.hessian(lambda x: numbers_and_arrays(x)))(X), H, rtol=1e-12, atol=1e-15)


def test_called_again_the_tape_is_at_its_start() -> None:
    g = irad.grad(a_nest, mode="reverse")
    first = g(X)
    for _ in range(20):
        g(X + 0.1)
    np.testing.assert_array_equal(g(X), first)
