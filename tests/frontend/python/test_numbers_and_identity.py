"""What Python itself means by identity, text, rounding, large ints and stores: the compiled function against plain Python."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irad
from tests.support.outcomes import INF, NAN, agrees, outcome

# ---- identity -----------------------------------------------------------------------------------------------------


def halvings(x: float) -> int:
    done, n = False, 0
    while done is False:
        n += 1
        x *= 0.5
        if x < 1:
            done = True
    return n


def test_a_flag_is_false_until_it_is_true() -> None:
    agrees(halvings, 10.0)


@pytest.mark.parametrize("x", [1.0, -1.0, np.float64(1.0)])
def test_only_pythons_own_bool_is_true(x: float) -> None:
    agrees(lambda x: 1 if (x > 0) is True else 2, x)
    agrees(lambda x: 1 if (x > 0) is not False else 2, x)
    agrees(lambda x: 1 if (x > 0) is np.True_ else 2, x)


def test_two_bools_are_one_object_if_they_are_equal() -> None:
    f = lambda x, y: 1 if (x > 0) is not (y > 0) else 2
    agrees(f, 1.0, 2.0)
    agrees(f, 1.0, -2.0)


@pytest.mark.parametrize("x", [-1.0, 0.5, 3.0])
def test_patterns_compare_true_and_false_by_identity(x: float) -> None:
    def f(x: float) -> float:
        match x > 0, x > 1:
            case (True, True):
                return x**3
            case (True, False) | (False, True):
                return x**2
            case None:
                return 0.0
            case _:
                return -x

    agrees(f, x)
    agrees(f, np.float64(x))


@pytest.mark.parametrize("kind", [float, np.float64])
def test_bools_that_are_combined_keep_their_kind(kind: type) -> None:
    def f(x: float, y: float) -> object:
        a, b = 0 < x < y, x > 1 or y > 1
        match a:
            case True:
                return a, b, (a and b) is True, 1
        return a, b, (a and b) is True, 2

    agrees(f, kind(1.0), kind(2.0))
    agrees(f, kind(3.0), kind(2.0))


def test_a_bool_of_two_kinds_has_no_identity() -> None:
    def f(x: np.ndarray) -> int:
        ok = True
        for v in x:
            if v < 0:
                ok = v > -1
        return 1 if ok is True else 0

    with pytest.raises(irad.IradError, match="compare with =="):
        irad.compile(f)(np.ones(3))


def test_identity_of_numbers_is_refused() -> None:
    with pytest.raises(irad.IradError, match="compare with =="):
        irad.compile(lambda x, y: 1 if (x if x > y else y) is x else 0)(1.0, 2.0)


@pytest.mark.parametrize("first", [0.0, 2.0])
def test_an_array_chosen_by_data_is_one_of_the_two(first: float) -> None:
    agrees(lambda x, y: 1 if (x if x[0] > y[0] else y) is x else 0, np.full(2, first), np.ones(2))


# ---- text ---------------------------------------------------------------------------------------------------------

TEXT: list[Callable[[Any], Any]] = [
    lambda x: f"{x:.0f}" == "1", lambda x: "1.0" != f"{x}", lambda x: str(x) in ("1.0", "2.0"), lambda x: "." in str(x),
    lambda x: {"1.0": 5.0}.get(f"{x}", 7.0), lambda x: {f"{x}": 2.0}["1.0"], lambda x: len(str(x)), lambda x: str(x)[0] == "1",
    lambda x: f"{x}" < "2", lambda x: {1.0: 5.0}.get(x, 7.0), lambda x: sorted(["0", str(x)]) == ["0", "1.0"],
    lambda x: {"a": str(x)} == {"a": "1.0"}, lambda x: f"{str(x):>5}" == "  1.0", lambda x: str(x).startswith("1"),
]  # fmt: skip


@pytest.mark.parametrize("f", TEXT)
def test_text_of_an_argument_may_be_compared(f: Callable[[Any], Any]) -> None:
    agrees(f, 1.0)
    agrees(f, 2.0)


@pytest.mark.parametrize("f", [f for k, f in enumerate(TEXT) if k != 9])  # a number may be looked for among keys
def test_text_of_a_computed_number_may_not(f: Callable[[Any], Any]) -> None:
    with pytest.raises(irad.IradError, match="must be known at compile time"):
        irad.compile(lambda a: f(a[0].item() * 2.0))(np.array([0.5]))


MESSAGES: list[Callable[[Any, Any], str]] = [
    lambda x, n: "x is {}".format(x), lambda x, n: "{1:>6} {0:8.3f}|".format(x, n), lambda x, n: "%s %r %d%%" % (n, n, n),  # noqa: UP030, UP031, UP032
    lambda x, n: "%8.3f|%-6d|%+.2e|%05d" % (x, n, x, n), lambda x, n: ", ".join([f"{x:.2f}", "n", str(n)]),  # noqa: UP030, UP031, UP032
    lambda x, n: "{v:.1e} {{}}".format(v=x), lambda x, n: format(x, ".3f"),  # noqa: UP030, UP031, UP032
]  # fmt: skip


@pytest.mark.parametrize("message", MESSAGES)
def test_messages_may_be_formatted_in_each_way(message: Callable[[Any, Any], str]) -> None:
    def f(x: float, n: int) -> float:
        if x > 0:
            raise ValueError(message(x, n))
        return x

    agrees(f, 1.25, 42)
    agrees(f, 123456.789, -7)


# ---- numbers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 3, 15, 22, -1, -2, -20, 400, -400])
def test_round_is_pythons(n: int) -> None:
    c = irad.compile(lambda x: round(x, n))
    rng = np.random.default_rng(abs(n))
    hard = [
        2.675,
        1.005,
        0.125,
        0.375,
        -0.125,
        2.5,
        -0.04,
        -0.0,
        25.0,
        35.0,
        2.0**52 + 0.5,
        1e22,
        5e-324,
        1.7e308,
        INF,
        -INF,
        NAN,
    ]
    ties = (2 * rng.integers(0, 10**9, 200) + 1) / 2.0 ** rng.integers(1, 12, 200)
    near = np.round(rng.uniform(-100, 100, 200), 3) + 0.0005
    decimal = (
        [(k + 0.5) / 10.0**n for k in range(-60, 200)] if abs(n) <= 22 else []
    )  # beside a tie, by less than the product's rounding
    for x in [
        *hard,
        *ties.tolist(),
        *near.tolist(),
        *decimal,
        *(rng.uniform(-1, 1, 200) * 10.0 ** rng.integers(-20, 25, 200)).tolist(),
    ]:
        assert outcome(c, x) == outcome(lambda x: round(x, n), x), x


@pytest.mark.parametrize("n", [None, 1, -1, -2, -17, -18, -25])
def test_round_of_ints_is_pythons(n: int | None) -> None:
    c = irad.compile(lambda k: round(k, n))
    for k in (0, 5, 15, 25, -5, -15, 450, 550, 2**62, -(2**62), 5 * 10**17, -15 * 10**17):
        assert repr(c(k)) == repr(round(k, n))


def test_round_of_numpys_numbers_is_numpys() -> None:
    agrees(lambda x: round(x[0], 2), np.array([2.675]))
    agrees(lambda x: round(x[0]), np.array([2.5]))


def test_round_has_no_slope() -> None:
    assert irad.grad(lambda x: x * round(x, 1))(2.26) == 2.3


@pytest.mark.parametrize(
    "x, y", [(10.0, 400.0), (1e200, 2.0), (-2.0, 1023.0), (0.0, -1.0), (INF, 2.0), (1e-200, -2.0), (NAN, 0.0)]
)
def test_powers_of_python_floats_raise_as_pythons(x: float, y: float) -> None:
    agrees(lambda x, y: x**y, x, y)
    agrees(lambda x: x**y, x)


@pytest.mark.parametrize("x", [2.0, -1.5, INF, NAN, 1e20, np.float32(2.0), np.arange(3.0), 2j])
def test_constants_beyond_64_bits_are_floats_among_floats(x: Any) -> None:
    agrees(lambda x: x * 10**20 + x * 2**64 - 3**50, x)
    agrees(lambda x: (10**20 * x == 2**70, x / 10**30), x)


def test_ints_beyond_64_bits_raise_where_they_are_reached() -> None:
    def f(x: float, n: int) -> float:
        return n * 10**20 if x > 0 else x

    assert irad.compile(f)(-1.0, 3) == -1.0
    with pytest.raises(OverflowError):
        irad.compile(f)(1.0, 3)


@pytest.mark.parametrize(
    "n, x",
    [(2**53 + 1, 2.0**53), (2**63 - 1, 2.0**63), (-(2**63), -(2.0**63)), (2**62 + 1, 2.0**62), (5, NAN), (5, INF), (5, 5.5)],
)
def test_ints_and_floats_are_compared_exactly(n: int, x: float) -> None:
    agrees(lambda n, x: (n == x, n != x, n < x, n <= x, n > x, n >= x, x == n, x < n, x >= n), n, x)
    agrees(lambda x: (n == x, n != x, n < x, n <= x, n > x, n >= x, x < 10**400, x > -(10**400)), x)


# ---- stores -------------------------------------------------------------------------------------------------------


def to_element(c: np.ndarray, v: Any) -> None:
    c[0] = v


def to_slice(c: np.ndarray, v: Any) -> None:
    c[:] = v


def filled(c: np.ndarray, v: Any) -> None:
    c.fill(v)


def to_slice_from_list(c: np.ndarray, v: Any) -> None:
    c[:] = [v, 1]


def from_array_of(c: np.ndarray, v: Any) -> None:
    c[:] = np.array([v, 1], c.dtype)


@pytest.mark.parametrize("store", [to_element, to_slice, filled, to_slice_from_list, from_array_of])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int64", "uint8", "uint64"])
def test_python_numbers_are_stored_into_ints_only_where_they_fit(store: Callable[[Any, Any], Any], dtype: str) -> None:
    def f(v: Any) -> np.ndarray:
        c = np.zeros(2, dtype)
        store(c, v)
        return c

    info = np.iinfo(dtype)
    numpy = (np.int64(100), np.float64(3.5), *(() if dtype[0] == "u" else (np.int64(2**40), np.float64(INF), np.float64(1e9))))
    for v in (3.7, -3.7, 70000.0, -70000.0, NAN, INF, 1e30, 100, 300, True, *numpy):
        if np.__version__.startswith("1.") and abs(v) < 1e20 and not info.min <= int(v) <= info.max:  # NumPy 1 warns, and wraps
            with pytest.raises(OverflowError, match="out of bounds"):
                irad.compile(f)(v)
        else:
            agrees(f, v)


def test_full_casts_as_arrays_are_cast() -> None:
    agrees(lambda n: np.full(2, n, np.int8), 100)
    assert irad.compile(lambda n: np.full(2, np.asarray(n), np.int8))(300).tolist() == [44, 44]


# ---- errors and dtypes of NumPy's functions -----------------------------------------------------------------------


@pytest.mark.parametrize("bins", [[3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [2.0, 2.0], [1.0], [], [1.0, 3.0, 2.0], [3.0, 3.0, 1.0]])
@pytest.mark.parametrize("right", [False, True])
def test_digitize(bins: list[float], right: bool) -> None:
    x, edges = np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]), np.array(bins)
    agrees(lambda x, b: np.digitize(x, b, right=right), x, edges)
    want = outcome(np.digitize, x, edges, right)
    got = outcome(irad.compile(lambda x: np.digitize(x, edges, right=right)), x)
    assert got == want or (got[0] == "IradValueError" and want[0] == "ValueError" and want[1] in got[1])


@pytest.mark.parametrize("q", [101.0, -1.0, NAN, 50.0])
def test_percentiles_out_of_range_raise(q: float) -> None:
    x = np.arange(4.0)
    agrees(lambda x, q: np.percentile(x, q), x, q)
    agrees(lambda x, q: np.nanquantile(x, q / 100), x, q)
    agrees(lambda x, q: np.quantile(x, q), x, np.array([0.5, q / 100]))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint64", "float32", "complex64"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_keep_the_dtype(dtype: str, mode: Any) -> None:
    a, v = np.array([200, 1, 0, 7, 250] * 5).astype(dtype), np.array([1, 200, 3]).astype(dtype)
    for other in (v, np.resize(v, 20)):
        agrees(lambda a, v: np.convolve(a, v, mode), a, other)
        agrees(lambda a, v: np.correlate(a, v, mode), a, other)


@pytest.mark.parametrize("shape", [(6, 2), (2, 6), (3, 3), (7, 3), (3, 3, 3), (2, 2, 2, 2)])
@pytest.mark.parametrize("wrap", [False, True])
def test_fill_diagonal(shape: tuple[int, ...], wrap: bool) -> None:
    def f(x: np.ndarray, v: Any) -> np.ndarray:
        y = x * 1.0
        np.fill_diagonal(y, v, wrap=wrap)
        return y

    for v in (7.0, np.array([1.0, 2.0]), np.arange(9.0)):
        agrees(f, np.zeros(shape), v)


@pytest.mark.parametrize(
    "name", ["bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm", "hypot", "logaddexp", "fmax", "logical_xor"]
)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64", "float32"])
@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", ["reduce", "accumulate"])
def test_reductions_of_few_elements(name: str, dtype: str, n: int, kind: str) -> None:
    method = getattr(getattr(np, name), kind)
    x = np.arange(1, n + 1).astype(dtype)
    want = outcome(method, x)
    if str(want[0]).endswith("TypeError"):
        return
    try:
        made = irad.compile(lambda x: method(x))(x)
    except ValueError:
        assert want[0] == "ValueError"
        return
    assert made.dtype == method(x).dtype
    assert np.allclose(made, method(x), rtol=1e-3 if made.dtype == np.float16 else 1e-6)


@pytest.mark.parametrize("x", [0.0, -0.0])
def test_zero_to_an_infinite_power(x: float) -> None:
    for y in (-INF, INF, -1.0):
        agrees(lambda x, y: x**y, x, y)


def test_known_numbers_promote_as_numpy_2_does() -> None:
    """Whatever version of NumPy computes them while the function is read."""

    def f(x: float) -> Any:
        a = np.ones(3, np.float32)
        return a * np.float64(2.0), a * 2.5, np.float32(3) * 1e10, np.array([1], np.int8) * np.int64(1), x

    dtypes = [np.asarray(v).dtype.name for v in irad.compile(f)(1.0)]
    assert dtypes[:4] == ["float64", "float32", "float32", "int64"]
    program = "import numpy as np, irad\nprint(irad.compile(lambda x: np.ones(3, np.float32) * np.float64(2.0) + x * 0)(np.float32(1)).dtype)"
    environment = {k: v for k, v in os.environ.items() if k != "NPY_PROMOTION_STATE"}
    root = str(Path(irad.__file__).parents[1])
    out = subprocess.run([sys.executable, "-c", program], env=environment | {"PYTHONPATH": root}, capture_output=True, text=True)
    assert out.stdout == "float64\n", out.stderr
