"""The text of one function: its blocks, what stands before them, and the blocks outside in which it is left."""

from __future__ import annotations

from irad.codegen.llvm_text import Val
from irad.codegen.math.values import Values

LINE = 64  # bytes of a cache line


class OpenFunction:
    """A function that is being written. `pointer`: a parameter that is an address and not null, if there is one."""

    def __init__(self) -> None:
        self.b = Values()
        self.allocas: list[str] = []
        self.cold: list[str] = []
        self.freed: list[str] = []  # addresses of buffers whose memory goes back at the end
        self.pointer = ""
        self.is_cut = False  # has a long block been cut?

    def room(self, size: int, ty: str, align: int) -> str:
        """The address of memory for so many elements, on the stack."""
        self.b.count += 1
        name = f"%.{self.b.count}"
        self.allocas.append(f" {name} = alloca [{max(1, size)} x {ty}], align {align}")
        return name

    def leave(self, cond: Val, target: str) -> None:
        """Branch out of the kernel; no later load may move above this place."""
        on = self.b.label()
        self.b.line(f" br i1 {cond.n}, label %{target}, label %{on}")
        self.b.start_block(on)
        for k, sc in enumerate(self.b.scopes):
            sc.guard = k

    def freeing(self) -> list[str]:
        """The lines that give back the memory of the kernel's buffers, before it is left."""
        lines = []
        for name in self.freed:
            self.b.count += 1
            self.b.declare("free", "void", "i64")
            lines += [f" %.{self.b.count} = load i64, ptr {name}, align 8", f" call void @free(i64 %.{self.b.count})"]
        return lines

    def cold_op(self, rhs: str) -> str:
        """An operation in the block outside that is being written."""
        self.b.count += 1
        self.cold.append(f" %.{self.b.count} = {rhs}")
        return f"%.{self.b.count}"

    def cut(self) -> None:
        """End a basic block, in a way that LLVM does not see through: its instruction selection is quadratic in the length of one.

        Every so many statements of a body, so that all copies of the body are cut, and its products and sums contracted, alike.
        """
        on = self.b.label()
        self.b.line(f" br i1 %always, label %{on}, label %never")
        self.b.start_block(on)
        self.is_cut = True

    def text(self, head: str, result: str) -> str:
        """All of it."""
        scratch = [f" {name} = alloca [{size} x i8], align {LINE}" for name, size in self.b.scratch.items()]
        always = [f" %always = icmp ne ptr {self.pointer}, null"] if self.is_cut else []
        if self.is_cut:
            self.cold += ["never:", f" ret {result}"]
        lines = [
            "entry:",
            *self.allocas,
            *scratch,
            *always,
            *self.b.scopes[0].lines,
            *self.freeing(),
            f" ret {result}",
            *self.cold,
        ]
        return "\n".join([f"define {head} #0 {{", *lines, "}", ""])
