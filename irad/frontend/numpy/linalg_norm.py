"""NumPy's norms and condition numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import is_complex, real_dtype
from irad.errors import IradValueError
from irad.frontend.numpy.elementwise import apply_ufunc, convert
from irad.frontend.numpy.linalg_solve import inv, matrices
from irad.frontend.numpy.linalg_spectral import singular_values
from irad.frontend.numpy.reduce import count_nonzero, guarded_sqrt, keep, max_of, min_of, squared_modulus, sum_of
from irad.frontend.registry import numpy
from irad.frontend.values.arr import Arr, float_dtype, in_f32, normalize_axes, normalize_axis, static_int, static_value
from irad.ops import elementwise as ew
from irad.ops.array import Slice, index, reshape_to, transpose_to
from irad.ops.elementwise import select
from irad.ops.slopes import norm_of


@numpy("linalg.norm")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Arr:
    """np.linalg.norm, of every order. Slopes at 0 are 0."""
    a = convert(x, float_dtype(x))
    axes = normalize_axes(axis, a.ndim) if not isinstance(axis, (tuple, list)) else tuple(normalize_axis(k, a.ndim) for k in axis)
    if ord is None or (ord == 2 and len(axes) == 1) or (ord in ("fro", "f") and len(axes) == 2):
        return _root_of_squares(a, axes, keepdims)
    if axis is None and a.ndim not in (1, 2):
        raise IradValueError("Improper number of dimensions to norm.")
    static_value(ord, "ord")
    if len(axes) == 1:
        return _vector_norm(a, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(a, ord, axes, keepdims)
    raise IradValueError("Improper number of dimensions to norm.")


def _root_of_squares(a: Arr, axes: tuple[int, ...], keepdims: Any) -> Arr:
    axes = tuple(sorted(axes))
    s = sum_of(squared_modulus(a), axes, keepdims=keepdims)
    v = in_f32(guarded_sqrt, s.value)
    if is_complex(a.name) or not axes:
        return Arr(v)
    short = tuple(d for k, d in enumerate(a.shape) if k not in axes)
    return Arr(reshape_to(norm_of(reshape_to(v, short), a.value, axes=axes), v.type.shape))


def _vector_norm(a: Arr, order: Any, axes: tuple[int, ...], keepdims: Any) -> Arr:
    if isinstance(order, str):
        raise IradValueError(f"Invalid norm order '{order}' for vectors")
    even = not is_complex(a.name) and isinstance(order, int) and order > 0 and order % 2 == 0
    size = a if even else apply_ufunc("absolute", a)
    if order == np.inf:
        return max_of(size, axes, keepdims=keepdims)
    if order == -np.inf:
        return min_of(size, axes, keepdims=keepdims)
    if order == 0:
        return convert(count_nonzero(a, axes, keepdims=keepdims), real_dtype(a.name))
    if order == 1:
        return sum_of(size, axes, keepdims=keepdims)
    powers = in_f32(lambda v: ew.pow_(v, float(order)), size.value)
    s = sum_of(Arr(powers if order >= 1 else _guarded_power(size.value, order)), axes, keepdims=keepdims)
    return Arr(_guarded_power(s.value, 1.0 / order))


def _guarded_power(v: Value, p: float) -> Value:
    """v**p for v >= 0 whose slope at 0 is 0 (for p > 0)."""

    def raised(v: Value) -> Value:
        power = lambda x: ew.pow_(x, float(p))
        if p <= 0:
            return power(v)
        zero = ew.eq(v, 0)
        return select(zero, 0, power(select(zero, 1, v)))

    return in_f32(raised, v)


def _matrix_norm(a: Arr, order: Any, axes: tuple[int, ...], keepdims: Any) -> Arr:
    row, col = axes
    if row == col:
        raise IradValueError("Duplicate axes given.")
    if order in (2, -2, "nuc"):
        return spectral_norm(a, order, (row, col), keepdims)
    if order not in (1, -1, np.inf, -np.inf):
        raise IradValueError("Invalid norm order for matrices.")
    along, across = (row, col) if abs(order) == 1 else (col, row)
    sums = sum_of(apply_ufunc("absolute", a), along, keepdims=True)
    out = (max_of if order > 0 else min_of)(sums, across, keepdims=True)
    shape = tuple(d for k, d in enumerate(out.shape) if k not in axes)
    return keep(reshape_to(out.value, shape), a.shape, axes, keepdims)


@numpy("linalg.vector_norm")
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Arr:
    """np.linalg.vector_norm: all given axes as one vector."""
    a = convert(x, float_dtype(x))
    axes = normalize_axes(axis, a.ndim)
    if ord == 2:
        return _root_of_squares(a, axes, keepdims)
    return _vector_norm(a, ord, axes, keepdims)


@numpy("linalg.matrix_norm")
def matrix_norm(x: Any, /, *, keepdims: Any = False, ord: Any = "fro") -> Arr:
    """np.linalg.matrix_norm: the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


def spectral_norm(a: Arr, order: Any, axes: tuple[int, int], keepdims: Any) -> Arr:
    """Matrix norms of order 2, -2 and "nuc": the largest, the smallest and the sum of the singular values."""
    rest = tuple(k for k in range(a.ndim) if k not in axes)
    s = Arr(singular_values(transpose_to(a.value, (*rest, *axes))))
    out = sum_of(s, -1) if order == "nuc" else (max_of if order == 2 else min_of)(s, -1)
    return keep(out.value, a.shape, axes, keepdims)


@numpy("linalg.cond")
def cond(x: Any, p: Any = None) -> Arr:
    """np.linalg.cond, for all orders."""
    v = Arr(matrices(x))
    if p is None or p in (2, -2):
        s = singular_values(v.value)
        n = static_int(s.type.shape[-1], "extent")
        rest = tuple(Slice(0, d) for d in s.type.shape[:-1])
        first, last = index(s, spec=(*rest, 0)), index(s, spec=(*rest, n - 1))
        return Arr(last / first if p == -2 else first / last)
    return apply_ufunc("multiply", norm(v, p, (-2, -1)), norm(inv(v), p, (-2, -1)))
