"""Counting by value: bincount, histogram, digitize."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.errors import IradValueError, UnsupportedError
from irad.frontend.arr import Arr, from_dim, is_traced, lift, materialise, result_dtype, shape_of, static_int
from irad.frontend.np_elementwise import apply_ufunc
from irad.frontend.np_functions import add, sub, where
from irad.frontend.np_gather import as_indices
from irad.frontend.np_index import add_at, getitem
from irad.frontend.np_make import linspace
from irad.frontend.np_reduce import max_of, min_of, sum_of
from irad.frontend.np_registry import numpy
from irad.frontend.np_scan import diff
from irad.frontend.np_shape import ravel
from irad.frontend.np_sort import searchsorted
from irad.ir import Value
from irad.ops import elementwise as ew
from irad.ops.array import any_, dim_value
from irad.ops.constant import const, scalar
from irad.ops.control import raise_if
from irad.ops.intervals import affine_of, bound, interval
from irad.types import Dim, Type


@numpy("bincount")
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Arr:
    """np.bincount. The result has `minlength` elements if x is provably below that, else a run-time extent."""
    at = as_indices(x)
    if at.ndim != 1:
        raise IradValueError("object too deep for desired array")
    v = at.value if at.name == "i64" else ew.cast_to(at.value, "i64")
    if interval(v)[0] < 0:
        bad = ew.lt(v, ew.full(0, v))
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
    size = ew.maximum(ew.add(top, scalar(1, "i64")), scalar(least, "i64"))
    bound(size, least, hi + 1)
    return affine_of(size)


@numpy("histogram")
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> tuple[Any, Any]:
    """np.histogram: `bins` a static number or (perhaps traced) edges; the counts have no slope, weighted sums do."""
    x = ravel(a)
    edges = _edges(x, bins, range)
    n = shape_of(edges)[0] - 1
    at = apply_ufunc("subtract", searchsorted(edges, x, side="right"), 1)
    at = apply_ufunc("minimum", apply_ufunc("maximum", at, 0), Arr(dim_value(n - 1)))  # the last edge is in the last bin
    inside = apply_ufunc(
        "logical_and", apply_ufunc("greater_equal", x, getitem(edges, 0)), apply_ufunc("less_equal", x, getitem(edges, -1))
    )
    w = 1 if weights is None else ravel(weights)
    name = "i64" if weights is None else result_dtype(w)
    one = Arr(materialise(w, name, x.shape))
    kept = Arr(ew.select(inside.value, one.value, ew.full(0, one.value)))
    counts = Arr(add_at(Arr(const(value=0, type=Type(name, (n,)))), at, kept))
    if density:
        counts = apply_ufunc("divide", apply_ufunc("divide", counts, diff(edges)), sum_of(counts))
    return counts, edges


def _edges(x: Arr, bins: Any, limits: Any) -> Any:
    """Bin edges: given, or equally spaced over the given range or the data's own."""
    if isinstance(bins, str):
        raise UnsupportedError(f"np.histogram(bins={bins!r}): give the number of bins, or the edges")
    if len(shape_of(bins)) == 1:
        edges = lift(bins)
        falls = apply_ufunc("less", diff(edges), 0).value
        raise_if(any_(falls, axes=(0,)), exc="ValueError", message="`bins` must increase monotonically, when an array")
        return edges
    k = static_int(bins, "the number of bins")
    if k < 1:
        raise IradValueError("`bins` must be positive, when an integer")
    if limits is None and x.shape == (0,):
        limits = (0.0, 1.0)
    low: Any
    high: Any
    low, high = [min_of(x), max_of(x)] if limits is None else list(limits)
    if not is_traced((low, high)):
        return lift(np.histogram_bin_edges(np.zeros(0), k, (low, high)))
    same = apply_ufunc("equal", low, high)
    low, high = where(same, sub(low, 0.5), low), where(same, add(high, 0.5), high)
    return linspace(low, high, k + 1)


@numpy("digitize")
def digitize(x: Any, bins: Any, right: bool = False) -> Arr:
    """np.digitize, for edges in rising or falling order; ValueError for others."""
    words = "bins must be monotonically increasing or decreasing"
    if len(shape_of(bins)) != 1:
        raise IradValueError(
            "object of too small depth for desired array" if not shape_of(bins) else "object too deep for desired array"
        )
    if not is_traced(bins):
        edges = np.asarray(bins)
        falls = bool((edges[1:] < edges[:-1]).any())
        if falls and (edges[1:] > edges[:-1]).any():
            raise IradValueError(words)
        return _among_falling(x, edges, right) if falls else searchsorted(edges, x, side="left" if right else "right")
    given = lift(bins)
    before, after = getitem(given, slice(None, -1)), getitem(given, slice(1, None))
    falls, rises = (any_(apply_ufunc(name, after, before).value, axes=(0,)) for name in ("less", "greater"))
    raise_if(ew.logical_and(falls, rises), exc="ValueError", message=words)
    return where(Arr(falls), _among_falling(x, given, right), searchsorted(given, x, side="left" if right else "right"))


def _among_falling(x: Any, edges: Any, right: bool) -> Arr:
    at = searchsorted(getitem(edges, slice(None, None, -1)), x, side="left" if right else "right")
    return apply_ufunc("subtract", from_dim(shape_of(edges)[0]), at)
