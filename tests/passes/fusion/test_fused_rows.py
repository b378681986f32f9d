"""Loops over the same rows as one nest: rows that it may keep, and those of unknown or great length, which stay in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad
from irad.passes.fusion.nests import MAX_ROWS


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


@pytest.mark.parametrize("n", [1000, MAX_ROWS // 8 + 1, 1_500_000])
def test_rows(n: int) -> None:
    """Long rows do not go on the stack, whose size they may exceed: they are in the arena."""
    x, c = (np.random.default_rng(k).standard_normal((2, n)) for k in range(2))
    lowered = irad.compile(softmax).lower(x)
    assert ("3 loops row by row" in lowered.explain) == (8 * n <= MAX_ROWS)
    s = softmax(x)
    np.testing.assert_allclose(irad.compile(softmax)(x), s, rtol=1e-13)
    got = irad.grad(lambda x: np.sum(softmax(x) * c))(x)
    np.testing.assert_allclose(got, s * (c - np.sum(s * c, axis=1, keepdims=True)), rtol=1e-12, atol=1e-16)


def weighted(x: Any, n: int) -> Any:
    t = 0.0
    for i in range(n):
        y = x[:, : 2 * i + 3]
        t += np.sum(softmax(y) * y)
    return t


def test_rows_of_run_time_length() -> None:
    x = np.random.default_rng(0).standard_normal((40, 50))
    np.testing.assert_allclose(irad.compile(weighted)(x, 20), weighted(x, 20), rtol=1e-13)
    want = np.zeros_like(x)
    for i in range(20):
        y = x[:, : 2 * i + 3]
        s = softmax(y)
        want[:, : 2 * i + 3] += s * (y + 1 - np.sum(s * y, axis=1, keepdims=True))
    d = np.random.default_rng(1).standard_normal(x.shape)
    slope = irad.jvp(lambda x: weighted(x, 20), (x,), (d,))[1]
    np.testing.assert_allclose(slope, np.sum(want * d), rtol=1e-12)
