"""What LLVM text is made of: types, literals, values and scopes."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable
from typing import Any

from irad.core.types import bits, is_float

LLVM = {"f64": "double", "f32": "float", "f16": "half", "bool": "i1", "ptr": "ptr"}
LLVM.update({f"{s}{n}": f"i{n}" for s in "iu" for n in (8, 16, 32, 64)})
MEMORY = {**LLVM, "bool": "i8"}  # how a dtype lies in memory


def split_declared(lines: Iterable[str]) -> tuple[list[str], set[str]]:
    """The lines of a text that declare nothing, in order, and the declarations, which a module may have but once."""
    lines = list(lines)
    declared = {line for line in lines if line.startswith("declare ")}
    return [line for line in lines if line not in declared], declared


class Val:
    """An SSA value or literal: its text, dtype, lanes, LLVM type and the depth of the scope that defines it."""

    __slots__ = ("n", "dtype", "lanes", "ty", "d")

    def __init__(self, n: str, dtype: str, lanes: int, ty: str, d: int):
        self.n, self.dtype, self.lanes, self.ty, self.d = n, dtype, lanes, ty, d

    def __lt__(self, other: Any) -> bool:
        """The order of factors of a product, by their names."""
        return self.n < other.n

    def __repr__(self) -> str:
        return f"{self.ty} {self.n}"


class Scope:
    """Text under construction. `label` is its current block; loads may not move above depth `guard`."""

    __slots__ = ("lines", "cse", "label", "stores", "guard", "floor")

    def __init__(self, label: str, stores: frozenset[str], guard: int, floor: int):
        self.lines: list[str] = []
        self.cse: dict[Any, Val] = {}
        self.label, self.stores, self.guard, self.floor = label, stores, guard, floor


@functools.cache
def type_text(dtype: str, lanes: int) -> str:
    """LLVM's type of `lanes` values of a dtype in registers."""
    return LLVM[dtype] if lanes == 1 else f"<{lanes} x {LLVM[dtype]}>"


@functools.cache
def suffix(dtype: str, lanes: int) -> str:
    """The part of an overloaded intrinsic's name that a type gives: `v8f64`, `i32`."""
    s = "i1" if dtype == "bool" else f"f{dtype[1:]}" if dtype[0] == "f" else f"i{dtype[1:]}"
    return s if lanes == 1 else f"v{lanes}{s}"


EITHER = " ; either"  # at the end of a selection: data decide, and nobody can foretell


def literal(value: Any, dtype: str) -> str:
    """LLVM's text of a scalar constant; floats as the bits of the value rounded to the dtype."""
    if dtype == "bool":
        return "true" if value else "false"
    if not is_float(dtype):
        half = 1 << (bits(dtype) - 1)
        return str((int(value) + half) % (2 * half) - half)  # LLVM's integers have no sign: unsigned ones wrap
    x = float(value)
    if dtype == "f16":
        return f"0xH{struct.unpack('<H', _half(x))[0]:04X}"
    if dtype == "f32":
        x = _single(x)
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def _single(x: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return float("inf") if x > 0 else -float("inf")


def _half(x: float) -> bytes:
    try:
        return struct.pack("<e", x)
    except OverflowError:
        return struct.pack("<e", float("inf") if x > 0 else -float("inf"))
