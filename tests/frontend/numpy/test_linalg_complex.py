"""numpy.linalg on complex matrices, by LAPACK's routines for them: values as NumPy's, derivatives in both modes to second order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.codegen.libraries import lapack
from irad.codegen.lower import linalg as lower_linalg
from irad.core.interp import interpret
from irad.core.tree import flatten
from irad.frontend.trace import trace
from irad.passes.manager import run
from tests.support.slopes import check_slopes

linalg = np.linalg
OLD = np.__version__.startswith("1.")
RNG = np.random.default_rng(2)


def _normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


A, B, V = _normal(5, 5), _normal(5, 3), _normal(5)
TALL, WIDE, STACK = _normal(5, 3), _normal(3, 5), _normal(2, 2, 5, 5)
POS = A @ A.conj().T + np.eye(5)
RANK4, RANK3 = A.copy(), A.copy()
RANK4[4] = 1j * RANK4[3]
RANK3[4], RANK3[2] = 2 * RANK3[3], 1j * RANK3[3]


def hermitian(a: np.ndarray) -> np.ndarray:
    return a + a.conj().swapaxes(-1, -2)


def of_svd(a: np.ndarray) -> Any:
    """What does not depend on the phases of the vectors."""
    u, s, vt = linalg.svd(a, full_matrices=False)
    return (
        s,
        (u * np.sqrt(s)[..., None, :]) @ vt,
        np.abs(u) ** 2 @ np.exp(s)[..., None],
        (u * np.sin(s)[..., None, :]) @ u.conj().swapaxes(-1, -2),
    )


def of_eigh(a: np.ndarray, uplo: str = "L") -> Any:
    w, v = linalg.eigh(a, uplo)
    return w, (v * np.sin(w)[..., None, :]) @ v.conj().swapaxes(-1, -2), np.abs(v) ** 2


# name: (function, arguments, orders of derivatives that are checked)
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {
    "solve": (lambda a, b: linalg.solve(a, b), (A, B), 2),
    "solve, real by complex": (lambda a, b: linalg.solve(a, b), (A.real.copy(), B), 1),
    "inv": (lambda a: linalg.inv(a), (STACK,), 2),
    "det": (lambda a: linalg.det(a), (A,), 3),
    "det 3": (lambda a: linalg.det(a), (A[:3, :3],), 2),
    "det stack": (lambda a: linalg.det(a), (STACK,), 2),
    "det rank n-1": (lambda a: linalg.det(a), (RANK4,), 2),
    "det rank n-2": (lambda a: linalg.det(a), (RANK3,), 3),
    "slogdet": (lambda a: tuple(linalg.slogdet(a)), (STACK,), 2),
    "cholesky": (lambda a: linalg.cholesky(a), (POS,), 2),
    "cholesky stack": (lambda a: linalg.cholesky(a @ a.conj().swapaxes(-1, -2) + np.eye(5)), (STACK,), 1),
    "qr": (lambda a: tuple(linalg.qr(a)), (TALL,), 2),
    "qr wide": (lambda a: tuple(linalg.qr(a)), (WIDE,), 1),
    "qr r": (lambda a: linalg.qr(a, "r"), (STACK,), 1),
    "qr complete": (lambda a: tuple(linalg.qr(a, "complete")), (TALL,), 0),
    "svd": (of_svd, (TALL,), 2),
    "svd wide": (of_svd, (WIDE,), 1),
    "svd square": (of_svd, (STACK,), 1),
    "svd vectors": (lambda a: tuple(linalg.svd(a, full_matrices=False)), (TALL,), 0),
    "svd full": (lambda a: tuple(linalg.svd(a)), (TALL,), 0),
    "svd values": (lambda a: linalg.svd(a, compute_uv=False), (STACK,), 1),
    "eigh": (of_eigh, (POS,), 2),
    "eigh U": (lambda a: of_eigh(a, "U"), (POS,), 1),
    "eigh stack": (lambda a: of_eigh(hermitian(a)), (STACK,), 1),
    "eigh vectors": (lambda a: tuple(linalg.eigh(a)), (POS,), 0),
    "eigvalsh": (lambda a: linalg.eigvalsh(a), (STACK,), 2),
    "eigvals": (lambda a: linalg.eigvals(a), (STACK,), 2),
    "eig": (lambda a: tuple(linalg.eig(a)), (A,), 2),
    "eig of a real matrix": (lambda a: (linalg.eig(a)[0], linalg.eig(a)[1] ** 2), (A.real.copy(),), 2),  # signs are arbitrary
    "eigvals of a real matrix": (lambda a: linalg.eigvals(a), (STACK.real.copy(),), 1),
    "pinv": (lambda a: linalg.pinv(a), (TALL,), 2),
    "pinv wide": (lambda a: linalg.pinv(a), (WIDE,), 1),
    "lstsq": (lambda a, b: linalg.lstsq(a, b)[:2], (TALL, B), 2),
    "lstsq wide": (lambda a, b: linalg.lstsq(a, b)[0], (WIDE, V[:3]), 1),
    "lstsq rest": (lambda a, b: linalg.lstsq(a, b)[2:], (RANK4, V), 0),
    "matrix_rank": (lambda a: linalg.matrix_rank(a), (RANK3,), 0),
    "matrix_power": (lambda a: linalg.matrix_power(a, -3), (A,), 1),
    "cond": (lambda a: linalg.cond(a), (A,), 1),
    "norm": (lambda a: linalg.norm(a), (A,), 2),
    "norm 1": (lambda a: linalg.norm(a, 1), (A,), 1),
    "norm -inf": (lambda a: linalg.norm(a, -np.inf), (A,), 1),
    "norm 2": (lambda a: linalg.norm(a, 2), (TALL,), 2),
    "norm -2": (lambda a: linalg.norm(a, -2), (TALL,), 1),
    "norm nuc": (lambda a: linalg.norm(a, "nuc", axis=(0, 2)), (STACK[0],), 1),
    "norm 3": (lambda a: linalg.norm(a, 3), (V,), 1),
    "tensorinv": (lambda a: linalg.tensorinv(a.reshape(2, 3, 6)), (_normal(6, 6),), 1),
    "multi_dot": (lambda a, b: linalg.multi_dot([a, b, b.T]), (A, B), 1),
    "vecdot": (lambda a, b: np.sum(a.conj() * b, -1) + 0 * np.vdot(a, b), (A, A[::-1].copy()), 1),
}  # fmt: skip
if not OLD:  # NumPy 1 takes other right sides for vectors: test_right_sides_are_told_apart_as_in_numpy_2 of test_linalg.py
    FUNCTIONS["solve vector"] = (lambda a, b: linalg.solve(a, b), (STACK, V), 1)
if hasattr(linalg, "svdvals"):
    FUNCTIONS["svdvals"] = (lambda a: linalg.svdvals(a), (STACK,), 1)
if hasattr(np, "vecdot"):
    FUNCTIONS["np.vecdot"] = (lambda a, b: np.vecdot(a, b), (A, A[::-1].copy()), 1)
    FUNCTIONS["cholesky upper"] = (lambda a: linalg.cholesky(a, upper=True), (POS,), 1)


def close(got: Any, want: Any, tolerance: float) -> None:
    """The same dtypes and numbers."""
    for x, y in zip(flatten(got)[0], flatten(want)[0], strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str) -> None:
    f, args, _ = FUNCTIONS[name]
    close(irad.compile(f)(*args), f(*args), 1e-11)


@pytest.mark.parametrize("name", [n for n, case in FUNCTIONS.items() if case[2]])
def test_derivatives(name: str) -> None:
    f, args, order = FUNCTIONS[name]
    check_slopes(f, args, order, 1e-5)


SINGLE = [
    "solve",
    "inv",
    "det",
    "slogdet",
    "cholesky",
    "qr",
    "svd vectors",
    "eigh vectors",
    "eig",
    "eig of a real matrix",
    "pinv",
    "lstsq",
    "norm 2",
]


@pytest.mark.parametrize("name", SINGLE)
def test_single_precision_is_computed_in_double(name: str) -> None:
    """As NumPy does: the difference is one rounding, however badly conditioned the matrix."""
    f, args, _ = FUNCTIONS[name]
    args = tuple(x.astype(np.complex64 if np.iscomplexobj(x) else np.float32) for x in args)
    close(irad.compile(f)(*args), f(*args), 1e-6)


@pytest.mark.parametrize(
    "name", ["solve", "inv", "cholesky", "qr", "svd vectors", "eigh vectors", "eig", "eigvals of a real matrix", "det rank n-1"]
)
def test_without_lapack(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where NumPy's LAPACK is not found, Python runs NumPy's own functions."""
    monkeypatch.setattr(lower_linalg.lapack, "find", lambda: None)
    f, args, _ = FUNCTIONS[name]
    close(irad.compile(lambda *xs: f(*xs))(*args), f(*args), 1e-11)


@pytest.mark.parametrize(
    "name", ["solve", "cholesky", "qr", "svd", "eigh", "eig", "eig of a real matrix", "slogdet", "det rank n-1"]
)
def test_the_interpreter_means_the_same(name: str) -> None:
    """Before and after the split into parts."""
    f, args, _ = FUNCTIONS[name]
    traced = trace(f, args).program
    want = [np.asarray(x) for x in flatten(f(*args))[0]]
    for program, make in ((traced, whole), (run(traced, ["custom", "complex_parts"]), pairs)):
        results = interpret(program, *map(make, args))
        for got, x in zip(results, want, strict=True):
            np.testing.assert_allclose(got, make(x), rtol=1e-11, atol=1e-11)


def whole(x: np.ndarray) -> np.ndarray:
    return x


def pairs(x: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs of real ones."""
    return np.stack([x.real, x.imag], -1) if np.iscomplexobj(x) else x


def test_routines_for_complex_numbers_are_tested() -> None:
    assert lapack.works("c64") and lapack.works("c128")


# ---- edges -----------------------------------------------------------------------------------------------------------------


def test_errors_are_numpys() -> None:
    singular = np.array([[1, 1j], [1j, -1]])
    for f, a, words in (
        (linalg.inv, singular, "Singular matrix"),
        (linalg.cholesky, -POS, "not positive definite"),
        (linalg.eigvals, A * np.nan, "must not contain infs or NaNs"),
        (linalg.eig, A.real * np.inf, "must not contain infs or NaNs"),
    ):  # fmt: skip
        with pytest.raises(np.linalg.LinAlgError, match=words):
            irad.compile(lambda a, f=f: f(a))(a)


def test_empty_and_singular() -> None:
    none = np.zeros((2, 0, 0), complex)
    for f in (linalg.det, linalg.inv, linalg.eigvals, linalg.eigvalsh, linalg.cholesky, lambda a: tuple(linalg.slogdet(a))):
        close(irad.compile(lambda a, f=f: f(a))(none), f(none), 0)
    for f in (lambda a: tuple(linalg.qr(a, "complete")), lambda a: tuple(linalg.svd(a))):
        close(irad.compile(f)(np.zeros((3, 0), complex)), f(np.zeros((3, 0), complex)), 0)
    close(irad.compile(lambda a: tuple(linalg.slogdet(a)))(RANK3 * 0), (0j, -np.inf), 0)
    np.testing.assert_array_equal(irad.grad(lambda a: np.abs(linalg.det(a)) ** 2)(RANK3 * 0), RANK3 * 0)


def test_gradient_by_hand() -> None:
    """log |det A| has the gradient A^-T; the eigenvalues of a triangular matrix are its diagonal."""
    g = irad.grad(lambda a: linalg.slogdet(a)[1])(A)
    np.testing.assert_allclose(g, linalg.inv(A).T, rtol=1e-12)
    low = np.tril(A)
    j = irad.jacobian(lambda a: linalg.eigvals(a))(low)
    order = np.argsort(np.argmin(np.abs(linalg.eigvals(low)[:, None] - np.diag(low)), 1))
    np.testing.assert_allclose(np.diagonal(j[order], axis1=1, axis2=2), np.eye(5), atol=1e-12)


def test_vmap_and_loops() -> None:
    f = lambda a: linalg.slogdet(a)[1] + np.sum(linalg.eigvalsh(a) ** 2)
    stack = STACK.reshape(4, 5, 5)
    np.testing.assert_allclose(irad.compile(irad.vmap(f))(stack), [f(a) for a in stack], rtol=1e-12)

    def descend(a: np.ndarray) -> Any:
        total = 0.0
        for _ in range(3):
            a = a @ linalg.inv(a + 2j * np.eye(5)) + linalg.qr(a)[0]
            total += np.abs(linalg.det(a))
        return total

    irad.check_grads(descend, (A,), rtol=1e-5)


def test_vector_that_completes_a_basis() -> None:
    irad.check_grads(lambda a: np.abs(linalg.svd(a)[0][:, -1]) ** 2, (TALL[:3, :2],), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
@pytest.mark.parametrize("lower", [False, True])
def test_scipy_solves_by_the_conjugate_transpose(trans: Any, lower: bool) -> None:
    sp = pytest.importorskip("scipy.linalg")
    r = np.random.default_rng(3)
    a = r.standard_normal((3, 3)) + 1j * r.standard_normal((3, 3)) + 3 * np.eye(3)
    b = r.standard_normal((3, 2)) + 1j * r.standard_normal((3, 2))
    hermitian = a @ a.conj().T + np.eye(3)
    for f in (
        lambda a, b: sp.solve_triangular(a, b, trans=trans, lower=lower),
        lambda a, b: sp.lu_solve(sp.lu_factor(a), b, trans={"N": 0, "T": 1, "C": 2}.get(trans, trans)),
        lambda a, b: sp.cho_solve(sp.cho_factor(hermitian, lower=lower), b) + 0 * a[:, :2],
    ):
        np.testing.assert_allclose(irad.compile(f)(a, b), f(a, b), rtol=1e-12)
        if trans in (0, 1, 2):  # "N", "T" and "C" are other words for the same
            irad.check_grads(lambda a, b, f=f: np.sum(np.abs(f(a, b)) ** 2), (a, b))


def stretches(x: np.ndarray) -> Any:
    """Eigenvalues and eigenvectors of a matrix that happens to have real ones, put where only real numbers go."""
    w, v = linalg.eig(np.array([[2.0, x[0]], [x[1], 1.0]]))
    order = w.argsort()
    found = np.zeros(3)
    found[:2] = w[order]
    found[2] = v[0, order[0]] ** 2
    return np.sum(found**2 * np.array([1.0, 2.0, 3.0])) + np.sort(np.roots(np.array([1.0, -4.0, x[0]])))[0]


def test_eigenvalues_are_real_where_the_program_wants_them_so() -> None:
    x = np.array([0.5, 1.2])
    got = irad.compile(stretches)(x)
    assert isinstance(got, float) and np.isclose(got, stretches(x), rtol=1e-13)
    irad.check_grads(stretches, (x,), order=1)
    with pytest.raises(TypeError, match="these eigenvalues are complex"):
        irad.compile(stretches)(np.array([2.0, -1.0]))
    whole = lambda x: linalg.eigvals(np.array([[2.0, x[0]], [x[1], 1.0]]))
    y = np.array([2.0, -1.0])
    np.testing.assert_allclose(np.sort(irad.compile(whole)(y)), np.sort(whole(y)), rtol=1e-13)
