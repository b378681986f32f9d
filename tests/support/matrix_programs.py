"""Matrix programs of machine learning and statistics, of (n, k) and (k, k): rows that are reduced, scaled and multiplied."""

from __future__ import annotations

from typing import Any

import numpy as np


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_layer(x: Any, w: Any) -> Any:
    return softmax(x) @ w + 1.0


def covariance(x: Any, w: Any) -> Any:
    d = x - x.mean(axis=1, keepdims=True)
    return d @ d.T / x.shape[1]


def centred_layer(x: Any, w: Any) -> Any:
    return np.tanh((x - np.mean(x, axis=0)) @ w)


def norm_layer(x: Any, w: Any) -> Any:
    d = x - x.mean(axis=1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 0.1) @ w


def two_products(x: Any, w: Any) -> Any:
    e = softmax(x)
    return e @ w + (e * e) @ (w + 1.0)


def attention(x: Any, w: Any) -> Any:
    return softmax(x @ w @ x.T) @ x + x


def scaled_gram(x: Any, w: Any) -> Any:
    g = x @ x.T
    return g / np.sqrt(np.sum(g * g, axis=1, keepdims=True) + 1.0) + np.zeros((x.shape[0], x.shape[0]))
