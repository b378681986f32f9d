"""Types of values: a dtype and a shape. A scalar is an array of rank 0.

An extent is an `int`, or an `Extent`: an integer known at run time, in affine normal form over SSA values
(`n`, `i + 1`, `2*n - 3`), so that equality of extents is equality of normal forms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from math import prod
from typing import Any, Union

import numpy as np

from irad.core.lazy_dataclass import dataclass

NATIVE: dict[str, np.dtype] = {  # what kernels compute with
    "bool": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
COMPLEX: dict[str, np.dtype] = {"c64": np.dtype(np.complex64), "c128": np.dtype(np.complex128)}  # pairs of f32, of f64
DTYPES: dict[str, np.dtype] = {**NATIVE, **COMPLEX}
_NAMES = {(d.kind, d.itemsize): n for n, d in DTYPES.items()}


def dtype_name(dtype: Any) -> str | None:
    """irad's name of a NumPy dtype (`f64` for float64), or None if irad does not have it (object, str, longdouble...)."""
    d = np.dtype(dtype)
    return _NAMES.get((d.kind, d.itemsize)) if d.isnative else None


def is_float(dtype: str) -> bool:
    """A real floating-point dtype."""
    return dtype[0] == "f"


def is_complex(dtype: str) -> bool:
    return dtype[0] == "c"


def real_dtype(dtype: str) -> str:
    """dtype of the parts of a complex dtype; any other dtype as it is."""
    return {"c64": "f32", "c128": "f64"}.get(dtype, dtype)


def complex_dtype(dtype: str) -> str:
    """The complex dtype that holds a dtype: c64 for f16, f32 and c64, else c128."""
    return "c64" if dtype in ("f16", "f32", "c64") else "c128"


def is_int(dtype: str) -> bool:
    """Signed or unsigned integer; bool is not one."""
    return dtype[0] == "i" or (dtype[0] == "u" and dtype != "u")


def is_signed(dtype: str) -> bool:
    return dtype[0] == "i"


def bits(dtype: str) -> int:
    return DTYPES[dtype].itemsize * 8


@cache
def promote(a: str, b: str) -> str:
    """NumPy's promotion of two array dtypes (no weak Python scalars; the front end handles those)."""
    name = dtype_name(np.promote_types(DTYPES[a], DTYPES[b]))
    assert name is not None
    return name


@dataclass(frozen=True)
class Extent:
    """const + sum of coefficient * SSA value. Never constant: a constant extent is an `int`. Build with `affine`."""

    const: int
    terms: tuple[tuple[Any, int], ...]  # (Value, coefficient), coefficient != 0, in order of Value.id

    def __add__(self, other: Dim) -> Dim:
        if isinstance(other, int):
            return Extent(self.const + other, self.terms)
        coefs = dict(self.terms)
        for v, c in other.terms:
            coefs[v] = coefs.get(v, 0) + c
        return affine(self.const + other.const, coefs)

    __radd__ = __add__

    def __mul__(self, k: int) -> Dim:
        return affine(self.const * k, {v: c * k for v, c in self.terms})

    __rmul__ = __mul__

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        return self + (-other)

    def __rsub__(self, other: int) -> Dim:
        return -self + other

    def rename(self, get: Callable[[Any], Any]) -> Dim:
        coefs: dict[Any, int] = {}
        for v, c in self.terms:
            w = get(v)
            coefs[w] = coefs.get(w, 0) + c
        return affine(self.const, coefs)

    def __str__(self) -> str:
        return self.show(lambda v: f"%{v.hint or v.id}")

    def show(self, name: Callable[[Any], str]) -> str:
        """As text: `%n`, `%i+1`, `2*%n-3`."""
        out = ""
        for v, c in self.terms:
            sign = "-" if c < 0 else "+" if out else ""
            out += sign + (f"{abs(c)}*" if abs(c) != 1 else "") + name(v)
        return out + (f"{self.const:+d}" if self.const else "")


Dim = Union[int, Extent]


def affine(const: int, coefs: Mapping[Any, int]) -> Dim:
    """Normal form of an affine integer: an `int` if no SSA value is left in it."""
    terms = tuple(sorted(((v, c) for v, c in coefs.items() if c), key=lambda t: t[0].id))
    return Extent(const, terms) if terms else const


@dataclass(frozen=True)
class Type:
    """dtype and shape of a value. dtype "tape" (shape ()) is the linear tape of autodiff."""

    dtype: str
    shape: tuple[Dim, ...] = ()

    @cached_property
    def symbols(self) -> tuple[Any, ...]:
        """The SSA values that the shape mentions."""
        return tuple(dict.fromkeys(v for d in self.shape if not isinstance(d, int) for v, _ in d.terms))

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def static(self) -> bool:
        return not self.symbols

    @property
    def dims(self) -> tuple[int, ...]:
        """The extents of a static shape."""
        assert self.static, f"{self} has a run-time extent"
        return self.shape  # type: ignore[return-value]

    @property
    def size(self) -> int:
        """Number of elements; the shape must be static."""
        return prod(self.dims)

    @property
    def differentiable(self) -> bool:
        """Real or complex floating point."""
        return self.dtype[0] in "fc"

    @property
    def numpy(self) -> np.dtype:
        return DTYPES[self.dtype]

    def with_dtype(self, dtype: str) -> Type:
        return Type(dtype, self.shape)

    def with_shape(self, shape: tuple[Dim, ...]) -> Type:
        return Type(self.dtype, tuple(shape))

    def rename(self, get: Callable[[Any], Any]) -> Type:
        """The same type with the SSA values in its extents renamed."""
        if not self.symbols:
            return self
        return Type(self.dtype, tuple(d if isinstance(d, int) else d.rename(get) for d in self.shape))

    def __str__(self) -> str:
        return self.show(lambda v: f"%{v.hint or v.id}")

    def show(self, name: Callable[[Any], str]) -> str:
        dims = ",".join(str(d) if isinstance(d, int) else d.show(name) for d in self.shape)
        return f"{self.dtype}[{dims}]" if self.shape else self.dtype


F64, F32, I64, BOOL, TAPE = Type("f64"), Type("f32"), Type("i64"), Type("bool"), Type("tape")


def is_plain(x: np.ndarray) -> bool:
    """Is an array no more than its numbers: no masked array, matrix, quantity with a unit..."""
    return type(x) is np.ndarray or isinstance(x, np.memmap)


def type_of(x: Any) -> Type:
    """Type of a NumPy array, NumPy scalar or Python number. Raises TypeError for others, subclasses of arrays included."""
    if isinstance(x, np.ndarray) and not is_plain(x):
        raise TypeError(
            f"a {type(x).__name__} is not supported: it may mean something else than its numbers; pass np.asarray(...) of it"
        )
    if type(x) is int and not -(2**63) <= x < 2**63:
        raise TypeError(f"the int {x} does not fit into 64 bits")
    a = np.asarray(x)
    name = dtype_name(a.dtype)
    if name is None:
        raise TypeError(f"dtype {a.dtype} is not supported; supported: {', '.join(str(d) for d in DTYPES.values())}")
    return Type(name, a.shape)
