"""Attributes that are assigned, or deleted, on some paths only: what Python finds on the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.foreign import own_names


class Nothing:
    pass


class Default:
    q = 7.0


class Asked:
    def __getattr__(self, name: str) -> float:
        if name == "q":
            return 3.0
        raise AttributeError(name)


class Slots:
    __slots__ = ("q",)


class Property:
    @property
    def q(self) -> Any:
        return self._q * 2

    @q.setter
    def q(self, value: Any) -> None:
        self._q = value

    @q.deleter
    def q(self) -> None:
        del self._q


CLASSES: list[Any] = [Nothing, Default, Asked, Slots, Property]


def read(o: Any, x: Any) -> Any:
    if x > 1:
        o.q = x * 2
    return o.q * x


def asked_for(o: Any, x: Any) -> Any:
    if x > 1:
        o.q = x * 2
    return o.q * x if hasattr(o, "q") else -x


def with_default(o: Any, x: Any) -> Any:
    if x > 1:
        o.q = x * 2
    return getattr(o, "q", 5.0) * x


def caught(o: Any, x: Any) -> Any:
    if x > 1:
        o.q = x * 2
    try:
        return o.q * x
    except AttributeError:
        return -x


def in_a_loop(o: Any, x: Any) -> Any:
    for k in range(4):
        if k > x:
            o.q = x * k
    return o.q * x


def in_a_while_loop(o: Any, x: Any) -> Any:
    n = 0
    while n < x - 1:
        o.q = n * x
        n += 1
    return getattr(o, "q", 2.0) * x


def deleted(o: Any, x: Any) -> Any:
    o.q = x
    if x > 1:
        del o.q
    return getattr(o, "q", 4.0) * x


def deleted_by_name(o: Any, x: Any) -> Any:
    setattr(o, "q", x)  # noqa: B010
    if x > 1:
        delattr(o, "q")
    return x if hasattr(o, "q") else -x


def deleted_if_there(o: Any, x: Any) -> Any:
    if x > 1:
        o.q = x
    del o.q
    return x * x


def assigned_again(o: Any, x: Any) -> Any:
    if x > 1:
        o.q = x
    o.q = o.q + 1.0 if hasattr(o, "q") else 0.5
    return o.q * x


PROGRAMS = [
    read,
    asked_for,
    with_default,
    caught,
    in_a_loop,
    in_a_while_loop,
    deleted,
    deleted_by_name,
    deleted_if_there,
    assigned_again,
]


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return f(*args)
    except AttributeError as e:
        return str(e)


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_of_objects_made_inside(program: Any, cls: Any) -> None:
    def f(x: Any) -> Any:
        return program(cls(), x)

    c = irad.compile(f)
    for x in (0.5, 1.5, 2.5, 8.5):
        assert outcome(c, x) == outcome(f, x)
        if isinstance(outcome(f, x), float):
            step = 2.0**-20
            assert irad.grad(f)(x) == pytest.approx((f(x + step) - f(x - step)) / (2 * step), rel=1e-5)


def test_of_objects_from_outside_which_have_it_or_not() -> None:
    for cls in (Nothing, Default, Asked, Slots):
        for program in (read, with_default, in_a_loop, deleted):
            c = irad.compile(program)
            for start in (None, 11.0, None):
                for x in (0.5, 1.5, 4.5):
                    ours, plain = cls(), cls()
                    if start is not None:
                        ours.q = plain.q = start
                    for _ in range(2):
                        assert outcome(c, ours, x) == outcome(program, plain, x)
                        assert own_names(ours) == own_names(plain)
                        assert getattr(ours, "q", None) == getattr(plain, "q", None)


def test_a_copy_has_what_the_object_has() -> None:
    import copy

    def f(x: Any) -> Any:
        o = Default()
        if x > 1:
            o.q = x
        return copy.copy(o).q * x

    assert [irad.compile(f)(x) for x in (0.5, 1.5)] == [3.5, 2.25]


def test_super_finds_what_the_bases_have() -> None:
    class Base:
        scale = 2.0

        @property
        def area(self) -> Any:
            return self.side * self.side

    class Square(Base):
        scale = 5.0

        def __init__(self, side: Any):
            self.side = side

        @property
        def area(self) -> Any:
            return super().area * super().scale

    c = irad.compile(lambda x: Square(x).area)
    assert c(3.0) == 18.0
    Base.scale = 1.0
    assert c(3.0) == 9.0
    assert irad.grad(lambda x: Square(x).area)(3.0) == 6.0


def test_descriptors_that_assign() -> None:
    class Scaled:
        def __set_name__(self, owner: Any, name: str) -> None:
            self.name = "_" + name

        def __get__(self, obj: Any, owner: Any) -> Any:
            return getattr(obj, self.name)

        def __set__(self, obj: Any, value: Any) -> None:
            setattr(obj, self.name, value * 10)

    class Body:
        mass = Scaled()

    def f(x: Any) -> Any:
        b = Body()
        b.mass = x if x > 1 else 3.0
        return b.mass * x

    assert [irad.compile(f)(x) for x in (0.5, 1.5)] == [15.0, 22.5]


def test_where_it_is_not_assigned_there_is_what_the_program_gave_the_class() -> None:
    def f(x: Any) -> Any:
        class Thing:
            items: Any = []
            w = np.zeros(2)
            s = x

            def add(self, v: Any) -> None:
                self.items = [*self.items, v]

        a = Thing()
        if x > 1:
            a.add(x)
            a.w = np.ones(2)
            a.s = 3.0 * x
        return len(a.items), np.sum(a.w), a.s, len(Thing.items), hasattr(a, "items"), len(getattr(a, "items", [1, 2]))

    for x in (2.0, 0.5):
        assert irad.compile(f)(x) == f(x)
        assert irad.grad(lambda x: f(x)[2])(x) == (3.0 if x > 1 else 1.0)


def test_what_belongs_to_the_class_and_changes_in_place_is_in_the_object_too() -> None:
    def f(x: Any) -> Any:
        class Thing:
            items: Any = []

            def add(self, v: Any) -> None:
                self.items += [v]

        a, b = Thing(), Thing()
        a.add(x)
        if x > 1:
            b.add(2.0 * x)
        a.add(x)
        return a.items is b.items, sum(b.items), len(Thing.items), "items" in vars(a), sum(a.items)

    for x in (2.0, 0.5):
        assert irad.compile(f)(x) == f(x)
