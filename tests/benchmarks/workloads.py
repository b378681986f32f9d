"""What is timed: plain NumPy functions, their inputs, and the same with a hand-written gradient.

`by_hand(*args)` returns (value, gradient by each argument in `wrt`) in the NumPy that one would write for it; the runner checks
every peer against it. Those marked `loops` are also what Numba gets: it has no gradients of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.benchmarks import by_hand


@dataclass(frozen=True)
class Workload:
    """`make(r, **case)`: the arguments of `f`, for each of the named `cases`. `rate`: return arguments `wrt` after a step of
    gradient descent instead of gradients. `array`: written in functions that JAX and PyTorch have under the same names.
    """

    f: Callable[..., Any]
    by_hand: Callable[..., Any]
    make: Callable[..., tuple[Any, ...]]
    wrt: tuple[int, ...]
    cases: dict[str, dict[str, Any]]
    rate: float | None = None
    array: bool = False
    loops: bool = False
    tolerance: float = 1e-9
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.f.__name__)


def chain(x: Any) -> Any:
    """Some twenty elementwise operations."""
    s = np.sin(x) * np.exp(-0.5 * x)
    t = np.tanh(s + x) / (1 + x * x)
    u = np.log(1 + t * t) + np.sqrt(x + 0.25)
    v = np.cos(u * s) - u / (2 + t)
    return np.sum(v * v + s * t)


def logistic(w: Any, b: Any, X: Any, y: Any) -> Any:
    """Log-loss of logistic regression."""
    z = X @ w + b
    return np.mean(np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))) - y * z)


def heat(u: Any, target: Any, steps: int) -> Any:
    """Explicit heat equation on a rod, in place, and the distance to a target."""
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum((u - target) ** 2)


def phases(u: Any, target: Any, steps: int) -> Any:
    """The equation of Allen and Cahn on a plate with a fixed edge: a stencil that is not linear."""
    for _ in range(steps):
        c = u[1:-1, 1:-1]
        u[1:-1, 1:-1] = c + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * c) + 0.05 * c * (1 - c * c)
    return np.sum((u - target) ** 2)


def gauss_seidel(a: Any, sweeps: int) -> Any:
    """Sweeps of the five-point mean over a plate, each point with its neighbours' newest values."""
    n, m = a.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return np.sum(a * a)


def logistic_map(x: Any, r: Any, n: int) -> Any:
    """n steps of x -> r x (1 - x)."""
    for _ in range(n):
        x = r * x * (1 - x)
    return x


def hunters_and_prey(y: Any, p: Any) -> Any:
    """The right-hand side of Lotka and Volterra."""
    return np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])


def ode(y: Any, p: Any, steps: int) -> Any:
    """Classical Runge-Kutta over 10 units of time."""
    h = 10.0 / steps
    for _ in range(steps):
        k1 = hunters_and_prey(y, p)
        k2 = hunters_and_prey(y + 0.5 * h * k1, p)
        k3 = hunters_and_prey(y + 0.5 * h * k2, p)
        k4 = hunters_and_prey(y + h * k3, p)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.sum(y * y)


def mlp(W1: Any, b1: Any, W2: Any, b2: Any, X: Any, y: Any) -> Any:
    """Cross-entropy of a perceptron with one hidden layer."""
    z = np.maximum(X @ W1 + b1, 0.0) @ W2 + b2
    z = z - np.max(z, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(len(y)), y])


def attention(Wq: Any, Wk: Any, Wv: Any, x: Any) -> Any:
    """One head of attention over a sequence."""
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    s = q @ k.T * 0.125
    e = np.exp(s - np.max(s, axis=1, keepdims=True))
    o = (e / np.sum(e, axis=1, keepdims=True)) @ v
    return np.mean(o * o)


def lstm(W: Any, U: Any, b: Any, X: Any) -> Any:
    """A layer of long short-term memory over X (time, batch, features)."""
    n = U.shape[0]
    h = np.zeros((X.shape[1], n), X.dtype)
    c = np.zeros((X.shape[1], n), X.dtype)
    for t in range(X.shape[0]):
        z = X[t] @ W + h @ U + b
        s = 1 / (1 + np.exp(-z[:, : 3 * n]))
        c = s[:, n : 2 * n] * c + s[:, :n] * np.tanh(z[:, 3 * n :])
        h = s[:, 2 * n :] * np.tanh(c)
    return np.mean(h * h)


def _dense(r: Any, *shape: int) -> Any:
    return (r.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


def _logistic(r: Any, n: int, d: int) -> tuple[Any, ...]:
    X, w = r.standard_normal((n, d)), r.standard_normal(d)
    return 0.3 * w, 0.1, X, (X @ w + r.standard_normal(n) > 0).astype(float)


def _mlp(r: Any, batch: int) -> tuple[Any, ...]:
    layers = _dense(r, 784, 256), np.zeros(256, np.float32), _dense(r, 256, 10), np.zeros(10, np.float32)
    return *layers, r.standard_normal((batch, 784)).astype(np.float32), r.integers(0, 10, batch)


def _attention(r: Any, t: int, d: int) -> tuple[Any, ...]:
    return *(_dense(r, d, d) for _ in range(3)), r.standard_normal((t, d)).astype(np.float32)


def _lstm(r: Any, t: int, batch: int, d: int) -> tuple[Any, ...]:
    x = r.standard_normal((t, batch, d)).astype(np.float32)
    return _dense(r, d, 4 * d), _dense(r, d, 4 * d), np.zeros(4 * d, np.float32), x


WORKLOADS = {
    w.name: w
    for w in (
        Workload(
            chain, by_hand.chain, lambda r, n: (r.uniform(0.1, 2, n),), (0,),
            {"n=1e2": {"n": 100}, "n=1e4": {"n": 10_000}, "n=1e6": {"n": 1_000_000}}, array=True, loops=True,
        ),
        Workload(
            logistic, by_hand.logistic, _logistic, (0, 1),
            {"100 x 3": {"n": 100, "d": 3}, "20,000 x 100": {"n": 20_000, "d": 100}}, array=True, loops=True,
        ),
        Workload(
            heat, by_hand.heat, lambda r, n, steps: (r.standard_normal(n), r.standard_normal(n), steps), (0,),
            {"1,000 points, 1,000 steps": {"n": 1000, "steps": 1000}}, loops=True,
        ),
        Workload(
            phases, by_hand.phases, lambda r, n, steps: (r.standard_normal((n, n)), r.standard_normal((n, n)), steps), (0,),
            {"128 x 128, 100 steps": {"n": 128, "steps": 100}}, loops=True,
        ),
        Workload(
            gauss_seidel, by_hand.gauss_seidel, lambda r, n, sweeps: (r.standard_normal((n, n)), sweeps), (0,),
            {"40 x 40, 10 sweeps": {"n": 40, "sweeps": 10}}, loops=True,
        ),
        Workload(
            logistic_map, by_hand.logistic_map, lambda r, n: (0.3, 3.5, n), (0, 1),
            {"1,000 steps": {"n": 1000}, "100,000 steps": {"n": 100_000}}, loops=True,
        ),
        Workload(
            ode, by_hand.ode, lambda r, steps: (np.array([1.0, 0.5]), np.array([1.1, 0.4, 0.1, 0.4]), steps), (0, 1),
            {"1,000 steps": {"steps": 1000}}, loops=True,
        ),
        Workload(
            mlp, by_hand.mlp, _mlp, (0, 1, 2, 3), {"batch 64, one step": {"batch": 64}}, rate=0.1, array=True, tolerance=1e-4
        ),
        Workload(
            attention, by_hand.attention, _attention, (0, 1, 2), {"128 x 64": {"t": 128, "d": 64}}, array=True, tolerance=1e-4
        ),
        Workload(
            lstm, by_hand.lstm, _lstm, (0, 1, 2), {"50 steps, 16 x 64": {"t": 50, "batch": 16, "d": 64}}, array=True,
            tolerance=1e-4,
        ),
    )
}  # fmt: skip
