"""Indexing of traced arrays: every kind of key, read and written, against NumPy; and the checks that are and are not emitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.interp import interpret
from irad.core.ir import Graph, Value, build, emit, walk
from irad.core.types import BOOL, F64, I64, Extent, Type
from irad.core.verify import verify
from irad.errors import IradError
from irad.frontend.numpy import table
from irad.frontend.values.arr import Arr, from_dim
from irad.ops.array import zeros
from irad.ops.constant import scalar
from irad.ops.control import RaisedInGraph, for_
from irad.ops.elementwise import add
from irad.ops.intervals import affine_of, bound, definition, dim_interval, interval
from tests.support.numpy_proxy import Traced, check, run

RNG = np.random.default_rng(3)
A = RNG.normal(size=(3, 4))
C = RNG.normal(size=(2, 3, 4))
D = RNG.normal(size=(2, 3, 4, 5))
V = RNG.normal(size=5)
I = np.array([2, 0, -1])
B = np.array([[0, 1], [2, 0]])
M = A > 0

KEYS = [
    "0", "-1", "1, 2", "-1, -4", "1:", ":2", "::-1", "::2", "-2:", "5:", "2:1", "1:3, ::2", "..., 0", "0, ...", "None", ":, None", "None, 0, None", "...",
    "[0, 2]", "[-1, 0, 0]", "np.array([[0, 1], [2, 0]])", "[0, 1], [2, 3]", ":, [0, 3]", "[0, 2], 1:3", "[0, 2], 1", "1, [0, 2]", "[0, 1], None, [1, 2]", "[[0], [2]], [1, 3]", "np.array([True, False, True])", "[True, False, True], 1",
    ":, np.array([True, False, False, True])", "()", "[]", "np.int32(1)", "np.array(2)", "-3:-1", "::-2", "2::-1", ":, ::-1", "10:20, -9:9",
]  # fmt: skip
KEYS_4D = [
    "0, :, [0, 1]", ":, 0, :, [0, 1]", ":, [0, 1], :, [1, 2]", "[0, 1], :, [1, 2]", ":, [0, 1], [1, 2]", "0, [0, 1], :, 2", "..., [0, 1]", "[1], ..., 0", ":, 1, [0, 2], 1:4", "0, :, None, [1, 2]", "[0, 1], [0, 1], None, :, 2",
    ":, [[0, 1], [2, 0]], 1", "1, :, :, 4", ":, :, 0", "..., None, 2", "[0, 1, 1], :, :, [2, 3, 4]",
]  # fmt: skip


def read(key: str) -> Callable[..., Any]:
    return eval(f"lambda np, x, i=None, j=None, k=None: x[{key}]")  # noqa: S307


def write(key: str, value: str = "v") -> Callable[..., Any]:
    scope: dict[str, Any] = {}
    exec(f"def f(np, x, v=None, i=None, j=None):\n    x = x.copy()\n    x[{key}] = {value}\n    return x", scope)  # noqa: S102
    return scope["f"]


@pytest.mark.parametrize("key", KEYS)
def test_static_keys(key: str) -> None:
    check(read(key), A)
    check(write(key, "7"), A)
    target = read(key)(np, A)
    check(write(key), A, RNG.normal(size=target.shape))


@pytest.mark.parametrize("key", KEYS_4D)
def test_static_keys_of_four_axes(key: str) -> None:
    check(read(key), D)
    check(write(key), D, RNG.normal(size=read(key)(np, D).shape))
    check(write(key), D, RNG.normal(size=read(key)(np, D).shape[-1:]))


@pytest.mark.parametrize("key", ["i", "i, j", ":, j", "i, ::-1", "..., j", "i, None", "i:", ":j", "i:j", "i:i+2", "i:, :j", "i::2", ":j:2", "::-1, j", "j::-1", ":i:-1", "-j:", "i - j", "[0, 1], j", "i, [0, 1]", "i:, [0, 2]"])  # fmt: skip
@pytest.mark.parametrize("i,j", [(0, 2), (1, 1), (2, 0), (-1, 2)])
def test_traced_scalars(key: str, i: int, j: int) -> None:
    check(read(key), A, i, j)


@pytest.mark.parametrize("bounds", [(-9, 9), (5, 2), (0, 0), (3, 7), (-2, -1), (2, -1)])
def test_traced_slices_clip_as_python(bounds: tuple[int, int]) -> None:
    for key in ("i:j", "i:j:2", "i:j:-1", "i::-2", ":j:-1"):
        check(read(key), V, *bounds)


@pytest.mark.parametrize("key,args", [("i", (I,)), ("i, j", (I, np.array([0, 3, -4]))), ("i, j", (B, B)), (":, i", (I,)), ("i, 1:3", (I,)), ("i, j", (I, 2)), ("i[:, None], j", (I, np.array([1, 3]))), ("[i, j]", (0, -1)), ("i, [1, 2, 3]", (I,))])  # fmt: skip
def test_traced_arrays(key: str, args: Any) -> None:
    check(read(key), A, *args)
    check(read(key), A.astype(np.float32), *args)


@pytest.mark.parametrize("key", ["i", "i, ...", "..., i"])
def test_traced_masks(key: str) -> None:
    check(read(key), A, M if key == "i" else M[:, 0] if key == "i, ..." else M[0])
    check(read("i"), C, RNG.normal(size=(2, 3)) > 0)
    check(read("i, j"), A, M[:, 0], 1)
    check(read("i"), A, np.zeros((3, 4), bool))


def store(np: Any, x: Any, v: Any, i: Any) -> Any:
    x = x.copy()
    x[i] = v
    return x


@pytest.mark.parametrize("v", [0.0, 2, V[0], np.array([1.5])])
def test_masked_store_of_a_scalar(v: Any) -> None:
    check(store, A, v, M)
    check(store, A, v, M[:, 1])


def test_masked_store_of_as_many_values() -> None:
    check(store, A, RNG.normal(size=M.sum()), M)
    check(lambda np, x, m, y: store(np, x, y[m], m), A, M, 2 * A)


def test_stores_with_traced_positions() -> None:
    check(write("i", "1.5"), A, 0.0, 1)
    check(write("i, j", "v"), A, 2.0, -1, 3)
    check(write("i:j", "v"), V, 2.0, 1, 4)
    check(write("i:", "v[i:]"), V, 2 * V, 2)
    check(write(":, i", "v"), A, V[:3], 2)
    check(write("i", "v"), A, A[:3], I)
    check(write("i", "v"), V, np.array([1.0, 2.0, 3.0]), np.array([1, 1, 1]))
    check(write("i, j", "v"), A, V[:3], I, np.array([0, 1, 2]))


def test_store_casts_as_numpy_does() -> None:
    check(write("1", "2.7"), np.arange(4))
    check(write("1", "v"), np.arange(4), 2.7)
    check(write("0", "v"), A.astype(np.float32), 1.1)
    check(write("1", "True"), A)


def augmented(op: str, key: str) -> Callable[..., Any]:
    symbol = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**"}[op]
    scope: dict[str, Any] = {}
    exec(f"def f(x, v, i=None):\n    x = x.copy()\n    x[{key}] {symbol}= v\n    return x", scope)  # noqa: S102

    def f(np_: Any, x: Any, v: Any, *i: Any) -> Any:
        if not isinstance(x, Traced):
            return scope["f"](x, v, *i)
        k = eval(f"key[{key}]", {"key": _Key(), "i": i[0].arr if i else None})  # noqa: S307
        return Traced(Arr(table.augitem(x.arr, k, op, v.arr if isinstance(v, Traced) else v)))

    return f


class _Key:
    def __getitem__(self, key: Any) -> Any:
        return key


@pytest.mark.parametrize("op", ["add", "sub", "mul", "truediv"])
@pytest.mark.parametrize("key,v", [("1", 2.0), ("1:, ::2", A[:2, :2]), ("[0, 2, 2]", 1.0), ("[0, 0], [1, 1]", np.array([1.0, 2.0])), ("...", 3), (":, None", 2.0)])  # fmt: skip
def test_augmented_stores(op: str, key: str, v: Any) -> None:
    check(augmented(op, key), A, v)


def test_augmented_stores_by_mask_and_traced_position() -> None:
    check(augmented("add", "i"), A, 1.5, M)
    check(augmented("mul", "i"), A, 1.5, M)
    check(augmented("add", "i"), A, RNG.normal(size=M.sum()), M)
    check(augmented("add", "i"), A, A[0], 1)
    check(augmented("add", "i"), V, 1.0, np.array([1, 1, 3]))
    check(augmented("add", "1:3"), np.arange(5), 2)
    check(augmented("add", "1:3"), A.astype(np.float16), 2)
    check(augmented("pow", "i"), np.arange(5), 2, 3)


def test_augmented_store_into_integers_refuses_floats() -> None:
    with pytest.raises(IradError, match="Cannot cast ufunc 'add' output from dtype\\('float64'\\) to dtype\\('int64'\\)"):
        run(augmented("add", "0"), np.arange(3), 0.5)
    with pytest.raises(IradError, match="same_kind"):
        run(augmented("truediv", "0"), np.arange(3), 2)


@pytest.mark.parametrize("at", [np.add.at, np.subtract.at])
def test_add_at_adds_every_repetition(at: Any) -> None:
    def f(np_: Any, x: Any, i: Any, v: Any) -> Any:
        if not isinstance(x, Traced):
            x = x.copy()
            at(x, i, v)
            return x
        return Traced(table.lookup(at)(x.arr, i.arr, v.arr))

    check(f, V, np.array([0, 0, -1]), np.array([1.0, 2.0, 3.0]))
    check(f, V, np.array([2, 2]), 1.5)


# ---- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key,message",
    [
        ("3", "index 3 is out of bounds for axis 0 with size 3"),
        ("0, -5", "index -5 is out of bounds for axis 1 with size 4"),
        ("[0, 7]", "index 7 is out of bounds for axis 0 with size 3"),
        ("0, 0, 0", "too many indices for array: array is 2-dimensional, but 3 were indexed"),
        ("..., ...", "single ellipsis"),
        ("1.0", "only integers, slices"),
        ("'a'", "only integers, slices"),
        ("np.array([1.0])", "must be of integer"),
        ("np.array([True, False])", "boolean index did not match indexed array along axis 0"),
        ("[0, 1], [0, 1, 2]", "could not be broadcast together with shapes \\(2,\\) \\(3,\\)"),
        ("::0", "slice step cannot be zero"),
    ],
)
def test_errors_at_compile_time(key: str, message: str) -> None:
    with pytest.raises(IradError, match=message):
        run(read(key), A)


@pytest.mark.parametrize("i,message", [(3, "index 3 is out of bounds for axis 0 with size 3"), (-4, "index -4 is out of bounds for axis 0 with size 3")])  # fmt: skip
def test_errors_at_run_time(i: int, message: str) -> None:
    for index in (i, np.array([0, i, 1]), np.array([[i]])):
        with pytest.raises(RaisedInGraph, match=f"IndexError: {message}"):
            run(read("i"), A, index)
    with pytest.raises(RaisedInGraph, match="IndexError"):
        run(write("i", "v"), A, 1.0, i)


def test_values_that_do_not_fit_their_place() -> None:
    with pytest.raises(IradError, match="could not broadcast input array from shape \\(2,\\) into shape \\(4,\\)"):
        run(write("0"), A, np.ones(2))
    with pytest.raises(RaisedInGraph, match="ValueError"):
        run(write("i:", "v"), V, np.ones(2), 1)


# ---- intervals: what is not emitted --------------------------------------------------------------------------------------


def loop_over(n: int, key: Callable[[Arr], Any], shape: tuple[int, ...] = (10,)) -> Graph:
    """for i in range(n): s += sum of x[key(i)]"""

    def program(x: Value) -> Value:
        def body(i: Value, s: Value) -> Value:
            bound(i, 0, n - 1)
            v = table.getitem(Arr(x), key(Arr(i, weak=True)))
            return add(s, table.lookup(np.sum)(v).value)

        return emit(for_, scalar(n, "i64"), zeros(F64), regions=(build([I64, F64], body),))[0]

    graph = build([Type("f64", shape)], program)
    verify(graph)
    return graph


def ops_of(graph: Graph) -> list[str]:
    return [n.op.name for n in walk(graph)]


@pytest.mark.parametrize("key", [lambda i: i, lambda i: table.OPERATORS["add"](i, 1), lambda i: table.OPERATORS["mod"](i, 10), lambda i: slice(i, None), lambda i: slice(None, i), lambda i: slice(i, table.OPERATORS["add"](i, 2))])  # fmt: skip
def test_proven_positions_need_no_check(key: Any) -> None:
    graph = loop_over(9, key)
    found = ops_of(graph)
    assert not {"raise_if", "select", "minimum", "maximum", "lt"} & set(found), found


def test_unproven_positions_are_checked() -> None:
    assert "raise_if" in ops_of(loop_over(11, lambda i: i))
    x = np.arange(10.0)
    assert interpret(loop_over(10, lambda i: i), x)[0] == x.sum()
    with pytest.raises(RaisedInGraph, match="index 10 is out of bounds for axis 0 with size 10"):
        interpret(loop_over(11, lambda i: i), x)


def test_a_window_of_constant_length_has_a_static_shape() -> None:
    graph = loop_over(8, lambda i: slice(i, table.OPERATORS["add"](i, 3)))
    sums = [n for n in walk(graph) if n.op.name == "sum"]
    assert [n.inputs[0].type.shape for n in sums] == [(3,)]


def test_a_second_use_of_an_index_is_not_checked_again() -> None:
    def program(x: Value, y: Value, i: Value) -> list[Value]:
        a = table.getitem(Arr(x), Arr(i, weak=True))
        return [a.value, table.getitem(Arr(y), Arr(i, weak=True)).value]

    graph = build([Type("f64", (5,)), Type("f64", (5,)), I64], program)
    assert ops_of(graph).count("raise_if") == 1


def test_intervals_follow_definitions() -> None:
    def program(i: Value, m: Value) -> Value:
        bound(i, 0, 9)
        op = table.OPERATORS
        at = lambda name, *xs: op[name](*xs)
        k = Arr(i, weak=True)
        assert interval(i) == (0, 9)
        assert interval(at("add", at("mul", k, 3), 1).value) == (1, 28)
        assert interval(at("mod", k, 4).value) == (0, 3)
        assert interval(at("floordiv", k, 2).value) == (0, 4)
        assert interval(at("neg", k).value) == (-9, 0)
        assert interval(m) == (0, 1)
        wide = table.lookup(np.add)(np.int64(2**62), table.lookup(np.multiply)(k, np.int64(2**62)))
        assert interval(wide.value) == (-(2**63), 2**63 - 1)  # it may wrap
        assert affine_of(at("sub", at("mul", k, 2), 3).value) == Extent(-3, ((i, 2),))
        assert dim_interval(Extent(4, ((i, -1),))) == (-5, 4)
        assert definition(i) is None
        sum_ = at("add", k, 1)
        node = definition(sum_.value)
        assert node is not None and node.op.name == "add"
        return i

    build([I64, BOOL], program)


def test_bounds_of_an_inner_region_do_not_leave_it() -> None:
    def program(i: Value) -> Value:
        def inner() -> Value:
            bound(i, 2, 3)
            assert interval(i) == (2, 3)
            return i

        build([], inner)
        assert interval(i) == (-(2**63), 2**63 - 1)
        return i

    build([I64], program)


# ---- run-time extents -----------------------------------------------------------------------------------------------------


def test_run_time_extents_meet() -> None:
    def f(np: Any, x: Any, y: Any, n: Any) -> Any:
        a, b = x[:n], y[1 : n + 1]
        return (a * b).sum() + np.mean(a) + np.max(a), np.zeros(n) + a, np.concatenate([a, b]), np.where(a > 0, a, b)

    for n in (1, 3, 4):
        check(f, V, 2 * V, n)


def test_a_run_time_extent_meets_a_static_one() -> None:
    check(lambda np, x, y, n: x[:n] * y, V, np.arange(3.0), 3)
    with pytest.raises(RaisedInGraph, match="could not be broadcast together"):
        run(lambda np, x, y, n: x[:n] * y, V, np.arange(3.0), 4)


def test_extents_known_to_differ_are_an_error_at_once() -> None:
    with pytest.raises(IradError, match="could not be broadcast together"):
        run(lambda np, x, n: np.zeros(n % 5 + 2) + np.zeros(n % 5 + 3), V, 3)


def test_extents_that_differ_may_be_one() -> None:
    f = lambda np, x, n: x[:n] + x[: n + 1]
    check(f, V, 1)
    check(f, V, 0)
    with pytest.raises(RaisedInGraph, match="could not be broadcast together"):
        run(f, V, 2)


def test_len_of_a_run_time_extent() -> None:
    check(lambda np, x, n: x[:n].shape[0] + 1, V, 3)
    check(lambda np, x, n: x[:n].size, V, 2)

    def program(n: Value) -> Value:
        v = from_dim(Extent(1, ((n, 2),)))
        assert isinstance(v, Arr) and v.weak
        return v.value

    assert interpret(build([I64], program), 3)[0] == 7


def test_negative_extent() -> None:
    with pytest.raises(RaisedInGraph, match="ValueError: negative dimensions are not allowed"):
        run(lambda np, n: np.zeros(n), -1)


def test_a_number_is_indexed_where_the_program_never_comes() -> None:
    """Written for arrays and called with a number: the TypeError is Python's, raised if it comes to that."""

    def f(x: np.ndarray) -> Any:
        v = x[0]
        if x[1] < 0:
            v[0] = v[0] + 1.0
        return v * 2

    assert irad.grad(f)(np.array([1.0, 2.0])).tolist() == [2.0, 0.0]
    with pytest.raises(TypeError):
        irad.compile(f)(np.array([1.0, -2.0]))


def test_a_single_bool_is_a_mask_with_an_axis_in_front() -> None:
    def stored(x: Any, b: float) -> Any:
        y = x.copy()
        y[b > 1] = 7
        y[np.asarray(b > 5)] = x[::-1]
        return y

    def zero_d(v: float) -> Any:
        h = np.asarray(v).copy()
        h[np.asarray(np.isnan(h))] = 0
        h[h > 1] = 2.0
        return h * 3

    def read(x: Any, b: float) -> Any:
        return np.sum(x[b > 1] ** 2) + x[b > 1].shape[0]

    x = np.array([1.0, 2.0, 3.0])
    for b in (0.0, 2.0, 6.0):
        np.testing.assert_array_equal(irad.compile(stored)(x, b), stored(x, b))
        np.testing.assert_array_equal(irad.compile(read)(x, b), read(x, b))
    for v in (np.nan, 3.0, 0.5):
        assert irad.compile(zero_d)(v) == zero_d(v)
    assert irad.grad(zero_d)(0.5) == 3.0
    assert irad.grad(zero_d)(3.0) == 0.0
    np.testing.assert_array_equal(irad.grad(read)(x, 2.0), 2 * x)
    np.testing.assert_array_equal(irad.grad(lambda x: np.sum(stored(x, x[1])))(x), [0, 0, 0])


def of_a_scalar(x: np.ndarray) -> Any:
    v = x[0]
    out = np.zeros_like(v)
    out[~np.isinf(v)] = v[~np.isinf(v)] ** 2
    out[v > 3] = 5 * v
    out[v <= 3] += x[1]
    return np.sum(out) + len(v[v > 3])


def test_a_single_bool_as_an_index_of_what_has_no_axes() -> None:
    for x in (np.array([0.5, 2.0]), np.array([4.0, 2.0]), np.array([np.inf, 1.0])):
        value, slope = irad.value_and_grad(of_a_scalar)(x)
        assert value == of_a_scalar(x)
        assert slope.tolist() == ([2 * x[0], 1.0] if x[0] <= 3 else [5.0, 0.0])
