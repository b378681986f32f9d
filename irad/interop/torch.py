"""A compiled function as a `torch.autograd.Function`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.api import Compiled
from irad.core.once import import_later
from irad.core.tree import TreeDef, flatten, is_leaf
from irad.errors import IradTypeError
from irad.interop.flat import backward_of, compiled, moving


def to_torch(f: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function as one of PyTorch tensors, which autograd can differentiate, any number of times.

    The result takes what f takes, with CPU tensors for arrays (in tuples, lists and dicts too), and returns tensors in the structure
    that f returns. Memory is shared, not copied. Raises ImportError without torch, IradTypeError for a tensor that is not on
    the CPU.

    >>> import torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> irad.to_torch(lambda x: np.sum(x**2))(x).backward()
    >>> x.grad
    tensor([2., 4.], dtype=torch.float64)
    """
    torch = import_later("torch")
    return _Bridge(torch, compiled(f))


class _Bridge:
    def __init__(self, torch: Any, f: Compiled):
        self.torch, self.f = torch, f
        self._backward: dict[tuple[int, ...], _Bridge] = {}
        self._function = _function(torch)
        self.__name__ = getattr(f.__wrapped__, "__name__", "f")

    def __call__(self, *args: Any) -> Any:
        leaves, tree = flatten(args, self._leaf)
        box: list[Any] = []
        out = self._function.apply(self, tree, box, *leaves)
        return box[0].unflatten(list(out) if isinstance(out, tuple) else [out])

    def _leaf(self, x: Any) -> bool:
        return isinstance(x, self.torch.Tensor) or is_leaf(x)

    def run(self, tree: TreeDef, leaves: Sequence[Any]) -> tuple[list[Any], TreeDef]:
        """The result's leaves as tensors, and how they are nested."""
        out = self.f(*tree.unflatten([self._array(x) for x in leaves]))
        found, nested = flatten(out)
        return [
            self.torch.from_numpy(np.array(x) if not np.ndim(x) else x if x.flags.writeable else x.copy()) for x in found
        ], nested

    def _array(self, x: Any) -> Any:
        if not isinstance(x, self.torch.Tensor):
            return x
        if x.device.type != "cpu":
            raise IradTypeError(f"a tensor on {x.device}: irad runs on the CPU, pass x.cpu()")
        return x.detach().resolve_conj().resolve_neg().numpy()

    def backward(self, by: tuple[int, ...]) -> _Bridge:
        if by not in self._backward:
            self._backward[by] = _Bridge(self.torch, backward_of(self.f, by))
        return self._backward[by]


def _function(torch: Any) -> Any:
    """The class that autograd knows."""

    class Irad(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, bridge: _Bridge, tree: TreeDef, box: list[Any], *leaves: Any) -> Any:
            out, nested = bridge.run(tree, leaves)
            box.append(nested)
            tensors = [isinstance(x, torch.Tensor) for x in leaves]
            ctx.save_for_backward(*(x for x in leaves if isinstance(x, torch.Tensor)))
            ctx.given = bridge, tree, nested, tensors, [None if t else x for t, x in zip(tensors, leaves)]
            given = [x for x in leaves if isinstance(x, torch.Tensor)]
            same = [next((g for g in given if g.data_ptr() == y.data_ptr() and y.numel()), None) for y in out]
            out = [y if g is None else y.clone() for y, g in zip(out, same)]  # what is returned is no argument's memory
            ctx.mark_non_differentiable(*(y for y in out if not y.is_floating_point() and not y.is_complex()))
            return tuple(out) if len(out) != 1 else out[0]

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            bridge, tree, nested, tensors, rest = ctx.given
            saved = iter(ctx.saved_tensors)
            leaves = [next(saved) if t else x for t, x in zip(tensors, rest)]
            by = moving(tree, [_is_float(torch, x) for x in leaves], "to_torch")
            cts = nested.unflatten([(c if _is_float(torch, c) else c.double()).contiguous() for c in cotangents])
            found = bridge.backward(by)(*tree.unflatten(leaves), cts)
            grads = iter(flatten(found, bridge._leaf)[0])
            owners = [k for k, child in enumerate(tree.children) for _ in range(child.size)]
            out = [next(grads) if k in by else None for k in owners]
            return (None, None, None, *(g if t else None for g, t in zip(out, tensors)))

    return Irad


def _is_float(torch: Any, x: Any) -> bool:
    if isinstance(x, torch.Tensor):
        return bool(x.is_floating_point() or x.is_complex())
    return np.issubdtype(np.asarray(x).dtype, np.inexact)
