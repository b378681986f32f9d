"""Whole numbers that shape a program: the function is read again for their values, and other values are other versions."""

from __future__ import annotations

import types

import numpy as np
import pytest

import irad

N = np.arange(12.0)

PROGRAMS = {
    "reshape": (lambda a, n: a[: n * n].reshape(n, n) @ np.ones(n), N, (2, 3)),
    "reshape, one extent left out": (lambda a, n: np.reshape(a, (n, -1)).sum(axis=0), N, (3, 4)),
    "reshape to a product of tuples": (lambda a, n: a[: n * n].reshape((n,) * 2)[0], N, (2, 3)),
    "mgrid": (lambda a, n: np.mgrid[0:n, 0:n][0] * a[0], N + 1, (2, 3)),
    "ogrid": (lambda a, n: np.ogrid[0:n, 0:n][1] * a[1], N, (2, 3)),
    "r_": (lambda a, n: np.r_[0:n, a], N, (2, 3)),
    "ndarray": (lambda a, n: len(np.ndarray(n, dtype=float)) * a[:n], N, (2, 3)),
    "broadcast_to": (lambda a, n: np.broadcast_to(a, (n, 12)), N, (2, 3)),
    "split": (lambda a, n: np.split(a, n)[1], N, (3, 4)),
    "array_split": (lambda a, n: np.array_split(a, n)[0], N, (3, 5)),
    "triu_indices": (lambda a, n: a[np.triu_indices(n)[0]], N, (2, 3)),
    "a window of NumPy's": (lambda a, n: np.hamming(n) * a[3], N, (3, 4)),
    "a list": (lambda a, n: sum([a[0] + k for k in range(n)]), N, (2, 3)),
    "text": (lambda a, n: len("ab" * n) * a, N, (2, 3)),
    "an axis": (lambda a, n: a.reshape(3, 4).sum(axis=n), N, (0, 1)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_argument(name: str) -> None:
    f, a, numbers = PROGRAMS[name]
    c = irad.compile(f)
    for n in (*numbers, numbers[0]):
        np.testing.assert_array_equal(c(a, n), f(a, n))


def test_a_captured_number() -> None:
    n = 2
    settings = types.SimpleNamespace(rows=2)
    c = irad.compile(lambda a: a[: n * n].reshape(n, n).T)
    d = irad.compile(lambda a: a.reshape(settings.rows, -1)[0])
    for n in (2, 3, 2):
        settings.rows = 2 * n
        np.testing.assert_array_equal(c(N), N[: n * n].reshape(n, n).T)
        np.testing.assert_array_equal(d(N), N[: 6 // n])


def test_captured_arrays_of_whole_numbers() -> None:
    """Boundary conditions, labels and masks that decide shapes; other numbers are another version."""
    fixed, labels, chosen = np.array([0, 2]), np.array([0, 1, 1, 0]), np.array([True, False, True, True])

    def solved(a: np.ndarray) -> np.ndarray:
        free = np.ones(len(a), bool)
        free[fixed] = False
        at = np.arange(len(a))[free]
        return np.linalg.solve(a[np.ix_(at, at)], np.ones(len(at)))

    def means(a: np.ndarray) -> np.ndarray:
        out = np.zeros((labels.max() + 1, 4))
        for k in range(len(out)):
            out[k] = a[labels == k].mean(axis=0)
        return out

    def minor(a: np.ndarray) -> float:
        return np.linalg.det(a[chosen][:, chosen])

    a = np.random.default_rng(0).random((4, 4)) + 4 * np.eye(4)
    programs = [irad.compile(f) for f in (solved, means, minor)]
    for step in range(3):
        for c in programs:
            np.testing.assert_allclose(c(a), c.__wrapped__(a), rtol=1e-12)
        fixed[0], labels[0], chosen[1] = 1 + step, 2 - step, not step
    irad.check_grads(lambda a: np.sum(solved(a)) + np.sum(means(a) ** 2) + minor(a), (a,))


def test_a_captured_array_that_shapes_is_not_stored_into() -> None:
    labels = np.array([0, 1, 1])

    def f(a: np.ndarray) -> np.ndarray:
        labels[0] = 2
        return np.zeros(labels.max() + 1) + a[0]

    with pytest.raises(irad.UnsupportedError, match="numbers decide a shape of the program: copy it"):
        irad.compile(f)(N)


def test_in_branches_loops_and_transforms() -> None:
    def f(a: np.ndarray, n: int) -> float:
        m = a.reshape(n, n).T if a[1] > 0 else a.reshape(n, n)
        for j in range(1, n + 1):
            m = m + a.reshape(n, n) * j
        return np.sum(m[0] * a[:n])

    # m[0] is the first column or row, plus (1 + ... + n) times the first row
    for a, n in ((N[:4], 2), (-N[:9], 3)):
        rows, k = a.reshape(n, n), n * (n + 1) // 2
        np.testing.assert_allclose(irad.compile(f)(a, n), np.sum(((rows[:, 0] if a[1] > 0 else rows[0]) + k * rows[0]) * a[:n]))
    # a0 * (a0 + 3 a0) + a1 * (a2 + 3 a1)
    np.testing.assert_allclose(irad.grad(f)(N[:4], 2), [8 * N[0], N[2] + 6 * N[1], N[1], 0.0])
    rows = irad.vmap(lambda a, n: a.reshape(n, n)[1], in_axes=(0, None))(N.reshape(3, 4), 2)
    np.testing.assert_array_equal(rows, [[2, 3], [6, 7], [10, 11]])


def test_what_does_not_fit_is_numpys_error() -> None:
    c = irad.compile(lambda a, n: a.reshape(n, n))
    assert c(N[:9], 3).shape == (3, 3)
    with pytest.raises(ValueError, match="cannot reshape array of size 9"):
        c(N[:9], 4)


def test_data_cannot_shape_a_program() -> None:
    with pytest.raises(irad.IradError, match="run-time extents"):
        irad.compile(lambda a, n: a.reshape(n[0], n[1]))(N, np.array([3, 4]))


def by_position(a: np.ndarray, n: int) -> float:
    total = 0.0
    for i in range(n):
        total = total + np.sum(a.reshape(i + 1, -1)[0])
    return total


def by_count(a: np.ndarray, n: int) -> float:
    i = 0
    while i < n:
        a = a + np.sum(a.reshape(-1, i + 1)[0])
        i += 1
    return np.sum(a)


@pytest.mark.parametrize("f", [by_position, by_count])
def test_a_loop_whose_trips_shape_arrays(f) -> None:
    c = irad.compile(f)
    for n in (3, 2, 0, 3):
        assert c(N, n) == f(N, n)
    slopes = [f(N + e, 3) - f(N, 3) for e in np.eye(12)]  # it is linear
    np.testing.assert_allclose(irad.grad(f)(N, 3), slopes)


class Grid:
    def __init__(self, n: int, dt: float = 0.25, end: float = np.inf):
        self.steps = np.zeros(int(n / dt))
        self.end = end

    def length(self, x: float) -> float:
        return x * len(self.steps) if np.isinf(self.end) else x * np.zeros(max(1, int(self.end)))[0]


def test_a_default_of_a_method_that_is_found_by_no_path() -> None:
    class Fine(Grid):
        def __init__(self, n: int, **kwargs: float):
            super().__init__(n, **kwargs)

    assert irad.grad(lambda x: Fine(2).length(x))(1.5) == 8.0
    assert irad.grad(lambda x: Fine(2, dt=0.5).length(x))(1.5) == 4.0


def test_an_infinite_default_is_a_flag() -> None:
    import math

    def windowed(x: np.ndarray, w: float = math.inf) -> float:
        if not math.isinf(w):
            x = x[max(0, 2 - w) :]
        return np.sum(x)

    assert irad.compile(lambda x: windowed(x))(N) == np.sum(N) and irad.compile(lambda x: windowed(x, 1))(N) == np.sum(N[1:])


def rolled_back(u: np.ndarray, steps: int, theta: float = 0.5) -> np.ndarray:
    implicit, explicit = np.array([]), np.array([])
    for k in range(steps):
        if k == 0:
            if theta != 1:
                explicit = np.eye(len(u)) * (1 - theta)
            if theta != 0:
                implicit = np.eye(len(u)) * (1 + theta)
        if theta != 1:
            u = explicit @ u
        if theta != 0:
            u = np.linalg.solve(implicit, u)
    return u


@pytest.mark.parametrize("theta", [0.0, 0.5, 1.0])
def test_a_captured_number_that_decides_which_arrays_there_are(theta: float) -> None:
    u = np.array([1.0, 2.0, 3.0])
    f = lambda u: np.sum(rolled_back(u, 6, theta) ** 2)
    value, slope = irad.compile(f).value_and_grad(u)
    assert np.isclose(value, f(u)) and np.allclose(slope, 2 * u * (f(u) / np.sum(u**2)))


def test_a_default_that_is_rounded_by_the_standard_library() -> None:
    import decimal

    def frames(x: np.ndarray, length: float = 0.025) -> float:
        n = int(decimal.Decimal(length * 100).quantize(decimal.Decimal("1"), rounding=decimal.ROUND_HALF_UP))
        return np.sum(x[:n])

    assert irad.compile(lambda x: frames(x))(N) == frames(N) and irad.compile(lambda x: frames(x, 0.05))(N) == frames(N, 0.05)


def test_captured_floats_that_decide_a_shape_are_compared_at_each_call() -> None:
    lengths = np.array([[0.0, 3.1], [2.2, 0.0]])

    def delayed(x: np.ndarray) -> float:
        delays = np.around(lengths / 1.1).astype(int)
        first = int(np.max(delays) + 1)
        u = np.zeros((2, first + 3))
        u[:, :first] = np.tile(x[:, None], (1, first))
        u = u * np.tile(np.arange(2.0)[:, None], (1, u.shape[1])) + 1
        for k in range(first, first + 3):
            for i in range(2):
                u[i, k] = 0.5 * u[i, k - 1] + u[1 - i, k - 1 - delays[i, 1 - i]] * x[i]
        return np.sum(u)

    c, x = irad.value_and_grad(delayed), np.array([0.5, 2.0])
    for longest in (3.1, 4.6):
        lengths[0, 1] = longest
        value, slope = c(x)
        assert value == pytest.approx(delayed(x))
        d = [(delayed(x + h) - delayed(x - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
        assert slope == pytest.approx(d, rel=1e-6)


def between(n: int, x: np.ndarray) -> np.ndarray:
    return 2.0 * x[0 : n - 2] - x[2:n] + x[1 : n - 1]


def swept(n: int, x: np.ndarray) -> np.ndarray:
    """Each column from the one before, within what n says."""
    y = np.zeros_like(x)
    y[n - 1, 0] = 1.0
    for j in range(1, n - 1):
        y[1 : n - 1, j] = x[0 : n - 2, j] - 0.5 * x[2:n, j] + 0.25 * y[1 : n - 1, j - 1]
    return y


def test_a_number_that_decides_whether_lengths_are_equal_is_a_constant_until_it_varies() -> None:
    """A value of its own first, whose lengths are known; from the second value on, one version for all of them."""
    c = irad.compile(between)
    assert "f64[8]" in irad.compile(between).lower(10, np.arange(12.0)).ir
    for n, versions in ((10, 1), (8, 2), (5, 2), (12, 2), (3, 2), (10, 2)):
        np.testing.assert_array_equal(c(n, np.arange(12.0) ** 2), between(n, np.arange(12.0) ** 2))
        assert len(c.versions) == versions
    with pytest.raises(ValueError, match="could not be broadcast"):
        c(14, np.arange(12.0))


def test_gradients_with_numbers_that_vary() -> None:
    gradient = irad.grad(lambda n, x: np.sum(swept(n, x) ** 2), 1)
    rng = np.random.default_rng(0)
    for n in (9, 7, 5):
        x, v, h = rng.random((9, 9)), rng.normal(size=(9, 9)), 1e-6
        slope = (np.sum(swept(n, x + h * v) ** 2) - np.sum(swept(n, x - h * v) ** 2)) / (2 * h)
        assert np.sum(gradient(n, x) * v) == pytest.approx(slope, rel=1e-6)
