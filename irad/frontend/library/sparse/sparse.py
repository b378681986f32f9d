"""scipy.sparse: matrices whose places are known and whose numbers the program computes.

A matrix is three arrays, rows, columns and numbers, in the order of its format; where its places are not known at compile time (`lil_matrix`
and `dok_matrix` that are filled, a dense array that was computed) it is an array.
"""

import numpy as np

from irad.core.once import import_later
from irad.errors import UnsupportedError
from irad.frontend.library.sparse.sparse_places import inside, merge, pairs, picked, placed, totals
from irad.frontend.registry import known

DENSE = ("lil", "dok")  # formats that are held as arrays once they are filled


class Sparse:
    """A sparse matrix or array. `product`: is `*` the matrix product, as of `csr_matrix`, and not elementwise, as of `csr_array`?"""

    __array_priority__ = 10.1
    __array_ufunc__ = None
    ndim = 2
    compared = False  # is it what a comparison gives, of which SciPy keeps what is True?
    __hash__ = object.__hash__

    def __init__(self, row, col, data, shape, format, product, full=None, outside=False):
        self.row, self.col, self.data, self.shape = row, col, data, (int(shape[0]), int(shape[1]))
        self.format, self.product, self.full, self.outside = format, product, full, outside

    def shown_class(self):
        """The class of SciPy's that it is."""
        return getattr(import_later("scipy.sparse"), f"{self.format}_{'matrix' if self.product else 'array'}")

    # ---- what it holds

    @property
    def dtype(self):
        return self.data.dtype if self.full is None else self.full.dtype

    @property
    def nnz(self):
        if self.compared:
            return np.count_nonzero(self.data if self.full is None else self.full)
        if self.full is not None:
            raise UnsupportedError("nnz of a sparse matrix whose places depend on data")
        return len(self.row)

    size = nnz

    def getnnz(self):
        return self.nnz

    def nonzero(self):
        """Rows and columns of the numbers that are not zero."""
        if self.full is not None:
            return np.nonzero(self.full)
        once = self.once()
        kept = once.data != 0
        placed(kept)
        return once.row[kept], once.col[kept]

    @property
    def indices(self):
        return self.col if self.format == "csr" else self.row

    @property
    def indptr(self):
        n, at = (self.shape[0], self.row) if self.format == "csr" else (self.shape[1], self.col)
        return np.concatenate((np.zeros(1, int), np.cumsum(np.bincount(at, minlength=n))))

    def toarray(self):
        if self.full is not None:
            return self.full.copy()
        out = np.zeros(self.shape, self.data.dtype)
        if self.compared:
            out[self.row, self.col] = self.data
        else:
            np.add.at(out, (self.row, self.col), self.data)
        return out

    @property
    def A(self):  # noqa: N802
        return self.toarray()

    def todense(self):
        return np.asmatrix(self.toarray()) if self.product else self.toarray()

    def diagonal(self, k=0):
        if self.full is not None:
            return np.diagonal(self.full, k).copy()
        n = max(0, min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0)))
        out, at = np.zeros(n, self.data.dtype), inside(self.row, self.col, k, k)
        np.add.at(out, self.row[at] + min(k, 0), self.data[at])
        return out

    def trace(self):
        return np.sum(self.diagonal())

    def sum(self, axis=None):
        if axis is None:
            return np.sum(self.data if self.full is None else self.full)
        out = self.T.applied(np.ones(self.shape[0])) if axis in (0, -2) else self.applied(np.ones(self.shape[1]))
        return np.asmatrix(out[None, :] if axis in (0, -2) else out[:, None]) if self.product else out

    def mean(self, axis=None):
        total = self.sum(axis)
        return total / (self.shape[0] * self.shape[1] if axis is None else self.shape[0] if axis in (0, -2) else self.shape[1])

    # ---- other forms

    def _like(self, data):
        return Sparse(self.row, self.col, data, self.shape, self.format, self.product)

    def _each(self, f):
        """f of its numbers, where f(0) = 0."""
        return self._like(f(self.data)) if self.full is None else of_array(f(self.full), self.format, self.product)

    def once(self):
        """With one number at each place."""
        return self if self.full is not None else merged(self.row, self.col, self.data, self.shape, self.format, self.product)

    def copy(self):
        return self._each(lambda x: x.copy())

    def astype(self, dtype):
        return self._each(lambda x: x.astype(dtype))

    def conj(self):
        return self._each(np.conj)

    conjugate = conj

    @property
    def real(self):
        return self._each(np.real)

    @property
    def imag(self):
        return self._each(np.imag)

    def asformat(self, format, copy=False):
        if format is None or format == self.format:
            return self
        if self.full is not None or format in DENSE:
            return Sparse(None, None, None, self.shape, format, self.product, self.toarray())
        return merged(self.row, self.col, self.data, self.shape, format, self.product)

    def tocsr(self, copy=False):
        return self.asformat("csr")

    def tocsc(self, copy=False):
        return self.asformat("csc")

    def tocoo(self, copy=False):
        return self.asformat("coo")

    def tolil(self, copy=False):
        return self.asformat("lil")

    def todok(self, copy=False):
        return self.asformat("dok")

    def todia(self, copy=False):
        return self.asformat("dia")

    def tobsr(self, blocksize=None, copy=False):
        return self.asformat("bsr")

    def sum_duplicates(self):
        """They are summed."""

    def sort_indices(self):
        """They are in order."""

    def eliminate_zeros(self):
        """Which numbers are zero, data decide: they stay."""

    def prune(self):
        """There is nothing to cut."""

    @property
    def T(self):  # noqa: N802
        return self.transpose()

    @property
    def H(self):  # noqa: N802
        return self.transpose().conj()

    def transpose(self):
        turned = {"csr": "csc", "csc": "csr"}.get(self.format, self.format)
        if self.full is not None:
            return of_array(self.full.T, turned, self.product)
        return Sparse(self.col, self.row, self.data, (self.shape[1], self.shape[0]), turned, self.product)

    def reshape(self, *shape):
        raise UnsupportedError("reshape of a sparse matrix")

    # ---- arithmetic

    def applied(self, x):
        """The product with a vector, or with the columns of an array."""
        if self.full is not None:
            return self.full @ x
        x = np.asarray(x)
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ValueError("dimension mismatch")
        out = np.zeros((self.shape[0],) + x.shape[1:], np.result_type(self.data, x))
        np.add.at(out, self.row, (self.data if x.ndim == 1 else self.data[:, None]) * x[self.col])
        return out

    def dot(self, other):
        if isinstance(other, Sparse):
            return self._times(other)
        return self * other if np.ndim(other) == 0 else self.applied(other)

    def _times(self, other):
        if self.shape[1] != other.shape[0]:
            raise ValueError("inconsistent shapes")
        if self.full is not None or other.full is not None:
            return of_array(self.applied(other.toarray()), self.format, self.product)
        i, j = pairs(self.col, other.row)
        shape = (self.shape[0], other.shape[1])
        return merged(self.row[i], other.col[j], self.data[i] * other.data[j], shape, _result(self.format), self.product)

    def __matmul__(self, other):
        if not isinstance(other, Sparse) and np.ndim(other) == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self.dot(other)

    def __rmatmul__(self, other):
        return self.T.applied(np.asarray(other).T).T

    def __mul__(self, other):
        if isinstance(other, Sparse):
            return self._times(other) if self.product else self.multiply(other)
        if np.ndim(other) == 0:
            return self._each(lambda x: x * other)
        return self.applied(other) if self.product else self.multiply(other)

    def __rmul__(self, other):
        if np.ndim(other) == 0 or not self.product:
            return self * other
        return self.__rmatmul__(other)

    def multiply(self, other):
        """Elementwise; with an array it is one in the places of this."""
        if not isinstance(other, Sparse):
            other = np.broadcast_to(np.asarray(other), self.shape)
            if self.full is not None:
                return of_array(self.full * other, self.format, self.product)
            return self._like(self.data * other[self.row, self.col])
        if self.full is not None or other.full is not None:
            return of_array(self.toarray() * other.toarray(), self.format, self.product)
        n = self.shape[1]
        i, j = pairs(self.row * n + self.col, other.row * n + other.col)
        return merged(self.row[i], self.col[i], self.data[i] * other.data[j], self.shape, _result(self.format), self.product)

    def power(self, n, dtype=None):
        return self.once()._each(lambda x: x**n)

    def __pow__(self, n):
        if not self.product:
            return self.power(n)
        at = np.arange(self.shape[0])
        out = Sparse(at, at, np.ones(len(at), self.dtype), self.shape, self.format, True)
        for _ in range(n):
            out = out._times(self)
        return out

    def __truediv__(self, other):
        if isinstance(other, Sparse) or np.ndim(other):
            raise UnsupportedError("a sparse matrix divided by a matrix; divide the numbers in it (.data)")
        return self._each(lambda x: x / other)

    def __neg__(self):
        return self._each(lambda x: -x)

    def __abs__(self):
        return self.once()._each(np.abs)

    def __add__(self, other):
        if not isinstance(other, Sparse):
            if np.ndim(other) == 0 and known(other) and other == 0:  # as sum() begins
                return self.copy()
            if np.ndim(other) == 0:
                raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
            return (self.todense() if self.product else self.toarray()) + other
        if self.shape != other.shape:
            raise ValueError("inconsistent shapes")
        if self.full is not None or other.full is not None:
            return of_array(self.toarray() + other.toarray(), self.format, self.product)
        ends = [np.concatenate((a, b)) for a, b in ((self.row, other.row), (self.col, other.col), (self.data, other.data))]
        return merged(*ends, self.shape, _result(self.format), self.product)

    def __radd__(self, other):
        return self + other

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return (-self) + other

    def _compared(self, other, test):
        """Which elements pass a test beside those of a matrix, or beside a number."""
        if not isinstance(other, Sparse):
            if np.ndim(other) or not known(other):
                raise UnsupportedError(
                    "a sparse matrix compared with an array, or a computed number; compare its numbers (.data) or A.toarray()"
                )
            a = self.once()
            out = of_array(test(a.toarray(), other), a.format, a.product) if test(0, other) else a._each(lambda x: test(x, other))
        elif self.shape != other.shape:
            raise ValueError("inconsistent shapes")
        elif test(0, 0) or self.full is not None or other.full is not None:
            out = of_array(test(self.toarray(), other.toarray()), self.format, self.product)
        else:
            a, b = self + 0 * other, 0 * self + other
            out = a._like(test(a.data, b.data))
        out.compared = True
        return out

    def __eq__(self, other):
        if isinstance(other, Sparse) and self.shape != other.shape:
            return False
        return self._compared(other, np.equal)

    def __ne__(self, other):
        if isinstance(other, Sparse) and self.shape != other.shape:
            return True
        return self._compared(other, np.not_equal)

    def __lt__(self, other):
        return self._compared(other, np.less)

    def __le__(self, other):
        return self._compared(other, np.less_equal)

    def __gt__(self, other):
        return self._compared(other, np.greater)

    def __ge__(self, other):
        return self._compared(other, np.greater_equal)

    # ---- parts

    def __getitem__(self, key):
        if self.full is not None:
            out = self.full[key]
            if np.ndim(out) == 1 and self.product:
                out = (
                    out[None, :]
                    if np.ndim(np.empty(self.shape[0])[key[0] if isinstance(key, tuple) else key]) == 0
                    else out[:, None]
                )
            return out if np.ndim(out) == 0 else of_array(out, self.format, self.product) if np.ndim(out) == 2 else out
        found = picked(self.row, self.col, self.shape, key, self.product)
        if len(found) == 1:
            return np.sum(self.data[found[0]])
        at, row, col, shape = found
        if len(shape) == 1:
            out = np.zeros(shape, self.data.dtype)
            np.add.at(out, row, self.data[at])
            return out
        return Sparse(row, col, self.data[at], shape, "csr" if self.format in DENSE else self.format, self.product)

    def getrow(self, i):
        return self[i : i + 1, :] if i != -1 else self[-1:, :]

    def getcol(self, j):
        return self[:, j : j + 1] if j != -1 else self[:, -1:]

    def _filled(self):
        """The array that stores go to."""
        if self.outside:
            raise UnsupportedError("a store into a sparse matrix from outside; copy it (A = A.copy()), and store into the copy")
        if self.full is None:
            self.full = self.toarray()
            self.row = self.col = self.data = None
        return self.full

    def __setitem__(self, key, value):
        self._filled()[key] = value.toarray() if isinstance(value, Sparse) else value

    def setdiag(self, values, k=0):
        n = max(0, min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0)))
        at = np.arange(n)
        self._filled()[at - min(k, 0), at + max(k, 0)] = values


def _result(format):
    return "csc" if format == "csc" else "csr"


def merged(row, col, data, shape, format, product):
    """A matrix of numbers at places, those at one place added, in the order of the format."""
    at, row, col = merge(row, col, shape, format == "csc")
    if at is None:  # they are in order
        return Sparse(row, col, data, shape, format, product)
    if known(data):
        return Sparse(row, col, totals(at, data, len(row)), shape, format, product)
    out = np.zeros(len(row), data.dtype)
    np.add.at(out, at, data)
    return Sparse(row, col, out, shape, format, product)


def of_array(x, format, product):
    """A matrix that is held as an array."""
    return Sparse(None, None, None, x.shape, format, product, x)


def sparse_of(x, format="csr", product=True):
    """A matrix as it is; of a dense one, the numbers that are not zero if they are known."""
    if isinstance(x, Sparse):
        return x
    x = np.asarray(x)
    x = x if x.ndim == 2 else x.reshape(1, -1)
    if not known(x):
        return of_array(x, format, product)
    row, col = np.nonzero(x)
    return Sparse(row, col, x[row, col], x.shape, format, product)
