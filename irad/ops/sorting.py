"""Sorting along one axis: NaN last, ties in their old order. The derivative of `sort` is the permutation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Type
from irad.errors import IradTypeError
from irad.ops.array import index, iota
from irad.ops.core import Op


def _infer_sort(x: Type, *, axis: int) -> tuple[Type, ...]:
    if not 0 <= axis < x.rank:
        raise IradTypeError(f"sort of {x}: there is no axis {axis}")
    return (x,)


def gather_along(t: Type, at: Value, axis: int) -> tuple[list[Value], tuple[str, ...]]:
    """Operands and spec of the `index` family that take, at each place, element `at` of the axis."""
    positions = [at if k == axis else iota(type=at.type, axis=k) for k in range(t.rank)]
    return positions, ("g",) * t.rank


def _vjp_sort(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    (x,), axis = node.inputs, node.attrs["axis"]
    at, spec = gather_along(x.type, argsort(ad.need(x), axis=axis), axis)
    adj.scatter(x, cts[0], at, spec)


def _jvp_sort(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    (x,), axis = node.inputs, node.attrs["axis"]
    at, spec = gather_along(x.type, argsort(x, axis=axis), axis)
    return [index(tan.get(x), *at, spec=spec)]


argsort = Op("argsort", lambda t, *, axis: (_infer_sort(t, axis=axis)[0].with_dtype("i64"),),
             lambda x, *, axis: np.argsort(x, axis, kind="stable").astype(np.int64),
             intervals=lambda a, **_: (0, float("inf")), doc="positions that sort the axis; stable, NaN last")  # fmt: skip
sort = Op("sort", _infer_sort, lambda x, *, axis: np.sort(x, axis, kind="stable"), _vjp_sort, _jvp_sort,
          intervals=lambda a, **_: a, doc="ascending, NaN last; the slopes go with the elements, ties in their old order")  # fmt: skip
