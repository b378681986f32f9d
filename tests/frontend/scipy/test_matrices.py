"""scipy.linalg in NumPy: functions of matrices, pairs, banded systems, matrices of a form; values against SciPy, slopes against differences."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.linalg as sl

import irad
from irad.frontend.library.linalg import matrices

R = np.random.default_rng(0)
A, W = R.random((3, 3)), R.random((3, 3))
S, N, B = A @ A.T + np.eye(3), A + 3 * np.eye(3), W @ W.T + np.eye(3)
V, RIGHT = R.random(6), R.random(7)

CASES: dict[str, tuple[Any, np.ndarray]] = {
    "sqrtm": (lambda x: np.sum(W * sl.sqrtm(x)), S),
    "sqrtm of no symmetric matrix": (lambda x: np.sum(W * np.real(sl.sqrtm(x))), N),
    "sqrtm of the unit matrix": (lambda x: np.sum(W * sl.sqrtm(x)), np.eye(3)),
    "sqrtm of a complex matrix": (lambda x: np.sum(W * np.real(sl.sqrtm(x - 2.5j * W))), N),
    "sqrtm of sizes apart": (lambda x: np.sum(W * sl.sqrtm(x)), np.diag([0.1, 1.0, 1e3]) + 1e-2 * B),
    "logm": (lambda x: np.sum(W * sl.logm(x)), 5 * N),
    "expm of logm": (lambda x: np.sum(W * sl.expm(sl.logm(x))), N),
    "cosm, sinm": (lambda x: np.sum(W * (sl.cosm(x) + sl.sinm(x) ** 2)), A),
    "polar": (lambda x: np.sum(W * sl.polar(x)[0] + sl.polar(x)[1]), N),
    "eigh of a pair": (lambda x: np.sum(sl.eigh(x, B)[0] * np.arange(3)) + np.sum(sl.eigh(x, B)[1] ** 2 * W), A),
    "eigh, by the second": (lambda x: np.sum(sl.eigh(S, x @ x.T + W @ W.T + np.eye(3), eigvals_only=True) * np.arange(3)), A),
    "eigvalsh, upper": (lambda x: np.sum(sl.eigvalsh(x, B, lower=False) * np.arange(3)), A),
    "eigh of one": (lambda x: np.sum(sl.eigh(x)[0] * np.arange(3)), S),
    "solve_banded": (lambda x: np.sum(sl.solve_banded((1, 2), x, RIGHT) ** 2), R.random((4, 7)) + 1),
    "solve_banded, several": (lambda x: np.sum(sl.solve_banded((2, 1), R_BAND, x) ** 3), R.random((7, 2))),
    "solve_banded, rows change": (lambda x: np.sum(sl.solve_banded((1, 1), x, RIGHT)), np.vstack([R.random(7), R.random(7) / 9, R.random(7) + 1])),
    "solve_banded, lower": (lambda x: np.sum(sl.solve_banded((1, 0), x, RIGHT) ** 2), R.random((2, 7)) + 1),
    "solve_sylvester": (lambda x: np.sum(W * sl.solve_sylvester(x, B, S)), N),
    "lyapunov": (lambda x: np.sum(W * sl.solve_continuous_lyapunov(x, S) + sl.solve_discrete_lyapunov(x / 9, S)), N),
    "lstsq": (lambda x: np.sum(sl.lstsq(x, np.arange(4.0))[0] ** 2), R.random((4, 2))),
    "block_diag": (lambda x: np.sum(np.linalg.inv(sl.block_diag(x, x[:2, :2], 3.0))), N),
    "toeplitz": (lambda x: np.sum(sl.toeplitz(x[:3], x[3:]) * W) + np.sum(sl.toeplitz(x) ** 2), V),
    "circulant, companion": (lambda x: np.sum(sl.circulant(x)[:2] ** 3) + np.sum(sl.companion(x) ** 2), V),
    "hankel": (lambda x: np.sum(sl.hankel(x[:3], x[2:]) ** 2 * np.arange(4)) + np.sum(sl.hankel(x) ** 2), V),
}  # fmt: skip
R_BAND = R.random((4, 7)) + 0.5


@pytest.mark.parametrize("name", CASES)
def test_value_and_slope(name: str) -> None:
    f, x = CASES[name]
    value, slope = irad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-10)
    h = 1e-6
    moved = lambda k, h: f(x + h * (np.arange(x.size) == k).reshape(x.shape))
    want = np.array([(moved(k, h) - moved(k, -h)) / (2 * h) for k in range(x.size)]).reshape(x.shape)
    np.testing.assert_allclose(slope, want, rtol=2e-5, atol=1e-6)


def test_not_compiled() -> None:
    np.testing.assert_allclose(matrices.sqrtm(N), sl.sqrtm(N), rtol=1e-12)
    np.testing.assert_allclose(matrices.logm(N), sl.logm(N), rtol=1e-12)
    np.testing.assert_allclose(matrices.solve_banded((2, 1), R_BAND, RIGHT), sl.solve_banded((2, 1), R_BAND, RIGHT), rtol=1e-10)
    np.testing.assert_allclose(matrices.eigh(S, B)[0], sl.eigh(S, B)[0], rtol=1e-12)
    np.testing.assert_allclose(np.abs(matrices.eigh(S, B)[1]), np.abs(sl.eigh(S, B)[1]), rtol=1e-10)
    for name, args in {"toeplitz": (V,), "circulant": (V,), "hankel": (V,), "companion": (V,), "block_diag": (A, V, 2)}.items():
        np.testing.assert_array_equal(getattr(matrices, name)(*args), getattr(sl, name)(*args))


def test_second_derivative_of_sqrtm() -> None:
    """Along one direction, against mpmath."""
    f = lambda t: np.sum(W * sl.sqrtm(S + t * B))
    again = irad.grad(irad.grad(f))(0.1)
    with mp.workdps(30):
        root = lambda t: mp.sqrtm(mp.matrix(S) + t * mp.matrix(B))
        total = lambda t: mp.fsum(mp.mpf(W[i, j]) * root(t)[i, j] for i in range(3) for j in range(3))
        want = float(mp.diff(total, 0.1, 2))
    np.testing.assert_allclose(again, want, rtol=1e-9)


def test_what_has_no_root_is_refused() -> None:
    for a in (
        np.diag([1.0, -1.0]),
        np.array([[0.0, 1.0], [0.0, 0.0]]),
        np.array([[0.0, 1.0], [-1.0, 0.0]]) @ np.array([[0.0, 1.0], [-1.0, 0.0]]),
    ):
        with pytest.raises((ValueError, np.linalg.LinAlgError)):
            irad.compile(lambda a: sl.sqrtm(a))(a)
    with pytest.raises(ValueError, match="expected a square matrix"):
        irad.compile(lambda a: sl.sqrtm(a))(np.zeros((2, 3)))


def test_factors_of_a_singular_matrix() -> None:
    """The generator of a Markov chain: its last pivot is 0, and nothing that is read depends on what is divided by it."""
    import warnings

    import scipy.linalg as sl

    def stationary(rates: np.ndarray) -> Any:
        lu, _ = sl.lu_factor((rates - np.diag(rates.sum(axis=1))).T)
        x = sl.solve_triangular(lu[:-1, :-1], -lu[:-1, -1])
        return np.sum(np.append(x, 1.0) ** 2)

    rates = np.random.default_rng(0).random((4, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isclose(irad.compile(stationary)(rates), stationary(rates))
        irad.check_grads(stationary, (rates,))
        again = irad.hessian(lambda v: stationary(rates * v[0] + rates.T * v[1] ** 2))(np.array([0.4, 0.7]))
        assert np.allclose(again, again.T) and np.all(np.isfinite(again))
