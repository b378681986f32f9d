"""`check="memory"`: code that checks its memory finds what is read before it was written, and what is touched outside of its array."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import irad
from irad.codegen import jit
from irad.codegen.call.memory_run import CheckedNative, unwritten
from irad.codegen.emit.kernels import emit
from irad.codegen.kernel import assigned
from irad.codegen.kernel import check as kcheck
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.parse import parse
from irad.codegen.libraries import pool
from irad.codegen.lower import tape
from irad.codegen.lower.graph import KernelBuilder, Lowered
from irad.codegen.schedule import nests as schedule_nest
from irad.codegen.transform.memory_check import POISON, Elsewhere, Violation, memory_checked, support
from irad.errors import IradValueError, MemoryCheckError, VerifyError


def covariance(m: Any) -> Any:
    d = m - m.mean(axis=1, keepdims=True)
    return d @ d.T / (m.shape[1] - 1)


def checked(text: str) -> tuple[Any, Lowered]:
    """The kernel of a text with its checks, as a function of arrays and numbers."""
    lowered = Lowered([], 0)
    kernels, _ = memory_checked(parse(text), lowered)
    lib = jit.load(emit(kernels, support=support()), [kernels[0].name])
    types = [ctypes.c_void_p if p.shape is not None else ctypes.c_int64 for p in kernels[0].params]
    f = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(lib.address(kernels[0].name))

    def call(*args: Any) -> int:
        assert lib
        return f(*[a.ctypes.data if isinstance(a, np.ndarray) else a for a in args])

    return call, lowered


# ---- the option ----------------------------------------------------------------------------------------------


def test_option_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(6.0).reshape(2, 3)
    marked = lambda **options: "begin(" in irad.compile(covariance, **options).lower(x).kernel
    monkeypatch.delenv("IRAD_CHECK", raising=False)
    assert marked(check="memory") and not marked() and not marked(check="none")
    monkeypatch.setenv("IRAD_CHECK", "memory")
    assert marked() and not marked(check="none")
    monkeypatch.setenv("IRAD_CHECK", "everything")
    with pytest.raises(IradValueError, match="IRAD_CHECK"):
        marked()
    with pytest.raises(IradValueError, match="check: one of 'memory', 'none'"):
        irad.compile(covariance, check="bounds")


def test_options_are_part_of_what_finds_the_code() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for check in ("none", "memory", "none"):
        np.testing.assert_allclose(irad.compile(covariance, check=check)(x), np.cov(x))


# ---- what it finds -------------------------------------------------------------------------------------------


def test_a_row_that_was_never_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without starts of their own, inner loops fold into what the row buffer happened to hold: the verifier says so, and what is
    computed from it if that looked away."""
    m = np.random.default_rng(0).random((3, 40))
    monkeypatch.setattr(schedule_nest, "_own_starts", lambda f, node: node)
    for check in ("none", "memory"):
        with pytest.raises(VerifyError, match="read before anything is stored to it"):
            irad.compile(covariance, check=check)(m)
    monkeypatch.setattr(kcheck._Verifier, "read", lambda self, buf: None)
    monkeypatch.setattr(assigned, "prove", lambda kernels: None)
    with pytest.raises(MemoryCheckError, match="result 0 .* never written"):
        irad.compile(covariance, check="memory", dynamic=False)(m)


def test_a_row_that_an_earlier_row_has_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row buffer begins anew with each row: what the row before has left there is as good as never written."""

    row = schedule_nest.NestedLoop._row

    def row_without_starts(self: Any) -> None:
        """The starts stand before the nest, as they would without a buffer that begins anew."""
        made = [n for n in self.body.nodes if n.op.name == "const" and n.out.type.shape]
        self.f.head += self.f.within(lambda: [self.f.node(n) for n in made] and None)
        self.body = self.body.replace(nodes=[n for n in self.body.nodes if n not in made])
        row(self)

    monkeypatch.setattr(schedule_nest.NestedLoop, "_row", row_without_starts)
    m = np.random.default_rng(0).random((3, 41))
    with pytest.raises(VerifyError, match="read before anything is stored to it"):
        irad.compile(covariance, check="memory", dynamic=False)(m)
    monkeypatch.setattr(assigned, "prove", lambda kernels: None)
    with pytest.raises(MemoryCheckError, match="never written"):
        irad.compile(covariance, check="memory", dynamic=False)(m)


@pytest.mark.parametrize(
    ("statement", "k", "wrong"),
    [
        ("x[k] = 1.0", 8, 8),
        ("x[k] = 1.0", -1, -1),
        ("x[k] += 1.0", 8, 8),
        ("y: f64 = x[k+1]\n    x[0] = y", 7, 8),
        ("y: f64 = x[3-k]\n    x[0] = y", 4, -1),
    ],
)
def test_bounds(statement: str, k: int, wrong: int) -> None:
    f, lowered = checked(f"def f(x: f64[8], k: i64, err: i64[32]):\n    {statement}\n")
    x, err = np.zeros(8), np.zeros(32, np.int64)
    assert f(x, 1, err) == 0
    x[:] = 0
    code = f(x, k, err)
    assert isinstance(lowered.raises[code - 1], Violation) and not x.any()
    assert list(err[:2]) == [code, wrong]
    assert f"kernel `f`: index {wrong} is outside of buffer `x`" in str(lowered.raises[code - 1].error(wrong))


def test_bounds_of_lanes() -> None:
    """The first lane outside of the buffer is named; lanes behind the end of the loop are none."""
    text = "def f(x: f64[10], at: i64[10], n: i64, err: i64[32]):\n    for i in vec(0, n, W=8):\n"
    f, _ = checked(text + "        k: i64 = at[i]\n        v: f64 = x[k]\n        x[i] = v\n")
    at, err = np.arange(10)[::-1].copy(), np.zeros(32, np.int64)
    assert f(np.zeros(10), at, 10, err) == 0
    at[9] = 77
    assert f(np.zeros(10), at, 9, err) == 0
    assert f(np.zeros(10), at, 10, err) and err[1] == 77
    assert f(np.zeros(10), at, 11, err) and err[1] == 10  # of `at`


def test_what_the_loops_prove_is_not_checked() -> None:
    text = "def f(x: f64[12], err: i64[32]):\n    for i in seq(0, 3):\n        for j in vec(0, 4, W=4):\n            x[4*i+j] = 1.0\n"
    lowered = Lowered([], 0)
    _, found = memory_checked(parse(text), lowered)
    assert (found.total, found.unproven, lowered.raises) == (1, [], [])
    _, found = memory_checked(parse(text.replace("4*i+j", "4*i+j+1")), lowered)
    assert len(found.unproven) == 1


@pytest.mark.parametrize("depth", ["", ", depth: i64"])
def test_guard_zones_of_a_scratch_buffer(depth: str) -> None:
    """Of kernels that are called by others, which have a depth, too."""
    text = f"def f(n: i64, r: f64[2], err: i64[32]{depth}):\n    b = buf(f64, 3)\n"
    text += '    call("memset", "void(ptr, i64, i64)", b, 0, n, writes=(b,))\n    x: f64 = b[0]\n    r[0] = x\n    y: f64 = b[2]\n    r[1] = y\n'
    f, lowered = checked(text)
    r, err, rest = np.zeros(2), np.zeros(32, np.int64), [1] * bool(depth)
    assert f(24, r, err, *rest) == 0 and not r.any()
    assert f(8, r, err, *rest) == 0 and r[0] == 0 and r.view(np.uint64)[1] == POISON * 0x0001000100010001
    code = f(25, r, err, *rest)
    assert "before or after buffer `b`" in str(lowered.raises[code - 1].error(0))


def test_threads_report_to_the_kernel_that_started_them() -> None:
    one = "def f_par0(x: f64[8], k: i64, start: i64, end: i64):\n    for i in seq(start, end):\n        x[k] = 1.0\n"
    whole = parse("def f(x: f64[8], k: i64, err: i64[32]):\n    x[0] = 2.0\n\n" + one)
    whole[0].body.append(kf.Parallel("f_par0", ("x", "k"), (("f64", True), ("i64", False)), 2, 1, 2, ("x",)))
    lowered = Lowered([], 0)
    kernels, _ = memory_checked(whole, lowered)
    lib = jit.load(emit(kernels), ["f"], {pool.PARALLEL: pool.library().address(pool.PARALLEL)})
    f = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(lib.address("f"))
    x, err = np.zeros(8), np.zeros(32, np.int64)
    assert f(x.ctypes.data, 3, err.ctypes.data) == 0 and x[3] == 1
    code = f(x.ctypes.data, 9, err.ctypes.data)
    assert isinstance(lowered.raises[code - 1], Elsewhere) and err[1] == 9
    assert "kernel `f_par0`: index 9" in str(lowered.raises[err[0] - 1].error(9))


def test_what_was_popped_from_a_tape_is_poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pop that reads the record of the trip before gives numbers of the program, at the wrong place."""

    read = tape._read

    def stale(f: Any, t: Any, at: Any, v: Any) -> None:
        last = kf.integer(f.let(kf.Load(t.buf, (t.slot + 2,)), "i64", "end")) - 1
        read(f, t, kf.integer(f.let(kf.Apply("minimum", (at + 1, last)), "i64", "stale")), v)

    def slope(step: Any, check: str = "memory") -> Any:
        """Of another program each time: code is kept."""

        def f(xs: Any) -> Any:
            x = xs[0]
            for _ in range(int(xs[1])):
                x = step(x)
            return x

        return irad.vjp(irad.compile(f, check=check), np.array([0.5, 5.0]))[1](1.0)[0][0]

    assert np.isclose(slope(np.sin), slope(np.sin, "none"))
    monkeypatch.setattr(tape, "_read", stale)
    with pytest.raises(MemoryCheckError, match="never written"):
        slope(np.tanh)
    monkeypatch.setattr(KernelBuilder, "forget_popped", lambda self, graph, since=0: None)
    wrong = slope(np.arctan)
    monkeypatch.undo()
    assert np.isfinite(wrong) and wrong != slope(np.arctan, "none")


def test_a_pullback_of_code_that_checks_runs_twice() -> None:
    x = np.linspace(0.1, 0.9, 7)
    _, pull = irad.vjp(irad.compile(lambda x: relaxed(x, 5) ** 3, check="memory"), x)
    np.testing.assert_array_equal(pull(x)[0], pull(x)[0])


@pytest.mark.parametrize(
    ("at", "message"), [(0, "argument 0 was overwritten"), (-8, "before or after argument 0"), (40, "before or after argument 0")]
)
def test_arguments_and_their_neighbours(at: int, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = CheckedNative.__post_init__

    def spoiled(self: Any) -> None:
        prepare(self)
        run = self._function

        def function(addresses: Any) -> Any:
            ctypes.memset(addresses[0] + at, 1, 8)
            return run(addresses)

        self._function = function

    monkeypatch.setattr(CheckedNative, "__post_init__", spoiled)
    x = np.ones(5)
    with pytest.raises(MemoryCheckError, match=message):
        irad.compile(lambda x: x * at, check="memory")(x)
    assert (x == 1).all()


def test_frames_of_a_recursion_have_guard_zones() -> None:
    """Many of them, and as deep as the stack allows."""

    def f(x: Any, n: int) -> Any:
        if n == 0:
            return x * 1.0
        return f(np.cumsum(np.sin(x)), n - 1) * 0.5 + x[::-1]

    x = np.linspace(0.1, 0.9, 4)
    checked = irad.compile(f, check="memory")
    np.testing.assert_array_equal(checked(x, 200), irad.compile(f, check="none")(x, 200))
    slopes = [irad.grad(irad.compile(lambda x, n: np.sum(f(x, n)), check=check))(x, 5) for check in ("memory", "none")]
    np.testing.assert_array_equal(*slopes)
    with pytest.raises(RecursionError):
        checked(x, 10**6)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i2", "i4", "i8", "u2", "u4", "u8"])
def test_the_pattern_is_known_again(dtype: str) -> None:
    x = np.zeros(3, dtype)
    assert not unwritten(x)
    if dtype[0] in "fc":
        assert not unwritten(np.array([np.nan, -np.inf, -0.0], dtype))
    x.view(np.uint16)[x.itemsize // 2 : x.itemsize] = POISON
    assert unwritten(x)
    if dtype[0] in "fc":
        with np.errstate(all="ignore"):
            assert unwritten(-x * 2 + 1)
    if dtype[0] == "f":
        for other in ("f2", "f4", "f8"):
            with np.errstate(all="ignore"):
                assert unwritten(x.astype(other)), other


def test_bools_that_are_neither() -> None:
    assert not unwritten(np.array([True, False]))
    assert unwritten(np.array([1, 0x7F], np.uint8).view(bool))


# ---- what it computes ----------------------------------------------------------------------------------------


def attention(q: Any, k: Any, v: Any) -> Any:
    s = q @ k.T
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return v + (e / e.sum(axis=1, keepdims=True)) @ v


def relaxed(x: Any, n: int) -> Any:
    u = x * 1.0
    for _ in range(n):
        u[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@pytest.mark.parametrize("threads", [1, 2])
def test_the_numbers_are_those_of_plain_code(threads: int) -> None:
    rng = np.random.default_rng(0)
    q, x = rng.random((9, 9)), rng.random(50)
    by_seven = lambda x: relaxed(x, 7)
    for f, args in [(attention, (q, q + 1, q * 2)), (by_seven, (x,)), (np.sort, (x,)), (np.linalg.inv, (q,))]:
        plain, mode = (irad.compile(f, check=check, threads=threads) for check in ("none", "memory"))
        np.testing.assert_array_equal(mode(*args), plain(*args))
        loss = lambda *a: np.sum(f(*a) ** 2)  # noqa: B023
        a, b = (irad.grad(irad.compile(loss, check=check, threads=threads))(*args) for check in ("none", "memory"))
        np.testing.assert_array_equal(b, a)


def test_vjp_keeps_its_tapes() -> None:
    x = np.random.default_rng(0).random(50)
    for check in ("none", "memory"):
        y, pull = irad.vjp(irad.compile(lambda x: relaxed(x, 7) ** 2, check=check), x)
        np.testing.assert_allclose(y, relaxed(x, 7) ** 2)
        np.testing.assert_allclose(np.sum(pull(y)[0] * x), 2 * np.sum(y * y), rtol=1e-12)  # y is homogeneous of degree 2


def test_donated_results_are_the_callers_memory() -> None:
    step = irad.compile(lambda w, g: w - 0.1 * g, donate="w", check="memory")
    w = np.ones(5)
    assert step(w, np.ones(5)) is w and w[0] == 0.9


def test_what_a_raise_has_stored_is_kept() -> None:
    def f(x: Any) -> Any:
        x[0] = 5.0
        if x[1] > 0:
            raise ValueError("positive")
        return x

    x = np.ones(3)
    with pytest.raises(ValueError, match="positive"):
        irad.compile(f, check="memory")(x)
    assert x[0] == 5.0
