"""NumPy's covariance and correlation."""

from __future__ import annotations

from typing import Any

from irad.errors import IradValueError
from irad.frontend.arr import Arr, is_traced, lift, result_dtype, scale_count, size_of
from irad.frontend.np_elementwise import apply_ufunc, convert
from irad.frontend.np_functions import div, mul, op, sub
from irad.frontend.np_join import join_values
from irad.frontend.np_linalg import contract, diagonal
from irad.frontend.np_reduce import average, sum_of
from irad.frontend.np_registry import numpy
from irad.frontend.np_shape import expand_dims, transpose
from irad.ops.array import reshape_to
from irad.types import is_float


def _variables(m: Any, y: Any, rowvar: bool) -> Arr:
    """One variable per row, as floats."""
    parts = []
    for a in (m, y):
        if a is None:
            continue
        x = lift(a)
        if x.ndim > 2:
            raise IradValueError("m has more than 2 dimensions")
        x = Arr(reshape_to(x.value, (1, *x.shape))) if x.ndim < 2 else x if rowvar else transpose(x)
        parts.append(convert(x, "f64" if not is_float(x.name) or x.name == "f16" else x.name))
    out = parts[0] if len(parts) == 1 else join_values(parts, 0)
    return convert(out, result_dtype(out, 1.0))


@numpy("cov")
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Arr:
    """np.cov, with frequency and reliability weights."""
    x = convert(_variables(m, y, rowvar), "f64") if dtype is None else _variables(m, y, rowvar)
    free = (0 if bias else 1) if ddof is None else ddof
    w: Any = None
    if fweights is not None:
        w = op("multiply")(fweights, 1.0)
    if aweights is not None:
        w = aweights if w is None else mul(w, aweights)
    if w is None:
        total: Any = size_of(x.shape[1:])
        mean = average(x, axis=1)
        factor: Any = max(total - free, 0) if isinstance(total, int) else sub(Arr(_count(x)), free)
    else:
        mean, total = average(x, axis=1, weights=w, returned=True)
        total = apply_ufunc("multiply", sum_of(w) if is_traced(w) else w.sum(), 1.0) if is_traced(w) else w.sum()
        factor = _weighted_factor(total, w, aweights, free)
    d = sub(x, expand_dims(mean, 1))
    right = d if w is None else mul(d, w)
    c = contract(d.value, convert(right, d.name).value, [1], [1])
    out = div(Arr(c), factor if is_traced(factor) else float(factor))
    return Arr(reshape_to(out.value, tuple(n for n in out.shape if n != 1)))


def _count(x: Arr) -> Any:
    return scale_count(x.shape[1], x.name)


def _weighted_factor(total: Any, w: Any, aweights: Any, free: Any) -> Any:
    if free == 0:
        return total
    if aweights is None:
        return sub(total, free)
    s = mul(w, aweights)
    return sub(total, div(mul(free, sum_of(s) if is_traced(s) else s.sum()), total))


@numpy("corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Arr:
    """np.corrcoef: the covariance scaled by the standard deviations and clipped to [-1, 1]."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return div(c, c)
    s = apply_ufunc("sqrt", diagonal(c))
    c = div(div(c, expand_dims(s, 1)), expand_dims(s, 0))
    return apply_ufunc("minimum", apply_ufunc("maximum", c, -1.0), 1.0)
