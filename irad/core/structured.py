"""NumPy structured arrays (arrays of records with named fields) as nodes of trees: one child for each field.

A child is a strided view into the array, so that a store into it is a store into the array. Fields of numbers are numbers,
in either byte order; nested records are nodes again; strings, times and other fixed-size data are their bytes, in one more axis. A
dtype with objects in it, or with fields that overlap, cannot be taken apart (`why_not`).
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from irad.core.lazy_dataclass import dataclass
from irad.core.types import Type, dtype_name

ARRAYS, SCALARS = (np.ndarray, np.memmap, np.recarray), (np.void, np.record)
_BYTES = "SUVMmfc"  # kinds that are kept as bytes where irad has no numbers of that dtype: longdouble is one of them


@dataclass(frozen=True, eq=False)
class Field:
    """One field: `dtype` and `shape` of what an element of the array holds there.

    `kind`: "number", "record" or "bytes". `view`: the dtype, with its shape, of the child; `offset`: of the child in an element.
    """

    name: str
    kind: str
    dtype: np.dtype
    shape: tuple[int, ...]
    view: np.dtype
    offset: int

    @property
    def rank(self) -> int:
        """Axes of the child behind those of the array."""
        return len(self.shape) + (self.kind == "bytes")

    @property
    def differentiable(self) -> bool:
        """Real or complex floating point, which has a derivative; everything else is data."""
        return self.kind == "number" and self.dtype.kind in "fc"


@cache
def fields(dtype: np.dtype) -> tuple[Field, ...]:
    """The fields of a structured dtype, in order."""
    assert dtype.names is not None and dtype.fields is not None
    return tuple(_field(name, *dtype.fields[name][:2]) for name in dtype.names)


def _field(name: str, dtype: np.dtype, offset: int) -> Field:
    base, shape = dtype.subdtype or (dtype, ())
    if base.names is not None:
        return Field(name, "record", base, shape, dtype, offset)
    if dtype_name(base.newbyteorder("=")) is not None:
        return Field(name, "number", base, shape, dtype, offset)
    return Field(name, "bytes", base, shape, np.dtype((np.uint8, (*shape, base.itemsize))), offset)


@cache
def why_not(dtype: np.dtype) -> str:
    """Why a structured dtype cannot be taken apart; "" if it can be."""
    if not dtype.names:
        return "a structured array without fields is not supported"
    end = 0
    for f in sorted(fields(dtype), key=lambda f: f.offset):
        if f.kind == "record" and why_not(f.dtype):
            return why_not(f.dtype)
        if f.kind == "bytes" and (f.dtype.kind not in _BYTES or not f.dtype.itemsize):
            return f"field {f.name!r} of dtype {f.dtype} is not supported: pass the other fields, p[[...]] or one by one"
        if f.offset < end:
            return f"field {f.name!r} shares memory with another field: pass the fields one by one, as arrays"
        end = f.offset + f.view.itemsize
    return ""


def is_structured(x: Any) -> bool:
    """A structured array or record of NumPy's own classes that can be taken apart."""
    return type(x) in _CLASSES and x.dtype.names is not None and not why_not(x.dtype)


_CLASSES = frozenset((*ARRAYS, *SCALARS))


class Layout:
    """The static part of a node: its dtype and class. `whole` gives the array that was taken apart, while it lives."""

    __slots__ = ("dtype", "cls", "whole")

    def __init__(self, dtype: np.dtype, cls: type, whole: Any = None):
        self.dtype, self.cls, self.whole = dtype, cls, whole

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.cls is other.cls and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((self.cls, self.dtype))

    @property
    def fields(self) -> tuple[Field, ...]:
        return fields(self.dtype)

    @property
    def scalar(self) -> bool:
        """Is it a record, whose numbers are NumPy scalars, and not an array?"""
        return self.cls in SCALARS


class Structured:
    """A structured array or record in parts that are not all of NumPy: traced ones, or types of arguments."""

    __slots__ = ("layout", "children")

    def __init__(self, layout: Layout, children: Sequence[Any]):
        self.layout, self.children = layout, tuple(children)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape of the array, without the axes of a field."""
        dims = self.children[0].shape
        return tuple(dims[: len(dims) - self.layout.fields[0].rank])


class Bytes:
    """An array of strings by its bytes, which are its last axis: a field of a `Structured`. `scalar`: a single NumPy string."""

    __slots__ = ("dtype", "bytes", "scalar")

    def __init__(self, dtype: np.dtype, data: Any, scalar: bool):
        self.dtype, self.bytes, self.scalar = dtype, data, scalar

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(self.bytes.shape[:-1])


def parts(x: Any) -> tuple[type, Any, Sequence[Any]]:
    """A structured array, one in parts, or an array of strings in parts: (class, static part, children)."""
    if isinstance(x, Structured):
        return Structured, x.layout, x.children
    if isinstance(x, Bytes):
        return Bytes, (x.dtype, x.scalar), (x.bytes,)
    cls = np.ndarray if type(x) is np.memmap else type(x)
    found = fields(x.dtype)
    if cls in SCALARS:
        plain, whole = np.asarray(x), None
    else:
        plain, whole = x.view(np.ndarray) if type(x) is np.recarray else x, weakref.ref(x)
    return Structured, Layout(x.dtype, cls, whole), [child(plain, f) for f in found]


def child(x: np.ndarray, f: Field) -> np.ndarray:
    """The view of an array that is its field f."""
    return x.getfield(f.view, f.offset)


def rebuild(cls: type, meta: Any, children: Sequence[Any]) -> Any:
    """What `parts` took apart, with other children: NumPy's own array or record if they are NumPy's or Python's numbers."""
    real = all(isinstance(c, (np.ndarray, np.generic, bool, int, float, complex)) for c in children)
    if cls is Bytes:
        dtype, scalar = meta
        if not real:
            return Bytes(dtype, children[0], scalar)
        out = np.ascontiguousarray(children[0], np.uint8).view(dtype)[..., 0]
        return out[()] if scalar else out
    return assembled(meta, children) if real else Structured(meta, children)


def assembled(layout: Layout, children: Sequence[Any]) -> Any:
    """A structured array or record of these fields."""
    dims = np.shape(children[0])
    out = np.zeros(dims[: max(0, len(dims) - layout.fields[0].rank)], layout.dtype)
    for f, x in zip(layout.fields, children):
        child(out, f)[...] = x
    if layout.cls is np.recarray:
        return out.view(np.recarray)
    return out[()] if layout.scalar else out


def bytes_of(dtype: np.dtype, values: Any) -> np.ndarray:
    """Strings in a dtype, cut to its length, as bytes in one more axis."""
    cut = np.ascontiguousarray(np.asarray(values).astype(dtype))
    return cut.reshape((*np.shape(values), 1)).view(np.uint8)


def field_type(x: np.ndarray) -> Type | None:
    """The type of the numbers in a child, in either byte order."""
    name = dtype_name(x.dtype.newbyteorder("="))
    return None if name is None else Type(name, x.shape)
