"""scipy.interpolate: piecewise polynomials and B-splines, made and evaluated."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.library.interpolate.surfaces import bases
from irad.frontend.registry import written

# ---- piecewise polynomials -----------------------------------------------------------------------------------------------------------


def _pieces(c, x, at, nu, extrapolate):
    """Piecewise polynomials: c[k] are the coefficients of power len(c) - 1 - k on the intervals of x, differentiated nu times."""
    at = np.asarray(at) + 0.0
    if isinstance(extrapolate, str):
        at = x[0] + (at - x[0]) % (x[-1] - x[0])
    j = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    d = (at - x[j]).reshape(at.shape + (1,) * (c.ndim - 2))
    out = np.zeros(at.shape + c.shape[2:], c.dtype)
    for k in range(len(c) - nu):
        power, factor = len(c) - 1 - k, 1.0
        for i in range(nu):
            factor = factor * (power - i)
        out = out * d + factor * c[k][j]
    if extrapolate is not False:
        return out[()]
    inside = ((at >= x[0]) & (at <= x[-1])).reshape(d.shape)
    return np.where(inside, out, np.nan)[()]


class Piecewise:
    """What scipy.interpolate.PPoly is: `c`, `x`, and values and derivatives by a call."""

    def __init__(self, c, x, extrapolate=True, axis=0):
        self.c, self.x, self.extrapolate, self.axis = c, x, extrapolate, axis

    def __call__(self, x, nu=0, extrapolate=None):
        return _pieces(self.c, self.x, x, nu, self.extrapolate if extrapolate is None else extrapolate)

    def derivative(self, nu=1):
        """The derivative, of one degree less."""
        c = self.c
        for _ in range(nu):
            c = c[:-1] * np.arange(len(c) - 1, 0, -1).reshape((-1,) + (1,) * (c.ndim - 1))
        return Piecewise(c, self.x, self.extrapolate)

    def antiderivative(self):
        """The integral from the first point."""
        c, h = self.c / np.arange(len(self.c), 0, -1).reshape((-1,) + (1,) * (self.c.ndim - 1)), np.diff(self.x)
        whole = np.zeros_like(c[0])
        for k in range(len(c)):
            whole = (whole + c[k]) * h.reshape((-1,) + (1,) * (c.ndim - 2))
        start = np.concatenate((np.zeros_like(whole[:1]), np.cumsum(whole, axis=0)[:-1]))
        return Piecewise(np.concatenate((c, start[None])), self.x, self.extrapolate)

    def integrate(self, a, b):
        """The integral from a to b."""
        whole = self.antiderivative()
        return whole(b) - whole(a)


@written("scipy.interpolate.PPoly.__call__", "scipy.interpolate.CubicHermiteSpline.__call__", always=True)
def evaluate(self, x, nu=0, extrapolate=None):
    """A PPoly, CubicSpline or PchipInterpolator that was made outside, at positions."""
    return _pieces(self.c, self.x, x, nu, self.extrapolate if extrapolate is None else extrapolate)


def _samples(x, y, axis=0):
    x, y = np.asarray(x) + 0.0, np.moveaxis(np.asarray(y) + 0.0, axis, 0)
    if x.ndim != 1 or len(x) < 2:
        raise ValueError("`x` must be 1-dimensional and contain at least 2 elements.")
    if len(x) != len(y):
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    return x, y, np.diff(x).reshape((-1,) + (1,) * (y.ndim - 1))


def _hermite(x, y, slopes, extrapolate):
    """The cubics with these values and slopes."""
    h = np.diff(x).reshape((-1,) + (1,) * (y.ndim - 1))
    secant = (y[1:] - y[:-1]) / h
    t = (slopes[:-1] + slopes[1:] - 2 * secant) / h
    return Piecewise(np.stack((t / h, (secant - slopes[:-1]) / h - t, slopes[:-1], y[:-1])), x, extrapolate)


def _tridiagonal(low, middle, high, right):
    """The solution of a tridiagonal system by elimination without exchanges."""
    n = len(middle)
    m, r, out = middle.copy(), right.copy(), right.copy()
    for k in range(1, n):
        f = low[k - 1] / m[k - 1]
        m[k] -= f * high[k - 1]
        r[k] -= f * r[k - 1]
    out[n - 1] = r[n - 1] / m[n - 1]
    for j in range(1, n):
        k = n - 1 - j
        out[k] = (r[k] - high[k] * out[k + 1]) / m[k]
    return out


def _ends(bc_type):
    """The conditions at both ends, as names or (order, value)."""
    if isinstance(bc_type, str):
        if bc_type == "periodic":
            raise UnsupportedError("scipy.interpolate.CubicSpline(bc_type='periodic')")
        bc_type = (bc_type, bc_type)
    return [{"clamped": (1, 0.0), "natural": (2, 0.0)}.get(b, b) if isinstance(b, str) else b for b in bc_type]


@written("scipy.interpolate.CubicSpline", always=True)
def cubic_spline(x, y, axis=0, bc_type="not-a-knot", extrapolate=None):
    """scipy.interpolate.CubicSpline, but for periodic ends."""
    x, y, h = _samples(x, y, axis)
    n, (first, last) = len(x), _ends(bc_type)
    secant = (y[1:] - y[:-1]) / h
    if n == 2:  # a line takes the place of conditions that there is nothing for
        first, last = [(1, secant[0]) if isinstance(b, str) else b for b in (first, last)]
    if n == 3 and isinstance(first, str) and isinstance(last, str):  # a parabola
        curve = (secant[1] - secant[0]) / (x[2] - x[0])
        return _hermite(
            x,
            y,
            np.stack((secant[0] - curve * h[0], secant[0] + curve * h[0], secant[1] + curve * h[1])),
            extrapolate is not False,
        )
    d = h.reshape(n - 1)
    one = np.ones(1)
    right = 3 * (h[1:] * secant[:-1] + h[:-1] * secant[1:])
    middle = 2 * (d[:-1] + d[1:])
    if isinstance(first, str):
        w = x[2] - x[0]
        top, m0, high = (
            ((h[0] + 2 * w) * h[1] * secant[0] + h[0] ** 2 * secant[1]) / w,
            d[1] * one,
            np.concatenate((w * one, d[:-1])),
        )
    elif first[0] == 1:
        top, m0, high = secant[0] * 0 + first[1], one, np.concatenate((0 * one, d[:-1]))
    else:
        top, m0, high = -0.5 * first[1] * h[0] ** 2 + 3 * (y[1] - y[0]), 2 * d[0] * one, np.concatenate((d[0] * one, d[:-1]))
    if isinstance(last, str):
        w = x[-1] - x[-3]
        bottom, m1, low = (
            (h[-1] ** 2 * secant[-2] + (2 * w + h[-1]) * h[-2] * secant[-1]) / w,
            d[-2] * one,
            np.concatenate((d[1:], w * one)),
        )
    elif last[0] == 1:
        bottom, m1, low = secant[-1] * 0 + last[1], one, np.concatenate((d[1:], 0 * one))
    else:
        bottom, m1, low = 0.5 * last[1] * h[-1] ** 2 + 3 * (y[-1] - y[-2]), 2 * d[-1] * one, np.concatenate((d[1:], d[-1] * one))
    right = np.concatenate((np.reshape(top, y[:1].shape), right, np.reshape(bottom, y[:1].shape)))
    return _hermite(x, y, _tridiagonal(low, np.concatenate((m0, middle, m1)), high, right), extrapolate is not False)


@written("scipy.interpolate.CubicHermiteSpline", always=True)
def cubic_hermite(x, y, dydx, axis=0, extrapolate=None):
    x, y, _ = _samples(x, y, axis)
    return _hermite(x, y, np.moveaxis(np.asarray(dydx) + 0.0, axis, 0), extrapolate is not False)


@written("scipy.interpolate.PchipInterpolator", always=True)
def pchip(x, y, axis=0, extrapolate=None):
    """scipy.interpolate.PchipInterpolator: monotone, by F. Fritsch and J. Butland (1984)."""
    x, y, h = _samples(x, y, axis)
    s = (y[1:] - y[:-1]) / h
    if len(x) == 2:
        return _hermite(x, y, np.concatenate((s, s)), extrapolate is not False)
    flat = (np.sign(s[1:]) != np.sign(s[:-1])) | (s[1:] == 0) | (s[:-1] == 0)
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    a, b = np.where(flat, 1.0, s[:-1]), np.where(flat, 1.0, s[1:])
    inner = np.where(flat, 0.0, 1.0 / ((w1 / a + w2 / b) / (w1 + w2)))
    return _hermite(
        x,
        y,
        np.concatenate((_pchip_end(h[:1], h[1:2], s[:1], s[1:2]), inner, _pchip_end(h[-1:], h[-2:-1], s[-1:], s[-2:-1]))),
        extrapolate is not False,
    )


def _pchip_end(h0, h1, s0, s1):
    d = ((2 * h0 + h1) * s0 - h0 * s1) / (h0 + h1)
    return np.where(
        np.sign(d) != np.sign(s0), 0.0, np.where((np.sign(s0) != np.sign(s1)) & (np.abs(d) > 3 * np.abs(s0)), 3 * s0, d)
    )


@written("scipy.interpolate.Akima1DInterpolator", always=True)
def akima(x, y, axis=0, **options):
    """scipy.interpolate.Akima1DInterpolator by the first method, H. Akima (1970)."""
    if options.get("method", "akima") != "akima":
        raise UnsupportedError("scipy.interpolate.Akima1DInterpolator: method='akima'")
    x, y, h = _samples(x, y, axis)
    s = (y[1:] - y[:-1]) / h
    left, right = 2 * s[:1] - s[1:2], 2 * s[-1:] - s[-2:-1]
    m = np.concatenate((2 * left - s[:1], left, s, right, 2 * right - s[-1:]))
    change = np.abs(m[1:] - m[:-1])
    a, b = change[2:], change[:-2]
    rest = a + b
    none = rest <= 1e-9 * np.max(rest)
    slopes = np.where(none, 0.5 * (m[3:] + m[:-3]), (a * m[1:-2] + b * m[2:-1]) / np.where(none, 1.0, rest))
    return _hermite(x, y, slopes, options.get("extrapolate") is True)


# ---- lines -----------------------------------------------------------------------------------------------------------------------------


class Lines:
    """What scipy.interpolate.interp1d is."""

    def __init__(self, x, y, kind, bounds_error, fill_value, axis):
        self.x, self.y, self.kind, self.bounds_error, self.fill_value, self.axis = x, y, kind, bounds_error, fill_value, axis

    def __call__(self, x):
        return _lines(self.x, self.y, self.kind, self.bounds_error, self.fill_value, self.axis, x)


def _lines(x, y, kind, bounds_error, fill, axis, at):
    """y has the interpolated axis first; in the result its place is `axis`."""
    at = np.asarray(at) + 0.0
    extrapolate = isinstance(fill, str)
    if bounds_error and not extrapolate and np.any((at < x[0]) | (at > x[-1])):
        raise ValueError("A value in x_new is outside the interpolation range.")
    if kind in ("linear", "slinear"):
        j = np.clip(np.searchsorted(x, at) - 1, 0, len(x) - 2)
        d = ((at - x[j]) / (x[j + 1] - x[j])).reshape(at.shape + (1,) * (y.ndim - 1))
        out = y[j] + d * (y[j + 1] - y[j])
    elif kind == "cubic":
        out = cubic_spline(x, y)(at)
    elif kind == "quadratic":
        out = _spline(*_parabolas(x, y), 2, at, 0, True)
    elif kind in ("previous", "zero"):
        out = y[np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 1)]
    elif kind == "next":
        out = y[np.clip(np.searchsorted(x, at), 0, len(x) - 1)]
    elif kind == "nearest":
        out = y[np.clip(np.searchsorted((x[1:] + x[:-1]) / 2, at), 0, len(x) - 1)]
    else:
        raise UnsupportedError(
            f"scipy.interpolate.interp1d(kind={kind!r}): linear, quadratic, cubic, nearest, previous and next are compiled"
        )
    if not extrapolate:
        below, above = fill if isinstance(fill, tuple) else (fill, fill)
        inside = at.reshape(at.shape + (1,) * (y.ndim - 1))
        out = np.where(inside < x[0], below, np.where(inside > x[-1], above, out))
    for _ in range(at.ndim):
        out = np.moveaxis(out, 0, axis % y.ndim + at.ndim - 1)
    return out[()]


def _parabolas(x, y):
    """Knots and coefficients of the spline of degree 2 through values: its knots are between them."""
    t = np.concatenate((np.repeat(x[:1], 3), (0.5 * (x[1:] + x[:-1]))[1:-1], np.repeat(x[-1:], 3)))
    return t, np.linalg.solve(bases(t, 2, x), y.reshape((len(y), -1))).reshape(y.shape)


@written("scipy.interpolate.interp1d", always=True)
def interp1d(x, y, kind="linear", axis=-1, copy=True, bounds_error=None, fill_value=np.nan, assume_sorted=False):
    """scipy.interpolate.interp1d: linear, quadratic, cubic, nearest, previous or next."""
    x, y = np.asarray(x) + 0.0, np.moveaxis(np.asarray(y) + 0.0, axis, 0)
    if not assume_sorted:
        order = np.argsort(x)
        x, y = x[order], y[order]
    given = isinstance(fill_value, (str, tuple)) or not (isinstance(fill_value, float) and np.isnan(fill_value))
    return Lines(x, y, kind, not given if bounds_error is None else bounds_error, fill_value, axis % y.ndim)


@written("scipy.interpolate.interp1d.__call__", always=True)
def evaluate_lines(self, x):
    """An interp1d that was made outside."""
    y = np.moveaxis(np.asarray(self.y), self.axis, 0)
    fill = "extrapolate" if self._extrapolate else (self._fill_value_below, self._fill_value_above)
    return _lines(self.x, y, self._kind, self.bounds_error, fill, self.axis, x)


@written("scipy.interpolate.RegularGridInterpolator", always=True)
def grid(points, values, method="linear", bounds_error=True, fill_value=np.nan, **options):
    """scipy.interpolate.RegularGridInterpolator by lines, or of the nearest values."""
    return lambda xi: interpn(points, values, xi, method, bounds_error, fill_value)


@written("scipy.interpolate.interpn", always=True)
def interpn(points, values, xi, method="linear", bounds_error=True, fill_value=np.nan):
    """scipy.interpolate.interpn by lines, or of the nearest values; xi has the coordinates along its last axis, or is a tuple of them."""
    if method not in ("linear", "nearest"):
        raise UnsupportedError("scipy.interpolate.interpn and RegularGridInterpolator: method 'linear' or 'nearest'")
    xi = np.stack(np.broadcast_arrays(*xi), -1) if isinstance(xi, tuple) else np.asarray(xi)
    values, dims = np.asarray(values), len(points)
    xi = xi.reshape((-1, dims)) if xi.ndim == 1 else xi
    shape, xi = xi.shape[:-1], xi.reshape((-1, dims))
    inside = np.ones(len(xi), bool)
    places, shares = [], []
    for d in range(dims):
        p, at = np.asarray(points[d]), xi[:, d]
        inside = inside & (at >= p[0]) & (at <= p[-1])
        j = np.clip(np.searchsorted(p, at, side="right") - 1, 0, len(p) - 2)
        places.append(j)
        share = (at - p[j]) / (p[j + 1] - p[j])
        shares.append(share if method == "linear" else np.where(share <= 0.5, 0.0, 1.0))
    if bounds_error and not np.all(inside):
        raise ValueError("One of the requested xi is out of bounds")
    wide = (-1,) + (1,) * (values.ndim - dims)
    out = 0.0
    for corner in np.ndindex(*(2,) * dims):
        weight = 1.0
        for d in range(dims):
            weight = weight * (shares[d] if corner[d] else 1 - shares[d])
        out = out + np.reshape(weight, wide) * values[tuple([places[d] + corner[d] for d in range(dims)])]
    if fill_value is not None:
        out = np.where(np.reshape(inside, wide), out, fill_value)
    return out.reshape(shape + values.shape[dims:])


# ---- B-splines ---------------------------------------------------------------------------------------------------------------------------


def _spline(t, c, k, at, nu, extrapolate):
    """sum of c[i] * B_i(x), differentiated nu times, by C. de Boor's recurrence."""
    t, c, at = np.asarray(t), np.asarray(c) + 0.0, np.asarray(at) + 0.0
    for i in range(nu):
        p = k - i
        n = len(t) - 2 * i - p - 1
        inner = t[i : len(t) - i]
        gap = (inner[p + 1 : p + n] - inner[1:n]).reshape((-1,) + (1,) * (c.ndim - 1))
        c = p * (c[1:n] - c[: n - 1]) / np.where(gap == 0, 1.0, gap)
    t, k = t[nu : len(t) - nu], k - nu
    n = len(t) - k - 1
    j = np.clip(np.searchsorted(t, at, side="right") - 1, k, n - 1)
    x = at.reshape(at.shape + (1,) * (c.ndim - 1))
    knot = lambda i: t[j + i].reshape(x.shape)
    d = [c[j - k + i] for i in range(k + 1)]
    for r in range(1, k + 1):
        for i in range(k, r - 1, -1):
            a, b = knot(i - k), knot(i + 1 - r)
            share = (x - a) / (b - a)
            d[i] = (1 - share) * d[i - 1] + share * d[i]
    if extrapolate:
        return d[k][()]
    return np.where((x >= t[k]) & (x <= t[n]), d[k], np.nan)[()]


class Spline:
    """What scipy.interpolate.BSpline is."""

    def __init__(self, t, c, k, extrapolate):
        self.t, self.c, self.k, self.extrapolate = t, c, k, extrapolate

    def __call__(self, x, nu=0, extrapolate=None):
        return _spline(self.t, self.c, self.k, x, nu, self.extrapolate if extrapolate is None else extrapolate)


@written("scipy.interpolate.BSpline", always=True)
def b_spline(t, c, k, extrapolate=True, axis=0):
    return Spline(np.asarray(t) + 0.0, np.moveaxis(np.asarray(c) + 0.0, axis, 0), int(k), extrapolate)


@written("scipy.interpolate.BSpline.__call__", always=True)
def evaluate_spline(self, x, nu=0, extrapolate=None):
    """A BSpline that was made outside."""
    return _spline(self.t, self.c, self.k, x, nu, self.extrapolate if extrapolate is None else extrapolate)


@written("scipy.interpolate.splev", always=True)
def splev(x, tck, der=0, ext=0):
    """scipy.interpolate.splev of (knots, coefficients, degree)."""
    if ext not in (0,) or not isinstance(tck, tuple):
        raise UnsupportedError("scipy.interpolate.splev: tck as a tuple, and ext=0")
    t, c, k = tck
    return _spline(t, np.asarray(c)[: len(t) - k - 1], k, x, der, True)
