"""Rows of few numbers that are read from arrays and stored into arrays in loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad


def decays(x: Any, w: Any) -> Any:
    out = np.zeros((len(x) + 1, x.shape[1] + 2))
    y = np.zeros(x.shape[1])
    for t in range(len(x)):
        y = 0.5 * y * w[t] + np.sin(x[t])
        out[t, 1:-1] = y
        out[t + 1, -2:0:-1] += y * y
    return out


@pytest.mark.parametrize("d", [3, 5, 7, 8, 13, 20, 21])
def test_rows_of_so_many(d: int) -> None:
    r = np.random.default_rng(d)
    x, w, v = r.standard_normal((9, d)), r.random(9), r.standard_normal((10, d + 2))
    np.testing.assert_allclose(irad.compile(decays)(x, w), decays(x, w), rtol=1e-13, atol=1e-15)
    total = lambda x, w: np.sum(decays(x, w) * v)
    gx, gw = irad.grad(total, argnums=(0, 1))(x, w)
    dx, dw = r.standard_normal(x.shape), r.standard_normal(9)
    slope = (total(x + 1e-6 * dx, w + 1e-6 * dw) - total(x - 1e-6 * dx, w - 1e-6 * dw)) / 2e-6
    np.testing.assert_allclose(np.sum(gx * dx) + np.sum(gw * dw), slope, rtol=1e-6)
