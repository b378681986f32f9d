"""NumPy functions that change an argument: `np.add.at`, `np.copyto`, `np.put` and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.once import COMPILER, import_later
from irad.core.types import DTYPES
from irad.errors import IradTypeError, IradValueError
from irad.frontend.numpy.elementwise import AT
from irad.frontend.numpy.linalg import diagonal_places
from irad.frontend.numpy.table import add_at, lookup
from irad.frontend.reader import Reader
from irad.frontend.reading.numpy_calls import function_operand
from irad.frontend.reading.subscripts import put, writable
from irad.frontend.values.arr import Arr, dtype_of, is_traced, is_weak, shape_of, static_int
from irad.frontend.values.objects import Array, describe


def _add_at(r: Reader, x: Any, key: Any, v: Any) -> None:
    writable(x)
    put(r, x, Arr(add_at(_lifted(r, x), r.operand(key), r.operand(v))))


def _lifted(r: Reader, x: Any) -> Arr:
    if not isinstance(x, Array):
        raise IradTypeError(f"an array is needed, got {describe(x)}")
    return Arr(r.value(x))


def _subtract_at(r: Reader, x: Any, key: Any, v: Any) -> None:
    _add_at(r, x, key, r.operator("neg", v))


def _ufunc_at(name: str) -> Callable[..., None]:
    def call(r: Reader, x: Any, key: Any, *operand: Any) -> None:
        with COMPILER:
            from irad.frontend.numpy.ufunc_folds import at  # few programs need it
        writable(x)
        put(r, x, at(name, _lifted(r, x), r.operand(key), *map(r.operand, operand)))

    return call


def _piecewise(r: Reader, x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """The functions, which may be the user's, are called here with the whole array; the builder chooses."""
    items = [f if isinstance(f, Array) or isinstance(r.operand(f), (Arr, int, float, complex, np.generic, np.ndarray)) else
             r.call(f, [x, *args], kw) for f in r.items(funclist)]  # fmt: skip
    builder = lookup(np.piecewise)
    assert builder is not None
    return r.wrap(builder(r.operand(x), function_operand(r, condlist, np.piecewise), [r.operand(f) for f in items]), zero_d=True)


def _copyto(r: Reader, dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    value = function_operand(r, src, np.copyto)
    fits = is_weak(value) and dtype_of(value) == "i64" and r.getattr(dst, "dtype").kind != "b"
    if not fits and not np.can_cast(DTYPES[dtype_of(value)], r.getattr(dst, "dtype"), casting):
        kinds = f"{DTYPES[dtype_of(value)]} to {r.getattr(dst, 'dtype')}"
        raise IradTypeError(f"Cannot cast array data from {kinds} according to the rule '{casting}'; write dst[...] = src")
    r.setitem(dst, Ellipsis, src if where is True else r.call(np.where, [where, src, dst]))


def _fill_diagonal(r: Reader, a: Any, val: Any, wrap: bool = False) -> None:
    """a.flat[:end:step] = val, repeated as need be."""
    if isinstance(a, Array) and len(a.shape) == 2 and not (a.type.static or wrap or shape_of(r.operand(val))):
        r.setitem(a, tuple(map(r.wrap, diagonal_places(*a.shape, 0))), val)
        return
    shape = tuple(static_int(d, "an extent of the array of np.fill_diagonal") for d in r.getattr(a, "shape"))
    if len(shape) < 2:
        raise IradValueError("array must be at least 2-d")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise IradValueError("All dimensions of input must be of equal length")
    step = 1 + int(np.cumprod(shape[:-1]).sum()) if len(shape) > 2 else shape[1] + 1
    size = int(np.prod(shape))
    end = size if wrap or len(shape) > 2 else min(size, shape[1] * shape[1])
    _put(r, a, np.arange(0, end, step), val, "raise")


def _putmask(r: Reader, a: Any, mask: Any, values: Any) -> None:
    """a.flat[k] = values[k % len(values)] where the mask holds."""
    if shape_of(r.operand(values)):
        values = r.call(np.resize, [values, r.getattr(a, "shape")])
    mask = r.call(np.reshape, [r.call(np.asarray, [mask]), r.getattr(a, "shape")])
    r.setitem(a, Ellipsis, r.call(np.where, [mask, values, a]))


def _nan_to_num(r: Reader, x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """A new array; with copy=False the array itself, changed."""
    builder = lookup(np.nan_to_num)
    assert builder is not None
    operands = [r.operand(v) for v in (x, nan, posinf, neginf)]
    new = (builder if is_traced(operands) else np.nan_to_num)(operands[0], True, *operands[1:])
    if copy or not isinstance(x, Array):
        return r.wrap(new)
    if x.type.dtype[0] in "fc":
        r.setitem(x, Ellipsis, r.wrap(new))
    return x


CHANGES: dict[Any, Callable[..., Any]] = {
    np.add.at: _add_at, np.subtract.at: _subtract_at, np.copyto: _copyto, np.fill_diagonal: _fill_diagonal,
    np.put_along_axis: lambda r, arr, indices, values, axis: _put_along(r, arr, indices, values, axis),
    np.putmask: _putmask, np.nan_to_num: _nan_to_num,
    np.put: lambda r, a, ind, v, mode="raise": _put(r, a, ind, v, mode),
    np.place: lambda r, arr, mask, vals: _place(r, arr, mask, vals), np.piecewise: _piecewise,
    **{getattr(np, name).at: _ufunc_at(name) for name in AT},
}  # fmt: skip


def _place(r: Reader, arr: Any, mask: Any, vals: Any) -> None:
    """arr[mask] = the first values, repeated as need be: element k of the places that hold gets number k."""
    flat = r.call(np.ravel, [r.call(np.asarray, [mask])])
    values = r.call(np.ravel, [r.call(np.asarray, [vals])])
    (n,) = r.getattr(values, "shape")
    order = r.operator("sub", r.call(np.cumsum, [flat]), 1)
    chosen = r.getitem(values, r.call(np.remainder, [r.call(np.maximum, [order, 0]), n]))
    r.setitem(arr, Ellipsis, r.call(np.where, [mask, r.call(np.reshape, [chosen, r.getattr(arr, "shape")]), arr]))


def _put(r: Reader, a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """a.flat[ind] = v, with v repeated as need be."""
    if not isinstance(a, Array):
        raise IradTypeError(f"an array is needed, got {describe(a)}")
    flat = import_later("irad.frontend.reading.flat").elements_of(a)
    at = r.call(np.ravel, [r.call(np.asarray, [ind])])
    values = r.call(np.asarray, [v])
    if 0 in shape_of(r.operand(values)):
        return
    if mode == "wrap":
        at = r.operator("mod", at, r.getattr(flat, "size"))
    elif mode == "clip":
        at = r.call(np.clip, [at, 0, r.operator("sub", r.getattr(flat, "size"), 1)])
    r.setitem(flat, at, r.call(np.resize, [values, r.getattr(at, "shape")]))


def _put_along(r: Reader, arr: Any, indices: Any, values: Any, axis: int) -> None:
    n = len(arr.shape)
    at = []
    for k, d in enumerate(arr.shape):
        at.append(indices if k == axis % n else np.arange(d).reshape([-1 if j == k else 1 for j in range(n)]))
    r.setitem(arr, tuple(at), values)
