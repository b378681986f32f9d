"""What is known of integers while a graph is built: bounds from the op rows' `intervals`, and affine normal forms.

A builder's scope remembers the bounds registered in it (`bound`: loop indices, values that a check has passed), so a
check, a wrap-around or a clip that is proven unnecessary is never emitted. Nothing here changes the graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np

from irad.core.affine import WHOLE, Interval, bounds, terms
from irad.core.ir import Builder, Node, Value, current
from irad.core.lazy_dataclass import dataclass, field
from irad.core.types import DTYPES, Dim, Extent, form, is_complex, is_float

_DEPTH = 64  # definitions followed: enough for index arithmetic, and no recursion trouble on long chains


@dataclass
class _Scope:
    """Knowledge of one builder: definitions seen so far, bounds, intervals worked out."""

    defs: dict[Value, Node] = field(default_factory=dict)
    seen: int = 0
    bounds: dict[Value, Interval] = field(default_factory=dict)
    ends: dict[Value, list[tuple[int, Dim]]] = field(default_factory=dict)  # see `ordered`
    last: Node | None = None
    memo: dict[Value, Interval] = field(default_factory=dict)  # a bound registered later may tighten: these stay true

    def update(self, nodes: list[Node]) -> None:
        """Take in the nodes that are new; if some were taken back, what was learnt from them (checks!) is void."""
        if self.seen and (self.seen > len(nodes) or nodes[self.seen - 1] is not self.last):
            self.defs, self.bounds, self.ends, self.memo, self.seen = {}, {}, {}, {}, 0
        for node in nodes[self.seen :]:
            self.defs.update((v, node) for v in node.outputs)
        self.seen = len(nodes)
        self.last = nodes[-1] if nodes else None


_scopes: WeakKeyDictionary[Builder, _Scope] = WeakKeyDictionary()


def _chain() -> list[_Scope]:
    """Scopes of the current builder and the builders around it, innermost first, brought up to date.

    Those around get no nodes while another is current, so they are looked at once.
    """
    b = current()
    if not b.scopes:
        around: Builder | None = b
        while around is not None:
            b.scopes.append(scope := _scopes.setdefault(around, _Scope()))
            scope.update(around.nodes)
            around = around.outer
    b.scopes[0].update(b.nodes)
    return b.scopes


def int_range(dtype: str) -> tuple[int, int]:
    """Smallest and largest value of an integer dtype; (0, 1) for bool."""
    width = DTYPES[dtype].itemsize * 8
    if dtype == "bool":
        return 0, 1
    return (0, 2**width - 1) if dtype[0] == "u" else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


def bitwise(sign: Callable[[bool, bool], bool]) -> Callable[[Interval, Interval], Interval]:
    """Bounds of an operation bit by bit, which `sign` gives for one bit; a negative number has as many ones before it as one likes.

    A conjunction with a number that is not negative is not above it.
    """

    def of(a: Interval, b: Interval) -> Interval:
        if math.inf in (abs(x) for x in (*a, *b)):
            return WHOLE
        signs = {sign(x, y) for x in {a[0] < 0, a[1] < 0} for y in {b[0] < 0, b[1] < 0}}
        width = max(int(x if x >= 0 else ~int(x)).bit_length() for x in (*a, *b))
        lo, hi = (-(1 << width) if True in signs else 0), (-1 if signs == {True} else (1 << width) - 1)
        if not sign(True, False) and not sign(False, True):  # a conjunction
            hi = min([hi, *(int(x[1]) for x in (a, b) if x[0] >= 0)])
        return lo, hi

    return of


LOWEST, HIGHEST = int_range("i64")
DOUBLES = 2**53  # ints up to which all are doubles


def bound(value: Value, lo: float, hi: float) -> None:
    """Register that every element of `value` is in [lo, hi] from here on in the current builder and those inside it."""
    scope = _chain()[0]
    a, b = interval(value)
    scope.bounds[value] = scope.memo[value] = (max(a, lo), min(b, hi))


def ordered(value: Value, sign: int, end: Dim) -> None:
    """Register that `sign * value` is at most `end` from here on in the current builder and those inside it; sign: 1 or -1."""
    if not isinstance(end, int):
        _chain()[0].ends.setdefault(value, []).append((sign, end))


def learn(of: Builder) -> None:
    """Register what is known in a builder whose nodes have become part of the current one."""
    scope = _scopes.get(of)
    if scope is not None:
        for value, (lo, hi) in scope.bounds.items():
            bound(value, lo, hi)
        for value, ends in scope.ends.items():
            _chain()[0].ends.setdefault(value, []).extend(ends)


def definition(value: Value) -> Node | None:
    """The node that defines a value in the graphs being built; None for parameters."""
    for scope in _chain():
        if value in scope.defs:
            return scope.defs[value]
    return None


def definitions() -> Callable[[Value], Node | None]:
    """`definition` for many values, while no node is added."""
    chain = _chain()
    return lambda v: next((s.defs[v] for s in chain if v in s.defs), None)


def interval(value: Value) -> Interval:
    """Bounds of all elements of a value. Floats: (-inf, inf); integers of unknown origin: the range of the dtype."""
    return _interval(value, _chain(), _DEPTH)


def _interval(v: Value, chain: list[_Scope], depth: int) -> Interval:
    memo = chain[0].memo
    if v not in memo:
        lo, hi = _derived(v, chain, depth)
        for scope in chain:
            a, b = scope.bounds.get(v, WHOLE)
            lo, hi = max(lo, a), min(hi, b)
        memo[v] = (lo, hi)
    return memo[v]


def _derived(v: Value, chain: list[_Scope], depth: int) -> Interval:
    """Bounds from the definition alone. Float arithmetic rounds, so only ops that pick or pass on operands are followed there."""
    dtype = v.type.dtype
    lo, hi = whole = WHOLE if v.type.differentiable or dtype == "tape" else int_range(dtype)
    node = next((s.defs[v] for s in chain if v in s.defs), None)
    if node is None or depth == 0 or (node.op.intervals is None and node.op.name not in ("sum", "cumsum")) or is_complex(dtype):
        return whole
    if is_float(dtype) and not (node.op.exact or node.op.moves):
        return whole
    if node.op.name == "const":
        return _const(node, whole)
    given = [_interval(x, chain, depth - 1) for x in node.inputs]
    if any(least > most for least, most in given):  # nothing gets here
        return whole
    a, b = node.op.intervals(*given, **node.attrs) if node.op.intervals is not None else _of_sum(node, given[0], chain, depth)
    if node.op.name == "cast" and not is_float(dtype) and node.inputs[0].type.differentiable:
        a, b = min(a, 0), max(b, 0)  # NaN becomes 0
    return whole if node.op.wraps and (a < lo or b > hi) else (max(a, lo), min(b, hi))


def _of_sum(node: Node, each: Interval, chain: list[_Scope], depth: int) -> Interval:
    """Bounds of a sum of as many numbers as the axes have; of running sums, of one number up to all of them."""
    shape, running = node.inputs[0].type.shape, node.op.name == "cumsum"
    axes = (node.attrs["axis"],) if running else node.attrs["axes"]
    counts = [bounds(shape[k], lambda x: _interval(x, chain, depth - 1)) for k in axes]
    least, most = math.prod(max(lo, 0) for lo, _ in counts), math.prod(hi for _, hi in counts)
    if most == math.inf:
        return WHOLE
    if running:
        least = 0 if node.attrs["exclusive"] else min(1, most)
    return min(each[0] * least, each[0] * most), max(each[1] * least, each[1] * most)


def _const(node: Node, whole: Interval) -> Interval:
    """Exact bounds of a constant (the op row's are floats)."""
    a = np.asarray(node.attrs["value"], node.attrs["type"].numpy)
    if not a.size:
        return 0, 0
    lo, hi = a.min().item(), a.max().item()
    return (lo, hi) if lo == lo and hi == hi else whole


def dim_interval(d: Dim) -> Interval:
    """Bounds of an extent, or of any affine integer: those of its values, and what is known of two together (`i < n`)."""
    lo, hi = bounds(d, interval)
    if isinstance(d, int) or len(d.terms) < 2:
        return lo, hi
    scopes = [s for s in _chain() if s.ends]
    return (max(lo, _least(d, scopes)), min(hi, -_least(-d, scopes))) if scopes else (lo, hi)


def _least(d: Dim, scopes: list[_Scope]) -> float:
    """A lower bound: values give way, one after the other, to what bounds them."""
    found, gone = -math.inf, set()
    while True:
        step = next(
            (
                (value, c, end)
                for value, c in terms(d)
                if value not in gone
                for scope in scopes
                for sign, end in scope.ends.get(value, ())
                if sign * c < 0
            ),
            None,
        )
        if step is None:
            return found
        value, c, end = step  # c * value is at least -abs(c) * end
        gone.add(value)
        d = d - Extent(0, ((value, c),)) - end * abs(c)
        found = max(found, bounds(d, interval)[0])


def affine_of(value: Value) -> Dim:
    """An i64 scalar in affine normal form over the values it is computed from by +, -, and * with constants."""
    return _affine(value, _chain(), _DEPTH)


def _affine(v: Value, chain: list[_Scope], depth: int) -> Dim:
    node = next((s.defs[v] for s in chain if v in s.defs), None) if depth else None
    return form(v, node, lambda x: _affine(x, chain, depth - 1))
