"""Arrays whose length is only known at run time, in native code: results, derivatives through them, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.ir import Builder, Value
from irad.core.types import I64, Type, affine
from irad.errors import UnsupportedError
from irad.frontend.values.extents import alike
from irad.ops.array import Slice, index, sum_

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


def store_all(x: np.ndarray, hits: np.ndarray) -> np.ndarray:
    out = np.zeros(6)
    out[:] = x[hits]
    return out


def added(x: np.ndarray, hits: np.ndarray) -> np.ndarray:
    y = x * 1.0
    y += x[hits]
    y[:3] *= x[hits]
    return y


MASKS = {"one": np.arange(6) == 2, "all": np.arange(6) >= 0}
BROADCAST: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "stored": (store_all, ["one", "all"]),
    "with a known length": (lambda x, hits: x * x[hits], ["one", "all"]),
    "along an axis": (lambda x, hits: np.outer(x, x)[:, hits] * np.outer(x, x), ["one", "all"]),
    "with another mask": (lambda x, hits: x[hits] * x[x > 1.5], ["one"]),
    "another mask with it": (lambda x, hits: x[x > 1.5] * x[hits], ["one"]),
    "with a mask written alike": (lambda x, hits: x[x > 1.5] * np.exp(x)[x > 1.5], ["one", "all"]),
    "in place": (added, ["one"]),
}


@pytest.mark.parametrize("name", BROADCAST)
def test_an_extent_that_is_one_at_run_time_is_broadcast(name: str) -> None:
    f, masks = BROADCAST[name]
    for m in masks:
        np.testing.assert_allclose(irad.compile(f)(X, MASKS[m]), f(X, MASKS[m]), rtol=1e-15)
        g = irad.grad(lambda x, hits: np.sum(f(x, hits)))(X, MASKS[m])
        h = 1e-6 * np.eye(6)
        slopes = [(np.sum(f(X + d, MASKS[m])) - np.sum(f(X - d, MASKS[m]))) / 2e-6 for d in h]
        np.testing.assert_allclose(g, slopes, rtol=1e-6)


def test_other_extents_are_numpys_error() -> None:
    for f in (store_all, BROADCAST["with a known length"][0], BROADCAST["with another mask"][0]):
        with pytest.raises(ValueError, match="broadcast"):
            irad.compile(f)(X, np.arange(6) < 2)


def test_masks_written_alike_need_no_check() -> None:
    text = irad.compile(lambda x: np.sum(x[x > 2] * np.exp(x[x > 2]))).lower(X).passes[0][1]
    assert "raise_if" not in text and "if " not in text


def grown(x: np.ndarray) -> np.ndarray:
    y = x * 1.0
    while y[0] < 5:
        m = y > 1.0
        y[m] = y[m] ** 1.1
        y[~m] += 1.0
        y = y + 0.3
    return y


def test_arrays_of_run_time_extents_on_the_tape() -> None:
    """A popped array is no longer than what was pushed: a while loop that runs again in the backward, and its second derivative."""
    x = np.array([0.3, 1.2, 2.5])
    f = lambda x: np.sum(grown(x) ** 2)
    h = 1e-6 * np.eye(3)
    slopes = [(f(x + d) - f(x - d)) / 2e-6 for d in h]
    np.testing.assert_allclose(irad.grad(irad.checkpoint(f))(x), slopes, rtol=1e-6)
    g = irad.grad(f)
    second = irad.hessian(f)(x)
    np.testing.assert_allclose(second, [(g(x + d) - g(x - d)) / 2e-6 for d in h], rtol=1e-5, atol=1e-5)


def test_counts_over_parts_of_different_lengths_are_not_alike() -> None:
    """Lengths that have one name are two values."""
    x, n, m = Value(Type("f64", (8,))), Value(I64, "k"), Value(I64, "k")
    with Builder():
        first, again, other = (index(x, spec=(Slice(0, affine(0, {k: 1})),)) for k in (n, n, m))
        assert alike(sum_(first, axes=(0,)), sum_(again, axes=(0,)))
        assert not alike(sum_(first, axes=(0,)), sum_(other, axes=(0,)))


@pytest.mark.parametrize("extreme", [np.max, np.min, np.amax])
def test_the_extreme_of_a_window_of_two_run_time_extents(extreme: Any) -> None:
    """The first of the equal ones takes all, whatever the axes."""

    def pooled(a: np.ndarray) -> Any:
        i, total = 0, 0.0
        while i < a.shape[0]:
            j = 0
            while j < a.shape[1]:
                total = total + extreme(a[i : i + 2, j : j + 3]) * (i + 2 * j + 1)
                j += 3
            i += 2
        return total

    a = np.round(np.random.default_rng(0).random((5, 7)) * 6)
    value, slope = irad.compile(pooled).value_and_grad(a)
    want = np.zeros_like(a)
    for i in range(0, 5, 2):
        for j in range(0, 7, 3):
            w = a[i : i + 2, j : j + 3]
            at = np.unravel_index((np.argmin if extreme is np.min else np.argmax)(w), w.shape)
            want[i + at[0], j + at[1]] += i + 2 * j + 1
    assert value == pooled(a)
    np.testing.assert_array_equal(slope, want)


SELECTED = np.array([1.0, -2.0, 3.0, 4.0, -5.0, 6.0])


@pytest.mark.parametrize("at", [[1], [1, 3], (2,), [-1]])
def test_a_selection_is_split_at_indices(at: Any) -> None:
    f = lambda x: sum(np.sum(part) * (k + 1) for k, part in enumerate(np.split(x[x > 0], at)))
    assert irad.compile(f)(SELECTED) == f(SELECTED)


def test_a_selection_is_split_into_parts() -> None:
    f = lambda x: [np.sum(part) * (k + 1) for k, part in enumerate(np.array_split(x[x > 0], 3))]
    for x in (SELECTED, SELECTED[1:], SELECTED[1:5]):
        assert irad.compile(f)(x) == f(x)
    halves = irad.compile(lambda x: np.subtract(*np.split(x[x > 0], 2)))
    assert halves(SELECTED).tolist() == [1.0 - 4.0, 3.0 - 6.0]
    with pytest.raises(ValueError, match="array split does not result in an equal division"):
        halves(SELECTED[1:])


def test_phases_of_a_selection_and_of_a_period_that_is_an_argument() -> None:
    f = lambda x, p: np.unwrap(3 * x[x > 0], period=p)
    np.testing.assert_allclose(irad.compile(f)(SELECTED, 2.5), f(SELECTED, 2.5))


def test_a_length_that_only_the_extents_of_a_value_at_all_places_read() -> None:
    """Nothing but the loop over the rows knows how many of them there are."""
    x = np.array([0.1, 0.7, 0.9])  # two are above 0.5
    for f in (
        lambda x: np.sum(np.full((len(x[x > 0.5]), 3), x) ** 2),
        lambda x: np.sum(np.broadcast_to(x, (len(x[x > 0.5]), 3)) ** 2),
        lambda x: np.sum(np.ones((len(x[x > 0.5]), 3)) * x**2),
    ):
        np.testing.assert_allclose(irad.grad(f)(x), 4 * x, rtol=1e-15)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.full(x[x > 0.5].shape, 2.0),
        lambda x: np.ones(len(x[x > 0.5])) * x[0],
        lambda x: np.ones_like(x[x > 0.5]) * np.sum(x > 0.2),
        lambda x: np.zeros((2, len(x[x > 0.5]))) + x[0],
    ],
)
def test_only_the_length_of_what_a_mask_selects_is_left(f: Any) -> None:
    """A sum of so many bools is no larger than their number, in a fused loop too."""
    c, g = irad.compile(f), irad.grad(lambda x: np.sum(f(x)))
    for x in (np.linspace(0, 1, 9), np.zeros(9), np.ones(9)):
        np.testing.assert_array_equal(c(x), f(x))
        step = np.eye(9)[0] * 1e-6
        np.testing.assert_allclose(g(x)[0], np.sum(f(x + step) - f(x)) / 1e-6, rtol=1e-6, atol=1e-6)
