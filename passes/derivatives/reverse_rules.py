"""Reverse rules of branches, calls and the tape; those of loops are in irad.passes.derivatives.reverse_loops.

The forward of a control op is the same op around the augmented regions, its backward the same op around the backward regions. See
irad.passes.derivatives.reverse."""

from __future__ import annotations

from collections.abc import Sequence

from irad.core.ir import Builder, Graph, Node, Value, captured, copy, map_regions, types
from irad.core.types import TAPE
from irad.errors import UnsupportedError
from irad.ops.constant import const
from irad.ops.control import call, if_, pop, push, zero
from irad.passes.analyses.activity import carries
from irad.passes.derivatives.region_pairs import Adjoint, RegionPair
from irad.passes.derivatives.reverse import Backward, Cotangents, Reverse, joint


def branches(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
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
            return [node.replace(outputs=outs, regions=regions)], after

        frame.augment[node] = augment


class _Escapes:
    """A few scalars that branches save leave them as further results of the `if`, rather than by the tape.

    They are then values of the surrounding region, which saves or recomputes them with its own: the record of a loop
    keeps one layout whichever branch a trip takes. Bounded, so that nested branches stay of linear size.
    """

    LIMIT = 4

    def __init__(self, ad: Reverse, frame: RegionPair, sides: Sequence[Backward]):
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


def run_again(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    """Nothing is saved but what the region captures: the backward runs it again, without its effects, on its own tape."""
    reads = captured(node)
    wrt = [ad.need(v) for v in reads if ad.active(v)]
    again = without_effects(copy(node.regions[0], {v: ad.need(v) for v in reads}))
    accs = {v: adj.pop(v) for v in wrt if v in adj}
    adj.update(zip(wrt, joint(ad.diff, again, wrt, cts, accs, once=False)))


def asks_host(n: Node) -> bool:
    """Is it a call of Python code that must run once, and has a result?"""
    return n.op.effects == "io" and bool(n.outputs)


def without_effects(graph: Graph) -> Graph:
    """The graph without checks and output: the forward has run them.

    Raises UnsupportedError for a callback whose result is needed again.
    """
    nodes = []
    for n in graph.nodes:
        if asks_host(n):
            raise UnsupportedError(
                "a callback inside irad.checkpoint would be called again by the backward; if it may be, say "
                "irad.callback(..., pure=True), else call it outside of the checkpoint and pass its result in",
                n.loc,
            )
        if n.op.effects == "none":
            nodes.append(map_regions(n, without_effects))
    return graph.replace(nodes=nodes)


def called(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
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
        return [node.replace(inputs=(*node.inputs, tape), outputs=(*node.outputs, t), attrs=attrs)], t

    ad.frames[-1].augment[node] = augment


def pushed(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    tape, *entries = map(ad.need, node.inputs)
    live = ad.live_entries(node)
    (ct,) = cts
    assert ct is not None
    if live:
        ct, *ds = pop(ct, site=ad.diff.adjoint_site(node.attrs["site"]), types=types(entries[k] for k in live))
        for k, d in zip(live, ds):
            adj.add(entries[k], d)
    adj[tape] = ct


def popped(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    live = ad.live_entries(node)
    ct = cts[0]
    assert ct is not None
    if live:
        ds = [cts[1 + k] or zero(ad.need(node.outputs[1 + k]).type) for k in live]
        ct = push(ct, *ds, site=ad.diff.adjoint_site(node.attrs["site"]))
    adj[ad.need(node.inputs[0])] = ct


def empty_tape(ad: Reverse, node: Node, cts: Cotangents, adj: Adjoint) -> None:
    """An empty tape has no past: its cotangent is an empty tape again, and is dropped."""
