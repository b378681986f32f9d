"""Functions and methods of `functools.cache` and `lru_cache`: read as what they wrap; a cache that is cleared is cleared at each call."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import irad
from tests.support.as_python import check

X = np.array([0.3, -0.55, 0.21, 0.95])


class Costs:
    def fit(self, x: Any) -> Costs:
        self.error.cache_clear()
        self.x = x
        return self

    @functools.cache  # noqa: B019
    def error(self, start: int, end: int) -> Any:
        return np.sum((self.x[start:end] - np.mean(self.x[start:end])) ** 2)

    both = functools.cache(lambda self, k: self.error(0, k) + self.error(k, 4))


@functools.lru_cache
def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def costs(x: Any) -> Any:
    c = Costs().fit(x)
    return c.both(1) + 2.0 * c.both(2) * fib(6)


def test_methods_that_keep_their_results() -> None:
    check(costs, (X,))


def test_a_cache_is_cleared_at_each_call() -> None:
    def f(x: Any) -> Any:
        fib.cache_clear()
        return x * fib(5)

    c = irad.compile(f)
    for _ in range(2):
        fib(7)
        assert c(2.0) == 10.0 and fib.cache_info().currsize == 0


def test_another_method_later_is_another_program() -> None:
    class Scaled(Costs):
        both = functools.cache(lambda self, k: self.x[k])

    def f(x: Any) -> Any:
        s = Scaled()
        s.x = x
        return s.both(2)

    c = irad.compile(f)
    assert c(X) == 0.21
    Scaled.both = functools.cache(lambda self, k: 2 * self.x[k])  # type: ignore[assignment]
    assert c(X) == 0.42
