"""NumPy's sets as sorted arrays: how many values differ depends on data, and so do lengths here. Values and groups have slopes."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.registry import written

_SHAPED = int(np.__version__.split(".")[0]) >= 2  # the inverse has the shape of the array


def _firsts(x, equal_nan=True):
    """Which elements of a sorted array differ from the one before."""
    first = np.ones(len(x), bool)
    first[1:] = x[1:] != x[:-1]
    if equal_nan and x.dtype.kind in "fc":
        first[1:] = first[1:] & ~(np.isnan(x[1:]) & np.isnan(x[:-1]))
    return first


@written("numpy.unique")
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True):
    """np.unique of all elements: in order, with `sorted=False` too."""
    if axis is not None and np.ndim(ar) != 1:
        raise UnsupportedError("np.unique(axis=...): rows are not compared as wholes; give each a number, and np.unique of those")
    x = np.ravel(ar)
    order = np.argsort(x, kind="stable") if return_index or return_inverse else None
    x = np.sort(x) if order is None else x[order]
    first = _firsts(x, equal_nan)
    found = (x[first],)
    if return_index:
        found = (*found, order[first])
    if return_inverse:
        inverse = np.zeros(len(x), np.intp)
        inverse[order] = np.cumsum(first) - 1
        found = (*found, np.reshape(inverse, np.shape(ar)) if _SHAPED else inverse)
    if return_counts:
        found = (*found, np.diff(np.flatnonzero(np.concatenate((first, np.ones(1, bool))))))
    return found if len(found) > 1 else found[0]


@written("numpy.union1d")
def union1d(ar1, ar2):
    return unique(np.concatenate((np.ravel(ar1), np.ravel(ar2))))


@written("numpy.intersect1d")
def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    if return_indices:
        a, at = (np.ravel(ar1), np.arange(np.size(ar1))) if assume_unique else unique(ar1, return_index=True)
        b, to = (np.ravel(ar2), np.arange(np.size(ar2))) if assume_unique else unique(ar2, return_index=True)
        both = np.concatenate((a, b))
        order = np.argsort(both, kind="stable")
        both, place = both[order], np.concatenate((at, to))[order]
        twice = both[1:] == both[:-1]
        return both[:-1][twice], place[:-1][twice], place[1:][twice]
    a, b = (np.ravel(ar1), np.ravel(ar2)) if assume_unique else (unique(ar1), unique(ar2))
    both = np.sort(np.concatenate((a, b)))
    return both[:-1][both[1:] == both[:-1]]


@written("numpy.setxor1d")
def setxor1d(ar1, ar2, assume_unique=False):
    a, b = (np.ravel(ar1), np.ravel(ar2)) if assume_unique else (unique(ar1), unique(ar2))
    both = np.sort(np.concatenate((a, b)))
    new = np.ones(len(both) + 1, bool)
    new[1:-1] = both[1:] != both[:-1]
    return both[new[1:] & new[:-1]]


@written("numpy.setdiff1d")
def setdiff1d(ar1, ar2, assume_unique=False):
    a = np.ravel(ar1) if assume_unique else unique(ar1)
    return a[~np.isin(a, ar2)]


@written("numpy.trim_zeros")
def trim_zeros(filt, trim="fb", axis=None):
    """np.trim_zeros of one axis."""
    if np.ndim(filt) != 1:
        raise UnsupportedError("np.trim_zeros of several axes; take a slice of each")
    x, where = np.asarray(filt), trim.lower()
    if any(c not in "fb" for c in where):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    n = len(x)
    if n == 0:
        return x
    there = x != 0
    start, end = np.argmax(there), n - np.argmax(there[::-1])
    if not np.any(there):
        start, end = n, 0
    return x[start if "f" in where else 0 : end if "b" in where else n]
