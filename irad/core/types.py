"""Types of values: a dtype and a shape. A scalar is an array of rank 0.

An extent is an `int`, or an `Extent`: an integer known at run time, in affine normal form over SSA values (`n`, `i + 1`, `2*n - 3`;
irad.core.affine), so that equality of extents is equality of normal forms.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from math import prod
from typing import Any, Self, Union

import numpy as np

from irad.core.affine import LINEAR, Affine, applied, symbols
from irad.core.foreign import with_article
from irad.core.lazy_dataclass import dataclass
from irad.errors import IradValueError

NATIVE: dict[str, np.dtype] = {  # what kernels compute with
    "bool": np.dtype(np.bool_), "i8": np.dtype(np.int8), "i16": np.dtype(np.int16), "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64), "u8": np.dtype(np.uint8), "u16": np.dtype(np.uint16), "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64), "f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
}  # fmt: skip
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


def limits(dtype: str) -> tuple[Any, Any]:
    """The lowest and the highest number of a dtype; infinities of floats."""
    if is_float(dtype):
        return -math.inf, math.inf
    if dtype == "bool":
        return False, True
    n = bits(dtype)
    return (-(1 << (n - 1)), (1 << (n - 1)) - 1) if is_signed(dtype) else (0, (1 << n) - 1)


def bits(dtype: str) -> int:
    return DTYPES[dtype].itemsize * 8


@cache
def promote(a: str, b: str) -> str:
    """NumPy's promotion of two array dtypes (no weak Python scalars; the front end handles those)."""
    name = dtype_name(np.promote_types(DTYPES[a], DTYPES[b]))
    assert name is not None
    return name


class Extent(Affine):
    """An integer known at run time, over SSA values: dimensions, and positions and trip counts in the passes.

    An `Affine` whose terms stand in the order of their values' ids, however it came about: so types print the same and the same
    nodes compute an extent; it has no products. This is all that it has of its own.
    """

    __slots__ = ()

    @classmethod
    def of(cls, const: int, coefs: Mapping[Any, int]) -> int | Self:
        terms = tuple(sorted([t for t in coefs.items() if t[1]], key=lambda t: t[0].id))
        return cls(const, terms) if terms else const

    def _product(self, other: Self) -> int | Self:
        raise TypeError(f"the product of {self} and {other} is not affine")

    def __str__(self) -> str:
        return self.show(_shown)


Dim = Union[int, Extent]
affine = Extent.of  # constant, {value: coefficient}


def form(v: Any, node: Any, of: Callable[[Any], Dim]) -> Dim:
    """An i64 scalar in affine form, by the node that makes it (None: v is a symbol) and the forms of its operands."""
    name = "" if node is None else node.op.name
    if name == "const":
        return int(node.attrs["value"])
    made = applied(name, *map(of, node.inputs)) if name in LINEAR else None
    return affine(0, {v: 1}) if made is None else made


def elements(shape: Iterable[Dim], unknown: int) -> int:
    """About how many elements there are, where a run-time extent counts as `unknown`."""
    return prod(d if isinstance(d, int) else unknown for d in shape)


def same_count(a: Iterable[Dim], b: Iterable[Dim]) -> bool:
    """Do two shapes surely have as many elements?"""
    (x, p), (y, q) = _count(a), _count(b)
    return x == y and (p == q or not x)


def quotient(have: Iterable[Dim], by: Iterable[Dim]) -> Dim | None:
    """How many times as many elements a shape has as one of extents that are not 0, if that is a number or affine."""
    (x, p), (y, q) = _count(have), _count(by)
    if not y or x % y or q - p or (p - q).total() > 1:
        return None
    return prod((p - q).elements(), start=x // y)


def unlike(a: Iterable[Dim], b: Iterable[Dim]) -> set[Any]:
    """The values in extents that stand in one of two shapes only."""
    (_, p), (_, q) = _count(a), _count(b)
    return set(symbols(*(p - q), *(q - p)))


def _count(shape: Iterable[Dim]) -> tuple[int, Counter[Extent]]:
    """The number of elements as a number times extents that no number divides."""
    times, extents = 1, Counter[Extent]()
    for d in shape:
        part = d if isinstance(d, int) else math.gcd(d.const, *(k for _, k in d.terms))
        times *= part
        if not isinstance(d, int):
            extents[d // part] += 1  # type: ignore[index]
    return times, extents


def _shown(v: Any) -> str:
    """A run-time extent for people: by the name that a parameter gave it, if any."""
    return v.hint or "?"


@dataclass(frozen=True)
class Type:
    """dtype and shape of a value. dtype "tape" (shape ()) is the linear tape of autodiff."""

    dtype: str
    shape: tuple[Dim, ...] = ()

    @cached_property
    def symbols(self) -> tuple[Any, ...]:
        """The SSA values that the shape mentions."""
        return tuple(dict.fromkeys(symbols(*self.shape)))

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
        return self.show(_shown)

    def show(self, name: Callable[[Any], str]) -> str:
        dims = ",".join(str(d) if isinstance(d, int) else d.show(name) for d in self.shape)
        return f"{self.dtype}[{dims}]" if self.shape else self.dtype


F64, F32, I64, BOOL, TAPE = Type("f64"), Type("f32"), Type("i64"), Type("bool"), Type("tape")


def is_plain(x: np.ndarray) -> bool:
    """Is an array no more than its numbers: no masked array, matrix, quantity with a unit..."""
    return type(x) is np.ndarray or isinstance(x, np.memmap)


def _why_not(d: np.dtype) -> str:
    """What to write instead of an array of a dtype that irad does not have."""
    if dtype_name(d.newbyteorder("=")) is not None:
        return f"the bytes of {d} are in the other order; pass x.astype(x.dtype.newbyteorder('='))"
    if d.kind in "fc":
        return f"{d} has more bits than compiled code computes with; pass x.astype({'complex' if d.kind == 'c' else 'float'})"
    if d.kind == "O":
        return "an array of objects is not supported; if its elements are numbers, pass x.astype(float)"
    return f"dtype {d} is not supported; supported: {', '.join(str(d) for d in DTYPES.values())}"


def type_of(x: Any) -> Type:
    """Type of a NumPy array, NumPy scalar or Python number. Raises TypeError for others, subclasses of arrays included."""
    if isinstance(x, np.ndarray) and not is_plain(x):
        raise TypeError(
            f"{with_article(type(x).__name__)} is not supported: it may mean something else than its numbers; pass np.asarray(...) of it"
        )
    if type(x) is int and not -(2**63) <= x < 2**63:
        raise TypeError(f"the int {x} does not fit into 64 bits")
    a = np.asarray(x)
    name = dtype_name(a.dtype)
    if name is None:
        raise TypeError(_why_not(a.dtype))
    return Type(name, a.shape)


def _meant(text: str) -> str:
    """The type whose dtype NumPy calls so (`float64(3,4)`), or that stands in other brackets, as the end of a message."""
    found = re.fullmatch(r"(?:np\.)?(\w+)(?:[\[(]([\d, ]*?),?[\])])?", text)
    called = {**{str(d): n for n, d in DTYPES.items()}, "float": "f64", "int": "i64", "complex": "c128"}
    dtype = found and (found[1] if found[1] in DTYPES else called.get(found[1]))
    return f"; did you mean {dtype}{f'[{found[2]}]' if found[2] else ''}?" if found and dtype else ""


def parse_type(text: str) -> Type:
    """`f64[3,4]` as a Type. Raises IradValueError for anything else."""
    dtype, bracket, dims = text.partition("[")
    shape = dims.removesuffix("]").split(",") if bracket else []
    if (
        dtype not in DTYPES
        or bracket
        and not dims.endswith("]")
        or not all(d.strip().isdigit() for d in shape if d != "" or len(shape) > 1)
    ):
        raise IradValueError(
            f"{text!r} is not a type; write a dtype and a shape, such as f64, f32[3,4] (dtypes: {', '.join(DTYPES)}){_meant(text)}"
        )
    return Type(dtype, tuple(int(d) for d in shape if d.strip()))
