"""Classes that change after a function was compiled, and objects whose own attributes come and go: each call sees what is there."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad


class Base:
    def __init__(self, v: float = 2.0) -> None:
        self.v = v

    def value(self, x: Any) -> Any:
        return self.v * x

    def __getitem__(self, k: int) -> float:
        return k * 2.0

    def __call__(self, x: Any) -> Any:
        return x - self.v

    def __enter__(self) -> float:
        return self.v

    def __exit__(self, *error: Any) -> bool:
        return False

    def __abs__(self) -> float:
        return self.v


def managed(a: Any, x: Any) -> Any:
    with a as v:
        return v * x


def assigned(a: Any, x: Any) -> Any:
    a.v = a.v * x
    return a.v


def made(a: Any, x: Any) -> Any:
    return type(a)(x).v


def under_key(a: Any, x: Any) -> Any:
    return x if type(a)(1.0) in {a: x} else -x


def total(a: Any, x: Any) -> Any:
    t = 0.0
    for v in a:
        t += v * x
        if v > 5:
            break
    return t


def wrong(self: Any, name: str, value: Any) -> None:
    object.__setattr__(self, name, value + 1)


def read(self: Any, name: str) -> Any:
    return 9.0 if name == "v" else object.__getattribute__(self, name)


SEVEN = property(lambda self: 7.0, lambda self, v: None)
# what is compiled, and what the class gets, name by name; each is taken away again
CHANGES: dict[str, tuple[Callable[[Any, Any], Any], dict[str, Any]]] = {
    "truth": (lambda a, x: x if a else -x, {"__bool__": lambda s: False, "__len__": lambda s: 0}),
    "equality": (lambda a, x: x if a == type(a)() else -x, {"__eq__": lambda s, o: True}),
    "inequality": (lambda a, x: x if a != a else -x, {"__ne__": lambda s, o: True}),
    "the right operand's first": (lambda a, x: (Base() + a) * x, {"__radd__": lambda s, o: 7.0}),
    "order": (lambda a, x: x if Base() < a else -x, {"__gt__": lambda s, o: True}),
    "operators": (lambda a, x: x + a, {"__radd__": lambda s, o: o * 3}),
    "calls": (lambda a, x: a(x), {"__call__": lambda s, x: x * 3}),
    "items": (lambda a, x: a[3] * x, {"__getitem__": lambda s, k: k * 3.0}),
    "iteration": (total, {"__iter__": lambda s: iter([1.0, 6.0]), "__getitem__": lambda s, k: k * 3.0}),
    "membership": (lambda a, x: x if 3 in (a, 3) else a[1], {"__eq__": lambda s, o: True}),
    "contains": (lambda a, x: x if 6.0 in a else -x, {"__contains__": lambda s, k: False}),
    "blocks": (managed, {"__enter__": lambda s: 3.0}),
    "abs": (lambda a, x: abs(a) * x, {"__abs__": lambda s: 5.0}),
    "keys": (under_key, {"__eq__": lambda s, o: True, "__hash__": lambda s: 1}),
    "construction": (
        made,
        {"__init__": lambda s, v=2.0: setattr(s, "v", v * 2), "v": SEVEN, "__setattr__": wrong, "__new__": None},
    ),
    "assignment": (assigned, {"__setattr__": wrong, "v": SEVEN, "__getattribute__": read}),
    "reading": (lambda a, x: a.v * x, {"v": SEVEN, "__getattribute__": read}),
    "methods": (lambda a, x: a.value(x), {"value": lambda s, x: s.v, "__getattribute__": read}),
    "other kinds of methods": (lambda a, x: a.value(x), {"value": staticmethod(lambda x: x * 6)}),
    "absence": (lambda a, x: getattr(a, "w", 3.0) * x, {"w": 4.0, "__getattr__": lambda s, n: 8.0}),
    "hasattr": (lambda a, x: x if hasattr(a, "w") else -x, {"w": 4.0, "__getattr__": lambda s, n: 8.0}),
}


def classes() -> list[type]:
    class Plain(Base):
        pass

    class Below(Plain):
        pass

    class Slots(Base):
        __slots__ = ("u",)

    @dataclasses.dataclass
    class Data(Base):
        v: float = 2.0

    return [Plain, Below, Slots, Data]


@pytest.mark.parametrize("case", CHANGES)
@pytest.mark.parametrize("number", range(4))
def test_what_a_class_gets_later(case: str, number: int) -> None:
    f, changes = CHANGES[case]
    plain, compiled = classes()[number], classes()[number]

    def agree(how: Callable[[Any], Any]) -> None:
        g, h = how(f)
        for _ in range(2):
            got, want = outcome(h, compiled(), 3.0), outcome(g, plain(), 3.0)
            assert got == want

    c = irad.compile(f)
    held = plain(), compiled()
    of_held = lambda f: (lambda a, x: f(held[0], x), irad.compile(lambda a, x: f(held[1], x)))
    ways = [lambda f: (f, c), of_held] if case not in ("equality", "construction") else [lambda f: (f, c)]
    for how in ways:
        agree(how)
        for name, value in changes.items():
            value = (lambda cls, *v: Base(11.0)) if name == "__new__" else value
            for cls in (plain, compiled):
                setattr(cls if number != 1 or name.startswith("__") else cls.__mro__[1], name, value)
            agree(how)
            for cls in (plain, compiled):
                delattr(cls if number != 1 or name.startswith("__") else cls.__mro__[1], name)
            if case not in ("construction", "keys"):
                agree(how)


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return float(f(*args))
    except (TypeError, irad.IradError):
        return "raises"


def test_no_check_runs_code_of_the_user() -> None:
    log: list[str] = []

    class Lazy:
        @functools.cached_property
        def kept(self) -> float:
            log.append("kept")
            return 3.0 * len(log)

        def __getattr__(self, name: str) -> float:
            log.append(name)
            return 5.0

    a = Lazy()
    a.kept, a.q = 2.0, 4.0  # type: ignore[misc, assignment]
    f = irad.compile(lambda x, asked: a.kept * a.q * x if asked else x)
    assert [f(1.0, True), f(1.0, True), log] == [8.0, 8.0, []]
    del a.kept, a.q
    assert f(1.0, False) == 1.0 and [n for n in log if n in ("kept", "q")] == []
    assert f(1.0, True) == 15.0 and [n for n in log if n in ("kept", "q")] == ["kept", "q"]

    class Later:
        pass

    b = Later()
    b.q = 4.0  # type: ignore[attr-defined]
    g = irad.compile(lambda x, asked: b.q * x if asked else x)
    assert [g(2.0, True), g(2.0, True)] == [8.0, 8.0]
    Later.q = property(lambda self: log.append("property") or 6.0)  # type: ignore[attr-defined]
    assert g(2.0, False) == 2.0 and "property" not in log
    assert g(2.0, True) == 12.0 and log.count("property") == 1


def test_an_attribute_of_a_class_that_an_object_shadows_later() -> None:
    class Counter:
        n = 0.0

    class Unset:
        def __get__(self, obj: Any, cls: Any) -> float:
            return 2.0

    class Shadowed:
        d = Unset()

    k, s = Counter(), Shadowed()

    def f(x: float) -> float:
        Counter.n = Counter.n + x
        return k.n

    c, d = irad.compile(f), irad.compile(lambda x: s.d * x)
    assert [c(1.0), c(1.0), d(1.0), d(1.0)] == [1.0, 2.0, 2.0, 2.0]
    k.n, s.d = 7.0, 8.0  # type: ignore[assignment]
    assert [c(1.0), c(1.0), Counter.n, d(1.0), d(1.0)] == [7.0, 7.0, 4.0, 8.0, 8.0]
    del k.n, s.d
    assert [c(1.0), c(1.0), d(1.0)] == [5.0, 6.0, 2.0]


def test_other_bases() -> None:
    class One:
        def m(self, x: float) -> float:
            return x

    class Two:
        def m(self, x: float) -> float:
            return x * 2

    class Below(One):
        pass

    a = Below()
    f = irad.compile(lambda x: a.m(x))
    assert [f(1.0), f(1.0)] == [1.0, 1.0]
    Below.__bases__ = (Two,)
    assert [f(1.0), f(1.0)] == [2.0, 2.0]


def test_private_slots() -> None:
    class Private:
        __slots__ = ("v", "__w")

        def __init__(self, v: float) -> None:
            self.v, self.__w = v, v * 2

        def up(self, x: float) -> float:
            self.__w = self.__w + x
            return self.__w * self.v

    a = Private(1.0)
    f = irad.compile(a.up)
    assert [f(1.0), f(1.0), f(1.0)] == [3.0, 4.0, 5.0]


@pytest.mark.parametrize("name", ["sum_", "other"])
def test_a_method_of_chosen_objects_under_another_name_than_its_own(name: str) -> None:
    class Box:
        def __init__(self, v: float) -> None:
            self.v = v

        def other(self, x: Any) -> Any:
            return self.v + x

        sum_, other = other, lambda self, x: self.v * x  # noqa: E731

    boxes = [Box(2.0), Box(3.0), Box(4.0)]

    def f(ks: Any, x: float) -> float:
        t = 0.0
        for k in ks:
            t += boxes[k].sum_(x) if name == "sum_" else boxes[k].other(x)
        return t

    c, ks = irad.compile(f), np.array([0, 2, 1])
    for k in range(3):
        assert c(ks, 1.5) == f(ks, 1.5)
        boxes[1].v = 5.0 + k
    Box.sum_, Box.other = Box.other, Box.sum_
    assert c(ks, 1.5) == f(ks, 1.5)


def test_the_method_of_a_subclass_on_the_right_is_called_first() -> None:
    class One:
        def __add__(self, other: Any) -> float:
            return 1.0

        def __lt__(self, other: Any) -> bool:
            return True

        def __gt__(self, other: Any) -> bool:
            return True

    class Below(One):
        def __radd__(self, other: Any) -> float:
            return 7.0

        def __gt__(self, other: Any) -> bool:
            return False

    class Apart(One):
        pass

    def f(x: float) -> float:
        one, below, apart = One(), Below(), Apart()
        return x * (one + below) + (below + one) * 10 + (one + apart) * 100 + (2.0 if one < below else 3.0)

    assert irad.compile(f)(1.0) == f(1.0) == 120.0
