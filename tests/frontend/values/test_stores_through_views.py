"""Stores that reach an array by another way than `x[i] = v`, compiled, against NumPy: of one of two arrays, and in C order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad


def nan_to_num(w: Any) -> None:
    w[0] = np.inf
    np.nan_to_num(w, copy=False, posinf=3.0)


def through_views(w: Any) -> None:
    np.flip(w)[0] = 8.0
    w[:, None][1] = 9.0
    np.einsum("i->i", w)[2] = 7.0


STORES: dict[str, Callable[[Any], Any]] = {
    "add.at": lambda w: np.add.at(w, [0, 0, 1], 1.0),
    "subtract.at": lambda w: np.subtract.at(w, [0, 0], 2.0),
    "multiply.at": lambda w: np.multiply.at(w, [2, 2], 3.0),
    "put": lambda w: np.put(w, [0, -1], [5.0, 6.0, 7.0]),
    "put wraps": lambda w: w.put([4, -5], 5.0, mode="wrap"),
    "put clips": lambda w: np.put(w, [9, -5], [1.0, 2.0], mode="clip"),
    "place": lambda w: np.place(w, w > 1.0, [7.0, 8.0]),
    "copyto": lambda w: np.copyto(w, 4.0, where=w > 1.0),
    "putmask": lambda w: np.putmask(w, w > 0.5, [7.0, 8.0]),
    "fill": lambda w: w.fill(2.0),
    "sort": lambda w: w[::-1].sort(),
    "partition": lambda w: w.partition(1),
    "out=": lambda w: np.multiply(w, 2.0, out=w),
    "nan_to_num": nan_to_num,
    "views": through_views,
}


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("n", [1, 5])
def test_stores_into_one_of_two(name: str, n: int) -> None:
    store = STORES[name]

    def f(y: Any, z: Any, n: Any) -> Any:
        w = y if n > 2 else z
        store(w)
        return w * 2.0

    mine, theirs = ([np.array([1.0, 0.5, 2.0, 3.0]), np.array([2.0, 1.5, 0.0, -1.0])] for _ in range(2))
    assert np.array_equal(irad.compile(f)(*mine, n), f(*theirs, n))
    assert np.array_equal(mine, theirs)


MATRIX: dict[str, Callable[[Any], Any]] = {
    "put": lambda a: a.put([0, 1, 3], [9.0, 8.0]),
    "fill_diagonal": lambda a: np.fill_diagonal(a, [1.0, 2.0]),
    "fill_diagonal wraps": lambda a: np.fill_diagonal(a, 5.0, wrap=True),
    "putmask": lambda a: np.putmask(a, a > 2.0, [7.0, 8.0, 9.0]),
    "ravel": lambda a: a.ravel().fill(3.0),
    "reshape": lambda a: a.reshape(-1, order="F").fill(3.0),
    "computed": lambda a: (a * 1.0).ravel().fill(3.0),
}


@pytest.mark.parametrize("name", MATRIX)
@pytest.mark.parametrize("order", ["C", "F"])
def test_stores_in_c_order(name: str, order: str) -> None:
    def f(a: Any) -> Any:
        MATRIX[name](a)
        return a + 0.0

    mine, theirs = (np.array(np.arange(10.0).reshape(5, 2), order=order) for _ in range(2))  # type: ignore[call-overload]
    assert np.array_equal(irad.compile(f)(mine), f(theirs)) and np.array_equal(mine, theirs)


def test_memory_order_of_what_is_computed() -> None:
    def f(a: Any) -> Any:
        z = a * 2.0  # in Fortran order as a is: its ravel is a copy
        z.ravel()[0] = 9.0
        g = a[:, [0, 1]]  # NumPy lays the gathered axis out first
        g.ravel()[0] = 9.0
        return z, g

    a = np.asfortranarray(np.arange(6.0).reshape(3, 2))
    for got, want in zip(irad.compile(f)(a), f(a)):
        assert np.array_equal(got, want)


def test_memory_order_in_a_loop() -> None:
    def f(a: Any, n: Any) -> Any:
        for _ in range(n):
            a = np.ascontiguousarray(a)
            a.ravel()[0] += 1.0
        return a

    for order in "FC":  # the array of the first trip is not that of the second where it is in Fortran order
        mine, theirs = np.ones((3, 2), order=order), np.ones((3, 2), order=order)
        assert np.array_equal(irad.compile(f)(mine, 3), f(theirs, 3)) and np.array_equal(mine, theirs)

    def g(a: Any, n: Any) -> Any:
        for i in range(n):
            a = np.ascontiguousarray(a) if i % 2 else np.asfortranarray(a)
            a.ravel()[0] += 1.0
        return a

    with pytest.raises(irad.IradError, match="memory layout"):
        irad.compile(g)(np.asfortranarray(np.arange(6.0).reshape(3, 2)), 30)


def test_gradients_through_views() -> None:
    def f(x: Any) -> Any:
        z = np.outer(x, x)
        d, e = np.diagonal(z), np.einsum("ii->i", z)
        e *= 2.0
        return np.sum(d)

    assert np.allclose(irad.grad(f)(np.array([1.0, 2.0])), [4.0, 8.0])


def test_read_only_views_raise() -> None:
    for view in (np.diagonal, lambda a: np.broadcast_to(a, (2, 3, 3))):

        def f(a: Any, view: Any = view) -> Any:
            view(a)[0] = 1.0

        with pytest.raises(ValueError, match="read-only"):
            irad.compile(f)(np.zeros((3, 3)))
