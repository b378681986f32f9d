"""Calls of compiled functions: without Python code, through ctypes, and when to leave the one for the other."""

from __future__ import annotations

import functools
import gc
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import irad
from irad.call import runtime
from irad.codegen.call import machine as entry
from tests.support.leaks import blocks_left

pytestmark = pytest.mark.plain

Point = namedtuple("Point", "x y")


@dataclass
class Layer:
    w: Any
    b: Any
    name: str = field(default="relu", metadata={"nondiff": True})


@pytest.fixture(params=["direct", "ctypes"])
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of calling."""
    if request.param == "ctypes":
        monkeypatch.setattr(entry, "available", lambda: False)
    elif not entry.available():
        pytest.skip("the machine cannot be used here")
    return request.param


@pytest.fixture
def direct() -> None:
    if not entry.available():
        pytest.skip("the machine cannot be used here")


def frames(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[str]:
    """The Python functions that a call enters."""
    seen: list[str] = []
    sys.setprofile(lambda frame, event, arg: seen.append(frame.f_code.co_name) if event == "call" else None)
    try:
        f(*args, **kwargs)
    finally:
        sys.setprofile(None)
    return seen


def same(a: Any, b: Any) -> None:
    """Equal in structure, classes, dtypes and values."""
    assert type(a) is type(b), (a, b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        for k in a:
            same(a[k], b[k])
    elif isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, Layer):
        same(vars(a), vars(b))
    elif isinstance(a, (np.ndarray, np.generic)):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)
    else:
        assert a == b


A, B = np.arange(8.0), np.linspace(1, 2, 8)
M = np.arange(12.0).reshape(3, 4)

CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {
    "two arrays": (lambda x, y: x * y + 1, (A, B), {}),
    "float32": (lambda x: x * 2, (A.astype(np.float32),), {}),
    "bools": (lambda m: ~m, (A > 3,), {}),
    "matrix": (lambda a: a.T * 2, (M,), {}),
    "empty": (lambda x: x * 2, (np.empty((3, 0)),), {}),
    "0-d array": (lambda x: x * 2 + np.sin(x), (np.array(1.5),), {}),
    "float": (lambda x: x * 2.0 + 1, (1.5,), {}),
    "int": (lambda n: n * 3 + 1, (14,), {}),
    "comparison": (lambda x: x < 2.0, (1.5,), {}),
    "numpy scalar": (lambda x: x * x, (np.float32(1.5),), {}),
    "numpy bool": (lambda m, x: np.where(m, x, 0.0), (np.True_, A), {}),
    "mixed": (lambda x, s, n: x * s + n, (A, 2.5, 3), {}),
    "tuple of results": (lambda x: (x + 1, np.sum(x), 3, "name", None), (A,), {}),
    "tree of results": (lambda x: {"a": [x + 1, {"b": x * 2}], "c": ()}, (A,), {}),
    "namedtuple": (lambda p: Point(p.y, p.x * 2), (Point(A, 2.0),), {}),
    "dataclass": (lambda l, x: Layer(l.w * x, l.b, "tanh"), (Layer(M, np.ones(3)), 2.0), {}),
    "tuple argument": (lambda p, x: p[0] * x + p[1], ((A, 2.0), B), {}),
    "list of tuples": (lambda ps: sum(np.sum(w) * b for w, b in ps), ([(A, 1.0), (B, 2.0)],), {}),
    "dict argument": (lambda p: p["w"] * p["b"], ({"w": A, "b": B},), {}),
    "static arguments": (lambda x, kind, flag, z: x * 2 if kind == "twice" and flag else x, (A, "twice", True, None), {}),
    "keywords": (lambda x, *, scale: x * scale, (A,), {"scale": 3.0}),
    "keyword for a position": (lambda x, y: x - y, (A,), {"y": B}),
    "default": (lambda x, k=2: x * k, (A,), {}),
    "the argument itself": (lambda x, y: (y, x + y), (A, B), {}),
    "the same array twice": (lambda x, y: x * y, (A, A), {}),
    "result twice": (lambda x: (x * 2,) * 2, (A,), {}),
    "no arguments": (lambda: A * 2, (), {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_the_function_s(name: str, route: str) -> None:
    f, args, kwargs = CALLS[name]
    c = irad.compile(f)
    want = f(*args, **kwargs)
    for _ in range(4):
        same(c(*args, **kwargs), want)
    if route == "direct":
        entered = frames(c, *args, **kwargs)  # of results, only classes other than tuple, list and dict are made by Python code
        assert "call" not in entered if type(want) in (Point, Layer) else entered == []


def test_same_objects_come_back(route: str) -> None:
    c = irad.compile(lambda x, y: (y, x * 2, y))
    for _ in range(4):
        out = c(A, B)
        assert out[0] is B and out[2] is B and out[1] is not A


def test_results_are_fresh_and_own_their_memory(route: str) -> None:
    c = irad.compile(lambda x: x * 2)
    out = [c(A) for _ in range(5)]
    assert all(x.flags.owndata and x.flags.writeable and x.base is None for x in out)
    out[3][:] = -1
    assert np.array_equal(out[4], A * 2)


@pytest.mark.usefixtures("direct")
def test_gradients_call_no_python() -> None:
    def loss(p: Any, x: Any) -> Any:
        return np.sum(np.tanh(p["w"] @ x + p["b"]) ** 2)

    p, x = {"w": M, "b": np.ones(3)}, np.ones(4)
    c = irad.compile(loss)
    for f in (irad.grad(loss), irad.value_and_grad(loss, (0, 1)), c.grad, c.value_and_grad, irad.jacobian(lambda x: x * x)):
        args = (p, x) if "jacobian" not in f.__name__ else (x,)
        want = f(*args)
        for _ in range(3):
            same(f(*args), want)
        assert frames(f, *args) == []


# ---- when a program does not fit ---------------------------------------------------------------------------------------------


def test_other_types_and_layouts(route: str) -> None:
    f = lambda x: x * 2 + 1
    c = irad.compile(f)
    unaligned = np.frombuffer(b"x" + A.tobytes(), np.uint8)[1:].view(np.float64)
    readonly = A.copy()
    readonly.flags.writeable = False
    kinds = [A, A[::2], A[::-1], A.astype(np.float32), A.astype(">f8"), M, M.T, np.asfortranarray(M), readonly, unaligned, A[:7]]
    kinds += [
        1.0,
        2,
        np.float64(3.0),
        *([np.float32(2.0)] if np.__version__ >= "2" else []),
        np.int64(4),
        np.array(1.0),
        pickle.loads(pickle.dumps(A)),
    ]
    for _ in range(3):
        for x in kinds:
            if isinstance(x, np.ndarray) and not x.dtype.isnative:
                continue
            same(c(x), f(x))


@pytest.mark.usefixtures("direct")
def test_arrays_in_any_order_call_no_python() -> None:
    w = np.arange(12.0).reshape(4, 3)[::-1]
    c = irad.compile(lambda a, b: a * 2 + b + w.T)
    for b in (np.asfortranarray(M), np.broadcast_to(A[:4], (3, 4)), np.arange(48.0).reshape(6, 8)[::2, ::2]):
        for _ in range(3):
            same(c(M[::-1], b), M[::-1] * 2 + b + w.T)
        assert frames(c, M[::-1], b) == []


def test_signed_zeros_as_static_arguments(route: str) -> None:
    f = lambda x, k: [np.copysign(1.0, k)] * int(abs(k) + 2)
    c = irad.compile(f)
    for _ in range(3):
        for k in (0.0, -0.0, 1.0, -1.0):
            same(c(A, k), f(A, k))


@pytest.mark.usefixtures("direct")
def test_an_unpickled_dtype_is_the_same_type() -> None:
    c = irad.compile(lambda x: x + 1)
    other = np.ndarray((8,), pickle.loads(pickle.dumps(np.dtype("f8"))).newbyteorder("="), A.tobytes())
    for _ in range(3):
        c(A)
    assert frames(c, other) == []
    same(c(other), other + 1)


def test_wrong_calls_raise_type_error(route: str) -> None:
    c = irad.compile(lambda x, y: x + y)
    for _ in range(3):
        c(A, B)
    for args, kwargs in (((A,), {}), ((A, B, A), {}), ((A, B), {"z": 1})):
        with pytest.raises(TypeError):
            c(*args, **kwargs)


def test_static_arguments_choose_the_program(route: str) -> None:
    f = lambda x, kind, n=2: x + 1 if kind == "one" else x * n
    c = irad.compile(f)
    for _ in range(3):
        for args in ((A, "one"), (A, "two"), (A, "".join(["tw", "o"])), (A, None, 3), (A, True, 3.0)):
            same(c(*args), f(*args))


def test_lengths_of_ints(route: str) -> None:
    f = lambda n: n * 3
    c = irad.compile(f)
    for n in (1, 2, 3, 2**31 - 1, 2**31, -(2**31), 2**40, 5):
        assert c(n) == f(n)
    with pytest.raises((OverflowError, irad.IradError)):
        c(2**70)


def test_dicts_are_matched_by_key_and_order(route: str) -> None:
    f = lambda p: {k: v * 2 for k, v in p.items()}
    c = irad.compile(f)
    for _ in range(3):
        for p in ({"a": A, "b": B}, {"b": B, "a": A}, {"a": A, "c": B}, {"a": A}, {"".join(["a", "b"]): A}):
            same(c(p), f(p))
    same(dict(c(OrderedDict(a=A))), f({"a": A}))


def test_many_versions_are_tried_in_turn(route: str) -> None:
    f = lambda x: x + 1
    c = irad.compile(f)
    for _ in range(3):
        for n in range(1, 14):
            same(c(A[:n] if n <= 8 else np.ones(n)), f(A[:n] if n <= 8 else np.ones(n)))


def test_an_array_given_twice(route: str) -> None:
    def f(x: Any, y: Any) -> Any:
        x += 1
        return x + y

    c = irad.compile(f)
    for _ in range(3):
        for pair in (lambda: (A.copy(), B.copy()), lambda: (A.copy(),) * 2):
            args, others = pair(), pair()
            same(c(*args), f(*others))
            same(args, others)


# ---- captured state -----------------------------------------------------------------------------------------------------------

scale, table, flag = 0.5, np.ones(8), True


class Model:
    def __init__(self) -> None:
        self.w, self.rate, self.layers = np.ones(8), 0.5, [np.ones(8), {"b": np.full(8, 2.0)}]

    def __call__(self, x: Any) -> Any:
        return x * self.w * self.rate + self.layers[0] - self.layers[1]["b"]  # type: ignore[index, call-overload]


def test_globals_are_live(route: str) -> None:
    global scale, table, flag
    f = lambda x: x * scale + table if flag else x - table
    c = irad.compile(f)
    for s, t, g in (
        (0.5, np.ones(8), True),
        (0.25, np.zeros(8), True),
        (0.25, A, False),
        (2, A, True),
        (np.float64(3), B, True),
        (1.0, B[::-1], True),
        (1.0, 2.0, True),
    ):
        scale, table, flag = s, t, g
        for _ in range(3):
            same(c(A), f(A))
    if route == "direct":
        scale, table = 0.5, np.ones(8)
        c(A), c(A)
        assert frames(c, A) == []


def test_captured_ints_become_live(route: str) -> None:
    n, m = 1, 3

    def f(x: Any) -> Any:
        return x[:m] * n + n

    runtime._caches.pop(f.__code__, None)
    c = irad.compile(f)
    for _ in range(6):
        n += 1
        same(c(A), f(A))
    cache = runtime._caches[f.__code__]
    assert sum(map(len, cache.entries.values())) == 2
    if route == "direct":
        assert frames(c, A) == []
    for n, m in ((2**31, 3), (-(2**31), 3), (2**40, 3), (5, 4), (6, 4)):  # noqa: B007
        for _ in range(2):
            same(c(A), f(A))


def test_cells_are_live(route: str) -> None:
    rate, w = 1.0, np.ones(8)

    def f(x: Any) -> Any:
        return x * rate + w

    c = irad.compile(f)
    for _ in range(5):
        rate, w = rate * 0.5, w + 1
        same(c(A), f(A))
    if route == "direct":
        assert frames(c, A) == []


def test_objects_are_live(route: str) -> None:
    m = Model()
    c = irad.compile(m)
    for _ in range(4):
        m.rate *= 0.5
        m.w = m.w + 1
        m.layers[0] = m.layers[0] * 2  # type: ignore[operator]
        same(c(A), m(A))
    m.layers.append(1.0)
    same(c(A), m(A))


def test_default_and_partial_arguments_are_live(route: str) -> None:
    w = np.ones(8)
    f = lambda x, k=w: x * k
    p = functools.partial(lambda w, x, *, s: x * w + s, w, s=np.ones(8))
    c, d = irad.compile(f), irad.compile(p)
    for _ in range(4):
        w += 1
        same(c(A), f(A))
        same(d(A), p(A))


def test_closures_made_anew_share_programs(route: str) -> None:
    def made(w: Any, s: float) -> Any:
        return irad.value_and_grad(lambda x: np.sum(x * w) * s)

    for k in range(4):
        value, grad = made(A + k, k + 0.5)(B)
        np.testing.assert_allclose(value, np.sum(B * (A + k)) * (k + 0.5), rtol=1e-15)
        np.testing.assert_allclose(grad, (A + k) * (k + 0.5))


def test_functions_with_new_code(route: str) -> None:
    def f(x: Any) -> Any:
        return x + 1

    c = irad.compile(f)
    for _ in range(3):
        c(A)
    f.__code__ = (lambda x: x * 2).__code__
    same(c(A), A * 2)


# ---- arguments that are changed, exceptions ------------------------------------------------------------------------------------------


def test_arguments_are_changed(route: str) -> None:
    def f(x: Any, y: Any) -> Any:
        x[1:] += y[:-1]
        y *= 2
        return np.sum(x)

    c = irad.compile(f)
    a, b = [A.copy(), B.copy()], [A.copy(), B.copy()]
    for _ in range(4):
        np.testing.assert_allclose(c(*a), f(*b), rtol=1e-14)
        same(a, b)
    if route == "direct":
        assert frames(c, *a) == []


def test_overlapping_and_readonly_arguments(route: str) -> None:
    def f(x: Any, y: Any) -> Any:
        x += y
        return y * 1

    c = irad.compile(f)
    for _ in range(3):
        c(A.copy(), B.copy())
    one, other = np.arange(9.0), np.arange(9.0)
    same(c(one[:8], one[1:]), f(other[:8], other[1:]))
    same(one, other)
    fixed = A.copy()
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        c(fixed, B)
    same(fixed, A)


def test_exceptions(route: str) -> None:
    def f(x: float, i: int) -> float:
        if x < 0:
            raise ValueError(f"negative: {i}")
        return 1 / (x - 1.0)

    c = irad.compile(f)
    for _ in range(4):
        assert c(3.0, 1) == 0.5
        with pytest.raises(ValueError, match="negative: 7") as caught:
            c(-1.0, 7)
        assert "raised in compiled code" in caught.value.__notes__[0]
        with pytest.raises(ZeroDivisionError):
            c(1.0, 1)


# ---- vjp ---------------------------------------------------------------------------------------------------------------------------


def test_vjp_and_pullback(route: str) -> None:
    def f(w: Any, x: Any, s: float) -> Any:
        return np.tanh(w @ x) * s, {"sum": np.sum(w * w)}

    w, x = np.arange(12.0).reshape(3, 4) / 10, np.ones(4)
    first = None
    for _ in range(4):
        out, pull = irad.vjp(f, w.copy(), x, 2.0)
        same(out, irad.compile(f)(w, x, 2.0))
        for s in (1.0, np.float64(1.0), np.array(1.0), 1):
            grads = pull((np.ones(3), {"sum": s}))
            first = first or grads
            same(grads, first)
    np.testing.assert_allclose(first[1], 2.0 * (1 - np.tanh(w @ x) ** 2) @ w)  # type: ignore[index]


def test_a_pullback_keeps_copies(route: str) -> None:
    for _ in range(4):
        x = A.copy()
        out, pull = irad.vjp(lambda x: np.exp(x * x / 50), x)
        x[:] = 0
        out[:] = 0
        np.testing.assert_allclose(pull(np.ones(8))[0], np.exp(A * A / 50) * A / 25, rtol=1e-13)


def test_pullbacks_refuse_other_cotangents(route: str) -> None:
    for _ in range(3):
        _, pull = irad.vjp(lambda x: (x * x, np.sum(x)), A)
        pull((A, 1.0))
        with pytest.raises(irad.errors.ShapeError):
            pull((A[:3], 1.0))
        with pytest.raises(irad.errors.IradTypeError):
            pull(A)


@pytest.mark.usefixtures("direct")
def test_pullbacks_call_little_python() -> None:
    for _ in range(3):
        _, pull = irad.vjp(lambda x: x * x, A)
        pull(B)
    assert frames(pull, B) == ["__call__"]


# ---- memory, threads ----------------------------------------------------------------------------------------------------------------


def test_no_reference_is_leaked(route: str) -> None:
    n = 30_000 if route == "direct" else 1_000
    p, extra = {"w": A.copy(), "b": (B.copy(), 2.5)}, np.ones(8)
    f = irad.value_and_grad(lambda p, x, k: np.sum(p["w"] * x * extra) + np.sum(p["b"][0]) * p["b"][1])
    objects = [p, p["w"], p["b"], extra, np.dtype("f8"), "w", 2.5, float, np.ndarray]
    call = lambda: f(p, A, k="static")
    for _ in range(5):
        call()
    gc.collect()  # what other tests left
    counts = [sys.getrefcount(o) for o in objects]
    assert blocks_left(call, n) < 50
    assert [k for k, (a, o) in enumerate(zip(counts, objects)) if abs(a - sys.getrefcount(o)) > 50] == []


def test_no_reference_is_leaked_by_failures(route: str) -> None:
    def f(x: Any, y: float) -> Any:
        if y < 0:
            raise ValueError("negative")
        return x * y

    c = irad.compile(f)
    assert c(A, 1.0) is not None and c(A, 1.0) is not None

    def raises() -> None:
        try:
            c(A, -1.0)
        except ValueError:
            pass

    misses = lambda: (c(A, np.float64(1.0)), c(A, 2.0), c(B[::-1], 1.0))
    count = sys.getrefcount(A)
    assert blocks_left(raises, 1000) < 50 and blocks_left(misses, 1000) < 50
    assert abs(sys.getrefcount(A) - count) < 50  # of hundreds of calls: what was waiting for the collector may go meanwhile


def test_no_reference_is_leaked_by_pullbacks(route: str) -> None:
    def once() -> None:
        _, pull = irad.vjp(lambda x, s: np.sin(x) * s, A, 2.0)
        pull(B)

    count = sys.getrefcount(A)
    assert blocks_left(once, 5_000 if route == "direct" else 400) < 50
    assert abs(sys.getrefcount(A) - count) < 50  # of hundreds of calls: what was waiting for the collector may go meanwhile


def test_everything_dies_with_the_function(route: str) -> None:

    w = np.ones(8)
    f = lambda x: x * w
    c = irad.compile(f)
    for _ in range(4):
        c(A)
    (key,) = [k for k in runtime._caches if k is f.__code__]
    cache = runtime._caches.pop(key)
    (version,) = next(iter(cache.entries.values()))
    alive = [weakref.ref(x) for x in (f, c, version, version.native, version.native.library)]
    del cache, version, f, c, key
    gc.collect()
    assert [r() for r in alive] == [None] * 5


def test_threads_and_nested_calls(route: str) -> None:
    f = lambda x, s: np.sum(np.sin(x) * s) + x
    c = irad.compile(f)
    x = np.linspace(0, 1, 40_000)
    want = c(x, 1.0)
    assert next(iter(next(iter(runtime._caches[f.__code__].entries.values())))).native.long
    wrong: list[Any] = []

    def work(k: int) -> None:
        for _ in range(30):
            if not np.array_equal(c(x, 1.0), want) or not np.array_equal(c(A[:k], 2.0), c(A[:k].copy(), 2.0)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


class Kind:
    """A static argument whose comparison calls the function that it is an argument of."""

    def __init__(self, called: list[Any]):
        self.called = called

    def __eq__(self, other: object) -> bool:
        same(CALLED(A, None), A * 2)
        self.called.append(other)
        return True

    def __hash__(self) -> int:
        return 1


CALLED = irad.compile(lambda x, kind: x * 2)


def test_a_call_within_the_checks_of_a_call(route: str) -> None:
    called: list[Any] = []
    for _ in range(4):
        same(CALLED(A, Kind(called)), A * 2)
    assert len(called) >= 3


# ---- processes of their own ---------------------------------------------------------------------------------------------------------


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(params=["", "ctypes"])
def chosen(request: pytest.FixtureRequest) -> Iterator[str]:
    """What IRAD_CALL is."""
    yield request.param


def test_ctrl_c_stops_long_loops(chosen: str) -> None:
    out = run(
        """
        import linecache, os, signal, textwrap, threading, types
        source = '''
        def forward(x, n):
            for i in range(n):
                x = x * 0.999 + 0.5
            return x
        def until(x):
            while x > 0.0:
                x = x * 0.5 + 0.5
            return x
        def steps(x, n):
            for i in range(n):
                x = x * 0.999 + 0.1 / (1.0 + x * x)
            return x.sum()
        '''
        source = textwrap.dedent(source)
        linecache.cache["loops.py"] = (len(source), None, source.splitlines(True), "loops.py")
        loops = types.ModuleType("loops")
        exec(compile(source, "loops.py", "exec"), loops.__dict__)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background of a shell ignores it
        import irad
        from irad.codegen.call import machine as entry
        print(entry.available())
        f, g = irad.compile(loops.forward), irad.compile(loops.until)
        for k in range(3):
            f(1.0, 10), g(-1.0)
        for call in (lambda: f(1.0, 10**12), lambda: g(1.0)):
            try:
                threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
                call()
            except KeyboardInterrupt:
                print("stopped")
        import numpy as np, time
        h = irad.value_and_grad(loops.steps)
        x = np.ones(100_000); h(x, 3), h(x, 3)
        try:
            sent = []
            threading.Timer(0.5, lambda: (sent.append(time.perf_counter()), os.kill(os.getpid(), signal.SIGINT))).start()
            h(x, 10**6)
        except KeyboardInterrupt:
            print("stopped" if time.perf_counter() - sent[0] < 1.0 else "late")
        def late(*args):
            raise TimeoutError("late")
        signal.signal(signal.SIGALRM, late)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            g(1.0)
        except TimeoutError as e:
            print(e)
        print(f(1.0, 10) == loops.forward(1.0, 10))
        """,
        IRAD_CALL=chosen,
    )
    assert out.split() == [str(not chosen), "stopped", "stopped", "stopped", "late", "True"]


def test_environment_variable_chooses_ctypes() -> None:
    assert run("from irad.codegen.call import machine as entry\nprint(entry.available())", IRAD_CALL="ctypes").strip() == "False"
