"""Attributes of classes that the program assigns, and methods that a class has of a base in the standard library."""

from __future__ import annotations

import collections
import functools
from typing import Any

import numpy as np
import pytest

import irad


class Node:
    count = 0
    total = 0.5

    def __init__(self, v: Any) -> None:
        self.v, self.number = v, Node.count
        Node.count += 1
        Node.total = Node.total + v


class Leaf(Node):
    pass


def tree(x: Any) -> Any:
    a, b = Node(x[0]), Leaf(2 * x[1])
    if x[0] > 0.5:
        Node(x[0] * x[1])
    return a.v * b.v + b.number + Node.count * 10 + Leaf.total**2 + a.count


@pytest.fixture(autouse=True)
def anew() -> None:
    Node.count, Node.total = 0, 0.5


def test_counters_of_objects() -> None:
    points = [np.array(p) for p in ([0.3, 0.4], [0.3, 0.4], [0.8, 0.9], [0.3, 0.4])]
    want, after = [tree(x) for x in points], (Node.count, Node.total)
    Node.count, Node.total = 0, 0.5
    c = irad.compile(tree)
    assert [c(x) for x in points] == pytest.approx(want) and (Node.count, Node.total) == pytest.approx(after)


def test_a_gradient_changes_no_class() -> None:
    assert irad.grad(tree)(np.array([0.3, 0.4])).tolist() == pytest.approx([0.8 + 2 * 1.6, 0.6 + 4 * 1.6])
    assert (Node.count, Node.total) == (0, 0.5)


class Settings(collections.UserDict):
    def __setitem__(self, k: Any, v: Any) -> None:
        super().__setitem__(k, v)

    def __missing__(self, k: Any) -> Any:
        return 3.0 if k == "default" else self.data["scale"]

    def get(self, k: Any, d: Any = None) -> Any:
        return self[k] if self.__contains__(k) else super().get(k, d)


def test_inherited_methods_read_what_may_change() -> None:
    s = Settings({"scale": 2.0, "twice": True})
    f = lambda x: x * s["scale"] * (2 if s["twice"] else 1) + s.get("offset", 1.0) + s["default"] + len(s) + ("scale" in s)
    c = irad.compile(f)
    assert c(1.5) == f(1.5) and irad.grad(f)(1.5) == 4.0
    s["scale"] = 5.0
    assert c(1.5) == f(1.5)
    s["twice"], s["offset"] = False, 7.0
    assert c(1.5) == f(1.5)


class Kept:
    """A decorator that is a descriptor: it keeps what a method has given, by its arguments."""

    def __init__(self, method: Any) -> None:
        self.method = method

    def __get__(self, obj: Any, of: Any = None) -> Any:
        return self.method if obj is None else functools.partial(self, obj)

    def __call__(self, obj: Any, *args: Any) -> Any:
        if args not in obj.kept:
            obj.kept[args] = self.method(obj, *args)
        return obj.kept[args]


class Basis:
    def __init__(self, knots: Any) -> None:
        self.knots, self.kept, self.calls = knots, {}, 0

    @Kept
    def __call__(self, t: float, p: int = 1) -> Any:
        self.calls += 1
        return np.where(self.knots[:-1] <= t, self.knots[1:] ** p, 0.0)


def test_call_by_a_descriptor() -> None:
    def f(x: Any) -> Any:
        b = Basis(x)
        return np.sum(b(0.3)) + np.sum(b(0.3) * b(0.6, 2)) + 10 * b.calls

    x = np.array([0.1, 0.25, 0.5, 0.75])
    assert irad.compile(f)(x) == pytest.approx(f(x)) and f(x) == pytest.approx(0.75 + 0.25**3 + 0.5**3 + 20)
    assert irad.grad(f)(x) == pytest.approx([0.0, 1 + 3 * 0.25**2, 1 + 3 * 0.5**2, 0.0])
