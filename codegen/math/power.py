"""pow, cbrt, hypot.

pow is exp(y log|x|) with the logarithm in two words for float64, in plain float64 for float32. cbrt is a bit trick for
x**(-1/3), refined without division (Kahan; series of Householder's method). hypot scales by a power of two.
"""

from __future__ import annotations

from typing import Any

from irad.codegen.math import exp as poly_exp
from irad.codegen.math import log as poly_log
from irad.codegen.math.base import (
    INF,
    NAN,
    Values,
    above,
    below,
    bias,
    c,
    fabs,
    fast_two_sum,
    from_bits,
    horner,
    ic,
    mantissa_bits,
    pick,
    to_bits,
    two_prod,
    with_sign,
)  # fmt: skip

# (log((1+s)/(1-s))/s - 2 - 2/3 s**2) / s**4 in s**2, |s| <= 0.1717
ATANH_TAIL = (
    0.11979758474105205, 0.11676968828219625, 0.13336147744307286, 0.15384563379905963, 0.18181818735092362,
    0.2222222221907048, 0.28571428571436347, 0.39999999999999997,
)  # fmt: skip
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
# poly_log.ATANH_F64 to some 36 bits, for float32 results
ATANH_SHORT = (0.23583628555561306, 0.2853723798748431, 0.40000336177702595, 0.6666666564170908)


def _log_two_words(E: Values, x: Any) -> tuple[Any, Any]:
    """log(x) for finite x > 0 as high + low, to some 2**-66 of it."""
    k, m = poly_log.split(E, x)
    one = c(E, x, 1.0)
    f = E.sub(m, one)
    d, d_low = fast_two_sum(E, one, m)
    inverse = E.fdiv(one, d)
    s = E.mul(f, inverse)
    s_low = E.mul(E.fma(E.neg(s), d_low, E.fma(E.neg(s), d, f)), inverse)
    z, z_low = two_prod(E, s, s)
    z_low = E.fma(E.add(s, s), s_low, z_low)
    p, p_low = fast_two_sum(E, c(E, x, TWO_THIRDS[0]), E.mul(z, horner(E, z, ATANH_TAIL)))
    p_low = E.add(p_low, c(E, x, TWO_THIRDS[1]))
    cube, cube_low = two_prod(E, s, z)
    cube_low = E.fma(s, z_low, E.fma(s_low, z, cube_low))
    v, v_low = two_prod(E, cube, p)
    v_low = E.fma(cube, p_low, E.fma(cube_low, p, v_low))
    high, low = poly_log.LN2_F64
    a, a_low = fast_two_sum(E, E.mul(k, c(E, x, high)), E.add(s, s))
    b, b_low = fast_two_sum(E, a, v)
    rest = E.fma(k, c(E, x, low), E.add(s_low, s_low))
    return b, E.add(E.add(a_low, b_low), E.add(rest, v_low))


def _positive_f64(E: Values, x: Any, y: Any) -> Any:
    """x**y for finite x > 0."""
    y = above(E, below(E, y, 2.0**66), -(2.0**66))
    high, low = _log_two_words(E, x)
    p, p_low = two_prod(E, y, high)
    p_low = E.fma(y, low, p_low)
    within = E.cmp("lt", fabs(E, p), c(E, x, 800.0))
    p, p_low = above(E, below(E, p, 710.0), -746.0), E.select(within, p_low, c(E, x, 0.0))
    n, times, exact = poly_exp.multiple(E, p, 2 * bias(x))
    low = E.fma(times, c(E, x, -poly_exp.LN2_F64[1]), p_low)
    r = E.add(exact, low)
    low = E.add(E.sub(exact, r), low)
    q = E.add(r, E.fma(horner(E, r, poly_exp.EXP_F64), E.mul(r, r), low))
    return poly_exp.scaled(E, E.add(q, c(E, x, 1.0)), n)


def _positive_f32(E: Values, x: Any, y: Any) -> Any:
    """x**y for finite x > 0, through float64."""
    x, y = E.convert(x, "f64"), above(E, below(E, E.convert(y, "f64"), 2.0**66), -(2.0**66))
    k, m = poly_log.split(E, x)
    f = E.sub(m, c(E, x, 1.0))
    s = E.fdiv(f, E.add(f, c(E, x, 2.0)))
    z = E.mul(s, s)
    log = E.fma(k, c(E, x, poly_exp.LN2_F64[0]), E.mul(s, E.fma(z, horner(E, z, ATANH_SHORT), c(E, x, 2.0))))
    p = above(E, below(E, E.mul(y, log), 120.0), -120.0)
    n, _, r = poly_exp.multiple(E, p, bias(x))
    q = E.fma(E.mul(r, r), horner(E, r, poly_exp.EXP_SHORT), r)
    s = poly_exp.exponent(E, n)
    return E.convert(E.fma(s, q, s), "f32")


def pow(E: Values, x: Any, y: Any) -> Any:
    """C's pow with all its special cases (IEEE 754, 9.2.1)."""
    a, zero, one, inf = fabs(E, x), c(E, x, 0.0), c(E, x, 1.0), c(E, x, INF)
    r = _positive_f32(E, a, y) if x.dtype == "f32" else _positive_f64(E, a, y)
    at_zero = E.cmp("eq", a, zero)
    extreme = E.select(E.xor(at_zero, E.cmp("lt", y, zero)), zero, inf)
    r = E.select(E.or_(at_zero, E.cmp("eq", a, inf)), extreme, r)
    half = E.mul(y, c(E, x, 0.5))
    whole = E.cmp("eq", E.intrinsic("trunc", y), y)
    odd = E.and_(whole, E.cmp("ne", E.intrinsic("trunc", half), half))
    r = E.select(odd, with_sign(E, r, x), r)
    undefined = E.and_(E.and_(E.cmp("lt", x, zero), E.cmp("lt", a, inf)), E.cmp("ne", E.intrinsic("trunc", y), y))
    r = E.select(E.or_(undefined, E.cmp("uno", x, y)), c(E, x, NAN), r)
    return E.select(E.or_(E.cmp("eq", y, zero), E.cmp("eq", x, one)), one, r)


def cbrt(E: Values, x: Any) -> Any:
    """x y*y with y = |x|**(-1/3) from its leading bits, then one step of Newton's method on the root itself."""
    a = fabs(E, x)
    tiny = E.cmp("lt", a, c(E, x, pick(x, 2.0**-1022, 2.0**-126)))
    v = E.select(tiny, E.mul(a, c(E, x, pick(x, 2.0**54, 2.0**24))), a)
    # y's leading bits are those of (4/3) bias minus a third of v's; the integers are read and written as mantissas
    width, drop = mantissa_bits(x), pick(x, 32, 8)
    base, start = 2.0**width, pick(x, 1430187632.0, 5546525.0)
    leading = E.or_(E.lshr(to_bits(E, v), ic(E, x, drop)), ic(E, x, (bias(x) + width) << width))
    third = E.fma(E.sub(from_bits(E, leading), c(E, x, base)), c(E, x, -1 / 3), c(E, x, base + start))
    y = from_bits(E, E.shl(to_bits(E, third), ic(E, x, drop)))
    h = _cube_residual(E, v, y)
    y = E.fma(E.mul(y, h), horner(E, h, (14 / 81, 2 / 9, 1 / 3)), y)
    if x.dtype == "f64":
        y = E.fma(E.mul(y, _cube_residual(E, v, y)), c(E, x, 1 / 3), y)
    square = E.mul(y, y)
    r = E.mul(v, square)
    error = E.fma(E.neg(E.mul(r, r)), r, v)
    r = E.fma(E.mul(error, square), c(E, x, 1 / 3), r)
    r = E.mul(r, E.select(tiny, c(E, x, pick(x, 2.0**-18, 2.0**-8)), c(E, x, 1.0)))
    ordinary = E.and_(E.cmp("gt", a, c(E, x, 0.0)), E.cmp("lt", a, c(E, x, INF)))
    return E.select(ordinary, with_sign(E, r, x), x)


def _cube_residual(E: Values, v: Any, y: Any) -> Any:
    """1 - v y**3."""
    return E.fma(E.neg(E.mul(E.mul(v, y), y)), y, c(E, v, 1.0))


def hypot(E: Values, x: Any, y: Any) -> Any:
    """sqrt(x*x + y*y), scaled by a power of two where a square would over- or underflow; inf if either is, even beside NaN."""
    if x.dtype == "f32":
        u, v = E.convert(x, "f64"), E.convert(y, "f64")
        r = E.convert(E.intrinsic("sqrt", E.fma(u, u, E.mul(v, v))), "f32")
    else:
        a, b, one = fabs(E, x), fabs(E, y), c(E, x, 1.0)
        larger = E.select(E.cmp("gt", a, b), a, b)
        big, small = E.cmp("gt", larger, c(E, x, 2.0**510)), E.cmp("lt", larger, c(E, x, 2.0**-450))
        scale = E.select(big, c(E, x, 2.0**-600), E.select(small, c(E, x, 2.0**600), one))
        back = E.select(big, c(E, x, 2.0**600), E.select(small, c(E, x, 2.0**-600), one))
        a, b = E.mul(a, scale), E.mul(b, scale)
        r = E.mul(E.intrinsic("sqrt", E.fma(a, a, E.mul(b, b))), back)
    inf = c(E, x, INF)
    return E.select(E.or_(E.cmp("eq", fabs(E, x), inf), E.cmp("eq", fabs(E, y), inf)), inf, r)
