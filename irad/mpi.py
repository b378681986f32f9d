"""Collectives of MPI in compiled code, with derivatives: data-parallel training by the MPI library that mpi4py is linked to.

irad.mpi.allreduce(x)              the sum of all processes' x, for all of them; also op="max", op="min"
irad.mpi.broadcast(x, root=0)      the root's x, for all
irad.mpi.reduce(x, root=0)         the sum of all x for the root, zeros for the others
irad.mpi.allgather(x)              all x, stacked along a new axis 0
irad.mpi.reduce_scatter(x)         the sum of all x, of which each process gets its part of axis 0
irad.mpi.rank(), irad.mpi.size()   which process this is, and of how many

`x` may be a tree of arrays and numbers: each leaf is a collective of its own. Every process must run the same program, with the same
shapes. All derivatives are those of the function of all processes together (see docs/parallel.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.tree import flatten
from irad.core.types import dtype_name
from irad.errors import IradTypeError, IradValueError
from irad.frontend.reader import Reader
from irad.frontend.transforms.custom import Special, value_of
from irad.frontend.transforms.linearise import is_leaf, kind_of, object_of
from irad.ops import mpi as ops

__all__ = ["allgather", "allreduce", "broadcast", "rank", "reduce", "reduce_scatter", "size"]


class Collective(Special):
    """A collective that compiled code can call; called elsewhere it does the same at once."""

    def __init__(self, name: str, doc: str):
        self.name, self.__doc__, self.__name__ = name, doc, name

    def __reduce__(self) -> str:
        return self.name

    def __call__(self, x: Any, *, op: str = "sum", root: int = 0, comm: Any = None) -> Any:
        attrs = self._attributes(op, root, comm)
        leaves, tree = flatten(x)
        return tree.unflatten([self._now(leaf, attrs) for leaf in leaves])

    def apply(self, r: Reader, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A node for each leaf."""
        if len(args) != 1 or set(kwargs) - {"op", "root", "comm"}:
            raise IradTypeError(f"irad.mpi.{self.name}(x, op=..., root=..., comm=...): one argument by position")
        attrs = self._attributes(kwargs.get("op", "sum"), kwargs.get("root", 0), kwargs.get("comm"))
        leaves, tree = flatten(args[0], is_leaf)
        return tree.unflatten([self._emitted(r, leaf, attrs) for leaf in leaves])

    def _attributes(self, op: Any, root: Any, comm: Any) -> dict[str, Any]:
        """The attributes of a node. Raises IradValueError for an unknown reduction or a root that there is not."""
        number = ops.number_of(comm)
        size = int(ops.communicator(number).size)
        if not isinstance(op, str) or op not in ops.REDUCTIONS:
            raise IradValueError(f"op is one of {', '.join(map(repr, ops.REDUCTIONS))}, not {op!r}")
        if not isinstance(root, int) or isinstance(root, bool) or not 0 <= root < size:
            raise IradValueError(f"root is a rank from 0 to {size - 1}, not {root!r}")
        given: dict[str, Any] = {"comm": number, "size": size}
        if self.name in ("broadcast", "reduce"):
            given["root"] = root
        if self.name in ("allreduce", "reduce", "reduce_scatter"):
            given["reduction"] = op
        return given

    def _now(self, x: Any, attrs: dict[str, Any]) -> Any:
        a = np.asarray(x)
        if dtype_name(a.dtype) not in ops.DATATYPES:
            raise IradTypeError(f"irad.mpi.{self.name} takes real numbers, not {a.dtype}")
        if self.name == "reduce_scatter" and a.shape[:1] != (attrs["size"],):
            raise IradTypeError(f"reduce_scatter wants a part for each of {attrs['size']} processes along axis 0; got {a.shape}")
        out = ops.run(f"mpi_{self.name}", a, **attrs)
        return out if out.ndim or isinstance(x, np.ndarray) else out[()] if isinstance(x, np.generic) else out.item()

    def _emitted(self, r: Reader, x: Any, attrs: dict[str, Any]) -> Any:
        if not is_leaf(x):
            raise IradTypeError(f"irad.mpi.{self.name} takes arrays and numbers, and trees of them")
        value = value_of(r, x)
        out = ops.emitted(f"mpi_{self.name}", value, attrs)
        return object_of(out, kind_of(x) if out.type.rank == value.type.rank else "array" if out.type.rank else "generic")


class _Known(Special):
    """A number of a communicator, which compiled code has as a constant."""

    def __init__(self, name: str, doc: str, of: Callable[[Any], int]):
        self.name, self.__doc__, self.__name__, self.of = name, doc, name, of

    def __reduce__(self) -> str:
        return self.name

    def __call__(self, comm: Any = None) -> int:
        return int(self.of(ops.communicator(ops.number_of(comm))))

    def apply(self, r: Reader, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return self(*args, **kwargs)


allreduce = Collective(
    "allreduce",
    """allreduce(x, *, op="sum", comm=None): the sum of all processes' x, for all of them.

    `op`: "sum", "max" or "min". The derivative of a sum is the sum of all cotangents; of a largest or smallest number those
    processes that have it share that sum alike. `comm`: a communicator of mpi4py, else all processes. Raises
    RuntimeError if MPI reports an error, IradValueError for another `op`.

    >>> irad.mpi.allreduce(3.0)  # of one process
    3.0
    """,
)
broadcast = Collective(
    "broadcast",
    """broadcast(x, *, root=0, comm=None): the x of process `root`, for all. Derivative: the sum of all cotangents at the root, zeros
    elsewhere.

    >>> irad.mpi.broadcast(3.0)  # of one process
    3.0
    """,
)
reduce = Collective(
    "reduce",
    """reduce(x, *, root=0, op="sum", comm=None): the sum of all x for process `root`, zeros for the others. Derivative: the root's
    cotangent, for all.

    >>> irad.mpi.reduce(3.0)  # of one process
    3.0
    """,
)
allgather = Collective(
    "allgather",
    """allgather(x, *, comm=None): all processes' x, stacked along a new axis 0, for all. Derivative: `reduce_scatter`.

    >>> irad.mpi.allgather(np.ones(2))  # of one process
    array([[1., 1.]])
    """,
)
reduce_scatter = Collective(
    "reduce_scatter",
    """reduce_scatter(x, *, op="sum", comm=None): the sum of all x, cut along axis 0 into one element for each process.

    x.shape[0] is the number of processes. Derivative: `allgather`.

    >>> irad.mpi.reduce_scatter(np.ones((1, 2)))  # of one process
    array([1., 1.])
    """,
)
rank = _Known(
    "rank",
    """rank(comm=None): the number of this process, from 0. A constant in compiled code.

    >>> irad.mpi.rank()  # of one process
    0
    """,
    lambda c: c.rank,
)
size = _Known(
    "size",
    """size(comm=None): how many processes there are. A constant in compiled code.

    >>> irad.mpi.size()  # of one process
    1
    """,
    lambda c: c.size,
)
