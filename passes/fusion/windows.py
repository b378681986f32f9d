"""Windows: gathers at `i + j`, as sliding_window_view makes them, and any others whose positions are affine.

A contraction over windows is a convolution. Its windows are read through affine maps (`x[h + i, w + j]`), or copied into a matrix
of patches first where that is cheaper (irad.passes.contractions.patches). Its adjoint: irad.passes.contractions.scatter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from irad.core.affine import LINEAR, applied
from irad.core.ir import Node, Value
from irad.core.types import I64, Dim, affine
from irad.ops.array import Slice, Spec, located, operand_types

Defs = dict[Value, Node]


def only_units(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Do two shapes differ in axes of extent 1 only?"""
    return [d for d in a if d != 1] == [d for d in b if d != 1]


def affine_index(get: Callable[[Value], Node | None], v: Value, pos: Sequence[Dim]) -> Dim | None:
    """Element `pos` of an array of positions as an affine integer: sums and multiples of iotas, constants. None for any other."""
    n = get(v)
    if n is None:
        return None
    name = n.op.name
    if name == "iota":
        return pos[n.attrs["axis"]]
    if name == "const":
        value = np.asarray(n.attrs["value"])
        return _affine_constant(value, pos) if value.ndim else int(value)
    if name == "reshape" and only_units(n.inputs[0].type.shape, n.out.type.shape):
        kept = iter(p for p, d in zip(pos, n.out.type.shape) if d != 1)
        return affine_index(get, n.inputs[0], [0 if d == 1 else next(kept) for d in n.inputs[0].type.shape])
    if name == "broadcast":
        (x,) = n.inputs
        out = n.out.type.shape
        return affine_index(get, x, [0 if d == 1 and out[k] != 1 else pos[k] for d, k in zip(x.type.shape, n.attrs["dims"])])
    if name in LINEAR:
        xs = [affine_index(get, x, pos) for x in n.inputs]
        return None if None in xs else applied(name, *xs)
    return None


def _affine_constant(x: np.ndarray, pos: Sequence[Dim]) -> Dim | None:
    """Element `pos` of an array of numbers that grow by one step along each axis; None if they do not."""
    if not x.size:
        return None
    steps = [int(np.take(x, 1, k).flat[0]) - int(x.flat[0]) if n > 1 else 0 for k, n in enumerate(x.shape)]
    grid = sum(
        (np.arange(n).reshape([-1 if j == k else 1 for j in range(x.ndim)]) * c for k, (n, c) in enumerate(zip(x.shape, steps))),
        x.flat[0],
    )
    if not np.array_equal(np.broadcast_to(grid, x.shape), x):
        return None
    out: Dim = int(x.flat[0])
    for p, c in zip(pos, steps):
        out = out + p * c
    return out


def static_position(
    get: Callable[[Value], Node | None], spec: Spec, operands: Sequence[Value], pos: Sequence[Dim]
) -> tuple[Dim, ...] | None:
    """Where element `pos` of a view, gather or update stands in the array, as affine integers; None if a position is something else."""
    if "scalar" in operand_types(spec):
        return None
    first = sum(isinstance(s, Slice) for s in (spec[: spec.index("g")] if operands else spec))
    rank = operands[0].type.rank if operands else 0
    rest = iter((*pos[:first], *pos[first + rank :]))
    out: list[Dim] = []
    for s, at in located(spec, operands):
        if isinstance(s, Slice):
            at = at + next(rest) * s.step
        elif s == "g":
            at = affine_index(get, at, pos[first : first + rank])
        if at is None:
            return None
        out.append(at)
    return tuple(out)


def is_window(get: Callable[[Value], Node | None], node: Node) -> bool:
    """A gather whose positions are affine in the indices of the result."""
    if node.op.name != "index" or "g" not in node.attrs["spec"]:
        return False
    probe = [affine(0, {Value(I64): 1}) for _ in node.out.type.shape]
    return static_position(get, node.attrs["spec"], node.inputs[1:], probe) is not None


def under_window(view: Callable[[Value], Node | None], v: Value) -> bool:
    """Is v a view of windows? `view`: the node to look through, as for `Operands`."""
    while (node := view(v)) is not None and node.inputs:
        if node.op.name == "index" and "g" in node.attrs["spec"]:
            return True
        v = node.inputs[0]
    return False
