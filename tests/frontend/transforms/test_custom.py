"""Derivatives that the user gives, stopped gradients, and calls of Python from compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad
from irad.core.text import load, show
from irad.errors import IradTypeError, UnsupportedError

X = np.arange(4.0)


# ---- stop_gradient -----------------------------------------------------------------------------------------------------------


def test_stop_gradient() -> None:
    def f(x: Any) -> Any:
        return np.sum(irad.stop_gradient(x * x) * x)

    np.testing.assert_array_equal(irad.grad(f)(X), [0, 1, 4, 9])
    np.testing.assert_array_equal(irad.grad(lambda x: np.sum((x * x) * x))(X), [0, 3, 12, 27])
    value, along = irad.jvp(f, (X,), (np.ones(4),))
    assert (value, along) == (36.0, 14.0)
    assert irad.compile(f)(X) == f(X) == 36.0


def test_stop_gradient_of_an_array_is_the_array() -> None:
    def f(x):
        y = x * 2.0
        z = irad.stop_gradient(y)
        y[0] = 100.0
        return np.sum(z * x)

    def g(x):
        y = x * 2.0
        z = irad.stop_gradient(y)
        z[1] = x[0] * 3.0
        z[0] += 1.0
        return np.sum(y * x)

    x = np.array([1.0, 2.0])
    assert irad.compile(f)(x) == 108.0 and irad.compile(g)(x) == 9.0
    np.testing.assert_array_equal(irad.grad(f)(x), [100.0, 4.0])
    np.testing.assert_array_equal(irad.grad(g)(x), [4.0 + 1.0 + 6.0, 3.0])  # (2 x0 + 1) x0 + 3 x0 x1
    assert irad.compile(lambda x: irad.stop_gradient(x))(x) is x


def test_stop_gradient_of_views_and_branches() -> None:
    def f(x):
        y = x.reshape(2, 1) * 1.0
        w = irad.stop_gradient(y.T)[0, 1:]
        y[1, 0] = 5.0 * x[0]
        w *= 2.0
        return np.sum(w * x[1:]) + y[1, 0]

    def g(x):
        y = x * 2.0
        z = irad.stop_gradient(y) if x[0] > 0 else y
        y[0] = 50.0
        return np.sum(z * x)

    x = np.array([1.0, 2.0])
    assert irad.compile(f)(x) == 30.0
    np.testing.assert_array_equal(irad.grad(f)(x), [10.0, 10.0])  # w is a constant, y[1, 0] = 10 x0
    np.testing.assert_array_equal(irad.grad(g)(x), [50.0, 4.0])
    np.testing.assert_array_equal(irad.grad(g)(-x), [50.0, -8.0])


def test_stop_gradient_of_a_tree_and_in_a_loop() -> None:
    def f(x: Any, n: int) -> Any:
        state = {"a": x, "b": (x * 2, n)}
        for _ in range(3):
            held = irad.stop_gradient(state)
            state = {"a": state["a"] * held["a"], "b": held["b"]}
        return state["a"] + state["b"][0] * state["b"][1]

    assert irad.grad(f)(1.5, 2) == 1.5 * 1.5**2 * 1.5**4  # each step multiplies by a constant
    assert irad.compile(f)(1.5, 2) == f(1.5, 2)


# ---- custom_vjp ----------------------------------------------------------------------------------------------------------------


@irad.custom_vjp
def scaled_sine(x: Any, n: int = 2) -> Any:
    """n sin x."""
    return np.sin(x) * n


def _sine_forward(x: Any, n: int = 2) -> Any:
    return np.sin(x) * n, (np.cos(x), n)


def _sine_backward(kept: Any, ct: Any) -> Any:
    cosine, n = kept
    return ct * cosine * n, None


scaled_sine.defvjp(_sine_forward, _sine_backward)


def test_custom_vjp_keywords_and_orders() -> None:
    def f(x: Any) -> Any:
        return np.sum(scaled_sine(x, n=3) ** 2)

    assert scaled_sine.__name__ == "scaled_sine" and scaled_sine.__doc__ == "n sin x."
    np.testing.assert_array_equal(scaled_sine(X), np.sin(X) * 2)
    np.testing.assert_allclose(irad.compile(f)(X), f(X), rtol=1e-15)
    irad.check_grads(f, (X,), order=3)
    np.testing.assert_allclose(np.diag(irad.hessian(f)(X)), 18 * np.cos(2 * X), rtol=1e-12)


def test_the_rule_is_what_counts() -> None:
    """A rule that is not the derivative: clipping of cotangents."""

    @irad.custom_vjp
    def clip(x: Any) -> Any:
        return x

    clip.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))
    f = lambda x: np.sum(clip(x) * np.array([0.5, 5.0, -5.0]))
    np.testing.assert_array_equal(irad.grad(f)(np.ones(3)), [0.5, 1.0, -1.0])
    np.testing.assert_array_equal(irad.compile(lambda x: clip(x))(np.ones(3)), np.ones(3))


@irad.custom_vjp
def weighted(d: Any, s: Any) -> Any:
    return {"u": d["a"] * s, "v": np.sum(d["b"])}


weighted.defvjp(
    lambda d, s: (weighted.fun(d, s), (d, s)),
    lambda kept, ct: ({"a": ct["u"] * kept[1], "b": np.ones_like(kept[0]["b"]) * ct["v"]}, np.sum(ct["u"] * kept[0]["a"])),
)


def test_custom_vjp_of_trees_in_loops_and_branches() -> None:
    def f(a: Any, b: Any, s: float) -> Any:
        total = 0.0
        for k in range(3):
            out = weighted({"a": a, "b": b * total}, s)
            if total > 0.2:
                total = total + np.sum(np.sin(out["u"])) + out["v"] ** 2 * 0.1
            else:
                total = total + np.sum(out["u"]) * (k + 1)
        return total

    args = np.array([0.1, 0.2]), np.array([0.3, -0.4, 0.2]), 1.3
    np.testing.assert_allclose(irad.compile(f)(*args), f(*args), rtol=1e-14)
    irad.check_grads(f, args, order=2)


def test_residuals_are_saved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The backward reads what the forward kept: in the joint program the residual is computed one time."""
    text = irad.compile(lambda x: np.sum(scaled_sine(x))).lower(X, grad=True).ir
    assert text.count(" cos ") == 1 and "custom" not in text


def test_methods() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = 2.0

        @irad.custom_vjp
        def apply(self, x: Any) -> Any:
            return self.w * x

    Model.apply.defvjp(lambda m, x: (m.w * x, m.w), lambda w, ct: (None, 10.0 * w * ct))
    model = Model()
    assert model.apply(3.0) == 6.0
    assert irad.grad(lambda x: model.apply(x))(3.0) == 20.0


def test_inside_a_compiled_function() -> None:
    def f(x: Any, z: Any) -> Any:
        @irad.custom_vjp
        def inner(a: Any) -> Any:
            return a * z

        inner.defvjp(lambda a: (a * z, None), lambda _, ct: (ct * z,))
        return inner(x)

    assert irad.grad(f)(3.0, 2.0) == 2.0
    with pytest.raises(UnsupportedError, match="from its surroundings"):
        irad.grad(f, (0, 1))(3.0, 2.0)


# ---- custom_jvp -------------------------------------------------------------------------------------------------------------------


@irad.custom_jvp
def grown(x: Any, y: Any) -> Any:
    return x * np.exp(y)


@grown.defjvp
def _grown_rule(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    out = x * np.exp(y)
    return out, dx * np.exp(y) + out * dy


def test_custom_jvp() -> None:
    def f(x: Any) -> Any:
        total = x * 0.0
        for _ in range(2):
            total = total + grown(x, y=np.sin(x))
        return np.sum(total**2)

    x = X * 0.3
    np.testing.assert_allclose(irad.compile(f)(x), f(x), rtol=1e-14)
    irad.check_grads(f, (x,), order=3)


def test_custom_jvp_takes_integers_and_static_arguments() -> None:
    @irad.custom_jvp
    def power(x: Any, n: int, kind: str) -> Any:
        return x**n if kind == "power" else x

    power.defjvp(lambda p, t: (p[0] ** p[1], 100.0 * t[0]))
    assert irad.grad(lambda x: power(x, 3, kind="power"))(2.0) == 100.0


# ---- what does not fit ------------------------------------------------------------------------------------------------------------


def test_errors_of_rules() -> None:
    @irad.custom_vjp
    def f(x: Any) -> Any:
        return x * 2

    with pytest.raises(UnsupportedError, match="has no rule yet"):
        irad.grad(lambda x: f(x))(1.0)
    f.defvjp(lambda x: x * 2, lambda _, ct: (ct,))
    with pytest.raises(IradTypeError, match=r"must return a tuple \(result, residuals\)"):
        irad.grad(lambda x: f(x))(1.0)
    f.defvjp(lambda x: (np.zeros(3), None), lambda _, ct: (ct,))
    with pytest.raises(IradTypeError, match="with the result of the function"):
        irad.grad(lambda x: f(x))(1.0)
    f.defvjp(lambda x: (x * 2, None), lambda _, ct: (np.zeros(3),))
    with pytest.raises(IradTypeError, match="has shape"):
        irad.grad(lambda x: f(x))(1.0)
    with pytest.raises(IradTypeError, match="wants a function"):
        irad.custom_vjp(3)  # type: ignore[arg-type]


# ---- callbacks --------------------------------------------------------------------------------------------------------------------


def _spectrum(x: Any, n: int) -> Any:
    if n == 7:
        raise KeyError("seven")
    assert isinstance(x, np.ndarray) and isinstance(n, int)
    return np.abs(np.fft.fft(x)) * n


spectrum = irad.callback(_spectrum, np.zeros(4))


def test_callback() -> None:
    f = lambda x, n: np.sum(spectrum(np.sin(x), n) ** 2)
    np.testing.assert_allclose(irad.compile(f)(X, 3), f(X, 3), rtol=1e-14)


def test_an_exception_comes_out_as_it_was() -> None:
    f = irad.compile(lambda x, n: spectrum(x, n))
    for _ in range(2):
        with pytest.raises(KeyError, match="seven"):
            f(X, 7)
        np.testing.assert_allclose(f(X, 2), _spectrum(X, 2))


def test_calls_happen_in_program_order() -> None:
    log: list[Any] = []
    say = irad.callback(lambda *xs: log.append(xs), None)

    def f(x: float) -> float:
        for k in range(3):
            x = x * 2
            say(k, x)
            if x > 4:
                say(-k, x)
        return x

    assert irad.compile(f)(1.5) == 12.0
    assert log == [(0, 3.0), (1, 6.0), (-1, 6.0), (2, 12.0), (-2, 12.0)]


def test_pure_callback_that_nobody_needs() -> None:
    log: list[Any] = []
    pure = irad.callback(lambda x: log.append(x) or 0.0, 0.0, pure=True)
    assert irad.compile(lambda x: pure(x) * 0 if x > 10 else x)(1.0) == 1.0

    def f(x: float) -> float:
        pure(x)
        return x

    assert irad.compile(f)(1.0) == 1.0 and log == []


def test_differentiable_callback() -> None:
    host = irad.callback(
        lambda x, y: np.exp(x) * y, np.zeros(4), vjp=lambda ct, x, y: (ct * np.exp(x) * y, np.sum(ct * np.exp(x)))
    )

    def f(x: Any, y: float) -> Any:
        return np.sum(host(np.sin(x), y) ** 2)

    np.testing.assert_allclose(irad.compile(f)(X, 1.5), f(X, 1.5), rtol=1e-14)
    irad.check_grads(f, (X, 1.5), order=2)


def test_results_are_checked() -> None:
    wrong = irad.callback(lambda v: np.zeros(3), np.zeros(2))
    for call in (wrong, irad.compile(lambda x: wrong(x))):
        with pytest.raises(IradTypeError, match=r"returned f64\[3\], its result_types promise f64\[2\]"):
            call(1.0)
    with pytest.raises(UnsupportedError, match="make it outside"):
        irad.compile(lambda x: irad.callback(lambda v: v, 0.0)(x))(1.0)
    outside = lambda v: v * 2.0
    with pytest.raises(UnsupportedError, match="make it outside"):
        irad.compile(lambda x: irad.callback(outside, np.zeros(3))(x))(np.ones(3))
    pair = irad.callback(lambda x: {"a": x}, {"b": 0.0})
    with pytest.raises(IradTypeError, match="promise"):
        irad.compile(lambda x: pair(x))(1.0)


def test_callbacks_of_the_same_code() -> None:
    """A function that is made anew around another callback calls that one."""

    def scaled(k: float) -> Any:
        host = irad.callback(lambda x: x * k, np.zeros(3))
        return irad.compile(lambda x: host(x) + 1.0)

    for _ in range(3):
        for k in (2.0, 5.0):
            assert np.array_equal(scaled(k)(np.ones(3)), [k + 1.0] * 3)
    a, b = scaled(2.0), scaled(5.0)
    for _ in range(3):
        assert a(np.ones(3))[0] == 3.0 and b(np.ones(3))[0] == 6.0


def test_kinds_of_results() -> None:
    made = irad.callback(lambda x: (1, 2.0, np.float32(3), np.arange(2)), (int, float, np.float32, np.zeros(2, np.int64)))
    got = irad.compile(lambda x: made(x))(1.0)
    assert [type(v) for v in got] == [int, float, np.float32, np.ndarray]
    assert got[:3] == (1, 2.0, 3.0)


def test_callback_without_rule() -> None:
    plain = irad.callback(lambda x: x * 2.0, 0.0)
    with pytest.raises(UnsupportedError, match="`callback` has no derivative"):
        irad.grad(lambda x: plain(x))(1.0)
    assert irad.grad(lambda x: plain(irad.stop_gradient(x)) * x)(1.0) == 2.0


def test_recursion_through_compiled_code() -> None:
    """A callback may call the compiled function again: each call has memory of its own."""
    compiled: Any = None

    def down(n: int) -> float:
        return compiled(n - 1) if n > 0 else 1.0

    again = irad.callback(down, 0.0)
    compiled = irad.compile(lambda n: again(n) * 2.0)
    assert compiled(3) == 16.0


def test_a_host_function_must_be_there(tmp_path: Any) -> None:
    path = tmp_path / "f.irad"
    path.write_text("func @f(%x: f64) -> f64 {\n  %y: f64 = callback[name=nobody_0, types=(f64[])] %x\n  return %y\n}\n")
    program = load(path)
    assert "callback[name=nobody_0" in show(program)
    with pytest.raises(UnsupportedError, match="nobody_0"):
        irad.compile(program)(1.0)
