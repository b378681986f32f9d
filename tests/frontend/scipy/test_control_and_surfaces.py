"""Riccati equations, gamma functions of complex numbers, splines over a grid, and times that nobody reads."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import UnsupportedError

linalg = pytest.importorskip("scipy.linalg")
special = pytest.importorskip("scipy.special")
interpolate = pytest.importorskip("scipy.interpolate")

A = np.array([[0.0, 1.0, 0.0], [0.2, -0.3, 0.4], [0.1, 0.0, -0.2]])
B = np.array([[0.0, 0.1], [1.0, 0.0], [0.0, 1.0]])
X = np.array([1.1, 0.8, 0.5])
GX, GY = np.linspace(0.0, 3.0, 6) ** 1.1, np.linspace(-1.0, 1.0, 7)
Z = np.sin(GX)[:, None] * np.cos(GY) + GX[:, None] * GY
OUTSIDE = interpolate.RectBivariateSpline(GX, GY, Z)
LINEAR = interpolate.RectBivariateSpline(GX, GY, Z, kx=1, ky=3)


def regulator(x: Any) -> Any:
    p = linalg.solve_continuous_are(A * x[0], B * x[1], np.diag(x), np.eye(2) * x[2])
    gain = np.linalg.solve(np.eye(2) * x[2], B.T @ p)
    return np.sum(p * np.arange(9).reshape(3, 3)) + np.sum(gain**2)


def sampled_regulator(x: Any) -> Any:
    p = linalg.solve_discrete_are(A * x[0], B * x[1], np.diag(x), np.eye(2) * x[2], s=0.1 * np.ones((3, 2)))
    return np.sum(p * np.arange(9).reshape(3, 3))


def gammas(x: Any) -> Any:
    z = x * (1 + 0.5j)
    return np.sum(np.abs(special.gamma(z[x > 0.6])) ** 2) + np.sum(special.loggamma(x - 2.3 + 0.7j).imag) + special.loggamma(x[0])


def outside_surface(x: Any) -> Any:
    return (
        np.sum(OUTSIDE(np.sort(x), x[:1]) ** 2)
        + OUTSIDE.ev(x[0], x[1])
        + np.sum(LINEAR(x, x * 0.1, grid=False))
        + OUTSIDE(9.0, x[2])[0, 0]
    )


def surface(x: Any) -> Any:
    s = interpolate.RectBivariateSpline(GX * x[0], GY, Z * x[1])
    return s(x[2], 0.3)[0, 0] + np.sum(s.ev(x[2], np.array([0.1, 0.2])))


class Started:
    def __init__(self, x: Any):
        self.started, self.x = datetime.datetime.now(), x
        self.day, self.zone = time.strftime("%Y-%m-%d"), time.localtime()


def time_not_read(x: Any) -> Any:
    return np.sum(Started(x).x ** 2)


CASES = [regulator, sampled_regulator, gammas, outside_surface, surface, time_not_read]


@pytest.mark.parametrize("f", CASES, ids=[f.__name__ for f in CASES])
def test_value_and_gradient(f: Callable[[Any], Any]) -> None:
    value, slope = irad.value_and_grad(f)(X)
    assert np.isclose(value, f(X), rtol=1e-11)
    h = 1e-5
    assert np.allclose(slope, [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(3)], rtol=1e-7, atol=1e-7)


def test_second_derivative_of_a_regulator() -> None:
    def f(a: Any) -> Any:  # p = a + sqrt(a^2 + 1)
        return linalg.solve_continuous_are(a.reshape((1, 1)), np.eye(1), np.eye(1), np.eye(1))[0, 0]

    a = 0.7
    assert np.isclose(irad.hessian(f)(np.array(a)), (a * a + 1) ** -1.5)


def test_gamma_of_complex_numbers_is_scipys() -> None:
    rng = np.random.default_rng(0)
    z = np.concatenate(
        [rng.uniform(-6, 6, 200) + 1j * rng.uniform(-6, 6, 200), [1, 2, 0.5, 30 + 40j, -20 + 0.1j, 100, 0.5 + 100j, -0.5]]
    )
    assert np.allclose(irad.compile(lambda z: special.loggamma(z))(z), special.loggamma(z), rtol=1e-12, atol=1e-13)
    assert np.allclose(irad.compile(lambda z: special.gamma(z))(z), special.gamma(z), rtol=1e-11, atol=0)


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="another result at each call"):
        irad.compile(lambda x: np.sum(x) * datetime.date.today().day)(X)
    with pytest.raises(UnsupportedError, match="a number whose text is compared"):
        irad.compile(lambda x: np.sum(x) * (time.strftime("%B") == "May"))(X)
    with pytest.raises(UnsupportedError, match="odd degrees"):
        irad.compile(lambda x: interpolate.RectBivariateSpline(GX, GY, Z * x[0], kx=2)(0.1, 0.1))(X)
