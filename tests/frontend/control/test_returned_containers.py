"""A list, dict or object that a `return` in a loop gives, and that is changed where the function goes on."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import irad


def of_list(x, w):
    for i in range(3):
        if x[i] > 1.0:
            return w
    w[1] = np.tanh(x[1])
    return w


def of_dict(x, w):
    d = {"a": x[0]}
    n = 3
    while n > 0:
        n -= 1
        if x[n] > 1.0:
            return d
    d["a"] = x[1] * 2
    return d


def two_names(x, w):
    v = w
    for i in range(3):
        if x[i] > 1.0:
            return v[0], w
    v[0] = 2.0
    return v[0], w


def changed_in_the_loop(x, w):
    for i in range(3):
        for _ in range(2):
            if x[i] > 1.0:
                return w
        w[1] += x[i]
    w[0] = 2.0
    return w


def appended(x, w):
    for i in range(3):
        if x[i] > 1.0:
            return w[:2]
    w.append(x[2])
    w[0] += 1.0
    return w[1:]


@pytest.mark.parametrize("f", [of_list, of_dict, two_names, changed_in_the_loop, appended])
def test_value_and_slope(f: Any) -> None:
    c, d = irad.compile(f), np.array([0.3, -0.7, 0.2])
    for x in ([0.1, 0.2, 3.0], [0.1, 0.2, 0.3], [3.0, 0.2, 0.3], [0.3, -2.0, 0.3]):
        x, mine, theirs = np.array(x), [0.5, 1.0], [0.5, 1.0]
        found, want = c(x, mine), f(x, theirs)
        assert np.allclose(flat(found), flat(want), rtol=1e-15) and np.allclose(mine, theirs, rtol=1e-15)
        _, slope = irad.jvp(f, (x, [0.5, 1.0]), (d, [0.0, 0.0]))
        up, down = flat(f(x + 1e-6 * d, [0.5, 1.0])), flat(f(x - 1e-6 * d, [0.5, 1.0]))
        assert np.allclose(flat(slope), [(p - m) / 2e-6 for p, m in zip(up, down)], atol=1e-8)
        _, pull = irad.vjp(f, x, [0.5, 1.0])
        assert np.isclose(pull(ones(want))[0] @ d, sum(flat(slope)), atol=1e-12)


def ones(x: Any) -> Any:
    if isinstance(x, dict):
        return {k: 1.0 for k in x}
    return type(x)(map(ones, x)) if isinstance(x, (list, tuple)) else 1.0


def flat(x: Any) -> list[float]:
    if isinstance(x, dict):
        x = list(x.values())
    return [y for e in x for y in flat(e)] if isinstance(x, (list, tuple)) else [float(x)]


def test_of_object() -> None:
    def f(x, o):
        for i in range(2):
            if x[i] > 1.0:
                return o.a
        o.a = x[0] * 2
        return o.a + 1

    for x in (np.array([0.5, 2.0]), np.array([0.5, 0.7])):
        mine, theirs = SimpleNamespace(a=0.25), SimpleNamespace(a=0.25)
        assert irad.compile(f)(x, mine) == f(x, theirs) and mine.a == theirs.a


def finally_changes(x):
    w = [x[0], 1.0]
    try:
        for i in range(3):
            if x[i] > 1.0:
                return w
    finally:
        w[0] = 5.0
    return w


def inner(x, w):
    for i in range(3):
        if x[i] > 1.0:
            return w
    w[1] = 3.0
    return [1.0, 2.0]


def caller_changes(x):
    w = [x[0], 1.0]
    r = inner(x, w)
    r[0] = 9.0
    return w, r


@pytest.mark.parametrize("f", [finally_changes, caller_changes])
def test_what_is_changed_after_all_is_right_or_refused(f: Any) -> None:
    for x in (np.array([0.1, 0.2, 3.0]), np.array([0.1, 0.2, 0.3])):
        try:
            found = irad.compile(f)(copy.copy(x))
        except irad.UnsupportedError as e:
            assert "one of several, depending on data" in str(e)
        else:
            assert flat(found) == flat(f(x))


def test_a_list_of_the_caller_that_is_another_on_one_path() -> None:
    """A store into it would have to reach the caller's list on the other path."""

    def f(x, w):
        if x[0] > 1.0:
            w = [1.0, 2.0]
        w[0] = x[1]
        return sum(w)

    with pytest.raises(irad.UnsupportedError, match="one of several, depending on data"):
        irad.compile(f)(np.array([0.5, 2.0]), [0.5, 1.0])
