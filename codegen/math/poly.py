"""The transcendental functions as inlined polynomials, float64 and float32, and how far off each may be.

`FUNCTIONS[name](E, *operands)` emits one on the builder E (`irad.codegen.math.base`). Branch-free but for the huge arguments of
sin, cos and tan; no tables in memory, no fast-math; inf, NaN, zeros, subnormals and overflow as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irad.codegen.math import exp as poly_exp
from irad.codegen.math import inverse as poly_inverse
from irad.codegen.math import log as poly_log
from irad.codegen.math import power as poly_pow
from irad.codegen.math import special as poly_special
from irad.codegen.math import trig as poly_trig

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": poly_exp.exp, "exp2": poly_exp.exp2, "expm1": poly_exp.expm1, "log": poly_log.log, "log2": poly_log.log2,
    "log10": poly_log.log10, "log1p": poly_log.log1p, "pow": poly_pow.pow, "cbrt": poly_pow.cbrt, "hypot": poly_pow.hypot,
    "sin": poly_trig.sin, "cos": poly_trig.cos, "tan": poly_trig.tan, "arcsin": poly_inverse.arcsin,
    "arccos": poly_inverse.arccos, "arctan": poly_inverse.arctan, "arctan2": poly_inverse.arctan2, "sinh": poly_exp.sinh,
    "cosh": poly_exp.cosh, "tanh": poly_exp.tanh, "arcsinh": poly_inverse.arcsinh, "arccosh": poly_inverse.arccosh,
    "arctanh": poly_inverse.arctanh, "erf": poly_special.erf, "erfc": poly_special.erfc, "gammaln": poly_special.gammaln,
    "digamma": poly_special.digamma, "trigamma": poly_special.trigamma,
}  # fmt: skip

# Largest error in units in the last place of the exact result, over all arguments but those of ABSOLUTE.
ULP: dict[str, dict[str, float]] = {
    "exp": {"f64": 1.1, "f32": 1.1}, "exp2": {"f64": 0.9, "f32": 0.9}, "expm1": {"f64": 1.5, "f32": 1.5},
    "log": {"f64": 0.9, "f32": 0.9}, "log2": {"f64": 0.9, "f32": 0.9}, "log10": {"f64": 0.9, "f32": 0.9},
    "log1p": {"f64": 1.5, "f32": 1.5}, "pow": {"f64": 1.2, "f32": 0.6}, "cbrt": {"f64": 0.9, "f32": 0.9},
    "hypot": {"f64": 1.3, "f32": 0.51}, "sin": {"f64": 1.6, "f32": 1.6}, "cos": {"f64": 1.6, "f32": 1.6},
    "tan": {"f64": 2.6, "f32": 0.6}, "arcsin": {"f64": 1.5, "f32": 1.4}, "arccos": {"f64": 1.3, "f32": 1.3},
    "arctan": {"f64": 1.9, "f32": 2.2}, "arctan2": {"f64": 2.0, "f32": 2.4}, "sinh": {"f64": 2.5, "f32": 2.3},
    "cosh": {"f64": 2.0, "f32": 2.0}, "tanh": {"f64": 2.6, "f32": 2.5}, "arcsinh": {"f64": 2.0, "f32": 2.0},
    "arccosh": {"f64": 2.4, "f32": 2.2}, "arctanh": {"f64": 2.2, "f32": 2.2}, "erf": {"f64": 1.2, "f32": 1.2},
    "erfc": {"f64": 2.8, "f32": 1.5}, "gammaln": {"f64": 4.5, "f32": 0.51}, "digamma": {"f64": 4.0, "f32": 0.51},
    "trigamma": {"f64": 7.0, "f32": 0.51},
}  # fmt: skip

# Near a zero of the result the error is not relative but at most this: gammaln and digamma for x < 0, digamma near 1.4616.
ABSOLUTE: dict[str, float] = {"gammaln": 5e-15, "digamma": 5e-15}
