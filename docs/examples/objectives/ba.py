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


def jacobian(cams: Any, points: Any, w: Any, feats: Any, cam_of: Any, point_of: Any) -> Any:
    """The Jacobian of all errors by all of (cams, points, w), in compressed rows: (row offsets, columns, values).

    An observation has a block of 2 x 15, by camera, point and weight.
    """
    n, m, p = len(cams), len(points), len(w)
    rows, cols, vals = np.empty(3 * p + 1, np.int32), np.empty(31 * p, np.int32), np.empty(31 * p)
    of_cam, of_point = np.arange(11), np.arange(3)
    for j in range(p):
        c, x = cam_of[j], point_of[j]
        by_cam, by_x, by_w = irad.jacobian(reprojection, argnums=(0, 1, 2))(cams[c], points[x], w[j], feats[j])
        for k in range(2):
            at = 30 * j + 15 * k
            rows[2 * j + k] = at
            vals[at : at + 11], vals[at + 11 : at + 14], vals[at + 14] = by_cam[k], by_x[k], by_w[k]
            cols[at : at + 11] = 11 * c + of_cam
            cols[at + 11 : at + 14] = 11 * n + 3 * x + of_point
            cols[at + 14] = 11 * n + 3 * m + j
    for j in range(p):
        rows[2 * p + j], cols[30 * p + j], vals[30 * p + j] = 30 * p + j, 11 * n + 3 * m + j, -2.0 * w[j]
    rows[3 * p] = 31 * p
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
