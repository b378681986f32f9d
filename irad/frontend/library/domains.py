"""np.emath: functions that NumPy gives complex results where real ones do not exist. Compiled code has one dtype for each result, so
for real numbers it is the real one, and ValueError is raised at run time where NumPy would turn to complex numbers."""

import numpy as np

from irad.frontend.registry import written


def _real(name, x, outside):
    if np.any(outside):
        raise ValueError(f"np.emath.{name} of real numbers that have a complex result; write np.{name}(x + 0j)")
    return x


def _positive(name, x):
    x = np.asarray(x)
    return x[()] if x.dtype.kind == "c" else _real(name, x, x < 0)[()]


def _within_one(name, x):
    x = np.asarray(x)
    return x[()] if x.dtype.kind == "c" else _real(name, x, np.abs(x) > 1)[()]


@written("numpy.emath.sqrt")
def sqrt(x):
    """np.emath.sqrt."""
    return np.sqrt(_positive("sqrt", x))


@written("numpy.emath.log")
def log(x):
    """np.emath.log."""
    return np.log(_positive("log", x))


@written("numpy.emath.log2")
def log2(x):
    """np.emath.log2."""
    return np.log2(_positive("log2", x))


@written("numpy.emath.log10")
def log10(x):
    """np.emath.log10."""
    return np.log10(_positive("log10", x))


@written("numpy.emath.logn")
def logn(n, x):
    """np.emath.logn: the logarithm to base n."""
    return np.log(_positive("log", x)) / np.log(_positive("log", n))


@written("numpy.emath.power")
def power(x, p):
    """np.emath.power."""
    p = np.asarray(p)
    return np.power(
        _positive("power", x), p[()] if p.dtype.kind in "fc" else p.astype(np.float64)[()] if np.any(p < 0) else p[()]
    )


@written("numpy.emath.arccos")
def arccos(x):
    """np.emath.arccos."""
    return np.arccos(_within_one("arccos", x))


@written("numpy.emath.arcsin")
def arcsin(x):
    """np.emath.arcsin."""
    return np.arcsin(_within_one("arcsin", x))


@written("numpy.emath.arctanh")
def arctanh(x):
    """np.emath.arctanh."""
    return np.arctanh(_within_one("arctanh", x))
