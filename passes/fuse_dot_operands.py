"""Operands of contraction nests: read through views where they lie, or copied so that some axis can have the lanes.

A register tile needs an axis of the result along which one factor lies contiguously while the other does not depend on it. If no
operand has one (A B^T with both row-major), the smaller is transposed into memory before the nest; before the whole loop
if nothing in it changes the operand, as for the weights of a recurrent network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from math import prod

from irad.ir import Builder, Node, Value, emit, reads, substitute_node
from irad.ops.array import Slice, transpose
from irad.ops.loop import load
from irad.passes.fuse_access import Elements, Position, as_dim, inlinable, only_units
from irad.passes.fuse_dot_window import affine_index, is_window
from irad.types import I64, Dim

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


def is_split(node: Node) -> bool:
    """A reshape that only splits axes: an element stands at an affine position of the operand."""
    return (
        node.op.name == "reshape" and node.out.type.static and splits(node.inputs[0].type.shape, node.out.type.shape) is not None
    )


class ViewElements(Elements):
    """Elements that also read through reshapes that split axes and through windows."""

    def _index(self, node: Node, pos: Position) -> Value:
        x, *operands = node.inputs
        spec = node.attrs["spec"]
        if "g" not in spec:
            return super()._index(node, pos)
        (g,), p = operands, sum(isinstance(t, Slice) for t in spec[: spec.index("g")])
        at = affine_index(self.computed, g, pos[p : p + g.type.rank])
        assert at is not None
        rest = iter((*pos[:p], *pos[p + g.type.rank :]))
        out = [at if s == "g" else s if isinstance(s, int) else s.start + next(rest) * s.step for s in spec]
        return self.at(x, tuple(out))

    def _reshape(self, node: Node, pos: Position) -> Value:
        (x,), shape = node.inputs, node.out.type.shape
        if only_units(x.type.shape, shape):
            return super()._reshape(node, pos)
        groups = splits(x.type.shape, shape)
        assert groups is not None
        out: list[Dim] = []
        for group in groups:
            at: Dim = 0
            for k in group:
                d = shape[k]
                assert isinstance(d, int)
                at = at * d + pos[k]
            out.append(at)
        return self.at(x, tuple(out))


class Operands:
    """The operands of the contractions of one graph.

    `nests`: values that nests compute, which are in memory. `outer`: values known outside of the loop around the graph (None: there
    is none); `moved` collects nodes to put there.
    """

    def __init__(self, defs: dict[Value, Node], nests: Container[Value], outer: set[Value] | None):
        self.defs, self.nests, self.outer = defs, nests, outer
        self.moved: list[Node] = []
        self.here: list[Node] = []  # to stand before the nest that is being made
        self.copies: dict[tuple[Value, tuple[int, ...]], Value] = {}

    def view(self, v: Value) -> Node | None:
        """The node to look through when v is read, or None where it is loaded."""
        node = self.defs.get(v)
        if node is None or v in self.nests or not (inlinable(node) or is_split(node) or is_window(self.defs.get, node)):
            return node if node is not None and _counts(node) else None
        return node

    def factors(self, node: Node, pos: Position, store: Sequence[Value]) -> tuple[list[Value], list[int], list[Factor]]:
        """For element `pos` of a `dot`: indices and extents of the inner loop, and the two factors.

        `store`: the indices along which the result is stored with step 1.
        """
        a, b = node.inputs
        ca, _ = node.attrs["contract"]
        terms = [Value(I64, "k") for _ in ca]
        extents = [int(a.type.shape[k]) for k in ca]  # type: ignore[arg-type]
        at_a, at_b = _positions(node, pos, [as_dim(t) for t in terms])
        best = self._copied(node, pos, at_a, at_b, store)
        if best is None:
            return terms, extents, [lambda: self.read(a, at_a), lambda: self.read(b, at_b)]
        first, perm = best
        x, at = (a, at_a) if first else (b, at_b)
        y = self._transposed(x, perm)
        moved = tuple(at[p] for p in perm)
        copy: Factor = lambda: self.read(y, moved)
        return terms, extents, [copy, lambda: self.read(b, at_b)] if first else [lambda: self.read(a, at_a), copy]

    def read(self, v: Value, pos: Position) -> Value:
        return ViewElements(self.view).at(v, pos)

    # ---- copies ------------------------------------------------------------------------------------------------

    def _copied(
        self, node: Node, pos: Position, at_a: Position, at_b: Position, store: Sequence[Value]
    ) -> tuple[bool, tuple[int, ...]] | None:
        """Which operand to transpose (True: the first) and how; None if they can be read where they lie."""
        a, b = node.inputs
        unit_a, unit_b = self._unit(a, at_a), self._unit(b, at_b)
        in_a, in_b = _names(at_a), _names(at_b)
        (ca, cb), (ba, bb) = node.attrs["contract"], node.attrs["batch"]
        extent = {v: int(d) for p, d in zip(pos, node.out.type.shape) for v in _names([p])}  # type: ignore[arg-type]
        lanes = 64 // node.out.type.numpy.itemsize
        work = node.out.type.size * prod(int(a.type.shape[k]) for k in ca)  # type: ignore[arg-type]

        def cost(v: Value, copied: int) -> float:
            """Cycles, roughly: multiply-adds with the lanes along v, stores in steps, the copy."""
            vectors = work / extent[v] * -(-extent[v] // lanes)
            return vectors / 2 + (0 if v in store else 1.2 * node.out.type.size) + 1.5 * copied

        best = min(
            (cost(v, 0) for v in extent if (v in unit_a) != (v in unit_b) and (v in in_a) != (v in in_b)), default=math.inf
        )
        choice: tuple[bool, tuple[int, ...]] | None = None
        for first, x, at, c, batch, other in ((True, a, at_a, ca, ba, in_b), (False, b, at_b, cb, bb, in_a)):
            copied = 0 if self._outside(x) else x.type.size
            for k in range(x.type.rank):
                names = list(_names(at[k : k + 1]))
                if k in (*c, *batch) or len(names) != 1 or names[0] in other:
                    continue
                rest = (j for j in range(x.type.rank) if j not in (*batch, *c, k))
                price = cost(names[0], copied)
                if price < best:
                    best, choice = price, (first, (*batch, *c, *rest, k))
        return choice

    def _unit(self, v: Value, pos: Position) -> set[Value]:
        """The indices along which v lies contiguously when read at `pos`."""
        with Builder() as b:
            self.read(v, pos)
        steps: dict[Value, set[int]] = {}
        for n in b.nodes:
            if n.op is load:
                for i, c in _steps(n):
                    steps.setdefault(i, set()).add(c)
        return {i for i, cs in steps.items() if cs <= {0, 1} and 1 in cs}

    def _transposed(self, v: Value, perm: tuple[int, ...]) -> Value:
        """A transposed copy of v, made before the nest or before the loop around it."""
        key = (v, perm)
        if key not in self.copies:
            outside = self._outside(v)
            with Builder() as b:
                y = transpose(self._clone(v, {}) if outside else v, perm=perm)
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


def _counts(node: Node) -> bool:
    """Integer arithmetic that positions of windows are made of."""
    return node.op.name in ("add", "sub", "mul") and node.out.type.dtype == "i64"


def _positions(node: Node, pos: Position, terms: Sequence[Dim]) -> tuple[Position, Position]:
    """Where the operands of a `dot` are read for element `pos` of the result."""
    a, b = (v.type for v in node.inputs)
    (ca, cb), (ba, bb) = node.attrs["contract"], node.attrs["batch"]
    free_a = [k for k in range(a.rank) if k not in (*ca, *ba)]
    free_b = [k for k in range(b.rank) if k not in (*cb, *bb)]
    m, n = len(ba), len(ba) + len(free_a)
    at_a = {**dict(zip(ca, terms)), **dict(zip(ba, pos[:m])), **dict(zip(free_a, pos[m:n]))}
    at_b = {**dict(zip(cb, terms)), **dict(zip(bb, pos[:m])), **dict(zip(free_b, pos[n:]))}
    return tuple(at_a[k] for k in range(a.rank)), tuple(at_b[k] for k in range(b.rank))


def _names(pos: Sequence[Dim]) -> set[Value]:
    return {v for d in pos if not isinstance(d, int) for v, _ in d.terms}


def _steps(n: Node) -> list[tuple[Value, int]]:
    """Elements between neighbours along each index of a load."""
    x, *idx = n.inputs
    strides: list[int] = []
    size = 1
    for d in reversed(x.type.shape):
        strides.append(size)
        size *= d if isinstance(d, int) else 1 << 20
    strides.reverse()
    return [(i, sum(row[k] * s for row, s in zip(n.attrs["map"].rows, strides))) for k, i in enumerate(idx)]
