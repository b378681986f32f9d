"""numpy.linalg of matrices of which data decide how many rows there are: each in the corner of one of known size, the rest of which is
an identity, or zero, so that it changes nothing. `most` is that size."""

import numpy as np

from irad.frontend.library.calculus import constant

NOT_SQUARE = "Last 2 dimensions of the array must be square"


def _dtype(a):
    """That in which numpy.linalg computes."""
    return a.dtype if a.dtype.kind in "fc" else np.dtype(np.float64)


def _with_corner(whole, a):
    if a.shape[0] != a.shape[1]:
        raise np.linalg.LinAlgError(NOT_SQUARE)
    whole[: a.shape[0], : a.shape[1]] = a
    return whole


def _in_corner(a, most):
    return _with_corner(np.eye(most, dtype=_dtype(a)), a)


def solve(most, a, b):
    """np.linalg.solve."""
    if b.shape[0] != a.shape[0]:
        raise ValueError("solve: the right side does not fit the matrix")
    return np.linalg.solve(_in_corner(a, most), _among_zeros(most, b))[: b.shape[0]]


def inv(most, a):
    """np.linalg.inv."""
    return np.linalg.inv(_in_corner(a, most))[: a.shape[0], : a.shape[1]]


def det(most, a):
    """np.linalg.det."""
    return np.linalg.det(_in_corner(a, most))


def slogdet(most, a):
    """np.linalg.slogdet."""
    return np.linalg.slogdet(_in_corner(a, most))


def cholesky(most, a, *, upper=False):
    """np.linalg.cholesky."""
    return np.linalg.cholesky(_in_corner(a, most), upper=upper)[: a.shape[0], : a.shape[1]]


def _among_zeros(most, x):
    whole = np.zeros((most,) + x.shape[1:], _dtype(x))
    whole[: x.shape[0]] = x
    return whole


def pinv(most, a, rcond=None, hermitian=False, *, rtol=None):
    """np.linalg.pinv."""
    wide = np.zeros((most, most), _dtype(a))
    wide[: a.shape[0], : a.shape[1]] = a
    near = 1e-15 if rcond is None and rtol is None else rcond if rtol is None else rtol
    return np.linalg.pinv(wide, near, hermitian)[: a.shape[1], : a.shape[0]]


def lstsq(most, a, b, rcond=None):
    """np.linalg.lstsq of more rows than columns."""
    if a.shape[0] <= a.shape[1]:
        raise ValueError(
            "np.linalg.lstsq in compiled code, of a number of rows that data decide: it must be above that of columns"
        )
    rcond = np.finfo(_dtype(a)).eps * most if rcond is None else rcond
    return np.linalg.lstsq(_among_zeros(most, a), _among_zeros(most, b), rcond)


def _below_others(most, a):
    """In the corner, with eigenvalues on the rest of the diagonal that are larger than all of `a`, and differ."""
    rows = np.arange(most)
    size = constant(np.sum(np.abs(a)) + 1.0)
    others = np.where(rows >= a.shape[0], size * (1.0 + rows / most), 0.0)
    return _with_corner(np.diag(others).astype(_dtype(a)), a)


def eigvalsh(most, a, UPLO="L"):
    """np.linalg.eigvalsh."""
    return np.linalg.eigvalsh(_below_others(most, a), UPLO)[: a.shape[0]]


def eigh(most, a, UPLO="L"):
    """np.linalg.eigh."""
    found = np.linalg.eigh(_below_others(most, a), UPLO)
    return type(found)(found[0][: a.shape[0]], found[1][: a.shape[0], : a.shape[0]])


FUNCTIONS = {
    np.linalg.solve: solve, np.linalg.inv: inv, np.linalg.det: det, np.linalg.slogdet: slogdet, np.linalg.cholesky: cholesky,
    np.linalg.pinv: pinv, np.linalg.lstsq: lstsq, np.linalg.eigvalsh: eigvalsh, np.linalg.eigh: eigh,
}  # fmt: skip
