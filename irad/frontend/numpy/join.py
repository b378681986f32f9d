"""NumPy functions that join arrays and cut them up: concatenate, stack, block, split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.types import DTYPES, Dim, quotient
from irad.errors import IradValueError, ShapeError, UnsupportedError
from irad.frontend.numpy.elementwise import apply_ufunc
from irad.frontend.numpy.shape import atleast_1d, atleast_2d, atleast_3d, expand_dims, moveaxis, ravel, transpose
from irad.frontend.registry import TABLE, numpy
from irad.frontend.values.arr import (
    Arr,
    astype,
    irad_dtype,
    is_traced,
    lift,
    normalize_axis,
    require_equal_dims,
    result_dtype,
    retype_extents,
    shape_of,
    show_shape,
    size_of,
    static_int,
)
from irad.frontend.values.index import getitem
from irad.ops.array import concat, dim_value, reshape_to, slice_axis
from irad.ops.control import raise_if
from irad.ops.elementwise import minimum
from irad.ops.intervals import dim_interval

# ---- joining -------------------------------------------------------------------------------------------------------


def items_of(arrays: Any) -> list[Any]:
    """The arrays of a sequence; a traced array counts as the sequence of its rows."""
    if isinstance(arrays, Arr):
        n = arrays.shape[0] if arrays.ndim else 0
        if not isinstance(n, int):
            raise UnsupportedError("an array with a run-time extent as a sequence of arrays: use it directly")
        return [Arr(reshape_to(slice_axis(arrays.value, 0, k, 1), arrays.shape[1:])) for k in range(n)]
    return list(arrays)


def _of_rows(arrays: Any, dtype: Any, joined: Callable[[Arr], Arr]) -> Arr | None:
    """The join of a traced array's rows, by operations on the whole array; None for other sequences of arrays."""
    if not isinstance(arrays, Arr) or not arrays.ndim:
        return None
    n = arrays.shape[0]
    if n == 0:
        raise IradValueError("need at least one array to concatenate")
    if dim_interval(n)[0] < 1:
        empty = dim_value(n) < 1
        raise_if(empty, exc="ValueError", message="need at least one array to concatenate")
    out = joined(Arr(arrays.value))
    return out if dtype is None else astype(out, irad_dtype(dtype))


def _row_after_row(x: Arr, axis: int) -> Arr:
    """The rows of x one after the other along an axis of theirs."""
    moved = moveaxis(x, 0, axis)
    n, m = moved.shape[axis : axis + 2]
    return Arr(reshape_to(moved.value, (*moved.shape[:axis], size_of((n, m)), *moved.shape[axis + 2 :])))


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
    if axis is not None and isinstance(arrays, Arr) and arrays.ndim > 1:
        k = normalize_axis(axis, arrays.ndim - 1)
        return _of_rows(arrays, dtype, lambda x: _row_after_row(x, k))  # type: ignore[return-value]
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
    if isinstance(arrays, Arr) and arrays.ndim:
        k = normalize_axis(axis, arrays.ndim)
        return _of_rows(arrays, dtype, lambda x: moveaxis(x, 0, k))  # type: ignore[return-value]
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
    made = _of_rows(tup, dtype, lambda x: expand_dims(x, 1) if x.ndim < 2 else x if x.ndim == 2 else _row_after_row(x, 0))
    if made is not None:
        return made
    return join_values([atleast_2d(lift_strong(x)) for x in items_of(tup)], 0, dtype)


@numpy("hstack")
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Arr:
    made = _of_rows(tup, dtype, lambda x: x if x.ndim < 2 else _row_after_row(x, 0 if x.ndim == 2 else 1))
    if made is not None:
        return made
    xs = [atleast_1d(lift_strong(x)) for x in items_of(tup)]
    return join_values(xs, 0 if xs[0].ndim == 1 else 1, dtype)


@numpy("dstack")
def dstack(tup: Any) -> Arr:
    made = _of_rows(tup, None, lambda x: _row_after_row(Arr(reshape_to(x.value, _three(x.shape))), 2))
    if made is not None:
        return made
    return join_values([atleast_3d(lift_strong(x)) for x in items_of(tup)], 2)


def _three(shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The shape of rows of this shape as np.atleast_3d makes them."""
    n, *rest = shape
    return (n, 1, 1) if not rest else (n, 1, *rest, 1) if len(rest) == 1 else (n, *rest, 1) if len(rest) == 2 else shape


@numpy("column_stack")
def column_stack(tup: Any) -> Arr:
    """np.column_stack: one-dimensional arrays become columns."""
    made = _of_rows(
        tup, None, lambda x: expand_dims(x, 0) if x.ndim == 1 else transpose(x) if x.ndim == 2 else _row_after_row(x, 1)
    )
    if made is not None:
        return made
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
    if axis is None:
        return join_values([ravel(lift_strong(arr)), ravel(lift_strong(values))], 0)
    return concatenate((arr, values), axis)


# ---- splitting -----------------------------------------------------------------------------------------------------


def cuts(indices_or_sections: Any, n: Dim, exact: bool) -> list[Any]:
    """Starting points of the parts after the first."""
    if isinstance(indices_or_sections, (list, tuple, np.ndarray)):
        return list(indices_or_sections)
    k = static_int(indices_or_sections, "the number of parts")
    if k <= 0:
        raise IradValueError("number sections must be larger than 0.")
    unequal = "array split does not result in an equal division"
    if not isinstance(n, int):
        size, known = dim_value(n), quotient((n,), (k,))
        part, more = size // k if known is None else dim_value(known), size % k
        if exact and known is None:
            raise_if(more > 0, exc="ValueError", message=unequal)
        equal = exact or known is not None
        return [Arr(part * j if equal else part * j + minimum(more, j), weak=True) for j in range(1, k)]
    if exact and n % k:
        raise IradValueError(unequal)
    sizes = [n // k + (j < n % k) for j in range(k)]
    return [sum(sizes[:j]) for j in range(1, k)]


def _split(ary: Any, indices_or_sections: Any, axis: Any, exact: bool) -> list[Arr]:
    x = lift(ary)
    k = normalize_axis(axis, x.ndim)
    edges = [0, *cuts(indices_or_sections, x.shape[k], exact), None]
    at = lambda a, b: (slice(None),) * k + (slice(a, b),)
    return [getitem(x, at(a, b)) for a, b in zip(edges, edges[1:])]


@numpy("split", view=True)
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Arr]:
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


def _line(s: Any) -> Any:
    """start:stop:step, or start:stop:5j with both ends."""
    start, step = (0 if s.start is None else s.start), (1 if s.step is None else s.step)
    if isinstance(step, (complex, np.complexfloating)):
        n = int(abs(complex(step)))
        width = apply_ufunc("subtract", s.stop, start)
        return apply_ufunc(
            "add", apply_ufunc("multiply", np.arange(n), apply_ufunc("divide", width, n - 1) if n > 1 else 0.0), start
        )
    return TABLE[np.arange](start, s.stop, step)


def _items(key: Any) -> list[Any]:
    """The items, arrays for the slices among them."""
    items = list(key) if isinstance(key, tuple) else [key]
    return [(_line(x) if is_traced(x) else np.r_[x]) if isinstance(x, slice) else x for x in items]


def _directive(words: str, default: tuple[int, int, int]) -> tuple[int, int, int]:
    """Axis, least number of axes, and where new ones go, of a text such as "0,2"."""
    if words in ("r", "c"):
        raise UnsupportedError("np.r_ and np.c_ of matrices: use arrays")
    try:
        given = tuple(map(int, words.split(",")))
    except ValueError:
        raise IradValueError(f"unknown special directive {words!r}") from None
    return (*given, *default[len(given) :])  # type: ignore[return-value]


def _raised(x: Arr, least: int, place: int) -> Arr:
    """An array with axes of extent 1 before the others, or with its own moved so that they begin at `place`."""
    new = least - x.ndim
    if new <= 0:
        return x
    at = 0 if place == -1 else new - min(place + new + 1 if place < 0 else place, new)
    return Arr(reshape_to(x.value, (*(1,) * (new - at), *x.shape, *(1,) * at)))


def _concatenator(which: Any, key: Any) -> Arr:
    """np.r_[...]: arrays, numbers and slices one after the other; np.c_[...]: vectors become columns first."""
    axis, least, place = default = (0, 1, -1) if which is np.r_ else (-1, 2, 0)
    items = _items(key)
    if isinstance(items[0], str):
        (axis, least, place), items = _directive(items[0], default), items[1:]
    if any(isinstance(x, str) for x in items):
        raise IradValueError("special directives must be the first entry.")
    name = result_dtype(*items)  # numbers are weak, as in NumPy
    arrays = [_raised(lift(lift_strong(x)), least, place) for x in items]
    return join_values(arrays, normalize_axis(axis, arrays[0].ndim), DTYPES[name])


TABLE[type(np.r_).__getitem__] = _concatenator


def _grid(which: Any, key: Any) -> Any:
    """np.mgrid[...] and np.ogrid[...]."""
    lines = _items(key)
    if not isinstance(key, tuple):
        return lines[0]
    name = result_dtype(*lines)
    lines = [lift(x, name) for x in lines]
    found = TABLE[np.meshgrid](*lines, indexing="ij", sparse=which is np.ogrid)
    return found if which is np.ogrid else TABLE[np.stack](found)


TABLE[type(np.mgrid).__getitem__] = _grid
