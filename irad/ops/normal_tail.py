"""The logarithm of erfc(u), whose slope is finite where erfc(u) itself is too small for a float: the tail of the normal distribution.

The slope is -h(u), with h(u) = 2 exp(-u * u) / (sqrt(pi) erfc(u)) and h' = h * (h - 2 u). In the tail a continued fraction for h is
differentiated instead (NIST Handbook of Mathematical Functions, 7.9.1): h - 2 u would cancel.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import cache, reduce
from itertools import zip_longest

from irad.core.ir import Value
from irad.ops.elementwise import Elementwise, add, cast_to, erfc, exp, full, log, select, szmul
from irad.ops.slopes import formula, horner

erfc_hazard: Elementwise

_TAIL = 6.0  # from here on the continued fraction is exact to the last digit; further on exp(-u * u) / erfc(u) becomes 0 / 0
Polynomial = list[Fraction]  # the coefficient of 1 first


def _convergent(terms: int) -> tuple[Polynomial, Polynomial]:
    """Numerator and denominator of 1 / (1 + t / (1 + 1.5 t / (1 + 2 t / ...))), DLMF 7.9.1."""
    before, now = ([Fraction(0)], [Fraction(1)]), ([Fraction(1)], [Fraction(1)])
    for k in range(2, terms + 1):
        step = [Fraction(0), Fraction(k, 2)]
        before, now = now, (_sum(now[0], _product(step, before[0])), _sum(now[1], _product(step, before[1])))
    return now


def _sum(p: Polynomial, q: Polynomial) -> Polynomial:
    return [a + b for a, b in zip_longest(p, q, fillvalue=Fraction(0))]


def _product(p: Polynomial, q: Polynomial) -> Polynomial:
    return [sum((p[i] * q[k - i] for i in range(len(p)) if 0 <= k - i < len(q)), Fraction(0)) for k in range(len(p) + len(q) - 1)]


@cache
def _tail(n: int) -> tuple[Polynomial, Polynomial]:
    """P and Q: the derivative of order n of hazard(u) - 2 u is (-1)**n P(t) / Q(t)**(n + 1) / u**(n + 1), with t = 1 / u**2."""
    if n == 0:
        return _convergent(16)
    p, q = _tail(n - 1)
    slope = lambda r: [k * c for k, c in enumerate(r)]  # t times the derivative
    minus = [-n * c for c in slope(q)]
    rise = _sum(_product(slope(p), q), _product(p, minus))
    return _sum([n * c for c in _product(p, q)], [2 * c for c in rise]), q


@cache
def _terms(n: int) -> dict[tuple[int, int], int]:
    """The derivative of order n of h = hazard(u) as a polynomial: (i, j) -> the coefficient of h**i u**j, by h' = h * (h - 2 u)."""
    if n == 0:
        return {(1, 0): 1}
    out: Counter[tuple[int, int]] = Counter()
    for (i, j), c in _terms(n - 1).items():
        out[i + 1, j] += i * c
        out[i, j + 1] -= 2 * i * c
        if j:
            out[i, j - 1] += j * c
    return dict(out)


def _hazard(u: Value, *, n: int) -> Value:
    if u.type.dtype == "f32":  # the terms of a derivative cancel
        return cast_to(_hazard(cast_to(u, "f64"), n=n), "f32")
    large, edge = u > _TAIL, full(_TAIL, u)
    near, inverse = select(large, edge, u), 1 / select(large, u, edge)
    p, q = _tail(n)
    t = inverse * inverse
    far = (-inverse) ** n * inverse * (horner(list(map(float, p)), t) / horner(list(map(float, q)), t) ** (n + 1))
    far = far + (2 * u if n == 0 else 2.0 if n == 1 else 0.0)
    h = 2 / math.sqrt(math.pi) * exp(-near * near) / erfc(near)
    rest = [c * h ** (i - 1) * near**j for (i, j), c in _terms(n).items()]
    return select(large, far, szmul(h, reduce(add, rest)) if n else h)


erfc_hazard = formula("erfc_hazard", _hazard, lambda u, o, *, n: (erfc_hazard(u, n=n + 1),), ((-4.0, 4.0),), sample={"n": 0},
                      doc="derivative of order n of 2 exp(-u * u) / (sqrt(pi) erfc(u)), which is how fast log(erfc(u)) falls")  # fmt: skip
log_erfc = formula("log_erfc", lambda u: log(erfc(u)), lambda u, o: (-erfc_hazard(u, n=0),), ((-4.0, 4.0),), doc="log(erfc(u))")
