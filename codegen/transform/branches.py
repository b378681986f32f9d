"""Branches that only choose numbers become selections; a condition that a branch makes for the next one is no number.

`if c: v = 1.0 else: v = 0.0` on data that nobody can foretell costs some twenty cycles for every second trip. Where both sides are a few
cheap operations that cannot fail, both are computed and one is taken (Allen, Kennedy, Porterfield, Warren, "Conversion of control
dependence to data dependence", 1983; of the same bits, since what is not taken is not read). Not where the condition takes longer than
a wrong guess, and the next trip's condition waits for what is chosen: a branch lets that trip begin.

`p and q`, where q only runs where p holds, is a branch that assigns a bool, which the next branch tests: where the other side of that
one is short, it moves to where the bool is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const
from irad.codegen.kernel.independence import Ranges, Scope
from irad.codegen.kernel.mentions import assigned, bound, reads
from irad.codegen.kernel.substitute import substituted
from irad.codegen.transform.loops import Loops
from irad.core.affine import Affine, Integer, symbols
from irad.core.lazy_dataclass import replace
from irad.core.notes import Notes
from irad.ops.core import OPS, cost_of

MOST = 4  # operations of both sides together
SHORT = 3  # statements of a side that is written twice
DEAR = 20.0  # additions that take longer than a wrong guess of a branch


def selected(kernel: kf.Kernel, notes: Notes | None = None) -> kf.Kernel:
    """The kernel with such branches turned into selections."""
    return _Selected.over(kernel, notes)


def short_circuits(kernel: kf.Kernel, notes: Notes | None = None) -> kf.Kernel:
    """The kernel with branches where their conditions are made."""
    return replace(kernel, body=_circuits(kernel.body, Counter(reads(kernel.body))))


class _Selected(Loops):
    def __init__(self, whole: Sequence[kf.Stmt], notes: Notes | None = None):
        super().__init__(whole, notes)
        self.dtypes: dict[str, set[str]] = {}
        for s in kf.walk(whole):
            if isinstance(s, kf.Var) and s.lanes == 1:
                self.dtypes.setdefault(s.name, set()).add(s.dtype)

        self.around: list[kf.Stmt] = []
        self.loaded: dict[str, kf.Let] = {}  # loads that were made before, of elements that have not changed

    def block(self, body: Sequence[kf.Stmt], outside: Scope, ranges: Ranges) -> list[kf.Stmt]:
        before, self.loaded = self.loaded, dict(self.loaded)
        out = super().block(body, outside, ranges)
        self.loaded = before
        return out

    def statement(self, s: kf.Stmt, scope: Scope, ranges: Ranges) -> list[kf.Stmt]:
        if isinstance(s, kf.Let) and isinstance(s.expr, kf.Load):
            self.loaded.setdefault(repr(s.expr), s)
        elif any(map(_changes_memory, kf.walk([s]))):
            self.loaded.clear()
        elif changed := assigned([s]):
            self.loaded = {e: t for e, t in self.loaded.items() if changed.isdisjoint(reads([t]))}
        if isinstance(s, (kf.For, kf.While)):
            self.around.append(s)
        (s,) = self.inside(s, scope, ranges)
        if isinstance(s, (kf.For, kf.While)):
            self.around.pop()
        return (self.selection(s) if isinstance(s, kf.If) and isinstance(s.cond, str) and not self.guessed(s) else None) or [s]

    def guessed(self, s: kf.If) -> bool:
        """Does the next trip wait for what is chosen by a condition that takes long and waits for the trip before?"""
        loop = self.around[-1] if self.around else None
        if not isinstance(loop, kf.For) or not any(isinstance(t, kf.If) and t.cond == s.cond for t in loop.body):
            return False
        carried = assigned(loop.body) - bound(loop.body)
        dear = [t.name for t in loop.body if isinstance(t, kf.Let) and isinstance(t.expr, Apply) and cost_of(t.expr.op) >= DEAR]
        if not dear or not carried:
            return False
        before = _ahead(loop.body, {str(s.cond)})
        slow = [n for n in dear if n in before and not carried.isdisjoint(_ahead(loop.body, {n}))]
        return bool(slow) and not assigned([s]).isdisjoint(_ahead(loop.body, carried))

    def known(self, side: Sequence[kf.Stmt]) -> list[kf.Stmt]:
        """A side without loads that were made before."""
        out: list[kf.Stmt] = []
        names: dict[str, Integer] = {}
        for t in side:
            before = self.loaded.get(repr(t.expr)) if isinstance(t, kf.Let) and isinstance(t.expr, kf.Load) else None
            if isinstance(t, kf.Let) and before is not None and before.dtype == t.dtype and before is not t:
                names[t.name] = before.name  # type: ignore[assignment]
            else:
                out.append(substituted(t, names) if names else t)
        return out

    def selection(self, s: kf.If) -> list[kf.Stmt] | None:
        """Both sides, and for each variable the number of one of them."""
        s = replace(s, then=self.known(s.then), orelse=self.known(s.orelse))
        inside = [*s.then, *s.orelse]
        if not all(isinstance(t, (kf.Assign, kf.Var)) or _cheap(t) for t in inside):
            return None
        lets = [t for t in inside if isinstance(t, kf.Let)]
        then, orelse = _assigned(s.then), _assigned(s.orelse)
        if then is None or orelse is None or len(lets) > MOST or len({t.name for t in lets}) < len(lets):
            return None
        names = list(dict.fromkeys((*then, *orelse)))
        if len(names) > MOST or any(len(self.dtypes.get(n, ())) != 1 for n in names):
            return None
        out, after = list[kf.Stmt](lets), list[kf.Stmt]()
        for name in names:
            a, b = then.get(name, name), orelse.get(name, name)
            if repr(a) != repr(b):  # of constants the bits count
                (dtype,) = self.dtypes[name]
                chosen = self.fresh(f"{name}_is")
                out.append(kf.Let(chosen, dtype, _chosen(str(s.cond), a, b)))
                a = chosen
            after.append(kf.Assign(name, a))
        return [*out, *after]


def _changes_memory(s: kf.Stmt) -> bool:
    return not isinstance(s, (kf.Let, kf.Assign, kf.Var, kf.Raise, kf.If))


def _ahead(body: Sequence[kf.Stmt], names: set[str]) -> set[str]:
    """The names that numbers, or what is assigned to variables, are made of, in statements of a block one by one."""
    out, before = set(names), -1
    while len(out) != before:
        before = len(out)
        for t in body:
            if isinstance(t, (kf.Let, kf.Var, kf.Assign)) and t.name in out:
                out.update(reads([t]))
    return out


def _cheap(s: kf.Stmt) -> bool:
    """Is it an operation that costs no more than a branch, and cannot fail?"""
    op = OPS.get(s.expr.op) if isinstance(s, kf.Let) and isinstance(s.expr, Apply) else None
    return op is not None and op.elementwise and op.cost <= 1 and not op.divides and (op.cheap or op.commutes or op.extreme != 0)


def _assigned(side: Iterable[kf.Stmt]) -> dict[str, kf.Operand] | None:
    """What a side leaves in its variables; None if it reads one that it has assigned, other than to hand it on."""
    now: dict[str, kf.Operand] = {}
    own: set[str] = set()  # the side's own variables
    for s in side:
        if isinstance(s, (kf.Assign, kf.Var)):
            value = s.value if isinstance(s, kf.Assign) else s.init
            value = now.get(value, value) if isinstance(value, str) else value
            if isinstance(value, Affine) and not now.keys().isdisjoint(symbols(value)):
                return None
            now[s.name] = value
            if isinstance(s, kf.Var):
                own.add(s.name)
        elif not now.keys().isdisjoint(reads([s])):
            return None
    return {name: value for name, value in now.items() if name not in own}


def _chosen(cond: str, a: kf.Operand, b: kf.Operand) -> Apply:
    """a where `cond` holds, else b; with a bool that is known, a conjunction or disjunction."""
    if isinstance(b, Const) and b.dtype == "bool" and not b.value:
        return Apply("cast", (cond,)) if isinstance(a, Const) else Apply("logical_and", (cond, a))
    if isinstance(a, Const) and a.dtype == "bool" and a.value:
        return Apply("logical_or", (cond, b))
    return Apply("select", (cond, a, b))


# ---- short circuits ----------------------------------------------------------------------------------------------------------


def _circuits(body: Sequence[kf.Stmt], counts: Counter[str]) -> list[kf.Stmt]:
    """The statements, with each branch that tests what the one before has just decided moved into that one."""
    out: list[kf.Stmt] = []
    for s in body:
        between: list[kf.Stmt] = []
        while isinstance(s, kf.If) and out and isinstance(out[-1], kf.Var):
            between.insert(0, out.pop())
        before = out[-1] if out else None
        joined = _joined(before, s, between, counts) if isinstance(before, kf.If) and isinstance(s, kf.If) else None
        if joined is None:
            out += [*between, s]
            continue
        out[-1:] = [*between, joined]
        out = [t for t in out if not (isinstance(t, kf.Var) and t.name == s.cond)]  # type: ignore[union-attr]
    inside = lambda block: _circuits(block, counts)
    return [s if isinstance(s, kf.For) and s.kind == "vec" else kf.with_blocks(s, inside) for s in out]


def _joined(a: kf.If, b: kf.If, between: Sequence[kf.Stmt], counts: Counter[str]) -> kf.If | None:
    """Both branches as one, if the first only makes the condition of the second one, which is read nowhere else."""
    ends = [side[-1] if side else None for side in (a.then, a.orelse)]
    if not isinstance(b.cond, str) or counts[b.cond] != 1 or not all(isinstance(e, kf.Assign) and e.name == b.cond for e in ends):
        return None
    values = [e.value for e in ends if isinstance(e, kf.Assign)]
    if not any(isinstance(v, Const) for v in values) or not all(isinstance(v, (str, Const)) for v in values):
        return None
    if not assigned([a]).isdisjoint(reads(between)):
        return None
    if sum(isinstance(s, kf.Assign) and s.name == b.cond for s in kf.walk([a])) != 2:
        return None
    uses = {side: sum(not isinstance(v, Const) or bool(v.value) is side for v in values) for side in (True, False)}
    if any(uses[side] > 1 and not _short(part) for side, part in ((True, b.then), (False, b.orelse))):
        return None
    then, orelse = ([*side[:-1], *_decided(b, v)] for side, v in zip((a.then, a.orelse), values))
    return replace(a, then=then, orelse=orelse)


def _decided(b: kf.If, v: kf.Operand) -> list[kf.Stmt]:
    """What a branch does if its condition is this."""
    if isinstance(v, Const):
        return list(b.then if v.value else b.orelse)
    return [replace(b, cond=v)]


def _short(side: Sequence[kf.Stmt]) -> bool:
    """May it be written twice?"""
    return len(side) <= SHORT and all(isinstance(s, (kf.Assign, kf.Store)) or _cheap(s) for s in side)
