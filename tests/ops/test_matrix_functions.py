"""Derivatives of what is made of eigenvectors and singular vectors, where eigenvalues or singular values are equal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.linalg

import irad

RNG = np.random.default_rng(3)
C = RNG.normal(size=(3, 3))
TURN = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
EQUAL = [np.diag([2.0, 2.0, 3.0]), TURN @ np.diag([2.0, 2.0, 3.0]) @ TURN.T, 2 * np.eye(3), np.diag([1.5, 2.0, 3.0])]


def basis(a: Any) -> Any:
    return np.linalg.eigh(0.5 * (a + a.T))


def scaled_vectors(a: Any) -> Any:
    w, v = basis(a)
    return (v * np.log(w)) @ v.T


def scaled_rows(a: Any) -> Any:
    w, v = basis(a)
    return v @ (np.log(w)[:, None] * v.T)


def diagonal_between(a: Any) -> Any:
    w, v = basis(a)
    return v @ np.diag(np.log(w)) @ v.T


def by_roots(a: Any) -> Any:
    w, v = basis(a)
    half = v * np.sqrt(np.log(w))
    return half @ half.T


def divided(a: Any) -> Any:
    w, v = basis(a)
    return (2 * v / (2 / np.log(w))) @ np.transpose(v)


def einstein(a: Any) -> Any:
    w, v = basis(a)
    return np.einsum("ij,j,kj->ik", v, np.log(w), v)


@pytest.mark.parametrize("a", EQUAL, ids=range(len(EQUAL)))
@pytest.mark.parametrize(
    "f", [scaled_vectors, scaled_rows, diagonal_between, by_roots, divided, einstein], ids=lambda f: f.__name__
)
def test_logarithm_of_a_matrix(f: Callable[[Any], Any], a: np.ndarray) -> None:
    """The derivative of log A along E, by the block matrix (N. Higham, 2008, theorem 3.6)."""
    e = RNG.normal(size=(3, 3))
    sym = (e + e.T) / 2
    block = np.block([[(a + a.T) / 2, sym], [np.zeros((3, 3)), (a + a.T) / 2]])
    want = scipy.linalg.logm(block)[:3, 3:]
    np.testing.assert_allclose(irad.jvp(f, (a,), (e,))[1], want, atol=1e-7)
    assert np.sum(irad.grad(lambda a: np.sum(C * f(a)))(a) * e) == pytest.approx(np.sum(C * want), rel=1e-6)


# ---- every order ------------------------------------------------------------------------------------------------------------


DIRECTIONS = [x + x.T for x in RNG.normal(size=(3, 3, 3))]
TIED = EQUAL[1]
B = RNG.normal(size=3)
Along = float | np.ndarray  # the number t, or the matrix along a direction


def exponential(t: Any, a: Any) -> Any:
    w, v = basis(a)
    return np.sum(C * ((v * np.exp(t * w)) @ v.T))


def softmax_of_spectrum(t: Any, a: Any) -> Any:
    w, v = basis(a)
    return np.sum(C * ((v * (np.exp(w) / np.sum(np.exp(t * w)))) @ v.T))


def applied(t: Any, a: Any) -> Any:
    w, v = basis(a)
    return C[0] @ (v @ (np.exp(t * w) * (v.T @ B)))


def quadratic_form(t: Any, a: Any) -> Any:
    w, v = basis(a)
    return np.sum((v.T @ B) ** 2 / (w + t)) + np.sum(np.log(w + t))


def symmetric_sums(t: Any, a: Any) -> Any:
    w = np.linalg.eigvalsh(0.5 * (a + a.T))
    return np.log(np.sum(np.exp(t * w))) + t * np.std(w) + np.log(w) @ w


def simple_eigenvalue(t: Any, a: Any) -> Any:
    w = np.linalg.eigvalsh(0.5 * (a + a.T))
    return np.exp(t * w)[-1] * np.max(w)


def in_a_loop(t: Any, a: Any) -> Any:
    total = 0.0
    for k in range(3):
        w, v = basis(a * (1 + t * k))
        total = total + np.sum(C * ((v * np.exp(t * w)) @ v.T))
    return total


def _precisely(f: Any, t: Any, a: Any) -> Any:
    """The same functions in mpmath, of symmetric a."""
    total = lambda m: mp.fsum(C[i, j] * m[i, j] for i in range(3) for j in range(3))
    w, v = mp.eigsy(a)
    of = lambda g: v * mp.diag([g(x) for x in w]) * v.T
    b, c = mp.matrix(B.tolist()), mp.matrix(C[0].tolist())
    mean = mp.fsum(w) / 3
    if f is exponential:
        return total(of(lambda x: mp.exp(t * x)))
    if f is softmax_of_spectrum:
        return total(of(mp.exp)) / mp.fsum(mp.exp(t * x) for x in w)
    if f is applied:
        return (c.T * of(lambda x: mp.exp(t * x)) * b)[0]
    if f is quadratic_form:
        return (b.T * of(lambda x: 1 / (x + t)) * b)[0] + mp.fsum(mp.log(x + t) for x in w)
    if f is symmetric_sums:
        std = mp.sqrt(mp.fsum((x - mean) ** 2 for x in w) / 3)
        return mp.log(mp.fsum(mp.exp(t * x) for x in w)) + t * std + mp.fsum(x * mp.log(x) for x in w)
    if f is simple_eigenvalue:
        return mp.exp(t * max(w)) * max(w)
    return mp.fsum(_precisely(exponential, t, a * (1 + t * k)) for k in range(3))


def wanted(f: Any, t: float, a: np.ndarray, kinds: str) -> float:
    """Mixed central differences, of 60 digits: "t" in the number, "A" along the next direction."""
    with mp.workdps(60):
        h, start = mp.mpf(10) ** -12, mp.matrix(((a + a.T) / 2).tolist())
        total = mp.mpf(0)
        for signs in itertools.product((1, -1), repeat=len(kinds)):
            moved, x, k = mp.mpf(t), start.copy(), 0
            for s, kind in zip(signs, kinds):
                if kind == "t":
                    moved += s * h
                else:
                    x, k = x + s * h * mp.matrix(DIRECTIONS[k].tolist()), k + 1
            total += math.prod(signs) * _precisely(f, moved, x)
        return float(total / (2 * h) ** len(kinds))


def differentiated(f: Any, kinds: str, modes: str) -> Any:
    """One derivative after the other, (r)everse or (f)orward."""
    k = 0
    for kind, mode in zip(kinds, modes):
        d: Along = 1.0 if kind == "t" else DIRECTIONS[k]
        k += kind == "A"
        dt, da = (1.0, np.zeros((3, 3))) if kind == "t" else (0.0, d)
        reverse = lambda t, a, f=f, d=d, n=int(kind == "A"): np.sum(d * irad.grad(f, argnums=n)(t, a))
        forward = lambda t, a, f=f, dt=dt, da=da: irad.jvp(f, (t, a), (dt, da))[1]
        f = reverse if mode == "r" else forward
    return f


ORDERS = [("A", "r"), ("AA", "rr"), ("AA", "rf"), ("AA", "fr"), ("AA", "ff"), ("tA", "rr"), ("At", "rr"), ("tA", "fr")]
THIRD = [("AAA", "rrr"), ("AAA", "rff"), ("AtA", "rrr"), ("tAA", "frf"), ("AAt", "ffr")]


@pytest.mark.parametrize("f", [softmax_of_spectrum, quadratic_form, symmetric_sums], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kinds, modes", ORDERS)
def test_second_derivatives_at_equal_eigenvalues(f: Any, kinds: str, modes: str) -> None:
    got = differentiated(f, kinds, modes)(0.3, TIED)
    assert got == pytest.approx(wanted(f, 0.3, TIED, kinds), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("f", [exponential, applied, simple_eigenvalue, in_a_loop], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kinds, modes", [("AA", "rr"), ("AA", "rf"), ("tA", "rr")])
def test_more_second_derivatives_at_equal_eigenvalues(f: Any, kinds: str, modes: str) -> None:
    test_second_derivatives_at_equal_eigenvalues(f, kinds, modes)


@pytest.mark.parametrize("f", [exponential, quadratic_form, symmetric_sums], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kinds, modes", THIRD)
def test_third_derivatives_at_equal_eigenvalues(f: Any, kinds: str, modes: str) -> None:
    test_second_derivatives_at_equal_eigenvalues(f, kinds, modes)


@pytest.mark.parametrize("gap", [1e-14, 1e-9, 1e-6, 1e-4, 1e-2])
def test_nearly_equal_eigenvalues(gap: float) -> None:
    a = TURN @ np.diag([2.0, 2.0 + gap, 3.0]) @ TURN.T
    for kinds, within in (("A", 1e-9), ("AA", 1e-5)):
        got = differentiated(exponential, kinds, "rr")(0.3, a)
        assert got == pytest.approx(wanted(exponential, 0.3, a, kinds), rel=within)


def test_equal_eigenvalues_that_are_rounding() -> None:
    """Two of the ones matrix should be 0 and are not: their quotients of differences would be of rounding. exp(A) = 1 + c A, c = (e^3 - 1) / 3."""
    f = lambda a: np.sum(np.exp(np.linalg.eigvalsh(0.5 * (a + a.T))))
    a = np.ones((3, 3))
    along = irad.jvp(irad.grad(f), (a,), (np.eye(3) - a / 3,))[1]
    np.testing.assert_allclose(along, np.eye(3) - a / 3, atol=1e-12)


def test_stacks_and_batches() -> None:
    stack = np.array([TIED, 2 * np.eye(3), EQUAL[3]])

    def whole(x: Any) -> Any:
        w, v = np.linalg.eigh(0.5 * (x + np.transpose(x, (0, 2, 1))))
        return np.sum(C * np.matmul(v * np.log(w)[:, None, :], np.transpose(v, (0, 2, 1)))) + np.sum(np.exp(w))

    def one(a: Any) -> Any:
        w, v = basis(a)
        return np.sum(C * ((v * np.log(w)) @ v.T)) + np.sum(np.exp(w))

    d = np.array(DIRECTIONS)
    second = lambda f: lambda x, d: irad.jvp(lambda x: irad.grad(f)(x), (x,), (d,))[1]
    want = np.array([second(one)(a, e) for a, e in zip(stack, d)])
    assert np.all(np.isfinite(want))
    np.testing.assert_allclose(second(whole)(stack, d), want, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(irad.compile(irad.vmap(second(one)))(stack, d), want, rtol=1e-11, atol=1e-12)


WAYS = {
    "both": ((0, 0), [(t, a) for t, a in zip((0.5, 1.0, 1.5), (TIED, 2 * np.eye(3), EQUAL[3]))]),
    "one number": ((None, 0), [(1.5, a) for a in (TIED, 2 * np.eye(3), EQUAL[3])]),
    "one matrix": ((0, None), [(t, TIED) for t in (0.5, 1.0, 1.5)]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", [softmax_of_spectrum, quadratic_form, symmetric_sums], ids=lambda f: f.__name__)
def test_curvature_of_what_is_batched(f: Any, way: str) -> None:
    """The curvature of a sum over a batch is the sum of the curvatures."""
    axes, cases = WAYS[way]
    stacked = [np.stack(x) if axis == 0 else x[0] for x, axis in zip(zip(*cases), axes)]
    total = lambda t, a: np.sum(irad.vmap(f, in_axes=axes)(t, a))
    along = [np.broadcast_to(DIRECTIONS[0], stacked[1].shape), np.ones_like(stacked[0])]

    def second(f: Any, t: Any, a: Any, e: Any, s: Any) -> Any:
        slope = lambda t, a: irad.jvp(f, (t, a), (s, e))[1]
        return irad.jvp(slope, (t, a), (s, e))[1], np.sum(irad.grad(slope, argnums=1)(t, a) * e)

    want = np.sum([second(f, t, a, DIRECTIONS[0], 1.0) for t, a in cases], axis=0)
    assert second(total, *stacked, *along) == pytest.approx(want, rel=1e-10)


@pytest.mark.parametrize("f", [softmax_of_spectrum, symmetric_sums], ids=lambda f: f.__name__)
def test_curvature_of_all_pairs(f: Any) -> None:
    """Of a stack that repeats each of its inputs along another axis, both of one length."""
    ts, stack = np.array([0.5, 1.5]), np.stack([TIED, EQUAL[3]])
    total = lambda ts, stack: np.sum(irad.vmap(lambda t: irad.vmap(lambda a: f(t, a))(stack))(ts))
    got = irad.jvp(irad.grad(total, argnums=1), (ts, stack), (np.ones(2), np.stack([DIRECTIONS[0]] * 2)))[1]
    one = lambda t, a: irad.jvp(irad.grad(f, argnums=1), (t, a), (1.0, DIRECTIONS[0]))[1]
    np.testing.assert_allclose(got, [sum(one(t, a) for t in ts) for a in stack], rtol=1e-10, atol=1e-10)


def test_curvature_of_batched_singular_values() -> None:
    """The sum of s**4 is the trace of (A^T A)^2; that of s**3 has the slope 3 c^2 I at c I."""
    stack = np.stack([2 * np.eye(3), TURN @ np.diag([2.0, 2.0, 3.0])])
    f = lambda x: np.sum(irad.vmap(lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 3))(x))
    trace = lambda x: np.sum(irad.vmap(lambda a: np.trace(a.T @ a @ a.T @ a))(x))
    quartic = lambda x: np.sum(irad.vmap(lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 4))(x))
    e = np.stack([C, C.T])
    got, want = (irad.jvp(irad.grad(g), (stack,), (e,))[1] for g in (quartic, trace))
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)
    identity = irad.jvp(irad.grad(f), (stack[:1],), (np.eye(3)[None],))[1]
    np.testing.assert_allclose(identity[0], 12 * np.eye(3), atol=1e-10)


def test_hessian_in_single_precision() -> None:
    f = lambda a: np.sum(np.exp(np.linalg.eigvalsh(0.5 * (a + a.T))))
    got = irad.hessian(f)(TIED.astype(np.float32))
    np.testing.assert_allclose(got, irad.hessian(f)(TIED), rtol=1e-3, atol=1e-3)


def test_filters_that_differ_between_equal_eigenvalues_have_no_slope() -> None:
    """The first filter leaves the space of the equal eigenvalues whole, the second does not."""

    def f(a: Any, second: float) -> Any:
        w, v = basis(a)
        return np.sum(C * ((v * (np.array([1.0, second, 0.0]) * w)) @ v.T))

    assert np.all(np.isnan(irad.grad(lambda a: f(a, 0.0))(TIED)))
    g = irad.grad(lambda a: f(a, 1.0))(TIED)
    p, q = 3 * np.eye(3) - TIED, TIED - 2 * np.eye(3)
    sym = (C + C.T) / 2
    np.testing.assert_allclose(g, p @ sym @ p - 2 * (p @ sym @ q + q @ sym @ p), atol=1e-10)


def test_what_is_not_seen_to_be_a_function_of_the_matrix_is_no_number_where_eigenvalues_are_equal() -> None:
    def f(a: Any) -> Any:
        w, v = basis(a)
        columns = [np.log(w[k]) * np.outer(v[:, k], v[:, k]) for k in range(3)]
        return np.sum(C * (columns[0] + columns[1] + columns[2]))

    assert np.all(np.isnan(irad.grad(f)(TIED))) and np.isnan(irad.jvp(f, (TIED,), (DIRECTIONS[0],))[1])
    one = lambda a: np.sum(C * scaled_vectors(a))
    np.testing.assert_allclose(irad.grad(f)(EQUAL[3]), irad.grad(one)(EQUAL[3]), rtol=1e-10)


def test_what_a_function_of_a_matrix_depends_on_besides() -> None:
    def f(t: Any, a: Any) -> Any:
        w, v = basis(a)
        return np.sum(C * ((v * np.exp(t * w)) @ v.T))

    a = EQUAL[1]
    assert irad.grad(f)(0.3, a) == pytest.approx(np.sum(C * (a @ scipy.linalg.expm(0.3 * a))))


@pytest.mark.parametrize("a", EQUAL[:2], ids=range(2))
def test_projector_on_a_whole_space(a: np.ndarray) -> None:
    """Along E the projector on the space of the smaller eigenvalue changes by (P E Q + Q E P) / (2 - 3)."""

    def f(a: Any) -> Any:
        _, v = basis(a)
        return np.sum(C * (v[:, :2] @ v[:, :2].T))

    p, sym = 3 * np.eye(3) - a, (C + C.T) / 2
    q = np.eye(3) - p
    want = -(p @ sym @ q + q @ sym @ p)
    np.testing.assert_allclose(irad.grad(f)(a), want, atol=1e-10)


def projected(a: Any) -> Any:
    w, v = basis(a)
    return v[:, :2] @ v[:, :2].T


def filtered(a: Any) -> Any:
    w, v = basis(a)
    u = v[:, :2]
    return u @ (u.T * np.log(w[:2])[:, None])


def inverse_of_part(a: Any) -> Any:
    w, v = basis(a)
    return (v[:, 2:] / (w[2:] + 1)) @ v[:, 2:].T + v[:, 1::-1] @ np.diag(1 / np.sqrt(w[1::-1])) @ v[:, 1::-1].T


def applied_to_a_matrix(a: Any) -> Any:
    w, v = basis(a)
    u = v[:, -3:2]
    return u @ (u.T @ C)


@pytest.mark.parametrize("f", [projected, filtered, inverse_of_part, applied_to_a_matrix], ids=lambda f: f.__name__)
@pytest.mark.parametrize("a", EQUAL[:2], ids=range(2))
def test_some_of_the_eigenvectors(f: Any, a: np.ndarray) -> None:
    """Both modes and curvature, where the two lowest eigenvalues are equal, against differences, which pass no tie."""
    e = RNG.normal(size=(3, 3))
    e = e + e.T
    total = lambda a: np.sum(f(a) * (1 + C))
    slope = lambda g: (8 * (g(a + h * e) - g(a - h * e)) - (g(a + 2 * h * e) - g(a - 2 * h * e))) / (12 * h)
    h = 1e-3
    grad = irad.grad(total)
    np.testing.assert_allclose(irad.compile(f)(a), f(a), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(np.sum(grad(a) * e), slope(total), rtol=1e-7)
    np.testing.assert_allclose(np.sum(irad.jvp(f, (a,), (e,))[1] * (1 + C)), slope(total), rtol=1e-7)
    np.testing.assert_allclose(irad.jvp(grad, (a,), (e,))[1], slope(grad), rtol=1e-6, atol=1e-6)


def test_a_space_that_is_cut_has_no_slope() -> None:
    def cut(a: Any) -> Any:
        w, v = basis(a)
        return np.sum(C * (v[:, :1] @ v[:, :1].T))

    for a in EQUAL[:3]:
        assert np.isnan(irad.grad(cut)(a)).any() and np.isnan(irad.jvp(cut, (a,), (C + C.T,))[1])


def test_polar_factor() -> None:
    """At c times an orthogonal Q the polar factor changes by the antisymmetric part of E Q^T, over c."""

    def f(a: Any) -> Any:
        u, _, vt = np.linalg.svd(a)
        return np.sum(C * (u @ vt))

    g = C @ TURN.T
    np.testing.assert_allclose(irad.grad(f)(2 * TURN), (g - g.T) / 2 @ TURN / 2, atol=1e-12)


def test_what_depends_on_the_choice_is_not_a_number() -> None:
    f = lambda a: np.sum(C[0] @ basis(a)[1][:, 0])
    assert np.all(np.isnan(irad.grad(f)(TIED))) and np.isnan(irad.jvp(f, (TIED,), (DIRECTIONS[0],))[1])
    left = lambda a: np.sum(C * np.linalg.svd(a)[0])
    assert np.all(np.isnan(irad.grad(left)(2 * TURN))) and np.isnan(irad.jvp(left, (2 * TURN,), (C,))[1])


def test_functions_of_the_spectrum() -> None:
    f = lambda a: np.sum(np.exp(np.linalg.eigvalsh(0.5 * (a + a.T))))
    for a in EQUAL:
        np.testing.assert_allclose(irad.grad(f)(a), scipy.linalg.expm((a + a.T) / 2), rtol=1e-9, atol=1e-9)
    along = irad.grad(lambda a: np.sum(irad.grad(f)(a) * np.eye(3)))(EQUAL[3])
    np.testing.assert_allclose(along, scipy.linalg.expm(EQUAL[3]), rtol=1e-9, atol=1e-9)
