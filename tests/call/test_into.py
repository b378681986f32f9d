"""`out=` and `accumulate=`: results in the caller's arrays, without memory per call; what does not fit is an error."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.codegen.call import machine as entry
from irad.errors import IradTypeError, IradValueError


@pytest.fixture(params=["direct", "ctypes"], autouse=True)
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Calls with and without Python code on the way."""
    if request.param == "ctypes":
        monkeypatch.setattr(entry, "available", lambda: False)
    return str(request.param)


X = np.arange(4.0)
scalar = lambda x: 2 * np.dot(x, x)


def test_accumulates_a_gradient() -> None:
    c = irad.compile(scalar)
    for _ in range(3):
        g = np.ones(4)
        assert c.grad(X, out=g, accumulate=True) is g
        np.testing.assert_array_equal(g, [1.0, 5.0, 9.0, 13.0])


def test_stores_a_gradient() -> None:
    c, g = irad.compile(scalar), np.full(4, np.nan)
    for k in range(3):
        assert c.grad(X + k, out=g) is g
        np.testing.assert_array_equal(g, 4 * (X + k))


def test_value_and_gradient() -> None:
    c, v, g = irad.compile(scalar), np.zeros(()), np.ones(4)
    for _ in range(3):
        value, slope = c.value_and_grad(X, out=(v, g))
        assert value is v and slope is g and v == 28.0
        value, slope = c.value_and_grad(X, out=(None, g), accumulate=True)
        assert isinstance(value, np.float64) and value == 28.0 and slope is g
        np.testing.assert_array_equal(g, 8 * X)


def test_values() -> None:
    c, out = irad.compile(lambda x, y: np.outer(x, y)), np.zeros((4, 2))
    for _ in range(3):
        assert c(X, np.ones(2), out=out) is out
        np.testing.assert_array_equal(out, np.outer(X, np.ones(2)))


def test_trees() -> None:
    f = lambda p: {"a": p["a"] * 2, "rest": [p["b"] + 1, np.sum(p["a"])]}
    p = {"a": np.ones(3), "b": np.ones((2, 2))}
    for _ in range(3):
        out = {"a": np.zeros(3), "rest": [np.zeros((2, 2)), None]}
        found = irad.compile(f)(p, out=out)
        assert found["a"] is out["a"] and found["rest"][0] is out["rest"][0] and found["rest"][1] == 3.0
        assert out["a"].tolist() == [2.0] * 3 and out["rest"][0].tolist() == [[2.0, 2.0]] * 2


@pytest.mark.parametrize("kind", [irad.grad, irad.jacobian, irad.hessian])
def test_transforms(kind: Callable[..., Any]) -> None:
    f = (lambda x: x * x[0]) if kind is irad.jacobian else lambda x: np.sum(x**3) * x[0]
    d = kind(f)
    want = d(X)
    for _ in range(3):
        out = np.full_like(want, 7.0)
        np.testing.assert_array_equal(d(X, out=out), want)
        assert np.array_equal(out, want)
        np.testing.assert_array_equal(d(X, out=out, accumulate=True), 2 * want)


def test_other_dtypes() -> None:
    c, out = irad.compile(lambda x: x + 1), np.zeros(3, np.float32)
    assert c(np.ones(3, np.float32), out=out) is out and out.tolist() == [2.0] * 3
    c, whole = irad.compile(lambda x: x * 1j), np.zeros(3, np.complex128)
    assert c(np.ones(3), out=whole) is whole and whole.tolist() == [1j] * 3
    flags = np.zeros(4, bool)
    assert irad.compile(lambda x: x > 1)(X, out=flags).tolist() == [False, False, True, True]


def test_an_argument_as_out() -> None:
    """What is stored is computed before."""
    c = irad.compile(lambda x: x[::-1] + x[0])
    for _ in range(3):
        x = np.arange(1.0, 5.0)
        assert c(x, out=x) is x and x.tolist() == [5.0, 4.0, 3.0, 2.0]


def test_captured_numbers_are_read_anew() -> None:
    k, out = 1.0, np.zeros(4)
    c = irad.compile(lambda x: x * k)
    for k in (2.0, 3.0, 4.0):  # noqa: B007
        assert c(X, out=out).tolist() == (X * k).tolist()


def test_methods_and_keywords() -> None:
    class Model:
        scale = 2.0

        @irad.compile
        def loss(self, x: Any, *, power: float = 2.0) -> Any:
            return self.scale * x**power

    out = np.zeros(4)
    for _ in range(3):
        assert Model().loss(X, power=3.0, out=out) is out and out.tolist() == (2 * X**3).tolist()


def test_a_parameter_of_that_name_is_the_functions() -> None:
    def f(x: Any, out: Any) -> Any:
        out += x
        return np.sum(out)

    out = np.ones(4)
    assert irad.compile(f)(X, out=out) == 10.0 and out.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_an_exception_leaves_out_as_it_was() -> None:
    c, out = irad.compile(lambda x, k: x * x[k]), np.ones(4)
    for _ in range(2):
        c(X, 1, out=out)
        out[:] = 1
        with pytest.raises(IndexError):
            c(X, 9, out=out)
        assert out.tolist() == [1.0] * 4


def test_misaligned_memory() -> None:
    out = np.zeros(40, np.uint8)[1:33].view(np.float64)
    for _ in range(3):
        assert irad.compile(scalar).grad(X, out=out) is out and out.tolist() == (4 * X).tolist()


@pytest.mark.plain
@pytest.mark.parametrize("accumulate", [False, True])
def test_no_memory_per_call(accumulate: bool, route: str) -> None:
    x = np.linspace(0.0, 1.0, 50_000)
    c = irad.compile(lambda x: np.sum(np.sin(x) * x)).value_and_grad
    out = np.zeros(()), np.zeros_like(x)
    for _ in range(3):
        c(x, out=out, accumulate=accumulate)
    tracemalloc.start()
    c(x, out=out, accumulate=accumulate)
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    for _ in range(20):
        c(x, out=out, accumulate=accumulate)
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert now - before < 2_000
    assert route == "ctypes" or peak - before < 2_000


# ---- what does not fit ----------------------------------------------------------------------------------------------------


def read_only() -> np.ndarray:
    out = np.zeros(4)
    out.flags.writeable = False
    return out


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        (np.zeros(3), IradValueError, r"out must have dtype float64 and shape \(4,\).*shape \(3,\)"),
        (np.zeros((4, 1)), IradValueError, r"shape \(4, 1\)"),
        (np.zeros(4, np.float32), IradValueError, "it has dtype float32"),
        (np.zeros(4, np.int64), IradValueError, "it has dtype int64"),
        (np.zeros(4, ">f8"), IradValueError, "it has dtype >f8"),
        (np.zeros(8)[::2], IradValueError, "C-contiguous"),
        ([0.0] * 4, IradTypeError, "a NumPy array .*not a list of 4"),
        (np.ma.zeros(4), IradTypeError, "not a MaskedArray"),
        ((np.zeros(4),), IradTypeError, "not a tuple of 1"),
        (read_only(), ValueError, "read-only"),
    ],
)
def test_what_is_not_like_the_result(out: Any, error: Any, words: str) -> None:
    for _ in range(2):
        with pytest.raises(error, match=words):
            irad.compile(scalar).grad(X, out=out)


def test_read_only_after_a_call() -> None:
    c = irad.compile(scalar)
    c.grad(X, out=np.zeros(4))
    with pytest.raises(ValueError, match="read-only"):
        c.grad(X, out=read_only())


def test_structures_that_differ() -> None:
    c = irad.compile(scalar)
    with pytest.raises(IradTypeError, match="out must be like the result, a tuple of 2, or None; it is a ndarray"):
        c.value_and_grad(X, out=np.zeros(4))
    with pytest.raises(IradValueError, match=r"out\[0\] must have dtype float64 and shape \(\)"):
        c.value_and_grad(X, out=(np.zeros(4), np.zeros(4)))
    d = irad.compile(lambda x: {"a": x})
    with pytest.raises(IradTypeError, match="a dict with the keys 'a', or None; it is a dict with the keys 'b'"):
        d(X, out={"b": np.zeros(4)})
    with pytest.raises(IradTypeError, match="accumulate is True or False, not 1"):
        d(X, out={"a": np.zeros(4)}, accumulate=1)


@pytest.mark.parametrize("accumulate", [False, True])
def test_memory_that_overlaps(accumulate: bool) -> None:
    c, memory = irad.compile(scalar), np.arange(10.0)
    for _ in range(2):
        for out in (memory[2:6], memory[1:5]):
            with pytest.raises(IradValueError, match="shares memory"):
                c.grad(memory[:4], out=out, accumulate=accumulate)
        assert memory.tolist() == list(range(10))
        c.grad(memory[:4], out=np.zeros(4), accumulate=accumulate)


def test_memory_that_overlaps_what_is_captured() -> None:
    z = np.arange(4.0)
    c = irad.compile(lambda x: x * z)
    for _ in range(2):
        with pytest.raises(IradValueError, match="shares memory"):
            c(X, out=z)
        c(X, out=np.zeros(4))
    assert z.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_one_array_twice() -> None:
    g = np.zeros(4)
    with pytest.raises(IradValueError, match="twice"):
        irad.compile(lambda x, y: np.dot(x, y), argnums=(0, 1)).grad(X, X + 1, out=(g, g))
    h = np.zeros(6)
    c = irad.compile(lambda x, y: np.dot(x, y), argnums=(0, 1))
    with pytest.raises(IradValueError, match="shares memory"):
        c.grad(X, X + 1, out=(h[:4], h[2:]))


def test_extents_that_the_call_decides() -> None:
    with pytest.raises(IradValueError, match="known at run time only"):
        irad.compile(lambda x: x[x > 1])(X, out=np.zeros(2))
