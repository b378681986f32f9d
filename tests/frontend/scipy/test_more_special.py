"""scipy.special in NumPy: polynomials by recurrence, spherical harmonics and Bessel functions, choices, zeta, Airy's, Faddeeva's functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import irad
from irad.errors import UnsupportedError
from irad.frontend.library.special import counting, orthogonal
from tests.support.scipy_calls import call, check_compiled, check_not_compiled

R = np.random.default_rng(0)
X = np.r_[R.uniform(-1, 1, 7), -1, 1, 0.0, 1.7, -2]
INSIDE, Z, N = X[:10], np.array([0, 1e-3, 0.3, 1, 2.5, 7, 30, -0.4, -8]), np.array([0, 1, 2, 5, -1, -2, 3.5])
POLYNOMIALS = (sp.eval_legendre, sp.eval_chebyt, sp.eval_chebyu, sp.eval_hermite, sp.eval_hermitenorm, sp.eval_laguerre)

CALLS = [
    *(call(f, n, X) for f in POLYNOMIALS for n in (0, 1, 2, 5, 12, np.arange(5)[:, None])), *(call(f, 3, 0.3) for f in POLYNOMIALS),
    *(call(f, n, *a, X) for n in (0, 1, 4) for f, a in ((sp.eval_genlaguerre, (0.5,)), (sp.eval_gegenbauer, (0.7,)), (sp.eval_jacobi, (0.5, -0.3)))),
    *(call(sp.lpmv, m, v, INSIDE) for v in range(4) for m in range(-v, 4)),
    *(call(f, n, z, d) for d in (False, True) for n in (0, 1, 2, 5, 9) for f, z in (
        (sp.spherical_jn, Z), (sp.spherical_in, Z), (sp.spherical_yn, Z[1:7]), (sp.spherical_kn, Z[1:7]))),
    call(sp.factorial, N), call(sp.factorial2, np.array([0, 1, 2, 3, 7, 8, -1, -2])), call(sp.comb, N[:, None], np.arange(4)),
    call(sp.comb, 5, 3, repetition=True), call(sp.perm, N[:, None], np.arange(4)), call(sp.multigammaln, np.array([3.0, 4.2]), 4),
    call(sp.multigammaln, 1.0, 4), call(sp.zeta, np.array([1, 1.0001, 1.5, 2, 3, 10, 50, 0, 0.5, -1, -2, -3.5, -10.2])), call(sp.zeta, 3.0, 0.2),
    call(sp.zeta, np.array([1.5, 2, 1, 0.5, 7]), np.array([0.3, 2, 2, 2, -1])), call(sp.airy, np.array([-20, -7, -2, -1.99, -1, 0, 0.5, 1.99, 2, 5, 10.0])),
    call(sp.voigt_profile, X, 0.7, 0.3), call(sp.voigt_profile, 0.3, 1.0, 0.0), call(sp.wofz, X), call(sp.wofz, 4 * X + 1j * X[::-1]), call(sp.wofz, X - 2j),
]  # fmt: skip


def test_not_compiled() -> None:
    check_not_compiled([orthogonal, counting], CALLS)
    for m in range(-3, 4):
        for n in range(4):
            np.testing.assert_allclose(
                orthogonal.sph_harm_y(n, m, 2 * X, X), sp.sph_harm_y(n, m, 2 * X, X), rtol=1e-12, atol=1e-15
            )
    for p in (sp.legendre(20), sp.hermite(4), sp.chebyt(0), sp.jacobi(3, 0.3, 0.1, monic=True)):
        np.testing.assert_allclose(orthogonal.evaluate(p, INSIDE), p(INSIDE), rtol=1e-10, atol=1e-13)


P, Q, U = sp.legendre(4), sp.hermite(3), R.uniform(0.1, 0.9, 4)


def polynomials(x: Any) -> Any:
    families = (
        sp.eval_legendre(4, x) ** 2
        + sp.eval_chebyt(3, x) * sp.eval_hermite(3, x)
        + sp.eval_genlaguerre(2, x[0], x)
        + sp.eval_jacobi(3, 0.3, x[1], x)
    )
    return np.sum(families) + np.sum(sp.eval_legendre(np.arange(3)[:, None], x) ** 2) + np.sum(P(x) ** 2 + Q(x) + sp.chebyt(3)(x))


def on_spheres(x: Any) -> Any:
    harmonics = np.real(sp.sph_harm_y(3, -2, x, x[::-1])) + sp.lpmv(2, 3, x)
    waves = (
        sp.spherical_jn(2, x * 5)
        + sp.spherical_kn(1, x)
        + sp.spherical_in(2, x) * sp.spherical_yn(2, x)
        + sp.spherical_jn(1, x, True)
    )
    return np.sum(harmonics + waves)


def counts(x: Any) -> Any:
    choices = sp.factorial(x) + sp.comb(5 * x + 1, x) + sp.perm(5 + x, 2 * x) + sp.multigammaln(x + 2, 3)
    return np.sum(
        choices + sp.zeta(x + 1.5) + sp.zeta(2.0 + x, x) + sp.airy(x)[0] + sp.airy(-5 * x)[3] + sp.airy(4 * x)[1] * sp.airy(x)[2]
    )


def profiles(x: Any) -> Any:
    return np.sum(np.abs(sp.wofz(x + 1j * x[::-1] - 0.5j)) ** 2 + sp.voigt_profile(x, x + 0.2, x * 0.3))


@pytest.mark.parametrize("f", [polynomials, on_spheres, counts, profiles], ids=lambda f: f.__name__)
def test_compiled(f: Any) -> None:
    check_compiled(f, U)


def test_slopes_where_formulas_are_quotients() -> None:
    assert irad.grad(lambda x: sp.spherical_jn(1, x))(0.0) == pytest.approx(1 / 3, rel=1e-15)
    assert irad.grad(lambda x: sp.eval_legendre(3, x))(1.0) == pytest.approx(6.0, rel=1e-14)
    assert irad.grad(irad.grad(lambda x: sp.airy(x)[0]))(0.0) == 0.0


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="degrees that are no whole numbers"):
        irad.compile(lambda x: sp.eval_legendre(1.5, x))(0.3)
    with pytest.raises(UnsupportedError, match="exact=True"):
        irad.compile(lambda x: sp.comb(x, 2, exact=True))(5.0)
    with pytest.raises(UnsupportedError, match="order below minus the degree"):
        irad.compile(lambda x: sp.lpmv(-2, 1, x))(0.3)
