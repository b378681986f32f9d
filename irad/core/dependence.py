"""Do accesses at affine positions meet? The one place for questions of dependence; forms: irad.core.affine.

`meets` asks for two accesses whose symbols have known domains, in the same or in other trips of loops. Underneath is the question
whether integers under linear constraints exist: equalities are eliminated by substitution, then inequalities by Fourier and
Motzkin's method with coefficients tightened to integers (Pugh, "The Omega test", 1991, without the splinters: a set that is
reported empty is empty, a set that is not may be).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from math import gcd
from typing import Any

from irad.core.affine import Affine, Integer, coefficient, symbol, symbols
from irad.core.lazy_dataclass import dataclass

Axis = tuple[Integer | None, Integer | None, int]  # start (None: not known), size (None: a single position), step
Domain = Callable[[Any], Iterable[Integer]]  # what is known of a symbol: forms that are <= 0
Rename = Callable[[Any], Any]


@dataclass(frozen=True)
class Access:
    """The places of an array that a load or store touches: a product of positions or slices along the leading axes."""

    axes: tuple[Axis, ...]

    @staticmethod
    def at(positions: Iterable[Integer]) -> Access:
        """Of one element, or of what stands at leading positions."""
        return Access(tuple((p, None, 1) for p in positions))


class _Step:
    """The symbol that counts the elements of a slice; it stands after the values that there are."""

    __slots__ = ("id",)
    ids = itertools.count(1 << 62)

    def __init__(self) -> None:
        self.id = next(self.ids)


def meets(a: Access, b: Access, domain: Domain, other: Rename = lambda s: s, order: Iterable[Integer] = ()) -> bool:
    """May the two touch the same element?

    b happens in another trip of the loops whose symbols `other` exchanges for others; `order` says of which trips the question is:
    forms over the symbols of both that are <= 0.
    """
    zero: list[Integer] = []
    known = list(order)
    for x, y in zip(a.axes, b.axes):
        if x[0] is not None and y[0] is not None:
            zero.append(_place(x, domain, lambda s: s, known) - _place(y, domain, other, known))
    return not any(isinstance(e, int) and e for e in zero) and not is_empty(zero, known)


def _place(axis: Axis, domain: Domain, rename: Rename, known: list[Integer]) -> Any:
    """The position as a form; what is known of its symbols is added to `known`."""
    start, size, step = axis
    assert start is not None
    place: Any = renamed(start, rename)
    known += [renamed(e, rename) for v in symbols(start) for e in domain(v)]
    if size is not None:
        t = _Step()
        known += [-symbol(t), -(renamed(size, rename) - symbol(t)) + 1]
        known += [renamed(e, rename) for v in symbols(size) for e in domain(v)]
        place = place + symbol(t) * step
    return place


def renamed(e: Integer, rename: Rename) -> Any:
    """The form with symbols exchanged."""
    return e if isinstance(e, int) else e.rename(rename)


# ---- integer points ----------------------------------------------------------------------------------------------------------

LIMIT = 64  # inequalities at a time; beyond it the question is given up


def is_empty(zero: Iterable[Integer], nonpositive: Iterable[Integer]) -> bool:
    """Is it sure that no integers make every form in `zero` 0 and every form in `nonpositive` <= 0?"""
    rows = _substituted(list(zero), list(dict.fromkeys(nonpositive)))
    if rows is None:
        return True
    while rows is not None and 0 < len(rows) <= LIMIT:
        rows = _eliminated(rows)
    return rows is None


def _substituted(zero: list[Any], rows: list[Any]) -> list[Affine] | None:
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
        zero, rows = ([f - e * (c * k) if (k := coefficient(f, v)) else f for f in forms] for forms in (zero, rows))
    return _tightened(rows)


def _tightened(rows: Iterable[Integer]) -> list[Affine] | None:
    """Integer coefficients without a common factor, of rows that differ in their constant the sharpest; None: contradiction."""
    best: dict[Any, Affine] = {}
    for e in rows:
        if isinstance(e, int):
            if e > 0:
                return None
            continue
        g = gcd(*(c for _, c in e.terms))
        terms, const = tuple((v, c // g) for v, c in e.terms), -(-e.const // g)
        if terms not in best or best[terms].const < const:
            best[terms] = type(e)(const, terms)
    return list(best.values())


def _eliminated(rows: list[Affine]) -> list[Affine] | None:
    """The rows without one of the unknowns, the one that makes the fewest new rows."""
    signs: dict[Any, list[int]] = {}
    for e in rows:
        for v, c in e.terms:
            signs.setdefault(v, [0, 0])[c > 0] += 1
    v = min(signs, key=lambda u: signs[u][0] * signs[u][1])
    upper = [e for e in rows if coefficient(e, v) > 0]
    lower = [e for e in rows if coefficient(e, v) < 0]
    rest: list[Any] = [e for e in rows if not coefficient(e, v)]
    pairs = [a * -coefficient(b, v) + b * coefficient(a, v) for a in upper for b in lower]
    return _tightened(rest + pairs)
