"""scipy.spatial in NumPy: rotations, nearest points, distances of sets of points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.spatial as ss
import scipy.spatial.distance as sd
from scipy.spatial.transform import Rotation, Slerp

import irad
from irad.errors import UnsupportedError
from irad.frontend.library.spatial import distances, nearby, rotations
from tests.support.scipy_calls import call, check_compiled, check_not_compiled

R = np.random.default_rng(0)
Q, V, D, X, W, TIMES = (
    R.normal(size=(9, 4)),
    R.normal(size=(9, 3)),
    R.random((12, 3)),
    R.random((5, 3)),
    R.normal(size=(3, 3)),
    np.arange(9.0),
)
ORDERS = ("xyz", "zyx", "XYZ", "zxz", "ZYZ", "yxy", "YZX", "zxy", "xzy")
GRID = ss.KDTree(np.array([[i % 3, i // 3] for i in range(9)]))
ONE, MANY, TREE = Rotation.from_quat(Q[0]), Rotation.from_quat(Q[:4]), ss.KDTree(D)
PATH = Slerp(TIMES, Rotation.from_quat(Q))


def close(got: Any, want: Any) -> None:
    assert np.shape(got) == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("q", [Q, Q[0]], ids=["many", "one"])
def test_rotations_not_compiled(q: np.ndarray) -> None:
    theirs, ours = Rotation.from_quat(q), rotations.from_quat(q)
    for name in ("as_quat", "as_matrix", "as_rotvec", "as_mrp", "magnitude"):
        close(getattr(ours, name)(), getattr(theirs, name)())
    for order in ORDERS:
        close(ours.as_euler(order, degrees=True), theirs.as_euler(order, degrees=True))
    close(ours.as_quat(True, scalar_first=True), theirs.as_quat(True, scalar_first=True))
    close(ours.inv().as_quat(), theirs.inv().as_quat())
    close(ours.apply(V[0]), theirs.apply(V[0]))
    close(ours.apply(V, inverse=True), theirs.apply(V, inverse=True))
    close((ours**0.3).as_quat(), (theirs**0.3).as_quat())
    close((ours * rotations.from_quat(Q[3])).as_quat(), (theirs * Rotation.from_quat(Q[3])).as_quat())
    m = theirs.as_matrix()
    close(rotations.from_matrix(m).as_quat(), Rotation.from_matrix(m).as_quat())
    close(rotations.from_matrix(m + 0.05 * m @ m).as_matrix(), Rotation.from_matrix(m + 0.05 * m @ m).as_matrix())
    close(rotations.from_mrp(V[: len(m)]).as_quat(), Rotation.from_mrp(V[: len(m)]).as_quat())


def test_what_rotations_are_made_of() -> None:
    for v in (V, V[0], np.zeros(3), V * 1e-4, V * 1e-3, V * 0.02):
        close(rotations.from_rotvec(v).as_quat(), Rotation.from_rotvec(v).as_quat())
        close(rotations.from_rotvec(v).as_rotvec(), Rotation.from_rotvec(v).as_rotvec())
    for order, a in (("xyz", V), ("ZYX", V[0]), ("x", 0.3), ("Y", V[:, :1]), ("zx", V[:, :2]), ("zxz", V)):
        close(rotations.from_euler(order, a).as_quat(), Rotation.from_euler(order, a).as_quat())
    for order in ("xyz", "XYZ", "zxz", "ZXZ"):
        for middle in (0, np.pi / 2, -np.pi / 2, np.pi):
            a = [0.3, middle, 0.4]
            close(
                rotations.from_euler(order, a).as_euler(order),
                Rotation.from_euler(order, a).as_euler(order, suppress_warnings=True),
            )
    close(rotations.from_quat(Q).mean().as_matrix(), Rotation.from_quat(Q).mean().as_matrix())
    ours, theirs = rotations.align_vectors(V, V[::-1]), Rotation.align_vectors(V, V[::-1])
    close(ours[0].as_matrix(), theirs[0].as_matrix())
    close(ours[1], theirs[1])
    for t in (2.3, [0, 0.3, 4.4, 8]):
        close(rotations.slerp(TIMES, rotations.from_quat(Q))(t).as_quat(True), PATH(t).as_quat(True))
        close(rotations.evaluate(PATH, t).as_quat(True), PATH(t).as_quat(True))
    close(rotations.identity(3).as_quat(), Rotation.identity(3).as_quat())
    close(rotations.concatenate([MANY, ONE]).as_quat(), Rotation.concatenate([MANY, ONE]).as_quat())


CALLS = [
    call(ss.distance_matrix, X, D), call(ss.distance_matrix, X, D, 1), call(ss.minkowski_distance, X, D[:5], 3), call(sd.directed_hausdorff, X, D),
    call(sd.jensenshannon, X[:, 0], X[:, 1]), call(sd.jensenshannon, X, X[::-1], 2, axis=1), call(sd.seuclidean, X[0], X[1], X[2]),
    call(sd.jaccard, X[0] > 0.5, X[1] > 0.5), call(sd.dice, X[0] > 0.5, X[1] > 0.3),
]  # fmt: skip


def test_points_not_compiled() -> None:
    check_not_compiled([nearby, distances], CALLS)
    for kw in ({}, {"k": 3}, {"k": 2, "p": 1}, {"p": np.inf}, {"k": 14}, {"distance_upper_bound": 0.3, "k": 2}):
        for x in (X, X[0]):
            for got, want in zip(nearby.tree(D).query(x, **kw), TREE.query(x, **kw), strict=True):
                close(got, want)


def made_and_used(q: Any) -> Any:
    one, many = Rotation.from_quat(q[0]), Rotation.from_quat(q)
    turned = (one * Rotation.from_quat(q[1]).inv()).as_rotvec()
    path = Slerp(np.arange(4.0), many)(np.array([0.3, 1.2, 2.9]))
    return (
        np.sum(W * one.as_matrix()) + np.sum(many.apply(V[:4]) ** 3) + np.sum(turned * V[0]) + np.sum(many.magnitude())
        + np.sum(Rotation.from_quat(q[2]).as_euler("xyz") * V[1]) + np.sum(path.as_matrix()[:, 0] * W) + np.sum(many.mean().as_matrix() * W)
    )  # fmt: skip


def by_angles(a: Any) -> Any:
    at_rest = np.sum(Rotation.from_rotvec(a - V[0]).as_rotvec() * V[1])
    return (
        np.sum(W * Rotation.from_euler("ZYX", a, degrees=True).as_matrix())
        + np.sum(Rotation.from_rotvec(a).as_quat() * Q[0])
        + at_rest
    )


def from_outside(v: Any) -> Any:
    products = np.sum((ONE * Rotation.from_rotvec(v)).as_quat() * Q[1]) + np.sum((Rotation.from_rotvec(v) * ONE).as_matrix() * W)
    return np.sum(ONE.apply(v) ** 3) + products + np.sum(MANY.apply(v) ** 2 * V[:4]) + np.sum(PATH(v[0] + 1.5).as_quat() * Q[1])


def of_matrices(m: Any) -> Any:
    turn, rest = Rotation.align_vectors(V[:4] @ m, V[3::-1])
    return np.sum(Rotation.from_matrix(m).as_quat() * Q[0]) + np.sum(turn.as_matrix() * W) + rest


def nearest(x: Any) -> Any:
    d, at = ss.KDTree(x).query(V[:4])
    return (
        np.sum(TREE.query(x, k=2)[0] ** 3)
        + np.sum(d)
        + at[0]
        + np.sum(ss.distance_matrix(x, V) ** 2)
        + sd.directed_hausdorff(x, V)[0]
    )


def within(x: Any) -> Any:
    """Points on a grid, so that some are as far as the limit."""
    tree, total = ss.KDTree(x), 0.0
    for k in range(3):
        far = tree.query(x[k], k=3, p=np.inf)[0][-1]
        total += len(tree.query_ball_point(tree.data[k], r=far, p=np.inf)) + np.sum(x[tree.query_ball_point(x[k], 1.0)] ** 2) * (
            k + 1
        )
    return (
        total
        + GRID.query_ball_point(x[0], 1.5, p=1, return_length=True)
        + np.sum(x[sorted(GRID.query_ball_point(x[4], 1.1))] ** 3)
    )


def test_points_within() -> None:
    x = np.array([[i % 3, i // 3] for i in range(9)]) * 1.0
    assert irad.compile(within)(x) == within(x)
    want = np.zeros((9, 2))
    for k in range(3):
        want[np.abs(x - x[k]).sum(1) <= 1] += 2 * (k + 1) * x[np.abs(x - x[k]).sum(1) <= 1]
    want[[1, 3, 4, 5, 7]] += 3 * x[[1, 3, 4, 5, 7]] ** 2
    assert np.array_equal(irad.grad(within)(x), want)
    with pytest.raises(irad.UnsupportedError, match="one point and one distance at a time"):
        irad.compile(lambda x: ss.KDTree(x).query_ball_point(x, 1.0))(x)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (made_and_used, Q[:4]),
        (by_angles, V[0]),
        (from_outside, 0.3 * V[0]),
        (of_matrices, ONE.as_matrix()),
        (nearest, 0.7 * V[:4]),
    ],
    ids=lambda f: getattr(f, "__name__", "x"),
)
def test_compiled(f: Any, x: np.ndarray) -> None:
    check_compiled(f, x)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="zero norm"):
        irad.compile(lambda q: Rotation.from_quat(q).as_matrix())(np.zeros(4))
    with pytest.raises(ValueError, match="Non-positive determinant"):
        irad.compile(lambda m: Rotation.from_matrix(m).as_quat())(-np.eye(3))
    with pytest.raises(UnsupportedError, match="k as a number"):
        irad.compile(lambda x: TREE.query(x, k=[1, 2])[0])(X)


def test_new_axes_of_scalars() -> None:
    f = lambda x: (np.sum(x)[None], np.sum(x)[..., None], np.sum(x)[...], np.sum(x)[()])
    for got, want in zip(irad.compile(f)(V), f(V), strict=True):
        assert (type(got), np.shape(got)) == (type(want), np.shape(want))
    with pytest.raises(TypeError, match="'float' object is not subscriptable"):
        irad.compile(lambda x: x[None])(2.0)
