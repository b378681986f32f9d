"""The adjoint of a stencil in a loop: what trips add to neighbours is apart from them, so they run side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.switches import without


def upwind(u, c):
    for _ in range(3):
        old = u.copy()
        for i in range(1, len(u) - 1):
            if old[i] > 0:
                a = old[i] * (old[i] - old[i - 1])
            else:
                a = old[i] * (old[i + 1] - old[i])
            u[i] = old[i] - c * a + 0.1 * c * (old[i + 1] - 2 * old[i] + old[i - 1])
    return np.sum(u**3)


def in_pairs(u, c):
    """Neighbours of two columns; a condition without which one of them is not there."""
    p = u[: len(u) // 2 * 2].reshape(-1, 2)
    s = 0.0
    r = np.zeros(len(p))
    for i in range(len(p)):
        x = p[i, 0] * c + np.exp(p[i, 1] * 0.3)
        if i > 0:
            x += p[i - 1, 1] * p[i, 0] * p[i - 1, 0]
        r[i] = x * x / (1 + x * x)
    for i in range(len(p)):
        s += r[i] * p[i, 1]
    return s


def the_other_way(u, c):
    v = np.zeros(len(u))
    for i in range(len(u) - 3, -1, -1):
        v[i] = np.sin(u[i + 2] * c) * u[i] + u[i + 1] * u[i + 2] * u[i]
    return np.sum(v * v)


def around(u, c):
    """Upwind on a periodic square: each trip adds to two of four neighbours, in memory that is used again."""
    u = u.reshape(24, 24)
    for _ in range(2):
        new = np.zeros((24, 24))
        for i in range(24):
            for j in range(24):
                if u[i, j] > 0:
                    d = u[i, j] - u[(i - 1) % 24, j]
                else:
                    d = u[(i + 1) % 24, j] - u[i, j]
                if u[i, j] > 0.3:
                    d += u[i, j] - u[i, (j - 1) % 24]
                else:
                    d += u[i, (j + 1) % 24] - u[i, j]
                new[i, j] = u[i, j] - c * u[i, j] * d
        u = new
    return np.sum(u**3)


def to_the_end(u, c):
    """A neighbour that the last trip has not got, unless the array is longer."""
    r = np.zeros(64)
    for i in range(64):
        a = np.exp(u[i] * c) + np.sin(u[i])
        if i + 1 < len(u):
            a = a * u[i + 1] + u[i + 1] * c
        r[i] = a * a
    return np.sum(r)


ALL = [upwind, in_pairs, the_other_way]


def slopes(f: Callable[..., Any], *args: Any) -> Any:
    return irad.value_and_grad(lambda u, c: f(u, c), argnums=(0, 1))(*[np.copy(a) for a in args])


@pytest.mark.parametrize(
    ("f", "n"), [(upwind, 40), (upwind, 1500), (in_pairs, 70), (the_other_way, 19), (the_other_way, 37), (around, 576)]
)
def test_slopes(f: Callable[..., Any], n: int) -> None:
    """Within a block, and in several with some trips left."""
    u = np.random.default_rng(n).standard_normal(n)
    value, grads = slopes(f, u, 0.2)
    with without("lanes", "join", "accumulate"):
        plain, want = slopes(f, u, 0.2)
    assert value == plain
    for g, w in zip(grads, want):
        np.testing.assert_allclose(g, w, rtol=1e-11, atol=1e-12)
    if n < 50:
        irad.check_grads(lambda u, c: f(u.copy(), c), (u, 0.2), modes=("rev",))


def test_nothing_is_added_behind_an_array_of_unknown_length() -> None:
    f = irad.compile(irad.value_and_grad(to_the_end), dynamic={"u": 0})
    assert "_apart" not in f.lower(np.ones(64), 0.3).kernel
    for n in (64, 70):
        u = np.random.default_rng(n).standard_normal(n)
        value, slope = f(u, 0.3)
        with without("lanes", "join", "accumulate"):
            plain, want = irad.value_and_grad(lambda u, c: to_the_end(u, c))(u, 0.3)
        assert value == plain
        np.testing.assert_allclose(slope, want, rtol=1e-11)


@pytest.mark.plain  # memory that is checked lies elsewhere
def test_sums_in_memory_that_is_used_again() -> None:
    """Elements of an arena's slot are there for each trip, though it does not add to all of them."""
    kernel = irad.compile(around).lower(np.ones(576), 0.2, grad=True).kernel
    assert "_f64_apart_9 = buf(f64, 22)" in kernel


@pytest.mark.plain  # memory that is checked lies elsewhere
def test_one_copy_of_what_a_stencil_reads_is_kept() -> None:
    """The array, rather than an element and a difference for each trip; and the backward's trips are lanes."""
    stages = irad.compile(upwind).lower(np.ones(200), 0.2, grad=True)
    assert "_apart_0 = buf(f64, 198)" in stages.kernel
    assert "f64[200]" in stages.explain.split("what loops keep for the backward")[1].split("threads")[0]
