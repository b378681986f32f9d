"""Functions of scipy.special that SciPy's own C code computes, a row each; imported with the first of them.

Native code calls what `scipy.special.cython_special` exports, the interpreter the ufunc. Slopes are those of the NIST Handbook of
Mathematical Functions. One that has no closed form, mostly that by an order or a shape, is an error where it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from irad.core.ir import Value, current
from irad.errors import UnsupportedError
from irad.ops import elementwise as ew
from irad.ops.elementwise import digamma, erf, exp, gammaln, log, log1p, sign, sin, sqrt, xlog1py, xlogy
from irad.ops.normal_tail import erfc_hazard
from irad.ops.special import special

PREFIX = "special_"
FUNCTIONS: dict[str, ew.Elementwise] = {}  # by SciPy's name
ARITY: dict[str, int] = {}
NONE: Any = None  # in the place of a slope: there is no closed form


def scipy(name: str) -> Callable[..., Value]:
    """A function of the table, which may stand below."""
    return lambda *xs: FUNCTIONS[name](*xs)


PI, DEGREE = math.pi, math.pi / 180


def function(name: str, operands: str, *slopes: Any) -> None:
    """A row: SciPy's name, the names of the operands, and for each a slope: a function of the operands and the result (called o),
    0 where the function is constant between jumps, or NONE."""
    names = operands.split()

    def partials(*xs: Value) -> Sequence[Any]:
        return [_partial(name, n, slope, xs) for n, slope in zip(names, slopes, strict=True)]

    FUNCTIONS[name] = ew.elementwise(PREFIX + name, partial(special, name), partials, cost=200.0, doc=f"scipy.special.{name}")
    ARITY[name] = len(names)


def _partial(name: str, operand: str, slope: Any, xs: Sequence[Value]) -> Any:
    if slope == 0:
        return ew.ZERO
    if slope is not NONE:
        return lambda ct: ew.szmul(ct, slope(*xs))

    def refuse(ct: Value) -> Value:
        raise UnsupportedError(
            f"scipy.special.{name} has no slope in closed form along {operand}; make that argument a constant: irad.stop_gradient({operand})",
            current().loc,
        )

    return refuse


# ---- gamma and beta functions ----------------------------------------------------------------------------------------------


def _gamma_density(a: Any, x: Any) -> Any:
    return exp(xlogy(a - 1, x) - x - gammaln(a))


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - scipy("betaln")(a, b))


function("gamma", "x", lambda x, o: o * digamma(x))
function("rgamma", "x", lambda x, o: -o * digamma(x))
function("gammasgn", "x", 0)
function("beta", "a b", lambda a, b, o: o * (digamma(a) - digamma(a + b)), lambda a, b, o: o * (digamma(b) - digamma(a + b)))
function("betaln", "a b", lambda a, b, o: digamma(a) - digamma(a + b), lambda a, b, o: digamma(b) - digamma(a + b))
function("binom", "n k", lambda n, k, o: o * (digamma(n + 1) - digamma(n - k + 1)),
         lambda n, k, o: o * (digamma(n - k + 1) - digamma(k + 1)))  # fmt: skip
function("poch", "x m", lambda x, m, o: o * (digamma(x + m) - digamma(x)), lambda x, m, o: o * digamma(x + m))
function("gammainc", "a x", NONE, lambda a, x, o: _gamma_density(a, x))
function("gammaincc", "a x", NONE, lambda a, x, o: -_gamma_density(a, x))
function("gammaincinv", "a y", NONE, lambda a, y, o: 1 / _gamma_density(a, o))
function("gammainccinv", "a y", NONE, lambda a, y, o: -1 / _gamma_density(a, o))
function("betainc", "a b x", NONE, NONE, lambda a, b, x, o: _beta_density(a, b, x))
function("betaincc", "a b x", NONE, NONE, lambda a, b, x, o: -_beta_density(a, b, x))
function("betaincinv", "a b y", NONE, NONE, lambda a, b, y, o: 1 / _beta_density(a, b, o))
function("betainccinv", "a b y", NONE, NONE, lambda a, b, y, o: -1 / _beta_density(a, b, o))

# ---- the error function ------------------------------------------------------------------------------------------------------

function("erfinv", "y", lambda y, o: math.sqrt(PI) / 2 * exp(o * o))
function("erfcinv", "y", lambda y, o: -math.sqrt(PI) / 2 * exp(o * o))
function("erfcx", "x", lambda x, o: 2 * x * o - 2 / math.sqrt(PI))
function("erfi", "x", lambda x, o: 2 / math.sqrt(PI) * exp(x * x))
function("dawsn", "x", lambda x, o: 1 - 2 * x * o)
function("log_ndtr", "x", lambda x, o: erfc_hazard(-x / math.sqrt(2), n=0) / math.sqrt(2))
function("ndtri", "y", lambda y, o: math.sqrt(2 * PI) * exp(o * o / 2))
function("ndtri_exp", "y", lambda y, o: math.sqrt(2 * PI) * exp(y + o * o / 2))
function("owens_t", "h a", lambda h, a, o: -exp(-h * h / 2) * erf(a * h / math.sqrt(2)) / math.sqrt(8 * PI),
         lambda h, a, o: exp(-h * h * (1 + a * a) / 2) / (2 * PI * (1 + a * a)))  # fmt: skip

# ---- distribution functions ----------------------------------------------------------------------------------------------------


def _t_density(n: Any, t: Any) -> Any:
    return exp(-(n + 1) / 2 * log1p(t * t / n) - scipy("betaln")(n / 2, 0.5)) / sqrt(n)


def _f_density(m: Any, n: Any, x: Any) -> Any:
    return exp(xlogy(m / 2, m / n) + xlogy(m / 2 - 1, x) - (m + n) / 2 * log1p(m / n * x) - scipy("betaln")(m / 2, n / 2))


function("stdtr", "df t", NONE, lambda n, t, o: _t_density(n, t))
function("stdtrit", "df p", NONE, lambda n, p, o: 1 / _t_density(n, o))
function("chdtr", "v x", NONE, lambda v, x, o: _gamma_density(v / 2, x / 2) / 2)
function("chdtrc", "v x", NONE, lambda v, x, o: -_gamma_density(v / 2, x / 2) / 2)
function("chdtri", "v p", NONE, lambda v, p, o: -2 / _gamma_density(v / 2, o / 2))
function("fdtr", "dfn dfd x", NONE, NONE, lambda m, n, x, o: _f_density(m, n, x))
function("fdtrc", "dfn dfd x", NONE, NONE, lambda m, n, x, o: -_f_density(m, n, x))
function("fdtri", "dfn dfd p", NONE, NONE, lambda m, n, p, o: 1 / _f_density(m, n, o))

# ---- exponential integrals, elliptic and hypergeometric functions --------------------------------------------------------------


def _expn_slope(n: Any, x: Any, o: Any) -> Any:
    """-E_(n-1)(x), which SciPy has from order 0 on; below, by n E_(n+1)(x) = exp(-x) - x E_n(x)."""
    below = (exp(-x) + (1 - n) * o) / x
    return -ew.select(n >= 1, scipy("expn")(ew.maximum(n - 1, 0), x), below)


function("expi", "x", lambda x, o: exp(x) / x)
function("exp1", "x", lambda x, o: -exp(-x) / x)
function("expn", "n x", NONE, _expn_slope)
function("exprel", "x", lambda x, o: 0.5 * scipy("hyp1f1")(2, 3, x))
function("spence", "z", lambda z, o: -scipy("hyp2f1")(1, 1, 2, 1 - z))
function("wrightomega", "x", lambda x, o: o / (1 + o))
function("hyp0f1", "v z", NONE, lambda v, z, o: scipy("hyp0f1")(v + 1, z) / v)
function("hyp1f1", "a b x", NONE, NONE, lambda a, b, x, o: a / b * scipy("hyp1f1")(a + 1, b + 1, x))
function("hyp2f1", "a b c z", NONE, NONE, NONE, lambda a, b, c, z, o: a * b / c * scipy("hyp2f1")(a + 1, b + 1, c + 1, z))
function("hyperu", "a b x", NONE, NONE, lambda a, b, x, o: -a * scipy("hyperu")(a + 1, b + 1, x))
function("ellipk", "m", lambda m, o: PI / 8 * scipy("hyp2f1")(1.5, 1.5, 2, m))
function("ellipkm1", "p", lambda p, o: -PI / 8 * scipy("hyp2f1")(1.5, 1.5, 2, 1 - p))
function("ellipe", "m", lambda m, o: -PI / 8 * scipy("hyp2f1")(0.5, 1.5, 2, m))
function("ellipkinc", "phi m", lambda p, m, o: 1 / sqrt(1 - m * sin(p) * sin(p)), NONE)
function("ellipeinc", "phi m", lambda p, m, o: sqrt(1 - m * sin(p) * sin(p)), NONE)

# ---- Bessel functions --------------------------------------------------------------------------------------------------------------


def _neighbours(name: str, second: int, factor: float = 0.5) -> Callable[..., Any]:
    """factor * (f_(v-1) + second * f_(v+1))."""
    return lambda v, x, o: factor * (scipy(name)(v - 1, x) + second * scipy(name)(v + 1, x))


function("j0", "x", lambda x, o: -scipy("j1")(x))
function("j1", "x", lambda x, o: 0.5 * (scipy("j0")(x) - scipy("jv")(2, x)))
function("y0", "x", lambda x, o: -scipy("y1")(x))
function("y1", "x", lambda x, o: scipy("y0")(x) - o / x)
function("i0", "x", lambda x, o: scipy("i1")(x))
function("i1", "x", lambda x, o: 0.5 * (scipy("iv")(0, x) + scipy("iv")(2, x)))
function("i0e", "x", lambda x, o: scipy("i1e")(x) - sign(x) * o)
function("i1e", "x", lambda x, o: 0.5 * (scipy("ive")(0, x) + scipy("ive")(2, x)) - sign(x) * o)
function("k0", "x", lambda x, o: -scipy("k1")(x))
function("k1", "x", lambda x, o: -scipy("k0")(x) - o / x)
function("k0e", "x", lambda x, o: o - scipy("k1e")(x))
function("k1e", "x", lambda x, o: o - scipy("k0e")(x) - o / x)
function("jv", "v z", NONE, _neighbours("jv", -1))
function("yv", "v z", NONE, _neighbours("yv", -1))
function("iv", "v z", NONE, _neighbours("iv", 1))
function("kv", "v z", NONE, _neighbours("kv", 1, -0.5))
function("ive", "v z", NONE, lambda v, x, o: _neighbours("ive", 1)(v, x, o) - sign(x) * o)
function("kve", "v z", NONE, lambda v, x, o: _neighbours("kve", 1, -0.5)(v, x, o) + o)

# ---- angles in degrees, small differences -----------------------------------------------------------------------------------------------

function("cosm1", "x", lambda x, o: -sin(x))
function("powm1", "x y", lambda x, y, o: y * exp(xlogy(y - 1, x)), lambda x, y, o: (o + 1) * log(x))
function("sindg", "x", lambda x, o: DEGREE * scipy("cosdg")(x))
function("cosdg", "x", lambda x, o: -DEGREE * scipy("sindg")(x))
function("tandg", "x", lambda x, o: DEGREE * (1 + o * o))
function("cotdg", "x", lambda x, o: -DEGREE * (1 + o * o))
function("round", "x", 0)
