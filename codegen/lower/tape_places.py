"""Arrays that are pushed or popped and are in the tape's memory itself, without a copy.

A popped array that is only read stays where it is: nothing is pushed on its tape meanwhile. An array that a fused loop makes and
that is only pushed is made where the push would copy it to; room for it is made before the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irad.core.ir import Graph, Node, Value, defs, reads, uses, walk
from irad.core.types import TAPE

READERS = ("loop", "index")  # they look an array up by its place


def popped_in_place(graph: Graph, root: Callable[[Value], Value]) -> set[Value]:
    """Arrays of the graph's pops that can be read in the tape. `root`: the same for all tapes that share memory."""
    found: set[Value] = set()
    for k, n in enumerate(graph.nodes):
        if n.op.name == "pop" and any(v.type.shape for v in n.outputs[1:]):
            after = graph.nodes[k + 1 :]
            own = root(n.outputs[0])
            end = next((j for j, m in enumerate(after) if _disturbs(m, own, root)), len(after))
            found |= {v for v in n.outputs[1:] if v.type.shape and v not in graph.results and _only_read(v, after, end)}
    return found


def _disturbs(n: Node, tape: Value, root: Callable[[Value], Value]) -> bool:
    """May what the node does with the tape, or with another that shares its memory, overwrite what was popped?"""
    if n.op.name == "pop":
        return False
    inner = (v for r in n.regions for m in walk(r) for v in (*m.inputs, *m.outputs))
    return any(v.type == TAPE and root(v) is tape for vs in (n.inputs, n.outputs, inner) for v in vs)


def _only_read(v: Value, nodes: Sequence[Node], end: int) -> bool:
    """Do only fused loops and look-ups among the first `end` nodes read v, none of them writing over it?"""
    for k, n in enumerate(nodes):
        if v in reads(n) and (k >= end or n.op.name not in READERS or n.op.name == "loop" and v in n.inputs):
            return False
    return True


def made_in_place(graph: Graph) -> dict[Node, tuple[Node, list[Value]]]:
    """Loops that can make arrays in a tape: the push that wants them, and which they are."""
    out: dict[Node, tuple[Node, list[Value]]] = {}
    made, place = defs(graph), {n: k for k, n in enumerate(graph.nodes)}
    for push in graph.nodes:
        if push.op.name != "push" or not all(v.type.static for v in push.inputs[1:]):
            continue
        makers = {made[v] for v in push.inputs[1:] if v.type.shape and v in made}
        maker = makers.pop() if len(makers) == 1 else None
        if maker is None or maker.op.name != "loop" or maker in out:
            continue
        vs = [v for v in push.inputs[1:] if v in maker.outputs and _made_for(v, maker, graph)]
        tape = made.get(push.inputs[0])  # what was popped from it before may still be read
        if vs and (tape is None or place[tape] < place[maker] and tape.op.name != "pop"):
            out[maker] = (push, vs)
    return out


def _made_for(v: Value, maker: Node, graph: Graph) -> bool:
    """Is v all written by the loop, into memory that nothing else is in, and then pushed once and no more?"""
    position, outs, count = maker.outputs.index(v), maker.attrs["outs"], uses(graph)
    if not v.type.shape or any(o.width != 1 for o in outs):
        return False
    dest = maker.inputs[position]
    fresh = dest in defs(graph) and defs(graph)[dest].op.name == "empty"
    return outs[position].kind == "store" and fresh and v.at == dest.at and count[v] == count[dest] == 1


def has_tapes(graph: Graph) -> bool:
    return any(v.type == TAPE for n in graph.nodes for v in (*n.inputs, *n.outputs))
