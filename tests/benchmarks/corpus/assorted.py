"""Histories and saved steps, cell lists, sweeps, walks over trees, filters of images, tables of dynamic programming, small systems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.benchmarks.corpus.program import Program


def lorenz_history(u0, sigma, rho, beta, dt, steps, every):
    """The classical method of Runge and Kutta; each state is kept, every few of them apart."""
    u = np.zeros((steps + 1, 3))
    saved = np.zeros((steps // every + 1, 3))
    u[0] = u0
    for n in range(steps):
        k = np.zeros((4, 3))
        for s in range(4):
            v = u[n] if s == 0 else u[n] + (dt if s == 3 else 0.5 * dt) * k[s - 1]
            k[s, 0] = sigma * (v[1] - v[0])
            k[s, 1] = v[0] * (rho - v[2]) - v[1]
            k[s, 2] = v[0] * v[1] - beta * v[2]
        u[n + 1] = u[n] + dt / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])
        if n % every == 0:
            saved[n // every] = u[n]
    return u[-1], saved


def lorenz_history_data(rng, n):
    return np.array([1.0, 2.0, 20.0]), 10.0, 28.0, 8 / 3, 1e-3, n, 10


def front_history(u0, d, r, dt, steps):
    """A front that moves: the whole history, elements in a loop, mirrors at the ends."""
    n = len(u0)
    u = np.zeros((steps + 1, n))
    u[0] = u0
    for t in range(steps):
        for i in range(n):
            left = u[t, i - 1] if i > 0 else u[t, 1]
            right = u[t, i + 1] if i < n - 1 else u[t, n - 2]
            u[t + 1, i] = u[t, i] + dt * (d * (left - 2 * u[t, i] + right) + r[i] * u[t, i] * (1 - u[t, i]))
    return u


def front_history_data(rng, n):
    return rng.random(n), 1.0, 0.5 + rng.random(n), 0.2, 100


def epidemic(s, e, i, contacts, rates, dt, steps, every):
    """Groups of ages that infect each other; the curve of cases every few steps."""
    r = np.zeros(len(s))
    curve = np.zeros((steps // every, len(s)))
    for t in range(steps):
        force = contacts @ i
        infected = rates[0] * s * force
        ill = rates[1] * e
        well = rates[2] * i
        s = s - dt * infected
        e = e + dt * (infected - ill)
        i = i + dt * (ill - well)
        r = r + dt * well
        if (t + 1) % every == 0:
            curve[t // every] = i
    return curve, r


def epidemic_data(rng, n):
    return np.full(n, 0.99), np.zeros(n), np.full(n, 0.01), rng.random((n, n)) / n, np.array([0.9, 0.4, 0.2]), 0.1, 500, 10


def volterra(g, kernel, h):
    """An integral equation whose integrals grow."""
    n = len(g)
    y = np.zeros(n)
    y[0] = g[0]
    for i in range(1, n):
        s = 0.5 * kernel[i, 0] * y[0] + kernel[i, 1:i] @ y[1:i]
        y[i] = (g[i] + h * s) / (1 - 0.5 * h * kernel[i, i])
    return y


def volterra_data(rng, n):
    return rng.standard_normal(n), rng.standard_normal((n, n)), 1.0 / n


def cell_forces(x, y, box, cutoff):
    """Particles in cells, linked lists; pairs nearer than the cutoff push each other."""
    n = len(x)
    m = int(box / cutoff)
    head = np.full((m, m), -1)
    link = np.full(n, -1)
    for k in range(n):
        i, j = int(x[k] / box * m), int(y[k] / box * m)
        link[k] = head[i, j]
        head[i, j] = k
    fx, fy = np.zeros(n), np.zeros(n)
    for k in range(n):
        i, j = int(x[k] / box * m), int(y[k] / box * m)
        for a in range(max(i - 1, 0), min(i + 2, m)):
            for b in range(max(j - 1, 0), min(j + 2, m)):
                other = head[a, b]
                while other >= 0:
                    if other != k:
                        dx, dy = x[k] - x[other], y[k] - y[other]
                        r2 = dx * dx + dy * dy
                        if r2 < cutoff * cutoff:
                            f = (1 - np.sqrt(r2) / cutoff) ** 2
                            fx[k] += f * dx
                            fy[k] += f * dy
                    other = link[other]
    return fx, fy


def cell_forces_data(rng, n):
    box = np.sqrt(n / 4.0)
    return box * rng.random(n), box * rng.random(n), box, 1.0


def block_thomas(lower, diagonal, upper, f):
    """Blocks of two by two on three diagonals."""
    n = len(f)
    c, x = np.zeros((n, 2, 2)), np.zeros((n, 2))
    for k in range(n):
        d, b = diagonal[k].copy(), f[k].copy()
        if k > 0:
            d -= lower[k] @ c[k - 1]
            b -= lower[k] @ x[k - 1]
        det = d[0, 0] * d[1, 1] - d[0, 1] * d[1, 0]
        inverse = np.array([[d[1, 1], -d[0, 1]], [-d[1, 0], d[0, 0]]]) / det
        c[k] = inverse @ upper[k]
        x[k] = inverse @ b
    for k in range(n - 2, -1, -1):
        x[k] -= c[k] @ x[k + 1]
    return x


def block_thomas_data(rng, n):
    return (
        rng.standard_normal((n, 2, 2)),
        6 * np.eye(2) + rng.standard_normal((n, 2, 2)),
        rng.standard_normal((n, 2, 2)),
        rng.standard_normal((n, 2)),
    )


def shots(speed, angle, mach, drag, dt):
    """Shells that fall: drag from a table by speed, until the ground."""
    where = np.zeros(len(speed))
    for k in range(len(speed)):
        x, y = 0.0, 0.0
        u, v = speed[k] * np.cos(angle[k]), speed[k] * np.sin(angle[k])
        while y >= 0.0:
            s = np.sqrt(u * u + v * v)
            c = np.interp(s / 340.0, mach, drag)
            a = 1e-4 * c * s
            last_x, last_y = x, y
            x, y = x + dt * u, y + dt * v
            u, v = u - dt * a * u, v - dt * (9.81 + a * v)
        where[k] = last_x + (x - last_x) * last_y / (last_y - y)
    return where


def shots_data(rng, n):
    return 300 + 400 * rng.random(n), 0.5 + 0.5 * rng.random(n), np.linspace(0, 3, 16), 0.5 + rng.random(16), 0.05


def walkers(x, numbers, uniforms, step, width):
    """Metropolis walks in two wells, with moments of what they visit."""
    mean, square, taken = 0.0, 0.0, 0
    out = np.zeros(len(x))
    for k in range(len(x)):
        p = x[k]
        e = (p * p - width) ** 2
        for t in range(numbers.shape[1]):
            q = p + step * numbers[k, t]
            f = (q * q - width) ** 2
            if f <= e or uniforms[k, t] < np.exp(e - f):
                p, e = q, f
                taken += 1
            mean += p
            square += p * p
        out[k] = p
    n = len(x) * numbers.shape[1]
    return out, mean / n, square / n, taken


def walkers_data(rng, n):
    return rng.standard_normal(n), rng.standard_normal((n, 100)), rng.random((n, 100)), 0.5, 1.0


def heston(v0, kappa, theta, xi, rho, strike, z):
    """Variance that goes back to its mean; all paths in each step."""
    steps, paths = z.shape[0], z.shape[2]
    dt = 1.0 / steps
    x, v = np.zeros(paths), np.full(paths, v0)
    for t in range(steps):
        w = rho * z[t, 0] + np.sqrt(1 - rho * rho) * z[t, 1]
        positive = np.maximum(v, 0.0)
        root = np.sqrt(positive * dt)
        x += -0.5 * positive * dt + root * z[t, 0]
        v += kappa * (theta - positive) * dt + xi * root * w
    return np.mean(np.maximum(np.exp(x) - strike, 0.0))


def heston_data(rng, n):
    return 0.04, 2.0, 0.04, 0.3, -0.7, 1.0, rng.standard_normal((50, 2, n))


def canny(image, low, high):
    """Gradients of an image, thinned along their direction, two thresholds."""
    n, m = image.shape
    gx, gy, size = np.zeros((n, m)), np.zeros((n, m)), np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            gx[i, j] = image[i, j + 1] - image[i, j - 1] + 0.5 * (image[i - 1, j + 1] - image[i - 1, j - 1])
            gy[i, j] = image[i + 1, j] - image[i - 1, j] + 0.5 * (image[i + 1, j - 1] - image[i - 1, j - 1])
            size[i, j] = np.hypot(gx[i, j], gy[i, j])
    out = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            s = size[i, j]
            if s < low:
                continue
            if abs(gx[i, j]) > abs(gy[i, j]):
                a, b = size[i, j - 1], size[i, j + 1]
            else:
                a, b = size[i - 1, j], size[i + 1, j]
            if s >= a and s >= b:
                out[i, j] = s if s > high else 0.5 * s
    return out


def canny_data(rng, n):
    return rng.random((n, n)), 0.2, 0.8


def smoothed_image(image, kappa, steps):
    """Diffusion that stops at edges; neighbours outside are the pixel at the border."""
    n, m = image.shape
    u = image.copy()
    for _ in range(steps):
        new = np.empty((n, m))
        for i in range(n):
            for j in range(m):
                s = 0.0
                for a, b in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                    d = u[min(max(i + a, 0), n - 1), min(max(j + b, 0), m - 1)] - u[i, j]
                    s += d / (1 + (d / kappa) ** 2)
                new[i, j] = u[i, j] + 0.2 * s
        u = new
    return u


def smoothed_image_data(rng, n):
    return rng.random((n, n)), 0.3, 5


def tree_forces(x, y, cx, cy, mass, width, child, theta):
    """Walks over a quadtree in arrays with a stack: near cells are opened."""
    n = len(x)
    fx, fy = np.zeros(n), np.zeros(n)
    stack = np.zeros(256, dtype=np.int64)
    for k in range(n):
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            c = stack[top]
            dx, dy = cx[c] - x[k], cy[c] - y[k]
            r2 = dx * dx + dy * dy + 1e-4
            if child[c, 0] < 0 or width[c] * width[c] < theta * theta * r2:
                f = mass[c] / (r2 * np.sqrt(r2))
                fx[k] += f * dx
                fy[k] += f * dy
            else:
                for q in range(4):
                    stack[top] = child[c, q]
                    top += 1
    return fx, fy


def tree_forces_data(rng, n):
    depth = int(np.log2(n) / 2) + 1
    levels = [np.arange(4**d) + (4**d - 1) // 3 for d in range(depth + 1)]
    cells = levels[-1][-1] + 1
    child = np.full((cells, 4), -1)
    cx, cy, mass, width = np.zeros(cells), np.zeros(cells), np.ones(cells), np.ones(cells)
    for d in range(depth):
        for c in levels[d]:
            for q in range(4):
                child[c, q] = 4 * c + q + 1
    cx[0] = cy[0] = 0.5
    for d in range(depth):
        for c in levels[d]:
            for q in range(4):
                b = child[c, q]
                width[b] = 0.5 * width[c]
                mass[b] = 0.25 * mass[c]
                cx[b] = cx[c] + width[c] * (0.25 if q % 2 else -0.25)
                cy[b] = cy[c] + width[c] * (0.25 if q // 2 else -0.25)
    mass *= 0.5 + rng.random(cells)
    return rng.random(n), rng.random(n), cx, cy, mass, width, child, 0.5


def messages(field, coupling, start, end, rounds):
    """Beliefs of spins with neighbours: messages along both directions of each edge."""
    edges = len(start)
    to, back = np.zeros(edges), np.zeros(edges)
    for _ in range(rounds):
        total = field.copy()
        for e in range(edges):
            total[end[e]] += to[e]
            total[start[e]] += back[e]
        for e in range(edges):
            t = np.tanh(coupling[e])
            a = np.arctanh(t * np.tanh(total[start[e]] - back[e]))
            b = np.arctanh(t * np.tanh(total[end[e]] - to[e]))
            to[e], back[e] = 0.5 * (to[e] + a), 0.5 * (back[e] + b)
    total = field.copy()
    for e in range(edges):
        total[end[e]] += to[e]
        total[start[e]] += back[e]
    return np.tanh(total)


def messages_data(rng, n):
    return rng.standard_normal(n), 0.3 * rng.standard_normal(2 * n), rng.integers(0, n, 2 * n), rng.integers(0, n, 2 * n), 5


def american_put(spot, strike, sigma, rate, steps):
    """A binomial tree, one row of values that shrinks."""
    dt = 1.0 / steps
    up = np.exp(sigma * np.sqrt(dt))
    p = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    discount = np.exp(-rate * dt)
    out = np.zeros(len(spot))
    for k in range(len(spot)):
        v = np.zeros(steps + 1)
        for j in range(steps + 1):
            v[j] = max(strike - spot[k] * up ** (2 * j - steps), 0.0)
        for t in range(steps - 1, -1, -1):
            s = spot[k] * up ** (-t)
            for j in range(t + 1):
                v[j] = max(discount * (p * v[j + 1] + (1 - p) * v[j]), strike - s)
                s *= up * up
        out[k] = v[0]
    return out


def american_put_data(rng, n):
    return 0.8 + 0.4 * rng.random(10), 1.0, 0.3, 0.02, n


def parenthesised(sizes):
    """The cheapest order of a product of matrices: a table over intervals."""
    n = len(sizes) - 1
    best = np.zeros((n, n))
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            least = np.inf
            for k in range(i, j):
                cost = best[i, k] + best[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if cost < least:
                    least = cost
            best[i, j] = least
    return best[0, n - 1]


def parenthesised_data(rng, n):
    return (1 + rng.random(n + 1),)


def ordinates(source, sigma, mu, eta, weight, h):
    """Transport sweeps through a square, corner by corner, for each pair of directions."""
    n, m = source.shape
    flux = np.zeros((n, m))
    for d in range(len(mu)):
        a, b = 2 * abs(mu[d]) / h, 2 * abs(eta[d]) / h
        below = np.zeros(m)
        for i in range(n):
            ii = i if mu[d] > 0 else n - 1 - i
            left = 0.0
            for j in range(m):
                jj = j if eta[d] > 0 else m - 1 - j
                psi = (source[ii, jj] + a * below[jj] + b * left) / (sigma[ii, jj] + a + b)
                below[jj] = max(2 * psi - below[jj], 0.0)
                left = max(2 * psi - left, 0.0)
                flux[ii, jj] += weight[d] * psi
    return flux


def ordinates_data(rng, n):
    mu = np.array([0.3, 0.3, -0.3, -0.3, 0.8, 0.8, -0.8, -0.8])
    eta = np.array([0.8, -0.8, 0.8, -0.8, 0.4, -0.4, 0.4, -0.4])
    return rng.random((n, n)), 0.5 + rng.random((n, n)), mu, eta, np.full(8, 0.125), 0.1


def clipped_stack(frames, sigmas):
    """Means of frames without what lies far off, row by row, with masks."""
    n, m = frames.shape
    out = np.zeros(n)
    for i in range(n):
        row = frames[i]
        mean, spread = row.mean(), row.std()
        for _ in range(3):
            good = np.abs(row - mean) < sigmas * spread
            mean, spread = row[good].mean(), row[good].std()
        out[i] = mean
    return out


def clipped_stack_data(rng, n):
    x = rng.standard_normal((n, 50))
    x[rng.random((n, 50)) < 0.05] *= 10
    return x, 2.0


@dataclass
class Surface:
    at: float
    curvature: float
    index: float


def lens(curvatures, distances, indices, heights):
    """Rays through a list of surfaces; where they meet the axis."""
    surfaces = []
    at = 0.0
    for k in range(4):
        surfaces.append(Surface(at, curvatures[k], indices[k]))
        at += distances[k]
    out = np.zeros(len(heights))
    for r in range(len(heights)):
        z, y, dz, dy, n = -1.0, heights[r], 1.0, 0.0, 1.0
        lost = False
        for s in surfaces:
            c = s.curvature
            t = (s.at - z) / dz
            y0 = y + t * dy
            b = dz - c * y0 * dy
            root = b * b - c * c * y0 * y0
            if root < 0:
                lost = True
                break
            more = c * y0 * y0 / (b + np.sqrt(root))
            z, y = s.at + more * dz, y0 + more * dy
            nz, ny = 1 - c * (z - s.at), -c * y
            ratio = n / s.index
            cosine = nz * dz + ny * dy
            inner = 1 - ratio * ratio * (1 - cosine * cosine)
            if inner < 0:
                lost = True
                break
            g = np.sqrt(inner) - ratio * cosine
            dz, dy, n = ratio * dz + g * nz, ratio * dy + g * ny, s.index
        out[r] = 0.0 if lost else z - y * dz / dy
    return out


def lens_data(rng, n):
    return np.array([0.2, -0.1, 0.05, -0.3]), np.array([0.5, 0.3, 0.5, 1.0]), np.array([1.5, 1.6, 1.7, 1.0]), 0.1 + rng.random(n)


def tracker(points, seen, q, r, dt):
    """A Kalman filter of four numbers that misses observations, then the smoothed track."""
    n = len(points)
    f = np.eye(4)
    f[0, 2] = f[1, 3] = dt
    h = np.zeros((2, 4))
    h[0, 0] = h[1, 1] = 1.0
    x, p = np.zeros(4), 10 * np.eye(4)
    xs, ps = np.zeros((n, 4)), np.zeros((n, 4, 4))
    xp, pp = np.zeros((n, 4)), np.zeros((n, 4, 4))
    for k in range(n):
        x, p = f @ x, f @ p @ f.T + q * np.eye(4)
        xp[k], pp[k] = x, p
        if seen[k]:
            s = h @ p @ h.T + r * np.eye(2)
            gain = p @ h.T @ np.linalg.inv(s)
            x = x + gain @ (points[k] - h @ x)
            p = p - gain @ h @ p
        xs[k], ps[k] = x, p
    for k in range(n - 2, -1, -1):
        g = ps[k] @ f.T @ np.linalg.inv(pp[k + 1])
        xs[k] += g @ (xs[k + 1] - xp[k + 1])
    return xs


def tracker_data(rng, n):
    return np.cumsum(rng.standard_normal((n, 2)), axis=0), rng.random(n) < 0.8, 0.1, 1.0, 0.1


def obstacle(f, floor, omega, tol):
    """A membrane over an obstacle: over-relaxation in place until nothing moves."""
    n, m = f.shape
    u = np.maximum(floor, 0.0)
    change, rounds = 1.0, 0
    while change > tol and rounds < 200:
        change = 0.0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                old = u[i, j]
                new = old + omega * (0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] + f[i, j]) - old)
                u[i, j] = max(new, floor[i, j])
                change = max(change, abs(u[i, j] - old))
        rounds += 1
    return u


def obstacle_data(rng, n):
    x = np.linspace(-1, 1, n)
    return np.full((n, n), -4.0 / (n * n)), 0.3 - np.add.outer(x * x, x * x) + 0.05 * rng.random((n, n)), 1.6, 1e-3


def givens(a, b):
    """Least squares by rotations of rows, in place."""
    a, b = a.copy(), b.copy()
    m, n = a.shape
    for j in range(n):
        for i in range(m - 1, j, -1):
            if a[i, j] != 0.0:
                r = np.hypot(a[i - 1, j], a[i, j])
                c, s = a[i - 1, j] / r, a[i, j] / r
                for k in range(j, n):
                    t = c * a[i - 1, k] + s * a[i, k]
                    a[i, k] = c * a[i, k] - s * a[i - 1, k]
                    a[i - 1, k] = t
                b[i - 1], b[i] = c * b[i - 1] + s * b[i], c * b[i] - s * b[i - 1]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 : n] @ x[i + 1 : n]) / a[i, i]
    return x


def givens_data(rng, n):
    return rng.standard_normal((2 * n, n)), rng.standard_normal(2 * n)


def compressor(signal, threshold, ratio, attack, release):
    """The gain of loud sound is turned down; fast at once, slowly back."""
    out = np.zeros(len(signal))
    level = 0.0
    for k in range(len(signal)):
        loud = abs(signal[k])
        if loud > level:
            level = attack * level + (1 - attack) * loud
        else:
            level = release * level + (1 - release) * loud
        gain = 1.0
        if level > threshold:
            gain = (level / threshold) ** (1 / ratio - 1)
        out[k] = gain * signal[k]
    return out


def compressor_data(rng, n):
    return np.sin(0.05 * np.arange(n)) * rng.random(n), 0.3, 4.0, 0.9, 0.999


def membrane_elements(points, triangles, load, thickness):
    """Stiffness of linear triangles, one by one, added to the whole; then what it does to a load, and the energy."""
    n = len(points)
    f = np.zeros(n)
    energy = 0.0
    for e in range(len(triangles)):
        nodes = triangles[e]
        p = points[nodes]
        b = np.array([p[1, 1] - p[2, 1], p[2, 1] - p[0, 1], p[0, 1] - p[1, 1]])
        c = np.array([p[2, 0] - p[1, 0], p[0, 0] - p[2, 0], p[1, 0] - p[0, 0]])
        area = 0.5 * (b[0] * c[1] - b[1] * c[0])
        k = thickness[e] * (np.outer(b, b) + np.outer(c, c)) / (4 * area)
        u = load[nodes]
        ku = k @ u
        energy += 0.5 * u @ ku
        for i in range(3):
            f[nodes[i]] += ku[i]
    return f, energy


def membrane_elements_data(rng, n):
    x, y = np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij")
    points = np.stack([x.ravel(), y.ravel()], axis=1) + 0.2 * rng.random(((n + 1) ** 2, 2))
    k = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    triangles = np.concatenate([np.stack([k, k + n + 1, k + 1], axis=1), np.stack([k + n + 1, k + n + 2, k + 1], axis=1)])
    return points, triangles, rng.random(len(points)), 1 + rng.random(len(triangles))


PROGRAMS = [
    Program(lorenz_history, lorenz_history_data, (1000, 20000), (0, 1, 2, 3)),
    Program(front_history, front_history_data, (50, 1000), (0, 1, 2)),
    Program(epidemic, epidemic_data, (8, 100), (0, 2, 3, 4)),
    Program(volterra, volterra_data, (50, 1000), (0, 1)),
    Program(cell_forces, cell_forces_data, (100, 5000), (0, 1)),
    Program(block_thomas, block_thomas_data, (50, 5000), (0, 1, 2, 3)),
    Program(shots, shots_data, (5, 200), (0, 1, 3)),
    Program(walkers, walkers_data, (20, 1000), (0, 1, 3, 4)),
    Program(heston, heston_data, (50, 5000), (0, 1, 2, 3, 4)),
    Program(canny, canny_data, (32, 256)),
    Program(smoothed_image, smoothed_image_data, (32, 256), (0, 1)),
    Program(tree_forces, tree_forces_data, (64, 1024), (0, 1, 2, 3, 4)),
    Program(messages, messages_data, (50, 5000), (0, 1)),
    Program(american_put, american_put_data, (50, 500), (0, 2, 3)),
    Program(parenthesised, parenthesised_data, (30, 150)),
    Program(ordinates, ordinates_data, (32, 200), (0, 1)),
    Program(clipped_stack, clipped_stack_data, (50, 2000), (0,)),
    Program(lens, lens_data, (20, 2000), (0, 1, 2, 3)),
    Program(tracker, tracker_data, (50, 2000), (0, 2, 3)),
    Program(obstacle, obstacle_data, (24, 96)),
    Program(givens, givens_data, (15, 80), (0, 1)),
    Program(compressor, compressor_data, (500, 50000), (0, 1, 2, 3, 4)),
    Program(membrane_elements, membrane_elements_data, (8, 60), (0, 2, 3)),
]
