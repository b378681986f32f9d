"""Algebraic rewrite rules as data: `pattern -> replacement`, in Python's syntax for expressions.

A call is an op by its name, operators are the arithmetic ops. `x`, `y`, `z` stand for any value, `A`, `B` for constants,
all of the kinds (b, i, u, f as in NumPy) that head the section; `p`, `q` stand for bools. A number stands for a constant
with these very bits: `x + -0.0` is not `x + 0.0`.

EXACT rules hold bit for bit, for every NaN (all NaNs are one), infinity, zero of either sign, subnormal and wrapped
integer; those for `pow` within the accuracy of that function. DERIVATIVE rules apply to nodes of a derivative, and to others
under the flags of `irad.compile(fastmath=)` that head them: they may re-associate, so round otherwise, and change the sign of
a zero. FASTMATH rules apply under their flags only; in derivatives too, where nothing else removes `x * 0`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from functools import cache, cached_property
from typing import Any

from irad.core.lazy_dataclass import dataclass

# What holds of numbers that are ordered: integers, and floats without NaN.
_TOTAL_ORDER = """
        eq(x, x) -> True
        ne(x, x) -> False
        le(x, x) -> True
        ge(x, x) -> True
        logical_not(lt(x, y)) -> ge(x, y)
        logical_not(le(x, y)) -> gt(x, y)
        logical_not(gt(x, y)) -> le(x, y)
        logical_not(ge(x, y)) -> lt(x, y)
    """.strip()

EXACT = {
    "iuf": """
        x * 1 -> x
        pow(x, 1) -> x
        pow(x, 2) -> x * x
        abs(abs(x)) -> abs(x)
    """,
    "if": """
        x * -1 -> -x
        -(-x) -> x
        (-x) * (-y) -> x * y
        (-x) * y -> -(x * y)
        (-x) * A -> x * -A
        x + (-y) -> x - y
        x - (-y) -> x + y
        abs(-x) -> abs(x)
    """,
    "f": """
        x + -0.0 -> x
        x - 0.0 -> x
        x / 1.0 -> x
        x / -1.0 -> -x
        (-x) / (-y) -> x / y
        (-x) / y -> -(x / y)
        x / (-y) -> -(x / y)
        pow(x, 0.0) -> 1.0
        pow(x, -1.0) -> 1.0 / x
        pow(x, 3.0) -> x * (x * x)
        pow(x, 4.0) -> (x * x) * (x * x)
        cos(-x) -> cos(x)
        cosh(-x) -> cosh(x)
        abs(x * x) -> x * x
        abs(exp(x)) -> exp(x)
        floor(floor(x)) -> floor(x)
        ceil(ceil(x)) -> ceil(x)
        trunc(trunc(x)) -> trunc(x)
        rint(rint(x)) -> rint(x)
        isnan(-x) -> isnan(x)
        szmul(0.0, x) -> 0.0
        szmul2(0.0, x) -> 0.0
        szdiv(0.0, x) -> 0.0
    """,
    "iu": f"""
        x + 0 -> x
        x - 0 -> x
        x - x -> 0
        x * 0 -> 0
        (x + A) + B -> x + (A + B)
        (x - A) + B -> x + (B - A)
        (x + A) - B -> x + (A - B)
        (x - A) - B -> x - (A + B)
        (x * A) * B -> x * (A * B)
        (x + y) - y -> x
        (x - y) + y -> x
        x + (y - x) -> y
        x - (x - y) -> y
        minimum(x, minimum(x, y)) -> minimum(x, y)
        maximum(x, maximum(x, y)) -> maximum(x, y)
        x // 1 -> x
        x % 1 -> 0
        pow(x, 0) -> 1
        pow(x, 3) -> x * (x * x)
        x & x -> x
        x | x -> x
        x ^ x -> 0
        x & 0 -> 0
        x | 0 -> x
        x ^ 0 -> x
        invert(invert(x)) -> x
        x << 0 -> x
        x >> 0 -> x
        {_TOTAL_ORDER}
    """,
    "biuf": """
        maximum(x, x) -> x
        minimum(x, x) -> x
        lt(x, x) -> False
        gt(x, x) -> False
        select(True, x, y) -> x
        select(False, x, y) -> y
        select(p, x, x) -> x
        select(logical_not(p), x, y) -> select(p, y, x)
        select(p, select(p, x, y), z) -> select(p, x, z)
        select(p, x, select(p, y, z)) -> select(p, x, z)
        logical_not(eq(x, y)) -> ne(x, y)
        logical_not(ne(x, y)) -> eq(x, y)
    """,
    "b": """
        select(p, True, False) -> p
        select(p, False, True) -> logical_not(p)
        select(p, q, False) -> logical_and(p, q)
        select(p, True, q) -> logical_or(p, q)
        logical_not(logical_not(p)) -> p
        logical_and(p, p) -> p
        logical_or(p, p) -> p
        logical_xor(p, p) -> False
        logical_and(p, True) -> p
        logical_and(p, False) -> False
        logical_or(p, True) -> True
        logical_or(p, False) -> p
        logical_xor(p, False) -> p
        logical_xor(p, True) -> logical_not(p)
        logical_and(p, logical_not(p)) -> False
        logical_or(p, logical_not(p)) -> True
        eq(p, True) -> p
        ne(p, False) -> p
        eq(p, False) -> logical_not(p)
        ne(p, True) -> logical_not(p)
    """,
}

# Flags -> rules for floats.
DERIVATIVE = {
    "nsz": """
        x + 0.0 -> x
        0.0 - x -> -x
        x - -0.0 -> x
        -(x - y) -> y - x
    """,
    "reassoc": """
        (x * A) * B -> x * (A * B)
        (x * A) / B -> x * (A / B)
        (x / A) * B -> x * (B / A)
    """,
    "": """
        szmul(x, 1.0) -> x
        szmul(x, -1.0) -> -x
        szmul(-x, y) -> -szmul(x, y)
        szmul(x, -y) -> -szmul(x, y)
        szmul2(-x, y) -> -szmul2(x, y)
        szdiv(x, 1.0) -> x
        szdiv(x, -1.0) -> -x
        szdiv(-x, y) -> -szdiv(x, y)
        szdiv(x, -y) -> -szdiv(x, y)
    """,
}

FASTMATH = {
    "nnan": f"""
        x - x -> 0.0
        x / x -> 1.0
        isnan(x) -> False
        {_TOTAL_ORDER}
    """,
    "ninf": """
        isinf(x) -> False
    """,
    "nnan ninf": """
        isfinite(x) -> True
    """,
    "nnan nsz": """
        x * 0.0 -> 0.0
        x * -0.0 -> 0.0
        0.0 / x -> 0.0
        minimum(x, minimum(x, y)) -> minimum(x, y)
        maximum(x, maximum(x, y)) -> maximum(x, y)
    """,
    "reciprocal": """
        x / A -> x * (1.0 / A)
    """,
    "reassoc": """
        (x + A) + B -> x + (A + B)
        (x - A) + B -> x + (B - A)
        (x + A) - B -> x + (A - B)
        (x - A) - B -> x - (A + B)
    """,
    "reassoc nsz": """
        (x + y) - y -> x
        (x - y) + y -> x
        x + (y - x) -> y
        x - (x - y) -> y
    """,
    "reassoc nnan": """
        (x * y) / y -> x
        (x / y) * y -> x
    """,
    "reassoc reciprocal": """
        (x / y) / z -> x / (y * z)
        x / (y / z) -> (x * z) / y
    """,
}

_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floor_divide", ast.Mod: "remainder",
    ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor", ast.LShift: "left_shift",
    ast.RShift: "right_shift",
}  # fmt: skip


@dataclass(frozen=True)
class Term:
    """An expression of a rule: `op` with operands, or a variable (`name`), or a number (`value`)."""

    op: str = ""
    args: tuple[Term, ...] = ()
    name: str = ""
    value: Any = None

    def names(self) -> Iterator[str]:
        if self.name:
            yield self.name
        for a in self.args:
            yield from a.names()


@dataclass(frozen=True)
class Rule:
    """`before -> after` for operands of the dtype kinds `kinds`, always unless `derivative`: in derivatives, or `flags` are there:
    under all of them."""

    text: str
    before: Term
    after: Term
    kinds: str
    derivative: bool = False
    flags: frozenset[str] = frozenset()

    @cached_property
    def exact(self) -> bool:
        """Does it hold bit for bit?"""
        return not self.derivative and not self.flags

    def applies(self, derivative: bool, fastmath: Set[str]) -> bool:
        """Does the rule apply to a node, which may belong to a derivative, under these flags?"""
        return self.exact or (derivative and self.derivative) or (bool(self.flags) and self.flags <= fastmath)

    @cached_property
    def needs(self) -> frozenset[str]:
        """Ops that must stand right below the root for the pattern to match."""
        below = (a.op or ("const" if a.value is not None or a.name.isupper() else "") for a in self.before.args)
        return frozenset(op for op in below if op)

    def is_typed(self, name: str) -> bool:
        """Is the variable one that must be of `kinds`?"""
        return name not in "pq"


def _term(e: ast.expr) -> Term:
    match e:
        case ast.Constant(value):
            return Term(value=value)
        case ast.UnaryOp(ast.USub(), ast.Constant(value)):
            return Term(value=-value)  # type: ignore[operator]
        case ast.UnaryOp(ast.USub(), x):
            return Term("neg", (_term(x),))
        case ast.Name(name):
            return Term(name=name)
        case ast.BinOp(x, op, y):
            return Term(_BINARY[type(op)], (_term(x), _term(y)))
        case ast.Call(ast.Name(name), args):
            return Term(name, tuple(map(_term, args)))
    raise AssertionError(ast.dump(e))


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, read from the tables, all sides as the lines of one text: Python's parser is slow to start."""
    sections = [(text, kinds, False, "") for kinds, text in EXACT.items()]
    sections += [(text, "f", True, flags) for flags, text in DERIVATIVE.items()]
    sections += [(text, "f", False, flags) for flags, text in FASTMATH.items()]
    lines = [(line.strip(), k, d, frozenset(f.split())) for text, k, d, f in sections for line in text.strip().splitlines()]
    sides = ast.parse("\n".join(side.strip() for line, *_ in lines for side in line.split("->"))).body
    terms = [_term(s.value) for s in sides]  # type: ignore[attr-defined]
    return tuple(Rule(line, b, a, k, d, f) for (line, k, d, f), b, a in zip(lines, terms[::2], terms[1::2], strict=True))


@cache
def rules_of(op: str) -> tuple[Rule, ...]:
    """The rules whose pattern has `op` at its root."""
    return tuple(r for r in rules() if r.before.op == op)
