"""NumPy's polynomials by their coefficients, highest power first; products of stacked matrices with vectors; flat indices."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.registry import written


@written("numpy.polyval")
def polyval(p, x):
    """np.polyval by Horner's rule."""
    y = np.zeros_like(x)
    for c in np.asarray(p):
        y = y * x + c
    return y


@written("numpy.polyder")
def polyder(p, m=1):
    """np.polyder of coefficients."""
    x = np.asarray(p)
    for _ in range(m):
        x = x[:-1] * np.arange(len(x) - 1, 0, -1)
    return x


@written("numpy.polyint")
def polyint(p, m=1, k=None):
    """np.polyint: m times, with one constant of integration for all or one each."""
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = np.atleast_1d(np.asarray(0.0 if k is None else k))
    if len(constants) == 1 and m > 1:
        constants = np.repeat(constants, m)
    if len(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    x = np.ravel(p)
    for j in range(m):
        x = np.concatenate((x / np.arange(len(x), 0, -1), constants[j : j + 1]))
    return x


@written("numpy.roots")
def roots(p):
    """np.roots: eigenvalues of the companion matrix. ValueError for a first coefficient of 0: the number of roots would depend on data."""
    c = np.ravel(p)
    if np.ndim(p) != 1:
        raise ValueError("Input must be a rank-1 array.")
    if c.dtype.kind not in "fc":
        c = c.astype(np.float64)
    if len(c) < 2:
        return np.zeros(0, c.dtype)
    if c[0] == 0:
        raise ValueError(
            "np.roots of a polynomial whose first coefficient is 0: leave it out, compiled code gives as many roots as its length says"
        )
    companion = np.diag(np.ones(len(c) - 2, c.dtype), -1)
    companion[0, :] = -c[1:] / c[0]
    return np.linalg.eigvals(companion)


@written("numpy.polydiv")
def polydiv(u, v):
    """np.polydiv: the quotient, and the remainder without the small coefficients in front, whose number depends on data."""
    dividend, divisor = np.atleast_1d(u) + 0.0, np.atleast_1d(v) + 0.0
    w = dividend[0] + divisor[0]
    m, n = len(dividend) - 1, len(divisor) - 1
    q = np.zeros((max(m - n + 1, 1),), w.dtype)
    r = dividend.astype(w.dtype)
    for k in range(0, m - n + 1):
        d = r[k] / divisor[0]
        q[k] = d
        r[k : k + n + 1] -= d * divisor
    small = np.isclose(r, 0.0, rtol=1e-14)
    small[-1] = False
    return q, r[np.argmin(small) :]


@written("numpy.vander")
def vander(x, N=None, increasing=False):
    """np.vander: powers by repeated multiplication."""
    v = np.asarray(x)
    if v.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    v = v.astype(np.promote_types(v.dtype, np.int64))
    columns, power = [], np.ones_like(v)
    for k in range(len(v) if N is None else N):
        power = power if k == 0 else power * v
        columns.append(power)
    if not columns:
        return np.zeros((len(v), 0), v.dtype)
    return np.stack(columns if increasing else columns[::-1], axis=1)


def _as_long(a, b):
    """Both with as many coefficients as the longer one."""
    x, y = np.ravel(a), np.ravel(b)
    n, m = len(x), len(y)
    if n < m:
        x = np.concatenate((np.zeros(m - n, x.dtype), x))
    return x, np.concatenate((np.zeros(n - m, y.dtype), y)) if m < n else y


@written("numpy.polyadd")
def polyadd(a1, a2):
    x, y = _as_long(a1, a2)
    return x + y


@written("numpy.polysub")
def polysub(a1, a2):
    x, y = _as_long(a1, a2)
    return x - y


@written("numpy.polymul")
def polymul(a1, a2):
    """np.polymul; leading zeros, which NumPy drops, stay: the shape does not depend on the data."""
    return np.convolve(np.ravel(a1), np.ravel(a2))


@written("numpy.poly")
def poly(seq_of_zeros):
    """np.poly of real roots: the coefficients of the product of x - root."""
    z = np.asarray(seq_of_zeros)
    if z.ndim > 1 or np.iscomplexobj(z):
        raise UnsupportedError(
            "np.poly of a matrix or of complex roots: whether the result is real depends on the data; multiply with np.convolve"
        )
    z = np.atleast_1d(z if z.dtype.kind == "f" else z.astype(np.float64))
    one = np.ones(1, z.dtype)
    out = one if len(z) else 1.0
    for k in range(len(z)):
        out = np.convolve(out, np.concatenate((one, -z[k : k + 1])))
    return out


@written("numpy.polyfit")
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """np.polyfit: least squares with columns scaled to length 1, as NumPy."""
    if full:
        raise UnsupportedError("np.polyfit with full=True: use np.linalg.lstsq of np.vander")
    at, right = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    if at.ndim != 1 or right.ndim not in (1, 2) or len(right) != len(at):
        raise TypeError("np.polyfit wants a vector x, and y with one or two axes, the first one as long as x")
    if len(at) == 0:
        raise TypeError("expected non-empty vector for x")
    left = np.vander(at, deg + 1)
    if w is not None:
        left = left * np.asarray(w)[:, None]
        right = (right.T * np.asarray(w)).T
    scale = np.sqrt(np.sum(left * left, 0))
    left = left / scale
    found = np.linalg.lstsq(left, right, rcond)
    c = (found[0].T / scale).T
    return (c, _covariance(left, found[1], scale, len(at), right.ndim, cov)) if cov else c


def _covariance(left, residues, scale, n, ndim, cov):
    """The covariance of fitted coefficients, from the variance of the residues unless cov is "unscaled"."""
    base = np.linalg.inv(left.T @ left) / np.outer(scale, scale)
    if isinstance(cov, str) and cov == "unscaled":
        return base if ndim == 1 else base[:, :, None]
    if n <= len(scale):
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    variance = residues / (n - len(scale))
    return base * variance if ndim == 1 else base[:, :, None] * variance


@written("numpy.matvec")
def matvec(x1, x2, /, out=None, **_):
    return np.matmul(x1, np.asarray(x2)[..., None])[..., 0]


@written("numpy.vecmat")
def vecmat(x1, x2, /, out=None, **_):
    """np.vecmat: the vectors are conjugated."""
    return np.matmul(np.conj(x1)[..., None, :], x2)[..., 0, :]


@written("numpy.unravel_index")
def unravel_index(indices, shape, order="C"):
    dims = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    rest, out, size = np.asarray(indices, np.int64), [], 1
    for n in dims:
        size = size * n
    outside = (rest < 0) | (rest >= size)
    if np.any(outside):
        first = np.ravel(rest)[np.argmax(outside)]
        raise ValueError(f"index {first} is out of bounds for array with size {size}")
    for n in dims if order == "F" else dims[::-1]:
        out.append(rest % n)
        rest = rest // n
    return tuple(out if order == "F" else out[::-1])


@written("numpy.ravel_multi_index")
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    modes = [mode] * len(dims) if isinstance(mode, str) else mode
    places, out = [], 0
    for k, how, n in zip(multi_index, modes, dims):
        k = np.asarray(k, np.int64)
        if how == "raise" and np.any((k < 0) | (k >= n)):
            raise ValueError("invalid entry in coordinates array")
        places.append(k % n if how == "wrap" else np.clip(k, 0, n - 1) if how == "clip" else k)
    for k, n in zip(places[::-1] if order == "F" else places, dims[::-1] if order == "F" else dims):
        out = out * n + k
    return out
