"""Inverse trigonometric and hyperbolic functions.

arcsin, arccos: x + x z P(z), z = x*x, for |x| <= 1/2, else from arcsin(sqrt((1 - |x|) / 2)). arctan: one division moves the
argument to |t| <= tan(pi/8), then t + t z P(z). The polynomials are minimax fits. The hyperbolic ones go through log1p
(as fdlibm's s_asinh.c, e_acosh.c and e_atanh.c).
"""

from __future__ import annotations

import math
from typing import Any

from irad.codegen.math.base import INF, NAN, c, fabs, from_bits, horner, ic, pick, to_bits, with_sign
from irad.codegen.math.log import log1p_positive
from irad.codegen.math.values import Values

# (arcsin(r)/r - 1) / r**2 in r**2 <= 0.25
ASIN_F64 = (
    0.03149003456144078, -0.01556372366869787, 0.019074235022914148, 0.006708181454043943, 0.012123572120857608,
    0.013892927795920195, 0.017358831811833116, 0.022371824020100232, 0.030381955930995165, 0.0446428569218285,
    0.07500000000194028, 0.16666666666666238,
)  # fmt: skip
ASIN_F32 = (0.0422210618853569, 0.024147560819983482, 0.045476723462343216, 0.07495249062776566, 0.16666753590106964)
# (arctan(t)/t - 1) / t**2 in t**2 <= tan(pi/8)**2
ATAN_F64 = (
    -0.018123881840055114, 0.03827578584993472, -0.05048231303084315, 0.05850031303453229, -0.06663425072736366,
    0.07692091347534162, -0.09090899714597739, 0.11111110861028314, -0.1428571428201468, 0.1999999999997567,
    -0.333333333333333,
)  # fmt: skip
ATAN_F32 = (0.08055933564901352, -0.13878598809242249, 0.199778214097023, -0.33332952857017517)
# pi/4 and what it lacks; multiples by 2 and 4 are exact
QUARTER_PI_F64 = (0.7853981633974483, 3.061616997868383e-17)
QUARTER_PI_F32 = (0.785398185253143310546875, -2.1855694143368964e-08)
TAN_PI_8 = math.sqrt(2) - 1


def _arcsin_parts(E: Values, x: Any) -> tuple[Any, Any, Any]:
    """(r, r z P(z), |x| > 1/2): r is |x|, or sqrt((1 - |x|) / 2) where |x| > 1/2; NaN where |x| > 1."""
    a, half = fabs(E, x), c(E, x, 0.5)
    large = E.cmp("gt", a, half)
    z = E.select(large, E.mul(E.sub(c(E, x, 1.0), a), half), E.mul(a, a))
    r = E.select(large, E.intrinsic("sqrt", z), a)
    return r, E.mul(E.mul(r, z), horner(E, z, pick(x, ASIN_F64, ASIN_F32))), large


def arcsin(E: Values, x: Any) -> Any:
    r, p, large = _arcsin_parts(E, x)
    quarter, low = pick(x, QUARTER_PI_F64, QUARTER_PI_F32)
    # pi/2 - 2 (r + p) as pi/4 + (pi/4 - 2 r) - 2 p
    two = c(E, x, 2.0)
    q = c(E, x, quarter)
    from_one = E.add(q, E.sub(E.fma(E.neg(two), r, q), E.fma(two, p, c(E, x, -2 * low))))
    return with_sign(E, E.select(large, from_one, E.add(r, p)), x)


def arccos(E: Values, x: Any) -> Any:
    r, p, large = _arcsin_parts(E, x)
    quarter, low = pick(x, QUARTER_PI_F64, QUARTER_PI_F32)
    two, negative = c(E, x, 2.0), E.cmp("lt", x, c(E, x, 0.0))
    half_pi, half_low = c(E, x, 2 * quarter), c(E, x, 2 * low)
    signed_p = with_sign(E, p, x)
    near_zero = E.sub(half_pi, E.sub(E.sub(signed_p, half_low), E.neg(x)))
    twice = E.mul(two, E.add(r, p))
    near_minus_one = E.sub(c(E, x, 4 * quarter), E.mul(two, E.add(r, E.sub(p, half_low))))
    return E.select(large, E.select(negative, near_minus_one, twice), near_zero)


def arctan(E: Values, x: Any) -> Any:
    """In three ranges of a = |x|: a; pi/4 + arctan((a - 1) / (a + 1)); pi/2 - arctan(1 / a)."""
    a, one, zero = fabs(E, x), c(E, x, 1.0), c(E, x, 0.0)
    low_range = E.cmp("le", a, c(E, x, TAN_PI_8))
    high_range = E.cmp("gt", a, c(E, x, 1 / TAN_PI_8))
    top = E.select(low_range, a, E.select(high_range, c(E, x, -1.0), E.sub(a, one)))
    bottom = E.select(low_range, one, E.select(high_range, a, E.add(a, one)))
    quarter, rest = pick(x, QUARTER_PI_F64, QUARTER_PI_F32)
    steps = E.select(low_range, zero, E.select(high_range, c(E, x, 2.0), one))
    t = E.fdiv(top, bottom)
    return with_sign(E, _from_quarters(E, t, E.mul(steps, c(E, x, quarter)), E.mul(steps, c(E, x, rest))), x)


def _from_quarters(E: Values, t: Any, high: Any, low: Any) -> Any:
    """high + low + arctan(t) for |t| <= tan(pi/8)."""
    z = E.mul(t, t)
    return E.add(high, E.add(t, E.fma(E.mul(t, z), horner(E, z, pick(t, ATAN_F64, ATAN_F32)), low)))


def arctan2(E: Values, y: Any, x: Any) -> Any:
    """arctan on |y| / |x| with one division, for x < 0 pi minus that; y's sign last.

    Two infinities count as equal numbers; huge operands are scaled down, so that their sum is
    finite, tiny ones up, so that the ranges are told apart rightly.
    """
    a, b, zero, one = fabs(E, y), fabs(E, x), c(E, x, 0.0), c(E, x, 1.0)
    equal = E.and_(E.cmp("eq", a, c(E, x, INF)), E.cmp("eq", b, c(E, x, INF)))
    a, b = E.select(equal, one, a), E.select(equal, one, b)
    larger = E.select(E.cmp("gt", a, b), a, b)
    big = E.cmp("gt", larger, c(E, x, pick(x, 2.0**1000, 2.0**120)))
    small = E.cmp("lt", larger, c(E, x, pick(x, 2.0**-960, 2.0**-100)))
    scale = E.select(big, c(E, x, 2.0**-60), E.select(small, c(E, x, 2.0**60), one))
    a, b = E.mul(a, scale), E.mul(b, scale)
    low_range = E.cmp("le", a, E.mul(b, c(E, x, TAN_PI_8)))
    high_range = E.cmp("gt", a, E.mul(b, c(E, x, 1 / TAN_PI_8)))
    top = E.select(low_range, a, E.select(high_range, E.neg(b), E.sub(a, b)))
    bottom = E.select(low_range, b, E.select(high_range, a, E.add(a, b)))
    t = E.fdiv(top, E.select(E.cmp("eq", bottom, zero), one, bottom))
    sign = E.and_(to_bits(E, x), ic(E, x, -(1 << (31 if x.dtype == "f32" else 63))))
    left = E.cmp("ne", sign, ic(E, x, 0))
    quarters = E.select(low_range, zero, E.select(high_range, c(E, x, 2.0), one))
    quarters = E.select(left, E.sub(c(E, x, 4.0), quarters), quarters)
    quarter, rest = pick(x, QUARTER_PI_F64, QUARTER_PI_F32)
    t = from_bits(E, E.xor(to_bits(E, t), sign))
    angle = _from_quarters(E, t, E.mul(quarters, c(E, x, quarter)), E.mul(quarters, c(E, x, rest)))
    return with_sign(E, angle, y)


def _log1p_or_log(E: Values, u: Any, a: Any) -> Any:
    """log1p(u), but log(2 a) where a is so large that u might overflow and 1 is nothing beside a; inf at inf."""
    large = E.cmp("gt", a, c(E, a, pick(a, 2.0**60, 2.0**30)))
    r = log1p_positive(E, E.select(large, a, u))
    r = E.add(r, E.select(large, c(E, a, math.log(2)), c(E, a, 0.0)))
    return E.select(E.cmp("eq", a, c(E, a, INF)), a, r)


def arcsinh(E: Values, x: Any) -> Any:
    """log1p(a + a*a / (1 + sqrt(1 + a*a))), a = |x|."""
    a, one = fabs(E, x), c(E, x, 1.0)
    root = E.intrinsic("sqrt", E.fma(a, a, one))
    u = E.add(a, E.fdiv(E.mul(a, a), E.add(one, root)))
    r = _log1p_or_log(E, u, a)
    return with_sign(E, E.select(E.cmp("uno", x, x), x, r), x)


def arccosh(E: Values, x: Any) -> Any:
    """log1p(t + sqrt(t*t + 2 t)), t = x - 1; NaN below 1."""
    t = E.sub(x, c(E, x, 1.0))
    u = E.add(t, E.intrinsic("sqrt", E.fma(t, t, E.add(t, t))))
    return E.select(E.cmp("ge", x, c(E, x, 1.0)), _log1p_or_log(E, u, x), c(E, x, NAN))


def arctanh(E: Values, x: Any) -> Any:
    """log1p(2 a / (1 - a)) / 2, a = |x|; inf at 1, NaN above."""
    a, one = fabs(E, x), c(E, x, 1.0)
    u = E.fdiv(E.add(a, a), E.sub(one, a))
    r = E.mul(c(E, x, 0.5), log1p_positive(E, u))
    r = E.select(E.cmp("lt", a, one), r, E.select(E.cmp("eq", a, one), c(E, x, INF), c(E, x, NAN)))
    return with_sign(E, r, x)
