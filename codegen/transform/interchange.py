"""Loop interchange: recurrences along the rows of a matrix whose trips work on columns run a block of rows at a time.

`for j: y[:, j] = a*x[:, j] + b*y[:, j-1]` takes one element of each cache line in a trip, and comes back to the line when it has
long left the cache. Where the rows are independent of each other, blocks of them go through all trips one after another
(interchange of loops after strip-mining: Wolfe, "High performance compilers for parallel computing", 1996, ch. 9). What each row
computes is the same, in the same order. Sums over rows and trips into one number of a derivative are added in another order.
"""

from __future__ import annotations

from collections.abc import Sequence

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import integer
from irad.codegen.kernel.independence import Body, ByteAccess, Ranges, Scope
from irad.codegen.kernel.mentions import reads
from irad.codegen.kernel.substitute import substituted
from irad.codegen.transform.loops import Loops
from irad.core.affine import Integer, coefficient
from irad.core.lazy_dataclass import dataclass, replace
from irad.core.notes import Notes

BLOCK = 32  # rows: a few vectors, and so many cache lines of each array as any cache holds
ROWS = 96  # with fewer rows, the cache lines of a column stay in the cache as it is
LINE = 64  # bytes of a cache line


def interchanged(kernel: kf.Kernel, notes: Notes | None = None) -> kf.Kernel:
    """The kernel with such loops turned inside out."""
    return _Turner.over(kernel, notes)


@dataclass
class _Sum:
    """`var = add(var, term)` in each trip, where `term` is a sum over all rows: what becomes a fold around the blocks.

    The sum of a block's rows is no number of the program, but those of all blocks add up to it. So nothing else may read it, and
    what is added may not be anything but that: a number that does not come from the rows would be added for each block.
    """

    add: kf.Let
    var: str
    term: kf.Operand


class _Turner(Loops):
    def statement(self, s: kf.Stmt, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        if isinstance(s, kf.For) and s.kind == "seq":
            turned = self.turned(s, scope, ranges)
            if turned is not None:
                return turned
        return self.inside(s, scope, ranges)

    def turned(self, trips: kf.For, scope: Scope, ranges: Ranges) -> list[kf.Stmt] | None:
        """`trips` around loops over rows as blocks of rows around it.

        Memory whose life begins with each trip holds rows of other blocks too then: it is not filled again (code that checks its memory).
        """
        trips = replace(trips, body=[t for t in trips.body if not isinstance(t, kf.Begin)])
        rows = _rows(trips.body)
        if rows is None:
            return None
        sums = _sums(trips.body)
        if sums is None:
            return None
        folds = [kf.Fold(self.fresh(f"{s.var}_sum"), "add", (s.add.dtype,), (kf.Const(0.0, s.add.dtype),)) for s in sums]
        inner = {**scope, **{f.name: f for f in folds}}
        summed, row = replace(trips, body=_with_folds(trips.body, sums, folds)), self.fresh("row")
        one = kf.For(row, "seq", rows.lo, rows.hi, [replace(trips, body=_one_row(summed.body, row))])
        found = self.independent(one, inner, ranges) if _by_columns(one, trips, inner) else None
        if found is None or found.private or found.sums or any(f not in folds for f in found.folds):
            return None
        if self.notes is not None:
            text = f"loop {trips.var} over {int(kf.trips(rows))} rows: {BLOCK} rows at a time go through all trips"
            self.notes.add("loop", text, form="interchanged", rows=BLOCK)
        return self.blocks(summed, rows, sums, folds)

    def blocks(self, trips: kf.For, rows: kf.For, sums: Sequence[_Sum], folds: Sequence[kf.Fold]) -> list[kf.Stmt]:
        lo, count = integer(rows.lo), int(kf.trips(rows)) // BLOCK
        block = self.fresh(f"{rows.var}_block")
        out: list[kf.Stmt] = [
            *folds, kf.For(block, "seq", 0, count, [_one_block(trips, lo + integer(block) * BLOCK)]),
        ]  # fmt: skip
        end = lo + count * BLOCK
        if integer(rows.hi) - integer(end) != 0:
            out.append(_rest(trips, end, rows.hi))
        for s, f in zip(sums, folds):
            total, both = self.fresh(f"{s.var}_total"), self.fresh(f"{s.var}_both")
            out += [
                kf.Let(total, s.add.dtype, kf.Part(f.name)),
                kf.Let(both, s.add.dtype, kf.Apply("add", (s.var, total)), contract=True),
                kf.Assign(s.var, both),
            ]
        return out


def _rows(body: Sequence[kf.Stmt]) -> kf.For | None:
    """One of the loops over rows, if the body holds nothing but such, over the same rows, and numbers for them."""
    loops = [s for s in body if isinstance(s, kf.For)]
    if not loops or any(
        l.kind != "vec" or l.full or l.lo != loops[0].lo or l.hi != loops[0].hi or BLOCK % l.lanes for l in loops
    ):
        return None
    plain = all(isinstance(s, (kf.Let, kf.Fold, kf.Assign, kf.For)) for s in body)
    straight = all(isinstance(s, (kf.Let, kf.Store, kf.Combine)) for l in loops for s in l.body)
    lanes = any(isinstance(s, kf.Let) and isinstance(s.expr, kf.LinScan) for l in loops for s in l.body)
    return loops[0] if plain and straight and not lanes and ROWS <= kf.trips(loops[0]) < 1 << 62 else None


def _sums(body: Sequence[kf.Stmt]) -> list[_Sum] | None:
    """What the trips add up outside of themselves; None if they assign anything else, or use what they fold for anything else."""
    assigned = {s.name: s.value for s in body if isinstance(s, kf.Assign)}
    lets = {s.name: s for s in body if isinstance(s, kf.Let)}
    used = list(reads(body))
    parts = {s.name: s.expr.fold for s in kf.walk(body) if isinstance(s, kf.Let) and isinstance(s.expr, kf.Part)}
    out: list[_Sum] = []
    for var, value in assigned.items():
        add = lets.get(value) if isinstance(value, str) else None
        if add is None or not add.contract or not isinstance(add.expr, kf.Apply) or add.expr.op != "add":
            return None
        terms = [a for a in add.expr.args if a != var]
        if len(terms) != 1 or used.count(var) != 1 or used.count(add.name) != 1:
            return None
        out.append(_Sum(add, var, terms[0]))
    terms = [s.term for s in out]
    only = all(used.count(name) == terms.count(name) == 1 for name in parts)
    return out if only and all(t in parts for t in terms) and set(parts.values()) <= _plain_sums(body) else None


def _plain_sums(body: Sequence[kf.Stmt]) -> set[str]:
    """Folds of the body that add up numbers from 0 on."""
    return {
        s.name for s in body
        if isinstance(s, kf.Fold) and s.comb == "add" and not s.shape and all(isinstance(x, kf.Const) and x.value == 0 for x in s.init)
    }  # fmt: skip


def _with_folds(body: Sequence[kf.Stmt], sums: Sequence[_Sum], folds: Sequence[kf.Fold]) -> list[kf.Stmt]:
    """The body with folds in place of its sums."""
    new: dict[int, kf.Stmt] = {id(s.add): kf.Combine(f.name, (s.term,)) for s, f in zip(sums, folds)}
    vars = {s.var for s in sums}
    return [new.get(id(s), s) for s in body if not (isinstance(s, kf.Assign) and s.name in vars)]


def _one_block(trips: kf.For, first: Integer) -> kf.For:
    """The trips over BLOCK rows from the first one on, straight line."""

    def part(s: kf.Stmt) -> kf.Stmt:
        if not isinstance(s, kf.For):
            return s
        own = {s.var: integer(s.var) + first}
        return replace(s, lo=0, hi=BLOCK, body=[substituted(t, own) for t in s.body], full=True, unroll=1, mix=False, twice=False)

    return replace(trips, body=list(map(part, trips.body)))


def _rest(trips: kf.For, lo: kf.Index, hi: kf.Index) -> kf.For:
    """The trips over rows that are left."""
    return replace(trips, body=[replace(s, lo=lo, hi=hi, twice=False) if isinstance(s, kf.For) else s for s in trips.body])


def _one_row(body: Sequence[kf.Stmt], row: str) -> list[kf.Stmt]:
    """What a trip does for one row."""
    return [t for s in body for t in ([substituted(t, {s.var: integer(row)}) for t in s.body] if isinstance(s, kf.For) else [s])]


def _by_columns(one: kf.For, trips: kf.For, scope: Scope) -> bool:
    """Do most accesses step over a cache line from row to row, and stay in it from trip to trip?"""
    body = Body(one, scope)
    body.run()

    def step(a: ByteAccess, var: str) -> int:
        return abs(coefficient(a.at, var))

    columns = [a for a in body.accesses if step(a, one.var) >= LINE > step(a, trips.var) > 0]
    across = [a for a in body.accesses if step(a, trips.var) >= LINE]
    return len(columns) > len(across)
