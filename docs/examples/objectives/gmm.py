"""Gaussian mixture with a Wishart prior: the log-posterior, by the logarithms of the weights, the means and inverse covariances.

Component k has the lower triangular matrix Q_k with diagonal exp(q_k) and, below it, the entries of l_k, column by column.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def logsumexp(x: Any) -> Any:
    """Along the last axis."""
    m = np.max(x, axis=-1, keepdims=True)
    return m[..., 0] + np.log(np.sum(np.exp(x - m), axis=-1))


def wishart(q: Any, l: Any, gamma: float, m: int) -> Any:
    """The logarithm of the prior of all components, with its constant."""
    k, d = q.shape
    nw = d + m + 1
    log_gamma = d * (d - 1) / 4 * math.log(math.pi) + sum([math.lgamma(nw / 2 - j / 2) for j in range(d)])
    constant = nw * d * math.log(gamma / math.sqrt(2)) - log_gamma
    return k * constant - gamma**2 / 2 * (np.sum(np.exp(q) ** 2) + np.sum(l**2)) + m * np.sum(q)


def objective(alpha: Any, mu: Any, q: Any, l: Any, x: Any, gamma: float, m: int) -> Any:
    """With arrays. alpha (k,), mu and q (k, d), l (k, d (d - 1) / 2), x (n, d). All matrices at once are one product."""
    n, d = x.shape
    k = len(alpha)
    column, row = np.triu_indices(d, 1)  # of the strictly lower part, column by column
    Q = np.zeros((k, d, d))
    Q[:, np.arange(d), np.arange(d)] = np.exp(q)
    Q[:, row, column] = l
    centres = np.sum(Q * mu[:, None, :], axis=2)
    z = x @ Q.reshape(k * d, d).T - centres.reshape(k * d)
    b = alpha + np.sum(q, axis=1) - 0.5 * np.sum(z.reshape(n, k, d) ** 2, axis=2)
    return -n * d / 2 * math.log(2 * math.pi) + np.sum(logsumexp(b)) - n * logsumexp(alpha) + wishart(q, l, gamma, m)


def objective_loops(alpha: Any, mu: Any, q: Any, l: Any, x: Any, gamma: float, m: int) -> Any:
    """The same with loops over points, components and rows of the matrices."""
    n, d = x.shape
    k = len(alpha)
    total = 0.0
    for i in range(n):
        b = np.empty(k)
        for c in range(k):
            y = x[i] - mu[c]
            z = np.exp(q[c]) * y
            at = 0
            for j in range(d - 1):
                z[j + 1 :] += l[c, at : at + d - 1 - j] * y[j]
                at += d - 1 - j
            b[c] = alpha[c] + np.sum(q[c]) - 0.5 * np.sum(z * z)
        total += logsumexp(b)
    return -n * d / 2 * math.log(2 * math.pi) + total - n * logsumexp(alpha) + wishart(q, l, gamma, m)


def generate(n: int, d: int, k: int, seed: int = 0) -> tuple[Any, ...]:
    """Arguments of `objective`."""
    r = np.random.default_rng(seed)
    x = r.normal(size=(n, d))
    alpha, mu, q = r.normal(size=k), r.uniform(size=(k, d)), r.normal(size=(k, d)) * 0.5
    return alpha, mu, q, r.normal(size=(k, d * (d - 1) // 2)) / math.sqrt(d), x, 1.0, 0
