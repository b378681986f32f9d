"""The memory order of new arrays: what NumPy computes of Fortran-ordered arrays is Fortran-ordered too, for most functions.

It matters where such an array is reshaped or raveled and then stored into. Of C-contiguous operands all functions make
C-contiguous arrays, but for index arrays that stand behind a slice; so most calls have nothing to find out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from irad.core.foreign import base_items
from irad.frontend.values.arr import Arr
from irad.frontend.values.layout import f_strides, in_memory_order, memory_order, of_elementwise
from irad.frontend.values.objects import Array

_KEEPING = {
    np.where, np.clip, np.round, np.around, np.nan_to_num, np.sort, np.real, np.zeros_like, np.ones_like, np.empty_like,
    np.full_like,
}  # fmt: skip
_MAKING = {np.zeros, np.ones, np.empty, np.full}
KEEPING_METHODS = {"clip", "round"}


def of_call(out: Any, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a call of NumPy, with its strides."""
    order = kwargs.get("order")
    if order in ("F", "C") and (_among(fn, _MAKING) or _among(fn, _KEEPING)) and isinstance(out, Array):
        if order == "F" and out.type.static:
            out.laid_out(f_strides(out.type.dims))
        return out
    return of_operation(out, [*args, *kwargs.values()], isinstance(fn, np.ufunc) and fn.signature is None or _among(fn, _KEEPING))


def _among(fn: Any, those: set[Any]) -> bool:
    try:
        return fn in those
    except TypeError:
        return False


def of_operation(out: Any, operands: Iterable[Any], elementwise: bool) -> Any:
    """The result of an operation on arrays, with its strides; `elementwise`: it keeps the memory order of its operands."""
    sources = [x for x in _arrays(operands) if x.contiguous is not True]
    if sources:
        every = [(x.shape, x.strides) for x in _arrays(operands)] if elementwise else None
        for x in _arrays(out if isinstance(out, (tuple, list)) else (out,)):
            fits = every is not None and x.type.static and all(len(s) <= len(x.shape) for s, _ in every)
            x.laid_out(of_elementwise(x.shape, every) if fits and every is not None else None)
    return out


def _arrays(xs: Iterable[Any]) -> Iterator[Array]:
    """The arrays of more than one axis, in lists and tuples too."""
    for x in xs:
        if isinstance(x, (list, tuple)):
            yield from _arrays(base_items(x))
        elif isinstance(x, Array) and len(x.shape) > 1:
            yield x


def of_gather(out: Any, x: Array, key: Any) -> Any:
    """What an index with arrays gives, with its strides: found by a small example of the same form."""
    if not isinstance(out, Array) or len(out.shape) < 2:
        return out
    items = key if isinstance(key, tuple) else (key,)
    if x.strides is None and x.loose or not out.type.static:
        return out.laid_out(None)
    order = range(len(x.shape)) if x.strides is None else memory_order(x.strides)
    small = np.zeros((2,) * len(x.shape), np.int8).transpose(np.argsort(order))
    like = small[tuple(map(_example, items))]
    return out.laid_out(in_memory_order(out.shape, memory_order(like.strides)))


def _example(k: Any) -> Any:
    if k is None or k is Ellipsis or isinstance(k, slice):
        return slice(None) if isinstance(k, slice) else k
    shape = k.shape if isinstance(k, Arr) else np.shape(k)
    mask = k.name == "bool" if isinstance(k, Arr) else np.asarray(k).dtype == bool
    return np.ones((2,) * len(shape), bool) if mask else np.zeros((2,) * len(shape), np.int64) if shape else 0
