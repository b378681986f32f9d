"""Carried vectors in registers: an array of one vector's length that a loop reads and writes only as that vector.

The directions of forward mode are carried through a loop in the arena, and each trip's first load waits for the store of
the trip before. Where every access in a loop is a vec loop of one trip over all of it, the array becomes a variable with
lanes: loaded before the loop, stored after it. Nothing else in the loop may use that memory; the places that the plan pass
gave say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, Load, Stmt, integer
from irad.codegen.lower.graph import KernelBuilder
from irad.core.ir import Graph, Node, Value, captured
from irad.core.lazy_dataclass import dataclass

Slots = dict[str, int]  # buffers that may become variables, and their lanes
_MOST = 24  # vectors in registers: more of them would be spilled


@dataclass
class InRegisters:
    """What stands before a loop, its blocks, and what stands behind it."""

    before: list[Stmt]
    blocks: list[list[Stmt]]
    after: list[Stmt]


def in_registers(f: KernelBuilder, node: Node, blocks: list[list[Stmt]]) -> InRegisters:
    """The blocks of a loop (body, or test and body) with carried vectors as variables."""
    slots = {} if node.attrs.get("swap") else _slots(node)
    if slots:
        for name in _elsewhere([s for b in blocks for s in b], slots, None):
            slots.pop(name, None)
    written = {s.buf for b in blocks for s in kf.walk(b) if isinstance(s, kf.Store) and s.buf in slots}
    slots = {name: lanes for name, lanes in slots.items() if name in written}
    out = InRegisters([], blocks, [])
    if not slots or len(slots) > _MOST:
        return out
    names = {}
    for slot, lanes in slots.items():
        dtype = slot.rsplit("_", 1)[1]
        names[slot] = var = f.fresh("lanes_var")
        i, x = f.fresh("i"), f.fresh("t")
        load: list[Stmt] = [kf.Let(x, dtype, Load(slot, (integer(i),))), kf.Assign(var, x)]
        out.before += [kf.Var(var, dtype, Const(0, dtype), lanes), _vector(i, lanes, load)]
        i = f.fresh("i")
        out.after.append(_vector(i, lanes, [kf.Store(slot, (integer(i),), var)]))
    out.blocks = [kf.rewritten(b, lambda s: _renamed(s, names)) for b in blocks]
    return out


def _vector(i: str, lanes: int, body: list[Stmt]) -> kf.For:
    return kf.For(i, "vec", 0, lanes, body, lanes=lanes, full=True)


def _renamed(s: Stmt, names: dict[str, str]) -> Stmt:
    if isinstance(s, kf.Store) and s.buf in names:
        return kf.Assign(names[s.buf], s.value)
    if isinstance(s, kf.Let) and isinstance(s.expr, Load) and s.expr.buf in names:
        return kf.Let(s.name, s.dtype, Apply("cast", (names[s.expr.buf],)))
    return s


# ---- memory that only vectors use ------------------------------------------------------------------------------------


def _slots(node: Node) -> Slots:
    """Places of the arena that hold vectors of one type in this loop, and nothing else."""
    types: dict[str, Value] = {}
    mixed: set[str] = set()
    for v in _arrays(node):
        if v.type != types.setdefault(v.at, v).type:
            mixed.add(v.at)
    spans = sorted((int(at[1:]), _end(v), at) for at, v in types.items())
    top, last = -1, ""
    for start, end, at in spans:
        if start < top:
            mixed |= {at, last}
        if end > top:
            top, last = end, at
    slots = {}
    for at, v in types.items():
        if at not in mixed and v.type.rank == 1 and v.type.static and v.type.size in (2, 4, 8, 16):
            slots[f"{at}_{v.type.dtype}"] = v.type.size
    return slots


def _end(v: Value) -> int:
    return int(v.at[1:]) + (v.type.size * v.type.numpy.itemsize if v.type.static else 1 << 60)


def _arrays(node: Node) -> Iterator[Value]:
    """The arrays in the arena that a node and its regions mention."""
    yield from (v for v in (*node.inputs, *node.outputs, *captured(node)) if v.at[:1] == "a")
    for r in node.regions:
        yield from _arrays_of(r)


def _arrays_of(graph: Graph) -> Iterator[Value]:
    yield from (v for v in graph.params if v.at[:1] == "a")
    for n in graph.nodes:
        yield from _arrays(n)


def _elsewhere(body: Sequence[Stmt], slots: Slots, vec: kf.For | None) -> Iterator[str]:
    """The buffers among `slots` that some statement does not use as one vector, under no loop but the one around all."""
    for s in body:
        if isinstance(s, kf.For):
            whole = s.kind == "vec" and s.unroll == 1 and s.lo == 0 and s.hi == s.lanes
            if whole:
                yield from _elsewhere(s.body, slots, s)
            else:
                yield from _mentioned(s.body)
        elif isinstance(s, kf.If):
            yield from _elsewhere(s.then, slots, vec)
            yield from _elsewhere(s.orelse, slots, vec)
        elif isinstance(s, kf.While):
            yield from _mentioned([*s.test, *s.body])
        else:
            for name, access in _uses(s):
                if name == "arena":
                    yield from slots
                lanes = slots.get(name)
                if lanes is not None and not (access and vec is not None and vec.lanes == lanes and _is(access[0], vec.var)):
                    yield name


def _is(i: kf.Index, var: str) -> bool:
    return i == var or integer(i) == integer(var)


def _mentioned(body: Sequence[Stmt]) -> Iterator[str]:
    for s in kf.walk(list(body)):
        yield from (name for name, _ in _uses(s))


def _uses(s: Stmt) -> Iterator[tuple[str, tuple[kf.Index, ...] | None]]:
    """The buffers of a statement, with the place of a plain load or store."""
    if isinstance(s, kf.Let) and isinstance(s.expr, Load):
        yield s.expr.buf, s.expr.idx
    elif isinstance(s, kf.Store):
        yield s.buf, None if s.add else s.idx
    elif isinstance(s, (kf.View, kf.Deref, kf.Prefetch)):
        yield s.buf, None
    elif isinstance(s, (kf.Call, kf.Parallel)):
        yield from ((a, None) for a in (*s.args, *s.writes) if isinstance(a, str))
    elif isinstance(s, kf.Swap):
        yield from ((s.a, None), (s.b, None))
