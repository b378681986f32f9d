"""Lowering of tapes: growable stacks of 8-byte words.

A tape is a slot of three words in the context (or, in a called function, in its frame): address, capacity, top. Inside a
kernel the top is a variable in a register; it is stored to the slot where the tape leaves the kernel. Memory is grown by
`irad_grow`, which is part of every module with a kernel that pushes, and is kept with the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from irad.codegen.interface import SLOT, ErrorCode
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, integer
from irad.codegen.lower.control import each, move, over
from irad.codegen.lower.graph import Address, KernelBuilder, Tape, on_tape, rule
from irad.codegen.schedule.notes import note_push
from irad.core.affine import Integer
from irad.core.ir import Graph, Node, Value, defs, uses
from irad.core.lazy_dataclass import dataclass
from irad.ops.loop import Box, stored_box


def words(f: KernelBuilder, v: Value) -> Integer:
    """8-byte words that a value takes on a tape."""
    if not v.type.shape:
        return 1
    if v.type.static:
        return integer(-(-v.type.size * v.type.numpy.itemsize // 8))
    size: Integer = 1
    for d in v.type.shape:
        size = size * f.dim(d)
    return size  # at most 8 bytes an element


@rule("tape")
def _tape(f: KernelBuilder, node: Node) -> None:
    f.start_tape(node.out)


@rule("push")
def _push(f: KernelBuilder, node: Node) -> None:
    t, *entries = node.inputs
    tape = f.tape(t)
    note_push(f, node, _total(f, entries))
    need = f.reserved[node] if node in f.reserved else _reserve(f, tape, entries)
    at = integer(tape.top)
    for v in entries:
        if not on_tape(v):
            _write(f, tape, at, v)
        at = at + words(f, v)
    f.block.append(kf.Assign(tape.top, need))


def _total(f: KernelBuilder, entries: Sequence[Value]) -> Integer:
    total: Integer = 0
    for v in entries:
        total = total + words(f, v)
    return total


def _reserve(f: KernelBuilder, tape: Tape, entries: Sequence[Value], times: int = 1) -> str:
    """Make room for so many pushes; where the tape will end."""
    need = f.let(Apply("add", (tape.top, _total(f, entries) * times)), "i64", "need")
    capacity = f.let(kf.Load(tape.buf, (tape.slot + 1,)), "i64", "cap")
    full = f.let(Apply("gt", (need, capacity)), "bool", "full")
    f.block.append(kf.If(full, f.within(lambda: _grow(f, tape, need))))
    return need


def make_room(f: KernelBuilder, loop: Node) -> None:
    """Make room on the tape before a loop whose arrays are pushed, so that the loop makes them there."""
    vs = [v for v in loop.outputs if on_tape(v) and v not in f.addresses]
    if not vs:
        return
    push = _push_of(vs[0], f.graph)
    t, *entries = push.inputs
    tape = f.tape(t)
    f.reserved[push] = _reserve(f, tape, entries)
    at = integer(tape.top)
    for v in entries:
        if v in vs:
            mem, per = _memory(f, tape, v.type.dtype)
            f.addresses[v] = f.addresses[loop.inputs[loop.outputs.index(v)]] = Address(mem, at * per)
        at = at + words(f, v)


def _push_of(v: Value, graph: Graph) -> Node:
    return next(n for n in graph.nodes if n.op.name == "push" and v in n.inputs[1:])


# ---- carries that live on the tape, see irad.passes.memory.tape_places -------------------------------------------------


@dataclass(frozen=True)
class TapedCarry:
    """Carry `k` of a loop, which is an entry of the record of `push` in each trip."""

    k: int
    push: Node
    made: tuple[Value, ...]  # names of the new state: the parameter of the carry that it swaps with, and what loops give
    box: Box  # what one of them stores; the rest of the old state is copied


def taped_carries(loop: Node) -> list[TapedCarry]:
    """The carries of a `for` that the plan pass put on its tape."""
    (body,) = loop.regions
    params = body.params[1:]
    return [_taped_carry(body, k, params[k], params[j]) for k, j in loop.attrs.get("swap", ()) if on_tape(params[k])]


def _taped_carry(body: Graph, k: int, state: Value, into: Value) -> TapedCarry:
    made, boxes, v, makers = [into], [], body.results[k], defs(body)
    while v is not into:
        n = makers[v]
        made.append(v)
        boxes.append(stored_box(n, n.outputs.index(v)))
        v = n.inputs[n.outputs.index(v)]
    box = max((b for b in boxes if b is not None), key=lambda b: prod(to - start for start, to in b))
    return TapedCarry(k, _push_of(state, body), tuple(made), box)


def start_on_tape(f: KernelBuilder, loop: Node, carries: Sequence[TapedCarry]) -> None:
    """Put the first states, before the loop, where the first push would copy them to."""
    t, *entries = carries[0].push.inputs
    tape = f.tape(t)
    _reserve(f, tape, entries)
    for c in carries:
        _write(f, tape, _entry(f, loop, c) + integer(tape.top), loop.inputs[1 + c.k])


def carry_on_tape(f: KernelBuilder, loop: Node, carries: Sequence[TapedCarry]) -> None:
    """At the start of a trip: the states are in this trip's record, the next ones are made in the next record, borders first."""
    push, (body,) = carries[0].push, loop.regions
    t, *entries = push.inputs
    tape, record = f.tape(t), _total(f, entries)
    _reserve(f, tape, entries, 2)
    at = integer(f.let(Apply("cast", (tape.top,)), "i64", "at"))  # where the top is now; the push moves it
    states = [body.params[1 + c.k] for c in carries]
    f.reserved[push] = f.let(Apply("add", (tape.top, record)), "i64", "end")
    for c, p in zip(carries, states):
        mem, per = _memory(f, tape, p.type.dtype)
        old, new, here = f.fresh("state"), f.fresh("next"), at + _entry(f, loop, c)
        for name, start in ((old, here), (new, here + record)):
            f.block.append(kf.View(name, mem, (p.type.size,), start * per, p.type.dtype))
        f.addresses[p] = Address(old)
        f.addresses.update(dict.fromkeys(c.made, Address(new)))
        _border(f, p, new, c.box)


def end_on_tape(f: KernelBuilder, loop: Node, c: TapedCarry) -> None:
    """Move the last state, which no trip has pushed, out of the tape's memory after the loop."""
    t = c.push.inputs[0]
    tape, out = f.tape(t), loop.outputs[c.k]
    if not uses(f.graph).get(out):
        return
    mem, per = _memory(f, tape, out.type.dtype)
    to = f.address(out)
    at = (_entry(f, loop, c) + integer(tape.top)) * per
    over(f, out, lambda i: _copy_element(f, Address(mem, at), to, i, out.type.dtype))


def _copy_element(f: KernelBuilder, a: Address, b: Address, i: Integer, dtype: str) -> list[kf.Stmt]:
    """Copy element i."""
    x = f.fresh("x")
    return [kf.Let(x, dtype, kf.Load(a.buf, (a.offset + i,))), kf.Store(b.buf, (b.offset + i,), x)]


def _entry(f: KernelBuilder, loop: Node, c: TapedCarry) -> Integer:
    """Where the state is in a record."""
    entries = c.push.inputs[1:]
    return _total(f, entries[: entries.index(loop.regions[0].params[1 + c.k])])


def _border(f: KernelBuilder, v: Value, into: str, box: Box) -> None:
    """Copy the elements of v outside of the box."""
    dims, source = v.type.dims, f.address(v).buf

    def copy(at: Integer, count: int) -> None:
        a, b = Address(source, at), Address(into, at)
        each(f, integer(count), v.type.numpy.itemsize, lambda i: _copy_element(f, a, b, i, v.type.dtype))

    def axis(k: int, at: Integer) -> None:
        if box[k:] == [(0, d) for d in dims[k:]]:
            return
        (lo, hi), stride, i = box[k], prod(dims[k + 1 :]), f.fresh("i")
        for start, to in ((0, lo), (hi, dims[k])):
            if to > start:
                copy(at + start * stride, (to - start) * stride)
        if k + 1 < len(dims):
            f.block.append(kf.For(i, "seq", lo, hi, f.within(lambda: axis(k + 1, at + integer(i) * stride))))

    axis(0, 0)


def _grow(f: KernelBuilder, tape: Tape, need: str) -> None:
    slot = f.fresh("slot")
    f.out.raises.append(ErrorCode("MemoryError", "no memory for the values that the backward needs", (), None))
    f.block.append(kf.View(slot, tape.buf, (SLOT,), tape.slot))
    signature = ("i64", "ptr", "i64", "i64")
    args = (slot, need, Const(len(f.out.raises), "i64"))
    f.block.append(kf.Call(kf.GROW_NAME, args, signature, f.fresh("status"), "i64", writes=(tape.buf,), check=True))
    f.out.grows = True


def _memory(f: KernelBuilder, tape: Tape, dtype: str) -> tuple[str, int]:
    """The tape's memory as a buffer of a dtype, and elements per word."""
    name, per, size = f.fresh("mem"), 8 // f.itemsize(dtype), None
    if f.out.lives:
        size = integer(f.let(kf.Load(tape.buf, (tape.slot + 1,)), "i64", "cap")) * per
    f.block.append(kf.Deref(name, tape.buf, tape.slot, dtype, size))
    return name, per


def _write(f: KernelBuilder, tape: Tape, at: Integer, v: Value) -> None:
    mem, per = _memory(f, tape, v.type.dtype)
    if not v.type.shape:
        f.block.append(kf.Store(mem, (at * per,), f.operand(v)))
        return
    move(f, [(v, Address(mem, at * per))])


@rule("pop")
def _pop(f: KernelBuilder, node: Node) -> None:
    tape = f.tape(node.inputs[0])
    entries = node.outputs[1:]
    if not entries:
        return
    total: Integer = 0
    for v in entries:
        total = total + words(f, v)
    top = f.let(Apply("sub", (tape.top, total)), "i64", "at")
    f.block.append(kf.Assign(tape.top, top))
    if f.out.lives:
        f.popped.append((tape, top, total))
    at = integer(top)
    for v in entries:
        if on_tape(v):
            mem, per = _memory(f, tape, v.type.dtype)
            f.addresses[v] = Address(mem, at * per)
        else:
            _read(f, tape, at, v)
        at = at + words(f, v)


def _read(f: KernelBuilder, tape: Tape, at: Integer, v: Value) -> None:
    mem, per = _memory(f, tape, v.type.dtype)
    if not v.type.shape:
        f.env[v] = f.let(kf.Load(mem, (at * per,)), v.type.dtype, v.hint or "v")
        return
    x, b = f.fresh("x"), f.address(v)
    over(f, v, lambda i: [kf.Let(x, v.type.dtype, kf.Load(mem, (at * per + i,))), kf.Store(b.buf, (b.offset + i,), x)])
