"""Indexing with its in-place forms: one family. `spec` has one item per axis of the array:

    3         a static position, counted from the front; the axis goes
    "i"       a position at run time: the next operand, an i64 scalar; the axis goes
    Slice     start, size, step: the axis stays with extent `size`; start None is the next operand, an i64 scalar
    "g"       gather: the next operand, an i64 array; all gather operands have one shape, which stands at the first "g"

`index` reads, `update` writes, `update_add` adds (every repeated gather index counts); positions are within bounds,
which whoever emits the node has checked. The in-place ops are functional here; the plan pass makes them write in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.lazy_dataclass import dataclass
from irad.core.types import I64, Dim, Extent, Type
from irad.errors import IradTypeError, ShapeError
from irad.ops.array.shapes import broadcast_to, check_axis, iota, linear, reshape_to, zeros
from irad.ops.constant import const, scalar
from irad.ops.core import Op, type_error
from irad.ops.elementwise import eq, select


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
    return ["gather" if s == "g" else "scalar" for s in spec if _takes(s)]


def _takes(s: int | str | Slice) -> bool:
    return isinstance(s, str) or isinstance(s, Slice) and s.start is None


def located(spec: Spec, operands: Iterable[Any]) -> list[tuple[Any, Any]]:
    """The items of a spec, each with its operand, or with the number that it names: a position, or the start of a slice."""
    given = iter(operands)
    return [(s, next(given) if _takes(s) else s.start if isinstance(s, Slice) else s) for s in spec]


def _infer_index(x: Type, *idx: Type, spec: Spec) -> tuple[Type, ...]:
    if len(spec) != x.rank or len(idx) != len(operand_types(spec)):
        raise IradTypeError(f"index of {x}: spec has {len(spec)} items and {len(operand_types(spec))} operands, {len(idx)} given")
    shape: list[Dim] = []
    gathered = None
    for n, (s, at) in zip(x.shape, located(spec, idx)):
        if isinstance(s, Slice):
            shape.append(s.size)
            _check_slice(x, n, s)
        elif isinstance(s, int) and isinstance(n, int) and not 0 <= s < n:
            raise IradTypeError(f"index {s} is out of bounds for an axis of {n} elements in {x}")
        if s == "g":
            if at.dtype != "i64" or gathered not in (None, at):
                raise type_error("gather indices must be i64 arrays of one shape", *idx)
            if gathered is None:
                shape += at.shape
            gathered = at
        elif isinstance(at, Type) and at != I64:
            raise type_error("a position must be an i64 scalar", *idx)
    return (Type(x.dtype, tuple(shape)),)


def _check_slice(x: Type, n: Dim, s: Slice) -> None:
    if s.start is not None and isinstance(n, int) and isinstance(s.size, int) and s.size > 0:
        last = s.start + (s.size - 1) * s.step
        if not (0 <= s.start < n and 0 <= last < n):
            raise IradTypeError(f"slice {s.start}:{s.size}:{s.step} (start, size, step) leaves an axis of {n} elements in {x}")


def numpy_key(idx: Sequence[Any], spec: Spec) -> tuple[Any, ...]:
    """NumPy index arrays (one per axis, mutually broadcasting) that mean `spec`; result axes are in spec order."""
    items, rank, first = [], 0, -1
    for s, at in located(spec, idx):  # first: the result rank and where each axis of the array goes
        if s == "g":
            a = np.asarray(at)
            if first < 0:
                first, rank = rank, rank + a.ndim
            items.append((a, first, a.ndim))
        elif isinstance(s, Slice):
            assert isinstance(s.size, int)
            items.append((int(at) + s.step * np.arange(s.size), rank, 1))
            rank += 1
        else:
            items.append((np.asarray(int(at)), 0, 0))
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


index = Op("index", _infer_index, lambda x, *idx, spec: np.array(np.asarray(x)[numpy_key(idx, spec)])[()], _vjp_index, linear(1),
           linear=True, intervals=lambda a, *_, **__: a, finite=True, moves=True, zero_at=0)  # fmt: skip
update = Op("update", _infer_update, _eval_update, _vjp_update, linear(2), linear=True,
            intervals=lambda a, b, *_, **__: (min(a[0], b[0]), max(a[1], b[1])), finite=True, doc="of repeated gather positions the last wins")  # fmt: skip
update_add = Op("update_add", _infer_update, _eval_update_add, _vjp_update_add, linear(2), linear=True,
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


# ---- arrays side by side ------------------------------------------------------------------------------------


def _infer_concat(*ts: Type, axis: int) -> tuple[Type, ...]:
    first = ts[0]
    check_axis(first, axis)
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
            linear(), linear=True, exact=True, intervals=lambda *a, **_: (min(x[0] for x in a), max(x[1] for x in a)), finite=True)  # fmt: skip
