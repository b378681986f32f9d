"""Lowering of MPI's collectives: calls of the MPI library, by functions of a few lines (irad.codegen.libraries.mpi)."""

from __future__ import annotations

from irad.codegen.interface import ErrorCode
from irad.codegen.kernel.form import Apply, Call, Const, Let
from irad.codegen.lower.control import leave
from irad.codegen.lower.graph import KernelBuilder, rule
from irad.codegen.lower.host import placed
from irad.core.ir import Node
from irad.core.once import import_later
from irad.errors import UnsupportedError
from irad.ops.core import kept


@rule("mpi_allreduce", "mpi_reduce", "mpi_broadcast", "mpi_allgather", "mpi_reduce_scatter")
def _collective(f: KernelBuilder, node: Node) -> None:
    kind, x, (y,), attrs = node.op.name.removeprefix("mpi_"), node.inputs[0], node.outputs, node.attrs
    if not f.out.outside.python:
        raise UnsupportedError("exported code has no MPI library: reduce in the program that calls it", node.loc)
    name = import_later("irad.codegen.libraries.mpi").symbol(kind, x.type.dtype, attrs.get("reduction", "sum"), attrs["comm"])
    given, result = placed(f, x, store=True), placed(f, y, store=False)
    status, failed = f.fresh("status"), f.fresh("failed")
    count = min(x.type.size, y.type.size)
    numbers = (Const(count, "i32"), Const(y.type.size * y.type.numpy.itemsize, "i64"), Const(attrs.get("root", 0), "i32"))
    f.block += [
        Call(name, (given, result, *numbers), ("i64", "ptr", "ptr", "i32", "i64", "i32"), status, "i64", writes=(result,)),
        Let(failed, "bool", Apply("ne", (status, Const(0, "i64")))),
    ]
    raised = ErrorCode("RuntimeError", f"MPI: {kind} failed with error {{}}", ("i64",), node.loc)
    leave(f, failed, raised, kept(node), (status,))
    f.take_scalar(y, result)
