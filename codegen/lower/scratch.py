"""Working memory of an opaque op: in the kernel's frame where it is small, else from the C library and given back.

Opaque ops (sorting, LAPACK) need memory beside their operands and results. It is private to one run of the op, so what
runs at the same time in other threads does not share it.
"""

from __future__ import annotations

import ctypes

from irad.codegen.interface import ErrorCode
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, integer
from irad.codegen.lower.graph import Address, KernelBuilder

SMALL = 4096  # bytes that may lie in the entry's frame; a called function, which may recurse, keeps less
SMALL_CALLED = 64


class Scratch:
    """The working memory of one op; `free` emits the statements that give it back."""

    def __init__(self, f: KernelBuilder):
        self.f = f
        self._blocks: list[str] = []

    def array(self, dtype: str, count: kf.Index, hint: str = "work") -> str:
        """The name of a buffer of `count` elements, declared in the current block."""
        f = self.f
        name, size = f.fresh(hint), integer(count)
        limit = SMALL if f.entry else SMALL_CALLED
        if isinstance(size, int) and size * f.itemsize(dtype) <= limit:
            f.head.append(kf.Buffer(name, dtype, (max(size, 1),)))
            f.begin_at(Address(name), max(size, 1))
            return name
        address, slot = f.fresh("address"), f.fresh("slot")
        f.head.append(kf.Buffer(slot, "i64", (1,)))
        f.out.symbols.update({s: address_of(s) for s in ("malloc", "free")})
        bytes_ = f.let(Apply("cast", (size * f.itemsize(dtype) + 64,)), "i64", "bytes")
        f.block += [
            kf.Call("malloc", (bytes_,), ("i64", "i64"), address, "i64"),
            kf.Store(slot, (0,), address),
            kf.Deref(name, slot, 0, dtype, size if f.out.lives else None),
        ]
        none = f.let(Apply("eq", (address, Const(0, "i64"))), "bool")
        f.out.raises.append(ErrorCode("MemoryError", "no memory for the working space of an operation", (), None))
        f.block.append(kf.Raise(none, len(f.out.raises)))
        f.begin_at(Address(name), size)
        self._blocks.append(address)
        return name

    def free(self) -> None:
        """Give the memory back: in the current block, before anything is raised."""
        self.f.block += [kf.Call("free", (a,), ("void", "i64")) for a in self._blocks]
        self._blocks = []


def address_of(name: str) -> int:
    """Where a function of the C library is in this process."""
    found = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    assert found is not None
    return found
