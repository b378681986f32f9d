"""NumPy functions that return views: the same storage seen through one more step, strides kept as NumPy keeps them.

Whether `reshape` or `ravel` is a view or a copy is decided by strides, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.frontend.arr import Arr, is_traced, normalize_axis
from irad.frontend.np_index import plan
from irad.frontend.objects import Array, At, Cell, Part, Reshape, Transpose, c_strides
from irad.frontend.reader import Reader
from irad.frontend.table import METHODS, TABLE
from irad.types import Dim, Type, is_complex, real_dtype

View = Callable[..., Any]
FUNCTIONS: dict[Any, View] = {}
BY_NAME: dict[str, View] = {}  # methods and attributes


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
    return x.view(At(key, p), Type(x.type.dtype, p.shape), _strides_at(x, key))


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
    shares, strides = nocopy_strides(x.shape, x.strides, shape)
    if not shares:
        out = Reshape(shape).read(r.read(x))
        return Array(Cell(out.value if isinstance(out, Arr) else out))
    return x.view(Reshape(shape), Type(x.type.dtype, shape), strides)


def transposed(x: Array, perm: Sequence[int]) -> Array:
    shape = tuple(x.shape[k] for k in perm)
    strides = None if x.strides is None else tuple(x.strides[k] for k in perm)
    return x.view(Transpose(tuple(perm)), Type(x.type.dtype, shape), strides)


def nocopy_strides(
    shape: Sequence[Dim], strides: Sequence[int] | None, new: Sequence[Dim]
) -> tuple[bool, tuple[int, ...] | None]:
    """Does NumPy reshape without copying, and the strides (in elements) of the result, None if not known."""
    if strides is None or not all(isinstance(n, int) for n in (*shape, *new)):
        if [d for d in shape if d != 1] != [d for d in new if d != 1]:
            return False, None
        return True, None if strides is None else _spread([(n, s) for n, s in zip(shape, strides) if n != 1], new)
    pairs: list[tuple[Any, int]] = [(n, s) for n, s in zip(shape, strides) if n != 1]
    if 0 in shape:
        return True, tuple(0 for _ in new)
    out: list[int] = []
    todo: list[Any] = [n for n in new if n != 1]
    k = 0
    while pairs:
        size, group = pairs[0][0], [pairs.pop(0)]
        want = todo[k]
        j = k + 1
        while size != want:
            if want < size:
                want *= todo[j]
                j += 1
            else:
                group.append(pairs.pop(0))
                size *= group[-1][0]
        if any(a[1] != b[0] * b[1] for a, b in zip(group, group[1:])):
            return False, None
        s, part = group[-1][1], []
        for n in reversed(todo[k:j]):
            part.append(s)
            s *= n
        out += reversed(part)
        k = j
    return True, _spread(list(zip(todo, out)), new)


def _spread(pairs: list[tuple[Any, int]], shape: Sequence[Dim]) -> tuple[int, ...]:
    """Strides of a shape, those of extent 1 put in as 0."""
    rest = iter(s for _, s in pairs)
    return tuple(0 if d == 1 else next(rest) for d in shape)


# ---- the functions ------------------------------------------------------------------------------------------------------


def _view(*names: str, method: bool = False, attribute: bool = False) -> Callable[[View], View]:
    def register(f: View) -> View:
        for name in names:
            fn = getattr(np, name, None)
            if fn is not None and fn in TABLE:
                FUNCTIONS[fn] = f
            if method or attribute:
                BY_NAME[name] = f
        return f

    return register


def _ghost(x: Array) -> Any:
    """A NumPy array of the shape of x, without storage."""
    shape: Any = x.shape
    return np.broadcast_to(np.zeros((), np.int8), shape)


def _shape_by(builder: Callable[..., Any], x: Array, *args: Any, **kwargs: Any) -> tuple[int, ...]:
    """The shape that a NumPy view function gives: asked of NumPy itself, on an array without storage."""
    ghost = _ghost(x)
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


for _name in ("expand_dims", "squeeze", "atleast_2d", "atleast_1d", "atleast_3d"):
    FUNCTIONS[getattr(np, _name)] = _via_shape(getattr(np, _name))
BY_NAME["squeeze"] = _via_shape(np.squeeze, "squeeze")


def _reshape(r: Reader, x: Array, shape: Any, order: str, method: bool) -> Any:
    if order in ("F",) and len(x.shape) > 0:
        back = tuple(reversed(shape)) if isinstance(shape, (tuple, list)) else (shape,)
        turned = _reshape(r, transposed(x, range(len(x.shape))[::-1]), back, "C", method)
        return transposed(turned, range(len(turned.shape))[::-1])
    out = TABLE[np.reshape](r.operand(x), shape) if is_traced(shape) or not x.type.static else None
    new = out.shape if isinstance(out, Arr) else _ghost(x).reshape(shape).shape
    return reshaped(r, x, new)


@_view("reshape")
def reshape(r: Reader, a: Array, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    return _reshape(r, a, newshape if shape is None else shape, order, False)


def reshape_method(r: Reader, a: Array, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    return _reshape(r, a, shape[0] if len(shape) == 1 else shape, order, True)


BY_NAME["reshape"] = reshape_method


@_view("ravel", method=True)
def ravel(r: Reader, a: Array, order: str = "C") -> Any:
    if order == "F":
        a = transposed(a, range(len(a.shape))[::-1])
    if len(a.shape) == 1:
        return a.view(Reshape(a.shape), a.type, a.strides)
    return reshaped(r, a, METHODS["ravel"](r.operand(a)).shape if not a.type.static else (a.type.size,))


@_view("transpose", "permute_dims")
def transpose(r: Reader, a: Array, axes: Any = None) -> Any:
    n = len(a.shape)
    perm = range(n)[::-1] if axes is None else [_axis(k, n) for k in r.items(axes)]
    return transposed(a, perm)


def transpose_method(r: Reader, a: Array, *axes: Any) -> Any:
    flat = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))) else axes or None
    return transpose(r, a, flat)


BY_NAME["transpose"] = transpose_method
BY_NAME["T"] = lambda r, a: transposed(a, range(len(a.shape))[::-1])


@_view("matrix_transpose")
def matrix_transpose(r: Reader, x: Array) -> Any:
    return swapaxes(r, x, -1, -2)


BY_NAME["mT"] = matrix_transpose


def _axis(k: Any, n: int) -> int:
    return normalize_axis(k, n)


@_view("swapaxes", method=True)
def swapaxes(r: Reader, a: Array, axis1: Any, axis2: Any) -> Any:
    perm = list(range(len(a.shape)))
    i, j = _axis(axis1, len(perm)), _axis(axis2, len(perm))
    perm[i], perm[j] = perm[j], perm[i]
    return transposed(a, perm)


@_view("moveaxis")
def moveaxis(r: Reader, a: Array, source: Any, destination: Any) -> Any:
    n = len(a.shape)
    many = lambda k: [_axis(i, n) for i in (k if isinstance(k, (tuple, list)) else (k,))]
    src, dst = many(source), many(destination)
    order = [k for k in range(n) if k not in src]
    for d, s in sorted(zip(dst, src)):
        order.insert(d, s)
    return transposed(a, order)


@_view("rollaxis")
def rollaxis(r: Reader, a: Array, axis: Any, start: Any = 0) -> Any:
    n = len(a.shape)
    k = _axis(axis, n)
    start = start + n if start < 0 else start
    order = [j for j in range(n) if j != k]
    order.insert(start - (k < start), k)
    return transposed(a, order)


def _flipped(r: Reader, a: Array, axes: Sequence[int]) -> Array:
    return at(r, a, tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(len(a.shape))))


@_view("flip")
def flip(r: Reader, m: Array, axis: Any = None) -> Any:
    n = len(m.shape)
    axes = range(n) if axis is None else [_axis(k, n) for k in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    return _flipped(r, m, list(axes))


@_view("fliplr")
def fliplr(r: Reader, m: Array) -> Any:
    return _flipped(r, m, [1])


@_view("flipud")
def flipud(r: Reader, m: Array) -> Any:
    return _flipped(r, m, [0])


@_view("rot90")
def rot90(r: Reader, m: Array, k: int = 1, axes: Any = (0, 1)) -> Any:
    n = len(m.shape)
    i, j = (_axis(a, n) for a in axes)
    if k % 4 == 0:
        return at(r, m, Ellipsis)
    if k % 4 == 2:
        return _flipped(r, _flipped(r, m, [i]), [j])
    if k % 4 == 1:
        return swapaxes(r, _flipped(r, m, [j]), i, j)
    return _flipped(r, swapaxes(r, m, i, j), [j])


def _pieces(r: Reader, a: Array, bounds: Sequence[Any], axis: int) -> list[Any]:
    n = len(a.shape)
    cut = lambda lo, hi: at(r, a, tuple(slice(lo, hi) if k == axis else slice(None) for k in range(n)))
    edges = [0, *bounds, a.shape[axis]]
    return r.state.made([cut(lo, hi) for lo, hi in zip(edges, edges[1:])])


@_view("split", "array_split")
def array_split(r: Reader, ary: Array, indices_or_sections: Any, axis: Any = 0, *, even: bool = False) -> Any:
    k = _axis(axis, len(ary.shape))
    if isinstance(indices_or_sections, (list, tuple, Array)):
        return _pieces(r, ary, [int(i) if not isinstance(i, Arr) else i for i in r.items(indices_or_sections)], k)
    n: Any = ary.shape[k]
    parts = int(indices_or_sections)
    if even and n % parts:
        raise ValueError("array split does not result in an equal division")
    each, extra = divmod(n, parts)
    sizes = [each + 1] * extra + [each] * (parts - extra)
    return _pieces(r, ary, list(np.cumsum(sizes[:-1]).tolist()), k)


FUNCTIONS[np.split] = lambda r, ary, sections, axis=0: array_split(r, ary, sections, axis, even=True)
FUNCTIONS[np.vsplit] = lambda r, ary, sections: array_split(r, ary, sections, 0, even=True)
FUNCTIONS[np.hsplit] = lambda r, ary, sections: array_split(r, ary, sections, int(len(ary.shape) > 1), even=True)
FUNCTIONS[np.dsplit] = lambda r, ary, sections: array_split(r, ary, sections, 2, even=True)


@_view("broadcast_to")
def broadcast_to(r: Reader, array: Array, shape: Any, subok: bool = False) -> Any:
    out = r.wrap(TABLE[np.broadcast_to](r.operand(array), shape), zero_d=True)
    return _frozen(out, "assignment destination is read-only (np.broadcast_to returns a read-only view)")


def _frozen(x: Array, why: str) -> Array:
    return Array(x.cell, x.steps, x.type, x.strides, why)


def _part(name: str) -> View:
    def part(r: Reader, val: Array) -> Any:
        """x.real or x.imag: of a complex array a view that may be written."""
        if is_complex(val.type.dtype):
            strides = None if val.strides is None else tuple(2 * s for s in val.strides)
            return val.view(Part(name), val.type.with_dtype(real_dtype(val.type.dtype)), strides)
        if name == "real":
            return val
        return _frozen(r.wrap(TABLE[np.imag](r.operand(val)), zero_d=True), "the imaginary part of a real array is read-only")

    return part


for _name in ("real", "imag"):
    FUNCTIONS[getattr(np, _name)] = BY_NAME[_name] = _part(_name)


def _diagonal(r: Reader, a: Array, *args: Any, **kwargs: Any) -> Any:
    out = r.wrap(TABLE[np.diagonal](r.operand(a), *args, **kwargs), zero_d=True)
    return _frozen(out, "assignment destination is read-only (np.diagonal returns a read-only view)")


if np.diagonal in TABLE:
    FUNCTIONS[np.diagonal] = BY_NAME["diagonal"] = _diagonal
if np.diag in TABLE:
    FUNCTIONS[np.diag] = lambda r, v, k=0: (
        _frozen(r.wrap(TABLE[np.diag](r.operand(v), k), zero_d=True), "assignment destination is read-only (np.diag of a matrix)")
        if len(v.shape) == 2
        else r.wrap(TABLE[np.diag](r.operand(v), k), zero_d=True)
    )


def same_array(r: Reader, a: Array, *args: Any, **kwargs: Any) -> Any:
    """np.asarray and its kin: the array itself if nothing has to change."""
    dtype = kwargs.get("dtype", args[0] if args else None)
    order = kwargs.get("order")
    if (dtype is None or np.dtype(dtype) == a.type.numpy) and order in (None, "K", "A") and not kwargs.get("copy"):
        return a
    return r.wrap(TABLE[np.array](r.operand(a), dtype), zero_d=True)


for _name in ("asarray", "asanyarray", "asarray_chkfinite"):
    if hasattr(np, _name):
        FUNCTIONS[getattr(np, _name)] = same_array


@_view("ascontiguousarray")
def ascontiguousarray(r: Reader, a: Array, dtype: Any = None) -> Any:
    if a.strides is not None and a.strides == c_strides(a.shape) and a.shape:
        return same_array(r, a, dtype)
    return r.wrap(TABLE[np.array](r.operand(a), dtype), zero_d=True)
