"""NumPy functions whose views pick elements in another way than an index: diagonals, broadcasts, windows, `einsum`, `as_strided`."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.types import Dim, Type
from irad.errors import UnsupportedError
from irad.frontend.numpy.table import TABLE, lookup
from irad.frontend.numpy.views import MANY, at, ghost_of, register, reshaped
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, broadcast_shapes, is_traced, lift, shape_of
from irad.frontend.values.index import getitem
from irad.frontend.values.objects import Array
from irad.frontend.values.steps import Picked
from irad.ops.array import reshape_to

_READ_ONLY = "assignment destination is read-only (np.{} returns a read-only view); store into the array itself, or copy it"
_OVERLAP = (
    "elements of the result of {} share memory, so a store into it is not followed; copy it, or store into the array itself"
)


def picked(r: Reader, x: Array, fn: Any, *args: Any, frozen: str = "", **kwargs: Any) -> Array:
    """What a NumPy function picks from x, as a view; `frozen`: why it cannot be written."""
    builder = lookup(fn)
    assert builder is not None

    def pick(a: Any) -> Any:
        return builder(a, *args, **kwargs) if isinstance(a, Arr) or is_traced(args) else fn(a, *args, **kwargs)

    if x.type.static and not is_traced(args):
        like = fn(ghost_of(x), *args, **kwargs)
        return _view(x, pick, like.shape, None if x.strides is None else like.strides, frozen)
    return _view(x, pick, lift(pick(r.read(x))).shape, None, frozen)


def _view(x: Array, pick: Any, shape: tuple[Dim, ...], strides: tuple[int, ...] | None, frozen: str) -> Array:
    return x.view(Picked(pick, shape), Type(x.type.dtype, shape), strides, frozen)


# ---- broadcasts -----------------------------------------------------------------------------------------------------


@register("broadcast_to")
def broadcast_to(r: Reader, array: Array, shape: Any, subok: bool = False) -> Any:
    return picked(r, array, np.broadcast_to, shape, frozen=_READ_ONLY.format("broadcast_to"))


def _spread(r: Reader, x: Any, shape: tuple[Dim, ...], name: str) -> Any:
    """x broadcast to a shape: a view that may be read."""
    if isinstance(x, Array) and x.shape == shape:
        return at(r, x, Ellipsis)
    if not isinstance(x, Array):
        return r.wrap(TABLE[np.broadcast_to](x, shape), zero_d=True)
    return picked(r, x, np.broadcast_to, shape, frozen=_OVERLAP.format(name))


def broadcast_arrays(r: Reader, *args: Any, subok: bool = False) -> Any:
    shape = broadcast_shapes(*(shape_of(r.operand(a)) for a in args))
    if all(shape_of(r.operand(a)) == shape for a in args):
        return tuple(a if isinstance(a, Array) else r.wrap(lift(a), zero_d=True) for a in args)
    return tuple(_spread(r, a, shape, "np.broadcast_arrays") for a in args)


def meshgrid(r: Reader, *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if copy or not any(isinstance(x, Array) for x in xi):
        return NotImplemented
    lines = TABLE[np.meshgrid](*map(r.operand, xi), sparse=True, indexing=indexing)
    views = [reshaped(r, x, a.shape) if isinstance(x, Array) else r.wrap(a) for x, a in zip(xi, lines)]
    if sparse:
        return tuple(views)
    shape = broadcast_shapes(*(v.shape for v in views))
    return tuple(_spread(r, v, shape, "np.meshgrid(copy=False)") for v in views)


MANY[np.broadcast_arrays] = broadcast_arrays
MANY[np.meshgrid] = meshgrid


# ---- diagonals and einsum -------------------------------------------------------------------------------------------


@register("diagonal", method=True)
def diagonal(r: Reader, a: Array, *args: Any, **kwargs: Any) -> Any:
    return picked(r, a, np.diagonal, *args, frozen=_READ_ONLY.format("diagonal"), **kwargs)


@register("linalg.diagonal")
def linalg_diagonal(r: Reader, x: Array, /, *, offset: Any = 0) -> Any:
    return diagonal(r, x, offset, -2, -1)


@register("diag")
def diag(r: Reader, v: Array, k: Any = 0) -> Any:
    return diagonal(r, v, k) if len(v.shape) == 2 else r.wrap(TABLE[np.diag](r.operand(v), k), zero_d=True)


def einsum(r: Reader, *operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    """np.einsum of one array without a sum: a view with axes in another order, or of diagonals. NotImplemented for all else."""
    given = [k for k, x in enumerate(operands) if isinstance(x, Array)]
    if len(given) != 1 or len(operands) > 3 or out is not None or kwargs:
        return NotImplemented
    (k,) = given
    x = operands[k]
    call = lambda a: np.einsum(*operands[:k], a, *operands[k + 1 :])
    small = np.zeros((2,) * len(x.shape), np.int8)
    if not np.shares_memory(call(small), small):
        return NotImplemented
    builder = lookup(np.einsum)
    assert builder is not None
    pick = lambda a: builder(*operands[:k], a, *operands[k + 1 :]) if isinstance(a, Arr) else call(a)
    if not x.type.static:
        return _view(x, pick, lift(pick(r.read(x))).shape, None, "")
    like = call(ghost_of(x))
    return _view(x, pick, like.shape, None if x.strides is None else like.strides, "")


MANY[np.einsum] = einsum


# ---- windows --------------------------------------------------------------------------------------------------------


@register("lib.stride_tricks.sliding_window_view")
def sliding_window_view(
    r: Reader, x: Array, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    fn = np.lib.stride_tricks.sliding_window_view
    why = _OVERLAP.format("sliding_window_view") if writeable else _READ_ONLY.format("lib.stride_tricks.sliding_window_view")
    return picked(r, x, fn, window_shape, axis, frozen=why)


@register("lib.stride_tricks.as_strided")
def as_strided(r: Reader, x: Array, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True) -> Any:
    """A view by strides in bytes, of elements of x only."""
    size = x.type.numpy.itemsize
    if x.strides is None or not x.type.static or is_traced((shape, strides)):
        raise UnsupportedError("np.lib.stride_tricks.as_strided of an array whose memory layout is not known here")
    dims = x.shape if shape is None else tuple(np.atleast_1d(shape).tolist())
    steps = x.strides if strides is None else tuple(s / size for s in np.atleast_1d(strides).tolist())
    have = _offsets(x.shape, x.strides).reshape(-1)
    order = np.argsort(have, kind="stable")
    want = _offsets(dims, steps)
    found = np.minimum(np.searchsorted(have[order], want), max(len(have) - 1, 0))
    if want.size and not (have.size and (have[order][found] == want).all()):
        raise UnsupportedError("np.lib.stride_tricks.as_strided reaches memory that is not of the array's own elements")
    places = order[found] if want.size else np.zeros(want.shape, np.int64)
    flat = lambda a: getitem(Arr(reshape_to(a.value, (x.type.size,))), places) if isinstance(a, Arr) else a.reshape(-1)[places]
    why = "" if np.unique(places).size == places.size else _OVERLAP.format("as_strided")
    why = why if writeable else _READ_ONLY.format("lib.stride_tricks.as_strided")
    return _view(x, flat, tuple(dims), tuple(int(s) for s in steps), why)


def _offsets(shape: Any, strides: Any) -> np.ndarray:
    """Offset of each element."""
    total = np.zeros(shape, np.float64)
    for k, (n, s) in enumerate(zip(shape, strides)):
        total += (np.arange(n) * s).reshape(-1, *(1,) * (len(shape) - k - 1))
    return total
