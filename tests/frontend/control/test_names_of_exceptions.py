"""`except ... as e` in loops, where Python deletes the name; views of arrays that are one of several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad


def caught_twice(x: Any) -> Any:
    n, total = 0, 0.0
    while n < 4:
        try:
            total = total + np.sum(np.linalg.solve(np.eye(2) * (n + 1), x))
            if n == 1:
                raise ValueError("one")
            if n == 2:
                raise KeyError("two")
        except np.linalg.LinAlgError as e:
            print(e)
        except (ValueError, KeyError) as e:
            total = total + len(str(e)) * x[0]
        n += 1
    return total


def views_of_either(x: Any) -> Any:
    """The array is made again on some trips, in a block that may raise: what it is differs from path to path."""
    n, again = 0, True
    while n < 3:
        if again:
            a = np.einsum("t,i,j->tij", x, x, x) * (n + 1)
            again = False
        try:
            for t in range(3):
                v = np.linalg.solve(a[t] + np.eye(3), a[t].T @ x) + a.T[t, 0]
        except np.linalg.LinAlgError as e:
            print(e)
        n += 1
        if np.sum(v) > 0.1:
            again = True
    return np.sum(v)


@pytest.mark.parametrize("f", [caught_twice, views_of_either])
def test_values_and_gradients(f: Any) -> None:
    x, d, h = np.array([0.7, 0.2, 0.4][: 2 if f is caught_twice else 3]), np.array([0.3, -1.0, 0.5]), 1e-5
    d = d[: len(x)]
    value, slope = irad.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=1e-13)
    assert slope @ d == pytest.approx((f(x + h * d) - f(x - h * d)) / (2 * h), rel=1e-8)


def test_the_name_is_gone() -> None:
    def f(x: Any) -> Any:
        try:
            if x > 0:
                raise ValueError("a")
        except ValueError as e:
            x = x + len(e.args)
        return e  # noqa: F821

    with pytest.raises(UnboundLocalError):
        irad.compile(f)(1.0)
