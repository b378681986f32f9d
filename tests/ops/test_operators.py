"""Python's operators on values: which node each emits, and the type of numbers beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from irad.core.interp import interpret
from irad.core.ir import Graph, Value, build
from irad.core.types import BOOL, F64, I64, Type
from irad.errors import IradTypeError
from irad.ops.elementwise import copysign, eq, hypot, ne, select


def graph(f: Callable[..., Any], *types: Type) -> Graph:
    return build(types, f, "f")


BINARY: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x // y, lambda x, y: x % y, lambda x, y: x**y,
    lambda x, y: x < y, lambda x, y: x <= y, lambda x, y: x > y, lambda x, y: x >= y,
]  # fmt: skip
OF_INTEGERS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x & y, lambda x, y: x | y, lambda x, y: x ^ y, lambda x, y: x << y, lambda x, y: x >> y,
]  # fmt: skip


@pytest.mark.parametrize("f", [*BINARY, lambda x, y: x / y])
@pytest.mark.parametrize(("x", "y"), [(7.5, 2.0), (-7.5, 2.0), (2.0, 2.0)])
def test_of_floats(f: Callable[[Any, Any], Any], x: float, y: float) -> None:
    for g, args in [(graph(f, F64, F64), (x, y)), (graph(lambda v: f(v, y), F64), (x,))]:
        with np.errstate(invalid="ignore"):
            np.testing.assert_equal(interpret({"f": g}, *map(np.float64, args))[0], f(np.float64(x), np.float64(y)))


@pytest.mark.parametrize("f", [*BINARY, *OF_INTEGERS])
def test_of_integers(f: Callable[[Any, Any], Any]) -> None:
    for x, y in [(13, 3), (-13, 3), (4, 4)]:
        for g, args in [(graph(f, I64, I64), (x, y)), (graph(lambda v: f(v, y), I64), (x,))]:  # noqa: B023
            assert interpret({"f": g}, *map(np.int64, args))[0] == f(np.int64(x), np.int64(y))


@pytest.mark.parametrize("x", [True, False])
def test_of_bools(x: bool) -> None:
    g = graph(lambda a, b: [a & b, a | b, a ^ b, ~a], BOOL, BOOL)
    assert [n.op.name for n in g.nodes] == ["logical_and", "logical_or", "logical_xor", "logical_not"]
    for y in (True, False):
        assert [bool(v) for v in interpret({"f": g}, np.bool_(x), np.bool_(y))] == [x and y, x or y, x != y, not x]


def test_a_number_on_the_left() -> None:
    g = graph(lambda x: [1 / (1 + x * x), 2 - x, 3 * x, np.float64(2.0) * x, np.float64(2.0) - x], F64)
    got = interpret({"f": g}, np.float64(3.0))
    assert [float(v) for v in got] == [0.1, -1.0, 9.0, 6.0, -1.0]


@pytest.mark.parametrize("dtype", ["f32", "f64", "c64", "c128", "i8", "u16", "i64"])
def test_a_number_takes_the_type_of_the_value(dtype: str) -> None:
    t = Type(dtype, (3,))
    g = graph(lambda x: [x + 1, 1 - x, select(eq(x, 1), 0, x)], t)
    assert [v.type for v in g.results] == [t] * 3
    x = np.array([1, 2, 3], t.numpy)
    for got, want in zip(interpret({"f": g}, x), (x + 1, 1 - x, np.where(x == 1, 0, x))):
        np.testing.assert_array_equal(got, want)


def test_a_square_is_a_product() -> None:
    names = lambda f: [n.op.name for n in graph(f, F64).nodes]
    assert names(lambda x: x**2) == ["mul"]
    assert names(lambda x: x**3) == ["const", "pow"]
    assert names(lambda x: x**x) == ["pow"]


def test_negative_zero_is_kept() -> None:
    (got,) = interpret({"f": graph(lambda x: copysign(1, x * -0.0), F64)}, np.float64(2.0))
    assert got == -1.0


def test_unary() -> None:
    got = interpret({"f": graph(lambda x: [-x, abs(x)], F64)}, np.float64(-2.0))
    assert [float(v) for v in got] == [2.0, 2.0]
    assert interpret({"f": graph(lambda x: ~x, I64)}, np.int64(5))[0] == ~5


def test_values_stay_keys_of_tables() -> None:
    a, b = Value(F64), Value(F64)
    assert a == a and a != b and {a: 1}[a] == 1 and b not in {a: 1}
    g = graph(lambda x: [eq(x, 2), ne(x, 2)], F64)
    assert [bool(v) for v in interpret({"f": g}, np.float64(2.0))] == [True, False]


def test_calls_take_numbers_too() -> None:
    got = interpret({"f": graph(lambda x: [hypot(3, x), select(x < 0, -1, 1 + x)], F64)}, np.float64(4.0))
    assert [float(v) for v in got] == [5.0, 5.0]


def test_two_numbers_have_no_type() -> None:
    with pytest.raises(IradTypeError, match="full"):
        graph(lambda x: select(x < 0, 1.0, 0.0), F64)


def test_a_fraction_is_no_integer() -> None:
    with pytest.raises(IradTypeError):
        graph(lambda x: x + 0.5, I64)
