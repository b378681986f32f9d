"""NumPy functions that join arrays and cut them up: concatenate, stack, block, split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.types import DTYPES, Dim
from irad.errors import IradValueError, ShapeError, UnsupportedError
from irad.frontend.numpy.shape import atleast_1d, atleast_2d, atleast_3d, expand_dims, moveaxis, ravel, transpose
from irad.frontend.registry import TABLE, numpy
from irad.frontend.values.arr import (
    Arr,
    irad_dtype,
    is_traced,
    lift,
    normalize_axis,
    require_equal_dims,
    result_dtype,
    retype_extents,
    shape_of,
    show_shape,
    static_int,
)
from irad.frontend.values.index import getitem
from irad.ops.array import concat, reshape_to, slice_axis

# ---- joining -------------------------------------------------------------------------------------------------------


def items_of(arrays: Any) -> list[Any]:
    """The arrays of a sequence; a traced array counts as the sequence of its rows."""
    if isinstance(arrays, Arr):
        n = arrays.shape[0] if arrays.ndim else 0
        if not isinstance(n, int):
            raise UnsupportedError("an array with a run-time extent as a sequence of arrays: use it directly")
        return [Arr(reshape_to(slice_axis(arrays.value, 0, k, 1), arrays.shape[1:])) for k in range(n)]
    return list(arrays)


def join_values(xs: Sequence[Any], axis: int, dtype: Any = None) -> Arr:
    """Operands of equal rank one after the other along an axis, promoted to one dtype."""
    name = irad_dtype(dtype) if dtype is not None else result_dtype(*[lift_strong(x) for x in xs])
    values = [lift(x, name).value for x in xs]
    first = values[0].type
    for v in values:
        if v.type.rank != first.rank:
            raise ShapeError(
                f"all the input array dimensions must match: shapes {show_shape(first.shape)} and {show_shape(v.type.shape)}"
            )
        for k, (a, b) in enumerate(zip(v.type.shape, first.shape)):
            if k != axis:
                words = (
                    f"all the input array dimensions except for the concatenation axis must match exactly, but the shapes "
                    f"are {show_shape(first.shape)} and {show_shape(v.type.shape)}"
                )
                require_equal_dims(a, b, words, "ValueError")
    like = lambda v: tuple(v.type.shape[k] if k == axis else d for k, d in enumerate(first.shape))
    values = [retype_extents(v, like(v)) for v in values]
    return Arr(values[0] if len(values) == 1 else concat(*values, axis=axis))


def lift_strong(x: Any) -> Any:
    """An operand that does not promote weakly: array creation takes Python numbers as int64 and float64."""
    if isinstance(x, Arr):
        return Arr(x.value)
    return lift(x) if is_traced(x) else np.asarray(x)


@numpy("concatenate", "concat")
def concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Arr:
    """np.concatenate."""
    xs = [lift_strong(x) for x in items_of(arrays)]
    if not xs:
        raise IradValueError("need at least one array to concatenate")
    if axis is None:
        return join_values([ravel(x) for x in xs], 0, dtype)
    rank = len(shape_of(xs[0]))
    if rank == 0:
        raise IradValueError("zero-dimensional arrays cannot be concatenated")
    return join_values(xs, normalize_axis(axis, rank), dtype)


@numpy("stack")
def stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Arr:
    """np.stack: arrays of one shape along a new axis."""
    xs = [lift_strong(x) for x in items_of(arrays)]
    if not xs:
        raise IradValueError("need at least one array to stack")
    if any(len(shape_of(x)) != len(shape_of(xs[0])) for x in xs):
        raise ShapeError("all input arrays must have the same shape; they are " + ", ".join(show_shape(shape_of(x)) for x in xs))
    k = normalize_axis(axis, len(shape_of(xs[0])) + 1)
    for x in xs:
        for a, b in zip(shape_of(x), shape_of(xs[0])):
            words = f"all input arrays must have the same shape; they are {', '.join(show_shape(shape_of(y)) for y in xs)}"
            require_equal_dims(a, b, words, "ValueError")
    return join_values([expand_dims(x, k) for x in xs], k, dtype)


@numpy("vstack", "row_stack")
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Arr:
    """np.vstack."""
    return join_values([atleast_2d(lift_strong(x)) for x in items_of(tup)], 0, dtype)


@numpy("hstack")
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Arr:
    """np.hstack."""
    xs = [atleast_1d(lift_strong(x)) for x in items_of(tup)]
    return join_values(xs, 0 if xs[0].ndim == 1 else 1, dtype)


@numpy("dstack")
def dstack(tup: Any) -> Arr:
    """np.dstack."""
    return join_values([atleast_3d(lift_strong(x)) for x in items_of(tup)], 2)


@numpy("column_stack")
def column_stack(tup: Any) -> Arr:
    """np.column_stack: one-dimensional arrays become columns."""
    columns = [lift(lift_strong(x)) for x in items_of(tup)]
    return join_values([transpose(atleast_2d(x)) if x.ndim < 2 else x for x in columns], 1)


@numpy("block")
def block(arrays: Any) -> Arr:
    """np.block: nested lists of blocks; the innermost lists join along the last axis."""

    def depth(a: Any) -> int:
        return 1 + max(map(depth, a)) if isinstance(a, list) and a else 0

    def rank(a: Any) -> int:
        return max(map(rank, a)) if isinstance(a, list) else len(shape_of(a))

    levels = depth(arrays)
    ndim = max(levels, rank(arrays))

    def go(a: Any, level: int) -> Arr:
        if not isinstance(a, list):
            x = lift(lift_strong(a))
            return Arr(reshape_to(x.value, (1,) * (ndim - x.ndim) + x.shape))
        return join_values([go(b, level + 1) for b in a], ndim - levels + level)

    return go(arrays, 0)


@numpy("append")
def append(arr: Any, values: Any, axis: Any = None) -> Arr:
    """np.append."""
    if axis is None:
        return join_values([ravel(lift_strong(arr)), ravel(lift_strong(values))], 0)
    return concatenate((arr, values), axis)


# ---- splitting -----------------------------------------------------------------------------------------------------


def _cuts(indices_or_sections: Any, n: Dim, exact: bool) -> list[Any]:
    """Starting points of the parts after the first."""
    if isinstance(indices_or_sections, (list, tuple, np.ndarray)):
        return list(indices_or_sections)
    k = static_int(indices_or_sections, "the number of parts")
    if not isinstance(n, int):
        raise UnsupportedError("splitting an axis of run-time extent into equal parts: give the indices")
    if k <= 0:
        raise IradValueError("number sections must be larger than 0.")
    if exact and n % k:
        raise IradValueError("array split does not result in an equal division")
    sizes = [n // k + (j < n % k) for j in range(k)]
    return [sum(sizes[:j]) for j in range(1, k)]


def _split(ary: Any, indices_or_sections: Any, axis: Any, exact: bool) -> list[Arr]:
    x = lift(ary)
    k = normalize_axis(axis, x.ndim)
    cuts = [0, *_cuts(indices_or_sections, x.shape[k], exact), None]
    at = lambda a, b: (slice(None),) * k + (slice(a, b),)
    return [getitem(x, at(a, b)) for a, b in zip(cuts, cuts[1:])]


@numpy("split", view=True)
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Arr]:
    """np.split."""
    return _split(ary, indices_or_sections, axis, True)


@numpy("array_split", view=True)
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Arr]:
    """np.array_split: parts may differ by one."""
    return _split(ary, indices_or_sections, axis, False)


def _split_along(name: str, axis: int, rank: int) -> Callable[..., list[Arr]]:
    def call(ary: Any, indices_or_sections: Any) -> list[Arr]:
        ndim = len(shape_of(ary))
        if ndim < rank:
            raise IradValueError(f"{name} only works on arrays of {rank} or more dimensions")
        return split(ary, indices_or_sections, 0 if ndim == 1 else axis)

    return call


numpy("hsplit", view=True)(_split_along("hsplit", 1, 1))
numpy("vsplit", view=True)(_split_along("vsplit", 0, 2))
numpy("dsplit", view=True)(_split_along("dsplit", 2, 3))


@numpy("unstack", view=True)
def unstack(x: Any, /, *, axis: Any = 0) -> tuple[Arr, ...]:
    """np.unstack: the array as a tuple along an axis."""
    return tuple(items_of(moveaxis(x, axis, 0)))


# ---- np.r_ and np.c_ -----------------------------------------------------------------------------------------------------------


def _items(key: Any, what: str) -> tuple[list[Arr], str]:
    """The items as arrays of one axis or more, and their dtype; numbers are weak, as in NumPy."""
    items = list(key) if isinstance(key, (tuple, list)) else [key]
    if any(isinstance(x, str) for x in items):
        raise UnsupportedError(f"{what} with a string among its items: use np.concatenate or np.stack with axis=")
    items = [np.r_[x] if isinstance(x, slice) else x for x in items]
    return [atleast_1d(lift(lift_strong(x))) for x in items], result_dtype(*items)


def _rows(key: Any) -> Arr:
    """np.r_[...]: arrays, numbers and slices one after the other along the first axis."""
    arrays, name = _items(key, "np.r_")
    return join_values(arrays, 0, DTYPES[name])


def _columns(key: Any) -> Arr:
    """np.c_[...]: vectors become columns, and all are joined along the last axis."""
    arrays, name = _items(key, "np.c_")
    wide = [Arr(reshape_to(x.value, (*x.shape, 1))) if x.ndim == 1 else x for x in arrays]
    return join_values(wide, wide[0].ndim - 1, DTYPES[name])


def _concatenator(which: Any, key: Any) -> Arr:
    return _rows(key) if which is np.r_ else _columns(key)


TABLE[type(np.r_).__getitem__] = _concatenator
