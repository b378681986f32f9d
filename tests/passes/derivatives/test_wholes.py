"""What is smooth though its parts are not: derivatives at the point where the parts have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

import irad
from irad.core.interp import interpret
from irad.core.text import parse, show
from irad.ops import OPS
from irad.passes.derivatives.autodiff import vjp
from irad.passes.derivatives.wholes import wholes
from irad.passes.manager import run

norm = np.linalg.norm
ONE, NONE = np.eye(3), np.zeros((3, 3))
SPREAD = 2 * (ONE / 3 - 1 / 9)

# Functions of three numbers, and their Hessians at 0.
SMOOTH: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "square_of_norm": (lambda x: norm(x) ** 2, 2 * ONE),
    "norm_times_norm": (lambda x: norm(x) * norm(x), 2 * ONE),
    "kernel": (lambda x: np.exp(-0.5 * (norm(x) / 2.0) ** 2), -ONE / 4),
    "negated_factor": (lambda x: np.exp(-norm(x) * norm(x)), -2 * ONE),
    "fourth_power": (lambda x: norm(x) ** 4, NONE),
    "norms_along_an_axis": (lambda x: np.sum((norm(x[:, None], axis=1)[:, None] / 2) ** 2), ONE / 2),
    "square_of_std": (lambda x: np.std(x) ** 2, SPREAD),
    "std_times_std": (lambda x: np.std(x) * np.std(x), SPREAD),
    "square_of_root_of_sum": (lambda x: np.sqrt(np.sum(x**2)) ** 2, 2 * ONE),
    "square_of_abs": (lambda x: np.sum(np.abs(x) ** 2), 2 * ONE),
    "inner_product_of_abs": (lambda x: np.abs(x) @ np.abs(x), 2 * ONE),
    "power_spectrum": (lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2), 6 * ONE),
    "square_of_complex_abs": (lambda x: np.abs(x[0] + 1j * x[1]) ** 2, np.diag([2.0, 2.0, 0.0])),
    "square_of_hypot": (lambda x: np.hypot(x[0], x[1]) ** 2, np.diag([2.0, 2.0, 0.0])),
    "power_of_its_norm": (lambda x: norm(x, 4) ** 4, NONE),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_hessian_at_zero(name: str) -> None:
    f, want = SMOOTH[name]
    x = np.zeros(3)
    np.testing.assert_allclose(irad.hessian(f)(x), want, atol=1e-14)
    twice = [irad.grad(lambda x, k=k: irad.grad(f)(x)[k])(x) for k in range(3)]
    np.testing.assert_allclose(twice, want, atol=1e-14)
    assert irad.compile(f)(np.array([0.3, -0.2, 0.5])) == pytest.approx(f(np.array([0.3, -0.2, 0.5])), rel=1e-14)


def test_hessian_of_a_norm_at_zero_is_not_a_number_that_looks_right() -> None:
    assert not np.all(np.isfinite(irad.hessian(norm)(np.zeros(2))))
    np.testing.assert_allclose(irad.grad(norm)(np.zeros(2)), 0)


def test_squares_of_roots() -> None:
    for f in (lambda x: np.sqrt(x) ** 2, lambda x: np.sqrt(x) * np.sqrt(x)):
        assert irad.grad(f)(0.0) == 1 and irad.grad(irad.grad(f))(0.0) == 0
        assert np.isnan(irad.grad(f)(-1.0))
    assert irad.grad(lambda x: np.sqrt((x - 1.0) ** 2))(1.0) == 0


def test_roots_of_parts_of_different_lengths_are_two() -> None:
    """Two loops whose indices have one name."""

    def f(x):
        s = 0.0
        for k in range(1, 3):
            a = np.sqrt(np.sum(x[:k]))
            for k in range(1, 4):
                s += a * np.sqrt(np.sum(x[:k]))
        return s

    x = np.array([1.0, 3.0, 5.0])  # sums 1, 4, 9: roots 1, 2, 3
    want = [6 * (1 / 2 + 1 / 4) + 3 * (1 / 2 + 1 / 4 + 1 / 6), 6 / 4 + 3 * (1 / 4 + 1 / 6), 3 / 6]
    np.testing.assert_allclose(irad.grad(f)(x), want, rtol=1e-14)


def test_a_number_that_a_cast_changes_is_no_exponent() -> None:
    program = parse("""
func @f(%x: f64) -> f64 {
  %three: f64 = const[value=3.0]
  %true: bool = cast %three
  %one: f64 = cast %true
  %r: f64 = sqrt %x
  %p: f64 = pow %r, %one
  %y: f64 = mul %p, %r
  return %y
}""")
    assert interpret(vjp(program), 2.0, 1.0)[1] == pytest.approx(1)


def test_keys_of_long_products_cost_no_more_than_their_nodes() -> None:
    """y is written with so many operations; written out as a formula it would have 2**28 factors."""

    def f(x):
        y, r = x, np.sqrt(x)
        for _ in (1,) * 28:
            y = y * y + y
        return np.sqrt(y * y) * r * r

    assert irad.grad(f)(1e-3) > 0


def test_reciprocals_of_exponentials() -> None:
    f = lambda x: 1 / np.exp(-x)
    assert irad.grad(f)(400.0) == pytest.approx(np.exp(400.0)) == irad.grad(irad.grad(f))(400.0)
    g = irad.grad(lambda x: 1 / (1 + np.exp(-x)))
    assert g(-800.0) == 0 == g(800.0)
    assert g(-400.0) == pytest.approx(np.exp(-400.0)) == g(400.0)
    assert irad.grad(irad.grad(g))(0.0) == pytest.approx(-0.125)


def test_exponential_of_a_logarithm() -> None:
    assert irad.grad(lambda x: np.exp(np.log(x)))(0.0) == 1
    np.testing.assert_array_equal(irad.grad(lambda x: np.exp(special.logsumexp(x)))(np.full(3, -np.inf)), 0)


def test_exponential_of_a_large_and_the_logarithm_of_a_small_number() -> None:
    f = lambda s, t: np.exp(np.log(s) + t)
    assert irad.grad(f, argnums=1)(1e-300, 800.0) == pytest.approx(f(1e-300, 800.0), rel=1e-12)


def test_tails() -> None:
    f = irad.grad(irad.grad(lambda x: np.log(special.erfc(x))))
    assert f(20.0) == pytest.approx(-1.9975185571786867288, rel=1e-9)
    g = irad.grad(irad.grad(lambda x: np.log(special.ndtr(x))))
    assert g(-20.0) == pytest.approx(-0.99753673837947863, rel=1e-9)


NORMAL_TAILS: dict[str, Callable[[Any], Any]] = {
    "ndtr": lambda x: np.log(special.ndtr(x)),
    "log_ndtr": special.log_ndtr,
    "erfc": lambda x: np.log(0.5 * special.erfc(-x / np.sqrt(2))),
    "cdf": lambda x: np.log(stats.norm.cdf(x)),
    "sf": lambda x: np.log10(stats.norm.sf(-x)) * np.log(10),
    "shifted": lambda x: np.log(stats.norm.cdf(2 * x + 1, 1.0, 2.0)),
    "array": lambda x: np.sum(np.log(special.ndtr(x * np.array([1.0, 1.0])))) / 2,
}


@pytest.mark.parametrize("name", NORMAL_TAILS)
def test_tails_of_the_normal_distribution(name: str) -> None:
    """Slopes to order 3, also where the value is -inf because the probability is 0 as a float."""
    f = NORMAL_TAILS[name]
    for x in (3.0, 0.5, -6.0, -20.0, -39.0, -200.0):
        with mp.workdps(60):
            want = [float(mp.diff(lambda t: mp.log(mp.erfc(-t / mp.sqrt(2))), x, k)) for k in (1, 2, 3)]
        got, g = [], f
        for _ in want:
            g = irad.grad(g)
            got.append(g(x))
        np.testing.assert_allclose(got, want, rtol=1e-10)
        np.testing.assert_allclose(irad.jvp(f, (x,), (1.0,))[1], want[0], rtol=1e-12)


def test_weights_that_are_zero() -> None:
    da, db = irad.grad(lambda a, b: special.logsumexp(a, b=b), argnums=(0, 1))(np.zeros(3), np.array([2.0, 0.0, 5.0]))
    np.testing.assert_allclose(da, [2 / 7, 0, 5 / 7])
    np.testing.assert_allclose(db, [1 / 7, 1 / 7, 1 / 7])


def test_a_product_of_zeros_keeps_its_third_derivative() -> None:
    f = lambda x: x * np.where(x >= 0.0, x * x, x * x)
    assert irad.grad(irad.grad(irad.grad(f)))(0.0) == 6
    g = lambda x: irad.jvp(f, (x,), (1.0,))[1]
    assert irad.grad(irad.grad(g))(0.0) == 6


def test_programs_without_roots_stay() -> None:
    program = parse("func @f(%x: f64) -> f64 {\n  %y: f64 = mul %x, %x\n  return %y\n}")
    assert wholes(program)["f"] is program["f"]
    assert "slope_of" in OPS and show(run(program, ["custom"])) == show(program)


def test_nothing_is_kept_for_slopes_that_nobody_asks_for() -> None:
    """A trip of a loop of logistic functions keeps its state and the exponential, not what only a slope's own slope would read."""

    def f(x: Any, w: Any) -> Any:
        for _ in range(20):
            x = 1 / (1 + np.exp(-(w * x)))
        return np.sum(x)

    x = np.ones(40)
    passes = irad.compile(f).lower(x, x, grad=True).passes
    pushed = [line for name, text, _ in passes if name == "expand" for line in text.splitlines() if "push" in line]
    assert len(pushed) == 1 and pushed[0].count("%") == 4, pushed  # the tape before and after, and two arrays
