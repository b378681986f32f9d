"""k-means: the sum of squared distances to the closest centroid, and a Newton step on it."""

from __future__ import annotations

from typing import Any

import numpy as np

import irad


def cost(points: Any, centroids: Any) -> Any:
    """With arrays: points (n, d), centroids (k, d)."""
    difference = points[:, None, :] - centroids[None, :, :]
    return np.sum(np.min(np.sum(difference * difference, axis=2), axis=1))


def cost_loops(points: Any, centroids: Any) -> Any:
    """The same with loops."""
    total = 0.0
    for i in range(len(points)):
        closest = np.inf
        for c in range(len(centroids)):
            distance = 0.0
            for j in range(points.shape[1]):
                distance += (centroids[c, j] - points[i, j]) ** 2
            closest = min(closest, distance)
        total += closest
    return total


def derivatives(cost: Any, points: Any, centroids: Any) -> Any:
    """Gradient and diagonal of the Hessian, which is diagonal: its product with ones."""
    of_centroids = lambda c: cost(points, c)
    return irad.jvp(irad.grad(of_centroids), (centroids,), (np.ones_like(centroids),))


def direction(points: Any, centroids: Any) -> Any:
    """Gradient over Hessian diagonal, (k, d)."""
    g, h = derivatives(cost, points, centroids)
    return g / h


def direction_loops(points: Any, centroids: Any) -> Any:
    g, h = derivatives(cost_loops, points, centroids)
    return g / h


def generate(n: int, k: int, d: int, seed: int = 0) -> tuple[Any, ...]:
    """Points, the first k of which are centroids, a little moved."""
    r = np.random.default_rng(seed)
    points = r.normal(size=(n, d))
    return points, points[:k] + 0.01 * r.normal(size=(k, d))
