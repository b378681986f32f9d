"""Counting by value, and what is in a set: histogram, digitize, isin."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.registry import written


@written("numpy.histogram")
def histogram(a, bins=10, range=None, density=None, weights=None):
    """np.histogram: `bins` a number or edges; the counts have no slope, weighted sums do."""
    x = np.ravel(a)
    edges = _edges(x, bins, range)
    n = len(edges) - 1
    at = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, n - 1)  # the last edge is in the last bin
    w = np.ones(x.shape, np.int64) if weights is None else np.ravel(weights)
    counts = np.zeros(n, w.dtype)
    np.add.at(counts, at, np.where((x >= edges[0]) & (x <= edges[-1]), w, np.array(0, w.dtype)))
    if density:
        counts = counts / np.diff(edges) / np.sum(counts)
    return counts, edges


@written("numpy.histogram_bin_edges")
def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """np.histogram_bin_edges of a number of bins."""
    return _edges(np.ravel(a), bins, range)


def _several(bins):
    """Is it a list, of numbers or edges or both, or an array?"""
    return isinstance(bins, (list, tuple)) or np.ndim(bins) > 0


@written("numpy.histogramdd")
def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    """np.histogramdd: for each column a number of bins or edges; weighted sums have slopes."""
    columns = [np.ravel(c) for c in sample] if isinstance(sample, (list, tuple)) else list(np.atleast_2d(sample.T))
    many = bins if _several(bins) else [bins] * len(columns)
    if len(many) != len(columns):
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    limits = [None] * len(columns) if range is None else range
    edges = [_edges(x, b, limit) for x, b, limit in zip(columns, many, limits)]
    w = np.ones(columns[0].shape) if weights is None else np.ravel(weights)
    where, inside = [], np.ones(columns[0].shape, bool)
    for x, e in zip(columns, edges):
        where.append(np.clip(np.searchsorted(e, x, side="right") - 1, 0, len(e) - 2))
        inside = inside & (x >= e[0]) & (x <= e[-1])
    counts = np.zeros(tuple([len(e) - 1 for e in edges]))
    np.add.at(counts, tuple(where), np.where(inside, w, 0.0))
    if density:
        total = np.sum(counts)
        for k, e in enumerate(edges):
            counts = counts / np.reshape(np.diff(e), [-1 if k == j else 1 for j in np.arange(len(edges))])
        counts = counts / total
    return counts, tuple(edges)


@written("numpy.histogram2d")
def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    both = [bins, bins] if _several(bins) and len(bins) not in (1, 2) else bins
    counts, edges = histogramdd([x, y], both, range, density, weights)
    return counts, edges[0], edges[1]


def _edges(x, bins, limits):
    """Bin edges: given, or equally spaced over the given range or the data's own."""
    if isinstance(bins, str):
        raise UnsupportedError(f"np.histogram(bins={bins!r}): give the number of bins, or the edges")
    if np.ndim(bins) == 1:
        edges = np.asarray(bins)
        if np.any(np.diff(edges) < 0):
            raise ValueError("`bins` must increase monotonically, when an array")
        return edges
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    if limits is None and len(x) == 0:
        low, high = 0.0, 1.0
    else:
        low, high = (np.min(x), np.max(x)) if limits is None else limits
        if low > high:
            raise ValueError("max must be larger than min in range parameter.")
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError(f"{'autodetected' if limits is None else 'supplied'} range of [{low}, {high}] is not finite")
    dtype, same = np.result_type(low, high, x), low == high
    if dtype.kind != "f":
        dtype = np.float64
    return np.linspace(np.where(same, low - 0.5, low), np.where(same, high + 0.5, high), bins + 1, dtype=dtype)


@written("numpy.digitize")
def digitize(x, bins, right=False):
    """np.digitize, for edges in rising or falling order; ValueError for others."""
    edges = np.asarray(bins)
    if edges.ndim != 1:
        raise ValueError(f"object {'of too small depth' if edges.ndim == 0 else 'too deep'} for desired array")
    falls, rises = np.any(edges[1:] < edges[:-1]), np.any(edges[1:] > edges[:-1])
    if falls and rises:
        raise ValueError("bins must be monotonically increasing or decreasing")
    side = "left" if right else "right"
    if falls:
        return len(edges) - np.searchsorted(edges[::-1], x, side=side)
    return np.searchsorted(edges, x, side=side)


@written("numpy.isin")
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """np.isin, comparing every element with every test element."""
    hit = np.any(np.asarray(element)[..., None] == np.ravel(test_elements), axis=-1)
    return ~hit if invert else hit
