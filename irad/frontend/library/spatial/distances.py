"""scipy.spatial.distance."""

import numpy as np
from scipy import special as sp

from irad.errors import UnsupportedError
from irad.frontend.registry import written


def _sum(x, w, keepdims=False):
    """The sum along the last axis, with a weight for each term unless w is None."""
    return np.sum(x if w is None else np.asarray(w) * x, -1, keepdims=keepdims)


def _mean(x, w, keepdims=False):
    return np.mean(x, -1, keepdims=keepdims) if w is None else _sum(x, w, keepdims) / np.sum(np.asarray(w))


def _cosine(u, v, w):
    return 1.0 - _sum(u * v, w) / np.sqrt(_sum(u * u, w) * _sum(v * v, w))


def _centred(u, w):
    return u - _mean(u, w, True)


def _minkowski(size, w, options):
    """(sum of w |d|**p)**(1/p)."""
    if len(options) > ("p" in options):
        raise UnsupportedError("scipy.spatial.distance: of the options only p=, w= and VI= are supported")
    p = options.get("p", 2)
    if isinstance(p, (int, float)) and p == 2:
        return np.sqrt(_sum(size * size, w))
    if isinstance(p, (int, float)) and p == np.inf:
        return np.max(size, -1) if w is None else np.max(size, -1, where=np.asarray(w) > 0, initial=0.0)
    return _sum(size**p, w) ** (1.0 / p)


def _of(metric, u, v, w=None, **options):
    """The distance of vectors along the last axis, with a weight for each coordinate."""
    if metric == "mahalanobis" and options.get("VI") is not None:
        d = u - v
        return np.sqrt(np.sum(d @ np.asarray(options["VI"]) * d, -1))
    if metric == "minkowski":
        return _minkowski(np.abs(u - v), w, options)
    if options:
        raise UnsupportedError(f"scipy.spatial.distance with metric {metric!r}: no option but w= is supported")
    if metric in ("euclidean", "euclid"):
        return _minkowski(u - v, w, {})
    if metric == "sqeuclidean":
        return _sum((u - v) ** 2, w)
    if metric in ("cityblock", "manhattan"):
        return _sum(np.abs(u - v), w)
    if metric == "chebyshev":
        return _minkowski(np.abs(u - v), w, {"p": np.inf})
    if metric == "cosine":
        return _cosine(u, v, w)
    if metric == "correlation":
        return _cosine(_centred(u, w), _centred(v, w), w)
    if metric == "canberra":
        size = np.abs(u) + np.abs(v)
        return _sum(np.where(size == 0, 0.0, np.abs(u - v) / np.where(size == 0, 1.0, size)), w)
    if metric == "braycurtis":
        return _sum(np.abs(u - v), w) / _sum(np.abs(u + v), w)
    if metric == "hamming":
        return _mean(u != v, w)
    raise UnsupportedError(f"scipy.spatial.distance with metric {metric!r}: write it with NumPy's functions")


def _float(x):
    return np.asarray(x) + 0.0


def _double(x):
    return np.asarray(x).astype(np.float64)


@written("scipy.spatial.distance.cdist", always=True)
def cdist(XA, XB, metric="euclidean", **options):
    """scipy.spatial.distance.cdist, in double precision as SciPy's."""
    if not isinstance(metric, str):
        rows = [metric(u, v, **options) for u in np.asarray(XA) for v in np.asarray(XB)]
        return np.array(rows, np.float64).reshape(len(XA), len(XB))
    return _of(metric, _double(XA)[:, None, :], _double(XB)[None, :, :], **options)


@written("scipy.spatial.distance.pdist", always=True)
def pdist(X, metric="euclidean", **options):
    """scipy.spatial.distance.pdist, in double precision as SciPy's."""
    if not isinstance(metric, str):
        X = np.asarray(X)
        return np.array([metric(X[i], X[j], **options) for i in range(len(X) - 1) for j in range(i + 1, len(X))], np.float64)
    X = _double(X)
    i, j = np.triu_indices(len(X), 1)
    return _of(metric, X[i], X[j], **options)


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


def _pair(metric, given):
    return lambda u, v, w=None: _of(metric, given(u), given(v), w)


for _name in ("sqeuclidean", "cityblock", "chebyshev", "cosine", "hamming"):
    written(f"scipy.spatial.distance.{_name}")(_pair(_name, _float))
for _name in ("euclidean", "canberra", "braycurtis"):
    written(f"scipy.spatial.distance.{_name}")(_pair(_name, _double))


@written("scipy.spatial.distance.correlation")
def correlation(u, v, w=None, centered=True):
    return _of("correlation" if centered else "cosine", _float(u), _float(v), w)


@written("scipy.spatial.distance.minkowski")
def minkowski(u, v, p=2, w=None):
    return _of("minkowski", _double(u), _double(v), w, p=p)


@written("scipy.spatial.distance.mahalanobis")
def mahalanobis(u, v, VI):
    return _of("mahalanobis", _float(u), _float(v), VI=VI)


@written("scipy.spatial.distance.seuclidean")
def seuclidean(u, v, V):
    return np.sqrt(np.sum((_float(u) - _float(v)) ** 2 / np.asarray(V)))


@written("scipy.spatial.distance.jensenshannon")
def jensenshannon(p, q, base=None, *, axis=0, keepdims=False):
    p, q = _float(p), _float(q)
    p, q = p / np.sum(p, axis, keepdims=True), q / np.sum(q, axis, keepdims=True)
    m = (p + q) / 2.0
    js = np.sum(sp.rel_entr(p, m), axis, keepdims=keepdims) + np.sum(sp.rel_entr(q, m), axis, keepdims=keepdims)
    js = js if base is None else js / np.log(base)
    return np.sqrt(np.maximum(js, 0.0) / 2.0)


@written("scipy.spatial.distance.jaccard")
def jaccard(u, v, w=None):
    """scipy.spatial.distance.jaccard: what is there but in one of both counts."""
    u, v = np.asarray(u) != 0, np.asarray(v) != 0
    apart, either = _sum((u != v) * 1.0, w), _sum((u | v) * 1.0, w)
    return np.where(either > 0, apart / np.where(either > 0, either, 1.0), 0.0)[()]


@written("scipy.spatial.distance.dice")
def dice(u, v, w=None):
    """scipy.spatial.distance.dice of bools."""
    u, v = np.asarray(u) != 0, np.asarray(v) != 0
    apart = _sum((u != v) * 1.0, w)
    return apart / (2.0 * _sum((u & v) * 1.0, w) + apart)
