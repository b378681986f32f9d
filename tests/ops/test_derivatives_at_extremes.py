"""Each elementwise op where numbers end: subnormal, tiny and huge ones, and infinities. Derivatives of order 1, of one
operand also 2, in both widths of floats, against mpmath; where the number wanted is too large for a float, NaN is as good as inf. A new row with
a reference is tested by that."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from irad.core.interp import interpret
from irad.core.ir import build
from irad.core.types import Type
from irad.ops.core import Op
from tests.ops.test_derivative_table import BINARY, UNARY, arity, differentiated
from tests.support.references import REFERENCES

ENDS = {
    "f64": (5e-324, 1e-310, -1e-310, 1e-200, 1e17, -1e17, 1e200, -1e200, 30.0, -30.0, 700.0, -700.0),
    "f32": (1e-45, 1e-40, -1e-40, 1e-30, 1e10, -1e10, 1e30, -1e30, 30.0, -30.0, 80.0, -80.0),
}
PAIRS = {"f64": (1e-310, -1e-200, 0.5, 1e100, -1e100), "f32": (1e-40, -1e-30, 0.5, 1e10, -1e10)}
STEPS = "sign floor ceil trunc rint"
SLOW = "gammaln trigamma digamma bessel_i0 bessel_ratio boxcox_slope"  # references that take seconds for a number of 500 digits
SMALL = 1e-3
INFINITE = {  # slopes at -inf and inf
    "exp": (0.0, np.inf), "exp2": (0.0, np.inf), "expm1": (0.0, np.inf), "arctan": (0.0, 0.0), "tanh": (0.0, 0.0), "erf": (0.0, 0.0),
    "erfc": (0.0, 0.0), "expit": (0.0, 0.0), "arcsinh": (0.0, 0.0), "logistic": (0.0, 0.0), "sinh": (np.inf, np.inf),
}  # fmt: skip


def near(x: float) -> float:
    """An ordinary number on the same side."""
    return x if SMALL <= abs(x) <= 1e3 else float(np.copysign(0.5 if abs(x) < SMALL else 1e3, x))


def regular(op: Op, xs: tuple[float, ...]) -> bool:
    """Smooth here: at the point, or if it is tiny, at ordinary ones on its side."""
    smooth = REFERENCES[op.name].smooth
    return bool(smooth(*xs) or smooth(*map(near, xs)) and any(abs(x) < SMALL for x in xs))


def overflows(op: Op, xs: tuple[float, ...]) -> bool:
    """A power of a tiny number with another small or negative exponent: x**(y - 1) is inf, whatever y times it would be."""
    return op.name in ("pow", "pow_slope", "boxcox") and abs(xs[0]) < SMALL and xs[1] < 1


@cache
def wanted(name: str, xs: tuple[float, ...], orders: tuple[int, ...]) -> Any:
    """None where differences of two steps are not the same number: steps of a fixed size, but of tiny operands relative ones."""
    f, smooth = REFERENCES[name].f, REFERENCES[name].smooth
    total = sum(orders)
    relative = not smooth(*(0.0 if abs(x) < SMALL else x for x in xs))
    digits = 60 + 40 * total + (total + 3) * sum(max(0, int(np.log10(abs(x)))) for x in xs) + 330 * relative
    found = []
    for step in (mp.mpf(10) ** -20, mp.mpf(10) ** -21):
        with mp.workdps(digits):
            at = [mp.mpf(x) for x in xs]
            try:
                found.append(central(f, at, [abs(x) * step if relative and abs(x) < SMALL else step for x in at], orders))
            except (ValueError, ZeroDivisionError, OverflowError, TypeError):
                return None
    u, v = found
    if abs(u - v) > mp.mpf(10) ** -11 * max(abs(u), abs(v)) and max(abs(u), abs(v)) > mp.mpf(10) ** -330:
        return None
    return float(mp.re(v)) if abs(mp.im(v)) <= abs(mp.re(v)) * 1e-10 else None


def central(f: Any, at: list[Any], h: list[Any], orders: tuple[int, ...]) -> Any:
    total = mp.mpf(0)
    for steps in itertools.product(*(range(k + 1) for k in orders)):
        weight = mp.fprod((-1) ** s * mp.binomial(k, s) for s, k in zip(steps, orders))
        total += weight * f(*(x + (mp.mpf(k) / 2 - s) * d for x, d, s, k in zip(at, h, steps, orders)))
    return total / mp.fprod(d**k for d, k in zip(h, orders))


def allowed(want: np.ndarray, xs: np.ndarray, dtype: str, order: int) -> np.ndarray:
    """Relative to the number, for huge operands; else a few units of a number of size 1 may be lost by subtraction as well."""
    eps, tiny = (2.0**-52, 2.0**-1022) if dtype == "f64" else (2.0**-23, 2.0**-126)
    loss = np.where(np.max(np.abs(xs), axis=0) < 1e3, 8 * eps, 8 * tiny)
    return 1e3 * order * eps * np.abs(want) + loss


def check(op: Op, where: list[tuple[float, ...]], orders: tuple[int, ...], dtype: str) -> list[str]:
    n, t = arity(op), Type(dtype, (len(where),))
    program = {"f": build([t] * n, lambda *vs: op(*vs, **op.extra.get("sample", {})), "f")}
    xs = np.array(list(zip(*where)), t.numpy)
    args = list(xs)
    for k in orders:
        program = differentiated(program, k, k != orders[-1], n)
        args.append(np.ones(len(where), t.numpy))
    got = interpret(program, *args)[-1].astype(float)
    counts = tuple(orders.count(k) for k in range(n))
    want = [wanted(op.name, tuple(map(float, x)), counts) for x in xs.T]
    known = np.array([w is not None for w in want])
    with np.errstate(over="ignore", invalid="ignore"):
        right = np.array([0.0 if w is None else w for w in want]).astype(t.numpy).astype(float)
        over = np.isinf(right) & ~np.isfinite(got)
        bad = known & ~(over | (got == right) | (np.abs(got - right) <= allowed(right, xs.astype(float), dtype, len(orders))))
    return [f"{op.name} {orders} at {x}: {g}, not {w}" for x, g, w, b in zip(xs.T, got, right, bad) if b]


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("op", [op for op in UNARY if op.name not in (STEPS + " " + SLOW).split()], ids=lambda op: op.name)
def test_one_operand(op: Op, dtype: str) -> None:
    where = [(x,) for x in ENDS[dtype] if regular(op, (x,))]
    assert [w for orders in ((0,), (0, 0)) for w in check(op, where, orders, dtype)] == []


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("op", [op for op in BINARY if op.name not in SLOW.split()], ids=lambda op: op.name)
def test_two_operands(op: Op, dtype: str) -> None:
    where = [xs for xs in itertools.product(PAIRS[dtype], repeat=2) if regular(op, xs) and not overflows(op, xs)]
    assert [w for orders in ((0,), (1,)) for w in check(op, where, orders, dtype)] == []


@pytest.mark.parametrize("name", INFINITE)
def test_at_infinity(name: str) -> None:
    op = next(op for op in UNARY if op.name == name)
    t = Type("f64", (2,))
    program = differentiated({"f": build([t], lambda x: op(x), "f")}, 0, False, 1)
    np.testing.assert_array_equal(interpret(program, np.array([-np.inf, np.inf]), np.ones(2))[-1], INFINITE[name])


BEYOND = (1e308, -1e308, -np.inf, np.inf)
FADING = [name for name, slopes in INFINITE.items() if slopes == (0.0, 0.0)]


@pytest.mark.parametrize("op", [op for op in UNARY if op.name not in (STEPS + " " + SLOW).split()], ids=lambda op: op.name)
def test_higher_derivatives_are_right_or_no_number(op: Op) -> None:
    """Where formulas overflow, derivatives of order 2 and 3 may be NaN or infinite; a finite one is right (docs/edges.md)."""
    where = [(x,) for x in (*ENDS["f64"], *BEYOND) if np.isinf(x) or regular(op, (x,))]
    xs = np.array(where).T[0]
    program, args = {"f": build([Type("f64", xs.shape)], lambda x: op(x, **op.extra.get("sample", {})), "f")}, [xs]
    for order, forward in enumerate((True, False, True), 1):
        program = differentiated(program, 0, forward, 1)
        args.append(np.ones(xs.shape))
        if order == 1:
            continue
        for x, got in zip(xs, interpret(program, *args)[-1]):
            if not np.isfinite(got) or np.isinf(x) and op.name not in FADING:
                continue
            want = 0.0 if np.isinf(x) else wanted(op.name, (float(x),), (order,))
            ok = want is None or np.abs(got - want) <= allowed(np.array([want]), np.array([[x]]), "f64", order)
            assert ok, f"{op.name} of order {order} at {x}: {got}, not {want}"


def test_tiny_base() -> None:
    """y * x**(y - 1) as NumPy computes it: infinite where the power is; 0 at y = 0."""
    op = next(op for op in BINARY if op.name == "pow")
    t = Type("f64", (5,))
    program = differentiated({"f": build([t, t], lambda x, y: op(x, y), "f")}, 0, False, 2)
    x, y = np.array([1e-310, 1e-310, 1e-310, 1e-310, 5e-324]), np.array([1e-200, 0.0, 0.5, 2.0, -1e-3])
    with np.errstate(all="ignore"):
        want = np.where(y == 0, 0.0, y * x ** (y - 1))
    got = interpret(program, x, y, np.ones(5))[-1]
    np.testing.assert_allclose(got, want, rtol=1e-14)
    assert np.isinf(got[0]) and got[1] == 0 and got[2] == float(mp.mpf(1e-310) ** -0.5 / 2) and np.isinf(got[4])
