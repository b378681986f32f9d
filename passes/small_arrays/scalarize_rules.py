"""Scalarize, part 2: how each op is written out, element by element.

A rule takes the node and, for each operand, the array of its elements: a NumPy array of Values, or a Value for a scalar. An
array with a lane axis (irad.passes.small_arrays.lanes) has extent 1 there, and its elements are vectors; the node that the rule sees
says the same (`narrowed`), so that a rule does not know of lanes. Where vectors meet scalars, scalars are repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from irad.core.ir import Node, Value, emit
from irad.core.types import Type
from irad.ops.array import Product, Slice, broadcast, numpy_key
from irad.ops.constant import const, scalar
from irad.ops.core import OPS, Op
from irad.ops.elementwise import add, mul

MAX_SIZE = 20  # elements up to which an array is written out

Elements = Any  # a NumPy array of Values, in the array's shape


def fold_of(op: Op) -> Op | None:
    """The elementwise op that a reduction is made of."""
    made_of = OPS.get(op.fold)
    return made_of if made_of is not None and made_of.elementwise else None


def empty_elements(shape: tuple[int, ...]) -> Any:
    """An array to put values into."""
    return np.empty(shape, dtype=object)


def elements_of(n: Node, arrays: Sequence[Any], lane: int | None = None) -> Any:
    """The elements of the result of n, given those of its operands. `lane`: the result's lane axis."""
    if n.op.elementwise:
        out = _map(lambda *xs: apply(n.op, *xs, **n.attrs), arrays)
    elif (made_of := fold_of(n.op)) is not None:
        out = _fold(made_of, arrays[0], n.attrs["axes"])
    else:
        out = RULES[n.op.name](n, *arrays)
    t = n.out.type
    if not t.shape:
        return out.item() if isinstance(out, np.ndarray) else out
    out = np.asarray(out, object).reshape(one_lane(t.dims, lane))
    return out if lane is None else _map(lambda x: repeated(x, t.dims[lane]), [out])


# ---- lanes ------------------------------------------------------------------------------------------------------------


def one_lane(shape: tuple[int, ...], lane: int | None) -> tuple[int, ...]:
    """The shape of an array's elements."""
    return shape if lane is None else (*shape[:lane], 1, *shape[lane + 1 :])


def repeated(x: Value, lanes: int) -> Value:
    """An element as a vector."""
    return x if x.type.shape else broadcast(x, shape=(lanes,), dims=())


def apply(op: Any, *xs: Value, **attrs: Any) -> Value:
    """The op on elements, some of which may be vectors."""
    lanes = next((x.type.shape for x in xs if x.type.shape), ())
    if lanes:
        xs = tuple(x if x.type.shape else broadcast(x, shape=lanes, dims=()) for x in xs)
    return emit(op, *xs, **attrs)[0]


def narrowed(n: Node, wanted: Mapping[int, int], lane: int | None) -> Node:
    """The node as a rule sees it: lane axes (of operand k: `wanted[k]`) of extent 1."""
    if lane is None:
        return n
    attrs = dict(n.attrs)
    if n.op.keeps_order:
        attrs["shape"] = one_lane(attrs["shape"], lane)
    elif "spec" in attrs:
        attrs["spec"] = tuple(Slice(0, 1) if k == wanted[0] else s for k, s in enumerate(attrs["spec"]))
    return n.replace(attrs=attrs)


def made_free(n: Node, lane: int | None) -> Elements:
    """The elements, in the form that is wanted, of an array that is no computation (irad.passes.small_arrays.lanes.free)."""
    t = n.out.type
    if n.op.name == "broadcast":
        return elements_of(narrowed(n, {}, lane), [n.inputs[0]], lane)
    if lane is None:
        return RULES[n.op.name](n)
    assert n.op.eval is not None
    value = np.moveaxis(np.broadcast_to(n.op.eval(**n.attrs), t.dims), lane, -1)
    out = empty_elements(value.shape[:-1])
    made: dict[bytes, Value] = {}
    for at in np.ndindex(*out.shape):
        row = np.ascontiguousarray(value[at])
        key = row.tobytes()
        if key not in made:
            same = row.tobytes() == np.full_like(row, row[0]).tobytes()
            made[key] = const(value=row[0].item() if same else row, type=Type(t.dtype, row.shape))
        out[at] = made[key]
    return np.expand_dims(out, lane)


# ---- rules: one per op, on arrays of Values ------------------------------------------------------------------------


def _map(f: Callable[..., Value], arrays: Sequence[Any]) -> Any:
    shape = next((a.shape for a in arrays if isinstance(a, np.ndarray)), ())
    out = empty_elements(shape)
    for at in np.ndindex(*shape):
        out[at] = f(*(a[at] if isinstance(a, np.ndarray) else a for a in arrays))
    return out


def _fold(op: Any, x: Elements, axes: Sequence[int]) -> Any:
    """Left to right along the axes."""
    kept = [k for k in range(x.ndim) if k not in axes]
    flat = x.transpose(*kept, *axes).reshape(*(x.shape[k] for k in kept), -1)
    out = empty_elements(flat.shape[:-1])
    for at in np.ndindex(*out.shape):
        out[at] = reduce(partial(apply, op), flat[at])
    return out if out.shape else out[()]


def _const(n: Node) -> Elements:
    value = np.broadcast_to(np.asarray(n.attrs["value"]), n.out.type.dims)
    made: dict[bytes, Value] = {}
    out = empty_elements(value.shape)
    for at in np.ndindex(*value.shape):
        key = np.asarray(value[at]).tobytes()
        if key not in made:
            made[key] = scalar(value[at].item(), n.out.type.dtype)
        out[at] = made[key]
    return out


def _iota(n: Node) -> Elements:
    t, axis = n.out.type, n.attrs["axis"]
    positions = [scalar(k, t.dtype) for k in range(t.dims[axis])]
    out = empty_elements(t.dims)
    for at in np.ndindex(*t.dims):
        out[at] = positions[at[axis]]
    return out


def _broadcast(n: Node, x: Any) -> Elements:
    assert n.op.eval is not None
    return n.op.eval(np.asarray(x, object), **n.attrs)


def _static(spec: Any) -> tuple[Any, ...]:
    return numpy_key((), spec)


def _add(x: Value, y: Value) -> Value:
    return apply(add, x, y)


def _mul(x: Value, y: Value) -> Value:
    return apply(mul, x, y)


def _update(n: Node, x: Elements, v: Any) -> Elements:
    out, at = x.copy(), _static(n.attrs["spec"])
    out[at] = v
    return out


def _update_add(n: Node, x: Elements, v: Any) -> Elements:
    out, at = x.copy(), _static(n.attrs["spec"])
    old = out[at]
    out[at] = _map(_add, [old, v]) if isinstance(old, np.ndarray) else _add(old, v)
    return out


def _dot(n: Node, *arrays: Any) -> Any:
    a, b = (np.asarray(x, object) for x in arrays)  # the adjoint of an inner product has a scalar for one
    p = Product(n)
    (ca, cb), (ba, bb), (fa, fb) = p.contract, p.batch, p.free
    x = a.transpose(*ba, *fa, *ca).reshape(*(a.shape[k] for k in (*ba, *fa)), -1)
    y = b.transpose(*bb, *fb, *cb).reshape(*(b.shape[k] for k in (*bb, *fb)), -1)
    out = np.empty((*(a.shape[k] for k in (*ba, *fa)), *(b.shape[k] for k in fb)), object)
    for at in np.ndindex(*out.shape):
        batch, i, j = at[: len(ba)], at[len(ba) : len(ba) + len(fa)], at[len(ba) + len(fa) :]
        out[at] = reduce(_add, map(_mul, x[(*batch, *i)], y[(*batch, *j)]))
    return out if out.shape else out[()]


def _scan(step: Callable[[Value, Value], Value]) -> Callable[..., Elements]:
    def rule(n: Node, x: Elements) -> Elements:
        axis, reverse = n.attrs["axis"], n.attrs["reverse"]
        y = np.moveaxis(x, axis, 0)[:: -1 if reverse else 1]
        out = empty_elements(y.shape)
        unit = scalar(0 if n.op.name == "cumsum" else 1, n.out.type.dtype)
        for at in np.ndindex(*y.shape[1:]):
            total = unit if n.attrs["exclusive"] else None
            for k in range(len(y)):
                if n.attrs["exclusive"]:
                    out[(k, *at)] = total
                    total = step(total, y[(k, *at)])  # type: ignore[arg-type]
                else:
                    total = y[(k, *at)] if total is None else step(total, y[(k, *at)])
                    out[(k, *at)] = total
        return np.moveaxis(out[:: -1 if reverse else 1], 0, axis)

    return rule


RULES: dict[str, Callable[..., Any]] = {
    "const": _const, "iota": _iota, "broadcast": _broadcast,
    "reshape": lambda n, x: np.asarray(x, object).reshape(n.attrs["shape"]),
    "transpose": lambda n, x: x.transpose(n.attrs["perm"]), "concat": lambda n, *xs: np.concatenate(xs, n.attrs["axis"]),
    "index": lambda n, x: x[_static(n.attrs["spec"])], "update": _update, "update_add": _update_add, "dot": _dot,
    "cumsum": _scan(_add), "cumprod": _scan(_mul),
}  # fmt: skip
