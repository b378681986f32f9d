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
from irad.core.lazy_dataclass import dataclass
from irad.ops import elementwise as ew
from irad.ops.elementwise import full

Pair = tuple["Real", "Real"]
INF = math.inf
LARGE = 700.0  # exp(LARGE) is finite, and so is its product with any number that a double's exponent needs beyond it


@dataclass(frozen=True, eq=False)
class Real:
    """A real value with Python's operators, which emit nodes; comparisons give a `Real` of bools, `&` and `|` combine them."""

    value: Value

    def _with(self, op: Callable[..., Value], other: Real | float) -> Real:
        return Real(op(self.value, other.value if isinstance(other, Real) else full(other, self.value)))

    def __add__(self, other: Real | float) -> Real:
        return self._with(ew.add, other)

    def __sub__(self, other: Real | float) -> Real:
        return self._with(ew.sub, other)

    def __mul__(self, other: Real | float) -> Real:
        return self._with(ew.mul, other)

    def __truediv__(self, other: Real | float) -> Real:
        return self._with(ew.div, other)

    def __neg__(self) -> Real:
        return Real(ew.neg(self.value))

    def __abs__(self) -> Real:
        return Real(ew.abs_(self.value))

    def __lt__(self, other: Real | float) -> Real:
        return self._with(ew.lt, other)

    def __gt__(self, other: Real | float) -> Real:
        return self._with(ew.gt, other)

    def __ge__(self, other: Real | float) -> Real:
        return self._with(ew.ge, other)

    def __le__(self, other: Real | float) -> Real:
        return self._with(ew.le, other)

    def equals(self, other: Real | float) -> Real:
        return self._with(ew.eq, other)

    def __and__(self, other: Real) -> Real:
        return Real(ew.logical_and(self.value, other.value))

    def __or__(self, other: Real) -> Real:
        return Real(ew.logical_or(self.value, other.value))

    def __invert__(self) -> Real:
        return Real(ew.logical_not(self.value))

    def copysign(self, sign: Real) -> Real:
        return self._with(ew.copysign, sign)


def _apply(op: Callable[..., Value]) -> Callable[..., Real]:
    return lambda *xs: Real(op(*(x.value for x in xs)))


_exp, _exp2, _expm1, _log, _log1p, _sqrt = map(_apply, (ew.exp, ew.exp2, ew.expm1, ew.log, ew.log1p, ew.sqrt))
_sin, _cos, _tan, _sinh, _cosh, _asinh = map(_apply, (ew.sin, ew.cos, ew.tan, ew.sinh, ew.cosh, ew.arcsinh))
_atan2, _hypot, _isinf, _isnan, _isfinite = map(_apply, (ew.arctan2, ew.hypot, ew.isinf, ew.isnan, ew.isfinite))


def constant(x: float, like: Real) -> Real:
    """x in the type of `like`."""
    return Real(full(x, like.value))


def where(cond: Real, x: Real | float, y: Real | float, like: Real | None = None) -> Real:
    """x where the condition holds, else y. `like` gives the type if both are numbers."""
    model = like if like is not None else x if isinstance(x, Real) else y
    assert isinstance(model, Real)
    a, b = (v if isinstance(v, Real) else constant(v, model) for v in (x, y))
    return Real(ew.select(cond.value, a.value, b.value))


# ---- products and quotients, in the operands' own precision ------------------------------------------------------


def multiply(a: Real, b: Real, c: Real, d: Real) -> Pair:
    """(a + ib)(c + id), as NumPy computes it."""
    return a * c - b * d, a * d + b * c


def divide(a: Real, b: Real, c: Real, d: Real) -> Pair:
    """(a + ib) / (c + id) by Smith's method, bit for bit NumPy's."""
    first = abs(c) >= abs(d)
    p, q = where(first, c, d), where(first, d, c)
    u, v = where(first, a, b), where(first, b, a)
    ratio = q / p
    scale = constant(1.0, a) / (p + q * ratio)
    re = (u + v * ratio) * scale
    t = u * ratio
    im = where(first, v - t, t - v)
    zero = abs(c).equals(0.0) & abs(d).equals(0.0)
    return where(zero, a / abs(c), re), where(zero, b / abs(c), im * scale)


# ---- exponential and logarithm -------------------------------------------------------------------------------------


def exp(a: Real, b: Real) -> Pair:
    big = a > LARGE
    e, rest = _exp(where(big, a - LARGE, a)), where(big, math.exp(LARGE), 1.0, like=a)
    re = e * _cos(b) * rest
    im = where(b.equals(0.0), b, e * _sin(b) * rest)
    odd = _isinf(a) & ~_isfinite(b)
    up = a > 0.0
    return where(odd, where(up, INF, 0.0, like=a), re), where(odd, where(up, math.nan, 0.0, like=a), im)


def exp2(a: Real, b: Real) -> Pair:
    e, angle = _exp2(a), b * math.log(2)
    return e * _cos(angle), where(b.equals(0.0), b, e * _sin(angle))


def expm1(a: Real, b: Real) -> Pair:
    half = _sin(b * 0.5)
    large, im = exp(a, b)
    return where(a > 30.0, large, _expm1(a) * _cos(b) - half * half * 2.0), im


def _two_sum(x: Real, y: Real) -> Pair:
    s = x + y
    z = s - x
    return s, (x - (s - z)) + (y - z)


def _square(x: Real) -> Pair:
    """x*x exactly, as a sum of two."""
    p, c = x * x, x * 134217729.0
    hi = c - (c - x)
    lo = x - hi
    return p, ((hi * hi - p) + hi * lo * 2.0) + lo * lo


def _log_abs(a: Real, b: Real) -> Real:
    """log |a + ib|: neither over- nor underflow, all digits where the modulus is near 1."""
    x, y = abs(a), abs(b)
    m, n = where(x >= y, x, y), where(x >= y, y, x)
    high, low = m > 2.0**1020, m < 2.0**-960
    scale = where(high, 0.25, where(low, 2.0**100, 1.0, like=a))
    shift = where(high, math.log(4), where(low, -100 * math.log(2), 0.0, like=a))
    far = _log(_hypot(x * scale, y * scale)) + shift
    (p, p_rest), (q, q_rest) = _square(m), _square(n)
    s, s_rest = _two_sum(p, constant(-1.0, a))
    d, d_rest = _two_sum(s, q)
    near = _log1p(d + ((s_rest + d_rest) + (p_rest + q_rest))) * 0.5
    return where((m >= 0.5) & (m <= 1.5), near, far)


def log(a: Real, b: Real) -> Pair:
    return _log_abs(a, b), _atan2(b, a)


def log2(a: Real, b: Real) -> Pair:
    re, im = log(a, b)
    return re * (1 / math.log(2)), im * (1 / math.log(2))


def log10(a: Real, b: Real) -> Pair:
    re, im = log(a, b)
    return re * (1 / math.log(10)), im * (1 / math.log(10))


def log1p(a: Real, b: Real) -> Pair:
    x = a + 1.0
    small = (abs(a) < 0.5) & (abs(b) < 0.5)
    return where(small, _log1p(a * (a + 2.0) + b * b) * 0.5, _log_abs(x, b)), _atan2(b, x)


# ---- square root and power -------------------------------------------------------------------------------------------


def sqrt(a: Real, b: Real) -> Pair:
    m = where(abs(a) >= abs(b), abs(a), abs(b))
    high, low = m > 2.0**1020, m < 2.0**-1000
    scale = where(high, 2.0**-4, where(low, 2.0**108, 1.0, like=a))
    back = where(high, 4.0, where(low, 2.0**-54, 1.0, like=a))
    x, y = a * scale, b * scale
    t = _sqrt((abs(x) + _hypot(x, y)) * 0.5)
    u = where(t.equals(0.0), y, y / (t * 2.0))
    right, unbounded = x >= 0.0, _isinf(b)
    re, im = where(right, t, abs(u)) * back, where(right, u, t.copysign(b)) * back
    return where(unbounded, INF, re), where(unbounded, b, im)


def integer_power(a: Real, b: Real, n: int) -> Pair:
    """(a + ib)**n by repeated multiplication."""
    z, out = (a, b), None
    for bit in reversed(f"{abs(n):b}"):
        if bit == "1":
            out = z if out is None else multiply(*out, *z)
        z = multiply(*z, *z)
    if out is None:
        return constant(1.0, a), constant(0.0, a)
    return out if n > 0 else divide(constant(1.0, a), constant(0.0, a), *out)


def power(a: Real, b: Real, c: Real, d: Real) -> Pair:
    """(a + ib)**(c + id): by multiplication for whole exponents below 100, as NumPy; else exp((c + id) log(a + ib))."""
    by_log = exp(*multiply(c, d, *log(a, b)))
    n = abs(c)
    whole = d.equals(0.0) & c.equals(Real(ew.rint(c.value))) & (n < 100.0)
    n = where(whole, n, 0.0)
    z, out = (a, b), (constant(1.0, a), constant(0.0, a))
    for _ in range(7):
        half = Real(ew.floor((n * 0.5).value))
        odd = (n - half * 2.0) > 0.0
        product = multiply(*out, *z)
        out, z, n = (where(odd, product[0], out[0]), where(odd, product[1], out[1])), multiply(*z, *z), half
    inverse = divide(constant(1.0, a), constant(0.0, a), *out)
    exact = [where(c < 0.0, x, y) for x, y in zip(inverse, out)]
    re, im = (where(whole, x, y) for x, y in zip(exact, by_log))
    zero, grows = a.equals(0.0) & b.equals(0.0) & ~c.equals(0.0), (c > 0.0) & d.equals(0.0)
    at_zero = where(grows, 0.0, math.nan, like=a)
    return where(zero, at_zero, re), where(zero, at_zero, im)


# ---- hyperbolic and trigonometric: sin z = -i sinh iz, cos z = cosh iz, tan z = -i tanh iz -----------------------------


def _scaled_sinh_cosh(a: Real) -> tuple[Real, Real, Real]:
    """(s, c, f) with sinh a = s f and cosh a = c f, which may overflow only in the product."""
    big = abs(a) > LARGE
    half = _exp(abs(a) - LARGE) * 0.5
    return where(big, half.copysign(a), _sinh(a)), where(big, half, _cosh(a)), where(big, math.exp(LARGE), 1.0, like=a)


def sinh(a: Real, b: Real) -> Pair:
    s, c, f = _scaled_sinh_cosh(a)
    re, im = s * _cos(b) * f, where(b.equals(0.0), b, c * _sin(b) * f)
    return where(a.equals(0.0) | (_isinf(a) & ~_isfinite(b)), a, re), im


def cosh(a: Real, b: Real) -> Pair:
    s, c, f = _scaled_sinh_cosh(a)
    signed_zero = constant(0.0, a).copysign(constant(1.0, a).copysign(a) * constant(1.0, a).copysign(b))
    im = where(a.equals(0.0) | b.equals(0.0), signed_zero, s * _sin(b) * f)
    return where(_isinf(a) & ~_isfinite(b), INF, c * _cos(b) * f), im


def tanh(a: Real, b: Real) -> Pair:
    t, s = _tan(b), _sinh(a)
    beta = t * t + 1.0
    den = beta * s * s + 1.0
    re, im = beta * _sqrt(s * s + 1.0) * s / den, t / den
    far, known = abs(a) > 20.0, _isfinite(b)
    tail = where(_isinf(a) & ~known, 0.0, _sin(b) * _cos(b) * _exp(abs(a) * -2.0) * 4.0)
    one = where(known | _isinf(a), constant(1.0, a).copysign(a), math.nan)
    return where(far, one, where(a.equals(0.0), a, re)), where(b.equals(0.0), b, where(far, tail, im))


def sin(a: Real, b: Real) -> Pair:
    u, v = sinh(-b, a)
    return v, -u


def cos(a: Real, b: Real) -> Pair:
    return cosh(-b, a)


def tan(a: Real, b: Real) -> Pair:
    u, v = tanh(-b, a)
    return v, -u


# ---- inverse functions ------------------------------------------------------------------------------------------------


def arcsin(a: Real, b: Real) -> Pair:
    (p, q), (r, s) = sqrt(constant(1.0, a) - a, -b), sqrt(a + 1.0, b)
    unbounded = _isinf(a) | _isinf(b)
    re, im = _atan2(a, p * r - q * s), _asinh(p * s - q * r)
    re = where(a.equals(0.0), a, where(unbounded, _atan2(a, abs(b)), re))
    return re, where(unbounded, constant(INF, a).copysign(b), im)


def arccos(a: Real, b: Real) -> Pair:
    (p, q), (r, s) = sqrt(constant(1.0, a) - a, -b), sqrt(a + 1.0, b)
    unbounded = _isinf(a) | _isinf(b)
    re, im = _atan2(p, r) * 2.0, _asinh(r * q - s * p)
    re = where(a.equals(0.0), math.pi / 2, where(unbounded, _atan2(abs(b), a), re))
    return re, where(unbounded, constant(INF, a).copysign(-b), im)


def arccosh(a: Real, b: Real) -> Pair:
    (p, q), (r, s) = sqrt(a - 1.0, b), sqrt(a + 1.0, b)
    unbounded = _isinf(a) | _isinf(b)
    re, im = _asinh(p * r + q * s), _atan2(q, r) * 2.0
    im = where(a.equals(0.0) & _isnan(b), math.pi / 2, where(unbounded, _atan2(b, a), im))
    return where(unbounded, INF, re), im


def arctanh(a: Real, b: Real) -> Pair:
    x, h = abs(a), _hypot(a, b)
    gap = constant(1.0, a) - x
    near = _log1p(x * 4.0 / (gap * gap + b * b)) * 0.25
    re = where(h > 1e8, x / h / h, near)
    im = _atan2(b * 2.0, gap * (x + 1.0) - b * b) * 0.5
    unbounded = _isinf(a) | _isinf(b)
    edge = where(_isnan(b), b, constant(math.pi / 2, a).copysign(b))
    return where(unbounded | a.equals(0.0), 0.0, re).copysign(a), where(unbounded, edge, im)


def arcsinh(a: Real, b: Real) -> Pair:
    u, v = arcsin(-b, a)
    return v, -u


def arctan(a: Real, b: Real) -> Pair:
    u, v = arctanh(-b, a)
    return v, -u


FUNCTIONS: dict[str, Callable[..., Pair]] = {
    f.__name__: f
    for f in (exp, exp2, expm1, log, log2, log10, log1p, sqrt, sin, cos, tan, sinh, cosh, tanh)
    + (arcsin, arccos, arctan, arcsinh, arccosh, arctanh)
}
