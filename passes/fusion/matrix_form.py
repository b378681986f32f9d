"""Bring contractions to the form that a matrix product takes.

An operand's axes must be: the batch axes, in order, then the free and the contracted axes as two groups, each in order; and
the contracted axes of both operands must correspond in order. Where they do not, a transpose is put before.
"""

from __future__ import annotations

from collections.abc import Sequence

from irad.core.ir import Builder, Node, Value
from irad.ops.array import dot, transpose_to
from irad.passes.rewrite import give_last


def matrix_form(node: Node) -> list[Node]:
    """The `dot` node, or transposes and a `dot` with the same result."""
    a, b = node.inputs
    (ca, cb), (ba, bb) = node.attrs["contract"], node.attrs["batch"]
    free_a = [k for k in range(a.type.rank) if k not in (*ca, *ba)]
    free_b = [k for k in range(b.type.rank) if k not in (*cb, *bb)]
    order = sorted(range(len(ca)), key=lambda i: ca[i])
    ca, cb = tuple(ca[i] for i in order), tuple(cb[i] for i in order)
    a_fits, b_fits = _fits(ba, free_a, ca), _fits(bb, free_b, cb)
    if a_fits and b_fits and (ca, cb) == tuple(node.attrs["contract"]):
        return [node]
    with Builder(node.loc, deriv=node.deriv) as build:
        if not a_fits:
            a, ba, ca = _arranged(a, ba, free_a, ca)
        if not b_fits:
            b, bb, cb = _arranged(b, bb, free_b, cb)
        dot(a, b, contract=(ca, cb), batch=(ba, bb))
    give_last(build.nodes, node.outputs)
    return build.nodes


def _fits(batch: Sequence[int], free: Sequence[int], contract: Sequence[int]) -> bool:
    whole = list(range(len(batch) + len(free) + len(contract)))
    return whole in ([*batch, *free, *contract], [*batch, *contract, *free])


def _arranged(
    x: Value, batch: Sequence[int], free: Sequence[int], contract: Sequence[int]
) -> tuple[Value, tuple[int, ...], tuple[int, ...]]:
    """x with its axes in order batch, free, contracted, and where batch and contracted axes then are."""
    y = transpose_to(x, (*batch, *free, *contract))
    n, m = len(batch), len(batch) + len(free)
    return y, tuple(range(n)), tuple(range(m, m + len(contract)))
