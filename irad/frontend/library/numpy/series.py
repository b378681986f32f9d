"""numpy.polynomial: series in powers and in orthogonal polynomials, their Vandermonde matrices, and polynomials as objects."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.registry import known, written

_MODULES = {
    "poly": "polynomial", "cheb": "chebyshev", "leg": "legendre", "herm": "hermite", "herme": "hermite_e", "lag": "laguerre",
}  # fmt: skip


def _coefficients(x, c, tensor):
    """The coefficients as floats, the first axis that of the terms; each column is a series for all elements of x."""
    c = np.atleast_1d(np.asarray(c))
    c = c if c.dtype.kind in "fc" else c.astype(np.float64)
    return c.reshape(c.shape + (1,) * np.ndim(x)) if tensor else c


def _second(name, x):
    """The polynomial of degree 1."""
    if name == "lag":
        return 1 - x
    return x * 2 if name == "herm" else x


def _down(name, c0, c1, a, n, x):
    """A step of Clenshaw's recurrence, from the coefficients of degrees n and n - 1 (a that of n - 2) to those of n - 1 and n - 2."""
    if name == "poly":
        return a, c0 + c1 * x
    if name == "cheb":
        return a - c1, c0 + c1 * (2 * x)
    if name == "leg":
        return a - c1 * ((n - 1) / n), c0 + c1 * x * ((2 * n - 1) / n)
    if name == "herm":
        return a - c1 * (2 * (n - 1)), c0 + c1 * (x * 2)
    if name == "herme":
        return a - c1 * (n - 1), c0 + c1 * x
    return a - (c1 * (n - 1)) / n, c0 + (c1 * ((2 * n - 1) - x)) / n


def _value(name, x, c, tensor=True):
    x = np.asarray(x) if isinstance(x, (list, tuple)) else x
    c = _coefficients(x, c, tensor)
    if len(c) == 1:
        return c[0] + np.asarray(x) * 0
    c0, c1 = c[len(c) - 2], c[len(c) - 1]
    for n in range(len(c) - 1, 1, -1):
        c0, c1 = _down(name, c0, c1, c[n - 2], n, x)
    return c0 + c1 * _second(name, x)


def _up(name, p1, p0, n, x):
    """The polynomial of degree n from those of degrees n - 1 and n - 2."""
    if name == "poly":
        return p1 * x
    if name == "cheb":
        return p1 * (2 * x) - p0
    if name == "leg":
        return (p1 * x * (2 * n - 1) - p0 * (n - 1)) / n
    if name == "herm":
        return p1 * (x * 2) - p0 * (2 * (n - 1))
    if name == "herme":
        return p1 * x - p0 * (n - 1)
    return (p1 * (2 * n - 1 - x) - p0 * (n - 1)) / n


def _vandermonde(name, x, deg):
    if deg < 0:
        raise ValueError("deg must be non-negative")
    x = np.atleast_1d(np.asarray(x)) + 0.0
    columns = [x * 0 + 1, _second(name, x)][: deg + 1]
    for n in range(2, deg + 1):
        columns.append(_up(name, columns[n - 1], columns[n - 2], n, x))
    return np.stack(columns, -1)


def _fitted(name, x, y, deg, rcond, full, w):
    """The coefficients of least squares, by columns scaled to length 1, as NumPy."""
    if full:
        raise UnsupportedError(f"{name}fit with full=True: use np.linalg.lstsq of {name}vander(x, deg)")
    x, y, terms = np.asarray(x) + 0.0, np.asarray(y) + 0.0, np.asarray(deg)
    if terms.ndim > 1 or terms.dtype.kind not in "iu" or terms.size == 0:
        raise TypeError("deg must be an int or non-empty 1-D array of int")
    if terms.min() < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if y.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if len(x) == 0:
        raise TypeError("expected non-empty vector for x")
    if len(x) != len(y):
        raise TypeError("expected x and y to have same length")
    most = int(terms.max())
    used = [*range(most + 1)] if terms.ndim == 0 else [int(k) for k in np.sort(terms)]
    left, right = _vandermonde(name, x, most)[:, used], y
    if w is not None:
        left, right = left * np.asarray(w)[:, None], (right.T * np.asarray(w)).T
    scale = (
        np.sqrt(np.sum(np.real(left) ** 2 + np.imag(left) ** 2, 0)) if left.dtype.kind == "c" else np.sqrt(np.sum(left * left, 0))
    )
    scale = np.where(scale == 0, 1, scale)
    if rcond is None and known(len(x)):
        rcond = len(x) * np.finfo(x.dtype).eps  # what np.linalg.lstsq takes for a matrix that is not wide
    found = np.linalg.lstsq(left / scale, right, rcond)[0]
    c = (found.T / scale).T
    if len(used) == most + 1:
        return c
    out = np.zeros((most + 1, *c.shape[1:]), c.dtype)
    for k in range(len(used)):
        out[used[k]] = c[k]
    return out


def _register(name, module):
    path = f"numpy.polynomial.{module}.{name}"
    value = lambda x, c, tensor=True: _value(name, x, c, tensor)
    written(f"{path}val")(value)
    written(f"{path}val2d")(lambda x, y, c: value(y, value(x, c), False))
    written(f"{path}grid2d")(lambda x, y, c: value(y, value(x, c)))
    written(f"{path}fit")(lambda x, y, deg, rcond=None, full=False, w=None: _fitted(name, x, y, deg, rcond, full, w))
    written(f"{path}vander")(lambda x, deg: _vandermonde(name, x, deg))


for _name, _module in _MODULES.items():
    _register(_name, _module)


# ---- objects -------------------------------------------------------------------------------------------------------------------------


@written("numpy.poly1d.__call__", always=True)
def call_poly1d(self, val):
    """np.poly1d(c)(x), of a polynomial that was made outside."""
    return np.polyval(self.coeffs, val)


@written("numpy.polynomial.Polynomial.__call__", always=True)
def call_series(self, arg):
    """Polynomial(c)(x), Chebyshev(c)(x) and so on, of a series that was made outside; the domain is mapped to the window."""
    old, new = self.domain, self.window
    shift = (old[1] * new[0] - old[0] * new[1]) / (old[1] - old[0])
    at = np.asarray(arg) if isinstance(arg, (list, tuple)) else arg
    return self._val(shift + (new[1] - new[0]) / (old[1] - old[0]) * at, self.coef)
