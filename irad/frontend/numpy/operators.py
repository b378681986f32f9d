"""Python's operators: Python's own arithmetic if every operand is a Python scalar, else NumPy's ufuncs."""

from __future__ import annotations

import operator as operator_functions
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.errors import IradTypeError, IradValueError, PythonTypeError, PythonValueError
from irad.frontend.numpy.elementwise import apply_ufunc
from irad.frontend.numpy.python_scalars import (
    is_python_scalar,
    python_bool,
    python_divmod,
    python_float,
    python_int,
    python_operator,
    python_round,
)
from irad.frontend.registry import OPERATORS, operator
from irad.frontend.values.arr import Arr, dtype_of, lift
from irad.frontend.values.objects import class_of_number
from irad.ops.array import reshape_to

UFUNC_OF = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "power", "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift",
    "rshift": "right_shift", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
    "ne": "not_equal", "neg": "negative", "pos": "positive", "invert": "invert", "abs": "absolute",
}  # fmt: skip


def _operator(name: str) -> Callable[..., Arr]:
    def call(*xs: Any) -> Arr:
        if all(map(is_python_scalar, xs)):
            return _by_path(name, xs, python_operator(name, *xs))
        if name == "pow":
            return power(*xs)
        return apply_ufunc(UFUNC_OF[name], *xs)

    call.__name__ = name
    return call


_OF_CLASS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "pos", "abs")


def _by_path(name: str, xs: Sequence[Any], out: Arr) -> Arr:
    """What an operator gives, with its class on each path where an operand is an int on one and a float on the other."""
    sides = [x.by for x in xs if isinstance(x, Arr) and x.by is not None]
    if not sides or name not in _OF_CLASS or out.name != "f64" or any(s[0] is not sides[0][0] for s in sides):
        return out
    if name == "pow" and not (type(xs[1]) is int and xs[1] >= 0):
        return out
    kinds: list[tuple[str, bool]] = []
    for k in (0, 1):
        each: list[tuple[str, bool]] = [
            x.by[1:][k] if isinstance(x, Arr) and x.by is not None else (dtype_of(x), True) for x in xs
        ]
        if not all(weak for _, weak in each):
            return out
        kinds.append(("f64" if name == "truediv" or any(dtype == "f64" for dtype, _ in each) else "i64", True))
    return out if kinds[0] == kinds[1] else Arr(out.value, out.weak, out.mixed, (sides[0][0], kinds[0], kinds[1]))


OPERATORS.update((name, _operator(name)) for name in UFUNC_OF)

_FAST_POWERS: dict[float, Callable[[Any], Arr]] = {
    -1.0: lambda x: apply_ufunc("reciprocal", x),
    0.5: lambda x: apply_ufunc("sqrt", x),
    1.0: lambda x: apply_ufunc("positive", x),
    2.0: lambda x: apply_ufunc("square", x),
}


_BOOLS_SQUARED = (np.zeros(1, bool) ** 2).dtype  # int8 where NumPy squares them, int64 where it takes the power


def power(x: Any, y: Any) -> Arr:
    """x ** y of arrays; like NumPy, a few static exponents of float arrays go to faster ufuncs with the same value."""
    static = isinstance(y, (int, float)) and not isinstance(y, (bool, np.generic))
    if (
        isinstance(x, Arr)
        and x.name == "bool"
        and x.ndim
        and static
        and isinstance(y, int)
        and y == 2
        and _BOOLS_SQUARED == np.int8
    ):
        return apply_ufunc("square", x)
    inexact = isinstance(x, Arr) and x.type.differentiable
    if static and isinstance(x, Arr) and (inexact or y == 2) and (x.ndim or y in (1, 2)) and y in _FAST_POWERS:
        if x.name != "bool" and (inexact or isinstance(y, int)):
            return _FAST_POWERS[y](x)
    return apply_ufunc("power", x, y)


@operator("divmod")
def divmod_(x: Any, y: Any) -> tuple[Arr, Arr]:
    """divmod(x, y)."""
    return python_divmod(x, y) if is_python_scalar(x) and is_python_scalar(y) else apply_ufunc("divmod", x, y)


@operator("round")
def round_(x: Arr, ndigits: Any = None) -> Arr:
    """round(x[, n]): a Python scalar gives an int without n; NumPy values keep their dtype, except that round(x) is an int."""
    if x.ndim:
        raise IradTypeError(f"round() of an array of shape {x.shape}: write np.round(x)")
    done = python_round(x, ndigits)
    if done is not None:
        return done
    out = around(x, ndigits)
    return Arr(out.value, weak=x.weak)


def around(x: Any, decimals: Any = 0) -> Arr:
    """np.round: x * 10**d, rint, / 10**d, as NumPy computes it; integers with d >= 0 as they are."""
    d = decimals.__index__() if not isinstance(decimals, Arr) else None
    if d is None:
        raise IradTypeError("the number of decimals must be known at compile time")
    a = lift(x)
    dtype = dtype_of(x)
    if dtype[0] not in "fc":
        if d >= 0:
            return apply_ufunc("rint", a) if dtype == "bool" else Arr(a.value)
        scale = 10**-d
        half = apply_ufunc("rint", apply_ufunc("divide", a, scale))
        return Arr(lift(apply_ufunc("multiply", half, scale), dtype).value)
    if d == 0:
        return apply_ufunc("rint", a)
    if abs(d) > 300:
        raise IradValueError(f"round to {d} decimals: 10**{abs(d)} is not a float")
    first, last = ("multiply", "divide") if d > 0 else ("divide", "multiply")
    scale_f = 10.0 ** abs(d)
    return apply_ufunc(last, apply_ufunc("rint", apply_ufunc(first, a, scale_f)), scale_f)


def _scalar_only(x: Arr, name: str) -> None:
    if x.ndim and any(d != 1 for d in x.shape):
        raise PythonTypeError(f"only arrays of one element can be converted to a Python {name}, this one has shape {x.shape}")


@operator("int")
def int_(x: Arr) -> Arr:
    """int(x)."""
    _scalar_only(x, "int")
    return python_int(_squeezed(x))


@operator("float")
def float_(x: Arr) -> Arr:
    """float(x)."""
    _scalar_only(x, "float")
    return python_float(_squeezed(x))


@operator("bool")
def bool_(x: Arr) -> Arr:
    """bool(x). Raises IradValueError, with NumPy's words, for an array of several elements."""
    if x.ndim and any(d != 1 for d in x.shape):
        raise PythonValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
    return python_bool(_squeezed(x))


def _squeezed(x: Arr) -> Arr:
    return Arr(reshape_to(x.value, ()), x.weak)


_OF_COMPLEX = ("add", "sub", "mul", "truediv", "pow", "eq", "ne")


def beside_complex(name: str, *xs: Any) -> tuple[Any, ...]:
    """The operands of an operator, where a number of NumPy's is one of Python's to it: Python's complex comes first where it stands left,
    and takes np.float64 for the float that it is, too."""
    if len(xs) == 2 and name in _OF_COMPLEX and class_of_number(xs[0]) is complex and class_of_number(xs[1]) is np.float64:
        if not (isinstance(xs[0], Arr) and xs[0].mixed):
            return xs[0], Arr(xs[1].value, True) if isinstance(xs[1], Arr) else float(xs[1])
    return xs


IN_PLACE = {
    "add": "iadd", "sub": "isub", "mul": "imul", "truediv": "itruediv", "floordiv": "ifloordiv", "mod": "imod", "pow": "ipow",
    "matmul": "imatmul", "and_": "iand", "or_": "ior", "xor": "ixor", "lshift": "ilshift", "rshift": "irshift",
}  # fmt: skip


def in_place(name: str) -> Callable[..., Any]:
    """The function of the module `operator` that is an operator in place."""
    return getattr(operator_functions, IN_PLACE[name])  # type: ignore[no-any-return]
