"""Variables that are None on some paths and a number or array on others: the compiled function against plain Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from tests.support.outcomes import agrees

SAMPLES = [np.array([1.0, 3.0, 6.0, 2.5, 7.0, 1.5]), np.ones(6), np.full(6, 3.0), np.array([0.5, 0.0, 0.1, 0.0, 0.2, 9.0])]


def first_above(x: np.ndarray) -> Any:
    found = None
    for i in range(len(x)):
        if x[i] > 2.0:
            found = i
            break
    return x[0] * 3 if found is None else x[found] ** 2 * found


def by_truth(x: np.ndarray) -> Any:
    found = None
    for i in range(len(x)):
        if x[i] > 2.0:
            found = i
            break
    return x[found] * 2 if found else x[0] * 3  # position 0 is false, as None is


def smallest_above(x: np.ndarray) -> Any:
    best = None
    for v in x:
        if v > 2 and (best is None or v < best):
            best = v
    if best is not None:
        return best * best
    return x[0]


def in_a_while(x: np.ndarray) -> Any:
    found, i = None, 0
    while found is None and i < len(x):
        if x[i] > 2:
            found = x[i] * 1.0
        i += 1
    return x[0] + i if not found else found * i


def of_a_call(x: np.ndarray) -> Any:
    def find(limit: float) -> Any:
        for i in range(len(x)):
            if x[i] > limit:
                return i, x[i]

    a, b = find(2.0), find(5.0)
    if a is None:
        return x[0]
    i, v = a
    return v * i if b is None else v * x[b[0]]


def with_a_default(x: np.ndarray) -> Any:
    scale = None
    if x[0] > 0.7:
        scale = x[1] * 2
    if scale is None:
        scale = x[5] * 3
    return scale * x[0]


def an_array(x: np.ndarray) -> Any:
    total = None
    for v in x:
        if v > 2:
            total = x * v if total is None else total + x
    return np.sum(x) if total is None else np.sum(total**2)


def an_alias(x: np.ndarray) -> Any:
    w = x * 2
    chosen = None
    if x[0] > 0.7:
        chosen = w
    if chosen is not None:
        chosen[0] = 7.0
    return np.sum(w * w)


def toggled(x: np.ndarray) -> Any:
    held, s = None, 0.0
    for v in x:
        if held is None:
            held = v
        else:
            s += held * v
            held = None
    return s if held is None else s + held


def compared(x: np.ndarray) -> Any:
    a = b = None
    for v in x:
        if v > 2:
            a = v
        if v > 5:
            b = v
    s = x[0] * (1 if a == b else 2)
    return s + (x[1] if a in (None, 9.0) else x[2]) + (x[3] if b != None else 0)  # noqa: E711


def matched(x: np.ndarray) -> Any:
    found = None
    for v in x:
        if v > 2:
            found = v
    match found:
        case None:
            return x[0]
        case 7.0:
            return found * x[1]
        case float():
            return found * found
    return x[2]


@dataclasses.dataclass
class Best:
    value: Any = None
    at: Any = None


def in_an_object(x: np.ndarray) -> Any:
    best = Best()
    for i in range(len(x)):
        if x[i] > 2 and (best.value is None or x[i] > best.value):
            best.value, best.at = x[i], i
    return x[0] if best.at is None else best.value * best.at


def in_a_list(x: np.ndarray) -> Any:
    found = [None, None]
    for i in range(len(x)):
        if x[i] > 2:
            found[0] = i
    return x[0] if found[0] is None else x[found[0]] * 2


def by_or(x: np.ndarray) -> Any:
    found = None
    for v in x:
        if v > 2:
            found = v
    twice = found and found * 2
    return (found or x[0]) + (x[1] if twice is None else twice)


def of_a_closure(x: np.ndarray) -> Any:
    found = None

    def see(v: Any) -> None:
        nonlocal found
        if v > 2:
            found = v

    for v in x:
        see(v)
    square = lambda t: None if t is None else t * t
    out = square(found)
    return x[0] if out is None else out


def previous(x: np.ndarray, n: int) -> Any:
    last, s = None, x[0] * 0
    for i in range(n):
        if last is not None:
            s += last * x[i]
        last = x[i]
    return s


def a_bool(x: np.ndarray) -> Any:
    large = None
    for v in x:
        if v > 2:
            large = bool(v > 6)
    if large is True:
        return x[0] * 10
    return x[1] if large is None else x[2] * x[2]


def named(x: float) -> str | None:
    return "above" if x > 2.0 else None


def asked_with_and_or(x: np.ndarray) -> Any:
    """`and` and `or` of things of two kinds, as tests."""
    total = 0.0
    for i in range(len(x)):
        k = named(x[i])
        if not (k and x[i] > 5.0) or (k is None and x[0] > 3.0):
            total += x[i]
        assert k or x[i] < 4.0
        total += x[i] ** 2 if k and x[i] < 3.0 else 0.0
        total += sum(v for v in x if k and v > 1.0)
    return total


ALL = [
    first_above, by_truth, smallest_above, in_a_while, of_a_call, with_a_default, an_array, an_alias, toggled, compared, matched,
    in_an_object, in_a_list, by_or, of_a_closure, a_bool,
    asked_with_and_or,
]  # fmt: skip


def slope(f: Callable[..., Any], x: np.ndarray, *args: Any) -> np.ndarray:
    h = 1e-6
    return np.array([(f(x + e, *args) - f(x - e, *args)) / (2 * h) for e in h * np.eye(len(x))])


@pytest.mark.parametrize("f", ALL)
def test_values_and_slopes(f: Callable[..., Any]) -> None:
    for x in SAMPLES:
        agrees(f, x)
    for x in (1.01 * SAMPLES[0], 0.9 * SAMPLES[1], SAMPLES[3]):  # no ties, and away from the limits
        assert np.allclose(irad.grad(f)(x), slope(f, x), atol=1e-6), x


@pytest.mark.parametrize("n", [0, 1, 2, 6])
def test_a_loop_of_unknown_length_starts_at_none(n: int) -> None:
    agrees(previous, SAMPLES[0], n)
    assert np.allclose(irad.grad(previous)(SAMPLES[0], n), slope(previous, SAMPLES[0], n), atol=1e-6)


def test_a_long_loop_whose_variable_starts_as_none_stays_a_loop() -> None:
    assert irad.compile(previous).lower(np.ones(5000), 5000).ir.count("mul") < 10
    x = np.sin(np.arange(5000.0))
    assert np.isclose(irad.compile(previous)(x, 5000), np.sum(x[1:] * x[:-1]))


def test_each_element_of_a_batch_finds_its_own() -> None:
    rows = np.array(SAMPLES)
    assert np.allclose(irad.vmap(first_above)(rows), [first_above(r) for r in rows])
    assert np.allclose(irad.vmap(irad.grad(first_above))(rows), [irad.grad(first_above)(r) for r in rows])
    assert np.isclose(irad.jvp(first_above, (rows[0],), (np.arange(6.0),))[1], np.arange(6.0) @ irad.grad(first_above)(rows[0]))


def halved(x: np.ndarray, lo: int, hi: int, limit: float) -> Any:
    """The first position of a sorted array above a limit, by halves; None if there is none."""
    if lo == hi:
        return None if lo == len(x) else lo
    mid = (lo + hi) // 2
    return halved(x, lo, mid, limit) if x[mid] > limit else halved(x, mid + 1, hi, limit)


def test_a_recursion_returns_none_on_some_paths() -> None:
    def f(x: np.ndarray, limit: float) -> Any:
        k = halved(x, 0, len(x), limit)
        return x[0] - 1.0 if k is None else x[k] * k

    for limit in (-1.0, 0.5, 6.0, 99.0):
        agrees(f, np.arange(8.0), limit)


def unchecked(x: np.ndarray, use: Callable[[Any, np.ndarray], Any]) -> Any:
    found = None
    for v in x:
        if v > 2:
            found = v
    return use(found, x)


@pytest.mark.parametrize(
    "use",
    [
        lambda f, x: f + 1.0, lambda f, x: x[0] - f, lambda f, x: -f, lambda f, x: f < 2.0, lambda f, x: 1.0 >= f,
        lambda f, x: abs(f) ** 2, lambda f, x: f % 2 + x[0], lambda f, x: np.sin(f), lambda f, x: f // 3,
    ],
)  # fmt: skip
def test_none_where_a_number_is_needed_raises_as_in_python(use: Callable[..., Any]) -> None:
    agrees(lambda x: unchecked(x, use), SAMPLES[0])
    c = irad.compile(lambda x: unchecked(x, use))
    c(SAMPLES[0])
    with pytest.raises(TypeError) as want:
        unchecked(SAMPLES[1], use)
    with pytest.raises(TypeError) as got:
        c(SAMPLES[1])
    words = str(want.value)
    assert str(got.value) == words or words.startswith(("bad operand type for abs", "loop of ufunc"))


def test_it_is_caught_as_in_python() -> None:
    def f(x: np.ndarray) -> Any:
        found = None
        for v in x:
            if v > 2:
                found = v
        try:
            return found * 2
        except TypeError:
            return x[0] * 5

    for x in SAMPLES:
        agrees(f, x)


def test_an_array_that_is_there_changes_in_place() -> None:
    def f(x: np.ndarray) -> Any:
        w, held, chosen = x * 2, [None], None
        if x[1] > 0.5:
            chosen = held[0] = w
        try:
            chosen += 1
        except TypeError:
            return x[0]
        held[0] *= 2
        return np.sum(w * w)

    for x in SAMPLES:
        agrees(f, x)


def test_numbers_that_are_there_make_an_array() -> None:
    def f(x: np.ndarray) -> Any:
        found = None
        for v in x:
            if v > 2:
                found = v
        pair = [found, 1.0]
        return np.sum(np.array(pair) ** 2) + np.sum(np.stack((pair[0], x[0])))

    c = irad.compile(f)
    agrees(f, SAMPLES[0])
    with pytest.raises(TypeError, match="is None here"):
        c(SAMPLES[1])


def test_where_python_would_go_on_with_none_no_handler_catches_it() -> None:
    def f(x: np.ndarray) -> Any:
        found = None
        for i in range(len(x)):
            if x[i] > 2:
                found = i
        try:
            return np.sum(x[:found])
        except TypeError:
            return x[0]

    c = irad.compile(f)
    assert c(SAMPLES[0]) == f(SAMPLES[0])
    with pytest.raises(TypeError, match="'found' is None here, and compiled code needs its value"):
        c(SAMPLES[1])


def test_after_a_test_nothing_is_checked_again() -> None:
    def f(x: np.ndarray) -> Any:
        found = None
        for v in x:
            if v > 2:
                found = v
        if found is None or x[0] > 5:
            return x[0]
        assert x[1] > 0
        return found * found - found

    text = irad.compile(f).lower(SAMPLES[0]).passes[0][1]
    assert "NoneType" not in text and "is None" not in text


def test_what_is_returned_is_one_or_the_other() -> None:
    def falls_off(x: np.ndarray) -> Any:
        for v in x:
            if v > 2:
                return v

    def beside(x: np.ndarray) -> Any:
        found = None
        if x[0] > 2:
            found = x[1]
        return x, found

    for x in SAMPLES:
        assert irad.compile(falls_off)(x) == falls_off(x)
        assert irad.compile(beside)(x)[1] == beside(x)[1]
    some = np.array([0.5, 3.0, 4.0])
    assert irad.grad(falls_off)(some).tolist() == [0.0, 1.0, 0.0]
    with pytest.raises(TypeError, match="is None here"):
        irad.grad(falls_off)(np.zeros(3))
    with pytest.raises(irad.UnsupportedError, match="has no cotangent.*return a number that means none"):
        irad.vjp(falls_off, some)
    rows = np.array(SAMPLES)
    for call in (lambda: irad.jacobian(beside)(rows[0]), lambda: irad.vmap(beside)(rows)):
        with pytest.raises(irad.UnsupportedError, match="f64 on some paths and None on others"):
            call()
