"""Loops in blocks, natively: the bits of a loop in one piece, memory that grows as the square root of the trips, and budgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import IradValueError
from irad.passes.derivatives import checkpointing as schedule_loops

R = np.random.default_rng(0)
U = R.normal(size=64)
WHOLE = 1 << 40  # a budget that no loop needs


def counted(u, c, trips):
    for _ in range(trips):
        u = u + c * np.sin(u) * np.roll(u, 1)
    return np.sum(u**2)


def until(u, c, trips):
    t, end = 0.0, 0.01 * trips
    while t < end:
        dt = 0.01 + 0.001 * np.sin(u[0]) ** 2
        u = u + dt * np.sin(c * u) * np.cos(u)
        t += dt
    return np.sum(u**2) + t


def left_early(u, c, trips):
    for n in range(trips):
        w = u + 0.01 * np.sin(c * u)
        if np.sum(w**2) > 1e7:
            break
        if n % 3 == 0:
            u = w
        else:
            u = w - 0.001 * np.sin(u * w)
    return np.sum(u**2)


def with_traces(u, c, trips):
    v, traces = u * 0.0, np.zeros((400, 2))
    for n in range(trips):
        v[1:-1] += c * (u[2:] - 2 * u[1:-1] + u[:-2]) / (1 + u[1:-1] ** 2)
        u = u + 0.1 * v
        traces[n, 0] = u[3]
        traces[n, 1] = v[5] ** 2
    return np.sum(traces**2)


LOOPS = [counted, until, left_early, with_traces]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("BUDGET", 1 << 12), ("STATE", 1), ("UNKNOWN_STATE", 1), ("BLOCK", 2), ("GAIN", 1)):
        monkeypatch.setattr(schedule_loops, name, value)


def both(f: Callable[..., Any], trips: int, **options: Any) -> tuple[Any, ...]:
    value, (du, dc) = irad.compile(f, argnums=(0, 1), **options).value_and_grad(U.copy(), 0.3, trips)
    return value, du, dc


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("trips", [0, 1, 9, 350])
def test_blocks_give_the_bits_of_one_piece(f: Callable[..., Any], trips: int, small: None) -> None:
    plain = both(f, trips, memory_budget=WHOLE)
    assert plain[0] == pytest.approx(f(U.copy(), 0.3, trips), rel=1e-12)
    for budget in (None, 1, 20_000, 100_000):
        for a, b in zip(plain, both(f, trips, memory_budget=budget)):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_slopes_and_second_slopes_of_blocks(f: Callable[..., Any], small: None) -> None:
    irad.check_grads(lambda u, c, trips: f(u, c, trips), (U[:6].copy(), 0.3, 25), order=2)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_a_pullback_runs_twice(f: Callable[..., Any], small: None) -> None:
    _, pullback = irad.vjp(lambda u, trips: f(u, 0.3, int(trips)), U.copy(), 200.0)
    first, second = pullback(1.0), pullback(1.0)
    assert np.allclose(first[0], both(f, 200)[1], rtol=1e-9) and np.array_equal(first[0], second[0])


def memory(f: Callable[..., Any], trips: int, **options: Any) -> int:
    """Bytes that a gradient takes."""
    irad.release_memory()
    irad.compile(f, **options).grad(np.resize(U, 512), 0.3, trips)
    return irad.release_memory()


@pytest.mark.plain
@pytest.mark.parametrize("f", [counted, until, left_early], ids=lambda f: f.__name__)
def test_memory_grows_as_the_square_root(f: Callable[..., Any], small: None) -> None:
    few, many = memory(f, 300), memory(f, 4800)
    assert many <= 6 * few  # a factor of 4, and tapes double when they grow
    assert memory(f, 4800, memory_budget=WHOLE) > 8 * many


@pytest.mark.plain
@pytest.mark.parametrize("f", [counted, until, left_early], ids=lambda f: f.__name__)
def test_a_budget_is_kept(f: Callable[..., Any]) -> None:
    budget = 400_000
    assert memory(f, 4000, memory_budget=budget) < 3 * budget  # a tape may be twice as long as what is on it


def test_trips_that_need_nothing_of_those_before_run_again_one_by_one(small: None) -> None:
    def f(u, c):
        r = np.zeros(len(u))
        for n in range(len(u)):
            s = 1.0
            for j in range(len(u)):
                s = s * 0.9 + np.exp(c * u[n] * u[j])
            r[n] = s
        return np.sum(r**2)

    stages = irad.compile(f).lower(U, 0.3, grad=True)
    assert [d.facts["blocks"].alone for d in stages.notes.of("tape") if "blocks" in d.facts] == [True]
    assert "needs no state: the backward runs each trip again" in stages.explain
    value, slopes = irad.compile(f, argnums=(0, 1)).value_and_grad(U, 0.3)
    assert value == pytest.approx(f(U, 0.3), rel=1e-13)
    plain = irad.compile(f, argnums=(0, 1), memory_budget=WHOLE).value_and_grad(U, 0.3)[1]
    np.testing.assert_allclose(slopes[0], plain[0], rtol=1e-12)
    np.testing.assert_allclose(slopes[1], plain[1], rtol=1e-12)
    irad.check_grads(f, (U[:7], 0.3), order=2)


def test_traces_are_no_part_of_a_checkpoint(small: None) -> None:
    notes = irad.compile(with_traces).lower(U, 0.3, 400, grad=True).notes
    (blocks,) = [d.facts["blocks"] for d in notes.of("tape") if "blocks" in d.facts]
    assert blocks.carried == 2 * U.nbytes


def test_a_budget_is_a_number_of_bytes() -> None:
    for wrong in (0, -1, True, 1.5, "1 GB"):
        with pytest.raises(IradValueError, match="memory_budget: a positive number of bytes"):
            irad.compile(counted, memory_budget=wrong)
    assert irad.compile(counted, memory_budget=1e6).options.memory_budget == 1_000_000


def test_slices_that_grow_from_trip_to_trip_are_not_cut() -> None:
    """What bounds their lengths is known of the loop's own index; a budget must not decide whether code compiles."""

    def f(a):
        n = a.shape[0]
        for i in range(n):
            for j in range(i + 1, n):
                a[j, i:] -= a[j, i] * a[i, i:]
        return np.sum(a)

    a = np.random.default_rng(0).normal(size=(4, 4))
    slope = irad.compile(f).grad(a.copy())
    assert np.array_equal(irad.compile(f, memory_budget=1).grad(a.copy()), slope)
