"""Samples of scipy.stats' distributions, drawn at run time from NumPy's generators as SciPy draws them."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.library.stats.stats import _need, _parameters
from irad.frontend.registry import written

# The generator is used in the body of these functions only: a function of the library whose operands are all known is run once.

_OTHERS = ("skewnorm", "randint", "levy", "vonmises", "hypergeom", "betabinom", "gennorm", "betaprime")  # drawn in other ways


@written("scipy.stats.rv_continuous.rvs", "scipy.stats.rv_discrete.rvs", "scipy.stats.vonmises.__class__.rvs", always=True)
def rvs(self, *args, size=None, random_state=None, **kwds):
    """Samples; of `size` numbers, or as many as the parameters say."""
    rule, shapes, loc, scale = _parameters(self, args, kwds)
    if self.name in _OTHERS:
        raise UnsupportedError(
            f"scipy.stats.{self.name}.rvs in compiled code; draw outside, or by the quantile of a uniform number"
        )
    rng, shape, s = np.random if random_state is None else random_state, size, [v[()] for v in shapes]
    if isinstance(random_state, int):
        rng = np.random.RandomState(random_state)
    if size is None:
        shape = np.broadcast_shapes(*[v.shape for v in shapes], loc.shape, scale.shape)
    draws = {  # what SciPy draws for a distribution in standard form, if it is not the quantile of a uniform number
        "norm": lambda: rng.standard_normal(shape),
        "t": lambda: rng.standard_t(s[0], shape),
        "laplace": lambda: rng.laplace(0.0, 1.0, shape),
        "logistic": lambda: rng.logistic(0.0, 1.0, shape),
        "expon": lambda: rng.standard_exponential(shape),
        "gamma": lambda: rng.standard_gamma(s[0], shape),
        "chi2": lambda: rng.chisquare(s[0], shape),
        "chi": lambda: np.sqrt(rng.chisquare(s[0], shape)),
        "lognorm": lambda: np.exp(s[0] * rng.standard_normal(shape)),
        "f": lambda: rng.f(s[0], s[1], shape),
        "halfnorm": lambda: np.abs(rng.standard_normal(shape)),
        "rayleigh": lambda: np.sqrt(rng.chisquare(2, shape)),
        "maxwell": lambda: np.sqrt(rng.chisquare(3.0, shape)),
        "invgauss": lambda: rng.wald(s[0], 1.0, shape),
        "uniform": lambda: rng.uniform(0.0, 1.0, shape),
        "beta": lambda: rng.beta(s[0], s[1], shape),
        "triang": lambda: rng.triangular(0, s[0], 1, shape),
        "poisson": lambda: rng.poisson(s[0], shape),
        "binom": lambda: rng.binomial(s[0].astype(np.int64), s[1], shape),
        "bernoulli": lambda: rng.binomial(1, s[0], shape),
        "geom": lambda: rng.geometric(s[0], shape),
        "nbinom": lambda: rng.negative_binomial(s[0], s[1], shape),
        "exponnorm": lambda: rng.standard_exponential(shape) * s[0] + rng.standard_normal(shape),
    }
    if self.name in draws:
        x = draws[self.name]()
    else:
        x = _need(rule, "ppf")(rng.uniform(0.0, 1.0, shape), *shapes)
    if rule.discrete:
        return np.asarray(x + loc.astype(np.int64))[()]
    return np.asarray(x * scale + loc)[()]


@written("scipy.stats._distn_infrastructure.rv_frozen.rvs", always=True)
def rvs_of_frozen(self, size=None, random_state=None):
    """Samples of a distribution with its parameters that was made outside."""
    return rvs(self.dist, *self.args, size=size, random_state=random_state, **self.kwds)


@written("scipy.stats.multivariate_normal.__class__.rvs", always=True)
def normal_rvs(self, mean=None, cov=1, size=1, random_state=None):
    cov = np.asarray(cov) + 0.0
    d = cov.shape[0] if mean is None and cov.ndim else 1 if mean is None else np.size(mean)
    mean = np.zeros(d) if mean is None else np.atleast_1d(np.asarray(mean) + 0.0)
    whole = cov * np.eye(d) if cov.ndim == 0 else (np.diag(cov) if cov.ndim == 1 else cov)
    rng = np.random if random_state is None else random_state
    if isinstance(random_state, int):
        rng = np.random.RandomState(random_state)
    return np.squeeze(rng.multivariate_normal(mean, whole, size))[()]


@written("scipy.stats.dirichlet.__class__.rvs", always=True)
def dirichlet_rvs(self, alpha, size=1, random_state=None):
    rng = np.random if random_state is None else random_state
    if isinstance(random_state, int):
        rng = np.random.RandomState(random_state)
    return rng.dirichlet(alpha, size)


@written("scipy.stats.multinomial.__class__.rvs", always=True)
def multinomial_rvs(self, n, p, size=None, random_state=None):
    rng = np.random if random_state is None else random_state
    if isinstance(random_state, int):
        rng = np.random.RandomState(random_state)
    return rng.multinomial(n, p, size)


def _refused(name):
    @written(f"scipy.stats.{name}.__class__.rvs", always=True)
    def refuse(self, *args, **kwds):
        given = f" ({len(args) + len(kwds)} arguments)"
        raise UnsupportedError(f"scipy.stats.{name}.rvs in compiled code{given}; draw outside, and give the numbers as arguments")


for _name in (
    "wishart", "invwishart", "ortho_group", "special_ortho_group", "unitary_group", "random_correlation", "multivariate_t", "matrix_normal",
    "multivariate_hypergeom", "uniform_direction", "random_table", "vonmises_fisher", "normal_inverse_gamma",
):  # fmt: skip
    _refused(_name)
