"""The kernels with their gradients written out for Numba: arguments, then the weights of the results; (value, gradients...)."""

import numba
import numpy as np

njit = numba.njit


@njit
def seidel_2d(a, steps, w):
    """The system solved for each element, backwards; nothing is kept, for it is linear."""
    a = a.copy()
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                near = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j] + a[i, j + 1]
                a[i, j] = (near + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]) / 9.0
    g = w.copy()
    for _ in range(steps):
        for i in range(n - 2, 0, -1):
            for j in range(n - 2, 0, -1):
                v = g[i, j] / 9.0
                g[i, j] = v
                g[i, j - 1] += v
                g[i, j + 1] += v
                for k in range(-1, 2):
                    g[i - 1, j + k] += v
                    g[i + 1, j + k] += v
    return np.sum(a * w), g


@njit
def lu(a, w):
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for k in range(i):
            a[i, k] /= a[k, k]
            f = a[i, k]
            for j in range(k + 1, n):
                a[i, j] -= f * a[k, j]
    g = w.copy()
    for i in range(n - 1, -1, -1):
        for k in range(i - 1, -1, -1):
            f, s = a[i, k], 0.0
            for j in range(k + 1, n):
                s += g[i, j] * a[k, j]
                g[k, j] -= f * g[i, j]
            v = (g[i, k] - s) / a[k, k]
            g[k, k] -= v * f
            g[i, k] = v
    return np.sum(a * w), g


@njit
def cholesky(a, w):
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s / a[j, j]
        s = a[i, i]
        for k in range(i):
            s -= a[i, k] * a[i, k]
        a[i, i] = np.sqrt(s)
    g = w.copy()
    for i in range(n - 1, -1, -1):
        v = 0.5 * g[i, i] / a[i, i]
        g[i, i] = v
        for k in range(i):
            g[i, k] -= 2 * v * a[i, k]
        for j in range(i - 1, -1, -1):
            v = g[i, j] / a[j, j]
            g[i, j] = v
            g[j, j] -= v * a[i, j]
            for k in range(j):
                g[i, k] -= v * a[j, k]
                g[j, k] -= v * a[i, k]
    return np.sum(a * w), g


@njit
def trisolv(l, b, w):
    n = len(b)
    x = np.zeros(n)
    for i in range(n):
        x[i] = (b[i] - np.dot(l[i, :i], x[:i])) / l[i, i]
    gl, gb, gx = np.zeros(l.shape), np.zeros(n), w.copy()
    for i in range(n - 1, -1, -1):
        v = gx[i] / l[i, i]
        gb[i] = v
        gl[i, i] = -v * x[i]
        for j in range(i):
            gl[i, j] = -v * x[j]
            gx[j] -= v * l[i, j]
    return np.sum(x * w), gl, gb


@njit
def durbin(r, w):
    n = len(r)
    y, alphas, betas, dots = np.zeros((n, n)), np.zeros(n), np.ones(n), np.zeros(n)
    alphas[0] = y[0, 0] = -r[0]
    for k in range(1, n):
        betas[k] = betas[k - 1] * (1 - alphas[k - 1] ** 2)
        s = r[k]
        for i in range(k):
            s += r[k - 1 - i] * y[k - 1, i]
        dots[k] = s
        alphas[k] = -s / betas[k]
        for i in range(k):
            y[k, i] = y[k - 1, i] + alphas[k] * y[k - 1, k - 1 - i]
        y[k, k] = alphas[k]
    gr, gy, gbeta, galpha = np.zeros(n), w.copy(), 0.0, 0.0
    new = np.zeros(n)
    for k in range(n - 1, 0, -1):
        s = gy[k] + galpha
        for i in range(k):
            s += gy[i] * y[k - 1, k - 1 - i]
        gs = -s / betas[k]
        gbeta += s * dots[k] / betas[k] ** 2
        gr[k] += gs
        for i in range(k):
            new[i] = gy[i] + alphas[k] * gy[k - 1 - i] + gs * r[k - 1 - i]
            gr[k - 1 - i] += gs * y[k - 1, i]
        gy[:k] = new[:k]
        galpha = -2 * gbeta * betas[k - 1] * alphas[k - 1]
        gbeta *= 1 - alphas[k - 1] ** 2
    gr[0] -= gy[0] + galpha
    return np.sum(y[n - 1] * w), gr


@njit
def _star(b, a):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])


@njit
def _star_back(ga, gb):
    """Adds to `ga` what its elements get of the inside of `gb`, which is 0 thereafter."""
    n, m = ga.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            v = 0.2 * gb[i, j]
            gb[i, j] = 0.0
            ga[i, j] += v
            ga[i, j - 1] += v
            ga[i, j + 1] += v
            ga[i - 1, j] += v
            ga[i + 1, j] += v


@njit
def jacobi_2d(a, b, steps, w):
    a, b = a.copy(), b.copy()
    for _ in range(1, steps):
        _star(b, a)
        _star(a, b)
    ga, gb = w.copy(), np.zeros(b.shape)
    for _ in range(1, steps):
        _star_back(gb, ga)
        _star_back(ga, gb)
    return np.sum(a * w), ga, gb


@njit
def _cube(b, a):
    n = a.shape[0]
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            for k in range(1, n - 1):
                near = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1]
                b[i, j, k] = 0.125 * near + 0.25 * a[i, j, k]


@njit
def _cube_back(ga, gb):
    n = ga.shape[0]
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            for k in range(1, n - 1):
                v = 0.125 * gb[i, j, k]
                gb[i, j, k] = 0.0
                ga[i, j, k] += 2 * v
                ga[i - 1, j, k] += v
                ga[i + 1, j, k] += v
                ga[i, j - 1, k] += v
                ga[i, j + 1, k] += v
                ga[i, j, k - 1] += v
                ga[i, j, k + 1] += v


@njit
def heat_3d(a, b, steps, w):
    a, b = a.copy(), b.copy()
    for _ in range(1, steps):
        _cube(b, a)
        _cube(a, b)
    ga, gb = w.copy(), np.zeros(b.shape)
    for _ in range(1, steps):
        _cube_back(gb, ga)
        _cube_back(ga, gb)
    return np.sum(a * w), ga, gb


@njit
def fdtd_2d(ex, ey, hz, source, w):
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    n, m = hz.shape
    for t in range(len(source)):
        ey[0, :] = source[t]
        for i in range(1, n):
            for j in range(m):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(n):
            for j in range(1, m):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(n - 1):
            for j in range(m - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
    gx, gy, gh, gs = np.zeros(ex.shape), np.zeros(ey.shape), w.copy(), np.zeros(len(source))
    for t in range(len(source) - 1, -1, -1):
        for i in range(n - 1):
            for j in range(m - 1):
                v = 0.7 * gh[i, j]
                gx[i, j + 1] -= v
                gx[i, j] += v
                gy[i + 1, j] -= v
                gy[i, j] += v
        for i in range(n):
            for j in range(1, m):
                v = 0.5 * gx[i, j]
                gh[i, j] -= v
                gh[i, j - 1] += v
        for i in range(1, n):
            for j in range(m):
                v = 0.5 * gy[i, j]
                gh[i, j] -= v
                gh[i - 1, j] += v
        s = 0.0
        for j in range(m):
            s += gy[0, j]
            gy[0, j] = 0.0
        gs[t] = s
    return np.sum(hz * w), gx, gy, gh, gs


@njit
def _implicit(out, u, p, q, a, b, d):
    """Columns j of `out` from rows j of `u`: p and q forwards, then back."""
    n = u.shape[0]
    q[:, 0] = 1.0
    for j in range(1, n - 1):
        for i in range(1, n - 1):
            q[i, j] = (-d * u[j, i - 1] + (1 + 2 * d) * u[j, i] - d * u[j, i + 1] - a * q[i, j - 1]) / (a * p[j - 1] + b)
    out[n - 1, 1 : n - 1] = 1.0
    out[0, 1 : n - 1] = 1.0
    for j in range(n - 2, 0, -1):
        for i in range(1, n - 1):
            out[j, i] = p[j] * out[j + 1, i] + q[i, j]


@njit
def _implicit_back(gu, gout, gq, p, a, b, d):
    n = gu.shape[0]
    for j in range(1, n - 1):
        for i in range(1, n - 1):
            gq[i, j] = gout[j, i]
            gout[j + 1, i] += p[j] * gout[j, i]
            gout[j, i] = 0.0
    gout[n - 1, 1 : n - 1] = 0.0
    gout[0, 1 : n - 1] = 0.0
    for j in range(n - 2, 0, -1):
        for i in range(1, n - 1):
            v = gq[i, j] / (a * p[j - 1] + b)
            gq[i, j - 1] -= a * v
            gu[j, i - 1] -= d * v
            gu[j, i] += (1 + 2 * d) * v
            gu[j, i + 1] -= d * v


@njit
def adi(u, steps, w):
    """The factors p do not depend on u: they are the same in each step."""
    n = u.shape[0]
    dx, dt = 1.0 / n, 1.0 / steps
    a, d = -dt / dx**2, -0.5 * dt / dx**2
    b, e = 1.0 - 2 * a, 1.0 - 2 * d
    p1, p2 = np.zeros(n), np.zeros(n)
    for j in range(1, n - 1):
        p1[j] = -a / (a * p1[j - 1] + b)
        p2[j] = -d / (d * p2[j - 1] + e)
    # rows of `ut` are columns of u, so that both directions run along rows
    u, ut, v, q = u.copy(), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for _ in range(steps):
        _implicit(v, u, p1, q, a, b, d)
        _implicit(ut, v.T.copy(), p2, q, d, e, a)
        for i in range(1, n - 1):
            for j in range(n):
                u[i, j] = ut[j, i]
    g, gv, gt, gq = w.copy(), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(n):
                gt[j, i] = g[i, j]
                g[i, j] = 0.0
        gv[:] = 0.0
        _implicit_back(gv, gt, gq, p2, d, e, a)
        gvt = gv.T.copy()
        _implicit_back(g, gvt, gq, p1, a, b, d)
    return np.sum(u * w), g


@njit
def gramschmidt(a, wq, wr):
    m, n = a.shape
    at, qt, r = a.T.copy(), np.zeros((n, m)), np.zeros((n, n))
    for k in range(n):
        s = 0.0
        for i in range(m):
            s += at[k, i] ** 2
        r[k, k] = np.sqrt(s)
        for i in range(m):
            qt[k, i] = at[k, i] / r[k, k]
        for j in range(k + 1, n):
            s = 0.0
            for i in range(m):
                s += qt[k, i] * at[j, i]
            r[k, j] = s
            for i in range(m):
                at[j, i] -= qt[k, i] * s
    value = np.sum(qt.T * wq) + np.sum(r * wr)
    ga, gq = np.zeros((n, m)), wq.T.copy()
    for k in range(n - 1, -1, -1):
        for j in range(n - 1, k, -1):
            s = wr[k, j]
            for i in range(m):
                s -= ga[j, i] * qt[k, i]
            for i in range(m):
                # column j as it was before: add back what was subtracted
                at[j, i] += qt[k, i] * r[k, j]
                gq[k, i] += s * at[j, i] - r[k, j] * ga[j, i]
                ga[j, i] += s * qt[k, i]
        s = wr[k, k]
        for i in range(m):
            s -= gq[k, i] * qt[k, i] / r[k, k]
        for i in range(m):
            ga[k, i] += gq[k, i] / r[k, k] + s * qt[k, i]
    return value, ga.T.copy()


@njit
def vertical_advection(u, w, dt, weights):
    """Column by column; what a column keeps fits the cache."""
    ni, nj, depth = u.shape
    gu, gw = np.zeros(u.shape), np.zeros(w.shape)
    c, d, m, rhs, out = np.zeros(depth), np.zeros(depth), np.zeros(depth), np.zeros(depth), np.zeros(depth)
    gc, gd = np.zeros(depth), np.zeros(depth)
    value = 0.0
    for i in range(ni):
        for j in range(nj):
            for k in range(depth):
                below = 0.25 * w[i, j, k] if k > 0 else 0.0
                above = 0.25 * w[i, j, k + 1] if k < depth - 1 else 0.0
                s, b = u[i, j, k] / dt, 1.0 / dt - above + below
                if k < depth - 1:
                    s -= above * (u[i, j, k + 1] - u[i, j, k])
                if k > 0:
                    s += below * (u[i, j, k - 1] - u[i, j, k]) + below * d[k - 1]
                    b += below * c[k - 1]
                m[k], rhs[k] = 1.0 / b, s
                c[k], d[k] = above * m[k], s * m[k]
            for k in range(depth - 1, -1, -1):
                out[k] = d[k] - c[k] * (out[k + 1] if k < depth - 1 else 0.0)
                value += out[k] * weights[i, j, k]
            g = 0.0
            for k in range(depth):
                g = weights[i, j, k] - (c[k - 1] * g if k > 0 else 0.0)
                gd[k] = g
                gc[k] = -g * out[k + 1] if k < depth - 1 else 0.0
            for k in range(depth - 1, -1, -1):
                below = 0.25 * w[i, j, k] if k > 0 else 0.0
                above = 0.25 * w[i, j, k + 1] if k < depth - 1 else 0.0
                gs = gd[k] * m[k]
                gb = -(gc[k] * above + gd[k] * rhs[k]) * m[k] * m[k]
                gabove, gbelow = gc[k] * m[k] - gb, gb
                gu[i, j, k] += gs / dt
                if k < depth - 1:
                    gabove -= gs * (u[i, j, k + 1] - u[i, j, k])
                    gu[i, j, k + 1] -= gs * above
                    gu[i, j, k] += gs * above
                    gw[i, j, k + 1] += 0.25 * gabove
                if k > 0:
                    gbelow += gs * (u[i, j, k - 1] - u[i, j, k] + d[k - 1]) + gb * c[k - 1]
                    gu[i, j, k - 1] += gs * below
                    gu[i, j, k] -= gs * below
                    gd[k - 1] += gs * below
                    gc[k - 1] += gb * below
                    gw[i, j, k] += 0.25 * gbelow
    return value, gu, gw


@njit
def softmax(x, w):
    flat, weights = x.reshape(-1, x.shape[-1]), w.reshape(-1, x.shape[-1])
    g = np.empty(flat.shape)
    value = 0.0
    for i in range(flat.shape[0]):
        top = flat[i, 0]
        for j in range(flat.shape[1]):
            top = max(top, flat[i, j])
        total = 0.0
        for j in range(flat.shape[1]):
            g[i, j] = np.exp(flat[i, j] - top)
            total += g[i, j]
        s = 0.0
        for j in range(flat.shape[1]):
            g[i, j] /= total
            s += g[i, j] * weights[i, j]
        for j in range(flat.shape[1]):
            g[i, j] *= weights[i, j] - s
        value += s
    return value, g.reshape(x.shape)
