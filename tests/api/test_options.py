"""Options of `irad.compile`: what they are checked for, and that they reach everything that is made of a compiled function."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import irad
from irad.call.runtime import cache_for
from irad.core.text import parse
from irad.errors import IradTypeError, IradValueError
from irad.options import DEFAULT, FLAGS, leaves_of, options


def power(x: Any, n: Any) -> Any:
    y = x
    for _ in range(n - 1):
        y = y * x
    return y


def scaled(x: Any, c: Any, *, shift: Any = 0.0) -> Any:
    return np.sum(x * c + shift)


# ---- checks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"threads": 0}, "threads: a positive number of threads, or None for the default, not 0"),
        ({"threads": True}, "threads: a positive number of threads"),
        ({"threads": 1.5}, "threads: a positive number of threads"),
        ({"fastmath": "fast"}, "fastmath: there is no flag 'fast'; there are contract, reassoc, reciprocal, nnan, ninf, nsz"),
        ({"fastmath": {"nnan", "x"}}, "there is no flag 'x'"),
        ({"static": "m"}, "static: scaled has no argument 'm'; it takes x, c, shift"),
        ({"static": 2}, "static: scaled has no argument at position 2; it takes x, c, shift"),
        ({"static": -1}, "static: scaled has no argument at position -1"),
        ({"donate": ("x", "y")}, "donate: scaled has no argument 'y'"),
    ],
)
def test_wrong_values(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(IradValueError, match=re.escape(message)):
        irad.compile(scaled, **wrong)


@pytest.mark.parametrize("wrong", [{"fastmath": 3}, {"static": 1.0}, {"static": [True]}, {"donate": [None]}])
def test_wrong_types(wrong: dict[str, Any]) -> None:
    with pytest.raises(IradTypeError, match=next(iter(wrong))):
        irad.compile(scaled, **wrong)


def test_equal_options_are_one_object() -> None:
    a = options(scaled, 2, ["nsz", "nnan"], "c", 0)
    assert a is options(scaled, np.int64(2), {"nnan", "nsz"}, ("c",), [0])
    assert options(scaled, None, False, None, ()) is DEFAULT
    assert options(scaled, None, True, None, ()).fastmath == set(FLAGS)


def test_leaves_of_arguments() -> None:
    """By position or name, however the call gives them; what is not given has none."""
    pair = (1.0, [2.0, 3.0])
    assert leaves_of(scaled, (1,), (pair, 4.0), {}) == [3]
    assert leaves_of(scaled, ("c",), (pair, 4.0), {}) == [3]
    assert leaves_of(scaled, (1,), (pair,), {"shift": 5.0, "c": 4.0}) == [4]
    assert leaves_of(scaled, ("x", "shift"), (pair, 4.0), {"shift": 5.0}) == [0, 1, 2, 4]
    assert leaves_of(scaled, ("shift",), (pair, 4.0), {}) == []


# ---- where options go ------------------------------------------------------------------------------------------------


def test_decorator_with_options() -> None:
    @irad.compile(argnums=(0, 1), threads=1, fastmath="contract")
    def f(x: Any, y: Any) -> Any:
        return x * y + 1.0

    assert f.options.threads == 1 and f.options.fastmath == {"contract"}
    assert f(2.0, 3.0) == 7.0 and f.grad(2.0, 3.0) == (3.0, 2.0)


def test_options_are_part_of_what_finds_compiled_code() -> None:
    assert cache_for(scaled) is cache_for(scaled, DEFAULT)
    assert cache_for(scaled, options(scaled, 1, False, None, ())) is not cache_for(scaled)
    fast, strict = irad.compile(power, fastmath=True), irad.compile(power)
    assert fast(1.5, 3) == strict(1.5, 3) == 1.5**3
    assert fast.options is not strict.options


def quotient(x: Any, y: Any) -> Any:
    return np.sum(x / 3.0) * y


def divisions(lowered: Any) -> int:
    return lowered.llvm.count(" fdiv ")


@pytest.mark.parametrize("both", [lambda f: irad.compile(f, fastmath=True), lambda f: f])
def test_every_entry_has_the_options(both: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a compiled function: calls, gradients, vjp with its pullback, jvp, linearize, transforms made of it later."""
    import irad.pipeline as pipeline

    seen: list[bool] = []
    build = pipeline.build
    monkeypatch.setattr(pipeline, "build", lambda *a, **k: seen.append(k["contract"]) or build(*a, **k))

    def f(x: Any, y: Any) -> Any:
        return np.sum(x / 3.0) * y

    c, x = both(f), np.array([1.0, 2.0, 4.5])
    third = np.full(3, 2.0 / 3.0)
    compiled = hasattr(c, "lower")
    if compiled:
        assert c(x, 2.0) == pytest.approx(5.0)
        np.testing.assert_allclose(c.grad(x, 2.0), third)
        assert c.value_and_grad(x, 2.0)[0] == pytest.approx(5.0)
        np.testing.assert_allclose(c.vjp(x, 2.0)[1](1.0)[0], third)
        c.lower(x, 2.0), c.lower(x, 2.0, grad=True)
    np.testing.assert_allclose(irad.grad(c)(x, 2.0), third)
    np.testing.assert_allclose(irad.grad(irad.checkpoint(c))(x, 2.0), third)
    np.testing.assert_allclose(irad.vjp(c, x, 2.0)[1](1.0)[0], third)
    assert irad.jvp(c, (x, 2.0), (np.ones(3), 0.0))[1] == pytest.approx(2.0)
    assert irad.linearize(c, x, 2.0)[1](np.ones(3), 0.0) == pytest.approx(2.0)
    assert irad.hessian(c)(x, 2.0).shape == (3, 3)
    assert irad.vmap(c, in_axes=(0, None))(x[None], 2.0).shape == (1,)
    assert seen and set(seen) == {compiled}


def test_compiling_a_transform() -> None:
    """`compile` of value_and_grad: the options are those of the compiled object."""
    c = irad.compile(irad.value_and_grad(quotient, argnums=(0, 1)), fastmath=True)
    x = np.array([1.0, 2.0, 4.5])
    for _ in range(3):
        value, (gx, gy) = c(x, 2.0)
        assert value == pytest.approx(5.0) and gy == pytest.approx(2.5)
        np.testing.assert_allclose(gx, 2.0 / 3.0)
    assert divisions(c.lower(x, 2.0)) == 0 < divisions(irad.compile(quotient).lower(x, 2.0))


def test_compiled_again_takes_the_new_options_only() -> None:
    c = irad.compile(irad.compile(quotient, fastmath=True), threads=2)
    assert c.options.threads == 2 and not c.options.fastmath


def test_compiled_function_called_in_compiled_code() -> None:
    """Before it was ever called from outside, too; and its derivatives."""
    inner = irad.compile(lambda x, y: np.sum(x * x) * y)
    x = np.array([1.0, 2.0])
    assert irad.compile(lambda x: inner(x, 2.0))(x) == 10.0
    np.testing.assert_array_equal(irad.compile(lambda x: irad.vjp(inner, x, 2.0)[1](1.0)[0])(x), 4 * x)
    np.testing.assert_array_equal(irad.grad(lambda x: inner(x, 2.0))(x), 4 * x)


def test_options_of_an_inner_function_do_not_count() -> None:
    """What calls a compiled function is compiled as one, with its own options."""
    inner = irad.compile(quotient, fastmath=True)
    outer = irad.compile(lambda x: inner(x, 2.0))
    x = np.array([1.0, 2.0, 4.5])
    assert outer(x) == quotient(x, 2.0)
    assert divisions(outer.lower(x)) > 0


def test_threads_reach_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    import irad.pipeline as pipeline

    seen: list[Any] = []
    build = pipeline.build
    monkeypatch.setattr(pipeline, "build", lambda *a, **k: seen.append(k["threads"]) or build(*a, **k))

    def f(x: Any) -> Any:
        return np.sin(x) + 1.0

    x = np.linspace(0, 1, 7)
    one, two = irad.compile(f, threads=1)(x), irad.compile(f, threads=2)(x)
    np.testing.assert_array_equal(one, irad.compile(f)(x))
    np.testing.assert_array_equal(one, two)
    assert seen == [1, 2, None]


def test_graphs_take_threads_and_fastmath() -> None:
    graph = parse("func @f(%x: f64) -> f64 {\n  %c: f64 = const[value=3.0]\n  %y: f64 = div %x, %c\n  return %y\n}")
    assert irad.compile(graph, fastmath=True, threads=1)(6.0) == 2.0
    with pytest.raises(IradValueError, match="static, donate and dynamic are for Python functions"):
        irad.compile(graph, static=0)


# ---- static -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [1, "n", ("n",), [1]])
def test_static_numbers_are_constants(which: Any) -> None:
    """Each value has code of its own; the loop is gone from it."""
    c = irad.compile(power, static=which)
    for _ in range(3):
        assert [c(1.5, n) for n in (1, 2, 5)] == [1.5, 1.5**2, 1.5**5]
        assert c(x=1.5, n=2) == 1.5**2
    assert " for " in irad.compile(power).lower(1.5, 3).ir
    assert " for " not in c.lower(1.5, 1).ir and "%n" not in c.lower(1.5, 3).ir


def test_static_numbers_in_derivatives() -> None:
    c = irad.compile(power, static="n")
    for n in (2, 3):
        assert c.grad(1.5, n) == pytest.approx(n * 1.5 ** (n - 1))
        value, pullback = c.vjp(1.5, n)
        assert value == pytest.approx(1.5**n) and pullback(1.0)[0] == pytest.approx(n * 1.5 ** (n - 1))
        assert irad.jvp(c, (1.5, n), (1.0, None))[1] == pytest.approx(n * 1.5 ** (n - 1))
        assert irad.linearize(c, 1.5, n)[1](1.0, 0.0) == pytest.approx(n * 1.5 ** (n - 1))
        assert pullback(1.0)[1] == 0.0
        aux = irad.compile(lambda x, n: (power(x, n), n), static="n")
        value, pullback, (same) = irad.vjp(aux, 1.5, n, has_aux=True)
        assert (value, same) == (1.5**n, n) and pullback(1.0) == (pytest.approx(n * 1.5 ** (n - 1)), 0.0)


def test_jvp_leaves_an_integer_without_a_tangent_alone() -> None:
    """It is not promoted to a float: it may count trips."""
    assert irad.jvp(power, (1.5, 3), (1.0, None))[1] == pytest.approx(3 * 1.5**2)
    assert irad.jvp(lambda x, n: x * n, (1.5, 3), (None, None)) == (4.5, 0.0)


def test_static_float_by_which_is_differentiated() -> None:
    """A constant of the code is still a number that a derivative can be taken by."""
    c = irad.compile(scaled, static="c", argnums=1)
    x = np.array([1.0, 2.0])
    for _ in range(2):
        assert [c.grad(x, k) for k in (2.0, 3.0)] == [3.0, 3.0]
        assert [c(x, k) for k in (0.0, -0.0, 2.0)] == [0.0, 0.0, 6.0]


def test_static_tree_of_numbers() -> None:
    c = irad.compile(lambda x, sizes: x * sizes[0] + sizes[1]["b"], static=1)
    for _ in range(2):
        assert [c(2.0, (k, {"b": 1.0})) for k in (3, 4)] == [7.0, 9.0]


def test_static_array_is_an_error() -> None:
    c = irad.compile(scaled, static="c")
    with pytest.raises(IradTypeError, match="static: 'c' of scaled is or holds an array; only numbers can be static"):
        c(np.ones(2), np.ones(2))


def test_static_of_a_method() -> None:
    class Model:
        @irad.compile(static="n")
        def power(self, x: Any, n: int) -> Any:
            return power(x, n)

    m = Model()
    assert [m.power(1.5, n) for n in (2, 3, 2)] == [1.5**2, 1.5**3, 1.5**2]
