"""The places of sparse matrices: what is computed of them once, when the program is read, by NumPy and SciPy.

These functions are run, not read (irad.frontend.reading.sparse): they take and give arrays that are known at compile time.
"""

import numpy as np

from irad.core.once import import_later

_NARROW = 3  # a band is used that is narrower than the matrix by this factor


def totals(at, data, n):
    """The sums of the numbers at n places."""
    out = np.zeros(n, data.dtype)
    np.add.at(out, at, data)
    return out


def placed(x):
    """Are these places known at compile time, or may they be? The reader answers."""
    return True


def rows_of(indptr):
    """The row of each number, by where the rows begin."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def merge(row, col, shape, by_column):
    """Places in the order of a format, each once: where each number goes (None if they are so already), rows and columns."""
    major, minor, n = (col, row, shape[0]) if by_column else (row, col, shape[1])
    key = np.asarray(major, np.int64) * n + minor
    if np.all(key[1:] > key[:-1]):
        return None, row, col
    places, at = np.unique(key, return_inverse=True)
    major, minor = places // max(n, 1), places % max(n, 1)
    return (at.reshape(-1), minor, major) if by_column else (at.reshape(-1), major, minor)


def pairs(a, b):
    """All pairs (i, j) with a[i] == b[j]."""
    order = np.argsort(b, kind="stable")
    first, last = np.searchsorted(b[order], a, "left"), np.searchsorted(b[order], a, "right")
    count = last - first
    i = np.repeat(np.arange(len(a)), count)
    within = np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count)
    return i, order[np.repeat(first, count) + within]


def inside(row, col, low, high):
    """The numbers on diagonals `low` to `high`."""
    return np.flatnonzero((col - row >= low) & (col - row <= high))


def picked(row, col, shape, key, product):
    """What A[key] takes: the numbers alone if it is one element, else which, their rows and columns, and the shape."""
    scipy = import_later("scipy")
    made = scipy.sparse.csr_matrix if product else scipy.sparse.csr_array
    at, rows, cols = merge(row, col, shape, False)
    numbers = made((np.arange(1, len(rows) + 1), (rows, cols)), shape=shape)[key]
    which = lambda k: np.flatnonzero(at == k) if at is not None else np.array([k])
    if np.ndim(numbers) == 0:
        return (which(int(numbers) - 1) if numbers else np.zeros(0, int),)
    found = numbers.tocoo()
    if found.ndim == 1:
        rows, cols = found.coords[0], np.zeros(len(found.data), int)
    else:
        rows, cols = found.row, found.col
    taken = [which(k - 1) for k in found.data] if at is not None else [np.array([k - 1]) for k in found.data]
    count = [len(t) for t in taken]
    all_of = np.concatenate(taken) if taken else np.zeros(0, int)
    return all_of.astype(int), np.repeat(rows, count), np.repeat(cols, count), numbers.shape


def band(row, col, n):
    """An order of rows and columns in which a square matrix is a band: the order, the places then, and its diagonals below and above;
    None for the order where the band would be wide."""
    if n == 0:
        return None, row, col, 0, 0
    pattern = import_later("scipy.sparse").csr_matrix((np.ones(len(row)), (row, col)), shape=(n, n))
    order = (
        import_later("scipy.sparse.csgraph")
        .reverse_cuthill_mckee((pattern + pattern.T).tocsr(), symmetric_mode=True)
        .astype(np.int64)
    )
    if _width(row, col) <= _width(*(np.argsort(order)[x] for x in (row, col))):
        order = np.arange(n)
    place = np.argsort(order)
    new_row, new_col = place[row], place[col]
    low, high = max(0, int(np.max(new_row - new_col, initial=0))), max(0, int(np.max(new_col - new_row, initial=0)))
    if n < 8 or _NARROW * (2 * low + high + 1) > n:
        return None, row, col, low, high
    return order, new_row, new_col, low, high


def _width(row, col):
    return int(np.max(np.abs(row - col), initial=0))
