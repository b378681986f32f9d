"""numpy.linalg and scipy.linalg natively: values as NumPy's, derivatives in both modes to second order, errors as NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.codegen.libraries import lapack
from irad.codegen.lower import linalg as lower_linalg
from irad.core.tree import flatten
from irad.errors import IradTypeError, ShapeError, UnsupportedError
from tests.support.slopes import check_slopes

linalg = np.linalg
OLD = np.__version__.startswith("1.")
RNG = np.random.default_rng(1)
A, B, V = RNG.normal(size=(5, 5)), RNG.normal(size=(5, 3)), RNG.normal(size=5)
TALL, WIDE = RNG.normal(size=(6, 4)), RNG.normal(size=(4, 6))
STACK, RIGHT = RNG.normal(size=(2, 3, 6, 6)), RNG.normal(size=(3, 6, 2))
POS = A @ A.T + np.eye(5)
RANK4, RANK3 = A.copy(), A.copy()
RANK4[4] = RANK4[3]
RANK3[4], RANK3[2] = RANK3[3], RANK3[3]
TENSOR = RNG.normal(size=(2, 3, 6))

# name: (function, arguments, orders of derivatives that are checked)
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {
    "linalg.solve": (lambda a, b: linalg.solve(a, b), (A, B), 2),
    "linalg.solve vector": (lambda a, b: linalg.solve(a, b), (A, V), 2),
    "linalg.inv": (lambda a: linalg.inv(a), (A,), 2),
    "linalg.inv stack": (lambda a: linalg.inv(a), (STACK,), 1),
    "linalg.tensorsolve": (lambda a, b: linalg.tensorsolve(a, b), (TENSOR, RNG.normal(size=(2, 3))), 1),
    "linalg.tensorinv": (lambda a: linalg.tensorinv(a, 2), (TENSOR,), 1),
    "linalg.det": (lambda a: linalg.det(a), (A,), 3),
    "linalg.det 1": (lambda a: linalg.det(a), (A[:1, :1],), 2),
    "linalg.det 3": (lambda a: linalg.det(a), (A[:3, :3],), 3),
    "linalg.det stack": (lambda a: linalg.det(a), (STACK,), 1),
    "linalg.det rank n-1": (lambda a: linalg.det(a), (RANK4,), 3),
    "linalg.det rank n-2": (lambda a: linalg.det(a), (RANK3,), 3),
    "linalg.slogdet": (lambda a: tuple(linalg.slogdet(a)), (STACK,), 1),
    "linalg.slogdet 2": (lambda a: linalg.slogdet(a)[1], (A,), 2),
    "linalg.cholesky": (lambda a: linalg.cholesky(a), (POS,), 2),
    "linalg.cholesky stack": (lambda a: linalg.cholesky(a @ a.swapaxes(-1, -2) + np.eye(6)), (STACK,), 1),
    "linalg.qr": (lambda a: tuple(linalg.qr(a)), (TALL,), 2),
    "linalg.qr wide": (lambda a: tuple(linalg.qr(a)), (WIDE,), 2),
    "linalg.qr r": (lambda a: linalg.qr(a, "r"), (TALL,), 1),
    "linalg.qr stack": (lambda a: tuple(linalg.qr(a)), (STACK,), 1),
    "linalg.qr complete": (lambda a: tuple(linalg.qr(a, "complete")), (TALL,), 0),
    "linalg.svd": (lambda a: tuple(linalg.svd(a, full_matrices=False)), (TALL,), 2),
    "linalg.svd wide": (lambda a: tuple(linalg.svd(a, full_matrices=False)), (WIDE,), 2),
    "linalg.svd square": (lambda a: tuple(linalg.svd(a)), (A,), 2),
    "linalg.svd full": (lambda a: tuple(linalg.svd(a)), (TALL,), 0),
    "linalg.svd values": (lambda a: linalg.svd(a, compute_uv=False), (STACK,), 1),
    "linalg.eigh": (lambda a: tuple(linalg.eigh(a)), (POS,), 2),
    "linalg.eigh U": (lambda a: tuple(linalg.eigh(a, "U")), (POS,), 2),
    "linalg.eigh stack": (lambda a: tuple(linalg.eigh(a + a.swapaxes(-1, -2))), (STACK,), 1),
    "linalg.eigvalsh": (lambda a: linalg.eigvalsh(a), (POS,), 2),
    "linalg.pinv": (lambda a: linalg.pinv(a), (TALL,), 2),
    "linalg.pinv wide": (lambda a: linalg.pinv(a), (WIDE,), 2),
    "linalg.pinv stack": (lambda a: linalg.pinv(a), (STACK,), 1),
    "linalg.lstsq": (lambda a, b: linalg.lstsq(a, b)[:2], (TALL, RNG.normal(size=(6, 2))), 2),
    "linalg.lstsq wide": (lambda a, b: linalg.lstsq(a, b)[0], (WIDE, RNG.normal(size=4)), 2),
    "linalg.lstsq rest": (lambda a, b: linalg.lstsq(a, b)[2:], (RANK4, V), 0),
    "linalg.matrix_rank": (lambda a: linalg.matrix_rank(a), (RANK3,), 0),
    "linalg.matrix_power": (lambda a: linalg.matrix_power(a, -3), (A,), 2),
    "linalg.cond": (lambda a: linalg.cond(a), (A,), 2),
    "linalg.cond 1": (lambda a: linalg.cond(a, 1), (A,), 1),
    "linalg.norm 2": (lambda a: linalg.norm(a, 2), (TALL,), 2),
    "linalg.norm -2": (lambda a: linalg.norm(a, -2), (TALL,), 2),
    "linalg.norm nuc": (lambda a: linalg.norm(a, "nuc"), (TALL,), 2),
    "linalg.norm axes": (lambda a: linalg.norm(a, 2, axis=(0, 2), keepdims=True), (STACK[0],), 1),
    "linalg.matrix_norm": (lambda a: np.linalg.norm(a, "fro"), (TALL,), 1),
}
if not OLD:  # NumPy 1 takes other right sides for vectors: test_right_sides_are_told_apart_as_in_numpy_2 of test_linalg.py
    FUNCTIONS["linalg.solve stacks"] = (lambda a, b: linalg.solve(a, b), (STACK, RIGHT), 1)
if hasattr(linalg, "svdvals"):
    FUNCTIONS["linalg.svdvals"] = (lambda a: linalg.svdvals(a), (STACK,), 1)


FUNCTIONS["linalg.eigvals"] = (lambda a: linalg.eigvals(a), (A,), 0)
FUNCTIONS["linalg.eig"] = (lambda a: tuple(linalg.eig(a)), (A,), 0)


def close(got: Any, want: Any, tolerance: float = 1e-10) -> None:
    """The same structure, dtypes and numbers."""
    (xs, tree), (ys, other) = flatten(got), flatten(want)
    assert tree == other
    for x, y in zip(xs, ys):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str) -> None:
    f, args, _ = FUNCTIONS[name]
    close(irad.compile(f)(*args), f(*args))


@pytest.mark.parametrize("name", [n for n, case in FUNCTIONS.items() if case[2]])
def test_derivatives(name: str) -> None:
    f, args, order = FUNCTIONS[name]
    check_slopes(f, args, order, 1e-5)


@pytest.mark.parametrize(
    "name", ["linalg.solve", "linalg.inv", "linalg.det", "linalg.cholesky", "linalg.qr", "linalg.eigh", "linalg.pinv"]
)
def test_single_precision(name: str) -> None:
    f, args, _ = FUNCTIONS[name]
    args = tuple(x.astype(np.float32) for x in args)
    close(irad.compile(f)(*args), f(*args), 2e-3)


@pytest.mark.parametrize(
    "name", ["linalg.solve", "linalg.cholesky", "linalg.qr", "linalg.svd", "linalg.eigh", "linalg.det rank n-1"]
)
def test_without_lapack(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where NumPy's LAPACK is not found, Python runs NumPy's own functions."""
    monkeypatch.setattr(lower_linalg.lapack, "find", lambda: None)
    f, args, _ = FUNCTIONS[name]
    close(irad.compile(lambda *xs: f(*xs))(*args), f(*args))


def test_lapack_is_found_and_tested() -> None:
    found = lapack.find()
    assert found is not None and all(found.symbols.values())
    assert all(lapack._works(found, d) for d in ("f32", "f64"))


def test_a_wrong_lapack_is_not_used() -> None:
    """The test at first use notices a routine that does something else."""
    found = lapack.find()
    assert found is not None

    class Swapped(lapack.Lapack):
        def call(self, routine: str, dtype: str, *args: Any) -> None:
            super().call(routine, dtype, *("U" if isinstance(a, str) and a == "L" else a for a in args))

    assert not lapack._works(Swapped(found.pattern, found.index, found.library), "f64")


# ---- singular matrices ----------------------------------------------------------------------------------------------------------


def test_gradient_of_det_at_singular_matrices() -> None:
    a = np.diag([1.0, 2.0, 3.0, 4.0, 0.0, 0.0])
    np.testing.assert_array_equal(irad.grad(lambda a: linalg.det(a))(a), np.zeros((6, 6)))
    a[4, 4] = 5.0
    want = np.zeros((6, 6))
    want[5, 5] = 120.0
    np.testing.assert_allclose(irad.grad(lambda a: linalg.det(a))(a), want, atol=1e-12)


def test_hessian_of_det_of_rank_n_minus_2() -> None:
    h = irad.hessian(lambda a: linalg.det(a))(np.diag([1.0, 2.0, 3.0, 4.0, 0.0, 0.0]))
    want = np.zeros((6,) * 4)
    want[4, 4, 5, 5] = want[5, 5, 4, 4] = 24.0
    want[4, 5, 5, 4] = want[5, 4, 4, 5] = -24.0
    np.testing.assert_allclose(h, want, atol=1e-10)


def test_third_derivative_of_a_large_det_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match="third derivative of np.linalg.det"):
        irad.hessian(lambda a: irad.grad(lambda b: linalg.det(b))(a)[0, 0])(np.eye(13))


def test_slogdet_of_a_singular_matrix() -> None:
    sign, log = irad.compile(lambda a: linalg.slogdet(a))(np.zeros((5, 5)))
    assert (sign, log) == (0.0, -np.inf)
    guarded = irad.grad(lambda a: np.where(linalg.det(a) == 0, 0.0, linalg.slogdet(a)[1]))
    np.testing.assert_array_equal(guarded(np.zeros((5, 5))), np.zeros((5, 5)))
    np.testing.assert_allclose(guarded(A), linalg.inv(A).T, rtol=1e-9)


@pytest.mark.parametrize(
    "f", [lambda a: linalg.inv(a), lambda a: linalg.solve(a, a), lambda a: linalg.cholesky(a), lambda a: linalg.svd(a)[1]],
    ids=["inv", "solve", "cholesky", "svd"],
)  # fmt: skip
@pytest.mark.parametrize("a", [np.zeros((3, 3)), np.full((3, 3), np.nan), -np.eye(3)], ids=["zero", "nan", "minus"])
def test_raises_what_numpy_raises(f: Callable[[Any], Any], a: np.ndarray) -> None:
    try:
        want = f(a)
    except linalg.LinAlgError as e:
        with pytest.raises(linalg.LinAlgError, match=str(e)):
            irad.compile(f)(a)
        return
    np.testing.assert_array_equal(np.isnan(irad.compile(f)(a)), np.isnan(want))


def test_one_singular_matrix_of_a_stack() -> None:
    with pytest.raises(linalg.LinAlgError, match="Singular matrix"):
        irad.compile(lambda a: linalg.inv(a))(np.stack([np.eye(3), np.zeros((3, 3))]))


# ---- conventions -----------------------------------------------------------------------------------------------------------------


def test_only_the_triangle_that_is_read_has_a_slope() -> None:
    for f in (lambda a: np.sum(linalg.cholesky(a)), lambda a: linalg.eigvalsh(a)[0], lambda a: linalg.eigh(a)[1][0, 0]):
        g = irad.grad(f)(POS)
        assert np.all(g[np.triu_indices(5, 1)] == 0) and np.any(g[np.tril_indices(5, -1)] != 0)


def test_right_sides_are_told_apart_as_in_numpy_2() -> None:
    """One axis is a vector, more are matrices, whatever is installed. NumPy 1 takes a right side of one axis less than the matrices for vectors."""

    def written_out(a: Any, b: Any) -> Any:
        if b.ndim == 1:
            return linalg.solve(a, np.zeros((*a.shape[:-1], 1)) + b[:, None])[..., 0]
        return linalg.solve(a, np.zeros((*a.shape[:-1], b.shape[-1])) + b)

    for b in (RIGHT, RIGHT[0, :, 0].copy()):
        close(irad.compile(lambda a, b: linalg.solve(a, b))(STACK, b), written_out(STACK, b))
        got = irad.grad(lambda a, b: np.sum(linalg.solve(a, b) ** 2), argnums=(0, 1))(STACK, b)
        close(got, irad.grad(lambda a, b: np.sum(written_out(a, b) ** 2), argnums=(0, 1))(STACK, b))
        if OLD:
            with pytest.raises(ValueError, match="dimension"):
                linalg.solve(STACK, b)


def test_equal_eigenvalues() -> None:
    """A function of the matrix does not depend on the choice of vectors in their space."""

    def exponential(a: Any) -> Any:
        w, v = linalg.eigh(a)
        return np.sum(((v * np.exp(w)) @ v.T) ** 2)

    g = irad.grad(exponential)(np.diag([1.0, 1.0, 2.0]))
    np.testing.assert_allclose(np.diag(g), 2 * np.exp([2.0, 2.0, 4.0]), rtol=1e-12)


def test_full_bases() -> None:
    """One vector that completes a basis is determined but for its sign, several are not, their projector is."""
    first = np.arange(1.0, 4.0)

    def null_vector(a: Any) -> Any:
        _, s, vt = linalg.svd(a)
        return vt[-1] ** 2 @ first + s[0]

    def projector(a: Any) -> Any:
        u, _, _ = linalg.svd(a.T)
        return first @ (u[:, 1:] @ u[:, 1:].T) @ first[::-1]

    irad.check_grads(null_vector, (A[:2, :3],), order=2, rtol=1e-5, atol=1e-5)
    irad.check_grads(null_vector, (TALL[:, :3],), order=2, rtol=1e-5, atol=1e-5)
    x, d = A[:1, :3], np.array([[0.3, -1.0, 0.5]])
    p = lambda a: np.eye(3) - np.outer(a, a) / np.sum(a * a)
    want = (first @ (p(x + 1e-6 * d) - p(x - 1e-6 * d)) @ first[::-1]) / 2e-6
    np.testing.assert_allclose(np.sum(irad.grad(projector)(x) * d), want, rtol=1e-7)
    assert np.isnan(irad.grad(lambda a: linalg.svd(a)[2][1, 0])(x)).all()
    with pytest.raises(UnsupportedError, match="mode='complete'"):
        irad.grad(lambda a: linalg.qr(a, "complete")[0][0, 0])(TALL)
    want = irad.grad(lambda a: np.sum(linalg.svd(a, full_matrices=False)[1]))(TALL)
    np.testing.assert_allclose(irad.grad(lambda a: np.sum(linalg.svd(a)[1]))(TALL), want, rtol=1e-12)


def test_eigenvalues_of_general_matrices() -> None:
    """Symmetric functions of the eigenvalues, and the vectors, whose signs are arbitrary."""

    def f(a: Any) -> Any:
        w = linalg.eigvals(a)
        return np.sum(np.real(w * w * w)) + np.sum(np.abs(w) ** 2)

    irad.check_grads(f, (A,), order=2, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(irad.grad(lambda a: np.sum(linalg.eigvals(a).real))(A), np.eye(5), atol=1e-12)
    irad.check_grads(lambda a: linalg.eig(a)[1] ** 2, (A[:3, :3],), order=2, rtol=1e-5, atol=1e-5)


def test_pinv_of_a_matrix_that_lacks_rank() -> None:
    a = np.outer([1.0, 2.0, 3.0], [1.0, -1.0])
    np.testing.assert_allclose(irad.compile(lambda a: linalg.pinv(a, 1e-10))(a), linalg.pinv(a, 1e-10), atol=1e-12)


def test_empty_matrices() -> None:
    a = np.zeros((2, 0, 0))
    assert irad.compile(lambda a: linalg.inv(a))(a).shape == (2, 0, 0)
    np.testing.assert_array_equal(irad.compile(lambda a: linalg.det(a))(a), [1.0, 1.0])
    np.testing.assert_array_equal(irad.compile(lambda a: linalg.svd(a)[0])(np.zeros((3, 0))), np.eye(3))


def test_named_results_and_integer_matrices() -> None:
    def f(a: Any) -> Any:
        s, e = linalg.svd(a), linalg.eigh(a)
        return s.S, e.eigenvalues, linalg.slogdet(a).logabsdet, linalg.inv(a)

    a = np.array([[2, 1], [1, 3]])
    if hasattr(linalg.svd(a), "S"):
        close(irad.compile(f)(a), f(a))


def test_errors() -> None:
    with pytest.raises(ShapeError, match="square"):
        irad.compile(lambda a: linalg.inv(a))(TALL)
    with pytest.raises(ShapeError, match="at least two-dimensional"):
        irad.compile(lambda a: linalg.det(a))(V)
    with pytest.raises(IradTypeError, match="float16"):
        irad.compile(lambda a: linalg.inv(a))(A.astype(np.float16))
    with pytest.raises(ShapeError, match="right side"):
        irad.compile(lambda a, b: linalg.solve(a, b))(A, TALL)


def test_in_a_loop() -> None:
    """Newton's method, with a system to solve in each trip."""

    def root(x: Any) -> Any:
        y = x
        for _ in range(5):
            y = y - linalg.solve(np.diag(2 * y), y * y - x)
        return np.sum(y)

    x = np.array([2.0, 3.0, 5.0])
    np.testing.assert_allclose(irad.compile(root)(x), np.sum(np.sqrt(x)), rtol=1e-6)
    irad.check_grads(root, (x,), order=2)


# ---- scipy.linalg -----------------------------------------------------------------------------------------------------------------

sp = pytest.importorskip("scipy.linalg")
SCIPY: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {
    "linalg.solve": (lambda a, b: sp.solve(a, b), (A, V), 2),
    "linalg.solve transposed": (lambda a, b: sp.solve(a, b, transposed=True), (A, B), 1),
    "linalg.cho_solve": (lambda a, b: sp.cho_solve(sp.cho_factor(a), b), (POS, B), 2),
    "linalg.cho_factor": (lambda a, b: sp.cho_solve(sp.cho_factor(a, lower=True), b), (POS, V), 2),
    "linalg.cholesky": (lambda a: sp.cholesky(a), (POS,), 1),
    "linalg.lu_factor": (lambda a: sp.lu_factor(a), (A,), 0),
    "linalg.lu_factor slopes": (lambda a: sp.lu_factor(a)[0], (A,), 2),
    "linalg.lu_solve": (lambda a, b: sp.lu_solve(sp.lu_factor(a), b), (A, V), 2),
    "linalg.lu_solve trans": (lambda a, b: sp.lu_solve(sp.lu_factor(a), b, trans=1), (A, B), 2),
    "linalg.expm": (lambda a: sp.expm(a), (A * 0.1,), 2),
    "linalg.expm squared": (lambda a: sp.expm(a), (A * 3,), 1),
    "linalg.expm stack": (lambda a: sp.expm(a), (STACK[0] * np.array([0.01, 1.0, 5.0]).reshape(3, 1, 1),), 1),
    "linalg.expm zero": (lambda a: sp.expm(a), (np.zeros((3, 3)),), 2),
    "linalg.qr": (lambda a: sp.qr(a, mode="economic"), (TALL,), 1),
    "linalg.svd": (lambda a: sp.svd(a, full_matrices=False)[1], (TALL,), 1),
    "linalg.svdvals": (lambda a: sp.svdvals(a), (TALL,), 1),
    "linalg.eigh": (lambda a: sp.eigh(a, eigvals_only=True), (POS,), 1),
    "linalg.eigvalsh": (lambda a: sp.eigvalsh(a, lower=False), (POS,), 1),
    "linalg.inv": (lambda a: (sp.inv(a), sp.det(a), sp.norm(a), sp.pinv(a)), (A,), 1),
}
for _lower in (False, True):
    for _trans in (0, 1):
        for _unit in (False, True):
            SCIPY[f"linalg.solve_triangular {_lower} {_trans} {_unit}"] = (
                lambda a, b, l=_lower, t=_trans, u=_unit: sp.solve_triangular(a, b, trans=t, lower=l, unit_diagonal=u),
                (A + 3 * np.eye(5), B), 2,
            )  # fmt: skip


@pytest.mark.parametrize("name", SCIPY)
def test_scipy(name: str) -> None:
    f, args, order = SCIPY[name]
    close(irad.compile(f)(*args), f(*args), 1e-8)
    if order:
        check_slopes(f, args, order, 2e-5)


def test_scipy_errors() -> None:
    with pytest.raises(linalg.LinAlgError, match="singular matrix"):
        irad.compile(lambda a, b: sp.solve_triangular(a, b, lower=True))(np.zeros((2, 2)), np.ones(2))
    np.testing.assert_allclose(irad.compile(lambda a, b: sp.solve(a, b, assume_a="pos"))(POS, V), sp.solve(POS, V), rtol=1e-10)
