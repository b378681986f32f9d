"""Fusion, part 3: loops over the same rows under one outer loop.

Softmax is three loops over (rows, columns) that depend on each other row by row; a matrix-vector product, what is done
with its result, and the transposed product are three loops that share their rows. Merged, each row is read once from
memory and its intermediate values never leave the core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

from irad.core.ir import Value
from irad.core.switches import on
from irad.core.types import elements
from irad.ops.array import STORES
from irad.ops.loop import fold_width
from irad.passes.fusion.access import Member, Position, as_dim
from irad.passes.fusion.groups import Group, Grouping, Nest, topological

MIN_WORK = 256  # elements of the larger space: below this a nest gains nothing
MAX_ROWS = 1 << 19  # bytes of the rows that a nest keeps: they are on the stack, and nothing is gained beyond a core's own caches


Accesses = Callable[[Group, Iterable[Member]], tuple[list[Value], list[tuple[Value, Position]]]]


def merge_rows(grouping: Grouping, accesses: Accesses) -> list[Nest]:
    """The groups in order, merged where rows allow it. `accesses`: where computing members of a group reads memory."""
    return _Merger(grouping, accesses).run()


class _Merger:
    def __init__(self, grouping: Grouping, accesses: Accesses):
        self.grouping, self.accesses = grouping, accesses
        self.nests: list[Nest] = []
        self.nest_of: dict[Group, Nest] = {}

    def run(self) -> list[Nest]:
        for g in self.grouping.ordered():
            home = self._home(g)
            if home is None:
                home = Nest([g], g.bits, g.above)
                self.nests.append(home)
            self.nest_of[g] = home
        return topological(self.nests)

    def _home(self, g: Group) -> Nest | None:
        """The nest that group g can be a further part of."""
        if not on("nests") or not g.space or any(m.node.op in STORES for m in g.members):
            return None
        idx, reads = self.accesses(g, g.members)
        sources: list[Nest] = []
        for v, _ in reads:
            producer = self.grouping.group_of.get(v)
            if producer is not None and producer in self.nest_of and producer.space:
                n = self.nest_of[producer]
                if n not in sources:
                    sources.append(n)
        for nest in reversed(sources):
            if not self._worth(nest, g):
                continue
            p = self._prefix(nest, g, idx, reads)
            rows = nest.rows | {v for v, _ in reads if self.nest_of.get(self.grouping.group_of.get(v, g)) is nest}
            own = (v for q in (*nest.parts, g) for m in q.members if _folds_rows(m, p) for v in m.node.outputs)
            if p and self._fit(rows.union(own), p) and not self._path(nest, g):
                nest.parts.append(g)
                nest.rows = rows
                nest.prefix, nest.bits = p, nest.bits | g.bits
                nest.above = (nest.above | g.above) & ~nest.bits
                return nest
        return None

    def _path(self, nest: Nest, g: Group) -> bool:
        """Does g depend on the nest through something outside of it?"""
        before, seen = g.above & ~nest.bits, 0
        while before != seen and not before & nest.bits:
            seen = before
            for other in self.nests:
                if other is not nest and other.bits & before:
                    before |= other.above
        return bool(before & nest.bits)

    def _worth(self, nest: Nest, g: Group) -> bool:
        spaces = [q.space or () for q in (*nest.parts, g)]
        return any(len(s) > 1 for s in spaces) and max(elements(s, MIN_WORK) for s in spaces) >= MIN_WORK

    def _fit(self, rows: Iterable[Value], p: int) -> bool:
        """Are the rows of these values, without the first p axes of their loops, of known length, and small enough to be kept?"""
        total = 0
        for v in rows:
            row = [d for r, d in zip(self.grouping.made_by[v].rows, v.type.shape) if r >= p]
            if not all(isinstance(d, int) for d in row):
                return False
            total += prod(d for d in row if isinstance(d, int)) * v.type.numpy.itemsize
        return total <= MAX_ROWS

    def _prefix(self, nest: Nest, g: Group, idx: list[Value], reads: list[tuple[Value, Position]]) -> int:
        """Over how many leading axes do the nest and g run row by row? 0: not at all."""
        assert g.space is not None
        own = {v: m for q in nest.parts for m in q.members for v in m.node.outputs}
        if any(m.node.op in STORES for m in own.values()):
            return 0
        p = min([nest.prefix or len(nest.parts[0].space or ()), len(g.space)])
        spaces = [q.space or () for q in nest.parts]
        while p and any(s[:p] != g.space[:p] for s in spaces):
            p -= 1
        for v, pos in reads:
            m = own.get(v)
            while m is not None and p and not (m.rows[:p] == tuple(range(p)) and pos[:p] == tuple(as_dim(i) for i in idx[:p])):
                p -= 1
        members = [*own.values(), *g.members]
        while p and any(not _splits(m, p) for m in members):
            p -= 1
        return p if any(len(s) > p for s in (*spaces, g.space)) else 0


def _folds_rows(m: Member, p: int) -> bool:
    """Is a row of the result folded in a buffer of its own first? Rows that are summed are added to the result at once."""
    folded = set(range(len(m.space))) - set(m.rows)
    return min(folded, default=p) < p and (m.kind != "add" or max(folded) >= p)


def _splits(m: Member, p: int) -> bool:
    """Can the member be cut after its first p axes? Its result's axes must come outer ones first."""
    outer = [r for r in m.rows if r < p]
    if list(m.rows[: len(outer)]) != outer:
        return False
    return fold_width(m.kind) == 1 or outer == list(range(p))
