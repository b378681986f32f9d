"""np.matrix: what it does otherwise than other subclasses of np.ndarray.

It has two axes, `*` is the product of matrices and `**` a power of one, and what is folded along an axis keeps that axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.array_classes import MATRIX, ROOT, ArrayOfClass, array_in, class_behind
from irad.errors import UnsupportedError
from irad.frontend.python.numbers import BUILTINS
from irad.frontend.reader import Reader
from irad.frontend.reading.array_classes import called, made, plain
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Array, is_number


def new(r: Reader, cls: Any, data: Any, dtype: Any = None, copy: Any = True) -> Any:
    """np.matrix(data, dtype, copy), and of a subclass of it."""
    if isinstance(data, ArrayOfClass) and issubclass(class_behind(data), np.matrix):
        if dtype is None or np.dtype(dtype) == array_in(data).type.numpy:
            return r.call(r.getattr(data, "copy"), []) if copy else data
        return r.call(r.getattr(data, "astype"), [dtype])
    if isinstance(data, (Array, ArrayOfClass)):
        out = r.call(r.getattr(data, "view"), [cls])
        if dtype is not None and np.dtype(dtype) != array_in(out).type.numpy:
            return r.call(r.getattr(out, "astype"), [dtype])
        return r.call(r.getattr(out, "copy"), []) if copy else out
    if isinstance(data, str):
        data = r.wrap(np.array(np.matrix(data)))
    array = r.call(np.array, [data], {} if dtype is None else {"dtype": dtype})
    if len(array.shape) > 2:
        raise ValueError("matrix must be 2-dimensional")
    return made(r, cls, array, None)


def as_matrix(r: Reader, data: Any, dtype: Any = None) -> Any:
    """np.asmatrix."""
    return new(r, np.matrix, data, dtype, False)


def block_matrix(r: Reader, obj: Any, ldict: Any = None, gdict: Any = None) -> Any:
    """np.bmat of rows of matrices."""
    if isinstance(obj, str):
        raise UnsupportedError("np.bmat of a text looks for variables by their names; write np.bmat([[A, B], [C, D]])")
    if isinstance(obj, (Array, ArrayOfClass)):
        return new(r, np.matrix, obj)
    rows = []
    for row in r.items(obj):
        if isinstance(row, (Array, ArrayOfClass)):
            return new(r, np.matrix, r.call(np.concatenate, [obj], {"axis": -1}))
        rows.append(r.call(np.concatenate, [row], {"axis": -1}))
    return new(r, np.matrix, r.call(np.concatenate, [rows], {"axis": 0}))


BUILTINS[np.matrix] = lambda r, *args, **kwargs: new(r, np.matrix, *args, **kwargs)
BUILTINS[np.matrix.__new__] = new
BUILTINS[np.asmatrix] = as_matrix
BUILTINS[np.bmat] = block_matrix
if hasattr(np, "mat"):
    BUILTINS[np.mat] = as_matrix


def _of(r: Reader, x: Any, array: Any) -> Any:
    """A result that is an array, as a matrix of the class of x."""
    return made(r, class_behind(x), array, x) if isinstance(array, Array) else array


def _times(r: Reader, x: Any, y: Any) -> Any:
    if isinstance(y, (Array, ArrayOfClass, list, tuple)):
        if not (isinstance(y, Array) and not y.shape):
            return called(r, np.dot, [x, as_matrix(r, y)], {})
        y = r.operand(y)
    if is_number(y) or isinstance(y, Arr):
        return _of(r, x, r.operator("mul", array_in(x), y))
    return NotImplemented


def _after(r: Reader, x: Any, y: Any) -> Any:
    """y * x."""
    if is_number(y) or isinstance(y, Arr):
        return _of(r, x, r.operator("mul", y, array_in(x)))
    return called(r, np.dot, [y, x], {})


def _into(name: str) -> Callable[..., Any]:
    def call(r: Reader, x: Any, y: Any) -> Any:
        r.setitem(array_in(x), slice(None), plain(r.operator(name, x, y)))
        return x

    return call


def _getitem(r: Reader, x: Any, key: Any) -> Any:
    out = r.getitem(array_in(x), plain(key))
    if not isinstance(out, Array):
        return out
    if len(out.shape) == 1:
        n = r.getattr(out, "shape")[0]
        items = key if isinstance(key, (tuple, list)) else ()
        column = len(items) > 1 and _is_scalar(items[1])
        out = r.call(r.getattr(out, "reshape"), [(n, 1) if column else (1, n)])
    elif not out.shape:
        return r.getitem(out, ())
    return made(r, class_behind(x), out, x)


def _is_scalar(k: Any) -> bool:
    return is_number(k) or isinstance(k, Arr)


def _fold(name: str) -> Callable[..., Any]:
    """A reduction: of one axis a row or column, of all a number."""

    def call(r: Reader, x: Any, axis: Any = None, *rest: Any, **kwargs: Any) -> Any:
        if axis is None:
            return r.call(r.getattr(array_in(x), name), [None, *rest], kwargs)
        return _of(r, x, r.call(r.getattr(array_in(x), name), [axis, *rest], {**kwargs, "keepdims": True}))

    return call


def _position(name: str) -> Callable[..., Any]:
    def call(r: Reader, x: Any, axis: Any = None) -> Any:
        if axis is None:
            return r.call(r.getattr(array_in(x), name), [])
        out = r.call(np.expand_dims, [r.call(r.getattr(array_in(x), name), [axis]), axis])
        return _of(r, x, out)

    return call


def _base(name: str) -> Callable[..., Any]:
    """A method as np.ndarray has it."""
    return lambda r, x, *args, **kwargs: BUILTINS[vars(ROOT)[name]](r, x, *args, **kwargs)


def _inverse(r: Reader, x: Any) -> Any:
    n, m = array_in(x).shape
    return r.call(np.linalg.inv if n == m else np.linalg.pinv, [x])


def _array(r: Reader, x: Any) -> Any:
    return r.call(r.getattr(x, "__array__"), [])


def _flat(r: Reader, x: Any) -> Any:
    return r.call(r.getattr(_array(r, x), "ravel"), [])


def _transposed(r: Reader, x: Any) -> Any:
    return r.call(r.getattr(x, "transpose"), [])


def _adjoint(r: Reader, x: Any) -> Any:
    out = _transposed(r, x)
    return r.call(r.getattr(out, "conjugate"), []) if array_in(x).type.numpy.kind == "c" else out


_METHODS: dict[str, Callable[..., Any]] = {
    "__getitem__": _getitem,
    "__mul__": _times,
    "__rmul__": _after,
    "__imul__": _into("mul"),
    "__pow__": lambda r, x, n: r.call(np.linalg.matrix_power, [x, n]),
    "__ipow__": _into("pow"),
    "__rpow__": lambda r, x, y: NotImplemented,
    **{name: _fold(name) for name in ("sum", "mean", "std", "var", "prod", "any", "all", "max", "min", "ptp")},
    **{name: _position(name) for name in ("argmax", "argmin")},
    **{name: _base(name) for name in ("squeeze", "flatten", "ravel")},
    "tolist": lambda r, x: r.call(r.getattr(array_in(x), "tolist"), []),
    "getT": _transposed, "getA": _array, "getA1": _flat, "getH": _adjoint, "getI": _inverse,
}  # fmt: skip
_ATTRIBUTES = {"I": _inverse, "A": _array, "A1": _flat, "T": _transposed, "H": _adjoint}
for _name, _found in vars(MATRIX).items():
    if isinstance(_found, property):
        BUILTINS[_found.fget] = _ATTRIBUTES[_name]
    elif _name in _METHODS:
        BUILTINS[_found] = _METHODS[_name]
