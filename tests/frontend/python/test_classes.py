"""Classes of the user: the compiled function against plain Python."""

from __future__ import annotations

import collections
import copy
import ctypes
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from tests.support.as_python import Programs, check

R = np.random.default_rng(0)
program = Programs()


# --- classes
class Base:
    scale = 2.0

    def __init__(self, a):
        self.__a = a
        self._b = a * 2

    def __hidden(self, x):
        return self.__a * x

    def value(self, x):
        return self.__hidden(x) + self._b

    @property
    def a(self):
        return self.__a

    @a.setter
    def a(self, v):
        self.__a = v

    @classmethod
    def unit(cls):
        return cls(1.0)

    @staticmethod
    def sq(x):
        return x * x

    @classmethod
    def times(cls, x):
        return cls.scale * x


class Child(Base):
    scale = 3.0

    def __init__(self, a, c):
        super().__init__(a)
        self.__a = c

    def value(self, x):
        return super().value(x) + self.__a * x

    def both(self, x):
        return super().value(x)


@program(1.5, 2.0)
def private_names(a, x):
    b = Child(a, x)
    b.a = b.a * 2
    return b.value(x) + b.both(x) + Base.unit().value(x) + Child.sq(x) + Child.times(a) + b.times(x)


class Vec:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y)

    def __sub__(self, o):
        return Vec(self.x - o.x, self.y - o.y)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __truediv__(self, k):
        return Vec(self.x / k, self.y / k)

    def __neg__(self):
        return Vec(-self.x, -self.y)

    def __matmul__(self, o):
        return self.x * o.x + self.y * o.y

    def __abs__(self):
        return (self @ self) ** 0.5

    def __iter__(self):
        return iter((self.x, self.y))

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return (self.x, self.y)[i]

    def __eq__(self, o):
        return self.x == o.x and self.y == o.y

    def __bool__(self):
        return self.x != 0

    def __iadd__(self, o):
        self.x = self.x + o.x
        self.y = self.y + o.y
        return self

    def __pow__(self, n):
        return Vec(self.x**n, self.y**n)

    def __call__(self, t):
        return self.x + self.y * t

    def __contains__(self, v):
        return v == self.x or v == self.y

    def __float__(self):
        return self.x * 1.0

    def __lt__(self, o):
        return abs(self) < abs(o)

    def __round__(self, n=0):
        return self.x

    def __setitem__(self, i, v):
        if i == 0:
            self.x = v
        else:
            self.y = v


@program(np.array([0.3, 0.7]), 0.4)
def vectors(p, t):
    a = Vec(p[0], p[1])
    b = Vec(1.0, 2.0)
    c = 2.0 * a + b * p[0] - a / 3.0
    c += a
    x, y = c
    c[1] = c[1] * 2
    u = sum([a, b], Vec(0.0, 0.0))
    return abs(c) + a @ b + x * y + len(c) + c[0] + (-a).x + (a**2).y + a(t) + u.y + max(a, b).x


@program(np.array([0.3, 0.7, 0.2, 0.9]), 3)
def vectors_in_loop(p, n):
    a = Vec(p[0], p[1])
    v = Vec(p[2], p[3])
    for _ in range(20):
        a = a + v * 0.1
        v = v - a * 0.1
    return abs(a)


@program(np.array([0.3, 0.7]))
def numpy_scalar_times_vec(p):
    a = Dual(p[0], p[1])
    return (p[0] * a).v + (np.float64(2.0) * a).d


class Dual:
    def __init__(self, v, d=0.0):
        self.v, self.d = v, d

    def _lift(o):
        return o if isinstance(o, Dual) else Dual(o)

    _lift = staticmethod(_lift)

    def __add__(self, o):
        o = Dual._lift(o)
        return Dual(self.v + o.v, self.d + o.d)

    __radd__ = __add__

    def __mul__(self, o):
        o = Dual._lift(o)
        return Dual(self.v * o.v, self.v * o.d + self.d * o.v)

    def __rmul__(self, o):
        return self * o

    def __rsub__(self, o):
        return Dual(o - self.v, -self.d)

    def __rtruediv__(self, o):
        return Dual(o / self.v, -o * self.d / self.v**2)

    def sin(self):
        return Dual(np.sin(self.v), np.cos(self.v) * self.d)


@program(0.7)
def dual_numbers(x):
    d = Dual(x, 1.0)
    y = 3 * d * d + 1.0 / d + (2 - d).sin()
    return y.d * y.v


@program(np.array([0.3, 0.4]))
def dual_np(x):
    d = Dual(x, np.ones(2))
    y = d * x + d * 2.0
    return np.sum(y.d * y.v)


class Quat:
    __slots__ = ("w", "v")

    def __init__(self, w, v):
        self.w = w
        self.v = np.asarray(v)

    def __mul__(self, o):
        if isinstance(o, Quat):
            return Quat(self.w * o.w - np.dot(self.v, o.v), self.w * o.v + o.w * self.v + np.cross(self.v, o.v))
        return Quat(self.w * o, self.v * o)

    def conj(self):
        return Quat(self.w, -self.v)

    def __repr__(self):
        return f"Quat({self.w})"


@program(np.array([0.9, 0.1, 0.2, 0.3]))
def quaternions(q):
    a = Quat(q[0], q[1:])
    p = Quat(0.0, [1.0, 2.0, 3.0])
    r = a * p * a.conj()
    for _ in range(10):
        r = a * r * a.conj()
    return np.sum(r.v * np.arange(3.0)) + r.w


class D:
    def __init__(self, v):
        self.v = v

    def __mul__(self, o):
        return D(self.v * (o.v if isinstance(o, D) else o))

    def __rmul__(self, o):
        return D(o * self.v)

    def __radd__(self, o):
        return D(self.v + o)


class DU(D):
    __array_ufunc__ = None


class DP(D):
    __array_priority__ = 1000


class DF(D):
    def __array_ufunc__(self, ufunc, method, *inputs, **kw):
        a = [i.v if isinstance(i, D) else i for i in inputs]
        return D(getattr(ufunc, method)(*a, **kw))


class VA(D):
    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.v)


@program(R.random(3))
def ops(x):
    s = (x[0] * D(x[1])).v + (np.float64(2.0) * D(x[2])).v
    s += (
        np.sum((x * DU(x[0])).v)
        + np.sum((x * DP(x[1])).v)
        + np.sum((x * DF(x)).v)
        + (x[0] * DU(2.0)).v
        + (x[0] * DP(3.0)).v
        + (x[1] * DF(3.0)).v
    )
    s += np.sum(np.sin(DF(x)).v)
    return s


class Pair:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return (self.x, self.y)[i]

    def __rmul__(self, k):
        return Pair(self.x * k, self.y * k)


@program(R.random(3))
def seqobj(x):
    r = x[0] * Pair(x[1], x[2])
    return r[0] + 2 * r[1] + (2.0 * Pair(x[0], x[1])).x


class Node:
    def __init__(self, v, kids=()):
        self.v = v
        self.kids = list(kids)


@program(R.random(3))
def deep(x):
    a = Node(x[0])
    b = Node(x[1], [a, a])
    c = copy.deepcopy(b)
    c.kids[0].v = c.kids[0].v * 5
    y = [x, x]
    z = copy.deepcopy(y)
    z[0][0] = 9.0
    return c.kids[1].v + a.v + np.sum(z[1]) + (1.0 if c.kids[0] is c.kids[1] else 0.0) + (1.0 if z[0] is z[1] else 0.0)


G = Node(np.array([1.0, 2.0, 3.0]))


@program(R.random(3))
def deep_captured(x):
    c = copy.deepcopy(G)
    d = copy.copy(G)
    c.v[0] = 5.0
    return np.sum(c.v * x) + np.sum(d.v * x)


@program(R.random(4))
def index_error(x):
    try:
        return x[9]
    except IndexError as e:
        return x[0] * len(str(e))


@program(R.random(4))
def index_error2(x):
    s = 0.0
    for k in range(3, 7):
        try:
            s += x[k]
        except IndexError:
            break
    try:
        l = [x[0]]
        s += l[3]
    except (IndexError, KeyError):
        s += 1.0
    try:
        s += x[1, 2]
    except IndexError:
        s += x[1]
    return s


def first_negative(x):
    try:
        for k in range(10):
            if x[k] < 0:
                return k
    except IndexError:
        return -1


@program(R.random(4))
def idx_loop(x):
    return x[0] * first_negative(x)


class Sc:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return self.k * x


@program(R.random(4))
def callable_choice(x):
    f = Sc(x[0])
    g = Sc(x[1])
    h = f if x[2] > x[3] else g
    return h(x[2])


@pytest.mark.parametrize("f, args, wrt", program.cases)
def test_as_python(f: Callable[..., Any], args: tuple[Any, ...], wrt: int) -> None:
    check(f, args, wrt)


@dataclasses.dataclass(order=True)
class Ordered:
    a: float
    b: float = 1.0
    c: list = dataclasses.field(default_factory=list, compare=False)


class Equal:
    def __init__(self, v: Any) -> None:
        self.v = v

    def __eq__(self, other: Any) -> Any:
        return self.v == other.v


def compared(x: np.ndarray) -> Any:
    p, q = Ordered(x[0]), Ordered(x[1], 2.0)
    equal = 1.0 * (p == q) + 2 * (p != q) + 16 * (p == Ordered(x[0])) + 32 * (p == 3)  # noqa: SIM300
    order = 4 * (p < q) + 8 * (p >= q) + sorted([q, p])[0].a + max(p, q).a
    return equal + order + 64 * (Equal(x[0]) != Equal(x[1])) + 128 * (Equal(x[0]) == Equal(x[0]))


def test_comparisons_that_dataclasses_makes() -> None:
    for x in ([1.0, 2.0], [2.0, 1.0], [1.0, 1.0]):
        assert irad.compile(compared)(np.array(x)) == compared(np.array(x))


@dataclasses.dataclass
class Shape:
    """A dataclass whose __init__ is its own."""

    a: float
    b: float
    flat: float
    known = {"unit": (2.0, 1.0)}

    def __init__(self, a: float, b: float, flat: float | None = None):
        self.a, self.b = a, b
        self.flat = flat if flat is not None else (a - b) / a

    @classmethod
    def named(cls, name: str) -> Shape:
        return cls(*cls.known[name])


def test_a_dataclass_with_an_init_of_its_own() -> None:
    assert irad.grad(lambda x: x * Shape(4.0, x).flat)(2.0) == 0.0
    assert irad.compile(lambda x: x * Shape.named("unit").flat + Shape(x, x, 3.0).flat)(4.0) == 5.0


def test_hasattr_of_numbers_and_arrays() -> None:
    def f(x: np.ndarray) -> float:
        kinds = [hasattr(v, "__iter__") for v in (x, x[0], float(x[0]), len(x))]
        assert kinds == [True, False, False, False]
        return x[0] * hasattr(x, "dtype") + x[1] * hasattr(x[0], "shape") + hasattr(2.0 * float(x[0]), "shape")

    x = np.array([2.0, 3.0])
    assert irad.compile(f)(x) == f(x) == 5.0


class Best:
    value = None  # of the class, until there is one of the object

    def see(self, v):
        if self.value is None or v > self.value:
            self.value = v


class Second(Best):
    order = None

    def __init__(self, x):
        self.x = x

    def power(self):
        return self.x if self.order is None else self.x**self.order


class Third(Second):
    order = 3


def test_attributes_of_classes_that_are_none() -> None:
    def f(x: Any) -> Any:
        best, seen = Best(), Best()
        for v in x:
            best.see(v * v)
        if x[0] > 5:
            seen.value = x[1]
        return best.value + (x[2] if seen.value is None else seen.value) + Second(x[0]).power() + Third(x[1]).power()

    for x in (np.array([1.0, -3.0, 2.0]), np.array([6.0, -3.0, 2.0])):
        value, slope = irad.value_and_grad(f)(x)
        assert value == f(x)
        np.testing.assert_allclose(slope, [1 + (12 if x[0] > 5 else 0), 27 + (1 if x[0] > 5 else -6), float(x[0] < 5)])


class Estimate(collections.namedtuple("Estimate", ["value", "error"])):
    """A named tuple with a `__new__` and an attribute of its own."""

    def __new__(cls, value: Any, error: Any, note: Any) -> Estimate:
        self = super().__new__(cls, value, error)
        self.note = note
        return self


def estimated(x: np.ndarray) -> Any:
    if x[0] > 1.0:
        return Estimate(x[0] ** 2, x[1], x[2] * 3.0)
    return Estimate(x[1], x[2], x[0] * 2.0)


def test_a_named_tuple_with_attributes_on_two_paths() -> None:
    f = lambda x: (lambda e: e.value * e.error + e.note + sum(e))(estimated(x))
    for x in (np.array([1.5, 2.0, 3.0]), np.array([0.5, 2.0, 3.0])):
        assert irad.compile(f)(x) == f(x)
        irad.check_grads(f, (x,), order=1)
        given, want = irad.compile(estimated)(x), estimated(x)
        assert type(given) is Estimate and given == want and given.note == want.note


class Named(tuple):
    """A tuple whose attributes stand behind a `__dict__` of its class."""

    def __new__(cls, values: Any, names: Any) -> Named:
        return tuple.__new__(cls, values)

    def __init__(self, values: Any, names: Any):
        self._names = list(names)

    def as_dict(self) -> Any:
        return collections.OrderedDict(zip(self._names, self))

    __dict__ = property(as_dict)  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._names.index(key) if isinstance(key, str) else key)


def test_a_class_with_a_dict_of_its_own() -> None:
    f = lambda x: (lambda t: np.sum(t["a"]) * t["b"] + t[0][0])(Named((x * 2, np.sum(x**2)), "ab"))
    x = np.array([1.5, 2.0, 3.0])
    assert irad.compile(f)(x) == f(x)
    irad.check_grads(f, (x,), order=1)


def test_a_function_of_ctypes() -> None:
    square = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda t: t * t)
    assert irad.compile(lambda x: x * square(3.0))(2.0) == 18.0
    with pytest.raises(irad.UnsupportedError, match="of ctypes.*callback"):
        irad.compile(lambda x: square(x))(2.0)


class _Truth:
    def __init__(self, b: Any):
        self.b = b

    def __bool__(self) -> Any:
        return self.b > 0.2


class _TruthAsProperty(_Truth):
    @property
    def __bool__(self) -> Any:  # type: ignore[override]
        return self.b > 0.2


def test_truth_that_is_numpys_on_one_path_is_refused() -> None:
    def f(x: np.ndarray, s: float) -> float:
        t = _Truth(s)
        if x[0] > 0:
            t.b = t.b * x[1]
        return 1.0 if t else 2.0

    with pytest.raises(TypeError, match="__bool__ should return bool"):
        f(np.ones(2), 0.5)
    with pytest.raises(irad.UnsupportedError, match=r"return bool\(...\)"):
        irad.compile(f)(np.ones(2), 0.5)


def test_a_special_method_that_is_a_property_is_refused() -> None:
    with pytest.raises(irad.UnsupportedError, match="__bool__ of class _TruthAsProperty is an object of class property"):
        irad.compile(lambda t: 1.0 if t else 2.0)(_TruthAsProperty(0.5))


def test_an_error_about_a_class_says_where_it_is() -> None:
    with pytest.raises(irad.UnsupportedError, match="made in compiled code") as e:
        irad.compile(_Truth)(0.5)
    assert e.value.loc is not None and e.value.loc.file == __file__
