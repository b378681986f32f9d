"""Programs that are tried in plain Python: the compiled function must give its value, and a gradient that its differences confirm."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from tests.support.derivatives import difference


class Programs:
    """A list of functions with arguments; `wrt`: the argument that the gradient is taken by."""

    def __init__(self) -> None:
        self.found: list[tuple[Callable[..., Any], tuple[Any, ...], int]] = []

    def __call__(self, *args: Any, wrt: int = 0) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def add(f: Callable[..., Any]) -> Callable[..., Any]:
            self.found.append((f, args, wrt))
            return f

        return add

    @property
    def cases(self) -> list[Any]:
        return [pytest.param(*found, id=found[0].__name__) for found in self.found]


def check(f: Callable[..., Any], args: tuple[Any, ...], wrt: int = 0) -> None:
    """Value, value beside the gradient, gradient."""
    fresh = lambda: list(copy.deepcopy(args))
    want = f(*fresh())
    np.testing.assert_allclose(irad.compile(f)(*fresh()), want, rtol=1e-12)
    value, slope = irad.value_and_grad(f, argnums=wrt)(*fresh())
    np.testing.assert_allclose(value, want, rtol=1e-12)
    x = np.asarray(args[wrt], float)
    step = np.random.default_rng(1).standard_normal(x.shape)

    def moved(t: float) -> np.ndarray:
        at = fresh()
        at[wrt] = x + t * step if x.ndim else float(x + t * step)
        return np.asarray(f(*at))

    expected = difference(moved, 1e-5)
    np.testing.assert_allclose(np.sum(slope * step), expected, rtol=1e-6, atol=1e-7)
