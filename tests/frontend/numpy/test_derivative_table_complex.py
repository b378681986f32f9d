"""Each function of the table that maps complex numbers one by one: derivatives along the real and the imaginary part to order 3, mixed in
every order, each against differences of the one before it; and the equations of Cauchy and Riemann where it is analytic."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.interp import interpret
from irad.core.ir import Program
from irad.frontend.numpy import table
from irad.frontend.trace import trace
from tests.ops.test_derivative_table import differentiated

Z = np.array([0.3 + 0.4j, -0.7 + 0.2j, 1.5 - 0.6j, 0.1 - 2j, -1.2 - 0.8j, 0.5 + 1e-3j])
RE, IM = Z.real.copy(), Z.imag.copy()
NOT_EACH = {"np.trim_zeros", "np.real_if_close"}  # what they do with a number depends on others
NOT_ANALYTIC = "sign conjugate clip nan_to_num rint round around".split()


def _part(f: Callable[[Any], Any], k: int) -> Callable[..., Any]:
    def run(x: Any, y: Any) -> Any:
        w = f(x + 1j * y)
        return w.real if k == 0 else w.imag

    return run


@cache
def programs(name: str) -> list[Program]:
    """The real and the imaginary part as functions of those of the argument; none if it does not map each number by itself."""
    f = table.NAMES[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            w = np.asarray(f(Z))
            if (
                w.shape != Z.shape
                or w.dtype != Z.dtype
                or not all(np.array_equal(f(Z[s]), w[s]) for s in (slice(2), slice(2, 4)))
            ):
                return []
            return [trace(_part(f, k), (RE, IM), {}).program for k in (0, 1)]
        except Exception:
            return []


def _names() -> list[str]:
    table.load_all()
    each = (n for n in table.NAMES if n not in NOT_EACH)
    return [n for n in each if n.count(".") == (2 if n.startswith("scipy.special.") else 1) and programs(n)]


def derivative(program: Program, along: tuple[int, ...]) -> Callable[[float, int], np.ndarray]:
    """At the points, moved by a step along a variable."""
    for j, k in enumerate(along):
        program = differentiated(program, k, j % 2 == 0, 2)
    return lambda h, k: interpret(program, RE + h * (k == 0), IM + h * (k == 1), *[np.ones(len(Z))] * len(along))[-1]


NAMES = _names()


def test_functions_are_met() -> None:
    assert {"np.exp", "np.log", "np.sqrt", "np.arcsin", "np.tanh", "np.sinc", "np.square", "np.reciprocal"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives(name: str) -> None:
    h = 1e-3
    for program, along in itertools.product(programs(name), [a for n in (1, 2, 3) for a in itertools.product((0, 1), repeat=n)]):
        before, k = derivative(program, along[:-1]), along[-1]
        d = lambda s, f=before, k=k: (f(s * h, k) - f(-s * h, k)) / (2 * s * h)
        want = (64 * d(0.25) - 20 * d(0.5) + d(1)) / 45
        sure = np.abs(d(0.5) - d(1)) < 0.1 * (1 + np.abs(want))  # no jump in between
        got = derivative(program, along)(0.0, 0)
        np.testing.assert_allclose(got[sure], want[sure], rtol=1e-5, atol=1e-5, err_msg=f"{name} {along}")


@pytest.mark.parametrize("name", [n for n in NAMES if n.rsplit(".", 1)[1] not in NOT_ANALYTIC])
def test_analytic(name: str) -> None:
    re, im = programs(name)
    at = lambda program, along: derivative(program, along)(0.0, 0)
    for along in ((), (0,), (0, 0)):
        np.testing.assert_allclose(at(re, (*along, 0)), at(im, (*along, 1)), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(at(re, (*along, 1)), -at(im, (*along, 0)), rtol=1e-10, atol=1e-12)


CUTS = {
    ("arcsin", "arccos", "arctanh", "log1p"): (2.0, -3.0), ("arccosh",): (0.5, -2.0), ("log", "log2", "log10", "sqrt"): (-2.0, -0.3),
    ("arcsinh", "arctan"): (2.0, -3.0),
}  # fmt: skip


@pytest.mark.parametrize("name", [n for names in CUTS for n in names])
def test_sides_of_branch_cuts(name: str) -> None:
    """The sign of a zero says on which side of its cut a number lies, for the slope too: natively, and as the traced graph means."""
    f, across = getattr(np, name), name in ("arcsinh", "arctan")
    at = next(points for names, points in CUTS.items() if name in names)
    z = np.array([complex(s, t) if across else complex(t, s) for t in at for s in (0.0, -0.0)])
    moved = lambda h: np.array([complex(w.real, w.imag + h) if across else complex(w.real + h, w.imag) for w in z])
    want = (f(moved(1e-6)) - f(moved(-1e-6))) / (2e-6j if across else 2e-6)
    ones = np.ones(len(z), complex)
    np.testing.assert_allclose(irad.jvp(lambda z: f(z), (z,), (ones,))[1], want, rtol=1e-6, atol=1e-7)
    program = trace(lambda z: f(z), (z,), {}).program
    np.testing.assert_allclose(interpret(differentiated(program, 0, True, 1), z, ones)[-1], want, rtol=1e-6, atol=1e-7)
