"""scipy.fft and scipy.fftpack: their transforms by NumPy's, and the cosine transforms of type 2 and 3, which are each other's inverse.

An FFT of the even elements followed by the odd ones backwards gives type 2 (Makhoul, IEEE Trans. ASSP 28, 1980).
"""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.registry import written


def _as_numpy(name, transform, axes):
    """scipy.fft.NAME, and the like of scipy.fftpack, which knows no norm: of one axis, or of several."""

    if axes == -1:

        @written(f"scipy.fft.{name}")
        def call(x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, *, plan=None):
            return transform(x, n, axis, norm)

        @written(*([f"scipy.fftpack.{name}"] if name in _OLD else []))
        def old(x, n=None, axis=-1, overwrite_x=False):
            return transform(x, n, axis)

    else:

        @written(f"scipy.fft.{name}")
        def call(x, s=None, axes=axes, norm=None, overwrite_x=False, workers=None, *, plan=None):
            return transform(x, s, axes, norm)

        @written(*([f"scipy.fftpack.{name}"] if name in _OLD else []))
        def old(x, shape=None, axes=axes, overwrite_x=False):
            return transform(x, shape, axes)


_OLD = ("fft", "ifft", "fft2", "ifft2")
for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _as_numpy(_name, getattr(np.fft, _name), -1)
for _name in ("fft2", "ifft2", "rfft2", "irfft2"):
    _as_numpy(_name, getattr(np.fft, _name), (-2, -1))
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    _as_numpy(_name, getattr(np.fft, _name), None)


@written("scipy.fft.fftshift")
def fftshift(x, axes=None):
    return np.fft.fftshift(x, axes)


@written("scipy.fft.ifftshift")
def ifftshift(x, axes=None):
    return np.fft.ifftshift(x, axes)


def _last(x, n, axis):
    """x with the axis last, cut to n elements or filled up with zeros."""
    x = np.moveaxis(np.asarray(x), axis, -1)
    have = x.shape[-1]
    if n is None or n == have:
        return x
    return x[..., :n] if n < have else np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n - have)])


def _second(x):
    """Type 2 along the last axis: 2 sum of x[m] cos(pi k (2m + 1) / 2n)."""
    n = x.shape[-1]
    v = np.fft.fft(np.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], axis=-1))
    t = np.arange(n) * (np.pi / (2 * n))
    return 2 * (v.real * np.cos(t) + v.imag * np.sin(t))


def _back(y):
    """The x of which `_second` gives y."""
    n = y.shape[-1]
    mirrored = np.concatenate([np.zeros(y.shape[:-1] + (1,)), y[..., :0:-1]], axis=-1)
    v = np.fft.ifft(0.5 * np.exp(1j * np.pi / (2 * n) * np.arange(n)) * (y - 1j * mirrored)).real
    x = np.zeros(y.shape)
    half = (n + 1) // 2
    x[..., ::2] = v[..., :half]
    x[..., 1::2] = v[..., half:][..., ::-1]
    return x


def _weights(n):
    """What makes type 2 orthonormal."""
    w = np.full(n, np.sqrt(1 / (2 * n)))
    w[0] = np.sqrt(1 / (4 * n))
    return w


def _cosine(x, type, n, axis, norm, overall):
    """Types 2 and 3; `overall`: by what a transform without norm is multiplied, for n elements."""
    if type not in (2, 3) or norm not in (None, "backward", "ortho"):
        raise UnsupportedError(
            f"a cosine transform of type {type} and norm {norm!r}; there are types 2 and 3, norms None and 'ortho'"
        )
    x = _last(x, n, axis)
    n = x.shape[-1]
    if norm == "ortho":
        y = _second(x) * _weights(n) if type == 2 else _back(x / _weights(n))
    else:
        y = (_second(x) if type == 2 else _back(x) * (2 * n)) * overall(n)
    return np.moveaxis(y, -1, axis)


def _cosines(name, kind, overall):
    """Cosine transforms; `kind`: the type of the one that is computed. scipy.fftpack does not divide by 2n, and knows less."""

    @written(f"scipy.fft.{name}")
    def call(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
        return _cosine(x, kind(type), n, axis, norm, overall)

    @written(f"scipy.fftpack.{name}")
    def old(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False):
        return _cosine(x, kind(type), n, axis, norm, lambda n: 1.0)


_cosines("dct", lambda type: type, lambda n: 1.0)
_cosines("idct", lambda type: 5 - type, lambda n: 1 / (2 * n))
