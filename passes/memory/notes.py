"""What the plan decided, for `irad explain`: in-place reuse, copies that stay, and who holds the arena at its peak."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from irad.core.ir import Graph, Node, Value, walk
from irad.core.lazy_dataclass import dataclass
from irad.core.notes import Notes, label, size_text
from irad.errors import Loc
from irad.ops.array import copy as copy_op
from irad.ops.regions import BRANCHES, is_loop
from irad.passes.memory.lives import Lives


@dataclass(frozen=True)
class Holder:
    """An array in the arena at its peak. `bytes`: of its memory, padded; `first`, `last`: where it is made and last read; `kept`: made
    by the forward, last read by the backward."""

    name: str
    type: str
    bytes: int
    first: Loc | None
    last: Loc | None
    kept: bool


@dataclass(frozen=True)
class MemoryTable:
    """The memory of a graph. `arena`: bytes laid out; `peak`: bytes that are live at once at most, held by `holders`, largest first."""

    arena: int
    peak: int
    at: Loc | None
    holders: tuple[Holder, ...]


def note_plan(
    notes: Notes,
    graph: Graph,
    lives: Lives,
    of: Mapping[Value, Any],
    over: Iterable[tuple[Value, Value]],
    refused: Iterable[Value],
    arena: int,
    entry: bool,
) -> None:
    """Add the decisions. `of`: the place of each array; `over`: (operand, result written over it); `refused`: donated, and not taken."""
    made = {v: n for n in walk(graph) for v in n.outputs}
    for a, b in over:
        notes.add("memory", f"{label(b, made)} is written over {label(a, made)}, which dies there", _loc(b, made), over=True)
    for a, b in lives.wanted:
        x, y = of.get(a), of.get(b)
        if x is y or x is None or y is None:
            continue
        why = "read only" if x.readonly or y.readonly else "both results" if x.fixed and y.fixed else "both are live"
        text = f"{label(a, made)} is copied, {_bytes(b)} bytes: source and copy cannot share memory ({why})"
        notes.add("memory", text, _loc(b, made), copied=_bytes(b))
    for v in refused:
        why = _refusal(v, graph.results, of, lives, made)
        notes.add("memory", f"{label(v, made)} is donated, but no result takes its memory: {why}", given=True)
    for n in walk(graph):
        if is_loop(n) and any(v.type.shape for v in n.outputs):
            copied = _copied(n.regions[-1], of)
            notes.add("memory", f"each trip of the loop copies {size_text(copied) if copied else 'nothing'}", n.loc, trip=copied)
    if entry:
        notes.table = _table(lives, of, made, arena)


def _refusal(v: Value, results: Sequence[Value], of: Mapping[Value, Any], lives: Lives, made: Mapping[Value, Node]) -> str:
    """Why no result is in the memory of a donated parameter."""
    like = [of[r] for r in results if r.type == v.type and r in of]
    if not like:
        return f"none is {v.type}"
    last = lives.spans[v][-1][1] - 1
    late = [place for place in like if min(place.lives)[0] <= last]
    if not late:
        return f"those of type {v.type} lie in other memory"
    begun, read = min(late[0].lives)[0] >> 1, lives.nodes[last >> 1]
    computed = [r for r in late[0].values if r in made and not made[r].op.fills]
    here = label(min(computed, key=lambda r: lives.spans[r][0]), made) if computed else "a result"
    if begun == last >> 1:
        return f"the loop that makes {here} reads it elsewhere than where it writes"
    return f"{f'line {read.loc.line}' if read.loc else 'another operation'} reads it when {here} is already written"


def _copied(body: Graph, of: Mapping[Value, Any]) -> int:
    """Bytes that one trip copies from place to place; what loops inside of it copy is said of those."""
    total = 0
    for n in body.nodes:
        if n.op is copy_op and n.out.type.shape and of.get(n.inputs[0]) is not of.get(n.out):
            total += _bytes(n.out)
        if n.op.name in BRANCHES:
            total += max(_copied(r, of) for r in n.regions)
    return total


def _loc(v: Value, made: Mapping[Value, Node]) -> Loc | None:
    return made[v].loc if v in made else None


def _bytes(v: Value) -> int:
    return v.type.size * v.type.numpy.itemsize if v.type.static else 0


def _table(lives: Lives, of: Mapping[Value, Any], made: Mapping[Value, Node], arena: int) -> MemoryTable:
    free = list(dict.fromkeys(p for p in of.values() if not p.fixed))
    total = lambda t: sum(p.size for p in free if any(lo <= t < hi for lo, hi in p.lives))
    starts = sorted({lo for p in free for lo, _ in p.lives})
    if not starts:
        return MemoryTable(arena, 0, None, ())
    peak = max(starts, key=total)
    holders = [_holder(p, peak, lives, made) for p in free if any(lo <= peak < hi for lo, hi in p.lives)]
    holders.sort(key=lambda h: -h.bytes)
    node = lives.nodes.get(peak >> 1)
    return MemoryTable(arena, total(peak), node.loc if node else None, tuple(holders))


def _holder(place: Any, t: int, lives: Lives, made: Mapping[Value, Node]) -> Holder:
    """Who is in a place at position t: of values that share it, the one that is read last."""
    here = [v for v in place.values if any(lo <= t < hi for lo, hi in lives.spans[v])] or place.values
    v = max(here, key=lambda v: lives.spans[v][-1][1])
    first = min(here, key=lambda v: lives.spans[v][0][0])
    named = next((u for u in (v, *here) if u.hint), v)
    born, last = lives.nodes.get(lives.spans[first][0][0] >> 1), lives.nodes.get((lives.spans[v][-1][1] - 1) >> 1)
    kept = born is not None and last is not None and not _derives(born) and _derives(last)
    return Holder(label(named, made), str(v.type), place.size, born.loc if born else None, last.loc if last else None, kept)


def _derives(n: Node) -> bool:
    return n.deriv or any(m.deriv for r in n.regions for m in walk(r))
