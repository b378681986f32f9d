"""NumPy's functions of complex numbers: parts, conjugates, angles, tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from irad.core.types import DTYPES, Dim, Type, is_complex
from irad.frontend.numpy.elementwise import apply_ufunc
from irad.frontend.numpy.reduce import any_of
from irad.frontend.registry import attribute, method, numpy
from irad.frontend.values.arr import Arr, dtype_of, lift, materialise, shape_of
from irad.ops import complex as cx
from irad.ops.constant import const
from irad.ops.control import raise_if

_APART = "np.real_if_close of numbers whose imaginary parts are not close to 0, which NumPy leaves complex; write .real"


@numpy("real", view=True)
@attribute("real", view=True)
def real(val: Any) -> Arr:
    """The real part: of real numbers the array itself."""
    x = lift(val)
    return Arr(cx.real(x.value) if is_complex(x.name) else x.value, x.weak)


@numpy("imag", view=True)
@attribute("imag", view=True)
def imag(val: Any) -> Arr:
    """The imaginary part: of real numbers zero."""
    x = lift(val)
    return Arr(cx.imag(x.value) if is_complex(x.name) else materialise(0, x.name, x.shape), x.weak)


@method("conj", "conjugate")
def conj(a: Any) -> Arr:
    """x.conj(): of real numbers the array itself."""
    x = lift(a)
    return Arr(cx.conj(x.value) if is_complex(x.name) else x.value, x.weak)


@numpy("angle")
def angle(z: Any, deg: bool = False) -> Arr:
    """np.angle: the argument, from -pi to pi; of real numbers 0, or pi where negative."""
    a = apply_ufunc("arctan2", imag(z) if is_complex(dtype_of(z)) else 0, real(z))
    return apply_ufunc("multiply", a, 180 / math.pi) if deg else a


@numpy("isreal")
def isreal(x: Any) -> Any:
    """np.isreal: where the imaginary part is zero."""
    if not is_complex(dtype_of(x)):
        return _everywhere(True, shape_of(x))
    return apply_ufunc("equal", imag(x), 0)


@numpy("iscomplex")
def iscomplex(x: Any) -> Any:
    """np.iscomplex: where the imaginary part is not zero."""
    if not is_complex(dtype_of(x)):
        return _everywhere(False, shape_of(x))
    return apply_ufunc("not_equal", imag(x), 0)


def _everywhere(value: bool, shape: tuple[Dim, ...]) -> Any:
    """A bool everywhere, known where the shape is: `np.any(np.iscomplex(x))` is then known too."""
    if all(isinstance(n, int) for n in shape):
        return np.full(shape, value)
    return Arr(const(value=value, type=Type("bool", shape)))


@numpy("iscomplexobj")
def iscomplexobj(x: Any) -> bool:
    """Is the dtype complex?"""
    return is_complex(dtype_of(x))


@numpy("isrealobj")
def isrealobj(x: Any) -> bool:
    """Is the dtype not complex?"""
    return not is_complex(dtype_of(x))


@numpy("real_if_close", view=True)
def real_if_close(a: Any, tol: Any = 100) -> Arr:
    """np.real_if_close: of real numbers the array itself, of complex ones the real parts. ValueError is raised at run time where an
    imaginary part is not close to 0, so that NumPy would leave the numbers complex."""
    if is_complex(dtype_of(a)):
        x = lift(a)
        eps = np.finfo(DTYPES[dtype_of(real(x))]).eps
        near = apply_ufunc("less", apply_ufunc("absolute", imag(x)), tol * eps if tol > 1 else tol)
        raise_if(any_of(apply_ufunc("logical_not", near)).value, exc="ValueError", message=_APART)
        return real(x)
    return Arr(lift(a).value)
