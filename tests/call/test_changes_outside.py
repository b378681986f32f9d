"""What calls without Python code assign outside: attributes, variables, lists, dicts, among the arguments and beside them."""

from __future__ import annotations

import collections
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import irad
from irad.call.runtime import cache_for
from tests.support.leaks import blocks_left

pytestmark = pytest.mark.plain


class Body:
    made = 0

    def __init__(self) -> None:
        self.x, self.v, self.t, self.n = np.zeros(3), np.ones(3), 0.0, 0
        self.trace, self.last = [0.0], {"t": 0.0}

    def step(self, dt: float) -> Any:
        self.v = self.v - dt * self.x
        self.x = self.x + dt * self.v
        self.t += dt
        self.n += 1
        self.last["t"] = self.t
        self.trace[0] = self.t
        return self.x


@dataclass
class State:
    a: Any
    rest: list[float]


def direct(f: Any) -> bool:
    """Do all calls that came twice run without Python code?"""
    found = cache_for(f).programs
    return bool(found) and None not in found.values()


def test_a_method_that_goes_on() -> None:
    ours, plain = Body(), Body()
    step = irad.compile(ours.step)
    for _ in range(6):
        x = step(0.1)
        assert np.array_equal(x, plain.step(0.1)) and x is ours.x
        assert (ours.t, ours.n, ours.last, ours.trace) == (plain.t, plain.n, plain.last, plain.trace)
        assert np.array_equal(ours.v, plain.v)
    assert direct(Body.step)
    assert blocks_left(lambda: step(0.1), 2000) < 50


def test_arguments_variables_and_classes() -> None:
    total = 0.0
    seen = collections.deque([0.0], 2)

    def f(s: Any, kept: Any, x: Any, *, by: Any) -> Any:
        nonlocal total
        total += x
        Body.made += 1
        s.a, s.rest = s.a * x, [*s.rest[1:], x]
        kept["n"] = kept["n"] + by["k"]
        by["k"] = x
        seen.append(x)
        return total

    c = irad.compile(f)
    s, kept, by = State(1.0, [1.0, 2.0]), {"n": 0.0, "m": 1}, {"k": 0.5}
    wanted, n = [], 0.0
    for k in range(1, 7):
        before = by["k"]
        assert c(s, kept, float(k), by=by) == sum(range(k + 1))
        n += before
        wanted = [float(k - 1) if k > 1 else 2.0, float(k)]
        assert (s.rest, kept, by, Body.made) == (wanted, {"n": n, "m": 1}, {"k": float(k)}, k)
    assert s.a == 720.0 and total == 21.0 and seen == collections.deque([5.0, 6.0], 2)
    Body.made = 0
    assert direct(f)


def test_nothing_is_assigned_by_a_call_that_raises() -> None:
    b = Body()

    def f(x: float) -> float:
        b.t = x
        if x < 0:
            raise ValueError("negative")
        return b.t

    c = irad.compile(f)
    assert [c(x) for x in (1.0, 2.0, 3.0)] == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="negative"):
        c(-1.0)
