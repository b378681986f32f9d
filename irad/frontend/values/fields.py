"""Structured arrays as the user's variables hold them: a `Structured` whose children are arrays of the program."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.structured import SCALARS, Bytes, Layout, Structured, assembled, is_structured, parts
from irad.frontend.values.objects import Array, Cell


def stand_in(x: Any) -> Structured:
    """What stands for a structured array or record of NumPy's: its fields, copied."""
    _, layout, children = parts(x)
    return Structured(Layout(layout.dtype, layout.cls), [_child(c) for c in children])


def _child(x: np.ndarray) -> Any:
    return stand_in(x) if is_structured(x) else Array(Cell(np.array(x, x.dtype.newbyteorder("="), order="C")))


def concrete(x: Structured | Bytes) -> Any:
    """The NumPy array that a structured array or an array of strings without traced numbers is."""
    if isinstance(x, Bytes):
        out = np.ascontiguousarray(x.bytes.read()).view(x.dtype)[..., 0]
        return out[()] if x.scalar else out
    return assembled(x.layout, [c.read() if isinstance(c, Array) else concrete(c) for c in x.children])


def arrays(x: Any) -> list[Array]:
    """The arrays of the program in a structured array or an array of strings."""
    if isinstance(x, Array):
        return [x]
    return [x.bytes] if isinstance(x, Bytes) else [a for c in x.children for a in arrays(c)]


def made(like: Structured, children: Any, cls: type | None = None) -> Structured:
    """A structured array of the same dtype, of the class `cls` if it is given, with these fields."""
    return Structured(Layout(like.layout.dtype, cls or like.layout.cls), children)


def array_class(cls: type) -> type:
    """The class of arrays of records of a class, itself for arrays."""
    known: dict[type, type] = {np.void: np.ndarray, np.record: np.recarray}
    return known.get(cls, cls)


def record_class(cls: type) -> type:
    """The class of an element of an array of a class."""
    return SCALARS[array_class(cls) is np.recarray]
