"""Variables that are an array on some paths and a number, list or tuple on others: the compiled function against plain Python."""

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


class Share:
    def __init__(self) -> None:
        self.parts: Any = None

    def of(self, x: np.ndarray) -> Share:
        try:
            if x[0] > 0.3:
                raise ValueError("too much")
            self.parts = x * 0.5
        except ValueError:
            self.parts = [1.0, x[1], 3.0]
        return self


def in_a_handler(x: np.ndarray) -> Any:
    found = Share().of(x)
    return found.parts[0] * 2 + np.sum(found.parts) + sum(found.parts) + len(found.parts)


class Odds:
    def __init__(self) -> None:
        self.parts: Any = None

    def of(self, x: np.ndarray) -> Odds:
        try:
            if x[0] > 0.3:
                raise ValueError("too much")
            if x[1] < 0.15:
                raise KeyError("too few")
            self.parts = x * 0.5
        except ValueError:
            self.parts = [1.0, x[1], 3.0]
        except KeyError:
            if x[2] > 0.2:
                self.parts = [2.0, 1.0, x[2]]
        return self


def list_array_or_none(x: np.ndarray) -> Any:
    found = Odds().of(x)
    if found.parts is None:
        return x[2] * 3
    return found.parts[0] * 2 + np.sum(found.parts) * x[1]


def list_array_or_error(x: np.ndarray) -> Any:
    return np.exp(Odds().of(x).parts[1])


def list_of_arrays(x: np.ndarray) -> Any:
    rows: Any = [x[:2], x[1:]]
    if x[0] > 0.3:
        rows = np.stack((x[:2], x[1:])) * 2
    return sum(np.sum(row**2) for row in rows) + rows[1][0] + np.sum(np.mean(rows, axis=0))


def seen_under_other_names(x: np.ndarray) -> Any:
    numbers = [x[0], x[1], 1.0]
    other, y = numbers, x * 3
    chosen: Any = numbers
    if x[0] > 0.3:
        chosen = y
    chosen[0] = x[2] * 7.0
    return other[0] + numbers[1] + y[0] * 2 + chosen[2]


def one_or_the_other_each_trip(x: np.ndarray) -> Any:
    p: Any = [1.0, x[1]]
    for i in range(40):
        if x[i % 3] > 0.4:
            p = np.array(p) * 1.01 + x[i % 3]
        elif i % 7 == 0:
            p = [x[0], p[0]]
    return p[0] + p[1] * 2


def operators_of_both(x: np.ndarray) -> Any:
    p: Any = [1.0, x[1], 2.0]
    if x[0] > 0.3:
        p = x
    twice, more = p * 2, p + [1.0, 2.0, 3.0]
    a, b, c = p
    pairs = sum(u * v for u, v in zip(p, x)) + sum(k * v for k, v in enumerate(p))
    return len(twice) + np.sum(twice) + np.sum(more) + a * b + c + pairs


def tuple_returned(x: np.ndarray) -> Any:
    def parted(x: np.ndarray) -> Any:
        return (x * 2, x[0]) if x[0] > 0.3 else x

    r = parted(x)
    return np.sum(r[0]) + r[1] if isinstance(r, tuple) else np.sum(r**2)


def two_shapes_unpacked(x: np.ndarray) -> Any:
    p = x[:2] if x[0] < 0.3 else np.array([[x[0], 1.0], [x[1], x[2]]])
    a, b = p
    return np.sum(a) * 2 + np.sum(b)


def list_or_array(x: np.ndarray) -> Any:
    return [x[0], 2.0] if x[0] > 0.3 else x[:2] * 3


def only_of_one(x: np.ndarray) -> Any:
    p: Any = [1.0, x[1]]
    if x[0] > 0.3:
        p = x
    return p.shape[0] + p[1]


NUMBERS = [
    in_a_handler, list_array_or_none, list_of_arrays, seen_under_other_names, one_or_the_other_each_trip, operators_of_both, tuple_returned, two_shapes_unpacked,
    summed_in_a_loop, in_a_while, settled_by_a_test, settled_by_its_rank, stored_in_place, in_a_dict, number_again, given_to_a_function,
    in_a_list, indices_of_the_best, gone_over, joined_to_others, looked_up,
]  # fmt: skip


@pytest.mark.parametrize("f", NUMBERS, ids=lambda f: f.__name__)
def test_values(f: Callable[..., Any]) -> None:
    for x in SAMPLES:
        np.testing.assert_allclose(irad.compile(f)(x.copy()), f(x.copy()), rtol=1e-14)


@pytest.mark.parametrize("f", [returned, no_array, list_or_array, only_of_one, list_array_or_error], ids=lambda f: f.__name__)
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
