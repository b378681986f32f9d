"""scipy.signal in NumPy: spectra of segments, other rates, wave forms, linear systems, peaks, filters of neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal as sg

import irad
from irad.errors import UnsupportedError
from irad.frontend.library.signal import filters, peaks, periodograms, resampling, waves
from tests.support.scipy_calls import call, check_compiled, check_not_compiled

R = np.random.default_rng(0)
X, Y, X2 = R.normal(size=60), R.normal(size=60), R.normal(size=(3, 60))
Z, T, TIMES = X + 1j * Y, np.linspace(-1, 1, 50), np.linspace(0, 5, 11)
STEPS = np.r_[0, 1, 1, 0, 2, 1, 3, 3, 3, 1, 0.5, 2.5, 0.1, 0.2, 0.15, 1, 0]
I, K = R.random((7, 8)), R.random((3, 4))
B_, A_ = sg.butter(3, 0.3)
SOS, ODD = sg.butter(4, 0.3, output="sos"), sg.butter(3, 0.3, output="sos")
A, B, C, D = (
    np.array([[-1.0, 0.5], [0.2, -0.8]]),
    np.array([[1.0], [0.4]]),
    np.array([[1.0, 0.0], [0.3, 1]]),
    np.array([[0.1], [0]]),
)
SYSTEMS: list[Any] = [(A, B, C, D), ([1.0, 2], [1.0, 0.5, 2.0]), sg.lti([1.0], [1.0, 2.0])]
S, S2 = sg.stft(X, nperseg=16)[2], sg.stft(X2, nperseg=16, noverlap=12)[2]

PLAIN: list[dict[str, Any]] = [
    {"nperseg": 16}, {"nperseg": 15, "noverlap": 3, "nfft": 20}, {"detrend": "linear", "nperseg": 16}, {"detrend": False, "nperseg": 16, "fs": 3.0},
    {"window": np.hanning(12)},
]  # fmt: skip
MORE = [{"window": "hamming", "nperseg": 16, "scaling": "spectrum"}, {"return_onesided": False, "nperseg": 16}, *PLAIN]
MEDIAN = [{"average": "median", "nperseg": n} for n in (10, 16)]
FOUND: list[dict[str, Any]] = [
    {}, {"height": 0.5}, {"height": (0.2, 1.5)}, {"threshold": 0.3}, {"threshold": (0.1, 2)}, {"distance": 4}, {"prominence": 0.8}, {"width": 1},
    {"prominence": (None, 2)}, {"prominence": 0.3, "width": (1, 5), "rel_height": 0.7}, {"plateau_size": 1}, {"wlen": 7, "prominence": 0.1},
    {"height": 0, "distance": 3, "prominence": 0.2, "width": 0.5, "threshold": 0.01},
]  # fmt: skip

CALLS = [
    *(call(sg.welch, x, axis=k, **kw) for kw in [*MORE, *MEDIAN] for x, k in ((X, 0), (X2, -1), (X2.T, 0), (Z, 0))),
    *(call(sg.csd, X, y, **kw) for kw in [*MORE, *MEDIAN] for y in (Y, Y[:50])), *(call(sg.coherence, X, Y, **kw) for kw in PLAIN),
    *(call(sg.spectrogram, x, axis=k, **kw) for kw in MORE for x, k in ((X, -1), (X2.T, 0))),
    *(call(sg.spectrogram, X, nperseg=16, mode=m) for m in ("complex", "magnitude", "angle", "phase")),
    *(call(sg.periodogram, x, **kw) for x in (X, X2, Z)
      for kw in ({}, {"nfft": 70}, {"nfft": 40}, {"window": "hann", "fs": 2.0}, {"scaling": "spectrum"}, {"detrend": False})),
    *(call(sg.stft, x, **kw) for x in (X, X2, Z) for kw in (
        {}, {"nperseg": 16}, {"nperseg": 16, "noverlap": 12, "boundary": None}, {"nperseg": 15, "padded": False}, {"nperseg": 16, "boundary": "even"},
        {"nperseg": 16, "boundary": "odd"}, {"nperseg": 16, "boundary": "constant", "scaling": "psd"})),
    call(sg.istft, S), call(sg.istft, S2, noverlap=12), call(sg.istft, S, boundary=False), call(sg.istft, S.T, time_axis=0, freq_axis=1),
    call(sg.istft, S, scaling="psd"), call(sg.istft, sg.stft(Z, nperseg=16, return_onesided=False)[2], input_onesided=False),
    *(call(sg.chirp, T, f, 2.0, 5.0, m, *more) for m in ("linear", "quadratic", "logarithmic", "hyperbolic") for f in (1.0, 5.0) for more in ((), (30, False))),
    call(sg.square, 9 * T), call(sg.square, 9 * T, 0.3), call(sg.sawtooth, 9 * T), call(sg.sawtooth, 9 * T, 0.3), call(sg.sawtooth, 9 * T, 0),
    call(sg.gausspulse, T, 5), call(sg.gausspulse, T, 5, retquad=True, retenv=True), call(sg.gausspulse, "cutoff", 5), call(sg.gausspulse, T, -1),
    *(call(sg.resample, x, n) for n in (60, 30, 31, 90, 91, 61) for x in (X, Z, X[:59])), call(sg.resample, X2, 30, axis=1),
    call(sg.resample, X, 30, window="hann"), call(sg.resample, X, 30, T[:2]),
    *(call(sg.resample_poly, X2, up, down, axis=1) for up, down in ((1, 2), (3, 2), (2, 1), (5, 7), (4, 6))),
    *(call(sg.upfirdn, h, X, up, down) for h in (np.r_[1, 2.0, 3, 4, 5], np.r_[1, 2.0]) for up, down in ((1, 2), (3, 2), (2, 1), (5, 7))),
    call(sg.resample_poly, X, 3, 2, padtype="mean"), call(sg.resample_poly, X, 3, 2, window=np.hanning(21)), call(sg.decimate, X, 3),
    call(sg.decimate, X2, 2, ftype="fir"), call(sg.decimate, X, 3, zero_phase=False), call(sg.decimate, X, 3, ftype="fir", zero_phase=False, n=10),
    *(call(sg.sosfiltfilt, s, X2) for s in (SOS, ODD)), call(sg.sosfilt_zi, SOS), call(sg.sosfilt, SOS, X, zi=sg.sosfilt_zi(SOS)), call(sg.sosfilt, SOS, X2),
    call(sg.freqz, B_, A_), call(sg.freqz, B_, A_, 50, whole=True, fs=3.0), call(sg.freqz, B_, 1, [0.1, 0.2]), call(sg.freqz, B_, A_, 64, include_nyquist=True),
    call(sg.freqz_sos, ODD, worN=20), call(sg.freqs, B_, A_, [1.0, 2]), call(sg.tf2ss, [1.0, 2], [2.0, 3, 4]), call(sg.tf2ss, [1.0, 2, 3], [2.0, 3, 4]),
    *(call(sg.cont2discrete, (A, B, C, D), 0.1, m) for m in ("zoh", "foh", "bilinear", "euler", "backward_diff")),
    call(sg.cont2discrete, (A, B, C, D * 0), 0.1, "impulse"), call(sg.cont2discrete, (A, B, C, D), 0.1, "gbt", 0.3),
    *(call(sg.lsim, s, np.sin(TIMES), TIMES, interp=i) for s in SYSTEMS for i in (True, False)), call(sg.lsim, SYSTEMS[0], None, TIMES, X0=[1.0, 2.0]),
    *(call(f, s, T=t) for f in (sg.step, sg.impulse) for s in SYSTEMS for t in (None, TIMES)),
    *(call(sg.find_peaks, x, **kw) for x in (X, STEPS) for kw in FOUND),
    *(call(f, x, sg.find_peaks(x)[0]) for f in (sg.peak_prominences, sg.peak_widths) for x in (X, STEPS)), call(sg.argrelmax, X2, axis=1),
    *(call(f, x, order=o) for f in (sg.argrelmax, sg.argrelmin) for x in (X, STEPS) for o in (1, 3)), call(sg.argrelextrema, X, np.greater_equal, mode="wrap"),
    call(sg.medfilt, X), call(sg.medfilt, I, (3, 5)), call(sg.medfilt2d, I), call(sg.wiener, I), call(sg.wiener, X, 5, 0.3), call(sg.medfilt, X, 4),
    *(call(f, I, K, m, b, *v) for f in (sg.convolve2d, sg.correlate2d) for m in ("full", "same", "valid") for b in ("fill", "wrap", "symm") for v in ((), (0.3,))),
    *(call(f, *p, m) for f in (sg.convolve2d, sg.correlate2d) for m in ("full", "same", "valid")
      for p in ((K, I), (I, K + 1j * K), (R.random((20, 20)), R.random((9, 10))), ((I * 9).astype(int), (K * 9).astype(int)))),
]  # fmt: skip


def test_not_compiled() -> None:
    check_not_compiled([filters, peaks, periodograms, resampling, waves], CALLS)


def peaks_and_their_shapes(x: Any) -> Any:
    at, of = sg.find_peaks(x, height=-1, distance=2, prominence=0.1, width=0.1)
    return (
        np.sum(x[at] ** 2)
        + np.sum(of["prominences"])
        + np.sum(of["widths"] * of["left_ips"])
        + len(at)
        + np.sum(of["left_bases"])
    )


PROGRAMS: dict[str, tuple[Any, np.ndarray]] = {
    "peaks": (peaks_and_their_shapes, X[:24]),
    "extrema": (lambda x: np.sum(x[sg.find_peaks(x)[0]] ** 2) + np.sum(x[sg.argrelmax(x, order=2)[0]]) + np.sum(x[sg.argrelextrema(x, np.less)]), X[:24]),
    "spectra": (lambda x: np.sum(np.arange(5) * sg.welch(x, nperseg=8)[1]) + np.sum(np.abs(sg.csd(x, Y[:24], nperseg=8, detrend="linear")[1]))
                + np.sum(sg.coherence(x, Y[:24], nperseg=8)[1]) + sg.periodogram(x)[1][3], X[:24]),
    "stft": (lambda x: np.sum(sg.istft(sg.stft(x, nperseg=8)[2] * np.arange(5)[:, None])[1] ** 2) + np.sum(sg.spectrogram(x, nperseg=8)[2] ** 2), X[:24]),
    "rates": (lambda x: np.sum(sg.resample(x, 10) ** 2) + np.sum(sg.resample_poly(x, 3, 2) ** 2) + np.sum(sg.upfirdn(x[:3], x, 2, 3) ** 2)
              + np.sum(sg.decimate(x, 2, n=2) ** 2), X[:24]),
    "wave forms": (lambda p: np.sum(sg.chirp(TIMES, p[0] ** 2, 1.0, p[1]) ** 2) + np.sum(sg.sawtooth(X * p[0], 0.3) * X) + np.sum(sg.square(X * p[0]))
                   + np.sum(sg.gausspulse(X[:4], 1 + p[0] ** 2) ** 2) + np.sum(np.abs(sg.freqz(p, [1.0, 0.2], 8)[1]) ** 2), X[:2]),
    "systems": (lambda p: np.sum(sg.lsim((A * p[0], B, C, D), Y[:6], np.arange(6.0))[1] ** 2) + np.sum(sg.cont2discrete((A * p[0], B, C, D), 0.1)[0])
                + sg.impulse(([1.0], [1.0, p[1] ** 2]), N=5)[1][2] + np.sum(sg.step(([1.0], [1.0, p[1] ** 2, 2.0]), T=np.arange(5.0))[1] ** 2), X[:2]),
    "images": (lambda a: np.sum(sg.convolve2d(a, K, "same", "symm") ** 2) + np.sum(sg.correlate2d(a, K) ** 2) + np.sum(sg.medfilt2d(a) ** 2)
               + np.sum(sg.wiener(a) ** 2), I[:5, :5]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(name: str) -> None:
    check_compiled(*PROGRAMS[name])


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="detrend= of a spectrum"):
        irad.compile(lambda x: sg.welch(x, detrend=lambda v: v)[1])(X)
    with pytest.raises(ValueError, match="noverlap must be less than nperseg"):
        irad.compile(lambda x: sg.welch(x, nperseg=8, noverlap=8)[1])(X)
    with pytest.raises(ValueError, match="not equally spaced"):
        irad.compile(lambda t: sg.lsim((A, B, C, D), t, t)[1])(np.array([0.0, 1.0, 3.0]))
    with pytest.raises(UnsupportedError, match=r"as \(A, B, C, D\)"):
        irad.compile(lambda d: sg.cont2discrete(([1.0], [1.0, d]), 0.1)[0])(1.0)
