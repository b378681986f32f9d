"""Containers and arrays that Python's own code changes while a program is read: only on the paths where it happens."""

from __future__ import annotations

import array
import bisect
import collections
import copy
import csv
import functools
import graphlib
import heapq
import itertools
import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad


def swap_first(d: Any) -> None:
    d[0] = 3.0


def set_a(d: Any) -> None:
    d["a"] = 5.0


def set_b(d: Any) -> None:
    d["b"] = 5.0


def add_one(d: Any) -> Any:
    d += collections.Counter("a")


CASES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "Counter.subtract": (lambda: collections.Counter("aab"), lambda d: d.subtract("a"), lambda d: d["a"]),
    "Counter.update": (lambda: collections.Counter("aab"), lambda d: d.update("a"), lambda d: d["a"]),
    "Counter.__iadd__": (lambda: collections.Counter("aab"), add_one, lambda d: d["a"]),
    "UserDict": (lambda: collections.UserDict(a=1.0), set_a, lambda d: d["a"]),
    "UserDict.update": (lambda: collections.UserDict(a=1.0), lambda d: d.update(a=3.0), lambda d: d["a"]),
    "UserList": (lambda: collections.UserList([1.0, 2.0]), swap_first, lambda d: d[0]),
    "UserList.reverse": (lambda: collections.UserList([1.0, 2.0]), lambda d: d.reverse(), lambda d: d[0]),
    "ChainMap": (lambda: collections.ChainMap({"a": 1.0}, {"b": 2.0}), set_a, lambda d: d["a"] + d["b"]),
    "set": (lambda: {1, 2}, lambda d: d.symmetric_difference_update({2, 3}), lambda d: 1.0 * sum(d)),
    "dict.__setitem__": (lambda: {"a": 1.0}, lambda d: d.__setitem__("a", 4.0), lambda d: d["a"]),
    "list.__setitem__": (lambda: [1.0, 2.0], lambda d: d.__setitem__(0, 3.0), lambda d: d[0]),
    "dict.update": (lambda: {"a": 1.0}, lambda d: dict.update(d, a=3.0), lambda d: d["a"]),
    "heapreplace": (lambda: [1.0, 2.0], lambda d: heapq.heapreplace(d, 5.0), lambda d: d[0]),
    "ndarray.sort": (lambda: np.array([3.0, 2.0]), lambda d: np.ndarray.sort(d), lambda d: d[0]),
    "ndarray.__setitem__": (lambda: np.array([3.0, 2.0]), lambda d: d.__setitem__(0, 9.0), lambda d: d[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_change_on_one_path(name: str) -> None:
    made, change, read = CASES[name]

    def f(x: Any) -> Any:
        d = made()
        if x > 0:
            change(d)
        return read(d) * x

    try:
        c = [irad.compile(f)(x) for x in (2.0, -2.0)]
    except irad.UnsupportedError as e:
        assert "depends on data" in str(e)
        return
    assert c == [f(2.0), f(-2.0)]
    assert [irad.grad(f)(x) for x in (2.0, -2.0)] == [f(2.0) / 2.0, f(-2.0) / -2.0]


def test_a_change_that_always_happens() -> None:
    def f(x: Any) -> Any:
        d, e = {"a": 1.0}, [1.0, 2.0]
        dict.update(d, a=3.0)
        bisect.insort(e, 1.5)
        list.append(e, x)
        return d["a"] + e[1] + e[-1]

    assert irad.compile(f)(2.0) == f(2.0) == 6.5


@pytest.mark.parametrize(
    "change", [lambda d: d.setfield(7.0, np.float64), lambda d: d.byteswap(inplace=True), lambda d: d.__iadd__(1.0)]
)
def test_a_store_that_is_not_seen_is_refused(change: Any) -> None:
    def f(x: Any) -> Any:
        d = np.array([3.0, 2.0])
        if x > 0:
            change(d)
        return d[0] * x

    with pytest.raises(irad.UnsupportedError, match="stores into an array"):
        irad.compile(f)(1.0)


class Counted:
    def __init__(self, v: Any) -> None:
        self.v, self.asked = v, 0

    def __lt__(self, other: Any) -> bool:
        self.asked += 1
        return bool(self.v < other.v)


class Rows:
    def __init__(self) -> None:
        self.asked, self.rows = 0, list[str]()

    def write(self, text: str) -> None:
        self.asked += 1
        self.rows.append(text)


def _held(x: Any) -> Any:
    a, h = [3, 1, 2], [[3, 1], [2, 0]]
    bisect.insort(a, 4, key=lambda v: -v)
    list(map(list.sort, h))
    random.Random(3).shuffle(a)
    return a, h


def _of_operator(x: Any) -> Any:
    a, b, s, y = [0], [[1], np.zeros(2)], {1, 2}, x.copy()
    functools.reduce(operator.iadd, [[1], [2]], a)
    operator.iadd(b, [7])[0].append(4)
    operator.setitem(b[1], 0, 5.0)
    operator.delitem(a, 0)
    operator.ior(s, {7})
    operator.imul(y, x[0])
    operator.setitem(y, 1, x[1])
    return a, b, len(s), y, operator.contains([1.0, 2.0], x[0]), operator.countOf([1, 2, 1], 1), operator.not_(x[0] > 1.0)


def _stays_itself(x: Any) -> Any:
    a, b, d, n = np.zeros(2), np.ones(2), dict[str, Any](), list[Any]()
    max([a, b], key=lambda t: t[0])[0] = 7.0
    copy.copy([a, b])[0][1] = 4.0
    collections.ChainMap(d, {"a": 1})["a"] = 5
    collections.OrderedDict([("u", n)])["u"].append(1)
    for p in itertools.permutations([n, [2]]):
        p[0].append(0)
    return a, b, d, n


def _of_objects(x: Any) -> Any:
    rows, given = Rows(), [Counted(v) for v in (1, 3, 2, 5)]
    csv.writer(rows).writerow([1, 2])
    found = heapq.nlargest(2, given) + heapq.nsmallest(2, [3, 1, 2], key=lambda v: given[v])
    heapq.heapify(given)
    bisect.insort(given, Counted(4))
    return rows.asked, rows.rows, [c.v if isinstance(c, Counted) else c for c in found], [c.asked for c in given]


def _of_computed_objects(x: Any) -> Any:
    given = [Counted(v) for v in x]
    return [c.v for c in heapq.nlargest(2, given)], [c.v for c in heapq.nsmallest(1, given)], [c.asked for c in given]


def _shuffled(x: Any) -> Any:
    u, v, w = x * 1.0, x * 2.0, [[1], [2], [3]]
    rows = [u, v]
    rng = np.random.default_rng(0)
    rng.shuffle(rows)
    rng.shuffle(w)
    rows[0][0] = 7.0
    return rows, u, v, w


@pytest.mark.parametrize("f", [_held, _of_operator, _stays_itself, _of_objects, _of_computed_objects, _shuffled])
def test_what_code_that_is_not_read_changes_or_gives_back(f: Any) -> None:
    c = irad.compile(f)
    for x in (np.array([0.5, 1.5, 1.0]), np.array([2.5, -1.5, 3.0])):
        want, got = f(x), c(x)
        assert str(want) == str(got), (want, got)


def _byte(x: Any, b: Any) -> Any:
    b.append(1)
    return len(b) * x


@pytest.mark.parametrize("made", [bytearray, lambda: array.array("d", [1.0])])
def test_objects_that_are_not_read_change_where_they_are_made(made: Any) -> None:
    def once(x: Any) -> Any:
        b = made()
        y = _byte(x, b) + _byte(x, b)
        return y * len(b)

    def perhaps(x: Any) -> Any:
        b = made()
        if x > 1:
            b.append(2)
        return len(b) * x

    assert irad.compile(once)(3.0) == once(3.0)
    with pytest.raises(irad.UnsupportedError, match="data decide whether"):
        irad.compile(perhaps)(3.0)


def test_an_object_of_a_library_that_changes_by_data() -> None:
    def sorted_by(x: Any) -> Any:
        ts = graphlib.TopologicalSorter({1: [2]})
        if x > 1:
            ts.add(0, 1)
        return sum(k * x for k in ts.static_order())

    with pytest.raises(irad.UnsupportedError, match="changes a TopologicalSorter"):
        irad.compile(sorted_by)(2.0)


def test_an_array_is_made_read_only() -> None:
    def f(x: Any, write: bool) -> Any:
        y = x * 2
        y.setflags(write=False)
        z = y[:1]
        y.setflags(write=write)
        y[1] = 1.0
        return y, z

    assert np.array_equal(irad.compile(f)(np.ones(2), True)[0], [2.0, 1.0])
    with pytest.raises(ValueError, match="read-only"):
        irad.compile(f)(np.ones(2), False)

    def by_data(x: Any) -> Any:
        y = x * 2
        if x[0] > 0:
            y.setflags(write=False)
        y.flags.writeable = False
        return y

    with pytest.raises(irad.UnsupportedError, match=r"setflags\(write="):
        irad.compile(by_data)(np.ones(2))


class Box:
    def __init__(self) -> None:
        self.held, self.stored = [1.0], 0

    @property
    def inside(self) -> list[float]:
        return self.held

    @inside.setter
    def inside(self, value: list[float]) -> None:
        self.held, self.stored = value, self.stored + 1


def test_augmented_assignment_changes_the_container_that_has_other_names() -> None:
    def lists(xs: Any, x: Any) -> Any:
        ys, zs = xs, [xs]
        xs *= 2
        zs[0] += (x,)
        if x > 1:
            ys *= 2
        xs[1:2] += [x, x]
        return ys, xs is zs[0]

    def others(d: Any, x: Any) -> Any:
        e, t, b = d, (x,), Box()
        u = t
        d += [x, 1.0]
        t *= 2
        b.inside += [x]
        b.inside *= 2
        return list(e), u, t, b.held, b.stored

    for x in (0.5, 2.5):
        a, b = [1.0, 2.0], [1.0, 2.0]
        assert irad.compile(lists)(a, x) == lists(b, x) and a == b
        p, q = (collections.deque([1.0, 2.0], maxlen=3) for _ in "ab")
        assert irad.compile(others)(p, x) == others(q, x) and p == q


class Named(Box):
    def __init__(self, x: Any, /, **names: Any):
        super().__init__()
        self.x, self.names = x, names


def test_keywords_of_any_name() -> None:
    def f(x: Any) -> Any:
        n = Named(x, x=2 * x, self=3)
        d: dict[Any, Any] = dict(r=x, obj=1, self=2)
        d.update(r=2 * x, owner=3, items=4)
        seen: dict[Any, Any] = {}
        seen[x] = 1.0
        seen.update(items=2.0, self=3.0)
        return d, dict(collections.Counter(r=1, obj=2)), len(seen), n.x, n.names

    assert irad.compile(f)(1.5) == f(1.5)


def test_deques_repeated_and_joined_and_items_of_ranges() -> None:
    def f(x: Any, n: Any) -> Any:
        q, bounded = collections.deque([x, 1.0]), collections.deque([x, 1.0], 3)
        same = q
        q *= n
        bounded *= n
        joined = 2 * q + bounded
        return list(same), list(bounded), joined[0], len(joined), range(n)[-1], range(2, n + 9, 3)[n]

    for n in (1, 2, 3):
        assert irad.compile(f)(0.5, n) == f(0.5, n)
    with pytest.raises(IndexError, match="range object index out of range"):
        irad.compile(lambda n, x: range(n)[3] + x)(3, 1.0)
