"""Minima of functions of several numbers that have bounds: scipy.optimize.minimize and least_squares with bounds=."""

import numpy as np

from irad.frontend.library.calculus import Derivative, constant, first_guess


def limits(bounds, n, pairs):
    """The least and the largest values, from a sequence of pairs, from (least, largest), or from scipy.optimize.Bounds."""
    if hasattr(bounds, "lb"):
        low, high = bounds.lb, bounds.ub
    elif pairs:
        low = np.stack([np.asarray(-np.inf if b[0] is None else b[0]) * 1.0 for b in bounds])
        high = np.stack([np.asarray(np.inf if b[1] is None else b[1]) * 1.0 for b in bounds])
    else:
        low, high = bounds
    return np.broadcast_to(np.asarray(low) * 1.0, (n,)), np.broadcast_to(np.asarray(high) * 1.0, (n,))


def _held(x, slope, low, high):
    """Which numbers are at a bound and would go beyond it."""
    return (x <= low) & (slope > 0) | (x >= high) & (slope < 0)


def updated(H, s, y, ys):
    """The inverse curvature after a step s that changed the slope by y, of which ys = y @ s > 0 (the formula of BFGS)."""
    Hy = H @ y
    return H + (1.0 + y @ Hy / ys) * np.outer(s, s) / ys - (np.outer(Hy, s) + np.outer(s, Hy)) / ys


def _projected(f, g, x, low, high, steps):
    """BFGS among the numbers that are not held at their bounds, with steps that are cut off there and halved until Armijo's condition
    holds: (the place, which numbers are held, the slope of the others). D. Bertsekas, SIAM J. Control Optim. 20 (1982)."""
    n = len(x)
    x = np.clip(x, low, high)
    H, value, slope = np.eye(n), f(x), g(x)
    held = _held(x, slope, low, high)
    fresh = True
    for _ in range(steps):
        inner = np.where(held, 0.0, slope)
        if np.max(np.abs(inner)) == 0:
            break
        d = -np.where(held, 0.0, H @ inner)
        if not d @ inner < 0:
            H, d, fresh = np.eye(n), -inner, True
        share = np.minimum(1.0, 1.0 / np.sqrt(inner @ inner)) if fresh else 1.0
        new = np.clip(x + share * d, low, high)
        value_new = f(new)
        while not value_new <= value + 1e-4 * (slope @ (new - x)) and share > 1e-14:
            share = share / 2
            new = np.clip(x + share * d, low, high)
            value_new = f(new)
        s = new - x
        if not value_new <= value or np.max(np.abs(s)) <= 1e-15 * np.max(np.abs(x)):
            if fresh:
                break
            H, fresh = np.eye(n), True  # the curvature may be that of other bounds
        else:
            slope_new = g(new)
            held_new = _held(new, slope_new, low, high)
            y = np.where(held_new, 0.0, slope_new - slope)
            s = np.where(held_new, 0.0, s)
            ys = y @ s
            if np.any(held_new != held):
                H, fresh = np.eye(n), True
            elif ys > 0:
                H = updated(H, s, y, ys)
                fresh = False
            x, value, slope, held = new, value_new, slope_new, held_new
    return x, held, np.where(held, 0.0, slope)


def bounded_minimum(f, x0, low, high):
    """The minimum of f between bounds: numbers at a bound have its derivative, others that of the implicit-function theorem."""
    slope = Derivative(f)
    at, held, rest = _projected(
        lambda x: constant(f(x)), lambda x: constant(slope(x)), constant(x0), constant(low), constant(high), 1000
    )
    if not np.max(np.abs(rest)) <= 1e-4 * (1.0 + np.abs(constant(f(at)))):
        raise RuntimeError("scipy.optimize: the search for a minimum between bounds does not converge: begin nearer to it")
    at_low = held & (at <= constant(low))
    fixed = np.where(at_low, np.where(at_low, low, 0.0), np.where(held, np.where(held, high, 0.0), 0.0))
    x = first_guess(np.where(held, 0.0, at), 3, "a root or minimum")
    for _ in range(2):
        place = np.where(held, fixed, x)
        J = Derivative(slope, "jacobian")(place)
        both = held[:, None] | held
        x = x - np.linalg.solve(np.where(both, np.eye(len(held)), J), np.where(held, 0.0, slope(place)))
    return np.where(held, fixed, x)
