"""Variables to which the trips of a loop only add, for a derivative: their sums may be taken in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply
from irad.codegen.kernel.mentions import assigned, reads
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
    while (pair := _copy(body, _Counts(body))) is not None:
        body = _with(body, *pair)
    return list(body)


class _Counts:
    """How often names are read, assigned and declared."""

    def __init__(self, body: Sequence[kf.Stmt]):
        self.uses = Counter(reads(body))
        self.changes = Counter(s.name for s in kf.walk(body) if isinstance(s, kf.Assign))
        self.made = Counter(s.name for s in kf.walk(body) if isinstance(s, kf.Var))


def _copy(body: Sequence[kf.Stmt], n: _Counts) -> tuple[kf.Var, kf.Assign] | None:
    """The declaration of a copy of a variable and the statement that hands it back."""
    for k, s in enumerate(body):
        if (
            isinstance(s, kf.Var)
            and isinstance(s.init, str)
            and is_float(s.dtype)
            and n.made[s.name] == 1 == n.changes[s.init] == n.uses[s.init]
        ):
            back = [j for j, t in enumerate(body) if isinstance(t, kf.Assign) and t.name == s.init and t.value == s.name]
            after = body[back[0] + 1 :] if back else ()
            if back and back[0] > k and n.made[s.init] <= 1 and s.name not in {*reads(after), *assigned(after)}:
                return s, body[back[0]]  # type: ignore[return-value]
        for part in (getattr(s, p, None) for p in ("body", "then", "orelse")):
            if part is not None and (found := _copy(part, n)) is not None:
                return found
    return None


def _with(body: Sequence[kf.Stmt], var: kf.Var, back: kf.Assign) -> list[kf.Stmt]:
    """The statements without the copy."""
    out: list[kf.Stmt] = []
    for s in body:
        if s is var or s is back:
            continue
        if isinstance(s, (kf.For, kf.If)):
            parts = {p: _with(getattr(s, p), var, back) for p in ("body", "then", "orelse") if hasattr(s, p)}
            s = replace(s, **parts)
        elif isinstance(s, kf.Assign) and s.name == var.name:
            s = replace(s, name=back.name)
        out.append(substituted(s, {var.name: back.name}) if var.name in set(reads([s])) else s)  # type: ignore[dict-item]
    return out


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
