"""NumPy's reductions and scans that skip NaN."""

import numpy as np

from irad.frontend.registry import refuse_keywords, written


def _without_nan(a, fill):
    """The array with NaN replaced, and the mask of what is not NaN (True if there can be none)."""
    x = np.asarray(a)
    if x.dtype.kind not in "fc":
        return x, True
    nan = np.isnan(x)
    return np.where(nan, np.array(fill, x.dtype), x), ~nan


def _and(ok, where):
    """`ok`, where it is asked for."""
    return ok if where is True else where if ok is True else ok & where


def _nan_where(few, v):
    return np.where(few, np.array(np.nan, v.dtype), v)[()]


@written("numpy.nansum")
def nansum(a, axis=None, dtype=None, out=None, keepdims=False, **options):
    """np.nansum."""
    return np.sum(_without_nan(a, 0)[0], axis, dtype, None, keepdims, **options)


@written("numpy.nanprod")
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, **options):
    """np.nanprod."""
    return np.prod(_without_nan(a, 1)[0], axis, dtype, None, keepdims, **options)


@written("numpy.nancumsum")
def nancumsum(a, axis=None, dtype=None, out=None):
    """np.nancumsum."""
    return np.cumsum(_without_nan(a, 0)[0], axis, dtype)


@written("numpy.nancumprod")
def nancumprod(a, axis=None, dtype=None, out=None):
    """np.nancumprod."""
    return np.cumprod(_without_nan(a, 1)[0], axis, dtype)


@written("numpy.nanmean")
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    """np.nanmean; NaN where every element is."""
    x, ok = _without_nan(a, 0)
    return np.mean(x, axis, dtype, None, keepdims, where=_and(ok, where))


def _spread(f, a, axis, dtype, ddof, keepdims, where, more):
    """A variance or standard deviation; NaN where too few elements are left."""
    refuse_keywords(np.var, **more)
    free = more.pop("correction", ddof)
    x, ok = _without_nan(a, 0)
    mask = _and(ok, where)
    v = f(x, axis, dtype, None, free, keepdims, where=mask, **more)
    if mask is True:
        return v
    return _nan_where(np.sum(np.broadcast_to(mask, x.shape), axis, np.float64, None, keepdims) <= free, v)


@written("numpy.nanvar")
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, **more):
    """np.nanvar."""
    return _spread(np.var, a, axis, dtype, ddof, keepdims, where, more)


@written("numpy.nanstd")
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, **more):
    """np.nanstd."""
    return _spread(np.std, a, axis, dtype, ddof, keepdims, where, more)


def _extreme(f, unit, a, axis, keepdims, options):
    x, ok = _without_nan(a, unit)
    v = f(x, axis, None, keepdims, **options)
    return v if ok is True or "initial" in options else _nan_where(~np.any(ok, axis, None, keepdims), v)


@written("numpy.nanmax")
def nanmax(a, axis=None, out=None, keepdims=False, **options):
    """np.nanmax; NaN where every element is."""
    return _extreme(np.max, -np.inf, a, axis, keepdims, options)


@written("numpy.nanmin")
def nanmin(a, axis=None, out=None, keepdims=False, **options):
    """np.nanmin; NaN where every element is."""
    return _extreme(np.min, np.inf, a, axis, keepdims, options)


def _position(f, unit, a, axis, keepdims):
    x, ok = _without_nan(a, unit)
    if ok is not True and not np.all(np.any(ok, axis)):
        raise ValueError("All-NaN slice encountered")
    return f(x, axis, keepdims=keepdims)


@written("numpy.nanargmax")
def nanargmax(a, axis=None, out=None, *, keepdims=False):
    """np.nanargmax; ValueError where every element is NaN."""
    return _position(np.argmax, -np.inf, a, axis, keepdims)


@written("numpy.nanargmin")
def nanargmin(a, axis=None, out=None, *, keepdims=False):
    """np.nanargmin; ValueError where every element is NaN."""
    return _position(np.argmin, np.inf, a, axis, keepdims)
