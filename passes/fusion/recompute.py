"""Cheap loops go into the loops that read them: computed again at each place where they are read, never stored.

Fusion joins loops over the same positions. Where a stencil reads its producer at shifted positions (the adjoint of `x[1:] - x[:-1]`,
a Hessian-vector product of it), the two cannot share a loop, but a producer of a few additions and multiplications is cheaper
computed twice than written to memory and read back. Where several loops, and reads of single elements, each read a part (the inside
and the edges of an adjoint), each element is still computed only once. Runs after `fuse`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from irad.core.affine import substitute, symbol
from irad.core.ir import Builder, Graph, Node, Program, Value, captured, defs, reads
from irad.core.notes import Notes
from irad.core.types import affine
from irad.ops.array import dim_value, index
from irad.ops.loop import Map, load, loop
from irad.ops.regions import map_control
from irad.passes.rewrite import Env, give_last

MAX_OPERATIONS = 24  # of a producer's body, loads and constants apart
MAX_READS = 3  # times that it is computed, in all
UNKNOWN = 1 << 20
LARGE = 2048  # elements: a smaller producer stays in cache, where reading it back is as cheap


def recompute(program: Program, notes: Notes | None = None) -> Program:
    """The program with cheap producer loops inlined into the loops that read them."""
    return {name: _graph(g, notes) for name, g in program.items()}


def _graph(graph: Graph, notes: Notes | None) -> Graph:
    nodes = [map_control(n, lambda r: _graph(r, notes)) for n in graph.nodes]
    k = 0
    while k < len(nodes):
        readers = _readers(graph, nodes, k) if _is_cheap(nodes[k]) else None
        if notes is not None:
            _note(notes, nodes[k], readers)
        if readers:
            for j in reversed(readers):
                nodes[j : j + 1] = _inlined(nodes[k], nodes[j])
            del nodes[k]
        else:
            k += 1
    return graph.replace(nodes=nodes)


def _note(notes: Notes, n: Node, readers: list[int] | None) -> None:
    """Say what becomes of a loop that is cheap enough to be computed again."""
    if readers or readers is None and _is_cheap(n):
        count = len(readers or ())
        where = (
            f"computed again where it is read, at {count} places" if count else "stored: it is read whole, or at too many places"
        )
        own = sum(map(_computes, n.regions[0].nodes))
        notes.add("recompute", f"a loop of {own} operations over {n.attrs['extents']} is {where}", n.loc, readers=count)


def _computes(n: Node) -> bool:
    return n.op is not load and not n.op.fills


def _is_cheap(n: Node) -> bool:
    """A large loop that only stores what little it computes, at the position it stands at."""
    if n.op is not loop or _size(n) < LARGE:
        return False
    (body,) = n.regions
    params, rank = set(body.params), len(body.params)
    if any(o.kind != "store" or o.extra or o.map != Map.identity(rank) for o in n.attrs["outs"]):
        return False
    if any(v.type.shape != n.attrs["extents"] for v in n.outputs) or not set(body.results) <= set(defs(body)):
        return False
    own = list(filter(_computes, body.nodes))
    return (
        len(own) <= MAX_OPERATIONS
        and all(not _computes(m) or m.op.elementwise and m.op.cost <= 1 for m in body.nodes)
        and all(params.issuperset(m.inputs[1:]) if m.op is load else not params & set(m.inputs) for m in body.nodes)
    )


def _readers(graph: Graph, nodes: Sequence[Node], k: int) -> list[int] | None:
    """What reads node k's outputs: loops, element by element, and reads of one; None if something else does, or too often.

    Its own operands are then read there too, which must not be after something wrote over them, unless they are read later anyway.
    """
    made = set(nodes[k].outputs)
    if made & set(graph.results):
        return None
    sources = {v for v in captured(nodes[k]) if v.type.shape}
    found, cost, taken = list[int](), 0.0, set[Value]()
    for j in range(k + 1, len(nodes)):
        n = nodes[j]
        if made & set(reads(n)):
            if taken and not taken <= {v for m in nodes[j:] for v in reads(m)}:
                return None
            hits = [n] if _is_element(n) else _loads(n, made)
            if hits is None:
                return None
            cost += len({(m.inputs, m.attrs.get("map")) for m in hits}) * _share(n, nodes[k])
            found.append(j)
        if n.op is not load and not _is_element(n):
            taken |= sources & set(n.inputs)  # by what may write over it
    return found if cost <= MAX_READS else None


def _is_element(n: Node) -> bool:
    """Does it read one element?"""
    return n.op is index and all(isinstance(s, int) or s == "i" for s in n.attrs["spec"])


def _size(n: Node) -> int:
    """Positions of a loop; an extent known at run time only counts as a large one."""
    return prod(substitute(d, lambda _: UNKNOWN) for d in n.attrs["extents"])


def _loads(n: Node, made: set[Value]) -> list[Node] | None:
    """The loads from `made` in the body of a loop; None if it reads them in another way, or is none."""
    if n.op is not loop or made & set(n.inputs) or any(m.regions for m in n.regions[0].nodes):
        return None
    hits = [m for m in n.regions[0].nodes if made & set(m.inputs)]
    return hits if all(m.op is load for m in hits) else None


def _share(reader: Node, producer: Node) -> float:
    """The share of the producer's positions that one read in the reader's body comes to."""
    return min(1.0, (_size(reader) if reader.op is loop else 1) / _size(producer))


class _Inliner:
    """Computes the producer's results at places of a consumer's body; what is computed at one place is shared there."""

    def __init__(self, producer: Node):
        (self.body,) = producer.regions
        self.made = defs(self.body)
        self.at: dict[tuple[tuple[Value, ...], Map], Env] = {}
        self.nodes: list[Node] = []

    def result(self, k: int, idx: tuple[Value, ...], place: Map) -> Value:
        """Result k at the position that `place` makes of the consumer's indices."""
        return self._value(self.body.results[k], idx, place, self.at.setdefault((idx, place), {}))

    def _value(self, v: Value, idx: tuple[Value, ...], place: Map, env: Env) -> Value:
        if v in env or v not in self.made:
            return env.get(v, v)
        m = self.made[v]
        out = Value(v.type, v.hint)
        if m.op is load:
            new = m.replace(
                op=load, inputs=(m.inputs[0], *idx), outputs=(out,), attrs={"map": self._moved(m, place, len(idx))}, regions=()
            )
        else:
            new = m.replace(inputs=tuple(self._value(x, idx, place, env) for x in m.inputs), outputs=(out,))
        self.nodes.append(new)
        env[v] = out
        return out

    def _moved(self, m: Node, place: Map, n: int) -> Map:
        """The map of a load, over the producer's indices, as one over the consumer's."""
        at = dict(zip(self.body.params, place.at(list(map(symbol, range(n))))))
        return Map.of(m.attrs["map"].at([at[v] for v in m.inputs[1:]]), range(n))


def _inlined(producer: Node, consumer: Node) -> list[Node]:
    """The consumer with the producer's body in place of loads from its outputs."""
    if consumer.op is index:
        return _element(producer, consumer)
    (body,) = consumer.regions
    inliner, env, nodes = _Inliner(producer), Env(), list[Node]()
    for m in body.nodes:
        if m.op is load and m.inputs[0] in producer.outputs:
            k = producer.outputs.index(m.inputs[0])
            inliner.nodes = []
            env[m.outputs[0]] = inliner.result(k, m.inputs[1:], m.attrs["map"])
            nodes += inliner.nodes
        elif any(v in env for v in m.inputs):
            nodes.append(m.replace(inputs=tuple(env.get(v, v) for v in m.inputs)))
        else:
            nodes.append(m)
    region = Graph(body.params, tuple(nodes), tuple(env.get(v, v) for v in body.results), body.name)
    return [consumer.replace(regions=(region,))]


def _element(producer: Node, read: Node) -> list[Node]:
    """One element of what the producer makes, computed without its loop."""
    inliner, (_, *at) = _Inliner(producer), read.inputs
    operands = iter(map(symbol, at))
    place = Map.of([s if isinstance(s, int) else next(operands) for s in read.attrs["spec"]], at)
    inliner.result(producer.outputs.index(read.inputs[0]), tuple(at), place)
    nodes = [n for m in inliner.nodes for n in (_index(m) if m.op is load else [m])]
    give_last(nodes, read.outputs)
    return nodes


def _index(m: Node) -> list[Node]:
    """A load at one position, as it is written outside loops."""
    x, *at = m.inputs
    forms = m.attrs["map"].at([affine(0, {v: 1}) for v in at])
    with Builder(m.loc, deriv=m.deriv) as b:
        starts = [dim_value(d) for d in forms if not isinstance(d, int)]
    spec = tuple(d if isinstance(d, int) else "i" for d in forms)
    return [*b.nodes, m.replace(op=index, inputs=(x, *starts), attrs={"spec": spec}, regions=())]
