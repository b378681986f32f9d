"""scipy.optimize: roots and minima inside of a function, whose derivative is that of the implicit-function theorem.

The search itself is a constant for derivatives. Two of Newton's steps from what it has found carry the derivative: the first makes
it right to first order, the second to third.
"""

import inspect
from types import SimpleNamespace

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.library.calculus import Derivative, constant, first_guess
from irad.frontend.library.optimize.bounded import bounded_minimum, limits, updated
from irad.frontend.registry import written

_NEWTON, _ORDERS = 2, 3


def _with(f, args):
    """The function of its first argument alone."""
    if args is None or isinstance(args, tuple) and not args:
        return f
    more = args if isinstance(args, tuple) else (args,)
    return lambda x: f(x, *more)


def _nothing(v):
    """0 that has the derivative of v."""
    return v - constant(v)


def _implicit(f, x):
    """The root x of a function of one number, to the bit, with its derivative; ValueError where the slope is 0: it has none."""
    x = first_guess(x, _ORDERS, "a root or minimum")
    for _ in range(_NEWTON):
        slope = Derivative(f)(x)
        if slope == 0:
            raise ValueError("the slope of the function at its root is 0: such a root has no derivative")
        x = x - _nothing(f(x)) / slope
    return x


def _implicit_system(f, x):
    """The same of a system; the steps go on to where rounding ends it."""
    x = first_guess(x, _ORDERS, "a root or minimum")
    for _ in range(_NEWTON):
        x = x - np.linalg.solve(Derivative(f, "jacobian")(x), f(x))
    return x


# ---- a root of a function of one number ----------------------------------------------------------------------------------------------


def _brent(f, a, b, xtol, rtol, maxiter):
    """SciPy's brentq, step for step; NaN where it does not end."""
    old, new, f_old, f_new = a * 1.0, b * 1.0, f(a * 1.0), f(b * 1.0)
    if f_old * f_new > 0:
        raise ValueError("f(a) and f(b) must have different signs")
    block, f_block, s_old, s_new, done = 0.0, 0.0, 0.0, 0.0, False
    if f_old == 0:
        new, f_new = old, f_old
    for _ in range(maxiter):
        if f_old != 0 and f_new != 0 and (f_old < 0) != (f_new < 0):
            block, f_block = old, f_old
            s_old = s_new = new - old
        if np.abs(f_block) < np.abs(f_new):
            old, new, block = new, block, new
            f_old, f_new, f_block = f_new, f_block, f_new
        delta, half = (xtol + rtol * np.abs(new)) / 2, (block - new) / 2
        if f_new == 0 or np.abs(half) < delta:
            done = True
            break
        step, before = half, half
        if np.abs(s_old) > delta and np.abs(f_new) < np.abs(f_old):
            if old == block:
                trial = -f_new * (new - old) / (f_new - f_old)
            else:
                p, q = (f_old - f_new) / (old - new), (f_block - f_new) / (block - new)
                trial = -f_new * (f_block * q - f_old * p) / (q * p * (f_block - f_old))
            if 2 * np.abs(trial) < np.minimum(np.abs(s_old), 3 * np.abs(half) - delta):
                step, before = trial, s_new
        s_old, s_new, old, f_old = before, step, new, f_new
        new = new + (s_new if np.abs(s_new) > delta else (delta if half > 0 else -delta))
        f_new = f(new)
    if not done:
        raise RuntimeError(f"Failed to converge after {maxiter} iterations.")
    return new


@written("scipy.optimize.brentq", "scipy.optimize.brenth", "scipy.optimize.ridder", "scipy.optimize.bisect", always=True)
def brentq(f, a, b, args=(), xtol=2e-12, rtol=8.881784197001252e-16, maxiter=100, full_output=False, disp=True):
    """scipy.optimize.brentq; brenth, ridder and bisect are it too, which find the same root to the tolerances."""
    if full_output:
        raise UnsupportedError("scipy.optimize.brentq with full_output")
    g = _with(f, args)
    return float(_implicit(g, _brent(lambda x: constant(g(x)), constant(a), constant(b), xtol, rtol, maxiter)))


def _close(p, q, rtol, tol):
    return np.abs(p - q) <= tol + rtol * np.abs(q)


def _newton(f, slope, x, tol, maxiter, rtol):
    done, p = False, x
    for _ in range(maxiter):
        v = f(p)
        if v == 0:
            done = True
            break
        last = p
        p = last - v / slope(last)
        if _close(p, last, rtol, tol):
            done = True
            break
    if not done:
        raise RuntimeError(f"Failed to converge after {maxiter} iterations.")
    return p


def _secant(f, p0, p1, tol, maxiter, rtol):
    q0, q1 = f(p0), f(p1)
    if np.abs(q1) < np.abs(q0):
        p0, p1, q0, q1 = p1, p0, q1, q0
    done, p = False, p1
    for _ in range(maxiter):
        if q1 == q0:
            p, done = (p1 + p0) / 2.0, True
            break
        if np.abs(q1) > np.abs(q0):
            p = (-q0 / q1 * p1 + p0) / (1 - q0 / q1)
        else:
            p = (-q1 / q0 * p0 + p1) / (1 - q1 / q0)
        if _close(p, p1, rtol, tol):
            done = True
            break
        p0, q0, p1 = p1, q1, p
        q1 = f(p1)
    if not done:
        raise RuntimeError(f"Failed to converge after {maxiter} iterations.")
    return p


@written("scipy.optimize.newton", always=True)
def newton(
    func, x0, fprime=None, args=(), tol=1.48e-8, maxiter=50, fprime2=None, x1=None, rtol=0.0, full_output=False, disp=True
):
    """scipy.optimize.newton from one number: Newton's method with fprime, else the secant method."""
    if np.ndim(x0) or fprime2 is not None or full_output:
        raise UnsupportedError("scipy.optimize.newton of arrays, with fprime2 or full_output: use scipy.optimize.root")
    f, start = _with(func, args), constant(x0 * 1.0)
    g = lambda x: constant(f(x))
    if fprime is not None:
        slope = _with(fprime, args)
        return _implicit(f, _newton(g, lambda x: constant(slope(x)), start, tol, maxiter, rtol))
    second = start * (1 + 1e-4) + np.where(start >= 0, 1e-4, -1e-4) if x1 is None else constant(x1 * 1.0)
    return _implicit(f, _secant(g, start, second, tol, maxiter, rtol))


@written("scipy.optimize.root_scalar", always=True)
def root_scalar(
    f, args=(), method=None, bracket=None, fprime=None, fprime2=None, x0=None, x1=None, xtol=None, rtol=None, **options
):
    """scipy.optimize.root_scalar: by brentq in a bracket, else by newton."""
    if bracket is not None:
        x = brentq(
            f, bracket[0], bracket[1], args, 2e-12 if xtol is None else xtol, 8.881784197001252e-16 if rtol is None else rtol
        )
    elif isinstance(fprime, bool):
        raise UnsupportedError("scipy.optimize.root_scalar with fprime=True: give the derivative as a function, or leave it out")
    else:
        x = newton(f, x0, fprime, args, 1.48e-8 if xtol is None else xtol, x1=x1)
    return SimpleNamespace(root=x, converged=True, flag="converged")


# ---- systems -------------------------------------------------------------------------------------------------------------------------


def _solve_system(f, x, steps):
    """Newton's method with steps that are halved until the residual falls."""
    r = f(x)
    size = np.sum(r * r)
    for _ in range(steps):
        step = np.linalg.solve(constant(Derivative(f, "jacobian")(x)), r)
        share, new, r_new = 1.0, x - step, f(x - step)
        size_new = np.sum(r_new * r_new)
        while not size_new < size and share > 1e-10:
            share = share / 2
            new = x - share * step
            r_new = f(new)
            size_new = np.sum(r_new * r_new)
        if not size_new < size:
            break
        small = np.max(np.abs(new - x)) <= 1e-15 * np.max(np.abs(new))
        x, r, size = new, r_new, size_new
        if size == 0 or small:
            break
    return x, size


@written("scipy.optimize.root", always=True)
def root(fun, x0, args=(), method="hybr", jac=None, tol=None, **options):
    """scipy.optimize.root by Newton's method with exact derivatives, to rounding error, whatever `method` and `jac` say."""
    g = _with(fun, args)
    f = lambda x: np.atleast_1d(np.asarray(g(x))) if jac is not True else np.atleast_1d(np.asarray(g(x)[0]))
    start = np.atleast_1d(np.asarray(x0) * 1.0)
    x, size = _solve_system(f, constant(start), 100)
    if not np.sqrt(size) <= 1e-7 * (1.0 + np.max(np.abs(x))):
        raise RuntimeError("scipy.optimize.root does not converge: begin nearer to the root")
    return SimpleNamespace(x=_implicit_system(f, x), success=True, status=1, fun=f(constant(x)), message="converged")


@written("scipy.optimize.fsolve", always=True)
def fsolve(func, x0, args=(), fprime=None, full_output=0, **options):
    """scipy.optimize.fsolve, as `root`."""
    if full_output:
        raise UnsupportedError("scipy.optimize.fsolve with full_output: use scipy.optimize.root")
    return root(func, x0, args).x


# ---- minima --------------------------------------------------------------------------------------------------------------------------


def _bfgs(f, g, x, steps):
    """BFGS with steps that are halved until Armijo's condition holds, to where f cannot fall any more."""
    n = len(x)
    H, value, slope = np.eye(n), f(x), g(x)
    for k in range(steps):
        if np.max(np.abs(slope)) == 0:
            break
        d = -(H @ slope)
        down = d @ slope
        if not down < 0:
            H, d = np.eye(n), -slope
            down = d @ slope
        share = 1.0 if k > 0 else np.minimum(1.0, 1.0 / np.sqrt(-down))
        value_new = f(x + share * d)
        while not value_new <= value + 1e-4 * share * down and share > 1e-14:
            share = share / 2
            value_new = f(x + share * d)
        s = share * d
        slope_new = g(x + s)
        if not value_new <= value or np.max(np.abs(s)) <= 1e-15 * np.max(np.abs(x)):
            break
        y = slope_new - slope
        ys = y @ s
        if ys > 0:
            H = updated(H, s, y, ys)
        x, value, slope = x + s, value_new, slope_new
    return x, slope


@written("scipy.optimize.minimize", always=True)
def minimize(fun, x0, args=(), method=None, jac=None, hess=None, bounds=None, constraints=(), tol=None, **options):
    """scipy.optimize.minimize without constraints, by BFGS with exact derivatives, whatever `method` and `jac` say; bounds hold."""
    if len(constraints) > 0:
        raise UnsupportedError("scipy.optimize.minimize with constraints: substitute variables, such as np.exp of free ones")
    g = _with(fun, args)
    f = lambda x: np.sum(g(x)[0] if jac is True else g(x))
    slope = Derivative(f)
    if bounds is not None:
        start = np.atleast_1d(np.asarray(x0) * 1.0)
        x = bounded_minimum(f, start, *limits(bounds, len(start), True))
        return SimpleNamespace(x=x, fun=f(x), jac=slope(x), success=True, status=0, message="converged")
    x, rest = _bfgs(lambda x: constant(f(x)), lambda x: constant(slope(x)), constant(np.atleast_1d(np.asarray(x0) * 1.0)), 1000)
    if not np.max(np.abs(rest)) <= 1e-4 * (1.0 + np.abs(constant(f(x)))):
        raise RuntimeError("scipy.optimize.minimize does not converge: begin nearer to the minimum, or scale the variables")
    x = _implicit_system(slope, x)
    return SimpleNamespace(x=x, fun=f(x), jac=slope(x), success=True, status=0, message="converged")


def _gauss_newton(r, x, steps):
    """Levenberg and Marquardt's method."""
    damping, v = 1e-3, r(x)
    size = np.sum(v * v)
    for _ in range(steps):
        J = constant(Derivative(r, "jacobian")(x))
        A, b = J.T @ J, J.T @ v
        step = np.linalg.solve(A + damping * np.diag(np.maximum(np.diagonal(A), 1e-12)), b)
        v_new = r(x - step)
        size_new = np.sum(v_new * v_new)
        small = np.max(np.abs(step)) <= 1e-14 * (1e-14 + np.max(np.abs(x)))
        if size_new <= size:
            x, v, size, damping = x - step, v_new, size_new, damping / 10
        else:
            damping = damping * 10
        if small or damping > 1e14:
            break
    return x


def _unbounded(bounds):
    """Are bounds those of no bounds?"""
    if bounds is None:
        return True
    return isinstance(bounds, tuple) and all([isinstance(b, float) and np.isinf(b) for b in bounds])


@written("scipy.optimize.least_squares", always=True)
def least_squares(fun, x0, jac="2-point", bounds=(-np.inf, np.inf), method="trf", loss="linear", args=(), kwargs=None, **options):
    """scipy.optimize.least_squares with the linear loss, by Levenberg and Marquardt's method with exact derivatives; with bounds as
    `minimize`."""
    if loss != "linear":
        raise UnsupportedError("scipy.optimize.least_squares with another loss than 'linear': use scipy.optimize.minimize")
    r = lambda x: np.atleast_1d(np.asarray(fun(x, *args, **({} if kwargs is None else kwargs))))
    start = np.atleast_1d(np.asarray(x0) * 1.0)
    total = lambda x: 0.5 * np.sum(r(x) ** 2)
    if _unbounded(bounds):
        x = _implicit_system(Derivative(total), constant(_gauss_newton(r, constant(start), 200)))
    else:
        x = bounded_minimum(total, start, *limits(bounds, len(start), False))
    v = r(x)
    return SimpleNamespace(x=x, fun=v, cost=0.5 * np.sum(v * v), success=True, status=1, message="converged")


@written("scipy.optimize.curve_fit", always=True)
def curve_fit(f, xdata, ydata, p0=None, sigma=None, absolute_sigma=False, **options):
    """scipy.optimize.curve_fit: the parameters and their covariance."""
    if p0 is None and not _unbounded(options.get("bounds")):
        raise UnsupportedError("scipy.optimize.curve_fit with bounds: give p0=")
    p0 = np.ones(len(inspect.signature(f).parameters) - 1) if p0 is None else p0
    weight = 1.0 if sigma is None else 1.0 / np.asarray(sigma)
    r = lambda p: (f(xdata, *[p[k] for k in range(len(p))]) - ydata) * weight
    found = least_squares(r, p0, bounds=options.get("bounds"))
    J = Derivative(r, "jacobian")(found.x)
    covariance = np.linalg.inv(J.T @ J)
    if not absolute_sigma:
        covariance = covariance * (2 * found.cost / (len(found.fun) - len(found.x)))
    return found.x, covariance
