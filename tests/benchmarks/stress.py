"""What a run time must stand, at full length, by hand (scaled down it is in tests/call):

python -m tests.benchmarks.stress calls [10000000]    calls of a value, a gradient, a pullback: memory flat, results equal, no reference kept
python -m tests.benchmarks.stress functions [5000]    as many functions compiled and let go: code and memory come back
python -m tests.benchmarks.stress shapes [5000]       as many shapes of one function
python -m tests.benchmarks.stress threads [8]         calls from many threads: how they scale
python -m tests.benchmarks.stress kills [1000]        processes killed while they write to the cache: no entry is damaged
"""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import irad
from irad.core import disk


def resident() -> float:
    """MiB of the process that are in memory."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def code_mappings() -> int:
    """How many pieces of memory hold machine code that belongs to no file."""
    with open("/proc/self/maps") as f:
        return sum(" r-xp " in line and line.rstrip().endswith(" 0") for line in f)


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def calls(n: int) -> None:
    x = np.array([1.3, 0.7, 0.8, 1.9, 1.2])
    value, both, (_, pull) = irad.compile(rosenbrock), irad.value_and_grad(rosenbrock), irad.vjp(rosenbrock, x)
    bits = lambda r: [bits(e) for e in r] if isinstance(r, tuple) else np.asarray(r).tobytes()
    for name, call in {"value": lambda: value(x), "value_and_grad": lambda: both(x), "pullback": lambda: pull(1.0)}.items():
        want = [bits(call()) for _ in range(5)][-1]
        counts = [sys.getrefcount(o) for o in (x, rosenbrock, np.dtype("f8"), float)]
        gc.collect()
        blocks, before, start = sys.getallocatedblocks(), resident(), time.process_time()
        for _ in range(n // 1000):
            for _ in range(999):
                call()
            assert bits(call()) == want
        took = time.process_time() - start
        gc.collect()
        after = [sys.getrefcount(o) for o in (x, rosenbrock, np.dtype("f8"), float)]
        print(
            f"{name}: {n} calls, {took / n * 1e6:.2f} us each, {resident() - before:+.2f} MiB, "
            f"{sys.getallocatedblocks() - blocks:+} blocks, references {[a - b for a, b in zip(after, counts)]}",
            flush=True,
        )


def functions(n: int) -> None:
    x = np.linspace(0.0, 1.0, 9)
    _compiled(n, lambda k: (eval(f"lambda x: np.sum(np.sin(x) * {k}.5 + x ** 2)", {"np": np}), x))


def shapes(n: int) -> None:
    f = lambda x: np.sum(np.sin(x) * 0.5 + x**2)
    _compiled(n, lambda k: (f, np.linspace(0.0, 1.0, k + 2)))


def _compiled(n: int, made: Callable[[int], tuple[Any, np.ndarray]]) -> None:
    for k in range(n):
        f, x = made(k)
        value, grad = irad.value_and_grad(f)(x)
        assert np.isclose(value, f(x))
        if k in (n // 10, n // 4, n // 2, n - 1):
            gc.collect()
            print(f"{k + 1}: {resident():.1f} MiB, {code_mappings()} pieces of code", flush=True)


def threads(most: int) -> None:
    x = np.random.default_rng(0).random(20_000)
    f = irad.compile(lambda x: np.sum(np.sin(x) * np.exp(x)), threads=1)
    want = f.grad(x)
    f.grad(x)

    def work(n: int) -> None:
        for _ in range(n):
            assert np.array_equal(f.grad(x), want)

    for count in (1, 2, most):
        running = [threading.Thread(target=work, args=(2000 // count,)) for _ in range(count)]
        start, used = time.perf_counter(), time.process_time()
        for t in running:
            t.start()
        for t in running:
            t.join()
        wall, used = time.perf_counter() - start, time.process_time() - used
        print(f"{count} threads: {wall:.2f} s, {used / wall:.2f} cores busy", flush=True)


def kills(n: int) -> None:
    rng, found = random.Random(0), 0
    content = lambda k: bytes([k]) * (1000 + 40_001 * k)
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {"IRAD_CACHE": "1", "IRAD_CACHE_DIR": place, "IRAD_CACHE_SIZE": "20M"}
        for _ in range(n):
            child = os.fork()
            if child == 0:
                while True:
                    for k in range(50):
                        disk.write(f"{k:064x}", content(k))
            time.sleep(rng.random() * 0.03)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            for e in disk.entries(place):
                assert disk.read(e.key) == content(int(e.key, 16))
                found += 1
        parts = len(disk.entries(place, disk.UNFINISHED))
        total = sum(e.size for e in disk.entries(place)) / 2**20
    print(f"{n} processes killed: {found} entries looked at, all whole; {parts} unfinished files, entries of {total:.1f} MiB")


if __name__ == "__main__":
    what = {
        "calls": (calls, 10_000_000),
        "functions": (functions, 5000),
        "shapes": (shapes, 5000),
        "threads": (threads, 8),
        "kills": (kills, 1000),
    }
    run, size = what[sys.argv[1]]
    run(int(sys.argv[2]) if len(sys.argv) > 2 else size)
