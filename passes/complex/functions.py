"""Complex elementary functions in terms of real ones, on (real part, imaginary part) in f64.

Branch cuts, signs of zeros and values at infinity are those of C99 Annex G, which are NumPy's. A tiny imaginary part keeps
all its digits, so a complex step gives a derivative to full precision. Formulas: W. Kahan, "Branch cuts for complex
elementary functions", 1987 (square root, tanh, inverse functions); Hull, Fairgrieve and Tang, "Implementing complex
elementary functions using exception handling", 1994 (|z| near 1 in the logarithm); T. J. Dekker, 1971 (exact products).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from irad.core.ir import Value
from irad.ops import elementwise as ew
from irad.ops.elementwise import arctan2, copysign, eq, full, hypot, isfinite, isinf, isnan, select

Pair = tuple[Value, Value]
INF = math.inf
LARGE = 700.0  # exp(LARGE) is finite, and so is its product with any number that a double's exponent needs beyond it


# ---- products and quotients, in the operands' own precision ------------------------------------------------------


def multiply(a: Value, b: Value, c: Value, d: Value) -> Pair:
    """(a + ib)(c + id), as NumPy computes it."""
    return a * c - b * d, a * d + b * c


def divide(a: Value, b: Value, c: Value, d: Value) -> Pair:
    """(a + ib) / (c + id) by Smith's method, bit for bit NumPy's."""
    first = abs(c) >= abs(d)
    p, q = select(first, c, d), select(first, d, c)
    u, v = select(first, a, b), select(first, b, a)
    ratio = q / p
    scale = 1 / (p + q * ratio)
    re = (u + v * ratio) * scale
    t = u * ratio
    im = select(first, v - t, t - v)
    zero = eq(abs(c), 0) & eq(abs(d), 0)
    return select(zero, a / abs(c), re), select(zero, b / abs(c), im * scale)


# ---- exponential and logarithm -------------------------------------------------------------------------------------


def exp(a: Value, b: Value) -> Pair:
    big = a > LARGE
    e, rest = ew.exp(select(big, a - LARGE, a)), select(big, math.exp(LARGE), full(1.0, a))
    re = e * ew.cos(b) * rest
    im = select(eq(b, 0), b, e * ew.sin(b) * rest)
    odd = isinf(a) & ~isfinite(b)
    up = a > 0
    return select(odd, select(up, INF, full(0.0, a)), re), select(odd, select(up, math.nan, full(0.0, a)), im)


def exp2(a: Value, b: Value) -> Pair:
    e, angle = ew.exp2(a), b * math.log(2)
    return e * ew.cos(angle), select(eq(b, 0), b, e * ew.sin(angle))


def expm1(a: Value, b: Value) -> Pair:
    half = ew.sin(b * 0.5)
    large, im = exp(a, b)
    return select(a > 30, large, ew.expm1(a) * ew.cos(b) - half * half * 2), im


def _two_sum(x: Value, y: Value) -> Pair:
    s = x + y
    z = s - x
    return s, (x - (s - z)) + (y - z)


def _square(x: Value) -> Pair:
    """x*x exactly, as a sum of two."""
    p, c = x * x, x * 134217729.0
    hi = c - (c - x)
    lo = x - hi
    return p, ((hi * hi - p) + hi * lo * 2) + lo * lo


def _log_abs(a: Value, b: Value) -> Value:
    """log |a + ib|: neither over- nor underflow, all digits where the modulus is near 1."""
    x, y = abs(a), abs(b)
    m, n = select(x >= y, x, y), select(x >= y, y, x)
    high, low = m > 2.0**1020, m < 2.0**-960
    scale = select(high, 0.25, select(low, 2.0**100, full(1.0, a)))
    shift = select(high, math.log(4), select(low, -100 * math.log(2), full(0.0, a)))
    far = ew.log(hypot(x * scale, y * scale)) + shift
    (p, p_rest), (q, q_rest) = _square(m), _square(n)
    s, s_rest = _two_sum(p, full(-1.0, a))
    d, d_rest = _two_sum(s, q)
    near = ew.log1p(d + ((s_rest + d_rest) + (p_rest + q_rest))) * 0.5
    return select((m >= 0.5) & (m <= 1.5), near, far)


def log(a: Value, b: Value) -> Pair:
    return _log_abs(a, b), arctan2(b, a)


def log2(a: Value, b: Value) -> Pair:
    re, im = log(a, b)
    return re * (1 / math.log(2)), im * (1 / math.log(2))


def log10(a: Value, b: Value) -> Pair:
    re, im = log(a, b)
    return re * (1 / math.log(10)), im * (1 / math.log(10))


def log1p(a: Value, b: Value) -> Pair:
    x = a + 1
    small = (abs(a) < 0.5) & (abs(b) < 0.5)
    return select(small, ew.log1p(a * (a + 2) + b * b) * 0.5, _log_abs(x, b)), arctan2(b, x)


# ---- square root and power -------------------------------------------------------------------------------------------


def sqrt(a: Value, b: Value) -> Pair:
    m = select(abs(a) >= abs(b), abs(a), abs(b))
    high, low = m > 2.0**1020, m < 2.0**-1000
    scale = select(high, 2.0**-4, select(low, 2.0**108, full(1.0, a)))
    back = select(high, 4, select(low, 2.0**-54, full(1.0, a)))
    x, y = a * scale, b * scale
    t = ew.sqrt((abs(x) + hypot(x, y)) * 0.5)
    u = select(eq(t, 0), y, y / (t * 2))
    right, unbounded = x >= 0, isinf(b)
    re, im = select(right, t, abs(u)) * back, select(right, u, copysign(t, b)) * back
    return select(unbounded, INF, re), select(unbounded, b, im)


def integer_power(a: Value, b: Value, n: int) -> Pair:
    """(a + ib)**n by repeated multiplication."""
    z, out = (a, b), None
    for bit in reversed(f"{abs(n):b}"):
        if bit == "1":
            out = z if out is None else multiply(*out, *z)
        z = multiply(*z, *z)
    if out is None:
        return full(1.0, a), full(0.0, a)
    return out if n > 0 else divide(full(1.0, a), full(0.0, a), *out)


def power(a: Value, b: Value, c: Value, d: Value) -> Pair:
    """(a + ib)**(c + id): by multiplication for whole exponents below 100, as NumPy; else exp((c + id) log(a + ib))."""
    by_log = exp(*multiply(c, d, *log(a, b)))
    n = abs(c)
    whole = eq(d, 0) & eq(c, ew.rint(c)) & (n < 100)
    n = select(whole, n, 0)
    z, out = (a, b), (full(1.0, a), full(0.0, a))
    for _ in range(7):
        half = ew.floor(n * 0.5)
        odd = (n - half * 2) > 0
        product = multiply(*out, *z)
        out, z, n = (select(odd, product[0], out[0]), select(odd, product[1], out[1])), multiply(*z, *z), half
    inverse = divide(full(1.0, a), full(0.0, a), *out)
    exact = [select(c < 0, x, y) for x, y in zip(inverse, out)]
    re, im = (select(whole, x, y) for x, y in zip(exact, by_log))
    zero, grows = eq(a, 0) & eq(b, 0) & ~eq(c, 0), (c > 0) & eq(d, 0)
    at_zero = select(grows, 0.0, full(math.nan, a))
    return select(zero, at_zero, re), select(zero, at_zero, im)


# ---- hyperbolic and trigonometric: sin z = -i sinh iz, cos z = cosh iz, tan z = -i tanh iz -----------------------------


def _scaled_sinh_cosh(a: Value) -> tuple[Value, Value, Value]:
    """(s, c, f) with sinh a = s f and cosh a = c f, which may overflow only in the product."""
    big = abs(a) > LARGE
    half = ew.exp(abs(a) - LARGE) * 0.5
    return select(big, copysign(half, a), ew.sinh(a)), select(big, half, ew.cosh(a)), select(big, math.exp(LARGE), full(1.0, a))


def sinh(a: Value, b: Value) -> Pair:
    s, c, f = _scaled_sinh_cosh(a)
    re, im = s * ew.cos(b) * f, select(eq(b, 0), b, c * ew.sin(b) * f)
    return select(eq(a, 0) | (isinf(a) & ~isfinite(b)), a, re), im


def cosh(a: Value, b: Value) -> Pair:
    s, c, f = _scaled_sinh_cosh(a)
    signed_zero = copysign(0, copysign(1, a) * copysign(1, b))
    im = select(eq(a, 0) | eq(b, 0), signed_zero, s * ew.sin(b) * f)
    return select(isinf(a) & ~isfinite(b), INF, c * ew.cos(b) * f), im


def tanh(a: Value, b: Value) -> Pair:
    t, s = ew.tan(b), ew.sinh(a)
    beta = t * t + 1
    den = beta * s * s + 1
    re, im = beta * ew.sqrt(s * s + 1) * s / den, t / den
    far, known = abs(a) > 20, isfinite(b)
    tail = select(isinf(a) & ~known, 0, ew.sin(b) * ew.cos(b) * ew.exp(abs(a) * -2) * 4)
    one = select(known | isinf(a), copysign(1, a), math.nan)
    return select(far, one, select(eq(a, 0), a, re)), select(eq(b, 0), b, select(far, tail, im))


def sin(a: Value, b: Value) -> Pair:
    u, v = sinh(-b, a)
    return v, -u


def cos(a: Value, b: Value) -> Pair:
    return cosh(-b, a)


def tan(a: Value, b: Value) -> Pair:
    u, v = tanh(-b, a)
    return v, -u


# ---- inverse functions ------------------------------------------------------------------------------------------------


def arcsin(a: Value, b: Value) -> Pair:
    (p, q), (r, s) = sqrt(1 - a, -b), sqrt(a + 1, b)
    unbounded = isinf(a) | isinf(b)
    re, im = arctan2(a, p * r - q * s), ew.arcsinh(p * s - q * r)
    re = select(eq(a, 0), a, select(unbounded, arctan2(a, abs(b)), re))
    return re, select(unbounded, copysign(INF, b), im)


def arccos(a: Value, b: Value) -> Pair:
    (p, q), (r, s) = sqrt(1 - a, -b), sqrt(a + 1, b)
    unbounded = isinf(a) | isinf(b)
    re, im = arctan2(p, r) * 2, ew.arcsinh(r * q - s * p)
    re = select(eq(a, 0), math.pi / 2, select(unbounded, arctan2(abs(b), a), re))
    return re, select(unbounded, copysign(INF, -b), im)


def arccosh(a: Value, b: Value) -> Pair:
    (p, q), (r, s) = sqrt(a - 1, b), sqrt(a + 1, b)
    unbounded = isinf(a) | isinf(b)
    re, im = ew.arcsinh(p * r + q * s), arctan2(q, r) * 2
    im = select(eq(a, 0) & isnan(b), math.pi / 2, select(unbounded, arctan2(b, a), im))
    return select(unbounded, INF, re), im


def arctanh(a: Value, b: Value) -> Pair:
    x, h = abs(a), hypot(a, b)
    gap = 1 - x
    near = ew.log1p(x * 4 / (gap * gap + b * b)) * 0.25
    re = select(h > 1e8, x / h / h, near)
    im = arctan2(b * 2, gap * (x + 1) - b * b) * 0.5
    unbounded = isinf(a) | isinf(b)
    edge = select(isnan(b), b, copysign(math.pi / 2, b))
    return copysign(select(unbounded | eq(a, 0), 0, re), a), select(unbounded, edge, im)


def arcsinh(a: Value, b: Value) -> Pair:
    u, v = arcsin(-b, a)
    return v, -u


def arctan(a: Value, b: Value) -> Pair:
    u, v = arctanh(-b, a)
    return v, -u


FUNCTIONS: dict[str, Callable[..., Pair]] = {
    f.__name__: f
    for f in (exp, exp2, expm1, log, log2, log10, log1p, sqrt, sin, cos, tan, sinh, cosh, tanh)
    + (arcsin, arccos, arctan, arcsinh, arccosh, arctanh)
}
