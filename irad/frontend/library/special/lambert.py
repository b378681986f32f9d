"""The Lambert W function: the w with w exp(w) = z."""

import numpy as np

from irad.frontend.library.calculus import constant, first_guess
from irad.frontend.registry import written

_ITERATIONS = 30


def _start(z, k):
    """A first value, as in Corless et al., On the Lambert W function (1996): about the branch point -1/e, about 0, and far out."""
    near = np.abs(z + np.exp(-1.0)) < 0.3
    p = np.sqrt(2 * (np.e * z + 1))
    far = np.log(np.where(z == 0, 1.0, z)) + 2j * np.pi * k
    far = far - np.log(np.where(far == 0, 1.0, far))
    if k == 0:
        pade = (
            z
            * (1 + z * (12.34042553191489361902 + z * 12.85106382978723404255))
            / (1 + z * (14.34042553191489361702 + z * 32.53191489361702127660))
        )
        about = (z.real > -1.0) & (z.real < 1.5) & (np.abs(z.imag) < 1.0) & (-2.5 * np.abs(z.imag) - 0.2 < z.real)
        return np.where(near, -1 + p - p * p / 3, np.where(about, pade, far))
    side = 1 if k == -1 else 0
    return np.where(near & (side == 1) & (z.imag >= 0) & (z.real < 0), -1 - p - p * p / 3, far)


@written("scipy.special.lambertw")
def lambertw(z, k=0, tol=1e-8):
    """scipy.special.lambertw, for branches k that are known: by Halley's method; complex, as SciPy's."""
    z = np.asarray(z) + 0j
    fixed = constant(z)
    w = _start(fixed, k)
    for _ in range(_ITERATIONS):
        e = np.exp(-w)
        f = w - fixed * e
        slope = 1 + fixed * e
        step = f / np.where(slope == 0, 1.0, slope + f * (fixed * e) / np.where(slope == 0, 1.0, 2 * slope))
        w = w - step
        if np.all(np.abs(step) <= 1e-15 * np.abs(w)):
            break
    w = first_guess(w, 7, "lambertw")
    for _ in range(3):  # Newton's method from the root
        e = z * np.exp(-w)
        w = w - (w - e) / np.where(1 + e == 0, 1.0, 1 + e)
    return w[()] if k == 0 else np.where(z == 0, -np.inf, w)[()]
