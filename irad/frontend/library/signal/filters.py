"""scipy.signal: convolutions and filters."""

import numpy as np
from scipy import signal

from irad.errors import UnsupportedError
from irad.frontend.library.calculus import as_precise
from irad.frontend.library.ndimage.images import along_axis
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
    zi = lfilter_zi(b, a).reshape((-1,) + (1,) * (x.ndim - 1))
    return np.moveaxis(both_ways(lambda wide: lfilter(b, a, wide, 0, zi * wide[:1])[0], x, edge), 0, axis)


def both_ways(run, x, edge):
    """A filter forwards and backwards along axis 0, over `edge` more elements at each end, turned about the last value."""
    if len(x) <= edge:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {edge}.")
    wide = np.concatenate((2 * x[:1] - x[edge:0:-1], x, 2 * x[-1:] - x[-2 : -edge - 2 : -1])) if edge else x
    for _ in range(2):
        wide = run(wide)[::-1]
    return wide[edge : len(wide) - edge]


@written("scipy.signal.detrend")
def detrend(data, axis=-1, type="linear", bp=0, overwrite_data=False):
    """scipy.signal.detrend without break points."""
    x = np.moveaxis(np.asarray(data), axis, 0)
    rest = x - np.mean(x, 0, keepdims=True)
    if type in ("linear", "l"):
        t = (np.arange(len(x)) - (len(x) - 1) / 2.0).reshape((-1,) + (1,) * (x.ndim - 1))
        rest = rest - t * np.sum(t * rest, 0, keepdims=True) / np.sum(t * t)
    return np.moveaxis(as_precise(rest, x), 0, axis)


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
    return as_precise(np.fft.ifft(np.fft.fft(x, n, axis=axis) * weights.reshape(shape), axis=axis), x)


@written("scipy.signal.savgol_filter")
def savgol_filter(x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode="interp", cval=0.0):
    x = np.moveaxis(np.asarray(x) + 0.0, axis, 0)
    coefficients = signal.savgol_coeffs(window_length, polyorder, deriv=deriv, delta=delta)
    y = along_axis(x, coefficients[::-1], 0, "constant" if mode == "interp" else mode, cval, 0)
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
