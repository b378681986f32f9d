"""NumPy's covariance and correlation."""

import numpy as np

from irad.frontend.registry import ABSENT, refuse_keywords, written


def _variables(m, rowvar: bool, dtype):
    """One variable per row."""
    x = np.asarray(m)
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    x = np.atleast_2d(x)
    return (x if rowvar or np.ndim(m) < 2 else x.T).astype(dtype)


@written("numpy.cov")
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """np.cov, with frequency and reliability weights."""
    if dtype is None:
        dtype = np.result_type(m, np.float64) if y is None else np.result_type(m, y, np.float64)
    x = _variables(m, rowvar, dtype)
    if y is not None:
        x = np.concatenate((x, _variables(y, rowvar, dtype)))
    w = None if fweights is None else np.asarray(fweights, np.float64)
    if aweights is not None:
        a = np.asarray(aweights, np.float64)
        w = a if w is None else w * a
    free = (0 if bias else 1) if ddof is None else ddof
    total = x.shape[1] if w is None else np.sum(w)
    if w is None or free == 0 or aweights is None:
        degrees = total - free
    else:
        degrees = total - free * np.sum(w * a) / total
    mean = np.average(x, axis=1, weights=w)
    d = x - mean[:, None]
    c = d @ np.conj(d if w is None else (d * w).astype(dtype)).T
    return np.squeeze(c * np.true_divide(1.0, np.maximum(degrees, 0.0)).astype(c.dtype))


@written("numpy.corrcoef")
def corrcoef(x, y=None, rowvar=True, bias=ABSENT, ddof=ABSENT, *, dtype=None):
    """np.corrcoef: the covariance scaled by the standard deviations and clipped to [-1, 1]; `bias` and `ddof` change nothing."""
    refuse_keywords(np.corrcoef, bias=bias, ddof=ddof)
    c = np.cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    s = np.sqrt(np.real(np.diagonal(c)))
    c = c / s[:, None] / s
    if np.iscomplexobj(c):
        return np.clip(np.real(c), -1, 1) + 1j * np.clip(np.imag(c), -1, 1)
    return np.clip(c, -1, 1)
