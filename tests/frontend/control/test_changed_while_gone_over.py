"""Containers that the body of a loop changes while it goes over them: beside plain Python, values, slopes, exceptions."""

from __future__ import annotations

import collections
import math
from typing import Any

import numpy as np
import pytest

import irad


def appended(x):
    xs, s = [x, 1.0], 0.0
    for v in xs:
        s += v * v
        if len(xs) < 6:
            xs.append(v * 2)
    return [s]


def removed(x):
    xs, s = [1.0, 2.0, 3.0, 4.0], 0.0
    for v in xs:
        s += v * x
        xs.remove(v)
    return [s, *xs]


def popped(x):
    xs, s = [1.0, 2.0, 3.0, 4.0], 0.0
    for v in xs:
        s += v * x
        xs.pop()
    return [s]


def stored_further_on(x):
    xs = [x, 1.0, 2.0, 3.0]
    for i, v in enumerate(xs):
        if i + 1 < len(xs):
            xs[i + 1] += v * x
    return xs


def stored_in_a_long_list(x):
    xs = [x * i for i in range(20)]
    for i, v in enumerate(xs):
        if i + 1 < 20:
            xs[i + 1] += v * 0.5
    return xs


def stored_in_a_list_that_grew(x):
    xs: list[Any] = []
    for i in range(20):
        xs.append(x * i)
    for i, v in enumerate(xs):
        if i < 19:
            xs[i + 1] += v * 0.5
    return xs


def stored_at_the_end(x):
    xs, s = [x * i for i in range(20)], 0.0
    for a, b in zip(xs, reversed(xs)):
        s += a * b
        xs[4] = s
    return [s]


def by_an_iterator(x):
    xs = [x, 1.0, 2.0]
    it = iter(xs)
    a = next(it)
    xs.append(7.0 * x)
    xs[1] = x * 3
    return [a, sum(it)]


def by_a_generator(x):
    xs = [x, 1.0, 2.0]
    g = (v * 2 for v in xs)
    xs[1] = 5.0 * x
    xs.append(x)
    return list(g)


def queue(x):
    todo, s = [(0, x)], 0.0
    for n, v in todo:
        s += v
        if n < 4:
            todo.append((n + 1, v * 0.5))
            todo.append((n + 2, v * x))
    return [s]


def values_of_a_dict(x):
    d = {k: x * k for k in range(5)}
    for v in d.values():
        d[4] += v * v
    for k, v in d.items():
        d[k] = v * 2
    return list(d.values())


def left_after_a_change(x):
    d = {"a": x, "b": 2.0}
    for _ in d:
        d["c"] = x * x
        break
    return list(d.values())


_RIGHT = [
    appended,
    removed,
    popped,
    stored_further_on,
    stored_in_a_long_list,
    stored_in_a_list_that_grew,
    stored_at_the_end,
    by_an_iterator,
    by_a_generator,
    queue,
    values_of_a_dict,
    left_after_a_change,
]


@pytest.mark.parametrize("f", _RIGHT, ids=lambda f: f.__name__)
def test_value_and_slope(f: Any) -> None:
    def total(x):
        return sum([math.sin(k + 1.0) * v for k, v in enumerate(f(x))])

    for x in (0.5, 1.5):
        assert np.allclose(irad.compile(f)(x), f(x), rtol=1e-13)
        slope = (total(x + 1e-6) - total(x - 1e-6)) / 2e-6
        assert np.isclose(irad.grad(total)(x), slope, rtol=1e-6)


def key_added(x):
    d = {"a": x, "b": 2.0}
    for k in d:
        d[k + "x"] = 1.0
    return x


def last_key_taken(x):
    d = {"a": x}
    for k in d.keys():
        d.pop(k)
    return x


def in_a_sum(x):
    d = {"a": x, "b": 2.0}
    return sum(d.pop(k) for k in d)


def element_added(x):
    q = {1, 2}
    for k in q:
        q.add(k + 10)
    return x


def deque_appended(x):
    q = collections.deque([1.0, x])
    for v in q:
        q.append(v)
    return x


def moved_to_the_end(x):
    d = collections.OrderedDict(a=x, b=1.0)
    for _ in d:
        d.move_to_end("a")
    return x


def made_by_asking(x):
    d = collections.defaultdict(float, a=x)
    return sum([d[k] + d["new"] for k in d])


@pytest.mark.parametrize(
    "f",
    [key_added, last_key_taken, in_a_sum, element_added, deque_appended, moved_to_the_end, made_by_asking],
    ids=lambda f: f.__name__,
)
def test_a_changed_size_raises(f: Any) -> None:
    with pytest.raises(RuntimeError) as want:
        f(0.5)
    with pytest.raises(RuntimeError, match=str(want.value)):
        irad.compile(f)(0.5)


def test_it_can_be_caught() -> None:
    def f(x):
        d, s = {"a": x, "b": 2.0}, 0.0
        try:
            for k in d:
                s += x
                d[k + "c"] = 1.0
        except RuntimeError:
            s += 10.0
        return s

    assert irad.compile(f)(0.5) == f(0.5)


def test_a_list_that_grows_by_data_is_refused() -> None:
    def f(x):
        xs, s = [x, 1.0, 2.0], 0.0
        for v in xs:
            s += v
            if v * x < 3.0:
                xs.append(v + x)
        return s

    with pytest.raises(irad.UnsupportedError, match="go over a copy"):
        irad.compile(f)(0.5)


class P:
    def __init__(self, v):
        self.v = v


@pytest.mark.parametrize(
    "look",
    [
        lambda xs, q: xs.index(q),
        lambda xs, q: xs.count(q),
        lambda xs, q: xs.remove(q) or xs[0].v,
        lambda xs, q: tuple(xs).index(q),
        lambda xs, q: collections.deque(xs).index(q),
        lambda xs, q: {xs[0]: 1.0, xs[1]: 2.0}[q],
        lambda xs, q: q in {xs[0]},
    ],
)
def test_an_object_that_data_chose_is_looked_for_itself(look: Any) -> None:
    def f(x):
        xs = [P(1.0), P(2.0)]
        return look(xs, xs[0] if x > 1 else xs[1]), xs[0].v

    c = irad.compile(f)
    for x in (0.5, 1.5):
        assert c(x) == f(x)
