"""SciPy's solvers call compiled functions with no glue (docs/interop.md shows the rest)."""

from __future__ import annotations

import cProfile
import pstats
import time
from typing import Any

import numpy as np
import pytest
from scipy.optimize import curve_fit, minimize

import irad

pytestmark = pytest.mark.plain


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_minimize_spends_its_time_in_scipy() -> None:
    """Value and gradient are one builtin, without Python frames of irad, and a small part of a step."""
    both, x = irad.value_and_grad(rosenbrock), np.array([1.3, 0.7, 0.8, 1.9, 1.2])
    for _ in range(4):
        both(x)
    profile = cProfile.Profile()
    found = profile.runcall(minimize, both, x, jac=True, method="BFGS")
    assert found.fun < 1e-10
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    assert not [k for k in stats if "/irad/" in k[0].replace("\\", "/")]
    start = time.process_time()
    for _ in range(1000):
        both(x)
    each = (time.process_time() - start) / 1000
    start = time.process_time()
    again = minimize(both, x, jac=True, method="BFGS")
    assert again.nfev * each < 0.2 * (time.process_time() - start)


def test_curve_fit() -> None:
    f = lambda t, a, b: a * np.exp(-b * t)
    t = np.linspace(0, 2, 20)
    slopes = irad.jacobian(f, argnums=(1, 2))
    jac = lambda t, a, b: np.stack(slopes(t, a, b), axis=1)
    found, _ = curve_fit(irad.compile(f), t, f(t, 3.0, 1.5), p0=[1.0, 1.0], jac=jac)
    np.testing.assert_allclose(found, [3.0, 1.5], rtol=1e-8)
