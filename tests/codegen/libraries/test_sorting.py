"""Native sorting: stable, NaN last, any axis and dtype; slopes go with the elements."""

from __future__ import annotations

import ctypes
import inspect
from typing import Any

import numpy as np
import pytest

import irad
from irad.codegen.emit.kernels import emit
from irad.codegen.jit import load
from irad.codegen.lower import sort as lower_sort

DTYPES = ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u1", "?"]
NASTY = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1.0, -1.0, -np.nan])


def sample(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Few different values, so that there are ties; nasty ones among the floats."""
    rng = np.random.default_rng(seed)
    if dtype[0] == "f":
        pool = np.concatenate([NASTY, rng.normal(size=20)]).astype(dtype)
        return rng.choice(pool, shape)
    return rng.integers(-100, 100, shape).astype(dtype)


def both(x: Any) -> Any:
    return np.sort(x), np.argsort(x, kind="stable")


def columns(x: Any) -> Any:
    return np.sort(x, axis=0), np.argsort(x, axis=0, kind="stable")


def same_bits(got: np.ndarray, want: np.ndarray) -> None:
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 9, 64, 65, 1000, 5000])
def test_line(dtype: str, n: int) -> None:
    x = sample((n,), dtype, n)
    for got, want in zip(irad.compile(both)(x), both(x), strict=True):
        same_bits(got, want)


@pytest.mark.parametrize("dtype", ["f8", "i4"])
@pytest.mark.parametrize("shape", [(5, 4), (1, 3), (40, 3), (2, 3, 17), (0, 3), (3, 0)], ids=str)
def test_axes(dtype: str, shape: tuple[int, ...]) -> None:
    x = sample(shape, dtype)
    for f in (both, columns):
        for got, want in zip(irad.compile(f)(x), f(x), strict=True):
            same_bits(got, want)


def test_equal_zeros_keep_their_order() -> None:
    x = np.array([0.0, -0.0, -0.0, 0.0, -1.0])
    got = irad.compile(both)(x)[0]
    np.testing.assert_array_equal(np.signbit(got), [True, False, True, True, False])


def test_signs_of_zeros_and_nan_in_long_lines() -> None:
    for dtype in ("f8", "f4"):
        x = sample((700,), dtype, 3)
        got, want = irad.compile(lambda x: np.sort(x))(x), np.sort(x, kind="stable")
        same_bits(got, want)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("n", [66, 3000, 5000])
def test_lines_whose_highest_digits_tell_little(n: int) -> None:
    """A few huge elements, and the rest close together: insertion gives up, and all digits are used."""
    rng = np.random.default_rng(n)
    close, huge = 1 + 1e-13 * rng.random(n), 1e300 * rng.standard_normal(n)
    whole = rng.integers(0, 1000, n)
    whole[:2] = -(2**62), 2**62
    for x in (np.where(rng.random(n) < 0.02, huge, close), np.round(close, 14), whole, np.arange(n)[::-1].copy(), np.zeros(n)):
        for got, want in zip(irad.compile(both)(x), both(x), strict=True):
            same_bits(got, want)


def test_inside_a_loop_and_a_function() -> None:
    def rows(x: Any) -> Any:
        out = np.zeros(x.shape[1])
        for k in range(x.shape[0]):
            out = out + np.sort(x[k] * (k + 1.0))
        return out

    x = sample((4, 600), "i4").astype(float)
    np.testing.assert_array_equal(irad.compile(rows)(x), rows(x))


def test_slopes() -> None:
    def weighted(x: Any, w: Any) -> Any:
        return np.sum(np.sort(x, axis=0) * w)

    x, w = np.array([[3.0, 1.0], [1.0, 5.0], [2.0, 4.0]]), np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])
    dx, dw = irad.grad(weighted, (0, 1))(x, w)
    np.testing.assert_array_equal(dx, [[100, 2], [1, 200], [10, 20]])
    np.testing.assert_array_equal(dw, np.sort(x, axis=0))
    irad.check_grads(weighted, (x, w), order=2)


def test_ties_keep_their_order_in_the_derivative() -> None:
    got = irad.grad(lambda x: np.sum(np.sort(x) * np.array([1.0, 10.0, 100.0])))(np.array([2.0, 1.0, 1.0]))
    np.testing.assert_array_equal(got, [100, 1, 10])


def test_kernel_leaves_its_neighbours_alone() -> None:
    """The kernel itself, on strided memory with guards around."""
    kernel = lower_sort.kernel("sort_f64", "f64")
    library = load(emit([kernel]), ["sort_f64"])
    pointer = ctypes.c_void_p
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *[pointer] * 4, ctypes.c_int64, ctypes.c_int64)(library.address("sort_f64"))
    x, y = np.arange(60.0)[::-1].copy(), np.full(60, -7.0)
    a, b = np.full(22, -7.0), np.full(22, -7.0)
    assert run(x.ctypes.data, y.ctypes.data + 8, a.ctypes.data + 8, b.ctypes.data + 8, 20, 2) == 0
    want = np.full(60, -7.0)
    want[1:41:2] = np.sort(x[0:40:2])
    np.testing.assert_array_equal(y, want)
    assert a[0] == a[21] == b[0] == b[21] == -7


# ---- from the largest (a keyword since NumPy 2.5) ----

OLD = "descending" not in inspect.signature(np.sort).parameters


def downwards(x: Any) -> Any:
    y = x * 1
    y.sort(descending=True)
    return (
        np.sort(x, axis=0, descending=True),
        np.argsort(x, axis=0, descending=True, stable=True),
        x.argsort(axis=None, descending=True, stable=True),
        y,
    )


@pytest.mark.skipif(OLD, reason="not a keyword of this NumPy")
@pytest.mark.parametrize("dtype", [*DTYPES, "f2", "c16"])
def test_descending(dtype: str) -> None:
    real, imaginary = (sample((9, 5), "f8", k) for k in (1, 2))
    x = sample((9, 5), dtype) if dtype[0] != "c" else np.stack([real, imaginary], -1).view("c16")[..., 0]
    for got, want in zip(irad.compile(downwards)(x), downwards(x), strict=True):
        same_bits(got, want)
        if dtype[0] == "f":
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.skipif(OLD, reason="not a keyword of this NumPy")
def test_descending_reaches_the_least_integers() -> None:
    for dtype in ("i1", "i8", "u1", "u8"):
        x = np.array([np.iinfo(dtype).min, 1, np.iinfo(dtype).max, 0], dtype)
        same_bits(irad.compile(lambda x: np.sort(x, descending=True))(x), np.sort(x)[::-1])


@pytest.mark.skipif(OLD, reason="not a keyword of this NumPy")
def test_slopes_go_with_descending_elements() -> None:
    x = np.array([3.0, 1.0, 3.0, 0.0, -0.0])
    g = irad.grad(lambda x: np.sort(x, descending=True) @ np.arange(5.0))(x)
    np.testing.assert_array_equal(g, [0.0, 2.0, 1.0, 3.0, 4.0])
    rising = irad.grad(lambda x: np.sort(x, descending=False) @ np.arange(5.0))(x)
    np.testing.assert_array_equal(rising, [3.0, 2.0, 4.0, 0.0, 1.0])


@pytest.mark.skipif(OLD, reason="not a keyword of this NumPy")
def test_descending_is_known_at_compile_time() -> None:
    with pytest.raises(irad.IradTypeError, match="known at compile time"):
        irad.compile(lambda x: np.sort(x, descending=x[0] > 0))(np.ones(3))


@pytest.mark.skipif(not OLD, reason="a keyword of this NumPy")
def test_keywords_are_those_of_the_installed_numpy() -> None:
    for f in (
        lambda x: np.sort(x, descending=None),
        lambda x: np.argsort(x, descending=True),
        lambda x: x.argsort(descending=False),
    ):
        with pytest.raises(irad.IradTypeError, match="unexpected keyword argument 'descending'"):
            irad.compile(f)(np.ones(3))


@pytest.mark.skipif("stable" not in inspect.signature(np.sort).parameters, reason="not a keyword of this NumPy")
def test_kind_and_stable_exclude_each_other() -> None:
    with pytest.raises(irad.IradValueError, match="can't be provided at the same time"):
        irad.compile(lambda x: np.sort(x, kind="stable", stable=False))(np.ones(3))
    same_bits(irad.compile(lambda x: np.sort(x, kind="stable", stable=None))(np.array([2.0, 1.0])), np.array([1.0, 2.0]))


def middle(x):
    return np.median(x[x > 0.3])


def middle_of_rows(x):
    return np.sum(np.median(x[:, x[0] > 0.3], axis=1) * [1.0, 2.0, 3.0])


def middle_of_list(x):
    slopes = []
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            if x[j] > x[i]:
                slopes.append((x[j] - x[i]) / (j - i))
    return np.median(slopes)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7, 20])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.filterwarnings("ignore")
def test_median_of_run_time_extent(n: int, dtype: type) -> None:
    """NumPy's bits and dtype: odd and even numbers of elements, none at all, NaN among them."""
    x = np.random.default_rng(n).normal(0.5, 1.0, n).astype(dtype)
    for y in (x, x + 5, np.where(np.arange(n) == 1, np.nan, x).astype(x.dtype) if dtype is not np.int64 else x):
        for f in (middle, lambda x: np.nanmedian(x[x > 0.3])):
            found, want = irad.compile(f)(y), f(y)
            assert repr(found) == repr(want)


def test_slopes_of_medians_of_run_time_extent() -> None:
    for f, shape in ((middle, (7,)), (middle, (8,)), (middle_of_rows, (3, 6)), (middle_of_list, (6,))):
        x = np.random.default_rng(1).normal(0.8, 0.5, shape)
        gradient = irad.grad(f)(x)
        assert np.isclose(irad.compile(f)(x), f(x), rtol=1e-14)
        d = np.random.default_rng(2).normal(size=shape)
        assert np.isclose(np.sum(gradient * d), (f(x + 1e-6 * d) - f(x - 1e-6 * d)) / 2e-6, rtol=1e-7)


def test_quantiles_of_run_time_extent_keep_float32() -> None:
    x = np.linspace(0.0, 1.0, 9, dtype=np.float32)
    for f in (lambda x: np.quantile(x[x > 0.3], 0.4), lambda x: np.percentile(x[x > 0.3], 40)):
        found = irad.compile(f)(x)
        assert found.dtype == np.float32 and np.isclose(found, f(x), rtol=1e-6)
