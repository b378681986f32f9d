"""Logarithms: log, log2, log10, log1p.

x = 2**k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)). float64: log(1 + f) = f - (f*f/2 - s (f*f/2 + R)), s = f / (2 + f), R a
polynomial in s*s (as fdlibm's e_log.c, coefficients fitted anew); float32: a polynomial in f, no division.
log2 and log10 multiply by 1/log(base) in two parts (as FreeBSD's e_log2.c and e_log10.c, here with fused products), so
that powers of two are exact.
"""

from __future__ import annotations

from typing import Any

from irad.codegen.math.base import (
    INF,
    NAN,
    Values,
    bias,
    c,
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

LN2_F64 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)  # fdlibm: the first has trailing zeros
LN2_F32 = (0.693359375, -2.12194440e-4)
SQRT_HALF = (0x3FE6A09E667F3BCD, 0x3F3504F3)

# (log((1+s)/(1-s))/s - 2) / s**2 in s**2, |s| <= 0.1717
ATANH_F64 = (
    0.147980984881997, 0.1531384756697858, 0.1818357180101905, 0.22222198437952553, 0.2857142874362672, 0.3999999999940944,
    0.6666666666666735,
)  # fmt: skip
# (log(1+f) - f + f**2/2) / f**3 in f
LOG1P_F32 = (
    -0.07841852307319641, 0.12874864041805267, -0.13131330907344818, 0.14182108640670776, -0.16624456644058228,
    0.2000226080417633, -0.25000810623168945, 0.33333316445350647,
)  # fmt: skip
# 1/log(base) high and low, log(2)/log(base) high (exact times any k) and low
LOG2_F64 = (1.4426950408889634, 2.0355273740931033e-17, 1.0, 0.0)
LOG2_F32 = (1.44269502162933349609375, 1.92596299112661746887e-08, 1.0, 0.0)
LOG10_F64 = (0.4342944819032518, 1.098319650216765e-17, 3.01029995663611771306e-01, 3.69423907715893078616e-13)
LOG10_F32 = (0.4342944920063018798828125, -1.01030504715726e-08, 0.301029205322265625, 7.9034151668e-07)


def split(E: Values, x: Any, subnormal: bool = True) -> tuple[Any, Any]:
    """(k, m) with x = 2**k m, m in [sqrt(1/2), sqrt(2)), for finite x > 0, subnormals only if asked; k is a float."""
    width = mantissa_bits(x)
    up = width + 2
    if subnormal:
        tiny = E.cmp("lt", x, c(E, x, pick(x, 2.0**-1022, 2.0**-126)))
        x = E.select(tiny, E.mul(x, c(E, x, 2.0**up)), x)
    root = pick(x, *SQRT_HALF)
    i = E.add(to_bits(E, x), ic(E, x, (bias(x) << width) - root))
    base = 2.0**width + bias(x)  # k + bias is written into the mantissa of 2**width
    k = from_bits(E, E.or_(E.lshr(i, ic(E, x, width)), ic(E, x, (bias(x) + width) << width)))
    k = E.sub(k, E.select(tiny, c(E, x, base + up), c(E, x, base)) if subnormal else c(E, x, base))
    m = from_bits(E, E.add(E.and_(i, ic(E, x, (1 << width) - 1)), ic(E, x, root)))
    return k, m


def parts(E: Values, f: Any, plus: Any = None) -> tuple[Any, Any]:
    """(h, t + plus) with h = f*f/2 and log(1 + f) = f - (h - t), for sqrt(1/2) <= 1 + f <= sqrt(2)."""
    if f.dtype == "f32":
        z = E.mul(f, f)
        h, left, right = E.mul(z, c(E, f, 0.5)), E.mul(z, f), horner(E, f, LOG1P_F32)
    else:
        left = E.fdiv(f, E.add(f, c(E, f, 2.0)))
        h, w = E.mul(E.mul(f, c(E, f, 0.5)), f), E.mul(left, left)
        right = E.fma(w, horner(E, w, ATANH_F64), h)
    return h, E.mul(left, right) if plus is None else E.fma(left, right, plus)


def natural(E: Values, k: Any, f: Any) -> Any:
    """k log(2) + log(1 + f)."""
    high, low = pick(f, LN2_F64, LN2_F32)
    h, t = parts(E, f, E.mul(k, c(E, f, low)))
    return E.fma(k, c(E, f, high), E.sub(f, E.sub(h, t)))


def special(E: Values, x: Any, r: Any, pole: float = 0.0) -> Any:
    """r, but -inf at the pole, NaN below it, inf at inf."""
    at = c(E, x, pole)
    r = E.select(E.cmp("gt", x, at), r, E.select(E.cmp("eq", x, at), c(E, x, -INF), c(E, x, NAN)))
    return E.select(E.cmp("eq", x, c(E, x, INF)), x, r)


def log(E: Values, x: Any) -> Any:
    k, m = split(E, x)
    return special(E, x, natural(E, k, E.sub(m, c(E, x, 1.0))))


def _other_base(E: Values, x: Any, inverse: float, inverse_low: float, high: float, low: float) -> Any:
    k, m = split(E, x)
    f = E.sub(m, c(E, x, 1.0))
    h, t = parts(E, f)
    a = E.sub(f, h)  # a + b = log(m), a the leading part
    b = E.add(E.sub(E.sub(f, a), h), t)
    p, e = two_prod(E, a, c(E, x, inverse))
    e = E.fma(b, c(E, x, inverse), E.fma(a, c(E, x, inverse_low), e))
    if low:
        e = E.fma(k, c(E, x, low), e)
    s, d = fast_two_sum(E, k if high == 1.0 else E.mul(k, c(E, x, high)), p)
    return special(E, x, E.add(s, E.add(d, e)))


def log2(E: Values, x: Any) -> Any:
    return _other_base(E, x, *pick(x, LOG2_F64, LOG2_F32))


def log10(E: Values, x: Any) -> Any:
    return _other_base(E, x, *pick(x, LOG10_F64, LOG10_F32))


def log1p_positive(E: Values, x: Any) -> Any:
    """log(1 + x) for finite x > -1; the sign of a zero is lost.

    The rounding error of 1 + x, scaled with its exponent, is given back to f.
    """
    one = c(E, x, 1.0)
    u = E.add(x, one)
    rest = E.sub(u, x)
    error = E.add(E.sub(x, E.sub(u, rest)), E.sub(one, rest))
    k, m = split(E, u, subnormal=False)
    scale = E.sub(E.add(to_bits(E, m), ic(E, x, bias(x) << mantissa_bits(x))), to_bits(E, u))  # of 2**-k
    scale = E.select(E.cmp("gt", scale, ic(E, x, 0)), scale, ic(E, x, 0))  # 0 where it would be subnormal, or less
    return natural(E, k, E.fma(error, from_bits(E, scale), E.sub(m, one)))


def log1p(E: Values, x: Any) -> Any:
    return special(E, x, with_sign(E, log1p_positive(E, x), x), -1.0)
