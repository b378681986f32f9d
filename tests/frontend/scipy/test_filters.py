"""scipy.signal and scipy.ndimage in NumPy: run by Python against SciPy, then compiled, with slopes against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.ndimage as nd
import scipy.signal as sg

import irad
from irad.frontend.library.ndimage import images
from irad.frontend.library.signal import filters

R = np.random.default_rng(0)
A, K, X, X2 = R.random((6, 7)), R.random((3, 3)), R.random(20), R.random((2, 20))
B_, A_ = sg.butter(3, 0.3)
SOS = sg.butter(4, 0.3, output="sos")
MODES = ("reflect", "mirror", "nearest", "wrap", "constant")

CALLS: list[tuple[Any, tuple[Any, ...]]] = [
    *((sg.convolve, (*p, m)) for p in ((X, K[0]), (A, K), (K[0], X), (R.random((9, 9)), R.random((9, 9)))) for m in ("full", "same", "valid")),
    *((f, (A, K, m)) for f in (sg.correlate, sg.fftconvolve) for m in ("full", "same", "valid")),
    (sg.correlate, (K[0], X, "same")), (sg.lfilter, (B_, A_, X2)), (sg.lfilter, (B_, A_, X2, 0)), (sg.lfilter, ([0.2, 0.3], [1.0], X2)),
    (sg.lfilter_zi, (B_, A_)), (sg.filtfilt, (B_, A_, X2)), (sg.detrend, (X2,)), (sg.detrend, (X2, 0, "constant")),
    (sg.hilbert, (X2,)), (sg.hilbert, (X2[:, :7],)),
    *((sg.savgol_filter, (X2, 7, 3, d, 0.5, -1, m)) for d in (0, 1) for m in ("interp", "nearest", "mirror", "constant", "wrap")),
    *((f, (A, w, 1, None, m)) for f in (nd.correlate1d, nd.convolve1d) for w in (K[0], R.random(4)) for m in MODES),
    *((f, (A, K, None, m)) for f in (nd.convolve, nd.correlate) for m in MODES),
    *((f, (A, w, None, m, 0.3, o)) for f in (nd.convolve, nd.correlate) for w in (K[:2, :2], K[:2], K[:, :1]) for o in (0, (0, -1), -1)
      for m in ("reflect", "constant") if min(w.shape) > 1 or o == 0),
    *((nd.gaussian_filter, (A, (0.7, 1.2), (0, 1), None, m)) for m in MODES), (nd.gaussian_filter1d, (A, 0.8, 0, 2)),
    *((f, (A, 3, None, m)) for f in (nd.uniform_filter,) for m in MODES), (nd.uniform_filter1d, (A, 4, 0)),
    (nd.laplace, (A,)), (nd.sobel, (A, 0)), (nd.prewitt, (A, 1)),
]  # fmt: skip


def test_not_compiled() -> None:
    for f, args in CALLS:
        ours = getattr(images if f.__module__.startswith("scipy.ndimage") else filters, f.__name__)
        np.testing.assert_allclose(ours(*args), f(*args), rtol=1e-9, atol=1e-12, err_msg=f"{f.__name__} {args[2:]}")


DTYPES: dict[str, tuple[Any, np.ndarray]] = {  # results have the dtype that SciPy gives them: whole numbers too, in ndimage
    "gaussian_filter": (lambda x: nd.gaussian_filter(x, 1.0), A), "uniform_filter": (lambda x: nd.uniform_filter(x, 3), A),
    "laplace": (nd.laplace, A), "sobel": (nd.sobel, A), "convolve": (lambda x: nd.convolve(x, K), A), "median": (lambda x: nd.median_filter(x, 3), A),
    "gradient": (lambda x: nd.gaussian_gradient_magnitude(x, 1.0), A), "hilbert": (sg.hilbert, X), "detrend": (sg.detrend, X),
    "welch": (lambda x: sg.welch(x, nperseg=8)[1], X), "stft": (lambda x: sg.stft(x, nperseg=8)[2], X), "resample": (lambda x: sg.resample(x, 10), X),
    "spectrogram": (lambda x: sg.spectrogram(x, nperseg=8)[2], X), "csd": (lambda x: sg.csd(x, x, nperseg=8)[1], X),
    "savgol_filter": (lambda x: sg.savgol_filter(x, 5, 2), X),
}  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_are_scipys(name: str) -> None:
    f, x = DTYPES[name]
    for given in (x.astype(np.float32), *([(x * 40).astype(int)] if x is A else [])):
        got, want = irad.compile(f)(given), f(given)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


PROGRAMS: dict[str, tuple[Any, np.ndarray]] = {
    "convolve": (lambda a: np.sum(sg.convolve(a, K, "same") ** 2) + np.sum(sg.fftconvolve(a, K, "same") ** 2) + np.sum(sg.correlate(a, K, "valid") ** 2), A),
    "lfilter": (lambda b: np.sum(sg.lfilter(b, A_, X) ** 2) + np.sum(sg.lfilter(b, [1.0], X) ** 2), B_),
    "filters in a row": (lambda x: np.sum(sg.sosfilt(SOS, x) ** 2) + np.sum(sg.filtfilt(B_, A_, x) ** 2), X),
    "detrend, hilbert": (lambda x: np.sum(sg.detrend(x) ** 3) + np.sum(np.abs(sg.hilbert(x)) ** 2), X),
    "savgol_filter": (lambda x: np.sum(sg.savgol_filter(x, 5, 2) ** 2) + np.sum(sg.savgol_filter(x, 7, 3, deriv=1, mode="mirror") ** 2), X),
    "images": (lambda a: np.sum(nd.convolve(a, K) ** 2) + np.sum(nd.gaussian_filter(a, 1.0) ** 2) + np.sum(nd.sobel(a) ** 2), A),
    "computed sigma": (lambda s: sum([np.sum(nd.gaussian_filter1d(A[:4, :3], s[k], 0, k % 2, mode=m, cval=0.5) ** 2)
                                      for k, m in enumerate(("reflect", "mirror", "nearest", "wrap", "constant"))]), np.array([0.9, 0.7, 1.1, 0.8, 1.3])),
    "sigma": (lambda s: np.sum(nd.gaussian_filter1d(A, s[0], radius=3) ** 2), np.array([1.1])),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(name: str) -> None:
    f, x = PROGRAMS[name]
    value, slope = irad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-11)
    moved = lambda k, h: f(x + h * (np.arange(x.size) == k).reshape(x.shape))
    want = np.array([(moved(k, 1e-6) - moved(k, -1e-6)) / 2e-6 for k in range(x.size)]).reshape(x.shape)
    np.testing.assert_allclose(slope, want, rtol=1e-5, atol=1e-6)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="boundary mode not supported: 'around'"):
        irad.compile(lambda a: nd.laplace(a, mode="around"))(A)
