"""Planned graph -> kernel form: scalars become `Let`s, arrays buffers, control flow loops and branches.

Dense `loop` nodes are scheduled by irad.codegen.schedule.loops, opaque array ops by irad.codegen.lower.elements_and_scans; this
module holds what they share (`KernelBuilder`: names, operands, buffers, the current block) and lowers scalars and control flow.

The entry's parameters are: the graph's parameters p0.., its results r0.. (memory of the caller's, a scalar has shape (); a
tape has none), `arena`, `ctx` (addresses of constant arrays, then tape slots) and `err`, the error record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from irad.codegen.interface import ERROR_SLOTS, SLOT, ErrorCode
from irad.codegen.jit import WIDE, Registers
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, Index, Kernel, Let, Load, Operand, Param, Stmt, integer
from irad.codegen.kernel.lives import begun, least_extents, slots
from irad.codegen.kernel.show import show
from irad.codegen.libraries.outside import PROCESS, Outside
from irad.codegen.lower.arena import arena_size
from irad.core.affine import LINEAR, Integer, applied, strides, substitute, symbols
from irad.core.ir import Graph, Node, Program, Value, walk
from irad.core.lazy_dataclass import dataclass, field, replace
from irad.core.notes import Notes
from irad.core.types import DTYPES, I64, TAPE, Dim, dtype_name
from irad.errors import UnsupportedError
from irad.ops.loop import Map
from irad.ops.tape_flow import Sources, TapeFlow, tape_sources


@dataclass
class Lowered:
    """Kernels of a program (the entry first) and what calling them takes."""

    kernels: list[Kernel]
    arena: int
    constants: list[np.ndarray] = field(default_factory=list)
    ctx: list[int] = field(default_factory=list)  # initial words: addresses of constants, zeros for tape slots
    constant_words: list[int] = field(default_factory=list)
    tape_params: dict[int, int] = field(default_factory=dict)  # parameter number -> word of its slot
    tape_writes: set[int] = field(default_factory=set)  # parameters: tapes that the code pushes on, not only pops
    tape_results: dict[int, int] = field(default_factory=dict)  # result number -> word of its slot
    grows: bool = False
    functions: dict[str, str] = field(default_factory=dict)  # graphs that are called -> their kernels
    sources: Sources = field(default_factory=dict)  # where the tape results of graphs come from
    raises: list[ErrorCode] = field(default_factory=list)
    symbols: dict[str, int] = field(default_factory=dict)
    notes: Notes | None = None
    gaps: list[tuple[int, int]] = field(default_factory=list)  # with `lives`: bytes of the arena that no place has
    lives: bool = False  # do kernels say where the life of memory begins (kform.Begin), and how large all of it is?
    keep: list[Any] = field(default_factory=list)  # what must live as long as the code: functions that it calls back
    registers: Registers = WIDE
    outside: Outside = PROCESS
    tapes: dict[Value, int] = field(default_factory=dict)  # tapes of the entry -> words of their slots

    @property
    def text(self) -> str:
        """The kernel form, as text."""
        return "\n".join(map(show, self.kernels))


def _writes(graph: Graph, tape: Value, flow: TapeFlow, lives: bool) -> bool:
    """May anything be pushed on a tape, here or in what is called, or with `lives` be filled when it was popped?"""
    names = ("push", "pop", "call") if lives else ("push", "call")
    pushes = (n for n in walk(graph) if n.op.name in names)
    return any(v.type == TAPE and flow.root(v) is tape for n in pushes for v in n.inputs)


@dataclass(frozen=True)
class Address:
    """Where an array is: a buffer, and the flat position of its first element in it."""

    buf: str
    offset: Integer = 0


def on_tape(v: Value) -> bool:
    """Did the plan pass put an array on a tape? Where, its pop, its push or its loop says."""
    return v.at[:1] == "t"


@dataclass(frozen=True)
class Tape:
    """Where a tape is: the i64 buffer that holds its slot, the slot's first word, and the variable of its top."""

    buf: str
    slot: int
    top: str


def lower(
    program: Program,
    arena: int,
    name: str = "irad_kernel",
    notes: Notes | None = None,
    *,
    lives: bool = False,
    outside: Outside = PROCESS,
    registers: Registers = WIDE,
) -> Lowered:
    """The kernel form of a planned program. `arena`: bytes that its places need. `notes`: where to say what was decided.
    `registers`: of the machine that it is for.

    `lives`: for code that checks its memory; see irad.codegen.kernel.lives. `outside`: what it may call.
    """
    out = Lowered([], arena, sources=tape_sources(program), notes=notes, lives=lives, outside=outside, registers=registers)
    entry = next(iter(program.values()))
    out.kernels.insert(0, KernelBuilder(out, program).kernel(entry, name))
    return out


class KernelBuilder:
    """One kernel under construction."""

    def __init__(self, out: Lowered, program: Program, entry: bool = True):
        self.out, self.program, self.entry = out, program, entry
        self.block: list[Stmt] = []
        self.head: list[Stmt] = []
        self.env: dict[Value, Operand] = {}
        self.addresses: dict[Value, Address] = {}
        self.defs: dict[Value, Node] = {}
        self.views: set[str] = set()
        self.names: dict[str, int] = {}
        self.flow = TapeFlow(Graph((), (), ()), {})
        self.tapes: dict[Value, Tape] = {}  # by the first of what is one tape
        self.graph = Graph((), (), ())  # the one whose nodes are being lowered
        self.slots: dict[str, int] = {}  # with `lives`: where places of the arena start, apart from each other
        self.extents: dict[tuple[str, str], int] = {}  # with `lives`: elements of a place by place and dtype
        self.least: dict[tuple[str, str], Integer] = {}  # elements that each array in a place has, by place and dtype
        self.numbers: frozenset[Value] = frozenset()  # of the graph, bound from the outset
        self.popped: list[tuple[Tape, str, Integer]] = []  # with `lives`: what was popped, where, how many words
        self.reserved: dict[Node, str] = {}  # pushes of what is made where they want it: where the tape will end

    # ---- the kernel ----------------------------------------------------------------------------------------

    def kernel(self, graph: Graph, name: str) -> Kernel:
        """The entry kernel."""
        params = [Param(f"p{k}", v.type.dtype, self.shape(v)) for k, v in enumerate(graph.params) if v.type != TAPE]
        params += [Param(f"r{k}", v.type.dtype, self.shape(v)) for k, v in enumerate(graph.results) if v.type != TAPE]
        self.apart(graph)
        params += [
            Param("arena", "u8", (max(self.out.arena, 1),)),
            Param("ctx", "i64", (1 << 20,)),
            Param("err", "i64", (ERROR_SLOTS,)),
        ]
        self.flow = TapeFlow(graph, self.out.sources)
        for k, v in enumerate(graph.params):
            if v.type == TAPE:
                self.tapes[self.flow.root(v)] = self._tape_param(k)
                if _writes(graph, self.flow.root(v), self.flow, self.out.lives):
                    self.out.tape_writes.add(k)
            elif not v.type.shape:
                self.env[v] = self.let(Load(f"p{k}", ()), v.type.dtype, v.hint or f"x{k}")
        self.body(graph)
        for k, v in enumerate(graph.results):
            if v.type == TAPE:
                self.out.tape_results[k] = self.store_top(v).slot
        self.out.tapes = {root: tape.slot for root, tape in self.tapes.items()}
        arrays = [v for v in (*graph.params, *graph.results) if v.type != TAPE]
        params = [replace(p, least=self.least_size(v)) for p, v in zip(params, arrays)] + params[len(arrays) :]
        return Kernel(name, params, [*self.head, *self.block])

    def apart(self, graph: Graph) -> int:
        """Bytes of the graph's arena, whose places are known from here on; with `lives`, they lie apart."""
        if not self.out.lives:
            return arena_size(graph)
        self.slots, self.extents, arena, gaps = slots(graph)
        if self.entry:
            self.out.arena, self.out.gaps = arena, gaps
        return arena

    def _tape_param(self, k: int) -> Tape:
        top = self.fresh("top")
        tape = self.new_slot(top)
        self.out.tape_params[k] = tape.slot
        self.block.append(kf.Var(top, "i64", self.let(Load("ctx", (tape.slot + 2,)), "i64")))
        return tape

    def body(self, graph: Graph) -> None:
        """The nodes, then the scalar results' stores."""
        self.defs = {v: n for n in walk(graph) for v in n.outputs}
        self.numbers = frozenset(graph.params)
        self.least = least_extents(graph, self.least_size)
        for k, v in enumerate(graph.params):
            if v.type.shape:
                self.addresses[v] = Address(v.at if v.at[:1] == "r" else f"p{k}")  # a result's memory, if it was donated
        self.nodes(graph)
        for k, v in enumerate(graph.results):
            if not v.type.shape and v.type != TAPE:
                self.block.append(kf.Store(f"r{k}", (), self.operand(v)))
        self.forget_popped(graph)

    def tape(self, v: Value) -> Tape:
        """Where a tape is. One that starts at several places (in branches, or in what is called) has its slot from the outset."""
        root = self.flow.root(v)
        if root not in self.tapes:
            top = self.fresh("top")
            self.head.append(kf.Var(top, "i64", 0))
            self.tapes[root] = self.new_slot(top)
        return self.tapes[root]

    def store_top(self, v: Value) -> Tape:
        """The tape, whose slot says now where it ends."""
        tape = self.tape(v)
        self.block.append(kf.Store(tape.buf, (tape.slot + 2,), tape.top))
        return tape

    def take_scalar(self, v: Value, place: str) -> None:
        """The result v of a call, which left it in memory of its own; an array lies where it stays."""
        if not v.type.shape:
            self.env[v] = self.let(Load(place, (0,)), v.type.dtype, v.hint or "v")

    def start_tape(self, v: Value) -> None:
        """An empty tape."""
        root = self.flow.root(v)
        if root not in self.tapes and self.flow.made[root] == 1:
            top = self.fresh("top")
            self.block.append(kf.Var(top, "i64", 0))
            self.tapes[root] = self.new_slot(top)
        else:
            self.block.append(kf.Assign(self.tape(v).top, 0))

    def new_slot(self, top: str) -> Tape:
        """A slot for a tape made here: in the context, or in the frame of a called function."""
        if self.entry:
            self.out.ctx += [0] * SLOT
            return Tape("ctx", len(self.out.ctx) - SLOT, top)
        name = self.fresh("tape")
        self.head.append(kf.Buffer(name, "i64", (SLOT,), freed=True))
        self.head += [kf.Store(name, (k,), Const(0, "i64")) for k in range(SLOT)]
        return Tape(name, 0, top)

    def itemsize(self, dtype: str) -> int:
        return DTYPES[dtype].itemsize

    def shape(self, v: Value) -> tuple[kf.Index, ...]:
        return (v.type.size if v.type.static else kf.ANY,) if v.type.shape else ()  # of run-time extents more than there can be

    # ---- names, operands, buffers ------------------------------------------------------------------------------

    def fresh(self, hint: str) -> str:
        """A name not used yet in this kernel."""
        hint = "".join(c if c.isalnum() else "_" for c in hint) or "v"
        n = self.names[hint] = self.names.get(hint, -1) + 1
        return hint + (f"_{n}" if n or hint[-1].isdigit() or hint in _RESERVED else "")

    def let(self, expr: kf.Expr, dtype: str, hint: str = "v", deriv: bool = False) -> str:
        name = self.fresh(hint)
        self.block.append(Let(name, dtype, expr, contract=deriv))
        return name

    def operand(self, v: Value) -> Operand:
        """A scalar value as an operand."""
        if v in self.env:
            return self.env[v]
        node = self.defs.get(v)  # a constant may be read in a scope that its node was not lowered in
        assert node is not None and node.op.name == "const", f"{v!r} is not lowered yet"
        return Const(_python(node.attrs["value"]), v.type.dtype)

    def aff(self, v: Value) -> Integer:
        """An i64 scalar as an affine integer."""
        x = self.operand(v)
        return int(x.value) if isinstance(x, Const) else integer(x)

    def dim(self, d: Dim) -> Integer:
        """An extent, or any affine integer over SSA values."""
        return substitute(d, self.aff)

    def address(self, v: Value) -> Address:
        """Where an array is; its buffer is declared when first asked for."""
        if v not in self.addresses:
            at = v.at
            assert at, f"the plan pass gave {v!r} no place"
            if at[0] == "a":
                name = f"{at}_{v.type.dtype}"
                if name not in self.views:
                    self.views.add(name)
                    shape, start = (self.extent(at, v.type.dtype),), self.slot(at) // v.type.numpy.itemsize
                    least = self.least.get((at, v.type.dtype), 0)
                    self.head.append(kf.View(name, "arena", shape, start, v.type.dtype, least))
                self.addresses[v] = Address(name)
            elif at == "c":
                self.addresses[v] = Address(self.constant(self.defs[v].attrs["value"], f"const_{v.id}"))
            else:
                self.addresses[v] = Address(at)
        return self.addresses[v]

    def slot(self, at: str) -> int:
        """The first byte in the arena of a place."""
        return self.slots[at] if self.slots else int(at[1:])

    def extent(self, at: str, dtype: str) -> int:
        """Elements of a place in the arena; without `lives`, more than there can be."""
        return self.extents.get((at, dtype), kf.ANY)

    def result(self, k: int) -> str:
        """The buffer of result k of the program."""
        return f"r{k}"

    def constant(self, value: np.ndarray, name: str = "") -> str:
        """The buffer of a constant array, one axis."""
        value = np.ascontiguousarray(value)
        name = name or self.fresh("table")
        self.out.constants.append(value)
        self.out.constant_words.append(len(self.out.ctx))
        self.out.ctx.append(value.ctypes.data)
        dtype = dtype_name(value.dtype)
        assert dtype is not None
        self.head.append(kf.Deref(name, "ctx", len(self.out.ctx) - 1, dtype, value.size if self.out.lives else None))
        return name

    def strides(self, v: Value) -> list[Integer]:
        """Row-major strides in elements."""
        return strides([self.dim(d) for d in v.type.shape])

    def flat(self, v: Value, map: Map, idx: Sequence[Integer], place: Address | None = None) -> Integer:
        """Flat position in v's buffer, or at another place, of an affine map applied to indices."""
        at = (place or self.address(v)).offset
        for pos, stride in zip(map.at(idx), self.strides(v)):
            at = at + pos * stride
        return at

    def within(self, body: Callable[[], None]) -> list[Stmt]:
        """The statements that `body` appends, in a block of their own."""
        outer, self.block = self.block, []
        body()
        inner, self.block = self.block, outer
        return inner

    # ---- nodes -------------------------------------------------------------------------------------------------

    def nodes(self, graph: Graph) -> None:
        """The nodes of a graph or region."""
        outer, self.graph = self.graph, graph
        for node in graph.nodes:
            self.node(node)
        self.graph = outer

    def node(self, node: Node) -> None:
        if node.op.elementwise and not node.outputs[0].type.shape:
            self.scalar(node)
            return
        rule = RULES.get(node.op.name)
        if rule is None:
            raise UnsupportedError(f"{node.op.name} has no native lowering", node.loc)
        if self.out.lives:
            self.begin(node)
        rule(self, node)

    def begin(self, node: Node) -> None:
        """Say which memory begins a new life with this node."""
        for v in begun(node, self.defs):
            if v not in self.addresses or self.addresses[v] == Address(v.at):
                self.begin_at(self.address(v), self.size(v))

    def begin_at(self, at: Address, size: Index) -> None:
        """Say that so many elements begin a new life, where that is wanted."""
        if self.out.lives:
            self.block.append(kf.Begin(at.buf, (at.offset,), size))

    def forget_popped(self, graph: Graph, since: int = 0) -> None:
        """At the end of a block: what it has popped from tapes is read no more, but where it has pushed something since."""
        pushes = any(n.op.name in ("push", "call") for n in walk(graph))
        for tape, at, size in self.popped[since:]:
            if pushes:
                end = integer(at) + size
                at = self.let(Apply("maximum", (at, tape.top)), "i64", "from")
                size = end - integer(at)
            name = self.fresh("popped")
            capacity = integer(self.let(Load(tape.buf, (tape.slot + 1,)), "i64", "cap"))
            self.block.append(kf.Deref(name, tape.buf, tape.slot, "i64", capacity))
            self.begin_at(Address(name, integer(at)), size)
        del self.popped[since:]

    def size(self, v: Value) -> Integer:
        """Number of elements of an array."""
        return prod(map(self.dim, v.type.shape))

    def least_size(self, v: Value) -> Integer:
        """Number of elements of an array, by what the parameters are; 0 where it depends on other numbers."""
        return self.size(v) if all(s in self.numbers for d in v.type.shape for s in symbols(d)) else 0

    def scalar(self, node: Node) -> None:
        """An elementwise op on scalars; index arithmetic stays affine."""
        (out,) = node.outputs
        if out.type == I64 and node.op.name in LINEAR:
            xs = [self.aff(v) for v in node.inputs]
            form = applied(node.op.name, *xs)
            if form is not None:
                self.env[out] = form
                return
        args = tuple(self.operand(v) for v in node.inputs)
        self.env[out] = self.let(Apply(node.op.name, args), out.type.dtype, out.hint or "v", node.deriv)


def _python(x: Any) -> Any:
    return x.item() if hasattr(x, "item") else x


_RESERVED = {"arena", "err"}
RULES: dict[str, Callable[[KernelBuilder, Node], None]] = {}


def rule(*names: str) -> Callable[[Callable[[KernelBuilder, Node], None]], Callable[[KernelBuilder, Node], None]]:
    """Register the lowering of the named ops."""

    def register(f: Callable[[KernelBuilder, Node], None]) -> Callable[[KernelBuilder, Node], None]:
        RULES.update(dict.fromkeys(names, f))
        return f

    return register
