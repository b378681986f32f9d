"""The main job: train logistic regression and a three-layer perceptron on handwritten digits, one native step each.

A step is a plain NumPy function that computes the loss, asks `irad.value_and_grad` for its gradient and returns the
updated parameters; irad compiles forward, backward and update into one native function. Data: the 1,797 digits of
scikit-learn (Alpaydin and Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import irad

RATE, BATCH = 0.1, 64
_INSTALL = "pip install scikit-learn rich (the extra `train` of irad)"


def cross_entropy(z: Any, y: Any) -> Any:
    """Mean cross-entropy of logits z (n, classes) against labels y (n,)."""
    z = z - np.max(z, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(len(y)), y])


def logistic(params: Any, X: Any, y: Any) -> Any:
    """Loss of multinomial logistic regression."""
    return cross_entropy(X @ params["W"] + params["b"], y)


def perceptron(params: Any, X: Any, y: Any) -> Any:
    """Loss of a perceptron with two hidden layers."""
    h = np.maximum(X @ params["W1"] + params["b1"], 0)
    h = np.maximum(h @ params["W2"] + params["b2"], 0)
    return cross_entropy(h @ params["W3"] + params["b3"], y)


def make_step(loss: Callable[..., Any]) -> Callable[..., Any]:
    """One step of gradient descent on `loss`, compiled whole: (params, X, y) -> (loss, new params)."""

    @irad.compile(threads=1)  # arrays of this size are not worth more
    def step(params: Any, X: Any, y: Any) -> Any:
        value, grads = irad.value_and_grad(loss)(params, X, y)
        return value, {k: params[k] - RATE * grads[k] for k in params}

    return step


# ---- the same by hand, in NumPy --------------------------------------------------------------------------------


def _softmax_loss(z: Any, y: Any) -> tuple[Any, Any]:
    n = np.arange(len(y))
    z = z - z.max(1, keepdims=True)
    e = np.exp(z)
    s = e.sum(1, keepdims=True)
    d = e / s
    d[n, y] -= 1
    return np.mean(np.log(s[:, 0]) - z[n, y]), d / len(y)


def logistic_by_hand(params: Any, X: Any, y: Any) -> Any:
    """The step of logistic regression with a hand-written gradient."""
    value, d = _softmax_loss(X @ params["W"] + params["b"], y)
    return value, {"W": params["W"] - RATE * (X.T @ d), "b": params["b"] - RATE * d.sum(0)}


def perceptron_by_hand(params: Any, X: Any, y: Any) -> Any:
    """The step of the perceptron with a hand-written gradient."""
    a1 = np.maximum(X @ params["W1"] + params["b1"], 0)
    a2 = np.maximum(a1 @ params["W2"] + params["b2"], 0)
    value, d3 = _softmax_loss(a2 @ params["W3"] + params["b3"], y)
    d2 = (d3 @ params["W3"].T) * (a2 > 0)
    d1 = (d2 @ params["W2"].T) * (a1 > 0)
    grads = {"W1": X.T @ d1, "b1": d1.sum(0), "W2": a1.T @ d2, "b2": d2.sum(0), "W3": a2.T @ d3, "b3": d3.sum(0)}
    return value, {k: params[k] - RATE * grads[k] for k in params}


# ---- the job -----------------------------------------------------------------------------------------------------


def digits(seed: int = 0) -> tuple[Any, ...]:
    """Training images, labels, test images, labels: 1,437 and 360 of 64 pixels in [0, 1], float32.

    Raises ImportError with a hint if scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_digits  # an extra of the package
    except ImportError as e:
        raise ImportError(f"the digits come with scikit-learn; {_INSTALL}") from e
    data = load_digits()
    order = np.random.default_rng(seed).permutation(len(data.target))
    X, y = (data.data[order] / 16).astype(np.float32), data.target[order].astype(np.int64)
    return X[:1437], y[:1437], X[1437:], y[1437:]


def initial(sizes: tuple[int, ...], seed: int = 1) -> dict[str, Any]:
    """Parameters of dense layers, float32: weights normal with standard deviation sqrt(2/inputs), biases 0."""
    r = np.random.default_rng(seed)
    if len(sizes) == 2:
        return {"W": np.zeros(sizes, np.float32), "b": np.zeros(sizes[1], np.float32)}
    params = {}
    for k, (i, o) in enumerate(zip(sizes, sizes[1:]), 1):
        params[f"W{k}"] = (r.standard_normal((i, o)) * np.sqrt(2 / i)).astype(np.float32)
        params[f"b{k}"] = np.zeros(o, np.float32)
    return params


def train(
    step: Callable[..., Any], params: Any, X: Any, y: Any, epochs: int, report: Callable[[float], None], seed: int = 2
) -> Any:
    """`epochs` passes over the data in batches; `report(loss)` after each step. Returns the trained parameters."""
    r = np.random.default_rng(seed)
    for _ in range(epochs):
        order = r.permutation(len(y))
        for k in range(0, len(y) - BATCH + 1, BATCH):
            pick = order[k : k + BATCH]
            loss, params = step(params, X[pick], y[pick])
            report(float(loss))
    return params


def accuracy(params: Any, X: Any, y: Any) -> float:
    """Share of images classified right."""
    h, k = X, 1
    while f"W{k}" in params:
        h = h @ params[f"W{k}"] + params[f"b{k}"]
        k += 1
        h = np.maximum(h, 0) if f"W{k}" in params else h
    z = h if k > 1 else X @ params["W"] + params["b"]
    return float(np.mean(np.argmax(z, axis=1) == y))


ROUNDS, STEPS = 100, 3  # of the measurement


def seconds_per_step(steps: Sequence[Callable[..., Any]], params: Any, X: Any, y: Any) -> list[float]:
    """The time of one step of each, in seconds: the minimum over rounds in which they take turns, so that all meet the same machine."""
    best = [float("inf")] * len(steps)
    for _ in range(ROUNDS):
        for k, step in enumerate(steps):
            t = time.perf_counter()
            for _ in range(STEPS):
                step(params, X, y)
            best[k] = min(best[k], (time.perf_counter() - t) / STEPS)
    return best


def gradient_error(loss: Callable[..., Any], params: Any, X: Any, y: Any) -> float:
    """Largest relative difference between irad's gradient and central differences (float64), along random directions."""
    wide = {k: v.astype(np.float64) for k, v in params.items()}
    X = X.astype(np.float64)
    grads = irad.grad(loss)(wide, X, y)
    r, worst, h = np.random.default_rng(3), 0.0, 1e-6
    for _ in range(5):
        d = {k: r.standard_normal(v.shape) for k, v in wide.items()}
        hi, lo = (loss({k: wide[k] + s * h * d[k] for k in wide}, X, y) for s in (1, -1))
        exact = sum(np.sum(grads[k] * d[k]) for k in wide)
        worst = max(worst, abs((hi - lo) / (2 * h) - exact) / abs(exact))
    return worst


_WANTED, _ENOUGH = 0.95, 10  # the test accuracy that the perceptron reaches, after so many epochs at least


def main(epochs: int = 30, seed: int = 0) -> int:
    """Run the job and print what came out of it. Returns 1 if the perceptron is not right on 95 % of the test images after ten epochs
    or more, else 0. `seed`: of the split of the data, the initial weights and the order of the images."""
    try:
        from rich.console import Console  # an extra of the package
        from rich.table import Table  # an extra
        from threadpoolctl import threadpool_limits  # scikit-learn brings it
    except ImportError as e:
        raise ImportError(f"irad train needs {e.name}; {_INSTALL}") from e
    console = Console(width=min(Console().width, 100))
    X, y, X_test, y_test = digits(seed)
    console.print(f"{len(y)} digits to train on, {len(y_test)} to test, batches of {BATCH}, epochs: {epochs}, seed: {seed}")
    table = Table("model", *(f"{a}\n{b}" for a, b in (("test", "accuracy"), ("first", "step"), ("step,", "irad"), ("step,", "NumPy"),
                                                      ("gradient", "error"))))  # fmt: skip
    reached = 0.0
    for name, loss, hand, sizes in (
        ("logistic regression", logistic, logistic_by_hand, (64, 10)),
        ("perceptron 64-128-64-10", perceptron, perceptron_by_hand, (64, 128, 64, 10)),
    ):
        step, params = make_step(loss), initial(sizes, seed + 1)
        with threadpool_limits(1, user_api="blas"):
            t = time.perf_counter()
            step(params, X[:BATCH], y[:BATCH])
            first = time.perf_counter() - t
            params = _shown(console, name, step, params, X, y, epochs, seed)
            reached = accuracy(params, X_test, y_test)
            times = seconds_per_step((step, hand), params, X[:BATCH], y[:BATCH])
        error = gradient_error(loss, params, X[:BATCH], y[:BATCH])
        table.add_row(name, f"{reached:.1%}", f"{first * 1e3:.0f} ms", *(f"{t * 1e6:.0f} us" for t in times), f"{error:.0e}")
    console.print(table)
    console.print(
        "first step: with compilation, or loading from disk. step: forward, backward and update of one batch, the least of "
        f"{ROUNDS} rounds of {STEPS} steps taken in turns, each on one thread (irad's and that of NumPy's BLAS); NumPy's has "
        "gradients written by hand. gradient error: the largest relative difference from central differences along 5 directions.",
        style="dim",
    )
    return int(epochs >= _ENOUGH and reached <= _WANTED)


def _shown(console: Any, name: str, step: Any, params: Any, X: Any, y: Any, epochs: int, seed: int) -> Any:
    """`train`, with a bar that shows how far it is."""
    if not epochs:
        return params
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # an extra

    bar = BarColumn(bar_width=None)
    columns = (TextColumn("{task.description}"), bar, MofNCompleteColumn(), TextColumn("loss {task.fields[loss]:.4f}"))
    with Progress(*columns, TimeElapsedColumn(), console=console, expand=True) as progress:
        task = progress.add_task(name, total=epochs * (len(y) // BATCH), loss=float("nan"))
        return train(step, params, X, y, epochs, lambda loss: progress.update(task, advance=1, loss=loss), seed + 2)
