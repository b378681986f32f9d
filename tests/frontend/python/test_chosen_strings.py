"""Strings that are chosen by data: printed, raised, compared, looked up; variables of loops that hold one of several."""

# ruff: noqa: UP031, UP032

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from tests.support.surface import check

X = np.random.default_rng(0).random(5)


def shown(x: np.ndarray) -> Any:
    s, t = "big {x}" if x[0] > 0.5 else "small", "a" if x[1] > 0.5 else "b"
    print(s, f"{s:>9}|", f"{s!r}", s + "!", [s, t], "state: {}".format(s), "%-9s|" % t)
    for i in range(6):
        print(i, "even" if i % 2 == 0 else "odd", "hit" if x[i % 5] > 0.5 else "miss")
    return np.sum(x)


def compared(x: np.ndarray) -> Any:
    s, t = "a" if x[0] > 0.5 else "b", "b" if x[1] > 0.5 else "a"
    y = x[0] * 2 if s == "a" else x[1]
    table = {"a": 1.0, "b": 2.0}
    empty = "" if x[2] > 0.01 else "warning"
    return y + (s == t) * x[2] + (s != "c") * x[3] + table[s] * x[4] + (5.0 if empty else 6.0) * x[0] + (t in ("a", "q")) * x[1]


def machine(x: np.ndarray) -> Any:
    """Three states; the order in which they are met is not that in which they are written."""
    state, v, count = "up", x[0], 0
    for i in range(12):
        if state == "up":
            v = v + x[1]
            if v > 1.5:
                state = "down"
        elif state == "down":
            v = v - x[2]
            if v < 0.2:
                state = "rest"
        else:
            v = v + 0.01
            state = "up" if i % 5 == 0 else "rest"
        count += state in ("down", "rest")
    print("final", state)
    return v + count * x[3]


def best(x: np.ndarray) -> Any:
    name, value = "none", None
    for n, v in zip(["p", "q", "r"], x):
        if value is None or v > value:
            name, value = n, v
    print(name)
    return value * 2


class Schedule:
    def __init__(self) -> None:
        self.mode, self.n = "warm", 0

    def step(self, g: Any) -> Any:
        self.n += 1
        if self.n > 3:
            self.mode = "hot"
        return g * 0.1 if self.mode == "warm" else g


def of_an_object(x: np.ndarray) -> Any:
    s = Schedule()
    for _ in range(8):
        x = x - s.step(x) * 0.5
    print(s.mode)
    return np.sum(x)


@pytest.mark.parametrize("f", [shown, compared, machine, best, of_an_object], ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]) -> None:
    for x in (X, 1.0 - X):
        check(f, x)


def test_in_an_exception() -> None:
    def f(x: float) -> float:
        key = "first" if x > 2 else "second"
        if x > 1:
            raise KeyError(key)
        return x

    for x, key in ((3.0, "first"), (1.5, "second")):
        with pytest.raises(KeyError) as e:
            irad.compile(f)(x)
        assert e.value.args == (key,)


def test_characters_are_not_known() -> None:
    with pytest.raises(irad.UnsupportedError, match="text"):
        irad.compile(lambda x: x * len(str(x[0]).upper()))(X)
    with pytest.raises(irad.UnsupportedError, match="text"):
        irad.compile(lambda x: x * "abc".index("a" if x[0] > 1 else "q"))(X)


def one_end_or_another(x: np.ndarray) -> Any:
    """What is added to a text on some paths: one of some strings, behind what all have in common."""
    row = ""
    for i in range(2):
        for v in x[2 * i : 2 * i + 3]:
            if v > 0.6:
                row += " {*} "
            elif v < 0.3:
                row += f" {i} "
        row += "|\n"
    t = f"x={x[0]:.2f}"
    if x[0] > 0.5:
        t += " large"
        if x[0] > 0.6:
            t += " very"
    else:
        t = t + " small{}"
    print(row + t)
    return x[0] * 2


def test_texts_that_end_in_one_of_some_strings() -> None:
    for x in (X, X - 0.1, 1 - X):
        check(one_end_or_another, x)


def test_texts_that_end_in_a_number_on_one_path() -> None:
    def f(x: np.ndarray) -> Any:
        t = f"{x[0]}"
        if x[0] > 0:
            t += f"{x[1]}"
        print(t)

    with pytest.raises(irad.UnsupportedError, match="'t' cannot be used here: it is a string that depends on data"):
        irad.compile(f)(X)
