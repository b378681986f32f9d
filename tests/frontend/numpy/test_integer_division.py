"""Division of integers at the ends of their ranges: the least one by -1, everything by 0, unsigned ones, known divisors."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad


def divisions(x: Any, y: Any) -> Any:
    return x // y, x % y, divmod(x, y), np.fmod(x, y), np.divmod(x, y), x / y, np.gcd(x, y), np.lcm(x, y)


def by_known(x: Any) -> Any:
    return x // 1, x % 1, x // 0, x % 0, divmod(x, 2), x // 7, x % 7, 0 // x, 1 % x, divmod(100, x), np.fmod(100, x)


def by_negative(x: Any) -> Any:
    return x // -1, x % -1, divmod(x, -1), np.fmod(x, -1), x // -2, x % -7, divmod(-1, x), -128 // x, np.fmod(-128, x)


def into(x: Any, y: Any) -> Any:
    """In place, and with where=."""
    a, b = x.copy(), x.copy()
    a //= y
    b %= y
    return a, b, np.floor_divide(x, y, where=y != 0, out=np.zeros_like(x)), np.add.reduce(x // y), np.floor_divide.outer(x, y[:3])


def flat(found: Any) -> list[Any]:
    return [z for r in found for z in (r if isinstance(r, tuple) else (r,))]


def same(got: Any, want: Any) -> None:
    for g, w in zip(flat(got), flat(want), strict=True):
        np.testing.assert_array_equal(g, w)
        assert np.asarray(g).dtype == np.asarray(w).dtype and type(g) is type(w)


@pytest.mark.parametrize("dtype", "bhilBHIL")
def test_arrays_and_numbers(dtype: str) -> None:
    info = np.iinfo(dtype)
    picks = sorted({info.min, info.min + 1, max(-1, info.min), 0, 1, 2, 3, 7, info.max // 2, info.max - 1, info.max})
    x, y = np.array(list(itertools.product(picks, repeat=2)), dtype).T.copy()
    compiled = irad.compile(divisions)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(compiled(x, y), divisions(x, y))
        same(irad.compile(into)(x, y), into(x, y))
        for known in (by_known, by_negative)[: 1 + (info.min < 0)]:
            same(irad.compile(known)(x), known(x))
        for a, b in itertools.product((info.min, 3, info.max), (info.min, 0, max(-1, info.min), info.max)):
            u, v = np.dtype(dtype).type(a), np.dtype(dtype).type(b)
            same(compiled(u, v), divisions(u, v))


def test_numbers_of_python() -> None:
    """They have no least one: the quotient that does not fit is an error, never a wrapped number."""
    quotient, rest, both = (irad.compile(f) for f in (lambda a, b: a // b, lambda a, b: a % b, divmod))
    least = -(2**63)
    assert (quotient(least + 1, -1), rest(least, -1), both(least, 1)) == (2**63 - 1, 0, (least, 0))
    for f in (quotient, both):
        with pytest.raises(OverflowError, match="does not fit 64 bits"):
            f(least, -1)
    for f in (quotient, rest, both):
        with pytest.raises(ZeroDivisionError):
            f(least, 0)


def test_sums_and_products_with_a_known_number() -> None:
    """What fits 64 bits is right, next to the end too; what does not is an error."""
    low, high = -(2**63), 2**63 - 1
    steps: tuple[Callable[[int], int], ...] = (
        lambda x: x + 1, lambda x: x + -3, lambda x: 5 + x, lambda x: x - 1, lambda x: x - -4, lambda x: 7 - x, lambda x: -7 - x,
        lambda x: -x, lambda x: 2 * x, lambda x: x * -3, lambda x: x * -1, lambda x: 7 * x,
    )  # fmt: skip
    near = (low, high, 0, high // 2, low // 2, high // 3, low // 3, -high // 3, high // 7, low // 7)
    for step in steps:
        compiled = irad.compile(step)
        for x in (e + d for e in near for d in range(-9, 10) if low <= e + d <= high):
            if low <= step(x) <= high:
                assert compiled(x) == step(x)
            else:
                with pytest.raises(OverflowError, match="does not fit 64 bits"):
                    compiled(x)
