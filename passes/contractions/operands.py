"""Operands of contraction nests: read through views where they lie, or copied so that some axis can have the lanes.

A register tile needs an axis of the result along which one factor lies contiguously while the other does not depend on it. If no
operand has one (A B^T with both row-major), the smaller is transposed into memory before the nest; before the whole loop
if nothing in it changes the operand, as for the weights of a recurrent network. Windows may be copied as well, into a matrix whose
columns are long where the rows of an image are short. `Operands.choose` compares the prices (irad.passes.contractions.price).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Sequence
from math import prod

from irad.core.affine import symbols
from irad.core.ir import Builder, Node, Value, emit, reads, substitute_node
from irad.core.notes import Notes
from irad.core.types import I64, Dim
from irad.ops.array import Product, transpose
from irad.ops.loop import load
from irad.passes.contractions import patches as fuse_dot_patches
from irad.passes.contractions.patches import may_copy, note_direct, note_patches, patches
from irad.passes.contractions.price import UNKNOWN, Walk, moved, product, walk
from irad.passes.fusion.access import Elements, Position, as_dim, inlinable, only_units
from irad.passes.fusion.windows import is_window, under_window

Factor = Callable[[], Value]  # emits the element of an operand


def splits(coarse: Sequence[Dim], fine: Sequence[Dim]) -> list[list[int]] | None:
    """For each axis of `coarse` the neighbouring axes of `fine` that it is the product of; None if it is no such shape."""
    out: list[list[int]] = []
    k = 0
    for d in coarse:
        group: list[int] = []
        size: Dim = 1
        while size != d:
            if k == len(fine) or not isinstance(size, int):
                return None
            e = fine[k]
            size = e if size == 1 else size * e if isinstance(e, int) else d + 1  # a run-time extent is an axis by itself
            group.append(k)
            k += 1
            if isinstance(size, int) and isinstance(d, int) and size > d:
                return None
        out.append(group)
    return out if all(d == 1 for d in fine[k:]) else None


def merged_positions(pos: Position, old: Sequence[Dim], new: Sequence[Dim]) -> Position | None:
    """Positions after a reshape that merges neighbouring axes (or moves axes of extent 1); None for any other."""
    groups = splits(new, old)
    if groups is None:
        return None
    out: list[Dim] = []
    for group in groups:
        at: Dim = 0
        for k in group:
            d = old[k]
            assert isinstance(d, int)
            at = at * d + pos[k]
        out.append(at)
    return tuple(out)


def is_split(node: Node) -> bool:
    """A reshape that only splits axes: an element stands at an affine position of the operand."""
    return (
        node.op.name == "reshape" and node.out.type.static and splits(node.inputs[0].type.shape, node.out.type.shape) is not None
    )


class ViewElements(Elements):
    """Elements that also read through reshapes that split axes."""

    def _reshape(self, node: Node, pos: Position) -> Value:
        (x,), shape = node.inputs, node.out.type.shape
        if only_units(x.type.shape, shape):
            return super()._reshape(node, pos)
        at = merged_positions(pos, shape, x.type.shape)
        assert at is not None
        return self.at(x, at)


class Operands:
    """The operands of the contractions of one graph.

    `nests`: values that nests compute, which are in memory. `outer`: values known outside of the loop around the graph (None: there
    is none); `moved` collects nodes to put there. `defs` learns of copies of views that are made.
    """

    def __init__(self, defs: dict[Value, Node], nests: Container[Value], outer: set[Value] | None, notes: Notes | None = None):
        self.defs, self.nests, self.outer, self.notes = defs, nests, outer, notes
        self.moved: list[Node] = []
        self.here: list[Node] = []  # to stand before the nest that is being made
        self.copies: dict[tuple[Value, tuple[int, ...]], Value] = {}

    def view(self, v: Value) -> Node | None:
        """The node to look through when v is read, or None where it is loaded."""
        node = self.defs.get(v)
        if node is None or v in self.nests or not (inlinable(node) or is_split(node) or is_window(self.defs.get, node)):
            return None
        return node

    def factors(self, node: Node, pos: Position, stored: Sequence[Walk]) -> tuple[list[Value], list[int], list[Factor]]:
        """For element `pos` of a `dot`: indices and extents of the inner loop, and the two factors.

        `stored`: the steps of the arrays that the result goes to.
        """
        a, b = node.inputs
        ca, _ = node.attrs["contract"]
        terms = [Value(I64, "k") for _ in ca]
        extents = [int(a.type.shape[k]) for k in ca]  # type: ignore[arg-type]
        at_a, at_b = _positions(node, pos, [as_dim(t) for t in terms])
        _, best = self.choose(node, pos, at_a, at_b, stored)
        for first, v in ((True, a), (False, b)):
            if self.notes is not None and under_window(self.view, v):
                (note_patches if best is not None and best[0] is first else note_direct)(self.notes, v, node)
        if best is None:
            return terms, extents, [lambda: self.read(a, at_a), lambda: self.read(b, at_b)]
        first, perm = best
        x, at = (a, at_a) if first else (b, at_b)
        y = self._transposed(x, perm)
        moved = tuple(at[p] for p in perm)
        copy: Factor = lambda: self.read(y, moved)
        return terms, extents, [copy, lambda: self.read(b, at_b)] if first else [lambda: self.read(a, at_a), copy]

    def elements(self) -> ViewElements:
        """Reads elements through views."""
        return ViewElements(self.view, self.defs.get)

    def read(self, v: Value, pos: Position) -> Value:
        return self.elements().at(v, pos)

    def read_factors(self, node: Node, pos: Position) -> tuple[Value, Value]:
        """The factors of element `pos` of a `dot` that sums over nothing."""
        at_a, at_b = _positions(node, pos, ())
        return self.read(node.inputs[0], at_a), self.read(node.inputs[1], at_b)

    # ---- copies ------------------------------------------------------------------------------------------------

    def price(self, node: Node, perm: Sequence[int]) -> float:
        """Cycles of a `dot` whose result is stored with its axes in this order, operands copied where that is cheaper."""
        index = [Value(I64) for _ in node.out.type.shape]
        pos = tuple(map(as_dim, index))
        at_a, at_b = _positions(node, pos, [as_dim(Value(I64)) for _ in node.attrs["contract"][0]])
        stored = walk([pos[p] for p in perm], [int(node.out.type.shape[p]) for p in perm])  # type: ignore[arg-type]
        return self.choose(node, pos, at_a, at_b, [stored])[0]

    def choose(
        self, node: Node, pos: Position, at_a: Position, at_b: Position, stored: Sequence[Walk]
    ) -> tuple[float, tuple[bool, tuple[int, ...]] | None]:
        """The price of a product; which operand to copy (True: the first) and in what order, or None if both are read where they lie."""
        a, b = node.inputs
        ca, _ = node.attrs["contract"]
        extents = {v: int(d) for p, d in zip(pos, node.out.type.shape) for v in _names([p])}  # type: ignore[arg-type]
        terms = prod(int(a.type.shape[k]) for k in ca)  # type: ignore[arg-type]
        size = node.out.type.numpy.itemsize
        walks = self.steps(a, at_a), self.steps(b, at_b)
        best = product(extents, terms, walks, stored, size)
        windows = [under_window(self.view, x) for x in (a, b)]
        only = fuse_dot_patches.CHOICE == "patches" and any(windows) and all(map(may_copy, (a, b)))
        best = math.inf if only else best
        choice: tuple[bool, tuple[int, ...]] | None = None
        for first, x, at, own, other in ((True, a, at_a, *walks), (False, b, at_b, *walks[::-1])):
            for perm in self._orders(node, first, at, other, stored) if not only or windows[not first] else ():
                shape = [int(x.type.shape[p]) for p in perm]  # type: ignore[arg-type]
                copy = walk([at[p] for p in perm], shape)
                sides = {v: n for p, n in zip(perm, shape) for v in _names(at[p : p + 1])}
                price = product(extents, terms, (copy, other), stored, size)
                price += 0 if self._outside(x) else moved(sides, own, copy, size)
                if price < best:
                    best, choice = price, (first, perm)
        return best, choice

    def _orders(self, node: Node, first: bool, at: Position, other: Walk, stored: Sequence[Walk]) -> Iterator[tuple[int, ...]]:
        """Orders of an operand's axes in a copy that may be worth it: one of its own axes last, or, of windows, all that can be."""
        x = node.inputs[not first]
        c, batch = (node.attrs[name][not first] for name in ("contract", "batch"))
        if under_window(self.view, x):
            if not may_copy(x):
                return
            yield from _patch_orders(node, first, at, other, stored[0])
        for k in range(x.type.rank):
            names = list(_names(at[k : k + 1]))
            if k not in (*c, *batch) and len(names) == 1 and not other.get(names[0], 0):
                yield (*batch, *c, *(j for j in range(x.type.rank) if j not in (*batch, *c, k)), k)

    def steps(self, v: Value, pos: Position) -> Walk:
        """The steps of what is in memory when v is read at `pos`."""
        with Builder() as b:
            self.read(v, pos)
        out: Walk = {}
        for k, n in enumerate(n for n in b.nodes if n.op is load):
            x, *idx = n.inputs
            shape = [d if isinstance(d, int) else 1 << 20 for d in x.type.shape]
            at = n.attrs["map"].at(list(map(as_dim, idx)))
            steps = walk(at, shape)
            for i in {*out, *steps}:
                if k and out.get(i, 0) != steps.get(i, 0):
                    steps[i] = UNKNOWN
            out = steps
        return out

    def _transposed(self, v: Value, perm: tuple[int, ...]) -> Value:
        """A transposed copy of v, made before the nest or before the loop around it."""
        key = (v, perm)
        if key not in self.copies:
            outside, window = self._outside(v), under_window(self.view, v)
            with Builder() as b:
                source = self._clone(v, {}) if outside else v
                self.defs.update((n.out, n) for n in b.nodes)
                y = patches(source, perm, self.read) if window else transpose(source, perm=perm)
            self.copies[key] = y
            (self.moved if outside else self.here).extend(b.nodes)
        return self.copies[key]

    def _outside(self, v: Value) -> bool:
        """Can v be computed, by views alone, from what is known outside of the loop around this graph?"""
        if self.outer is None:
            return False
        if v in self.outer:
            return True
        node = self.view(v)
        return node is not None and all(map(self._outside, reads(node)))

    def _clone(self, v: Value, env: dict[Value, Value]) -> Value:
        """The views that make v, made again from what is known outside."""
        assert self.outer is not None
        if v in self.outer or v in env:
            return env.get(v, v)
        node = self.defs[v]
        for x in reads(node):
            self._clone(x, env)
        new = substitute_node(node, env)
        env[v] = emit(new.op, *new.inputs, **new.attrs)[0]
        return env[v]

    def take(self) -> list[Node]:
        """The copies to put before the nest just made."""
        out, self.here = self.here, []
        return out


def _positions(node: Node, pos: Position, terms: Sequence[Dim]) -> tuple[Position, Position]:
    """Where the operands of a `dot` are read for element `pos` of the result."""
    at_a, at_b = Product(node).spread(pos, terms)
    return at_a, at_b


def _names(pos: Sequence[Dim]) -> set[Value]:
    return set(symbols(*pos))


def _patch_orders(node: Node, first: bool, at: Position, other: Walk, stored: Walk) -> Iterator[tuple[int, ...]]:
    """The order of windows in a matrix whose columns lie as they do in the result: what stands before the other operand's axes in
    the result, then the axes that are summed, in the other operand's order, then the rest."""
    x = node.inputs[not first]
    c, theirs = node.attrs["contract"][not first], node.attrs["contract"][first]
    steps = {k: max((stored.get(v, 0) for v in _names(at[k : k + 1])), default=0) for k in range(x.type.rank) if k not in c}
    mine = _names(at)
    limit = min((step for v, step in stored.items() if v in other and v not in mine), default=math.inf)
    order = sorted(steps, key=lambda k: (-steps[k], k))
    inner = [k for k in order if 0 < steps[k] < limit]
    if inner:
        yield (*(k for k in order if k not in inner), *(k for _, k in sorted(zip(theirs, c))), *inner)
