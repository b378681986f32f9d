"""Raising, calls of functions, and loops that other threads share."""

from __future__ import annotations

from collections.abc import Sequence

from irad.codegen.emit.function import OpenFunction
from irad.codegen.emit.index import Names
from irad.codegen.emit.memory import Memory
from irad.codegen.kernel.form import Call, Operand, Parallel, Raise
from irad.codegen.libraries.pool import PARALLEL
from irad.codegen.llvm_text import LLVM, MEMORY, Val
from irad.core.types import bits, is_float
from irad.errors import IradError


class Calls:
    """What leaves the kernel. `kernels`: the functions of the module."""

    def __init__(self, function: OpenFunction, names: Names, memory: Memory, kernels: frozenset[str]) -> None:
        self.b, self.function, self.names, self.memory, self.kernels = function.b, function, names, memory, kernels
        self.tasks: list[str] = []

    def raise_(self, s: Raise) -> None:
        """Leave the kernel where the condition holds, the values in the error record."""
        cond, values = self.names.operand(s.cond), [self.names.operand(v) for v in s.values]
        c, pick = cond, ""
        if cond.lanes > 1:
            W = cond.lanes
            m = cond if self.b.mask is None else self.b.and_(cond, self.b.mask)
            lanes = self.b.here(f"bitcast <{W} x i1> {m.n} to i{W}", "ptr")
            c, pick = self.b.here(f"icmp ne i{W} {lanes.n}, 0", "bool"), lanes.n
        cold = self.b.label()
        self.function.leave(c, cold)
        self.function.cold.append(f"{cold}:")
        lane = self._first_lane(pick, cond.lanes) if pick else ""
        for k, v in enumerate(values):
            self._record(k, v, lane)
        self.function.cold += [*self.function.freeing(), f" ret i64 {s.code}"]

    def _first_lane(self, bitmap: str, W: int) -> str:
        self.b.declare(f"llvm.cttz.i{W}", f"i{W}", f"i{W}, i1")
        n = self.function.cold_op(f"call i{W} @llvm.cttz.i{W}(i{W} {bitmap}, i1 true)")
        return n if W == 32 else self.function.cold_op(f"{'zext' if W < 32 else 'trunc'} i{W} {n} to i32")

    def _record(self, k: int, v: Val, lane: str) -> None:
        """Store value k of an error, as i64 or as the bits of an f64."""
        error = self.names.buf("err")
        if error.dtype != "i64":
            raise IradError(f"the error record must be an i64 buffer, not {error.dtype}")
        n, ty = v.n, LLVM[v.dtype]
        if v.lanes > 1:
            n = self.function.cold_op(f"extractelement {v.ty} {n}, i32 {lane}" if lane else f"extractelement {v.ty} {n}, i32 0")
        if is_float(v.dtype) and v.dtype != "f64":
            n = self.function.cold_op(f"fpext {ty} {n} to double")
        elif not is_float(v.dtype) and bits(v.dtype) < 64:
            n = self.function.cold_op(f"{'sext' if v.dtype[0] == 'i' else 'zext'} {ty} {n} to i64")
        p = self.function.cold_op(f"getelementptr i64, ptr {error.vals[0].n}, i64 {k}")
        self.function.cold.append(f" store {'double' if is_float(v.dtype) else 'i64'} {n}, ptr {p}, align 8")

    def call(self, s: Call) -> None:
        """A function of outside, or another kernel."""
        args = [self._argument(a, ty) for a, ty in zip(s.args, s.signature[1:])]
        if len(s.args) != len(s.signature) - 1:
            raise IradError(f"call of {s.symbol}: {len(s.args)} arguments for signature {s.signature}")
        if s.symbol not in self.kernels:
            self.b.declare(s.symbol, s.signature[0], ", ".join(s.signature[1:]))
        text = f"call {s.signature[0]} @{s.symbol}({', '.join(args)})"
        for b in s.writes:
            self.memory.written(self.names.buf(b).family)
        if s.signature[0] == "void":
            self.b.line(f" {text}")
            return
        dtype = s.dtype or "i64"
        if MEMORY[dtype] != s.signature[0]:
            raise IradError(f"call of {s.symbol}: the result of type {s.signature[0]} is bound as {dtype}")
        v = self.b.here(text, dtype) if dtype != "bool" else self.b.here(f"icmp ne i8 {self.b.here(text, 'u8').n}, 0", "bool")
        if s.name is not None:
            self.names.env[s.name] = v
        if s.check:
            failed, cold = self.b.here(f"icmp ne i64 {v.n}, 0", "bool"), self.b.label()
            self.function.leave(failed, cold)
            self.function.cold += [f"{cold}:", *self.function.freeing(), f" ret i64 {v.n}"]

    def _argument(self, a: Operand, ty: str) -> str:
        if type(a) is str and a in self.names.bufs:
            if ty != "ptr":
                raise IradError(f"buffer `{a}` is passed where {ty} is expected")
            return f"ptr {self.names.bufs[a].vals[0].n}"
        v = self.names.operand(a)
        if v.lanes > 1:
            raise IradError("an outside function cannot be called with a value per lane")
        if v.dtype == "bool" and ty == "i8":
            v = self.b.convert(v, "u8")
        if v.ty != ty:
            raise IradError(f"an argument of type {v.ty} is passed where {ty} is expected")
        return f"{ty} {v.n}"

    def parallel(self, s: Parallel) -> None:
        """The arguments go to a frame in this kernel's; `{kernel}_task` takes them from there in each thread."""
        types = ["ptr" if buffer else MEMORY[dtype] for dtype, buffer in s.types]
        args = [self._argument(a, ty) for a, ty in zip(s.args, types)]
        trips = self.names.uniform(self.names.lin(s.trips), "a trip count")
        frame = self.function.room(len(args), "i64", 8)
        for k, a in enumerate(args):
            slot = self.b.here(f"getelementptr i64, ptr {frame}, i64 {k}", "ptr").n
            self.b.line(f" store {a}, ptr {slot}, align 8")
        self.b.declare(PARALLEL, "i64", "ptr, ptr, i64, i64, i64")
        counts = f"i64 {trips.n}, i64 {s.chunk}, i64 {s.threads}"
        self.b.here(f"call i64 @{PARALLEL}(ptr @{s.kernel}_task, ptr {frame}, {counts})", "i64")
        for b in s.writes:
            self.memory.written(self.names.buf(b).family)
        self.tasks.append(_task(s.kernel, types))


def _task(kernel: str, types: Sequence[str]) -> str:
    """The function that a thread runs for a chunk of a parallel loop."""
    lines, args = [], []
    for k, ty in enumerate(types):
        lines += [f" %q{k} = getelementptr i64, ptr %frame, i64 {k}", f" %a{k} = load {ty}, ptr %q{k}"]
        args.append(f"{ty} %a{k}")
    lines.append(f" %s = call i64 @{kernel}({', '.join([*args, 'i64 %from', 'i64 %to'])})")
    return "\n".join([f"define internal void @{kernel}_task(ptr %frame, i64 %from, i64 %to) {{", *lines, " ret void", "}", ""])
