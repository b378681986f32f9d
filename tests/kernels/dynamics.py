"""Time stepping, root finding, recursion and integer kernels."""

import numpy as np


def _acceleration(pos, mass, softening):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
    return np.hstack(((dx * inv_r3) @ mass, (dy * inv_r3) @ mass, (dz * inv_r3) @ mass))


def nbody(mass, pos, vel, dt, steps):
    vel -= np.mean(mass * vel, axis=0) / np.mean(mass)
    acc = _acceleration(pos, mass, 0.1)
    energy = np.zeros(steps)
    for i in range(steps):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = _acceleration(pos, mass, 0.1)
        vel += acc * dt / 2.0
        energy[i] = 0.5 * np.sum(mass * vel**2)
    return energy


def rk4(f, y, t, dt, steps):
    for _ in range(steps):
        k1 = f(t, y)
        k2 = f(t + dt / 2, y + dt / 2 * k1)
        k3 = f(t + dt / 2, y + dt / 2 * k2)
        k4 = f(t + dt, y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += dt
    return y


def pendulum(y, gravity, damping, steps):
    def rhs(t, s):
        return np.array([s[1], -gravity * np.sin(s[0]) - damping * s[1] + 0.1 * np.cos(t)])

    return rk4(rhs, y, 0.0, 0.05, steps)


def lotka_volterra(y, p):
    out = np.zeros((30, 2))
    for k in range(30):
        out[k] = y
        y = y + 0.01 * np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])
    return out


def adaptive_step(y, rate, tol):
    """Explicit Euler with step doubling."""
    t, dt, steps = 0.0, 0.3, 0
    while t < 2.0:
        if t + dt > 2.0:
            dt = 2.0 - t
        full = y + dt * rate * y * (1 - y)
        half = y + dt / 2 * rate * y * (1 - y)
        double = half + dt / 2 * rate * half * (1 - half)
        err = abs(double - full)
        if err < tol:
            y, t = double, t + dt
            dt *= 1.5
        else:
            dt *= 0.5
        steps += 1
        if steps > 200:
            break
    return y, steps


def newton(a):
    x = a
    for _ in range(100):
        step = (x * x * x - a) / (3 * x * x)
        x = x - step
        if abs(step) < 1e-14:
            break
    return x


def bisection(c, low, high):
    f = lambda x: x * x * x + x - c
    while high - low > 1e-10:
        mid = (low + high) / 2
        if f(mid) > 0:
            high = mid
        else:
            low = mid
    return mid


def horner(coefficients, x):
    y = 0.0
    for c in coefficients[::-1]:
        y = y * x + c
    return y


def logistic_map(v, r, n):
    for _ in range(n):
        v = r * v * (1 - v)
    return v


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def power(x, n):
    """By repeated squaring, recursively."""
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half if n % 2 == 0 else half * half * x


def mandelbrot_counts(re, im, limit):
    counts = np.zeros((len(im), len(re)), dtype=np.int64)
    for i in range(len(im)):
        for j in range(len(re)):
            x = y = 0.0
            n = 0
            while x * x + y * y <= 4.0 and n < limit:
                x, y = x * x - y * y + re[j], 2 * x * y + im[i]
                n += 1
            counts[i, j] = n
    return counts


def crc16(data, poly):
    crc = 0xFFFF
    for b in data:
        cur = 0xFF & b
        for _ in range(8):
            if (crc & 0x0001) ^ (cur & 0x0001):
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
            cur >>= 1
    crc = ~crc & 0xFFFF
    return ((crc << 8) | ((crc >> 8) & 0xFF)) & 0xFFFF


def collatz_steps(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def game_of_life(board, steps):
    for _ in range(steps):
        around = sum(np.roll(np.roll(board, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
        board[:] = (around == 3) | ((board == 1) & (around == 2))
    return board.sum()


CASES = [
    (nbody, lambda r: (r.uniform(1, 2, (4, 1)), r.uniform(-1, 1, (4, 3)), r.uniform(-1, 1, (4, 3)), 0.01, 5)),
    (pendulum, lambda r: (r.uniform(-1, 1, 2), 9.8, 0.1, 9)),
    (lotka_volterra, lambda r: (r.uniform(0.5, 1, 2), np.array([1.5, 1.0, 1.0, 3.0]))),
    (adaptive_step, lambda r: (0.1, 1.7, 1e-3)),
    (newton, lambda r: (2.5,)),
    (bisection, lambda r: (3.0, 0.0, 2.0)),
    (horner, lambda r: (r.uniform(-1, 1, 6), 0.7)),
    (logistic_map, lambda r: (0.3, 3.5, 12)),
    (fibonacci, lambda r: (12,)),
    (power, lambda r: (1.1, 13)),
    (mandelbrot_counts, lambda r: (np.linspace(-2, 1, 6), np.linspace(-1, 1, 5), 30)),
    (crc16, lambda r: (r.integers(0, 256, 9).astype(np.uint8), 0x8408)),
    (collatz_steps, lambda r: (27,)),
    (game_of_life, lambda r: (r.integers(0, 2, (6, 7)), 4)),
]
