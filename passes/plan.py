"""Plan memory: every array gets a place, stores happen in place, dying memory is used again.

First copies are put wherever a store, a loop carry, a branch or a result needs memory of its own (`insert_copies`); then
values joined by a copy or a destination share one place where their lives do not overlap, so most copies vanish;
last, the places that are not a parameter's or a result's are laid out in one arena by first fit. The result is an
ordinary graph whose array values say where they are (`Value.at`); a `copy` between equal places costs nothing.
"""

from __future__ import annotations

from irad.ir import Graph, Node, Program, Value, copy, substitute_node, walk
from irad.ops.array import copy as copy_op
from irad.passes.capacity import capacities
from irad.passes.plan_copies import insert_copies
from irad.passes.plan_lives import Lives
from irad.records import dataclass

ALIGN = 64


def plan(program: Program) -> Program:
    """The program with a place for every array."""
    return {name: _plan_graph(g) for name, g in program.items()}


def byte_size(v: Value, capacity: dict[Value, int]) -> int:
    """Bytes of an array, a multiple of the alignment; with run-time extents, of the largest it can be."""
    size = capacity[v] if v in capacity else v.type.size
    return -(-size * v.type.numpy.itemsize // ALIGN) * ALIGN


@dataclass(eq=False)
class Place:
    """Values that share memory, and when it is in use (half-open intervals of positions)."""

    values: list[Value]
    lives: list[tuple[int, int]]
    fixed: str = ""  # "p0", "r1", "c" (a constant): memory that is given
    size: int = 0
    offset: int = -1
    moves: bool = False  # its name may stand for other memory at run time: never a result's own

    def overlaps(self, other: Place) -> bool:
        for a, b in self.lives:
            for c, d in other.lives:
                if a < d and c < b:
                    return True
        return False

    @property
    def readonly(self) -> bool:
        return self.fixed[:1] in ("p", "c")


def _plan_graph(graph: Graph) -> Graph:
    graph = insert_copies(copy(graph, {}))
    places = _Places(Lives(graph), graph)
    places.layout()
    graph = _without_free_copies(graph, {})
    graph.memo["arena"] = places.arena
    return graph


def _without_free_copies(graph: Graph, env: dict[Value, Value]) -> Graph:
    """The graph without copies from a place to itself: the source is read instead."""
    nodes = []
    for n in graph.nodes:
        if n.op is copy_op and n.inputs[0].at == n.outputs[0].at and n.outputs[0].type.shape:
            env[n.outputs[0]] = env.get(n.inputs[0], n.inputs[0])
            continue
        n = substitute_node(n, env)
        regions = tuple(_without_free_copies(r, env) for r in n.regions)
        if any(a is not b for a, b in zip(regions, n.regions)):
            n = Node(n.op, n.inputs, n.outputs, n.attrs, regions, n.loc, n.deriv)
        nodes.append(n)
    return graph.replace(nodes=nodes, results=[env.get(v, v) for v in graph.results])


class _Places:
    def __init__(self, lives: Lives, graph: Graph):
        self.of: dict[Value, Place] = {}
        capacity = capacities(graph)
        for v, spans in lives.spans.items():
            self.of[v] = Place([v], list(spans), size=byte_size(v, capacity))
        for k, v in enumerate(graph.params):
            if v in self.of:
                self.of[v].fixed = f"p{k}"
        for n in walk(graph):
            if n.op.name == "const" and n.outputs[0] in self.of and hasattr(n.attrs["value"], "shape"):
                self.of[n.outputs[0]].fixed = "c"
        for k, v in enumerate(graph.results):
            if v in self.of:
                self.of[v].fixed = f"r{k}"
        for a, b in lives.same:
            self.join(a, b)
        for a, b, *_ in lives.exchanged:
            self.of[a].moves = self.of[b].moves = True
        for a, b in sorted(lives.wanted, key=lambda w: -lives.depth[w[1]]):
            self.try_join(a, b)
        matched: set[Value] = set()
        for a, b, at in sorted(lives.over, key=lambda w: -lives.depth[w[1]]):
            if a not in matched and b not in matched and self.try_over(a, b, at):
                matched |= {a, b}

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
        x.fixed, x.size, x.moves = x.fixed or y.fixed, max(x.size, y.size), x.moves or y.moves
        for v in y.values:
            self.of[v] = x

    def try_join(self, a: Value, b: Value) -> None:
        """One place for the source and the target of a copy, if nothing in it is overwritten too early."""
        x, y = self.of[a], self.of[b]
        if x.moves and (y.fixed or y.moves) or y.moves and x.fixed:
            return
        if x is not y and not (x.fixed and y.fixed) and not x.readonly and not y.readonly and not x.overlaps(y):
            self.join(a, b)

    def try_over(self, a: Value, b: Value, at: int) -> bool:
        """One place for an operand and the result that is written over it, if the operand dies there. Is there one?"""
        place = self.of[a]
        before = place.lives
        if not any([hi == at for _, hi in before]):
            return place is self.of[b]
        place.lives = [(lo, at - 1 if hi == at else hi) for lo, hi in before]
        self.try_join(a, b)
        joined = self.of[a] is self.of[b]
        if not joined:
            place.lives = before
        return joined

    def layout(self) -> None:
        """First fit in the arena, larger places first."""
        free = list(dict.fromkeys(p for p in self.of.values() if not p.fixed))
        laid: list[Place] = []
        for p in sorted(free, key=lambda p: (-p.size, min(p.lives))):
            taken = sorted((q.offset, q.offset + q.size) for q in laid if q.overlaps(p))
            at = 0
            for lo, hi in taken:
                if at + p.size <= lo:
                    break
                at = max(at, hi)
            p.offset = at
            laid.append(p)
        for v, p in self.of.items():
            v.at = p.fixed or f"a{p.offset}"
        self.arena = max((p.offset + p.size for p in laid), default=0)
