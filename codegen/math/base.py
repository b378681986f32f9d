"""Small helpers over the builder (irad.codegen.math.values), for the rules and polynomials that are written against it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from irad.codegen.math.values import Values
from irad.core.types import bits

# ---- constants, bits ----------------------------------------------------------------------------------------------


def c(E: Values, like: Any, value: float) -> Any:
    """A float constant of the dtype of `like`."""
    return E.const(value, like.dtype)


def int_of(x: Any) -> str:
    """The signed integer dtype as wide as `x`."""
    return f"i{bits(x.dtype)}"


def ic(E: Values, like: Any, value: int) -> Any:
    """An integer constant as wide as the float `like`."""
    return E.const(value, f"i{bits(like.dtype)}")


def to_bits(E: Values, x: Any) -> Any:
    return E.bitcast(x, int_of(x))


def from_bits(E: Values, i: Any) -> Any:
    return E.bitcast(i, "f32" if bits(i.dtype) == 32 else "f64")


def mantissa_bits(x: Any) -> int:
    """Bits of the stored mantissa: 52 for float64, 23 for float32."""
    return 23 if x.dtype == "f32" else 52


def bias(x: Any) -> int:
    return 127 if x.dtype == "f32" else 1023


def pick(x: Any, f64: Any, f32: Any) -> Any:
    """The entry for the dtype of `x`."""
    return f32 if x.dtype == "f32" else f64


# ---- arithmetic ---------------------------------------------------------------------------------------------------


def horner(E: Values, x: Any, coefs: Sequence[float]) -> Any:
    """The polynomial with coefficients `coefs`, highest power first, in fused multiply-adds."""
    r = c(E, x, coefs[0])
    for k in coefs[1:]:
        r = E.fma(r, x, c(E, x, k))
    return r


def fabs(E: Values, x: Any) -> Any:
    return E.intrinsic("fabs", x)


def below(E: Values, x: Any, limit: float) -> Any:
    """min(x, limit), NaN if x is NaN (the constant stands first: one instruction on x86)."""
    k = c(E, x, limit)
    return E.select(E.cmp("lt", k, x), k, x)


def above(E: Values, x: Any, limit: float) -> Any:
    """max(x, limit), NaN if x is NaN."""
    k = c(E, x, limit)
    return E.select(E.cmp("gt", k, x), k, x)


def with_sign(E: Values, x: Any, sign: Any) -> Any:
    return E.intrinsic("copysign", x, sign)


def round_magic(x: Any, shift: int = 0) -> float:
    """1.5 * 2**mantissa + shift: y + magic has rint(y) + shift in its low bits, y + magic - magic is rint(y)."""
    return 1.5 * 2.0 ** mantissa_bits(x) + shift


def two_prod(E: Values, a: Any, b: Any) -> tuple[Any, Any]:
    """a*b as an unevaluated sum of two floats, exactly."""
    p = E.mul(a, b)
    return p, E.fma(a, b, E.neg(p))


def fast_two_sum(E: Values, a: Any, b: Any) -> tuple[Any, Any]:
    """a+b as an unevaluated sum of two floats, exactly, if |a| >= |b| or a is 0 (Dekker)."""
    s = E.add(a, b)
    return s, E.sub(b, E.sub(s, a))


INF, NAN = math.inf, math.nan
