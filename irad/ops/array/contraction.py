"""Products of arrays that are summed over axes of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Node, Value
from irad.core.types import Type
from irad.errors import ShapeError
from irad.ops.array.shapes import inverse, transpose_to
from irad.ops.core import Op, type_error
from irad.ops.elementwise import plus


def _free(rank: int, contract: Sequence[int], batch: Sequence[int]) -> list[int]:
    return [k for k in range(rank) if k not in contract and k not in batch]


class Product:
    """View of a `dot`. Of each of its operands: the axes that are summed over, those paired with one of the other, and the others."""

    __slots__ = ("contract", "batch", "free")

    def __init__(self, node: Node):
        self.contract, self.batch = node.attrs["contract"], node.attrs["batch"]
        self.free = [_free(v.type.rank, c, b) for v, c, b in zip(node.inputs, self.contract, self.batch)]

    def homes(self, first: int = 0) -> list[tuple[int, int]]:
        """For each axis of the result the operand and the axis that it is: of a pair that of operand `first`."""
        return [*((first, k) for k in self.batch[first]), *((side, k) for side in (0, 1) for k in self.free[side])]

    def spread(self, result: Sequence[Any], summed: Sequence[Any]) -> list[tuple[Any, ...]]:
        """For each operand what belongs to its axes, given what belongs to those of the result and to those that are summed over."""
        own, out = dict(zip(self.homes(), result)), []
        for side, (contract, batch, free) in enumerate(zip(self.contract, self.batch, self.free)):
            at = {**dict(zip(contract, summed)), **dict(zip(batch, result)), **{k: own[side, k] for k in free}}
            out.append(tuple(at[k] for k in range(len(at))))
        return out


def _infer_dot(a: Type, b: Type, *, contract: Any, batch: Any) -> tuple[Type, ...]:
    (ca, cb), (ba, bb) = contract, batch
    if a.dtype != b.dtype or a.dtype[0] not in "biufc":
        raise type_error("dot wants two operands of one dtype", a, b)
    for i, j in [*zip(ca, cb), *zip(ba, bb)]:
        if a.shape[i] != b.shape[j]:
            raise ShapeError(f"dot: axis {i} of {a} and axis {j} of {b} must have equal extents")
    free = [t.shape[k] for t, c, s in ((a, ca, ba), (b, cb, bb)) for k in _free(t.rank, c, s)]
    return (Type(a.dtype, (*(a.shape[k] for k in ba), *free)),)


def _eval_dot(a: Any, b: Any, *, contract: Any, batch: Any) -> Any:
    a, b = np.asarray(a), np.asarray(b)
    (ca, cb), (ba, bb) = contract, batch
    fa, fb = _free(a.ndim, ca, ba), _free(b.ndim, cb, bb)
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
    fx, fy = _free(xt.rank, cx, bx), _free(y.type.rank, cy, by)
    lo = nb + (len(fx) if first else 0)  # where y's free axes stand in ct
    ct_axes = tuple(range(lo, lo + len(fy)))
    d = dot(ct, y, contract=(ct_axes, tuple(fy)), batch=(tuple(range(nb)), tuple(by)))
    rest_y = sorted(cy)  # order of y's remaining axes in d
    order = [*bx, *fx, *(cx[list(cy).index(k)] for k in rest_y)]
    return transpose_to(d, inverse(order))


def _jvp_dot(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    a, b = node.inputs
    da, db = (tan.get(v) for v in node.inputs)
    left = None if da is None else dot(da, b, **node.attrs)
    return [plus(left, None if db is None else dot(a, db, **node.attrs))]


dot = Op("dot", _infer_dot, _eval_dot, _vjp_dot, _jvp_dot,
         doc="contract: axes summed over, of each operand; batch: axes paired; result axes: batch, free of a, free of b")  # fmt: skip
