"""Constants: a number splat over a type, or a NumPy array; and `empty`, memory whose content is not yet defined."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.types import DTYPES, Type, type_of
from irad.errors import IradTypeError
from irad.ops.core import Op

_NUMBERS = (int, float, complex, np.generic, np.ndarray)
_LIMITS = {n: (np.iinfo(d).min, np.iinfo(d).max) for n, d in DTYPES.items() if d.kind in "iu"}


def _whole(value: Any, low: int, high: int) -> bool:
    """Is it a whole number from low to high?"""
    return bool(low <= value <= high) and (not isinstance(value, float) or value.is_integer())


def _infer_const(*, value: Any, type: Type) -> tuple[Type, ...]:
    if isinstance(value, np.ndarray):
        if type_of(value) != type:
            raise IradTypeError(f"constant of type {type} given an array of type {type_of(value)}")
    elif not isinstance(value, _NUMBERS):
        raise IradTypeError(f"a constant is a number or an array, not {value!r}")
    elif type.dtype in _LIMITS and not _whole(value, *_LIMITS[type.dtype]):
        raise IradTypeError(f"{value!r} is no constant of type {type.dtype}")
    if type.dtype == "tape":
        raise IradTypeError("there is no constant tape")
    return (type,)


def _eval_const(*, value: Any, type: Type) -> Any:
    return np.full(type.dims, value, type.numpy)[()] if not isinstance(value, np.ndarray) else value


def _const_interval(*, value: Any, type: Type) -> tuple[float, float]:
    return (float(np.min(value)), float(np.max(value))) if np.size(value) else (0.0, 0.0)


const = Op(
    "const", _infer_const, _eval_const, vjp=lambda ad, node, cts, adj: None, jvp=lambda ad, node, tan: [None], cheap=True,
    exact=True, intervals=_const_interval,
    cost=0, fills=True, doc="value: a Python number, splat over `type` (whose extents may be run-time ones), or a NumPy array of that very type",
)  # fmt: skip

empty = Op(
    "empty", lambda *, type: (type,), lambda *, type: np.zeros(type.shape, type.numpy), vjp=lambda ad, node, cts, adj: None,
    jvp=lambda ad, node, tan: [None], cheap=True,
    cost=0, fills=True, zero_at="anywhere", doc="an array to be written whole before it is read: the destination of a `loop`",
)  # fmt: skip


def scalar(value: Any, dtype: str) -> Any:
    """Emit a rank-0 constant."""
    return const(value=value, type=Type(dtype))
