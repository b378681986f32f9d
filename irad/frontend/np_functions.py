"""NumPy's elementwise functions that are not ufuncs: clip, where, round, nan_to_num, isclose, select, sinc, i0, unwrap..."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from irad.errors import IradTypeError, IradValueError, ShapeError
from irad.frontend import complex_ufuncs
from irad.frontend.arr import (
    Arr,
    broadcast_shapes,
    dtype_of,
    float_dtype,
    in_f32,
    is_traced,
    lift,
    materialise,
    normalize_axis,
    result_dtype,
    shape_of,
)
from irad.frontend.np_elementwise import apply_ufunc, convert, truth
from irad.frontend.np_index import mask_indices
from irad.frontend.np_operators import around
from irad.frontend.np_reduce import all_of
from irad.frontend.np_registry import numpy
from irad.frontend.np_scan import cumsum_of, diff, join, part
from irad.ir import Value
from irad.ops import complex as cx
from irad.ops import elementwise as ew
from irad.ops.elementwise import full, select
from irad.types import DTYPES, is_complex, is_float


def op(name: str) -> Callable[..., Any]:
    """A ufunc on operands: NumPy's own if all are static, else the graph's."""
    return lambda *xs: apply_ufunc(name, *xs) if is_traced(xs) else getattr(np, name)(*xs)


add, sub, mul, div = op("add"), op("subtract"), op("multiply"), op("divide")

# ---- choice ------------------------------------------------------------------------------------------------------


@numpy("clip", method="clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **_: Any) -> Arr:
    """np.clip: minimum(maximum(a, low), high). Where a equals a bound the slope is half, as for maximum and minimum."""
    low, high = a_min if min is None else min, a_max if max is None else max
    name = result_dtype(a, *(b for b in (low, high) if b is not None))
    v = lift(a, name)
    v = v if low is None else _bounded("maximum", v, low, name)
    return Arr((v if high is None else _bounded("minimum", v, high, name)).value)


def _bounded(ufunc: str, x: Arr, limit: Any, dtype: str) -> Arr:
    shape = broadcast_shapes(x.shape, shape_of(limit))
    values = [materialise(v, dtype, shape) for v in (x, limit)]
    return Arr(in_f32(complex_ufuncs.lowering(ufunc, values, getattr(ew, ufunc)), *values))


@numpy("where")
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """np.where: choose by a condition (of any dtype), or with one argument the positions where it holds."""
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise IradValueError("either both or neither of x and y should be given")
    name = result_dtype(x, y)
    shape = broadcast_shapes(*map(shape_of, (condition, x, y)))
    c = materialise(Arr(truth(lift(condition).value)), "bool", shape)
    return Arr(select(c, materialise(x, name, shape), materialise(y, name, shape)))


@numpy("nonzero", method="nonzero")
def nonzero(a: Any) -> tuple[Arr, ...]:
    """np.nonzero: positions, of an extent known at run time."""
    x = truth(lift(a).value)
    if not x.type.rank:
        raise IradValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    return tuple(map(Arr, mask_indices(x)))


@numpy("select")
def select_function(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Arr:
    """np.select: the choice of the first condition that holds."""
    if len(condlist) != len(choicelist):
        raise IradValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise IradValueError("select with an empty condition list is not possible")
    name = result_dtype(*choicelist, default)
    shape = broadcast_shapes(*map(shape_of, (*condlist, *choicelist, default)))
    out = materialise(default, name, shape)
    for c, x in reversed(list(zip(condlist, choicelist))):
        if dtype_of(c) != "bool":
            raise IradTypeError("invalid entry in condlist: should be boolean ndarray")
        out = select(materialise(c, "bool", shape), materialise(x, name, shape), out)
    return Arr(out)


@numpy("piecewise")
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Arr:
    """np.piecewise; every function sees the whole array, and the last condition that holds decides."""
    a = lift(x)
    conds = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    if len(funclist) not in (len(conds), len(conds) + 1):
        raise IradValueError(f"with {len(conds)} condition(s), either {len(conds)} or {len(conds) + 1} functions are expected")
    value = lambda f: materialise(f(a, *args, **kw) if callable(f) else f, a.name, a.shape)
    out = value(funclist[-1]) if len(funclist) > len(conds) else full(0, a.value)
    for c, f in zip(conds, funclist):
        mask = Arr(truth(lift(c).value))
        out = select(materialise(mask, "bool", a.shape), value(f), out)
    return Arr(out)


# ---- rounding and repair -----------------------------------------------------------------------------------------


@numpy("round", "around", method="round")
def round_function(a: Any, decimals: Any = 0, out: Any = None) -> Arr:
    """np.round."""
    return around(a, decimals)


@numpy("fix")
def fix(x: Any, out: Any = None) -> Arr:
    """np.fix: towards zero."""
    return apply_ufunc("trunc", x)


@numpy("nan_to_num")
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Arr:
    """np.nan_to_num."""
    v = lift(x).value
    if is_complex(v.type.dtype):
        parts = [nan_to_num(Arr(part(v)), copy, nan, posinf, neginf).value for part in (cx.real, cx.imag)]
        return Arr(cx.complex_(*parts))
    if not is_float(v.type.dtype):
        return Arr(v)
    big = float(np.finfo(DTYPES[v.type.dtype]).max)

    def repaired(v: Value) -> Value:
        fill = lambda y: materialise(y, v.type.dtype, v.type.shape)
        zero = full(0.0, v)
        v2 = select(ew.isnan(v), fill(nan), v)
        high = ew.logical_and(ew.isinf(v), ew.gt(v, zero))
        low = ew.logical_and(ew.isinf(v), ew.lt(v, zero))
        return select(low, fill(-big if neginf is None else neginf), select(high, fill(big if posinf is None else posinf), v2))

    return Arr(in_f32(repaired, v))


@numpy("isposinf")
def isposinf(x: Any, out: Any = None) -> Arr:
    """np.isposinf."""
    return apply_ufunc("logical_and", apply_ufunc("isinf", x), apply_ufunc("logical_not", apply_ufunc("signbit", x)))


@numpy("isneginf")
def isneginf(x: Any, out: Any = None) -> Arr:
    """np.isneginf."""
    return apply_ufunc("logical_and", apply_ufunc("isinf", x), apply_ufunc("signbit", x))


# ---- comparison of arrays ------------------------------------------------------------------------------------------


@numpy("isclose")
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Arr:
    """np.isclose: |a - b| <= atol + rtol*|b| for finite b, or equal."""
    x, y = convert(a, dtype_of(a)), convert(b, result_dtype(b, 1.0))
    near = apply_ufunc("less_equal", op("absolute")(sub(x, y)), add(atol, mul(rtol, op("absolute")(y))))
    near = apply_ufunc("logical_and", near, apply_ufunc("isfinite", y))
    out = apply_ufunc("logical_or", near, apply_ufunc("equal", x, y))
    if equal_nan:
        both = apply_ufunc("logical_and", apply_ufunc("isnan", x), apply_ufunc("isnan", y))
        out = apply_ufunc("logical_or", out, both)
    return out


@numpy("allclose")
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Arr:
    """np.allclose: a Python bool."""
    return Arr(all_of(isclose(a, b, rtol, atol, equal_nan)).value, weak=True)


@numpy("array_equal")
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """np.array_equal: a Python bool; false, statically, for different shapes."""
    s, t = shape_of(a1), shape_of(a2)
    if len(s) != len(t) or any(isinstance(m, int) and isinstance(n, int) and m != n for m, n in zip(s, t)):
        return False
    same = apply_ufunc("equal", a1, a2)
    if equal_nan:
        same = apply_ufunc("logical_or", same, apply_ufunc("logical_and", apply_ufunc("isnan", a1), apply_ufunc("isnan", a2)))
    return Arr(all_of(same).value, weak=True)


@numpy("array_equiv")
def array_equiv(a1: Any, a2: Any) -> Any:
    """np.array_equiv: equal after broadcasting."""
    try:
        same = apply_ufunc("equal", a1, a2)
    except ShapeError:
        return False
    return Arr(all_of(same).value, weak=True)


# ---- special shapes of curves ----------------------------------------------------------------------------------------

_SINC = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(7)]  # Taylor: sin(y)/y in y**2


def horner(coefs: Sequence[float], t: Value) -> Value:
    """sum of coefs[k] * t**k."""
    out = full(coefs[-1], t)
    for c in reversed(coefs[:-1]):
        out = ew.add(ew.mul(out, t), full(c, t))
    return out


@numpy("sinc")
def sinc(x: Any) -> Arr:
    """np.sinc: sin(pi x) / (pi x). Near 0 by its Taylor series, so that derivatives of every order are right there."""

    def value(v: Value) -> Value:
        y = ew.mul(full(math.pi, v), v)
        size = complex_ufuncs.lowering("absolute", [y], ew.abs_)(y)
        small = ew.lt(size, full(0.25, size))
        safe = select(small, full(1.0, y), y)
        near = select(small, y, full(0.0, y))
        return select(small, horner(_SINC, ew.mul(near, near)), ew.div(ew.sin(safe), safe))

    return Arr(in_f32(value, lift(x, float_dtype(x)).value))


# Chebyshev series of exp(-x) I0(x) on [0, 8] in x/4 - 1, and of sqrt(x) exp(-x) I0(x) on [8, inf) in 16/x - 1
_I0_LOW = (
    0.33839763720473804, -0.3046826723431984, 0.17162090152220878, -0.094901097048047644, 0.049305284239670708,
    -0.023737414805899469, 0.010546460394594998, -0.0043243099950505759, 0.0016394756169413358, -0.00057637557453858237,
    0.00018850288509584166, -5.7541950100821037e-5, 1.6448448070728897e-5, -4.4167383584587506e-6, 1.1173875391201037e-6,
    -2.6707938539406117e-7, 6.0469950225419189e-8, -1.300025009986248e-8, 2.6598237246823867e-9, -5.1897956016352629e-10,
    9.6758090353732369e-11, -1.7268262914415557e-11, 2.9550526631296398e-12, -4.8564467831119295e-13, 7.6761854986049356e-14,
    -1.1685332877993452e-14, 1.715391285555133e-15, -2.4312798465479547e-16, 3.3307945188222381e-17, -4.4153416464793394e-18,
)  # fmt: skip
_I0_HIGH = (
    0.40224520550705442, 0.0033691164782556941, 6.889758346916824e-5, 2.8913705208347565e-6, 2.0489185894690637e-7,
    2.2666689904981781e-8, 3.3962320257083863e-9, 4.9406023882249696e-10, 1.1889147107846438e-11, -3.1499165279632414e-11,
    -1.3215811840447713e-11, -1.7941785315068061e-12, 7.1801244513836662e-13, 3.8527783827421427e-13, 1.5400862175214098e-14,
    -4.1505693472872221e-14, -9.5548466988283076e-15, 3.8116806693526224e-15, 1.7725601330565264e-15, -3.4254856196772191e-16,
    -2.8276239805165835e-16, 3.4612228676974611e-17, 4.46562142029676e-17, -4.8305044859441821e-18, -7.233180487874754e-18,
)  # fmt: skip


def chebyshev(coefs: Sequence[float], t: Value) -> Value:
    """sum of coefs[k] * T_k(t), by Clenshaw's recurrence."""
    two = ew.add(t, t)
    b1, b2 = full(0.0, t), full(0.0, t)
    for c in reversed(coefs[1:]):
        b1, b2 = ew.add(ew.sub(ew.mul(two, b1), b2), full(c, t)), b1
    return ew.add(ew.sub(ew.mul(t, b1), b2), full(coefs[0], t))


@numpy("i0")
def i0(x: Any) -> Arr:
    """np.i0, the modified Bessel function of order 0, by Chebyshev series on |x| <= 8 and above."""

    def value(v: Value) -> Value:
        a, one, eight = ew.abs_(v), full(1.0, v), full(8.0, v)
        low = ew.le(a, eight)
        inner, outer = select(low, a, eight), select(low, eight, a)
        below = chebyshev(_I0_LOW, ew.sub(ew.mul(inner, full(0.25, v)), one))
        above = ew.div(chebyshev(_I0_HIGH, ew.sub(ew.div(full(16.0, v), outer), one)), ew.sqrt(outer))
        return ew.mul(ew.exp(a), select(low, below, above))

    return Arr(in_f32(value, lift(x, float_dtype(x)).value))


@numpy("unwrap")
def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * math.pi) -> Arr:
    """np.unwrap: jumps larger than half a period are taken out."""
    x = lift(p, result_dtype(p, period))
    k, n = normalize_axis(axis, x.ndim), x.shape[axis]
    if n == 0:
        return x
    half = period / 2
    d = diff(x, axis=k)
    wrapped = sub(op("remainder")(add(d, half), period), half) if is_float(x.name) else _wrapped_int(d, period)
    if is_float(x.name) or not period % 2:
        at_edge = apply_ufunc("logical_and", apply_ufunc("equal", wrapped, -half), apply_ufunc("greater", d, 0))
        wrapped = where(at_edge, half if is_float(x.name) else period // 2, wrapped)
    correction = sub(wrapped, d)
    small = apply_ufunc("less", op("absolute")(d), half if discont is None else discont)
    correction = where(small, 0, correction)
    rest = add(part(x, k, 1, n - 1), cumsum_of(correction, k))
    return join([part(x, k, 0, 1), rest], k)


def _wrapped_int(d: Arr, period: int) -> Any:
    half = period // 2
    return sub(op("remainder")(add(d, half), period), half)


# ---- ufunc-like reductions of pairs ------------------------------------------------------------------------------------


def fold(name: str, xs: Sequence[Any]) -> Any:
    """A binary ufunc over operands, left to right."""
    return reduce(lambda a, b: apply_ufunc(name, a, b), xs)
