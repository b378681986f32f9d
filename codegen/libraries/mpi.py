"""The MPI library that mpi4py is linked to: where its functions are, and how compiled code calls them.

Compiled code calls a function of its own for each kind of collective. What MPI calls handles (communicators, types of data,
reductions) are addresses in some libraries and numbers in others; either way they come in as imported symbols, by name, so
that machine code kept on disk holds none of this process.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

from irad.core.once import import_later, once

PREFIX = "irad_mpi_"  # of what compiled code calls, and of handles
FUNCTIONS = {"allreduce": "MPI_Allreduce", "reduce": "MPI_Reduce", "broadcast": "MPI_Bcast", "allgather": "MPI_Allgather",
             "reduce_scatter": "MPI_Reduce_scatter_block"}  # fmt: skip
_DECLARED = {
    "MPI_Allreduce": "declare i32 @MPI_Allreduce(ptr, ptr, i32, ptr, ptr, ptr)",
    "MPI_Reduce": "declare i32 @MPI_Reduce(ptr, ptr, i32, ptr, ptr, i32, ptr)",
    "MPI_Bcast": "declare i32 @MPI_Bcast(ptr, i32, ptr, i32, ptr)",
    "MPI_Allgather": "declare i32 @MPI_Allgather(ptr, i32, ptr, ptr, i32, ptr, ptr)",
    "MPI_Reduce_scatter_block": "declare i32 @MPI_Reduce_scatter_block(ptr, ptr, i32, ptr, ptr, ptr)",
}
_BODIES = {  # %in, %out, %n elements of the smaller one, %bytes of %out, %root
    "allreduce": ["%e = call i32 @MPI_Allreduce(ptr %in, ptr %out, i32 %n, ptr {dtype}, ptr {op}, ptr {comm})"],
    "reduce": ["call void @llvm.memset.p0.i64(ptr %out, i8 0, i64 %bytes, i1 false)",
               "%e = call i32 @MPI_Reduce(ptr %in, ptr %out, i32 %n, ptr {dtype}, ptr {op}, i32 %root, ptr {comm})"],
    "broadcast": ["call void @llvm.memmove.p0.p0.i64(ptr %out, ptr %in, i64 %bytes, i1 false)",
                  "%e = call i32 @MPI_Bcast(ptr %out, i32 %n, ptr {dtype}, i32 %root, ptr {comm})"],
    "allgather": ["%e = call i32 @MPI_Allgather(ptr %in, i32 %n, ptr {dtype}, ptr %out, i32 %n, ptr {dtype}, ptr {comm})"],
    "reduce_scatter": ["%e = call i32 @MPI_Reduce_scatter_block(ptr %in, ptr %out, i32 %n, ptr {dtype}, ptr {op}, ptr {comm})"],
}  # fmt: skip


def symbol(kind: str, dtype: str, op: str, comm: int) -> str:
    """The function for a collective; it takes addresses of operand and result, elements, bytes of the result, root."""
    return f"{PREFIX}{kind}.{dtype}.{op}.{comm}"


def _handles(dtype: str, op: str, comm: str) -> dict[str, str]:
    """The names of the symbols whose addresses are the handles."""
    return {"dtype": f"{PREFIX}type.{dtype}", "op": f"{PREFIX}op.{op}", "comm": f"{PREFIX}comm.{comm}"}


def support(called: Iterable[str]) -> dict[str, str]:
    """LLVM text of these functions; all of it goes with the first."""
    names = sorted(called)
    lines, outside, declared = [], set(), set()
    for name in names:
        kind, *rest = name.removeprefix(PREFIX).split(".")
        handles = _handles(*rest)
        body = [b.format(**{k: f'@"{h}"' for k, h in handles.items()}) for b in _BODIES[kind]]
        outside |= {h for h in handles.values() if any(f'@"{h}"' in b for b in body)}
        declared |= {_DECLARED[FUNCTIONS[kind]], *(_LLVM[f] for f in _LLVM if any(f in b for b in body))}
        head = f'define internal i64 @"{name}"(ptr %in, ptr %out, i32 %n, i64 %bytes, i32 %root) {{'
        lines += [head, *(f"  {b}" for b in body), "  %status = sext i32 %e to i64", "  ret i64 %status", "}"]
    given = [f'@"{h}" = external global i8' for h in sorted(outside)]
    text = "\n".join([*given, *sorted(declared), *lines])
    return {name: text if name == names[0] else "" for name in names}


_LLVM = {
    "llvm.memset": "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    "llvm.memmove": "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)",
}


def symbols(called: Iterable[str]) -> dict[str, int]:
    """What the text of these functions takes from outside, with addresses and handles."""
    names = set()
    for name in called:
        kind, *rest = name.removeprefix(PREFIX).split(".")
        handles = _handles(*rest)
        names |= {FUNCTIONS[kind], *(handles[k] for k in handles if any(f"{{{k}}}" in b for b in _BODIES[kind]))}
    return {n: address(n) for n in names}


def address(name: str) -> int:
    """A function of the library, or a handle. Raises KeyError if there is none of that name."""
    ops = import_later("irad.ops.mpi")
    if name.startswith("MPI_"):
        found = ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value
        if found is None:
            raise KeyError(name)
        return found
    module, (kind, which) = ops.mpi(), name.removeprefix(PREFIX).split(".")
    if kind == "comm":
        return int(module._handleof(ops.communicator(int(which))))
    return int(module._handleof(getattr(module, ops.DATATYPES[which] if kind == "type" else ops.REDUCTIONS[which])))


@once
def _library() -> ctypes.CDLL:
    """mpi4py's module, through which the functions of the library that it is linked to are found."""
    return ctypes.CDLL(import_later("irad.ops.mpi").mpi().__file__)
