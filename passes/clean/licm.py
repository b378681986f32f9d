"""Loop-invariant code motion: what every trip of a `for` or `while` computes alike is computed once before it.

A loop may make no trip, so only what may run in any case moves: nothing that raises, prints, may not end (`while`, `call`), reads
at a run-time position or divides integers. If the first trip is sure to reach it, all moves that cannot raise; and a check, unless
it says what stores are there by then. What costs nothing but memory to make again (a constant, a broadcast array, a slice in one
piece) moves only along with a reader. So do the first stores into a constant that the loop goes on to store into
(`z = np.empty(n); z[0] = a; z[1:] = ...`): moved, the whole array would be copied in each trip.
"""

from __future__ import annotations

from irad.core.ir import Graph, Node, Program, Value, map_regions, reads, walk
from irad.core.types import TAPE, Dim, is_int
from irad.ops import effects
from irad.ops.array import STORES, Slice, index
from irad.ops.control import raise_if
from irad.ops.regions import Loop, is_loop, loop_of
from irad.passes.clean.dce import effectful
from irad.passes.rewrite import splat_of

Defs = dict[Value, Node]


def licm(program: Program) -> Program:
    """The program with loop-invariant nodes moved out of every loop, through as many loops as they do not depend on."""
    fx = effectful(program)
    return {name: _Licm(fx).graph(g) for name, g in program.items()}


class _Licm:
    def __init__(self, effectful: set[str]):
        self.effectful = effectful
        self.defs: Defs = {}

    def graph(self, graph: Graph) -> Graph:
        nodes: list[Node] = []
        for node in graph.nodes:
            node = map_regions(node, self.graph)
            if is_loop(node):
                node = self.loop(node, nodes)
            self.defs.update((v, node) for v in node.outputs)
            nodes.append(node)
        return graph.replace(nodes=nodes)

    def loop(self, node: Node, before: list[Node]) -> Node:
        """The loop without its invariant nodes, which go to `before`."""
        loop = Loop(node)
        trips = splat_of(self.defs.get(loop.trips)) if loop.trips else None
        sure = [True, False] if loop.conds else [trips is not None and bool(trips >= 1)]
        return node.replace(regions=[self.hoist(r, s, before) for r, s in zip(node.regions, sure)])

    def hoist(self, region: Graph, sure: bool, before: list[Node]) -> Graph:
        """`sure`: the region is run at least once."""
        variant = set(region.params)
        free: Defs = {}
        moved: set[Node] = set()
        stored = {v for n in region.nodes for v in _stored_into(n)}
        for node in region.nodes:
            first = sure and node.op is raise_if and not node.attrs.get("keeps")
            if any(v in variant for v in reads(node)) or not (first or self.movable(node, sure)):
                variant.update(node.outputs)
                sure = sure and not self.acts(node)
            elif (
                node.op.cost == 0
                or self.part(node, region)
                or node.op.name == "update"
                and node.inputs[0] in free
                and node.out in stored
            ):
                free[node.outputs[0]] = node
            else:
                self.move(node, free, moved, before)
        return region.replace(nodes=[n for n in region.nodes if n not in moved])

    def move(self, node: Node, free: Defs, moved: set[Node], before: list[Node]) -> None:
        for v in reads(node):
            if v in free and free[v] not in moved:
                self.move(free[v], free, moved, before)
        moved.add(node)
        before.append(node)

    def part(self, node: Node, region: Graph) -> bool:
        """Consecutive elements, which operations on elements read where they lie: moved, they would be copied."""
        spec = node.attrs.get("spec", ())
        cut = next((k for k, s in enumerate(spec) if isinstance(s, Slice)), len(spec))
        whole = all(s == Slice(0, d) for s, d in zip(spec[cut + 1 :], node.inputs[0].type.shape[cut + 1 :]) if node.op is index)
        if node.op is not index or not whole or cut == len(spec) or spec[cut].step != 1 or node.out in region.results:
            return False
        readers = [n for n in region.nodes if node.out in reads(n)]
        return all(n.op.elementwise or n.op in STORES and n.inputs[1:2] == node.outputs for n in readers)

    def acts(self, node: Node) -> bool:
        """May the node raise or print?"""
        calls = (n for n in (node, *(m for r in node.regions for m in walk(r))) if n.op.name == "call")
        return effects(node) != "none" or any(n.attrs["callee"] in self.effectful for n in calls)

    def movable(self, node: Node, sure: bool) -> bool:
        if self.acts(node) or any(v.type == TAPE for v in (*node.inputs, *node.outputs)):
            return False
        inside = (node, *(n for r in node.regions for n in walk(r)))
        if any(n.op.name == "checkpoint" for n in inside):
            return False
        return sure or not any(self.guarded(n) for n in inside)

    def guarded(self, node: Node) -> bool:
        """Is the node right only where the program says so: at positions in bounds, with a divisor that is not zero?"""
        if not node.op.ends:
            return True
        if node.op.divides and is_int(node.inputs[0].type.dtype):
            divisor = splat_of(self.defs.get(node.inputs[1]))
            return divisor is None or divisor == 0
        if node.op.name == "load":
            return True
        return "spec" in node.attrs and any(not _static(s, d) for s, d in zip(node.attrs["spec"], node.inputs[0].type.shape))


def _stored_into(node: Node) -> tuple[Value, ...]:
    """Arrays that the node makes another version of."""
    if node.op in STORES:
        return node.inputs[:1]
    loop = loop_of(node)
    return loop.inits if loop else ()


def _static(s: int | str | Slice, extent: Dim) -> bool:
    """Is a position known to be in bounds, since `infer` checked it?"""
    if not isinstance(extent, int):
        return False
    return isinstance(s, int) or (isinstance(s, Slice) and s.start is not None and isinstance(s.size, int))
