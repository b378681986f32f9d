"""Stiff ordinary differential equations, for scipy.integrate.solve_ivp with the methods Radau, BDF and LSODA.

RODAS, a Rosenbrock method of order 4 with an embedded one of order 3, L-stable and stiffly accurate, with exact Jacobians: E. Hairer,
G. Wanner, Solving Ordinary Differential Equations II (1996), section IV.7. It steps onto each time that is asked for.
"""

import numpy as np

from irad.frontend.library.calculus import Derivative, constant

_GAMMA = 0.25
_AT = np.array([0.0, 0.386, 0.21, 0.63, 1.0, 1.0])
_BY_TIME = np.array([0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0])
_STAGES = [  # of the increments before, in the argument and, divided by the step, in the right-hand side
    ([], []),
    ([1.544], [-5.6688]),
    ([0.9466785280815826, 0.2557011698983284], [-2.430093356833875, -0.2063599157091915]),
    ([3.314825187068521, 2.896124015972201, 0.9986419139977817], [-0.1073529058151375, -9.594562251023355, -20.47028614809616]),
    (
        [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950],
        [7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160],
    ),
    (
        [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0],
        [8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054],
    ),
]


def _step(f, t, y, h):
    """One step: the new y, and what it differs by from that of order 3."""
    n = len(y)
    both = Derivative(lambda z: f(z[n], z[:n]), "jacobian")(np.concatenate((y, np.reshape(t, 1))))
    J, by_time = both[:, :n], both[:, n]
    system = np.eye(n) / (h * _GAMMA) - J
    ks = []
    for i, (a, c) in enumerate(_STAGES):
        place, right = y, 0.0
        for j in range(i):
            place, right = place + a[j] * ks[j], right + c[j] / h * ks[j]
        ks.append(np.linalg.solve(system, f(t + _AT[i] * h, place) + right + h * _BY_TIME[i] * by_time))
    new = y + ks[5]
    for j in range(5):
        new = new + _STAGES[5][0][j] * ks[j]
    return new, ks[5]


def rosenbrock(f, t0, t1, y0, times, rtol, atol, max_step, first_step):
    """From t0 to t1: (y at `times`, steps, did a step get too small?). The lengths of the steps are constants for derivatives."""
    direction, span = np.where(t1 >= t0, 1.0, -1.0), constant(np.abs(t1 - t0))
    m, t, y = len(times), t0 * 1.0, y0
    slope = constant(f(t, y))
    size = np.sqrt(np.mean((slope / (atol + np.abs(constant(y)) * rtol)) ** 2))
    h_abs = np.minimum(span, 0.01 / np.maximum(size, 1e-12)) * 1.0 if first_step is None else first_step * 1.0
    h_abs = constant(np.minimum(np.maximum(h_abs, 1e-10 * span), max_step))
    out, at, count, failed = np.zeros((m, len(y0)), y0.dtype), 0, 0, False
    while at < m and direction * (times[np.minimum(at, m - 1)] - t) <= 0:
        out[at] = y
        at = at + 1
    while direction * (t1 - t) > 0:
        goal = np.where(at < m, times[np.minimum(at, m - 1)], t1)
        last = direction * (t + 1.01 * h_abs * direction - goal) >= 0
        t_new = np.where(last, goal, t + h_abs * direction)
        h = t_new - t
        y_new, difference = _step(f, t, y, h)
        scale = atol + np.maximum(np.abs(y), np.abs(y_new)) * rtol
        error = constant(np.sqrt(np.mean((difference / scale) ** 2)))
        factor = np.minimum(6.0, np.maximum(0.2, 0.9 * np.maximum(error, 1e-10) ** -0.25))
        taken = constant(np.abs(h))
        if error < 1:
            t, y, count = t_new, y_new, count + 1
            while at < m and direction * (times[np.minimum(at, m - 1)] - t) <= 0:
                out[at] = y
                at = at + 1
            h_abs = np.minimum(np.where(last, np.maximum(h_abs, taken * factor), taken * factor), max_step)
        else:
            h_abs = taken * np.minimum(factor, 0.9)
            if not h_abs > 1e-14 * np.maximum(span, np.abs(constant(t))):
                failed = True
                break
    return out, count, failed
