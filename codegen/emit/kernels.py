"""Kernel form (irad.codegen.kernel.form) to the text of an LLVM module.

No LLVM pass runs on the result, so what an optimiser would do is done here while emitting: hoisting and sharing
(values), strength reduction of addresses (index, memory), wide accumulators (folds), loops (control, vectors).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from irad.codegen.emit.across import Across
from irad.codegen.emit.calls import Calls
from irad.codegen.emit.control import Control
from irad.codegen.emit.effects import Effects
from irad.codegen.emit.folds import Folds, Rule
from irad.codegen.emit.function import LINE, OpenFunction
from irad.codegen.emit.functions import SharedFunctions
from irad.codegen.emit.index import Buf, Cell, Names
from irad.codegen.emit.memory import Memory
from irad.codegen.emit.vectors import Vectors
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.check import verify
from irad.codegen.llvm_text import MEMORY, Val, split_declared
from irad.codegen.math import rare as poly_rare
from irad.codegen.math.scalar import RULES
from irad.core.affine import Affine, Integer, applied, constant, symbol, terms
from irad.core.once import import_later
from irad.core.types import bits
from irad.errors import IradError, VerifyError
from irad.ops.core import HEAVY, cost_of

_CONTRACT = frozenset(("add", "sub", "mul", "szmul"))
LONG = 256  # weight of the statements in a basic block: 1, or FUNCTION for what costs HEAVY, which is some 20 instructions
FUNCTION = 16


def emit(
    kernels: Sequence[kf.Kernel],
    *,
    vector_bits: int = 512,
    rules: Mapping[str, Rule] | None = None,
    support: Mapping[str, str] | None = None,
) -> str:
    """The text of one LLVM module with a function per kernel: `i64 @name(params...)`, 0 or the code of a `Raise`.

    `rules[op](builder, operands, dtype)` lowers an elementwise op; by default irad.codegen.math.scalar's. `vector_bits` is the
    widest register LLVM should use. `support`: LLVM text of functions that kernels may call, put into the module if one does: a
    module of their own would cost more than they do. Raises IradError (VerifyError, see irad.codegen.kernel.check) where a kernel
    breaks the rules of the kernel form.
    """
    rules = RULES if rules is None else rules
    support = support or {}
    names = frozenset(k.name for k in kernels)
    functions = SharedFunctions(kernels)
    declarations: dict[str, str] = {}
    outlined: set[str] = set()
    bodies, made = [], []
    for k in kernels:
        e = Emitter(rules, names, functions)
        try:
            verify(k)
            bodies += [e.kernel(k), *e.calls.tasks]
        except VerifyError:
            raise
        except IradError as error:
            raise IradError(f"kernel `{k.name}`: {error.message}", error.loc) from error
        made.append(e.b)
    for b in (*made, *functions.made.values()):
        declarations.update(b.declarations)
        outlined |= b.outlined
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


class Emitter:
    """One kernel: what each statement becomes, by the parts that are made for it."""

    def __init__(self, rules: Mapping[str, Rule], kernels: frozenset[str], functions: SharedFunctions) -> None:
        self.rules, self.functions, self.function = rules, functions, OpenFunction()
        self.b = b = self.function.b
        across = Across(b)
        self.names = Names(b, across)
        self.memory = Memory(b, across, self.names)
        self.folds = Folds(b, across, self.names, rules)
        self.control = Control(b, self.names, self.memory)
        self.vectors = Vectors(self.names, self.memory, self.folds, self.control, self.block)
        self.calls = Calls(self.function, self.names, self.memory, kernels)
        self.effects = Effects()
        self._statements: dict[type, Callable[[Any], None]] = {
            kf.Let: self.let,
            kf.Store: lambda s: (self.memory.store_add if s.add else self.memory.store)(
                s.buf, s.idx, self.names.operand(s.value)
            ),
            kf.Combine: lambda s: self.folds.combine(s.fold, s.values, s.idx, s.ordered),
            kf.Assign: self.assign,
            kf.Var: self.var,
            kf.Fold: self.fold,
            kf.For: self.for_stmt,
            kf.If: self.if_stmt,
            kf.While: self.while_stmt,
            kf.Raise: self.calls.raise_,
            kf.Call: self.calls.call,
            kf.Parallel: self.calls.parallel,
            kf.Buffer: self.buffer,
            kf.View: self.view,
            kf.Deref: self.deref,
            kf.Swap: self.swap,
            kf.Prefetch: self.prefetch,
            kf.Begin: lambda s: None,
        }

    # ---- a kernel ----

    def kernel(self, k: kf.Kernel) -> str:
        params = ", ".join([self._param(p) for p in k.params])
        for p in k.params:
            if p.shape is not None:
                self.names.bufs[p.name] = Buf(
                    p.name, p.dtype, [self.names.lin(n) for n in p.shape], p.name, Val(f"%{p.name}", "ptr", 1, "ptr", 0)
                )
        self.function.pointer = next((f"%{p.name}" for p in k.params if p.shape is not None), "")
        self.block(k.body)
        assert len(self.b.scopes) == 1
        return self.function.text(f"i64 @{k.name}({params})", "i64 0")

    def _param(self, p: kf.Param) -> str:
        if p.shape is not None:
            return f"ptr %{p.name}"
        v = Val(f"%{p.name}", p.dtype, 1, MEMORY[p.dtype], 0)
        self.names.env[p.name] = self.b.op(f"icmp ne i8 {v.n}, 0", "bool", 1, "i1", 0) if p.dtype == "bool" else v
        return f"{v.ty} {v.n}"

    def block(self, body: Sequence[kf.Stmt]) -> None:
        table = self._statements
        weight = 0
        for s in body:
            table[type(s)](s)
            if type(s) is kf.Let:
                weight += FUNCTION if type(s.expr) is kf.Apply and cost_of(s.expr.op) >= HEAVY else 1
                if weight >= LONG and self.function.pointer and not self.vectors.mixing:
                    self.function.cut()
                    weight = 0

    # ---- operands and expressions ----

    def let(self, s: kf.Let) -> None:
        e = s.expr
        if isinstance(e, kf.Apply):
            if s.dtype == "i64" and len(e.args) == 2:
                x = self._affine(e.op, e.args)
                if x is not None:
                    self.names.env[s.name] = x
                    return
            v = self._apply(e, s)
        elif isinstance(e, kf.Load):
            v = self.memory.load(e.buf, e.idx)
        elif isinstance(e, kf.Part):
            v = self.folds.part(e.fold, e.k, e.idx)
        else:
            v = self.folds.linscan(e.var, e.k, e.x)
        if v.dtype != s.dtype:
            raise IradError(f"`{s.name}` is declared {s.dtype} but its value has dtype {v.dtype}")
        self.names.env[s.name] = v

    def _apply(self, e: kf.Apply, s: kf.Let) -> Val:
        rule = self.rules.get(e.op) or _late_rule(e.op)
        if rule is None:
            raise IradError(f"no rule to lower `{e.op}`")
        args = [self.names.operand(a) for a in e.args]
        if e.op in self.functions.often:
            return self.functions.call(self.b, rule, e.op, args, s.dtype)
        if not (s.contract and e.op in _CONTRACT):
            return rule(self.b, args, s.dtype)
        self.b.flags = True
        v = self.b.onto(e.op, *args) if e.op in ("add", "sub") else None
        if v is None:
            v = rule(self.b, args, s.dtype)
        self.b.flags = False
        if e.op == "szmul" and s.dtype != "f16":
            self.b.products[v] = (args[0], args[1])
        return v

    def _affine(self, op: str, args: Sequence[kf.Operand]) -> Integer | None:
        """i64 sums, differences and multiples of few terms stay affine: addresses see through them."""
        xs: list[Integer] = []
        for x in args:
            if isinstance(x, kf.Const):
                xs.append(int(x.value))
            elif not isinstance(x, str):
                xs.append(self.names.lin(x))
            else:
                e = self.names.env.get(x)
                if type(e) is Val and e.dtype == "i64" and e.n[0] == "%":
                    e = symbol(e)
                if not isinstance(e, (int, Affine)):
                    return None
                xs.append(e)
        r = applied(op, *xs)
        small = r is not None and len(terms(r)) <= 3 and all(abs(k) < 1 << 31 for k in (constant(r), *(k for _, k in terms(r))))
        return r if small else None

    # ---- statements ----

    def var(self, s: kf.Var) -> None:
        v = self.names.operand(s.init)
        self._same_dtype(s.name, s.dtype, v)
        lanes = s.lanes if s.lanes > 1 else self.b.lanes
        self.names.env[s.name] = Cell((s.dtype,), lanes, [self.b.broadcast(v, lanes)])

    def assign(self, s: kf.Assign) -> None:
        cell, v = self.names.env.get(s.name), self.names.operand(s.value)
        if type(cell) is not Cell:
            raise IradError(f"`{s.name}` is assigned but is not a variable in scope")
        self._same_dtype(s.name, cell.dtypes[0], v)
        if v.lanes > cell.lanes:
            raise IradError(
                f"variable `{s.name}` is declared outside of the vec loop that assigns it; its iterations carry only folds"
            )
        cell.vals = [self.b.broadcast(v, cell.lanes)]

    def _same_dtype(self, name: str, dtype: str, v: Val) -> None:
        if v.dtype != dtype:
            raise IradError(f"`{name}` has dtype {dtype} but gets a value of dtype {v.dtype}")

    def fold(self, s: kf.Fold) -> None:
        self.names.env[s.name] = self.folds.fold_cell(s)

    def for_stmt(self, s: kf.For) -> None:
        if s.kind == "vec":
            self.vectors.vector_loop(s, self.effects.of(s.body))
        elif s.kind == "unroll" or kf.trips(s) == 1:
            self.vectors.unrolled(s)
        elif s.kind in ("seq", "par"):

            def body(i: Integer) -> None:
                self.names.env[s.var] = i
                self.block(s.body)

            self.control.counted(self.names.lin(s.lo), self.names.lin(s.hi), s.step, self.effects.of(s.body), body)
        else:
            raise IradError(f"loop `{s.var}` has kind {s.kind!r}; there are seq, par, unroll and vec")

    def if_stmt(self, s: kf.If) -> None:
        changed = [self.effects.of(s.then), self.effects.of(s.orelse)]
        orelse = (lambda: self.block(s.orelse)) if s.orelse else None
        self.control.branch(self.names.operand(s.cond), changed, lambda: self.block(s.then), orelse)

    def while_stmt(self, s: kf.While) -> None:
        def test() -> Val:
            self.block(s.test)
            return self.names.operand(s.cond)

        self.control.while_loop([self.effects.of(s.test), self.effects.of(s.body)], test, lambda: self.block(s.body))

    # ---- memory ----

    def buffer(self, s: kf.Buffer) -> None:
        name = self.function.room(prod(s.shape), MEMORY[s.dtype], LINE)
        if s.freed:
            self.function.freed.append(name)
        self.names.bufs[s.name] = Buf(s.name, s.dtype, s.shape, s.name, Val(name, "ptr", 1, "ptr", 0))
        self.memory.written(s.name)

    def view(self, s: kf.View) -> None:
        base = self.names.buf(s.buf)
        dtype = s.dtype or base.dtype
        p = self.names.moved(base.vals[0], self.names.lin(s.offset), MEMORY[dtype])
        family = base.family if s.dtype is None else s.name
        self.names.bufs[s.name] = Buf(s.name, dtype, [self.names.lin(n) for n in s.shape], family, p)
        self.memory.written(family)

    def deref(self, s: kf.Deref) -> None:
        at = self.memory.load(s.buf, (s.idx,))
        if at.dtype != "i64" or at.lanes > 1:
            raise IradError(f"`{s.name}`: an address is one element of an i64 buffer, the same for all lanes")
        p = self.b.cheap(f"inttoptr i64 {at.n} to ptr", "ptr", 1, "ptr", at.d)
        self.names.bufs[s.name] = Buf(s.name, s.dtype, [1], s.family, p)

    def swap(self, s: kf.Swap) -> None:
        a, b = self.names.buf(s.a), self.names.buf(s.b)
        a.vals, b.vals = b.vals, a.vals
        self.memory.written(a.family)
        self.memory.written(b.family)

    def prefetch(self, s: kf.Prefetch) -> None:
        """One line of cache after another, as far as the lanes reach; nothing for strided lanes but the first."""
        b = self.names.buf(s.buf)
        p, lane = self.names.address(b, s.idx)
        self.b.declare("llvm.prefetch.p0", "void", "ptr, i32, i32, i32")
        reach = self.b.lanes * bits(b.dtype) // 8 if lane == 1 and type(lane) is int else 1
        for o in range(0, reach, LINE):
            q = p if o == 0 else self.names.offset(p, o, "i8")
            self.b.line(f" call void @llvm.prefetch.p0(ptr {q.n}, i32 0, i32 3, i32 1)")
