"""Python's functions of numbers (int, abs, round, the modules operator and math) on traced numbers; the table of builtins."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.arr import Arr, static_value
from irad.frontend.eval_expr import python_method
from irad.frontend.objects import Text, is_traced_deep
from irad.frontend.reader import Reader
from irad.frontend.table import OPERATORS
from irad.ops.control import raise_if

Builtin = Callable[..., Any]
BUILTINS: dict[Any, Builtin] = {}


def builtin(*fns: Any) -> Callable[[Builtin], Builtin]:
    """Register the decorated function for Python functions: it gets the reader, then their arguments."""

    def register(f: Builtin) -> Builtin:
        BUILTINS.update((fn, f) for fn in fns)
        return f

    return register


def _converted(name: str, native: Any) -> Builtin:
    def convert(r: Reader, x: Any = 0, *rest: Any) -> Any:
        content = r.operand(x)
        if isinstance(content, Arr):
            return OPERATORS[name](content)
        if isinstance(content, Text):
            raise UnsupportedError(f"{name}() of a string that depends on data")
        method = python_method(content, f"__{name}__")
        return r.call(method, [content]) if method is not None else native(content, *rest)

    return convert


BUILTINS[int] = _converted("int", int)
BUILTINS[float] = _converted("float", float)


@builtin(bool)
def bool_(r: Reader, x: Any = False) -> Any:
    return r.truth(x)


@builtin(abs, operator.abs)
def abs_(r: Reader, x: Any) -> Any:
    return r.operator("abs", x)


@builtin(round)
def round_(r: Reader, x: Any, ndigits: Any = None) -> Any:
    content = r.operand(x)
    if isinstance(content, Arr):
        return r.wrap(OPERATORS["round"](content, ndigits))
    method = python_method(content, "__round__")
    return r.call(method, [content, ndigits]) if method is not None else r.wrap(round(content, ndigits))


@builtin(divmod)
def divmod_(r: Reader, x: Any, y: Any) -> Any:
    if not is_traced_deep([x, y]):
        return r.wrap(divmod(r.operand(x), r.operand(y)))
    return r.wrap(OPERATORS["divmod"](r.operand(x), r.operand(y)))


@builtin(pow)
def pow_(r: Reader, x: Any, y: Any, mod: Any = None) -> Any:
    if mod is None:
        return r.operator("pow", x, y)
    static_value([x, y, mod], "an argument of pow(x, y, mod)")
    return pow(x, y, mod)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "pos", "lt", "le", "gt", "ge", "eq", "ne", "and_", "or_", "xor", "matmul", "lshift", "rshift", "invert"):  # fmt: skip
    BUILTINS[getattr(operator, _name)] = lambda r, *xs, _n=_name: r.operator(_n, *xs)
BUILTINS[operator.getitem] = lambda r, x, k: r.getitem(x, k)


# ---- math: Python's own functions, on Python floats --------------------------------------------------------------------------------------


def _math(native: Any, ufunc: Any, low: float | None = None, strict: bool = False) -> Builtin:
    """A function of the module math: NumPy's, as a Python float, with math's errors outside its domain."""

    def apply(r: Reader, *xs: Any) -> Any:
        if not is_traced_deep(xs):
            return native(*(r.operand(x) for x in xs))
        floats = [BUILTINS[float](r, x) for x in xs]
        if low is not None and isinstance(floats[0], Arr):
            bad = r.operator("le" if strict else "lt", floats[0], low)
            raise_if(bad.value, exc="ValueError", message="math domain error")
        out = r.call(ufunc, floats)
        return Arr(out.value, True)

    return apply


_MATH = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "exp": np.exp,
    "expm1": np.expm1, "hypot": np.hypot, "fabs": np.fabs, "copysign": np.copysign, "exp2": np.exp2, "cbrt": np.cbrt,
    "degrees": np.degrees, "radians": np.radians, "fmod": np.fmod,
}  # fmt: skip
for _name, _ufunc in _MATH.items():
    if hasattr(math, _name):
        BUILTINS[getattr(math, _name)] = _math(getattr(math, _name), _ufunc)
BUILTINS[math.sqrt] = _math(math.sqrt, np.sqrt, 0.0)
for _name, _ufunc in {"log": np.log, "log2": np.log2, "log10": np.log10}.items():
    BUILTINS[getattr(math, _name)] = _math(getattr(math, _name), _ufunc, 0.0, strict=True)
BUILTINS[math.log1p] = _math(math.log1p, np.log1p, -1.0, strict=True)


@builtin(math.pow)
def math_pow(r: Reader, x: Any, y: Any) -> Any:
    return r.operator("pow", BUILTINS[float](r, x), BUILTINS[float](r, y))


def _math_test(native: Any, ufunc: Any) -> Builtin:
    def test(r: Reader, x: Any) -> Any:
        if not is_traced_deep(x):
            return native(r.operand(x))
        return Arr(r.call(ufunc, [BUILTINS[float](r, x)]).value, True)

    return test


for _name in ("isnan", "isinf", "isfinite"):
    BUILTINS[getattr(math, _name)] = _math_test(getattr(math, _name), getattr(np, _name))


def _math_round(native: Any, ufunc: Any) -> Builtin:
    def apply(r: Reader, x: Any) -> Any:
        if not is_traced_deep(x):
            return native(r.operand(x))
        return BUILTINS[int](r, r.call(ufunc, [BUILTINS[float](r, x)]))

    return apply


for _name in ("floor", "ceil", "trunc"):
    BUILTINS[getattr(math, _name)] = _math_round(getattr(math, _name), getattr(np, _name))
