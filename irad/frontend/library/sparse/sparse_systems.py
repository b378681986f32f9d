"""scipy.sparse.linalg: systems of sparse matrices.

They are solved by LU factors within a band, in the order of Cuthill and McKee (1969); where the band is wide, as dense ones. A solution
has derivatives of first and second order.
"""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.library.calculus import constant, first_guess
from irad.frontend.library.sparse.sparse import Sparse, of_array, sparse_of
from irad.frontend.library.sparse.sparse_places import band
from irad.frontend.registry import written

_STEPS = 2  # of Newton, from a solution that is constant for derivatives: each makes one more order right


def _factors(row, col, data, n, low, high):
    """LU factors with exchanged rows: row i holds columns i - low to i + low + high, and what multiplies pivots."""
    w, exchanged = np.zeros((n, 2 * low + high + 1), data.dtype), np.zeros(n, int)
    np.add.at(w, (row, col - row + low), data)
    for k in range(n):
        p, largest = k, np.abs(w[k, low])
        last = min(k + low + 1, n)
        for i in range(k + 1, last):
            if np.abs(w[i, k - i + low]) > largest:
                p, largest = i, np.abs(w[i, k - i + low])
        exchanged[k] = p
        stop = min(k + low + high + 1, n)
        if p != k:
            for j in range(k, stop):
                t = w[k, j - k + low]
                w[k, j - k + low] = w[p, j - p + low]
                w[p, j - p + low] = t
        for i in range(k + 1, last):
            f = w[i, k - i + low] / w[k, low]
            w[i, k - i + low] = f
            for j in range(k + 1, stop):
                w[i, j - i + low] -= f * w[k, j - k + low]
    return w, exchanged


def _solved(w, exchanged, low, high, b):
    """The solution by such factors, for all columns of b."""
    n, width = len(w), low + high
    x = b.copy()
    for k in range(n):
        p = exchanged[k]
        t = x[k].copy()
        x[k] = x[p]
        x[p] = t
        for i in range(k + 1, min(k + low + 1, n)):
            x[i] -= w[i, k - i + low] * x[k]
    for m in range(n):
        k = n - 1 - m
        for j in range(k + 1, min(k + width + 1, n)):
            x[k] -= w[k, j - k + low] * x[j]
        x[k] = x[k] / w[k, low]
    return x


class Factors:
    """What splu and its like give."""

    def __init__(self, A):
        a = sparse_of(A)
        if a.shape[0] != a.shape[1]:
            raise ValueError(f"matrix must be square (has shape {a.shape})")
        self.matrix, self.shape, self.order = a, a.shape, None
        if a.full is None:
            self.order, row, col, low, high = band(a.row, a.col, a.shape[0])
        if self.order is not None:
            self.low, self.high = low, high
            self.w, self.exchanged = _factors(row, col, constant(a.data) + 0.0, a.shape[0], low, high)
        else:
            self.dense = a.toarray()

    def solve(self, rhs, trans="N"):
        """The solution of A x = rhs."""
        if trans != "N":
            return Factors(self.matrix.T if trans == "T" else self.matrix.H).solve(rhs)
        b = rhs.toarray() if isinstance(rhs, Sparse) else np.asarray(rhs)
        b = b + (self.matrix.data if self.order is not None else self.dense).dtype.type(0) + 0.0
        if self.order is None:
            return np.linalg.solve(self.dense, b)
        flat = b.reshape((self.shape[0], -1))
        x = self._by_factors(first_guess(flat, _STEPS, "the solution of a sparse system"))
        for _ in range(_STEPS):
            x = x + self._by_factors(flat - self.matrix.applied(x))
        return x.reshape(b.shape)

    def _by_factors(self, b):
        out = np.zeros(b.shape, np.result_type(self.w, b))
        out[self.order] = _solved(self.w, self.exchanged, self.low, self.high, b[self.order] + self.w.dtype.type(0))
        return out


@written("scipy.sparse.linalg.splu", always=True)
def splu(A, *args, **options):
    return Factors(A)


@written("scipy.sparse.linalg.factorized", always=True)
def factorized(A):
    return Factors(A).solve


@written("scipy.sparse.linalg.spsolve", always=True)
def spsolve(A, b, permc_spec=None, use_umfpack=True):
    if isinstance(b, Sparse):
        x = Factors(A).solve(b)
        return x.reshape(-1) if b.shape[1] == 1 else of_array(x, "csc", A.product)
    b = np.asarray(b)
    x = Factors(A).solve(b)
    return x.reshape(-1) if b.ndim == 2 and b.shape[1] == 1 else x


@written("scipy.sparse.linalg.spsolve_triangular", always=True)
def spsolve_triangular(A, b, lower=True, overwrite_A=False, overwrite_b=False, unit_diagonal=False):
    if unit_diagonal:
        raise UnsupportedError("spsolve_triangular(unit_diagonal=True)")
    return Factors(A).solve(b)


class Operator:
    """What LinearOperator gives: a matrix by what it makes of vectors."""

    def __init__(self, shape, matvec, rmatvec, dtype):
        self.shape, self.matvec, self.rmatvec, self.dtype = tuple(shape), matvec, rmatvec, dtype

    def dot(self, x):
        return self.matvec(x) if np.ndim(x) == 1 else np.stack([self.matvec(c) for c in np.asarray(x).T], axis=1)

    matmat = __matmul__ = __mul__ = __call__ = dot

    def toarray(self):
        """The matrix itself: its columns are what becomes of unit vectors."""
        units = np.eye(self.shape[1])
        first = np.ravel(self.matvec(units[0]))
        out = np.zeros(self.shape, first.dtype)
        for k in range(self.shape[1]):
            out[:, k] = np.ravel(self.matvec(units[k]))
        return out


@written("scipy.sparse.linalg.LinearOperator", always=True)
def LinearOperator(shape, matvec, rmatvec=None, matmat=None, dtype=None, rmatmat=None):
    """scipy.sparse.linalg.LinearOperator."""
    return Operator(shape, matvec, rmatvec, dtype)


@written(
    "scipy.sparse.linalg.cg",
    "scipy.sparse.linalg.bicg",
    "scipy.sparse.linalg.bicgstab",
    "scipy.sparse.linalg.cgs",
    "scipy.sparse.linalg.gmres",
    "scipy.sparse.linalg.lgmres",
    "scipy.sparse.linalg.minres",
    "scipy.sparse.linalg.qmr",
    always=True,
)
def cg(A, b, x0=None, *args, **options):
    """The solution itself, whatever the method and its tolerance."""
    return (np.linalg.solve(A.toarray(), b) if isinstance(A, Operator) else Factors(A).solve(b)), 0


@written("scipy.sparse.linalg.norm", always=True)
def norm(x, ord=None, axis=None):
    """scipy.sparse.linalg.norm: Frobenius', or of the dense matrix."""
    if ord is None and axis is None and x.full is None:
        return np.sqrt(np.sum(np.abs(x.once().data) ** 2))
    return np.linalg.norm(x.toarray(), ord, axis)


@written("scipy.sparse.linalg.eigsh", always=True)
def eigsh(A, k=6, M=None, sigma=None, which="LM", v0=None, return_eigenvectors=True, **options):
    """scipy.sparse.linalg.eigsh: k of all eigenvalues, those of the dense matrix."""
    if M is not None:
        raise UnsupportedError("eigsh of a pair of matrices; use scipy.linalg.eigh")
    values, vectors = np.linalg.eigh(A.toarray() if isinstance(A, Sparse) else np.asarray(A))
    size = (
        {"LM": -np.abs(values), "SM": np.abs(values), "LA": -values, "SA": values}[which]
        if sigma is None
        else np.abs(values - sigma)
    )
    at = np.sort(np.argsort(size)[:k])
    return (values[at], vectors[:, at]) if return_eigenvectors else values[at]
