"""Conversion and attributes of arrays: asarray, astype, item, shape, dtype, T..."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.types import DTYPES, is_complex
from irad.errors import IradTypeError, IradValueError
from irad.frontend.numpy.complex import real
from irad.frontend.numpy.elementwise import convert
from irad.frontend.numpy.join import lift_strong
from irad.frontend.numpy.python_scalars import python_int
from irad.frontend.numpy.shape import ravel
from irad.frontend.registry import attribute, method, numpy
from irad.frontend.values.arr import Arr, dtype_of, from_dim, irad_dtype, lift, normalize_axis, result_dtype, shape_of, size_of
from irad.frontend.values.index import getitem
from irad.ops.array import reshape_to


@numpy("asarray", "ascontiguousarray", "asfortranarray", "asanyarray", "require", view=True)
def asarray(a: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Arr:
    """np.asarray and the like: memory layout does not matter to the meaning."""
    if dtype is None:
        return lift(lift_strong(a))
    name = irad_dtype(dtype)
    return convert(a, name) if isinstance(a, Arr) else Arr(lift(a, name).value)  # Python's numbers are checked to fit


@numpy("array", "copy")
def array(
    a: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0, like: Any = None
) -> Arr:
    """np.array of traced values, also nested lists."""
    if isinstance(dtype, str) and dtype in ("C", "F", "A", "K"):  # np.copy(a, order)
        dtype = None
    x = asarray(a, dtype)
    extra = max(0, ndmin - x.ndim)
    return Arr(reshape_to(x.value, (1,) * extra + x.shape))


@method("copy")
def copy_method(a: Any, order: str = "C") -> Arr:
    """x.copy()."""
    return Arr(lift(a).value)


@method("astype")
def astype_method(a: Any, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> Arr:
    """x.astype(dtype); complex to real drops the imaginary part."""
    x, name = lift(a), irad_dtype(dtype)
    if not np.can_cast(DTYPES[x.name], DTYPES[name], casting):  # type: ignore[arg-type]
        raise IradTypeError(f"Cannot cast array data from {DTYPES[x.name]} to {DTYPES[name]} according to the rule '{casting}'")
    if is_complex(x.name) and not is_complex(name) and name != "bool":
        x = real(x)
    return convert(Arr(x.value), name)


@numpy("astype")
def astype_function(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Arr:
    """np.astype(x, dtype)."""
    return astype_method(x, dtype)


@method("item")
def item(a: Any, *args: Any) -> Arr:
    """x.item(): a Python scalar. An index picks the element."""
    x = lift(a)
    if args:
        x = getitem(ravel(x) if len(args) == 1 and not isinstance(args[0], tuple) else x, args[0] if len(args) == 1 else args)
    if any(d != 1 for d in x.shape):
        raise IradValueError("can only convert an array of size 1 to a Python scalar")
    v = reshape_to(x.value, ())
    if x.name == "u64":
        return python_int(Arr(v))
    kind = {"b": "bool", "f": "f64", "c": "c128"}.get(x.name[0], "i64")
    return Arr(convert(Arr(v), kind).value, weak=True)


@numpy("shape")
@attribute("shape")
def shape(a: Any) -> tuple[Any, ...]:
    """The shape: ints, and traced ints for run-time extents."""
    return tuple(map(from_dim, shape_of(a)))


@numpy("ndim")
@attribute("ndim")
def ndim(a: Any) -> int:
    """The number of axes."""
    return len(shape_of(a))


@attribute("size")
def size_attribute(a: Any) -> Any:
    """The number of elements."""
    return from_dim(size_of(shape_of(a)))


@numpy("size")
def size(a: Any, axis: Any = None) -> Any:
    """np.size: elements, or the extent of an axis."""
    return size_attribute(a) if axis is None else from_dim(shape_of(a)[normalize_axis(axis, len(shape_of(a)))])


@attribute("dtype")
def dtype_attribute(a: Any) -> np.dtype:
    """The NumPy dtype."""
    return DTYPES[dtype_of(a)]


@attribute("itemsize")
def itemsize(a: Any) -> int:
    """Bytes of one element."""
    return DTYPES[dtype_of(a)].itemsize


@attribute("nbytes")
def nbytes(a: Any) -> Any:
    """Bytes of all elements."""
    return from_dim(size_of(shape_of(a)) * itemsize(a))


@numpy("result_type")
def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """np.result_type of operands and dtypes: static."""
    given = [x if not isinstance(x, (type, np.dtype, str)) else np.empty(0, x) for x in arrays_and_dtypes]
    return DTYPES[result_dtype(*given)]


@numpy("isscalar")
def isscalar(element: Any) -> bool:
    """np.isscalar: Python and NumPy scalars."""
    return not shape_of(element)
