"""Largest, smallest and sorted complex numbers: NumPy orders them by real part, then by imaginary part. Derivatives go to what is
chosen."""

from __future__ import annotations

import math

from irad.core.ir import Value
from irad.ops import elementwise as ew
from irad.ops.array import any_, argmax, broadcast, index, iota, max_, reshape_to, transpose_to
from irad.ops.complex import imag, real
from irad.ops.elementwise import cast_to, select
from irad.ops.sorting import argsort


def _spread(v: Value, like: Value, axis: int) -> Value:
    """A number per line along an axis, at each of its places."""
    return broadcast(v, shape=like.type.shape, dims=tuple(k for k in range(like.type.rank) if k != axis))


def position(z: Value, axis: int, largest: bool) -> Value:
    """np.argmax or np.argmin along an axis: the first of equal ones; the first number with a NaN before all others."""
    x, y = (part(z) if largest else -part(z) for part in (real, imag))
    unknown = ew.isnan(x) | ew.isnan(y)
    top = ew.eq(x, _spread(max_(x, axes=(axis,)), x, axis))
    rest = select(top, y, -math.inf)
    highest = max_(rest, axes=(axis,))
    first = lambda mask: argmax(cast_to(mask, "i64"), axis=axis)
    none = ew.eq(highest, -math.inf)  # of those with the largest real part
    found = select(none, first(top), argmax(rest, axis=axis))
    return select(any_(unknown, axes=(axis,)), first(unknown), found)


def extreme(z: Value, axes: tuple[int, ...], largest: bool) -> Value:
    """np.max or np.min over axes that are not empty."""
    kept = tuple(k for k in range(z.type.rank) if k not in axes)
    moved = transpose_to(z, kept + axes)
    shape = tuple(z.type.shape[k] for k in kept)
    size = 1
    for k in axes:
        size = size * z.type.shape[k]  # type: ignore[assignment]
    line = reshape_to(moved, (*shape, size))
    at = position(line, len(shape), largest)
    places = [iota(type=at.type, axis=k) for k in range(len(shape))]
    if not shape:
        return index(line, at, spec=("i",))
    return index(line, *places, at, spec=("g",) * (len(shape) + 1))


def order(z: Value, axis: int) -> Value:
    """A stable np.argsort along an axis: numbers without NaN, then those whose imaginary part is NaN, the real part, both."""
    x, y = real(z), imag(z)
    kind = ew.add(*(cast_to(ew.isnan(p), "i64") for p in (x, x)))
    kind = kind + cast_to(ew.isnan(y), "i64")
    at = argsort(y, axis=axis)
    for key in (x, kind):
        at = taken(at, argsort(taken(key, at, axis), axis=axis), axis)
    return at


def taken(v: Value, at: Value, axis: int) -> Value:
    """v[..., at[..., i, ...], ...]: elements of each line along an axis."""
    places = [at if k == axis else iota(type=at.type, axis=k) for k in range(v.type.rank)]
    return index(v, *places, spec=("g",) * v.type.rank)
