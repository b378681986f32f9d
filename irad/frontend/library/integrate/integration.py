"""scipy.integrate: sums over samples, quadrature, and ordinary differential equations."""

from types import SimpleNamespace

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.library.calculus import constant, infinite
from irad.frontend.library.integrate.runge_kutta import METHODS, interpolant, steps_of
from irad.frontend.library.integrate.stiff import rosenbrock
from irad.frontend.registry import written

# ---- samples -----------------------------------------------------------------------------------------------------------------------


def _first(y, x, dx, axis):
    """Samples along the first axis, and the distances between them."""
    y = np.moveaxis(np.asarray(y), axis, 0)
    if x is None:
        return y, dx
    x = np.asarray(x)
    if x.ndim > 1:
        return y, np.diff(np.moveaxis(x, axis, 0), axis=0)
    return y, np.diff(x).reshape((-1,) + (1,) * (y.ndim - 1))


@written("scipy.integrate.trapezoid")
def trapezoid(y, x=None, dx=1.0, axis=-1):
    y, d = _first(y, x, dx, axis)
    return np.sum(d * (y[1:] + y[:-1]) / 2.0, axis=0)


@written("scipy.integrate.cumulative_trapezoid")
def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    y, d = _first(y, x, dx, axis)
    out = np.cumsum(d * (y[1:] + y[:-1]) / 2.0, axis=0)
    if initial is not None:
        out = np.concatenate((np.full_like(out[:1], initial), out))
    return np.moveaxis(out, 0, axis)


@written("scipy.integrate.simpson")
def simpson(y, x=None, dx=1.0, axis=-1):
    """scipy.integrate.simpson; an even number of samples ends as Cartwright (2017) says, as SciPy since 1.11."""
    y, d = _first(y, x, dx, axis)
    n = len(y)
    if n == 1:
        return np.sum(y * 0.0, axis=0)
    d = np.broadcast_to(d * 1.0, y[1:].shape)
    if n == 2:
        return d[0] * (y[0] + y[1]) / 2.0
    whole = n - 1 + n % 2  # the parabolas go over so many samples
    h0, h1 = d[: whole - 1 : 2], d[1:whole:2]
    total, ratio = h0 + h1, h0 / h1
    left, middle, right = y[: whole - 2 : 2], y[1 : whole - 1 : 2], y[2:whole:2]
    out = np.sum(total / 6.0 * (left * (2.0 - 1.0 / ratio) + middle * total**2 / (h0 * h1) + right * (2.0 - ratio)), axis=0)
    if n % 2 == 0:
        a, b = d[-2], d[-1]
        out = out + (2 * b**2 + 3 * a * b) / (6 * (b + a)) * y[-1] + (b**2 + 3 * a * b) / (6 * a) * y[-2]
        out = out - b**3 / (6 * a * (a + b)) * y[-3]
    return out


# ---- quadrature ----------------------------------------------------------------------------------------------------------------------

# Gauss and Kronrod's rule of 21 points, as QUADPACK's qk21 has it: nodes from the outside, their weights, those of the Gauss rule.
_HALF = [
    (0.995657163025808080735527280689003, 0.011694638867371874278064396062192, 0.0),
    (0.973906528517171720077964012084452, 0.032558162307964727478818972459390, 0.066671344308688137593568809893332),
    (0.930157491355708226001207180059508, 0.054755896574351996031381300244580, 0.0),
    (0.865063366688984510732096688423493, 0.075039674810919952767043140916190, 0.149451349150580593145863396957698),
    (0.780817726586416897063717578345042, 0.093125454583697605535065465083366, 0.0),
    (0.679409568299024406234327365114874, 0.109387158802297641899210590325805, 0.219086362515982043995534934228163),
    (0.562757134668604683339000099272694, 0.123491976262065851077958109585166, 0.0),
    (0.433395394129247190799265943165784, 0.134709217311473325928054001771707, 0.269266719309996355091226921569469),
    (0.294392862701460198131126603103866, 0.142775938577060080797094273138717, 0.0),
    (0.148874338981631210884826001129720, 0.147739104901338491374841515972068, 0.295524224714752870173815619188769),
]
_NODES = np.array([-x for x, _, _ in _HALF] + [0.0] + [x for x, _, _ in _HALF[::-1]])
_KRONROD = np.array([w for _, w, _ in _HALF] + [0.149445554002916905664936468389821] + [w for _, w, _ in _HALF[::-1]])
_GAUSS = np.array([w for _, _, w in _HALF] + [0.0] + [w for _, _, w in _HALF[::-1]])


def _rule(f, low, high):
    """The integral over one interval, and a bound of its error (the difference of the two rules)."""
    half, fine, coarse = 0.5 * (high - low), 0.0, 0.0
    for k in range(21):
        v = f(0.5 * (low + high) + half * _NODES[k])
        fine, coarse = fine + _KRONROD[k] * v, coarse + _GAUSS[k] * v
    return half * fine, np.abs(half * (fine - coarse))


@written("scipy.integrate.quad", always=True)
def quad(func, a, b, args=(), full_output=0, epsabs=1.49e-8, epsrel=1.49e-8, limit=50, points=None, weight=None, **options):
    """scipy.integrate.quad of a function that is smooth but for few places, by halving the worst interval as QUADPACK does.

    The derivative is that of the last sum: the intervals are constants. Ends at infinity are mapped to (0, 1].
    """
    if points is not None or weight is not None:
        raise UnsupportedError(
            "scipy.integrate.quad with points= or weight=: cut the interval yourself, or multiply the function"
        )
    f = (lambda x: func(x, *args)) if args else func
    if infinite(a) and infinite(b):
        g, low, high = (lambda t: (f((1 - t) / t) + f(-(1 - t) / t)) / t**2), 0.0, 1.0
        sign = 1.0 if a < b else -1.0
    elif infinite(b):
        s = 1.0 if b > 0 else -1.0
        g, low, high, sign = (lambda t: f(a + s * (1 - t) / t) / t**2), 0.0, 1.0, s
    elif infinite(a):
        s = 1.0 if a > 0 else -1.0
        g, low, high, sign = (lambda t: f(b + s * (1 - t) / t) / t**2), 0.0, 1.0, -s
    else:
        g, low, high, sign = f, a, b, 1.0
    width = high - low
    u, v, count = _intervals(lambda x: constant(g(constant(low + width * x)) * width), epsabs, epsrel, limit)
    total = bound = 0.0
    for k in range(count):
        value, error = _rule(g, low + width * u[k], low + width * v[k])
        total, bound = total + value, bound + error
    return float(sign * total), float(constant(bound))


def _intervals(g, epsabs, epsrel, limit):
    """Into which parts of [0, 1] to cut: always the one with the largest error, until all together is small enough."""
    low, high, values, errors = np.zeros(limit), np.zeros(limit), np.zeros(limit), np.zeros(limit)
    high[0], count, k = 1.0, 1, 0
    values[0], errors[0] = _rule(g, 0.0, 1.0)
    while count < limit and np.sum(errors) > np.maximum(epsabs, epsrel * np.abs(np.sum(values))):
        k = np.argmax(errors)
        middle, end = 0.5 * (low[k] + high[k]), high[k]
        high[k], low[count], high[count] = middle, middle, end
        for i in (k, count):
            values[i], errors[i] = _rule(g, low[i], high[i])
        count = count + 1
    return low, high, count


@written("scipy.integrate.fixed_quad", always=True)
def fixed_quad(func, a, b, args=(), n=5):
    """scipy.integrate.fixed_quad: the function is called with all nodes at once."""
    x, w = np.polynomial.legendre.leggauss(n)
    y = (b - a) * (x + 1) / 2.0 + a
    return (b - a) / 2.0 * np.sum(w * func(y, *args), axis=-1), None


# ---- ordinary differential equations -------------------------------------------------------------------------------------------------


@written("scipy.integrate.solve_ivp", always=True)
def solve_ivp(
    fun, t_span, y0, method="RK45", t_eval=None, dense_output=False, events=None, vectorized=False, args=None, **options
):
    """scipy.integrate.solve_ivp by RK45, RK23 or DOP853, with SciPy's steps; for Radau, BDF and LSODA by a Rosenbrock method, to the
    tolerances, at the times `t_eval` only. The steps are constants for derivatives.
    """
    t0, t1 = t_span
    rtol, atol = options.get("rtol", 1e-3), options.get("atol", 1e-6)
    explicit, stiff = method in METHODS, isinstance(method, str) and method in ("Radau", "BDF", "LSODA")
    if not explicit and not stiff:
        raise UnsupportedError(
            f"scipy.integrate.solve_ivp(method={method!r}): {', '.join(map(repr, METHODS))}, 'Radau', 'BDF' and 'LSODA' are compiled"
        )
    if events is not None:
        raise UnsupportedError(
            "scipy.integrate.solve_ivp with events: give the times in t_eval=, and look for the event in the result"
        )
    if stiff and (t_eval is None or dense_output):
        raise UnsupportedError(
            f"scipy.integrate.solve_ivp(method={method!r}) takes other steps here than SciPy: give the times in t_eval="
        )
    y0 = np.asarray(y0)
    y0 = y0 if y0.dtype.kind in "fc" else y0.astype(np.float64)
    extra = () if args is None else args
    f = lambda t, y: np.asarray(fun(t, y, *extra)).astype(y0.dtype)
    times, solution = None if t_eval is None else np.asarray(t_eval), None
    max_step, first = options.get("max_step", np.inf), options.get("first_step")
    if stiff:
        out, count, failed = rosenbrock(f, t0, t1, y0, times, rtol, atol, max_step, first)
    else:
        keep = dense_output or times is None
        out, count, failed, ends, ys, between = steps_of(METHODS[method], f, t0, t1, y0, times, rtol, atol, max_step, first, keep)
        if keep:
            ends, ys = np.array(ends), np.array(ys)
            solution = interpolant(ends, ys, np.array(between), np.where(t1 >= t0, 1.0, -1.0)) if dense_output else None
            times, out = (ends, ys) if times is None else (times, out)
    return SimpleNamespace(
        t=times, y=out.T, success=~np.asarray(failed), status=np.where(failed, -1, 0), message="", nsteps=count, sol=solution,
        t_events=None, y_events=None,
    )  # fmt: skip


@written("scipy.integrate.odeint", always=True)
def odeint(func, y0, t, args=(), Dfun=None, full_output=0, rtol=None, atol=None, tfirst=False, **options):
    """scipy.integrate.odeint to its tolerances, by RK45 (SciPy's is LSODA): for equations that are not stiff."""
    if full_output:
        raise UnsupportedError("scipy.integrate.odeint with full_output")
    y0, t = np.atleast_1d(np.asarray(y0) + 0.0), np.asarray(t) + 0.0
    f = lambda s, y: np.atleast_1d(np.asarray(func(s, y, *args) if tfirst else func(y, s, *args))).astype(y0.dtype)
    tight = 1.49012e-8
    rtol, atol = (tight if x is None else x for x in (rtol, atol))
    out, _, failed, *_ = steps_of(METHODS["RK45"], f, t[0], t[-1], y0, t, rtol, atol, np.inf, None)
    if failed:
        raise ValueError("scipy.integrate.odeint: a step became too small; the equation is stiff, or has a singularity")
    out[0] = y0
    return out
