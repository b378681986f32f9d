"""Hand tracking: points of a depth image against a hand's surface, which 26 numbers pose.

theta: global rotation 3, translation 3, and four numbers for each of five fingers. A model is a tuple (parents, base relatives
(b, 4, 4), inverse base absolutes (b, 4, 4), base positions (v, 4), weights (v, b), triangles (t, 3), is mirrored).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import irad

Model = tuple[Any, ...]


def pose_parameters(theta: Any, bones: int) -> Any:
    """Rows: rotation, scale, translation, then for each finger three rows with angles and one without."""
    P = np.zeros((bones + 3, 3))
    P[0], P[1], P[2] = theta[:3], 1.0, theta[3:6]
    at, row = 6, 5
    for _ in range(5):
        P[row, :2] = theta[at : at + 2]
        P[row + 1, 0] = theta[at + 2]
        P[row + 2, 0] = theta[at + 3]
        at, row = at + 4, row + 4
    return P


def by_angles(tx: Any, ty: Any, tz: Any) -> Any:
    """Rz Ry Rx as a 4 x 4 matrix."""
    cx, sx, cy, sy, cz, sz = np.cos(tx), np.sin(tx), np.cos(ty), np.sin(ty), np.cos(tz), np.sin(tz)
    return np.array(
        [
            [cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz, 0.0],
            [cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz, 0.0],
            [-sy, sx * cy, cx * cy, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def by_axis(r: Any) -> Any:
    """The rotation around the axis r by the angle |r|, 3 x 3."""
    square = np.sum(r * r)
    if square < 1e-8:
        return np.eye(3)
    theta = np.sqrt(square)
    x, y, z = r / theta
    s, c = np.sin(theta), 1.0 - np.cos(theta)
    return np.array(
        [
            [1.0 + (x * x - 1.0) * c, x * y * c - z * s, x * z * c + y * s],
            [x * y * c + z * s, 1.0 + (y * y - 1.0) * c, y * z * c - x * s],
            [x * z * c - y * s, z * y * c + x * s, 1.0 + (z * z - 1.0) * c],
        ]
    )


def bones_posed(P: Any, model: Model) -> Any:
    """What takes the base position of a vertex to its place, for each bone: (b, 4, 4)."""
    parents, relatives, inverse_absolutes = model[:3]
    absolutes = np.empty((len(parents), 4, 4))
    for b in range(len(parents)):
        local = relatives[b] @ by_angles(P[b + 3, 0], P[b + 3, 2], P[b + 3, 1])
        absolutes[b] = local if parents[b] < 0 else absolutes[parents[b]] @ local
    return absolutes @ inverse_absolutes


def vertices(theta: Any, model: Model) -> Any:
    """The posed vertices (v, 3), with arrays: one product over bones and base coordinates."""
    positions, weights, mirrored = model[3], model[4], model[6]
    b, v = len(model[0]), len(positions)
    P = pose_parameters(theta, b)
    T = bones_posed(P, model)[:, :3, :]
    weighted = (weights[:, :, None] * positions[:, None, :]).reshape(v, 4 * b)
    V = weighted @ T.transpose(0, 2, 1).reshape(4 * b, 3)
    if mirrored:
        V = V * np.array([-1.0, 1.0, 1.0])
    return V @ (by_axis(P[0]) * P[1]).T + P[2]


def vertices_loops(theta: Any, model: Model) -> Any:
    """The same, vertex by vertex and bone by bone."""
    positions, weights, mirrored = model[3], model[4], model[6]
    b = len(model[0])
    P = pose_parameters(theta, b)
    T = bones_posed(P, model)
    R = by_axis(P[0]) * P[1]
    V = np.empty((len(positions), 3))
    for i in range(len(positions)):
        at = np.zeros(3)
        for k in range(b):
            at += weights[i, k] * (T[k, :3, :] @ positions[i])
        if mirrored:
            at[0] = -at[0]
        V[i] = R @ at + P[2]
    return V


def errors(theta: Any, model: Model, correspondences: Any, points: Any) -> Any:
    """Points less their vertices, (c, 3)."""
    return points - vertices(theta, model)[correspondences]


def errors_loops(theta: Any, model: Model, correspondences: Any, points: Any) -> Any:
    V = vertices_loops(theta, model)
    out = np.empty((len(points), 3))
    for i in range(len(points)):
        out[i] = points[i] - V[correspondences[i]]
    return out


def on_triangles(V: Any, us: Any, corners: Any) -> Any:
    """Points on triangles with corners (c, 3) at the first two barycentric coordinates us (c, 2)."""
    u0, u1 = us[:, :1], us[:, 1:]
    return u0 * V[corners[:, 0]] + u1 * V[corners[:, 1]] + (1.0 - u0 - u1) * V[corners[:, 2]]


def errors_on_triangles(theta: Any, us: Any, model: Model, correspondences: Any, points: Any) -> Any:
    """The same, of points on triangles."""
    return points - on_triangles(vertices(theta, model), us, model[5][correspondences])


def generate(c: int, triangles: bool = False, v: int = 544, seed: int = 0) -> tuple[Any, ...]:
    """A hand of 22 bones, and c correspondences; arguments of `errors`, or of `errors_on_triangles`."""
    r = np.random.default_rng(seed)
    parents = (-1, *(p for f in range(5) for p in (0, 1 + 4 * f, 2 + 4 * f, 3 + 4 * f)), 0)
    b = len(parents)
    relatives = np.tile(np.eye(4), (b, 1, 1))
    relatives[:, :3, 3] = r.normal(size=(b, 3))
    absolutes = relatives.copy()
    for k in range(1, b):
        absolutes[k] = absolutes[parents[k]] @ relatives[k]
    weights = r.uniform(size=(v, b))
    positions = np.concatenate([r.normal(size=(v, 3)), np.ones((v, 1))], 1)
    t = r.integers(v, size=(v, 3))
    model = (parents, relatives, np.linalg.inv(absolutes), positions, weights / weights.sum(1)[:, None], t, False)
    theta, points = r.normal(size=26) * 0.3, r.normal(size=(c, 3))
    which = r.integers(v, size=c)
    return (theta, r.uniform(size=(c, 2)), model, which, points) if triangles else (theta, model, which, points)


def objective(theta: Any, *rest: Any) -> Any:
    """`errors`, or `errors_on_triangles` if the second argument is us."""
    return errors(theta, *rest) if len(rest) == 3 else errors_on_triangles(theta, *rest)


def jacobian(theta: Any, *rest: Any) -> Any:
    """(c, 3, 26): of the errors by theta; with us (c, 3, 28), the first two columns along each point's own us."""
    by_theta = irad.jacobian(objective)(theta, *rest)
    if len(rest) == 3:
        return by_theta
    us, model, correspondences = rest[:3]
    V = vertices(theta, model)
    corners = model[5][correspondences]
    along = [V[corners[:, 2]] - V[corners[:, k]] for k in (0, 1)]
    return np.concatenate([np.stack(along, axis=2), by_theta], axis=2)
