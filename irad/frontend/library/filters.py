"""scipy.signal and scipy.ndimage: convolutions, filters, samples between the elements of an array."""

import numpy as np
from scipy import signal

from irad.errors import UnsupportedError
from irad.frontend.registry import written

# ---- convolution ---------------------------------------------------------------------------------------------------------------------


def _centred(whole, shape, mode, other):
    """The part of a full convolution of arrays of these shapes that `mode` asks for."""
    if mode == "full":
        return whole
    if mode == "same":
        starts = [(w - n) // 2 for w, n in zip(whole.shape, shape)]
        return whole[tuple([slice(s, s + n) for s, n in zip(starts, shape)])]
    if mode == "valid":
        small = [min(n, m) for n, m in zip(shape, other)]
        return whole[tuple([slice(s - 1, w - s + 1) for s, w in zip(small, whole.shape)])]
    raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")


def _shifted_sums(a, v):
    """The full convolution: a shifted copy of a for each element of v."""
    out = np.zeros([n + m - 1 for n, m in zip(a.shape, v.shape)], np.result_type(a, v))
    for at in np.ndindex(*v.shape):
        out[tuple([slice(k, k + n) for k, n in zip(at, a.shape)])] += a * v[at]
    return out


@written("scipy.signal.convolve")
def convolve(in1, in2, mode="full", method="auto"):
    """scipy.signal.convolve: directly if one of them is short, else by Fourier transforms."""
    a, v = np.asarray(in1), np.asarray(in2)
    if a.ndim != v.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if a.ndim == 1 and method != "fft":
        whole = np.convolve(a, v)
    elif method == "fft" or min(a.size, v.size) > 64:
        return fftconvolve(a, v, mode)
    else:
        whole = _shifted_sums(a, v) if v.size <= a.size else _shifted_sums(v, a)
    return _centred(whole, a.shape, mode, v.shape)


@written("scipy.signal.correlate")
def correlate(in1, in2, mode="full", method="auto"):
    """scipy.signal.correlate: the second operand is conjugated."""
    turned = np.flip(np.conj(np.asarray(in2)))
    return convolve(in1, turned, mode, method)


@written("scipy.signal.fftconvolve")
def fftconvolve(in1, in2, mode="full", axes=None):
    """scipy.signal.fftconvolve along all axes."""
    if axes is not None:
        raise UnsupportedError("scipy.signal.fftconvolve with axes=: use np.fft")
    a, v = np.asarray(in1), np.asarray(in2)
    shape, along = [n + m - 1 for n, m in zip(a.shape, v.shape)], tuple(range(a.ndim))
    if np.iscomplexobj(a) or np.iscomplexobj(v):
        whole = np.fft.ifftn(np.fft.fftn(a, shape, along) * np.fft.fftn(v, shape, along), shape, along)
    else:
        whole = np.fft.irfftn(np.fft.rfftn(a, shape, along) * np.fft.rfftn(v, shape, along), shape, along)
    return _centred(whole, a.shape, mode, v.shape)


# ---- filters -------------------------------------------------------------------------------------------------------------------------


@written("scipy.signal.lfilter")
def lfilter(b, a, x, axis=-1, zi=None):
    """scipy.signal.lfilter, in the transposed direct form II; with `zi` also the last state."""
    b, a, x = np.atleast_1d(np.asarray(b)), np.atleast_1d(np.asarray(a)), np.moveaxis(np.asarray(x), axis, 0)
    dtype = np.result_type(b, a, x, np.float32 if x.dtype == np.float32 else np.float64)
    n = max(len(a), len(b))
    b = np.concatenate((b, np.zeros(n - len(b)))) / a[0]
    a = np.concatenate((a, np.zeros(n - len(a)))) / a[0]
    lines = x.reshape((x.shape[0], -1)).astype(dtype)
    state = np.zeros((n, lines.shape[1]), dtype)
    if zi is not None:
        state[: n - 1] = np.moveaxis(np.asarray(zi), axis, 0).reshape((n - 1, -1))
    out = np.zeros_like(lines)
    for k in range(len(lines)):
        out[k] = b[0] * lines[k] + state[0]
        state[: n - 1] = state[1:n] + b[1:, None] * lines[k] - a[1:, None] * out[k]
    y = np.moveaxis(out.reshape(x.shape), 0, axis)
    return y if zi is None else (y, np.moveaxis(state[: n - 1].reshape((n - 1,) + x.shape[1:]), 0, axis))


@written("scipy.signal.sosfilt")
def sosfilt(sos, x, axis=-1):
    """scipy.signal.sosfilt: one section after the other."""
    sos, out = np.asarray(sos), np.asarray(x)
    for k in range(len(sos)):
        out = lfilter(sos[k, :3], sos[k, 3:], out, axis)
    return out


@written("scipy.signal.lfilter_zi")
def lfilter_zi(b, a):
    """scipy.signal.lfilter_zi: the state of a step that has been going on."""
    b, a = np.asarray(b) / np.asarray(a)[0], np.asarray(a) / np.asarray(a)[0]
    n = max(len(a), len(b))
    b, a = np.concatenate((b, np.zeros(n - len(b)))), np.concatenate((a, np.zeros(n - len(a))))
    shift = np.eye(n - 1, k=1).astype(a.dtype)
    first = np.concatenate((-a[1:, None], np.zeros((n - 1, n - 2))), axis=1)
    return np.linalg.solve(np.eye(n - 1) - (shift + first), b[1:] - a[1:] * b[0])


@written("scipy.signal.filtfilt")
def filtfilt(b, a, x, axis=-1, padtype="odd", padlen=None, method="pad", irlen=None):
    """scipy.signal.filtfilt: forwards and backwards, beyond ends that are turned about their last value."""
    if padtype != "odd" or method != "pad":
        raise UnsupportedError("scipy.signal.filtfilt: padtype='odd' and method='pad'")
    x = np.moveaxis(np.asarray(x), axis, 0)
    edge = 3 * max(len(np.atleast_1d(a)), len(np.atleast_1d(b))) if padlen is None else padlen
    if len(x) <= edge:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {edge}.")
    wide = np.concatenate((2 * x[:1] - x[edge:0:-1], x, 2 * x[-1:] - x[-2 : -edge - 2 : -1]))
    zi = lfilter_zi(b, a).reshape((-1,) + (1,) * (x.ndim - 1))
    for _ in range(2):
        wide = lfilter(b, a, wide, 0, zi * wide[:1])[0][::-1]
    return np.moveaxis(wide[edge : len(wide) - edge], 0, axis)


@written("scipy.signal.detrend")
def detrend(data, axis=-1, type="linear", bp=0, overwrite_data=False):
    """scipy.signal.detrend without break points."""
    x = np.moveaxis(np.asarray(data), axis, 0)
    rest = x - np.mean(x, 0, keepdims=True)
    if type in ("linear", "l"):
        t = (np.arange(len(x)) - (len(x) - 1) / 2.0).reshape((-1,) + (1,) * (x.ndim - 1))
        rest = rest - t * np.sum(t * rest, 0, keepdims=True) / np.sum(t * t)
    return np.moveaxis(rest, 0, axis)


@written("scipy.signal.hilbert")
def hilbert(x, N=None, axis=-1):
    """scipy.signal.hilbert: the analytic signal."""
    x = np.asarray(x)
    n = x.shape[axis] if N is None else N
    weights = np.where(np.arange(n) <= n // 2, 2.0, 0.0)
    weights[0] = 1.0
    if n % 2 == 0:
        weights[n // 2] = 1.0
    shape = [1] * x.ndim
    shape[axis] = n
    return np.fft.ifft(np.fft.fft(x, n, axis=axis) * weights.reshape(shape), axis=axis)


@written("scipy.signal.savgol_filter")
def savgol_filter(x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode="interp", cval=0.0):
    """scipy.signal.savgol_filter."""
    x = np.moveaxis(np.asarray(x) + 0.0, axis, 0)
    coefficients = signal.savgol_coeffs(window_length, polyorder, deriv=deriv, delta=delta)
    y = _correlate1d(x, coefficients[::-1], 0, "constant" if mode == "interp" else mode, cval, 0)
    if mode == "interp":  # the polynomials of the first and the last window
        half, t = window_length // 2, np.arange(window_length) * 1.0
        fit = np.linalg.pinv(np.vander(t, polyorder + 1))
        powers = np.vander(t, polyorder + 1)
        for _ in range(deriv):
            fit = np.concatenate((np.zeros_like(fit[:1]), fit[:-1] * np.arange(len(fit) - 1, 0, -1)[:, None]))
        rows = powers @ fit / delta**deriv
        flat = x.reshape((len(x), -1))
        y = y.reshape((len(x), -1))
        y[:half] = rows[:half] @ flat[:window_length]
        y[len(y) - half :] = rows[window_length - half :] @ flat[len(x) - window_length :]
        y = y.reshape(x.shape)
    return np.moveaxis(y, 0, axis)


# ---- scipy.ndimage -------------------------------------------------------------------------------------------------------------------

_MODES = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap", "grid-wrap": "wrap",
    "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def _mode(mode):
    if mode not in _MODES:
        raise ValueError(f"boundary mode not supported: {mode!r}; there are {', '.join(_MODES)}")
    return _MODES[mode]


def _wide(x, pairs, mode, cval):
    mode = _mode(mode)
    return np.pad(x, pairs, mode, constant_values=cval) if mode == "constant" else np.pad(x, pairs, mode)


def _correlate1d(x, weights, axis, mode, cval, origin):
    x = np.moveaxis(np.asarray(x), axis, 0)
    m = len(weights)
    before = m // 2 + origin
    wide = _wide(x, [(before, m - 1 - before)] + [(0, 0)] * (x.ndim - 1), mode, cval)
    out = weights[0] * wide[: len(x)]
    for k in range(1, m):
        out = out + weights[k] * wide[k : k + len(x)]
    return np.moveaxis(out, 0, axis)


@written("scipy.ndimage.correlate1d")
def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """scipy.ndimage.correlate1d."""
    return _correlate1d(input, np.asarray(weights), axis, mode, cval, origin)


@written("scipy.ndimage.convolve1d")
def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """scipy.ndimage.convolve1d."""
    w = np.asarray(weights)[::-1]
    return _correlate1d(input, w, axis, mode, cval, -origin - (1 if len(w) % 2 == 0 else 0))


@written("scipy.ndimage.correlate")
def ndimage_correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    """scipy.ndimage.correlate."""
    x, w = np.asarray(input), np.asarray(weights)
    if x.ndim != w.ndim or np.ndim(origin):
        raise UnsupportedError("scipy.ndimage.correlate: weights with as many axes as the array, one origin for all")
    before = [n // 2 + origin for n in w.shape]
    wide = _wide(x, [(b, n - 1 - b) for b, n in zip(before, w.shape)], mode, cval)
    out = 0.0
    for at in np.ndindex(*w.shape):
        out = out + w[at] * wide[tuple([slice(k, k + n) for k, n in zip(at, x.shape)])]
    return out


@written("scipy.ndimage.convolve")
def ndimage_convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    """scipy.ndimage.convolve, of weights with odd extents."""
    w = np.asarray(weights)
    if any(n % 2 == 0 for n in w.shape):
        raise UnsupportedError(
            "scipy.ndimage.convolve with weights of even extents: use scipy.ndimage.correlate of the flipped weights"
        )
    return ndimage_correlate(input, np.flip(w), None, mode, cval, -origin)


def _gaussian(sigma, order, radius):
    """SciPy's weights: a Gaussian times the Hermite polynomial that a derivative makes."""
    x = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 / (sigma * sigma) * x**2)
    weights = weights / np.sum(weights)
    q = np.zeros(order + 1)
    q[0] = 1.0
    for _ in range(order):
        q = np.arange(1, order + 2) * np.append(q[1:], 0.0) - np.append(0.0, q[:-1]) / (sigma * sigma)
    return weights * np.sum(q * x[:, None] ** np.arange(order + 1), axis=1)


@written("scipy.ndimage.gaussian_filter1d")
def gaussian_filter1d(input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None):
    """scipy.ndimage.gaussian_filter1d of a known sigma; of a traced one with radius=, which fixes the number of weights."""
    radius = int(truncate * float(sigma) + 0.5) if radius is None else radius
    return _correlate1d(input, _gaussian(sigma, order, radius)[::-1], axis, mode, cval, 0)


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
    """scipy.ndimage.uniform_filter1d."""
    return _correlate1d(input, np.full(size, 1.0 / size), axis, mode, cval, origin)


@written("scipy.ndimage.uniform_filter")
def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """scipy.ndimage.uniform_filter along all axes."""
    x = np.asarray(input)
    for k in range(x.ndim):
        x = uniform_filter1d(x, size[k] if np.ndim(size) else size, k, None, mode, cval, origin)
    return x


@written("scipy.ndimage.laplace")
def laplace(input, output=None, mode="reflect", cval=0.0, *, axes=None):
    """scipy.ndimage.laplace."""
    x, out = np.asarray(input), 0.0
    for k in range(x.ndim):
        out = out + _correlate1d(x, np.array([1.0, -2.0, 1.0]), k, mode, cval, 0)
    return out


def _edges(x, axis, mode, cval, side):
    out = _correlate1d(x, np.array([-1.0, 0.0, 1.0]), axis, mode, cval, 0)
    for k in range(out.ndim):
        if k != axis % out.ndim:
            out = _correlate1d(out, np.array(side), k, mode, cval, 0)
    return out


@written("scipy.ndimage.sobel")
def sobel(input, axis=-1, output=None, mode="reflect", cval=0.0):
    """scipy.ndimage.sobel."""
    return _edges(input, axis, mode, cval, [1.0, 2.0, 1.0])


@written("scipy.ndimage.prewitt")
def prewitt(input, axis=-1, output=None, mode="reflect", cval=0.0):
    """scipy.ndimage.prewitt."""
    return _edges(input, axis, mode, cval, [1.0, 1.0, 1.0])


@written("scipy.ndimage.map_coordinates")
def map_coordinates(input, coordinates, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    """scipy.ndimage.map_coordinates of order 0 or 1; outside: constant, nearest, or mirror."""
    if order not in (0, 1):
        raise UnsupportedError("scipy.ndimage.map_coordinates: order=0 or order=1, which interpolates by lines")
    x, at = np.asarray(input), np.asarray(coordinates)
    if mode not in ("constant", "nearest", "mirror"):
        raise UnsupportedError("scipy.ndimage.map_coordinates: mode 'constant', 'nearest' or 'mirror'")
    inside, places, shares = True, [], []
    for d in range(x.ndim):
        n, c = x.shape[d], at[d]
        if mode == "constant":
            inside = inside & (c >= 0) & (c <= n - 1)
        elif mode == "mirror":
            period = max(2 * (n - 1), 1)
            c = np.abs(c) % period
            c = np.where(c > n - 1, period - c, c)
        c = np.clip(c, 0, n - 1)
        if order == 0:
            places.append(np.floor(c + 0.5).astype(np.int64))
            continue
        j = np.clip(np.floor(c).astype(np.int64), 0, max(n - 2, 0))
        places.append(j)
        shares.append(c - j)
    out = 0.0
    for corner in np.ndindex(*(2 if order else 1,) * x.ndim):
        weight = 1.0
        for d in range(x.ndim if order else 0):
            weight = weight * (shares[d] if corner[d] else 1 - shares[d])
        out = out + weight * x[tuple([np.clip(places[d] + corner[d], 0, x.shape[d] - 1) for d in range(x.ndim)])]
    return np.where(inside, out, cval) if mode == "constant" else out
