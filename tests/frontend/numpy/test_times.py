"""datetime64 and timedelta64, and arrays of texts: as NumPy has them, compiled anew for other ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

DAY = np.timedelta64(1, "D")
START = np.datetime64("2020-02-01")
T = np.array(["2020-01-02", "2020-03-01", "2021-01-01"], "M8[D]")
X = np.array([1.0, 2.0, 3.0])


def between(x: np.ndarray, t: np.ndarray) -> Any:
    return np.sum(x[1:] * ((t[1:] - t[:-1]) / DAY))


def in_a_loop(x: np.ndarray, t: np.ndarray) -> Any:
    s = 0.0
    for i in range(1, len(t)):
        s += x[i] ** 2 * ((t[i] - t[i - 1]) / np.timedelta64(1, "s"))
    return s


PROGRAMS: list[Callable[..., Any]] = [
    between,
    in_a_loop,
    lambda x, t: np.sum(x[t > START] ** 2),
    lambda x, t: np.sum(x[1:] * (np.diff(t) / DAY)),
    lambda x, t: np.sum(x * (t - t[0]).astype("m8[h]").astype(int)),
    lambda x, t: np.sum(x * (t.astype("M8[Y]").astype(int) + 1970)),
    lambda x, t: np.interp((START - t[0]) / DAY, (t - t[0]) / DAY, x),
    lambda x, t: x[np.searchsorted(t, START)],
    lambda x, t: sum(x[t.astype("M8[Y]") == y].mean() for y in np.unique(t.astype("M8[Y]"))),
    lambda x, t: np.sum(np.where(np.isnat(t), 0.0, x)),
    lambda x, t: np.sum(x) * ((max(t) - min(t)) / DAY),
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_times_among_the_arguments(f: Callable[..., Any]) -> None:
    assert np.isclose(irad.compile(f)(X, T), f(X, T), rtol=1e-14)
    slope, step = irad.grad(f)(X, T), np.array([1.0, -2.0, 0.5])
    expected = (f(X + 1e-4 * step, T) - f(X - 1e-4 * step, T)) / 2e-4
    assert np.isclose(np.sum(slope * step), expected, rtol=1e-6)


def test_other_times_are_seen() -> None:
    c, t = irad.compile(between), T.copy()
    for k in range(4):
        t[1] += k * DAY
        assert c(X, t) == between(X, t) and c(X, t) == between(X, t)
    assert c(X, t.astype("M8[s]")) == between(X, t)
    captured = irad.compile(lambda x: between(x, t))
    assert captured(X) == between(X, t)
    t[2] += 5 * DAY
    assert captured(X) == between(X, t)


def test_single_times_and_texts() -> None:
    c = irad.compile(lambda x, a, d: x * ((a - START) / d))
    for a in (START + 5 * DAY, START):
        for d in (DAY, np.timedelta64(2, "h")):
            assert c(2.0, a, d) == 2.0 * ((a - START) / d)
    s = irad.compile(lambda x, names: np.sum(x * (names == "a")))
    assert s(X, np.array(["a", "b", "a"])) == 4.0 and s(X, np.array(["b", "b", "a"])) == 3.0


def test_returned_times_are_no_memory_of_the_program() -> None:
    c = irad.compile(lambda x, t: (np.sum(x), t - t[0]))
    for _ in range(3):
        d = c(X, T)[1]
        assert d.tolist() == (T - T[0]).tolist()
        with pytest.raises(ValueError, match="read-only"):
            d[0] = DAY


def test_times_of_computed_numbers_are_refused() -> None:
    with pytest.raises(irad.IradError, match="m8") as e:
        irad.compile(lambda x: (x * DAY) / DAY)(2.0)
    assert "test_times.py" in str(e.value)
