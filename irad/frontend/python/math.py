"""Python's module math on traced numbers: NumPy's functions as Python floats, with math's errors outside their domain."""

from __future__ import annotations

import functools
import importlib.util
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.once import import_later
from irad.errors import IradTypeError, UnsupportedError
from irad.frontend.python.numbers import BUILTINS, builtin
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, lift, static_value
from irad.frontend.values.objects import describe, is_traced_deep
from irad.ops import elementwise as ew
from irad.ops.control import raise_if


def _float(r: Reader, x: Any) -> Any:
    return BUILTINS[float](r, x)


def _value(x: Any) -> Value:
    return lift(x, "f64").value


def _raise(condition: Value, exc: str, message: str) -> None:
    raise_if(condition, exc=exc, message=message)


def _check_domain(xs: Sequence[Any], out: Any) -> None:
    """A NaN that comes from no NaN."""
    bad = ew.isnan(_value(out))
    for x in xs:
        bad = bad & ~ew.isnan(_value(x))
    _raise(bad, "ValueError", "math domain error")


def _check_range(xs: Sequence[Any], out: Any, exc: str = "OverflowError", message: str = "math range error") -> None:
    """An infinity that comes from finite numbers."""
    bad = ew.isinf(_value(out))
    for x in xs:
        bad = bad & ew.isfinite(_value(x))
    _raise(bad, exc, message)


def _math(name: str, ufunc: Any, *checks: Callable[[Sequence[Any], Any], None]) -> None:
    """Register a function of as many floats as the ufunc has."""
    native = getattr(math, name, None)
    if native is None:  # newer than this Python
        return

    def apply(r: Reader, *xs: Any) -> Any:
        if not is_traced_deep(xs) or len(xs) != ufunc.nin:
            return native(*(r.operand(x) if not is_traced_deep(x) else 0.0 for x in xs))  # also for Python's own TypeError
        floats = [_float(r, x) for x in xs]
        out = Arr(r.call(ufunc, floats).value, True)
        for check in checks:
            check(floats, out)
        return out

    BUILTINS[native] = apply


_pole = functools.partial(_check_range, exc="ValueError", message="math domain error")
for _name, _ufunc in {
    "atan": np.arctan, "atan2": np.arctan2, "tanh": np.tanh, "asinh": np.arcsinh, "fabs": np.fabs, "copysign": np.copysign,
    "cbrt": np.cbrt, "degrees": np.degrees, "radians": np.radians, "nextafter": np.nextafter,
}.items():  # fmt: skip
    _math(_name, _ufunc)
for _name, _ufunc in {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "acosh": np.arccosh, "fmod": np.fmod,
    "sqrt": np.sqrt,
}.items():  # fmt: skip
    _math(_name, _ufunc, _check_domain)
for _name, _ufunc in {"exp": np.exp, "expm1": np.expm1, "exp2": np.exp2, "sinh": np.sinh, "cosh": np.cosh}.items():
    _math(_name, _ufunc, _check_range)
for _name, _ufunc in {"atanh": np.arctanh, "log1p": np.log1p, "log2": np.log2, "log10": np.log10}.items():
    _math(_name, _ufunc, _check_domain, _pole)


@builtin(math.log)
def log(r: Reader, x: Any, *base: Any) -> Any:
    """math.log(x), math.log(x, base)."""
    if not is_traced_deep((x, *base)) or len(base) > 1:
        return math.log(*(r.operand(v) if not is_traced_deep(v) else 1.0 for v in (x, *base)))
    parts = []
    for v in (x, *base):
        f = _float(r, v)
        out = Arr(r.call(np.log, [f]).value, True) if isinstance(f, Arr) else math.log(f)
        if isinstance(out, Arr):
            _check_domain([f], out)
            _pole([f], out)
        parts.append(out)
    return parts[0] if not base else r.operator("truediv", *parts)


@builtin(math.pow)
def pow_(r: Reader, x: Any, y: Any) -> Any:
    if not is_traced_deep((x, y)):
        return math.pow(r.operand(x), r.operand(y))
    a, b = _float(r, x), _float(r, y)
    out = Arr(r.call(np.power, [a, b]).value, True)
    _check_domain([a, b], out)
    zero = ew.eq(_value(a), _value(0.0))
    _raise(zero & (ew.isinf(_value(out)) & ew.isfinite(_value(b))), "ValueError", "math domain error")
    _check_range([a, b], out)
    return out


@builtin(math.hypot)
def hypot(r: Reader, *coordinates: Any) -> Any:
    if not is_traced_deep(coordinates):
        return math.hypot(*map(r.operand, coordinates))
    total: Any = None
    for x in coordinates:
        f = _float(r, x)
        total = r.call(np.fabs if total is None else np.hypot, [f] if total is None else [total, f])
    return Arr(lift(total, "f64").value, True)


@builtin(math.dist)
def dist(r: Reader, p: Any, q: Any) -> Any:
    a, b = r.items(p), r.items(q)
    if len(a) != len(b):
        raise ValueError("both points must have the same number of dimensions")
    return hypot(r, *(r.operator("sub", _float(r, x), _float(r, y)) for x, y in zip(a, b)))


@builtin(math.remainder)
def remainder(r: Reader, x: Any, y: Any) -> Any:
    """x - n*y for the integer n nearest to x/y, exactly."""
    if not is_traced_deep((x, y)):
        return math.remainder(r.operand(x), r.operand(y))
    a, b = _float(r, x), _float(r, y)
    size, step = r.call(np.fabs, [a]), r.call(np.fabs, [b])
    low = r.call(np.fmod, [size, step])
    _check_domain([a, b], low)
    high = r.operator("sub", step, low)
    odd = r.call(np.fmod, [r.operator("mul", 0.5, r.operator("sub", size, low)), step])
    tie = r.operator("sub", low, r.operator("mul", 2.0, odd))
    near = r.call(np.where, [r.operator("gt", low, high), r.operator("neg", high), tie])
    near = r.call(np.where, [r.operator("lt", low, high), low, near])
    out = r.operator("mul", r.call(np.copysign, [1.0, a]), near)
    kept = r.call(np.logical_and, [r.call(np.isinf, [b]), r.call(np.isfinite, [a])])
    return _float(r, r.call(np.where, [kept, a, out]))


def _special(name: str, op: Any, *checks: Callable[[Sequence[Any], Any], None]) -> None:
    native = getattr(math, name)

    def apply(r: Reader, x: Any) -> Any:
        if not is_traced_deep(x):
            return native(r.operand(x))
        f = _float(r, x)
        out = Arr(op(_value(f)), True)
        for check in checks:
            check([f], out)
        return out

    BUILTINS[native] = apply


def _check_gamma(xs: Sequence[Any], out: Any) -> None:
    """Poles at 0, -1, -2...; overflow where it is large."""
    pole = (_value(xs[0]) <= _value(0.0)) & ew.isinf(_value(out))
    _raise(pole & ew.isfinite(_value(xs[0])), "ValueError", "math domain error")
    _check_range(xs, out)


_special("erf", ew.erf)
_special("erfc", ew.erfc)
_special("lgamma", lambda x: ew.select(ew.isinf(x), abs(x), ew.gammaln(x)), _check_gamma)  # SciPy has -inf at -inf


def _gamma(x: Value) -> Value:
    """SciPy's function: there is no code for it here."""
    if importlib.util.find_spec("scipy") is None:
        raise UnsupportedError(
            "math.gamma of traced numbers is SciPy's: install SciPy, or write math.exp(math.lgamma(x)) for x > 0"
        )
    out: Value = import_later("irad.ops.scipy_special").FUNCTIONS["gamma"](x)
    return out


def _check_whole(xs: Sequence[Any], out: Any) -> None:
    """Poles at 0, -1, -2... and minus infinity."""
    x = _value(xs[0])
    _raise((x <= _value(0.0)) & ew.eq(ew.floor(x), x), "ValueError", "math domain error")
    _check_range(xs, out)


_special("gamma", _gamma, _check_whole)


@builtin(math.ulp)
def ulp(r: Reader, x: Any) -> Any:
    if not is_traced_deep(x):
        return math.ulp(r.operand(x))
    size = r.call(np.fabs, [_float(r, x)])
    infinite = r.call(np.isinf, [size])
    return _float(r, r.call(np.where, [infinite, size, r.call(np.spacing, [size])]))


# ---- tests, parts and integers --------------------------------------------------------------------------------------------


def _test(native: Any, ufunc: Any) -> None:
    def test(r: Reader, x: Any) -> Any:
        if not is_traced_deep(x):
            return native(r.operand(x))
        return Arr(r.call(ufunc, [_float(r, x)]).value, True)

    BUILTINS[native] = test


def _rounding(native: Any, ufunc: Any) -> None:
    def apply(r: Reader, x: Any) -> Any:
        if not is_traced_deep(x):
            return native(r.operand(x))
        if isinstance(x, Arr) and x.weak and x.name == "i64":
            return x
        return BUILTINS[int](r, _float(r, r.call(ufunc, [_float(r, x)])))

    BUILTINS[native] = apply


for _name in ("isnan", "isinf", "isfinite"):
    _test(getattr(math, _name), getattr(np, _name))
for _name in ("floor", "ceil", "trunc"):
    _rounding(getattr(math, _name), getattr(np, _name))


@builtin(math.isclose)
def isclose(r: Reader, a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    if not is_traced_deep((a, b, rel_tol, abs_tol)):
        return math.isclose(r.operand(a), r.operand(b), rel_tol=rel_tol, abs_tol=abs_tol)
    for tolerance in (rel_tol, abs_tol):
        negative = r.operator("lt", tolerance, 0.0)
        _raise(lift(negative, "bool").value, "ValueError", "tolerances must be non-negative")
    x, y = _float(r, a), _float(r, b)
    size = lambda v: r.call(np.fabs, [v])
    gap = size(r.operator("sub", x, y))
    limit = r.call(np.fmax, [r.operator("mul", rel_tol, r.call(np.fmax, [size(x), size(y)])), abs_tol])
    finite = r.call(np.logical_and, [r.call(np.isfinite, [x]), r.call(np.isfinite, [y])])
    near = r.call(np.logical_and, [finite, r.operator("le", gap, limit)])
    return r.truth(r.call(np.logical_or, [r.operator("eq", x, y), near]))


@builtin(math.frexp)
def frexp(r: Reader, x: Any) -> Any:
    if not is_traced_deep(x):
        return math.frexp(r.operand(x))
    mantissa, exponent = r.call(np.frexp, [_float(r, x)])
    return _float(r, mantissa), BUILTINS[int](r, exponent)


@builtin(math.modf)
def modf(r: Reader, x: Any) -> Any:
    if not is_traced_deep(x):
        return math.modf(r.operand(x))
    return tuple(_float(r, part) for part in r.call(np.modf, [_float(r, x)]))


@builtin(math.ldexp)
def ldexp(r: Reader, x: Any, i: Any) -> Any:
    if not is_traced_deep((x, i)):
        return math.ldexp(r.operand(x), r.operand(i))
    f = _float(r, x)
    out = Arr(lift(r.call(np.ldexp, [f, i]), "f64").value, True)
    _check_range([f], out)
    return out


def _of_ints(native: Any, pair: Callable[[Reader, Any, Any], Any], empty: int) -> None:
    """gcd and lcm of any number of ints."""

    def apply(r: Reader, *xs: Any) -> Any:
        if not is_traced_deep(xs):
            return native(*map(r.operand, xs))
        total: Any = empty
        for x in xs:
            if isinstance(x, Arr) and x.name[0] not in "iub" or isinstance(x, float):
                raise IradTypeError(f"math.{native.__name__} wants integers, got {describe(x)}")
            total = pair(r, total, BUILTINS[int](r, x))
        return total

    BUILTINS[native] = apply


def _gcd(r: Reader, x: Any, y: Any) -> Any:
    return BUILTINS[int](r, r.call(np.gcd, [x, y]))


def _lcm(r: Reader, x: Any, y: Any) -> Any:
    common = r.call(max, [_gcd(r, x, y), 1])
    return r.operator("abs", r.operator("mul", r.operator("floordiv", x, common), y))


_of_ints(math.gcd, _gcd, 0)
_of_ints(math.lcm, _lcm, 1)


def _static_only(native: Any) -> None:
    """Functions of ints that need their values at compile time: an argument's is."""

    def apply(r: Reader, *xs: Any) -> Any:
        static_value([r.operand(x) for x in xs], f"an argument of math.{native.__name__}")
        return native(*map(r.operand, xs))

    BUILTINS[native] = apply


for _name in ("factorial", "comb", "perm", "isqrt"):
    _static_only(getattr(math, _name))


def _instead(name: str, words: str) -> None:
    native = getattr(math, name, None)
    if native is None:
        return

    def apply(r: Reader, *xs: Any) -> Any:
        values = [r.items(x) if not isinstance(x, Arr) and hasattr(x, "__len__") else x for x in xs]
        if is_traced_deep(values):
            raise UnsupportedError(f"math.{name} of traced numbers is not supported: {words}")
        return native(*map(r.operand, xs))

    BUILTINS[native] = apply


_instead("fma", "write x * y + z")
_instead("sumprod", "write np.dot(p, q)")
