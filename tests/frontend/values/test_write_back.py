"""What a call assigns outside: the same objects after the same calls, compiled and in plain Python."""

from __future__ import annotations

import collections
import copy
import dataclasses
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import UnsupportedError


class Momentum:
    def __init__(self) -> None:
        self.rate, self.t, self.m, self.history, self.seen = 0.1, 0, np.zeros(3), [], {}

    def step(self, w: np.ndarray, g: np.ndarray) -> np.ndarray:
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.history.append(float(np.sum(g)))
        self.seen["last"] = w
        return w - self.rate * self.m / (1 - 0.9**self.t)

    def counted(self, x: np.ndarray) -> Any:
        for v in x:
            if v > 0.5:
                self.t += 2
        self.best = max(getattr(self, "best", 0.0), np.max(x))
        return np.sum(x)

    def __call__(self, w: np.ndarray, g: np.ndarray) -> np.ndarray:
        return self.step(self.step(w, g), g) * self.counted(w)


def state(x: Any) -> Any:
    """All that an object holds, arrays as lists, with the classes of numbers."""
    if isinstance(x, np.ndarray):
        return "array", x.dtype.name, np.round(x, 12).tolist()
    if isinstance(x, (list, tuple, collections.deque)):
        return type(x).__name__, [state(v) for v in x]
    if isinstance(x, dict):
        return {k: state(v) for k, v in x.items()}
    if hasattr(x, "__dict__"):
        return type(x).__name__, state(vars(x))
    return type(x).__name__, round(float(x), 12)


@pytest.mark.parametrize("method", ["step", "__call__"])
def test_attributes(method: str) -> None:
    held = []
    for compiled in (False, True):
        m, w = Momentum(), np.ones(3)
        f = getattr(m, method) if not compiled else irad.compile(getattr(m, method))
        for k in range(4):
            w = f(w, np.arange(3.0) + k)
        held.append(state([m, w]))
    assert held[0] == held[1]


def test_an_object_among_the_arguments() -> None:
    def step(m: Any, g: np.ndarray) -> Any:
        return np.sum(m.step(np.ones(3), g))

    a, b, c = Momentum(), Momentum(), irad.compile(step)
    for _ in range(3):
        assert np.isclose(step(a, np.arange(3.0)), c(b, np.arange(3.0)))
    assert state(a) == state(b)


COUNT, TOTAL = 0, 0.0


def counting(x: float) -> float:
    global COUNT, TOTAL
    COUNT += 1
    TOTAL = TOTAL + x
    return TOTAL * COUNT


def test_globals() -> None:
    global COUNT, TOTAL
    COUNT, TOTAL = 0, 0.0
    c = irad.compile(counting)
    assert [c(v) for v in (1.0, 2.0, 3.0, 4.0)] == [1.0, 6.0, 18.0, 40.0]
    assert (COUNT, TOTAL) == (4, 10.0) and type(COUNT) is int


def counter() -> tuple[Callable[[float], float], Callable[[], Any]]:
    n, few = 0, []

    def count(x: float) -> float:
        nonlocal n
        n += 1
        if len(few) < 2:
            few.append(n)
        return x * n

    return count, lambda: (n, few)


def test_variables_of_functions_around() -> None:
    for compiled in (False, True):
        count, see = counter()
        f = irad.compile(count) if compiled else count
        assert [f(2.0) for _ in range(4)] == [2.0, 4.0, 6.0, 8.0] and see() == (4, [1, 2])


def changed(items: list, table: dict, x: float) -> Any:
    items.append(x**2)
    items[0] = items[0] + 1
    table["k"] = x
    table["inner"][0] = 7.0
    return sum(items)


def test_lists_and_dicts_among_the_arguments() -> None:
    held = []
    for f in (changed, irad.compile(changed)):
        items, inner = [1.0, 2.0], [1.0]
        table = {"inner": inner}
        results = [f(items, table, 3.0 + k) for k in range(3)]
        assert table["inner"] is inner
        held.append(state([items, table, results]))
    assert held[0] == held[1]


def test_a_list_given_twice_is_one_list() -> None:
    def both(a: list, b: list, x: float) -> int:
        a.append(x)
        return len(b)

    items = [1.0]
    assert irad.compile(both)(items, items, 2.0) == 2 and items == [1.0, 2.0]


def test_other_containers() -> None:
    held = []
    for compiled in (False, True):
        last = collections.deque([0.0], maxlen=3)
        ordered = collections.OrderedDict(a=1.0, b=2.0)
        numbers = collections.defaultdict(float, z=1.0)

        def put(x: float, last: Any = last, ordered: Any = ordered, numbers: Any = numbers) -> Any:
            last.append(x)
            ordered["c"] = x
            ordered["a"] = ordered["a"] * 2
            numbers["z"] += x
            return sum(last) + sum(ordered.values())

        f = irad.compile(put) if compiled else put
        results = [f(1.0 + k) for k in range(5)]
        held.append((state(results), state(last), list(ordered.items()), dict(numbers), last.maxlen, type(numbers)))
    assert held[0] == held[1]


@dataclasses.dataclass
class State:
    x: np.ndarray
    v: float
    seen: list = dataclasses.field(default_factory=list)


def advanced(s: State, dt: float) -> State:
    s.x = s.x + dt * s.v
    s.v *= 0.5
    s.seen.append(s.v)
    return s


def test_dataclasses_among_the_arguments() -> None:
    held = []
    for f in (advanced, irad.compile(advanced)):
        s = State(np.ones(2), 1.0)
        results = [copy.deepcopy(f(s, 0.1)) for _ in range(3)]
        held.append(state([s, results]))
    assert held[0] == held[1]


def test_a_gradient_changes_nothing() -> None:
    m = Momentum()

    def loss(w: np.ndarray, m: Momentum = m) -> Any:
        return np.sum(m.step(w, w) ** 2)

    before = state(m)
    value, slope = irad.value_and_grad(loss)(np.ones(3))
    assert state(m) == before
    s = State(np.ones(2), 1.0)
    by_state = irad.grad(lambda s: np.sum(advanced(s, 0.5).x ** 2))(s)
    assert by_state.x.tolist() == [3.0, 3.0] and by_state.v == 3.0
    assert state(s) == state(State(np.ones(2), 1.0))
    irad.compile(loss)(np.ones(3))
    assert m.t == 1 and np.isclose(value, 3 * (1 - 0.1 * 0.1 / 0.1) ** 2)
    assert slope.shape == (3,)


def test_arrays_keep_their_identity() -> None:
    h = types.SimpleNamespace(w=np.ones(2), z=np.zeros(3))

    def renewed(x: np.ndarray) -> Any:
        old = h.w
        h.w = x * 2
        return h.w, old

    first = h.w
    new, old = irad.compile(renewed)(np.ones(2))
    assert new is h.w and old is first and new.tolist() == [2.0, 2.0]

    def exchanged() -> None:
        h.w, h.z = h.z, h.w

    w, z = h.w, h.z
    irad.compile(exchanged)()
    assert h.w is z and h.z is w

    def kept(x: np.ndarray) -> None:
        h.w = x

    x = np.ones(4)
    irad.compile(kept)(x)
    assert h.w is x


def test_properties_and_chains() -> None:
    class Counter:
        def __init__(self) -> None:
            self.n, self._v = 0, 1.0

        @property
        def v(self) -> float:
            return self._v

        @v.setter
        def v(self, value: float) -> None:
            self._v = value * 2

        def bump(self, k: int = 1) -> Counter:
            self.n += k
            return self

        def __call__(self, x: float) -> float:
            self.bump().bump(2)
            self.v = self.v + x
            return x * self.n

    a, b = Counter(), Counter()
    c = irad.compile(b)
    assert [a(2.0) for _ in range(3)] == [c(2.0) for _ in range(3)] and vars(a) == vars(b)


def test_a_list_that_is_only_appended_to_is_not_read() -> None:
    losses: list[float] = []

    def record(x: float) -> float:
        losses.append(x * 2)
        return x

    c = irad.compile(record)
    for k in range(6):
        c(float(k))
    assert losses == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert len(irad.call.runtime.cache_for(record).entries) == 1


def test_conditions_and_loops() -> None:
    h = types.SimpleNamespace(last=0.0, total=0.0)

    def noted(x: float) -> float:
        if x > 0:
            h.last = x
        for i in range(10):
            h.total = h.total + i * x
        return x

    c = irad.compile(noted)
    c(2.0), c(-3.0)
    assert (h.last, h.total) == (2.0, -45.0)


def test_assigned_on_some_paths() -> None:
    h = types.SimpleNamespace()

    def sometimes(x: float) -> float:
        if x > 0:
            h.found = x
        return x

    compiled = irad.compile(sometimes)
    assert compiled(-1.0) == -1.0 and not hasattr(h, "found")
    assert compiled(2.0) == 2.0 and h.found == 2.0
    assert compiled(-3.0) == -3.0 and h.found == 2.0


def test_what_cannot_be_assigned() -> None:
    h = types.SimpleNamespace()

    class Made:
        pass

    def made(x: float) -> float:
        h.made = Made()
        return x

    def of_a_class(x: float) -> float:
        Made.count = x
        return x

    def of_a_module(x: float) -> float:
        types.MethodType = x  # type: ignore
        return x

    words_of = [(made, "class Made"), (of_a_class, "of the class Made is assigned"), (of_a_module, "of the module types")]
    for f, words in words_of:
        with pytest.raises(UnsupportedError, match=words) as e:
            irad.compile(f)(1.0)
        assert "test_write_back.py" in str(e.value)
    assert vars(h) == {}


def recorder() -> tuple[Callable[..., int], list[Any]]:
    history: list[Any] = [0.0]
    table: dict[str, Any] = {"seen": [], "other": 1.0}

    def record(x: np.ndarray, n: int) -> int:
        for i in range(n):
            history.append(x[0] * i)
            table["seen"].append(x * i)
        table["squares"] = [v**2 for v in x]
        return len(table["seen"])

    return record, [history, table]


def test_lists_that_grow_in_loops() -> None:
    (plain, a), (compiled, b) = recorder(), recorder()
    c = irad.compile(compiled)
    for k in range(2):
        assert plain(np.arange(3.0) + k, 40) == c(np.arange(3.0) + k, 40)
    assert state(a) == state(b)


class Doubling:
    def __init__(self) -> None:
        self.n = 1.0

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value * 2)


def test_deleted_attributes_and_set_by_methods() -> None:
    def renamed(h: Any, x: float) -> Any:
        before, h.v = h.v, x
        after = h.v
        del h.v
        h.u = after
        return before + after + (100 if hasattr(h, "v") else 0)

    a, b = types.SimpleNamespace(v=1.0), types.SimpleNamespace(v=1.0)
    assert irad.compile(renamed)(b, 2.0) == renamed(a, 2.0) == 3.0 and vars(a) == vars(b) == {"u": 2.0}

    def added(d: Any, x: float) -> Any:
        d.n = d.n + x
        return d.n

    c, d = Doubling(), Doubling()
    f = irad.compile(added)
    assert [added(c, 2.0) for _ in range(3)] == [f(d, 2.0) for _ in range(3)] and vars(c) == vars(d)


def test_an_object_that_is_captured_and_an_argument_is_one() -> None:
    for f in (lambda x: x, irad.compile):
        s = State(np.ones(2), 1.0)

        def argument_first(t: State, s: State = s) -> Any:
            t.v = t.v * 2
            t.seen.append(t.v)
            return s.v + len(s.seen)

        def captured_first(t: State, s: State = s) -> Any:
            s.v = s.v * 2
            s.seen.append(s.v)
            return t.v + len(t.seen)

        assert [f(argument_first)(s), f(captured_first)(s), f(argument_first)(s)] == [3.0, 6.0, 11.0]
        assert s.seen == [2.0, 4.0, 8.0]


def test_variables_of_another_module() -> None:
    import sys

    module = types.ModuleType("settings_of_a_test")
    module.rate, module.calls = 1.0, 0  # type: ignore[attr-defined]
    sys.modules["settings_of_a_test"] = module
    try:

        def f(x: np.ndarray) -> Any:
            module.calls += 1  # type: ignore[attr-defined]
            if x[0] > 0.2:
                module.rate = x[1] * 2.0  # type: ignore[attr-defined]
            for v in x:
                module.rate = module.rate * v  # type: ignore[attr-defined]
            module.last = x[0]  # type: ignore[attr-defined]
            return module.rate

        c, x = irad.compile(f), np.array([0.5, 2.0, 3.0])
        for y in (x, x - 0.4, x * 2):
            module.rate = 1.5  # type: ignore[attr-defined]
            want = f(y)
            after = (module.rate, module.last)  # type: ignore[attr-defined]
            module.rate = 1.5  # type: ignore[attr-defined]
            assert c(y) == want and (module.rate, module.last) == after  # type: ignore[attr-defined]
        assert module.calls == 6  # type: ignore[attr-defined]
        module.rate = 1.5  # type: ignore[attr-defined]
        assert np.allclose(irad.grad(f)(x), [24.0, 12.0, 4.0]) and module.calls == 6 and module.rate == 1.5  # type: ignore[attr-defined]
        with pytest.raises(UnsupportedError, match="attribute pi of the module numpy is assigned"):
            irad.compile(lambda x: setattr(np, "pi", x[0]))(x)
    finally:
        del sys.modules["settings_of_a_test"]


def test_keys_of_dicts_that_are_left_and_that_go() -> None:
    for compiled in (False, True):
        d: dict[Any, Any] = {"a": 1.0, None: 2.0, "b": 3.0}

        def f(x: float, out: str, d: dict[Any, Any] = d) -> float:
            d["a"] = x
            if out == "none":
                d.pop(None, None)
            if out == "last":
                d["a"] = d.pop("a")
            return x

        g, seen = irad.compile(f) if compiled else f, []
        for k, out in enumerate(("", "", "none", "last", "")):
            g(0.5 + k, out)
            seen.append(list(d.items()))
        assert seen[2] == [("a", 2.5), ("b", 3.0)] and seen[3:] == [[("b", 3.0), ("a", 3.5)], [("b", 3.0), ("a", 4.5)]]


# ---- functions that raise whatever the data ----------------------------------------------------------------------------


TOTAL = 0.0


class Account:
    def __init__(self) -> None:
        self.total, self.log, self.seen, self.w = 0.0, [], {}, np.ones(3)

    def known(self, x: Any) -> None:
        self.total += x
        self.w[0] = x
        self.log.append(x * 2)
        raise ValueError("known")

    def texts(self, x: Any) -> None:
        self.seen["x"] = self.log
        self.seen["y"] = self.log
        self.seen["z"] = self.w.T * x
        raise KeyError(f"{x:.1f}")

    def python(self, x: Any) -> Any:
        self.seen["x"] = 3
        return self.seen["y"]

    def inner(self, x: Any) -> None:
        global TOTAL
        TOTAL = x * 2
        try:
            self.known(x)
        finally:
            self.log += [x] * 2

    def earlier(self, x: Any) -> None:
        """Where data decides that another exception comes first, nothing is changed but arrays."""
        if x > 2:
            raise KeyError("first")
        self.known(x)


@pytest.mark.parametrize("method", ["known", "texts", "python", "inner", "earlier"])
def test_what_a_function_changes_before_it_raises_whatever_the_data(method: str) -> None:
    found = []
    for compiled in (False, True):
        globals()["TOTAL"] = 0.0
        a, seen = Account(), []
        f = irad.compile(getattr(a, method)) if compiled else getattr(a, method)
        for x in (1.0, 2.0, 3.0):
            with pytest.raises((ValueError, KeyError)) as e:
                f(x)
            seen.append((type(e.value), e.value.args, state(a), TOTAL))
        assert method != "texts" or a.seen["x"] is a.seen["y"]
        found.append(seen)
    assert found[0] == found[1]


def test_what_is_appended_to_an_argument_before_an_exception() -> None:
    def appended(xs: list[Any], d: dict[str, Any], x: Any) -> None:
        xs.append(x * 2)
        d.clear()
        d["n"] = xs
        raise ValueError("a")

    f, xs, d = irad.compile(appended), [], {"m": 1}
    for x in (1.0, 2.0):
        with pytest.raises(ValueError, match="^a$"):
            f(xs, d, x)
    assert xs == [2.0, 4.0] and d["n"] is xs and len(d) == 1


def test_a_gradient_that_raises_whatever_the_data_changes_nothing() -> None:
    xs: list[Any] = []
    w = np.zeros(2)

    def appended(x: Any) -> Any:
        xs.append(x * 2)
        w[0] = x
        raise ValueError("a")

    def inside(x: Any) -> Any:
        xs.append(x)
        return irad.grad(appended)(x)

    for f in (irad.grad(appended), irad.compile(inside)):
        with pytest.raises(ValueError, match="^a"):
            f(3.0)
        assert w.tolist() == [0.0, 0.0]
    assert xs == [3.0]
