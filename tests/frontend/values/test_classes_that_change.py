"""Classes that change between calls: special methods, bases, what `__getattr__` answers, names of builtins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import irad


def made() -> Any:
    """Classes of their own for each test."""

    class Base:
        scale = 2.0

        def area(self) -> Any:
            return self.x * 2

    class Other(Base):
        def area(self) -> Any:
            return self.x * 100

    class V(Base):
        Base: Any
        Other: Any

        def __init__(self, x: Any):
            self.x = x

        def __add__(self, other: Any) -> Any:
            return V(self.x + other.x)

        def __radd__(self, other: Any) -> Any:
            return other + self.x

        def __iadd__(self, other: Any) -> Any:
            return V(self.x + 10 * other.x)

        def __neg__(self) -> Any:
            return V(-self.x)

        def __eq__(self, other: Any) -> Any:
            return self.x == other.x

        def __hash__(self) -> int:
            return 1

        def __lt__(self, other: Any) -> Any:
            return self.x < other.x

        def __len__(self) -> int:
            return 2

        def __bool__(self) -> bool:
            return True

        def __getitem__(self, k: Any) -> Any:
            return self.x * k

        def __contains__(self, k: Any) -> bool:
            return True

        def __iter__(self) -> Any:
            yield self.x

        def __call__(self, y: Any) -> Any:
            return self.x * y

        def __float__(self) -> Any:
            return self.x * 1.0

        def __enter__(self) -> Any:
            return self.x

        def __exit__(self, *args: Any) -> None:
            pass

        def __str__(self) -> str:
            return "a"

        def __getattr__(self, name: str) -> Any:
            if name == "asked":
                return 4.0
            raise AttributeError(name)

        @property
        def p(self) -> Any:
            return self.x * 5

    V.Base, V.Other = Base, Other
    return V


def added_in_place(V: Any, x: Any) -> Any:
    v = V(x)
    v += V(1.0)
    return v.x


def entered(V: Any, x: Any) -> Any:
    with V(x) as y:
        return y * 1.0


CHANGES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "__add__": (lambda V, x: (V(x) + V(1.0)).x, lambda V: setattr(V, "__add__", lambda a, b: V(a.x * b.x * 3))),
    "__radd__": (lambda V, x: 1.0 + V(x), lambda V: setattr(V, "__radd__", lambda a, b: 7.0)),
    "__iadd__": (added_in_place, lambda V: setattr(V, "__iadd__", lambda a, b: V(7.0))),
    "no __iadd__": (added_in_place, lambda V: delattr(V, "__iadd__")),
    "__neg__": (lambda V, x: (-V(x)).x, lambda V: setattr(V, "__neg__", lambda a: V(7.0))),
    "__eq__": (lambda V, x: V(x) == V(1.0), lambda V: setattr(V, "__eq__", lambda a, b: True)),
    "__eq__ in lists": (lambda V, x: V(x) in [V(1.0)], lambda V: setattr(V, "__eq__", lambda a, b: True)),
    "__lt__": (lambda V, x: min(V(x), V(2.0)).x, lambda V: setattr(V, "__lt__", lambda a, b: a.x > b.x)),
    "__hash__": (lambda V, x: hash(V(1.0)) * x, lambda V: setattr(V, "__hash__", lambda a: 5)),
    "__len__": (lambda V, x: len(V(x)) * x, lambda V: setattr(V, "__len__", lambda a: 5)),
    "__bool__": (lambda V, x: x if V(x) else -x, lambda V: setattr(V, "__bool__", lambda a: False)),
    "a new __bool__": (lambda V, x: x if V.Base() else -x, lambda V: setattr(V.Base, "__bool__", lambda a: False)),
    "a new __eq__": (lambda V, x: V.Base() == V.Base(), lambda V: setattr(V.Base, "__eq__", lambda a, b: True)),
    "__getitem__": (lambda V, x: V(x)[3], lambda V: setattr(V, "__getitem__", lambda a, k: 5.0)),
    "__contains__": (lambda V, x: 3 in V(x), lambda V: setattr(V, "__contains__", lambda a, k: False)),
    "__iter__": (lambda V, x: sum(V(x)), lambda V: setattr(V, "__iter__", lambda a: iter([1.0, a.x]))),
    "__call__": (lambda V, x: V(x)(3.0), lambda V: setattr(V, "__call__", lambda a, y: 5.0)),
    "__float__": (lambda V, x: float(V(x)), lambda V: setattr(V, "__float__", lambda a: 7.0)),
    "__enter__": (entered, lambda V: setattr(V, "__enter__", lambda a: 7.0)),
    "__str__": (lambda V, x: x if str(V(x)) == "a" else -x, lambda V: setattr(V, "__str__", lambda a: "b")),
    "__init__": (lambda V, x: V(x).x, lambda V: setattr(V, "__init__", lambda a, x: setattr(a, "x", x * 3))),
    "__getattr__": (lambda V, x: V(x).asked, lambda V: setattr(V, "__getattr__", lambda a, n: 7.0)),
    "hidden __getattr__": (lambda V, x: V(x).asked * x, lambda V: setattr(V.Base, "asked", 9.0)),
    "hasattr": (lambda V, x: x if hasattr(V.Base(), "q") else -x, lambda V: setattr(V.Base, "q", 9.0)),
    "a property": (lambda V, x: V(x).p, lambda V: setattr(V, "p", property(lambda a: a.x * 50))),
    "data becomes a property": (lambda V, x: V(x).scale * x, lambda V: setattr(V, "scale", property(lambda a: a.x))),
    "a method of a base": (lambda V, x: V(x).area(), lambda V: setattr(V.Base, "area", lambda a: a.x * 11)),
    "a method appears": (lambda V, x: V(x).area(), lambda V: setattr(V, "area", lambda a: a.x * 11)),
    "bases": (lambda V, x: V(x).area(), lambda V: setattr(V, "__bases__", (V.Other,))),
    "isinstance": (lambda V, x: x if isinstance(V(x), V.Other) else -x, lambda V: setattr(V, "__bases__", (V.Other,))),
    "issubclass": (lambda V, x: x if issubclass(V, V.Other) else -x, lambda V: setattr(V, "__bases__", (V.Other,))),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_class_that_changes(name: str) -> None:
    program, change = CHANGES[name]
    V = made()
    f = lambda x: program(V, x)
    c = irad.compile(f)
    assert [c(1.5) for _ in range(4)] == [f(1.5)] * 4
    before = f(1.5)
    change(V)
    assert f(1.5) != before
    assert [c(1.5) for _ in range(3)] == [f(1.5)] * 3


def test_objects_that_change() -> None:
    V = made()
    o = V(2.0)
    f = lambda x: o.area() * x
    c = irad.compile(f)
    for change in (
        lambda: None,
        lambda: setattr(o, "area", lambda: 7.0),
        lambda: delattr(o, "area"),
        lambda: setattr(o, "__class__", V.Other),
    ):
        change()
        assert [c(1.5) for _ in range(3)] == [f(1.5)] * 3


def largest(x: Any) -> Any:
    return max(x, 1.0) * abs(x)


def test_a_global_that_hides_a_builtin(monkeypatch: pytest.MonkeyPatch) -> None:
    c = irad.compile(largest)
    assert [c(3.0) for _ in range(3)] == [9.0] * 3
    monkeypatch.setitem(globals(), "unrelated", 1.0)
    assert [c(3.0) for _ in range(3)] == [9.0] * 3
    monkeypatch.setitem(globals(), "max", lambda a, b: 100.0)
    assert [c(3.0) for _ in range(3)] == [300.0] * 3
    monkeypatch.undo()
    assert [c(3.0) for _ in range(3)] == [9.0] * 3


class Held:
    def __init__(self, q: Any):
        self.q = q


class HeldInSlots:
    __slots__ = ("q",)

    def __init__(self, q: Any):
        self.q = q


@pytest.mark.parametrize("cls", [Held, HeldInSlots])
def test_which_of_two_objects_data_decides(cls: Any) -> None:
    def inside(x: Any) -> Any:
        a, b = cls(x), cls(2 * x)
        return (a if x > 1 else b).q * x

    c = irad.compile(inside)
    assert [c(0.5), c(1.5)] == [0.5, 2.25]
    a, b = cls(1.0), cls(2.0)
    d = irad.compile(lambda x: (a if x > 1 else b).q * x)
    assert [d(0.5), d(1.5)] == [1.0, 1.5]
    a.q, b = 4.0, cls(6.0)
    assert [d(0.5), d(1.5)] == [3.0, 6.0]
