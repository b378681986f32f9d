"""NumPy functions that give an array another shape, or turn it: some axes backwards, then all of them in another order.

What turns an array is said once, for values and for views: from the number of axes and NumPy's arguments, which axes are reversed,
and the order in which they stand then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.types import Dim, quotient, unlike
from irad.errors import IradValueError, ShapeError, UnsupportedError
from irad.frontend.registry import ATTRIBUTES, METHODS, VIEWS, method, numpy
from irad.frontend.values.arr import (
    Arr,
    as_dim,
    broadcast_all,
    dtype_of,
    lift,
    materialise,
    normalize_axis,
    show_shape,
    size_of,
    static_int,
    static_value,
)
from irad.frontend.values.reshapes import gathers, in_shape
from irad.ops.array import dim_value, reshape_to, slice_axis, transpose_to
from irad.ops.control import raise_if
from irad.ops.elementwise import logical_or, maximum
from irad.ops.intervals import affine_of, bound, dim_interval


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
    given = [d for d in shape if d != -1]
    known = quotient(have, given) if all(dim_interval(d)[0] > 0 for d in given) else None
    total, rest = size_of(have), size_of(given)
    if isinstance(total, int) and isinstance(rest, int):
        if rest == 0 or total % rest:
            raise ShapeError(words)
        free: Dim = total // rest
    elif known is not None:
        free = known
    elif total == rest:
        free = 1
    elif not gathers(have, given):
        e = UnsupportedError(words + ": with a run-time extent, -1 must stand for one of the extents there are")
        e.sources = unlike(have, given)
        raise e
    else:
        size, part = dim_value(total), dim_value(rest)
        bad = logical_or(part < 1, (part * (size // maximum(part, 1))) < size)
        raise_if(bad, size, exc="ValueError", message=f"cannot reshape array of size {{}} into shape {show_shape(shape)}")
        count = size // maximum(part, 1)
        bound(count, 0, dim_interval(total)[1])
        free = affine_of(count)
    return tuple(free if d == -1 else d for d in shape)


def reshape_array(x: Arr, shape: tuple[Dim, ...], order: str = "C") -> Arr:
    """x in another shape; order "F" reads and writes the first axis fastest."""
    if order in ("F",):
        back = lambda v: transpose_to(v, tuple(reversed(range(v.type.rank))))
        flipped = _fill_minus_one(x.shape, shape)
        return Arr(back(in_shape(back(x.value), flipped[::-1])))
    if order not in ("C", "A", "K"):
        raise IradValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return Arr(in_shape(x.value, _fill_minus_one(x.shape, shape)))


@numpy("reshape", view=True)
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None) -> Arr:
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


method("flatten")(ravel)  # which is no view

# ---- turning ------------------------------------------------------------

Turn = tuple[Sequence[int], Sequence[int] | None]  # the axes that are reversed; the order of all (None: as it is)
FUNCTIONS: dict[str, Callable[..., Turn]] = {}  # by their paths in NumPy
NAMES: dict[str, Callable[..., Turn]] = {}  # methods and attributes


def turned(x: Arr, backwards: Sequence[int], order: Sequence[int] | None) -> Arr:
    """x with some axes reversed, and then in another order."""
    v = x.value
    for k in backwards:
        n = v.type.shape[k]
        v = v if n == 0 else slice_axis(v, k, n - 1, n, -1)
    return Arr(v if order is None else transpose_to(v, tuple(order)))


def _turns(*paths: str, method: str = "", attribute: str = "") -> Callable[[Callable[..., Turn]], Callable[..., Arr]]:
    def register(f: Callable[..., Turn]) -> Callable[..., Arr]:
        def builder(*args: Any, **named: Any) -> Arr:
            x = lift(args[0] if args else named.pop(next((k for k in ("a", "m", "x") if k in named), "a")))
            return turned(x, *f(x.ndim, *args[1:], **named))

        builder.__name__, builder.__doc__ = f.__name__, f.__doc__
        numpy(*paths, view=True)(builder)
        FUNCTIONS.update(dict.fromkeys(paths, f))
        for name, table in ((method, METHODS), (attribute, ATTRIBUTES)):
            if name:
                table[name], NAMES[name] = builder, f
                VIEWS.add(name)
        return builder

    return register


def axis_list(axes: Any, ndim: int, what: str) -> list[int]:
    """One axis or several, which must differ."""
    out = [normalize_axis(k, ndim, what) for k in (axes if isinstance(axes, (tuple, list)) else (axes,))]
    if len(set(out)) < len(out):
        raise IradValueError(f"repeated axis in `{what}` argument")
    return out


# ---- another order -------------------------------------------------------------------------------------------------------


@_turns("transpose", "permute_dims")
def transpose(n: int, axes: Any = None) -> Turn:
    if axes is None:
        return (), range(n)[::-1]
    order = [normalize_axis(k, n) for k in static_value(axes, "axes")]
    if sorted(order) != list(range(n)):
        raise IradValueError("axes don't match array" if len(order) != n else "repeated axis in transpose")
    return (), order


@_turns(method="transpose", attribute="T")
def transpose_method(n: int, *axes: Any) -> Turn:
    """x.T, x.transpose(), x.transpose(1, 0), x.transpose((1, 0))."""
    alone = len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list)))
    return FUNCTIONS["transpose"](n, axes[0] if alone else axes or None)


@_turns("swapaxes", method="swapaxes")
def swapaxes(n: int, axis1: Any, axis2: Any) -> Turn:
    i, j = normalize_axis(axis1, n, "axis1"), normalize_axis(axis2, n, "axis2")
    order = list(range(n))
    order[i], order[j] = j, i
    return (), order


@_turns("matrix_transpose", "linalg.matrix_transpose", attribute="mT")
def matrix_transpose(n: int) -> Turn:
    """x.mT: the last two axes exchanged."""
    if n < 2:
        raise IradValueError(f"matrix transpose with ndim < 2 is undefined; the array has {n}")
    return FUNCTIONS["swapaxes"](n, -1, -2)


@_turns("moveaxis")
def moveaxis(n: int, source: Any, destination: Any) -> Turn:
    src, dst = axis_list(source, n, "source"), axis_list(destination, n, "destination")
    if len(src) != len(dst):
        raise IradValueError("`source` and `destination` arguments must have the same number of elements")
    order = [k for k in range(n) if k not in src]
    for d, s in sorted(zip(dst, src)):
        order.insert(d, s)
    return (), order


@_turns("rollaxis")
def rollaxis(n: int, axis: Any, start: Any = 0) -> Turn:
    """np.rollaxis: the axis before position `start`."""
    k, to = normalize_axis(axis, n), static_int(start, "start")
    if not -n <= to <= n:
        raise IradValueError(f"start arg requires {-n} <= start < {n + 1}, but {to} was passed in")
    to = to + n if to < 0 else to
    order = [j for j in range(n) if j != k]
    order.insert(to - 1 if k < to else to, k)
    return (), order


# ---- backwards -----------------------------------------------------------------------------------------------------------


@_turns("flip")
def flip(n: int, axis: Any = None) -> Turn:
    return range(n) if axis is None else axis_list(axis, n, "axis"), None


@_turns("fliplr")
def fliplr(n: int) -> Turn:
    if n < 2:
        raise IradValueError("Input must be >= 2-d.")
    return (1,), None


@_turns("flipud")
def flipud(n: int) -> Turn:
    if n < 1:
        raise IradValueError("Input must be >= 1-d.")
    return (0,), None


@_turns("rot90")
def rot90(n: int, k: Any = 1, axes: Any = (0, 1)) -> Turn:
    times = static_int(k, "k") % 4
    i, j = (normalize_axis(a, n) for a in axes)
    if i == j:
        raise IradValueError("Axes must be different.")
    if times % 2 == 0:
        return (i, j) if times else (), None
    return ((j,) if times == 1 else (i,)), FUNCTIONS["swapaxes"](n, i, j)[1]


# ---- axes of extent 1, broadcasts ------------------------------------------------------------


@numpy("expand_dims", view=True)
def expand_dims(a: Any, axis: Any) -> Arr:
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
    return Arr(materialise(array, dtype_of(array), shape_argument(shape)))


@numpy("broadcast_arrays", view=True)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Arr, ...]:
    return tuple(broadcast_all(*args))
