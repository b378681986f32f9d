"""Contractions recognised in nests: the sums of products, what is done with them, and which axis has which part in a register tile.

See irad.codegen.schedule.contractions for the form of a nest and the names of the axes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Self

from irad.codegen.kernel.form import integer
from irad.codegen.lower.graph import KernelBuilder
from irad.codegen.schedule.elements import REGISTER, LoopResult, results
from irad.codegen.schedule.packed import coefficient_of
from irad.codegen.schedule.register_tile import LATENCY, Room, choose_tile
from irad.core.affine import Integer, symbols
from irad.core.ir import Graph, Node, Value
from irad.core.lazy_dataclass import dataclass, field
from irad.ops.loop import load, loop

SMALL = 512  # multiplications: below this a nest is as fast without register tiles
SCATTER = 1.2  # cycles per element stored or loaded in steps


@dataclass
class Factor:
    """One side of the product: the nodes that compute it from loads, and its value."""

    value: Value
    nodes: list[Node]
    axes: set[str]  # names of the axes it depends on


@dataclass(eq=False)
class InnerSum:
    """An inner loop: the sum of `broadcast * vector` over its own axes, added to accumulator `group`."""

    node: Node
    group: int
    params: list[Value]
    names: list[str]
    extents: list[int]
    factors: list[Factor]
    broadcast: Factor = field(init=False)
    vector: Factor = field(init=False)

    @property
    def terms(self) -> int:
        return prod(self.extents)


class ContractionForm:
    """A nest recognised as a contraction: its axes, sums, epilogue and results."""

    def __init__(self, f: KernelBuilder, node: Node):
        self.f, self.node = f, node
        (self.body,) = node.regions
        self.params = list(self.body.params)
        self.names = [f.fresh(p.hint or "i") for p in self.params]
        self.extents = [int(d) for d in node.attrs["extents"]]
        self.results = results(node)
        self.sums: list[InnerSum] = []
        self.group_of: dict[Value, int] = {}
        self.epilogue: list[Node] = []
        for p, n in zip(self.params, self.names):
            f.env[p] = integer(n)

    # ---- recognising -----------------------------------------------------------------------------------------

    @classmethod
    def of(cls, f: KernelBuilder, node: Node) -> Self | None:
        """The nest as a contraction, or None if it has another form."""
        (body,) = node.regions
        inner = [n for n in body.nodes if n.op is loop]
        if not inner or not all(_is_sum(n) for n in inner):
            return None
        if not all(isinstance(d, int) and d for n in (node, *inner) for d in n.attrs["extents"]):
            return None
        if any(o.kind not in ("store", "add") or o.extra for o in node.attrs["outs"]):
            return None
        if any(v.type.shape for v in body.results) or any(not v.type.shape for v in node.outputs):
            return None
        if any(n.op.name not in ("const", "loop", "load") and not n.op.elementwise for n in body.nodes):
            return None
        c = cls(f, node)
        work = prod(c.extents) * sum(prod(n.attrs["extents"]) for n in inner)
        return c if work >= SMALL and c._parse() else None

    def _parse(self) -> bool:
        for n in self.body.nodes:
            if n.op is loop:
                if not self._sum(n):
                    return False
            elif n.op.name != "const":
                self.epilogue.append(n)
        dests = {v for s in self.sums for v in s.node.inputs}
        self.read = {v for n in self.epilogue for v in n.inputs} | set(self.body.results)
        return not any(v in self.read for v in dests & set(self.group_of)) and not any(
            v not in self.f.env for n in self.epilogue if n.op is load for v in n.inputs[1:]
        )

    def _sum(self, n: Node) -> bool:
        f = self.f
        (region,) = n.regions
        (dest,) = n.inputs
        group = self.group_of.get(dest)
        if group is None:
            made = f.defs.get(dest)
            if made is None or made.op.name != "const" or made.attrs["value"] != 0:
                return False
            group = len({*self.group_of.values()})
        names = [f.fresh(p.hint or "k") for p in region.params]
        f.env.update((p, integer(name)) for p, name in zip(region.params, names))
        factors = self._factors(region)
        if factors is None:
            return False
        self.group_of[n.outputs[0]] = group
        self.sums.append(InnerSum(n, group, list(region.params), names, [int(d) for d in n.attrs["extents"]], factors))
        return True

    def _factors(self, region: Graph) -> list[Factor] | None:
        """The two sides of the product that the region yields."""
        defs = {n.outputs[0]: n for n in region.nodes}
        top = defs.get(region.results[0])
        if top is None or top.op.name != "mul":
            return None
        out = []
        for x in top.inputs:
            need: set[Value] = {x}
            for n in reversed(region.nodes):
                if n.outputs[0] in need:
                    need.update(n.inputs)
            nodes = [n for n in region.nodes if n.outputs[0] in need and n.op.name != "const"]
            if any(n.op is load and any(i not in self.f.env for i in n.inputs[1:]) for n in nodes):
                return None
            axes = {name for n in nodes if n.op is load for name in symbols(self.position(n))}
            out.append(Factor(x, nodes, axes))
        return out

    def position(self, n: Node) -> Integer:
        return self.f.flat(n.inputs[0], n.attrs["map"], [self.f.aff(i) for i in n.inputs[1:]])

    def target(self, r: LoopResult) -> Integer:
        return self.f.flat(r.finals[0], r.out.map, [self.f.aff(p) for p in self.body.params])

    # ---- choosing axes ---------------------------------------------------------------------------------------

    def choose_axes(self) -> bool:
        """Find the column and row axes and the tile; False if there are none."""
        self._collapse()
        best: tuple[float, int] | None = None
        for k, name in enumerate(self.names):
            score = self._column_score(k, name)
            if score is not None and (best is None or score > best[0]):
                best = (score, k)
        if best is None:
            return False
        self.column = best[1]
        v = self.names[self.column]
        for s in self.sums:
            s.vector, s.broadcast = sorted(s.factors, key=lambda x: v not in x.axes)
        self.rows = [k for k, name in enumerate(self.names) if k != self.column and self._row_axis(name)]
        if not self.rows:
            return False
        self.dtype = self.sums[0].node.outputs[0].type.dtype
        groups = len({s.group for s in self.sums})
        lanes = REGISTER // self.f.itemsize(self.dtype)
        independent = groups * prod(self.extents[k] for k in self.rows) * -(-self.extents[self.column] // lanes)
        others = [k for k in range(len(self.names)) if k != self.column and k not in self.rows and self.extents[k] > 1]
        if independent < LATENCY and others:  # more sums, to cover the latency of the additions
            self.rows.insert(0, others[-1])
        self.rest = [k for k in range(len(self.names)) if k != self.column and k not in self.rows]
        heights = [self.extents[k] for k in self.rows]
        room = Room(self.f.out.registers, self.f.itemsize(self.dtype))
        self.tile = choose_tile(heights, self.extents[self.column], lanes, groups, self._steps(), room)
        return True

    def _steps(self) -> int:
        """How often the inner axes run for a tile that holds all rows and columns."""
        return prod(self.extents[k] for k in self.rest) * sum(s.terms for s in self.sums) // len({s.group for s in self.sums})

    def _row_axis(self, name: str) -> bool:
        return all(name in s.broadcast.axes and name not in s.vector.axes for s in self.sums)

    def _column_score(self, k: int, name: str) -> float | None:
        """How good axis k is for the lanes (less the cycles it takes); None if it cannot have them."""
        for s in self.sums:
            a, b = s.factors
            if (name in a.axes) == (name in b.axes):
                return None
            side = a if name in a.axes else b
            coefs = [coefficient_of(self.position(n), name) for n in side.nodes if n.op is load]
            if any(c not in (0, 1) for c in coefs):
                return None
        n, lanes = self.extents[k], REGISTER // self.f.itemsize(self.sums[0].node.outputs[0].type.dtype)
        size = prod(self.extents)
        vectors = size * sum(s.terms for s in self.sums) / n * -(-n // lanes)
        steps = [coefficient_of(self.target(r), name) for r in self.results]
        steps += [coefficient_of(self.position(m), name) for m in self.epilogue if m.op is load]
        return -vectors / 2 - SCATTER * size * sum(c not in (0, 1) for c in steps)

    def _collapse(self) -> None:
        """Merge neighbouring axes that every access walks as one, of the result and of each sum."""
        own = {p for p in self.params}
        plain = {v for n in self.epilogue if n.op is not load for v in n.inputs if v in own}
        accesses: Callable[[], list[Integer]] = lambda: [
            *(self.target(r) for r in self.results),
            *(self.position(n) for n in self.epilogue if n.op is load),
            *(self.position(n) for s in self.sums for x in s.factors for n in x.nodes if n.op is load),
        ]
        _merge_axes(self.f, self.params, self.names, self.extents, accesses, plain)
        for s in self.sums:
            own_accesses: Callable[[], list[Integer]] = lambda s=s: [  # type: ignore[misc]
                self.position(n) for x in s.factors for n in x.nodes if n.op is load
            ]
            _merge_axes(self.f, s.params, s.names, s.extents, own_accesses, set())
        for s in self.sums:
            for x in s.factors:
                x.axes = {name for n in x.nodes if n.op is load for name in symbols(self.position(n))}


def _is_sum(n: Node) -> bool:
    """An inner loop that adds up one scalar float."""
    outs, (out,) = n.attrs["outs"], n.outputs[:1]
    return (
        len(outs) == 1 and outs[0].kind == "add" and not out.type.shape and not outs[0].extra and out.type.dtype in ("f32", "f64")
    )


def _merge_axes(
    f: KernelBuilder,
    params: list[Value],
    names: list[str],
    extents: list[int],
    accesses: Callable[[], list[Integer]],
    plain: set[Value],
) -> None:
    """Merge axis k into k+1 where each access's step along k is the length of k+1 times its step along k+1."""
    k = 0
    while k + 1 < len(names):
        a, b, n = names[k], names[k + 1], extents[k + 1]
        fits = params[k] not in plain and params[k + 1] not in plain
        if fits and all(coefficient_of(x, a) == coefficient_of(x, b) * n for x in accesses()):
            f.env[params[k]] = 0
            extents[k + 1] *= extents[k]
            del params[k], names[k], extents[k]
            k = max(k - 1, 0)
        else:
            k += 1
