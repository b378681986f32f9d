"""A compiled function that raises leaves the caller's arrays as plain NumPy would: the stores made before stay."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.call.stages import Stages
from irad.core.interp import interpret
from irad.core.tree import flatten
from irad.errors import UnsupportedError
from irad.frontend.trace import trace
from irad.ops.control import RaisedInGraph

A = np.arange(8.0)


def plain(fn: Callable[..., Any], args: tuple[Any, ...]) -> tuple[BaseException | None, tuple[Any, ...]]:
    """What Python raises, and the arguments then."""
    args = copy.deepcopy(args)
    try:
        fn(*args)
    except Exception as e:  # noqa: BLE001
        return e, args
    return None, args


def interpreted(fn: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments after the interpreter has run the traced program."""
    args = copy.deepcopy(args)
    leaves = flatten((args, {}))[0]
    t = trace(fn, args)
    try:
        out = dict(enumerate(interpret(t.program, *(x for x, info in zip(leaves, t.in_leaves) if info.param is not None))))
    except RaisedInGraph as e:
        out = copy.deepcopy(e.kept)  # one may be another argument as it is
    for m in t.mutated:
        if m.index in out:
            leaves[m.target[1]][...] = out[m.index]
    return args


def said(e: BaseException | None) -> str:
    """The first line: pytest adds to what an assert says."""
    return str(e).partition("\n")[0]


def equal(got: Any, want: Any) -> None:
    for x, y in zip(flatten(got)[0], flatten(want)[0], strict=True):
        np.testing.assert_array_equal(x, y)


def check(fn: Callable[..., Any], *args: Any, raises: bool = True) -> None:
    """Native code, called through Python first and then without, and the interpreter: exception and arguments are NumPy's."""
    error, want = plain(fn, args)
    assert (error is not None) == raises
    compiled = irad.compile(fn)
    for _ in range(3):
        got_error, got = plain(compiled, args)
        assert type(got_error) is type(error) and said(got_error) == said(error)
        equal(got, want)
    equal(interpreted(fn, args), want)


# ---- straight code and branches ------------------------------------------------------------------------------------------


def stores_around(x):
    x[0] = 1.0
    if x[1] > 0:
        raise ValueError(f"bad {x[1]}")
    x[2] = 5.0


def stores_in_branches(x, s):
    if s > 0:
        x[0] = 3.0
    else:
        x[1] = 4.0
        if x[2] > 0:
            x[3] = 9.0
            raise ValueError("in a branch")
    x[5] = 1.0
    assert x[4] < 0, "after it"
    x[0] = -1.0


def at_a_position(x, k):
    x[0] = 5.0
    x[k] = 4.0
    x[1] = 6.0


def exchanged(x, y):
    t = x.copy()
    x[:] = y
    y[:] = t
    assert x[0] > 5, "exchanged"
    x[0] = 7


def masked(x):
    x[x > 3] = 0.0
    assert x[1] > 3, "masked"


def through_a_view(x):
    v = x[2:]
    for i in range(5):
        v[i] *= 3
        if v[i] > 10:
            raise ValueError(i)


def out_and_at(x, y):
    np.add(x, 1, out=y)
    np.add.at(y, np.array([1, 1]), 2.0)
    if y[1] > 3:
        raise ValueError("out")
    y[:] = 0.0


def one_of_two(a, b, s):
    w = a if s > 0 else b
    for k in range(8):
        w[k] += 1
        if w[k] > 5:
            raise ValueError(k)


def always(x):
    x[0] = 5.0
    raise ValueError("always")


def always_out_of_bounds(x):
    x[0] = 5.0
    x[100] = 2.0


def zero_dimensional(x, y):
    x[()] = 3.0
    assert y[0] > 5, "0-d"
    x[()] = 4.0


def not_changed_yet(x):
    if x[0] == 0:
        raise ValueError("first")
    x[0] = 1.0


def rebound(u, n):
    u[0] = 3.0
    for k in range(n):
        u = u * 2
        if u[0] > 50:
            raise ValueError(k)
    return u


def in_a_list(xs):
    for k in range(6):
        xs[0][k] += k
        xs[1][k] -= xs[0][k]
        if xs[1][k] < -3:
            raise ValueError(f"at {k}")


@pytest.mark.parametrize(
    "fn, args",
    [
        (stores_around, (A,)),
        (stores_in_branches, (A, 1.0)),
        (stores_in_branches, (A, -1.0)),
        (at_a_position, (A, 9)),
        (at_a_position, (A, -9)),
        (exchanged, (A, A + 1)),
        (masked, (A,)),
        (through_a_view, (A,)),
        (out_and_at, (A, A + 1)),
        (one_of_two, (A, A + 2, 1.0)),
        (one_of_two, (A, A + 2, -1.0)),
        (always, (A,)),
        (always_out_of_bounds, (A,)),
        (zero_dimensional, (np.array(1.0), A)),
        (not_changed_yet, (A,)),
        (rebound, (A, 10)),
        (in_a_list, ([A, A * 1],)),
    ],
)
def test_straight_code_and_branches(fn: Any, args: Any) -> None:
    check(fn, *args)


# ---- loops ---------------------------------------------------------------------------------------------------------------


def square_roots(x):
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError(i)
        x[i] = np.sqrt(x[i])


def counts(x, idx):
    for i in range(len(idx)):
        x[idx[i]] += 1.0


def descends(x):
    k = 0
    while x[k] > 0:
        x[k] -= 10
        if x[k] < -5:
            raise ValueError(f"{k}")
        k += 1


def until_it_raises(x):
    i = 0
    while True:
        x[i] += 2
        i += 1
        if x[i - 1] > 6:
            raise ValueError(f"{i}")


def checks_its_test(x):
    k = 0
    while positive(x, k):
        x[k] += 1
        k += 1


def positive(x, k):
    if x[k] > 4:
        raise ValueError(f"{k}")
    return x[k] >= 0


def nested(x):
    for i in range(3):
        for j in range(3):
            x[i, j] += 1
            if x[i, j] * i > 6:
                raise ValueError(f"{i} {j}")


def divides(x, n):
    for i in range(5):
        x[i] = i
        k = 10 // (n - i)
        x[i] += k


def two_arrays(x, y, idx):
    for i in range(len(idx)):
        x[idx[i]] += y[i]
        y[idx[i] - 1] *= 0.5


def elementwise_then_check(x, n):
    for k in range(n):
        x[...] = np.sin(x) + k
        assert x[0] < 3, f"{k}"
        x *= 0.5


def in_a_helper(x):
    for i in range(6):
        helper(x, i)


def helper(x, i):
    x[i] = 7.0
    if x[i + 1] > 3:
        raise ValueError(f"{i}")


def complex_numbers(x):
    for i in range(len(x)):
        if x[i].real > 4:
            raise ValueError(f"{i}")
        x[i] = x[i] * 1j


@pytest.mark.parametrize(
    "fn, args",
    [
        (square_roots, (np.array([1.0, 4.0, -1.0, 9.0]),)),
        (counts, (A, np.array([1, 2, 11, 3]))),
        (descends, (A + 1,)),
        (until_it_raises, (A,)),
        (checks_its_test, (A,)),
        (nested, (np.arange(9.0).reshape(3, 3),)),
        (divides, (A, 3)),
        (two_arrays, (A, A + 1, np.array([1, 1, 8, 2]))),
        (elementwise_then_check, (A, 9)),
        (in_a_helper, (A,)),
        (complex_numbers, (A + 0j,)),
    ],
)
def test_loops(fn: Any, args: Any) -> None:
    check(fn, *args)


def smooths(u, n):
    v = u.copy()
    for k in range(n):
        v[1:-1] = 0.5 * (u[2:] + u[:-2]) + 1
        u, v = v, u
        assert k < 6, "k"
    return u


def three_names(a, b, c, n):
    for k in range(n):
        a[1:-1] = b[2:] + 0.1 * c[:-2]
        a, b, c = b, c, a
        if k > 6:
            raise ValueError(f"{k}")
        c[0] += 1
        b[3] -= 1
        assert b[3] > 0, "b"


def names_in_a_while(u, v):
    k = 0
    while u[1] < 60:
        v[1:] = u[:-1] + u[1:]
        if v[1] > 30:
            raise ValueError(f"{k}")
        u, v = v, u
        k += 1


def names_and_a_break(u, v, n):
    for k in range(n):
        v[0] = u[0] + 1
        u, v = v, u
        if u[0] > 20:
            break
        if u[1] * u[0] > 8:
            raise ValueError(f"{k}")


def names_and_positions(u, v, idx):
    for k in range(6):
        for i in range(len(idx)):
            v[i] = u[idx[i] + k]
        u, v = v, u


def names_and_a_test(u, v):
    k = 0
    while small(u, k):
        v[:] = u + 1
        u, v = v, u
        k += 1


def small(u, k):
    if u[0] > 4:
        raise ValueError(f"{k}")
    return k < 9


@pytest.mark.parametrize(
    "fn, args",
    [
        (smooths, (A, 9)),
        *((three_names, (A + s, A + s + 1, A + s + 2, 9)) for s in (0.0, 5.0, 9.0)),
        (names_in_a_while, (A, A + 1)),
        (names_in_a_while, (A + 1, A + 2)),
        (names_and_a_break, (A, A + 1, 9)),
        (names_and_a_break, (A + 1, A + 1, 9)),
        (names_and_positions, (A, A + 1, np.array([1, 2, 3]))),
        (names_and_positions, (A, A + 1, np.array([1, 2, 4, 3]))),
        (names_and_a_test, (A, A + 1)),
        (names_and_a_test, (A + 1, A + 1)),
    ],
)
def test_names_that_change_arrays(fn: Any, args: Any) -> None:
    """In which trip it raises decides whose content a variable's is."""
    check(fn, *args)


# ---- layouts, captures, callbacks ----------------------------------------------------------------------------------------


def adds_up_to_four(x):
    for i in range(len(x)):
        if x[i] > 4:
            raise ValueError(f"{i}")
        x[i] += 1


@pytest.mark.parametrize("step", [1, 2, -1])
def test_strided_arguments(step: int) -> None:
    a, b = np.arange(12.0), np.arange(12.0)
    compiled = irad.compile(adds_up_to_four)
    for _ in range(3):
        assert plain(lambda: adds_up_to_four(a[::step]), ())[0] is not None
        assert plain(lambda: compiled(b[::step]), ())[0] is not None
        np.testing.assert_array_equal(a, b)


def test_arguments_that_overlap() -> None:
    a, b = np.arange(8.0), np.arange(8.0)
    for fn, z in ((two_arrays, a), (irad.compile(two_arrays), b)):
        for x, y in ((z[:6], z[2:]), (z, z)):
            with pytest.raises(IndexError):
                fn(x, y, np.array([1, 3, 9]))
    np.testing.assert_array_equal(a, b)


captured = np.zeros(3)


def stores_outside(x):
    captured[0] += 1
    assert x[0] > 5, "small"
    captured[1] += 1


def test_captured_arrays() -> None:
    captured[:] = 0
    compiled = irad.compile(stores_outside)
    for k in range(3):
        with pytest.raises(AssertionError, match="small"):
            compiled(A)
        assert captured.tolist() == [k + 1, 0, 0]
    compiled(A + 6)
    assert captured.tolist() == [4, 1, 0]


def small_number(v):
    if v > 3:
        raise KeyError("from Python") from OverflowError("its cause")
    return v


host = irad.callback(small_number, 0.0)


def calls_python(x):
    for i in range(len(x)):
        x[i] = host(x[i]) * 2


def calls_python_and_exchanges(u, v):
    for k in range(8):
        v[k] = host(u[k] + k)
        u, v = v, u


def test_what_a_callback_raises() -> None:
    for fn, args in (
        (calls_python, (A,)),
        (calls_python_and_exchanges, (A * 0, A * 0)),
        (calls_python_and_exchanges, (A * 0 + 1, A * 0)),
    ):
        want = plain(fn, args)[1]
        compiled = irad.compile(fn)
        for _ in range(3):
            error, got = plain(compiled, args)
            assert type(error) is KeyError and isinstance(error.__cause__, OverflowError)
            equal(got, want)


def test_nothing_is_lost_without_an_exception() -> None:
    check(square_roots, np.array([1.0, 4.0, 9.0]), raises=False)
    check(three_names, A + 30, A + 40, A + 50, 6, raises=False)


# ---- derivatives and batches ---------------------------------------------------------------------------------------------


def changes_and_checks(x):
    x[0] = x[1] * 2
    if x[0] > 3:
        raise ValueError("large")
    return x[0] * x[2]


@pytest.mark.parametrize(
    "make", [irad.grad, irad.value_and_grad, lambda f: lambda x: irad.vjp(f, x), lambda f: lambda x: irad.jvp(f, (x,), (x,))]
)
def test_a_derivative_changes_nothing(make: Any) -> None:
    g, x = make(changes_and_checks), np.array([5.0, 6.0, 7.0])
    for _ in range(3):
        with pytest.raises(ValueError, match="large"):
            g(x)
        assert x.tolist() == [5, 6, 7]
    y = np.array([5.0, 1.0, 7.0])
    assert irad.grad(changes_and_checks)(y).tolist() == [0, 14, 2] and y.tolist() == [5, 1, 7]


def loss(w, x):
    if w[0] > 3:
        raise ValueError("loss")
    w[1] = 100.0  # of the derivative's own
    return np.sum(w * x)


def trains(w, x):
    for _ in range(10):
        w += 0.5 * irad.grad(loss)(w, x)


def test_a_derivative_inside_a_function_that_stores() -> None:
    w = np.zeros(3)
    with pytest.raises(ValueError, match="loss"):
        irad.compile(trains)(w, np.array([1.0, 2.0, 3.0]))
    assert w.tolist() == [3.5, 0, 10.5]


def step_and_exchange(u, v):
    for k in range(6):
        v[:] = u + 0.1 * irad.grad(lambda z: energy(z, k))(u)  # noqa: B023
        u, v = v, u


def energy(z, k):
    if z[0] > 0.35:
        raise ValueError(f"{k}")
    return np.sum(z * z) * 0.5


@pytest.mark.parametrize("start, trip", [(0.3, 2), (0.28, 3)])
def test_a_derivative_where_names_change_arrays(start: float, trip: int) -> None:
    u, v = A * 0 + start, A * 0
    with pytest.raises(ValueError, match=f"{trip}"):
        irad.compile(step_and_exchange)(u, v)
    last, before = start * 1.1**trip, start * 1.1 ** (trip - 1)
    np.testing.assert_allclose([u[0], v[0]], [last, before] if trip % 2 == 0 else [before, last])


def each_is_checked(x, y):
    x[0] = 1.0
    x[1:] = irad.vmap(checked_root)(y)
    x[0] = 2.0


def checked_root(v):
    if v < 0:
        raise ValueError("root")
    return np.sqrt(v)


def test_vmap_inside() -> None:
    x = np.zeros(4)
    with pytest.raises(ValueError, match="root"):
        irad.compile(each_is_checked)(x, np.array([1.0, -1.0, 4.0]))
    assert x.tolist() == [1, 0, 0, 0]
    irad.compile(each_is_checked)(x, np.array([1.0, 9.0, 4.0]))
    assert x.tolist() == [2, 1, 3, 2]


# ---- recursion -----------------------------------------------------------------------------------------------------------


def climbs(x, i):
    x[i] += 1
    if x[i] > 5:
        raise ValueError(f"{i}")
    if i < len(x) - 1:
        climbs(x, i + 1)
    x[i] *= 2


def climbs_after_a_store(x, i):
    x[0] = 9.0
    climbs(x, i)


def looks(x, i):
    if x[i] > 5:
        raise ValueError(f"{i}")
    return looks(x, i - 1) + 1.0 if i > 0 else 0.0


def looks_several_times(x, n):
    s = looks(x, n)
    x[0] = s
    s += looks(x, n)
    for _ in range(3):
        x[1] += 3
        s += looks(x, n)
    return s


def counts_up(y, i):
    if i > 4:
        raise ValueError(f"{i}")
    y[i] += 1
    if i > -1:
        counts_up(y, i + 1)


def another_array(x, y, i):
    x[2] = 7.0
    counts_up(y, i)


def takes_turns(a, b, i):
    a[i] += 1
    if i > 4:
        raise ValueError(f"{i}")
    if i > -1:
        takes_turns(b, a, i + 1)


def goes_on_with_a_copy(x, i):
    x[i] += 1
    if i > 3:
        raise ValueError(f"{i}")
    if i > -1:
        goes_on_with_a_copy(x.copy(), i + 1)
        x[i] += 1


@pytest.mark.parametrize(
    "fn, args",
    [
        (climbs, (A, 0)),
        (climbs_after_a_store, (A, 1)),
        (looks_several_times, (A, 3)),
        (looks_several_times, (A + 1, 5)),
        (another_array, (A, A + 1, 0)),
        (takes_turns, (A, A + 1, 0)),
        (goes_on_with_a_copy, (A, 0)),
    ],
)
def test_recursion(fn: Any, args: Any) -> None:
    check(fn, *args)


def on_a_part(x, i):
    x[0] = 5.0
    counts_up(x[1:7], i)


def hanoi(a, b, c, n, i):
    if n > 0:
        hanoi(a, c, b, n - 1, i)
        a[i] += 1
        if a[i] > 5:
            raise ValueError(f"{i}")
        hanoi(c, b, a, n - 1, i)


def goes_up_to(y, i, top):
    if y[i] > top:
        raise ValueError(f"{i}")
    y[i] += 1
    if i < len(y) - 2:
        goes_up_to(y, i + 1, top)


def exchanges_around_it(u, v, n, s):
    u[7] = 100.0
    for k in range(n):
        goes_up_to(v, s, 9 - k)
        u, v = v, u


@pytest.mark.parametrize(
    "fn, args", [(on_a_part, (A, 0)), (hanoi, (A, A + 1, A + 2, 3, 2)), (exchanges_around_it, (A, A + 1, 9, 3))]
)
def test_recursion_whose_stores_would_be_lost(fn: Any, args: Any) -> None:
    """Through a view, into arrays that it passes on in many orders, in a loop that exchanges arrays: see docs/python.md."""
    error, arrays = plain(irad.compile(fn), args)
    assert isinstance(error, irad.UnsupportedError) and "would undo the stores" in str(error)
    equal(arrays, args)


def test_too_deep_a_recursion_changes_nothing() -> None:
    def deeper(x, i):
        x[0] += 1
        if i > -1:
            deeper(x, i + 1)

    error, (x, _) = plain(irad.compile(deeper), (A, 0))
    assert type(error) is RecursionError
    np.testing.assert_array_equal(x, A)


# ---- what code is made ---------------------------------------------------------------------------------------------------


def test_a_store_in_place_stays_one() -> None:
    """The array of the loop is that of the result: a check needs no code but the test."""
    kernel = Stages.of(counts, (A, np.arange(3)), {}).kernel
    assert "raise_if(v" in kernel and "if " not in kernel.replace("raise_if", "")


def test_contents_that_lie_elsewhere_are_moved_where_it_raises_only() -> None:
    kernel = Stages.of(exchanged, (A, A + 1), {}).kernel
    (branch,) = [part for part in kernel.split("\n    if ")[1:]]
    assert branch.index("r0[i] = t") < branch.index("raise_if(True")


def test_complex_contents_are_put_together_where_it_raises_only() -> None:
    after = dict((name, text) for name, text, _ in Stages.of(complex_numbers, (A + 0j,), {}).passes)["complex_parts"]
    body = after[after.index("body {") :]
    assert body.index("then {") < body.index("empty") < body.index("raise_if[keeps=(0)") < body.index("else {")


def finishes(x, k):
    try:
        x[k] = 1.0
    finally:
        x[0] = 2.0


def test_finally_may_not_store_after_what_may_raise() -> None:
    with pytest.raises(UnsupportedError, match="finally stores into an array of the caller"):
        irad.compile(finishes)(A.copy(), 3)


def test_fields_of_records() -> None:
    """Stores into the fields of a structured array stay too, on the path without Python code as on the other."""

    def step(p: Any) -> Any:
        p["x"] += p["v"]
        for i in range(len(p)):
            if p["x"][i] > 4:
                raise ValueError(f"{i}")
            p["v"][i] = 0.5

    dtype = np.dtype([("kind", "i1"), ("x", "f8"), ("v", "f8")])
    a = np.zeros(6, dtype)
    a["x"], a["v"] = np.arange(6), 0.75
    b, compiled = a.copy(), irad.compile(step)
    for _ in range(3):
        assert plain(lambda: step(a), ())[0] is not None
        assert plain(lambda: compiled(b), ())[0] is not None
        np.testing.assert_array_equal(a, b)
