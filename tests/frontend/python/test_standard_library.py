"""Python's standard library on traced numbers: the compiled function against plain Python."""

from __future__ import annotations

import bisect
import collections
import copy
import dataclasses
import datetime
import enum
import functools
import heapq
import itertools
import math
import operator
import statistics
import sys
import typing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate

import irad
from tests.support.as_python import Programs, check

R = np.random.default_rng(0)
program = Programs()


class Vec:
    def __init__(self, x, y):
        self.x, self.y = x, y


class Dual:
    def __init__(self, v, d=0.0):
        self.v, self.d = v, d


# --- dataclasses
@dataclasses.dataclass
class State:
    x: np.ndarray
    v: float = 1.0
    hist: list = dataclasses.field(default_factory=list)

    def energy(self):
        return np.sum(self.x**2) + self.v**2


@dataclasses.dataclass(frozen=True)
class Fr:
    a: float
    b: float = dataclasses.field(default=2.0)

    def moved(self, d):
        return dataclasses.replace(self, a=self.a + d)


@dataclasses.dataclass
class Post:
    a: float
    b: float = dataclasses.field(init=False)
    c: dataclasses.InitVar[float] = 2.0

    def __post_init__(self, c):
        self.b = self.a * c


@program(np.array([0.3, 0.4]))
def data_classes(x):
    s = State(x, x[0])
    s.v += 1.0
    s.hist.append(s.v)
    f = Fr(x[1]).moved(x[0])
    p = Post(x[0], 3.0)
    d = dataclasses.asdict(f)
    t = dataclasses.astuple(f)
    return s.energy() + f.a * f.b + p.b + d["a"] * t[0] + s.hist[0] + (f == Fr(x[1]))


NT = collections.namedtuple("NT", "x y")


class TN(typing.NamedTuple):
    a: float
    b: float = 3.0

    def prod(self):
        return self.a * self.b


@program(np.array([0.3, 0.4]))
def named(x):
    p = NT(x[0], x[1])._replace(y=x[0] * 2)
    q = TN(x[1])
    d = p._asdict()
    return p.x * p.y + q.prod() + d["x"] + NT._make([x[0], x[1]]).y + q._fields.index("b")


class Kind(enum.Enum):
    A = 1
    B = 2


class IK(enum.IntEnum):
    P = 0
    Q = 1


class Fl(enum.Flag):
    R = enum.auto()
    W = enum.auto()


@program(np.array([0.3, 0.4]))
def enums(x):
    k = Kind.A
    s = 0.0
    for k in Kind:
        s = s + x[0] * k.value
    return s + x[IK.Q] + (x[0] if Kind["B"] is Kind.B else 0.0) + (x[1] if Fl.R in (Fl.R | Fl.W) else 0)


# --- functools
@functools.cache
def fibs(n):
    return n if n < 2 else fibs(n - 1) + fibs(n - 2)


@functools.lru_cache
def wt(n):
    return math.sqrt(n)


def deco(f):
    @functools.wraps(f)
    def g(*a, **k):
        return 2 * f(*a, **k)

    return g


@deco
def inner(x):
    return x**2


def timed(factor):
    def d(f):
        @functools.wraps(f)
        def g(*a):
            return factor * f(*a)

        return g

    return d


@timed(3.0)
def inner2(x):
    return x**3


@functools.singledispatch
def area(s):
    return 0.0


@area.register
def _(s: Vec):
    return s.x * s.y


@area.register(Dual)
def _(s):
    return s.v


@area.register(float)
def _(s):
    return s * 5


@area.register(np.ndarray)
def _(s):
    return s.sum()


@program(np.array([0.3, 0.4]))
def functools_(x):
    f = functools.partial(lambda a, b, c=1.0: a * b * c, x[0], c=3.0)
    r = functools.reduce(lambda a, b: a * b + 1, x, 2.0)
    return (
        f(x[1])
        + r
        + inner(x[0])
        + inner2(x[1])
        + fibs(10) * x[0]
        + wt(3) * x[1]
        + area(Vec(x[0], x[1]))
        + area(Dual(x[0]))
        + area(x)
        + functools.reduce(operator.add, [x[0], x[1]])
    )


@program(0.3)
def singled(x):
    return area(x)


class CP:
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def sq(self):
        return self.x**2

    @functools.singledispatchmethod
    def m(self, a):
        return self.x * a

    @m.register
    def _(self, a: str):
        return self.x * 2

    g = functools.partialmethod(lambda self, k, y: self.x * k * y, 2.0)


@program(0.3)
def cachedprop(x):
    c = CP(x)
    return c.sq + c.sq + c.m(2.0) + c.m("a") + c.g(3.0)


@functools.total_ordering
class Ord:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return self.v == o.v

    def __lt__(self, o):
        return self.v < o.v


@program(np.array([0.3, 0.4]))
def ordering(x):
    a, b = Ord(x[0]), Ord(x[1])
    return (x[0] if a >= b else x[1]) + (x[0] * 2 if a <= b else 0) + sorted([b, a])[0].v


@program(np.array([0.3, 0.4]))
def cmpkey(x):
    l = sorted([x[1], x[0]], key=functools.cmp_to_key(lambda a, b: 1 if a > b else -1))
    return l[0] * 2 + l[1]


@program(R.random(6))
def itertools_(x):
    s = 0.0
    for a, b in itertools.combinations(x, 2):
        s = s + a * b
    for i, j in itertools.product(range(3), range(2)):
        s = s + x[i] * x[j]
    for a in itertools.accumulate(x):
        s = s + a**2
    for a in itertools.chain(x, [1.0, 2.0]):
        s = s + a
    for a, b in itertools.pairwise(x):
        s = s + a * b**2
    for a in itertools.islice(x, 1, 4):
        s = s + a * 3
    for k, a in zip(itertools.count(), x):
        s = s + k * a
    for a, c in zip(x, itertools.cycle([1.0, -1.0])):
        s = s + a * c
    for a in itertools.starmap(pow, [(x[0], 2), (x[1], 3)]):
        s = s + a
    for a in itertools.takewhile(lambda k: k < 3, range(6)):
        s = s + x[a]
    for a in itertools.repeat(x[0], 3):
        s = s * a
    return s


@program(R.random(6))
def collections_(x):
    d = collections.deque(maxlen=3)
    for v in x:
        d.append(v)
    s = sum(d) + d[0] * d[-1]
    o = collections.OrderedDict()
    o["a"] = x[0]
    o["b"] = x[1]
    o.move_to_end("a")
    dd = collections.defaultdict(list)
    dd["k"].append(x[2])
    dd["k"].append(x[3])
    df = collections.defaultdict(float)
    df["q"] += x[4]
    c = collections.Counter("abca")
    cm = collections.ChainMap({"a": x[0]}, {"b": x[5]})
    return s + list(o.values())[0] + dd["k"][1] * df["q"] + c["a"] * x[1] + cm["b"]


@program(R.random(3))
def dict_union(x):
    p = {"a": x[0], "b": x[1]}
    q = {"b": x[2]}
    r = p | q
    p |= {"c": x[0] * 2}
    z = {**p, "d": x[1]}
    return r["b"] * r["a"] + p["c"] + z["d"] + sum(v for v in r.values()) + sum(k * 1.0 for k in (1, 2))


@program(R.random(3))
def copies(x):
    a = {"w": x.copy(), "n": [x[0], {"k": x[1]}]}
    b = copy.deepcopy(a)
    b["w"][0] = 5.0
    b["n"][1]["k"] = b["n"][1]["k"] * 2
    c = copy.copy(a)
    c["n"].append(x[2])
    parts = (
        collections.defaultdict(lambda: [0.0], u=[x[1]]),
        collections.deque([x[0], x[2]], maxlen=2),
        {1, 2},
        collections.OrderedDict(r=x[1]),
    )
    table, last, known, ordered = copy.deepcopy(parts)
    table["u"][0] *= 3.0
    table["v"][0] += x[2]
    last.append(table["u"][0])
    known.add(3)
    ordered["r"] *= x[0]
    kept = parts[0]["u"][0] + parts[1][0] * len(parts[2]) + parts[3]["r"] * len(parts[0])
    return a["w"][0] + b["w"].sum() + b["n"][1]["k"] + a["n"][2] + a["n"][1]["k"] + kept + sum(last) * len(known) + ordered["r"]


class Obj:
    def __init__(s, x):
        s.x = x
        s.l = [x]

    def copy(s):
        return copy.deepcopy(s)


@program(R.random(3))
def deep_object(x):
    a = Obj(x[0])
    b = a.copy()
    b.x = b.x * 2
    b.l[0] = b.l[0] * 3
    c = copy.copy(a)
    c.x = c.x + 1
    c.l.append(x[1])
    return a.x + b.x * b.l[0] + c.x + len(a.l) + a.l[1]


@program(R.random(5))
def statistics_(x):
    l = [x[0], x[1], x[2]]
    return statistics.mean(x) + statistics.fmean(l)


@program(R.random(5))
def statistics2(x):
    return statistics.variance(list(x)) + statistics.pvariance(list(x))


@program(R.random(5))
def statistics3(x):
    return statistics.stdev(list(x)) + statistics.median(list(x))


@program(R.random(5))
def statistics4(x):
    return statistics.pstdev(list(x)) + statistics.median(x) + statistics.geometric_mean(x) + statistics.harmonic_mean(list(x))


@program(R.random(5))
def statistics5(x):
    return statistics.NormalDist(0.0, 1.0).cdf(x[0]) + statistics.correlation(list(x), [1.0, 2.0, 3.0, 5.0, 4.0])


@program(1.3, np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0, 5.0]))
def bisects(t, xs, ys):
    i = bisect.bisect_right(xs, t) - 1
    j = bisect.bisect_left(list(xs), t)
    k = bisect.bisect([0.0, 1.0, 2.0, 4.0], t, 1, 3)
    return ys[i] * t + ys[j] * t**2 + ys[k]


@program(np.array([1.3, 2.2]), np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0, 5.0]))
def bisect_loop(ts, xs, ys):
    s = 0.0
    for t in ts:
        i = bisect.bisect(xs, t) - 1
        f = (t - xs[i]) / (xs[i + 1] - xs[i])
        s += ys[i] * (1 - f) + ys[i + 1] * f
    return s


@program(R.random(4))
def insort_(x):
    l = [0.1, 0.5]
    bisect.insort(l, x[0])
    bisect.insort_left(l, x[1])
    return l[0] * 1 + l[1] * 2 + l[2] * 3 + l[3] * 4


@program(R.random(4))
def heap_(x):
    h = []
    for v in [x[0], x[1], x[2]]:
        heapq.heappush(h, v)
    a = heapq.heappop(h)
    return a * 3 + h[0]


@program(R.random(4))
def heap2(x):
    h = [x[0], x[1], x[2], x[3]]
    heapq.heapify(h)
    return h[0] * 2 + heapq.nlargest(2, list(x))[1] + heapq.nsmallest(2, list(x))[1] + heapq.heappushpop(h, 0.5)


@program(R.random(4))
def operator_(x):
    g = operator.itemgetter(1)
    a = operator.attrgetter("T")
    m = operator.methodcaller("sum")
    l = [(x[0], x[1]), (x[2], x[3])]
    return (
        g(x)
        + np.sum(a(x))
        + m(x)
        + operator.mul(x[0], x[1])
        + sorted(l, key=operator.itemgetter(0))[0][1]
        + operator.neg(x[2])
        + operator.truediv(x[0], x[3])
    )


@program(R.random(4))
def math_(x):
    return (
        math.sin(x[0])
        + math.hypot(x[0], x[1])
        + math.fsum([x[0], x[1]])
        + math.prod([x[0], x[1]])
        + math.dist([x[0], x[1]], [0.0, 1.0])
        + math.copysign(x[0], -1.0)
        + math.pi * x[3]
        + math.comb(4, 2) * x[0]
        + math.isclose(x[0], 2.0)
        + math.log(x[1], 2)
        + math.erf(x[0])
        + math.atan2(x[0], x[1])
    )


# --- exceptions
@program(R.random(4))
def tries(x):
    s = 0.0
    try:
        np.linalg.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]) * x[0])
    except np.linalg.LinAlgError:
        s = s + x[1]
    try:
        s = s + 1.0 / float(x[0] - x[0])
    except ZeroDivisionError:
        s = s + 2 * x[2]
    else:
        s = 100.0
    finally:
        s = s * 2
    try:
        s = s + x[7]
    except IndexError:
        s = s + 3 * x[3]
    try:
        _a, _b = [x[0]]
    except (TypeError, ValueError):
        s = s + 5 * x[0]
    try:
        {}["q"]
    except KeyError:
        s = s + x[1]
    return s


@program(R.random(4))
def try_in_loop(x):
    s = 0.0
    for v in x:
        try:
            s = s + math.log(float(v) - 0.5)
        except ValueError:
            s = s + v
            continue
        finally:
            s = s * 1.1
    return s


def may(x):
    if x > 0.5:
        raise ValueError("too big")
    return x * 2


class MyErr(Exception):
    def __init__(self, v):
        super().__init__("my")
        self.v = v


def may2(x):
    if x < 0.9:
        raise MyErr(x)
    return x


@program(R.random(4))
def try_called(x):
    s = 0.0
    for v in x:
        try:
            s = s + may(v)
        except ValueError:
            s = s - v
    try:
        s = s + may2(x[0])
    except MyErr as e:
        s = s + e.v * 3
    return s


def looping(x):
    for v in x:
        if v > 0.9:
            raise ValueError("a")
    return x.sum()


@program(R.random(4))
def try_called_loop(x):
    try:
        return looping(x)
    except ValueError:
        return x[0]


@program(R.random(4))
def solve_try(x):
    A = np.array([[x[0], x[1]], [x[0], x[1]]])
    try:
        y = np.linalg.solve(A, x[:2])
    except np.linalg.LinAlgError:
        y = np.linalg.lstsq(A + np.eye(2), x[:2], rcond=None)[0]
    return y.sum()


def test_a_heap_is_laid_out_as_pythons() -> None:
    def pushed_and_popped(x: np.ndarray) -> Any:
        h: list[Any] = []
        for v in x:
            heapq.heappush(h, v)
        a = heapq.heappop(h)
        b = heapq.heapreplace(h, x[0] * 0.5)
        heapq.heapify(h)
        return [a, b, *h]

    for seed in range(20):
        x = np.random.default_rng(seed).integers(0, 5, 7) * 0.25  # with ties
        assert irad.compile(pushed_and_popped)(x) == pushed_and_popped(x)


def test_bisection_as_pythons() -> None:
    c, d = irad.compile(lambda a, x: bisect.bisect_left(a, x)), irad.compile(lambda a, x: bisect.bisect_right(a, x, 1, 4))
    for a in (np.array([0.0, 1.0, 1.0, 2.0, 5.0]), [0.0, 1.0, 1.0, 2.0, 5.0]):
        for x in (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 5.0, 6.0, math.nan):
            assert c(a, x) == bisect.bisect_left(a, x) and d(a, x) == bisect.bisect_right(a, x, 1, 4)


class Counted:
    """An object whose comparisons change it, and that may be asked for a NaN."""

    def __init__(self, v: Any):
        self.v, self.n = v, 0

    def __lt__(self, other: Any) -> Any:
        self.n, other.n = self.n + 1, other.n + 100
        return self.v < other.v

    def __gt__(self, other: Any) -> Any:
        self.n += 10000
        return self.v > other.v


@pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="which finds runs by other comparisons; irad makes those of 3.11 and 3.12"
)
def test_the_same_pairs_are_compared_as_by_python() -> None:
    def sorts(x: Any, down: bool) -> Any:
        xs = [Counted(v) for v in x]
        a = sorted(xs, reverse=down)
        b = sorted([(k, c) for k, c in enumerate(xs)], key=lambda p: p[1])
        pairs = sorted([(0, c) for c in xs[:4]])
        heap = xs[:5]
        heapq.heapify(heap)
        heapq.heappop(heap)
        least, at = min(xs), bisect.bisect_left(a, xs[1])
        return (
            [c.v for c in a],
            [k for k, _ in b],
            [c.v for _, c in pairs],
            [c.n for c in xs],
            [c.v for c in heap],
            least.v,
            max(xs).v,
            at,
        )

    c = irad.compile(sorts)
    for seed in range(24):
        r = np.random.default_rng(seed)
        x = r.integers(0, 4, 7) * 0.5 if seed % 2 else r.normal(size=7)
        if seed % 8 == 5:
            x[r.integers(7)] = math.nan
        if seed % 8 == 7:
            x.sort()
        assert repr(c(x, seed % 3 == 0)) == repr(sorts(x, seed % 3 == 0))


def test_a_nan_in_a_tuple_that_decides_nothing() -> None:
    c = irad.compile(lambda x, y: sorted(zip(x, y)))
    x, y = np.array([3.0, 1.0, 2.0]), np.array([1.0, math.nan, 4.0])
    assert [a for a, _ in c(x, y)] == [1.0, 2.0, 3.0]
    for bad in (np.array([1.0, 1.0, 2.0]), np.array([1.0, math.nan, 2.0])):
        with pytest.raises(ValueError, match="NaN"):
            c(bad, y)


def test_the_class_of_what_stands_for_an_object_of_a_library() -> None:
    def times(x: Any) -> Any:
        now = datetime.datetime.now()
        return (
            isinstance(now, datetime.date),
            isinstance(now - now, datetime.timedelta),
            type(now) is datetime.datetime,
            isinstance(now, str),
            x,
        )

    assert irad.compile(times)(1.0) == (True, True, True, False, 1.0)
    spline = lambda x: scipy.interpolate.CubicSpline(np.arange(4.0), x)
    assert irad.compile(lambda x: isinstance(spline(x), (float, np.ndarray, Counted)))(np.ones(4)) is False
    for asked in (lambda x: isinstance(spline(x), scipy.interpolate.PPoly), lambda x: type(spline(x)).__name__):
        with pytest.raises(irad.UnsupportedError, match="class of an object of a library"):
            irad.compile(asked)(np.ones(4))


def test_copies_of_computed_text(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x):
        a = Vec(x * x, f"x = {x:.2f}")
        b, c = copy.deepcopy(a), copy.copy(a.y)
        a.x = 0.0
        print(b.y, c, copy.deepcopy([a.y, x])[0])
        return b.x

    assert irad.compile(f)(1.5) == 2.25 and capsys.readouterr().out == "x = 1.50 x = 1.50 x = 1.50\n"
    assert irad.grad(f)(1.5) == 3.0


def test_no_data_is_pythons_error() -> None:
    for f in (statistics.variance, statistics.stdev):
        with pytest.raises(statistics.StatisticsError, match="at least two data points"):
            irad.compile(lambda x, f=f: f([x]))(1.0)


@pytest.mark.parametrize("f, args, wrt", program.cases)
def test_as_python(f: Callable[..., Any], args: tuple[Any, ...], wrt: int) -> None:
    check(f, args, wrt)
