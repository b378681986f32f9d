"""Trigonometric functions: sin, cos, tan.

x = n pi/2 + r with a three-part pi/2 and fused multiply-adds (Cody and Waite): the first step is exact, the others are rounded
relative to r, so that r is right to an ulp up to the bound below; above it the outlined Payne-Hanek reduction of `poly_rare`
takes over. sin, cos and tan on |r| <= pi/4 are minimax polynomials (discrete Remez in 200-bit arithmetic). sin and cos are built
from the same subexpressions, so that those of one argument share all but the last steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from irad.codegen.math.base import Values, c, fabs, from_bits, horner, ic, mantissa_bits, pick, round_magic, to_bits, with_sign

# pi/2 in parts, each rounded down so that -0.0 keeps its sign through the reduction
HALF_PI_F64 = (1.5707963267948966, 6.123233995736765e-17, 1.0828566739219139e-32)
HALF_PI_F32 = (1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15)
BOUND = (2.0**45, 2.0**17)

# (sin(r)/r - 1) / r**2 and (cos(r) - 1 + r**2/2) / r**4 in r**2, |r| <= 0.7856
SIN_F64 = (
    1.5896833865783948e-10, -2.5050759092394565e-08, 2.755731370080404e-06, -0.00019841269829844006, 0.008333333333322479,
    -0.16666666666666632,
)  # fmt: skip
SIN_F32 = (-0.00019518601766321808, 0.008332191035151482, -0.16666655242443085)
COS_F64 = (
    -1.1361524889629271e-11, 2.0875762959260337e-09, -2.7557314676263723e-07, 2.4801587290748814e-05, -0.0013888888888876473,
    0.041666666666666616,
)  # fmt: skip
COS_F32 = (2.443067751300987e-05, -0.00138873013202101, 0.04166664555668831)
# (tan(r)/r - 1) / r**2 in r**2
TAN_F64 = (
    2.069940359820981e-05, -4.411456962925853e-05, 8.786476354918145e-05, -2.4430469743840727e-05, 0.0001349424484008015,
    0.00022326487493627874, 0.0005947151623467982, 0.0014548560312762746, 0.0035922697171474603, 0.008863221790980303,
    0.021869489374626568, 0.053968253939418356, 0.13333333333377873, 0.3333333333333318,
)  # fmt: skip
TAN_SHORT = (
    0.004386691025253058, 7.229748572299126e-05, 0.010844825961626572, 0.021281470316419398, 0.054059172157056634,
    0.13332683959607491, 0.33333348303012417,
)  # fmt: skip


def reduced(E: Values, x: Any) -> tuple[Any, Any]:
    """(r, q): x = n pi/2 + r, |r| <= pi/4, q an integer whose low two bits are n's."""
    magic = c(E, x, round_magic(x))
    t = E.fma(x, c(E, x, 2 / math.pi), magic)
    n, r = E.sub(t, magic), x
    for part in pick(x, HALF_PI_F64, HALF_PI_F32):
        r = E.fma(n, c(E, x, -part), r)
    huge = E.cmp("gt", fabs(E, x), c(E, x, pick(x, *BOUND)))
    r, q = E.rare(huge, f"irad.half_pi_{x.dtype}", [x], [r, to_bits(E, t)])
    return r, q


def _sin_cos(E: Values, r: Any) -> tuple[Any, Any]:
    z = E.mul(r, r)
    s = E.fma(E.mul(r, z), horner(E, z, pick(r, SIN_F64, SIN_F32)), r)
    k = E.fma(z, E.fma(z, horner(E, z, pick(r, COS_F64, COS_F32)), c(E, r, -0.5)), c(E, r, 1.0))
    return with_sign(E, s, r), k  # the sum of -0.0 and 0.0 is 0.0


def _is_odd(E: Values, q: Any) -> Any:
    one = E.const(1, q.dtype)
    return E.cmp("eq", E.and_(q, one), one)


def _flip(E: Values, v: Any, q: Any, bit: int) -> Any:
    """v, negated where `bit` of q is set."""
    width = mantissa_bits(v) + (8 if v.dtype == "f32" else 11)
    sign = E.and_(E.shl(q, ic(E, v, width - bit)), ic(E, v, -(1 << width)))
    return from_bits(E, E.xor(to_bits(E, v), sign))


def sin(E: Values, x: Any) -> Any:
    r, q = reduced(E, x)
    s, k = _sin_cos(E, r)
    return _flip(E, E.select(_is_odd(E, q), k, s), q, 1)


def cos(E: Values, x: Any) -> Any:
    r, q = reduced(E, x)
    s, k = _sin_cos(E, r)
    return _flip(E, E.select(_is_odd(E, q), s, k), E.add(q, ic(E, x, 1)), 1)


def tan(E: Values, x: Any) -> Any:
    """A polynomial of its own: a quotient of sine and cosine would be off by up to 3 ULP. float32 goes through float64."""
    return E.convert(_tan(E, E.convert(x, "f64"), TAN_SHORT), "f32") if x.dtype == "f32" else _tan(E, x, TAN_F64)


def _tan(E: Values, x: Any, coefs: Sequence[float]) -> Any:
    r, q = reduced(E, x)
    z, one = E.mul(r, r), c(E, r, 1.0)
    t = with_sign(E, E.fma(E.mul(r, z), horner(E, z, coefs), r), r)
    odd = _is_odd(E, q)
    return _flip(E, E.fdiv(E.select(odd, one, t), E.select(odd, t, one)), q, 0)
