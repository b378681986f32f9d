"""scipy.ndimage: samples between the elements of an array, by splines of order 0 to 5; shifted, zoomed, turned and affine images.

A spline is a sum of B-splines, whose coefficients recursive filters along each axis give: M. Unser, "Splines: a perfect fit for signal
and image processing", IEEE Signal Processing Magazine 16 (1999).
"""

import numpy as np
from scipy import special as sp

from irad.frontend.registry import written

# ---- coefficients ------------------------------------------------------------------------------------------------------------------------

_POLES = {
    2: [np.sqrt(8.0) - 3.0],
    3: [np.sqrt(3.0) - 2.0],
    4: [np.sqrt(664.0 - np.sqrt(438976.0)) + np.sqrt(304.0) - 19.0, np.sqrt(664.0 + np.sqrt(438976.0)) - np.sqrt(304.0) - 19.0],
    5: [np.sqrt(67.5 - np.sqrt(4436.25)) + np.sqrt(26.25) - 6.5, np.sqrt(67.5 + np.sqrt(4436.25)) - np.sqrt(26.25) - 6.5],
}
_MODES = ("reflect", "grid-mirror", "constant", "grid-constant", "nearest", "mirror", "wrap", "grid-wrap")
_PAD = 12  # elements by which SciPy widens an array beyond whose ends it stays what it is


def _first_and_last(n, z, mode):
    """How the first element of the forward filter follows from all elements of a line: weights; and a function of the last two of the
    backward filter, or of all."""
    k = np.arange(n)
    if mode == "grid-wrap":
        weights = np.where(k == 0, 1.0, z ** ((n - k) % n)) / (1 - z**n)
        back = np.where(k == n - 1, 1.0, z ** (k + 1.0)) * (z / (z**n - 1))
        return weights, back
    if mode in ("nearest", "reflect", "grid-mirror"):
        weights = z**k + z**n * z ** (n - 1.0 - k)
        weights[0], weights[-1] = 1.0, z**n
        weights = weights * (1 + z ** (2.0 * n - 1))  # SciPy's last term has the sum so far, not the first element
        weights[-1] += z ** (n - 1.0)
        weights = weights * (z / (1 - z ** (2.0 * n)))
        weights[0] += 1.0
        return weights, np.where(k == n - 1, z / (z - 1), 0.0)
    weights = z**k + z ** (n - 1.0) * z ** (n - 1.0 - k)
    weights[0], weights[-1] = 1.0, z ** (n - 1.0)
    back = np.where(k == n - 1, 1.0, np.where(k == n - 2, z, 0.0)) * (z / (z * z - 1))
    return weights / (1 - z ** (2.0 * n - 2)), back


@written("scipy.ndimage.spline_filter1d")
def spline_filter1d(input, order=3, axis=-1, output=None, mode="mirror"):
    _known(order, mode)
    x = np.asarray(input)
    x = np.moveaxis(x if x.dtype.kind == "c" else x.astype(np.float64), axis, 0)
    n = len(x)
    if order < 2 or n < 2:
        return np.moveaxis(x, 0, axis)
    c = x.reshape((n, -1)) * np.prod([(1 - z) * (1 - 1 / z) for z in _POLES[order]])
    for z in _POLES[order]:
        weights, back = _first_and_last(n, z, mode)
        forward = np.zeros_like(c)
        forward[0] = weights @ c
        for k in range(1, n):
            forward[k] = c[k] + z * forward[k - 1]
        c = np.zeros_like(c)
        c[n - 1] = back @ forward
        for j in range(1, n):
            k = n - 1 - j
            c[k] = z * (c[k + 1] - forward[k])
    return np.moveaxis(c.reshape(x.shape), 0, axis)


@written("scipy.ndimage.spline_filter")
def spline_filter(input, order=3, output=None, mode="mirror"):
    if order < 2 or order > 5:
        raise RuntimeError("spline order not supported")
    x = np.asarray(input)
    for k in range(x.ndim):
        x = spline_filter1d(x, order, k, None, mode)
    return x


def _known(order, mode):
    if order < 0 or order > 5:
        raise RuntimeError("spline order not supported")
    if mode not in _MODES:
        raise RuntimeError("boundary mode not supported")


def _coefficients(x, order, mode, cval, prefilter):
    """Coefficients, and by how many elements they begin before the array."""
    _known(order, mode)
    if not prefilter or order < 2:
        return x, 0
    if mode not in ("nearest", "grid-constant"):
        return spline_filter(x, order, None, mode), 0
    wide = np.pad(x, _PAD, "edge") if mode == "nearest" else np.pad(x, _PAD, "constant", constant_values=cval)
    return spline_filter(wide, order, None, mode), _PAD


# ---- positions -------------------------------------------------------------------------------------------------------------------------------


def _inside(c, n, mode):
    """Positions along an axis of n elements, those outside brought back as `mode` says."""
    if mode in ("constant", "grid-constant", "nearest"):
        return c
    if n < 2:
        return c * 0
    whole = lambda v: np.floor(v)  # of numbers that are not negative where it counts
    if mode == "mirror":
        c = np.abs(c) % (2 * n - 2)
        return np.where(c > n - 1, 2 * n - 2 - c, c)
    if mode in ("reflect", "grid-mirror"):
        low = c + 2 * n * whole(-c / (2 * n))
        low = np.where(low < -n, low + 2 * n, -low - 1)
        high = c - 2 * n * whole(c / (2 * n))
        high = np.where(high >= n, 2 * n - high - 1, high)
        return np.where(c < 0, low, np.where(c > n - 1, high, c))
    if mode == "wrap":
        low, high = c + (n - 1) * (whole(-c / (n - 1)) + 1), c - (n - 1) * whole(c / (n - 1))
    else:
        low, high = c + n * (whole(np.maximum(-1 - c, 0) / n) + 1), c - n * whole(c / n)
    return np.where(c < 0, low, np.where(c > n - 1, high, c))


def _weights(t, order):
    """The B-splines that are not 0 at a share t of the way between two knots, by C. de Boor's recurrence."""
    w = [1.0 + 0.0 * t]
    for d in range(1, order + 1):
        old = [0.0] + w + [0.0]
        w = [(t - j + d) / d * old[j] + (j + 1 - t) / d * old[j + 1] for j in range(d + 1)]
    return w


def _neighbours(c, n, order, mode, pad):
    """Along one axis: elements and weights whose sum the spline is; and which positions, or elements, are outside."""
    c = _inside(c + pad, n, mode)
    shift = 0.0 if order % 2 else 0.5
    knot = np.floor(c + shift)
    start = knot.astype(np.int64) - order // 2
    edge = "mirror" if mode in ("constant", "wrap") else mode
    places, beyond = [], []
    for j in range(order + 1):
        at = start + j
        beyond.append((at < 0) | (at >= n))
        places.append(np.clip(_inside(at, n, edge), 0, n - 1).astype(np.int64))
    weights = _weights(c + shift - knot, order) if order else [1.0]
    return places, weights, beyond, (c < 0) | (c > n - 1)


def _as(out, dtype):
    """Rounded if the array has whole numbers."""
    if dtype.kind in "iu":
        out = np.where(out > 0, np.floor(out + 0.5), 0.0 if dtype.kind == "u" else np.ceil(out - 0.5))
    return out.astype(dtype)


def _sampled(x, at, order, mode, cval, prefilter):
    """At positions: one array of coordinates for each axis."""
    c, pad = _coefficients(x, order, mode, cval, prefilter)
    axes = [_neighbours(at[d], c.shape[d], order, mode, pad) for d in range(x.ndim)]
    out = 0.0
    for corner in np.ndindex(*(order + 1,) * x.ndim):
        v = c[tuple([axes[d][0][corner[d]] for d in range(x.ndim)])]
        if mode == "grid-constant":
            outside = False
            for d in range(x.ndim):
                outside = outside | axes[d][2][corner[d]]
            v = np.where(outside, cval, v)
        for d in range(x.ndim):
            v = v * axes[d][1][corner[d]]
        out = out + v
    if mode == "constant":
        outside = False
        for d in range(x.ndim):
            outside = outside | axes[d][3]
        out = np.where(outside, cval, out)
    return _as(out, x.dtype)


def _sampled_axes(x, at, order, mode, cval, prefilter):
    """At the grid of positions along each axis: one axis after the other."""
    c, pad = _coefficients(x, order, mode, cval, prefilter)
    outside = np.zeros((1,) * x.ndim, bool)
    for d in range(x.ndim):
        places, weights, beyond, out_d = _neighbours(at[d], c.shape[d], order, mode, pad)
        wide = (-1,) + (1,) * (x.ndim - 1)
        lines, total = np.moveaxis(c, d, 0), 0.0
        for j in range(order + 1):
            v = lines[places[j]]
            v = np.where(beyond[j].reshape(wide), cval, v) if mode == "grid-constant" else v
            total = total + v * (weights[j].reshape(wide) if order else 1.0)
        c = np.moveaxis(total, 0, d)
        outside = outside | np.reshape(out_d, [-1 if k == d else 1 for k in range(x.ndim)])
    return _as(np.where(outside, cval, c) if mode == "constant" else c, x.dtype)


# ---- images ------------------------------------------------------------------------------------------------------------------------------------


@written("scipy.ndimage.map_coordinates")
def map_coordinates(input, coordinates, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    x, at = np.asarray(input), np.asarray(coordinates) + 0.0
    if at.shape[0] != x.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    return _sampled(x, [at[d] for d in range(x.ndim)], order, mode, cval, prefilter)


def _each_axis(v, ndim):
    """A number for each axis."""
    by = [v] * ndim if np.ndim(v) == 0 else v
    if len(by) != ndim:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return by


@written("scipy.ndimage.shift")
def shift(input, shift, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    x = np.asarray(input)
    by = _each_axis(shift, x.ndim)
    at = [np.arange(n) - by[d] for d, n in enumerate(x.shape)]
    return _sampled_axes(x, at, order, mode, cval, prefilter)


@written("scipy.ndimage.zoom")
def zoom(input, zoom, output=None, order=3, mode="constant", cval=0.0, prefilter=True, *, grid_mode=False):
    x = np.asarray(input)
    by = _each_axis(zoom, x.ndim)
    shape = [int(round(n * float(z))) for n, z in zip(x.shape, by)]
    if all([z == 1 for z in by]) and prefilter:
        return x.copy()
    at = []
    for n, m in zip(x.shape, shape):
        if grid_mode:
            at.append((np.arange(m) + 0.5) * (n / m) - 0.5)
        else:
            at.append(np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 1.0))
    return _sampled_axes(x, at, order, mode, cval, prefilter)


@written("scipy.ndimage.affine_transform")
def affine_transform(
    input, matrix, offset=0.0, output_shape=None, output=None, order=3, mode="constant", cval=0.0, prefilter=True
):
    """scipy.ndimage.affine_transform; along the matrix and the offset too."""
    x, m = np.asarray(input), np.asarray(matrix) + 0.0
    shape = x.shape if output_shape is None else tuple([int(n) for n in output_shape])
    if m.ndim == 2 and m.shape[1] == x.ndim + 1 and m.shape[0] in (x.ndim, x.ndim + 1):
        m, offset = m[: x.ndim, : x.ndim], m[: x.ndim, x.ndim]
    if m.shape[0] != x.ndim:
        raise RuntimeError("affine matrix has wrong number of rows")
    offset = np.broadcast_to(np.asarray(offset) + 0.0, (x.ndim,))
    if m.ndim == 1:
        at = [np.arange(n) * m[d] + offset[d] for d, n in enumerate(shape)]
        return _sampled_axes(x, at, order, mode, cval, prefilter)
    if m.shape[1] != len(shape):
        raise RuntimeError("affine matrix has wrong number of columns")
    grid = np.indices(shape).reshape((len(shape), -1))
    at = m @ grid + offset[:, None]
    return _sampled(x, [at[d].reshape(shape) for d in range(x.ndim)], order, mode, cval, prefilter)


@written("scipy.ndimage.rotate")
def rotate(input, angle, axes=(1, 0), reshape=True, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    """scipy.ndimage.rotate; along the angle with reshape=False."""
    x = np.asarray(input)
    if x.ndim < 2:
        raise ValueError("input array should be at least 2D")
    if len(axes) != 2:
        raise ValueError("axes should contain exactly two values")
    i, j = sorted([int(a) + x.ndim * (a < 0) for a in axes])
    if i < 0 or j >= x.ndim:
        raise ValueError("invalid rotation plane specified")
    c, s = sp.cosdg(angle * 1.0), sp.sindg(angle * 1.0)
    n, m = x.shape[i], x.shape[j]
    high, wide = n, m
    if reshape:
        c, s = float(c), float(s)
        ends = [(c * a + s * b, c * b - s * a) for a in (0, n) for b in (0, m)]
        high = int(max([p for p, _ in ends]) - min([p for p, _ in ends]) + 0.5)
        wide = int(max([q for _, q in ends]) - min([q for _, q in ends]) + 0.5)
    down, right = np.arange(high) - (high - 1) / 2, np.arange(wide) - (wide - 1) / 2
    at_i = c * down[:, None] + s * right + (n - 1) / 2
    at_j = c * right - s * down[:, None] + (m - 1) / 2
    planes = np.moveaxis(x, (i, j), (-2, -1))
    rest = planes.shape[:-2]
    if not rest:
        return _sampled(x, [at_i, at_j], order, mode, cval, prefilter)
    flat = planes.reshape((-1, n, m))
    out = np.stack([_sampled(flat[k], [at_i, at_j], order, mode, cval, prefilter) for k in range(len(flat))])
    return np.moveaxis(out.reshape(rest + (high, wide)), (-2, -1), (i, j))
