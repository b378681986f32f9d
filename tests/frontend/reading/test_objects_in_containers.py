"""Objects whose classes say how they are compared, hashed and gone over, and containers of classes of the user's."""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import irad


@dataclass
class Point:
    a: float


@dataclass(order=True)
class Ordered:
    a: float
    b: int = 0


@dataclass(frozen=True)
class Unit:
    a: float
    name: str = "m"


class Near:
    def __init__(self, x: Any):
        self.x = x

    def __eq__(self, other: Any) -> Any:
        return abs(self.x - other.x) < 0.1 if isinstance(other, Near) else NotImplemented


class Key:
    def __init__(self, x: Any):
        self.x = x

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Key) and self.x == other.x

    def __hash__(self) -> int:
        return hash(self.x)


@functools.total_ordering
class Total:
    def __init__(self, x: Any):
        self.x = x

    def __eq__(self, other: Any) -> Any:
        return self.x == other.x

    def __lt__(self, other: Any) -> Any:
        return self.x < other.x


class Counted:
    def __init__(self, x: Any, log: list[float]):
        self.x, self.log = x, log

    def __eq__(self, other: Any) -> Any:
        self.log.append(1.0)
        return self.x == other.x


class Pair(NamedTuple):
    a: float
    b: float = 1.0

    def __add__(self, other: Any) -> Any:
        return Pair(self.a + other.a, self.b + other.b)


def removed(x: Any) -> Any:
    points = [Point(1.5), Point(2.0)]
    points.remove(Point(2.0))
    return len(points) * x


def asked_in_order(x: Any) -> Any:
    log: list[float] = []
    found = Counted(x, log) in [Counted(v, log) for v in (0.5, 1.5, 2.5)]
    return found, len(log)


COMPARISONS: dict[str, Callable[[Any], Any]] = {
    "in": lambda x: Point(x) in [Point(0.3), Point(1.5)],
    "not in": lambda x: Near(x) not in (Near(1.52),),
    "in a deque": lambda x: Point(x) in collections.deque([Point(1.5)]),
    "count": lambda x: [Point(x), Point(1.5), Point(x)].count(Point(1.5)),
    "count of a tuple": lambda x: (Near(x), Near(1.5), 3).count(Near(1.5)),
    "index": lambda x: [Point(0.2), Point(1.5), Point(x)].index(Point(x)),
    "index from": lambda x: [Point(0.2), Point(1.5), Point(x)].index(Point(x), 1),
    "remove": removed,
    "set": lambda x: len({Unit(x), Unit(1.5), Unit(1.5)}),
    "in a set": lambda x: Key(x) in {Key(1.5)},
    "dict": lambda x: {Key(1.5): x, Key(2.0): 2 * x}[Key(2.0)],
    "get": lambda x: {Unit(x): 3.0}.get(Unit(1.5), 0.5),
    "hash": lambda x: hash(Unit(x)) == hash(Unit(1.5)),
    "lists": lambda x: [Point(x), 1] == [Point(1.5), 1],
    "lists differ": lambda x: [Point(x), 1] != [Point(1.5), 1],
    "tuples": lambda x: (Point(x), (Near(x),)) == (Point(1.5), (Near(1.5),)),
    "dicts": lambda x: {"k": Point(x)} == {"k": Point(1.5)},
    "deques": lambda x: collections.deque([x, 1]) == collections.deque([1.5, 1]),
    "ordered dicts": lambda x: collections.OrderedDict(a=x, b=1) == collections.OrderedDict(b=1, a=x),
    "less": lambda x: (Ordered(x), 1) < (Ordered(1.5), 2),
    "sorted": lambda x: [o.a for o in sorted([Ordered(1.7), Ordered(x), Ordered(0.1)])],
    "sorted pairs": lambda x: sorted([(Ordered(x), 1), (Ordered(1.7), 2)])[0][1],
    "reverse": lambda x: [o.x for o in sorted([Total(1.7), Total(x), Total(0.1)], reverse=True)],
    "min": lambda x: min([Total(1.7), Total(x), Total(3.1)]).x,
    "total ordering": lambda x: (Total(x) >= Total(1.5), Total(x) > Total(1.5), Total(x) <= Total(1.5), Total(x) != Total(1.5)),
    "named tuple": lambda x: (Pair(x) == (1.5, 1.0), Pair(x) in [Pair(1.5)], Pair(x) < Pair(1.5, 3.0), (Pair(x) + Pair(x, x)).b),
    "a NaN is in its list": lambda x: (lambda n: (n in [n], [n] == [n], n == n))(x * math.inf * 0),
    "the object itself first": lambda x: (lambda p: (p in [p], p == p))(Point(math.nan * x)),
    "other classes": lambda x: (Point(x) == 3, Point(x) == Ordered(x), Point(x) != 3),
    "one after another": asked_in_order,
    "base of a dataclass": lambda x: super(Unit, Unit(x)).__eq__(Unit(x)) is NotImplemented,
}  # fmt: skip


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str) -> None:
    f = COMPARISONS[name]
    c = irad.compile(f)
    for x in (1.5, 2.0, 0.05):
        assert repr(c(x)) == repr(f(x))


UNIT, POINTS = Unit(1.5), [Point(1.5), Point(2.5)]


def test_objects_from_outside_are_compared_as_they_are_now() -> None:
    in_list, key = irad.compile(lambda x: Point(x) in POINTS), irad.compile(lambda x: {Unit(1.5): x}.get(UNIT, 0.0))
    assert in_list(2.5) and not in_list(9.0) and key(3.0) == 3.0
    POINTS[1].a = 9.0
    object.__setattr__(UNIT, "a", 2.0)
    assert in_list(9.0) and not in_list(2.5) and key(3.0) == 0.0
    POINTS[1].a = 2.5
    object.__setattr__(UNIT, "a", 1.5)


def test_an_object_of_computed_numbers_is_a_key() -> None:
    f = irad.compile(lambda x: {Key(2 * x): x}[Key(3.0)])
    assert f(1.5) == 1.5 and irad.grad(f)(1.5) == 1.0
    with pytest.raises(KeyError):
        f(2.0)


# ---- classes made of containers --------------------------------------------------------------------------------------------


class Doubling(dict):  # type: ignore[type-arg]
    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.n = 0

    def __setitem__(self, k: Any, v: Any) -> None:
        self.n += 1
        super().__setitem__(k, v * 2)

    def __getitem__(self, k: Any) -> Any:
        return super().__getitem__(k) + 1

    def __delitem__(self, k: Any) -> None:
        self.n += 10
        super().__delitem__(k)

    def __len__(self) -> int:
        return super().__len__() + 5

    def get(self, k: Any, d: Any = None) -> Any:
        return super().get(k, d) * 3


class Missing(dict):  # type: ignore[type-arg]
    def __missing__(self, k: str) -> float:
        v = self[k] = len(k) * 1.0
        return v


class Tripled(list):  # type: ignore[type-arg]
    n = 0

    def __init__(self, items: Any = ()):
        super().__init__(v * 2 for v in items)

    def append(self, v: Any) -> None:
        self.n += 1
        super().append(v * 3)

    def __getitem__(self, k: Any) -> Any:
        return super().__getitem__(k) + 1

    def __setitem__(self, k: Any, v: Any) -> None:
        self.n += 10
        list.__setitem__(self, k, v)

    def __iter__(self) -> Any:
        for v in super().__iter__():
            yield v * 10


class Last(list):  # type: ignore[type-arg]
    def append(self, v: Any) -> None:
        if len(self) >= 2:
            self.pop(0)
        super().append(v)


class Shifted(tuple):  # type: ignore[type-arg]
    def __new__(cls, *items: Any) -> Any:
        return super().__new__(cls, [v * 2 for v in items])

    def __getitem__(self, k: Any) -> Any:
        return tuple.__getitem__(self, k) + 1


class Scaled(collections.namedtuple("Scaled", "a b")):
    def __new__(cls, a: Any, b: Any = 2.0) -> Any:
        return super().__new__(cls, a * 3, b)


class Tail(collections.deque):  # type: ignore[type-arg]
    def append(self, v: Any) -> None:
        super().append(v * 2)


class Parameters(dict):  # type: ignore[type-arg]
    __getattr__ = dict.__getitem__

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class Metres(float):
    unit = "m"

    def __add__(self, other: Any) -> Any:
        return Metres(float(self) + float(other) + 1)


def doubling(x: Any) -> Any:
    d = Doubling(q=x)
    d["a"] = x
    d["b"] = 1.0
    del d["b"]
    return d["a"], d["q"], d.n, len(d), d.get("a", 1.0), "b" in d, bool(Doubling())


def missing(x: Any) -> Any:
    d = Missing(a=x)
    return d["abc"] * d["a"], d.get("zz"), dict(d)


def tripled(x: Any) -> Any:
    c = Tripled([x, 1.0])
    c.append(x)
    c[1] = x
    return c.n, c[0], list(c), sum(c), len(c), max(c), 2 * x in c


def last(x: Any) -> Any:
    h = Last()
    for k in range(5):
        h.append(x * k)
    return list(h), len(h)


def tail(x: Any) -> Any:
    d = Tail(maxlen=2)
    for k in range(3):
        d.append(k * x)
    return list(d)


def parameters(x: Any) -> Any:
    p = Parameters(a=x)
    p.b = 2 * x
    return p.a * p.b + p["b"]


CONTAINERS: list[Callable[[Any], Any]] = [
    doubling, missing, tripled, last, tail, parameters,
    lambda x: (Shifted(x, 1.0)[0], len(Shifted(x))), lambda x: (Scaled(x).a, Scaled(x)._replace(b=x).a, Scaled(x) == (3 * x, 2.0)),
    lambda x: (Metres(2.0) * x, Metres(1.0) + 3.0, Metres(1.0).unit),
]  # fmt: skip


@pytest.mark.parametrize("f", CONTAINERS)
def test_methods_of_a_base_are_called_once(f: Callable[[Any], Any]) -> None:
    c = irad.compile(f)
    for x in (1.5, 0.5):
        assert repr(c(x)) == repr(f(x))


def test_containers_of_the_users_from_outside() -> None:
    def change(c: Any, d: Any, x: Any) -> Any:
        c.append(x)
        d["z"] = x
        return c[0] * x + d["z"] + sum(c)

    ours, plain = (Tripled([1.0]), Doubling(a=2.0)), (Tripled([1.0]), Doubling(a=2.0))
    compiled = irad.compile(change)
    for x in (1.5, 0.5, 2.5):
        assert compiled(*ours, x) == change(*plain, x)
        assert [list(v) for v in ours] == [list(v) for v in plain] and [vars(v) for v in ours] == [vars(v) for v in plain]


# ---- own iterators -----------------------------------------------------------------------------------------------------------


class Steps:
    def __init__(self, n: int, x: Any):
        self.n, self.k, self.x = n, 0, x

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self.k >= self.n:
            raise StopIteration
        self.k += 1
        return self.k * self.x


class Endless(Steps):
    def __init__(self, x: Any):
        super().__init__(10**9, x)


class Items:
    def __init__(self, *items: Any):
        self.items = items

    def __getitem__(self, k: Any) -> Any:
        return self.items[k]

    def __len__(self) -> int:
        return len(self.items)


class Given:
    def __init__(self, *items: Any):
        self.items = items

    def __iter__(self) -> Any:
        yield from self.items

    def __reversed__(self) -> Any:
        for v in reversed(self.items):
            yield v * 2


def unpacked(x: Any) -> Any:
    a, *b = Items(x, 1.0, 2.0)
    c, d = Steps(2, x)
    return a + sum(b) + c * d


def moved(x: Any) -> Any:
    it = Steps(4, x)
    return next(it), next(it), it.k, list(it), it.k, next(it, 7.0)


def added(*items: Any) -> Any:
    return sum(items)


ITERATORS: list[Callable[[Any], Any]] = [
    unpacked, moved, lambda x: sum(Steps(3, x)), lambda x: sum(v for v in Steps(3, x)), lambda x: list(Given(x, 1.0)),
    lambda x: tuple(Items(x, 1.0)), lambda x: max(Items(x, 1.0)), lambda x: sorted(Given(3.0, x)), lambda x: any(v > 4 for v in Steps(3, x)),
    lambda x: [a * b for a, b in zip(Steps(3, x), Items(1.0, 2.0, 3.0))], lambda x: list(zip(Endless(x), [1.0, 2.0])),
    lambda x: list(enumerate(Steps(2, x))), lambda x: added(*Steps(2, x), *Items(x)), lambda x: [*Given(x), *Items(x)],
    lambda x: list(itertools.islice(Endless(x), 3)), lambda x: list(itertools.chain(Steps(2, x), Items(x))),
    lambda x: list(reversed(Given(x, 1.0))), lambda x: list(reversed(Items(x, 1.0))), lambda x: (x in Items(1.5, 2.0), x in Steps(3, 0.5)),
    lambda x: list(iter(iter([1.0, x, 5.0, 2.0]).__next__, 5.0)), lambda x: functools.reduce(lambda a, b: a * b, Steps(3, x)),
]  # fmt: skip


@pytest.mark.parametrize("f", ITERATORS)
def test_objects_that_are_gone_over(f: Callable[[Any], Any]) -> None:
    c = irad.compile(f)
    for x in (1.5, 3.5):
        assert c(x) == f(x)


def test_slopes_through_iterators() -> None:
    assert irad.grad(unpacked)(3.0) == 1 + 4 * 3.0
    assert irad.grad(lambda x: sum(v * v for v in Steps(3, x)))(2.0) == 28 * 2.0


# ---- dataclasses -------------------------------------------------------------------------------------------------------------


@dataclass
class Squared:
    a: float

    def __post_init__(self) -> None:
        self.b = self.a * self.a


@dataclass
class OwnInit(Point):
    b: float = 1.0

    def __init__(self, z: Any):
        super().__init__(z * 2)
        self.b = z


@dataclass
class Lists:
    a: float
    v: list[Any] = field(default_factory=list)
    s: dataclasses.InitVar[float] = 2.0

    def __post_init__(self, s: Any) -> None:
        self.v.append(self.a * s)


@dataclass(frozen=True)
class Fixed:
    a: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", self.a + 1)


class Sub(Fixed):
    def put(self, v: Any) -> Any:
        self.extra = v
        return self


def not_assigned(x: Any) -> Any:
    f = Fixed(x)
    try:
        f.a = 3.0  # type: ignore[misc]
    except dataclasses.FrozenInstanceError:
        return f.c  # type: ignore[attr-defined]
    return -1.0


DATACLASSES: list[Callable[[Any], Any]] = [
    lambda x: Squared(x).b, lambda x: dataclasses.replace(Squared(x), a=3 * x).b, lambda x: OwnInit(x).a * OwnInit(x).b,
    lambda x: sum(Lists(x, s=x).v) + sum(Lists(x).v), not_assigned, lambda x: Sub(x).put(2 * x).extra,
]  # fmt: skip


@pytest.mark.parametrize("f", DATACLASSES)
def test_dataclasses(f: Callable[[Any], Any]) -> None:
    assert irad.compile(f)(1.5) == f(1.5)
    step = 2.0**-20
    assert irad.grad(f)(1.5) == pytest.approx((f(1.5 + step) - f(1.5 - step)) / (2 * step), rel=1e-6)


def test_attributes_that_are_no_fields_come_and_go_with_an_argument() -> None:
    f = lambda d, x: d.b * x
    c, d = irad.compile(f), Squared(2.0)
    assert [c(d, 1.5), c(d, 1.5)] == [6.0, 6.0]
    d.b = 7.0
    assert c(d, 1.5) == 10.5
    slope = irad.grad(lambda d: d.a * d.b)(Squared(2.0))
    assert (slope.a, slope.b) == (4.0, 2.0)
    assert vars(irad.compile(Squared)(2.0)) == {"a": 2.0, "b": 4.0}


def test_an_attribute_that_hides_one_of_the_class() -> None:
    @dataclass
    class Body:
        a: float
        e = 9.0

    f = lambda d: d.a * d.e
    c, d = irad.compile(f), Body(2.0)
    for change in (lambda: None, lambda: setattr(d, "e", 7.0), lambda: delattr(d, "e"), lambda: setattr(Body, "e", 11.0)):
        change()
        assert [c(d), c(d)] == [f(d), f(d)]


def test_a_cached_property_is_kept() -> None:
    class Body:
        def __init__(self, x: Any):
            self.x, self.n = x, 0

        @functools.cached_property
        def c(self) -> Any:
            self.n += 1
            return self.x * 2

    def f(o: Any, x: Any) -> Any:
        first = o.c
        o.x = 9.0
        return first * x + o.c

    ours, plain, c = Body(2.0), Body(2.0), irad.compile(f)
    for x in (0.5, 1.5, 2.5):
        assert c(ours, x) == f(plain, x) and vars(ours) == vars(plain)


class Sized:
    def __init__(self, n: Any):
        self.n = n

    def __len__(self) -> Any:
        return self.n


class Truthful:
    def __init__(self, x: Any):
        self.x = x

    def __bool__(self) -> Any:
        return self.x > 0.2


@pytest.mark.parametrize("f", [lambda x: 1 if Truthful(x) else 2, lambda x: 1 if Sized(x) else 2, lambda x: len(Sized(x)), lambda x: 1 if x > 9 and Truthful(x) else 2])  # fmt: skip
@pytest.mark.parametrize("x", [1.5, np.float64(1.5), 2, np.int64(2), -1, 0])
def test_what_bool_and_len_of_the_users_may_return(f: Callable[[Any], Any], x: Any) -> None:
    """A bool of Python's, and a whole number that is not negative: else the exception that Python raises."""

    def outcome(g: Callable[[Any], Any]) -> Any:
        try:
            return g(x)
        except (TypeError, ValueError) as e:
            return type(e), str(e)

    assert outcome(irad.compile(f)) == outcome(f)


class Linked:
    def __init__(self, v: Any):
        self.v, self.other, self.inside = v, self, [self]


def test_what_holds_itself() -> None:
    def inside(x: Any) -> Any:
        xs: list[Any] = [x]
        xs.append(xs)
        d: dict[str, Any] = {"x": x}
        d["d"] = d
        return xs[1][1][0] + d["d"]["d"]["x"]

    def given(s: Any, x: Any) -> Any:
        s.v = s.other.inside[0].v * x
        return s.inside[0]

    assert irad.compile(inside)(1.5) == 3.0 and irad.grad(inside)(1.5) == 2.0
    a, b = Linked(2.0), Linked(3.0)
    a.other, b.other = b, a
    a.inside.append(b.inside)
    assert irad.compile(given)(a, 0.5) is a and a.v == 1.5
    held: list[Any] = [2.0]
    held.append(held)
    assert irad.compile(lambda x: held[1][0] * x)(3.0) == 6.0

    def returned(x: Any) -> Any:
        xs = [x]
        xs.append(xs)
        return xs

    for call in (lambda: irad.compile(returned)(1.0), lambda: irad.compile(lambda xs: xs[0])(held)):
        with pytest.raises(irad.UnsupportedError, match="holds itself"):
            call()
