"""Loops in blocks, for reverse mode: what a checkpointed loop becomes. When, and with which sizes: irad.passes.derivatives.checkpointing.

The forward tapes the first block (if one is taped), then runs the others, each of which pushes what it starts from:

    first trips, with a tape;  for each block: push(start, state), its trips

and the backward goes over the blocks, last to first:

    start, state = pop;  the block's trips again, with the tape of the first block;  sweep of the trips

So records of trips lie on the tape for one block at a time. Under a budget, a block that is longer than what may be taped is
divided first: state after state is pushed on the way to its last part.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from irad.core.ir import Builder, Graph, Node, Value, build, calls, captures, copy, emit, inline, types, uses
from irad.core.types import I64, TAPE, Type
from irad.ops.constant import scalar
from irad.ops.control import for_, if_, pop, push, while_
from irad.ops.elementwise import maximum, minimum
from irad.passes.clean.dce import dce
from irad.passes.derivatives.checkpointing import Blocks, number_of, part, size_of_known, size_of_next
from irad.passes.derivatives.region_pairs import Adjoint
from irad.passes.derivatives.reverse import Cotangents, Reverse
from irad.passes.derivatives.reverse_rules import without_effects

if TYPE_CHECKING:
    from irad.passes.derivatives.reverse_loops import LoopBackward


class Checkpointed:
    """One loop in blocks. `state`: what a checkpoint keeps; `blocks` is set once it is decided."""

    blocks: Blocks

    def __init__(self, ad: Reverse, back: LoopBackward, count: Value | None):
        self.ad, self.back, self.node, self.count = ad, back, back.node, count
        self.site, self.number = ad.diff.new_site(), Value(I64, "blocks")
        self.carry = types(self.node.outputs)
        if count is not None:
            ad.frame_of[self.number] = ad.frames[-1]
        again = self._again(back.taped_body(), [TAPE], [len(self.carry)])
        params, read = again.params[2:-1], uses(again)
        self.live = [k for k, p in enumerate(params) if p in read]  # the carries that a block must know
        self.state = [self.node.outputs[k] for k in self.live]
        self.again = again.replace(params=(*again.params[:2], *(params[k] for k in self.live), again.params[-1]))

    def kept(self, trips: int) -> int:
        """About how many bytes are on the tape after so many trips."""
        first = min(trips, self.blocks.first)
        return first * self.blocks.saved + -(-(trips - first) // self.blocks.size) * self.blocks.carried

    # ---- forward -----------------------------------------------------------------------------------------------

    def augment(self, tape: Value) -> tuple[list[Node], Value]:
        """The loop in blocks, in the forward, given the tape before it; the tape after it."""
        if self.blocks.alone:
            return [self.node], tape
        with Builder(self.node.loc, self.node.deriv) as b:
            op, inputs, regions = self._forward_for(tape) if self.count is None else self._forward_while(tape)
        after = Value(TAPE, "tape")
        counted = () if self.count is None else (self.number, self.count)
        outs = (*self.node.outputs, *counted, after)
        return [*b.nodes, self.node.replace(op=op, inputs=inputs, outputs=outs, attrs={}, regions=regions)], after

    def _forward_for(self, tape: Value) -> tuple[Any, list[Value], list[Graph]]:
        n, *state = self.node.inputs
        begin, size, number = self._sizes(n)
        if self.blocks.first:
            *state, tape = emit(for_, begin, *state, tape, regions=[self.back.taped_body()])

        def block(k: Value, *carried: Value) -> tuple[Value, ...]:
            *state, tape = carried
            start = begin + k * size
            tape = self._push(tape, start, state)
            return (*self._trips(self.node.regions[0], minimum(size, n - start), start, state), tape)

        return for_, [number, *state, tape], [build([I64, *self.carry, TAPE], block)]

    def _sizes(self, n: Value) -> tuple[Value, Value, Value]:
        """Emit (trips of the first block, of each other block, number of the others) for a `for` of n trips."""
        begin = minimum(maximum(n, 0), self.blocks.first)
        left = n - begin
        size = size_of_known(self.blocks, left)
        return begin, size, number_of(left, size)

    def _forward_while(self, tape: Value) -> tuple[Any, list[Value], list[Graph]]:
        cond, none = self.node.regions[0], scalar(0, "i64")
        first = self._while(self.back.taped_body(), scalar(self.blocks.first, "i64"), none, [*self.node.inputs, tape])
        *state, tape, c = first

        def block(*carried: Value) -> tuple[Value, ...]:
            *state, k, start, tape = carried
            tape = self._push(tape, start, state)
            *state, c = self._while(self.node.regions[1], start + size_of_next(self.blocks, k), start, state)
            return (*state, k + 1, c, tape)

        carry = [*self.carry, I64, I64, TAPE]
        return while_, [*state, none, c, tape], [build(carry, lambda *xs: inline(cond, *xs[:-3])), build(carry, block)]

    def _while(self, body: Graph, end: Value, c: Value, carried: Sequence[Value]) -> list[Value]:
        """Emit the `while` with another body, from trip c to `end` at most; what is carried then, and the number of trips done."""
        cond, size = self.node.regions[0], len(self.carry)

        def test(*xs: Value) -> Value:
            return (xs[-1] < end) & inline(cond, *xs[:size])[0]

        def trip(*xs: Value) -> tuple[Value, ...]:
            return (*inline(body, *xs[:-1]), xs[-1] + 1)

        carry = [*types(carried), I64]
        return list(emit(while_, *carried, c, regions=[build(carry, test), build(carry, trip)]))

    def _push(self, tape: Value, start: Value, state: Sequence[Value]) -> Value:
        return push(tape, start, *(state[k] for k in self.live), site=self.site)

    def _trips(self, body: Graph, count: Value, start: Value, carried: Sequence[Value]) -> list[Value]:
        """Emit so many trips of the loop from trip `start`, with a body as it is or the taped one."""
        counted = self.node.op is for_
        trip = lambda j, *xs: inline(body, *([start + j] if counted else []), *xs)
        return list(emit(for_, count, *carried, regions=[build([I64, *types(carried)], trip)]))

    # ---- backward ----------------------------------------------------------------------------------------------

    def _again(self, body: Graph, more: Sequence[Type], results: Sequence[int]) -> Graph:
        """(number of trips, first trip, state, more...) -> some of what the trips carry then: to be run again, so without effects."""

        def run(count: Value, start: Value, *carried: Value) -> list[Value]:
            new = self._trips(body, count, start, carried)
            return [new[k] for k in results]

        with Builder(self.node.loc, False):
            g = without_effects(build([I64, I64, *self.carry, *more], run, "again"))
        return g if calls(g) else dce({"again": g})["again"]

    def sweep(self, cts: Cotangents, adj: Adjoint) -> None:
        """Emit the backward, block after block, last to first."""
        ad, back, b = self.ad, self.back, self.blocks
        self.again = self._read(self.again)
        ins = back.enter(ad, cts, adj)
        if self.count is None:
            n = ad.need(self.node.inputs[0])
            (_, _, number), last = self._sizes(n), maximum(n, 0)
        else:
            number, last = ad.need(self.number), ad.need(self.count)
        sweep = self._trip_by_trip if b.alone else self._divided if b.slots is not None else self._in_one_piece
        new = sweep(number, last, ins)
        back.leave(ad, new[-len(ins) :] if ins else [], adj)

    def _in_one_piece(self, number: Value, last: Value, ins: Sequence[Value]) -> list[Value]:
        """Each block fits the tape."""

        def block(k: Value, end: Value, *carried: Value) -> tuple[Value, ...]:
            *ct, tape = carried
            again = lambda: self._popped(end, tape)
            if self.blocks.first:
                first = lambda: (scalar(0, "i64"), tape)
                start, tape = emit(if_, k < number, regions=[build([], again), build([], first)])
            else:
                start, tape = again()
            return (start, *self._swept(start, end, ct, tape))

        region = build([I64, self.back.end, *types(ins), TAPE], block)
        blocks = number + 1 if self.blocks.first else number
        return self.ad.emit(for_, blocks, last, *ins, regions=[region], taped=True)

    def _trip_by_trip(self, number: Value, last: Value, ins: Sequence[Value]) -> list[Value]:
        """Each trip is run again right before its backward; nothing waits on the tape."""

        def trip(k: Value, *carried: Value) -> tuple[Value, ...]:
            *ct, tape = carried
            end, one = last - k, scalar(1, "i64")
            (tape,) = inline(self.again, one, end - 1, tape)
            region = self.ad.diff.substitute(self.back.side.region(None, True), {self.back.end: end})
            return emit(for_, one, *ct, tape, regions=[region])

        region = build([I64, *types(ins), TAPE], trip)
        return self.ad.emit(for_, number, *ins, regions=[region], taped=True)

    def _popped(self, end: Value, tape: Value) -> tuple[Value, Value]:
        """Emit the taped trips of a block again: its first trip, the tape."""
        tape, start, *state = self._pop(tape)
        (tape,) = inline(self.again, end - start, start, *state, tape)
        return start, tape

    def _pop(self, tape: Value) -> tuple[Value, ...]:
        state = tuple(v.type.rename(self.ad.need) for v in self.state)
        return tuple(pop(tape, site=self.site, types=(I64, *state)))

    def _swept(self, start: Value, end: Value, ct: Sequence[Value], tape: Value) -> tuple[Value, ...]:
        return emit(for_, end - start, *ct, tape, regions=[self.back.side.region(None, True)])

    def _divided(self, number: Value, last: Value, ins: Sequence[Value]) -> list[Value]:
        """A block that is too long for the tape is divided: all but its last part wait as states on the tape."""

        def block(end: Value, held: Value, *carried: Value) -> tuple[Value, ...]:
            *ct, tape = carried
            again = lambda: self._parted(end, held, tape)
            first = lambda: (scalar(0, "i64"), scalar(0, "i64"), tape)
            test = held > 0
            start, held, tape = emit(if_, test, regions=[build([], again), build([], first)])
            new = self._swept(start, end, ct, tape)
            return (start, held, *new)

        carry = [I64, *types(ins), TAPE]
        go = build([I64, *carry], lambda end, *_: end > 0)
        return self.ad.emit(while_, last, number, *ins, regions=[go, build([self.back.end, *carry], block)], taped=True)

    def _parted(self, end: Value, held: Value, tape: Value) -> tuple[Value, ...]:
        """Emit: pop a block, run it but for its last part, which is taped; (its first trip, states held, tape)."""
        ahead = self._read(self._ahead)
        tape, start, *state = self._pop(tape)
        types_ = (I64, I64, *types(state), TAPE)

        def go(start: Value, *_: Value) -> Value:
            return end - start > self.blocks.size

        def step(start: Value, held: Value, *carried: Value) -> tuple[Value, ...]:
            *state, tape = carried
            tape = push(tape, start, *state, site=self.site)
            count = part(self.blocks, end - start, held)
            new = inline(ahead, count, start, *state)
            return (start + count, held + 1, *new, tape)

        regions = [build(types_, go), build(types_, step)]
        left = held - 1
        start, held, *state, tape = emit(while_, start, left, *state, tape, regions=regions)
        (tape,) = inline(self.again, end - start, start, *state, tape)
        return start, held, tape

    @cached_property
    def _ahead(self) -> Graph:
        """(number of trips, first trip, state) -> the state then."""
        g = self._again(self.node.regions[-1], [], self.live)
        return g.replace(params=(*g.params[:2], *(g.params[2 + k] for k in self.live)))

    def _read(self, graph: Graph) -> Graph:
        """A graph of forward values, as the backward reads them."""
        return copy(graph, {v: self.ad.need(v) for v in captures(graph)})
