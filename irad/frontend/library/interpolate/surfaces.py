"""scipy.interpolate.RectBivariateSpline: tensor products of B-splines through values on a grid."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.registry import written


def bases(t, k, x):
    """All B-splines of degree k over the knots t, at positions x, of which those outside are moved to the ends."""
    n = len(t) - k - 1
    x = np.clip(x, t[k], t[n])[:, None]
    last = (x == t[n]) & (np.arange(len(t) - 1) == n - 1)
    b = np.where((t[:-1] <= x) & (x < t[1:]) | last, 1.0, 0.0)
    for d in range(1, k + 1):
        low, high = t[d:-1] - t[: -d - 1], t[d + 1 :] - t[1:-d]
        left = np.where(low > 0, (x - t[: -d - 1]) / np.where(low > 0, low, 1.0), 0.0)
        right = np.where(high > 0, (t[d + 1 :] - x) / np.where(high > 0, high, 1.0), 0.0)
        b = left * b[:, :-1] + right * b[:, 1:]
    return b


def _knots(x, k):
    half = (k + 1) // 2
    return np.concatenate((np.repeat(x[:1], k + 1), x[half : len(x) - half], np.repeat(x[-1:], k + 1)))


class Surface:
    """What it gives: values by a call, on a grid or at points."""

    def __init__(self, tx, ty, c, kx, ky):
        self.tx, self.ty, self.c, self.kx, self.ky = tx, ty, c, kx, ky

    def __call__(self, x, y, dx=0, dy=0, grid=True):
        if dx or dy:
            raise UnsupportedError("derivatives (dx, dy) of a RectBivariateSpline; differentiate the call")
        return _values(self.tx, self.ty, self.c, self.kx, self.ky, x, y, grid)

    def ev(self, xi, yi, dx=0, dy=0):
        """At points."""
        return self(xi, yi, dx, dy, grid=False)


def _values(tx, ty, c, kx, ky, x, y, grid):
    x, y = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    if grid:
        return bases(tx, kx, np.atleast_1d(x)) @ c @ bases(ty, ky, np.atleast_1d(y)).T
    x, y = np.broadcast_arrays(x, y)
    shape = x.shape
    out = np.sum((bases(tx, kx, x.reshape(-1)) @ c) * bases(ty, ky, y.reshape(-1)), axis=1)
    return out.reshape(shape)[()]


@written("scipy.interpolate.RectBivariateSpline", always=True)
def rect_bivariate_spline(x, y, z, bbox=None, kx=3, ky=3, s=0, maxit=20):
    """scipy.interpolate.RectBivariateSpline through the values (s=0), of odd degrees."""
    if s != 0 or bbox is not None and any(b is not None for b in bbox) or kx % 2 == 0 or ky % 2 == 0:
        raise UnsupportedError("RectBivariateSpline: odd degrees, s=0, no bbox")
    x, y, z = np.asarray(x) + 0.0, np.asarray(y) + 0.0, np.asarray(z) + 0.0
    if z.shape != (len(x), len(y)):
        raise ValueError("x and y dimensions of z must have the same number of elements as x and y")
    tx, ty = _knots(x, kx), _knots(y, ky)
    c = np.linalg.solve(bases(ty, ky, y), np.linalg.solve(bases(tx, kx, x), z).T).T
    return Surface(tx, ty, c, kx, ky)


@written("scipy.interpolate.RectBivariateSpline.__call__", always=True)
def evaluate(self, x, y, dx=0, dy=0, grid=True):
    """One that was made outside."""
    if dx or dy:
        raise UnsupportedError("derivatives (dx, dy) of a RectBivariateSpline; differentiate the call")
    (tx, ty, c), (kx, ky) = self.tck, self.degrees
    return _values(tx, ty, c.reshape((len(tx) - kx - 1, len(ty) - ky - 1)), kx, ky, x, y, grid)


@written("scipy.interpolate.RectBivariateSpline.ev", always=True)
def evaluate_at_points(self, xi, yi, dx=0, dy=0):
    """One that was made outside, at points."""
    return evaluate(self, xi, yi, dx, dy, False)
