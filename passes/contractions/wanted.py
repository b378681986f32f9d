"""Which contractions become nests, and which are left to a BLAS.

A BLAS blocks its operands for all caches, which pays where no factor of a register tile stays in the caches of one core: above MOST
multiplications. The tile of a convolution that reads its windows where they lie reads each weight once for as many products as an
image is wide; so the convolution of wide images, or with few weights, is a nest at any size. Any other large one is a BLAS
product of a copy of the windows (irad.passes.contractions.patches), if that copy is not too large.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from irad.core.ir import Builder, Graph, Node, Value, defs
from irad.core.notes import Notes
from irad.core.types import I64
from irad.ops.array import Product, dot
from irad.ops.loop import load
from irad.passes.contractions.operands import Operands
from irad.passes.contractions.patches import may_copy, note_patches, patches
from irad.passes.fusion.access import as_dim, classify
from irad.passes.fusion.windows import under_window
from irad.passes.rewrite import give_last

MOST = 512**3  # multiplications of one product: above this a BLAS, which blocks for all caches, is ahead
WIDE = 16  # places along a row of an image: weights are read seldom enough
FEW_WEIGHTS = 1 << 20  # bytes that stay in a core's own caches


def multiplications(node: Node) -> int:
    """How many multiplications a contraction takes that could be a nest; 0 for any other node."""
    if node.op.name != "dot" or classify(node) is not None:
        return 0
    a, b = (v.type for v in node.inputs)
    if not (a.static and b.static) or a.dtype not in ("f32", "f64"):
        return 0
    p = Product(node)
    return node.out.type.size * prod(a.dims[k] for k in p.contract[0]) // prod(max(1, a.dims[k]) for k in p.batch[0])


def wanted_in(graph: Graph) -> Callable[[Node], bool]:
    """For a graph: is a node of it a contraction to make a nest of?"""
    operands = Operands(defs(graph), (), None)

    def wanted(n: Node) -> bool:
        work = multiplications(n)
        side = _windows(operands, n) if work > MOST else None
        return 0 < work <= MOST or side is not None and not _by_blas(operands, n, side)

    return wanted


def with_patches(graph: Graph, notes: Notes | None = None) -> Graph:
    """The graph with the windows of convolutions that a BLAS is to do copied."""
    if all(multiplications(n) <= MOST for n in graph.nodes):
        return graph
    operands = Operands(defs(graph), (), None)
    nodes: list[Node] = []
    for n in graph.nodes:
        side = _windows(operands, n) if multiplications(n) > MOST else None
        if side is None or not _by_blas(operands, n, side):
            nodes.append(n)
            continue
        if notes is not None:
            note_patches(notes, n.inputs[side], n)
        nodes += _copied(operands, n, side)
    return graph.replace(nodes=nodes)


def _windows(operands: Operands, n: Node) -> int | None:
    """The number of the operand of a product that is windows, if one is."""
    return next((k for k, v in enumerate(n.inputs) if under_window(operands.view, v)), None)


def _by_blas(operands: Operands, n: Node, side: int) -> bool:
    """Had the windows of a large product, its operand `side`, better be copied?"""
    if not may_copy(n.inputs[side]):
        return False
    weights = n.inputs[not side].type
    return weights.size * weights.numpy.itemsize > FEW_WEIGHTS and 0 < _width(operands, n, side) < WIDE


def _width(operands: Operands, n: Node, side: int) -> int:
    """Places along the last axis with windows; 0 if it is the places that are summed over, as in the gradient of the kernel."""
    v = n.inputs[side]
    index = [Value(I64) for _ in v.type.shape]
    extent = {i: int(d) for i, d in zip(index, v.type.shape)}  # type: ignore[arg-type]
    with Builder() as b:
        operands.read(v, tuple(map(as_dim, index)))
    summed = {index[k] for k in n.attrs["contract"][side]}
    for node in reversed(b.nodes):
        for row in reversed(node.attrs["map"].rows) if node.op is load else ():
            both = [i for i, c in zip(node.inputs[1:], row) if c]
            if len(both) > 1:
                place = max(both, key=extent.__getitem__)
                return 0 if place in summed else extent[place]
    return 0


def _copied(operands: Operands, n: Node, side: int) -> list[Node]:
    """The product of a copy of the windows, whose axes are in groups as a matrix product wants them: walked as they lie in memory."""
    v, p = n.inputs[side], Product(n)
    contract, batch, free = p.contract, p.batch, p.free[side]
    c = [k for _, k in sorted(zip(contract[not side], contract[side]))]
    index = [Value(I64) for _ in v.type.shape]
    steps = operands.steps(v, tuple(map(as_dim, index)))
    rows = any(steps.get(index[k], 0) == 1 and int(v.type.shape[k]) > 1 for k in c[-1:])  # type: ignore[call-overload]
    perm = (*batch[side], *free, *c) if rows else (*batch[side], *c, *free)
    at = {k: j for j, k in enumerate(perm)}
    with Builder(n.loc, deriv=n.deriv) as build:
        x = patches(v, perm, operands.read)
        new = [tuple(at[k] for k in axes[side]) for axes in (contract, batch)]
        pairs = [(p, axes[1]) if side == 0 else (axes[0], p) for p, axes in zip(new, (contract, batch))]
        factors = (x, n.inputs[1]) if side == 0 else (n.inputs[0], x)
        dot(*factors, contract=pairs[0], batch=pairs[1])
    give_last(build.nodes, n.outputs)
    return build.nodes
