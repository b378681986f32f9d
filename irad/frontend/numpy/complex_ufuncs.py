"""Lowerings of NumPy's ufuncs on complex operands, where they are not those on real ones."""

from __future__ import annotations

from collections.abc import Callable

from irad.core.ir import Value
from irad.core.types import is_complex
from irad.ops import elementwise as ew
from irad.ops.complex import complex_, conj, imag, real
from irad.ops.elementwise import select

Compare = Callable[[Value, Value], Value]


def absolute(z: Value) -> Value:
    """|z|; its slope at 0 is 0."""
    return ew.hypot(real(z), imag(z))


def sign(z: Value) -> Value:
    """z / |z|, 0 at 0. The larger part is divided out first, so that |z| neither over- nor underflows."""
    parts = real(z), imag(z)
    largest = ew.maximum(*map(ew.abs_, parts))
    zero = ew.eq(largest, 0)
    scale = select(zero, 1, largest)
    alone = ew.logical_xor(*map(ew.isinf, parts))  # one part is infinite: it gives the direction
    x, y = (select(alone & ew.isinf(p), ew.copysign(1, p), p / scale) for p in parts)
    size = select(zero, 1, ew.hypot(x, y))
    return complex_(x / size, y / size)


def rint(z: Value) -> Value:
    return complex_(ew.rint(real(z)), ew.rint(imag(z)))


def _either(test: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda z: test(real(z)) | test(imag(z))


isnan, isinf = _either(ew.isnan), _either(ew.isinf)


def isfinite(z: Value) -> Value:
    return ew.isfinite(real(z)) & ew.isfinite(imag(z))


def _ordered(first: Compare, second: Compare) -> Compare:
    """NumPy's order of complex numbers: by real part, then by imaginary part; false where a part that decides is NaN."""

    def compare(x: Value, y: Value) -> Value:
        a, b, c, d = real(x), imag(x), real(y), imag(y)
        known = ~(ew.isnan(b) | ew.isnan(d))
        return first(a, c) & known | ew.eq(a, c) & second(b, d)

    return compare


less, less_equal = _ordered(ew.lt, ew.lt), _ordered(ew.lt, ew.le)
greater, greater_equal = _ordered(ew.gt, ew.gt), _ordered(ew.gt, ew.ge)


def _extreme(wins: Compare, nan_wins: bool) -> Compare:
    def choose(x: Value, y: Value) -> Value:
        return select(wins(x, y) | (isnan(x) if nan_wins else isnan(y)), x, y)

    return choose


LOWER: dict[str, Callable[..., Value]] = {
    "absolute": absolute, "sign": sign, "rint": rint, "conjugate": conj, "isnan": isnan, "isinf": isinf, "isfinite": isfinite,
    "less": less, "less_equal": less_equal, "greater": greater, "greater_equal": greater_equal,
    "reciprocal": lambda z: 1 / z,
    "maximum": _extreme(greater_equal, True), "minimum": _extreme(less_equal, True),
    "fmax": _extreme(greater_equal, False), "fmin": _extreme(less_equal, False),
}  # fmt: skip


def lowering(name: str, values: list[Value], real_one: Callable[..., Value]) -> Callable[..., Value]:
    """The lowering of a ufunc for these operands."""
    return LOWER.get(name, real_one) if any(is_complex(v.type.dtype) for v in values) else real_one
