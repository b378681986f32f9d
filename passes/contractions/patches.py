"""Windows as a matrix (im2col), and its adjoint: a matrix added up over windows (col2im).

Patches are copied through the affine maps of the windows by a loop of their own, in the order in which a product reads them best.
The memory they take is an array like any other, and at most MOST_PATCHES.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irad.core.ir import Builder, Graph, Node, Value, current
from irad.core.notes import Notes, size_text
from irad.core.types import Dim, Type
from irad.ops.constant import empty
from irad.ops.loop import Map, Out, load, loop
from irad.passes.fusion.access import Position, as_dim, indices

MOST_PATCHES = 1 << 25  # bytes
CHOICE: str | None = None  # "direct" or "patches": what tests want instead of the cheaper one


def may_copy(v: Value) -> bool:
    """May the windows v be copied?"""
    return CHOICE != "direct" and v.type.size * v.type.numpy.itemsize <= MOST_PATCHES


def note_patches(notes: Notes, v: Value, node: Node) -> None:
    """Windows of a contraction that are copied."""
    size = v.type.size * v.type.numpy.itemsize
    text = f"windows {v.type} copied into a matrix of patches, {size_text(size)}"
    notes.add("contraction", text, node.loc, kind="windows", choice="patches", bytes=size)


def note_direct(notes: Notes, v: Value, node: Node) -> None:
    """Windows of a contraction that are read where they lie."""
    notes.add("contraction", f"windows {v.type} read where they lie", node.loc, kind="windows", choice="direct", bytes=0)


def patches(v: Value, perm: Sequence[int], read: Callable[[Value, Position], Value]) -> Value:
    """A copy of v with its axes in the order `perm`. `read` emits an element of it."""
    shape = [int(v.type.shape[p]) for p in perm]  # type: ignore[arg-type]
    index = indices(len(shape))
    pos: list[Dim] = [0] * len(perm)
    for i, p in zip(index, perm):
        pos[p] = as_dim(i)
    t = Type(v.type.dtype, tuple(shape))
    return _loop(
        index, shape, lambda: read(v, tuple(pos)), "store", tuple(map(as_dim, index)), empty(type=t), Value(t, "patches")
    )


def added(columns: Value, index: Sequence[Value], at: Position, dest: Value, out: Value) -> Value:
    """`out`, which is `dest` with each element of `columns` added: that at `index` to that at the affine position `at`."""
    shape = [int(d) for d in columns.type.shape]  # type: ignore[arg-type]
    return add_up(index, shape, lambda: load(columns, *index, map=Map.identity(len(shape))), at, dest, out)


def add_up(
    index: Sequence[Value], shape: Sequence[int], value: Callable[[], Value], at: Position, dest: Value, out: Value
) -> Value:
    """`out`, which is `dest` with the value for each index added at the affine position `at`."""
    return _loop(index, shape, value, "add", at, dest, out)


def _loop(
    index: Sequence[Value], shape: Sequence[int], value: Callable[[], Value], kind: str, at: Position, dest: Value, out: Value
) -> Value:
    b = current()
    with Builder(b.loc, deriv=bool(b.deriv)) as body:
        element = value()
    rows = Map.of(at, index)
    attrs = {"extents": tuple(shape), "outs": (Out(kind, rows),)}
    graph = Graph(tuple(index), tuple(body.nodes), (element,))
    b.nodes.append(Node(loop, (dest,), (out,), attrs, (graph,), b.loc, bool(b.deriv)))
    return out
