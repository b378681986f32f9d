"""The module math in compiled code: Python's values and Python's errors, for numbers in and out of every domain."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

INF, NAN = math.inf, math.nan
NUMBERS = [0.0, -0.0, 0.3, -0.7, 1.0, -1.0, 2.5, -3.0, 8.0, 700.0, 1e4, -1e4, 1e306, 1.7e308, -1.7e308, 5e-324, INF, -INF, NAN]
ONE = (
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp expm1 exp2 log log2 log10 log1p sqrt cbrt fabs degrees radians erf "
    "erfc lgamma gamma ulp floor ceil trunc isnan isinf isfinite frexp modf hypot"
).split()
TWO = "atan2 fmod pow copysign hypot remainder nextafter isclose log".split()


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """The value of a call, or the type of the exception."""
    try:
        return f(*args)
    except (ValueError, OverflowError, ZeroDivisionError) as e:
        return type(e)


def agree(got: Any, want: Any) -> bool:
    """Same types, and floats within a few units in the last place."""
    if isinstance(want, tuple):
        return isinstance(got, tuple) and len(got) == len(want) and all(map(agree, got, want))
    if type(got) is not type(want):
        return False
    if isinstance(want, float) and not math.isnan(want):
        return math.isclose(got, want, rel_tol=4e-15, abs_tol=0.0) and math.copysign(1, got) == math.copysign(1, want)
    return got == want or (isinstance(want, float) and math.isnan(got))


@pytest.mark.parametrize("name", [n for n in ONE if hasattr(math, n)])
def test_functions_of_one_number(name: str) -> None:
    fn = getattr(math, name)
    c = irad.compile(lambda x: fn(x))
    for x in NUMBERS:
        if name in ("floor", "ceil", "trunc") and math.isfinite(x) and abs(x) > 2**62:
            continue  # Python ints have 64 bits here
        if name == "lgamma" and abs(x) in (1e306, 1.7e308):
            continue  # at the edge of overflow
        if name == "expm1" and abs(x) < 1e-300:
            continue  # the polynomial loses the last bit of a subnormal number
        got, want = outcome(c, x), outcome(fn, x)
        assert agree(got, want), (name, x, got, want)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name: str) -> None:
    fn = getattr(math, name)
    c = irad.compile(lambda x, y: fn(x, y))
    for x in NUMBERS:
        for y in NUMBERS:
            got, want = outcome(c, x, y), outcome(fn, x, y)
            assert agree(got, want), (name, x, y, got, want)


def test_lgamma_at_its_edges() -> None:
    c = irad.compile(lambda x: math.lgamma(x))
    assert outcome(c, 1.7e308) is OverflowError and outcome(c, -4.0) is ValueError


@pytest.mark.parametrize("f, args", [
    (lambda x, y, z: math.hypot(x, y, z), (3.0, 4.0, 12.0)),
    (lambda x: math.hypot(x), (-3.0,)),
    (lambda p, q: math.dist(p, q), ([1.0, 2.0, 5.0], [4.0, 6.0, 5.0])),
    (lambda x: math.log(x, 2), (32.0,)),
    (lambda b: math.log(81, b), (3.0,)),
    (lambda x, n: math.ldexp(x, n), (0.75, 5)),
    (lambda a, b, c: math.gcd(a, b, c), (-12, 18, 30)),
    (lambda a, b, c: math.lcm(a, b, c), (4, -6, 10)),
    (lambda a, b: math.lcm(a, b), (0, 5)),
    (lambda n: math.factorial(n), (5,)),
    (lambda n, k: math.comb(n, k) + math.perm(n, k) + math.isqrt(n), (17, 3)),
    (lambda x: math.isclose(x, 1.0, abs_tol=0.5), (1.4,)),
    (lambda x, y: math.prod([x, y, 2.0]), (1.5, 3.0)),
    (lambda x: round(x, 1), (2.567,)),
    (lambda x, n: round(x, n), (2.567, 2)),
])  # fmt: skip
def test_functions_of_more_numbers(f: Callable[..., Any], args: Any) -> None:
    assert agree(irad.compile(f)(*args), f(*args))


def test_a_divisor_that_does_not_fit_is_an_error() -> None:
    f, least = irad.compile(lambda a, b: math.gcd(a, b)), -(2**63)
    assert f(least, 6) == 2 and f(6, least) == 2 and f(least, -1) == 1 and f(0, 0) == 0 and f(-12, 18) == 6
    for a, b in ((least, 0), (0, least), (least, least)):
        with pytest.raises(OverflowError):
            f(a, b)


def test_errors_say_what_to_write() -> None:
    for f, words in [(lambda x: math.gcd(x, 2), "wants integers")]:
        with pytest.raises(irad.IradError, match=words) as e:
            irad.compile(f)(1.5)
        assert "test_math.py" in str(e.value)
    with pytest.raises(TypeError):
        irad.compile(lambda x: math.sin(x, x))(1.0)


def test_slopes() -> None:
    assert irad.grad(lambda x: math.hypot(x, 2.0, 6.0))(3.0) == pytest.approx(3 / 7)
    assert irad.grad(lambda x: math.log(x, 2.0))(5.0) == pytest.approx(1 / (5 * math.log(2)))
    assert irad.grad(lambda b: math.log(8.0, b))(2.0) == pytest.approx(-math.log(8) / (2 * math.log(2) ** 2))
    assert irad.grad(lambda x: math.pow(x, 3.0))(2.0) == 12.0
    assert irad.grad(lambda x: math.gamma(x))(4.0) == pytest.approx(6 * (11 / 6 - 0.5772156649015329))
    assert irad.grad(lambda x: math.dist((x, 0.0), (0.0, 4.0)))(3.0) == pytest.approx(0.6)
    assert irad.grad(lambda x: math.remainder(x, 3.0) * x)(5.0) == pytest.approx(-1.0 + 5.0)
    assert irad.grad(lambda x: math.modf(x)[0] ** 2)(2.25) == pytest.approx(0.5)
    assert irad.grad(lambda x: math.erf(x))(0.5) == pytest.approx(2 / math.sqrt(math.pi) * math.exp(-0.25))
    assert irad.grad(lambda x: math.ldexp(x, 3))(1.0) == 8.0


def test_errors_within_loops() -> None:
    def total(x: Any) -> float:
        s = 0.0
        for v in x:
            s += math.exp(v)
        return s

    c = irad.compile(total)
    assert c(np.arange(20.0)) == pytest.approx(total(np.arange(20.0)))
    assert outcome(c, np.array([1.0] * 9 + [1000.0])) is OverflowError
