"""np.poly1d of coefficients that are computed."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.registry import written


def _coefficients(x):
    return x._all if isinstance(x, Poly1d) else np.atleast_1d(np.asarray(getattr(x, "coeffs", x)))


def _reflected(of_arrays, of_polynomials, left, right):
    """left op right: NumPy's numbers and arrays on the left take it as the array of its coefficients."""
    if isinstance(left, (np.generic, np.ndarray)):
        return of_arrays(left, right.coeffs)
    return Poly1d(of_polynomials(_coefficients(left), right._all))


class Poly1d:
    """What np.poly1d is, but that it keeps a first coefficient that is 0, as data may have it; to ask for the degree then is an error."""

    def __init__(self, coefficients):
        if coefficients.ndim != 1:
            raise ValueError("Polynomial must be 1d only.")
        self._all = coefficients

    @property
    def coeffs(self):
        if len(self._all) > 1 and self._all[0] == 0:
            raise ValueError(
                "the degree of an np.poly1d whose first coefficient is 0, by data, is not supported: keep the coefficients"
            )
        return self._all

    c = coef = coefficients = coeffs

    @property
    def order(self):
        return len(self.coeffs) - 1

    o = order

    @property
    def roots(self):
        return np.roots(self.coeffs)

    r = roots

    def __array__(self, dtype=None, copy=None):
        return self.coeffs if dtype is None else self.coeffs.astype(dtype)

    def __len__(self):
        return self.order

    def __iter__(self):
        return iter(self.coeffs)

    def __getitem__(self, power):
        return self._all[len(self._all) - 1 - power] if 0 <= power < len(self._all) else self._all.dtype.type(0)

    def __call__(self, val):
        if not isinstance(val, (Poly1d, np.poly1d)):
            return np.polyval(self._all, val)
        out = Poly1d(np.zeros(1))
        for c in self._all:
            out = out * val + c
        return out

    def deriv(self, m=1):
        return Poly1d(np.polyder(self._all, m) if m < len(self._all) else np.zeros(1, self._all.dtype))

    def integ(self, m=1, k=0):
        return Poly1d(np.polyint(self._all, m, k))

    def __neg__(self):
        return Poly1d(-self._all)

    def __pos__(self):
        return self

    def __add__(self, other):
        return Poly1d(np.polyadd(self._all, _coefficients(other)))

    def __radd__(self, other):
        return _reflected(np.add, np.polyadd, other, self)

    def __sub__(self, other):
        return Poly1d(np.polysub(self._all, _coefficients(other)))

    def __rsub__(self, other):
        return _reflected(np.subtract, np.polysub, other, self)

    def __mul__(self, other):
        return Poly1d(np.polymul(self._all, _coefficients(other)))

    def __rmul__(self, other):
        return _reflected(np.multiply, np.polymul, other, self)

    def __truediv__(self, other):
        if np.ndim(other):
            raise UnsupportedError("np.poly1d / np.poly1d of computed coefficients: np.polydiv(p.coeffs, q.coeffs)")
        return Poly1d(self._all / other)

    def __pow__(self, n):
        if n != int(n) or n < 0:
            raise ValueError("Power to non-negative integers only.")
        out = Poly1d(np.ones(1))
        for _ in range(int(n)):
            out = out * self
        return out


@written("numpy.poly1d")
def poly1d(c_or_r, r=False, variable=None):
    """np.poly1d, by coefficients or by roots; `variable`, which only texts show, does nothing."""
    c = _coefficients(c_or_r)
    return Poly1d(np.poly(c) if r else c)
