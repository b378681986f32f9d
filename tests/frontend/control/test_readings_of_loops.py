"""The bodies of nested loops are read a few times each, and what one reading of a loop has found is used where it holds only."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import irad
from irad.frontend.control.rolled import Rolled
from irad.frontend.trace import trace


def _nest(depth: int, kind: str) -> Any:
    """Loops in loops that carry numbers whose types change at first, and an array."""
    text = "def f(x):\n s = 0\n t = 0.0\n u = x\n"
    for k in range(depth):
        pad = " " * (k + 1)
        if kind == "for":
            text += f"{pad}for i{k} in range(5):\n"
        else:
            text += f"{pad}i{k} = 0\n{pad}while i{k} < 5 and s < 1e9 + {k}:\n{pad} i{k} += 1\n"
    pad = " " * (depth + 1)
    text += f"{pad}s = s + u[0]\n{pad}t = t * 0.5 + s\n{pad}u = u * 1.01\n"
    text += "".join(" " * (k + 2) + "t += 1\n" for k in reversed(range(depth)))
    text += " return s + t + np.sum(u)\n"
    name = f"<{kind} {depth}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def _readings(f: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often bodies of loops are read."""
    count, body = 0, Rolled._body

    def counted(self: Rolled) -> Any:
        nonlocal count
        count += 1
        return body(self)

    monkeypatch.setattr(Rolled, "_body", counted)
    trace(f, (np.ones(3),), {})
    monkeypatch.undo()
    return count


@pytest.mark.parametrize("kind", ["for", "while"])
def test_readings_do_not_multiply(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A level of loops adds readings: 22 of three levels, 40 of four, 65 of five. Once they were 31, 79, 191."""
    three, four, five = (_readings(_nest(d, kind), monkeypatch) for d in (3, 4, 5))
    assert five - four < 1.7 * (four - three), (three, four, five)


@pytest.mark.parametrize("kind", ["for", "while"])
def test_nests(kind: str) -> None:
    f, x = _nest(3, kind), np.array([0.3, -0.2, 0.5])
    value, slope = irad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    moved = lambda h: f(x + h * np.array([1.0, 2.0, -1.0]))
    np.testing.assert_allclose(slope @ [1.0, 2.0, -1.0], (moved(1e-6) - moved(-1e-6)) / 2e-6, rtol=1e-7)


def test_the_same_loop_over_another_dtype() -> None:
    """A loop that is read once for float64 and once for float32: what it carries the second time is float32."""

    def sums(wide, narrow):
        out = []
        for x in (wide, narrow):
            s = x[0] * 0
            for i in range(10):
                s = s + x[i]
            out.append(s)
        return out

    def elements(wide, narrow):
        out = []
        for x in (wide, narrow):
            s = 0.0
            for v in x:
                s = s + v
            out.append(s)
        return out

    class Scale:
        by: Any = 1.0

    scale = Scale()

    def attributes(wide, narrow):
        out = []
        for x in (wide, narrow):
            scale.by = x[1]
            s = 0.0
            while s < 0.9:
                s = s + scale.by
            out.append(s)
        return out

    wide, narrow = np.full(10, 0.1), np.full(10, 0.1, np.float32)
    for f in (sums, elements, attributes):
        for args in ((wide, narrow), (narrow, wide)):
            found, expected = irad.compile(f)(*args), f(*args)
            assert [(type(x), x) for x in found] == [(type(x), x) for x in expected], f.__name__


_SOLVER = """
def solve(g, a, b):
    for _ in range(60):
        c = (a + b) / 2
        if g(c) > 0:
            b = c
        else:
            a = c
        if abs(b - a) < 1e-9:
            return c
    return a
"""


def _solved(depth: int) -> Any:
    """Bisection in bisection, by functions that are made at each call: x + ... + x**(1/2**depth) that is t."""
    text = _SOLVER + "def f(t):\n g0 = lambda x, t=t[0]: x - t\n"
    for k in range(depth):
        text += f" g{k + 1} = lambda x: solve(lambda y: g{k}(y) + y * y - x, -9.0, 9.0) + x - t[1]\n"
    text += f" return solve(lambda x: g{depth}(x), -8.0, 8.0)\n"
    name = f"<solved {depth}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def test_loops_that_call_functions_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is made at each reading, of the same text and around it the same, is the same; what a loop returns is carried."""
    two, three, four = (_readings(_solved(d), monkeypatch) for d in (2, 3, 4))
    assert four - three < 1.7 * (three - two), (two, three, four)
    f, t = _solved(2), np.array([0.3, 0.1])
    np.testing.assert_allclose(irad.compile(f)(t), f(t), rtol=1e-12)
