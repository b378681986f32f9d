"""Forward and reverse: chosen by cost, nested in each other, through loops that run until they converge; linearize, names, aux."""

from __future__ import annotations

import numpy as np
import pytest

import irad
from irad.core.ir import walk
from irad.frontend.trace import trace
from irad.passes.derivatives.expand import expand

RNG = np.random.default_rng(0)


def difference(f, x, step=1e-5):
    """Central difference with one step of Richardson extrapolation."""
    d = lambda h: (f(x + h) - f(x - h)) / (2 * h)
    return (4 * d(step / 2) - d(step)) / 3


# ---- mode choice ------------------------------------------------------------------------------------------------------------


def logistic(v, r, n):
    for _ in range(n):
        v = r * v * (1 - v)
    return v


def straight(v, r, n):
    return np.sin(v) * r + n


def many(x, n):
    for _ in range(n):
        x = x * np.sin(x)
    return np.sum(x)


def tapes(fn, *args):
    """Does the derivative keep values on a tape?"""
    program = expand(trace(fn, args).program)
    return any(n.op.name in ("push", "pop") for g in program.values() for n in walk(g))


@pytest.mark.parametrize("make", [irad.grad, irad.value_and_grad])
def test_few_numbers_through_a_loop_go_forward(make):
    auto, forward, reverse = (make(logistic, argnums=(0, 1), mode=m) for m in ("auto", "forward", "reverse"))
    assert not tapes(auto, 0.3, 3.5, 50) and not tapes(forward, 0.3, 3.5, 50) and tapes(reverse, 0.3, 3.5, 50)
    np.testing.assert_allclose(np.hstack(auto(0.3, 3.5, 50)), np.hstack(reverse(0.3, 3.5, 50)), rtol=1e-10)


def test_many_numbers_go_backward():
    assert tapes(irad.grad(many), RNG.normal(size=50), 5)
    assert not tapes(irad.grad(many, mode="forward"), RNG.normal(size=50), 5)
    x = RNG.normal(size=50)
    np.testing.assert_allclose(irad.grad(many)(x, 5), irad.grad(many, mode="forward")(x, 5), rtol=1e-11)


# ---- directions as the lanes of a vector --------------------------------------------------------------------------------------


def rates(y, p):
    return np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])


def predators(p, y, n):
    for _ in range(n):
        k = rates(y, p)
        y = y + 0.05 * rates(y + 0.025 * k, p)
    return np.sum(y * y)


def until(p, y, n):
    """Trip count and branches depend on the data."""
    trips = 0
    while y[0] < 4.0 and trips < n:
        if y[1] > 0.5:
            y = y + np.array([p[0] * 0.1, -p[1] * y[1] * 0.2])
        else:
            y = np.stack([y[0] * np.exp(0.1 * p[2]), y[1] + 0.3 * p[3]])
        trips += 1
    return np.sum(y * p[:2]) + trips


def mixing(p, y, n):
    """A matrix product, slices, reductions, a transposed array and an inner loop."""
    for i in range(n):
        m = np.array([[p[0], p[1]], [p[2], p[3]]])
        z = (m.T @ y) / (1.0 + np.sum(y * y))
        for _ in range(2):
            z = z + 0.1 * np.roll(z, 1) * p[2]
        y = np.concatenate([z[1:], z[:1]]) + np.cumsum(y) * 0.1 + np.max(m, axis=0) * 0.01 * i
    return np.prod(y)


def table(p, y, n):
    """States are stored at a position known at run time; the derivative of some directions is infinite where others are 0."""
    out = np.zeros((n, 2))
    for i in range(n):
        y = y * p[:2] + np.sin(p[2:] * i)
        out[i] = y
    return np.sum(out * out)


LANES = [predators, until, mixing, table]
P, Y = np.array([1.1, 0.4, 0.3, 0.6]), np.array([1.0, 0.8])


@pytest.mark.parametrize("f", LANES)
@pytest.mark.parametrize("argnums", [(0,), (0, 1), (1,)], ids=str)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_directions_as_lanes_agree_with_reverse(f, argnums, dtype):
    args = P.astype(dtype), Y.astype(dtype), 7
    value, forward = irad.value_and_grad(f, argnums=argnums, mode="forward")(*args)
    again, reverse = irad.value_and_grad(f, argnums=argnums, mode="reverse")(*args)
    np.testing.assert_array_equal(value, again)
    np.testing.assert_allclose(value, f(*args), rtol=1e-5 if dtype == "f4" else 1e-13)
    for a, b in zip(forward, reverse, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4 if dtype == "f4" else 1e-11, atol=1e-6 if dtype == "f4" else 1e-13)


@pytest.mark.parametrize("f", LANES)
def test_jacobians_along_lanes(f):
    """Of the state after the loop, by all numbers: 6 directions, filled up to 8; by 11 of them, to 16; by 20, in two batches."""
    for more in (0, 5, 14):
        g = lambda p, y, z: f(p, y * (1.0 + np.sum(z * z)), 5) * np.array([1.0, 2.0]) + np.sum(z)
        z = np.linspace(0.1, 0.3, more)
        forward = irad.jacobian(g, argnums=(0, 1, 2), mode="forward")(P, Y, z)
        reverse = irad.jacobian(g, argnums=(0, 1, 2), mode="reverse")(P, Y, z)
        for a, b in zip(forward, reverse, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def test_lanes_are_carried_as_vectors():
    stages = irad.compile(irad.value_and_grad(predators, argnums=(0, 1), mode="forward")).lower(P, Y, 5)
    assert stages.kernel.count("lanes=8)") == 2
    assert any("8 directions" in d.text for d in stages.notes)


def test_zero_directions_meet_infinities():
    """A direction that is 0 stays 0 where the derivative by another number is infinite."""

    def f(p, n):
        y = p[:2]
        for i in range(n):
            y = np.sqrt(y * y * p[2]) + p[3:5] * i
        return np.sum(y)

    p = np.array([0.0, 1.0, 1.0, 0.5, 2.0])
    np.testing.assert_allclose(irad.grad(f, mode="forward")(p, 1), [0.0, 1.0, 0.5, 0.0, 0.0])


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_no_numbers_at_all(mode):
    """Where there is nothing to differentiate by, the value is still that of the function, and so are its exceptions."""

    def f(x, n):
        s = 1.5
        for _ in range(n):
            s = s * s + np.sum(x)
        if n > 3:
            raise ValueError("too many")
        return s

    both = irad.compile(irad.value_and_grad(f, mode=mode))
    value, slope = both(np.zeros(0), 2)
    assert value == f(np.zeros(0), 2) and slope.shape == (0,)
    with pytest.raises(ValueError, match="too many"):
        both(np.zeros(0), 4)


def test_auto_stays_with_few_numbers():
    """Up to 4 directions go forward; of 5 to 8 either mode may be the faster one, so the one that is never far behind is taken."""
    assert not tapes(irad.grad(predators), P, Y, 9)
    assert tapes(irad.grad(predators, argnums=(0, 1)), P, Y, 9)
    assert not tapes(irad.grad(predators, argnums=(0, 1), mode="forward"), P, Y, 9)


@pytest.mark.parametrize("trips", [200, 1000])
def test_directions_that_decay_to_subnormals(trips):
    """One lane of the vector is the smallest subnormal or 0, and the others are as they are without it."""

    def f(p, n):
        y = p[0]
        s = 0.0
        for t in range(n):
            y = p[1] * y * p[2] + p[3] * np.cos(0.1 * t) + p[4]
            s = s + y * y
        return s

    p = np.array([0.3, 0.4, 0.5, 0.2, 0.1])
    forward, reverse = (irad.grad(f, mode=m)(p, trips) for m in ("forward", "reverse"))
    np.testing.assert_allclose(forward, reverse, rtol=1e-11)


# ---- each mode against differences ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_modes_agree_with_differences(mode):
    got = irad.grad(straight, argnums=(0, 1), mode=mode)(0.3, 2.0, 4)
    np.testing.assert_allclose(got, (2 * np.cos(0.3), np.sin(0.3)), rtol=1e-14)
    value, slope = irad.value_and_grad(logistic, mode=mode)(0.3, 3.7, 12)
    assert value == logistic(0.3, 3.7, 12)
    np.testing.assert_allclose(slope, difference(lambda v: logistic(v, 3.7, 12), 0.3), rtol=1e-6)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_gradients_have_the_dtype_of_their_argument(mode):
    f = lambda x: np.sum(x.astype(np.float64) * 2.0)
    slope = irad.grad(f, mode=mode)(np.ones(3, np.float32))
    assert slope.dtype == np.float32
    np.testing.assert_array_equal(slope, 2.0)


def test_a_mode_that_is_none():
    with pytest.raises(irad.IradValueError, match="'auto', 'forward' or 'reverse'"):
        irad.grad(straight, mode="sideways")


# ---- derivatives of loops that differentiate ---------------------------------------------------------------------------------------


def minimiser(a, b, mode):
    """argmin over x of (x - a)**2 / 2 + b x**4 / 10, by gradient descent until the slope is small."""
    x, g = 0.0 * a, 1.0
    while abs(g) > 1e-11:
        g = irad.grad(lambda t: (t - a) ** 2 * 0.5 + 0.1 * b * t**4, mode=mode)(x)
        x = x - 0.3 * g
    return x


def solution(a, b):
    """The same by Newton's method, in plain Python."""
    x = a
    for _ in range(60):
        x -= (x - a + 0.4 * b * x**3) / (1 + 1.2 * b * x * x)
    return x


@pytest.mark.parametrize("inner", ["forward", "reverse"])
@pytest.mark.parametrize("outer", ["forward", "reverse"])
def test_gradient_descent_to_convergence(inner, outer):
    f = lambda a, b: minimiser(a, b, inner) ** 2
    got = irad.grad(f, argnums=(0, 1), mode=outer)(0.8, 0.7)
    g = lambda a, b: solution(a, b) ** 2
    want = difference(lambda a: g(a, 0.7), 0.8), difference(lambda b: g(0.8, b), 0.7)
    np.testing.assert_allclose(got, want, rtol=1e-7)


@pytest.mark.parametrize("inner", ["forward", "reverse"])
def test_second_derivative_of_gradient_descent(inner):
    slope = irad.grad(lambda a: minimiser(a, 0.7, inner) ** 2, mode="reverse")
    for mode in ("forward", "reverse"):
        got = irad.grad(lambda a: slope(a), mode=mode)(0.8)
        np.testing.assert_allclose(got, difference(lambda a: slope(a), 0.8), rtol=1e-6)


@pytest.mark.parametrize(
    "modes", [(a, b, c) for a in ("forward", "reverse") for b in ("forward", "reverse") for c in ("forward", "reverse")]
)
def test_third_derivatives_through_control_flow(modes):
    def f(x):
        s = x
        for i in range(4):
            s = s * np.sin(s) + x if i % 2 == 0 else s / (1 + s * s)
        n = 0
        while abs(s) < 3.0:
            s = s * 1.5 + 0.1 * x
            n += 1
        return s * s * x

    d = f
    for mode in modes:
        d = irad.grad(d, mode=mode)
    second = irad.grad(irad.grad(f))
    np.testing.assert_allclose(d(0.7), difference(second, 0.7), rtol=1e-6)


# ---- linearize ------------------------------------------------------------------------------------------------------------------------


def tree(x, y):
    return {"a": np.sin(x) * y, "b": np.sum(x) * y * y}


def test_linearize_is_jvp():
    x, y = RNG.normal(size=4), 2.0
    out, along = irad.linearize(tree, x, y)
    np.testing.assert_array_equal(out["a"], irad.compile(tree)(x, y)["a"])
    x += 100.0  # what it needs is its own
    x -= 100.0
    for _ in range(3):
        v = RNG.normal(size=4)
        _, want = irad.jvp(tree, (x, y), (v, 0.5))
        got = along(v, 0.5)
        np.testing.assert_allclose(got["a"], want["a"], rtol=1e-13)
        np.testing.assert_allclose(got["b"], want["b"], rtol=1e-13)


def test_linearize_keeps_what_python_changes_later():
    x = RNG.normal(size=4)
    want = np.cos(x) * 2.0
    _, along = irad.linearize(lambda t: np.sin(t), x)
    x[:] = 0.0
    np.testing.assert_allclose(along(np.full(4, 2.0)), want, rtol=1e-14)


def test_linearize_through_loops_and_inside_compiled_code():
    _, along = irad.linearize(lambda v: logistic(v, 3.7, 12), 0.3)
    np.testing.assert_allclose(along(2.0), 2 * difference(lambda v: logistic(v, 3.7, 12), 0.3), rtol=1e-6)
    x = RNG.normal(size=3)
    inside = irad.compile(lambda x: irad.linearize(lambda t: np.sin(t), x)[1](x))
    np.testing.assert_allclose(inside(x), np.cos(x) * x, rtol=1e-14)


def test_linearize_wants_tangents_like_its_primals():
    _, along = irad.linearize(lambda x: x * 2, np.ones(3))
    with pytest.raises(irad.ShapeError, match=r"shape \(2,\)"):
        along(np.ones(2))
    with pytest.raises(irad.IradTypeError, match=r"nested like \(\*, \*\), but must be nested like \(\*\)"):
        along(np.ones(3), np.ones(3))


# ---- names and auxiliary values ----------------------------------------------------------------------------------------------------------


def named(w, b, *, s):
    return np.sum(w * b) * s


def test_arguments_by_name():
    w, b = RNG.normal(size=3), RNG.normal(size=3)
    np.testing.assert_allclose(irad.grad(named, argnames="b")(w, b, s=2.0), 2 * w)
    np.testing.assert_allclose(irad.grad(named, argnames="b")(w, b=b, s=2.0), 2 * w)
    ds, dw = irad.grad(named, argnames=("s", "w"))(w, b, s=2.0)
    np.testing.assert_allclose(ds, np.sum(w * b))
    np.testing.assert_allclose(dw, 2 * b)
    value, db = irad.value_and_grad(named, argnames="b")(w, b, s=2.0)
    np.testing.assert_allclose((value, *db), (named(w, b, s=2.0), *(2 * w)))
    assert irad.hessian(named, argnames="w")(w, b, s=1.0).shape == (3, 3)
    np.testing.assert_allclose(irad.compile(lambda w: irad.grad(named, argnames="w")(w, b, s=3.0))(w), 3 * b)


def test_names_that_are_wrong():
    with pytest.raises(irad.IradValueError, match="'z' is no argument of this call; the function takes w, b"):
        irad.grad(named, argnames="z")(1.0, 2.0, s=1.0)
    with pytest.raises(irad.IradValueError, match="not both"):
        irad.grad(named, argnums=1, argnames="w")


def test_auxiliary_values():
    x = RNG.normal(size=3)
    f = lambda x: (np.sum(x**3), {"n": x * 2})
    value_aux, slope = irad.value_and_grad(f, has_aux=True)(x)
    np.testing.assert_allclose(slope, 3 * x**2)
    np.testing.assert_array_equal(value_aux[1]["n"], x * 2)
    for mode in ("auto", "forward", "reverse"):
        slope, aux = irad.grad(f, has_aux=True, mode=mode)(x)
        np.testing.assert_allclose(slope, 3 * x**2)
        np.testing.assert_array_equal(aux["n"], x * 2)
    h, aux = irad.hessian(f, has_aux=True)(x)
    np.testing.assert_allclose(h, np.diag(6 * x))
    np.testing.assert_array_equal(aux["n"], x * 2)
    g = lambda x: (x**2, x[0])
    j, aux = irad.jacobian(g, has_aux=True)(x)
    np.testing.assert_allclose(j, np.diag(2 * x))
    out, pullback, aux = irad.vjp(g, x, has_aux=True)
    np.testing.assert_allclose(out, x**2)
    np.testing.assert_allclose(pullback(x)[0], 2 * x * x)
    assert aux == x[0]
    out, tangent, aux = irad.jvp(g, (x,), (x,), has_aux=True)
    np.testing.assert_allclose(tangent, 2 * x * x)
    assert aux == x[0]
    with pytest.raises(irad.IradTypeError, match="must return"):
        irad.grad(lambda x: np.sum(x), has_aux=True)(x)
    with pytest.raises(irad.IradTypeError, match="must return"):
        irad.vjp(lambda x: x, x, has_aux=True)


def test_large_constants_in_a_loop_over_sizes_of_vectors() -> None:
    """A batch of 16 through a recurrent loop: zeros of (16, 64), made in each trip of the backward, are no lanes."""
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((5, 16, 16)).astype(np.float32) * 0.3, rng.standard_normal((64, 16)).astype(np.float32) * 0.3

    def f(w, x):
        h = c = np.zeros((16, 16), np.float32)
        for t in range(5):
            a = x[t] @ w.T + h @ w.T
            i, g = 1 / (1 + np.exp(-a[:, :16])), np.tanh(a[:, 16:32])
            c = (1 / (1 + np.exp(-a[:, 32:48]))) * c + i * g
            h = (1 / (1 + np.exp(-a[:, 48:]))) * np.tanh(c)
        return np.sum(h * h)

    slope = irad.grad(f)(w, x)
    d, e = rng.standard_normal(w.shape), 1e-4
    exact = lambda s: f(w.astype(np.float64) + s * d, x.astype(np.float64))
    assert np.isclose(np.sum(slope * d), (exact(e) - exact(-e)) / (2 * e), rtol=1e-4)
