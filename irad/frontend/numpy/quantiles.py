"""Order statistics: medians, quantiles, percentiles, and those without NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.types import Dim, Type, is_complex, is_float
from irad.errors import IradTypeError, IradValueError, UnsupportedError
from irad.frontend.numpy.elementwise import apply_ufunc, convert
from irad.frontend.numpy.functions import add, mul, op, sub
from irad.frontend.numpy.gather import take_along_axis
from irad.frontend.numpy.join import stack
from irad.frontend.numpy.reduce import keep, sum_of
from irad.frontend.numpy.shape import ravel
from irad.frontend.numpy.sort import argsort, searchsorted, sort
from irad.frontend.registry import numpy, refuse_keywords
from irad.frontend.values.arr import (
    Arr,
    dtype_of,
    float_dtype,
    from_dim,
    in_f32,
    is_traced,
    is_weak,
    lift,
    materialise,
    normalize_axes,
    shape_of,
    size_of,
    static_int,
)
from irad.frontend.values.index import getitem
from irad.ops import array as array_ops
from irad.ops import elementwise as ew
from irad.ops.array import all_, reshape_to, transpose_to
from irad.ops.constant import const
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to, select
from irad.ops.intervals import bound, dim_interval


def _sorted_last(a: Any, axis: Any) -> tuple[Arr, tuple[int, ...]]:
    """The reduced axes merged into a last one, sorted along it; and which they were."""
    x = lift(a)
    axes = normalize_axes(axis, x.ndim)
    kept = tuple(k for k in range(x.ndim) if k not in axes)
    v = transpose_to(x.value, kept + axes)
    n = size_of(x.shape[k] for k in axes)
    line = reshape_to(v, (*(x.shape[k] for k in kept), n))
    return sort(Arr(line), len(kept)), axes


def _last(x: Arr, k: Any) -> Arr:
    return getitem(x, (Ellipsis, k))


@numpy("median")
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Arr:
    """np.median: the mean of the two middle elements (of one, if the number is odd); NaN if there is one."""
    s, axes = _sorted_last(a, axis)
    n = s.shape[-1]
    if not isinstance(n, int):
        return keep(_median_of_run_time_extent(s).value, shape_of(a), axes, keepdims)
    if n == 0:
        v = Arr(const(value=float("nan"), type=Type(float_dtype(s), s.shape[:-1])))
        return keep(v.value, shape_of(a), axes, keepdims)
    work = "f32" if s.name == "f16" else float_dtype(s)
    upper = convert(_last(s, n // 2), work)
    m = upper if n % 2 else div_by_two(apply_ufunc("add", convert(_last(s, n // 2 - 1), work), upper))
    out_v = convert(m, float_dtype(s))
    if is_float(s.name) or is_complex(s.name):
        end = _last(s, n - 1)
        out_v = Arr(select(apply_ufunc("isnan", end).value, end.value, out_v.value))
    return keep(out_v.value, shape_of(a), axes, keepdims)


def _median_of_run_time_extent(s: Arr) -> Arr:
    """The same where the number of elements, which may be 0, is known at run time."""
    n, dtype = from_dim(s.shape[-1]), float_dtype(s)
    work = convert(s, "f32" if s.name == "f16" else dtype)
    half = lambda k: apply_ufunc("floor_divide", k, 2)
    upper = _pick(work, half(n))
    mean = div_by_two(apply_ufunc("add", _pick(work, half(apply_ufunc("subtract", n, 1))), upper))
    odd = apply_ufunc("equal", apply_ufunc("remainder", n, 2), 1)
    where = lambda cond, a, b: Arr(select(materialise(cond, "bool", s.shape[:-1]), a.value, b.value))
    m = convert(where(odd, upper, mean), dtype)
    if is_float(s.name) or is_complex(s.name):
        end = _pick(s, apply_ufunc("subtract", n, 1))
        m = where(apply_ufunc("isnan", end), end, m)
    nan = Arr(const(value=float("nan"), type=Type(m.name, m.shape)))
    return where(apply_ufunc("equal", n, 0), nan, m)


def div_by_two(x: Arr) -> Arr:
    """x / 2."""
    return apply_ufunc("divide", x, 2)


@numpy("nanmedian")
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Arr:
    """np.nanmedian: NaN where there is nothing else."""
    x = lift(a)
    if is_complex(x.name):
        raise UnsupportedError("np.nanmedian of complex numbers: take out the NaN and use np.median")
    if not is_float(x.name):
        return median(x, axis, keepdims=keepdims)
    if 0 in x.shape:
        return _of_nothing(x, axis, keepdims)
    s, axes = _sorted_last(x, axis)
    count = _numbers(s)
    half = lambda k: apply_ufunc("floor_divide", k, 2)
    work = Arr(cast_to(s.value, "f32")) if s.name == "f16" else s
    low = _pick(work, half(apply_ufunc("subtract", count, 1)))
    high = _pick(work, half(count), count)
    m = convert(div_by_two(apply_ufunc("add", low, high)), x.name)
    m = Arr(select(apply_ufunc("equal", low, high).value, convert(low, x.name).value, m.value))
    return keep(_nan_if_none(m, count).value, x.shape, axes, keepdims)


def _of_nothing(x: Arr, axis: Any, keepdims: Any) -> Arr:
    """NaN, for each line of an empty array; not for each quantile, as in NumPy."""
    axes = normalize_axes(axis, x.ndim)
    shape = tuple(d for k, d in enumerate(x.shape) if k not in axes)
    return keep(const(value=float("nan"), type=Type(x.name, shape)), x.shape, axes, keepdims)


def _numbers(s: Arr) -> Arr:
    """How many elements along the last axis are not NaN."""
    ok = apply_ufunc("logical_not", apply_ufunc("isnan", s))
    n = sum_of(ok, -1)
    bound(n.value, 0, dim_interval(s.shape[-1])[1])
    return n


def _pick(s: Arr, at: Arr, count: Arr | None = None) -> Arr:
    """Element `at`, one number or one for each row, of each last axis, at most the last one that counts. 0 if there is none at all."""
    top = op("maximum")(op("subtract")(count if count is not None else from_dim(s.shape[-1]), 1), 0)
    at = op("maximum")(apply_ufunc("minimum", convert(at, "i64"), top), 0)
    least, most = dim_interval(s.shape[-1])
    bound(at.value, 0, max(most - 1, 0))
    if least == 0:
        s = Arr(array_ops.concat(s.value, array_ops.zeros(Type(s.name, (*s.shape[:-1], 1))), axis=len(s.shape) - 1))
    wide = Arr(materialise(at, "i64", s.shape[:-1]))
    v = take_along_axis(s, Arr(reshape_to(wide.value, (*s.shape[:-1], 1))), -1).value
    return Arr(reshape_to(v, s.shape[:-1]))


def _nan_if_none(v: Arr, count: Arr) -> Arr:
    none = apply_ufunc("equal", count, 0)
    return Arr(select(none.value, float("nan"), v.value))


def _plotting(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    """Hyndman and Fan (1996): position n*q + alpha + q*(1 - alpha - beta) - 1 in the sorted sample."""
    return lambda n, q: sub(add(mul(n, q), add(alpha, mul(q, 1 - alpha - beta))), 1)


def _averaged(n: Any, q: Any) -> Any:
    """Half way to the next element where n*q is whole, else the next element."""
    at = sub(mul(n, q), 1.0)
    return op("where")(op("equal")(at, op("floor")(at)), add(at, 0.5), op("ceil")(at))


def _closest(n: Any, q: Any) -> Any:
    """The nearest element, counted from 1; the even one of two."""
    at = sub(mul(n, q), 1.5)
    low = op("floor")(at)
    stays = op("logical_and")(op("equal")(at, low), op("equal")(op("remainder")(low, 2.0), 1.0))
    return op("where")(stays, low, add(low, 1.0))


# Methods that give an element of the sample, in its own dtype
_PICKS = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")
_LESS_ONE = lambda n: sub(n, 1.0) if isinstance(n, Arr) else n - 1  # a Python number stays one, so that q decides the dtype
_EVEN = lambda n, q: mul(_LESS_ONE(n), q)
_POSITION: dict[str, Callable[[Any, Any], Any]] = {
    "linear": _EVEN,
    "lower": lambda n, q: op("floor")(_EVEN(n, q)),
    "higher": lambda n, q: op("ceil")(_EVEN(n, q)),
    "midpoint": lambda n, q: mul(0.5, add(op("floor")(_EVEN(n, q)), op("ceil")(_EVEN(n, q)))),
    "nearest": lambda n, q: op("rint")(_EVEN(n, q)),
    "inverted_cdf": lambda n, q: op("ceil")(sub(mul(n, q), 1.0)),
    "averaged_inverted_cdf": _averaged,
    "closest_observation": _closest,
    "interpolated_inverted_cdf": _plotting(0.0, 1.0),
    "hazen": _plotting(0.5, 0.5),
    "weibull": _plotting(0.0, 0.0),
    "median_unbiased": _plotting(1 / 3, 1 / 3),
    "normal_unbiased": _plotting(3 / 8, 3 / 8),
}


def _at_quantile(s: Arr, q: Any, method: str, count: Any) -> Arr:
    """One quantile of sorted last axes of `count` elements (per row, if traced)."""
    if method not in _POSITION:
        raise UnsupportedError(f"the quantile method {method!r}; supported are {', '.join(_POSITION)}")
    n = convert(count, "f64") if isinstance(count, Arr) else float(count)
    where = _POSITION[method](n, q)
    top = op("maximum")(_LESS_ONE(n), 0.0) if isinstance(n, Arr) else max(n - 1, 0.0)
    where = op("minimum")(op("maximum")(where, 0.0), top)
    floor = op("floor")(where)
    t = sub(where, floor)
    if not is_traced((where, t)):
        k, weight = int(floor), float(t) if is_weak(q) else t
        low = _last(s, k)
        if method in _PICKS:
            return low
        return _lerp(low, _last(s, min(k + 1, int(count) - 1)), weight)
    rows = s.shape[:-1]
    at = Arr(cast_to(materialise(floor, "f64", rows), "i64"))
    low = _pick(s, at)
    if method in _PICKS:
        return low
    if is_float(s.name) and (is_weak(q) or isinstance(q, Arr) and q.weak):
        t = convert(t, s.name)
    return _lerp(low, _pick(s, apply_ufunc("add", at, 1), count if isinstance(count, Arr) else None), t)


def _lerp(a: Arr, b: Arr, t: Any) -> Arr:
    """a + (b - a)*t, from the nearer end, so that equal ends give themselves."""
    d = sub(b, a)
    if not isinstance(t, Arr):
        return sub(b, mul(d, 1 - t)) if t >= 0.5 else add(a, mul(d, t))
    low, high = add(a, mul(d, t)), sub(b, mul(d, sub(1, t)))
    near = apply_ufunc("greater_equal", t, 0.5)
    return Arr(select(materialise(near, "bool", low.shape), high.value, low.value))


def _quantiles(
    s: Arr, a_shape: tuple[Dim, ...], axes: tuple[int, ...], q: Any, method: str, keepdims: Any, count: Any, finish: Any
) -> Arr:
    """All quantiles asked for: q's axes stand first in the result. q is strong but for a Python number, as in NumPy."""
    q_shape = shape_of(q)
    total = static_int(size_of(q_shape), "the number of quantiles")
    if not is_traced(q):
        array = np.asarray(q)
        q = float(q) if is_weak(q) else array if array.dtype.kind == "f" else array.astype(float)
    flat = [q] if not q_shape else [getitem(ravel(q), k) if is_traced(q) else np.ravel(q)[k] for k in range(total)]
    parts = [keep(finish(_at_quantile(s, p, method, count)).value, a_shape, axes, keepdims) for p in flat]
    v = stack(parts) if q_shape else parts[0]
    return Arr(reshape_to(v.value, (*q_shape, *parts[0].shape)))


def _check_real(a: Any) -> None:
    if is_complex(dtype_of(a)):
        raise IradTypeError("a must be an array of real numbers")


def _check_q(q: Any, what: str) -> None:
    words = f"{what} must be in the range [0, {100 if what[0] == 'P' else 1}]"
    if not is_traced(q):
        a = np.asarray(q, float)
        if not ((a >= 0) & (a <= 1)).all():
            raise IradValueError(words)
        return
    inside = op("logical_and")(op("greater_equal")(q, 0.0), op("less_equal")(q, 1.0)).value
    raise_if(~all_(inside, axes=tuple(range(inside.type.rank))), exc="ValueError", message=words)


@numpy("quantile")
def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = False,
    *, weights: Any = None, interpolation: Any = None, _what: str = "Quantiles",
) -> Arr:  # fmt: skip
    """np.quantile; NaN if there is one."""
    _check_real(a)
    _check_q(q, _what)
    if weights is not None:
        refuse_keywords(np.quantile, weights=weights)
        return _weighted(lift(a), q, axis, method, keepdims, weights)
    s, axes = _sorted_last(a, axis)
    n = s.shape[-1]
    if n == 0:
        raise IradValueError("np.quantile of an empty axis")
    end = _last(s, -1)

    def finish(v: Arr) -> Arr:
        if not is_float(s.name):
            return v
        nan = in_f32(ew.isnan, end.value)
        return Arr(select(nan, convert(end, v.name).value, v.value))

    return _quantiles(s, shape_of(a), axes, q, method, keepdims, n if isinstance(n, int) else from_dim(n), finish)


def _weighted(x: Arr, q: Any, axis: Any, method: str, keepdims: Any, weights: Any) -> Arr:
    """Weighted quantiles: the first element in sorted order up to which the share of the weights reaches q."""
    if method != "inverted_cdf":
        raise IradValueError("Only method 'inverted_cdf' supports weights. Got: " + method + ".")
    axes = normalize_axes(axis, x.ndim)
    if len(axes) != x.ndim or shape_of(weights) != x.shape:
        raise UnsupportedError("np.quantile with weights: of the whole array, with weights of its shape")
    flat, w = ravel(x), ravel(convert(lift(weights), "f64"))
    order = argsort(flat)
    share = Arr(array_ops.cumsum(take_along_axis(w, order, 0).value, axis=0, reverse=False, exclusive=False))
    share = op("divide")(share, getitem(share, -1))
    none = apply_ufunc("equal", share, 0.0)  # elements of no weight come before every share
    at = searchsorted(Arr(select(none.value, -1, share.value)), q)
    last = static_int(size_of(x.shape), "the size of a weighted sample") - 1
    at = op("minimum")(at, last)
    bound(at.value, 0, int(last))
    values = getitem(take_along_axis(flat, order, 0), at)
    shape = (*shape_of(q), *((1,) * x.ndim if keepdims else ()))
    end = getitem(take_along_axis(flat, order, 0), -1)
    if is_float(x.name):
        nan = materialise(Arr(in_f32(ew.isnan, end.value)), "bool", values.shape)
        values = Arr(select(nan, materialise(end, x.name, values.shape), values.value))
    return Arr(reshape_to(values.value, shape))


@numpy("nanquantile")
def nanquantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = False,
    *, weights: Any = None, interpolation: Any = None, _what: str = "Quantiles",
) -> Arr:  # fmt: skip
    """np.nanquantile: NaN where there is nothing else."""
    if weights is not None:
        raise UnsupportedError("np.nanquantile with weights")
    _check_real(a)
    x = lift(a)
    if not is_float(x.name):
        return quantile(x, q, axis, method=method, keepdims=keepdims, _what=_what)
    _check_q(q, _what)
    if 0 in x.shape:
        return _of_nothing(x, axis, keepdims)
    s, axes = _sorted_last(x, axis)
    count = _numbers(s)
    out_v = _quantiles(s, x.shape, axes, q, method, keepdims, count, lambda v: _nan_if_none(v, count))
    return convert(out_v, x.name) if is_weak(q) else out_v


def _percent(quantiles: Callable[..., Arr]) -> Callable[..., Arr]:
    def call(
        a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = False,
        *, weights: Any = None, interpolation: Any = None,
    ) -> Arr:  # fmt: skip
        share = op("divide")(q, 100.0) if is_traced(q) else q / 100.0 if is_weak(q) else np.true_divide(q, 100.0)
        return quantiles(a, share, axis, method=method, keepdims=keepdims, weights=weights, _what="Percentiles")

    return call


percentile = numpy("percentile")(_percent(quantile))
nanpercentile = numpy("nanpercentile")(_percent(nanquantile))
