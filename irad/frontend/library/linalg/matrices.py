"""scipy.linalg: functions of matrices, banded systems, matrices of a form."""

import numpy as np
from scipy import linalg

from irad.errors import UnsupportedError
from irad.frontend.library.calculus import constant
from irad.frontend.registry import written


def _square(A):
    A = np.asarray(A)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"expected a square matrix; got one of shape {A.shape}")
    return A if A.dtype.kind in "fc" else A.astype(np.float64)


# ---- functions of matrices ---------------------------------------------------------------------------------------------------------

_ROOT_STEPS = 40


def _root(A):
    """The principal square root by the product form of Denman and Beavers' iteration, scaled by norms.

    N. Higham, Functions of Matrices (2008), section 6.3. It converges quadratically, and so does its derivative, for which there is
    one more step than the value needs.
    """
    one, X, M = np.eye(len(A), dtype=A.dtype), A, A
    rest = last = np.inf
    for _ in range(_ROOT_STEPS):
        inverse = np.linalg.inv(M)
        ratio = constant(np.sum(np.abs(inverse) ** 2) / np.sum(np.abs(M) ** 2))
        mu = ratio**0.125 if rest > 0.01 else 1.0
        X = 0.5 * mu * (X @ (one + inverse / mu**2))
        M = 0.5 * (one + 0.5 * (mu**2 * M + inverse / mu**2))
        last, rest = rest, constant(np.max(np.abs(M - one)))
        if last <= 1e-7:
            break
    return X, last


@written("scipy.linalg.sqrtm")
def sqrtm(A):
    """scipy.linalg.sqrtm of a matrix without eigenvalues on the negative real axis, and 0; ValueError for others."""
    A = _square(A)
    if len(A) == 0:
        return A
    X, last = _root(A)
    if not last <= 1e-7:
        raise ValueError(
            "scipy.linalg.sqrtm: an eigenvalue is negative or 0; give the matrix as complex numbers, or add to its diagonal"
        )
    return X


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2


@written("scipy.linalg.logm")
def logm(A, disp=True):
    """scipy.linalg.logm by square roots and the partial fractions of a Pade approximant of degree 8; as `sqrtm` for what matrices.

    N. Higham, Functions of Matrices (2008), section 11.
    """
    A = _square(A)
    one, k = np.eye(len(A), dtype=A.dtype), 0
    while constant(np.max(np.sum(np.abs(A - one), axis=0))) > 0.25:
        A, k = sqrtm(A), k + 1
    E, out = A - one, np.zeros_like(A)
    for x, w in zip(_NODES, _WEIGHTS):
        out = out + w * np.linalg.solve(one + x * E, E)
    return out * 2.0**k


@written("scipy.linalg.cosm")
def cosm(A):
    E = linalg.expm(1j * _square(A))
    return 0.5 * (E + linalg.expm(-1j * A)) if np.iscomplexobj(A) else np.real(E)


@written("scipy.linalg.sinm")
def sinm(A):
    E = linalg.expm(1j * _square(A))
    return -0.5j * (E - linalg.expm(-1j * A)) if np.iscomplexobj(A) else np.imag(E)


@written("scipy.linalg.polar")
def polar(a, side="right"):
    w, s, vh = np.linalg.svd(a, full_matrices=False)
    p = np.conj(vh.T) * s @ vh if side == "right" else w * s @ np.conj(w.T)
    return w @ vh, p


# ---- eigenvalues of pairs -----------------------------------------------------------------------------------------------------------


@written("scipy.linalg.eigh")
def eigh(a, b=None, *, lower=True, eigvals_only=False, type=1, **options):
    """scipy.linalg.eigh, all eigenvalues; with b, which must be positive definite, of the problem a v = w b v."""
    if options.get("subset_by_index") is not None or options.get("subset_by_value") is not None or type != 1:
        raise UnsupportedError("scipy.linalg.eigh: all eigenvalues, and type=1; select from the result")
    uplo = "L" if lower else "U"
    if b is None:
        return np.linalg.eigvalsh(a, uplo) if eigvals_only else tuple(np.linalg.eigh(a, uplo))
    factor = np.linalg.cholesky(np.asarray(b) if lower else np.conj(np.asarray(b).T))
    half = np.tril(a) if lower else np.conj(np.triu(a).T)
    whole = half + np.conj(np.tril(half, -1).T)
    c = linalg.solve_triangular(factor, np.conj(linalg.solve_triangular(factor, whole, lower=True).T), lower=True)
    if eigvals_only:
        return np.linalg.eigvalsh(c)
    w, v = np.linalg.eigh(c)
    return w, linalg.solve_triangular(np.conj(factor.T), v)


@written("scipy.linalg.eigvalsh")
def eigvalsh(a, b=None, *, lower=True, **options):
    return eigh(a, b, lower=lower, eigvals_only=True, **options)


# ---- systems ------------------------------------------------------------------------------------------------------------------------


@written("scipy.linalg.solve_banded")
def solve_banded(l_and_u, ab, b, **options):
    """scipy.linalg.solve_banded: elimination with partial pivoting in a window of l + 1 rows that moves down."""
    l, u = int(l_and_u[0]), int(l_and_u[1])
    ab, b = np.asarray(ab), np.asarray(b)
    n = ab.shape[-1]
    if ab.shape[0] != l + u + 1:
        raise ValueError(
            f"invalid values for the number of lower and upper diagonals: l+u+1 ({l + u + 1}) does not equal ab.shape[0] ({ab.shape[0]})"
        )
    if b.shape[0] != n:
        raise ValueError("shapes of ab and b are not compatible.")
    dtype = np.result_type(ab, b, np.float64)
    width = l + u + 1
    rows = np.zeros((n + l + 1, l + width), dtype)  # row i: columns i - l to i + l + u
    for d in range(width):  # diagonal u - d is row d of ab
        k = u - d
        start, stop = max(0, -k), n - max(0, k)
        rows[start:stop, l + k] = ab[d, start + k : stop + k]
    right = np.zeros((n + l + 1, b.size // max(n, 1)), dtype)
    right[:n] = b.reshape((n, -1))
    window = np.zeros((l + 1, width), dtype)
    for i in range(min(l + 1, n)):
        window[i] = rows[i, l - i : l - i + width]
    values = right[: l + 1]
    upper, done = np.zeros((n, width), dtype), np.zeros((n + width, right.shape[1]), dtype)
    for k in range(n):
        p = np.argmax(np.abs(window[:, 0]))
        order = np.where(np.arange(l + 1) == 0, p, np.where(np.arange(l + 1) == p, 0, np.arange(l + 1)))
        window, values = window[order], values[order]
        pivot = window[0, 0]
        if pivot == 0:
            raise np.linalg.LinAlgError("singular matrix")
        upper[k], done[k] = window[0], values[0]
        factors = window[1:, :1] / pivot
        window = window[1:] - factors * window[0]
        values = values[1:] - factors * values[0]
        window = np.concatenate((window[:, 1:], np.zeros((l, 1), dtype)), axis=1)
        window = np.concatenate((window, rows[k + l + 1 : k + l + 2, :width] if k + l + 1 < n else np.zeros((1, width), dtype)))
        values = np.concatenate((values, right[k + l + 1 : k + l + 2] if k + l + 1 < n else np.zeros((1, right.shape[1]), dtype)))
    for j in range(n):
        k = n - 1 - j
        done[k] = (done[k] - upper[k, 1:] @ done[k + 1 : k + width]) / upper[k, 0]
    return done[:n].reshape(b.shape)


@written("scipy.linalg.solve_sylvester")
def solve_sylvester(a, b, q):
    """scipy.linalg.solve_sylvester: a x + x b = q, as one system of all elements of x (for small matrices)."""
    a, b, q = np.asarray(a), np.asarray(b), np.asarray(q)
    n, m = len(a), len(b)
    whole = np.kron(a, np.eye(m)) + np.kron(np.eye(n), b.T)
    return np.linalg.solve(whole, q.reshape(n * m)).reshape((n, m))


@written("scipy.linalg.solve_continuous_lyapunov", "scipy.linalg.solve_lyapunov")
def solve_continuous_lyapunov(a, q):
    """scipy.linalg.solve_continuous_lyapunov: a x + x a^H = q."""
    return solve_sylvester(a, np.conj(np.asarray(a).T), q)


@written("scipy.linalg.solve_discrete_lyapunov")
def solve_discrete_lyapunov(a, q, method=None):
    """scipy.linalg.solve_discrete_lyapunov: a x a^H - x + q = 0."""
    a, q = np.asarray(a), np.asarray(q)
    n = len(a)
    whole = np.eye(n * n) - np.kron(a, np.conj(a))
    return np.linalg.solve(whole, q.reshape(n * n)).reshape((n, n))


@written("scipy.linalg.lstsq")
def lstsq(a, b, cond=None, **options):
    """scipy.linalg.lstsq: (solution, residues, rank, singular values)."""
    return tuple(np.linalg.lstsq(a, b, np.finfo(np.float64).eps if cond is None else cond))


# ---- matrices of a form ----------------------------------------------------------------------------------------------------------------


@written("scipy.linalg.block_diag")
def block_diag(*arrs):
    blocks = [np.atleast_2d(np.asarray(a)) for a in arrs] or [np.zeros((1, 0))]
    for a in blocks:
        if a.ndim > 2:
            raise ValueError("arguments in the following positions have dimension greater than 2")
    out = np.zeros((sum([a.shape[0] for a in blocks]), sum([a.shape[1] for a in blocks])), np.result_type(*blocks))
    i = j = 0
    for a in blocks:
        out[i : i + a.shape[0], j : j + a.shape[1]] = a
        i, j = i + a.shape[0], j + a.shape[1]
    return out


@written("scipy.linalg.toeplitz")
def toeplitz(c, r=None):
    """scipy.linalg.toeplitz: column c, and row r (its first element does not count) or the conjugate of c."""
    c = np.ravel(c)
    r = np.conj(c) if r is None else np.ravel(r)
    values = np.concatenate((c[::-1], r[1:]))
    return values[len(c) - 1 - np.arange(len(c))[:, None] + np.arange(len(r))]


@written("scipy.linalg.circulant")
def circulant(c):
    c = np.asarray(c)
    return c[..., (np.arange(c.shape[-1])[:, None] - np.arange(c.shape[-1])) % c.shape[-1]]


@written("scipy.linalg.hankel")
def hankel(c, r=None):
    c = np.ravel(c)
    values = np.concatenate((c, np.zeros_like(c[1:]) if r is None else np.ravel(r)[1:]))
    return values[np.arange(len(c))[:, None] + np.arange(len(values) - len(c) + 1)]


@written("scipy.linalg.companion")
def companion(a):
    a = np.asarray(a)
    first = -a[1:] / (1.0 * a[0])
    out = np.eye(len(a) - 1, k=-1).astype(first.dtype)
    out[0] = first
    return out
