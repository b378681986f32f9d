"""Other names of what a loop swaps, collects or rebinds see what Python's would: as plain Python, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

X = np.array([0.5, 1.2, -0.7])


def swapped(x: Any, n: int) -> Any:
    u, v = x.copy(), x * 2
    e, s = u, 0.0
    for _ in range(n):
        u[0] += 1
        s += e[0]
        u, v = v, u
    return s


def view_of_swapped(x: Any, n: int) -> Any:
    u, v = x.copy(), x * 2
    w, s = u[1:], 0.0
    for _ in range(n):
        u[1] += 1
        s += w[0]
        u, v = v, u
    return s


def listed_before(x: Any, n: int) -> Any:
    u, v = x.copy(), np.zeros_like(x)
    hist = [u]
    for _ in range(n):
        v[:] = u * 0.5 + 1
        u, v = v, u
        hist.append(u.copy())
    return np.sum(hist[0])


def listed_in_each_trip(x: Any, n: int) -> Any:
    u, w = x.copy(), x * 1
    hist: list[Any] = []
    for i in range(n):
        w[0] += i
        hist.append(w)
        w, u = u, w
    return sum(np.sum(h) for h in hist)


def not_known_otherwise(x: Any, n: int) -> Any:
    u, v = x.copy(), np.zeros_like(x)
    for _ in range(n):
        v[1:-1] = u[:-2] * 0.5 + u[2:]
        u, v = v, u
    return np.sum(u) + np.sum(v * 2)


@pytest.mark.parametrize("f", [swapped, view_of_swapped, listed_before, listed_in_each_trip, not_known_otherwise])
@pytest.mark.parametrize("n", [1, 4, 10])
def test_swaps(f: Callable[..., Any], n: int) -> None:
    assert np.isclose(irad.compile(f)(X, n), f(X, n))


def test_a_list_that_grows_and_is_rebound_has_no_other_name() -> None:
    def f(x: Any, n: int) -> Any:
        xs: list[Any] = []
        ys = xs
        for i in range(n):
            xs.append(x[i % 3])
            if i == 2:
                xs = xs[1:]
        return sum(ys)

    with pytest.raises(irad.UnsupportedError, match="one of several"):
        irad.compile(f)(X, 8)


def test_a_generator_that_a_for_left_is_not_at_its_end() -> None:
    def f(x: Any) -> Any:
        g = (v * v for v in x)
        s = 0.0
        for v in g:
            s += v
            if v > 1:
                break
        return s + next(g, 100.0)

    with pytest.raises(irad.UnsupportedError, match="gives its elements once"):
        irad.compile(f)(X)


def _recorder() -> tuple[Callable[..., Any], dict[str, list[Any]]]:
    d: dict[str, list[Any]] = {"w": [], "g": [], "r": []}

    def f(x: Any, n: int) -> Any:
        for i in range(n):
            d["w"].append(x * i)
            d["g"].append(x - i)
            d["r"].append(x + i)
        return np.sum(d["g"][-1])

    return f, d


def test_lists_that_are_written_back_are_told_apart() -> None:
    (f, want), (g, got) = _recorder(), _recorder()
    c = irad.compile(g)
    for _ in range(3):
        assert np.isclose(c(X, 5), f(X, 5))
    assert all(len(want[k]) == len(got[k]) and np.allclose(want[k], got[k]) for k in want)


def one_of_the_callers(w, x):
    for v in x:
        if v > 1.0:
            w = [v, v]
    w[0] = 9.0
    return w[0] + w[1]


def one_of_two_names(w, x):
    a = [1.0, 2.0]
    b = a
    for v in x:
        if v > 1.0:
            a = [v, v]
    a[0] = 9.0
    return a[0] + b[0]


def new_in_each_trip(w, x):
    for v in x:
        w = [v, v]
        if v > 1.0:
            w[0] = 3.0
    w[1] = 5.0
    return w[0] * w[1]


def only_read(w, x):
    for v in x:
        if v > 1.0:
            w = [v, v]
    return w[0] * w[1]


@pytest.mark.parametrize("trips", [2, 90])
@pytest.mark.parametrize("f", [one_of_the_callers, one_of_two_names], ids=lambda f: f.__name__)
def test_a_list_that_data_exchanges_in_a_loop_is_not_changed(f, trips) -> None:
    """Which of the lists it is by then is not followed, so which of them would change is not known."""
    with pytest.raises(irad.IradError, match="a list is changed that is one of several"):
        irad.compile(f)([1.0, 2.0], np.linspace(0.1, 1.9, trips))


@pytest.mark.parametrize("trips", [2, 90])
@pytest.mark.parametrize("f", [new_in_each_trip, only_read], ids=lambda f: f.__name__)
def test_a_list_that_is_new_or_only_read_is(f, trips) -> None:
    for top in (0.9, 1.9):
        x, w = np.linspace(0.1, top, trips), [1.0, 2.0]
        assert irad.compile(f)(w, x) == f([1.0, 2.0], x) and w == [1.0, 2.0]


def stored_by_data(x):
    a, ks = [1.0, 2.0], [[3.0, 3.0], [3.0, 4.0]]
    ks[int(x)] = a
    a[0] = x
    return ks[0][0] + 10 * ks[1][0]


def merged_twice(x):
    b, c = [3.0, 4.0], [0.5, 1.5]
    if x > 0:
        if x > 1:
            c = b
        else:
            c = [9.0, 9.0]
    c[-1] += 2.0
    return b[1]


def longer_in_a_loop(x):
    c = [1.0]
    d = c
    for i in range(6):
        if i >= x:
            c = c + [x]
    c.append(1.0)
    return len(c) * x + len(d)


def chosen_in_a_loop(x):
    d, c = [[0.5, 0.5], [1.5, 1.5]], [0.0, 0.0]
    for i in range(2):
        if x < 1 + i:
            c = d[i]
    c[1] = x
    return d[0][1]


def the_same_one(x):
    ks = [[1.0, 2.0], [3.0, 4.0]]
    b = ks[int(x)]
    return 1.0 if b is ks[0] else x


def a_key_that_may_be_missing(x):
    s = "a" if x > 1 else "b"
    try:
        return {"a": x}[s]
    except KeyError:
        return -1.0


@pytest.mark.parametrize(
    "f, message",
    [
        (stored_by_data, "a list is changed that is one of several"),
        (merged_twice, "a list is changed that is one of several"),
        (longer_in_a_loop, "a list is changed that is one of several"),
        (chosen_in_a_loop, "a list is changed that is one of several"),
        (the_same_one, "'is' of a list that is one of several"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_data_decides_is_not_guessed(f, message) -> None:
    for x in (0.5, 1.5):
        with pytest.raises(irad.IradError, match=message):
            irad.compile(f)(x)


def test_a_key_that_may_be_missing() -> None:
    c = irad.compile(a_key_that_may_be_missing)
    assert c(1.5) == 1.5 and c(0.5) == -1.0


# ---- a list that a trip changes under the name that another variable was given ------------------------------------------


class Holder:
    pass


def given_then_changed(x, n):
    a, c = [1.0, 2.0], [3.0, 4.0]
    before = a
    for _ in range(n):
        before = a
        for _ in range(2):
            a = c
        c[0] += x
    return before[0]


def changed_by_the_first_name(x, n):
    a = [1.0, 2.0]
    b, s = a, 0.0
    for _ in range(n):
        b[0] += x
        s += a[0]
        a = [a[0] * 2, 1.0]
    return s


def given_to_an_attribute(x, n):
    o, c, s = Holder(), [3.0, 4.0], 0.0
    o.p = [1.0, 2.0]
    for _ in range(n):
        s += o.p[0]
        o.p = c
        c[0] += x
    return s


def given_to_an_element(x, n):
    xs, c, s = [[1.0, 2.0], [5.0, 6.0]], [3.0, 4.0], 0.0
    for _ in range(n):
        s += xs[0][0]
        xs[0] = c
        c[0] += x * s
    return s


def given_by_a_function(x, n):
    a, c, s = [1.0, 2.0], [3.0, 4.0], 0.0

    def exchange():
        nonlocal a
        a = c
        c[0] += x

    for _ in range(n):
        s += a[0]
        exchange()
    return s


def objects(x, n):
    o, p = Holder(), Holder()
    o.v, p.v = 1.0, 2.0
    q, s = o, 0.0
    for _ in range(n):
        s += q.v
        q = p
        p.v += x
    return s


def a_list_that_grows(x, n):
    xs, ys, s = [], [], 0.0
    for k in range(n):
        s += sum(ys)
        ys = xs
        xs.append(x * k)
    return s + sum(ys)


def a_ring(x, n):
    a, b, c, s = [1.0, 2.0], [3.0, 4.0], [5.0, 6.0], 0.0
    for _ in range(n):
        e = a
        a, b, c = b, c, a
        e[0] += x
        s += c[0]
    return a[0] + 10 * b[0] + 100 * c[0] + s


_GIVEN = [
    given_then_changed,
    changed_by_the_first_name,
    given_to_an_attribute,
    given_to_an_element,
    given_by_a_function,
    objects,
    a_list_that_grows,
    a_ring,
]


@pytest.mark.parametrize("f", _GIVEN, ids=lambda f: f.__name__)
def test_a_list_that_is_given_to_a_variable_and_changed(f) -> None:
    for n in (0, 1, 3, 7):
        assert np.isclose(irad.compile(f)(0.5, n), f(0.5, n), rtol=1e-14), n
        slope = (f(0.5 + 1e-6, n) - f(0.5 - 1e-6, n)) / 2e-6
        assert np.isclose(irad.grad(f)(0.5, n), slope, rtol=1e-7, atol=1e-8), n


def test_it_is_refused_where_the_loop_depends_on_data() -> None:
    def f(x):
        a, c, d, s = [1.0, 2.0], [3.0, 4.0], [5.0, 6.0], 0.0
        while s < x:
            s += a[0]
            e = a
            a, c = c, d
            e[0] += x
            d = e
        return s + a[0] + c[0] + e[0]

    with pytest.raises(irad.UnsupportedError, match="changed and also rebound in this loop"):
        irad.compile(f)(9.5)


# ---- arrays in containers of two names, which a loop gives up for others: after no trips they are the same ----


class Box:
    def __init__(self, a: Any) -> None:
        self.a = a

    def __add__(self, other: Box) -> Box:
        return Box(self.a + other.a)


def boxes_added(x: Any, n: int) -> Any:
    o = h = Box(x.copy())
    for _ in range(n):
        o = o + o
    o.a[1] = 9.0
    return h.a, o.a


def tuples_made_anew(x: Any, n: int) -> Any:
    o = (x.copy(), x * 2)
    g = [o, o]
    for _ in range(n):
        o = (o[0] * 2, o[1])
    o[0][0], o[1][2] = 5.0, 6.0
    return g[0][0], g[1][1], o[0], o[1]


def lists_in_a_while(x: Any, n: int) -> Any:
    o = h = [x.copy()]
    while n > 0:
        o = [o[0] + 1.0]
        n -= 1
    o[0][1] = 9.0
    return h[0], o[0]


def dicts_on_some_trips(x: Any, n: int) -> Any:
    o = h = {"a": x.copy()}
    for k in range(n):
        if x[0] > k - 1:
            o = {"a": o["a"] * 2}
    o["a"][1] = 9.0
    return h["a"], o["a"]


def stored_in_the_trip(x: Any, n: int) -> Any:
    o = h = Box(x.copy())
    for k in range(n):
        o.a[1] = 7.0 + k
        o = o + o
    return h.a, o.a


def named_again_in_the_trip(x: Any, n: int) -> Any:
    o = h = Box(x.copy())
    for k in range(n):
        h = o
        o = o + o
        o.a[1] = 7.0 + k
    h.a[0] = 3.0
    return h.a, o.a


def elements_exchanged(x: Any, n: int) -> Any:
    o = [x.copy(), x * 2]
    h = [o]
    for _ in range(n):
        o[0][1] += 1.0
        o = [o[1], o[0] * 1.5]
    o[0][2] = 4.0
    return h[0][0], h[0][1], o[0], o[1]


@pytest.mark.parametrize(
    "f",
    [
        boxes_added, tuples_made_anew, lists_in_a_while, dicts_on_some_trips, stored_in_the_trip, named_again_in_the_trip,
        elements_exchanged,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_arrays_in_containers_of_two_names(f: Callable[..., Any]) -> None:
    c = irad.compile(f)
    for n in (0, 1, 2, 3):
        for got, want in zip(c(X.copy(), n), f(X.copy(), n), strict=True):
            np.testing.assert_array_equal(got, want)


def test_lists_that_change_places_in_a_loop_with_a_loop_inside() -> None:
    """After some trips each variable may hold either list: a change through another name of one would not be seen."""

    def changed_outside(x, s):
        w = [s, 0.5]
        u, v = w, [1.0, s]
        for _ in range(len(x)):
            u, v = v, u
            for j in range(3):
                s = s + x[j]
        w[0] = 7.0
        return u[0], v[0], s

    def changed_inside(x, s):
        w = [s, 0.5]
        u, v = w, [1.0, s]
        for _ in range(len(x)):
            u, v = v, u
            for j in range(3):
                s = s + x[j]
        u[0] = 7.0
        return w[0], v[0], s

    def known_by_nobody_else(x, s):
        u, v = [s, 0.5], [1.0, s]
        for _ in range(len(x)):
            u, v = v, u
            for j in range(3):
                s = s + x[j]
        u[0] = 7.0
        return u[0], v[0], s

    for n in (4, 5):
        x = np.ones(n)
        for f in (changed_outside, changed_inside):
            with pytest.raises(irad.UnsupportedError, match="one of several"):
                irad.compile(f)(x, 0.25)
        assert irad.compile(known_by_nobody_else)(x, 0.25) == known_by_nobody_else(x, 0.25)
