"""Work grows as NumPy's does: programs at n, 2n (and 4n), counted by the kernel interpreter and from NumPy's own run.

A copy of an array in each trip of a loop, or a pass over it, shows as a growth of a higher order. Arrays of more than 20 elements, which
do not live in registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.growth import compiled_work, numpy_work

pytestmark = pytest.mark.plain
R = np.random.default_rng(0)
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]], tuple[int, ...]]] = {}
LINEAR, SQUARE, CUBE = (24, 48, 96), (24, 48), (21, 42)


def program(make: Callable[[int], tuple[Any, ...]], sizes: tuple[int, ...] = SQUARE) -> Callable[..., Any]:
    """`make(n)`: the arguments at size n."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[f.__name__] = (f, make, sizes)
        return f

    return register


@program(lambda n: (R.normal(size=20), 0.1, n), LINEAR)
def history_of_a_short_state(u, k, T):
    U = np.zeros((120, 20))
    U[0] = u
    for n in range(T):
        U[n + 1] = U[n] - k * U[n] ** 3
    return np.sum(U[T] ** 2)


@program(lambda n: (R.normal(size=n), 0.1))
def history(u, k):
    U = np.zeros((len(u) + 1, len(u)))
    U[0] = u
    for n in range(len(u)):
        U[n + 1] = U[n] - k * U[n] ** 3
    return np.sum(U**2)


@program(lambda n: (R.normal(size=n), 0.1))
def two_histories(u, k):
    N = len(u)
    U = np.zeros((N + 1, N))
    V = np.zeros((N + 1, N))
    U[0] = u
    for n in range(N):
        V[n + 1] = V[n] - k * np.sin(U[n])
        U[n + 1] = U[n] + k * V[n + 1]
    return np.sum(U**2)


@program(lambda n: (R.normal(size=n), 0.1))
def every_fourth_state(u, k):
    N = len(u)
    out = np.zeros((N // 4, N))
    v = u * 1.0
    for n in range(N):
        v = v - k * v**3
        if n % 4 == 0:
            out[n // 4] = v
    return np.sum(out**2)


@program(lambda n: (R.normal(size=n), 0.1))
def every_state_of_a_while(u, k):
    N = len(u)
    out = np.zeros((N, N))
    v = u * 1.0
    n = 0
    while n < N:
        v = v - k * v**3
        out[n] = v
        n += 1
    return np.sum(out**2)


@program(lambda n: (R.normal(size=n), 0.1))
def traces_at_points(u, c):
    N = len(u)
    v = u * 0.0
    tr = np.zeros((N, 2))
    u = u * 1.0
    for n in range(N):
        v[1:-1] += c * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = u + 0.1 * v
        tr[n, 0] = u[1]
        tr[n, 1] = u[3] ** 2
    return np.sum(tr**2)


@program(lambda n: (np.tril(R.uniform(1, 2, (n, n))) + n * np.eye(n), R.normal(size=n)))
def back_substitution(L, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - L[i, i + 1 :] @ x[i + 1 :]) / L[i, i]
    return np.sum(x**2)


@program(lambda n: (np.tril(R.uniform(1, 2, (n, n))) + n * np.eye(n), R.normal(size=n)))
def substitution_by_columns(L, b):
    n = len(b)
    x = b * 1.0
    for j in range(n):
        x[j] /= L[j, j]
        x[j + 1 :] -= L[j + 1 :, j] * x[j]
    return np.sum(x**2)


@program(lambda n: (R.normal(size=(n, n)) + n * np.eye(n),), CUBE)
def elimination_by_rows(A):
    A = A * 1.0
    n = len(A)
    for k in range(n):
        A[k + 1 :, k] /= A[k, k]
        for i in range(k + 1, n):
            A[i, k + 1 :] -= A[i, k] * A[k, k + 1 :]
    return np.sum(A**2)


@program(lambda n: (R.normal(size=(n, n)) + n * np.eye(n),), CUBE)
def elimination_by_outer_products(A):
    A = A * 1.0
    n = len(A)
    for k in range(n - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return np.sum(A**2)


@program(lambda n: (np.cov(R.normal(size=(n, 3 * n))) + np.eye(n),), CUBE)
def cholesky_by_columns(A):
    n = len(A)
    L = np.zeros((n, n))
    for j in range(n):
        s = A[j, j] - L[j, :j] @ L[j, :j]
        L[j, j] = np.sqrt(s)
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - L[i, :j] @ L[j, :j]) / L[j, j]
    return np.sum(L**2)


@program(lambda n: (R.normal(size=(n, n)),), CUBE)
def gram_schmidt(A):
    n = len(A)
    Q = np.zeros((n, n))
    for j in range(n):
        v = A[:, j] * 1.0
        for i in range(j):
            v -= (Q[:, i] @ A[:, j]) * Q[:, i]
        Q[:, j] = v / np.sqrt(v @ v)
    return np.sum(Q**3)


@program(lambda n: (R.normal(size=n), 0.3), LINEAR)
def recursive_filter(x, a):
    y = np.zeros(len(x))
    for i in range(2, len(x)):
        y[i] = a * y[i - 1] - 0.2 * y[i - 2] + x[i]
    return np.sum(y**2)


@program(lambda n: (R.normal(size=(n, n)), 0.3))
def recurrence_along_columns(x, a):
    y = np.zeros(x.shape)
    y[:, 0] = x[:, 0]
    for j in range(1, x.shape[1]):
        y[:, j] = a * x[:, j] + (1 - a) * y[:, j - 1] * np.cos(x[:, j])
    return np.sum(y**2)


@program(lambda n: (R.normal(size=(n, n)),))
def gauss_seidel_sweep(A):
    A = A * 1.0
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            A[i, j] = 0.2 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1] + A[i, j] ** 2)
    return np.sum(A**2)


@program(lambda n: (R.normal(size=(n, n)),))
def red_black_sweep(A):
    A = A * 1.0
    for s in range(2):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                if (i + j) % 2 == s:
                    A[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]) ** 2
    return np.sum(A)


@program(lambda n: (R.normal(size=n), 3 * n), LINEAR)
def stack(x, T):
    N = len(x)
    st = np.zeros(N)
    top = 0
    i = 0
    tot = 0.0
    while i < T:
        if i % 3 != 2 and top < N - 1:
            st[top] = x[i % N] * x[(i + 1) % N]
            top += 1
        elif top > 0:
            top -= 1
            tot += st[top] ** 2
        i += 1
    return tot


@program(lambda n: (R.normal(size=n), 3 * n), LINEAR)
def queue(x, T):
    N = len(x)
    q = np.zeros(N)
    head = 0
    tail = 0
    tot = 0.0
    for i in range(T):
        if x[i % N] > 0 or tail - head < 2:
            q[tail % N] = x[i % N] * 2.0
            tail += 1
        else:
            tot += np.sin(q[head % N])
            head += 1
    return tot


@program(lambda n: (R.normal(size=n), R.uniform(0.5, 1, n)))
def knapsack(v, w):
    n = len(v)
    W = n
    D = np.zeros((n + 1, W + 1))
    for i in range(1, n + 1):
        for j in range(1, W + 1):
            k = j - 1 - i % 3
            if k >= 0:
                D[i, j] = np.maximum(D[i - 1, j], D[i - 1, k] + v[i - 1] * w[j - 1])
            else:
                D[i, j] = D[i - 1, j]
    return D[n, W]


@program(lambda n: (R.normal(size=n), R.normal(size=n)))
def time_warping(a, b):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), 1e9)
    D[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            D[i, j] = (a[i - 1] - b[j - 1]) ** 2 + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


@program(lambda n: (R.normal(size=n), R.normal(size=n)))
def edits_in_two_rows(a, b):
    m = len(b)
    prev = np.arange(m + 1) * 0.5
    for i in range(len(a)):
        cur = np.zeros(m + 1)
        cur[0] = prev[0] + 0.5
        for j in range(m):
            cur[j + 1] = min(prev[j] + (a[i] - b[j]) ** 2, prev[j + 1] + 0.5, cur[j] + 0.5)
        prev = cur
    return prev[m]


@program(lambda n: (R.uniform(0, 1, 4 * n), R.normal(size=4 * n)), LINEAR)
def histogram_of_fixed_bins(x, w):
    h = np.zeros(64)
    for i in range(len(x)):
        h[int(64 * x[i])] += w[i] ** 2
    return np.sum(h**2)


@program(lambda n: (R.uniform(0, 1, n), R.normal(size=n)))
def histogram_of_pairs(x, w):
    n = len(x)
    h = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if w[j] > 0:
                h[int(n * x[i]), int(n * x[j])] += w[i] * w[j]
    return np.sum(h**2)


@program(lambda n: (R.uniform(0, 1, n), n))
def automaton_on_a_ring(x, T):
    s = x * 1.0
    for _ in range(T):
        new = np.zeros_like(s)
        for i in range(len(s)):
            l, r = s[i - 1], s[(i + 1) % len(s)]
            if l > r:
                new[i] = 0.5 * (l + s[i] ** 2)
            else:
                new[i] = 0.3 * r + 0.2 * s[i]
        s = new
    return np.sum(s**2)


@program(lambda n: (R.uniform(0, 1, (n, n)),))
def automaton_on_a_grid(g):
    s = g * 1.0
    for _ in range(3):
        c = np.zeros(s.shape)
        for i in range(1, s.shape[0] - 1):
            for j in range(1, s.shape[1] - 1):
                k = np.sum(s[i - 1 : i + 2, j - 1 : j + 2]) - s[i, j]
                if k > 4:
                    c[i, j] = s[i, j] * 0.5
                else:
                    c[i, j] = s[i, j] + 0.1 * k
        s = c
    return np.sum(s**2)


@program(lambda n: (R.normal(size=n), 0.2), LINEAR)
def step_into_an_empty_array(y, x0):
    y = y * 1.0
    for _ in range(10):
        z = np.empty_like(y)
        z[0] = x0
        z[1:] = y[1:] + 0.1 * (y[:-1] - y[1:]) * y[1:]
        y = z
    return np.sum(y**2)


@program(lambda n: (R.normal(size=n), 0.2), LINEAR)
def stages_of_inner_points(y, x0):
    y = y * 1.0
    for _ in range(6):
        k1 = np.empty_like(y)
        k1[0] = 0.0
        k1[1:] = -(y[1:] - y[:-1]) * y[1:]
        y2 = y + 0.05 * k1
        k2 = np.empty_like(y)
        k2[0] = 0.0
        k2[1:] = -(y2[1:] - y2[:-1]) * y2[1:]
        y = y + 0.1 * k2
        y[0] = x0
    return np.sum(y**2)


@program(lambda n: (R.normal(size=n),))
def insertion_sort(x):
    x = x * 1.0
    n = len(x)
    for i in range(1, n):
        v = x[i]
        j = i - 1
        while j >= 0 and x[j] > v:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = v
    return np.sum(x * np.arange(n))


@program(lambda n: (R.normal(size=n),))
def bubble_sort(x):
    x = x * 1.0
    n = len(x)
    for i in range(n):
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return np.sum(x * np.arange(n))


@program(lambda n: (R.normal(size=(n, 3)),))
def forces_of_pairs(p):
    n = len(p)
    F = np.zeros((n, 3))
    for i in range(n):
        for j in range(i):
            d = p[j] - p[i]
            r = 1 / (d @ d + 0.1) ** 1.5
            F[i] += d * r
            F[j] -= d * r
    return np.sum(F**2)


@program(lambda n: (R.normal(size=(n, n)), R.normal(size=n)))
def power_iteration_in_columns(A, v):
    n = len(v)
    V = np.zeros((n, 6))
    V[:, 0] = v
    for k in range(5):
        w = A @ V[:, k]
        V[:, k + 1] = w / np.sqrt(w @ w)
    return np.sum(V**3)


@program(lambda n: (R.normal(size=n), R.normal(size=n)), LINEAR)
def tridiagonal_solve(d, b):
    n = len(b)
    c = np.zeros(n)
    x = np.zeros(n)
    e = d * d + 4.0
    c[0] = 1.0 / e[0]
    x[0] = b[0] / e[0]
    for i in range(1, n):
        m = e[i] - c[i - 1]
        c[i] = 1.0 / m
        x[i] = (b[i] - x[i - 1]) / m
    for i in range(n - 2, -1, -1):
        x[i] -= c[i] * x[i + 1]
    return np.sum(x**2)


@program(lambda n: (R.normal(size=n), 0.1))
def history_with_a_break(u, k):
    N = len(u)
    out = np.zeros((N, N))
    v = u * 1.0
    for n in range(N):
        v = v - k * v**3
        if np.sum(v**2) > 1e6:
            break
        out[n] = v
    return np.sum(out**2)


@program(lambda n: (R.normal(size=n), 0.1), LINEAR)
def states_in_a_list(u, k):
    v = u * 1.0
    s = []
    for _ in range(8):
        v = v - k * np.roll(v, 1) ** 3
        s.append(v)
    return np.sum(np.array(s) ** 2)


# Gradients of histories, saved states and traces: at most so many times the work of the value.
HISTORIES = [name for name in PROGRAMS if "histor" in name or "state" in name or "trace" in name]


def total(work: tuple[int, int]) -> int:
    operations, moved = work
    return 8 * operations + moved


def fresh(args: tuple[Any, ...]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


@pytest.mark.parametrize("name", PROGRAMS)
def test_work_grows_as_numpys(name: str) -> None:
    f, make, sizes = PROGRAMS[name]
    given = [make(n) for n in sizes]
    theirs = [total(numpy_work(f, fresh(args))) for args in given]
    value = [compiled_work(f, fresh(args), False) for args in given]
    gradient = [compiled_work(f, fresh(args), True) for args in given]
    for ours in (value, gradient):
        for less, more, a, b in zip(ours, ours[1:], theirs, theirs[1:]):
            for few, many in zip(less, more):
                assert many / few < 1.2 * b / a + 0.1
    if name in HISTORIES:
        assert total(gradient[-1]) < 4 * total(value[-1])


def test_the_count_of_a_copy_in_each_trip() -> None:
    """What the test above is there to find."""

    def keeps_both(x, n):
        total = 0.0
        for i in range(n):
            y = x * 1.0
            x[i] = np.sin(x[i])
            total += y @ x
        return total

    x = np.linspace(0.1, 1.0, 48)
    few, many = (compiled_work(keeps_both, [x[:n].copy(), n], False) for n in (24, 48))
    assert many[1] > 3.5 * few[1]


def test_numpys_count() -> None:
    def f(x):
        y = np.zeros(8)
        for i in range(8):
            y[i] = x[i]
        return np.sum(x * y)

    assert numpy_work(f, [np.ones(8)]) == (16, 8 * 24 + 3 * 64 + 64 + 16)


def test_the_kernel_interpreter_counts_what_runs() -> None:
    def f(x):
        return np.sum(x * x + 1.0)

    operations, moved = compiled_work(f, [np.ones(40)], False)
    assert operations == 3 * 40 and moved == 8 * 41
