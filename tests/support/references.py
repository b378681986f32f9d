"""Reference functions in mpmath for the table of derivatives: by the name of an op, or of a function of SciPy.

`f(x, ...)` is the function where it is analytic; `smooth(x, ...)` says where that is, with some room around each point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp

from irad.core.lazy_dataclass import dataclass

ROOM = 1e-3


def _everywhere(*xs: float) -> bool:
    return True


def _positive(*xs: float) -> bool:
    return all(x > ROOM for x in xs)


def _unit(x: float) -> bool:
    return abs(x) < 1 - ROOM


def _off_zero(x: float) -> bool:
    return abs(x) > ROOM


@dataclass(frozen=True)
class Reference:
    """A function of mpmath numbers, and where it is smooth."""

    f: Callable[..., Any]
    smooth: Callable[..., bool] = _everywhere


def _power(x: Any, y: Any) -> Any:
    return x ** int(y) if x <= 0 and y == mp.nint(y) else x**y


def _boxcox(x: Any, lam: Any) -> Any:
    return mp.log(x) if lam == 0 else mp.expm1(lam * mp.log(x)) / lam


def _relative_entropy(x: Any, y: Any) -> Any:
    return x * mp.log(x / y)


def _bessel_ratio(x: Any, n: int) -> Any:
    return mp.nsum(lambda k: (x / 2) ** (2 * k) / (mp.factorial(k) * mp.factorial(n + k)), [0, 80]) / 2**n


def _pow_slope(x: Any, y: Any) -> Any:
    """Of order 2 in x and 1 in y."""
    return x ** (y - 2) * (y * (y - 1) * mp.log(x) + 2 * y - 1)


def _boxcox_slope(x: Any, lam: Any) -> Any:
    """Of order 1 in lam."""
    t = lam * mp.log(x)
    slope = mp.nsum(lambda k: t**k * (k + 1) / mp.factorial(k + 2), [0, 60])
    return mp.log(x) ** 2 * slope


def _huber(delta: Any, r: Any) -> Any:
    return r * r / 2 if abs(r) <= delta else delta * (abs(r) - delta / 2)


_logistic = lambda x: 1 / (1 + mp.exp(-x))
_normal = lambda x: mp.erfc(-x / mp.sqrt(2)) / 2
_away = lambda x, y: abs(x) + abs(y) > ROOM
_second_off_zero = lambda x, y: abs(y) > ROOM
_second_positive = lambda x, y: y > ROOM
_first_positive = lambda x, y: x > ROOM
_step = Reference(lambda x: x * 0, lambda x: abs(x - round(2 * x) / 2) > ROOM)
_size = Reference(lambda x: abs(x), _off_zero)
_apart = lambda x, y: abs(x - y) > ROOM

REFERENCES: dict[str, Reference] = {
    "add": Reference(lambda x, y: x + y),
    "sub": Reference(lambda x, y: x - y),
    "mul": Reference(lambda x, y: x * y),
    "szmul": Reference(lambda x, y: x * y),
    "szmul2": Reference(lambda x, y: x * y),
    "zero_or_mul": Reference(lambda x, y: x * y),
    "neg": Reference(lambda x: -x),
    "div": Reference(lambda x, y: x / y, _second_off_zero),
    "szdiv": Reference(lambda x, y: x / y, _second_off_zero),
    "zero_or_div": Reference(lambda x, y: x / y, _second_off_zero),
    "div_or_0": Reference(lambda x, y: x / y, _second_off_zero),
    "difference": Reference(lambda x, y: x - y),
    "abs": _size,
    "sign": _step,
    "floor": _step,
    "ceil": _step,
    "trunc": _step,
    "rint": _step,
    "maximum": Reference(max, _apart),
    "minimum": Reference(min, _apart),
    "fmax": Reference(max, _apart),
    "fmin": Reference(min, _apart),
    "copysign": Reference(lambda x, y: abs(x) * mp.sign(y), lambda x, y: abs(x) > ROOM and abs(y) > ROOM),
    "sqrt": Reference(mp.sqrt, _positive),
    "guarded_sqrt": Reference(mp.sqrt, _positive),
    "cbrt": Reference(mp.cbrt, _positive),
    "pow": Reference(_power, _first_positive),
    "pow_slope": Reference(_pow_slope, _first_positive),
    "exp": Reference(mp.exp),
    "exp2": Reference(lambda x: mp.mpf(2) ** x),
    "exp10": Reference(lambda x: mp.mpf(10) ** x),
    "expm1": Reference(mp.expm1),
    "log": Reference(mp.log, _positive),
    "log2": Reference(lambda x: mp.log(x, 2), _positive),
    "log10": Reference(mp.log10, _positive),
    "log1p": Reference(mp.log1p, lambda x: x > -1 + ROOM),
    "log_ratio": Reference(lambda x, y: mp.log(x / y), _positive),
    "sin": Reference(mp.sin),
    "cos": Reference(mp.cos),
    "tan": Reference(mp.tan),
    "arcsin": Reference(mp.asin, _unit),
    "arccos": Reference(mp.acos, _unit),
    "arctan": Reference(mp.atan),
    "arctan2": Reference(lambda y, x: mp.atan2(y, x), lambda y, x: x > ROOM or abs(y) > ROOM),
    "hypot": Reference(lambda x, y: mp.sqrt(x * x + y * y), _away),
    "sinh": Reference(mp.sinh),
    "cosh": Reference(mp.cosh),
    "tanh": Reference(mp.tanh),
    "arcsinh": Reference(mp.asinh),
    "arccosh": Reference(mp.acosh, lambda x: x > 1 + ROOM),
    "arctanh": Reference(mp.atanh, _unit),
    "logaddexp": Reference(lambda x, y: mp.log(mp.exp(x) + mp.exp(y))),
    "logaddexp2": Reference(lambda x, y: mp.log(mp.mpf(2) ** x + mp.mpf(2) ** y, 2)),
    "expit": Reference(_logistic),
    "logistic": Reference(_logistic),
    "logistic_of_neg": Reference(lambda x: _logistic(-x)),
    "log_erfc": Reference(lambda u: mp.log(mp.erfc(u))),
    "erfc_hazard": Reference(lambda u: 2 / mp.sqrt(mp.pi) * mp.exp(-u * u) / mp.erfc(u)),
    "log_expit": Reference(lambda x: mp.log(_logistic(x))),
    "softplus": Reference(lambda x: mp.log1p(mp.exp(x))),
    "logit": Reference(lambda x: mp.log(x / (1 - x)), lambda x: ROOM < x < 1 - ROOM),
    "erf": Reference(mp.erf),
    "erfc": Reference(mp.erfc),
    "ndtr": Reference(_normal),
    "gammaln": Reference(lambda x: mp.loggamma(x), _positive),
    "digamma": Reference(mp.digamma, _positive),
    "psi": Reference(mp.digamma, _positive),
    "trigamma": Reference(lambda x: mp.polygamma(1, x), _positive),
    "xlogy": Reference(lambda x, y: x * mp.log(y), _second_positive),
    "xlog1py": Reference(lambda x, y: x * mp.log1p(y), lambda x, y: y > -1 + ROOM),
    "entr": Reference(lambda x: -x * mp.log(x), _positive),
    "rel_entr": Reference(_relative_entropy, _positive),
    "kl_div": Reference(lambda x, y: _relative_entropy(x, y) - x + y, _positive),
    "boxcox": Reference(_boxcox, _first_positive),
    "boxcox_slope": Reference(_boxcox_slope, _first_positive),
    "huber": Reference(_huber, lambda d, r: d > ROOM and abs(abs(r) - d) > ROOM),
    "pseudo_huber": Reference(lambda d, r: d * (mp.sqrt(d * d + r * r) - d), lambda d, r: d > ROOM or d == 0 and abs(r) > ROOM),
    "bessel_i0": Reference(lambda x: _bessel_ratio(x, 0)),
    "bessel_ratio": Reference(lambda x: _bessel_ratio(x, 1)),
    "sinc": Reference(lambda x: mp.sincpi(x)),
}

# Rows without a reference, and why.
WITHOUT = {
    "floor_divide": "a step; its slopes are a row of docs/edges.md",
    "remainder": "slopes are steps of the quotient; a row of docs/edges.md",
    "fmod": "slopes are steps of the quotient; a row of docs/edges.md",
    "heaviside": "a step; a row of docs/edges.md",
    "nextafter": "moves by one unit in the last place",
    "pow_slope_y": "an operand is the power itself; tested through pow",
    "slope_of": "its derivative is not that of its value; tests/ops/test_derivative_table.py tests what it is made for",
    "logistic_given": "operands depend on each other; tested through 1 / (1 + exp(-x))",
    "logistic_rest": "as logistic_given",
    "divided": "operands depend on each other; tests/ops/test_matrix_functions.py tests what it is made for",
}
