"""Running sums, differences and the trapezoidal rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irad.core.ir import Value
from irad.core.types import Dim
from irad.errors import IradValueError, UnsupportedError
from irad.frontend.numpy.elementwise import apply_ufunc
from irad.frontend.numpy.reduce import NOT_GIVEN, given, sum_dtype, sum_of
from irad.frontend.registry import numpy
from irad.frontend.values.arr import (
    Arr,
    dtype_of,
    in_f32,
    irad_dtype,
    lift,
    materialise,
    normalize_axis,
    result_dtype,
    shape_of,
    size_of,
    static_int,
)
from irad.ops.array import concat, cumprod, cumsum, reshape_to, slice_axis


def _scan(op: Callable[..., Value]) -> Callable[..., Arr]:
    def call(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Arr:
        name = irad_dtype(dtype) if dtype is not None else sum_dtype(dtype_of(a))
        if name == "bool":
            raise UnsupportedError("a running sum with dtype=bool: use int64")
        x = lift(a, name).value
        if axis is None:
            x, k = reshape_to(x, (size_of(x.type.shape),)), 0
        else:
            k = normalize_axis(axis, x.type.rank)
        return Arr(in_f32(op, x, axis=k, reverse=False, exclusive=False))

    return call


cumsum_of = numpy("cumsum", method="cumsum")(_scan(cumsum))
cumprod_of = numpy("cumprod", method="cumprod")(_scan(cumprod))


def _cumulative(scan: Callable[..., Arr], unit: int) -> Callable[..., Arr]:
    """np.cumulative_sum and np.cumulative_prod: the axis may be left out only for one axis; perhaps the unit first."""

    def call(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False) -> Arr:
        a = lift(x)
        if axis is None and a.ndim != 1:
            raise IradValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        k = 0 if axis is None else normalize_axis(axis, a.ndim)
        v = scan(a, k, dtype)
        if not include_initial:
            return v
        first = materialise(unit, v.name, tuple(1 if j == k else d for j, d in enumerate(v.shape)))
        return join([Arr(first), v], k)

    return call


numpy("cumulative_sum")(_cumulative(cumsum_of, 0))
numpy("cumulative_prod")(_cumulative(cumprod_of, 1))


def part(x: Arr, axis: int, start: int, size: Dim, step: int = 1) -> Arr:
    """A slice of an axis."""
    return Arr(slice_axis(x.value, axis, start, size, step))


@numpy("diff")
def diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = NOT_GIVEN, append: Any = NOT_GIVEN) -> Arr:
    order = static_int(n, "the order of a difference")
    if order < 0:
        raise IradValueError(f"order must be non-negative but got {order}")
    x = lift(a)
    if order == 0:
        return Arr(x.value)
    if x.ndim == 0:
        raise IradValueError("diff requires input that is at least one dimensional")
    k = normalize_axis(axis, x.ndim)
    ends = [_end(e, x, k) for e in (prepend, append)]
    parts = [p for p in (ends[0], x, ends[1]) if p is not None]
    if len(parts) > 1:
        x = join(parts, k)
    for _ in range(order):
        length = x.shape[k]
        m = max(length - 1, 0) if isinstance(length, int) else length - 1
        name = "not_equal" if x.name == "bool" else "subtract"
        start = 1 if length != 0 else 0
        x = apply_ufunc(name, part(x, k, start, m), part(x, k, 0, m))
    return x


def _end(e: Any, x: Arr, axis: int) -> Arr | None:
    """What is put before or after the array: a scalar stands for one element along the axis."""
    if not given(e):
        return None
    a = lift(e)
    if a.ndim:
        return a
    return Arr(materialise(a, a.name, tuple(1 if k == axis else d for k, d in enumerate(x.shape))))


def join(xs: list[Arr], axis: int) -> Arr:
    """Arrays of equal rank, promoted, one after the other."""
    name = result_dtype(*xs)
    return Arr(concat(*(lift(x, name).value for x in xs), axis=axis))


@numpy("ediff1d")
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Arr:
    """np.ediff1d: differences of the flattened array, with values before and after."""
    x = lift(ary)
    line = Arr(reshape_to(x.value, (size_of(x.shape),)))
    flat = lambda e: [] if e is None else [Arr(reshape_to(lift(e, x.name).value, (size_of(shape_of(e)),)))]
    parts = [*flat(to_begin), diff(line), *flat(to_end)]
    return parts[0] if len(parts) == 1 else join(parts, 0)


@numpy("trapezoid", "trapz")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Arr:
    """np.trapezoid: the area under samples."""
    v = lift(y)
    k = normalize_axis(axis, v.ndim)
    d = dx
    if x is not None:
        d = diff(lift(x), axis=-1 if len(shape_of(x)) == 1 else k)
        if d.ndim == 1:
            d = Arr(reshape_to(d.value, tuple(d.shape[0] if j == k else 1 for j in range(v.ndim))))
    size = v.shape[k]
    n = max(size - 1, 0) if isinstance(size, int) else size - 1
    both = apply_ufunc("add", part(v, k, 1 if v.shape[k] != 0 else 0, n), part(v, k, 0, n))
    return sum_of(apply_ufunc("divide", apply_ufunc("multiply", d, both), 2.0), k)
