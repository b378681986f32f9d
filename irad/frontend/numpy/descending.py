"""Sorting from the largest: what is given to np.sort, and numbers in opposite order."""

from __future__ import annotations

from typing import Any

from irad.core.ir import Value
from irad.core.types import is_complex, is_float
from irad.errors import IradTypeError, IradValueError
from irad.frontend.registry import ABSENT, refuse_keywords
from irad.frontend.values.arr import is_traced


def descends(fn: Any, kind: Any, stable: Any, descending: Any) -> bool:
    """Whether np.sort or np.argsort sorts from the largest; keywords are those of the installed NumPy."""
    refuse_keywords(fn, stable=stable, descending=descending)
    given = [k for k in (stable, descending) if k is not ABSENT and k is not None]
    if kind is not None and given:
        raise IradValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")
    if any(is_traced(k) for k in given):
        raise IradTypeError("stable and descending must be known at compile time")
    return descending is not ABSENT and bool(descending)


def mirrored(x: Value) -> Value:
    """The numbers in opposite order, NaN still last: the stable order of these is the stable descending order of x."""
    if x.type.dtype == "bool":
        return ~x
    return -x if is_float(x.type.dtype) or is_complex(x.type.dtype) else ~x
