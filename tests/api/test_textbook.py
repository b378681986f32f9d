"""Worked examples of textbooks and courses, through the public functions and native code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad
from irad.core.interp import interpret
from irad.core.text import parse, show
from irad.passes.manager import run


def evaluation_trace(x1: Any, x2: Any) -> Any:
    """Baydin, Pearlmutter, Radul and Siskind, "Automatic differentiation in machine learning: a survey", JMLR 18, 2018."""
    return np.log(x1) + x1 * x2 - np.sin(x2)


def perturbed(x1: Any, x2: Any, e: Any) -> Any:
    """The same, with something added to each step: the gradient by e[k] is the adjoint of step k."""
    v1 = np.log(x1) + e[0]
    v2 = x1 * x2 + e[1]
    v3 = np.sin(x2) + e[2]
    v4 = v1 + v2 + e[3]
    return v4 - v3 + e[4]


def test_value_and_gradient() -> None:
    value, grads = irad.value_and_grad(evaluation_trace, argnums=(0, 1))(2.0, 5.0)
    assert value == pytest.approx(11.652071455, rel=1e-9)
    assert grads == (pytest.approx(5.5, rel=1e-12), pytest.approx(1.716337814, rel=1e-9))


def test_adjoints_of_the_steps() -> None:
    dx1, dx2, de = irad.grad(perturbed, argnums=(0, 1, 2))(2.0, 5.0, np.zeros(5))
    assert de.tolist() == [1, 1, -1, 1, 1]
    assert (dx1, dx2) == (pytest.approx(5.5, rel=1e-12), pytest.approx(1.716337814, rel=1e-9))


def test_tangents_of_the_trace() -> None:
    """Table 2 of the same survey: forward mode along x1."""
    value, tangent = irad.jvp(evaluation_trace, (2.0, 5.0), (1.0, 0.0))
    assert (value, tangent) == (pytest.approx(11.652071455, rel=1e-9), pytest.approx(5.5, rel=1e-12))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_square_and_logarithm(mode: str) -> None:
    f = lambda x: x**2 + np.log(x)
    assert irad.value_and_grad(f, mode=mode)(2.0) == (pytest.approx(4.693147181, rel=1e-9), 4.5)
    assert irad.grad(irad.grad(f))(2.0) == pytest.approx(2 - 1 / 4, rel=1e-15)


def test_twice_the_dot_product() -> None:
    """Zhang, Lipton, Li and Smola, "Dive into Deep Learning", 2.5."""
    x = np.arange(4.0)
    value, grad = irad.value_and_grad(lambda x: 2 * np.dot(x, x))(x)
    assert value == 28 and grad.tolist() == [0, 4, 8, 12]
    assert irad.grad(lambda x: np.sum(x))(x).tolist() == [1, 1, 1, 1]


def test_a_result_with_axes_needs_a_cotangent() -> None:
    x = np.arange(4.0)
    f = lambda x: x * x
    y, pullback = irad.vjp(f, x)
    assert y.tolist() == [0, 1, 4, 9] and pullback(np.ones(4))[0].tolist() == [0, 2, 4, 6]
    with pytest.raises(irad.IradTypeError, match="vjp"):
        irad.grad(f)(x)


def test_detached_factor() -> None:
    """A factor that is no function of x: z = u x with u = x**2 held fixed has slope u."""
    x = np.arange(4.0)
    assert irad.grad(lambda x, u: np.sum(u * x))(x, x * x).tolist() == [0, 1, 4, 9]


def test_two_paths_to_one_variable() -> None:
    def f(x: Any) -> Any:
        y1 = x + 1
        y2 = 2 * x
        return (y1 - y2) ** 2

    assert irad.value_and_grad(f)(3.0) == (4, 4)
    assert irad.jvp(f, (3.0,), (1.0,)) == (4, 4)


@pytest.mark.parametrize("x", [0.1, 0.3, 0.7])
def test_logistic_map_of_three_trips(x: float) -> None:
    """Its closed form, 64 x (1 - x) (1 - 2x)**2 (1 - 8x + 8x**2)**2, and the derivative of that (same survey, figure 2)."""

    def f(x: Any) -> Any:
        v = x
        for _ in range(3):
            v = 4 * v * (1 - v)
        return v

    a, b = 1 - 2 * x, 1 - 8 * x + 8 * x * x
    slope = (
        128 * x * (1 - x) * (-8 + 16 * x) * a**2 * b
        + 64 * (1 - x) * a**2 * b**2
        - 64 * x * a**2 * b**2
        - 256 * x * (1 - x) * a * b**2
    )
    assert irad.value_and_grad(f)(x) == (pytest.approx(64 * x * (1 - x) * a**2 * b**2), pytest.approx(slope))


@pytest.mark.parametrize("a", [0.7, -0.7, 1e-3, 2e5])
def test_control_flow_decides_the_slope(a: float) -> None:
    """ "Dive into Deep Learning", 2.5.4: piecewise linear in a, so the gradient is f(a) / a."""

    def f(a: Any) -> Any:
        b = a * 2
        while np.sqrt(b * b) < 1000:
            b = b * 2
        return b if b > 0 else 100 * b

    value, grad = irad.value_and_grad(f)(a)
    assert value == f(a) and grad == value / a


def test_gradient_of_a_neuron() -> None:
    """d softplus(w x + b) = sigmoid(w x + b) (x, 1)."""
    f = lambda w, b, x: np.log1p(np.exp(w @ x + b))
    w, x = np.array([0.5, -0.25]), np.array([2.0, 3.0])
    s = 1 / (1 + np.exp(-(w @ x + 0.1)))
    dw, db = irad.grad(f, argnums=(0, 1))(w, 0.1, x)
    np.testing.assert_allclose(dw, s * x, rtol=1e-14)
    assert db == pytest.approx(s, rel=1e-14)


GRAPH = """func @f(%x1: f64, %x2: f64) -> f64 {
  %v1: f64 = log %x1
  %v2: f64 = mul %x1, %x2
  %v3: f64 = sin %x2
  %v4: f64 = add %v1, %v2
  %v5: f64 = sub %v4, %v3
  return %v5
}"""
DUAL = """func @f.vjp(%x1: f64, %x2: f64, %ct_v5: f64) -> f64, f64, f64 {
  %v1: f64 = log %x1
  %v2: f64 = mul %x1, %x2
  %v3: f64 = sin %x2
  %v4: f64 = add %v1, %v2
  %v5: f64 = sub %v4, %v3
  %0: f64 = neg' %ct_v5
  %1: f64 = cos' %x2
  %2: f64 = szmul' %0, %1
  %3: f64 = szmul' %ct_v5, %x2
  %4: f64 = szmul' %ct_v5, %x1
  %5: f64 = add' %2, %4
  %6: f64 = szdiv' %ct_v5, %x1
  %7: f64 = add' %3, %6
  return %v5, %7, %5
}"""


def test_the_dual_graph() -> None:
    """The pass writes the textbook's backward: v4, v1 and v2 share the cotangent of v5, v3 has its negative, x1 and x2 sum two paths."""
    program = run(parse(GRAPH), ["autodiff"])
    assert show(program) == DUAL
    value, dx1, dx2 = interpret(program, 2.0, 5.0, 1.0)
    np.testing.assert_allclose([value, dx1, dx2], [11.652071455, 5.5, 1.716337814], rtol=1e-9)
