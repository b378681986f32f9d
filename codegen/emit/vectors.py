"""Loops that are straight line, and vec loops: their vectors, copies and tails."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from irad.codegen.emit.control import Control
from irad.codegen.emit.effects import Changed
from irad.codegen.emit.folds import FoldCell, Folds
from irad.codegen.emit.index import LANE, Names
from irad.codegen.emit.memory import Memory, whole_copy
from irad.codegen.kernel.form import For, Stmt
from irad.codegen.llvm_text import Val
from irad.core.affine import Integer, symbol
from irad.errors import IradError


class Vectors:
    """Copies of bodies, which `block` emits."""

    def __init__(
        self, names: Names, memory: Memory, folds: Folds, control: Control, block: Callable[[Sequence[Stmt]], None]
    ) -> None:
        self.b, self.across = names.b, names.across
        self.names, self.memory, self.folds, self.control, self.block = names, memory, folds, control, block
        self.in_vec = False
        self.mixing = False  # are copies of a body emitted that are to be interleaved?

    # ---- unrolled and interleaved text ----

    def unrolled(self, s: For) -> None:
        """Straight line; the variable is the constant (or base + constant) of each copy."""
        lo, hi = self.names.lin(s.lo), self.names.lin(s.hi)
        span = hi - lo
        if not isinstance(span, int):
            raise IradError(f"unroll loop `{s.var}`: its trip count must be a constant")

        def copy(k: int) -> None:
            self.names.env[s.var] = lo + k
            self.block(s.body)

        self.copies([lambda k=k: copy(k) for k in range(0, span, s.step)], s.mix)  # type: ignore[misc]

    def copies(self, emitters: Sequence[Callable[[], None]], mix: bool) -> None:
        """Emit copies of a body one after another; with `mix` their lines are then interleaved, if they are straight line."""
        if not mix:
            for f in emitters:
                f()
            return
        sc, parts = self.b.scopes[-1], []
        at, label, outer, self.mixing = len(sc.lines), sc.label, self.mixing, True
        for f in emitters:
            f()
            parts.append(sc.lines[at:])
            del sc.lines[at:]
        self.mixing = outer
        sc.lines += interleave(parts) if sc.label == label else [l for p in parts for l in p]

    # ---- vec loops ----

    def vector_loop(self, s: For, changed: Changed) -> None:
        """`lanes` iterations a trip, `unroll` trips a body; the rest straight line or in one masked loop."""
        if self.in_vec:
            raise IradError(f"vec loop `{s.var}` lies inside another vec loop")
        lo, hi = self.names.lin(s.lo), self.names.lin(s.hi)
        span = hi - lo
        if (pair := whole_copy(s)) and isinstance(span, int):
            self.names.env[s.var] = lo  # the addresses of the first elements
            if self.memory.copy_large(*pair, span):
                return
        outer = self._widen(changed, s.lanes, s.unroll)
        self.in_vec, self.b.lanes = True, s.lanes
        if isinstance(span, int):
            self._constant_vec(s, lo, span, changed)
        elif s.full:
            raise IradError(f"vec loop `{s.var}` is full: its trip count must be a constant")
        else:
            self._runtime_vec(s, lo, hi, changed)
        self.in_vec, self.b.lanes, self.folds.copy = False, 1, 0
        for name, cell in outer.items():
            wide, self.names.env[name] = self.names.env[name], cell
            self.folds.take_in(cell, self.folds.reduced(wide))

    def _piece(self, s: For, at: Integer) -> None:
        """One vector of the loop, its lane 0 at index `at`."""
        self.names.env[s.var] = at if self.b.lanes == 1 else at + symbol(LANE)
        self.block(s.body)

    def _copy(self, s: For, at: Integer, copy: int, live: int) -> Callable[[], None]:
        def emit() -> None:
            self.folds.copy = copy
            if live < s.lanes:
                self.b.mask, self.b.active = self._constant_mask(live), live
            self._piece(s, at)
            self.b.mask = None

        return emit

    def _constant_mask(self, live: int) -> Val:
        W = self.b.lanes
        return Val(
            "<" + ", ".join([f"i1 {'true' if k < live else 'false'}" for k in range(W)]) + ">", "bool", W, f"<{W} x i1>", 0
        )

    def _constant_vec(self, s: For, lo: Integer, trip: int, changed: Changed) -> None:
        W, step = s.lanes, s.lanes * s.unroll
        if s.twice and trip > step and trip % step:
            return self._overlapping(s, lo, trip, changed)
        main = 0 if s.full or trip < 2 * step else trip // step * step
        if main:
            self._main_loop(s, lo, lo + main, changed)
        rest = range(main, trip, W)
        self.copies([self._copy(s, lo + u, k % s.unroll, trip - u) for k, u in enumerate(rest)], s.mix)

    def _overlapping(self, s: For, lo: Integer, trip: int, changed: Changed) -> None:
        """Whole vectors only: the last one starts where it ends with the loop, and runs again what the one before it has run."""
        step = s.lanes * s.unroll
        last = self.names.value_of(lo + (trip - step))

        def body(i: Integer) -> None:
            self._vectors(s, symbol(self.b.intrinsic("smin", self.names.value_of(i), last)))

        self.control.counted(lo, lo + -(-trip // step) * step, step, changed, body)

    def _main_loop(self, s: For, lo: Integer, hi: Integer, changed: Changed) -> None:
        self.control.counted(lo, hi, s.lanes * s.unroll, changed, lambda i: self._vectors(s, i))

    def _vectors(self, s: For, at: Integer) -> None:
        """The whole vectors of one trip, from index `at`."""
        self.copies([self._copy(s, at + u * s.lanes, u, s.lanes) for u in range(s.unroll)], s.mix)

    def _runtime_vec(self, s: For, lo: Integer, hi: Integer, changed: Changed) -> None:
        step = s.lanes * s.unroll
        if step == 1:
            return self._main_loop(s, lo, hi, changed)
        self.names.uniform(lo, "a loop bound")
        hi_v = self.names.uniform(hi, "a loop bound")
        if s.most is not None and s.most <= s.lanes:
            return self._tail(s, lo, hi, hi_v, changed)
        n = self.b.intrinsic("smax", self.names.value_of(hi - lo), self.b.const(0, "i64"))
        if step & (step - 1):
            rest = self.b.cheap(f"urem i64 {n.n}, {step}", "i64", 1, "i64", n.d)
            main = self.b.sub(n, rest)
        else:
            main = self.b.and_(n, self.b.const(-step, "i64"))
        mid = lo + symbol(main)
        self._main_loop(s, lo, mid, changed)
        self._tail(s, mid, hi, hi_v, changed)

    def _tail(self, s: For, mid: Integer, hi: Integer, hi_v: Val, changed: Changed) -> None:
        """What is left, fewer than lanes * unroll iterations: one masked vector, or a loop of them."""
        self.folds.copy = 0

        def body(i: Integer) -> None:
            if s.lanes > 1:
                left = self.b.convert(self.b.sub(hi_v, self.names.value_of(i)), "u32")
                self.b.mask, self.b.active = self.b.cmp("lt", self.across.iota(1, "u32"), left), self.b.bitcast(left, "i32")
            self._piece(s, i)
            self.b.mask = None

        if s.unroll == 1:
            some = self.b.cmp("lt", self.names.value_of(mid), hi_v)
            self.control.branch(some, [changed], lambda: body(mid), None, costly=False)
        else:
            self.control.counted(mid, hi, s.lanes, changed, body)

    def _widen(self, changed: Changed, lanes: int, unroll: int) -> dict[str, FoldCell]:
        """Put wide stand-ins in the place of scalar folds; returns the scalar ones."""
        outer: dict[str, FoldCell] = {}
        for name in sorted(changed[0]):
            c = self.names.env.get(name)
            if type(c) is FoldCell and not c.shape and not (c.scalar and c.lanes == lanes) and lanes * unroll > 1:
                outer[name] = c
                self.names.env[name] = self.folds.widened(c, lanes, unroll)
        return outer


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
