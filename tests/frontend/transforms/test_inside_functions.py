"""Derivatives inside functions that are read: nested in each other, in loops and branches, of trees."""

from __future__ import annotations

import numpy as np
import pytest

from irad.call.conditions import Conditions
from irad.errors import IradError
from irad.frontend.trace import trace
from irad.frontend.transforms.transform import Transform, bind
from irad.passes.derivatives.expand import expand
from tests.support.as_called import assert_same, run


def grad(f, argnums=0, has_aux=False, mode=""):
    return Transform("grad", f, argnums, has_aux, mode)


def value_and_grad(f, argnums=0, has_aux=False, mode=""):
    return Transform("value_and_grad", f, argnums, has_aux, mode)


def jvp(f, primals, tangents):
    raise AssertionError("read, not called")


def vjp(f, *primals, has_aux=False):
    raise AssertionError("read, not called")


bind(jvp, "jvp")
bind(vjp, "vjp")

X = np.array([1.0, -2.0, 3.0])
M = np.array([[2.0, 1.0, 0.5], [0.0, 3.0, -1.0]])


def value(fn, *args, **kwargs):
    traced = trace(fn, args, kwargs)
    return run(traced.__class__(**{**vars(traced), "program": expand(traced.program)}), fn, args, kwargs)


def loss(w, x):
    return np.sum((x @ w) ** 2)


def test_grad_of_a_function():
    assert_same(value(lambda x: grad(lambda t: np.sum(t**3))(x), X), 3 * X**2)
    assert_same(value(grad(lambda t: np.sum(t * t)), X), 2 * X)
    assert_same(value(lambda t: grad(lambda s: s * s * s)(t), 2.0), 12.0)


def test_value_and_grad_by_several_arguments():
    v, (gw, gx) = value(lambda w, x: value_and_grad(loss, argnums=(0, -1))(w, x), X, M)
    assert_same(v, loss(X, M))
    assert_same(gw, 2 * M.T @ (M @ X), exact=False)
    assert_same(gx, 2 * np.outer(M @ X, X), exact=False)


def test_trees_keep_their_structure_and_dtypes():
    params = {"w": X.astype(np.float32), "b": (0.5, np.array(2.0)), "name": "p"}

    def f(p):
        return np.sum(p["w"] ** 2) + p["b"][0] ** 2 * p["b"][1]

    g = value(lambda p: grad(f)(p), params)
    assert g["name"] == "p" and type(g["b"][0]) is float and g["b"][0] == 2.0
    assert_same(g["w"], 2 * params["w"])
    assert_same(g["b"][1], np.array(0.25))


def test_integers_become_floats():
    assert_same(value(lambda k: grad(lambda t: np.sum(t**2))(k), np.array([2, -1])), np.array([4.0, -2.0]))


def test_aux():
    def f(x):
        y = x * 2
        return np.sum(y * y), {"y": y, "n": 3}

    g, aux = value(lambda x: grad(f, has_aux=True)(x), X)
    assert_same(g, 8 * X)
    assert_same(aux, {"y": 2 * X, "n": 3})


def test_nested():
    f = lambda x: x**4
    assert value(lambda t: grad(grad(f))(t), 2.0) == 48.0
    assert value(grad(grad(grad(f))), 2.0) == 48.0
    hvp = value(lambda x, v: jvp(grad(lambda y: np.sum(y**3)), (x,), (v,))[1], X, np.ones(3))
    assert_same(hvp, 6 * X)
    assert_same(value(Transform("hvp", lambda y: np.sum(y**3)), X, np.ones(3)), 6 * X)


def test_vjp_and_jvp():
    def both(x, v, c):
        out, pull = vjp(lambda y: (y * y, np.sum(y)), x)
        again, dot = jvp(lambda y: y * y, (x,), (v,))
        return out, pull((c, 1.0)), pull((2 * c, 0.0)), again, dot

    out, ct, ct2, again, dot = value(both, X, np.ones(3), X)
    assert_same(out, (X * X, X.sum()))
    assert_same(ct, (2 * X * X + 1,))
    assert_same(ct2, (4 * X * X,))
    assert_same(again, X * X)
    assert_same(dot, 2 * X)


@pytest.mark.parametrize("mode", ["forward", "reverse", ""])
def test_jacobian_and_hessian(mode):
    f = lambda x: np.stack([x[0] * x[1], x[2] ** 2])
    assert_same(value(Transform("jacobian", f, mode=mode), X), np.array([[-2.0, 1, 0], [0, 0, 6]]))
    g = lambda x: x[0] ** 2 * x[1] + x[2]
    assert_same(value(Transform("hessian", g, mode=mode), X), np.array([[-4.0, 2, 0], [2, 0, 0], [0, 0, 0]]))


def test_forward_gradient():
    v, g = value(value_and_grad(lambda w, x: loss(w, x), mode="forward"), X, M)
    assert_same(g, 2 * M.T @ (M @ X), exact=False)
    assert_same(v, loss(X, M))


def test_inside_loops_and_branches():
    def descend(x, n):
        g = grad(lambda y: np.sum((y - 1) ** 2))
        for _ in range(n):
            if x[0] > 100:
                x = x * 0
            x = x - 0.25 * g(x)
        return x

    want = X
    for _ in range(10):
        want = want - 0.5 * (want - 1)
    assert_same(value(descend, X, 10), want, exact=False)


def test_of_loops_branches_and_stores():
    def f(x):
        y = np.zeros(3)
        for i in range(3):
            if x[i] > 0:
                y[i] = x[i] ** 2
            else:
                y[i] = -x[i]
        x[0] = 0
        return np.sum(y) + x[0]

    x = X.copy()
    assert_same(value(lambda x: grad(f)(x), x), np.array([2.0, -1.0, 6.0]))
    assert_same(x, X)


def test_closures_are_constants_of_the_inner_and_active_in_the_outer():
    def outer(a):
        inner = grad(lambda t: np.sum(a * t * t))
        return np.sum(inner(a))

    assert_same(value(grad(outer), X), 4 * X)


def test_captured_transform_is_guarded():
    g = grad(lambda t: np.sum(t * t))

    def f(x):
        return g(x)

    traced = trace(f, (X,))
    assert Conditions(traced, (), 0).holds(f, (), ())
    g = grad(lambda t: np.sum(t * t), argnums=(0,))
    assert not Conditions(traced, (), 0).holds(f, (), ())


def test_misuse_is_explained():
    for fn, words in [
        (lambda x: grad(lambda t: t * 2)(x), "irad.vjp"),
        (lambda x: grad(lambda t: np.sum(t), argnums=1)(x), "out of range"),
        (lambda x: grad(lambda t: (np.sum(t), 1.0))(x), "one number"),
        (lambda x: grad(lambda t: int(np.sum(t)))(x), "one float"),
    ]:
        with pytest.raises(IradError, match=words):
            trace(fn, (X,))
