"""scipy.optimize: minima of functions of one number, fixed points, non-negative least squares, assignments, and older names.

As for roots, the search is a constant for derivatives, and what is found has the derivative of the implicit-function theorem.
"""

from types import SimpleNamespace

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.library.calculus import Derivative, constant, differentiated, first_guess
from irad.frontend.library.optimize.optimisation import _implicit, _nothing, _with, least_squares, minimize
from irad.frontend.registry import written

# ---- functions of one number -----------------------------------------------------------------------------------------------------------

_GOLD, _GOLDEN = 1.618034, 0.3819660
_SMALL = 1e-21


def _bracket(f, xa, xb):
    """SciPy's bracket: three places of which the middle one is the lowest; RuntimeError if there are none."""
    fa, fb = f(xa), f(xb)
    if fa < fb:
        xa, xb, fa, fb = xb, xa, fb, fa
    xc = xb + _GOLD * (xb - xa)
    fc, trips = f(xc), 0
    while fc < fb:
        t1, t2 = (xb - xa) * (fb - fc), (xb - xc) * (fb - fa)
        v = t2 - t1
        w = xb - ((xb - xc) * t2 - (xb - xa) * t1) / np.where(np.abs(v) < _SMALL, 2.0 * _SMALL, 2.0 * v)
        limit = xb + 110.0 * (xc - xb)
        if trips > 1000:
            raise RuntimeError("No valid bracket was found before the iteration limit was reached.")
        trips = trips + 1
        fw, grow = 0.0, False
        if (w - xc) * (xb - w) > 0.0:
            fw = f(w)
            if fw < fc:
                xa, xb, fa, fb = xb, w, fb, fw
                break
            if fw > fb:
                xc, fc = w, fw
                break
            grow = True
        elif (w - limit) * (limit - xc) >= 0.0:
            w = limit
            fw = f(w)
        elif (w - limit) * (xc - w) > 0.0:
            fw = f(w)
            if fw < fc:
                xb, xc, fb, fc = xc, w, fc, fw
                grow = True
        else:
            grow = True
        if grow:
            w = xc + _GOLD * (xc - xb)
            fw = f(w)
        xa, xb, xc, fa, fb, fc = xb, xc, w, fb, fc, fw
    if not ((fb < fc) & (fb <= fa) | (fb < fa) & (fb <= fc)):
        raise RuntimeError("The algorithm terminated without finding a valid bracket. Consider trying different initial points.")
    return xa, xb, xc


def _search(f, x, a, b, near_of, golden, maxiter):
    """The minimum between a and b by Brent's method, begun at x, step for step as SciPy; `near_of(x)`: what is no distance at x."""
    w = v = x
    fx = fw = fv = f(x)
    delta = rat = 0.0
    for _ in range(maxiter):
        near, middle = near_of(x), 0.5 * (a + b)
        if np.abs(x - middle) <= 2.0 * near - 0.5 * (b - a):
            break
        section = True
        if np.abs(delta) > near:
            t1, t2 = (x - w) * (fx - fv), (x - v) * (fx - fw)
            p, t2 = (x - v) * t2 - (x - w) * t1, 2.0 * (t2 - t1)
            p = np.where(t2 > 0.0, -p, p)
            t2, before, delta = np.abs(t2), delta, rat
            if (p > t2 * (a - x)) & (p < t2 * (b - x)) & (np.abs(p) < np.abs(0.5 * t2 * before)):
                rat, section = p / t2, False
                if (x + rat - a < 2 * near) | (b - x - rat < 2 * near):
                    rat = np.where(middle - x >= 0, near, -near)
        if section:
            delta = np.where(x >= middle, a - x, b - x)
            rat = golden * delta
        u = x + np.where(np.abs(rat) < near, np.where(rat >= 0, near, -near), rat)
        fu = f(u)
        if fu > fx:
            if u < x:
                a = u
            else:
                b = u
            if (fu <= fw) | (w == x):
                v, w, fv, fw = w, u, fw, fu
            elif (fu <= fv) | (v == x) | (v == w):
                v, fv = u, fu
        else:
            if u >= x:
                a = x
            else:
                b = x
            v, w, x, fv, fw, fx = w, x, u, fw, fx, fu
    return x


def _brent(f, xa, xb, xc, tol, maxiter):
    """SciPy's Brent."""
    return _search(f, xb, np.minimum(xa, xc), np.maximum(xa, xc), lambda x: tol * np.abs(x) + 1e-11, _GOLDEN, maxiter)


def _bounded(f, a, b, xatol, maxiter):
    """SciPy's fminbound."""
    golden, eps = 0.5 * (3.0 - np.sqrt(5.0)), np.sqrt(2.2e-16)
    return _search(f, a + golden * (b - a), a, b, lambda x: eps * np.abs(x) + xatol / 3.0, golden, maxiter)


def _at_minimum(f, x, low=None, high=None):
    """x, to the bit, with the derivative that a minimum has; one at a bound has that of the bound. ValueError where the curvature is 0."""
    slope = Derivative(f)
    x = first_guess(x, 3, "a root or minimum")
    if low is not None:
        width = 1e-4 * np.abs(constant(high) - constant(low))
        if (constant(slope(x)) > 0) & (x - constant(low) < width):
            return x + _nothing(low)
        if (constant(slope(x)) < 0) & (constant(high) - x < width):
            return x + _nothing(high)
    for _ in range(2):
        curvature = Derivative(slope)(x)
        flat = curvature == 0
        if differentiated() and flat:
            raise ValueError("the curvature of the function at its minimum is 0: such a minimum has no derivative")
        x = x - _nothing(slope(x)) / np.where(flat, 1.0, curvature)
    return x


@written("scipy.optimize.minimize_scalar", always=True)
def minimize_scalar(fun, bracket=None, bounds=None, args=(), method=None, tol=None, options=None):
    """scipy.optimize.minimize_scalar: Brent's method, in bounds that of fminbound; "golden" is Brent's too."""
    f = _with(fun, args)
    g = lambda x: constant(f(x))
    given = {} if options is None else options
    if method is None:
        method = "brent" if bounds is None else "bounded"
    if method.lower() == "bounded":
        if bounds is None:
            raise ValueError("The `bounds` parameter is mandatory for method `bounded`.")
        low, high = bounds
        x = _bounded(g, constant(low * 1.0), constant(high * 1.0), given.get("xatol", 1e-5), given.get("maxiter", 500))
        x = _at_minimum(f, x, low * 1.0, high * 1.0)
    elif method.lower() in ("brent", "golden"):
        if bounds is not None:
            raise ValueError(f"Use of `bounds` is incompatible with 'method={method}'.")
        if bracket is None or len(bracket) == 2:
            a, b = (0.0, 1.0) if bracket is None else bracket
            three = _bracket(g, constant(a * 1.0), constant(b * 1.0))
        else:
            three = [constant(b * 1.0) for b in bracket]
        x = _brent(g, *three, given.get("xtol", 1.48e-8 if tol is None else tol), given.get("maxiter", 500))
        x = _at_minimum(f, x)
    else:
        raise ValueError(f"Unknown solver {method}")
    return SimpleNamespace(x=x, fun=f(x), success=True, message="converged", status=0)


@written("scipy.optimize.fminbound", always=True)
def fminbound(func, x1, x2, args=(), xtol=1e-5, maxfun=500, full_output=0, **options):
    if full_output or options.get("disp", 1) == 3:
        raise UnsupportedError("scipy.optimize.fminbound with full_output, or disp=3: use scipy.optimize.minimize_scalar")
    return minimize_scalar(func, None, (x1, x2), args, "bounded", None, {"xatol": xtol, "maxiter": maxfun}).x


@written("scipy.optimize.brent", "scipy.optimize.golden", always=True)
def brent(func, args=(), brack=None, tol=1.48e-8, full_output=0, maxiter=500):
    """scipy.optimize.brent; golden is it too."""
    if full_output:
        raise UnsupportedError("scipy.optimize.brent with full_output: use scipy.optimize.minimize_scalar")
    return minimize_scalar(func, brack, None, args, "brent", None, {"xtol": tol, "maxiter": maxiter}).x


# ---- fixed points ---------------------------------------------------------------------------------------------------------------------------


@written("scipy.optimize.fixed_point", always=True)
def fixed_point(func, x0, args=(), xtol=1e-8, maxiter=500, method="del2"):
    """scipy.optimize.fixed_point, with Steffensen's acceleration ("del2") or without ("iteration")."""
    if method not in ("del2", "iteration"):
        raise ValueError("method must be 'del2' or 'iteration'")
    f = _with(func, args)
    p, done = constant(np.asarray(x0) * 1.0), False
    for _ in range(maxiter):
        last = p
        p1 = constant(f(p))
        p = p1
        if method == "del2":
            p2 = constant(f(p1))
            d = p2 - 2.0 * p1 + last
            p = np.where(d != 0, last - (p1 - last) ** 2 / np.where(d != 0, d, 1.0), p2)
        if np.all(np.abs(np.where(last != 0, (p - last) / np.where(last != 0, last, 1.0), p)) < xtol):
            done = True
            break
    if not done:
        raise RuntimeError(f"Failed to converge after {maxiter} iterations")
    if np.ndim(x0) == 0:
        return _implicit(lambda x: f(x) - x, p[()])
    shape = p.shape
    x = first_guess(p.reshape(-1), 3, "a fixed point")
    g = lambda v: (f(v.reshape(shape)) - v.reshape(shape)).reshape(-1)
    for _ in range(2):
        x = x - np.linalg.solve(Derivative(g, "jacobian")(x), _nothing(g(x)))
    return x.reshape(shape)


# ---- least squares with x >= 0, assignments -----------------------------------------------------------------------------------------------------


def _active(Q, q, maxiter):
    """Which x are positive: the active sets of C. Lawson and R. Hanson, Solving Least Squares Problems (1974), chapter 23."""
    n = len(q)
    x, s, P = np.zeros(n), np.zeros(n), np.zeros(n, bool)
    w, tol = q.copy(), 10 * np.finfo(np.float64).eps * np.max(np.sum(np.abs(Q), axis=0)) * n
    trips = 0
    while not np.all(P) and np.any(np.where(P, -np.inf, w) > tol):
        P[np.argmax(np.where(P, -np.inf, w))] = True
        s = _within(Q, q, P)
        while np.min(np.where(P, s, np.inf)) < 0 and trips < maxiter:
            trips = trips + 1
            falls = P & (s < 0)
            share = np.min(np.where(falls, x / np.where(falls, x - s, 1.0), np.inf))
            x = x + share * (s - x)
            P = P & (x > tol)
            s = _within(Q, q, P)
        if trips >= maxiter:
            raise RuntimeError("Maximum number of iterations reached.")
        x, trips = s, trips + 1
        w = q - Q @ x
    return P


def _within(Q, q, P):
    """The solution of the normal equations of those in P; 0 for others."""
    both = P[:, None] & P
    return np.linalg.solve(np.where(both, Q, np.eye(len(q))), np.where(P, q, 0.0))


@written("scipy.optimize.nnls")
def nnls(A, b, *, maxiter=None):
    """scipy.optimize.nnls: (x, the norm of the residual); derivatives are those of the x that are positive."""
    A, b = np.asarray(A) + 0.0, np.asarray(b) + 0.0
    if A.ndim != 2 or b.ndim != 1 or len(A) != len(b):
        raise ValueError("Expected a two-dimensional A and a one-dimensional b of as many rows")
    Q, q = A.T @ A, A.T @ b
    x = _within(Q, q, _active(constant(Q), constant(q), 3 * A.shape[1] if maxiter is None else maxiter))
    x = np.maximum(x, 0.0)
    return x, np.linalg.norm(A @ x - b)


@written("scipy.optimize.linear_sum_assignment")
def linear_sum_assignment(cost_matrix, maximize=False):
    """scipy.optimize.linear_sum_assignment by shortest augmenting paths; (rows, columns), which have no derivative.

    D. Crouse, On implementing 2D rectangular assignment algorithms (2016), as SciPy.
    """
    c = constant(np.asarray(cost_matrix) * (-1.0 if maximize else 1.0))
    if c.ndim != 2:
        raise ValueError(f"expected a matrix (2-D array), got a {c.ndim} array")
    if np.any(np.isnan(c)):
        raise ValueError("matrix contains invalid numeric entries")
    turned = c.shape[1] < c.shape[0]
    c = c.T if turned else c
    n, m = c.shape
    u, v = np.zeros(n), np.zeros(m)
    row_of, column_of = np.full(m, -1), np.full(n, -1)
    for row in np.arange(n):
        shortest, path, seen_rows, seen = np.full(m, np.inf), np.full(m, -1), np.zeros(n, bool), np.zeros(m, bool)
        i, reach, sink = row, 0.0, -1
        while sink < 0:
            seen_rows[i] = True
            trial = reach + c[i] - u[i] - v
            better = ~seen & (trial < shortest)
            path, shortest = np.where(better, i, path), np.where(better, trial, shortest)
            open_ = np.where(seen, np.inf, shortest)
            reach = np.min(open_)
            if reach == np.inf:
                raise ValueError("cost matrix is infeasible")
            ties = (open_ == reach) & (row_of < 0)
            j = np.where(np.any(ties), np.argmax(ties), np.argmin(open_))[()]
            seen[j] = True
            if row_of[j] < 0:
                sink = j
            else:
                i = row_of[j]
        mates = np.where(column_of >= 0, column_of, 0)
        others = seen_rows & (np.arange(n) != row)
        u = u + np.where(others, reach - np.where(others, shortest[mates], 0.0), 0.0)
        u[row] += reach
        v = v - np.where(seen, reach - np.where(seen, shortest, 0.0), 0.0)
        j, going = sink, True
        while going:
            i = path[j]
            row_of[j] = i
            before = column_of[i]
            column_of[i] = j
            j, going = before, i != row
    if turned:
        order = np.argsort(column_of)
        return column_of[order], order
    return np.arange(n), column_of


# ---- older names --------------------------------------------------------------------------------------------------------------------------------


def _under_an_old_name(f, x0, args, options):
    """The minimum; what options say of steps and of what is printed changes nothing."""
    for k in ("full_output", "retall", "callback"):
        if options.get(k):
            raise UnsupportedError(f"scipy.optimize.fmin and its like with {k}=: use scipy.optimize.minimize")
    return minimize(f, x0, args).x


@written("scipy.optimize.fmin", "scipy.optimize.fmin_powell", always=True)
def fmin(func, x0, args=(), **options):
    """scipy.optimize.fmin and fmin_powell, as `minimize`."""
    return _under_an_old_name(func, x0, args, options)


@written("scipy.optimize.fmin_bfgs", "scipy.optimize.fmin_cg", always=True)
def fmin_bfgs(f, x0, fprime=None, args=(), **options):
    """scipy.optimize.fmin_bfgs and fmin_cg, as `minimize`."""
    return _under_an_old_name(f, x0, args, options)


@written("scipy.optimize.leastsq", always=True)
def leastsq(func, x0, args=(), Dfun=None, full_output=False, **options):
    """scipy.optimize.leastsq, as `least_squares`: (x, 1)."""
    if full_output:
        raise UnsupportedError("scipy.optimize.leastsq with full_output: use scipy.optimize.least_squares")
    more = args if isinstance(args, tuple) else (args,)
    return least_squares(func, x0, args=more).x, 1


@written("scipy.optimize.approx_fprime", always=True)
def approx_fprime(xk, f, epsilon=1.4901161193847656e-08, *args):
    """scipy.optimize.approx_fprime: forward differences."""
    x = np.asarray(xk) * 1.0
    flat, steps = np.atleast_1d(x), np.broadcast_to(epsilon, np.atleast_1d(x).shape)
    first = np.asarray(f(x, *args))
    out = []
    for k in range(len(flat)):
        h = steps[k] * np.where(flat[k] >= 0, 1.0, 1.0)
        moved = np.where(np.arange(len(flat)) == k, flat + h, flat)
        out.append((np.asarray(f(moved.reshape(x.shape), *args)) - first) / (moved[k] - flat[k]))
    return np.stack(out, -1)
