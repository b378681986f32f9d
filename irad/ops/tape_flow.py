"""Which tape values are one tape: tapes are linear, so what is pushed on, popped, carried, passed and returned shares one slot.

A result of a called graph continues the tape of a parameter, or is a tape that the graph makes itself; then the caller
gives it a slot. Branches may make a tape each, or one may make what the other gets from a call: these share a slot too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irad.core.ir import Graph, Node, Program, Value, reads, walk
from irad.core.types import TAPE
from irad.errors import UnsupportedError
from irad.ops.control import call
from irad.ops.regions import BRANCHES, loop_of

NEW = -1  # the source of a tape result that the graph makes itself
Sources = Mapping[str, tuple[int | None, ...]]  # of called graphs: per tape result, which tape parameter; None: not known yet


class TapeFlow:
    """The classes of one graph's tape values, each of one slot."""

    def __init__(self, graph: Graph, sources: Sources):
        self._parent: dict[Value, Value] = {}
        for n in walk(graph):
            for a, b in _links(n, sources):
                self._join(a, b)
        params = [v for v in graph.params if v.type == TAPE]
        self.params = {self.root(v): k for k, v in enumerate(params)}
        if len(self.params) != len(params):
            raise UnsupportedError("this derivative would need two tapes in one place", graph.nodes[0].loc)
        self.made: dict[Value, int] = {}  # how often a class starts anew: `tape` nodes, and calls that make one
        for n in walk(graph):
            for v in _starts(n, sources):
                self.made[self.root(v)] = self.made.get(self.root(v), 0) + 1
        if any(k + (root in self.params) > 1 for root, k in self.made.items()):
            self._one_at_a_time(graph, sources)

    def root(self, v: Value) -> Value:
        while (up := self._parent.get(v)) is not None:
            v = up
        return v

    def _join(self, a: Value, b: Value) -> None:
        a, b = self.root(a), self.root(b)
        if a is not b:
            self._parent[a] = b

    def _one_at_a_time(self, graph: Graph, sources: Sources) -> None:
        """A slot holds one tape: where one starts, the tape that was in its slot must not be read any more."""
        for k, n in enumerate(graph.nodes):
            for v in _starts(n, sources):
                own = {v}
                for m in graph.nodes[k + 1 :]:
                    seen = [x for x in reads(m) if x.type == TAPE and self.root(x) is self.root(v)]
                    if not own.issuperset(seen):
                        raise UnsupportedError("this derivative would need two tapes in one place", n.loc)
                    own.update(x for x in m.outputs if seen and x.type == TAPE)
            for r in n.regions:
                self._one_at_a_time(r, sources)

    def source(self, v: Value) -> int | None:
        """Which tape parameter a value continues; NEW if it was made here; None if that is not known yet."""
        root = self.root(v)
        return self.params.get(root, NEW if root in self.made else None)


def has_tapes(graph: Graph) -> bool:
    """Does a node of the graph touch a tape?"""
    return any(v.type == TAPE for n in graph.nodes for v in (*n.inputs, *n.outputs))


def tapes_of(values: tuple[Value, ...]) -> list[Value]:
    return [v for v in values if v.type == TAPE]


def _links(n: Node, sources: Sources) -> Iterator[tuple[Value, Value]]:
    """Pairs of values that are the same tape, by one node."""
    outs = n.outputs
    rows: list[tuple[tuple[Value, ...], tuple[Value, ...]]] = []
    if loop := loop_of(n):
        rows = [(outs, v) for v in (loop.inits, *(c.params for c in loop.conds), loop.carries, loop.yields)]
    elif n.op.name in BRANCHES:
        rows = [(outs, r.results) for r in n.regions]
    elif n.op is call:
        given = tapes_of(n.inputs)
        known = sources.get(n.attrs["callee"], ())
        pairs = zip(tapes_of(outs), known)
        rows = [((v,), (given[k],)) for v, k in pairs if k is not None and k != NEW]
    elif outs:
        rows = [(tuple(tapes_of(outs)), tuple(tapes_of(n.inputs)))]
    for a, b in rows:
        yield from ((x, y) for x, y in zip(a, b) if x.type == TAPE)


def _starts(n: Node, sources: Sources) -> Iterator[Value]:
    """Tapes that begin at a node."""
    if n.op.name == "tape":
        yield n.out
    elif n.op.name == "call":
        known = sources.get(n.attrs["callee"], ())
        yield from (v for v, k in zip(tapes_of(n.outputs), known) if k == NEW)


def tape_sources(program: Program) -> dict[str, tuple[int | None, ...]]:
    """For every graph, where its tape results come from. In a recursion the other branches say it; this is repeated until nothing
    changes."""
    found: dict[str, tuple[int | None, ...]] = {name: (None,) * len(tapes_of(g.results)) for name, g in program.items()}
    while True:
        new = dict(found)
        for name, g in program.items():
            if found[name]:
                flow = TapeFlow(g, found)
                new[name] = tuple(flow.source(v) for v in tapes_of(g.results))
        if new == found:
            return {name: tuple(NEW if k is None else k for k in ks) for name, ks in new.items()}
        found = new
