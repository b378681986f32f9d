"""Strided operands that each row of a loop reads are copied first: a column as a vector, say, is then loaded row by row."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import integer
from irad.codegen.lower.graph import Address, KernelBuilder
from irad.codegen.schedule.elements import REGISTER, LoopResult, element
from irad.core.affine import Integer, coefficient, number, terms
from irad.core.ir import Graph, Node
from irad.core.switches import on
from irad.ops.loop import load

ROWS = 4  # from which on it pays
MOST = 1 << 14  # bytes of a copy


def coefficient_of(a: Integer, name: str) -> int | float:
    """Coefficient of a loop variable in a flat position; NaN where it is not a number (a run-time stride)."""
    if any(type(s) is tuple and name in s for s, _ in terms(a)):
        return float("nan")
    return coefficient(a, name)


def pack(
    f: KernelBuilder, body: Graph, results: Sequence[LoopResult], names: Sequence[str], extents: Sequence[Integer], vec: int
) -> dict[Node, str]:
    """Buffers with the elements of loads that all trips of the loops around the vector loop `vec` do with a stride."""
    others = [k for k in range(len(names)) if k != vec]
    name, extent = names[vec], number(extents[vec])
    if not on("packed") or not extent or not f.entry or prod(number(extents[k]) or 0 for k in others) < ROWS:
        return {}
    written, packs, out = {v.at for r in results for v in r.finals}, dict[tuple[str, Integer], str](), dict[Node, str]()
    for n in body.nodes:
        if n.op is not load or n.inputs[0].at in written or not all(i in f.env for i in n.inputs[1:]):  # the body finds out where
            continue
        x, *idx = n.inputs
        at, buf = f.flat(x, n.attrs["map"], [f.aff(i) for i in idx]), f.address(x).buf
        fits = extent * f.itemsize(x.type.dtype) <= MOST
        if fits and coefficient_of(at, name) not in (0, 1, -1) and not any(coefficient_of(at, names[k]) for k in others):
            out[n] = packs[buf, at] = packs.get((buf, at)) or _packed(f, body, vec, n, extent)
    return out


def _packed(f: KernelBuilder, body: Graph, vec: int, n: Node, extent: int) -> str:
    """A buffer with the elements that a load reads along the vector axis."""
    p, dtype = body.params[vec], n.inputs[0].type.dtype
    buf, j, before = f.fresh("packed"), f.fresh("j"), f.env[p]
    f.head.append(kf.Buffer(buf, dtype, (extent,)))
    f.begin_at(Address(buf), extent)
    f.env[p] = integer(j)

    def stored() -> None:
        element(f, n)
        f.block.append(kf.Store(buf, (integer(j),), f.env[n.outputs[0]]))

    f.block.append(kf.For(j, "vec", 0, extent, f.within(stored), lanes=REGISTER // f.itemsize(dtype)))
    f.env[p] = before
    return buf
