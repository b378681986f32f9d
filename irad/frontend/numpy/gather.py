"""NumPy functions that pick and place by index: take, choose, compress, delete, insert, bincount, sliding windows..."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.types import Dim, Type, is_int
from irad.errors import IradTypeError, IradValueError, UnsupportedError
from irad.frontend.numpy.elementwise import apply_ufunc, convert, truth
from irad.frontend.numpy.functions import op, where
from irad.frontend.numpy.join import concatenate, items_of, stack
from irad.frontend.numpy.shape import moveaxis, ravel
from irad.frontend.registry import method, numpy
from irad.frontend.values.arr import (
    Arr,
    broadcast_shapes,
    from_dim,
    is_traced,
    lift,
    materialise,
    normalize_axis,
    result_dtype,
    shape_of,
    static_int,
    static_value,
)
from irad.frontend.values.index import flat_positions, getitem, mask_indices, setitem
from irad.frontend.values.positions import traced_position
from irad.ops.array import broadcast_to, dim_value, iota, reshape_to
from irad.ops.constant import const
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to, select
from irad.ops.intervals import bound


def as_indices(x: Any) -> Arr:
    """An operand as an index array. Raises IradTypeError if it is not of integers."""
    a = lift(x) if is_traced(x) else lift(np.asarray(x) if np.size(x) else np.zeros(np.shape(x), np.int64))
    if not is_int(a.name):
        raise IradTypeError(f"indices must be integers, not {a.type}")
    return Arr(a.value)


def _by_mode(at: Arr, n: Dim, mode: str) -> Arr:
    """Indices brought into range for mode "wrap" or "clip"; "raise" leaves the check to indexing."""
    if mode == "wrap":
        return apply_ufunc("remainder", at, from_dim(n))
    if mode == "clip":
        high = op("subtract")(from_dim(n), 1)
        return apply_ufunc("minimum", apply_ufunc("maximum", at, 0), high)
    if mode != "raise":
        raise IradValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    return at


def _lines(a: Any, axis: Any) -> tuple[Arr, int]:
    """An array and the number of one of its axes; without an axis, its elements along one."""
    x = lift(a) if axis is not None else ravel(a)
    return x, 0 if axis is None else normalize_axis(axis, x.ndim)


@numpy("take", method="take")
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Arr:
    x, k = _lines(a, axis)
    at = _by_mode(convert(as_indices(indices), "i64"), x.shape[k], mode)
    return getitem(x, (slice(None),) * k + (at,))


def _along(x: Arr, at: Arr, axis: int) -> tuple[Any, ...]:
    """The key of take_along_axis: positions along every other axis, which broadcast with the indices."""
    if at.ndim != x.ndim:
        raise IradValueError("`indices` and `arr` must have the same number of dimensions")
    shape = tuple(d for d in x.shape)
    lines = []
    for k, n in enumerate(shape):
        line = tuple(n if j == k else 1 for j in range(x.ndim))
        lines.append(at if k == axis else Arr(iota(type=Type("i64", line), axis=k)))
    return tuple(lines)


@numpy("take_along_axis")
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Arr:
    at = as_indices(indices)
    if axis is None:
        return getitem(ravel(arr), at)
    x = lift(arr)
    return getitem(x, _along(x, at, normalize_axis(axis, x.ndim)))


@numpy("choose", method="choose")
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Arr:
    """np.choose: element-wise pick among arrays."""
    options = items_of(choices)
    name = result_dtype(*options)
    at = _by_mode(as_indices(a), len(options), mode)
    shape = broadcast_shapes(at.shape, *map(shape_of, options))
    pile = stack([Arr(materialise(x, name, shape)) for x in options])
    which = Arr(materialise(at, "i64", (1, *shape)))
    v = take_along_axis(pile, which, 0).value
    return Arr(reshape_to(v, shape))


@numpy("compress")
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Arr:
    """np.compress: the slices along an axis where a (perhaps shorter) condition holds."""
    x, k = _lines(a, axis)
    if not is_traced(condition):
        return getitem(x, (slice(None),) * k + (np.flatnonzero(condition),))
    at = mask_indices(truth(lift(condition).value))[0]
    return getitem(x, (slice(None),) * k + (Arr(at),))


@method("compress")
def compress_method(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Arr:
    """x.compress(condition)."""
    return compress(condition, a, axis)


@numpy("extract")
def extract(condition: Any, arr: Any) -> Arr:
    """np.extract: elements of the flattened array where the flattened condition holds."""
    return compress(ravel(condition) if is_traced(condition) else np.ravel(condition), ravel(arr))


@numpy("flatnonzero")
def flatnonzero(a: Any) -> Arr:
    return Arr(flat_positions(truth(ravel(a).value)))


@numpy("argwhere")
def argwhere(a: Any) -> Arr:
    x = truth(lift(a).value)
    return stack([Arr(v) for v in mask_indices(x)], axis=-1)


# ---- static restructuring ------------------------------------------------------------------------------------------------


@numpy("delete")
def delete(arr: Any, obj: Any, axis: Any = None) -> Arr:
    """np.delete. At positions that are computed, or along an axis of run-time extent, it is what a mask keeps."""
    x, k = _lines(arr, axis)
    n = x.shape[k]
    before = (slice(None),) * k
    if isinstance(n, int) and not is_traced(obj):
        return getitem(x, (*before, np.delete(np.arange(n), obj)))
    if not isinstance(obj, slice):
        obj = lift(obj) if is_traced(obj) or np.size(obj) else np.zeros(0, np.int64)
    if isinstance(n, int) and isinstance(obj, Arr) and not obj.shape and is_int(obj.name):
        at, gone = np.arange(n - 1), traced_position(obj.value, n, k)
        after = apply_ufunc("greater_equal", at, gone if isinstance(gone, int) else Arr(gone))
        return getitem(x, (*before, apply_ufunc("add", at, after)))
    kept = setitem(Arr(const(value=True, type=Type("bool", (n,)))), obj, False)
    return getitem(x, (*before, Arr(kept)))


def _static_extent(d: Dim, what: str) -> int:
    if not isinstance(d, int):
        raise UnsupportedError(f"{what} along an axis of run-time extent {d}")
    return d


@numpy("insert")
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Arr:
    """np.insert at static positions: the result is written in two stores. At one position of an axis of run-time extent, or at one
    that is computed, it is put together of three parts."""
    x, k = _lines(arr, axis)
    one = isinstance(obj, (int, np.integer)) or (isinstance(obj, Arr) and not obj.shape and is_int(obj.name))
    if one and (isinstance(obj, Arr) or not isinstance(x.shape[k], int)):
        return _inserted(x, k, obj, lift(values, x.name))
    n = _static_extent(x.shape[k], "np.insert")
    where = static_value(obj, "the positions of np.insert")
    v = lift(values, x.name)
    scalar_place = np.ndim(where) == 0 and not isinstance(where, slice)
    if scalar_place and v.ndim:
        v = moveaxis(Arr(reshape_to(v.value, (1,) * (x.ndim - v.ndim) + v.shape)), 0, k) if v.ndim <= x.ndim else v
    width = v.shape[k] if scalar_place and v.ndim == x.ndim else 1
    places = np.repeat(where, width) if scalar_place and isinstance(width, int) else where
    marks = np.insert(
        np.full(n, -1), places, np.arange(np.size(np.arange(n)[where]) if isinstance(where, slice) else np.size(places))
    )
    new, old = np.flatnonzero(marks >= 0), np.flatnonzero(marks < 0)
    order = marks[new]
    shape = tuple(len(marks) if j == k else d for j, d in enumerate(x.shape))
    out = Arr(const(value=0, type=Type(x.name, shape)))
    key = lambda at: (slice(None),) * k + (at,)
    out = Arr(setitem(out, key(old), x))
    places_in_order = np.empty_like(new)
    places_in_order[order] = new
    return Arr(setitem(out, key(places_in_order), v))


def _inserted(x: Arr, k: int, at: Any, v: Arr) -> Arr:
    """Numbers in front of a position of axis k, which may be its end."""
    n, before = x.shape[k], (slice(None),) * k
    if v.ndim > x.ndim:
        raise IradValueError(f"could not broadcast input array from shape {v.shape} into shape {x.shape}")
    place = _place_between(at, n, k)
    rows = moveaxis(Arr(reshape_to(v.value, (1,) * (x.ndim - v.ndim) + v.shape)), 0, k)
    m = rows.shape[k]
    shape = tuple(m if j == k else d for j, d in enumerate(x.shape))
    new = Arr(broadcast_to(rows.value, shape)) if rows.shape != shape else rows
    if isinstance(n, int) and isinstance(m, int) and n and m:  # which element comes from where is said by position
        at = np.arange(n + m)
        back, done = apply_ufunc("subtract", at, place), apply_ufunc("less", at, place)
        inside = apply_ufunc("logical_and", apply_ufunc("greater_equal", back, 0), apply_ufunc("less", back, m))
        old = apply_ufunc("minimum", apply_ufunc("maximum", where(done, at, at - m), 0), n - 1)
        fresh = apply_ufunc("minimum", apply_ufunc("maximum", back, 0), m - 1)
        along = Arr(reshape_to(inside.value, tuple(1 if j != k else n + m for j in range(x.ndim))))
        return where(along, getitem(new, (*before, fresh)), getitem(x, (*before, old)))
    return concatenate([getitem(x, (*before, slice(None, place))), new, getitem(x, (*before, slice(place, None)))], axis=k)


def _place_between(at: Any, n: Dim, axis: int) -> Any:
    """A position between elements, 0 to n, counted from the front."""
    size, v = dim_value(n), cast_to(lift(at).value, "i64")
    bad = (v > size) | (v < -size)
    raise_if(bad, v, size, exc="IndexError", message=f"index {{}} is out of bounds for axis {axis} with size {{}}")
    return Arr(select(v < 0, v + size, v), True)


@numpy("resize")
def resize(a: Any, new_shape: Any) -> Arr:
    """np.resize: the flattened array repeated to fill a static shape."""
    x = ravel(a)
    n = _static_extent(x.shape[0], "np.resize")
    shape = tuple(static_int(d, "an extent") for d in (new_shape if isinstance(new_shape, (tuple, list)) else (new_shape,)))
    if n == 0:
        return lift(np.zeros(shape, x.value.type.numpy))
    return getitem(x, np.arange(int(np.prod(shape))).reshape(shape) % n)


@numpy("lib.stride_tricks.sliding_window_view", view=True)
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False) -> Arr:
    """np.lib.stride_tricks.sliding_window_view: windows as trailing axes. Positions are i + j, so no bounds check is left."""
    a = lift(x)
    sizes = [
        static_int(w, "a window extent") for w in (window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,))
    ]
    axes = (
        list(range(a.ndim))
        if axis is None
        else [normalize_axis(k, a.ndim) for k in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    )
    if len(sizes) != len(axes):
        raise IradValueError(
            f"Must provide matching length window_shape and axis; got {len(sizes)} window_shape elements and {len(axes)} axes elements."
        )
    for k, w in zip(axes, sizes):
        a = _windows(a, k, w)
    return a


def _windows(a: Arr, k: int, w: int) -> Arr:
    n = a.shape[k]
    count = n - w + 1
    if w < 0:
        raise IradValueError("`window_shape` cannot contain negative values")
    if isinstance(count, int) and count < 1:
        raise IradValueError("window shape cannot be larger than input array shape")
    t = Type("i64", (count, w))
    at = iota(type=t, axis=0) + iota(type=t, axis=1)
    bound(at, 0, max(n - 1, 0) if isinstance(n, int) else float("inf"))
    return moveaxis(getitem(a, (slice(None),) * k + (Arr(at),)), k + 1, -1)
