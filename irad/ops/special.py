"""Reference meaning, for the interpreter only, of the special functions that NumPy lacks; needs SciPy when evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.once import import_later


def special(name: str, *xs: Any) -> Any:
    """A function of scipy.special."""
    return getattr(import_later("scipy.special"), name)(*xs)


def gammaln_value(x: Any) -> Any:
    """Logarithm of the absolute value of the gamma function. SciPy's is inf where 1/x is; there log(1/|x|) is exact."""
    a = np.abs(x)
    with np.errstate(divide="ignore"):
        return np.where(a < 1e-300, -np.log(a), special("gammaln", x))[()].astype(a.dtype)
