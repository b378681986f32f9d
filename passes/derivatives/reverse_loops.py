"""Reverse rules of loops: the backward of a `for` or `while` is a `for` over its trips, last to first. See irad.passes.derivatives.reverse.

Loops that would fill too much memory with their tape are run in blocks instead, see irad.passes.derivatives.checkpointed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from irad.core.ir import Builder, Graph, Node, Value, captures, types, values, walk
from irad.core.lazy_dataclass import dataclass
from irad.core.once import COMPILER
from irad.core.types import I64, TAPE
from irad.ops.constant import scalar
from irad.ops.control import for_, while_, zero
from irad.ops.regions import Loop
from irad.passes.analyses.final_values import UNKNOWN
from irad.passes.derivatives.checkpointing import BLOCK, Blocks, blocks_of_known, blocks_of_unknown
from irad.passes.derivatives.region_pairs import Adjoint, Augment
from irad.passes.derivatives.reverse import Backward, Cotangents, Reverse
from irad.passes.derivatives.reverse_rules import asks_host
from irad.passes.derivatives.save_or_recompute import bytes_of

if TYPE_CHECKING:
    from irad.passes.derivatives.checkpointed import Checkpointed


@dataclass
class LoopBackward:
    """The backward of a loop's body: what it carries are cotangents of the `live` carries, then those of captures `wrt`.

    `end`: in the backward, the number of the trip after the last one that it sweeps.
    """

    side: Backward
    node: Node
    live: list[int]
    wrt: list[Value]
    end: Value

    @property
    def taped(self) -> bool:
        return self.side.frame.taped

    def enter(self, ad: Reverse, cts: Cotangents, adj: Adjoint) -> list[Value]:
        """What the backward loop starts from."""
        ins = [cts[j] or zero(ad.need(self.node.outputs[j]).type) for j in self.live]
        return [*ins, *(adj.take(ad.need(v)) for v in self.wrt)]

    def leave(self, ad: Reverse, new: Sequence[Value], adj: Adjoint) -> None:
        """Take over what the backward loop has made."""
        inits = Loop(self.node).inits
        adj.update(zip(map(ad.need, self.wrt), new[len(self.live) :]))
        for j, d in zip(self.live, new):
            if self.node.outputs[j].type == TAPE:
                adj[ad.need(inits[j])] = d
            else:
                adj.add(ad.need(inits[j]), d)

    def taped_body(self) -> Graph:
        """The forward's body, with a tape as its last parameter and result; it ends with the pushes."""
        body, t = self.node.regions[-1], Value(TAPE, "tape")
        nodes, end = self.side.frame.forward(t)
        return Graph((*body.params, t), nodes, (*body.results, end))


def _backward(ad: Reverse, node: Node, end: Value, trips: int) -> LoopBackward:
    """The backward of a `for` or `while`. `end`: the number of the trip after the last one, in the backward; `trips`: about how
    many there are."""
    body, carry = node.regions[-1], Loop(node).carries
    live = [j for j, p in enumerate(carry) if ad.active(p)]
    wrt = [v for v in captures(body) if ad.active(v)]
    s = Backward(ad, body)
    s.frame.trips = trips
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
    ad, loop = s.ad, Loop(node)
    steps = [(p, init, ad.final_values.step(p)) for p, init in zip(loop.carries, loop.inits) if p.type == I64]
    if loop.index:
        s.give(loop.index, lambda: end - 1 - k)
    for p, init, step in steps:
        if step is not None:
            make = lambda: ad.need(init) + (end - 1 - k) * step  # noqa: B023
            s.give(p, make)


def for_loop(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    back = _swept(ad, node, ad.need(node.inputs[0]), ad.final_values.expected(node.inputs[0]), None, cts, adj)
    if back is not None and back.taped:
        ad.frames[-1].augment[node] = lambda tape: _taped_for(node, back, tape)


def _swept(
    ad: Reverse, node: Node, trips: Value, expected: int, count: Value | None, cts: Cotangents, adj: Adjoint
) -> LoopBackward | None:
    """Emit the backward, for so many trips, `expected` about. None if it is in blocks, which say what the forward is then.

    `count`: of a `while`, the forward value that its trips will be.
    """
    frame, cuttable = ad.frames[-1], may_be_cut(ad, node)
    back = _backward(ad, node, Value(I64, "end") if cuttable else trips, expected)
    blocks = blocks_of(ad, back, count) if cuttable else None
    if blocks is not None:
        frame.nested += blocks.kept(expected)
        blocks.sweep(cts, adj)
        frame.augment[node] = blocks.augment
        return None
    frame.nested += expected * back.side.frame.saved
    region = ad.diff.substitute(back.side.region(None, back.taped), {back.end: trips} if back.end is not trips else {})
    back.leave(ad, ad.emit(for_, trips, *back.enter(ad, cts, adj), regions=[region], taped=back.taped), adj)
    return back


def _taped_for(node: Node, back: LoopBackward, tape: Value) -> tuple[list[Node], Value]:
    """The forward loop, with a tape to carry."""
    after = Value(TAPE, "tape")
    return [node.replace(inputs=(*node.inputs, tape), outputs=(*node.outputs, after), regions=[back.taped_body()])], after


def while_loop(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    """A `while`, like a `for` whose trips are counted on the way: the count is a new result of the forward, saved like any other."""
    frame, count = ad.frames[-1], Value(I64, "trips")
    ad.frame_of[count] = frame
    back = _swept(ad, node, ad.need(count), UNKNOWN, count, cts, adj)
    if back is not None:
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
            one_more = n + 1
        *params, t = body.params
        *results, end = body.results
        test = Graph((*cond.params, *extra(Value(I64, "trips"), Value(TAPE, "tape"))), cond.nodes, cond.results)
        trip = Graph((*params, *extra(n, t)), (*body.nodes, *b.nodes), (*results, *extra(one_more, end)))
        ins, outs = (*node.inputs, *extra(none, tape)), (*node.outputs, *extra(count, after))
        return [*b0.nodes, node.replace(inputs=ins, outputs=outs, regions=(test, trip))], after

    return augment


# ---- in blocks ---------------------------------------------------------------------------------------------------


def may_be_cut(ad: Reverse, node: Node) -> bool:
    """May the loop run again? Not what a checkpoint runs again: that is short enough, or the user's choice."""
    again = ad.frames[-1].direct and not ad.once
    once = (
        any(asks_host(m) for r in node.regions for m in walk(r))
        or node.op is while_
        and any(m.op.effects == "io" for m in walk(node.regions[0]))
    )
    return not again and TAPE not in types(node.outputs) and not once


def blocks_of(ad: Reverse, back: LoopBackward, count: Value | None = None) -> Checkpointed | None:
    """The loop in blocks, if that is better. `count`: of a `while`, the forward value that its trips will be.

    Imports what few programs need.
    """
    saved, choose = back.side.frame.saved, _choice(ad, back.node)
    if not saved or choose(saved, 0) is None:
        return None
    with COMPILER:
        from irad.passes.derivatives.checkpointed import Checkpointed  # few programs need it, and it is built on this module
    new = Checkpointed(ad, back, count)
    if _lengths_by_trip(back.node.regions[-1]):
        return None
    blocks = choose(saved, sum(map(bytes_of, new.state)))
    if blocks is None:
        return None
    new.blocks = blocks
    if ad.diff.asked.notes is not None:
        loc = back.node.loc or next((n.loc for n in back.node.regions[-1].nodes if n.loc), None)
        ad.diff.asked.notes.add("tape", f"loop in blocks: {blocks.text()}", loc, once=True, blocks=blocks)
    return new


def _lengths_by_trip(body: Graph) -> bool:
    """Are there arrays whose extents each trip computes? What bounds them is known of the loop's own index, not of a block's."""
    inside = set(values(body))
    return any(s in inside for v in inside for s in v.type.symbols)


def _choice(ad: Reverse, node: Node) -> Callable[[int, int], Blocks | None]:
    """(bytes a trip saves, bytes of a checkpoint) -> blocks. Of nested loops that only the run counts, the outermost long one is cut."""
    budget, facts, n = ad.diff.asked.budget, ad.final_values, node.inputs[0]
    if node.op is for_ and facts.bounded(n):
        return lambda saved, carried: blocks_of_known(facts.expected(n), saved, carried, budget, facts.known(n) is not None)
    if all(trips <= 2 * BLOCK for trips in ad.around):
        return lambda saved, carried: blocks_of_unknown(saved, carried, budget)
    if node.op is for_:
        return lambda saved, carried: blocks_of_known(UNKNOWN, saved, carried, budget, False)
    return lambda saved, carried: None
