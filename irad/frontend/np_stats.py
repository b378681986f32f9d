"""NumPy's covariance and correlation."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.errors import IradValueError
from irad.frontend.arr import Arr, is_traced, lift, result_dtype, scale_count, size_of
from irad.frontend.np_complex import conj, imag, real
from irad.frontend.np_elementwise import apply_ufunc, convert
from irad.frontend.np_functions import div, mul, op, sub
from irad.frontend.np_join import join_values
from irad.frontend.np_linalg import contract, diagonal
from irad.frontend.np_reduce import average, sum_of
from irad.frontend.np_registry import ABSENT, numpy, refuse_keywords
from irad.frontend.np_shape import expand_dims, transpose
from irad.ops.array import reshape_to
from irad.ops.complex import complex_
from irad.types import is_complex


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
        parts.append(convert(x, x.name if x.name in ("f32", "f64", "c64", "c128") else "f64"))
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
    x = _variables(m, y, rowvar)
    if dtype is None:
        x = convert(x, "c128" if is_complex(x.name) else "f64")
    free = (0 if bias else 1) if ddof is None else ddof
    w: Any = None
    if fweights is not None:
        w = op("multiply")(fweights, 1.0)
    if aweights is not None:
        aweights = aweights if is_traced(aweights) else np.asarray(aweights, float)
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
    right = conj(d) if w is None else conj(mul(d, w))
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
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, bias: Any = ABSENT, ddof: Any = ABSENT, *, dtype: Any = None) -> Arr:
    """np.corrcoef: the covariance scaled by the standard deviations and clipped to [-1, 1]; `bias` and `ddof` change nothing."""
    refuse_keywords(np.corrcoef, bias=bias, ddof=ddof)
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return div(c, c)
    s = apply_ufunc("sqrt", real(diagonal(c)))
    c = div(div(c, expand_dims(s, 1)), expand_dims(s, 0))
    clipped = lambda part: apply_ufunc("minimum", apply_ufunc("maximum", part, -1.0), 1.0)
    if not is_complex(c.name):
        return clipped(c)
    return Arr(complex_(clipped(real(c)).value, clipped(imag(c)).value))
