"""The memory plan, checked by running native code: memory is shared only where that is safe."""

from __future__ import annotations

import re

import numpy as np

import irad
from irad.core.ir import walk
from irad.core.text import parse
from irad.pipeline import optimise
from tests.support.agree import agree


def test_a_result_of_another_width_does_not_overwrite_an_operand_that_dies() -> None:
    def f(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a = np.exp(x)
        b = np.cumsum(a)  # keeps a in memory
        wide = (a * 10).astype(np.int64) + np.arange(len(x))
        narrow = np.sqrt(a)
        return wide * 2, np.cumsum(narrow) + b

    x = np.linspace(0, 1, 64, dtype=np.float32)
    for got, want in zip(irad.compile(f)(x), f(x)):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_an_elementwise_step_in_a_loop_works_in_place() -> None:
    def f(x: np.ndarray, n: int) -> np.ndarray:
        y = x * 1.0
        for _ in range(n):
            y = y * 1.5 + 1.0
        return y

    x = np.arange(100.0)
    c = irad.compile(f)
    np.testing.assert_array_equal(c(x, 5), f(x, 5))
    assert "copy" not in c.lower(x, 5).ir.split("for", 1)[1]


def test_a_sum_of_products_of_columns_is_added_to_where_it_lies() -> None:
    """The cotangent of a matrix in the backward of a Krylov space; beside it, in the same loop, that of a column is summed."""

    def f(a: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.float64:
        q = np.zeros((len(x), 7))
        q[:, 0] = x
        for k in range(6):
            q[:, k + 1] = a @ q[:, k]
        return np.sum(q * w)

    r = np.random.default_rng(0)
    a, x, w = r.standard_normal((90, 90)) / 9, r.standard_normal(90), r.standard_normal((90, 7))
    c = irad.compile(irad.grad(f, argnums=(0, 1)))
    ga, gx = c(a, x, w)
    xs = [x]
    for _ in range(6):
        xs.append(a @ xs[-1])
    ct, want = w[:, 6], np.zeros_like(a)
    for k in range(5, -1, -1):
        want += np.outer(ct, xs[k])
        ct = w[:, k] + a.T @ ct
    np.testing.assert_allclose(ga, want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gx, ct, rtol=1e-9, atol=1e-12)
    assert not re.search(r"f64\[90,90\]@\w+ = copy|swap", c.lower(a, x, w).ir)


def test_the_cotangent_of_weights_is_added_to_row_by_row() -> None:
    """The same in the backward of a recurrent network, whose loop goes row by row: there is no second buffer."""

    def f(a: np.ndarray, x: np.ndarray) -> np.float64:
        for _ in range(6):
            x = np.tanh(a @ x)
        return np.sum(x * x)

    r = np.random.default_rng(0)
    for n in (5, 64, 90):
        a, x = r.standard_normal((n, n)) / 3, r.standard_normal(n)
        c = irad.compile(irad.grad(f, argnums=(0, 1)))
        ga, gx = c(a, x)
        xs = [x]
        for _ in range(6):
            xs.append(np.tanh(a @ xs[-1]))
        ct, want = 2 * xs[-1], np.zeros_like(a)
        for k in range(5, -1, -1):
            ct = ct * (1 - xs[k + 1] ** 2)
            want += np.outer(ct, xs[k])
            ct = a.T @ ct
        np.testing.assert_allclose(ga, want, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(gx, ct, rtol=1e-9, atol=1e-12)
    ir = c.lower(a, x).ir
    assert "f64[90,90]@r0 = empty" in ir and not re.search(r"f64\[90,90\]@\w+ = copy|swap", ir)


def test_softmax_cross_entropy_step() -> None:
    """Labels, maxima and their positions of other widths live beside the logits; all in one arena."""
    from irad.train import logistic, logistic_by_hand, make_step

    r = np.random.default_rng(0)
    params = {"W": r.standard_normal((64, 10)).astype(np.float32), "b": r.standard_normal(10).astype(np.float32)}
    X, y = r.random((64, 64)).astype(np.float32), r.integers(0, 10, 64)
    loss, new = make_step(logistic)(params, X, y)
    want, by_hand = logistic_by_hand(params, X, y)
    np.testing.assert_allclose(loss, want, rtol=1e-5)
    for k in params:
        np.testing.assert_allclose(new[k], by_hand[k], rtol=1e-4, atol=1e-6)


def test_earlier_results_and_arguments_are_never_overwritten() -> None:
    c = irad.compile(lambda x: (x + 1, x * 2))
    x = np.arange(1000.0)
    first = c(x)
    kept = [r.copy() for r in first]
    for _ in range(5):
        c(x + 1)
    for r, k in zip(first, kept):
        np.testing.assert_array_equal(r, k)
    np.testing.assert_array_equal(x, np.arange(1000.0))


def test_buffers_that_swap_keep_their_memory_for_themselves() -> None:
    """After a loop of an odd number of trips their names stand for each other's memory; a smaller array that followed in one
    of the two overlapped what the other name stood for."""
    text = """
func @f(%x: f64[8,8], %n: i64, %m: i64) -> f64[8,8] {
  %out: f64[8,8] = for %n, %x body { |%i: i64, %u: f64[8,8]|
    %v: f64[8,8] = for %m, %u body { |%j: i64, %w: f64[8,8]|
      %up: f64[6,8] = index[spec=(2:6,0:8)] %w
      %down: f64[6,8] = index[spec=(0:6,0:8)] %w
      %s: f64[6,8] = add %up, %down
      %y: f64[8,8] = update_add[spec=(1:6,0:8)] %w, %s
      yield %y
    }
    %a: f64[6,8] = index[spec=(0:6,0:8)] %v
    %b: f64[6,8] = cumsum[axis=0, reverse=false, exclusive=false] %a
    %c: f64[6,8] = cumsum[axis=1, reverse=false, exclusive=false] %b
    %d: f64[6,8] = add %b, %c
    %top: f64[2,8] = index[spec=(0:2,0:8)] %c
    %e: f64[8,8] = concat[axis=0] %d, %top
    yield %e
  }
  return %out
}
"""
    planned = optimise(parse(text))["f"]
    arrays = {v for n in walk(planned) for v in n.outputs if v.at.startswith("a") and v.type.static}
    spans = {v.at: (int(v.at[1:]), int(v.at[1:]) + v.type.size * v.type.numpy.itemsize) for v in arrays}
    loops = [n for n in walk(planned) if "swap" in n.attrs]
    assert loops
    for at in {v.at for n in loops for k in n.attrs["swap"][0] for v in [n.outputs[k]]}:
        lo, hi = int(at[1:]), int(at[1:]) + 8 * 64
        assert all(b <= lo or hi <= a for name, (a, b) in spans.items() if name != at)
    x = np.random.default_rng(0).uniform(size=(8, 8))
    for m in (1, 2, 3):
        agree(parse(text), x, 4, m)
