"""Carried arrays that live on a tape: each trip makes the new state where the next trip's push would copy it to.

A stencil `u[1:-1] = f(u)` in a loop has two buffers that change places (irad.passes.memory.pingpong). Where each trip also pushes the
whole of u for the backward, its record is one of the two: the trip reads u in the record and makes the next state in the room
for the next record, so only the border, which the stencil leaves alone, is copied.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from irad.codegen.lower.tape_places import READERS
from irad.core.ir import Graph, Node, Value, reads, uses, walk
from irad.core.lazy_dataclass import dataclass
from irad.core.types import TAPE

Box = list[tuple[int, int]]  # per axis: from, to
LEAST = 1 << 10  # bytes: copying a smaller array costs next to nothing


@dataclass(frozen=True)
class TapedCarry:
    """Carry `k` of a loop, which swaps with carry `other`, and is an entry of the record of `push` in each trip."""

    k: int
    other: int
    push: Node
    made: tuple[Value, ...]  # names of the new state: the parameter of the other carry, and what the stencil's loops give
    box: Box  # what one of them stores; the rest of the old state is copied


def taped_carries(node: Node, root: Callable[[Value], Value]) -> list[TapedCarry]:
    """The carries of a `for` that can live on its tape: all arrays of the record of one push, or none.

    `root`: the same for all tapes that share memory.
    """
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


def _carry(push: Node, k: int, other: int, body: Graph) -> TapedCarry | None:
    params = body.params[1:]
    p = params[k]
    if not p.type.static or p.type.size * p.type.numpy.itemsize < LEAST or not _stays(p, push, body):
        return None
    made = _made(body, body.results[k], params[other])
    box = _box(made, p) if made else None
    return TapedCarry(k, other, push, (params[other], *(v for v, _ in made)), box) if made and box else None


def _alone(push: Node, body: Graph, root: Callable[[Value], Value]) -> bool:
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


def _box(made: list[tuple[Value, Node]], p: Value) -> Box | None:
    """The largest box that one of the loops stores, if it is most of the array."""
    boxes = [b for v, n in made if (b := _stored(n, n.outputs.index(v))) is not None]
    best = max(boxes, key=_size, default=None)
    return best if best is not None and 4 * _size(best) >= 3 * p.type.size else None


def _size(box: Box) -> int:
    return prod(to - start for start, to in box)


def _stored(n: Node, j: int) -> Box | None:
    """The elements that out j of a loop stores, where they are a box."""
    out, extents = n.attrs["outs"][j], n.attrs["extents"]
    axes = [[k for k, c in enumerate(row[:-1]) if c] for row in out.map.rows]
    whole = out.kind == "store" and not out.extra and out.width == 1 and all(isinstance(d, int) for d in extents)
    if (
        not whole
        or any(len(a) != 1 or row[a[0]] != 1 for a, row in zip(axes, out.map.rows))
        or len({a[0] for a in axes}) != len(axes)
    ):
        return None
    return [(row[-1], row[-1] + extents[a]) for (a,), row in zip(axes, out.map.rows)]
