"""Fusion, part 1: what a node computes per element, and where it reads its operands.

`classify` says how a node takes part: as a member of a fused loop over an iteration space, as a view that only changes
where its operand is read (broadcast, transpose, slice, constant), or not at all. `Elements` emits the scalar code that
computes one element of a value at affine positions, following views and inlined producers down to loads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irad.core.affine import symbols
from irad.core.ir import Node, Value, current, emit
from irad.core.lazy_dataclass import dataclass
from irad.core.types import I64, Dim, Type, affine, elements
from irad.ops.array import STORES, Product, Slice, Spec, dim_value, located
from irad.ops.constant import const
from irad.ops.elementwise import cast, cast_to, neg
from irad.ops.loop import Map, load
from irad.passes.fusion.windows import only_units, static_position

Position = tuple[Dim, ...]

UNKNOWN = 64  # what an extent known at run time only counts
SMALL_DOT = 2048  # multiplications: below this a contraction is cheaper as a loop than as a call


@dataclass(frozen=True)
class Member:
    """A node as part of a fused loop: its iteration space, how the result is stored or folded, and where.

    `rows[k]` is the axis of the space that result axis k follows; for an update, the positions come from its spec.
    """

    node: Node
    space: tuple[Dim, ...]
    kind: str
    rows: tuple[int, ...]


def is_view(node: Node) -> bool:
    """Reads its operand elsewhere, computes nothing."""
    if len(node.outputs) != 1 or not node.out.type.shape:
        return False
    op, out = node.op.name, node.out
    if op in ("broadcast", "transpose", "iota"):
        return True
    if op == "const":
        return not hasattr(node.attrs["value"], "shape") or not out.type.shape
    if op == "index":
        return "g" not in node.attrs["spec"]
    return op == "reshape" and only_units(node.inputs[0].type.shape, out.type.shape)


def classify(node: Node) -> Member | None:
    """The node as a loop member, or None (scalars, views, and everything that is not dense computation)."""
    op, name = node.op, node.op.name
    if op.fold:
        (x,) = node.inputs
        axes = node.attrs["axes"] if "axes" in node.attrs else (node.attrs["axis"],)
        return Member(node, x.type.shape, op.fold, tuple(k for k in range(x.type.rank) if k not in axes))
    if name == "dot":
        return _classify_dot(node)
    if node.op in STORES:
        v = node.inputs[1].type
        if not v.shape:
            return None  # one element: a plain store
        return Member(node, v.shape, "store" if name == "update" else "add", tuple(range(v.rank)))
    if len(node.outputs) == 1 and node.out.type.shape and (op.elementwise or name == "index" and "g" in node.attrs["spec"]):
        rank = node.out.type.rank
        return Member(node, node.out.type.shape, "store", tuple(range(rank)))
    return None


def dot_axes(node: Node) -> tuple[tuple[Dim, ...], list[int], list[int]]:
    """Iteration space of a contraction in the memory order of its larger operand, and the space axes of each operand's axes."""
    p, (a, b) = Product(node), (v.type for v in node.inputs)
    first = int(b.rank > a.rank)
    large, small, rest = (b, a, p.free[0]) if first else (a, b, p.free[1])
    pairs = [*zip(*p.contract), *zip(*p.batch)]
    same = {pair[1 - first]: pair[first] for pair in pairs}
    at = list(range(large.rank)), [same[k] if k in same else large.rank + rest.index(k) for k in range(small.rank)]
    return (*large.shape, *(small.shape[k] for k in rest)), at[first], at[1 - first]


def _classify_dot(node: Node) -> Member | None:
    p, (space, *at) = Product(node), dot_axes(node)
    large = elements(space, UNKNOWN) > SMALL_DOT
    if all(p.free) and large and p.contract[0] and node.out.type.dtype in ("f32", "f64"):
        return None
    return Member(node, space, "add" if p.contract[0] else "store", tuple(at[side][k] for side, k in p.homes()))


# ---- reading one element ------------------------------------------------------------------------------------


def inlinable(node: Node) -> bool:
    """Cheap enough to compute again wherever it is read."""
    return is_view(node) or node.op in (cast, neg) or node.op.compares


class Elements:
    """Emits scalar code for elements. `computed`: how a value not in memory is computed, others are loaded; `made`: the node of any.

    `inside` gives values of the surrounding nest: v -> (its row or scalar in scope, how many leading axes of v are outside).
    """

    def __init__(
        self,
        computed: Callable[[Value], Node | None],
        made: Callable[[Value], Node | None],
        inside: dict[Value, tuple[Value, int]] | None = None,
    ):
        self.computed, self.made, self.inside = computed, made, inside or {}
        self.memo: dict[tuple[Value, Position], Value] = {}
        self.reads: list[tuple[Value, Position]] = []

    def at(self, v: Value, pos: Position) -> Value:
        """The element of v at a position (one affine integer per axis)."""
        if not v.type.shape:
            self.reads.append((v, ()))
            return v
        if (v, pos) not in self.memo:
            for x, node in self._order(v, pos):
                self.memo[x, pos] = self._load(x, pos) if node is None else self.compute(node, pos)
        return self.memo[v, pos]

    def _order(self, v: Value, pos: Position) -> list[tuple[Value, Node | None]]:
        """What has to be computed for an element at this very position, operands first: chains may be longer than
        Python's stack is deep."""
        out: list[tuple[Value, Node | None]] = []
        seen: set[Value] = set()
        todo: list[tuple[Value, Node | None, bool]] = [(v, None, False)]
        while todo:
            x, node, ready = todo.pop()
            if ready:
                out.append((x, node))
            elif x.type.shape and x not in seen and (x, pos) not in self.memo:
                seen.add(x)
                node = self.computed(x)
                todo.append((x, node, True))
                if node is not None and self._rule(node) is None and not node.op.fold and node.op not in STORES:
                    todo += [(operand, None, False) for operand in reversed(node.inputs)]
        return out

    def _rule(self, node: Node) -> Callable[[Node, Position], Value] | None:
        """How an op that is not elementwise reads its operands."""
        return getattr(self, f"_{node.op.name}", None)

    def _load(self, v: Value, pos: Position) -> Value:
        self.reads.append((v, pos))
        if v in self.inside:
            v, prefix = self.inside[v]
            pos = pos[prefix:]
            if not v.type.shape:
                return v
        idx = list(dict.fromkeys(symbols(*pos)))
        return load(v, *idx, map=Map.of(pos, idx))

    def compute(self, node: Node, pos: Position) -> Value:
        """One element of the node's result (for a reduction: of what it folds, at a position of the iteration space)."""
        b = current()
        b.loc, b.deriv = node.loc, node.deriv
        ins = node.inputs
        rule = self._rule(node)
        if rule is not None:
            return rule(node, pos)
        if node.op.fold:
            return self.at(ins[0], pos)
        return self.at(ins[1], pos) if node.op in STORES else emit(node.op, *(self.at(x, pos) for x in ins), **node.attrs)[0]

    def _const(self, node: Node, pos: Position) -> Value:
        return const(value=node.attrs["value"], type=Type(node.out.type.dtype))

    def _iota(self, node: Node, pos: Position) -> Value:
        return cast_to(dim_value(pos[node.attrs["axis"]]), node.out.type.dtype)

    def _broadcast(self, node: Node, pos: Position) -> Value:
        (x,) = node.inputs
        out = node.out.type.shape
        return self.at(x, tuple(0 if d == 1 and out[k] != 1 else pos[k] for d, k in zip(x.type.shape, node.attrs["dims"])))

    def _transpose(self, node: Node, pos: Position) -> Value:
        perm = node.attrs["perm"]
        back: list[Dim] = [0] * len(perm)
        for k, p in enumerate(perm):
            back[p] = pos[k]
        return self.at(node.inputs[0], tuple(back))

    def _reshape(self, node: Node, pos: Position) -> Value:
        (x,) = node.inputs
        kept = iter(p for p, d in zip(pos, node.out.type.shape) if d != 1)
        return self.at(x, tuple(0 if d == 1 else next(kept) for d in x.type.shape))

    def _index(self, node: Node, pos: Position) -> Value:
        x, *operands = node.inputs
        spec = node.attrs["spec"]
        window = static_position(self.made, spec, operands, pos) if "g" in spec else None
        return self.at(x, self.positions(spec, operands, pos) if window is None else window)

    def _dot(self, node: Node, pos: Position) -> Value:
        _, at_a, at_b = dot_axes(node)
        a, b = node.inputs
        return self.at(a, tuple(pos[k] for k in at_a)) * self.at(b, tuple(pos[k] for k in at_b))

    def positions(self, spec: Spec, operands: Sequence[Value], pos: Position) -> Position:
        """Where element `pos` of an indexed view, gather or update stands in the array itself."""
        out: list[Dim] = []
        k, gather_at, rank = 0, -1, 0
        for s, at in located(spec, operands):
            if s == "g":
                if gather_at < 0:
                    gather_at, rank = k, at.type.rank
                    k += rank
                at = self.at(at, pos[gather_at : gather_at + rank])
            start = as_dim(at) if isinstance(at, Value) else at
            out.append(start + pos[k] * s.step if isinstance(s, Slice) else start)
            k += isinstance(s, Slice)
        return tuple(out)


def indices(n: int, start: int = 0) -> list[Value]:
    """Indices of a loop, from its axis `start` on."""
    return [Value(I64, "ijklmnpq"[min(start + k, 7)]) for k in range(n)]


def as_dim(v: Value) -> Dim:
    """An i64 scalar as an affine integer."""
    assert v.type == I64
    return affine(0, {v: 1})
