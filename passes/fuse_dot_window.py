"""Windows: gathers at `i + j`, as sliding_window_view makes them, and the adjoint of a convolution.

A contraction over windows is a convolution. Its windows are read through affine maps (`x[h + i, w + j]`) and never made; see
`affine_index`. The gradient by the input scatters the product of the outer gradient and the kernel back over the windows:

    dx[y] = sum over i of D[y - i, i],   D[h, i] = sum over o of ct[o, h] k[o, i]

which is a convolution again, of the padded outer gradient with the flipped kernel: with P[o, y + n - 1] = ct[o, y] for windows of
n, dx[y] = sum over o, i of P[o, y + i] k[o, n - 1 - i]. `unscatter_windows` makes it so; D is never made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irad.ir import Builder, Graph, Node, Value, current, defs, reads
from irad.ops.array import Slice, dot, index, iota, transpose_to, update, zeros
from irad.ops.elementwise import add
from irad.passes.fuse_access import as_dim
from irad.records import dataclass
from irad.types import I64, Dim, Type

Pair = tuple[int, ...]  # one axis, or (place, offset in the window) of one

Defs = dict[Value, Node]


def affine_index(get: Callable[[Value], Node | None], v: Value, pos: Sequence[Dim]) -> Dim | None:
    """Element `pos` of an array of positions as an affine integer: sums and multiples of iotas. None for any other."""
    n = get(v)
    if n is None:
        return None
    name = n.op.name
    if name == "iota":
        return pos[n.attrs["axis"]]
    if name == "const" and not hasattr(n.attrs["value"], "shape"):
        return int(n.attrs["value"])
    if name == "broadcast":
        (x,) = n.inputs
        out = n.out.type.shape
        return affine_index(get, x, [0 if d == 1 and out[k] != 1 else pos[k] for d, k in zip(x.type.shape, n.attrs["dims"])])
    if name in ("add", "sub", "mul"):
        a, b = (affine_index(get, x, pos) for x in n.inputs)
        if a is None or b is None or name == "mul" and not (isinstance(a, int) or isinstance(b, int)):
            return None
        return a + b if name == "add" else a - b if name == "sub" else a * b  # type: ignore[operator]
    return None


def is_window(get: Callable[[Value], Node | None], node: Node) -> bool:
    """A gather whose positions are affine in the indices of the result."""
    if node.op.name != "index" or node.attrs["spec"].count("g") != 1 or len(node.inputs) != 2:
        return False
    g = node.inputs[1]
    probe = [Value(I64) for _ in range(g.type.rank)]
    return affine_index(get, g, [as_dim(v) for v in probe]) is not None


def unscatter_windows(graph: Graph, wanted: Callable[[Node], bool]) -> Graph:
    """The graph with products scattered over windows as convolutions."""
    return _Unscatter(graph, wanted).run()


@dataclass
class _Scattered:
    """A product scattered over windows: for each axis of the result, the axis or the (place, offset) axes of the product."""

    dot: Node
    axes: list[Pair]


class _Unscatter:
    def __init__(self, graph: Graph, wanted: Callable[[Node], bool]):
        self.graph, self.wanted, self.defs = graph, wanted, defs(graph)
        self.uses: dict[Value, int] = {}
        for n in graph.nodes:
            for v in reads(n):
                self.uses[v] = self.uses.get(v, 0) + 1
        for v in graph.results:
            self.uses[v] = self.uses.get(v, 0) + 1

    def run(self) -> Graph:
        new: dict[Node, list[Node]] = {}
        dead: set[Value] = set()
        for n in reversed(self.graph.nodes):
            if n.op.name == "update_add" and n.out not in dead:
                s = self._scattered(n)
                if s is not None:
                    new[n] = self._convolution(n, s)
                    dead |= self._between(n, s.dot)
        if not new:
            return self.graph
        nodes: list[Node] = []
        for n in self.graph.nodes:
            nodes += new.get(n) or ([] if any(v in dead for v in n.outputs) else [n])
        return self.graph.replace(nodes=nodes)

    def _between(self, n: Node, last: Node) -> set[Value]:
        """What only the scatter read: everything from its operand down to the product."""
        out: set[Value] = set()
        v = n.inputs[1]
        while True:
            out.add(v)
            d = self.defs[v]
            if d is last:
                return out
            v = d.inputs[1] if d.op.name == "update_add" else d.inputs[0]

    # ---- recognising -------------------------------------------------------------------------------------------

    def _scattered(self, n: Node) -> _Scattered | None:
        axes: list[Pair] = [(k,) for k in range(n.out.type.rank)]
        v = n.out
        while True:
            d = self.defs.get(v)
            if d is None or (d is not n and self.uses.get(v) != 1):
                return None
            if d.op.name == "transpose":
                axes = [tuple(d.attrs["perm"][k] for k in pair) for pair in axes]
                v = d.inputs[0]
            elif d.op.name == "update_add":
                p = self._window(d)
                if p is None or (p,) not in axes:
                    return None
                axes = [(p, p + 1) if pair == (p,) else tuple(k + (k > p) for k in pair) for pair in axes]
                v = d.inputs[1]
            elif d.op.name == "dot" and self.wanted(d) and d.out.type.static:
                s = _Scattered(d, axes)
                return s if self._sides(s) is not None else None
            else:
                return None

    def _window(self, n: Node) -> int | None:
        """The axis of an all-zero array over whose windows the node scatters; None if it is something else."""
        x, v, *at = n.inputs
        spec = n.attrs["spec"]
        made = self.defs.get(x)
        if made is None or made.op.name != "const" or hasattr(made.attrs["value"], "shape") or made.attrs["value"] != 0:
            return None
        if spec.count("g") != 1 or len(at) != 1 or not x.type.static:
            return None
        whole = all(
            s == "g" or isinstance(s, Slice) and (s.start, s.size, s.step) == (0, d, 1) for s, d in zip(spec, x.type.shape)
        )
        g = self.defs.get(at[0])
        if not whole or g is None or g.op.name != "add" or at[0].type.rank != 2:
            return None
        made_by = [self.defs.get(i) for i in g.inputs]
        if any(i is None or i.op.name != "iota" for i in made_by) or {i.attrs["axis"] for i in made_by if i} != {0, 1}:
            return None
        count, width = at[0].type.shape
        p = spec.index("g")
        return p if count + width - 1 == x.type.shape[p] else None

    def _sides(self, s: _Scattered) -> bool | None:
        """True: the places are axes of the first operand and the offsets of the second; False: the other way; None: neither."""
        a, (ca, _), (ba, _) = s.dot.inputs[0], s.dot.attrs["contract"], s.dot.attrs["batch"]
        lo, hi = len(ba), a.type.rank - len(ca)
        first = [[lo <= k < hi for k in pair] for pair in s.axes if len(pair) == 2]
        second = [[k >= hi for k in pair] for pair in s.axes if len(pair) == 2]
        if all(x[0] and y[1] for x, y in zip(first, second)):
            return True
        return False if all(y[0] and x[1] for x, y in zip(first, second)) else None

    # ---- rewriting ---------------------------------------------------------------------------------------------

    def _convolution(self, n: Node, s: _Scattered) -> list[Node]:
        """The convolution that gives the scattered array."""
        swap = not self._sides(s)
        contracted, batched = _axes(s.dot)
        ct, k = s.dot.inputs[::-1] if swap else s.dot.inputs
        cc, ck = contracted[::-1] if swap else contracted
        bc, bk = batched[::-1] if swap else batched
        home = _homes(s.dot, swap)
        pairs = [(home[p][1], home[o][1]) for p, o in (pair for pair in s.axes if len(pair) == 2)]
        offsets = tuple(o for _, o in pairs)
        with Builder(n.loc, deriv=n.deriv) as build:
            size = {place: int(k.type.shape[offset]) for place, offset in pairs}  # type: ignore[arg-type]
            windows, place_at, offset_at = self._windows(ct, size)
            backwards = [Slice(int(d) - 1, d, -1) if j in offsets else Slice(0, d) for j, d in enumerate(k.type.shape)]  # type: ignore[arg-type]
            contract = ((*(place_at[j] for j in cc), *(offset_at[p] for p, _ in pairs)), (*ck, *offsets))
            batch = (tuple(place_at[j] for j in bc), tuple(bk))
            d = dot(windows, index(k, spec=tuple(backwards)), contract=contract, batch=batch)
            at = {axis: r for r, axis in enumerate(_homes(current().nodes[-1], False))}
            own = (home[pair[0]] for pair in s.axes)
            out = transpose_to(d, [at[(side, place_at[axis] if side == 0 else axis)] for side, axis in own])
        last = build.nodes[-1]
        assert last.out is out
        build.nodes[-1] = Node(last.op, last.inputs, n.outputs, last.attrs, (), n.loc, n.deriv)
        return build.nodes

    def _windows(self, ct: Value, size: dict[int, int]) -> tuple[Value, dict[int, int], dict[int, int]]:
        """The windows of ct, padded, along the axes in `size`; where its axes are in them, and the axes of offsets."""
        perm = tuple(range(ct.type.rank))
        base = self.defs.get(ct)
        source = ct
        if base is not None and base.op.name == "transpose":  # pad what is in memory, in its own order
            source, perm = base.inputs[0], base.attrs["perm"]
        pad = {perm[j]: w - 1 for j, w in size.items()}
        shape = tuple(int(d) + 2 * pad.get(j, 0) for j, d in enumerate(source.type.shape))  # type: ignore[arg-type]
        spec = tuple(Slice(pad.get(j, 0), d) for j, d in enumerate(source.type.shape))
        x = transpose_to(update(zeros(Type(ct.type.dtype, shape)), source, spec=spec), perm)
        place_at = {j: j for j in range(ct.type.rank)}
        offset_at: dict[int, int] = {}
        for j, w in sorted(size.items()):
            axis = place_at[j]
            n = int(x.type.shape[axis]) - w + 1  # type: ignore[arg-type]
            t = Type("i64", (n, w))
            at = add(iota(type=t, axis=0), iota(type=t, axis=1))
            x = index(x, at, spec=tuple("g" if r == axis else Slice(0, d) for r, d in enumerate(x.type.shape)))
            place_at = {i: p + (p > axis) for i, p in place_at.items()}
            offset_at = {i: p + (p > axis) for i, p in offset_at.items()}
            offset_at[j] = axis + 1
        return x, place_at, offset_at


def _axes(n: Node) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """Contracted and batch axes of the operands of a `dot`."""
    return tuple(map(tuple, n.attrs["contract"])), tuple(map(tuple, n.attrs["batch"]))


def _homes(n: Node, swap: bool) -> list[tuple[int, int]]:
    """For each axis of a `dot`: (operand, axis of it); with `swap` the second operand counts as the first. Batch axes are the first's."""
    (ca, cb), (ba, bb) = _axes(n)
    a, b = n.inputs
    free_a = [k for k in range(a.type.rank) if k not in (*ca, *ba)]
    free_b = [k for k in range(b.type.rank) if k not in (*cb, *bb)]
    batch = [(0, k) for k in (bb if swap else ba)]
    return [*batch, *((int(swap), k) for k in free_a), *((int(not swap), k) for k in free_b)]
