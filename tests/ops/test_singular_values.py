"""Derivatives of functions of singular values and of U f(s) V^T, where singular values are equal, against differences of 60 digits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import irad

RNG = np.random.default_rng(5)
C = RNG.normal(size=(4, 3))
LEFT, RIGHT = np.linalg.qr(RNG.normal(size=(4, 4)))[0], np.linalg.qr(RNG.normal(size=(3, 3)))[0]
TIED = {
    3: np.linalg.qr(RNG.normal(size=(3, 3)))[0] @ np.diag([2.0, 2.0, 3.0]) @ RIGHT.T,
    4: LEFT[:, :3] @ np.diag([2.0, 2.0, 3.0]) @ RIGHT.T,
}
DIRECTIONS = RNG.normal(size=(3, 4, 3))


def thin(a: Any) -> Any:
    return np.linalg.svd(a, full_matrices=False)


def nuclear_norm(a: Any) -> Any:
    return np.linalg.norm(a, "nuc")


def spectral_norm(a: Any) -> Any:
    return np.linalg.norm(a, 2)


def exponentials(a: Any) -> Any:
    return np.sum(np.exp(np.linalg.svd(a, compute_uv=False)))


def polar_factor(a: Any) -> Any:
    u, _, vt = thin(a)
    return np.sum(C[: len(a)] * (u @ vt))


def pseudo_inverse(a: Any) -> Any:
    u, s, vt = thin(a)
    return np.sum(C[: len(a)].T * ((vt.T / s) @ u.T))


def shrunk(a: Any) -> Any:
    u, s, vt = thin(a)
    return np.sum(C[: len(a)] * (u @ (np.maximum(s - 0.5, 0)[:, None] * vt)))


def right_side(a: Any) -> Any:
    _, s, vt = thin(a)
    return np.sum(C[:3] * ((vt.T * np.tanh(s)) @ vt))


def left_side(a: Any) -> Any:
    u, s, _ = thin(a)
    return C[: len(a), 0] @ ((u * np.tanh(s)) @ u.T) @ C[: len(a), 1]


def _precisely(f: Any, x: Any) -> Any:
    u, s, v = mp.svd_r(x)
    c = mp.matrix(C[: x.rows].tolist())
    total = lambda m, k: mp.fsum(m[i, j] * k[i, j] for i in range(m.rows) for j in range(m.cols))
    of = lambda g, a, b: a * mp.diag([g(y) for y in s]) * b
    found: dict[Any, Callable[[], Any]] = {
        nuclear_norm: lambda: mp.fsum(s),
        spectral_norm: lambda: max(s),
        exponentials: lambda: mp.fsum(map(mp.exp, s)),
        polar_factor: lambda: total(u * v, c),
        pseudo_inverse: lambda: total(of(lambda y: 1 / y, v.T, u.T), c.T),
        shrunk: lambda: total(of(lambda y: y - mp.mpf(0.5), u, v), c),
        right_side: lambda: total(of(mp.tanh, v.T, v), c),
        left_side: lambda: (c[:, 0].T * of(mp.tanh, u, u.T) * c[:, 1])[0],
    }
    return found[f]()


def wanted(f: Any, a: np.ndarray, order: int) -> float:
    with mp.workdps(60):
        h, total = mp.mpf(10) ** -12, mp.mpf(0)
        for signs in itertools.product((1, -1), repeat=order):
            x = mp.matrix(a.tolist())
            for s, d in zip(signs, DIRECTIONS):
                x += s * h * mp.matrix(d[: len(a)].tolist())
            total += math.prod(signs) * _precisely(f, x)
        return float(total / (2 * h) ** order)


def differentiated(f: Any, rows: int, modes: str) -> Any:
    for d, mode in zip(DIRECTIONS[:, :rows], modes):
        reverse = lambda a, f=f, d=d: np.sum(d * irad.grad(f)(a))
        forward = lambda a, f=f, d=d: irad.jvp(f, (a,), (d,))[1]
        f = reverse if mode == "r" else forward
    return f


SUMS = [nuclear_norm, spectral_norm, exponentials]
PRODUCTS = [polar_factor, pseudo_inverse, shrunk, right_side, left_side]


@pytest.mark.parametrize("rows", [3, 4])
@pytest.mark.parametrize("f", SUMS + PRODUCTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("modes", ["r", "f", "rr", "rf", "rrr"])
def test_at_equal_singular_values(f: Any, rows: int, modes: str) -> None:
    if modes in ("f", "rf") and rows == 4 and f in PRODUCTS[1:]:
        pytest.skip("as with three rows")
    got = differentiated(f, rows, modes)(TIED[rows])
    assert got == pytest.approx(wanted(f, TIED[rows], len(modes)), rel=1e-11, abs=1e-12)


def test_subgradient_of_the_nuclear_norm_where_the_rank_is_lower() -> None:
    a = np.outer([1.0, 2.0, 2.0], [3.0, 0.0, 4.0])
    g = irad.grad(nuclear_norm)(a)
    assert np.sum(g * a) == pytest.approx(15.0) and np.linalg.norm(g, 2) == pytest.approx(1.0)


def test_odd_functions_at_singular_matrices() -> None:
    """U s^3 V^T is A A^T A, whatever the rank of A; the polar factor has no derivative there."""
    a = np.diag([2.0, 0.0, 0.0])

    def cube(a: Any) -> Any:
        u, s, vt = thin(a)
        return np.sum(C[:3] * ((u * s**3) @ vt))

    want = irad.grad(lambda a: np.sum(C[:3] * (a @ a.T @ a)))(a)
    np.testing.assert_allclose(irad.grad(cube)(a), want, atol=1e-12)
    assert np.all(np.isnan(irad.grad(polar_factor)(a)))


def test_beyond_what_is_seen_it_is_no_number() -> None:
    left = lambda a: np.sum(C[:3] * np.linalg.svd(a)[0])
    assert np.all(np.isnan(irad.grad(left)(TIED[3]))) and np.isnan(irad.jvp(left, (TIED[3],), (DIRECTIONS[0, :3],))[1])


def test_single_precision() -> None:
    got = irad.hessian(nuclear_norm)(TIED[3].astype(np.float32))
    np.testing.assert_allclose(got, irad.hessian(nuclear_norm)(TIED[3]), atol=2e-3)
