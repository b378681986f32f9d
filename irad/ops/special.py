"""Reference meaning, for the interpreter only, of the special functions that NumPy lacks; needs SciPy when evaluated."""

from __future__ import annotations

from typing import Any


def _special(name: str, *xs: Any) -> Any:
    import scipy.special

    return getattr(scipy.special, name)(*xs)


def erf(x: Any) -> Any:
    """Error function."""
    return _special("erf", x)


def erfc(x: Any) -> Any:
    """Complementary error function."""
    return _special("erfc", x)


def gammaln(x: Any) -> Any:
    """Logarithm of the absolute value of the gamma function."""
    return _special("gammaln", x)


def digamma(x: Any) -> Any:
    """Derivative of `gammaln`."""
    return _special("digamma", x)


def trigamma(x: Any) -> Any:
    """Derivative of `digamma`."""
    return _special("polygamma", 1, x)


def xlogy(x: Any, y: Any) -> Any:
    """x * log(y), 0 where x is 0."""
    return _special("xlogy", x, y)


def xlog1py(x: Any, y: Any) -> Any:
    """x * log1p(y), 0 where x is 0."""
    return _special("xlog1py", x, y)
