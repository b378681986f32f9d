"""A compiled function as an Op of PyTensor, the library below PyMC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.api import Compiled
from irad.core.once import import_later, once
from irad.core.tree import flatten
from irad.interop.flat import backward_of, compiled, result_types

_GUESS = 3  # an extent that is not known: the results' ranks and dtypes do not depend on it


def to_pytensor(f: Callable[..., Any], *like: Any) -> Callable[..., Any]:
    """A NumPy function as one of PyTensor variables, with gradients of every order.

    f takes arrays and returns an array or number, or a tuple of them. Its results' ranks and dtypes are found by compiling it for
    arguments like `like`; without these, for such of the variables' types, an extent that is not known taken as 3. Raises
    ImportError without pytensor.

    >>> import pytensor, pytensor.tensor as pt
    >>> x = pt.dvector("x")
    >>> slope = pytensor.function([x], pytensor.grad(irad.to_pytensor(lambda x: np.sum(x**2))(x), x))
    >>> slope(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    op = _op_class()(compiled(f), like)
    return lambda *args: op(*args)


@once
def _op_class() -> Any:
    pt, graph = import_later("pytensor.tensor"), import_later("pytensor.graph")
    gradient = import_later("pytensor.gradient")

    class IradOp(graph.Op):  # type: ignore[misc, name-defined]
        def __init__(self, f: Compiled, like: tuple[Any, ...] = ()):
            self.f, self.like = f, like

        def make_node(self, *inputs: Any) -> Any:
            variables = [pt.as_tensor_variable(x) for x in inputs]
            known = not self.like and all(None not in v.type.shape for v in variables)
            like = self.like or [np.ones([_GUESS if n is None else n for n in v.type.shape], v.dtype) for v in variables]
            _, types = result_types(self.f, like, "to_pytensor")
            outs = [pt.TensorType(d.name, shape=s if known else (None,) * len(s))() for s, d in types]
            return graph.Apply(self, variables, outs)

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            found, _ = flatten(self.f(*map(np.asarray, inputs)))
            for place, x, v in zip(outputs, found, node.outputs):
                place[0] = np.asarray(x, v.dtype)

        def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
            floats = [np.issubdtype(x.dtype, np.inexact) for x in inputs]
            cts = [y.zeros_like() if isinstance(g.type, gradient.DisconnectedType) else g for y, g in zip(outputs, cotangents)]
            by = tuple(k for k, yes in enumerate(floats) if yes)
            found = IradOp(_backward(self.f, by, len(inputs)))(*inputs, *cts)
            slopes = iter(found if isinstance(found, list) else [found])
            return [next(slopes) if yes else gradient.grad_undefined(self, k, inputs[k]) for k, yes in enumerate(floats)]

        L_op = pullback  # what it was called before

    return IradOp


def _backward(f: Compiled, by: tuple[int, ...], count: int) -> Compiled:
    """The backward as a function of arguments and cotangents, one after the other."""
    plain = backward_of(f, by).__wrapped__
    flat = lambda *xs: plain(*xs[:count], xs[count] if len(xs) == count + 1 else tuple(xs[count:]))
    return Compiled(flat, 0, f.options)
