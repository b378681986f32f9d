"""Arithmetic of polynomials by their coefficients, highest power first; products of stacked matrices with vectors; flat indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.errors import IradTypeError, IradValueError, UnsupportedError
from irad.frontend.arr import Arr, float_dtype, lift, result_dtype, static_int
from irad.frontend.np_complex import conj
from irad.frontend.np_elementwise import apply_ufunc, convert
from irad.frontend.np_functions import add, div, mul, op, sub
from irad.frontend.np_index import getitem
from irad.frontend.np_join import concatenate
from irad.frontend.np_linalg import matmul
from irad.frontend.np_linalg_spectral import lstsq
from irad.frontend.np_reduce import sum_of
from irad.frontend.np_registry import numpy
from irad.frontend.np_shape import ravel, reshape_array
from irad.frontend.np_signal import convolve, vander
from irad.types import is_complex


def _padded(a: Any, b: Any) -> tuple[Arr, Arr]:
    """Both with as many coefficients as the longer one."""
    x, y = ravel(lift(a, result_dtype(a, b))), ravel(lift(b, result_dtype(a, b)))
    n, m = (static_int(v.shape[0], "the number of coefficients") for v in (x, y))
    widen = lambda v, k: concatenate([np.zeros(k, v.value.type.numpy), v]) if k > 0 else v
    return widen(x, m - n), widen(y, n - m)


@numpy("polyadd")
def polyadd(a1: Any, a2: Any) -> Arr:
    """np.polyadd."""
    sum_: Arr = add(*_padded(a1, a2))
    return sum_


@numpy("polysub")
def polysub(a1: Any, a2: Any) -> Arr:
    """np.polysub."""
    difference: Arr = sub(*_padded(a1, a2))
    return difference


@numpy("polymul")
def polymul(a1: Any, a2: Any) -> Arr:
    """np.polymul; leading zeros, which NumPy drops, stay: the shape does not depend on the data."""
    product: Arr = convolve(ravel(a1), ravel(a2))
    return product


@numpy("poly")
def poly(seq_of_zeros: Any) -> Arr:
    """np.poly of real roots: the coefficients of the product of x - root."""
    z = lift(seq_of_zeros)
    if z.ndim > 1 or is_complex(z.name):
        raise UnsupportedError(
            "np.poly of a matrix or of complex roots: whether the result is real depends on the data; multiply with np.convolve"
        )
    z = convert(z if z.ndim else reshape_array(z, (1,)), float_dtype(z))
    one = lift(np.ones(1, z.value.type.numpy))
    out = one if z.shape[0] else lift(np.float64(1.0))
    for k in range(static_int(z.shape[0], "the number of roots")):
        out = convolve(out, concatenate([one, apply_ufunc("negative", getitem(z, (slice(k, k + 1),)))]))
    return out


@numpy("polyfit")
def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False) -> Arr:
    """np.polyfit: least squares with columns scaled to length 1, as NumPy."""
    if full or cov:
        raise UnsupportedError("np.polyfit with full or cov: use np.linalg.lstsq of np.vander")
    at, right = (convert(v, float_dtype(v)) for v in map(lift, (x, y)))
    if at.ndim != 1 or right.ndim not in (1, 2) or right.shape[0] != at.shape[0]:
        raise IradTypeError("np.polyfit wants a vector x, and y with one or two axes, the first one as long as x")
    if at.shape[0] == 0:
        raise IradTypeError("expected non-empty vector for x")
    left = vander(at, static_int(deg, "deg") + 1)
    if w is not None:
        weights = reshape_array(lift(w), (at.shape[0], 1))
        left = mul(left, weights)
        right = mul(right, weights if right.ndim == 2 else ravel(weights))
    scale = apply_ufunc("sqrt", sum_of(mul(left, left), 0))
    eps = float(np.finfo(at.value.type.numpy).eps) * static_int(at.shape[0], "the number of points")
    c = lstsq(div(left, scale), right, eps if rcond is None else rcond)[0]
    return div(c, reshape_array(scale, (scale.shape[0], 1)) if c.ndim == 2 else scale)


@numpy("polyint")
def polyint(p: Any, m: Any = 1, k: Any = None) -> Arr:
    """np.polyint: m times, with one constant of integration for all or one each."""
    times, x = static_int(m, "m"), ravel(p)
    if times < 0:
        raise IradValueError("Order of integral must be positive (see polyder)")
    constants = ravel(lift(0.0 if k is None else k))
    if constants.shape[0] == 1 and times > 1:
        constants = concatenate([constants] * times)
    if static_int(constants.shape[0], "the number of constants") < times:
        raise IradValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for j in range(times):
        n = static_int(x.shape[0], "the number of coefficients")
        x = concatenate([apply_ufunc("divide", x, np.arange(n, 0, -1)), getitem(constants, slice(j, j + 1))])
    return x


@numpy("matvec")
def matvec(x1: Any, x2: Any, /, out: Any = None, **_: Any) -> Arr:
    """np.matvec."""
    v = lift(x2)
    y = matmul(x1, reshape_array(v, (*v.shape, 1)))
    return reshape_array(y, y.shape[:-1])


@numpy("vecmat")
def vecmat(x1: Any, x2: Any, /, out: Any = None, **_: Any) -> Arr:
    """np.vecmat: the vectors are conjugated."""
    v = conj(x1)
    y = matmul(reshape_array(v, (*v.shape[:-1], 1, v.shape[-1])), x2)
    return reshape_array(y, (*y.shape[:-2], y.shape[-1]))


@numpy("unravel_index")
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Arr, ...]:
    """np.unravel_index for a static shape, without a check of the bounds."""
    if order != "C":
        raise UnsupportedError("np.unravel_index(order='F')")
    dims = [static_int(n, "an extent") for n in (shape if isinstance(shape, (tuple, list)) else (shape,))]
    rest, out = lift(indices, "i64"), []
    for n in reversed(dims):
        out.append(op("remainder")(rest, n))
        rest = op("floor_divide")(rest, n)
    return tuple(reversed(out))
