"""Special functions: erf, erfc, gammaln, digamma, trigamma.

erf: x (1 + P(x*x)) near 0, else 1 - exp(Q(|x|)) with Q = log erfc. erfc: beyond 0.9 exp(-x*x) times the scaled function, a
polynomial in (a - 3) / (a + 3) over a + 3 (the substitution of Shepherd and Laframboise, Math. Comp. 36, 1981). The gamma
family: Stirling's series for x >= 8, fitted; below, recurrences in closed form; reflection for x < 0; float32 goes through
float64. All coefficients are minimax fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from irad.codegen.math import exp as poly_exp
from irad.codegen.math import log as poly_log
from irad.codegen.math.base import INF, NAN, below, bias, c, fabs, horner, pick, with_sign
from irad.codegen.math.values import Values

# erf(x)/x - 1 in x**2, |x| <= 1 (float32: 0.9)
ERF_F64 = (
    -7.574090016685238e-10, 1.3599140413163871e-08, -1.618007776502845e-07, 1.6443663107799275e-06, -1.4924428470899643e-05,
    0.00012055278710284389, -0.0008548325431307762, 0.0052239775957684306, -0.026866170641863685, 0.11283791670936522,
    -0.3761263890318334, 0.12837916709551256,
)  # fmt: skip
ERF_F32 = (
    -0.0006032776436768472, 0.005000289063900709, -0.026770837604999542, 0.11281922459602356, -0.3761250376701355,
    0.12837915122509003,
)  # fmt: skip
# log(erfc(a)) in a - 1.25, from there until 1 - erfc(a) is 1
LOG_ERFC_F64 = (
    -5.5859317420359915e-12, 1.1122772934335692e-10, -9.789825628338286e-10, 4.834117718920698e-09, -1.2390590418665977e-08,
    -8.519604491934181e-09, 2.554828678043274e-07, -1.4471142618518806e-06, 5.166140835084744e-06, -1.0830467070684924e-05,
    -1.0041748185569715e-05, 0.00024678396408172985, -0.0016069509542149976, 0.007791961612571666, -0.0326870086828658,
    -0.8708101640587967, -3.067723941669238, -2.5626536619221256,
)  # fmt: skip
LOG_ERFC_F32 = (
    0.00017531332559883595, -0.0015751821920275688, 0.007833936251699924, -0.03269790858030319, -0.8708167672157288,
    -3.0677237510681152, -2.5626535415649414,
)  # fmt: skip
# (a + 3) exp(a**2) erfc(a) in (a - 3) / (a + 3), a >= 0.89
ERFCX_F64 = (
    1.0221678896513268e-07, -2.1364249494409413e-07, -4.7023560134214137e-07, 1.01829834992377e-06, 2.7887404490217787e-06,
    -4.766559222516696e-06, -1.74726106618343e-05, 3.0403741851758704e-05, 0.00010756059439735063, -0.00027677874664443913,
    -0.0005483094145168135, 0.0030340620762791897, -0.0012124166589211184, -0.026827234627444053, 0.11952776128888937,
    -0.3104672619005241, 0.5902283571040723, -0.8833944531698837, 1.0740069070883398,
)  # fmt: skip
ERFCX_F32 = (
    -0.00025781666045077145, -0.00040457169690478517, 0.003048873506486416, -0.0012770970351994038, -0.026835942640900612,
    0.11953949183225632, -0.31046614050865173, 0.5902276039123535, -0.8833944797515869, 1.0740069150924683,
)  # fmt: skip
# log(gamma(2 + y)) / y in y, |y| <= 0.5
GAMMALN_2 = (
    2.9486356763037235e-07, -5.801226647443646e-07, 9.03471225357733e-07, -1.9753268673239737e-06, 4.391650368555702e-06,
    -9.455879378800779e-06, 2.050407208800356e-05, -4.492381031596437e-05, 9.945785773624445e-05, -0.00022315496886442303,
    0.0005096695033044255, -0.0011927539013922787, 0.0028905103314219517, -0.007385551028933773, 0.0205808084277756,
    -0.06735230105319537, 0.32246703342411326, 0.42278433509846713,
)  # fmt: skip
# In z = 1/x**2 <= 1/64: the corrections to Stirling's formula, times x, and those of its derivatives
STIRLING = (0.0007665400834651064, -0.0005941029630053254, 0.0007936432053040132, -0.002777777757052353, 0.08333333333331765)
DIGAMMA = (
    -0.017343474774650813, 0.00750309278170661, -0.004165963910760316, 0.003968250576360609, -0.008333333326143675,
    0.08333333333332894,
)  # fmt: skip
TRIGAMMA = (
    0.8330148110184115, -0.2456826877512667, 0.0756688958951207, -0.033332751799081274, 0.023809521818871172,
    -0.03333333333031568, 0.16666666666666544,
)  # fmt: skip
# sin(pi f) / f in f**2, |f| <= 1/2
SIN_PI = (
    5.076648700215854e-07, -2.1641349347076605e-05, 0.0004661933131918615, -0.007370407977092525, 0.08214588393335846,
    -0.5992645291510058, 2.5501640398720546, -5.167712780049907, 3.141592653589793,
)  # fmt: skip


# ---- the error function ---------------------------------------------------------------------------------------------


def erf(E: Values, x: Any) -> Any:
    a, one = fabs(E, x), c(E, x, 1.0)
    near = E.fma(horner(E, E.mul(x, x), pick(x, ERF_F64, ERF_F32)), x, x)
    t = E.sub(below(E, a, pick(x, 5.93, 3.95)), c(E, x, 1.25))
    bits, n, r = poly_exp.multiple(E, horner(E, t, pick(x, LOG_ERFC_F64, LOG_ERFC_F32)), bias(x))
    s = poly_exp.exponent(E, bits)
    q = E.fma(horner(E, r, pick(x, poly_exp.EXP_F64, poly_exp.EXP_F32)), E.mul(r, r), r)
    far = E.sub(one, E.fma(s, q, s))
    return with_sign(E, E.select(E.cmp("gt", a, c(E, x, pick(x, 1.0, 0.9))), far, near), x)


def erfc(E: Values, x: Any) -> Any:
    """1 - erf near 0; beyond, the product (1 + d) exp(-h) g(t) / (a + 3) with h + l = a*a exactly.

    d takes back what h, 1 / (a + 3) and a + 3 were rounded by. float32 goes through float64, where none of it matters.
    """
    if x.dtype == "f32":
        wide = E.convert(x, "f64")
        return E.convert(_erfc(E, wide, ERF_F32, ERFCX_F32, poly_exp.EXP_SHORT, 10.5, exact=False), "f32")
    return _erfc(E, x, ERF_F64, ERFCX_F64, poly_exp.EXP_F64, 27.5, exact=True)


def _erfc(
    E: Values,
    x: Any,
    near_coefs: Sequence[float],
    far_coefs: Sequence[float],
    exp_coefs: Sequence[float],
    end: float,
    exact: bool,
) -> Any:
    half, one, three = c(E, x, 0.5), c(E, x, 1.0), c(E, x, 3.0)
    p = E.mul(horner(E, E.mul(x, x), near_coefs), x)
    near = E.add(half, E.sub(E.sub(half, x), p))
    a = below(E, fabs(E, x), end)
    d = E.add(a, three)
    inverse = E.fdiv(one, d)
    g = E.mul(horner(E, E.mul(E.sub(a, three), inverse), far_coefs), inverse)
    h = E.mul(a, a)
    bits, n, r = poly_exp.multiple(E, E.neg(h), 2 * bias(x))
    r = E.fma(n, c(E, x, -poly_exp.LN2_F64[1]), r)
    q = E.fma(horner(E, r, exp_coefs), E.mul(r, r), r)
    if exact:
        lost = E.fma(E.neg(inverse), E.sub(a, E.sub(d, three)), E.fma(E.neg(inverse), d, one))
        lost = E.sub(lost, E.fma(a, a, E.neg(h)))
        q = E.fma(lost, E.add(q, one), q)
    far = poly_exp.scaled(E, E.fma(g, q, g), bits)
    bound = c(E, x, 0.9)
    far = E.select(E.cmp("lt", x, E.neg(bound)), E.sub(c(E, x, 2.0), far), far)
    return E.select(E.cmp("lt", fabs(E, x), bound), near, far)


# ---- the gamma family -----------------------------------------------------------------------------------------------


def _in_f64(function: Callable[[Values, Any], Any]) -> Callable[[Values, Any], Any]:
    def either(E: Values, x: Any) -> Any:
        return E.convert(function(E, E.convert(x, "f64")), "f32") if x.dtype == "f32" else function(E, x)

    either.__doc__ = function.__doc__
    return either


def _sin_pi(E: Values, f: Any) -> Any:
    return E.mul(f, horner(E, E.mul(f, f), SIN_PI))


def _reflected(E: Values, x: Any) -> tuple[Any, Any, Any]:
    """(x < 0, 1 - x there and x elsewhere, f = x - rint(x))."""
    negative = E.cmp("lt", x, c(E, x, 0.0))
    w = E.select(negative, E.sub(c(E, x, 1.0), x), x)
    return negative, w, E.sub(x, E.intrinsic("rint", x))


def _gammaln_positive(E: Values, w: Any) -> Any:
    """log(gamma(w)), w >= 0, right to a few ULP at its zeros 1 and 2 too: steps to [1.5, 2.5], or Stirling from 8 on."""
    one = c(E, w, 1.0)
    u, origin, product = w, c(E, w, 2.0), one
    for _ in range(2):
        step = E.cmp("lt", u, c(E, w, 1.5))
        product = E.select(step, E.mul(product, u), product)
        u, origin = E.select(step, E.add(u, one), u), E.select(step, E.sub(origin, one), origin)
    for _ in range(6):
        step, lower = E.cmp("ge", u, c(E, w, 2.5)), E.sub(u, one)
        product = E.select(step, E.mul(product, lower), product)
        u, origin = E.select(step, lower, u), E.select(step, E.add(origin, one), origin)
    y = E.sub(w, origin)  # exact near 1 and 2, where u - 2 is not
    large = E.cmp("ge", w, c(E, w, 8.0))
    log = poly_log.log(E, E.select(large, w, product))
    near = E.fma(y, horner(E, y, GAMMALN_2), E.select(E.cmp("lt", w, c(E, w, 1.5)), E.neg(log), log))
    inverse = E.fdiv(one, w)
    tail = E.fma(horner(E, E.mul(inverse, inverse), STIRLING), inverse, c(E, w, 0.5 * math.log(2 * math.pi) - 0.5))
    stirling = E.fma(E.sub(w, c(E, w, 0.5)), E.sub(log, one), tail)
    return E.select(large, stirling, near)


@_in_f64
def gammaln(E: Values, x: Any) -> Any:
    """log |gamma(x)|; for x < 0 -log(|sin(pi x)| / pi) - gammaln(1 - x), inf at the poles; -inf at -inf, as SciPy."""
    negative, w, f = _reflected(E, x)
    r, s = _gammaln_positive(E, w), fabs(E, _sin_pi(E, f))
    inf = c(E, x, INF)
    mirrored = E.sub(E.neg(poly_log.log(E, E.mul(s, c(E, x, 1 / math.pi)))), r)
    mirrored = E.select(E.cmp("eq", s, c(E, x, 0.0)), inf, mirrored)
    return E.select(E.cmp("eq", x, E.neg(inf)), x, E.select(negative, mirrored, r))


def _pairs(E: Values, w: Any) -> tuple[Any, list[Any]]:
    """2w + 7 and the products (w + k)(w + 7 - k), k = 0..3, for the sums over w, ..., w + 7."""
    y = E.mul(w, E.add(w, c(E, w, 7.0)))
    return E.add(E.add(w, w), c(E, w, 7.0)), [y, *(E.add(y, c(E, w, k)) for k in (6.0, 10.0, 12.0))]


def _far(E: Values, w: Any, small: Any) -> tuple[Any, Any, Any]:
    """Where the asymptotic series is read, w + 8 or w: v, 1 / v and its square."""
    v = E.select(small, E.add(w, c(E, w, 8.0)), w)
    inverse = E.fdiv(c(E, w, 1.0), v)
    return v, inverse, E.mul(inverse, inverse)


@_in_f64
def digamma(E: Values, x: Any) -> Any:
    """psi(w + 8) less the sum of the reciprocals of w, ..., w + 7 below 8; psi(1 - x) - pi cot(pi x) for x < 0."""
    negative, w, f = _reflected(E, x)
    small = E.cmp("lt", w, c(E, x, 8.0))
    total, (p, q, r, s) = _pairs(E, w)
    pq, rs = E.mul(p, q), E.mul(r, s)
    top = E.mul(total, E.fma(E.add(p, q), rs, E.mul(E.add(r, s), pq)))
    sums = E.select(small, E.fdiv(top, E.mul(pq, rs)), c(E, x, 0.0))
    v, inverse, z = _far(E, w, small)
    tail = E.fma(z, horner(E, z, DIGAMMA), E.mul(inverse, c(E, x, 0.5)))
    psi = E.sub(E.sub(poly_log.log(E, v), tail), sums)
    cosine = _sin_pi(E, E.sub(c(E, x, 0.5), fabs(E, f)))
    cot = E.fdiv(E.mul(c(E, x, math.pi), cosine), _sin_pi(E, f))
    mirrored = E.select(E.cmp("eq", f, c(E, x, 0.0)), c(E, x, NAN), E.sub(psi, cot))
    return E.select(negative, mirrored, psi)


@_in_f64
def trigamma(E: Values, x: Any) -> Any:
    """psi'(w + 8) plus the sum of the squared reciprocals below 8; (pi / sin(pi x))**2 - psi'(1 - x) for x < 0."""
    negative, w, f = _reflected(E, x)
    small = E.cmp("lt", w, c(E, x, 8.0))
    total, products = _pairs(E, w)
    square = E.mul(total, total)
    # (w + k)**-2 + (w + 7 - k)**-2 = (total**2 - 2 p) / p**2 for each product p; all terms are positive
    tops = [E.fma(c(E, x, -2.0), p, square) for p in products]
    bottoms = [E.mul(p, p) for p in products]
    ab, cd = E.mul(bottoms[0], bottoms[1]), E.mul(bottoms[2], bottoms[3])
    top_ab = E.fma(tops[0], bottoms[1], E.mul(tops[1], bottoms[0]))
    top_cd = E.fma(tops[2], bottoms[3], E.mul(tops[3], bottoms[2]))
    sums = E.fdiv(E.fma(top_ab, cd, E.mul(top_cd, ab)), E.mul(ab, cd))
    _, inverse, z = _far(E, w, small)
    tail = E.fma(E.mul(z, inverse), horner(E, z, TRIGAMMA), E.mul(z, c(E, x, 0.5)))
    psi = E.add(E.add(inverse, tail), E.select(small, sums, c(E, x, 0.0)))
    ratio = E.fdiv(c(E, x, math.pi), _sin_pi(E, f))
    mirrored = E.fma(ratio, ratio, E.neg(psi))
    inf = c(E, x, INF)
    return E.select(E.cmp("eq", x, E.neg(inf)), inf, E.select(negative, mirrored, psi))
