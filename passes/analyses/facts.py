"""What is known of integers at a place in a graph: intervals, linear inequalities and the values of conditions.

A scope holds what is known inside one region; what is known outside holds too. Linear facts `e <= 0` are over i64
scalars, in the affine normal form of `irad.core.types`; sums and products enter a form only where they cannot wrap around.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from irad.core.affine import LINEAR, WHOLE, Interval, bounds, coefficient, join
from irad.core.ir import Graph, Node, Value, walk
from irad.core.lazy_dataclass import dataclass, field
from irad.core.types import I64, Dim, Extent, affine, form
from irad.ops.core import OPS
from irad.ops.intervals import HIGHEST, LOWEST, int_range
from irad.ops.loop import groups
from irad.ops.regions import loop_of
from irad.passes.rewrite import Env, lookup, splat_of

LONGEST = 2**62  # no extent is larger
DEPTH, STEPS = 12, 100  # definitions followed; inequalities tried for one proof
MOST = 32  # elements of an array that are looked at one by one
LEVEL = 24  # intervals nested in one question: the analysis ends, however long the chains of definitions are
AGAIN = 6  # the same where bounds are known already, and something was learnt since that may narrow them

_COMPARE = {"lt": (0, 1, 1), "le": (0, 1, 0), "gt": (1, 0, 1), "ge": (1, 0, 0)}  # a, b, c: true if a - b + c <= 0


@dataclass
class _Scope:
    bounds: dict[Value, Interval] = field(default_factory=dict)  # asserted
    memo: dict[Value, tuple[int, Interval]] = field(default_factory=dict)  # derived, and the age at which
    age: int = 0  # how often something was learnt
    flags: dict[Value, bool] = field(default_factory=dict)
    linear: dict[tuple[Value, bool], list[Extent]] = field(default_factory=dict)  # e <= 0, by value and sign of its factor
    learnt: set[Extent] = field(default_factory=set)  # all of these
    unproved: dict[Extent, int] = field(default_factory=dict)  # forms for which `e <= 0` was not found, and the age at which


class Facts:
    """Knowledge about one function, at the place that the pass has reached in it."""

    def __init__(self, function: Graph):
        self.env: Env = {}  # values that the pass exchanged
        self.alias: dict[Value, Value] = {}  # parameters of a `while` condition: what they are at this place
        self.defs = {v: (n, k) for n in walk(function) for k, v in enumerate(n.outputs)}
        self.scopes = [_Scope()]
        self.level, self.choosing = 0, False
        self.results: dict[Value, Interval] = {}  # bounds of the carries and outputs of the region ops being passed
        self.slopes: dict[Value, tuple[Value, Interval]] = {}  # carries that start there and change so in each trip

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A region: what is learnt inside is forgotten after it."""
        self.scopes.append(_Scope())
        try:
            yield
        finally:
            self.scopes.pop()

    def resolve(self, v: Value) -> Value:
        v = lookup(self.env, v)
        while v in self.alias:
            v = lookup(self.env, self.alias[v])
        return v

    def node(self, v: Value) -> Node | None:
        return self.defs[v][0] if v in self.defs else None

    # ---- intervals ----

    def interval(self, v: Value) -> Interval:
        """Bounds of all elements of an integer or bool; floats have none."""
        v, scope = self.resolve(v), self.scopes[-1]
        age, known = scope.memo.get(v, (-1, WHOLE))
        if age == scope.age:
            return known
        if self.level >= (AGAIN if any(v in s.memo for s in self.scopes) else LEVEL):
            return self.meet(v, _whole(v))
        self.level += 1
        known = self.meet(v, self.derived(v))
        self.level -= 1
        scope.memo[v] = scope.age, known
        return known

    def meet(self, v: Value, known: Interval) -> Interval:
        """The interval narrowed by what the scopes know: what was derived before something was learnt still holds."""
        lo, hi = known
        for s in self.scopes:
            for a, b in (s.bounds.get(v, WHOLE), s.memo.get(v, (0, WHOLE))[1]):
                lo, hi = max(lo, a), min(hi, b)
        return lo, hi

    def derived(self, v: Value) -> Interval:
        """The interval of v from its definition alone."""
        whole, node = _whole(v), self.node(v)
        if whole == WHOLE or node is None:
            return whole
        if node.op.name == "const":
            a = np.asarray(node.attrs["value"], v.type.numpy)
            return (int(a.min()), int(a.max())) if a.size else (0, 0)
        if node.op.name == "if":
            k = self.defs[v][1]
            return join(self.interval(r.results[k]) for r in node.regions)
        if node.op.name == "select":
            return self.chosen(node)
        if node.op.name == "update" and (elements := self.elements(node)):
            return join(map(self.interval, elements))
        lo, hi = self.exact(node)
        return (lo, hi) if whole[0] <= lo and hi <= whole[1] else whole

    def exact(self, node: Node) -> Interval:
        """The result as if it could not wrap around."""
        if node.op.intervals is None:
            return WHOLE
        given = [self.interval(v) for v in node.inputs]
        if any(lo > hi for lo, hi in given):  # nothing gets here
            return WHOLE
        lo, hi = node.op.intervals(*given, **node.attrs)
        return (lo, hi) if lo <= hi else WHOLE  # not for NaN

    def elements(self, node: Node | None) -> list[Value]:
        """The elements of a small array, each of which is stored by itself; none if that is not seen of all."""
        found: dict[Any, Value] = {}
        t = node.out.type if node is not None else None
        if t is None or not t.static or not 0 < t.size <= MOST:
            return []
        while node is not None and len(found) < t.size:
            if node.op.name == "update" and len(node.inputs) == 2 and all(isinstance(s, int) for s in node.attrs["spec"]):
                found.setdefault(node.attrs["spec"], node.inputs[1])
            elif node.op.name != "copy":
                return []
            node = self.node(self.resolve(node.inputs[0]))
        return list(found.values()) if len(found) == t.size else []

    def chosen(self, select: Node) -> Interval:
        """Each branch of a scalar `select`, under its condition (unless that is being done for another one)."""
        cond, *branches = select.inputs
        known = self.decide(cond)
        if known is not None:
            return self.interval(branches[0 if known else 1])
        everywhere = join([self.interval(b) for b in branches])  # choices within are not looked at one by one below
        if cond.type.shape or self.choosing:
            return everywhere
        out = []
        self.choosing = True
        for truth, b in zip((True, False), branches):
            with self.scope():
                self.assume(cond, truth)
                out.append(self.interval(b))
        self.choosing = False
        return join(out)

    # ---- linear forms ----

    def linear(self, v: Value, depth: int = DEPTH) -> Dim:
        """An i64 scalar in affine normal form; sums that might wrap around stay opaque."""
        v = self.resolve(v)
        node = self.node(v) if depth and v.type == I64 else None
        if node is not None and node.op.name in LINEAR:
            lo, hi = self.exact(node)
            node = node if LOWEST <= lo and hi <= HIGHEST else None
        return form(v, node, lambda x: self.linear(x, depth - 1))

    def bounds(self, e: Dim) -> Interval:
        """Bounds of a linear form."""
        return bounds(e, self.interval)

    def negative(self, e: Dim, steps: list[int] | None = None, depth: int = 4) -> bool:
        """Is `e <= 0` sure? Known inequalities are subtracted, each of which removes a value of `e`."""
        if self.bounds(e)[1] <= 0:
            return True
        steps = [STEPS] if steps is None else steps
        if isinstance(e, int) or depth == 0:
            return False
        for v, c in e.terms:
            for s in reversed(self.scopes):
                for fact in s.linear.get((v, c > 0), ()):
                    k, rest = divmod(c, coefficient(fact, v))
                    if rest == 0 and steps[0] > 0:
                        steps[0] -= 1
                        if self.negative(e - fact * k, steps, depth - 1):
                            return True
        return any(self.either(e, v, c, steps, depth) for v, c in e.terms)

    def either(self, e: Extent, v: Value, c: int, steps: list[int], depth: int) -> bool:
        """Is `e <= 0` sure for both operands of a maximum in it (of a minimum that is taken away)?"""
        node = self.node(v)
        if node is None or node.op.extreme * c <= 0 or v.type != I64 or steps[0] <= 0:
            return False
        steps[0] -= 1
        return all(self.negative(e + (self.linear(x) - affine(0, {v: 1})) * c, steps, depth - 1) for x in node.inputs)

    def at_most(self, a: Value, b: Value, c: int = 0) -> bool:
        """Is `a <= b + c` sure, for all elements?"""
        if self.interval(a)[1] <= self.interval(b)[0] + c:
            return True
        return a.type == b.type == I64 and self._proved(self.linear(a) - self.linear(b) - c)

    def _proved(self, e: Dim) -> bool:
        """Is `e <= 0` sure? It is not tried again before something is learnt."""
        scope = self.scopes[-1]
        if isinstance(e, int) or scope.unproved.get(e) == scope.age:
            return isinstance(e, int) and e <= 0
        if self.negative(e):
            return True
        scope.unproved[e] = scope.age
        return False

    # ---- conditions ----

    def decide(self, v: Value, depth: int = DEPTH) -> bool | None:
        """The value of a bool (of all elements of an array), if it is known."""
        v = self.resolve(v)
        for s in self.scopes:
            if v in s.flags:
                return s.flags[v]
        node = self.node(v)
        if node is None or v.type.dtype != "bool" or depth == 0:
            return None
        name, ins = node.op.name, node.inputs
        if name == "const":
            splat = splat_of(node)
            return None if splat is None else bool(splat)
        if name in _COMPARE and ins[0].type.dtype[0] in "iu":
            a, b, c = _COMPARE[name]
            return self.compare(ins[a], ins[b], c)
        if name in ("eq", "ne") and ins[0].type.dtype[0] in "iu":
            apart = self.at_most(ins[0], ins[1], -1) or self.at_most(ins[1], ins[0], -1)
            same = not apart and self.at_most(ins[0], ins[1]) and self.at_most(ins[1], ins[0])
            return (name == "ne") if apart else (name == "eq") if same else None
        return self.logic(name, ins, depth - 1)

    def compare(self, a: Value, b: Value, c: int) -> bool | None:
        """Is `a + c <= b`, c being 0 or 1?"""
        return True if self.at_most(a, b, -c) else False if self.at_most(b, a, c - 1) else None

    def logic(self, name: str, ins: tuple[Value, ...], depth: int) -> bool | None:
        if name == "logical_not":
            x = self.decide(ins[0], depth)
            return None if x is None else not x
        if name in ("logical_and", "logical_or"):
            short = name == "logical_or"  # the value that decides
            known = [self.decide(x, depth) for x in ins]
            return short if short in known else None if None in known else not short
        return None

    def assume(self, v: Value, truth: bool, depth: int = DEPTH) -> None:
        """Note that the bool scalar has this value from here on in this scope."""
        v = self.resolve(v)
        scope, node = self.scopes[-1], self.node(v)
        scope.flags[v] = truth
        scope.age += 1
        if node is None or v.type.shape or depth == 0:
            return
        name, ins = node.op.name, node.inputs
        if name == "logical_not":
            self.assume(ins[0], not truth, depth - 1)
        elif node.op.chooses and not ins[0].type.shape:
            self.took(ins[0], self.ways(v), truth, depth - 1)
        elif name == ("logical_and" if truth else "logical_or"):
            for x in ins:
                self.assume(x, truth, depth - 1)
        elif name in _COMPARE and ins[0].type == I64:
            a, b, c = _COMPARE[name]
            e = self.linear(ins[a]) - self.linear(ins[b]) + c
            self.learn(e if truth else 1 - e)
        elif name == ("eq" if truth else "ne") and ins[0].type == I64:
            e = self.linear(ins[0]) - self.linear(ins[1])
            self.learn(e)
            self.learn(-e)

    def checked_first(self, graph: Graph) -> None:
        """What checks at the beginning of a function say, before there is any array but its arguments."""
        for n in graph.nodes:
            if any(v.type.shape for v in n.outputs) or n.regions:
                return
            if n.op.name == "raise_if":
                self.assume(n.inputs[0], False)

    def ways(self, v: Value) -> list[Value]:
        """The two values that a result of an `if` or a `select` is one of."""
        node, k = self.defs[v]
        return [r.results[k] for r in node.regions] if node.regions else list(node.inputs[1:])

    def took(self, cond: Value, ways: list[Value], truth: bool, depth: int) -> None:
        """One of two bools has this value: if the other one cannot have it, the condition is known, and what made the one.

        So `x and y` with a `y` that only runs where x holds, which is an `if`, tells both.
        """
        may = [w for w in (0, 1) if self.decide(ways[w], depth) in (None, truth)]
        if len(may) == 1:
            self.assume(cond, may[0] == 0, depth)
            self.assume(ways[may[0]], truth, depth)

    def learn(self, e: Dim) -> None:
        """Note that `e <= 0` from here on."""
        if isinstance(e, int) or any(e in s.learnt for s in self.scopes):
            return
        scope = self.scopes[-1]
        scope.age += 1
        scope.learnt.add(e)
        for v, c in e.terms:
            scope.linear.setdefault((v, c > 0), []).append(e)
            low = self.bounds(e - affine(0, {v: c}))[0]  # c * v <= -low
            if abs(low) < math.inf:
                limit = int(-low) // c if c > 0 else -(int(-low) // -c)
                self.bound(v, (-math.inf, limit) if c > 0 else (limit, math.inf))

    def bound(self, v: Value, known: Interval) -> None:
        """Note that all elements are in the interval from here on."""
        scope, v = self.scopes[-1], self.resolve(v)
        lo, hi = scope.bounds.get(v, WHOLE)
        scope.bounds[v] = max(lo, known[0]), min(hi, known[1])
        scope.age += 1
        self.operand(v)

    def operand(self, v: Value) -> None:
        """Where x is, if it is known of `x + c`, `x - c` or `c - x`, which may wrap around elsewhere, where they are."""
        node = self.node(v)
        if node is None or not node.op.adds or v.type != I64:
            return
        lo, hi = self.meet(v, WHOLE)
        for x, other in (node.inputs, node.inputs[::-1]):
            c, same = self.interval(other)
            if c != same or self.interval(x)[0] == self.interval(x)[1]:
                continue
            ends = (lo - c, hi - c) if node.op.adds > 0 else (lo + c, hi + c) if x is node.inputs[0] else (c - hi, c - lo)
            if LOWEST <= ends[0] and ends[1] <= HIGHEST:
                self.bound(x, ends)

    def passed(self, node: Node) -> None:
        """The node has been run: work out its intervals now, from those of its operands, rather than by a long way back."""
        self.extents(node.outputs)
        for v in node.outputs:
            if v.type.dtype[0] in "iu":
                self.interval(v)
        if node.op.extreme and node.out.type == I64:
            for x in node.inputs:
                self.learn((self.linear(x) - affine(0, {node.out: 1})) * node.op.extreme)
        elif node.op.name == "remainder" and node.out.type == I64 and self.interval(node.inputs[1])[0] > 0:
            self.learn(affine(1, {node.out: 1}) - self.linear(node.inputs[1]))

    def extents(self, values: Iterable[Value]) -> None:
        """No extent of an array is negative."""
        for v in values:
            for d in v.type.shape:
                if not isinstance(d, int):
                    d = d.rename(self.resolve)
                    self.learn(-d)
                    self.learn(d - LONGEST)

    # ---- regions ----

    def enter(self, node: Node, k: int) -> None:
        """What holds inside region k, in a scope of its own."""
        region = node.regions[k]
        for p in region.params:
            if p in self.results:
                self.bound(p, self.results[p])
        if node.op.name == "if":
            self.assume(node.inputs[0], k == 0)
        elif node.op.name == "loop":
            for p, d in zip(region.params, node.attrs["extents"]):
                self.index(p, d if isinstance(d, int) else d.rename(self.resolve))
        elif (loop := loop_of(node)) and loop.body is region:
            if loop.index and loop.trips:
                self.index(loop.index, self.linear(loop.trips))
                self.runs(loop.trips)
                for p in loop.carries:
                    self.slope(p, affine(0, {loop.index: 1}), p)
            for cond in loop.conds:
                self.alias.update(zip(cond.params, loop.carries))
                self.assume(cond.results[0], True)

    def index(self, i: Value, trips: Dim) -> None:
        """`0 <= i < trips`."""
        self.bound(i, (0, math.inf))
        self.learn(affine(1, {i: 1}) - trips)

    def runs(self, trips: Value) -> None:
        """Where a loop runs, max(n, 0) trips are n."""
        node = self.node(self.resolve(trips))
        if node is not None and node.op.extreme > 0 and trips.type == I64:
            for x, other in (node.inputs, node.inputs[::-1]):
                if self.interval(other)[1] <= 0:
                    self.learn(self.linear(trips) - self.linear(x))

    def slope(self, carry: Value, trips: Dim, now: Value) -> None:
        """What a carry that changes by a bounded step can be after so many trips: `now`."""
        if carry in self.slopes and now.type == I64:
            init, (lo, hi) = self.slopes[carry]
            start, here = self.linear(init), affine(0, {now: 1})
            self.learn(here - start - trips * int(hi))
            self.learn(start + trips * int(lo) - here)

    def leave(self, node: Node, k: int) -> None:
        """Remember what the branches of an `if` yield, while their conditions hold."""
        if node.op.name == "if":
            for out, v in zip(node.outputs, node.regions[k].results):
                self.results[out] = join([self.results[out], self.interval(v)] if k else [self.interval(v)])
        elif node.op.name == "loop":
            self._folded(node)

    def _folded(self, node: Node) -> None:
        """Remember what a fused loop makes of whole numbers that it stores, chooses between or adds up."""
        k = 0
        for o, (init, *_), (value, *_), _ in groups(node.attrs["outs"], node.inputs, node.regions[0].results):
            out, k = node.outputs[k], k + o.width
            (least, lo), (most, hi) = zip(self.interval(init), self.interval(value))
            if o.kind == "store" or OPS[o.kind].extreme:
                self.results[out] = min(least, lo), max(most, hi)
            elif o.kind == "add" and out.type.dtype[0] in "iu":
                trips = math.prod(
                    self.bounds(d)[1] for j, d in enumerate(node.attrs["extents"]) if o.extra or not any(r[j] for r in o.map.rows)
                )
                if trips == math.inf:
                    continue
                whole = _whole(out)
                sums = least + min(lo * trips, 0), most + max(hi * trips, 0)
                if whole[0] <= sums[0] and sums[1] <= whole[1]:
                    self.results[out] = sums

    def after(self, node: Node) -> None:
        """What holds once a region op is done."""
        for out in node.outputs:
            if out in self.results:
                self.bound(out, self.results[out])
        if (loop := loop_of(node)) is None:
            return
        if loop.trips and self.interval(loop.trips)[0] >= 0:
            for p, out in zip(loop.carries, loop.outs):
                self.slope(p, self.linear(loop.trips), out)
        for cond in loop.conds:
            self.alias.update(zip(cond.params, loop.outs))
            self.assume(cond.results[0], False)


def _whole(v: Value) -> Interval:
    return int_range(v.type.dtype) if v.type.dtype[0] in "iub" else WHOLE
