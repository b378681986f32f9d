"""Counting by value into a number of bins that the data decide; repeating as often as the data say."""

from __future__ import annotations

from typing import Any

from irad.core.ir import Value
from irad.core.types import Dim, Type, is_int
from irad.errors import IradTypeError, IradValueError
from irad.frontend.numpy.gather import as_indices
from irad.frontend.numpy.make import arange
from irad.frontend.numpy.reduce import max_of, sum_of
from irad.frontend.numpy.scan import cumsum_of
from irad.frontend.numpy.sort import searchsorted
from irad.frontend.registry import numpy
from irad.frontend.values.arr import Arr, lift, materialise, show_shape, static_int
from irad.frontend.values.extents import UNBOUNDED, of_new_array, require
from irad.frontend.values.index import add_at, getitem
from irad.ops import elementwise as ew
from irad.ops.array import any_
from irad.ops.constant import const
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to
from irad.ops.intervals import affine_of, bound, interval


@numpy("bincount")
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Arr:
    """np.bincount. The result has `minlength` elements if x is provably below that, else a run-time extent."""
    at = as_indices(x)
    if at.ndim != 1:
        raise IradValueError("object too deep for desired array")
    v = at.value if at.name == "i64" else ew.cast_to(at.value, "i64")
    if interval(v)[0] < 0:
        bad = v < 0
        raise_if(any_(bad, axes=(0,)), exc="ValueError", message="'list' argument must have no negative elements")
        bound(v, 0, float("inf"))
    least = static_int(minlength, "minlength")
    size = _bins_needed(v, least)
    shape = (size,)
    name = "i64" if weights is None else "f64"
    out = Arr(const(value=0, type=Type(name, shape)))
    return Arr(add_at(out, Arr(v), 1 if weights is None else lift(weights, "f64")))


def _bins_needed(v: Value, least: int) -> Dim:
    hi = interval(v)[1]
    if hi < least or v.type.shape == (0,):
        return least
    top = max_of(Arr(v), initial=-1).value
    size = ew.maximum(top + 1, least)
    if hi < UNBOUNDED:
        size = ew.limit(size, int(hi) + 1)  # fused loops do not say how large a maximum may be
    bound(size, least, hi + 1)
    return of_new_array(affine_of(size))


def repeated(x: Arr, k: int, repeats: Arr) -> Arr:
    """np.repeat along an axis by numbers that data decide: each place of the result looks for its element among their sums."""
    n = x.shape[k]
    if not is_int(repeats.name):
        raise IradTypeError(
            f"Cannot cast array data from {repeats.value.type.numpy!r} to dtype('int64') according to the rule 'safe'"
        )
    counts = Arr(materialise(repeats, "i64", (n,)) if repeats.shape == (1,) else cast_to(repeats.value, "i64"))
    shapes = f"{show_shape((n,))} {show_shape(repeats.shape)}"
    require(counts.shape[0], n, f"operands could not be broadcast together with shape {shapes}", "ValueError")
    if interval(counts.value)[0] < 0:
        raise_if(any_(counts.value < 0, axes=(0,)), exc="ValueError", message="repeats may not contain negative values.")
    places = arange(sum_of(counts))
    return getitem(x, (slice(None),) * k + (searchsorted(cumsum_of(counts), places, side="right"),))
