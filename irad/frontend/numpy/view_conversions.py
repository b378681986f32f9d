"""`asarray`, `astype(copy=False)` and their kin: the array itself where nothing has to change, else a copy in its memory order."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from irad.core.once import import_later
from irad.core.types import is_complex
from irad.errors import IradValueError, UnsupportedError
from irad.frontend.control.holders import references, variables_of
from irad.frontend.numpy.table import METHODS, TABLE, lookup
from irad.frontend.numpy.views import BY_NAME, at, copied, register, reshaped, uncertain
from irad.frontend.reader import Reader
from irad.frontend.registry import find
from irad.frontend.values.arr import is_traced, lift, static_int
from irad.frontend.values.layout import is_f, new_like
from irad.frontend.values.objects import Array, Cell
from irad.ops.complex import complex_
from irad.ops.control import raise_if


def converted(r: Reader, a: Array, dtype: Any = None, order: Any = None, copy: bool | None = None, ndmin: int = 0) -> Any:
    """The array itself if it has the dtype and memory order, else a copy; `copy` as np.array takes it."""
    order = order or "K"
    cast = dtype is not None and np.dtype(dtype) != a.type.numpy
    fits = _fits(a, order)
    if not cast and fits is not False and not copy:
        same = a if fits else uncertain(r, a, copied(r, a, new_like(a.shape, a.strides, order)))
        return _ranked(r, same, ndmin)
    if copy is False:
        raise IradValueError(
            "Unable to avoid copy while creating an array as requested: write np.asarray, or copy=None, to copy where needed"
        )
    content = r.operand(a)
    if isinstance(content, np.ndarray):
        with np.errstate(all="ignore"):
            return r.wrap(np.array(content, dtype, order=order, ndmin=ndmin), zero_d=True)  # type: ignore[call-overload]
    out = r.wrap(TABLE[np.array](content, dtype), zero_d=True)
    return _ranked(r, out.laid_out(new_like(a.shape, a.strides, order)) if a.type.static else out, ndmin)


def _fits(a: Array, order: str) -> bool | None:
    """Is the array in a memory order? None: not known."""
    if order == "C":
        return a.contiguous
    if order == "F":
        return None if a.strides is None and len(a.shape) > 1 else is_f(a.shape, a.strides) or len(a.shape) == 1 and a.contiguous
    return True


def _ranked(r: Reader, a: Array, ndmin: int) -> Array:
    extra = ndmin - len(a.shape)
    return reshaped(r, a, ((1,) * extra + a.shape)) if extra > 0 else a


@register("asarray", "asanyarray")
def asarray(
    r: Reader, a: Array, dtype: Any = None, order: Any = None, *, copy: Any = None, device: Any = None, like: Any = None
) -> Any:
    return converted(r, a, dtype, order, copy)


@register("array")
def array(
    r: Reader, a: Array, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: Any = False, ndmin: int = 0,
    like: Any = None,
) -> Any:  # fmt: skip
    return converted(r, a, dtype, order, copy, ndmin)


@register("copy")
def copy_function(r: Reader, a: Array, order: str = "K", subok: bool = False) -> Any:
    return converted(r, a, None, order, True)


BY_NAME["copy"] = lambda r, a, order="C": converted(r, a, None, order, True)
BY_NAME["__array__"] = lambda r, a, dtype=None, *, copy=None: converted(r, a, dtype, None, copy)


@register("ascontiguousarray")
def ascontiguousarray(r: Reader, a: Array, dtype: Any = None, *, like: Any = None) -> Any:
    return converted(r, a, dtype, "C", None, 1)


@register("asfortranarray")
def asfortranarray(r: Reader, a: Array, dtype: Any = None, *, like: Any = None) -> Any:
    return converted(r, a, dtype, "F", None, 1)


@register("require")
def require(r: Reader, a: Array, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """np.require. Whether an array from outside owns its memory is not known, so "O" is a copy of it that may be a view."""
    given = [requirements] if isinstance(requirements, str) else list(requirements or ())
    wanted = {str(w).upper()[:1] for w in given}
    if wanted >= {"C", "F"}:
        raise IradValueError('Cannot specify both "C" and "F" order')
    out = converted(r, a, dtype, "C" if "C" in wanted else "F" if "F" in wanted else "A", None)
    if "O" in wanted and out.cell is a.cell and not a.fresh_whole:
        copy = copied(r, out, new_like(out.shape, out.strides, "K"))
        return copy if out.steps else uncertain(r, out, copy)
    return copied(r, out, new_like(out.shape, out.strides, "K")) if "W" in wanted and "read-only" in out.frozen else out


def astype(
    r: Reader, a: Array, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    """x.astype."""
    if not copy and np.dtype(dtype) == a.type.numpy and _fits(a, order) is not False:
        return converted(r, a, None, order)
    content = r.operand(a)
    if isinstance(content, np.ndarray):
        with np.errstate(all="ignore"):
            return r.wrap(content.astype(dtype, order, casting), zero_d=True)  # type: ignore[call-overload]
    out = r.wrap(METHODS["astype"](content, dtype, order, casting), zero_d=True)
    return out.laid_out(new_like(a.shape, a.strides, order)) if a.type.static else out


BY_NAME["astype"] = astype


@register("astype")
def astype_function(r: Reader, x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return astype(r, x, dtype, copy=copy)


def conjugate(r: Reader, a: Array) -> Any:
    """x.conj(): of real numbers the array itself."""
    return r.wrap(METHODS["conj"](r.operand(a)), zero_d=True) if is_complex(a.type.dtype) else a


BY_NAME["conj"] = BY_NAME["conjugate"] = conjugate


@register("real_if_close")
def real_if_close(r: Reader, a: Array, tol: Any = 100) -> Any:
    return r.wrap(TABLE[np.real_if_close](r.operand(a), tol), zero_d=True) if is_complex(a.type.dtype) else a


def _unchanged(path: str, keyword: str, default: int, itself: int) -> None:
    """Functions that give their array itself where they have nothing to do."""
    fn = find(path)

    @register(path)
    def call(r: Reader, a: Array, *args: Any, **kwargs: Any) -> Any:
        n = args[0] if args else kwargs.get(keyword, default)
        if type(n) is int and n == itself:
            return a
        content, builder = r.operand(a), lookup(fn)
        assert builder is not None
        return r.wrap((builder if is_traced((content, args, kwargs)) else fn)(content, *args, **kwargs))


_unchanged("diff", "n", 1, itself=0)
_unchanged("polyint", "m", 1, itself=0)
_unchanged("linalg.matrix_power", "n", 1, itself=1)


@register("asarray_chkfinite")
def asarray_chkfinite(r: Reader, a: Array, dtype: Any = None, order: Any = None) -> Any:
    out = converted(r, a, dtype, order)
    if out.type.dtype[0] in "fc":
        bad = r.operator("invert", r.call(np.all, [r.call(np.isfinite, [out])]))
        raise_if(lift(r.operand(bad)).value, exc="ValueError", message="array must not contain infs or NaNs")
    return out


_PARTS = "this is a view of an array as complex numbers, or of their parts; write x.copy().view(...) to store into it"


def _as_parts(r: Reader, a: Array, dtype: np.dtype[Any]) -> Array | None:
    """Complex numbers as pairs of real ones of their size, and back; None of anything else."""
    from_real = dtype.kind == "c" and a.type.numpy == dtype.type(0).real.dtype
    if not (from_real or is_complex(a.type.dtype) and dtype == a.type.numpy.type(0).real.dtype) or not a.shape:
        return None
    if a.contiguous is not True:
        raise UnsupportedError(
            f"x.view({dtype}) of an array whose elements do not stand side by side; write x.copy().view({dtype})"
        )
    *before, last = a.shape
    if not from_real:
        pairs = r.call(np.stack, [[r.getattr(a, "real"), r.getattr(a, "imag")]], {"axis": -1})
        return r.call(np.reshape, [pairs, (*before, 2 * last)])  # type: ignore[no-any-return]
    if not isinstance(last, int):
        raise UnsupportedError(f"x.view({dtype}) of an array of a length that data decide")
    if last % 2:
        raise ValueError(
            "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis of the array."
        )
    even, odd = (r.value(r.getitem(a, (Ellipsis, slice(k, None, 2)))) for k in (0, 1))
    return Array(Cell(complex_(even, odd)))


def view(r: Reader, a: Array, dtype: Any = None, type: Any = None) -> Any:
    """x.view(): the same memory, of the same dtype, perhaps as an object of a subclass of np.ndarray."""
    if isinstance(dtype, builtins.type) and issubclass(dtype, np.ndarray):
        dtype, type = None, dtype
    if type not in (None, np.ndarray):
        return import_later("irad.frontend.reading.array_classes").seen_as(r, a, type, a, dtype)
    if (dtype is None or dtype is np.ndarray or np.dtype(dtype) == a.type.numpy) and type in (None, np.ndarray):
        return at(r, a, Ellipsis)
    if type in (None, np.ndarray) and (parts := _as_parts(r, a, np.dtype(dtype))) is not None:
        return uncertain(r, a, parts, _PARTS)
    raise UnsupportedError(
        f"x.view({np.dtype(dtype)}) of an array of {a.type.numpy} reads its bytes as other numbers; x.astype(...) converts numbers, "
        "and a view may be made outside and passed"
    )


BY_NAME["view"] = view


def resize(r: Reader, x: Array, *shape: Any, refcheck: bool = True) -> None:
    """x.resize: the variable holds an array of the other size from now on, with zeros where there were no elements."""
    holders = variables_of(r, x)
    if x.cell.outside or x.steps or x.watch or len(holders) != 1 or references(r, x.cell) != 1 or not x.type.static:
        raise UnsupportedError(
            "x.resize of an array that another variable holds or views, of the caller, or of a length that data decide; "
            "write x = np.resize(x, shape), or an array of the final size"
        )
    flat = r.call(np.ravel, [x])
    wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    extents = tuple(static_int(r.operand(n), "the shape of x.resize") for n in wanted)
    size, more = math.prod(extents), math.prod(extents) - flat.shape[0]
    full = (
        r.call(np.concatenate, [[flat, r.call(np.zeros, [more, x.type.numpy])]]) if more > 0 else r.getitem(flat, slice(0, size))
    )
    r.state.assign(holders[0], r.call(np.array, [r.call(np.reshape, [full, extents])]))


BY_NAME["resize"] = resize
