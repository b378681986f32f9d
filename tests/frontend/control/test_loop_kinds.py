"""State of loops and branches that is one of several kinds, or one of several arrays: values and slopes as plain NumPy has them."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import IradError

R = np.random.default_rng(3)
V = R.random(6)
A = R.random((4, 6))


def check(f, *sets, wrt=0, slope=True):
    """f compiled does what f does for each list of arguments, arguments included; its slope is that of differences."""
    c = irad.compile(f)
    for args in sets:
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        want, got = f(*theirs), c(*mine)
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-12)
        for p, q in zip(mine, theirs):
            np.testing.assert_allclose(p, q, rtol=1e-12)
        if slope:
            _check_slope(f, args, wrt, want)


def _check_slope(f, args, wrt, want):
    along = np.random.default_rng(1).standard_normal(np.shape(args[wrt]))

    def at(h):
        moved = list(copy.deepcopy(args))
        moved[wrt] = moved[wrt] + h * along
        return f(*moved)

    value, gradient = irad.value_and_grad(f, argnums=wrt)(*copy.deepcopy(args))
    numeric = (8 * (at(1e-5) - at(-1e-5)) - (at(2e-5) - at(-2e-5))) / 12e-5
    np.testing.assert_allclose(value, want, rtol=1e-12)
    assert abs(np.sum(gradient * along) - numeric) <= 1e-7 * (1 + abs(numeric))


# ---- names that are rebound beside stores ------------------------------------------------------------------------


def view_of_a_fresh_array(v, n):
    v = v.copy()
    for _ in range(n):
        v += 0.1
        v = np.real(np.fft.ifft(np.fft.fft(v) * 0.9))
    return np.sum(v**2)


def view_of_itself(v, n):
    v = v * 1.0
    for _ in range(n):
        v[0] += 1.0
        v = v[::-1]
    return v @ np.arange(6.0)


def under_a_condition(u, n):
    for i in range(n):
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
        if i % 3 == 1:
            u = np.sin(u)
    return np.sum(u**2)


def swapped_under_a_condition(u, n):
    v = u * 2
    for i in range(n):
        v[1:-1] = 0.5 * (u[2:] + u[:-2])
        if u[0] > 0.5 * i:
            u, v = v, u
    return np.sum(u**2) + 3 * np.sum(v)


def known_by_another_name(u, n):
    u = u * 1.0
    w = u
    for _ in range(n):
        u[0] += 1.0
        u = u * 0.5
    return np.sum(u**2) + 3 * np.sum(w)


def one_of_two_or_fresh(v, n):
    u, w = v, v + 1
    for i in range(n):
        u[i] = u[i] ** 2 + 1.0
        if u[0] > 1.1:
            u = v if i % 2 else w
        else:
            u = u * 1.5
    return np.sum(u**2) + np.sum(v) * 2 + np.sum(w) * 3


def in_a_while_loop(u, n):
    w, t = u, 0
    while t < n and u[0] < 10.0:
        u[0] += 1.0
        if t % 2:
            u = u + w
        t += 1
    return np.sum(u**2) + np.sum(w) * 2


def rebound_in_both_loops(u, n):
    u = u.copy()
    for i in range(n):
        for j in range(i):
            u[j] += 0.5
            if j % 2:
                u = np.tanh(u)
        u[0] *= 1.5
    return np.sum(u**2)


@pytest.mark.parametrize(
    "f",
    [
        view_of_a_fresh_array, view_of_itself, under_a_condition, swapped_under_a_condition, known_by_another_name,
        one_of_two_or_fresh, in_a_while_loop, rebound_in_both_loops,
    ],
)  # fmt: skip
def test_rebinding_beside_stores(f):
    check(f, (V, 5), (V, 0), (V, 1))


def test_an_early_return_gives_the_very_array():
    def f(x, limit):
        y, i = x * 1.0, 0
        while i < len(x):
            y[i] = y[i - 1] * 0.5
            if y[i] > limit:
                return y
            i += 1
        return x

    check(f, (V, 0.2), (V, 10.0), slope=False)


# ---- other names that a loop cannot see at once --------------------------------------------------------------------


def closure(x, n):
    u = x * 1.0

    def g(a=u):
        return a[0]

    for _ in range(n):
        u[0] += 1.0
        u = u * 2
    return g() + np.sum(u)


def gone_over(x, n):
    u, s = x * 1.0, 0.0
    for v in u:
        for _ in range(n):
            u[-1] += 1.0
            u = u * 0.5
        s += v
    return s + np.sum(u)


def being_evaluated(x, n):
    u = x * 1.0

    def g():
        nonlocal u
        for _ in range(n):
            u[-1] += 1.0
            u = u * 0.5
        return u

    return np.sum(u - g())


def in_a_generator(x, n):
    def g(u):
        for i in range(3):
            yield u[0] * i

    u = x * 1.0
    e = g(u)
    for _ in range(n):
        u[0] += 1.0
        u = u * 2
    return sum(e) + np.sum(u)


@pytest.mark.parametrize("f", [closure, gone_over, being_evaluated, in_a_generator])
def test_arrays_known_otherwise(f):
    check(f, (V, 3), (V, 0))


def test_a_function_reads_a_variable_in_the_statement_that_assigns_it():
    def f(x, s):
        def g(a):
            return a * s

        if x[0] > 0.0:
            s = s + 1.0
        s, t = x[1], g(2.0)
        return s + t

    check(f, (V, 3.0), (-V, 3.0))


# ---- kinds ----------------------------------------------------------------------------------------------------------


def real_then_complex(rho, n):
    psi = np.sqrt(rho)
    for _ in range(n):
        psi = np.fft.ifft(np.exp(-0.1j * np.arange(6.0)) * np.fft.fft(psi))
    return np.sum(np.abs(psi) ** 2 * np.arange(6))


def whole_then_real(y, n):
    x = np.arange(6)
    for _ in range(n):
        x[0] = 2.7  # cut off in the first trip
        x = x // 2 + y
    return np.sum(x**2)


def list_then_array(b, n):
    x = [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]
    for _ in range(n):
        x = b + np.diag(b) @ x
    return np.sum(x)


def number_then_array(a, n):
    s = 1.0
    for i in range(n):
        s = s + a * (i + 1)
    return np.sum(s**2)


def number_then_array_in_while(a, n):
    s, k = 0.5, 0.0
    while k < n:
        s = s * a + k
        k += 1
    else:
        s = s + 1
    return np.sum(s**2)


def kinds_that_settle_in_two_trips(a, n):
    z, w = 0.0, 1.0
    for _ in range(n):
        z, w = w * a, z + 1j * a
    return np.sum(np.abs(z) ** 2) + np.sum(np.abs(w) ** 2)


def with_jumps(a, n):
    s = 0.0
    for i in range(n):
        if a[i] > 0.9:
            return 7.0
        s = s + a
        if s[0] > 2.0:
            break
    return np.sum(s)


def inside_of_a_loop_and_an_if(a, n):
    t = 0.0
    for k in range(3):
        if len(a) > 2:
            s = 0.0
            for i in range(n):
                s = s + a * i
            t = t + np.sum(s * k)
    return t


class Optimiser:
    def __init__(self, x):
        self.speed, self.x, self.seen = 0.0, x, {}

    def step(self, g):
        self.speed = 0.9 * self.speed + g
        self.seen["x"] = self.seen.get("x", 0.0) + self.x
        self.x = self.x - 0.1 * self.speed


def attributes_and_keys(a, n):
    o = Optimiser(a)
    for _ in range(n):
        o.step(2 * o.x)
    return np.sum(o.x**2) + np.sum(o.speed) + np.sum(o.seen.get("x", 1.0))


@pytest.mark.parametrize(
    "f",
    [
        real_then_complex, whole_then_real, list_then_array, number_then_array, number_then_array_in_while,
        kinds_that_settle_in_two_trips, with_jumps, inside_of_a_loop_and_an_if, attributes_and_keys,
    ],
)  # fmt: skip
def test_a_variable_changes_its_kind(f):
    check(f, (V, 3), (V, 0), (V, 1), (V, 2))


def test_the_first_trip_is_in_float32():
    def f(x, y, n):
        for _ in range(n):
            x = np.sin(x) * y
        return np.sum(x**2)

    x = V.astype(np.float32)
    check(f, (x, V, 3), (x, V, 1), wrt=1)


def test_a_result_of_another_kind_after_no_trips_is_an_error_then():
    def f(a, n):
        s = 1.5
        for _ in range(n):
            s = s + a
        return s

    c = irad.compile(f)
    np.testing.assert_allclose(c(V, 2), f(V, 2))
    with pytest.raises(IradError, match="after no trip of this loop"):
        c(V, 0)


# ---- lists ----------------------------------------------------------------------------------------------------------


def lists_that_nothing_else_knows(x, n):
    w, z = [0.5, x[0]], [1.0, x[1]]
    for i in range(n):
        if x[i] > 0.5:
            w, z = z, w
        w[0] = w[0] * 0.5 + x[2]
        if i % 2:
            z = [z[1], np.sin(z[0])]
    return w[0] + 2 * w[1] + 3 * z[0] * z[1]


def test_lists_are_rebound_and_changed():
    check(lists_that_nothing_else_knows, (V, 5), (V, 0), (V, 1))


def test_lists_that_are_one_of_several_are_refused():
    def f(x, c):
        a, b = [x[0], 1.0], [x[1], 2.0]
        w = a if c > 0 else b
        w[0] = 5.0
        return a[0] + b[0]

    with pytest.raises(IradError, match="one of several"):
        irad.compile(f)(V, 1.0)


def _reset(s: Any, n: int) -> Any:
    w = [s, 0.5]
    for _ in range(n):
        w[1] = np.tanh(w[0] * 1.55)
        w = [0.5, -1.09]
    return w[0], w[1]


def _reset_in_a_tuple(s: Any, n: int) -> Any:
    w = (0.5, [1.0])
    for i in range(n):
        w[1][0] = s + i
        w = (0.5, [1.0])
    return w[0], w[1][0]


def _reset_in_a_while(s: Any, n: int) -> Any:
    w = [0.5, -1.09]
    while s < 5:
        w[1] = s
        w = [0.5, -1.09]
        s += 1
    return w[0], w[1]


@pytest.mark.parametrize("f", [_reset, _reset_in_a_tuple, _reset_in_a_while])
def test_another_list_that_holds_the_same(f: Any) -> None:
    """What was stored into the list before is not in the one that a variable is given then."""
    c = irad.compile(f)
    for n in (3, 0, 6, 1):
        assert c(0.2, n) == f(0.2, n), n


def _later(s: Any, n: int) -> Any:
    w, v = [1.0, 2.0], [s, 0.0]
    for _ in range(n):
        w = v
    v[0] = 7.0
    return w[0] + v[0]


def _before(s: Any, n: int) -> Any:
    w = [1.0, 2.0]
    v = w
    for _ in range(n):
        w = [s, 2.0 * s]
    v[0] = 7.0
    return w[0] + v[0]


@pytest.mark.parametrize("f", [_later, _before])
def test_a_list_that_a_loop_gave_to_a_variable_is_not_changed_by_another_name(f: Any) -> None:
    with pytest.raises(irad.UnsupportedError, match="a list is changed that is one of several"):
        irad.compile(f)(0.2, 3)


def test_a_pullback_in_a_variable_beside_a_loop() -> None:
    def f(x: Any, t: int) -> Any:
        _, pull = irad.vjp(lambda z: z * np.tanh(z), x)
        s = x
        while t > 0:
            s = s + pull(x)[0]
            t -= 1
        return np.sum(s)

    x = np.arange(3.0)
    slope = np.tanh(x) + x * (1 - np.tanh(x) ** 2)
    assert np.isclose(irad.compile(f)(x, 3), np.sum(x + 3 * x * slope))


# ---- tests that change what trips change too -----------------------------------------------------------------------------


def asking_changes_a_list(v, n):
    xs, k = [v[0], v[1]], 0

    def more():
        xs[0] = xs[0] * 0.5
        return xs[0] > 0.1

    while k < n and more():
        xs[0] = xs[0] + 0.05
        k += 1
    return xs[0] * 3.0 + xs[1] + k


def asking_changes_a_list_that_is_rebound(v, n):
    xs, k = [v[0], v[1]], 0

    def more():
        xs.append(xs.pop() * 0.5)
        return xs[1] > 0.1

    while k < n and more():
        xs = [v[2], xs[1] + 0.05]
        k += 1
    return xs[0] * 3.0 + xs[1] + k


def asking_changes_a_variable(v, n):
    s, k = v[0] * 1.0, 0

    def more():
        nonlocal s
        s = s * 0.5
        return s > 0.1

    while k < n and more():
        s = s + 0.05
        k += 1
    return s * 3.0 + k


def asking_changes_an_array(v, n):
    y, k = v.copy(), 0

    def more():
        y[0] *= 0.5
        return y[0] > 0.1

    while k < n and more():
        y[0] += 0.05
        k += 1
    return np.sum(y * y) + k


def asking_takes_from_a_list(v, n):
    xs, k = [0.3, 0.2], 0
    while xs and xs.pop() * v[0] > 0.05 and k < n:
        xs.append(v[k])
        k += 1
    return np.sum(v * v) + k + 0.5 * len(xs)


class Cached:
    asked = 0

    def __init__(self, v):
        self.v = v

    @functools.cached_property
    def size(self):
        self.asked += 1
        return np.sum(self.v)


def asking_sets_an_attribute(v, n):
    o, k = Cached(v), 0
    while k < n and o.size > 0.5:
        o.last = o.size * 2.0
        k += 1
    return (o.last if k else 0.5) * np.sum(v) + o.asked


@pytest.mark.parametrize(
    "f",
    [
        asking_changes_a_list,
        asking_changes_a_list_that_is_rebound,
        asking_changes_a_variable,
        asking_changes_an_array,
        asking_takes_from_a_list,
        asking_sets_an_attribute,
    ],
)
def test_test_of_a_while_loop_changes_what_its_trips_change(f):
    check(f, *((V * scale, n) for scale in (0.01, 1.0, 10.0) for n in (0, 2)))


def no_trips_of_elements_that_are_none(x):
    none, total = np.zeros(3) < 0, 0.0
    while (x[none] > 1.0).any():
        total = total + x[none].min()
        x[none] = x[none] / 2
    while not np.all(x[:0] > 1.0, keepdims=True)[0]:
        raise ValueError("never")
    return total + np.sum(x * x)


def test_a_loop_that_never_begins_may_hold_what_raises():
    check(no_trips_of_elements_that_are_none, [np.array([1.5, 2.0, 3.0])])
