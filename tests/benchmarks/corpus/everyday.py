"""Solvers of bands, borders in branches, tables, simulations of given numbers, trees in arrays, small matrices, objects in lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.benchmarks.corpus.program import Program


def tridiagonals(a, b, c, d):
    """A tridiagonal system for each row."""
    m, n = d.shape
    x, u = np.zeros((m, n)), np.zeros(n)
    for k in range(m):
        u[0] = c[0] / b[0]
        x[k, 0] = d[k, 0] / b[0]
        for i in range(1, n):
            w = b[i] - a[i] * u[i - 1]
            u[i] = c[i] / w
            x[k, i] = (d[k, i] - a[i] * x[k, i - 1]) / w
        for i in range(n - 2, -1, -1):
            x[k, i] -= u[i] * x[k, i + 1]
    return x


def tridiagonals_data(rng, n):
    return rng.random(n), 3 + rng.random(n), rng.random(n), rng.standard_normal((20, n))


def pentadiagonal(bands, f):
    """Elimination with two bands on each side, no pivots."""
    n = len(f)
    a, x = bands.copy(), f.copy()
    for k in range(n):
        for i in range(k + 1, min(k + 3, n)):
            m = a[i, 2 + k - i] / a[k, 2]
            for j in range(k + 1, min(k + 3, n)):
                a[i, 2 + j - i] -= m * a[k, 2 + j - k]
            x[i] -= m * x[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, min(i + 3, n)):
            x[i] -= a[i, 2 + j - i] * x[j]
        x[i] /= a[i, 2]
    return x


def pentadiagonal_data(rng, n):
    bands = rng.standard_normal((n, 5))
    bands[:, 2] = 8
    return bands, rng.standard_normal(n)


def robin_heat(u, k, h, outside, dt, steps):
    """Heat on a rod, conductivity of its own in each cell, exchange with the outside at both ends."""
    n = len(u)
    u = u.copy()
    for _ in range(steps):
        new = np.zeros(n)
        for i in range(n):
            if i == 0:
                left = h * (outside - u[i])
            else:
                left = 0.5 * (k[i] + k[i - 1]) * (u[i - 1] - u[i])
            if i == n - 1:
                right = h * (outside - u[i])
            else:
                right = 0.5 * (k[i] + k[i + 1]) * (u[i + 1] - u[i])
            new[i] = u[i] + dt * (left + right)
        u = new
    return u


def robin_heat_data(rng, n):
    return rng.random(n), 0.5 + rng.random(n), 0.1, 1.0, 0.3, 50


def membrane(u, speed, steps):
    """Waves, with mirrors at two sides and walls at the others."""
    n, m = u.shape
    u, before = u.copy(), u.copy()
    for _ in range(steps):
        new = np.zeros((n, m))
        for i in range(n):
            for j in range(m):
                up = u[i - 1, j] if i > 0 else 0.0
                down = u[i + 1, j] if i < n - 1 else 0.0
                left = u[i, j - 1] if j > 0 else u[i, j + 1]
                right = u[i, j + 1] if j < m - 1 else u[i, j - 1]
                new[i, j] = 2 * u[i, j] - before[i, j] + speed[i, j] * (up + down + left + right - 4 * u[i, j])
        before, u = u, new
    return u


def membrane_data(rng, n):
    return rng.standard_normal((n, n)), 0.1 + 0.1 * rng.random((n, n)), 10


def torus(c, vx, vy, dt, steps):
    """Upwind transport on a periodic square."""
    n = c.shape[0]
    for _ in range(steps):
        new = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                if vx[i, j] > 0:
                    dx = c[i, j] - c[(i - 1) % n, j]
                else:
                    dx = c[(i + 1) % n, j] - c[i, j]
                if vy[i, j] > 0:
                    dy = c[i, j] - c[i, (j - 1) % n]
                else:
                    dy = c[i, (j + 1) % n] - c[i, j]
                new[i, j] = c[i, j] - dt * (vx[i, j] * dx + vy[i, j] * dy)
        c = new
    return c


def torus_data(rng, n):
    return rng.random((n, n)), rng.standard_normal((n, n)), rng.standard_normal((n, n)), 0.1, 10


def bisections(a, b):
    """The root of x + a*tanh(x) = b for each sample."""
    out = np.zeros(len(a))
    for k in range(len(a)):
        lo, hi = -10.0, 10.0
        while hi - lo > 1e-3:
            mid = 0.5 * (lo + hi)
            if mid + a[k] * np.tanh(mid) < b[k]:
                lo = mid
            else:
                hi = mid
        x = 0.5 * (lo + hi)
        t = np.tanh(x)
        out[k] = x - (x + a[k] * t - b[k]) / (1 + a[k] * (1 - t * t))
    return out


def bisections_data(rng, n):
    return rng.random(n), rng.standard_normal(n)


def table_walk(xs, ys, at):
    """Linear interpolation in a table, by bisection of its places."""
    out = np.zeros(len(at))
    for k in range(len(at)):
        lo, hi = 0, len(xs) - 1
        while hi - lo > 1:
            mid = (lo + hi) // 2
            if xs[mid] <= at[k]:
                lo = mid
            else:
                hi = mid
        w = (at[k] - xs[lo]) / (xs[hi] - xs[lo])
        out[k] = (1 - w) * ys[lo] + w * ys[hi]
    return out


def table_walk_data(rng, n):
    return np.sort(rng.random(n)), rng.standard_normal(n), 0.1 + 0.8 * rng.random(4 * n)


def steam_table(table, x, y):
    """Bilinear look-up with clamped places."""
    n, m = table.shape
    s = np.zeros(len(x))
    for k in range(len(x)):
        p, q = x[k] * (n - 1), y[k] * (m - 1)
        i, j = min(max(int(p), 0), n - 2), min(max(int(q), 0), m - 2)
        u, v = p - i, q - j
        s[k] = (1 - u) * ((1 - v) * table[i, j] + v * table[i, j + 1]) + u * ((1 - v) * table[i + 1, j] + v * table[i + 1, j + 1])
    return s


def steam_table_data(rng, n):
    return rng.standard_normal((30, 40)), rng.random(n), rng.random(n)


def integral_image(image, r):
    """Means over boxes, by sums of all rows and columns before."""
    n, m = image.shape
    s = np.zeros((n + 1, m + 1))
    for i in range(n):
        row = 0.0
        for j in range(m):
            row += image[i, j]
            s[i + 1, j + 1] = s[i, j + 1] + row
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            i0, i1, j0, j1 = max(i - r, 0), min(i + r + 1, n), max(j - r, 0), min(j + r + 1, m)
            out[i, j] = (s[i1, j1] - s[i0, j1] - s[i1, j0] + s[i0, j0]) / ((i1 - i0) * (j1 - j0))
    return out


def integral_image_data(rng, n):
    return rng.random((n, n)), 3


def erosion(image):
    """The least of nine neighbours."""
    n, m = image.shape
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            best = image[i, j]
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if 0 <= i + di < n and 0 <= j + dj < m:
                        best = min(best, image[i + di, j + dj])
            out[i, j] = best
    return out


def erosion_data(rng, n):
    return (rng.random((n, n)),)


def soft_histogram(x, w, bins):
    """Each weight goes to two bins."""
    h = np.zeros(bins)
    for k in range(len(x)):
        p = x[k] * (bins - 1)
        i = int(p)
        if i >= bins - 1:
            h[bins - 1] += w[k]
        elif i >= 0:
            f = p - i
            h[i] += (1 - f) * w[k]
            h[i + 1] += f * w[k]
    return h


def soft_histogram_data(rng, n):
    return rng.random(n), rng.random(n), 32


def barrier_option(spot, sigma, barrier, numbers):
    """Paths that end where they touch a barrier."""
    paths, steps = numbers.shape
    total = 0.0
    for k in range(paths):
        s = spot
        alive = True
        for t in range(steps):
            s *= np.exp(-0.5 * sigma * sigma / steps + sigma * numbers[k, t] / np.sqrt(steps))
            if s < barrier:
                alive = False
                break
        if alive:
            total += max(s - 1.0, 0.0)
    return total / paths


def barrier_option_data(rng, n):
    return 1.0, 0.3, 0.8, rng.standard_normal((n, 50))


def waiting(arrivals, services):
    """Two servers in a row: when customers leave."""
    n = len(arrivals)
    first, second = np.zeros(n), np.zeros(n)
    t = a = b = 0.0
    for k in range(n):
        t += arrivals[k]
        a = max(a, t) + services[k, 0]
        b = max(b, a) + services[k, 1]
        first[k], second[k] = a - t, b - t
    return first, second


def waiting_data(rng, n):
    return rng.exponential(1.0, n), rng.exponential(0.8, (n, 2))


def inventory(demand, low, high, price, hold, late):
    """Orders up to `high` whenever less than `low` is there or on its way, three days of delivery."""
    stock, cost, coming = high, 0.0, 0.0
    waiting_for = np.zeros(4)
    for t in range(len(demand)):
        stock += waiting_for[t % 4]
        coming -= waiting_for[t % 4]
        waiting_for[t % 4] = 0.0
        stock -= demand[t]
        if stock < 0:
            cost -= late * stock
            stock = 0.0
        else:
            cost += hold * stock
        if stock + coming < low:
            order = high - stock - coming
            waiting_for[(t + 3) % 4] = order
            coming += order
            cost += price * order
    return cost


def inventory_data(rng, n):
    return rng.exponential(1.0, n), 4.0, 10.0, 1.0, 0.1, 3.0


def river_tree(parent, rain, loss):
    """Flow from the leaves of a tree to its root; children come after parents."""
    flow = rain.copy()
    for k in range(len(parent) - 1, 0, -1):
        q = flow[k] * (1 - loss[k])
        if q > 0.1:
            flow[parent[k]] += np.sqrt(q)
        else:
            flow[parent[k]] += q
    return flow


def river_tree_data(rng, n):
    parent = np.zeros(n, int)
    parent[1:] = (rng.random(n - 1) * np.arange(1, n)).astype(int)
    return parent, rng.random(n), 0.5 * rng.random(n)


def boosted_trees(x, feature, threshold, leaf):
    """Trees of depth six in arrays, walked for each sample; softly at the last node."""
    out = np.zeros(x.shape[0])
    for k in range(x.shape[0]):
        for t in range(feature.shape[0]):
            node = 0
            while 2 * node + 2 < feature.shape[1]:
                if x[k, feature[t, node]] < threshold[t, node]:
                    node = 2 * node + 1
                else:
                    node = 2 * node + 2
            g = 1 / (1 + np.exp(threshold[t, node] - x[k, feature[t, node]]))
            out[k] += g * leaf[t, node]
    return out


def boosted_trees_data(rng, n):
    return rng.standard_normal((n, 8)), rng.integers(0, 8, (20, 63)), rng.standard_normal((20, 63)), rng.standard_normal((20, 63))


def longest_paths(start, end, weight, n):
    """Smooth longest paths in a graph whose edges are sorted."""
    d = np.zeros(n)
    for e in range(len(start)):
        a, b = d[start[e]] + weight[e], d[end[e]]
        if a > b:
            d[end[e]] = a + np.log1p(np.exp(b - a))
        else:
            d[end[e]] = b + np.log1p(np.exp(a - b))
    return d


def longest_paths_data(rng, n):
    start = np.sort(rng.integers(0, n - 1, 6 * n))
    return start, start + 1 + (rng.random(6 * n) * np.minimum(10, n - 1 - start)).astype(int), rng.random(6 * n), n


def rotated(q, v):
    w, x, y, z = q
    return np.array(
        [
            (1 - 2 * (y * y + z * z)) * v[0] + 2 * (x * y - w * z) * v[1] + 2 * (x * z + w * y) * v[2],
            2 * (x * y + w * z) * v[0] + (1 - 2 * (x * x + z * z)) * v[1] + 2 * (y * z - w * x) * v[2],
            2 * (x * z - w * y) * v[0] + 2 * (y * z + w * x) * v[1] + (1 - 2 * (x * x + y * y)) * v[2],
        ]
    )


def arm(angles, lengths):
    """Where the joints of an arm are; each turns about an axis of its own."""
    n = len(angles)
    q = np.array([1.0, 0.0, 0.0, 0.0])
    at = np.zeros((n + 1, 3))
    for k in range(n):
        c, s = np.cos(0.5 * angles[k]), np.sin(0.5 * angles[k])
        r = np.array([c, s, 0.0, 0.0]) if k % 2 == 0 else np.array([c, 0.0, s, 0.0])
        q = np.array(
            [
                q[0] * r[0] - q[1] * r[1] - q[2] * r[2] - q[3] * r[3],
                q[0] * r[1] + q[1] * r[0] + q[2] * r[3] - q[3] * r[2],
                q[0] * r[2] - q[1] * r[3] + q[2] * r[0] + q[3] * r[1],
                q[0] * r[3] + q[1] * r[2] - q[2] * r[1] + q[3] * r[0],
            ]
        )
        at[k + 1] = at[k] + rotated(q, np.array([0.0, 0.0, lengths[k]]))
    return at


def arm_data(rng, n):
    return rng.standard_normal(n), rng.random(n)


def strain(f, e, nu):
    """Energy of deformation gradients, 3 by 3 each: invariants, and the inverse by cofactors."""
    total = 0.0
    lam, mu = e * nu / ((1 + nu) * (1 - 2 * nu)), e / (2 * (1 + nu))
    for k in range(len(f)):
        a = f[k]
        c = a.T @ a
        j = (
            a[0, 0] * (a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1])
            - a[0, 1] * (a[1, 0] * a[2, 2] - a[1, 2] * a[2, 0])
            + a[0, 2] * (a[1, 0] * a[2, 1] - a[1, 1] * a[2, 0])
        )
        if j > 0.05:
            total += 0.5 * mu * (np.trace(c) - 3) - mu * np.log(j) + 0.5 * lam * np.log(j) ** 2
        else:
            total += 100 * (0.05 - j)
    return total


def strain_data(rng, n):
    return np.eye(3) + 0.2 * rng.standard_normal((n, 3, 3)), 2.0, 0.3


@dataclass
class Ball:
    x: float
    v: float
    m: float


def balls(x, v, m, steps, dt):
    """Balls on a line that bounce off walls and push each other."""
    row = [Ball(x[k], v[k], m[k]) for k in range(8)]
    for _ in range(steps):
        for k in range(8):
            force = 0.0
            if k > 0:
                force += 0.01 / (row[k].x - row[k - 1].x)
            if k < 7:
                force -= 0.01 / (row[k + 1].x - row[k].x)
            row[k].v += dt * force / row[k].m
        for b in row:
            b.x += dt * b.v
            if b.x < 0 or b.x > 10:
                b.v = -b.v
    return np.array([b.x for b in row])


def balls_data(rng, n):
    return np.arange(8) + 1.0, 0.1 * rng.standard_normal(8), 1 + rng.random(8), n, 0.01


def gaps(y, alpha):
    """Exponential smoothing that skips what is missing."""
    out = np.zeros(len(y))
    level, seen = 0.0, False
    for k in range(len(y)):
        if y[k] == y[k]:
            if seen:
                level = alpha * y[k] + (1 - alpha) * level
            else:
                level, seen = y[k], True
        out[k] = level
    return out


def gaps_data(rng, n):
    return np.where(rng.random(n) < 0.2, np.nan, rng.standard_normal(n)), 0.3


def local_lines(y, r):
    """A line through the neighbours of each point, by sums."""
    n = len(y)
    out = np.zeros(n)
    for i in range(n):
        s0 = s1 = s2 = t0 = t1 = 0.0
        for j in range(max(0, i - r), min(n, i + r + 1)):
            d = j - i
            w = 1.0 - abs(d) / (r + 1)
            s0, s1, s2 = s0 + w, s1 + w * d, s2 + w * d * d
            t0, t1 = t0 + w * y[j], t1 + w * d * y[j]
        out[i] = (s2 * t0 - s1 * t1) / (s0 * s2 - s1 * s1)
    return out


def local_lines_data(rng, n):
    return rng.standard_normal(n), 7


def van_der_pol(x, v, mu, t_end):
    """Steps of Heun's method, as long as the difference from Euler's permits."""
    t, h = 0.0, 0.01
    while t < t_end:
        h = min(h, t_end - t)
        a, b = v, mu * (1 - x * x) * v - x
        y, w = x + h * a, v + h * b
        c, d = w, mu * (1 - y * y) * w - y
        error = 0.5 * h * (abs(c - a) + abs(d - b))
        if error < 1e-4:
            x, v, t = x + 0.5 * h * (a + c), v + 0.5 * h * (b + d), t + h
        h *= min(2.0, max(0.3, 0.9 * np.sqrt(1e-4 / (error + 1e-12))))
    return x, v


def van_der_pol_data(rng, n):
    return 1.0, 0.5, 2.0, float(n)


def reactions(rates, numbers, t_end):
    """Gillespie's method with numbers given; times depend on rates."""
    a, b, t = 50.0, 20.0, 0.0
    total = 0.0
    for k in range(numbers.shape[0]):
        p, q, r = rates[0] * a, rates[1] * a * b, rates[2] * b
        s = p + q + r
        if s <= 0:
            break
        step = -np.log(numbers[k, 0]) / s
        if t + step > t_end:
            break
        total += step * a
        t += step
        u = numbers[k, 1] * s
        if u < p:
            a += 1
        elif u < p + q:
            a -= 1
            b += 1
        else:
            b -= 1
    return total


def reactions_data(rng, n):
    return np.array([1.0, 0.02, 1.0]), rng.random((n, 2)), 1e9


def spline(y, at):
    """A natural cubic spline through equally spaced points, then its values."""
    n = len(y)
    m, u = np.zeros(n), np.zeros(n)
    for i in range(1, n - 1):
        w = 4.0 - u[i - 1]
        u[i] = 1.0 / w
        m[i] = (6 * (y[i + 1] - 2 * y[i] + y[i - 1]) - m[i - 1]) / w
    for i in range(n - 2, 0, -1):
        m[i] -= u[i] * m[i + 1]
    out = np.zeros(len(at))
    for k in range(len(at)):
        i = min(int(at[k]), n - 2)
        p = at[k] - i
        q = 1 - p
        out[k] = q * y[i] + p * y[i + 1] + ((q**3 - q) * m[i] + (p**3 - p) * m[i + 1]) / 6
    return out


def spline_data(rng, n):
    return rng.standard_normal(n), (n - 1) * rng.random(4 * n)


PROGRAMS = [
    Program(tridiagonals, tridiagonals_data, (50, 1000), (0, 1, 2, 3)),
    Program(pentadiagonal, pentadiagonal_data, (100, 5000), (0, 1)),
    Program(robin_heat, robin_heat_data, (50, 1000), (0, 1)),
    Program(membrane, membrane_data, (24, 128), (0, 1)),
    Program(torus, torus_data, (24, 128), (0, 1, 2)),
    Program(bisections, bisections_data, (50, 2000), (0, 1)),
    Program(table_walk, table_walk_data, (50, 2000), (1, 2)),
    Program(steam_table, steam_table_data, (100, 10000), (0, 1, 2)),
    Program(integral_image, integral_image_data, (24, 200)),
    Program(erosion, erosion_data, (24, 200)),
    Program(soft_histogram, soft_histogram_data, (100, 20000), (0, 1)),
    Program(barrier_option, barrier_option_data, (50, 2000), (0, 1)),
    Program(waiting, waiting_data, (100, 20000), (0, 1)),
    Program(inventory, inventory_data, (100, 20000), (0, 2, 3)),
    Program(river_tree, river_tree_data, (100, 20000), (1, 2)),
    Program(boosted_trees, boosted_trees_data, (20, 1000), (0, 2, 3)),
    Program(longest_paths, longest_paths_data, (50, 2000), (2,)),
    Program(arm, arm_data, (20, 1000), (0, 1)),
    Program(strain, strain_data, (50, 5000), (0, 1)),
    Program(balls, balls_data, (100, 5000), (0, 1, 2)),
    Program(gaps, gaps_data, (100, 20000), (1,)),
    Program(local_lines, local_lines_data, (50, 2000)),
    Program(van_der_pol, van_der_pol_data, (5, 200), (0, 1, 2)),
    Program(reactions, reactions_data, (200, 20000)),
    Program(spline, spline_data, (50, 2000), (0, 1)),
]
