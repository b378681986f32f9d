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


def _sums(name, unit):
    f = getattr(np, name)

    @written(f"numpy.nan{name}")
    def call(a, axis=None, dtype=None, out=None, keepdims=False, **options):
        return f(_without_nan(a, unit)[0], axis, dtype, None, keepdims, **options)


def _running_sums(name, unit):
    f = getattr(np, name)

    @written(f"numpy.nan{name}")
    def call(a, axis=None, dtype=None, out=None):
        return f(_without_nan(a, unit)[0], axis, dtype)


_sums("sum", 0)
_sums("prod", 1)
_running_sums("cumsum", 0)
_running_sums("cumprod", 1)


@written("numpy.nanmean")
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    """np.nanmean; NaN where every element is."""
    x, ok = _without_nan(a, 0)
    return np.mean(x, axis, dtype, None, keepdims, where=_and(ok, where))


def _spread(name):
    f = getattr(np, name)

    @written(f"numpy.nan{name}")
    def call(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, **more):
        """NaN where too few elements are left."""
        refuse_keywords(np.var, **more)
        free = more.pop("correction", ddof)
        x, ok = _without_nan(a, 0)
        mask = _and(ok, where)
        v = f(x, axis, dtype, None, free, keepdims, where=mask, **more)
        if mask is True:
            return v
        return _nan_where(np.sum(np.broadcast_to(mask, x.shape), axis, np.float64, None, keepdims) <= free, v)


def _extreme(name, unit):
    f = getattr(np, name)

    @written(f"numpy.nan{name}")
    def call(a, axis=None, out=None, keepdims=False, **options):
        """NaN where every element is."""
        x, ok = _without_nan(a, unit)
        v = f(x, axis, None, keepdims, **options)
        return v if ok is True or "initial" in options else _nan_where(~np.any(ok, axis, None, keepdims), v)


def _position(name, unit):
    f = getattr(np, name)

    @written(f"numpy.nan{name}")
    def call(a, axis=None, out=None, *, keepdims=False):
        """ValueError where every element is NaN."""
        x, ok = _without_nan(a, unit)
        if ok is not True and not np.all(np.any(ok, axis)):
            raise ValueError("All-NaN slice encountered")
        return f(x, axis, keepdims=keepdims)


_spread("var")
_spread("std")
_extreme("max", -np.inf)
_extreme("min", np.inf)
_position("argmax", -np.inf)
_position("argmin", np.inf)
