"""Python's complex numbers: complex(x, y) and the module cmath, on traced numbers."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import is_complex
from irad.errors import IradTypeError, PythonTypeError
from irad.frontend.numpy.table import TABLE
from irad.frontend.python.numbers import BUILTINS, Builtin, builtin
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, dtype_of, lift
from irad.frontend.values.objects import Text, is_traced_deep
from irad.ops import elementwise as ew
from irad.ops.array import reshape_to
from irad.ops.complex import complex_, imag, real
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to


def _number(r: Reader, x: Any) -> Value:
    """A number as a c128 scalar."""
    content = r.operand(x)
    if isinstance(content, Text):
        raise IradTypeError("complex() of a string that depends on data")
    v = lift(content).value
    if any(d != 1 for d in v.type.shape):
        raise PythonTypeError("only arrays of one element can be converted to a Python complex")
    return cast_to(reshape_to(v, ()), "c128")


@builtin(complex)
def complex_of(r: Reader, x: Any = 0, y: Any = None, **parts: Any) -> Any:
    """complex(x), complex(x, y): x + y*1j, where y may be complex too."""
    x, y = parts.get("real", x), parts.get("imag", y)
    if not is_traced_deep([r.operand(x), r.operand(y)]):
        return complex(r.operand(x)) if y is None else complex(r.operand(x), r.operand(y))
    z = _number(r, x)
    if y is None:
        return Arr(z, True)
    w = _number(r, y)
    if is_complex(dtype_of(r.operand(y))):
        return Arr(complex_(real(z) - imag(w), imag(z) + real(w)), True)
    return Arr(complex_(real(z), imag(z) + real(w) if is_complex(dtype_of(r.operand(x))) else real(w)), True)


def _cmath(native: Callable[..., Any], ufunc: np.ufunc, zero_is_error: bool = False) -> Builtin:
    """A function of the module cmath: NumPy's, of a Python complex."""

    def apply(r: Reader, x: Any) -> Any:
        if not is_traced_deep(r.operand(x)):
            return native(r.operand(x))
        z = _number(r, x)
        if zero_is_error:
            raise_if(ew.eq(z, 0), exc="ValueError", message="math domain error")
        return Arr(TABLE[ufunc](Arr(z)).value, True)

    return apply


for _name in ("exp", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "isnan", "isinf", "isfinite"):
    BUILTINS[getattr(cmath, _name)] = _cmath(getattr(cmath, _name), getattr(np, _name))
for _name in ("asin", "acos", "atan", "asinh", "acosh", "atanh"):
    BUILTINS[getattr(cmath, _name)] = _cmath(getattr(cmath, _name), getattr(np, f"arc{_name[1:]}"))
BUILTINS[cmath.log10] = _cmath(cmath.log10, np.log10, True)
BUILTINS[cmath.phase] = _cmath(cmath.phase, np.angle)  # type: ignore[arg-type]


@builtin(cmath.log)
def log(r: Reader, x: Any, base: Any = None) -> Any:
    """cmath.log(x), cmath.log(x, base)."""
    out = _cmath(cmath.log, np.log, True)(r, x)
    return out if base is None else r.operator("truediv", out, _cmath(cmath.log, np.log, True)(r, base))


@builtin(cmath.polar)
def polar(r: Reader, x: Any) -> Any:
    """(modulus, angle)."""
    return r.operator("abs", r.call(complex, [x])), BUILTINS[cmath.phase](r, x)


@builtin(cmath.rect)
def rect(r: Reader, modulus: Any, phase: Any) -> Any:
    """modulus * exp(i phase)."""
    if not is_traced_deep([r.operand(modulus), r.operand(phase)]):
        return cmath.rect(r.operand(modulus), r.operand(phase))
    size, turn = (real(_number(r, x)) for x in (modulus, phase))
    return Arr(complex_(size * ew.cos(turn), size * ew.sin(turn)), True)
