"""What scheduling decided about a loop, for `irad explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from irad.codegen.lower.graph import KernelBuilder
from irad.core.affine import Integer, number
from irad.core.ir import Node
from irad.core.notes import label

if TYPE_CHECKING:
    from irad.codegen.schedule.contractions import Contraction
    from irad.codegen.schedule.loops import FlatLoop
    from irad.codegen.schedule.nests import BlockedNest, NestedLoop


def _extent(e: Integer | int) -> str:
    n = number(e)
    return "n" if n is None else str(n)


def note_flat(f: KernelBuilder, l: FlatLoop, inner: bool) -> None:
    """A loop without inner loops: its axes, lanes, and where its folds are."""
    if f.out.notes is None:
        return
    axes = [f"{l.names[k]}={_extent(l.extents[k])}" for k in l.order]
    unrolled = [l.names[k] for d, k in enumerate(l.order) if l.vec in l.order[:d] and 0 < (number(l.extents[k]) or 99) <= 8]
    vector = l.names[l.vec] if l.vec >= 0 and l.order else ""
    lanes = l._lanes(number(l.extents[l.vec])) if vector else 1
    dtypes = sorted({r.values[0].type.dtype for r in l.results})
    folds = [_fold(l, j) for j, r in enumerate(l.results) if r.out.kind != "store"]
    text = f"{'inner loop' if inner else 'loop'} over {', '.join(axes) or 'one element'} ({', '.join(dtypes)})"
    text += f": {lanes} lanes along {vector}" if vector else ": scalar"
    if unrolled:
        text += f", {', '.join(unrolled)} unrolled"
    if folds:
        text += f"; folds: {', '.join(folds)}"
    f.out.notes.add(
        "loop", text, l.node.loc, once=inner, order=[l.names[k] for k in l.order], vector=vector, lanes=lanes, unrolled=unrolled,
        extents=[number(l.extents[k]) for k in l.order], folds=folds, inner=inner, form="flat",
    )  # fmt: skip


def _fold(l: FlatLoop, j: int) -> str:
    r = l.results[j]
    v = r.finals[0]
    if j in l.folds:
        wide = l._wide(r, v)
        return f"{r.out.kind} in registers" + (f" in {wide}" if wide != v.type.dtype else "")
    return f"{r.out.kind} in {'a register tile' if v in l.tiles else 'memory'}"


def note_rows(f: KernelBuilder, nest: NestedLoop | BlockedNest, block: int) -> None:
    """A loop over rows around inner loops."""
    if f.out.notes is None:
        return
    shape = ", ".join(map(_extent, nest.extents))
    count = sum(n.op.name == "loop" for n in nest.body.nodes)
    how = f"{block} rows at a time, each stage for all of them" if block > 1 else "row by row"
    sums = [r.out.kind for r in nest.results if r.out.kind != "store"]
    text = f"loop over ({shape}) around {count} inner loops: {how}"
    if sums:
        text += f"; results folded over the rows: {', '.join(sums)}"
    f.out.notes.add("loop", text, nest.node.loc, block=block, inner_loops=count, form="blocked" if block > 1 else "rows")


def note_contraction(f: KernelBuilder, c: Contraction) -> None:
    """A contraction in register tiles."""
    if f.out.notes is None:
        return
    rows = " x ".join(str(n) for n in c.tile.rows)
    names = lambda axes: ", ".join(f"{c.names[k]}={c.extents[k]}" for k in axes) or "none"
    terms = sorted({s.terms for s in c.sums})
    text = (
        f"contraction ({c.dtype}): register tile of {rows} rows ({names(c.rows)}) x {c.tile.columns} columns ({names([c.column])}), "
        f"{c.tile.lanes} lanes, {', '.join(map(str, terms))} terms a sum"
    )
    if c.rest:
        text += f"; outer loops: {names(c.rest)}"
    if c.epilogue:
        text += f"; on the tile: {', '.join(n.op.name for n in c.epilogue if n.op.name != 'load')}"
    f.out.notes.add(
        "contraction", text, c.node.loc, kind="tiles", rows=c.tile.rows, columns=c.tile.columns, lanes=c.tile.lanes,
        epilogue=[n.op.name for n in c.epilogue if n.op.name != "load"],
    )  # fmt: skip


def note_product(f: KernelBuilder, node: Node, mnk: Sequence[Integer], batch: Integer, blas: bool) -> None:
    """A contraction that is not fused."""
    if f.out.notes is None:
        return
    m, n, k = mnk
    many = f"{batch} times " if batch != 1 else ""
    how = "a call of NumPy's OpenBLAS" if blas else "plain loops: NumPy's BLAS was not found"
    text = f"contraction {many}{m} x {k} by {k} x {n} ({node.out.type.dtype}): {how}"
    f.out.notes.add("contraction", text, node.loc, kind="blas" if blas else "loops", mnk=tuple(mnk), batch=batch)


def note_push(f: KernelBuilder, node: Node, words: Integer) -> None:
    """What one trip of a loop, or one branch, keeps for the backward."""
    if f.out.notes is None:
        return
    entries = [f"{label(v, f.defs)} {v.type}" for v in node.inputs[1:]]
    size = number(words)
    text = f"on the tape, each time: {', '.join(entries) or 'nothing'}" + (f"; {8 * size} bytes" if size is not None else "")
    f.out.notes.add("tape", text, node.loc, once=True, bytes=None if size is None else 8 * size, entries=len(entries))


def note_for(f: KernelBuilder, node: Node, trips: Integer, taped: Sequence[int]) -> None:
    """A loop of the program, whose trips run one after another. `taped`: the carries that live on the tape."""
    if f.out.notes is None:
        return
    (body,) = node.regions
    name = lambda v: f"%{v.hint}" if v.hint else str(v.type)
    carried = [name(v) for v in body.params[1:] if v.type.dtype != "tape"]
    swapped = [name(body.params[1 + a]) for a, _ in node.attrs.get("swap", ()) if a not in taped]
    text = f"for {body.params[0].hint or 'i'}={_extent(trips)}: trips in order"
    text += f", carrying {', '.join(carried)}" if carried else ""
    text += f"; {', '.join(swapped)} and its partner change places, nothing is copied" if swapped else ""
    for k in taped:
        text += f"; {name(body.params[1 + k])} is on the tape, where each trip makes the next: only its border is copied"
    f.out.notes.add("loop", text, node.loc, form="for", trips=number(trips), carried=len(carried), swapped=len(swapped))
