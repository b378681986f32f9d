"""Structural ops on arrays: shape, indexing with its in-place forms, reductions, scans, contraction.

Indexing is one family. `spec` has one item per axis of the array:

    3         a static position, counted from the front; the axis goes
    "i"       a position at run time: the next operand, an i64 scalar; the axis goes
    Slice     start, size, step: the axis stays with extent `size`; start None is the next operand, an i64 scalar
    "g"       gather: the next operand, an i64 array; all gather operands have one shape, which stands at the first "g"

`index` reads, `update` writes, `update_add` adds (every repeated gather index counts); positions are within bounds,
which whoever emits the node has checked. The in-place ops are functional here; the plan pass makes them write in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.lazy_dataclass import dataclass
from irad.core.types import I64, Dim, Extent, Type
from irad.errors import IradTypeError, ShapeError
from irad.ops.constant import const, scalar
from irad.ops.core import Op, type_error
from irad.ops.elementwise import eq, full, select, szmul


def zeros(type: Type) -> Value:
    """A constant zero of a type."""
    return const(value=0, type=type)


def _linear(k: int) -> Callable[..., list[Value | None]]:
    """jvp of an op that is linear in its first k inputs taken together."""

    def jvp(ad: Any, node: Any, tan: Any) -> list[Value | None]:
        ds = [tan.get(v) for v in node.inputs[:k]]
        if all(d is None for d in ds):
            return [None]
        ds = [zeros(v.type) if d is None else d for v, d in zip(node.inputs, ds)]
        return [node.op(*ds, *node.inputs[k:], **node.attrs)]

    return jvp


# ---- making and reshaping ---------------------------------------------------------------------------------


def _check_axis(t: Type, axis: int) -> None:
    """Raise IradTypeError unless the type has that axis."""
    if not 0 <= axis < t.rank:
        raise IradTypeError(f"{t} has no axis {axis}")


def _infer_iota(*, type: Type, axis: int) -> tuple[Type, ...]:
    _check_axis(type, axis)
    return (type,)


iota = Op(
    "iota", _infer_iota,
    lambda *, type, axis: np.broadcast_to(
        np.arange(type.shape[axis], dtype=type.numpy).reshape([-1 if k == axis else 1 for k in range(type.rank)]), type.shape
    ).copy(),
    cheap=True, intervals=lambda *, type, axis: (0, float("inf") if isinstance(type.shape[axis], Extent) else max(0, type.shape[axis] - 1)),
    vjp=lambda ad, node, cts, adj: None, jvp=lambda ad, node, tan: [None],
    cost=0, zero_at="anywhere", doc="position along `axis`, as an array of `type`",
)  # fmt: skip


def _infer_broadcast(t: Type, *, shape: tuple[Dim, ...], dims: tuple[int, ...]) -> tuple[Type, ...]:
    if len(dims) != t.rank or list(dims) != sorted(set(dims)):
        raise IradTypeError(f"broadcast of {t}: dims {dims} must place each axis, in order")
    for d, k in zip(t.shape, dims):
        if k >= len(shape) or (d != 1 and d != shape[k]):
            raise ShapeError(f"cannot broadcast {t} to shape {_shape_text(shape)} with axes at {dims}")
    return (Type(t.dtype, tuple(shape)),)


def _shape_text(shape: Sequence[Dim]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def _eval_broadcast(x: Any, *, shape: tuple[int, ...], dims: tuple[int, ...]) -> Any:
    x = np.asarray(x)
    return np.broadcast_to(x.reshape([x.shape[dims.index(k)] if k in dims else 1 for k in range(len(shape))]), shape).copy()


def _vjp_broadcast(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    (x,) = node.inputs
    if not ad.active(x):
        return
    dims, shape = node.attrs["dims"], node.outputs[0].type.shape
    stretched = [k for k, d in zip(dims, x.type.shape) if d == 1 and shape[k] != 1]
    axes = tuple(k for k in range(len(shape)) if k not in dims or k in stretched)
    ct = sum_(cts[0], axes=axes) if axes else cts[0]
    adj.add(x, reshape_to(ct, x.type.shape))


broadcast = Op("broadcast", _infer_broadcast, _eval_broadcast, _vjp_broadcast, _linear(1), cheap=True, linear=True,
               intervals=lambda a, **_: a, cost=0, finite=True, moves=True, doc="axis k of the operand becomes axis dims[k]; extent 1 stretches")  # fmt: skip


def broadcast_to(x: Value, shape: Sequence[Dim]) -> Value:
    """NumPy's broadcasting of x to `shape`; the very value if it has it already. Raises ShapeError if it does not fit."""
    shape = tuple(shape)
    if x.type.shape == shape:
        return x
    if x.type.rank > len(shape):
        raise ShapeError(f"cannot broadcast {x.type} to shape {_shape_text(shape)}")
    return broadcast(x, shape=shape, dims=tuple(range(len(shape) - x.type.rank, len(shape))))


def _infer_reshape(t: Type, *, shape: tuple[Dim, ...]) -> tuple[Type, ...]:
    new = Type(t.dtype, tuple(shape))
    if t.static and new.static:
        if t.size != new.size:
            raise ShapeError(f"cannot reshape {t} ({t.size} elements) to shape {_shape_text(shape)} ({new.size} elements)")
    elif [d for d in t.shape if d != 1] != [d for d in shape if d != 1]:
        raise ShapeError(
            f"cannot reshape {t} to shape {_shape_text(shape)}: with run-time extents only axes of extent 1 come and go"
        )
    return (new,)


reshape = Op("reshape", _infer_reshape, lambda x, *, shape: np.reshape(x, shape).copy(),
             lambda ad, node, cts, adj: adj.add(node.inputs[0], reshape_to(cts[0], node.inputs[0].type.shape)), _linear(1),
             cheap=True, linear=True, intervals=lambda a, **_: a, cost=0, finite=True, moves=True, doc="C order")  # fmt: skip


def reshape_to(x: Value, shape: Sequence[Dim]) -> Value:
    """x in another shape, the very value if it has it already."""
    return x if x.type.shape == tuple(shape) else reshape(x, shape=tuple(shape))


def _infer_transpose(t: Type, *, perm: tuple[int, ...]) -> tuple[Type, ...]:
    if sorted(perm) != list(range(t.rank)):
        raise IradTypeError(f"transpose of {t}: {perm} is not a permutation of its axes")
    return (t.with_shape(tuple(t.shape[k] for k in perm)),)


transpose = Op("transpose", _infer_transpose, lambda x, *, perm: np.transpose(x, perm).copy(),
               lambda ad, node, cts, adj: adj.add(node.inputs[0], transpose_to(cts[0], _inverse(node.attrs["perm"]))), _linear(1),
               cheap=True, linear=True, intervals=lambda a, **_: a, cost=0, finite=True, moves=True, doc="result axis k is operand axis perm[k]")  # fmt: skip


def _inverse(perm: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))


def transpose_to(x: Value, perm: Sequence[int]) -> Value:
    """Transpose, the very value if nothing moves."""
    return x if tuple(perm) == tuple(range(x.type.rank)) else transpose(x, perm=tuple(perm))


copy = Op("copy", lambda t: (t,), lambda x: np.array(x), lambda ad, node, cts, adj: adj.add(node.inputs[0], cts[0]), _linear(1),
          linear=True, intervals=lambda a: a, doc="the same array in memory of its own; made by the plan pass")  # fmt: skip


def _infer_concat(*ts: Type, axis: int) -> tuple[Type, ...]:
    first = ts[0]
    _check_axis(first, axis)
    for t in ts:
        rest = lambda s: s.shape[:axis] + s.shape[axis + 1 :]
        if t.dtype != first.dtype or t.rank != first.rank or rest(t) != rest(first):
            raise ShapeError(f"cannot concatenate {first} and {t} along axis {axis}: all other extents must be equal")
    total: Dim = 0
    for t in ts:
        total = total + t.shape[axis]
    return (first.with_shape(first.shape[:axis] + (total,) + first.shape[axis + 1 :]),)


def _vjp_concat(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    axis, at = node.attrs["axis"], 0
    for x in node.inputs:
        size = x.type.shape[axis]
        if ad.active(x):
            adj.add(x, slice_axis(cts[0], axis, at, size))
        at = at + size


concat = Op("concat", _infer_concat, lambda *xs, axis: np.concatenate(xs, axis), _vjp_concat,
            lambda ad, node, tan: _jvp_concat(node, tan), linear=True,
            intervals=lambda *a, **_: (min(x[0] for x in a), max(x[1] for x in a)), finite=True)  # fmt: skip


def _jvp_concat(node: Any, tan: Any) -> list[Value | None]:
    ds = [tan.get(v) for v in node.inputs]
    if all(d is None for d in ds):
        return [None]
    return [concat(*(zeros(v.type) if d is None else d for v, d in zip(node.inputs, ds)), **node.attrs)]


# ---- indexing -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slice:
    """An axis kept: `size` positions from `start` (None: an operand) in steps of `step` (negative goes down)."""

    start: int | None
    size: Dim
    step: int = 1

    def rename(self, get: Callable[[Any], Any]) -> Slice:
        return self if isinstance(self.size, int) else Slice(self.start, self.size.rename(get), self.step)

    def show(self, name: Callable[[Any], str]) -> str:
        start = "?" if self.start is None else str(self.start)
        size = str(self.size) if isinstance(self.size, int) else self.size.show(name)
        return f"{start}:{size}" + (f":{self.step}" if self.step != 1 else "")


Spec = tuple[int | str | Slice, ...]


def one_place(spec: Spec) -> bool:
    """Is it one element, at a known position?"""
    return all(isinstance(s, int) for s in spec)


def operand_types(spec: Spec) -> list[str]:
    """What each index operand is, in order: "scalar" or "gather"."""
    out = []
    for s in spec:
        if s == "g":
            out.append("gather")
        elif s == "i" or isinstance(s, Slice) and s.start is None:
            out.append("scalar")
    return out


def _infer_index(x: Type, *idx: Type, spec: Spec) -> tuple[Type, ...]:
    if len(spec) != x.rank or len(idx) != len(operand_types(spec)):
        raise IradTypeError(f"index of {x}: spec has {len(spec)} items and {len(operand_types(spec))} operands, {len(idx)} given")
    shape: list[Dim] = []
    operands, gathered = iter(idx), None
    for n, s in zip(x.shape, spec):
        if isinstance(s, Slice):
            shape.append(s.size)
            _check_slice(x, n, s)
        elif isinstance(s, int) and isinstance(n, int) and not 0 <= s < n:
            raise IradTypeError(f"index {s} is out of bounds for an axis of {n} elements in {x}")
        if s == "g":
            g = next(operands)
            if g.dtype != "i64" or gathered not in (None, g):
                raise type_error("gather indices must be i64 arrays of one shape", *idx)
            if gathered is None:
                shape += g.shape
            gathered = g
        elif s == "i" or isinstance(s, Slice) and s.start is None:
            if next(operands) != I64:
                raise type_error("a position must be an i64 scalar", *idx)
    return (Type(x.dtype, tuple(shape)),)


def _check_slice(x: Type, n: Dim, s: Slice) -> None:
    if s.start is not None and isinstance(n, int) and isinstance(s.size, int) and s.size > 0:
        last = s.start + (s.size - 1) * s.step
        if not (0 <= s.start < n and 0 <= last < n):
            raise IradTypeError(f"slice {s.start}:{s.size}:{s.step} (start, size, step) leaves an axis of {n} elements in {x}")


def numpy_key(idx: Sequence[Any], spec: Spec) -> tuple[Any, ...]:
    """NumPy index arrays (one per axis, mutually broadcasting) that mean `spec`; result axes are in spec order."""
    operands, items, gathered = iter(idx), [], False
    rank = 0
    for s in spec:  # first: the result rank and where each axis of the array goes
        if s == "g":
            a = np.asarray(next(operands))
            if not gathered:
                at = rank
                rank += a.ndim
            gathered = True
            items.append((a, at, a.ndim))
        elif isinstance(s, Slice):
            start = int(next(operands)) if s.start is None else s.start
            assert isinstance(s.size, int)
            items.append((start + s.step * np.arange(s.size), rank, 1))
            rank += 1
        else:
            items.append((np.asarray(int(next(operands)) if s == "i" else s), 0, 0))
    return tuple(a.reshape(a.shape + (1,) * (rank - at - n)) if n else a for a, at, n in items)


def _eval_update(x: Any, v: Any, *idx: Any, spec: Spec) -> Any:
    y = np.array(x)
    y[numpy_key(idx, spec)] = v
    return y


def _eval_update_add(x: Any, v: Any, *idx: Any, spec: Spec) -> Any:
    y = np.array(x)
    np.add.at(y, numpy_key(idx, spec), v)
    return y


def _infer_update(x: Type, v: Type, *idx: Type, spec: Spec) -> tuple[Type, ...]:
    if (v,) != _infer_index(x, *idx, spec=spec):
        want = _infer_index(x, *idx, spec=spec)[0]
        raise ShapeError(f"cannot store {v} into {x}: the place has type {want}")
    return (x,)


def _vjp_index(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    x, *idx = node.inputs
    if ad.active(x):
        adj.scatter(x, cts[0], list(map(ad.need, idx)), node.attrs["spec"])


def _vjp_update(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    x, v, *idx = node.inputs
    at = [ad.need(i) for i in idx]
    spec = node.attrs["spec"]
    if ad.active(v):
        ct = index(cts[0], *at, spec=spec)
        adj.add(v, select(_last_writes(x.type, v.type, at, spec), ct, 0) if "g" in spec else ct)
    if ad.active(x):
        adj.add(x, update(cts[0], zeros(v.type), *at, spec=spec))


def _numbers(shape: tuple[Dim, ...]) -> Value:
    """A number of its own for each element; axes of run-time extent count slowest."""
    if not any(isinstance(n, Extent) for n in shape):
        return reshape_to(iota(type=Type("i64", (prod(shape),)), axis=0), shape)  # type: ignore[arg-type]
    t = Type("i64", shape)
    total, pitch = zeros(t), scalar(1, "i64")
    for k in sorted(range(len(shape)), key=lambda k: isinstance(shape[k], Extent)):
        total = total + iota(type=t, axis=k) * broadcast_to(pitch, shape)
        pitch = pitch * dim_value(shape[k])
    return total


def _last_writes(x: Type, v: Type, at: Sequence[Value], spec: Spec) -> Value:
    """Is an element of v the last one written to its place? Write the positions, read them back."""
    order = _numbers(v.shape)
    read = index(update(const(value=-1, type=x.with_dtype("i64")), order, *at, spec=spec), *at, spec=spec)
    return eq(read, order)


def _vjp_update_add(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    x, v, *idx = node.inputs
    if ad.active(v):
        adj.add(v, index(cts[0], *map(ad.need, idx), **node.attrs))
    if ad.active(x):
        adj.add(x, cts[0])


index = Op("index", _infer_index, lambda x, *idx, spec: np.array(np.asarray(x)[numpy_key(idx, spec)])[()], _vjp_index, _linear(1),
           linear=True, intervals=lambda a, *_, **__: a, finite=True, moves=True, zero_at=0)  # fmt: skip
update = Op("update", _infer_update, _eval_update, _vjp_update, _linear(2), linear=True,
            intervals=lambda a, b, *_, **__: (min(a[0], b[0]), max(a[1], b[1])), finite=True, doc="of repeated gather positions the last wins")  # fmt: skip
update_add = Op("update_add", _infer_update, _eval_update_add, _vjp_update_add, _linear(2), linear=True,
                zero_at=0, doc="of repeated gather positions all add")  # fmt: skip
STORES = (update, update_add)  # what makes a new version of its first operand


def slice_axis(x: Value, axis: int, start: int | Value | Dim, size: Dim, step: int = 1) -> Value:
    """Positions start, start + step, ... (`size` of them) along one axis; start may be an i64 scalar."""
    if isinstance(start, Extent):
        start = dim_value(start)
    if start == 0 and step == 1 and size == x.type.shape[axis]:
        return x
    s = Slice(None if isinstance(start, Value) else start, size, step)
    spec = tuple(s if k == axis else Slice(0, n) for k, n in enumerate(x.type.shape))
    return index(x, *([start] if isinstance(start, Value) else []), spec=spec)


def dim_value(d: Dim) -> Value:
    """An extent as an i64 scalar value."""
    if isinstance(d, int):
        return scalar(d, "i64")
    total = None
    for v, c in d.terms:
        term = v if c == 1 else v * c
        total = term if total is None else total + term
    assert total is not None
    return total + d.const if d.const else total


# ---- reductions: result without the reduced axes ----------------------------------------------------------------


def _kept(t: Type, axes: Sequence[int]) -> tuple[Dim, ...]:
    if list(axes) != sorted(set(axes)) or any(not 0 <= a < t.rank for a in axes):
        raise IradTypeError(f"axes {tuple(axes)} do not fit {t}")
    return tuple(d for k, d in enumerate(t.shape) if k not in axes)


def _infer_reduce(kinds: str) -> Callable[..., tuple[Type, ...]]:
    def infer(t: Type, *, axes: tuple[int, ...]) -> tuple[Type, ...]:
        if t.dtype[0] not in kinds:
            raise type_error("dtype not supported by this reduction", t)
        for k in axes:
            _check_axis(t, k)
        return (t.with_shape(_kept(t, axes)),)

    return infer


def restore(v: Value, like: Type, axes: Sequence[int]) -> Value:
    """Broadcast a reduction's result back over the reduced axes."""
    return broadcast(v, shape=like.shape, dims=tuple(k for k in range(like.rank) if k not in axes))


def _vjp_extreme(arg: Callable[..., Value]) -> Callable[..., None]:
    """The first extreme element takes all: a scatter to argmax or argmin."""

    def vjp(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
        (x,), axes = node.inputs, node.attrs["axes"]
        if not ad.active(x):
            return
        at, spec = _winner(ad.need(x), axes, arg)
        adj.scatter(x, cts[0], at, spec)

    return vjp


def _winner(x: Value, axes: tuple[int, ...], arg: Callable[..., Value]) -> tuple[list[Value], Spec]:
    """Index operands and spec that read, or add to, the extreme element of each reduced group."""
    t = x.type
    kept = tuple(k for k in range(t.rank) if k not in axes)
    if len(axes) > 1 and any(isinstance(t.shape[k], Extent) for k in axes):
        return _winner_by_axes(x, axes, arg)
    group = Type("i64", tuple(t.shape[k] for k in kept))
    lined = transpose_to(x, kept + tuple(axes))
    flat = reshape_to(lined, group.shape + (_product(t.shape[k] for k in axes),))
    best = arg(flat, axis=len(kept))
    at: dict[int, Value] = {k: iota(type=group, axis=j) for j, k in enumerate(kept)}
    for k in reversed(axes):  # unravel
        n = broadcast_to(dim_value(t.shape[k]), best.type.shape)
        at[k], best = best % n, best // n
    if not kept:
        return [at[k] for k in range(t.rank)], ("i",) * t.rank
    return [at[k] for k in range(t.rank)], ("g",) * t.rank


def _winner_by_axes(x: Value, axes: tuple[int, ...], arg: Callable[..., Value]) -> tuple[list[Value], Spec]:
    """The same, one axis after another from the last, for groups that cannot be laid out in a row: their size is run-time extents'
    product. Each step keeps the first extreme element along its axis, so the first in order is what remains."""
    live, steps = list(range(x.type.rank)), []
    for k in sorted(axes, reverse=True):
        best = arg(x, axis=live.index(k))
        at = [iota(type=best.type, axis=j) for j in range(best.type.rank)]
        at.insert(live.index(k), best)
        x = index(x, *at, spec=("g",) * len(at)) if len(at) > 1 else index(x, best, spec=("i",))
        live.remove(k)
        steps.append((k, best, tuple(live)))
    found: dict[int, Value] = {k: iota(type=x.type.with_dtype("i64"), axis=j) for j, k in enumerate(live)}
    for k, best, of in reversed(steps):
        found[k] = index(best, *[found[j] for j in of], spec=("g" if live else "i",) * len(of)) if of else best
    return [found[k] for k in sorted(found)], ("g" if live else "i",) * len(found)


def _product(ds: Any) -> Dim:
    out: Dim = 1
    for d in ds:
        if isinstance(out, Extent) and isinstance(d, Extent):
            raise ShapeError("a product of two run-time extents is not an affine extent")
        out = out * d if isinstance(out, Extent) or isinstance(d, int) else d * out
    return out


def _jvp_extreme(arg: Callable[..., Value]) -> Callable[..., list[Value | None]]:
    def jvp(ad: Any, node: Any, tan: Any) -> list[Value | None]:
        (x,) = node.inputs
        d = tan.get(x)
        if d is None:
            return [None]
        at, spec = _winner(x, node.attrs["axes"], arg)
        return [index(d, *at, spec=spec)]

    return jvp


def _infer_arg(t: Type, *, axis: int) -> tuple[Type, ...]:
    if t.dtype[0] not in "biuf":
        raise type_error("dtype not supported by this reduction", t)
    _check_axis(t, axis)
    if t.shape[axis] == 0:
        raise IradTypeError(f"argmax or argmin over the empty axis {axis} of {t}")
    return (Type("i64", _kept(t, (axis,))),)


def _vjp_sum(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    (x,) = node.inputs
    if ad.active(x):
        adj.add(x, restore(cts[0], x.type, node.attrs["axes"]))


def _others(x: Value, axis: int) -> Value:
    """Product of all other elements along the axis, without division."""
    before = cumprod(x, axis=axis, reverse=False, exclusive=True)
    return before * cumprod(x, axis=axis, reverse=True, exclusive=True)


def _flat_last(x: Value, axes: tuple[int, ...]) -> tuple[Value, Callable[[Value], Value]]:
    """x with the reduced axes merged into one last axis, and the way back."""
    t = x.type
    perm = tuple(k for k in range(t.rank) if k not in axes) + tuple(axes)
    y = transpose_to(x, perm)
    kept = tuple(t.shape[k] for k in perm[: t.rank - len(axes)])
    flat = reshape_to(y, kept + (_product(t.shape[k] for k in axes),))
    return flat, lambda z: transpose_to(reshape_to(z, y.type.shape), _inverse(perm))


def _vjp_prod(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    (x,), axes = node.inputs, node.attrs["axes"]
    if ad.active(x):
        flat, back = _flat_last(ad.need(x), axes)
        adj.add(x, szmul(restore(cts[0], x.type, axes), back(_others(flat, flat.type.rank - 1))))


def _jvp_prod(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    (x,), axes = node.inputs, node.attrs["axes"]
    d = tan.get(x)
    if d is None:
        return [None]
    flat, back = _flat_last(x, axes)
    return [sum_(szmul(d, back(_others(flat, flat.type.rank - 1))), axes=axes)]


argmax = Op(
    "argmax", _infer_arg, lambda x, *, axis: np.argmax(x, axis), fold="argmax", doc="the first one; a NaN counts as largest"
)
argmin = Op(
    "argmin", _infer_arg, lambda x, *, axis: np.argmin(x, axis), fold="argmin", doc="the first one; a NaN counts as smallest"
)
sum_ = Op(
    "sum",
    _infer_reduce("iufc"),
    lambda x, *, axes: np.sum(x, axes, dtype=np.asarray(x).dtype),
    _vjp_sum,
    _linear(1),
    linear=True,
    fold="add",
)
prod_ = Op(
    "prod",
    _infer_reduce("iufc"),
    lambda x, *, axes: np.prod(x, axes, dtype=np.asarray(x).dtype),
    _vjp_prod,
    _jvp_prod,
    fold="mul",
)
max_ = Op("max", _infer_reduce("biuf"), lambda x, *, axes: np.max(x, axes), _vjp_extreme(argmax), _jvp_extreme(argmax),
          intervals=lambda a, **_: a, fold="maximum", doc="NaN if any is; the slope goes to the first largest element")  # fmt: skip
min_ = Op("min", _infer_reduce("biuf"), lambda x, *, axes: np.min(x, axes), _vjp_extreme(argmin), _jvp_extreme(argmin),
          intervals=lambda a, **_: a, fold="minimum", doc="NaN if any is; the slope goes to the first smallest element")  # fmt: skip
any_ = Op("any", _infer_reduce("b"), lambda x, *, axes: np.any(x, axes), fold="logical_or")
all_ = Op("all", _infer_reduce("b"), lambda x, *, axes: np.all(x, axes), fold="logical_and")

# ---- scans along one axis -------------------------------------------------------------------------------------


def _infer_scan(t: Type, *, axis: int, reverse: bool, exclusive: bool) -> tuple[Type, ...]:
    if t.dtype[0] not in "iufc" or not 0 <= axis < t.rank:
        raise type_error(f"a scan along axis {axis} is not possible", t)
    return (t,)


def _eval_scan(ufunc: np.ufunc) -> Callable[..., Any]:
    def eval(x: Any, *, axis: int, reverse: bool, exclusive: bool) -> Any:
        x = np.flip(x, axis) if reverse else np.asarray(x)
        if exclusive and x.shape[axis]:
            unit = np.full_like(np.take(x, [0], axis), ufunc.identity)
            x = np.concatenate([unit, np.delete(x, -1, axis)], axis)
        y = ufunc.accumulate(x, axis, dtype=x.dtype)
        return np.flip(y, axis).copy() if reverse else y

    return eval


def _vjp_cumsum(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    if ad.active(node.inputs[0]):
        adj.add(node.inputs[0], cumsum(cts[0], **{**node.attrs, "reverse": not node.attrs["reverse"]}))


def shift(x: Value, axis: int, by: int, fill: float) -> Value:
    """y[k] = x[k - by] along the axis, `fill` where that leaves the array; by is 1 or -1."""
    n = x.type.shape[axis]
    if n == 0:
        return x
    rest = slice_axis(x, axis, 0 if by > 0 else 1, n - 1)
    spec = tuple(Slice(max(by, 0) if k == axis else 0, d) for k, d in enumerate(rest.type.shape))
    return update(full(fill, x), rest, spec=spec)


def _vjp_cumprod(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    """y_k = x_0 .. x_k: dx_k = (x_0 .. x_{k-1}) * s_k with s_k = ct_k + x_{k+1} s_{k+1}. No division."""
    (x,), (axis, rev, ex) = node.inputs, (node.attrs["axis"], node.attrs["reverse"], node.attrs["exclusive"])
    if not ad.active(x):
        return
    v, step = ad.need(x), -1 if rev else 1
    ct = shift(cts[0], axis, -step, 0.0) if ex else cts[0]  # exclusive: y_{k+1} is the inclusive one at k
    s = linrec(shift(v, axis, -step, 0.0), ct, axis=axis, reverse=not rev)
    adj.add(x, szmul(s, cumprod(v, axis=axis, reverse=rev, exclusive=True)))


def _jvp_cumprod(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    """y_k = x_k y_{k-1}: dy_k = x_k dy_{k-1} + y_{k-1} dx_k."""
    (x,), (axis, rev, ex) = node.inputs, (node.attrs["axis"], node.attrs["reverse"], node.attrs["exclusive"])
    d = tan.get(x)
    if d is None:
        return [None]
    before = cumprod(x, axis=axis, reverse=rev, exclusive=True)
    dy = linrec(x, d * before, axis=axis, reverse=rev)
    return [shift(dy, axis, -1 if rev else 1, 0.0) if ex else dy]


def _eval_linrec(a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    a, b = (np.moveaxis(np.flip(v, axis) if reverse else v, axis, 0) for v in (a, b))
    y = np.array(b)
    for k in range(1, len(y)):
        y[k] = a[k] * y[k - 1] + b[k]
    y = np.moveaxis(y, 0, axis)
    return np.flip(y, axis).copy() if reverse else y.copy()


def _infer_linrec(a: Type, b: Type, *, axis: int, reverse: bool) -> tuple[Type, ...]:
    if a != b or not a.differentiable or not 0 <= axis < a.rank:
        raise type_error(f"linrec along axis {axis} wants two equal float types", a, b)
    return (a,)


def _vjp_linrec(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    (a, b), (axis, rev) = node.inputs, (node.attrs["axis"], node.attrs["reverse"])
    if not (ad.active(a) or ad.active(b)):
        return
    step = -1 if rev else 1
    s = linrec(shift(ad.need(a), axis, -step, 0.0), cts[0], axis=axis, reverse=not rev)
    if ad.active(a):
        adj.add(a, szmul(s, shift(ad.need(node.outputs[0]), axis, step, 0.0)))
    adj.add(b, s)


def _jvp_linrec(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    (a, b), (axis, rev) = node.inputs, (node.attrs["axis"], node.attrs["reverse"])
    da, db = tan.get(a), tan.get(b)
    if da is not None:
        extra = szmul(da, shift(node.outputs[0], axis, -1 if rev else 1, 0.0))
        db = extra if db is None else db + extra
    return [None if db is None else linrec(a, db, axis=axis, reverse=rev)]


cumsum = Op("cumsum", _infer_scan, _eval_scan(np.add), _vjp_cumsum, _linear(1), linear=True,
            doc="running sum; reverse: from the end; exclusive: without the element itself")  # fmt: skip
cumprod = Op("cumprod", _infer_scan, _eval_scan(np.multiply), _vjp_cumprod, _jvp_cumprod, doc="running product")
linrec = Op("linrec", _infer_linrec, _eval_linrec, _vjp_linrec, _jvp_linrec,
            zero_at=1, doc="linear recurrence y[k] = a[k]*y[k-1] + b[k], y[-1] = 0; reverse: from the end")  # fmt: skip

# ---- contraction ---------------------------------------------------------------------------------------------


def _infer_dot(a: Type, b: Type, *, contract: Any, batch: Any) -> tuple[Type, ...]:
    (ca, cb), (ba, bb) = contract, batch
    if a.dtype != b.dtype or a.dtype[0] not in "biufc":
        raise type_error("dot wants two operands of one dtype", a, b)
    for i, j in [*zip(ca, cb), *zip(ba, bb)]:
        if a.shape[i] != b.shape[j]:
            raise ShapeError(f"dot: axis {i} of {a} and axis {j} of {b} must have equal extents")
    free = [a.shape[k] for k in range(a.rank) if k not in (*ca, *ba)] + [b.shape[k] for k in range(b.rank) if k not in (*cb, *bb)]
    return (Type(a.dtype, (*(a.shape[k] for k in ba), *free)),)


def _eval_dot(a: Any, b: Any, *, contract: Any, batch: Any) -> Any:
    a, b = np.asarray(a), np.asarray(b)
    (ca, cb), (ba, bb) = contract, batch
    fa, fb = [k for k in range(a.ndim) if k not in (*ca, *ba)], [k for k in range(b.ndim) if k not in (*cb, *bb)]
    n, m, bs = [a.shape[k] for k in fa], [b.shape[k] for k in fb], [a.shape[k] for k in ba]
    size = lambda xs: int(np.prod(xs, dtype=int))
    x = a.transpose(*ba, *fa, *ca).reshape(*bs, size(n), size([a.shape[k] for k in ca]))
    y = b.transpose(*bb, *cb, *fb).reshape(*bs, x.shape[-1], size(m))
    return np.matmul(x, y).astype(a.dtype).reshape((*bs, *n, *m))[()]


def _vjp_dot(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    a, b = node.inputs
    (ca, cb), (ba, bb) = node.attrs["contract"], node.attrs["batch"]
    if ad.active(a):
        adj.add(a, _dot_adjoint(cts[0], ad.need(b), a.type, ca, ba, cb, bb, first=True))
    if ad.active(b):
        adj.add(b, _dot_adjoint(cts[0], ad.need(a), b.type, cb, bb, ca, ba, first=False))


def _dot_adjoint(ct: Value, y: Value, xt: Type, cx: Any, bx: Any, cy: Any, by: Any, first: bool) -> Value:
    """Cotangent of operand x of `dot`, given the other operand y; `first`: x is the left operand."""
    nb = len(bx)
    fx = [k for k in range(xt.rank) if k not in (*cx, *bx)]
    fy = [k for k in range(y.type.rank) if k not in (*cy, *by)]
    lo = nb + (len(fx) if first else 0)  # where y's free axes stand in ct
    ct_axes = tuple(range(lo, lo + len(fy)))
    d = dot(ct, y, contract=(ct_axes, tuple(fy)), batch=(tuple(range(nb)), tuple(by)))
    rest_y = sorted(cy)  # order of y's remaining axes in d
    order = [*bx, *fx, *(cx[list(cy).index(k)] for k in rest_y)]
    return transpose_to(d, _inverse(order))


def _jvp_dot(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    a, b = node.inputs
    out = None
    for d in [dot(tan.get(a), b, **node.attrs) if tan.get(a) is not None else None,
              dot(a, tan.get(b), **node.attrs) if tan.get(b) is not None else None]:  # fmt: skip
        out = d if out is None else out if d is None else out + d
    return [out]


dot = Op("dot", _infer_dot, _eval_dot, _vjp_dot, _jvp_dot,
         doc="contract: axes summed over, of each operand; batch: axes paired; result axes: batch, free of a, free of b")  # fmt: skip
