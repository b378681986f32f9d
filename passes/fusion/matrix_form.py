"""Bring contractions to the form that a matrix product takes.

An operand's axes must be: the batch axes, in order, then the free and the contracted axes as two groups, each in order; and
the contracted axes of both operands must correspond in order. Where they do not, a transpose is put before.
"""

from __future__ import annotations

from collections.abc import Sequence

from irad.core.ir import Builder, Node, Value
from irad.ops.array import Product, dot, transpose_to
from irad.passes.rewrite import give_last


def matrix_form(node: Node) -> list[Node]:
    """The `dot` node, or transposes and a `dot` with the same result."""
    p = Product(node)
    order = sorted(range(len(p.contract[0])), key=p.contract[0].__getitem__)
    contract = tuple(tuple(c[i] for i in order) for c in p.contract)
    groups = list(zip(p.batch, p.free, contract))
    fit = [_fits(*g) for g in groups]
    if all(fit) and contract == tuple(p.contract):
        return [node]
    with Builder(node.loc, deriv=node.deriv) as build:
        sides = [(x, g[0], g[2]) if ok else _arranged(x, *g) for x, g, ok in zip(node.inputs, groups, fit)]
        (a, b), batch, contract = zip(*sides)
        dot(a, b, contract=contract, batch=batch)
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
