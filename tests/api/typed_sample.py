"""What type checkers know of functions that irad makes: checked by tests/api/test_typed.py, never run."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import irad


def loss(w: np.ndarray, scale: float = 1.0) -> float:
    return float(np.sum(w * scale))


@irad.compile
def decorated(x: float) -> float:
    return x * x


@irad.compile(threads=1, static="scale")
def with_options(w: np.ndarray, scale: float) -> float:
    return float(np.sum(w * scale))


w = np.ones(3)
c = irad.compile(loss)
assert_type(c(w, scale=2.0), float)
assert_type(decorated(2.0), float)
assert_type(with_options(w, 2.0), float)
assert_type(irad.value_and_grad(loss)(w), tuple[float, Any])
assert_type(c.value_and_grad(w), tuple[float, Any])
assert_type(irad.vmap(decorated)(2.0), float)
assert_type(irad.checkpoint(loss)(w), float)
c(w, out=np.zeros(3), accumulate=True)

decorated("text")  # error
c(w, scales=2.0)  # error
irad.grad(loss)(w, 1.0, 2.0)  # error
irad.compile(loss, thread=1)  # error
