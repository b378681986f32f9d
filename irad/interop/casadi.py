"""A compiled function as a `casadi.Callback`, with Jacobians of every order, for CasADi's solvers (IPOPT)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import irad
from irad.api import Compiled
from irad.core.once import import_later, once
from irad.core.tree import flatten
from irad.errors import IradTypeError
from irad.interop.flat import compiled, result_types

Shape = tuple[int, ...]


def to_casadi(f: Callable[..., Any], *like: Any, name: str = "irad") -> Any:
    """A NumPy function as a CasADi function, for arguments of float64 with the shapes of `like`.

    A number is 1 x 1 in CasADi, an array of n numbers n x 1; more than two axes are an error. f returns an array or number, or a
    tuple of them. Keep the result as long as CasADi uses it. Raises ImportError without casadi, IradTypeError for shapes
    that CasADi has not.

    >>> import casadi
    >>> square, x = irad.to_casadi(lambda x: np.sum(x**2), np.zeros(2)), casadi.SX.sym("x", 2)
    >>> float(square([3.0, 4.0]))
    25.0
    """
    shapes = [np.shape(x) for x in like]
    return _callback()(name, compiled(f), shapes)


def _matrix(shape: Shape) -> tuple[int, int]:
    if len(shape) > 2:
        raise IradTypeError(f"CasADi has matrices only, no arrays of shape {shape}")
    rows, columns = (*shape, 1, 1)[:2]
    return rows, columns


@once
def _callback() -> Any:
    casadi = import_later("casadi")

    class IradCallback(casadi.Callback):  # type: ignore[misc, name-defined]
        def __init__(self, name: str, f: Compiled, shapes: Sequence[Shape], unused: Sequence[Shape] = ()):
            """`unused`: shapes of further inputs, which CasADi hands to a Jacobian: the results of the function."""
            casadi.Callback.__init__(self)
            self.f, self.shapes, self.unused = f, list(shapes), list(unused)
            types = result_types(f, [np.ones(s) if s else 1.0 for s in shapes], "to_casadi")[1]
            self.results = [shape for shape, _ in types]
            self.kept: list[Any] = []
            for s in (*self.shapes, *self.results, *self.unused):
                _matrix(s)
            self.construct(name, {"enable_fd": False})

        def get_n_in(self) -> int:
            return len(self.shapes) + len(self.unused)

        def get_n_out(self) -> int:
            return len(self.results)

        def get_sparsity_in(self, k: int) -> Any:
            return casadi.Sparsity.dense(*_matrix([*self.shapes, *self.unused][k]))

        def get_sparsity_out(self, k: int) -> Any:
            return casadi.Sparsity.dense(*_matrix(self.results[k]))

        def eval(self, given: Any) -> Any:
            args = [np.asarray(x.full()).reshape(s) if s else float(x) for x, s in zip(given, self.shapes)]
            return [casadi.DM(np.reshape(np.asarray(y, float), _matrix(np.shape(y)))) for y in flatten(self.f(*args))[0]]

        def has_jacobian(self) -> bool:
            return True

        def get_jacobian(self, name: str, inputs: Any, outputs: Any, options: Any) -> Any:
            made = IradCallback(
                name, _jacobian(self.f, len(self.shapes), len(self.unused)), [*self.shapes, *self.unused], self.results
            )
            self.kept.append(made)
            return made

    return IradCallback


def _jacobian(f: Compiled, count: int, unused: int) -> Compiled:
    """All blocks d result / d argument, one after the other, as matrices over the elements in CasADi's order (by columns)."""
    plain = f.__wrapped__
    numbers = tuple(range(count))

    def blocks(*args: Any) -> Any:
        every = irad.jacobian(plain, argnums=numbers)(*args[:count])
        results = every if isinstance(every[0], tuple) else (every,)
        out = []
        for row in results:
            for k in range(count):
                out.append(_by_columns(row[k], np.ndim(args[k])))
            for k in range(unused):
                x = args[count + k]
                r = np.ndim(row[0]) - np.ndim(args[0])
                out.append(np.zeros((_size(row[0], r), np.size(x))))
        return tuple(out)

    return Compiled(blocks, 0, f.options)


def _size(j: Any, rank: int) -> int:
    n = 1
    for k in range(rank):
        n = n * j.shape[k]
    return n


def _by_columns(j: Any, ins: int) -> Any:
    """A block of shape result + argument as a matrix: the axes of each turned, so that elements go by columns."""
    outs = np.ndim(j) - ins
    turned = np.transpose(j, (*range(outs - 1, -1, -1), *range(outs + ins - 1, outs - 1, -1)))
    return np.reshape(turned, (_size(j, outs), -1))
