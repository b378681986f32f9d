"""NumPy's elementwise functions that are not ufuncs: clip, where, round, nan_to_num, isclose, select, sinc, i0..."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import DTYPES, is_complex, is_float, is_int
from irad.errors import IradTypeError, IradValueError, ShapeError
from irad.frontend.numpy import complex_ufuncs
from irad.frontend.numpy.elementwise import apply_ufunc, convert, truth
from irad.frontend.numpy.operators import around
from irad.frontend.numpy.reduce import all_of
from irad.frontend.registry import numpy
from irad.frontend.values.arr import (
    Arr,
    broadcast_shapes,
    dtype_of,
    float_dtype,
    in_f32,
    is_traced,
    is_weak,
    lift,
    materialise,
    result_dtype,
    shape_of,
)
from irad.frontend.values.index import mask_indices
from irad.ops import complex as cx
from irad.ops import elementwise as ew
from irad.ops.bessel import bessel_i0
from irad.ops.elementwise import full, select
from irad.ops.intervals import int_range
from irad.ops.slopes import horner


def op(name: str) -> Callable[..., Any]:
    """A ufunc on operands: NumPy's own if all are static, else the graph's."""
    return lambda *xs: apply_ufunc(name, *xs) if is_traced(xs) else getattr(np, name)(*xs)


add, sub, mul, div = op("add"), op("subtract"), op("multiply"), op("divide")

# ---- choice ------------------------------------------------------------------------------------------------------


@numpy("clip", method="clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **_: Any) -> Arr:
    """np.clip: minimum(maximum(a, low), high). Where a equals a bound the slope is half, as for maximum and minimum."""
    low, high = a_min if min is None else min, a_max if max is None else max
    low, high = _within(a, low, high)
    name = result_dtype(a, *(b for b in (low, high) if b is not None))
    v = lift(a, name)
    same = low is not None and high is not None and all(n == 1 for x in (low, high) for n in shape_of(x))
    v = v if low is None else _bounded("maximum", v, low, name, same)
    return Arr((v if high is None else _bounded("minimum", v, high, name, same)).value)


@cache
def _takes_any_bound() -> bool:
    """Does NumPy (from 2.1 on) take Python ints that the dtype cannot hold?"""
    try:
        return np.clip(np.zeros(1, np.uint8), 0, 300).dtype == np.uint8
    except OverflowError:
        return False


def _within(a: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The bounds of np.clip without those Python ints that no number of an integer dtype is beyond."""
    if is_int(dtype_of(a)) and not is_weak(a) and _takes_any_bound():
        least, most = int_range(dtype_of(a))
        low = None if type(low) is int and low <= least else low
        high = None if type(high) is int and high >= most else high
    return low, high


def _bounded(ufunc: str, x: Arr, limit: Any, dtype: str, same: bool) -> Arr:
    """Where x is equal to the limit, its sign of zero is the limit's, but x's if the limits are the `same` for all elements."""
    shape = broadcast_shapes(x.shape, shape_of(limit))
    values = [materialise(v, dtype, shape) for v in ((limit, x) if same else (x, limit))]
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
    return around(a, decimals)


@numpy("fix")
def fix(x: Any, out: Any = None) -> Arr:
    """np.fix: towards zero."""
    return apply_ufunc("trunc", x)


@numpy("nan_to_num")
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Arr:
    v = lift(x).value
    if is_complex(v.type.dtype):
        parts = [nan_to_num(Arr(part(v)), copy, nan, posinf, neginf).value for part in (cx.real, cx.imag)]
        return Arr(cx.complex_(*parts))
    if not is_float(v.type.dtype):
        return Arr(v)
    big = float(np.finfo(DTYPES[v.type.dtype]).max)

    def repaired(v: Value) -> Value:
        fill = lambda y: materialise(y, v.type.dtype, v.type.shape)
        v2 = select(ew.isnan(v), fill(nan), v)
        high = ew.isinf(v) & (v > 0)
        low = ew.isinf(v) & (v < 0)
        return select(low, fill(-big if neginf is None else neginf), select(high, fill(big if posinf is None else posinf), v2))

    return Arr(in_f32(repaired, v))


@numpy("isposinf")
def isposinf(x: Any, out: Any = None) -> Arr:
    return apply_ufunc("logical_and", apply_ufunc("isinf", x), apply_ufunc("logical_not", apply_ufunc("signbit", x)))


@numpy("isneginf")
def isneginf(x: Any, out: Any = None) -> Arr:
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


@numpy("sinc")
def sinc(x: Any) -> Arr:
    """np.sinc: sin(pi x) / (pi x). Near 0 by its Taylor series, so that derivatives of every order are right there."""

    def value(v: Value) -> Value:
        y = math.pi * v
        size = complex_ufuncs.lowering("absolute", [y], ew.abs_)(y)
        small = size < 0.25
        safe = select(small, 1, y)
        near = select(small, y, 0)
        return select(small, horner(_SINC, near * near), ew.sin(safe) / safe)

    return Arr(in_f32(value, lift(x, float_dtype(x)).value))


@numpy("i0")
def i0(x: Any) -> Arr:
    """np.i0, the modified Bessel function of order 0."""
    return Arr(in_f32(bessel_i0, lift(x, float_dtype(x)).value))


# ---- ufunc-like reductions of pairs ------------------------------------------------------------------------------------


def fold(name: str, xs: Sequence[Any]) -> Any:
    """A binary ufunc over operands, left to right."""
    return reduce(lambda a, b: apply_ufunc(name, a, b), xs)
