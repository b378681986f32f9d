"""Logistic regression with a graph made by hand (irad.graph), trained sample by sample.

    python docs/examples/logistic_graph.py [boundary.svg]

Two clouds of points in the plane, 100 in all; 300 passes of stochastic gradient descent at rate 0.01. Prints the loss of each
50th pass and the accuracy, and draws points and decision boundary to a file (needs matplotlib: pip install 'irad[plot]').
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from irad.graph import Executor, Variable, exp, gradients, log, reduce_sum

POINTS, ITERATIONS, RATE = 100, 300, 0.01


def clouds(n: int, seed: int = 0) -> tuple[Any, Any]:
    """n points (x, y, 1) around two centres, and their labels, 0.0 and 1.0."""
    r = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    centres = np.where(labels[:, None] == 1, (1.5, 1.0), (-1.0, -0.5))
    points = centres + r.normal(scale=0.9, size=(n, 2))
    return np.column_stack([points, np.ones(n)]), labels.astype(float)


def train(X: Any, Y: Any, iterations: int, rate: float = RATE) -> tuple[Any, list[float]]:
    """Weights (3,) after `iterations` passes over the points, and the mean loss in each pass."""
    x, y, w = Variable(name="x"), Variable(name="y"), Variable(name="w")
    p = 1 / (1 + exp(-reduce_sum(w * x)))
    loss = -(y * log(p)) - (1 - y) * log(1 - p)
    (grad_w,) = gradients(loss, [w])
    executor = Executor([loss, grad_w])
    weights, history = np.ones(3), []
    for _ in range(iterations):
        total = 0.0
        for point, label in zip(X, Y):
            loss_value, grad_value = executor.run(feed_dict={x: point, y: label, w: weights})
            weights = weights - rate * grad_value
            total += loss_value
        history.append(total / len(Y))
    return weights, history


def accuracy(weights: Any, X: Any, Y: Any) -> float:
    """Share of points on their side of the boundary."""
    return float(np.mean((X @ weights > 0) == (Y == 1)))


def draw(weights: Any, X: Any, Y: Any, path: str) -> None:
    """Points and decision boundary to an image file, of the kind that the name's ending says."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    fig, ax = plt.subplots(figsize=(5, 4))
    for label, colour in ((0, "tab:blue"), (1, "tab:orange")):
        ax.scatter(*X[Y == label, :2].T, s=14, color=colour, label=f"class {label}")
    ax.axline((0, -weights[2] / weights[1]), slope=-weights[0] / weights[1], color="black", label="p = 1/2")
    ax.set_ylim(X[:, 1].min() - 0.5, X[:, 1].max() + 0.5)
    ax.legend()
    fig.savefig(path)
    plt.close(fig)


def main(path: str = "boundary.svg") -> int:
    """Train, report, draw. Returns 1 if nothing can be drawn."""
    X, Y = clouds(POINTS)
    start = time.perf_counter()
    weights, history = train(X, Y, ITERATIONS)
    for k in range(0, ITERATIONS, 50):
        print(f"pass {k + 1:3}: mean loss {history[k]:.4f}")
    print(f"pass {ITERATIONS:3}: mean loss {history[-1]:.4f}, accuracy {accuracy(weights, X, Y):.0%}")
    print(f"{ITERATIONS * POINTS} runs of the graph in {time.perf_counter() - start:.2f} s")
    try:
        draw(weights, X, Y, path)
    except ImportError:
        print("nothing drawn: pip install 'irad[plot]'", file=sys.stderr)
        return 1
    print(f"boundary drawn to {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
