"""Walking the loops of a kernel with what is in scope: buffers, folds, ranges of loop variables; which loops are independent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import integer
from irad.codegen.kernel.independence import (
    Body,
    ByteAccess,
    Independent,
    Ranges,
    Scope,
    Sum,
    all_ranges,
    bytes_of,
    disjoint,
    elements,
    inside,
    loops_in,
    lowest,
    overlapping,
    span_of,
    summed,
    written_first,
)
from irad.codegen.kernel.mentions import bound
from irad.codegen.transform.bounded import checked, range_of
from irad.core.affine import Interval, constant, divisible, symbols
from irad.core.lazy_dataclass import replace
from irad.core.notes import Notes


class Loops:
    """A walk over the body `whole` of one kernel; what it makes of a loop is `statement`."""

    def __init__(self, whole: Sequence[kf.Stmt], notes: Notes | None = None):
        self.whole, self.notes = whole, notes

    @classmethod
    def over(cls, kernel: kf.Kernel, notes: Notes | None = None) -> kf.Kernel:
        """The kernel with what the walk makes of its body."""
        scope = {p.name: p for p in kernel.params if p.shape is not None}
        return replace(kernel, body=cls(kernel.body, notes).block(kernel.body, scope, checked(kernel.body)))

    @cached_property
    def names(self) -> set[str | None]:
        return {getattr(s, "name", None) or getattr(s, "var", None) for s in kf.walk(self.whole)}

    @cached_property
    def scratch(self) -> dict[str, list[ByteAccess]]:
        return _scratch(self.whole)

    @cached_property
    def ranges(self) -> Ranges:
        return all_ranges(kf.For("", "seq", 0, 1), [a for group in self.scratch.values() for a in group], {})

    @cached_property
    def exposed(self) -> set[str]:
        return _exposed(self.whole)

    @cached_property
    def partners(self) -> dict[str, set[str]]:
        return _partners(self.whole)

    def fresh(self, hint: str) -> str:
        k = 0
        while f"{hint}_{k}" in self.names:
            k += 1
        self.names.add(f"{hint}_{k}")
        return f"{hint}_{k}"

    def block(self, body: Sequence[kf.Stmt], outside: Scope, ranges: Ranges) -> list[kf.Stmt]:
        """`outside`: the buffers, folds and loops in scope; `ranges`: bounds of the loop variables and extents in scope."""
        scope, out = dict(outside), []
        for s in body:
            if isinstance(s, (kf.Buffer, kf.View, kf.Deref, kf.Fold)):
                scope[s.name] = s
            elif isinstance(s, kf.Let) and s.dtype == "i64" and isinstance(s.expr, kf.Apply):
                ranges = {**ranges, s.name: range_of(s.expr, ranges)}
            out += self.statement(s, scope, ranges)
        return out

    def statement(self, s: kf.Stmt, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        """The statement, or what stands for it. Loops inside another one are reached by `inside`."""
        return self.inside(s, scope, ranges)

    def inside(self, s: kf.Stmt, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        """The statement with what becomes of those in it."""
        if isinstance(s, kf.For):
            if s.kind not in ("seq", "par"):
                return [s]
            ranges = {**ranges, s.var: span_of(s, ranges)}
            scope = {**scope, s.var: s}
        return [kf.with_blocks(s, lambda body: self.block(body, scope, ranges))]

    def independent(
        self,
        s: kf.For,
        scope: Scope,
        ranges: Ranges,
        but: frozenset[str] = frozenset(),
        turns: bool = False,
        counted: bool = False,
    ) -> Independent | None:
        """What the loop needs to run in parallel, or None if it cannot, `but` for what its trips do with some variables.

        `turns`: only one trip runs at a time, so any number of them may add to one element. `counted`: sums may have a `count`.
        """
        found = Body(s, scope, but)
        if not found.run():
            return None
        inner = all_ranges(s, found.accesses, ranges)
        groups: dict[str, list[ByteAccess]] = {}
        for a in found.accesses:
            groups.setdefault(a.buf, []).append(a)
        exact: dict[str, Interval] = {}  # without what is only known to be between numbers
        for l in loops_in(scope):
            exact[l.var] = span_of(l, exact)
        touched = all_ranges(s, found.accesses, exact)
        private: list[kf.Buffer] = []
        sums: list[Sum] = []
        met: set[str] = set()
        if self.mixed(groups, scope, inner):
            return None
        for group in overlapping(groups, scope, inner):
            if disjoint(group, s, inner):
                continue
            b = scope[group[0].buf]
            added = summed(group, s, b, touched) or (_counted_sum(group, s, b, inner) if counted else None)
            if added is not None and _there(added, group, b, loops_in(scope), ranges):
                sums.append(added)
                continue
            if turns and all(a.add and scope[a.buf].dtype == b.dtype for a in group):
                met |= {a.buf for a in group}
                continue
            if not isinstance(b, kf.Buffer) or not written_first(group, inner) or not self.dead_after(b.name, s):
                return None
            private.append(b)
        return Independent(private, found.folds, sums, met)

    def mixed(self, groups: Mapping[str, list[ByteAccess]], scope: Scope, ranges: Ranges) -> bool:
        """May a buffer that changes places with others be where something else is that the loop touches?"""
        for name in groups:
            places = [p for n in self.partners.get(name, ()) if isinstance(p := scope.get(n), kf.View)]
            for other in groups if places else ():
                if other == name or not isinstance(scope.get(other), kf.View):
                    continue
                if other in self.partners.get(name, ()) and len(places) == 2:
                    continue  # each is where the other one is not
                lo, hi = bytes_of(groups[other], scope[other], ranges)
                spans = [bytes_of(groups[name], p, ranges) for p in places]
                if any(x <= hi and lo <= y for x, y in spans):
                    return True
        return False

    def dead_after(self, name: str, s: kf.For) -> bool:
        """Does nothing outside of the loop read what it leaves in a scratch buffer?"""
        if name in self.exposed:
            return False
        others = [a for a in self.scratch.get(name, ()) if not any(l is s for l in a.loops)]
        return written_first(others, self.ranges)


def _there(a: Sum, group: Sequence[ByteAccess], b: Any, loops: Sequence[kf.For], ranges: Ranges) -> bool:
    """Are all elements of a sum there? Those that branches keep trips from adding to may lie behind the end."""
    if not any(isinstance(l, kf.If) for x in group for l in x.loops):
        return True
    size = integer(b.shape[0]) if isinstance(b, kf.Buffer) else elements(b)
    last = a.start + (a.size if a.count is None else a.count) - 1
    return inside(a.start, size, loops, ranges) and inside(last, size, loops, ranges)


def _counted_sum(group: Sequence[ByteAccess], s: kf.For, b: Any, ranges: Ranges) -> Sum | None:
    """What all trips add to, from one element on, where only the run counts the elements."""
    found = summed(group, s, b, ranges)
    if found is None:
        return None
    width = group[0].width
    start = found.start * width + (integer(b.offset) * width if isinstance(b, kf.View) else 0)
    loops = [[l for l in a.loops if isinstance(l, kf.For)] for a in group]
    if any(lowest(a.at - start, around, ranges) != 0 for a, around in zip(group, loops)):
        return None
    ends = {-lowest(start - a.at, around, ranges) for a, around in zip(group, loops)}
    end = ends.pop()
    if ends or not divisible(end, width) or constant(end) % width or not bound([s]).isdisjoint(symbols(end)):
        return None
    return replace(found, count=end // width + 1)


def _scratch(body: Sequence[kf.Stmt]) -> dict[str, list[ByteAccess]]:
    """All accesses of the kernel's scratch buffers."""
    out: dict[str, list[ByteAccess]] = {}
    scope = {s.name: s for s in kf.walk(body) if isinstance(s, kf.Buffer)}

    def visit(block: Sequence[kf.Stmt], loops: tuple[kf.Stmt, ...]) -> None:
        for s in block:
            if isinstance(s, (kf.For, kf.While)):
                visit([*getattr(s, "test", ()), *s.body], (*loops, s))
            elif isinstance(s, kf.If):
                visit(s.then, (*loops, s))
                visit(s.orelse, (*loops, replace(s)))
            found = Body(kf.For("", "seq", 0, 1, [s]), scope)
            for a in found.of(s, loops):
                out.setdefault(a.buf, []).append(replace(a, order=len(out.get(a.buf, ()))))

    visit(body, ())
    return out


def _exposed(body: Sequence[kf.Stmt]) -> set[str]:
    """Buffers whose memory is used under another name, or by a function that is called."""
    out: set[str] = set()
    for s in kf.walk(body):
        if isinstance(s, (kf.View, kf.Deref)):
            out.add(s.buf)
        elif isinstance(s, kf.Swap):
            out |= {s.a, s.b}
        elif isinstance(s, kf.Call):
            out |= {a for a in s.args if isinstance(a, str)}
    return out


def _partners(body: Sequence[kf.Stmt]) -> dict[str, set[str]]:
    """For each buffer that is swapped somewhere: all those whose memory it may have, itself too."""
    out: dict[str, set[str]] = {}
    for s in kf.walk(body):
        if isinstance(s, kf.Swap):
            both = out.get(s.a, {s.a}) | out.get(s.b, {s.b})
            out.update(dict.fromkeys(both, both))
    return out
