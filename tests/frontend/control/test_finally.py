"""What runs however a block is left: before the handler further out that catches the exception, and once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import UnsupportedError
from tests.support.outcomes import agrees


def finally_alone(n: int, d: int) -> int:
    try:
        try:
            q = n // d
        finally:
            n = n + 1
    except ZeroDivisionError:
        return n * 100
    return n + q


def another_exception_in_the_handler(n: int, d: int) -> int:
    q = 1
    try:
        try:
            q = n // d
        except ZeroDivisionError:
            raise KeyError("a") from None
        finally:
            n = n + 1
    except KeyError:
        n = n * 100
    return n + q


def known_when_compiled(n: int, d: int) -> int:
    try:
        try:
            raise IndexError
        except IndexError:
            raise KeyError("a") from None
        finally:
            n = n + d
    except KeyError:
        n = n * 100
    return n


def raised_in_else(n: int, d: int) -> int:
    try:
        try:
            q = 1
        except KeyError:
            q = 2
        else:
            q = n // d
        finally:
            n = n + 1
    except ZeroDivisionError:
        return n * 100
    return n + q


def three_deep_in_a_loop(n: int, d: int) -> int:
    for k in range(4):
        try:
            try:
                try:
                    n = n + 10 // (d - k)
                except KeyError:
                    n = 0
                finally:
                    n = n + 1
                n = n + 5
            finally:
                n = n * 2
        except ZeroDivisionError:
            n = n - 3
        n = n + k
    return n


def local_in_a_called_function(n: int, d: int) -> int:
    def quotient(m: int) -> int:
        try:
            return m // d
        finally:
            m = m + 1

    try:
        q = quotient(n)
    except ZeroDivisionError:
        return n * 100
    return n + q


@pytest.mark.parametrize("d", [0, 1, 2, 9])
@pytest.mark.parametrize(
    "f",
    [
        finally_alone,
        another_exception_in_the_handler,
        known_when_compiled,
        raised_in_else,
        three_deep_in_a_loop,
        local_in_a_called_function,
    ],
)
def test_finally_runs_before_the_handler_further_out(f: Callable[[int, int], int], d: int) -> None:
    agrees(f, 7, d)


def store_in_a_called_function(n: int, d: int) -> Any:
    x = np.zeros(2)

    def quotient(m: int) -> int:
        try:
            return m // d
        finally:
            x[0] += 1

    try:
        q = quotient(n)
    except ZeroDivisionError:
        return x[0]
    return x[0] + q


class Counted:
    n = 0

    def __enter__(self) -> Counted:
        return self

    def __exit__(self, *given: object) -> None:
        self.n += 1


def exit_of_a_with(n: int, d: int) -> float:
    c = Counted()
    try:
        with c:
            q = n // d
    except ZeroDivisionError:
        return c.n * 1.5
    return c.n + q * 1.0


def jump_in_finally(n: int, d: int) -> int:
    for _ in range(2):
        try:
            try:
                n = n // d
            finally:
                break  # noqa: B012
        except ZeroDivisionError:
            n = -1
    return n


@pytest.mark.parametrize("f", [store_in_a_called_function, exit_of_a_with, jump_in_finally])
def test_what_cannot_be_followed_is_refused(f: Callable[[int, int], Any]) -> None:
    with pytest.raises(UnsupportedError, match="what runs on its way"):
        irad.compile(f)(7, 0)
