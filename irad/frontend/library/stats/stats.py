"""The methods of scipy.stats' distributions, plain and frozen, and multivariate_normal, from the formulas of `distributions`."""

from types import SimpleNamespace

import numpy as np
from scipy import linalg
from scipy import special as sp

from irad.errors import UnsupportedError
from irad.frontend.library.stats.distributions import LOG_2PI, RULES
from irad.frontend.registry import written

# ---- parameters ------------------------------------------------------------------------------------------------------------------


def _place(self, x, args, kwds):
    """(rule, standardised position, shapes, scale, is all valid); by what SciPy's methods take: shapes, loc, scale."""
    rule, shapes, loc, scale = _parameters(self, args, kwds)
    x = np.asarray(x, np.float64)
    y = x - loc if rule.discrete else (x - loc) / scale
    return rule, y, shapes, scale, rule.valid(*shapes) & (scale > 0) & ~np.isnan(y)


def _parameters(self, args, kwds):
    rule = RULES.get(self.name)
    if rule is None:
        raise UnsupportedError(f"scipy.stats.{self.name} of traced numbers is not supported; docs/scipy.md lists those that are")
    names = (*rule.shapes, "loc") if rule.discrete else (*rule.shapes, "loc", "scale")
    if len(args) > len(names):
        raise TypeError(f"{self.name} takes {', '.join(names)}; {len(args)} were given")
    given = dict(zip(names, args))
    for k, v in kwds.items():
        if k in given or k not in names:
            raise TypeError(f"{self.name} got {'multiple values for' if k in given else 'an unexpected'} argument '{k}'")
        given[k] = v
    for k in rule.shapes:
        if k not in given:
            raise TypeError(f"{self.name} is missing the argument '{k}'")
    shapes = [np.asarray(given[k], np.float64) for k in rule.shapes]
    return rule, shapes, np.asarray(given.get("loc", 0.0), np.float64), np.asarray(given.get("scale", 1.0), np.float64)


def _need(rule, name):
    """A function of a rule."""
    if not hasattr(rule, name):
        raise UnsupportedError(f"scipy.stats.{rule.__name__}.{name} of traced numbers is not supported: it has no closed form")
    return getattr(rule, name)


# ---- densities -------------------------------------------------------------------------------------------------------------------


@written("scipy.stats.rv_continuous.logpdf", always=True)
def logpdf(self, x, *args, **kwds):
    """The logarithm of a density; -inf outside of the support, NaN for parameters that are not valid."""
    rule, y, shapes, scale, ok = _place(self, x, args, kwds)
    low, high = rule.support(*shapes)
    inside = ((low < y) if rule.inner else (low <= y)) & (y <= high) & (np.abs(y) < np.inf)
    v = np.where(inside, rule.logpdf(y, *shapes) - np.log(scale), -np.inf)
    return np.where(ok, v, np.nan)[()]


@written("scipy.stats.rv_continuous.pdf", always=True)
def pdf(self, x, *args, **kwds):
    """A density."""
    return np.exp(logpdf(self, x, *args, **kwds))


@written("scipy.stats.rv_discrete.logpmf", always=True)
def logpmf(self, k, *args, **kwds):
    """The logarithm of a probability; -inf beside the whole numbers of the support."""
    rule, y, shapes, _, ok = _place(self, k, args, kwds)
    low, high = rule.support(*shapes)
    v = np.where((low <= y) & (y <= high) & (y == np.floor(y)), rule.logpmf(y, *shapes), -np.inf)
    return np.where(ok, v, np.nan)[()]


@written("scipy.stats.rv_discrete.pmf", always=True)
def pmf(self, k, *args, **kwds):
    """A probability."""
    return np.exp(logpmf(self, k, *args, **kwds))


# ---- the normal distribution without its checks, as programs call it to save time ------------------------------------------------------


def _unchecked(name, f):
    written(f"scipy.stats._continuous_distns.norm_gen._{name}", always=True)(lambda self, x: f(x))


_STANDARD = RULES["norm"]
_unchecked("pdf", lambda x: np.exp(_STANDARD.logpdf(x)))
for _name in ("logpdf", "cdf", "logcdf", "sf", "ppf"):
    _unchecked(_name, getattr(_STANDARD, _name))


# ---- distribution functions --------------------------------------------------------------------------------------------------------


def _cumulative(kind, below, above):
    """A function that is `below` the support and `above` it."""

    @written(f"scipy.stats.rv_continuous.{kind}", f"scipy.stats.rv_discrete.{kind}", always=True)
    def call(self, x, *args, **kwds):
        rule, y, shapes, _, ok = _place(self, x, args, kwds)
        low, high = rule.support(*shapes)
        if rule.discrete:
            y = np.floor(y)
            under = y < low
        else:
            under = y <= low
        v = np.where(y >= high, above, np.where(under, below, _need(rule, kind)(y, *shapes)))
        return np.where(ok, v, np.nan)[()]

    return call


cdf = _cumulative("cdf", 0.0, 1.0)
sf = _cumulative("sf", 1.0, 0.0)
logcdf = _cumulative("logcdf", -np.inf, 0.0)
logsf = _cumulative("logsf", 0.0, -np.inf)


def _quantile(kind, first, last):
    """The inverse of a distribution function; `first` and `last`: which end of the support is at 0 and at 1."""

    @written(f"scipy.stats.rv_continuous.{kind}", always=True)
    def call(self, q, *args, **kwds):
        rule, shapes, loc, scale = _parameters(self, args, kwds)
        q = np.asarray(q, np.float64)
        ends = rule.support(*shapes)
        v = np.where(q == 0, ends[first], np.where(q == 1, ends[last], _need(rule, kind)(q, *shapes)))
        ok = rule.valid(*shapes) & (scale > 0) & (q >= 0) & (q <= 1)
        return np.where(ok, v * scale + loc, np.nan)[()]

    return call


ppf = _quantile("ppf", 0, 1)
isf = _quantile("isf", 1, 0)


# ---- moments -----------------------------------------------------------------------------------------------------------------------


def _moment(kind, at, *names):
    """A number of a distribution; `at`: it, from that in standard form, the loc and the scale."""

    @written(*names, always=True)
    def call(self, *args, **kwds):
        rule, shapes, loc, scale = _parameters(self, args, kwds)
        v = at(_need(rule, kind)(*shapes), loc, scale)
        return np.where(rule.valid(*shapes) & (scale > 0), v, np.nan)[()]

    return call


mean = _moment("mean", lambda v, loc, scale: v * scale + loc, "scipy.stats.rv_continuous.mean")
var = _moment("var", lambda v, loc, scale: v * scale * scale, "scipy.stats.rv_continuous.var")
entropy = _moment(
    "entropy", lambda v, loc, scale: v + np.log(scale), "scipy.stats.rv_continuous.entropy", "scipy.stats.rv_discrete.entropy"
)


@written("scipy.stats.rv_continuous.std", always=True)
def std(self, *args, **kwds):
    """The standard deviation."""
    return np.sqrt(var(self, *args, **kwds))


@written("scipy.stats.rv_continuous.median", always=True)
def median(self, *args, **kwds):
    """The median."""
    return ppf(self, 0.5, *args, **kwds)


# ---- frozen ------------------------------------------------------------------------------------------------------------------------


_METHODS = {
    "logcdf": logcdf, "cdf": cdf, "sf": sf, "logsf": logsf, "ppf": ppf, "isf": isf, "mean": mean, "var": var, "std": std,
    "median": median, "entropy": entropy,
}  # fmt: skip
_CONTINUOUS, _DISCRETE = {"pdf": pdf, "logpdf": logpdf}, {"pmf": pmf, "logpmf": logpmf}


@written("scipy.stats.rv_continuous.__call__", "scipy.stats.rv_continuous.freeze", always=True)
def freeze(self, *args, **kwds):
    """A distribution with its parameters, as `norm(loc, scale)`."""
    at = lambda f: lambda *x: f(self, *x, *args, **kwds)
    draw = lambda size=None, random_state=None: self.rvs(*args, size=size, random_state=random_state, **kwds)
    methods = {name: at(f) for name, f in {**_METHODS, **_CONTINUOUS, **_DISCRETE}.items()}
    return SimpleNamespace(dist=self, args=args, kwds=kwds, rvs=draw, **methods)


def _of_frozen(f):
    """A method of the objects that `freeze` makes where Python runs it."""
    return lambda self, *x: f(self.dist, *x, *self.args, **self.kwds)


for _kind, _methods in {"": _METHODS, "continuous_": _CONTINUOUS, "discrete_": _DISCRETE}.items():
    for _name, _f in _methods.items():
        written(f"scipy.stats._distn_infrastructure.rv_{_kind}frozen.{_name}", always=True)(_of_frozen(_f))

# ---- multivariate_normal -----------------------------------------------------------------------------------------------------------


def _normal(mean, cov):
    """Mean and the lower Cholesky factor of the covariance, from SciPy's short forms."""
    mean, cov = _moments(mean, cov)
    return mean, np.linalg.cholesky(cov)


def _moments(mean, cov):
    """Mean and covariance from SciPy's short forms."""
    cov = np.asarray(1.0 if cov is None else cov, np.float64)
    if mean is None:
        mean = np.zeros(1 if cov.ndim < 2 else cov.shape[0])
    mean = np.atleast_1d(np.asarray(mean, np.float64))
    d = len(mean)
    if cov.ndim == 0:
        cov = cov * np.eye(d)
    elif cov.ndim == 1:
        cov = np.diag(cov)
    if cov.shape != (d, d):
        raise ValueError(f"Array 'cov' must be square with {d} rows, as 'mean' has {d} elements; it is {cov.shape}")
    return mean, cov


def _singular_logpdf(x, mean, cov):
    """As SciPy: eigenvalues below 2.2e-10 of the largest are zeros."""
    mean, cov = _moments(mean, cov)
    d = len(mean)
    x = np.asarray(x, np.float64)
    x = x.reshape(x.shape + (1,)) if d == 1 and x.ndim < 2 else x
    dev = (x - mean).reshape((-1, d))
    s = np.linalg.eigvalsh(cov)
    eps = 1e6 * np.finfo(np.float64).eps * np.max(np.abs(s))
    if np.min(s) < -eps:
        raise ValueError("The input matrix must be symmetric positive semidefinite.")
    if np.min(s) > eps:  # the factor has a slope at equal eigenvalues too
        factor = np.linalg.cholesky(cov)
        z = linalg.solve_triangular(factor, dev.T, lower=True)
        v = -0.5 * (d * LOG_2PI + np.sum(z * z, axis=0)) - np.sum(np.log(np.diagonal(factor)))
    else:
        s, u = np.linalg.eigh(cov)
        there = s > eps
        safe = np.where(there, s, 1.0)
        z = dev @ u
        v = -0.5 * (np.sum(there) * LOG_2PI + np.sum(np.log(safe)) + np.sum(np.where(there, z * z / safe, 0.0), axis=1))
        beside = np.sqrt(np.sum(np.where(there, 0.0, z * z), axis=1))
        v = np.where(beside < 1e3 * eps, v, -np.inf)
    return np.squeeze(v.reshape(x.shape[:-1]))[()]


@written("scipy.stats.multivariate_normal.__class__.logpdf", always=True)
def normal_logpdf(self, x, mean=None, cov=1, allow_singular=False):
    """multivariate_normal.logpdf of a covariance that is positive definite; LinAlgError if it is not. With `allow_singular`, of the
    directions in which the covariance is not 0, and minus infinity beside them."""
    if allow_singular:
        return _singular_logpdf(x, mean, cov)
    mean, factor = _normal(mean, cov)
    d = len(mean)
    x = np.asarray(x, np.float64)
    x = x.reshape(x.shape + (1,)) if d == 1 and x.ndim < 2 else x
    z = linalg.solve_triangular(factor, (x - mean).reshape((-1, d)).T, lower=True)
    v = -0.5 * (d * LOG_2PI + np.sum(z * z, axis=0)) - np.sum(np.log(np.diagonal(factor)))
    return np.squeeze(v.reshape(x.shape[:-1]))[()]


@written("scipy.stats.multivariate_normal.__class__.pdf", always=True)
def normal_pdf(self, x, mean=None, cov=1, allow_singular=False):
    return np.exp(normal_logpdf(self, x, mean, cov, allow_singular))


@written("scipy.stats.multivariate_normal.__class__.entropy", always=True)
def normal_entropy(self, mean=None, cov=1):
    mean, factor = _normal(mean, cov)
    return 0.5 * len(mean) * (LOG_2PI + 1) + np.sum(np.log(np.diagonal(factor)))


@written("scipy.stats.multivariate_normal.__class__.__call__", always=True)
def freeze_normal(self, mean=None, cov=1, allow_singular=False, seed=None):
    """multivariate_normal(mean, cov)."""
    at = lambda f, *more: lambda *x: f(self, *x, mean, cov, *more)
    return SimpleNamespace(
        mean=mean,
        cov=cov,
        logpdf=at(normal_logpdf, allow_singular),
        pdf=at(normal_pdf, allow_singular),
        entropy=at(normal_entropy),
        rvs=lambda size=1, random_state=None: self.rvs(mean, cov, size, random_state),
    )


_NORMAL = "scipy.stats._multivariate.multivariate_normal_frozen"
written(f"{_NORMAL}.logpdf", always=True)(lambda self, x: normal_logpdf(None, x, self.mean, self.cov_object.covariance))
written(f"{_NORMAL}.pdf", always=True)(lambda self, x: normal_pdf(None, x, self.mean, self.cov_object.covariance))

# ---- other densities -----------------------------------------------------------------------------------------------------------------


@written("scipy.stats.dirichlet.__class__.logpdf", always=True)
def dirichlet_logpdf(self, x, alpha):
    """dirichlet.logpdf; the last share may be left out."""
    x, alpha = np.asarray(x, np.float64), np.asarray(alpha, np.float64)
    if x.shape[0] + 1 == alpha.shape[0]:
        x = np.concatenate((x, 1 - np.sum(x, 0, keepdims=True)))
    powers = alpha.reshape((-1,) + (1,) * (x.ndim - 1))
    return sp.gammaln(np.sum(alpha)) - np.sum(sp.gammaln(alpha)) + np.sum(sp.xlogy(powers - 1, x), 0)


@written("scipy.stats.dirichlet.__class__.pdf", always=True)
def dirichlet_pdf(self, x, alpha):
    return np.exp(dirichlet_logpdf(self, x, alpha))


@written("scipy.stats.multinomial.__class__.logpmf", always=True)
def multinomial_logpmf(self, x, n, p):
    """multinomial.logpmf; -inf where the counts do not add up to n."""
    x, p = np.asarray(x, np.float64), np.asarray(p, np.float64)
    v = sp.gammaln(n + 1.0) + np.sum(sp.xlogy(x, p) - sp.gammaln(x + 1), axis=-1)
    return np.where((np.sum(x, axis=-1) == n) & np.all(x >= 0, axis=-1), v, -np.inf)[()]


@written("scipy.stats.multinomial.__class__.pmf", always=True)
def multinomial_pmf(self, x, n, p):
    return np.exp(multinomial_logpmf(self, x, n, p))
