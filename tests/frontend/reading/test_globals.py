"""globals(): variables of the module by names that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import UnsupportedError

FACTOR = 3.0


def model_square(x: Any) -> Any:
    return x * x


def model_cube(x: Any) -> Any:
    return x**3


def chosen(x: Any, kind: str) -> Any:
    if "missing" in globals() or globals().get("nothing") is not None:
        return x
    return globals()["FACTOR"] * globals()["model_" + kind](x)


def counted(x: Any) -> Any:
    globals()["count"] = globals().get("count", 0) + 1
    return x * count  # noqa: F821


def test_items(monkeypatch: Any) -> None:
    c = irad.value_and_grad(chosen)
    assert c(2.0, "square") == (12.0, 12.0) and c(2.0, "cube") == (24.0, 36.0)
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert c(2.0, "square") == (20.0, 20.0)
    monkeypatch.setitem(globals(), "missing", 1)
    assert c(2.0, "square") == (2.0, 1.0)


def test_what_is_stored_is_there_afterwards(monkeypatch: Any) -> None:
    monkeypatch.setitem(globals(), "count", 0)
    c = irad.compile(counted)
    assert [float(c(2.0)) for _ in range(3)] == [2.0, 4.0, 6.0] and globals()["count"] == 3


def test_what_is_not_there() -> None:
    with pytest.raises(KeyError):
        irad.compile(lambda x: globals()["missing"] * x)(1.0)

    def f(x: Any) -> Any:
        return globals()[np.sum(x)] * x

    with pytest.raises(UnsupportedError, match="put what it may name into a dict"):
        irad.compile(f)(np.ones(2))


def damped(r: Any) -> Any:
    np.root3_of_r = r * np.sqrt(3)
    return (1 + np.root3_of_r) * np.exp(-np.root3_of_r)


def test_attributes_that_the_program_adds_to_a_module_of_a_library() -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for r in x:
            s += damped(r)
        return s

    x = np.array([0.1, 0.4])
    try:
        value, g = irad.value_and_grad(f)(x)
        assert not hasattr(np, "root3_of_r")  # a gradient changes nothing
        want, left = f(x), np.root3_of_r
        assert np.isclose(value, want) and np.allclose(g, -3 * x * np.exp(-np.sqrt(3) * x))
        np.root3_of_r = 0.0
        c = irad.compile(f)
        assert np.isclose(c(x), want) and np.root3_of_r == left and np.isclose(c(x + 1), f(x + 1))
    finally:
        del np.root3_of_r
    for name in ("pi", "sin"):
        with pytest.raises(UnsupportedError, match=f"attribute {name} of the module numpy is assigned"):
            irad.compile(lambda x, name=name: setattr(np, name, x))(1.0)


def softened(x: Any) -> Any:
    return np.where(x > 0, x, 0.1 * x)


class Layer:
    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, x: Any) -> Any:
        return eval(self.name)(x)


def test_eval_of_known_text() -> None:
    def f(x: Any) -> Any:
        y = x
        for name in ("softened", "np.sin", " {'k': softened}['k']"):
            y = Layer(name)(y) + 0.5
        return np.sum(y**2)

    x = np.array([0.5, -4.0])  # sin(0.1 * -4 + 0.5) is positive, as all that follows
    inner, slopes = np.array([1.0, 0.1]), np.array([1.0, 0.1])
    y = np.sin(inner * x + 0.5) + 1.0
    assert irad.compile(f)(x) == pytest.approx(np.sum(y**2), rel=1e-14) and f(x) == pytest.approx(np.sum(y**2))
    assert irad.grad(f)(x) == pytest.approx(2 * y * np.cos(inner * x + 0.5) * slopes)
    with pytest.raises(NameError, match="name 'no_such' is not defined"):
        irad.compile(lambda x: eval("no_such")(x))(1.0)
    for local in (lambda x: eval("x + 1"), lambda x: eval("(lambda y: y)(2)") * x, lambda x: (lambda: eval("x"))()):
        with pytest.raises(UnsupportedError, match="eval"):
            irad.compile(local)(1.0)
