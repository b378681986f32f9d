"""NumPy's sorting and searching."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import is_complex, is_float
from irad.errors import IradTypeError, IradValueError
from irad.frontend.numpy import complex_order
from irad.frontend.numpy.gather import take_along_axis
from irad.frontend.numpy.join import items_of
from irad.frontend.numpy.shape import ravel
from irad.frontend.registry import ABSENT, numpy, refuse_keywords
from irad.frontend.values.arr import Arr, in_f32, is_traced, lift, materialise, normalize_axis, result_dtype
from irad.frontend.values.index import getitem
from irad.ops import elementwise as ew
from irad.ops import sorting
from irad.ops.array import dim_value
from irad.ops.constant import const
from irad.ops.elementwise import select
from irad.ops.intervals import bound, dim_interval

# ---- sorting -------------------------------------------------------------------------------------------------------


def _descends(fn: Any, kind: Any, stable: Any, descending: Any) -> bool:
    """Whether np.sort or np.argsort sorts from the largest; keywords are those of the installed NumPy."""
    refuse_keywords(fn, stable=stable, descending=descending)
    given = [k for k in (stable, descending) if k is not ABSENT and k is not None]
    if kind is not None and given:
        raise IradValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")
    if any(is_traced(k) for k in given):
        raise IradTypeError("stable and descending must be known at compile time")
    return descending is not ABSENT and bool(descending)


def _mirrored(x: Value) -> Value:
    """The numbers in opposite order, NaN still last: the stable order of these is the stable descending order of x."""
    if x.type.dtype == "bool":
        return ~x
    return -x if is_float(x.type.dtype) or is_complex(x.type.dtype) else ~x


def _line(a: Any, axis: Any) -> tuple[Arr, int]:
    x = ravel(a) if axis is None else lift(a)
    return x, 0 if axis is None else normalize_axis(axis, x.ndim)


@numpy("sort")
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = ABSENT, descending: Any = ABSENT) -> Arr:
    """np.sort: stable whatever `kind` says; NaN last, also where it descends (a keyword since NumPy 2.5)."""
    x, k = _line(a, axis)
    down = _descends(np.sort, kind, stable, descending)
    if is_complex(x.name):
        key = _mirrored(x.value) if down else x.value
        return Arr(complex_order.taken(x.value, complex_order.order(key, k), k))
    if down:
        return Arr(_mirrored(in_f32(sorting.sort, _mirrored(x.value), axis=k)))
    return Arr(in_f32(sorting.sort, x.value, axis=k))


@numpy("partition")
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Arr:
    """np.partition: the sorted array, which is one of the orders that NumPy allows."""
    return sort(a, axis)


@numpy("argsort", method="argsort")
def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = ABSENT, descending: Any = ABSENT
) -> Arr:
    """np.argsort: stable whatever `kind` says (NumPy leaves the order of ties open unless it is asked for); as np.sort."""
    x, k = _line(a, axis)
    key = _mirrored(x.value) if _descends(np.argsort, kind, stable, descending) else x.value
    at = complex_order.order(key, k) if is_complex(x.name) else in_f32(sorting.argsort, key, axis=k)
    bound(at, 0, max(dim_interval(x.shape[k])[1] - 1, 0))
    return Arr(at)


@numpy("argpartition", method="argpartition")
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Arr:
    """np.argpartition: the argsort, which is one of the orders that NumPy allows."""
    return argsort(a, axis)


@numpy("lexsort")
def lexsort(keys: Any, axis: Any = -1) -> Arr:
    """np.lexsort: by the last key first; one stable sort per key."""
    order: Arr | None = None
    for key in items_of(keys):
        k = lift(key)
        if order is None:
            order = argsort(k, axis)
        else:
            step = argsort(take_along_axis(k, order, axis), axis)
            order = take_along_axis(order, step, axis)
    if order is None:
        raise IradTypeError("need sequence of keys with len > 0 in lexsort")
    return order


# ---- searching -----------------------------------------------------------------------------------------------------


@numpy("searchsorted", method="searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Arr:
    """np.searchsorted by bisection: one gather per bit of the length. NaN counts as largest, as in np.sort."""
    if side not in ("left", "right"):
        raise IradValueError(f"search side must be 'left' or 'right' (got {side!r})")
    x = lift(a) if sorter is None else getitem(lift(a), sorter)
    if x.ndim != 1:
        raise IradValueError("object too deep for desired array")
    name = result_dtype(Arr(x.value), v)
    line, want = lift(x, name).value, lift(v, name).value
    at = _bisect(line, want, strict=side == "left")
    return Arr(at)


def _before(x: Value, y: Value, strict: bool) -> Value:
    """x < y (or <=) in sorting order, where NaN is the largest."""
    if not is_float(x.type.dtype):
        return x < y if strict else x <= y
    if strict:
        return (x < y) | ew.isnan(y) & ~ew.isnan(x)
    return (x <= y) | ew.isnan(y)


def _bisect(line: Value, want: Value, strict: bool) -> Value:
    """How many elements of the sorted line stand before each wanted value: bits of the count, highest first."""
    (n,) = line.type.shape
    most = min(dim_interval(n)[1], 2**40)  # more than fits into memory
    t = want.type.with_dtype("i64")
    found = const(value=0, type=t)
    size = materialise(Arr(dim_value(n)), "i64", t.shape)
    for bit in reversed(range(int(most).bit_length())):
        reach = found + (1 << bit)
        fits = reach <= size
        at = select(fits, reach, 1) - 1
        bound(at, 0, most - 1)
        here = getitem(Arr(line), Arr(at)).value
        found = select(fits & in_f32(lambda x, y: _before(x, y, strict), here, want), reach, found)
    bound(found, 0, most)
    return found
