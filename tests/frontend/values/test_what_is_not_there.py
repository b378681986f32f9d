"""Attributes and variables that are not there, which a program asks for in `try`: they may be there at the next call. And containers and
objects of the caller's that are put somewhere stay themselves."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import irad

pytestmark = pytest.mark.plain


class Plain:
    pass


class Slots:
    __slots__ = ("a",)


plain, late, slots, space, module = Plain(), Plain(), Slots(), types.SimpleNamespace(), types.ModuleType("made")


def tried(read: Callable[[], Any], error: type[Exception] = AttributeError) -> Callable[[float], float]:
    def f(x: float) -> float:
        try:
            y = read()
        except error:
            y = 5.0
        return y * x

    return f


@pytest.mark.parametrize(
    ("read", "add", "error"),
    [
        (lambda: plain.a, lambda: setattr(plain, "a", 3.0), AttributeError),
        (lambda: late.b, lambda: setattr(Plain, "b", 3.0), AttributeError),
        (lambda: slots.a, lambda: setattr(slots, "a", 3.0), AttributeError),
        (lambda: space.a, lambda: setattr(space, "a", 3.0), AttributeError),
        (lambda: module.a, lambda: setattr(module, "a", 3.0), AttributeError),
        (lambda: Plain.c, lambda: setattr(Plain, "c", 3.0), AttributeError),
        (lambda: made_later, lambda: globals().update(made_later=3.0), NameError),  # type: ignore[name-defined]  # noqa: F821
    ],
    ids=["object", "class", "slot", "namespace", "module", "of a class", "global"],
)
def test_it_is_seen_when_it_is_there(read: Any, add: Any, error: Any) -> None:
    f = tried(read, error)
    c, slope = irad.compile(f), irad.grad(f)
    assert [(c(1.0), slope(1.0)) for _ in range(4)] == [(5.0, 5.0)] * 4
    add()
    assert [(c(1.0), slope(1.0)) for _ in range(4)] == [(3.0, 3.0)] * 4


def test_a_counter_that_begins_by_an_exception() -> None:
    class Counter:
        n: int

        def step(self, x: float) -> float:
            try:
                self.n += 1
            except AttributeError:
                self.n = 1
            return self.n * x

    step = irad.compile(Counter().step)
    assert [step(1.0) for _ in range(5)] == [1.0, 2.0, 3.0, 4.0, 5.0]


@dataclass
class State:
    a: float


def test_what_is_put_into_an_attribute_stays_itself() -> None:
    class Holder:
        def __init__(self) -> None:
            self.l, self.k, self.s = [1.0], [2.0], State(1.0)

        def exchange(self, x: float) -> float:
            self.l, self.k = self.k, self.l
            self.l.append(x)
            return sum(self.k)

        def hold(self, s: State, x: float) -> float:
            self.s = s
            s.a += x
            return self.s.a

    ours, want = Holder(), Holder()
    l, exchange, hold = ours.l, irad.compile(ours.exchange), irad.compile(ours.hold)
    for _ in range(5):
        assert exchange(1.0) == want.exchange(1.0) and (ours.l, ours.k) == (want.l, want.k)
    assert l is ours.k
    s = State(1.0)
    assert [hold(s, 1.0) for _ in range(4)] == [2.0, 3.0, 4.0, 5.0] and ours.s is s


def test_equal_ranges_with_other_bounds_are_several() -> None:
    several = [range(0, 3, 2), range(0, 4, 2), range(1, 9)]
    c = irad.compile(lambda x: (range(0, 3, 2) if x > 1 else range(0, 4, 2)).stop * x)
    d = irad.compile(lambda x: several[int(x)].stop * 1.0)
    assert [c(0.5), c(1.5), d(0.5), d(1.5)] == [2.0, 4.5, 3.0, 4.0]


def test_a_global_that_hides_a_builtin_is_seen_whatever_else_goes() -> None:
    """One global comes and another goes: there are as many as before."""
    f = irad.compile(lambda x: abs(x) + max(x, 2.0))
    several = lambda: [f(-3.0) for _ in range(4)]
    names = globals()
    try:
        assert several() == [5.0] * 4
        names["_other"] = 1
        assert several() == [5.0] * 4
        names["abs"] = math.sin
        assert several() == [math.sin(-3.0) + 2.0] * 4
        del names["_other"]
        assert several() == [math.sin(-3.0) + 2.0] * 4
        del names["abs"]
        names["max"] = min
        assert several() == [0.0] * 4
    finally:
        for name in ("_other", "abs", "max"):
            names.pop(name, None)
    assert several() == [5.0] * 4
