"""Partial differential equations on grids: explicit and implicit steps, finite volumes, multigrid, lattice Boltzmann."""

import numpy as np

from tests.benchmarks.corpus.program import Program


def burgers(u, dx, nu, t_end):
    """Upwind steps until `t_end`, each as long as stability permits."""
    u = u.copy()
    t = 0.0
    while t < t_end:
        dt = min(0.4 * dx / np.max(np.abs(u)), 0.2 * dx * dx / nu, t_end - t)
        un = u.copy()
        for i in range(1, len(u) - 1):
            if un[i] > 0:
                adv = un[i] * (un[i] - un[i - 1]) / dx
            else:
                adv = un[i] * (un[i + 1] - un[i]) / dx
            u[i] = un[i] + dt * (nu * (un[i + 1] - 2 * un[i] + un[i - 1]) / dx**2 - adv)
        t += dt
    return u


def burgers_data(rng, n):
    x = np.linspace(0, 1, n)
    return np.sin(2 * np.pi * x) + 0.3, x[1], 0.01, 40.0 / n


def shallow_water(h, hu, hv, dt, steps):
    """Lax-Friedrichs steps on a periodic square."""
    g = 9.81
    for _ in range(steps):
        u, v = hu / h, hv / h
        fx = (hu, hu * u + 0.5 * g * h * h, hu * v)
        fy = (hv, hu * v, hv * v + 0.5 * g * h * h)
        new = []
        for q, f, k in zip((h, hu, hv), fx, fy):
            mean = 0.25 * (np.roll(q, 1, 0) + np.roll(q, -1, 0) + np.roll(q, 1, 1) + np.roll(q, -1, 1))
            new.append(mean - 0.5 * dt * (np.roll(f, -1, 0) - np.roll(f, 1, 0) + np.roll(k, -1, 1) - np.roll(k, 1, 1)))
        h, hu, hv = new
    return h


def shallow_water_data(rng, n):
    x = np.linspace(-1, 1, n)
    h = 1 + 0.3 * np.exp(-20 * (x[:, None] ** 2 + x**2))
    return h, np.zeros((n, n)), 0.01 * np.ones((n, n)), 0.05, 50


def gray_scott(u, v, f, k, steps):
    u, v = u.copy(), v.copy()
    for _ in range(steps):
        lu = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        lv = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4 * v[1:-1, 1:-1]
        uvv = u[1:-1, 1:-1] * v[1:-1, 1:-1] ** 2
        u[1:-1, 1:-1] += 0.16 * lu - uvv + f * (1 - u[1:-1, 1:-1])
        v[1:-1, 1:-1] += 0.08 * lv + uvv - (f + k) * v[1:-1, 1:-1]
        for w in (u, v):
            w[0, :] = w[-2, :]
            w[-1, :] = w[1, :]
            w[:, 0] = w[:, -2]
            w[:, -1] = w[:, 1]
    return v


def gray_scott_data(rng, n):
    u, v = np.ones((n, n)), 0.01 * rng.random((n, n))
    u[n // 3 : n // 2, n // 3 : n // 2], v[n // 3 : n // 2, n // 3 : n // 2] = 0.5, 0.25
    return u, v, 0.035, 0.06, 60


def seismogram(c, steps, dt, receivers):
    """A wave from the middle of a line of layers, recorded at receivers."""
    n = len(c)
    u, u_old = np.zeros(n), np.zeros(n)
    traces = np.zeros((steps, len(receivers)))
    for k in range(steps):
        u_new = np.zeros(n)
        u_new[1:-1] = 2 * u[1:-1] - u_old[1:-1] + (c[1:-1] * dt) ** 2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        a = (np.pi * (k * dt - 6.0) / 6.0) ** 2
        u_new[n // 2] += (1 - 2 * a) * np.exp(-a)
        u_new[0] = u[1] + (c[0] * dt - 1) / (c[0] * dt + 1) * (u_new[1] - u[0])
        u_new[-1] = u[-2] + (c[-1] * dt - 1) / (c[-1] * dt + 1) * (u_new[-2] - u[-1])
        u_old, u = u, u_new
        traces[k] = u[receivers]
    return traces


def seismogram_data(rng, n):
    c = 1 + 0.3 * np.repeat(rng.random(n // 20), 20)
    return c, 2 * n, 0.5, np.arange(5, n, n // 8)


def crank_nicolson(u, kappa, dt, steps):
    """Heat conduction in layers; the tridiagonal system by Thomas's algorithm."""
    n = len(u)
    u = u.copy()
    cp, dp = np.zeros(n), np.zeros(n)
    for _ in range(steps):
        cp[0], dp[0] = 0.0, u[0]
        for i in range(1, n - 1):
            w, e = 0.5 * (kappa[i - 1] + kappa[i]), 0.5 * (kappa[i] + kappa[i + 1])
            a, c = -0.5 * dt * w, -0.5 * dt * e
            b = 1 - a - c
            rhs = u[i] - a * (u[i - 1] - u[i]) - c * (u[i + 1] - u[i])
            m = b - a * cp[i - 1]
            cp[i] = c / m
            dp[i] = (rhs - a * dp[i - 1]) / m
        for i in range(n - 2, 0, -1):
            u[i] = dp[i] - cp[i] * u[i + 1]
    return u


def crank_nicolson_data(rng, n):
    return np.sin(np.linspace(0, 7, n)), 0.5 + rng.random(n), 0.4, 30


def euler_hll(rho, mom, ene, dx, t_end):
    """Gas dynamics on a line: HLL fluxes, steps by the Courant number."""
    gamma = 1.4
    t = 0.0
    while t < t_end:
        u = mom / rho
        p = (gamma - 1) * (ene - 0.5 * mom * u)
        a = np.sqrt(gamma * p / rho)
        dt = min(0.5 * dx / np.max(np.abs(u) + a), t_end - t)
        sl = np.minimum(u[:-1] - a[:-1], u[1:] - a[1:])
        sr = np.maximum(u[:-1] + a[:-1], u[1:] + a[1:])
        fluxes = []
        for q, f in ((rho, mom), (mom, mom * u + p), (ene, (ene + p) * u)):
            middle = (sr * f[:-1] - sl * f[1:] + sl * sr * (q[1:] - q[:-1])) / (sr - sl)
            fluxes.append(np.where(sl >= 0, f[:-1], np.where(sr <= 0, f[1:], middle)))
        new = [rho.copy(), mom.copy(), ene.copy()]
        for q, f in zip(new, fluxes):
            q[1:-1] -= dt / dx * (f[1:] - f[:-1])
        rho, mom, ene = new
        t += dt
    return rho, ene


def euler_hll_data(rng, n):
    left = np.arange(n) < n // 2
    rho = np.where(left, 1.0, 0.125)
    return rho, np.zeros(n), np.where(left, 1.0, 0.1) / 0.4, 1.0 / n, 30.0 / n


def v_cycle(u, f, h):
    for _ in range(3):
        u[1:-1] = u[1:-1] + 0.6 * (0.5 * (u[:-2] + u[2:] - h * h * f[1:-1]) - u[1:-1])
    if len(u) <= 5:
        return u
    r = np.zeros(len(u))
    r[1:-1] = f[1:-1] - (u[2:] - 2 * u[1:-1] + u[:-2]) / (h * h)
    coarse = np.zeros(len(u) // 2 + 1)
    coarse[1:-1] = 0.25 * (r[1:-3:2] + 2 * r[2:-2:2] + r[3:-1:2])
    e = v_cycle(np.zeros(len(coarse)), coarse, 2 * h)
    u[::2] += e
    u[1::2] += 0.5 * (e[:-1] + e[1:])
    for _ in range(3):
        u[1:-1] = u[1:-1] + 0.6 * (0.5 * (u[:-2] + u[2:] - h * h * f[1:-1]) - u[1:-1])
    return u


def multigrid(f, cycles):
    u = np.zeros(len(f))
    for _ in range(cycles):
        u = v_cycle(u, f, 1.0 / (len(f) - 1))
    return u


def multigrid_data(rng, n):
    return rng.standard_normal(n), 8


def lattice_boltzmann(f, tau, steps, solid):
    """D2Q9 with bounce-back at solid cells and a body force."""
    w = np.array([4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36])
    cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    opposite = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
    f = f.copy()
    for _ in range(steps):
        rho = np.sum(f, axis=0)
        ux = np.sum(f * cx[:, None, None], axis=0) / rho + 1e-4
        uy = np.sum(f * cy[:, None, None], axis=0) / rho
        usq = 1.5 * (ux**2 + uy**2)
        bounced = f[opposite]
        for k in range(9):
            cu = 3 * (cx[k] * ux + cy[k] * uy)
            feq = w[k] * rho * (1 + cu + 0.5 * cu**2 - usq)
            f[k] = f[k] - (f[k] - feq) / tau
        f = np.where(solid, bounced, f)
        for k in range(9):
            f[k] = np.roll(np.roll(f[k], cx[k], axis=0), cy[k], axis=1)
    return f


def lattice_boltzmann_data(rng, n):
    x = np.arange(n)
    solid = (x[:, None] - n // 3) ** 2 + (x - n // 2) ** 2 < (n // 8) ** 2
    return 0.11 + 0.01 * rng.random((9, n, n)), 0.8, 20, solid


def red_black(p, b, omega, sweeps):
    """Successive over-relaxation, one colour after the other."""
    p = p.copy()
    n, m = p.shape
    for _ in range(sweeps):
        for colour in range(2):
            for i in range(1, n - 1):
                for j in range(1 + (i + colour) % 2, m - 1, 2):
                    r = 0.25 * (p[i - 1, j] + p[i + 1, j] + p[i, j - 1] + p[i, j + 1] - b[i, j])
                    p[i, j] = (1 - omega) * p[i, j] + omega * r
    return p


def red_black_data(rng, n):
    return np.zeros((n, n)), rng.standard_normal((n, n)), 1.5, 10


def cavity(lid, n, nu, steps):
    """Flow in a square driven by its lid: vorticity and stream function."""
    psi, om = np.zeros((n, n)), np.zeros((n, n))
    h = 1.0 / (n - 1)
    dt = 0.2 * h * h / nu
    for _ in range(steps):
        for _ in range(10):
            psi[1:-1, 1:-1] = 0.25 * (psi[2:, 1:-1] + psi[:-2, 1:-1] + psi[1:-1, 2:] + psi[1:-1, :-2] + h * h * om[1:-1, 1:-1])
        om[:, 0] = -2 * psi[:, 1] / h**2
        om[:, -1] = -2 * psi[:, -2] / h**2 - 2 * lid / h
        om[0, :] = -2 * psi[1, :] / h**2
        om[-1, :] = -2 * psi[-2, :] / h**2
        u = (psi[1:-1, 2:] - psi[1:-1, :-2]) / (2 * h)
        v = -(psi[2:, 1:-1] - psi[:-2, 1:-1]) / (2 * h)
        dx = (om[2:, 1:-1] - om[:-2, 1:-1]) / (2 * h)
        dy = (om[1:-1, 2:] - om[1:-1, :-2]) / (2 * h)
        lap = (om[2:, 1:-1] + om[:-2, 1:-1] + om[1:-1, 2:] + om[1:-1, :-2] - 4 * om[1:-1, 1:-1]) / h**2
        om[1:-1, 1:-1] += dt * (nu * lap - u * dx - v * dy)
    return psi


def cavity_data(rng, n):
    return 1 + 0.1 * rng.random(n), n, 0.1, 20


PROGRAMS = (
    Program(burgers, burgers_data, (100, 400), about="while, branch per cell"),
    Program(shallow_water, shallow_water_data, (32, 192), about="rolls, lists of fields"),
    Program(gray_scott, gray_scott_data, (32, 192), (0, 1, 2), about="slices in place, borders"),
    Program(seismogram, seismogram_data, (200, 1000), about="two steps back, traces"),
    Program(crank_nicolson, crank_nicolson_data, (100, 2000), (0, 1), about="Thomas in a time loop"),
    Program(euler_hll, euler_hll_data, (100, 2000), (0, 2), about="while, np.where, n and n - 1"),
    Program(multigrid, multigrid_data, (65, 4097), about="recursion, strided slices"),
    Program(lattice_boltzmann, lattice_boltzmann_data, (24, 128), about="rolls by an array, mask"),
    Program(red_black, red_black_data, (40, 200), (0, 1), about="strided sweeps"),
    Program(cavity, cavity_data, (24, 96), about="nested slices in place"),
)
