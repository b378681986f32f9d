"""Additions of a derivative after branches, in place of in them.

The backward of a branch adds to a cotangent on one side and hands it on as it is on the other: `if c: t = s + f(x) else: t = s`, and s
comes from the trip before. As `if c: w = f(x) else: w = -0.0`, and then `t = s + w`, the branch need not wait for that trip, so what is
dear in it can run ahead of what is carried, in lanes. Numbers of derivatives may be so re-arranged; adding -0.0 changes none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const
from irad.codegen.kernel.mentions import assigned, bound, reads
from irad.codegen.kernel.substitute import substituted
from irad.codegen.transform.sums import augends
from irad.core.lazy_dataclass import replace
from irad.core.types import is_float


def unbranched(body: Sequence[kf.Stmt], fresh: Callable[[str], str]) -> list[kf.Stmt]:
    """The body of a loop with such sums after its branches."""
    out: list[kf.Stmt] = []
    to: dict[str, str] = {}
    declared = {s.name: s.dtype for s in body if isinstance(s, kf.Var) and is_float(s.dtype)}
    changes = Counter(s.name for s in kf.walk(body) if isinstance(s, kf.Assign))
    for s in body:
        s = substituted(s, to) if to and not to.keys().isdisjoint(reads([s])) else s  # type: ignore[arg-type]
        if not isinstance(s, kf.If):
            out.append(s)
            continue
        s = replace(s, then=unbranched(s.then, fresh), orelse=unbranched(s.orelse, fresh))
        own = {*bound([s]), *assigned([s])}
        then, orelse = _last(s.then), _last(s.orelse)
        after: list[kf.Stmt] = []
        read = [Counter(reads(side)) for side in (s.then, s.orelse)]
        for name in sorted(then.keys() & orelse.keys() & declared.keys()):
            if changes[name] != 2 or name == s.cond or read[0][name] or read[1][name]:
                continue
            sides = (s.then, then[name], read[0]), (s.orelse, orelse[name], read[1])
            onto = [x for x in _onto(*sides[0]) if x in _onto(*sides[1]) and x not in own]
            if onto and any(a.value != onto[0] for _, a, _ in sides):
                parts = [_less(*side, onto[0], declared[name]) for side in sides]
                s = replace(s, then=parts[0], orelse=parts[1])
                then, orelse = _last(s.then), _last(s.orelse)
                to[name] = fresh(name)
                after.append(kf.Let(to[name], declared[name], Apply("add", (onto[0], name)), contract=True))
        out += [s, *after]
    return out


def _last(side: Sequence[kf.Stmt]) -> Mapping[str, kf.Assign]:
    """What a side assigns once."""
    often = Counter(s.name for s in kf.walk(side) if isinstance(s, kf.Assign))
    return {s.name: s for s in side if isinstance(s, kf.Assign) and often[s.name] == 1}


def _sum(side: Sequence[kf.Stmt], a: kf.Assign, read: Mapping[str, int]) -> kf.Let | None:
    """The number of a derivative that is assigned, and read nowhere else in the side. `read`: how often the side reads names."""
    made = [s for s in side if isinstance(s, kf.Let) and s.name == a.value and s.contract]
    return made[0] if len(made) == 1 and read[made[0].name] == 1 else None


def _onto(side: Sequence[kf.Stmt], a: kf.Assign, read: Mapping[str, int]) -> list[str]:
    """To which names what is assigned may be said to add something, or nothing."""
    made = _sum(side, a, read)
    return [x for x in (a.value, *(augends(made) if made is not None else ())) if isinstance(x, str)]


def _less(side: Sequence[kf.Stmt], a: kf.Assign, read: Counter[str], name: str, dtype: str) -> list[kf.Stmt]:
    """The side, assigning only what it adds to a number; what it reads no more is taken from `read`."""
    made = _sum(side, a, read)
    read[name] -= 1
    if a.value == name or made is None:
        return [replace(s, value=Const(-0.0, dtype)) if s is a else s for s in side]
    assert isinstance(made.expr, Apply)
    x, y = made.expr.args
    term = y if x == name else x
    if made.expr.op == "add":
        read[made.name] -= 1
        return [replace(s, value=term) if s is a else s for s in side if s is not made]
    return [replace(made, expr=Apply("neg", (term,))) if s is made else s for s in side]
