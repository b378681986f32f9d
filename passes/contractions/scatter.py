"""The adjoint of a convolution with respect to its input: products scattered over windows.

The gradient scatters the product of the outer gradient and the kernel back over the windows:

    dx[y] = sum over i of D[y - i, i],   D[h, i] = sum over o of ct[o, h] k[o, i]

which is a convolution again, of the padded outer gradient with the flipped kernel: with P[o, y + n - 1] = ct[o, y] for windows of
n, dx[y] = sum over o, i of P[o, y + i] k[o, n - 1 - i]. `unscatter_windows` does that where D would cost more; then D is
never made. Otherwise D is a matrix product, and a loop adds its columns up in place (irad.passes.contractions.patches.added): no
product with the zeros of the padding, and any steps, dilations and groups of the windows.
"""

from __future__ import annotations

from collections.abc import Sequence

from irad.core.affine import substitute, symbols, terms
from irad.core.ir import Builder, Graph, Node, Value, current, defs, uses
from irad.core.lazy_dataclass import dataclass
from irad.core.notes import Notes, size_text
from irad.core.types import I64, Dim, Type, is_float
from irad.ops.array import STORES, Product, Slice, dot, index, iota, transpose_to, update, zeros
from irad.ops.elementwise import mul
from irad.passes.contractions import patches as fuse_dot_patches
from irad.passes.contractions.merge import split_merged
from irad.passes.contractions.operands import Operands, merged_positions
from irad.passes.contractions.patches import MOST_PATCHES, add_up, added
from irad.passes.contractions.price import MOVE, REGISTER, moved, walk
from irad.passes.contractions.wanted import MOST, multiplications, with_patches
from irad.passes.fusion.access import Position, as_dim, indices
from irad.passes.fusion.windows import static_position
from irad.passes.rewrite import give_last, splat_of

PADDED = 1.1  # how much dearer a nest over the padded array is than others,
CALLED = 1.2  # and a BLAS product of such a size

Pair = tuple[int, ...]  # one axis, or (place, offset in the window) of one


def convolutions(graph: Graph, notes: Notes | None = None) -> Graph:
    """The graph with the products that read or scatter windows in the form in which they become nests, or a BLAS's."""
    return with_patches(unscatter_windows(split_merged(graph), notes), notes)


def unscatter_windows(graph: Graph, notes: Notes | None = None) -> Graph:
    """The graph with products scattered over windows as convolutions, or added up in place."""
    return _Unscatter(graph, notes).run()


@dataclass
class _Scattered:
    """A product scattered over windows: for each axis of the result, the axis or the (place, offset) axes of the product."""

    dot: Node
    axes: list[Pair]


@dataclass
class _Columns:
    """A product whose elements, at `index`, are added at affine positions `at`."""

    dot: Node
    index: list[Value]
    at: Position

    def moved(self, axis: int, start: int) -> _Columns:
        """The same with indices of its own, of which that of one axis counts from `start`."""
        index = [Value(I64, v.hint) for v in self.index]
        where = {v: as_dim(i) + (start if k == axis else 0) for k, (v, i) in enumerate(zip(self.index, index))}
        return _Columns(self.dot, index, tuple(substitute(d, where.__getitem__) for d in self.at))


class _Unscatter:
    def __init__(self, graph: Graph, notes: Notes | None):
        self.graph, self.notes, self.defs = graph, notes, defs(graph)
        self.uses = uses(graph)

    def run(self) -> Graph:
        new: dict[Node, list[Node]] = {}
        dead: set[Value] = set()
        for n in reversed(self.graph.nodes):
            if n.op.name == "update_add" and n.out not in dead:
                columns = self._columns(n)
                if columns is not None:
                    new[n] = self._cheaper(n, columns)
                    dead |= self._between(n, columns.dot)
        if not new:
            return self.graph
        kept = {n: [n] for n in self.graph.nodes if dead.isdisjoint(n.outputs)} | new
        return self.graph.replace(nodes=[m for n in self.graph.nodes for m in kept.get(n, ())])

    def _between(self, n: Node, last: Node) -> set[Value]:
        """What only the scatter read: everything from its operand down to the product."""
        out: set[Value] = set()
        v = n.inputs[1]
        while True:
            out.add(v)
            d = self.defs[v]
            if d is last:
                return out
            v = d.inputs[1] if d.op in STORES else d.inputs[0]

    # ---- the choice --------------------------------------------------------------------------------------------

    def _cheaper(self, n: Node, c: _Columns) -> list[Node]:
        """The nodes of the convolution, or of the matrix product and the loop that adds it up."""
        if not c.dot.attrs["contract"][0]:
            return self._added_at_once(n, c)
        size = c.dot.out.type.size * c.dot.out.type.numpy.itemsize
        s = self._scattered(n) if fuse_dot_patches.CHOICE != "patches" else None
        nodes = [] if s is None else self._convolution(n, s)
        direct = bool(nodes) and (
            fuse_dot_patches.CHOICE == "direct"
            or size > MOST_PATCHES
            or self._convolution_price(nodes) <= self._matrix_price(n, c, _order(c, n.out.type.rank))
        )
        if self.notes is not None:
            what = " x ".join(str(v.type) for v in c.dot.inputs)
            matrix = f"a matrix product, {size_text(min(size, MOST_PATCHES))}, added up in place"
            text = (
                f"{what}, scattered over windows of {n.out.type}: {'a convolution of the padded gradient' if direct else matrix}"
            )
            self.notes.add("contraction", text, n.loc, kind="scatter", choice="direct" if direct else "patches", bytes=size)
        return nodes if direct else self._added(n, c)

    def _matrix_price(self, n: Node, c: _Columns, order: Sequence[int]) -> float:
        product = Operands(self.defs, (), None).price(c.dot, order)
        return product * (CALLED if multiplications(c.dot) > MOST else 1.0) + self._adding(n, c, order)

    def _adding(self, n: Node, c: _Columns, order: Sequence[int]) -> float:
        """Cycles of the loop that adds a product with its axes in this order."""
        shape = [int(d) for d in c.dot.out.type.shape]  # type: ignore[arg-type]
        columns = walk([as_dim(c.index[k]) for k in order], [shape[k] for k in order])
        target = walk(c.at, [int(d) for d in n.out.type.shape])  # type: ignore[arg-type]
        return moved(dict(zip(c.index, shape)), columns, target, c.dot.out.type.numpy.itemsize)

    def _convolution_price(self, nodes: list[Node]) -> float:
        self.defs.update((m.out, m) for m in nodes[:-1])
        (d,) = (m for m in nodes if m.op.name == "dot")
        perm = nodes[-1].attrs["perm"] if nodes[-1].op.name == "transpose" else range(d.out.type.rank)
        padded = sum(m.out.type.size for m in nodes if m.op.name == "update")
        lanes = REGISTER // d.out.type.numpy.itemsize
        return Operands(self.defs, (), None).price(d, tuple(perm)) * PADDED + 2 * MOVE * padded / lanes

    def _added(self, n: Node, c: _Columns) -> list[Node]:
        """The product, and the loop that adds it up; a part of the images at a time if it is too large."""
        order = _order(c, n.out.type.rank)
        axis, m = order[0], len(c.dot.attrs["batch"][0])
        extent = int(c.dot.out.type.shape[axis])  # type: ignore[arg-type]
        parts = min(extent, -(-c.dot.out.type.size * c.dot.out.type.numpy.itemsize // MOST_PATCHES)) if axis >= m else 1
        dest, step = n.inputs[0], -(-extent // parts)
        with Builder(n.loc, deriv=n.deriv) as b:
            for start in range(0, extent, step):
                some = Slice(start, min(step, extent - start))
                out = n.out if start + step >= extent else Value(n.out.type)
                dest = self._part(c.moved(axis, start), axis, some, order, dest, out)
        return b.nodes

    def _added_at_once(self, n: Node, c: _Columns) -> list[Node]:
        """A loop that adds up products that are no sums, as of a convolution of each channel by itself."""
        order = _order(c, n.out.type.rank)
        shape = [int(c.dot.out.type.shape[k]) for k in order]  # type: ignore[arg-type]
        operands = Operands(self.defs, (), None)
        with Builder(n.loc, deriv=n.deriv) as b:
            value = lambda: mul(*operands.read_factors(c.dot, tuple(map(as_dim, c.index))))
            add_up([c.index[k] for k in order], shape, value, c.at, n.inputs[0], n.out)
        return b.nodes

    def _part(self, c: _Columns, axis: int, some: Slice, order: list[int], dest: Value, out: Value) -> Value:
        """A part of the product along one axis of the result, added to `dest`."""
        side, own = Product(c.dot).homes()[axis]
        whole = some.size == c.dot.out.type.shape[axis]
        factors = [
            v
            if whole or k != side
            else index(v, spec=tuple(some if j == own else Slice(0, d) for j, d in enumerate(v.type.shape)))
            for k, v in enumerate(c.dot.inputs)
        ]
        if multiplications(c.dot) > MOST:  # a BLAS stores the axes of one operand, then those of the other
            return self._as_it_comes(c, factors, dest, out)
        d = transpose_to(dot(*factors, **c.dot.attrs), order)
        return added(d, [c.index[k] for k in order], c.at, dest, out)

    def _as_it_comes(self, c: _Columns, factors: Sequence[Value], dest: Value, out: Value) -> Value:
        """Adds a product whose axes stand as they are made, by the order of the operands that is better for the loop."""
        (a, b), contract, batch = factors, c.dot.attrs["contract"], c.dot.attrs["batch"]
        m, free, rank = len(batch[0]), a.type.rank - len(contract[0]), c.dot.out.type.rank
        swapped = [*range(m), *range(free, rank), *range(m, free)]
        target = walk(c.at, [int(d) for d in out.type.shape])  # type: ignore[arg-type]
        last = lambda axes: target.get(c.index[axes[-1]], 0) == 1
        if last(range(rank)) or not last(swapped):
            return added(dot(a, b, contract=contract, batch=batch), c.index, c.at, dest, out)
        d = dot(b, a, contract=contract[::-1], batch=batch[::-1])
        return added(d, [c.index[k] for k in swapped], c.at, dest, out)

    # ---- recognising -------------------------------------------------------------------------------------------

    def _columns(self, n: Node) -> _Columns | None:
        """The product that n, and what it reads, scatters over windows by views and stores into zeros."""
        index = indices(n.out.type.rank)
        at: list[Dim] = list(map(as_dim, index))
        v, windows = n.out, False
        while True:
            d = self.defs.get(v)
            if d is None or not v.type.static or (d is not n and self.uses.get(v) != 1):
                return None
            if d.op.name == "dot":
                known = multiplications(d) or not d.attrs["contract"][0] and is_float(d.out.type.dtype)
                walked = list(symbols(*at))
                apart = len(walked) == len(index) == len({*walked})  # not a diagonal, or places that fall together
                return _Columns(d, index, tuple(at)) if windows and known and apart else None
            source = d.inputs[d.op in STORES] if d.inputs else v
            inner = indices(source.type.rank)
            pos = self._positions(d, tuple(map(as_dim, inner)), first=d is n)
            if pos is None:
                return None
            windows = windows or "g" in d.attrs.get("spec", ())
            where = dict(zip(index, pos))
            at, index, v = [substitute(x, where.__getitem__) for x in at], inner, source

    def _positions(self, d: Node, pos: Position, first: bool) -> Sequence[Dim] | None:
        """Where an element of what d stores or views stands in its result; None if that is not affine, or elements are not added to 0."""
        if d.op.name == "transpose":
            return [pos[p] for p in d.attrs["perm"]]
        if d.op.name == "reshape":
            return merged_positions(pos, d.inputs[0].type.shape, d.out.type.shape)
        if d.op.name == "update_add" or d.op.name == "update" and not first:
            zero = splat_of(self.defs.get(d.inputs[0])) == 0
            return static_position(self.defs.get, d.attrs["spec"], d.inputs[2:], pos) if zero or first else None
        return None

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
            elif d.op.name == "dot" and d.out.type.static:
                s = _Scattered(d, axes)
                return s if self._sides(s) is not None else None
            else:
                return None

    def _window(self, n: Node) -> int | None:
        """The axis of an all-zero array over whose windows the node scatters; None if it is something else."""
        x, v, *at = n.inputs
        spec = n.attrs["spec"]
        if splat_of(self.defs.get(x)) != 0 or spec.count("g") != 1 or len(at) != 1 or not x.type.static:
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
        p = Product(s.dot)
        lo, hi = len(p.batch[0]), len(p.batch[0]) + len(p.free[0])
        first = [[lo <= k < hi for k in pair] for pair in s.axes if len(pair) == 2]
        second = [[k >= hi for k in pair] for pair in s.axes if len(pair) == 2]
        if all(x[0] and y[1] for x, y in zip(first, second)):
            return True
        return False if all(y[0] and x[1] for x, y in zip(first, second)) else None

    # ---- rewriting ---------------------------------------------------------------------------------------------

    def _convolution(self, n: Node, s: _Scattered) -> list[Node]:
        """The convolution that gives the scattered array."""
        swap = not self._sides(s)
        p, turn = Product(s.dot), slice(None, None, -1 if swap else 1)
        (ct, k), (cc, ck), (bc, bk) = s.dot.inputs[turn], p.contract[turn], p.batch[turn]
        home = [(int(side != swap), axis) for side, axis in p.homes(int(swap))]  # of ct, of k
        pairs = [(home[p][1], home[o][1]) for p, o in (pair for pair in s.axes if len(pair) == 2)]
        offsets = tuple(o for _, o in pairs)
        with Builder(n.loc, deriv=n.deriv) as build:
            size = {place: int(k.type.shape[offset]) for place, offset in pairs}  # type: ignore[arg-type]
            windows, place_at, offset_at = self._windows(ct, size)
            backwards = [Slice(int(d) - 1, d, -1) if j in offsets else Slice(0, d) for j, d in enumerate(k.type.shape)]  # type: ignore[arg-type]
            contract = ((*(place_at[j] for j in cc), *(offset_at[p] for p, _ in pairs)), (*ck, *offsets))
            batch = (tuple(place_at[j] for j in bc), tuple(bk))
            d = dot(windows, index(k, spec=tuple(backwards)), contract=contract, batch=batch)
            at = {axis: r for r, axis in enumerate(Product(current().nodes[-1]).homes())}
            own = (home[pair[0]] for pair in s.axes)
            out = transpose_to(d, [at[(side, place_at[axis] if side == 0 else axis)] for side, axis in own])
        assert build.nodes[-1].out is out
        give_last(build.nodes, n.outputs)
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
            at = iota(type=t, axis=0) + iota(type=t, axis=1)
            x = index(x, at, spec=tuple("g" if r == axis else Slice(0, d) for r, d in enumerate(x.type.shape)))
            place_at = {i: p + (p > axis) for i, p in place_at.items()}
            offset_at = {i: p + (p > axis) for i, p in offset_at.items()}
            offset_at[j] = axis + 1
        return x, place_at, offset_at


def _order(c: _Columns, rank: int) -> list[int]:
    """An order of the product's axes in which the loop that adds it up walks both arrays in long runs.

    Axes as they stand in the result; those of windows that overlap together, the offsets in the windows before the places if the last
    axis of the result is such, after them if it is not.
    """
    number = {v: k for k, v in enumerate(c.index)}
    extent = [int(d) for d in c.dot.out.type.shape]  # type: ignore[arg-type]
    parts: list[list[int]] = []  # the product's axes along each axis of the result, largest steps first
    for d in c.at:
        parts.append([number[v] for v, _ in sorted(terms(d), key=lambda t: -t[1])])
    steps = {number[v]: s for d in c.at for v, s in terms(d)}
    overlap = [len(p) > 1 and any(steps[a] < steps[b] * extent[b] for a, b in zip(p, p[1:])) for p in parts]
    if not any(overlap):
        return [k for p in parts for k in p]
    first, last = overlap.index(True), rank - 1 - overlap[::-1].index(True)
    mixed = [k for p in parts[first : last + 1] for k in p]
    offsets = {min(p, key=lambda k: extent[k]) for p, o in zip(parts, overlap) if o}
    places = [k for k in mixed if k not in offsets]
    inside = [k for k in mixed if k in offsets]
    middle = [*inside, *places] if last == rank - 1 else [*places, *inside]
    return [k for p in parts[:first] for k in p] + middle + [k for p in parts[last + 1 :] for k in p]
