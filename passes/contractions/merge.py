"""Axes merged by a reshape around a product, taken apart again where windows are behind it.

Written out by hand, a convolution is `patches.reshape(b * h * w, c * n * n) @ k.reshape(o, -1).T`. Elements of the merged array do
not stand at affine positions of the windows, so it would have to be made. The product over the axes before they were merged
is the same one, and the same holds for its adjoint, whose result is reshaped back before it is scattered over the windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irad.core.ir import Builder, Graph, Node, Value, defs, readers, substitute_node
from irad.ops.array import STORES, Product, dot, reshape_to, transpose
from irad.passes.contractions.operands import Operands, splits
from irad.passes.fusion.windows import under_window
from irad.passes.rewrite import give_last, live

Split = dict[int, tuple[int, ...]]  # axis -> the extents that it is the product of


def split_merged(graph: Graph) -> Graph:
    """The graph with such products over the axes that were merged."""
    return _Merged(graph).run() if any(n.op.name == "dot" for n in graph.nodes) else graph


class _Merged:
    def __init__(self, graph: Graph):
        self.graph, self.defs = graph, defs(graph)
        self.view = Operands(self.defs, (), None).view
        self.users = readers(graph)
        self.results = set(graph.results)
        self.apart: dict[Value, tuple[Value, Split]] = {}  # a product, or a transpose of one -> the same with its axes apart

    def run(self) -> Graph:
        new = {n: self._split(n) for n in self.graph.nodes if n.op is dot and all(v.type.static for v in (*n.inputs, n.out))}
        nodes = [m for n in self.graph.nodes for m in new.get(n) or [n]]
        return self.graph.replace(nodes=self._without_detours(nodes)) if any(new.values()) else self.graph

    def _without_detours(self, nodes: list[Node]) -> list[Node]:
        """The nodes without reshapes back to what was just reshaped, and without views that nothing reads any more."""
        env: dict[Value, Value] = {}
        out: list[Node] = []
        for n in nodes:
            n = substitute_node(n, env)
            whole = self.apart.get(n.inputs[0]) if n.op.each_once else None
            if whole is not None and n.op.name == "transpose":
                y, split = whole
                at, perm = _starts(n.out.type.rank, split), n.attrs["perm"]
                with Builder(n.loc, deriv=n.deriv) as b:
                    z = transpose(y, perm=tuple(j for p in perm for j in at[p]))
                out += b.nodes
                self.apart[n.out] = z, {k: split[p] for k, p in enumerate(perm) if p in split}
            elif whole is not None and whole[0].type == n.out.type and n.out not in self.results:
                env[n.out] = whole[0]
                continue
            out.append(n)
        return live(out, self.results, lambda n: n.op.each_once)

    def _split(self, n: Node) -> list[Node] | None:
        """The product over axes taken apart, and a reshape of its result to what it was; None if nothing is merged."""
        p = Product(n)
        contract, batch, free = p.contract, p.batch, p.free
        own = [self._merged(v) for v in n.inputs]
        out = self._scattered(n)
        a, b = n.inputs
        for side, first in ((0, len(batch[0])), (1, len(batch[0]) + len(free[0]))):
            own[side].update((k, out[first + j]) for j, k in enumerate(free[side]) if first + j in out and k not in own[side])
        for ka, kb in (*zip(*contract), *zip(*batch)):
            for one, other, k, l in ((0, 1, ka, kb), (1, 0, kb, ka)):
                if k in own[one]:
                    own[other].setdefault(l, own[one][k])
        if not any(own) or any(own[0].get(ka) != own[1].get(kb) for ka, kb in (*zip(*contract), *zip(*batch))):
            return None
        with Builder(n.loc, deriv=n.deriv) as build:
            x, y = (self._unmerged(v, s) for v, s in zip((a, b), own))
            at = [_starts(v.type.rank, s) for v, s in zip((a, b), own)]
            new = [tuple(tuple(j for k in axes for j in p[k]) for p, axes in zip(at, pair)) for pair in (contract, batch)]
            product = dot(x, y, contract=new[0], batch=new[1])
            reshape_to(product, n.out.type.shape)
        axes = [*(own[0].get(k) for k in batch[0]), *(own[side].get(k) for side in (0, 1) for k in free[side])]
        self.apart[n.out] = product, {k: s for k, s in enumerate(axes) if s}
        give_last(build.nodes, n.outputs)
        return build.nodes

    def _merged(self, v: Value) -> Split:
        """The axes of an operand that a reshape of windows has merged."""
        d = self.defs.get(v)
        if d is None or d.op.name != "reshape" or not under_window(self.view, d.inputs[0]):
            return {}
        return _groups(v.type.shape, d.inputs[0].type.shape)

    def _scattered(self, n: Node) -> Split:
        """The axes of a product that a reshape takes apart before the result is scattered over windows."""
        v, perm = n.out, list(range(n.out.type.rank))
        while (user := self._reader(v)) is not None and user.op.name == "transpose":
            v, perm = user.out, [perm[p] for p in user.attrs["perm"]]
        if user is None or user.op.name != "reshape":
            return {}
        found = {perm[k]: s for k, s in _groups(v.type.shape, user.out.type.shape).items()}
        while user is not None and (user.op.each_once or user.op in STORES):
            if user.op.name == "update_add" and "g" in user.attrs["spec"]:
                return found
            user = self._reader(user.out)
        return {}

    def _reader(self, v: Value) -> Node | None:
        """The only node that reads v."""
        readers = self.users.get(v, [])
        return readers[0] if len(readers) == 1 and v not in self.results else None

    def _unmerged(self, v: Value, split: Split) -> Value:
        """v with axes taken apart."""
        if not split:
            return v
        target = tuple(e for k, d in enumerate(v.type.shape) for e in split.get(k, (d,)))
        d = self.defs.get(v)
        if d is not None and d.op.name == "transpose":
            perm = d.attrs["perm"]
            inner = self._unmerged(d.inputs[0], {perm[k]: s for k, s in split.items()})
            at = _starts(len(perm), {perm[k]: s for k, s in split.items()})
            return transpose(inner, perm=tuple(j for p in perm for j in at[p]))
        if d is not None and d.op.name == "reshape" and d.inputs[0].type.shape == target:
            return d.inputs[0]
        return reshape_to(v, target)


def _groups(coarse: Sequence[object], fine: Sequence[object]) -> Split:
    """Axes of the coarse shape that are several of the fine one."""
    groups = splits(coarse, fine)  # type: ignore[arg-type]
    if groups is None or sum(map(len, groups)) != len(fine):
        return {}
    return {k: tuple(fine[j] for j in g) for k, g in enumerate(groups) if len(g) > 1}  # type: ignore[misc]


def _starts(rank: int, split: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """For each axis, where it is, or its parts are, after axes are taken apart."""
    out, k = [], 0
    for axis in range(rank):
        n = len(split.get(axis, (0,)))
        out.append(list(range(k, k + n)))
        k += n
    return out
