"""In-place code: stores, augmented stores, views, aliases, arguments that are changed; all as NumPy does it."""

from __future__ import annotations

import numpy as np
import pytest

import irad
from irad.frontend.trace import trace
from tests.support.as_called import assert_same, check, run

X = np.array([1.0, -2.0, 3.0, 0.5, 2.0, -1.0])
M = np.arange(12.0).reshape(3, 4) / 7
K = np.array([2, 0, 2])


def element(x):
    x[0] = x[1] * 2
    x[-1] += x[0]
    x[2] *= x[3]


def slices(x):
    x[1:3] = x[3:5]
    x[::2] -= 1
    x[::-1][0] = 7
    x[4:1:-1] = x[1:4]
    x[2:2] = 5.0


def overlap(x):
    x[1:] += x[:-1]
    x[:3] = x[::-1][:3]


def chained(x):
    y = np.zeros((3, 3))
    y[0, 1:] = y[1:, 0] = x[:2]
    a = b = x
    a[0] = 9
    return y, b[0], a is b


def views(x):
    v = x[1:]
    w = v[::2]
    w *= 2
    v[0] += 1
    x[2] = 100
    return v.sum(), w.copy(), v[1]


def view_of_matrix(m):
    row, col = m[1], m[:, 2]
    row[:] = 1
    col += 5
    t = m.T
    t[0] = 3
    m.reshape(-1)[5] = 77
    m.ravel()[0] = -1
    flat = m.T.reshape(-1)
    flat[0] = 1000
    return t, flat


def reshaped(x):
    y = x.reshape(2, 3)
    y[0] = 0
    z = x[::2].reshape(3, 1)
    z[0] = 9
    a, b = np.split(x, 2)
    a += b
    np.flip(x)[0] = 4
    return y.T.reshape(6), z


def copies(x):
    y = x.copy()
    y[0] = 5
    z = x[[0, 1]]
    z[0] = 6
    w = x[x > 0]
    w[0] = 8
    u = np.array(x)
    u[1] = 4
    s = np.asarray(x)
    s[3] = -4
    return y, z, w, u


def masks(x):
    x[x < 0] = 0
    x[x > 1] *= 2
    x[np.array([True, False] * 3)] += 1
    return np.sum(x)


def gathers(x):
    x[K] = np.array([1.0, 2.0, 3.0])
    x[[0, 0, 1]] += 1
    np.add.at(x, [0, 0, 1], 1.0)
    m = np.zeros((2, 3))
    m[[0, 1], [1, 2]] = x[:2]
    m[np.arange(2), K[:2]] -= 4
    return m


def augmented_names(x):
    y = x
    y += 1
    s = x[0]
    s += 5
    t = 2
    t *= 3
    return s, t, x


def swap_elements(x):
    x[0], x[1] = x[1], x[0]
    i = 2
    i, x[i] = 3, 50
    return i


def out_argument(x):
    y = np.empty(6)
    np.multiply(x, 2, out=y)
    np.sin(y, out=x)
    return np.add(x, y, out=y) is y


def integer_target(x):
    k = np.zeros(3, int)
    k[0] = x[2]
    k[1:] = x[3:5]
    b = np.zeros(2, np.float32)
    b[:] = x[:2]
    b += np.float32(0.1)
    return k, b


def filled(x):
    x.fill(2)
    y = np.zeros_like(x)
    y[...] = 3
    np.copyto(y, x, where=x > 5)
    np.fill_diagonal(m := np.zeros((2, 2)), 4)
    x[2] = 5
    x.sort()
    return y, m


def swap_names(x):
    u, v = x[:3].copy(), x[3:].copy()
    u, v = v, u
    u[0] = 100
    return u, v


def zero_d(x):
    z = np.array(2.0)
    z += x[0]
    w = z
    w *= 2
    z[...] = z + 1
    return z, w


def containers(x):
    items = [x[0], x[1]]
    items[0] = 5
    items.append(x[2])
    items += [1, 2]
    d = {"a": x}
    d["a"] += 1
    d["b"] = items
    d.update(c=3)
    other = items
    other[1] = 0
    return d, items.pop(), len(items), items


def stack_buffer(x):
    out = np.zeros((3, 6))
    out[0] = x
    out[1, 2:4] = x[:2]
    out[2, :] = out[0] * 2
    out[:, 0] = 1
    return out


@pytest.mark.parametrize(
    "fn",
    [element, slices, overlap, chained, views, reshaped, copies, masks, gathers, augmented_names, swap_elements, out_argument,
     integer_target, filled, swap_names, zero_d, containers, stack_buffer],
)  # fmt: skip
def test_like_numpy(fn):
    check(fn, X, others=((np.sort(X),),))


def test_views_of_matrices():
    check(view_of_matrix, M)
    check(view_of_matrix, np.asfortranarray(M))
    check(view_of_matrix, np.arange(24.0).reshape(3, 8)[:, ::2])


def both_names(a, b, s):
    w = a if s > 0 else b
    w *= 2
    v = w[1:]
    v[0] = -1
    return w.sum(), v


def maybe_copy(a, s):
    w = a
    if s > 0:
        w = a * 2
    w[0] = 9
    w += 1
    return w


def test_one_of_two_arrays():
    check(both_names, X, X + 1, 1.0, others=((X, X + 1, -1.0),))
    check(maybe_copy, X, 1.0, others=((X, -1.0),))


def swapped(u, v, n):
    for _ in range(n):
        v[1:-1] = u[2:] + u[:-2]
        u, v = v, u
    v[0] += 100
    return u.sum(), v


def rotated(a, b, c, n):
    for k in range(n):
        c[:] = a + 2 * b + k
        a, b, c = b, c, a
    return a, b, c


@pytest.mark.parametrize("n", [5, 6, 7, 20])
def test_swapped_arrays_in_a_loop(n):
    check(swapped, X, X[::-1].copy(), n, others=((X, X * 3, 0), (X, X * 2, 1), (X, X * 2, 2)))
    check(lambda u, v: swapped(u, v, 9), X, X[::-1].copy())
    check(rotated, X, X + 1, X + 2, n, others=((X, X + 1, X + 2, 0), (X, X + 1, X + 2, 7)))


def rebound(u, n):
    for _ in range(n):
        u = u * 2
        u[0] += 1
    return u.sum()


def first_in_place(u):
    for _ in range(12):
        u += 1
        u = u * 0.5
    return u


def alias_in_loop(x, n):
    y = x
    for k in range(n):
        y[k] = k
        x[k + 1] += y[k]
    return y


def test_rebinding_in_a_loop():
    check(rebound, X, 10, others=((X, 0),))
    check(first_in_place, X)
    check(alias_in_loop, X, 5)


def rebound_argument(x, y, n):
    u = x
    for _ in range(n):
        u[0] += 1
        u = u + y
    return u


def rebound_then_stored(x, n):
    u = x
    for _ in range(n):
        u = u + 1
    u[0] = 5
    return u


def test_stores_into_a_rebound_argument():
    check(rebound_argument, X, X * 2, 5, others=((X, X * 2, 0), (X, X * 2, 1)))
    check(rebound_then_stored, X, 5, others=((X, 0), (X, 1)))


def test_int_array_refuses_a_float_in_place():
    def f(k):
        k += 0.5

    with pytest.raises(TypeError, match="same_kind"):
        trace(f, (np.array([1, 2]),))


def test_read_only_views_are_refused():
    def f(x):
        y = np.broadcast_to(x, (2, 6))
        y[0] = 1

    with pytest.raises(ValueError, match="read-only"):
        trace(f, (X,))


def test_outside_containers_are_changed_by_calls_only():
    state = []

    def f(x):
        state.append(x)

    trace(f, (X,))
    assert state == []
    irad.compile(f)(X)
    assert len(state) == 1 and np.array_equal(state[0], X)


def test_nothing_is_changed_by_tracing():
    def f(x):
        x[0] = 100.0
        return x

    x = X.copy()
    traced = trace(f, (x,))
    assert_same(x, X)
    assert len(traced.mutated) == 1 and traced.mutated[0].target == ("arg", 0)
    assert run(traced, f, (x,)) is x and x[0] == 100.0


def test_assigned_shape():
    """All names of the array see its new shape, views of it and arrays it is a view of do not; a copy is not made."""

    def f(x):
        y = x * 2
        z, tail = y, y[1:]
        y.shape = (2, -1)
        for k in range(3):
            z[1, k] *= x[k]
        part = x[:4]
        part.shape = 2, 2
        part[1] += 1
        return z, z.ndim, tail, np.sum(part[:, 0])

    a, b = X.copy(), X.copy()
    for got, want in zip(irad.compile(f)(a), f(b)):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(a, b)
    irad.check_grads(lambda x: f(x.copy())[0] * 2, (X,))

    def turned(x):
        y = x.reshape(2, 3).T * 1.0
        y.shape = 6

    with pytest.raises(AttributeError, match="Incompatible shape for in-place modification"):
        irad.compile(turned)(X)
    with pytest.raises(irad.UnsupportedError, match="of the caller"):
        irad.compile(lambda x: setattr(x, "shape", (2, 3)))(X)

    def in_a_list(x):
        xs = [x * 2]
        y = xs[0]
        y.shape = (2, 3)
        return xs[0][1, 2] + y[1, 0]

    assert irad.compile(in_a_list)(X) == in_a_list(X)


class _Holder:
    pass


def test_the_shape_of_an_array_that_containers_hold():
    def in_a_loop(x):
        a, b = x[:4] * 1, x[1:5] * 2
        for item in (a, b):
            item.shape = (2, 2)
        return np.sum(a @ b)

    def in_containers(x):
        pair, xs, o = (x[:4] * 1, x[1:5] * 2), [x[:4] * 3], _Holder()
        o.a = x[1:5] * 1
        d = {"k": o.a}
        for item in pair:
            item.shape = (2, 2)
        xs[0].shape = (2, 2)
        o.a.shape = (2, 2)
        return np.sum(pair[0] @ pair[1] @ xs[0] @ d["k"] @ o.a)

    def twice(x):
        a = x[:4] * 1
        for item in (a, a):
            item.shape = (2, 2) if item.ndim == 1 else (4,)
        return np.sum(a * np.arange(4))

    x = np.array([0.3, 0.5, 0.45, 0.1, -0.2])
    for f in (in_a_loop, in_containers):
        assert np.isclose(irad.compile(f)(x), f(x))
        irad.check_grads(f, (x,), modes=("rev",))
    with pytest.raises(irad.UnsupportedError, match="kept elsewhere"):
        irad.compile(twice)(x)
