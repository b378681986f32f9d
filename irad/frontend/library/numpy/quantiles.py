"""Order statistics: medians, quantiles, percentiles, and those without NaN."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.registry import known, refuse_keywords, written


def _is_known(x):
    """Is x one number, and known?"""
    return np.ndim(x) == 0 and known(x)


def _lines(x, axis):
    """The axes that are reduced as a last one, sorted along it; and the shape of a result that keeps them."""
    shape = np.any(x, axis, None, True).shape  # refuses axes that are not there
    axes = [k % x.ndim for k in ([*axis] if isinstance(axis, (tuple, list)) else range(x.ndim) if axis is None else [axis])]
    if len(axes) == 1:
        return np.sort(np.moveaxis(x, axes[0], -1)), shape
    rest, n = [k for k in range(x.ndim) if k not in axes], 1
    for k in axes:
        n = n * x.shape[k]
    return np.sort(np.reshape(np.transpose(x, rest + sorted(axes)), [x.shape[k] for k in rest] + [n])), shape


def _kept(v, shape, keepdims):
    return np.reshape(v, shape) if keepdims else v[()]


def _pick(s, at, count=None):
    """Element `at`, one number or one for each row, of each last axis, at most the last one that counts. 0 if there is none at all."""
    n = s.shape[-1]
    if _is_known(at) and known(n):
        return s[..., at]
    last = np.minimum(n if count is None else count, n) - 1
    at = np.maximum(np.minimum(np.asarray(at).astype(np.int64), last), 0)
    if not known(n):
        s = np.concatenate((s, np.zeros(s.shape[:-1] + (1,), s.dtype)), -1)
    return np.take_along_axis(s, np.broadcast_to(at, s.shape[:-1])[..., None], -1)[..., 0]


# ---- medians ------------------------------------------------------------------------------------------------------------------------


@written("numpy.median")
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The mean of the two middle elements (of one, if the number is odd); NaN if there is one."""
    x = np.asarray(a)
    s, shape = _lines(x, axis)
    n, dtype = s.shape[-1], x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64)
    if known(n) and n == 0:
        return _kept(np.full(s.shape[:-1], np.nan, dtype), shape, keepdims)
    work = s.astype(np.float32 if dtype == np.float16 else dtype)
    upper = _pick(work, n // 2)
    if not known(n):
        v = np.where(n % 2 == 1, upper, (_pick(work, (n - 1) // 2) + upper) / 2).astype(dtype)
    else:
        v = (upper if n % 2 else (_pick(work, n // 2 - 1) + upper) / 2).astype(dtype)
    if x.dtype.kind in "fc":
        end = _pick(s, n - 1)
        v = np.where(np.isnan(end), end, v)
    return _kept(v if known(n) else np.where(n == 0, np.array(np.nan, dtype), v), shape, keepdims)


@written("numpy.nanmedian")
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """NaN where there is nothing else."""
    x = np.asarray(a)
    if x.dtype.kind == "c":
        raise UnsupportedError("np.nanmedian of complex numbers: take out the NaN and use np.median")
    if x.dtype.kind != "f":
        return np.median(x, axis, keepdims=keepdims)
    s, shape = _lines(x, axis)
    if 0 in x.shape:
        return _kept(np.full(s.shape[:-1], np.nan, x.dtype), shape, keepdims)
    count = np.sum(~np.isnan(s), -1)
    work = s.astype(np.float32) if x.dtype == np.float16 else s
    low, high = _pick(work, (count - 1) // 2), _pick(work, count // 2, count)
    v = np.where(low == high, low.astype(x.dtype), ((low + high) / 2).astype(x.dtype))
    return _kept(_nan_of_none(v, count), shape, keepdims)


def _nan_of_none(v, count):
    return np.where(count == 0, np.array(np.nan, v.dtype), v)


# ---- quantiles ----------------------------------------------------------------------------------------------------------------------


def _plotting(alpha, beta):
    """Hyndman and Fan (1996): position n*q + alpha + q*(1 - alpha - beta) - 1 in the sorted sample."""
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _averaged(n, q):
    """Half way to the next element where n*q is whole, else the next element."""
    at = n * q - 1.0
    return np.where(at == np.floor(at), at + 0.5, np.ceil(at))[()]


def _closest(n, q):
    """The nearest element, counted from 1; the even one of two."""
    at = n * q - 1.5
    low = np.floor(at)
    return np.where((at == low) & (low % 2.0 == 1.0), low, low + 1.0)[()]


# Methods that give an element of the sample, in its own dtype
_PICKS = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")
_POSITION = {
    "linear": lambda n, q: (n - 1.0) * q,
    "lower": lambda n, q: np.floor((n - 1.0) * q),
    "higher": lambda n, q: np.ceil((n - 1.0) * q),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1.0) * q) + np.ceil((n - 1.0) * q)),
    "nearest": lambda n, q: np.rint((n - 1.0) * q),
    "inverted_cdf": lambda n, q: np.ceil(n * q - 1.0),
    "averaged_inverted_cdf": _averaged,
    "closest_observation": _closest,
    "interpolated_inverted_cdf": _plotting(0.0, 1.0),
    "hazen": _plotting(0.5, 0.5),
    "weibull": _plotting(0.0, 0.0),
    "median_unbiased": _plotting(1 / 3, 1 / 3),
    "normal_unbiased": _plotting(3 / 8, 3 / 8),
}


def _at_quantile(s, q, method, count):
    """One quantile of sorted last axes of `count` elements (per row, if data decide how many)."""
    if method not in _POSITION:
        raise UnsupportedError(f"the quantile method {method!r}; supported are {', '.join(_POSITION)}")
    n = float(count) if _is_known(count) else np.asarray(count).astype(np.asarray(q).dtype)[()]
    last = max(n - 1.0, 0.0) if _is_known(n) else np.maximum(n - 1.0, 0.0)
    where = np.minimum(np.maximum(_POSITION[method](n, q), 0.0), last)
    floor = np.floor(where)
    t = where - floor
    if _is_known(where):
        k = int(floor)
        low = s[..., k]
        return low if method in _PICKS else _between(low, s[..., min(k + 1, int(n) - 1)], float(t) if type(q) is float else t)
    at = np.broadcast_to(floor, s.shape[:-1]).astype(np.int64)
    low = _pick(s, at)
    if method in _PICKS:
        return low
    if type(q) is float and s.dtype.kind == "f":
        t = t.astype(s.dtype)
    return _between(low, _pick(s, at + 1, None if _is_known(count) else count), t)


def _between(a, b, t):
    """a + (b - a)*t, from the nearer end, so that equal ends give themselves."""
    d = b - a
    if _is_known(t):
        return b - d * (1 - t) if t >= 0.5 else a + d * t
    return np.where(t >= 0.5, b - d * (1 - t), a + d * t)


def _quantiles(s, shape, q, method, keepdims, count, finish):
    """All quantiles asked for: q's axes stand first in the result. q is strong but for a Python number, as in NumPy."""
    of = lambda p: _kept(finish(_at_quantile(s, p, method, count)), shape, keepdims)
    if type(q) in (int, float):
        v = of(float(q))
        return v.astype(s.dtype) if type(q) is int and method == "linear" and s.dtype.kind in "iu" else v
    q = np.asarray(q)
    q = q if q.dtype.kind == "f" else q.astype(np.float64)
    if q.ndim == 0:
        return of(q[()])
    parts = [of(p) for p in np.ravel(q)]
    return np.reshape(np.stack(parts), q.shape + np.shape(parts[0]))


def _checked(a, q, what):
    """The array. Raises what NumPy raises for quantiles that there are not."""
    x = np.asarray(a)
    if x.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
        raise ValueError(f"{what} must be in the range [0, {100 if what == 'Percentiles' else 1}]")
    return x


def _of_all(x, q, axis, method, keepdims, weights):
    """NaN if there is one."""
    if weights is not None:
        refuse_keywords(np.quantile, weights=weights)
        return _weighted(x, q, axis, method, keepdims, weights)
    s, shape = _lines(x, axis)
    n = s.shape[-1]
    if known(n) and n == 0:
        raise ValueError("np.quantile of an empty axis")
    nan = lambda v: np.where(np.isnan(s[..., -1]), s[..., -1].astype(v.dtype), v) if s.dtype.kind == "f" else v
    return _quantiles(s, shape, q, method, keepdims, n, nan)


def _weighted(x, q, axis, method, keepdims, weights):
    """Weighted quantiles: the first element in sorted order up to which the share of the weights reaches q."""
    if method != "inverted_cdf":
        raise ValueError("Only method 'inverted_cdf' supports weights. Got: " + method + ".")
    if axis is not None and x.ndim > (1 if np.ndim(axis) == 0 else len(axis)) or np.shape(weights) != x.shape:
        raise UnsupportedError("np.quantile with weights: of the whole array, with weights of its shape")
    order = np.argsort(np.ravel(x))
    s, share = np.ravel(x)[order], np.cumsum(np.ravel(np.asarray(weights).astype(np.float64))[order])
    share = share / share[-1]
    none = share == 0.0  # elements of no weight come before every share
    v = s[np.minimum(np.searchsorted(np.where(none, -1.0, share), q), s.size - 1)]
    if x.dtype.kind == "f":
        v = np.where(np.isnan(s[-1]), s[-1], v)
    return np.reshape(v, np.shape(q) + ((1,) * x.ndim if keepdims else ()))


def _of_numbers(x, q, axis, method, keepdims, weights):
    """NaN where there is nothing else."""
    if weights is not None:
        raise UnsupportedError("np.nanquantile with weights")
    if x.dtype.kind != "f":
        return _of_all(x, q, axis, method, keepdims, weights)
    s, shape = _lines(x, axis)
    if 0 in x.shape:  # for each line, not for each quantile, as in NumPy
        return _kept(np.full(s.shape[:-1], np.nan, x.dtype), shape, keepdims)
    count = np.sum(~np.isnan(s), -1)
    v = _quantiles(s, shape, q, method, keepdims, count, lambda v: _nan_of_none(v, count))
    return v.astype(x.dtype) if type(q) in (int, float) else v


def _made(name, of):
    @written(f"numpy.{name}quantile")
    def quantile(
        a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None, interpolation=None
    ):
        return of(_checked(a, q, "Quantiles"), q, axis, method, keepdims, weights)

    @written(f"numpy.{name}percentile")
    def percentile(
        a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None, interpolation=None
    ):
        share = q / 100.0 if type(q) in (int, float) else np.true_divide(q, 100.0)
        return of(_checked(a, share, "Percentiles"), share, axis, method, keepdims, weights)


_made("", _of_all)
_made("nan", _of_numbers)
