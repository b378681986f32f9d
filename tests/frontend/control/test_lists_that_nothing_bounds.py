"""Lists, deques, heaps and queues that grow in loops which nothing bounds: values and slopes beside plain Python, and more room."""

from __future__ import annotations

import heapq
import queue
from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest

import irad
from irad.call.runtime import cache_for
from tests.support.as_python import check

GRAPH = np.array([[0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 1, 0, 0, 1], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0]], bool)
W = np.array([0.3, 0.7, 0.45, 0.9, 0.25])


def history(x, tol=1e-9):
    errors = []
    while abs(x * x - 2) > tol:
        errors.append(abs(x * x - 2))
        x = 0.5 * (x + 2 / x)
    return np.sum(np.array(errors) ** 2) + x


def path_of_arrays(x):
    x = np.array([x, 2.0])
    path = [x]
    while np.linalg.norm(path[-1]) > 1e-2:
        path.append(path[-1] * 0.7)
    p = np.vstack(path)
    return np.sum(p**2 * np.arange(len(p))[:, None])


def stack(x):
    todo, total = [(x, 0)], 0.0
    while todo:
        v, depth = todo.pop()
        total += v * v
        if depth < 4 and v > 0.1:
            todo.append((v * 0.6, depth + 1))
            todo.append((v * v, depth + 1))
    return total


def breadth_first(x):
    w = W * x
    far, todo = np.full(5, np.inf), deque([0])
    far[0] = x
    while todo:
        u = todo.popleft()
        for v in range(5):
            if GRAPH[u, v] and far[u] + w[v] ** 2 < far[v]:
                far[v] = far[u] + w[v] ** 2
                todo.append(v)
    return np.sum(far)


def shortest(x):
    far = np.full(5, np.inf)
    far[0], heap = x * 0, queue.PriorityQueue()
    heapq.heappush(heap.queue, (0.0, 0))
    while not heap.empty():
        d, u = heap.get()
        if d > far[u]:
            continue
        for v in range(5):
            if GRAPH[u, v]:
                new = d + (W[u] + x * W[v]) ** 2
                if new < far[v]:
                    far[v] = new
                    heap.put((new, v))
    return np.sum(far**2)


def _queued(x, q):
    q.put((x, 0))
    total, rank = 0.0, 1
    while not q.empty():
        v, depth = q.get()
        total += v * v * rank
        rank += 1
        if depth < 2:
            q.put((v * 1.5 + 0.1, depth + 1))
            q.put((v * 0.7, depth + 1))
    return total


def queues(x):
    return _queued(x, queue.Queue()) + _queued(x, queue.LifoQueue())


def within_loops(x):
    out = []
    for k in range(3):
        y = x + k
        while y > 0.1:
            row = []
            while y > len(row):
                row.append(y * len(row))
            out.append(sum(row))
            y *= 0.5
    return sum(out) + len(out)


@dataclass
class Point:
    t: float
    v: float


def objects(x):
    log = [Point(0.0, x)]
    while log[-1].t < 0.9:
        p = log[-1]
        log.append(Point(p.t + 0.1 * p.v + 0.05, p.v * 0.9))
    return sum(p.t * p.v for p in log)


def window(x):
    recent, total, t = deque(), 0.0, 0.0
    while t < 2.0:
        t += 0.1
        recent.append((t, x * t))
        while recent[0][0] < t - 0.5:
            recent.popleft()
        total += sum(v for _, v in recent) ** 2
    return total


def both_ends(x):
    q, last = deque([x]), deque([x, 2 * x], maxlen=3)
    while x > 0.02:
        x *= 0.7
        q.appendleft(x)
        if len(q) > 4:
            q.pop()
        last.append(0.3 * sum(last))
    q.rotate(2)
    q.extendleft([x, 2 * x])
    return sum(v * (k + 1) for k, v in enumerate(q)) + last[0] * last[2]


def generated(x):
    def steps(x):
        while abs(x * x - 2) > 1e-9:
            x = 0.5 * (x + 2 / x)
            yield x

    some = list(steps(x))
    some.extend(steps(x + 1))
    return np.sum(np.array([v * v for v in steps(2 * x)])) + sum(some[1:]) * some[-2]


def _halves(x):
    out = []
    while x > 0.1:
        out.append(x)
        x = x * 0.5
    return out


def given_and_returned(x):
    out = _halves(x)
    for k in range(3):
        more = _halves(x + k)
        out += more[::-1]
    out.insert(1, x * x)
    del out[0]
    return np.dot(out, np.arange(len(out)))


def counted_by_data(x):
    out = []
    for _ in range(int(np.sum(W > x))):
        x = np.cos(x)
        out.append(x)
    return np.prod(out)


PROGRAMS = [
    history, path_of_arrays, stack, breadth_first, shortest, queues, within_loops, objects, window, both_ends, generated,
    given_and_returned, counted_by_data,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_slope(program):
    check(program, (0.83,))


def ramp(x, n):
    xs, t = [], 0.0
    while t < n:
        xs.append(x * t)
        t += 1.0
    return xs


def test_more_room_is_made_when_it_is_needed():
    f = irad.compile(ramp)
    for n in (3.0, 5e3, 1e5, 3.0):
        assert f(0.5, n) == ramp(0.5, n)
    assert cache_for(ramp).room == 2 and len(f.versions) == 1
    total = lambda x, n: np.sum(np.array(ramp(x, n)))
    assert irad.grad(total)(0.5, 1e4) == sum(range(10_000))
    value, pull = irad.vjp(lambda x: total(x, 6e3), 0.5)
    assert np.isclose(value, total(0.5, 6e3)) and np.isclose(pull(1.0)[0], sum(range(6_000)))


def test_what_prints_has_the_room_at_once(capsys):
    def shown(x):
        xs = []
        while x < 6e3:
            if len(xs) == 2:
                print("two")
            xs.append(x)
            x += 1.0
        return sum(xs)

    assert irad.compile(shown)(0.5) == shown(0.5)
    assert capsys.readouterr().out == "two\ntwo\n"


def test_no_handler_of_the_program_sees_that_room_is_needed():
    def guarded(x):
        xs = []
        try:
            while x < 6e3:
                xs.append(x)
                x += 1.0
        except BaseException:
            return -1.0
        return sum(xs)

    assert irad.compile(guarded)(0.5) == guarded(0.5)


def test_arrays_and_lists_of_the_caller():
    def filled(a, xs, x):
        a[0] = 7.0
        while x < 5e3:
            xs.append(x)
            x += a[1]
            a[2] += 1.0
        return x

    (a, xs), (b, ys) = ((np.array([0.0, 1.0, 0.0]), [1.0]) for _ in range(2))
    assert irad.compile(filled)(a, xs, 0.0) == filled(b, ys, 0.0)
    assert xs == ys and a.tolist() == b.tolist()


def test_an_empty_one_raises():
    def taken(x):
        q = deque()
        while x > 0.1:
            q.append(x)
            x *= 0.5
        while x < 2.0:
            x += q.popleft() * 0.1
        return x

    with pytest.raises(IndexError, match="pop from an empty deque"):
        irad.compile(taken)(0.7)

    def waits(x):
        q = queue.Queue()
        while x > 0.1:
            q.put(x)
            x *= 0.5
        return q.get() + q.get_nowait() + q.get_nowait() + q.get_nowait()

    with pytest.raises(queue.Empty):
        irad.compile(waits)(0.7)


def test_length_by_a_condition_that_is_known_is_known():
    def square(x):
        xs, i = [], 0
        while len(xs) < 100:
            xs.append(x * i)
            i += 1
        return np.array(xs).reshape(10, 10)[3]

    assert np.array_equal(irad.compile(square)(0.5), square(0.5))


def test_a_queue_that_holds_one_element() -> None:
    """What is taken leaves nothing behind, until something is put there."""

    def halved(x: float) -> float:
        todo, total = deque([x]), 0.0
        while todo:
            v = todo.popleft()
            total += v * v
            if v > 0.2:
                todo.append(v * 0.5)
        return total

    for x in (0.1, 0.7, 3.0):
        assert irad.compile(halved)(x) == halved(x)
    assert irad.grad(halved)(0.7) == pytest.approx(2 * 0.7 * (1 + 1 / 4 + 1 / 16), rel=1e-12)


def routed(x):
    """Unit hydrographs: ordinates and stores in lists of as many elements as a delay says."""
    n = int(np.ceil(x[0]))
    ordinates, store, total = [0] * n, n * [0.5], 0.0
    for t in range(n):
        ordinates[t] = min((t + 1) / x[0], 1.0) ** 2.5 - (t / x[0]) ** 2.5
    for rain in (1.0, 3.0, 0.0, 2.0):
        for i in range(len(store) - 1):
            store[i] = store[i + 1] + ordinates[i] * rain
        store[-1] = ordinates[-1] * rain * x[1]
        total += store[0] ** 2
    return total + len((x[1], 2.0) * (n - 9)) + len((1.0,) * n)


def test_lists_repeated_as_often_as_data_say() -> None:
    check(routed, (np.array([2.6, 0.7]),))
    assert irad.compile(routed)(np.array([5.5, 0.7])) == pytest.approx(routed(np.array([5.5, 0.7])), rel=1e-14)
