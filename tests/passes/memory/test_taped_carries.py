"""States of simulations that live on the tape of their loop: right values and gradients, and nothing but the border is copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.call.stages import Stages

RNG = np.random.default_rng(5)


def plane(u: np.ndarray, steps: int) -> Any:
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1] ** 2)
    return np.sum(u**3)


def line(u: np.ndarray, steps: int) -> Any:
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] * u[2:] * 0.9 + 0.1 * u[:-2] ** 2
    return np.sum(u * np.arange(u.size))


def space(u: np.ndarray, steps: int) -> Any:
    u = u.copy()
    for _ in range(steps):
        c = u[1:-1, 1:-1, 1:-2]
        u[1:-1, 1:-1, 1:-2] = c * (1 - c) + 0.05 * (
            u[2:, 1:-1, 1:-2] + u[1:-1, :-2, 1:-2] + u[1:-1, 1:-1, 2:-1] + u[1:-1, 1:-1, 3:]
        )
    return np.sum(u**2)


def edges_too(u: np.ndarray, steps: int) -> Any:
    """The border changes as well, by loops and by elements."""
    u = u.copy()
    for _ in range(steps):
        old = u.copy()
        u[1:-1, 1:-1] = 0.8 * old[1:-1, 1:-1] * old[2:, 1:-1] + 0.1 * old[:-2, 1:-1]
        u[0] = 0.5 * old[1] ** 2
        u[-1, 3] = old[2, 3] * old[3, 2]
    return np.sum(u**2)


def last_state_in_the_next_loop(u: np.ndarray, steps: int) -> Any:
    u = u.copy()
    for _ in range(2):
        for _ in range(steps):
            u[1:-1] = 0.8 * np.sin(u[1:-1]) + 0.1 * u[2:] - 0.1 * u[:-2]
        u *= 0.5
    return np.sum(np.sin(u))


def numbers_beside(u: np.ndarray, steps: int) -> Any:
    """The record holds numbers too."""
    u = u.copy()
    s = u[3]
    for _ in range(steps):
        s = np.sin(s * u[5]) + 1
        u[1:-1] = 0.4 * u[1:-1] * u[2:] * s + 0.1 * u[:-2] ** 2
    return np.sum(u) * s


def two_states(u: np.ndarray, steps: int) -> Any:
    """Reaction and diffusion of two substances."""
    u, v = u.copy(), 0.5 * u[::-1]
    for _ in range(steps):
        du = 0.1 * (u[2:, 1:-1] + u[1:-1, 2:] - 2 * u[1:-1, 1:-1]) - u[1:-1, 1:-1] * v[1:-1, 1:-1] ** 2
        dv = 0.05 * (v[:-2, 1:-1] + v[1:-1, :-2] - 2 * v[1:-1, 1:-1]) + u[1:-1, 1:-1] * v[1:-1, 1:-1] ** 2 - 0.3 * v[1:-1, 1:-1]
        u[1:-1, 1:-1] += du
        v[1:-1, 1:-1] += dv
    return np.sum(u * v)


def maximum_of_the_state(u: np.ndarray, steps: int) -> Any:
    """Another reader of the state than stencils."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] * u[2:] / np.sort(u)[-1] + 0.1 * u[:-2] ** 2
    return np.sum(u)


A = RNG.uniform(-0.01, 0.01, (200, 200))


def other_readers(u: np.ndarray, steps: int) -> Any:
    """Products, solutions and callbacks that read the state by its address."""
    u = u.copy()
    for _ in range(steps):
        x = A @ u + np.linalg.solve(np.eye(200) + A, u) * 0.1
        u[1:-1] = 0.5 * u[1:-1] * u[2:] + 0.1 * u[:-2] ** 2 + x[1:-1]
    return np.sum(u**2)


def central(f: Callable[..., Any], u: np.ndarray, steps: int, v: np.ndarray) -> float:
    h = 1e-6
    return float((f(u + h * v, steps) - f(u - h * v, steps)) / (2 * h))


CASES = [(plane, (39, 43)), (line, (300,)), (space, (63, 60, 71)), (edges_too, (14, 18)), (last_state_in_the_next_loop, (250,)),
         (numbers_beside, (200,)), (two_states, (41, 50)), (maximum_of_the_state, (200,)), (other_readers, (200,))]  # fmt: skip


@pytest.mark.parametrize("f, shape", CASES, ids=[f.__name__ for f, _ in CASES])
@pytest.mark.parametrize("steps", [0, 1, 2, 7, 40])
def test_gradients(f: Callable[..., Any], shape: tuple[int, ...], steps: int) -> None:
    u, v = RNG.uniform(0.1, 0.9, shape), RNG.normal(size=shape)
    value, grad = irad.value_and_grad(f)(u, steps)
    np.testing.assert_allclose(value, f(u, steps), rtol=1e-12)
    want = central(f, u, steps, v)
    np.testing.assert_allclose(np.sum(grad * v), want, rtol=2e-6, atol=1e-7)
    again = irad.value_and_grad(f)(u, steps)
    assert again[0] == value and np.array_equal(again[1], grad)


@pytest.mark.parametrize("f", [plane, line, space, last_state_in_the_next_loop, numbers_beside, two_states])
def test_the_state_is_on_the_tape(f: Callable[..., Any]) -> None:
    shape = dict(CASES)[f]
    u = RNG.uniform(0.1, 0.9, shape)
    text = Stages.of(irad.value_and_grad(f), (u, 3), {}).kernel
    assert "state = view(mem" in text and "next = view(mem" in text
    assert ("state_3 = view(mem" in text) == (f is two_states)  # of the first trips, and of those that run again


@pytest.mark.parametrize("dtype, tolerance", [("float32", 2e-3), ("complex128", 2e-6)])
def test_other_types(dtype: str, tolerance: float) -> None:
    u = RNG.uniform(0.1, 0.9, 400).astype(dtype)
    f = lambda u, steps: np.real(line(u, steps))
    value, grad = irad.value_and_grad(f)(u, 9)
    np.testing.assert_allclose(value, f(u, 9), rtol=1e-5)
    v = RNG.normal(size=400)
    wide = u.astype("complex128" if dtype[0] == "c" else "float64")
    np.testing.assert_allclose(np.real(np.sum(grad * v)), central(f, wide, 9, v), rtol=tolerance)
