"""Products that are smooth though their factors are not: squares of roots, of absolute values and of norms, and the like.

The slope of `r * r` at r = sqrt(0) is 0 * inf according to the product rule, and for r = |x| its second derivative there is 0
according to what docs/edges.md says of |x|. So before differentiation the product gets the slopes of the whole: it becomes
`slope_of(r * r, w)`, whose value is the old one, bit for bit, and whose derivatives are those of w, here the operand of the root.
Nodes of w that no derivative needs are dead.

A product is read as a monomial: factors with whole exponents, seen through `mul`, `div`, `neg`, powers with a constant exponent, and,
for roots, through what only moves elements. Equal factors need not be one value: they are compared by how they are made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import reduce
from typing import Any

import numpy as np

from irad.core.ir import Builder, Graph, Node, Program, Value, map_regions
from irad.ops import elementwise as ew
from irad.ops.array import sum_
from irad.ops.elementwise import full
from irad.ops.normal_tail import log_erfc
from irad.ops.slopes import logistic_given, slope_of
from irad.passes.clean.cse import Key, node_key
from irad.passes.derivatives.spectral_tables import completed
from irad.passes.derivatives.spectral_wholes import matrix_function_of, spectral_element_of, spectral_product_of, spectral_sum_of
from irad.passes.rewrite import splat_of

LARGEST = 64  # factors of a monomial
DEPTH = 32  # operations back that are compared
PASS_ON = ("cast", "mul", "div", "neg", "pow")  # and what moves elements


def wholes(program: Program) -> Program:
    """The program in which such products have the slopes of the whole; the same graphs where there is none."""
    return {name: completed(_Wholes().graph(g)) for name, g in program.items()}


# ---- roots ------------------------------------------------------------------------------------------------------------------


def _square_of_sqrt(n: Node) -> Value:
    """The operand; NaN, with slopes of NaN, where the root is NaN."""
    u = n.inputs[0]
    return u * ew.select(u < 0, float("nan"), full(1.0, u))


def _sum_of_squares(n: Node) -> Value:
    squares = [x * x for x in n.inputs]
    return squares[0] if len(squares) == 1 else ew.add(*squares)


def _square_of_norm(n: Node) -> Value:
    x = n.inputs[1]
    return sum_(x * x, axes=n.attrs["axes"])


ROOTS: dict[str, Callable[[Node], Value]] = {
    "sqrt": _square_of_sqrt,
    "guarded_sqrt": lambda n: n.inputs[0],
    "abs": _sum_of_squares,
    "hypot": _sum_of_squares,
    "norm_of": _square_of_norm,
}


class _Wholes:
    """`defs`: the nodes seen so far; `rooted`: values that are roots, views of roots, or products with one; `numbers`: one for
    each way to make a value."""

    def __init__(self) -> None:
        self.defs: dict[Value, Node] = {}
        self.rooted: set[Value] = set()
        self.keys: dict[Value, int] = {}
        self.numbers: dict[Key, int] = {}

    def graph(self, graph: Graph) -> Graph:
        if not self.rooted and not _interesting(graph):
            return graph
        nodes: list[Node] = []
        for n in graph.nodes:
            n = map_regions(n, self.graph)
            self.defs.update((v, n) for v in n.outputs)
            made = self.node(n)
            if len(made) == 1 and (
                n.op.name in ROOTS or (n.op.moves or n.op.name in PASS_ON) and any(v in self.rooted for v in n.inputs)
            ):
                self.rooted.update(n.outputs)
            nodes += made
        return graph.replace(nodes=nodes)

    def key(self, v: Value, depth: int = DEPTH) -> Hashable:
        """How v is made: equal for values that are made alike. A number, so that comparing it costs nothing."""
        n = self.defs.get(v)
        if n is None or depth == 0 or len(n.outputs) > 1 or n.regions or n.op.effects != "none":
            return v
        if v not in self.keys:
            made = node_key(n, {x: self.key(x, depth - 1) for x in n.inputs})
            self.keys[v] = self.numbers.setdefault(made, len(self.numbers))
        return self.keys[v]

    def node(self, n: Node) -> list[Node]:
        """The node, or its value with the slopes of the whole."""
        if n.op.name not in _RULES or not n.out.type.differentiable:
            return [n]
        value = Value(n.out.type, n.out.hint)
        self.defs[value] = first = n.replace(outputs=(value,))
        with Builder(n.loc, True) as b:
            whole = _RULES[n.op.name](self, first)
            if whole is None:
                return [n]
            b.nodes.insert(0, first)
            slope_of(value, whole)
        last = b.nodes.pop()
        return [*b.nodes, n.replace(op=last.op, inputs=last.inputs, attrs=last.attrs, regions=())]

    def constant(self, v: Value) -> Any:
        """The number that v spreads, or None."""
        n = self.defs.get(v)
        while n is not None and (n.op.keeps_order or n.op.name == "cast" and _keeps(n)):
            n = self.defs.get(n.inputs[0])
        return splat_of(n)

    def exponent(self, v: Value) -> int | None:
        c = self.constant(v)
        return int(c) if c is not None and np.isfinite(c) and c == np.rint(c.real) and abs(c) <= LARGEST else None

    def root(self, v: Value) -> tuple[Any, Callable[[], Value]] | None:
        """If v is a root, moved at most: what makes it equal to others, and its square."""
        n = self.defs.get(v)
        if n is None:
            return None
        if n.op.name in ROOTS and n.out.type.dtype[0] == "f":
            return self.key(v), lambda: ROOTS[n.op.name](n)
        if _moves(n) and n.out.type.dtype[0] == "f":
            inner = self.root(n.inputs[0])
            return None if inner is None else (self.key(v), _moved(n, inner[1]))
        return None

    def exponential(self, v: Value) -> Callable[[], Value] | None:
        """exp(v), if v is a logarithm, or a sum with one, moved at most."""
        n = self.defs.get(v)
        if n is None:
            return None
        if n.op.name == "log":
            return lambda: n.inputs[0]
        if _moves(n) or n.op.name == "sum" and all(n.inputs[0].type.shape[k] == 1 for k in n.attrs["axes"]):
            inner = self.exponential(n.inputs[0])
            return None if inner is None else _moved(n, inner)
        if n.op.name == "add":
            for a, m in (n.inputs, n.inputs[::-1]):
                inner = self.exponential(a)
                if inner is not None:
                    return lambda inner=inner, m=m: _grown(inner(), m)  # type: ignore[misc]
        return None

    def monomial(self, v: Value, times: int, into: list[tuple[Value | None, int]]) -> bool:
        """Add the factors of v**times, None for -1; False if there are too many."""
        n = self.defs.get(v)
        name = n.op.name if n is not None else ""
        if len(into) > LARGEST or abs(times) > LARGEST:
            return False
        if n is not None and name in ("mul", "div"):
            right = times if name == "mul" else -times
            return self.monomial(n.inputs[0], times, into) and self.monomial(n.inputs[1], right, into)
        if n is not None and name == "neg":
            into.append((None, times))
            return self.monomial(n.inputs[0], times, into)
        power = self.exponent(n.inputs[1]) if n is not None and name == "pow" else None
        if n is not None and power is not None and power > 0:
            return self.monomial(n.inputs[0], times * power, into)
        into.append((v, times))
        return True


def _grown(s: Value, m: Value) -> Value:
    """s * exp(m), in halves: the exponential may be too large where s is small."""
    half = ew.exp(0.5 * m)
    return s * half * half


def _moved(n: Node, make: Callable[[], Value]) -> Callable[[], Value]:
    """What n does to its operand, of another one."""
    return lambda: n.op(make(), *n.inputs[1:], **n.attrs)


def _moves(n: Node) -> bool:
    return n.op.moves or n.op.name == "cast"


def _keeps(cast: Node) -> bool:
    """Is the number the same, but for rounding, after the cast?"""
    source, target = cast.inputs[0].type.dtype, cast.out.type.dtype
    return target[0] == "f" and source[0] in "fiub" or target == "i64" and source[0] == "i"


def _interesting(graph: Graph) -> bool:
    names = {*ROOTS, "exp", "erfc", "eigh", "eigvalsh", "svd", "svdvals"}
    return any(n.op.name in names or any(map(_interesting, n.regions)) for n in graph.nodes)


def _product(w: _Wholes, n: Node) -> Value | None:
    """The monomial with the squares of its roots in place of pairs of them; None if there is no pair."""
    factors: list[tuple[Value | None, int]] = []
    if not any(v in w.rooted for v in n.inputs) or not w.monomial(n.out, 1, factors):
        return None
    powers: dict[Any, tuple[Value | None, int]] = {}
    for v, k in factors:
        key = None if v is None else w.key(v)
        first, sofar = powers.get(key, (v, 0))
        powers[key] = first, sofar + k
    squares = {v: found[1] for v, k in powers.values() if k >= 2 and v is not None and (found := w.root(v)) is not None}
    if not squares:
        return None
    above: list[Value] = []
    below: list[Value] = []
    for v, k in powers.values():
        if v is None:
            above += [full(-1.0, n.out)] * (k % 2)
        elif v in squares:
            above += [squares[v]()] * (k // 2) + [v] * (k % 2)
        else:
            (above if k > 0 else below).extend([v] * abs(k))
    return reduce(ew.div, below, reduce(ew.mul, above))


def _quotient(w: _Wholes, n: Node) -> Value | None:
    """x / exp(u) as x * exp(-u), whose slope in u does not pass through the reciprocal of a small number; 1 / (1 + exp(u)) as the
    logistic function, whose slope is finite where exp(u) is not."""
    x, y = n.inputs
    d = w.defs.get(y)
    if d is not None and d.op.name == "exp":
        return x * ew.exp(-d.inputs[0])
    if d is not None and d.op.name == "add" and w.constant(x) == 1 and n.out.type.dtype[0] == "f":
        for one, e in (d.inputs, d.inputs[::-1]):
            grown = w.defs.get(e)
            if w.constant(one) == 1 and grown is not None and grown.op.name == "exp":
                return logistic_given(n.out, e, grown.inputs[0])
    return _product(w, n)


def _exponential(w: _Wholes, n: Node) -> Value | None:
    """exp(log s) as s, and exp(log s + m) as s * exp(m)."""
    make = w.exponential(n.inputs[0])
    return make() if make is not None else None


def _logarithm(w: _Wholes, n: Node) -> Value | None:
    """The logarithm (to any base) of erfc(u), with slopes that stay finite where erfc(u) is 0."""
    whole = _tail_of(w, n.inputs[0])
    base = {"log": 1.0, "log2": math.log(2), "log10": math.log(10)}[n.op.name]
    return whole if whole is None or base == 1 else whole / base


def _tail_of(w: _Wholes, v: Value, depth: int = DEPTH) -> Value | None:
    """log(v), if v is erfc(u), times a number or chosen among others; else None."""
    n = w.defs.get(v)
    if n is None or depth == 0 or v.type.dtype[0] != "f":
        return None
    if n.op.name == "erfc":
        return log_erfc(n.inputs[0])
    if n.op.name == "select":
        sides = [_tail_of(w, x, depth - 1) for x in n.inputs[1:]]
        if any(s is not None for s in sides):
            return ew.select(n.inputs[0], *(ew.log(x) if s is None else s for s, x in zip(sides, n.inputs[1:])))
    if n.op.name == "mul":
        for c, x in (n.inputs, n.inputs[::-1]):
            factor = w.constant(c)
            if factor is not None and factor > 0 and (inner := _tail_of(w, x, depth - 1)) is not None:
                return inner + math.log(factor)
    return None


def _square_root(w: _Wholes, n: Node) -> Value | None:
    """The root of a square as an absolute value."""
    d = w.defs.get(n.inputs[0])
    if d is None or n.out.type.dtype[0] != "f":
        return None
    square = (
        d.op.name == "mul" and w.key(d.inputs[0]) == w.key(d.inputs[1]) or d.op.name == "pow" and w.exponent(d.inputs[1]) == 2
    )
    return abs(d.inputs[0]) if square else None


def _inner_product(w: _Wholes, n: Node) -> Value | None:
    """The inner product of an array of roots with itself: the sum of what they are roots of."""
    function = matrix_function_of(w.defs, n) or spectral_product_of(w.defs, n)
    if function is not None:
        return function
    x, y = n.inputs
    over = n.attrs["contract"]
    if x not in w.rooted or w.key(x) != w.key(y) or over[0] != over[1] or len(over[0]) != x.type.rank:
        return None
    found = w.root(x)
    return sum_(found[1](), axes=tuple(over[0])) if found is not None else None


_element = lambda w, n: spectral_element_of(w.defs, n)
_RULES: dict[str, Callable[[_Wholes, Node], Value | None]] = {
    "mul": _product, "pow": _product, "div": _quotient, "exp": _exponential, "dot": _inner_product, "sqrt": _square_root,
    "log": _logarithm, "log2": _logarithm, "log10": _logarithm, "sum": lambda w, n: spectral_sum_of(w.defs, n),
    "index": _element, "max": _element, "min": _element,
}  # fmt: skip
