"""Bounds of the integers that a loop carries from trip to trip."""

from __future__ import annotations

import math
from collections.abc import Iterator

from irad.core.affine import Interval, join
from irad.core.ir import Graph, Node, Value
from irad.ops.intervals import int_range
from irad.ops.regions import Loop, loop_of
from irad.passes.analyses.facts import DEPTH, Facts


def learn_carries(facts: Facts, node: Node) -> None:
    """Learn bounds of the integer carries of a `for` or `while`, for parameters and outputs. Called before its regions are entered."""
    loop = loop_of(node)
    if loop is None:
        return
    for k, (init, p, new) in enumerate(zip(loop.inits, loop.carries, loop.yields)):
        if not p.type.shape and p.type.dtype[0] in "iu":
            known = _stepped(facts, node, p, new, init) or _invariant(facts, node, p, new, init)
            if known is not None:
                facts.results.update((v, known) for v in (loop.outs[k], *loop.params(k)))


def regions(facts: Facts, node: Node) -> Iterator[Graph]:
    """The regions of a node one after another, while `facts` holds what is known inside; what then holds is `facts.after(node)`."""
    learn_carries(facts, node)
    for k, r in enumerate(node.regions):
        with facts.scope():
            facts.enter(node, k)
            yield r
            facts.leave(node, k)


def _stepped(facts: Facts, node: Node, p: Value, new: Value, init: Value) -> Interval | None:
    """Bounds of a carry that changes by a bounded step in each of a bounded number of trips, and never wraps around."""
    count = Loop(node).trips
    trips = facts.interval(count)[1] if count else math.inf
    with facts.scope():
        facts.enter(node, len(node.regions) - 1)
        step = change(facts, new, p, DEPTH)
    if step is None:
        return None
    (low, high), (lo, hi) = int_range(p.type.dtype), _advance(facts.interval(init), step, trips)
    if lo < low or hi > high:
        return None
    facts.slopes[p] = (init, step)
    return lo, hi


def _invariant(facts: Facts, node: Node, p: Value, new: Value, init: Value) -> Interval | None:
    """A bound that holds before the loop and that every trip preserves."""
    whole, (lo, hi) = int_range(p.type.dtype), facts.interval(init)
    counts = [(0, hi), (0, whole[1])] if lo > 0 else []
    for low, high in ((lo, hi), *counts[:1], (lo, whole[1]), *counts[1:], (whole[0], hi)):
        if (low, high) != whole and _preserved(facts, node, p, new, low, high):
            return low, high
    known = join((_after(facts, node, p, new, whole), (lo, hi)))  # whatever the carry is before a trip
    if known == whole:
        return None
    return (lo, known[1]) if _preserved(facts, node, p, new, lo, known[1]) else known


def _after(facts: Facts, node: Node, p: Value, new: Value, before: Interval) -> Interval:
    """Bounds of a carry after a trip, given those before it."""
    with facts.scope():
        facts.bound(p, before)
        facts.enter(node, len(node.regions) - 1)
        return facts.interval(new)


def _preserved(facts: Facts, node: Node, p: Value, new: Value, low: float, high: float) -> bool:
    a, b = _after(facts, node, p, new, (low, high))
    return low <= a and b <= high


def change(facts: Facts, v: Value, p: Value, depth: int) -> Interval | None:
    """Bounds of `v - p` up to wrap-around, if v is p plus something bounded."""
    v = facts.resolve(v)
    if v is p:
        return (0, 0)
    node = facts.node(v)
    if node is None or depth == 0:
        return None
    ins, k, name = node.inputs, facts.defs[v][1], node.op.name
    if name == "add":
        return _plus(facts, ins[0], ins[1], p, depth) or _plus(facts, ins[1], ins[0], p, depth)
    if name == "sub":
        step, (lo, hi) = change(facts, ins[0], p, depth - 1), facts.interval(ins[1])
        return None if step is None else (step[0] - hi, step[1] - lo)
    if node.op.chooses:
        ways = ins[1:] if name == "select" else [r.results[k] for r in node.regions]
        steps = [change(facts, x, p, depth - 1) for x in ways]
        return None if None in steps else join(s for s in steps if s is not None)
    if name == "for":
        first, body = change(facts, ins[1 + k], p, depth - 1), node.regions[0]
        step = change(facts, body.results[k], body.params[1 + k], depth - 1)
        return None if first is None or step is None else _advance(first, step, facts.interval(ins[0])[1])
    return None


def _plus(facts: Facts, x: Value, y: Value, p: Value, depth: int) -> Interval | None:
    step, (lo, hi) = change(facts, x, p, depth - 1), facts.interval(y)
    return None if step is None else (step[0] + lo, step[1] + hi)


def _advance(start: Interval, step: Interval, trips: float) -> Interval:
    """`start` plus up to `trips` steps."""
    times = lambda s: 0 if s == 0 else s * max(0, trips)
    return start[0] + times(min(0, step[0])), start[1] + times(max(0, step[1]))
