"""Explicit Runge-Kutta methods with steps of their own choice, for scipy.integrate.solve_ivp and odeint: SciPy's coefficients and steps."""

from collections import namedtuple

import numpy as np
from scipy import integrate

from irad.frontend.library.calculus import constant

Method = namedtuple("Method", "steps nodes error between order")
"""Stages and weights as one matrix, positions, functions that give the norm of the error and the polynomial between the ends of a step
(rows for the powers of the part of the step that has gone, from the first on), and the order of the error estimate."""


def _matrix(m):
    s = len(m.B)
    steps = np.zeros((s + 1, s + 1))
    steps[:s, : m.A.shape[1]], steps[s, :s] = m.A, m.B
    return steps, np.append(m.C, 1.0)


def _embedded(m):
    """A method whose error is the difference from one embedded in it."""
    error = lambda slopes, h, scale: _rms(h * (m.E @ slopes) / scale)
    between = lambda f, t, y, y_new, h, slopes: h * (m.P.T @ slopes)
    return Method(*_matrix(m), error, between, m.error_estimator_order)


def _rms(x):
    return np.sqrt(np.mean(np.abs(x) ** 2))


def _powers():
    """The polynomials x, x (1 - x), x (1 - x) x... by which DOP853 interpolates: coefficients of the powers 1 to 7."""
    p, rows = np.polynomial.Polynomial([1.0]), np.zeros((7, 7))
    for k in range(7):
        p = p * np.polynomial.Polynomial([0.0, 1.0] if k % 2 == 0 else [1.0, -1.0])
        rows[k, : k + 1] = p.coef[1:]
    return rows


def _dop853(m, powers):
    """E. Hairer, S. Norsett, G. Wanner, Solving Ordinary Differential Equations I (1993), section II.5."""

    def error(slopes, h, scale):
        fifth, third = (np.sum(np.abs(e @ slopes / scale) ** 2) for e in (m.E5, m.E3))
        return np.abs(h) * fifth / np.sqrt(np.maximum(fifth + 0.01 * third, 1e-300) * len(scale))

    def between(f, t, y, y_new, h, slopes):
        more = np.concatenate((slopes, np.zeros((3, len(y)), y.dtype)))
        for s in range(3):
            more[13 + s] = f(t + m.C_EXTRA[s] * h, y + h * (m.A_EXTRA[s] @ more))
        d = y_new - y
        ends = np.stack((d, h * slopes[0] - d, 2 * d - h * (slopes[12] + slopes[0])))
        return powers.T @ np.concatenate((ends, h * (m.D @ more)))

    return Method(*_matrix(m), error, between, m.error_estimator_order)


METHODS = {"RK45": _embedded(integrate.RK45), "RK23": _embedded(integrate.RK23), "DOP853": _dop853(integrate.DOP853, _powers())}


def _first_step(f, t0, y0, f0, span, direction, order, rtol, atol, max_step):
    """SciPy's choice: E. Hairer, S. Norsett, G. Wanner, Solving Ordinary Differential Equations I, section II.4."""
    scale = atol + np.abs(y0) * rtol
    d0, d1 = _rms(y0 / scale), _rms(f0 / scale)
    h0 = np.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / np.where(d1 > 0, d1, 1.0))
    h0 = np.minimum(h0, span)
    d2 = _rms((f(t0 + h0 * direction, y0 + h0 * direction * f0) - f0) / scale) / h0
    top = np.maximum(d1, d2)
    h1 = np.where(top <= 1e-15, np.maximum(1e-6, h0 * 1e-3), (0.01 / np.where(top > 0, top, 1.0)) ** (1.0 / (order + 1)))
    return np.minimum(np.minimum(100 * h0, h1), np.minimum(span, max_step))


def steps_of(method, f, t0, t1, y0, times, rtol, atol, max_step, first_step, keep=False):
    """Steps from t0 to t1: (y at `times`, steps, did a step get too small?, the ends of the steps, y there, the polynomials between).

    With `keep` the last three are lists of all steps; `times` may be None. The lengths of steps are constants for derivatives, but the
    last, which ends at t1.
    """
    direction, span = np.where(t1 >= t0, 1.0, -1.0), constant(np.abs(t1 - t0))
    stages, n, m = len(method.nodes), len(y0), 0 if times is None else len(times)
    ends, ys, between = [t0 * 1.0], [y0], []
    t, y, k = t0 * 1.0, y0, f(t0, y0)
    h_abs = first_step
    if first_step is None:
        h_abs = _first_step(f, t0, y0, k, span, direction, method.order, rtol, atol, max_step)
    h_abs, out, at, count, failed, rejected = constant(h_abs * 1.0), np.zeros((m, n), y0.dtype), 0, 0, False, False
    while direction * (t1 - t) > 0:
        least = 10 * np.abs(np.nextafter(t, direction * np.inf) - t)
        h_abs = np.minimum(np.maximum(h_abs, least), max_step)
        last = direction * (t + h_abs * direction - t1) >= 0
        t_new = np.where(last, t1, t + h_abs * direction)
        h = t_new - t
        slopes = np.zeros((stages, n), y0.dtype)
        slopes[0], y_new = k, y
        for s in range(1, stages):
            y_new = y + h * (method.steps[s] @ slopes)
            slopes[s] = f(t + method.nodes[s] * h, y_new)
        scale = atol + np.maximum(np.abs(y), np.abs(y_new)) * rtol
        error = constant(method.error(slopes, h, scale))
        factor = 0.9 * np.maximum(error, 1e-300) ** (-1.0 / (method.order + 1))
        if error < 1:
            if keep or (at < m and direction * (times[np.minimum(at, m - 1)] - t_new) <= 0):
                rows = method.between(f, t, y, y_new, h, slopes)
                if keep:
                    ends.append(t_new)
                    ys.append(y_new)
                    between.append(rows)
                while m > 0 and at < m and direction * (times[np.minimum(at, m - 1)] - t_new) <= 0:
                    out[at] = y + ((times[at] - t) / h) ** np.arange(1, len(rows) + 1) @ rows
                    at = at + 1
            factor = np.minimum(1.0 if rejected else 10.0, factor)
            t, y, k, rejected, count = t_new, y_new, slopes[stages - 1], False, count + 1
        else:
            factor, rejected = np.maximum(0.2, factor), True
            if h_abs <= least:
                failed = True
                break
        h_abs = constant(np.abs(h) * factor)
    return out, count, failed, ends, ys, between


def interpolant(ends, ys, between, direction):
    """The solution at any time, from the polynomials of the steps, as SciPy's `OdeSolution`."""
    powers = np.arange(1, between.shape[1] + 1)

    def at(t):
        low, high = 0, len(ends) - 2
        while low < high:  # the last step that begins before t
            middle = (low + high + 1) // 2
            if direction * (ends[middle] - t) < 0:
                low = middle
            else:
                high = middle - 1
        return ys[low] + ((t - ends[low]) / (ends[low + 1] - ends[low])) ** powers @ between[low]

    def solution(t):
        if np.ndim(t) == 0:
            return at(t * 1.0)
        out = np.empty((len(t), ys.shape[1]), ys.dtype)
        for i in range(len(t)):
            out[i] = at(t[i])
        return out.T

    return solution
