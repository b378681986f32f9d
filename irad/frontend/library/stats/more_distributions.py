"""More distributions of scipy.stats in standard form, as `distributions` has them."""

import numpy as np
from scipy import special as sp

from irad.frontend.library.stats.distributions import EULER, INF, LOG_2PI, Rule, distribution, positive, unit

# ---- of extremes ------------------------------------------------------------------------------------------------------------------------


def _log1p_over(c, x):
    """log(1 + c x) / c, and x where c is 0."""
    none = c == 0
    safe = np.where(none, 1.0, c)
    inner = np.where(none, 0.0, np.where(c * x > -1, c * x, 0.0))
    return np.where(none, x, np.where(c * x > -1, np.log1p(inner) / safe, -np.copysign(INF, safe)))


def _expm1_over(c, y):
    """(exp(c y) - 1) / c, and y where c is 0."""
    none = c == 0
    return np.where(none, y, np.expm1(c * y) / np.where(none, 1.0, c))


@distribution
class genpareto(Rule):
    support = lambda c: (0.0 * c, np.where(c < 0, -1.0 / np.where(c < 0, c, -1.0), INF))
    valid = lambda c: np.isfinite(c)
    logpdf = lambda x, c: -(c + 1) * _log1p_over(c, x)
    cdf = lambda x, c: -np.expm1(-_log1p_over(c, x))
    sf = lambda x, c: np.exp(-_log1p_over(c, x))
    logsf = lambda x, c: -_log1p_over(c, x)
    ppf = lambda q, c: _expm1_over(c, -np.log1p(-q))
    isf = lambda q, c: _expm1_over(c, -np.log(q))
    mean = lambda c: np.where(c < 1, 1 / np.where(c < 1, 1 - c, 1.0), INF)
    var = lambda c: np.where(c < 0.5, 1 / np.where(c < 0.5, (1 - c) ** 2 * (1 - 2 * c), 1.0), INF)
    entropy = lambda c: 1.0 + c


@distribution
class genextreme(Rule):
    support = lambda c: (
        np.where(c < 0, 1.0 / np.where(c < 0, c, -1.0), -INF), np.where(c > 0, 1.0 / np.where(c > 0, c, 1.0), INF),
    )  # fmt: skip
    valid = lambda c: np.isfinite(c)
    logpdf = lambda x, c: _extreme(x, c)
    cdf = lambda x, c: np.exp(-np.exp(-_log1p_over(-c, x)))
    logcdf = lambda x, c: -np.exp(-_log1p_over(-c, x))
    sf = lambda x, c: -np.expm1(-np.exp(-_log1p_over(-c, x)))
    ppf = lambda q, c: -_expm1_over(c, np.log(-np.log(q)))
    isf = lambda q, c: -_expm1_over(c, np.log(-np.log1p(-q)))


def _extreme(x, c):
    """The logarithm of the density of genextreme: w (1 - c) - exp(w), where w is log(1 - c x) / c."""
    w = -_log1p_over(-c, x)
    return w * (1 - c) - np.exp(w)


@distribution
class weibull_max(Rule):
    support = lambda c: (-INF, 0.0)
    logpdf = lambda x, c: np.log(c) + sp.xlogy(c - 1, -x) - (-x) ** c
    cdf = lambda x, c: np.exp(-((-x) ** c))
    logcdf = lambda x, c: -((-x) ** c)
    sf = lambda x, c: -np.expm1(-((-x) ** c))
    ppf = lambda q, c: -((-np.log(q)) ** (1.0 / c))
    isf = lambda q, c: -((-np.log1p(-q)) ** (1.0 / c))
    mean = lambda c: -sp.gamma(1.0 + 1.0 / c)
    var = lambda c: sp.gamma(1.0 + 2.0 / c) - sp.gamma(1.0 + 1.0 / c) ** 2
    entropy = lambda c: -EULER / c - np.log(c) + EULER + 1


@distribution
class gompertz(Rule):
    support = positive
    logpdf = lambda x, c: np.log(c) + x - c * np.expm1(x)
    cdf = lambda x, c: -np.expm1(-c * np.expm1(x))
    sf = lambda x, c: np.exp(-c * np.expm1(x))
    logsf = lambda x, c: -c * np.expm1(x)
    ppf = lambda q, c: np.log1p(-np.log1p(-q) / c)
    isf = lambda q, c: np.log1p(-np.log(q) / c)


# ---- with heavy tails --------------------------------------------------------------------------------------------------------------------


@distribution
class lomax(Rule):
    support = positive
    logpdf = lambda x, c: np.log(c) - (c + 1) * np.log1p(x)
    cdf = lambda x, c: -np.expm1(-c * np.log1p(x))
    sf = lambda x, c: np.exp(-c * np.log1p(x))
    logsf = lambda x, c: -c * np.log1p(x)
    ppf = lambda q, c: np.expm1(-np.log1p(-q) / c)
    isf = lambda q, c: np.expm1(-np.log(q) / c)
    mean = lambda c: np.where(c > 1, 1 / np.where(c > 1, c - 1, 1.0), INF)
    var = lambda c: np.where(c > 2, c / np.where(c > 2, (c - 2) * (c - 1) ** 2, 1.0), np.where(c > 1, INF, np.nan))
    entropy = lambda c: 1 + 1.0 / c - np.log(c)


@distribution
class fisk(Rule):
    support = positive
    logpdf = lambda x, c: np.log(c) + sp.xlogy(c - 1, x) - 2 * np.log1p(x**c)
    cdf = lambda x, c: 1.0 / (1 + x ** (-c))
    sf = lambda x, c: 1.0 / (1 + x**c)
    logsf = lambda x, c: -np.log1p(x**c)
    ppf = lambda q, c: (1.0 / q - 1) ** (-1.0 / c)
    isf = lambda q, c: (1.0 / q - 1) ** (1.0 / c)
    entropy = lambda c: 2 - np.log(c)


@distribution
class levy(Rule):
    support = positive
    inner = True
    logpdf = lambda x: -0.5 * LOG_2PI - 1.5 * np.log(x) - 1 / (2 * x)
    cdf = lambda x: sp.erfc(np.sqrt(0.5 / x))
    sf = lambda x: sp.erf(np.sqrt(0.5 / x))
    ppf = lambda q: 1.0 / sp.ndtri(q / 2) ** 2
    isf = lambda q: 1 / (2 * sp.erfinv(q) ** 2)
    mean, var = lambda: INF, lambda: INF


@distribution
class johnsonsu(Rule):
    valid = lambda a, b: (b > 0) & np.isfinite(a)
    logpdf = lambda x, a, b: np.log(b) - 0.5 * np.log1p(x * x) - (a + b * np.arcsinh(x)) ** 2 / 2.0 - LOG_2PI / 2
    cdf = lambda x, a, b: sp.ndtr(a + b * np.arcsinh(x))
    sf = lambda x, a, b: sp.ndtr(-(a + b * np.arcsinh(x)))
    ppf = lambda q, a, b: np.sinh((sp.ndtri(q) - a) / b)
    isf = lambda q, a, b: np.sinh((-sp.ndtri(q) - a) / b)


@distribution
class exponnorm(Rule):
    logpdf = lambda x, K: 0.5 / (K * K) - x / K - np.log(K) + sp.log_ndtr(x - 1.0 / K)
    cdf = lambda x, K: sp.ndtr(x) - np.exp(0.5 / (K * K) - x / K + sp.log_ndtr(x - 1.0 / K))
    sf = lambda x, K: sp.ndtr(-x) + np.exp(0.5 / (K * K) - x / K + sp.log_ndtr(x - 1.0 / K))
    mean, var = lambda K: K, lambda K: 1 + K * K


@distribution
class gennorm(Rule):
    logpdf = lambda x, beta: np.log(0.5 * beta) - sp.gammaln(1.0 / beta) - np.abs(x) ** beta

    def sf(x, beta):
        tail = 0.5 * sp.gammaincc(1.0 / beta, np.abs(x) ** beta)
        return np.where(x > 0, tail, 1.0 - tail)

    def cdf(x, beta):
        tail = 0.5 * sp.gammaincc(1.0 / beta, np.abs(x) ** beta)
        return np.where(x > 0, 1.0 - tail, tail)

    mean = lambda beta: 0.0 * beta
    var = lambda beta: np.exp(sp.gammaln(3.0 / beta) - sp.gammaln(1.0 / beta))
    entropy = lambda beta: 1.0 / beta - np.log(0.5 * beta) + sp.gammaln(1.0 / beta)


@distribution
class halflogistic(Rule):
    support = positive
    logpdf = lambda x: np.log(2.0) - x - 2.0 * sp.log1p(np.exp(-x))
    cdf = lambda x: np.tanh(x / 2.0)
    sf = lambda x: 2 * sp.expit(-x)
    ppf = lambda q: 2 * np.arctanh(q)
    isf = lambda q: np.where(q < 0.5, -sp.logit(0.5 * q), 2 * np.arctanh(1 - q))
    mean, var = lambda: 2 * np.log(2.0), lambda: np.pi**2 / 3 - 4 * np.log(2.0) ** 2
    entropy = lambda: 2 - np.log(2.0)


@distribution
class betaprime(Rule):
    support = positive
    logpdf = lambda x, a, b: sp.xlogy(a - 1.0, x) - sp.xlog1py(a + b, x) - sp.betaln(a, b)
    cdf = lambda x, a, b: np.where(x > 1, sp.betaincc(b, a, 1.0 / (1.0 + x)), sp.betainc(a, b, x / (1.0 + x)))
    sf = lambda x, a, b: np.where(x > 1, sp.betainc(b, a, 1.0 / (1.0 + x)), sp.betaincc(a, b, x / (1.0 + x)))
    mean = lambda a, b: np.where(b > 1, a / np.where(b > 1, b - 1, 1.0), INF)
    var = lambda a, b: np.where(b > 2, a * (a + b - 1) / np.where(b > 2, (b - 2) * (b - 1) ** 2, 1.0), INF)


# ---- on a circle, on an interval ---------------------------------------------------------------------------------------------------------


@distribution
class vonmises(Rule):
    """The density only: its distribution function has no closed form."""

    valid = lambda kappa: kappa >= 0
    logpdf = lambda x, kappa: kappa * sp.cosm1(x) - np.log(2 * np.pi * sp.i0e(kappa))
    entropy = lambda kappa: -kappa * sp.i1e(kappa) / sp.i0e(kappa) + np.log(2 * np.pi * sp.i0e(kappa)) + kappa


@distribution
class arcsine(Rule):
    support = unit
    logpdf = lambda x: -np.log(np.pi) - 0.5 * np.log(x * (1 - x))
    cdf = lambda x: 2.0 / np.pi * np.arcsin(np.sqrt(x))
    ppf = lambda q: np.sin(np.pi / 2.0 * q) ** 2
    mean, var = lambda: 0.5, lambda: 1.0 / 8
    entropy = lambda: np.log(np.pi / 4)


@distribution
class truncexpon(Rule):
    support = lambda b: (0.0, b)
    logpdf = lambda x, b: -x - np.log(-np.expm1(-b))
    cdf = lambda x, b: np.expm1(-x) / np.expm1(-b)
    sf = lambda x, b: (np.exp(-b) - np.exp(-x)) / np.expm1(-b)
    ppf = lambda q, b: -np.log1p(q * np.expm1(-b))
    isf = lambda q, b: -np.log(np.exp(-b) - q * np.expm1(-b))


# ---- of whole numbers ------------------------------------------------------------------------------------------------------------------------


@distribution
class hypergeom(Rule):
    discrete = True
    support = lambda M, n, N: (np.maximum(N - (M - n), 0.0), np.minimum(n, N))
    valid = lambda M, n, N: (M > 0) & (n >= 0) & (N >= 0) & (n <= M) & (N <= M)
    logpmf = lambda k, M, n, N: (
        sp.betaln(n + 1, 1) + sp.betaln(M - n + 1, 1) + sp.betaln(M - N + 1, N + 1)
        - sp.betaln(k + 1, n - k + 1) - sp.betaln(N - k + 1, M - n - N + k + 1) - sp.betaln(M + 1, 1)
    )  # fmt: skip
    mean = lambda M, n, N: N * n / M
    var = lambda M, n, N: N * n * (M - n) * (M - N) / (M * M * (M - 1.0))


@distribution
class betabinom(Rule):
    discrete = True
    support = lambda n, a, b: (0.0, n)
    valid = lambda n, a, b: (n >= 0) & (a > 0) & (b > 0)
    logpmf = lambda k, n, a, b: -np.log(n + 1) - sp.betaln(n - k + 1, k + 1) + sp.betaln(k + a, n - k + b) - sp.betaln(a, b)
    mean = lambda n, a, b: n * a / (a + b)
    var = lambda n, a, b: n * (a + b + n) * a * b / ((a + b) ** 2 * (a + b + 1))
