"""Linear algebra written out: factorisations, iterations, sparse rows, transport."""

import numpy as np

from tests.benchmarks.corpus.program import Program


def conjugate_gradient(b, k, tol):
    """(A x)_i by slices of a variable-coefficient Laplacian, until the residual is small."""
    x = np.zeros(len(b))
    r = b.copy()
    p = r.copy()
    rs = np.sum(r * r)
    it = 0
    while rs > tol * tol and it < 2 * len(b):
        ap = p.copy()
        ap[1:-1] += k[:-2] * (p[1:-1] - p[:-2]) + k[1:-1] * (p[1:-1] - p[2:])
        ap[0] += k[0] * (p[0] - p[1])
        ap[-1] += k[-2] * (p[-1] - p[-2])
        alpha = rs / np.sum(p * ap)
        x += alpha * p
        r -= alpha * ap
        new = np.sum(r * r)
        p = r + new / rs * p
        rs = new
        it += 1
    return x


def conjugate_gradient_data(rng, n):
    return rng.standard_normal(n), 10 + 50 * rng.random(n), 1e-8


def householder(a):
    a = a.copy()
    m, n = a.shape
    for k in range(n):
        v = a[k:, k].copy()
        v[0] += np.sign(v[0]) * np.sqrt(np.sum(v * v))
        v /= np.sqrt(np.sum(v * v))
        for j in range(k, n):
            a[k:, j] -= 2 * v * np.dot(v, a[k:, j])
    return a


def householder_data(rng, n):
    return (rng.standard_normal((n + n // 2, n)),)


def lu_pivoted(a, b):
    """Gauss with partial pivoting; determinant and solution."""
    a, x = a.copy(), b.copy()
    n = len(b)
    logdet = 0.0
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if p != k:
            for j in range(n):
                t = a[k, j]
                a[k, j] = a[p, j]
                a[p, j] = t
            t = x[k]
            x[k] = x[p]
            x[p] = t
        logdet += np.log(abs(a[k, k]))
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
            x[i] -= a[i, k] * x[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= a[i, j] * x[j]
        x[i] /= a[i, i]
    return logdet, x


def lu_pivoted_data(rng, n):
    return rng.standard_normal((n, n)), rng.standard_normal(n)


def jacobi_eigen(a, sweeps):
    """Rotations over all pairs; the diagonal at the end."""
    a = a.copy()
    n = a.shape[0]
    for _ in range(sweeps):
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(a[p, q]) > 1e-12:
                    theta = (a[q, q] - a[p, p]) / (2 * a[p, q])
                    sign = 1.0 if theta >= 0 else -1.0
                    t = sign / (abs(theta) + np.sqrt(theta * theta + 1))
                    c = 1 / np.sqrt(t * t + 1)
                    s = t * c
                    col_p, col_q = a[:, p].copy(), a[:, q].copy()
                    a[:, p] = c * col_p - s * col_q
                    a[:, q] = s * col_p + c * col_q
                    row_p, row_q = a[p, :].copy(), a[q, :].copy()
                    a[p, :] = c * row_p - s * row_q
                    a[q, :] = s * row_p + c * row_q
    return np.diag(a)


def jacobi_eigen_data(rng, n):
    a = rng.standard_normal((n, n))
    return a + a.T, 3


def banded_cholesky(band):
    """band[i, k] is A[i, i - k]; row by row in place."""
    band = band.copy()
    n, w = band.shape
    for i in range(n):
        for j in range(max(0, i - w + 1), i + 1):
            s = band[i, i - j]
            for k in range(max(0, i - w + 1, j - w + 1), j):
                s -= band[i, i - k] * band[j, j - k]
            if i == j:
                band[i, 0] = np.sqrt(s)
            else:
                band[i, i - j] = s / band[j, 0]
    return band


def banded_cholesky_data(rng, n):
    band = 0.2 * rng.standard_normal((n, 8))
    band[:, 0] = 4.0
    return (band,)


def sparse_sweeps(data, indices, indptr, b, sweeps):
    """Gauss-Seidel on compressed rows."""
    x = np.zeros(len(b))
    for _ in range(sweeps):
        for i in range(len(b)):
            s = b[i]
            d = 1.0
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                if j == i:
                    d = data[k]
                else:
                    s -= data[k] * x[j]
            x[i] = s / d
    return x


def sparse_sweeps_data(rng, n):
    counts = rng.integers(2, 8, n)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices = rng.integers(0, n, indptr[-1])
    data = 0.1 * rng.standard_normal(indptr[-1])
    indices[indptr[:-1]] = np.arange(n)
    data[indices == np.repeat(np.arange(n), counts)] = 1.5
    return data, indices, indptr, rng.standard_normal(n), 5


def arnoldi(a, v, m):
    """A basis of a Krylov space by modified Gram-Schmidt."""
    n = len(v)
    q = np.zeros((n, m + 1))
    h = np.zeros((m + 1, m))
    q[:, 0] = v / np.linalg.norm(v)
    for k in range(m):
        w = a @ q[:, k]
        for j in range(k + 1):
            h[j, k] = np.dot(q[:, j], w)
            w = w - h[j, k] * q[:, j]
        h[k + 1, k] = np.linalg.norm(w)
        q[:, k + 1] = w / h[k + 1, k]
    return h


def arnoldi_data(rng, n):
    return rng.standard_normal((n, n)) / np.sqrt(n), rng.standard_normal(n), 12


def matrix_exponential(a, squarings, terms):
    b = a / 2.0**squarings
    e = np.eye(a.shape[0])
    t = np.eye(a.shape[0])
    for k in range(1, terms):
        t = t @ b / k
        e = e + t
    for _ in range(squarings):
        e = e @ e
    return e


def matrix_exponential_data(rng, n):
    return rng.standard_normal((n, n)) / n, 4, 10


def sinkhorn(cost, a, b, eps, iterations):
    """Entropic transport in the logarithmic domain."""
    f, g = np.zeros(len(a)), np.zeros(len(b))
    for _ in range(iterations):
        m = (g[None, :] - cost) / eps
        top = np.max(m, axis=1)
        f = eps * (np.log(a) - top - np.log(np.sum(np.exp(m - top[:, None]), axis=1)))
        m = (f[:, None] - cost) / eps
        top = np.max(m, axis=0)
        g = eps * (np.log(b) - top - np.log(np.sum(np.exp(m - top), axis=0)))
    return np.sum(f * a) + np.sum(g * b)


def sinkhorn_data(rng, n):
    x, y = rng.random((n, 2)), rng.random((n, 2))
    return np.sum((x[:, None] - y) ** 2, axis=2), np.ones(n) / n, np.ones(n) / n, 0.1, 20


PROGRAMS = (
    Program(conjugate_gradient, conjugate_gradient_data, (100, 2000), (0, 1), about="while, carried vectors"),
    Program(householder, householder_data, (20, 120), about="shrinking columns"),
    Program(lu_pivoted, lu_pivoted_data, (20, 100), (0, 1), about="search, swaps, triangular loops"),
    Program(jacobi_eigen, jacobi_eigen_data, (8, 50), about="rows and columns under a branch"),
    Program(banded_cholesky, banded_cholesky_data, (100, 5000), about="bounds by max"),
    Program(sparse_sweeps, sparse_sweeps_data, (100, 5000), (0, 3), about="row pointers, in place"),
    Program(arnoldi, arnoldi_data, (50, 500), (0, 1), about="columns of a basis"),
    Program(matrix_exponential, matrix_exponential_data, (8, 100), about="products in loops"),
    Program(sinkhorn, sinkhorn_data, (30, 200), about="log-sum-exp along both axes"),
)
