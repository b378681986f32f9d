"""Slopes whose formula switches at a point, as rows of their own, so that their own slopes are right there too.

A partial such as `select(y == 0, 0, y * x**(y - 1))` is right, but its derivative is not: where the constant is selected, it
says 0. Here such a partial is one op. Its value may switch, select and share as it likes (`expand`, after all derivatives have
been taken); its derivative is that of the function that it stands for, on both sides of the switch and at it, and is made of
rows of the same kind. What docs/edges.md says of an edge is said of the value of a row, never of the rows it is made of.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Builder, Value
from irad.core.types import Type, type_of
from irad.errors import IradTypeError
from irad.ops.array import restore, sum_
from irad.ops.core import Op, type_error
from irad.ops.elementwise import (
    MINUS_ONE,
    ONE,
    ZERO,
    Elementwise,
    elementwise,
    eq,
    exp,
    expm1,
    full,
    hypot,
    log,
    ne,
    same,
    select,
    sqrt,
    szdiv,
    szmul,
    szmul2,
)

Domain = tuple[tuple[float, float], ...]
_ANY, _POS = (-4.0, 4.0), (0.05, 5.0)

# Rows that their own derivatives mention, for type checkers.
logistic_given: Elementwise
logistic_rest: Elementwise
zero_or_mul: Elementwise
pow_slope: Elementwise
boxcox_slope: Elementwise


def evaluated(expand: Callable[..., Value]) -> Callable[..., Any]:
    """The meaning, for the interpreter, of an op that is made of others."""

    def eval(*xs: Any, **attrs: Any) -> Any:
        params = [Value(type_of(np.asarray(x))) for x in xs]
        with Builder() as b:
            out = expand(*params, **attrs)
        env = dict(zip(params, xs))
        for n in b.nodes:
            assert n.op.eval is not None
            env[n.out] = n.op.eval(*(env[v] for v in n.inputs), **n.attrs)
        return env[out]

    return eval


def horner(coefs: Sequence[float], t: Value) -> Value:
    """sum of coefs[k] * t**k."""
    out = full(coefs[-1], t)
    for c in reversed(coefs[:-1]):
        out = out * t + c
    return out


def formula(
    name: str,
    expand: Callable[..., Value],
    partials: Callable[..., Sequence[Any]],
    domain: Domain,
    *,
    sample: dict[str, int] | None = None,
    **row: Any,
) -> Elementwise:
    """An elementwise row that is made of others. `sample`: attributes that tests give it."""
    extra = {"expand": lambda *xs, **attrs: (expand(*xs, **attrs),), "sample": sample or {}}
    if sample:
        row["infer"] = taking(same(row.get("kinds", "f")), list(sample))
    return elementwise(name, evaluated(expand), partials, domain=domain, extra=extra, **row)


def taking(infer: Callable[..., tuple[Type, ...]], names: Sequence[str]) -> Callable[..., tuple[Type, ...]]:
    """A type rule with attributes that the types do not depend on; its signature names them, which the reader of texts looks at."""

    def rule(*ts: Type, **attrs: Any) -> tuple[Type, ...]:
        if set(attrs) != set(names):
            raise IradTypeError(f"attributes {', '.join(names)} are wanted, not {', '.join(attrs) or 'none'}")
        return infer(*ts)

    ts = inspect.Parameter("ts", inspect.Parameter.VAR_POSITIONAL)
    keywords = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in names]
    rule.__signature__ = inspect.Signature([ts, *keywords])  # type: ignore[attr-defined]
    return rule


# ---- quotients and differences ----------------------------------------------------------------------------------------------


def _quotient_partials(x: Value, y: Value, o: Value) -> Sequence[Any]:
    return lambda ct: szdiv(ct, y), lambda ct: -szmul2(szdiv(ct, y), o)


div_or_0 = formula("div_or_0", lambda x, h: select(eq(h, 0), 0, x / h), _quotient_partials, (_ANY, _POS),
                   zero_at="anywhere", doc="x / h, 0 where h is 0")  # fmt: skip
zero_or_div = formula("zero_or_div", lambda x, y: select(eq(x, 0), 0, x / y), _quotient_partials, (_ANY, _POS), kinds="fc",
                      zero_at="anywhere", doc="x / y, 0 where x is 0")  # fmt: skip


def _difference(x: Value, y: Value) -> Value:
    return select(eq(x, y), 0, x - y)


difference = formula(
    "difference", _difference, lambda x, y, o: (ONE, MINUS_ONE), (_ANY, _ANY), doc="x - y, 0 of equal infinities"
)


zero_or_mul = formula("zero_or_mul", lambda c, p: szmul(c, p), lambda c, p, o: (p, lambda ct: zero_or_mul(c, ct)),
                      (_ANY, _ANY), kinds="fc", zero_at="anywhere", doc="c * p, 0 where c is 0: `szmul` that stays one")  # fmt: skip

# ---- what is smooth though its parts are not ------------------------------------------------------------------------------------


guarded_sqrt = formula(
    "guarded_sqrt", lambda v: select(eq(v, 0), 0, sqrt(v)), lambda v, o: (div_or_0(0.5, o),), (_POS,), doc="sqrt, slope 0 at 0"
)
slope_of = formula("slope_of", lambda v, w: v, lambda v, w, o: (ZERO, ONE), (_ANY, _ANY), kinds="fc",
                   doc="v, which is w but for rounding; its derivatives are those of w. See irad.passes.derivatives.wholes")  # fmt: skip


def _infer_norm(v: Type, x: Type, *, axes: tuple[int, ...]) -> tuple[Type, ...]:
    if v.dtype != x.dtype or v.rank + len(axes) != x.rank:
        raise type_error("norm_of wants a norm and what it is the norm of", v, x)
    return (v,)


def _vjp_norm(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    x, axes = node.inputs[1], node.attrs["axes"]
    if ad.active(x):
        spread = lambda v: restore(v, ad.need(x).type, axes)
        adj.add(x, szmul(spread(cts[0]), div_or_0(ad.need(x), spread(ad.need(node.outputs[0])))))


def _jvp_norm(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    x, axes = node.inputs[1], node.attrs["axes"]
    dx = tan.get(x)
    if dx is None:
        return [None]
    return [sum_(szmul(dx, div_or_0(x, restore(node.outputs[0], x.type, axes))), axes=axes)]


norm_of = Op("norm_of", _infer_norm, lambda v, x, *, axes: np.array(v)[()], _vjp_norm, _jvp_norm, extra={"expand": lambda v, x, axes: (v,)},
             doc="v, which is the root of the sum of squares of x over `axes`: slope x / v, and 0 where v is 0")  # fmt: skip

# ---- the logistic function ---------------------------------------------------------------------------------------------------


def _logistic(x: Value, mirrored: bool) -> Value:
    """expit(x), or expit(-x), without cancellation, from one exp(-|x|) that both share."""
    e = exp(-abs(x))
    q = 1 / (1 + e)
    sides = (e * q, q) if mirrored else (q, e * q)
    return select(x >= 0, *sides)


def _density(x: Value) -> Value:
    return logistic(x) * logistic_of_neg(x)


logistic = formula(
    "logistic", lambda x: _logistic(x, False), lambda x, o: (_density(x),), (_ANY,), zero_at="nowhere", doc="1 / (1 + exp(-x))"
)
logistic_of_neg = formula("logistic_of_neg", lambda x: _logistic(x, True), lambda x, o: (-_density(x),), (_ANY,),
                          zero_at="nowhere", doc="1 / (1 + exp(x))")  # fmt: skip


def _rest(v: Value, e: Value, u: Value) -> Value:
    return select(e > 1, 1 - v, e * v)


logistic_given = formula("logistic_given", lambda v, e, u: v, lambda v, e, u, o: (ZERO, ZERO, -(logistic_given(v, e, u) * logistic_rest(v, e, u))),
                         (_ANY, _ANY, _ANY), doc="v = 1 / (1 + e), where e = exp(u); v and e count as what they are")  # fmt: skip
logistic_rest = formula("logistic_rest", _rest, lambda v, e, u, o: (ZERO, ZERO, logistic_given(v, e, u) * logistic_rest(v, e, u)),
                        (_ANY, _ANY, _ANY), doc="1 - v of `logistic_given`")  # fmt: skip

# ---- powers -------------------------------------------------------------------------------------------------------------------


def _falling(n: int) -> list[int]:
    """Coefficients of y (y - 1) ... (y - n + 1), that of 1 first."""
    out = [1]
    for k in range(n):
        out = [a - k * b for a, b in zip([0, *out], [*out, 0])]
    return out


def _pow_slope(x: Value, y: Value, *, n: int, m: int) -> Value:
    """x**(y - n) times a polynomial in log x, whose coefficients are derivatives of y (y - 1) ... (y - n + 1).

    0 of a power masks the logarithm of 0, and so does 0 of a coefficient.
    """
    base = x ** (y - n) if n else x**y
    whole = None
    for k in range(n):
        factor = y - k if k else y
        whole = factor if whole is None else whole * factor
    total = full(1.0, y) if whole is None else whole
    if m == 0:
        return szmul(total, base)
    coefficients, logarithm = _falling(n), log(x)
    for k in range(1, m + 1):
        coefficients = [j * c for j, c in enumerate(coefficients)][1:]
        total = szmul(total, logarithm)
        if coefficients:
            total = total + horner([math.comb(m, k) * c for c in coefficients], y)
    out = szmul(base, total)
    return out if n else select(eq(x, 0), 0, out)


pow_slope = formula("pow_slope", _pow_slope,
                    lambda x, y, o, *, n, m: (pow_slope(x, y, n=n + 1, m=m), pow_slope(x, y, n=n, m=m + 1)), (_POS, _ANY), kinds="fc",
                    sample={"n": 2, "m": 1}, zero_at="anywhere", doc="derivative of x**y of order n in x, m in y; 0 where x is 0 and n is 0")  # fmt: skip
pow_slope_y = formula("pow_slope_y", lambda x, y, o: select(eq(x, 0), 0, o * log(x)),
                      lambda x, y, p, o: (pow_slope(x, y, n=1, m=1), pow_slope(x, y, n=0, m=2), ZERO), (_POS, _ANY, _POS), kinds="fc",
                      zero_at="anywhere", doc="slope of p = x**y in y; 0 where x is 0; p counts as what it is")  # fmt: skip

# ---- (exp(t) - 1) / t and Box and Cox's powers -----------------------------------------------------------------------------------


def _exprel(t: Value, *, n: int) -> Value:
    """The integral of s**n exp(t s) over [0, 1]: series of positive terms up to |t| = n + 1, a recurrence beyond."""
    size, edge = abs(t), full(n + 1.0, t)
    small = size <= edge
    near, far = select(small, size, edge), select(small, edge, t)
    count = 18 + 7 * n
    up = horner([1.0 / (math.factorial(k) * (n + k + 1)) for k in range(count)], near)
    down = exp(-near) * horner([math.factorial(n) / math.factorial(n + k + 1) for k in range(count)], near)
    beyond, grown = expm1(far) / far, exp(far)
    for k in range(1, n + 1):
        beyond = (grown - k * beyond) / far
    return select(small, select(t < 0, down, up), beyond)


def _boxcox(x: Value, lam: Value) -> Value:
    zero = abs(lam) < 1e-19  # as SciPy: (x**lam - 1) / lam is log x to the last digit
    safe = select(zero, 1, lam)
    return select(zero, log(x), expm1(safe * log(x)) / safe)


def _boxcox_slope(x: Value, lam: Value, *, m: int) -> Value:
    """log(x)**(m + 1) E_m(lam log x), with E_m the derivative of order m of (exp(t) - 1) / t; that of -1 / lam where x is 0."""
    logarithm = log(x)
    out = _exprel(lam * logarithm, n=m)
    power = lam
    for _ in range(m + 1):
        out *= logarithm
    for _ in range(m):
        power *= lam
    return select(eq(x, 0), (-1) ** (m + 1) * math.factorial(m) / power, out)


boxcox = formula("boxcox", _boxcox, lambda x, lam, o: (x ** (lam - 1), boxcox_slope(x, lam, m=1)), (_POS, _ANY),
                 doc="(x**lam - 1) / lam, log x where lam is 0")  # fmt: skip
boxcox_slope = formula("boxcox_slope", _boxcox_slope,
                       lambda x, lam, o, *, m: (pow_slope(x, lam - 1, n=0, m=m), boxcox_slope(x, lam, m=m + 1)),
                       (_POS, _ANY), sample={"m": 1}, doc="derivative of `boxcox` of order m in lam")  # fmt: skip

# ---- relative entropy, Huber's smooth loss ------------------------------------------------------------------------------------------


def _log_ratio(x: Value, y: Value) -> Value:
    """log(x / y); where the quotient is no ordinary number, of x and y times powers of 2 that are taken out again."""
    info = np.finfo(x.type.numpy)
    power = int(0.6 * info.maxexp)
    scale, q = 2.0**power, x / y
    small, large = q < float(info.tiny), q > float(info.max)
    one, taken_out = full(1.0, x), 2 * power * math.log(2)
    up = select(small, scale, select(large, 1 / scale, one))
    down = select(small, 1 / scale, select(large, scale, one))
    return log(x * up / (y * down)) + select(small, -taken_out, select(large, taken_out, full(0.0, x)))


def _rel_entr(x: Value, y: Value) -> Value:
    return select(eq(x, 0), 0, x * _log_ratio(x, y))


log_ratio = formula("log_ratio", _log_ratio, lambda x, y, o: (lambda ct: szdiv(ct, x), lambda ct: -szdiv(ct, y)),
                    (_POS, _POS), doc="log(x / y)")  # fmt: skip
rel_entr = formula("rel_entr", _rel_entr, lambda x, y, o: (log_ratio(x, y) + 1, -zero_or_div(x, y)), (_POS, _POS),
                   doc="x log(x / y), 0 where x is 0; x and y are not negative")  # fmt: skip


def _pseudo_huber(delta: Value, r: Value) -> Value:
    """delta**2 * (sqrt(1 + (r/delta)**2) - 1), written u**2/(1 + sqrt(1 + u**2)) with u = r/delta."""
    usable = ne(delta, 0)
    d = select(usable, delta, 1)
    u = r / d
    square = u * u
    value = d * d * (square / (1 + sqrt(1 + square)))
    return select(usable & ne(r, 0), value, 0)


def _pseudo_huber_partials(delta: Value, r: Value, o: Value) -> Sequence[Any]:
    """The slopes (h - delta)**2 / h and delta r / h, where h = hypot(delta, r) and h - delta = r**2 / (h + delta)."""
    h = hypot(delta, r)
    gap = r * div_or_0(r, h + delta)
    return gap * div_or_0(gap, h), delta * div_or_0(r, h)


pseudo_huber = formula("pseudo_huber", _pseudo_huber, _pseudo_huber_partials, (_POS, _ANY),
                       doc="delta**2 * (sqrt(1 + (r/delta)**2) - 1), 0 where delta is 0; delta is not negative")  # fmt: skip
