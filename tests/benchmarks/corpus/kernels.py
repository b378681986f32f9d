"""Solvers, factorisations and stencils as they are written in NumPy; each changes arrays of its own."""

import numpy as np


def seidel_2d(a, steps):
    a = a.copy()
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            a[i, 1:-1] += a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:] + a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0
    return a


def lu(a):
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


def cholesky(a):
    a = a.copy()
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return a


def trisolv(l, b):
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - l[i, :i] @ x[:i]) / l[i, i]
    return x


def durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def jacobi_2d(a, b, steps):
    a, b = a.copy(), b.copy()
    for _ in range(1, steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return a


def heat_3d(a, b, steps):
    a, b = a.copy(), b.copy()
    for _ in range(1, steps):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        a[1:-1, 1:-1, 1:-1] = (
            0.125 * (b[2:, 1:-1, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[:-2, 1:-1, 1:-1])
            + 0.125 * (b[1:-1, 2:, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, :-2, 1:-1])
            + 0.125 * (b[1:-1, 1:-1, 2:] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, 1:-1, :-2])
            + b[1:-1, 1:-1, 1:-1]
        )
    return a


def fdtd_2d(ex, ey, hz, source):
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for t in range(len(source)):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return hz


def adi(u, steps):
    """Alternating directions: columns implicitly, then rows."""
    u = u.copy()
    n = u.shape[0]
    v, p, q = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    dx, dt = 1.0 / n, 1.0 / steps
    mul1, mul2 = 2.0 * dt / dx**2, dt / dx**2
    a, d = -mul1 / 2.0, -mul2 / 2.0
    b, e = 1.0 + mul1, 1.0 + mul2
    c, f = a, d
    for _ in range(steps):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -c / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (-d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - f * u[j, 2:] - a * q[1:-1, j - 1]) / (
                a * p[1:-1, j - 1] + b
            )
        v[-1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            p[1:-1, j] = -f / (d * p[1:-1, j - 1] + e)
            q[1:-1, j] = (-a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - c * v[2:, j] - d * q[1:-1, j - 1]) / (
                d * p[1:-1, j - 1] + e
            )
        u[1:-1, -1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]
    return u


def gramschmidt(a):
    a = a.copy()
    q, r = np.zeros_like(a), np.zeros((a.shape[1], a.shape[1]))
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


def vertical_advection(u, w, dt):
    """Columns of a tridiagonal system, planes of i and j at once; w has one level more."""
    depth = u.shape[2]
    c, d, out = np.zeros_like(u), np.zeros_like(u), np.empty_like(u)
    for k in range(depth):
        below, above = 0.25 * w[:, :, k], 0.25 * w[:, :, k + 1]
        if k == 0:
            b = 1.0 / dt - above
            c[:, :, 0] = above / b
            d[:, :, 0] = (u[:, :, 0] / dt - above * (u[:, :, 1] - u[:, :, 0])) / b
        elif k < depth - 1:
            rhs = u[:, :, k] / dt - above * (u[:, :, k + 1] - u[:, :, k]) + below * (u[:, :, k - 1] - u[:, :, k])
            m = 1.0 / (1.0 / dt - above + below + below * c[:, :, k - 1])
            c[:, :, k] = above * m
            d[:, :, k] = (rhs + below * d[:, :, k - 1]) * m
        else:
            rhs = u[:, :, k] / dt + below * (u[:, :, k - 1] - u[:, :, k])
            m = 1.0 / (1.0 / dt + below + below * c[:, :, k - 1])
            d[:, :, k] = (rhs + below * d[:, :, k - 1]) * m
    out[:, :, depth - 1] = d[:, :, depth - 1]
    for k in range(depth - 2, -1, -1):
        out[:, :, k] = d[:, :, k] - c[:, :, k] * out[:, :, k + 1]
    return out


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def _matrix(rng, n):
    return rng.standard_normal((n, n)) + 2 * n * np.eye(n)


def arguments(name, rng):
    """Arguments of a kernel, at the size that its table names."""
    if name == "cholesky":
        m = rng.standard_normal((100, 100))
        return (m @ m.T + 100 * np.eye(100),)
    return {
        "seidel_2d": lambda: (rng.random((50, 50)), 8),
        "lu": lambda: (_matrix(rng, 60),),
        "trisolv": lambda: (np.tril(_matrix(rng, 2000)), rng.random(2000)),
        "durbin": lambda: (0.3 * 0.5 ** np.arange(1000.0),),
        "jacobi_2d": lambda: (rng.random((150, 150)), rng.random((150, 150)), 50),
        "heat_3d": lambda: (rng.random((25, 25, 25)), rng.random((25, 25, 25)), 25),
        "fdtd_2d": lambda: (rng.random((200, 220)), rng.random((200, 220)), rng.random((200, 220)), rng.random(20)),
        "adi": lambda: (rng.random((100, 100)), 5),
        "gramschmidt": lambda: (rng.random((70, 60)) + np.eye(70, 60),),
        "vertical_advection": lambda: (rng.random((60, 60, 40)), 0.1 * rng.random((60, 60, 41)), 0.5),
        "softmax": lambda: (rng.random((16, 16, 128, 128)),),
    }[name]()


WRT = {"seidel_2d": (0,), "lu": (0,), "cholesky": (0,), "trisolv": (0, 1), "durbin": (0,), "jacobi_2d": (0, 1)}
WRT |= {
    "heat_3d": (0, 1),
    "fdtd_2d": (0, 1, 2, 3),
    "adi": (0,),
    "gramschmidt": (0,),
    "vertical_advection": (0, 1),
    "softmax": (0,),
}
