"""Functions, classes, members of enumerations and strings that data choose: plain Python beside the compiled function, and slopes."""

from __future__ import annotations

import collections
import enum
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

X = np.array([0.31, -1.2, 0.74, 0.42, -0.63, -0.2])


class State(enum.Enum):
    IDLE = 0
    UP = 1
    DOWN = 2

    @property
    def sign(self) -> float:
        return {State.IDLE: 0.5, State.UP: 1.0, State.DOWN: -1.0}[self]

    def following(self) -> State:
        return State((self.value + 1) % 3)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


def state_machine(x: np.ndarray) -> Any:
    state, total, counts = State.IDLE, 0.0, dict.fromkeys(State, 0)
    for v in x:
        if state is State.IDLE:
            state = State.UP if v > 0 else State.DOWN
        elif state == State.UP:
            total += v * state.sign
            if v < -0.3:
                state = state.following()
        else:
            total -= v**2
            state = State.IDLE
        counts[state] += 1
    return total, state, state.name, state in (State.UP, State.DOWN), counts, f"{state.name:>6}"


def numbers_of_an_enumeration(x: np.ndarray) -> Any:
    total, level = 0.0, Level.LOW
    for v in x:
        level = Level.HIGH if v > 0.4 else Level.LOW
        total += level * v
        if level >= 5:
            total += 1.0
    return total, int(level)


def squared(t: Any) -> Any:
    return t * t


TABLE: list[Any] = [np.sin, squared, np.tanh]
BY_NAME: dict[str, Any] = {"sin": np.sin, "squared": squared, "tanh": np.tanh}


def functions_of_a_table(x: np.ndarray) -> Any:
    i = int(np.argmax(x[:3]))
    best = max(BY_NAME, key=lambda n: BY_NAME[n](x).sum())
    f = np.cos if x[0] > 0.3 else math.exp
    return TABLE[i](x).sum() + BY_NAME[best](x[1]) * f(x[2]), best, TABLE[(i + 1) % 3] is squared


def closures(x: np.ndarray) -> Any:
    a, count = x[0] * 2, 0

    def scaled(t: Any) -> Any:
        nonlocal count
        count += 1
        return t * a

    def moved(t: Any) -> Any:
        return t + a

    h = scaled if x[1] > 0 else moved
    a = a + 1
    total = 0.0
    for v in x:
        total += h(v)
        h = moved if v > 0 else scaled
    return total, count


def made_before(x: np.ndarray) -> Any:
    def times(a: Any) -> Callable[[Any], Any]:
        return lambda t: t * a

    f, g = times(x[0]), times(x[1])
    for v in x:
        if v > 0:
            f, g = g, f
    return f(x[2]) + 3 * g(x[3]), None


def none_at_first(x: np.ndarray) -> Any:
    act = last = None
    for v in x:
        if v > 0.5:
            act, last = np.exp, State.UP
    return x[0] if act is None else act(x[0]), last


def lists_and_counts(x: np.ndarray) -> Any:
    found = []
    for v in x:
        if v > 0:
            found.append((State.UP, v))
        elif v < -1:
            found.append((State.DOWN, v))
    states = [State.UP if v > 0 else State.DOWN for v in x]
    return sum(s.sign * v for s, v in found), found, states.count(State.UP), collections.Counter(states[:3])[State.UP]


def keys_of_a_dict(x: np.ndarray) -> Any:
    sums: dict[State, Any] = {}
    for v in x[:3]:
        state = State.UP if v > 0 else State.DOWN
        sums[state] = sums.get(state, 0.0) + v
    texts: dict[str, Any] = collections.defaultdict(float)
    for v in x[:3]:
        texts["a" if v > 0 else "b"] += v
    return sums[State.UP] * texts["b"], sums, dict(texts)


def returned(x: np.ndarray) -> Any:
    word = "high" if x[0] > 0 else "low"
    return x[0], (np.sin if x[1] > 0 else np.cos), {"state": State.UP if x[2] > 0 else State.DOWN}, word, f"{word}!" == "high!"


PROGRAMS = [
    state_machine, numbers_of_an_enumeration, functions_of_a_table, closures, made_before, none_at_first, lists_and_counts,
    keys_of_a_dict, returned,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_python(program: Any) -> None:
    compiled = irad.compile(program)
    for x in (X, -X):
        got, want = compiled(x), program(x)
        assert str(got[1:]) == str(want[1:])
        np.testing.assert_allclose(got[0], want[0], rtol=1e-13)
    step = 1e-6
    slopes = [(program(X + e)[0] - program(X - e)[0]) / (2 * step) for e in step * np.eye(len(X))]
    np.testing.assert_allclose(irad.grad(lambda x: program(x)[0])(X), slopes, rtol=1e-7, atol=1e-8)


def test_a_whole_number_decides_when_it_is_read() -> None:
    """A function that a static number chooses is one function, not a choice at run time."""

    def f(x: Any, n: int) -> Any:
        act = np.sin if n > 2 else np.cos
        return act(x)

    compiled = irad.compile(f)
    assert [compiled(0.5, n) for n in (1, 3)] == [np.cos(0.5), np.sin(0.5)]


def test_what_is_no_choice() -> None:
    def made_on_a_path(x: Any) -> Any:
        times: Callable[[Any], Any] = lambda a: lambda t: t * a
        f = times(x[0]) if x[1] > 0 else times(x[2])
        return f(x[3])

    def string_or_not(x: Any) -> Any:
        return (State.UP if x[0] > 0 else "none") is State.UP

    refused = [(made_on_a_path, "function <lambda> on one path"), (string_or_not, "a string on one path")]
    for f, words in refused:
        with pytest.raises(irad.UnsupportedError, match=words):
            irad.compile(f)(X)


def test_members_by_computed_values() -> None:
    class Name(enum.Enum):
        FAR, NEAR = "far", "near"

    def f(x: Any) -> Any:
        total = 0.0
        for v in x:
            level = Level(5 if v > 0 else 1)
            name = Name("far" if v > 0.5 else "near")
            turned = State((State.UP if v > 0 else State.DOWN).value % 2 + 1)
            total += v**2 * turned.value + (3 * v if level is Level.HIGH else 0.0) + (v**3 if name is Name.FAR else 0.0)
            total += Level(level) is level
        return total

    assert irad.compile(f)(X) == pytest.approx(f(X), rel=1e-14)
    turned = np.where(X > 0, 2, 1)  # UP is 1, DOWN is 2
    assert irad.grad(f)(X) == pytest.approx(2 * X * turned + 3 * (X > 0) + 3 * X**2 * (X > 0.5))
    c = irad.compile(lambda x: State(int(x)).value * x)
    assert c(2.0) == 4.0
    with pytest.raises(ValueError, match=r"^3 is not a valid State"):
        c(3.0)
