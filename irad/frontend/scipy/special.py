"""scipy.special functions, registered once the user has imported SciPy; nothing here needs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.errors import IradValueError, UnsupportedError
from irad.frontend.numpy.elementwise import apply_ufunc, convert
from irad.frontend.numpy.functions import where
from irad.frontend.numpy.reduce import max_of, sum_of
from irad.frontend.registry import find, scipy
from irad.frontend.values.arr import (
    Arr,
    broadcast_shapes,
    float_dtype,
    in_f32,
    lift,
    materialise,
    resolve,
    result_dtype,
    shape_of,
    static_int,
)
from irad.ops import elementwise as ew
from irad.ops import scipy_special, slopes
from irad.ops.elementwise import full, select
from irad.ops.polygamma import polygamma as polygamma_op

# ---- formulas on float values ----------------------------------------------------------------------------------------


def _logit(p: Value) -> Value:
    """log(p / (1 - p)), as log p - log1p(-p), which keeps its digits at both ends; near 1/2 by atanh."""
    centred = p + p - 1
    middle = abs(centred) <= 0.4
    inner = 2 * ew.arctanh(select(middle, centred, 0))
    safe = select(middle, 0.75, p)
    return select(middle, inner, ew.log(safe) - ew.log1p(-safe))


def _entr(x: Value) -> Value:
    """-x log x; 0 at 0, not -0; -inf below."""
    return select(x < 0, -math.inf, select(ew.eq(x, 0), full(0.0, x), -0.0) - ew.xlogy(x, x))


def _rel_entr(x: Value, y: Value) -> Value:
    """x log(x/y) for positive x and y; 0 for x = 0 <= y; else inf."""
    positive = (x > 0) & (y > 0)
    inside = positive | ew.eq(x, 0) & (y >= 0)
    value = select(inside, slopes.rel_entr(select(inside, x, 1), select(inside, y, 1)), math.inf)
    return select(ew.isnan(x) | ew.isnan(y), math.nan, value)


def _kl_div(x: Value, y: Value) -> Value:
    """x log(x/y) - x + y for positive x and y; y for x = 0 <= y; else inf."""
    r = _rel_entr(x, y)
    return select(ew.isinf(r), r, r - x + y)


def _ndtr(x: Value) -> Value:
    """The normal distribution function, erfc(-x / sqrt 2) / 2."""
    return 0.5 * ew.erfc(-math.sqrt(0.5) * x)


def _log_expit(x: Value) -> Value:
    """log(expit(x)) = -logaddexp(0, -x)."""
    return -ew.logaddexp(full(0.0, x), -x)


def _softplus(x: Value) -> Value:
    return ew.logaddexp(full(0.0, x), x)


def _huber(delta: Value, r: Value) -> Value:
    """r**2/2 within delta, delta*(|r| - delta/2) beyond; inf for negative delta."""
    a = abs(r)
    outside = delta * (a - 0.5 * delta)
    value = select(a <= delta, 0.5 * (r * r), outside)
    return select(delta < 0, math.inf, value)


def _pseudo_huber(delta: Value, r: Value) -> Value:
    """delta**2 * (sqrt(1 + (r/delta)**2) - 1); inf for negative delta."""
    negative = delta < 0
    value = slopes.pseudo_huber(select(negative, 1, delta), r)
    return select(negative, math.inf, value)


def _exp10(x: Value) -> Value:
    return ew.pow_(10, x)


_FORMULAS: dict[str, Callable[..., Value]] = {
    "expit": ew.expit, "logit": _logit, "log_expit": _log_expit, "xlogy": ew.xlogy, "xlog1py": ew.xlog1py, "erf": ew.erf,
    "erfc": ew.erfc, "gammaln": ew.gammaln, "digamma": ew.digamma, "psi": ew.digamma, "entr": _entr, "rel_entr": _rel_entr,
    "kl_div": _kl_div, "ndtr": _ndtr, "log1p": ew.log1p, "expm1": ew.expm1, "exp2": ew.exp2, "exp10": _exp10, "cbrt": ew.cbrt,
    "huber": _huber, "pseudo_huber": _pseudo_huber, "boxcox": slopes.boxcox, "softplus": _softplus,
}  # fmt: skip


def _formula(name: str, lower: Callable[..., Value]) -> Callable[..., Arr]:
    def call(*xs: Any, out: Any = None, where: Any = True) -> Arr:
        if where is not True:
            raise UnsupportedError(f"scipy.special.{name} with where=: write np.where around it")
        result = _loop(name, xs)
        dtype = "f32" if result == "f16" else result
        shape = broadcast_shapes(*map(shape_of, xs))
        return convert(Arr(lower(*(materialise(x, dtype, shape) for x in xs))), result)

    call.__name__ = name
    return call


def _loop(name: str, xs: Sequence[Any]) -> str:
    """The dtype of the result: of the ufunc's first loop that takes the operands, which of float32 and Python's 2.0 may be float64."""
    ufunc = find(f"scipy.special.{name}")
    found = resolve(ufunc, *xs)[-1] if isinstance(ufunc, np.ufunc) else result_dtype(*xs)
    return found if found[0] == "f" else "f64"


# ---- sums of exponentials ----------------------------------------------------------------------------------------------


def _finite_max(x: Arr, axis: Any) -> Arr:
    """The largest element along the axes, 0 where it is infinite or NaN; it carries no slope, being subtracted again."""
    m = max_of(x, axis, keepdims=True, initial=-math.inf)
    return where(apply_ufunc("isfinite", m), m, 0.0)


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """log(sum(b * exp(a))) without overflow; -inf for an empty sum."""
    x = convert(a, float_dtype(a))
    work = Arr(in_f32(lambda v: v, x.value)) if x.name != "f16" else convert(x, "f32")
    weights = None if b is None else lift(b)
    if weights is not None:
        shape = broadcast_shapes(work.shape, weights.shape)
        name = result_dtype(work, weights)
        work, weights = Arr(materialise(work, name, shape)), Arr(materialise(weights, name, shape))
    live = work if weights is None else where(apply_ufunc("equal", weights, 0), -math.inf, work)
    m = _finite_max(live, axis)
    e = apply_ufunc("exp", apply_ufunc("subtract", work, m))
    terms = e if weights is None else Arr(slopes.zero_or_mul(weights.value, materialise(e, weights.name, weights.shape)))
    s = sum_of(terms, axis, keepdims=True)
    sign = apply_ufunc("sign", s)
    out = apply_ufunc("add", apply_ufunc("log", apply_ufunc("absolute", s) if return_sign else s), m)
    shape_out = lambda v: sum_of(v, axis, keepdims=keepdims)  # the reduced axes have extent 1: nothing is added
    if return_sign:
        return shape_out(out), shape_out(sign)
    return convert(shape_out(out), x.name) if weights is None else shape_out(out)


def softmax(x: Any, axis: Any = None) -> Arr:
    """exp(x) / sum(exp(x)) without overflow."""
    v = convert(x, float_dtype(x))
    e = apply_ufunc("exp", apply_ufunc("subtract", v, max_of(v, axis, keepdims=True)))
    return apply_ufunc("divide", e, sum_of(e, axis, keepdims=True))


def log_softmax(x: Any, axis: Any = None) -> Arr:
    """log(softmax(x))."""
    v = convert(x, float_dtype(x))
    shifted = apply_ufunc("subtract", v, _finite_max(v, axis))
    s = sum_of(apply_ufunc("exp", shifted), axis, keepdims=True)
    return apply_ufunc("subtract", shifted, apply_ufunc("log", s))


def polygamma(n: Any, x: Any) -> Arr:
    """The derivative of a static order n of digamma."""
    k = static_int(n, "the order of polygamma")
    if k < 0:
        raise IradValueError(f"scipy.special.polygamma({k}, x): the order must be 0 or more")
    v = lift(x, "f64").value
    return Arr(ew.digamma(v) if k == 0 else ew.trigamma(v) if k == 1 else polygamma_op(v, n=k))


_COMPOSED: dict[str, Callable[..., Any]] = {
    "logsumexp": logsumexp, "softmax": softmax, "log_softmax": log_softmax, "polygamma": polygamma,
}  # fmt: skip


_lowerings: dict[str, Callable[..., Value]] = {**scipy_special.FUNCTIONS, **_FORMULAS}
scipy("scipy.special", {**{name: _formula(name, f) for name, f in _lowerings.items()}, **_COMPOSED})
