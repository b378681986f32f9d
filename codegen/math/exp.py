"""Exponentials: exp, exp2, expm1, tanh, sinh, cosh.

Argument reduction x = n ln 2 + r by fused multiply-adds (Cody and Waite; the first is exact), a minimax polynomial for
exp(r) - 1 on |r| <= ln(2)/2, and 2**n by exponent arithmetic. rint(x / ln 2) is read off the low bits of
x / ln 2 + 1.5 * 2**52. The polynomials are weighted minimax fits (discrete Remez in 200-bit arithmetic).
"""

from __future__ import annotations

import math
from typing import Any

from irad.codegen.math.base import Values, above, below, bias, c, fabs, from_bits, horner, pick, round_magic, to_bits, with_sign

LOG2E = math.log2(math.e)
LN2_F64 = (0.6931471805599453, 2.3190468138462996e-17)
LN2_F32 = (0.693147182464599609375, -1.90465429995776804525e-09)

# (exp(r) - 1 - r) / r**2 on |r| <= 0.3470; to the last bit of exp(r) - 1, for float32 one term more than exp(r) needs
EXP_F64 = (
    2.5114962260956718e-08, 2.7626406628550335e-07, 2.7557226210165556e-06, 2.480150427216893e-05, 0.00019841269905247741,
    0.0013888888932494636, 0.008333333333313436, 0.04166666666657339, 0.16666666666666688, 0.5000000000000006,
)  # fmt: skip
EXP_F32 = (0.0013937194598838687, 0.008366580121219158, 0.041666433215141296, 0.1666654348373413, 0.5)
EXPM1_F32 = (
    0.00019944176892749965, 0.001393268583342433, 0.008333208039402962, 0.04166648909449577, 0.1666666716337204, 0.5,
)  # fmt: skip
EXP_SHORT = (  # to some 35 bits, for float32 results computed in float64
    0.0001995992445144914, 0.0013946817608404825, 0.008333197268187984, 0.041666260392730324, 0.16666667109743802,
    0.5000000080231726,
)  # fmt: skip
# (2**r - 1) / r on |r| <= 0.507
EXP2_F64 = (
    4.471312290545626e-10, 7.073881716612197e-09, 1.0177953791692558e-07, 1.3215434921329655e-06, 1.5252734096008513e-05,
    0.00015403530457277324, 0.001333355814612273, 0.009618129107594606, 0.05550410866482302, 0.24022650695910128, 0.6931471805599453,
)  # fmt: skip
EXP2_F32 = (
    0.00015519651060458273, 0.0013391654938459396, 0.009617874398827553, 0.05550358444452286, 0.24022652208805084, 0.6931471824645996
)  # fmt: skip


def multiple(E: Values, x: Any, shift: int) -> tuple[Any, Any, Any]:
    """(bits whose low part is n + shift, n, x - n ln 2) with n = rint(x / ln 2); ln 2 to one word, the rest exact."""
    magic = c(E, x, round_magic(x, shift))
    t = E.fma(x, c(E, x, LOG2E), magic)
    n = E.sub(t, magic)
    return to_bits(E, t), n, E.fma(n, c(E, x, -pick(x, LN2_F64, LN2_F32)[0]), x)


def exponent(E: Values, n: Any) -> Any:
    """2**(n - bias) from an integer n, whose high bits do not matter."""
    return from_bits(E, E.shl(n, E.const(23 if n.dtype == "i32" else 52, n.dtype)))


def scaled(E: Values, y: Any, n: Any) -> Any:
    """y * 2**(n - 2 bias) in two steps, so that the result may overflow or be subnormal, rounded once."""
    half = E.lshr(n, E.const(1, n.dtype))
    return E.mul(E.mul(y, exponent(E, half)), exponent(E, E.sub(n, half)))


def exp(E: Values, x: Any) -> Any:
    high, low = pick(x, (710.0, -746.0), (89.0, -105.0))
    bits, n, r = multiple(E, above(E, below(E, x, high), low), 2 * bias(x))
    r = E.fma(n, c(E, x, -pick(x, LN2_F64, LN2_F32)[1]), r)
    q = E.fma(horner(E, r, pick(x, EXP_F64, EXP_F32)), E.mul(r, r), r)
    return scaled(E, E.add(q, c(E, x, 1.0)), bits)


def exp2(E: Values, x: Any) -> Any:
    high, low = pick(x, (1025.0, -1080.0), (129.0, -155.0))
    x = above(E, below(E, x, high), low)
    magic = c(E, x, round_magic(x, 2 * bias(x)))
    t = E.add(x, magic)
    r = E.sub(x, E.sub(t, magic))
    return scaled(E, E.fma(horner(E, r, pick(x, EXP2_F64, EXP2_F32)), r, c(E, x, 1.0)), to_bits(E, t))


def minus_one(E: Values, x: Any, drop: int) -> Any:
    """(exp(x) - 1) / 2**drop for x so bounded that 2**(n - drop) is a normal number.

    s (1 + r + p) - s' is summed as s p + (s r + (s - s')), p holding the rounding error of r too.
    """
    bits, n, exact = multiple(E, x, bias(x) - drop)
    low = c(E, x, -pick(x, LN2_F64, LN2_F32)[1])
    r = E.fma(n, low, exact)
    p = E.fma(horner(E, r, pick(x, EXP_F64, EXPM1_F32)), E.mul(r, r), E.fma(n, low, E.sub(exact, r)))
    return _assemble(E, r, p, exponent(E, bits), 0.5**drop)


def _assemble(E: Values, r: Any, p: Any, s: Any, one: float) -> Any:
    return E.fma(s, p, E.fma(s, r, E.sub(s, c(E, r, one))))


def expm1(E: Values, x: Any) -> Any:
    high, low = pick(x, (709.79, -40.0), (88.73, -20.0))
    half = minus_one(E, above(E, below(E, x, high), low), 1)  # 2**1024 does not exist, half of it does
    return with_sign(E, E.add(half, half), x)


def tanh(E: Values, x: Any) -> Any:
    """expm1(2a) / (expm1(2a) + 2) with a = |x|: one exponential, one division, right near 0 too.

    One word of ln 2 will do: n is at most 58, and the larger n, the less the quotient feels the error.
    """
    a = below(E, fabs(E, x), pick(x, 20.0, 10.0))
    bits, _, r = multiple(E, E.add(a, a), bias(x))
    p = E.mul(horner(E, r, pick(x, EXP_F64, EXPM1_F32)), E.mul(r, r))
    e = _assemble(E, r, p, exponent(E, bits), 1.0)
    return with_sign(E, E.fdiv(e, E.add(e, c(E, x, 2.0))), x)


def _quarter(E: Values, x: Any) -> tuple[Any, Any]:
    """(exp(a) - 1) / 4 and exp(-a) with a = |x|, up to where cosh(a) overflows; shared by sinh and cosh."""
    quarter = minus_one(E, below(E, fabs(E, x), pick(x, 710.5, 89.5)), 2)
    return quarter, E.fdiv(c(E, x, 1.0), E.fma(c(E, x, 4.0), quarter, c(E, x, 1.0)))


def sinh(E: Values, x: Any) -> Any:
    """(e + e / (e + 1)) / 2 with e = expm1(|x|); at least |x|, which a quarter of a subnormal e would lose."""
    quarter, inverse = _quarter(E, x)
    half, a = E.fma(quarter, inverse, quarter), fabs(E, x)
    s = E.add(half, half)
    return with_sign(E, E.select(E.cmp("lt", s, a), a, s), x)


def cosh(E: Values, x: Any) -> Any:
    """(e + 1 + 1 / (e + 1)) / 2 with e = expm1(|x|)."""
    quarter, inverse = _quarter(E, x)
    return E.add(E.add(quarter, quarter), E.fma(c(E, x, 0.5), inverse, c(E, x, 0.5)))
