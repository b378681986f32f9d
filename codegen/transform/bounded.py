"""How many trips loops make at most, where the checks at the beginning of a kernel say between what a number is.

The extents of arguments that are known at run time only are in a range for which the code is made (irad.frontend.arguments); a kernel
raises for others before it does anything. What follows from it for the trips of loops stands at them: how long a loop may run
decides whether threads share it and whether it listens for signals.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, integer
from irad.codegen.kernel.independence import Ranges, interval, span_of
from irad.core.affine import WHOLE, Integer, Interval, number, symbol
from irad.core.lazy_dataclass import replace
from irad.ops.core import OPS


def bounded(kernel: kf.Kernel) -> kf.Kernel:
    """The kernel with the most trips of loops that are known at run time only."""
    known = checked(kernel.body)
    return replace(kernel, body=_block(kernel.body, known)) if known else kernel


def checked(body: Sequence[kf.Stmt]) -> dict[str, Interval]:
    """The ranges of numbers that checks at the beginning ask for."""
    out: dict[str, Interval] = {}
    conditions: dict[str, Apply] = {}
    for s in body:
        if isinstance(s, kf.Let) and isinstance(s.expr, Apply):
            conditions[s.name] = s.expr
        elif isinstance(s, kf.Raise):
            _refused(s.cond, conditions, out)
        elif isinstance(s, (kf.For, kf.While, kf.If, kf.Call)):
            break
    return out


def _refused(cond: kf.Operand, conditions: dict[str, Apply], out: dict[str, Interval]) -> None:
    """Learn from a condition that does not hold after a check."""
    found = conditions.get(cond) if isinstance(cond, str) else None
    if found is None:
        return
    if found.op == "logical_or":
        for x in found.args:
            _refused(x, conditions, out)
    elif found.op in ("lt", "gt"):
        name, limit = found.args[0], number(_integer(found.args[1]))
        if not isinstance(name, str) or limit is None:
            return
        lo, hi = out.get(name, WHOLE)
        out[name] = (max(lo, limit), hi) if found.op == "lt" else (lo, min(hi, limit))


def _block(body: Sequence[kf.Stmt], known: Ranges) -> list[kf.Stmt]:
    ranges = dict(known)
    out: list[kf.Stmt] = []
    for s in body:
        if isinstance(s, kf.Let) and isinstance(s.expr, Apply):
            ranges[s.name] = range_of(s.expr, ranges)
        if isinstance(s, kf.For):
            span = integer(s.hi) - integer(s.lo)
            most = s.most
            if not isinstance(span, int):
                longest = interval(span if s.step > 0 else -span, ranges)[1]
                most = None if longest == inf else max(0, -(-int(longest) // abs(s.step)))
            s = replace(s, most=most, body=_block(s.body, {**ranges, s.var: span_of(s, ranges)}))
        else:
            s = kf.with_blocks(s, lambda block: _block(block, ranges))
        out.append(s)
    return out


def _integer(x: kf.Operand) -> Integer:
    return symbol("") if isinstance(x, Const) and type(x.value) is not int else x.value if isinstance(x, Const) else integer(x)


def range_of(e: Apply, ranges: Ranges) -> Interval:
    """What an operation on whole numbers gives, where that is of use to loops."""
    if not (way := OPS[e.op].extreme) and e.op not in ("remainder", "floor_divide"):
        return WHOLE
    spans = [interval(_integer(x), ranges) for x in e.args]
    (lo, hi), *others = spans
    if way and others:
        pick = max if way > 0 else min
        return pick(lo, others[0][0]), pick(hi, others[0][1])
    if not others or others[0][0] != others[0][1] or others[0][0] <= 0:
        return WHOLE
    k = others[0][0]
    return (0, min(hi, k - 1) if lo >= 0 else k - 1) if e.op == "remainder" else (_divided(lo, k), _divided(hi, k))


def _divided(bound: float, k: float) -> float:
    return bound if abs(bound) == inf else bound // k
