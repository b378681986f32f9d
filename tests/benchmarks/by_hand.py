"""The workloads with their gradients written out: (value, gradients...)."""

from __future__ import annotations

from typing import Any

import numpy as np


def chain(x: Any) -> Any:
    e, q = np.exp(-0.5 * x), 1 + x * x
    s = np.sin(x) * e
    th = np.tanh(s + x)
    t = th / q
    root = np.sqrt(x + 0.25)
    u = np.log(1 + t * t) + root
    w = u * s
    v = np.cos(w) - u / (2 + t)
    value = np.sum(v * v + s * t)
    dv = 2 * v
    dw = -np.sin(w) * dv
    du = dw * s - dv / (2 + t)
    dt = s + dv * u / (2 + t) ** 2 + du * 2 * t / (1 + t * t)
    da = dt / q * (1 - th * th)
    ds = t + dw * u + da
    return value, du * 0.5 / root - dt * t / q * 2 * x + da + ds * (np.cos(x) * e - 0.5 * s)


def logistic(w: Any, b: Any, X: Any, y: Any) -> Any:
    z = X @ w + b
    value = np.mean(np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))) - y * z)
    r = (1 / (1 + np.exp(-z)) - y) / len(y)
    return value, X.T @ r, np.sum(r)


def heat(u: Any, target: Any, steps: int) -> Any:
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    d = 2 * (u - target)
    value = np.sum((u - target) ** 2)
    for _ in range(steps):
        g = 0.2 * d[1:-1]
        d[1:-1] -= 2 * g
        d[2:] += g
        d[:-2] += g
    return value, d


def phases(u: Any, target: Any, steps: int) -> Any:
    states = np.empty((steps + 1, *u.shape))
    states[:] = u
    for s in range(steps):
        u, c = states[s], states[s][1:-1, 1:-1]
        new = c + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * c) + 0.05 * c * (1 - c * c)
        states[s + 1][1:-1, 1:-1] = new
    d = 2 * (states[steps] - target)
    value = np.sum((states[steps] - target) ** 2)
    for s in range(steps - 1, -1, -1):
        c, g = states[s][1:-1, 1:-1], d[1:-1, 1:-1].copy()
        d[1:-1, 1:-1] = g * (0.65 - 0.15 * c * c)
        d[2:, 1:-1] += 0.1 * g
        d[:-2, 1:-1] += 0.1 * g
        d[1:-1, 2:] += 0.1 * g
        d[1:-1, :-2] += 0.1 * g
    return value, d


def gauss_seidel(a: Any, sweeps: int) -> Any:
    a = a.copy()
    n, m = a.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    d = 2 * a
    for _ in range(sweeps):
        for i in range(n - 2, 0, -1):
            for j in range(m - 2, 0, -1):
                g = 0.2 * d[i, j]
                d[i, j] = g
                d[i - 1, j] += g
                d[i + 1, j] += g
                d[i, j - 1] += g
                d[i, j + 1] += g
    return np.sum(a * a), d


def logistic_map(x: Any, r: Any, n: int) -> Any:
    xs = np.empty(n)
    for k in range(n):
        xs[k] = x
        x = r * x * (1 - x)
    dx, dr = 1.0, 0.0
    for k in range(n - 1, -1, -1):
        dr += dx * xs[k] * (1 - xs[k])
        dx *= r * (1 - 2 * xs[k])
    return x, dx, dr


def ode(y: Any, p: Any, steps: int) -> Any:
    """States are kept, stages are computed again; each stage's adjoint goes through the Jacobian of the right-hand side."""
    h = 10.0 / steps
    a, b, c, d = p[0], p[1], p[2], p[3]
    ys = np.empty((steps, 2))
    u, v = y[0], y[1]
    us, vs, ku, kv = np.empty(4), np.empty(4), np.empty(4), np.empty(4)
    for n in range(steps):
        ys[n, 0], ys[n, 1] = u, v
        for k in range(4):
            f = 0.0 if k == 0 else h if k == 3 else 0.5 * h
            x, z = u + f * ku[k - 1], v + f * kv[k - 1]
            if k == 0:
                x, z = u, v
            ku[k], kv[k] = a * x - b * x * z, c * x * z - d * z
        u += h / 6 * (ku[0] + 2 * ku[1] + 2 * ku[2] + ku[3])
        v += h / 6 * (kv[0] + 2 * kv[1] + 2 * kv[2] + kv[3])
    du, dv, dp = 2 * u, 2 * v, np.zeros(4)
    for n in range(steps - 1, -1, -1):
        for k in range(4):
            f = h if k == 3 else 0.5 * h
            x, z = ys[n, 0], ys[n, 1]
            if k > 0:
                x, z = x + f * ku[k - 1], z + f * kv[k - 1]
            us[k], vs[k] = x, z
            ku[k], kv[k] = a * x - b * x * z, c * x * z - d * z
        gu, gv, eu, ev = 0.0, 0.0, 0.0, 0.0
        for k in range(3, -1, -1):
            weight = h / 6 if k == 0 or k == 3 else h / 3
            f = 0.0 if k == 3 else h if k == 2 else 0.5 * h
            su, sv = weight * du + f * gu, weight * dv + f * gv
            x, z = us[k], vs[k]
            gu = su * (a - b * z) + sv * c * z
            gv = -su * b * x + sv * (c * x - d)
            eu, ev = eu + gu, ev + gv
            dp += np.array([su * x, -su * x * z, sv * x * z, -sv * z])
        du, dv = du + eu, dv + ev
    return u * u + v * v, np.array([du, dv]), dp


def mlp(W1: Any, b1: Any, W2: Any, b2: Any, X: Any, y: Any) -> Any:
    n = np.arange(len(y))
    a = np.maximum(X @ W1 + b1, 0.0)
    z = a @ W2 + b2
    z = z - np.max(z, axis=1, keepdims=True)
    e = np.exp(z)
    s = np.sum(e, axis=1, keepdims=True)
    value = np.mean(np.log(s[:, 0]) - z[n, y])
    d2 = e / s
    d2[n, y] -= 1
    d2 /= len(y)
    d1 = (d2 @ W2.T) * (a > 0)
    return value, X.T @ d1, d1.sum(0), a.T @ d2, d2.sum(0)


def attention(Wq: Any, Wk: Any, Wv: Any, x: Any) -> Any:
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    s = q @ k.T * 0.125
    e = np.exp(s - np.max(s, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    o = p @ v
    do = 2 * o / o.size
    dp = do @ v.T
    ds = p * (dp - np.sum(dp * p, axis=1, keepdims=True)) * 0.125
    return np.mean(o * o), x.T @ (ds @ k), x.T @ (ds.T @ q), x.T @ (p.T @ do)


def lstm(W: Any, U: Any, b: Any, X: Any) -> Any:
    n, (steps, batch, _) = U.shape[0], X.shape
    h = c = np.zeros((batch, n), X.dtype)
    kept = []
    for t in range(steps):
        z = X[t] @ W + h @ U + b
        s, g = 1 / (1 + np.exp(-z[:, : 3 * n])), np.tanh(z[:, 3 * n :])
        before = h, c
        c = s[:, n : 2 * n] * c + s[:, :n] * g
        tc = np.tanh(c)
        h = s[:, 2 * n :] * tc
        kept.append((*before, s, g, tc))
    value = np.mean(h * h)
    dh, dc = 2 * h / h.size, np.zeros_like(c)
    dW, dU, db = np.zeros_like(W), np.zeros_like(U), np.zeros_like(b)
    dz = np.empty((batch, 4 * n), X.dtype)
    for t in range(steps - 1, -1, -1):
        h0, c0, s, g, tc = kept[t]
        i, f, o = s[:, :n], s[:, n : 2 * n], s[:, 2 * n :]
        dc = dc + dh * o * (1 - tc * tc)
        dz[:, :n], dz[:, n : 2 * n] = dc * g * i * (1 - i), dc * c0 * f * (1 - f)
        dz[:, 2 * n : 3 * n], dz[:, 3 * n :] = dh * tc * o * (1 - o), dc * i * (1 - g * g)
        dW += X[t].T @ dz
        dU += h0.T @ dz
        db += dz.sum(0)
        dh, dc = dz @ U.T, dc * f
    return value, dW, dU, db
