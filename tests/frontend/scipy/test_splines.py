"""scipy.interpolate in NumPy: splines and polynomials through values, radial functions, scattered points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.interpolate as ip

import irad
from irad.errors import UnsupportedError
from irad.frontend.library.interpolate import interpolation, splines
from tests.support.scipy_calls import check_compiled

R = np.random.default_rng(0)
X, Y, Y2 = np.sort(R.random(9)) * 3, R.random(9), R.random((9, 2))
AT, IN = np.linspace(X[0] - 0.3, X[-1] + 0.3, 17), np.linspace(X[0], X[-1], 11)
P, D, D2, Q = R.random((12, 2)), R.random(12), R.random((12, 2)), R.random((6, 2))
GX, GY, GRID = np.arange(4.0), np.arange(5.0) * 0.5, R.random((4, 5))


def close(got: Any, want: Any, rtol: float = 1e-9) -> None:
    assert np.shape(got) == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-10)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_splines_not_compiled(k: int) -> None:
    ours, theirs = splines.interpolated(X, Y, k=k), ip.InterpolatedUnivariateSpline(X, Y, k=k)
    for args in ((AT,), (AT, 1)):
        close(ours(*args), theirs(*args))
        close(splines.evaluate_curve(theirs, *args), theirs(*args))
    for ends in ((0.3, 2.0), (-5, 7.0)):
        close(ours.integral(*ends), theirs.integral(*ends))
        close(splines.integral_of_curve(theirs, *ends), theirs.integral(*ends))
    close(ours.get_knots(), theirs.get_knots())
    close(ours.get_coeffs(), theirs.get_coeffs())
    close(ours.derivatives(1.0), theirs.derivatives(1.0))
    for ext in (0, 1, 3, "zeros"):
        close(splines.univariate(X, Y, k=k, s=0, ext=ext)(AT), ip.UnivariateSpline(X, Y, k=k, s=0, ext=ext)(AT))
    tck = ip.splrep(X, Y, k=k)
    for got, want in zip(splines.splrep(X, Y, k=k), tck, strict=True):
        close(got, want)
    close(splines.splint(0.3, 1.0, tck), ip.splint(0.3, 1.0, tck))
    if k % 2 or k == 2:
        close(splines.make_interp_spline(X, Y2, k)(AT), ip.make_interp_spline(X, Y2, k)(AT))


def test_curves_and_polynomials_not_compiled() -> None:
    ours, theirs = splines.interpolated(X, Y), ip.InterpolatedUnivariateSpline(X, Y)
    close(ours.derivative()(IN), theirs.derivative()(IN))
    close(ours.antiderivative()(IN), theirs.antiderivative()(IN))
    close(interpolation.interp1d(X, Y2.T, "quadratic")(IN), ip.interp1d(X, Y2.T, "quadratic")(IN))
    for at in (AT, X, 0.3):
        close(splines.polynomial(X, Y)(at), ip.BarycentricInterpolator(X, Y)(at))
    close(splines.polynomial(X, Y2)(AT), ip.KroghInterpolator(X, Y2)(AT))
    nodes = np.cos(np.arange(40) * np.pi / 39)
    close(splines.polynomial(nodes, np.exp(nodes))(IN / 3 - 0.5), np.exp(IN / 3 - 0.5))
    close(splines.lagrange(X[:5], Y[:5]).coef, ip.lagrange(X[:5], Y[:5]).coef)
    c, x = R.random((3, 4)), np.array([0, 1.0, 2, 4, 5])
    close(splines.ppoly(c, x)(AT), ip.PPoly(c, x)(AT))
    close(splines.ppoly(c, x).integrate(0.2, 3.0), ip.PPoly(c, x).integrate(0.2, 3.0))


@pytest.mark.parametrize("kernel", splines._KERNELS)
def test_radial_functions_not_compiled(kernel: str) -> None:
    for d, kw in ((D, {}), (D2, {"smoothing": 0.1, "degree": 2})):
        theirs = ip.RBFInterpolator(P, d, kernel=kernel, epsilon=2.0, **kw)
        close(splines.rbf(P, d, kernel=kernel, epsilon=2.0, **kw)(Q), theirs(Q), 1e-7)
        close(splines.evaluate_rbf(theirs, Q), theirs(Q))


def test_scattered_points_not_compiled() -> None:
    for method in ("nearest", "linear"):
        for values, at in ((D, Q), (D2, (Q[:, 0], Q[:, 1])), (D, tuple(np.meshgrid(Q[:, 0], Q[:3, 1])))):
            close(splines.griddata(P, values, at, method), ip.griddata(P, values, at, method))
        close(splines.griddata(X, Y, IN, method), ip.griddata(X, Y, IN, method))
        theirs, at = (
            ip.RegularGridInterpolator((GX, GY), GRID, method=method),
            np.concatenate((Q * [3, 2], [[0.5, 0.25], [1.5, 0.75]])),
        )
        close(interpolation.grid((GX, GY), GRID, method)(at), theirs(at))
        close(splines.evaluate_grid(theirs, at), theirs(at))
    close(splines.linear_nd(P, D)(Q), ip.LinearNDInterpolator(P, D)(Q))
    close(splines.evaluate_linear_nd(ip.LinearNDInterpolator(P, D2), Q), ip.LinearNDInterpolator(P, D2)(Q))
    close(splines.nearest_nd(P, D)(Q[:, 0], Q[:, 1]), ip.NearestNDInterpolator(P, D)(Q[:, 0], Q[:, 1]))


KNOWN, INNER, MIDDLE = ip.UnivariateSpline(X, Y, s=0), IN[1:-1], P.mean(0) + 0.05 * Q
RADIAL, MESH = ip.RBFInterpolator(P, D), ip.LinearNDInterpolator(P, D)
TABLE, NEAREST = ip.RegularGridInterpolator((GX, GY), GRID), ip.RegularGridInterpolator((GX, GY), GRID, method="nearest")


def by_values(y: Any) -> Any:
    curve = ip.UnivariateSpline(X, y, s=0)
    tck = ip.splrep(X, y)
    splines = np.sum(ip.make_interp_spline(X, y)(INNER) ** 2) + np.sum(ip.InterpolatedUnivariateSpline(X, y, k=4)(INNER) ** 2)
    parts = curve.integral(0.5, 1.5) + curve.derivative()(1.0) + np.sum(ip.splev(INNER, tck) ** 2) + ip.splint(0.5, 1.0, tck)
    whole = np.sum(ip.barycentric_interpolate(X, y, INNER) ** 2) + np.sum(ip.lagrange(X[:4], y[:4])(INNER) ** 2)
    return splines + parts + whole + np.sum(ip.interp1d(X, y, "quadratic")(INNER) ** 2)


def by_places(x: Any) -> Any:
    return (
        np.sum(ip.make_interp_spline(x, Y, 2)(INNER) ** 2)
        + KNOWN.integral(x[0], x[1])
        + np.sum(KNOWN(x) ** 2)
        + ip.KroghInterpolator(X, Y)(x)[3]
    )


def radial(p: Any) -> Any:
    made = ip.RBFInterpolator(p, D, kernel="cubic")(Q)
    smooth = ip.RBFInterpolator(P, np.sum(p, 1), kernel="gaussian", epsilon=4.0, smoothing=0.1)(Q)
    return np.sum(made**2) + np.sum(smooth**2) + np.sum(RADIAL(p[:3] * 0.9) ** 2)


def between_points(q: Any) -> Any:
    return np.sum(MESH(q) ** 2) + np.sum(MESH(q[:, 0], q[:, 1])) + np.sum(TABLE(q) ** 2) + np.sum(NEAREST(q))


@pytest.mark.parametrize(
    ("f", "x"), [(by_values, Y), (by_places, X), (radial, P), (between_points, MIDDLE)], ids=lambda f: getattr(f, "__name__", "x")
)
def test_compiled(f: Any, x: np.ndarray) -> None:
    check_compiled(f, x, 1e-8, 1e-5 if f is radial else 1e-6)


def over_known_points(y: Any) -> Any:
    points = np.array([[0.0, 0.0], [1.0, 0.1], [0.1, 1.0], [1.1, 0.9], [0.4, 0.45]])
    return np.sum(ip.griddata(points, y, [[0.5, 0.2], [0.3, 0.7]]) ** 2) + np.sum(
        ip.griddata(points, y, [[0.9, 0.9]], "nearest") ** 3
    )


def test_values_at_scattered_points() -> None:
    check_compiled(over_known_points, Y[:5])


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="Delaunay.*must be known at compile time"):
        irad.compile(lambda p: ip.griddata(p, D, Q))(P)
    with pytest.raises(UnsupportedError, match="s=0, without w="):
        irad.compile(lambda y: ip.UnivariateSpline(X, y)(1.0))(Y)
    with pytest.raises(UnsupportedError, match="with neighbors="):
        irad.compile(lambda y: ip.RBFInterpolator(P, y, neighbors=3)(Q))(D)
