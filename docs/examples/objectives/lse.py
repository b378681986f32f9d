"""The logarithm of a sum of exponentials, with the maximum subtracted."""

from __future__ import annotations

from typing import Any

import numpy as np


def logsumexp(x: Any) -> Any:
    """With arrays."""
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


def logsumexp_loops(x: Any) -> Any:
    """The same with loops."""
    m = x[0]
    for i in range(1, len(x)):
        m = max(m, x[i])
    total = 0.0
    for i in range(len(x)):
        total += np.exp(x[i] - m)
    return m + np.log(total)


def generate(n: int, seed: int = 0) -> tuple[Any, ...]:
    return (np.random.default_rng(seed).normal(size=n),)
