"""Lists that grow in loops: values and slopes beside plain Python, and code that does not grow with the number of trips."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.text import show
from irad.frontend.trace import trace

P = np.array([0.4, 0.9, -0.3])


def slope(f: Any, x: np.ndarray, d: np.ndarray) -> float:
    """The derivative of f along d: central differences, one Richardson step."""
    at = lambda h: float(f(x + h * d))
    return (8 * (at(1e-4) - at(-1e-4)) - (at(2e-4) - at(-2e-4))) / 12e-4


def agrees(f: Any, x: np.ndarray = P) -> None:
    """Value and gradient of a function of one array."""
    want = f(x.copy())
    assert np.isclose(irad.compile(f)(x.copy()), want, rtol=1e-12)
    value, gradient = irad.value_and_grad(f)(x.copy())
    d = np.linspace(0.3, 1.1, x.size).reshape(x.shape)
    assert np.isclose(value, want, rtol=1e-12)
    assert np.isclose(np.sum(gradient * d), slope(f, x, d), rtol=1e-7, atol=1e-9)


def numbers(p, n):
    xs, ys, x = [], [p[1]], p[0]
    for _ in range(n):
        x = x + 0.1 * np.sin(x) * p[1]
        xs.append(x)
        ys.append(ys[-1] * 0.9 + xs[-1])
    return np.mean(np.array(xs) ** 2) + ys[-1] + ys[n // 2] * len(ys) + sum(xs)


def matrices(p, n):
    m, hs = np.outer(p, p), []
    for k in range(n):
        m = np.tanh(m + 0.1 * k * p)
        hs.append(m)
    return np.sum(np.stack(hs)[:, 0, 1]) + np.sum(np.vstack(hs)[3]) + np.sum(np.concatenate(hs, axis=1)[0, 4:7])


def records(p, n):
    history = {"loss": [], "state": []}
    w = p.copy()
    for k in range(n):
        w = w - 0.1 * w**3
        history["loss"].append(np.sum(w**2))
        history["state"].append((k, w[0], {"w": w}))
    return np.sum(history["loss"]) + sum(k * a + s["w"][2] for k, a, s in history["state"])


def nested(p, n):
    flat, rows = [], []
    for i in range(n):
        row = [p[0]]
        for j in range(6):
            flat.append(np.cos(i * p[0] + j * p[1]))
            row.append(row[-1] * 0.5 + flat[-1])
        rows.append(row)
    return np.sum(np.array(flat) ** 2) + np.array(rows)[n // 2, 3] + rows[-1][2] + len(flat)


def triangular(p, n):
    rows = []
    for i in range(n):
        row = [p[0]]
        for j in range(min(i, 5)):
            row.append(row[-1] * p[1] + j)
        rows.append(row)
    total = 0.0
    for i, row in enumerate(rows):
        for v in row:
            total = total + v**2 * p[2]
        total += row[-1] * i + len(row)
    return total / n


def in_branches(p, n):
    kept, where, total = [], [], 0.0
    for k in range(n):
        v = np.sin(k * p[0])
        if v > 0:
            kept.append(v * p[1])
            if k % 2 == 0:
                where.append(k)
    for v in kept:
        total = total + v**2
    return total + kept[0] + kept[-1] + len(kept) + sum(where) + np.max(kept)


def until_a_break(p, n):
    xs, x = [p[0]], p[0]
    for _ in range(n):
        x = x + p[1] * 0.1
        xs += [x, 2 * x]
        if x > 1.2:
            break
    return np.sum(np.array(xs) ** 2) + xs[-1] + len(xs)


@pytest.mark.parametrize("f", [numbers, matrices, records, nested, triangular, in_branches, until_a_break])
def test_growing_in_a_loop(f):
    agrees(lambda p: f(p, 24))
    sizes = {len(show(trace(f, (P, n)).program).splitlines()) for n in (24, 240)}
    assert len(sizes) == 1, f"the code grows with the number of trips: {sizes} lines"


def changed_and_cut(p):
    xs, s = [], 0.0
    for k in range(12):
        xs.append(np.sin(k + p[0]))
        xs[-1] *= p[1]
        if k > 2:
            xs[k - 2] = xs[k - 2] + xs[k] ** 2
        s = s + np.mean(xs[-3:])
    tail = xs[4:] + xs[:2]
    return s + np.dot(tail, tail) + xs[::-1][0] + max(xs) + min(tail)


def popped(p):
    xs = [p[0]]
    for _ in range(12):
        xs.append(np.cos(xs[-1] + p[1]))
    xs.insert(1, p[2])
    s = xs.pop(0) * 3.0
    del xs[2]
    for _ in range(5):
        s = s * 0.5 + xs.pop()
    return s + len(xs) + xs[-1] + np.sum(np.array(xs) * np.arange(len(xs)))


def windows(p):
    xs, s = [p[0]], 0.0
    for k in range(12):
        xs = xs[-4:] + [np.sin(xs[-1] + k * p[1])]
        s = s * 0.5 + sum(xs)
    return s + len(xs) * xs[0]


def gone_over(p):
    xs, out = [], []
    for k in range(12):
        xs.append(p * k)
    for k, (a, b) in enumerate(zip(xs[:-1], xs[1:])):
        out.append(np.sum(a * b) * k)
    for x in reversed(xs):
        out.append(x[0] ** 2)
    return sum(out) + sum([np.sin(v) for v in out[:11]]) + max(o**2 for o in out)


@dataclasses.dataclass
class State:
    x: Any
    v: Any


def objects(p):
    path, s = [], State(p[0], p)
    for _ in range(12):
        s = State(np.sin(s.x), s.v * 0.9 + s.x)
        path.append(s)
    return sum(s.x for s in path) + path[-1].v[1] + path[3].v[0] * path[4].x


def by_keys(p):
    seen, last = collections.defaultdict(list), {}
    for k in range(12):
        for name in ("a", "b"):
            seen[name].append(np.sin(k * p[0]) if name == "a" else p[1] * k)
            last.setdefault(name, []).append(seen[name][-1] ** 2)
    return np.dot(seen["a"], seen["b"]) + np.sum(last["a"]) + last["b"][-1]


def perhaps_none(p):
    xs = []
    for k in range(12):
        xs.append(np.sin(k * p[0]) if k % 3 else None)
    return sum(x * p[1] for x in xs if x is not None)


@pytest.mark.parametrize("f", [changed_and_cut, popped, windows, gone_over, objects, by_keys, perhaps_none])
def test_what_is_done_with_them(f):
    agrees(f)


def test_loops_over_long_lists_stay_loops():
    def f(p, ts):
        y = p[:2]
        for t0, t1 in zip(ts[:-1], ts[1:]):
            h = t1 - t0
            y = y + h * np.array([y[1], -p[2] * y[0] + np.sin(t0)])
        for a, b in [(k * 0.1, p * k) for k in range(20)]:
            y = y + a * b[1]
        return np.sum(y**2)

    agrees(lambda p: f(p, [0.1 * k for k in range(40)]))
    body = [show(trace(f, (P, [0.1 * k for k in range(n)])).program).count("sin ") for n in (40, 80)]
    assert body == [1, 1]


def test_elements_of_long_lists_are_references():
    def f(p):
        rows = [p * k for k in range(20)]
        kept, total = [], 0.0
        for row in rows:
            kept.append(row)
            total += row[1]
        for row in rows:
            row[2] = 1.0
        rows[3][0] = 9.0
        return total + kept[3][0] + rows[5][2]

    assert np.isclose(irad.compile(f)(P), f(P.copy()))


class Adam:
    def __init__(self, rate):
        self.rate, self.m, self.v, self.t = rate, {}, {}, 0

    def step(self, params, slopes):
        self.t += 1
        for k in params:
            if k not in self.m:
                self.m[k], self.v[k] = np.zeros_like(params[k]), np.zeros_like(params[k])
            self.m[k] = 0.9 * self.m[k] + 0.1 * slopes[k]
            self.v[k] = 0.99 * self.v[k] + 0.01 * slopes[k] ** 2
            scale = np.sqrt(self.v[k] / (1 - 0.99**self.t)) + 1e-3
            params[k] = params[k] - self.rate * self.m[k] / (1 - 0.9**self.t) / scale


def test_a_first_trip_that_fills_a_dict():
    def f(p, n):
        params, optimiser, losses = {"w": p, "b": np.sum(p)}, Adam(0.05), []
        for _ in range(n):
            optimiser.step(params, {"w": 2 * params["w"], "b": params["b"] * params["w"][0]})
            losses.append(np.sum(params["w"] ** 2) + params["b"])
        return losses[-1] + losses[3]

    agrees(lambda p: f(p, 12))
    assert np.isclose(irad.compile(f)(P, 12), f(P, 12)) and np.isclose(irad.compile(f)(P, 4), f(P, 4))


def while_known(p):
    t, x, ts, xs = 0.0, p[0], [], []
    while t < 1.0:
        x = x + 0.01 * np.sin(x) * p[1]
        t = t + 0.01
        ts.append(t)
        xs.append(x)
    return np.dot(xs, ts) + xs[-1] * len(ts)


def test_a_while_loop_with_a_known_condition():
    agrees(while_known)
    assert show(trace(while_known, (P,)).program).count("sin ") == 1


def test_comprehensions_that_keep_by_data():
    def f(x):
        kept = [v**2 for v in x if v > 0]
        pairs = [(v, k) for k, v in enumerate(x) if v < 0.5 and k % 2 == 0]
        scaled = [kept[i] * i for i in range(len(kept))]
        return sum(kept) + len(pairs) + sum(v * k for v, k in pairs) + np.sum(scaled)

    agrees(f, np.sin(1.0 + np.arange(30.0)))


def test_searching():
    def f(p):
        xs = []
        for k in range(12):
            xs.append(np.round(np.sin(k * p[0]), 1))
        return xs.index(xs[7]), xs.count(xs[0]), xs[3] in xs, 5.0 in xs

    assert irad.compile(f)(P) == f(P)

    def short(p):
        xs = [p[0], p[1], p[2], np.round(2 * p[0])]
        return xs.index(max(xs)), xs.index(1.0), xs.count(p[1])

    assert irad.compile(short)(P) == short(P)

    def absent(p):
        xs = []
        for k in range(12):
            xs.append(p[0] * k)
        return xs.index(99.0)

    with pytest.raises(ValueError, match="not in list"):
        irad.compile(absent)(P)


def test_positions_are_checked():
    def f(x, k):
        xs = []
        for v in x:
            if v > 0:
                xs.append(v)
        return xs[k] + xs[-1]

    c = irad.compile(f)
    assert c(np.array([1.0, -1.0, 3.0]), 0) == 4.0
    with pytest.raises(IndexError, match="list index out of range"):
        c(np.array([1.0, -1.0, 3.0]), 2)
    with pytest.raises(IndexError, match="list index out of range"):
        c(-np.ones(3), 0)


def test_lists_are_returned():
    def f(p, n):
        xs, pairs, x = [], [], 1
        for k in range(n):
            x = x * 0.5 + p[0]
            xs.append(x)
            pairs.append((k, p * k))
        return xs, {"pairs": pairs}

    for n in (3, 40):
        (xs, rest), (want, other) = irad.compile(f)(P, n), f(P, n)
        assert type(xs) is list and xs == want and list(map(type, xs)) == list(map(type, want))
        assert [k for k, _ in rest["pairs"]] == list(range(n)) and type(rest["pairs"][0]) is tuple
        assert np.array_equal(rest["pairs"][-1][1], other["pairs"][-1][1])
    _, pull = irad.vjp(lambda p: f(p, 40)[0], P)
    assert pull([1.0] * 40)[0].shape == (3,)


def test_a_list_whose_length_depends_on_data_is_returned():
    def f(x):
        out = []
        for v in x:
            if v > 0:
                out.append(v)
        return out

    c, x = irad.compile(f), np.array([1.0, -2.0, 3.0])
    assert c(x) == [1.0, 3.0] and c(-np.ones(3)) == []


def stored_into_later(p):
    xs, x = [], p
    for _ in range(8):
        x = x * p[1]
        xs.append(x)
    xs[3][0] = 5.0
    x += 1.0
    return np.sum(np.array(xs))


def one_array_many_times(p):
    xs, x = [], p.copy()
    for _ in range(8):
        x *= 0.5
        xs.append(x)
    return np.sum(np.array(xs))


def swapped_and_stored(p):
    xs, a, b = [], p.copy(), p * 2
    for _ in range(8):
        a, b = b * 0.5, a
        xs.append(b)
        b[0] = b[0] + 1.0
    return np.sum(np.array(xs))


def rows_changed_later(p):
    rows, row = [], [p[0], p[1]]
    for k in range(8):
        row = [p[0] * k, row[0]]
        rows.append(row)
    rows[2][1] = 7.0
    row.append(p[2])
    return rows[2][1] + rows[3][1] + sum(rows[-1])


def one_dict_many_times(p):
    d, seen = {"w": p[0]}, []
    for _ in range(8):
        d["w"] = d["w"] * p[1]
        seen.append(d)
    return sum(s["w"] for s in seen)


def first_elements_change_in_a_later_loop(p):
    y, xs = p * 2.0, [p * 1.0]
    xs.append(y)
    for _ in range(6):
        y += 0.125
        xs.append(xs[-1] + p)
    return np.sum(np.array(xs)) + xs[1][0]


def last_element_changes_in_a_later_loop(p):
    xs, z = [p], p
    for _ in range(9):
        z = xs[-1].copy()
        xs.append(z)
    for _ in range(6):
        z += 0.125
        xs.append(xs[-1].copy())
    return np.sum(np.array(xs))


def first_row_changes_in_the_loop(p):
    row = [p[0], p[1]]
    rows = [row]
    for k in range(6):
        rows.append([p[0] * k, p[2]])
        row[0] = row[0] + 1.0
    return rows[0][0] + rows[3][0]


def under_a_condition(p):
    xs, y = [p], p * 1.0
    for k in range(8):
        if k * p[0] > 1.0:
            y = p * k
            xs.append(y)
        y[1] = y[1] + 0.5
    return np.sum(np.array(xs))


@pytest.mark.parametrize(
    "f",
    [
        stored_into_later,
        one_array_many_times,
        swapped_and_stored,
        rows_changed_later,
        one_dict_many_times,
        first_elements_change_in_a_later_loop,
        last_element_changes_in_a_later_loop,
        first_row_changes_in_the_loop,
        under_a_condition,
    ],
)
def test_elements_are_references(f):
    """An array or container that is changed after it was put into a list changes in the list too: or it is refused."""
    try:
        got = irad.compile(f)(P.copy())
    except irad.IradError as e:
        assert f is under_a_condition and "copy" in str(e)
    else:
        assert np.isclose(got, f(P.copy()), rtol=1e-12)
