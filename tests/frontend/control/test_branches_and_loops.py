"""Control flow that depends on data: branches, loops, jumps, variables that change their type, exceptions, output."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.interp import interpret
from irad.core.ir import size, walk
from irad.errors import IradError, UnsupportedError
from irad.frontend.trace import trace
from irad.ops.control import RaisedInGraph
from tests.support.as_called import check

X = np.array([1.0, -2.0, 3.0, 0.5, 12.0, -1.0, 4.0, 2.5, -7.0, 0.0])
N = len(X)
OTHERS = ((-X,), (np.zeros(N),), (np.arange(10.0),), (X[::-1].copy(),))


def ops(traced) -> list[str]:
    return [n.op.name for n in walk(traced.graph)]


def if_else(x):
    if x[0] > 0:
        y = x * 2
    elif x[1] > 0:
        y = x + 1
    else:
        y = -x
    return y


def if_only(x):
    s = 0
    if x[0] > 0:
        s = x[1]
        t = s * 2
        s = t + 1
    return s + 0.0


def nested_if(x):
    s = 1.0
    if x[0] > 0:
        if x[1] > 0:
            s *= 2
        else:
            x[0] = s
        s += x[0]
    else:
        x[1] += 1
    return s


def early(x):
    if x[0] > 0:
        return x[1]
    if x[1] > 0:
        return x[2] * 2
    for i in range(N):
        if x[i] == 0:
            return 100.0 + i
        if x[i] < -5:
            break
    else:
        return -1.0
    return x.sum()


def nested_return(x):
    for i in range(N):
        for j in range(i):
            if x[i] == -x[j]:
                return i * 100.0 + j
    return -1.0


def jumps(x):
    s = t = 0.0
    for i in range(N):
        if x[i] < 0:
            continue
        s += x[i]
        if s > 10:
            break
        if i % 2 == 0:
            continue
        t += s
    return s, t, i


def while_loop(x):
    s, k = abs(x[0]) + 0.1, 0
    while s < 100:
        s = s * 1.5 + abs(x[1])
        k += 1
        if k > 20:
            break
    else:
        k = -k
    return s, k


def while_true(x):
    k = 0
    while True:
        if k >= N or x[k] > 3:
            return k
        k += 1


def while_walrus(x):
    k = 0
    while (y := x[k]) < 5 and k < N - 1:
        k += 1
    return k, y


def for_else(x):
    for v in x:
        if v > 10:
            r = 1.0
            break
    else:
        r = 2.0
    return r


def over_things(x):
    s = 0.0
    for v in x:
        s += v * v
    for i, v in enumerate(x):
        s += i * v
    for a, b in zip(x, x[1:]):
        s += a * b
    for a, (i, b) in zip(reversed(x), enumerate(x, 3)):
        s += a * i - b
    for w in (1.0, 2.0, 3.0):
        s *= w
    for name, k in {"a": 1, "b": 2}.items():
        s += k * len(name)
    for i in range(8, 0, -3):
        s += x[i]
    for i in range(N - 1, -1, -1):
        s = s * 0.5 + x[i]
    return s


def triangular(x):
    a = np.zeros((N, N))
    for i in range(N):
        for j in range(i, N):
            a[i, j] = x[i] * x[j]
            for k in range(j):
                a[i, j] += a[i, k] * 0.1
    return a


def slices_of_loop_length(x):
    y = x.copy()
    for i in range(1, N):
        y[i] -= np.dot(x[:i], y[:i]) * 0.01
        y[i:] += 0.1
    return y


def changing_type(x):
    s = 0
    n = 0
    for v in x:
        s += v
        n += 1
    return s / n


def changing_precision(x):
    y = x.astype(np.float32)
    s = 0
    for i in range(N):
        s = s + y[i]
    return s


def accumulate_array(x):
    s = 0
    for i in range(N):
        s = s + x * i
    return s


def previous(x):
    prev = None
    s = 0.0
    for v in x:
        if prev is not None:
            s += v * prev
        prev = v
    return s


def defined_in_loop(x):
    for i in range(N):
        last = x[i] * 2
        if x[i] > 3:
            big = i
    return last, i, big


def lists_of_arrays(x):
    hs = [x]
    for k in range(3):
        hs.append(hs[-1] * 0.5 + k)
    total = 0.0
    for h in hs[1:]:
        total += h.sum()
    return total, hs


def layers(x):
    ws = [np.ones((10, 4)), np.ones((4, 2)), np.ones((2, 1))]
    h = x
    for i in range(len(ws)):
        h = h @ ws[i]
        if i < len(ws) - 1:
            h = np.maximum(h, 0)
    return h


def logic(x):
    a = x[0] > 0 and x[1] > 0
    b = x[0] > 0 or x[2] / x[0] > 1
    c = not a and b
    d = x[0] if x[0] > 0 else None if False else x[1]
    e = (x[0] > 0) == (x[1] > 0)
    return a, b, c, d, e, 0 < x[0] < x[2] < 10


def guarded_index(x):
    k = int(x[3] * 4)
    if 0 <= k < N and x[k] > 0:
        return x[k]
    return 0.0


def tuples(x):
    state = (x[0], 1.0, x)
    for k in range(N):
        a, b, c = state
        state = (b, a + x[k], c * 0.5)
    best = (x[0], 0)
    for i in range(1, N):
        if x[i] > best[0]:
            best = (x[i], i)
    return state, best


def fibonacci(x):
    a, b = 0, 1
    for _ in range(30):
        a, b = b, a + b
    return a + x[0] * 0


def helper_with_branch(v, bound=1.0):
    if v > bound:
        return bound
    if v < -bound:
        return -bound
    return v


def calls_in_loop(x):
    s = 0.0
    for v in x:
        s += helper_with_branch(v) + helper_with_branch(v, bound=2.0)
    return s


def closure_in_loop(x):
    total = 0.0

    def add(v):
        nonlocal total
        if v > 0:
            total += v

    for v in x:
        add(v)
    return total


class Counter:
    def __init__(self):
        self.n, self.total = 0, 0.0

    def see(self, v):
        if v > 0:
            self.n += 1
            self.total += v
        return self


def object_in_loop(x):
    c = Counter()
    for v in x:
        c.see(v)
    return c.n, c.total


def generators(x):
    a = sum(v * v for v in x)
    b = sum(v for v in x if v > 0)
    c = max(abs(v) for v in x)
    d = any(v > 10 for v in x) and all(v < 100 for v in x)
    e = sum(x[i] * x[j] for i in range(3) for j in range(i))
    f = min(v for v in x[:4])
    return a, b, c, d, e, f


def static_things(x):
    table = {}
    for i in range(200):
        table[i % 7] = table.get(i % 7, 0) + i
    primes = [p for p in range(2, 50) if all(p % q for q in range(2, p))]
    k = 1000
    while k > 10:
        k //= 3
    return x * table[3] + primes[4] + k


def matching(x):
    match ("a", 3):
        case ("b", n):
            return x * n
        case ("a", n) if n > 2:
            s = x * n + 1
        case _:
            return x
    match x[0] > 0, len(x):
        case True, 10:
            return s
    return -s


def asserts(x):
    assert len(x) == 10, "length"
    assert np.all(x < 1000), f"too large: {x[0]}"
    with np.errstate(invalid="ignore"):
        return np.sqrt(x).sum()


def raising(x):
    with np.errstate(divide="raise"):
        return 1 / x


def test_errors_of_floats_are_not_raised() -> None:
    with pytest.raises(UnsupportedError, match=r"np.errstate\(divide='raise'\).*test the numbers"):
        irad.compile(raising)(np.ones(2))


def tries(x):
    try:
        k = {"a": 1}["b"]
    except KeyError as e:
        k = len(e.args)
    else:
        k = 5
    finally:
        k += 1
    return x * k


def conditional_array(x):
    y = np.zeros(3)
    if x[0] > 0:
        y[1] = x[0]
        z = y
    else:
        z = x[:3] * 2
        y = z
    y[0] = 5
    return y, z


def in_place_in_branches(x):
    for i in range(N):
        if x[i] < 0:
            x[i] = -x[i]
        else:
            x[i] += i
    return x.sum()


def static_count_in_branch(x):
    n = 0
    if x[0] > 0:
        n = 3
    else:
        n = 4
    s = 0.0
    for i in range(n):
        s += x[i]
    return s, n


def loop_until_converged(x):
    y = np.abs(x) + 1
    err = np.inf
    it = 0
    while err > 1e-10 and it < 100:
        new = 0.5 * (y + (np.abs(x) + 1) / y)
        err = np.max(np.abs(new - y))
        y = new
        it += 1
    return y, it


def delete_and_reuse(x):
    t = x * 2
    del t
    t = 3
    for t in range(4):
        s = t * x
    return s, t


FUNCTIONS = [
    if_else, if_only, nested_if, early, nested_return, jumps, while_loop, while_true, while_walrus, for_else, over_things, triangular,
    slices_of_loop_length, changing_type, changing_precision, accumulate_array, previous, lists_of_arrays, layers, logic,
    guarded_index, tuples, fibonacci, calls_in_loop, closure_in_loop, object_in_loop, generators, static_things, matching, asserts,
    tries, conditional_array, in_place_in_branches, static_count_in_branch, loop_until_converged, delete_and_reuse,
]  # fmt: skip


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_like_python(fn):
    """Where a Python float and a NumPy scalar meet on two paths, which one comes out is not followed."""
    check(fn, X, exact=False, kinds=False, others=OTHERS)


def test_variables_of_a_loop():
    check(defined_in_loop, X)


@pytest.mark.parametrize("n", [0, 1, 3, 50])
def test_trip_counts_known_at_run_time(n):
    def f(v, n):
        s = 0.0
        for i in range(n):
            v = 3.5 * v * (1 - v)
            s += i
        for k in range(2, n, 3):
            s += k
        for k in range(n, -2, -2):
            s -= k
        return v, s

    check(f, 0.3, n, others=((0.2, 0), (0.1, 7)))


def test_loops_stay_loops():
    def f(v):
        for _ in range(20000):
            v = 3.5 * v * (1 - v)
        return v

    def g(v):
        for _ in range(20):
            v = 3.5 * v * (1 - v)
        return v

    assert size(trace(f, (0.3,)).program) == size(trace(g, (0.3,)).program) < 20


def test_depth_costs_no_more_than_lines():
    source = "def f(x):\n    s = 0.0\n" + "".join(
        f"{'    ' * (k + 1)}if x[{k}] > 0:\n{'    ' * (k + 2)}s += x[{k}]\n" for k in range(15)
    )
    lines = source + "    return s\n"
    import linecache

    linecache.cache["<deep>"] = (len(lines), None, lines.splitlines(True), "<deep>")
    space: dict = {}
    exec(compile(lines, "<deep>", "exec"), space)
    assert size(trace(space["f"], (np.ones(15),)).program) < 15 * 12


def test_many_early_returns_do_not_copy_the_rest():
    lines = "def f(x):\n" + "".join(f"    if x[{k}] > 5:\n        return x[{k}] * 2\n" for k in range(40)) + "    return 0.0\n"
    import linecache

    linecache.cache["<returns>"] = (len(lines), None, lines.splitlines(True), "<returns>")
    space: dict = {}
    exec(compile(lines, "<returns>", "exec"), space)
    traced = trace(space["f"], (np.zeros(40),))
    assert size(traced.program) < 40 * 10
    x = np.zeros(40)
    x[17] = 8
    assert interpret(traced.program, x) == [16.0]


# ---- exceptions and output at run time ------------------------------------------------------------------------------------


def raises(traced, *args) -> tuple[str, str]:
    with pytest.raises(RaisedInGraph) as e:
        interpret(traced.program, *args)
    return e.value.exc, e.value.message


class OwnError(ValueError):
    pass


def test_raise_under_a_condition():
    def f(x):
        if x[0] < 0:
            raise ValueError(f"negative {x[0]} at {0}")
        if np.any(x > 50):
            y = np.sum(x)
            raise OwnError(y)
        return x * 2

    traced = check(f, X)
    assert raises(traced, -X) == ("ValueError", "negative -1.0 at 0")
    exc, message = raises(traced, X + 50)
    assert exc == "OwnError" and traced.exceptions[exc] is OwnError and float(message) == (X + 50).sum()


def test_assert_index_and_division():
    def f(x, k, n):
        assert k > 0, "k must be positive"
        return x[k] / (k // n)

    traced = check(lambda x, k, n: f(x, k, n), X, 3, 1)
    assert raises(traced, X, -1, 1) == ("AssertionError", "k must be positive")
    assert raises(traced, X, 10, 1)[0] == "IndexError"
    assert raises(traced, X, 3, 0)[0] == "ZeroDivisionError"
    assert trace(lambda a, b: a / b, (1.0, 2.0)) is not None


def test_overflow_of_python_ints_is_an_error():
    def f(n):
        s = 1
        for _ in range(n):
            s *= 3
        return s

    traced = check(f, 10)
    assert raises(traced, 60)[0] == "OverflowError"


def test_undefined_variable():
    def f(x):
        if x[0] > 0:
            y = 1.0
        return y  # noqa: F821

    traced = check(f, X)
    assert raises(traced, -X)[0] == "UnboundLocalError"


def test_index_error_in_a_branch_not_taken():
    def f(x):
        if x[0] > 100:
            return x[20]
        return x[1]

    traced = check(f, X)
    assert raises(traced, X + 200)[0] == "IndexError"


def test_print_happens_at_each_call(capsys):
    def f(x):
        for i in range(6):
            if x[i] > 2:
                print("big", i, x[i], sep="-")
        print(f"{x[0]:.2f} {{}}", end="!")
        return x

    traced = trace(f, (X,))
    assert capsys.readouterr().out == ""
    interpret(traced.program, X)
    assert capsys.readouterr().out == "big-2-3.0\nbig-4-12.0\n1.00 {}!"


# ---- what is refused ---------------------------------------------------------------------------------------------------------


def refused(fn, *args) -> str:
    with pytest.raises(IradError) as e:
        trace(fn, args)
    assert e.value.loc is not None and e.value.loc.file == __file__
    return e.value.message


def test_structures_that_depend_on_data():
    def two_kinds(x):
        y = "a" if x[0] > 0 else x
        return y

    def shapes(x):
        y = x
        if x[0] > 0:
            y = x[:3, None]
        return y + 1

    def changing_shape(x):
        for _ in range(int(x[0])):
            x = x[None]
        return x

    def catching(x):
        try:
            while math.sqrt(x[0]) > 1.0:
                x = x - 1.0
            return x
        except ValueError:
            return x * 0.0

    assert "path" in refused(two_kinds, X)
    assert np.array_equal(irad.compile(shapes)(X), shapes(X)) and np.array_equal(irad.compile(shapes)(-X), shapes(-X))
    assert "array" in refused(changing_shape, X)
    assert "if" in refused(catching, X)


def test_math_module():
    check(
        lambda t: (math.exp(t), math.atan2(t, 2.0), math.hypot(t, 1), math.isnan(t), math.ceil(t), math.log(t), math.pow(t, 2)),
        1.5,
        exact=False,
    )
    traced = check(lambda t: math.sqrt(t), 2.0)
    assert raises(traced, -1.0) == ("ValueError", "math domain error")


def continue_in_both_arms(x):
    s = 0.0
    for i in range(N):
        if x[i] > 0:
            s += 1
            continue
        else:
            if x[i] < -1:
                s += x[i]
                continue
        x[i] += 100
    return s


def break_in_the_else_of_a_loop(x):
    k = 0
    for _ in range(5):
        for i in range(N):
            k += 1
            if x[i] > 100:
                break
        else:
            if k + x[0] > 10:
                break
    return k


def finally_after_jumps(x):
    s = 0.0
    for i in range(N):
        try:
            if x[i] < 0:
                continue
            s += x[i]
        finally:
            s += 1
            s *= 0.5
    return s


@pytest.mark.parametrize("fn", [continue_in_both_arms, break_in_the_else_of_a_loop, finally_after_jumps])
def test_jumps_at_odd_places(fn):
    check(fn, X, exact=False, kinds=False, others=OTHERS)


def returns_in_a_loop_or_its_else(x, n):
    for k in range(n):
        if x[k] > 2:
            return x * k
        if x[k] < -5:
            break
    else:
        return x + 100
    return -x


def test_a_loop_that_returns_with_an_else():
    for x in (X, -X, np.zeros(N), np.arange(10.0) - 8):
        check(returns_in_a_loop_or_its_else, x, 3, others=((x, 9), (x, 0)))

    def written_out(x):
        for v in (1.0, 2.0):
            if x[0] < v:
                return x * v
        else:
            return x

    check(written_out, X, others=OTHERS)


def test_arrays_that_are_known_and_equal_on_both_paths():
    """They are known after the branch, so that they may shape the program; stores on one path count."""

    def f(x):
        at = np.array([2, 3]) if x[0] > 0 else np.arange(2) + 2
        y = np.zeros(int(at[1]) + 2)
        y[at] = x[:2]
        w = np.zeros(3)
        if x[1] > 0:
            w[0] = 1.0
            v = w
        else:
            v = np.zeros(3)
        v[1] = x[2]
        return np.sum(y * np.arange(len(y))) + np.sum(v * x[:3]) + 2 * np.sum(w)

    g = irad.compile(f)
    for x in (np.array([0.5, 2.0, 3.0]), np.array([-0.5, -2.0, 3.0]), np.array([0.5, -2.0, 3.0])):
        assert np.isclose(g(x), f(x))
        irad.check_grads(f, (x,), modes=("rev",))


class Named:
    def __init__(self, width: Any, name: str) -> None:
        assert width > 0, f"no width: {self}"
        self.name, self.width = name, width

    def __str__(self) -> str:
        return self.name


def test_the_message_of_an_assert_is_made_where_it_fails():
    """Here it cannot be made: the object has no name yet."""

    def f(x):
        return Named(x[0], "a").width * x[1]

    g = irad.compile(f)
    assert g(np.array([2.0, 3.0])) == 6.0
    for call in (f, g):
        with pytest.raises(AttributeError, match="has no attribute 'name'"):
            call(np.array([-2.0, 3.0]))
