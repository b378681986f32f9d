"""Arrays whose place is on a tape, "t0", "t1"...: they are pushed or popped without a copy.

A popped array that is only read stays where it is: nothing is pushed on its tape meanwhile. An array that a fused loop makes and
that is only pushed is made where the push would copy it to; room for it is made before the loop.

Carried arrays live on a tape too: a stencil `u[1:-1] = f(u)` in a loop has two buffers that change places
(irad.passes.memory.pingpong). Where each trip also pushes the whole of u for the backward, its record is one of the two: the trip reads
u in the record and makes the next state in the room for the next record, so nothing is copied but what the stencil leaves alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from irad.core.ir import Graph, Node, Value, defs, reads, uses, walk
from irad.core.switches import on
from irad.core.types import TAPE
from irad.ops.control import for_
from irad.ops.loop import stored_box
from irad.ops.tape_flow import Sources, TapeFlow, has_tapes

READERS = ("loop", "index")  # they look an array up by its place
LEAST = 1 << 10  # bytes: copying a smaller array costs next to nothing

Root = Callable[[Value], Value]  # the same for all tapes that share memory
Groups = tuple[list[Value], list[Value]]


def place_on_tapes(graph: Graph, sources: Sources) -> set[Value]:
    """Give what can be on a tape its place there, and say what that is. Values that share memory have one place already.

    `sources`: where the tapes of the program's functions come from.
    """
    if not on("taped") or not any(v.type == TAPE for n in walk(graph) for v in (*n.inputs, *n.outputs)):
        return set()
    groups = list(_groups(graph, TapeFlow(graph, sources).root))
    for k, group in enumerate(groups):
        for v in group:
            v.at = f"t{k}"
    return {v for group in groups for v in group}


def _groups(graph: Graph, root: Root) -> Iterator[list[Value]]:
    """Arrays that are one place on a tape."""
    if has_tapes(graph):
        yield from ([v] for v in popped_in_place(graph, root))
        yield from made_in_place(graph)
    for n in graph.nodes:
        if n.op is for_:
            for state, following in taped_carries(n, root):
                yield state
                yield following
        if n.op.name != "loop":
            for r in n.regions:
                yield from _groups(r, root)


def popped_in_place(graph: Graph, root: Root) -> list[Value]:
    """Arrays of the graph's pops that can be read in the tape. `root`: the same for all tapes that share memory."""
    found: list[Value] = []
    for k, n in enumerate(graph.nodes):
        if n.op.name == "pop" and any(v.type.shape for v in n.outputs[1:]):
            after = graph.nodes[k + 1 :]
            own = root(n.outputs[0])
            end = next((j for j, m in enumerate(after) if _disturbs(m, own, root)), len(after))
            found += [v for v in n.outputs[1:] if v.type.shape and v not in graph.results and _only_read(v, after, end)]
    return found


def _disturbs(n: Node, tape: Value, root: Root) -> bool:
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


def made_in_place(graph: Graph) -> list[list[Value]]:
    """Arrays that loops can make in a tape, each with the memory it is made in. One loop makes arrays for one push."""
    out: list[list[Value]] = []
    seen: set[Node] = set()
    made, place = defs(graph), {n: k for k, n in enumerate(graph.nodes)}
    for push in graph.nodes:
        if push.op.name != "push" or not all(v.type.static for v in push.inputs[1:]):
            continue
        makers = {made[v] for v in push.inputs[1:] if v.type.shape and v in made}
        maker = makers.pop() if len(makers) == 1 else None
        if maker is None or maker.op.name != "loop" or maker in seen:
            continue
        vs = [v for v in push.inputs[1:] if v in maker.outputs and _made_for(v, maker, graph)]
        tape = made.get(push.inputs[0])  # what was popped from it before may still be read
        if vs and (tape is None or place[tape] < place[maker] and tape.op.name != "pop"):
            seen.add(maker)
            out += [[v, maker.inputs[maker.outputs.index(v)]] for v in vs]
    return out


def _made_for(v: Value, maker: Node, graph: Graph) -> bool:
    """Is v all written by the loop, into memory that nothing else is in, and then pushed once and no more?"""
    position, outs, count = maker.outputs.index(v), maker.attrs["outs"], uses(graph)
    if not v.type.shape or any(o.width != 1 for o in outs):
        return False
    dest = maker.inputs[position]
    fresh = dest in defs(graph) and defs(graph)[dest].op.name == "empty"
    return outs[position].kind == "store" and fresh and v.at == dest.at and count[v] == count[dest] == 1


# ---- carries ----------------------------------------------------------------------------------------------------------


def taped_carries(node: Node, root: Root) -> list[Groups]:
    """The carries of a `for` that can live on its tape: for each push all arrays of its record, or none of them."""
    (body,) = node.regions
    params = body.params[1:]
    swap = {params[k]: (k, other) for k, other in node.attrs.get("swap", ())}
    for push in (n for n in body.nodes if swap and n.op.name == "push"):
        arrays = [v for v in push.inputs[1:] if v.type.shape]
        if arrays and len(set(arrays)) == len(arrays) and swap.keys() >= set(arrays) and _alone(push, body, root):
            found = [c for p in arrays if (c := _carry(push, *swap[p], body))]
            if len(found) == len(arrays):
                return found
    return []


def _carry(push: Node, k: int, other: int, body: Graph) -> Groups | None:
    params = body.params[1:]
    p = params[k]
    if not p.type.static or p.type.size * p.type.numpy.itemsize < LEAST or not _stays(p, push, body):
        return None
    made = _made(body, body.results[k], params[other])
    return ([p], [params[other], *(v for v, _ in made)]) if made and _most(made, p) else None


def _alone(push: Node, body: Graph, root: Root) -> bool:
    """Is it the only node of the body that touches its tape?"""
    own = root(push.inputs[0])
    touched = [n for n in walk(body) if any(v.type == TAPE and root(v) is own for v in (*n.inputs, *n.outputs))]
    return touched == [push] and push.inputs[0] in body.params


def _stays(p: Value, push: Node, body: Graph) -> bool:
    """Is p left as it is? Do only fused loops, look-ups and the push read p before it is carried on?"""
    readers = [n for n in body.nodes if n is not push and p in reads(n)]
    return body.results.count(p) == 1 and all(
        n.op.name in READERS and (n.op.name == "index" or p not in n.inputs) for n in readers
    )


def _made(body: Graph, state: Value, into: Value) -> list[tuple[Value, Node]] | None:
    """The fused loops that store the new state `into` the other buffer, one after another, and what each gives."""
    made = {v: n for n in body.nodes if n.op.name == "loop" for v in n.outputs}
    count, found, v = uses(body), list[tuple[Value, Node]](), state
    while v is not into:
        n = made.get(v)
        if n is None or count[v] != 1 or v.at != into.at or len(n.inputs) != len(n.attrs["outs"]):
            return None
        found.append((v, n))
        v = n.inputs[n.outputs.index(v)]
    return found if count.get(into) == 1 else None


def _most(made: list[tuple[Value, Node]], p: Value) -> bool:
    """Does one of the loops store a box that is most of the array? The rest of the old state is copied."""
    boxes = [b for v, n in made if (b := stored_box(n, n.outputs.index(v))) is not None]
    return max((4 * prod(to - start for start, to in b) for b in boxes), default=0) >= max(3 * p.type.size, 1)
