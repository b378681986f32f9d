"""Functions of scipy.special that are SciPy's own C code in native code: values bit for bit, slopes to second order."""

from __future__ import annotations

import contextlib
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp

import irad
from irad.core.interp import interpret
from irad.core.ir import Program, build
from irad.core.text import parse, show
from irad.core.types import Type
from irad.errors import UnsupportedError
from irad.ops.core import OPS
from irad.ops.scipy_special import ARITY, FUNCTIONS, PREFIX
from tests.ops.test_derivative_table import differentiated

RNG = np.random.default_rng(3)
LARGER = "stdtr stdtrit chdtr chdtrc chdtri fdtr fdtrc fdtri gammaincinv gammainccinv".split()
CONSTANT = "round gammasgn".split()
PAST_ONE = "kv yv k0 k1 y0 y1".split()

# What the names of operands without a slope are, as the error says it.
NO_SLOPE = {
    "gammainc": "a", "gammaincc": "a", "gammaincinv": "a", "gammainccinv": "a", "betainc": "a b", "betaincc": "a b",
    "betaincinv": "a b", "betainccinv": "a b", "stdtr": "df", "stdtrit": "df", "chdtr": "v", "chdtrc": "v", "chdtri": "v",
    "fdtr": "dfn dfd", "fdtrc": "dfn dfd", "fdtri": "dfn dfd", "expn": "n", "hyp0f1": "v", "hyp1f1": "a b", "hyp2f1": "a b c",
    "hyperu": "a b", "ellipkinc": "m", "ellipeinc": "m", "jv": "v", "yv": "v", "iv": "v", "kv": "v", "ive": "v", "kve": "v",
}  # fmt: skip


def arguments(name: str) -> list[np.ndarray]:
    """Where a function is smooth."""
    xs = [RNG.uniform(0.1, 0.9, 5) for _ in range(ARITY[name])]
    if name in LARGER:
        xs = [*(5 * x + 1 for x in xs[:-1]), xs[-1]]
    if name == "binom":
        xs[0] += 3
    if name == "expn":
        xs[0] = np.array([2.0, 3.0, 4.0, 2.0, 3.0])
    if name == "ndtri_exp":
        xs[0] *= -3
    if name in PAST_ONE:
        xs[-1] += 1
    return xs


def moved(xs: list[np.ndarray], k: int, h: float) -> list[np.ndarray]:
    return [x + h if j == k else x for j, x in enumerate(xs)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_scipys(name: str) -> None:
    f, xs = getattr(sp, name), arguments(name)
    np.testing.assert_array_equal(irad.compile(lambda *x: f(*x))(*xs), f(*xs))
    edges = [np.array([0.0, 1.0, -1.5, np.inf, np.nan, 2.0])] * ARITY[name]
    np.testing.assert_array_equal(irad.compile(lambda *x: f(*x))(*edges), f(*edges))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes(name: str) -> None:
    """Along each operand, once and twice, against differences; where there is no closed form, the error says so."""
    f, xs = getattr(sp, name), arguments(name)
    total = lambda *x: np.sum(f(*x))
    refused = []
    for k in range(ARITY[name]):
        slope = irad.grad(total, argnums=k)
        try:
            got = slope(*xs)
        except UnsupportedError as e:
            assert "no slope in closed form" in str(e)
            refused.append(str(e).split("along ")[1].split(";")[0])
            continue
        h = 1e-6
        np.testing.assert_allclose(got, (f(*moved(xs, k, h)) - f(*moved(xs, k, -h))) / (2 * h), rtol=1e-6, atol=1e-8)
        again, h = irad.grad(lambda *x, slope=slope: np.sum(slope(*x)), argnums=k)(*xs), 1e-4
        second = (f(*moved(xs, k, h)) - 2 * f(*xs) + f(*moved(xs, k, -h))) / h**2
        np.testing.assert_allclose(again, second, rtol=1e-4, atol=1e-5)
    assert " ".join(refused) == NO_SLOPE.get(name, "")


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in CONSTANT])
def test_higher_derivatives(name: str) -> None:
    """To order 3, of one operand to 4, mixed in every order: each against differences of the one before it."""
    n, xs = ARITY[name], arguments(name)
    base = {"f": build([Type("f64", (5,))] * n, lambda *vs: FUNCTIONS[name](*vs), "f")}
    for k in range(n):
        with contextlib.suppress(UnsupportedError):  # along operands that test_slopes lists
            _check_from(base, xs, (k,), 4 if n == 1 else 3)


def _check_from(base: Program, xs: list[np.ndarray], along: tuple[int, ...], order: int) -> None:
    before, args = base, list(xs)
    for j, k in enumerate(along):
        program = differentiated(before, k, j % 2 == 0, len(xs))
        f = lambda h, p=before, args=args, k=k: interpret(p, *moved(args, k, h))[-1]
        before, args = program, [*args, np.ones(5)]
    want = _richardson(f, xs[along[-1]])
    np.testing.assert_allclose(interpret(before, *args)[-1], want, rtol=1e-5, atol=1e-5, err_msg=f"{along} at {xs}")
    for k in range(len(xs) if len(along) < order else 0):
        with contextlib.suppress(UnsupportedError):
            _check_from(base, xs, (*along, k), order)


def _richardson(f: Any, x: np.ndarray) -> np.ndarray:
    """Central differences of three steps."""
    h = 2e-3 * np.minimum(1, np.abs(x))
    d = lambda s: (f(s * h) - f(-s * h)) / (2 * s * h)
    return (64 * d(0.25) - 20 * d(0.5) + d(1)) / 45


@pytest.mark.parametrize(
    ("name", "f", "xs"),
    [
        ("log_ndtr", lambda x: mp.log(mp.ncdf(x)), [-30.0, -5.0, 0.0, 3.0]),
        ("ndtri", lambda y: mp.sqrt(2) * mp.erfinv(2 * y - 1), [0.01, 0.3, 0.5, 0.999]),
        ("erfinv", mp.erfinv, [-0.9, 0.0, 0.5]),
        ("gamma", mp.gamma, [0.3, 1.0, 4.5, -0.5]),
        ("exprel", lambda x: mp.hyp1f1(1, 2, x), [-1.0, 0.0, 1e-9, 2.0]),
        ("ellipk", mp.ellipk, [-1.0, 0.0, 0.5, 0.99]),
        ("ellipe", mp.ellipe, [-1.0, 0.0, 0.5, 0.99]),
        ("spence", lambda z: mp.polylog(2, 1 - z), [0.5, 1.0, 1.5]),
        ("j1", lambda x: mp.besselj(1, x), [0.0, 1.0, 10.0]),
        ("i1e", lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), [0.5, 40.0]),
    ],
)
def test_slopes_at_special_points(name: str, f: Any, xs: list[float]) -> None:
    """Tails, and points where a formula would be 0/0."""
    got = irad.grad(lambda x: np.sum(getattr(sp, name)(x)))(np.array(xs))
    with mp.workdps(40):
        want = [float(mp.re(mp.diff(f, mp.mpf(x)))) for x in xs]
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)


def test_the_error_is_at_the_users_line() -> None:
    def f(a: float) -> Any:
        return 2 * sp.gammainc(a, 2.0)  # this line

    with pytest.raises(UnsupportedError, match=r"irad\.stop_gradient\(a\)") as e:
        irad.grad(f)(3.0)
    assert "# this line" in str(e.value)


def test_single_precision_and_whole_numbers() -> None:
    x = np.linspace(0.1, 0.9, 7).astype(np.float32)
    got = irad.compile(lambda x: sp.erfcx(x))(x)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, sp.erfcx(x), rtol=2e-7)
    assert irad.compile(lambda n, x: sp.jv(n, x))(2, 1.5) == sp.jv(2, 1.5)


def test_in_loops_branches_and_lanes() -> None:
    """Lanes that are not active are not computed; scalars in a loop are."""

    def f(x: Any) -> Any:
        s = 0.0
        for k in range(len(x)):
            if x[k] > 0.5:
                s = s + sp.gammainc(k + 1.0, x[k]) * sp.ndtri(x[k])
        return s + np.sum(np.where(x > 0.3, sp.erfinv(x), 0.0))

    x = RNG.uniform(0.05, 0.95, 37)
    value, slope = irad.value_and_grad(f)(x)
    assert np.isclose(value, f(x), rtol=1e-14)
    h = 1e-6
    want = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(37)]
    np.testing.assert_allclose(slope, want, rtol=1e-6, atol=1e-7)


def test_a_text_of_a_row_is_read() -> None:
    source = f"func @f(%x: f64[3]) -> f64[3] {{\n  %y: f64[3] = {PREFIX}erfcx %x\n  return %y\n}}"
    assert f"{PREFIX}erfcx" in show(parse(source))
    assert all(PREFIX + n in OPS for n in FUNCTIONS)


def test_lambertw() -> None:
    """Against SciPy, and w / (x (1 + w)); second derivatives against mpmath."""
    for k in (0, -1, 2):
        c = irad.compile(lambda z: sp.lambertw(z, k))  # noqa: B023
        for z in (
            np.array([-0.36, -0.1, -1e-5, 0.0, 1e-3, 1.0, 1e5, 1e300, -5.0]),
            np.array([1 + 2j, -3 - 0.1j, -0.3 + 0.2j, -0.4 - 0.01j]),
        ):
            np.testing.assert_allclose(c(z), sp.lambertw(z, k), rtol=1e-14, atol=1e-300)
    f = lambda x: sp.lambertw(x).real ** 2
    for x, second in ((-0.3, 49.97509294350863), (0.5, 0.21019925468541778), (10.0, -0.011166567223183186)):
        w = sp.lambertw(x).real
        np.testing.assert_allclose(irad.grad(f)(x), 2 * w * w / (x * (1 + w)), rtol=1e-13)
        np.testing.assert_allclose(irad.grad(irad.grad(f))(x), second, rtol=1e-12)
