"""NumPy's reductions: sums, products, extremes, means and variances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Dim, Extent, Type, is_complex, is_float, real_dtype
from irad.errors import IradTypeError, IradValueError, UnsupportedError
from irad.frontend.numpy import complex_order, complex_ufuncs
from irad.frontend.numpy.elementwise import apply_ufunc, convert, truth
from irad.frontend.registry import numpy
from irad.frontend.values.arr import (
    Arr,
    broadcast_shapes,
    dtype_of,
    float_dtype,
    in_f32,
    irad_dtype,
    lift,
    materialise,
    normalize_axes,
    normalize_axis,
    require_equal_dims,
    scale_count,
    shape_of,
    show_shape,
    size_of,
)
from irad.ops import elementwise as ew
from irad.ops.array import all_, any_, argmax, argmin, dim_value, max_, min_, prod_, reshape_to, sum_, zeros
from irad.ops.complex import imag, real
from irad.ops.control import raise_if
from irad.ops.elementwise import INF, cast_to, full, select
from irad.ops.intervals import dim_interval, int_range
from irad.ops.slopes import guarded_sqrt

NOT_GIVEN = np._NoValue  # NumPy's own "not given"


def given(x: Any) -> bool:
    """Was a keyword given? Both None and NumPy's marker mean no."""
    return x is not None and x is not NOT_GIVEN


def keep(v: Value, shape: tuple[Dim, ...], axes: tuple[int, ...], keepdims: Any) -> Arr:
    """A reduction's result, with the reduced axes put back as extent 1 if `keepdims`."""
    if keepdims is NOT_GIVEN or not keepdims:
        return Arr(v)
    return Arr(reshape_to(v, tuple(1 if k in axes else d for k, d in enumerate(shape))))


def masked(x: Value, where: Any, fill: Any) -> Value:
    """x where the mask is true, else `fill`."""
    if where is True or where is NOT_GIVEN:
        return x
    if broadcast_shapes(x.type.shape, shape_of(where)) != x.type.shape:
        raise IradValueError(f"where= of shape {show_shape(shape_of(where))} does not broadcast to {show_shape(x.type.shape)}")
    return select(materialise(where, "bool", x.type.shape), x, full(fill, x))


def sum_dtype(name: str) -> str:
    """dtype in which NumPy adds up: integers narrower than 64 bits widen."""
    if name == "bool" or name[0] == "i":
        return "i64"
    return "u64" if name[0] == "u" else name


def _reduction(op: Callable[..., Value], unit: float, ufunc: str) -> Callable[..., Arr]:
    """np.sum or np.prod."""

    def call(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = NOT_GIVEN,
        where: Any = True,
    ) -> Arr:  # fmt: skip
        name = irad_dtype(dtype) if dtype is not None else sum_dtype(dtype_of(a))
        x = lift(a, name).value
        if name == "bool":
            return _bool_sum(ufunc, x, axis, keepdims, where)
        axes = normalize_axes(axis, x.type.rank)
        x = masked(x, where, unit)
        v = in_f32(op, x, axes=axes) if axes else x
        if given(initial):
            v = in_f32(getattr(ew, "add" if unit == 0 else "mul"), v, materialise(initial, name, v.type.shape))
        return keep(v, x.type.shape, axes, keepdims)

    return call


def _bool_sum(ufunc: str, x: Value, axis: Any, keepdims: Any, where: Any) -> Arr:
    """A sum or product with dtype=bool: `any` or `all`."""
    return (any_of if ufunc == "add" else all_of)(Arr(x), axis, None, keepdims, where=where)


sum_of = numpy("sum", method="sum")(_reduction(sum_, 0, "add"))
prod_of = numpy("prod", method="prod")(_reduction(prod_, 1, "multiply"))


def _nonempty(x: Value, axes: tuple[int, ...], what: str) -> None:
    """ValueError if the reduced axes hold no element."""
    for k in axes:
        d = x.type.shape[k]
        if d == 0 and (isinstance(d, int)):
            if all(n != 0 for j, n in enumerate(x.type.shape) if j not in axes):
                raise IradValueError(what)
        elif isinstance(d, Extent) and dim_interval(d)[0] < 1:
            n = dim_value(d)
            raise_if(n <= 0, exc="ValueError", message=what)


def lowest(name: str) -> Any:
    """The unit of maximum in a dtype."""
    if is_complex(name):
        return complex(-INF, -INF)
    return False if name == "bool" else -INF if is_float(name) else int_range(name)[0]


def highest(name: str) -> Any:
    """The unit of minimum in a dtype."""
    if is_complex(name):
        return complex(INF, INF)
    return True if name == "bool" else INF if is_float(name) else int_range(name)[1]


def _extreme(real_op: Callable[..., Value], ufunc: str, unit: Callable[[str], Any]) -> Callable[..., Arr]:
    def op(x: Value, *, axes: tuple[int, ...]) -> Value:
        return complex_order.extreme(x, axes, ufunc == "maximum") if is_complex(x.type.dtype) else real_op(x, axes=axes)

    def call(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = NOT_GIVEN, where: Any = True
    ) -> Arr:
        x = lift(a).value
        axes = normalize_axes(axis, x.type.rank)
        if where is not True and where is not NOT_GIVEN and not given(initial):
            raise IradValueError(
                f"reduction operation '{ufunc}' does not have an identity, so to use a where mask one has to specify 'initial'"
            )
        x = masked(x, where, unit(x.type.dtype))
        if given(initial):
            start = materialise(initial, x.type.dtype, ())
            if any(x.type.shape[k] == 0 for k in axes):
                shape = tuple(d for k, d in enumerate(x.type.shape) if k not in axes)
                return keep(materialise(Arr(start), x.type.dtype, shape), x.type.shape, axes, keepdims)
            v = in_f32(op, x, axes=axes) if axes else x
            better = complex_ufuncs.lowering(ufunc, [v], getattr(ew, ufunc))
            v = in_f32(better, v, materialise(Arr(start), x.type.dtype, v.type.shape))
            return keep(v, x.type.shape, axes, keepdims)
        _nonempty(x, axes, f"zero-size array to reduction operation {ufunc} which has no identity")
        if any(d == 0 for k, d in enumerate(x.type.shape) if k not in axes):
            return keep(zeros(Type(x.type.dtype, tuple(d for k, d in enumerate(x.type.shape) if k not in axes))),
                        x.type.shape, axes, keepdims)  # fmt: skip
        return keep(in_f32(op, x, axes=axes) if axes else x, x.type.shape, axes, keepdims)

    return call


max_of = numpy("max", "amax", method="max")(_extreme(max_, "maximum", lowest))
min_of = numpy("min", "amin", method="min")(_extreme(min_, "minimum", highest))


def _logical(op: Callable[..., Value], unit: bool) -> Callable[..., Any]:
    def call(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
        x = masked(truth(lift(a).value), where, unit)
        axes = normalize_axes(axis, x.type.rank)
        rest = [n for k, n in enumerate(x.type.shape) if k not in axes and isinstance(n, int)]
        if any(x.type.shape[k] == 0 for k in axes) and len(rest) + len(axes) == x.type.rank:  # known, whatever is computed
            known = np.full(rest, unit)
            return np.expand_dims(known, axes) if given(keepdims) and keepdims else known[()]
        return keep(op(x, axes=axes) if axes else x, x.type.shape, axes, keepdims)

    return call


any_of = numpy("any", method="any")(_logical(any_, False))
all_of = numpy("all", method="all")(_logical(all_, True))


def _position(op: Callable[..., Value], name: str) -> Callable[..., Arr]:
    def call(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Arr:
        x = lift(a).value
        flat = axis is None
        line = reshape_to(x, (size_of(x.type.shape),)) if flat else x
        k = 0 if flat else normalize_axis(axis, x.type.rank)
        _nonempty(line, (k,), f"attempt to get {name} of an empty sequence")
        if is_complex(x.type.dtype):
            v = complex_order.position(line, k, name == "argmax")
        else:
            v = in_f32(op, line, axis=k)
        return keep(v, x.type.shape, tuple(range(x.type.rank)) if flat else (k,), keepdims)

    return call


argmax_of = numpy("argmax", method="argmax")(_position(argmax, "argmax"))
argmin_of = numpy("argmin", method="argmin")(_position(argmin, "argmin"))

# ---- means and variances -------------------------------------------------------------------------------------------


def count_where(shape: tuple[Dim, ...], axes: tuple[int, ...], where: Any, dtype: str, keepdims: bool) -> Value:
    """Number of elements that are averaged, as a float: a scalar, or an array if a mask says which."""
    if where is True or where is NOT_GIVEN:
        return scale_count(size_of(shape[k] for k in axes), dtype)
    m = cast_to(materialise(where, "bool", shape), dtype)
    v = sum_(m, axes=axes) if axes else m
    return keep(v, shape, axes, keepdims).value


def _over(total: Value, count: Value) -> Value:
    return total / materialise(Arr(count), total.type.dtype, total.type.shape)


def _wide(a: Any, dtype: Any) -> tuple[Value, str, str]:
    """Operand in the dtype that means are computed in; that dtype; the result's dtype. float16 goes through float32."""
    result = irad_dtype(dtype) if dtype is not None else float_dtype(a)
    work = "f32" if result == "f16" else result
    if work[0] not in "fc":
        raise UnsupportedError(f"a mean with dtype={result}: take the mean in float64 and convert")
    return lift(convert(a, work) if dtype_of(a) != work else a, work).value, work, result


@numpy("mean", method="mean")
def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Arr:
    """np.mean; NaN for no elements."""
    x, work, result = _wide(a, dtype)
    axes = normalize_axes(axis, x.type.rank)
    total = sum_of(Arr(x), axis, None, None, keepdims, where=where).value
    v = _over(total, count_where(x.type.shape, axes, where, work, bool(keepdims is not NOT_GIVEN and keepdims)))
    return Arr(cast_to(v, result))


def squared_modulus(d: Arr) -> Arr:
    """|d|**2"""
    if not is_complex(d.name):
        return apply_ufunc("multiply", d, d)
    return apply_ufunc("add", *(apply_ufunc("square", Arr(part(d.value))) for part in (real, imag)))


def _variance(a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, mean_given: Any) -> tuple[Value, str]:
    x, work, result = _wide(a, dtype)
    axes = normalize_axes(axis, x.type.rank)
    m = convert(mean_given, work) if given(mean_given) else mean(Arr(x), axis, None, None, True, where=where)
    d = apply_ufunc("subtract", Arr(x), m)
    total = sum_of(squared_modulus(d), axis, None, None, keepdims, where=where).value
    work, result = real_dtype(work), real_dtype(result)
    n = count_where(x.type.shape, axes, where, work, bool(keepdims is not NOT_GIVEN and keepdims))
    freedom = ew.maximum(n - materialise(ddof, work, n.type.shape), 0)
    return _over(total, freedom), result


def freedom(ddof: Any, correction: Any) -> Any:
    return correction if given(correction) else ddof


@numpy("var", method="var")
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *, where: Any = True,
    mean: Any = NOT_GIVEN, correction: Any = NOT_GIVEN,
) -> Arr:  # fmt: skip
    v, result = _variance(a, axis, dtype, freedom(ddof, correction), keepdims, where, mean)
    return Arr(cast_to(v, result))


@numpy("std", method="std")
def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *, where: Any = True,
    mean: Any = NOT_GIVEN, correction: Any = NOT_GIVEN,
) -> Arr:  # fmt: skip
    """np.std; its slope where all elements are equal is 0."""
    v, result = _variance(a, axis, dtype, freedom(ddof, correction), keepdims, where, mean)
    return Arr(cast_to(guarded_sqrt(v), result))


@numpy("average")
def average(a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = NOT_GIVEN) -> Any:
    """np.average; weights have a's shape, or are one-dimensional along `axis`."""
    keepdims = keepdims is not NOT_GIVEN and bool(keepdims)
    if weights is None:
        out = mean(a, axis, keepdims=keepdims)
        n = size_of(shape_of(a)[k] for k in normalize_axes(axis, len(shape_of(a))))
        total = Arr(materialise(Arr(scale_count(n, out.name)), out.name, out.shape))
    else:
        w, have, want = lift(weights), shape_of(weights), shape_of(a)
        if have != want:
            if axis is None or len(have) != 1:
                raise IradTypeError("Axis must be specified when shapes of a and weights differ.")
            k = normalize_axis(axis, len(want))
            require_equal_dims(
                have[0], want[k], "Shape of weights must be consistent with shape of a along specified axis.", "ValueError"
            )
            w = Arr(reshape_to(w.value, tuple(have[0] if j == k else 1 for j in range(len(want)))))
        full_w = Arr(materialise(w, w.name, want))
        total = sum_of(full_w, axis, keepdims=keepdims)
        total = convert(total, float_dtype(apply_ufunc("multiply", lift(a), w)))
        _weights_add_up(total)
        out = apply_ufunc("divide", sum_of(apply_ufunc("multiply", a, w), axis, keepdims=keepdims), total)
    return (out, total) if returned else out


def _weights_add_up(total: Arr) -> None:
    zero = ew.eq(total.value, 0)
    bad = any_(zero, axes=tuple(range(total.ndim))) if total.ndim else zero
    raise_if(bad, exc="ZeroDivisionError", message="Weights sum to zero, can't be normalized")


@numpy("ptp", method="ptp")
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Arr:
    """np.ptp: the largest minus the smallest."""
    return apply_ufunc("subtract", max_of(a, axis, None, keepdims), min_of(a, axis, None, keepdims))


@numpy("count_nonzero")
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Arr:
    return sum_of(Arr(truth(lift(a).value)), axis, np.int64, None, keepdims)
