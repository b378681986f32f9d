"""NumPy functions that repeat or re-order elements: tile, repeat, roll."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.once import import_later
from irad.core.types import Type
from irad.errors import IradValueError
from irad.frontend.numpy.elementwise import apply_ufunc
from irad.frontend.numpy.shape import ravel
from irad.frontend.registry import numpy
from irad.frontend.values.arr import Arr, from_dim, lift, materialise, normalize_axis, size_of, static_int, static_value
from irad.frontend.values.index import getitem
from irad.ops.array import concat, iota, reshape_to, slice_axis
from irad.ops.intervals import bound, dim_interval


@numpy("tile")
def tile(A: Any, reps: Any) -> Arr:
    """np.tile, with static repetitions."""
    x = lift(A)
    counts = [static_int(r, "a repetition") for r in (reps if isinstance(reps, (tuple, list, np.ndarray)) else (reps,))]
    ndim = max(x.ndim, len(counts))
    counts = [1] * (ndim - len(counts)) + counts
    v = reshape_to(x.value, (1,) * (ndim - x.ndim) + x.shape)
    for k, c in enumerate(counts):
        v = _tile_axis(v, k, c)
    return Arr(v)


def _tile_axis(v: Value, k: int, count: int) -> Value:
    s = v.type.shape
    if count == 1:
        return v
    if count <= 0 or not v.type.static:
        return slice_axis(v, k, 0, 0) if count <= 0 else concat(*[v] * count, axis=k)
    wide = materialise(Arr(reshape_to(v, (*s[:k], 1, *s[k:]))), v.type.dtype, (*s[:k], count, *s[k:]))
    return reshape_to(wide, (*s[:k], s[k] * count, *s[k + 1 :]))


@numpy("repeat", method="repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Arr:
    """np.repeat: a static number of times, or as often as an array says for each element."""
    x = lift(a) if axis is not None else ravel(a)
    k = normalize_axis(axis, x.ndim) if axis is not None else 0
    n = x.shape[k]
    if isinstance(repeats, Arr) and repeats.shape:
        return import_later("irad.frontend.numpy.bincount").repeated(x, k, ravel(repeats))  # seldom wanted
    if not isinstance(n, int):
        count = static_int(repeats, "repeats")
        if count < 0:
            raise IradValueError("repeats may not contain negative values.")
        at = iota(type=Type("i64", (size_of((n, count)),)), axis=0) // max(count, 1)
        bound(at, 0, max(dim_interval(n)[1] - 1, 0))
        return getitem(x, (slice(None),) * k + (Arr(at),))
    counts = np.broadcast_to(np.asarray(static_value(repeats, "repeats"), dtype=np.int64).reshape(-1), (n,))
    if n and (counts == counts[0]).all() and x.value.type.static:
        s, c = x.shape, int(counts[0])
        wide = materialise(Arr(reshape_to(x.value, (*s[: k + 1], 1, *s[k + 1 :]))), x.name, (*s[: k + 1], c, *s[k + 1 :]))
        return Arr(reshape_to(wide, (*s[:k], n * c, *s[k + 1 :])))
    return getitem(x, (slice(None),) * k + (np.repeat(np.arange(n), counts),))


@numpy("roll")
def roll(a: Any, shift: Any, axis: Any = None) -> Arr:
    """np.roll; the shift may be traced (a gather then)."""
    x = lift(a)
    if axis is None:
        return Arr(reshape_to(roll(ravel(x), shift, 0).value, x.shape))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,)
    for s, k in np.broadcast(np.array(shifts, dtype=object), np.array(axes, dtype=object)):
        x = _roll_axis(x, s, normalize_axis(k, x.ndim))
    return Arr(x.value)


def _roll_axis(x: Arr, shift: Any, k: int) -> Arr:
    n = x.shape[k]
    if isinstance(shift, Arr) or not isinstance(n, int):
        return _roll_gather(x, shift, k)
    s = static_int(shift, "shift") % n if n else 0
    if s == 0:
        return x
    return Arr(concat(slice_axis(x.value, k, n - s, s), slice_axis(x.value, k, 0, n - s), axis=k))


def _roll_gather(x: Arr, shift: Any, k: int) -> Arr:
    """y[i] = x[(i - shift) mod n] for a shift or an extent known at run time."""
    n = x.shape[k]
    places = Arr(iota(type=Type("i64", (n,)), axis=0))
    at = apply_ufunc("remainder", apply_ufunc("subtract", places, shift), from_dim(n))
    bound(at.value, 0, max(dim_interval(n)[1] - 1, 0))
    return getitem(x, (slice(None),) * k + (at,))
