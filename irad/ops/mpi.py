"""Collectives of MPI as ops: every process of a communicator runs the same program, and meets the others here.

What is differentiated is the function of all processes together, from their operands to their results. So the adjoint of a sum
that all get is the sum of all cotangents, that of a broadcast a sum at the root, and that of gathering a sum of which each
takes its part (as in M. Towara, M. Schanen and U. Naumann, "MPI-parallel discrete adjoint OpenFOAM", 2015).

The rows are in the table once this module is imported, which `irad.mpi` does: mpi4py starts MPI when it is first asked here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.once import import_later
from irad.core.types import Type
from irad.errors import IradTypeError
from irad.ops.core import Op, Raising, type_error
from irad.ops.elementwise import cast_to, eq, full, select

REDUCTIONS = {"sum": "SUM", "max": "MAX", "min": "MIN"}  # the names of MPI's
DATATYPES = {
    "f64": "DOUBLE", "f32": "FLOAT", "i64": "INT64_T", "i32": "INT32_T", "i16": "INT16_T", "i8": "INT8_T", "u64": "UINT64_T",
    "u32": "UINT32_T", "u16": "UINT16_T", "u8": "UINT8_T",
}  # fmt: skip
MOST = 2**31 - 1  # elements: what MPI counts with

_communicators: list[Any] = []  # by the numbers that nodes name them by


def mpi() -> Any:
    """mpi4py's module, which starts MPI. Raises IradTypeError if there is none."""
    try:
        return import_later("mpi4py.MPI")
    except ImportError as e:
        raise IradTypeError(f"irad.mpi needs mpi4py and an MPI library ({e}): pip install 'irad[mpi]'") from None


def number_of(comm: Any) -> int:
    """The number of a communicator (mpi4py's; None: all processes). Raises IradTypeError if it is none."""
    module = mpi()
    comm = module.COMM_WORLD if comm is None else comm
    if not isinstance(comm, module.Comm):
        raise IradTypeError(f"comm is a communicator of mpi4py, not {type(comm).__name__}")
    if not _communicators:
        _communicators.append(module.COMM_WORLD)
    for k, known in enumerate(_communicators):
        if known == comm:
            return k
    _communicators.append(comm)
    return len(_communicators) - 1


def communicator(number: int) -> Any:
    """The communicator of that number."""
    if not _communicators:
        _communicators.append(mpi().COMM_WORLD)
    return _communicators[number]


# ---- meaning, types ----------------------------------------------------------------------------------------------------------


def run(name: str, x: np.ndarray, *, comm: int, size: int, reduction: str = "sum", root: int = 0) -> np.ndarray:
    """A collective of arrays through mpi4py, as the native code does it."""
    module, c = mpi(), communicator(comm)
    x = np.ascontiguousarray(x)
    shape = (size, *x.shape) if name == "mpi_allgather" else x.shape[1:] if name == "mpi_reduce_scatter" else x.shape
    out = np.zeros(shape, x.dtype)
    how = getattr(module, REDUCTIONS[reduction])
    if name == "mpi_allreduce":
        c.Allreduce(x, out, op=how)
    elif name == "mpi_reduce":
        c.Reduce(x, out if c.rank == root else None, op=how, root=root)
    elif name == "mpi_broadcast":
        out[...] = x
        c.Bcast(out, root=root)
    elif name == "mpi_allgather":
        c.Allgather(x, out)
    else:
        c.Reduce_scatter_block(x, out, op=how)
    return out


def _infer(name: str) -> Callable[..., tuple[Type, ...]]:
    def infer(x: Type, *held: Type, comm: int, size: int, keeps: Any = (), **more: Any) -> tuple[Type, ...]:
        if x.dtype not in DATATYPES or not x.static or x.size > MOST:
            raise type_error(f"{name} wants real numbers of known extents, at most {MOST} of them", x)
        if name == "mpi_reduce_scatter":
            if x.rank < 1 or x.shape[0] != size:
                raise type_error(f"reduce_scatter wants a part for each of {size} processes along axis 0", x)
            return (Type(x.dtype, x.shape[1:]),)
        return (Type(x.dtype, (size, *x.shape)) if name == "mpi_allgather" else x,)

    return infer


def _evaluated(name: str) -> Callable[..., Any]:
    return lambda x, *held, keeps=(), **attrs: run(name, np.asarray(x), **attrs)[()]


# ---- derivatives ---------------------------------------------------------------------------------------------------------------


def _only_sums(node: Any) -> None:
    if node.attrs.get("reduction", "sum") != "sum":
        raise IradTypeError(f"{node.op.name} of op={node.attrs['reduction']!r} has no derivative; allreduce has", node.loc)


def _linear(name: str, adjoint: str) -> None:
    """An op that is linear in its operand, whose adjoint is another one."""

    def vjp(ad: Any, node: Any, cts: Sequence[Any], adj: Any) -> None:
        _only_sums(node)
        adj.add(node.inputs[0], emitted(adjoint, cts[0], _attributes(node)))

    def jvp(ad: Any, node: Any, tan: Any) -> list[Any]:
        _only_sums(node)
        t = tan.get(node.inputs[0])
        return [None if t is None else emitted(name, t, _attributes(node))]

    MPI_OPS[name] = Raising(name, _infer(name), _evaluated(name), vjp, jvp, effects="io", linear=True, cost=100, extra={"collective": True},
                            doc=_DOCS[name])  # fmt: skip


def _attributes(node: Any) -> dict[str, Any]:
    return {k: v for k, v in node.attrs.items() if k != "keeps"}


def _vjp_allreduce(ad: Any, node: Any, cts: Sequence[Any], adj: Any) -> None:
    """The cotangent of a largest or smallest number: the processes that have it get equal shares of the sum of the cotangents."""
    x, ct = node.inputs[0], cts[0]
    attrs = {**_attributes(node), "reduction": "sum"}
    total = emitted("mpi_allreduce", ct, attrs)
    if node.attrs["reduction"] != "sum":
        hit, count = _hits(ad.need(x), ad.need(node.outputs[0]), attrs)
        total = select(hit, total / count, full(0.0, total))
    adj.add(x, total)


def _jvp_allreduce(ad: Any, node: Any, tan: Any) -> list[Any]:
    x = node.inputs[0]
    t = tan.get(x)
    if t is None:
        return [None]
    attrs = {**_attributes(node), "reduction": "sum"}
    if node.attrs["reduction"] == "sum":
        return [emitted("mpi_allreduce", t, attrs)]
    hit, count = _hits(x, node.outputs[0], attrs)
    return [emitted("mpi_allreduce", select(hit, t, full(0.0, t)), attrs) / count]


def _hits(x: Any, y: Any, attrs: dict[str, Any]) -> tuple[Any, Any]:
    """Where this process has the number that all got, and how many processes have it."""
    hit = eq(x, y)
    return hit, emitted("mpi_allreduce", cast_to(hit, x.type.dtype), attrs)


_DOCS = {
    "mpi_allreduce": "the sum (or largest, smallest) of all processes' operands, for all; `comm` is a number, of `size` processes",
    "mpi_reduce": "the same for process `root`; zeros for the others",
    "mpi_broadcast": "the operand of process `root`, for all",
    "mpi_allgather": "all operands, stacked along a new axis 0, for all",
    "mpi_reduce_scatter": "the sum of all operands along axis 0 cut into a part for each process",
}
MPI_OPS: dict[str, Op] = {}


def emitted(name: str, x: Value, attrs: dict[str, Any]) -> Value:
    """The result of a new node."""
    out: Value = MPI_OPS[name](x, **attrs)[0]
    return out


MPI_OPS["mpi_allreduce"] = Raising(
    "mpi_allreduce", _infer("mpi_allreduce"), _evaluated("mpi_allreduce"), _vjp_allreduce, _jvp_allreduce, effects="io", cost=100,
    extra={"collective": True}, doc=_DOCS["mpi_allreduce"],
)  # fmt: skip
_linear("mpi_reduce", "mpi_broadcast")
_linear("mpi_broadcast", "mpi_reduce")
_linear("mpi_allgather", "mpi_reduce_scatter")
_linear("mpi_reduce_scatter", "mpi_allgather")
