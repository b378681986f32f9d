"""scipy.stats: kernel densities, and statistics of samples in bins."""

from collections import namedtuple

import numpy as np
from scipy import special as sp

from irad.errors import UnsupportedAttribute, UnsupportedError
from irad.frontend.registry import written

# ---- counts and means in bins ------------------------------------------------------------------------------------------------------------------

Binned = namedtuple("BinnedStatisticResult", ["statistic", "bin_edges", "binnumber"])


def _bin_value(statistic, v, there):
    """The statistic of those v that are there, of which there are some."""
    if statistic in ("mean", "sum", "std"):
        total = np.sum(np.where(there, v, 0.0))
        if statistic == "sum":
            return total
        n = np.maximum(np.sum(there), 1)
        return total / n if statistic == "mean" else np.sqrt(np.sum(np.where(there, (v - total / n) ** 2, 0.0)) / n)
    if statistic == "min":
        return np.min(np.where(there, v, np.inf))
    if statistic == "max":
        return np.max(np.where(there, v, -np.inf))
    middle = np.sort(np.where(there, v, np.inf))
    n = np.maximum(np.sum(there), 1)
    return 0.5 * (middle[(n - 1) // 2] + middle[n // 2])


@written("scipy.stats.binned_statistic")
def binned_statistic(x, values, statistic="mean", bins=10, range=None):
    """scipy.stats.binned_statistic: mean, median, count, sum, std, min or max."""
    x, v = np.asarray(x) + 0.0, np.asarray(values) + 0.0
    known = ("mean", "median", "count", "sum", "std", "min", "max")
    if not isinstance(statistic, str):
        raise UnsupportedError("scipy.stats.binned_statistic of a function: " + ", ".join(known))
    if statistic not in known:
        raise ValueError(f"invalid statistic {statistic!r}")
    if np.ndim(bins):
        edges = np.asarray(bins) + 0.0
    else:
        low, high = (np.min(x), np.max(x)) if range is None else (range[0], range[1])
        wide = low == high
        edges = np.linspace(np.where(wide, low - 0.5, low), np.where(wide, high + 0.5, high), bins + 1)
    number = np.digitize(x, edges)
    number = np.where(x == edges[-1], number - 1, number)
    lines = v.reshape((-1, v.shape[-1]))
    out = np.zeros((len(lines), len(edges) - 1))
    for k in np.arange(len(edges) - 1):
        there = number == k + 1
        n = np.sum(there)
        for i in np.arange(len(lines)):
            if statistic == "count":
                out[i, k] = n
            elif statistic == "sum":
                out[i, k] = _bin_value("sum", lines[i], there)
            else:
                out[i, k] = np.where(n == 0, np.nan, _bin_value(statistic, lines[i], there))
    return Binned(out.reshape(v.shape[:-1] + (len(edges) - 1,)), edges, number)


# ---- densities from samples ----------------------------------------------------------------------------------------------------------------------


def _points(points, d):
    points = np.atleast_2d(np.asarray(points) + 0.0)
    if points.shape[0] != d:
        if points.shape[0] == 1 and points.shape[1] == d:
            return points.reshape((d, 1))
        raise ValueError(f"points have dimension {points.shape[0]}, dataset has dimension {d}")
    return points


def _kernels(data, factor, points):
    """Half the squared distance of each point from each datum, in units of the kernel's width."""
    a, b = np.linalg.solve(factor, data), np.linalg.solve(factor, points)
    out = 0.0
    for k in range(len(a)):
        out = out + 0.5 * (b[k][:, None] - a[k]) ** 2
    return out


def _log_norm(factor):
    return np.sum(np.log(np.abs(np.diagonal(factor)))) + 0.5 * len(factor) * np.log(2 * np.pi)


class Density:
    """What scipy.stats.gaussian_kde is."""

    def __init__(self, dataset, bw_method=None, weights=None):
        self.dataset = np.atleast_2d(np.asarray(dataset) + 0.0)
        if self.dataset.size <= 1:
            raise ValueError("`dataset` input should have multiple elements.")
        self.d, self.n = self.dataset.shape
        w = np.ones(self.n) if weights is None else np.asarray(weights)
        self.weights = w / np.sum(w)
        self.neff = 1.0 / np.sum(self.weights**2)
        self.set_bandwidth(bw_method)

    def scotts_factor(self):
        return self.neff ** (-1.0 / (self.d + 4))

    def silverman_factor(self):
        return (self.neff * (self.d + 2.0) / 4.0) ** (-1.0 / (self.d + 4))

    def set_bandwidth(self, bw_method=None):
        """By "scott", "silverman", a number, or a function of this object."""
        if bw_method is None or isinstance(bw_method, str) and bw_method == "scott":
            self.factor = self.scotts_factor()
        elif isinstance(bw_method, str) and bw_method == "silverman":
            self.factor = self.silverman_factor()
        elif isinstance(bw_method, str):
            raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar or a callable.")
        else:
            self.factor = bw_method(self) if callable(bw_method) else bw_method
        self.covariance = np.atleast_2d(np.cov(self.dataset, rowvar=1, bias=False, aweights=self.weights)) * self.factor**2
        self.cho_cov = np.linalg.cholesky(self.covariance)

    def evaluate(self, points):
        return _density(self, points)

    def __call__(self, points):
        return _density(self, points)

    def __getattr__(self, name):
        raise UnsupportedAttribute(f"{name} of a scipy.stats.gaussian_kde is not supported in compiled code; call it outside")

    def pdf(self, x):
        return _density(self, x)

    def logpdf(self, x):
        return _log_density(self, x)

    def integrate_box_1d(self, low, high):
        return _between_ends(self, low, high)


@written("scipy.stats.gaussian_kde", always=True)
def gaussian_kde(dataset, bw_method=None, weights=None):
    return Density(dataset, bw_method, weights)


@written("scipy.stats.gaussian_kde.evaluate", "scipy.stats.gaussian_kde.pdf", always=True)
def _density(self, points):
    """One that was made outside, at points."""
    w = np.exp(-_kernels(self.dataset, self.cho_cov, _points(points, len(self.dataset))))
    return np.sum(w * self.weights, axis=1) / np.exp(_log_norm(self.cho_cov))


@written("scipy.stats.gaussian_kde.logpdf", always=True)
def _log_density(self, x):
    """The logarithm of one that was made outside, at points."""
    energy = _kernels(self.dataset, self.cho_cov, _points(x, len(self.dataset)))
    return sp.logsumexp(-energy, axis=1, b=self.weights) - _log_norm(self.cho_cov)


@written("scipy.stats.gaussian_kde.integrate_box_1d", always=True)
def _between_ends(self, low, high):
    """The integral of one in one dimension."""
    if len(self.dataset) != 1:
        raise ValueError("integrate_box_1d() only handles 1D pdfs")
    width = np.sqrt(np.ravel(self.covariance)[0])
    return np.sum(self.weights * (sp.ndtr((high - self.dataset[0]) / width) - sp.ndtr((low - self.dataset[0]) / width)))
