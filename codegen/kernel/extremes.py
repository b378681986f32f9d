"""Bounds of affine forms where the extents are known at run time only: `i*n + j` is below `n*n` in a nest over i < n and j < n.

Numbers say between what `n` is, not that `i < n`. So each loop's variable is replaced by its first or last value, from the inside out,
as the sign of what it is multiplied by says; what is left are the extents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import integer
from irad.codegen.kernel.independence import Ranges, Scope, interval
from irad.codegen.kernel.substitute import replaced
from irad.core.affine import WHOLE, Affine, Integer, constant, factors, terms


def loops_in(scope: Scope) -> list[kf.For]:
    """The loops around, from the outside in."""
    return [s for s in scope.values() if isinstance(s, kf.For)]


def least(e: Integer, loops: Sequence[kf.For], ranges: Ranges) -> float:
    """A lower bound of a form in all trips of some loops, outermost first."""
    return interval(lowest(e, loops, ranges), ranges)[0]


def lowest(e: Integer, loops: Sequence[kf.For], ranges: Ranges) -> Integer:
    """What a form is at least in trips of some loops, outermost first; variables stay where it is not known at which end that is."""
    for l in reversed(loops):
        c = factor(e, l.var)
        if c is None:
            continue
        lo, hi = interval(c, ranges)
        first, last = integer(l.lo), integer(l.hi) - (1 if l.step > 0 else -1)
        if lo >= 0:
            e = replaced(e, {l.var: first if l.step > 0 else last})
        elif hi <= 0:
            e = replaced(e, {l.var: last if l.step > 0 else first})
    return e


def below(e: Integer, end: int, ranges: Ranges) -> Ranges:
    """The ranges of numbers where it is known that a form is below `end`."""
    if len(terms(e)) != 1:
        return ranges
    ((name, c),) = terms(e)
    if abs(c) != 1 or not isinstance(name, str):
        return ranges
    (lo, hi), limit = ranges.get(name, WHOLE), end - 1 - constant(e)
    return {**ranges, name: (lo, min(hi, limit)) if c > 0 else (max(lo, -limit), hi)}


def inside(at: Integer, size: Integer, loops: Sequence[kf.For], ranges: Ranges) -> bool:
    """Is a position at least 0 and below `size` in all trips of some loops, outermost first?"""
    return least(at, loops, ranges) >= 0 and least(size - at, loops, ranges) > 0


def elements(b: object) -> Integer:
    """Elements that a buffer surely has."""
    if isinstance(b, kf.Param) and b.shape is not None and len(b.shape) == 1 and b.shape[0] != kf.ANY:
        return integer(b.shape[0])
    return b.least if isinstance(b, (kf.Param, kf.View)) else 0


def factor(e: Integer, name: str) -> Integer | None:
    """What a symbol is multiplied by; None if it does not occur, or in a square."""
    out: dict[object, int] = {}
    for s, c in terms(e):
        fs = factors(s)
        if name in fs:
            rest = _without(fs, name)
            if name in rest:
                return None
            out[rest[0] if len(rest) == 1 else rest] = c
    if not out:
        return None
    const = out.pop((), 0)
    return Affine.of(const, out)


def _without(xs: Iterable[str], name: str) -> tuple[str, ...]:
    rest = list(xs)
    rest.remove(name)
    return tuple(rest)
