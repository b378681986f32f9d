"""Derivatives of what is made of eigenvectors and singular vectors, where eigenvalues or singular values are equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import irad

RNG = np.random.default_rng(3)
C = RNG.normal(size=(3, 3))
TURN = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
EQUAL = [np.diag([2.0, 2.0, 3.0]), TURN @ np.diag([2.0, 2.0, 3.0]) @ TURN.T, 2 * np.eye(3), np.diag([1.0, 2.0, 3.0])]


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


@pytest.mark.parametrize("a", EQUAL, ids=range(len(EQUAL)))
@pytest.mark.parametrize("f", [scaled_vectors, scaled_rows, diagonal_between], ids=lambda f: f.__name__)
def test_logarithm_of_a_matrix(f: Callable[[Any], Any], a: np.ndarray) -> None:
    """The derivative of log A along E, by the block matrix (N. Higham, 2008, theorem 3.6)."""
    e = RNG.normal(size=(3, 3))
    sym = (e + e.T) / 2
    block = np.block([[(a + a.T) / 2, sym], [np.zeros((3, 3)), (a + a.T) / 2]])
    want = scipy.linalg.logm(block)[:3, 3:]
    np.testing.assert_allclose(irad.jvp(f, (a,), (e,))[1], want, atol=1e-7)
    assert np.sum(irad.grad(lambda a: np.sum(C * f(a)))(a) * e) == pytest.approx(np.sum(C * want), rel=1e-6)


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


def test_polar_factor() -> None:
    """At c times an orthogonal Q the polar factor changes by the antisymmetric part of E Q^T, over c."""

    def f(a: Any) -> Any:
        u, _, vt = np.linalg.svd(a)
        return np.sum(C * (u @ vt))

    g = C @ TURN.T
    np.testing.assert_allclose(irad.grad(f)(2 * TURN), (g - g.T) / 2 @ TURN / 2, atol=1e-12)


def test_what_depends_on_the_choice_is_not_a_number() -> None:
    g = irad.grad(lambda a: np.sum(C[0] @ basis(a)[1][:, 0]))(EQUAL[1])
    assert np.all(np.isnan(g))


def test_functions_of_the_spectrum() -> None:
    f = lambda a: np.sum(np.exp(np.linalg.eigvalsh(0.5 * (a + a.T))))
    for a in EQUAL:
        np.testing.assert_allclose(irad.grad(f)(a), scipy.linalg.expm((a + a.T) / 2), rtol=1e-9, atol=1e-9)
    along = irad.grad(lambda a: np.sum(irad.grad(f)(a) * np.eye(3)))(EQUAL[3])
    np.testing.assert_allclose(along, scipy.linalg.expm(EQUAL[3]), rtol=1e-9, atol=1e-9)
