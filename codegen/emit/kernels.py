"""Kernel form (irad.codegen.kernel.form) to the text of an LLVM module.

No LLVM pass runs on the result, so what an optimiser would do is done here while emitting: hoisting and sharing
(emit_values), strength reduction of addresses (emit_memory), wide accumulators (emit_folds), loops (emit_control).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from irad.codegen.emit.control import Control
from irad.codegen.emit.folds import Rule
from irad.codegen.emit.functions import Functions
from irad.codegen.emit.index import Buf, Cell, Lin
from irad.codegen.emit.loops import deref_family
from irad.codegen.kernel.check import verify
from irad.codegen.kernel.form import (
    Aff,
    Apply,
    Assign,
    Begin,
    Buffer,
    Call,
    Combine,
    Const,
    Deref,
    Fold,
    For,
    If,
    Kernel,
    Let,
    Load,
    Operand,
    Parallel,
    Param,
    Part,
    Prefetch,
    Raise,
    Stmt,
    Store,
    Swap,
    Var,
    View,
    While,
    trips,
)
from irad.codegen.libraries.pool import PARALLEL
from irad.codegen.llvm_text import LLVM, MEMORY, Val, split_declared
from irad.codegen.math import rare as poly_rare
from irad.codegen.math.scalar import RULES
from irad.core.once import import_later
from irad.core.types import bits, is_float
from irad.errors import IradError, VerifyError
from irad.ops.core import HEAVY, cost_of

_AFFINE = {"add": 1, "sub": -1}
_CONTRACT = frozenset(("add", "sub", "mul", "szmul"))
_LINE = 64  # bytes of a cache line
LONG = 256  # weight of the statements in a basic block: 1, or FUNCTION for what costs HEAVY, which is some 20 instructions
FUNCTION = 16


def emit(
    kernels: Sequence[Kernel],
    *,
    vector_bits: int = 512,
    rules: Mapping[str, Rule] | None = None,
    support: Mapping[str, str] | None = None,
) -> str:
    """The text of one LLVM module with a function per kernel: `i64 @name(params...)`, 0 or the code of a `Raise`.

    `rules[op](builder, operands, dtype)` lowers an elementwise op; by default irad.codegen.math.scalar's. `vector_bits` is
    the widest register LLVM should use. `support`: LLVM text of functions that kernels may call, put into the module if one
    does: a module of their own would cost more than they do. Raises IradError (VerifyError, see irad.codegen.kernel.check) where a kernel breaks the
    rules of the kernel form.
    """
    rules = RULES if rules is None else rules
    support = support or {}
    names = frozenset(k.name for k in kernels)
    functions = Functions(kernels)
    declarations: dict[str, str] = {}
    outlined: set[str] = set()
    bodies = []
    for k in kernels:
        e = Emitter(dict(rules), names, functions)
        try:
            verify(k)
            bodies += [e.kernel(k), *e.tasks]
        except VerifyError:
            raise
        except IradError as error:
            raise IradError(f"kernel `{k.name}`: {error.message}", error.loc) from error
        declarations.update(e.declarations)
        outlined |= e.outlined
    for e in functions.made.values():
        declarations.update(e.declarations)
        outlined |= e.outlined
    bodies += functions.texts
    definitions, more = poly_rare.text(outlined)
    lines = [line for name in support if declarations.pop(name, None) for line in support[name].strip().splitlines()]
    supported, declared = split_declared(lines)
    declared |= {*more, *declarations.values()}
    attributes = f'attributes #0 = {{ nounwind "prefer-vector-width"="{vector_bits}" }}'
    return "\n".join([*bodies, *definitions, *supported, *sorted(declared), attributes, ""])


def _late_rule(op: str) -> Rule | None:
    """The rule of an op whose row is imported at first use."""
    return import_later("irad.codegen.math.scipy").rule(op) if op.startswith("special_") else None


class Emitter(Control):
    """One kernel."""

    def __init__(self, rules: dict[str, Rule], kernels: frozenset[str], functions: Functions) -> None:
        super().__init__(rules)
        self.kernels, self.functions = kernels, functions
        self.allocas: list[str] = []
        self.cold: list[str] = []
        self.pointer = ""  # a parameter that is an address
        self.cut = False  # has a long block been cut?
        self.freed: list[str] = []  # addresses of buffers whose memory goes back at the end
        self.tasks: list[str] = []
        self._statements: dict[type, Callable[[Any], None]] = {
            Let: self.let,
            Store: self.store_stmt,
            Combine: lambda s: self.combine(s.fold, s.values, s.idx, s.ordered),
            Assign: self.assign,
            Var: self.var,
            Fold: self.fold,
            For: self.for_stmt,
            If: self.if_stmt,
            While: self.while_loop,
            Raise: self.raise_stmt,
            Call: self.call,
            Parallel: self.parallel,
            Buffer: self.buffer,
            View: self.view,
            Deref: self.deref,
            Swap: self.swap,
            Prefetch: self.prefetch,
            Begin: lambda s: None,
        }

    # ---- a kernel ----

    def kernel(self, k: Kernel) -> str:
        params = ", ".join([self._param(p) for p in k.params])
        for p in k.params:
            if p.shape is not None:
                self.bufs[p.name] = Buf(
                    p.name, p.dtype, [self.lin(n) for n in p.shape], p.name, Val(f"%{p.name}", "ptr", 1, "ptr", 0)
                )
        self.pointer = next((f"%{p.name}" for p in k.params if p.shape is not None), "")
        self.block(k.body)
        assert len(self.scopes) == 1
        return self.function(f"i64 @{k.name}({params})", "i64 0")

    def function(self, head: str, result: str) -> str:
        """The text of what has been emitted, as a function."""
        scratch = [f" {name} = alloca [{size} x i8], align {_LINE}" for name, size in self.scratch.items()]
        always = [f" %always = icmp ne ptr {self.pointer}, null"] if self.cut else []
        if self.cut:
            self.cold += ["never:", f" ret {result}"]
        lines = [
            "entry:",
            *self.allocas,
            *scratch,
            *always,
            *self.scopes[0].lines,
            *self._freeing(),
            f" ret {result}",
            *self.cold,
        ]
        return "\n".join([f"define {head} #0 {{", *lines, "}", ""])

    def _param(self, p: Param) -> str:
        if p.shape is not None:
            return f"ptr %{p.name}"
        v = Val(f"%{p.name}", p.dtype, 1, MEMORY[p.dtype], 0)
        self.env[p.name] = self.op(f"icmp ne i8 {v.n}, 0", "bool", 1, "i1", 0) if p.dtype == "bool" else v
        return f"{v.ty} {v.n}"

    def block(self, body: Sequence[Stmt]) -> None:
        table = self._statements
        weight = 0
        for s in body:
            table[type(s)](s)
            if type(s) is Let:
                weight += FUNCTION if type(s.expr) is Apply and cost_of(s.expr.op) >= HEAVY else 1
                if weight >= LONG and self.pointer and not self.mixing:
                    self._cut()
                    weight = 0

    def _cut(self) -> None:
        """End a basic block, in a way that LLVM does not see through: its instruction selection is quadratic in the length of one.

        Every so many statements of a body, so that all copies of the body are cut, and its products and sums contracted, alike.
        """
        on = self.label()
        self.line(f" br i1 %always, label %{on}, label %never")
        self.start_block(on)
        self.cut = True

    # ---- operands and expressions ----

    def operand(self, x: Operand) -> Val:
        """The value of a name, a literal or an affine integer."""
        if isinstance(x, str):
            e = self.env.get(x)
            if isinstance(e, Val):
                return e
            if isinstance(e, Lin):
                return self.value_of(e)
            if type(e) is Cell:
                return e.vals[0]
            raise IradError(f"`{x}` is not a value in scope" + ("; read a fold by Part" if e is not None else ""))
        if isinstance(x, Const):
            return self.const(x.value, x.dtype)
        return self.value_of(self.lin(x))

    def let(self, s: Let) -> None:
        e = s.expr
        if isinstance(e, Apply):
            if s.dtype == "i64" and len(e.args) == 2:
                x = self._affine(e.op, e.args)
                if x is not None:
                    self.env[s.name] = x
                    return
            v = self._apply(e, s)
        elif isinstance(e, Load):
            v = self.load(e.buf, e.idx)
        elif isinstance(e, Part):
            v = self.part(e.fold, e.k, e.idx)
        else:
            v = self.linscan(e.var, e.k, e.x)
        if v.dtype != s.dtype:
            raise IradError(f"`{s.name}` is declared {s.dtype} but its value has dtype {v.dtype}")
        self.env[s.name] = v

    def _apply(self, e: Apply, s: Let) -> Val:
        rule = self.rules.get(e.op) or _late_rule(e.op)
        if rule is None:
            raise IradError(f"no rule to lower `{e.op}`")
        args = [self.operand(a) for a in e.args]
        if e.op in self.functions.often:
            return self.functions.call(self, e.op, args, s.dtype)
        if not (s.contract and e.op in _CONTRACT):
            return rule(self, args, s.dtype)
        self.flags = True
        v = self.onto(e.op, *args) if e.op in ("add", "sub") else None
        if v is None:
            v = rule(self, args, s.dtype)
        self.flags = False
        if e.op == "szmul" and s.dtype != "f16":
            self.products[v] = (args[0], args[1])
        return v

    def _affine(self, op: str, args: Sequence[Operand]) -> Lin | None:
        """i64 sums, differences and multiples of few terms stay linear forms: addresses see through them."""
        xs: list[Lin] = []
        for x in args:
            if isinstance(x, Const):
                xs.append(Lin(int(x.value), {}))
            elif isinstance(x, Aff):
                xs.append(self.lin(x))
            else:
                e = self.env.get(x)
                if type(e) is not Lin and not (type(e) is Val and e.dtype == "i64" and e.n[0] == "%"):
                    return None
                xs.append(e if isinstance(e, Lin) else Lin(0, {e: 1}))
        a, b = xs
        if op in _AFFINE:
            r = a.plus(b, _AFFINE[op])
        elif op == "mul" and not (a.t and b.t):
            r = a.times(b)
        else:
            return None
        small = len(r.t) <= 3 and all(abs(k) < 1 << 31 for k in (r.c, *r.t.values()))
        return r if small else None

    # ---- statements ----

    def store_stmt(self, s: Store) -> None:
        (self.store_add if s.add else self.store)(s.buf, s.idx, self.operand(s.value))

    def var(self, s: Var) -> None:
        v = self.operand(s.init)
        self._same_dtype(s.name, s.dtype, v)
        lanes = s.lanes if s.lanes > 1 else self.lanes
        self.env[s.name] = Cell((s.dtype,), lanes, [self.broadcast(v, lanes)])

    def assign(self, s: Assign) -> None:
        cell, v = self.env.get(s.name), self.operand(s.value)
        if type(cell) is not Cell:
            raise IradError(f"`{s.name}` is assigned but is not a variable in scope")
        self._same_dtype(s.name, cell.dtypes[0], v)
        if v.lanes > cell.lanes:
            raise IradError(
                f"variable `{s.name}` is declared outside of the vec loop that assigns it; its iterations carry only folds"
            )
        cell.vals = [self.broadcast(v, cell.lanes)]

    def _same_dtype(self, name: str, dtype: str, v: Val) -> None:
        if v.dtype != dtype:
            raise IradError(f"`{name}` has dtype {dtype} but gets a value of dtype {v.dtype}")

    def fold(self, s: Fold) -> None:
        self.env[s.name] = self.fold_cell(s)

    def for_stmt(self, s: For) -> None:
        if s.kind == "vec":
            self.vector_loop(s)
        elif s.kind == "unroll" or trips(s) == 1:
            self.unrolled(s)
        elif s.kind in ("seq", "par"):

            def body(i: Lin) -> None:
                self.env[s.var] = i
                self.block(s.body)

            self.counted(self.lin(s.lo), self.lin(s.hi), s.step, self.effects(s.body), body)
        else:
            raise IradError(f"loop `{s.var}` has kind {s.kind!r}; there are seq, par, unroll and vec")

    def if_stmt(self, s: If) -> None:
        changed = [self.effects(s.then), self.effects(s.orelse)]
        orelse = (lambda: self.block(s.orelse)) if s.orelse else None
        self.branch(self.operand(s.cond), changed, lambda: self.block(s.then), orelse)

    # ---- leaving the kernel ----

    def raise_stmt(self, s: Raise) -> None:
        cond, values = self.operand(s.cond), [self.operand(v) for v in s.values]
        c, pick = cond, ""
        if cond.lanes > 1:
            W = cond.lanes
            m = cond if self.mask is None else self.and_(cond, self.mask)
            lanes = self.here(f"bitcast <{W} x i1> {m.n} to i{W}", "ptr")
            c, pick = self.here(f"icmp ne i{W} {lanes.n}, 0", "bool"), lanes.n
        cold = self.label()
        self._leave(c, cold)
        self.cold.append(f"{cold}:")
        lane = self._first_lane(pick, cond.lanes) if pick else ""
        for k, v in enumerate(values):
            self._record(k, v, lane)
        self.cold += [*self._freeing(), f" ret i64 {s.code}"]

    def _leave(self, cond: Val, target: str) -> None:
        """Branch out of the kernel; no later load may move above this place."""
        on = self.label()
        self.line(f" br i1 {cond.n}, label %{target}, label %{on}")
        self.start_block(on)
        for k, sc in enumerate(self.scopes):
            sc.guard = k

    def _freeing(self) -> list[str]:
        """Before the kernel is left: memory that its buffers hold goes back."""
        lines = []
        for name in self.freed:
            self.count += 1
            self.declare("free", "void", "i64")
            lines += [f" %.{self.count} = load i64, ptr {name}, align 8", f" call void @free(i64 %.{self.count})"]
        return lines

    def _cold_op(self, rhs: str) -> str:
        self.count += 1
        self.cold.append(f" %.{self.count} = {rhs}")
        return f"%.{self.count}"

    def _first_lane(self, bitmap: str, W: int) -> str:
        self.declare(f"llvm.cttz.i{W}", f"i{W}", f"i{W}, i1")
        n = self._cold_op(f"call i{W} @llvm.cttz.i{W}(i{W} {bitmap}, i1 true)")
        return n if W == 32 else self._cold_op(f"{'zext' if W < 32 else 'trunc'} i{W} {n} to i32")

    def _record(self, k: int, v: Val, lane: str) -> None:
        """Store value k of an error, as i64 or as the bits of an f64."""
        error = self.buf("err")
        if error.dtype != "i64":
            raise IradError(f"the error record must be an i64 buffer, not {error.dtype}")
        n, ty = v.n, LLVM[v.dtype]
        if v.lanes > 1:
            n = self._cold_op(f"extractelement {v.ty} {n}, i32 {lane}" if lane else f"extractelement {v.ty} {n}, i32 0")
        if is_float(v.dtype) and v.dtype != "f64":
            n = self._cold_op(f"fpext {ty} {n} to double")
        elif not is_float(v.dtype) and bits(v.dtype) < 64:
            n = self._cold_op(f"{'sext' if v.dtype[0] == 'i' else 'zext'} {ty} {n} to i64")
        p = self._cold_op(f"getelementptr i64, ptr {error.vals[0].n}, i64 {k}")
        self.cold.append(f" store {'double' if is_float(v.dtype) else 'i64'} {n}, ptr {p}, align 8")

    def call(self, s: Call) -> None:
        args = [self._argument(a, ty) for a, ty in zip(s.args, s.signature[1:])]
        if len(s.args) != len(s.signature) - 1:
            raise IradError(f"call of {s.symbol}: {len(s.args)} arguments for signature {s.signature}")
        if s.symbol not in self.kernels:
            self.declare(s.symbol, s.signature[0], ", ".join(s.signature[1:]))
        text = f"call {s.signature[0]} @{s.symbol}({', '.join(args)})"
        for b in s.writes:
            self.written(self.buf(b).family)
        if s.signature[0] == "void":
            self.line(f" {text}")
            return
        dtype = s.dtype or "i64"
        if MEMORY[dtype] != s.signature[0]:
            raise IradError(f"call of {s.symbol}: the result of type {s.signature[0]} is bound as {dtype}")
        v = self.here(text, dtype) if dtype != "bool" else self.here(f"icmp ne i8 {self.here(text, 'u8').n}, 0", "bool")
        if s.name is not None:
            self.env[s.name] = v
        if s.check:
            failed, cold = self.here(f"icmp ne i64 {v.n}, 0", "bool"), self.label()
            self._leave(failed, cold)
            self.cold += [f"{cold}:", *self._freeing(), f" ret i64 {v.n}"]

    def _argument(self, a: Operand, ty: str) -> str:
        if type(a) is str and a in self.bufs:
            if ty != "ptr":
                raise IradError(f"buffer `{a}` is passed where {ty} is expected")
            return f"ptr {self.bufs[a].vals[0].n}"
        v = self.operand(a)
        if v.lanes > 1:
            raise IradError("an outside function cannot be called with a value per lane")
        if v.dtype == "bool" and ty == "i8":
            v = self.convert(v, "u8")
        if v.ty != ty:
            raise IradError(f"an argument of type {v.ty} is passed where {ty} is expected")
        return f"{ty} {v.n}"

    def parallel(self, s: Parallel) -> None:
        """The arguments go to a frame in this kernel's; `{kernel}_task` takes them from there in each thread."""
        types = ["ptr" if buffer else MEMORY[dtype] for dtype, buffer in s.types]
        args = [self._argument(a, ty) for a, ty in zip(s.args, types)]
        trips = self.uniform(self.lin(s.trips), "a trip count")
        self.count += 1
        frame = f"%.{self.count}"
        self.allocas.append(f" {frame} = alloca [{max(1, len(args))} x i64], align 8")
        for k, a in enumerate(args):
            slot = self.here(f"getelementptr i64, ptr {frame}, i64 {k}", "ptr").n
            self.line(f" store {a}, ptr {slot}, align 8")
        self.declare(PARALLEL, "i64", "ptr, ptr, i64, i64, i64")
        counts = f"i64 {trips.n}, i64 {s.chunk}, i64 {s.threads}"
        self.here(f"call i64 @{PARALLEL}(ptr @{s.kernel}_task, ptr {frame}, {counts})", "i64")
        for b in s.writes:
            self.written(self.buf(b).family)
        self.tasks.append(_task(s.kernel, types))

    # ---- memory ----

    def buffer(self, s: Buffer) -> None:
        self.count += 1
        name = f"%.{self.count}"
        self.allocas.append(f" {name} = alloca [{max(1, prod(s.shape))} x {MEMORY[s.dtype]}], align {_LINE}")
        if s.freed:
            self.freed.append(name)
        self.bufs[s.name] = Buf(s.name, s.dtype, [Lin(n, {}) for n in s.shape], s.name, Val(name, "ptr", 1, "ptr", 0))
        self.written(s.name)

    def view(self, s: View) -> None:
        base = self.buf(s.buf)
        dtype = s.dtype or base.dtype
        p = self.moved(base.vals[0], self.lin(s.offset), MEMORY[dtype])
        family = base.family if s.dtype is None else s.name
        self.bufs[s.name] = Buf(s.name, dtype, [self.lin(n) for n in s.shape], family, p)
        self.written(family)

    def deref(self, s: Deref) -> None:
        at = self.load(s.buf, (s.idx,))
        if at.dtype != "i64" or at.lanes > 1:
            raise IradError(f"`{s.name}`: an address is one element of an i64 buffer, the same for all lanes")
        p = self.cheap(f"inttoptr i64 {at.n} to ptr", "ptr", 1, "ptr", at.d)
        self.bufs[s.name] = Buf(s.name, s.dtype, [Lin(1, {})], deref_family(s), p)

    def swap(self, s: Swap) -> None:
        a, b = self.buf(s.a), self.buf(s.b)
        a.vals, b.vals = b.vals, a.vals
        self.written(a.family)
        self.written(b.family)

    def prefetch(self, s: Prefetch) -> None:
        """One line of cache after another, as far as the lanes reach; nothing for strided lanes but the first."""
        b = self.buf(s.buf)
        p, lane = self.address(b, s.idx)
        self.declare("llvm.prefetch.p0", "void", "ptr, i32, i32, i32")
        reach = self.lanes * bits(b.dtype) // 8 if lane == 1 and type(lane) is int else 1
        for o in range(0, reach, _LINE):
            q = p if o == 0 else self.offset(p, o, "i8")
            self.line(f" call void @llvm.prefetch.p0(ptr {q.n}, i32 0, i32 3, i32 1)")


def _task(kernel: str, types: Sequence[str]) -> str:
    """The function that a thread runs for a chunk of a parallel loop."""
    lines, args = [], []
    for k, ty in enumerate(types):
        lines += [f" %q{k} = getelementptr i64, ptr %frame, i64 {k}", f" %a{k} = load {ty}, ptr %q{k}"]
        args.append(f"{ty} %a{k}")
    lines.append(f" %s = call i64 @{kernel}({', '.join([*args, 'i64 %from', 'i64 %to'])})")
    return "\n".join([f"define internal void @{kernel}_task(ptr %frame, i64 %from, i64 %to) {{", *lines, " ret void", "}", ""])
