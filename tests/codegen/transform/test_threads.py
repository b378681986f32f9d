"""Loops shared among threads: which loops are, the same bits whatever the number of threads, the pool's behaviour."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import irad
from irad.codegen.kernel.parse import parse
from irad.codegen.kernel.show import show
from irad.codegen.libraries import pool
from irad.codegen.transform import outline, parallel
from irad.frontend.trace import trace
from irad.options import options
from irad.pipeline import native, optimise
from tests.support import ROOT

pytestmark = pytest.mark.skipif(not pool.available(), reason="kernels run on one thread here")


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share out loops of little work."""
    for module, name in ((parallel, "WORTH"), (parallel, "BLOCK"), (outline, "CHUNK")):
        monkeypatch.setattr(module, name, 30.0)


def marked(text: str) -> list[str]:
    """The loops of a kernel that are made parallel."""
    (kernel,) = parse(text)
    return [l.strip() for l in show(parallel.shared(kernel)).splitlines() if " in par(" in l]


def body(statements: str, params: str = "x: f64[4096], y: f64[4096]") -> str:
    indented = "\n".join("    " + l for l in statements.strip("\n").splitlines())
    return f"def f({params}):\n{indented}\n"


@pytest.mark.parametrize(
    ("why", "statements", "found"),
    [
        ("elements of its own", "for i in seq(0, 64):\n    for j in vec(0, 64, W=8):\n        a: f64 = x[64*i+j]\n        y[64*i+j] = a", True),
        ("in place", "for i in seq(0, 64):\n    for j in vec(0, 64, W=8):\n        a: f64 = y[64*i+j]\n        y[64*i+j] = a", True),
        ("columns", "for j in seq(0, 64):\n    for i in seq(0, 64):\n        a: f64 = x[64*i+j]\n        y[64*i+j] = a", True),
        ("transposed", "for i in seq(0, 64):\n    for j in vec(0, 64, W=8):\n        a: f64 = x[64*i+j]\n        y[64*j+i] = a", True),
        ("the row before", "for i in seq(1, 64):\n    for j in vec(0, 64, W=8):\n        a: f64 = y[64*i+j-64]\n        y[64*i+j] = a", False),
        ("the next element", "for i in seq(0, 4000):\n    a: f64 = y[i+1]\n    y[i] = a", False),
        ("rows that overlap", "for i in seq(0, 64):\n    for j in vec(0, 64, W=8):\n        y[63*i+j] = 1.0", False),
        ("a variable", "v = var(0.0, f64)\nfor i in seq(0, 4000):\n    a: f64 = x[i]\n    b: f64 = v + a\n    v = b\n    y[i] = b", False),
        ("a sum", "t = fold(add, 0.0, f64)\nfor i in vec(0, 4096, W=8):\n    a: f64 = x[i]\n    t += a\ns: f64 = part(t)\ny[0] = s", True),
        ("sums in memory", "for i in seq(0, 64):\n    for j in vec(0, 64, W=8):\n        a: f64 = x[64*i+j]\n        y[j] += a", True),
        ("read what it adds to", "for i in seq(0, 64):\n    for j in vec(0, 64, W=8):\n        a: f64 = y[j]\n        y[j] += a", False),
        ("the last wins", "for i in seq(0, 64):\n    for j in vec(0, 64, W=8):\n        y[j] = 1.0", False),
        ("a raise", "for i in seq(0, 4000):\n    a: f64 = x[i]\n    b: bool = a < 0.0\n    raise_if(b, 1)\n    y[i] = a", False),
        ("a scatter", "for i in seq(0, 4000):\n    a: f64 = x[i]\n    k: i64 = cast(a)\n    y[k] = a", False),
        ("a gather", "for i in seq(0, 4000):\n    k: i64 = mul(i, i)\n    a: f64 = x[k]\n    y[i] = a", True),
        ("scratch", "b = buf(f64, 64)\nfor i in seq(0, 64):\n    for j in vec(0, 64, W=8):\n        a: f64 = x[64*i+j]\n        b[j] = a\n"
         "    for k in vec(0, 64, W=8):\n        c: f64 = b[k]\n        y[64*i+k] = c", True),
        ("scratch of the row before", "b = buf(f64, 64)\nfor i in seq(0, 64):\n    for k in vec(0, 64, W=8):\n        c: f64 = b[k]\n"
         "        y[64*i+k] = c\n        b[k] = c", False),
        ("scratch half filled", "b = buf(f64, 64)\nfor i in seq(0, 64):\n    for j in vec(0, 32, W=8):\n        a: f64 = x[64*i+j]\n        b[j] = a\n"
         "    for k in vec(0, 64, W=8):\n        c: f64 = b[k]\n        y[64*i+k] = c", False),
        ("scratch read later", "b = buf(f64, 64)\nfor i in seq(0, 64):\n    for j in vec(0, 64, W=8):\n        a: f64 = x[64*i+j]\n        b[j] = a\n"
         "    for k in vec(0, 64, W=8):\n        c: f64 = b[k]\n        y[64*i+k] = c\ne: f64 = b[3]\ny[0] = e", False),
        ("a triangle", "for i in seq(0, 64):\n    for j in seq(0, i):\n        y[64*i+j] = 1.0", True),
    ],
)  # fmt: skip
def test_which_loops(why: str, statements: str, found: bool, eager: None) -> None:
    outermost = [l for l in marked(body(statements))]
    assert bool(outermost) == found, why


def test_slots_of_an_arena_may_lie_over_each_other(eager: None) -> None:
    """Two places that overlap are one memory: here iteration i writes what iteration i + 1 reads."""
    text = """def f(arena: u8[8192], y: f64[64]):
    a = view(arena[0], (64,), f64)
    b = view(arena[{}], (64,), f64)
    for i in seq(0, 64):
        x: f64 = a[i]
        b[i] = x
"""
    assert marked(text.format(64)) and not marked(text.format(1))


PROGRAMS: list[tuple[Any, tuple[tuple[int, ...], ...]]] = [
    (lambda x: np.sum(np.sin(x) * x), ((20011,),)),
    (lambda x: np.sin(x) * x, ((20011,),)),
    (lambda x: np.argmax(np.sin(x)), ((20011,),)),
    (lambda x: np.prod(1 + 0.001 * np.sin(x)), ((5003,),)),
    (lambda x: np.max(np.cos(x), axis=0), ((67, 31),)),
    (lambda x: np.tanh(x).sum(axis=0), ((150, 63),)),
    (lambda x: np.tanh(x).mean(axis=1), ((150, 63),)),
    (lambda x: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True), ((70, 33),)),
    (lambda x, w: np.sum(np.log1p(np.exp(x @ w))), ((300, 21), (21,))),
    (lambda x, w: np.tanh(x @ w) @ w.T, ((90, 40), (40, 50))),
    (lambda x: np.cumsum(x, axis=0).T.copy(), ((40, 50),)),
    (lambda x: np.sort(x, axis=1), ((40, 50),)),
]


def code(f: Any, args: Any, threads: int) -> Any:
    traced = trace(f, args)
    made = native(optimise(traced.program), options=options(f, threads, False, None, None))
    return made, lambda: made.run([np.ascontiguousarray(a) for a in args])


@pytest.mark.parametrize("k", range(len(PROGRAMS)))
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_same_bits_on_any_number_of_threads(k: int, dtype: str, eager: None) -> None:
    f, shapes = PROGRAMS[k]
    rng = np.random.default_rng(k)
    args = [rng.standard_normal(s).astype(dtype) for s in shapes]
    g = irad.value_and_grad(lambda *xs: np.sum(f(*xs) * 1.0), argnums=tuple(range(len(args))))
    for fn in (f, g):
        _, one = code(fn, args, 1)
        want = one()
        for threads in (2, 3, 8) if dtype == "f8" else (3,):
            _, many = code(fn, args, threads)
            for _ in range(3):
                for a, b in zip(many(), want, strict=True):
                    np.testing.assert_array_equal(a, b)
    tolerance = 1e-12 if dtype == "f8" else 2e-5
    np.testing.assert_allclose(code(f, args, 3)[1]()[0], f(*args), rtol=tolerance, atol=tolerance)


def test_small_work_stays_on_its_thread() -> None:
    made, _ = code(lambda x: np.sum(np.sin(x)), [np.ones(100)], 4)
    assert " in par(" not in made.kernel_text and "irad_parallel" not in made.text
    made, _ = code(lambda x: np.sum(np.sin(x)), [np.ones(1 << 18)], 4)
    assert " in par(" in made.kernel_text and "irad_parallel" in made.text


def test_many_python_threads_at_once(eager: None) -> None:
    x = np.linspace(0.0, 1.0, 30011)
    c = irad.value_and_grad(lambda x: np.sum(np.sin(x) * x))
    want = c(x)
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(40):
            v, g = c(x)
            if v != want[0] or not np.array_equal(g, want[1]):
                wrong.append(v)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def run(script: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FORK = """
import os, threading
import numpy as np, irad
x = np.linspace(0.0, 1.0, 1 << 20)
c = irad.value_and_grad(lambda x: np.sum(np.sin(x) * x))
want = c(x)[0]
def workers(): return len(os.listdir("/proc/self/task"))
for _ in range(3):
    pid = os.fork()
    if not pid:
        ok = workers() == 1 and c(x)[0] == want and workers() == 3
        ok = ok and irad.compile(lambda x: np.cos(x).sum())(x) is not None
        os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert c(x)[0] == want
print(threading.active_count(), workers())
"""


def test_fork() -> None:
    """A child has no workers, and starts its own."""
    assert run(FORK, IRAD_NUM_THREADS="3").split() == ["1", "3"]


def test_no_thread_before_it_is_needed() -> None:
    script = """
import os
import numpy as np, irad
c = irad.compile(lambda x: np.sum(np.sin(x)))
count = lambda: len(os.listdir("/proc/self/task"))
before = count()
c(np.ones(1000)); small = count()
c(np.ones(1 << 20)); large = count()
print(small - before, large - before)
"""
    assert run(script, IRAD_NUM_THREADS="4", OPENBLAS_NUM_THREADS="1").split() == ["0", "3"]
    assert run(script, IRAD_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1").split() == ["0", "0"]


def test_signals_go_to_the_main_thread() -> None:
    script = """
import os, signal
import numpy as np, irad
c = irad.compile(lambda x: np.sum(np.sin(x)))
x = np.ones(1 << 20)
c(x)
seen = []
signal.signal(signal.SIGUSR1, lambda *a: seen.append(1))
for _ in range(50):
    os.kill(os.getpid(), signal.SIGUSR1)
    c(x)
print(len(seen) > 0)
"""
    assert run(script, IRAD_NUM_THREADS="3").strip() == "True"


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_a_bad_number_of_threads(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(pool.VARIABLE, text)
    with pytest.raises(ValueError, match="IRAD_NUM_THREADS"):
        pool.default_threads()


def test_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(pool.VARIABLE, raising=False)
    assert pool.default_threads() == min(len(os.sched_getaffinity(0)), pool.MOST)
    monkeypatch.setenv(pool.VARIABLE, "3")
    assert pool.default_threads() == 3


def test_steps_of_a_loop_are_known(eager: None) -> None:
    """Rows of 64 in blocks of 16 columns: the last block starts at 48, so rows do not overlap."""
    text = body(
        "for i in seq(0, 64):\n    for k in seq(0, 64, 16):\n        for j in vec(0, 16, W=8, full=1):\n            y[64*i+k+j] = 1.0"
    )
    assert marked(text) == ["for i in par(0, 64):"]


def test_scratch_read_after_a_while_that_may_not_fill_it(eager: None) -> None:
    """What the loop leaves in b is read if the `while` never runs, so the loop may not have a b of its own."""
    text = """
b = buf(f64, 64)
for i in seq(0, 64):
    for j in vec(0, 64, W=8):
        a: f64 = x[64*i+j]
        b[j] = a
    for k in vec(0, 64, W=8):
        c: f64 = b[k]
        y[64*i+k] = c
go = var(False, bool)
while True:
    if not go:
        break
    for l in vec(0, 64, W=8):
        b[l] = 1.0
for m in vec(0, 64, W=8):
    d: f64 = b[m]
    y[m] = d
"""
    assert "for i in par(0, 64):" not in marked(body(text))


def test_scratch_filled_backwards_in_steps(eager: None) -> None:
    """Steps of 8 up to 56 with a stride of -8: elements 0 to 56 in eights; one vector fewer leaves the first ones unwritten."""
    fill = "b = buf(f64, 64)\nfor i in seq(0, 64):\n    for k in seq(0, {}, 8):\n        for j in vec(0, 8, W=8, full=1):\n"
    fill += "            b[56-k+j] = 1.0\n    for k in vec(0, 64, W=8):\n        c: f64 = b[k]\n        y[64*i+k] = c"
    assert marked(body(fill.format(64))) and not marked(body(fill.format(56)))


@pytest.mark.parametrize(("end", "shared"), [(8, True), (9, False)])
def test_sums_under_a_condition(eager: None, end: int, shared: bool) -> None:
    """A part of the sums for each thread has an element for each trip of the loop inside, and all of them are added to `r`."""
    lines = ["def k(x: f64[64], r: f64[8]):", "    for i in seq(0, 64):", f"        for j in seq(0, {end}):"]
    lines += ["            c: bool = j < 8", "            if c:", "                v: f64 = contract(x[i])"]
    lines += ["                r[j] += v"]
    assert bool(marked("\n".join(lines) + "\n")) == shared
