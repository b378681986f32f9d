"""What the polynomial kernels are written against: the emitter's interface, and small helpers over it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from irad.core.types import bits


class Emitter(Protocol):
    """The emitter. Its values are opaque but for `dtype`; uniform and per-lane ones mix freely. Equal operations on equal
    operands are emitted once.

    `add`, `sub` and `mul` are integer or float by dtype and wrap or round: no fast-math flags. Comparisons are ordered
    but for `ne`, and signed or unsigned by dtype; floats also have `uno`, `ord`, `ult`, `ule`, `ugt`, `uge`.
    """

    lanes: int
    mask: Any  # the active lanes, or None if all are

    def const(self, value: Any, dtype: str) -> Any: ...
    def add(self, a: Any, b: Any) -> Any: ...
    def sub(self, a: Any, b: Any) -> Any: ...
    def mul(self, a: Any, b: Any) -> Any: ...
    def fdiv(self, a: Any, b: Any) -> Any: ...
    def sdiv(self, a: Any, b: Any) -> Any: ...
    def udiv(self, a: Any, b: Any) -> Any: ...
    def srem(self, a: Any, b: Any) -> Any: ...
    def urem(self, a: Any, b: Any) -> Any: ...
    def neg(self, a: Any) -> Any: ...
    def and_(self, a: Any, b: Any) -> Any: ...
    def or_(self, a: Any, b: Any) -> Any: ...
    def xor(self, a: Any, b: Any) -> Any: ...
    def shl(self, a: Any, b: Any) -> Any: ...
    def lshr(self, a: Any, b: Any) -> Any: ...
    def ashr(self, a: Any, b: Any) -> Any: ...
    def fma(self, a: Any, b: Any, c: Any) -> Any: ...
    def intrinsic(self, name: str, *args: Any) -> Any: ...
    def cmp(self, pred: str, a: Any, b: Any) -> Any: ...
    def select(self, c: Any, a: Any, b: Any) -> Any: ...
    def bitcast(self, a: Any, dtype: str) -> Any: ...
    def convert(self, a: Any, dtype: str) -> Any: ...
    def convert_sat(self, a: Any, dtype: str) -> Any: ...

    def rare(self, cond: Any, symbol: str, args: Sequence[Any], fast: Sequence[Any]) -> tuple[Any, ...]:
        """`fast`, but in the lanes where `cond` holds the results of the outlined function `symbol` (see poly_rare).

        To be emitted as a branch that is never taken in ordinary use: if `cond` holds in any lane, `cond` (as bytes),
        `args` and `fast` are stored to scratch, `symbol(cond, *args, *fast, lanes)` overwrites the results, and they are
        loaded again.
        """
        ...


# ---- constants, bits ----------------------------------------------------------------------------------------------


def c(E: Emitter, like: Any, value: float) -> Any:
    """A float constant of the dtype of `like`."""
    return E.const(value, like.dtype)


def int_of(x: Any) -> str:
    """The signed integer dtype as wide as `x`."""
    return f"i{bits(x.dtype)}"


def ic(E: Emitter, like: Any, value: int) -> Any:
    """An integer constant as wide as the float `like`."""
    return E.const(value, f"i{bits(like.dtype)}")


def to_bits(E: Emitter, x: Any) -> Any:
    return E.bitcast(x, int_of(x))


def from_bits(E: Emitter, i: Any) -> Any:
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


def horner(E: Emitter, x: Any, coefs: Sequence[float]) -> Any:
    """The polynomial with coefficients `coefs`, highest power first, in fused multiply-adds."""
    r = c(E, x, coefs[0])
    for k in coefs[1:]:
        r = E.fma(r, x, c(E, x, k))
    return r


def fabs(E: Emitter, x: Any) -> Any:
    return E.intrinsic("fabs", x)


def below(E: Emitter, x: Any, limit: float) -> Any:
    """min(x, limit), NaN if x is NaN (the constant stands first: one instruction on x86)."""
    k = c(E, x, limit)
    return E.select(E.cmp("lt", k, x), k, x)


def above(E: Emitter, x: Any, limit: float) -> Any:
    """max(x, limit), NaN if x is NaN."""
    k = c(E, x, limit)
    return E.select(E.cmp("gt", k, x), k, x)


def with_sign(E: Emitter, x: Any, sign: Any) -> Any:
    return E.intrinsic("copysign", x, sign)


def round_magic(x: Any, shift: int = 0) -> float:
    """1.5 * 2**mantissa + shift: y + magic has rint(y) + shift in its low bits, y + magic - magic is rint(y)."""
    return 1.5 * 2.0 ** mantissa_bits(x) + shift


def two_prod(E: Emitter, a: Any, b: Any) -> tuple[Any, Any]:
    """a*b as an unevaluated sum of two floats, exactly."""
    p = E.mul(a, b)
    return p, E.fma(a, b, E.neg(p))


def fast_two_sum(E: Emitter, a: Any, b: Any) -> tuple[Any, Any]:
    """a+b as an unevaluated sum of two floats, exactly, if |a| >= |b| or a is 0 (Dekker)."""
    s = E.add(a, b)
    return s, E.sub(b, E.sub(s, a))


INF, NAN = math.inf, math.nan
