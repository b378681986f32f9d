"""Sparsity of Jacobians and Hessians: exact patterns from the graph, few directions, the right numbers in the right places."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

import irad
from irad.core.ir import walk
from irad.frontend.trace import trace
from irad.passes.analyses.colouring import columns, recovery, star
from irad.passes.analyses.pattern import Pattern
from irad.passes.derivatives import jacobian
from irad.passes.derivatives.expand import expand
from irad.passes.manager import run

sparse = pytest.importorskip("scipy.sparse")
RNG = np.random.default_rng(0)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def differences(g, x, step=1e-6):
    """Columns of the Jacobian of g by central differences."""
    return np.stack([(g(x + step * d) - g(x - step * d)) / (2 * step) for d in np.eye(x.size).reshape(-1, *x.shape)], -1)


def pattern(f, x, **kwargs):
    return irad.jacobian(f, sparse=True, **kwargs)(x).toarray() != 0


def lanes(fn, *args):
    """The number of directions that a dense Jacobian or Hessian is computed with."""
    program = run(trace(fn, args).program, ("inline", "dce"))
    (node,) = (n for n in walk(next(iter(program.values()))) if n.op.name == "jacobian")
    plans = []
    with mock.patch.object(jacobian, "plan", side_effect=lambda *a, plan=jacobian.plan: plans.append(plan(*a)) or plans[-1]):
        expand(program)
    (p,) = plans
    ends = node.inputs if p.forward else node.outputs[:1]
    return sum(v.type.size for v in ends) if p.seeds is None else len(p.seeds)


# ---- patterns are exact -----------------------------------------------------------------------------------------------------


def stencil(u):
    out = np.zeros(12)
    out[1:-1] = u[2:] - 2 * u[1:-1] ** 2 + u[:-2]
    return out


def loop(x):
    y = np.zeros(12)
    for i in range(12):
        y[i] = x[i] * x[(i + 5) % 12]
        if i % 3 == 0:
            y[i] += np.sin(x[i - 1])
    return y


def triangular(x):
    y = np.zeros(12)
    for i in range(12):
        for j in range(i):
            y[i] += x[j] * x[i]
    return y


CASES = {
    "elementwise": (lambda x: np.sin(x) * x, np.eye(12, dtype=bool)),
    "stencil": (stencil, None),
    "loop": (loop, None),
    "triangular loop": (triangular, None),
    "cumsum": (lambda x: np.cumsum(x**2), np.tril(np.ones((12, 12), bool))),
    "flip and roll": (lambda x: np.roll(x[::-1] ** 2, 3), None),
    "gather": (lambda x: x[np.array([3, 3, 0])] ** 2, None),
    "matrix of known zeros": (lambda x: np.kron(np.eye(4), np.ones((3, 3))) @ x**2, np.kron(np.eye(4), np.ones((3, 3))) != 0),
    "rows of a matrix": (lambda x: np.sum(x.reshape(4, 3) ** 2, axis=1), np.kron(np.eye(4), np.ones(3)) != 0),
    "concatenate": (lambda x: np.concatenate([x[6:], x[:6] ** 2]), np.roll(np.eye(12, dtype=bool), 6, axis=1)),
    "transpose and broadcast": (lambda x: (x.reshape(3, 4).T * x[:3]).ravel(), None),
    "floor has no slope": (lambda x: np.floor(x) + x[:1], np.eye(12, dtype=bool)[:1].repeat(12, 0)),
}


@pytest.mark.parametrize("name", CASES)
def test_pattern_is_exact(name):
    f, want = CASES[name]
    x = RNG.uniform(0.5, 1.5, 12)
    dense = differences(f, x)
    got = irad.jacobian(f, sparse=True)(x)
    np.testing.assert_allclose(got.toarray(), dense, atol=1e-8)
    expected = np.abs(dense) > 1e-7 if want is None else want
    stored = np.zeros(dense.shape, bool)
    stored[got.nonzero()] = True
    np.testing.assert_array_equal(stored, expected)
    assert got.nnz == expected.sum(), "an entry is stored that is always 0"


def test_a_branch_that_depends_on_data_keeps_both_sides():
    f = lambda x: x * x if x[0] > 0 else x[::-1] * 2.0
    for x in (np.arange(1.0, 8.0), -np.arange(1.0, 8.0)):
        got = irad.jacobian(f, sparse=True)(x)
        assert got.nnz == 13  # both diagonals, which meet in the middle
        np.testing.assert_allclose(got.toarray(), differences(f, x), atol=1e-7)


def test_a_position_that_is_not_known_takes_in_every_one():
    f = lambda x: x * x[int(np.argmax(x))]
    x = RNG.normal(size=7)
    got = irad.jacobian(f, sparse=True)(x)
    np.testing.assert_allclose(got.toarray(), differences(f, x), atol=1e-7)


def test_while_joins_all_trips():
    def f(x):
        n = 0
        while np.sum(x * x) < 1000.0:
            x = x * np.roll(x, 1) + x
            n += 1
        return x

    x = RNG.uniform(1.0, 2.0, 8)
    np.testing.assert_allclose(irad.jacobian(f, sparse=True)(x).toarray(), differences(f, x), rtol=1e-4, atol=1e-3)


# ---- Hessians --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 10, 40])
def test_hessian_of_rosenbrock(n):
    x = RNG.normal(size=n)
    want = differences(irad.grad(rosenbrock), x)
    np.testing.assert_allclose(irad.hessian(rosenbrock)(x), want, rtol=1e-5, atol=1e-3)
    got = irad.hessian(rosenbrock, sparse=True)(x)
    assert isinstance(got, sparse.csr_array) and got.nnz == 3 * n - 2
    np.testing.assert_allclose(got.toarray(), want, rtol=1e-5, atol=1e-3)


def test_few_directions():
    x = RNG.normal(size=100)
    assert lanes(irad.hessian(rosenbrock), x) == 3
    assert lanes(irad.jacobian(lambda v: np.diff(v**2)), x) == 2
    arrow = lambda v: np.sum(v[0] * v**3)
    assert lanes(irad.hessian(arrow), x) == 2  # a star: without the symmetry it takes 100
    assert lanes(irad.hessian(lambda v: np.sum(v) ** 3), x) == 100
    z = RNG.normal(size=30)
    np.testing.assert_allclose(irad.hessian(arrow)(z), differences(irad.grad(arrow), z), rtol=1e-6, atol=1e-6)


def test_a_wide_row_is_computed_backward():
    f = lambda v: np.concatenate([v[:3] * np.sum(v), v[3:9] ** 2])  # 3 full rows among sparse ones
    x = RNG.normal(size=60)
    for mode in ("", "forward", "reverse"):
        np.testing.assert_allclose(irad.jacobian(f, mode=mode)(x), differences(f, x), atol=1e-6)
    assert lanes(irad.jacobian(f), x) < 10


def test_several_arguments_give_blocks():
    f = lambda a, b: np.sum(a**2 * b) + np.sum(a * b[0])
    a, b = RNG.normal(size=8), RNG.normal(size=8)
    dense, found = (irad.hessian(f, argnums=(0, 1), sparse=s)(a, b) for s in (False, True))
    for i in range(2):
        for j in range(2):
            np.testing.assert_allclose(found[i][j].toarray(), dense[i][j], rtol=1e-12)
    joint = lambda z: f(z[:8], z[8:])
    want = differences(irad.grad(joint), np.concatenate([a, b]))
    np.testing.assert_allclose(np.block([list(dense[0]), list(dense[1])]), want, atol=1e-6)


# ---- bundle adjustment: positions are arguments ------------------------------------------------------------------------------------


def residuals(cams, points, ci, pi):
    q = points[pi] * cams[ci][:, :3] + cams[ci][:, 3:]
    return np.stack([q[:, 0] / (2 + q[:, 2] ** 2), q[:, 1] / (2 + q[:, 2] ** 2)], 1)


def test_the_pattern_follows_integer_arguments():
    cams, points = RNG.normal(size=(4, 6)), RNG.normal(size=(10, 3))
    jac = irad.jacobian(residuals, argnums=(0, 1), sparse=True)
    for _ in range(3):
        ci, pi = RNG.integers(0, 4, 30), RNG.integers(0, 10, 30)
        dense = irad.jacobian(residuals, argnums=(0, 1))(cams, points, ci, pi)
        for found, want in zip(jac(cams, points, ci, pi), dense):
            np.testing.assert_allclose(found.toarray(), want.reshape(found.shape), rtol=1e-12)
        by_cam, by_point = jac(cams, points, ci, pi)
        assert by_cam.nnz == 30 * 2 * 4 and by_point.nnz == 30 * 2 * 2  # each residual reads two of three coordinates


def test_large_ones_stay_sparse():
    x = RNG.normal(size=20_000)
    h = irad.hessian(rosenbrock, sparse=True)(x)
    assert h.nnz == 3 * x.size - 2
    np.testing.assert_allclose(h.diagonal()[1:-1], 1200 * x[1:-1] ** 2 - 400 * x[2:] + 202, rtol=1e-9, atol=1e-7)
    v = RNG.normal(size=x.size)
    np.testing.assert_allclose(h @ v, irad.hvp(rosenbrock)(x, v), rtol=1e-8, atol=1e-6)


# ---- colouring -------------------------------------------------------------------------------------------------------------------


def random_pattern(rows, width, density, symmetric):
    dense = RNG.random((rows, width)) < density
    if symmetric:
        dense = dense | dense.T | np.eye(rows, dtype=bool)
    r, c = np.nonzero(dense)
    return Pattern.of(r, c, rows, width), dense


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("trial", range(6))
def test_compressed_columns_give_every_entry_back(symmetric, trial):
    n = 25
    p, dense = random_pattern(n, n, 0.05 + 0.05 * trial, symmetric)
    values = np.where(dense, RNG.normal(size=(n, n)), 0.0)
    if symmetric:
        values = values + values.T
    colour = star(p) if symmetric else columns(p)
    compressed = np.stack([values[:, colour == k].sum(1) for k in range(colour.max() + 1)])
    direction, row = recovery(p, colour, symmetric)
    back = np.zeros((n, n))
    back[p.row_of(), p.cols] = compressed[direction, row]
    np.testing.assert_allclose(back, values, rtol=1e-12, atol=1e-12)


def test_what_cannot_be_sparse_says_so():
    with pytest.raises(irad.IradValueError, match="has_aux"):
        irad.jacobian(lambda x: (x, 1), sparse=True, has_aux=True)


# ---- what looking for a pattern may cost ------------------------------------------------------------------------------------


def test_rows_that_share_a_column_are_not_coloured():
    """Reverse mode would need a sweep for each row with the column that all have: the rows are not looked at."""
    rows = np.arange(300)
    p = Pattern.of(np.concatenate([rows, rows]), np.concatenate([np.zeros(300, int), 1 + rows % 3]), 300, 4)
    with mock.patch.object(jacobian, "columns", side_effect=columns) as coloured:
        found = jacobian.plan(p, 4, 300, "", False)
    assert coloured.call_count == 1 and found.forward and len(found.seeds) == 2
    few = jacobian.plan(p.transposed(), 300, 4, "", False)
    assert not few.forward and len(few.seeds) == 2


def test_few_columns_are_worth_a_short_look():
    """A dense product behind 26 numbers: more dependencies than the directions that could be saved are worth."""
    w, at = RNG.normal(size=(1000, 2000)), np.arange(2000) % 26
    f = lambda x: w @ np.sin(x)[at]
    x, found = RNG.normal(size=26), []
    look = lambda *a, whole=jacobian.jacobian_pattern: found.append(whole(*a)) or found[-1]
    with mock.patch.object(jacobian, "jacobian_pattern", side_effect=look):
        got = irad.jacobian(f)(x)
    assert found == [None]
    assert np.allclose(got, w @ (np.cos(x) * np.eye(26))[at])


def test_observations_of_pairs():
    """Blocks at positions that are arguments: as many directions as a pair has numbers."""
    n, m, p = 5, 40, 400
    a, b = RNG.normal(size=(n, 3)), RNG.normal(size=(m, 2))
    of_a, of_b = np.arange(p) % n, np.arange(p) % m

    def f(a, b, of_a, of_b):
        return np.sin(a[of_a]) * np.sum(b[of_b] ** 2, axis=1)[:, None]

    by_a, by_b = irad.jacobian(f, argnums=(0, 1), sparse=True)(a, b, of_a, of_b)
    dense = irad.jacobian(f, argnums=(0, 1))(a, b, of_a, of_b)
    assert np.allclose(by_a.toarray(), dense[0].reshape(3 * p, -1)) and np.allclose(by_b.toarray(), dense[1].reshape(3 * p, -1))
    assert (by_a.nnz, by_b.nnz) == (3 * p, 6 * p)


def test_distinct_keys_are_sorted():
    rows, cols = RNG.integers(0, 9, 200), RNG.integers(0, 7, 200)
    p = Pattern.of(rows, cols, 9, 7)
    right = np.zeros((9, 7), bool)
    right[rows, cols] = True
    assert np.array_equal(p.row_of(), np.nonzero(right)[0]) and np.array_equal(p.cols, np.nonzero(right)[1])
