"""scipy.signal: other rates of samples, and sections of filters forwards and backwards."""

import math

import numpy as np
from scipy import signal

from irad.errors import UnsupportedError
from irad.frontend.library.calculus import as_precise
from irad.frontend.library.signal.filters import both_ways, lfilter, lfilter_zi
from irad.frontend.registry import written


@written("scipy.signal.resample", always=True)
def resample(x, num, t=None, axis=0, window=None, domain="time"):
    """scipy.signal.resample, by Fourier transforms."""
    if domain not in ("time", "freq"):
        raise ValueError(f"Parameter domain={domain!r} not in ('time', 'freq')!")
    x = np.moveaxis(np.asarray(x), axis, -1)
    n, m = x.shape[-1], min(num, x.shape[-1])
    half, ratio = m // 2 + 1, n / num
    weights = None
    if callable(window):
        weights = window(np.fft.fftfreq(n))
    elif isinstance(window, (str, tuple, float)):
        weights = np.fft.fftshift(signal.get_window(window, n))
    elif window is not None:
        weights = np.asarray(window)
        if weights.shape != (n,):
            raise ValueError(
                f"window.shape={weights.shape!r} != ({n},), i.e., window length is not equal to number of frequency bins!"
            )
    if domain == "time" and not np.iscomplexobj(x):
        s = np.fft.rfft(x)
        if weights is not None:
            k = np.arange(s.shape[-1])
            s = s * (0.5 * (weights[k] + weights[-k % n]))
        s = s[..., :half]
        if m % 2 == 0 and num != n:
            s = s * np.where(np.arange(half) == m // 2, 2.0 if num < n else 0.5, 1.0)
        out = np.fft.irfft(s / ratio, num)
    else:
        s = np.fft.fft(x) if domain == "time" else x
        s = s if weights is None else s * weights
        y = np.zeros(s.shape[:-1] + (num,), np.result_type(s, np.complex64))
        y[..., :half] = s[..., :half]
        if half < m:
            y[..., half - m :] = s[..., half - m :]
        if m % 2 == 0 and num < n:
            y[..., num - m // 2] += s[..., n - m // 2]
        elif m % 2 == 0 and n < num:
            y[..., m // 2] *= 0.5
            y[..., num - m // 2] = y[..., m // 2]
        out = np.fft.ifft(y / ratio, num)
    out = np.moveaxis(as_precise(out, x), -1, axis)
    return out if t is None else (out, t[0] + (t[1] - t[0]) * ratio * np.arange(num))


@written("scipy.signal.upfirdn")
def upfirdn(h, x, up=1, down=1, axis=-1, mode="constant", cval=0):
    """scipy.signal.upfirdn with zeros beyond the ends; each sample is made of the taps that meet one of x."""
    if mode != "constant" or cval != 0:
        raise UnsupportedError("scipy.signal.upfirdn: mode='constant' with cval=0; extend the signal before")
    h, x = np.asarray(h), np.moveaxis(np.asarray(x), axis, -1)
    if h.ndim != 1 or len(h) == 0:
        raise ValueError("h must be 1-D with non-zero length")
    n, taps = x.shape[-1], -(-len(h) // up)
    length = ((n - 1) * up + len(h) - 1) // down + 1
    phases = np.concatenate((h, np.zeros(taps * up - len(h), h.dtype))).reshape((taps, up))
    at = np.arange(length) * down
    places = (at // up)[:, None] - np.arange(taps) + taps - 1
    beyond = max(0, int(places.max()) + 1 - n - (taps - 1))
    wide = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(taps - 1, beyond)])
    return np.moveaxis(np.sum(phases.T[at % up] * wide[..., places], axis=-1), -1, axis)


_BACKGROUND = {"mean": np.mean, "median": np.median, "minimum": np.min, "maximum": np.max}


@written("scipy.signal.resample_poly")
def resample_poly(x, up, down, axis=0, window=("kaiser", 5.0), padtype="constant", cval=None):
    """scipy.signal.resample_poly; beyond the ends zeros, or the mean, median, minimum or maximum."""
    x = np.asarray(x)
    if up != int(up) or down != int(down):
        raise ValueError("up and down must be integers")
    if up < 1 or down < 1:
        raise ValueError("up and down must be >= 1")
    shared = math.gcd(int(up), int(down))
    up, down = int(up) // shared, int(down) // shared
    if padtype not in _BACKGROUND and (padtype != "constant" or cval not in (None, 0)):
        raise UnsupportedError("scipy.signal.resample_poly: padtype 'constant' with cval=0, mean, median, minimum or maximum")
    if up == down == 1:
        return x.copy()
    n = x.shape[axis]
    n_out = -(-n * up // down)
    if isinstance(window, (str, tuple)):
        half = 10 * max(up, down)
        h = signal.firwin(2 * half + 1, 1.0 / max(up, down), window=window)
        h = h.astype(x.dtype if x.dtype.kind in "fc" else np.float64) * up
    else:
        h = np.asarray(window) * up
        half = (len(h) - 1) // 2
    before, after = down - half % down, 0
    skip = (half + before) // down
    while ((n - 1) * up + len(h) + before + after - 1) // down + 1 < n_out + skip:
        after = after + 1
    h = np.concatenate((np.zeros(before, h.dtype), h, np.zeros(after, h.dtype)))
    ground = _BACKGROUND[padtype](x, axis=axis, keepdims=True) if padtype in _BACKGROUND else 0
    y = np.moveaxis(upfirdn(h, x - ground, up, down, axis), axis, 0)[skip : skip + n_out]
    return np.moveaxis(y, 0, axis) + ground


# ---- sections ------------------------------------------------------------------------------------------------------------------------------


@written("scipy.signal.sosfilt")
def sosfilt(sos, x, axis=-1, zi=None):
    """scipy.signal.sosfilt: one section after the other; with `zi` also the last states."""
    sos, out = np.asarray(sos), np.asarray(x)
    if zi is None:
        for k in range(len(sos)):
            out = lfilter(sos[k, :3], sos[k, 3:], out, axis)
        return out
    last = []
    for k in range(len(sos)):
        out, state = lfilter(sos[k, :3], sos[k, 3:], out, axis, zi[k])
        last.append(state)
    return out, np.stack(last)


@written("scipy.signal.sosfilt_zi")
def sosfilt_zi(sos):
    """scipy.signal.sosfilt_zi: the states of a step that has been going on."""
    sos, scale, out = np.asarray(sos), 1.0, []
    for k in range(len(sos)):
        b, a = sos[k, :3], sos[k, 3:]
        out.append(scale * lfilter_zi(b, a))
        scale = scale * (np.sum(b) / np.sum(a))
    return np.stack(out)


@written("scipy.signal.sosfiltfilt")
def sosfiltfilt(sos, x, axis=-1, padtype="odd", padlen=None):
    """scipy.signal.sosfiltfilt of known sections: forwards and backwards, beyond ends that are turned about their last value."""
    if padtype != "odd":
        raise UnsupportedError("scipy.signal.sosfiltfilt: padtype='odd'")
    sos, x = np.asarray(sos), np.moveaxis(np.asarray(x), axis, 0)
    taps = 2 * len(sos) + 1 - int(min((sos[:, 2] == 0).sum(), (sos[:, 5] == 0).sum())) if padlen is None else 0
    edge = 3 * taps if padlen is None else padlen
    zi = sosfilt_zi(sos).reshape((len(sos), 2) + (1,) * (x.ndim - 1))
    return np.moveaxis(both_ways(lambda wide: sosfilt(sos, wide, 0, zi * wide[:1])[0], x, edge), 0, axis)


@written("scipy.signal.decimate")
def decimate(x, q, n=None, ftype="iir", axis=-1, zero_phase=True):
    x, q = np.asarray(x), int(q)
    kind = x.dtype if x.dtype.kind in "fc" and x.dtype != np.float16 else np.float64
    if ftype == "fir":
        b = signal.firwin((20 * q if n is None else n) + 1, 1.0 / q, window="hamming").astype(kind)
        if zero_phase:
            return resample_poly(x, 1, q, axis, b)
        y = np.moveaxis(upfirdn(b, x, 1, q, axis), axis, 0)[: -(-x.shape[axis] // q)]
        return np.moveaxis(y, 0, axis)
    if not isinstance(ftype, str):
        raise UnsupportedError("scipy.signal.decimate: ftype='iir' or 'fir'")
    if ftype != "iir":
        raise ValueError("invalid ftype")
    sos = signal.cheby1(8 if n is None else n, 0.05, 0.8 / q, output="sos").astype(kind)
    y = sosfiltfilt(sos, x, axis) if zero_phase else sosfilt(sos, x, axis)
    return np.moveaxis(np.moveaxis(y, axis, 0)[::q], 0, axis)
