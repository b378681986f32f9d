"""numpy.fft. All transforms are one op on real and imaginary parts, with zeros added, elements dropped and a factor as need be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from irad.core.ir import Value
from irad.core.types import Type, is_complex
from irad.errors import IradTypeError, IradValueError
from irad.frontend.numpy.elementwise import convert
from irad.frontend.numpy.move import roll
from irad.frontend.registry import numpy
from irad.frontend.values.arr import Arr, lift, normalize_axis, static_int
from irad.ops import complex as cx
from irad.ops.array import concat, slice_axis, zeros
from irad.ops.fft import fft as fft_op

Parts = tuple[Value, Value]
_OTHER = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _parts(a: Any) -> Parts:
    """Real and imaginary part, in the precision in which NumPy transforms."""
    x = lift(a)
    if is_complex(x.name):
        return cx.real(x.value), cx.imag(x.value)
    re = convert(x, "f32" if x.name in ("f16", "f32") else "f64").value
    return re, zeros(re.type)


def _real(a: Any, what: str) -> Value:
    x = lift(a)
    if is_complex(x.name):
        raise IradTypeError(f"{what} wants real input, got {x.type}; write .real")
    return _parts(x)[0]


def _fit(v: Value, axis: int, n: int) -> Value:
    """Exactly n elements along an axis: the first ones, or zeros after them."""
    have = static_int(v.type.shape[axis], "the extent of a transformed axis")
    if n < 1:
        raise IradValueError(f"Invalid number of FFT data points ({n}) specified.")
    if have >= n:
        return v if have == n else slice_axis(v, axis, 0, n)
    shape = tuple(n - have if k == axis else d for k, d in enumerate(v.type.shape))
    return concat(v, zeros(Type(v.type.dtype, shape)), axis=axis)


def _factor(norm: str | None, count: int, forward: bool) -> float:
    """What a transform over `count` elements is multiplied by."""
    if norm not in _OTHER:
        raise IradValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if (norm == "forward") == forward else 1.0


def _scaled(v: Value, factor: float) -> Value:
    return v if factor == 1 else v * factor


def _transform(re: Value, im: Value, axes: Sequence[int], sizes: Sequence[int], norm: str | None, sign: int) -> Parts:
    for k, n in zip(axes, sizes):
        re, im = _fit(re, k, n), _fit(im, k, n)
    re, im = fft_op(re, im, axes=tuple(axes), sign=sign)
    factor = _factor(norm, math.prod(sizes), sign < 0)
    return _scaled(re, factor), _scaled(im, factor)


def _axes_and_sizes(v: Value, s: Any, axes: Any, default: Sequence[int] | None = None) -> tuple[list[int], list[int]]:
    rank = v.type.rank
    if axes is None:
        axes = default if default is not None else range(rank) if s is None else range(-len(s), 0)
    at = [normalize_axis(k, rank) for k in axes]
    if s is not None and len(s) != len(at):
        raise IradValueError("Shape and axes have different lengths.")
    sizes = [static_int(v.type.shape[k], "the extent of a transformed axis") for k in at]
    given = [-1] * len(at) if s is None else [-1 if n is None else static_int(n, "s") for n in s]
    return at, [have if n == -1 else n for have, n in zip(sizes, given)]


def _complex(parts: Parts) -> Arr:
    return Arr(cx.complex_(*parts))


# ---- complex transforms ------------------------------------------------------------------------------------------------------


def _one_axis(sign: int) -> Callable[..., Arr]:
    def call(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None, out: Any = None) -> Arr:
        re, im = _parts(a)
        at, sizes = _axes_and_sizes(re, None if n is None else [n], [axis])
        return _complex(_transform(re, im, at, sizes, norm, sign))

    return call


def _many_axes(sign: int, default: Sequence[int] | None) -> Callable[..., Arr]:
    def call(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Arr:
        re, im = _parts(a)
        at, sizes = _axes_and_sizes(re, s, axes, default)
        return _complex(_transform(re, im, at, sizes, norm, sign))

    return call


fft, ifft = numpy("fft.fft")(_one_axis(-1)), numpy("fft.ifft")(_one_axis(1))
fft2, ifft2 = numpy("fft.fft2")(_many_axes(-1, (-2, -1))), numpy("fft.ifft2")(_many_axes(1, (-2, -1)))
fftn, ifftn = numpy("fft.fftn")(_many_axes(-1, None)), numpy("fft.ifftn")(_many_axes(1, None))

# ---- transforms of real input -------------------------------------------------------------------------------------------------


def _half(parts: Parts, axis: int, n: int) -> Parts:
    """The first half of a spectrum, which determines the other one."""
    re, im = (slice_axis(v, axis, 0, n // 2 + 1) for v in parts)
    return re, im


def _whole(parts: Parts, axis: int, n: int) -> Parts:
    """The spectrum of n real elements from its first half: the other half is its conjugate, backwards."""
    m = n // 2 + 1
    re, im = (_fit(v, axis, m) for v in parts)
    rest = n - m
    if not rest:
        return re, im
    back = lambda v: slice_axis(v, axis, rest, rest, -1)
    return concat(re, back(re), axis=axis), concat(im, -back(im), axis=axis)


def _rfftn(a: Any, at: list[int], sizes: list[int], norm: str | None, what: str) -> Arr:
    re = _real(a, what)
    parts = _transform(re, zeros(re.type), at, sizes, norm, -1)
    return _complex(_half(parts, at[-1], sizes[-1]))


def _irfftn(parts: Parts, at: list[int], sizes: list[int], norm: str | None, sign: int = 1) -> Arr:
    """The other axes first: the half spectrum along the last one is then that of real numbers."""
    if len(at) > 1:
        parts = _transform(*parts, at[:-1], sizes[:-1], norm, sign)
    whole = _whole(parts, at[-1], sizes[-1])
    return Arr(_transform(*whole, at[-1:], sizes[-1:], norm, sign)[0])


@numpy("fft.rfft")
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None, out: Any = None) -> Arr:
    """np.fft.rfft."""
    v = _real(a, "np.fft.rfft")
    return _rfftn(a, *_axes_and_sizes(v, None if n is None else [n], [axis]), norm, "np.fft.rfft")


def _last_size(v: Value, at: list[int], sizes: list[int], given: bool) -> list[int]:
    """By default a half spectrum of m elements is that of 2(m - 1)."""
    return sizes if given else [*sizes[:-1], 2 * (static_int(v.type.shape[at[-1]], "extent") - 1)]


@numpy("fft.irfft")
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None, out: Any = None) -> Arr:
    """np.fft.irfft."""
    parts = _parts(a)
    at, sizes = _axes_and_sizes(parts[0], None if n is None else [n], [axis])
    return _irfftn(parts, at, _last_size(parts[0], at, sizes, n is not None), norm)


def _real_many(default: Sequence[int] | None) -> Callable[..., Arr]:
    def call(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Arr:
        return _rfftn(a, *_axes_and_sizes(_real(a, "a real transform"), s, axes, default), norm, "a real transform")

    return call


def _real_many_back(default: Sequence[int] | None) -> Callable[..., Arr]:
    def call(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Arr:
        parts = _parts(a)
        at, sizes = _axes_and_sizes(parts[0], s, axes, default)
        given = s is not None and s[-1] not in (None, -1)
        return _irfftn(parts, at, _last_size(parts[0], at, sizes, given), norm)

    return call


rfft2, irfft2 = numpy("fft.rfft2")(_real_many((-2, -1))), numpy("fft.irfft2")(_real_many_back((-2, -1)))
rfftn, irfftn = numpy("fft.rfftn")(_real_many(None)), numpy("fft.irfftn")(_real_many_back(None))


@numpy("fft.hfft")
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None, out: Any = None) -> Arr:
    """np.fft.hfft: the real spectrum of a signal with Hermitian symmetry."""
    re, im = _parts(a)
    at, sizes = _axes_and_sizes(re, None if n is None else [n], [axis])
    return _irfftn((re, -im), at, _last_size(re, at, sizes, n is not None), _OTHER[norm])


@numpy("fft.ihfft")
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None, out: Any = None) -> Arr:
    """np.fft.ihfft: the inverse of hfft."""
    v = _real(a, "np.fft.ihfft")
    at, sizes = _axes_and_sizes(v, None if n is None else [n], [axis])
    out_v = _rfftn(a, at, sizes, _OTHER[norm], "np.fft.ihfft")
    return Arr(cx.conj(out_v.value))


# ---- order ---------------------------------------------------------------------------------------------------------------------


def _shifted(x: Any, axes: Any, back: bool) -> Arr:
    a = lift(x)
    at = range(a.ndim) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
    at = [normalize_axis(k, a.ndim) for k in at]
    halves = [static_int(a.shape[k], "extent") // 2 for k in at]
    return roll(a, [-h for h in halves] if back else halves, at)


@numpy("fft.fftshift")
def fftshift(x: Any, axes: Any = None) -> Arr:
    """np.fft.fftshift."""
    return _shifted(x, axes, back=False)


@numpy("fft.ifftshift")
def ifftshift(x: Any, axes: Any = None) -> Arr:
    """np.fft.ifftshift."""
    return _shifted(x, axes, back=True)
