"""scipy.spatial.distance."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.registry import written


def _norm(d, axis=-1):
    return np.sqrt(np.sum(d * d, axis=axis))


def _cosine(u, v):
    return 1.0 - np.sum(u * v, -1) / np.sqrt(np.sum(u * u, -1) * np.sum(v * v, -1))


def _centred(u):
    return u - np.mean(u, -1, keepdims=True)


def _of(metric, u, v, options):
    """The distance of vectors along the last axis."""
    if metric in ("euclidean", "euclid"):
        return _norm(u - v)
    if metric == "sqeuclidean":
        return np.sum((u - v) ** 2, -1)
    if metric in ("cityblock", "manhattan"):
        return np.sum(np.abs(u - v), -1)
    if metric == "chebyshev":
        return np.max(np.abs(u - v), -1)
    if metric == "minkowski":
        p = options.get("p", 2)
        return np.sum(np.abs(u - v) ** p, -1) ** (1.0 / p)
    if metric == "cosine":
        return _cosine(u, v)
    if metric == "correlation":
        return _cosine(_centred(u), _centred(v))
    if metric == "canberra":
        size = np.abs(u) + np.abs(v)
        return np.sum(np.where(size == 0, 0.0, np.abs(u - v) / np.where(size == 0, 1.0, size)), -1)
    if metric == "braycurtis":
        return np.sum(np.abs(u - v), -1) / np.sum(np.abs(u + v), -1)
    if metric == "mahalanobis" and options.get("VI") is not None:
        d = u - v
        return np.sqrt(np.sum(d @ np.asarray(options["VI"]) * d, -1))
    if metric == "hamming":
        return np.mean(u != v, -1)
    raise UnsupportedError(f"scipy.spatial.distance with metric {metric!r}: write it with NumPy's functions")


def _float(x):
    return np.asarray(x) + 0.0


@written("scipy.spatial.distance.cdist", always=True)
def cdist(XA, XB, metric="euclidean", **options):
    """scipy.spatial.distance.cdist."""
    if not isinstance(metric, str):
        raise UnsupportedError("scipy.spatial.distance.cdist of a function: write the loop")
    return _of(metric, _float(XA)[:, None, :], _float(XB)[None, :, :], options)


@written("scipy.spatial.distance.pdist", always=True)
def pdist(X, metric="euclidean", **options):
    """scipy.spatial.distance.pdist."""
    if not isinstance(metric, str):
        raise UnsupportedError("scipy.spatial.distance.pdist of a function: write the loop")
    X = _float(X)
    i, j = np.triu_indices(len(X), 1)
    return _of(metric, X[i], X[j], options)


@written("scipy.spatial.distance.squareform")
def squareform(X, force="no", checks=True):
    """scipy.spatial.distance.squareform, both ways."""
    X = np.asarray(X)
    if X.ndim == 2:
        return X[np.triu_indices(len(X), 1)]
    n = int(round((1 + (1 + 8 * len(X)) ** 0.5) / 2))
    i, j = np.triu_indices(n, 1)
    out = np.zeros((n, n), X.dtype)
    out[i, j] = X
    out[j, i] = X
    return out


def _pair(metric, **fixed):
    return lambda u, v, *more, **options: _of(metric, _float(u), _float(v), {**fixed, **options})


for _name in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra", "braycurtis", "hamming"):
    written(f"scipy.spatial.distance.{_name}")(_pair(_name))


@written("scipy.spatial.distance.minkowski")
def minkowski(u, v, p=2, w=None):
    """scipy.spatial.distance.minkowski."""
    return _of("minkowski", _float(u), _float(v), {"p": p})


@written("scipy.spatial.distance.mahalanobis")
def mahalanobis(u, v, VI):
    """scipy.spatial.distance.mahalanobis."""
    return _of("mahalanobis", _float(u), _float(v), {"VI": VI})
