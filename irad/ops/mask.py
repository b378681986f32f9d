"""Boolean masks: the positions that a mask selects, as an array whose extent is the number of true elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.types import Dim, Type
from irad.errors import IradTypeError
from irad.ops.core import Op


def _infer_nonzero(mask: Type, *, size: Dim) -> tuple[Type, ...]:
    if mask.dtype != "bool":
        raise IradTypeError(f"nonzero wants a bool array, not {mask}")
    return (Type("i64", (size,)),)


def _eval_nonzero(mask: Any, *, size: int) -> Any:
    found = np.flatnonzero(mask)
    assert len(found) == size, f"nonzero: {len(found)} elements are true, {size} announced"
    return found.astype(np.int64)


nonzero = Op("nonzero", _infer_nonzero, _eval_nonzero, intervals=lambda a, **_: (0, float("inf")),
             vjp=lambda ad, node, cts, adj: None, jvp=lambda ad, node, tan: [None],
             doc="flat C-order positions of the true elements; `size` is their number, counted before")  # fmt: skip
