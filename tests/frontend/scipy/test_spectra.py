"""scipy.fft and scipy.fftpack in compiled code, against SciPy itself; slopes by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.fftpack

import irad

R = np.random.default_rng(0)


@pytest.mark.parametrize("module", [scipy.fft, scipy.fftpack])
@pytest.mark.parametrize("name", ["dct", "idct"])
@pytest.mark.parametrize("norm", [None, "ortho"])
def test_cosine_transforms(module: Any, name: str, norm: str | None) -> None:
    f = getattr(module, name)
    for n in (1, 2, 5, 8):
        x = R.random((3, n))
        for t in (2, 3):
            np.testing.assert_allclose(
                irad.compile(lambda x, t=t: f(x, type=t, norm=norm))(x), f(x, type=t, norm=norm), atol=1e-13
            )
    x = R.random((4, 3))
    np.testing.assert_allclose(irad.compile(lambda x: f(x, n=6, axis=0))(x), f(x, n=6, axis=0), atol=1e-13)
    irad.check_grads(lambda x: np.sum(f(x, axis=0, norm=norm) ** 3), (x,))


def test_transforms_are_numpys() -> None:
    def f(x: np.ndarray) -> Any:
        new, old = scipy.fft, scipy.fftpack
        z = new.fft(x) + new.ifft(x, axis=0) + old.fft2(x) + new.fftn(x) - old.ifft(x, 6) + new.fftshift(old.fft(x))
        return np.sum(np.abs(z) ** 2) + np.sum(new.irfft(new.rfft(x)) * x) + np.sum(new.irfft2(new.rfft2(x)) ** 2)

    x = R.random((5, 6))
    assert np.isclose(irad.compile(f)(x), f(x), rtol=1e-13)
    irad.check_grads(f, (x,))


def test_other_cosine_transforms_are_refused() -> None:
    with pytest.raises(irad.UnsupportedError, match="types 2 and 3"):
        irad.compile(lambda x: scipy.fft.dct(x, type=1))(np.ones(4))
