"""NumPy's tools for sampled functions: convolve, correlate, interp, gradient, polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.errors import IradTypeError, IradValueError, UnsupportedError
from irad.frontend.arr import Arr, dtype_of, is_traced, lift, normalize_axes, result_dtype, shape_of, static_int
from irad.frontend.np_complex import conj
from irad.frontend.np_elementwise import apply_ufunc, convert
from irad.frontend.np_functions import add, div, mul, op, sub, where
from irad.frontend.np_gather import sliding_window_view
from irad.frontend.np_index import getitem
from irad.frontend.np_join import stack
from irad.frontend.np_linalg import contract
from irad.frontend.np_move import flip_axis
from irad.frontend.np_reduce import sum_of
from irad.frontend.np_registry import numpy
from irad.frontend.np_scan import diff, join, part
from irad.frontend.np_sort import argsort, searchsorted
from irad.ir import Value
from irad.ops.array import reshape_to
from irad.ops.constant import const
from irad.ops.intervals import bound
from irad.types import Dim, Type, is_complex, is_float

# ---- convolution -----------------------------------------------------------------------------------------------------


def _full_convolution(a: Value, v: Value) -> Arr:
    """sum_k v[k] * a[i - k] for all i where they overlap: shifted products if v is short, else windows times v."""
    n, m = _static_lengths(a, v)
    inside = _valid_convolution(Arr(a), v, n, m)
    if m == 1:
        return inside
    x, zeros = Arr(a), lift(np.zeros(m - 1, a.type.numpy))
    left = _edge_convolution(join([zeros, part(x, 0, 0, m - 1)], 0), v, np.arange(m - 1)[:, None] + np.arange(m) >= m - 1)
    right = _edge_convolution(join([part(x, 0, n - m + 1, m - 1), zeros], 0), v, np.arange(m - 1)[:, None] + np.arange(m) < m - 1)
    return join([left, inside, right], 0)


def _valid_convolution(a: Arr, v: Value, n: int, m: int) -> Arr:
    """Where all of v overlaps with a."""
    if m <= 16:
        out: Any = None
        for k in range(m):
            term = mul(getitem(Arr(v), k), part(a, 0, m - 1 - k, n - m + 1))
            out = term if out is None else add(out, term)
        return out
    return Arr(contract(sliding_window_view(a, m).value, flip_axis(Arr(v), 0).value, [1], [0]))


def _edge_convolution(block: Arr, v: Value, overlap: np.ndarray) -> Arr:
    """Windows of the block times v, but for what lies outside of the array: 0 times an infinity there would be NaN."""
    terms = mul(sliding_window_view(block, v.type.shape[0]), flip_axis(Arr(v), 0))
    return sum_of(where(overlap, terms, 0), 1)


def _lines(a: Any, v: Any) -> tuple[Value, Value]:
    name = result_dtype(Arr(lift(a).value), Arr(lift(v).value))
    x, y = lift(a, name).value, lift(v, name).value
    if x.type.rank > 1 or y.type.rank > 1:
        raise IradValueError("object too deep for desired array")
    x, y = (reshape_to(z, (1,)) if not z.type.rank else z for z in (x, y))
    for z, which in ((x, "a"), (y, "v")):
        if z.type.shape[0] == 0:
            raise IradValueError(f"{which} cannot be empty")
    return x, y


@numpy("convolve")
def convolve(a: Any, v: Any, mode: str = "full") -> Arr:
    """np.convolve."""
    x, y = _lines(a, v)
    n, m = _static_lengths(x, y)
    if m > n:
        x, y, n, m = y, x, m, n
    if mode == "valid":
        return _in_dtype(_valid_convolution(Arr(x), y, n, m), x)
    return _in_dtype(_cut(_full_convolution(x, y), n, m, (m - 1) - m // 2, mode), x)


def _in_dtype(out: Arr, x: Value) -> Arr:
    """Integers and bools keep their dtype, whatever their sums are computed in; wrapped, they are the same."""
    return convert(out, x.type.dtype)


def _static_lengths(x: Value, y: Value) -> tuple[int, int]:
    n, m = x.type.shape[0], y.type.shape[0]
    if not isinstance(n, int) or not isinstance(m, int):
        raise UnsupportedError("convolution of arrays of run-time extent")
    return n, m


def _cut(whole: Arr, n: int, m: int, start: int, mode: str) -> Arr:
    """The part of a full convolution that `mode` asks for; n >= m."""
    if mode == "full":
        return whole
    if mode == "same":
        return part(whole, 0, m - 1 - m // 2 if start < 0 else start, n)
    if mode == "valid":
        return part(whole, 0, m - 1, n - m + 1)
    raise IradValueError(f"mode must be one of 'full', 'same' or 'valid', not {mode!r}")


@numpy("correlate")
def correlate(a: Any, v: Any, mode: str = "valid") -> Arr:
    """np.correlate: the second operand is conjugated."""
    x, y = _lines(a, conj(v))
    n, m = _static_lengths(x, y)
    flipped = flip_axis(Arr(y), 0).value
    if mode == "valid" and m <= n:
        return _in_dtype(_valid_convolution(Arr(x), flipped, n, m), x)
    if m <= n:
        return _in_dtype(_cut(_full_convolution(x, flipped), n, m, (m - 1) - m // 2, mode), x)
    start = n + m - 1 - ((n - 1) - n // 2) - m  # NumPy swaps the operands and reverses the result
    return _in_dtype(_cut(_full_convolution(flipped, x), m, n, start, mode), x)


# ---- interpolation and differences -------------------------------------------------------------------------------------


@numpy("interp")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Arr:
    """np.interp: piecewise linear, constant (or `left`, `right`) outside; always in double precision. Values may be complex."""
    made = "c128" if is_complex(dtype_of(fp)) else "f64"
    at, points, values = convert(x, "f64"), convert(xp, "f64"), convert(fp, made)
    if points.ndim != 1 or values.ndim != 1:
        raise IradValueError("Data points must be 1-D sequences")
    if points.shape != values.shape:
        raise IradValueError("fp and xp are not of the same length.")
    if points.shape[0] == 0:
        raise IradValueError("array of sample points is empty")
    if period is not None:
        at, points, values = _periodic(at, points, values, period)
        left = right = None
    first, last = getitem(points, 0), getitem(points, -1)
    n = static_int(points.shape[0], "the number of sample points")
    inner = getitem(values, np.zeros(at.shape, int)) if n == 1 else _segments(at, points, values, n)
    out = where(apply_ufunc("less", at, first), getitem(values, 0) if left is None else left, inner)
    out = where(apply_ufunc("greater", at, last), getitem(values, -1) if right is None else right, out)
    return convert(where(apply_ufunc("isnan", at), at, out), made)


def _segments(at: Arr, points: Arr, values: Arr, n: int) -> Arr:
    """values[j] + slope_j * (at - points[j]) on the segment that holds each position; exact at the points."""
    j = op("minimum")(op("maximum")(sub(searchsorted(points, at, side="right"), 1), 0), n - 2)
    bound(j.value, 0, n - 2)
    x0, y0 = getitem(points, j), getitem(values, j)
    x1, y1 = getitem(points, add(j, 1)), getitem(values, add(j, 1))
    slope = div(sub(y1, y0), sub(x1, x0))
    y = add(mul(slope, sub(at, x0)), y0)
    if not is_complex(y.name):  # from an infinite end of the segment nothing can be said, perhaps from the other one
        other = add(mul(slope, sub(at, x1)), y1)
        flat = where(apply_ufunc("logical_and", apply_ufunc("isnan", other), apply_ufunc("equal", y0, y1)), y0, other)
        y = where(apply_ufunc("isnan", y), flat, y)
    return where(apply_ufunc("equal", at, x1), y1, where(apply_ufunc("equal", at, x0), y0, y))


def _periodic(at: Arr, points: Arr, values: Arr, period: Any) -> tuple[Arr, Arr, Arr]:
    wrap = lambda v: apply_ufunc("remainder", v, period)
    at, points = wrap(at), wrap(points)
    order = argsort(points)
    points, values = getitem(points, order), getitem(values, order)
    ends = lambda v, shift: join([sub(part(v, 0, static_int(v.shape[0], "n") - 1, 1), shift), v, add(part(v, 0, 0, 1), shift)], 0)
    return at, ends(points, period), ends(values, 0.0)


@numpy("gradient")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """np.gradient: second-order central differences inside, one-sided of `edge_order` at the ends."""
    x = lift(f)
    x = Arr(x.value) if x.type.differentiable else convert(x, "f64")
    axes = (
        list(normalize_axes(axis, x.ndim))
        if not isinstance(axis, (tuple, list))
        else [normalize_axes(k, x.ndim)[0] for k in axis]
    )
    spacing = list(varargs) or [1.0]
    if len(spacing) == 1 and not shape_of(spacing[0]):
        spacing = spacing * len(axes)
    if len(spacing) != len(axes):
        raise IradTypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise IradValueError("'edge_order' greater than 2 not supported")
    out = [_gradient_axis(x, k, h, edge_order) for k, h in zip(axes, spacing)]
    return out[0] if len(out) == 1 else tuple(out)


def _gradient_axis(x: Arr, k: int, h: Any, edge_order: int) -> Arr:
    n = x.shape[k]
    if isinstance(n, int) and n < edge_order + 1:
        raise IradValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required."
        )
    at = lambda start, size=1: part(x, k, start if start >= 0 else static_int(n, "the extent") + start, size)
    if shape_of(h):
        h = _uneven(h, x, k)
        if isinstance(h, Arr):
            return _gradient_uneven(at, h, k, n, edge_order)
    inside = div(sub(at(2, n - 2), at(0, n - 2)), mul(2.0, h))
    if edge_order == 1:
        first, last = div(sub(at(1), at(0)), h), div(sub(at(-1), at(-2)), h)
    else:
        first = add(add(mul(div(-1.5, h), at(0)), mul(div(2.0, h), at(1))), mul(div(-0.5, h), at(2)))
        last = add(add(mul(div(0.5, h), at(-3)), mul(div(-2.0, h), at(-2))), mul(div(1.5, h), at(-1)))
    return join([convert(v, x.name) for v in (first, inside, last)], k)


def _uneven(h: Any, x: Arr, k: int) -> Any:
    """Distances between coordinates, broadcast along the other axes; a number if they are static and all equal."""
    if len(shape_of(h)) != 1:
        raise IradValueError("distances must be either scalars or 1d")
    if shape_of(h)[0] != x.shape[k]:
        raise IradValueError("when 1d, distances must match the length of the corresponding dimension")
    if not is_traced(h):
        steps = np.diff(np.asarray(h, float))
        if (steps == steps[0]).all():
            return steps[0]
    d = diff(convert(h, x.name if is_float(result_dtype(h)) else "f64"))
    return Arr(reshape_to(d.value, tuple(d.shape[0] if j == k else 1 for j in range(x.ndim))))


def _gradient_uneven(at: Any, h: Arr, k: int, n: Dim, edge_order: int) -> Arr:
    m = static_int(n, "the extent along which np.gradient has coordinates")
    d1, d2 = part(h, k, 0, m - 2), part(h, k, 1, m - 2)
    both = add(d1, d2)
    a, b, c = div(op("negative")(d2), mul(d1, both)), div(sub(d2, d1), mul(d1, d2)), div(d1, mul(d2, both))
    inside = add(add(mul(a, at(0, m - 2)), mul(b, at(1, m - 2))), mul(c, at(2, m - 2)))
    if edge_order == 1:
        first = div(sub(at(1), at(0)), part(h, k, 0, 1))
        last = div(sub(at(-1), at(-2)), part(h, k, m - 2, 1))
    else:
        first, last = _second_order_ends(at, h, k, m)
    return join([first, inside, last], k)


def _second_order_ends(at: Any, h: Arr, k: int, m: int) -> tuple[Arr, Arr]:
    d1, d2 = part(h, k, 0, 1), part(h, k, 1, 1)
    a = div(op("negative")(add(mul(2.0, d1), d2)), mul(d1, add(d1, d2)))
    b, c = div(add(d1, d2), mul(d1, d2)), div(op("negative")(d1), mul(d2, add(d1, d2)))
    first = add(add(mul(a, at(0)), mul(b, at(1))), mul(c, at(2)))
    e1, e2 = part(h, k, m - 3, 1), part(h, k, m - 2, 1)
    a, b = div(e2, mul(e1, add(e1, e2))), div(op("negative")(add(e2, e1)), mul(e1, e2))
    c = div(add(mul(2.0, e2), e1), mul(e2, add(e1, e2)))
    return first, add(add(mul(a, at(-3)), mul(b, at(-2))), mul(c, at(-1)))


# ---- polynomials -----------------------------------------------------------------------------------------------------


@numpy("polyval")
def polyval(p: Any, x: Any) -> Arr:
    """np.polyval by Horner's rule, highest power first."""
    coefs = _coefficients(p)
    out: Any = op("zeros_like")(x) if not is_traced(x) else Arr(const(value=0, type=lift(x).type))
    for c in coefs:
        out = add(mul(out, x), c)
    return out


def _coefficients(p: Any) -> list[Any]:
    n = static_int(shape_of(p)[0], "the number of coefficients")
    return [getitem(p, k) for k in range(n)] if isinstance(p, Arr) else [x if is_traced(x) else np.asarray(x)[()] for x in p]


@numpy("polynomial.polynomial.polyval")
def polyval_ascending(x: Any, c: Any, tensor: bool = True) -> Arr:
    """np.polynomial.polynomial.polyval for one-dimensional coefficients, lowest power first."""
    if len(shape_of(c)) != 1:
        raise UnsupportedError("np.polynomial.polynomial.polyval with coefficients of several dimensions")
    coefs = [convert(a, "f64") if not is_float(result_dtype(a)) else a for a in _coefficients(c)]
    out: Any = add(coefs[-1], mul(x, 0))
    for a in coefs[-2::-1]:
        out = add(a, mul(out, x))
    return out


@numpy("polyder")
def polyder(p: Any, m: Any = 1) -> Arr:
    """np.polyder of coefficients."""
    x = lift(p)
    for _ in range(static_int(m, "m")):
        n = max(static_int(x.shape[0], "the number of coefficients") - 1, 0)
        x = mul(part(x, 0, 0, n), np.arange(n, 0, -1))
    return x


@numpy("vander")
def vander(x: Any, N: Any = None, increasing: bool = False) -> Arr:
    """np.vander: powers by repeated multiplication."""
    v = lift(x)
    if v.ndim != 1:
        raise IradValueError("x must be a one-dimensional array or sequence.")
    n = static_int(v.shape[0] if N is None else N, "the number of columns")
    name = result_dtype(v, np.int64(0))
    columns = [Arr(const(value=1, type=Type(name, v.shape)))]
    for _ in range(n - 1):
        columns.append(mul(columns[-1], convert(v, name)))
    columns = columns[:n] if n else []
    if not columns:
        return Arr(const(value=0, type=Type(name, (*v.shape, 0))))
    return stack(columns if increasing else columns[::-1], axis=1)
