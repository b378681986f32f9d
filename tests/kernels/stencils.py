"""Stencils and PDE kernels, written as a user writes them: arrays changed in place."""

import numpy as np


def gauss_seidel(a, steps):
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j]) / 5.0
    return np.sum(a * a)


def jacobi_1d(a, b, steps):
    for _ in range(1, steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return np.sum(a * a)


def jacobi_2d(a, b, steps):
    for _ in range(1, steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return np.sum(a * a)


def jacobi_swapped(u, v, steps):
    for _ in range(steps):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u, v = v, u
    return np.sum(u * u)


def heat_3d(a, b, steps):
    for _ in range(1, steps):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        a, b = b, a
    return np.sum(a * a)


def fdtd(ex, ey, hz, source):
    for t in range(len(source)):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.sum(hz * hz)


def adi(u, steps):
    n = u.shape[0]
    v, p, q = np.empty_like(u), np.empty_like(u), np.empty_like(u)
    a, b, c, d, e, f = -0.25, 1.5, -0.25, -0.25, 1.5, -0.25
    for _ in range(1, steps + 1):
        v[0, 1 : n - 1] = 1.0
        p[1 : n - 1, 0] = 0.0
        q[1 : n - 1, 0] = v[0, 1 : n - 1]
        for j in range(1, n - 1):
            p[1 : n - 1, j] = -c / (a * p[1 : n - 1, j - 1] + b)
            q[1 : n - 1, j] = (
                -d * u[j, 0 : n - 2] + (1.0 + 2.0 * d) * u[j, 1 : n - 1] - f * u[j, 2:n] - a * q[1 : n - 1, j - 1]
            ) / (a * p[1 : n - 1, j - 1] + b)
        v[n - 1, 1 : n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1 : n - 1] = p[1 : n - 1, j] * v[j + 1, 1 : n - 1] + q[1 : n - 1, j]
        u[1 : n - 1, 0] = 1.0
        p[1 : n - 1, 0] = 0.0
        q[1 : n - 1, 0] = u[1 : n - 1, 0]
        for j in range(1, n - 1):
            p[1 : n - 1, j] = -f / (d * p[1 : n - 1, j - 1] + e)
            q[1 : n - 1, j] = (
                -a * v[0 : n - 2, j] + (1.0 + 2.0 * a) * v[1 : n - 1, j] - c * v[2:n, j] - d * q[1 : n - 1, j - 1]
            ) / (d * p[1 : n - 1, j - 1] + e)
        u[1 : n - 1, n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1 : n - 1, j] = p[1 : n - 1, j] * u[1 : n - 1, j + 1] + q[1 : n - 1, j]
    return np.sum(u * u)


def vertical_advection(w, u, dtr):
    """The Thomas algorithm over levels of a column, coefficients kept in views of work arrays."""
    levels = u.shape[0]
    c, d = np.zeros_like(u), np.zeros_like(u)
    for k in range(levels):
        ck, dk = c[k], d[k]
        if k == 0:
            gcv = 0.25 * w[1]
            cs = gcv * 0.5
            ck[:] = gcv * 0.5
            dk[:] = dtr * u[0] - cs * (u[1] - u[0])
            ck /= dtr - ck
            dk /= dtr - cs
        elif k < levels - 1:
            low, high = -0.25 * w[k], 0.25 * w[k + 1]
            divided = 1.0 / (dtr - low * 0.5 - high * 0.5 - c[k - 1] * low * 0.5)
            ck[:] = high * 0.5 * divided
            dk[:] = (dtr * u[k] - low * 0.5 * (u[k - 1] - u[k]) - d[k - 1] * low * 0.5) * divided
        else:
            low = -0.25 * w[k]
            dk[:] = (dtr * u[k] - d[k - 1] * low * 0.5) / (dtr - low * 0.5 - c[k - 1] * low * 0.5)
    out = np.zeros_like(u)
    for k in range(levels - 1, -1, -1):
        if k == levels - 1:
            data = d[k]
        else:
            data = d[k] - c[k] * data
        out[k] = dtr * (data - u[k])
    return out


def horizontal_diffusion(field, coefficient):
    lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    res = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flx = np.where((res * (field[2:-1, 2:-2] - field[1:-2, 2:-2])) > 0, 0, res)
    res = lap[1:-1, 1:] - lap[1:-1, :-1]
    fly = np.where((res * (field[2:-2, 2:-1] - field[2:-2, 1:-2])) > 0, 0, res)
    out = field.copy()
    out[2:-2, 2:-2] -= coefficient * (flx[1:] - flx[:-1] + fly[:, 1:] - fly[:, :-1])
    return out


def _pressure(p, dx, b, trips):
    pn = np.empty_like(p)
    for _ in range(trips):
        pn[:] = p.copy()
        p[1:-1, 1:-1] = 0.25 * (pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1]) - 0.25 * dx**2 * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0
    return p


def cavity_flow(u, v, p, dt, nu):
    n = u.shape[0]
    dx, rho = 2.0 / (n - 1), 1.0
    b = np.zeros_like(p)
    for _ in range(3):
        un, vn = u.copy(), v.copy()
        b[1:-1, 1:-1] = rho / dt * ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx) + (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dx))
        p = _pressure(p, dx, b, 5)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + nu * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - vn[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + nu * dt / dx**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
        )
        u[-1, :] = 1
        v[0, :] = 0
    return np.sum(p * p) + np.sum(u)


def _square(r, *shape):
    return r.uniform(0.5, 1.5, shape)


CASES = [
    (gauss_seidel, lambda r: (_square(r, 7, 7), 3)),
    (jacobi_1d, lambda r: (_square(r, 12), _square(r, 12), 6)),
    (jacobi_2d, lambda r: (_square(r, 6, 6), _square(r, 6, 6), 6)),
    (jacobi_swapped, lambda r: (_square(r, 12), _square(r, 12), 7)),
    (heat_3d, lambda r: (_square(r, 5, 5, 5), _square(r, 5, 5, 5), 6)),
    (fdtd, lambda r: (_square(r, 5, 6), _square(r, 5, 6), _square(r, 5, 6), _square(r, 6))),
    (adi, lambda r: (_square(r, 6, 6), 2)),
    (vertical_advection, lambda r: (_square(r, 6, 3), _square(r, 6, 3), 3.0)),
    (horizontal_diffusion, lambda r: (_square(r, 8, 9), _square(r, 4, 5))),
    (cavity_flow, lambda r: (_square(r, 7, 7), _square(r, 7, 7), _square(r, 7, 7), 0.001, 0.1)),
]
