"""reduce, accumulate, reduceat and at of ufuncs: values as NumPy's, in NumPy's order, and derivatives in both modes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import IradValueError, UnsupportedError
from irad.frontend.numpy import table

RNG = np.random.default_rng(4)
A, V = RNG.normal(size=(3, 4)), RNG.normal(size=6)
LONG = RNG.uniform(1, 2, (20, 2))
TWICE = np.array([0, 5, 5])


def at(ufunc: np.ufunc, *operand: Any) -> Callable[[np.ndarray], np.ndarray]:
    """A function that changes places of its argument, one of them twice."""

    def f(x: np.ndarray) -> np.ndarray:
        y = x * 1
        ufunc.at(y, TWICE, *(x[v] for v in operand))
        return y

    return f


def at_places(x: np.ndarray) -> np.ndarray:
    y = np.ones((2, 3))
    np.multiply.at(y, (np.array([0, 0, 1]), np.array([1, 1, 2])), x[0, :3])
    np.divide.at(y, 1, x[1, 0])
    np.maximum.at(y, (slice(None), 0), x[2, 1])
    return y


CASES: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "subtract.reduce": (lambda x: np.subtract.reduce(x, 1), A),
    "subtract.reduce, a loop": (lambda x: np.subtract.reduce(x, keepdims=True), LONG),
    "subtract.reduce, initial": (lambda x: np.subtract.reduce(x, 1, initial=3.0), LONG.T),
    "divide.reduce": (lambda x: np.divide.reduce(x, axis=-1), A),
    "power.reduce": (lambda x: np.power.reduce(np.abs(x)), A),
    "arctan2.reduce": (lambda x: np.arctan2.reduce(x, 0), A),
    "subtract.accumulate": (lambda x: np.subtract.accumulate(x, 1), A),
    "divide.accumulate": (lambda x: np.divide.accumulate(x), LONG),
    "add.reduceat": (lambda x: np.add.reduceat(x, [0, 4, 2, 5]), V),
    "multiply.reduceat": (lambda x: np.multiply.reduceat(x, [0, 2, 1], axis=1), A),
    "maximum.reduceat": (lambda x: np.maximum.reduceat(x, np.array([1, 1])), V),
    "multiply.at": (at(np.multiply, [1, 2, 3]), V),
    "power.at": (at(np.power, 1), np.abs(V)),
    "minimum.at": (at(np.minimum, [1, 2, 3]), V),
    "square.at": (at(np.square), V),
    "negative.at": (at(np.negative), V),
    "at, several axes": (at_places, A),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f, x = CASES[name]
    np.testing.assert_allclose(irad.compile(f)(x), f(x), rtol=1e-14)
    irad.check_grads(f, (x,), order=2, rtol=1e-5)


def test_dtypes() -> None:
    for f, x in (
        (lambda x: np.divide.reduce(x), np.arange(1, 5)),
        (lambda x: np.subtract.reduce(x), np.arange(5, dtype=np.int8)),
        (lambda x: np.floor_divide.accumulate(x), np.arange(20, 15, -1)),
        (lambda x: np.subtract.reduce(x, dtype=np.float32), np.arange(5)),
        (lambda x: np.logaddexp.reduce(x), np.zeros((0, 2))),
        (lambda x: np.hypot.reduce(x), np.zeros((0, 2), np.float32)),
    ):  # fmt: skip
        got, want = irad.compile(f)(x), f(x)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


table.load_all()
METHODS = sorted(n for n in table.NAMES if n.endswith((".reduce", ".accumulate", ".reduceat")))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_numpys(name: str) -> None:
    method = table.NAMES[name]
    whole = any(word in name for word in ("bitwise", "shift", "gcd", "lcm"))
    args = ([0, 3, 1],) if name.endswith("reduceat") else ()
    for x in (np.arange(1, 7) % 5, LONG[:5]) if not whole else (np.arange(1, 7) % 5,):
        got, want = irad.compile(lambda x: method(x, *args))(x), method(x, *args)
        assert got.dtype == want.dtype
        if "reduce" in name and name.split(".")[1] in ("power", "float_power", "arctan2"):
            parts = (
                [x] if not args else [x[0:3], x[3:4], x[1:]]
            )  # some releases of NumPy combine only the first element and the last
            folded = [functools.reduce(getattr(np, name.split(".")[1]), p) for p in parts]
            want = np.asarray(folded if args else folded[0], want.dtype)
        np.testing.assert_allclose(got, want, rtol=1e-14)


def test_errors() -> None:
    for f, error, words in (
        (lambda x: np.subtract.reduce(x, None), IradValueError, "not reorderable"),
        (lambda x: np.subtract.reduce(x[:0]), IradValueError, "no identity"),
        (lambda x: np.add.reduceat(x, [0, 3]), IndexError, "out-of-bounds"),
        (lambda x: np.equal.reduce(x), UnsupportedError, r"np\.equal\.reduce of traced arrays"),
        (lambda x: np.multiply.at(x, [0, 7], 2.0), IndexError, "out of bounds"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            irad.compile(f)(A * 1)
