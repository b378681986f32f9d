"""NumPy's reductions and scans that skip NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.frontend.arr import Arr, in_f32, lift, materialise
from irad.frontend.np_elementwise import apply_ufunc
from irad.frontend.np_reduce import (
    NOT_GIVEN,
    any_of,
    argmax_of,
    argmin_of,
    freedom,
    given,
    guarded_sqrt,
    highest,
    lowest,
    max_of,
    mean,
    min_of,
    prod_of,
    sum_of,
    var,
)
from irad.frontend.np_registry import numpy
from irad.frontend.np_scan import cumprod_of, cumsum_of
from irad.ops import elementwise as ew
from irad.ops.array import (
    any_,
)
from irad.ops.control import raise_if
from irad.ops.elementwise import full, select


def _without_nan(a: Any, fill: Callable[[str], Any]) -> tuple[Arr, Any]:
    """The array with NaN replaced, and the mask of what is not NaN (True if there can be none)."""
    x = lift(a).value
    if not x.type.differentiable:
        return Arr(x), True
    nan = apply_ufunc("isnan", Arr(x)).value
    return Arr(select(nan, full(fill(x.type.dtype), x), x)), Arr(ew.logical_not(nan))


def _and(mask: Any, where: Any) -> Any:
    if where is True or where is NOT_GIVEN:
        return mask
    return where if mask is True else apply_ufunc("logical_and", mask, where)


@numpy("nansum")
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Arr:
    """np.nansum."""
    return sum_of(_without_nan(a, lambda _: 0)[0], axis, dtype, None, keepdims, initial, where)


@numpy("nanprod")
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Arr:
    """np.nanprod."""
    return prod_of(_without_nan(a, lambda _: 1)[0], axis, dtype, None, keepdims, initial, where)


@numpy("nanmean")
def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Arr:
    """np.nanmean; NaN where every element is."""
    x, ok = _without_nan(a, lambda _: 0)
    return mean(x, axis, dtype, None, keepdims, where=_and(ok, where))


@numpy("nanvar")
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *, where: Any = True,
    mean: Any = NOT_GIVEN, correction: Any = NOT_GIVEN,
) -> Arr:  # fmt: skip
    """np.nanvar; NaN where too few elements are left."""
    x, ok = _without_nan(a, lambda _: 0)
    mask, ddof = _and(ok, where), freedom(ddof, correction)
    out_v = var(x, axis, dtype, None, ddof, keepdims, where=mask, mean=mean)
    if mask is True:
        return out_v
    n = sum_of(Arr(materialise(mask, "bool", x.shape)), axis, np.float64, None, keepdims)
    few = apply_ufunc("less_equal", n, ddof)
    return Arr(select(few.value, full(np.nan, out_v.value), out_v.value))


@numpy("nanstd")
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *, where: Any = True,
    mean: Any = NOT_GIVEN, correction: Any = NOT_GIVEN,
) -> Arr:  # fmt: skip
    """np.nanstd."""
    v = nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return Arr(in_f32(guarded_sqrt, v.value))


def _nan_extreme(plain: Callable[..., Arr], unit: Callable[[str], Any]) -> Callable[..., Arr]:
    def call(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = NOT_GIVEN, where: Any = True
    ) -> Arr:
        x, ok = _without_nan(a, unit)
        v = plain(x, axis, None, keepdims, initial, where)
        if ok is True or given(initial):
            return v
        some = any_of(ok, axis, None, keepdims).value
        return Arr(select(some, v.value, full(np.nan, v.value)))

    return call


nanmax = numpy("nanmax")(_nan_extreme(max_of, lowest))
nanmin = numpy("nanmin")(_nan_extreme(min_of, highest))


def _nan_position(plain: Callable[..., Arr], unit: Callable[[str], Any]) -> Callable[..., Arr]:
    def call(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Arr:
        x, ok = _without_nan(a, unit)
        if ok is not True:
            none = apply_ufunc("logical_not", any_of(ok, axis)).value
            bad = any_(none, axes=tuple(range(none.type.rank))) if none.type.rank else none
            raise_if(bad, exc="ValueError", message="All-NaN slice encountered")
        return plain(x, axis, keepdims=keepdims)

    return call


numpy("nanargmax")(_nan_position(argmax_of, lowest))
numpy("nanargmin")(_nan_position(argmin_of, highest))


def _nan_scan(scan: Callable[..., Arr], fill: int) -> Callable[..., Arr]:
    def call(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Arr:
        return scan(_without_nan(a, lambda _: fill)[0], axis, dtype)

    return call


numpy("nancumsum")(_nan_scan(cumsum_of, 0))
numpy("nancumprod")(_nan_scan(cumprod_of, 1))
