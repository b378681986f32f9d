"""Statistics, networks and recurrences over sequences."""

import numpy as np


def correlation(data):
    n = data.shape[0]
    mean = np.mean(data, axis=0)
    std = np.std(data, axis=0)
    std[std <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(n) * std
    corr = np.eye(data.shape[1])
    for i in range(data.shape[1] - 1):
        corr[i + 1 :, i] = corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return corr


def covariance(data):
    m = data.shape[1]
    data -= np.mean(data, axis=0)
    cov = np.zeros((m, m))
    for i in range(m):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (data.shape[0] - 1.0)
    return cov


def softmax(x):
    top = np.max(x, axis=-1, keepdims=True)
    out = np.exp(x - top)
    return out / np.sum(out, axis=-1, keepdims=True)


def mlp(x, layers):
    for k, (w, b) in enumerate(layers):
        x = x @ w + b
        if k < len(layers) - 1:
            x = np.maximum(x, 0)
    return softmax(x)


def conv2d(x, weights):
    size = weights.shape[0]
    n, m = x.shape[1] - size + 1, x.shape[2] - size + 1
    out = np.empty((x.shape[0], n, m, weights.shape[3]))
    for i in range(n):
        for j in range(m):
            out[:, i, j, :] = np.sum(x[:, i : i + size, j : j + size, :, np.newaxis] * weights[np.newaxis], axis=(1, 2, 3))
    return out


def rnn(wx, wh, xs):
    steps = xs.shape[0]
    h = np.zeros((steps + 1, wh.shape[0]))
    for t in range(steps):
        h[t + 1] = np.tanh(wx @ xs[t] + wh @ h[t])
    return np.sum(h[1:] ** 2)


def weighted_histogram(x, weights, bins):
    out = np.zeros(bins)
    low, high = 0.0, 1.0
    for k in range(len(x)):
        b = int((x[k] - low) / (high - low) * bins)
        if b == bins:
            b = bins - 1
        out[b] += weights[k]
    return out


def azimuthal_means(x, radius, rings):
    out = np.zeros(rings)
    for k in range(rings):
        inside = np.logical_and(radius >= k, radius < k + 1)
        out[k] = np.sum(x[inside]) / max(np.sum(inside), 1)
    return out


def hmm_forward(start, transition, emission, seen):
    alpha = start * emission[:, seen[0]]
    log_scale = 0.0
    for t in range(1, len(seen)):
        alpha = (alpha @ transition) * emission[:, seen[t]]
        total = alpha.sum()
        log_scale += np.log(total)
        alpha = alpha / total
    return log_scale + np.log(alpha.sum())


def viterbi(start, transition, emission, seen):
    score = np.log(start) + np.log(emission[:, seen[0]])
    for t in range(1, len(seen)):
        best = np.empty_like(score)
        for j in range(len(score)):
            best[j] = np.max(score + np.log(transition[:, j]))
        score = best + np.log(emission[:, seen[t]])
    return np.max(score)


def nussinov(pairs):
    n = pairs.shape[0]
    table = np.zeros((n, n))
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + pairs[i, j])
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table[0, n - 1]


def floyd_warshall(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))
    return np.sum(path)


def prefix_sums(x):
    y = x.copy()
    shift = 1
    while shift < len(y):
        y[shift:] = y[shift:] + y[:-shift]
        shift *= 2
    return y


def sorting_network(x):
    n = len(x)
    for i in range(n):
        for j in range(i % 2, n - 1, 2):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return x @ np.arange(n)


def deriche(image, alpha):
    """A recursive filter along rows, forwards and backwards."""
    w, h = image.shape
    k = (1.0 - np.exp(-alpha)) ** 2 / (1.0 + 2.0 * alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1, a2 = k, k * np.exp(-alpha) * (alpha - 1.0)
    b1, b2 = 2.0 ** (-alpha), -np.exp(-2.0 * alpha)
    y1, y2 = np.empty_like(image), np.empty_like(image)
    y1[:, 0] = a1 * image[:, 0]
    y1[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * y1[:, 0]
    for j in range(2, h):
        y1[:, j] = a1 * image[:, j] + a2 * image[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2[:, -1] = 0.0
    y2[:, -2] = a1 * image[:, -1]
    for j in range(h - 3, -1, -1):
        y2[:, j] = a1 * image[:, j + 1] + a2 * image[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    return y1 + y2


def logistic_regression(w, b, x, y):
    z = x @ w + b
    return np.mean(np.logaddexp(0, z) - y * z)


_SEEN = np.array([0, 2, 1, 1, 0])


def _stochastic(r, *shape):
    m = r.uniform(0.2, 1, shape)
    return m / m.sum(-1, keepdims=True)


CASES = [
    (correlation, lambda r: (r.uniform(0, 3, (7, 4)),)),
    (covariance, lambda r: (r.uniform(0, 3, (7, 4)),)),
    (softmax, lambda r: (r.uniform(-2, 2, (3, 5)),)),
    (
        mlp,
        lambda r: (
            r.uniform(-1, 1, (4, 3)),
            [(r.uniform(-1, 1, (a, b)), r.uniform(-1, 1, b)) for a, b in ((3, 5), (5, 4), (4, 2))],
        ),
    ),
    (conv2d, lambda r: (r.uniform(0, 1, (2, 5, 6, 3)), r.uniform(0, 1, (3, 3, 3, 2)))),
    (rnn, lambda r: (r.uniform(-1, 1, (4, 3)), r.uniform(-1, 1, (4, 4)), r.uniform(-1, 1, (6, 3)))),
    (weighted_histogram, lambda r: (r.uniform(0, 1, 9), r.uniform(0, 1, 9), 5)),
    (azimuthal_means, lambda r: (r.uniform(0, 1, 12), r.uniform(0, 4, 12), 5)),
    (hmm_forward, lambda r: (_stochastic(r, 3), _stochastic(r, 3, 3), _stochastic(r, 3, 3), _SEEN)),
    (viterbi, lambda r: (_stochastic(r, 3), _stochastic(r, 3, 3), _stochastic(r, 3, 3), _SEEN)),
    (nussinov, lambda r: (r.uniform(0, 1, (6, 6)),)),
    (floyd_warshall, lambda r: (r.uniform(0, 5, (6, 6)),)),
    (prefix_sums, lambda r: (r.uniform(0, 1, 11),)),
    (sorting_network, lambda r: (r.uniform(0, 1, 8),)),
    (deriche, lambda r: (r.uniform(0, 1, (4, 7)), 0.25)),
    (logistic_regression, lambda r: (r.uniform(-1, 1, 3), 0.1, r.uniform(-1, 1, (9, 3)), (r.uniform(0, 1, 9) > 0.5) * 1.0)),
]
