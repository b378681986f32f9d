"""Counted loops in order, branches, and `while` loops. Counted loops are bottom tested; a positive constant trip count needs no guard.

    parent            ... br guard, pre, exit
    pre               loop invariants that must not run when the loop does not
    head              phis, body, increments, br head, exit
    exit              phis of what the body changes, if guarded

Phis exist for exactly the variables, fold slots and swapped addresses that the body writes (irad.codegen.emit.effects).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from irad.codegen.emit.effects import Changed
from irad.codegen.emit.index import Cell, Iv, Names
from irad.codegen.emit.memory import Memory
from irad.codegen.llvm_text import Scope, Val
from irad.codegen.math.values import Values
from irad.core.affine import Integer, symbol
from irad.core.lazy_dataclass import dataclass
from irad.errors import IradError

Text = tuple[str, list[str]] | None  # first block and lines of a branch
End = tuple[str | None, list[list[Val]]]  # last block of a branch and the values of the cells there


@dataclass
class OpenLoop:
    """A loop being emitted: its scopes, their first blocks (`label` of a scope is its last), and the changed cells with
    their values before the loop and their phis. In a counted loop a phi that is the last value too never changes."""

    pre: Scope
    head: Scope
    pre_label: str
    head_label: str
    cells: list[Cell]
    init: list[list[Val]]
    phis: list[list[Val]]
    counted: bool = True


class Control:
    """Control flow around bodies, which are functions that emit them."""

    def __init__(self, b: Values, names: Names, memory: Memory) -> None:
        self.b, self.names, self.memory = b, names, memory

    def _cells(self, names: Iterable[str]) -> list[Cell]:
        """The mutable things of these names, in a fixed order."""
        out = []
        for n in sorted(names):
            c = self.names.bufs.get(n) or self.names.env.get(n)
            if not hasattr(c, "vals"):
                raise IradError(f"`{n}` is changed but is no variable, fold or buffer in scope")
            out.append(c)
        return out  # type: ignore[return-value]

    # ---- seq loops ----

    def counted(self, lo: Integer, hi: Integer, step: int, changed: Changed, body: Callable[[Integer], None]) -> None:
        """for (i = lo; step > 0 ? i < hi : i > hi; i += step) body(i)"""
        span = hi - lo
        trips = -(-span // step) if isinstance(span, int) else None
        if trips is not None and trips <= 0:
            return
        lo_v, hi_v = self.names.uniform(lo, "a loop bound"), self.names.uniform(hi, "a loop bound")
        frame = self.open_loop([changed], guarded=trips is None)
        iv = Iv(f"%.{self.b.count}i", len(self.b.scopes) - 1)
        body(symbol(iv))
        exact = trips is not None and span == trips * step
        tail, exit_label = frame.head.label, self.b.label()
        final = [list(c.vals) for c in frame.cells]
        steps = self._increments(iv, step, hi_v, exact, frame.head_label, exit_label)
        self.b.scopes.pop()
        starts = self._starts(iv, lo, lo_v)
        self.b.scopes.pop()
        parent = self.b.scopes[-1]
        o, before = parent.lines, parent.label
        if trips is None:
            self.b.count += 1
            o.append(f" %.{self.b.count} = icmp {'slt' if step > 0 else 'sgt'} i64 {lo_v.n}, {hi_v.n}")
            o.append(f" br i1 %.{self.b.count}, label %{frame.pre_label}, label %{exit_label}")
        else:
            o.append(f" br label %{frame.pre_label}")
        self.loop_head(frame, final, tail)
        for k, v in iv.scaled.items():
            o.append(f" {v.n} = phi i64 [ {starts[k].n}, %{frame.pre.label} ], [ {v.n}n, %{tail} ]")
        o += frame.head.lines
        o += steps
        self.close_loop(frame, final, exit_label, None if trips else before, tail)

    def open_loop(self, changed: Sequence[Changed], guarded: bool) -> OpenLoop:
        """Push the scopes of a loop and give the changed cells their phis."""
        cells = self._cells(frozenset().union(*[c for c, _ in changed]))
        families = frozenset(getattr(self.names.bufs.get(b), "family", b) for _, bufs in changed for b in bufs)
        for f in families:
            self.memory.written(f)
        parent, d = self.b.scopes[-1], len(self.b.scopes)
        pre = Scope(self.b.label(), frozenset(), d if guarded else parent.guard, parent.floor)
        head = Scope(self.b.label(), families, pre.guard, pre.floor)
        self.b.scopes += [pre, head]
        init = [list(c.vals) for c in cells]
        phis = [[self.b.fresh(v, d + 1) for v in vs] for vs in init]
        for c, ps in zip(cells, phis):
            c.vals = list(ps)
        return OpenLoop(pre, head, pre.label, head.label, cells, init, phis)

    def loop_head(self, f: OpenLoop, final: list[list[Val]], tail: str) -> None:
        """The preheader's text and the phis of the cells."""
        o = self.b.scopes[-1].lines
        o += [f"{f.pre_label}:", *f.pre.lines, f" br label %{f.head_label}", f"{f.head_label}:"]
        for ps, ins, outs in zip(f.phis, f.init, final):
            for p, a, z in zip(ps, ins, outs):
                o.append(f" {p.n} = phi {p.ty} [ {a.n}, %{f.pre.label} ], [ {z.n}, %{tail} ]")

    def close_loop(self, f: OpenLoop, last: list[list[Val]], exit_label: str, guard: str | None, tail: str) -> None:
        """Values after the loop: as before where unchanged, else the last ones, or a phi where the loop may be skipped
        (from block `guard`)."""
        self.b.start_block(exit_label)
        d, o = len(self.b.scopes) - 1, self.b.scopes[-1].lines
        for c, ps, ins, outs in zip(f.cells, f.phis, f.init, last):
            vals = []
            for p, a, z in zip(ps, ins, outs):
                if z is p and f.counted:
                    vals.append(a)
                elif guard is None:
                    vals.append(Val(z.n, z.dtype, z.lanes, z.ty, d))
                else:
                    x = self.b.fresh(z, d)
                    o.append(f" {x.n} = phi {x.ty} [ {a.n}, %{guard} ], [ {z.n}, %{tail} ]")
                    vals.append(x)
            c.vals = vals
        for family in f.head.stores:
            self.memory.written(family)

    def _increments(self, iv: Iv, step: int, hi: Val, exact: bool, head: str, exit_label: str) -> list[str]:
        """The end of the body: every scaled copy of the induction variable steps, the plain one decides."""
        self.names.scale(iv, 1)
        out = [f" {v.n}n = add i64 {v.n}, {k * step}" for k, v in iv.scaled.items()]
        pred = "ne" if exact else "slt" if step > 0 else "sgt"
        self.b.count += 1
        out.append(f" %.{self.b.count} = icmp {pred} i64 {iv.scaled[1].n}n, {hi.n}")
        out.append(f" br i1 %.{self.b.count}, label %{head}, label %{exit_label}")
        return out

    def _starts(self, iv: Iv, lo: Integer, lo_v: Val) -> dict[int, Val]:
        """Start values of the scaled copies, computed in the preheader."""
        out = {}
        for k in iv.scaled:
            if k == 1:
                out[k] = lo_v
            elif isinstance(lo, int):
                out[k] = self.b.const(lo * k, "i64")
            else:
                out[k] = self.b.cheap(f"mul i64 {lo_v.n}, {k}", "i64", 1, "i64", lo_v.d)
        return out

    # ---- branches ----

    def branch(
        self,
        cond: Val,
        changed: Sequence[Changed],
        then: Callable[[], None],
        orelse: Callable[[], None] | None,
        costly: bool = True,
    ) -> None:
        """if cond: then() else: orelse(). What is costly does not move out of it."""
        if cond.lanes > 1:
            raise IradError("the condition of an `if` differs between the lanes of a vec loop; use `select` there")
        cells = self._cells(frozenset().union(*(c for c, _ in changed)))
        merge, init = self.b.label(), [list(c.vals) for c in cells]
        texts: list[Text] = []
        ends: list[End] = []
        for f in (then, orelse):
            for c, vs in zip(cells, init):
                c.vals = list(vs)
            if f is None:
                texts.append(None)
                ends.append((None, init))
                continue
            d = len(self.b.scopes)
            sc = Scope(self.b.label(), frozenset(), d, d if costly else self.b.scopes[-1].floor)
            first = sc.label
            self.b.scopes.append(sc)
            f()
            self.b.scopes.pop()
            texts.append((first, sc.lines))
            ends.append((sc.label, [list(c.vals) for c in cells]))
        self._join(cond, merge, texts, ends, cells)

    def _join(self, cond: Val, merge: str, texts: list[Text], ends: list[End], cells: list[Cell]) -> None:
        """The branch, the text of both sides, and phis where they differ."""
        o, before = self.b.scopes[-1].lines, self.b.scopes[-1].label
        targets = [merge if t is None else t[0] for t in texts]
        o.append(f" br i1 {cond.n}, label %{targets[0]}, label %{targets[1]}")
        for t in texts:
            if t is not None:
                o += [f"{t[0]}:", *t[1], f" br label %{merge}"]
        self.b.start_block(merge)
        (la, va), (lb, vb) = ends
        d = len(self.b.scopes) - 1
        for c, xs, ys in zip(cells, va, vb):
            vals = []
            for x, y in zip(xs, ys):
                if x is not y:
                    p = self.b.fresh(x, d)
                    o.append(f" {p.n} = phi {p.ty} [ {x.n}, %{la or before} ], [ {y.n}, %{lb or before} ]")
                    x = p
                vals.append(x)
            c.vals = vals

    # ---- while ----

    def while_loop(self, changed: Sequence[Changed], test: Callable[[], Val], emit: Callable[[], None]) -> None:
        """Top tested: head (phis, test), body, back to head."""
        frame = self.open_loop(changed, guarded=False)
        frame.counted = False
        cond = test()
        if cond.lanes > 1:
            raise IradError("the condition of a `while` differs between the lanes of a vec loop")
        after_test = [list(c.vals) for c in frame.cells]
        d = len(self.b.scopes)
        body = Scope(self.b.label(), frame.head.stores, d, d)
        body_label, exit_label = body.label, self.b.label()
        self.b.scopes.append(body)
        emit()
        del self.b.scopes[d - 2 :]
        o = self.b.scopes[-1].lines
        o.append(f" br label %{frame.pre_label}")
        self.loop_head(frame, [list(c.vals) for c in frame.cells], body.label)
        o += frame.head.lines
        o += [f" br i1 {cond.n}, label %{body_label}, label %{exit_label}", f"{body_label}:", *body.lines]
        o.append(f" br label %{frame.head_label}")
        self.close_loop(frame, after_test, exit_label, None, "")
