"""Arrays whose size differs from path to path, or changes from trip to trip: values and slopes beside plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import irad
from irad import IradError
from tests.support.as_python import check

X = np.array([0.3, 0.55, 0.21, 0.95, 0.7])


def history(x):
    h = np.array([x])
    while abs(h[-1] ** 2 - 2) > 1e-9:
        h = np.append(h, 0.5 * (h[-1] + 2 / h[-1]))
    return np.sum(h**2) * len(h)


def rows(x):
    p = np.zeros((0, 2))
    while x > 1e-2:
        p = np.vstack([p, np.array([[x, x * x]])])
        x = x * 0.6
    return np.sum(p.mean(axis=0)) + p[-1, 1]


def stored(x):
    h = np.array([x])
    while x > 1e-2:
        h = np.append(h, 0.0)
        h[-1] = x * 2
        x *= 0.6
    return np.sum(h * np.arange(len(h)))


def counted(x):
    h = np.array([x])
    for _ in range(40):
        h = np.append(h, np.sin(h[-1]) + 0.1 * np.sum(h[-3:]))
    return np.sum(h)


def returned(x):
    def halves(x):
        t = np.array([x])
        while t[-1] > 0.1:
            t = np.append(t, t[-1] * 0.5)
        return t

    return np.sum(halves(x)) + np.sum(halves(2 * x)[1:] ** 2)


def shrinking(x):
    while len(x) > 1 and np.max(x) > 0.3:
        x = 0.5 * (x[1:] + x[:-1]) ** 2
    return np.sum(x**2)


def on_one_path(x):
    y = np.concatenate([x, x[:2] * 3]) if x[0] > 0.2 else 2 * x
    z = x[:3] if x[1] > 9 else x
    return y.sum() * len(y) + np.sum(z**2) * z.mean()


def active(x):
    at = np.array([0])
    while len(at) < 4:
        r = np.abs(X - x[0] * np.arange(5.0))
        r[at] = -1
        at = np.append(at, np.argmax(r))
    return np.sum(X[at] * x[1])


@pytest.mark.parametrize("program", [history, rows, stored, counted, returned], ids=lambda f: f.__name__)
def test_of_a_number(program):
    check(program, (3.0,))


@pytest.mark.parametrize("program", [shrinking, on_one_path, active], ids=lambda f: f.__name__)
def test_of_an_array(program):
    check(program, (X,))


def counts_or_ones(x):
    t = np.round(np.abs(x) + 0.01, 1)
    values, which = np.unique(t, return_inverse=True)
    if len(values) == len(t):
        n = np.ones_like(t)
    else:
        n = np.bincount(which)
    return np.sum(n * values**2) + n[-1] * x[0]


def test_counts_of_what_running_sums_number_are_bounded():
    for x in (X, np.array([0.3, 0.55, 0.3, 0.95, 0.3])):
        check(counts_or_ones, (x,))
    for dtype in (np.int8, np.int32, np.uint32):
        assert irad.compile(lambda i: np.sum(np.bincount(np.cumsum(i)) * 2.0))(np.array([1, 2, 0, 3], dtype)) == 8.0


def test_an_array_that_grows_gets_more_room():
    def ramp(x, n):
        h, t = np.array([0.0]), 0.0
        while t < n:
            t += 1.0
            h = np.append(h, x * t)
        return h

    f = irad.compile(ramp)
    for n in (3.0, 3e3):
        assert np.array_equal(f(0.5, n), ramp(0.5, n))


def filtered(x):
    """In place, where nobody else knows the array; left by `break`."""
    z, total = x.copy(), 0.0
    for i in range(200):
        if len(z) < 2:
            break
        z *= 0.9
        z[0] += 0.01
        total += np.sum(z)
        z = z[z > 0.1 + 0.01 * i]
    return total + np.sum(z)


def under_a_condition(x):
    z = x[x > 0.25]
    if np.sum(x) > 0:
        z = z[z > 0.5]
    z *= 2
    w = x[x > 0.05] if x[0] > 0 else x * 3
    w[0] = x[1] ** 2
    return np.sum(z**2) + np.sum(w)


def of_one_variable(x):
    z = x
    for i in range(40):
        if len(z) > 3:
            z = z[z > 0.01 * i]
        z *= 0.99
    return np.sum(z) + 10 * np.sum(x)


def known_by_two(x):
    z = x * 1.0
    w = z * 2
    s = 0.0
    for i in range(40):
        z *= 0.9
        s += np.sum(z) + 3 * np.sum(w)
        z = z[z > 0.005 * i]
        w = z
    return s


def in_inner_loops(x):
    z = x * 2
    for i in range(4):
        if np.sum(z) > 0:
            z = z[z > 0.01 * i]
        while len(z) > 2:
            z = z[1:].copy()
            z *= 0.9
    return np.sum(z)


@pytest.mark.parametrize(
    "program", [filtered, under_a_condition, of_one_variable, known_by_two, in_inner_loops], ids=lambda f: f.__name__
)
def test_stores_into_what_one_variable_holds(program):
    for x in (X, 0.5 * X, np.array([0.9, 0.1])):
        check(program, (x,))


def left_in_both(x, late):
    """A trip leaves one array in two variables, of which one has several sizes."""
    w, z = x * 1.0, x * 1.0
    s = 0.0
    for i in range(40):
        if late:
            s += np.sum(z)
        w[0] = i
        if not late:
            s += np.sum(z)
        w = x * (i + 1)
        z = w if x[i % 5] > 0.3 else np.concatenate([x, x])
    return s


def test_what_a_trip_leaves_in_two_variables_is_one_array():
    with pytest.raises(IradError, match="copy"):
        irad.compile(lambda x: left_in_both(x, False))(X)
    check(lambda x: left_in_both(x, True), (X + 0.01,))

    def attribute(x):
        class Place:
            pass

        at, known = Place(), x * 1.0
        w = known
        at.z = x * 1.0
        s = 0.0
        for i in range(40):
            w[0] = i
            s += np.sum(at.z)
            w = x * (i + 1)
            at.z = w[: 1 + i % 3] if x[i % 5] > 0.3 else w
        return s + np.sum(known)

    with pytest.raises(IradError, match="copy"):
        irad.compile(attribute)(X)


def test_what_is_one_array_on_a_path_is_never_two():
    """The sizes of one variable differ, those of the other do not; on one path both are one array."""

    def f(x):
        if x[0] > 0:
            w = z = x * 2
        else:
            w, z = x * 3, np.concatenate([x, x])
        w[0] = 5.0
        return np.sum(z)

    with pytest.raises(IradError, match="copy"):
        irad.compile(f)(X)

    def g(x):
        def h(z):
            if x[0] > 0:
                z = z[z > 0.3]
            z *= 2
            return np.sum(z)

        y = x * 1.0
        return h(y) + np.sum(y)

    with pytest.raises(IradError, match="copy"):
        irad.compile(g)(X)


def test_one_that_may_be_another_array_is_not_stored_into_nor_read_once_that_has_changed():
    def stored(x):
        y = x[:2] if x[0] > 0 else x
        y[0] = 1.0
        return y

    def changed(x):
        y = x[:2] if x[0] > 0 else x
        x[0] = 5.0
        return y.sum()

    for f in (stored, changed):
        with pytest.raises(IradError, match="copy"):
            irad.compile(f)(X.copy())
