"""The polynomial kernels against mpmath: the error table of irad.codegen.math.poly, special values, huge arguments, sharing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special
from mpmath import mpf

from irad.codegen.math.poly import ABSOLUTE, FUNCTIONS, ULP
from irad.codegen.math.values import Values
from irad.core.types import DTYPES
from irad.ops.special import gammaln_value
from tests.support import ROOT
from tests.support.rules_on_arrays import compile, count, operand

LANES = 8
N = 400  # random points per range


def exact_pow(x: mpf, y: mpf) -> mpf:
    return mpmath.re(mpmath.power(x, y))


def exact_gammaln(x: mpf) -> mpf:
    return mpmath.re(mpmath.loggamma(x)) if x > 0 else mpmath.log(abs(mpmath.gamma(x)))


EXACT: dict[str, Callable[..., mpf]] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "log10": lambda x: mpmath.log(x) / mpmath.log(10),
    "log1p": mpmath.log1p,
    "pow": exact_pow,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "hypot": lambda x, y: mpmath.sqrt(x * x + y * y),
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "arctan2": mpmath.atan2,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "gammaln": exact_gammaln,
    "digamma": mpmath.digamma,
    "trigamma": lambda x: mpmath.psi(1, x),
}


# ---- where to look --------------------------------------------------------------------------------------------------


class Points:
    """Samples of the real line for one dtype."""

    def __init__(self, dtype: str):
        self.rng = np.random.default_rng(11)
        self.big, self.tiny, self.sub = (709.0, -708.0, -744.0) if dtype == "f64" else (88.0, -87.0, -103.0)

    def between(self, a: float, b: float) -> np.ndarray:
        return self.rng.uniform(a, b, N)

    def sizes(self, a: float, b: float) -> np.ndarray:
        """exp of a uniform number."""
        return np.exp(self.rng.uniform(a, b, N))

    def signed(self, a: float, b: float) -> np.ndarray:
        return self.sizes(a, b) * self.rng.choice([-1, 1], N)

    def wide(self) -> np.ndarray:
        return self.signed(self.sub, self.big)


def points(name: str, dtype: str) -> list[np.ndarray]:
    p, join = Points(dtype), np.concatenate
    near_zero = [p.signed(-30, 0), p.between(-1, 1), p.between(-0.1, 0.1)]
    positive = [p.sizes(p.sub, p.big), p.between(0.5, 2), p.between(0.9, 1.1), 1 + p.sizes(-25, -2), 1 - p.sizes(-25, -2)]
    in_unit = [p.between(-1, 1), *near_zero, 1 - p.sizes(-25, -1), p.sizes(-25, -1) - 1]
    top = 711.0 if dtype == "f64" else 89.4
    pairs = {
        "hypot": lambda: ([p.wide(), p.between(-4, 4), p.sizes(p.sub, p.tiny)], [p.wide(), p.between(-4, 4), p.sizes(p.sub, p.tiny)]),
        "arctan2": lambda: ([p.wide(), p.between(-4, 4), p.wide(), p.sizes(p.sub, p.tiny)], [p.wide(), p.between(-4, 4), p.between(-4, 4), p.sizes(p.sub, p.tiny)]),
    }  # fmt: skip
    if name == "pow":
        x = join([p.sizes(p.tiny, p.big), p.sizes(-3, 3), 1 + p.signed(-20, -2), p.sizes(p.sub, p.tiny)])
        y = p.rng.uniform(-1, 1, len(x)) * p.big / np.maximum(np.abs(np.log(x)), 1e-9)
        return [x, y]
    if name in pairs:
        return [join(side) for side in pairs[name]()]
    ranges = {
        "exp": [p.between(p.sub, p.big), *near_zero],
        "exp2": [p.between(p.sub, p.big) * 1.44, *near_zero],
        "expm1": [p.between(-40, p.big), p.between(-2, 2), *near_zero],
        "log": positive,
        "log2": positive,
        "log10": positive,
        "log1p": [p.sizes(p.sub, p.big), *in_unit, p.between(-0.6, 1)],
        "cbrt": [p.wide(), p.between(-8, 8)],
        "sin": [p.between(-10, 10), *near_zero, p.between(-1e5, 1e5), p.wide()],
        "cos": [p.between(-10, 10), *near_zero, p.between(-1e5, 1e5), p.wide()],
        "tan": [p.between(-10, 10), *near_zero, p.between(-1e5, 1e5), p.wide()],
        "arcsin": in_unit,
        "arccos": in_unit,
        "arctan": [p.between(-4, 4), p.wide(), *near_zero],
        "sinh": [p.between(-top, top), p.between(-2, 2), *near_zero],
        "cosh": [p.between(-top, top), p.between(-2, 2), *near_zero],
        "tanh": [p.between(-22, 22), p.between(-2, 2), *near_zero],
        "arcsinh": [p.wide(), p.between(-4, 4), *near_zero],
        "arccosh": [p.between(1, 4), 1 + p.sizes(-30, 2), p.sizes(0, p.big)],
        "arctanh": in_unit,
        "erf": [p.between(-6, 6), p.between(0.8, 1.5), *near_zero],
        "erfc": [p.between(-6, 6), p.between(0, 26 if dtype == "f64" else 9), p.between(0.7, 1.8), *near_zero],
        "gammaln": [p.between(0, 12), p.sizes(-80, 80), 1 + p.signed(-25, -2), 2 + p.signed(-25, -2), -p.sizes(-20, 5)],
        "digamma": [p.between(0, 12), p.sizes(-80, 80), -p.sizes(-20, 5)],
        "trigamma": [p.between(0, 12), p.sizes(-40, 40), -p.sizes(-20, 5)],
    }
    return [join(ranges[name])]


def run(name: str, dtype: str, args: Sequence[np.ndarray], lanes: int = LANES) -> np.ndarray:
    return compile(lambda E, a: FUNCTIONS[name](E, *a), [dtype] * len(args), lanes)(*args)


def errors(name: str, got: np.ndarray, args: Sequence[np.ndarray]) -> list[tuple[float, float]]:
    """(ULP, absolute) error of each result whose exact value is in range."""
    out = []
    for g, *xs in zip(got, *args):
        exact = EXACT[name](*[mpf(float(x)) for x in xs])
        rounded = got.dtype.type(float(exact))
        if not np.isfinite(rounded):
            out.append((0.0, 0.0))
        elif not np.isfinite(g):
            out.append((np.inf, np.inf))
        else:
            away = abs(mpf(float(g)) - exact)
            out.append((float(away / mpf(float(np.spacing(abs(rounded))))), float(away)))
    return out


def assert_within(name: str, dtype: str, args: Sequence[np.ndarray]) -> None:
    got = run(name, dtype, args)
    found = errors(name, got, args)
    for (ulp, away), *xs in zip(found, *args):
        assert ulp <= ULP[name][dtype] or away <= ABSOLUTE.get(name, 0.0), f"{name}{tuple(xs)} is off by {ulp} ULP, {away}"


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_within_the_table(name: str, dtype: str) -> None:
    with mpmath.workprec(1200 if name in ("sin", "cos", "tan") else 140), np.errstate(all="ignore"):
        assert_within(name, dtype, [a.astype(DTYPES[dtype]) for a in points(name, dtype)])


# ---- float32 everywhere ---------------------------------------------------------------------------------------------

WIDE: dict[str, Callable[..., Any]] = {
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "gammaln": scipy.special.gammaln,
    "digamma": scipy.special.digamma,
}
UNARY = [n for n in FUNCTIONS if n not in ("pow", "hypot", "arctan2", "trigamma")]


@pytest.mark.parametrize("name", UNARY)
def test_float32_over_all_exponents(name: str) -> None:
    """Every 20011-th bit pattern, infinities and NaNs included, against float64."""
    x = np.arange(0, 2**32, 20011, dtype=np.uint64).astype(np.uint32).view(np.float32)
    got = run(name, "f32", [x], 16)
    with np.errstate(all="ignore"):
        exact = WIDE.get(name, getattr(np, name, None))(x.astype(np.float64))  # type: ignore[misc]
        want = exact.astype(np.float32)
        ulp = np.abs(got.astype(np.float64) - exact) / np.spacing(np.abs(want)).astype(np.float64)
    plain = np.isfinite(want) & np.isfinite(exact)
    worst = np.argmax(np.where(plain, ulp, 0))
    assert not np.isnan(got[plain]).any()
    assert ulp[worst] <= ULP[name]["f32"] or abs(got[worst] - exact[worst]) <= ABSOLUTE.get(name, 0), (x[worst], ulp[worst])
    other = ~plain
    same = (got == want) | (np.isnan(got) & np.isnan(want)) | (np.isfinite(exact) & (np.abs(got) > 3.4e38))
    assert same[other].all(), (x[other & ~same][:3], got[other & ~same][:3])


# ---- special values -------------------------------------------------------------------------------------------------

# what SciPy says where mathematics has nothing to say
GAMMA = {"gammaln": gammaln_value, "digamma": scipy.special.digamma, "trigamma": lambda x: scipy.special.polygamma(1, x)}
ERROR = {"erf": scipy.special.erf, "erfc": scipy.special.erfc}


def nasty(dtype: str) -> np.ndarray:
    f = np.finfo(DTYPES[dtype])
    sub = float(f.smallest_subnormal)
    positive = [
        0,
        sub,
        5 * sub,
        f.tiny / 3,
        f.tiny,
        1e-20,
        0.5,
        1 - f.epsneg,
        1,
        1 + f.eps,
        2,
        3,
        10,
        1e5,
        1e30,
        f.max / 4,
        f.max,
        np.inf,
    ]
    return np.array([s * float(v) for v in positive for s in (1, -1)] + [np.nan], DTYPES[dtype])


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name: str, dtype: str) -> None:
    """NaN, infinities and signed zeros as NumPy (or SciPy) has them; finite results within the table's bound."""
    x = nasty(dtype)
    args = [x]
    if name in ("pow", "hypot", "arctan2"):
        args = list(np.array(list(itertools.product(x, x)), x.dtype).T.copy())
    reference = {**GAMMA, **ERROR}.get(name) or getattr(np, {"pow": "power"}.get(name, name))
    with np.errstate(all="ignore"):
        want = reference(*[a.astype(np.float64) for a in args]).astype(x.dtype)
        plain = np.isfinite(want) & (want != 0) & np.all([a != 0 for a in args], axis=0)
        with mpmath.workprec(1200):
            assert_within(name, dtype, [a[plain] for a in args])
        for lanes in (1, LANES):
            got = run(name, dtype, args, lanes)
            same = (got == want) & (np.signbit(got) == np.signbit(want)) | (np.isnan(got) & np.isnan(want))
            bad = np.flatnonzero(~(same | plain))
            assert not len(bad), [(*(a[k] for a in args), got[k], want[k]) for k in bad[:5]]


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_trigonometric_functions_near_multiples_of_half_pi(name: str, dtype: str) -> None:
    """The floats next to n pi/2, where all digits cancel, for small n and up to beyond the fast reduction's bound."""
    rng = np.random.default_rng(4)
    n = np.concatenate([np.arange(1, 60), rng.integers(1, 2**19, 60), np.floor(2.0 ** rng.uniform(19, 60, 60))])
    with mpmath.workprec(1300):
        middle = np.array([float(int(k) * mpmath.pi / 2) for k in n]).astype(DTYPES[dtype])
        x = np.concatenate([middle, np.nextafter(middle, np.inf), -np.nextafter(middle, -np.inf)])
        hardest = 6381956970095103.0 * 2.0**797  # the double closest to a multiple of pi/2 (Muller, Elementary Functions)
        assert_within(name, dtype, [np.append(x, [hardest] if dtype == "f64" else [1e38]).astype(x.dtype)])


def test_powers_of_two_and_ten_have_exact_logarithms() -> None:
    k = np.arange(-1074, 1024)
    assert np.array_equal(run("log2", "f64", [np.ldexp(1.0, k)]), k)
    assert np.array_equal(run("exp2", "f64", [k.astype(float)]), np.ldexp(1.0, k))
    assert np.array_equal(run("log10", "f64", [10.0 ** np.arange(23)]), np.arange(23))


# ---- what it costs --------------------------------------------------------------------------------------------------


def operations(names: Sequence[str], dtype: str) -> int:
    E = Values()
    for name in names:
        FUNCTIONS[name](E, operand("%x", dtype, LANES))
    return count(E)


@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_sin_and_cos_share_their_reduction(dtype: str) -> None:
    alone = operations(["sin"], dtype)
    assert operations(["sin", "cos"], dtype) <= alone + 6


def test_sinh_and_cosh_share_their_exponential() -> None:
    assert operations(["sinh", "cosh"], "f64") <= operations(["sinh"], "f64") + 4


@pytest.mark.parametrize(
    "name, f64, f32", [("exp", 26, 21), ("log", 34, 32), ("tanh", 25, 21), ("sin", 44, 38), ("cos", 45, 39), ("log1p", 43, 41), ("pow", 128, 72)]
)  # fmt: skip
def test_operation_counts_do_not_grow(name: str, f64: int, f32: int) -> None:
    """The rare branch of sin and cos counts for ten."""
    for dtype, most in (("f64", f64), ("f32", f32)):
        E = Values()
        FUNCTIONS[name](E, *[operand(f"%x{k}", dtype, LANES) for k in range(2 if name == "pow" else 1)])
        assert count(E) <= most


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "erf"])
def test_lanes_do_not_change_bits(name: str) -> None:
    x = Points("f64").wide() if name == "sin" else Points("f64").between(0.1, 5)
    results = [run(name, "f64", [x], lanes) for lanes in (1, 2, 4, 8, 16, 32)]
    assert all(np.array_equal(r, results[0]) for r in results)


# ---- the table ------------------------------------------------------------------------------------------------------


def test_every_function_has_a_bound_and_the_documentation_states_it() -> None:
    assert set(ULP) == set(FUNCTIONS)
    text = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip().strip("`"): line for line in text.splitlines() if line.startswith("| `")}
    for name, bound in ULP.items():
        assert [cell.strip() for cell in rows[name].split("|")[2:4]] == [f"{bound['f64']:g}", f"{bound['f32']:g}"], name
