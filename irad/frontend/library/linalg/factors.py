"""scipy.linalg: factors, bases, eigenvalues, systems of a form, and more functions of matrices."""

import numpy as np
from scipy import linalg

from irad.errors import UnsupportedError
from irad.frontend.library.calculus import constant
from irad.frontend.library.linalg.matrices import cosm, logm, sinm, toeplitz
from irad.frontend.registry import written


def _matrix(a, square=False):
    a = np.asarray(a)
    if a.ndim != 2 or square and a.shape[0] != a.shape[1]:
        raise ValueError("expected square matrix" if square else "expected matrix")
    return a if a.dtype.kind in "fc" else a.astype(np.float64)


# ---- LU ----------------------------------------------------------------------------------------------------------------------------------


def _order(swaps, n):
    """The rows in the order in which the factors have them."""
    rows = np.arange(n)
    for k in range(len(swaps)):
        j = swaps[k]
        first, other = rows[k], rows[j]
        rows[k], rows[j] = other, first
    return rows


@written("scipy.linalg.lu")
def lu(a, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    """scipy.linalg.lu of one matrix; LinAlgError for one that has more rows than columns and dependent columns."""
    a = _matrix(a)
    m, n = a.shape
    if m > n:
        _, swaps = linalg.lu_factor(constant(np.concatenate((a, np.zeros((m, m - n), a.dtype)), axis=1)))
        rows = _order(swaps, m)
        top, _ = linalg.lu_factor(a[rows[:n]])
        upper = np.triu(top)
        rest = linalg.solve_triangular(upper, a[rows[n:]].T, trans="T").T
        lower = np.concatenate((np.tril(top, -1) + np.eye(n), rest))
    else:
        factors, swaps = linalg.lu_factor(a[:, :m])
        rows = _order(swaps, m)
        lower, upper = np.tril(factors, -1) + np.eye(m), np.triu(factors)
        if n > m:
            rest = linalg.solve_triangular(lower, a[rows][:, m:], lower=True, unit_diagonal=True)
            upper = np.concatenate((upper, rest), axis=1)
    back = np.argsort(rows)
    if permute_l:
        return lower[back], upper
    if p_indices:
        return back.astype(np.int32), lower, upper
    return np.eye(m, dtype=np.finfo(a.dtype).dtype)[back], lower, upper


# ---- bases ---------------------------------------------------------------------------------------------------------------------------------


def _rank(s, shape, rcond):
    share = np.finfo(s.dtype).eps * max(shape) if rcond is None else rcond
    return np.sum(s > np.max(s) * share)


@written("scipy.linalg.orth")
def orth(A, rcond=None):
    A = _matrix(A)
    u, s, _ = np.linalg.svd(A, full_matrices=False)
    return u[:, : _rank(s, A.shape, rcond)]


@written("scipy.linalg.null_space")
def null_space(A, rcond=None, *, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    A = _matrix(A)
    _, s, vh = np.linalg.svd(A)
    return np.conj(vh[_rank(s, A.shape, rcond) :].T)


@written("scipy.linalg.subspace_angles")
def subspace_angles(A, B):
    """scipy.linalg.subspace_angles of matrices whose columns are independent.

    A. Knyazev and M. Argentati (2002): from cosines above pi/4, from sines below.
    """
    A, B = np.linalg.qr(_matrix(A))[0], np.linalg.qr(_matrix(B))[0]
    if A.shape[0] != B.shape[0]:
        raise ValueError(f"A and B must have the same number of rows, got {A.shape[0]} and {B.shape[0]}")
    both = np.conj(A.T) @ B
    cosines = np.linalg.svd(both, compute_uv=False)
    beside = B - A @ both if A.shape[1] >= B.shape[1] else A - B @ np.conj(both.T)
    sines = np.linalg.svd(beside, compute_uv=False)[::-1]
    sines = sines[: len(cosines)]
    steep = cosines**2 < 0.5
    angles = np.where(steep, np.arccos(np.where(steep, cosines, 0.0)), np.arcsin(np.where(steep, 0.0, np.clip(sines, -1.0, 1.0))))
    return angles[::-1]


@written("scipy.linalg.orthogonal_procrustes")
def orthogonal_procrustes(A, B, check_finite=True):
    """scipy.linalg.orthogonal_procrustes: (R, scale)."""
    A, B = _matrix(A), _matrix(B)
    if A.shape != B.shape:
        raise ValueError(f"the shapes of A and B differ ({A.shape} vs {B.shape})")
    u, w, vt = np.linalg.svd(np.conj(A.T) @ B)
    return u @ vt, np.sum(w)


# ---- eigenvalues -----------------------------------------------------------------------------------------------------------------------------


@written("scipy.linalg.eig")
def eig(a, b=None, left=False, right=True, **options):
    """scipy.linalg.eig: eigenvalues, and eigenvectors on the right, as complex numbers."""
    if left or options.get("homogeneous_eigvals"):
        raise UnsupportedError("scipy.linalg.eig with left=True: call it for the conjugate transpose")
    a = _matrix(a, True) if b is None else np.linalg.solve(_matrix(b, True), _matrix(a, True))
    if not right:
        return np.linalg.eigvals(a) + 0j
    w, v = np.linalg.eig(a)
    return w + 0j, v


@written("scipy.linalg.eigvals")
def eigvals(a, b=None, **options):
    """scipy.linalg.eigvals, as complex numbers."""
    return eig(a, b, right=False, **options)


def _symmetric_band(ab, lower):
    """The matrix of which a band above the diagonal, or below it, is given."""
    ab = np.asarray(ab)
    u, n = ab.shape[0] - 1, ab.shape[1]
    out = np.zeros((n, n), ab.dtype)
    for d in range(u + 1):
        line = ab[d, : n - d] if lower else ab[u - d, d:]
        out = out + (np.diag(line, -d) if lower else np.diag(line, d))
        if d:
            out = out + (np.diag(np.conj(line), d) if lower else np.diag(np.conj(line), -d))
    return out


def _all_of_them(select):
    if select not in ("a", "all", 0):
        raise UnsupportedError("scipy.linalg: all eigenvalues (select='a'); select from the result")


@written("scipy.linalg.eig_banded")
def eig_banded(a_band, lower=False, eigvals_only=False, overwrite_a_band=False, select="a", **options):
    """scipy.linalg.eig_banded, all eigenvalues, of the dense matrix."""
    _all_of_them(select)
    a = _symmetric_band(a_band, lower)
    return np.linalg.eigvalsh(a) if eigvals_only else tuple(np.linalg.eigh(a))


@written("scipy.linalg.eigvals_banded")
def eigvals_banded(a_band, lower=False, overwrite_a_band=False, select="a", **options):
    """scipy.linalg.eigvals_banded, all eigenvalues, of the dense matrix."""
    return eig_banded(a_band, lower, True, False, select)


@written("scipy.linalg.eigh_tridiagonal")
def eigh_tridiagonal(d, e, eigvals_only=False, select="a", **options):
    """scipy.linalg.eigh_tridiagonal, all eigenvalues, of the dense matrix."""
    _all_of_them(select)
    a = np.diag(np.asarray(d) + 0.0) + np.diag(np.asarray(e) + 0.0, -1) + np.diag(np.asarray(e) + 0.0, 1)
    return np.linalg.eigvalsh(a) if eigvals_only else tuple(np.linalg.eigh(a))


@written("scipy.linalg.eigvalsh_tridiagonal")
def eigvalsh_tridiagonal(d, e, select="a", **options):
    """scipy.linalg.eigvalsh_tridiagonal, all eigenvalues, of the dense matrix."""
    return eigh_tridiagonal(d, e, True, select)


@written("scipy.linalg.pinvh")
def pinvh(a, atol=None, rtol=None, lower=True, return_rank=False, check_finite=True):
    """scipy.linalg.pinvh: the pseudo-inverse of a Hermitian matrix, of which one triangle is read."""
    a = _matrix(a, True)
    if np.ndim(atol) or np.ndim(rtol):
        raise UnsupportedError("scipy.linalg.pinvh: atol= and rtol= are numbers")
    part, beyond = (np.tril(a), np.tril(a, -1)) if lower else (np.triu(a), np.triu(a, 1))
    whole = part + np.conj(beyond.T)
    sizes = np.abs(np.linalg.eigvalsh(whole))
    most = np.max(sizes)
    if rtol is None:
        rtol = max(a.shape) * np.finfo(sizes.dtype).eps if atol is None else 0.0
    out = np.linalg.pinv(whole, rtol if atol is None else rtol + atol / most)
    return (out, np.sum(sizes > (0.0 if atol is None else atol) + most * rtol)) if return_rank else out


@written("scipy.linalg.hessenberg")
def hessenberg(a, calc_q=False, overwrite_a=False, check_finite=True):
    """scipy.linalg.hessenberg of a real matrix, by Householder's reflections as LAPACK makes them."""
    h = _matrix(a, True)
    if h.dtype.kind == "c":
        raise UnsupportedError("scipy.linalg.hessenberg of a complex matrix")
    n = len(h)
    q = np.eye(n, dtype=h.dtype)
    for k in range(n - 2):
        x = np.where(np.arange(n) > k, h[:, k], 0.0)
        below = np.sum(np.where(np.arange(n) > k + 1, x * x, 0.0))
        if below > 0:
            alpha = x[k + 1]
            beta = -np.copysign(np.sqrt(alpha * alpha + below), alpha)
            v = np.where(np.arange(n) == k + 1, 1.0, x / (alpha - beta))
            tau = (beta - alpha) / beta
            h = h - tau * np.outer(v, v @ h)
            h = h - tau * np.outer(h @ v, v)
            h = np.where((np.arange(n)[:, None] > k + 1) & (np.arange(n) == k), 0.0, h)
            q = q - tau * np.outer(q @ v, v)
    return (h, q) if calc_q else h


# ---- systems of a form ----------------------------------------------------------------------------------------------------------------------------


@written("scipy.linalg.solve_toeplitz")
def solve_toeplitz(c_or_cr, b, check_finite=True):
    """scipy.linalg.solve_toeplitz, as a dense system."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return np.linalg.solve(toeplitz(np.asarray(c) * 1.0, None if r is None else np.asarray(r) * 1.0), np.asarray(b))


@written("scipy.linalg.matmul_toeplitz")
def matmul_toeplitz(c_or_cr, x, check_finite=False, workers=None):
    """scipy.linalg.matmul_toeplitz, by Fourier transforms."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    c, x = np.ravel(c), np.asarray(x)
    r = np.conj(c) if r is None else np.ravel(r)
    columns = x.reshape((len(x), -1))
    whole, n = np.concatenate((c, r[:0:-1])), len(c) + len(r) - 1
    if np.iscomplexobj(whole) or np.iscomplexobj(x):
        out = np.fft.ifft(np.fft.fft(whole)[:, None] * np.fft.fft(columns, n, axis=0), axis=0)
    else:
        out = np.fft.irfft(np.fft.rfft(whole)[:, None] * np.fft.rfft(columns, n, axis=0), n, axis=0)
    return out[: len(c)].reshape((len(c),) + x.shape[1:])


@written("scipy.linalg.solve_circulant")
def solve_circulant(c, b, singular="raise", tol=None, caxis=-1, baxis=0, outaxis=0):
    """scipy.linalg.solve_circulant of one matrix; LinAlgError, or with singular="lstsq" the least squares."""
    c, b = np.atleast_1d(np.asarray(c)), np.atleast_1d(np.asarray(b))
    if c.ndim != 1 or baxis != 0 or outaxis != 0:
        raise UnsupportedError("scipy.linalg.solve_circulant: one matrix, and the axes 0")
    fc = np.fft.fft(c)
    size = np.abs(fc)
    near = size <= (np.max(size) * np.finfo(np.float64).eps * len(c) if tol is None else tol)
    if singular == "raise" and np.any(near):
        raise np.linalg.LinAlgError("near singular circulant matrix.")
    columns = b.reshape((len(b), -1))
    q = np.fft.fft(columns, axis=0) / np.where(near, 1.0, fc)[:, None]
    x = np.fft.ifft(np.where(near[:, None], 0.0, q), axis=0).reshape(b.shape)
    return x if np.iscomplexobj(c) or np.iscomplexobj(b) else x.real


@written("scipy.linalg.cholesky_banded")
def cholesky_banded(ab, overwrite_ab=False, lower=False, check_finite=True):
    """scipy.linalg.cholesky_banded of a real matrix."""
    ab = np.asarray(ab) * 1.0
    u, n = ab.shape[0] - 1, ab.shape[1]
    rows = ab if lower else np.stack([np.concatenate((ab[u - d, d:], np.zeros(d))) for d in range(u + 1)])
    rest = np.concatenate((rows, np.zeros((u + 1, u))), axis=1).T.copy()  # row j: the column j from the diagonal on
    out = np.zeros((n, u + 1))
    for j in range(n):
        if not rest[j, 0] > 0:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        column = rest[j] / np.sqrt(rest[j, 0])
        out[j] = column
        for i in range(1, u + 1):
            rest[j + i, : u + 1 - i] -= column[i] * column[i:]
    below, d, j = out.T, np.arange(u + 1)[:, None], np.arange(n)
    if lower:
        return np.where(j + d < n, below, ab)  # what is outside of the matrix stays what it is
    above = np.stack([np.concatenate((np.zeros(u - k), below[u - k, : n - u + k])) for k in range(u + 1)])
    return np.where(j >= u - d, above, ab)


@written("scipy.linalg.cho_solve_banded")
def cho_solve_banded(cb_and_lower, b, overwrite_b=False, check_finite=True):
    """scipy.linalg.cho_solve_banded of a real matrix."""
    cb, lower = cb_and_lower
    cb, b = np.asarray(cb), np.asarray(b) * 1.0
    u, n = cb.shape[0] - 1, cb.shape[1]
    rows = cb if lower else np.stack([np.concatenate((cb[u - d, d:], np.zeros(d))) for d in range(u + 1)])
    if b.shape[0] != n:
        raise ValueError("shapes of cb and b are not compatible.")
    y = np.concatenate((b.reshape((n, -1)), np.zeros((u, b.size // n))))
    for j in range(n):
        y[j] = y[j] / rows[0, j]
        y[j + 1 : j + u + 1] -= rows[1:, j][:, None] * y[j]
    for i in range(n):
        j = n - 1 - i
        y[j] = (y[j] - rows[1:, j] @ np.where((np.arange(u) + j + 1 < n)[:, None], y[j + 1 : j + u + 1], 0.0)) / rows[0, j]
    return y[:n].reshape(b.shape)


@written("scipy.linalg.solveh_banded")
def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    """scipy.linalg.solveh_banded of a real matrix that is positive definite."""
    return cho_solve_banded((cholesky_banded(ab, lower=lower), lower), b)


# ---- functions of matrices ---------------------------------------------------------------------------------------------------------------------------


@written("scipy.linalg.coshm")
def coshm(A):
    A = _matrix(A, True)
    return 0.5 * (linalg.expm(A) + linalg.expm(-A))


@written("scipy.linalg.sinhm")
def sinhm(A):
    A = _matrix(A, True)
    return 0.5 * (linalg.expm(A) - linalg.expm(-A))


@written("scipy.linalg.tanhm")
def tanhm(A):
    return np.linalg.solve(coshm(A), sinhm(A))


@written("scipy.linalg.tanm")
def tanm(A):
    A = _matrix(A, True)
    return np.linalg.solve(cosm(A), sinm(A))


@written("scipy.linalg.signm")
def signm(A, disp=True):
    """scipy.linalg.signm by Newton's iteration with norm scaling; ValueError for eigenvalues on the imaginary axis.

    N. Higham, Functions of Matrices (2008), section 5.
    """
    X = _matrix(A, True)
    rest = last = np.inf
    for _ in range(60):
        inverse = np.linalg.inv(X)
        ratio = constant(np.sum(np.abs(inverse) ** 2) / np.sum(np.abs(X) ** 2))
        mu = ratio**0.25 if rest > 0.01 else 1.0
        new = 0.5 * (mu * X + inverse / mu)
        last, rest = rest, constant(np.max(np.abs(new - X)) / np.max(np.abs(new)))
        X = new
        if last <= 1e-9:
            break
    if not last <= 1e-9:
        raise ValueError("scipy.linalg.signm: an eigenvalue is on the imaginary axis")
    return X


@written("scipy.linalg.fractional_matrix_power")
def fractional_matrix_power(A, t):
    """scipy.linalg.fractional_matrix_power; of powers that are no whole numbers as `logm` for what matrices."""
    A = _matrix(A, True)
    if isinstance(t, int):
        return np.linalg.matrix_power(A, t)
    return linalg.expm(t * logm(A))


@written("scipy.linalg.expm_frechet")
def expm_frechet(A, E, method=None, compute_expm=True, check_finite=True):
    """scipy.linalg.expm_frechet: (expm(A), its derivative along E), from a matrix of twice the size."""
    A, E = _matrix(A, True), _matrix(E, True)
    if A.shape != E.shape:
        raise ValueError("expected A and E to be the same shape")
    n = len(A)
    top = np.concatenate((A, E), axis=1)
    whole = linalg.expm(np.concatenate((top, np.concatenate((np.zeros_like(A), A), axis=1))))
    return (whole[:n, :n], whole[:n, n:]) if compute_expm else whole[:n, n:]


@written("scipy.linalg.khatri_rao")
def khatri_rao(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("The both arrays should be 2-dimensional.")
    if a.shape[1] != b.shape[1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    return (a[:, None, :] * b[None, :, :]).reshape((a.shape[0] * b.shape[0], a.shape[1]))


@written("scipy.spatial.procrustes")
def procrustes(data1, data2):
    """scipy.spatial.procrustes: both sets of points as they are compared, and the sum of squares that is left."""
    a, b = np.asarray(data1) + 0.0, np.asarray(data2) + 0.0
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("Input matrices must be two-dimensional")
    if a.shape != b.shape:
        raise ValueError("Input matrices must be of same shape")
    a, b = a - np.mean(a, 0), b - np.mean(b, 0)
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    turn, scale = orthogonal_procrustes(a, b)
    b = (b @ turn.T) * scale
    return a, b, np.sum(np.square(a - b))
