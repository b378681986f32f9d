"""Nodes and ops of irad.graph: what graphs made by hand consist of."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from irad.errors import IradTypeError, IradValueError, Loc, UnsupportedError

Number = int | float
OPERATORS: dict[str, Op] = {}  # what `+` and the others make; irad.graph fills it
_differentiating: ContextVar[bool] = ContextVar("differentiating", default=False)


class Node:
    """A value in a graph: `op` of `inputs`; `const_attr` is what else the op needs to know, `name` is for people.

    `loc`: the line that made the node; errors name it. `deriv`: the node was made by `gradients`. Operators make nodes.

    >>> x = irad.graph.Variable("x")
    >>> y = 2 * x + 1
    >>> y, y.inputs
    (<node ((2 * x) + 1)>, [<node (2 * x)>, <node 1>])
    """

    __array_ufunc__ = None  # `array * node` asks the node

    def __init__(self, op: Op | None = None, inputs: Sequence[Node] = (), name: str = "", const_attr: Any = None):
        self.op, self.inputs, self.name, self.const_attr = op, list(inputs), name, const_attr
        self.loc, self.deriv = _caller(), _differentiating.get()

    def __add__(self, other: Node | Number) -> Node:
        return OPERATORS["+"](self, other)

    def __radd__(self, other: Number) -> Node:
        return OPERATORS["+"](other, self)

    def __sub__(self, other: Node | Number) -> Node:
        return OPERATORS["-"](self, other)

    def __rsub__(self, other: Number) -> Node:
        return OPERATORS["-"](other, self)

    def __mul__(self, other: Node | Number) -> Node:
        return OPERATORS["*"](self, other)

    def __rmul__(self, other: Number) -> Node:
        return OPERATORS["*"](other, self)

    def __truediv__(self, other: Node | Number) -> Node:
        return OPERATORS["/"](self, other)

    def __rtruediv__(self, other: Number) -> Node:
        return OPERATORS["/"](other, self)

    def __pow__(self, other: Node | Number) -> Node:
        return OPERATORS["**"](self, other)

    def __rpow__(self, other: Number) -> Node:
        return OPERATORS["**"](other, self)

    def __neg__(self) -> Node:
        return OPERATORS["neg"](self)

    def __bool__(self) -> bool:
        raise IradTypeError(f"the node {self} has no value yet: run it with an Executor first", _caller())

    def __str__(self) -> str:
        return self.name or f"{type(self.op).__name__}({', '.join(map(str, self.inputs))})"

    def __repr__(self) -> str:
        return f"<node {self}>"


def _caller() -> Loc | None:
    """The innermost line outside of irad."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("irad."):
        frame = frame.f_back
    return Loc(frame.f_code.co_filename, frame.f_lineno)


class Op:
    """What nodes do. An op of your own defines `compute` and `gradient`; `op(a, b)` makes a node.

    >>> class Cube(irad.graph.Op):
    ...     def compute(self, node, input_vals):
    ...         return input_vals[0] ** 3
    ...     def gradient(self, node, output_grad):
    ...         return [3 * node.inputs[0] ** 2 * output_grad]
    >>> x = irad.graph.Variable("x")
    >>> (dx,) = irad.graph.gradients(Cube()(x), [x])
    >>> irad.graph.Executor([dx]).run({x: np.array([1.0, 2.0])})
    [array([ 3., 12.])]
    """

    def __call__(self, *inputs: Node | Number, name: str = "", const_attr: Any = None) -> Node:
        """A node of this op; numbers and arrays among the inputs become constants."""
        return Node(self, [as_node(x) for x in inputs], name, const_attr)

    lower: Callable[..., Any] | None = None
    """Of built-in ops, `lower(node, *operands)` emits nodes into irad's graph. If it is None, `compute` is read from its source."""

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        """The value of `node`, from those of its inputs, which are copies of its own. NumPy code, which irad compiles."""
        raise UnsupportedError(f"{type(self).__name__} defines no compute", node.loc)

    def gradient(self, node: Node, output_grad: Node) -> Sequence[Node | None]:
        """For each input of `node`, its share in the gradient, as a node; None means none. `output_grad`: that of `node`."""
        raise UnsupportedError(f"{type(self).__name__} defines no gradient", node.loc)


# ---- leaves -------------------------------------------------------------------------------------------------------


class Placeholder(Op):
    """A value that is fed: there is no other way to it."""

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        raise IradValueError(f"no value was given for the variable {node}: put it into feed_dict", node.loc)

    def lower(self, node: Node, *xs: Any) -> Any:
        self.compute(node, [])


class Constant(Op):
    """The number or array `const_attr`. A Python number takes the dtype of what it meets, as in NumPy."""

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        return node.const_attr

    def gradient(self, node: Node, output_grad: Node) -> Sequence[Node | None]:
        return []

    def lower(self, node: Node, *xs: Any) -> Any:
        return node.const_attr


_placeholder, _constant = Placeholder(), Constant()


def Variable(name: str) -> Node:
    """A node without inputs, whose value is given to `Executor.run`.

    >>> irad.graph.Variable("x")
    <node x>
    """
    return Node(_placeholder, (), name)


def as_node(x: Any) -> Node:
    """x as a node. Raises IradTypeError for what is neither a node, a number nor an array."""
    if isinstance(x, Node):
        return x
    if not isinstance(x, (int, float, np.number, np.bool_, np.ndarray)):
        raise IradTypeError(f"a node, a number or an array is wanted, not {type(x).__name__}", _caller())
    return Node(_constant, (), str(x), np.array(x) if isinstance(x, np.ndarray) else x)


@contextmanager
def made_by_gradients() -> Iterator[None]:
    """Nodes made inside belong to a derivative."""
    token = _differentiating.set(True)
    try:
        yield
    finally:
        _differentiating.reset(token)
