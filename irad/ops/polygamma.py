"""Derivatives of the logarithm of the gamma function, of every order.

The derivative of order n + 1 at x > 0 is (-1)^(n+1) n! times Hurwitz's zeta(s, x), s = n + 1, the sum of (x + k)^-s. It is computed by
summing M terms and the rest by the formula of Euler and Maclaurin (F. Johansson, "Rigorous high-precision computation of the Hurwitz zeta
function and its derivatives", 2014), all terms being positive; for x < 0 by reflection, with the derivatives of the cotangent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Type
from irad.ops.core import Op, type_error
from irad.ops.elementwise import cast_to, eq, floor, full, select, sin, szmul
from irad.ops.slopes import horner
from irad.ops.special import special

TERMS = 8  # terms beyond the order that are summed one by one
BERNOULLI = (
    (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330),
)  # fmt: skip  (numerators, denominators)  # fmt: skip
WHOLE = 8  # powers up to here are products


def _infer(x: Type, *, n: int) -> tuple[Type, ...]:
    if x.dtype not in ("f32", "f64") or n < 1:
        raise type_error(f"polygamma of order {n} wants an order of 1 or more and f32 or f64", x)
    return (x,)


def _vjp(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    (x,) = node.inputs
    adj.add(x, szmul(cts[0], polygamma(ad.need(x), n=node.attrs["n"] + 1)))


def _jvp(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    (x,) = node.inputs
    return [szmul(tan.get(x), polygamma(x, n=node.attrs["n"] + 1))]


def _value(x: Value, *, n: int) -> tuple[Value, ...]:
    wide = cast_to(x, "f64")
    negative = wide < 0
    sums = _zeta(select(negative, 1 - wide, wide), n)  # n! zeta(n + 1, .)
    out = select(negative, _mirrored(wide, sums, n), -sums if n % 2 == 0 else sums)
    return (cast_to(out, x.type.dtype),)


def _power(x: Value, s: int) -> Value:
    """x**s by squaring where that is short."""
    if s > WHOLE:
        return x**s
    out, square = None, x
    while s:
        if s & 1:
            out = square if out is None else out * square
        s >>= 1
        square = square * square if s else square
    return full(1.0, x) if out is None else out


def _zeta(x: Value, n: int) -> Value:
    """n! zeta(n + 1, x) for x >= 0. Every term is a power of c / (x + k), c**s = n!, which neither overflows nor underflows early."""
    s = n + 1
    c = math.exp(math.lgamma(s) / s)
    above, below = c.as_integer_ratio()
    exact = math.factorial(n) * below**s / above**s  # of whole numbers: rounded once
    base = full(c, x)
    total: Value | None = None
    for k in reversed(range(s + TERMS)):
        term = _power(base / (x + k if k else abs(x)), s)
        total = term if total is None else total + term
    v = x + (s + TERMS)
    t = base / v
    inverse = 1 / v
    square = inverse * inverse
    rising = [math.prod(range(s, s + 2 * j + 1)) for j in range(len(BERNOULLI))]
    series = horner([a * r / (b * math.factorial(2 * j + 2)) for j, ((a, b), r) in enumerate(zip(BERNOULLI, rising))], square)
    assert total is not None
    half = series * inverse + 0.5
    rest = _power(t, s) * half + _power(t, n) * (c / n)
    return (total + rest) * exact


def _mirrored(x: Value, sums: Value, n: int) -> Value:
    """For x < 0: (-1)^n psi_n(1 - x) - pi d^n cot(pi x), where psi_n(1 - x) = (-1)^(n+1) `sums`; at poles and -inf as at 0."""
    f = x - floor(x + 0.5)  # to the nearest integer
    size, turn = abs(f), full(math.pi, x)
    sine, cosine = sin(turn * f), sin(turn * (0.5 - size))
    y = cosine / sine
    slope = horner(_cotangent(n), y)
    out = -sums - math.pi ** (n + 1) * slope
    pole = eq(f, 0) | eq(x, -math.inf)
    return select(pole, math.inf if n % 2 else -math.inf, out)


def _cotangent(n: int) -> list[int]:
    """Coefficients of P with d^n cot u / du^n = P(cot u): P <- -(1 + y^2) P'."""
    p = [0, 1]
    for _ in range(n):
        d = [k * c for k, c in enumerate(p)][1:]
        p = [-(a + b) for a, b in zip([*d, 0, 0], [0, 0, *d])]
    return p


polygamma = Op("polygamma", _infer, lambda x, *, n: np.asarray(special("polygamma", n, x)).astype(np.asarray(x).dtype)[()], _vjp, _jvp, extra={"expand": _value},
               stacks=True, doc="derivative of order n of `digamma`, n > 1")  # fmt: skip
