"""Bundle adjustment: errors of points seen by cameras, and their sparse Jacobian.

A camera is 11 numbers: rotation 3, centre 3, focal length, principal point 2, radial distortion 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import irad


def rotated(rot: Any, x: Any) -> Any:
    """x turned around the axis `rot` by the angle |rot| (Rodrigues)."""
    square = np.sum(rot * rot)
    if square == 0.0:
        return x + np.cross(rot, x)
    theta = np.sqrt(square)
    axis, cos = rot / theta, np.cos(theta)
    return x * cos + np.cross(axis, x) * np.sin(theta) + axis * (np.dot(axis, x) * (1.0 - cos))


def reprojection(cam: Any, x: Any, w: Any, feat: Any) -> Any:
    """The error (2,) of one observation with weight w."""
    p = rotated(cam[:3], x - cam[3:6])
    plane = p[:2] / p[2]
    r = np.sum(plane * plane)
    distorted = plane * (1.0 + cam[9] * r + cam[10] * r * r)
    return w * (cam[6] * distorted + cam[7:9] - feat)


def objective_loops(cams: Any, points: Any, w: Any, feats: Any, cam_of: Any, point_of: Any) -> Any:
    """Errors (p, 2) of all observations, and those of the weights (p,), one observation after the other."""
    p = len(w)
    errors, of_weights = np.empty((p, 2)), np.empty(p)
    for j in range(p):
        errors[j] = reprojection(cams[cam_of[j]], points[point_of[j]], w[j], feats[j])
        of_weights[j] = 1.0 - w[j] * w[j]
    return errors, of_weights


def objective(cams: Any, points: Any, w: Any, feats: Any, cam_of: Any, point_of: Any) -> Any:
    """The same with arrays: cams (n, 11), points (m, 3), w (p,), feats (p, 2), indices (p,)."""
    errors = irad.vmap(reprojection)(cams[cam_of], points[point_of], w, feats)
    return errors, 1.0 - w * w


def by_observation(cam: Any, x: Any, w: Any, feat: Any) -> Any:
    """The 2 x 15 block of one observation, by camera, point and weight."""
    by_cam, by_x, by_w = irad.jacobian(reprojection, argnums=(0, 1, 2))(cam, x, w, feat)
    block = np.empty((2, 15))
    block[:, :11] = by_cam
    block[:, 11:14] = by_x
    block[:, 14] = by_w
    return block


def jacobian(cams: Any, points: Any, w: Any, feats: Any, cam_of: Any, point_of: Any) -> Any:
    """The Jacobian of all errors by all of (cams, points, w), in compressed rows: (row offsets, columns, values)."""
    n, m, p = len(cams), len(points), len(w)
    vals = np.empty(31 * p)
    vals[: 30 * p] = irad.vmap(by_observation)(cams[cam_of], points[point_of], w, feats).reshape(30 * p)
    vals[30 * p :] = -2.0 * w
    cols = np.empty(31 * p, np.int32)
    blocks = cols[: 30 * p].reshape(p, 2, 15)
    blocks[:, :, :11] = (11 * cam_of[:, None] + np.arange(11))[:, None, :]
    blocks[:, :, 11:14] = (11 * n + 3 * point_of[:, None] + np.arange(3))[:, None, :]
    blocks[:, :, 14] = (11 * n + 3 * m + np.arange(p))[:, None]
    cols[30 * p :] = 11 * n + 3 * m + np.arange(p)
    rows = np.empty(3 * p + 1, np.int32)
    rows[: 2 * p + 1] = 15 * np.arange(2 * p + 1)
    rows[2 * p + 1 :] = 30 * p + 1 + np.arange(p)
    return rows, cols, vals


def generate(n: int, m: int, p: int, seed: int = 0) -> tuple[Any, ...]:
    """Arguments of `objective`: observation j sees camera j mod n and point j mod m."""
    r = np.random.default_rng(seed)
    cams = np.concatenate(
        [r.normal(size=(n, 3)) * 0.3, r.normal(size=(n, 3)), r.uniform(1, 2, (n, 1)), r.normal(size=(n, 4)) * 0.1], 1
    )
    points = r.normal(size=(m, 3)) + np.array([0.0, 0.0, 8.0])
    at = np.arange(p)
    return cams, points, r.uniform(size=p), r.normal(size=(p, 2)), at % n, at % m
