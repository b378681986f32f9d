"""numpy.fft through one op on real and imaginary parts: values as NumPy's, both modes to second order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import IradTypeError, IradValueError
from tests.support.slopes import check_slopes

RNG = np.random.default_rng(4)
X, Y = RNG.normal(size=(3, 6)), RNG.normal(size=(4, 5, 6))
Z = X + 1j * RNG.normal(size=(3, 6))
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "fft.fft": (lambda a: np.fft.fft(a), X),
    "fft.fft cut": (lambda a: np.fft.fft(a, 2, axis=0, norm="ortho"), X),
    "fft.ifft longer": (lambda a: np.fft.ifft(a, 9, norm="forward"), X),
    "fft.fft2": (lambda a: np.fft.fft2(a), Y),
    "fft.ifft2": (lambda a: np.fft.ifft2(a, norm="ortho"), Y),
    "fft.fftn": (lambda a: np.fft.fftn(a, (3, 8), axes=(0, 2)), Y),
    "fft.ifftn": (lambda a: np.fft.ifftn(a), Y),
    "fft.rfft": (lambda a: np.fft.rfft(a), X),
    "fft.rfft odd": (lambda a: np.fft.rfft(a, 7, norm="ortho"), X),
    "fft.rfft2": (lambda a: np.fft.rfft2(a), Y),
    "fft.rfftn": (lambda a: np.fft.rfftn(a, axes=(2, 1, 0)), Y),
    "fft.irfft": (lambda a: np.fft.irfft(np.fft.rfft(a) * (1 + 2j)), X),
    "fft.irfft odd": (lambda a: np.fft.irfft(a * (1 - 1j), 7, axis=0), X),
    "fft.irfft2": (lambda a: np.fft.irfft2(a * (1 - 1j)), Y),
    "fft.irfftn": (lambda a: np.fft.irfftn(np.fft.rfftn(a) * 2.0, s=(4, 5, 6), axes=(0, 1, 2)), Y),
    "fft.hfft": (lambda a: np.fft.hfft(a * (1 + 0.5j)), X),
    "fft.ihfft": (lambda a: np.fft.ihfft(a, norm="ortho"), X),
    "fft.fftshift": (lambda a: np.fft.fftshift(a) * np.fft.ifftshift(a, axes=1) + np.fft.fftshift(a, axes=np.arange(1)), X),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str) -> None:
    f, x = FUNCTIONS[name]
    got, want = irad.compile(f)(x), f(x)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12 * np.max(np.abs(want)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name: str) -> None:
    f, x = FUNCTIONS[name]

    def loss(a: Any) -> Any:
        y = f(a)
        return np.sum(np.sin(y.real)) + np.sum(y.imag * y.imag * y.real)

    check_slopes(loss, (x,), 2, 1e-5)


@pytest.mark.parametrize("f", [lambda z: np.fft.fft(z), lambda z: np.fft.irfft(z), lambda z: np.fft.ifftn(z)])
def test_complex_input(f: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(irad.compile(f)(Z), f(Z), rtol=1e-12, atol=1e-12)


def test_gradient_by_a_complex_argument() -> None:
    """dL/d(Re z) - i dL/d(Im z), for L = sum |F z|^2 / 2 = n/2 sum |z|^2."""
    got = irad.grad(lambda z: 0.5 * np.sum(np.abs(np.fft.fft(z)) ** 2))(Z)
    np.testing.assert_allclose(got, 6 * np.conj(Z), rtol=1e-12)


def test_single_precision() -> None:
    x = X.astype(np.float32)
    got, want = irad.compile(lambda a: np.fft.rfft(a))(x), np.fft.rfft(x)
    assert got.dtype == np.complex64 and want.dtype == (np.complex128 if np.__version__.startswith("1.") else np.complex64)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_in_a_loop() -> None:
    def smoothed(x: Any, k: int) -> Any:
        for _ in range(k):
            x = np.fft.irfft(np.fft.rfft(x) * 0.5)
        return np.sum(x**2)

    np.testing.assert_allclose(irad.grad(smoothed)(X[0], 3), 2 * X[0] * 0.5**6, rtol=1e-12)


def test_errors() -> None:
    with pytest.raises(IradTypeError, match="real input"):
        irad.compile(lambda z: np.fft.rfft(z))(Z)
    with pytest.raises(IradValueError, match="Invalid number of FFT data points"):
        irad.compile(lambda z: np.fft.fft(z, 0))(Z)
