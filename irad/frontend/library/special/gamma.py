"""The gamma function of complex numbers, and its logarithm: Stirling's series far out, recurrences and reflection to get there."""

import numpy as np

from irad.frontend.registry import of_complex, written

_SHIFT = 12  # by which numbers are moved to the right
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def _right(z):
    """log gamma(z) where the real part is at least 1/2."""
    far, product = z + _SHIFT, 0.0
    for k in range(_SHIFT):
        product = product + np.log(z + k)
    out = (far - 0.5) * np.log(far) - far + 0.5 * np.log(2 * np.pi)
    power = 1.0 / far
    for k, b in enumerate(_BERNOULLI, 1):
        out = out + b / (2 * k * (2 * k - 1)) * power
        power = power / (far * far)
    return out - product


@written("scipy.special.loggamma")
def loggamma(z):
    """scipy.special.loggamma: analytic but for the negative real axis, where it is what it is above it; NaN at negative real numbers."""
    x = np.asarray(z)
    w = x + 0j
    left = w.real < 0.5
    above = np.where(w.imag < 0, np.conj(w), w)  # the reflection formula is read above the axis
    sine = 0.5j * np.pi - np.log(2.0) - 1j * np.pi * above + np.log(1.0 - np.exp(2j * np.pi * np.where(left, above, 0.5)))
    reflected = np.log(np.pi) - sine - _right(np.where(left, 1.0 - above, 1.0))
    reflected = np.where(w.imag < 0, np.conj(reflected), reflected)
    out = np.where(left, reflected, _right(np.where(left, 1.0, w)))
    if np.iscomplexobj(x):
        return out[()]
    return np.where(x < 0, np.nan, out.real)[()]


@of_complex("scipy.special.gamma")
def complex_gamma(z):
    """scipy.special.gamma of complex numbers."""
    return np.exp(loggamma(z))
