"""Wavefront scheduling of in-place sweeps over two axes (Gauss-Seidel, dynamic programming, their adjoints).

In `for i: for j: A[i,j] = f(A[i-1,..], A[i,j-1], ...)` each element waits for the one before it, so one row leaves most of the
core idle. Rows i..i+R-1 run in one loop, each `lag` columns behind the row above: every dependence still points forward, so
source order is kept bit for bit, and R chains run side by side (Wolfe, "Loop skewing: the wavefront method revisited", 1986).
Where not all rows are active, at both ends, each row tests whether it is: branches that are predicted well cost nothing, while
further copies of the body would compile slowly.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from math import inf

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, Load, Stmt, integer
from irad.codegen.kernel.substitute import replaced
from irad.core.affine import Affine, Integer, coefficient, symbol, symbols
from irad.core.dependence import distances
from irad.core.lazy_dataclass import dataclass
from irad.core.notes import Notes
from irad.core.switches import on

ROWS, MORE_ROWS = 4, 6  # at once; more of them where rows are LONG: the start and the end are triangles of so many rows
LONG = 100
MAX_BODY = 60  # statements, which are copied three times per row
MIN_TRIPS = 24


def skew(body: list[Stmt], notes: Notes | None = None) -> list[Stmt]:
    """The statements with every sweep that allows it run R rows at a time."""
    out: list[Stmt] = []
    for s in body:
        for part in ("test", "body", "then", "orelse"):
            if hasattr(s, part):
                setattr(s, part, skew(getattr(s, part), notes))
        sweep = _sweep(s)
        if notes is not None and sweep is not None:
            over = f"{sweep.outer.var}={sweep.rows}, {sweep.inner.var}={sweep.columns}"
            text = f"in-place sweep over {over}: {sweep.at_once} rows at a time, each {sweep.lag} behind the one above"
            notes.add("loop", text, form="skewed", rows=sweep.at_once, lag=sweep.lag)
        out += sweep.schedule() if sweep is not None else [s]
    return out


@dataclass(frozen=True)
class SweepAccess:
    """A load or store of a buffer at `at`, affine in both loop variables.

    `free`: it adds a share of a derivative, whose sums may be re-ordered.
    """

    buf: str
    at: Integer
    write: bool
    free: bool = False


def _sweep(s: Stmt) -> SkewedNest | None:
    """The statement as a sweep that can be skewed."""
    if not (isinstance(s, kf.For) and s.kind == "seq" and s.step == 1 and len(s.body) == 1 and on("skew")):
        return None
    inner = s.body[0]
    if not (isinstance(inner, kf.For) and inner.kind == "seq" and inner.step == 1 and len(inner.body) <= MAX_BODY):
        return None
    rows, columns = kf.trips(s), kf.trips(inner)
    if inf in (rows, columns) or s.lo != 0 or inner.lo != 0 or rows < 2 * ROWS or columns < MIN_TRIPS:
        return None
    accesses = _accesses(inner.body, {s.var, inner.var})
    if accesses is None:
        return None
    sweep = SkewedNest(s, inner, int(rows), int(columns), accesses)
    return sweep if sweep.find_lag() else None


def _accesses(body: Iterable[Stmt], variables: set[str]) -> list[SweepAccess] | None:
    """All accesses of a straight-line body, or None if it holds anything else."""
    out: list[SweepAccess] = []
    derived: set[str] = set()
    for s in body:
        if isinstance(s, kf.Let) and s.contract:
            derived.add(s.name)
        if isinstance(s, kf.Let) and isinstance(s.expr, Apply):
            if any(isinstance(a, Affine) and variables.intersection(symbols(a)) for a in s.expr.args) or any(
                a in variables for a in s.expr.args
            ):
                return None
        elif isinstance(s, kf.Let) and isinstance(s.expr, Load) and len(s.expr.idx) == 1:
            out.append(SweepAccess(s.expr.buf, integer(s.expr.idx[0]), False))
        elif isinstance(s, kf.Store) and len(s.idx) == 1:
            out.append(SweepAccess(s.buf, integer(s.idx[0]), True, s.add and s.value in derived))
        else:
            return None
    return out


class SkewedNest:
    """Two nested loops over a body whose accesses are affine."""

    def __init__(self, outer: kf.For, inner: kf.For, rows: int, columns: int, accesses: list[SweepAccess]):
        self.outer, self.inner, self.rows, self.columns, self.accesses = outer, inner, rows, columns, accesses
        self.local = {s.name for s in inner.body if isinstance(s, kf.Let)}
        self.lag = 1
        self.at_once = MORE_ROWS if columns >= LONG and rows >= 2 * MORE_ROWS else ROWS

    # ---- dependences -------------------------------------------------------------------------------------------

    def find_lag(self) -> bool:
        """The smallest lag that keeps every dependence, with one step to spare; False if there is none or no chain to hide."""
        written = {a.buf for a in self.accesses if a.write}
        lag, chained = 1, False
        for x, y in itertools.product(self.accesses, repeat=2):
            if x.buf != y.buf or x.buf not in written or not (x.write or y.write):
                continue
            distances = self._distances(x, y)
            if distances is None:
                return False
            for di, dj in distances:
                if di == 0 and dj > 0:
                    chained = True
                if di > 0 and not (x.free and y.free):
                    lag = max(lag, -(-(1 - dj) // di))
        self.lag = lag
        return chained and lag <= 3 and self.columns > 2 * lag * (self.at_once - 1)

    def _distances(self, x: SweepAccess, y: SweepAccess) -> list[tuple[int, ...]] | None:
        """Iterations (di, dj), lexicographically positive, after which y touches what x touched; None if not known."""
        loops = [(self.outer.var, self.rows), (self.inner.var, self.columns)]
        return distances(x.at, y.at, loops, self.local)

    # ---- the schedule ----------------------------------------------------------------------------------------------

    def schedule(self) -> list[Stmt]:
        end = self.rows // self.at_once * self.at_once
        i0 = f"{self.outer.var}_0"
        main = kf.For(i0, "seq", 0, end, self._block(i0), step=self.at_once)
        rest = [kf.For(self.outer.var, "seq", end, self.rows, [self.inner])] if end < self.rows else []
        return [main, *rest]

    def _block(self, i0: str) -> list[Stmt]:
        """Rows that run at once: row k handles column t - lag*k at time t."""
        carried = self._carried()
        stmts: list[Stmt] = []
        for k in range(self.at_once if carried else 0):
            assert carried is not None
            name, dtype, store, load = carried
            first = self._renamed([kf.Let(f"{name}_first", dtype, Load(store.buf, (load,)))], k, i0, 0, {})
            stmts += [*first, kf.Var(f"{name}_r{k}", dtype, f"{name}_first_{k}s")]
        full = self.lag * (self.at_once - 1)
        for part, lo, hi in (("a", 0, full), ("b", full, self.columns), ("c", self.columns, self.columns + full)):
            t, body = f"{self.inner.var}_{part}", list[Stmt]()
            for k in range(part == "c", self.at_once):  # the first row has come to its end before c
                behind = self.lag * k
                copy = self._copy(k, i0, integer(t) - behind, f"{k}{part}", carried)
                always = part == "b" or part == "a" and k == 0 or part == "c" and k == self.at_once - 1
                active = f"{t}_on{k}"
                test = ("ge", behind) if part == "a" else ("lt", self.columns + behind)
                guard = kf.Let(active, "bool", Apply(test[0], (integer(t), Const(test[1], "i64"))))
                body += copy if always else [guard, kf.If(active, copy)]
            stmts.append(kf.For(t, "seq", lo, hi, body))
        return stmts

    def _carried(self) -> tuple[str, str, kf.Store, Integer] | None:
        """The one load that reads what the trip before stored: its value stays in a register.

        What it reads in column 0 is loaded before all rows, so no row above may store it.
        """
        stores = [s for s in self.inner.body if isinstance(s, kf.Store)]
        if len(stores) != 1 or stores[0].add or not isinstance(stores[0].value, str):
            return None
        back = stores[0].idx[0]
        cj = coefficient(integer(back), self.inner.var)
        wanted = integer(back) - cj
        before = self._distances(SweepAccess(stores[0].buf, integer(back), True), SweepAccess(stores[0].buf, wanted, False))
        if before is None or any(di > 0 and dj <= 0 for di, dj in before):
            return None
        for s in self.inner.body:
            if (
                isinstance(s, kf.Let)
                and isinstance(s.expr, Load)
                and s.expr.buf == stores[0].buf
                and integer(s.expr.idx[0]) == wanted
            ):
                return s.name, s.dtype, stores[0], wanted
        return None

    def _copy(self, k: int, i0: str, j: Integer, tag: str, carried: tuple[str, str, kf.Store, Integer] | None) -> list[Stmt]:
        body = list(self.inner.body)
        names: dict[str, str] = {}
        if carried is not None:
            body = [s for s in body if not (isinstance(s, kf.Let) and s.name == carried[0])]
            names[carried[0]] = f"{carried[0]}_r{k}"
        out = self._renamed(body, k, i0, j, names, tag)
        if carried is not None:
            value = carried[2].value
            assert isinstance(value, str)
            out.append(kf.Assign(f"{carried[0]}_r{k}", names.get(value, value)))
        return out

    def _renamed(
        self, body: Iterable[Stmt], k: int, i0: str, j: Integer, names: dict[str, str], tag: str | None = None
    ) -> list[Stmt]:
        """The body for row i0 + k and column j, its names made unique; `names`: what they become, more are added."""
        tag = str(k) if tag is None else tag
        subst = {self.outer.var: integer(i0) + k, self.inner.var: j}

        def operand(x: kf.Operand) -> kf.Operand:
            if isinstance(x, str):
                return names[x] if x in names else subst.get(x, x)
            return replaced(x, subst | {n: symbol(names[n]) for n in symbols(x) if n in names}) if isinstance(x, Affine) else x

        def place(idx: tuple[kf.Index, ...]) -> tuple[kf.Index, ...]:
            at = operand(integer(idx[0]))
            assert isinstance(at, Affine)
            return (at,)

        out: list[Stmt] = []
        for s in body:
            if isinstance(s, kf.Let):
                if isinstance(s.expr, Load):
                    new: kf.Expr = Load(s.expr.buf, place(s.expr.idx))
                else:
                    assert isinstance(s.expr, Apply)
                    new = Apply(s.expr.op, tuple(map(operand, s.expr.args)))
                names[s.name] = f"{s.name}_{tag}s"
                out.append(kf.Let(names[s.name], s.dtype, new, s.contract))
            else:
                assert isinstance(s, kf.Store)
                out.append(kf.Store(s.buf, place(s.idx), operand(s.value), s.add))
        return out
