"""Dynamic programming, graphs, automata, sorting: integers, branches, queues."""

import numpy as np

from tests.benchmarks.corpus.program import Program


def needleman_wunsch(a, b, scores, gap):
    n, m = len(a), len(b)
    h = np.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        h[i, 0] = -gap * i
    for j in range(1, m + 1):
        h[0, j] = -gap * j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            match = h[i - 1, j - 1] + scores[a[i - 1], b[j - 1]]
            h[i, j] = max(match, h[i - 1, j] - gap, h[i, j - 1] - gap)
    return h[n, m]


def sequences_data(rng, n):
    scores = 2 * np.eye(4) - 1 + 0.1 * rng.standard_normal((4, 4))
    return rng.integers(0, 4, n), rng.integers(0, 4, n + 5), scores, 1.5


def gotoh(a, b, scores, opening, extending):
    """Local alignment with affine gaps, two rows."""
    m = len(b)
    h, e = np.zeros(m + 1), np.full(m + 1, -1e9)
    best = 0.0
    for i in range(len(a)):
        diagonal = 0.0
        f = -1e9
        for j in range(1, m + 1):
            e[j] = max(e[j] - extending, h[j] - opening)
            f = max(f - extending, h[j - 1] - opening)
            new = max(0.0, diagonal + scores[a[i], b[j - 1]], e[j], f)
            diagonal = h[j]
            h[j] = new
            if new > best:
                best = new
    return best


def gotoh_data(rng, n):
    a, b, scores, _ = sequences_data(rng, n)
    return a, b, scores, 2.0, 0.5


def time_warping(x, y, window):
    n, m = len(x), len(y)
    d = np.full((n + 1, m + 1), np.inf)
    d[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(max(1, i - window), min(m, i + window) + 1):
            cost = (x[i - 1] - y[j - 1]) ** 2
            d[i, j] = cost + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[n, m]


def time_warping_data(rng, n):
    return np.cumsum(rng.standard_normal(n)), np.cumsum(rng.standard_normal(n)), n // 4


def viterbi(log_a, log_b, observed):
    """The best path of a hidden Markov chain and its score."""
    steps, k = len(observed), log_a.shape[0]
    score = log_b[:, observed[0]].copy()
    back = np.zeros((steps, k), dtype=np.int64)
    for t in range(1, steps):
        new = np.zeros(k)
        for j in range(k):
            c = score + log_a[:, j]
            back[t, j] = np.argmax(c)
            new[j] = c[back[t, j]] + log_b[j, observed[t]]
        score = new
    path = np.zeros(steps, dtype=np.int64)
    path[-1] = np.argmax(score)
    for t in range(steps - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return np.max(score), path


def chain_data(rng, n):
    a, b = rng.random((8, 8)) + 0.1, rng.random((8, 5)) + 0.1
    return np.log(a / np.sum(a, 1, keepdims=True)), np.log(b / np.sum(b, 1, keepdims=True)), rng.integers(0, 5, n)


def hidden_markov(log_a, log_b, observed):
    """Log-likelihood by the forward recursion."""
    alpha = log_b[:, observed[0]] - np.log(log_a.shape[0])
    for t in range(1, len(observed)):
        m = alpha[:, None] + log_a
        top = np.max(m, axis=0)
        alpha = top + np.log(np.sum(np.exp(m - top), axis=0)) + log_b[:, observed[t]]
    top = np.max(alpha)
    return top + np.log(np.sum(np.exp(alpha - top)))


def floyd_warshall(w):
    d = w.copy()
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            d[i, :] = np.minimum(d[i, :], d[i, k] + d[k, :])
    return d


def floyd_warshall_data(rng, n):
    w = rng.random((n, n)) * 10
    w[np.arange(n), np.arange(n)] = 0
    return (w,)


def bellman_ford(weight, source, target, n):
    d = np.full(n, 1e9)
    d[0] = 0.0
    for _ in range(n - 1):
        changed = False
        for e in range(len(weight)):
            new = d[source[e]] + weight[e]
            if new < d[target[e]]:
                d[target[e]] = new
                changed = True
        if not changed:
            break
    return d


def bellman_ford_data(rng, n):
    e = 6 * n
    source, target = rng.integers(0, n, e), rng.integers(0, n, e)
    source[: n - 1], target[: n - 1] = np.arange(n - 1), np.arange(1, n)
    order = rng.permutation(e)
    return 0.1 + rng.random(e), source[order], target[order], n


def dijkstra(w, start):
    n = w.shape[0]
    dist = np.full(n, np.inf)
    done = np.zeros(n, dtype=np.bool_)
    dist[start] = 0.0
    for _ in range(n):
        u = -1
        for v in range(n):
            if not done[v] and (u < 0 or dist[v] < dist[u]):
                u = v
        done[u] = True
        for v in range(n):
            if w[u, v] > 0 and dist[u] + w[u, v] < dist[v]:
                dist[v] = dist[u] + w[u, v]
    return dist


def dijkstra_data(rng, n):
    w = rng.random((n, n)) * (rng.random((n, n)) < 0.2)
    w[np.arange(n - 1), np.arange(1, n)] = 1.0
    return w, 0


def maze(walls):
    """Steps from the corner to each cell, breadth first with a queue."""
    n, m = walls.shape
    dist = -np.ones((n, m), dtype=np.int64)
    queue = np.zeros((n * m, 2), dtype=np.int64)
    head = 0
    tail = 1
    dist[0, 0] = 0
    while head < tail:
        i, j = queue[head]
        head += 1
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            a, b = i + di, j + dj
            if 0 <= a < n and 0 <= b < m and not walls[a, b] and dist[a, b] < 0:
                dist[a, b] = dist[i, j] + 1
                queue[tail, 0] = a
                queue[tail, 1] = b
                tail += 1
    return dist


def maze_data(rng, n):
    return (rng.random((n, n)) < 0.25,)


def life(cells, steps):
    for _ in range(steps):
        near = np.zeros(cells.shape, dtype=np.int64)
        for di in (-1, 0, 1):
            for dj in (-1, 0, 1):
                if di != 0 or dj != 0:
                    near += np.roll(np.roll(cells, di, 0), dj, 1)
        cells = ((near == 3) | ((cells == 1) & (near == 2))).astype(np.int64)
    return cells


def life_data(rng, n):
    return (rng.random((n, n)) < 0.4).astype(np.int64), 10


def automaton(first, rule, steps):
    """An elementary cellular automaton and its history."""
    n = len(first)
    history = np.zeros((steps, n), dtype=np.int64)
    history[0] = first
    for t in range(1, steps):
        for i in range(n):
            k = 4 * history[t - 1, i - 1] + 2 * history[t - 1, i] + history[t - 1, (i + 1) % n]
            history[t, i] = (rule >> k) & 1
    return history


def automaton_data(rng, n):
    return rng.integers(0, 2, n), 110, n


def sandpile(grains):
    """Topple until no cell has four grains."""
    g = grains.copy()
    while np.max(g) >= 4:
        over = g // 4
        g -= 4 * over
        g[1:, :] += over[:-1, :]
        g[:-1, :] += over[1:, :]
        g[:, 1:] += over[:, :-1]
        g[:, :-1] += over[:, 1:]
    return g


def sandpile_data(rng, n):
    return (rng.integers(0, 6, (n, n)),)


def knapsack(values, weights, capacity):
    best = np.zeros(capacity + 1)
    for i in range(len(values)):
        for c in range(capacity, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best[capacity]


def knapsack_data(rng, n):
    return rng.random(n), rng.integers(1, 30, n), 5 * n


def page_rank(source, target, weight, n, damping, iterations):
    out = np.zeros(n)
    np.add.at(out, source, weight)
    rank = np.ones(n) / n
    for _ in range(iterations):
        new = np.zeros(n)
        np.add.at(new, target, weight * rank[source] / out[source])
        rank = (1 - damping) / n + damping * new
    return rank


def page_rank_data(rng, n):
    e = 8 * n
    source = np.concatenate([np.arange(n), rng.integers(0, n, e - n)])
    return source, rng.integers(0, n, e), 0.1 + rng.random(e), n, 0.85, 20


def quicksort(x):
    """In place, with a stack of bounds; short parts by insertion."""
    a = x.copy()
    stack = np.zeros((64, 2), dtype=np.int64)
    stack[0, 1] = len(a) - 1
    top = 1
    while top > 0:
        top -= 1
        lo, hi = stack[top, 0], stack[top, 1]
        if hi - lo < 12:
            for i in range(lo + 1, hi + 1):
                v = a[i]
                j = i - 1
                while j >= lo and a[j] > v:
                    a[j + 1] = a[j]
                    j -= 1
                a[j + 1] = v
            continue
        pivot = a[(lo + hi) // 2]
        i, j = lo, hi
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                t = a[i]
                a[i] = a[j]
                a[j] = t
                i += 1
                j -= 1
        stack[top, 0], stack[top, 1] = lo, j
        stack[top + 1, 0], stack[top + 1, 1] = i, hi
        top += 2
    return a


def quicksort_data(rng, n):
    return (rng.random(n),)


def drainage(height):
    """Flow over terrain: from high to low, each cell gives its water to the steepest neighbour."""
    n, m = height.shape
    flow = np.ones(n * m)
    order = np.argsort(-height.ravel())
    for k in range(n * m):
        i, j = order[k] // m, order[k] % m
        steepest = 0.0
        target = -1
        for di in range(-1, 2):
            for dj in range(-1, 2):
                a, b = i + di, j + dj
                if 0 <= a < n and 0 <= b < m:
                    drop = height[i, j] - height[a, b]
                    if drop > steepest:
                        steepest = drop
                        target = a * m + b
        if target >= 0:
            flow[target] += flow[order[k]]
    return flow


def drainage_data(rng, n):
    return (rng.random((n, n)),)


PROGRAMS = (
    Program(needleman_wunsch, sequences_data, (40, 500), (2, 3), about="table of maxima"),
    Program(gotoh, gotoh_data, (40, 500), (2, 3, 4), about="two rows, running maximum"),
    Program(time_warping, time_warping_data, (40, 500), (0, 1), about="band by max and min"),
    Program(viterbi, chain_data, (50, 2000), (0, 1), about="argmax, back pointers"),
    Program(hidden_markov, chain_data, (50, 2000), (0, 1), about="log-sum-exp of 8 by 8"),
    Program(floyd_warshall, floyd_warshall_data, (20, 150), about="rows in place"),
    Program(bellman_ford, bellman_ford_data, (50, 2000), about="break, scatter under a branch"),
    Program(dijkstra, dijkstra_data, (30, 400), about="search under a branch"),
    Program(maze, maze_data, (16, 200), (), about="queue, integers"),
    Program(life, life_data, (32, 256), (), about="rolls of integers"),
    Program(automaton, automaton_data, (64, 500), (), about="history of integers"),
    Program(sandpile, sandpile_data, (24, 96), (), about="while any, integers"),
    Program(knapsack, knapsack_data, (20, 200), about="descending range by data"),
    Program(page_rank, page_rank_data, (100, 10000), (2,), about="gather and add.at"),
    Program(quicksort, quicksort_data, (200, 20000), about="stack, nested while"),
    Program(drainage, drainage_data, (24, 200), (), about="argsort, scatter"),
)
