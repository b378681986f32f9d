"""A stack of LSTM layers with diagonal weights, and its loss on a sequence.

Layer i has the rows 2i (weights) and 2i + 1 (biases) of `main`, of four blocks each: forget, in, out, change.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def layer(w: Any, v: Any, h: Any, cell: Any, x: Any) -> Any:
    """The next (h, cell) of a layer of b numbers."""
    b = len(h)
    forget = sigmoid(x * w[:b] + v[:b])
    taken = sigmoid(h * w[b : 2 * b] + v[b : 2 * b])
    out = sigmoid(x * w[2 * b : 3 * b] + v[2 * b : 3 * b])
    change = np.tanh(h * w[3 * b :] + v[3 * b :])
    cell = cell * forget + taken * change
    return out * np.tanh(cell), cell


def loss(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """With arrays: main (2 l, 4 b), extra (3, b), state (2 l, b), sequence (c, b)."""
    c, b = sequence.shape
    state = state.copy()
    total = 0.0
    for t in range(c - 1):
        x = sequence[t] * extra[0]
        for i in range(len(main) // 2):
            h, cell = layer(main[2 * i], main[2 * i + 1], state[2 * i], state[2 * i + 1], x)
            state[2 * i], state[2 * i + 1] = h, cell
            x = h
        y = x * extra[1] + extra[2]
        y = y - np.log(np.sum(np.exp(y)) + 2.0)
        total += np.sum(sequence[t + 1] * y)
    return -total / ((c - 1) * b)


def loss_loops(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """The same, number by number."""
    c, b = sequence.shape
    state = state.copy()
    total = 0.0
    for t in range(c - 1):
        x = np.empty(b)
        for j in range(b):
            x[j] = sequence[t, j] * extra[0, j]
        for i in range(len(main) // 2):
            w, v = main[2 * i], main[2 * i + 1]
            for j in range(b):
                h = state[2 * i, j]
                forget = sigmoid(x[j] * w[j] + v[j])
                taken = sigmoid(h * w[b + j] + v[b + j])
                out = sigmoid(x[j] * w[2 * b + j] + v[2 * b + j])
                change = np.tanh(h * w[3 * b + j] + v[3 * b + j])
                cell = state[2 * i + 1, j] * forget + taken * change
                state[2 * i + 1, j] = cell
                state[2 * i, j] = out * np.tanh(cell)
                x[j] = state[2 * i, j]
        y = np.empty(b)
        exps = 0.0
        for j in range(b):
            y[j] = x[j] * extra[1, j] + extra[2, j]
            exps += np.exp(y[j])
        for j in range(b):
            total += sequence[t + 1, j] * (y[j] - np.log(exps + 2.0))
    return -total / ((c - 1) * b)


def generate(layers: int, c: int, b: int = 14, seed: int = 0) -> tuple[Any, ...]:
    r = np.random.default_rng(seed)
    main, extra, state = r.normal(size=(2 * layers, 4 * b)), r.normal(size=(3, b)), r.normal(size=(2 * layers, b))
    return main, extra, state, np.eye(b)[r.integers(b, size=c)]
