"""Arithmetic of traced Python scalars, with Python's meaning where NumPy's differs.

Division by zero raises ZeroDivisionError; int arithmetic that leaves 64 bits raises OverflowError instead of wrapping
(only where intervals do not rule it out); int / int is a float; a real power that would be complex raises ValueError."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from irad.core.ir import Value
from irad.core.once import COMPILER
from irad.core.types import is_complex
from irad.errors import IradOverflowError, IradTypeError, IradZeroDivisionError
from irad.frontend.numpy.complex_ufuncs import absolute
from irad.frontend.numpy.elementwise import COMPARE, truth
from irad.frontend.values.arr import Arr, dtype_of, is_weak, lift, static_int
from irad.ops import elementwise as ew
from irad.ops.complex import imag, real
from irad.ops.constant import scalar
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to, full, select
from irad.ops.intervals import DOUBLES, HIGHEST, LOWEST, bound, interval

NO_FIT = "does not fit 64 bits"
OVERFLOW = f"Python int result {NO_FIT}"
_LARGE = "float {} does not fit a 64-bit integer"
_FRACTION = "int ** negative int is a float in Python: write float(base) ** exponent"
_COMPLEX = "a negative number to a fractional power is complex in Python: write complex(base) ** exponent"
LIMITS = {OVERFLOW, _LARGE, _FRACTION, _COMPLEX}
"""Messages of what Python would go on with: no handler of the program catches these."""


def is_python_scalar(x: Any) -> bool:
    """A traced or static Python int, float or bool (not a NumPy scalar, not an array)."""
    return x.weak if isinstance(x, Arr) else isinstance(x, bool) or is_weak(x)


def _numbers(*xs: Any) -> tuple[str, list[Value]]:
    """Operands as values of their common Python type: bools count as ints."""
    dtype = max((dtype_of(x) for x in xs), key=("bool", "i64", "f64", "c128").index).replace("bool", "i64")
    return dtype, [_number(x, dtype) for x in xs]


def _number(x: Any, dtype: str) -> Value:
    """A Python number as a value; a whole constant may have more than 64 bits where a float is needed."""
    if isinstance(x, int) and dtype != "i64":
        return scalar(float(x) if dtype == "f64" else complex(x), dtype)
    if isinstance(x, int) and not LOWEST <= x <= HIGHEST:
        raise IradOverflowError(
            f"next to an int that is not known (write a float where it need not be exact) the int {x} {NO_FIT}"
        )
    return cast_to(lift(x).value, dtype)


def _check_overflow(result: Value, exact: tuple[float, float], overflowed: Callable[[], Value]) -> Value:
    """Raise OverflowError at run time unless the exact result's interval lies within i64."""
    if exact[0] < LOWEST or exact[1] > HIGHEST:
        raise_if(overflowed(), exc="OverflowError", message=OVERFLOW)
        bound(result, max(exact[0], LOWEST), min(exact[1], HIGHEST))
    return result


def _negative(x: Value) -> Value:
    return x < 0


def _beyond(x: Value, low: int, high: int) -> Value:
    """Is x, at run time, out of where a result fits?"""
    a, b = interval(x)
    return x > high if a >= low else x < low if b <= high else (x < low) | (x > high)


def _add(x: Value, y: Value) -> Value:
    r = x + y
    if x.type.dtype != "i64":
        return r
    (a, b), (c, d) = interval(x), interval(y)

    def wrapped() -> Value:
        for k, z in ((_constant(x), y), (_constant(y), x)):
            if k is not None:
                return _beyond(z, LOWEST - int(k), HIGHEST - int(k))
        return _negative((x ^ r) & (y ^ r))

    return _check_overflow(r, (a + c, b + d), wrapped)


def _sub(x: Value, y: Value) -> Value:
    r = x - y
    if x.type.dtype != "i64":
        return r
    (a, b), (c, d) = interval(x), interval(y)

    def wrapped() -> Value:
        k, l = _constant(x), _constant(y)
        if l is not None:
            return _beyond(x, LOWEST + int(l), HIGHEST + int(l))
        return _negative((x ^ y) & (x ^ r)) if k is None else _beyond(y, int(k) - HIGHEST, int(k) - LOWEST)

    return _check_overflow(r, (a - d, b - c), wrapped)


def _mul(x: Value, y: Value) -> Value:
    """Of two numbers that are not known the float product decides: far from 2**63 it is certain, near it a wrapped result has the wrong sign."""
    r = x * y
    if x.type.dtype != "i64":
        return r
    corners = [a * b for a in interval(x) for b in interval(y)]

    def wrapped() -> Value:
        for k, z in ((_constant(x), y), (_constant(y), x)):
            if k is not None:
                low, high = sorted((LOWEST, HIGHEST), reverse=k < 0)
                return _beyond(z, -(-low // int(k)), high // int(k))
        p = cast_to(x, "f64") * cast_to(y, "f64")
        size = abs(p)
        sign_differs = _negative(p) ^ _negative(r)
        near = (size >= 2.0**62) & sign_differs
        return (size >= 1.5 * 2.0**63) | near

    return _check_overflow(r, (min(corners), max(corners)), wrapped)


def _neg(x: Value) -> Value:
    return -x if x.type.dtype != "i64" else _sub(full(0, x), x)


def _text_of_zero(f: Callable[[Any, Any], Any], one: Any) -> str:
    """What the running Python says where f divides by zero: the texts differ between versions."""
    try:
        f(one, one - one)
    except ZeroDivisionError as e:
        return str(e)
    raise AssertionError("a division by zero that raises nothing")


_ZERO = {
    (f, dtype): _text_of_zero(getattr(operator, f, divmod), one)
    for f in ("truediv", "floordiv", "mod", "divmod")
    for dtype, one in (("i64", 1), ("f64", 1.0), ("c128", 1j))
    if dtype != "c128" or f == "truediv"
}


def _nonzero(y: Value, message: str) -> None:
    """Raise ZeroDivisionError where y is zero, unless it cannot be."""
    lo, hi = interval(y)
    if lo == hi == 0:
        raise IradZeroDivisionError(message)
    if lo <= 0 <= hi:
        raise_if(ew.eq(y, 0), exc="ZeroDivisionError", message=message)
        if lo == 0 and y.type.dtype == "i64":
            bound(y, 1, hi)


def _truediv(x: Value, y: Value) -> Value:
    dtype = "f64" if x.type.dtype == "i64" else x.type.dtype
    _nonzero(y, _ZERO["truediv", x.type.dtype])
    return cast_to(x, dtype) / cast_to(y, dtype)


def _floordiv(x: Value, y: Value, name: str = "floordiv") -> Value:
    _nonzero(y, _ZERO[name, x.type.dtype])
    r = x // y
    if x.type.dtype == "i64" and interval(x)[0] == LOWEST and interval(y)[0] <= -1 <= interval(y)[1]:
        bad = ew.eq(x, LOWEST) & ew.eq(y, -1)
        raise_if(bad, exc="OverflowError", message=OVERFLOW)
    return r


def _mod(x: Value, y: Value) -> Value:
    _nonzero(y, _ZERO["mod", x.type.dtype])
    return x % y


def _pow(x: Value, y: Value) -> Value:
    if x.type.dtype == "c128":
        bad = (real(y) < 0) | ew.ne(imag(y), 0)
        words = "0.0 to a negative or complex power"
        raise_if(ew.eq(x, 0) & bad, exc="ZeroDivisionError", message=words)
        return ew.pow_(x, y)
    return _int_pow(x, y) if x.type.dtype == "i64" else _float_pow(x, y)


def _int_pow(x: Value, y: Value) -> Value:
    """int ** int: a negative exponent would give a float, which the program's types cannot follow at run time."""
    lo, hi = interval(y)
    if hi < 0:
        return _float_pow(cast_to(x, "f64"), cast_to(y, "f64"))
    if lo < 0:
        raise_if(_negative(y), exc="ValueError", message=_FRACTION)
        bound(y, 0, hi)
    if lo == hi == 2:
        return _mul(x, x)
    r = ew.pow_(x, y)
    a, b = interval(x)
    top = max(abs(a), abs(b))
    exact = (-_INF, _INF) if top > 1 and (hi > 64 or top**hi > HIGHEST) else (LOWEST, HIGHEST)

    def wrapped() -> Value:
        """Has the power wrapped? The power of floats tells: a wrapped result is off by a multiple of 2**64, far more than rounding."""
        p = ew.pow_(cast_to(x, "f64"), cast_to(y, "f64"))
        too_large = abs(p) >= 1.5 * 2.0**63
        off = abs(p - cast_to(r, "f64")) > abs(p) * 1e-6
        return too_large | off

    return _check_overflow(r, exact, wrapped)


_INF = float("inf")


def _float_pow(x: Value, y: Value) -> Value:
    """float ** float: 0.0 ** negative raises; a negative base with a fractional exponent, complex in Python, raises."""
    k = _constant(y)
    if k in (0, 1):
        return full(1.0, x) if k == 0 else x
    if k == 2:
        return _finite_power(x * x, x, y)
    if k is None or k < 0:
        words = "0.0 cannot be raised to a negative power"
        negative = (y < 0) & ew.isfinite(y)  # to the power of -inf it is inf
        raise_if(ew.eq(x, 0) & negative, exc="ZeroDivisionError", message=words)
    if k is None or k != int(k):
        finite = ew.isfinite(x) & ew.ne(y, ew.trunc(y))
        raise_if((x < 0) & finite, exc="ValueError", message=_COMPLEX)
    return _finite_power(ew.pow_(x, y), x, y)


def _finite_power(r: Value, x: Value, y: Value) -> Value:
    """Python's float power raises where its result is too large."""
    large = ew.isinf(r) & (ew.isfinite(x) & ew.isfinite(y))
    raise_if(large, exc="OverflowError", message="(34, 'Numerical result out of range')")
    return r


def _constant(v: Value) -> float | None:
    from_interval = interval(v)
    return from_interval[0] if from_interval[0] == from_interval[1] else None


def _abs(x: Value) -> Value:
    if x.type.dtype == "c128":
        return absolute(x)
    if x.type.dtype == "f64" or interval(x)[0] >= 0:
        return abs(x) if x.type.dtype == "f64" else x
    return select(_negative(x), _neg(x), x)


def _shift(op: Callable[..., Value]) -> Callable[[Value, Value], Value]:
    def shift(x: Value, y: Value) -> Value:
        if interval(y)[0] < 0:
            raise_if(_negative(y), exc="ValueError", message="negative shift count")
        r = op(x, y)
        if op is ew.left_shift:
            (a, b), most = interval(x), interval(y)[1]
            exact = (a * 2**most, b * 2**most) if most < 64 and a >= 0 else (-_INF, _INF)
            _check_overflow(r, exact, lambda: ew.ne(r >> y, x))
        return r

    return shift


_ARITHMETIC: dict[str, Callable[..., Value]] = {
    "add": _add, "sub": _sub, "mul": _mul, "truediv": _truediv, "floordiv": _floordiv, "mod": _mod, "pow": _pow,
    "neg": _neg, "pos": lambda x: x, "abs": _abs,
}  # fmt: skip
_BITS: dict[str, Callable[..., Value]] = {
    "and_": ew.bitwise_and, "or_": ew.bitwise_or, "xor": ew.bitwise_xor, "invert": ew.invert,
    "lshift": _shift(ew.left_shift), "rshift": _shift(ew.right_shift),
}  # fmt: skip
_NOT_COMPLEX = {"lt", "le", "gt", "ge", "floordiv", "mod"}
_LOGIC = {"and_": ew.logical_and, "or_": ew.logical_or, "xor": ew.logical_xor}
_COMPARISONS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"
}  # fmt: skip


def python_operator(name: str, *xs: Any) -> Arr:
    """An operator on Python scalars, at least one of them traced: a weak Arr."""
    if name in _LOGIC and all(dtype_of(x) == "bool" for x in xs):
        return Arr(_LOGIC[name](*(lift(x).value for x in xs)), weak=True)
    if name in _COMPARISONS and any(map(_beyond_doubles, xs)):
        with COMPILER:
            from irad.frontend.python.compare import compared_exactly  # few programs need it
        exact = compared_exactly(name, *xs)
        if exact is not None:
            return Arr(exact, weak=True)
    dtype, values = _numbers(*xs)
    if dtype == "c128" and (name in _BITS or name in _NOT_COMPLEX):
        raise IradTypeError(f"{name.rstrip('_')} is not defined for complex numbers")
    if name in _COMPARISONS:
        return Arr(COMPARE[_COMPARISONS[name]](*values), weak=True)
    if name in _BITS:
        if dtype != "i64":
            raise IradTypeError(f"unsupported operand type for {name.rstrip('_')}: 'float'")
        return Arr(_BITS[name](*values), weak=True)
    return Arr(_ARITHMETIC[name](*values), weak=True)


def _beyond_doubles(x: Any) -> bool:
    """An int that may not be a double?"""
    if isinstance(x, Arr):
        lo, hi = interval(x.value) if x.name == "i64" else (0, 0)
        return lo < -DOUBLES or hi > DOUBLES
    return isinstance(x, int) and abs(x) > DOUBLES


def python_divmod(x: Any, y: Any) -> tuple[Arr, Arr]:
    """divmod of Python scalars."""
    dtype, (v, w) = _numbers(x, y)
    if dtype == "c128":
        raise IradTypeError("can't take floor or mod of complex number.")
    return Arr(_floordiv(v, w, "divmod"), weak=True), Arr(v % w, weak=True)


def _real_only(x: Arr, kind: str) -> Value:
    if is_complex(x.name):
        raise IradTypeError(f"{kind}() of a complex number; write {kind}(z.real)")
    return x.value


def python_int(x: Arr) -> Arr:
    """int(x): truncation; NaN raises ValueError, and what leaves 64 bits OverflowError, unless it cannot happen."""
    v = _real_only(x, "int")
    if v.type.dtype == "f64" or v.type.dtype[0] == "f":
        v = cast_to(v, "f64")
        lo, hi = interval(v)
        if lo < -(2.0**62) or hi > 2.0**62:
            raise_if(ew.isnan(v), exc="ValueError", message="cannot convert float NaN to integer")
            raise_if(ew.isinf(v), exc="OverflowError", message="cannot convert float infinity to integer")
            out = (v >= 2.0**63) | (v < -(2.0**63))
            raise_if(out, v, exc="OverflowError", message=_LARGE)
    elif v.type.dtype == "u64" and interval(v)[1] > HIGHEST:
        raise_if(v > HIGHEST, exc="OverflowError", message=OVERFLOW)
    return Arr(cast_to(v, "i64"), weak=True)


def python_float(x: Arr) -> Arr:
    """float(x)."""
    return Arr(cast_to(_real_only(x, "float"), "f64"), weak=True)


def python_bool(x: Arr) -> Arr:
    """bool(x)."""
    return Arr(truth(x.value), weak=True)


def python_round(x: Arr, ndigits: Any = None) -> Arr | None:
    """round(x), round(x, n): half to even, to an int without n; None if this case is NumPy's business (its numbers and digits)."""
    if ndigits is None:
        if x.name in ("i64", "bool") and x.weak:
            return Arr(cast_to(x.value, "i64"), weak=True)
        return python_int(Arr(ew.rint(cast_to(x.value, "f64")), weak=True))
    if not x.weak:
        return None
    with COMPILER:
        from irad.frontend.python.round import round_float, round_int  # few programs need it
    n = static_int(ndigits, "the number of digits of round()")
    if is_complex(x.name):
        raise IradTypeError("type complex doesn't define __round__ method")
    if x.name == "f64":
        return Arr(round_float(x.value, n), weak=True)
    v = cast_to(x.value, "i64")
    if n >= 0:
        return Arr(v, weak=True)
    counted = round_int(v, n)
    return Arr(scalar(0, "i64") if counted is None else _mul(counted[0], scalar(counted[1], "i64")), weak=True)
