"""`irad.compile(donate=)`: results take the memory of arguments that the caller gives up, where that is right."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

import irad
from irad.call.runtime import cache_for
from irad.codegen.call import machine as entry
from irad.core.interp import interpret
from irad.core.text import parse, show
from irad.options import leaves_of
from irad.passes.derivatives.autodiff import grad
from irad.passes.manager import run
from irad.pipeline import native, optimise
from tests.fuzz.graphs import control_flow, straight_line

X = np.arange(6.0).reshape(2, 3) + 1.0
Y = np.linspace(-1.0, 2.0, 6).reshape(2, 3)


@pytest.fixture(params=["direct", "ctypes"], autouse=True)
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Calls with and without Python code on the way."""
    if request.param == "ctypes":
        monkeypatch.setattr(entry, "available", lambda: False)
    return str(request.param)


def check(f: Callable[..., Any], donate: Any, *args: Any) -> list[list[int]]:
    """Call several times on copies; the values must be right. For each result the arguments it is, if always the same."""
    c = irad.compile(f, donate=donate)
    seen = set()
    for _ in range(4):
        own = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        found, wanted = c(*own), f(*[a.copy() if isinstance(a, np.ndarray) else a for a in args])
        results, want = (found, wanted) if isinstance(found, tuple) else ((found,), (wanted,))
        for r, w in zip(results, want, strict=True):
            np.testing.assert_allclose(r, w, rtol=1e-14)
        arrays = [(k, a) for k, a in enumerate(own) if isinstance(a, np.ndarray)]
        seen.add(tuple(tuple(k for k, a in arrays if r is a) for r in results))
        for k, a in arrays:
            if k not in leaves_of(f, c.options.donate, args, {}):
                np.testing.assert_array_equal(a, args[k])
    (always,) = seen
    return [list(r) for r in always]


def test_step_of_descent() -> None:
    assert check(lambda p, g: p - 0.1 * g, 0, X, Y) == [[0]]
    assert check(lambda p, g: p - 0.1 * g, "p", X, Y) == [[0]]
    assert check(lambda p, g: p - 0.1 * g, (), X, Y) == [[]]


@pytest.mark.plain
def test_calls_run_without_python_code(route: str) -> None:
    f = lambda p, g: p - 0.1 * g
    c = irad.compile(f, donate=0)
    for _ in range(3):
        c(X.copy(), Y)
    programs = list(cache_for(f, c.options).programs.values())
    assert route == "ctypes" or (len(programs) == 1 and programs[0] is not None)


def test_each_result_takes_one_argument() -> None:
    assert check(lambda x, y: (x * 2 + y, x - y), (0, 1), X, Y) in ([[0], [1]], [[1], [0]])


def test_what_is_read_later_is_not_overwritten() -> None:
    """A result that reads the argument elsewhere needs memory of its own."""
    assert check(lambda x: x[::-1] * 2, 0, X) == [[]]
    assert check(lambda x: x[:, ::-1].copy(), 0, X) == [[]]
    assert check(lambda x: (x[1] + x).T.copy().T + x, 0, X) in ([[]], [[0]])
    square = np.arange(9.0).reshape(3, 3)
    assert check(lambda x: x @ x, 0, square) == [[]]
    assert check(lambda x: x.T + 1.0, 0, square) == [[]]


def test_other_types_are_not_taken() -> None:
    assert check(lambda x: x.astype(np.float32), 0, X) == [[]]
    assert check(lambda x: np.sum(x, axis=0), 0, X) == [[]]
    assert check(lambda x, n: x * n, "n", X, 3) == [[]]


def test_another_shape_of_the_same_memory() -> None:
    c = irad.compile(lambda x: x.reshape(3, 2) * 2, donate=0)
    for _ in range(3):
        x = X.copy()
        out = c(x)
        np.testing.assert_array_equal(out, X.reshape(3, 2) * 2)
        assert out.shape == (3, 2) and np.shares_memory(out, x)


def test_loop_with_an_array() -> None:
    def relax(x: Any) -> Any:
        x = x.copy()
        for i in range(1, len(x)):
            x[i] = 0.5 * (x[i] + x[i - 1])
        return x

    assert check(relax, 0, np.linspace(0.0, 3.0, 9)) == [[0]]


def test_arguments_that_are_changed_or_returned() -> None:
    """They mean what they mean without donation."""

    def returned(x: Any) -> Any:
        return x, x * 2

    def changed(x: Any) -> Any:
        x[0] = 7.0
        return x * 2

    assert check(returned, 0, X) == [[0], []]
    c = irad.compile(changed, donate=0)
    for _ in range(3):
        x = X.copy()
        out = c(x)
        assert np.all(x[0] == 7.0) and np.array_equal(x[1], X[1]) and np.array_equal(out, x * 2)


def test_read_only_arrays_are_left_alone() -> None:
    c = irad.compile(lambda x: np.sin(x), donate=0)
    x = X.copy()
    x.flags.writeable = False
    for _ in range(3):
        np.testing.assert_allclose(c(x), np.sin(X))
        np.testing.assert_array_equal(x, X)
    y = X.copy()
    assert c(y) is y


def test_memory_shared_with_another_argument() -> None:
    """Copied: the other argument keeps its numbers, and both are read before they are written."""
    c = irad.compile(lambda p, q: (p + q[::-1], q * 2), donate="p")
    for _ in range(3):
        b = np.arange(10.0)
        p, q = c(b[:6], b[4:])
        np.testing.assert_array_equal(b, np.arange(10.0))
        np.testing.assert_array_equal(p, b[:6] + b[4:][::-1])
        np.testing.assert_array_equal(q, b[4:] * 2)
    x = X.copy()
    np.testing.assert_array_equal(irad.compile(lambda p, q: p - q, donate="p")(x, x), 0 * X)
    np.testing.assert_array_equal(x, X)


def test_captured_array_is_not_overwritten() -> None:
    weights = X.copy()
    c = irad.compile(lambda w: w * 2 + weights[::-1], donate=0)
    for _ in range(3):
        np.testing.assert_array_equal(c(weights), X * 2 + X[::-1])
        np.testing.assert_array_equal(weights, X)


def test_strided_argument() -> None:
    c = irad.compile(lambda x: x * 2, donate=0)
    for _ in range(3):
        base = np.arange(12.0)
        np.testing.assert_array_equal(c(base[::2]), np.arange(0, 12, 2) * 2.0)
        np.testing.assert_array_equal(base, np.arange(12.0))


def test_tree() -> None:
    """All arrays in a donated argument are."""

    def step(params: Any, grads: Any) -> Any:
        return {k: params[k] - 0.1 * grads[k] for k in params}

    c = irad.compile(step, donate="params")
    for _ in range(3):
        params = {"w": X.copy(), "b": np.ones(3)}
        new = c(params, {"w": Y, "b": np.ones(3)})
        assert new["w"] is params["w"] and new["b"] is params["b"]
        np.testing.assert_allclose(new["w"], X - 0.1 * Y)


def test_gradient_in_the_memory_of_its_argument() -> None:
    c = irad.compile(lambda x, y: np.sum(x * x * y), donate=0)
    for _ in range(3):
        x = X.copy()
        value, slope = c.value_and_grad(x, Y)
        assert slope is x and value == pytest.approx(np.sum(X * X * Y))
        np.testing.assert_allclose(slope, 2 * X * Y)


def test_vjp_and_jvp_give_nothing_up() -> None:
    c = irad.compile(lambda x: x * x, donate=0)
    x = X.copy()
    out, pullback = c.vjp(x)
    np.testing.assert_array_equal(pullback(np.ones_like(x))[0], 2 * X)
    assert not np.shares_memory(out, x)
    irad.jvp(c, (x,), (x,))
    irad.linearize(c, x)
    np.testing.assert_array_equal(x, X)


def test_plan_of_a_donated_parameter() -> None:
    """Its place is the result's; without donation it is its own."""
    program = parse(
        """
        func @f(%x: f64[4], %y: f64[4]) -> f64[4] {
          %z: f64[4] = loop[extents=(4), outs=(store:(d0))] %0 body { |%i: i64|
            %a: f64 = load[map=(d0)] %x, %i
            %b: f64 = load[map=(d0)] %y, %i
            %c: f64 = mul %a, %b
            yield %c
          }
          return %z
        }""".replace("%z: f64[4] = loop", "%0: f64[4] = empty\n          %z: f64[4] = loop")
    )
    assert "%x: f64[4]@p0" in show(run(program, ["plan"]))
    given = run(program, ["plan"], donated={0})
    assert "%x: f64[4]@r0" in show(given) and "%y: f64[4]@p1" in show(given)
    assert given["f"].memo["donated"] == {0: 0}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("make", [straight_line, control_flow], ids=["straight", "control"])
def test_random_programs(make: Any, seed: int, route: str) -> None:
    """All arrays given up, gradients too: the numbers are the interpreter's."""
    if route == "ctypes":
        pytest.skip("called by itself, the native code has one route")
    case = make(Random(seed), 10, True)
    for program in (case.program, grad(case.program)):
        want = interpret(program, *case.args)
        arrays = frozenset(k for k, v in enumerate(next(iter(program.values())).params) if v.type.shape)
        code = native(optimise(program, donated=arrays))
        args = [np.array(a, t.numpy).reshape(t.shape) for a, t in zip(case.args, code.params)]
        got = code.run(args)
        for k, j in code.donated.items():
            assert got[k] is args[j] or np.shares_memory(got[k], args[j])
        for w, g in zip(want, got, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [33, 300, 20_001])
def test_a_donated_stencil(size: int) -> None:
    """Its two buffers change places, which a parameter's memory cannot."""

    def f(x: np.ndarray, n: int) -> np.ndarray:
        x = x.copy()
        for _ in range(n):
            x[1:-1] = x[2:] * x[:-2] + 0.1 * x[1:-1]
        return x

    def g(x: np.ndarray, n: int) -> Any:
        while n > 0:
            x[1:-1] = x[2:] * x[:-2] + 0.1 * x[1:-1]
            n -= 1
        return np.sum(x)

    x = np.random.default_rng(0).uniform(0, 1, size)
    for h in (f, g):
        for n in (0, 1, 4):
            want = h(x.copy(), n)
            np.testing.assert_allclose(irad.compile(h, donate=0)(x.copy(), n), want, rtol=1e-13)


@pytest.mark.parametrize("size", [(5, 7), (17, 33), (64, 100)])
@pytest.mark.parametrize("samples", [1, 20, 64])
def test_weights_updated_by_products(size: tuple[int, int], samples: int) -> None:
    """The update of a weight is computed on the tile of its gradient's product, which stores the product or its transpose."""
    r = np.random.default_rng(1)
    w, x, y = r.standard_normal(size), r.standard_normal((samples, size[0])), r.standard_normal((samples, size[1]))

    def step(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
        return w - 0.1 * (x.T @ (x @ w - y))

    def transposed(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
        return w - 0.1 * ((x @ w - y).T @ x).T

    for f in (step, transposed):
        np.testing.assert_allclose(irad.compile(f, donate=0)(w.copy(), x, y), f(w, x, y), rtol=1e-11, atol=1e-12)


def test_training_step_makes_no_weight_anew() -> None:
    def loss(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, x: Any, y: Any) -> Any:
        h = np.maximum(np.tanh(x @ w1 + b1) @ w2 + b2, 0.0)
        return np.mean((h @ w3 - y) ** 2)

    def step(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, x: Any, y: Any) -> Any:
        slopes = irad.grad(loss, argnums=(0, 1, 2, 3, 4))(w1, b1, w2, b2, w3, x, y)
        return tuple(p - 0.1 * g for p, g in zip((w1, b1, w2, b2, w3), slopes))

    r = np.random.default_rng(2)
    args = [r.standard_normal(s) / 4 for s in ((40, 64), (64,), (64, 48), (48,), (48, 10), (16, 40), (16, 10))]
    c = irad.compile(step, donate=(0, 1, 2, 3, 4))
    own = [a.copy() for a in args]
    found = c(*own)
    assert [a is b for a, b in zip(found, own)] == [True] * 5
    for g, w in zip(found, irad.compile(step)(*args), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-14)


@pytest.mark.plain
def test_explain_says_why_memory_is_not_taken() -> None:
    def elsewhere(w: np.ndarray) -> Any:
        return w - w.T @ w

    def later(w: np.ndarray) -> Any:
        b = (w * 2.0) @ w
        return b, w @ b

    def other(w: np.ndarray) -> Any:
        return np.sum(w)

    def same(w: np.ndarray) -> Any:
        return w, w * 2.0

    said = {
        elsewhere: "no result takes its memory: the loop that makes the sub reads it elsewhere than where it writes",
        later: "reads it when %b is already written",
        other: "no result takes its memory: none is f64[9,9]",
        same: "its memory is not free: the function changes or returns it",
    }
    for f, text in said.items():
        assert "%w is donated, but " in (told := irad.compile(f, donate=0).lower(np.ones((9, 9))).explain) and text in told, told
