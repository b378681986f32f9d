"""Integer points under linear constraints: can they be shown not to exist?

Constraints are affine forms of `irad.core.types`, their values the unknowns. Equalities are eliminated by substitution, then
inequalities by Fourier and Motzkin's method with coefficients tightened to integers (Pugh, "The Omega test", 1991,
without the splinters: a set that is reported empty is empty, a set that is not may be).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import Any

from irad.core.types import Dim, Extent

LIMIT = 64  # inequalities at a time; beyond it the question is given up


def is_empty(zero: Iterable[Dim], nonpositive: Iterable[Dim]) -> bool:
    """Is it sure that no integers make every form in `zero` 0 and every form in `nonpositive` <= 0?"""
    rows = _substituted(list(zero), list(dict.fromkeys(nonpositive)))
    if rows is None:
        return True
    while rows is not None and 0 < len(rows) <= LIMIT:
        rows = _eliminated(rows)
    return rows is None


def _substituted(zero: list[Dim], rows: list[Dim]) -> list[Extent] | None:
    """The inequalities after the equalities are used up; None if there is a contradiction."""
    while zero:
        e = zero.pop()
        if isinstance(e, int):
            if e:
                return None
            continue
        if e.const % gcd(*(c for _, c in e.terms)):
            return None
        unit = next(((v, c) for v, c in e.terms if abs(c) == 1), None)
        if unit is None:
            rows += [e, -e]
            continue
        v, c = unit
        zero, rows = ([f - e * (c * k) if (k := _coefficient(f, v)) else f for f in forms] for forms in (zero, rows))
    return _tightened(rows)


def _coefficient(e: Dim, v: Any) -> int:
    return 0 if isinstance(e, int) else next((c for u, c in e.terms if u is v), 0)


def _tightened(rows: Iterable[Dim]) -> list[Extent] | None:
    """Integer coefficients without a common factor, of rows that differ in their constant the sharpest; None: contradiction."""
    best: dict[tuple[tuple[Any, int], ...], int] = {}
    for e in rows:
        if isinstance(e, int):
            if e > 0:
                return None
            continue
        g = gcd(*(c for _, c in e.terms))
        terms = tuple((v, c // g) for v, c in e.terms)
        best[terms] = max(best.get(terms, -(1 << 80)), -(-e.const // g))
    return [Extent(const, terms) for terms, const in best.items()]


def _eliminated(rows: list[Extent]) -> list[Extent] | None:
    """The rows without one of the unknowns, the one that makes the fewest new rows."""
    signs: dict[Any, list[int]] = {}
    for e in rows:
        for v, c in e.terms:
            signs.setdefault(v, [0, 0])[c > 0] += 1
    v = min(signs, key=lambda u: signs[u][0] * signs[u][1])
    upper = [e for e in rows if _coefficient(e, v) > 0]
    lower = [e for e in rows if _coefficient(e, v) < 0]
    rest: list[Dim] = [e for e in rows if not _coefficient(e, v)]
    pairs = [a * -_coefficient(b, v) + b * _coefficient(a, v) for a in upper for b in lower]
    return _tightened(rest + pairs)
