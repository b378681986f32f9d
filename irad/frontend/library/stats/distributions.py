"""Distributions of scipy.stats in standard form: what `scipy.stats.norm` and the others are at loc 0 and scale 1.

A class is a distribution: its shape parameters are what `logpdf` (`logpmf`) takes besides the position, `support(*shapes)` is where it
has mass, `valid(*shapes)` where there is one, and each function takes the position, or the probability, and the shapes. `logpdf`
(`logpmf`), `cdf` and `ppf` are asked for, where they have a closed form; others are given where there is something better than what
follows from these.
"""

import numpy as np
from scipy import special as sp

RULES = {}
LOG_2PI, EULER = np.log(2 * np.pi), np.euler_gamma
INF = np.inf


class Rule:
    """What follows from the rest."""

    discrete = False
    inner = False  # is the density 0 at the start of the support, where its formula is 0/0?

    def support(*shapes):
        return -INF, INF

    def valid(*shapes):
        ok = True
        for s in shapes:
            ok = ok & (s > 0)
        return ok


def positive(*shapes):
    return 0.0, INF


def unit(*shapes):
    return 0.0, 1.0


def distribution(rule):
    """Put a class into the table, under its name, with what follows from its functions."""
    own = vars(rule)
    density = own["logpmf" if rule.discrete else "logpdf"].__code__
    rule.shapes = density.co_varnames[1 : density.co_argcount]
    if "cdf" in own:
        cdf = rule.cdf
        if "sf" not in own:
            rule.sf = lambda x, *s: 1.0 - cdf(x, *s)
        sf = rule.sf
        if "logcdf" not in own:
            rule.logcdf = lambda x, *s: np.log(cdf(x, *s))
        if "logsf" not in own:
            rule.logsf = lambda x, *s: np.log(sf(x, *s))
    if "ppf" in own and "isf" not in own:
        ppf = rule.ppf
        rule.isf = lambda q, *s: ppf(1.0 - q, *s)
    RULES[rule.__name__] = rule
    return rule


# ---- on the whole line ----------------------------------------------------------------------------------------------------------


@distribution
class norm(Rule):
    logpdf = lambda x: -(x * x) / 2.0 - LOG_2PI / 2
    cdf = lambda x: sp.ndtr(x)
    sf = lambda x: sp.ndtr(-x)
    logcdf = lambda x: sp.log_ndtr(x)
    logsf = lambda x: sp.log_ndtr(-x)
    ppf = lambda q: sp.ndtri(q)
    isf = lambda q: -sp.ndtri(q)
    mean, var = lambda: 0.0, lambda: 1.0
    entropy = lambda: 0.5 * (LOG_2PI + 1)


@distribution
class t(Rule):
    logpdf = lambda x, df: -sp.betaln(df / 2, 0.5) - np.log(df) / 2 - (df + 1) / 2 * np.log1p(x * x / df)
    cdf = lambda x, df: sp.stdtr(df, x)
    sf = lambda x, df: sp.stdtr(df, -x)
    ppf = lambda q, df: sp.stdtrit(df, q)
    isf = lambda q, df: -sp.stdtrit(df, q)
    mean = lambda df: np.where(df > 1, 0.0, INF)
    var = lambda df: np.where(df > 2, df / np.where(df > 2, df - 2, 1.0), np.where(df > 1, INF, np.nan))


@distribution
class cauchy(Rule):
    logpdf = lambda x: -np.log(np.pi) - np.log1p(x * x)
    cdf = lambda x: np.arctan2(1.0, -x) / np.pi
    sf = lambda x: np.arctan2(1.0, x) / np.pi
    ppf = lambda q: np.tan(np.pi * q - np.pi / 2)
    isf = lambda q: np.tan(np.pi / 2 - np.pi * q)
    mean, var = lambda: np.nan, lambda: np.nan
    entropy = lambda: np.log(4 * np.pi)


@distribution
class laplace(Rule):
    logpdf = lambda x: -np.abs(x) - np.log(2.0)
    cdf = lambda x: np.where(x > 0, 1.0 - 0.5 * np.exp(-np.abs(x)), 0.5 * np.exp(-np.abs(x)))
    sf = lambda x: np.where(x > 0, 0.5 * np.exp(-np.abs(x)), 1.0 - 0.5 * np.exp(-np.abs(x)))
    ppf = lambda q: np.where(q > 0.5, -np.log(2 * (1 - q)), np.log(2 * q))
    mean, var = lambda: 0.0, lambda: 2.0
    entropy = lambda: np.log(2.0) + 1


@distribution
class logistic(Rule):
    logpdf = lambda x: -np.abs(x) - 2.0 * np.log1p(np.exp(-np.abs(x)))
    cdf = lambda x: sp.expit(x)
    sf = lambda x: sp.expit(-x)
    logcdf = lambda x: sp.log_expit(x)
    logsf = lambda x: sp.log_expit(-x)
    ppf = lambda q: sp.logit(q)
    isf = lambda q: -sp.logit(q)
    mean, var = lambda: 0.0, lambda: np.pi**2 / 3
    entropy = lambda: 2.0


@distribution
class gumbel_r(Rule):
    logpdf = lambda x: -x - np.exp(-x)
    cdf = lambda x: np.exp(-np.exp(-x))
    sf = lambda x: -np.expm1(-np.exp(-x))
    logcdf = lambda x: -np.exp(-x)
    ppf = lambda q: -np.log(-np.log(q))
    isf = lambda q: -np.log(-np.log1p(-q))
    mean, var = lambda: EULER, lambda: np.pi**2 / 6
    entropy = lambda: EULER + 1


@distribution
class gumbel_l(Rule):
    logpdf = lambda x: x - np.exp(x)
    cdf = lambda x: -np.expm1(-np.exp(x))
    sf = lambda x: np.exp(-np.exp(x))
    logsf = lambda x: -np.exp(x)
    ppf = lambda q: np.log(-np.log1p(-q))
    isf = lambda q: np.log(-np.log(q))
    mean, var = lambda: -EULER, lambda: np.pi**2 / 6
    entropy = lambda: EULER + 1


@distribution
class hypsecant(Rule):
    logpdf = lambda x: -np.log(np.pi) - np.logaddexp(x, -x) + np.log(2.0)
    cdf = lambda x: 2.0 / np.pi * np.arctan(np.exp(x))
    sf = lambda x: 2.0 / np.pi * np.arctan(np.exp(-x))
    ppf = lambda q: np.log(np.tan(np.pi * q / 2))
    isf = lambda q: -np.log(np.tan(np.pi * q / 2))
    mean, var = lambda: 0.0, lambda: np.pi**2 / 4


@distribution
class skewnorm(Rule):
    valid = lambda a: np.isfinite(a)
    logpdf = lambda x, a: np.log(2.0) + norm.logpdf(x) + sp.log_ndtr(a * x)
    cdf = lambda x, a: sp.ndtr(x) - 2.0 * sp.owens_t(x, a)
    sf = lambda x, a: sp.ndtr(-x) + 2.0 * sp.owens_t(x, a)
    mean = lambda a: np.sqrt(2 / np.pi) * a / np.sqrt(1 + a * a)
    var = lambda a: 1 - 2 / np.pi * a * a / (1 + a * a)


# ---- on the positive numbers -----------------------------------------------------------------------------------------------------


@distribution
class expon(Rule):
    support = positive
    logpdf = lambda x: -x
    cdf = lambda x: -np.expm1(-x)
    sf = lambda x: np.exp(-x)
    logsf = lambda x: -x
    ppf = lambda q: -np.log1p(-q)
    isf = lambda q: -np.log(q)
    mean, var = lambda: 1.0, lambda: 1.0
    entropy = lambda: 1.0


@distribution
class gamma(Rule):
    support = positive
    logpdf = lambda x, a: sp.xlogy(a - 1.0, x) - x - sp.gammaln(a)
    cdf = lambda x, a: sp.gammainc(a, x)
    sf = lambda x, a: sp.gammaincc(a, x)
    ppf = lambda q, a: sp.gammaincinv(a, q)
    isf = lambda q, a: sp.gammainccinv(a, q)
    mean, var = lambda a: a, lambda a: a
    entropy = lambda a: sp.psi(a) * (1 - a) + a + sp.gammaln(a)


@distribution
class chi2(Rule):
    support = positive
    logpdf = lambda x, df: sp.xlogy(df / 2 - 1, x) - x / 2 - sp.gammaln(df / 2) - np.log(2.0) * df / 2
    cdf = lambda x, df: sp.chdtr(df, x)
    sf = lambda x, df: sp.chdtrc(df, x)
    ppf = lambda q, df: 2 * sp.gammaincinv(df / 2, q)
    isf = lambda q, df: sp.chdtri(df, q)
    mean, var = lambda df: df, lambda df: 2 * df
    entropy = lambda df: df / 2 + np.log(2.0) + sp.gammaln(df / 2) + (1 - df / 2) * sp.psi(df / 2)


@distribution
class chi(Rule):
    support = positive
    logpdf = lambda x, df: np.log(2.0) - 0.5 * np.log(2.0) * df - sp.gammaln(df / 2) + sp.xlogy(df - 1.0, x) - 0.5 * x * x
    cdf = lambda x, df: sp.gammainc(df / 2, x * x / 2)
    sf = lambda x, df: sp.gammaincc(df / 2, x * x / 2)
    ppf = lambda q, df: np.sqrt(2 * sp.gammaincinv(df / 2, q))
    isf = lambda q, df: np.sqrt(2 * sp.gammainccinv(df / 2, q))
    mean = lambda df: np.sqrt(2.0) * np.exp(sp.gammaln((df + 1) / 2) - sp.gammaln(df / 2))
    var = lambda df: df - 2 * np.exp(2 * (sp.gammaln((df + 1) / 2) - sp.gammaln(df / 2)))


@distribution
class invgamma(Rule):
    support = positive
    inner = True
    logpdf = lambda x, a: -(a + 1) * np.log(x) - sp.gammaln(a) - 1.0 / x
    cdf = lambda x, a: sp.gammaincc(a, 1.0 / x)
    sf = lambda x, a: sp.gammainc(a, 1.0 / x)
    ppf = lambda q, a: 1.0 / sp.gammainccinv(a, q)
    isf = lambda q, a: 1.0 / sp.gammaincinv(a, q)
    mean = lambda a: np.where(a > 1, 1 / np.where(a > 1, a - 1, 1.0), INF)
    var = lambda a: np.where(a > 2, 1 / np.where(a > 2, (a - 1) ** 2 * (a - 2), 1.0), INF)


@distribution
class lognorm(Rule):
    support = positive
    inner = True
    logpdf = lambda x, s: -(np.log(x) ** 2) / (2 * s * s) - np.log(s * x * np.sqrt(2 * np.pi))
    cdf = lambda x, s: sp.ndtr(np.log(x) / s)
    sf = lambda x, s: sp.ndtr(-np.log(x) / s)
    logcdf = lambda x, s: sp.log_ndtr(np.log(x) / s)
    logsf = lambda x, s: sp.log_ndtr(-np.log(x) / s)
    ppf = lambda q, s: np.exp(s * sp.ndtri(q))
    isf = lambda q, s: np.exp(-s * sp.ndtri(q))
    mean = lambda s: np.exp(s * s / 2)
    var = lambda s: np.expm1(s * s) * np.exp(s * s)
    entropy = lambda s: 0.5 * (1 + LOG_2PI + 2 * np.log(s))


@distribution
class weibull_min(Rule):
    support = positive
    logpdf = lambda x, c: np.log(c) + sp.xlogy(c - 1, x) - x**c
    cdf = lambda x, c: -np.expm1(-(x**c))
    sf = lambda x, c: np.exp(-(x**c))
    logsf = lambda x, c: -(x**c)
    ppf = lambda q, c: (-np.log1p(-q)) ** (1.0 / c)
    isf = lambda q, c: (-np.log(q)) ** (1.0 / c)
    mean = lambda c: sp.gamma(1.0 + 1.0 / c)
    var = lambda c: sp.gamma(1.0 + 2.0 / c) - sp.gamma(1.0 + 1.0 / c) ** 2
    entropy = lambda c: -EULER / c - np.log(c) + EULER + 1


@distribution
class f(Rule):
    support = positive

    def logpdf(x, dfn, dfd):
        n, d = dfn, dfd
        front = d / 2 * np.log(d) + n / 2 * np.log(n) - sp.betaln(n / 2, d / 2)
        return front + sp.xlogy(n / 2 - 1, x) - (n + d) / 2 * np.log(d + n * x)

    cdf = lambda x, n, d: sp.fdtr(n, d, x)
    sf = lambda x, n, d: sp.fdtrc(n, d, x)
    ppf = lambda q, n, d: sp.fdtri(n, d, q)
    mean = lambda n, d: np.where(d > 2, d / np.where(d > 2, d - 2, 1.0), INF)
    var = lambda n, d: np.where(d > 4, 2 * d**2 * (n + d - 2) / np.where(d > 4, n * (d - 2) ** 2 * (d - 4), 1.0), INF)


@distribution
class halfnorm(Rule):
    support = positive
    logpdf = lambda x: 0.5 * np.log(2.0 / np.pi) - x * x / 2.0
    cdf = lambda x: sp.erf(x / np.sqrt(2))
    sf = lambda x: 2 * sp.ndtr(-x)
    ppf = lambda q: sp.ndtri((1 + q) / 2.0)
    isf = lambda q: -sp.ndtri(q / 2)
    mean, var = lambda: np.sqrt(2.0 / np.pi), lambda: 1 - 2.0 / np.pi
    entropy = lambda: 0.5 * np.log(np.pi / 2.0) + 0.5


@distribution
class halfcauchy(Rule):
    support = positive
    logpdf = lambda x: np.log(2.0 / np.pi) - np.log1p(x * x)
    cdf = lambda x: 2.0 / np.pi * np.arctan(x)
    sf = lambda x: 2.0 / np.pi * np.arctan2(1.0, x)
    ppf = lambda q: np.tan(np.pi / 2 * q)
    isf = lambda q: 1.0 / np.tan(np.pi / 2 * q)
    mean, var = lambda: INF, lambda: INF
    entropy = lambda: np.log(2 * np.pi)


@distribution
class rayleigh(Rule):
    support = positive
    logpdf = lambda x: np.log(x) - 0.5 * x * x
    cdf = lambda x: -np.expm1(-0.5 * x**2)
    sf = lambda x: np.exp(-0.5 * x**2)
    logsf = lambda x: -0.5 * x * x
    ppf = lambda q: np.sqrt(-2 * np.log1p(-q))
    isf = lambda q: np.sqrt(-2 * np.log(q))
    mean, var = lambda: np.sqrt(np.pi / 2), lambda: (4 - np.pi) / 2
    entropy = lambda: EULER / 2.0 + 1 - 0.5 * np.log(2.0)


@distribution
class maxwell(Rule):
    support = positive
    logpdf = lambda x: 0.5 * np.log(2 / np.pi) + 2 * np.log(x) - 0.5 * x * x
    cdf = lambda x: sp.gammainc(1.5, x * x / 2.0)
    sf = lambda x: sp.gammaincc(1.5, x * x / 2.0)
    ppf = lambda q: np.sqrt(2 * sp.gammaincinv(1.5, q))
    isf = lambda q: np.sqrt(2 * sp.gammainccinv(1.5, q))
    mean, var = lambda: 2 * np.sqrt(2.0 / np.pi), lambda: 3 - 8 / np.pi


@distribution
class pareto(Rule):
    support = lambda b: (1.0, INF)
    logpdf = lambda x, b: np.log(b) - (b + 1) * np.log(x)
    cdf = lambda x, b: 1 - x ** (-b)
    sf = lambda x, b: x ** (-b)
    logsf = lambda x, b: -b * np.log(x)
    ppf = lambda q, b: (1 - q) ** (-1.0 / b)
    isf = lambda q, b: q ** (-1.0 / b)
    mean = lambda b: np.where(b > 1, b / np.where(b > 1, b - 1, 1.0), INF)
    var = lambda b: np.where(b > 2, b / np.where(b > 2, (b - 2) * (b - 1) ** 2, 1.0), INF)


@distribution
class invgauss(Rule):
    support = positive
    inner = True
    logpdf = lambda x, mu: -0.5 * LOG_2PI - 1.5 * np.log(x) - (x / mu - 1) ** 2 / (2 * x)

    def cdf(x, mu):
        r = 1 / np.sqrt(x)
        return sp.ndtr(r * (x / mu - 1)) + np.exp(2 / mu + sp.log_ndtr(-r * (x + mu) / mu))

    def sf(x, mu):
        r = 1 / np.sqrt(x)
        return sp.ndtr(-r * (x / mu - 1)) - np.exp(2 / mu + sp.log_ndtr(-r * (x + mu) / mu))

    mean, var = lambda mu: mu, lambda mu: mu**3


# ---- on an interval ----------------------------------------------------------------------------------------------------------------


@distribution
class uniform(Rule):
    support = unit
    logpdf = lambda x: 0.0 * x
    cdf = lambda x: x
    ppf = lambda q: q
    mean, var = lambda: 0.5, lambda: 1.0 / 12
    entropy = lambda: 0.0


@distribution
class beta(Rule):
    support = unit
    logpdf = lambda x, a, b: sp.xlog1py(b - 1.0, -x) + sp.xlogy(a - 1.0, x) - sp.betaln(a, b)
    cdf = lambda x, a, b: sp.betainc(a, b, x)
    sf = lambda x, a, b: sp.betaincc(a, b, x)
    ppf = lambda q, a, b: sp.betaincinv(a, b, q)
    isf = lambda q, a, b: sp.betainccinv(a, b, q)
    mean = lambda a, b: a / (a + b)
    var = lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1))


@distribution
class powerlaw(Rule):
    support = unit
    logpdf = lambda x, a: np.log(a) + sp.xlogy(a - 1, x)
    cdf = lambda x, a: x ** (a * 1.0)
    logcdf = lambda x, a: a * np.log(x)
    ppf = lambda q, a: q ** (1.0 / a)
    mean = lambda a: a / (a + 1.0)
    var = lambda a: a / (a + 2.0) / (a + 1.0) ** 2


@distribution
class triang(Rule):
    support = unit
    valid = lambda c: (c >= 0) & (c <= 1)

    def logpdf(x, c):
        left = (x < c) | (c == 1)
        return np.log(2.0) + np.log(np.where(left, x, 1 - x)) - np.log(np.where(left, c, 1 - c))

    def cdf(x, c):
        left = (x < c) | (c == 1)
        return np.where(left, x * x / np.where(left, c, 1.0), 1 - (1 - x) ** 2 / np.where(left, 1.0, 1 - c))

    ppf = lambda q, c: np.where(q < c, np.sqrt(c * q), 1 - np.sqrt((1 - c) * (1 - q)))
    mean = lambda c: (c + 1.0) / 3.0
    var = lambda c: (1.0 - c + c * c) / 18


@distribution
class loguniform(Rule):
    support = lambda a, b: (a, b)
    valid = lambda a, b: (a > 0) & (b > a)
    logpdf = lambda x, a, b: -np.log(x) - np.log(np.log(b) - np.log(a))
    cdf = lambda x, a, b: (np.log(x) - np.log(a)) / (np.log(b) - np.log(a))
    ppf = lambda q, a, b: np.exp(np.log(a) + q * (np.log(b) - np.log(a)))
    mean = lambda a, b: (b - a) / (np.log(b) - np.log(a))


RULES["reciprocal"] = loguniform


def _log_mass(a, b):
    """log(ndtr(b) - ndtr(a)), from the nearer tail."""
    right = a > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    top, bottom = sp.log_ndtr(high), sp.log_ndtr(low)
    return top + np.log1p(-np.exp(bottom - top))


@distribution
class truncnorm(Rule):
    support = lambda a, b: (a, b)
    valid = lambda a, b: a < b
    logpdf = lambda x, a, b: norm.logpdf(x) - _log_mass(a, b)
    logcdf = lambda x, a, b: _log_mass(a, x) - _log_mass(a, b)
    logsf = lambda x, a, b: _log_mass(x, b) - _log_mass(a, b)
    cdf = lambda x, a, b: np.exp(_log_mass(a, x) - _log_mass(a, b))
    sf = lambda x, a, b: np.exp(_log_mass(x, b) - _log_mass(a, b))

    def ppf(q, a, b):
        right = a > 0
        low, high, share = np.where(right, -b, a), np.where(right, -a, b), np.where(right, 1 - q, q)
        x = sp.ndtri_exp(np.logaddexp(sp.log_ndtr(low), np.log(share) + _log_mass(a, b)))
        return np.where(right, -x, np.minimum(x, high))


# ---- on the whole numbers ------------------------------------------------------------------------------------------------------------


class Counts(Rule):
    discrete = True


def counts(*shapes):
    return 0, INF


@distribution
class poisson(Counts):
    support = counts
    valid = lambda mu: mu >= 0
    logpmf = lambda k, mu: sp.xlogy(k, mu) - sp.gammaln(k + 1) - mu
    cdf = lambda k, mu: sp.gammaincc(k + 1, mu)
    sf = lambda k, mu: sp.gammainc(k + 1, mu)
    mean, var = lambda mu: mu, lambda mu: mu


@distribution
class binom(Counts):
    support = lambda n, p: (0, n)
    valid = lambda n, p: (n >= 0) & (n == np.floor(n)) & (p >= 0) & (p <= 1)
    logpmf = lambda k, n, p: (
        sp.gammaln(n + 1) - sp.gammaln(k + 1) - sp.gammaln(n - k + 1) + sp.xlogy(k, p) + sp.xlog1py(n - k, -p)
    )
    cdf = lambda k, n, p: sp.betaincc(k + 1.0, n - k, p)
    sf = lambda k, n, p: sp.betainc(k + 1.0, n - k, p)
    mean, var = lambda n, p: n * p, lambda n, p: n * p * (1 - p)


@distribution
class bernoulli(Counts):
    support = lambda p: (0, 1)
    valid = lambda p: (p >= 0) & (p <= 1)
    logpmf = lambda k, p: sp.xlogy(k, p) + sp.xlog1py(1 - k, -p)
    cdf = lambda k, p: np.where(k >= 1, 1.0, 1 - p)
    sf = lambda k, p: np.where(k >= 1, 0.0, p)
    mean, var = lambda p: p, lambda p: p * (1 - p)
    entropy = lambda p: sp.entr(p) + sp.entr(1 - p)


@distribution
class geom(Counts):
    support = lambda p: (1, INF)
    valid = lambda p: (p <= 1) & (p > 0)
    logpmf = lambda k, p: sp.xlog1py(k - 1, -p) + np.log(p)
    cdf = lambda k, p: -np.expm1(np.log1p(-p) * k)
    sf = lambda k, p: np.exp(k * np.log1p(-p))
    logsf = lambda k, p: k * np.log1p(-p)
    mean, var = lambda p: 1.0 / p, lambda p: (1.0 - p) / p / p


@distribution
class nbinom(Counts):
    support = counts
    valid = lambda n, p: (n > 0) & (p > 0) & (p <= 1)
    logpmf = lambda k, n, p: sp.gammaln(n + k) - sp.gammaln(k + 1) - sp.gammaln(n) + n * np.log(p) + sp.xlog1py(k, -p)
    cdf = lambda k, n, p: sp.betainc(n, k + 1.0, p)
    sf = lambda k, n, p: sp.betaincc(n, k + 1.0, p)
    mean, var = lambda n, p: n * (1 - p) / p, lambda n, p: n * (1 - p) / (p * p)


@distribution
class randint(Counts):
    support = lambda low, high: (low, high - 1)
    valid = lambda low, high: high > low
    logpmf = lambda k, low, high: -np.log(high - low) + 0.0 * k
    cdf = lambda k, low, high: (np.floor(k) - low + 1.0) / (high - low)
    mean = lambda low, high: (low + high - 1) / 2
    var = lambda low, high: ((high - low) ** 2 - 1) / 12
