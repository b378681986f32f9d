"""NumPy functions that return views: the same storage seen through one more step, strides kept as NumPy keeps them.

Whether `reshape` or `ravel` is a view or a copy is decided by strides, as in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.types import Dim, Type, is_complex, real_dtype
from irad.errors import IradValueError, UnsupportedError
from irad.frontend.control.holders import references
from irad.frontend.numpy import shape as shapes
from irad.frontend.numpy.join import cuts
from irad.frontend.numpy.shape import Turn
from irad.frontend.numpy.table import METHODS, TABLE
from irad.frontend.reader import Reader
from irad.frontend.registry import find
from irad.frontend.values.arr import Arr, from_dim, is_traced, normalize_axis, show_shape, size_of, static_int
from irad.frontend.values.index import plan
from irad.frontend.values.layout import ghost, is_c, is_f, memory_order, new_like, nocopy_strides
from irad.frontend.values.objects import Array, Cell
from irad.frontend.values.steps import At, ComplexPart, Reshape, Transpose
from irad.ops.array import dim_value
from irad.ops.constant import scalar
from irad.ops.control import raise_if
from irad.ops.elementwise import ne
from irad.ops.intervals import bound

View = Callable[..., Any]
FUNCTIONS: dict[Any, View] = {}
MANY: dict[Any, View] = {}  # of several operands; they give NotImplemented where the result is no view
BY_NAME: dict[str, View] = {}  # methods and attributes
ATTRIBUTES = ("T", "mT", "real", "imag")


def is_basic(key: Any) -> bool:
    """Does a key (as an operand) make a view: ints, slices, newaxis and ellipsis only?"""
    items = key if isinstance(key, tuple) else (key,)
    return all(_basic_item(k) for k in items)


def _basic_item(k: Any) -> bool:
    if k is None or k is Ellipsis or isinstance(k, slice):
        return True
    if isinstance(k, Arr):
        return not k.shape and k.name != "bool"
    return isinstance(k, (int, np.integer)) and not isinstance(k, (bool, np.bool_))


def at(r: Reader, x: Array, key: Any) -> Array:
    """x[key] for a basic key, as a view."""
    p = plan(x.shape, key)
    out = x.view(At(key, p), Type(x.type.dtype, p.shape), _strides_at(x, key))
    if out.strides is None:
        out.loose = not (x.contiguous and _leading(key))
    return out


def _leading(key: Any) -> bool:
    """Does a key pick whole rows that follow each other?"""
    first, *rest = (key if isinstance(key, tuple) else (key,)) or (slice(None),)
    unit = not isinstance(first, slice) or first.step is None or first.step == 1
    return unit and all(k == slice(None) for k in rest if k is not Ellipsis)


def _strides_at(x: Array, key: Any) -> tuple[int, ...] | None:
    if x.strides is None:
        return None
    items = list(key) if isinstance(key, tuple) else [key]
    used = sum(k is not None and k is not Ellipsis for k in items)
    fill = [slice(None)] * (len(x.shape) - used)
    at_dots = next((j for j, k in enumerate(items) if k is Ellipsis), len(items))
    items[at_dots : at_dots + 1] = fill
    out: list[int] = []
    axes = iter(x.strides)
    for k in items:
        if k is None:
            out.append(0)
            continue
        s = next(axes)
        if isinstance(k, slice):
            step = 1 if k.step is None else k.step
            if is_traced(step):
                return None
            out.append(s * int(step))
    return tuple(out)


def reshaped(r: Reader, x: Array, shape: tuple[Dim, ...]) -> Array:
    """x in another shape: a view if strides allow it, else a copy."""
    shares, strides = (True, None) if x.strides is None and x.contiguous else nocopy_strides(x.shape, x.strides, shape)
    if shares:
        return _in_shape(x, shape, strides)
    out = Reshape(shape).read(r.read(x))
    copy = Array(Cell(out.value if isinstance(out, Arr) else out))
    return copy if shares is False else uncertain(r, x, copy)


def _in_shape(x: Array, shape: tuple[Dim, ...], strides: tuple[int, ...] | None) -> Array:
    out = x.view(Reshape(shape), Type(x.type.dtype, shape), strides)
    out.loose = strides is None and not x.contiguous
    return out


def copied(r: Reader, x: Array, strides: tuple[int, ...] | None) -> Array:
    """A copy with these strides."""
    content = r.read(x)
    return Array(Cell(content.value if isinstance(content, Arr) else content)).laid_out(strides)


_LAYOUT = (
    "whether this is a view or a copy depends on the memory layout of an array, which is not known here; "
    "write x.copy() to store into a copy, or store into the array itself"
)


def uncertain(r: Reader, x: Array, copy: Array, why: str = _LAYOUT) -> Array:
    """A copy of x where NumPy, by a memory layout that is not known here, may have made a view: used as either, or refused."""
    if x.cell.outside or x.watch or references(r, x.cell):
        copy.frozen = why
        copy.watch = (*x.watch, (x.cell, x.cell.content))
    return copy


def strides_in_bytes(x: Array) -> tuple[int, ...]:
    """x.strides. Raises UnsupportedError where the memory order is not known; along axes of extent 1 they are kept for none."""
    if x.strides is None or 1 in x.shape:
        raise UnsupportedError("x.strides of an array whose memory layout is not known here")
    return tuple(s * x.type.numpy.itemsize for s in x.strides)


def transposed(x: Array, perm: Sequence[int]) -> Array:
    shape = tuple(x.shape[k] for k in perm)
    strides = None if x.strides is None else tuple(x.strides[k] for k in perm)
    return x.view(Transpose(tuple(perm)), Type(x.type.dtype, shape), strides)


# ---- the functions ------------------------------------------------------------------------------------------------------


def register(*paths: str, method: bool = False) -> Callable[[View], View]:
    """Register a view function of an array for NumPy functions (those the installed NumPy has), and perhaps as a method."""

    def put(f: View) -> View:
        for path in paths:
            fn = find(path)
            if fn is not None:
                FUNCTIONS[fn] = f
            if method:
                BY_NAME[path] = f
        return f

    return put


def ghost_of(x: Array) -> np.ndarray:
    """A NumPy array of the shape of x, and its strides if they are known, without storage."""
    return ghost(x.shape, x.strides if x.strides is not None else (0,) * len(x.shape))


def _shape_by(builder: Callable[..., Any], x: Array, *args: Any, **kwargs: Any) -> tuple[int, ...]:
    """The shape that a NumPy view function gives: asked of NumPy itself, on an array without storage."""
    ghost = ghost_of(x)
    return np.shape(builder(ghost, *args, **kwargs))


def _via_shape(fn: Any, method: str = "") -> View:
    """A view function that only adds or drops axes of extent 1, or reshapes."""

    def view(r: Reader, x: Array, *args: Any, **kwargs: Any) -> Any:
        if not x.type.static or is_traced(args) or is_traced(kwargs):
            builder = METHODS[method] if method else TABLE[fn]
            out = builder(r.operand(x), *args, **kwargs)
            return reshaped(r, x, out.shape)
        ask = (lambda g, *a, **k: getattr(g, method)(*a, **k)) if method else fn
        return reshaped(r, x, _shape_by(ask, x, *args, **kwargs))

    return view


for _name in ("expand_dims", "squeeze"):
    FUNCTIONS[getattr(np, _name)] = _via_shape(getattr(np, _name))


def _at_least(fn: Any) -> View:
    def call(r: Reader, *arys: Any) -> Any:
        wide = [_via_shape(fn)(r, a) if isinstance(a, Array) else r.wrap(TABLE[fn](r.operand(a)), zero_d=True) for a in arys]
        return wide[0] if len(wide) == 1 else tuple(wide)

    return call


for _name in ("atleast_2d", "atleast_1d", "atleast_3d"):
    MANY[getattr(np, _name)] = _at_least(getattr(np, _name))
BY_NAME["squeeze"] = _via_shape(np.squeeze, "squeeze")


def _reshape(r: Reader, x: Array, shape: Any, order: str, copy: Any) -> Any:
    x = _of_known_size(r, x, shape)
    if order == "A":
        order = "F" if _fortran(x) else "C"
    if order == "F" and len(x.shape) > 0:
        back = tuple(reversed(shape)) if isinstance(shape, (tuple, list)) else (shape,)
        turned = _reshape(r, transposed(x, range(len(x.shape))[::-1]), back, "C", copy)
        return transposed(turned, range(len(turned.shape))[::-1])
    out = TABLE[np.reshape](r.operand(x), shape) if is_traced(shape) or not x.type.static else None
    new = out.shape if isinstance(out, Arr) else ghost_of(x).reshape(shape).shape
    made = reshaped(r, x, new)
    if copy is False and made.cell is not x.cell:
        raise IradValueError("Unable to avoid creating a copy while reshaping.")
    return copied(r, made, new_like(made.shape, made.strides, "C")) if copy and made.cell is x.cell else made


def _of_known_size(r: Reader, x: Array, shape: Any) -> Array:
    """An array of run-time extent along one axis, as one of that extent with which it has a shape whose extents are all known: that is
    checked. `image[~seam].reshape(h, w - 1)`."""
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    loose = [k for k, n in enumerate(x.shape) if not isinstance(n, int)]
    if len(loose) != 1 or is_traced(shape) or any(not hasattr(n, "__index__") or n < 0 for n in given):
        return x
    k, total = loose[0], math.prod(map(int, given))
    rest = math.prod(n for n in x.shape if isinstance(n, int))
    size, n = dim_value(x.shape[k]), -1 if rest == 0 or total % rest else total // rest
    raise_if(ne(size, scalar(n, "i64")), dim_value(size_of(x.shape)), exc="ValueError",
             message=f"cannot reshape array of size {{}} into shape {show_shape(tuple(map(int, given)))}")  # fmt: skip
    if n < 0:
        return x
    bound(size, n, n)
    return at(r, x, (*[slice(None)] * k, slice(0, n)))


def _fortran(x: Array) -> bool:
    """Does order "A" mean "F" for this array?"""
    if x.strides is None and x.loose and len(x.shape) > 1:
        raise UnsupportedError("the memory order of this array is not known here: write order='C' or order='F'")
    return is_f(x.shape, x.strides) and not is_c(x.shape, x.strides)


@register("reshape")
def reshape(r: Reader, a: Array, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    return _reshape(r, a, newshape if shape is None else shape, order, copy)


def reshape_method(r: Reader, a: Array, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    return _reshape(r, a, shape[0] if len(shape) == 1 else shape, order, copy)


BY_NAME["reshape"] = reshape_method


@register("ravel", method=True)
def ravel(r: Reader, a: Array, order: str = "C") -> Any:
    a = _in_order(a, order)
    flat = METHODS["ravel"](r.operand(a)).shape if not a.type.static else (a.type.size,)
    if a.contiguous:
        return _in_shape(a, flat, (1,) if a.strides is not None else None)
    out = Reshape(flat).read(r.read(a))
    copy = Array(Cell(out.value if isinstance(out, Arr) else out))
    return copy if a.contiguous is False else uncertain(r, a, copy)


def _in_order(a: Array, order: str) -> Array:
    """The array with its axes so that C order goes through the elements in another order."""
    if order == "A":
        order = "F" if _fortran(a) else "C"
    if order == "K":
        _fortran(a)
        return a if a.strides is None else transposed(a, memory_order(a.strides))
    return transposed(a, range(len(a.shape))[::-1]) if order == "F" else a


def flatten(r: Reader, a: Array, order: str = "C") -> Any:
    """One axis, always a copy."""
    return copied(r, ravel(r, a, order), (1,))


BY_NAME["flatten"] = flatten


def _turning(turn: Callable[..., Turn]) -> View:
    def view(r: Reader, a: Array, *args: Any, **named: Any) -> Any:
        backwards, order = turn(len(a.shape), *map(r.operand, args), **{k: r.operand(x) for k, x in named.items()})
        if order is None or backwards:
            a = at(r, a, tuple(slice(None, None, -1 if k in backwards else None) for k in range(len(a.shape))))
        return a if order is None else transposed(a, order)

    return view


for _name, _turn in shapes.FUNCTIONS.items():
    register(_name)(_turning(_turn))
BY_NAME.update((name, _turning(turn)) for name, turn in shapes.NAMES.items())


@register("unstack")
def unstack(r: Reader, x: Array, /, *, axis: int = 0) -> Any:
    if not x.shape:
        raise IradValueError("Input array must be at least 1-d.")
    moved = FUNCTIONS[np.moveaxis](r, x, axis, 0)
    return tuple(r.getitem(moved, k) for k in range(static_int(from_dim(moved.shape[0]), "the extent of the axis of np.unstack")))


@register("array_split")
def array_split(r: Reader, ary: Array, indices_or_sections: Any, axis: Any = 0, *, even: bool = False) -> Any:
    k = normalize_axis(axis, len(ary.shape))
    given = isinstance(indices_or_sections, (list, tuple, Array))
    bounds = r.items(indices_or_sections) if given else cuts(indices_or_sections, ary.shape[k], even)
    edges = [0, *(i if isinstance(i, Arr) else int(i) for i in bounds), None]
    return r.state.made([at(r, ary, (slice(None),) * k + (slice(lo, hi),)) for lo, hi in zip(edges, edges[1:])])


@register("split")
def split(r: Reader, ary: Array, indices_or_sections: Any, axis: Any = 0) -> Any:
    return array_split(r, ary, indices_or_sections, axis, even=True)


def _split_along(name: str, axis: int) -> None:
    """np.hsplit and its kin: of an array of one axis, np.hsplit splits that one."""

    @register(name)
    def cut(r: Reader, ary: Array, indices_or_sections: Any) -> Any:
        return array_split(r, ary, indices_or_sections, axis if name != "hsplit" else int(len(ary.shape) > 1), even=True)


for _name, _axis in (("vsplit", 0), ("hsplit", 1), ("dsplit", 2)):
    _split_along(_name, _axis)


def _part(name: str) -> View:
    def part(r: Reader, val: Array) -> Any:
        """x.real or x.imag: of a complex array a view that may be written."""
        if is_complex(val.type.dtype):
            strides = None if val.strides is None else tuple(2 * s for s in val.strides)
            return val.view(ComplexPart(name), val.type.with_dtype(real_dtype(val.type.dtype)), strides)
        if name == "real":
            return val
        out = r.wrap(TABLE[np.imag](r.operand(val)), zero_d=True)
        out.frozen = "the imaginary part of a real array is read-only"
        return out

    return part


for _name in ("real", "imag"):
    FUNCTIONS[getattr(np, _name)] = BY_NAME[_name] = _part(_name)
