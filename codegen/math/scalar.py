"""Lowering of elementwise ops: `RULES[op](E, operands, dtype)` emits an op of the table for one set of lanes.

Each means exactly what NumPy 2 means, special values included, and none traps: not for a divisor 0, not for INT_MIN / -1, not
for a shift beyond the width, whatever the inactive lanes hold. Transcendental functions are polynomials (`irad.codegen.math.poly`,
which states their error). float16 is computed in float32 and rounded once, as NumPy does. The sign of a zero that is the
maximum or minimum of 0.0 and -0.0 is the second operand's; NumPy's own depends on length and dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from irad.codegen.math.base import INF, NAN, c, fabs, pick, with_sign
from irad.codegen.math.poly import FUNCTIONS
from irad.codegen.math.values import Values
from irad.core.types import bits, is_float, is_signed

Rule = Callable[[Values, list[Any], str], Any]
RULES: dict[str, Rule] = {}


def _through_f32(rule: Rule) -> Rule:
    """The rule with float16 operands and result in float32."""

    def wide(E: Values, args: list[Any], dtype: str) -> Any:
        if all(a.dtype != "f16" for a in args):
            return rule(E, args, dtype)
        args = [E.convert(a, "f32") if a.dtype == "f16" else a for a in args]
        out = rule(E, args, "f32" if dtype == "f16" else dtype)
        return E.convert(out, "f16") if dtype == "f16" else out

    return wide


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register `f(E, *operands)` as the rule of the named ops."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            RULES[name] = _through_f32(lambda E, args, dtype: f(E, *args))
        return f

    return register


def _not(E: Values, a: Any) -> Any:
    return E.xor(a, E.const(True if a.dtype == "bool" else -1, a.dtype))


# ---- arithmetic -----------------------------------------------------------------------------------------------------


@rule("add")
def add(E: Values, x: Any, y: Any) -> Any:
    return E.or_(x, y) if x.dtype == "bool" else E.add(x, y)


@rule("mul")
def mul(E: Values, x: Any, y: Any) -> Any:
    return E.and_(x, y) if x.dtype == "bool" else E.mul(x, y)


rule("sub")(lambda E, x, y: E.sub(x, y))
rule("div")(lambda E, x, y: E.fdiv(x, y))
rule("neg")(lambda E, x: E.neg(x))


def _strong(f: Callable[..., Any], zeros: int) -> Callable[..., Any]:
    """f, but 0 where one of the first `zeros` operands is 0."""

    def strong(E: Values, *xs: Any) -> Any:
        zero = c(E, xs[0], 0.0)
        return E.select(reduce(E.and_, [E.cmp("ne", x, zero) for x in xs[:zeros]]), f(E, *xs), zero)

    return strong


rule("szmul")(_strong(Values.mul, 1))
rule("szmul2")(_strong(Values.mul, 2))
rule("szdiv")(_strong(Values.fdiv, 1))


@rule("abs")
def abs_(E: Values, x: Any) -> Any:
    if is_float(x.dtype):
        return fabs(E, x)
    return E.select(E.cmp("lt", x, E.const(0, x.dtype)), E.neg(x), x) if is_signed(x.dtype) else x


@rule("sign")
def sign(E: Values, x: Any) -> Any:
    zero, one = E.const(0, x.dtype), E.const(1, x.dtype)
    up = E.select(E.cmp("gt", x, zero), one, zero)
    if is_float(x.dtype):
        return E.select(E.cmp("uno", x, x), x, E.select(E.cmp("lt", x, zero), E.const(-1, x.dtype), up))
    return E.select(E.cmp("lt", x, zero), E.const(-1, x.dtype), up) if is_signed(x.dtype) else up


# ---- division and remainders ----------------------------------------------------------------------------------------


def _quotient(E: Values, x: Any, y: Any) -> Any:
    """x / y towards zero, for integers y != 0 and, if signed, y != -1: up to 32 bits exactly in floats, which have lanes."""
    if bits(x.dtype) == 64:
        return E.sdiv(x, y) if is_signed(x.dtype) else E.udiv(x, y)
    real = "f64" if bits(x.dtype) == 32 else "f32"
    q = E.intrinsic("trunc", E.fdiv(E.convert(x, real), E.convert(y, real)))
    return E.convert(E.convert(q, "i32"), x.dtype) if bits(x.dtype) < 32 else E.convert(q, x.dtype)


def _int_divmod(E: Values, x: Any, y: Any) -> tuple[Any, Any]:
    """Quotient towards zero and remainder; both 0 where y is 0, and INT_MIN / -1 wraps."""
    zero, one = E.const(0, x.dtype), E.const(1, x.dtype)
    undefined = E.cmp("eq", y, zero)
    if not is_signed(x.dtype):
        q = E.select(undefined, zero, _quotient(E, x, E.select(undefined, one, y)))
    else:
        minus = E.cmp("eq", y, E.const(-1, x.dtype))
        q = _quotient(E, x, E.select(E.or_(undefined, minus), one, y))
        q = E.select(undefined, zero, E.select(minus, E.neg(x), q))
    return q, E.select(undefined, zero, E.sub(x, E.mul(q, y)))


def _rounds_up(E: Values, y: Any, r: Any) -> Any:
    """Where the quotient towards zero is not the floor: r is not 0 and has not the sign of y."""
    zero = E.const(0, y.dtype)
    return E.and_(E.cmp("ne", r, zero), E.cmp("lt", E.xor(r, y), zero))


def _float_fmod(E: Values, x: Any, y: Any) -> Any:
    """Exact: one fused step where the quotient has fewer bits than the mantissa, else long division out of line."""
    a, b, zero = fabs(E, x), fabs(E, y), c(E, x, 0.0)
    ratio = E.fdiv(a, b)
    r = E.fma(E.neg(E.intrinsic("trunc", ratio)), b, a)
    r = E.select(E.cmp("lt", r, zero), E.add(r, b), r)  # the ratio was rounded up to an integer
    r = with_sign(E, E.select(E.cmp("lt", a, b), a, r), x)
    far = E.cmp("ge", ratio, c(E, x, pick(x, 2.0**52, 2.0**23)))
    return E.rare(far, f"irad.fmod_{x.dtype}", [x, y], [r])[0]


def _float_divmod(E: Values, x: Any, y: Any) -> tuple[Any, Any]:
    """npy_divmod of NumPy's npy_math, operation by operation."""
    zero, one = c(E, x, 0.0), c(E, x, 1.0)
    r = _float_fmod(E, x, y)
    q = E.fdiv(E.sub(x, r), y)
    up = E.and_(E.cmp("ne", r, zero), E.xor(E.cmp("lt", y, zero), E.cmp("lt", r, zero)))
    q = E.select(up, E.sub(q, one), q)
    whole = E.intrinsic("floor", q)
    whole = E.select(E.cmp("gt", E.sub(q, whole), c(E, x, 0.5)), E.add(whole, one), whole)
    ratio = E.fdiv(x, y)
    by_zero = E.cmp("eq", y, zero)
    whole = E.select(E.cmp("eq", q, zero), with_sign(E, zero, ratio), whole)
    rest = E.select(up, E.add(r, y), E.select(E.cmp("eq", r, zero), with_sign(E, zero, y), r))
    return E.select(by_zero, ratio, whole), E.select(by_zero, r, rest)


@rule("floor_divide")
def floor_divide(E: Values, x: Any, y: Any) -> Any:
    if is_float(x.dtype):
        return _float_divmod(E, x, y)[0]
    q, r = _int_divmod(E, x, y)
    return E.select(_rounds_up(E, y, r), E.sub(q, E.const(1, x.dtype)), q) if is_signed(x.dtype) else q


@rule("remainder")
def remainder(E: Values, x: Any, y: Any) -> Any:
    if is_float(x.dtype):
        return _float_divmod(E, x, y)[1]
    r = _int_divmod(E, x, y)[1]
    return E.select(_rounds_up(E, y, r), E.add(r, y), r) if is_signed(x.dtype) else r


@rule("fmod")
def fmod(E: Values, x: Any, y: Any) -> Any:
    return _float_fmod(E, x, y) if is_float(x.dtype) else _int_divmod(E, x, y)[1]


# ---- choice ---------------------------------------------------------------------------------------------------------


def _extremum(pred: str, nan_from: int) -> Callable[..., Any]:
    """max or min by `pred`, the second operand at a tie; where operand `nan_from` is NaN the first."""

    def choose(E: Values, x: Any, y: Any) -> Any:
        if x.dtype == "bool":
            return E.or_(x, y) if pred == "gt" else E.and_(x, y)
        best = E.either(E.cmp(pred, x, y), x, y)
        if not is_float(x.dtype):
            return best
        suspect = (x, y)[nan_from]
        return E.select(E.cmp("uno", suspect, suspect), x, best)

    return choose


rule("maximum")(_extremum("gt", 0))
rule("minimum")(_extremum("lt", 0))
rule("limit")(_extremum("lt", 0))
rule("fmax")(_extremum("gt", 1))
rule("fmin")(_extremum("lt", 1))
RULES["select"] = lambda E, args, dtype: E.either(*args)


@rule("heaviside")
def heaviside(E: Values, x: Any, h: Any) -> Any:
    zero, one = c(E, x, 0.0), c(E, x, 1.0)
    step = E.select(E.cmp("lt", x, zero), zero, E.select(E.cmp("gt", x, zero), one, h))
    return E.select(E.cmp("uno", x, x), x, step)


# ---- rounding, signs, neighbours ------------------------------------------------------------------------------------

for _name in ("floor", "ceil", "trunc", "rint", "sqrt", "copysign"):
    rule(_name)(lambda E, *xs, _name=_name: E.intrinsic(_name, *xs))


def _nextafter(E: Values, args: list[Any], dtype: str) -> Any:
    """The next float, found by the order of the bits; float16 in its own format."""
    x, y = args
    integer = f"i{bits(dtype)}"
    zero, one = c(E, x, 0.0), E.const(1, integer)
    i = E.bitcast(x, integer)
    away = E.xor(E.cmp("lt", x, y), E.cmp("lt", x, zero))  # from zero, in the direction of x
    step = E.bitcast(E.add(i, E.select(away, one, E.const(-1, integer))), dtype)
    step = E.select(E.cmp("eq", x, zero), with_sign(E, E.bitcast(one, dtype), y), step)
    step = E.select(E.cmp("eq", x, y), y, step)  # differs for zeros
    return E.select(E.cmp("uno", x, y), c(E, x, NAN), step)


RULES["nextafter"] = _nextafter

rule("isnan")(lambda E, x: E.cmp("uno", x, x))
rule("isinf")(lambda E, x: E.cmp("eq", fabs(E, x), c(E, x, INF)))
rule("isfinite")(lambda E, x: E.cmp("lt", fabs(E, x), c(E, x, INF)))


def _signbit(E: Values, args: list[Any], dtype: str) -> Any:
    integer = f"i{bits(args[0].dtype)}"
    return E.cmp("lt", E.bitcast(args[0], integer), E.const(0, integer))


RULES["signbit"] = _signbit

# ---- comparison, logic, bits ----------------------------------------------------------------------------------------

_BOOL_COMPARE: dict[str, Callable[[Values, Any, Any], Any]] = {
    "lt": lambda E, x, y: E.and_(_not(E, x), y),
    "le": lambda E, x, y: E.or_(_not(E, x), y),
    "gt": lambda E, x, y: E.and_(x, _not(E, y)),
    "ge": lambda E, x, y: E.or_(x, _not(E, y)),
    "eq": lambda E, x, y: _not(E, E.xor(x, y)),
    "ne": lambda E, x, y: E.xor(x, y),
}
for _name in _BOOL_COMPARE:
    rule(_name)(lambda E, x, y, _name=_name: _BOOL_COMPARE[_name](E, x, y) if x.dtype == "bool" else E.cmp(_name, x, y))

rule("logical_and", "bitwise_and")(lambda E, x, y: E.and_(x, y))
rule("logical_or", "bitwise_or")(lambda E, x, y: E.or_(x, y))
rule("logical_xor", "bitwise_xor")(lambda E, x, y: E.xor(x, y))
rule("logical_not", "invert")(_not)


def _in_width(E: Values, n: Any) -> Any:
    """Where 0 <= n < width."""
    unsigned = f"u{bits(n.dtype)}"
    return E.cmp("lt", E.bitcast(n, unsigned), E.const(bits(n.dtype), unsigned))


@rule("left_shift")
def left_shift(E: Values, x: Any, n: Any) -> Any:
    zero, ok = E.const(0, x.dtype), _in_width(E, n)
    return E.select(ok, E.shl(x, E.select(ok, n, zero)), zero)


@rule("right_shift")
def right_shift(E: Values, x: Any, n: Any) -> Any:
    ok = _in_width(E, n)
    if is_signed(x.dtype):
        return E.ashr(x, E.select(ok, n, E.const(bits(x.dtype) - 1, x.dtype)))
    zero = E.const(0, x.dtype)
    return E.select(ok, E.lshr(x, E.select(ok, n, zero)), zero)


# ---- powers, exponentials, special functions ------------------------------------------------------------------------


def _int_pow(E: Values, x: Any, n: Any) -> Any:
    """x**n modulo 2**width for n >= 0, by squaring: the odd part of the powers has the period 2**(width - 2)."""
    width, one, zero = bits(x.dtype), E.const(1, x.dtype), E.const(0, x.dtype)
    even, result, square = E.cmp("eq", E.and_(x, one), zero), one, x
    for k in range(width - 2):
        bit = E.cmp("ne", E.and_(n, E.const(1 << k, x.dtype)), zero)
        result = E.select(bit, E.mul(result, square), result)
        square = E.mul(square, square)
    return E.select(E.and_(even, _not(E, _in_width(E, n))), zero, result)


@rule("pow")
def pow_(E: Values, x: Any, y: Any) -> Any:
    return FUNCTIONS["pow"](E, x, y) if is_float(x.dtype) else _int_pow(E, x, y)


for _name, _function in FUNCTIONS.items():
    if _name != "pow":
        rule(_name)(_function)


@rule("expit")
def expit(E: Values, x: Any) -> Any:
    """1 / (1 + exp(-x)) from exp(-|x|), which does not overflow on either side; its derivative has the same terms."""
    e, one = FUNCTIONS["exp"](E, E.neg(fabs(E, x))), c(E, x, 1.0)
    q = E.fdiv(one, E.add(one, e))
    return E.select(E.cmp("ge", x, c(E, x, 0.0)), q, E.mul(e, q))


def _logaddexp(exp: str, factor: float) -> Callable[..., Any]:
    def rule(E: Values, x: Any, y: Any) -> Any:
        largest = E.select(E.cmp("gt", x, y), x, y)
        gap = E.neg(fabs(E, E.sub(x, y)))
        gap = E.select(E.cmp("eq", x, y), c(E, x, 0.0), gap)  # inf - inf
        term = FUNCTIONS["log1p"](E, FUNCTIONS[exp](E, gap))
        return E.add(largest, term if factor == 1.0 else E.mul(term, c(E, x, factor)))

    return rule


rule("logaddexp")(_logaddexp("exp", 1.0))
rule("logaddexp2")(_logaddexp("exp2", 1.4426950408889634))


def _times_log(log: str) -> Callable[..., Any]:
    def rule(E: Values, x: Any, y: Any) -> Any:
        zero = c(E, x, 0.0)
        none = E.and_(E.cmp("eq", x, zero), E.cmp("ord", y, y))
        return E.select(none, zero, E.mul(x, FUNCTIONS[log](E, y)))

    return rule


rule("xlogy")(_times_log("log"))
rule("xlog1py")(_times_log("log1p"))

# ---- casts ----------------------------------------------------------------------------------------------------------


def cast(E: Values, args: list[Any], dtype: str) -> Any:
    """NumPy's astype; a float out of the range of an integer saturates, NaN gives 0."""
    (x,) = args
    if x.dtype == dtype:
        return x
    if x.dtype == "bool":
        return E.select(x, E.const(1, dtype), E.const(0, dtype))
    if dtype == "bool":
        return E.cmp("ne", E.convert(x, "f32") if x.dtype == "f16" else x, E.const(0, "f32" if x.dtype == "f16" else x.dtype))
    if dtype == "f16" and not is_float(x.dtype):
        return E.convert(E.convert(x, "f32"), "f16")
    if x.dtype == "f16" and dtype != "f32":
        x = E.convert(x, "f32")
    if is_float(x.dtype) and not is_float(dtype):
        return E.convert_sat(x, dtype)
    return E.convert(x, dtype)


RULES["cast"] = cast
