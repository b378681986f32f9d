"""Arrays that are made, stretched, reshaped and transposed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value, emit
from irad.core.types import Dim, Extent, Type, same_count
from irad.errors import IradTypeError, ShapeError, UnsupportedError
from irad.ops.constant import const
from irad.ops.core import OPS, Op


def zeros(type: Type) -> Value:
    """A constant zero of a type."""
    return const(value=0, type=type)


def linear(k: int = sys.maxsize) -> Callable[..., list[Value | None]]:
    """jvp of an op that is linear in its first k inputs, or all of them, taken together."""

    def jvp(ad: Any, node: Any, tan: Any) -> list[Value | None]:
        ds = [zeros(v.type) if (d := tan.get(v)) is None else d for v in node.inputs[:k]]
        return list(emit(node.op, *ds, *node.inputs[k:], **node.attrs))

    return jvp


def check_axis(t: Type, axis: int) -> None:
    """Raise IradTypeError unless the type has that axis."""
    if not 0 <= axis < t.rank:
        raise IradTypeError(f"{t} has no axis {axis}")


def _infer_iota(*, type: Type, axis: int) -> tuple[Type, ...]:
    check_axis(type, axis)
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
    dims, shape = node.attrs["dims"], node.outputs[0].type.shape
    stretched = [k for k, d in zip(dims, x.type.shape) if d == 1 and shape[k] != 1]
    axes = tuple(k for k in range(len(shape)) if k not in dims or k in stretched)
    ct = OPS["sum"](cts[0], axes=axes) if axes else cts[0]
    adj.add(x, reshape_to(ct, x.type.shape))


broadcast = Op("broadcast", _infer_broadcast, _eval_broadcast, _vjp_broadcast, linear(1), cheap=True, linear=True,
               intervals=lambda a, **_: a, cost=0, finite=True, moves=True, keeps_order=True, doc="axis k of the operand becomes axis dims[k]; extent 1 stretches")  # fmt: skip


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
    elif not same_count(t.shape, shape):
        raise UnsupportedError(
            f"cannot reshape {t} to shape {_shape_text(shape)}: that it has as many elements is not seen from its run-time extents"
        )
    return (new,)


reshape = Op("reshape", _infer_reshape, lambda x, *, shape: np.reshape(x, shape).copy(),
             lambda ad, node, cts, adj: adj.add(node.inputs[0], reshape_to(cts[0], node.inputs[0].type.shape)), linear(1),
             cheap=True, linear=True, intervals=lambda a, **_: a, cost=0, finite=True, moves=True, keeps_order=True, each_once=True, doc="C order")  # fmt: skip


def reshape_to(x: Value, shape: Sequence[Dim]) -> Value:
    """x in another shape, the very value if it has it already."""
    return x if x.type.shape == tuple(shape) else reshape(x, shape=tuple(shape))


def _infer_transpose(t: Type, *, perm: tuple[int, ...]) -> tuple[Type, ...]:
    if sorted(perm) != list(range(t.rank)):
        raise IradTypeError(f"transpose of {t}: {perm} is not a permutation of its axes")
    return (t.with_shape(tuple(t.shape[k] for k in perm)),)


transpose = Op("transpose", _infer_transpose, lambda x, *, perm: np.transpose(x, perm).copy(),
               lambda ad, node, cts, adj: adj.add(node.inputs[0], transpose_to(cts[0], inverse(node.attrs["perm"]))), linear(1),
               cheap=True, linear=True, intervals=lambda a, **_: a, cost=0, finite=True, moves=True, each_once=True, doc="result axis k is operand axis perm[k]")  # fmt: skip


def inverse(perm: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))


def transpose_to(x: Value, perm: Sequence[int]) -> Value:
    """Transpose, the very value if nothing moves."""
    return x if tuple(perm) == tuple(range(x.type.rank)) else transpose(x, perm=tuple(perm))


copy = Op("copy", lambda t: (t,), lambda x: np.array(x), lambda ad, node, cts, adj: adj.add(node.inputs[0], cts[0]), linear(1),
          linear=True, intervals=lambda a: a, stacks=True, doc="the same array in memory of its own; made by the plan pass")  # fmt: skip
