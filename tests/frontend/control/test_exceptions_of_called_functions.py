"""Exceptions that called functions raise in loops and branches, depending on data, caught around the call; types told by exceptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad


class NoConvergence(Exception):
    def __init__(self, message: str, best: Any = None):
        super().__init__(message)
        self.best = best


def root(a: Any, x: Any, most: int = 60) -> Any:
    for _ in range(most):
        if abs(x) < 1e-3:
            raise ZeroDivisionError("flat")
        step = (x * x - a) / (2 * x)
        x = x - step
        if abs(step) < 1e-13:
            return x
    raise NoConvergence("too many steps", x)


def caught_by_class(a: Any) -> Any:
    try:
        return root(a, a + 1.0) * a
    except ZeroDivisionError:
        return 3.0 * a
    except NoConvergence:
        return 5.0 * a


def with_its_number(a: Any) -> Any:
    try:
        return root(a, 3.0, 20 if a > 1 else 2)
    except NoConvergence as e:
        return e.best * 2.0


def tabulated(a: Any) -> Any:
    total = 0.0
    for k in range(30):
        try:
            total += root(a + k, a - 10.0 + k)
        except ZeroDivisionError:
            total += a * k
    return total


def stored(log: Any, a: Any) -> Any:
    k = 0
    while k < len(log):
        log[k] = a * k
        if log[k] > 4.0:
            raise ValueError(f"{k}")
        k += 1
    return k


def seen_by_the_handler(a: Any) -> Any:
    log = np.zeros(50)
    try:
        n = stored(log, a)
    except ValueError:
        n = 0.0
    return np.sum(log) + n


def inner(a: Any) -> Any:
    for k in range(40):
        if a * k > 7.0:
            raise KeyError("far")
        if a < -3.0:
            raise IndexError("low")
    return a * a


def middle(a: Any) -> Any:
    try:
        return inner(a) + 1.0
    except IndexError:
        return 2.0 * a


def through_two(a: Any) -> Any:
    try:
        return middle(a)
    except KeyError:
        return 11.0 * a


class Solver:
    def __init__(self, a: Any):
        self.a, self.tries = a, 0

    def solve(self) -> Any:
        x = self.a
        while True:
            self.tries += 1
            x = 0.5 * (x + self.a / x)
            if self.tries > 4:
                raise RuntimeError("tired")
            if abs(x * x - self.a) < 1e-3:
                return x


def object_changed(a: Any) -> Any:
    s = Solver(a)
    try:
        x = s.solve()
    except RuntimeError:
        x = 7.0 * a
    return x + s.tries


def in_a_finally(a: Any) -> Any:
    out = 0.0
    try:
        out = inner(a)
    except (KeyError, IndexError):
        out = a
    finally:
        out = out * 2.0
    return out


def logged(log: Any, a: Any) -> Any:
    log[0] = a
    if a > 1.0:
        log[1] = np.sqrt(a)
        if a > 3.0:
            raise KeyError("far")
        raise ValueError("big")
    log[2] = 2 * a
    return a


def changes_before_two_exceptions(a: Any) -> Any:
    log = np.zeros(3)
    try:
        r = logged(log, a)
    except ValueError:
        r = 5 * a
    except KeyError:
        r = 7 * a
    return np.sum(log) + r


CASES: list[tuple[Callable[[Any], Any], list[float]]] = [
    (caught_by_class, [2.0, -0.9995, 50.0]),
    (with_its_number, [2.0, 0.5]),
    (tabulated, [2.0, 0.3]),
    (seen_by_the_handler, [0.05, 1.3]),
    (through_two, [0.1, 0.4, -5.0]),
    (object_changed, [2.0, 400.0]),
    (in_a_finally, [0.1, 0.4, -5.0]),
    (changes_before_two_exceptions, [0.5, 1.5, 4.0]),
]


@pytest.mark.parametrize("f, at", CASES, ids=[f.__name__ for f, _ in CASES])
def test_value_and_gradient(f: Callable[[Any], Any], at: list[float]) -> None:
    both = irad.value_and_grad(f)
    for a in at:
        value, slope = both(a)
        assert np.isclose(value, f(a), rtol=1e-12), a
        h = 1e-5
        assert np.isclose(slope, (f(a + h) - f(a - h)) / (2 * h), rtol=1e-6), a


def test_what_no_handler_catches_is_raised() -> None:
    def f(a: Any) -> Any:
        try:
            return inner(a)
        except IndexError:
            return a

    c = irad.compile(f)
    assert c(0.1) == f(0.1) and c(-4.0) == -4.0
    with pytest.raises(KeyError, match="far"):
        c(1.0)


# ---- what a number, an array or a list is, found out by an exception ------------------------------------------------------------


def by_length(a: Any, x: Any) -> Any:
    try:
        return a * len(x)
    except TypeError:
        return a * x


def by_float(a: Any, x: Any) -> Any:
    try:
        scale = float(x)
    except TypeError:
        scale = x[0]
    return a * scale


def by_unpacking(a: Any, x: Any) -> Any:
    try:
        first, last = x
    except (TypeError, ValueError):
        first = last = 2.0
    return a * first * last


def by_iteration(a: Any, x: Any) -> Any:
    try:
        iter(x)
    except TypeError:
        x = [x]
    return sum(a * v for v in x)


def by_index(a: Any, x: Any) -> Any:
    try:
        return a * x[0]
    except (TypeError, IndexError):
        return a


def by_shapes(a: Any, x: Any) -> Any:
    try:
        return np.sum(a * np.ones(3) + x)
    except ValueError:
        return a * 5.0


def by_truth(a: Any, x: Any) -> Any:
    try:
        if x > 0:
            return a
    except (ValueError, TypeError):
        return 2 * a
    return 3 * a


def under_a_condition(a: Any, x: Any) -> Any:
    total = 0.0
    try:
        if a > 1.0:
            total = a * len(x)
        total += a
    except TypeError:
        total = 9.0 * a
    return total


TOLD = [by_length, by_float, by_unpacking, by_iteration, by_index, by_shapes, by_truth, under_a_condition]
GIVEN: list[Any] = [2.0, np.array([1.0, 4.0]), [1.5, 2.0], (3.0, 1.0, 2.0), None, np.float64(3.0)]


@pytest.mark.parametrize("f", TOLD, ids=[f.__name__ for f in TOLD])
def test_types_told_by_exceptions(f: Callable[[Any, Any], Any]) -> None:
    for x in GIVEN:
        for a in (1.5, 0.5):
            try:
                expected = f(a, x)
            except Exception as e:
                with pytest.raises(type(e)):
                    irad.compile(f)(a, x)
                continue
            value, slope = irad.value_and_grad(f)(a, x)
            assert np.isclose(value, expected), (a, x)
            h = 1e-6
            assert np.isclose(slope, (f(a + h, x) - f(a - h, x)) / (2 * h), rtol=1e-6), (a, x)


def test_without_try_it_is_an_error_at_the_line() -> None:
    def f(a: Any, x: Any) -> Any:
        if a > 0:
            return a * len(x)
        return a

    with pytest.raises(TypeError, match="len"):
        irad.compile(f)(1.0, 2.0)


def test_texts_that_are_one_object() -> None:
    layers = [{"activation": "relu"}, {"activation": "sigmoid"}]

    def f(x: Any) -> Any:
        relu = "relu"
        for layer in layers:
            if layer["activation"] is relu:
                x = np.maximum(x, 0.0)
            else:
                x = x * x
        return np.sum(x)

    x = np.array([-1.0, 2.0])
    assert irad.compile(f)(x) == f(x) == 4.0
