"""numpy.fft. All transforms are one op on real and imaginary parts, with zeros added, elements dropped and a factor as need be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Type, is_complex
from irad.errors import IradTypeError, IradValueError
from irad.frontend.numpy.elementwise import convert
from irad.frontend.numpy.move import roll
from irad.frontend.registry import numpy
from irad.frontend.values.arr import Arr, constant, lift, normalize_axis, static_int
from irad.ops import complex as cx
from irad.ops.array import broadcast, concat, reshape_to, slice_axis, zeros
from irad.ops.elementwise import select
from irad.ops.fft import fft as fft_op
from irad.ops.fft import roots

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
    have = v.type.shape[axis]
    if n < 1:
        raise IradValueError(f"Invalid number of FFT data points ({n}) specified.")
    if not isinstance(have, int):
        after = zeros(Type(v.type.dtype, tuple(n if k == axis else d for k, d in enumerate(v.type.shape))))
        return slice_axis(concat(v, after, axis=axis), axis, 0, n)
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
    given = [-1] * len(at) if s is None else [-1 if n is None else static_int(n, "s") for n in s]
    whole = lambda k: static_int(v.type.shape[k], "the extent of a transformed axis")
    return at, [whole(k) if n == -1 else n for k, n in zip(at, given)]


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


def _real_spectrum(v: Value, axis: int, n: int) -> Parts:
    """The first half of the spectrum of n real elements."""
    if n % 2:
        re, im = fft_op(v, zeros(v.type), axes=(axis,), sign=-1)
        return slice_axis(re, axis, 0, n // 2 + 1), slice_axis(im, axis, 0, n // 2 + 1)
    return _spectrum_of_pairs(v, axis, n)


def _spectrum_of_pairs(v: Value, axis: int, n: int) -> Parts:
    """The spectrum from a transform z of n/2 complex numbers: the elements with even numbers plus i times those with odd numbers.

    The spectra of both are (z_k + conj(z_-k)) / 2 and (z_k - conj(z_-k)) / 2i (W. Press et al., Numerical Recipes, section 12.3).
    """
    m = n // 2
    re, im = fft_op(slice_axis(v, axis, 0, m, 2), slice_axis(v, axis, 1, m, 2), axes=(axis,), sign=-1)
    (re, re_back), (im, im_back) = (_with_mirror(z, axis) for z in (re, im))
    even, odd = (re + re_back, im - im_back), (im + im_back, re_back - re)
    c, s = _half_turn(v.type, axis, n, m + 1)
    return (even[0] + (c * odd[0] + s * odd[1])) * 0.5, (even[1] + (c * odd[1] - s * odd[0])) * 0.5


def _with_mirror(z: Value, axis: int) -> Parts:
    """Elements 0 to m of an array of m elements that goes on periodically, and the same backwards."""
    whole = concat(z, slice_axis(z, axis, 0, 1), axis=axis)
    m = static_int(whole.type.shape[axis], "extent")
    return whole, slice_axis(whole, axis, m - 1, m, -1)


def _half_turn(t: Type, axis: int, n: int, count: int) -> Parts:
    """cos and sin of 2 pi k / n for k < `count`, along an axis of an array."""
    shape = tuple(count if k == axis else d for k, d in enumerate(t.shape))
    c, s = (broadcast(constant(x[:count], t.dtype), shape=shape, dims=(axis,)) for x in roots(n))
    return c, s


def _rfftn(a: Any, at: list[int], sizes: list[int], norm: str | None, what: str) -> Arr:
    """The last axis first: only half of its spectrum goes on."""
    re = _real(a, what)
    for k, n in zip(at, sizes):
        re = _fit(re, k, n)
    parts = _real_spectrum(re, at[-1], sizes[-1])
    if len(at) > 1:
        parts = fft_op(*parts, axes=tuple(at[:-1]), sign=-1)
    factor = _factor(norm, math.prod(sizes), True)
    return _complex((_scaled(parts[0], factor), _scaled(parts[1], factor)))


def _real_from_half(parts: Parts, axis: int, n: int) -> Value:
    """The n real numbers, times n, whose spectrum has this first half."""
    re, im = (_fit(v, axis, n // 2 + 1) for v in parts)
    if n % 2:
        back = lambda v: slice_axis(v, axis, n // 2, n // 2, -1)
        return fft_op(concat(re, back(re), axis=axis), concat(im, -back(im), axis=axis), axes=(axis,), sign=1)[0]
    return _pairs_from_half(re, im, axis, n)


def _pairs_from_half(re: Value, im: Value, axis: int, n: int) -> Value:
    """`_spectrum_of_pairs` backwards. The imaginary parts of the first and the last element do not count, as in NumPy."""
    m = n // 2
    inside = broadcast(constant(np.arange(m + 1) % m != 0), shape=im.type.shape, dims=(axis,))
    im = select(inside, im, zeros(im.type))
    (re, re_back), (im, im_back) = ((slice_axis(v, axis, 0, m), slice_axis(v, axis, m, m, -1)) for v in (re, im))
    dr, di = re - re_back, im + im_back
    c, s = _half_turn(re.type, axis, n, m)
    even, odd = fft_op(re + re_back - (dr * s + di * c), im - im_back + (dr * c - di * s), axes=(axis,), sign=1)
    shape = re.type.shape
    pairs = [reshape_to(v, (*shape[: axis + 1], 1, *shape[axis + 1 :])) for v in (even, odd)]
    return reshape_to(concat(*pairs, axis=axis + 1), (*shape[:axis], n, *shape[axis + 1 :]))


def _irfftn(parts: Parts, at: list[int], sizes: list[int], norm: str | None) -> Arr:
    """The other axes first: the half spectrum along the last one is then that of real numbers."""
    if len(at) > 1:
        parts = _transform(*parts, at[:-1], sizes[:-1], norm, 1)
    x = _real_from_half(parts, at[-1], sizes[-1])
    return Arr(_scaled(x, _factor(norm, sizes[-1], False)))


@numpy("fft.rfft")
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None, out: Any = None) -> Arr:
    v = _real(a, "np.fft.rfft")
    return _rfftn(a, *_axes_and_sizes(v, None if n is None else [n], [axis]), norm, "np.fft.rfft")


def _last_size(v: Value, at: list[int], sizes: list[int], given: bool) -> list[int]:
    """The sizes of the results. By default a half spectrum of m elements belongs to 2(m - 1) real numbers."""
    size = sizes[-1] if given else 2 * (static_int(v.type.shape[at[-1]], "extent") - 1)
    if size < 1:
        raise IradValueError(f"Invalid number of FFT data points ({size}) specified.")
    return [*sizes[:-1], size]


@numpy("fft.irfft")
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None, out: Any = None) -> Arr:
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
    at = range(a.ndim) if axes is None else axes if isinstance(axes, (tuple, list, np.ndarray)) and np.ndim(axes) else (axes,)
    at = [normalize_axis(k, a.ndim) for k in at]
    halves = [static_int(a.shape[k], "extent") // 2 for k in at]
    return roll(a, [-h for h in halves] if back else halves, at)


@numpy("fft.fftshift")
def fftshift(x: Any, axes: Any = None) -> Arr:
    return _shifted(x, axes, back=False)


@numpy("fft.ifftshift")
def ifftshift(x: Any, axes: Any = None) -> Arr:
    return _shifted(x, axes, back=True)
