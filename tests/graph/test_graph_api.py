"""irad.graph: nodes, gradients as nodes, users' ops, and the executor, against NumPy and against differences."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from irad import errors
from irad.graph import (
    Executor,
    Node,
    Op,
    Variable,
    broadcast_like,
    cos,
    exp,
    gradients,
    log,
    matmul_op,
    oneslike_op,
    reduce_like,
    reduce_sum,
    sin,
    sqrt,
    tanh,
    zeroslike_op,
)
from irad.graph.executor import ancestors
from tests.support import ROOT

R = np.random.default_rng(0)


def run(nodes: list[Node], feed: dict[Node, Any]) -> list[Any]:
    return Executor(nodes).run(feed_dict=feed)


def by_compute(nodes: list[Node], feed: dict[Node, Any]) -> list[Any]:
    """The values by each op's own `compute`, in NumPy: what the executor must agree with."""
    values = dict(feed)
    for n in ancestors(nodes):
        if n not in values:
            values[n] = n.op.compute(n, [values[x] for x in n.inputs])  # type: ignore[union-attr]
    return [values[n] for n in nodes]


def check(y: Node, feed: dict[Node, Any], rtol: float = 1e-12) -> None:
    """Value and gradients natively as by `compute`, with the variables' shapes, and the gradients against differences."""
    xs = list(feed)
    grads = gradients(y, xs)
    with np.errstate(all="ignore"):
        want = by_compute([y, *grads], feed)
    got = run([y, *grads], feed)
    for w, g in zip(want, got):
        assert np.shape(g) == np.shape(w) and np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=rtol, atol=1e-13)
    for x, g in zip(xs, got[1:]):
        assert np.shape(g) == np.shape(feed[x])
        direction, h = R.standard_normal(np.shape(feed[x])), 1e-6
        hi, lo = (np.sum(by_compute([y], {**feed, x: feed[x] + s * h * direction})[0]) for s in (1, -1))
        np.testing.assert_allclose(np.sum(g * direction), (hi - lo) / (2 * h), rtol=1e-5, atol=1e-7)


# ---- textbook ---------------------------------------------------------------------------------------------------


def test_intermediate_nodes() -> None:
    x = Variable(name="x")
    y1, y2 = x + 1, 2 * x
    y = (y1 - y2) ** 2
    assert run([y, *gradients(y, [y1, y2, x])], {x: 3.0}) == [4, -4, 4, 4]


def test_adjoints_of_the_textbook_graph() -> None:
    """ln x1 + x1 x2 - sin x2 at (2, 5), each step's adjoint (Baydin et al., JMLR 18, 2018, table 3)."""
    x1, x2 = Variable(name="x1"), Variable(name="x2")
    v1, v2, v3 = log(x1), x1 * x2, sin(x2)
    v4 = v1 + v2
    v5 = v4 - v3
    got = run([v5, *gradients(v5, [v5, v4, v3, v1, v2, x1, x2])], {x1: 2.0, x2: 5.0})
    np.testing.assert_allclose(got, [11.652071, 1, 1, -1, 1, 1, 5.5, 1.716338], rtol=1e-6)


def test_a_gradient_is_a_node() -> None:
    x = Variable(name="x")
    (dx,) = gradients(x * x * x, [x])
    assert isinstance(dx, Node)
    (ddx,) = gradients(dx, [x])
    (dddx,) = gradients(ddx, [x])
    assert run([dx, ddx, dddx, dx + 1], {x: 2.0}) == [12, 12, 6, 13]


def test_all_paths_are_summed() -> None:
    x = Variable(name="x")
    a = x * 2
    y = a * a + a + exp(a) * a
    check(y, {x: np.array([0.3, -0.4])})


def test_unconnected_gives_zeros() -> None:
    x, z = Variable(name="x"), Variable(name="z")
    got = run(gradients(x * 2, [z, x]), {x: 1.0, z: np.ones(3)})
    np.testing.assert_array_equal(got[0], np.zeros(3))
    assert got[1] == 2


# ---- ops, shapes, dtypes -------------------------------------------------------------------------------------------

P = R.uniform(0.5, 2, 4)
OPERATORS: dict[str, Any] = {
    "node + const": lambda x: x + 2,
    "const + node": lambda x: 2.5 + x,
    "node - const": lambda x: x - 2,
    "const - node": lambda x: 2 - x,
    "node * const": lambda x: x * 3,
    "const * node": lambda x: 0.5 * x,
    "node / const": lambda x: x / 4,
    "const / node": lambda x: 4 / x,
    "node ** const": lambda x: x**3,
    "node ** -1.5": lambda x: x**-1.5,
    "const ** node": lambda x: 2.0**x,
    "-node": lambda x: -x,
    "array * node": lambda x: np.arange(4.0) * x,
    "exp": exp,
    "log": log,
    "sqrt": sqrt,
    "sin": sin,
    "cos": cos,
    "tanh": tanh,
    "reduce_sum": lambda x: reduce_sum(x * x),
    "zeroslike_op": lambda x: zeroslike_op(x) + x,
    "oneslike_op": lambda x: oneslike_op(x) * x,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_unary(name: str) -> None:
    x = Variable(name="x")
    check(OPERATORS[name](x), {x: P})


BINARY = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((4,), (3, 4)), ((3, 1), (4,)), ((), (2, 3)), ((2, 1, 3), (4, 1))])
def test_binary_broadcasts(name: str, shapes: Any) -> None:
    a, b = Variable(name="a"), Variable(name="b")
    check(BINARY[name](a, b), {v: R.uniform(0.5, 2, s) for v, s in zip((a, b), shapes)})


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reduce_sum_along_axes(axis: Any, keepdims: bool) -> None:
    x, w = Variable(name="x"), Variable(name="w")
    s = reduce_sum(x * x, axis=axis, keepdims=keepdims)
    value = R.standard_normal((2, 3, 4))
    weights = R.standard_normal(np.sum(value, axis=axis, keepdims=keepdims).shape)
    check(s * w, {x: value, w: weights}, rtol=1e-11)


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_matmul(ta: bool, tb: bool) -> None:
    a, b, w = Variable(name="a"), Variable(name="b"), Variable(name="w")
    A, B = R.standard_normal((5, 3) if ta else (3, 5)), R.standard_normal((4, 5) if tb else (5, 4))
    y = matmul_op(a, b, trans_A=ta, trans_B=tb)
    np.testing.assert_allclose(run([y], {a: A, b: B})[0], (A.T if ta else A) @ (B.T if tb else B), rtol=1e-12)
    check(y * w, {a: A, b: B, w: R.standard_normal((3, 4))}, rtol=1e-11)
    (da,) = gradients(reduce_sum(y * y), [a])
    check(da, {a: A, b: B}, rtol=1e-11)


def test_like_ops_differentiate() -> None:
    a, b = Variable(name="a"), Variable(name="b")
    feed = {a: R.standard_normal(3), b: R.standard_normal((2, 3))}
    check(broadcast_like(a * a, b) * b, feed)
    check(reduce_like(b * b, a) * a, feed)
    (da,) = gradients(a * b, [a])
    check(da * da, feed)


def test_dtypes_promote_as_in_numpy() -> None:
    x = Variable(name="x")
    y = exp(x * 2 + 1) / 3
    for value in (np.array([1, 2], np.float32), np.arange(3), np.array([1, 2], np.int8), 2, 2.0, np.float32(2), True, [1.0, 2.0]):
        a = np.asarray(value)
        (got,) = run([y], {x: value})
        want = np.exp(a * 2 + 1) / 3
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-3 if want.dtype == np.float16 else 1e-6)


def test_a_python_number_does_not_widen_what_it_meets() -> None:
    x, r = Variable(name="x"), Variable(name="r")
    e = Executor([x * r])
    assert e.run({x: np.ones(2, np.float32), r: 0.5})[0].dtype == np.float32
    assert e.run({x: np.ones(2, np.float32), r: np.float64(0.5)})[0].dtype == np.float64


def test_slopes_at_the_edges() -> None:
    x, y = Variable(name="x"), Variable(name="y")
    assert run(gradients(x**0, [x]), {x: 0.0}) == [0]
    assert run(gradients(x**y, [x, y]), {x: 0.0, y: 0.0}) == [0, 0]
    assert run(gradients(x**y, [x, y]), {x: 0.0, y: 2.0}) == [0, 0]
    assert run(gradients(y * sqrt(x), [x]), {x: 0.0, y: 0.0}) == [0]  # a zero cotangent times an infinite slope


def test_thousands_of_nodes_deep() -> None:
    x = Variable(name="x")
    y = x
    for _ in range(3000):
        y = y * 1.0
    assert len(ancestors(gradients(y, [x]))) > 3000


# ---- the executor ----------------------------------------------------------------------------------------------------


def test_one_program_for_each_shape() -> None:
    x = Variable(name="x")
    e = Executor([x * x, *gradients(x * x, [x])])
    for n in (2, 3, 2, 3):
        np.testing.assert_array_equal(e.run({x: np.arange(float(n))})[1], 2 * np.arange(n))
    assert len(e.steps) == 2 and all(not s.python and s.last for s in e.steps)


def test_what_is_not_asked_for_is_not_needed() -> None:
    x, z = Variable(name="x"), Variable(name="z")
    assert run([x + 1], {x: 1.0}) == [2]
    assert run([x + z], {x: 1.0, z: 2.0}) == [3]


def test_any_node_can_be_fed() -> None:
    x = Variable(name="x")
    a = exp(x)
    assert run([a + 1], {a: 2.0}) == [3]


def test_results_are_the_callers() -> None:
    x = Variable(name="x")
    e = Executor([x, x * 2, oneslike_op(x)])
    value = np.arange(3.0)
    first = e.run({x: value})
    for r in first:
        r += 100
    np.testing.assert_array_equal(value, np.arange(3.0))
    np.testing.assert_array_equal(e.run({x: value})[2], np.ones(3))


def test_non_contiguous_and_read_only_values() -> None:
    x = Variable(name="x")
    a = np.arange(12.0).reshape(3, 4)[:, ::2]
    a.flags.writeable = False
    np.testing.assert_array_equal(run([x.__neg__()], {x: a})[0], -a)


# ---- a user's own ops ------------------------------------------------------------------------------------------------


class Relu(Op):
    """As in a course: made by `Op.__call__`, inputs and name set afterwards."""

    def __call__(self, a: Node) -> Node:  # type: ignore[override]
        node = Op.__call__(self)
        node.inputs = [a]
        node.name = f"relu({a.name})"
        return node

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        return np.maximum(input_vals[0], 0)

    def gradient(self, node: Node, output_grad: Node) -> list[Node]:
        return [step(node.inputs[0]) * output_grad]


class Step(Op):
    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        return np.where(input_vals[0] > 0, 1.0, 0.0)

    def gradient(self, node: Node, output_grad: Node) -> list[Node | None]:
        return [None]


class Scale(Op):
    """Reads a number of its own and one of the node."""

    def __init__(self) -> None:
        self.factor: float = 2.0

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        return input_vals[0] * self.factor + node.const_attr

    def gradient(self, node: Node, output_grad: Node) -> list[Node]:
        return [output_grad * self.factor]


class ByString(Op):
    """Nothing that irad compiles."""

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        with open("/dev/null") as f:
            f.read()
        return np.array([float(str(v)) for v in input_vals[0]])

    def gradient(self, node: Node, output_grad: Node) -> list[Node]:
        return [output_grad]


relu, step = Relu(), Step()


def test_own_op_is_compiled_with_the_rest() -> None:
    x = Variable(name="x")
    y = reduce_sum(relu(x * 2) * x)
    e = Executor([y, *gradients(y, [x])])
    value = np.array([1.0, -2.0, 3.0])
    got = e.run({x: value})
    assert got[0] == 20
    np.testing.assert_array_equal(got[1], np.where(value > 0, 4 * value, 0))
    assert len(e.steps) == 1 and not e.steps[0].python


def test_own_op_sees_its_state_of_now() -> None:
    op, x = Scale(), Variable(name="x")
    y = op(x, const_attr=10.0)
    e = Executor([y])
    assert e.run({x: 1.0}) == [12]
    op.factor = 3.0
    assert e.run({x: 1.0}) == [13]
    y.const_attr = 20.0
    assert e.run({x: 1.0}) == [23]
    op.factor = 3
    assert e.run({x: 1.0}) == [23]


def test_own_op_in_python_between_compiled_pieces() -> None:
    x = Variable(name="x")
    y = reduce_sum(exp(ByString()(x * 2)) * x)
    e = Executor([y, *gradients(y, [x])])
    value = np.array([0.5, -0.25])
    for _ in range(2):
        total, dx = e.run({x: value})
        np.testing.assert_allclose(total, np.sum(np.exp(2 * value) * value))
        np.testing.assert_allclose(dx, np.exp(2 * value) * (1 + 2 * value))
    assert [len(s.python) for s in e.steps] == [1, 0] and [s.last for s in e.steps] == [False, True]


def test_two_python_ops_in_a_row() -> None:
    x = Variable(name="x")
    np.testing.assert_array_equal(run([ByString()(ByString()(x))], {x: np.arange(2.0)})[0], np.arange(2.0))


class Raises(Op):
    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        if input_vals[0] < 0:
            raise ArithmeticError("negative")
        return input_vals[0]


def test_own_op_raises_its_own_exception() -> None:
    x = Variable(name="x")
    e = Executor([Raises()(x * 2)])
    assert e.run({x: 1.0}) == [2]
    with pytest.raises(ArithmeticError, match="negative"):
        e.run({x: -1.0})


class Overwrites(Op):
    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        (x,) = input_vals
        x += 1
        return x


class OverwritesInPython(ByString):
    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        input_vals[0][0] = super().compute(node, input_vals)[0] + 1
        return input_vals[0]


class Constantly(Op):
    """Its result is an input, a captured array or a constant."""

    table = np.array([1.0, 2.0])

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        if node.const_attr == "input":
            return input_vals[0]
        return self.table if node.const_attr == "captured" else 7.5


@pytest.mark.parametrize("op", [Overwrites, OverwritesInPython])
def test_own_op_works_on_copies(op: Any) -> None:
    x, value = Variable(name="x"), np.ones(1)
    a = x * 1.0
    got = run([op()(x), x, op()(a) + a], {x: value})
    assert value == got[1] == 1 and got[0] == 2 and got[2] == 3


@pytest.mark.parametrize("which, want", [("input", [5, 6]), ("captured", [1, 2]), ("constant", 7.5)])
def test_own_op_that_computes_nothing(which: str, want: Any) -> None:
    x = Variable(name="x")
    e = Executor([Constantly()(x, const_attr=which)])
    np.testing.assert_array_equal(e.run({x: np.array([5.0, 6.0])})[0], want)
    assert not e.steps[0].python
    if which == "captured":
        e.run({x: np.array([5.0, 6.0])})[0][:] = 0
        np.testing.assert_array_equal(Constantly.table, [1, 2])


# ---- errors -----------------------------------------------------------------------------------------------------------


def line(needle: str) -> int:
    """The line of this file that ends with the comment."""
    with open(__file__) as f:
        return next(k for k, text in enumerate(f, 1) if text.rstrip().endswith(f"# {needle}"))


def test_shapes_that_do_not_fit_name_the_line() -> None:
    x, y = Variable(name="x"), Variable(name="y")
    z = x + y  # the sum
    with pytest.raises(errors.ShapeError, match=r"\(2,\).*\(3,\)") as e:
        run([exp(z)], {x: np.ones(2), y: np.ones(3)})
    assert e.value.loc is not None and (e.value.loc.file, e.value.loc.line) == (__file__, line("the sum"))


def test_a_missing_value_names_the_variable() -> None:
    x, why = Variable(name="x"), Variable(name="why")
    with pytest.raises(errors.IradValueError, match="no value was given for the variable why"):
        run([x + why], {x: 1.0})


def test_values_of_no_use() -> None:
    x = Variable(name="x")
    with pytest.raises(errors.IradTypeError, match="the value fed for x"):
        run([x + 1], {x: "text"})
    with pytest.raises(errors.IradTypeError, match="not str"):
        x + "text"  # type: ignore[operator]
    with pytest.raises(errors.IradTypeError, match="has no value yet"):
        bool(x)
    with pytest.raises(errors.IradTypeError, match="two matrices"):
        run([matmul_op(x, x)], {x: np.ones(3)})


def test_ops_that_are_not_complete() -> None:
    x = Variable(name="x")
    with pytest.raises(errors.UnsupportedError, match="Raises defines no gradient"):
        gradients(Raises()(x), [x])
    with pytest.raises(errors.UnsupportedError, match="Op defines no compute"):
        run([Op()(x)], {x: 1.0})

    class Short(Op):
        def gradient(self, node: Node, output_grad: Node) -> list[Node]:
            return []

    with pytest.raises(errors.IradTypeError, match="0 nodes for 1 inputs"):
        gradients(Short()(x), [x])


# ---- the example -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example() -> ModuleType:
    path = ROOT / "docs" / "examples" / "logistic_graph.py"
    spec = importlib.util.spec_from_file_location("logistic_graph", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_example_trains_as_by_hand(example: ModuleType) -> None:
    """The same updates with the gradient (p - y) x written out."""
    X, Y = example.clouds(example.POINTS)
    weights, history = example.train(X, Y, 30)
    w = np.ones(3)
    for _ in range(30):
        for x, y in zip(X, Y):
            w = w - example.RATE * (1 / (1 + np.exp(-x @ w)) - y) * x
    np.testing.assert_allclose(weights, w, rtol=1e-9)
    assert history[-1] < history[0] < 0.5 and example.accuracy(weights, X, Y) > 0.85


def test_example_draws(example: ModuleType, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(example, "ITERATIONS", 2)
    assert example.main(str(tmp_path / "boundary.svg")) == 0
    assert "<svg" in (tmp_path / "boundary.svg").read_text()


def test_example_without_matplotlib_says_so(example: ModuleType, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(example, "ITERATIONS", 2)
    assert example.main(str(tmp_path / "boundary.svg")) == 1
    out = capsys.readouterr()
    assert "accuracy" in out.out and "irad[plot]" in out.err
