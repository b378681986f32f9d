"""scipy.spatial: nearest points, and distances of sets of points."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.registry import written


def _nearest(data, x, k, p, bound):
    """The distances of the k nearest points of `data` from each of x, and their numbers; none beyond `bound` (infinity, and how many
    points there are). All are compared."""
    if not isinstance(k, int) or k < 1:
        raise UnsupportedError("scipy.spatial.KDTree.query: k as a number from 1 on")
    x = np.asarray(x) + 0.0
    if x.shape[-1] != data.shape[1]:
        raise ValueError(f"x must consist of vectors of length {data.shape[1]} but has shape {x.shape}")
    rows = x.reshape((-1, x.shape[-1]))
    far, at = np.full((len(rows), k), np.inf), np.full((len(rows), k), len(data))
    most = min(k, len(data))
    for i in range(len(rows)):
        apart = np.abs(rows[i] - data)
        size = np.max(apart, 1) if p == np.inf else np.sum(apart if p == 1 else apart**p, 1)
        order = np.argmin(size)[None] if k == 1 else np.argsort(size, kind="stable")[:most]
        found = size[order]
        d = found if p == 1 or p == np.inf else np.where(found > 0, np.where(found > 0, found, 1.0) ** (1.0 / p), 0.0)
        near = d < bound
        far[i, :most], at[i, :most] = np.where(near, d, np.inf), np.where(near, order, len(data))
    shape = x.shape[:-1] + ((k,) if k > 1 else ())
    return far.reshape(shape)[()], at.reshape(shape)[()]


def _within(data, x, r, p, eps, return_length):
    """The numbers of the points of `data` that are no further than r from x, in ascending order, or how many they are."""
    x = np.asarray(x) + 0.0
    if eps != 0 or x.ndim != 1 or np.ndim(r) != 0:
        raise UnsupportedError("scipy.spatial.KDTree.query_ball_point: one point and one distance at a time, without eps=")
    if x.shape[0] != data.shape[1]:
        raise ValueError(f"Searching for a {x.shape[0]}-dimensional point in a {data.shape[1]}-dimensional KDTree")
    apart = np.abs(data - x)
    near = np.max(apart, 1) <= r if p == np.inf else np.sum(apart if p == 1 else apart**p, 1) <= (r if p == 1 else r**p)
    return np.sum(near) if return_length else list(np.nonzero(near)[0])


class Tree:
    """What scipy.spatial.KDTree is for `query` and `query_ball_point`."""

    def __init__(self, data):
        self.data = data
        self.n, self.m = data.shape

    def query(self, x, k=1, eps=0.0, p=2.0, distance_upper_bound=np.inf, workers=1):
        if eps != 0:
            raise UnsupportedError("scipy.spatial.KDTree.query with eps=: leave it out")
        return _nearest(self.data, x, k, p, distance_upper_bound)

    def query_ball_point(self, x, r, p=2.0, eps=0.0, workers=1, return_sorted=None, return_length=False):
        return _within(self.data, x, r, p, eps, return_length)


@written("scipy.spatial.KDTree", "scipy.spatial.cKDTree", always=True)
def tree(data, leafsize=10, compact_nodes=True, copy_data=False, balanced_tree=True, boxsize=None):
    """scipy.spatial.KDTree; what is asked of it is found by comparing all points."""
    if boxsize is not None:
        raise UnsupportedError("scipy.spatial.KDTree with boxsize=: leave it out")
    data = np.asarray(data) + 0.0
    if data.ndim != 2:
        raise ValueError("data must be 2 dimensions")
    return Tree(data)


@written("scipy.spatial.KDTree.query", "scipy.spatial.cKDTree.query", always=True)
def query(self, x, k=1, eps=0.0, p=2.0, distance_upper_bound=np.inf, workers=1):
    """KDTree.query of one that was made outside."""
    if eps != 0:
        raise UnsupportedError("scipy.spatial.KDTree.query with eps=: leave it out")
    return _nearest(np.asarray(self.data), x, k, p, distance_upper_bound)


@written("scipy.spatial.KDTree.query_ball_point", "scipy.spatial.cKDTree.query_ball_point", always=True)
def query_ball_point(self, x, r, p=2.0, eps=0.0, workers=1, return_sorted=None, return_length=False):
    """KDTree.query_ball_point of one that was made outside."""
    return _within(np.asarray(self.data), x, r, p, eps, return_length)


@written("scipy.spatial.distance_matrix")
def distance_matrix(x, y, p=2.0, threshold=1000000):
    x, y = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    return minkowski_distance(x[:, None, :], y[None, :, :], p)


@written("scipy.spatial.minkowski_distance")
def minkowski_distance(x, y, p=2.0):
    apart = np.abs(np.asarray(y) * 1.0 - np.asarray(x))
    if p == np.inf:
        return np.max(apart, axis=-1)
    return np.sum(apart, axis=-1) if p == 1 else np.sum(apart**p, axis=-1) ** (1.0 / p)


@written("scipy.spatial.distance.directed_hausdorff")
def directed_hausdorff(u, v, rng=None):
    """scipy.spatial.distance.directed_hausdorff: (distance, the two points)."""
    u, v = np.asarray(u) + 0.0, np.asarray(v) + 0.0
    apart = np.sum((u[:, None, :] - v[None, :, :]) ** 2, -1)
    mate = np.argmin(apart, axis=1)
    i = np.argmax(np.min(apart, axis=1))
    return np.sqrt(apart[i, mate[i]]), i, mate[i]
