"""Correlations, regression and tests of hypotheses, as scipy.stats has them: a statistic, and how probable a larger one is."""

from collections import namedtuple

import numpy as np
from scipy import special as sp

from irad.errors import UnsupportedError
from irad.frontend.library.stats.samples import count, kurtosis, rankdata, refuse_policy, skew
from irad.frontend.registry import written

_Pair = namedtuple("SignificanceResult", ["statistic", "pvalue"])
Interval = namedtuple("ConfidenceInterval", ["low", "high"])


def _pvalue(statistic, below, alternative):
    """Of a statistic whose distribution function `below` is that of a symmetric distribution."""
    if alternative == "two-sided":
        return 2 * below(-np.abs(statistic))
    if alternative == "less":
        return below(statistic)
    if alternative == "greater":
        return below(-statistic)
    raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")


# ---- correlations --------------------------------------------------------------------------------------------------------------------


class Correlation(_Pair):
    """(statistic, pvalue), and the first under its old name."""

    @property
    def correlation(self):
        return self.statistic


class Pearson(Correlation):
    """What scipy.stats.pearsonr gives."""

    def __new__(cls, r, p, n, alternative):
        self = super().__new__(cls, r, p)
        self.n, self.alternative = n, alternative
        return self

    def confidence_interval(self, confidence_level=0.95, method=None):
        """By Fisher's transformation."""
        if method is not None:
            raise UnsupportedError("scipy.stats.pearsonr: confidence_interval without method=")
        low, high = -1.0 + 0.0 * self.statistic, 1.0 + 0.0 * self.statistic
        if self.n > 3:
            z, width = np.arctanh(self.statistic), np.sqrt(1.0 / (self.n - 3))
            two = self.alternative == "two-sided"
            h = width * sp.ndtri(0.5 + confidence_level / 2 if two else confidence_level)
            low = low if self.alternative == "less" else np.tanh(z - h)
            high = high if self.alternative == "greater" else np.tanh(z + h)
        return Interval(low, high)


def _unit(x):
    """Deviations from the mean along the last axis, of length 1."""
    d = x - np.mean(x, -1, keepdims=True)
    return d / np.sqrt(np.sum(d * d, -1, keepdims=True))


@written("scipy.stats.pearsonr")
def pearsonr(x, y, *, alternative="two-sided", method=None, axis=0):
    if method is not None:
        raise UnsupportedError("scipy.stats.pearsonr with method=: leave it out")
    x, y = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    if axis is None:
        x, y, axis = x.reshape(-1), y.reshape(-1), 0
    x, y = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError("`x` and `y` must have the same length along `axis`.")
    n = x.shape[-1]
    if n < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    constant = np.all(x == x[..., :1], -1) | np.all(y == y[..., :1], -1)
    r = np.clip(np.sum(_unit(x) * _unit(y), -1), -1.0, 1.0)
    if n == 2:
        r, p = np.sign(r), np.ones_like(r)
    else:
        half = n / 2 - 1
        p = _pvalue(r, lambda v: sp.betainc(half, half, 0.5 * (1 + v)), alternative)
    return Pearson(np.where(constant, np.nan, r)[()], np.where(constant, np.nan, p)[()], n, alternative)


@written("scipy.stats.spearmanr")
def spearmanr(a, b=None, axis=0, nan_policy="propagate", alternative="two-sided"):
    """scipy.stats.spearmanr: of two variables numbers, of more matrices."""
    refuse_policy(nan_policy)
    a = np.asarray(a)
    columns = lambda v: v.reshape((-1, 1)) if v.ndim < 2 or axis is None else (v if axis == 0 else v.T)
    if b is None and a.ndim < 2:
        raise ValueError("`spearmanr` needs at least 2 variables to compare")
    a = columns(a) if b is None else np.concatenate((columns(a), columns(np.asarray(b))), axis=1)
    n = len(a)
    ranks = rankdata(a, axis=0)
    unit = _unit(ranks.T)
    rs = np.clip(unit @ unit.T, -1.0, 1.0)
    t = rs * np.sqrt((n - 2) / ((rs + 1.0) * (1.0 - rs)))
    p = _pvalue(t, lambda v: sp.stdtr(n - 2.0, v), alternative)
    return Correlation(rs[1, 0], p[1, 0]) if a.shape[1] == 2 else Correlation(rs, p)


def _inversions(n):
    """How many permutations of n have 0, 1, 2 ... pairs in the wrong order, as shares of all."""
    shares = np.ones(1)
    for k in range(2, n + 1):
        shares = np.convolve(shares, np.full(k, 1.0 / k))
    return shares


def _ties(x):
    """The sum over groups of t equal numbers of t (t - 1) / 2, t (t - 1) (t - 2), t (t - 1) (2 t + 5)."""
    s = np.sort(x)
    t = (np.searchsorted(s, s, side="right") - np.searchsorted(s, s, side="left")) * 1.0  # a group has t terms
    return np.sum((t - 1) / 2), np.sum((t - 1) * (t - 2)), np.sum((t - 1) * (2 * t + 5))


def _kendall_exact(n, upright, alternative):
    """The probability of so many pairs in the right order, or of more, or fewer."""
    if n > 33:  # a number of pairs near one of the ends, whose share is that of the first two
        fewest = np.minimum(upright, n * (n - 1) // 2 - upright)
        share = np.exp(np.where(fewest == 0, 0.0, np.log(n)) - sp.gammaln(n + 1.0))
        low = upright == fewest
        if alternative == "two-sided":
            return np.minimum(2 * share, 1.0)
        return np.where(low == (alternative == "less"), share, 1.0)
    upto = np.cumsum(_inversions(n))
    below = upto[upright]
    above = upto[len(upto) - 1 - upright]
    if alternative == "less":
        return below
    return above if alternative == "greater" else np.minimum(1.0, 2 * np.minimum(below, above))


@written("scipy.stats.kendalltau")
def kendalltau(x, y, *, nan_policy="propagate", method="auto", variant="b", alternative="two-sided", axis=None, keepdims=False):
    """scipy.stats.kendalltau of one pair of samples."""
    refuse_policy(nan_policy)
    if axis is not None or keepdims:
        raise UnsupportedError("scipy.stats.kendalltau with axis= or keepdims=: call it for each pair of samples")
    if method not in ("auto", "exact", "asymptotic"):
        raise ValueError(f"Unknown method {method} specified.  Use 'auto', 'exact' or 'asymptotic'.")
    if variant not in ("b", "c"):
        raise ValueError(f"Unknown variant of the method chosen: {variant}. variant must be 'b' or 'c'.")
    x, y = np.ravel(x), np.ravel(y)
    if len(x) != len(y):
        raise ValueError("Array shapes are incompatible for broadcasting.")
    n = len(x)
    difference = together = 0.0
    for k in np.arange(n):
        sides = np.sign(x[k] - x) * np.sign(y[k] - y)
        difference, together = difference + np.sum(sides), together + np.sum((x[k] == x) & (y[k] == y))
    difference, tie = difference / 2, (together - n) / 2
    (x_tie, x0, x1), (y_tie, y0, y1) = _ties(x), _ties(y)
    total = n * (n - 1) / 2
    if variant == "b":
        tau = difference / np.sqrt(total - x_tie) / np.sqrt(total - y_tie)
    else:
        classes = np.minimum(1 + np.sum(np.diff(np.sort(x)) != 0), 1 + np.sum(np.diff(np.sort(y)) != 0))
        tau = 2 * difference / (n**2 * (classes - 1) / classes)
    m = n * (n - 1.0)
    wrong = (total - x_tie - y_tie + tie - difference) / 2
    variance = (m * (2 * n + 5) - x1 - y1) / 18 + 2 * x_tie * y_tie / m + x0 * y0 / (9 * m * (n - 2))
    p = _pvalue(difference / np.sqrt(variance), sp.ndtr, alternative)
    if method != "asymptotic":
        none = (x_tie == 0) & (y_tie == 0)
        if method == "exact" and not none:
            raise ValueError("Ties found, exact method cannot be used.")
        exact = none & ((n <= 33) | (np.minimum(wrong, total - wrong) <= 1))
        if method == "exact" and n > 33 and not exact:
            raise UnsupportedError("scipy.stats.kendalltau of more than 33 pairs with method='exact': use 'auto'")
        upright = np.where(none, total - wrong, 0.0).astype(np.int64)
        p = np.where(exact, _kendall_exact(n, upright, alternative), p)
    constant = (x_tie == total) | (y_tie == total)
    return Correlation(np.where(constant, np.nan, np.clip(tau, -1.0, 1.0))[()], np.where(constant, np.nan, p)[()])


# ---- lines -----------------------------------------------------------------------------------------------------------------------------


class Regression(namedtuple("LinregressResult", ["slope", "intercept", "rvalue", "pvalue", "stderr"])):
    """What scipy.stats.linregress gives."""

    def __new__(cls, slope, intercept, rvalue, pvalue, stderr, intercept_stderr):
        self = super().__new__(cls, slope, intercept, rvalue, pvalue, stderr)
        self.intercept_stderr = intercept_stderr
        return self


@written("scipy.stats.linregress")
def linregress(x, y, alternative="two-sided", *, axis=0, nan_policy="propagate", keepdims=False):
    """scipy.stats.linregress of one pair of samples."""
    refuse_policy(nan_policy)
    if axis != 0 or keepdims:
        raise UnsupportedError("scipy.stats.linregress with axis= or keepdims=: call it for each pair of samples")
    x, y = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    if x.size == 0 or y.size == 0:
        raise ValueError("Inputs must not be empty.")
    if np.max(x) == np.min(x) and len(x) > 1:
        raise ValueError("Cannot calculate a linear regression if all x values are identical")
    n, x_mean, y_mean = len(x), np.mean(x), np.mean(y)
    xx, xy, yy = np.mean((x - x_mean) ** 2), np.mean((x - x_mean) * (y - y_mean)), np.mean((y - y_mean) ** 2)
    flat = yy == 0
    r = np.where(flat, np.nan, np.clip(xy / np.sqrt(xx * np.where(flat, 1.0, yy)), -1.0, 1.0))[()]
    slope = xy / xx
    intercept = y_mean - slope * x_mean
    if n == 2:
        return Regression(slope, intercept, r, np.where(y[0] == y[1], 1.0, 0.0)[()], 0.0, 0.0)
    t = r * np.sqrt((n - 2) / ((1.0 - r + 1e-20) * (1.0 + r + 1e-20)))
    p = _pvalue(t, lambda v: sp.stdtr(n - 2.0, v), alternative)
    error = np.sqrt((1 - r**2) * yy / xx / (n - 2))
    return Regression(slope, intercept, r, p, error, error * np.sqrt(xx + x_mean**2))


# ---- means -------------------------------------------------------------------------------------------------------------------------------


class TTest(namedtuple("TtestResult", ["statistic", "pvalue"])):
    """What the t tests give."""

    def __new__(cls, t, p, df, estimate, error, alternative):
        self = super().__new__(cls, t, p)
        self.df, self._estimate, self._error, self._alternative = df, estimate, error, alternative
        return self

    def confidence_interval(self, confidence_level=0.95):
        """Of the mean, or of the difference of means."""
        if self._alternative == "two-sided":
            h = sp.stdtrit(self.df, 0.5 + confidence_level / 2) * self._error
            return Interval(self._estimate - h, self._estimate + h)
        h = sp.stdtrit(self.df, confidence_level) * self._error
        if self._alternative == "less":
            return Interval(self._estimate * 0.0 - np.inf, self._estimate + h)
        return Interval(self._estimate - h, self._estimate * 0.0 + np.inf)


def _t_test(estimate, against, error, df, alternative):
    t = (estimate - against) / error
    return TTest(t, _pvalue(t, lambda v: sp.stdtr(df, v), alternative), df, estimate, error, alternative)


@written("scipy.stats.ttest_1samp")
def ttest_1samp(a, popmean, axis=0, nan_policy="propagate", alternative="two-sided", *, keepdims=False):
    refuse_policy(nan_policy)
    a = np.asarray(a) + 0.0
    n = count(a, axis)
    error = np.std(a, axis, ddof=1, keepdims=keepdims) / np.sqrt(n)
    return _t_test(np.mean(a, axis, keepdims=keepdims), popmean, error, n - 1.0, alternative)


@written("scipy.stats.ttest_rel")
def ttest_rel(a, b, axis=0, nan_policy="propagate", alternative="two-sided", *, keepdims=False):
    a, b = np.asarray(a) + 0.0, np.asarray(b) + 0.0
    if a.shape != b.shape:
        raise ValueError("unequal length arrays")
    return ttest_1samp(a - b, 0.0, axis, nan_policy, alternative, keepdims=keepdims)


@written("scipy.stats.ttest_ind")
def ttest_ind(
    a, b, *, axis=0, equal_var=True, nan_policy="propagate", alternative="two-sided", trim=0, method=None, keepdims=False
):
    """scipy.stats.ttest_ind, Student's and Welch's."""
    refuse_policy(nan_policy)
    if trim != 0 or method is not None:
        raise UnsupportedError("scipy.stats.ttest_ind with trim= or method=: leave them out")
    a, b = np.asarray(a) + 0.0, np.asarray(b) + 0.0
    n, m = count(a, axis), count(b, axis)
    v, w = np.var(a, axis, ddof=1, keepdims=keepdims), np.var(b, axis, ddof=1, keepdims=keepdims)
    if equal_var:
        df = n + m - 2.0
        error = np.sqrt(((n - 1) * v + (m - 1) * w) / df * (1.0 / n + 1.0 / m))
    else:
        v, w = v / n, w / m
        df, error = (v + w) ** 2 / (v**2 / (n - 1) + w**2 / (m - 1)), np.sqrt(v + w)
    return _t_test(np.mean(a, axis, keepdims=keepdims) - np.mean(b, axis, keepdims=keepdims), 0.0, error, df, alternative)


FTest = namedtuple("F_onewayResult", ["statistic", "pvalue"])


@written("scipy.stats.f_oneway")
def f_oneway(*samples, axis=0, equal_var=True, nan_policy="propagate", keepdims=False):
    """scipy.stats.f_oneway: of equal variances, and Welch's of others."""
    refuse_policy(nan_policy)
    if len(samples) < 2:
        raise TypeError(f"at least two inputs are required; got {len(samples)}.")
    if keepdims or axis is None:
        raise UnsupportedError("scipy.stats.f_oneway with keepdims= or axis=None: leave them out")
    groups = [np.moveaxis(np.asarray(s) + 0.0, axis, -1) for s in samples]
    k, sizes = len(groups), [g.shape[-1] for g in groups]
    middles, total = [np.mean(g, -1, keepdims=True) for g in groups], sum(sizes)
    means = [m[..., 0] for m in middles]
    weights = sizes if equal_var else [n / np.var(g, -1, ddof=1) for n, g in zip(sizes, groups)]
    whole = sum(weights)
    overall = sum([w * m for w, m in zip(weights, means)]) / whole
    between = sum([w * (m - overall) ** 2 for w, m in zip(weights, means)]) / (k - 1)
    if equal_var:
        within = sum([np.sum((g - m) ** 2, -1) for g, m in zip(groups, middles)]) / (total - k)
        f, df = between / within, total - k + 0.0
    else:
        spread = sum([(1 - w / whole) ** 2 / (n - 1) for n, w in zip(sizes, weights)])
        f, df = between / (1 + 2 * (k - 2) / (k**2 - 1) * spread), (k**2 - 1) / (3 * spread)
    return FTest(f, sp.fdtrc(k - 1.0, df, f))


# ---- shapes and frequencies ------------------------------------------------------------------------------------------------------------------

Jarque = namedtuple("SignificanceResult", ["statistic", "pvalue"])
Power = namedtuple("Power_divergenceResult", ["statistic", "pvalue"])


@written("scipy.stats.jarque_bera")
def jarque_bera(x, *, axis=None, nan_policy="propagate", keepdims=False):
    refuse_policy(nan_policy)
    x = np.asarray(x) + 0.0
    n = count(x, axis)
    s, k = skew(x, axis, keepdims=keepdims), kurtosis(x, axis, keepdims=keepdims)
    v = n / 6.0 * (s**2 + k**2 / 4.0)
    return Jarque(v, sp.chdtrc(2.0, v))


@written("scipy.stats.chisquare")
def chisquare(f_obs, f_exp=None, ddof=0, axis=0, *, sum_check=True, nan_policy="propagate", keepdims=False):
    refuse_policy(nan_policy)
    seen = np.asarray(f_obs) + 0.0
    if f_exp is None:
        expected = np.mean(seen, axis, keepdims=True)
    else:
        expected = np.asarray(f_exp) + 0.0
        if sum_check:
            a, b = np.sum(seen, axis), np.sum(np.broadcast_to(expected, seen.shape), axis)
            if np.any(np.abs(a - b) > 1.4901161193847656e-08 * np.minimum(a, b)):
                raise ValueError(
                    "For each axis slice, the sum of the observed frequencies must agree with that of the expected ones"
                )
    v = np.sum((seen - expected) ** 2 / expected, axis, keepdims=keepdims)
    return Power(v, sp.chdtrc(count(seen, axis) - 1.0 - ddof, v))
