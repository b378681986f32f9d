"""Loop unswitching: a loop in which no check fails, beside the same loop with its checks.

`for k: if x[k] > 1: y[k] = x[k] ** (1 / r)` raises where r is 0 and an element is large. Whether r is 0 is known before the loop: where it
is not, a loop runs that checks nothing, so that its trips may be lanes (Allen, Cocke, "A catalogue of optimizing transformations", 1972).
So it is with `x[k]` in a loop over a number that is given: whether the greatest k is an index, is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, integer
from irad.codegen.kernel.independence import Ranges, below, lowest
from irad.codegen.kernel.mentions import assigned, bound, reads
from irad.core.affine import Integer, symbols
from irad.core.lazy_dataclass import replace
from irad.ops.core import OPS

LARGE = 60  # statements that there will be twice
BELOW, ABOVE = ("lt", "le"), ("gt", "ge")


def unswitched(
    s: kf.For, ranges: Ranges, fresh: Callable[[str], str], run: Callable[[kf.For, Ranges], list[kf.Stmt] | None]
) -> list[kf.Stmt] | None:
    """The loop as it is where a check may fail, else what `run` makes of it without checks; None where it makes nothing of it."""
    checks = list(_checks([s], ()))
    if not checks or sum(1 for _ in kf.walk(s.body)) > LARGE:
        return None
    asked = _Asked(s, ranges, fresh)
    for t, loops in checks:
        if not asked.fails(t.cond, loops):
            return None
    if not asked.conditions or (new := run(replace(s, body=_without(s.body)), asked.ranges)) is None:
        return None
    fails = asked.conditions[0]
    for c in asked.conditions[1:]:
        either = fresh("fails")
        asked.before.append(kf.Let(either, "bool", Apply("logical_or", (fails, c))))
        fails = either
    return [*asked.before, kf.If(fails, [s], new)] if not isinstance(fails, Const) else None


def _checks(body: Iterable[kf.Stmt], loops: tuple[kf.For, ...]) -> Iterator[tuple[kf.Raise, tuple[kf.For, ...]]]:
    """The checks, with the loops around them, from the outside in."""
    for t in body:
        if isinstance(t, kf.Raise):
            yield t, loops
        for part in ("test", "body", "then", "orelse"):
            yield from _checks(getattr(t, part, ()), (*loops, t) if isinstance(t, kf.For) else loops)


class _Asked:
    """What is asked before the loop: `conditions`, one of which holds if a check fails in any trip; `ranges`, if none holds."""

    def __init__(self, s: kf.For, ranges: Ranges, fresh: Callable[[str], str]):
        self.ranges, self.fresh = ranges, fresh
        self.changing = bound([s]) | assigned(s.body)
        self.lets = {t.name: t for t in kf.walk(s.body) if isinstance(t, kf.Let)}
        self.names = Counter(t.name for t in kf.walk(s.body) if isinstance(t, kf.Let))
        self.before: list[kf.Stmt] = []
        self.conditions: list[kf.Operand] = []
        self.met: set[tuple[str, Integer]] = set()

    def fails(self, cond: kf.Operand, loops: Sequence[kf.For]) -> bool:
        """Ask whether a condition holds in any trip; False if that is not known before the loop."""
        let = self.lets.get(cond) if isinstance(cond, str) else None
        if let is None:
            if not self.changing.isdisjoint(reads([kf.If(cond, [])])):
                return False
            self.conditions.append(cond)
            return True
        if self.names[let.name] > 1 or not isinstance(let.expr, Apply):
            return False
        if self.changing.isdisjoint(reads([let])):
            return self.ask(let.expr)
        e = let.expr
        if e.op == "logical_or":
            return all(self.fails(x, loops) for x in e.args)
        return e.op in BELOW + ABOVE and self.at_an_end(e, loops)

    def at_an_end(self, e: Apply, loops: Sequence[kf.For]) -> bool:
        """Ask it of the trip in which a whole number is least, or greatest."""
        a, b = ((int(x.value) if x.dtype == "i64" else None) if isinstance(x, Const) else integer(x) for x in e.args)
        if a is None or b is None:
            return False
        d = lowest(a - b, loops, self.ranges) if e.op in BELOW else -lowest(b - a, loops, self.ranges)
        if isinstance(d, int):  # it is known; a check that always fails is left where it is
            compare = OPS[e.op].eval
            assert compare is not None
            return not compare(d, 0)
        if not self.changing.isdisjoint(symbols(d)):
            return False
        if (e.op, d) not in self.met:
            self.met.add((e.op, d))
            self.ask(Apply(e.op, (d, Const(0, "i64"))))
            self.ranges = below(d if e.op in ABOVE else -d, 0 if e.op in ("le", "ge") else 1, self.ranges)
        return True

    def ask(self, e: Apply) -> bool:
        name = self.fresh("fails")
        self.before.append(kf.Let(name, "bool", e))
        self.conditions.append(name)
        return True


def _without(body: Iterable[kf.Stmt]) -> list[kf.Stmt]:
    """The statements but for checks."""
    out: list[kf.Stmt] = []
    for t in body:
        if not isinstance(t, kf.Raise):
            parts = {p: _without(getattr(t, p)) for p in ("test", "body", "then", "orelse") if hasattr(t, p)}
            out.append(replace(t, **parts) if parts else t)
    return out
