"""Loop unswitching: a loop whose checks fail in no trip or in any, beside the same loop without them.

`for k: if x[k] > 1: y[k] = x[k] ** (1 / r)` raises where r is 0 and an element is large. Whether r is 0 is known before the loop: where it
is not, a loop runs that checks nothing, so that its trips may be lanes (Allen, Cocke, "A catalogue of optimizing transformations", 1972).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const
from irad.codegen.kernel.mentions import assigned, bound, reads
from irad.core.lazy_dataclass import replace

LARGE = 60  # statements that there will be twice


def unswitched(s: kf.For, fresh: Callable[[str], str], run: Callable[[kf.For], list[kf.Stmt] | None]) -> list[kf.Stmt] | None:
    """The loop as it is where a check may fail, else what `run` makes of it without checks; None where it makes nothing of it."""
    checks = [t for t in kf.walk(s.body) if isinstance(t, kf.Raise)]
    if not checks or sum(1 for _ in kf.walk(s.body)) > LARGE:
        return None
    changing = bound([s]) | assigned(s.body)
    lets = {t.name: t for t in kf.walk(s.body) if isinstance(t, kf.Let)}
    names = Counter(t.name for t in kf.walk(s.body) if isinstance(t, kf.Let))
    before: list[kf.Stmt] = []
    conditions: list[kf.Operand] = []
    for t in checks:
        let = lets.get(t.cond) if isinstance(t.cond, str) else None
        if let is not None:
            if names[let.name] > 1 or not isinstance(let.expr, Apply) or not changing.isdisjoint(reads([let])):
                return None
            name = fresh("fails")
            before.append(replace(let, name=name))
            conditions.append(name)
        elif not changing.isdisjoint(reads([kf.If(t.cond, [])])):
            return None
        else:
            conditions.append(t.cond)
    new = run(replace(s, body=_without(s.body)))
    if new is None:
        return None
    fails = conditions[0]
    for c in conditions[1:]:
        either = fresh("fails")
        before.append(kf.Let(either, "bool", Apply("logical_or", (fails, c))))
        fails = either
    return [*before, kf.If(fails, [s], new)] if not isinstance(fails, Const) else None


def _without(body: Iterable[kf.Stmt]) -> list[kf.Stmt]:
    """The statements but for checks."""
    out: list[kf.Stmt] = []
    for t in body:
        if not isinstance(t, kf.Raise):
            parts = {p: _without(getattr(t, p)) for p in ("test", "body", "then", "orelse") if hasattr(t, p)}
            out.append(replace(t, **parts) if parts else t)
    return out
