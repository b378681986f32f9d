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
from irad.frontend.python.numbers import BUILTINS
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, lift, static_value
from irad.frontend.values.objects import describe, is_traced_deep
from irad.ops import elementwise as ew
from irad.ops.control import raise_if

Builder = Callable[..., Any]
Check = Callable[[Sequence[Any], Any], None]


def _traced(*natives: Any) -> Callable[[Builder], Builder]:
    """Register what stands for functions of math where a number is traced; else they run themselves."""

    def register(f: Builder) -> Builder:
        for native in natives:
            BUILTINS[native] = functools.partial(_either, native, f)
        return f

    return register


def _either(native: Any, f: Builder, r: Reader, *xs: Any) -> Any:
    return f(r, *xs) if is_traced_deep(xs) else native(*map(r.operand, xs))


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


def _checked(r: Reader, xs: Sequence[Any], out: Any, *checks: Check) -> Arr:
    """A result as a Python float, after some checks of the numbers that it was computed of."""
    value = Arr(_value(out), True)
    for check in checks:
        check(xs, value)
    return value


def _math(name: str, ufunc: Any, *checks: Check) -> None:
    """Register a function of as many floats as the ufunc has."""
    native = getattr(math, name)

    @_traced(native)
    def apply(r: Reader, *xs: Any) -> Any:
        if len(xs) != ufunc.nin:
            return native(*[0.0] * len(xs))  # for Python's own TypeError
        floats = [_float(r, x) for x in xs]
        return _checked(r, floats, r.call(ufunc, floats), *checks)


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


@_traced(math.log)
def log(r: Reader, x: Any, *base: Any) -> Any:
    """math.log(x), math.log(x, base)."""
    if len(base) > 1:
        return math.log(1.0, *[1.0] * len(base))  # for Python's own TypeError
    parts = []
    for v in (x, *base):
        f = _float(r, v)
        parts.append(_checked(r, [f], r.call(np.log, [f]), _check_domain, _pole) if isinstance(f, Arr) else math.log(f))
    return parts[0] if not base else r.operator("truediv", *parts)


@_traced(math.pow)
def pow_(r: Reader, x: Any, y: Any) -> Any:
    a, b = _float(r, x), _float(r, y)
    out = _checked(r, [a, b], r.call(np.power, [a, b]), _check_domain)
    zero = ew.eq(_value(a), _value(0.0))
    _raise(zero & (ew.isinf(_value(out)) & ew.isfinite(_value(b))), "ValueError", "math domain error")
    _check_range([a, b], out)
    return out


@_traced(math.hypot)
def hypot(r: Reader, *coordinates: Any) -> Any:
    total: Any = None
    for x in coordinates:
        f = _float(r, x)
        total = r.call(np.fabs if total is None else np.hypot, [f] if total is None else [total, f])
    return Arr(_value(total), True)


def _special(name: str, op: Any, *checks: Check) -> None:
    @_traced(getattr(math, name))
    def apply(r: Reader, x: Any) -> Any:
        f = _float(r, x)
        return _checked(r, [f], Arr(op(_value(f))), *checks)


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

# ---- tests, parts and integers --------------------------------------------------------------------------------------------


def _test(name: str) -> None:
    _traced(getattr(math, name))(lambda r, x: Arr(r.call(getattr(np, name), [_float(r, x)]).value, True))


def _rounding(name: str) -> None:
    @_traced(getattr(math, name))
    def apply(r: Reader, x: Any) -> Any:
        if isinstance(x, Arr) and x.weak and x.name == "i64":
            return x
        return BUILTINS[int](r, _float(r, r.call(getattr(np, name), [_float(r, x)])))


for _name in ("isnan", "isinf", "isfinite"):
    _test(_name)
for _name in ("floor", "ceil", "trunc"):
    _rounding(_name)


@_traced(math.frexp)
def frexp(r: Reader, x: Any) -> Any:
    mantissa, exponent = r.call(np.frexp, [_float(r, x)])
    return _float(r, mantissa), BUILTINS[int](r, exponent)


@_traced(math.modf)
def modf(r: Reader, x: Any) -> Any:
    return tuple(_float(r, part) for part in r.call(np.modf, [_float(r, x)]))


@_traced(math.ldexp)
def ldexp(r: Reader, x: Any, i: Any) -> Any:
    f = _float(r, x)
    return _checked(r, [f], r.call(np.ldexp, [f, i]), _check_range)


def _of_ints(native: Any, pair: Callable[[Reader, Any, Any], Any], empty: int) -> None:
    """gcd and lcm of any number of ints."""

    @_traced(native)
    def apply(r: Reader, *xs: Any) -> Any:
        total: Any = empty
        for x in xs:
            if isinstance(x, Arr) and x.name[0] not in "iub" or isinstance(x, float):
                raise IradTypeError(f"math.{native.__name__} wants integers, got {describe(x)}")
            total = pair(r, total, BUILTINS[int](r, x))
        return r.operator("abs", total)  # NumPy's of -2**63 and 0 is -2**63, where Python's does not fit


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
