"""Which loops of a kernel run on several threads: `seq` and `vec` loops of much work with independent iterations become `par`.

A loop qualifies if, for what its body writes (irad.codegen.kernel.independence),
- scalars and folds are the iteration's own, but for folds declared outside, into which the loop combines (chunks merge in order);
- scratch buffers are written before they are read in each iteration: their declaration moves into the loop;
- elements that it only adds to, the same in all iterations: each block adds to an array of its own (added up in order at the end);
- in other buffers, no element that one iteration writes is touched by another. Positions are affine: with c the stride of the
  loop variable, those of one iteration differ by less than c, apart from a multiple of an H that spans all iterations
  (a mixed-radix number in which the loop variable is one digit).

Chunks depend on sizes only, never on the number of threads, so the results are the same bits whatever runs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import inf

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.cost import work
from irad.codegen.kernel.form import Aff
from irad.codegen.kernel.independence import (
    SUMS,
    Access,
    Body,
    Independent,
    Ranges,
    Scope,
    Sum,
    all_ranges,
    bytes_of,
    disjoint,
    overlapping,
    span_of,
    summed,
    written_first,
)
from irad.core.lazy_dataclass import replace
from irad.core.types import DTYPES

WORTH = 100e3  # ns of work from which on a loop is shared out
BLOCK = 25e3  # ns of a block of a vec loop, or of a loop with folds
BLOCKS = 64  # blocks of a loop with folds: what merges in order at its end


def shared(kernel: kf.Kernel) -> kf.Kernel:
    """The kernel with its parallel loops marked."""
    if work(kernel.body) < WORTH:
        return kernel
    scope = {p.name: p for p in kernel.params if p.shape is not None}
    return replace(kernel, body=_Marker(kernel.body).block(kernel.body, scope, {}))


class _Marker:
    """Marks the loops of one kernel, whose body is `whole`."""

    def __init__(self, whole: Sequence[kf.Stmt]):
        self.whole = whole

    @cached_property
    def names(self) -> set[str | None]:
        return {getattr(s, "name", None) or getattr(s, "var", None) for s in kf.walk(self.whole)}

    @cached_property
    def scratch(self) -> dict[str, list[Access]]:
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
        """`outside`: the buffers and folds in scope; `ranges`: bounds of the loop variables in scope."""
        scope, out = dict(outside), []
        for s in body:
            if isinstance(s, (kf.Buffer, kf.View, kf.Deref, kf.Fold)):
                scope[s.name] = s
            out += self.statement(s, scope, ranges)
        return out

    def statement(self, s: kf.Stmt, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        if isinstance(s, kf.If):
            return [replace(s, then=self.block(s.then, scope, ranges), orelse=self.block(s.orelse, scope, ranges))]
        if isinstance(s, kf.While):
            return [replace(s, test=self.block(s.test, scope, ranges), body=self.block(s.body, scope, ranges))]
        if not isinstance(s, kf.For) or s.kind not in ("seq", "vec") or s.full or work([s]) < WORTH:
            return [s]
        found = self.independent(s, scope, ranges) if s.step > 0 and kf.trips(s) > 1 else None
        if found and not (kf.trips(s) == inf and (s.kind == "vec" or found.folds or found.sums)):
            return self.par(s, found)
        if s.kind == "vec":
            return [s]
        inner = {**ranges, s.var: span_of(s, ranges)}
        return [replace(s, body=self.block(s.body, scope, inner))]

    def independent(self, s: kf.For, scope: Scope, ranges: Ranges) -> Independent | None:
        """What the loop needs to run in parallel, or None if it cannot."""
        found = Body(s, scope)
        if not found.run():
            return None
        inner = all_ranges(s, found.accesses, ranges)
        groups: dict[str, list[Access]] = {}
        for a in found.accesses:
            groups.setdefault(a.buf, []).append(a)
        private: list[kf.Buffer] = []
        sums: list[Sum] = []
        if self.mixed(groups, scope, inner):
            return None
        for group in overlapping(groups, scope, inner):
            if disjoint(group, s, inner):
                continue
            b = scope[group[0].buf]
            added = summed(group, s, b, inner)
            if added is not None:
                sums.append(added)
                continue
            if not isinstance(b, kf.Buffer) or not written_first(group, inner) or not self.dead_after(b.name, s):
                return None
            private.append(b)
        return Independent(private, found.folds, sums)

    def mixed(self, groups: Mapping[str, list[Access]], scope: Scope, ranges: Ranges) -> bool:
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

    def par(self, s: kf.For, found: Independent) -> list[kf.Stmt]:
        """The loop as `par`: over iterations, or over blocks of them where it is a vec loop, combines into folds or adds up."""
        new = {b.name: self.fresh(b.name) for b in found.private}
        private = [replace(b, name=new[b.name]) for b in found.private]
        own = replace(s, body=_renamed(s.body, new))
        if s.kind == "seq" and not found.folds and not found.sums:
            return [replace(own, kind="par", body=[*private, *own.body])]
        trips = int(kf.trips(s))
        if s.kind == "vec" and not found.folds and not found.sums:
            return self.vectors(own, private, trips)
        unit = s.lanes if s.kind == "vec" else 1
        blocks = min(self.most(found), max(2, int(min(work([s]), 1e9) // BLOCK)), max(1, trips // unit))
        size = _size(trips // unit, blocks) * unit * s.step
        count = trips * s.step // size
        block, lo = self.fresh(f"{s.var}_block"), Aff.of(s.lo)
        before: list[kf.Stmt] = []
        clear: list[kf.Stmt] = []
        merge: list[kf.Stmt] = []
        for a in found.sums:
            own = self.add_up(a, own, block, count, (before, clear, merge))
        start = lo + Aff.of(block) * size
        body: list[kf.Stmt] = [*private, *clear, replace(own, lo=start, hi=start + size)]
        rest = replace(s, lo=lo + count * size)
        out = [*before, kf.For(block, "par", 0, count, body), *merge]
        return out if (Aff.of(s.hi) - rest.lo).const == 0 else [*out, rest]

    def vectors(self, s: kf.For, private: Sequence[kf.Stmt], trips: int) -> list[kf.Stmt]:
        """A vec loop as a parallel loop over straight-line vectors; what is left over follows."""
        name, many = self.fresh(f"{s.var}_vector"), trips // s.lanes
        start = Aff.of(s.lo) + Aff.of(name) * s.lanes
        rest = replace(s, lo=Aff.of(s.lo) + many * s.lanes)
        one = replace(s, lo=start, hi=start + s.lanes, full=True, unroll=1)
        return [kf.For(name, "par", 0, many, [*private, one]), *([rest] if trips % s.lanes else [])]

    def most(self, found: Independent) -> int:
        """Blocks that there may be: so many that the arrays which they add to stay small."""
        total = sum(a.size * DTYPES[a.dtype].itemsize for a in found.sums)
        return max(2, min(BLOCKS, SUMS // max(total, 1)))

    def add_up(
        self, a: Sum, loop: kf.For, block: str, count: int, parts: tuple[list[kf.Stmt], list[kf.Stmt], list[kf.Stmt]]
    ) -> kf.For:
        """The loop with an array for each block in place of what it adds to; `parts`: statements before it, in it and after it."""
        before, clear, merge = parts
        sums, k, x = self.fresh(f"{a.buf}_sums"), self.fresh("k"), self.fresh("x")
        lanes = 64 // DTYPES[a.dtype].itemsize
        at = Aff.of(block) * a.size
        before.append(kf.Buffer(sums, a.dtype, (count * a.size,)))
        zero = kf.Const(0, a.dtype)
        clear.append(kf.For(k, "vec", 0, a.size, [kf.Store(sums, (at + Aff.of(k),), zero)], lanes=lanes))
        added: list[kf.Stmt] = [
            kf.Let(x, a.dtype, kf.Load(sums, (at + Aff.of(k),))),
            kf.Store(a.buf, (a.start + Aff.of(k),), x, add=True),
        ]
        merge.append(kf.For(block, "seq", 0, count, [kf.For(k, "vec", 0, a.size, added, lanes=lanes)]))
        return replace(loop, body=_moved(loop.body, a.buf, sums, at - a.start))


def _size(units: int, blocks: int) -> int:
    """Units of a block: so many that blocks, of which there are `blocks` or somewhat fewer, leave none over, if that can be."""
    for count in range(blocks, max(1, blocks // 3), -1):
        if units % count == 0:
            return units // count
    return -(-units // blocks)


def _moved(body: Sequence[kf.Stmt], buf: str, to: str, by: Aff) -> list[kf.Stmt]:
    """The statements, adding to another buffer."""

    def change(s: kf.Stmt) -> kf.Stmt:
        return replace(s, buf=to, idx=(Aff.of(s.idx[0]) + by,)) if isinstance(s, kf.Store) and s.buf == buf else s

    return kf.rewritten(body, change)


def _renamed(body: Sequence[kf.Stmt], new: Mapping[str, str]) -> list[kf.Stmt]:
    """The statements with other names for scratch buffers."""

    def change(s: kf.Stmt) -> kf.Stmt:
        if isinstance(s, kf.Let) and isinstance(s.expr, kf.Load) and s.expr.buf in new:
            return replace(s, expr=replace(s.expr, buf=new[s.expr.buf]))
        return replace(s, buf=new[s.buf]) if isinstance(s, (kf.Store, kf.Prefetch, kf.Begin)) and s.buf in new else s

    return kf.rewritten(body, change) if new else list(body)


def _scratch(body: Sequence[kf.Stmt]) -> dict[str, list[Access]]:
    """All accesses of the kernel's scratch buffers."""
    out: dict[str, list[Access]] = {}
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
