"""Lowerings of NumPy's ufuncs on complex operands, where they are not those on real ones."""

from __future__ import annotations

from collections.abc import Callable

from irad.core.ir import Value
from irad.core.types import is_complex
from irad.ops import elementwise as ew
from irad.ops.complex import complex_, conj, imag, real
from irad.ops.elementwise import full, select

Compare = Callable[[Value, Value], Value]


def absolute(z: Value) -> Value:
    """|z|; its slope at 0 is 0."""
    return ew.hypot(real(z), imag(z))


def sign(z: Value) -> Value:
    """z / |z|, 0 at 0. The larger part is divided out first, so that |z| neither over- nor underflows."""
    parts = real(z), imag(z)
    largest = ew.maximum(*map(ew.abs_, parts))
    zero = ew.eq(largest, full(0.0, largest))
    scale = select(zero, full(1.0, largest), largest)
    alone = ew.logical_xor(*map(ew.isinf, parts))  # one part is infinite: it gives the direction
    x, y = (select(ew.logical_and(alone, ew.isinf(p)), ew.copysign(full(1.0, p), p), ew.div(p, scale)) for p in parts)
    size = select(zero, full(1.0, largest), ew.hypot(x, y))
    return complex_(ew.div(x, size), ew.div(y, size))


def rint(z: Value) -> Value:
    return complex_(ew.rint(real(z)), ew.rint(imag(z)))


def _either(test: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda z: ew.logical_or(test(real(z)), test(imag(z)))


isnan, isinf = _either(ew.isnan), _either(ew.isinf)


def isfinite(z: Value) -> Value:
    return ew.logical_and(ew.isfinite(real(z)), ew.isfinite(imag(z)))


def _ordered(first: Compare, second: Compare) -> Compare:
    """NumPy's order of complex numbers: by real part, then by imaginary part; false where a part that decides is NaN."""

    def compare(x: Value, y: Value) -> Value:
        a, b, c, d = real(x), imag(x), real(y), imag(y)
        known = ew.logical_not(ew.logical_or(ew.isnan(b), ew.isnan(d)))
        return ew.logical_or(ew.logical_and(first(a, c), known), ew.logical_and(ew.eq(a, c), second(b, d)))

    return compare


less, less_equal = _ordered(ew.lt, ew.lt), _ordered(ew.lt, ew.le)
greater, greater_equal = _ordered(ew.gt, ew.gt), _ordered(ew.gt, ew.ge)


def _extreme(wins: Compare, nan_wins: bool) -> Compare:
    def choose(x: Value, y: Value) -> Value:
        return select(ew.logical_or(wins(x, y), isnan(x) if nan_wins else isnan(y)), x, y)

    return choose


LOWER: dict[str, Callable[..., Value]] = {
    "absolute": absolute, "sign": sign, "rint": rint, "conjugate": conj, "isnan": isnan, "isinf": isinf, "isfinite": isfinite,
    "less": less, "less_equal": less_equal, "greater": greater, "greater_equal": greater_equal,
    "reciprocal": lambda z: ew.div(full(1.0, z), z),
    "maximum": _extreme(greater_equal, True), "minimum": _extreme(less_equal, True),
    "fmax": _extreme(greater_equal, False), "fmin": _extreme(less_equal, False),
}  # fmt: skip


def lowering(name: str, values: list[Value], real_one: Callable[..., Value]) -> Callable[..., Value]:
    """The lowering of a ufunc for these operands."""
    return LOWER.get(name, real_one) if any(is_complex(v.type.dtype) for v in values) else real_one
