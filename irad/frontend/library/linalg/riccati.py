"""scipy.linalg.solve_continuous_are and solve_discrete_are: the stabilising solutions of Riccati equations.

A solution is found as a constant for derivatives, by the sign function of the Hamiltonian matrix (Roberts 1980) and by doubling (Chu, Fan,
Lin and Wang 2004). Steps of Newton's method (Kleinman 1968) then make it right to rounding, and carry derivatives: the first to first
order, the second to third.
"""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.library.calculus import constant, first_guess
from irad.frontend.library.linalg.matrices import solve_continuous_lyapunov, solve_discrete_lyapunov
from irad.frontend.registry import written

_MOST, _NEWTON, _ORDERS = 100, 2, 3
_SOLUTION = "the solution of a Riccati equation"
_NONE = "Failed to find a finite solution."


def _given(a, b, q, r, e, s):
    """The matrices, without the mixed weight s."""
    if e is not None:
        raise UnsupportedError("a Riccati equation with a matrix e; multiply by its inverse")
    a, b, q, r = (np.atleast_2d(np.asarray(x)) + 0.0 for x in (a, b, q, r))
    if a.shape[0] != a.shape[1] or b.shape[0] != a.shape[0] or q.shape != a.shape or r.shape != (b.shape[1], b.shape[1]):
        raise ValueError("the shapes of the matrices of a Riccati equation do not fit")
    if s is None:
        return a, b, q, r
    s = np.atleast_2d(np.asarray(s)) + 0.0
    turned = np.linalg.solve(r, s.conj().T)
    return a - b @ turned, b, q - s @ turned, r


def _sign(h):
    """The matrix sign function, by Newton's method with scaling by the determinant."""
    n = len(h)
    for _ in range(_MOST):
        scale = np.abs(np.linalg.det(h)) ** (-1.0 / n)
        new = 0.5 * (scale * h + np.linalg.inv(h) / scale)
        change = np.max(np.abs(new - h))
        h = new
        if change <= 1e-13 * np.max(np.abs(h)):
            break
    return h


@written("scipy.linalg.solve_continuous_are")
def solve_continuous_are(a, b, q, r, e=None, s=None, balanced=True):
    """scipy.linalg.solve_continuous_are: a^H x + x a - x b r^-1 b^H x + q = 0."""
    a, b, q, r = _given(a, b, q, r, e, s)
    n, g = len(a), b @ np.linalg.solve(r, b.conj().T)
    h = np.concatenate((np.concatenate((a, -g), axis=1), np.concatenate((-q, -a.conj().T), axis=1)))
    w = _sign(constant(h))
    left = np.concatenate((w[:n, n:], w[n:, n:] + np.eye(n)))
    right = -np.concatenate((w[:n, :n] + np.eye(n), w[n:, :n]))
    x = np.linalg.lstsq(left, right, rcond=None)[0]
    if not np.all(np.isfinite(x)):
        raise np.linalg.LinAlgError(_NONE)
    x = first_guess(0.5 * (x + x.conj().T), _ORDERS, _SOLUTION)
    for _ in range(_NEWTON):
        closed = a - g @ x
        x = x - solve_continuous_lyapunov(closed.conj().T, a.conj().T @ x + x @ a - x @ g @ x + q)
    return 0.5 * (x + x.conj().T)


def _doubled(a, g, h):
    """The limit of the doubling iteration: the solution of x = h + a^H x (1 + g x)^-1 a."""
    n = len(a)
    for _ in range(_MOST):
        w = np.eye(n) + g @ h
        wa, wg = np.linalg.solve(w, a), np.linalg.solve(w, g)
        more = a.conj().T @ h @ wa
        g, h, a = g + a @ wg @ a.conj().T, h + more, a @ wa
        if np.max(np.abs(more)) <= 1e-15 * np.max(np.abs(h)):
            break
    return h


@written("scipy.linalg.solve_discrete_are")
def solve_discrete_are(a, b, q, r, e=None, s=None, balanced=True):
    """scipy.linalg.solve_discrete_are: a^H x a - x - a^H x b (r + b^H x b)^-1 b^H x a + q = 0."""
    a, b, q, r = _given(a, b, q, r, e, s)
    x = first_guess(_doubled(constant(a), constant(b @ np.linalg.solve(r, b.conj().T)), constant(q)), _ORDERS, _SOLUTION)
    if not np.all(np.isfinite(x)):
        raise np.linalg.LinAlgError(_NONE)
    for _ in range(_NEWTON):
        k = np.linalg.solve(r + b.conj().T @ x @ b, b.conj().T @ x @ a)
        closed = a - b @ k
        x = x + solve_discrete_lyapunov(closed.conj().T, a.conj().T @ x @ closed - x + q)
    return 0.5 * (x + x.conj().T)
