"""What trips of a loop add to one element is summed in a register."""

from __future__ import annotations

import numpy as np
import pytest

import irad
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, Kernel, Let, Load, Param, Store, integer
from irad.codegen.kernel.interp import Machine
from irad.codegen.kernel.show import show
from irad.codegen.transform.accumulated import accumulated
from irad.core.switches import without

X, Y = np.linspace(-1.0, 1.2, 37), np.linspace(0.5, 0.7, 37) ** 2


def energy(x, y):
    """Of all pairs, those of a point with itself too; sums of rows are needed before the backward begins."""
    r = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(len(x)):
            d = np.sqrt((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 + 0.1)
            if d < 1.0:
                r[i] += (1 - d) ** 2 * y[j]
    return np.sum(r**1.5)


def slopes(x, y):
    dx, dy = x[:, None] - x, y[:, None] - y
    d = np.sqrt(dx**2 + dy**2 + 0.1)
    near = d < 1
    r = np.sum(np.where(near, (1 - d) ** 2 * y, 0), axis=1)
    ct = 1.5 * np.sqrt(r)[:, None]
    w = np.where(near, -2 * (1 - d) * y * ct / d, 0)
    return np.sum(w * dx, 1) - np.sum(w * dx, 0), np.sum(w * dy, 1) - np.sum(w * dy, 0) + np.sum(
        np.where(near, (1 - d) ** 2, 0) * ct, 0
    )


@pytest.mark.parametrize("n", [1, 5, 37])
def test_pairs(n: int) -> None:
    x, y = X[:n].copy(), Y[:n].copy()
    value, grads = irad.value_and_grad(lambda x, y: energy(x, y), argnums=(0, 1))(x, y)
    assert value == pytest.approx(energy(x, y), rel=1e-14)
    np.testing.assert_allclose(grads, slopes(x, y), rtol=1e-12, atol=1e-12)
    with without("accumulate"):
        np.testing.assert_allclose(irad.grad(lambda x, y: energy(x, y), argnums=(0, 1))(x, y), grads, rtol=1e-12, atol=1e-12)


def test_an_element_that_is_not_there() -> None:
    """Without a trip nothing is added: there may be no such element."""

    def f(x, k, n):
        s = 1.0
        for j in range(n):
            s += x[k] * x[j]
        return s * x[0]

    grad = irad.compile(irad.grad(f))
    x = np.array([2.0, 3.0])
    np.testing.assert_array_equal(grad(x, 5, 0), [1.0, 0.0])
    np.testing.assert_array_equal(grad(x, 1, 2), [16.0 + 6.0, (2.0 + 6.0) * 2.0])


def _kernel(at: str, *more: kf.Stmt) -> Kernel:
    v = [Let("a", "f64", Load("x", ("i",))), Let("v", "f64", Apply("mul", ("a", "a")), contract=True)]
    place = integer(int(at) if at.isdigit() else at)
    loop = kf.For("i", "seq", 0, 6, [*v, Store("g", (place,), "v", add=True), *more])
    return Kernel("k", [Param(n, "f64", (6,)) for n in "xg"] + [Param("k", "i64", None)], [loop])


READ = [Let("b", "f64", Load("g", ("i",))), Store("x", ("i",), "b")]
WRITE = [Store("g", ("i",), Const(1.0, "f64"))]


@pytest.mark.parametrize("more", [READ, WRITE], ids=["read", "written"])
def test_an_array_that_the_loop_does_more_with_stays(more: list[kf.Stmt]) -> None:
    kernel = _kernel("k", *more)
    assert show([accumulated(kernel)]) == show([kernel])


def test_an_element_that_the_loop_does_nothing_else_with() -> None:
    """It reads and stores others only: before the one that is summed, and after it."""
    for at, first in (("5", 0), ("0", 1)):
        kernel = _kernel(at, *READ, *WRITE)
        (loop,) = kernel.body
        assert isinstance(loop, kf.For)
        loop.lo, loop.hi = first, first + 5
        new = accumulated(kernel)
        assert "g_sum_0 = var" in show([new])
        args = [[np.arange(6.0) + 1, np.arange(6.0)] for _ in "ab"]
        Machine().run(kernel, *args[0], 0)
        Machine().run(new, *args[1], 0)
        np.testing.assert_array_equal(*args)
        loop.lo, loop.hi = 0, 6
        assert show([accumulated(kernel)]) == show([kernel])


def test_elimination() -> None:
    """Reads of a row, additions to another one, and to one element left of it."""

    def f(a):
        n = a.shape[0]
        s = 0.0
        for k in range(n):
            s += np.log(a[k, k])
            for i in range(k + 1, n):
                a[i, k] /= a[k, k]
                for j in range(k + 1, n):
                    a[i, j] -= a[i, k] * a[k, j]
        return s

    a = np.random.default_rng(0).random((9, 9)) + 9 * np.eye(9)
    grad = irad.compile(irad.grad(lambda a: f(a)))
    np.testing.assert_allclose(grad(a.copy()), np.linalg.inv(a).T, rtol=1e-12)
    irad.check_grads(lambda a: f(a.copy() * a), (a,), order=2)


def test_sums_of_a_value_keep_their_order() -> None:
    kernel = _kernel("k")
    new = accumulated(kernel)
    assert "g_sum_0 = var" in show([new])
    x, g, h = np.arange(6.0), np.arange(6.0), np.arange(6.0)
    Machine().run(kernel, x, g, 2)
    Machine().run(new, x, h, 2)
    np.testing.assert_array_equal(g, h)
    for s in kf.walk(kernel.body):
        if isinstance(s, Let):
            s.contract = False
    new = accumulated(kernel)
    assert "g_start_0: f64 = g[k]" in show([new])
    x, g = np.sin(np.arange(6.0)), np.full(6, 0.1)
    h = g.copy()
    Machine().run(kernel, x, g, 2)
    Machine().run(new, x, h, 2)
    np.testing.assert_array_equal(g, h)


def lagged(x, lags):
    """Plain sums keep the order of the source, and those under a condition start from what is there."""
    out = np.full(lags, 0.1)
    odd = np.full(lags, -0.0)
    for k in range(lags):
        for i in range(len(x) - k):
            out[k] += x[i] * x[i + k]
            if x[i] > 5.0:
                odd[k] += x[i]
    return out, odd


def from_place(x, c):
    """The place is only checked where there is a trip."""
    out = np.zeros(4)
    for i in range(c[1]):
        out[c[0]] += x[i]
    return out


def test_plain_sums_are_the_same_bits() -> None:
    x = np.sin(np.arange(300.0)) * 7.0
    compiled = irad.compile(lagged)
    for got, want in zip(compiled(x, 9), lagged(x, 9)):
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
    assert "r0_sum" in compiled.lower(x, 9).kernel
    gradient = irad.grad(lambda x: np.sum(lagged(x, 9)[0]))(x)
    want = sum(np.pad(x[k:], (0, k)) + np.pad(x[: len(x) - k], (k, 0)) for k in range(9))
    np.testing.assert_allclose(gradient, want, rtol=1e-12)


def test_no_trip_touches_no_place() -> None:
    compiled = irad.compile(from_place)
    x = np.arange(9.0)
    for place, trips in ((3, 9), (-4, 5), (99, 0)):
        c = np.array([place, trips])
        np.testing.assert_array_equal(compiled(x, c), from_place(x, c))
    with pytest.raises(IndexError):
        compiled(x, np.array([4, 1]))


@pytest.mark.parametrize("conditional", [False, True])
def test_additions_of_both_kinds_to_one_element(conditional: bool) -> None:
    """One of a derivative, one whose order counts: none may be overwritten by the other's sum."""
    plain: kf.Stmt = Store("g", (integer("k"),), "a", add=True)
    exact = [Let("w", "f64", Apply("mul", ("a", Const(0.1, "f64"))))]
    kernel = _kernel("k", *exact, Store("g", (integer("k"),), "w", add=True))
    if conditional:
        (loop,) = kernel.body
        assert isinstance(loop, kf.For)
        test = Let("some", "bool", Apply("gt", ("a", Const(2.0, "f64"))))
        loop.body = [*loop.body[:2], test, kf.If("some", [loop.body[2]]), *loop.body[3:], plain]
    x, g = np.sin(np.arange(6.0)) + np.arange(6.0), np.full(6, 0.1)
    h = g.copy()
    Machine().run(kernel, x, g, 2)
    Machine().run(accumulated(kernel), x, h, 2)
    np.testing.assert_allclose(g, h, rtol=1e-14)
