"""Gradient descent with steps that grow and shrink, as compiled code that can be differentiated: the search of particle and saddle."""

from __future__ import annotations

from typing import Any

import numpy as np

import irad

SMALL = 1e-5


def norm(x: Any) -> Any:
    return np.sqrt(np.sum(x * x))


def argmin(f: Any, x: Any, mode: str) -> Any:
    """A minimum of f (of an array) near x; `mode`: "forward" or "reverse", for the gradients of f."""
    value_and_gradient = irad.value_and_grad(f, mode=mode)
    fx, g = value_and_gradient(x)
    eta, i = 1e-5, 0
    while norm(g) > SMALL:
        if i == 10:
            eta, i = eta * 2.0, 0
        else:
            moved = x - eta * g
            if norm(x - moved) <= SMALL:
                break
            fm = f(moved)
            if fm < fx:
                x, i = moved, i + 1
                fx, g = value_and_gradient(x)
            else:
                eta, i = eta / 2.0, 0
    return x


def argmax(f: Any, x: Any, mode: str) -> Any:
    return argmin(lambda y: -f(y), x, mode)
