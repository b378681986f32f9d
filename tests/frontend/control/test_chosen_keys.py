"""Dicts by whole numbers that depend on data: what is read, stored and asked for is found at run time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad
from tests.support.as_python import check

X = np.array([0.43, 1.24, 0.74, 0.92])


def sums(x, s):
    seen = {0: 0.0, 1: 0.0, 2: 0.0, 3: 0.0}
    for v in x:
        seen[int(3 * v)] += v * s
    return seen[1] + seen[2] * 2 - seen[3]


def asked(x, s):
    w = {3: s, -1: s * s, 10: x[0]}
    y = 0.0
    for v in x:
        k = int(v * 10)
        if k in w:
            y += w[k] * v
        y += w.get(k, 0.5 * v)
    return y + w[int(x[0] * 10) - 1]


def flags(x, s):
    t = {True: s, False: x[0]}
    return t[x[1] > 1.0] * t[bool(x[0] > 1.0)]


def arrays(x, s):
    d = {0: x * 1.0, 1: x * 2, 2: np.sin(x)}
    d[int(x[3] * 2)] = d[int(x[1])] * s
    return np.sum(d[int(x[3] * 2)] * d[2])


def kinds(x, s):
    d = {5: 1, 7: 2.5}
    d[5 + 2 * int(x[1])] = s
    return d[5] + d[7] * x[0]


@pytest.mark.parametrize("f", [sums, asked, flags, arrays, kinds], ids=lambda f: f.__name__)
@pytest.mark.parametrize("s", [0.7, -2.0])
def test_values_and_slopes(f: Any, s: float) -> None:
    check(f, (X, s), 0)
    check(f, (X, s), 1)


def _stored_and_missed(x: Any) -> Any:
    d = {0: 0.0}
    d[int(x * 3)] = x
    return d[int(x)]


def test_a_key_that_is_not_there() -> None:
    def read(x: Any) -> Any:
        return {0: 1.0, 1: 2.0}[int(x * 3)] * x

    c = irad.compile(read)
    assert c(0.5) == 1.0
    with pytest.raises(KeyError, match="3"):
        c(1.1)

    def stored(x: Any) -> Any:
        d = {0: 0.0, 1: 0.0}
        d[int(x * 3)] = x
        return d[1]

    c = irad.compile(stored)
    assert c(0.5) == 0.5
    with pytest.raises(KeyError, match="1"):
        irad.compile(lambda x: _stored_and_missed(x))(1.1)
    assert c(1.1) == 0.0


def test_a_dict_from_outside() -> None:
    prices = {1: 2.0, 2: np.float64(3.0)}
    c = irad.compile(lambda x: prices[int(x)] * x)
    assert c(1.5) == 3.0 and c(2.0) == 6.0
    prices[1] = 4.0
    assert c(1.5) == 6.0
    prices[3] = 1.0
    assert c(3.5) == 3.5


def test_the_key_that_is_not_there_is_that_of_the_exception() -> None:
    def number(x: Any) -> Any:
        return {1: 2.0, 3: 4.0}[int(x)]

    def pair(x: Any) -> Any:
        d = {}
        for i in range(3):
            d[int(x) + i, i] = x
        return d[int(x) + 5, 2]

    def caught(x: Any) -> Any:
        try:
            return number(x)
        except KeyError as e:
            return e.args[0] * 1.0

    for f in (number, pair):
        with pytest.raises(KeyError) as want:
            f(5.0)
        with pytest.raises(KeyError) as got:
            irad.compile(f)(5.0)
        assert repr(got.value) == repr(want.value)
    assert irad.compile(caught)(5.0) == 5.0 and irad.compile(caught)(3.0) == 4.0


def test_paths_of_texts_that_data_choose_in_each_step() -> None:
    """The textbook's Viterbi: `path[prev]` is a list of texts, of which each is one of several."""
    states, seen = ("hot", "cold"), ("n", "c", "d", "c")
    shows = {"hot": {"n": 0.2, "d": 0.4, "c": 0.4}, "cold": {"n": 0.5, "d": 0.4, "c": 0.1}}

    def best(p: Any) -> Any:
        v: list[Any] = [{"hot": p, "cold": 1 - p}]
        path = {s: [s] for s in states}
        for t in range(1, len(seen)):
            v.append({})
            new = {}
            for s in states:
                prob, prev = max((v[t - 1][s0] * shows[s][seen[t]], s0) for s0 in states)
                v[t][s] = prob
                new[s] = path[prev] + [s]
            path = new
        return max(v[-1].values()), [states.index(s) for s in path["hot"]]

    c, slope = irad.compile(best), irad.grad(lambda p: best(p)[0])
    for p in (0.7, 0.2, 0.9):
        assert c(p) == best(p)
        assert abs(slope(p) - (best(p + 1e-6)[0] - best(p - 1e-6)[0]) / 2e-6) < 1e-8
    assert len(c.versions) == 1


def test_texts_that_data_chose_are_chosen_by_places_that_data_choose() -> None:
    """The way back of an alignment: more texts than are told apart one by one, of which each is one of three."""
    scores = np.random.default_rng(3).standard_normal((5, 5))

    def aligned(gap: Any) -> Any:
        f, came = np.zeros((6, 6)), {}
        for i in range(1, 6):
            for j in range(1, 6):
                up, side = gap * (1 + 0.03 * i * j), gap * (0.9 + 0.02 * i * j * j)
                f[i, j], came[i, j] = max(
                    [(f[i - 1, j - 1] + scores[i - 1, j - 1], "d"), (f[i - 1, j] - up, "u"), (f[i, j - 1] - side, "l")]
                )
        i, j, way = 5, 5, 0.0
        while i > 0 and j > 0:
            step = came[i, j]
            way = 2 * way + f[i, j]
            i, j = i - (step != "l"), j - (step != "u")
        return way

    c, slope = irad.compile(aligned), irad.grad(aligned)
    for gap in (0.41, 1.13):
        assert abs(c(gap) - aligned(gap)) < 1e-12
        assert abs(slope(gap) - (aligned(gap + 1e-6) - aligned(gap - 1e-6)) / 2e-6) < 1e-6
    assert [v.of for v in c.versions] == ["value", "grad"]


def test_a_limit_that_is_met_at_run_time_is_of_irads_own_and_no_handler_catches_it() -> None:
    def f(s: Any, d: Any) -> Any:
        key = "a" if s > 0 else "b"
        try:
            d[key] = s
        except Exception:
            return -1.0
        return sum(d.values())

    assert irad.compile(f)(2.0, {"a": 1.0}) == 2.0
    with pytest.raises(irad.UnsupportedError, match="gets the key 'b' that it lacks") as e:
        irad.compile(f)(-2.0, {"a": 1.0})
    assert e.value.loc is not None
