"""scipy.signal: spectra of signals that are cut into segments."""

import numpy as np
from scipy import signal

from irad.errors import UnsupportedError
from irad.frontend.library.calculus import as_precise
from irad.frontend.library.signal.filters import detrend as without_trend
from irad.frontend.registry import written


def _window(window, nperseg, length, default=256):
    """The weights of a segment."""
    if isinstance(window, (str, tuple)):
        nperseg = min(default if nperseg is None else int(nperseg), length)
        if nperseg < 1:
            raise ValueError("nperseg must be a positive integer")
        return signal.get_window(window, nperseg) + 0.0
    win = np.asarray(window) + 0.0
    if win.ndim != 1:
        raise ValueError("window must be 1-D")
    if length < len(win):
        raise ValueError("window is longer than input signal")
    if nperseg is not None and nperseg != len(win):
        raise ValueError("value specified for nperseg is different from length of window")
    return win


def _steps(nperseg, noverlap, nfft):
    """The step from one segment to the next, and the length of the transform."""
    noverlap, nfft = nperseg // 2 if noverlap is None else int(noverlap), nperseg if nfft is None else int(nfft)
    if noverlap >= nperseg:
        raise ValueError("noverlap must be less than nperseg.")
    if nfft < nperseg:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    return nperseg - noverlap, nfft


def _scale(win, fs, scaling):
    if scaling == "density":
        return 1.0 / (fs * np.sum(win * win))
    if scaling == "spectrum":
        return 1.0 / np.sum(win) ** 2
    raise ValueError(f"Unknown scaling: {scaling!r}")


def _transforms(x, win, step, nfft, trend, onesided):
    """The Fourier transform of each segment of the last axis, along a new last axis."""
    count = (x.shape[-1] - len(win)) // step + 1
    parts = x[..., np.arange(count)[:, None] * step + np.arange(len(win))]
    if trend is not False and trend is not None:
        if not isinstance(trend, str):
            raise UnsupportedError("scipy.signal: detrend= of a spectrum: 'constant', 'linear' or False")
        parts = without_trend(parts, -1, trend)
    parts = win * parts
    return np.fft.rfft(parts, nfft) if onesided else np.fft.fft(parts, nfft)


def _doubled(p, nfft):
    """The power of both sides, where one stands for both: all but the first frequency, and the middle one of an even number."""
    both = np.full(p.shape[-1], 2.0)
    both[0] = 1.0
    if nfft % 2 == 0:
        both[-1] = 1.0
    return p * both


def _frequencies(nfft, fs, onesided):
    return np.fft.rfftfreq(nfft, 1 / fs) if onesided else np.fft.fftfreq(nfft, 1 / fs)


def _bias(n):
    """What the median of the power of n segments is of its mean."""
    odd = 2 * np.arange(1.0, (n - 1) // 2 + 1)
    return 1 + np.sum(1.0 / (odd + 1) - 1.0 / odd)


def _power(x, y, fs, window, nperseg, noverlap, nfft, trend, onesided, scaling, axis, average):
    x, y = np.moveaxis(np.asarray(x), axis, -1), np.moveaxis(np.asarray(y), axis, -1)
    n = max(x.shape[-1], y.shape[-1])
    x, y = [v if v.shape[-1] == n else np.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, n - v.shape[-1])]) for v in (x, y)]
    win = _window(window, nperseg, n)
    step, nfft = _steps(len(win), noverlap, nfft)
    onesided = onesided and not np.iscomplexobj(x) and not np.iscomplexobj(y)
    of = lambda v: _transforms(v, win, step, nfft, trend, onesided)
    p = np.conj(of(x)) * of(y) * _scale(win, fs, scaling)
    p = _doubled(p, nfft) if onesided else p
    if average == "mean":
        p = np.mean(p, -2)
    elif average == "median":
        p = (np.median(np.real(p), -2) + 1j * np.median(np.imag(p), -2)) / _bias(p.shape[-2])
    else:
        raise ValueError(f"Parameter average={average!r} must be 'median' or 'mean'!")
    return _frequencies(nfft, fs, onesided), np.moveaxis(as_precise(p, x, y), -1, axis)


@written("scipy.signal.csd")
def csd(
    x, y, fs=1.0, window="hann_periodic", nperseg=None, noverlap=None, nfft=None, detrend="constant", return_onesided=True,
    scaling="density", axis=-1, average="mean",
):  # fmt: skip
    f, p = _power(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)
    return f, np.real(p) if y is x else p


@written("scipy.signal.welch")
def welch(
    x, fs=1.0, window="hann_periodic", nperseg=None, noverlap=None, nfft=None, detrend="constant", return_onesided=True,
    scaling="density", axis=-1, average="mean",
):  # fmt: skip
    f, p = _power(x, x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)
    return f, np.real(p)


@written("scipy.signal.periodogram")
def periodogram(x, fs=1.0, window="boxcar", nfft=None, detrend="constant", return_onesided=True, scaling="density", axis=-1):
    x = np.asarray(x)
    nperseg = x.shape[axis] if nfft is None else min(nfft, x.shape[axis])
    if nperseg < x.shape[axis]:
        x = np.moveaxis(np.moveaxis(x, axis, 0)[:nperseg], 0, axis)
    window = "boxcar" if window is None else window
    return welch(x, fs, window, nperseg, 0, nfft, detrend, return_onesided, scaling, axis)


@written("scipy.signal.coherence")
def coherence(x, y, fs=1.0, window="hann_periodic", nperseg=None, noverlap=None, nfft=None, detrend="constant", axis=-1):
    given = (fs, window, nperseg, noverlap, nfft, detrend, True, "density", axis)
    f, pxx = welch(x, *given)
    pyy, pxy = welch(y, *given)[1], csd(x, y, *given)[1]
    return f, (np.real(pxy) ** 2 + np.imag(pxy) ** 2) / pxx / pyy


# ---- spectra that change with time -----------------------------------------------------------------------------------------------------


def _times(length, nperseg, step, fs):
    return np.arange(nperseg / 2, length - nperseg / 2 + 1, step) / float(fs)


@written("scipy.signal.spectrogram")
def spectrogram(
    x, fs=1.0, window=("tukey_periodic", 0.25), nperseg=None, noverlap=None, nfft=None, detrend="constant", return_onesided=True,
    scaling="density", axis=-1, mode="psd",
):  # fmt: skip
    modes = ["psd", "complex", "magnitude", "angle", "phase"]
    if mode not in modes:
        raise ValueError(f"unknown value for mode {mode}, must be one of {modes}")
    x = np.moveaxis(np.asarray(x), axis, -1)
    win = _window(window, nperseg, x.shape[-1])
    step, nfft = _steps(len(win), len(win) // 8 if noverlap is None else noverlap, nfft)
    onesided = return_onesided and not np.iscomplexobj(x)
    s = _transforms(x, win, step, nfft, detrend, onesided)
    if mode == "psd":
        s = (np.real(s) ** 2 + np.imag(s) ** 2) * _scale(win, fs, scaling)
        s = _doubled(s, nfft) if onesided else s
    else:
        s = s * np.sqrt(_scale(win, fs, scaling))
    if mode == "magnitude":
        s = np.abs(s)
    elif mode in ("angle", "phase"):
        s = np.angle(s)
        s = np.unwrap(s, axis=-1) if mode == "phase" else s
    out = np.moveaxis(as_precise(s, x), -1, axis - 1 if axis < 0 else axis)
    return _frequencies(nfft, fs, onesided), _times(x.shape[-1], len(win), step, fs), out


_ENDS = {"even": "reflect", "constant": "edge", "zeros": "constant"}


def _extended(x, n, boundary):
    if boundary is None or n == 0:
        return x
    if boundary == "odd":
        left, right = 2 * x[..., :1] - x[..., n:0:-1], 2 * x[..., -1:] - x[..., -2 : -n - 2 : -1]
        return np.concatenate((left, x, right), axis=-1)
    if boundary not in _ENDS:
        raise ValueError(f"Unknown boundary option '{boundary}', must be one of: {[*_ENDS, 'odd', None]}")
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n, n)], _ENDS[boundary])


@written("scipy.signal.stft")
def stft(
    x, fs=1.0, window="hann_periodic", nperseg=256, noverlap=None, nfft=None, detrend=False, return_onesided=True, boundary="zeros",
    padded=True, axis=-1, scaling="spectrum",
):  # fmt: skip
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    x = np.moveaxis(np.asarray(x), axis, -1)
    win = _window(window, nperseg if isinstance(window, (str, tuple)) or nperseg != 256 else None, x.shape[-1])
    n = len(win)
    step, nfft = _steps(n, noverlap, nfft)
    x = _extended(x, n // 2, boundary)
    more = (-(x.shape[-1] - n) % step) % n if padded else 0
    if more:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, more)])
    onesided = return_onesided and not np.iscomplexobj(x)
    s = _transforms(x, win, step, nfft, detrend, onesided) * np.sqrt(_scale(win, fs, "density" if scaling == "psd" else scaling))
    times = _times(x.shape[-1], n, step, fs) - (0.0 if boundary is None else n / 2 / fs)
    return _frequencies(nfft, fs, onesided), times, np.moveaxis(as_precise(s, x), -1, axis - 1 if axis < 0 else axis)


@written("scipy.signal.istft")
def istft(
    Zxx, fs=1.0, window="hann_periodic", nperseg=None, noverlap=None, nfft=None, input_onesided=True, boundary=True, time_axis=-1,
    freq_axis=-2, scaling="spectrum",
):  # fmt: skip
    z = np.asarray(Zxx)
    if z.ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    if freq_axis % z.ndim == time_axis % z.ndim:
        raise ValueError("Must specify differing time and frequency axes!")
    place = time_axis % z.ndim - (freq_axis % z.ndim < time_axis % z.ndim)
    z = np.moveaxis(z, (time_axis, freq_axis), (-2, -1))
    count, whole = z.shape[-2], 2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1]
    n = whole if nperseg is None else int(nperseg)
    if nfft is None:
        nfft = n if input_onesided and n == whole + 1 else whole
    step, nfft = _steps(n, noverlap, nfft)
    win = _window(window, n, n)
    parts = (np.fft.irfft(z, nfft) if input_onesided else np.fft.ifft(z, nfft))[..., :n]
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    parts = parts * (np.sum(win) if scaling == "spectrum" else np.sqrt(fs * np.sum(win**2))) * win
    length = n + (count - 1) * step
    x, norm = np.zeros(z.shape[:-2] + (length,), parts.dtype), np.zeros(length)
    for k in range(count):
        x[..., k * step : k * step + n] += parts[..., k, :]
        norm[k * step : k * step + n] += win**2
    if boundary:
        x, norm = x[..., n // 2 : -(n // 2)], norm[n // 2 : -(n // 2)]
    x = np.moveaxis(x / np.where(norm > 1e-10, norm, 1.0), -1, place)
    return np.arange(x.shape[0]) / float(fs), x
