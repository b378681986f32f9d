"""Recurrences along the rows of a matrix: trips over columns become blocks of rows, where the rows are independent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.switches import without

RNG = np.random.default_rng(7)


def filtered(x, a, b):
    y = np.zeros_like(x)
    for j in range(1, x.shape[1]):
        y[:, j] = a * x[:, j] + b * y[:, j - 1]
    return y


def backwards(x, a, b):
    y = x.copy()
    for j in range(x.shape[1] - 3, -1, -1):
        y[:, j] = a * y[:, j + 1] - b * y[:, j + 2] * y[:, j]
    return y


def two_fields(x, a, b):
    u, v = np.zeros_like(x), x.copy()
    for j in range(1, x.shape[1]):
        u[:, j] = u[:, j - 1] + a * v[:, j - 1]
        v[:, j] = v[:, j - 1] - b * np.sin(u[:, j])
    return u * v


def a_state_beside_it(x, a, b):
    s, y = np.ones(x.shape[0]), np.empty_like(x)
    for j in range(x.shape[1]):
        s = b * s + a * x[:, j]
        y[:, j] = np.tanh(s)
    return y


def tridiagonal_systems(x, a, b):
    c, d = np.zeros_like(x), np.zeros_like(x)
    c[:, 0], d[:, 0] = b / 4.0, x[:, 0] / 4.0
    for j in range(1, x.shape[1]):
        m = 4.0 - a * c[:, j - 1]
        c[:, j] = b / m
        d[:, j] = (x[:, j] - a * d[:, j - 1]) / m
    for j in range(x.shape[1] - 2, -1, -1):
        d[:, j] -= c[:, j] * d[:, j + 1]
    return d


def inner_rows_only(x, a, b):
    y = x.copy()
    for j in range(1, x.shape[1]):
        y[2:-1, j] = a * y[2:-1, j] + b * y[2:-1, j - 1]
    return y


def numbers_of_columns(x, a, b):
    w, y = np.linspace(0.0, 1.0, x.shape[1]), x.copy()
    for j in range(1, x.shape[1]):
        y[:, j] = w[j] * a + b * y[:, j - 1] * w[j - 1]
    return y


def written_in_place(x, a, b):
    for j in range(1, x.shape[1]):
        x[:, j] += b * x[:, j - 1] * a
    return x


def neighbours(x, a, b):
    y = x.copy()
    for j in range(1, x.shape[1]):
        y[1:, j] = a * y[:-1, j - 1] + b * y[1:, j]
    return y


def one_row_for_all(x, a, b):
    y = x.copy()
    for j in range(1, x.shape[1]):
        y[:, j] = a * y[40, j - 1] + b * y[:, j]
    return y


def a_sum_of_values(x, a, b):
    y, total = x.copy(), 0.0
    for j in range(1, x.shape[1]):
        y[:, j] = a * y[:, j - 1] + b * y[:, j]
        total += np.sum(y[:, j])
    return y * total


def a_sum_of_each_column(x, a, b):
    y = x.copy()
    for j in range(1, x.shape[1]):
        y[:, j] = a * y[:, j - 1] + b * np.sum(x[:, j])
    return y


def columns_of_norm_one(x, a, b):
    for j in range(1, x.shape[1]):
        x[:, j] = x[:, j] / np.max(np.abs(x[:, j])) + a * b * x[:, j - 1]
    return x


def where_a_column_is_largest(x, a, b):
    y = x.copy()
    for j in range(1, x.shape[1]):
        y[:, j] = a * y[:, j - 1] + b * np.argmax(x[:, j])
    return y


def if_any(x, a, b):
    y = x.copy()
    for j in range(1, x.shape[1]):
        y[:, j] = np.where(np.any(x[:, j] > 2.0), a, b) * y[:, j - 1]
    return y


def a_number_beside_it(x, a, b):
    y, t = np.zeros_like(x), 0.0
    for j in range(1, x.shape[1]):
        y[:, j] = x[:, j] + b * y[:, j - 1]
        t += b * b * j + a * t
    return y + t


TURNED = [
    filtered, backwards, two_fields, tridiagonal_systems, inner_rows_only, numbers_of_columns, written_in_place,
    a_state_beside_it,
]  # fmt: skip
KEPT = [
    neighbours, one_row_for_all, a_sum_of_values, a_sum_of_each_column, columns_of_norm_one, where_a_column_is_largest, if_any,
]  # fmt: skip


def turned(stages: Any) -> list[Any]:
    return [d for d in stages.notes.of("loop") if d.facts["form"] == "interchanged"]


def call(f: Callable[..., Any], x: np.ndarray, *off: str) -> Any:
    loss = lambda x, a, b: np.sum(np.cos(f(x, a, b)))
    with without(*off):
        value = irad.compile(lambda x, a, b: f(x, a, b))(x.copy(), 0.3, 0.45)
        return value, irad.grad(loss, argnums=(0, 1, 2))(x.copy(), 0.3, 0.45)


SIZES = [(96, 9), (127, 40), (163, 5)]  # whole blocks, and some rows besides


@pytest.mark.parametrize("f, size", [
    (f, SIZES[j % 3]) for k, f in enumerate([*TURNED, *KEPT, a_number_beside_it]) for j in (k, k + 1)
], ids=lambda v: getattr(v, "__name__", None) or f"{v[0]}x{v[1]}")  # fmt: skip
def test_the_same_numbers(f: Callable[..., Any], size: tuple[int, int]) -> None:
    rows, columns = size
    x = RNG.standard_normal((rows, columns))
    value, grads = call(f, x)
    plain, want = call(f, x, "interchange")
    np.testing.assert_array_equal(value, plain)
    np.testing.assert_allclose(value, f(x.copy(), 0.3, 0.45), rtol=1e-12, atol=1e-13)
    for g, w in zip(grads, want):
        np.testing.assert_allclose(g, w, rtol=1e-11, atol=1e-12)


@pytest.mark.plain  # memory that is checked lies elsewhere
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("f", TURNED, ids=lambda f: f.__name__)
def test_rows_go_in_blocks(f: Callable[..., Any], dtype: str) -> None:
    x = RNG.standard_normal((130, 50)).astype(dtype)
    stages = irad.compile(f).lower(x, 0.3, 0.45)
    assert turned(stages) and "_block_0" in stages.kernel
    with without("interchange"):
        plain = irad.compile(lambda x, a, b: f(x, a, b))(x.copy(), 0.3, 0.45)
    np.testing.assert_array_equal(irad.compile(f)(x.copy(), 0.3, 0.45), plain)


@pytest.mark.parametrize("f", [filtered, written_in_place, tridiagonal_systems], ids=lambda f: f.__name__)
def test_adjoints_go_in_blocks(f: Callable[..., Any]) -> None:
    """Forward sweeps and backward ones; sums over rows and trips are folds around the blocks."""

    def loss(x, a, b):
        return np.sum(np.cos(f(x, a, b)))

    stages = irad.compile(irad.grad(loss, argnums=(0, 1, 2))).lower(np.ones((130, 50)), 0.3, 0.45)
    assert len(turned(stages)) >= 2 and (f is tridiagonal_systems or "_sum_0 = fold(add" in stages.kernel)


@pytest.mark.parametrize("f", KEPT, ids=lambda f: f.__name__)
def test_rows_that_meet_do_not(f: Callable[..., Any]) -> None:
    assert not turned(irad.compile(f).lower(np.ones((130, 50)), 0.3, 0.45))


def test_few_rows_stay_as_they_are() -> None:
    assert not turned(irad.compile(filtered).lower(np.ones((60, 50)), 0.3, 0.45))


def test_columns_in_fortran_order_stay_as_they_are() -> None:
    def along(x, a, b):
        y = np.zeros_like(x)
        for j in range(1, len(x)):
            y[j] = a * x[j] + b * y[j - 1]
        return y

    assert not turned(irad.compile(along).lower(np.ones((50, 130)), 0.3, 0.45))
