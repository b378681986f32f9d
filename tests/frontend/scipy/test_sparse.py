"""scipy.sparse: matrices from outside and made inside, their arithmetic and systems, with SciPy's own numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import UnsupportedError

sp = pytest.importorskip("scipy.sparse")
spl = pytest.importorskip("scipy.sparse.linalg")

N = 30
RNG = np.random.default_rng(0)
B = sp.random(N, N, 0.1, random_state=0, format="csc") + sp.eye(N) * 3
L = sp.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(N, N), format="csr")
C = sp.coo_matrix(
    (np.array([1.0, 2.0, 3.0, 4.0]), (np.array([0, 5, 5, 2]), np.array([1, 7, 7, 0]))), shape=(N, N)
)  # (5, 7) twice
W = sp.lil_matrix(L)
X = RNG.standard_normal(N)


def products(u: Any) -> Any:
    return np.sum((B @ u) ** 2) + np.sum(L.dot(u) * u) + np.sum(C * u) + np.sum((W @ u) ** 2) + u @ (L.T @ u) + np.sum(u @ B)


def with_columns(u: Any) -> Any:
    x = np.stack([u, u * u], axis=1)
    return np.sum((B @ x) ** 2) + np.sum((x.T @ B) ** 2)


def arithmetic(u: Any) -> Any:
    a = B @ L + 2.0 * L.T - B.multiply(L) / 3.0 + (-C) + sp.identity(N) * u[0]
    return np.sum((a @ u) ** 2) + np.sum(a.diagonal() * u) + a.trace() + np.sum(B.power(2).dot(u)) + (L**2 @ u)[3]


def sums(u: Any) -> Any:
    rows = np.asarray(B.sum(axis=1)).ravel()
    rows = rows + C.power(2) @ np.ones(N) + abs(C) @ np.ones(N) + spl.norm(C)
    return np.sum(rows * u) + B.sum() * u[1] + spl.norm(B * u[0]) + np.sum(np.asarray(C.sum(axis=0)).ravel() * u) + B.nnz * u[2]


def parts(u: Any) -> Any:
    free = np.arange(1, N - 1)
    inner, again = B[free, :][:, free], B[np.ix_(free, free)]
    out = np.sum(spl.spsolve(inner.tocsc(), u[free])) + np.sum((again @ u[free]) ** 2)
    return (
        out + B[3, 3] * u[0] + C.tocsr()[5, 7] * u[1] + np.sum(B[2:5, :] @ u) + np.sum(sp.tril(B) @ u) + np.sum(sp.triu(B, 1) @ u)
    )


def stacked(u: Any) -> Any:
    two = np.concatenate([u, 2 * u])
    out = np.sum(sp.vstack([B, L]) @ u) + np.sum((sp.hstack([B, L]) @ two) ** 2) + np.sum(sp.block_diag([B, L]) @ two)
    return out + np.sum(sp.bmat([[B, None], [None, L]]).T @ two)


def arrays(u: Any) -> Any:
    a = sp.csr_array(L)
    return np.sum((a * a) @ u) + np.sum(a.sum(axis=0) * u) + np.sum((a @ a) @ u)


def implicit_heat(u: Any) -> Any:
    a = sp.eye(N) - 0.1 * L
    for _ in range(3):
        u = spl.spsolve(a.tocsc(), u)
    return np.sum(u**2)


def factorised_heat(u: Any) -> Any:
    solve = spl.factorized((sp.eye(N) - 0.1 * L).tocsc())
    lu = spl.splu(B.tocsc())
    for _ in range(20):
        u = solve(u)
    return np.sum(u**2) + np.sum(lu.solve(u))


def conductivity(k: Any) -> Any:
    k = k * k + 1.0
    a = sp.diags([-k[1:-1], k[:-1] + k[1:] + 1.0, -k[1:-1]], [-1, 0, 1], format="csc")
    return np.sum(spl.spsolve(a, np.linspace(0.0, 1.0, N - 1)) ** 2)


def assembled(k: Any) -> Any:
    i = np.arange(N - 1)
    row, col = np.concatenate([i, i, i + 1, i + 1]), np.concatenate([i, i + 1, i, i + 1])
    k = np.exp(k[:-1])
    a = sp.coo_matrix((np.concatenate([k, -k, -k, k]), (row, col)), shape=(N, N)).tocsr() + 0.1 * sp.eye(N)
    return np.sum(spl.spsolve(a, np.arange(N) * 0.1) ** 2)


def element_by_element(k: Any) -> Any:
    a = sp.lil_matrix((N, N))
    for e in range(N - 1):
        for i in (0, 1):
            for j in (0, 1):
                a[e + i, e + j] += (1.0 + k[e] ** 2) * (1.0 if i == j else -1.0)
    a[0, :] = 0
    a[0, 0] = 1.0
    return np.sum(spl.spsolve(a.tocsr(), np.ones(N)))


def places_by_data(u: Any) -> Any:
    first, row, col, data = np.argsort(u)[0], [], [], []
    for i in range(N):
        row.append(i)
        col.append(i)
        data.append(2.0 + u[i] ** 2)
        if u[i] > 0.5:
            row.append(i)
            col.append(first)
            data.append(0.1 * u[i])
    return np.sum(spl.spsolve(sp.coo_matrix((data, (row, col)), shape=(N, N)).tocsr(), np.arange(N)))


def plane(s: Any) -> Any:
    t, i = sp.diags([-1, 2, -1], [-1, 0, 1], shape=(6, 6)), sp.identity(6)
    a = sp.kron(t, i) + sp.kron(i, t) + sp.kronsum(t, t) * s[0] ** 2
    return np.sum(spl.spsolve(a.tocsr(), np.arange(36.0)) * s[1])


def iterated(u: Any) -> Any:
    a = B.T @ B
    return np.sum(spl.cg(a, u, rtol=1e-13)[0] ** 2) + np.sum(spl.gmres(B, u, rtol=1e-13)[0])


def complex_numbers(u: Any) -> Any:
    a = sp.eye(N, dtype=complex) * (1 + 0.5j) - 0.1j * L
    return np.sum(np.abs(spl.spsolve(a.tocsc(), u)) ** 2) + np.sum(np.abs(a.conj().T @ u))


def several_right_sides(u: Any) -> Any:
    return np.sum(spl.spsolve(B, np.stack([u, u**2], axis=1)) ** 3)


def lowest(u: Any) -> Any:
    return np.sum(spl.eigsh(L * (1.0 + u[0] ** 2), k=2, which="SA")[0])


CASES = [
    products, with_columns, arithmetic, sums, parts, stacked, arrays, implicit_heat, factorised_heat, conductivity, assembled,
    element_by_element, places_by_data, plane, iterated, complex_numbers, several_right_sides, lowest,
]  # fmt: skip


@pytest.mark.parametrize("f", CASES, ids=[f.__name__ for f in CASES])
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_value_and_gradient(f: Callable[[Any], Any]) -> None:
    value, slope = irad.value_and_grad(f)(X)
    assert np.isclose(value, f(X), rtol=1e-10)
    rng = np.random.default_rng(1)
    for _ in range(2):
        d, h = rng.standard_normal(N), 1e-5
        assert np.isclose(slope @ d, (f(X + h * d) - f(X - h * d)) / (2 * h), rtol=2e-6, atol=1e-7)


def test_second_derivatives_of_a_solution() -> None:
    h, e = irad.hessian(conductivity)(X), 1e-4
    g = irad.grad(conductivity)
    for k in (0, 7):
        d = np.eye(N)[k]
        assert np.allclose(h[k], (g(X + e * d) - g(X - e * d)) / (2 * e), rtol=1e-5, atol=1e-7)


def test_numbers_are_read_at_each_call_and_places_compared() -> None:
    a = sp.csr_matrix(np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 4.0]]))
    x = np.array([1.0, 2.0, 3.0])
    c = irad.compile(lambda u: np.sum((a @ u) ** 2))
    assert np.isclose(c(x), np.sum((a @ x) ** 2))
    a.data[1] = 7.0
    assert np.isclose(c(x), np.sum((a @ x) ** 2))
    a[0, 2] = 5.0
    assert np.isclose(c(x), np.sum((a @ x) ** 2))


def test_as_an_argument() -> None:
    c = irad.compile(lambda u, m: np.sum((m @ u) ** 2))
    for m in (B, 2 * B, L, sp.csr_matrix(B + sp.eye(N, k=5))):
        assert np.isclose(c(X, m), np.sum((m @ X) ** 2))
    assert np.allclose(irad.grad(lambda u, m: np.sum((m @ u) ** 2))(X, B), 2 * B.T @ (B @ X))


def test_classes() -> None:
    def f(u: Any) -> Any:
        a = L.tocsc()
        assert type(L) is sp.csr_matrix and isinstance(a, sp.csc_matrix) and not isinstance(a, (sp.csr_matrix, np.ndarray))
        assert isinstance(a, sp.spmatrix) and sp.issparse(a) and not sp.issparse(u) and a.shape == (N, N) and a.format == "csc"
        return np.sum(a @ u)

    assert np.isclose(irad.compile(f)(X), np.sum(L @ X))


def test_what_is_asked_of_arrays_and_of_rows() -> None:
    ratings = sp.csr_matrix(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0], [0.0, 0.0, 4.0]]))

    def f(u: Any, m: Any) -> Any:
        total = np.sum(u**2) if not sp.issparse(u) and not sp.isspmatrix(u) else 0.0
        for i in range(3):
            _, found = m[i, :].nonzero()
            total = total + np.sum(u[found] * m[i, :].data) * len(found)
        return total

    u = np.array([0.3, 0.5, 0.7])
    assert np.isclose(irad.compile(f)(u, ratings), f(u, ratings), rtol=1e-14)
    assert np.allclose(irad.grad(f)(u, ratings), 2 * u + [2.0, 2.0, 10.0])


def test_a_large_plane_keeps_its_band() -> None:
    t, i = sp.diags([-1, 2, -1], [-1, 0, 1], shape=(20, 20)), sp.identity(20)
    a = (sp.kron(t, i) + sp.kron(i, t)).tocsc()
    order = np.random.default_rng(2).permutation(400)
    a = a[order][:, order]
    b = np.linspace(-1.0, 1.0, 400)
    assert np.allclose(irad.compile(lambda b: spl.spsolve(a, b))(b), spl.spsolve(a, b), rtol=1e-9)


def test_todense_is_a_matrix() -> None:
    f = lambda u: (B.todense() * np.asmatrix(u).T, B.sum(axis=0), B.sum(axis=1))
    for want, got in zip(f(X), irad.compile(f)(X)):
        assert type(got) is np.matrix and np.allclose(want, got)
    g = irad.grad(lambda u: (B.todense() * np.asmatrix(u).T).sum())(X)
    assert np.allclose(g, B.toarray().sum(0))


def test_functions_that_call_methods() -> None:
    def f(u: Any) -> Any:
        a = B.multiply(u) * (1 + 2j)
        return (
            np.sum(np.conj(a).toarray().imag * np.arange(len(u))) + np.sum(np.abs(a).toarray()) + a.real.sum() + 2 * a.imag.sum()
        )

    value, slope = irad.value_and_grad(f)(X)
    assert value == pytest.approx(f(X))
    d, h = np.linspace(-1, 1, len(X)), 1e-6
    assert slope @ d == pytest.approx((f(X + h * d) - f(X - h * d)) / (2 * h), rel=1e-6)


def test_what_is_refused_says_what_to_write() -> None:
    def stored(u: Any) -> Any:
        B[0, 0] = u[0]
        return np.sum(B @ u)

    with pytest.raises(UnsupportedError, match="copy it"):
        irad.compile(stored)(X)
    with pytest.raises(ValueError, match="dimension mismatch"):
        irad.compile(lambda u: np.sum(B @ u[:3]))(X)


def test_comparisons() -> None:
    """Of two matrices, and with numbers; what is True is counted."""
    row, col = np.array([0, 1, 2, 0, 1]), np.array([0, 1, 2, 2, 0])

    def compared(x: Any) -> Any:
        a = sp.csr_matrix((x, (row, col)), shape=(3, 3))
        b = a.T * 2
        n = (a > 1.0).nnz + 10 * (a != b).nnz + 100 * (a < b).nnz + 1000 * (a == b).nnz
        return n, (a < b).toarray(), ((a >= b).toarray() & (a <= 2.0).toarray()), (a != sp.eye(2)), abs(a - b).sum()

    def symmetric(x: Any) -> Any:
        a = sp.csr_matrix((x, (row, col)), shape=(3, 3))
        a = a @ a.T + sp.eye(3)
        if (a != a.T).nnz != 0:
            a = 0.5 * (a + a.T)
        return np.sum(spl.spsolve(a.tocsc(), x[:3]) ** 2) + (a @ a).sum()

    x = np.array([0.5, 2.0, 3.0, 1.5, 4.0])
    for got, want in zip(irad.compile(compared)(x), compared(x)):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_allclose(irad.compile(symmetric)(x), symmetric(x))
    irad.check_grads(symmetric, (x,), modes=("rev",), rtol=1e-5)


def test_find_of_places_that_data_decide() -> None:
    def found(x: Any) -> Any:
        i, j, v = sp.find(sp.csr_matrix(np.where(np.outer(x, x) > 1.0, np.outer(x, x), 0.0)))
        return np.sum(v * (i + 2 * j))

    x = np.array([0.5, 2.5, 3.0, 0.1])
    np.testing.assert_allclose(irad.compile(found)(x), found(x))
    irad.check_grads(found, (x,), modes=("rev",))


def dense_around(x, kind):
    A = kind(x)
    both = (A + np.outer(x, x), np.outer(x, x) - A, A - np.ones((3, 3)))
    return np.sum(np.asarray(both[0] * both[1])) + np.asarray(both[2])[1, 2], both[0]


@pytest.mark.parametrize("kind", [sp.diags, sp.diags_array])
def test_sparse_and_dense_are_added(kind):
    """A matrix of them, whose product is that of matrices; of sparse arrays an array."""
    f = lambda x: dense_around(x, kind)[0]
    x = np.array([1.0, -2.0, 3.0])
    want = f(x)
    value, slope = irad.compile(f).value_and_grad(x)
    h = 1e-6 * np.eye(3)
    np.testing.assert_allclose([value, *slope], [want, *((f(x + d) - f(x - d)) / 2e-6 for d in h)], rtol=1e-7)
    assert type(irad.compile(lambda x: dense_around(x, kind)[1])(x)) is type(dense_around(x, kind)[1])


def by_operator(x, complex_parts):
    weights = np.array([1.0, 2.0, 4.0]) * (1 + 0.5j if complex_parts else 1.0)

    def apply(v):
        return x * v * weights + np.sum(v)

    A = spl.LinearOperator((3, 3), matvec=apply, rmatvec=apply)
    u, info = spl.cg(A, np.array([1.0, 0.0, 2.0]), rtol=1e-14, atol=0)
    return np.sum(np.abs(u) ** 2) + np.sum(np.abs(A @ x)) + np.abs(A.dot(np.eye(3)))[2, 2] + info


@pytest.mark.parametrize("complex_parts", [False, True])
def test_systems_of_operators(complex_parts):
    x = np.array([2.0, 3.0, 1.5])
    W = np.diag(np.array([1.0, 2.0, 4.0]) * (1 + 0.5j if complex_parts else 1.0) * x) + 1.0
    u = np.linalg.solve(W, np.array([1.0, 0.0, 2.0]))
    want = np.sum(np.abs(u) ** 2) + np.sum(np.abs(W @ x)) + np.abs(W[2, 2])
    f = lambda x: by_operator(x, complex_parts)
    assert np.isclose(irad.compile(f)(x), want, rtol=1e-12)
    g, h = irad.grad(f)(x), 1e-6
    at = lambda d: irad.compile(f)(x + d)
    np.testing.assert_allclose(g, [(at(h * e) - at(-h * e)) / (2 * h) for e in np.eye(3)], rtol=1e-7)
