"""Functions that are exported in tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

import irad

HOST = irad.callback(np.cumsum, np.zeros(3))
TABLE = np.linspace(-1.0, 1.0, 6)


def logistic(w: Any, x: Any, y: Any) -> Any:
    return np.mean(np.log1p(np.exp(-y * (x @ w)))) + 0.1 * np.sum(w * w)


def pendulum(y: Any, p: Any) -> Any:
    """A loop of known length: its tape has a known length too."""
    for _ in range(100):
        y = y + 0.01 * np.array([y[1], -p * np.sin(y[0])])
    return np.sum(y * y)


def until(x: Any) -> Any:
    """A loop of a length that data decides; the backward keeps every state."""
    k = 0
    while np.sum(x * x) < 1e3:
        x = x * 1.1 + np.sin(x) ** 2
        k += 1
    return np.sum(np.sin(x) * x)


def perceptron(params: Any, x: Any, labels: Any) -> Any:
    h = np.tanh(x @ params["w1"] + params["b1"])
    z = h @ params["w2"]
    z = z - np.max(z, axis=1, keepdims=True)
    return -np.mean((z - np.log(np.sum(np.exp(z), axis=1, keepdims=True)))[np.arange(len(x)), labels])


def single(x: Any, k: Any) -> Any:
    """Single precision, integers, several results, a captured array."""
    if k < 0:
        raise ValueError(f"k is {k}, x[1] {x[1]:.3f}")
    return {"a": np.float32(2.0) * x + TABLE.astype(np.float32), "n": k * 3, "flag": x[0] > x[1], "x": x}


def in_place(x: Any, i: Any) -> Any:
    """An argument changes."""
    x[i] = 7.0
    x[1:] += x[:-1]
    return np.sum(x)


def recursive(x: Any, n: Any) -> Any:
    return x if n < 1 else np.sin(recursive(x * 1.1, n - 1)) * x


def solved(a: Any, b: Any) -> Any:
    return np.sum(np.linalg.solve(a, b) ** 2)


def ordered(x: Any) -> Any:
    """Sorting works in memory beside its operands."""
    return np.sum(np.sort(x) * np.arange(len(x))) + np.median(x)


def rotated(z: Any, a: Any) -> Any:
    return np.sum(np.abs(z * np.exp(1j * a)) ** 2), z * a


def calls_back(x: Any) -> Any:
    return np.sum(HOST(x))


def special(x: Any) -> Any:
    return scipy.special.spence(x)


STATE = {"calls": 0.0}


def keeps(x: Any) -> Any:
    STATE["calls"] = STATE["calls"] + x
    return x


def some(x: Any) -> Any:
    return x[x > 0]


def squared(x: Any) -> Any:
    return x @ x.T


def awkward(double: Any, workspace: Any, x: Any, x_1: Any, c: Any) -> Any:
    """Names that C has for other things, and some that are met twice."""
    return {"int": double + workspace, "*/ #": x[0] + x[1] * x_1 + c["x_1"], "text": "*/"}
