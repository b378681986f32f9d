"""How long tapes can become: a bound in words of the tapes of a program, where trip counts have one.

Each tape has a position of its end that is followed through the program: a push moves it up, a pop down, a loop by as much as all its
trips together. What is kept is an upper bound; it is infinite where a `while` pushes, or a recursive function.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from irad.core.ir import Graph, Node, Program, Value
from irad.core.lazy_dataclass import dataclass, field
from irad.errors import Loc, UnsupportedError
from irad.ops.regions import BRANCHES, loop_of
from irad.ops.tape_flow import Sources, TapeFlow, tape_sources, tapes_of
from irad.passes.analyses.capacity import capacities
from irad.passes.analyses.carries import regions
from irad.passes.analyses.facts import Facts

_LONG = 2**40  # trips or words from which on a bound says nothing


@dataclass
class End:
    """Where a tape ends, in words: now, and at most so far. Relative to where it ended before what is looked at."""

    now: float = 0
    most: float = 0
    why: Loc | None = None  # what makes it infinite

    def move(self, words: float, room: float, why: Loc | None) -> None:
        """It moves by so many words, and on the way at most by `room`."""
        self.most, self.now = max(self.most, self.now + room), self.now + words
        if inf in (self.most, self.now) and self.why is None:
            self.why = why


Ends = dict[Value, End]  # by the first value of each tape, see TapeFlow


@dataclass
class Bounds:
    """`words`: of the tapes of the entry, by their first values. `unbounded`: a place that makes a tape grow without a bound that is
    known. `inner`: do called functions have tapes of their own?"""

    words: dict[Value, float]
    unbounded: Loc | None = None
    inner: bool = False

    @property
    def known(self) -> bool:
        return inf not in self.words.values() and not self.inner


def tape_bounds(program: Program) -> Bounds:
    """Bounds of the tapes of a planned program."""
    analysis = _Program(program, tape_sources(program))
    name = next(iter(program))
    ends = analysis.ends(name)
    why = next((e.why for e in ends.values() if e.most == inf), analysis.why)
    return Bounds({v: e.most for v, e in ends.items()}, why, analysis.inner)


@dataclass
class _Program:
    program: Program
    sources: Sources
    inner: bool = False
    why: Loc | None = None
    known: dict[str, tuple[Ends, TapeFlow]] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)

    def ends(self, name: str) -> Ends:
        return self.of(name)[0]

    def of(self, name: str) -> tuple[Ends, TapeFlow]:
        if name not in self.known:
            graph = self.program[name]
            flow = TapeFlow(graph, self.sources)
            self.running.append(name)
            found = _Graph(self, graph, flow)
            found.region(graph, found.ends)
            self.running.pop()
            if self.running:
                results = {flow.root(v) for v in tapes_of(graph.results)}
                self.inner |= any(v not in results and v not in flow.params for v in found.ends)
            self.known[name] = found.ends, flow
        return self.known[name]


class _Graph:
    """One graph of the program."""

    def __init__(self, program: _Program, graph: Graph, flow: TapeFlow):
        self.program, self.flow, self.facts = program, flow, Facts(graph)
        self.ends: Ends = {}
        try:
            self.sizes: Mapping[Value, float] = capacities(graph)
        except UnsupportedError:
            self.sizes = {}

    def region(self, graph: Graph, ends: Ends) -> None:
        """Move the ends as a graph or region does."""
        self.facts.extents(graph.params)
        for n in graph.nodes:
            kind = n.op.name
            if kind == "tape":
                self.end(ends, n.out).now = min(self.end(ends, n.out).now, 0)
            elif kind == "push":
                size = sum(self.words(v) for v in n.inputs[1:])
                self.end(ends, n.inputs[0]).move(size, 2 * size, n.loc)  # the next record may be made beside it
            elif kind == "pop":
                self.end(ends, n.inputs[0]).now -= sum(self.words(v) if v.type.static else 0 for v in n.outputs[1:])
            elif kind == "call":
                self.call(n, ends)
            elif n.regions and kind != "loop":
                self.inside(n, ends)
                self.facts.after(n)
            self.facts.extents(n.outputs)

    def end(self, ends: Ends, v: Value) -> End:
        return ends.setdefault(self.flow.root(v), End())

    def words(self, v: Value) -> float:
        if not v.type.shape:
            return 1
        if v.type.static:
            return -(-v.type.size * v.type.numpy.itemsize // 8)
        return self.sizes.get(v, inf)  # at most 8 bytes an element

    def inside(self, n: Node, ends: Ends) -> None:
        """The regions of a node."""
        parts: list[Ends] = []
        for r in regions(self.facts, n):
            parts.append({})
            self.region(r, parts[-1])
        found = dict.fromkeys(v for part in parts for v in part)
        if n.op.name in BRANCHES:
            for v in found:
                seen = [part.get(v, End()) for part in parts]
                why = next((e.why for e in seen if e.why), None)
                ends.setdefault(v, End()).move(max(e.now for e in seen), max(e.most for e in seen), why)
            return
        loop = loop_of(n)
        lo, hi = self.facts.interval(loop.trips) if loop is not None and loop.trips is not None else (0, inf)
        lo, hi = max(lo, 0), inf if hi >= _LONG else max(hi, 0)
        for v in found:
            seen = [part.get(v, End()) for part in parts]
            step, room = sum(e.now for e in seen), max(sum(e.now for e in seen[:k]) + e.most for k, e in enumerate(seen))
            trips = hi if step > 0 else lo
            total = step * trips if step else 0
            start = step * (hi - 1) if step > 0 and hi > 0 else 0
            ends.setdefault(v, End()).move(total, start + room if hi > 0 else 0, next((e.why for e in seen if e.why), n.loc))

    def call(self, n: Node, ends: Ends) -> None:
        """A called function moves the tapes that it is given, and those that it makes."""
        name = n.attrs["callee"]
        given, made = tapes_of(n.inputs), tapes_of(n.outputs)
        if name in self.program.running:
            self.program.inner = True
            self.program.why = self.program.why or n.loc
            for v in (*given, *made):
                self.end(ends, v).move(inf, inf, n.loc)
            return
        inner, flow = self.program.of(name)
        graph = self.program.program[name]
        for v, p in zip(given, tapes_of(graph.params)):
            e = inner.get(flow.root(p), End())
            self.end(ends, v).move(e.now, e.most, e.why)
        roots = {flow.root(p) for p in tapes_of(graph.params)}
        for v, r in zip(made, tapes_of(graph.results)):
            if flow.root(r) not in roots:
                e = inner.get(flow.root(r), End())
                self.end(ends, v).now = min(self.end(ends, v).now, 0)
                self.end(ends, v).move(e.now, e.most, e.why)
