"""Do accesses at affine positions meet? The one place for questions of dependence; forms: irad.core.affine.

`meets` asks for two accesses whose symbols have known domains, in the same or in other trips of loops. Underneath is the question
whether integers under linear constraints exist: equalities are eliminated by substitution, then inequalities by Fourier and
Motzkin's method with coefficients tightened to integers (Pugh, "The Omega test", 1991, without the splinters: a set that is
reported empty is empty, a set that is not may be).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from math import gcd, inf
from typing import Any

from irad.core.affine import Affine, Integer, Interval, bounds, coefficient, constant, factors, symbol, symbols, terms
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
        """The access of one element, or of all that stands at some leading positions."""
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


# ---- loops whose positions are digits ------------------------------------------------------------------------------------------


def apart(
    places: Sequence[tuple[Integer, int]], index: Any, step: int, trips: float, inner: Set[Any], ranges: Callable[[Any], Interval]
) -> bool:
    """Does no trip of a loop touch what another one touches? `places`: positions, and how many elements are touched from each on.

    Two trips do not meet if every position is low + c*index + far, where `low` spans less than c and `far` is a multiple of a period
    that c*index + low does not reach: a mixed-radix number in which the index is one digit. `inner`: the symbols that change within
    a trip, in their ranges; all others are the same in all trips.
    """
    moving = lambda e: [(s, k) for s, k in terms(e) if not inner.isdisjoint(factors(s))]
    strides = {coefficient(e, index) for e, _ in places}
    if len({steady(e, {index, *inner}) for e, _ in places}) > 1 or len(strides) > 1:
        return False
    c = abs(strides.pop() * step)
    if not c or any(type(s) is tuple and (index in s or not inner.isdisjoint(s)) for e, _ in places for s, _ in terms(e)):
        return False
    far = {abs(k) for e, _ in places for _, k in moving(e) if abs(k) >= c}
    period = min(far, default=0)
    if any(k % period for k in far) or far and trips == inf:
        return False
    first, low, high = constant(places[0][0]), inf, -inf
    for e, width in places:
        shift = constant(e) - first
        if period:
            shift = (shift + period // 2) % period - period // 2
        lo, hi = bounds(Affine.of(0, {s: k for s, k in moving(e) if abs(k) < c}), ranges)
        low, high = min(low, lo + shift), max(high, hi + shift + width - 1)
    return high - low < c and (not period or c * (trips - 1) + high - low < period)


def steady(e: Integer, moving: Set[Any]) -> Integer:
    """The terms of symbols that stay the same, without the constant."""
    return Affine.of(0, {s: c for s, c in terms(e) if moving.isdisjoint(factors(s))})


def told_apart(positions: Sequence[Integer], trips: Mapping[Any, Integer]) -> bool:
    """Does each trip of a nest, over symbols that count to `trips`, have a position of its own? Not where one does not depend on them.

    A position tells its symbols if they are the digits of a number: each one's step is beyond what those before it reach.
    """
    unknown = {s for s, n in trips.items() if n != 1}
    while True:
        told = set()
        for e in positions:
            digits = sorted(((abs(c), s) for s, c in terms(e) if s in unknown), key=lambda d: d[0])
            sizes = [trips[s] for _, s in digits[:-1]]
            reach = [0, *itertools.accumulate(c * (n - 1) if isinstance(n, int) else inf for (c, _), n in zip(digits, sizes))]
            if all(c > r for (c, _), r in zip(digits, reach)):
                told |= {s for _, s in digits}
        if not told:
            return not unknown
        unknown -= told


def dense(e: Integer, width: int, loops: Iterable[tuple[Any, int, int, int]]) -> Interval | None:
    """The range of elements that accesses of `width` from e on fill, if they are all of one: over loops of (symbol, start, step, trips)."""
    at, end = constant(e), width
    if any(type(s) is tuple for s, _ in terms(e)):
        return None
    digits = []
    for s, start, step, count in loops:
        c = coefficient(e, s)
        at += c * start + min(0, c * step * (count - 1))
        digits.append((abs(c * step), count))
    for c, count in sorted(digits):
        if c > end:
            return None
        end += c * (count - 1)
    return at, at + end - 1


def distances(
    a: Integer, b: Integer, loops: Sequence[tuple[Any, int]], varying: Set[Any] = frozenset()
) -> list[tuple[int, ...]] | None:
    """How many trips, lexicographically more than none, after a the access b touches the same element; None if that is not known.

    `loops`: symbols and trip counts, outermost first; `varying`: other symbols that change from trip to trip.
    """
    delta, coefs = a - b, [coefficient(a, s) for s, _ in loops]
    indices = {s for s, _ in loops}
    product = any(type(s) is tuple and not indices.isdisjoint(s) for s, _ in terms(a))
    if not isinstance(delta, int) or 0 in coefs or product or any(s in varying for s in symbols(a)):
        return None
    out: list[tuple[int, ...]] = []
    for inside in itertools.product(*(range(1 - n, n) for _, n in loops[1:])):
        first, left = divmod(delta - sum(c * d for c, d in zip(coefs[1:], inside)), coefs[0])
        if left == 0 and first < loops[0][1] and (first, *inside) > (0,) * len(loops):
            out.append((first, *inside))
    return out
