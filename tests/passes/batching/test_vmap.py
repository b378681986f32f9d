"""irad.vmap: every element of a batch as if the function were called for it alone; control flow may differ between elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad

RNG = np.random.default_rng(0)
N = 5
X, Y = RNG.normal(size=(N, 4)), RNG.normal(size=N)
K = np.array([3, 0, 2, 3, 1])
A = RNG.normal(size=(N, 3, 3)) + 3 * np.eye(3)
ROWS = RNG.normal(size=(N, 3))
W = RNG.normal(size=(4, 3))


def each(f, args, in_axes):
    """f for each element, one after the other, stacked."""
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    take = lambda a, axis, k: a if axis is None else np.array(np.take(a, k, axis))[()]
    outs = [f(*(take(a, axis, k) for a, axis in zip(args, axes))) for k in range(N)]
    if isinstance(outs[0], tuple):
        return tuple(np.stack(column) for column in zip(*outs))
    return np.stack(outs)


def same(f, *args, in_axes=0, rtol=1e-11):
    got, want = irad.vmap(f, in_axes)(*args), each(f, args, in_axes)
    for g, w in zip(*((got, want) if isinstance(want, tuple) else ((got,), (want,)))):
        np.testing.assert_allclose(g, w, rtol=rtol, atol=1e-12)
        assert g.dtype == w.dtype


# ---- ops ------------------------------------------------------------------------------------------------------------------


def stored(x, k):
    x = x.copy()
    x[k] = 7.0
    x[0] += x[k]
    return x


def added_at(x, k):
    np.add.at(x, np.array([0, 0, 1]), 2.0)
    return x * k


def rolled(x, k):
    return np.concatenate([x[1:], x[:1]]) * k


STRAIGHT = {
    "elementwise": (lambda x: np.sin(x) * 2 + x, (X,)),
    "numbers": (lambda a: a * a + 1, (Y,)),
    "sum": (lambda x: np.sum(x**2), (X,)),
    "reductions": (lambda x: np.max(x) * np.min(x) + np.prod(x) + np.mean(x), (X,)),
    "axis of a matrix": (lambda a: a.sum(axis=0) - a.max(axis=1), (A,)),
    "reshape and transpose": (lambda a: np.reshape(a.T, 9)[1:8], (A,)),
    "concatenate": (rolled, (X, K)),
    "stack of numbers": (lambda x: np.stack([x[0], x[1] * x[2]]), (X,)),
    "position": (lambda x, k: x[k], (X, K)),
    "row": (lambda a, k: a[k - 1], (A, K)),
    "column": (lambda a, k: a[:, k - 1] * a[k - 1], (A, K)),
    "gather": (lambda x, k: x[np.array([0, 2, 0])] * k, (X, K)),
    "gather of shared by batched": (lambda k: Y[k], (K,)),
    "store": (stored, (X, K)),
    "add.at": (added_at, (X.copy(), K)),
    "matmul": (lambda a, r: a @ r, (A, ROWS)),
    "matmul of matrices": (lambda a: a @ a.T, (A,)),
    "outer": (lambda r: np.outer(r, r), (ROWS,)),
    "cumsum": (lambda x: np.cumsum(x) + np.cumprod(x), (X,)),
    "sort": (lambda x: np.sort(x) + x[np.argsort(x)], (X,)),
    "argmax": (lambda x: x[np.argmax(x)] - x[np.argmin(x)], (X,)),
    "solve": (lambda a, r: np.linalg.solve(a, r), (A, ROWS)),
    "det": (lambda a: np.linalg.det(a), (A,)),
    "where": (lambda x: np.where(x > 0, x, -2 * x), (X,)),
    "tuple": (lambda x: (np.sum(x), x * 2), (X,)),
}


@pytest.mark.parametrize("name", STRAIGHT)
def test_ops(name):
    f, args = STRAIGHT[name]
    same(f, *args)


def test_shared_arguments_and_other_axes():
    same(lambda x, w: x @ w, X, W, in_axes=(0, None))
    same(lambda x, w: x @ w, np.ascontiguousarray(X.T), W, in_axes=(1, None))
    same(lambda w, x: x @ w, A, ROWS[0], in_axes=(0, None))
    same(lambda w, a: w @ a, ROWS[0], A, in_axes=(None, 0))
    got = irad.vmap(lambda x: x * 2, out_axes=1)(X)
    np.testing.assert_array_equal(got, X.T * 2)


def test_trees_in_and_out():
    got = irad.vmap(lambda d: {"s": d["a"] * d["b"][0], "c": 2.0}, in_axes=({"a": 0, "b": [None]},))({"a": X, "b": [3.0]})
    np.testing.assert_array_equal(got["s"], X * 3.0)
    np.testing.assert_array_equal(got["c"], np.full(N, 2.0))


def test_vmap_of_vmap():
    got = irad.vmap(lambda x: irad.vmap(lambda c: np.sum((c - x) ** 2))(X))(X)
    np.testing.assert_allclose(got, np.sum((X[:, None] - X[None]) ** 2, -1), rtol=1e-13)


# ---- control flow that differs -----------------------------------------------------------------------------------------------


def branch(x):
    return np.sum(x) if x[0] > 0 else np.prod(x)


def ragged(x, k):
    s = 1.0
    for i in range(k):
        s = s + x[i] * s + 1
    return s


def halved(a):
    n = 0
    while abs(a) > 0.1:
        a = a * 0.7
        n += 1
    return a, n


def collatz(n):
    c = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        c += 1
    return c


def nested(x, k):
    s = 1.0
    for i in range(k):
        j = 0
        while j < i + 1:
            if x[i] > 0:
                s = s * np.sin(x[i] + s)
            else:
                s = s - x[j] * s * s
            j += 1
    return s


def early(x):
    total = 0.0
    for v in x:
        if v < -0.5:
            break
        total += v * v
    return total


def recursive(n, x):
    if n <= 0:
        return x
    return recursive(n - 1, x) * np.cos(x) + n


def guarded(x, k):
    return x[k] if k < 4 else -1.0


CONTROL = {
    "branch": (branch, (X,)),
    "for": (ragged, (X, K)),
    "while": (halved, (Y,)),
    "integers": (collatz, (np.array([1, 7, 27, 6, 9]),)),
    "nested": (nested, (X, K)),
    "break": (early, (X,)),
    "recursion": (recursive, (K, Y)),
    "a position out of bounds in a branch not taken": (guarded, (X, np.array([0, 9, 3, 4, 2]))),
}


@pytest.mark.parametrize("name", CONTROL)
def test_control_flow(name):
    f, args = CONTROL[name]
    same(f, *args)


def test_an_exception_of_one_element_is_raised():
    def root(x):
        if x < 0:
            raise ValueError(f"negative: {x}")
        return np.sqrt(x)

    first = Y[Y < 0][0]
    with pytest.raises(ValueError, match=f"negative: {first!s}"):
        irad.vmap(root)(Y)
    np.testing.assert_allclose(irad.vmap(root)(Y * Y), np.abs(Y))


def test_index_errors_are_raised():
    with pytest.raises(IndexError):
        irad.vmap(lambda x, k: x[k])(X, np.array([0, 1, 4, 0, 0]))


# ---- with derivatives --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [branch, lambda x: np.sum(np.sin(x) * x), early], ids=["branch", "straight", "break"])
def test_vmap_of_grad(f):
    same(irad.grad(f), X, rtol=1e-9)


@pytest.mark.parametrize("f", [ragged, nested], ids=["for", "nested"])
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_vmap_of_grad_of_ragged_loops(f, mode):
    same(irad.grad(f, mode=mode), X, K, rtol=1e-9)


def test_vmap_of_hessian_of_ragged_loops():
    same(irad.hessian(nested), X, K, rtol=1e-8)


def test_vmap_of_grad_of_a_while_and_of_recursion():
    same(irad.grad(lambda a: halved(a)[0] ** 2, mode="reverse"), Y, rtol=1e-10)
    same(lambda n, x: irad.grad(recursive, argnums=1)(n, x), K, Y, rtol=1e-10)


def test_grad_of_vmap():
    got = irad.grad(lambda x: np.sum(irad.vmap(nested)(x, K)))(X)
    want = np.stack([irad.grad(nested)(x, int(k)) for x, k in zip(X, K)])
    np.testing.assert_allclose(got, want, rtol=1e-9)
    irad.check_grads(lambda x: irad.vmap(branch)(x), (X,), order=2)


def test_a_custom_derivative_stays_the_users_own():
    @irad.custom_vjp
    def cube(x):
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, ct: (10 * ct * x,))
    v = np.arange(3.0)
    np.testing.assert_allclose(irad.vmap(irad.grad(cube))(v), 10 * v)
    np.testing.assert_allclose(irad.grad(lambda x: np.sum(irad.vmap(cube)(x)))(v), 10 * v)


def test_per_example_jacobians():
    """Bundle adjustment: 2 residuals by 9 numbers for each observation."""

    def residual(c, p):
        q = p * c[:3] + c[3:]
        return np.stack([q[0] / (2 + q[2] ** 2), q[1] / (2 + q[2] ** 2)])

    cams, points = RNG.normal(size=(7, 6)), RNG.normal(size=(7, 3))
    by_cam, by_point = irad.vmap(irad.jacobian(residual, argnums=(0, 1)))(cams, points)
    assert by_cam.shape == (7, 2, 6) and by_point.shape == (7, 2, 3)
    one = irad.jacobian(residual, argnums=(0, 1))(cams[4], points[4])
    np.testing.assert_allclose(by_cam[4], one[0], rtol=1e-12)
    np.testing.assert_allclose(by_point[4], one[1], rtol=1e-12)


# ---- errors ---------------------------------------------------------------------------------------------------------------------


def test_errors():
    f = lambda x, y: x * y
    with pytest.raises(irad.ShapeError, match="different extents"):
        irad.vmap(f)(X, Y[:3])
    with pytest.raises(irad.ShapeError, match="there is no axis 2"):
        irad.vmap(f, in_axes=(2, None))(X, 1.0)
    with pytest.raises(irad.IradValueError, match="no argument is batched"):
        irad.vmap(f, in_axes=None)(X, X)
    with pytest.raises(irad.IradValueError, match="3 entries for 2 arguments"):
        irad.vmap(f, in_axes=(0, 0, 0))(X, X)
    with pytest.raises(irad.UnsupportedError, match="whose shape it computes itself"):
        irad.vmap(lambda x, k: x[:k])(X, K)
    with pytest.raises(irad.UnsupportedError, match="differs between the elements") as e:
        irad.vmap(lambda x, k: np.sum(x[:k] * 2))(X, K)
    assert e.value.loc is not None and e.value.loc.file == __file__


# ---- plain objects ---------------------------------------------------------------------------------------------------------


class Line:
    def __init__(self, w: Any, b: Any):
        self.w, self.b = w, b


def _moved(p: Any, x: Any) -> Any:
    p.b += 1.0
    p.w = p.w * 2.0
    p.w[0] = 7.0
    return np.sum(p.w * x) + p.b


def test_plain_objects_are_batched_attribute_by_attribute() -> None:
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    p = Line(np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0]))
    want = [_moved(Line(p.w[k].copy(), p.b[k]), x[k]) for k in range(2)]
    np.testing.assert_allclose(irad.vmap(_moved)(p, x), want)
    assert p.w[0, 0] == 0.0 and p.b[0] == 1.0  # the caller's stay as they were
    g = irad.grad(lambda p: np.sum(irad.vmap(_moved)(p, x)))(p)
    np.testing.assert_allclose(g.w, 2.0 * x * [0.0, 1.0, 1.0])
    np.testing.assert_allclose(g.b, [1.0, 1.0])


def test_plain_objects_are_shared_or_fit_the_batch() -> None:
    x = np.ones((2, 3))
    f = lambda p, x: np.sum(p.w * x) + p.b
    assert irad.vmap(f, in_axes=(None, 0))(Line(np.arange(3.0), 1.0), x).tolist() == [4.0, 4.0]
    with pytest.raises(irad.ShapeError, match="in_axes None shares it"):
        irad.vmap(f)(Line(np.ones((2, 3)), 1.0), x)


def test_plain_objects_come_back() -> None:
    def f(p: Any, x: Any) -> Any:
        p.w = p.w * x
        return p

    out = irad.vmap(f)(Line(np.ones((2, 3)), np.arange(2.0)), np.array([2.0, 3.0]))
    assert type(out) is Line and out.w.tolist() == [[2.0] * 3, [3.0] * 3] and out.b.tolist() == [0.0, 1.0]
