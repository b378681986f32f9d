"""Example arrays and the form of the table-driven tests of the front end's NumPy table.

A case is an expression over x, y, z, w and the arguments for them; it runs once with NumPy and once with the table.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from irad.frontend.numpy import table
from irad.frontend.registry import OTHER_NAMES, find
from tests.support.numpy_proxy import NP, Namespace, check, run

if find_spec("scipy"):
    import scipy.special

SPECIAL = dir(scipy.special) if find_spec("scipy") else []
OLD = np.__version__.startswith("1.")
RNG = np.random.default_rng(7)
A = RNG.normal(size=(3, 4))
B = RNG.normal(size=(3, 4))
P = RNG.uniform(0.1, 0.9, (3, 4))
V = RNG.normal(size=4)
C = RNG.normal(size=(2, 3, 4))
F = A.astype(np.float32)
H = A.astype(np.float16)
I = RNG.integers(-5, 6, (3, 4))
J = RNG.integers(1, 6, (3, 4))
I8, I32, U8, U64 = I.astype(np.int8), I.astype(np.int32), J.astype(np.uint8), J.astype(np.uint64)
M = A > 0
N = np.where(A > 0.5, np.nan, A)
E0, E2 = np.zeros(0), np.zeros((0, 4))
S, K, Z = np.float64(0.7), np.int64(3), np.array(1.5)
Q = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-310, 2.5, -2.5, 0.5, 3.0])
SQ = RNG.normal(size=(4, 4))


# What NumPy 1 does otherwise: by `numpy_1` of `check`. Of arrays of float32:
WIDER_IN_NUMPY_1 = (
    "np.where(x > 0, x, 0)",
    "np.where(x, y, 2.0)",
    "np.sinc(x)",
    "np.quantile",
    "np.nanquantile",
    "np.percentile",
)
LEGACY_IN_NUMPY_1 = ("x < 300", "x == -1", "x > 2**70", "x >= -2**70")


def evaluate(expression: str, *args: Any, **kw: Any) -> None:
    """Traced and NumPy's own results agree; keywords go to `check`."""
    single = any(isinstance(a, np.ndarray) and a.dtype == np.float32 for a in args)
    if OLD and single and expression.startswith(WIDER_IN_NUMPY_1):
        kw["numpy_1"] = "wider"
    elif OLD and expression in LEGACY_IN_NUMPY_1:
        kw["numpy_1"] = "legacy"
    check(function(expression, len(args)), *args, **kw)


def there_is(expression: str, *args: Any) -> bool:
    """Whether the installed NumPy has what the expression needs; the newest one is asked for all but what it has dropped."""
    table.load_all()
    for name in re.findall(r"\bnp\.((?:linalg\.|fft\.)?\w+)", expression):
        if find(name) is None and (f"np.{name}" in OTHER_NAMES or OLD and name not in SPECIAL):
            return False
    return not OLD or ".mT" not in expression


def cases(*rows: Any) -> Any:
    """Parametrize over rows (expression, arguments...)."""
    return pytest.mark.parametrize("expression,args", [pytest.param(r[0], r[1:], id=r[0]) for r in rows if there_is(*r)])


def function(expression: str, count: int) -> Any:
    """The expression as a function of NumPy (or another module) and its arguments."""
    return eval(f"lambda np, {', '.join('xyzw'[:count])}: {expression}")  # noqa: S307


def evaluate_with(module: Any, expression: str, args: Any) -> None:
    """As `evaluate`, with the functions of another module under the name np."""
    check(function(expression, len(args)), *args, module=Namespace(module), real=module, ulps=256)


def trace(expression: str, *args: Any) -> Any:
    """The traced result alone."""
    return run(function(expression, len(args)), *args, module=NP)
