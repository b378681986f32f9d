"""Traced arrays and numbers, and NumPy's rules for bringing operands to one dtype and one shape.

An operand of a table function is an `Arr`, a Python or NumPy number, a NumPy array, or a nested list or tuple of those.
Static operands stay static until the dtype and the shape they are needed in are known (`materialise`), so a Python
number becomes a splat constant of the right dtype and never a broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from typing import Any

import numpy as np

from irad.core.foreign import base_items, held
from irad.core.ir import Value
from irad.core.lazy_dataclass import dataclass
from irad.core.types import DTYPES, Dim, Extent, Type, complex_dtype, dtype_name, is_complex, is_int, promote
from irad.errors import IradOverflowError, IradTypeError, IradValueError, ShapeError, UnsupportedError
from irad.frontend.values.extents import equal, joint, may_be_one, require, stretched
from irad.frontend.values.fits import check_fits, check_scalar, check_whole
from irad.ops.array import Slice, concat, dim_value, index, reshape_to
from irad.ops.array import broadcast_to as broadcast_value
from irad.ops.constant import const, scalar
from irad.ops.elementwise import cast_to, minimum, mul
from irad.ops.intervals import affine_of, bound, dim_interval, int_range, interval


@dataclass(frozen=True, eq=False)
class Arr:
    """An immutable traced array or number. `weak`: a traced *Python* scalar (i64, f64, c128 or bool), which promotes as one.

    `mixed`: it is a Python number on one path of the program and NumPy's on another, or a bool on one and an int on another.
    `by`: what says on which of two paths it is made, and its dtype and `weak` on each, where those are different.
    """

    value: Value
    weak: bool = False
    mixed: bool = False
    by: tuple[Value, Any, Any] | None = None

    @property
    def type(self) -> Type:
        return self.value.type

    @property
    def shape(self) -> tuple[Dim, ...]:
        return self.value.type.shape

    @property
    def ndim(self) -> int:
        return self.value.type.rank

    @property
    def name(self) -> str:
        """irad's name of the dtype: `f64`, `i32`, `bool`..."""
        return self.value.type.dtype

    def __repr__(self) -> str:
        return f"Arr({self.value!r}{', weak' if self.weak else ''})"


class NeedStatic(UnsupportedError):
    """A traced number stands where the program's shape or structure depends on it; `arr` is the number."""

    def __init__(self, arr: Arr, what: str):
        super().__init__(
            f"{what} must be known at compile time, and here it is computed from an argument; "
            "write a constant, or name the argument in irad.compile(static=...)"
        )
        self.arr = arr


def whole_numbers(x: Any) -> list[Arr]:
    """The traced integers in an operand, and those that the extents of its arrays are computed from."""
    if isinstance(x, Arr):
        return [x] if not x.shape and is_int(x.name) else [Arr(v, True) for v in x.value.type.symbols]
    return [n for e in held(x) for n in whole_numbers(e)]


def is_traced(x: Any) -> bool:
    """Is x an `Arr`, or a list, tuple, dict or slice that holds one somewhere?"""
    return isinstance(x, Arr) or any(map(is_traced, held(x)))


# ---- dtypes -------------------------------------------------------------------------------------------------


def irad_dtype(dtype: Any) -> str:
    """irad's name of a NumPy dtype, dtype-like or Python type. Raises IradTypeError if irad does not have it."""
    try:
        name = dtype_name(np.dtype(dtype))
    except TypeError:
        name = None
    if name is None:
        have = ", ".join(str(d) for d in DTYPES.values())
        raise IradTypeError(f"dtype {dtype!r} is not supported; supported are {have}")
    return name


def is_weak(x: Any) -> bool:
    """Python int, float and complex promote weakly; Python bool promotes as NumPy's bool, so it is not weak here."""
    if isinstance(x, Arr):
        return x.weak and x.name != "bool"
    return isinstance(x, (int, float, complex)) and not isinstance(x, (bool, np.generic))


PYTHON = {"bool": bool, "i64": int, "f64": float, "c128": complex}  # the classes of weak numbers, as `isinstance` tells them


def dtype_of(x: Any) -> str:
    """dtype of an operand by itself (a Python int is i64, a float f64, a complex c128)."""
    if isinstance(x, Arr):
        return x.name
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        return next(name for name, kind in PYTHON.items() if isinstance(x, kind))
    if isinstance(x, (list, tuple)) and is_traced(x):
        return reduce(promote, [dtype_of(e) for e in x])
    a = np.asarray(x)
    return irad_dtype(a.dtype)


def numpy_kind(x: Any) -> Any:
    """What `ufunc.resolve_dtypes` wants for an operand: a dtype, or `int`, `float` or `complex` for a weak Python number."""
    if is_weak(x):
        return PYTHON[dtype_of(x)]
    return DTYPES[dtype_of(x)]


@cache
def _resolve(ufunc: np.ufunc, kinds: tuple[Any, ...], dtype: str | None) -> tuple[str, ...]:
    signature: Any = {} if dtype is None else {"signature": (None,) * ufunc.nin + (DTYPES[dtype],) * ufunc.nout}
    try:
        found = ufunc.resolve_dtypes(kinds + (None,) * ufunc.nout, casting="same_kind", **signature)
    except TypeError as e:
        raise IradTypeError(f"np.{ufunc.__name__}: {e}") from None
    return tuple(irad_dtype(d) for d in found)


def resolve(ufunc: np.ufunc, *xs: Any, dtype: Any = None) -> tuple[str, ...]:
    """dtypes in which the inputs and results of a ufunc are computed: the installed NumPy's own loop look-up."""
    return _resolve(ufunc, tuple(map(numpy_kind, xs)), None if dtype is None else irad_dtype(dtype))


def result_dtype(*xs: Any) -> str:
    """NumPy 2's `result_type` of operands: strong dtypes promote among themselves, Python numbers then fit in."""
    strong = [dtype_of(x) for x in xs if not is_weak(x)]
    weak = [dtype_of(x) for x in xs if is_weak(x)]
    if not strong:
        return max(weak, key=("i64", "f64", "c128").index)
    out = reduce(promote, strong)
    if "c128" in weak:
        return complex_dtype(out)
    if "f64" in weak and out[0] not in "fc":
        return "f64"
    return "i64" if weak and out == "bool" else out


def float_dtype(x: Any) -> str:
    """The dtype in which NumPy's composed functions (mean, norm, var...) compute x: its own if it is inexact, or f64."""
    name = dtype_of(x)
    return name if name[0] in "fc" else "f64"


# ---- shapes and extents ---------------------------------------------------------------------------------------


def shape_of(x: Any) -> tuple[Dim, ...]:
    """Shape of an operand, lists included."""
    if isinstance(x, Arr):
        return x.shape
    if isinstance(x, (list, tuple)) and is_traced(x):
        return (len(x), *shape_of(x[0]))
    return np.shape(x)


def show_shape(shape: Sequence[Dim]) -> str:
    """A shape as NumPy prints it; run-time extents as their formula."""
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def size_of(shape: Iterable[Dim]) -> Dim:
    """Number of elements; a product of two run-time extents is a number by itself."""
    total: Dim = 1
    for d in shape:
        if isinstance(d, Extent) and isinstance(total, Extent):
            total = affine_of(mul(dim_value(total), dim_value(d)))
        else:
            total = total * d if isinstance(d, int) else d * total  # type: ignore[operator]
    return total


def as_dim(x: Any, what: str = "an extent") -> Dim:
    """A static or traced integer as an extent."""
    if isinstance(x, Arr):
        if x.shape or not is_int(x.name):
            hint = "; give a shape as a tuple of numbers, not as an array" if x.shape else ""
            raise IradTypeError(f"{what} must be an integer, not {x.type}{hint}")
        v = minimum(x.value, scalar(2**63 - 1, "u64")) if x.name == "u64" else x.value
        return affine_of(cast_to(v, "i64"))
    return static_int(x, what)


def from_dim(d: Dim) -> int | Arr:
    """An extent as the user sees it: a Python int, static or traced."""
    if isinstance(d, int):
        return d
    lo, hi = dim_interval(d)
    v = dim_value(d)
    bound(v, max(lo, 0), hi)
    return Arr(v, weak=True)


def static_int(x: Any, what: str) -> int:
    """A Python int; raises NeedStatic for a traced number and IradTypeError for anything else."""
    if isinstance(x, Arr):
        lo, hi = interval(x.value) if is_int(x.name) and not x.shape else (0, 1)
        if lo == hi:
            return int(lo)
        raise NeedStatic(x, what)
    try:
        return x.__index__()
    except (AttributeError, TypeError):
        if isinstance(x, Extent):
            raise UnsupportedError(f"{what} must be known at compile time, and is a length that depends on data") from None
        raise IradTypeError(f"{what} must be an integer, not {type(x).__name__}") from None


def static_value(x: Any, what: str) -> Any:
    """A static operand as it is; raises NeedStatic if it is traced or holds a traced number."""
    if isinstance(x, Arr):
        raise NeedStatic(x, what)
    if isinstance(x, (list, tuple)):
        for e in base_items(x):
            static_value(e, what)
    return x


def normalize_axis(axis: Any, ndim: int, what: str = "axis") -> int:
    """An axis counted from the front. Raises IradValueError with NumPy's words if there is none such."""
    k = static_int(axis, what)
    if not -ndim <= k < ndim:
        raise IradValueError(f"{what} {k} is out of bounds for array of dimension {ndim}")
    return k % ndim


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """`axis=` of a reduction as ascending axes; None is all."""
    if axis is None:
        return tuple(range(ndim))
    axes = [normalize_axis(a, ndim) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    if len(set(axes)) < len(axes):
        raise IradValueError(f"duplicate value in 'axis': {axis}")
    return tuple(sorted(axes))


def broadcast_shapes(*shapes: Sequence[Dim]) -> tuple[Dim, ...]:
    """NumPy's broadcast of shapes. Extents not provably equal are compared at run time: a `raise_if` is emitted."""
    out: list[Dim] = []
    for k in range(-max((len(s) for s in shapes), default=0), 0):
        dims = [s[k] for s in shapes if len(s) >= -k and s[k] != 1]
        dims.sort(key=lambda d: not isinstance(d, int))
        want = dims[0] if dims else 1
        for d in dims[1:]:
            if d != want:
                words = "operands could not be broadcast together with shapes " + " ".join(map(show_shape, shapes))
                want = joint(want, d, words)
        out.append(want)
    return tuple(out)


def require_equal_dims(d: Dim, want: Dim, message: str, exc: str, empty: bool = False) -> None:
    """Nothing if the extents are equal; ShapeError if they are not; a run-time check if that is not known. `empty`: d may be 0."""
    require(d, want, message, exc, empty=empty)


def retype_extents(v: Value, shape: Sequence[Dim]) -> Value:
    """v with extents renamed to ones that are equal at run time (checked before); axes of extent 1 stay."""
    if all(a == b or a == 1 for a, b in zip(v.type.shape, shape)):
        return v
    return index(v, spec=tuple(Slice(0, a if a == 1 else b) for a, b in zip(v.type.shape, shape)))


# ---- operands to values -----------------------------------------------------------------------------------------


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.bool_, np.number))


def constant(x: Any, dtype: str | None = None) -> Value:
    """A static number or array as a constant, cast as NumPy casts. Arrays are copied; uniform ones become splats."""
    if _is_number(x):
        return scalar(static_cast(x, dtype or dtype_of(x)), dtype or dtype_of(x))
    a = np.array(x, order="C")
    irad_dtype(a.dtype)
    if dtype is not None:
        with np.errstate(all="ignore"):
            a = a.astype(DTYPES[dtype])
    t = Type(irad_dtype(a.dtype), a.shape)
    if not a.ndim:
        return scalar(a.item(), t.dtype)
    if a.size and _uniform(a):
        return const(value=a.flat[0].item(), type=t)
    a.flags.writeable = False
    return const(value=a, type=t)


def _uniform(a: np.ndarray) -> bool:
    """All elements have the same bits (so 0.0 and -0.0 differ)."""
    raw = a.reshape(-1, 1).view(np.uint8)
    return bool((raw == raw[0]).all())


def static_cast(x: Any, dtype: str) -> Any:
    """A number as the Python number that a constant of `dtype` holds. Raises IradValueError if a Python int does not fit."""
    if is_int(dtype):
        lo, hi = int_range(dtype)
        if isinstance(x, int) and not isinstance(x, np.generic) and not lo <= x <= hi:
            raise IradOverflowError(f"Python integer {x} out of bounds for {DTYPES[dtype]}")
        if isinstance(x, float) and not isinstance(x, np.generic) and not lo <= x <= hi:
            _static_whole(x, dtype)
    a = np.asarray(x)
    if a.dtype.kind == "c" and not (is_complex(dtype) or dtype == "bool"):
        raise IradTypeError(f"{x} is complex; write .real for its real part")
    with np.errstate(all="ignore"):
        return a.astype(DTYPES[dtype]).item()


def _static_whole(x: float, dtype: str) -> None:
    """The error for a Python float that an integer array cannot hold."""
    try:
        np.zeros((), DTYPES[dtype])[()] = x
    except OverflowError as e:
        raise IradOverflowError(str(e)) from None
    except ValueError as e:
        raise IradValueError(str(e)) from None


def lift(x: Any, dtype: str | None = None) -> Arr:
    """Any operand as a traced array; a Python number stays weak. Nested lists are stacked as `np.array` would.

    Raises IradTypeError for what is not numeric and ShapeError for ragged lists.
    """
    if isinstance(x, Arr):
        return x if dtype is None else astype(x, dtype)
    if isinstance(x, (list, tuple)) and is_traced(x):
        return _stack_list(x, dtype)
    python = isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic)
    return Arr(constant(x, dtype), weak=python and dtype is None)


def _stack_list(xs: Sequence[Any], dtype: str | None) -> Arr:
    name = dtype or dtype_of(xs)
    for x in xs:
        if isinstance(x, Arr) and dtype is not None:
            check_scalar(x, name)
    parts = [lift(x, name).value for x in xs]
    first = parts[0].type.shape
    for p in parts:
        if p.type.rank != len(first):
            raise ShapeError(
                f"elements of shapes {show_shape(first)} and {show_shape(p.type.shape)} cannot be stacked to one array"
            )
    shape = parts[0].type.shape
    for p in parts[1:]:
        for a, b in zip(p.type.shape, shape):
            words = f"elements of shapes {show_shape(shape)} and {show_shape(p.type.shape)} cannot be stacked to one array"
            require_equal_dims(a, b, words, "ValueError")
    rows = [reshape_to(retype_extents(p, shape), (1, *shape)) for p in parts]
    return Arr(rows[0] if len(rows) == 1 else concat(*rows, axis=0))


def astype(x: Arr, dtype: str) -> Arr:
    """x as another dtype (irad's name), strong. A weak int that may not fit is checked at run time, as NumPy checks it.

    Raises IradTypeError for a complex number where a real one is wanted: only `x.astype` drops imaginary parts.
    """
    if is_complex(x.name) and not is_complex(dtype) and dtype != "bool":
        raise IradTypeError(
            f"a complex number ({DTYPES[x.name]}) where a real one ({DTYPES[dtype]}) is needed; write z.real or abs(z)"
        )
    if x.weak and is_int(dtype):
        if x.name == "i64" and dtype != "i64":
            check_fits(x.value, dtype)
        elif x.name == "f64":
            check_whole(x.value, dtype)
    return x if x.name == dtype and not x.weak else Arr(cast_to(x.value, dtype))


def materialise(x: Any, dtype: str, shape: Sequence[Dim]) -> Value:
    """An operand as a value of a dtype and shape, cast and broadcast as need be; a number becomes a splat constant."""
    shape = tuple(shape)
    if _is_number(x):
        return const(value=static_cast(x, dtype), type=Type(dtype, shape))
    v = lift(x, dtype).value
    if v.type.shape == shape:
        return v
    if v.type.rank > len(shape):
        raise ShapeError(f"cannot broadcast shape {show_shape(v.type.shape)} to shape {show_shape(shape)}")
    tail = shape[len(shape) - v.type.rank :]
    words = f"cannot broadcast shape {show_shape(v.type.shape)} to shape {show_shape(shape)}"
    for k, (have, want) in enumerate(zip(v.type.shape, tail)):
        if have == 1 or equal(have, want):
            continue
        free = may_be_one(have)
        require(have, want, words, "ValueError", [have] * free)
        if free:
            v = stretched(v, k, want)
    return broadcast_value(retype_extents(v, tail), shape)


def unify(*xs: Any, dtype: str | None = None) -> list[Value]:
    """Operands as values of one dtype (default: NumPy's result type) and one shape."""
    name = dtype or result_dtype(*xs)
    shape = broadcast_shapes(*map(shape_of, xs))
    return [materialise(x, name, shape) for x in xs]


def in_f32(op: Callable[..., Any], *values: Value, **attrs: Any) -> Any:
    """op(*values); float16 is storage only, so it is computed in float32 and rounded back."""
    if all(v.type.dtype != "f16" for v in values):
        return op(*values, **attrs)
    wide = [cast_to(v, "f32") if v.type.dtype == "f16" else v for v in values]
    out = op(*wide, **attrs)
    back = lambda v: cast_to(v, "f16") if v.type.dtype == "f32" else v
    return tuple(map(back, out)) if isinstance(out, tuple) else back(out)


def broadcast_all(*xs: Any) -> list[Arr]:
    """Operands broadcast against each other, each with its own dtype."""
    shape = broadcast_shapes(*map(shape_of, xs))
    return [Arr(materialise(x, dtype_of(x), shape)) for x in xs]


def scale_count(d: Dim, dtype: str) -> Value:
    """A number of elements as a float scalar."""
    return scalar(d, dtype) if isinstance(d, int) else cast_to(dim_value(d), dtype)
