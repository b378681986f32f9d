"""Which loops of a kernel run on several threads: `seq` and `vec` loops of much work with independent iterations become `par`.

A loop qualifies if, for what its body writes (irad.codegen.kernel.independence),
- scalars and folds are the iteration's own, but for folds declared outside, into which the loop combines (chunks merge in order);
- scratch buffers are written before they are read in each iteration: their declaration moves into the loop;
- elements that it only adds to, the same in all iterations: each block adds to an array of its own (added up in order at the end);
- in other buffers, no element that one iteration writes is touched by another. Positions are affine: with c the stride of the
  loop variable, those of one iteration differ by less than c, apart from a multiple of an H that spans all iterations
  (a mixed-radix number in which the loop variable is one digit).

Chunks depend on sizes only, never on the number of threads, so the results are the same bits whatever runs them. Of trips that only the
run counts, so are the blocks; there are none if there are few trips.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.cost import work
from irad.codegen.kernel.form import integer
from irad.codegen.kernel.independence import SUMS, Independent, Ranges, Scope, Sum
from irad.codegen.transform.loops import Loops
from irad.core.affine import Integer
from irad.core.lazy_dataclass import replace
from irad.core.types import DTYPES

WORTH = 100e3  # ns of work from which on a loop is shared out
BLOCK = 25e3  # ns of a block of a vec loop, or of a loop with folds
MANY = 1024  # blocks of a loop without, whose trips only the run counts
BLOCKS = 64  # blocks of a loop with folds: what merges in order at its end


def shared(kernel: kf.Kernel) -> kf.Kernel:
    """The kernel with its parallel loops marked."""
    if work(kernel.body) < WORTH:
        return kernel
    scope = {p.name: p for p in kernel.params if p.shape is not None}
    return replace(kernel, body=_Marker(kernel.body).block(kernel.body, scope, {}))


class _Marker(Loops):
    """Marks the loops of one kernel."""

    def statement(self, s: kf.Stmt, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        if not isinstance(s, kf.For):
            return self.inside(s, scope, ranges)
        if s.kind not in ("seq", "vec") or s.full or work([s]) < WORTH:
            return [s]
        found = self.independent(s, scope, ranges) if s.step > 0 and kf.trips(s) > 1 else None
        plain = s.kind == "seq" and found and not found.folds and not found.sums
        if found and (kf.trips(s) < inf or plain or s.most is not None):
            return self.par(s, found)
        return self.inside(s, scope, ranges)

    def par(self, s: kf.For, found: Independent) -> list[kf.Stmt]:
        """The loop as `par`: over iterations, or over blocks of them where it is a vec loop, combines into folds or adds up."""
        new = {b.name: self.fresh(b.name) for b in found.private}
        private = [replace(b, name=new[b.name]) for b in found.private]
        own = replace(s, body=_renamed(s.body, new))
        if s.kind == "seq" and not found.folds and not found.sums:
            return [replace(own, kind="par", body=[*private, *own.body])]
        if kf.trips(s) == inf:
            return self.counted_later(s, own, private, found)
        trips = int(kf.trips(s))
        if s.kind == "vec" and not found.folds and not found.sums:
            return self.vectors(own, private, trips)
        unit = s.lanes if s.kind == "vec" else 1
        blocks = min(self.most(found), max(2, int(min(work([s]), 1e9) // BLOCK)), max(1, trips // unit))
        size = _size(trips // unit, blocks) * unit * s.step
        count = trips * s.step // size
        out = self.in_blocks(s, own, private, found, size, count, count)
        return out if integer(s.hi) - integer(s.lo) - count * size == 0 else [*out, replace(s, lo=integer(s.lo) + count * size)]

    def in_blocks(
        self, s: kf.For, own: kf.For, private: Sequence[kf.Stmt], found: Independent, size: Integer, most: int, blocks: int | str
    ) -> list[kf.Stmt]:
        """Blocks of `size` trips side by side, each with memory and sums of its own; `most`: how many blocks there are at most."""
        block = self.fresh(f"{s.var}_block")
        before, clear, merge = list[kf.Stmt](), list[kf.Stmt](), list[kf.Stmt]()
        for a in found.sums:
            own = self.add_up(a, own, block, most, (before, clear, merge), blocks)
        start = integer(s.lo) + integer(block) * size
        body: list[kf.Stmt] = [*private, *clear, replace(own, lo=start, hi=start + size)]
        return [*before, kf.For(block, "par", 0, blocks, body, most=most if isinstance(blocks, str) else None), *merge]

    def vectors(self, s: kf.For, private: Sequence[kf.Stmt], trips: int) -> list[kf.Stmt]:
        """A vec loop as a parallel loop over straight-line vectors; what is left over follows."""
        name, many = self.fresh(f"{s.var}_vector"), trips // s.lanes
        start = integer(s.lo) + integer(name) * s.lanes
        rest = replace(s, lo=integer(s.lo) + many * s.lanes)
        one = replace(s, lo=start, hi=start + s.lanes, full=True, unroll=1)
        return [kf.For(name, "par", 0, many, [*private, one]), *([rest] if trips % s.lanes else [])]

    def counted_later(self, s: kf.For, own: kf.For, private: Sequence[kf.Stmt], found: Independent) -> list[kf.Stmt]:
        """The same of a loop whose trips only the run counts: as many blocks as there is work for."""
        unit = s.lanes if s.kind == "vec" else 1
        least = max(1, int(BLOCK // max(1.0, work([replace(s, lo=0, hi=unit * s.step, most=None)]))))
        most = self.most(found) if found.folds or found.sums else MANY
        names = ("units", "enough", "few", "blocks", "some", "each", "size", "done")
        units, enough, few, blocks, some, each, size, done = (self.fresh(f"{s.var}_{h}") for h in names)
        number = lambda name, op, *args: kf.Let(name, "i64", kf.Apply(op, args))
        const = lambda n: kf.Const(n, "i64")
        count: list[kf.Stmt] = [
            number(units, "floor_divide", integer(s.hi) - integer(s.lo), const(unit * s.step)),
            number(enough, "floor_divide", units, const(least)),
            number(few, "minimum", enough, const(most)),
            number(blocks, "maximum", few, const(0)),
            number(some, "maximum", blocks, const(1)),
            number(each, "floor_divide", units, some),
            number(size, "mul", each, const(unit * s.step)),
            number(done, "mul", blocks, size),
        ]
        shared = self.in_blocks(s, own, private, found, integer(size), most, blocks)
        return [*count, *shared, replace(s, lo=integer(s.lo) + integer(done))]

    def most(self, found: Independent) -> int:
        """Blocks that there may be: so many that the arrays which they add to stay small."""
        total = sum(a.size * DTYPES[a.dtype].itemsize for a in found.sums)
        return max(2, min(BLOCKS, SUMS // max(total, 1)))

    def add_up(
        self,
        a: Sum,
        loop: kf.For,
        block: str,
        count: int,
        parts: tuple[list[kf.Stmt], list[kf.Stmt], list[kf.Stmt]],
        blocks: int | str,
    ) -> kf.For:
        """The loop with an array for each block in place of what it adds to; `parts`: statements before it, in it and after it;
        `count`: how many blocks there are at most, `blocks`: how many there are."""
        before, clear, merge = parts
        sums, k, x = self.fresh(f"{a.buf}_sums"), self.fresh("k"), self.fresh("x")
        lanes = 64 // DTYPES[a.dtype].itemsize
        at = integer(block) * a.size
        before.append(kf.Buffer(sums, a.dtype, (count * a.size,)))
        zero = kf.Const(0, a.dtype)
        clear.append(kf.For(k, "vec", 0, a.size, [kf.Store(sums, (at + integer(k),), zero)], lanes=lanes))
        added: list[kf.Stmt] = [
            kf.Let(x, a.dtype, kf.Load(sums, (at + integer(k),))),
            kf.Store(a.buf, (a.start + integer(k),), x, add=True),
        ]
        merge.append(kf.For(block, "seq", 0, blocks, [kf.For(k, "vec", 0, a.size, added, lanes=lanes)]))
        return replace(loop, body=_moved(loop.body, a.buf, sums, at - a.start))


def _size(units: int, blocks: int) -> int:
    """Units of a block: so many that blocks, of which there are `blocks` or somewhat fewer, leave none over, if that can be."""
    for count in range(blocks, max(1, blocks // 3), -1):
        if units % count == 0:
            return units // count
    return -(-units // blocks)


def _moved(body: Sequence[kf.Stmt], buf: str, to: str, by: Integer) -> list[kf.Stmt]:
    """The statements, adding to another buffer."""

    def change(s: kf.Stmt) -> kf.Stmt:
        return replace(s, buf=to, idx=(integer(s.idx[0]) + by,)) if isinstance(s, kf.Store) and s.buf == buf else s

    return kf.rewritten(body, change)


def _renamed(body: Sequence[kf.Stmt], new: Mapping[str, str]) -> list[kf.Stmt]:
    """The statements with other names for scratch buffers."""

    def change(s: kf.Stmt) -> kf.Stmt:
        if isinstance(s, kf.Let) and isinstance(s.expr, kf.Load) and s.expr.buf in new:
            return replace(s, expr=replace(s.expr, buf=new[s.expr.buf]))
        return replace(s, buf=new[s.buf]) if isinstance(s, (kf.Store, kf.Prefetch, kf.Begin)) and s.buf in new else s

    return kf.rewritten(body, change) if new else list(body)
