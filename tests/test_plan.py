"""The memory plan, checked by running native code: memory is shared only where that is safe."""

from __future__ import annotations

import numpy as np

import irad


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


def test_softmax_cross_entropy_step() -> None:
    """Labels, maxima and their positions of other widths live beside the logits; all in one arena."""
    from irad.train import digits_like, logistic, logistic_by_hand, make_step

    params, X, y = digits_like()
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
