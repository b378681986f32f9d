"""Descriptive statistics of samples, as scipy.stats has them: means, moments, ranks, quantiles, transformations, counts in bins."""

from collections import namedtuple

import numpy as np
from scipy import special as sp

from irad.errors import UnsupportedError
from irad.frontend.library.optimize.minima import minimize_scalar
from irad.frontend.registry import written


def refuse_policy(nan_policy):
    """Only "propagate" is compiled."""
    if nan_policy != "propagate":
        raise UnsupportedError(
            f"nan_policy={nan_policy!r} of scipy.stats: only 'propagate'; take the numbers with x[~np.isnan(x)]"
        )


def count(a, axis):
    """The number of elements along an axis, or of all."""
    return a.size if axis is None else a.shape[axis]


def _lines(a, axis):
    """a with the axis last, as rows; and the shape without that axis."""
    a = a.reshape(-1) if axis is None else np.moveaxis(a, axis, -1)
    return a.reshape((-1, a.shape[-1])), a.shape[:-1]


# ---- means and moments ---------------------------------------------------------------------------------------------------------------


@written("scipy.stats.zscore")
def zscore(a, axis=0, ddof=0, nan_policy="propagate"):
    refuse_policy(nan_policy)
    return (a - np.mean(a, axis, keepdims=True)) / np.std(a, axis, ddof=ddof, keepdims=True)


@written("scipy.stats.zmap")
def zmap(scores, compare, axis=0, ddof=0, nan_policy="propagate"):
    refuse_policy(nan_policy)
    return (scores - np.mean(compare, axis, keepdims=True)) / np.std(compare, axis, ddof=ddof, keepdims=True)


@written("scipy.stats.sem")
def sem(a, axis=0, ddof=1, nan_policy="propagate", *, keepdims=False):
    """scipy.stats.sem: the standard error of the mean."""
    refuse_policy(nan_policy)
    a = np.asarray(a)
    return np.std(a, axis, ddof=ddof, keepdims=keepdims) / np.sqrt(count(a, axis))


@written("scipy.stats.gmean")
def gmean(a, axis=0, dtype=None, weights=None, *, nan_policy="propagate", keepdims=False):
    refuse_policy(nan_policy)
    return np.exp(np.average(np.log(np.asarray(a, dtype)), axis, weights, keepdims=keepdims))


@written("scipy.stats.hmean")
def hmean(a, axis=0, dtype=None, *, weights=None, nan_policy="propagate", keepdims=False):
    refuse_policy(nan_policy)
    return 1.0 / np.average(1.0 / np.asarray(a, dtype), axis, weights, keepdims=keepdims)


@written("scipy.stats.pmean")
def pmean(a, p, *, axis=0, dtype=None, weights=None, nan_policy="propagate", keepdims=False):
    """scipy.stats.pmean; that of power 0 is the geometric one."""
    refuse_policy(nan_policy)
    if p == 0:
        return gmean(a, axis, dtype, weights, keepdims=keepdims)
    return np.average(np.asarray(a, dtype) ** p, axis, weights, keepdims=keepdims) ** (1.0 / p)


@written("scipy.stats.variation")
def variation(a, axis=0, nan_policy="propagate", ddof=0, *, keepdims=False):
    refuse_policy(nan_policy)
    a = np.asarray(a) + 0.0
    mean, n = np.mean(a, axis, keepdims=keepdims), count(a, axis)
    if n == ddof:
        return np.where(np.std(a, axis, keepdims=keepdims) > 0, np.copysign(np.inf, mean), np.nan)[()]
    return np.std(a, axis, ddof=ddof, keepdims=keepdims) / mean


@written("scipy.stats.moment")
def moment(a, order=1, axis=0, nan_policy="propagate", *, center=None, keepdims=False):
    """scipy.stats.moment; of several orders along a new first axis."""
    refuse_policy(nan_policy)
    a = np.asarray(a) + 0.0
    if np.ndim(order):
        return np.stack([moment(a, k, axis, center=center, keepdims=keepdims) for k in order])
    if order != int(order):
        raise ValueError("All elements of `order` must be integral.")
    if order == 1 and center is None:
        return np.zeros_like(np.mean(a, axis, keepdims=keepdims))[()]
    mean = np.mean(a, axis, keepdims=True) if center is None else center
    return np.mean((a - mean) ** int(order), axis, keepdims=keepdims)


def _moments_along(a, k, axis, keepdims=False):
    """The number of elements, the central moments 2 and k, the first one NaN where all elements are equal but for rounding."""
    a = np.asarray(a) + 0.0
    mean = np.mean(a, axis, keepdims=True)
    second, rest = np.mean((a - mean) ** 2, axis, keepdims=keepdims), np.mean((a - mean) ** k, axis, keepdims=keepdims)
    equal = second <= (np.finfo(a.dtype).eps * np.mean(a, axis, keepdims=keepdims)) ** 2
    return count(a, axis), np.where(equal, np.nan, second)[()], rest


@written("scipy.stats.skew")
def skew(a, axis=0, bias=True, nan_policy="propagate", *, keepdims=False):
    refuse_policy(nan_policy)
    n, second, third = _moments_along(a, 3, axis, keepdims)
    return third / second**1.5 * (1.0 if bias or n <= 2 else np.sqrt((n - 1.0) * n) / (n - 2.0))


@written("scipy.stats.kurtosis")
def kurtosis(a, axis=0, fisher=True, bias=True, nan_policy="propagate", *, keepdims=False):
    refuse_policy(nan_policy)
    n, second, fourth = _moments_along(a, 4, axis, keepdims)
    v = fourth / second**2
    if not bias and n > 3:
        v = ((n**2 - 1.0) * v - 3 * (n - 1) ** 2.0) / (n - 2) / (n - 3) + 3.0
    return v - 3.0 if fisher else v


Description = namedtuple("DescribeResult", ["nobs", "minmax", "mean", "variance", "skewness", "kurtosis"])


@written("scipy.stats.describe")
def describe(a, axis=0, ddof=1, bias=True, nan_policy="propagate"):
    refuse_policy(nan_policy)
    a = np.asarray(a)
    if a.size == 0:
        raise ValueError("The input must not be empty.")
    ends = (np.min(a, axis), np.max(a, axis))
    spread = np.var(a, axis, ddof=ddof)
    return Description(count(a, axis), ends, np.mean(a, axis), spread, skew(a, axis, bias), kurtosis(a, axis, bias=bias))


@written("scipy.stats.entropy")
def entropy_of(pk, qk=None, base=None, axis=0, *, nan_policy="propagate", keepdims=False):
    """scipy.stats.entropy, of one distribution or of one relative to another."""
    refuse_policy(nan_policy)
    p = pk / np.sum(pk, axis, keepdims=True)
    v = sp.entr(p) if qk is None else sp.rel_entr(p, qk / np.sum(qk, axis, keepdims=True))
    v = np.sum(v, axis, keepdims=keepdims)
    return v if base is None else v / np.log(base)


# ---- order -----------------------------------------------------------------------------------------------------------------------------


def _rank_row(x, method):
    order = np.argsort(x, kind="stable")
    if method == "ordinal":
        ranks = np.zeros(len(x), np.int64)
        ranks[order] = np.arange(1, len(x) + 1)
        return ranks
    s = x[order]
    before = np.searchsorted(s, x, side="left")
    if method == "min":
        return before + 1
    if method == "dense":
        return np.cumsum(np.concatenate(([1], (s[1:] != s[:-1]).astype(np.int64))))[np.minimum(before, len(x) - 1)]
    upto = np.searchsorted(s, x, side="right")
    return upto if method == "max" else 0.5 * (before + upto + 1)


@written("scipy.stats.rankdata")
def rankdata(a, method="average", *, axis=None, nan_policy="propagate"):
    """scipy.stats.rankdata. With a NaN all ranks are NaN; ValueError for methods whose ranks are whole numbers."""
    refuse_policy(nan_policy)
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f'unknown method "{method}"')
    a = np.asarray(a)
    rows, _ = _lines(a, axis)
    if method != "average" and a.dtype.kind == "f" and np.any(np.isnan(rows)):
        raise ValueError("scipy.stats.rankdata: whole numbers as ranks of numbers with a NaN; use method='average'")
    out = np.zeros(rows.shape, np.float64 if method == "average" else np.int64)
    for k in range(len(rows)):
        out[k] = _rank_row(rows[k], method)
    if method == "average" and a.dtype.kind == "f":
        out = np.where(np.any(np.isnan(rows), axis=1, keepdims=True), np.nan, out)
    if axis is None:
        return out.reshape(-1)
    return np.moveaxis(out.reshape(np.moveaxis(a, axis, -1).shape), -1, axis)


@written("scipy.stats.iqr")
def iqr(x, axis=None, rng=(25, 75), scale=1.0, nan_policy="propagate", interpolation="linear", keepdims=False):
    refuse_policy(nan_policy)
    if len(rng) != 2:
        raise TypeError("quantile range must be two element sequence")
    if isinstance(scale, str):
        if scale != "normal":
            raise ValueError(f"{scale} not a valid scale for `iqr`")
        scale = 2 * np.sqrt(2) * sp.erfinv(0.5)
    low, high = np.percentile(x, sorted(rng), axis, method=interpolation, keepdims=keepdims)
    return (high - low) / scale


@written("scipy.stats.median_abs_deviation", always=True)
def median_abs_deviation(x, axis=0, center=None, scale=1.0, nan_policy="propagate", *, keepdims=False):
    refuse_policy(nan_policy)
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} is not a valid scale value.")
        scale = 0.6744897501960817
    x = np.asarray(x)
    if axis is None:
        middle = np.median(x) if center is None else center(x, axis=None)
    else:
        middle = np.expand_dims(np.median(x, axis=axis) if center is None else center(x, axis=axis), axis)
    return np.median(np.abs(x - middle), axis=axis, keepdims=keepdims) / scale


def _trimmed(a, share, axis, left, right):
    """The sorted numbers without a share of them at the left end, and at the right one."""
    a = np.sort(a, axis)
    n, cut = a.shape[axis], int(share * a.shape[axis])
    return np.moveaxis(np.moveaxis(a, axis, 0)[cut * left : n - cut * right], 0, axis)


@written("scipy.stats.trim_mean")
def trim_mean(a, proportiontocut, axis=0, *, nan_policy="propagate", keepdims=False):
    refuse_policy(nan_policy)
    a = np.asarray(a)
    flat, axis = (a.reshape(-1), 0) if axis is None else (a, axis)
    if 2 * int(proportiontocut * flat.shape[axis]) > flat.shape[axis]:
        raise ValueError("Proportion too big.")
    v = np.mean(_trimmed(flat, proportiontocut, axis, 1, 1), axis, keepdims=keepdims)
    return v.reshape((1,) * a.ndim) if keepdims else v


Mode = namedtuple("ModeResult", ["mode", "count"])


@written("scipy.stats.mode")
def mode(a, axis=0, nan_policy="propagate", keepdims=False):
    """scipy.stats.mode: the smallest of the most frequent values; NaNs are one of them."""
    refuse_policy(nan_policy)
    a = np.asarray(a)
    rows, shape = _lines(a, axis)
    found, counts = np.zeros(len(rows), a.dtype), np.zeros(len(rows), np.int64)
    for k in range(len(rows)):
        s = np.sort(rows[k])
        often = np.searchsorted(s, s, side="right") - np.searchsorted(s, s, side="left")
        at = np.argmax(often)
        found[k], counts[k] = s[at], often[at]
    if keepdims:
        shape = tuple([1 if axis is None or d == axis % a.ndim else n for d, n in enumerate(a.shape)])
    return Mode(found.reshape(shape)[()], counts.reshape(shape)[()])


@written("scipy.stats.percentileofscore")
def percentileofscore(a, score, kind="rank", nan_policy="propagate"):
    refuse_policy(nan_policy)
    a, score = np.asarray(a), np.asarray(score)
    if a.ndim != 1:
        raise ValueError("`a` must be 1-dimensional.")
    below = np.count_nonzero(a < score[..., None], -1) + 0.0
    upto = np.count_nonzero(a <= score[..., None], -1) + 0.0
    shares = {
        "rank": (below + upto + (below < upto)) * 50.0, "strict": below * 100.0, "weak": upto * 100.0, "mean": (below + upto) * 50.0,
    }  # fmt: skip
    if kind not in shares:
        raise ValueError("kind can only be 'rank', 'strict', 'weak' or 'mean'")
    unknown = np.isnan(score * 1.0) | np.any(np.isnan(a * 1.0))
    return np.where(unknown, np.nan, shares[kind] / max(len(a), 1))[()]


# ---- distances of samples ----------------------------------------------------------------------------------------------------------------


def _cumulative_shares(values, weights, at):
    order = np.argsort(values)
    upto = np.searchsorted(values[order], at, side="right")
    if weights is None:
        return upto / len(values)
    sums = np.concatenate((np.zeros(1), np.cumsum(np.asarray(weights)[order])))
    return sums[upto] / sums[-1]


def _between(u, v, u_weights, v_weights):
    """Where the two distribution functions change: by how much they differ from there to the next place, and how far that is."""
    u, v = np.ravel(u) + 0.0, np.ravel(v) + 0.0
    every = np.sort(np.concatenate((u, v)))
    apart = _cumulative_shares(u, u_weights, every[:-1]) - _cumulative_shares(v, v_weights, every[:-1])
    return apart, np.diff(every)


@written("scipy.stats.wasserstein_distance")
def wasserstein_distance(u_values, v_values, u_weights=None, v_weights=None):
    apart, gaps = _between(u_values, v_values, u_weights, v_weights)
    return np.sum(np.abs(apart) * gaps)


@written("scipy.stats.energy_distance")
def energy_distance(u_values, v_values, u_weights=None, v_weights=None):
    apart, gaps = _between(u_values, v_values, u_weights, v_weights)
    return np.sqrt(2) * np.sqrt(np.sum(np.square(apart) * gaps))


# ---- Box and Cox's transformation ----------------------------------------------------------------------------------------------------------


@written("scipy.stats.boxcox_llf")
def boxcox_llf(lmb, data, *, axis=0, keepdims=False, nan_policy="propagate"):
    refuse_policy(nan_policy)
    logs = np.log(data)
    spread = np.var(sp.boxcox(np.asarray(data) + 0.0, lmb), axis, keepdims=keepdims)
    return (lmb - 1) * np.sum(logs, axis, keepdims=keepdims) - count(logs, axis) / 2 * np.log(spread)


@written("scipy.stats.boxcox")
def boxcox(x, lmbda=None, alpha=None, optimizer=None):
    """scipy.stats.boxcox: of a given lmbda, else (the numbers, the lmbda of the largest likelihood, found from -2 to 2 as SciPy does)."""
    if alpha is not None or optimizer is not None:
        raise UnsupportedError("scipy.stats.boxcox with alpha= or optimizer=: leave them out")
    x = np.asarray(x) + 0.0
    if lmbda is not None:
        return sp.boxcox(x, lmbda)
    if x.ndim != 1:
        raise ValueError("Data must be 1-dimensional.")
    if np.any(x <= 0):
        raise ValueError("Data must be positive.")
    if np.all(x == x[0]):
        raise ValueError("Data must not be constant.")
    best = minimize_scalar(lambda lmb: -boxcox_llf(lmb, x), (-2.0, 2.0)).x
    return sp.boxcox(x, best), best
