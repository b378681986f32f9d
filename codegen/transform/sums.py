"""Variables to which the trips of a loop only add, for a derivative: their sums may be taken in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply
from irad.codegen.kernel.mentions import reads
from irad.core.lazy_dataclass import dataclass, replace


@dataclass
class SumOfTrips:
    """A variable from outside to which trips of a derivative only add. `terms`: what is added, by the id of the Let; `assign`: the id
    of the statement that gives it the last sum."""

    var: str
    dtype: str
    terms: dict[int, kf.Operand]
    assign: int


def sum_of(body: Sequence[kf.Stmt], var: str, dtype: str) -> SumOfTrips | None:
    """The variable as a sum, if trips do nothing but add to it, for a derivative."""
    inside = list(kf.walk(body))
    lets = {s.name: s for s in inside if isinstance(s, kf.Let)}
    uses = Counter(reads(body))
    last = [s for s in inside if isinstance(s, kf.Assign) and s.name == var]
    if len(last) != 1 or uses[var] != 1:
        return None
    terms: dict[int, kf.Operand] = {}
    now = last[0].value
    while now != var:
        add = lets.get(now) if isinstance(now, str) else None
        if add is None or uses[add.name] != 1 or not add.contract or not isinstance(add.expr, Apply) or add.expr.op != "add":
            return None
        ahead = [
            x for x in add.expr.args if x == var or isinstance(x, str) and x in lets and uses[x] == 1 and _leads(lets, x, var)
        ]
        if len(ahead) != 1:
            return None
        (now,) = ahead
        terms[id(add)] = next(x for x in add.expr.args if x != now)
    return SumOfTrips(var, dtype, terms, id(last[0]))


def _leads(lets: Mapping[str, kf.Let], name: str, var: str) -> bool:
    """Is a number a sum of sums of the variable?"""
    e = lets[name].expr
    return (
        isinstance(e, Apply)
        and e.op == "add"
        and any(x == var or isinstance(x, str) and x in lets and _leads(lets, x, var) for x in e.args)
    )


def folded(body: Sequence[kf.Stmt], s: SumOfTrips, fold: str) -> list[kf.Stmt]:
    """The body, combining into a fold what it added to a variable."""
    out: list[kf.Stmt] = []
    for t in body:
        if id(t) in s.terms:
            out.append(kf.Combine(fold, (s.terms[id(t)],)))
        elif isinstance(t, kf.For):
            out.append(replace(t, body=folded(t.body, s, fold)))
        elif isinstance(t, kf.If):
            out.append(replace(t, then=folded(t.then, s, fold), orelse=folded(t.orelse, s, fold)))
        elif id(t) != s.assign:
            out.append(t)
    return out
