"""Rows that inner loops of a nest fold into start anew with each row: values and gradients of matrix programs of all sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.codegen.call.build import build
from irad.core.text import parse
from irad.core.verify import verify
from irad.passes.manager import run
from tests.support.matrix_programs import (
    attention,
    centred_layer,
    covariance,
    norm_layer,
    scaled_gram,
    softmax_layer,
    two_products,
)

SHAPES = [(40, 3), (8, 8), (9, 33), (1, 40), (3, 40), (7, 16), (16, 7), (2, 24)]  # around lanes and tiles


@pytest.mark.parametrize("check", ["none", "memory"])
@pytest.mark.parametrize("f", [softmax_layer, covariance, centred_layer, norm_layer, two_products, attention, scaled_gram])
def test_matrix_programs(f: Callable[[Any, Any], Any], check: str) -> None:
    """Against NumPy, the gradient against differences along one direction."""
    rng = np.random.default_rng(7)
    for n, k in SHAPES if check == "none" else SHAPES[:4]:
        x, w = rng.uniform(0, 1, (n, k)), rng.uniform(0, 1, (k, k))
        np.testing.assert_allclose(irad.compile(f, check=check)(x, w), f(x, w), rtol=1e-11, atol=1e-13)
        c = rng.uniform(-1, 1, f(x, w).shape)
        loss = lambda x, w: np.sum(f(x, w) * c)  # noqa: B023
        dx, dw = irad.grad(irad.compile(loss, check=check), (0, 1))(x, w)
        u, v, h = rng.uniform(-1, 1, x.shape), rng.uniform(-1, 1, w.shape), 1e-5
        want = (loss(x + h * u, w + h * v) - loss(x - h * u, w - h * v)) / (2 * h)
        got, size = np.sum(dx * u) + np.sum(dw * v), np.sum(abs(dx * u)) + np.sum(abs(dw * v))
        assert abs(got - want) <= 1e-6 * size + 1e-9


def test_stores_of_no_elements() -> None:
    def f(x: Any) -> Any:
        x[5:5] = 1.0
        x[7:7] += 1.0
        return x * 2.0

    def g(x: Any) -> Any:
        y = x * 1.0
        y[200:] = 3.0
        y[:0] *= 2.0
        y[3:3] -= y[4:4]
        return np.sum(y**2)

    for n in (200, 3, 0):
        np.testing.assert_array_equal(irad.compile(f)(np.ones(n)), 2 * np.ones(n))
        x = np.arange(float(n))
        np.testing.assert_array_equal(irad.grad(g)(x), 2 * x)


def test_recursion_over_an_array_without_elements() -> None:
    def f(a: Any, lo: int, hi: int) -> int:
        if lo >= hi:
            return 0
        a[lo] = a[lo] + a[hi]
        return 1 + f(a, lo + 1, hi)

    for n in (3, 1, 0):
        assert irad.compile(f)(np.zeros(n), 0, n - 1) == max(n - 1, 0)


PLACED = """
func @f(%x: f64[12], %A: f64[12,5], %i: i64, %q: i64[12]) -> f64[12] {
  %z: f64[12] = loop[extents=(10), outs=(store:(d1):unique1)] %x body { |%r: i64|
    %0: f64 = const[value=0.0]
    %s: f64 = loop[extents=(5), outs=(add:())] %0 body { |%j: i64|
      %e: f64 = load[map=(d0,d1)] %A, %r, %j
      yield %e
    }
    %t: f64 = OP %s
    %p: i64 = PLACE
    yield %t, %p
  }
  return %z
}"""


@pytest.mark.parametrize("op", ["neg", "exp"])
@pytest.mark.parametrize("place", ["add %i, %r", "load[map=(d0)] %q, %r"])
def test_what_a_nest_folds_is_stored_at_a_computed_place(op: str, place: str) -> None:
    """Places that are yielded beside the value count; `exp` makes the nest run in blocks of rows."""
    program = run(verify(parse(PLACED.replace("OP", op).replace("PLACE", place))), ["plan"])
    a, q = np.linspace(-1, 1, 60).reshape(12, 5), np.arange(12)[::-1].copy()
    (got,) = build(program).run([np.zeros(12), a, np.array(2), q])
    want, rows = np.zeros(12), a[:10].sum(axis=1)
    want[q[:10] if "load" in place else np.arange(2, 12)] = np.exp(rows) if op == "exp" else -rows
    np.testing.assert_allclose(got, want, rtol=1e-14)
