"""Classes that are defined in a compiled function, and dicts of attributes: as Python has them, with gradients."""

from __future__ import annotations

import abc
import dataclasses
import enum
import functools
import typing
from typing import Any

import numpy as np
import pytest

import irad


def agrees(f: Any, x: float, slope: bool = True) -> None:
    """Value as Python has it, at three points; the derivative of the first number as differences have it."""
    c = irad.compile(f)
    for at in (x, x + 0.25, x - 0.5):
        want, got = f(at), c(at)
        assert got == want or np.allclose(got, want, rtol=1e-12), (got, want)
    if slope:
        first = lambda x: f(x)[0] if isinstance(f(x), tuple) else f(x)
        near = (first(x + 1e-6) - first(x - 1e-6)) / 2e-6
        assert abs(irad.grad(first)(x) - near) < 1e-7 * max(1.0, abs(near))


def dual(x: float) -> Any:
    class Dual:
        __slots__ = ("d", "v")

        def __init__(self, v: Any, d: Any = 0.0):
            self.v, self.d = v, d

        def __add__(self, o: Any) -> Any:
            o = o if isinstance(o, Dual) else Dual(o)
            return Dual(self.v + o.v, self.d + o.d)

        __radd__ = __add__

        def __mul__(self, o: Any) -> Any:
            o = o if isinstance(o, Dual) else Dual(o)
            return Dual(self.v * o.v, self.v * o.d + self.d * o.v)

        __rmul__ = __mul__

    z = 2.0 * Dual(x, 1.0) * Dual(x, 1.0) + 1.0
    return z.d, z.v


def records(x: float) -> Any:
    @dataclasses.dataclass
    class Point:
        x: float
        y: float = 2.0
        tags: list[float] = dataclasses.field(default_factory=list)

        @property
        def angle(self) -> Any:
            return np.arctan2(self.y, self.x)

        @classmethod
        def polar(cls, r: Any, a: Any) -> Any:
            return cls(r * np.cos(a), r * np.sin(a))

        @staticmethod
        def twice(z: Any) -> Any:
            return 2 * z

    class Color(typing.NamedTuple):
        r: float
        g: float = 0.5

        def luminance(self) -> Any:
            return self.r + 2 * self.g

    class Kind(enum.Enum):
        A = 1
        B = 3

        def times(self, v: Any) -> Any:
            return v * self.value

    q, w = Point(x), Point.polar(x, 0.3)
    w.tags.append(x)
    return q.angle + w.angle * Point.twice(q.y) + len(w.tags) + len(q.tags) + Color(x).luminance() + sum(k.times(x) for k in Kind)


def inheritance(x: float) -> Any:
    class Base(abc.ABC):
        k = 2.0
        count = 0

        def __init__(self, a: Any):
            self.a = a
            self.__seen = 1
            Base.count += 1

        @abc.abstractmethod
        def f(self) -> Any: ...

        def g(self) -> Any:
            self.__seen += 1
            return self.f() + self.__seen

    class Sub(Base):
        k = 3.0

        def __init__(self, a: Any, b: Any):
            super().__init__(a)
            self.b = b

        def f(self) -> Any:
            return self.k * self.a * self.b

    s, t = Sub(x, x * x), Sub(x, 1.0)
    return s.g() + t.g(), Base.count, isinstance(s, Base), type(s).__name__


def variables_around(x: float) -> Any:
    k, dt = 2.0, x / 10

    class Body:
        k = 5.0
        damping = x * 0.1
        log: typing.ClassVar[list[Any]] = []

        def __init__(self) -> None:
            self.q, self.v = 1.0, 0.0

        def step(self) -> None:
            nonlocal dt
            self.v -= (k * self.q + self.damping * self.v) * dt
            self.q += self.v * dt
            self.log.append(self.q)
            dt *= 1.01

    b = Body()
    for _ in range(5):
        b.step()
    return b.q * Body.k, dt, sum(Body.log)


def decorated(x: float) -> Any:
    calls = []

    def logged(f: Any) -> Any:
        @functools.wraps(f)
        def wrapper(*a: Any) -> Any:
            calls.append(f.__name__)
            return f(*a)

        return wrapper

    class Model:
        scale = staticmethod(lambda v: 3 * v)
        square = lambda self, v: v * v

        @logged
        def run(self, v: Any) -> Any:
            return self.square(v) + Model.scale(v)

        @functools.cached_property
        def once(self) -> Any:
            calls.append("once")
            return x + 1

        def each(self, n: int) -> Any:
            for i in range(n):
                yield i * x

    m = Model()
    return m.run(x) + m.once + m.once + sum(m.each(4)), calls


def exceptions(x: float) -> Any:
    class Bad(Exception):
        pass

    class Worse(Bad):
        def __init__(self, v: float):
            super().__init__(f"worse {v}")
            self.v = v

    def f(t: Any) -> Any:
        if t < 1:
            raise Bad("low")
        if t > 4:
            raise Worse(4.0)
        return t

    total = 0.0
    for t in (0.5, x, 5.0):
        try:
            total += f(t)
        except Worse as e:
            total += e.v
        except Bad:
            total -= 1
    return total


def one_for_each_call(x: float) -> Any:
    def make(k: Any) -> Any:
        class Times:
            def __call__(self, v: Any) -> Any:
                return v * k

        return Times()

    total = 0.0
    for i in range(20):
        total += make(i)(x)
    return total


@pytest.mark.parametrize("f", [dual, records, inheritance, variables_around, decorated, exceptions, one_for_each_call])
def test_as_in_python(f: Any) -> None:
    agrees(f, 2.0)


def test_what_is_defined_inside_stays_inside() -> None:
    def cls(x: float) -> Any:
        class A:
            def f(self) -> Any:
                return x

        return A

    for f in (cls, lambda x: cls(x).f, lambda x: cls(x)()):
        with pytest.raises(irad.UnsupportedError, match="cannot be returned"):
            irad.compile(f)(1.0)


# ---- vars(x), x.__dict__ ------------------------------------------------------------------------------------------------------


class Settings:
    """Takes names as they come."""

    def __init__(self, a: Any, **more: Any):
        self.a = a
        self.__dict__.update(more)

    def scaled(self, k: Any) -> Any:
        return Settings(**{n: v * k for n, v in vars(self).items()})

    def __eq__(self, other: object) -> Any:
        return self.__dict__ == other.__dict__


def names_of_new(x: float) -> Any:
    s = Settings(x, b=2.0).scaled(3.0)
    s.__dict__["c"] = s.b * x
    s.d = 1.0
    held = vars(s)
    last = held.pop("d"), "d" in held, held.setdefault("e", x), held.get("z", 7.0)
    again = Settings(**s.__dict__)
    return s.a * s.c, sorted(held), last, len(held), again == s, Settings(x) == s, {**held}, vars(Settings(x))


OUTER = Settings(2.0, w=np.ones(3))


def test_attributes_of_new_objects() -> None:
    agrees(names_of_new, 2.0)


def test_attributes_of_objects_from_outside() -> None:
    def f(x: float) -> Any:
        OUTER.__dict__["w"] = OUTER.w * x
        return np.sum(OUTER.w), sorted(vars(OUTER)), sum(np.sum(v) for v in vars(OUTER).values())

    c = irad.compile(f)
    for more in ({}, {"k": 1.0}, {}):
        OUTER.w = np.array([1.0, 2.0, 3.0])
        vars(OUTER).update(more)
        total = 12.0 + 2.0 + sum(more.values())
        assert c(2.0) == (12.0, sorted(["a", "w", *more]), total) and np.array_equal(OUTER.w, [2.0, 4.0, 6.0])
        for name in more:
            delattr(OUTER, name)
    with pytest.raises(irad.UnsupportedError, match="dict\\(vars\\(x\\)\\)"):
        irad.compile(lambda: OUTER.__dict__)()


def test_an_attribute_on_one_path() -> None:
    def f(x: float) -> Any:
        s = Settings(x)
        if x > 1:
            s.b = x
        return len(vars(s))

    with pytest.raises(irad.UnsupportedError, match="on some paths only"):
        irad.compile(f)(2.0)


def test_methods_of_an_object_that_is_returned_have_the_variables_that_they_read() -> None:
    def f(x: Any) -> Any:
        k = 3.0

        @dataclasses.dataclass
        class Base:
            a: float

            @property
            def twice(self) -> Any:
                return self.a

            def scaled(self) -> Any:
                return self.a * k

        class Point(Base):
            @property
            def twice(self) -> Any:
                return super().twice * k

            @staticmethod
            def of(v: Any) -> Any:
                return v + k

        k = 2.0
        return Point(x)

    p = irad.compile(f)(1.5)
    assert (p.twice, p.scaled(), p.of(1.0)) == (3.0, 3.0, 3.0)

    def of_data(x: Any) -> Any:
        @dataclasses.dataclass
        class Point:
            a: float

            def scaled(self) -> Any:
                return self.a * x

        return [Point(x)]

    with pytest.raises(irad.UnsupportedError, match="method Point.scaled reads 'x'.*make it a field"):
        irad.compile(of_data)(1.5)
