"""np.emath: functions that NumPy gives complex results where real ones do not exist. Compiled code has one dtype for each result, so
for real numbers it is the real one, and ValueError is raised at run time where NumPy would turn to complex numbers."""

import numpy as np

from irad.frontend.registry import written


def _real(name, x, outside):
    """x, checked to have a real result if it is real."""
    x = np.asarray(x)
    if x.dtype.kind != "c" and np.any(outside(x)):
        raise ValueError(f"np.emath.{name} of real numbers that have a complex result; write np.{name}(x + 0j)")
    return x[()]


def _negative(x):
    return x < 0


def _beyond_one(x):
    return np.abs(x) > 1


@written("numpy.emath.sqrt")
def sqrt(x):
    """np.emath.sqrt."""
    return np.sqrt(_real("sqrt", x, _negative))


@written("numpy.emath.log")
def log(x):
    """np.emath.log."""
    return np.log(_real("log", x, _negative))


@written("numpy.emath.log2")
def log2(x):
    """np.emath.log2."""
    return np.log2(_real("log2", x, _negative))


@written("numpy.emath.log10")
def log10(x):
    """np.emath.log10."""
    return np.log10(_real("log10", x, _negative))


@written("numpy.emath.logn")
def logn(n, x):
    """np.emath.logn: the logarithm to base n."""
    return np.log(_real("log", x, _negative)) / np.log(_real("log", n, _negative))


@written("numpy.emath.power")
def power(x, p):
    """np.emath.power."""
    p = np.asarray(p)
    return np.power(
        _real("power", x, _negative), p[()] if p.dtype.kind in "fc" else p.astype(np.float64)[()] if np.any(p < 0) else p[()]
    )


@written("numpy.emath.arccos")
def arccos(x):
    """np.emath.arccos."""
    return np.arccos(_real("arccos", x, _beyond_one))


@written("numpy.emath.arcsin")
def arcsin(x):
    """np.emath.arcsin."""
    return np.arcsin(_real("arcsin", x, _beyond_one))


@written("numpy.emath.arctanh")
def arctanh(x):
    """np.emath.arctanh."""
    return np.arctanh(_real("arctanh", x, _beyond_one))
