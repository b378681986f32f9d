"""Mantissas and exponents, sets, polynomials, weighted quantiles, np.put; what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.tree import flatten
from irad.errors import UnsupportedError
from irad.frontend.numpy.unsupported import REASONS

RNG = np.random.default_rng(1)
Y, C, D = RNG.normal(size=(3, 4)), RNG.normal(size=4), RNG.normal(size=2)
W = RNG.uniform(0, 1, (3, 4))
W[0, 3] = 0
M = RNG.normal(size=(2, 3, 4))
EDGES = np.array(
    [0.0, -0.0, 1, -1, 0.5, 0.75, 2**52 + 0.5, 1e300, -1e-300, 5e-324, 2.2e-308, np.inf, -np.inf, np.nan, 1 - 2**-53, 2 + 2**-51]
)
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "frexp": (lambda a: np.frexp(a)[0], (Y,)),
    "ldexp": (lambda a: np.ldexp(a, 3), (Y,)),
    "polyadd": (lambda p, q: np.polyadd(p, q), (C, D)),
    "polysub": (lambda p, q: np.polysub(q, p), (C, D)),
    "polymul": (lambda p, q: np.polymul(p, q), (C, D)),
    "polyint": (lambda p: np.polyint(p), (C,)),
    "polyint 2": (lambda p: np.polyint(p, 2, k=[1.0, 2.0]), (C,)),
    "inverted_cdf": (lambda a: np.quantile(a, [0.1, 0.5, 1.0], axis=0, method="inverted_cdf"), (Y,)),
}
if not np.__version__.startswith("1."):
    FUNCTIONS |= {
        "quantile": (lambda a: np.quantile(a, 0.3, weights=W, method="inverted_cdf"), (Y,)),
        "quantiles": (lambda a: np.quantile(a, [0.0, 0.5, 1.0], weights=W, method="inverted_cdf"), (Y,)),
        "percentile": (lambda a: np.percentile(a, [30.0, 60.0], weights=W, method="inverted_cdf"), (Y,)),
    }
if hasattr(np, "matvec"):
    FUNCTIONS["matvec"] = (lambda m, v: np.matvec(m, v), (M, C))
    FUNCTIONS["vecmat"] = (lambda v, m: np.vecmat(v, m), (RNG.normal(size=3), M))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives(name: str) -> None:
    f, args = FUNCTIONS[name]
    np.testing.assert_allclose(irad.compile(f)(*args), f(*args), rtol=1e-13)
    irad.check_grads(f, args, order=2)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_frexp_and_ldexp_are_exact(dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = EDGES.astype(dtype)
        n = RNG.integers(-1100, 1100, x.shape)
        for f, args in ((lambda a: np.frexp(a), (x,)), (lambda a, n: np.ldexp(a, n), (x, n))):
            for got, want in zip(*(flatten(g(*args))[0] for g in (irad.compile(f), f))):
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(got, want)
                np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def test_isin_and_unravel_index() -> None:
    f = lambda a, k: (np.isin(a, [1.0, 2.0]), np.isin(a, [], invert=True), np.unravel_index(k, (3, 4, 5)))
    args = np.array([[1.0, 3.0], [2.0, np.nan]]), np.array([0, 7, 59])
    for got, want in zip(*(flatten(g(*args))[0] for g in (irad.compile(f), f))):
        np.testing.assert_array_equal(got, want)


def test_flat_indices_out_of_bounds() -> None:
    there = irad.compile(lambda k: np.unravel_index(k, (3, 4)))
    back = irad.compile(lambda i, j: np.ravel_multi_index((i, j), (3, 4)))
    at = np.array([0, 7, 11])
    np.testing.assert_array_equal(back(*there(at)), at)
    for bad in (12, -1):
        with pytest.raises(ValueError, match=f"index {bad} is out of bounds for array with size 12"):
            there(np.array([3, bad, 99]))
    with pytest.raises(ValueError, match="invalid entry in coordinates array"):
        back(np.array([3]), np.array([0]))


def test_functions_that_turn_to_complex_numbers_raise_there() -> None:
    c = irad.compile(lambda x: np.emath.arcsin(x) + np.emath.sqrt(1 - x))
    x = np.array([0.2, -0.7])
    np.testing.assert_allclose(c(x), np.emath.arcsin(x) + np.emath.sqrt(1 - x), rtol=1e-14)
    irad.check_grads(lambda x: np.emath.arcsin(x) + np.emath.log(x + 2), (x,))
    with pytest.raises(ValueError, match="arcsin"):
        c(x * 3)
    close = irad.compile(lambda z: np.real_if_close(z) * 2)
    assert close(np.array([1 + 1e-15j])).dtype == np.float64
    with pytest.raises(ValueError, match="real_if_close"):
        close(np.array([1 + 1e-3j]))
    assert irad.grad(lambda x: np.real_if_close(x * np.exp(0j)) ** 2)(3.0) == 6.0


def test_place_of_as_many_values_as_there_are() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        np.place(y, x > 0, np.extract(x > 0, x) ** 2)
        return y

    for x in (np.array([1.0, -2.0, 3.0]), np.array([-1.0, 2.0, -3.0])):
        np.testing.assert_array_equal(irad.compile(f)(x), f(x))
    irad.check_grads(f, (np.array([1.0, -2.0, 3.0]),))


def test_put() -> None:
    def f(x: Any, v: Any) -> Any:
        y = x.copy()
        np.put(y, [0, 5, 11], v)
        return y

    args = Y, np.array([1.0, 2.0])
    np.testing.assert_array_equal(irad.compile(f)(*args), f(*args))
    irad.check_grads(f, args)


@pytest.mark.parametrize("name", ["unique_counts", "packbits"])
def test_refused_with_a_reason(name: str) -> None:
    if not hasattr(np, name):
        pytest.skip("not in this NumPy")
    with pytest.raises(UnsupportedError, match=REASONS[name][:30]):
        irad.compile(lambda x: getattr(np, name)(x))(C)


LABELS = np.array([2, 0, 3, 3, 0, 2, 7, 0])
POINTS = RNG.normal(size=(8, 3))


def group_means(x: Any, labels: Any) -> Any:
    classes = np.unique(labels)
    means = np.zeros((len(classes), x.shape[1]))
    for k, c in enumerate(classes):
        means[k] = x[labels == c].mean(axis=0)
    return np.sum(means**2)


def entropy_of_groups(x: Any, labels: Any) -> Any:
    groups, where, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return np.sum(x[:, 0] * counts[where]) + np.sum(np.log(counts / len(labels))) + np.sum(groups)


def in_both(x: Any, labels: Any) -> Any:
    both = np.intersect1d(labels[:5], labels[3:])
    return np.sum(x[both, 1]) + np.sum(np.diff(np.setxor1d(labels, both)) * x[0, 0])


def one_hot(x: Any, labels: Any) -> Any:
    return np.sum((np.eye(labels.max() + 1)[labels].T @ x) ** 2)


def centres(x: Any, labels: Any) -> Any:
    count = labels.max() + 1
    means, sizes = np.zeros((count, x.shape[1])), np.zeros(count)
    for k in range(len(labels)):
        means[labels[k]] += x[k]
        sizes[labels[k]] += 1
    means /= np.maximum(sizes, 1)[:, None]
    return np.sum((x - means[labels]) ** 2)


def weighted_counts(x: Any, labels: Any) -> Any:
    return np.sum(np.bincount(labels, weights=x[:, 0], minlength=3) ** 2 * (np.bincount(labels) + 1))


def spread_out(x: Any, labels: Any) -> Any:
    long = np.repeat(x, labels, axis=0)
    return np.sum(long * np.arange(len(long))[:, None])


@pytest.mark.parametrize("f", [group_means, entropy_of_groups, in_both, one_hot, centres, weighted_counts, spread_out])
def test_sizes_that_values_decide(f: Callable[..., Any]) -> None:
    c = irad.value_and_grad(f)
    for labels in (LABELS, LABELS[::-1].copy(), np.where(LABELS == 7, 1, LABELS)):
        value, slope = c(POINTS, labels)
        assert value == pytest.approx(f(POINTS, labels), rel=1e-12)
        along = RNG.normal(size=POINTS.shape)
        numeric = (f(POINTS + 1e-6 * along, labels) - f(POINTS - 1e-6 * along, labels)) / 2e-6
        assert np.sum(slope * along) == pytest.approx(numeric, rel=1e-6, abs=1e-8)


def test_a_size_that_values_decide_may_become_large() -> None:
    c = irad.value_and_grad(lambda x, k: np.sum(x * np.bincount(k)[k]))
    for most in (3, 1000, 100_000):
        k = np.array([1, most, 1, 2, most, most])
        value, slope = c(np.arange(6.0), k)
        assert value == 2 * 0 + 3 * 1 + 2 * 2 + 3 + 3 * 4 + 3 * 5 if most > 3 else value
        np.testing.assert_array_equal(slope, np.bincount(k)[k])


def test_slopes_of_roots_quotients_and_histograms() -> None:
    irad.check_grads(lambda p: np.sum(np.abs(np.roots(p)) ** 2), (np.array([2.0, -1.0, 3.0, 0.5]),))
    irad.check_grads(lambda p, q: np.sum(np.polydiv(p, q)[0] ** 2) + np.sum(np.polydiv(p, q)[1]), (C, D))
    irad.check_grads(lambda w: np.sum(np.histogram2d(Y[0], Y[1], 3, weights=w)[0] ** 2), (C,))
    with pytest.raises(ValueError, match="first coefficient is 0"):
        irad.compile(lambda p: np.roots(p))(np.array([0.0, 1.0, 2.0]))


def test_bits_gcd_and_exponents_of_every_integer_type() -> None:
    for dt in "?bhilBHIL":
        low, high = (0, 1) if dt == "?" else (int(np.iinfo(dt).min), int(np.iinfo(dt).max))
        x = np.array([0, 1, low, high, 5 % (high + 1)]).astype(dt) if dt != "L" else np.array([0, 1, 2**63, high, 5], dt)
        counts = [np.bitwise_count] if hasattr(np, "bitwise_count") else []  # of NumPy 2
        for f in (*counts, np.frexp, lambda v: np.ldexp(v, 3), lambda v: np.ldexp(v, np.int8(2))):
            for got, want in zip(*(np.atleast_2d(*(r if isinstance(r, tuple) else (r, r))) for r in (irad.compile(f)(x), f(x)))):
                np.testing.assert_array_equal(got, want)
                assert got.dtype == want.dtype
        if dt != "?":
            for g in (np.gcd, np.lcm):
                np.testing.assert_array_equal(irad.compile(lambda a, b: g(a, b))(x, x[::-1].copy()), g(x, x[::-1]))  # noqa: B023


@pytest.mark.parametrize(
    "x, limits", [([0.0, np.nan], None), ([0.0, np.inf], None), ([0.0, 1.0], (2.0, 1.0)), ([0.0, 1.0], (0.0, np.inf))]
)
def test_a_histogram_of_no_range_raises(x: list[float], limits: tuple[float, float] | None) -> None:
    a = np.array(x)
    for f in (lambda a: np.histogram(a, 3, limits), lambda a: np.histogram_bin_edges(a, 3, limits)):
        with pytest.raises(ValueError) as want:
            f(a)
        with pytest.raises(ValueError) as got:
            irad.compile(f)(a)
        assert str(got.value) == str(want.value)
