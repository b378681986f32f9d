"""Statistics, learning, finance and quadrature."""

import math

import numpy as np

from tests.benchmarks.corpus.program import Program


def k_means(x, centres, iterations):
    c = centres.copy()
    for _ in range(iterations):
        d = np.sum((x[:, None, :] - c[None, :, :]) ** 2, axis=2)
        label = np.argmin(d, axis=1)
        for k in range(len(c)):
            if np.any(label == k):
                c[k] = np.mean(x[label == k], axis=0)
    return c


def k_means_data(rng, n):
    x = rng.standard_normal((n, 4))
    return x, x[:10] + 0.01, 5


def t_sne(y, p, rate, steps):
    """Descent with momentum on the plane."""
    y = y.copy()
    step = np.zeros(y.shape)
    for _ in range(steps):
        s = np.sum(y * y, axis=1)
        num = 1 / (1 + s[:, None] + s[None, :] - 2 * y @ y.T)
        num[np.arange(len(y)), np.arange(len(y))] = 0.0
        q = np.maximum(num / np.sum(num), 1e-12)
        pq = (p - q) * num
        g = 4 * (np.sum(pq, axis=1)[:, None] * y - pq @ y)
        step = 0.8 * step - rate * g
        y = y + step
        y = y - np.mean(y, axis=0)
    return y


def t_sne_data(rng, n):
    p = rng.random((n, n))
    p = p + p.T
    return rng.standard_normal((n, 2)), p / np.sum(p), 5.0, 20


def gaussian_process(x, y, length, noise):
    """Minus the log marginal likelihood."""
    d = x[:, None] - x[None, :]
    k = np.exp(-0.5 * (d / length) ** 2) + noise * np.eye(len(x))
    l = np.linalg.cholesky(k)
    alpha = np.linalg.solve(k, y)
    return 0.5 * np.dot(y, alpha) + np.sum(np.log(np.diag(l)))


def gaussian_process_data(rng, n):
    x = np.sort(rng.random(n)) * 5
    return x, np.sin(x) + 0.1 * rng.standard_normal(n), 0.7, 0.1


def mixture_em(x, mu, iterations):
    """Expectation and maximisation for a mixture on the line."""
    k = len(mu)
    mu = mu.copy()
    sigma = np.ones(k)
    pi = np.ones(k) / k
    for _ in range(iterations):
        r = pi * np.exp(-0.5 * ((x[:, None] - mu) / sigma) ** 2) / sigma
        r = r / np.sum(r, axis=1)[:, None]
        total = np.sum(r, axis=0)
        mu = np.sum(r * x[:, None], axis=0) / total
        sigma = np.sqrt(np.sum(r * (x[:, None] - mu) ** 2, axis=0) / total)
        pi = total / len(x)
    return mu


def mixture_em_data(rng, n):
    return np.concatenate([rng.standard_normal(n // 2) - 2, rng.standard_normal(n - n // 2) + 2]), np.array([-1.0, 0.2, 1.0]), 20


def adam(w1, b1, w2, b2, x, y, rate, steps):
    """A small network trained on one batch, with its derivative written out."""
    params = [w1, b1, w2, b2]
    m = [np.zeros(p.shape) for p in params]
    v = [np.zeros(p.shape) for p in params]
    for t in range(1, steps + 1):
        a, b, c, d = params
        h = np.tanh(x @ a + b)
        e = (h @ c + d - y) / len(y)
        dh = (e @ c.T) * (1 - h * h)
        grads = [x.T @ dh, np.sum(dh, axis=0), h.T @ e, np.sum(e, axis=0)]
        for k in range(4):
            m[k] = 0.9 * m[k] + 0.1 * grads[k]
            v[k] = 0.999 * v[k] + 0.001 * grads[k] ** 2
            params[k] = params[k] - rate * (m[k] / (1 - 0.9**t)) / (np.sqrt(v[k] / (1 - 0.999**t)) + 1e-4)
    return params[0]


def adam_data(rng, n):
    h = 16
    x = rng.standard_normal((n, 8))
    return (
        0.3 * rng.standard_normal((8, h)),
        np.zeros(h),
        0.3 * rng.standard_normal((h, 2)),
        np.zeros(2),
        x,
        x[:, :2] ** 2,
        0.01,
        20,
    )


def lasso(x, y, lam, sweeps):
    """Coordinate descent with soft thresholds."""
    n, p = x.shape
    w = np.zeros(p)
    r = y.copy()
    norm = np.sum(x * x, axis=0)
    for _ in range(sweeps):
        for j in range(p):
            rho = np.dot(x[:, j], r) + norm[j] * w[j]
            if rho > lam:
                new = (rho - lam) / norm[j]
            elif rho < -lam:
                new = (rho + lam) / norm[j]
            else:
                new = 0.0
            r += x[:, j] * (w[j] - new)
            w[j] = new
    return w


def lasso_data(rng, n):
    x = rng.standard_normal((n, n // 4))
    return x, x[:, 0] - 2 * x[:, 1] + 0.1 * rng.standard_normal(n), 0.1 * n, 10


def lowess(x, y, width):
    """Local lines with tricube weights at each point."""
    n = len(x)
    out = np.zeros(n)
    for i in range(n):
        w = np.clip(1 - np.abs((x - x[i]) / width) ** 3, 0, None) ** 3
        sw, sx, sy = np.sum(w), np.sum(w * x), np.sum(w * y)
        sxx, sxy = np.sum(w * x * x), np.sum(w * x * y)
        slope = (sw * sxy - sx * sy) / (sw * sxx - sx * sx)
        out[i] = (sy - slope * sx) / sw + slope * x[i]
    return out


def lowess_data(rng, n):
    x = np.sort(rng.random(n))
    return x, np.sin(6 * x) + 0.1 * rng.standard_normal(n), 0.3


def garch(omega, alpha, beta, returns):
    s = np.zeros(len(returns))
    s[0] = np.var(returns)
    ll = 0.0
    for t in range(1, len(returns)):
        s[t] = omega + alpha * returns[t - 1] ** 2 + beta * s[t - 1]
        ll -= 0.5 * (np.log(s[t]) + returns[t] ** 2 / s[t])
    return ll


def garch_data(rng, n):
    return 0.1, 0.1, 0.8, rng.standard_normal(n)


def binomial_option(spot, strike, rate, sigma, years, steps):
    """An American put on a binomial tree."""
    dt = years / steps
    up = np.exp(sigma * np.sqrt(dt))
    down = 1 / up
    p = (np.exp(rate * dt) - down) / (up - down)
    discount = np.exp(-rate * dt)
    j = np.arange(steps + 1)
    s = spot * up ** (steps - 2.0 * j)
    v = np.maximum(strike - s, 0)
    for k in range(steps - 1, -1, -1):
        s = s[: k + 1] * down
        v = np.maximum(strike - s, discount * (p * v[: k + 1] + (1 - p) * v[1 : k + 2]))
    return v[0]


def binomial_option_data(rng, n):
    return 100.0, 105.0, 0.03, 0.25, 1.0, n


def asian_option(spot, strike, rate, sigma, z):
    """The mean of paths, path by path, with given normal numbers."""
    paths, steps = z.shape
    dt = 1.0 / steps
    total = 0.0
    for i in range(paths):
        s = spot
        mean = 0.0
        for k in range(steps):
            s *= np.exp((rate - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z[i, k])
            mean += s
        total += max(mean / steps - strike, 0.0)
    return np.exp(-rate) * total / paths


def asian_option_data(rng, n):
    return 100.0, 98.0, 0.03, 0.2, rng.standard_normal((n, 50))


def heston(s0, v0, kappa, theta, xi, rho, z):
    """Stochastic volatility, all paths at once; the variance stays positive."""
    steps, paths = z.shape[1], z.shape[2]
    dt = 1.0 / steps
    s, v = s0 * np.ones(paths), v0 * np.ones(paths)
    for k in range(steps):
        plus = np.maximum(v, 0)
        w1 = z[0, k]
        w2 = rho * z[0, k] + np.sqrt(1 - rho * rho) * z[1, k]
        s = s * np.exp(-0.5 * plus * dt + np.sqrt(plus * dt + 1e-12) * w1)
        v = v + kappa * (theta - plus) * dt + xi * np.sqrt(plus * dt + 1e-12) * w2
    return np.mean(np.maximum(s - s0, 0))


def heston_data(rng, n):
    return 100.0, 0.04, 2.0, 0.04, 0.3, -0.6, rng.standard_normal((2, 50, n))


def normal_cdf(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2.0)))


def implied_volatility(prices, strikes, spot, years):
    """Newton's method for each option until the price fits."""
    out = np.zeros(len(prices))
    for i in range(len(prices)):
        sigma = 0.3
        for _ in range(50):
            d1 = (math.log(spot / strikes[i]) + 0.5 * sigma * sigma * years) / (sigma * math.sqrt(years))
            price = spot * normal_cdf(d1) - strikes[i] * normal_cdf(d1 - sigma * math.sqrt(years))
            vega = spot * math.sqrt(years / (2 * math.pi)) * math.exp(-0.5 * d1 * d1)
            step = (price - prices[i]) / vega
            sigma -= step
            if abs(step) < 1e-12:
                break
        out[i] = sigma
    return out


def implied_volatility_data(rng, n):
    strikes = 80 + 40 * rng.random(n)
    sigma = 0.15 + 0.3 * rng.random(n)
    d1 = (np.log(100 / strikes) + 0.5 * sigma**2) / sigma
    cdf = np.vectorize(normal_cdf)
    return 100 * cdf(d1) - strikes * cdf(d1 - sigma), strikes, 100.0, 1.0


def spline(x, y, at):
    """The natural cubic spline: a tridiagonal system, then evaluation where it is asked for."""
    n = len(x)
    h = x[1:] - x[:-1]
    slope = (y[1:] - y[:-1]) / h
    diagonal, rhs = np.ones(n), np.zeros(n)
    m = np.zeros(n)
    for i in range(1, n - 1):
        w = h[i - 1] / diagonal[i - 1] if i > 1 else 0.0
        diagonal[i] = 2 * (h[i - 1] + h[i]) - w * h[i - 1]
        rhs[i] = 6 * (slope[i] - slope[i - 1]) - w * rhs[i - 1]
    for i in range(n - 2, 0, -1):
        m[i] = (rhs[i] - h[i] * m[i + 1]) / diagonal[i]
    k = np.clip(np.searchsorted(x, at) - 1, 0, n - 2)
    a, b = x[k + 1] - at, at - x[k]
    return (
        (m[k] * a**3 + m[k + 1] * b**3) / (6 * h[k])
        + (y[k] / h[k] - m[k] * h[k] / 6) * a
        + (y[k + 1] / h[k] - m[k + 1] * h[k] / 6) * b
    )


def spline_data(rng, n):
    x = np.sort(rng.random(n)) + 0.01 * np.arange(n)
    return x, np.sin(x), np.linspace(x[0], x[-1], 10 * n)


def adaptive_simpson(a, b, freq, tol):
    """A stack of intervals that are halved until they are exact enough."""
    lo, hi = np.zeros(200), np.zeros(200)
    lo[0], hi[0] = a, b
    top = 1
    total = 0.0
    while top > 0:
        top -= 1
        l, r = lo[top], hi[top]
        m = 0.5 * (l + r)
        fl, fm, fr = np.sin(freq * l * l), np.sin(freq * m * m), np.sin(freq * r * r)
        p, q = 0.5 * (l + m), 0.5 * (m + r)
        fp, fq = np.sin(freq * p * p), np.sin(freq * q * q)
        whole = (r - l) / 6 * (fl + 4 * fm + fr)
        halves = (r - l) / 12 * (fl + 4 * fp + 2 * fm + 4 * fq + fr)
        if abs(halves - whole) < 15 * tol * (r - l):
            total += halves + (halves - whole) / 15
        else:
            lo[top], hi[top] = l, m
            lo[top + 1], hi[top + 1] = m, r
            top += 2
    return total


def adaptive_simpson_data(rng, n):
    return 0.0, 3.0, float(n), 1e-9


PROGRAMS = (
    Program(k_means, k_means_data, (100, 10000), about="masks of clusters"),
    Program(t_sne, t_sne_data, (20, 200), about="products in a loop"),
    Program(gaussian_process, gaussian_process_data, (20, 300), (0, 2, 3), about="cholesky, solve"),
    Program(mixture_em, mixture_em_data, (100, 10000), about="broadcast against three"),
    Program(adam, adam_data, (16, 256), (0, 1, 2, 3), about="lists of arrays in a loop"),
    Program(lasso, lasso_data, (40, 400), (0, 1), about="columns, branches"),
    Program(lowess, lowess_data, (50, 1000), (0, 1), about="sums for each point"),
    Program(garch, garch_data, (500, 20000), (0, 1, 2), about="recurrence in an array"),
    Program(binomial_option, binomial_option_data, (50, 1000), (0, 1, 2, 3, 4), about="shrinking slices"),
    Program(asian_option, asian_option_data, (50, 2000), (0, 1, 2, 3), about="paths of scalars"),
    Program(heston, heston_data, (100, 5000), (0, 1, 2, 3, 4, 5), about="paths at once"),
    Program(implied_volatility, implied_volatility_data, (50, 2000), about="Newton with break"),
    Program(spline, spline_data, (20, 1000), (0, 1, 2), about="tridiagonal, search, gather"),
    Program(adaptive_simpson, adaptive_simpson_data, (2, 50), (2,), about="stack of intervals"),
)
