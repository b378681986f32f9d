"""Define-then-run graphs: nodes by hand, gradients as nodes, and an executor.

    x = Variable(name="x")
    y = reduce_sum(exp(x) * 2)
    (dx,) = gradients(y, [x])
    y_value, dx_value = Executor([y, dx]).run(feed_dict={x: np.arange(3.0)})

A node has no shape until it is fed. `Executor` turns the nodes that it needs into one irad program for the dtypes and shapes
it is given, compiles that, and keeps it for the next run. An `Op` of your own has a `compute`, in NumPy, and a `gradient`, in
nodes; irad compiles the one with everything around it, or runs it in Python where it cannot (irad.graph.executor).

Numbers are NumPy's: dtypes promote and shapes broadcast as in `np.add` and its like. A gradient has the shape of what it
belongs to; a contribution whose cotangent is 0 is 0 (strong zero, as everywhere in irad).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.errors import IradTypeError
from irad.frontend.numpy.table import lookup
from irad.frontend.values.arr import Arr, is_traced, lift, shape_of, unify
from irad.graph.executor import Executor, ancestors
from irad.graph.nodes import OPERATORS, Constant, Node, Number, Op, Variable, as_node, made_by_gradients
from irad.ops.elementwise import szmul

__all__ = [
    "Executor", "Node", "Op", "Variable", "broadcast_like", "cos", "exp", "gradients", "log", "matmul_op", "oneslike_op",
    "reduce_sum", "reduce_like", "sin", "sqrt", "tanh", "zeroslike_op",
]  # fmt: skip

# ---- elementwise ---------------------------------------------------------------------------------------------------


class Elementwise(Op):
    """A NumPy ufunc. `symbol`: how it is written between two operands."""

    def __init__(self, ufunc: np.ufunc, symbol: str = ""):
        self.ufunc, self.symbol = ufunc, symbol
        if not symbol:
            name = ufunc.__name__
            self.__doc__ = f"""`np.{name}` of a node, as a node.

            >>> x = irad.graph.Variable("x")
            >>> (y,) = irad.graph.Executor([irad.graph.{name}(x)]).run({{x: 0.5}})
            >>> abs(y - np.{name}(0.5)) < 1e-15
            True
            """

    def __call__(self, *inputs: Node | Number, name: str = "", const_attr: Any = None) -> Node:
        node = super().__call__(*inputs, const_attr=const_attr)
        written = f" {self.symbol} ".join(map(str, node.inputs))
        node.name = name or (f"({written})" if self.symbol else f"{self.ufunc.__name__}({written})")
        return node

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        return self.ufunc(*input_vals)

    def lower(self, node: Node, *xs: Any) -> Any:
        builder = lookup(self.ufunc)
        assert builder is not None
        return builder(*xs) if is_traced(xs) else self.ufunc(*xs)

    def gradient(self, node: Node, output_grad: Node) -> Sequence[Node | None]:
        slopes = self.slopes(node, *node.inputs)
        shares = [output_grad if s is None else product(output_grad, s) for s in slopes]
        return shares if len(shares) == 1 else [reduce_like(g, x) for g, x in zip(shares, node.inputs)]

    def slopes(self, out: Node, *xs: Node) -> Sequence[Node | None]:
        """d out / d each input; None is 1."""
        raise NotImplementedError


class Add(Elementwise):
    def slopes(self, out: Node, *xs: Node) -> Sequence[Node | None]:
        return [None, None]


class Negative(Elementwise):
    def gradient(self, node: Node, output_grad: Node) -> Sequence[Node | None]:
        return [-output_grad]


class Subtract(Elementwise):
    def gradient(self, node: Node, output_grad: Node) -> Sequence[Node | None]:
        a, b = node.inputs
        return [reduce_like(output_grad, a), reduce_like(-output_grad, b)]


class Multiply(Elementwise):
    def slopes(self, out: Node, *xs: Node) -> Sequence[Node | None]:
        return [xs[1], xs[0]]


class Product(Multiply):
    """cotangent * slope, and 0 where the cotangent is 0, even if the slope is infinite or NaN."""

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        assert szmul.eval is not None
        with np.errstate(invalid="ignore"):
            return szmul.eval(*np.broadcast_arrays(*input_vals))

    def lower(self, node: Node, *xs: Any) -> Any:
        if not is_traced(xs):
            return self.compute(node, list(xs))
        ct, slope = unify(*xs)
        return Arr(szmul(ct, slope) if ct.type.differentiable else super().lower(node, Arr(ct), Arr(slope)).value)


class Divide(Elementwise):
    def slopes(self, out: Node, *xs: Node) -> Sequence[Node | None]:
        return [1 / xs[1], -(out / xs[1])]


class Power(Elementwise):
    """a ** b. Slope 0 in a where b is 0, slope 0 in b where a is 0 (docs/edges.md)."""

    def slopes(self, out: Node, *xs: Node) -> Sequence[Node | None]:
        a, b = xs
        if isinstance(b.op, Constant) and isinstance(b.const_attr, (int, float)):
            n = b.const_attr
            in_a = zeroslike_op(a) if n == 0 else oneslike_op(a) if n == 1 else n * (a if n == 2 else a ** (n - 1))
        else:
            in_a = product(b, a ** (b - 1))
        return [in_a, product(_log_or_zero(a), out)]


class Log(Elementwise):
    def slopes(self, out: Node, *xs: Node) -> Sequence[Node | None]:
        return [1 / xs[0]]


class LogOrZero(Log):
    """log x, and 0 where x is 0."""

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        (x,) = input_vals
        return np.log(np.where(np.equal(x, 0), 1, x))

    def lower(self, node: Node, *xs: Any) -> Any:
        if not is_traced(xs):
            return self.compute(node, list(xs))
        call = lambda fn, *ys: lookup(fn)(*ys)  # type: ignore[misc]
        return call(np.log, call(np.where, call(np.equal, xs[0], 0), 1, xs[0]))


class Exp(Elementwise):
    def slopes(self, out: Node, *xs: Node) -> Sequence[Node | None]:
        return [out]


class Sqrt(Elementwise):
    def slopes(self, out: Node, *xs: Node) -> Sequence[Node | None]:
        return [0.5 / out]


class Sin(Elementwise):
    def slopes(self, out: Node, *xs: Node) -> Sequence[Node | None]:
        return [cos(xs[0])]


class Cos(Elementwise):
    def slopes(self, out: Node, *xs: Node) -> Sequence[Node | None]:
        return [-sin(xs[0])]


class Tanh(Elementwise):
    def slopes(self, out: Node, *xs: Node) -> Sequence[Node | None]:
        return [(1 - out) * (1 + out)]


add, subtract, multiply = Add(np.add, "+"), Subtract(np.subtract, "-"), Multiply(np.multiply, "*")
divide, power, negative = Divide(np.divide, "/"), Power(np.power, "**"), Negative(np.negative)
product, _log_or_zero = Product(np.multiply, "*"), LogOrZero(np.log)
exp, log, sqrt = Exp(np.exp), Log(np.log), Sqrt(np.sqrt)
sin, cos, tanh = Sin(np.sin), Cos(np.cos), Tanh(np.tanh)
OPERATORS.update({"+": add, "-": subtract, "*": multiply, "/": divide, "**": power, "neg": negative})

# ---- shapes and contraction -----------------------------------------------------------------------------------------


class Like(Op):
    """Ones or zeros of the dtype and shape of the input.

    >>> x = irad.graph.Variable("x")
    >>> irad.graph.Executor([irad.graph.oneslike_op(x), irad.graph.zeroslike_op(x)]).run({x: np.arange(2.0)})
    [array([1., 1.]), array([0., 0.])]
    """

    def __init__(self, make: Any):
        self.make = make

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        return self.make(input_vals[0])

    def lower(self, node: Node, *xs: Any) -> Any:
        return lookup(self.make)(*xs) if is_traced(xs) else self.make(*xs)  # type: ignore[misc]

    def gradient(self, node: Node, output_grad: Node) -> Sequence[Node | None]:
        return [None]


class ReduceSum(Op):
    """The sum over `axis` (int, tuple or None for all), which `const_attr` keeps with `keepdims`.

    >>> x = irad.graph.Variable("x")
    >>> irad.graph.Executor([irad.graph.reduce_sum(x, axis=0)]).run({x: np.ones((2, 3))})
    [array([2., 2., 2.])]
    """

    def __call__(self, a: Node, axis: Any = None, keepdims: bool = False, name: str = "") -> Node:  # type: ignore[override]
        return Node(self, [as_node(a)], name or f"sum({a})", (axis, keepdims))

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        axis, keepdims = node.const_attr
        return np.sum(input_vals[0], axis=axis, keepdims=keepdims)

    def lower(self, node: Node, *xs: Any) -> Any:
        axis, keepdims = node.const_attr
        return lookup(np.sum)(lift(xs[0]), axis=axis, keepdims=keepdims)  # type: ignore[misc]

    def gradient(self, node: Node, output_grad: Node) -> Sequence[Node | None]:
        axis, keepdims = node.const_attr
        return [broadcast_like(output_grad, node.inputs[0], None if keepdims else axis)]


class BroadcastLike(Op):
    """The first input in the shape of the second. `const_attr`: axes (of the second) to put into the first before, or None.

    >>> x, like = irad.graph.Variable("x"), irad.graph.Variable("like")
    >>> irad.graph.Executor([irad.graph.broadcast_like(x, like, axis=1)]).run({x: np.array([1.0, 2.0]), like: np.ones((2, 2))})
    [array([[1., 1.],
           [2., 2.]])]
    """

    def __call__(self, a: Node, like: Node, axis: Any = None, name: str = "") -> Node:  # type: ignore[override]
        return Node(self, [as_node(a), as_node(like)], name or f"broadcast({a})", axis)

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        a, like = input_vals
        return np.broadcast_to(np.reshape(a, self.shape(node, a, like)), np.shape(like)).copy()

    def lower(self, node: Node, *xs: Any) -> Any:
        a, like = xs
        reshaped = lookup(np.reshape)(lift(a), self.shape(node, a, like))  # type: ignore[misc]
        return lookup(np.broadcast_to)(reshaped, shape_of(like))  # type: ignore[misc]

    def shape(self, node: Node, a: Any, like: Any) -> tuple[Any, ...]:
        """The shape of the first input with the axes put in."""
        axis, rank = node.const_attr, len(shape_of(like))
        if axis is None:
            return shape_of(a)
        axes = {k % rank for k in (axis if isinstance(axis, tuple) else (axis,))}
        rest = iter(shape_of(a))
        return tuple(1 if k in axes else next(rest) for k in range(rank))

    def gradient(self, node: Node, output_grad: Node) -> Sequence[Node | None]:
        axis = node.const_attr
        summed = output_grad if axis is None else reduce_sum(output_grad, axis)
        return [reduce_like(summed, node.inputs[0]), None]


class ReduceLike(Op):
    """The first input summed to the shape of the second, which broadcasts to it: the adjoint of broadcasting.

    >>> x, like = irad.graph.Variable("x"), irad.graph.Variable("like")
    >>> irad.graph.Executor([irad.graph.reduce_like(x, like)]).run({x: np.ones((2, 3)), like: np.ones(3)})
    [array([2., 2., 2.])]
    """

    def __call__(self, a: Node, like: Node, name: str = "") -> Node:  # type: ignore[override]
        return Node(self, [as_node(a), as_node(like)], name or str(a))

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        a, like = input_vals
        axes = self.axes(a, like)
        return np.reshape(np.sum(a, axis=axes), np.shape(like)) if axes else a

    def lower(self, node: Node, *xs: Any) -> Any:
        a, like = xs
        axes = self.axes(a, like)
        if not axes:
            return a
        return lookup(np.reshape)(lookup(np.sum)(lift(a), axis=axes), shape_of(like))  # type: ignore[misc]

    @staticmethod
    def axes(a: Any, like: Any) -> tuple[int, ...]:
        """The axes along which the second was stretched."""
        wide, narrow = shape_of(a), shape_of(like)
        new = len(wide) - len(narrow)
        return tuple(k for k, d in enumerate(wide) if k < new or (narrow[k - new] == 1 and d != 1))

    def gradient(self, node: Node, output_grad: Node) -> Sequence[Node | None]:
        return [broadcast_like(output_grad, node.inputs[0]), None]


class MatMul(Op):
    """A @ B of matrices, either transposed first. `const_attr`: (trans_A, trans_B).

    >>> a = irad.graph.Variable("a")
    >>> irad.graph.Executor([irad.graph.matmul_op(a, a, trans_A=True)]).run({a: np.array([[1.0, 2.0]])})
    [array([[1., 2.],
           [2., 4.]])]
    """

    def __call__(self, a: Node, b: Node, trans_A: bool = False, trans_B: bool = False, name: str = "") -> Node:  # type: ignore[override]
        text = f"matmul({a}{'.T' * trans_A}, {b}{'.T' * trans_B})"
        return Node(self, [as_node(a), as_node(b)], name or text, (bool(trans_A), bool(trans_B)))

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        a, b = (np.transpose(x) if t else x for x, t in zip(input_vals, node.const_attr))
        return np.matmul(a, b)

    def lower(self, node: Node, *xs: Any) -> Any:
        for x in xs:
            if len(shape_of(x)) != 2:
                raise IradTypeError(f"matmul_op wants two matrices, not shapes {' and '.join(str(shape_of(x)) for x in xs)}")
        a, b = (lookup(np.transpose)(lift(x)) if t else lift(x) for x, t in zip(xs, node.const_attr))  # type: ignore[misc]
        return lookup(np.matmul)(a, b)  # type: ignore[misc]

    def gradient(self, node: Node, output_grad: Node) -> Sequence[Node | None]:
        (a, b), (ta, tb) = node.inputs, node.const_attr
        da = matmul_op(b, output_grad, tb, True) if ta else matmul_op(output_grad, b, False, not tb)
        db = matmul_op(output_grad, a, True, ta) if tb else matmul_op(a, output_grad, not ta, False)
        return [da, db]


oneslike_op, zeroslike_op = Like(np.ones_like), Like(np.zeros_like)
reduce_sum, broadcast_like, reduce_like, matmul_op = ReduceSum(), BroadcastLike(), ReduceLike(), MatMul()

# ---- gradients -------------------------------------------------------------------------------------------------------


def gradients(output_node: Node, node_list: Sequence[Node]) -> list[Node]:
    """For each node of `node_list` (a variable or any node in between), d sum(output_node) / d node, as a node.

    Where `output_node` does not depend on it, zeros. The nodes may be differentiated again. Raises UnsupportedError,
    at the line that made the node, for an op without `gradient`, and IradTypeError if `gradient` does not fit the inputs.

    >>> x = irad.graph.Variable("x")
    >>> (dx,) = irad.graph.gradients(x**3, [x])
    >>> (second,) = irad.graph.gradients(dx, [x])
    >>> irad.graph.Executor([dx, second]).run({x: 2.0})
    [12.0, 12.0]
    """
    from_y = ancestors([output_node])
    wanted = set(node_list)
    for node in from_y:  # inputs come first: what depends on a wanted node gets a gradient
        if any(x in wanted for x in node.inputs):
            wanted.add(node)
    with made_by_gradients():
        grads = {output_node: oneslike_op(output_node)}
        for node in reversed(from_y):
            if node in grads and node in wanted and node.inputs:
                _distribute(node, grads, wanted)
        return [grads[x] if x in grads else zeroslike_op(x) for x in node_list]


def _distribute(node: Node, grads: dict[Node, Node], wanted: set[Node]) -> None:
    """Add the shares of the node's inputs to their gradients."""
    if not any(x in wanted for x in node.inputs):
        return
    assert node.op is not None
    shares = node.op.gradient(node, grads[node])
    if shares is None or len(shares) != len(node.inputs):
        found = "nothing" if shares is None else f"{len(shares)} nodes"
        raise IradTypeError(f"{type(node.op).__name__}.gradient gave {found} for {len(node.inputs)} inputs", node.loc)
    for x, share in zip(node.inputs, shares):
        if x in wanted and share is not None:
            grads[x] = grads[x] + share if x in grads else as_node(share)
