"""One version of an array at a time: what is read of an array is read before the next store into it.

Fusion computes a slice where it is used, which may be after a store into the array: then the old version would have to live
beside the new one, as a copy of the whole. For each store this pass looks for reads that come after it. Where the store
does not touch what they read, they read the new version; where they do not need the store, it moves behind them; otherwise only what they
read is kept, in memory of its own.
"""

from __future__ import annotations

from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise

from irad.core.ir import Graph, Node, Program, Value, map_regions, reads, substitute_node, uses
from irad.ops.array import STORES, index
from irad.ops.array import copy as copy_op
from irad.ops.core import effects
from irad.ops.regions import is_loop
from irad.passes.analyses.final_values import FinalValues
from irad.passes.fusion.access import classify, is_view

MOST = 64  # nodes that may float with a read


def versions(program: Program) -> Program:
    """The program with reads of arrays before the stores that follow them, as far as they are known to float."""
    return {name: _Function(g).run() for name, g in program.items()}


def overwritten(node: Node) -> tuple[Value, ...]:
    """The arrays whose memory the node writes over: that of a store, those that a loop carries."""
    if node.op in STORES:
        return node.inputs[:1]
    return tuple(v for v in node.inputs if v.type.shape) if is_loop(node) else ()


class _Function:
    def __init__(self, graph: Graph):
        self.whole = graph

    def run(self) -> Graph:
        return self.graph(self.whole)

    @cached_property
    def places(self) -> FinalValues:
        return FinalValues(self.whole)

    def graph(self, graph: Graph) -> Graph:
        graph = graph.replace(nodes=[map_regions(n, self.graph) for n in graph.nodes])
        count = uses(graph)
        return _Block(graph, self).run() if any(count[x] > 1 for n in graph.nodes for x in overwritten(n)) else graph


class _Block:
    """The nodes of one graph with their places, which sort; `after[v]`: who reads a value, `made[v]`: the node that makes it."""

    def __init__(self, graph: Graph, function: _Function):
        self.source, self.function = graph, function
        self.at: dict[Node, tuple[int, ...]] = {}
        self.made: dict[Value, Node] = {}
        self.after: dict[Value, dict[Node, None]] = {}
        self.moves = 0
        self.first: dict[Value, Value] = {}  # what chains of stores at known places begin with
        self.carried: dict[Value, bool] = {}  # whether such a chain makes what a loop carries on, while no node changes
        for k, n in enumerate(graph.nodes):
            self.place(n, (k,))

    def run(self) -> Graph:
        for store in self.source.nodes:
            for x in overwritten(store):
                if x in self.made and self.made[x].op.fills:  # those are made anew for each store
                    continue
                if not self.swaps(x):
                    self.settle(store.outputs[0], x)
        return self.source.replace(nodes=self.in_order())

    def in_order(self) -> list[Node]:
        """The nodes by their places, each behind what it reads: what was moved behind one store more than once may pass who reads it."""
        nodes = sorted(self.at, key=self.at.__getitem__)
        rank = {n: k for k, n in enumerate(nodes)}
        needs = {n: {self.made[v] for v in reads(n) if v in self.made} for n in nodes}
        if all(rank[m] < rank[n] for n in nodes for m in needs[n]):
            return nodes
        effectful = [n for n in nodes if effects(n) != "none"]
        for before, n in pairwise(effectful):
            needs[n].add(before)
        readers: dict[Node, list[Node]] = {}
        for n in nodes:
            for m in needs[n]:
                readers.setdefault(m, []).append(n)
        ready = [rank[n] for n in nodes if not needs[n]]
        out: list[Node] = []
        while ready:
            n = nodes[heappop(ready)]
            out.append(n)
            for m in readers.get(n, ()):
                needs[m].discard(n)
                if not needs[m]:
                    heappush(ready, rank[m])
        assert len(out) == len(nodes)
        return out

    def place(self, node: Node, at: tuple[int, ...]) -> None:
        self.carried.clear()
        self.at[node] = at
        self.made.update(dict.fromkeys(node.outputs, node))
        for v in reads(node):
            self.after.setdefault(v, {})[node] = None

    def exchange(self, old: Node, new: Node) -> None:
        """Another node with the same results, in the same place."""
        at = self.at.pop(old)
        for v in reads(old):
            self.after[v].pop(old, None)
        self.place(new, at)

    def behind(self, node: Node, store: bool = False) -> tuple[int, ...]:
        """The place behind a node, and behind what was put there before; stores stand behind all reads there, which they may need."""
        self.moves += 1
        return (*self.at[node], int(store), self.moves)

    def settle(self, out: Value, x: Value) -> None:
        """No read of x after the store that makes `out`, if that can be had."""
        for made in [n.outputs[0] for n in self.after[x] if n.outputs]:
            store, read = self.made[out], self.made[made]
            if read is store:
                continue
            moving, ends = self.floating(read)
            late = [n for n in ends if self.at[n] > self.at[store]]
            if not late:
                continue
            if len(late) == len(ends) and self.apart(read, store):
                self.read_new(read, moving, store)
            elif not self.sink(store, late) and _floats(read) and self.at[read] < self.at[store]:
                self.keep(read)

    def swaps(self, x: Value) -> bool:
        """Is x one of a chain of versions, made by stores at known places, that a loop carries to its next trip?

        Then the old and the new version have buffers that swap (irad.passes.memory.pingpong), and all reads should read the old one.
        """
        chain = []
        while x not in self.first and x in self.made and self.made[x].op in STORES and self.anywhere(self.made[x]):
            chain.append(x)
            x = self.made[x].inputs[0]
        first = self.first.get(x, x)
        self.first.update(dict.fromkeys(chain, first))
        if first not in self.source.params:
            return False
        if first not in self.carried:
            self.carried[first] = self.carries_on(first)
        return self.carried[first]

    def carries_on(self, x: Value) -> bool:
        """Does a chain of stores at known places make a result of this array?"""
        while x not in self.source.results:
            stores = [n for n in self.after.get(x, ()) if n.op in STORES and n.inputs[0] is x]
            if len(stores) != 1 or not self.anywhere(stores[0]):
                return False
            x = stores[0].out
        return True

    def anywhere(self, store: Node) -> bool:
        """Is the place of a store the same in all trips?"""
        return not any(v in self.made or v in self.source.params for v in store.inputs[2:])

    def floating(self, read: Node) -> tuple[list[Node], list[Node]]:
        """The read and what is computed from it element by element, in order; and what reads those at a place of its own."""
        if not _floats(read):
            return [], [read]
        moving, todo = {read}, [read]
        ends: dict[Node, None] = {}
        while todo:
            for n in self.after.get(todo.pop().out, ()):
                if n not in moving and _floats(n) and len(moving) < MOST:
                    moving.add(n)
                    todo.append(n)
                elif n not in moving:
                    ends[n] = None
        return sorted(moving, key=self.at.__getitem__), list(ends)

    def apart(self, read: Node, store: Node) -> bool:
        """Does the store leave the elements that are read as they are?"""
        if read.op is not index or store.op not in STORES:
            return False
        places = self.function.places
        here = places.access(read.inputs[1:], read.attrs["spec"])
        return places.apart(here, places.access(store.inputs[2:], store.attrs["spec"]))

    def read_new(self, read: Node, moving: list[Node], store: Node) -> None:
        """Let the read, and what floats with it, read the version that the store makes, behind the store."""
        new = read.replace(inputs=(store.out, *read.inputs[1:]))
        self.exchange(read, new)
        for n in (new, *moving[1:]):
            if self.at[n] < self.at[store]:
                self.at[n] = self.behind(store)

    def sink(self, store: Node, late: list[Node]) -> bool:
        """Move the store behind the late reads of the old version, if nothing between needs the store."""
        last = max(late, key=self.at.__getitem__)
        needs = [self.at[n] for v in store.outputs for n in self.after.get(v, ())]
        if effects(store) != "none" or min(needs, default=(len(self.at),)) <= self.at[last]:
            return False
        self.at[store] = self.behind(last, store=True)
        return True

    def keep(self, read: Node) -> None:
        """Copy what is read to memory of its own, before the store."""
        new = Value(read.out.type, read.out.hint)
        env = {read.out: new}
        for n in list(self.after[read.out]):
            self.exchange(n, substitute_node(n, env))
        kept = read.replace(op=copy_op, inputs=read.outputs, outputs=(new,), attrs={}, regions=())
        self.place(kept, (*self.at[read], 0))  # before what was put behind the read
        self.source = self.source.replace(results=[env.get(v, v) for v in self.source.results])


def _floats(node: Node) -> bool:
    """Is it computed where its result is read?"""
    if len(node.outputs) != 1 or not node.out.type.shape:
        return False
    return is_view(node) or node.op not in STORES and (m := classify(node)) is not None and m.kind == "store"
