"""Elementwise ops: operands have equal shapes (the builders insert `broadcast` and `cast`), one row each.

`partials(*inputs, out)` gives d out / d input as emitted values, as one of the marks ONE, MINUS_ONE and ZERO, or as a
linear function of the cotangent (or tangent); forward and reverse mode both follow from it. A contribution is
`szmul(cotangent, partial)`: a zero cotangent gives zero even where the partial is inf or NaN (a branch not taken
contributes nothing). `partials=None` on an op with float results means: no derivative, reaching it is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from irad.core.ir import Value, emit
from irad.core.types import Type, is_complex
from irad.ops.constant import const
from irad.ops.core import OPS, Op, type_error
from irad.ops.intervals import bitwise
from irad.ops.special import gammaln_value, special

ONE, MINUS_ONE, ZERO = "one", "minus one", "zero"
INF = math.inf


def full(value: Number, like: Value) -> Value:
    """A constant of the type of `like`."""
    return const(value=value, type=like.type)


Number = bool | int | float | complex | np.generic


class Elementwise(Op):
    """A row whose operands may be numbers too."""

    def __call__(self, *operands: Value | Number, **attrs: Any) -> Any:
        """Emit a node; a number among the operands is a constant of the type of the last value."""
        for x in operands:
            if x.__class__ is not Value:
                operands = _lifted(operands)
                break
        return emit(self, *operands, **attrs)[0]  # type: ignore[arg-type]


def _lifted(operands: Sequence[Value | Number]) -> tuple[Value, ...]:
    like = next(x for x in reversed(operands) if isinstance(x, Value))
    floats = like.type.dtype[0] in "fc"
    if like.type.dtype == "bool" and not all(isinstance(x, (Value, bool)) for x in operands):
        raise type_error("numbers beside bools; a constant of a type of its own is `full(number, like)`", like.type)
    return tuple([x if isinstance(x, Value) else full(float(x) if floats and isinstance(x, int) else x, like) for x in operands])


# Rows that the derivatives of rows above them mention, for type checkers.
szmul: Elementwise
szmul2: Elementwise
szdiv: Elementwise
rint: Elementwise
sign: Elementwise
select: Elementwise
eq: Elementwise
cos: Elementwise
cosh: Elementwise
copysign: Elementwise
digamma: Elementwise
trigamma: Elementwise

# ---- the shape of a row -------------------------------------------------------------------------------


def contribution(ct: Value | None, partial: Any) -> Value | None:
    """ct * partial under the strong-zero rule; None is a symbolic zero."""
    if ct is None or partial is ZERO:
        return None
    if callable(partial):
        return partial(ct)
    if partial is ONE:
        return ct
    return -ct if partial is MINUS_ONE else szmul(ct, partial)


def plus(*xs: Value | None) -> Value | None:
    """The sum of values, of which None is a symbolic zero."""
    out: Value | None = None
    for x in xs:
        out = x if out is None else out if x is None else out + x
    return out


def _vjp(partials: Callable[..., Sequence[Any]]) -> Callable[..., None]:
    def vjp(ad: Any, node: Any, cts: Sequence[Value | None], adj: Any) -> None:
        ps = partials(*map(ad.need, node.inputs), ad.need(node.outputs[0]), **node.attrs)
        for v, p in zip(node.inputs, ps):
            if ad.active(v):
                adj.add(v, contribution(cts[0], p))

    return vjp


def _jvp(partials: Callable[..., Sequence[Any]]) -> Callable[..., list[Value | None]]:
    def jvp(ad: Any, node: Any, tan: Any) -> list[Value | None]:
        out = None
        for v, p in zip(node.inputs, partials(*node.inputs, node.outputs[0], **node.attrs)):
            out = plus(out, contribution(tan.get(v), p))
        return [out]

    return jvp


def same(kinds: str) -> Callable[..., tuple[Type, ...]]:
    """All operands and the result have one type, of one of the dtype kinds b(ool) i(nt) u(nsigned) f(loat) c(omplex)."""

    def infer(*ts: Type) -> tuple[Type, ...]:
        if any(t != ts[0] for t in ts):
            raise type_error("operands must have equal types", *ts)
        if ts[0].dtype[0] not in kinds:
            raise type_error("dtype not supported by this operation", *ts)
        return (ts[0],)

    return infer


def compares(kinds: str) -> Callable[..., tuple[Type, ...]]:
    """Operands of one type, a bool result of their shape."""
    check = same(kinds)
    return lambda *ts: (check(*ts)[0].with_dtype("bool"),)


def elementwise(
    name: str,
    eval: Callable[..., Any],
    partials: Callable[..., Sequence[Any]] | None = None,
    *,
    kinds: str = "f",
    infer: Callable[..., tuple[Type, ...]] | None = None,
    **row: Any,
) -> Elementwise:
    """One row. `kinds`: dtype kinds of the operands."""
    return Elementwise(
        name,
        infer or same(kinds),
        eval,
        vjp=_vjp(partials) if partials else None,
        jvp=_jvp(partials) if partials else None,
        partials=partials,
        elementwise=True,
        **row,
    )


# ---- arithmetic -----------------------------------------------------------------------------------------

_corners = lambda f, a, b: [f(x, y) for x in a for y in b]


def _mul_interval(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    c = _corners(lambda x, y: 0.0 if x == 0 or y == 0 else x * y, a, b)
    return min(c), max(c)


def _floordiv_interval(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    if b[0] < 1 or math.inf in (abs(a[0]), abs(a[1])) or b[1] == INF:
        return (0.0, a[1]) if a[0] >= 0 and b[0] >= 1 else (-INF, INF)
    c = _corners(lambda x, y: x // y, a, b)
    return min(c), max(c)


add = elementwise(
    "add", np.add, lambda x, y, o: (ONE, ONE), kinds="biufc", commutes=True, cheap=True,
    wraps=True, intervals=lambda a, b: (a[0] + b[0], a[1] + b[1]), unit=0, zero_at="all", adds=1,
)  # fmt: skip
sub = elementwise(
    "sub", np.subtract, lambda x, y, o: (ONE, MINUS_ONE), kinds="iufc", cheap=True,
    wraps=True, intervals=lambda a, b: (a[0] - b[1], a[1] - b[0]), zero_at="all", adds=-1,
)  # fmt: skip
mul = elementwise(
    "mul", np.multiply, lambda x, y, o: (y, x), kinds="biufc", commutes=True, cheap=True, wraps=True, intervals=_mul_interval, unit=1,
)  # fmt: skip
div = elementwise(
    "div", np.divide,
    lambda x, y, o: (lambda ct: szdiv(ct, y), lambda ct: -szmul(szdiv(ct, y), o)), kinds="fc", cost=8, zero_at=0,
    cheap_in_lanes=True,
)  # fmt: skip
neg = elementwise(
    "neg",
    np.negative,
    lambda x, o: (MINUS_ONE,),
    kinds="iufc",
    cheap=True,
    wraps=True,
    intervals=lambda a: (-a[1], -a[0]),
    finite=True,
)
szmul = elementwise(
    "szmul", lambda c, p: np.where(c == 0, np.zeros_like(c), c * p)[()],
    lambda c, p, o: (p, lambda ct: szmul2(c, ct)), kinds="fc", cheap=True,
    doc="c * p, but 0 where c is 0, whatever p is: the product of a cotangent and a partial (strong zero)",
)  # fmt: skip
szmul2 = elementwise(
    "szmul2", lambda x, y: np.where((x == 0) | (y == 0), np.zeros_like(x), x * y)[()],
    lambda x, y, o: (lambda ct: szmul2(ct, y), lambda ct: szmul2(x, ct)), kinds="fc", cheap=True, commutes=True,
    doc="x * y, but 0 where either is 0, whatever the other is: what `szmul` becomes when its partial is differentiated",
)  # fmt: skip
szdiv = elementwise(
    "szdiv", lambda c, p: np.where(c == 0, np.zeros_like(c), c / p)[()],
    lambda c, p, o: (lambda ct: szdiv(ct, p), lambda ct: -szmul2(szdiv(ct, p), o)), kinds="fc",
    cost=8, zero_at=0, doc="c / p, but 0 where c is 0, whatever p is: a cotangent by the reciprocal of a partial, see `szmul`",
)  # fmt: skip
floor_divide = elementwise(
    "floor_divide", np.floor_divide, lambda x, y, o: (ZERO, ZERO), kinds="iuf", intervals=_floordiv_interval,
    cost=8, flat=True, zero_at="anywhere", divides=True, doc="NumPy's floor division; an integer divided by 0 gives 0",
)  # fmt: skip
remainder = elementwise(
    "remainder", np.remainder, lambda x, y, o: (ONE, -(x // y)), kinds="iuf",
    intervals=lambda a, b: (0, b[1] - 1) if b[0] >= 1 else (-INF, INF),
    cost=8, divides=True, doc="sign of the divisor, as Python's %; an integer remainder by 0 gives 0",
)  # fmt: skip
fmod = elementwise(
    "fmod", np.fmod, lambda x, y, o: (ONE, -rint((x - o) / y)), kinds="iuf", cost=8, divides=True,
    doc="sign of the dividend, as C's fmod",
)  # fmt: skip
abs_ = elementwise("abs", np.abs, lambda x, o: (sign(x),), kinds="iuf", cheap=True,
                   wraps=True, intervals=lambda a: (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1])), max(abs(a[0]), abs(a[1]))), finite=True)  # fmt: skip
sign = elementwise("sign", np.sign, lambda x, o: (ZERO,), kinds="iuf",
                   cheap=True, flat=True, finite=True, zero_at="anywhere", doc="0 at 0, NaN at NaN")  # fmt: skip
copysign = elementwise("copysign", np.copysign, lambda x, y, o: (sign(x) * copysign(1, y), ZERO), cheap=True)


def _nextafter(x: Any, y: Any) -> Any:
    """Of equal numbers the second one, as in C: a zero of the sign of y. NumPy before 2.5 gives the first of float16."""
    out = np.nextafter(x, y)
    return np.where(x == y, y, out)[()] if out.dtype == np.float16 else out


nextafter = elementwise("nextafter", _nextafter, lambda x, y, o: (ONE, ZERO))
heaviside = elementwise("heaviside", np.heaviside, lambda x, h, o: (ZERO, select(eq(x, 0), 1, full(0.0, x))), zero_at="anywhere")


# ---- choice ---------------------------------------------------------------------------------------------


def _infer_select(c: Type, x: Type, y: Type) -> tuple[Type, ...]:
    if c.dtype != "bool" or x != y or c.shape != x.shape:
        raise type_error("select wants a bool and two equal types, all of one shape", c, x, y)
    return (x,)


def _vjp_select(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    c, x, y = node.inputs
    if ad.active(x):
        adj.add(x, select(ad.need(c), cts[0], 0))
    if ad.active(y):
        adj.add(y, select(ad.need(c), 0, cts[0]))


def _jvp_select(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    c, x, y = node.inputs
    dx, dy = tan.get(x), tan.get(y)
    return [select(c, 0 if dx is None else dx, 0 if dy is None else dy)]


select = Elementwise(
    "select", _infer_select, lambda c, x, y: np.asarray(np.where(c, x, y))[()], _vjp_select, _jvp_select, elementwise=True, cheap=True,
    linear=True, exact=True, intervals=lambda c, a, b: (min(a[0], b[0]), max(a[1], b[1])),
    finite=True, chooses=True, doc="x where c, else y; the branch not chosen contributes nothing",
)  # fmt: skip


def _share(first: Callable[[Value, Value], Value]) -> Callable[..., Sequence[Any]]:
    """Slopes of a maximum or minimum: all to the chosen operand, half each at a tie."""

    def partials(x: Value, y: Value, o: Value) -> Sequence[Any]:
        tie, wins = eq(x, y), first(x, y)

        def share(ct: Value, x_gets: bool) -> Value:
            chosen = select(wins, ct, 0) if x_gets else select(wins, 0, ct)
            return select(tie, 0.5 * ct, chosen)

        return lambda ct: share(ct, True), lambda ct: share(ct, False)

    return partials


def _or_nan(cmp: Callable[[Value, Value], Value], nan_wins: bool) -> Callable[[Value, Value], Value]:
    """x is chosen: by the comparison, or because of a NaN."""
    return lambda x, y: cmp(x, y) | (isnan(x) if nan_wins else isnan(y))


maximum = elementwise(
    "maximum", np.maximum, _share(_or_nan(lambda x, y: x > y, True)), kinds="biuf", cheap_in_lanes=True,
    exact=True, intervals=lambda a, b: (max(a[0], b[0]), max(a[1], b[1])), finite=True, extreme=1, idempotent=True,
    doc="NaN if either is NaN; at a tie half the slope each",
)  # fmt: skip
minimum = elementwise(
    "minimum", np.minimum, _share(_or_nan(lambda x, y: x < y, True)), kinds="biuf", cheap_in_lanes=True,
    exact=True, intervals=lambda a, b: (min(a[0], b[0]), min(a[1], b[1])), finite=True, extreme=-1, idempotent=True,
    doc="NaN if either is NaN; at a tie half the slope each",
)  # fmt: skip
limit = elementwise("limit", np.minimum, kinds="i", cheap=True, exact=True, intervals=lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
                    doc="the smaller one: an extent and its bound, which stays where a check before it says that it is met")  # fmt: skip
fmax = elementwise(
    "fmax", np.fmax, _share(_or_nan(lambda x, y: x > y, False)), kinds="biuf", extreme=1, doc="the other one if one is NaN"
)
fmin = elementwise(
    "fmin", np.fmin, _share(_or_nan(lambda x, y: x < y, False)), kinds="biuf", extreme=-1, doc="the other one if one is NaN"
)

# ---- rounding -------------------------------------------------------------------------------------------

floor = elementwise("floor", np.floor, lambda x, o: (ZERO,), cheap=True, flat=True, zero_at="anywhere")
ceil = elementwise("ceil", np.ceil, lambda x, o: (ZERO,), cheap=True, flat=True, zero_at="anywhere")
trunc = elementwise("trunc", np.trunc, lambda x, o: (ZERO,), cheap=True, flat=True, zero_at="anywhere")
rint = elementwise("rint", np.rint, lambda x, o: (ZERO,), cheap=True, flat=True, zero_at="anywhere", doc="half to even")

# ---- powers, exponentials, logarithms ---------------------------------------------------------------------

_POS, _ANY, _UNIT, _GE1 = (0.05, 5.0), (-4.0, 4.0), (-0.95, 0.95), (1.05, 6.0)


sqrt = elementwise("sqrt", np.sqrt, lambda x, o: (lambda ct: szdiv(0.5 * ct, o),), kinds="fc", domain=(_POS,), cost=8,
                   cheap_in_lanes=True)  # fmt: skip
cbrt = elementwise("cbrt", np.cbrt, lambda x, o: (1 / (3 * (o * o)),), domain=(_POS,), cost=25)
pow_ = elementwise("pow", np.power, lambda x, y, o: (OPS["pow_slope"](x, y, n=1, m=0), OPS["pow_slope_y"](x, y, o)),
                   kinds="iufc", divides=True, domain=(_POS, _ANY), cost=60, zero_at=0, doc="slope 0 in x where y is 0, slope 0 in y where x is 0; integers wrap")  # fmt: skip
exp = elementwise("exp", np.exp, lambda x, o: (o,), kinds="fc", domain=(_ANY,), cost=20, zero_at="nowhere")
exp2 = elementwise("exp2", np.exp2, lambda x, o: (o * math.log(2),), kinds="fc", domain=(_ANY,), cost=20, zero_at="nowhere")
expm1 = elementwise("expm1", np.expm1, lambda x, o: (exp(x),), kinds="fc", domain=(_ANY,), cost=25)
log = elementwise("log", np.log, lambda x, o: (lambda ct: szdiv(ct, x),), kinds="fc", domain=(_POS,), cost=20)
log2 = elementwise("log2", np.log2, lambda x, o: (1 / (x * math.log(2)),), kinds="fc", domain=(_POS,), cost=20)
log10 = elementwise("log10", np.log10, lambda x, o: (1 / (x * math.log(10)),), kinds="fc", domain=(_POS,), cost=20)
log1p = elementwise("log1p", np.log1p, lambda x, o: (1 / (1 + x),), kinds="fc", domain=((-0.9, 5.0),), cost=25)

# ---- trigonometric and hyperbolic -------------------------------------------------------------------------

sin = elementwise("sin", np.sin, lambda x, o: (cos(x),), kinds="fc", domain=(_ANY,), cost=20)
cos = elementwise("cos", np.cos, lambda x, o: (-sin(x),), kinds="fc", domain=(_ANY,), cost=20, zero_at="nowhere")
tan = elementwise("tan", np.tan, lambda x, o: (1 + o * o,), kinds="fc", domain=((-1.4, 1.4),), cost=30)
arcsin = elementwise("arcsin", np.arcsin, lambda x, o: (1 / sqrt(_one_minus_square(x)),), kinds="fc", domain=(_UNIT,), cost=30)
arccos = elementwise("arccos", np.arccos, lambda x, o: (-(1 / sqrt(_one_minus_square(x))),), kinds="fc",
                     domain=(_UNIT,), cost=30, zero_at="nowhere")  # fmt: skip
arctan = elementwise("arctan", np.arctan, lambda x, o: (1 / (1 + x * x),), kinds="fc", domain=(_ANY,), cost=30)
sinh = elementwise("sinh", np.sinh, lambda x, o: (cosh(x),), kinds="fc", domain=(_ANY,), cost=30)
cosh = elementwise("cosh", np.cosh, lambda x, o: (sinh(x),), kinds="fc", domain=(_ANY,), cost=30, zero_at="nowhere")
tanh = elementwise("tanh", np.tanh, lambda x, o: (_one_minus_square(o),), kinds="fc", domain=(_ANY,), cost=30)
arcsinh = elementwise("arcsinh", np.arcsinh, lambda x, o: (1 / _root_one_plus_square(x),), kinds="fc", domain=(_ANY,), cost=40)
arccosh = elementwise("arccosh", np.arccosh,
                      lambda x, o: (1 / (sqrt(x - 1) * sqrt(_plus_one(x))),), kinds="fc", domain=(_GE1,), cost=40)  # fmt: skip
arctanh = elementwise("arctanh", np.arctanh, lambda x, o: (1 / _one_minus_square(x),), kinds="fc", domain=(_UNIT,), cost=40)


def _one_minus_square(x: Value) -> Value:
    """1 - x*x as (1 - x)(1 + x), which keeps its digits near 1."""
    return -(x - 1) * _plus_one(x) if is_complex(x.type.dtype) else (1 - x) * (1 + x)


def _plus_one(x: Value) -> Value:
    """x + 1. NumPy's sum with a complex 1, like 1 - x, makes an imaginary part of -0 one of 0, which is the other side of a branch cut."""
    return x - (-1) if is_complex(x.type.dtype) else x + 1


def _root_one_plus_square(x: Value) -> Value:
    """sqrt(1 + x*x)"""
    return sqrt(_plus_one(x * x)) if is_complex(x.type.dtype) else hypot(1, x)


def _over_hypot(x: Value, h: Value) -> Value:
    """x / h, 0 where h is 0."""
    return OPS["div_or_0"](x, h)


def _arctan2_partials(y: Value, x: Value, o: Value) -> Sequence[Any]:
    h = hypot(x, y)  # x / h**2 in two divisions: h**2 may over- or underflow
    return _over_hypot(_over_hypot(x, h), h), -_over_hypot(_over_hypot(y, h), h)


arctan2 = elementwise("arctan2", np.arctan2, _arctan2_partials, domain=(_ANY, _ANY), cost=40, doc="slopes 0 at (0, 0)")
hypot = elementwise("hypot", np.hypot, lambda x, y, o: (_over_hypot(x, o), _over_hypot(y, o)),
                    domain=(_ANY, _ANY), commutes=True, cost=12, unit=0.0, doc="never over- or underflows on the way; slopes 0 at (0, 0)")  # fmt: skip

# ---- sums of exponentials and special functions -------------------------------------------------------------


def _logaddexp_partials(base: float) -> Callable[..., Sequence[Any]]:
    def partials(x: Value, y: Value, o: Value) -> Sequence[Any]:
        d = OPS["difference"](x, y)
        d = d if base == 1.0 else d * base
        return OPS["logistic"](d), OPS["logistic_of_neg"](d)

    return partials


def _expit_eval(x: Any) -> Any:
    with np.errstate(all="ignore"):
        e = np.exp(-np.abs(x))
        return np.where(x >= 0, 1 / (1 + e), np.where(np.isnan(x), x, e / (1 + e)))[()].astype(np.asarray(x).dtype)


def _lift(f: str | Callable[..., Any], *first: int) -> Callable[..., Any]:
    """The reference meaning of a special function, scipy.special's by name, in the dtype of the operands."""
    of = partial(special, f) if isinstance(f, str) else f
    return lambda *xs: np.asarray(of(*first, *xs)).astype(np.asarray(xs[0]).dtype)[()]


logaddexp = elementwise(
    "logaddexp", np.logaddexp, _logaddexp_partials(1.0), domain=(_ANY, _ANY), commutes=True, cost=45, unit=-INF
)
logaddexp2 = elementwise(
    "logaddexp2", np.logaddexp2, _logaddexp_partials(math.log(2)), domain=(_ANY, _ANY), commutes=True, cost=45, unit=-INF
)
expit = elementwise("expit", _expit_eval, lambda x, o: (OPS["logistic"](x) * OPS["logistic_of_neg"](x),),
                    domain=(_ANY,), cost=35, zero_at="nowhere", doc="1 / (1 + exp(-x))")  # fmt: skip
erf = elementwise("erf", _lift("erf"),
                  lambda x, o: (2 / math.sqrt(math.pi) * exp(-(x * x)),), domain=(_ANY,), cost=40)  # fmt: skip
erfc = elementwise("erfc", _lift("erfc"),
                   lambda x, o: (-2 / math.sqrt(math.pi) * exp(-(x * x)),), domain=(_ANY,), cost=40, zero_at="nowhere")  # fmt: skip
gammaln = elementwise("gammaln", _lift(gammaln_value), lambda x, o: (digamma(x),), domain=(_POS,), cost=100, doc="log |gamma(x)|")
digamma = elementwise("digamma", _lift("digamma"), lambda x, o: (trigamma(x),), domain=(_POS,), cost=100)
trigamma = elementwise("trigamma", _lift("polygamma", 1), lambda x, o: (OPS["polygamma"](x, n=2),), domain=(_POS,), cost=100)
xlogy = elementwise(
    "xlogy", _lift("xlogy"),
    lambda x, y, o: (log(y), OPS["zero_or_div"](x, y)), domain=(_ANY, _POS), cost=25, doc="x*log(y), 0 where x is 0",
)  # fmt: skip
xlog1py = elementwise(
    "xlog1py", _lift("xlog1py"),
    lambda x, y, o: (log1p(y), OPS["zero_or_div"](x, 1 + y)), domain=(_ANY, _POS), cost=30,
)  # fmt: skip

# ---- comparison, logic, bits: no derivative, it stops here ---------------------------------------------------

lt = elementwise("lt", np.less, kinds="biuf", infer=compares("biuf"), cheap=True, compares=True)
le = elementwise("le", np.less_equal, kinds="biuf", infer=compares("biuf"), cheap=True, compares=True)
gt = elementwise("gt", np.greater, kinds="biuf", infer=compares("biuf"), cheap=True, compares=True, mirror="lt")
ge = elementwise("ge", np.greater_equal, kinds="biuf", infer=compares("biuf"), cheap=True, compares=True, mirror="le")
eq = elementwise("eq", np.equal, kinds="biufc", infer=compares("biufc"), cheap=True, commutes=True, compares=True)
ne = elementwise("ne", np.not_equal, kinds="biufc", infer=compares("biufc"), cheap=True, commutes=True, compares=True)
isnan = elementwise("isnan", np.isnan, infer=compares("f"), cheap=True)
isinf = elementwise("isinf", np.isinf, infer=compares("f"), cheap=True)
isfinite = elementwise("isfinite", np.isfinite, infer=compares("f"), cheap=True)
signbit = elementwise("signbit", np.signbit, infer=compares("f"), cheap=True)
logical_and = elementwise("logical_and", np.logical_and, kinds="b", cheap=True, commutes=True, unit=True, idempotent=True)
logical_or = elementwise("logical_or", np.logical_or, kinds="b", cheap=True, commutes=True, unit=False, idempotent=True)
logical_xor = elementwise("logical_xor", np.logical_xor, kinds="b", cheap=True, commutes=True, unit=False)
logical_not = elementwise("logical_not", np.logical_not, kinds="b", cheap=True)
bitwise_and = elementwise("bitwise_and", np.bitwise_and, kinds="iu", cheap=True, commutes=True,
                          intervals=bitwise(lambda x, y: x and y), unit=-1)  # fmt: skip
bitwise_or = elementwise("bitwise_or", np.bitwise_or, kinds="iu", cheap=True, commutes=True,
                         intervals=bitwise(lambda x, y: x or y), unit=0)  # fmt: skip
bitwise_xor = elementwise("bitwise_xor", np.bitwise_xor, kinds="iu", cheap=True, commutes=True,
                          intervals=bitwise(lambda x, y: x != y), unit=0)  # fmt: skip
invert = elementwise("invert", np.invert, kinds="iu", cheap=True)
left_shift = elementwise("left_shift", np.left_shift, kinds="iu", cheap=True, doc="0 if shifted by the width or more, as NumPy")
right_shift = elementwise("right_shift", np.right_shift, kinds="iu", cheap=True)

# ---- casts --------------------------------------------------------------------------------------------------


def _infer_cast(t: Type, *, dtype: str) -> tuple[Type, ...]:
    if t.dtype == "tape":
        raise type_error("a tape cannot be cast", t)
    return (t.with_dtype(dtype),)


def _eval_cast(x: Any, *, dtype: str) -> Any:
    a = np.asarray(x)
    if a.dtype.kind == "c" and not (is_complex(dtype) or dtype == "bool"):
        a = a.real
    with np.errstate(all="ignore"):
        if a.dtype.kind == "f" and dtype[0] in "iu":
            a = _saturated(a, Type(dtype).numpy)
        return a.astype(Type(dtype).numpy)[()]


def _saturated(a: Any, dtype: np.dtype) -> Any:
    """Whole numbers within the range of an integer dtype, NaN as 0; the dtype's ends themselves where floats miss them."""
    info = np.iinfo(dtype)
    a = np.trunc(np.where(np.isnan(a), 0, a))
    inside = (a > float(info.min)) & (a < float(info.max))
    ends = np.where(a >= float(info.max), np.array(info.max, dtype), np.array(info.min, dtype))
    return np.where(inside, np.where(inside, a, 0).astype(dtype), ends)


def _vjp_cast(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    (x,) = node.inputs
    adj.add(x, cast(cts[0], dtype=x.type.dtype))


cast = Elementwise(
    "cast", _infer_cast, _eval_cast, _vjp_cast, lambda ad, node, tan: [node.op(tan.get(node.inputs[0]), **node.attrs)],
    elementwise=True, cheap=True, linear=True, wraps=True, exact=True, intervals=lambda a, **_: a, doc="NumPy's astype; float to integer truncates (out of range: saturates, NaN: 0), complex to real drops the imaginary part",
)  # fmt: skip


def cast_to(x: Value, dtype: str) -> Value:
    """x as `dtype`, the very value if it has it already."""
    return x if x.type.dtype == dtype else cast(x, dtype=dtype)
