"""Iterators are gone over once; itertools; what compiled code may return; comparisons of unlike kinds; callees without source."""

from __future__ import annotations

import copy
import functools
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import irad
from irad import UnsupportedError

X = np.array([1.0, 2.0, 2.0, 3.0])


# ---- iterators ----


def next_in_a_loop(x: Any) -> Any:
    numbers = iter(list(range(100)))
    s = 0.0
    for _ in range(50):
        s += x[0] * next(numbers)
    return s


def next_in_a_kept_loop(x: Any) -> Any:
    numbers = iter(range(1, 100))
    s = 0.0
    while s < 50.0:
        s += x[0] * next(numbers)
    return s


def next_in_a_branch(x: Any) -> Any:
    elements = iter(x)
    s = 0.0
    if x[0] > 0:
        s += next(elements)
    return s + next(elements)


def head_and_rest(x: Any) -> Any:
    elements = iter(x)
    first = next(elements)
    return first * sum(elements)


def with_counter(x: Any) -> Any:
    return [a * k for a, k in zip(x, itertools.count(1))]


def counting_until(x: Any) -> Any:
    s = 0.0
    for k in itertools.count(2, 3):
        s += k * x[1]
        if s > 100.0:
            break
    return s


def pieces(x: Any) -> Any:
    elements = iter(x)
    return [list(itertools.islice(elements, 2)), list(itertools.islice(elements, 2)), list(elements)]


@pytest.mark.parametrize("f", [
    next_in_a_loop, next_in_a_kept_loop, next_in_a_branch, head_and_rest, with_counter, counting_until, pieces,
    lambda x: next(iter([]), 7.0) * x,
    lambda x: [a * b for a, b in zip(x, itertools.cycle([1, 2]))],
    lambda x: functools.reduce(operator.mul, (x[k] * b for k, b in zip((0, 3), itertools.cycle([1, 2])))),
    lambda x: [a * b for a, b in zip(x, itertools.repeat(3.0))],
    lambda x: list(itertools.chain(x, x * 2)) + list(itertools.chain.from_iterable([x, x])),
    lambda x: list(itertools.islice(x, 1, 3)) + list(itertools.islice(itertools.count(), 2, 9, 3)),
    lambda x: [a * b for a, b in itertools.combinations(x, 2)],
    lambda x: [a - b for a, b in itertools.permutations(x[:3], 2)],
    lambda x: [a - b for a, b in itertools.pairwise(x)],
    lambda x: list(itertools.zip_longest(x, [1.0], fillvalue=0.0)),
    lambda x: list(itertools.starmap(operator.mul, zip(x, x))),
    lambda x: list(itertools.accumulate(x, operator.mul)) + list(itertools.accumulate(x, initial=1.0)),
    lambda x: list(itertools.compress(x, [1, 0, 1, 0])),
    lambda x: [sum(group) * k for k, group in itertools.groupby([1, 1, 2], key=lambda k: k)],
    lambda x: list(itertools.takewhile(lambda k: k < 3, [1, 2, 5, 1])),
    lambda x: [sum(list(it)) for it in itertools.tee(x, 2)],
    lambda x: [a + b for a, b in itertools.product(x[:2], [1.0, 2.0])],
    lambda x: frozenset([1, 2]),
])  # fmt: skip
def test_iterators(f: Callable[..., Any]) -> None:
    got, want = irad.compile(f)(X.copy()), f(X.copy())
    np.testing.assert_equal(got, want)
    assert type(got) is type(want)


def zip_twice(x: Any) -> Any:
    pairs = zip(x, x)
    s = 0.0
    for a, b in pairs:
        s += a * b
    for a, b in pairs:
        s += a * b
    return s


def zip_in_a_loop(x: Any) -> Any:
    pairs = zip(range(5), range(5))
    s = 0.0
    for _ in range(50):
        for a, _b in pairs:
            s += a * x[0]
    return s


def generator_twice(x: Any) -> Any:
    squares = (v * v for v in x)
    return sum(squares) + sum(squares)


def map_twice(x: Any) -> Any:
    sines = map(np.sin, x)
    return sum(sines) + sum(sines)


@pytest.mark.parametrize("f", [zip_twice, zip_in_a_loop, generator_twice, map_twice])
def test_an_iterator_that_has_ended_gives_nothing(f: Callable[..., Any]) -> None:
    assert irad.compile(f)(X) == f(X)


def after_a_loop(x: Any) -> Any:
    g = (v * v for v in x)
    s = 0.0
    for v in g:
        s += v
    return s + next(g, 5.0)


def after_a_sum(x: Any) -> Any:
    it = iter(x)
    return sum(it) + next(it, x[1])


def in_the_else_clause(x: Any) -> Any:
    g = (v for v in x if v > 1.5)
    s = 0.0
    for v in g:
        s += v
    else:
        s += next(g, x[0])
    return s


def stop_iteration(x: Any) -> Any:
    it = zip(x, x)
    pairs = list(it)
    try:
        next(it)
    except StopIteration:
        return pairs[1][0] * len(pairs)
    return x[0]


@pytest.mark.parametrize("f", [after_a_loop, after_a_sum, in_the_else_clause, stop_iteration])
def test_next_after_the_end(f: Callable[..., Any]) -> None:
    value, slope = irad.compile(f).value_and_grad(X)
    assert value == pytest.approx(f(X), rel=1e-14)
    steps = 1e-6 * np.eye(X.size)
    want = [(f(X + h) - f(X - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(slope, want, rtol=1e-8)


def left_by_break(x: Any) -> Any:
    it = iter(x)
    for v in it:
        if v > 1.0:
            break
    return next(it, 0.0)


def found_in(x: Any) -> Any:
    it = iter(x)
    return next(it, 0.0) if x[1] in it else 1.0


@pytest.mark.parametrize("f", [left_by_break, found_in])
def test_where_an_iterator_stands_after_a_search(f: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="gone over before") as e:
        irad.compile(f)(X)
    assert "test_iterators.py" in str(e.value)


def test_in_of_an_iterator() -> None:
    f = lambda x: x[0] if x[1] in iter(x) else x[2]
    g = lambda x: x[0] if 77.0 in iter([x[0], x[1]]) else x[2]
    for h in (f, g):
        assert irad.compile(h)(X) == h(X)


@pytest.mark.parametrize("f, words", [
    (lambda x: list(itertools.count()), "without an end"),
    (lambda x: [list(g) for _, g in itertools.groupby(x)], "groupby by data"),
    (lambda x: np.broadcast(x, x).shape, "broadcast"),
    (lambda x: np.nditer(x), "nditer"),
])  # fmt: skip
def test_what_iterators_cannot_do(f: Callable[..., Any], words: str) -> None:
    with pytest.raises(UnsupportedError, match=words) as e:
        irad.compile(f)(X)
    assert "test_iterators.py" in str(e.value)


def test_elements_that_data_select() -> None:
    positive, given = (lambda v: v > 2.0), {"a": 0, "b": 2, "c": 1}

    def f(x: np.ndarray) -> Any:
        chosen = {name: x[k] for name, k in given.items()}
        total = sum(filter(positive, chosen.values())) + sum(map(np.square, filter(lambda v: v < 2.5, x)))
        kept = list(itertools.filterfalse(positive, x))
        for v in itertools.dropwhile(lambda v: v < 2.2, x):
            total = total * v
        return total + len(kept) * sum(v for v in itertools.takewhile(lambda v: v < 2.5, x))

    for x in (X, X[::-1].copy(), X - 4.0, X + 4.0):
        assert np.isclose(irad.compile(f)(x), f(x), rtol=1e-14)
        irad.check_grads(f, (x + 0.013,), order=1)
    found = irad.compile(lambda x: list(itertools.takewhile(lambda v: v < 2.5, x)))(X)
    assert found == list(itertools.takewhile(lambda v: v < 2.5, X))


def test_iterators_from_outside() -> None:
    it: Iterator[float] = iter([1.0, 2.0])
    with pytest.raises(UnsupportedError, match="pass a list"):
        irad.compile(lambda x: sum(it) * x)(2.0)


# ---- results ----


class Thing:
    def __init__(self, x: Any):
        self.x = x

    def method(self) -> Any:
        return self.x


THING = Thing(3.0)


@pytest.mark.parametrize("f, words", [
    (lambda x: Thing(x), "object of class Thing"),
    (lambda x: [Thing(2.0)], "object of class Thing"),
    (lambda x: lambda: x, "a function made"),
    (lambda x: Thing(x).method, "a function made"),
    (lambda x: functools.partial(np.add, x), "a function made"),
    (lambda x: x.sum, "a function made"),
    (lambda x: irad.vjp(np.sin, x), "a function made"),
    (lambda x: irad.grad(lambda t: (t * x).sum()), "a function made"),
    (lambda x: (v for v in x), "an iterator"),
    (lambda x: zip(x, x), "an iterator"),
    (lambda x: iter([x]), "an iterator"),
    (lambda x: slice(0, x[0]), "a slice"),
])  # fmt: skip
def test_what_cannot_be_returned(f: Callable[..., Any], words: str) -> None:
    with pytest.raises(UnsupportedError, match=words) as e:
        irad.compile(f)(X)
    assert "test_iterators.py" in str(e.value)


def test_what_can_be_returned() -> None:
    assert irad.compile(lambda x: THING)(X) is THING
    assert irad.compile(lambda x: (np.sin, x.dtype, Thing, "s", None, x.shape, {1: 2}))(X) == (
        np.sin, X.dtype, Thing, "s", None, (4,), {1: 2})  # fmt: skip


# ---- comparisons ----


def test_comparisons_of_unlike_kinds() -> None:
    for other in ("a", None, (1, 2), [1], {}, np.sin, object):
        for x in (3, 3.0, True):
            for f in (lambda v, o=other: (v == o, v != o, o == v), lambda v, o=other: (v in ("a", o), v not in [o])):
                got, want = irad.compile(f)(x), f(x)
                assert got == want and list(map(type, got)) == list(map(type, want)), (other, x)
    for other in ("a", None, {}):
        for y in (np.float64(3), np.array(3.0), np.arange(3.0), np.zeros((2, 0))):
            got, want = irad.compile(lambda v, o=other: (v == o, v != o))(y), (y == other, y != other)
            np.testing.assert_equal(got, want)
            if not np.__version__.startswith("1."):  # NumPy 1 gives a bool for a number and a string
                assert list(map(type, got)) == list(map(type, want)), (other, y)
    assert irad.compile(lambda n: n * 2 if n == "a" else n * 3)(4) == 12


@pytest.mark.parametrize("f", [lambda n: n < "a", lambda n: [1] > n, lambda n: n + "a", lambda n: n - [1.0], lambda n: None * n])
def test_no_order_and_arithmetic_of_unlike_kinds(f: Callable[..., Any]) -> None:
    for x in (3, 3.0):
        with pytest.raises(TypeError):
            f(x)
        with pytest.raises(irad.IradTypeError, match="unsupported operand .* and ") as e:
            irad.compile(f)(x)
        assert "test_iterators.py" in str(e.value)


# ---- callees without source ----

HIDDEN: dict[str, Any] = {"np": np, "functools": functools}
exec(
    """
def twice(f):
    @functools.wraps(f)
    def run(*args):
        return 2 * f(*args)
    return run

def lines(x):
    return np.apply_along_axis(np.sum, 0, x)

def generator(x):
    yield x

async def later(x):
    return x
""",
    HIDDEN,
)


@HIDDEN["twice"]
def decorated(x: float) -> float:
    return 3 * x


async def coroutine(x: float) -> float:
    return x


def test_a_decorator_without_source_counts() -> None:
    assert decorated(1.0) == irad.compile(decorated)(1.0) == irad.grad(decorated)(1.0) == 6.0


def test_functions_that_are_called_first() -> None:
    assert irad.compile(HIDDEN["lines"])(X) == 8.0
    assert irad.compile(np.vectorize(lambda t: t * 2 if t > 1.5 else t))(X).tolist() == [1.0, 4.0, 4.0, 6.0]
    assert irad.compile(sum)(np.arange(50.0)) == 1225.0
    assert irad.compile(max)(np.arange(50.0)) == 49.0


BASE = np.array([1.0, 2.0, 3.0, 4.0])


def test_methods_without_their_array() -> None:
    bound = BASE.copy().dot
    for f in (
        lambda x: np.ndarray.sum(x) + np.ndarray.reshape(x, (2, 2)),
        lambda x: BASE.dot(x) * BASE.clip(x, 3.0),
        lambda x: bound(x),
        lambda x: copy.copy(x) * copy.deepcopy([x, (x, 1.0)])[1][0],
    ):
        np.testing.assert_array_equal(irad.compile(f)(X), f(X))
    c = irad.compile(lambda x: bound(x))
    assert c(X) == 23.0
    bound.__self__[:] = 10.0
    assert c(X) == 80.0 and irad.grad(lambda x: bound(x))(X).tolist() == [10.0] * 4


def test_a_copy_is_another_array() -> None:
    def stored(x: Any) -> Any:
        y, z = copy.copy(x), copy.deepcopy({"a": x})["a"]
        y[0], z[1] = 7.0, 8.0
        return x, y, z

    for got, want in zip(irad.compile(stored)(X.copy()), stored(X.copy())):
        np.testing.assert_array_equal(got, want)


def test_generators_and_coroutines() -> None:
    with pytest.raises(UnsupportedError, match="generator function generator"):
        irad.compile(HIDDEN["generator"])(1.0)
    for f in (HIDDEN["later"], coroutine, lambda x: coroutine(x)):
        with pytest.raises(UnsupportedError, match="write a plain def"):
            irad.compile(f)(1.0)


def pairs(x: Any) -> Any:
    it = iter(x)
    return sum(a * b for a, b in zip(it, it))


def triples(x: Any) -> Any:
    total = 0.0
    for a, b, c in zip(*[iter(x)] * 3):
        total += a * b - c * c
    return total


def pairs_with_positions(x: Any) -> Any:
    it = iter([x[0], x[1], x[2], x[3]])
    return sum(k * a * b for k, a, b in zip(range(1, 5), it, it))


@pytest.mark.parametrize("f", [pairs, triples, pairs_with_positions])
def test_an_iterator_that_is_zipped_with_itself(f: Any) -> None:
    for n in (7, 40):
        x = np.linspace(0.5, 2.0, n)
        value, slope = irad.value_and_grad(f)(x)
        assert np.isclose(value, f(x))
        h = 1e-6
        assert np.allclose(slope, [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(n)], rtol=1e-6, atol=1e-8)


def test_strict_zip_of_lengths_that_data_decide() -> None:
    def f(x: Any, y: Any) -> Any:
        return sum(a * b * c for a, b, c in zip(x, y[y > 0], x[x > 0], strict=True))

    for x, y, words in (
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], None),
        ([1.0, 2.0, 3.0], [1.0, 2.0], "argument 2 is shorter than argument 1"),
        ([1.0, 2.0, -3.0], [1.0, 2.0, 3.0], "argument 3 is shorter than arguments 1-2"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], "argument 2 is longer than argument 1"),
    ):
        args = np.array(x), np.array(y)
        if words is None:
            assert irad.compile(f)(*args) == f(*args)
            continue
        for g in (f, irad.compile(f), irad.grad(f)):
            with pytest.raises(ValueError, match=words):
                g(*args)
    with pytest.raises(ValueError, match=r"zip\(\) argument 3 is shorter than arguments 1-2"):
        irad.compile(lambda x: [a for a, b, c in zip(x, [1, 2, 3], [1, 2], strict=True)])(np.ones(3))
