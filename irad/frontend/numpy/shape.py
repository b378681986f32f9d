"""NumPy functions that give an array another shape or another order of axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.affine import divisible
from irad.core.types import Dim, Extent
from irad.errors import IradValueError, ShapeError, UnsupportedError
from irad.frontend.registry import attribute, method, numpy
from irad.frontend.values.arr import (
    Arr,
    as_dim,
    broadcast_all,
    dtype_of,
    lift,
    materialise,
    normalize_axis,
    shape_of,
    show_shape,
    size_of,
    static_int,
    static_value,
)
from irad.ops.array import reshape_to, transpose_to


def shape_argument(shape: Any) -> tuple[Dim, ...]:
    """A shape as the user gives it: an integer or a sequence of integers, static or traced."""
    if isinstance(shape, (tuple, list)):
        return tuple(as_dim(d, "an extent") for d in shape)
    if isinstance(shape, np.ndarray):
        return tuple(int(d) for d in shape.reshape(-1))
    return (as_dim(shape, "an extent"),)


# ---- reshape and transpose ---------------------------------------------------------------------------------------


def _fill_minus_one(have: tuple[Dim, ...], shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The shape with -1 worked out. Raises ShapeError with NumPy's words if it cannot be."""
    if -1 not in shape:
        return shape
    words = f"cannot reshape array of shape {show_shape(have)} into shape {show_shape(shape)}"
    if shape.count(-1) > 1:
        raise ShapeError("can only specify one unknown dimension")
    total, rest = size_of(have), size_of(d for d in shape if d != -1)
    if isinstance(total, int) and isinstance(rest, int):
        if rest == 0 or total % rest:
            raise ShapeError(words)
        free: Dim = total // rest
    elif isinstance(total, Extent) and isinstance(rest, int) and rest and total.const % rest == 0 and divisible(total, rest):
        free = total // rest
    elif total == rest:
        free = 1
    else:
        raise UnsupportedError(words + ": with a run-time extent, -1 must stand for one of the extents there are")
    return tuple(free if d == -1 else d for d in shape)


def reshape_array(x: Arr, shape: tuple[Dim, ...], order: str = "C") -> Arr:
    """x in another shape; order "F" reads and writes the first axis fastest."""
    if order in ("F",):
        back = lambda v: transpose_to(v, tuple(reversed(range(v.type.rank))))
        flipped = _fill_minus_one(x.shape, shape)
        return Arr(back(reshape_to(back(x.value), flipped[::-1])))
    if order not in ("C", "A", "K"):
        raise IradValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return Arr(reshape_to(x.value, _fill_minus_one(x.shape, shape)))


@numpy("reshape", view=True)
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None) -> Arr:
    """np.reshape."""
    return reshape_array(lift(a), shape_argument(newshape if shape is None else shape), order)


@method("reshape", view=True)
def reshape_method(a: Any, *shape: Any, order: str = "C", copy: Any = None) -> Arr:
    """x.reshape(3, 4) or x.reshape((3, 4))."""
    return reshape_array(lift(a), shape_argument(shape[0] if len(shape) == 1 else shape), order)


@numpy("ravel", method="ravel", view=True)
def ravel(a: Any, order: str = "C") -> Arr:
    """np.ravel: one axis."""
    x = lift(a)
    return reshape_array(x, (size_of(x.shape),), order)


@method("flatten")
def flatten(a: Any, order: str = "C") -> Arr:
    """x.flatten(): one axis, a copy."""
    return ravel(a, order)


def permute(x: Arr, perm: Sequence[int]) -> Arr:
    """Axes in another order."""
    return Arr(transpose_to(x.value, tuple(perm)))


@numpy("transpose", "permute_dims", view=True)
def transpose(a: Any, axes: Any = None) -> Arr:
    """np.transpose."""
    x = lift(a)
    if axes is None:
        return permute(x, reversed(range(x.ndim)))  # type: ignore[arg-type]
    perm = [normalize_axis(k, x.ndim) for k in static_value(axes, "axes")]
    if sorted(perm) != list(range(x.ndim)):
        raise IradValueError("axes don't match array" if len(perm) != x.ndim else "repeated axis in transpose")
    return permute(x, perm)


@method("transpose", view=True)
def transpose_method(a: Any, *axes: Any) -> Arr:
    """x.transpose(), x.transpose(1, 0), x.transpose((1, 0))."""
    if not axes or axes == (None,):
        return transpose(a)
    return transpose(a, axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes)


@attribute("T", view=True)
def t_attribute(a: Any) -> Arr:
    """x.T."""
    return transpose(a)


@numpy("matrix_transpose", "linalg.matrix_transpose", view=True)
@attribute("mT", view=True)
def matrix_transpose(x: Any, /) -> Arr:
    """x.mT: the last two axes exchanged."""
    if len(shape_of(x)) < 2:
        raise IradValueError(f"matrix transpose with ndim < 2 is undefined; the array has {len(shape_of(x))}")
    return swapaxes(x, -1, -2)


@numpy("swapaxes", method="swapaxes", view=True)
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Arr:
    """np.swapaxes."""
    x = lift(a)
    i, j = normalize_axis(axis1, x.ndim, "axis1"), normalize_axis(axis2, x.ndim, "axis2")
    perm = list(range(x.ndim))
    perm[i], perm[j] = j, i
    return permute(x, perm)


def axis_list(axes: Any, ndim: int, what: str) -> list[int]:
    out = [normalize_axis(k, ndim, what) for k in (axes if isinstance(axes, (tuple, list)) else (axes,))]
    if len(set(out)) < len(out):
        raise IradValueError(f"repeated axis in `{what}` argument")
    return out


@numpy("moveaxis", view=True)
def moveaxis(a: Any, source: Any, destination: Any) -> Arr:
    """np.moveaxis."""
    x = lift(a)
    src, dst = axis_list(source, x.ndim, "source"), axis_list(destination, x.ndim, "destination")
    if len(src) != len(dst):
        raise IradValueError("`source` and `destination` arguments must have the same number of elements")
    perm = [k for k in range(x.ndim) if k not in src]
    for d, s in sorted(zip(dst, src)):
        perm.insert(d, s)
    return permute(x, perm)


@numpy("rollaxis", view=True)
def rollaxis(a: Any, axis: Any, start: Any = 0) -> Arr:
    """np.rollaxis: the axis before position `start`."""
    x = lift(a)
    k, to = normalize_axis(axis, x.ndim), static_int(start, "start")
    if not -x.ndim <= to <= x.ndim:
        raise IradValueError(f"start arg requires {-x.ndim} <= start < {x.ndim + 1}, but {to} was passed in")
    to = to + x.ndim if to < 0 else to
    perm = [j for j in range(x.ndim) if j != k]
    perm.insert(to - 1 if k < to else to, k)
    return permute(x, perm)


@numpy("expand_dims", view=True)
def expand_dims(a: Any, axis: Any) -> Arr:
    """np.expand_dims."""
    x = lift(a)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = axis_list(axes, x.ndim + len(axes), "axis")
    shape = list(x.shape)
    for k in sorted(places):
        shape.insert(k, 1)
    return Arr(reshape_to(x.value, shape))


@numpy("squeeze", method="squeeze", view=True)
def squeeze(a: Any, axis: Any = None) -> Arr:
    """np.squeeze. Raises IradValueError if an axis to drop is not of extent 1."""
    x = lift(a)
    if axis is None:
        return Arr(reshape_to(x.value, tuple(d for d in x.shape if d != 1)))
    axes = axis_list(axis, x.ndim, "axis")
    if any(x.shape[k] != 1 for k in axes):
        raise IradValueError("cannot select an axis to squeeze out which has size not equal to one")
    return Arr(reshape_to(x.value, tuple(d for k, d in enumerate(x.shape) if k not in axes)))


def _atleast(rank: int, pad: Callable[[tuple[Dim, ...]], tuple[Dim, ...]]) -> Callable[..., Any]:
    def call(*arys: Any) -> Any:
        outs = [lift(a) for a in arys]
        outs = [Arr(reshape_to(x.value, pad(x.shape) if x.ndim < rank else x.shape)) for x in outs]
        return outs[0] if len(outs) == 1 else tuple(outs)

    return call


atleast_1d = numpy("atleast_1d", view=True)(_atleast(1, lambda s: (1,)))
atleast_2d = numpy("atleast_2d", view=True)(_atleast(2, lambda s: (1, *s) if s else (1, 1)))
atleast_3d = numpy("atleast_3d", view=True)(
    _atleast(3, lambda s: (1, 1, 1) if not s else (1, s[0], 1) if len(s) == 1 else (*s, 1))
)


@numpy("broadcast_to", view=True)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Arr:
    """np.broadcast_to."""
    return Arr(materialise(array, dtype_of(array), shape_argument(shape)))


@numpy("broadcast_arrays", view=True)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Arr, ...]:
    """np.broadcast_arrays."""
    return tuple(broadcast_all(*args))
