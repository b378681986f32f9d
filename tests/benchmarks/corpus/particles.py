"""Particles and dynamics: gravity, molecules, smoothed particles, spins, cells, cloth, neurons."""

import numpy as np

from tests.benchmarks.corpus.program import Program


def gravity(x, v, m, dt, steps):
    """Leapfrog; each pair once."""
    x, v = x.copy(), v.copy()
    n = len(m)
    for _ in range(steps):
        x += 0.5 * dt * v
        a = np.zeros((n, 3))
        for i in range(n):
            for j in range(i + 1, n):
                d = x[j] - x[i]
                r2 = d[0] ** 2 + d[1] ** 2 + d[2] ** 2 + 0.01
                f = d / (r2 * np.sqrt(r2))
                a[i] += m[j] * f
                a[j] -= m[i] * f
        v += dt * a
        x += 0.5 * dt * v
    return x


def gravity_data(rng, n):
    return rng.standard_normal((n, 3)), 0.1 * rng.standard_normal((n, 3)), rng.random(n), 0.01, 10


def plummer(x, v, m, dt, steps):
    """The same by broadcasting."""
    for _ in range(steps):
        d = x[None, :, :] - x[:, None, :]
        r2 = np.sum(d * d, axis=2) + 0.01
        a = np.sum(m[None, :, None] * d * (r2**-1.5)[:, :, None], axis=1)
        v = v + dt * a
        x = x + dt * v
    return x


def lennard_jones(x, box, cutoff):
    """Energy and forces of a periodic box."""
    n = x.shape[0]
    force = np.zeros(x.shape)
    energy = 0.0
    for i in range(n):
        for j in range(i):
            dx = x[i, 0] - x[j, 0]
            dy = x[i, 1] - x[j, 1]
            dz = x[i, 2] - x[j, 2]
            dx -= box * np.round(dx / box)
            dy -= box * np.round(dy / box)
            dz -= box * np.round(dz / box)
            r2 = dx * dx + dy * dy + dz * dz
            if r2 < cutoff * cutoff:
                s6 = 1 / r2**3
                energy += 4 * (s6 * s6 - s6)
                f = 24 * (2 * s6 * s6 - s6) / r2
                force[i, 0] += f * dx
                force[i, 1] += f * dy
                force[i, 2] += f * dz
                force[j, 0] -= f * dx
                force[j, 1] -= f * dy
                force[j, 2] -= f * dz
    return energy, force


def lennard_jones_data(rng, n):
    side = int(np.ceil(n ** (1 / 3)))
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3)[:n]
    return 1.2 * grid + 0.05 * rng.standard_normal((n, 3)), 1.2 * side, 2.5


def kernel_sph(q):
    if q < 1.0:
        return 1 - 1.5 * q * q + 0.75 * q**3
    if q < 2.0:
        return 0.25 * (2 - q) ** 3
    return 0.0


def sph(x, m, h):
    """Density by the cubic spline, then pressure energy."""
    n = len(m)
    rho = np.zeros(n)
    for i in range(n):
        for j in range(n):
            d = np.sqrt((x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2 + 1e-12)
            rho[i] += m[j] * kernel_sph(d / h) * 10 / (7 * np.pi * h * h)
    p = np.maximum(rho**1.4 - 1.0, 0.0)
    return np.sum(m * p / rho)


def sph_data(rng, n):
    return rng.random((n, 2)), np.ones(n) / n, 2.0 / np.sqrt(n)


def metropolis(spins, coupling, numbers, beta):
    """Sweeps of a lattice of spins with given random numbers."""
    s = spins.copy()
    n = s.shape[0]
    energies = np.zeros(numbers.shape[0])
    for k in range(numbers.shape[0]):
        total = 0.0
        for i in range(n):
            for j in range(n):
                near = s[(i + 1) % n, j] + s[i - 1, j] + s[i, (j + 1) % n] + s[i, j - 1]
                de = 2 * coupling * s[i, j] * near
                if de <= 0 or numbers[k, i, j] < np.exp(-beta * de):
                    s[i, j] = -s[i, j]
                total -= coupling * s[i, j] * near
        energies[k] = total
    return energies


def metropolis_data(rng, n):
    return np.where(rng.random((n, n)) < 0.5, 1.0, -1.0), 1.0, rng.random((8, n, n)), 0.4


def flock(x, v, steps, dt):
    """Boids: cohesion, alignment, separation by masks of neighbours."""
    x, v = x.copy(), v.copy()
    for _ in range(steps):
        new = v.copy()
        for i in range(len(x)):
            d = x - x[i]
            r2 = np.sum(d * d, axis=1)
            near = r2 < 0.25
            close = (r2 < 0.01) & (r2 > 0)
            k = np.sum(near)
            new[i] += 0.1 * np.sum(d[near], axis=0) / k + 0.1 * (np.sum(v[near], axis=0) / k - v[i])
            new[i] -= 0.5 * np.sum(d[close], axis=0)
        v = new
        x += dt * v
    return x


def flock_data(rng, n):
    return rng.random((n, 2)), 0.1 * rng.standard_normal((n, 2)), 5, 0.1


def plasma(x, v, cells, dt, steps):
    """Electrostatic particles in cells: linear deposit, field by integration, linear gather."""
    x, v = x.copy(), v.copy()
    history = np.zeros(steps)
    for k in range(steps):
        i = np.floor(x).astype(np.int64)
        w = x - i
        rho = np.zeros(cells)
        np.add.at(rho, i % cells, 1 - w)
        np.add.at(rho, (i + 1) % cells, w)
        rho = rho * cells / len(x) - 1
        e = np.cumsum(rho)
        e = e - np.mean(e)
        history[k] = 0.5 * np.sum(e * e)
        v += dt * ((1 - w) * e[i % cells] + w * e[(i + 1) % cells])
        x = (x + dt * v) % cells
    return history


def plasma_data(rng, n):
    return 64 * rng.random(n), rng.standard_normal(n), 64, 0.1, 20


def cloth(p, rest, steps, iterations):
    """Position-based dynamics of a rope: Verlet steps, then constraints one after the other, in place."""
    p = p.copy()
    old = p.copy()
    n = len(p)
    for _ in range(steps):
        now = p.copy()
        p[1:] += 0.99 * (p[1:] - old[1:]) + np.array([0.0, -0.001])
        old = now
        for _ in range(iterations):
            for i in range(n - 1):
                dx = p[i + 1, 0] - p[i, 0]
                dy = p[i + 1, 1] - p[i, 1]
                d = np.sqrt(dx * dx + dy * dy)
                c = 0.5 * (d - rest) / d
                if i > 0:
                    p[i, 0] += c * dx
                    p[i, 1] += c * dy
                p[i + 1, 0] -= c * dx
                p[i + 1, 1] -= c * dy
    return p


def cloth_data(rng, n):
    return np.stack([np.arange(n) * 0.1, 0.01 * rng.random(n)], 1), 0.09, 20, 10


def hodgkin_huxley(current, dt, steps):
    v, m, h, n = -65.0, 0.05, 0.6, 0.32
    trace = np.zeros(steps)
    for k in range(steps):
        am = 0.1 * (v + 40.01) / (1 - np.exp(-(v + 40.01) / 10))
        bm = 4 * np.exp(-(v + 65) / 18)
        ah = 0.07 * np.exp(-(v + 65) / 20)
        bh = 1 / (1 + np.exp(-(v + 35) / 10))
        an = 0.01 * (v + 55.01) / (1 - np.exp(-(v + 55.01) / 10))
        bn = 0.125 * np.exp(-(v + 65) / 80)
        i_ion = 120 * m**3 * h * (v - 50) + 36 * n**4 * (v + 77) + 0.3 * (v + 54.4)
        v = v + dt * (current[k] - i_ion)
        m = m + dt * (am * (1 - m) - bm * m)
        h = h + dt * (ah * (1 - h) - bh * h)
        n = n + dt * (an * (1 - n) - bn * n)
        trace[k] = v
    return trace


def hodgkin_huxley_data(rng, n):
    return 10 + rng.random(n), 0.01, n


def spiking(v, u, w, noise, steps):
    """Izhikevich's network: cells above a threshold are reset and send currents."""
    v, u = v.copy(), u.copy()
    n = len(v)
    counts = np.zeros(n)
    for t in range(steps):
        fired = v >= 30.0
        counts[fired] += 1
        v[fired] = -65.0
        u[fired] += 8.0
        current = noise[t] + np.sum(w * fired, axis=1)
        for _ in range(2):
            v += 0.5 * (0.04 * v * v + 5 * v + 140 - u + current)
        u += 0.02 * (0.2 * v - u)
    return v, counts


def spiking_data(rng, n):
    return -65 + 10 * rng.random(n), -13 * np.ones(n), 0.5 * rng.random((n, n)), 5 * rng.standard_normal((50, n)), 50


def pendulum_rates(t1, t2, w1, w2):
    d = t1 - t2
    den = 3 - np.cos(2 * d)
    a1 = (-3 * 9.81 * np.sin(t1) - 9.81 * np.sin(t1 - 2 * t2) - 2 * np.sin(d) * (w2 * w2 + w1 * w1 * np.cos(d))) / den
    a2 = 2 * np.sin(d) * (2 * w1 * w1 + 2 * 9.81 * np.cos(t1) + w2 * w2 * np.cos(d)) / den
    return w1, w2, a1, a2


def pendulum(y, dt, steps):
    """The double pendulum, fourth-order Runge-Kutta, its whole path."""
    path = np.zeros((steps + 1, 4))
    path[0] = y
    a, b, c, d = y[0], y[1], y[2], y[3]
    for k in range(steps):
        p1, q1, r1, s1 = pendulum_rates(a, b, c, d)
        p2, q2, r2, s2 = pendulum_rates(a + dt / 2 * p1, b + dt / 2 * q1, c + dt / 2 * r1, d + dt / 2 * s1)
        p3, q3, r3, s3 = pendulum_rates(a + dt / 2 * p2, b + dt / 2 * q2, c + dt / 2 * r2, d + dt / 2 * s2)
        p4, q4, r4, s4 = pendulum_rates(a + dt * p3, b + dt * q3, c + dt * r3, d + dt * s3)
        a += dt / 6 * (p1 + 2 * p2 + 2 * p3 + p4)
        b += dt / 6 * (q1 + 2 * q2 + 2 * q3 + q4)
        c += dt / 6 * (r1 + 2 * r2 + 2 * r3 + r4)
        d += dt / 6 * (s1 + 2 * s2 + 2 * s3 + s4)
        path[k + 1] = [a, b, c, d]
    return path


def pendulum_data(rng, n):
    return np.array([0.3, 0.2, 0.0, 0.1]), 1e-3, n


PROGRAMS = (
    Program(gravity, gravity_data, (20, 80), (0, 1, 2), about="pairs once, rows of three"),
    Program(plummer, gravity_data, (20, 200), (0, 1, 2), about="pairs by broadcasting"),
    Program(lennard_jones, lennard_jones_data, (27, 300), about="pairs within a cutoff"),
    Program(sph, sph_data, (50, 500), (0, 1), about="branches in a helper"),
    Program(metropolis, metropolis_data, (16, 128), (1,), about="sweep in place, branch by data"),
    Program(flock, flock_data, (30, 300), (0, 1), about="masks in a loop"),
    Program(plasma, plasma_data, (1000, 50000), (0, 1), about="add.at, gather, cumsum"),
    Program(cloth, cloth_data, (20, 400), about="constraints in order"),
    Program(hodgkin_huxley, hodgkin_huxley_data, (500, 20000), about="scalars, trace"),
    Program(spiking, spiking_data, (30, 300), (0, 3), about="masks in place"),
    Program(pendulum, pendulum_data, (500, 10000), about="helper, history of rows"),
)
