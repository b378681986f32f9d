"""Mantissas and exponents: np.frexp and np.ldexp."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import is_int
from irad.errors import IradTypeError, UnsupportedError
from irad.frontend.numpy.elementwise import convert
from irad.frontend.registry import numpy
from irad.frontend.values.arr import Arr, broadcast_shapes, dtype_of, lift, materialise, resolve, shape_of
from irad.ops import elementwise as ew
from irad.ops.elementwise import cast_to, full, select

_FAR = 2200  # an exponent beyond which every float64 has over- or underflown


def _scaled(x: Value, n: Value) -> Value:
    """x * 2**n for an i64 n, in three steps, as 2**n alone, or the half of it, may over- or underflow."""
    n = ew.minimum(ew.maximum(n, -_FAR), _FAR)
    third = n // 3
    for part in (third, third, n - (third + third)):
        x = x * ew.exp2(cast_to(part, x.type.dtype))
    return x


@numpy("ldexp")
def ldexp(x1: Any, x2: Any, /, out: Any = None, *, where: Any = True, **_: Any) -> Arr:
    """np.ldexp: x1 * 2**x2; a subnormal result may be rounded more than once."""
    if where is not True:
        raise UnsupportedError("np.ldexp with where=: write np.where around it")
    if not is_int(dtype_of(x2)) and dtype_of(x2) != "bool":
        raise IradTypeError(f"np.ldexp wants integer exponents, got {dtype_of(x2)}")
    name = resolve(np.ldexp, x1, x2)[-1]
    shape = broadcast_shapes(shape_of(x1), shape_of(x2))
    n = materialise(x2, "i64", shape)
    return Arr(cast_to(_scaled(materialise(x1, "f64", shape), n), name))


@numpy("frexp")
def frexp(x: Any, /, out: Any = None, *, where: Any = True, **_: Any) -> tuple[Arr, Arr]:
    """np.frexp: x = m * 2**e with 1/2 <= |m| < 1; the exponent has no slope."""
    if where is not True:
        raise UnsupportedError("np.frexp with where=: write np.where around it")
    a = convert(lift(x), resolve(np.frexp, x)[0])
    v = cast_to(a.value, "f64")
    size = abs(v)
    ordinary = ew.isfinite(v) & ew.ne(v, 0)
    tiny = size < 2.0**-1000
    lifted = select(tiny, size * 2.0**100, size)
    guess = cast_to(ew.floor(ew.log2(select(ordinary, lifted, 1))), "i64")
    guess = guess + 1
    m = _scaled(select(ordinary, lifted, 0.5), -guess)
    high, low = m >= 1, m < 0.5  # the logarithm was rounded to or from a whole number
    guess = guess + (cast_to(high, "i64") - cast_to(low, "i64"))
    e = guess - select(tiny, 100, full(0, guess))
    e = select(ordinary, e, 0)
    shift = -e
    m = select(ordinary, _scaled(v, shift), v)
    return Arr(cast_to(m, a.name)), Arr(cast_to(e, "i32"))
