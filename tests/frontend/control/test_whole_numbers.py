"""Whole numbers that a loop changes: windows that slide in while loops have known lengths, and what goes down has no such bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

N, F = 9, 3


def windows(x: Any, w: Any) -> Any:
    total, at = np.zeros(F), 0
    while at + F <= len(x):
        total += x[at : at + F] * w
        at += 2
    return np.sum(total**2)


def windows_in_a_plane(x: Any, w: Any) -> Any:
    image, out = np.outer(x, x), np.zeros((F, F))
    y = row = 0
    while y + F <= N:
        col = across = 0
        while across + F <= N:
            out += image[y : y + F, across : across + F] * (row + col)
            across = across + 1
            col += 1
        y += 1
        row += 1
    return np.sum(out * w)


def by_a_step(x: Any, w: Any, step: int = 2) -> Any:
    total, k = 0.0, 0
    while k < len(x) - F and x[0] < 100:
        total += np.sum(x[k : k + F] * w)
        k += step
    return total


def of_positions(x: Any, w: Any) -> Any:
    total = 0.0
    for k in np.arange(1, N - 1):
        total += np.sum(x[k - 1 : k + 2] * w) * k
    for k in np.uint16(np.arange(1.0, N - 1.0)):
        total += np.sum(x[k - np.uint16(1) : k + np.uint16(2)] * w)
    for k in reversed(np.arange(0, N, 3)):
        total = total * 0.5 + x[k]
    return total


def downwards(x: Any, w: Any) -> Any:
    total, k = 0.0, 4
    while k > -4:
        total += np.sum(x[k : k + 2]) * (k + 5)
        k -= 1
    return total + k * w[0]


def sometimes_set_back(x: Any, w: Any) -> Any:
    total, k, n = 0.0, 0, 0
    while n < 12:
        total += x[k] * n
        k += 1
        n += 1
        if k > 3:
            k = -2
    return total * w[0]


def added_by_data(x: Any, w: Any) -> Any:
    total, k = 0.0, 5
    for n in range(6):
        total += x[k - 3] * w[1]
        k += int(x[n] > 4.0) - 1
    return total


def set_by_another_function(x: Any, w: Any) -> Any:
    k = 0

    def back() -> None:
        nonlocal k
        k = -3

    total = 0.0
    for n in range(8):
        total += x[k] * n * w[2]
        k += 1
        if n == 4:
            back()
    return total


CASES = [
    windows,
    windows_in_a_plane,
    by_a_step,
    of_positions,
    downwards,
    sometimes_set_back,
    added_by_data,
    set_by_another_function,
]


@pytest.mark.parametrize("f", CASES, ids=[f.__name__ for f in CASES])
def test_value_and_gradient(f: Callable[..., Any]) -> None:
    x, w = np.arange(N) + 0.25, np.array([0.5, -1.0, 2.0])
    w = np.outer(w, w) if f is windows_in_a_plane else w
    value, slope = irad.value_and_grad(f)(x, w)
    assert np.isclose(value, f(x, w))
    h = 1e-6
    assert np.allclose(slope, [(f(x + h * e, w) - f(x - h * e, w)) / (2 * h) for e in np.eye(N)], rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("f", [windows, by_a_step, of_positions])
def test_windows_have_static_lengths(f: Callable[..., Any]) -> None:
    text = irad.compile(f).lower(np.ones(N), np.ones(F)).passes[0][1]
    assert "[?" not in text and ":%" not in text.replace("?:%", ":%").split("index")[0]
    assert "f64[3] = index" in text


def test_what_a_generator_counts() -> None:
    """The loop of `any` stands nowhere in the program."""

    def f(x: np.ndarray) -> Any:
        calls = 0

        def half(v: Any) -> Any:
            nonlocal calls
            calls += 1
            return v * 0.5

        return 0.5 if any(half(v) > 0.3 for v in x) else 0.1, calls

    compiled = irad.compile(f, dynamic=True)
    for x in ([0.25, 0.7, 0.1, 0.2], [0.1, 0.2, 0.3], [0.9, 0.1, 0.2, 0.3]):
        assert compiled(np.array(x)) == f(np.array(x))
