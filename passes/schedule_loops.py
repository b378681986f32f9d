"""Checkpoints for long loops: when the states that a backward reads are too much to keep, keep every k-th.

A loop of n trips becomes ceil(n / k) blocks of k trips, each inside a `checkpoint`: the forward saves what the loop carries
at the start of each block, the backward runs one block again with a tape and sweeps it, then the block before. With k
about sqrt(n) that is O(sqrt(n)) states for one more run of the loop, of the same bits (Chen et al., "Training deep nets
with sublinear memory cost", 2016; the optimal schedules are in Griewank and Walther, "Algorithm 799: revolve", 2000).
"""

from __future__ import annotations

from math import isqrt

from irad.ir import Builder, Node, Value, build, emit, inline
from irad.ops.constant import scalar
from irad.ops.control import checkpoint, for_
from irad.ops.elementwise import add, cast, floor_divide, maximum, minimum, mul, sqrt, sub
from irad.types import I64

BUDGET = 1 << 22  # bytes of tape that a loop may fill
STATE = 1 << 12  # bytes a trip; loops that save less are never cut
BLOCK = 8  # trips of a block, at least


def worthwhile(trips: int, saved: int, carried: int) -> bool:
    """Should a loop be cut? `trips`: how many to expect; bytes that one trip saves, and that it carries to the next."""
    return trips > 2 * BLOCK and saved >= STATE and trips * saved > BUDGET and carried <= 2 * saved


def cut(node: Node, trips: int | None) -> tuple[list[Node], Node]:
    """The `for` in blocks: nodes that count the blocks, and the loop over them, which makes the same outputs.

    `trips`: how many trips, if that is known.
    """
    n, *init = node.inputs
    carry = [v.type for v in node.outputs]
    with Builder(node.loc, node.deriv) as b:
        size, count = _blocks(n, trips)

        def block(k: Value, *state: Value) -> list[Value]:
            start = mul(k, size)
            left = minimum(size, sub(n, start))
            trip = build([I64, *carry], lambda j, *state: inline(node.regions[0], add(start, j), *state))
            again = build([], lambda: emit(for_, left, *state, regions=[trip]))
            return list(emit(checkpoint, regions=[again]))

        body = build([I64, *carry], block)
    return b.nodes, Node(for_, (count, *init), node.outputs, {}, (body,), node.loc, node.deriv)


def _blocks(n: Value, trips: int | None) -> tuple[Value, Value]:
    """Emit (trips of a block, number of blocks) for n trips."""
    if trips is not None:
        k = max(BLOCK, isqrt(trips - 1) + 1)
        return scalar(k, "i64"), scalar(-(-trips // k), "i64")
    root = cast(sqrt(cast(maximum(n, scalar(0, "i64")), dtype="f64")), dtype="i64")
    size = maximum(root, scalar(BLOCK, "i64"))
    return size, floor_divide(sub(add(n, size), scalar(1, "i64")), size)
