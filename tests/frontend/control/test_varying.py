"""Variables that are an array on some paths and a number or an empty list on others: the compiled function against plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import UnsupportedError
from tests.support.outcomes import agrees

SAMPLES = [np.array([0.5, 0.6, 0.9]), np.array([0.1, 0.2, 0.5]), np.zeros(3), np.array([0.9, 0.1, 0.9])]


def summed_in_a_loop(x: np.ndarray) -> Any:
    c = 0.0
    for k in range(len(x)):
        if x[k] > 0.4:
            c = c + x * k
    return np.sum(c)


def in_a_while(x: np.ndarray) -> Any:
    total, k = 0, 0
    while k < len(x):
        if x[k] > 0.4:
            total = total + np.outer(x, x) * k
        k += 1
    return np.sum(np.exp(total)) + np.max(total)


def settled_by_a_test(x: np.ndarray) -> Any:
    c = 2.5
    if x[0] > 0.3:
        c = x * c
    if isinstance(c, np.ndarray):
        c = c.sum()
    return c * 3.0


def settled_by_its_rank(x: np.ndarray) -> Any:
    c = 1.0
    for v in x:
        c = c * x if v > 0.4 else c * 0.5
    return np.dot(c, x) if np.ndim(c) else c * np.sum(x)


def stored_in_place(x: np.ndarray) -> Any:
    c, y = 0.0, x.copy()
    if x[0] > 0.3:
        c = y
    c += 1
    return np.sum(y) + np.sum(c)


def in_a_dict(x: np.ndarray) -> Any:
    grads = {"g": 0.0}
    for v in x:
        if v > 0.4:
            grads["g"] = grads["g"] + x * v
    return np.sum(grads["g"] ** 2)


def number_again(x: np.ndarray) -> Any:
    c = 0.0
    for v in x:
        if v > 0.4:
            c = c + x
        if v > 0.8:
            c = 0.25
    return np.sum(np.sin(c))


def given_to_a_function(x: np.ndarray) -> Any:
    def scaled(a: Any) -> Any:
        return a * 2 if np.ndim(a) == 1 else a + 1

    c = 0.5
    if x[0] > 0.4:
        c = x
    return np.max(scaled(c))


def in_a_list(x: np.ndarray) -> Any:
    parts = []
    for v in x:
        c = 1.0
        if v > 0.4:
            c = x
        parts.append(c)
    return sum(np.sum(p) for p in parts)


def returned(x: np.ndarray) -> Any:
    c = 2.5
    if x[0] > 0.3:
        c = x * c
    return c, [c, 1.0]


def no_array(x: np.ndarray) -> Any:
    c = 0.0
    if x[0] > 0.3:
        c = x * 2
    return c.shape[0] + np.sum(x)


class Fit:
    def __init__(self) -> None:
        self.inliers: Any = []

    def best(self, x: np.ndarray, n: int) -> Any:
        found: Any = []
        for k in range(n):
            if x[k % 3] > 5.0:
                continue
            near = np.where(np.abs(x - 0.1 * k) <= 0.25)[0]
            if len(near) > len(found):
                found = near
            self.inliers = found
        return self.inliers


def indices_of_the_best(x: np.ndarray) -> Any:
    few = Fit().best(x, 4)
    many = Fit().best(x, 40)
    y = x.copy()
    y[few] *= 2.0
    return np.sum(x[many] ** 3) + len(many) + np.sum(y * np.arange(3.0))


def gone_over(x: np.ndarray) -> Any:
    parts: Any = []
    if x[0] > 0.3:
        parts = x * 2.0
    total = 1.0
    for v in parts:
        total = total + v * v
    return total * np.size(parts) + np.sum(parts) + (1.0 if isinstance(parts, list) else x[1])


def joined_to_others(x: np.ndarray) -> Any:
    more: Any = []
    if x[0] > 0.3:
        more = x[x > 0.55]
    return np.sum(np.concatenate([more, x]) ** 2) * len(np.concatenate((x, more)))


def looked_up(x: np.ndarray) -> Any:
    first: Any = []
    if x[1] > 0.4:
        first = x
    try:
        return first[0] * x[2]
    except IndexError:
        return x[1]


NUMBERS = [
    summed_in_a_loop, in_a_while, settled_by_a_test, settled_by_its_rank, stored_in_place, in_a_dict, number_again, given_to_a_function,
    in_a_list, indices_of_the_best, gone_over, joined_to_others, looked_up,
]  # fmt: skip


@pytest.mark.parametrize("f", NUMBERS, ids=lambda f: f.__name__)
def test_values(f: Callable[..., Any]) -> None:
    for x in SAMPLES:
        np.testing.assert_allclose(irad.compile(f)(x.copy()), f(x.copy()), rtol=1e-14)


@pytest.mark.parametrize("f", [returned, no_array], ids=lambda f: f.__name__)
def test_results_and_exceptions(f: Callable[..., Any]) -> None:
    for x in SAMPLES:
        agrees(f, x)


@pytest.mark.parametrize("f", NUMBERS, ids=lambda f: f.__name__)
def test_gradients(f: Callable[..., Any]) -> None:
    for x in SAMPLES[:2]:
        irad.check_grads(f, (x + 0.013,), order=1, rtol=1e-6, atol=1e-6)


def test_a_gradient_wants_a_number() -> None:
    with pytest.raises(UnsupportedError, match="an array f64.3. on some paths and a float on others"):
        irad.grad(lambda x: returned(x)[0])(SAMPLES[0])
    with pytest.raises(UnsupportedError, match="an array on some paths and a number on the others"):
        irad.vjp(lambda x: returned(x)[0], SAMPLES[0])


def test_kinds_that_come_of_both() -> None:
    def f(x: np.ndarray) -> Any:
        c = 1.0
        if x[0] > 0.3:
            c = x
        return np.array(c) + 1

    compiled = irad.compile(f)
    for x in SAMPLES:
        assert np.array_equal(compiled(x), f(x)) and np.shape(compiled(x)) == np.shape(f(x))
