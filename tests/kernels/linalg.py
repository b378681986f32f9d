"""Linear algebra by loops."""

import numpy as np


def lu(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return np.sum(np.log(np.abs(np.diag(a))))


def lu_solve(a, b):
    n = a.shape[0]
    x, y = np.zeros_like(b), np.zeros_like(b)
    for i in range(n):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    for i in range(n):
        y[i] = b[i] - a[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def cholesky(a):
    n = a.shape[0]
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, n):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return np.sum(np.log(np.diag(a)))


def cholesky_scalar_loops(a):
    n = len(a)
    low = np.zeros((n, n))
    for j in range(n):
        for i in range(j, n):
            s = a[i, j]
            for k in range(j):
                s = s - low[i, k] * low[j, k]
            if i == j:
                low[j, j] = np.sqrt(s)
            else:
                low[i, j] = s / low[j, j]
    return low


def triangular_solve(low, b):
    x = np.zeros_like(b)
    for i in range(x.shape[0]):
        x[i] = (b[i] - low[i, :i] @ x[:i]) / low[i, i]
    return x


def durbin(r):
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def gram_schmidt(a):
    n = a.shape[1]
    q, r = np.zeros_like(a), np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


def symmetric_rank_k(alpha, beta, c, a):
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return np.sum(c)


def symmetric_rank_2k(alpha, beta, c, a, b):
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += a[: i + 1, k] * alpha * b[i, k] + b[: i + 1, k] * alpha * a[i, k]
    return np.sum(c)


def triangular_matmul(alpha, a, b):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    b *= alpha
    return np.sum(b * b)


def determinant(a):
    """By elimination without pivoting."""
    m, det = a.copy(), 1.0
    for k in range(len(m)):
        det *= m[k, k]
        for i in range(k + 1, len(m)):
            m[i, k:] -= m[i, k] / m[k, k] * m[k, k:]
    return det


def minors(a):
    """The determinant by recursion over minors."""
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    total = 0.0
    for j in range(n):
        minor = np.concatenate([a[1:, :j], a[1:, j + 1 :]], axis=1)
        total = total + (-1) ** j * a[0, j] * minors(minor)
    return total


def conjugate_gradient(a, b, tol):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rs = r @ r
    trips = 0
    while rs > tol and trips < 50:
        ap = a @ p
        step = rs / (p @ ap)
        x += step * p
        r -= step * ap
        new = r @ r
        p = r + new / rs * p
        rs = new
        trips += 1
    return x


def power_iteration(a, v, steps):
    for _ in range(steps):
        w = a @ v
        v = w / np.sqrt(np.sum(w**2))
    return v @ a @ v


def sparse_matvec(values, columns, starts, x):
    y = np.zeros(len(starts) - 1)
    for i in range(len(y)):
        for k in range(starts[i], starts[i + 1]):
            y[i] += values[k] * x[columns[k]]
    return y


def _dominant(r, n):
    return r.uniform(0.1, 1.0, (n, n)) + n * np.eye(n)


def _definite(r, n):
    m = r.uniform(-1, 1, (n, n))
    return m @ m.T + n * np.eye(n)


CASES = [
    (lu, lambda r: (_dominant(r, 6),)),
    (lu_solve, lambda r: (_dominant(r, 6), r.uniform(0, 1, 6))),
    (cholesky, lambda r: (_definite(r, 6),)),
    (cholesky_scalar_loops, lambda r: (_definite(r, 6),)),
    (triangular_solve, lambda r: (np.tril(_dominant(r, 6)), r.uniform(0, 1, 6))),
    (durbin, lambda r: (r.uniform(-0.2, 0.2, 6),)),
    (gram_schmidt, lambda r: (_dominant(r, 5)[:, :4].copy(),)),
    (symmetric_rank_k, lambda r: (1.5, 1.2, _dominant(r, 5), r.uniform(0, 1, (5, 6)))),
    (symmetric_rank_2k, lambda r: (1.5, 1.2, _dominant(r, 5), r.uniform(0, 1, (5, 6)), r.uniform(0, 1, (5, 6)))),
    (triangular_matmul, lambda r: (1.5, _dominant(r, 5), r.uniform(0, 1, (5, 6)))),
    (determinant, lambda r: (_dominant(r, 6),)),
    (minors, lambda r: (_dominant(r, 4),)),
    (conjugate_gradient, lambda r: (_definite(r, 6), r.uniform(0, 1, 6), 1e-20)),
    (power_iteration, lambda r: (_definite(r, 6), r.uniform(0, 1, 6), 9)),
    (
        sparse_matvec,
        lambda r: (r.uniform(0, 1, 8), np.array([0, 2, 1, 3, 0, 1, 2, 3]), np.array([0, 2, 2, 5, 8]), r.uniform(0, 1, 4)),
    ),
]
