"""scipy.ndimage: filters that weigh neighbours."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.registry import known, written

_MODES = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap", "grid-wrap": "wrap",
    "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def _mode(mode):
    if mode not in _MODES:
        raise ValueError(f"boundary mode not supported: {mode!r}; there are {', '.join(_MODES)}")
    return _MODES[mode]


def widened(x, pairs, mode, cval):
    mode = _mode(mode)
    return np.pad(x, pairs, mode, constant_values=cval) if mode == "constant" else np.pad(x, pairs, mode)


def along_axis(x, weights, axis, mode, cval, origin, over=1):
    """Sums along an axis with the weights, `over` a number, of the dtype of x."""
    x = np.moveaxis(np.asarray(x), axis, 0)
    m = len(weights)
    before = m // 2 + origin
    wide = widened(x, [(before, m - 1 - before)] + [(0, 0)] * (x.ndim - 1), mode, cval)
    out = weights[0] * wide[: len(x)]
    for k in range(1, m):
        out = out + weights[k] * wide[k : k + len(x)]
    out = out if over == 1 else out / over
    return np.moveaxis(out.astype(x.dtype), 0, axis)  # also whole numbers: what is behind the point is cut off


@written("scipy.ndimage.correlate1d")
def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    return along_axis(input, np.asarray(weights), axis, mode, cval, origin)


@written("scipy.ndimage.convolve1d")
def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    w = np.asarray(weights)[::-1]
    return along_axis(input, w, axis, mode, cval, -origin - (1 if len(w) % 2 == 0 else 0))


@written("scipy.ndimage.correlate")
def correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    x, w = np.asarray(input), np.asarray(weights)
    return _correlated(x, w, mode, cval, [origin] * x.ndim if np.ndim(origin) == 0 else origin)


def _correlated(x, w, mode, cval, origins):
    """Sums of x around each element with the weights w, which stand n // 2 + origin before it along an axis of n weights."""
    if x.ndim != w.ndim or len(origins) != x.ndim:
        raise UnsupportedError("scipy.ndimage.correlate and convolve: weights, and origins, for as many axes as the array has")
    before = [n // 2 + o for n, o in zip(w.shape, origins)]
    wide = widened(x, [(b, n - 1 - b) for b, n in zip(before, w.shape)], mode, cval)
    out = 0.0
    for at in np.ndindex(*w.shape):
        out = out + w[at] * wide[tuple([slice(k, k + n) for k, n in zip(at, x.shape)])]
    return out.astype(x.dtype)


@written("scipy.ndimage.convolve")
def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    x, w = np.asarray(input), np.asarray(weights)
    origins = [origin] * x.ndim if np.ndim(origin) == 0 else origin
    return _correlated(x, np.flip(w), mode, cval, [-o - (n % 2 == 0) for n, o in zip(w.shape, origins)])


def _gaussian(sigma, order, radius):
    """SciPy's weights: a Gaussian times the Hermite polynomial that a derivative makes."""
    x = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 / (sigma * sigma) * x**2)
    return weights / np.sum(weights) * _hermite(sigma, order, x)


def _hermite(sigma, order, x):
    """The polynomial that an array of numbers of a Gaussian is multiplied by for its derivative of an order."""
    q = np.zeros(order + 1)
    q[0] = 1.0
    for _ in range(order):
        q = np.arange(1, order + 2) * np.append(q[1:], 0.0) - np.append(0.0, q[:-1]) / (sigma * sigma)
    return np.sum(q * x[:, None] ** np.arange(order + 1), axis=1)


def _at_run_time(x, sigma, axis, order, mode, cval, radius):
    """`gaussian_filter1d` of a radius that data decide: one neighbour after the other, each found by its place."""
    x = np.moveaxis(np.asarray(x), axis, 0)
    n, at, mode = len(x), np.arange(len(x)), _mode(mode)
    out, total = np.zeros(x.shape), 0.0
    for k in range(-radius, radius + 1):
        i = at + k
        inside = (i >= 0) & (i < n)
        if mode == "symmetric":
            i = i % (2 * n)
            i = np.minimum(i, 2 * n - 1 - i)
        elif mode == "reflect":
            i = i % max(2 * n - 2, 1)
            i = np.minimum(i, 2 * n - 2 - i)
        elif mode == "wrap":
            i = i % n
        else:
            i = np.clip(i, 0, n - 1)
        v = x[i]
        if mode == "constant":
            v = np.where(inside.reshape((n,) + (1,) * (x.ndim - 1)), v, cval)
        w = np.exp(-0.5 / (sigma * sigma) * k**2)
        total = total + w
        out = out + w * _hermite(sigma, order, np.array([-k]))[0] * v
    return np.moveaxis((out / total).astype(x.dtype), 0, axis)


@written("scipy.ndimage.gaussian_filter1d")
def gaussian_filter1d(input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None):
    """scipy.ndimage.gaussian_filter1d. Of a sigma that is no constant it is faster with radius=, which fixes the number of weights."""
    radius = int(truncate * float(sigma) + 0.5) if radius is None else radius
    if not known(radius):
        return _at_run_time(input, sigma, axis, order, mode, cval, radius)
    return along_axis(input, _gaussian(sigma, order, radius)[::-1], axis, mode, cval, 0)


@written("scipy.ndimage.gaussian_filter")
def gaussian_filter(input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None, axes=None):
    """scipy.ndimage.gaussian_filter along all axes."""
    x = np.asarray(input)
    every = lambda v: v if np.ndim(v) and not isinstance(v, str) else [v] * x.ndim
    for k, (s, o) in enumerate(zip(every(sigma), every(order))):
        if radius is not None or s > 1e-15:
            x = gaussian_filter1d(x, s, k, o, None, mode, cval, truncate, radius=radius)
    return x


@written("scipy.ndimage.uniform_filter1d")
def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    return along_axis(input, np.ones(size), axis, mode, cval, origin, size)


@written("scipy.ndimage.uniform_filter")
def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """scipy.ndimage.uniform_filter along all axes."""
    x = np.asarray(input)
    for k in range(x.ndim):
        x = uniform_filter1d(x, size[k] if np.ndim(size) else size, k, None, mode, cval, origin)
    return x


@written("scipy.ndimage.laplace")
def laplace(input, output=None, mode="reflect", cval=0.0, *, axes=None):
    x = np.asarray(input)
    return sum([along_axis(x, np.array([1.0, -2.0, 1.0]), k, mode, cval, 0) for k in range(x.ndim)])


def _edges(x, axis, mode, cval, side):
    out = along_axis(x, np.array([-1.0, 0.0, 1.0]), axis, mode, cval, 0)
    for k in range(out.ndim):
        if k != axis % out.ndim:
            out = along_axis(out, np.array(side), k, mode, cval, 0)
    return out


@written("scipy.ndimage.sobel")
def sobel(input, axis=-1, output=None, mode="reflect", cval=0.0):
    return _edges(input, axis, mode, cval, [1.0, 2.0, 1.0])


@written("scipy.ndimage.prewitt")
def prewitt(input, axis=-1, output=None, mode="reflect", cval=0.0):
    return _edges(input, axis, mode, cval, [1.0, 1.0, 1.0])
