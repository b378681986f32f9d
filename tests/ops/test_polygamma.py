"""scipy.special.polygamma of every order against mpmath, and the chain of derivatives that starts at gammaln."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import irad
from irad.errors import IradValueError

special = pytest.importorskip("scipy.special")
RNG = np.random.default_rng(0)
POSITIVE = np.concatenate([RNG.uniform(0.01, 12, 40), 10 ** RNG.uniform(-8, 8, 40), RNG.uniform(20, 200, 10)])
NEGATIVE = -np.concatenate([RNG.uniform(0.01, 12, 30), 10 ** RNG.uniform(-5, 1, 20)])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 12, 30])
def test_values(n: int) -> None:
    f = irad.compile(lambda x: special.polygamma(n, x))
    with mpmath.workdps(40):
        for x, y in zip(POSITIVE, f(POSITIVE)):
            want = mpmath.psi(n, mpmath.mpf(x))
            if 1e-300 < abs(want) < 1e300:
                assert abs(mpmath.mpf(y) - want) < 4e-15 * abs(want), x
        for x, y in zip(NEGATIVE, f(NEGATIVE)):  # relative to the larger of the terms that are subtracted
            want, other = mpmath.psi(n, mpmath.mpf(x)), mpmath.psi(n, 1 - mpmath.mpf(x))
            if abs(want) < 1e300:
                near = abs(x - round(x)) or 1.0
                assert abs(mpmath.mpf(y) - want) < 1e-14 * (abs(want) * max(1, (n + 1) * abs(x) / near) + abs(other)), x


@pytest.mark.parametrize("n", [2, 3])
def test_edges_are_scipys(n: int) -> None:
    x = np.array([0.0, -1.0, -2.0, np.inf, -np.inf, np.nan, 1e-300, 1e300, 5e-324])
    np.testing.assert_array_equal(irad.compile(lambda x: special.polygamma(n, x))(x), special.polygamma(n, x))


def test_derivatives_to_fifth_order() -> None:
    f = lambda x: special.gammaln(x)  # noqa: E731
    for k in range(6):
        f = irad.grad(f)
        np.testing.assert_allclose(f(1.3), float(mpmath.psi(k, mpmath.mpf(1.3))), rtol=1e-14)
    x = np.array([0.4, 2.0, -1.3])
    irad.check_grads(lambda x: special.polygamma(2, x), (x,), order=2, rtol=1e-5)
    h = irad.jacobian(irad.grad(lambda x: np.sum(special.digamma(x))), sparse=True)(x)
    np.testing.assert_allclose(h.toarray(), np.diag(special.polygamma(2, x)), rtol=1e-14)
    assert h.nnz == 3


def test_dtypes_and_batches() -> None:
    x = np.array([0.5, 3.0], np.float32)
    got = irad.compile(irad.vmap(lambda x: special.polygamma(4, x)))(x)
    np.testing.assert_allclose(got, special.polygamma(4, x), rtol=1e-6)
    assert irad.compile(lambda x: special.polygamma(2, x))(np.zeros((0, 2))).shape == (0, 2)
    with pytest.raises(IradValueError, match="0 or more"):
        irad.compile(lambda x: special.polygamma(-1, x))(x)
