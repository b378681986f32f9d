"""Counted loops: seq, unroll and vec. They are bottom tested; a positive constant trip count needs no guard.

    parent            ... br guard, pre, exit
    pre               what is invariant in the loop and may not run if it does not
    head              phis, body, increments, br head, exit
    exit              phis of what the body changes, if guarded

Phis exist for exactly the variables, fold slots and swapped addresses that the body writes (`effects`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from irad.codegen.emit.folds import FoldCell, Folds, Rule
from irad.codegen.emit.index import LANE, Cell, Iv, Lin
from irad.codegen.emit.memory import whole_copy
from irad.codegen.kernel.form import (
    Assign,
    Call,
    Combine,
    Deref,
    Fold,
    For,
    If,
    Let,
    LinScan,
    Parallel,
    Stmt,
    Store,
    Swap,
    Var,
    View,
    While,
)
from irad.codegen.llvm_text import Scope, Val
from irad.core.lazy_dataclass import dataclass
from irad.errors import IradError

Effects = tuple[frozenset[str], frozenset[str]]  # cells (variables, folds, swapped buffers) and buffers that a body changes


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


class Loops(Folds):
    """Loops. `block`, `operand` and `branch` come from the classes built on this one."""

    mixing = False  # are copies of a body emitted that are to be interleaved?

    def __init__(self, rules: dict[str, Rule]) -> None:
        super().__init__(rules)
        self._effects: dict[int, Effects] = {}
        self.in_vec = False

    def block(self, body: Sequence[Stmt]) -> None:
        raise NotImplementedError

    # ---- what a body changes ----

    def effects(self, body: list[Stmt]) -> Effects:
        """Variables and buffers declared outside of `body` that it changes; memoised."""
        e = self._effects.get(id(body))
        if e is None:
            e = self._effects[id(body)] = self._find_effects(body)
        return e

    def _find_effects(self, body: list[Stmt]) -> Effects:
        local, cells, bufs, views = set(), set(), set(), {}
        for s in body:
            if isinstance(s, (Var, Fold)):
                local.add(s.name)
            elif isinstance(s, View) and s.dtype is None:
                views[s.name] = s.buf
            elif isinstance(s, Deref):
                views[s.name] = deref_family(s)
            elif isinstance(s, (Assign, Combine)):
                cells.add(s.name if isinstance(s, Assign) else s.fold)
            elif isinstance(s, Let) and isinstance(s.expr, LinScan):
                cells.add(s.expr.var)
            elif isinstance(s, Store):
                bufs.add(s.buf)
            elif isinstance(s, (Call, Parallel)):
                bufs.update(s.writes)
            elif isinstance(s, Swap):
                cells.update((s.a, s.b))
                bufs.update((s.a, s.b))
            for inner in _bodies(s):
                c, b = self.effects(inner)
                cells |= c
                bufs |= b
        for name, base in reversed(views.items()):
            if name in bufs:
                bufs.add(base)
        return frozenset(cells - local), frozenset(bufs)

    def _families(self, bufs: Iterable[str]) -> frozenset[str]:
        return frozenset(self.bufs[b].family if b in self.bufs else b for b in bufs)

    def _cells(self, names: Iterable[str]) -> list[Cell]:
        """The mutable things of these names, in a fixed order."""
        out = []
        for n in sorted(names):
            c = self.bufs.get(n) or self.env.get(n)
            if not hasattr(c, "vals"):
                raise IradError(f"`{n}` is changed but is no variable, fold or buffer in scope")
            out.append(c)
        return out  # type: ignore[return-value]

    def fresh(self, like: Val, d: int) -> Val:
        self.count += 1
        return Val(f"%.{self.count}", like.dtype, like.lanes, like.ty, d)

    # ---- seq loops ----

    def counted(self, lo: Lin, hi: Lin, step: int, changed: Effects, body: Callable[[Lin], None]) -> None:
        """for (i = lo; step > 0 ? i < hi : i > hi; i += step) body(i)"""
        span = hi.plus(lo, -1)
        trips = None if span.t else -(-span.c // step)
        if trips is not None and trips <= 0:
            return
        lo_v, hi_v = self.uniform(lo, "a loop bound"), self.uniform(hi, "a loop bound")
        frame = self.open_loop([changed], guarded=trips is None)
        iv = Iv(f"%.{self.count}i", len(self.scopes) - 1)
        body(Lin(0, {iv: 1}))
        exact = trips is not None and span.c == trips * step
        tail, exit_label = frame.head.label, self.label()
        final = [list(c.vals) for c in frame.cells]
        steps = self._increments(iv, step, hi_v, exact, frame.head_label, exit_label)
        self.scopes.pop()
        starts = self._starts(iv, lo, lo_v)
        self.scopes.pop()
        parent = self.scopes[-1]
        o, before = parent.lines, parent.label
        if trips is None:
            self.count += 1
            o.append(f" %.{self.count} = icmp {'slt' if step > 0 else 'sgt'} i64 {lo_v.n}, {hi_v.n}")
            o.append(f" br i1 %.{self.count}, label %{frame.pre_label}, label %{exit_label}")
        else:
            o.append(f" br label %{frame.pre_label}")
        self.loop_head(frame, final, tail)
        for k, v in iv.scaled.items():
            o.append(f" {v.n} = phi i64 [ {starts[k].n}, %{frame.pre.label} ], [ {v.n}n, %{tail} ]")
        o += frame.head.lines
        o += steps
        self.close_loop(frame, final, exit_label, None if trips else before, tail)

    def open_loop(self, changed: Sequence[Effects], guarded: bool) -> OpenLoop:
        """Push the scopes of a loop and give the changed cells their phis."""
        cells = self._cells(frozenset().union(*[c for c, _ in changed]))
        families = self._families(frozenset().union(*[b for _, b in changed]))
        for f in families:
            self.written(f)
        parent, d = self.scopes[-1], len(self.scopes)
        pre = Scope(self.label(), frozenset(), d if guarded else parent.guard, parent.floor)
        head = Scope(self.label(), families, pre.guard, pre.floor)
        self.scopes += [pre, head]
        init = [list(c.vals) for c in cells]
        phis = [[self.fresh(v, d + 1) for v in vs] for vs in init]
        for c, ps in zip(cells, phis):
            c.vals = list(ps)
        return OpenLoop(pre, head, pre.label, head.label, cells, init, phis)

    def loop_head(self, f: OpenLoop, final: list[list[Val]], tail: str) -> None:
        """The preheader's text and the phis of the cells."""
        o = self.scopes[-1].lines
        o += [f"{f.pre_label}:", *f.pre.lines, f" br label %{f.head_label}", f"{f.head_label}:"]
        for ps, ins, outs in zip(f.phis, f.init, final):
            for p, a, z in zip(ps, ins, outs):
                o.append(f" {p.n} = phi {p.ty} [ {a.n}, %{f.pre.label} ], [ {z.n}, %{tail} ]")

    def close_loop(self, f: OpenLoop, last: list[list[Val]], exit_label: str, guard: str | None, tail: str) -> None:
        """Values after the loop: as before where unchanged, else the last ones, or a phi where the loop may be skipped
        (from block `guard`)."""
        self.start_block(exit_label)
        d, o = len(self.scopes) - 1, self.scopes[-1].lines
        for c, ps, ins, outs in zip(f.cells, f.phis, f.init, last):
            vals = []
            for p, a, z in zip(ps, ins, outs):
                if z is p and f.counted:
                    vals.append(a)
                elif guard is None:
                    vals.append(Val(z.n, z.dtype, z.lanes, z.ty, d))
                else:
                    x = self.fresh(z, d)
                    o.append(f" {x.n} = phi {x.ty} [ {a.n}, %{guard} ], [ {z.n}, %{tail} ]")
                    vals.append(x)
            c.vals = vals
        for family in f.head.stores:
            self.written(family)

    def uniform(self, x: Lin, what: str) -> Val:
        """A linear form that must not differ between lanes."""
        v = self.value_of(x)
        if v.lanes > 1:
            raise IradError(f"{what} differs between the lanes of a vec loop")
        return v

    def _increments(self, iv: Iv, step: int, hi: Val, exact: bool, head: str, exit_label: str) -> list[str]:
        """The end of the body: every scaled copy of the induction variable steps, the plain one decides."""
        self._scale(iv, 1)
        out = [f" {v.n}n = add i64 {v.n}, {k * step}" for k, v in iv.scaled.items()]
        pred = "ne" if exact else "slt" if step > 0 else "sgt"
        self.count += 1
        out.append(f" %.{self.count} = icmp {pred} i64 {iv.scaled[1].n}n, {hi.n}")
        out.append(f" br i1 %.{self.count}, label %{head}, label %{exit_label}")
        return out

    def _starts(self, iv: Iv, lo: Lin, lo_v: Val) -> dict[int, Val]:
        """Start values of the scaled copies, computed in the preheader."""
        out = {}
        for k in iv.scaled:
            if k == 1:
                out[k] = lo_v
            elif not lo.t:
                out[k] = self.const(lo.c * k, "i64")
            else:
                out[k] = self.cheap(f"mul i64 {lo_v.n}, {k}", "i64", 1, "i64", lo_v.d)
        return out

    # ---- unrolled and interleaved text ----

    def unrolled(self, s: For) -> None:
        """Straight line; the variable is the constant (or base + constant) of each copy."""
        lo, hi = self.lin(s.lo), self.lin(s.hi)
        span = hi.plus(lo, -1)
        if span.t:
            raise IradError(f"unroll loop `{s.var}`: its trip count must be a constant")

        def copy(k: int) -> None:
            self.env[s.var] = Lin(lo.c + k, lo.t)
            self.block(s.body)

        self.copies([lambda k=k: copy(k) for k in range(0, span.c, s.step)], s.mix)  # type: ignore[misc]

    def copies(self, emitters: Sequence[Callable[[], None]], mix: bool) -> None:
        """Emit copies of a body one after another; with `mix` their lines are then interleaved, if they are straight line."""
        if not mix:
            for f in emitters:
                f()
            return
        sc, parts = self.scopes[-1], []
        at, label, outer, self.mixing = len(sc.lines), sc.label, self.mixing, True
        for f in emitters:
            f()
            parts.append(sc.lines[at:])
            del sc.lines[at:]
        self.mixing = outer
        sc.lines += interleave(parts) if sc.label == label else [l for p in parts for l in p]

    # ---- vec loops ----

    def vector_loop(self, s: For) -> None:
        """`lanes` iterations a trip, `unroll` trips a body; the rest straight line or in one masked loop."""
        if self.in_vec:
            raise IradError(f"vec loop `{s.var}` lies inside another vec loop")
        lo, hi, changed = self.lin(s.lo), self.lin(s.hi), self.effects(s.body)
        span = hi.plus(lo, -1)
        if (pair := whole_copy(s)) and not span.t:
            self.env[s.var] = lo  # the addresses of the first elements
            if self.copy_large(*pair, span.c):
                return
        outer = self._widen(changed, s.lanes, s.unroll)
        self.in_vec, self.lanes = True, s.lanes
        if not span.t:
            self._constant_vec(s, lo, span.c, changed)
        elif s.full:
            raise IradError(f"vec loop `{s.var}` is full: its trip count must be a constant")
        else:
            self._runtime_vec(s, lo, hi, changed)
        self.in_vec, self.lanes, self.copy = False, 1, 0
        for name, cell in outer.items():
            wide, self.env[name] = self.env[name], cell
            self.take_in(cell, self.reduced(wide))

    def _piece(self, s: For, at: Lin) -> None:
        """One vector of the loop, its lane 0 at index `at`."""
        self.env[s.var] = at if self.lanes == 1 else Lin(at.c, {**at.t, LANE: 1})
        self.block(s.body)

    def _copy(self, s: For, at: Lin, copy: int, live: int) -> Callable[[], None]:
        def emit() -> None:
            self.copy = copy
            if live < s.lanes:
                self.mask, self.active = self._constant_mask(live), live
            self._piece(s, at)
            self.mask = None

        return emit

    def _constant_mask(self, live: int) -> Val:
        W = self.lanes
        return Val(
            "<" + ", ".join([f"i1 {'true' if k < live else 'false'}" for k in range(W)]) + ">", "bool", W, f"<{W} x i1>", 0
        )

    def _constant_vec(self, s: For, lo: Lin, trip: int, changed: Effects) -> None:
        W, step = s.lanes, s.lanes * s.unroll
        if s.twice and trip > step and trip % step:
            return self._overlapping(s, lo, trip, changed)
        main = 0 if s.full or trip < 2 * step else trip // step * step
        if main:
            self._main_loop(s, lo, Lin(lo.c + main, lo.t), changed)
        rest = range(main, trip, W)
        self.copies([self._copy(s, Lin(lo.c + u, lo.t), k % s.unroll, trip - u) for k, u in enumerate(rest)], s.mix)

    def _overlapping(self, s: For, lo: Lin, trip: int, changed: Effects) -> None:
        """Whole vectors only: the last one starts where it ends with the loop, and runs again what the one before it has run."""
        step = s.lanes * s.unroll
        last = self.value_of(Lin(lo.c + trip - step, lo.t))

        def body(i: Lin) -> None:
            self._vectors(s, Lin(0, {self.intrinsic("smin", self.value_of(i), last): 1}))

        self.counted(lo, Lin(lo.c + -(-trip // step) * step, lo.t), step, changed, body)

    def _main_loop(self, s: For, lo: Lin, hi: Lin, changed: Effects) -> None:
        self.counted(lo, hi, s.lanes * s.unroll, changed, lambda i: self._vectors(s, i))

    def _vectors(self, s: For, at: Lin) -> None:
        """The whole vectors of one trip, from index `at`."""
        self.copies([self._copy(s, Lin(at.c + u * s.lanes, at.t), u, s.lanes) for u in range(s.unroll)], s.mix)

    def _runtime_vec(self, s: For, lo: Lin, hi: Lin, changed: Effects) -> None:
        step = s.lanes * s.unroll
        if step == 1:
            return self._main_loop(s, lo, hi, changed)
        self.uniform(lo, "a loop bound")
        hi_v = self.uniform(hi, "a loop bound")
        n = self.intrinsic("smax", self.value_of(hi.plus(lo, -1)), self.const(0, "i64"))
        if step & (step - 1):
            rest = self.cheap(f"urem i64 {n.n}, {step}", "i64", 1, "i64", n.d)
            main = self.sub(n, rest)
        else:
            main = self.and_(n, self.const(-step, "i64"))
        mid = lo.plus(Lin(0, {main: 1}))
        self._main_loop(s, lo, mid, changed)
        self._tail(s, mid, hi, hi_v, changed)

    def _tail(self, s: For, mid: Lin, hi: Lin, hi_v: Val, changed: Effects) -> None:
        """What is left, fewer than lanes * unroll iterations: one masked vector, or a loop of them."""
        self.copy = 0

        def body(i: Lin) -> None:
            if s.lanes > 1:
                left = self.convert(self.sub(hi_v, self.value_of(i)), "u32")
                self.mask, self.active = self.cmp("lt", self.iota(1, "u32"), left), self.bitcast(left, "i32")
            self._piece(s, i)
            self.mask = None

        if s.unroll == 1:
            some = self.cmp("lt", self.value_of(mid), hi_v)
            self.branch(some, [changed], lambda: body(mid), None, costly=False)
        else:
            self.counted(mid, hi, s.lanes, changed, body)

    def _widen(self, changed: Effects, lanes: int, unroll: int) -> dict[str, FoldCell]:
        """Put wide stand-ins in the place of scalar folds; returns the scalar ones."""
        outer: dict[str, FoldCell] = {}
        for name in sorted(changed[0]):
            c = self.env.get(name)
            if type(c) is FoldCell and not c.shape and not (c.scalar and c.lanes == lanes) and lanes * unroll > 1:
                outer[name] = c
                self.env[name] = self.widened(c, lanes, unroll)
        return outer

    def branch(
        self,
        cond: Val,
        changed: Sequence[Effects],
        then: Callable[[], None],
        orelse: Callable[[], None] | None,
        costly: bool = True,
    ) -> None:
        raise NotImplementedError


def deref_family(s: Deref) -> str:
    """Memory reached through one address overlaps itself, whatever it is called."""
    return f"*{s.buf}[{s.idx}]"


_NAME = re.compile(r"%[\w.]+")


def interleave(parts: Sequence[Sequence[str]]) -> list[str]:
    """Lines of independent copies in turn; a copy waits where it reads a value of another that is not there yet."""
    todo = {l.split(" = ", 1)[0].strip() for p in parts for l in p if " = " in l}
    waits = [[{n for n in _NAME.findall(l.split(" = ", 1)[-1]) if n in todo} for l in p] for p in parts]
    at, out = [0] * len(parts), []
    while any(k < len(p) for k, p in zip(at, parts)):
        for j, p in enumerate(parts):
            if at[j] < len(p) and not (waits[j][at[j]] & todo):
                line = p[at[j]]
                out.append(line)
                todo.discard(line.split(" = ", 1)[0].strip())
                at[j] += 1
    return out


def _bodies(s: Stmt) -> list[list[Stmt]]:
    if isinstance(s, For):
        return [s.body]
    if isinstance(s, If):
        return [s.then, s.orelse]
    return [s.test, s.body] if isinstance(s, While) else []
