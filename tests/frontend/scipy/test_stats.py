"""Distributions of scipy.stats: the formulas run by Python against SciPy, then compiled, with slopes against differences."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import irad
from irad.errors import UnsupportedError
from irad.frontend.library.stats import distributions, drawing, more_distributions, stats
from tests.support.scipy_calls import check_compiled

SHAPES: dict[str, tuple[float, ...]] = {
    "t": (3.5,), "skewnorm": (1.5,), "gamma": (2.2,), "chi2": (3.3,), "chi": (2.7,), "invgamma": (4.5,), "lognorm": (0.7,),
    "weibull_min": (1.7,), "f": (4.0, 6.5), "pareto": (3.1,), "invgauss": (0.8,), "beta": (2.0, 3.5), "powerlaw": (1.7,),
    "triang": (0.3,), "loguniform": (0.5, 3.0), "reciprocal": (0.5, 3.0), "truncnorm": (-0.5, 2.0), "poisson": (2.3,),
    "binom": (7, 0.3), "bernoulli": (0.3,), "geom": (0.4,), "nbinom": (3.5, 0.4), "randint": (2, 9), "genpareto": (0.3,),
    "genextreme": (0.2,), "weibull_max": (1.7,), "gompertz": (0.8,), "lomax": (3.1,), "fisk": (3.3,), "johnsonsu": (0.4, 1.3),
    "exponnorm": (1.4,), "gennorm": (1.3,), "betaprime": (2.2, 4.1), "vonmises": (1.6,), "truncexpon": (2.3,), "hypergeom": (20, 7, 12),
    "betabinom": (8, 2.2, 1.3),
}  # fmt: skip
RULES = {n: r for n, r in distributions.RULES.items() if hasattr(st, n)}
NUMBERS = np.array([-3.0, -1, -0.2, 0, 0.1, 0.3, 0.5, 0.9, 1.0, 1.2, 2.0, 2.6, 5.0, 30.0, np.inf, -np.inf, np.nan])
COUNTS = np.array([-1.0, 0, 1, 2, 3, 4, 5, 7, 8, 9, 2.5, 40, np.inf, -np.inf, np.nan])
SHARES = np.array([0, 0.01, 0.3, 0.5, 0.77, 0.999, 1.0, -1.0, np.nan])
DATA = np.random.default_rng(0).normal(size=20)
NO_SLOPE = {  # parameters without a slope: of SciPy's functions that they are given to
    "t": [1], "gamma": [1], "chi2": [1], "chi": [1], "invgamma": [1], "beta": [1, 2], "f": [1, 2], "poisson": [0],
    "binom": [0, 1], "bernoulli": [0], "geom": [0], "nbinom": [0, 1], "randint": [0, 1, 2],
}  # fmt: skip


def methods(name: str) -> list[str]:
    """Those that a distribution has."""
    discrete = RULES[name].discrete
    found = ["logpmf", "pmf"] if discrete else ["logpdf", "pdf", *(m for m in ("ppf", "isf") if hasattr(RULES[name], m))]
    return [*found, *(m for m in ("cdf", "sf", "logcdf", "logsf") if hasattr(RULES[name], m))]


MORE = [name for name in RULES if RULES[name].__module__ == more_distributions.__name__]


@pytest.mark.parametrize("name", RULES)
def test_formulas_are_scipys(name: str) -> None:
    """Inside, at the ends of the support, beyond it, at infinity and NaN; not compiled."""
    d, s, discrete = getattr(st, name), SHAPES.get(name, ()), RULES[name].discrete
    moved = {"loc": 1} if discrete else {"loc": 0.3, "scale": 1.7}
    moments = [m for m in ("mean", "var", "entropy") if hasattr(RULES[name], m)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for m in [*methods(name), *moments]:
            x = () if m in moments else (SHARES if m in ("ppf", "isf") else COUNTS if discrete else NUMBERS,)
            if m.endswith("pdf"):
                x = (NUMBERS[~np.isinf(NUMBERS)],)  # there SciPy gives -inf for some and NaN for others
            for kw in ({}, moved):
                want = getattr(d, m)(*x, *s, **kw)
                if (name, m) == ("gompertz", "logsf"):  # SciPy's is the logarithm of what underflows
                    want = np.where(np.isinf(want), getattr(stats, m)(d, *x, *s, **kw), want)
                atol = 1e-8 if (name, m) == ("skewnorm", "logcdf") else 1e-13  # SciPy's own is a difference there
                np.testing.assert_allclose(getattr(stats, m)(d, *x, *s, **kw), want, rtol=1e-11, atol=atol, err_msg=m)


@pytest.mark.parametrize("name", [name for name in RULES if name not in MORE])
def test_compiled(name: str) -> None:
    """All methods at once, and the slopes of their sum by position and parameters."""
    d, discrete = getattr(st, name), RULES[name].discrete
    x = np.array([0.0, 1, 2, 3, 5]) if discrete else np.array([-0.4, 0.2, 0.45, 0.6, 0.99, 1.3, 2.2])
    q = np.array([0.1, 0.3, 0.5, 0.77, 0.95])
    arguments: list[Any] = [x, *SHAPES.get(name, ()), *([0.0] if discrete else [0.3, 1.7])]

    def every(x: Any, *parameters: Any) -> list[Any]:
        return [getattr(d, m)(q if m in ("ppf", "isf") else x, *parameters) for m in methods(name)]

    def total(x: Any, *parameters: Any) -> Any:
        s = 0.0
        for v in every(x, *parameters):
            s = s + np.sum(np.where(np.isfinite(v), v, 0.0))
        return s

    with np.errstate(all="ignore"):
        for got, want in zip(irad.compile(every)(*arguments), every(*arguments), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)
        by = [k for k in range(len(arguments)) if k not in NO_SLOPE.get(name, []) and not (discrete and k == len(arguments) - 1)]
        if not by:
            return
        got = irad.grad(total, argnums=tuple(by))(*arguments)
        for k, slope in zip(by, got, strict=True):
            h = 1e-6
            at = lambda v, k=k: [v if j == k else a for j, a in enumerate(arguments)]
            if k:
                want = (total(*at(arguments[k] + h)) - total(*at(arguments[k] - h))) / (2 * h)
            else:
                want = [(total(*at(x + h * e)) - total(*at(x - h * e))) / (2 * h) for e in np.eye(len(x))]
            np.testing.assert_allclose(slope, want, rtol=1e-5, atol=1e-6, err_msg=f"argument {k}")


@pytest.mark.filterwarnings("ignore:invalid value")
def test_shapes_of_extremes() -> None:
    """At 0, where formulas are quotients, and with an end on the other side."""
    x = np.array([-3.0, -0.2, 0.0, 0.4, 1.5, 2.4])
    for d in (st.genpareto, st.genextreme):
        for c in (0.0, -0.4):
            for m in ("logpdf", "cdf", "logsf"):
                np.testing.assert_allclose(np.asarray(getattr(stats, m)(d, x, c)), getattr(d, m)(x, c), rtol=1e-12, atol=1e-14)


def more_at_once(p: Any) -> Any:
    s = st.vonmises.logpdf(p[0], p[1]) + st.hypergeom.pmf(3, 20, 7, 12) * p[0]
    for d, shape, m in (
        (st.genpareto, (p[1],), "logpdf"), (st.genextreme, (p[1],), "cdf"), (st.weibull_max, (p[1] + 1,), "logsf"), (st.gompertz, (p[1],), "logpdf"),
        (st.fisk, (p[1],), "cdf"), (st.johnsonsu, (p[0], p[1]), "logpdf"), (st.exponnorm, (p[1],), "logpdf"), (st.gennorm, (p[1],), "logpdf"),
        (st.betaprime, (p[1], p[0]), "pdf"), (st.truncexpon, (p[1],), "cdf"), (st.lomax, (p[1],), "ppf"), (st.levy, (), "logpdf"),
    ):  # fmt: skip
        s = s + getattr(d, m)(-p[0] if d is st.weibull_max else p[0], *shape)
    return s


def test_more_distributions_compiled() -> None:
    check_compiled(more_at_once, np.array([0.4, 0.7]))


@pytest.mark.parametrize("name", [name for name in RULES if name not in drawing._OTHERS])
def test_samples_are_scipys(name: str) -> None:
    """By Python: the numbers of a seed and of a generator, of each size."""
    d, s = getattr(st, name), SHAPES.get(name, ())
    moved = {"loc": 1} if RULES[name].discrete else {"loc": 0.3, "scale": 1.7}
    for size in (None, 4, (2, 3)):
        for state in (lambda: 3, lambda: np.random.default_rng(5)):
            got = drawing.rvs(d, *s, size=size, random_state=state(), **moved)
            want = d.rvs(*s, size=size, random_state=state(), **moved)
            assert np.shape(got) == np.shape(want) and np.asarray(got).dtype == np.asarray(want).dtype
            np.testing.assert_allclose(got, want, rtol=1e-13)


def drawn(p: Any, rng: Any) -> Any:
    plain = np.sum(st.norm.rvs(p[0], p[1], size=5, random_state=rng) ** 2) + st.expon.rvs(scale=p[0], random_state=rng)
    frozen = np.sum(st.norm(p[0], 2.0).rvs(3, random_state=rng)) + PRIOR.rvs(random_state=rng)
    whole = np.sum(st.poisson.rvs(3.0, size=4, random_state=rng)) + np.sum(
        st.multivariate_normal.rvs(p, np.eye(2), size=3, random_state=rng) ** 2
    )
    return plain + frozen + whole + np.sum(st.gumbel_r.rvs(p[1], size=3, random_state=rng))


def test_samples_are_drawn_at_each_call() -> None:
    p, rng = np.array([1.0, 2.0]), np.random.default_rng
    value, slope = irad.value_and_grad(drawn)(p, rng(0))
    np.testing.assert_allclose(value, drawn(p, rng(0)), rtol=1e-13)
    want = [(drawn(p + e, rng(0)) - drawn(p - e, rng(0))) / 2e-6 for e in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(slope, want, rtol=1e-7)
    of_all = lambda p: (
        p * st.norm.rvs(size=3)
        + st.gumbel_r.rvs(size=3)
        + st.multivariate_normal.rvs(np.zeros(3))
        + st.dirichlet.rvs([1.0, 2, 3])[0]
    )
    seeded = lambda p: st.norm.rvs(p, size=3, random_state=7)
    for f in (of_all, seeded):
        results = []
        for g in (irad.compile(f), f):
            np.random.seed(1)
            results.append([g(1.0), g(1.0)])
        np.testing.assert_allclose(*results, rtol=1e-14)
    with pytest.raises(UnsupportedError, match="vonmises.rvs in compiled code"):
        irad.compile(lambda k: st.vonmises.rvs(k))(1.0)
    with pytest.raises(UnsupportedError, match="ortho_group.rvs in compiled code"):
        irad.compile(lambda x: st.ortho_group.rvs(3) @ x)(np.ones(3))


PRIOR = st.norm(0.5, 2.0)
PLANE = st.multivariate_normal(np.zeros(2), np.array([[2.0, 0.3], [0.3, 1.0]]))


def of_the_outside(p: Any) -> Any:
    return PRIOR.logpdf(p[0]) + PRIOR.logcdf(p[1]) + PLANE.logpdf(p)


def frozen_inside(p: Any) -> Any:
    d = st.norm(p[0], scale=np.exp(p[1]))
    return np.sum(d.logpdf(DATA)) + d.cdf(0.3) - d.ppf(0.2) + d.mean() + d.std() + d.median() + st.gamma(2.0).logpdf(p[0])


def normals_of_several_variables(p: Any) -> Any:
    s = np.outer(p, p) + np.eye(2)
    many = st.multivariate_normal(p, s).logpdf(DATA.reshape(10, 2))
    one = st.multivariate_normal.pdf(DATA, p[0], np.exp(p[1])) + st.multivariate_normal.logpdf(0.3, cov=2.0 + p[0])
    return (
        np.sum(many)
        + np.sum(one)
        + st.multivariate_normal.entropy(p, s)
        + st.multivariate_normal.logpdf(p, np.ones(2), [2.0, 3.0])
    )


def in_a_loop(p: Any) -> Any:
    s = 0.0
    for x in DATA:
        if x > 0:
            s += st.norm.logsf(x, loc=p[0], scale=np.exp(p[1]))
        else:
            s += st.t.logpdf(x, 3.0, p[0])
    return s


def shares_and_counts(p: Any) -> Any:
    q = 1 / (1 + np.exp(p[0]))
    return (
        st.dirichlet.logpdf(np.array([0.2, 0.3, 0.5]), np.exp(np.array([p[0], p[1], 0.0])))
        + st.multinomial.logpmf(np.array([1, 2]), 3, np.array([q, 1 - q]))
        + np.sum(st.binom.pmf(np.arange(6), 5, q) * np.arange(6))
    )


def of_samples(p: Any) -> Any:
    x = np.exp(DATA * p[1])
    return (
        st.zscore(x)[3]
        + st.skew(x)
        + st.kurtosis(x)
        + st.entropy(x)
        + st.entropy(x, x[::-1])
        + st.gmean(x)
        + st.hmean(x)
        + st.sem(x)
    )


@pytest.mark.parametrize(
    "f",
    [of_the_outside, frozen_inside, normals_of_several_variables, in_a_loop, shares_and_counts, of_samples],
    ids=lambda f: f.__name__,
)
def test_programs(f: Any) -> None:
    p, h = np.array([0.3, -0.2]), 1e-6
    value, slope = irad.value_and_grad(f)(p)
    np.testing.assert_allclose(value, f(p), rtol=1e-12)
    np.testing.assert_allclose(slope, [(f(p + h * e) - f(p - h * e)) / (2 * h) for e in np.eye(2)], rtol=1e-6, atol=1e-7)


def unbiased(x: Any) -> Any:
    w = np.arange(1.0, 5.0)
    return [
        st.skew(x, 0, False), st.kurtosis(x, 0, True, False), st.kurtosis(x, bias=False, fisher=False), st.skew(x, axis=None),
        st.gmean(x, weights=w), st.hmean(x, weights=w), st.skew(x * 0 + 1.1),
    ]  # fmt: skip


def test_moments_that_are_corrected_or_weighted() -> None:
    x = np.array([1.0, 2.0, 5.0, 4.0])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(irad.compile(unbiased)(x), unbiased(x), rtol=1e-13)
    f = lambda x: st.skew(x, bias=False) + st.hmean(x, weights=np.arange(1.0, 5.0))
    want = [(f(x + e) - f(x - e)) / 2e-6 for e in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(irad.grad(f)(x), want, rtol=1e-7)


def test_tails_have_slopes() -> None:
    """Where the density underflows, and beyond the support."""
    x = np.array([-40.0, -5.0, 40.0])
    np.testing.assert_allclose(irad.grad(lambda x: np.sum(st.norm.logpdf(x)))(x), -x)
    np.testing.assert_allclose(irad.grad(lambda x: np.sum(st.norm.logcdf(x)))(x[:1]), [40.02496], rtol=1e-6)
    outside = irad.grad(lambda x: np.sum(st.gamma.pdf(x, 2.5)))(np.array([-1.0, 0.0]))
    assert outside.tolist() == [0.0, 0.0]


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="scipy.stats.kappa3 of traced numbers"):
        irad.compile(lambda x: st.kappa3.logpdf(x, 2.0))(0.3)
    with pytest.raises(TypeError, match="norm got an unexpected argument 'scal'"):
        irad.compile(lambda x: st.norm.logpdf(x, scal=2.0))(0.3)
    with pytest.raises(TypeError, match="gamma is missing the argument 'a'"):
        irad.compile(lambda x: st.gamma.logpdf(x))(0.3)
    with pytest.raises(UnsupportedError, match="no slope in closed form along a"):
        irad.grad(lambda a: st.gamma.cdf(1.0, a))(2.0)
    with pytest.raises(np.linalg.LinAlgError):
        irad.compile(lambda x: st.multivariate_normal.logpdf(x, cov=[[1.0, 2.0], [2.0, 1.0]]))(np.zeros(2))


@pytest.mark.parametrize("cov", [np.eye(2) * 2, np.array([[2.0, 1.0], [1.0, 2.0]]), np.ones((2, 2)), np.array([1.0, 2.0]), 3.0])
def test_a_normal_density_of_a_covariance_that_may_be_singular(cov: Any) -> None:
    from scipy.stats import multivariate_normal

    def f(x: np.ndarray, cov: Any) -> Any:
        return multivariate_normal.logpdf(x, np.array([0.1, 0.1]), cov, True)

    x = np.array([0.3, 0.3])
    assert np.isclose(irad.compile(f)(x, cov), f(x, cov), rtol=1e-14)
    assert irad.compile(f)(np.array([0.3, 0.4]), np.ones((2, 2))) == -np.inf
    along = np.ones(2) * 1e-6
    assert np.isclose(np.sum(irad.grad(f)(x, cov) * along), (f(x + along, cov) - f(x - along, cov)) / 2, rtol=1e-6)


def test_the_normal_distribution_without_checks() -> None:
    x, q = np.array([-3.0, 0.2, 1.5]), np.array([0.01, 0.4, 0.9])
    for name in ("_pdf", "_logpdf", "_cdf", "_logcdf", "_sf"):
        f = lambda x: getattr(st.norm, name)(x)  # noqa: B023
        np.testing.assert_allclose(irad.compile(f)(x), f(x), rtol=1e-14)
    np.testing.assert_allclose(irad.grad(lambda x: np.sum(st.norm._cdf(x) - st.norm._sf(x)))(x), 2 * st.norm.pdf(x), rtol=1e-14)
    np.testing.assert_allclose(irad.compile(lambda q: st.norm._ppf(q))(q), st.norm.ppf(q), rtol=1e-13)
