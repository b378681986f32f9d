"""Affine integers: one form for extents, positions and addresses, and ranges on it.

An integer that is known is an `int`. One that is not is an `Affine`: a constant and a sum of coefficients times symbols. Arithmetic
gives an `int` as soon as no symbol is left, so equal integers have equal forms, and both are an `Integer`.

What a symbol is, the user of the form says: an SSA value (`irad.core.types.Extent`), a name (the kernel form), a register (the
emitter). A tuple of symbols is their product, a symbol of its own: row-major strides of run-time extents are such.
Which accesses at affine positions meet: `irad.core.dependence`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar, Union

Interval = tuple[float, float]  # least and greatest: ints, or an infinity
WHOLE: Interval = (-math.inf, math.inf)


class Affine:
    """const + sum of coefficient * symbol, never a constant alone. Immutable; forms of the same terms in any order are equal.

    Terms stand in the order in which symbols were first met.
    """

    __slots__ = ("const", "terms")
    const: int
    terms: tuple[tuple[Any, int], ...]  # (symbol, coefficient), at least one; no coefficient is 0

    def __init__(self, const: int, terms: tuple[tuple[Any, int], ...]):
        _set_const(self, const)
        _set_terms(self, terms)

    @classmethod
    def of(cls, const: int, coefs: Mapping[Any, int]) -> int | Self:
        """The normal form of a constant and coefficients, of which some may be 0."""
        terms = tuple([t for t in coefs.items() if t[1]])
        return cls(const, terms) if terms else const

    def __setattr__(self, name: str, *value: Any) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot change: the object is immutable")

    __delattr__ = __setattr__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Affine):
            return NotImplemented
        a, b = self.terms, other.terms
        return self.const == other.const and (a == b or len(a) == len(b) > 1 and dict(a) == dict(b))

    def __hash__(self) -> int:
        return hash((self.const, frozenset(self.terms)))

    def __add__(self, other: int | Self) -> int | Self:
        if isinstance(other, int):
            return type(self)(self.const + other, self.terms) if other else self
        coefs = dict(self.terms)
        for s, c in other.terms:
            coefs[s] = coefs.get(s, 0) + c
        return self.of(self.const + other.const, coefs)

    __radd__ = __add__

    def __mul__(self, other: int | Self) -> int | Self:
        """Times a number, or another form: symbols of a product have an order."""
        if not isinstance(other, int):
            return self._product(other)
        if other == 1:
            return self
        return type(self)(self.const * other, tuple([(s, c * other) for s, c in self.terms])) if other else 0

    __rmul__ = __mul__

    def _product(self, other: Self) -> int | Self:
        coefs: dict[Any, int] = {}
        for a, c in (*self.terms, ((), self.const)):
            for b, d in (*other.terms, ((), other.const)):
                both = factors(a) + factors(b)
                key = tuple(sorted(both)) if len(both) > 1 else both[0] if both else ()
                if c * d:
                    coefs[key] = coefs.get(key, 0) + c * d
        const = coefs.pop((), 0)
        return self.of(const, coefs)

    def __neg__(self) -> Self:
        return type(self)(-self.const, tuple([(s, -c) for s, c in self.terms]))

    def __sub__(self, other: int | Self) -> int | Self:
        return self + (-other)

    def __rsub__(self, other: int) -> int | Self:
        return -self + other

    def __floordiv__(self, k: int) -> int | Self:
        """The quotient rounded down, where it is affine: raises ValueError if not every coefficient is a multiple of k."""
        if not divisible(self, k):
            raise ValueError(f"({self}) // {k} is not affine")
        return type(self)(self.const // k, tuple([(s, c // k) for s, c in self.terms]))

    def rename(self, get: Callable[[Any], Any]) -> int | Self:
        """The form with get(symbol) in place of each symbol; those of a product are exchanged one by one."""
        coefs: dict[Any, int] = {}
        for s, c in self.terms:
            s = tuple(sorted(map(get, s))) if type(s) is tuple else get(s)
            coefs[s] = coefs.get(s, 0) + c
        return self.of(self.const, coefs)

    def show(self, name: Callable[[Any], str]) -> str:
        """As text, such as `n`, `i+1`, `2*i*n-3`; `name` says what a symbol is called."""
        out = ""
        for s, c in self.terms:
            sign = "-" if c < 0 else "+" if out else ""
            out += sign + (f"{abs(c)}*" if abs(c) != 1 else "") + "*".join(map(name, factors(s)))
        return out + (f"{self.const:+d}" if self.const else "")

    def __str__(self) -> str:
        ordered = sorted(self.terms, key=lambda t: tuple(map(str, factors(t[0]))))
        return type(self)(self.const, tuple(ordered)).show(str)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


_set_const, _set_terms = (vars(Affine)[name].__set__ for name in Affine.__slots__)

Integer = Union[int, Affine]
I = TypeVar("I", bound=Affine)  # noqa: E741


def factors(symbol: Any) -> tuple[Any, ...]:
    """The symbols that a term's symbol is the product of."""
    return symbol if type(symbol) is tuple else (symbol,)


def symbol(s: Any) -> Affine:
    """A symbol as a form."""
    return Affine(0, ((s, 1),))


def terms(e: Integer) -> tuple[tuple[Any, int], ...]:
    """(symbol, coefficient) of each term; none of a number."""
    return () if isinstance(e, int) else e.terms


def constant(e: Integer) -> int:
    """What stands beside the terms."""
    return e if isinstance(e, int) else e.const


def number(e: Integer) -> int | None:
    """The number that it is, if it is one."""
    return e if isinstance(e, int) else None


def coefficient(e: Integer, symbol: Any) -> int:
    """What a symbol is multiplied by, products with others aside; 0 if it does not occur."""
    for s, c in terms(e):
        if s is symbol or s == symbol:
            return c
    return 0


def symbols(*forms: Integer) -> Iterator[Any]:
    """All symbols in some forms, those in products one by one; one that occurs twice comes twice."""
    return (s for e in forms if not isinstance(e, int) for t, _ in e.terms for s in factors(t))


def divisible(e: Integer, k: int) -> bool:
    """Is every coefficient a multiple of k? Then `e // k` is affine, and e % k that of its constant."""
    return all([c % k == 0 for _, c in terms(e)])


def substitute(e: Integer, of: Callable[[Any], Any]) -> Any:
    """The form with the integer of(symbol) in place of each symbol: another form, or with numbers for all symbols its value."""
    if isinstance(e, int):
        return e
    out: Any = e.const
    for s, c in e.terms:
        if type(s) is not tuple:
            out = out + of(s) * c
            continue
        term = of(s[0])
        for t in s[1:]:
            term = term * of(t)
        out = out + term * c
    return out


def strides(shape: Sequence[Integer]) -> list[Integer]:
    """Elements from one to the next along each axis of an array in row-major order."""
    out: list[Integer] = []
    step: Integer = 1
    for n in reversed(shape):
        out.append(step)
        step = step * n
    return out[::-1]


LINEAR = ("add", "sub", "neg", "mul")


def applied(op: str, *xs: Any) -> Any:
    """What an op of these makes of integers; None of others, and for a product of two forms."""
    if op == "add":
        return xs[0] + xs[1]
    if op == "sub":
        return xs[0] - xs[1]
    if op == "neg":
        return -xs[0]
    return xs[0] * xs[1] if op == "mul" and (isinstance(xs[0], int) or isinstance(xs[1], int)) else None


# ---- ranges ------------------------------------------------------------------------------------------------------------------


def bounds(e: Integer, of: Callable[[Any], Interval]) -> Interval:
    """Least and greatest value, where of(symbol) says in what range a symbol is (for a product of symbols: their tuple)."""
    if isinstance(e, int):
        return e, e
    lo: float = e.const
    hi: float = e.const
    for s, c in e.terms:
        a, b = of(s)
        lo, hi = lo + min(c * a, c * b), hi + max(c * a, c * b)
    return lo, hi


def fill(parts: Iterable[Interval], whole: Interval) -> bool:
    """Do ranges of whole numbers leave out nothing of another one?"""
    at, end = whole
    for lo, hi in sorted(parts):
        if lo <= at <= hi:
            at = hi + 1
    return at > end


def join(parts: Iterable[Interval]) -> Interval:
    """The smallest range that holds some ranges."""
    lows, highs = zip(*parts)
    return min(lows), max(highs)
