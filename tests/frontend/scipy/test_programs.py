"""SciPy inside of a function: integrals, equations, roots, minima, interpolation, distances. Values against SciPy's own, slopes
against differences of it; what has few accurate digits in SciPy (a step size that is chosen, a minimum) against differences of what is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate as si
import scipy.interpolate as ip
import scipy.optimize as so
import scipy.sparse
import scipy.sparse.linalg
import scipy.spatial.distance as sd

import irad
from irad.errors import UnsupportedError
from irad.frontend.library.integrate import integration, stiff

R = np.random.default_rng(0)
X = np.linspace(0, 2, 7) + 0.1 * R.random(7)
Y = np.sin(3 * X) + 0.1 * R.random(7)
AT = np.linspace(X[0] + 0.05, X[-1] - 0.05, 9)
TIMES = np.linspace(0, 4, 9)
P, Q = R.random((4, 3)), R.random((5, 3))
GRID, GX, GY = R.random((4, 5)), np.arange(4.0), np.arange(5.0) * 0.5
INVERSE = np.eye(3) + 0.1
POINT = np.array([1.1, 0.7])
OUTER = [
    ip.CubicSpline(X, np.sin(X)), ip.PchipInterpolator(X, np.sin(3 * X)), ip.interp1d(X, np.cos(X)),
    ip.interp1d(X, np.stack((X, X**2), 1), axis=0, fill_value="extrapolate"), ip.BSpline(*ip.splrep(X, np.sin(X))),
]  # fmt: skip
KNOTS, COEFFICIENTS, DEGREE = ip.splrep(X, np.sin(X))
SAMPLES = np.linspace(0, 2, 9)
MEASURED = 1.5 * np.exp(-0.8 * SAMPLES) + 0.05 * np.sin(9 * SAMPLES)


def differences(f: Any, x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    moved = lambda k, h: f(x + h * (np.arange(x.size) == k).reshape(x.shape))
    return np.array([(moved(k, h) - moved(k, -h)) / (2 * h) for k in range(x.size)]).reshape(x.shape)


def lotka(t: float, y: Any, a: Any, b: Any) -> Any:
    return [a * y[0] - b * y[0] * y[1], -y[1] + 0.5 * y[0] * y[1]]


def spring(y: Any, t: float, a: Any) -> Any:
    return [y[1], -a * y[0] - 0.1 * y[1]]


CASES: dict[str, tuple[Any, np.ndarray]] = {
    "sums of samples": (
        lambda p: si.simpson(Y * p[0], x=X + p[1]) + si.trapezoid(Y**2 * p[1], dx=p[0])
        + np.sum(si.cumulative_trapezoid(np.exp(Y * p[0]), X, initial=0)), POINT,
    ),
    "quad": (lambda p: si.quad(lambda x: np.exp(-p[0] * x) * np.sin(p[1] * x), 0, 2.0 + p[0])[0], POINT),
    "quad to infinity": (lambda p: si.quad(lambda x, s: np.exp(-s * x * x), -np.inf, np.inf, args=(p[0],))[0]
                         + si.quad(lambda x: np.exp(-p[1] * x), 1, np.inf)[0] - si.quad(lambda x: np.exp(p[0] * x), p[1], -np.inf)[0], POINT),
    "fixed_quad": (lambda p: si.fixed_quad(lambda x: np.exp(-x * p[0]), 0.0, p[1], n=6)[0], POINT),
    "solve_ivp": (lambda p: np.sum(si.solve_ivp(lotka, (0, 4), [1.0, 0.5], t_eval=TIMES, args=(p[0], p[1]), rtol=1e-9, atol=1e-9).y ** 2), POINT),
    "solve_ivp, to where and from what": (
        lambda p: np.sum(si.solve_ivp(lambda t, y: -p[1] * y, [0.0, p[1] + 1], np.array([p[0], 2.0]), t_eval=[0.5, 1.0], method="RK23",
                                      rtol=1e-9, atol=1e-9).y[0]), POINT,
    ),
    "solve_ivp, all its steps": (
        lambda p: np.sum(si.solve_ivp(lotka, (0, 4), [1.0, 0.5], "DOP853", args=(p[0], p[1]), rtol=1e-10, atol=1e-10).y[:, -1] ** 2), POINT,
    ),
    "solve_ivp, between its steps": (
        lambda p: np.sum(si.solve_ivp(lotka, (0, 4), [1.0, 0.5], args=(p[0], p[1]), rtol=1e-9, atol=1e-9, dense_output=True).sol(TIMES) ** 2),
        POINT,
    ),
    "odeint": (lambda p: np.sum(si.odeint(spring, [p[0], 0.3], TIMES, args=(p[1],), rtol=1e-11, atol=1e-11)[:, 0] ** 2), POINT),
    "brentq": (lambda p: so.brentq(lambda x: x**3 - p[0] * x - p[1], 0.0, 3.0), POINT),
    "newton": (lambda p: so.newton(lambda x, a: x * x - a, 1.0, args=(p[0],))
               * so.newton(lambda x: np.cos(x) - p[1] * x, 1.0, fprime=lambda x: -np.sin(x) - p[1]), POINT),
    "root_scalar": (lambda p: so.root_scalar(lambda x: np.exp(x) - p[0] * 3, bracket=[0, 3]).root
                    + so.root_scalar(lambda x: x**2 - p[1], x0=1.0, x1=1.5).root, POINT),
    "root": (lambda p: so.root(lambda x: [x[0] ** 2 + p[0] * x[1] - 2.0, x[1] ** 3 - p[1] * x[0]], [1.0, 1.0], tol=1e-13).x[0], POINT),
    "fsolve": (lambda p: np.sum(so.fsolve(lambda x, a: x**2 - a * np.array([1.0, 2.0]), np.ones(2), args=(p[0],), xtol=1e-13)) * p[1], POINT),
    **{
        f"CubicSpline {ends}": (lambda y, ends=ends: np.sum(ip.CubicSpline(X, y, bc_type=ends)(AT) ** 2) + ip.CubicSpline(X, y, bc_type=ends)(0.7, 1), Y)
        for ends in ("not-a-knot", "natural", "clamped", ((1, 0.3), (2, 0.5)))
    },
    "CubicSpline, by the points": (lambda x: np.sum(ip.CubicSpline(np.cumsum(np.exp(x)), Y)(AT + 1) ** 2), np.zeros(7)),
    "CubicSpline of few": (lambda y: ip.CubicSpline(X[:2], y[:2])(0.3) + ip.CubicSpline(X[:3], y[:3])(0.3)
                           + np.sum(ip.CubicSpline(X, np.stack((y, y**2), 1))(AT) ** 2), Y),
    "CubicSpline's methods": (lambda y: ip.CubicSpline(X, y).integrate(0.2, 1.1) + ip.CubicSpline(X, y).derivative()(0.4)
                              + ip.CubicSpline(X, y).antiderivative()(1.2) + np.sum(ip.CubicSpline(X, y).c[0]), Y),
    "made outside": (lambda q: sum(np.sum(f(q) ** 2) for f in OUTER) + np.sum(OUTER[0](q, 1)), AT),
    "pchip, Akima, Hermite": (lambda y: np.sum(ip.PchipInterpolator(X, y)(AT) ** 2) + np.sum(ip.Akima1DInterpolator(X, y)(AT) ** 2)
                              + np.sum(ip.CubicHermiteSpline(X, y, y**2)(AT) ** 2), Y),
    **{f"interp1d {kind}": (lambda y, kind=kind: np.sum(ip.interp1d(X, y, kind=kind)(AT) ** 2), Y) for kind in ("linear", "cubic", "nearest", "previous", "next")},
    "interp1d beyond": (lambda y: np.sum(ip.interp1d(X, y, bounds_error=False, fill_value=(1.0, 2.0))(AT * 1.5) ** 2)
                        + np.sum(ip.interp1d(X, y, fill_value="extrapolate")(AT * 1.5)) + np.sum(ip.interp1d(X, np.stack((y, y**2)))(AT) * np.arange(9)), Y),
    "BSpline": (lambda c: np.sum(ip.BSpline(KNOTS, np.concatenate((c, np.ones(len(KNOTS) - 7))), DEGREE)(AT) ** 2)
                + np.sum(ip.BSpline(KNOTS, np.concatenate((c, np.ones(len(KNOTS) - 7))), DEGREE)(AT, nu=1)), Y),
    "splev": (lambda q: np.sum(ip.splev(q, (KNOTS, COEFFICIENTS, DEGREE)) ** 2) + np.sum(ip.splev(q, (KNOTS, COEFFICIENTS, DEGREE), der=1)), AT),
    "interpn": (lambda g: np.sum(ip.interpn((GX, GY), g, np.array([[0.3, 0.4], [2.2, 1.9]])) ** 2), GRID),
    "RegularGridInterpolator": (lambda q: np.sum(ip.RegularGridInterpolator((GX, GY), GRID)(q) ** 2), np.array([[0.3, 0.4], [2.2, 1.9]])),
    **{
        f"cdist {m}": (lambda x, m=m: np.sum(sd.cdist(x, Q, m) ** 2 * np.arange(20).reshape(4, 5)), P)
        for m in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra", "braycurtis")
    },
    "cdist with parameters": (lambda x: np.sum(sd.cdist(x, Q, "minkowski", p=3) ** 2) + np.sum(sd.cdist(x, Q, "mahalanobis", VI=INVERSE)), P),
    "cdist, pdist of a function": (
        lambda x: np.sum(sd.cdist(x, Q, lambda u, v: np.sum(np.abs(u - v) ** 1.5)) ** 2 * np.arange(20).reshape(4, 5))
        + np.sum(sd.pdist(x, lambda u, v: np.linalg.norm(u - v, ord=3)) ** 2 * np.arange(6.0)), P),
    "pdist, squareform": (lambda x: np.sum(sd.pdist(x) ** 3) + np.sum(sd.squareform(sd.pdist(x, "cosine")) * np.arange(16).reshape(4, 4))
                          + np.sum(sd.squareform(sd.squareform(sd.pdist(x)))), P),
    "distances of two": (lambda x: sd.euclidean(x[0], x[1]) + sd.cosine(x[0], x[2]) + sd.cityblock(x[0], x[1]) * sd.minkowski(x[0], x[1], 3)
                         + sd.mahalanobis(x[0], x[1], INVERSE) + sd.sqeuclidean(x[2], x[1]) + sd.chebyshev(x[0], x[1]), P),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_value_and_slope(name: str) -> None:
    f, x = CASES[name]
    value, slope = irad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-8 if name == "odeint" else 1e-10)
    np.testing.assert_allclose(slope, differences(f, x), rtol=1e-5, atol=1e-6)


def valley(p: Any) -> Any:
    r = so.minimize(lambda x: (x[0] - p[0]) ** 2 + 2 * (x[1] - p[1] * x[0]) ** 2 + 0.1 * x[1] ** 4, np.zeros(2))
    return r.fun + np.sum(r.x * np.array([1.0, 2.0]))


def fitted(p: Any) -> Any:
    r = so.least_squares(lambda q: q[0] * np.exp(-q[1] * SAMPLES) - MEASURED * p[0] - 0.1 * p[1] * SAMPLES, [1.0, 1.0])
    return r.x[0] * r.x[1] + r.cost


def curve(p: Any) -> Any:
    q, c = so.curve_fit(lambda x, a, b: a * np.exp(-b * x), SAMPLES, MEASURED * p[0] + 0.1 * p[1], p0=[1.0, 1.0])
    return q[0] + q[1] * 2 + c[0, 1] * 10


def held(p: Any) -> Any:
    """One number at its bound, one between; a fit with one parameter at its bound."""
    r = so.minimize(
        lambda x: (x[0] - p[0]) ** 2 + 2 * (x[1] - p[1] * x[0]) ** 2 + 0.1 * x[1] ** 4,
        np.zeros(2),
        bounds=[(0, p[1]), (None, None)],
    )
    q = so.least_squares(lambda q: q[0] * np.exp(-q[1] * SAMPLES) - MEASURED * p[0], [1.0, 0.5], bounds=([0, 0], [5, 0.6]))
    return r.fun + np.sum(r.x * np.array([1.0, 2.0])) + np.sum(q.x)


@pytest.mark.parametrize("f", [valley, fitted, curve, held], ids=lambda f: f.__name__)
def test_minima(f: Any) -> None:
    """SciPy's own have half the digits; those of compiled code all."""
    value, slope = irad.value_and_grad(f)(POINT)
    np.testing.assert_allclose(value, f(POINT), rtol=1e-5)
    np.testing.assert_allclose(slope, differences(irad.compile(f), POINT, 1e-5), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "bounds",
    [[(0, 0.5), (None, 2)], [(-2, -1), (0, 3)], [(1.2, 3), (0, 1.3)], so.Bounds([0, 0], [0.8, np.inf]), [(None, None)] * 2],
)
def test_bounds_of_a_valley(bounds: Any) -> None:
    valley = lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    start = np.array([-1.2, 1.0])
    want = so.minimize(valley, start, bounds=bounds, tol=1e-14, options={"maxiter": 5000}).x
    np.testing.assert_allclose(irad.compile(lambda x: so.minimize(valley, x, bounds=bounds).x)(start), want, rtol=1e-4)


def test_higher_derivatives_of_a_root() -> None:
    """The cube root: -2/9 and 10/27 at 1."""
    cube = lambda a: so.brentq(lambda x: x**3 - a, 0.0, 2.0)
    np.testing.assert_allclose(irad.grad(irad.grad(cube))(1.0), -2 / 9, rtol=1e-12)
    np.testing.assert_allclose(irad.grad(irad.grad(irad.grad(cube)))(1.0), 10 / 27, rtol=1e-11)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
def test_steps_are_scipys(method: str) -> None:
    """By Python and compiled, forwards and backwards; at given times, at the ends of the steps, and between."""
    for times in (TIMES, TIMES[::-1]):
        given = (lotka, (times[0], times[-1]), [1.0, 0.5], method, times)
        want, got = si.solve_ivp(*given, args=(1.1, 0.7)), integration.solve_ivp(*given, args=(1.1, 0.7))
        np.testing.assert_allclose(got.y, want.y, rtol=1e-11)
        assert got.nsteps == len(si.solve_ivp(*given[:4], args=(1.1, 0.7)).t) - 1

        def steps(a: float) -> Any:
            run = si.solve_ivp(*given[:4], args=(a, 0.7), dense_output=True)  # noqa: B023
            return run.t, run.y, run.sol(times[2]), run.sol(times)  # noqa: B023

        def both(a: float) -> Any:
            run = si.solve_ivp(*given, args=(a, 0.7), dense_output=True)  # noqa: B023
            return run.t, run.y, run.sol(times[:3] * 0.9)  # noqa: B023

        for f in (steps, both):
            for x, y in zip(irad.compile(f)(1.1), f(1.1), strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-10)


def robertson(p: Any, method: str = "LSODA", tight: float = 1.0) -> Any:
    """Three reactions whose rates differ by nine orders of magnitude."""

    def f(t: Any, y: Any) -> Any:
        first, second = p[0] * y[0] - 1e4 * p[1] * y[1] * y[2], 3e7 * y[1] ** 2
        return np.stack((-first, first - second, second))

    times = np.array([0.0, 0.4, 40.0])
    y = si.solve_ivp(f, (0, 40.0), np.array([1.0, 0, 0]), method=method, t_eval=times, rtol=1e-6 * tight, atol=1e-10 * tight).y
    return np.sum(y[0] * np.array([1.0, 2.0, 3.0]))


def test_stiff_equations() -> None:
    """Against SciPy's own, whose slope is taken by differences of a solution that has more digits."""
    p = np.array([0.04, 1.0])
    value, slope = irad.value_and_grad(robertson)(p)
    exact = lambda p: robertson(p, "Radau", 1e-4)
    np.testing.assert_allclose(value, exact(p), rtol=1e-7)
    np.testing.assert_allclose(slope, [(exact(p + e) - exact(p - e)) / (2 * e.sum()) for e in np.diag([1e-5, 1e-4])], rtol=1e-5)


def test_the_order_of_the_rosenbrock_method() -> None:
    """A sixteenth of the error for half the step, of an equation that knows the time; and backwards."""
    f = lambda t, y: np.array([-y[0] * np.cos(t) + y[1] ** 2, -y[1] + np.sin(t) * y[0]])
    want = si.solve_ivp(f, (0, 1), [1.0, 0.5], rtol=1e-13, atol=1e-13, method="DOP853").y[:, -1]
    errors = []
    for n in (20, 40, 80):
        y = np.array([1.0, 0.5])
        for k in range(n):
            y, _ = stiff._step(f, k / n, y, 1 / n)
        errors.append(np.max(np.abs(y - want)))
    assert errors[0] > 12 * errors[1] and errors[1] > 12 * errors[2]
    back = lambda p: si.solve_ivp(lambda t, y: -p * y, (1.0, 0.0), np.array([1.0]), "BDF", [0.5, 0.0], rtol=1e-9, atol=1e-9).y[0]
    np.testing.assert_allclose(irad.compile(back)(2.0), np.exp([1.0, 2.0]), rtol=1e-8)


def made_inside(x: Any) -> Any:
    """Objects made of numbers that are known, evaluated at points that are not."""
    knots, values = [0.0, 1.0, 2.0, 4.0], np.array([1.0, 2.0, 0.0, 3.0])
    kinds = [ip.interp1d(knots, values, kind=k)(x) for k in ("linear", "cubic", "nearest", "previous", "next")]
    return [*kinds, ip.CubicSpline(knots, values)(x), ip.PchipInterpolator(knots, values)(x, 1)]


def test_curve_fit_begins_at_ones() -> None:
    """A line, whose parameters np.polyfit knows; SciPy's own have nine digits."""
    line = lambda y: so.curve_fit(lambda x, a, b: a * x + b, SAMPLES, y)[0]
    np.testing.assert_allclose(irad.compile(line)(MEASURED), np.polyfit(SAMPLES, MEASURED, 1), rtol=1e-12)
    want = np.stack([np.polyfit(SAMPLES, e, 1) for e in np.eye(9)], axis=1)
    np.testing.assert_allclose(irad.jacobian(line)(MEASURED), want, atol=1e-12)


def test_objects_made_of_known_numbers() -> None:
    x = np.array([0.5, 1.0, 3.0])
    np.testing.assert_allclose(irad.compile(made_inside)(x), made_inside(x), rtol=1e-12, atol=1e-14)


def test_integrals_and_roots_are_pythons_floats() -> None:
    """They leave a float32 array what it is."""
    f = lambda x, a: (si.quad(lambda t: a * t, 0, 1)[0] * x, so.brentq(lambda t: t * t - a, 0, 3) * x)
    for g in irad.compile(f)(np.ones(2, np.float32), 2.0):
        assert g.dtype == np.float32


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="give the times in t_eval="):
        irad.compile(lambda y: si.solve_ivp(lambda t, y: y, (0, 1), y, "BDF").y)(POINT)
    with pytest.raises(UnsupportedError, match="'DOP853', 'Radau', 'BDF' and 'LSODA' are compiled"):
        irad.compile(lambda y: si.solve_ivp(lambda t, y: y, (0, 1), y, t_eval=[1.0], method="RK4").y)(POINT)
    with pytest.raises(ValueError, match="must have different signs"):
        irad.compile(lambda a: so.brentq(lambda x: x * x + a, 0.0, 2.0))(1.0)
    with pytest.raises(ValueError, match="such a root has no derivative"):
        irad.compile(lambda a: so.brentq(lambda x: (x - a) ** 3, 0.0, 2.0))(1.0)
    with pytest.raises(UnsupportedError, match="with constraints"):
        irad.compile(
            lambda a: so.minimize(lambda x: np.sum((x - a) ** 2), np.zeros(1), constraints=[{"type": "eq", "fun": np.sum}]).x
        )(2.0)
    with pytest.raises(ValueError, match="outside the interpolation range"):
        irad.compile(lambda y: ip.interp1d(X, y)(3.0))(Y)


def _slopes(f: Any, order: int, x: float) -> float:
    for _ in range(order):
        f = irad.grad(f)
    return f(x)


def test_derivatives_of_an_order_that_steps_of_newton_do_not_reach_are_errors() -> None:
    def root(a: Any) -> Any:
        return so.brentq(lambda x: x**3 + a * x - 2, 0.0, 3.0)

    x = root(0.7)
    d = 3 * x * x + 0.7
    assert _slopes(root, 1, 0.7) == pytest.approx(-x / d, rel=1e-9)
    assert _slopes(root, 2, 0.7) == pytest.approx(2 * x / d**2 - 6 * x**3 / d**3, rel=1e-9)
    _slopes(root, 3, 0.7)
    with pytest.raises(irad.UnsupportedError, match="up to order 3, and one of order 4 is taken"):
        _slopes(root, 4, 0.7)
    with pytest.raises(irad.UnsupportedError, match="up to order 3"):
        irad.hessian(irad.grad(irad.grad(root)))(0.7)

    def sparse(t: Any) -> Any:
        matrix = scipy.sparse.diags([np.full(60, 4.0) * t, np.full(59, -1.0), np.full(59, -1.0)], [0, 1, -1], format="csc")
        return np.sum(scipy.sparse.linalg.spsolve(matrix, np.ones(60)))

    assert np.isfinite(_slopes(sparse, 2, 0.7))
    with pytest.raises(irad.UnsupportedError, match="sparse system has derivatives up to order 2"):
        _slopes(sparse, 3, 0.7)
