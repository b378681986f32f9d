"""Working memory of calls: kept between them, bounded, given back on demand; in huge pages where it is large."""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.codegen.call import machine as entry
from irad.codegen.call import memory
from irad.codegen.call.native import NativeCode
from tests.support.leaks import blocks_left

pytestmark = pytest.mark.plain


@pytest.fixture(params=["direct", "ctypes"], autouse=True)
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of calling; nothing is kept from other tests."""
    if request.param == "ctypes":
        monkeypatch.setattr(entry, "available", lambda: False)
    elif not entry.available():
        pytest.skip("the machine cannot be used here")
    gc.collect()
    irad.release_memory()
    return str(request.param)


def large(n: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """A function that keeps at least one array of n numbers in the arena; an argument and the result."""
    x = np.linspace(-1.0, 1.0, n)
    return irad.compile(lambda x: np.cumsum(np.cumsum(x)) * 2.0, dynamic=False), x, np.cumsum(np.cumsum(x)) * 2.0


def test_release_gives_back_what_is_kept() -> None:
    c, x, want = large(10_000)
    for _ in range(4):
        np.testing.assert_allclose(c(x), want, rtol=1e-12)
    freed = irad.release_memory()
    assert 80_000 <= freed < 1_000_000  # an array of 10,000 numbers; a context for each way of calling at most
    assert irad.release_memory() == 0
    for _ in range(3):
        np.testing.assert_allclose(c(x), want, rtol=1e-12)
    assert irad.release_memory() >= 80_000


def test_memory_of_tapes_is_given_back() -> None:
    def f(x: Any, n: int) -> Any:
        for _ in range(n):
            x = np.sin(x) * x
        return np.sum(x)

    c, x = irad.value_and_grad(f), np.linspace(0.5, 1.0, 8)
    want = [c(x, 5000) for _ in range(4)][0]
    assert irad.release_memory() >= 5000 * 8 * 8  # each trip keeps its row of 8 numbers
    again = c(x, 5000)
    assert again[0] == want[0] and np.array_equal(again[1], want[1])


def test_pullbacks_live_on() -> None:
    def f(x: Any) -> Any:
        for _ in range(300):
            x = np.sin(x) * x
        return np.sum(x)

    x = np.linspace(0.5, 1.0, 8)
    _, pull = irad.vjp(f, x)
    before = pull(1.0)[0]
    irad.release_memory()
    assert np.array_equal(pull(1.0)[0], before)


def test_release_inside_of_a_call() -> None:
    """What the call itself works in stays; what a call of the same function inside of it has used goes."""
    freed: list[int] = []

    def hook(x: np.ndarray) -> np.ndarray:
        if not freed:
            freed.append(0)
            c(x)
            freed[0] = irad.release_memory()
        return x * 1.0

    called = irad.callback(hook, np.zeros(10_000))

    def f(x: Any) -> Any:
        y = np.cumsum(np.cumsum(x))
        z = called(x)
        return np.cumsum(y * 2.0) + z

    c, x = irad.compile(f), np.linspace(-1.0, 1.0, 10_000)
    np.testing.assert_allclose(c(x), np.cumsum(np.cumsum(np.cumsum(x)) * 2.0) + x, rtol=1e-9)
    assert freed[0] >= 80_000


def test_release_while_others_run() -> None:
    c, x, want = large(20_000)
    g = irad.value_and_grad(lambda x: np.sum(np.cumsum(np.sin(x)) ** 2))
    slope = g(x)[1]
    wrong: list[str] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            if not np.allclose(c(x), want, rtol=1e-12) or not np.array_equal(g(x)[1], slope):
                wrong.append("a wrong result")

    threads = [threading.Thread(target=work) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for t in threads:
            t.start()
        total = sum(irad.release_memory() for _ in range(300))
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        for t in threads:
            t.join()
    assert not wrong and total > 0


def test_idle_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs that made a context for longest lose theirs first; results stay right."""
    monkeypatch.setattr(memory, "LIMIT", 1_000_000)
    made = [large(30_000 + k) for k in range(8)]  # 240 KB of arena each at least
    for c, x, want in made:
        for _ in range(3):
            np.testing.assert_allclose(c(x), want, rtol=1e-12)
    for c, x, want in made[:3]:
        np.testing.assert_allclose(c(x), want, rtol=1e-12)
    assert 200_000 < irad.release_memory() <= 1_000_000


def test_a_frame_that_another_thread_takes_is_made_again() -> None:
    if not entry.available():
        return
    c, x, want = large(100)
    for _ in range(3):
        c(x)
    (program,) = [p for p in _owners(entry.Program) if p.native.params[0].shape == (100,)]
    irad.release_memory()
    add, calls = program.add_frame, []

    def maker() -> None:  # the first frame is gone before the machine can take it
        calls.append(1)
        if len(calls) > 1:
            add()

    assert program.memory is not None
    kept, program.memory[4] = int(program.memory[4]), id(maker)
    try:
        np.testing.assert_allclose(c(x), want, rtol=1e-12)
    finally:
        program.memory[4] = kept
    assert len(calls) == 2


def _owners(kind: type) -> list[Any]:
    return [o for r in list(memory._owners.values()) if isinstance(o := r(), kind)]


def test_owners_die_with_their_code() -> None:
    before = len(memory._owners)
    c, x, _ = large(50)
    for _ in range(3):
        c(x)
    low = c.lower(x).native
    low.run([x])
    assert len(memory._owners) > before
    key = id(low)
    del low
    gc.collect()
    assert key not in memory._owners or not isinstance(memory._owners[key](), NativeCode)


@pytest.mark.parametrize("size", [1, 64, 4095, memory.HUGE - 1, memory.HUGE, memory.HUGE + 5, 3 * memory.HUGE_PAGE + 1])
def test_aligned(size: int) -> None:
    a, start = memory.aligned(size)
    first = a.__array_interface__["data"][0]
    assert first <= start and start + size <= first + a.nbytes
    assert start % (memory.HUGE_PAGE if size >= memory.HUGE else memory.ALIGN) == 0
    a[start - first : start - first + size] = 7
    assert a[start - first] == 7 and a[start - first + size - 1] == 7


def test_large_arenas_and_results() -> None:
    """An arena and results of more than 4 MiB each: right results, repeatedly, in memory that is used again."""
    c, x, want = large(600_000)
    for k in range(3):
        np.testing.assert_allclose(c(x + k), np.cumsum(np.cumsum(x + k)) * 2.0, rtol=1e-9)
    got = c(x)
    np.testing.assert_allclose(got, want, rtol=1e-9)
    assert got.flags.owndata and irad.release_memory() >= memory.HUGE


# ---- memory flat ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["value", "value_and_grad", "vjp", "pullback", "tape"])
def test_memory_is_flat(kind: str, route: str) -> None:
    """Tens of thousands of calls leave no block and no reference, and keep no more working memory."""
    n = 50_000 if route == "direct" else 3_000
    x, s, extra = np.linspace(0.1, 1.0, 8), 2.0, np.ones(8)
    f = lambda x, s: np.sum(np.sin(x) * s * extra)
    v, g, (_, pull) = irad.compile(f), irad.value_and_grad(f), irad.vjp(f, x, s)

    def looped(x: Any, s: Any) -> Any:
        for _ in range(3):
            x = np.sin(x) * s
        return np.sum(x)

    tape = irad.value_and_grad(looped, argnums=(0, 1))
    calls: dict[str, tuple[Callable[[], Any], int]] = {
        "value": (lambda: v(x, s), n),
        "value_and_grad": (lambda: g(x, s), n),
        "vjp": (lambda: irad.vjp(f, x, s)[1](1.0), n // 10),
        "pullback": (lambda: pull(1.0), n),
        "tape": (lambda: tape(x, s), n // 4),
    }
    call, many = calls[kind]
    for _ in range(5):
        call()
    irad.release_memory()
    call()
    kept = irad.release_memory()
    objects = [x, s, extra, f, np.dtype("f8"), float, np.ndarray]
    counts = [sys.getrefcount(o) for o in objects]
    assert blocks_left(call, many) < 50
    assert [k for k, (a, o) in enumerate(zip(counts, objects)) if abs(a - sys.getrefcount(o)) > 50] == []
    assert irad.release_memory() == kept


# ---- fork ------------------------------------------------------------------------------------------------------------------


def _child(queue: Any, call: Callable[..., Any], x: np.ndarray) -> None:
    old = call(x)
    new = irad.value_and_grad(lambda x: np.sum(np.exp(x) * x))(x)
    freed = irad.release_memory()
    queue.put((old, new, freed, call(x)))


def test_fork() -> None:
    """A child calls what its parent has compiled, and compiles."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("no fork here")
    c, x, _ = large(5_000)
    g = irad.value_and_grad(lambda x: np.sum(np.tanh(x) ** 2))
    both = lambda x: (c(x), *g(x))
    want = [both(x) for _ in range(3)][0]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=_child, args=(queue, both, x)) for _ in range(3)]
    for p in children:
        p.start()
    found = [queue.get(timeout=300) for _ in children]
    for p in children:
        p.join(300)
        assert p.exitcode == 0
    for old, new, freed, again in found:
        for got in (old, again):
            assert np.array_equal(got[0], want[0]) and got[1] == want[1] and np.array_equal(got[2], want[2])
        assert abs(new[0] - float(np.sum(np.exp(x) * x))) < 1e-9 * abs(new[0]) + 1e-9
        np.testing.assert_allclose(new[1], np.exp(x) * (x + 1), rtol=1e-13)
        assert freed > 0
    assert np.array_equal(c(x), want[0])


WHILE_COMPILING = """
import gc, os, threading, time
import numpy as np, irad

def f(x):
    y = x
    for _ in (1, 2, 3, 4, 5, 6, 7, 8):
        y = np.sin(y) * x + np.cos(y)
    return np.sum(y)

g = irad.value_and_grad(f)
for k, delay in enumerate((0.002, 0.005, 0.01, 0.03, 0.06, 0.1)):
    x = np.ones(50 + k)
    t = threading.Thread(target=g, args=(x,))
    t.start()
    time.sleep(delay)
    pid = os.fork()
    if not pid:
        g(x)
        os._exit(0 if gc.isenabled() else 1)
    t.join()
    for _ in range(1200):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            break
        time.sleep(0.1)
    else:
        os.kill(pid, 9)
    print("ok" if found and not status else "hangs or fails")
"""


def test_fork_while_another_thread_compiles(route: str) -> None:
    """What the other thread held is free in the child."""
    if not hasattr(os, "fork") or route == "ctypes":
        pytest.skip("no fork here, or done already")
    script = [sys.executable, "-W", "ignore", "-c", WHILE_COMPILING]
    done = subprocess.run(script, capture_output=True, text=True, timeout=900, check=False)
    assert done.stdout.split("\n")[:-1] == ["ok"] * 6, done.stderr


WHILE_IT_HOLDS = """
import os, sys, threading, time
import numpy as np, irad
from llvmlite.binding import ffi
from irad.core import once

irad.compile(lambda x: np.sin(x))(np.ones(2))
assert len(once._held) >= 3 and ffi.lib._lock._lock in once._held
for lock in once._held:
    held = threading.Event()
    def hold():
        with lock:
            held.set()
            time.sleep(0.3)
    t = threading.Thread(target=hold)
    t.start()
    held.wait()
    pid = os.fork()
    if not pid:
        free = all(l.acquire(timeout=5) for l in once._held)
        os._exit(0 if free else 1)
    print("free" if os.waitpid(pid, 0)[1] == 0 else "held")
    t.join()
"""


def test_locks_that_another_thread_holds_are_free_in_a_child() -> None:
    """Also the lock of LLVM's own objects, which threads take that compile nothing."""
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WHILE_IT_HOLDS], capture_output=True, text=True, timeout=300, check=False
    )
    assert set(done.stdout.split()) == {"free"}, done.stdout + done.stderr
