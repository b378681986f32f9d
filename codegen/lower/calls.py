"""Lowering of calls: each called graph is a kernel of its own; frames live on the machine stack.

A called kernel takes array parameters and results by address, scalars by value, tapes by the address of their slot (whose
top is stored before the call and read after it; a tape that the called graph makes has a slot of the caller's), the memory of
the program results that checks in called graphs keep, then `ctx`, `err` and the depth of calls. Its arena is in its
frame if it is small, else from the C library. Too deep a recursion raises RecursionError before the stack overflows.
"""

from __future__ import annotations

from irad.codegen.interface import ERROR_SLOTS, SLOT, ErrorCode
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, Param, integer
from irad.codegen.kernel.lives import GAP
from irad.codegen.lower.graph import KernelBuilder, Tape, rule
from irad.codegen.lower.scratch import address_of
from irad.core.ir import Graph, Node, Value, walk
from irad.core.types import DTYPES, TAPE
from irad.ops.tape_flow import NEW, TapeFlow, tapes_of

STACK = 4 << 20  # bytes of machine stack that compiled recursion may use
FRAME = 512  # bytes of a frame besides its arena, at most
ARENA = 4096  # bytes of an arena that may lie in a frame
HEAP = 1 << 30  # bytes of larger ones that a recursion may have in all


@rule("call")
def _call(f: KernelBuilder, node: Node) -> None:
    graph = f.program[node.attrs["callee"]]
    name = _function(f, node.attrs["callee"], graph)
    args: list[kf.Operand] = []
    signature = ["i64"]
    for v in node.inputs:
        _argument(f, v, args, signature)
    results: dict[Value, str] = {}
    made = [v for v, k in zip(tapes_of(node.outputs), f.out.sources[node.attrs["callee"]]) if k == NEW]  # their slots are ours
    for v in node.outputs:
        if v.type == TAPE:
            if v in made:
                _tape_argument(f, v, args, signature)
            continue
        results[v] = _result(f, v)
        args.append(results[v])
        signature.append("ptr")
    for k in _kept_in_calls(f):
        args.append(f.result(k))
        signature.append("ptr")
    depth: kf.Operand = Const(1, "i64") if f.entry else f.let(Apply("add", ("depth", Const(1, "i64"))), "i64", "deeper")
    args += ["ctx", "err", depth]
    signature += ["ptr", "ptr", "i64"]
    writes = tuple(dict.fromkeys([*results.values(), *(f.tape(v).buf for v in (*node.inputs, *made) if v.type == TAPE)]))
    f.block.append(kf.Call(name, tuple(args), tuple(signature), f.fresh("status"), "i64", writes=writes, check=True))
    _after(f, node, results)


def _kept_in_calls(f: KernelBuilder) -> list[int]:
    """The results of the program that checks in called graphs keep."""
    called = list(f.program.values())[1:]
    if any("kept" not in g.memo for g in called):
        for g in called:
            g.memo["kept"] = {k for n in walk(g) for k in n.attrs.get("keeps", ())}
    return sorted({k for g in called for k in g.memo["kept"]})


def _argument(f: KernelBuilder, v: Value, args: list[kf.Operand], signature: list[str]) -> None:
    if v.type == TAPE:
        _tape_argument(f, v, args, signature)
    elif v.type.shape:
        place = f.address(v)
        args.append(_view(f, place.buf, place.offset, v.type.dtype, v.type.size))
        signature.append("ptr")
    else:
        args.append(f.operand(v))
        signature.append(_llvm(v.type.dtype))


def _tape_argument(f: KernelBuilder, v: Value, args: list[kf.Operand], signature: list[str]) -> None:
    tape = f.store_top(v)
    args.append(_view(f, tape.buf, tape.slot, "i64", SLOT))
    signature.append("ptr")


def _llvm(dtype: str) -> str:
    floats = {"f64": "double", "f32": "float", "f16": "half", "bool": "i8"}
    return floats.get(dtype) or f"i{DTYPES[dtype].itemsize * 8}"


def _view(f: KernelBuilder, buf: str, offset: kf.Index, dtype: str, size: int) -> str:
    name = f.fresh("view")
    f.block.append(kf.View(name, buf, (size,), offset))
    return name


def _result(f: KernelBuilder, v: Value) -> str:
    if v.type.shape:
        place = f.address(v)
        return _view(f, place.buf, place.offset, v.type.dtype, v.type.size)
    name = f.fresh("out")
    f.head.append(kf.Buffer(name, v.type.dtype, (1,)))
    return name


def _after(f: KernelBuilder, node: Node, results: dict[Value, str]) -> None:
    for v, name in results.items():
        f.take_scalar(v, name)
    for tape in dict.fromkeys(f.tape(v) for v in (*node.inputs, *node.outputs) if v.type == TAPE):
        f.block.append(kf.Assign(tape.top, f.let(kf.Load(tape.buf, (tape.slot + 2,)), "i64", "top")))


def _function(f: KernelBuilder, name: str, graph: Graph) -> str:
    """The kernel of a called graph, lowered at its first call."""
    if name not in f.out.functions:
        symbol = "irad_" + "".join(c if c.isalnum() else "_" for c in name) + f"_{len(f.out.functions)}"
        f.out.functions[name] = symbol
        f.out.kernels.append(_Called(f.out, f.program, entry=False).callee(graph, symbol))
    return f.out.functions[name]


class _Called(KernelBuilder):
    """The frame of a called graph."""

    def callee(self, graph: Graph, name: str) -> kf.Kernel:
        arena = self.apart(graph)
        params = [Param(f"p{k}", *self._param(v)) for k, v in enumerate(graph.params)]
        self.flow = TapeFlow(graph, self.out.sources)
        made = [k for k, v in enumerate(graph.results) if v.type == TAPE and self.flow.root(v) not in self.flow.params]
        params += [
            Param(f"r{k}", "i64", (SLOT,)) if v.type == TAPE else Param(f"r{k}", v.type.dtype, self.shape(v))
            for k, v in enumerate(graph.results)
            if v.type != TAPE or k in made
        ]
        results = next(iter(self.program.values())).results
        params += [Param(self.result(k), results[k].type.dtype, self.shape(results[k])) for k in _kept_in_calls(self)]
        params += [Param("ctx", "i64", (1 << 20,)), Param("err", "i64", (ERROR_SLOTS,)), Param("depth", "i64", None)]
        self.out.raises.append(ErrorCode("RecursionError", "maximum recursion depth exceeded in compiled code", (), None))
        too_deep = len(self.out.raises)
        for k, v in enumerate(graph.params):
            if v.type == TAPE:
                self._slot_of_caller(v, f"p{k}")
            elif not v.type.shape:
                self.env[v] = integer(f"p{k}") if v.type.dtype == "i64" else f"p{k}"
        for k in made:
            self._slot_of_caller(graph.results[k], f"r{k}")
        self.body(graph)
        for v in graph.results:
            if v.type == TAPE:
                self.store_top(v)
        zones = 2 * GAP * sum(isinstance(s, kf.Buffer) for s in [*self.head, *kf.walk(self.block)]) if self.out.lives else 0
        inside = arena if arena <= ARENA else 0
        deepest = min(100_000, STACK // (inside + FRAME + zones), HEAP // max(1, arena - inside))
        deep = self.fresh("deep")
        front: list[kf.Stmt] = [
            kf.Let(deep, "bool", Apply("gt", ("depth", Const(max(deepest, 4), "i64")))),
            kf.Raise(deep, too_deep),
        ]
        if self.views:  # of an arena, which may hold nothing but arrays without elements
            front += [kf.Buffer("arena", "u8", (max(arena, 1),))] if inside == arena else self._from_heap(arena)
        return kf.Kernel(name, params, [*front, *self.head, *self.block])

    def _from_heap(self, size: int) -> list[kf.Stmt]:
        """An arena that the C library gives, and gets back however the kernel is left; it begins at a multiple of 64 bytes."""
        self.out.symbols.update({s: address_of(s) for s in ("malloc", "free")})
        self.out.raises.append(ErrorCode("MemoryError", "no memory for a call of a function that calls itself", (), None))
        given, none, over, at, first, kept, start = map(self.fresh, ("given", "none", "over", "at", "first", "kept", "start"))
        return [
            kf.Buffer(kept, "i64", (1,), freed=True),
            kf.Call("malloc", (Const(size + 64, "i64"),), ("i64", "i64"), given, "i64"),
            kf.Store(kept, (0,), given),
            kf.Let(none, "bool", Apply("eq", (given, Const(0, "i64")))),
            kf.Raise(none, len(self.out.raises)),
            kf.Let(over, "i64", Apply("bitwise_and", (given, Const(63, "i64")))),
            kf.Let(at, "i64", Apply("sub", (given, over))),
            kf.Let(first, "i64", Apply("add", (at, Const(64, "i64")))),
            kf.Buffer(start, "i64", (1,)),
            kf.Store(start, (0,), first),
            kf.Deref("arena", start, 0, "u8", size),
        ]

    def result(self, k: int) -> str:
        return f"k{k}"

    def _slot_of_caller(self, v: Value, name: str) -> None:
        """A tape whose slot is in the caller's frame."""
        top = self.fresh("top")
        self.tapes[self.flow.root(v)] = Tape(name, 0, top)
        self.block.append(kf.Var(top, "i64", self.let(kf.Load(name, (2,)), "i64")))

    def _param(self, v: Value) -> tuple[str, tuple[kf.Index, ...] | None]:
        if v.type == TAPE:
            return "i64", (SLOT,)
        return v.type.dtype, self.shape(v) if v.type.shape else None
