"""numpy.polynomial, polynomials as objects, covariances of fits and histograms of several axes, natively against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Polynomial, chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

import irad

X = np.array([0.3, -1.0, 2.0])
C = np.array([1.0, 2.0, 3.0, 0.5])
GRID = np.arange(6.0).reshape(2, 3)
MODULES = {"poly": polynomial, "cheb": chebyshev, "leg": legendre, "herm": hermite, "herme": hermite_e, "lag": laguerre}
P = np.poly1d([1.0, 2.0, 3.0])
Q = Polynomial([1.0, 2.0, 3.0], domain=[-2, 3])
T = Chebyshev([1.0, 0.5, 0.25, 2.0])


def same(f: Any, *args: Any, rtol: float = 0.0) -> None:
    got, want = irad.compile(f)(*args), f(*args)
    got, want = (t if isinstance(t, (list, tuple)) else [t] for t in (got, want))
    for g, w in zip(got, want, strict=True):
        assert np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol)


def test_fits() -> None:
    x, y, w = np.linspace(0.2, 2.0, 7), np.linspace(0.2, 2.0, 7) ** 1.5, np.arange(1.0, 8.0)
    fits = [getattr(m, f"{name}fit") for name, m in MODULES.items()]

    def fitted(x: Any, y: Any) -> Any:
        return [f(x, y, 2, w=w) for f in fits] + [
            legendre.legfit(x, np.stack((y, x), 1), [0, 3]),
            laguerre.lagfit(x[x > 0.5], y[x > 0.5], 1),
        ]

    same(fitted, x, y, rtol=1e-11)
    for k in range(len(fits)):  # the fit is linear in y
        slope = irad.grad(lambda y, k=k: fits[k](x, y, 2)[1])(y)
        np.testing.assert_allclose(slope, [fits[k](x, e, 2)[1] for e in np.eye(7)], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", MODULES)
def test_series(name: str) -> None:
    m = MODULES[name]
    value, vander, two, grid = (getattr(m, f"{name}{k}") for k in ("val", "vander", "val2d", "grid2d"))
    same(lambda x, c: (value(x, c), value(x, c[:1]), value(x, c[:2]), value(x, GRID), vander(x, 3), vander(x, 0)), X, C)
    same(lambda x: (two(x, x + 1, GRID), grid(x, x[:2], GRID), value(x, GRID, tensor=False), value(x[0], [1, 2, 3])), X)
    slope = irad.grad(lambda c: np.sum(value(X, c)))(C)
    np.testing.assert_allclose(slope, vander(X, 3).sum(0), rtol=1e-14)
    step = irad.compile(lambda t: value(t, C))(0.3 + 1e-30j).imag / 1e-30
    assert np.isclose(irad.grad(lambda t: value(t, C))(0.3), step, rtol=1e-14)


def test_polynomials_as_objects() -> None:
    same(lambda x: (P(x), Q(x), T(x), P(x[0]), Q(x[0])), X)
    np.testing.assert_allclose(
        irad.grad(lambda x: np.sum(P(x) + Q(x) + T(x)))(X), P.deriv()(X) + Q.deriv()(X) + T.deriv()(X), rtol=1e-14
    )
    assert np.isclose(irad.hessian(lambda t: T(t))(0.3), T.deriv(2)(0.3), rtol=1e-13)


def test_covariance_of_a_fit() -> None:
    fit = lambda x, y: (
        *np.polyfit(x, y, 1, cov=True),
        *np.polyfit(x, y, 1, cov="unscaled"),
        np.polyfit(x, np.stack((y, x), 1), 1, cov=True)[1],
    )
    x, y = np.arange(5.0), np.array([1.0, 2.0, 0.0, 4.0, 3.0])
    same(fit, x, y, rtol=1e-12)
    variance = lambda y: np.polyfit(x, y, 1, cov=True)[1][0, 0]
    step = 1e-4
    want = [(variance(y + step * e) - variance(y - step * e)) / (2 * step) for e in np.eye(5)]
    np.testing.assert_allclose(irad.grad(variance)(y), want, rtol=1e-6)


def counted(x: Any, y: Any, w: Any) -> Any:
    e = np.array([0.0, 1.0, 2.0])
    return [
        *np.histogram2d(x, y, bins=[e, np.array([0.0, 0.5, 4.0])], weights=w), *np.histogram2d(x, y, bins=[0.0, 0.5, 1.0, 2.0]),
        *np.histogram2d(x, y, (3, 2), [[0, 2], [0, 3]], True), *np.histogram2d(x, y, [2, e]), np.histogram_bin_edges(y, 4),
        np.histogramdd(np.stack((x, y, x + y), 1), [e, 2, e], density=True)[0], np.histogramdd([x, y], 3)[1][1],
    ]  # fmt: skip


def test_histograms_of_several_axes() -> None:
    """The last edge belongs to the last bin, NaN and what is outside to none."""
    x, y = np.array([0.5, 1.5, 2.0, -1.0, 0.1, 1.0]), np.array([0.5, 0.5, 2.0, 0.3, 3.0, 1.0])
    w = np.arange(1.0, 7.0)
    same(counted, x, y, w, rtol=1e-15)
    e = np.array([0.0, 1.0, 2.0])
    same(lambda x: np.histogram2d(x, y, [e, e])[0], np.where(x < 0, np.nan, x))
    found = irad.grad(lambda w: np.sum(np.histogram2d(x, y, [e, e], weights=w)[0] ** 2))(w)
    np.testing.assert_allclose(found, [2.0, 4.0, 18.0, 0.0, 0.0, 18.0])
    with pytest.raises(ValueError, match="monotonically"):
        irad.compile(lambda x: np.histogram2d(x, y, [e[::-1], e]))(x)


def of_a_fit(x: Any) -> Any:
    p = np.poly1d(np.polyfit(np.linspace(0, 2, 7), np.sin(x[0] * np.linspace(0, 2, 7)) * x[1], 3))
    parts = p(0.3) + p.deriv()(0.7) + p.integ()(1.2) + p[1] + p.c[0] + p[9]
    return np.sum(p(np.linspace(0, 2, 5)) ** 2) + parts + p.order + len(p) + np.sum(p.coeffs)


def of_arithmetic(x: Any) -> Any:
    p, q = np.poly1d([x[0], x[1], 2.0]), np.poly1d([1.0, x[1]])
    mixed = [p * q + 3.0, p - q * 2, (-p) ** 2, 2.0 * p - 1, p / x[0], 1 + p, 1 - (+p), p.deriv(2), p.deriv(3)]
    return sum(f(0.3) * (k + 1) for k, f in enumerate(mixed)) + p(q)(0.4) + np.sum(np.real(q.roots)) + np.poly1d(x, True)(0.5)


def as_arrays(x: Any) -> Any:
    p = np.poly1d([x[0], x[1]])
    return np.sum(x[0] * p) + np.sum((np.array([1.0, 2.0]) + p) ** 2) + np.sum((x - p) ** 3) + len(x[1] * p)


@pytest.mark.parametrize("f", [of_a_fit, of_arithmetic, as_arrays])
def test_polynomials_of_computed_coefficients(f: Any) -> None:
    x = np.array([1.3, 0.4])
    np.testing.assert_allclose(irad.compile(f)(x), f(x), rtol=1e-12)
    irad.check_grads(f, (x,), order=1)


def test_a_polynomial_whose_first_coefficient_is_zero() -> None:
    of = lambda x: np.poly1d([x[0], x[1], 1.0])
    x = np.array([0.0, 0.5])
    assert irad.compile(lambda x: of(x)(3.0))(x) == 2.5
    with pytest.raises(ValueError, match="whose first coefficient is 0"):
        irad.compile(lambda x: of(x).order)(x)
