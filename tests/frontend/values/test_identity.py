"""What is one object in Python is one after a call of compiled code: what it returns, what it assigns, and what the caller has given."""

from __future__ import annotations

import collections
import dataclasses
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import irad

Scenario = Callable[[Callable[[Any], Any], Callable[..., None]], None]


@dataclasses.dataclass
class Point:
    x: float
    rest: Any = None


class Listed(list):
    pass


Pair = collections.namedtuple("Pair", "a b")
KEPT = [1.0, 2.0]


def shape(x: Any, met: dict[int, int]) -> Any:
    """What a thing holds, and which parts of it are one thing."""
    if isinstance(x, (bool, int, float, str, type(None), types.FunctionType)):
        return type(x).__name__, x
    if id(x) in met:
        return "again", met[id(x)]
    met[id(x)] = len(met)
    if isinstance(x, np.ndarray):
        return x.dtype.name, x.tolist()
    items = x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, (list, tuple, set, collections.deque)) else ()
    own = {**{n: getattr(x, n) for n in getattr(type(x), "__slots__", ())}, **getattr(x, "__dict__", {})}
    return type(x).__name__, [(k, shape(v, met)) for k, v in items], [(k, shape(v, met)) for k, v in own.items()]


def assigned_twice(compiled, see):
    a, b = types.SimpleNamespace(), types.SimpleNamespace()

    def f(x):
        items = [x, 2 * x]
        a.h = items
        b.h = {"l": items, "p": Point(x, items)}
        b.p = b.h["p"]
        return items, b.p

    f = compiled(f)
    for k in range(4):
        see(f(1.0 + k), a, b)
        a.h.append(5.0)
        see(b)


def made_in_a_loop(compiled, see):
    c = types.SimpleNamespace()

    def f(xs, n):
        items = []
        for k in range(n):
            items.append(xs[k] * k)
        c.h = [v * 2.0 for v in xs]
        c.g = {"items": items}
        return items, items, c.h

    f = compiled(f)
    for k in range(4):
        see(f(np.arange(40.0 + k), 2 + k), c)


def deques_and_tuples(compiled, see):
    c = types.SimpleNamespace()

    def f(xs, n):
        items = [xs[k] for k in range(n)]
        q = collections.deque([xs[0], items], maxlen=3)
        t = (q, xs[1])
        c.q, c.t = q, t
        return q, t, [t, items]

    f = compiled(f)
    for k in range(3):
        see(f(np.arange(4.0), 2 + k), c)


def named_tuples(compiled, see):
    def f(t, x):
        items = [x]
        n = Pair(items, x)
        n.a.append(x)
        m = n._replace(b=2.0)
        m.a.append(x)
        u = t._replace(b=x)
        u.a.append(x)
        made = Pair._make([items, u.a])
        made.b.append(x)
        return len(items), n.a is items, n, m, u, t.a, made, n._asdict()

    f = compiled(f)
    for k in range(3):
        t = Pair([1.0 + k], 2.0)
        see(t.a, f(t, 0.5), t)


def one_array_twice(compiled, see):
    c = types.SimpleNamespace()

    def f(x):
        y = x * 2
        c.y, c.l = y, [y]
        return y, {"y": y, "z": [y] * 2}, x, [x]

    f = compiled(f)
    for _ in range(3):
        x = np.ones(3)
        see(x, f(x), c)


def of_the_callers(compiled, see):
    c = types.SimpleNamespace(h=[1.0, 2.0], s={1}, f=lambda x: x, p=Point(1.0, [2.0]), a=np.ones(2))
    c.d, c.o, c.l = collections.deque([1.0], maxlen=3), collections.OrderedDict(a=1.0), Listed([1.0])
    c.n, c.t = np.array(["a"]), (1.0, [2.0])

    def f(x):
        return c.h, c.s, c.f, c.p, c.p.rest, c.a, c.d, c.o, c.l, c.n, c.t[1], c, [c], x

    def g(x):
        c.h.append(x)
        c.p.x = c.p.x * x
        c.p.rest.append(x)
        c.d.append(x)
        c.o["b"] = x
        c.l.append(x)
        c.a += x
        return c.h, c.p, c.d, c.o, c.l, c.a

    for h in (compiled(f), compiled(g)):
        for k in range(5):
            see(c, h(2.0))
            c.h[0] += 1.0
            if k % 2:
                c.h, c.s, c.f, c.p, c.a = [7.0], {1}, lambda x: x, Point(3.0, [4.0]), np.zeros(2)
                c.n = np.array(["a"])


def of_the_module(compiled, see):
    del KEPT[2:]

    def f(x):
        KEPT.append(x)
        return KEPT, [KEPT]

    f = compiled(f)
    for k in range(3):
        see(KEPT, f(1.0 + k))


def among_the_arguments(compiled, see):
    def f(p, d, t, *rest, **named):
        p.x = p.x * 2
        d["k"].append(p.x)
        return p, d, d["k"], t[0], t, rest, named["z"], {"p": p, "d": [d, d]}

    f = compiled(f)
    for k in range(4):
        p, d, t, z = Point(1.0 + k, [2.0]), {"k": [1.0]}, Pair([1.0], 2.0), {"q": 1.0}
        see(p, d, t[0], z, f(p, d, t, [5.0], z=z))


def exchanged(compiled, see):
    e = types.SimpleNamespace(a=[1.0], b=[2.0], u=np.ones(2), v=np.zeros(2), last=None)

    def f(x):
        e.a, e.b, e.u, e.v = e.b, e.a, e.v, e.u
        e.a.append(x)
        e.u += x
        e.last = {"v": x, "before": e.last}
        return e.a, e.u, e.last

    f = compiled(f)
    for x in (0.5, 1.5, 2.5):
        see(e, f(x), e)


def sparse_matrices(compiled, see):
    c = types.SimpleNamespace(m=scipy.sparse.csr_matrix(np.eye(2)))
    f = compiled(lambda m, x: (m is c.m, c.m, m, m @ x, c.m @ x))
    for k in range(3):
        m = scipy.sparse.csr_matrix(np.eye(2) * k)
        found = f(m, np.ones(2))
        see(found[1] is c.m, found[2] is m, *found[3:])
        c.m = scipy.sparse.csr_matrix(np.eye(2) * 3)


SCENARIOS = (
    assigned_twice, deques_and_tuples, named_tuples, made_in_a_loop, one_array_twice, of_the_callers, of_the_module, among_the_arguments, exchanged, sparse_matrices,
)  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_one_object_stays_one(scenario: Scenario) -> None:
    seen: list[list[Any]] = [[], []]
    for out, compiled in zip(seen, (lambda f: f, irad.compile)):
        scenario(compiled, lambda *xs, out=out: out.append(shape(xs, {})))
    want, got = [[repr(x).split(" at 0x")[0] for x in out] for out in seen]
    assert got == want


def test_donated_memory_is_not_that_of_a_container_that_is_returned() -> None:
    f = irad.compile(lambda d, x: ([d], d["a"] + x), donate="d")
    for _ in range(3):
        d = {"a": np.ones(5), "b": np.zeros(5)}
        found, y = f(d, 2.0)
        assert found[0] is d and d["a"].tolist() == [1.0] * 5 and y.tolist() == [3.0] * 5


def test_a_list_that_holds_itself_is_refused() -> None:
    c = types.SimpleNamespace()

    def f(x: float) -> float:
        c.d = {"x": x}
        c.d["d"] = c.d
        return x

    with pytest.raises(irad.errors.UnsupportedError, match="holds itself"):
        irad.compile(f)(1.0)
