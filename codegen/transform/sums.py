"""Variables to which the trips of a loop only add, for a derivative: their sums may be taken in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import cast

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply
from irad.codegen.kernel.mentions import reads, reads_of
from irad.codegen.kernel.substitute import substituted
from irad.core.lazy_dataclass import dataclass, replace
from irad.core.types import is_float


@dataclass
class SumOfTrips:
    """A variable from outside to which trips of a derivative only add, or take away from. `terms`: the sum or difference and what is added
    or taken away, by the id of the former; `assign`: the id of the statement that gives it the last sum."""

    var: str
    dtype: str
    terms: dict[int, tuple[kf.Let, kf.Operand]]
    assign: int


def derived(body: Iterable[kf.Stmt]) -> set[str]:
    """The numbers of a derivative, whose sums may be taken in any order."""
    return {s.name for s in kf.walk(body) if isinstance(s, kf.Let) and s.contract}


def direct(body: Sequence[kf.Stmt]) -> list[kf.Stmt]:
    """The body of a loop in which inner loops change variables from outside themselves, in place of copies that they hand back.

    `w = var(c)`, loops that change `w`, `c = w`: between them nothing reads `c`, so they may as well change `c`.
    """
    found = _Copies(body)
    return _with(body, found.to, found.gone) if found.to else list(body)


class _Copies:
    """Copies that are handed back, found in one walk. `to`: the variables that they are copies of; `gone`: the ids of their statements."""

    def __init__(self, body: Sequence[kf.Stmt]):
        self.uses, self.made, self.at = Counter[str](), Counter[str](), 0
        self.last: dict[str, int] = {}  # where a name is read or assigned last
        self.changes: dict[str, list[tuple[int, int, kf.Assign]]] = {}  # where a variable is assigned: places, and ids of blocks
        self.vars: list[tuple[int, int, kf.Var]] = []
        self.to: dict[str, str] = {}
        self.gone: set[int] = set()
        self.visit(body)
        for (
            at,
            block,
            var,
        ) in self.vars:  # outer ones first: what they are copies of then has the uses and changes of those inside
            if isinstance(var.init, str) and is_float(var.dtype):
                self.merge(at, block, var, self.to.get(var.init, var.init))

    def visit(self, block: Sequence[kf.Stmt]) -> None:
        for s in block:
            self.at += 1
            if isinstance(s, kf.Var):
                self.made[s.name] += 1
                self.vars.append((self.at, id(block), s))
            elif isinstance(s, kf.Assign):
                self.changes.setdefault(s.name, []).append((self.at, id(block), s))
                self.last[s.name] = self.at
            for inner in kf.blocks(s):
                self.visit(inner)
            for name in reads_of(s):  # after those in it: a `while` reads its condition after its test
                self.uses[name] += 1
                self.last[name] = self.at

    def merge(self, at: int, block: int, var: kf.Var, of: str) -> None:
        changes = self.changes.get(of, ())
        if not self.made[var.name] == 1 == len(changes) == self.uses[of] or self.made[of] > 1:
            return
        end, where, back = changes[0]
        if where == block and end > at and back.value == var.name and self.last[var.name] == end:
            self.to[var.name] = of
            self.gone |= {id(var), id(back)}
            self.uses[of] = self.uses[var.name] - 1
            self.changes[of] = self.changes.get(var.name, [])


def _with(body: Sequence[kf.Stmt], to: Mapping[str, str], gone: Set[int]) -> list[kf.Stmt]:
    """The statements without the copies."""

    def inside(block: Sequence[kf.Stmt]) -> list[kf.Stmt]:
        kept = (s for s in block if id(s) not in gone)
        assign = lambda s: replace(s, name=to[s.name]) if isinstance(s, kf.Assign) and s.name in to else s
        return [kf.with_blocks(assign(s), inside) for s in kept]

    return [substituted(s, to) if not to.keys().isdisjoint(reads([s])) else s for s in inside(body)]  # type: ignore[arg-type]


def sum_of(body: Sequence[kf.Stmt], var: str, dtype: str) -> SumOfTrips | None:
    """The variable as a sum, if trips do nothing but add to it, for a derivative."""
    inside = list(kf.walk(body))
    lets = {s.name: s for s in inside if isinstance(s, kf.Let)}
    uses = Counter(reads(body))
    last = [s for s in inside if isinstance(s, kf.Assign) and s.name == var]
    if len(last) != 1 or uses[var] != 1:
        return None
    terms: dict[int, tuple[kf.Let, kf.Operand]] = {}
    now = last[0].value
    while now != var:
        add = lets.get(now) if isinstance(now, str) else None
        if add is None or uses[add.name] != 1 or not add.contract:
            return None
        ahead = [
            x for x in augends(add) if x == var or isinstance(x, str) and x in lets and uses[x] == 1 and _leads(lets, x, var)
        ]
        if len(ahead) != 1:
            return None
        (now,) = ahead
        terms[id(add)] = (add, next(x for x in cast(Apply, add.expr).args if x != now))
    return SumOfTrips(var, dtype, terms, id(last[0]))


def augends(s: kf.Let) -> Sequence[kf.Operand]:
    """Which operand of a number it may be that something is added to, or taken away from."""
    e = s.expr
    return () if not isinstance(e, Apply) else e.args if e.op == "add" else e.args[:1] if e.op == "sub" else ()


def _leads(lets: Mapping[str, kf.Let], name: str, var: str) -> bool:
    """Is a number a sum of sums of the variable?"""
    return any(x == var or isinstance(x, str) and x in lets and _leads(lets, x, var) for x in augends(lets[name]))


def folded(body: Sequence[kf.Stmt], s: SumOfTrips, fold: str) -> list[kf.Stmt]:
    """The body, combining into a fold what it added to a variable."""
    new: dict[int, list[kf.Stmt]] = {s.assign: []}
    for k, (add, term) in s.terms.items():
        less = isinstance(add.expr, Apply) and add.expr.op == "sub"
        new[k] = (
            [replace(add, expr=Apply("neg", (term,))), kf.Combine(fold, (add.name,))] if less else [kf.Combine(fold, (term,))]
        )
    return kf.exchanged(body, new)
