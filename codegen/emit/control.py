"""Branches and `while` loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irad.codegen.emit.index import Cell
from irad.codegen.emit.loops import Effects, Loops
from irad.codegen.kernel.form import While
from irad.codegen.llvm_text import Scope, Val
from irad.errors import IradError

Text = tuple[str, list[str]] | None  # first block and lines of a branch
End = tuple[str | None, list[list[Val]]]  # last block of a branch and the values of the cells there


class Control(Loops):
    """Control flow that depends on data."""

    # ---- branches ----

    def branch(
        self,
        cond: Val,
        changed: Sequence[Effects],
        then: Callable[[], None],
        orelse: Callable[[], None] | None,
        costly: bool = True,
    ) -> None:
        """if cond: then() else: orelse(). What is costly does not move out of it."""
        if cond.lanes > 1:
            raise IradError("the condition of an `if` differs between the lanes of a vec loop; use `select` there")
        cells = self._cells(frozenset().union(*(c for c, _ in changed)))
        merge, init = self.label(), [list(c.vals) for c in cells]
        texts: list[Text] = []
        ends: list[End] = []
        for f in (then, orelse):
            for c, vs in zip(cells, init):
                c.vals = list(vs)
            if f is None:
                texts.append(None)
                ends.append((None, init))
                continue
            d = len(self.scopes)
            sc = Scope(self.label(), frozenset(), d, d if costly else self.scopes[-1].floor)
            first = sc.label
            self.scopes.append(sc)
            f()
            self.scopes.pop()
            texts.append((first, sc.lines))
            ends.append((sc.label, [list(c.vals) for c in cells]))
        self._join(cond, merge, texts, ends, cells)

    def _join(self, cond: Val, merge: str, texts: list[Text], ends: list[End], cells: list[Cell]) -> None:
        """The branch, the text of both sides, and phis where they differ."""
        o, before = self.scopes[-1].lines, self.scopes[-1].label
        targets = [merge if t is None else t[0] for t in texts]
        o.append(f" br i1 {cond.n}, label %{targets[0]}, label %{targets[1]}")
        for t in texts:
            if t is not None:
                o += [f"{t[0]}:", *t[1], f" br label %{merge}"]
        self.start_block(merge)
        (la, va), (lb, vb) = ends
        d = len(self.scopes) - 1
        for c, xs, ys in zip(cells, va, vb):
            vals = []
            for x, y in zip(xs, ys):
                if x is not y:
                    p = self.fresh(x, d)
                    o.append(f" {p.n} = phi {p.ty} [ {x.n}, %{la or before} ], [ {y.n}, %{lb or before} ]")
                    x = p
                vals.append(x)
            c.vals = vals

    # ---- while ----

    def while_loop(self, s: While) -> None:
        """Top tested: head (phis, test), body, back to head."""
        frame = self.open_loop([self.effects(s.test), self.effects(s.body)], guarded=False)
        frame.counted = False
        self.block(s.test)
        cond = self.operand(s.cond)
        if cond.lanes > 1:
            raise IradError("the condition of a `while` differs between the lanes of a vec loop")
        after_test = [list(c.vals) for c in frame.cells]
        d = len(self.scopes)
        body = Scope(self.label(), frame.head.stores, d, d)
        body_label, exit_label = body.label, self.label()
        self.scopes.append(body)
        self.block(s.body)
        del self.scopes[d - 2 :]
        o = self.scopes[-1].lines
        o.append(f" br label %{frame.pre_label}")
        self.loop_head(frame, [list(c.vals) for c in frame.cells], body.label)
        o += frame.head.lines
        o += [f" br i1 {cond.n}, label %{body_label}, label %{exit_label}", f"{body_label}:", *body.lines]
        o.append(f" br label %{frame.head_label}")
        self.close_loop(frame, after_test, exit_label, None, "")
