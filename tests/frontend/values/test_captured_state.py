"""What a compiled version assumes of the state outside: after each change it gives what Python gives, or refuses."""

from __future__ import annotations

import array
import bisect
import builtins
import collections
import configparser
import contextlib
import dataclasses
import datetime
import functools
import heapq
import math
import operator
import os
import random
import re
import subprocess
import sys
import types
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.spatial

import irad

X = np.arange(3.0)
S: Any = types.SimpleNamespace  # what is captured, and changed between calls


def live(f: Callable[..., Any], *changes: Callable[[], Any], args: tuple[Any, ...] = (X,)) -> None:
    """The compiled function gives what Python gives, at first, again, and after each change."""
    c = irad.compile(f)
    for change in (lambda: None, lambda: None, *changes, lambda: None):
        change()
        got, want = c(*args), f(*args)
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want)


def refused(f: Callable[..., Any], *words: str, args: tuple[Any, ...] = (X,)) -> None:
    with pytest.raises(irad.IradError) as e:
        irad.compile(f)(*args)
    assert all(w in str(e.value) for w in words), str(e.value)


# ---- what nothing is computed of ----------------------------------------------------------------------------------------


def test_the_length_and_shape_of_an_array_of_which_nothing_is_read() -> None:
    s = S(a=np.ones(3))
    live(lambda x: x * len(s.a) + s.a.ndim, lambda: setattr(s, "a", np.ones(5)), lambda: setattr(s, "a", np.ones((2, 2))))


def test_the_type_of_a_number_of_which_nothing_is_read() -> None:
    s = S(a=2.5)
    live(lambda x: x * (2 if s.a is None else 3), lambda: setattr(s, "a", None))
    live(lambda x: x * (2 if isinstance(s.a, float) else 3), lambda: setattr(s, "a", 1.5), lambda: setattr(s, "a", 4))


# ---- identity -----------------------------------------------------------------------------------------------------------


def test_an_object_found_by_two_paths() -> None:
    s = S(f=[lambda x, k=k: x * k for k in (2.0, 3.0)], a=[X, X])
    live(lambda x: s.f[0](x) + s.f[1](x), lambda: s.f.__setitem__(1, s.f[0]), lambda: s.f.__setitem__(0, lambda x, k=7.0: x * k))
    live(lambda x: s.a[0] + s.a[1] * x, lambda: s.a.__setitem__(1, np.ones(3)), lambda: s.a.__setitem__(1, np.ones((2, 3))))


def test_arrays_compared_by_identity() -> None:
    y = np.ones(3)
    for calls in (((X, y), (X, X)), ((X, X), (X, y))):
        c = irad.compile(lambda p, q: 1.0 if p is q else 2.0)
        for args in (*calls, *calls):
            assert c(*args) == (1.0 if args[0] is args[1] else 2.0)
        held = irad.compile(lambda p: 1.0 if p is not y else 2.0)
        for p, _ in (*calls, *calls, (y, y), (X, X)):
            assert held(p) == (1.0 if p is not y else 2.0)


def test_captured_lists_compared_by_identity() -> None:
    s = S(a=[1.0], b=[1.0])
    live(lambda x: x * (2 if s.a is s.b else 3), lambda: setattr(s, "b", s.a), lambda: setattr(s, "b", [1.0]))


def test_the_sign_of_a_zero_that_shapes_the_program() -> None:
    s = S(a=[0.0])
    live(lambda x: np.zeros(int(1 + s.a[0])) + np.copysign(1, s.a[0]), lambda: s.a.__setitem__(0, -0.0))


# ---- containers ----------------------------------------------------------------------------------------------------------


class Named(dict[str, float]):
    rate = 1.0


OTHERS: list[tuple[Any, Callable[[Any, Any], Any], list[Callable[[Any], Any]]]] = [
    ({1, 2}, lambda c, x: x * (3 in c), [lambda c: c.add(3)]),
    ({1, 2}, lambda c, x: x * len(c) + sum(c), [lambda c: c.add(7), lambda c: c.discard(1)]),
    (collections.deque([1.0, 2.0]), lambda c, x: x * c[0], [lambda c: c.appendleft(7.0), lambda c: c.rotate(1)]),
    (collections.deque([1.0, 2.0]), lambda c, x: np.sum(np.asarray(c)) * x, [lambda c: c.append(7.0)]),
    (collections.OrderedDict(a=1.0, b=2.0), lambda c, x: x * list(c.values())[0], [lambda c: c.move_to_end("a")]),
    (collections.defaultdict(float, a=1.0), lambda c, x: x * c.get("b", 3.0), [lambda c: c.update(b=5.0)]),
    (collections.Counter("aab"), lambda c, x: x * c["a"] + c["z"], [lambda c: c.update("aa"), lambda c: c.update("z")]),
    (collections.UserDict(a=1.0), lambda c, x: x * c.get("b", c["a"]), [lambda c: c.update(a=3.0), lambda c: c.update(b=5.0)]),
    (collections.UserList([1.0]), lambda c, x: x * c[0] + len(c), [lambda c: c.append(2.0), lambda c: c.__setitem__(0, 4.0)]),
    (collections.ChainMap({"a": 1.0}, {"b": 2.0}), lambda c, x: x * c["b"], [lambda c: c.maps[1].update(b=9.0)]),
    (Named(a=1.0), lambda c, x: x * c["a"] * c.rate, [lambda c: c.update(a=2.0), lambda c: setattr(c, "rate", 5.0)]),
    (np.array(["a", "b"]), lambda c, x: x * (2 if c[0] == "a" else 3), [lambda c: c.__setitem__(0, "z")]),
    ([Fraction(1, 2)], lambda c, x: x * float(c[0]), [lambda c: c.__setitem__(0, Fraction(1, 3))]),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(OTHERS)), ids=lambda k: type(OTHERS[k][0]).__name__)
def test_containers_of_every_kind(k: int) -> None:
    c, f, changes = OTHERS[k]
    live(lambda x: f(c, x), *[lambda change=change: change(c) for change in changes])


def test_containers_as_arguments() -> None:
    f = irad.compile(lambda c, x: x * sum(c) + len(c))
    for c in ({1, 2}, collections.deque([1.0, 2.0]), collections.UserList([3.0])):
        for _ in range(3):
            np.testing.assert_allclose(f(c, X), X * sum(c) + len(c))
            (c.add if isinstance(c, set) else c.append)(5)


def test_a_key_that_a_defaultdict_would_make_is_refused() -> None:
    d = collections.defaultdict(float)
    refused(lambda x: x * d["k"], "defaultdict")
    assert not d
    made = irad.compile(lambda x: x * collections.defaultdict(lambda: 2.0)["k"])
    np.testing.assert_allclose(made(X), X * 2)


def test_python_code_that_changes_a_list_from_outside() -> None:
    order = [3, 1, 2]
    irad.compile(lambda x: (heapq.heapify(order), x)[1])(X)
    assert order == [1, 3, 2]

    def smallest(x: Any) -> Any:
        heap = [3, 1, 2]
        heapq.heapify(heap)
        heapq.heappush(heap, 0)
        return x * heap[0] + len(heap)

    np.testing.assert_allclose(irad.compile(smallest)(X), smallest(X))


# ---- attributes ----------------------------------------------------------------------------------------------------------


class Thing:
    rate = 2.0

    @staticmethod
    def twice(x: Any) -> Any:
        return x * 2

    @classmethod
    def rated(cls, x: Any) -> Any:
        return x * cls.rate

    @property
    def pair(self) -> Any:
        return self.own * 2  # type: ignore[attr-defined]


class Slots:
    __slots__ = ("a", "b")


def test_attributes_come_and_go() -> None:
    for t in (Thing(), S(), Slots()):
        present = lambda x, t=t: x * (2 if hasattr(t, "a") else 3) + getattr(t, "b", 0.5)
        live(present, lambda t=t: setattr(t, "b", 7.0), lambda t=t: setattr(t, "a", 1), lambda t=t: delattr(t, "b"))
    t = Thing()
    live(lambda x: x * len(t.__dict__) + t.__dict__.get("u", 2.0), lambda: setattr(t, "u", 4.0), lambda: delattr(t, "u"))
    live(lambda x: x * t.rate, lambda: setattr(t, "rate", 5.0), lambda: delattr(t, "rate"))


def test_methods_are_exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    t, put = Thing(), lambda name, f: lambda: monkeypatch.setattr(Thing, name, f)
    t.own = 3.0  # type: ignore[attr-defined]
    live(lambda x: Thing.twice(x) + t.twice(x), put("twice", staticmethod(lambda x: x * 9)))
    live(lambda x: Thing.rated(x) + t.rated(x), put("rated", classmethod(lambda cls, x: x * 7)), put("rate", 1.5))
    live(lambda x: x * t.pair, lambda: setattr(t, "own", 4.0), put("pair", property(lambda self: self.own * 10)))


def test_attributes_that_a_method_answers() -> None:
    class Any4:
        def __getattr__(self, name: str) -> float:
            return 4.0

    t = Any4()
    live(lambda x: x * t.foo, lambda: setattr(t, "foo", 2.0), lambda: delattr(t, "foo"))


def test_what_methods_of_an_object_say_of_it() -> None:
    class Box:
        def __init__(self) -> None:
            self.v = np.arange(1.0, 4.0)

        def __len__(self) -> int:
            return len(self.v)

        def __str__(self) -> str:
            return f"{len(self.v)}"

        def __float__(self) -> float:
            return float(self.v[0])

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self.v

    b = Box()
    for f in (
        lambda x: x * len(b),
        lambda x: x * (2 if f"{b}" == "3" else 5),
        lambda x: x * float(b),
        lambda x: np.sum(np.asarray(b)) * x,
    ):
        b.v = np.arange(1.0, 4.0)
        live(f, lambda: b.v.__setitem__(0, 9.0), lambda: setattr(b, "v", np.ones(5)))


# ---- what cannot be looked into -------------------------------------------------------------------------------------------


def test_what_is_read_by_code_in_c_is_refused() -> None:
    sums = lambda a: np.sum(np.asarray(a, dtype=float))
    refused(sums, "np.asarray", args=(array.array("d", [1.0]),))
    a = scipy.sparse.csr_array(np.eye(3))
    live(lambda x: np.sum(a @ np.full(3, x)), lambda: a.data.__setitem__(1, 7.0), lambda: a.__setitem__((0, 2), 3.0))
    live(lambda x: x * a.sum(), lambda: a.data.__setitem__(0, 6.0))
    live(lambda x: x * a.data[0], lambda: a.data.__setitem__(0, 5.0))
    tree = scipy.spatial.cKDTree(np.eye(3))
    refused(lambda x: x * tree.query([0.0, 0.0, 0.5])[0], "cKDTree")
    refused(lambda x: x * len(view), "np.asarray")


view = memoryview(b"abc")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * datetime.date.today().day, lambda x: x * random.SystemRandom().getrandbits(3),
        lambda x: x * len(os.listdir(".")), lambda x: x * os.path.exists("/nowhere"),
        lambda x: x * (2 if os.environ.get("A_NAME") else 3), lambda x: x * (2 if os.getenv("A_NAME") else 3),
        lambda x: x * np.loadtxt("nowhere"),
    ],
)  # fmt: skip
def test_what_differs_from_call_to_call_is_refused(f: Callable[..., Any]) -> None:
    refused(f, "test_captured_state.py")


class Elsewhere:
    """An array of another library: its memory can be looked at by `__dlpack__`."""

    def __init__(self, a: np.ndarray):
        self.a = a

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.a.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self.a.__dlpack_device__()


def test_arrays_of_other_libraries() -> None:
    t = Elsewhere(np.arange(4.0))
    f = irad.compile(lambda t: np.sum(t * t))
    assert f(t) == f(t) == 14.0
    t.a[0] = 5.0
    assert f(t) == 39.0 and f(Elsewhere(np.ones(3))) == 3.0
    np.testing.assert_allclose(irad.grad(lambda t: np.sum(t * t))(t), 2 * t.a)
    captured = irad.compile(lambda x: np.sum(t) * x)  # type: ignore[call-overload]
    assert captured(1.0) == 11.0
    t.a[0] = 0.0
    assert captured(1.0) == 6.0


def test_a_series_is_refused_with_what_to_write() -> None:
    pd = pytest.importorskip("pandas")
    refused(lambda s: np.sum(s), "to_numpy", args=(pd.Series([1.0, 2.0]),))


# ---- gradients by objects --------------------------------------------------------------------------------------------------


def test_a_vjp_checks_what_an_argument_and_a_class_hold() -> None:
    class Norm:
        squared = True

        def __init__(self) -> None:
            self.n = 2

    def f(x: np.ndarray, norm: Norm) -> Any:
        return np.sum(x ** (2 if type(norm).squared else 1)) * norm.n

    norm = Norm()
    for n, squared in ((2, True), (2, True), (3, True), (3, True), (3, False), (3, False), (2, False), (2, True)):
        norm.n, Norm.squared = n, squared
        value, pullback = irad.vjp(f, X, norm)
        assert value == f(X, norm)
        np.testing.assert_allclose(pullback(1.0)[0], n * 2 * X if squared else np.full(3, n))


def test_a_static_zero_keeps_its_sign() -> None:
    c = irad.compile(lambda x, z: x * np.copysign(1.0, z), static="z")
    for z in (0.0, 0.0, -0.0, -0.0, 0.0, np.float32(-0.0), np.float32(0.0), np.float32(-0.0)):
        np.testing.assert_array_equal(c(X, z), np.copysign(X, z))


def test_gradients_by_what_holds_no_number() -> None:
    for x, words in ((object(), "object"), (range(3), "range"), (True, "True"), ("a", "'a'"), (None, "None"), ([None], "list")):
        for transform in (irad.grad, irad.jacobian, irad.hessian):
            with pytest.raises(irad.IradTypeError, match=words):
                transform(lambda a: 2.0)(x)


def test_gradients_by_objects_have_their_class() -> None:
    t = Thing()
    t.own, t.more = 3.0, [X]  # type: ignore[attr-defined]
    g = irad.grad(lambda t: t.own**2 + np.sum(t.more[0] ** 2))(t)
    assert type(g) is Thing and g.own == 6.0  # type: ignore[attr-defined]
    np.testing.assert_allclose(g.more[0], 2 * X)  # type: ignore[attr-defined]
    d = irad.grad(lambda d: d[0] * d[1] ** 2)(collections.deque([2.0, 3.0]))
    assert type(d) is collections.deque and list(d) == [9.0, 12.0]
    n, pullback = irad.vjp(lambda s: s.a**3, S(a=2.0))
    assert n == 8.0 and pullback(1.0)[0].a == 12.0
    assert irad.jvp(lambda s: s.a**3, (S(a=2.0),), (S(a=1.0),))[1] == 12.0
    s = S(a=2.0)
    f = irad.grad(lambda s: s.a**3)
    assert f(s).a == 12.0
    s.a = 3.0
    assert f(s).a == 27.0


# ---- callbacks -----------------------------------------------------------------------------------------------------------


def test_what_a_callback_changes_is_not_read_beside_it() -> None:
    buf, s, seen = np.zeros(2), S(n=1.0), []  # type: ignore[var-annotated]

    def store(a: Any) -> None:
        buf[0] = a[0]
        s.n += 1

    store_ = irad.callback(store, None)
    refused(lambda x: (store_(x), x * np.sum(buf))[1], "buf", "store")
    refused(lambda x: (store_(x), x * s.n)[1], ".n", "store")
    kept = irad.callback(lambda a: seen.append(float(a[0])), None)
    live(lambda x: (kept(x), x * s.n)[1])
    f = irad.compile(lambda y: (store_(y), y * 1.0)[1])
    np.testing.assert_allclose(f(np.ones(2)), 1.0)
    with pytest.raises(irad.IradError, match="store"):
        f(buf)


@pytest.mark.parametrize("other_way", [False, True])
def test_what_a_callback_changes_becomes_what_is_read(other_way: bool) -> None:
    read, own = np.ones(2), np.zeros(2)

    def store(a: Any) -> None:
        own[0] = a[0]

    store_ = irad.callback(store, None)
    f = irad.compile(lambda x: (store_(x), x * np.sum(read))[1])
    for k in range(3):
        np.testing.assert_allclose(f(np.full(2, k + 1.0)), 2.0 * k + 2.0)
        own = np.zeros(2)
    if other_way:
        own = read
    else:
        read = own
    with pytest.raises(irad.UnsupportedError, match="read is read by compiled code and can be changed by the callback store"):
        f(np.ones(2))


def test_closures_of_one_code_nest() -> None:
    def twice(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: f(f(x))

    assert irad.compile(twice(twice(twice(lambda x: x * 2.0))))(1.0) == 256.0

    def slope(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: irad.jvp(f, (x,), (1.0,))[1]

    assert irad.compile(slope(slope(slope(lambda x: x**4))))(2.0) == 48.0


# ---- how it is met ---------------------------------------------------------------------------------------------------------


def fresh(code: str) -> tuple[int, str]:
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    return p.returncode, p.stdout + p.stderr


def test_code_of_the_command_line_is_read() -> None:
    code = "import irad\nassert irad.graph.Variable\ndef f(x):\n    if x > 0:\n        return x * x\n    return -x\nprint(irad.grad(f)(3.0))"
    assert fresh(code) == (0, "6.0\n")


def test_text_that_is_not_the_code_is_not_read() -> None:
    code = "import irad\ndef f(x):\n    return x if x > 0 else -x\nexec('\\ndef f(x):\\n    return x if x > 1 else -x', globals())\nirad.compile(f)(0.5)"
    assert "cannot be read" in fresh(code)[1]


def test_errors_come_without_frames_of_irad() -> None:
    rc, out = fresh("import irad, numpy as np\nf = lambda a, b: a @ b\nirad.compile(f)(np.ones((2, 3)), np.ones((2, 3)))")
    assert rc and "ShapeError" in out and len(out.splitlines()) <= 20


def test_whole_numbers_are_no_variables_of_checks() -> None:
    irad.check_grads(lambda x, i: np.sum(x[i] ** 2), (X, np.array([0, 1])))
    assert irad.jvp(lambda x, n: x**n, (2.0, 3), (1.0, None)) == (8.0, 12.0)


# ---- functions that are run and not read ----------------------------------------------------------------------------------------

UNREAD = {"scale": 2.0, "table": np.ones(2), "np": np}
exec(
    "def scaled(x):\n    return x * scale\ndef looked_up(x):\n    return x * table\ndef counted(x):\n    global scale\n    scale = 3.0",
    UNREAD,
)


def test_numbers_that_an_unread_function_reads_are_compared() -> None:
    c, d = irad.compile(lambda x: UNREAD["scaled"](x)), irad.grad(lambda x: UNREAD["scaled"](x))
    try:
        assert c(3.0) == 6.0 and d(3.0) == 2.0
        UNREAD["scale"] = 5.0
        assert c(3.0) == 15.0 and d(3.0) == 5.0
    finally:
        UNREAD["scale"] = 2.0


def test_what_an_unread_function_calls_counts_too() -> None:
    space: dict[str, Any] = {"k": 1.0}
    exec("def inner(x, n=2.0):\n    return x * k * n\ndef outer(x):\n    return inner(x) + 1", space)
    c = irad.compile(lambda x: space["outer"](x))
    assert c(3.0) == 7.0
    space["k"] = 2.0
    assert c(3.0) == 13.0
    space["inner"].__defaults__ = (3.0,)
    assert c(3.0) == 19.0
    exec("def inner(x):\n    return -x", space)
    assert c(3.0) == -2.0


class WithRate:
    def __init__(self) -> None:
        self.rate = 2.0


def test_what_can_change_unseen_is_refused() -> None:
    for name, text in (("looked_up", "table"), ("counted", "assign scale")):
        with pytest.raises(irad.UnsupportedError, match=text):
            irad.compile(lambda x, name=name: UNREAD[name](x))(np.ones(2))
    space: dict[str, Any] = {}
    exec("def read(o, x):\n    return o.rate * x", space)
    thing = WithRate()
    with pytest.raises(irad.UnsupportedError, match="cannot be read"):
        irad.compile(lambda x: space["read"](thing, x))(1.0)


# ---- fields that are no part of a derivative ------------------------------------------------------------------------------------


@dataclasses.dataclass
class Tagged:
    w: Any
    tags: Any = dataclasses.field(default=None, metadata={"nondiff": True})


class Config:
    def __init__(self) -> None:
        self.k = 2.0


def _store_7(a: Any) -> None:
    a[0] = 7.0


@pytest.mark.parametrize(
    "tags, read, change",
    [
        ([1.0, 2.0], lambda t: len(t), lambda t: t.append(3.0)),
        ([1.0, 2.0], lambda t: t[0], _store_7),
        ({"a": 1.0}, lambda t: t["a"], lambda t: t.update(a=5.0)),
        (np.array([1.0, 2.0]), lambda t: t[0], _store_7),
        (Config(), lambda t: t.k, lambda t: setattr(t, "k", 5.0)),
    ],
)
def test_what_a_nondiff_field_holds_may_change(tags: Any, read: Any, change: Any) -> None:
    f = lambda d: np.sum(d.w) * read(d.tags)
    c, g, d = irad.compile(f), irad.grad(f), Tagged(np.ones(3), tags)
    for _ in range(2):
        assert c(d) == f(d)
        assert g(d).w.tolist() == [read(tags)] * 3
        change(tags)


class Registered:
    def __init__(self, w: Any, tags: Any):
        self.w, self.tags = w, tags


irad.register_type(Registered, lambda r: ([r.w], r.tags), lambda tags, kids: Registered(kids[0], tags))


def test_the_static_part_of_a_registered_class_may_change() -> None:
    c, r = irad.compile(lambda r: np.sum(r.w) * len(r.tags)), Registered(np.ones(3), [1])
    assert c(r) == 3.0
    r.tags.append(2)
    assert c(r) == 6.0


def test_a_callback_of_an_installed_package_may_change_its_own_state(tmp_path: Any) -> None:
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "lab_of_tests.py").write_text(
        "import numpy as np\nTOTAL = np.zeros(2)\ndef record(x):\n    TOTAL[:] += x\n    return 0.0\n"
    )
    sys.path.insert(0, str(site))
    try:
        import lab_of_tests  # type: ignore[import-not-found]

        record = irad.callback(lab_of_tests.record, np.float64)
        with pytest.raises(irad.UnsupportedError, match="can be changed by the callback"):
            irad.compile(lambda x: record(x) + np.sum(lab_of_tests.TOTAL * x))(np.ones(2))
        assert irad.compile(lambda x: record(x) + np.sum(x))(np.ones(2)) == 2.0
    finally:
        sys.path.remove(str(site))
        sys.modules.pop("lab_of_tests", None)


def test_read_only_mappings() -> None:
    d: dict[str, Any] = {"a": 2.0}
    m = types.MappingProxyType(d)
    live(lambda x: x * m["a"] + len(m), lambda: d.update(a=5.0), lambda: d.update(b=1), lambda: d.update(a=X))

    @dataclasses.dataclass
    class Model:
        scale: float
        steps: float = dataclasses.field(default=2.0, metadata={"kind": "numerical"})

        def shown(self) -> float:
            return sum(getattr(self, f.name) for f in dataclasses.fields(self) if f.metadata.get("kind") != "numerical")

    assert irad.value_and_grad(lambda s: Model(s, 7.0).shown() * 3)(2.0) == (6.0, 3.0)


def test_a_captured_number_decides_which_class() -> None:
    class Line:
        def __init__(self, v: float):
            self.value = 2 * v

    class Square:
        def __init__(self, v: float):
            self.value, self.more = v * v, v

    class Model:
        base = 1.0

        def made(self, v: float) -> Any:
            if np.isclose(self.base, 1):
                return Line(v)
            return Square(v)

    def f(x: Any) -> Any:
        return Model().made(x).value

    live(f, lambda: setattr(Model, "base", 2.0), args=(3.0,))


def test_captured_whole_numbers_decide_which_function() -> None:
    kinds = np.array([1, 0, 2])
    functions = {0: np.sin, 1: np.cos, 2: lambda v: v * v}

    def f(x: Any) -> Any:
        return sum(functions[kinds[k]](x[k]) * (k + 1) for k in range(3))

    live(f, lambda: kinds.__setitem__(0, 2))
    kinds[0] = 1
    np.testing.assert_allclose(irad.grad(f)(X), [-np.sin(0.0), 2 * np.cos(1.0), 12.0])


def test_what_a_config_parser_says_is_asked_at_each_call() -> None:
    config = configparser.ConfigParser()
    config["units"] = {"length": "8.0", "name": "m", "on": "yes"}

    def f(x: Any) -> Any:
        scale = config.getfloat("units", "length") if config.getboolean("units", "on") else 1.0
        return np.sum(x) * scale * (2.0 if config.get("units", "name") == "m" else 1.0) + config.has_section("others")

    for key, value in (("length", "4.0"), ("name", "ft"), ("on", "no")):
        live(f, lambda key=key, value=value: config.set("units", key, value))
    np.testing.assert_allclose(irad.grad(f)(X), np.ones(3))


class Kept:
    def __init__(self, v: float):
        self.v = v


ROWS: list[Any] = [[1.0, 2.0], [3.0, 4.0], Kept(1.0), Kept(2.0)]


def test_what_changes_is_one_with_something_else_in_a_later_call() -> None:
    def f(x: Any) -> Any:
        ROWS[0][0] += x
        ROWS[2].v += x
        return (ROWS[1][0] * 10 + ROWS[0][0] + ROWS[3].v) * x

    def put(same: bool) -> None:
        row, box = [1.0, 2.0], Kept(1.0)
        ROWS[:] = [row, row, box, box] if same else [row, [3.0, 4.0], box, Kept(2.0)]

    c, g = irad.compile(f), irad.grad(f)
    for same in (False, True, False, True):
        put(same)
        want, after = f(0.5), (ROWS[0][0], ROWS[1][0], ROWS[2].v, ROWS[3].v)
        put(same)
        assert g(0.5) == (24.0 if same else 34.0)
        assert c(0.5) == want and (ROWS[0][0], ROWS[1][0], ROWS[2].v, ROWS[3].v) == after


def test_a_function_of_a_library_that_is_replaced_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    user: Any = types.ModuleType("user")
    user.f = math.sin

    def f(x: Any) -> Any:
        return np.sum(np.tanh(x)) + np.linalg.norm(x) + math.cos(0.25) + abs(-1.5) + user.f(0.5)

    def put(module: Any, name: str, new: Any) -> Callable[[], None]:
        return lambda: monkeypatch.setattr(module, name, new)

    twice = lambda x: x * 2.0
    new = (
        (np, "tanh", np.arctan),
        (np.linalg, "norm", np.sum),
        (math, "cos", math.exp),
        (builtins, "abs", twice),
        (user, "f", math.cos),
    )
    live(f, *(put(*n) for n in new), monkeypatch.undo)
    g = irad.grad(lambda x: math.sin(x))
    assert g(0.0) == 1.0
    monkeypatch.setattr(math, "sin", twice)
    assert g(0.0) == 2.0
    monkeypatch.undo()
    assert g(0.0) == 1.0


# ---- what libraries call of the program, with nothing traced ----------------------------------------------------------------

rate = 2.0


@contextlib.contextmanager
def scaled(v: float) -> Any:
    yield v * rate


@functools.singledispatch
def kind(v: Any) -> float:
    return 1.0 * rate


@kind.register
def _(v: str) -> float:
    return 3.0 * rate


by_rate = functools.cmp_to_key(lambda a, b: (a - b) * rate)


@functools.total_ordering
class Ranked:
    def __init__(self, v: float):
        self.v = v

    def __lt__(self, other: Any) -> bool:
        return self.v * rate < other.v * rate

    def __eq__(self, other: Any) -> bool:
        return self.v == other.v

    def __bool__(self) -> bool:
        return rate > 0

    def __index__(self) -> int:
        return int(abs(self.v * rate))

    def __getitem__(self, k: Any) -> float:
        return k * rate

    @property
    def size(self) -> float:
        return self.v * rate

    def times(self, k: float, more: float = 0.0) -> float:
        return self.v * rate * k + more


def _in_with(x: Any) -> Any:
    with scaled(2.0) as a:
        return a * x


@pytest.mark.parametrize(
    "f",
    [
        _in_with,
        lambda x: kind("a") * x + kind(1.0),
        lambda x: sorted([3, 1, 2], key=by_rate)[0] * x,
        lambda x: x if Ranked(3.0) >= Ranked(2.0) else -x,
        lambda x: sorted([Ranked(1.0), Ranked(2.0)])[0].v * x,
        lambda x: heapq.nsmallest(1, [Ranked(1.0), Ranked(2.0)])[0].v * x,
        lambda x: heapq.nlargest(1, [1.0, 2.0], key=lambda a: a * rate)[0] * x,
        lambda x: bisect.bisect([Ranked(1.0), Ranked(2.0)], Ranked(1.5)) * x,
        lambda x: bisect.bisect([1.0, 2.0, 3.0], 3.9, key=lambda a: abs(a * rate)) * x,
        lambda x: x if operator.truth(Ranked(1.0)) else -x,
        lambda x: operator.index(Ranked(2.0)) * x,
        lambda x: operator.attrgetter("size")(Ranked(1.0)) * x,
        lambda x: operator.itemgetter(1, 2)(Ranked(1.0))[1] * x,
        lambda x: operator.methodcaller("times", 2.0, more=1.0)(Ranked(1.0)) * x,
        lambda x: [*map(operator.methodcaller("times", 2.0), [Ranked(1.0)])][0] * x,
    ],
)
def test_what_libraries_call_of_the_program_reads_what_changes(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    live(f, *(lambda v=v: monkeypatch.setitem(globals(), "rate", v) for v in (-3.0, 5.0)), args=(1.5,))


def test_what_code_that_is_not_read_calls_back_is_refused() -> None:
    for f in (lambda x: re.sub("a", lambda m: str(rate), "a"), lambda x: [*heapq.merge([1.0], [2.0], key=lambda a: a * rate)]):
        refused(f, "is not read, and calls a function", args=(1.5,))
    rates = [2.0]

    class Listed(Ranked):
        def __index__(self) -> int:
            return int(rates[0])

    refused(lambda x: operator.index(Listed(1.0)) * x, "__index__, which index() may call", args=(1.5,))


@functools.singledispatch
def described(x: Any) -> Any:
    return 1.0


class Position:
    def __init__(self, k: int) -> None:
        self.k = k

    def __index__(self) -> int:
        return self.k


POSITION = Position(1)


def test_functions_that_are_registered_later() -> None:
    def f(x: Any) -> Any:
        return described(3) * x[0] + described([x[1]])

    c, x = irad.compile(f), np.array([1.5, 2.0])
    assert c(x) == f(x) == 2.5
    described.register(int, lambda k: 7.0)
    assert c(x) == f(x) == 11.5
    described.register(list, lambda xs: xs[0] * 10)
    described.register(int, lambda k: 1.0 * k)
    assert c(x) == f(x) == 24.5


def test_positions_that_an_object_gives() -> None:
    def f(x: Any) -> Any:
        y, z = [1.0, 2.0, 3.0, 4.0], np.zeros(4)
        y[POSITION] = x[0]
        z[POSITION:] = x[POSITION]
        z[POSITION, ...] *= 2
        del y[POSITION]
        return sum(y) + 10 * y[POSITION] + z @ np.arange(4.0) + range(5)[POSITION] + x[None, POSITION][0] + "abc".index("c")

    c, x = irad.compile(f), np.array([1.0, 20.0, 300.0, 5.0])
    for k in (1, 2):
        POSITION.k = k
        assert c(x) == f(x)
    assert irad.grad(f)(x).tolist() == [0.0, 0.0, 2 * 2.0 + 3.0 + 1.0, 0.0]


def test_arrays_of_texts_of_any_length() -> None:
    """They are constants, compared at each call; arrays of other objects are refused where they are found."""
    names = np.array(["M2", "S2", "K1"], dtype=object)
    table = {"name": names, "freq": np.array([0.1, 0.2, 0.3])}

    def f(x):
        k = list(table["name"]).index("S2")
        return table["freq"][k] * x + len(names[1]) + np.sum(names == "K1")

    c = irad.compile(f)
    assert c(2.0) == f(2.0) == 3.4
    assert irad.grad(f)(2.0) == 0.2
    names[1], names[0] = "longer", "S2"
    assert c(2.0) == f(2.0) == 7.2
    others = np.array([[1, 2], [3]], dtype=object)
    with pytest.raises(irad.IradTypeError, match="others: an array of Python objects"):
        irad.compile(lambda x: len(others[0]) * x)(2.0)
