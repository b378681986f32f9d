"""scipy.linalg in NumPy: factors, bases, eigenvalues, systems of a form, functions of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.spatial

import irad
from irad.errors import UnsupportedError
from irad.frontend.library.linalg import factors
from tests.support.scipy_calls import call, check_compiled, check_not_compiled

R = np.random.default_rng(0)
A, W, TALL, WIDE, B = R.random((4, 4)), R.random((4, 4)), R.random((6, 3)), R.random((3, 5)), R.random((6, 3))
S, PD, Z = A + A.T, A @ A.T + np.eye(4), A + 1j * W
LOW, SIX = TALL[:, :2] @ R.random((2, 3)), R.random((6, 6))
BELOW, ABOVE = (
    np.array([[4, 5, 6, 7.0], [1, 0.5, 0.2, 0], [0.3, 0.1, 0, 0]]),
    np.array([[0, 0, 0.3, 0.1], [0, 1, 0.5, 0.2], [4, 5, 6, 7.0]]),
)
C, D = R.random(5) + 5 * (np.arange(5) == 0), R.random(5)
SIGNED = A + np.diag([3, -4, 5, 1.0])
HALF = (lambda w, v: (v * np.where(np.arange(4) == 0, 0.0, w)) @ v.T)(*np.linalg.eigh(S))

CALLS = [
    *(call(sl.lu, a, **kw) for a in (A, TALL, WIDE, Z) for kw in ({}, {"permute_l": True}, {"p_indices": True})), call(sl.lu, A[0]),
    *(call(sl.subspace_angles, *p) for p in ((TALL, B[:, :2]), (B[:, :2], TALL))), call(sl.orthogonal_procrustes, TALL, B),
    call(scipy.spatial.procrustes, TALL, B), call(sl.eigvals, A), call(sl.eigvals, A, PD), call(sl.eigvals_banded, BELOW, lower=True),
    call(sl.eigvals_banded, ABOVE), call(sl.eigvalsh_tridiagonal, A[0], A[1, :3]), call(sl.pinvh, HALF), call(sl.pinvh, PD, return_rank=True),
    *(call(sl.hessenberg, a, True) for a in (A, SIX, np.diag([1.0, 2, 3]), A[:2, :2])), call(sl.solve_toeplitz, C, D),
    call(sl.solve_toeplitz, (C, D), R.random((5, 2))), call(sl.matmul_toeplitz, (C, D[:3]), R.random((3, 2))), call(sl.matmul_toeplitz, C, D),
    call(sl.solve_circulant, C, D), call(sl.solve_circulant, C, R.random((5, 2))), call(sl.solve_circulant, C + 1j * D, D),
    call(sl.solve_circulant, np.ones(4), np.ones(4), singular="lstsq"), call(sl.cholesky_banded, BELOW, lower=True), call(sl.cholesky_banded, ABOVE),
    call(sl.solveh_banded, BELOW, A[0], lower=True), call(sl.solveh_banded, ABOVE, A[:, :2]), call(sl.cho_solve_banded, (sl.cholesky_banded(ABOVE), False), A[0]),
    *(call(f, a) for f in (sl.coshm, sl.sinhm, sl.tanhm, sl.tanm) for a in (A, Z)), call(sl.signm, SIGNED), call(sl.signm, -PD),
    call(sl.fractional_matrix_power, PD, 0.3), call(sl.fractional_matrix_power, PD, -1.5), call(sl.fractional_matrix_power, A, 3),
    call(sl.expm_frechet, A, S), call(sl.khatri_rao, TALL, WIDE.T[:, :3]), call(sl.khatri_rao, TALL, WIDE),
]  # fmt: skip


def test_not_compiled() -> None:
    check_not_compiled([factors], CALLS)
    span = lambda q: q @ q.T
    for f in ("orth", "null_space"):
        got, want = getattr(factors, f)(LOW), getattr(sl, f)(LOW)
        assert got.shape == want.shape
        np.testing.assert_allclose(span(got), span(want), atol=1e-12)
    w, v = factors.eig(A)
    np.testing.assert_allclose(A @ v, v * w, atol=1e-12)


PROGRAMS: dict[str, tuple[Any, np.ndarray]] = {
    "lu": (lambda a: np.sum(W * sl.lu(a)[1]) + np.sum(sl.lu(a)[2] ** 2) + np.sum(sl.lu(a[:, :3])[1] ** 2) + np.sum(sl.lu(a[:3], permute_l=True)[1] ** 2), A),
    "bases": (lambda a: np.sum((sl.orth(a) @ sl.orth(a).T * SIX) ** 2) + np.sum(sl.subspace_angles(a, B[:, :2])) + sl.orthogonal_procrustes(a, B)[1]
              + scipy.spatial.procrustes(a, B)[2], TALL),
    "eigenvalues": (lambda a: np.sum(np.abs(sl.eigvals(a)) ** 2) + np.sum(np.abs(sl.eig(a)[1][0])) + np.sum(sl.eigvalsh_tridiagonal(a[0], a[1, :3]) ** 3)
                    + np.sum(W * sl.pinvh(a + a.T)), A),
    "hessenberg": (lambda a: np.sum(W * sl.hessenberg(a)) + np.sum(sl.hessenberg(a, True)[1] * W), A),
    "bands": (lambda b: np.sum(sl.solveh_banded(b, np.arange(4.0), lower=True) ** 2) + np.sum(sl.cholesky_banded(b, lower=True)), BELOW[:2]),
    "toeplitz": (lambda c: np.sum(sl.solve_toeplitz(c, D) ** 2) + np.sum(sl.solve_circulant(c, D) ** 2) + np.sum(sl.matmul_toeplitz(c, D) ** 2), C),
    "functions": (lambda a: np.sum(W * (sl.tanhm(a) + sl.signm(a) + sl.expm_frechet(a, W)[1])) + np.sum(sl.khatri_rao(a, W) ** 2), SIGNED),
    "power": (lambda t: np.sum(W * sl.fractional_matrix_power(PD, t[0])), np.array([0.4])),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(name: str) -> None:
    check_compiled(*PROGRAMS[name])


def test_slopes_of_a_null_space() -> None:
    """They are right where the choice of its basis does not matter, and NaN where it does."""
    wide = np.array([[1.0, 2.0, -0.5, 0.3], [0.4, -1.0, 0.8, 1.5]])
    weights = np.arange(16.0).reshape(4, 4)

    def projected(a: np.ndarray) -> Any:
        n = sl.null_space(a)
        return np.sum(n @ n.T * weights)

    pinv = np.linalg.pinv(wide)  # the projector is 1 - pinv(a) a
    rest = np.eye(4) - pinv @ wide
    want = -(pinv.T @ (weights + weights.T) @ rest)
    np.testing.assert_allclose(irad.grad(projected)(wide), want, rtol=1e-10, atol=1e-12)
    assert np.isnan(irad.grad(lambda a: np.sum(sl.null_space(a)[0]))(wide)).all()


def test_what_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        irad.compile(lambda b: sl.solveh_banded(b, np.ones(4)))(-ABOVE)
    with pytest.raises(np.linalg.LinAlgError, match="near singular"):
        irad.compile(lambda c: sl.solve_circulant(c, np.ones(4)))(np.ones(4))
    with pytest.raises(UnsupportedError, match="left=True"):
        irad.compile(lambda a: sl.eig(a, left=True))(A)
