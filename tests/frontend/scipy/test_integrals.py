"""scipy.integrate in NumPy: several variables, several values, equally spaced samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate as si

import irad
from irad.errors import UnsupportedError
from irad.frontend.library.integrate import integrals
from tests.support.scipy_calls import call, check_compiled, check_not_compiled

R = np.random.default_rng(0)
Y, X = R.random((3, 9)), np.cumsum(R.random(9) + 0.1)


def test_not_compiled() -> None:
    sums = [
        call(si.cumulative_simpson, Y[:, :n], **kw)
        for n in (9, 8, 3, 2)
        for kw in ({}, {"x": X[:n], "initial": 0}, {"dx": 0.2, "initial": 1.5})
    ]
    check_not_compiled(
        [integrals],
        [*sums, call(si.cumulative_simpson, Y, axis=0), call(si.romb, Y, 0.3), call(si.romb, Y[0]), call(si.romb, Y[0, :8])],
    )
    plane, solid = (lambda y, x: x * y**2 + np.exp(-x * y)), (lambda z, y, x: x * y + z**2)
    curved = (0, 2, 0, lambda x: x + 1)
    several = lambda x: np.array([np.sin(9 * x), 1 / (x + 0.01)])
    for f, args in (
        (si.dblquad, (plane, *curved)), (si.tplquad, (solid, 0, 1, 0, lambda x: x, 0, lambda x, y: x * y + 1)),
        (si.nquad, (lambda x, y, z: x + y * z, [[0, 1], lambda z: [0, z], (0, 2)])), (si.quad_vec, (several, 0, 2)), (si.quad_vec, (np.exp, 0, 2.0)),
    ):  # fmt: skip
        np.testing.assert_allclose(getattr(integrals, f.__name__)(*args)[0], f(*args)[0], rtol=1e-9)


def over_a_triangle(p: Any) -> Any:
    return si.dblquad(lambda y, x: np.exp(-p[0] * x * y), 0, 1, 0, lambda x: p[1] + x)[0]


def of_several_values(p: Any) -> Any:
    sums = si.romb(Y[0] * p[0], 0.2) + np.sum(si.cumulative_simpson(Y[0] ** p[1], x=X) ** 2)
    return sums + np.sum(si.quad_vec(lambda x: np.stack((np.sin(p[0] * x), x ** p[1])), 0, p[1])[0] ** 2)


@pytest.mark.parametrize("f", [over_a_triangle, of_several_values], ids=lambda f: f.__name__)
def test_compiled(f: Any) -> None:
    check_compiled(f, np.array([1.1, 0.7]), 1e-9)


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="more than three variables"):
        irad.compile(lambda p: si.nquad(lambda *x: p, [[0, 1]] * 4)[0])(1.0)
    with pytest.raises(ValueError, match="one plus a non-negative power of 2"):
        irad.compile(si.romb)(np.ones(6))
