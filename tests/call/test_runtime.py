"""Caches of specialisations, and how long work is taken to be."""

from __future__ import annotations

import gc
import sys
import threading
import time
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import irad
from irad.call import runtime
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.cost import work
from irad.codegen.kernel.form import POLL
from irad.codegen.transform.polled import polled
from irad.options import DEFAULT
from tests.benchmarks.stress import code_mappings

A = np.arange(8.0)


def versions(f: Any, options: Any = DEFAULT) -> list[Any]:
    return [s for group in runtime.cache_for(f, options).entries.values() for s in group]


def test_old_versions_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "VERSIONS", 3)
    f = lambda x: x + 1
    c = irad.compile(f, dynamic=False)
    c(A), c(A)
    first = weakref.ref(versions(f, c.options)[0].native)
    for n in range(1, 6):
        for _ in range(2):
            assert np.array_equal(c(A[:n]), A[:n] + 1)
        assert len(versions(f, c.options)) <= 3
    gc.collect()
    assert first() is None
    assert np.array_equal(c(A), A + 1)


def test_old_versions_of_one_type_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "VERSIONS", 3)
    mode = "0"

    def f(x: Any) -> Any:
        return x + float(mode)

    c = irad.compile(f)
    for k in range(6):
        mode = str(k)
        for _ in range(3):
            assert np.array_equal(c(A), A + k)
        assert len(versions(f)) <= 3


def test_old_functions_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "FUNCTIONS", 4)
    made = [eval(f"lambda x: x + {k}") for k in range(3)] + [lambda x: x * 2, lambda x: x * 3, lambda x: x * 4]
    for f in made[3:] * 3:
        for _ in range(3):
            assert np.array_equal(irad.compile(f)(A), f(A))
        assert len(runtime._caches) <= 4 or f.__code__ in runtime._caches


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux' list of mappings")
def test_machine_code_of_old_functions_is_unmapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/benchmarks/stress.py counts the same over thousands."""
    monkeypatch.setattr(runtime, "_caches", OrderedDict())  # what earlier tests left behind stays as it is
    monkeypatch.setattr(runtime, "FUNCTIONS", 2)
    x, before = np.linspace(0.1, 1.0, 7), []
    for k in range(12):
        assert np.array_equal(irad.compile(eval(f"lambda x: x * {k}.25"))(x), x * (k + 0.25))
        gc.collect()
        before.append(code_mappings())
    assert max(before[2:]) - before[1] <= 2


def test_long_calls_let_other_threads_run() -> None:
    def steps(x: float, n: int) -> float:
        for _ in range(n):
            x = x * 0.999 + 0.5
        return x

    for c in (irad.compile(steps), irad.value_and_grad(steps)):
        c(1.0, 10)
        c(1.0, 10)
        counted, done = 0, threading.Event()
        thread = threading.Thread(target=lambda c=c, done=done: (c(1.0, 40_000_000), done.set()))
        thread.start()
        while not done.is_set():
            counted += 1
            time.sleep(0.0005)
        thread.join()
        assert counted > 20


def test_threads_compile_once() -> None:
    def g(x: Any) -> Any:
        return np.tanh(x) * 3

    c = irad.compile(g)
    start = threading.Barrier(4)
    wrong = []

    def work() -> None:
        start.wait()
        if not np.allclose(c(A), g(A)):
            wrong.append(None)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and len(versions(g)) == 1


def test_objects_keep_what_they_are() -> None:
    def f(x: Any) -> Any:
        """Twice."""
        return np.sum(x * 2)

    c, g = irad.compile(f), irad.grad(f)
    for _ in range(4):
        c(A), g(A), c.grad(A), c.value_and_grad(A)
    assert isinstance(c, irad.api.Compiled) and type(c).__name__ == "Compiled" and "of f" in repr(c)
    assert c.__wrapped__ is f and c.__doc__ == "Twice." and c.__name__ == "f" and callable(c.lower) and callable(c.vjp)
    assert np.array_equal(irad.grad(lambda x: c(x) * 2)(A), np.full(8, 4.0))
    assert np.array_equal(irad.compile(lambda x: g(x) + 1)(A), np.full(8, 3.0))
    assert np.array_equal(irad.compile(c)(A), f(A))


def test_compiled_methods() -> None:
    class Model:
        def __init__(self, w: float):
            self.w = w

        @irad.compile
        def __call__(self, x: Any) -> Any:
            return x * self.w

        @irad.compile
        def double(self, x: Any) -> Any:
            return x * self.w * 2

    a, b = Model(2.0), Model(3.0)
    for _ in range(4):
        for m in (a, b):
            assert np.array_equal(m.double(A), A * m.w * 2) and np.array_equal(m(A), A * m.w)
            m.w += 1


# ---- long work ---------------------------------------------------------------------------------------------------------------


def kernel(x: Any, f: Any) -> kf.Kernel:
    return irad.compile(f).lower(*x).native.lowered.kernels[0]


def test_work_grows_with_the_arrays() -> None:
    costs = [work(kernel((np.ones(n),), lambda x: np.sin(x) * x).body) for n in (100, 10_000, 1_000_000)]
    assert 10 < costs[1] / costs[0] < 1000 and 50 < costs[2] / costs[1] < 200
    assert not irad.compile(lambda x: x + 1).lower(A).native.long
    assert irad.compile(lambda x: np.sin(x)).lower(np.ones(100_000)).native.long


def polls(k: kf.Kernel) -> int:
    return sum(isinstance(s, kf.Call) and s.symbol == POLL for s in kf.walk(k.body))


def test_only_long_loops_listen() -> None:
    def steps(x: float, n: int) -> float:
        for _ in range(n):
            x = x * 0.5 + 1.0
        return x

    def newton(x: float) -> float:
        y = x
        while abs(y * y - x) > 1e-12:
            y = (y + x / y) / 2
        return y

    assert polls(kernel((1.0, 5), steps)) == 1
    assert polls(kernel((2.0,), newton)) == 1
    assert polls(kernel((np.ones(1000),), lambda x: np.sin(x) * x)) == 0
    for n in (0, 1, 5, 3_000_000):
        assert irad.compile(steps)(1.0, n) == steps(1.0, n)
    for x in (2.0, 1e6):
        assert irad.compile(newton)(x) == newton(x)


def test_gradients_of_long_loops_listen_in_every_loop() -> None:
    """A backward computes parts of a loop again: loops in loops, each of unknown length. Ctrl-C would wait for a whole part."""

    def steps(x: Any, n: int) -> Any:
        for _ in range(n):
            x = x * 0.999 + 0.1 * np.sin(x)
        return np.sum(x)

    k = irad.compile(steps).lower(np.ones(1000), 3, grad=True).native.lowered.kernels[0]
    loops = [s for s in kf.walk(k.body) if isinstance(s, kf.For) and s.kind == "seq"]
    unknown = [s for s in loops if kf.trips(s) == float("inf")]
    outer = [s for s in unknown if any(polls_of(s.body))]
    assert len(outer) >= 5 and all(s in outer or s.lo.startswith("poll_from") for s in unknown)  # the others run within a chunk
    for n in (0, 1, 3, 600, 2000):
        value, grad = irad.value_and_grad(steps)(np.full(1000, 0.01), n)
        x, slope = 0.01, 1.0
        for _ in range(n):
            x, slope = x * 0.999 + 0.1 * np.sin(x), slope * (0.999 + 0.1 * np.cos(x))
        np.testing.assert_allclose((value, grad[7]), (1000 * x, slope), rtol=1e-10)


def polls_of(body: list[kf.Stmt]) -> list[kf.Stmt]:
    """The polls in a body, not those in its loops."""
    return [s for t in body if isinstance(t, kf.If) for s in t.then if isinstance(s, kf.Call) and s.symbol == POLL]


def test_chunks_run_what_the_loop_ran() -> None:
    """Loops cut in chunks of any size visit the same indices."""
    body: list[kf.Stmt] = [
        kf.Let("v", "i64", kf.Load("p0", ("i",))),
        kf.Let("w", "i64", kf.Apply("add", ("v", kf.Const(1, "i64")))),
        kf.Store("p0", ("i",), "w"),
    ]
    for hi in ("n", 10**9):
        k = polled(
            kf.Kernel("k", [kf.Param("n", "i64", None), kf.Param("p0", "i64", (1 << 40,))], [kf.For("i", "seq", 3, hi, body)])
        )
        (outer,) = k.body
        inner = [s for s in kf.walk(k.body) if isinstance(s, kf.For) and s is not outer]
        assert isinstance(outer, kf.For) and polls(k) == 1
        assert (inner[0].lo, inner[0].body, outer.lo, outer.hi) == (outer.var, body, 3, hi) and outer.step > 1
    short = kf.Kernel("k", [kf.Param("p0", "i64", (100,))], [kf.For("i", "seq", 0, 100, body)])
    assert polled(short).body == short.body
