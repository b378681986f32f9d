"""Each elementwise op, and each function of scipy.special, at its special points: derivatives to order 4 by one variable and to order 3
mixed, in every order of differentiation, forward and reverse, against mpmath. A new row without a reference fails
`test_every_row_has_a_reference`."""

from __future__ import annotations

import inspect
import itertools
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import special

import irad
from irad.core.interp import interpret
from irad.core.ir import Program, build
from irad.core.types import Type
from irad.frontend.numpy.table import lookup
from irad.ops import OPS
from irad.ops.core import Op
from irad.ops.elementwise import isfinite, select
from irad.passes.derivatives.autodiff import jvp, vjp
from tests.support.references import REFERENCES, WITHOUT

lookup(special.erfc)  # it imports all modules of scipy.special, in their order
from irad.frontend.scipy.special import _FORMULAS  # noqa: E402

LATER = ("special_", "mpi_")  # rows that are imported at first use
ROWS = {op.name: op for op in OPS.values() if op.partials is not None and not op.name.startswith(LATER)}
POINTS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -2.0, 0.3, 7.25, 12.0)
ORDER = 4


def test_every_row_has_a_reference() -> None:
    names = {*ROWS, *_FORMULAS}
    assert names - set(REFERENCES) - set(WITHOUT) == set()
    assert not set(REFERENCES) & set(WITHOUT)
    assert all(WITHOUT.values()) and set(WITHOUT) <= names


def arity(op: Op) -> int:
    assert op.partials is not None
    return sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in inspect.signature(op.partials).parameters.values()) - 1


def points(name: str, n: int) -> list[tuple[float, ...]]:
    """Special points at which the function is smooth; those of one operand more than of two."""
    grid = itertools.product(POINTS if n == 1 else POINTS[:8], repeat=n)
    return [xs for xs in grid if REFERENCES[name].smooth(*xs)]


@cache
def wanted(name: str, xs: tuple[float, ...], orders: tuple[int, ...]) -> float:
    with mp.workdps(60):
        f, at = REFERENCES[name].f, tuple(map(mp.mpf, xs))
        if len(xs) == 1:
            return float(mp.re(mp.diff(f, at[0], orders[0], h=mp.mpf(10) ** -9, relative=False)))
        return float(mp.re(_mixed(f, at, orders)))


def _mixed(f: Any, at: tuple[Any, ...], orders: tuple[int, ...]) -> Any:
    """Central differences of order 4, of 60 digits."""
    h, weights = mp.mpf(10) ** -9, {0: {0: 1}}
    stencil = {-2: mp.mpf(1) / 12, -1: -mp.mpf(2) / 3, 1: mp.mpf(2) / 3, 2: -mp.mpf(1) / 12}
    for k in range(1, max(orders) + 1):
        last, new = weights[k - 1], {}
        for (a, u), (b, v) in itertools.product(last.items(), stencil.items()):
            new[a + b] = new.get(a + b, 0) + u * v
        weights[k] = new
    total = mp.mpf(0)
    for (a, u), (b, v) in itertools.product(weights[orders[0]].items(), weights[orders[1]].items()):
        total += u * v * f(at[0] + a * h, at[1] + b * h)
    return total / h ** sum(orders)


def differentiated(program: Program, by: int, forward: bool, n: int) -> Program:
    """The derivative by parameter `by` of the last result, with a tangent or cotangent as one more parameter."""
    results = len(next(iter(program.values())).results)
    return jvp(program, [by]) if forward else vjp(program, [by], [results - 1])


def check(op: Op, orders: tuple[int, ...], modes: tuple[bool, ...], dtype: str = "f64") -> None:
    """Along the variables `orders` (by number), one after the other."""
    n = arity(op)
    where = points(op.name, n)
    if not where:
        pytest.skip("smooth at none of the points")
    t = Type(dtype, (len(where),))
    program = {"f": build([t] * n, lambda *vs: op(*vs, **op.extra.get("sample", {})), "f")}
    args = [np.array(x, t.numpy) for x in zip(*where)]
    for k, forward in zip(orders, modes):
        program = differentiated(program, k, forward, n)
        args.append(np.ones(len(where), t.numpy))
    got = interpret(program, *args)[-1]
    counts = tuple(orders.count(k) for k in range(n))
    want = np.array([wanted(op.name, xs, counts) for xs in where])
    with np.errstate(over="ignore"):
        want = want.astype(t.numpy)
    scale = 10.0 ** (len(orders) - 1)
    tolerance = 1e-9 if dtype == "f64" else 2e-4
    np.testing.assert_allclose(
        got, want, rtol=tolerance * scale, atol=tolerance * scale, err_msg=f"{op.name} {orders} at {where}"
    )


UNARY = [op for name, op in ROWS.items() if name in REFERENCES and arity(op) == 1]
BINARY = [op for name, op in ROWS.items() if name in REFERENCES and arity(op) == 2]


@pytest.mark.parametrize("order", range(1, ORDER + 1))
@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
def test_one_variable(op: Op, order: int) -> None:
    check(op, (0,) * order, (False,) * order)
    check(op, (0,) * order, (False,) * (order - 1) + (True,))


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
def test_one_variable_in_single_precision(op: Op) -> None:
    for order in range(2, ORDER + 1):
        check(op, (0,) * order, (False,) * (order - 1) + (True,), "f32")


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
def test_two_variables_in_single_precision(op: Op) -> None:
    for orders in itertools.product((0, 1), repeat=3):
        check(op, orders, (True, False, True), "f32")


@pytest.mark.parametrize("orders", [o for n in (1, 2, 3) for o in itertools.product((0, 1), repeat=n)], ids=str)
@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
def test_two_variables(op: Op, orders: tuple[int, ...]) -> None:
    check(op, orders, (False,) * len(orders))
    check(op, orders, (False,) * (len(orders) - 1) + (True,))


# ---- not chosen ---------------------------------------------------------------------------------------------------------------

ODD = (*POINTS[:7], 800.0, -800.0, 1e-310, float("inf"), float("nan"))  # where values, slopes and curvatures are no numbers, too


def check_not_chosen(op: Op, orders: tuple[int, ...], modes: tuple[bool, ...]) -> None:
    """`select(chosen, op(...), p q r)`, at points where nothing is chosen: whatever the op and its derivatives are there, the derivatives
    are those of p q r, each of which is an operand of the op, 0 if it is no number, plus a constant."""
    n = arity(op)
    where = list(itertools.product(ODD if n == 1 else ODD[::2], repeat=n))
    t = Type("f64", (len(where),))

    def f(chosen: Any, *vs: Any) -> Any:
        xs, others = vs[:n], vs[n:]
        sums = [x + c for x, c in zip(itertools.cycle([select(isfinite(x), x, 0) for x in xs]), others)]
        return select(chosen, op(*xs, **op.extra.get("sample", {})), sums[0] * sums[1] * sums[2])

    program = {"f": build([t.with_dtype("bool"), *[t] * (n + 3)], f, "f")}
    others = [np.full(len(where), c) for c in (0.5, -1.5, 2.0)]
    xs = [np.array(x) for x in zip(*where)]
    args = [np.zeros(len(where), bool), *xs, *others]
    for k, forward in zip(orders, modes):
        program = differentiated(program, 1 + k, forward, n)
        args.append(np.ones(len(where)))
    got = interpret(program, *args)[-1]
    want = _product_differentiated(xs, others, orders)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg=f"{op.name} {orders} {modes} at {where}")


def _product_differentiated(xs: list[np.ndarray], others: list[np.ndarray], orders: tuple[int, ...]) -> np.ndarray:
    """Derivatives of the product of three sums, by Leibniz's rule."""
    owner = [k % len(xs) for k in range(3)]
    factors = [np.where(np.isfinite(xs[owner[k]]), xs[owner[k]], 0.0) + others[k] for k in range(3)]
    slopes = [np.isfinite(xs[owner[k]]) for k in range(3)]
    total = np.zeros(len(xs[0]))
    for chosen in itertools.permutations(range(3), len(orders)):
        if all(owner[j] == by for j, by in zip(chosen, orders)):
            total = total + np.prod([slopes[j] if j in chosen else factors[j] for j in range(3)], axis=0)
    return total


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
def test_one_variable_where_it_is_not_chosen(op: Op) -> None:
    for order in (1, 2, 3):
        for modes in itertools.product((False, True), repeat=order):
            check_not_chosen(op, (0,) * order, modes)


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
def test_two_variables_where_they_are_not_chosen(op: Op) -> None:
    for orders in itertools.combinations_with_replacement((0, 1), 3):
        for modes in ((False, True, False), (True, False, True)):
            check_not_chosen(op, orders, modes)


@pytest.mark.parametrize("name", sorted(set(_FORMULAS) - set(ROWS)))
def test_functions_of_scipy(name: str) -> None:
    """Natively, to second order, along each variable and mixed."""
    f = getattr(special, name, None)
    if f is None:
        pytest.skip("not in this SciPy")
    n = len(inspect.signature(_FORMULAS[name]).parameters) if name not in ("psi",) else 1
    n = arity(OPS["pow"]) if name in ("boxcox", "huber", "pseudo_huber", "rel_entr", "kl_div") else n if n <= 2 else 1
    where = points(name, n)
    args = [np.array(x) for x in zip(*where)]
    for orders in [(0,), (0, 0), *([(1,), (0, 1), (1, 0), (1, 1)] if n == 2 else [])]:
        g = lambda *xs: f(*xs)
        for k in orders:
            g = irad.grad(lambda *xs, g=g: np.sum(g(*xs)), argnums=k)
        want = [wanted(name, xs, tuple(orders.count(k) for k in range(n))) for xs in where]
        np.testing.assert_allclose(g(*args), want, rtol=1e-8, atol=1e-9, err_msg=f"{name} {orders} at {where}")
