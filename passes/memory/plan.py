"""Plan memory: every array gets a place, stores happen in place, dying memory is used again.

First copies are put wherever a store, a loop carry, a branch or a result needs memory of its own (`insert_copies`); then values
joined by a copy or a destination share one place where their lives do not overlap, so most copies vanish; last, what can be on a
tape gets its place there (irad.passes.memory.tape_places), and the places that are not a parameter's or a result's are laid out
in one arena by first fit. The result is an ordinary graph whose array values say where they are (`Value.at`); a `copy` between
equal places costs nothing.

A donated parameter is memory like any other: a result may be written into it once it is dead (then its place is the result's,
"r1", whose memory the caller makes that of the argument; the entry's `memo["donated"]` says result -> parameter, `memo["given"]` which
parameters' memory may be written at all).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence, Set

import numpy as np

from irad.core.ir import Graph, Program, Value, copy, map_regions, nodes_where, substitute_node, walk
from irad.core.lazy_dataclass import dataclass
from irad.core.notes import Notes
from irad.errors import VerifyError
from irad.ops.array import copy as copy_op
from irad.ops.regions import Loop
from irad.ops.tape_flow import Sources, tape_sources
from irad.passes.analyses.capacity import Records, capacities, pops_last
from irad.passes.memory.copies import insert_copies
from irad.passes.memory.lives import Lives
from irad.passes.memory.notes import note_plan
from irad.passes.memory.tape_places import place_on_tapes

ALIGN = 64


def plan(program: Program, donated: Set[int] = frozenset(), notes: Notes | None = None) -> Program:
    """The program with a place for every array. `donated`: parameters of the entry whose memory may be written."""
    entry = next(iter(program))
    records, sources = Records(program), tape_sources(program)
    planned = {
        name: _plan_graph(program[name], donated if name == entry else frozenset(), records, sources, notes, name == entry)
        for name in pops_last(program)
    }
    return {name: planned[name] for name in program}


def byte_size(v: Value, capacity: dict[Value, int]) -> int:
    """Bytes of an array, a multiple of the alignment; with run-time extents, of the largest it can be."""
    size = capacity[v] if v in capacity else v.type.size
    return -(-size * v.type.numpy.itemsize // ALIGN) * ALIGN


@dataclass(eq=False)
class Allocation:
    """Values that share memory, and when it is in use (half-open intervals of positions)."""

    values: list[Value]
    lives: list[tuple[int, int]]
    busy: list[tuple[int, int]]  # the same positions, in order, as few intervals as can be
    fixed: str = ""  # "p0", "r1", "c" (a constant): memory that is given
    size: int = 0
    offset: int = -1
    given: bool = False  # the memory of a donated parameter, unless a result takes it
    moves: bool = False  # its name may stand for other memory at run time: never a result's own

    def overlaps(self, other: Allocation) -> bool:
        few, many = sorted((self.busy, other.busy), key=len)
        for lo, hi in few:
            before = bisect_left(many, (hi,))  # those that begin before the end
            if before and many[before - 1][1] > lo:
                return True
        return False

    @property
    def readonly(self) -> bool:
        return self.fixed[:1] in ("p", "c")


def _include(busy: list[tuple[int, int]], span: tuple[int, int]) -> None:
    """Make a span part of disjoint ones that are in order."""
    lo, hi = span
    first = bisect_left(busy, (lo,))
    if first and busy[first - 1][1] >= lo:
        first -= 1
        lo = busy[first][0]
    last = first
    while last < len(busy) and busy[last][0] <= hi:
        hi = max(hi, busy[last][1])
        last += 1
    busy[first:last] = [(lo, hi)]


def _united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    busy: list[tuple[int, int]] = []
    for span in spans:
        _include(busy, span)
    return busy


def _plan_graph(graph: Graph, donated: Set[int], records: Records, sources: Sources, notes: Notes | None, entry: bool) -> Graph:
    graph = insert_copies(copy(graph, {}))
    lives = Lives(graph)
    places = _Places(lives, graph, records, donated if all(v.type.static for v in graph.results) else frozenset())
    _check_swaps(graph)
    planned = _without_free_copies(graph, {})
    places.layout(place_on_tapes(planned, sources))
    if notes is not None:
        refused = [graph.params[k] for k in sorted(donated - set(places.donated.values()))]
        note_plan(notes, graph, lives, places.of, places.over, refused, places.arena, entry)
    graph = planned
    graph.memo["arena"], graph.memo["donated"], graph.memo["given"] = places.arena, places.donated, frozenset(donated)
    return graph


def _check_swaps(graph: Graph) -> None:
    """What a trip gives for a carry that changes places is in the memory of its partner: else the swap would lose it."""
    for n in nodes_where(graph, "swaps", lambda n: "swap" in n.attrs):
        loop = Loop(n)
        for a, b in n.attrs["swap"]:
            if (loop.yields[a].at, loop.yields[b].at) != (loop.carries[b].at, loop.carries[a].at):
                raise VerifyError("after plan: carries that swap do not lie in each other's memory at the end of a trip", n.loc)


def _without_free_copies(graph: Graph, env: dict[Value, Value]) -> Graph:
    """The graph without copies from a place to itself: the source is read instead."""
    nodes = []
    for n in graph.nodes:
        if n.op is copy_op and n.inputs[0].at == n.outputs[0].at and n.outputs[0].type.shape:
            env[n.outputs[0]] = env.get(n.inputs[0], n.inputs[0])
            continue
        nodes.append(map_regions(substitute_node(n, env), lambda r: _without_free_copies(r, env)))
    return graph.replace(nodes=nodes, results=[env.get(v, v) for v in graph.results])


class _Places:
    def __init__(self, lives: Lives, graph: Graph, records: Records, donated: Set[int]):
        self.of: dict[Value, Allocation] = {}
        capacity = capacities(graph, records)
        for v, spans in lives.spans.items():
            self.of[v] = Allocation([v], list(spans), _united(spans), size=byte_size(v, capacity))
        for k, v in enumerate(graph.params):
            if v in self.of and k not in donated:
                self.of[v].fixed = f"p{k}"
        for n in walk(graph):
            if n.op.name == "const" and n.outputs[0] in self.of and hasattr(n.attrs["value"], "shape"):
                self.of[n.outputs[0]].fixed = "c"
        for k, v in enumerate(graph.results):
            if v in self.of:
                self.of[v].fixed = f"r{k}"
        for k in donated:
            if graph.params[k] in self.of:
                self.of[graph.params[k]].given = True
        for a, b in lives.same:
            self.join(a, b)
        for a, b, *_ in lives.exchanged:
            self.of[a].moves = self.of[b].moves = True
        for a, b in sorted(lives.wanted, key=lambda w: -lives.depth[w[1]]):
            self.try_join(a, b)
        matched: set[Value] = set()
        self.over: list[tuple[Value, Value]] = []  # operands and the results that are written over them
        moved: dict[Value, list[Value]] = {}
        for a, b in lives.wanted:
            moved.setdefault(a, []).append(b)
        # first what is carried on to the place of the operand: the next trip's state over this one's
        home = lambda a, b: any(self.of[c] is self.of[a] for c in moved.get(b, ()))
        for a, b, at in sorted(lives.over, key=lambda w: (-lives.depth[w[1]], not home(w[0], w[1]))):
            if a not in matched and b not in matched and self.try_over(a, b, at):
                matched |= {a, b}
                self.over.append((a, b))
        self.donated = self.give({k: graph.params[k] for k in donated if graph.params[k] in self.of}, graph.results)
        number = {p: k for k, p in enumerate(dict.fromkeys(self.of.values()))}
        for v, p in self.of.items():
            v.at = p.fixed or f"a{number[p]}"  # one name for what is one place, until `layout`

    def give(self, donated: dict[int, Value], results: Sequence[Value]) -> dict[int, int]:
        """Results that are in the memory of donated parameters; what no result takes stays a parameter's place."""
        for v in donated.values():
            for r in results:
                if r.type == v.type and self.of[r] is not self.of[v]:
                    self.try_join(v, r)
        for k, v in donated.items():
            self.of[v].fixed = self.of[v].fixed or f"p{k}"
        return {int(self.of[v].fixed[1:]): k for k, v in donated.items() if self.of[v].fixed[0] == "r"}

    def join(self, a: Value, b: Value) -> None:
        """One place for both, whatever else is there: the copies were put so that this is right."""
        x, y = self.of[a], self.of[b]
        if x is y:
            return
        assert not (x.fixed and y.fixed), f"two fixed places {x.fixed} and {y.fixed} for one value"
        if len(x.values) < len(y.values):
            x, y = y, x
        x.values += y.values
        x.lives += y.lives
        for span in y.busy:
            _include(x.busy, span)
        x.fixed, x.size, x.moves = x.fixed or y.fixed, max(x.size, y.size), x.moves or y.moves
        x.given = x.given or y.given
        for v in y.values:
            self.of[v] = x

    def try_join(self, a: Value, b: Value) -> None:
        """One place for the source and the target of a copy, if nothing in it is overwritten too early."""
        x, y = self.of[a], self.of[b]
        if x.moves and (y.fixed or y.given or y.moves) or y.moves and (x.fixed or x.given):
            return
        if x is not y and not (x.fixed and y.fixed) and not x.readonly and not y.readonly and not x.overlaps(y):
            self.join(a, b)

    def try_over(self, a: Value, b: Value, at: int) -> bool:
        """One place for an operand and the result that is written over it, if the operand dies there. Is there one?"""
        place = self.of[a]
        before, busy = place.lives, place.busy
        if not any([hi == at for _, hi in before]):
            return place is self.of[b]
        place.lives = [(lo, at - 1 if hi == at else hi) for lo, hi in before]
        place.busy = _united(place.lives)
        self.try_join(a, b)
        joined = self.of[a] is self.of[b]
        if not joined:
            place.lives, place.busy = before, busy
        return joined

    def layout(self, on_tapes: Set[Value]) -> None:
        """First fit in the arena, larger places first, for what is not on a tape. Buffers that swap keep their memory for themselves:
        after the loop their names may stand for each other's, so nothing else can tell which of the two is free.
        """
        free = [p for p in dict.fromkeys(self.of.values()) if not p.fixed and not all(v in on_tapes for v in p.values)]
        laid = _Laid(sum(len(p.lives) for p in free))
        for p in sorted(free, key=lambda p: (-p.size, min(p.lives))):
            p.offset = laid.first_fit(p)
            laid.add(p)
        for v, p in self.of.items():
            if v not in on_tapes:
                v.at = p.fixed or f"a{p.offset}"
        self.arena = max((p.offset + p.size for p in free), default=0)


class _Laid:
    """The places that have their offsets: a row for each of their lives."""

    def __init__(self, rows: int):
        self.lo, self.hi, self.start, self.end = (np.zeros(rows, np.int64) for _ in range(4))
        self.moves = np.zeros(rows, bool)
        self.count = 0

    def add(self, p: Allocation) -> None:
        for lo, hi in p.lives:
            k, self.count = self.count, self.count + 1
            self.lo[k], self.hi[k], self.start[k], self.end[k], self.moves[k] = lo, hi, p.offset, p.offset + p.size, p.moves

    def first_fit(self, p: Allocation) -> int:
        """The lowest offset where the place overlaps none that is in use at the same time."""
        n = self.count
        if p.moves:
            taken = np.ones(n, bool)
        else:
            taken = self.moves[:n].copy()
            for lo, hi in p.lives:
                taken |= (self.lo[:n] < hi) & (lo < self.hi[:n])
        start, end = self.start[:n][taken], self.end[:n][taken]
        order = np.argsort(start, kind="stable")
        before = np.concatenate(
            ([0], np.maximum.accumulate(end[order]))
        )  # up to where all is taken, before each and after the last
        gaps = np.flatnonzero(start[order] - before[:-1] >= p.size)
        return int(before[gaps[0] if len(gaps) else -1])
