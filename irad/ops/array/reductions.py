"""Reductions: the result is without the reduced axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Dim, Extent, Type
from irad.errors import IradTypeError, UnsupportedError
from irad.ops.array.indexing import Spec, dim_value, index
from irad.ops.array.scans import cumprod
from irad.ops.array.shapes import broadcast, broadcast_to, check_axis, inverse, iota, linear, reshape_to, transpose_to
from irad.ops.core import Op, type_error
from irad.ops.elementwise import szmul


def _kept(t: Type, axes: Sequence[int]) -> tuple[Dim, ...]:
    if list(axes) != sorted(set(axes)) or any(not 0 <= a < t.rank for a in axes):
        raise IradTypeError(f"axes {tuple(axes)} do not fit {t}")
    return tuple(d for k, d in enumerate(t.shape) if k not in axes)


def _infer_reduce(kinds: str) -> Callable[..., tuple[Type, ...]]:
    def infer(t: Type, *, axes: tuple[int, ...]) -> tuple[Type, ...]:
        if t.dtype[0] not in kinds:
            raise type_error("dtype not supported by this reduction", t)
        for k in axes:
            check_axis(t, k)
        return (t.with_shape(_kept(t, axes)),)

    return infer


def restore(v: Value, like: Type, axes: Sequence[int]) -> Value:
    """Broadcast a reduction's result back over the reduced axes."""
    return broadcast(v, shape=like.shape, dims=tuple(k for k in range(like.rank) if k not in axes))


def _vjp_extreme(arg: Callable[..., Value]) -> Callable[..., None]:
    """The first extreme element takes all: a scatter to argmax or argmin."""

    def vjp(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
        (x,), axes = node.inputs, node.attrs["axes"]
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
            raise UnsupportedError("a product of two run-time extents is not an affine extent")
        out = out * d if isinstance(out, Extent) or isinstance(d, int) else d * out
    return out


def _jvp_extreme(arg: Callable[..., Value]) -> Callable[..., list[Value | None]]:
    def jvp(ad: Any, node: Any, tan: Any) -> list[Value | None]:
        (x,) = node.inputs
        at, spec = _winner(x, node.attrs["axes"], arg)
        return [index(tan.get(x), *at, spec=spec)]

    return jvp


def _infer_arg(t: Type, *, axis: int) -> tuple[Type, ...]:
    if t.dtype[0] not in "biuf":
        raise type_error("dtype not supported by this reduction", t)
    check_axis(t, axis)
    if t.shape[axis] == 0:
        raise IradTypeError(f"argmax or argmin over the empty axis {axis} of {t}")
    return (Type("i64", _kept(t, (axis,))),)


def _vjp_sum(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    (x,) = node.inputs
    adj.add(x, restore(cts[0], x.type, node.attrs["axes"]))


def _others(x: Value, axis: int) -> Value:
    """Product of all other elements along the axis, without division."""
    before, after = (cumprod(x, axis=axis, reverse=r, exclusive=True) for r in (False, True))
    return before * after


def _flat_last(x: Value, axes: tuple[int, ...]) -> tuple[Value, Callable[[Value], Value]]:
    """x with the reduced axes merged into one last axis, and the way back."""
    t = x.type
    perm = tuple(k for k in range(t.rank) if k not in axes) + tuple(axes)
    y = transpose_to(x, perm)
    kept = tuple(t.shape[k] for k in perm[: t.rank - len(axes)])
    flat = reshape_to(y, kept + (_product(t.shape[k] for k in axes),))
    return flat, lambda z: transpose_to(reshape_to(z, y.type.shape), inverse(perm))


def _vjp_prod(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    (x,), axes = node.inputs, node.attrs["axes"]
    flat, back = _flat_last(ad.need(x), axes)
    adj.add(x, szmul(restore(cts[0], x.type, axes), back(_others(flat, flat.type.rank - 1))))


def _jvp_prod(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    (x,), axes = node.inputs, node.attrs["axes"]
    flat, back = _flat_last(x, axes)
    return [sum_(szmul(tan.get(x), back(_others(flat, flat.type.rank - 1))), axes=axes)]


argmax = Op(
    "argmax", _infer_arg, lambda x, *, axis: np.argmax(x, axis), fold="argmax", doc="the first one; a NaN counts as largest"
)
argmin = Op(
    "argmin", _infer_arg, lambda x, *, axis: np.argmin(x, axis), fold="argmin", doc="the first one; a NaN counts as smallest"
)
sum_ = Op("sum", _infer_reduce("iufc"), lambda x, *, axes: np.sum(x, axes, dtype=np.asarray(x).dtype), _vjp_sum, linear(1),
          linear=True, wraps=True, fold="add")  # fmt: skip
prod_ = Op("prod", _infer_reduce("iufc"), lambda x, *, axes: np.prod(x, axes, dtype=np.asarray(x).dtype), _vjp_prod, _jvp_prod,
           fold="mul")  # fmt: skip
max_ = Op("max", _infer_reduce("biuf"), lambda x, *, axes: np.max(x, axes), _vjp_extreme(argmax), _jvp_extreme(argmax),
          exact=True, intervals=lambda a, **_: a, fold="maximum", doc="NaN if any is; the slope goes to the first largest element")  # fmt: skip
min_ = Op("min", _infer_reduce("biuf"), lambda x, *, axes: np.min(x, axes), _vjp_extreme(argmin), _jvp_extreme(argmin),
          exact=True, intervals=lambda a, **_: a, fold="minimum", doc="NaN if any is; the slope goes to the first smallest element")  # fmt: skip
any_ = Op("any", _infer_reduce("b"), lambda x, *, axes: np.any(x, axes), fold="logical_or")
all_ = Op("all", _infer_reduce("b"), lambda x, *, axes: np.all(x, axes), fold="logical_and")
