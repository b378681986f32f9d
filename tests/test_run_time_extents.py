"""Arrays whose length is only known at run time, in native code: results, derivatives through them, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import UnsupportedError

X = np.arange(1.0, 7.0)
M = np.arange(12.0).reshape(3, 4) - 5
RESULTS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "slice": (lambda x, m: x[:m], (X, 3)),
    "slice from the end": (lambda x, m: x[m:], (X, -2)),
    "mask": (lambda x: x[x > 2], (X,)),
    "rows": (lambda x: x[x.sum(axis=1) > 0] * 2, (M,)),
    "columns": (lambda x, m: x[1:, :m].T * 1, (M, 2)),
    "product": (lambda x, m: x[:, :m] @ x[:, :m].T, (M, 2)),
    "nothing": (lambda x: x[x > 200], (X,)),
    "positions": (lambda x: np.nonzero(x > 2)[0], (X,)),
    "joined": (lambda x: np.concatenate([x[x > 2], x[x < 3]]), (X,)),
    "sorted": (lambda x: np.sort(-x[x > 2]), (X,)),
    "complex": (lambda x: (x + 1j)[x > 2], (X,)),
    "twice its own length": (lambda x, n: x[: 2 * n] + n, (X, 2)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name: str) -> None:
    f, args = RESULTS[name]
    got, want = irad.compile(f)(*args), f(*args)
    assert got.dtype == want.dtype and got.shape == want.shape and got.flags.owndata
    np.testing.assert_array_equal(got, want)


def test_results_of_several_lengths_from_one_program() -> None:
    f = irad.compile(lambda x: (x[x > 2], x.sum(), np.nonzero(x > 3)[0]))
    for x in (X, -X, X[::-1].copy()):
        some, total, at = f(x)
        np.testing.assert_array_equal(some, x[x > 2])
        np.testing.assert_array_equal(at, np.nonzero(x > 3)[0])
        assert total == x.sum()


def test_derivatives() -> None:
    f = lambda x: np.sum(np.sin(x[x > 2]) ** 2)
    slope = np.where(X > 2, np.sin(2 * X), 0)
    np.testing.assert_allclose(irad.grad(f)(X), slope, rtol=1e-13)
    value, pullback = irad.vjp(f, X)
    np.testing.assert_allclose(pullback(2.0)[0], 2 * slope, rtol=1e-13)
    assert value == irad.compile(f)(X)
    np.testing.assert_allclose(irad.hessian(f)(X), np.diag(np.where(X > 2, 2 * np.cos(2 * X), 0)), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(irad.jvp(f, (X,), (X,))[1], slope @ X, rtol=1e-13)
    np.testing.assert_array_equal(irad.grad(lambda x, m: np.sum(x[:m] * 2))(X, 3), [2, 2, 2, 0, 0, 0])


def halves(x: Any, k: int) -> Any:
    """A slice is no longer than its array, whatever makes its length."""
    total = 0.0
    while k > 1:
        k = k // 2
        total = total + np.sum(x[:k] * x[k : 2 * k])
    return total


def test_slices_in_a_while_loop() -> None:
    x = np.arange(1.0, 14.0)
    for k in (0, 1, 2, 3, 8, 13):
        value, slope = irad.value_and_grad(halves)(x, k)
        assert value == halves(x, k)
        want = np.zeros(13)
        while k > 1:
            k //= 2
            want[:k] += x[k : 2 * k]
            want[k : 2 * k] += x[:k]
        np.testing.assert_array_equal(slope, want)


@pytest.mark.parametrize(
    "transform", [lambda f: irad.vjp(f, X), lambda f: irad.jvp(f, (X,), (X,)), lambda f: irad.jacobian(f)(X)]
)
def test_a_derivative_of_unknown_length_is_refused(transform: Callable[[Any], Any]) -> None:
    with pytest.raises(UnsupportedError, match="length depends on data"):
        transform(lambda x: x[x > 2])
