"""Batching rules of the ops without regions: one computation with the batch as first axis of the operands that differ.

`rule(b, node) -> outputs`, emitted into the current builder. `b.full(v)` is the value of v with a batch axis, `b.get(v)`
the value as it is, `b.is_batched(v)` whether it has the axis already, `b.size` the extent of the batch. An op without a
rule runs in a loop over the elements (`each_element`), which is right for every op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irad.core.ir import Node, Value, build, emit
from irad.core.types import I64, Dim, Type
from irad.errors import UnsupportedError
from irad.ops.array import Slice, Spec, broadcast, dim_value, index, iota, located, transpose_to, update, zeros
from irad.ops.constant import empty, scalar
from irad.ops.control import for_, if_

Rule = Callable[[Any, Node], Sequence[Value]]


def shifted(axes: Sequence[int]) -> tuple[int, ...]:
    """Positions of axes after a batch axis has come in front."""
    return tuple(a + 1 for a in axes)


def widen(v: Value, size: Dim) -> Value:
    """v for each element of a batch."""
    return broadcast(v, shape=(size, *v.type.shape), dims=tuple(range(1, v.type.rank + 1)))


def whole(d: Dim) -> Slice:
    """An axis taken as it is."""
    return Slice(0, d)


# ---- ops that act along named axes ---------------------------------------------------------------------------------


def elementwise(b: Any, n: Node) -> Sequence[Value]:
    return emit(n.op, *map(b.full, n.inputs), **n.attrs)


def _with(**change: Callable[[Any, Any], Any]) -> Rule:
    """The same op on batched operands with some attributes changed by `change[name](b, old)`."""

    def rule(b: Any, n: Node) -> Sequence[Value]:
        attrs = {k: change[k](b, v) if k in change else v for k, v in n.attrs.items()}
        return emit(n.op, *map(b.full, n.inputs), **attrs)

    return rule


_axis = _with(axis=lambda b, a: a + 1)
_axes = _with(axes=lambda b, a: shifted(a))
_broadcast = _with(shape=lambda b, s: (b.size, *s), dims=lambda b, d: (0, *shifted(d)))
_reshape = _with(shape=lambda b, s: (b.size, *s))
_transpose = _with(perm=lambda b, p: (0, *shifted(p)))


def _dot(b: Any, n: Node) -> Sequence[Value]:
    """Batched operands pair their batch axes; a single one keeps it as a free axis, which is moved to the front."""
    (ca, cb), (ba, bb) = n.attrs["contract"], n.attrs["batch"]
    left, right = map(b.is_batched, n.inputs)
    x, y = map(b.get, n.inputs)
    ca, ba = (shifted(ca), shifted(ba)) if left else (ca, ba)
    cb, bb = (shifted(cb), shifted(bb)) if right else (cb, bb)
    if left and right:
        ba, bb = (0, *ba), (0, *bb)
    (out,) = emit(n.op, x, y, contract=(tuple(ca), tuple(cb)), batch=(tuple(ba), tuple(bb)))
    if left and right:
        return [out]
    at = len(ba) if left else x.type.rank - len(ca)
    rest = [k for k in range(out.type.rank) if k != at]
    return [transpose_to(out, (at, *rest))]


# ---- indexing --------------------------------------------------------------------------------------------------------


class _Place:
    """A batched place: operands and spec for the array with its batch axis (if it has one), and the order of the axes.

    Positions that differ between elements become gathers over (batch, gathered axes of the spec, slices whose start
    differs); what the place holds is laid out so: the gathered block at its first gather, the other slices in order.
    `perm` brings the result of a batched read into order: batch first, then the axes as they were.
    """

    def __init__(self, b: Any, spec: Spec, idx: Sequence[Value], array_batched: bool, shape: Sequence[Dim]):
        self.b, self.shape = b, shape
        self.items = [(s, at if isinstance(at, Value) else None) for s, at in located(spec, idx)]
        self.differ = any(v is not None and b.is_batched(v) for _, v in self.items)
        if not self.differ:
            lead: list[int | str | Slice] = [whole(b.size)] if array_batched else []
            self.spec: Spec = (*lead, *spec)
            self.operands = [b.get(v) for v in idx]
            self.perm: tuple[int, ...] | None = None
            return
        self._gather(array_batched)

    def _gather(self, array_batched: bool) -> None:
        b = self.b
        gathered = next((v.type.shape for s, v in self.items if s == "g" and v is not None), ())
        cut = [s.size for s, v in self.items if isinstance(s, Slice) and v is not None and b.is_batched(v)]
        block = (b.size, *gathered, *cut)
        spec: list[int | str | Slice] = []
        self.operands = []
        if array_batched:
            spec.append("g")
            self.operands.append(iota(type=Type("i64", block), axis=0))
        names: list[Any] = []  # of the result's axes outside the block: their position in the unbatched result
        inside: list[Any] = []  # of the block's axes behind the batch axis
        at = seen = 0
        for s, v in self.items:
            if isinstance(s, Slice):
                if v is not None and b.is_batched(v):
                    spec.append("g")
                    self.operands.append(self._run(v, s, block, 1 + len(gathered) + seen))
                    inside.append((at, seen))
                    seen += 1
                else:
                    spec.append(s)
                    if v is not None:
                        self.operands.append(b.get(v))
                    names.append(at)
                at += 1
            elif v is None:
                spec.append(s)
            elif s == "i" and not b.is_batched(v):
                spec.append("i")
                self.operands.append(b.get(v))
            else:
                if s == "g" and not any(isinstance(x, str) for x in inside):
                    inside.append("gathered")
                    self.first = at
                    at += len(gathered)
                spec.append("g")
                self.operands.append(self._spread(v, block, len(gathered)))
        self.spec = tuple(spec)
        self._order(spec, names, inside, len(gathered), at)

    def _order(self, spec: Sequence[Any], names: list[int], inside: list[Any], gathered: int, rank: int) -> None:
        """Where the batch axis and each axis of the unbatched result stand in the batched one."""
        before = sum(isinstance(s, Slice) for s in spec[: list(spec).index("g")])
        block = 1 + gathered + sum(not isinstance(x, str) for x in inside)
        where: dict[int, int] = {}
        for k, name in enumerate(names):
            where[name] = k if k < before else k + block
        for x in inside:
            if isinstance(x, str):
                where.update((self.first + j, before + 1 + j) for j in range(gathered))
            else:
                where[x[0]] = before + 1 + gathered + x[1]
        self.perm = (before, *(where[k] for k in range(rank)))

    def _run(self, start: Value, s: Slice, block: tuple[Dim, ...], axis: int) -> Value:
        """Positions of a slice whose start differs."""
        steps = iota(type=Type("i64", block), axis=axis)
        if s.step != 1:
            steps = steps * broadcast(scalar(s.step, "i64"), shape=block, dims=())
        return broadcast(self.b.position(start), shape=block, dims=(0,)) + steps

    def _spread(self, v: Value, block: tuple[Dim, ...], gathered: int) -> Value:
        """A position for each place of the block."""
        x = self.b.position(v)
        first = 0 if self.b.is_batched(v) else 1
        return broadcast(x, shape=block, dims=tuple(range(first, first + x.type.rank)))

    def place(self, v: Value) -> Value:
        """A value with the batch first, as the place lays it out."""
        if self.perm is None:
            return v
        back = tuple(sorted(range(len(self.perm)), key=self.perm.__getitem__))
        return transpose_to(v, back)

    @property
    def empty_axis(self) -> bool:
        """Does a position that differs go into an axis without elements? Then no element is ever read."""
        return self.differ and any(d == 0 for (s, v), d in zip(self.items, self.shape) if v is not None)


def _index(b: Any, n: Node) -> Sequence[Value]:
    x, *idx = n.inputs
    p = _Place(b, n.attrs["spec"], idx, b.is_batched(x), x.type.shape)
    if p.empty_axis:
        return [zeros(n.out.type.with_shape((b.size, *n.out.type.shape)))]
    out = index(b.get(x), *p.operands, spec=p.spec)
    return [out if p.perm is None else transpose_to(out, p.perm)]


def _update(b: Any, n: Node) -> Sequence[Value]:
    x, v, *idx = n.inputs
    p = _Place(b, n.attrs["spec"], idx, True, x.type.shape)
    return [b.full(x)] if p.empty_axis else emit(n.op, b.full(x), p.place(b.full(v)), *p.operands, spec=p.spec)


# ---- the batch element by element ---------------------------------------------------------------------------------------


def element(b: Any, v: Value, k: Value) -> Value:
    """Element k of a value, batched or not."""
    x = b.get(v)
    return index(x, k, spec=("i", *map(whole, x.type.shape[1:]))) if b.is_batched(v) else x


def each_element(b: Any, n: Node) -> Sequence[Value]:
    """The op in a loop over the elements; one with effects for the active ones only."""
    for v in n.outputs:
        if v.type.symbols and any(s in n.outputs for s in v.type.symbols):
            raise UnsupportedError(
                f"vmap of {n.op.name}: the length of its result differs between the elements of the batch; "
                "keep the array whole and mask (np.where)", n.loc,
            )  # fmt: skip

    def one(k: Value) -> Sequence[Value]:
        return emit(n.op, *(element(b, v, k) for v in n.inputs), **n.attrs)

    def trip(k: Value, *acc: Value) -> list[Value]:
        if b.mask is None or n.op.effects == "none":
            outs = one(k)
        else:
            regions = [build([], lambda: list(one(k))), build([], lambda: [zeros(v.type) for v in n.outputs])]
            outs = emit(if_, index(b.mask, k, spec=("i",)), regions=regions)
        return [update(a, o, k, spec=("i", *map(whole, o.type.shape))) for a, o in zip(acc, outs)]

    inits = [empty(type=v.type.with_shape((b.size, *v.type.shape))) for v in n.outputs]
    body = build([I64, *(v.type for v in inits)], trip)
    return emit(for_, dim_value(b.size), *inits, regions=[body])


RULES: dict[str, Rule] = {
    "broadcast": _broadcast, "reshape": _reshape, "transpose": _transpose, "dot": _dot,
    "index": _index, "update": _update, "update_add": _update,
    "concat": _axis, "argmax": _axis, "argmin": _axis, "cumsum": _axis, "cumprod": _axis, "linrec": _axis, "sort": _axis,
    "argsort": _axis, "sum": _axes, "norm_of": _axes, "prod": _axes, "max": _axes, "min": _axes, "any": _axes, "all": _axes,
}  # fmt: skip
