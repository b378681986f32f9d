"""scipy.interpolate: splines and polynomials through values, radial functions, scattered points."""

import numpy as np
from scipy import spatial
from scipy import special as sp

from irad.errors import UnsupportedError
from irad.frontend.library.interpolate.interpolation import Lines, Piecewise, Spline, _spline, interpn
from irad.frontend.library.interpolate.surfaces import bases
from irad.frontend.library.spatial.nearby import _nearest
from irad.frontend.registry import written

# ---- splines through values ------------------------------------------------------------------------------------------------------------


def _knots(x, k):
    """As many knots as there are values, none at the places next to the ends."""
    if k == 0:
        return np.concatenate((x, x[-1:]))
    inner = x if k % 2 else 0.5 * (x[1:] + x[:-1])
    skip = (k + 1) // 2 if k % 2 else k // 2
    return np.concatenate((np.repeat(x[:1], k + 1), inner[skip : len(inner) - skip], np.repeat(x[-1:], k + 1)))


def through(x, y, k, t=None):
    """Knots and coefficients of the spline of degree k through values along the first axis."""
    x, y = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    if len(x) != len(y):
        raise ValueError(f"Shapes of x {x.shape} and y {y.shape} are incompatible")
    if np.any(x[1:] <= x[:-1]):
        raise ValueError("Expect x to not have duplicates, and to be sorted")
    if len(x) <= k:
        raise ValueError(f"at least {k + 1} values are needed for degree {k}")
    t = _knots(x, k) if t is None else np.asarray(t) + 0.0
    if k == 0:
        return t, y
    c = np.linalg.solve(bases(t, k, x), y.reshape((len(y), -1)))
    return t, c.reshape(y.shape)


@written("scipy.interpolate.make_interp_spline", always=True)
def make_interp_spline(x, y, k=3, t=None, bc_type=None, axis=0, check_finite=True):
    """scipy.interpolate.make_interp_spline without conditions at the ends ("not-a-knot")."""
    if bc_type not in (None, "not-a-knot", (None, None)):
        raise UnsupportedError("scipy.interpolate.make_interp_spline with bc_type: scipy.interpolate.CubicSpline has such ends")
    t, c = through(x, np.moveaxis(np.asarray(y), axis, 0), int(k), t)
    return Spline(t, c, int(k), True)


def _whole_integral(t, c, k):
    """The spline of one more degree whose derivative this is, 0 at the first knot."""
    n = len(t) - k - 1
    steps = c[:n] * (t[k + 1 : k + 1 + n] - t[:n]).reshape((-1,) + (1,) * (c.ndim - 1)) / (k + 1)
    total = np.concatenate((np.zeros_like(steps[:1]), np.cumsum(steps, axis=0)))
    return np.concatenate((t[:1], t, t[-1:])), total


def _integral(t, c, k, a, b):
    wide, total = _whole_integral(t, c, k)
    low, high = [np.clip(v, t[k], t[len(t) - k - 1]) for v in (a, b)]
    return _spline(wide, total, k + 1, high, 0, True) - _spline(wide, total, k + 1, low, 0, True)


_OUTSIDE = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


def _limited(t, c, k, x, nu, ext):
    """A value of FITPACK's splines: beyond the ends as `ext` says."""
    ext, x = _OUTSIDE.get(ext, ext), np.asarray(x) + 0.0
    low, high = t[k], t[len(t) - k - 1]
    beyond = (x < low) | (x > high)
    if ext == 2 and np.any(beyond):
        raise ValueError("Found x value not in the domain of the spline")
    out = _spline(t, c, k, np.clip(x, low, high) if ext == 3 else x, nu, True)
    return np.where(beyond, 0.0, out)[()] if ext == 1 else out


class Curve:
    """What scipy.interpolate.UnivariateSpline is."""

    def __init__(self, t, c, k, ext):
        self.t, self.c, self.k, self.ext = t, c, k, ext

    def __call__(self, x, nu=0, ext=None):
        return _limited(self.t, self.c, self.k, x, nu, self.ext if ext is None else ext)

    def derivative(self, n=1):
        """The spline of n degrees less."""
        t, c, k = self.t, self.c, self.k
        for _ in range(n):
            m = len(t) - k - 1
            gap = t[k + 1 : k + m] - t[1:m]
            c, t, k = k * (c[1:m] - c[: m - 1]) / np.where(gap == 0, 1.0, gap), t[1:-1], k - 1
        return Curve(t, c, k, self.ext)

    def antiderivative(self, n=1):
        """The spline of n degrees more, 0 at the first place."""
        t, c, k = self.t, self.c, self.k
        for _ in range(n):
            (t, c), k = _whole_integral(t, c, k), k + 1
        return Curve(t, c, k, self.ext)

    def derivatives(self, x):
        """The value and all derivatives at x."""
        return np.stack([self(x, nu) for nu in range(self.k + 1)])

    def integral(self, a, b):
        """The integral from a to b; nothing beyond the ends."""
        return _integral(self.t, self.c, self.k, a, b)

    def get_knots(self):
        return self.t[self.k : len(self.t) - self.k]

    def get_coeffs(self):
        return self.c


def _curve(x, y, w, bbox, k, s, ext):
    if s is None or s != 0 or w is not None or bbox is not None and any([b is not None for b in bbox]):
        raise UnsupportedError("scipy.interpolate.UnivariateSpline: s=0, without w= and bbox=")
    t, c = through(x, y, k)
    return Curve(t, c, k, ext)


@written("scipy.interpolate.InterpolatedUnivariateSpline", always=True)
def interpolated(x, y, w=None, bbox=None, k=3, ext=0, check_finite=False):
    return _curve(x, y, w, bbox, k, 0, ext)


@written("scipy.interpolate.UnivariateSpline", always=True)
def univariate(x, y, w=None, bbox=None, k=3, s=None, ext=0, check_finite=False):
    """scipy.interpolate.UnivariateSpline through the values (s=0)."""
    return _curve(x, y, w, bbox, k, s, ext)


@written("scipy.interpolate.UnivariateSpline.__call__", always=True)
def evaluate_curve(self, x, nu=0, ext=None):
    """A UnivariateSpline that was made outside."""
    t, c, k = self._eval_args
    return _limited(t, np.asarray(c)[: len(t) - k - 1], k, x, nu, self.ext if ext is None else ext)


@written("scipy.interpolate.UnivariateSpline.integral", always=True)
def integral_of_curve(self, a, b):
    """The integral of one that was made outside."""
    t, c, k = self._eval_args
    return _integral(np.asarray(t), np.asarray(c), k, a, b)


@written("scipy.interpolate.splrep", always=True)
def splrep(x, y, w=None, xb=None, xe=None, k=3, task=0, s=None, t=None, full_output=0, per=0, quiet=1):
    """scipy.interpolate.splrep through the values (s=0, or no weights): (knots, coefficients, degree)."""
    given = (w, xb, xe, t)
    if s not in (None, 0) or task or full_output or per or any([g is not None for g in given]):
        raise UnsupportedError("scipy.interpolate.splrep: x, y, k, and s=0")
    knots, c = through(x, y, k)
    return knots, np.concatenate((c, np.zeros(k + 1))), k


@written("scipy.interpolate.splint", always=True)
def splint(a, b, tck, full_output=0):
    if full_output or not isinstance(tck, tuple):
        raise UnsupportedError("scipy.interpolate.splint: tck as a tuple, without full_output")
    t, c, k = tck
    return _integral(np.asarray(t) + 0.0, np.asarray(c) + 0.0, k, a, b)


@written("scipy.interpolate.PPoly", always=True)
def ppoly(c, x, extrapolate=None, axis=0):
    """scipy.interpolate.PPoly along the first axis."""
    if axis != 0:
        raise UnsupportedError("scipy.interpolate.PPoly: axis=0")
    return Piecewise(np.asarray(c) + 0.0, np.asarray(x) + 0.0, True if extrapolate is None else extrapolate)


# ---- one polynomial through all values ----------------------------------------------------------------------------------------------------


class Polynomial:
    """The polynomial of least degree through values: by Lagrange's formula, with products of the other distances."""

    def __init__(self, x, y):
        self.xi, self.yi = x, y
        self.scale = 4.0 / (np.max(x) - np.min(x)) if len(x) > 1 else 1.0
        apart = self.scale * (x[:, None] - x)
        self.weights = 1.0 / np.prod(np.where(np.eye(len(x)) == 1, 1.0, apart), axis=1)

    def __call__(self, x):
        at = np.asarray(x) + 0.0
        d = self.scale * (at[..., None] - self.xi)
        one = np.ones(at.shape + (1,))
        before = np.concatenate((one, np.cumprod(d[..., :-1], axis=-1)), axis=-1)
        after = np.concatenate((np.cumprod(d[..., :0:-1], axis=-1)[..., ::-1], one), axis=-1)
        return np.tensordot(before * after * self.weights, self.yi, axes=1)[()]


@written("scipy.interpolate.BarycentricInterpolator", "scipy.interpolate.KroghInterpolator", always=True)
def polynomial(xi, yi=None, axis=0, **options):
    """scipy.interpolate.BarycentricInterpolator and KroghInterpolator, of places that differ."""
    if yi is None or options.get("wi") is not None or axis != 0:
        raise UnsupportedError("scipy.interpolate.BarycentricInterpolator: xi, and yi along the first axis")
    x = np.asarray(xi) + 0.0
    if len(np.unique(x)) < len(x):
        raise ValueError("Interpolation points xi must be distinct.")
    return Polynomial(x, np.asarray(yi) + 0.0)


@written("scipy.interpolate.barycentric_interpolate", "scipy.interpolate.krogh_interpolate")
def barycentric_interpolate(xi, yi, x, axis=0, der=0, **options):
    """scipy.interpolate.barycentric_interpolate and krogh_interpolate, the values."""
    if der != 0:
        raise UnsupportedError("scipy.interpolate.barycentric_interpolate with der=: differentiate the call")
    return polynomial(xi, yi, axis)(x)


class _Powers:
    """What scipy.interpolate.lagrange gives: a polynomial by its coefficients, the highest power first."""

    def __init__(self, coef):
        self.coef = self.coeffs = self.c = coef

    def __call__(self, x):
        return np.polyval(self.coef, x)


@written("scipy.interpolate.lagrange", always=True)
def lagrange(x, w):
    """scipy.interpolate.lagrange: a polynomial to be called, with its coefficients in `coef`."""
    x, w = np.asarray(x) + 0.0, np.asarray(w) + 0.0
    total = np.zeros(len(x))
    for j in range(len(x)):
        term = np.ones(1)
        for k in range(len(x)):
            if k != j:
                term = np.convolve(term, np.stack((np.ones(()), -x[k]))) / (x[j] - x[k])
        total = total + w[j] * term
    return _Powers(total)


# ---- radial functions -----------------------------------------------------------------------------------------------------------------------

_KERNELS = {  # of the squared distance; those that are no smooth functions of it are 0, or flat, at 0
    "linear": lambda s: -np.where(s > 0, np.sqrt(np.where(s > 0, s, 1.0)), 0.0),
    "thin_plate_spline": lambda s: 0.5 * sp.xlogy(s, np.where(s > 0, s, 1.0)),
    "cubic": lambda s: np.where(s > 0, np.where(s > 0, s, 1.0) ** 1.5, 0.0),
    "quintic": lambda s: -np.where(s > 0, np.where(s > 0, s, 1.0) ** 2.5, 0.0),
    "multiquadric": lambda s: -np.sqrt(s + 1),
    "inverse_multiquadric": lambda s: 1 / np.sqrt(s + 1),
    "inverse_quadratic": lambda s: 1 / (s + 1),
    "gaussian": lambda s: np.exp(-s),
}
_LEAST = {"multiquadric": 0, "linear": 0, "thin_plate_spline": 1, "cubic": 1, "quintic": 2}


def _squares(x, y):
    total = 0.0
    for k in range(x.shape[1]):
        total = total + (x[:, k][:, None] - y[:, k]) ** 2
    return total


class Radial:
    """What scipy.interpolate.RBFInterpolator is."""

    def __init__(self, y, kernel, epsilon, powers, shift, scale, coefficients, shape):
        self.y, self.kernel, self.epsilon, self.powers, self.shape = y, kernel, epsilon, powers, shape
        self._shift, self._scale, self._coeffs = shift, scale, coefficients

    def __call__(self, x):
        x = np.asarray(x) + 0.0
        if x.ndim != 2 or x.shape[1] != self.y.shape[1]:
            raise ValueError(f"Expected the second axis of `x` to have length {self.y.shape[1]}.")
        return _radial(self, x, self.powers).reshape((len(x),) + self.shape)


def _monomials(x, powers):
    return np.stack([np.prod(x**p, axis=1) for p in powers], axis=1) if len(powers) else np.zeros((len(x), 0))


def _radial(f, x, powers):
    near = _KERNELS[f.kernel](_squares(x, f.y) * f.epsilon**2)
    return np.concatenate((near, _monomials((x - f._shift) / f._scale, powers)), axis=1) @ f._coeffs


def _powers(ndim, degree):
    """The exponents of all monomials up to a degree."""
    return [np.array(p) for p in np.ndindex(*(degree + 1,) * ndim) if sum(p) <= degree] if degree >= 0 else []


@written("scipy.interpolate.RBFInterpolator", always=True)
def rbf(y, d, neighbors=None, smoothing=0.0, kernel="thin_plate_spline", epsilon=None, degree=None):
    """scipy.interpolate.RBFInterpolator of all points."""
    if neighbors is not None:
        raise UnsupportedError("scipy.interpolate.RBFInterpolator with neighbors=: leave it out")
    if kernel not in _KERNELS:
        raise ValueError(f"`kernel` must be one of {set(_KERNELS)}.")
    y, d = np.asarray(y) + 0.0, np.asarray(d) + 0.0
    if y.ndim != 2 or len(d) != len(y):
        raise ValueError("`y` must be a 2-dimensional array, and `d` as long")
    if epsilon is None:
        if kernel not in ("linear", "thin_plate_spline", "cubic", "quintic"):
            raise ValueError(f"`epsilon` must be specified if `kernel` is not one of the scale-invariant ones, as {kernel}.")
        epsilon = 1.0
    n, powers = len(y), _powers(y.shape[1], max(_LEAST.get(kernel, -1), 0) if degree is None else int(degree))
    low, high = np.min(y, axis=0), np.max(y, axis=0)
    shift, scale = 0.5 * (high + low), np.where(high > low, 0.5 * (high - low), 1.0)
    near = _KERNELS[kernel](_squares(y, y) * epsilon**2) + np.diag(np.broadcast_to(np.asarray(smoothing) + 0.0, (n,)))
    tail = _monomials((y - shift) / scale, powers)
    m = len(powers)
    whole = np.concatenate((np.concatenate((near, tail), axis=1), np.concatenate((tail.T, np.zeros((m, m))), axis=1)))
    right = np.concatenate((d.reshape((n, -1)), np.zeros((m, d.size // n))))
    return Radial(y, kernel, epsilon, powers, shift, scale, np.linalg.solve(whole, right), d.shape[1:])


@written("scipy.interpolate.RBFInterpolator.__call__", always=True)
def evaluate_rbf(self, x):
    """An RBFInterpolator that was made outside."""
    x = np.asarray(x) + 0.0
    return _radial(self, x, [p for p in self.powers]).reshape((len(x),) + self.d_shape)


# ---- scattered points ------------------------------------------------------------------------------------------------------------------------------


def _in_simplices(corners, inverse, values, xi, fill_value):
    """By planes over the triangles of a mesh, and `fill_value` beside them."""
    rows = xi.reshape((-1, xi.shape[-1]))
    dims = rows.shape[1]
    flat = values.reshape((len(values), -1))
    out = np.zeros((len(rows), flat.shape[1]))
    for i in range(len(rows)):
        local = np.sum(inverse[:, :dims] * (rows[i] - inverse[:, dims])[:, None, :], axis=-1)
        shares = np.concatenate((local, 1 - np.sum(local, 1, keepdims=True)), axis=1)
        least = np.min(shares, axis=1)
        at = np.argmax(least)
        out[i] = np.where(least[at] < -1e-12, fill_value, shares[at] @ flat[corners[at]])
    return out.reshape(xi.shape[:-1] + values.shape[1:])


def _coordinates(xi, dims):
    xi = np.stack(np.broadcast_arrays(*xi), -1) if isinstance(xi, tuple) else np.asarray(xi)
    return xi + 0.0 if dims > 1 or xi.ndim and xi.shape[-1] == 1 else xi[..., None] + 0.0


@written("scipy.interpolate.griddata")
def griddata(points, values, xi, method="linear", fill_value=np.nan, rescale=False):
    """scipy.interpolate.griddata: nearest, and linear over points that are known at compile time."""
    if rescale or method not in ("nearest", "linear"):
        raise UnsupportedError("scipy.interpolate.griddata: method 'nearest' or 'linear', without rescale=")
    points = np.stack(points, -1) if isinstance(points, tuple) else np.asarray(points)
    points, values = points.reshape((len(points), -1)), np.asarray(values) + 0.0
    at = _coordinates(xi, points.shape[1])
    if method == "nearest":
        return values[_nearest(points, at, 1, 2.0, np.inf)[1]]
    if points.shape[1] == 1:
        order = np.argsort(points[:, 0])
        return Lines(points[order, 0], values[order], "linear", False, fill_value, 0)(at[..., 0])
    mesh = spatial.Delaunay(points)
    return _in_simplices(mesh.simplices, mesh.transform, values, at, fill_value)


@written("scipy.interpolate.LinearNDInterpolator", always=True)
def linear_nd(points, values, fill_value=np.nan, rescale=False):
    """scipy.interpolate.LinearNDInterpolator over points that are known at compile time."""
    if rescale:
        raise UnsupportedError("scipy.interpolate.LinearNDInterpolator: without rescale=")
    return lambda *xi: griddata(points, values, xi[0] if len(xi) == 1 else xi, "linear", fill_value)


@written("scipy.interpolate.LinearNDInterpolator.__call__", always=True)
def evaluate_linear_nd(self, *xi):
    """A LinearNDInterpolator that was made outside, over whatever points."""
    mesh, values = self.tri, np.asarray(self.values)
    at = _coordinates(xi[0] if len(xi) == 1 else xi, mesh.points.shape[1])
    out = _in_simplices(mesh.simplices, mesh.transform, values, at, self.fill_value)
    return out.reshape(at.shape[:-1] + tuple(self.values_shape))


@written("scipy.interpolate.NearestNDInterpolator", always=True)
def nearest_nd(x, y, rescale=False, tree_options=None):
    if rescale:
        raise UnsupportedError("scipy.interpolate.NearestNDInterpolator: without rescale=")
    return lambda *xi: griddata(x, y, xi[0] if len(xi) == 1 else xi, "nearest")


@written("scipy.interpolate.RegularGridInterpolator.__call__", always=True)
def evaluate_grid(self, xi, method=None, *, nu=None):
    """A RegularGridInterpolator that was made outside."""
    return interpn(self.grid, self.values, xi, self.method if method is None else method, self.bounds_error, self.fill_value)
