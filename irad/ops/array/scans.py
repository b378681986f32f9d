"""Scans along one axis: running sums and products, linear recurrences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Type
from irad.ops.array.indexing import Slice, slice_axis, update
from irad.ops.array.shapes import linear
from irad.ops.core import Op, type_error
from irad.ops.elementwise import full, szmul


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
    v, step = ad.need(x), -1 if rev else 1
    ct = shift(cts[0], axis, -step, 0.0) if ex else cts[0]  # exclusive: y_{k+1} is the inclusive one at k
    s = linrec(shift(v, axis, -step, 0.0), ct, axis=axis, reverse=not rev)
    adj.add(x, szmul(s, cumprod(v, axis=axis, reverse=rev, exclusive=True)))


def _jvp_cumprod(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    """y_k = x_k y_{k-1}: dy_k = x_k dy_{k-1} + y_{k-1} dx_k."""
    (x,), (axis, rev, ex) = node.inputs, (node.attrs["axis"], node.attrs["reverse"], node.attrs["exclusive"])
    before = cumprod(x, axis=axis, reverse=rev, exclusive=True)
    dy = linrec(x, tan.get(x) * before, axis=axis, reverse=rev)
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


cumsum = Op("cumsum", _infer_scan, _eval_scan(np.add),
            lambda ad, node, cts, adj: adj.add(node.inputs[0], node.op(cts[0], **{**node.attrs, "reverse": not node.attrs["reverse"]})),
            linear(1), linear=True, wraps=True,
            doc="running sum; reverse: from the end; exclusive: without the element itself")  # fmt: skip
cumprod = Op("cumprod", _infer_scan, _eval_scan(np.multiply), _vjp_cumprod, _jvp_cumprod, doc="running product")
linrec = Op("linrec", _infer_linrec, _eval_linrec, _vjp_linrec, _jvp_linrec,
            zero_at=1, doc="linear recurrence y[k] = a[k]*y[k-1] + b[k], y[-1] = 0; reverse: from the end")  # fmt: skip
