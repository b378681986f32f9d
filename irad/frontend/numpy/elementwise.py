"""NumPy's ufuncs: dtypes from the installed NumPy's own loop look-up, shapes by broadcasting, one lowering each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.ir import Graph, Value
from irad.core.ir import build as build_graph
from irad.core.types import DTYPES, Type, is_float, is_int
from irad.errors import IradTypeError, IradValueError, UnsupportedError
from irad.frontend.numpy import complex_ufuncs
from irad.frontend.registry import NAMES, TABLE
from irad.frontend.values.arr import (
    Arr,
    astype,
    broadcast_shapes,
    dtype_of,
    in_f32,
    irad_dtype,
    is_weak,
    materialise,
    resolve,
    result_dtype,
    shape_of,
)
from irad.ops import elementwise as ew
from irad.ops.array import any_
from irad.ops.constant import const
from irad.ops.control import raise_if, while_
from irad.ops.elementwise import INF, cast_to, full, select
from irad.ops.intervals import bound, interval
from irad.ops.slopes import slope_of

# ---- lowerings: Values of the loop's dtypes in, Values out ---------------------------------------------------


def _by_kind(*rows: tuple[str, Callable[..., Value]]) -> Callable[..., Value]:
    """Choose a lowering by the dtype kind of the first operand: b, i, u, f (c: see `complex_ufuncs`)."""
    ops = {kind: op for kinds, op in rows for kind in kinds}
    return lambda x, *rest: ops[x.type.dtype[0]](x, *rest)


def _same(x: Value) -> Value:
    return x


def _all(value: bool) -> Callable[[Value], Value]:
    return lambda x: const(value=value, type=x.type.with_dtype("bool"))


def truth(x: Value) -> Value:
    """x != 0, as NumPy's cast to bool: NaN is true."""
    return x if x.type.dtype == "bool" else in_f32(ew.ne, x, full(0, x))


def _logical(op: Callable[..., Value]) -> Callable[..., Value]:
    return lambda *xs: op(*map(truth, xs))


def _reciprocal(x: Value) -> Value:
    """1 / x; of integers the truncated quotient, which is x itself for 1 and -1, else 0."""
    if is_float(x.type.dtype):
        return 1 / x
    return select(ew.eq(_magnitude(x), 1), x, 0)


def check_exponent(y: Value) -> None:
    """NumPy's rule: an integer base must not have a negative integer exponent."""
    lo, hi = interval(y)
    words = "Integers to negative integer powers are not allowed."
    if hi < 0:
        raise IradValueError(words)
    if lo < 0:
        bad = y < 0
        raise_if(any_(bad, axes=tuple(range(bad.type.rank))) if bad.type.rank else bad, exc="ValueError", message=words)
        bound(y, 0, hi)


def _power(x: Value, y: Value) -> Value:
    if is_int(x.type.dtype):
        check_exponent(y)
    return ew.pow_(x, y)


def _divmod(x: Value, y: Value) -> tuple[Value, Value]:
    return x // y, x % y


def _modf(x: Value) -> tuple[Value, Value]:
    whole = ew.trunc(x)
    rest = select(ew.isinf(x), 0, x - whole)
    return slope_of(ew.copysign(rest, x), rest), whole  # the sign is that of a zero: the slope is that of x


def _gcd(x: Value, y: Value) -> Value:
    """Euclid on whole arrays, until every pair is done."""
    axes = tuple(range(x.type.rank))
    pending: Callable[..., Value] = lambda a, b: any_(truth(b), axes=axes) if axes else truth(b)

    def step(a: Value, b: Value) -> list[Value]:
        done = ew.eq(b, 0)
        safe = select(done, 1, b)
        return [select(done, a, b), select(done, b, a % safe)]

    pair = [_magnitude(x), _magnitude(y)]
    types = [v.type for v in pair]
    cond: Graph = build_graph(types, pending)
    return _magnitude(while_(*pair, regions=(cond, build_graph(types, step)))[0])  # the least int is its own magnitude


def _bit_count(x: Value) -> Value:
    """Bits set in the magnitude: sums of neighbouring groups of bits, ever wider, in one word."""
    v = cast_to(_magnitude(cast_to(x, "i64") if x.type.dtype[0] == "i" else x), "u64")
    for shift, mask in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
        half = lambda u, mask=mask: u & mask
        v = half(v) + half(v >> shift)
    for shift in (8, 16, 32):
        v = v + (v >> shift)
    return cast_to(v & 0x7F, "u8")


def _lcm(x: Value, y: Value) -> Value:
    """The least common multiple, from magnitudes. A product that wraps is negative, as in NumPy."""
    g = _gcd(x, y)
    safe = select(ew.eq(g, 0), 1, g)
    return _magnitude(x // safe) * _magnitude(y)


def _spacing(x: Value) -> Value:
    return ew.nextafter(x, ew.copysign(INF, x)) - x


_magnitude = _by_kind(("bu", _same), ("if", ew.abs_))
_flag = lambda name: _by_kind(("f", getattr(ew, name)), ("biu", _all(name == "isfinite")))
_rounding = lambda op: _by_kind(("f", op), ("biu", _same))
_bits = lambda on_bool, on_int: _by_kind(("b", on_bool), ("iu", on_int))
_scaled = lambda k: lambda x: x * k

LOWER: dict[str, Callable[..., Any]] = {
    "add": ew.add, "subtract": ew.sub, "multiply": ew.mul, "divide": ew.div, "negative": ew.neg, "positive": _same,
    "floor_divide": ew.floor_divide, "remainder": ew.remainder, "fmod": ew.fmod, "divmod": _divmod, "modf": _modf,
    "absolute": _magnitude, "fabs": ew.abs_, "sign": ew.sign, "square": lambda x: x * x, "reciprocal": _reciprocal,
    "power": _power, "float_power": ew.pow_, "copysign": ew.copysign, "nextafter": ew.nextafter, "spacing": _spacing,
    "heaviside": ew.heaviside, "sqrt": ew.sqrt, "cbrt": ew.cbrt, "exp": ew.exp, "exp2": ew.exp2, "expm1": ew.expm1,
    "log": ew.log, "log2": ew.log2, "log10": ew.log10, "log1p": ew.log1p, "sin": ew.sin, "cos": ew.cos, "tan": ew.tan,
    "arcsin": ew.arcsin, "arccos": ew.arccos, "arctan": ew.arctan, "sinh": ew.sinh, "cosh": ew.cosh, "tanh": ew.tanh,
    "arcsinh": ew.arcsinh, "arccosh": ew.arccosh, "arctanh": ew.arctanh, "arctan2": ew.arctan2, "hypot": ew.hypot,
    "logaddexp": ew.logaddexp, "logaddexp2": ew.logaddexp2, "deg2rad": _scaled(math.pi / 180), "rad2deg": _scaled(180 / math.pi),
    "radians": _scaled(math.pi / 180), "degrees": _scaled(180 / math.pi),
    "maximum": ew.maximum, "minimum": ew.minimum, "fmax": ew.fmax, "fmin": ew.fmin,
    "floor": _rounding(ew.floor), "ceil": _rounding(ew.ceil), "trunc": _rounding(ew.trunc), "rint": ew.rint,
    "isnan": _flag("isnan"), "isinf": _flag("isinf"), "isfinite": _flag("isfinite"), "signbit": ew.signbit,
    "logical_and": _logical(ew.logical_and), "logical_or": _logical(ew.logical_or), "logical_xor": _logical(ew.logical_xor),
    "logical_not": _logical(ew.logical_not), "bitwise_and": _bits(ew.logical_and, ew.bitwise_and),
    "bitwise_or": _bits(ew.logical_or, ew.bitwise_or), "bitwise_xor": _bits(ew.logical_xor, ew.bitwise_xor),
    "invert": _bits(ew.logical_not, ew.invert), "left_shift": ew.left_shift, "right_shift": ew.right_shift,
    "gcd": _gcd, "lcm": _lcm, "conjugate": _same, "bitwise_count": _bit_count,
}  # fmt: skip
COMPARE = {"less": ew.lt, "less_equal": ew.le, "greater": ew.gt, "greater_equal": ew.ge, "equal": ew.eq, "not_equal": ew.ne}
_ALIASES = {"true_divide": "divide", "abs": "absolute", "bitwise_not": "invert"}

# Ufuncs whose method `at` goes place by place; those of add and subtract are one op
AT = [n for n in LOWER if n not in ("add", "subtract", "divmod", "modf") and isinstance(getattr(np, n, None), np.ufunc)]

# ---- calling -----------------------------------------------------------------------------------------------------


def apply_ufunc(name: str, *xs: Any, dtype: Any = None) -> Any:
    """A ufunc on operands: a strong Arr, or a tuple of them. Raises IradTypeError and ShapeError with NumPy's meaning."""
    if name in COMPARE:
        return compare(name, *xs)
    ufunc: np.ufunc = getattr(np, name)
    names = resolve(ufunc, *xs, dtype=dtype)
    if name in ("nextafter", "spacing") and "f16" in names:
        raise UnsupportedError(f"np.{name} of float16: it is computed in float32 here; convert to float32 first")
    shape = broadcast_shapes(*map(shape_of, xs))
    values = [materialise(x, d, shape) for x, d in zip(xs, names)]
    out = in_f32(complex_ufuncs.lowering(name, values, LOWER[name]), *values)
    return tuple(map(Arr, out)) if isinstance(out, tuple) else Arr(out)


def compare(name: str, a: Any, b: Any) -> Arr:
    """A comparison, exact between any two integer dtypes and between integers and Python ints of any size."""
    da, db = dtype_of_comparand(a), dtype_of_comparand(b)
    shape = broadcast_shapes(shape_of(a), shape_of(b))
    if da == "huge" or db == "huge":
        order = getattr(np, name)(0, 1 if b > 0 else -1) if db == "huge" else getattr(np, name)(1 if a > 0 else -1, 0)
        return Arr(const(value=bool(order), type=Type("bool", shape)))
    if is_int(da) and is_int(db):
        if "u64" in (da, db) and da != db and (da[0] == "i" or db[0] == "i"):
            return Arr(_compare_signed_unsigned(name, a, b, da[0] == "i", shape))
        dtype = "i64" if is_weak(a) or is_weak(b) else result_dtype(a, b)
    else:
        dtype = result_dtype(a, b)
    dtype = "f32" if dtype == "f16" else dtype
    values = [materialise(x, dtype, shape) for x in (a, b)]
    return Arr(complex_ufuncs.lowering(name, values, COMPARE[name])(*values))


def dtype_of_comparand(x: Any) -> str:
    """dtype of an operand, where a static Python int is u64 if only that holds it, or "huge" if nothing does."""
    if isinstance(x, int) and not isinstance(x, (bool, np.generic)) and not -(2**63) <= x < 2**63:
        return "u64" if 0 <= x < 2**64 else "huge"
    return dtype_of(x)


def _compare_signed_unsigned(name: str, a: Any, b: Any, first_signed: bool, shape: Any) -> Value:
    s = materialise(a if first_signed else b, "i64", shape)
    u = materialise(b if first_signed else a, "u64", shape)
    w = cast_to(s, "u64")
    plain = COMPARE[name](w, u) if first_signed else COMPARE[name](u, w)
    if interval(s)[0] >= 0:
        return plain
    negative = getattr(np, name)(-1, 0) if first_signed else getattr(np, name)(0, -1)
    return select(s < 0, bool(negative), plain)


def masked_by(mask: Any, result: Arr, out: Any) -> Arr:
    """`where=` of a ufunc with `out=`: the elements of out where the mask is false."""
    shape = broadcast_shapes(result.shape, shape_of(mask), shape_of(out))
    values = [materialise(x, dtype_of(out), shape) for x in (result, out)]
    return Arr(select(materialise(mask, "bool", shape), *values))


def ufunc_builder(name: str) -> Callable[..., Any]:
    """The builder of a ufunc, with NumPy's keywords. `out` (the current content of the destination) matters for `where`."""

    def call(
        *xs: Any, out: Any = None, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None,
        subok: bool = True,
    ) -> Any:  # fmt: skip
        ufunc = getattr(np, name)
        if len(xs) != ufunc.nin:
            raise IradTypeError(f"np.{name} takes {ufunc.nin} operands, {len(xs)} given")
        result = apply_ufunc(name, *xs, dtype=dtype)
        if where is True:
            return result
        if out is None or ufunc.nout > 1:
            raise IradValueError(f"np.{name} with where= leaves elements undefined unless out= is given; write np.where(...)")
        return masked_by(where, result, out[0] if isinstance(out, tuple) else out)

    call.__name__ = name
    return call


def _register() -> None:
    for name in [*LOWER, *COMPARE]:
        fn = getattr(np, name, None)
        if fn is not None:
            TABLE[fn] = ufunc_builder(name)
            NAMES[f"np.{name}"] = fn
    for alias, name in _ALIASES.items():
        NAMES[f"np.{alias}"] = getattr(np, alias, getattr(np, name))
    for kind in (np.bool_, *(d.type for d in DTYPES.values())):
        TABLE[kind] = _converter(kind)
        NAMES[f"np.{kind.__name__}"] = kind


def _converter(kind: type) -> Callable[..., Arr]:
    """np.float32(x) and the like."""

    def call(x: Any = 0) -> Arr:
        return convert(x, irad_dtype(kind))

    call.__name__ = kind.__name__
    return call


def convert(x: Any, dtype: str) -> Arr:
    """An operand as an array of a dtype, cast as `astype` casts."""
    if isinstance(x, Arr):
        return astype(x, dtype)
    return Arr(materialise(x, dtype, shape_of(x)))


_register()
