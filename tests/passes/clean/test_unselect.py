"""Elements that a mask selects: folded and stored where they are; gathered where more is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

X, Y = np.random.default_rng(0).normal(size=(2, 41))


def stored(x: Any, y: Any) -> Any:
    z = y * 1.0
    z[x > 0.2] *= 3.0
    return z


def added(x: Any, y: Any) -> Any:
    z = -np.zeros_like(x)
    m = x > 0.2
    z[m] += x[m] - x[m]
    return z


def rings(x: Any, y: Any) -> Any:
    out = np.zeros(4)
    for k in range(4):
        out[k] = y[(0.3 * k <= x) & (x < 0.3 * k + 0.5)].mean()
    return out


def between(x: Any, y: Any) -> Any:
    m = x > 0.2
    v, w = x[m], y[m]
    return np.sum((v - v.mean()) * (w - w.mean()))


FOLDED: dict[str, Callable[..., Any]] = {
    "a sum": lambda x, y: np.sum(x[y > 0.1] ** 2),
    "nothing is selected": lambda x, y: np.sum(x[y > 50]),
    "the greatest and the least": lambda x, y: x[y > 0.1].max() - np.min(x[y > 0.1] * 2),
    "a product": lambda x, y: np.prod(x[y > 0.1]),
    "two arrays": between,
    "an infinity that is not selected": lambda x, y: np.sum((1.0 / np.where(x > 0.2, x, 0.0))[x > 0.2]),
    "a store": stored,
    "zeros that are added": added,
    "in a loop": rings,
}
GATHERED: dict[str, Callable[..., Any]] = {
    "it is returned": lambda x, y: x[y > 0.1],
    "it is sorted": lambda x, y: np.median(x[y > 0.1]),
    "much is computed of it": lambda x, y: np.sum(np.exp(np.sin(x[y > 0.1]))),
    "a running sum": lambda x, y: np.sum(np.cumsum(x[y > 0.1])),
    "rows": lambda x, y: np.stack([x, y], 1)[y > 0.1].sum(axis=0),
}


@pytest.mark.parametrize("name", [*FOLDED, *GATHERED])
def test_values_are_numpys(name: str) -> None:
    f = (FOLDED | GATHERED)[name]
    with np.errstate(all="ignore"):
        want, got = f(X, Y), irad.compile(f)(X, Y)
    np.testing.assert_allclose(got, want, rtol=1e-13)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
    assert ("nonzero" in irad.compile(f).lower(X, Y).ir) == (name in GATHERED)


@pytest.mark.parametrize("name", [name for name in FOLDED if "infinity" not in name])
def test_slopes(name: str) -> None:
    f = FOLDED[name]
    irad.check_grads(lambda x, y: np.sum(f(x, y) ** 2), (X, Y))


def test_a_pullback_takes_positions_off_a_tape() -> None:
    """The backward alone knows how long they may be."""
    f = lambda x, y: np.sum(rings(x, y) ** 2) + sum(np.sum(np.exp(np.sin(y[x > 0.2 * k]))) for k in range(3))
    value, pull = irad.vjp(f, X, Y)
    assert value == pytest.approx(f(X, Y), rel=1e-13)
    np.testing.assert_allclose(pull(1.0)[1], irad.grad(f, 1)(X, Y), rtol=1e-12)
