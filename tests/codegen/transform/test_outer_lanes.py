"""Independent trips around scalar loops: side by side as lanes, the backward of each after its forward, and the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.switches import without


def powers(x, a):
    s = 0.0
    for i in range(len(x)):
        p, t = 1.0, 0.0
        for k in range(len(a)):
            t += a[k] * p
            p *= x[i]
        s += t * t
    return s


def log_sum_exp(x, a):
    s = 0.0
    for i in range(len(x)):
        m = -np.inf
        for k in range(len(a)):
            m = max(m, a[k] * x[i])
        t = 0.0
        for k in range(len(a)):
            t += np.exp(a[k] * x[i] - m)
        s += m + np.log(t)
    return s


def nearest(x, a):
    s = 0.0
    for i in range(len(x)):
        best = np.inf
        for k in range(len(a)):
            d = (x[i] - a[k]) ** 2
            if d < best:
                best = d
        s += best
    return s


def roots(x, a):
    s = 0.0
    for i in range(len(x)):
        y = 1.0
        for _ in range(9):
            y = 0.5 * (y + (x[i] * x[i] + a[0] * a[0] + 0.5) / y)
        s += y
    return s


def alignment(x, a):
    """Dynamic programming for each sample: a row of costs."""
    s = 0.0
    for i in range(len(x)):
        row = np.zeros(len(a))
        for _ in range(3):
            for k in range(1, len(a)):
                row[k] = min(row[k - 1], row[k]) + (x[i] - a[k]) ** 2
        s += row[-1]
    return s


def prefix_products(x, a):
    s = 0.0
    for i in range(len(x)):
        q, p = np.empty(len(a)), 1.0
        for k in range(len(a)):
            p *= 1.0 + 0.1 * a[k] * x[i]
            q[k] = p
        for k in range(len(a) - 1, -1, -1):
            s += q[k] * a[k]
    return s


def mean_of_roots(x, a):
    """The backward needs the sum: forward and backward stay apart."""
    s = 0.0
    for i in range(len(x)):
        t = 0.0
        for k in range(len(a)):
            t = np.tanh(t * a[k] + x[i])
        s += t * t
    return np.sqrt(s / len(x))


def a_result_for_each(x, a):
    y = np.zeros(len(x))
    for i in range(len(x)):
        t = x[i]
        for k in range(len(a)):
            t = np.sin(t) * a[k] + t
        y[i] = t
    return np.sum(y * x)


def branches(x, a):
    s, m = 0.0, 0.0
    for i in range(len(x)):
        t = 0.0
        for k in range(len(a)):
            if x[i] > a[k]:
                t += a[k] * x[i]
            else:
                t = t * 0.5 - a[k]
        if t > 0.1:
            s += t
        m = max(m, t)
    return s + m


def piecewise(q):
    if q < 0.5:
        return 1 - q * q
    if q < 1.0:
        return (1 - q) * 1.5
    if q < 1.5:
        return 0.25 * q
    return 0.0


def branches_in_branches(x, a):
    """What a narrower condition decides is chosen among the lanes of the wider one."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        for k in range(len(a)):
            out[i] += a[k] * piecewise(abs(x[i] - a[k]))
    return np.sum(out * out)


def backwards(x, a):
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        t = 1.0
        for k in range(len(a)):
            t = t * a[k] + x[i]
        s = s * 0.99 + t
    return s


def sums_in_inner_loops(x, a):
    """The derivative with respect to a number is added up in the inner loop."""
    s = 0.0
    for i in range(len(x)):
        y = x[i]
        for _ in range(12):
            y = np.sin((1.5 + a[0]) * y) + a[1]
        s += y
    return s


ALIKE = [sums_in_inner_loops, powers, log_sum_exp, nearest, roots, mean_of_roots, a_result_for_each, backwards]
ALL = [*ALIKE, alignment, prefix_products, branches, branches_in_branches]


def neighbour(x, a):
    y = x * 1.0
    for i in range(1, len(x)):
        for k in range(len(a)):
            y[i] += a[k] * y[i - 1]
    return np.sum(y)


def one_place(x, a):
    h = np.zeros(len(a))
    for i in range(len(x)):
        for k in range(len(a)):
            h[k] = np.tanh(h[k] + x[i] * a[k])
    return np.sum(h)


def state(x, a):
    s = 0.1
    for i in range(len(x)):
        for k in range(len(a)):
            s = s * a[k] + x[i]
    return s


MEET = [neighbour, one_place, state]


def forms(stages: Any) -> list[str]:
    return [d.facts["form"] for d in stages.notes.of("loop")]


def arguments(n: int, m: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.uniform(-0.8, 0.8, n), rng.uniform(-0.9, 0.9, m)


def both(f: Callable[..., Any], *args: Any) -> Any:
    again = lambda x, a: f(x, a)
    return irad.compile(again)(*args), irad.value_and_grad(again, argnums=(0, 1))(*args)


LENGTHS = [3, 37, 16, 64]  # two for each function: less than the lanes or some besides, and whole lanes


@pytest.mark.parametrize(
    ("f", "n"),
    [(f, LENGTHS[j % 4]) for k, f in enumerate([*ALL, *MEET]) for j in (k, k + 2)],
    ids=lambda v: getattr(v, "__name__", None) or str(v),
)
def test_the_same_numbers(f: Callable[..., Any], n: int) -> None:
    args = arguments(n)
    value, (with_grad, grads) = both(f, *args)
    with without("lanes", "join"):
        plain, (_, want) = both(f, *args)
    assert value == plain == with_grad
    np.testing.assert_allclose(value, f(*args), rtol=1e-13)
    for g, w in zip(grads, want):
        np.testing.assert_allclose(g, w, rtol=1e-11, atol=1e-12)


@pytest.mark.plain  # memory that is checked lies elsewhere
@pytest.mark.parametrize("f", ALIKE, ids=lambda f: f.__name__)
def test_trips_are_lanes(f: Callable[..., Any]) -> None:
    assert "lanes of trips" in forms(irad.compile(f).lower(*arguments(37)))
    assert "lanes of trips" in forms(irad.compile(f).lower(*arguments(37), grad=True))


@pytest.mark.plain
@pytest.mark.parametrize("f", [powers, log_sum_exp, roots, sums_in_inner_loops], ids=lambda f: f.__name__)
def test_the_backward_of_a_trip_follows_it(f: Callable[..., Any]) -> None:
    stages = irad.compile(f).lower(*arguments(37), grad=True)
    assert "joined" in forms(stages) and "irad_grow" not in stages.kernel


@pytest.mark.plain
def test_what_needs_the_sum_stays_apart() -> None:
    assert "joined" not in forms(irad.compile(mean_of_roots).lower(*arguments(37), grad=True))


@pytest.mark.plain
@pytest.mark.parametrize("f", MEET, ids=lambda f: f.__name__)
def test_trips_that_meet_are_not(f: Callable[..., Any]) -> None:
    assert "lanes of trips" not in forms(irad.compile(f).lower(*arguments(37)))


def test_single_precision_and_samples_in_rows() -> None:
    def f(x, c):
        s = np.float32(0.0)
        for i in range(x.shape[0]):
            best = np.float32(1e30)
            for k in range(c.shape[0]):
                d = np.float32(0.0)
                for j in range(x.shape[1]):
                    d += (x[i, j] - c[k, j]) ** 2
                best = min(best, d)
            s += best
        return s

    rng = np.random.default_rng(0)
    x, c = rng.standard_normal((75, 5)).astype("f4"), rng.standard_normal((7, 5)).astype("f4")
    value, grads = both(f, x, c)
    assert value == f(x, c) == grads[0]
    nearest = np.argmin(((x[:, None] - c) ** 2).sum(-1), 1)
    np.testing.assert_allclose(grads[1][0], 2 * (x - c[nearest]), rtol=1e-5, atol=1e-6)


def test_stores_before_and_after_keep_their_order() -> None:
    def f(x, y):
        last = 0.0
        for i in range(len(x)):
            t = 0.0
            for k in range(4):
                t += x[i] * (k + y[i])
            y[i] = t
            last = last * 0.5 + t
            x[i] = last
        return last

    x, y = arguments(40, 40)
    mine, theirs = (x.copy(), y.copy()), (x.copy(), y.copy())
    assert irad.compile(f)(*mine) == f(*theirs)
    np.testing.assert_array_equal(mine, theirs)


def test_whole_numbers_and_their_division() -> None:
    def f(k, m):
        out = np.zeros(len(k), int)
        for i in range(len(k)):
            r, c = k[i], 0
            for _ in range(6):
                c += r % m[i]
                r = r // m[i] + 3
            out[i] = c * 10 + r
        return out

    k, m = np.arange(37) * 7 - 100, np.arange(37) % 5 + 1
    np.testing.assert_array_equal(irad.compile(f)(k, m), f(k, m))


def test_additions_under_a_condition_touch_no_other_element() -> None:
    """The element before the first one is there for no lane."""

    def f(x, a):
        g = np.zeros(len(x))
        for i in range(len(x)):
            if i > 0:
                for k in range(len(a)):
                    g[i - 1] += a[k] * x[i]
        return np.sum(g * g)

    args = arguments(40)
    value, (_, grads) = both(f, *args)
    np.testing.assert_allclose(value, f(*args), rtol=1e-13)
    np.testing.assert_allclose(grads[0], np.r_[0.0, 2 * args[0][1:] * np.sum(args[1]) ** 2], rtol=1e-12)
