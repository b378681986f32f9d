"""Functions that store into arrays they were given or have captured, under the transforms: what they store nobody else sees."""

from __future__ import annotations

import numpy as np

import irad

X = np.array([1.0, 2.0, 3.0])


def stores(x):
    x[0] = 5.0 * x[1]
    return x


def test_gradient_with_a_captured_work_array() -> None:
    buf = np.ones(3)

    def f(x):
        buf[0] = x[1] * 2
        return np.sum(x * buf)

    for _ in range(2):
        np.testing.assert_array_equal(irad.grad(f)(X), [4.0, 3.0, 1.0])
    np.testing.assert_array_equal(irad.compile(irad.grad(f))(X), [4.0, 3.0, 1.0])
    np.testing.assert_array_equal(irad.hessian(f)(X), [[0, 2, 0], [2, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(buf, np.ones(3))
    assert irad.compile(f)(X) == 4.0 + 2.0 + 3.0 and buf[0] == 4.0


def test_gradient_with_a_captured_work_array_stored_into_in_branches_and_loops() -> None:
    buf = np.ones(3)

    def f(x):
        for k in range(2):
            buf[k] += x[k]
        if x[0] > 0:
            buf[2] = x[0] * x[1]
        return np.sum(x * buf)

    # x0 * (1 + x0) + x1 * (1 + x1) + x2 * x0 * x1
    np.testing.assert_array_equal(irad.grad(f)(X), [1 + 2 + 6, 1 + 4 + 3, 2])


def test_linearize() -> None:
    x = X.copy()
    value, along = irad.linearize(stores, x)
    np.testing.assert_array_equal(value, [10, 2, 3])
    np.testing.assert_array_equal(along(np.array([1.0, 1.0, 0.0])), [5, 1, 0])
    np.testing.assert_array_equal(x, X)


def test_linearize_of_checked_stores_in_a_loop() -> None:
    where = np.array([2, 0, 1])

    def f(x, y):
        for _ in range(3):
            y[where] = y
            for j in range(3):
                x[j] += x[j - 1]
        return np.sum(x * y)

    value, along = irad.linearize(f, np.arange(3.0), np.arange(3.0) + 1)
    assert value == np.sum(run_down(np.arange(3.0)) * (np.arange(3.0) + 1))  # y turns around; NumPy 1 reads what it has stored
    assert along(np.zeros(3), np.ones(3)) == np.sum(run_down(np.arange(3.0)))


def run_down(x):
    for _ in range(3):
        for j in range(3):
            x[j] += x[j - 1]
    return x


def test_linearize_in_compiled_code_is_at_the_point_it_was_made() -> None:
    def f(x):
        w = 2 * x
        value, along = irad.linearize(lambda y: y * y * w, x)
        x[0] = w[1] = 100.0
        return along(np.ones(3)), value, irad.linearize(stores, x)[0], x * 1.0

    tangent, value, stored, kept = irad.compile(f)(X.copy())
    np.testing.assert_array_equal(tangent, 4 * X * X)
    np.testing.assert_array_equal(value, 2 * X**3)
    np.testing.assert_array_equal(stored, [10, 2, 3])
    np.testing.assert_array_equal(kept, [100, 2, 3])


def test_auxiliary_results() -> None:
    f = lambda x: (np.sum(stores(x)), x * 1.0)
    x = X.copy()
    value, pullback, aux = irad.vjp(f, x, has_aux=True)
    np.testing.assert_array_equal(aux, [10, 2, 3])
    np.testing.assert_array_equal(pullback(1.0)[0], [0, 6, 1])
    np.testing.assert_array_equal(x, X)
    gradient, aux = irad.compile(lambda x: irad.grad(f, has_aux=True)(x))(x)
    np.testing.assert_array_equal(gradient, [0, 6, 1])
    np.testing.assert_array_equal(aux, [10, 2, 3])
