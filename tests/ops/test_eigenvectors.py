"""Derivatives of eigenvalues and vectors of general matrices where eigenvalues are equal, with and without a basis of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

RNG = np.random.default_rng(2)
TURN, MIXED = np.linalg.qr(RNG.normal(size=(3, 3)))[0], RNG.normal(size=(3, 3))
TIED = np.diag([2.0, 2.0, 3.0])
WHOLE = [TIED, TURN @ TIED @ TURN.T, MIXED @ TIED @ np.linalg.inv(MIXED)]  # with a basis of vectors
PAIR = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
THREE = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]])
DEFECTIVE = [PAIR, MIXED @ PAIR @ np.linalg.inv(MIXED), MIXED @ THREE @ np.linalg.inv(MIXED)]
C, E = RNG.normal(size=(2, 3, 3))

of_values = irad.compile(irad.value_and_grad(lambda a: np.sum(np.log(np.linalg.eigvals(a))).real))


def rebuilt(a: Any) -> Any:
    w, v = np.linalg.eig(a)
    return np.sum(C * ((v * w**2) @ np.linalg.inv(v)).real)


def projector(a: Any) -> Any:
    """On the space of the two lowest eigenvalues."""
    w, v = np.linalg.eig(a)
    low = np.argsort(w.real)[:2]
    return np.sum(C * (v[:, low] @ np.linalg.inv(v)[low]).real)


def one_vector(a: Any) -> Any:
    w, v = np.linalg.eig(a)
    return np.sum(np.abs(v[:, np.argsort(w.real)[0]]) * np.arange(3.0))


@pytest.mark.parametrize("a", WHOLE, ids=range(3))
def test_sums_over_all_eigenvalues(a: np.ndarray) -> None:
    """log det A has the gradient A^-T."""
    value, slope = of_values(a)
    assert value == pytest.approx(np.log(12.0))
    np.testing.assert_allclose(slope, np.linalg.inv(a).T, rtol=1e-9, atol=1e-9)
    assert irad.jvp(lambda a: np.sum(np.linalg.eigvals(a) ** 2).real, (a,), (E,))[1] == pytest.approx(2 * np.sum(a.T * E))


@pytest.mark.parametrize("a", WHOLE, ids=range(3))
def test_projector_on_a_whole_space(a: np.ndarray) -> None:
    """Along E the projector P on the space of 2 changes by (P E Q + Q E P) / (2 - 3), with Q = 1 - P."""
    p = 3 * np.eye(3) - a
    q = np.eye(3) - p
    np.testing.assert_allclose(irad.grad(projector)(a), -(p.T @ C @ q.T + q.T @ C @ p.T), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("a", WHOLE + DEFECTIVE, ids=range(6))
def test_what_is_not_determined_is_no_number(a: np.ndarray) -> None:
    for f in (rebuilt, one_vector) if a is not TIED else (rebuilt,):
        assert np.all(np.isnan(irad.grad(f)(a)))
        assert np.isnan(irad.jvp(f, (a,), (E,))[1])


@pytest.mark.parametrize("a", DEFECTIVE, ids=range(3))
def test_no_basis_of_vectors(a: np.ndarray) -> None:
    """Each eigenvalue has an infinite slope; what is made of all of them is no number, whatever its slope would be."""
    value, slope = of_values(a)
    assert value == pytest.approx(np.log(np.linalg.det(a)), abs=1e-4) and np.all(np.isnan(slope))
    assert np.isnan(irad.jvp(lambda a: np.sum(np.linalg.eigvals(a) ** 2).real, (a,), (E,))[1])


def test_an_eigenvalue_besides() -> None:
    """That of 3 is far from the others: cotangents of 0 are those of what is not chosen."""
    largest: Callable[[Any], Any] = lambda a: np.max(np.linalg.eigvals(a).real)
    for a in (*WHOLE, *DEFECTIVE[:2]):
        with np.errstate(all="ignore"):
            w, v = np.linalg.eig(a)
            k = np.argmax(w.real)
            left = np.linalg.svd(a.T - 3 * np.eye(3))[2][-1]
        want = np.outer(left, v[:, k].real) / (left @ v[:, k].real)
        np.testing.assert_allclose(irad.grad(largest)(a), want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [("f4", 2e-3), ("c16", 1e-8)])
def test_ordinary_matrices(dtype: str, tolerance: float) -> None:
    a, ones = RNG.normal(size=(4, 4)).astype(dtype), np.ones((4, 4))
    squared = lambda a: np.sum((lambda w, v: (v * w**2) @ np.linalg.inv(v))(*np.linalg.eig(a)).real)
    np.testing.assert_allclose(irad.grad(squared)(a), ones @ a.conj().T + a.conj().T @ ones, rtol=tolerance, atol=tolerance)


def test_eigenvalues_of_large_conditions() -> None:
    """Frank's matrix: that of the smallest is 1e3, and none is near another one."""
    frank = np.array([[8.0 - max(i, j) if j >= i - 1 else 0.0 for j in range(8)] for i in range(8)])
    w, v = np.linalg.eig(frank)
    k = np.argmin(w.real)
    got = irad.grad(lambda a: np.min(np.linalg.eigvals(a).real))(frank)
    np.testing.assert_allclose(got, np.outer(np.linalg.inv(v)[k], v[:, k]).real, rtol=1e-6, atol=1e-6)
