"""scipy.sparse: how matrices are made, of numbers and places, of diagonals and of other matrices."""

import numpy as np

from irad.frontend.library.sparse.sparse import DENSE, Sparse, merged, of_array, sparse_of
from irad.frontend.library.sparse.sparse_places import inside, placed, rows_of
from irad.frontend.registry import written


def made(format, product, arg1, shape=None, dtype=None, copy=False, blocksize=None, maxprint=None):
    """What csr_matrix(...) and its like make."""
    if isinstance(arg1, tuple) and len(arg1) == 2 and np.ndim(arg1[0]) == 0 and np.ndim(arg1[1]) == 0:
        kind = float if dtype is None else dtype
        if format in DENSE:
            return Sparse(None, None, None, arg1, format, product, np.zeros((int(arg1[0]), int(arg1[1])), kind))
        return Sparse(np.zeros(0, int), np.zeros(0, int), np.zeros(0, kind), arg1, format, product)
    if isinstance(arg1, tuple) and format == "dia":
        data, offsets = np.atleast_2d(np.asarray(arg1[0])), arg1[1]
        out = spdiags(data, offsets, shape[0], shape[1])
    elif isinstance(arg1, tuple) and len(arg1) == 3:
        data, indices, indptr = (np.asarray(x) for x in arg1)
        at = rows_of(indptr)
        n = int(shape[1 if format == "csr" else 0]) if shape is not None else int(np.max(indices)) + 1
        row, col = (at, indices) if format == "csr" else (indices, at)
        whole = (len(indptr) - 1, n) if format == "csr" else (n, len(indptr) - 1)
        out = merged(row, col, data, whole, format, product)
    elif isinstance(arg1, tuple):
        data, (row, col) = arg1
        data, row, col = np.asarray(data), np.asarray(row).astype(int), np.asarray(col).astype(int)
        if shape is not None and not (placed(row) and placed(col)):
            full = np.zeros((int(shape[0]), int(shape[1])), data.dtype)
            np.add.at(full, (row, col), data)
            return of_array(full, format, product)
        shape = (int(np.max(row)) + 1, int(np.max(col)) + 1) if shape is None else shape
        out = (
            Sparse(row, col, data, shape, format, product) if format == "coo" else merged(row, col, data, shape, format, product)
        )
    else:
        given = sparse_of(arg1, format, product)
        out = Sparse(given.row, given.col, given.data, given.shape, given.format, product, given.full).asformat(format)
    return out.copy() if dtype is None else out.astype(dtype)


@written("scipy.sparse.diags", always=True)
def diags(diagonals, offsets=0, shape=None, format=None, dtype=None):
    return _diagonals(diagonals, offsets, shape, format, dtype, True)


@written("scipy.sparse.diags_array", always=True)
def diags_array(diagonals, *, offsets=0, shape=None, format=None, dtype=None):
    return _diagonals(diagonals, offsets, shape, format, dtype, False)


def _diagonals(diagonals, offsets, shape, format, dtype, product):
    if np.ndim(offsets) == 0:
        offsets = [offsets]
        if not isinstance(diagonals, (list, tuple)) or np.ndim(diagonals[0]) == 0:
            diagonals = [diagonals]
    lines = [np.atleast_1d(np.asarray(d)) for d in diagonals]
    if shape is None:
        n = len(lines[0]) + abs(int(offsets[0]))
        shape = (n, n)
    row, col, data = [], [], []
    for line, k in zip(lines, offsets):
        k = int(k)
        n = max(0, min(shape[0] + min(k, 0), shape[1] - max(k, 0)))
        if len(line) != n and len(line) != 1:
            raise ValueError(
                f"Diagonal length (index {len(row)}: {len(line)} at offset {k}) does not agree with array size {shape}."
            )
        row.append(np.arange(n) - min(k, 0))
        col.append(np.arange(n) + max(k, 0))
        data.append(np.broadcast_to(line, (n,)) + 0.0 if dtype is None else np.broadcast_to(line, (n,)).astype(dtype))
    parts = np.concatenate(row), np.concatenate(col), np.concatenate(data)
    return merged(*parts, shape, "dia" if format is None else format, product)


@written("scipy.sparse.spdiags", always=True)
def spdiags(data, diags, m=None, n=None, format=None):
    """scipy.sparse.spdiags: column j of `data` is column j of the matrix."""
    data, offsets = np.atleast_2d(np.asarray(data)), np.atleast_1d(diags)
    m, n = (
        (m if n is not None else (len(data[0]), len(data[0])) if m is None else m)
        if isinstance(m, tuple) or n is None
        else (m, n)
    )
    row, col, out = [], [], []
    for i, k in enumerate(offsets):
        j = np.arange(max(0, int(k)), max(0, min(n, m + int(k), data.shape[1])))
        row.append(j - int(k))
        col.append(j)
        out.append(data[i][j])
    parts = np.concatenate(row), np.concatenate(col), np.concatenate(out)
    return merged(*parts, (m, n), "dia" if format is None else format, True)


@written("scipy.sparse.eye", always=True)
def eye(m, n=None, k=0, dtype=float, format=None):
    n = m if n is None else n
    size = max(0, min(m + min(k, 0), n - max(k, 0)))
    return diags([np.ones(size, dtype)], [k], shape=(m, n), format=format, dtype=dtype)


@written("scipy.sparse.eye_array", always=True)
def eye_array(m, n=None, *, k=0, dtype=float, format=None):
    return _as_array(eye(m, n, k, dtype, format))


@written("scipy.sparse.identity", always=True)
def identity(n, dtype="d", format=None):
    return eye(n, dtype=dtype, format=format)


def _as_array(a):
    return Sparse(a.row, a.col, a.data, a.shape, a.format, False, a.full)


@written("scipy.sparse.kron", always=True)
def kron(A, B, format=None):
    a, b = sparse_of(A), sparse_of(B)
    shape = (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])
    product = not (isinstance(A, Sparse) and not A.product or isinstance(B, Sparse) and not B.product)
    if a.full is not None or b.full is not None:
        return of_array(np.kron(a.toarray(), b.toarray()), format or "csr", product)
    row = (a.row[:, None] * b.shape[0] + b.row).reshape(-1)
    col = (a.col[:, None] * b.shape[1] + b.col).reshape(-1)
    return merged(row, col, (a.data[:, None] * b.data).reshape(-1), shape, format or "coo", product)


@written("scipy.sparse.kronsum", always=True)
def kronsum(A, B, format=None):
    return (kron(eye(B.shape[0]), A) + kron(B, eye(A.shape[0]))).asformat(format)


@written("scipy.sparse.bmat", "scipy.sparse.block_array", always=True)
def bmat(blocks, format=None, dtype=None):
    heights, widths = [0] * len(blocks), [0] * len(blocks[0])
    given = [[None if b is None else sparse_of(b) for b in line] for line in blocks]
    for i, line in enumerate(given):
        for j, b in enumerate(line):
            if b is not None:
                heights[i], widths[j] = b.shape
    row, col, data, product = [], [], [], True
    for i, line in enumerate(given):
        for j, b in enumerate(line):
            if b is None:
                continue
            b, product = _places(b), product and b.product
            row.append(b.row + sum(heights[:i]))
            col.append(b.col + sum(widths[:j]))
            data.append(b.data)
    parts = np.concatenate(row), np.concatenate(col), np.concatenate(data)
    out = merged(*parts, (sum(heights), sum(widths)), format or "coo", product)
    return out if dtype is None else out.astype(dtype)


def _places(a):
    """All places of a matrix that is held as an array."""
    if a.full is None:
        return a
    n, m = a.shape
    return Sparse(np.repeat(np.arange(n), m), np.tile(np.arange(m), n), a.full.reshape(-1), a.shape, a.format, a.product)


@written("scipy.sparse.vstack", always=True)
def vstack(blocks, format=None, dtype=None):
    return bmat([[b] for b in blocks], format or "csr", dtype)


@written("scipy.sparse.hstack", always=True)
def hstack(blocks, format=None, dtype=None):
    return bmat([list(blocks)], format or "csr", dtype)


@written("scipy.sparse.block_diag", always=True)
def block_diag(mats, format=None, dtype=None):
    n = len(mats)
    return bmat([[mats[i] if i == j else None for j in range(n)] for i in range(n)], format, dtype)


@written("scipy.sparse.tril", always=True)
def tril(A, k=0, format=None):
    return _part(sparse_of(A), -A.shape[0], k, format)


@written("scipy.sparse.triu", always=True)
def triu(A, k=0, format=None):
    return _part(sparse_of(A), k, A.shape[1], format)


def _part(a, low, high, format):
    a = _places(a)
    at = inside(a.row, a.col, low, high)
    return Sparse(a.row[at], a.col[at], a.data[at], a.shape, a.format, a.product).asformat(format)


@written("scipy.sparse.find", always=True)
def find(A):
    """scipy.sparse.find; with the zeros that the matrix holds, where its places are known."""
    once = sparse_of(A).once()
    if once.full is not None:
        row, col = np.nonzero(once.full)
        return row, col, once.full[row, col]
    return once.row, once.col, once.data


@written("scipy.sparse.issparse", "scipy.sparse.isspmatrix", always=True)
def issparse(x):
    """Is it one?"""
    return isinstance(x, Sparse)


@written("scipy.sparse.isspmatrix_csr", always=True)
def isspmatrix_csr(x):
    """Is it one of this format?"""
    return isinstance(x, Sparse) and x.format == "csr"


@written("scipy.sparse.isspmatrix_csc", always=True)
def isspmatrix_csc(x):
    """Is it one of this format?"""
    return isinstance(x, Sparse) and x.format == "csc"
