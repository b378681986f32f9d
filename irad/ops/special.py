"""Reference meaning, for the interpreter only, of the special functions that NumPy lacks; needs SciPy when evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.once import import_later


def _special(name: str, *xs: Any) -> Any:
    return getattr(import_later("scipy.special"), name)(*xs)


def erf(x: Any) -> Any:
    """Error function."""
    return _special("erf", x)


def erfc(x: Any) -> Any:
    """Complementary error function."""
    return _special("erfc", x)


def gammaln(x: Any) -> Any:
    """Logarithm of the absolute value of the gamma function. SciPy's is inf where 1/x is; there log(1/|x|) is exact."""
    a = np.abs(x)
    with np.errstate(divide="ignore"):
        return np.where(a < 1e-300, -np.log(a), _special("gammaln", x))[()].astype(a.dtype)


def digamma(x: Any) -> Any:
    """Derivative of `gammaln`."""
    return _special("digamma", x)


def trigamma(x: Any) -> Any:
    """Derivative of `digamma`."""
    return _special("polygamma", 1, x)


def polygamma(n: int, x: Any) -> Any:
    """Derivative of order n of `digamma`."""
    return np.asarray(_special("polygamma", n, x))


def xlogy(x: Any, y: Any) -> Any:
    """x * log(y), 0 where x is 0."""
    return _special("xlogy", x, y)


def xlog1py(x: Any, y: Any) -> Any:
    """x * log1p(y), 0 where x is 0."""
    return _special("xlog1py", x, y)
