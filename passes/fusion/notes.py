"""What fusion decided, for `irad explain`: which operations run in which loop, what is stored, and why others run apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from irad.core.ir import Node, Value, reads
from irad.core.notes import Notes, label
from irad.core.types import Dim

if TYPE_CHECKING:
    from irad.passes.fusion.access import Member
    from irad.passes.fusion.groups import Group, Grouping, Nest


def space_text(space: Sequence[Dim]) -> str:
    """Extents as they are printed: (100, 3), (n,)."""
    return "(" + ", ".join(str(d) if isinstance(d, int) else "n" for d in space) + ("," if len(space) == 1 else "") + ")"


def why_apart(made: dict[Value, Node], v: Value, m: Member, g: Group, producer: Member | None, identity: bool) -> str:
    """Why a member does not run in group g, which makes the v that it reads."""
    name = label(v, made)
    if g.space is None:
        node = g.nodes[0]
        return (
            f"{name} is ready only when the {node.op.name} has run"
            if node.op.name != "pop"
            else "what it reads comes from the tape"
        )
    if producer is not None and producer.kind not in ("store",) and len(producer.rows) < len(producer.space):
        return f"{name} is a fold ({producer.kind}) that is complete only when its loop ends"
    if g.space != m.space:
        return f"{name} is made over {space_text(g.space)}, this runs over {space_text(m.space)}"
    if not identity:
        return f"{name} is read at other positions than those where it is made"
    return f"something else that it reads depends on the loop that makes {name}"


def note_unit(grouping: Grouping, unit: Nest, needed: Iterable[Value]) -> Notes:
    """The decisions on one loop of the fused graph: a group, or a nest of groups."""
    (first, *_), stored = unit.parts, set(needed)
    notes = Notes()
    if first.space is None:
        return notes
    made, inside = grouping.defs, {n for g in unit.parts for n in g.nodes}
    nodes = [n for g in unit.parts for n in g.nodes]
    kept = [v for n in nodes for v in n.outputs if v in stored]
    if not kept:
        return notes
    gone = [v for n in nodes for v in n.outputs if v not in stored and v.type.shape]
    inlined = sorted({made[x].op.name for n in nodes for x in reads(n) if x in made and _placed(grouping, made[x])})
    rows = f", {len(unit.parts)} loops row by row over {space_text(first.space[: unit.prefix])}" if unit.prefix else ""
    text = f"one loop over {space_text(max((g.space or () for g in unit.parts), key=len))}{rows}: {_names(nodes)}"
    text += f"; in memory: {', '.join(label(v, made) for v in kept)}"
    if gone:
        text += f"; never stored: {', '.join(label(v, made) for v in gone)}"
    if inlined:
        text += f"; computed where read: {', '.join(inlined)}"
    reason = next((grouping.merged[g] for g in unit.parts if g in grouping.merged), "")
    loc = next((n.loc for n in nodes if n.loc), None)
    notes.add(
        "fusion", text + (f"; {reason}" if reason else ""), loc,
        ops=[n.op.name for n in nodes], space=first.space, prefix=unit.prefix, parts=len(unit.parts),
        stored=[v.hint for v in kept], unstored=len(gone), sibling=bool(reason),
    )  # fmt: skip
    for n in nodes:
        for source, reason in grouping.apart.get(n, {}).items():
            if source in made and made[source] not in inside:
                text = f"{n.op.name} runs apart from the loop before it: {reason}"
                notes.add("fusion", text, n.loc, once=True, apart=n.op.name, reason=reason)
    return notes


def _placed(grouping: Grouping, n: Node) -> bool:
    """Is the node computed wherever it is read, and worth a word?"""
    return grouping.free(n) and n.op.name != "const"


def _names(nodes: Sequence[Node]) -> str:
    """The operations in order, with how often where one comes several times in a row."""
    out: list[tuple[str, int]] = []
    for n in nodes:
        name = f"{n.op.name}'" if n.deriv else n.op.name
        if out and out[-1][0] == name:
            out[-1] = (name, out[-1][1] + 1)
        else:
            out.append((name, 1))
    return ", ".join(name if k == 1 else f"{k} x {name}" for name, k in out)
