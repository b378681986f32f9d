"""scipy.special: factorials and numbers of choices, the zeta function, Airy's and Faddeeva's functions, Voigt's profile."""

import numpy as np
from scipy import special as sp

from irad.errors import UnsupportedError
from irad.frontend.registry import written

# ---- factorials and choices ------------------------------------------------------------------------------------------------------------


def _approximate(name, exact, extend="zero"):
    if extend != "zero":
        raise UnsupportedError(f"scipy.special.{name}: extend='zero'")
    if exact:
        raise UnsupportedError(f"scipy.special.{name} with exact=True: its numbers must be known at compile time")


@written("scipy.special.factorial")
def factorial(n, exact=False, extend="zero"):
    """scipy.special.factorial: 0 for negative numbers."""
    _approximate("factorial", exact, extend)
    n = np.asarray(n) + 0.0
    return np.where(n < 0, 0.0, sp.gamma(np.where(n < 0, 0.0, n) + 1))[()]


@written("scipy.special.factorial2")
def factorial2(n, exact=False, extend="zero"):
    """scipy.special.factorial2 of whole numbers."""
    _approximate("factorial2", exact, extend)
    n = np.asarray(n) + 0.0
    positive = np.where(n < 1, 1.0, n)
    value = sp.gamma(positive / 2 + 1) * 2.0 ** (positive / 2) * np.where(positive % 2 == 1, np.sqrt(2 / np.pi), 1.0)
    return np.where(n < 0, 0.0, np.where(n == 0, 1.0, value))[()]


@written("scipy.special.comb")
def comb(N, k, *, exact=False, repetition=False):
    _approximate("comb", exact)
    N, k = np.asarray(N) + 0.0, np.asarray(k) + 0.0
    if repetition:
        return np.where((k == 0) & (N == 0), 1.0, comb(N + k - 1, k))[()]
    ok = (k <= N) & (N >= 0) & (k >= 0)
    return np.where(ok, sp.binom(np.where(ok, N, 1.0), np.where(ok, k, 0.0)), 0.0)[()]


@written("scipy.special.perm")
def perm(N, k, exact=False):
    _approximate("perm", exact)
    N, k = np.asarray(N) + 0.0, np.asarray(k) + 0.0
    ok = (k <= N) & (N >= 0) & (k >= 0)
    return np.where(ok, sp.poch(np.where(ok, N - k, 1.0) + 1, np.where(ok, k, 0.0)), 0.0)[()]


@written("scipy.special.multigammaln")
def multigammaln(a, d):
    a = np.asarray(a) + 0.0
    if np.any(a <= 0.5 * (d - 1)):
        raise ValueError(f"condition a ({np.min(a):f}) > 0.5 * (d-1) ({0.5 * (d - 1):f}) not met")
    return d * (d - 1) * 0.25 * np.log(np.pi) + np.sum(sp.gammaln(a[..., None] - np.arange(d) / 2.0), axis=-1)


# ---- the zeta function ---------------------------------------------------------------------------------------------------------------------

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
_TERMS = 12


def _hurwitz(x, q):
    """The sum of (k + q)**-x by Euler and Maclaurin's formula."""
    total = 0.0
    for k in range(_TERMS):
        total = total + (q + k) ** -x
    far = q + _TERMS
    power = far**-x
    total = total + far * power / (x - 1) + 0.5 * power
    factor = x * power / far
    for j, b in enumerate(_BERNOULLI, 1):
        total = total + b * factor / np.prod(np.arange(1.0, 2 * j + 1))
        factor = factor * (x + 2 * j - 1) * (x + 2 * j) / (far * far)
    return total


@written("scipy.special.zeta")
def zeta(x, q=None, out=None):
    """scipy.special.zeta of real numbers, along x and q; of q that are not positive only at the poles."""
    x = np.asarray(x) + 0.0
    if q is None:
        left = x < 0
        right = np.where(left, 1 - x, x)
        pole = right == 1
        value = np.where(pole, np.inf, _hurwitz(np.where(pole, 2.0, right), 1.0))
        low = np.where(left, x, -1.0)
        turned = 2.0**low * np.pi ** (low - 1) * np.sin(np.pi * low / 2) * sp.gamma(1 - low) * value
        return np.where(left, turned, value)[()]
    q = np.asarray(q) + 0.0
    ok = (x > 1) & (q > 0)
    if np.any((x > 1) & (q <= 0) & (q != np.floor(q)) & (x == np.floor(x))):
        raise ValueError("scipy.special.zeta of a q that is negative and no whole number is not supported")
    value = _hurwitz(np.where(ok, x, 2.0), np.where(ok, q, 1.0))
    pole = (x == 1) | (x > 1) & (q <= 0) & (q == np.floor(q))
    return np.where(ok, value, np.where(pole, np.inf, np.nan))[()]


# ---- Airy functions ---------------------------------------------------------------------------------------------------------------------------

_AI, _AI_SLOPE = 0.355028053887817239, -0.258819403792806798


def _near_zero(x):
    """The two solutions of w'' = x w that are 1 and x to first order, and their slopes, by Maclaurin's series."""
    f, g, df, dg = np.ones_like(x), x, np.zeros_like(x), np.ones_like(x)
    a, b = np.ones_like(x), x
    cube = x * x * x
    for k in range(1, 14):
        da, db = a * x * x / (3 * k - 1), b * x * x / (3 * k)
        a, b = a * cube / ((3 * k - 1) * (3 * k)), b * cube / ((3 * k) * (3 * k + 1))
        f, g, df, dg = f + a, g + b, df + da, dg + db
    return f, g, df, dg


@written("scipy.special.airy")
def airy(z):
    """scipy.special.airy of real numbers: (Ai, Ai', Bi, Bi')."""
    x = np.asarray(z) + 0.0
    near = np.abs(x) < 2.0
    f, g, df, dg = _near_zero(np.where(near, x, 0.0))
    u, v, root = _AI * f, -_AI_SLOPE * g, np.sqrt(3.0)
    du, dv = _AI * df, -_AI_SLOPE * dg
    right, left = np.where(x >= 2, x, 2.0), np.where(x <= -2, -x, 2.0)
    t, s = 2 / 3 * right * np.sqrt(right), 2 / 3 * left * np.sqrt(left)
    j = lambda order: sp.jv(order, s)
    p, m, p2, m2 = j(1 / 3), j(-1 / 3), j(2 / 3), j(-2 / 3)
    i = lambda order: sp.iv(order, t)
    pick = lambda far_right, far_left, middle: np.where(near, middle, np.where(x > 0, far_right, far_left))[()]
    return (
        pick(np.sqrt(right / 3) / np.pi * sp.kv(1 / 3, t), np.sqrt(left) / 3 * (p + m), u - v),
        pick(-right / (np.pi * root) * sp.kv(2 / 3, t), left / 3 * (p2 - m2), du - dv),
        pick(np.sqrt(right / 3) * (i(1 / 3) + i(-1 / 3)), np.sqrt(left / 3) * (m - p), root * (u + v)),
        pick(right / root * (i(2 / 3) + i(-2 / 3)), left / root * (m2 + p2), root * (du + dv)),
    )


# ---- Faddeeva's function --------------------------------------------------------------------------------------------------------------------------


def _weideman(n):
    """The coefficients of J. Weideman, Computation of the complex error function, SIAM J. Numer. Anal. 31 (1994)."""
    m = 2 * n
    size = np.sqrt(n / np.sqrt(2))
    t = size * np.tan(np.arange(-m + 1, m) * np.pi / (2 * m))
    f = np.append(0.0, np.exp(-(t**2)) * (size**2 + t**2))
    return size, np.real(np.fft.fft(np.fft.fftshift(f)))[1 : n + 1][::-1] / (2 * m)


_SIZE, _COEFFICIENTS = _weideman(64)


def _upper(z):
    """w(z) where the imaginary part is not negative."""
    y = _SIZE - 1j * z
    u, p = (_SIZE + 1j * z) / y, 0.0
    for c in _COEFFICIENTS:
        p = p * u + c
    return 2 * p / (y * y) + 1 / (np.sqrt(np.pi) * y)


@written("scipy.special.wofz")
def wofz(z):
    """scipy.special.wofz, exp(-z**2) erfc(-i z), to 13 digits or so."""
    z = np.asarray(z) + 0j
    low = z.imag < 0
    up = _upper(np.where(low, -z, z))
    below = np.where(low, z, 0.0)
    return np.where(low, 2 * np.exp(-below * below) - up, up)[()]


@written("scipy.special.voigt_profile")
def voigt_profile(x, sigma, gamma):
    """scipy.special.voigt_profile of a positive sigma."""
    x, sigma, gamma = np.asarray(x) + 0.0, np.asarray(sigma) + 0.0, np.asarray(gamma) + 0.0
    if np.any(sigma <= 0):
        raise ValueError("scipy.special.voigt_profile: a sigma that is not positive; write the Lorentzian")
    root = np.sqrt(2.0) * sigma
    return np.real(wofz((x + 1j * gamma) / root)) / (root * np.sqrt(np.pi))
