"""Reverse rules of control ops, calls and the tape: a control op's forward is the same op around the augmented regions,
its backward the same op around the backward regions. See irad.passes.reverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irad.errors import UnsupportedError
from irad.ir import Builder, Graph, Node, Value, captured, captures, copy, types, walk
from irad.ops.constant import const, scalar
from irad.ops.control import call, for_, if_, pop, push, zero
from irad.ops.elementwise import add, mul, sub
from irad.passes.activity import carries
from irad.passes.final_values import UNKNOWN
from irad.passes.frames import Adjoint, Augment, Frame
from irad.passes.residuals import bytes_of
from irad.passes.reverse import RULES, Backward, Cotangents, Reverse, Rule, joint
from irad.passes.schedule_loops import BLOCK, cut, worthwhile
from irad.records import dataclass
from irad.types import I64, TAPE


def _rule(name: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        RULES[name] = rule
        return rule

    return register


def _grown(node: Node, inputs: Sequence[Value], outputs: Sequence[Value], regions: Sequence[Graph]) -> Node:
    """The forward control op with more operands, results and larger regions."""
    return Node(node.op, tuple(inputs), tuple(outputs), node.attrs, tuple(regions), node.loc, node.deriv)


@_rule("if")
def _if(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    frame = ad.frames[-1]
    wrt = [v for v in captured(node) if ad.active(v)]
    accs = {s: adj[s] for s in map(ad.need, wrt) if s in adj}  # read by both branches, written by one
    sides = [Backward(ad, r) for r in node.regions]
    for s in sides:
        s.sweep(cts, accs)
    out = [v for v in wrt if any(s.adj.get(ad.need(v)) is not accs.get(ad.need(v)) for s in sides)]
    for s in sides:
        s.close([s.full(v) for v in out])
    escapes = _Escapes(ad, frame, sides)
    taped = any(s.frame.taped for s in sides)
    frame.nested += max(s.frame.saved for s in sides)
    regions = [ad.diff.substitute(s.region(frame.tape, taped), env) for s, env in zip(sides, escapes.standins)]
    adj.update(zip(map(ad.need, out), ad.emit(if_, ad.need(node.inputs[0]), regions=regions, taped=taped)))
    if taped or escapes.slots:

        def augment(tape: Value) -> tuple[list[Node], Value]:
            regions = []
            for k, (s, r) in enumerate(zip(sides, node.regions)):
                nodes, end = s.frame.forward(tape)
                fill, values = escapes.values(k)
                regions.append(Graph((), (*nodes, *fill), (*r.results, *values, *([end] if taped else []))))
            after = Value(TAPE, "tape") if taped else tape
            outs = (*node.outputs, *escapes.slots, *([after] if taped else []))
            return [_grown(node, node.inputs, outs, regions)], after

        frame.augment[node] = augment


class _Escapes:
    """A few scalars that branches save leave them as further results of the `if`, rather than by the tape.

    They are then values of the surrounding region, which saves or recomputes them with its own: the record of a loop
    keeps one layout whichever branch a trip takes. Bounded, so that nested branches stay of linear size.
    """

    LIMIT = 4

    def __init__(self, ad: Reverse, frame: Frame, sides: Sequence[Backward]):
        self.slots: list[Value] = []  # new values of the surrounding region; both branches may use one
        self.used: list[dict[Value, Value]] = [{} for _ in sides]  # slot -> forward value of that branch
        for s, used in zip(sides, self.used):
            values = [v for _, vs in s.frame.records for v in vs]
            if len(values) <= self.LIMIT and not any(v.type.shape for v in values):
                s.frame.records.clear()
                for v in values:
                    used[self._slot(v, used)] = v
        for slot in self.slots:
            ad.frame_of[slot] = frame
        self.standins = [{ad.need(v): ad.need(slot) for slot, v in used.items()} for used in self.used]

    def _slot(self, v: Value, used: dict[Value, Value]) -> Value:
        for slot in self.slots:
            if slot not in used and slot.type == v.type:
                return slot
        self.slots.append(Value(v.type, v.hint))
        return self.slots[-1]

    def values(self, side: int) -> tuple[list[Node], list[Value]]:
        """What branch number `side` yields for the slots, and the nodes that make it.

        Anything will do where the branch has nothing to save, but for 0, which `weaken` would take for a masked zero.
        """
        with Builder() as b:
            values = [self.used[side].get(slot) or const(value=1, type=slot.type) for slot in self.slots]
        return b.nodes, values


@dataclass
class _LoopBackward:
    """The backward of a loop's body: what it carries are cotangents of the `live` carries, then those of captures `wrt`."""

    side: Backward
    live: list[int]
    wrt: list[Value]

    @property
    def taped(self) -> bool:
        return self.side.frame.taped


def _backward(ad: Reverse, node: Node, trips: Value) -> _LoopBackward:
    """Of `for` and `while` alike, once the trip count is known."""
    body = node.regions[-1]
    carry = body.params[len(body.params) - len(node.outputs) :]
    live = [j for j, p in enumerate(carry) if ad.active(p)]
    wrt = [v for v in captures(body) if ad.active(v)]
    s = Backward(ad, body)
    k = Value(I64, "k")
    s.params.append(k)
    _give_counters(s, node, trips, k)
    ct: list[Value | None] = [s.param(p, "ct") if j in set(live) else None for j, p in enumerate(carry)]
    acc = {ad.need(v): Value(ad.need(v).type, "acc") for v in wrt}
    s.sweep(ct, acc)
    wrt = [v for v in wrt if s.adj.get(ad.need(v)) is not acc[ad.need(v)]]
    s.params += [acc[ad.need(v)] for v in wrt]
    s.close([s.full(v) for v in (*(carry[j] for j in live), *wrt)])
    return _LoopBackward(s, live, wrt)


def _give_counters(s: Backward, node: Node, trips: Value, k: Value) -> None:
    """The index of a loop, and what changes by a constant in each trip, need not be saved."""
    ad, body, size = s.ad, node.regions[-1], len(node.outputs)
    steps = [(p, init, ad.final_values.step(p)) for p, init in zip(body.params[-size:], node.inputs[-size:]) if p.type == I64]
    if node.op.name == "for":
        s.give(body.params[0], lambda: sub(sub(trips, scalar(1, "i64")), k))
    for p, init, step in steps:
        if step is not None:
            make = lambda: add(ad.need(init), mul(sub(sub(trips, scalar(1, "i64")), k), scalar(step, "i64")))  # noqa: B023
            s.give(p, make)


def _sweep_loop(ad: Reverse, node: Node, trips: Value, back: _LoopBackward, cts: Cotangents, adj: Adjoint) -> None:
    """Emit the backward as a `for` over the trips, last to first."""
    s, live, wrt, init = back.side, back.live, back.wrt, node.inputs[len(node.inputs) - len(node.outputs) :]
    ins = [cts[j] or zero(ad.need(node.outputs[j]).type) for j in live]
    accs = [adj.take(ad.need(v)) for v in wrt]
    new = ad.emit(for_, trips, *ins, *accs, regions=[s.region(None, back.taped)], taped=back.taped)
    adj.update(zip(map(ad.need, wrt), new[len(live) :]))
    for j, d in zip(live, new):
        if node.outputs[j].type == TAPE:
            adj[ad.need(init[j])] = d
        else:
            adj.add(ad.need(init[j]), d)


@_rule("for")
def _for(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    trips, frame = ad.need(node.inputs[0]), ad.frames[-1]
    back = _backward(ad, node, trips)
    expected = ad.final_values.expected(node.inputs[0])
    again = frame.direct and not ad.once  # what a checkpoint runs again is short enough, or the user's choice
    if (
        not again
        and not any(map(_asks_host, walk(node.regions[0])))
        and worthwhile(expected, back.side.frame.saved, sum(map(bytes_of, node.outputs)))
    ):
        return _cut(ad, node, cts, adj)
    frame.nested += expected * back.side.frame.saved
    _sweep_loop(ad, node, trips, back, cts, adj)
    if back.taped:
        frame.augment[node] = lambda tape: _taped_for(node, back, tape)


def _cut(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    """The loop in checkpointed blocks instead."""
    known, frame = ad.final_values.known(node.inputs[0]), ad.frames[-1]
    before, outer = cut(node, known)
    ad.frame_of.update((v, frame) for n in before for v in n.outputs)
    ad.alike(node, outer)
    count = ad.need(outer.inputs[0])
    back = _backward(ad, outer, count)
    frame.nested += ad.final_values.expected(node.inputs[0]) // BLOCK * back.side.frame.saved
    _sweep_loop(ad, outer, count, back, cts, adj)

    def augment(tape: Value) -> tuple[list[Node], Value]:
        nodes, after = _taped_for(outer, back, tape) if back.taped else ([outer], tape)
        return [*before, *nodes], after

    frame.augment[node] = augment


def _taped_for(node: Node, back: _LoopBackward, tape: Value) -> tuple[list[Node], Value]:
    """The forward loop, with a tape to carry."""
    (body,), t = node.regions, Value(TAPE, "tape")
    nodes, end = back.side.frame.forward(t)
    after = Value(TAPE, "tape")
    region = Graph((*body.params, t), nodes, (*body.results, end))
    return [_grown(node, (*node.inputs, tape), (*node.outputs, after), [region])], after


@_rule("while")
def _while(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    """As `for`, with the trips counted on the way: a new result of the forward, saved like any other."""
    frame, count = ad.frames[-1], Value(I64, "trips")
    ad.frame_of[count] = frame
    back = _backward(ad, node, ad.need(count))
    frame.nested += UNKNOWN * back.side.frame.saved
    _sweep_loop(ad, node, ad.need(count), back, cts, adj)
    frame.augment[node] = _counting(node, count, back.side, back.taped)


def _counting(node: Node, count: Value, s: Backward, taped: bool) -> Augment:
    def augment(tape: Value) -> tuple[list[Node], Value]:
        cond, body = node.regions
        n, t, after = Value(I64, "trips"), Value(TAPE, "tape"), Value(TAPE, "tape") if taped else tape
        nodes, end = s.frame.forward(t)
        with Builder() as b0:
            none = scalar(0, "i64")
        with Builder() as b:
            one_more = add(n, scalar(1, "i64"))

        def extra(v: Value, tape: Value) -> tuple[Value, ...]:
            return (v, tape) if taped else (v,)

        test = Graph((*cond.params, *extra(Value(I64, "trips"), Value(TAPE, "tape"))), cond.nodes, cond.results)
        trip = Graph((*body.params, *extra(n, t)), (*nodes, *b.nodes), (*body.results, *extra(one_more, end)))
        ins, outs = (*node.inputs, *extra(none, tape)), (*node.outputs, *extra(count, after))
        return [*b0.nodes, _grown(node, ins, outs, (test, trip))], after

    return augment


@_rule("checkpoint")
def _checkpoint(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    """Nothing is saved but what the region captures: the backward runs it again, without its effects, on its own tape."""
    reads = captured(node)
    wrt = [ad.need(v) for v in reads if ad.active(v)]
    again = _without_effects(copy(node.regions[0], {v: ad.need(v) for v in reads}))
    accs = {v: adj.pop(v) for v in wrt if v in adj}
    adj.update(zip(wrt, joint(ad.diff, again, wrt, cts, accs, once=False)))


def _asks_host(n: Node) -> bool:
    """Is it a call of Python code that must run once, and has a result?"""
    return n.op.effects == "io" and bool(n.outputs)


def _without_effects(graph: Graph) -> Graph:
    """The graph without checks and output: the forward has run them.

    Raises UnsupportedError for a callback whose result is needed again.
    """
    nodes = []
    for n in graph.nodes:
        if _asks_host(n):
            raise UnsupportedError(
                "a callback inside irad.checkpoint would be called again by the backward; if it may be, say "
                "irad.callback(..., pure=True), else call it outside of the checkpoint and pass its result in",
                n.loc,
            )
        if n.op.effects == "none":
            regions = tuple(map(_without_effects, n.regions))
            same = all(a is b for a, b in zip(regions, n.regions))
            nodes.append(n if same else Node(n.op, n.inputs, n.outputs, n.attrs, regions, n.loc, n.deriv))
    return graph.replace(nodes=nodes)


@_rule("call")
def _call(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    """The pair depends on which cotangents and array accumulators are there: a symbolic zero made dense at each level
    of a recursion would be quadratic. A scalar starts from zero inside and is added here."""
    wrt = [v for v in node.inputs if carries(v)]
    taken: dict[int, Value] = {}
    for k, v in enumerate(node.inputs):  # given twice: the second starts from zero
        s = ad.need(v)
        if v.type.shape and s in adj and carries(v):
            taken[k] = adj.pop(s)
    there = tuple(k for k, (v, ct) in enumerate(zip(node.outputs, cts)) if ct is not None and carries(v))
    fwd, bwd, extents = ad.diff.function(node.attrs["callee"], there, tuple(taken))
    ins = [ad.need((node.inputs if is_param else node.outputs)[k]) for is_param, k in extents]
    ins += [ct for k in there if (ct := cts[k]) is not None]
    out_types = (*(ad.need(v).type for v in wrt), TAPE)
    new = ad.emit(call, *ins, *taken.values(), callee=bwd, types=out_types, taped=True)
    for v, d in zip(wrt, new):
        if v.type == TAPE:
            adj[ad.need(v)] = d
        else:
            adj.add(ad.need(v), d)

    def augment(tape: Value) -> tuple[list[Node], Value]:
        attrs = {"callee": fwd, "types": (*node.attrs["types"], TAPE)}
        t = Value(TAPE, "tape")
        return [Node(call, (*node.inputs, tape), (*node.outputs, t), attrs, (), node.loc, node.deriv)], t

    ad.frames[-1].augment[node] = augment


@_rule("push")
def _push(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    tape, *entries = map(ad.need, node.inputs)
    live = ad.live_entries(node)
    (ct,) = cts
    assert ct is not None
    if live:
        ct, *ds = pop(ct, site=ad.diff.adjoint_site(node.attrs["site"]), types=types(entries[k] for k in live))
        for k, d in zip(live, ds):
            adj.add(entries[k], d)
    adj[tape] = ct


@_rule("pop")
def _pop(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    live = ad.live_entries(node)
    ct = cts[0]
    assert ct is not None
    if live:
        ds = [cts[1 + k] or zero(ad.need(node.outputs[1 + k]).type) for k in live]
        ct = push(ct, *ds, site=ad.diff.adjoint_site(node.attrs["site"]))
    adj[ad.need(node.inputs[0])] = ct


@_rule("tape")
def _tape(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    """An empty tape has no past: its cotangent is an empty tape again, and is dropped."""
