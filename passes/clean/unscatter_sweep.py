"""Sweeps that scatter, turned round: the adjoint of an in-place sweep (Gauss-Seidel, a recursive filter over two axes).

The adjoint of `A[p] = w(A[p + a], A[p + b], ...)` visits the points in reverse; it takes the cotangent of p away and adds shares
of it to the neighbours, a load and a store for each:

    x = ct[p]; ct[p] = 0; v = f(x); ct[p + a] += v; ct[p + b] += v; ...

Let V[p] be the share of p. What the points visited before p gave it is a sum over V, and so is what p is given afterwards:

    x = ct[p] + sum of V[p - d] over the earlier d; V[p] = f(x)                            the sweep: one store
    y = (sum of V[. - d] over the later d) + (0 where p is visited, ct + sum over the earlier d elsewhere)     a stencil

The sums are re-ordered, which derivatives allow. V has a frame of zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

from irad.core.ir import Builder, Graph, Node, Program, Value, current, map_regions, uses, walk
from irad.core.lazy_dataclass import dataclass
from irad.core.types import Dim, Type
from irad.ops.array import Slice, index, iota, located, update, zeros
from irad.ops.constant import const
from irad.ops.control import for_
from irad.ops.elementwise import select
from irad.passes.analyses.final_values import FinalValues
from irad.passes.rewrite import give_last, splat_of

MIN_ADDS = 3  # stores per point, below which nothing is gained
MAX_SHARES = 4  # different values that a point gives to its neighbours

Offset = tuple[int, ...]


@dataclass(frozen=True)
class Sweep:
    """Nested loops, outermost first, that carry an array at `slots`; the innermost body gives shares to neighbours.

    `read`, `clear`: the nodes that take x and set it to 0; `adds`: (offset, share, the node), `signs`: of each loop's counter in its
    axis, `axes`: of the loops; `lo`, `hi`: the points visited.
    """

    loops: tuple[Node, ...]
    slots: tuple[int, ...]
    read: Node
    clear: Node
    adds: tuple[tuple[Offset, Value, Node], ...]
    signs: tuple[int, ...]
    axes: tuple[int, ...]
    lo: Offset
    hi: Offset

    def earlier(self, d: Offset) -> bool:
        """Is a point visited after the one whose share it takes at this offset?"""
        return self.distance(d) > (0,) * len(d)

    def distance(self, d: Offset) -> Offset:
        """Trips from a point to the one at offset d."""
        return tuple(s * d[a] for s, a in zip(self.signs, self.axes))


def unscatter_sweeps(program: Program) -> Program:
    """The program with every such sweep turned round."""
    return {name: _Sweeps(g).graph(g) if any(n.op is for_ and n.deriv for n in walk(g)) else g for name, g in program.items()}


class _Sweeps:
    def __init__(self, function: Graph):
        self.places = FinalValues(function)

    def graph(self, graph: Graph) -> Graph:
        nodes: list[Node] = []
        for n in graph.nodes:
            sweep = self.find(n) if n.op is for_ and n.deriv else None
            nodes += [map_regions(n, self.graph)] if sweep is None else _turned(sweep)
        return graph.replace(nodes=nodes)

    def find(self, loop: Node) -> Sweep | None:
        """The first carry of the loop that is swept."""
        found = (self.sweep(loop, k) for k, v in enumerate(loop.outputs) if v.type.shape and v.type.static)
        return next((s for s in found if s is not None), None)

    def sweep(self, loop: Node, slot: int) -> Sweep | None:
        loops, slots = [loop], [slot]
        while True:
            (body,) = loops[-1].regions
            p, result = body.params[1 + slots[-1]], body.results[slots[-1]]
            readers = [n for n in body.nodes if p in n.inputs]
            if len(readers) != 1 or readers[0].op is not for_:
                break
            inner = readers[0]
            k = inner.inputs.index(p) - 1
            if k < 0 or inner.outputs[k] is not result or uses(body)[p] != 1 or uses(body)[result] != 1:
                return None
            loops.append(inner)
            slots.append(k)
        return self.innermost(tuple(loops), tuple(slots), p, result)

    def innermost(self, loops: tuple[Node, ...], slots: tuple[int, ...], p: Value, result: Value) -> Sweep | None:
        (body,) = loops[-1].regions
        count = uses(body)
        read = next((n for n in body.nodes if n.op.name == "index" and n.inputs[0] is p), None)
        clear = next((n for n in body.nodes if n.op.name == "update" and n.inputs[0] is p), None)
        if read is None or clear is None or count[p] != 2 or splat_of(self.places.node.get(clear.inputs[1])) != 0:
            return None
        at, chain, adds = self.point(read), clear, []
        if at is None or self.point(clear) != at:
            return None
        placed = self.placed(loops, at)
        following = {n.inputs[0]: n for n in body.nodes if n.op.name == "update_add"}
        while chain.out is not result and count[chain.out] == 1 and chain.out in following:
            chain = following[chain.out]
            to = self.point(chain)
            d = None if to is None else [q - p for q, p in zip(to, at)]
            if d is None or not chain.deriv or not all(isinstance(x, int) for x in d):
                return None
            adds.append((tuple(d), chain.inputs[1], chain))
        shares = {v for _, v, _ in adds}
        if chain.out is not result or placed is None or len(adds) < MIN_ADDS or len(shares) > MAX_SHARES:
            return None
        sweep = Sweep(loops, slots, read, clear, tuple(adds), *placed)  # type: ignore[arg-type]
        inside = all(
            0 <= lo + x and hi + x <= n
            for d, _, _ in sweep.adds
            for lo, hi, x, n in zip(sweep.lo, sweep.hi, d, read.inputs[0].type.dims)
        )
        return sweep if inside else None

    def point(self, n: Node) -> list[Dim] | None:
        """The position of a single element, affine in the counters of loops."""
        if not all(isinstance(s, int) or s == "i" for s in n.attrs["spec"]):
            return None
        found = located(n.attrs["spec"], n.inputs[1 if n.op.name == "index" else 2 :])
        return [self.places.form(at) if s == "i" else at for s, at in found]

    def placed(self, loops: Sequence[Node], at: Sequence[Dim]) -> tuple[Offset, Offset, Offset, Offset] | None:
        """Signs and axes of the counters, and the points visited, if each counter moves along an axis of its own."""
        counters = [n.regions[0].params[0] for n in loops]
        signs, axes, lo, hi = [0] * len(loops), [0] * len(loops), [0] * len(at), [0] * len(at)
        if len(loops) != len(at):
            return None
        for axis, e in enumerate(at):
            if isinstance(e, int) or len(e.terms) != 1 or e.terms[0][0] not in counters or abs(e.terms[0][1]) != 1:
                return None
            ((counter, sign),) = e.terms
            level = counters.index(counter)
            trips = splat_of(self.places.node.get(loops[level].inputs[0]))
            if trips is None or trips < 1 or signs[level]:
                return None
            signs[level], axes[level] = sign, axis
            first, last = e.const, e.const + sign * (int(trips) - 1)
            lo[axis], hi[axis] = min(first, last), max(first, last) + 1
        return tuple(signs), tuple(axes), tuple(lo), tuple(hi)


def _turned(s: Sweep) -> list[Node]:
    root, slot = s.loops[0], s.slots[0]
    ct, out = root.inputs[1 + slot], root.outputs[slot]
    shares = list(dict.fromkeys(v for _, v, _ in s.adds))
    frame = [max(abs(d[a]) for d, _, _ in s.adds) for a in range(ct.type.rank)]
    t = ct.type.with_shape(tuple(n + 2 * w for n, w in zip(ct.type.dims, frame)))
    with Builder(root.loc, deriv=True) as b:
        loop = _loop(s, 0, ct, shares, frame, [zeros(t) for _ in shares])
        b.nodes.append(loop)
        vs = [loop.outputs[slot], *loop.outputs[len(root.outputs) :]]
        windows = [tuple(Slice(w - x, n) for w, x, n in zip(frame, d, ct.type.dims)) for d, _, _ in s.adds]
        given = [(s.earlier(d), index(vs[shares.index(v)], spec=w)) for (d, v, _), w in zip(s.adds, windows)]
        elsewhere = reduce(add, [ct, *(x for earlier, x in given if earlier)])
        reduce(add, [select(_visited(s, ct.type), zeros(ct.type), elsewhere), *(x for earlier, x in given if not earlier)])
    give_last(b.nodes, (out,))
    return b.nodes


def _visited(s: Sweep, t: Type) -> Value:
    """Which elements the sweep visits."""
    whole = t.with_dtype("i64")
    inside: Value | None = None
    for axis, (lo, hi, n) in enumerate(zip(s.lo, s.hi, t.dims)):
        at = iota(type=whole, axis=axis)
        tests = [at >= lo] * (lo > 0) + [at < hi] * (hi < n)
        for test in tests:
            inside = test if inside is None else inside & test
    return const(value=True, type=t.with_dtype("bool")) if inside is None else inside


def _loop(s: Sweep, level: int, ct: Value, shares: Sequence[Value], frame: Sequence[int], vs: Sequence[Value]) -> Node:
    """The loop at a level of the nest, over the shares (the first in the place of the array) instead of the array."""
    old, slot = s.loops[level], s.slots[level]
    (body,) = old.regions
    new = [Value(v.type, "v") for v in vs]
    params = (*body.params[: 1 + slot], new[0], *body.params[2 + slot :], *new[1:])
    results = list(body.results)
    if level + 1 < len(s.loops):
        inner = _loop(s, level + 1, ct, shares, frame, new)
        nodes = [inner if n is s.loops[level + 1] else n for n in body.nodes]
        first, count = s.slots[level + 1], len(s.loops[level + 1].outputs)
        ends = [inner.outputs[first], *inner.outputs[count:]]
    else:
        nodes, ends = _body(s, body, ct, shares, frame, new)
    results[slot : slot + 1] = ends[:1]
    region = Graph(params, tuple(nodes), (*results, *ends[1:]))
    inputs = (*old.inputs[: 1 + slot], vs[0], *old.inputs[2 + slot :], *vs[1:])
    outputs = list(old.outputs)
    outputs[slot : slot + 1] = [Value(vs[0].type, "v")]
    return old.replace(inputs=inputs, outputs=(*outputs, *(Value(v.type, "v") for v in vs[1:])), regions=(region,))


def _body(
    s: Sweep, body: Graph, ct: Value, shares: Sequence[Value], frame: Sequence[int], vs: Sequence[Value]
) -> tuple[list[Node], list[Value]]:
    """The innermost body: what it reads is gathered, and its shares are stored."""
    gone = {s.clear, *(n for _, _, n in s.adds)}
    at = s.read.inputs[1:]
    with Builder(s.read.loc, deriv=True) as b:
        for n in body.nodes:
            if n is s.read:
                _gather(s, n, at, ct, shares, frame, vs)
            elif n not in gone:
                b.nodes.append(n)
        here = [_moved(p, w) for p, w in zip(at, frame)]
        ends = [update(v, share, *here, spec=("i",) * len(here)) for v, share in zip(vs, shares)]
    return b.nodes, ends


def _gather(
    s: Sweep, read: Node, at: Sequence[Value], ct: Value, shares: Sequence[Value], frame: Sequence[int], vs: Sequence[Value]
) -> None:
    """x = ct[p] + the shares that p was given so far, the latest last: it is waited for."""
    spec = ("i",) * len(at)
    x = index(ct, *at, spec=spec)
    earlier = sorted(((s.distance(d), d, v) for d, v, _ in s.adds if s.earlier(d)), key=lambda t: t[0], reverse=True)
    for _, d, v in earlier:
        place = [_moved(p, w - k) for p, w, k in zip(at, frame, d)]
        x = x + index(vs[shares.index(v)], *place, spec=spec)
    give_last(current().nodes, read.outputs)


def _moved(at: Value, by: int) -> Value:
    return at + by if by else at
