"""Fusion, part 2: which nodes run in one loop.

Nodes are taken in program order. A node joins the group of an operand it reads at the identity, if the iteration spaces
are equal and nothing it reads elsewhere depends on that group; ancestors are bit sets, so the test is one `&`.
Afterwards groups of one space that read the same memory and do not depend on each other are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from irad.core.ir import Graph, Node, Value, defs, reads
from irad.core.lazy_dataclass import dataclass, field
from irad.core.notes import Notes
from irad.core.switches import on
from irad.core.types import Dim, elements
from irad.ops.array import STORES
from irad.ops.core import HEAVY, effects
from irad.passes.fusion.access import Member, classify, dot_axes, inlinable, is_view
from irad.passes.fusion.notes import why_apart
from irad.passes.fusion.versions import overwritten
from irad.passes.fusion.windows import is_window

MOST = 1000  # operations in the body of a loop (one of cost HEAVY counts as POLY): registers and compile time are bounded
POLY = 12
SMALL_SPACE = 4096  # elements: loops this small are merged even if they share no memory


class Group:
    """Nodes that run together: one loop over `space`, or (space None) one other node."""

    __slots__ = ("space", "members", "nodes", "bit", "bits", "above", "first", "deps", "touches", "weight")

    def __init__(self, number: int, space: tuple[Dim, ...] | None):
        self.space, self.first, self.bit, self.bits, self.above = space, number, 1 << number, 1 << number, 0
        self.members: list[Member] = []
        self.nodes: list[Node] = []
        self.weight = 0
        self.deps: set[Value] = set()  # values read from other groups
        self.touches: set[Value] = set()  # arrays read from memory, to find groups worth merging


@dataclass(eq=False)
class Nest:
    """Loop groups under one outer loop over their first `prefix` axes (0: a plain loop of one group, or no loop)."""

    parts: list[Group]
    bits: int
    above: int
    prefix: int = 0
    rows: set[Value] = field(default_factory=set)  # what one part makes and another reads


class Grouping:
    """The groups of one graph. `must`: values that have to be in memory (results, operands of other nodes)."""

    def __init__(self, graph: Graph, outside: dict[Value, Node], notes: Notes | None = None):
        self.graph, self.defs, self.notes = graph, {**outside, **defs(graph)}, notes
        self.apart: dict[Node, dict[Value, str]] = {}  # with notes: what a node reads of other loops -> why it is not in them
        self.merged: dict[Group, str] = {}  # with notes: why a loop holds what does not read each other
        self.group_of: dict[Value, Group] = {}
        self.made_by: dict[Value, Member] = {}
        self.reading: dict[Value, list[Node]] = {}  # who reads a value of another node, so far
        self.groups: list[Group] = []
        self.windows = {n for n in graph.nodes if n.op.name == "index" and is_window(self.defs.get, n)}
        self.members = {n: m for n in graph.nodes if (m := classify(n)) and not self.is_view(n)}
        self.must = self._must()
        last_effect: Group | None = None
        for number, node in enumerate(graph.nodes):
            last_effect = self._place(number, node, last_effect)
        self._merge_siblings()

    def _must(self) -> set[Value]:
        must = {v for v in self.graph.results if v.type.shape}
        for n in self.graph.nodes:
            if n not in self.members and not self.is_view(n):
                must.update(v for v in reads(n) if v.type.shape)
            elif n.op in STORES:
                must.add(n.inputs[0])
        return must

    def is_view(self, node: Node) -> bool:
        """Reads its operand elsewhere, computes nothing: a view, or windows."""
        return is_view(node) or node in self.windows

    def inlinable(self, node: Node) -> bool:
        """Cheap enough to compute again wherever it is read."""
        return inlinable(node) or node in self.windows

    def free(self, node: Node) -> bool:
        """Computed wherever it is read, so in no group."""
        return (
            self.inlinable(node) and bool(node.outputs) and node.outputs[0].type.shape != () and node.outputs[0] not in self.must
        )

    def member(self, node: Node) -> Member | None:
        """The node as a loop member; a view that must be in memory is a copying loop, a constant is filled by itself."""
        m = self.members.get(node)
        if m is None and self.is_view(node) and node.op.name != "const" and node.out.type.shape:
            return Member(node, node.out.type.shape, "store", tuple(range(node.out.type.rank)))
        return m

    def roots(self, v: Value, identity: bool) -> Iterator[tuple[Value, bool]]:
        """The values of other nodes that reading v comes down to, and whether they are read at the identity."""
        node = self.defs.get(v)
        if node is None or (v.type.shape and not self.inlinable(node)) or not v.type.shape:
            yield v, identity and bool(v.type.shape)
            return
        straight = identity and node.op.elementwise
        for x in reads(node):
            yield from self.roots(x, straight)

    def _reads(self, node: Node, m: Member | None) -> Iterator[tuple[Value, bool]]:
        in_place = node.inputs[:1] if node.op in STORES else ()
        for x, identity in _operands(node, m):
            if m is None or x in in_place:
                yield x, False
            yield from self.roots(x, identity)

    def _place(self, number: int, node: Node, last_effect: Group | None) -> Group | None:
        if self.free(node):
            return last_effect
        m = self.member(node)
        roots = list(self._reads(node, m))
        before = self._readers(node)
        group = self._join(m, roots, before) if m and on("joins") else None
        fresh = group is None
        if group is None:
            group = Group(number, m.space if m else None)
            self.groups.append(group)
        if m:
            group.members.append(m)
            group.weight += _weight(node)
        group.nodes.append(node)
        above = 0
        for earlier in before:
            if earlier is not group:
                above |= earlier.bits | earlier.above
        for v, _ in roots:
            self.reading.setdefault(v, []).append(node)
            g = self.group_of.get(v)
            if g is not group:
                group.deps.add(v)
                if g is not None:
                    above |= g.bits | g.above
                if v.type.shape:
                    group.touches.add(v)
        if effects(node) != "none":
            above |= (last_effect.bits | last_effect.above) if last_effect else 0
            last_effect = group
        if fresh:  # nothing depends on it yet
            group.above |= above
        else:
            self._raise(group, above)
        for v in node.outputs:
            self.group_of[v] = group
            if m:
                self.made_by[v] = m
        return last_effect

    def _readers(self, node: Node) -> list[Group]:
        """The groups that read, so far, what the node writes over: they stay before it."""
        nodes = [n for x in overwritten(node) for n in self.reading.get(x, ()) if n.outputs]
        return list(dict.fromkeys(self.group_of[n.outputs[0]] for n in nodes))

    def _raise(self, group: Group, above: int) -> None:
        """Add ancestors to a group and to all that depend on it."""
        if above & ~group.above:
            group.above |= above
            for g in self.groups:
                if g.above & group.bits:
                    g.above |= group.above

    def _join(self, m: Member, roots: list[tuple[Value, bool]], before: list[Group]) -> Group | None:
        """The group of an operand that the node may run in. `before`: groups that stay before what it writes over."""
        elsewhere = 0
        candidates: list[Group] = []
        for v, identity in roots:
            g = self.group_of.get(v)
            if g is None:
                continue
            producer = self.made_by.get(v)
            direct = identity and g.space == m.space and producer is not None and is_elementwise(producer)
            if direct and g.weight + _weight(m.node) <= MOST:
                if g not in candidates:
                    candidates.append(g)
            else:
                elsewhere |= g.bits | g.above
            if self.notes is not None:
                reason = why_apart(self.defs, v, m, g, producer, direct)
                self.apart.setdefault(m.node, {})[v] = reason
        for g in before:
            elsewhere |= g.above if g in candidates else g.bits | g.above
        chosen: Group | None = None
        for g in candidates:
            if g.bits & elsewhere:
                continue
            if chosen is None:
                if not any(c is not g and (c.above & g.bits) for c in candidates):
                    chosen = g
            elif not (g.above & chosen.bits) and not (chosen.above & g.bits) and g.weight + chosen.weight <= MOST:
                self._merge(chosen, g)
        if chosen is None:
            return None
        rest = 0
        for g in candidates:
            if g is not chosen and g in self.groups:
                rest |= g.bits | g.above
        return chosen if not rest & chosen.bits else None

    def _merge(self, into: Group, other: Group) -> None:
        self._unite(into, other)
        self.groups.remove(other)
        _reached(into, self.groups)

    def _unite(self, into: Group, other: Group) -> None:
        """Put what `other` holds into `into`; groups that depend on either do not know yet."""
        into.members += other.members
        into.weight += other.weight
        into.nodes += other.nodes
        into.bits |= other.bits
        into.first = min(into.first, other.first)
        into.touches |= other.touches
        for m in other.nodes:
            for v in m.outputs:
                self.group_of[v] = into
                into.deps.discard(v)
        into.deps |= {v for v in other.deps if self.group_of.get(v) is not into}
        into.above = (into.above | other.above) & ~into.bits

    def _merge_siblings(self) -> None:
        """Merge loops over one space that do not depend on each other, in program order.

        Only groups that may still be merged with know their ancestors at all times. The others learn at their turn, or at the
        end, what merging added.
        """
        if not on("siblings"):
            return
        spaces: dict[tuple[Dim, ...], int] = {}  # the bits of the candidates of a space
        candidates: dict[int, Group] = {}
        unions = _Unions()
        gone: set[Group] = set()
        for g in self.groups:
            if not g.space:
                continue
            unions.tell(g)
            bits = spaces.get(g.space, 0)
            other = next((o for k in _positions(bits & ~g.above) if self._are_siblings(o := candidates[k], g)), None)
            if other is None:
                spaces[g.space] = bits | g.bit
                candidates[g.bit.bit_length() - 1] = g
            else:
                self._unite(other, g)
                _reached(other, candidates.values())
                unions.add(other)
                gone.add(g)
        self.groups = [g for g in self.groups if g not in gone]
        for g in self.groups:
            if not g.space:
                unions.tell(g)

    def _are_siblings(self, other: Group, g: Group) -> bool:
        """May two loops be one, the second of which does not depend on the first?"""
        if other.above & g.bits or g.weight + other.weight > MOST:
            return False
        shared = not g.touches.isdisjoint(other.touches)
        if not shared and elements(g.space or (), SMALL_SPACE + 1) > SMALL_SPACE:
            return False
        if self.notes is not None:
            self.merged[other] = f"siblings in one loop: {'they read the same memory' if shared else 'both are small'}"
        return True

    def ordered(self) -> list[Group]:
        """The groups in an order that respects dependences, close to program order."""
        return topological(self.groups)


def _reached(union: Group, groups: Iterable[Group]) -> None:
    """Groups that depend on a part of a union depend on all of it, and on what it depends on."""
    for g in groups:
        if g.above & union.bits:
            g.above |= union.bits | union.above


class _Unions:
    """Groups that were united from several, each with its ancestors."""

    def __init__(self) -> None:
        self.bits = 0
        self.holding: dict[int, Group] = {}  # position of a bit -> the union it belongs to

    def add(self, union: Group) -> None:
        """Note a united group, or one that has grown."""
        new = union.bits & ~self.bits
        self.bits |= new
        self.holding.update(dict.fromkeys(_positions(new), union))

    def tell(self, g: Group) -> None:
        """Bring the ancestors of a group up to date, which it knew before groups were united."""
        rest = g.above & self.bits
        while rest:
            union = self.holding[rest.bit_length() - 1]
            reached = union.bits | union.above
            g.above |= reached
            rest &= ~reached


Unit = TypeVar("Unit", Group, Nest)


def topological(units: Sequence[Unit]) -> list[Unit]:
    """Units (with `bits`, their own, and `above`, their ancestors') in an order that respects dependences.

    Raises AssertionError if they form a cycle.
    """
    owner = {k: u for u in units for k in _positions(u.bits)}
    every = 0
    for u in units:
        every |= u.bits
    out: list[Unit] = []
    done = 0
    for first in sorted(units, key=lambda u: u.bits.bit_length()):
        stack = [] if done & first.bits else [first]
        while stack:
            u = stack[-1]
            missing = u.above & every & ~done
            if missing:
                assert len(stack) <= len(units), "a cycle between fused loops"
                stack.append(owner[(missing & -missing).bit_length() - 1])
            else:
                stack.pop()
                out.append(u)
                done |= u.bits
    return out


def _positions(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _weight(node: Node) -> int:
    return POLY if node.op.cost >= HEAVY else 1


def is_elementwise(m: Member) -> bool:
    """Its value at a position of the space is what others read there."""
    return m.kind == "store" and m.node.op.name != "update" and m.rows == tuple(range(len(m.space)))


def _operands(node: Node, m: Member | None) -> Iterator[tuple[Value, bool]]:
    """What the node reads, and whether at the identity of its iteration space."""
    if m is None:
        yield from ((x, False) for x in reads(node))
        return
    name = node.op.name
    if name == "dot":
        _, at_a, at_b = dot_axes(node)
        whole = list(range(len(m.space)))
        yield node.inputs[0], at_a == whole
        yield node.inputs[1], at_b == whole
    elif node.op in STORES:
        yield from ((x, k == 1) for k, x in enumerate(node.inputs))
    elif name == "index":
        yield from ((x, k > 0 and x.type.shape == m.space) for k, x in enumerate(node.inputs))
    elif node.op.fold or node.op.elementwise:
        yield from ((x, True) for x in node.inputs)
    else:
        yield from ((x, False) for x in node.inputs)
    yield from ((s, False) for v in node.outputs for s in v.type.symbols)
