"""Stores through views of views: what is stored into a reshaped slice goes to the array itself.

`m = vals[:k].reshape(n, 4); m[i, j] = v` is read as: take the slice, give it another shape, store into that, give it the old shape,
store the slice. As it stands, that copies the slice twice for one number. Where each place of the view is one of the array, the stores
go there, and so do the reads of what was stored so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from irad.core.ir import Builder, Graph, Node, Program, Value, defs, map_regions, reads
from irad.core.lazy_dataclass import dataclass
from irad.core.types import Dim
from irad.ops.array import STORES, Slice, index, located, reshape_to
from irad.passes.rewrite import give_last

Position = int | Value


@dataclass(frozen=True)
class Run:
    """Positions of an axis that stays: `size` of them, from `start` on."""

    start: Position
    size: Dim
    step: int = 1


Item = Position | Run
Place = list[Item]


@dataclass(frozen=True)
class View:
    """An array whose elements are those of `base` at `place`, None for all, in a shape of its own."""

    base: Value
    node: Node | None  # the `index` that takes the place
    shape: tuple[Dim, ...]

    @property
    def kept(self) -> tuple[Dim, ...]:
        """The shape of the place."""
        return self.base.type.shape if self.node is None else self.node.out.type.shape

    def at(self, items: Place) -> Place | None:
        """A place of the view as one of the array; None if it is none."""
        inner = reshaped(items, self.shape, self.kept)
        if inner is None or self.node is None:
            return inner
        out, rest = Place(), iter(inner)
        for item in items_of(self.node, 1):
            out.append(_within(item, next(rest)) if isinstance(item, Run) else item)
        return out


def stored_views(program: Program) -> Program:
    """The program with such stores where the array lies."""
    return {name: _graph(g) for name, g in program.items()}


def _graph(graph: Graph) -> Graph:
    graph = graph.replace(nodes=[map_regions(n, _graph) for n in graph.nodes])
    while any(n.op in STORES for n in graph.nodes):  # a view of a view takes a round more
        finder = _Finder(graph)
        chains = finder.chains()
        if not chains:
            break
        graph = _rewritten(graph, chains, finder.defs)
    return graph


@dataclass(frozen=True)
class Chain:
    """A view with stores into it, up to `end`, which puts it back where it was taken; `nodes`: from the first store on."""

    end: Node
    base: Value
    nodes: tuple[Node, ...]
    stores: dict[Node, View]


class _Finder:
    def __init__(self, graph: Graph):
        self.graph, self.defs, self.taken = graph, defs(graph), set[Node]()
        self.readers: dict[Value, list[Node | None]] = {v: [None] for v in graph.results}
        for n in graph.nodes:
            for v in reads(n):
                self.readers.setdefault(v, []).append(n)

    def chains(self) -> list[Chain]:
        found = []
        for end in self.graph.nodes:
            chain = self.chain(end) if end.op.name in ("update", "reshape") else None
            if chain is not None:
                found.append(chain)
                self.taken |= {end, *chain.nodes}
        return found

    def chain(self, end: Node) -> Chain | None:
        stored, nodes = end.op.name == "update", list[Node]()
        take = self.defs.get(end.inputs[stored])
        while take is not None and take not in self.taken and (take.op.name == "reshape" or take.op in STORES):
            nodes.insert(0, take)
            take = self.defs.get(take.inputs[0])
        while not stored and nodes and nodes[0].op in STORES:
            nodes.pop(0)  # into the array itself
        first = next((k for k, n in enumerate(nodes) if n.op in STORES), None)
        if first is None:
            return None
        if not stored:
            take = None
        elif take is None or take.op is not index or not _same_place(take, end):
            return None
        base = end.inputs[0] if stored else nodes[0].inputs[0]
        inner = nodes[first:]
        if any(r is not end and r not in inner for n in inner for r in self.readers.get(n.out, ())):
            return None
        stores = _views(View(base, take, nodes[0].inputs[0].type.shape), nodes)
        return Chain(end, base, tuple(inner), stores) if stores and (stored or base.type == end.out.type) else None


def _same_place(take: Node, end: Node) -> bool:
    spec = take.attrs["spec"]
    return take.inputs == (end.inputs[0], *end.inputs[2:]) and spec == end.attrs["spec"] and "g" not in spec


def _views(view: View, nodes: Sequence[Node]) -> dict[Node, View] | None:
    """The view that each store of a chain stores into; None if one cannot be made on the array itself."""
    out = dict[Node, View]()
    with Builder():
        for n in nodes:
            if n.op not in STORES:
                view = View(view.base, view.node, n.out.type.shape)
            elif _moved(n, view, view.base) is None:
                return None
            else:
                out[n] = view
    return out


def _rewritten(graph: Graph, chains: Sequence[Chain], made: dict[Value, Node]) -> Graph:
    of = {n: c for c in chains for n in c.nodes}
    ends, bases = {c.end for c in chains}, {v for c in chains for v in (c.base, c.end.out)}
    now: dict[Node, Value] = {}  # by the end of a chain: the array so far
    nodes: list[Node] = []
    for n in graph.nodes:
        if n in ends:
            continue
        if n not in of:
            nodes += _read(n, bases, made)
        elif n.op in STORES:
            c = of[n]
            new = _moved(n, c.stores[n], now.get(c.end, c.base))
            assert new is not None
            if n is list(c.stores)[-1]:
                give_last(new, c.end.outputs)
            now[c.end] = new[-1].out
            nodes += new
    return graph.replace(nodes=nodes)


def _moved(n: Node, view: View, base: Value) -> list[Node] | None:
    """A store into a view, or a read of it, on the array."""
    if "g" in n.attrs["spec"] or not base.type.shape:  # a number has no places
        return None
    with Builder(n.loc, deriv=n.deriv) as b:
        items = view.at(items_of(n, 1 if n.op is index else 2))
        if items is None:
            return None
        spec, operands = _spec(items)
        if n.op is index:
            reshape_to(index(base, *operands, spec=spec), n.out.type.shape)
        else:
            shape = [item.size for item in items if isinstance(item, Run)]
            n.op(base, reshape_to(n.inputs[1], shape), *operands, spec=spec)
    return b.nodes


def _read(n: Node, bases: set[Value], made: dict[Value, Node]) -> list[Node]:
    """The node; a read of such a view of an array reads the array."""
    source = take = made.get(n.inputs[0]) if n.op is index else None
    while take is not None and take.op.name == "reshape" and take.inputs[0] not in bases:
        take = made.get(take.inputs[0])
    if source is None or take is None or take.op.name not in ("reshape", "index") or take.inputs[0] not in bases:
        return [n]
    base = take.inputs[0]
    whole = take.op is not index
    new = (
        None if "g" in take.attrs.get("spec", ()) else _moved(n, View(base, None if whole else take, source.out.type.shape), base)
    )
    if new is None:
        return [n]
    give_last(new, n.outputs)
    return new


# ---- places ---------------------------------------------------------------------------------------------------------


def items_of(n: Node, skip: int) -> Place:
    """The place that a node names, without gathers. `skip`: its operands before the positions."""
    found = located(n.attrs["spec"], n.inputs[skip:])
    return Place(Run(at, s.size, s.step) if isinstance(s, Slice) else at for s, at in found)


def _spec(items: Place) -> tuple[tuple[int | str | Slice, ...], list[Value]]:
    spec: list[int | str | Slice] = []
    operands = []
    for item in items:
        at = item.start if isinstance(item, Run) else item
        if isinstance(at, Value):
            operands.append(at)
        if isinstance(item, Run):
            spec.append(Slice(None if isinstance(at, Value) else at, item.size, item.step))
        else:
            spec.append("i" if isinstance(item, Value) else item)
    return tuple(spec), operands


def _scaled(p: Position, by: int) -> Position:
    return p if by == 1 else p * by


def _plus(p: Position, q: Position) -> Position:
    if isinstance(p, int) and isinstance(q, int):
        return p + q
    return q if isinstance(p, int) and p == 0 else p if isinstance(q, int) and q == 0 else p + q


def _within(run: Run, item: Item) -> Item:
    """A place of a slice, as one of the axis."""
    if isinstance(item, Run):
        return Run(_plus(run.start, _scaled(item.start, run.step)), item.size, item.step * run.step)
    return _plus(run.start, _scaled(item, run.step))


def reshaped(items: Place, shape: Sequence[Dim], to: Sequence[Dim]) -> Place | None:
    """A place of an array, in another shape of it; None if it is no place of slices and positions there."""
    out, rest = Place(), list(items)
    for from_, onto in _groups(shape, to):
        part, rest = rest[: len(from_)], rest[len(from_) :]
        new = _regrouped(part, from_, onto)
        if new is None:
            return None
        out += new
    return out


def _groups(a: Sequence[Dim], b: Sequence[Dim]) -> Iterator[tuple[list[Dim], list[Dim]]]:
    """The axes of two shapes of one array, cut where both begin a new row; those that do not fit are one group."""
    i = j = 0
    while i < len(a) and j < len(b):
        k, l = i + 1, j + 1
        while a[i:k] != b[j:l]:
            if any(not isinstance(d, int) for d in (*a[i:k], *b[j:l])):
                k, l = len(a), len(b)
                break
            p, q = (prod(d for d in s if isinstance(d, int)) for s in (a[i:k], b[j:l]))
            if p == q:
                break
            k, l = (k + 1, l) if p < q and k < len(a) else (k, l + 1)
        yield list(a[i:k]), list(b[j:l])
        i, j = k, l
    if i < len(a) or j < len(b):
        yield list(a[i:]), list(b[j:])


def _regrouped(items: Place, shape: Sequence[Dim], to: Sequence[Dim]) -> Place | None:
    if list(shape) == list(to):
        return items
    if all(isinstance(i, Run) and i == Run(0, d) for i, d in zip(items, shape)):
        return [Run(0, d) for d in to]
    if any(not isinstance(d, int) or d == 0 for d in (*shape, *to)):
        return None
    if prod(to) == 1:  # type: ignore[type-var]
        return [0] * len(to) if all(not isinstance(i, Run) or i.size == 1 for i in items) else None
    linear = _linear(items, [d for d in shape if isinstance(d, int)])
    if linear is None or len(to) == 1:
        return None if linear is None else [linear]
    return None if isinstance(linear, Run) else _unravelled(linear, [d for d in to if isinstance(d, int)])


def _linear(items: Place, shape: Sequence[int]) -> Item | None:
    """The place as one run of the elements in order, or one of them."""
    start: Position = 0
    size, step = 1, 0
    for k, item in enumerate(items):
        pitch = prod(shape[k + 1 :])
        if not isinstance(item, Run):
            start = _plus(start, _scaled(item, pitch))
        elif item.size == 1 or not isinstance(item.size, int):
            if not isinstance(item.size, int):
                return None
            start, step = _plus(start, _scaled(item.start, pitch)), step or pitch
        elif not step or size == 1:
            start, size, step = _plus(start, _scaled(item.start, pitch)), item.size, item.step * pitch
        elif item != Run(0, shape[k]) or step != pitch * shape[k]:
            return None
        else:
            size, step = size * shape[k], pitch
    return Run(start, size, step) if step else start


def _unravelled(p: Position, shape: Sequence[int]) -> Place:
    """One position as one for each axis."""
    if isinstance(p, int):
        return [p // prod(shape[k + 1 :]) % d for k, d in enumerate(shape)]
    out = Place()
    for k, d in enumerate(shape):
        pitch = prod(shape[k + 1 :])
        q = p // pitch if pitch > 1 else p
        out.append(q % d if k else q)
    return out
