"""When each array is live: half-open spans over positions of the program, and which values should share memory.

Node t defines its results at 2t+1. An operand that may be overwritten by the result (the destination of a loop, the source of
a copy) is last used at 2t+1, any other at 2t+2. What a loop body reads from outside lives until the loop ends.

Of the branches of an `if` one runs: what comes from before it is not live in the branches that stand between it and its use.
So each branch may store into one array in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from irad.core.affine import symbols
from irad.core.ir import Graph, Node, Value, captured, extents_in, reads
from irad.ops.loop import Out, groups, loop
from irad.ops.regions import Loop
from irad.passes.memory.copies import read_in_place


def _spans(born: int, dies: dict[tuple[tuple[int, int], ...], int]) -> list[tuple[int, int]]:
    """The spans from the definition to each last use, without the branches that do not run before that use, in order."""
    spans = [(born, born + 1)]
    for skipped, end in sorted(dies.items(), key=lambda d: d[1]):
        start = born
        for lo, hi in skipped:
            spans.append((start, lo))
            start = hi
        spans.append((start, end))
    merged: list[tuple[int, int]] = []
    for lo, hi in sorted(spans):
        if merged and lo <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(hi, merged[-1][1]))
        elif lo < hi:
            merged.append((lo, hi))
    return merged


def _outs(node: Node) -> list[tuple[Out, Sequence[Value], int]]:
    """The outs of a loop into arrays, and their results; as bits, which of the captured values they depend on."""
    (body,) = node.regions
    bits = {x: 1 << k for k, x in enumerate(captured(node))}
    _depend(body, bits)
    found = groups(node.attrs["outs"], node.outputs, body.results)
    return [(o, vs, _union(bits, (*values, *extra))) for o, vs, values, extra in found if vs[0].type.shape]


def _depend(body: Graph, bits: dict[Value, int]) -> None:
    """Note for what a loop's body computes which values, as bits, it depends on; an out of a loop in it does not depend on what only
    others do."""
    for n in body.nodes:
        if not (found := _union(bits, reads(n))):
            continue
        if n.op is loop:
            (inside,) = n.regions
            found = _union(bits, (*n.inputs, *symbols(*extents_in(n))))
            _depend(inside, bits)
            for _, vs, values, extra in groups(n.attrs["outs"], n.outputs, inside.results):
                bits.update(dict.fromkeys(vs, found | _union(bits, (*values, *extra))))
        else:
            bits.update(dict.fromkeys(n.outputs, found))


def _union(bits: dict[Value, int], values: Iterable[Value]) -> int:
    return reduce(or_, [bits.get(v, 0) for v in values], 0)


class Lives:
    """`spans[v]`: when array v is live. `same`: pairs that are one memory. `wanted`: pairs of a copy. `depth`: loop depth.

    `over`: an operand that a result may be written over, element by element, if it is last used at the position given.
    """

    def __init__(self, graph: Graph):
        self.spans: dict[Value, list[tuple[int, int]]] = {}
        self.same: list[tuple[Value, Value]] = []
        self.wanted: list[tuple[Value, Value]] = []
        self.over: list[tuple[Value, Value, int]] = []
        self.depth: dict[Value, int] = {}
        self.exchanged: list[tuple[Value, Value, int, tuple[Value, Value]]] = []  # buffers that swap: parameters, start, results
        self._empty: set[Value] = set()
        self._born: dict[Value, tuple[int, int]] = {}  # position, loop depth at the definition
        self._dies: dict[
            Value, dict[tuple[tuple[int, int], ...], int]
        ] = {}  # last use, by the branches that do not run before it
        self._skipped: list[tuple[int, int]] = []  # the branches before the one that is open, per open `if`
        self._loops: list[list[Value]] = []  # per open loop: values from outside that are read inside
        self.nodes: dict[int, Node] = {}  # by position
        self._t = 0
        self._define(graph.params)
        self._graph(graph)
        self._use(graph.results, 2 * self._t + 2)
        for v, (born, _) in self._born.items():
            self.spans[v] = _spans(born, self._dies.get(v, {}))
        for a, b, start, outs in self.exchanged:  # either memory may hold either array until both are dead
            end = max(self.spans[v][-1][1] for v in outs)
            self.spans[a].append((start, end))
            self.spans[b].append((start, end))

    def _define(self, values: Iterable[Value]) -> None:
        for v in values:
            if v.type.shape:
                self._born[v] = (2 * self._t + 1, len(self._loops))
                self.depth[v] = len(self._loops)

    def _use(self, values: Iterable[Value], at: int) -> None:
        for v in values:
            if v in self._empty and v not in self._born:
                self._born[v] = (2 * self._t, len(self._loops))
                self.depth[v] = len(self._loops)
            if v in self._born:
                born, depth = self._born[v]
                skipped = tuple([s for s in self._skipped if s[0] > born])
                dies = self._dies.setdefault(v, {})
                dies[skipped] = max(dies.get(skipped, 0), at)
                for loop in self._loops[depth:]:
                    loop.append(v)

    def _graph(self, graph: Graph) -> None:
        for node in graph.nodes:
            self._t += 1
            self.nodes[self._t] = node
            rule = getattr(self, "_empty_" if node.op.name == "empty" else f"_{node.op.name}", None)
            if rule is not None:
                rule(node)
            else:
                self._use(node.inputs, 2 * self._t + 2)
                self._define(node.outputs)

    def _copy(self, node: Node) -> None:
        self._use(node.inputs, 2 * self._t + 1)
        self._define(node.outputs)
        if node.outputs[0].type.shape:
            self.wanted.append((node.inputs[0], node.outputs[0]))

    def _reshape(self, node: Node) -> None:
        self._use(node.inputs, 2 * self._t + 2)
        self._define(node.outputs)
        if node.inputs[0].type.shape and node.outputs[0].type.shape:
            self.same.append((node.inputs[0], node.outputs[0]))

    def _update(self, node: Node) -> None:
        x, *rest = node.inputs
        self._use([x], 2 * self._t + 1)
        self._use(rest, 2 * self._t + 2)
        self._define(node.outputs)
        self.same.append((x, node.outputs[0]))

    _update_add = _update

    def _loop(self, node: Node) -> None:
        fresh = {v for d, v in zip(node.inputs, node.outputs) if d in self._empty}
        here = 2 * self._t + 2
        types, found = {v.type for v in fresh}, _outs(node) if fresh else []
        for k, x in enumerate(captured(node)):
            self._use([x], here)
            if x.type.shape and x.type.static and x.type in types:
                for every in (True, False):  # outs that do not read x may run in loops of their own
                    outs = [(o, vs) for o, vs, of in found if every or of >> k & 1]
                    if all([read_in_place(node, x, o) for o in {(o.map, o.extra): o for o, _ in outs}.values()]):
                        self.over += [(x, v, here) for _, vs in outs for v in vs if v in fresh and v.type == x.type]
                        break
        for d, v in zip(node.inputs, node.outputs):
            if d.type.shape:
                if d in self._empty:
                    self._define([d])
                self._use([d], 2 * self._t + 1)
                self._define([v])
                self.same.append((d, v))

    def _empty_(self, node: Node) -> None:
        """Memory that nothing has written yet: it is born with the loop that fills it, over an operand that dies there."""
        self._empty.update(node.outputs)

    def _if(self, node: Node) -> None:
        first = 2 * self._t + 2
        self._use(node.inputs, first)
        for r in node.regions:
            self._skipped.append((first, 2 * self._t + 2))
            self._region(r, r.results)
            self._skipped.pop()
        self._define(node.outputs)
        for r in node.regions:
            self._tie(r.results, node.outputs)

    _checkpoint = _if

    def _region(self, region: Graph, last: Iterable[Value]) -> None:
        """`last`: what must be there at its end."""
        self._graph(region)
        self._t += 1
        self._use(last, 2 * self._t + 1)

    def _trips(self, node: Node) -> None:
        loop, start = Loop(node), 2 * self._t + 1
        self._use(node.inputs, start)
        self._enter()
        for cond in loop.conds:
            self._define(cond.params)
            self._region(cond, cond.params)  # the memory must last to the body, or to the results
        self._define(loop.body.params)
        self._region(loop.body, loop.yields)
        self._leave(node)
        for cond in loop.conds:
            self._tie(cond.params, loop.carries)
        self._tie_carries(node, start, loop.inits, loop.carries, node.outputs)

    _for = _while = _trips

    def _tie_carries(self, node: Node, start: int, *rows: Sequence[Value]) -> None:
        """One memory for each carry; buffers that swap keep the name of the parameter, the yielded array has the other's."""
        self._tie(*rows)
        swapped = {k for pair in node.attrs.get("swap", ()) for k in pair}
        plain = [k for k in range(len(node.outputs)) if k not in swapped]
        results = node.regions[-1].results
        self._tie([rows[0][k] for k in plain], [results[k] for k in plain])
        for a, b in node.attrs.get("swap", ()):
            self.exchanged.append((rows[1][a], rows[1][b], start, (node.outputs[a], node.outputs[b])))

    def _enter(self) -> None:
        self._loops.append([])

    def _leave(self, node: Node) -> None:
        outside = self._loops.pop()
        self._t += 1
        self._use(dict.fromkeys(outside), 2 * self._t + 2)
        self._define(node.outputs)

    def _tie(self, *rows: Iterable[Value]) -> None:
        for first, *others in zip(*rows):
            if first.type.shape:
                self.same += [(first, v) for v in others]
