"""NumPy functions that make arrays from numbers: zeros, full, arange, linspace, eye, meshgrid..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Dim, Extent, Type, is_float
from irad.errors import IradValueError
from irad.frontend.numpy.elementwise import apply_ufunc, convert
from irad.frontend.numpy.join import stack
from irad.frontend.numpy.linalg import diagonal, diagonal_places
from irad.frontend.numpy.shape import moveaxis, ravel, shape_argument
from irad.frontend.registry import numpy
from irad.frontend.values.arr import (
    Arr,
    as_dim,
    broadcast_all,
    dtype_of,
    irad_dtype,
    is_traced,
    lift,
    materialise,
    normalize_axis,
    result_dtype,
    scale_count,
    shape_of,
    size_of,
    static_int,
)
from irad.frontend.values.extents import of_new_array
from irad.frontend.values.index import mask_indices, setitem
from irad.ops import elementwise as ew
from irad.ops.array import any_, dim_value, iota, reshape_to
from irad.ops.constant import const
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to, full
from irad.ops.intervals import affine_of, bound, dim_interval


def checked_shape(shape: Any) -> tuple[Dim, ...]:
    """A shape for a new array; negative extents raise ValueError, at run time where they are traced."""
    dims = shape_argument(shape)
    for d in dims:
        lo, hi = dim_interval(d)
        if hi < 0:
            raise IradValueError("negative dimensions are not allowed")
        if lo < 0:
            v = dim_value(d)
            raise_if(v < 0, exc="ValueError", message="negative dimensions are not allowed")
            bound(v, 0, hi)
            if isinstance(d, Extent) and len(d.terms) == 1 and d.terms[0][1] == 1:
                bound(d.terms[0][0], -d.const, hi)
    return tuple(map(of_new_array, dims))


def _splat(value: int, *names: str) -> Callable[..., Arr]:
    def call(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None) -> Arr:
        name = "f64" if dtype is None else irad_dtype(dtype)
        return Arr(materialise(value, name, checked_shape(shape)))

    return numpy(*names)(call)


zeros = _splat(0, "zeros", "empty")
ones = _splat(1, "ones")


@numpy("full")
def full_array(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None) -> Arr:
    """np.full; the fill value may be traced and broadcasts."""
    return _filled(fill_value, dtype_of(fill_value) if dtype is None else irad_dtype(dtype), checked_shape(shape))


def _filled(value: Any, dtype: str, shape: tuple[Dim, ...]) -> Arr:
    """An array of one value, which is cast as an array of it would be: unlike in a store, nothing checks that it fits."""
    return Arr(materialise(Arr(value.value) if isinstance(value, Arr) else np.asarray(value), dtype, shape))


def _like(value: int) -> Callable[..., Arr]:
    def call(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None) -> Arr:
        name = dtype_of(a) if dtype is None else irad_dtype(dtype)
        return Arr(materialise(value, name, shape_of(a) if shape is None else checked_shape(shape)))

    return call


zeros_like = numpy("zeros_like", "empty_like")(_like(0))
ones_like = numpy("ones_like")(_like(1))


@numpy("full_like")
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Arr:
    name = dtype_of(a) if dtype is None else irad_dtype(dtype)
    return _filled(fill_value, name, shape_of(a) if shape is None else checked_shape(shape))


@numpy("eye")
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None) -> Arr:
    """np.eye, also of run-time extents."""
    rows, cols = checked_shape((N, N if M is None else M))
    at = lambda axis: Arr(iota(type=Type("i64", (rows, cols)), axis=axis))
    return convert(apply_ufunc("equal", apply_ufunc("subtract", at(1), at(0)), k), irad_dtype(dtype))


@numpy("identity")
def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Arr:
    return eye(n, dtype=float if dtype is None else dtype)


@numpy("tri")
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, like: Any = None) -> Arr:
    """np.tri: ones on and below diagonal k."""
    rows, cols = checked_shape((N, N if M is None else M))
    return convert(Arr(lower_mask((rows, cols), k)), irad_dtype(dtype))


def lower_mask(shape: tuple[Dim, ...], k: Any) -> Value:
    """column <= row + k, for the last two axes of a shape."""
    t, n = Type("i64", shape), len(shape)
    row, col = (Arr(iota(type=t, axis=a)) for a in (n - 2, n - 1))
    return apply_ufunc("less_equal", apply_ufunc("subtract", col, row), k).value


@numpy("tril")
def tril(m: Any, k: Any = 0) -> Arr:
    """np.tril: zero above diagonal k."""
    return _triangle(m, k, lambda low, x, zero: ew.select(low, x, zero))


@numpy("triu")
def triu(m: Any, k: Any = 0) -> Arr:
    """np.triu: zero below diagonal k."""
    return _triangle(
        m, apply_ufunc("subtract", k, 1) if isinstance(k, Arr) else k - 1, lambda low, x, zero: ew.select(low, zero, x)
    )


def _triangle(m: Any, k: Any, choose: Callable[[Value, Value, Value], Value]) -> Arr:
    x = lift(m)
    shape = x.shape if x.ndim > 1 else x.shape * 2
    v = materialise(x, x.name, shape)
    return Arr(choose(lower_mask(shape, k), v, full(0, v)))


# ---- ranges ----------------------------------------------------------------------------------------------------------


@numpy("arange")
def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None, like: Any = None) -> Arr:
    """np.arange. The number of elements is a run-time extent if the bounds are traced; a step of integers is static then."""
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    name = irad_dtype(dtype) if dtype is not None else result_dtype(start, stop, step)
    if any(is_float(dtype_of(x)) for x in (start, stop, step)):
        return convert(_float_arange(*(convert(x, "f64") for x in (start, stop, step))), name)
    a, b, k = as_dim(start), as_dim(stop), static_int(step, "the step of np.arange")
    if k == 0:
        raise IradValueError("Maximum allowed size exceeded: the step is 0")
    n = of_new_array(_steps(b - a, k))
    ramp = Arr(iota(type=Type("i64", (n,)), axis=0))
    scaled = ramp if k == 1 else apply_ufunc("multiply", ramp, k)
    out = scaled if a == 0 else apply_ufunc("add", scaled, Arr(dim_value(a)))
    return convert(out, name)


def _float_arange(start: Arr, stop: Arr, step: Arr) -> Arr:
    """np.arange of floats: as many elements as NumPy computes, and its rounding. Raises ValueError at run time for too many."""
    count = apply_ufunc("ceil", apply_ufunc("divide", apply_ufunc("subtract", stop, start), step)).value
    raise_if(~ew.le(count, _MOST), exc="ValueError", message="Maximum allowed size exceeded")
    n = cast_to(ew.maximum(count, 0.0), "i64")
    bound(n, 0, _MOST)
    ramp = convert(Arr(iota(type=Type("i64", (of_new_array(affine_of(n)),)), axis=0)), "f64")
    delta = apply_ufunc("subtract", apply_ufunc("add", start, step), start)
    return apply_ufunc("add", apply_ufunc("multiply", ramp, delta), start)


_MOST = 2**40  # elements


def _steps(span: Dim, k: int) -> Dim:
    """max(0, ceil(span / k))."""
    if isinstance(span, int):
        return max(0, -(-span // k))
    v = dim_value(span) if k == 1 else -(dim_value(-span) // k)
    d = affine_of(v)
    return d if dim_interval(d)[0] >= 0 else affine_of(ew.maximum(v, 0))


@numpy("linspace")
def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False, dtype: Any = None, axis: Any = 0,
    *, device: Any = None,
) -> Any:  # fmt: skip
    """np.linspace: start + k*step; the last element is `stop` itself, as in NumPy."""
    n = of_new_array(as_dim(num, "the number of samples"))
    if dim_interval(n)[1] < 0:
        raise IradValueError(f"Number of samples, {num}, must be non-negative.")
    div = n - 1 if endpoint else n
    work = result_dtype(start, stop, 1.0)
    work = work if work[0] in "fc" else "f64"
    a, b = convert(start, work), convert(stop, work)
    delta = apply_ufunc("subtract", b, a)
    ramp_type = Type("i64", (n, *(1,) * delta.ndim))
    k = Arr(cast_to(iota(type=ramp_type, axis=0), work))
    count = Arr(scale_count(div, work))
    step = apply_ufunc("divide", delta, count) if div != 0 else Arr(full(np.nan, delta.value))
    y = apply_ufunc("add", apply_ufunc("multiply", k, step if div != 0 else delta), a)
    if endpoint and (not isinstance(n, int) or n > 1):
        last = apply_ufunc("equal", Arr(iota(type=ramp_type, axis=0)), Arr(dim_value(n - 1)))
        y = Arr(ew.select(*_three(last, b, y)))
    name = irad_dtype(dtype) if dtype is not None else work
    y = moveaxis(y, 0, axis) if normalize_axis(axis, y.ndim) else y
    if name[0] not in "fc":
        y = apply_ufunc("floor", y)
    out = convert(y, name)
    return (out, step) if retstep else out


def _three(mask: Arr, x: Arr, y: Arr) -> tuple[Value, Value, Value]:
    return materialise(mask, "bool", y.shape), materialise(x, y.name, y.shape), y.value


@numpy("logspace")
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, base: Any = 10.0, dtype: Any = None, axis: Any = 0
) -> Arr:
    """np.logspace: base ** linspace."""
    out = apply_ufunc("power", base, linspace(start, stop, num, endpoint, axis=axis))
    return out if dtype is None else convert(out, irad_dtype(dtype))


@numpy("geomspace")
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0) -> Arr:
    """np.geomspace: a geometric progression between two numbers of one sign; the ends are exact."""
    a, b = (convert(x, "f64") for x in (start, stop))
    for end in (a, b):
        zero = apply_ufunc("equal", end, 0.0).value
        zero = any_(zero, axes=tuple(range(zero.type.rank))) if zero.type.rank else zero
        raise_if(zero, exc="ValueError", message="Geometric sequence cannot include zero")
    sign = apply_ufunc("sign", a)
    logs = [apply_ufunc("log10", apply_ufunc("absolute", x)) for x in (a, b)]
    y = apply_ufunc("multiply", sign, logspace(logs[0], logs[1], num, endpoint))
    n = y.shape[0]
    at = Arr(iota(type=Type("i64", (n, *(1,) * (y.ndim - 1))), axis=0))
    ends = [(0, a)] + ([(n - 1, b)] if endpoint and n != 1 else [])
    for k, end in ends:
        y = Arr(ew.select(*_three(apply_ufunc("equal", at, Arr(dim_value(k))), convert(end, y.name), y)))
    y = moveaxis(y, 0, axis) if normalize_axis(axis, y.ndim) else y
    return y if dtype is None else convert(y, irad_dtype(dtype))


# ---- grids -----------------------------------------------------------------------------------------------------------


@numpy("meshgrid")
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Arr, ...]:
    if indexing not in ("xy", "ij"):
        raise IradValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    order = list(range(n))
    if indexing == "xy" and n > 1:
        order[0], order[1] = 1, 0
    xs = [lift(x) for x in xi]
    lines = []
    for x, k in zip(xs, order):
        length = size_of(x.shape)
        lines.append(Arr(reshape_to(x.value, tuple(length if j == k else 1 for j in range(n)))))
    if sparse:
        return tuple(lines)
    return tuple(broadcast_all(*lines))


@numpy("ix_")
def ix_(*args: Any) -> tuple[Any, ...]:
    """np.ix_: index arrays for the outer product of positions."""
    out = []
    for k, a in enumerate(args):
        shape = shape_of(a)
        if len(shape) != 1:
            raise IradValueError("Cross index must be 1 dimensional")
        x = lift(a) if is_traced(a) else lift(np.asarray(a))
        if x.name == "bool":
            x = Arr(mask_indices(x.value)[0])
        out.append(Arr(reshape_to(x.value, tuple(x.shape[0] if j == k else 1 for j in range(len(args))))))
    return tuple(out)


@numpy("indices")
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """np.indices, of run-time extents too."""
    dims = checked_shape(dimensions)
    grids = [Arr(iota(type=Type("i64", dims), axis=k)) for k in range(len(dims))]
    if sparse:
        lines = [tuple(d if j == k else 1 for j in range(len(dims))) for k, d in enumerate(dims)]
        return tuple(convert(Arr(iota(type=Type("i64", s), axis=k)), irad_dtype(dtype)) for k, s in enumerate(lines))
    return convert(stack(grids), irad_dtype(dtype))


@numpy("diag")
def diag(v: Any, k: Any = 0) -> Arr:
    """np.diag: the diagonal of a matrix, or the matrix of a diagonal."""
    x = lift(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise IradValueError("Input must be 1- or 2-d.")
    offset = static_int(k, "k")
    m = of_new_array(x.shape[0] + abs(offset))
    place = const(value=0, type=Type(x.name, (m, m)))
    return Arr(setitem(Arr(place), diagonal_places(m, m, offset), x))


@numpy("diagflat")
def diagflat(v: Any, k: Any = 0) -> Arr:
    return diag(ravel(v), k)
