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


def _inside(name, outside):
    """np.emath.NAME, of real numbers that are not outside."""
    f = getattr(np, name)
    written(f"numpy.emath.{name}")(lambda x: f(_real(name, x, outside)))


for _name in ("sqrt", "log", "log2", "log10"):
    _inside(_name, _negative)
for _name in ("arccos", "arcsin", "arctanh"):
    _inside(_name, _beyond_one)


@written("numpy.emath.logn")
def logn(n, x):
    """np.emath.logn: the logarithm to base n."""
    return np.log(_real("log", x, _negative)) / np.log(_real("log", n, _negative))


@written("numpy.emath.power")
def power(x, p):
    p = np.asarray(p)
    return np.power(
        _real("power", x, _negative), p[()] if p.dtype.kind in "fc" else p.astype(np.float64)[()] if np.any(p < 0) else p[()]
    )
