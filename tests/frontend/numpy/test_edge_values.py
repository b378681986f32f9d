"""NumPy functions at edges: empty arrays, infinities, NaN, dtypes. Each case was wrong once; NumPy says what is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad
from irad.core.tree import flatten
from tests.support.slopes import check_slopes

A = np.random.default_rng(3).normal(size=(3, 4))
V, W = A.ravel()[:6], A.ravel()[6:11]
GRID = np.linspace(0, 3, 7)
BAD = np.array([1.0, np.inf, 2.0, np.nan, -1.0, 0.5])
NONE, ROWS = np.zeros(0), np.zeros((3, 0))
TRAPEZOID: Any = getattr(np, "trapezoid", None) or np.trapz  # type: ignore[attr-defined]  # NumPy 1's name
HOLES = np.where(A > 1.0, np.nan, A)
VALUES = np.where(np.arange(7) == 1, -np.inf, np.sin(GRID))

CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "convolve with an infinity": (lambda x, v: np.convolve(x, v), (V, np.array([np.inf, 1.0, np.nan]))),
    "convolve with a long one": (lambda x, v: np.convolve(x, v), (np.arange(30.0), np.where(np.arange(20) == 3, np.inf, 1.0))),
    "correlate": (lambda x, v: np.correlate(x, v, "same"), (BAD, np.array([np.inf, 1.0]))),
    "interp of infinite values": (lambda f: np.interp(np.array([0.3, 0.5, 1.2, 2.9]), GRID, f), (VALUES,)),
    "interp between infinite points": (lambda p: np.interp(np.array([0.3, 1.2, 2.7]), p, np.cos(GRID)), (np.where(np.arange(7) == 6, np.inf, GRID),)),
    "trapezoid of nothing": (lambda y: TRAPEZOID(y), (NONE,)),
    "trapezoid of empty rows": (lambda y: TRAPEZOID(y, axis=1), (ROWS,)),
    "trapezoid over x": (lambda y: TRAPEZOID(y, y * y), (NONE,)),
    "unwrap of nothing": (lambda x: np.unwrap(x), (NONE,)),
    "polyder of nothing": (lambda x: np.polyder(x), (NONE,)),
    "nanmedian of nothing": (lambda x: np.nanmedian(x, 1), (ROWS,)),
    "nanquantile of nothing": (lambda x: np.nanquantile(x, [0.2, 0.5], axis=1), (ROWS,)),
    "resize of nothing": (lambda x: np.resize(x, (2, 2)), (NONE,)),
    "geomspace in single precision": (lambda x: np.geomspace(x[0], x[1], 4), (np.array([1, 3], np.float32),)),
    "cov with weights in a list": (lambda x: np.cov(x, aweights=[1.0, 2, 3, 1]), (A,)),
    "piecewise with functions and a number": (lambda x: np.piecewise(x, [x < 0, x >= 1], [lambda v: v * v, np.exp, 7.0]), (A,)),
    "r_": (lambda x: np.r_[0:3, x, 2.0], (V,)),
    "r_ in single precision": (lambda x: np.r_[x, 2.0], (V.astype(np.float32),)),
    "c_": (lambda x: np.c_[x, A, x[:, 0]], (A,)),
    "c_ of vectors": (lambda x: np.c_[x, x * x], (V,)),
    "poly": (lambda x: np.poly(x), (V,)),
    "poly of NaN": (lambda x: np.poly(x), (BAD,)),
    "polyfit": (lambda x, y: np.polyfit(x, y, 3), (V, np.sin(V))),
    "polyfit with weights": (lambda y: np.polyfit(GRID[:6], np.stack([y, y * y], 1), 2, w=np.arange(1.0, 7)), (V,)),
    **{
        f"quantile, {m}": (lambda x, m=m: np.quantile(x, [0.0, 0.2, 0.25, 0.5, 0.77, 1.0], axis=1, method=m), (A,))
        for m in ("averaged_inverted_cdf", "closest_observation")
    },
    **{
        f"nanquantile, {m}": (lambda x, m=m: np.nanquantile(x, [0.0, 0.2, 0.25, 0.5, 0.77, 1.0], axis=1, method=m), (HOLES,))
        for m in ("averaged_inverted_cdf", "closest_observation")
    },
    "quantiles of whole numbers": (lambda x: (np.quantile(x, 0), np.quantile(x, 1, axis=0)), (np.arange(6).reshape(2, 3),)),
}  # fmt: skip


def place(x: np.ndarray) -> np.ndarray:
    y = x * 1
    np.place(y, x > 0, x[0, :3] * 2)
    return y


if not np.__version__.startswith("1."):  # which gives float64
    CASES["nanpercentile in single precision"] = (lambda x: np.nanpercentile(x, 33.0, axis=0), (A.astype(np.float32),))
else:  # whose choice of the two nearest is another one beside NaN
    del CASES["nanquantile, closest_observation"]
CASES["place repeats its values"] = (place, (A,))


@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys(name: str) -> None:
    f, args = CASES[name]
    with np.errstate(all="ignore"):
        want = f(*args)
    for x, y in zip(flatten(irad.compile(f)(*args))[0], flatten(want)[0], strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype and np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol=1e-6 if np.asarray(y).dtype == np.float32 else 1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "name",
    ["piecewise with functions and a number", "r_", "c_", "poly", "polyfit", "polyfit with weights", "place repeats its values"],
)
def test_derivatives(name: str) -> None:
    f, args = CASES[name]
    check_slopes(f, args, 2, 1e-5)


@pytest.mark.parametrize("name", ["trapezoid of nothing", "trapezoid of empty rows", "trapezoid over x", "unwrap of nothing"])
def test_slopes_of_nothing(name: str) -> None:
    f, args = CASES[name]
    assert irad.grad(lambda x: np.sum(f(x)))(*args).shape == args[0].shape


def test_errors_are_numpys() -> None:
    for f, x, error, words in (
        (lambda x: np.pad(x, 1, mode="mean"), ROWS, ValueError, "can't extend empty axis"),
        (lambda x: np.geomspace(x[0], x[1], 3), np.array([0.0, 1.0]), ValueError, "cannot include zero"),
        (lambda x: np.polyfit(x, x, 2), NONE, TypeError, "non-empty"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            irad.compile(f)(x)


def _zeros_by_order(v: np.ndarray) -> Any:
    zero = v - v
    minus = -zero
    one = [np.maximum(minus, zero), np.maximum(zero, minus), np.minimum(minus, zero), np.minimum(zero, minus)]
    return (
        *one,
        np.clip(minus, 0, 1),
        np.clip(minus, np.zeros(5), 1),
        minus.clip(0),
        np.clip(zero, -1, -0.0),
        np.clip(minus[0], 0, 1),
    )


def test_of_two_zeros_the_larger_is_the_second_and_one_within_bounds_stays() -> None:
    """Bounds that are the same for all elements leave what is equal to them."""
    for a, b in zip(irad.compile(_zeros_by_order)(np.arange(5.0)), (0, 1, 0, 1, 1, 0, 0, 0, 1)):
        assert np.all(np.signbit(a) == bool(b)) and not np.any(a)


def _classes(v: np.ndarray) -> Any:
    z, a, w = v[0], np.array(v[0]), np.abs(v)
    scalars = np.i0(z), np.i0(v), np.piecewise(z, [z > 0], [1.0, 2.0]), np.nan_to_num(z), np.nan_to_num(a)
    weighted = np.quantile(v, 0.3, weights=w, method="inverted_cdf"), np.percentile(v, [30], weights=w, method="inverted_cdf")
    return *scalars, *np.linspace(0, z, 3, retstep=True), *np.linspace(a, v, 3, retstep=True), *weighted


def test_classes_of_results_without_axes() -> None:
    v = np.array([0.3, 1.2, 0.7, 2.0, -0.5])
    for got, want in zip(irad.compile(_classes)(v), _classes(v), strict=True):
        assert type(got) is type(want) and np.allclose(got, want)
