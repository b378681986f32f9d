"""Generator functions, generator expressions and iterators: the compiled function against plain Python."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import UnsupportedError
from tests.support.as_python import Programs, check
from tests.support.outcomes import agrees

R = np.random.default_rng(0)
program = Programs()


def squares(v):
    for i in range(len(v)):
        yield v[i] ** 2


@program(R.random(6))
def g_sum(x):
    return sum(squares(x)) + sum(v for v in x if v > 0.2)


@program(R.random(6))
def g_list(x):
    l = list(squares(x))
    a = np.array(list(squares(x)))
    return l[2] + a.sum() + np.fromiter(squares(x), float)[1]


@program(R.random(60))
def g_for(x):
    s = 0.0
    for v in squares(x):
        t = v * 2
        if t > 1.0:
            continue
        s += t
        if s > 6:
            break
    else:
        s = s * 2
    return s


@program(R.random(60))
def g_for_small(x):
    s = 0.0
    for v in squares(x[:5]):
        s += np.sin(v)
        if s > 600:
            break
    else:
        s = s * 2
    return s


def first(x):
    for v in squares(x):
        if v > 0.5:
            return v * 3
    return 0.0


@program(R.random(60))
def g_return(x):
    return first(x)


def countdown(x, tol):
    while x > tol:
        yield x
        x = x * 0.8


@program(3.0, 0.1)
def g_while(x, tol):
    s = 0.0
    for v in countdown(x, tol):
        s += v**2
    return s


def evens(x):
    for k, v in enumerate(x):
        if k % 2 == 0:
            yield k, v


def positives(x):
    for v in x:
        if v > 0.4:
            yield v


@program(R.random(30))
def g_cond(x):
    s = 0.0
    for k, v in evens(x):
        s += k * v**2
    for v in positives(x):
        s += v**3
    return (
        s + sum(positives(x)) + max(positives(x[:8]), default=0.0) + min(positives(x)) * 2 + max(positives(x), key=lambda v: -v)
    )


@program(R.random(30))
def g_enum(x):
    s = 0.0
    for k, v in enumerate(positives(x)):
        s += k * v
    for k, v in enumerate(squares(x), 1):
        s += k * v
    for a, b in zip(x, positives(x)):
        s += a * b
    for a, k in zip(positives(x), range(3)):
        s += a * k
    for a, b in zip(x, squares(x)):
        s += a * b
    for a, b, c in zip(squares(x), range(100), squares(x[::-1])):
        s += a * b * c
    return s


def batches(X, y, n):
    for i in range(0, len(X), n):
        yield X[i : i + n], y[i : i + n]


@program(R.random(3), R.random((12, 3)), R.random(12), 4)
def g_batches(w, X, y, n):
    for _epoch in range(3):
        for xb, yb in batches(X, y, n):
            g = 2 * xb.T @ (xb @ w - yb) / len(yb)
            w = w - 0.1 * g
    return np.sum(w**2)


@program(R.random(3), R.random((10, 3)), R.random(10), 4)
def g_batches_ragged(w, X, y, n):
    for xb, yb in batches(X, y, n):
        w = w - 0.1 * xb.T @ (xb @ w - yb)
    return np.sum(w**2)


def lcg(seed):
    while True:
        seed = (seed * 7 + 3) % 17
        yield seed / 17


def decays(x):
    while True:
        x = x * 0.9
        yield x


@program(R.random(3), 5)
def g_next(x, seed):
    g = decays(x[0])
    s = next(g) + 2 * next(g)
    h = lcg(seed)
    for _i in range(3):
        s += next(h) * x[1]
    return s


@program(R.random(3), 40)
def g_next_loop2(x, n):
    g = decays(x[0])
    s = 0.0
    for i in range(40):
        s += next(g) * i
    return s


@program(R.random(3))
def g_islice(x):
    return sum(itertools.islice(decays(x[0]), 30)) + sum(itertools.takewhile(lambda v: v > 0.2, decays(x[1])))


def inner(x):
    yield from x
    return 7.0


def outer(x):
    r = yield from inner(x)
    yield r * x[0]
    yield from [x[1], x[2]]
    yield from x


@program(R.random(9))
def g_from(x):
    return sum(v * v for v in outer(x))


def tree(n, x):
    if n == 0:
        yield x
        return
    yield from tree(n - 1, x * 0.5)
    yield from tree(n - 1, x * 2)


@program(0.3)
def g_rec(x):
    return sum(tree(3, x))


def perms(l):
    if len(l) <= 1:
        yield l
    else:
        for i in range(len(l)):
            for p in perms(l[:i] + l[i + 1 :]):
                yield [l[i]] + p


@program(R.random((3, 3)))
def g_perm(A):
    s = 0.0
    for p in perms([0, 1, 2]):
        s += A[0, p[0]] * A[1, p[1]] * A[2, p[2]]
    return s


@program(R.random(9))
def g_expr(x):
    s = sum(x[i] * x[j] for i in range(9) for j in range(9) if i < j)
    s += sum(v for v in (w * w for w in x) if v > 0.1)
    for v in (w for w in x if w > 0.5):
        s += v**2
    return (
        s
        + max(v * 2 for v in x)
        + (1.0 if any(v > 0.9 for v in squares(x)) else 0.0)
        + (1.0 if all(v < 0.9 for v in squares(x)) else 0.0)
    )


class Tree:
    def __init__(self, v, l=None, r=None):
        self.v, self.l, self.r = v, l, r

    def __iter__(self):
        if self.l is not None:
            yield from self.l
        yield self.v
        if self.r is not None:
            yield from self.r


@program(R.random(5))
def g_class(x):
    t = Tree(x[0], Tree(x[1]), Tree(x[2], None, Tree(x[3])))
    s = 0.0
    for k, v in enumerate(t):
        s += (k + 1) * v
    return s + sum(t)


class Grid:
    def __init__(self, n):
        self.n = n

    def cells(self):
        for i in range(self.n):
            for j in range(self.n):
                yield i, j

    def __iter__(self):
        return iter(range(self.n))


@program(R.random((4, 4)))
def g_grid(u):
    g = Grid(4)
    s = 0.0
    for i, j in g.cells():
        s += u[i, j] * (i + 2 * j)
    for i in g:
        s += u[i, 0] ** 2
    return s


def stepper(y, h):
    t = 0.0
    while True:
        yield t, y
        y = y + h * (-y + np.array([0.1, 0.2]))
        t += h


@program(R.random(2))
def g_stepper(y0):
    s = 0.0
    for t, y in stepper(y0, 0.1):
        if t > 2.0:
            break
        s += np.sum(y**2)
    return s


@program(R.random(2))
def g_map(x):
    return (
        sum(map(lambda v: v * 3, squares(x)))
        + sum(filter(lambda v: v > 0.1, squares(x)))
        + sum(itertools.chain(squares(x), [1.0, x[0]]))
    )


@program(R.random(4))
def g_unpack(x):
    a, b, *c = squares(x)
    d = dict(enumerate(squares(x)))
    m = max(*squares(x))
    l = sorted(squares(x))
    t = tuple(squares(x))
    return (
        a
        + 2 * b
        + c[0]
        + d[3]
        + m
        + l[0]
        + t[1]
        + min(squares(x))
        + [v * 2 for v in squares(x)][1]
        + np.stack([v * x for v in squares(x)]).sum()
    )


def guarded(x):
    try:
        yield from x
    finally:
        pass


@program(R.random(4))
def g_fin(x):
    return sum(guarded(x))


class It:
    def __init__(s, n):
        s.n = n
        s.k = 0

    def __iter__(s):
        return s

    def __next__(s):
        if s.k >= s.n:
            raise StopIteration
        s.k += 1
        return s.k


@program(R.random(4))
def g_iterclass(x):
    s = 0.0
    for k in It(3):
        s += k * x[k]
    return s


@contextlib.contextmanager
def ctx(k):
    yield k * 2


@program(R.random(4))
def with_gen(x):
    with ctx(x[0]) as k:
        y = k * x[1]
    return y


@contextlib.contextmanager
def saved(obj):
    old = obj.k
    try:
        obj.k = old * 2
        yield obj
    finally:
        obj.k = old


class Holder:
    def __init__(s, k):
        s.k = k


@program(R.random(4))
def with_saved(x):
    o = Holder(x[0])
    s = 0.0
    with saved(o) as p, ctx(x[1]) as q:
        s += p.k * x[2] * q
    return s + o.k


@contextlib.contextmanager
def swallow():
    try:
        yield 1.0
    except ValueError:
        pass


@program(R.random(4))
def with_swallow(x):
    s = 0.0
    with swallow():
        s += x[0]
        raise ValueError("q")
    with contextlib.suppress(KeyError, IndexError):
        s += x[1]
        {}["w"]
        s += 100
    return s


@program(R.random(4))
def with_suppress_before_another(x):
    s = 0.0
    for v in x:
        with contextlib.suppress(ValueError), contextlib.nullcontext(v) as k:
            s += math.sqrt(k - 0.4) * k
    return s


def f_ret(x):
    for v in x:
        with ctx(v) as k:
            if k > 1.0:
                return k * 3
            if k < 0.2:
                continue
    return 0.0


@program(R.random(4))
def with_return(x):
    return f_ret(x)


class Sw:
    def __enter__(s):
        s.n = 1.0
        return s

    def __exit__(s, t, v, tb):
        s.n = 2.0
        return t is not None and issubclass(t, ValueError)


@program(R.random(4))
def with_class_swallow(x):
    m = Sw()
    s = x[0]
    with m:
        s = s * 2
        raise ValueError
    return s * m.n


@program(R.random(40))
def next_found(x):
    return (
        next(v for v in x if v > 0.9) * 2
        + x[next((i for i, v in enumerate(x) if v > 0.95), 0)]
        + next((v for v in x if v > 7), x[0])
    )


@program(R.random(40))
def next_none(x):
    k = next((i for i, v in enumerate(x) if v > 0.95), None)
    return x[0] if k is None else x[k] ** 2


@program(R.random(40))
def dunder_next(x):
    g = squares(x)
    g.__next__()
    a = next(g)
    for v in g:
        a += v * 0.5
    return a


def mixed(x):
    yield 10.0
    for v in x:
        if v is None:
            break
        yield v
        yield v * 2
    k = 0
    while k < 3:
        yield x[k]
        k += 1
    yield from x
    z = yield 3.0
    yield 4.0 if z is None else 5.0


@program(R.random(4))
def resume_many(x):
    s = 0.0
    for n in range(12):
        g = mixed(x)
        for _ in range(n):
            s += next(g) * _
        for j, v in enumerate(g):
            s += v * (j + 1)
    for n in range(12):
        g = mixed(x)
        for _ in range(n):
            s += next(g) * _
        for v in g:
            s += v
            if v == x[2]:
                break
    return s


def gen_try(x):
    for v in x:
        try:
            yield v
        except ValueError:
            yield -1.0


@program(R.random(4))
def consumer_raises(x):
    s = 0.0
    try:
        for v in gen_try(x):
            s += math.sqrt(float(v) - 0.5)
    except ValueError:
        s = s + 7 * x[0]
    return s


def gen_raises(x):
    for v in x:
        if v > 0.5:
            raise ValueError("big")
        yield v


def gen_raises2(x):
    yield x[0]
    raise ValueError


@program(R.random(4))
def generator_raises_static(x):
    s = 0.0
    try:
        for v in gen_raises2(x):
            s += v
    except ValueError:
        s = s + 7 * x[0]
    return s


@program(R.random(4))
def handled_inside(x):
    def g():
        for v in x:
            try:
                w = math.sqrt(float(v) - 0.5)
            except ValueError:
                w = v * 2
            yield w

    return sum(g())


@program(R.random(4))
def closure_state(x):
    n = 0
    acc = []

    def g():
        nonlocal n
        for v in x:
            n += 1
            acc.append(v)
            yield v * n
            n += 1

    s = 0.0
    for v in g():
        s += v * n
    return s + len(acc) + n


@program(R.random(12))
def a_count_that_must_be_known(x):
    """The loop of `any` is written out: it is the same loop in each reading of the function."""
    n = 0
    parts = [x[0], x[1] * 3, 1.5]

    def over(v):
        nonlocal n
        n += 1
        return v > 0.9

    s = 1.0 if any(over(v) for v in x) else 0.5
    try:
        s += parts[n]
    except IndexError:
        s += 0.25
    return s


def nested(x):
    for i in range(3):
        for v in above(x, i):
            yield v * i


def above(x, i):
    for v in x:
        if v > 0.1 * i:
            yield v


@program(R.random(4))
def nested_break(x):
    s = 0.0
    for _a in range(3):
        for v in nested(x):
            if v > 1.5:
                break
            if v < 0.1:
                continue
            t = v**2
            s += t
        else:
            s += 100
    return s + t


@program(R.random(50))
def in_while(x):
    s = 0.0
    k = 0
    while s < 10.0 and k < 50:
        for v in above(x, k % 3):
            s += v * 0.01
            if s > 3:
                break
        k += 1
    return s


def windows(x, k):
    buf = np.zeros(k)
    for v in x:
        buf = np.roll(buf, 1)
        buf[0] = v
        yield buf.mean()


@program(R.random(50), 5)
def moving(x, k):
    return sum(m**2 for m in windows(x, k))


def store(u):
    for i in range(1, len(u) - 1):
        u[i] = 0.5 * (u[i - 1] + u[i + 1])
        yield i


@program(R.random(10))
def stores(u):
    u = u.copy()
    s = 0.0
    for i in store(u):
        s += u[i] * i
    return s + u.sum()


def euler(f, y, h, n):
    for k in range(n):
        yield k * h, y
        y = y + h * f(y)


@program(R.random(2), 30)
def traj(y, n):
    ys = np.zeros((n, 2))
    for k, (_t, v) in enumerate(euler(lambda z: np.array([z[1], -z[0]]), y, 0.1, n)):
        ys[k] = v
    return np.sum(ys**2)


def newton(f, df, x):
    while True:
        d = f(x) / df(x)
        x = x - d
        yield x, abs(d)


@program(2.0)
def newton_it(a):
    for x, e in newton(lambda z: z * z - a, lambda z: 2 * z, a):
        if e < 1e-12:
            return x


def fib(a, b):
    while True:
        yield a
        a, b = b, a + b


@program(0.5)
def fibgen(x):
    s = 0.0
    for k, v in zip(range(10), fib(x, 1.0)):
        s += v * k
    for v in fib(x, x):
        if v > 100:
            break
        s += v
    return s


@program(R.random(4))
def try_finally(x):
    log = []

    def g():
        try:
            yield from x
        finally:
            log.append(x[0])

    s = 0.0
    for v in g():
        s += v
        if s > 0.8:
            break
    return s + sum(log)


@pytest.mark.parametrize("f, args, wrt", program.cases)
def test_as_python(f: Callable[..., Any], args: tuple[Any, ...], wrt: int) -> None:
    check(f, args, wrt)


def test_a_loop_in_a_generator_stays_a_loop() -> None:
    text = irad.compile(g_sum).lower(np.ones(1000)).passes[0][1]
    assert text.count("for ") == 2 and text.count("mul") + text.count("square") + text.count("pow") < 4


def test_trips_of_a_generator_may_depend_on_data() -> None:
    c = irad.compile(g_while)
    for x in (0.05, 3.0, 300.0):
        np.testing.assert_allclose(c(x, 0.1), g_while(x, 0.1))


def swallowed(x: np.ndarray) -> Any:
    s = 0.0
    try:
        for v in gen_try(x):
            s += v
            raise ValueError
    except ValueError:
        s = s + 7 * x[0]
    return s


def raised_in_a_generator(x: np.ndarray) -> Any:
    def small() -> Iterator[Any]:
        for v in x:
            if v > 0.5:
                raise ValueError("large")
            yield v

    try:
        return sum(small())
    except ValueError:
        return x[0]


def twice(x: np.ndarray) -> Any:
    g = squares(x)
    for v in g:
        if v > 0.0:
            break
    return sum(g)


def one_by_one(x: np.ndarray) -> Any:
    return sum(a * b for a, b in zip(positives(x), positives(x * 2)))


def thrown_into(x: np.ndarray) -> Any:
    return squares(x).throw(ValueError)


@pytest.mark.parametrize("f, words", [
    (swallowed, "let the try end before the yield"),
    (lambda x: raised_in_a_generator(np.tile(x, 4)), "test the condition with if"),
    (twice, "gone over before"),
    (one_by_one, "go over it in a for loop"),
    (thrown_into, "generator.throw"),
])  # fmt: skip
def test_what_generators_cannot_do(f: Callable[..., Any], words: str) -> None:
    with pytest.raises(UnsupportedError, match=words) as e:
        irad.compile(f)(R.random(3))
    assert "test_generators.py" in str(e.value)


def counting(xs: Any, w: Any) -> Any:
    for x in xs:
        yield x
        w[0] += 1.0
    w[1] = 7.0


def first_of_two(xs: Any, ys: Any) -> Any:
    w, s = np.zeros(2), 0.0
    for a, b in zip(counting(xs, w), ys):
        s += a * b
    return s, w


def second_of_three(xs: Any, ys: Any) -> Any:
    w, s = np.zeros(2), 0.0
    for a, b, c in zip(xs[:3], counting(xs, w), ys):
        s += a * b * c
    return s, w


@pytest.mark.parametrize("n", [0, 2, 3, 4, 6])
@pytest.mark.parametrize("f", [first_of_two, second_of_three])
def test_zip_asks_in_order(f: Any, n: int) -> None:
    xs, ys = np.arange(1.0, 5.0), np.arange(2.0, 2.0 + n)
    for got, want in zip(irad.compile(f)(xs, ys), f(xs, ys)):
        np.testing.assert_array_equal(got, want)


def running_mean() -> Any:
    total, n, mean = 0.0, 0, None
    while True:
        total += yield mean
        n += 1
        mean = total / n


def scaled(s: Any) -> Any:
    for k in range(5):
        given = yield s * k
        if given is not None:
            s += given


def sent(x: np.ndarray) -> Any:
    means, steps = running_mean(), scaled(x[0])
    means.send(None)
    out = [means.send(v) for v in x]
    t, n = next(steps), 0
    try:
        while True:
            t += steps.send(x[1])
            n += 1
    except StopIteration:
        pass
    return out, t, n


def test_what_is_sent_is_what_the_yield_gives() -> None:
    x = np.array([1.5, 2.0, 4.0])
    agrees(sent, x)
    np.testing.assert_allclose(
        irad.grad(lambda x: sum(sent(x)[0]) + sent(x)[1])(x), [1 + 1 / 2 + 1 / 3 + 10, 1 / 2 + 1 / 3 + 30, 1 / 3]
    )
    with pytest.raises(TypeError, match="just-started"):
        irad.compile(lambda x: scaled(x[0]).send(x[1]))(x)


def named(x: np.ndarray) -> Any:
    t, n = 0.0, 0
    sums = [t := t + v for v in x]
    kept = [last := v for v in x if v > 0]
    found = any((hit := v) > 2.5 for v in x)
    table = np.array([(t := 0.5 * t + v) for v in x])
    rows = [[n := n + 1 for _ in row] for row in x.reshape(2, -1)]
    largest = max(t := t + v for v in x)
    return sums, kept, last, found, hit, table, rows, n, largest, t


def test_a_comprehension_names_variables_of_the_function() -> None:
    for x in (np.array([1.5, -2.0, 4.0, 0.25]), np.sin(np.arange(40.0)), np.arange(4.0)):
        agrees(named, x)

    def total(x: Any) -> Any:
        t = 0.0
        return sum([t := t * x[1] + v for v in x]) + t

    np.testing.assert_array_equal(irad.grad(total)(np.array([1.0, 2.0, 4.0])), [11.0, 18.0, 2.0])

    def inner(x: Any) -> Any:
        c = 1.0

        def add() -> Any:
            nonlocal c
            return [c := c * v for v in x]

        return add(), c

    agrees(inner, x)


class Swallows:
    def __init__(self, v: Any):
        self.v = v

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> Any:
        return self.v > 1


def test_an_exit_of_which_data_decide_whether_it_swallows_is_refused() -> None:
    def f(x: Any) -> Any:
        with Swallows(x):
            raise ValueError
        return x

    with pytest.raises(UnsupportedError, match="swallows"):
        irad.compile(f)(2.0)


class OfValueError:
    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, e: Any, trace: Any) -> Any:
        return kind is ValueError


def test_an_exit_is_asked_about_what_the_block_may_raise() -> None:
    def f(x: Any) -> Any:
        with OfValueError():
            return math.sqrt(x)

    def other(x: Any) -> Any:
        with OfValueError():
            if x > 1:
                raise KeyError("above")
        return x

    assert [irad.compile(f)(x) for x in (-1.0, 4.0)] == [f(-1.0), f(4.0)] == [None, 2.0]
    assert irad.compile(other)(0.5) == 0.5
    with pytest.raises(KeyError, match="above"):
        irad.compile(other)(2.0)


def test_a_manager_made_in_the_function_of_known_numbers() -> None:
    def f(x: Any) -> Any:
        @contextlib.contextmanager
        def scaled(v: Any) -> Any:
            nonlocal x
            old, x = x, x * v
            try:
                yield v + 1.0
            finally:
                x = old

        with scaled(2.0) as a:
            s = a * x
        return s + x

    assert irad.compile(f)(1.5) == f(1.5) == 10.5
    assert irad.grad(f)(1.5) == 7.0
