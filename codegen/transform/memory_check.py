"""Kernels that check their memory: fills, bounds and guard zones, as statements of the kernel form.

- Where the life of memory begins (`Begin`, and each scratch buffer), it is filled with a pattern (`POISON`): a NaN in floats of
  every width, an unlikely number in integers, neither of both in bools.
- Each load and store whose indices the ranges of the loops do not keep within its buffer is checked as it runs.
- Scratch buffers have a guard zone before and after them, which is looked at when their block ends.

A violation leaves the kernel before the access, by a `Raise` of its own whose number is the first word of the error record and
whose index the second. Kernels of parallel loops leave it there for the kernel that started them.

Runs after all other passes on kernels, so what is checked is what runs. `unproven` says how many accesses needed a check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from irad.codegen import llvm_files
from irad.codegen.interface import ERROR_SLOTS, ErrorCode
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, integer
from irad.codegen.kernel.independence import interval, span_of
from irad.codegen.kernel.show import show
from irad.codegen.lower.graph import Lowered
from irad.core.affine import Integer, Interval
from irad.core.lazy_dataclass import dataclass, field, replace
from irad.core.types import DTYPES
from irad.errors import MemoryCheckError

GUARD = 64  # bytes of a guard zone
POISON = 0x7FFB  # of each two bytes
FILL, INTACT = "irad_poison", "irad_intact"

_ROOM = """ok:
  %had = shl i64 %cap, 3
  %rest = sub i64 %bytes, %had
  %start = getelementptr i8, ptr %new, i64 %had
  call void @irad_poison_tape(ptr %start, i64 %rest)
"""


def support() -> dict[str, str]:
    """The text of the functions that checked kernels call."""
    return {FILL: llvm_files.read("transform", "poison"), INTACT: llvm_files.read("transform", "intact")}


def filling(grow: str) -> str:
    """The text of the function that makes room on a tape, filling what it adds."""
    return grow.replace("ok:\n", _ROOM) + support()[FILL].replace(f"@{FILL}(", "@irad_poison_tape(")


@dataclass
class Violation(ErrorCode):
    """Stands for an access that a kernel may not make."""

    def error(self, index: int) -> MemoryCheckError:
        return MemoryCheckError(self.message.format(index))


@dataclass
class Elsewhere(ErrorCode):
    """Stands for a violation in a thread: the error record says which."""


@dataclass
class Accesses:
    """How many accesses there are, and those that the ranges of the loops do not prove: kernel, statement, buffer."""

    total: int = 0
    unproven: list[tuple[str, str, str]] = field(default_factory=list)


def memory_checked(kernels: Sequence[kf.Kernel], lowered: Lowered) -> tuple[list[kf.Kernel], Accesses]:
    """The kernels with fills and checks; what they may raise is added to `lowered`."""
    found = Accesses()
    shared = {s.kernel for k in kernels for s in kf.walk(k.body) if isinstance(s, kf.Parallel)}
    given = {k.name for k in kernels if not any(p.name == "err" for p in k.params)}
    out = []
    for k in kernels:
        first = k is kernels[0]
        if k.name in given:
            at = len(k.params) - 2 * (k.name in shared)  # the last two are the range of iterations
            k = replace(k, params=[*k.params[:at], kf.Param("err", "i64", (ERROR_SLOTS,)), *k.params[at:]])
        out.append(_Checker(k, lowered, found, given).run(first))
    return out, found


class _Checker:
    """One kernel."""

    def __init__(self, kernel: kf.Kernel, lowered: Lowered, found: Accesses, given: set[str]):
        self.kernel, self.lowered, self.found = kernel, lowered, found
        self.given = given  # kernels that are given the error record
        self.count = 0
        self.extents: dict[str, tuple[kf.Index, ...]] = {p.name: p.shape for p in kernel.params if p.shape is not None}
        if "ctx" in self.extents:
            self.extents["ctx"] = (len(lowered.ctx) + 1,)
        self.dtypes: dict[str, str] = {p.name: p.dtype for p in kernel.params}
        self.table: dict[type, Callable[[Any, Mapping[str, Interval]], list[kf.Stmt]]] = {
            kf.Let: self.let, kf.Store: self.store, kf.Buffer: self.buffer, kf.View: self.view, kf.Deref: self.deref,
            kf.Begin: self.begin, kf.For: self.loop, kf.If: self.inside, kf.While: self.inside, kf.Parallel: self.parallel,
            kf.Call: self.call,
        }  # fmt: skip

    def run(self, first: bool) -> kf.Kernel:
        body = self.block(self.kernel.body, {})
        if first:
            body = [*(kf.Store("err", (k,), Const(0, "i64")) for k in range(2)), *body]
        return replace(self.kernel, body=body)

    def name(self, hint: str) -> str:
        self.count += 1
        return f"check_{hint}_{self.count}"

    def block(self, body: Sequence[kf.Stmt], ranges: Mapping[str, Interval]) -> list[kf.Stmt]:
        out: list[kf.Stmt] = []
        for s in body:
            rule = self.table.get(type(s))
            out += rule(s, ranges) if rule else [s]
        for s in body:
            if isinstance(s, kf.Buffer) and not s.freed:
                out += self.intact(s)
        return out

    # ---- accesses ----

    def let(self, s: kf.Let, ranges: Mapping[str, Interval]) -> list[kf.Stmt]:
        if isinstance(s.expr, kf.Load):
            return [*self.within(s, s.expr.buf, s.expr.idx, ranges), s]
        return [s]

    def store(self, s: kf.Store, ranges: Mapping[str, Interval]) -> list[kf.Stmt]:
        return [*self.within(s, s.buf, s.idx, ranges), s]

    def within(self, s: kf.Stmt, buf: str, idx: Sequence[kf.Index], ranges: Mapping[str, Interval]) -> list[kf.Stmt]:
        """Statements that leave the kernel where an index is outside of the buffer; none where that cannot be."""
        self.found.total += 1
        out: list[kf.Stmt] = []
        for i, n in zip(idx, self.extents.get(buf, ())):
            lo, hi = interval(integer(i), ranges)
            below = lo < 0
            above = not interval(integer(i) - integer(n), ranges)[1] < 0
            if below or above:
                out += self.check(s, buf, integer(i), below, integer(n) if above else None)
        if out:
            self.found.unproven.append((self.kernel.name, self.text(s), buf))
        return out

    def check(self, s: kf.Stmt, buf: str, i: Integer, below: bool, n: Integer | None) -> list[kf.Stmt]:
        out: list[kf.Stmt] = []
        conds = [("lt", Const(0, "i64"))] * below + ([("ge", n)] if n is not None else [])
        size = "" if n is None else f" of {n} elements"
        message = f"kernel `{self.kernel.name}`: index {{}} is outside of buffer `{buf}`{size}, in `{self.text(s)}`"
        code = self.violation(message)
        for op, bound in conds:
            cond = self.name("bounds")
            out += [kf.Let(cond, "bool", Apply(op, (i, bound))), kf.Raise(cond, code, (Const(code, "i64"), i))]
        return out

    def violation(self, message: str) -> int:
        self.lowered.raises.append(Violation("", message.replace("{", "{{").replace("}", "}}").replace("{{}}", "{}"), (), None))
        return len(self.lowered.raises)

    def text(self, s: kf.Stmt) -> str:
        return show(kf.Kernel("f", [], [s])).splitlines()[1].strip()

    # ---- memory ----

    def buffer(self, s: kf.Buffer, ranges: Mapping[str, Interval]) -> list[kf.Stmt]:
        self.extents[s.name], self.dtypes[s.name] = s.shape, s.dtype
        if s.freed:
            return [s]
        size, item = prod(s.shape), DTYPES[s.dtype].itemsize
        whole, g = f"{s.name}_guarded", GUARD // item
        return [
            kf.Buffer(whole, s.dtype, (size + 2 * g,)),
            self.fill(whole, integer(size * item + 2 * GUARD)),
            kf.View(s.name, whole, s.shape, g),
        ]

    def intact(self, s: kf.Buffer) -> list[kf.Stmt]:
        """The guard zones of a buffer are as they were."""
        out: list[kf.Stmt] = []
        end = GUARD + prod(s.shape) * DTYPES[s.dtype].itemsize
        code = self.violation(f"kernel `{self.kernel.name}`: memory before or after buffer `{s.name}` was overwritten")
        for start in (0, end):
            status, cond = self.name("status"), self.name("changed")
            args = (f"{s.name}_guarded", Const(start, "i64"), Const(start + GUARD, "i64"))
            out += [
                kf.Call(INTACT, args, ("i64", "ptr", "i64", "i64"), status, "i64"),
                kf.Let(cond, "bool", Apply("ne", (status, Const(0, "i64")))),
                kf.Raise(cond, code, (Const(code, "i64"), Const(0, "i64"))),
            ]
        return out

    def fill(self, buf: str, bytes_: Integer) -> kf.Stmt:
        return kf.Call(FILL, (buf, bytes_), ("void", "ptr", "i64"), writes=(buf,))

    def begin(self, s: kf.Begin, ranges: Mapping[str, Interval]) -> list[kf.Stmt]:
        size = integer(s.size) * DTYPES[self.dtypes[s.buf]].itemsize
        (at,) = s.idx
        if at == 0:
            return [self.fill(s.buf, size)]
        view = self.name("begin")
        return [kf.View(view, s.buf, (s.size,), at), self.fill(view, size)]

    def view(self, s: kf.View, ranges: Mapping[str, Interval]) -> list[kf.Stmt]:
        self.extents[s.name], self.dtypes[s.name] = s.shape, s.dtype or self.dtypes[s.buf]
        return [s]

    def deref(self, s: kf.Deref, ranges: Mapping[str, Interval]) -> list[kf.Stmt]:
        self.dtypes[s.name] = s.dtype
        if s.size is not None:
            self.extents[s.name] = (s.size,)
        return [s]

    # ---- blocks ----

    def loop(self, s: kf.For, ranges: Mapping[str, Interval]) -> list[kf.Stmt]:
        return self.inside(s, {**ranges, s.var: span_of(s, ranges)})

    def inside(self, s: kf.Stmt, ranges: Mapping[str, Interval]) -> list[kf.Stmt]:
        return [kf.with_blocks(s, lambda block: self.block(block, ranges))]

    def parallel(self, s: kf.Parallel, ranges: Mapping[str, Interval]) -> list[kf.Stmt]:
        return self.elsewhere(replace(s, args=(*s.args, "err"), types=(*s.types, ("i64", True)), writes=(*s.writes, "err")))

    def call(self, s: kf.Call, ranges: Mapping[str, Interval]) -> list[kf.Stmt]:
        if s.symbol not in self.given:
            return [s]
        return self.elsewhere(replace(s, args=(*s.args, "err"), signature=(*s.signature, "ptr"), writes=(*s.writes, "err")))

    def elsewhere(self, s: kf.Stmt) -> list[kf.Stmt]:
        """A kernel that was given the error record has run: was there a violation in it?"""
        self.lowered.raises.append(Elsewhere("", "", (), None))
        number, cond = self.name("code"), self.name("failed")
        return [
            s,
            kf.Let(number, "i64", kf.Load("err", (0,))),
            kf.Let(cond, "bool", Apply("ne", (number, Const(0, "i64")))),
            kf.Raise(cond, len(self.lowered.raises)),
        ]
