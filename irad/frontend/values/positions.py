"""Positions and slices of one axis: bounds checks, wrap-around and clipping, where intervals do not prove them needless."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from irad.core.affine import divisible
from irad.core.ir import Value
from irad.core.types import Dim, Extent, Type
from irad.errors import IradIndexError, IradTypeError, IradValueError
from irad.frontend.values.arr import Arr, as_dim, constant, is_traced, materialise, static_int
from irad.ops import elementwise as ew
from irad.ops.array import any_ as any_of
from irad.ops.array import concat, dim_value, max_, min_
from irad.ops.constant import const, scalar
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to, select
from irad.ops.intervals import affine_of, bound, dim_interval, interval

_LARGEST = 2**63 - 1
_FAR = 2**62  # no extent is larger


def _out_of_bounds(i: Any, axis: int, n: Any) -> str:
    return f"index {i} is out of bounds for axis {axis} with size {n}"


def static_position(i: int, n: Dim, axis: int) -> int | Value:
    """A static index counted from the front; from the back of a run-time extent it is a run-time position."""
    if isinstance(n, int):
        if not -n <= i < n:
            raise IradIndexError(_out_of_bounds(i, axis, n))
        return i % n if i < 0 else i
    lo, hi = dim_interval(n)
    need = i + 1 if i >= 0 else -i
    if hi < need:
        raise IradIndexError(_out_of_bounds(i, axis, n))
    if lo < need:
        size = dim_value(n)
        raise_if(size < need, size, exc="IndexError", message=_out_of_bounds(i, axis, "{}"))
    return i if i >= 0 else dim_value(n + i)


def traced_position(v: Value, n: Dim, axis: int) -> int | Value:
    """A traced index: checked, then wrapped from the front, where intervals do not prove either needless."""
    _check_fits(v, "OverflowError", "Python int too large to convert to C long")
    v = cast_to(v, "i64")
    lo, hi = interval(v)
    if lo == hi:
        return static_position(int(lo), n, axis)
    form = affine_of(v)
    if _at_least_zero(form) and _at_least_zero(n - form - 1):
        return v
    size = dim_value(n)
    bad = _outside(v, n, size)
    if bad is not None:
        raise_if(bad, v, size, exc="IndexError", message=_out_of_bounds("{}", axis, "{}"))
        if isinstance(n, int):
            bound(v, -n, n - 1)
    return _wrap(v, size)


def position_of(v: Value, n: Dim, message: str) -> Value:
    """A traced index into n items, checked and counted from the front. Raises IndexError with a text of one's own at run time."""
    _check_fits(v, "IndexError", "cannot fit 'numpy.uint64' into an index-sized integer")
    v = cast_to(v, "i64")
    bad = _outside(v, n, dim_value(n))
    if bad is not None:
        raise_if(bad, exc="IndexError", message=message)
        top = dim_interval(n)[1]
        bound(v, -top, top - 1)
    return v if _at_least_zero(affine_of(v)) else _wrap(v, dim_value(n))


def _check_fits(v: Value, exc: str, message: str) -> None:
    """Raise for a scalar index that is no signed number of 64 bits."""
    if v.type.dtype == "u64" and interval(v)[1] > _LARGEST:
        raise_if(v > scalar(_LARGEST, "u64"), exc=exc, message=message)


def _at_least_zero(d: Dim) -> bool:
    return dim_interval(d)[0] >= 0


def _outside(v: Value, n: Dim, size: Value) -> Value | None:
    """v < -n or v >= n for each element; None if neither is possible."""
    form = affine_of(v) if not v.type.shape else None
    lo, hi = interval(v)
    n_lo, n_hi = dim_interval(n)
    low = lo < -n_lo if form is None else dim_interval(form + n)[0] < 0
    high = hi >= n_lo if form is None else dim_interval(n - form - 1)[0] < 0
    like = lambda s: s if not v.type.shape else materialise(Arr(s), "i64", v.type.shape)
    checks = [v < like(-size)] if low else []
    checks += [v >= like(size)] if high else []
    return reduce(ew.logical_or, checks) if checks else None


def _wrap(v: Value, size: Value) -> Value:
    if interval(v)[0] >= 0:
        return v
    n = size if not v.type.shape else materialise(Arr(size), "i64", v.type.shape)
    wrapped = select(v < 0, v + n, v)
    lo, hi = interval(n)
    bound(wrapped, 0, max(hi - 1, 0))
    return wrapped


def gather_positions(v: Value, n: Dim, axis: int) -> Value:
    """An integer index array, checked and wrapped."""
    v = cast_to(v, "i64")
    size = dim_value(n)
    bad = _outside(v, n, size)
    if bad is not None and 0 not in v.type.shape:
        low, high = _extreme(min_, v), _extreme(max_, v)
        worst = select(low < -size, low, high)
        some = any_of(bad, axes=tuple(range(v.type.rank)))
        raise_if(some, worst, size, exc="IndexError", message=_out_of_bounds("{}", axis, "{}"))
        if isinstance(n, int):
            bound(v, -n, n - 1)
    return _wrap(v, size)


def _extreme(fold: Any, v: Value) -> Value:
    """The least or greatest of some indices; where there may be none, 0 is among them."""
    for k in reversed(range(v.type.rank)):
        if isinstance(v.type.shape[k], Extent):
            row = tuple(1 if j == k else n for j, n in enumerate(v.type.shape))
            v = concat(v, const(value=0, type=Type("i64", row)), axis=k)
        v = fold(v, axes=(k,))
    return v


def static_gather(a: np.ndarray, n: Dim, axis: int) -> Value:
    if not isinstance(n, int):
        return gather_positions(constant(a, "i64"), n, axis)
    if a.size and not (-n <= a.min() and a.max() < n):
        raise IradIndexError(_out_of_bounds(int(a[(a < -n) | (a >= n)][0]), axis, n))
    return constant(np.where(a < 0, a + n, a), "i64")


def _from_front(x: Any, n: Dim, what: str) -> Dim:
    """A slice bound, counted from the front: negative ones count from the end. It may lie outside of 0..n."""
    d = as_dim(x, what)
    lo, hi = dim_interval(d)
    if hi < 0:
        return d + n
    if lo < 0:
        v = dim_value(d)
        return affine_of(select(v < 0, v + dim_value(n), v))
    return d


def _at_least_none(d: Dim) -> Dim:
    """max(d, 0)."""
    if isinstance(d, int):
        return max(d, 0)
    return d if _at_least_zero(d) else affine_of(ew.maximum(dim_value(d), 0))


def _at_most_all(d: Dim, n: Dim) -> Dim:
    """min(d, n)."""
    if isinstance(d, int) and isinstance(n, int):
        return min(d, n)
    return d if _at_least_zero(n - d) else affine_of(ew.minimum(dim_value(d), dim_value(n)))


def resolve_slice(s: slice, n: Dim) -> tuple[Dim, Dim, int]:
    """start, size, step of a slice of an axis. The step must be static; the size is a run-time extent where it must be."""
    step = 1 if s.step is None else static_int(s.step, "the step of a slice")
    if step == 0:
        raise IradValueError("slice step cannot be zero")
    if isinstance(n, int) and not is_traced(s):
        try:
            r = range(*s.indices(n))
        except TypeError:
            raise IradTypeError(f"slice indices must be integers or None, got {s}") from None
        return (r.start if len(r) else 0), len(r), step
    if step < 0:
        return _resolve_down(s, n, step)
    start = 0 if s.start is None else _from_front(s.start, n, "the start of a slice")
    end = n if s.stop is None else _from_front(s.stop, n, "the stop of a slice")
    stop = _at_most_all(end, n)
    # A stop below 0, or a start beyond n, leaves nothing as it is: so x[1:] and x[:-1] are of one length without more ado.
    first, inside = _at_least_none(start), _at_least_zero(n - start)
    clipped = all(isinstance(now, int) or now is not before for now, before in ((stop, end), (first, start)))
    if dim_interval(stop)[0] < -_FAR or dim_interval(first)[1] > _FAR:  # their difference must not wrap around
        stop = _at_least_none(stop)
    # where the bounds are in the axis by what is known of the loops around, the passes are told that the length is
    return first if inside else _at_most_all(first, n), _count(stop - first, step, None if clipped else n), step


def _resolve_down(s: slice, n: Dim, step: int) -> tuple[Dim, Dim, int]:
    """A slice that goes down: start defaults to the last position, stop to before the first."""
    top = n - 1
    start = top if s.start is None else _clamped_down(s.start, n)
    stop: Dim = -1 if s.stop is None else _clamped_down(s.stop, n)
    return start, _count(start - stop, -step), step


def _clamped_down(x: Any, n: Dim) -> Dim:
    """A bound of a downward slice: clipped to -1..n-1."""
    d = as_dim(x, "a slice bound")
    lo, hi = dim_interval(d)
    if lo < 0:
        v = dim_value(d)
        d = d + n if hi < 0 else affine_of(select(v < 0, v + dim_value(n), v))
    if dim_interval(d)[0] < -1:
        d = affine_of(ew.maximum(dim_value(d), -1))
    if dim_interval(n - 1 - d)[0] < 0:
        d = affine_of(ew.minimum(dim_value(d), dim_value(n - 1)))
    return d


def _count(span: Dim, step: int, most: Dim | None = None) -> Dim:
    """max(0, ceil(span / step)) as an extent; `most`: it is not greater."""
    if isinstance(span, int):
        return max(0, -(-span // step))
    if step != 1:
        if divisible(span, step):
            span = (span + (step - 1)) // step
        else:
            v = dim_value(span + (step - 1)) // step
            span = affine_of(v)
    if isinstance(span, int):
        return max(0, span)
    if dim_interval(span)[0] >= 0:
        return span
    v = ew.maximum(dim_value(span), 0)
    return affine_of(v if most is None else ew.minimum(v, dim_value(most)))
