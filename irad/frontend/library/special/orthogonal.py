"""scipy.special: orthogonal polynomials of known degrees, Legendre functions, spherical harmonics, spherical Bessel functions.

By the recurrences of NIST's Handbook of Mathematical Functions, sections 18.9, 14.10 and 10.51.
"""

import numpy as np
from scipy import special as sp

from irad.errors import UnsupportedError
from irad.frontend.registry import written


def _floating(*xs):
    """Operands in double precision."""
    return [np.asarray(x).astype(np.float64) for x in xs]


def _at_degrees(name, n, x, first, second, step):
    """The polynomial of degree n at x: p_0, p_1, and p_(k+1) of k, p_k and p_(k-1); of an array of degrees each its own."""
    degrees = np.asarray(n)
    if np.any(degrees != np.floor(degrees)) or np.any(degrees < 0):
        raise UnsupportedError(f"scipy.special.{name} of degrees that are no whole numbers from 0 on")
    degrees = degrees.astype(np.int64)
    most = int(degrees.max()) if degrees.size else 0
    below, p = np.zeros_like(x), first
    if degrees.ndim == 0:
        for k in range(most):
            below, p = p, second if k == 0 else step(k, p, below)
        return p[()]
    shape = np.broadcast_shapes(degrees.shape, x.shape)
    out = np.broadcast_to(np.where(degrees == 0, p, 0.0), shape)
    for k in range(most):
        below, p = p, second if k == 0 else step(k, p, below)
        out = np.where(degrees == k + 1, p, out)
    return out


def _by_recurrence(name, second, step):
    """A polynomial of whole degrees without parameters."""

    @written(f"scipy.special.{name}")
    def call(n, x):
        (x,) = _floating(x)
        return _at_degrees(name, n, x, np.ones_like(x), second(x), lambda k, p, q: step(x, k, p, q))

    return call


eval_legendre = _by_recurrence("eval_legendre", lambda x: x, lambda x, k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))
eval_chebyt = _by_recurrence("eval_chebyt", lambda x: x, lambda x, k, p, q: 2 * x * p - q)
eval_chebyu = _by_recurrence("eval_chebyu", lambda x: 2 * x, lambda x, k, p, q: 2 * x * p - q)
eval_hermite = _by_recurrence("eval_hermite", lambda x: 2 * x, lambda x, k, p, q: 2 * x * p - 2 * k * q)
eval_hermitenorm = _by_recurrence("eval_hermitenorm", lambda x: x, lambda x, k, p, q: x * p - k * q)


@written("scipy.special.eval_genlaguerre")
def eval_genlaguerre(n, alpha, x):
    """scipy.special.eval_genlaguerre of whole degrees."""
    a, x = _floating(alpha, x)
    one = np.ones_like(a + x)
    step = lambda k, p, q: ((2 * k + 1 + a - x) * p - (k + a) * q) / (k + 1)
    return _at_degrees("eval_genlaguerre", n, one, one, 1 + a - x, step)


@written("scipy.special.eval_laguerre")
def eval_laguerre(n, x):
    """scipy.special.eval_laguerre of whole degrees."""
    (x,) = _floating(x)
    return eval_genlaguerre(n, np.zeros_like(x), x)


@written("scipy.special.eval_gegenbauer")
def eval_gegenbauer(n, alpha, x):
    """scipy.special.eval_gegenbauer of whole degrees."""
    a, x = _floating(alpha, x)
    one = np.ones_like(a + x)
    step = lambda k, p, q: (2 * (k + a) * x * p - (k + 2 * a - 1) * q) / (k + 1)
    return _at_degrees("eval_gegenbauer", n, one, one, 2 * a * x, step)


@written("scipy.special.eval_jacobi")
def eval_jacobi(n, alpha, beta, x):
    """scipy.special.eval_jacobi of whole degrees."""
    a, b, x = _floating(alpha, beta, x)
    one = np.ones_like(a + b + x)

    def step(k, p, q):
        s = 2 * k + a + b
        left = 2 * (k + 1) * (k + a + b + 1) * s
        return ((s + 1) * (s * (s + 2) * x + a * a - b * b) * p - 2 * (k + a) * (k + b) * (s + 2) * q) / left

    return _at_degrees("eval_jacobi", n, one, one, 0.5 * (a - b + (a + b + 2) * x), step)


@written("scipy.special._orthogonal.orthopoly1d.__call__", always=True)
def evaluate(self, v):
    """A polynomial of scipy.special that was made outside, such as legendre(3), at v: by its roots, which keeps digits."""
    v, out = np.asarray(v) + 0.0, self.coeffs[0]
    for k in range(len(self.weights)):
        out = out * (v - self.weights[k][0])
    return (out + v * 0.0)[()]


# ---- Legendre functions and spherical harmonics ------------------------------------------------------------------------------------------------


def _whole(name, *ns):
    found = []
    for n in ns:
        if isinstance(n, float) and n == int(n):
            n = int(n)
        if isinstance(n, np.ndarray) or n != int(n):
            raise UnsupportedError(f"scipy.special.{name}: one whole degree and order, known at compile time")
        found.append(int(n))
    return found


def _associated(m, n, x, root):
    """P_n^m(x) for 0 <= m <= n, `root` being sqrt(1 - x**2), with the phase (-1)**m."""
    p, below = np.ones_like(x), np.zeros_like(x)
    for k in range(m):
        p = -(2 * k + 1) * root * p
    for k in range(m, n):
        p, below = ((2 * k + 1) * x * p - (k + m) * below) / (k - m + 1), p
    return p


@written("scipy.special.lpmv")
def lpmv(m, v, x):
    """scipy.special.lpmv of one whole degree and order."""
    m, v = _whole("lpmv", m, v)
    (x,) = _floating(x)
    v = -v - 1 if v < 0 else v
    if m < -v:
        raise UnsupportedError("scipy.special.lpmv of an order below minus the degree")
    if m > v:
        return np.zeros_like(x)[()]
    p = _associated(abs(m), v, x, np.sqrt((1 - x) * (1 + x)))
    if m < 0:
        p = p * ((-1.0) ** m * np.prod(1.0 / np.arange(v + m + 1.0, v - m + 1)))
    return p[()]


@written("scipy.special.sph_harm_y")
def sph_harm_y(n, m, theta, phi, *, diff_n=0):
    """scipy.special.sph_harm_y of one degree and order; derivatives by diff_n= are those of the call."""
    if diff_n:
        raise UnsupportedError("scipy.special.sph_harm_y with diff_n=: differentiate the call")
    n, m = _whole("sph_harm_y", n, m)
    theta, phi = np.asarray(theta) + 0.0, np.asarray(phi) + 0.0
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if abs(m) > n:
        return (theta + phi) * 0j
    k = abs(m)
    scale = np.sqrt((2 * n + 1) / (4 * np.pi) * np.prod(1.0 / np.arange(n - k + 1.0, n + k + 1)))
    sine = np.sin(theta)
    p = scale * _associated(k, n, np.cos(theta), np.where(sine < 0, -sine, sine))
    return (p if m >= 0 else (-1.0) ** k * p) * np.exp(1j * m * phi)


# ---- spherical Bessel functions ---------------------------------------------------------------------------------------------------------------------


def _series(n, z, sign):
    """j_n and i_n near 0: z**n / (2n + 1)!! times the sum of (sign z**2 / 2)**k / (k! (2n + 3)(2n + 5)...)."""
    term = total = np.ones_like(z)
    for k in range(1, 13):
        term = term * (sign * z * z / (2.0 * k * (2 * n + 2 * k + 1)))
        total = total + term
    return total * z**n / np.prod(np.arange(1.0, 2 * n + 2, 2))


def _regular(name, bessel, sign, n, z, derivative):
    (n,), (z,) = _whole(name, n), _floating(z)
    if n < 0:
        raise UnsupportedError(f"scipy.special.{name} of a negative order")
    if derivative:
        if n == 0:
            return sign * _regular(name, bessel, sign, 1, z, False)
        below, above = _regular(name, bessel, sign, n - 1, z, False), _regular(name, bessel, sign, n + 1, z, False)
        return (n * below + sign * (n + 1) * above) / (2 * n + 1)
    size = np.abs(z)
    small = size <= 1.0 + 0.5 * n
    far = np.where(small, 2.0 + n, size)
    large = np.sqrt(np.pi / (2 * far)) * bessel(n + 0.5, far) * np.where(z < 0, (-1.0) ** n, 1.0)
    return np.where(small, _series(n, np.where(small, z, 0.0), sign), large)[()]


def _singular(name, bessel, n, z, derivative):
    (n,), (z,) = _whole(name, n), _floating(z)
    if n < 0:
        raise UnsupportedError(f"scipy.special.{name} of a negative order")
    if derivative:
        value = _singular(name, bessel, n, z, False)
        above = _singular(name, bessel, n + 1, z, False)
        return n / z * value - above
    return np.sqrt(np.pi / 2) * np.sqrt(1 / z) * bessel(n + 0.5, z)


def _spherical(name, f, *which):
    """A spherical Bessel function of a known order and real z, or positive z."""

    @written(f"scipy.special.{name}")
    def call(n, z, derivative=False):
        return f(name, *which, n, z, derivative)

    return call


spherical_jn = _spherical("spherical_jn", _regular, sp.jv, -1.0)
spherical_in = _spherical("spherical_in", _regular, sp.iv, 1.0)
spherical_yn = _spherical("spherical_yn", _singular, sp.yv)
spherical_kn = _spherical("spherical_kn", _singular, sp.kv)
