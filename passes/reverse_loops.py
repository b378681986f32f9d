"""Reverse rules of loops: the backward of a `for` or `while` is a `for` over its trips, last to first. See irad.passes.reverse.

Loops that would fill too much memory with their tape are run in blocks instead, see irad.passes.checkpointed.
"""

from __future__ import annotations

from collections.abc import Sequence

from irad.ir import Builder, Graph, Node, Value, captures
from irad.ops.constant import scalar
from irad.ops.control import for_
from irad.ops.elementwise import add, mul, sub
from irad.passes.checkpointed import blocks_of, may_be_cut
from irad.passes.final_values import UNKNOWN
from irad.passes.frames import Adjoint, Augment
from irad.passes.reverse import Backward, Cotangents, LoopBackward, Reverse
from irad.passes.reverse_rules import grown, rule
from irad.types import I64, TAPE


def _backward(ad: Reverse, node: Node, end: Value, trips: int) -> LoopBackward:
    """Of `for` and `while` alike. `end`: the number of the trip after the last one, in the backward; `trips`: about how many."""
    body = node.regions[-1]
    carry = body.params[len(body.params) - len(node.outputs) :]
    live = [j for j, p in enumerate(carry) if ad.active(p)]
    wrt = [v for v in captures(body) if ad.active(v)]
    s = Backward(ad, body)
    k = Value(I64, "k")
    s.params.append(k)
    _give_counters(s, node, end, k)
    ct: list[Value | None] = [s.param(p, "ct") if j in set(live) else None for j, p in enumerate(carry)]
    acc = {ad.need(v): Value(ad.need(v).type, "acc") for v in wrt}
    ad.around.append(trips)
    s.sweep(ct, acc)
    ad.around.pop()
    wrt = [v for v in wrt if s.adj.get(ad.need(v)) is not acc[ad.need(v)]]
    s.params += [acc[ad.need(v)] for v in wrt]
    s.close([s.full(v) for v in (*(carry[j] for j in live), *wrt)])
    return LoopBackward(s, node, live, wrt, end)


def _give_counters(s: Backward, node: Node, end: Value, k: Value) -> None:
    """The index of a loop, and what changes by a constant in each trip, need not be saved."""
    ad, body, size = s.ad, node.regions[-1], len(node.outputs)
    steps = [(p, init, ad.final_values.step(p)) for p, init in zip(body.params[-size:], node.inputs[-size:]) if p.type == I64]
    if node.op is for_:
        s.give(body.params[0], lambda: sub(sub(end, scalar(1, "i64")), k))
    for p, init, step in steps:
        if step is not None:
            make = lambda: add(ad.need(init), mul(sub(sub(end, scalar(1, "i64")), k), scalar(step, "i64")))  # noqa: B023
            s.give(p, make)


def _sweep_loop(ad: Reverse, back: LoopBackward, trips: Value, cts: Cotangents, adj: Adjoint) -> None:
    """Emit the backward in one piece."""
    region = ad.diff.substitute(back.side.region(None, back.taped), {back.end: trips} if back.end is not trips else {})
    back.leave(ad, ad.emit(for_, trips, *back.enter(ad, cts, adj), regions=[region], taped=back.taped), adj)


@rule("for")
def _for(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    trips, frame = ad.need(node.inputs[0]), ad.frames[-1]
    expected = ad.final_values.expected(node.inputs[0])
    cuttable = may_be_cut(ad, node)
    back = _backward(ad, node, Value(I64, "end") if cuttable else trips, expected)
    blocks = blocks_of(ad, back) if cuttable else None
    if blocks is not None:
        frame.nested += blocks.kept(expected)
        blocks.sweep(cts, adj)
        frame.augment[node] = blocks.augment
        return
    frame.nested += expected * back.side.frame.saved
    _sweep_loop(ad, back, trips, cts, adj)
    if back.taped:
        frame.augment[node] = lambda tape: _taped_for(node, back, tape)


def _taped_for(node: Node, back: LoopBackward, tape: Value) -> tuple[list[Node], Value]:
    """The forward loop, with a tape to carry."""
    after = Value(TAPE, "tape")
    return [grown(node, (*node.inputs, tape), (*node.outputs, after), [back.taped_body()])], after


@rule("while")
def _while(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    """As `for`, with the trips counted on the way: a new result of the forward, saved like any other."""
    frame, count = ad.frames[-1], Value(I64, "trips")
    ad.frame_of[count] = frame
    trips = ad.need(count)
    cuttable = may_be_cut(ad, node)
    back = _backward(ad, node, Value(I64, "end") if cuttable else trips, UNKNOWN)
    blocks = blocks_of(ad, back, count) if cuttable else None
    if blocks is not None:
        frame.nested += blocks.kept(UNKNOWN)
        blocks.sweep(cts, adj)
        frame.augment[node] = blocks.augment
        return
    frame.nested += UNKNOWN * back.side.frame.saved
    _sweep_loop(ad, back, trips, cts, adj)
    frame.augment[node] = _counting(node, count, back)


def _counting(node: Node, count: Value, back: LoopBackward) -> Augment:
    taped = back.taped

    def extra(v: Value, tape: Value) -> Sequence[Value]:
        return (v, tape) if taped else (v,)

    def augment(tape: Value) -> tuple[list[Node], Value]:
        cond, n, after = node.regions[0], Value(I64, "trips"), Value(TAPE, "tape") if taped else tape
        body = back.taped_body()
        with Builder() as b0:
            none = scalar(0, "i64")
        with Builder() as b:
            one_more = add(n, scalar(1, "i64"))
        *params, t = body.params
        *results, end = body.results
        test = Graph((*cond.params, *extra(Value(I64, "trips"), Value(TAPE, "tape"))), cond.nodes, cond.results)
        trip = Graph((*params, *extra(n, t)), (*body.nodes, *b.nodes), (*results, *extra(one_more, end)))
        ins, outs = (*node.inputs, *extra(none, tape)), (*node.outputs, *extra(count, after))
        return [*b0.nodes, grown(node, ins, outs, (test, trip))], after

    return augment
