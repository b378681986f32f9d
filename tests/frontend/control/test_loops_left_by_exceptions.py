"""Loops that end by an exception of the program: what they have done before stays done."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

X = np.array([1.0, 1.2, 2.0, 0.5])


def counter(x: Any) -> Any:
    n = 0
    seen = []
    try:
        while True:
            n += 1
            seen.append(n)
            if n > 5:
                raise KeyError(n)
    except KeyError:
        pass
    return x[0] * n + len(seen)


def emptied_list(x: Any) -> Any:
    rest, total = [1, 2, 3], 0
    try:
        while True:
            total += rest.pop()
    except IndexError:
        pass
    return x[0] * total + len(rest)


def emptied_dict(x: Any) -> Any:
    rest, total = {1: 2.0, 2: 3.0}, 0.0
    try:
        while True:
            total += rest.popitem()[1] * x[0]
    except KeyError:
        pass
    return total + len(rest)


def iterator_of_constants(x: Any) -> Any:
    it, total = iter([1, 2, 3]), 0
    try:
        while True:
            total += next(it)
    except StopIteration:
        pass
    return x[0] * total


def list_of_traced_numbers(x: Any) -> Any:
    found, k = [], 0
    try:
        while True:
            if k >= 3:
                raise IndexError
            found.append(x[k] * x[k])
            k += 1
    except IndexError:
        pass
    return found[1] * len(found)


def dict_in_a_for_loop(x: Any) -> Any:
    d = {}
    try:
        for k in range(10):
            d[k] = k
            if k == 4:
                raise ValueError("four")
    except ValueError:
        return x[0] * len(d)
    return x[0]


def array(x: Any) -> Any:
    y, n = np.zeros(3), 0
    try:
        while True:
            y[n] = x[n]
            n += 1
            if n == 2:
                raise KeyError
    except KeyError:
        pass
    return np.sum(y * y) + n


class Items:
    def __init__(self, x: Any):
        self.x = x

    def __getitem__(self, k: int) -> Any:
        if k >= 3:
            raise IndexError
        return self.x[k]

    def __iter__(self) -> Any:
        k = 0
        try:
            while True:
                yield self[k]
                k += 1
        except IndexError:
            return


def list_of_a_generator(x: Any) -> Any:
    items = list(Items(x))
    return items[1] * len(items)


def sum_over_a_generator(x: Any) -> Any:
    return sum(v * v for v in Items(x))


CASES = [counter, emptied_list, emptied_dict, iterator_of_constants, list_of_traced_numbers, dict_in_a_for_loop, array, list_of_a_generator, sum_over_a_generator]  # fmt: skip


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_what_was_done_before_stays(f: Callable[[Any], Any]) -> None:
    assert irad.compile(f)(X) == pytest.approx(f(X), rel=1e-14)
    want = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(irad.grad(f)(X), want, rtol=1e-7, atol=1e-9)


def test_outside_of_a_try_it_is_raised() -> None:
    def f(x: Any) -> Any:
        n = 0
        while True:
            n += 1
            if n > 3:
                raise KeyError("three")
        return x[0]

    with pytest.raises(KeyError, match="three"):
        irad.compile(f)(X)


def elements_by_position(x, o):
    names = ["a", "bb"] * 3

    def length(i):
        o[0] += x
        return x * len(names[i])

    return np.sum(np.array([length(i) for i in range(12)]))


def elements_by_key(x, o):
    known = {i: x for i in range(7)}

    def element(i):
        o[0] += x
        return x * known[i]

    return np.sum(np.array([element(i) for i in range(12)]))


@pytest.mark.parametrize("f", [elements_by_position, elements_by_key])
def test_what_the_elements_of_an_array_have_stored_stays(f) -> None:
    """The comprehension is tried as a loop first."""
    mine, theirs = np.zeros(2), np.zeros(2)
    with pytest.raises(LookupError) as want:
        f(0.5, theirs)
    with pytest.raises(type(want.value), match=str(want.value)):
        irad.compile(f)(0.5, mine)
    assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("kind", [NotImplementedError, RecursionError, SystemExit, RuntimeError])
def test_what_is_raised_under_a_condition_is_raised_at_run_time(kind: type[BaseException]) -> None:
    """Those too that Python, or irad, raises for other reasons."""

    def f(x: float) -> float:
        if x > 3:
            raise kind("too large")
        return x * x

    def g(x: float) -> float:
        try:
            return f(x)
        except kind:
            return -x

    assert irad.value_and_grad(f)(2.0) == (4.0, 4.0)
    with pytest.raises(kind, match="too large"):
        irad.compile(f)(4.0)
    assert irad.value_and_grad(g)(2.0) == (4.0, 4.0)
    assert irad.value_and_grad(g)(4.0) == (-4.0, -1.0)


def test_exit() -> None:
    def f(x: float) -> float:
        if x > 3:
            sys.exit("too large")
        return x * x

    assert irad.value_and_grad(f)(2.0) == (4.0, 4.0)
    with pytest.raises(SystemExit, match="too large"):
        irad.compile(f)(4.0)


class _Stuck(Exception):
    pass


class _Descent:
    """A step is taken in a method, tried with smaller and smaller lengths, from copies of what there was."""

    def __init__(self, x: Any):
        self.x, self.steps, self.fails = x.copy(), 0, 0
        self.slope = x**3 - x

    def adjusted(self) -> tuple[Any, Any]:
        start, before, f, n = self.x.copy(), self.slope.copy(), 1.0, 0
        while True:
            x = start - f * before
            slope = x**3 - x
            if np.sum(slope**2) < 1.01 * np.sum(before**2):
                break
            f, n = f / 10.0, n + 1
            if n > 3:
                break
        if n > 3:
            self.fails += 1
            if self.fails > 2:
                raise _Stuck("too many")
            x, slope = start, before
        return x, slope

    def step(self) -> None:
        x, slope = self.adjusted()
        self.moved = x - self.x
        self.x, self.slope = x, slope
        self.steps += 1


def test_steps_of_a_method_that_may_raise() -> None:
    def f(x: Any) -> Any:
        s = _Descent(x)
        while s.steps < 5 and np.sum(s.slope**2) > 1e-9:
            try:
                s.step()
            except _Stuck:
                break
        return np.sum(s.x**2) + s.steps

    value, slope = irad.value_and_grad(f)(X)
    assert np.isclose(value, f(X))
    wanted = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(4)]
    np.testing.assert_allclose(slope, wanted, rtol=1e-5, atol=1e-7)
