"""The scalar lowering rules against the meaning in the op table: every elementwise op, every dtype, on nasty values."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from irad.codegen.math.poly import FUNCTIONS
from irad.codegen.math.scalar import RULES
from irad.core.types import DTYPES, NATIVE, Type, is_float, is_signed
from irad.errors import IradError
from irad.ops import OPS
from tests.support.rules_on_arrays import compile

ELEMENTWISE = {
    name: op for name, op in OPS.items() if op.elementwise and "expand" not in op.extra and not name.startswith("special_")
}
# Composed of polynomials, so within a few units in the last place
CLOSE = ("logaddexp", "logaddexp2", "expit", "xlogy", "xlog1py")
SELECTED_BY_SIGN = ("maximum", "minimum", "fmax", "fmin")  # the sign of a zero is nobody's promise


def arity(name: str) -> int:
    function = ELEMENTWISE[name].eval
    return (
        function.nin
        if isinstance(function, np.ufunc)
        else 2
        if name in ("szmul", "szmul2", "szdiv", "xlogy", "xlog1py", "nextafter")
        else 1
    )


def accepts(name: str, dtype: str, n: int) -> bool:
    try:
        ELEMENTWISE[name].infer(*[Type(dtype)] * n)
    except IradError:
        return False
    return True


@cache
def nasty(dtype: str) -> np.ndarray:
    """Values of a dtype where things go wrong."""
    d = DTYPES[dtype]
    if dtype == "bool":
        return np.array([False, True])
    if not is_float(dtype):
        i = np.iinfo(d)
        picks = [0, 1, 2, 3, 5, 7, 8, 31, 63, i.max // 2, i.max - 1, i.max] + (
            [-1, -2, -3, -7, i.min, i.min + 1] if i.min else []
        )
        return np.array([p for p in picks if i.min <= p <= i.max], d)
    f = np.finfo(d)
    positive = [
        0.0,
        float(f.smallest_subnormal),
        float(f.tiny),
        1e-3,
        0.3,
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
        7.7,
        1234.5,
        float(f.max),
        np.inf,
    ]
    return np.array([s * p for p in positive for s in (1, -1)] + [np.nan], d)


def grid(dtype: str, n: int) -> list[np.ndarray]:
    points = np.array(list(itertools.product(nasty(dtype), repeat=n)), DTYPES[dtype])
    rng = np.random.default_rng(5)
    if is_float(dtype):
        extra = (rng.normal(size=(150, n)) * 10 ** rng.uniform(-2, 3, (150, n))).astype(DTYPES[dtype])
    elif dtype == "bool":
        extra = points[:0]
    else:
        i = np.iinfo(DTYPES[dtype])
        extra = rng.integers(i.min, i.max, (150, n), dtype=DTYPES[dtype], endpoint=True)
    return list(np.concatenate([points, extra]).T.copy())


def expected(name: str, args: list[np.ndarray], **attrs: Any) -> np.ndarray:
    op = ELEMENTWISE[name]
    with np.errstate(all="ignore"):
        return np.asarray(op.eval(*args, **attrs))  # type: ignore[misc]


def assert_identical(name: str, got: np.ndarray, want: np.ndarray, args: list[np.ndarray]) -> None:
    assert got.dtype == want.dtype
    same = (got == want) | ((got != got) & (want != want))
    if got.dtype.kind == "f" and name not in SELECTED_BY_SIGN:
        same &= (np.signbit(got) == np.signbit(want)) | (got != got)
    bad = np.flatnonzero(~same)
    assert not len(bad), f"{name}{tuple(a[bad[0]] for a in args)} = {got[bad[0]]!r}, NumPy {want[bad[0]]!r} ({len(bad)} differ)"


def native(name: str, dtype: str, n: int, lanes: int, out: str | None = None) -> Callable[..., np.ndarray]:
    return compile(lambda E, a: RULES[name](E, a, out or dtype), [dtype] * n, lanes)


def exact_cases() -> list[tuple[str, str]]:
    out = []
    for name in ELEMENTWISE:
        if name in FUNCTIONS or name in (*CLOSE, "cast", "select"):
            continue
        out += [(name, d) for d in NATIVE if accepts(name, d, arity(name)) and not (name == "pow" and is_float(d))]
    return out + [("pow", d) for d in NATIVE if accepts("pow", d, 2) and not is_float(d)]


def test_every_elementwise_op_has_a_rule() -> None:
    assert set(RULES) == set(ELEMENTWISE)


@pytest.mark.parametrize("name, dtype", exact_cases())
def test_exact(name: str, dtype: str) -> None:
    args = grid(dtype, arity(name))
    if name == "pow" and is_signed(dtype):
        args = [a[args[1] >= 0] for a in args]  # NumPy refuses negative exponents
    want = expected(name, args)
    out = "bool" if want.dtype == np.bool_ else dtype
    for lanes in (1, 8):
        got = native(name, dtype, len(args), lanes, out)(*args)
        assert_identical(name, got, want, args)


@pytest.mark.parametrize("dtype", NATIVE)
def test_select(dtype: str) -> None:
    x, y = grid(dtype, 2)
    cond = np.arange(len(x)) % 3 == 0
    for lanes in (1, 8):
        got = compile(lambda E, a: RULES["select"](E, a, dtype), ["bool", dtype, dtype], lanes)(cond, x, y)
        assert_identical("select", got, np.where(cond, x, y), [cond, x, y])


@pytest.mark.parametrize("source, target", list(itertools.product(NATIVE, NATIVE)))
def test_cast(source: str, target: str) -> None:
    (x,) = grid(source, 1)
    want = expected("cast", [x], dtype=target)
    if is_float(source) and target not in ("bool", "f16", "f32", "f64"):  # outside of the range: saturates, NaN gives 0
        i = np.iinfo(DTYPES[target])
        exactly = [0 if v != v else i.min if v <= i.min else i.max if v >= i.max else int(v) for v in map(float, x)]
        want = np.array(exactly, DTYPES[target])
    for lanes in (1, 8):
        got = compile(lambda E, a: RULES["cast"](E, a, target), [source], lanes)(x)
        assert_identical("cast", got, want, [x])


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16"])
@pytest.mark.parametrize("name", CLOSE)
def test_close(name: str, dtype: str) -> None:
    args = grid(dtype, arity(name))
    want = expected(name, args)
    wide = expected(name, [a.astype(np.longdouble) for a in args]) if name.startswith(("log", "exp")) else want
    for lanes in (1, 8):
        got = native(name, dtype, len(args), lanes)(*args)
        assert got.dtype == want.dtype
        with np.errstate(all="ignore"):
            size = np.abs(want)
            if name.startswith("logaddexp"):  # a sum, which may cancel
                largest = np.fmax(args[0], args[1])
                size = np.fmax(
                    size, np.where(np.isfinite(largest), np.fmax(np.abs(largest), np.abs(want - largest)), size.dtype.type(0))
                )
            off = np.abs(got.astype(np.longdouble) - wide) / np.spacing(size).astype(np.longdouble)
        plain = np.isfinite(want) & np.isfinite(got)
        assert np.max(off[plain]) <= 3.0, (name, [a[plain][np.argmax(off[plain])] for a in args], np.max(off[plain]))
        assert_identical(name, got[~plain], want[~plain], [a[~plain] for a in args])


@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_remainders_of_far_apart_operands_are_exact(dtype: str) -> None:
    rng = np.random.default_rng(9)
    top = 300 if dtype == "f64" else 37
    with np.errstate(all="ignore"):
        x, y = (rng.choice([-1, 1], 3000) * 10 ** rng.uniform(-top, top, 3000) for _ in range(2))
        x, y = x.astype(DTYPES[dtype]), y.astype(DTYPES[dtype])
        y[:100] = np.finfo(y.dtype).smallest_subnormal * np.arange(1, 101)
        x[100:200] = x[100:200] * 0 + np.arange(100) * y[100:200]  # multiples
    for name in ("fmod", "remainder", "floor_divide"):
        got = native(name, dtype, 2, 8)(x, y)
        assert_identical(name, got, expected(name, [x, y]), [x, y])


@pytest.mark.parametrize("dtype", ["i8", "u8", "i64", "u64"])
def test_division_lanes_of_zeros_do_not_trap(dtype: str) -> None:
    """Inactive lanes hold zeros; the padding of the test builder is such lanes."""
    for name in ("floor_divide", "remainder", "fmod"):
        f = native(name, dtype, 2, 32)
        x, y = np.array([7], DTYPES[dtype]), np.array([2], DTYPES[dtype])
        assert f(x, y) == expected(name, [x, y])
