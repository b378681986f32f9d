"""numpy.linalg of matrices of which data decide how many rows there are, np.kron and np.repeat: values, slopes, exceptions as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad
from tests.support.outcomes import agrees

V = np.array([1.0, -1.0, 2.0, 3.0, -2.0])
M = np.random.default_rng(0).normal(size=(5, 5)) + 3 * np.eye(5)


def part(m: np.ndarray, v: np.ndarray) -> np.ndarray:
    k = v > 0
    return m[k][:, k]


def with_supports(m: np.ndarray, v: np.ndarray) -> Any:
    """Displacements where a structure may move."""
    free = np.flatnonzero(v > 0)
    u = np.zeros(5)
    u[free] = np.linalg.solve(m[np.ix_(free, free)], v[free])
    return u @ m @ u


def active_set(m: np.ndarray, v: np.ndarray) -> Any:
    x = np.ones(5)
    for _ in range(3):
        s, p = np.zeros(5), x > 0
        s[p] = np.linalg.solve(m[p][:, p], v[p])
        x = np.maximum(s, 0)
    return np.sum(x * x)


PROGRAMS: dict[str, Any] = {
    "solve": with_supports, "solve in a loop": active_set, "det": lambda m, v: np.linalg.det(part(m, v)),
    "inv": lambda m, v: np.sum(np.linalg.inv(part(m, v)) ** 2), "slogdet": lambda m, v: np.linalg.slogdet(part(m, v))[1],
    "cholesky": lambda m, v: np.sum(np.linalg.cholesky(part(m @ m.T, v)) ** 3), "pinv": lambda m, v: np.sum(np.linalg.pinv(m[v > 0]) ** 2),
    "eigvalsh": lambda m, v: np.linalg.eigvalsh(part(m + m.T, v)) @ v[v > 0], "eigh": lambda m, v: np.sum(np.linalg.eigh(part(m + m.T, v))[1][:, 0] ** 4),
    "lstsq": lambda m, v: np.sum(np.linalg.lstsq(m[v > 0][:, :2], v[v > 0], rcond=None)[0] ** 2),
    "polyfit": lambda m, v: np.sum(np.polyfit(m[0][v > 0], v[v > 0] ** 2, 1) ** 2),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_slopes(name: str) -> None:
    f = PROGRAMS[name]
    c = irad.compile(f)
    for v in (V, V[::-1] + 0.5):
        np.testing.assert_allclose(c(M, v), f(M, v), rtol=1e-10)
    want = np.zeros_like(M)
    for i in np.ndindex(5, 5):
        step = np.zeros_like(M)
        step[i] = 1e-6
        want[i] = (f(M + step, V) - f(M - step, V)) / 2e-6
    np.testing.assert_allclose(irad.grad(f)(M, V), want, atol=1e-6 * np.abs(want).max())


def test_kron_and_repeat() -> None:
    programs: list[Any] = [
        lambda v: np.repeat(v[v > 0] ** 2, 3), lambda v: np.repeat(v[v > 0], 0), lambda v: np.repeat(np.outer(v, v)[v > 0], 2, axis=0),
        lambda v: np.kron(v[v > 0], [1.0, 2.0]), lambda v: np.kron([1.0, 2.0, 3.0], v[v > 0] ** 2), lambda v: np.kron(v[v > 0][:, None], np.eye(2)),
    ]  # fmt: skip
    for f in programs:
        agrees(f, V)
        total = lambda v, f=f: np.sum(f(v))
        want = [(total(V + e) - total(V - e)) / 2e-6 for e in 1e-6 * np.eye(5)]
        np.testing.assert_allclose(irad.grad(total)(V), want, atol=1e-6)
    with pytest.raises(ValueError, match="negative"):
        irad.compile(lambda v: np.repeat(v[v > 0], -1))(V)


def test_ends() -> None:
    agrees(lambda m, v: np.linalg.det(m[v > 100][:, v > 100]), M, V)
    agrees(lambda m, v: np.linalg.inv(m[v > 1.5][:, v > 1.5]).dtype, M.astype(np.float32), V)
    for f in (np.linalg.eigvalsh, np.linalg.pinv, np.linalg.inv):
        agrees(lambda m, v, f=f: f(part(m, v)).dtype, (M * 10).astype(np.int16), V)
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        irad.compile(lambda m, v: np.linalg.det(m[v > 0][:, v > 1.5]))(M, V)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        irad.compile(lambda m, v: np.linalg.inv(part(m * 0, v)))(M, V)
    with pytest.raises(ValueError, match="above that of columns"):
        irad.compile(lambda m, v: np.linalg.lstsq(m[v > 2.5][:, :2], v[v > 2.5], rcond=None)[0])(M, V)
