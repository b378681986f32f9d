"""Functions that are called again with arguments of the same kinds become graphs: each is read once, and the meaning stays."""

import importlib
import math
import sys

import numpy as np
import pytest

import irad
from irad.core.switches import without
from irad.errors import IradError
from irad.frontend.reading import called
from irad.frontend.trace import trace
from irad.passes.clean import inline

X = np.array([0.3, -0.7, 1.1])
RATE = 2.0
TABLE = [1.0, 2.0]


@pytest.fixture(autouse=True)
def however_small(monkeypatch):
    """What is called twice is read as a graph, however small it is, and stays one."""
    monkeypatch.setattr(called, "LARGE", 1)
    monkeypatch.setattr(called, "WORTH", 1)
    monkeypatch.setattr(inline, "SMALL", 0)
    monkeypatch.setattr(inline, "COPIES", 0)


def functions(f, *args):
    """The names of the graphs that a function calls."""
    return list(trace(f, args).program)[1:]


def check(f, *args, names=None):
    """Value, gradient in both modes and second derivative are those of calls in place; the value is Python's."""
    if names is not None:
        assert functions(f, *args) == names
    assert np.isclose(irad.compile(f)(*args), f(*args), rtol=1e-14)
    ways = [irad.grad(f), irad.grad(f, mode="forward"), irad.jacobian(irad.grad(f)), irad.vmap(f), irad.vmap(irad.grad(f))]
    ways.append(irad.grad(lambda x: np.sum(irad.vmap(f)(x) ** 2)))
    rows = np.stack([args[0], 0.5 * args[0]])
    for k, way in enumerate(ways):
        given = (rows,) if k > 2 else args
        with without("functions"):
            want = way(*given)
        assert np.allclose(way(*given), want, rtol=1e-13, atol=1e-13)


def bent(x, k=1):
    if x > 0.5:
        return np.exp(-x) * k
    return np.sin(x) + x * x


def test_scalar_function():
    check(lambda x: bent(x) + bent(2 * x) * bent(x * x), 0.4, names=["bent_fn"])


def test_other_constants_are_other_functions():
    check(lambda x: bent(x, 1) + bent(2 * x, 1) + bent(3 * x, 2) + bent(4 * x, 2), 0.4, names=["bent_fn", "bent_fn2"])


def scaled(x, a):
    return np.tanh(x * a) / a


def test_known_floats_that_differ_are_parameters():
    check(lambda x: scaled(x, 0.5) + scaled(x, 1.5) + scaled(x, 2.5), 0.4, names=["scaled_fn"])


def weighted(x, a, b, c):
    return a * np.tanh(x * b) + c


def test_floats_that_differ_in_turn_make_one_function_more():
    def f(x):
        return sum(weighted(x, a, b, c) for a in (0.5, 1.5) for b in (1.0, 2.0) for c in (3.0, 4.0, 5.0))

    check(f, 0.4, names=["weighted_fn", "weighted_fn2"])


def test_known_numbers_stay_known():
    def steps(a):
        return int(a * 2)

    def f(x):
        return sum(x**k for k in range(steps(1.0) + steps(2.0) + steps(2.5)))

    assert irad.compile(f)(0.5) == f(0.5)


def test_the_same_values_are_computed_once():
    f = lambda x: bent(x) + bent(x) + bent(x)
    assert functions(f, 0.4) == []
    assert np.isclose(irad.grad(f)(0.4), 3 * (math.cos(0.4) + 0.8))


def rows(x):
    y = x * 2.0
    y[0] = x[1]
    return y


def test_results_that_are_changed_are_apart():
    def f(x):
        a, b = rows(x), rows(x)
        a[1] = 7.0
        c = rows(x + 1)
        c[2] = b[1]
        d = rows(x + 2)
        return np.sum(a * b * c * d)

    check(f, X, names=["rows_fn"])


def add(y, x):
    y[0] += x
    y *= x
    return y


def test_arrays_given_are_changed_and_given_back():
    def f(x):
        a = np.zeros(3)
        b = add(a, x)
        c = add(b, x + 1)
        add(c, 2 * x)
        assert c is a
        return np.sum(a) + b[0] * c[0]

    check(f, 0.7, names=["add_fn"])


def test_arrays_of_the_caller_change():
    def f(y, x):
        add(y, x)
        add(y, x + 1)
        add(y, x + 2)
        return np.sum(y)

    mine, theirs = X.copy(), X.copy()
    assert irad.compile(f)(mine, 0.5) == f(theirs, 0.5)
    assert np.array_equal(mine, theirs)
    assert np.allclose(irad.grad(f, 1)(X, 0.5), (f(X.copy(), 0.5 + 1e-6) - f(X.copy(), 0.5 - 1e-6)) / 2e-6)


def test_views_are_stored_through():
    def f(x):
        a = np.zeros((3, 2))
        for k in range(3):
            add(a[k], x + k)
        add(a[:, 1], x)
        add(a[:, 0], x)
        return np.sum(a * a)

    check(f, 0.7)


class Body:
    def __init__(self, x):
        self.x = x
        self.v = 0.0 * x
        self.steps = 0
        self.seen = np.zeros(2)

    def push(self, force):
        self.v = self.v + 0.1 * (force - np.sin(self.x))
        self.x = self.x + 0.1 * self.v
        self.steps += 1
        self.seen[0] += self.x
        return self.v


def test_methods_change_their_object():
    def f(x):
        a, b = Body(x), Body(2 * x)
        total = 0.0
        for _ in [0, 1, 2]:
            total = total + a.push(0.3) * b.push(x)
        return total + a.steps * a.x + b.v + a.seen[0] * b.seen[0]

    check(f, 0.7)


class Slotted:
    __slots__ = ("x", "n")

    def __init__(self, x):
        self.x, self.n = x, 0

    def go(self, t):
        self.x = self.x * t + np.cos(self.x)
        self.n = 3
        return self


def test_slots_and_the_object_itself():
    def f(x):
        a = Slotted(x)
        b = a.go(x).go(2 * x).go(3 * x).go(4 * x)
        assert b is a
        return a.x + b.n

    check(f, 0.7)


def log_of(x):
    if x <= 0:
        raise ValueError(f"no logarithm of {x}")
    return np.log(x) + x


def test_exceptions_have_their_text_and_line():
    f = irad.compile(lambda x, y: log_of(x) + log_of(y) + log_of(x * y))
    assert np.isclose(f(1.0, 2.0), 1 + math.log(2) * 2 + 2 + 2)
    with pytest.raises(ValueError, match=r"no logarithm of -2\.0") as e:
        f(1.0, -2.0)
    with without("functions"), pytest.raises(ValueError) as want:
        irad.compile(lambda x, y: log_of(x) + log_of(y) + log_of(x * y))(1.0, -2.0)
    assert e.value.__notes__ == want.value.__notes__


def test_exceptions_are_caught():
    def f(x):
        total = log_of(x + 3) + log_of(x + 4)
        try:
            total += log_of(x)
        except ValueError:
            total += log_of(-x)
        return total

    for x in (0.5, -0.5):
        assert np.isclose(irad.compile(f)(x), f(x))


def test_what_was_stored_before_an_exception_stays():
    def f(y, x):
        a = log_of(x + 5) + log_of(x + 6)
        y[0] = a
        y[1] = log_of(x + 2) + log_of(x)

    mine, theirs = X.copy(), X.copy()
    for g, y in ((irad.compile(f), mine), (f, theirs)):
        with pytest.raises(ValueError):
            g(y, -1.0)
    assert np.allclose(mine, theirs)


def rated(x):
    return x * RATE + TABLE[0]


def test_what_is_outside_may_change_between_calls(monkeypatch):
    f = irad.compile(lambda x: rated(x) * rated(2 * x) * rated(3 * x))
    assert f(0.5) == (0.5 * 2 + 1) * (1.0 * 2 + 1) * (1.5 * 2 + 1)
    monkeypatch.setitem(globals(), "RATE", 4.0)
    assert f(0.5) == (0.5 * 4 + 1) * (1.0 * 4 + 1) * (1.5 * 4 + 1)


def test_what_is_outside_may_change_within_a_call():
    kept = [1.0]

    def f(x):
        first = kept_times(x) + kept_times(2 * x)
        kept[0] = x
        return first + kept_times(x) + kept_times(2 * x)

    def kept_times(x):
        return kept[0] * np.exp(x)

    want = f(0.5)
    kept[0] = 1.0
    assert np.isclose(irad.compile(f)(0.5), want)


GAIN = 1.0


def gained(x):
    return GAIN * np.exp(x)


def test_globals_assigned_within_a_call():
    def f(x, n):
        global GAIN
        total = gained(x) + gained(2 * x)
        if n > 1:
            GAIN = 3.0
            total += gained(x) + gained(2 * x)
        else:
            total += gained(3 * x) + gained(4 * x)
        return total + gained(x) + gained(5 * x)

    global GAIN
    for n in (1, 2):
        GAIN = 1.0
        want = f(0.5, n)
        GAIN = 1.0
        assert np.isclose(irad.compile(f)(0.5, n), want)


def drawn(rng, x):
    return x * rng.normal()


def test_random_numbers_go_on():
    def f(x):
        rng = np.random.default_rng(3)
        return drawn(rng, x) + drawn(rng, x) * 2 + drawn(rng, 2 * x) * 3

    assert np.isclose(irad.compile(f)(0.5), f(0.5))


def noted(x, notes):
    notes.append(x)
    return np.sin(x)


def test_lists_given_grow():
    def f(x):
        notes = []
        y = noted(x, notes) + noted(2 * x, notes) + noted(3 * x, notes)
        return y * sum(notes) * len(notes)

    check(f, 0.7)


def told(x):
    print("at", x)
    return np.sin(x)


def test_prints_come_each_time(capfd):
    f = irad.compile(lambda x: told(x) + told(x) + told(2 * x))
    f(0.5)
    capfd.readouterr()
    f(0.25)
    assert capfd.readouterr().out == "at 0.25\nat 0.25\nat 0.5\n"


def test_conditions_that_hold_at_one_place():
    def f(x, g):
        def inner(y):
            return bent(y) + bent(y + 0.1)

        if x > 0.5:
            return inner(x) + g
        return inner(x) * bent(x * 2)

    for x in (0.2, 0.7):
        assert np.isclose(irad.compile(f)(x, 0.5), f(x, 0.5))


def deep(i, j, x):
    if i < 0 or j < 0:
        return 0.0
    if i == j == 0:
        return np.exp(-x)
    return x * deep(i - 1, j, x) + j * deep(i, j - 1, x) + deep(i - 1, j - 1, x)


def test_recursion_of_known_depth_is_linear():
    """Its calls are many times more than the different ones."""
    f = lambda x: deep(6, 6, x) + deep(6, 6, 2 * x)
    program = trace(f, (0.5,)).program
    assert sum(len(g.nodes) for g in program.values()) < 2000
    assert np.isclose(irad.compile(f)(0.5), f(0.5))
    assert np.isclose(irad.grad(f)(0.5), (f(0.5 + 1e-6) - f(0.5 - 1e-6)) / 2e-6, rtol=1e-7)


def test_errors_are_those_of_calls_in_place():
    def shaped(x, n):
        return np.sum(np.ones(n) * x)

    def f(x, y):
        n = int(y)
        return shaped(x, n) + shaped(2 * x, n) + wrong(x) + wrong(2 * x)

    def wrong(x):
        return [x][int(x)] if x > 0 else {}

    with pytest.raises((IradError, TypeError)) as e:
        irad.compile(f)(0.5, 2.0)
    with without("functions"), pytest.raises((IradError, TypeError)) as want:
        irad.compile(lambda x, y: f(x, y))(0.5, 2.0)
    assert str(want.value).startswith(str(e.value)) and "called from" in str(e.value)  # and from the lambda


def test_arrays_of_all_layouts():
    def both(a):
        return a.reshape(-1) * 2.0

    def f(x):
        m = np.outer(x, x)
        return np.sum(total(m) * total(m.T) * total(m + 1) * total((m + 2).T))

    check(f, X)


def total(m):
    out = m.T.copy()
    out.reshape(-1)[1] = 5.0
    return out.T


def test_memory_mode():
    f = lambda x: bent(x) + bent(2 * x) + np.sum(rows(x * X)) + np.sum(rows(X + x))
    c = irad.compile(f, check="memory")
    assert np.isclose(c(0.4), f(0.4))
    assert np.isclose(c.value_and_grad(0.4)[1], irad.grad(f)(0.4))


def test_a_package_of_the_program_may_have_the_name_of_a_library(tmp_path, monkeypatch):
    (tmp_path / "autograd").mkdir()
    (tmp_path / "autograd" / "__init__.py").write_text(
        "import numpy as np\n\n\nclass Tensor:\n    def __init__(self, data):\n        self.data = data\n\n"
        "    def squares(self):\n        return np.sum(self.data**2)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "autograd", raising=False)
    autograd = importlib.import_module("autograd")
    f = lambda x: autograd.Tensor(2 * x).squares()
    try:
        assert irad.compile(f)(np.array([1.0, 3.0])) == 40.0
        assert np.array_equal(irad.grad(f)(np.array([1.0, 3.0])), [8.0, 24.0])
    finally:
        sys.modules.pop("autograd", None)


def stored_through_a_view(y, v, t):
    v[0] = v[0] + t
    return y[1] * np.sin(t)


def test_a_view_of_another_argument_is_not_stored_into_apart():
    def f(x):
        y = x * 1.0
        v = y[1:]
        g = stored_through_a_view
        return g(y, v, x[0]) + g(y, v, x[1]) * g(y, v, x[2]) + np.sum(y)

    check(f, X, names=[])


def test_functions_in_functions():
    def f(x):
        scale = x[2]

        def wave(t, k=2.0):
            return np.sin(t * k) * scale + twice(t)

        def twice(t):
            return t * t + shift * t

        shift = 0.5
        first = wave(x[0]) + wave(x[1])
        scale = scale * first  # what it reads of variables around it are arguments
        shift = 0.25
        return wave(x[0]) * wave(x[1]) + first

    assert {"twice_fn", "wave_fn"} <= set(functions(f, X))
    check(f, X)


def test_functions_given_to_functions():
    def f(x):
        def root(g, lo, hi):
            for _ in range(8):
                mid = (lo + hi) / 2
                if g(mid) > 0:
                    hi = mid
                else:
                    lo = mid
            return mid - g(mid)

        return sum(root(lambda t, s=s: t * t - x[0] * s, 0.0, 2.0) for s in (1.0, 2.0, 3.0))

    check(f, X)

    def g(x):
        def twice(h, t):
            return h(h(t)) + (2.0 if h is first else 3.0) * h(t)

        def first(t):
            return np.sin(t) * x[1]

        return twice(first, x[0]) + twice(first, x[2]) * twice(lambda t: t * x[2], x[0])

    check(g, X)


def test_functions_in_functions_that_change_variables_around_them_are_read_in_place():
    def f(x):
        n, seen = 0.0, []

        def count(t):
            nonlocal n
            n = n + t * t
            return np.sin(t) * n

        def note(t):
            seen.append(t * t)
            return np.cos(t)

        def tag(t):
            tag.sum = tag.sum + t
            return tag.sum * t

        tag.sum = x[0]
        return count(x[0]) + count(x[1]) * count(x[2]) + note(x[0]) * note(n) + sum(seen) + tag(x[1]) * tag(x[2])

    assert functions(f, X) == []
    assert np.isclose(irad.compile(f)(X), f(X), rtol=1e-14)


def test_functions_in_functions_store_into_arrays_around_them():
    def f(x):
        kept = np.zeros(3)

        def store(i, t):
            kept[i] = kept[i - 1] + np.tanh(t)
            return kept[i] * t

        return store(0, x[0]) + store(1, x[1]) * store(2, x[2]) + np.sum(kept * x)

    check(f, X)


def test_results_that_may_be_none():
    def first(xs, t):
        for x in xs:
            if x > t:
                return x

    def f(x):
        total = 0.0
        for t in (0.2, 2.0, 9.0):
            found = first(x * t, t)
            total = total + (t if found is None else found * found)
        return total

    check(f, X, names=["first_fn"])
    check(f, X * 0.1)
