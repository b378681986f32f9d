"""Lowering of control flow, constants, copies, checks and the tape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from irad.codegen.interface import ErrorCode
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, integer
from irad.codegen.lower.graph import Address, KernelBuilder, rule
from irad.core.affine import Affine, Integer, symbols
from irad.core.ir import Graph, Node, Value
from irad.core.lazy_dataclass import replace
from irad.core.types import TAPE, Type
from irad.ops.control import shown
from irad.ops.core import kept


@rule("const")
def _const(f: KernelBuilder, node: Node) -> None:
    (v,) = node.outputs
    value = node.attrs["value"]
    if not v.type.shape:
        x = value.item() if hasattr(value, "item") else value
        f.env[v] = integer(int(x)) if v.type.dtype == "i64" else Const(x, v.type.dtype)
    elif hasattr(value, "shape"):
        f.address(v)
    else:
        fill(f, v, Const(value, v.type.dtype))


@rule("empty")
def _empty(f: KernelBuilder, node: Node) -> None:
    pass


def fill(f: KernelBuilder, v: Value, value: kf.Operand) -> None:
    """Write one number over an array."""
    place = f.address(v)
    over(f, v, lambda i: [kf.Store(place.buf, (place.offset + i,), value)])


def over(f: KernelBuilder, v: Value, body: Callable[[Integer], list[kf.Stmt]]) -> None:
    """A vector loop over all elements of an array."""
    each(f, f.size(v), v.type.numpy.itemsize, body)


def each(f: KernelBuilder, size: Integer, itemsize: int, body: Callable[[Integer], list[kf.Stmt]]) -> None:
    """A vector loop over so many elements."""
    i = f.fresh("i")
    lanes = 64 // max(1, itemsize)
    if size == 0:
        return
    while lanes > 1 and isinstance(size, int) and lanes // 2 >= size:
        lanes //= 2
    f.block.append(kf.For(i, "vec", 0, size, body(integer(i)), lanes=lanes))


@rule("copy", "reshape")
def copy_array(f: KernelBuilder, node: Node) -> None:
    """Between equal places (most copies, all reshapes) there is nothing to do."""
    (x,), (y,) = node.inputs, node.outputs
    if not x.type.shape or not y.type.shape:
        _reshape_scalar(f, x, y)
        return
    if y.at == x.at and y not in f.addresses and x not in f.addresses:
        return
    if node.op.name == "reshape":
        f.addresses[y] = f.address(x)
        return
    if f.address(x) != f.address(y):
        move(f, [(x, f.address(y))])


def move(f: KernelBuilder, pairs: Sequence[tuple[Value, Address]]) -> None:
    """Copy the elements of arrays of one type to other places, as if all were read before any is stored."""
    names = [f.fresh("t") for _ in pairs]

    def body(i: Integer) -> list[kf.Stmt]:
        sources = [(f.address(v), v.type.dtype) for v, _ in pairs]
        loads = [kf.Let(t, dtype, kf.Load(a.buf, (a.offset + i,))) for t, (a, dtype) in zip(names, sources)]
        return [*loads, *(kf.Store(b.buf, (b.offset + i,), t) for t, (_, b) in zip(names, pairs))]

    over(f, pairs[0][0], body)


def _reshape_scalar(f: KernelBuilder, x: Value, y: Value) -> None:
    """Between a scalar and an array of one element."""
    if x.type.shape:
        a = f.address(x)
        f.env[y] = f.let(kf.Load(a.buf, (a.offset,)), y.type.dtype, y.hint)
    elif y.type.shape:
        b = f.address(y)
        f.block.append(kf.Store(b.buf, (b.offset,), f.operand(x)))
    else:
        f.env[y] = f.operand(x)


# ---- branches and loops ------------------------------------------------------------------------------------------


def variables(f: KernelBuilder, values: Sequence[Value], init: Sequence[kf.Operand | None]) -> list[str | None]:
    """A mutable variable for each scalar (None for an array, which is carried in its place)."""
    out: list[str | None] = []
    for v, x in zip(values, init):
        if v.type.shape or v.type.dtype == "tape":
            out.append(None)
            continue
        name = f.fresh((v.hint or "c") + "_var")
        f.block.append(kf.Var(name, v.type.dtype, Const(0, v.type.dtype) if x is None else x))
        out.append(name)
    return out


def _assign(f: KernelBuilder, names: Sequence[str | None], values: Sequence[Value]) -> None:
    """All right-hand sides first, then the assignments: a carry may become another one."""
    pairs = [(n, f.operand(v), v) for n, v in zip(names, values) if n is not None]
    mutable = {n for n in names if n}
    staged = []
    for n, x, v in pairs:
        if isinstance(x, str) and x in mutable and x != n or isinstance(x, Affine) and mutable & set(symbols(x)):
            x = f.let(Apply("cast", (x,)), v.type.dtype, "t")  # a snapshot of a variable
        staged.append((n, x))
    f.block += [kf.Assign(n, x) for n, x in staged if x != n]


def bind(f: KernelBuilder, values: Sequence[Value], names: Sequence[str | None]) -> None:
    for v, n in zip(values, names):
        if n is not None:
            f.env[v] = n


def region(f: KernelBuilder, graph: Graph, names: Sequence[str | None]) -> list[kf.Stmt]:
    def body() -> None:
        popped = len(f.popped)
        f.nodes(graph)
        _assign(f, names, graph.results)
        f.forget_popped(graph, popped)

    return f.within(body)


@rule("if")
def _if(f: KernelBuilder, node: Node) -> None:
    then, orelse = node.regions
    names = variables(f, node.outputs, [None] * len(node.outputs))
    cond = f.operand(node.inputs[0])
    a, b = region(f, then, names), region(f, orelse, names)
    f.block.append(kf.If(cond, a, b))
    freeze(f, node.outputs, names)


@rule("checkpoint")
def _checkpoint(f: KernelBuilder, node: Node) -> None:
    (body,) = node.regions
    f.nodes(body)
    for v, r in zip(node.outputs, body.results):
        if not v.type.shape and v.type != TAPE:
            f.env[v] = f.operand(r)


def freeze(f: KernelBuilder, outputs: Sequence[Value], names: Sequence[str | None]) -> None:
    """Let the names of variables stand for the values after a loop or branch, where they no longer change."""
    bind(f, outputs, names)


# ---- checks ------------------------------------------------------------------------------------------------------


@rule("raise_if")
def _raise_if(f: KernelBuilder, node: Node) -> None:
    cond, values = f.operand(node.inputs[0]), shown(node)
    raised = ErrorCode(node.attrs["exc"], node.attrs["message"], tuple(v.type.dtype for v in values), node.loc)
    leave(f, cond, raised, kept(node), tuple(f.operand(v) for v in values))


def leave(
    f: KernelBuilder, cond: kf.Operand, raised: ErrorCode, contents: Mapping[int, Value], values: tuple[kf.Operand, ...] = ()
) -> None:
    """Leave the kernel where `cond` holds. What results hold then goes into their memory before; mostly it is there."""
    f.out.raises.append(replace(raised, keeps=tuple(contents)))
    code = len(f.out.raises)
    stores = f.within(lambda: keep(f, contents))
    f.block.append(
        kf.If(cond, [*stores, kf.Raise(Const(True, "bool"), code, values)]) if stores else kf.Raise(cond, code, values)
    )


def keep(f: KernelBuilder, contents: Mapping[int, Value]) -> None:
    """Store contents of results of the program where the caller finds them.

    One may lie in the memory of another's result (then their types are equal), so all of a type are moved together.
    """
    moved: dict[Type, list[tuple[Value, Address]]] = {}
    for k, v in contents.items():
        to = f.result(k)
        if not v.type.shape:
            f.block.append(kf.Store(to, (), f.operand(v)))
        elif f.address(v) != Address(to):
            moved.setdefault(v.type, []).append((v, Address(to)))
    for pairs in moved.values():
        move(f, pairs)
