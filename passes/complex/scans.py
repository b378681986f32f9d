"""Products and recurrences of complex numbers along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irad.core.ir import Graph, Node, Value, build, emit
from irad.core.types import I64
from irad.ops.array import Slice, dim_value, index, update, zeros
from irad.ops.constant import const, empty
from irad.ops.control import for_
from irad.passes.complex import functions as cf

Parts = tuple[Value, Value]
UNROLLED = 16  # a product of up to so many elements is written out


def prod(s: Any, n: Node) -> list[Value]:
    re, im = s.parts[n.inputs[0]]
    for axis in sorted(n.attrs["axes"], reverse=True):
        re, im = _prod_along(re, im, axis)
    return [re, im]


def _prod_along(re: Value, im: Value, axis: int) -> Parts:
    t = re.type
    rest = t.with_shape(t.shape[:axis] + t.shape[axis + 1 :])
    at = lambda v, k: _take(v, axis, k)
    size = t.shape[axis]
    if isinstance(size, int) and 0 < size <= UNROLLED:
        out = at(re, 0), at(im, 0)
        for k in range(1, size):
            out = cf.multiply(*out, at(re, k), at(im, k))
        return out

    def body(k: Value, x: Value, y: Value) -> list[Value]:
        return list(cf.multiply(x, y, at(re, k), at(im, k)))

    region = build([I64, rest, rest], body)
    re, im = _for(size, [const(value=1.0, type=rest), zeros(rest)], region)
    return re, im


def _for(size: Any, carry: Sequence[Value], body: Graph) -> tuple[Value, ...]:
    """A `for` of `size` trips."""
    return emit(for_, dim_value(size), *carry, regions=[body])


def _take(v: Value, axis: int, k: int | Value) -> Value:
    """Element k of an axis, which goes."""
    spec = tuple(("i" if isinstance(k, Value) else k) if j == axis else Slice(0, d) for j, d in enumerate(v.type.shape))
    return index(v, *([k] if isinstance(k, Value) else []), spec=spec)


def _put(v: Value, x: Value, axis: int, k: Value) -> Value:
    return update(v, x, k, spec=tuple("i" if j == axis else Slice(0, d) for j, d in enumerate(v.type.shape)))


def _scan(operands: Sequence[Parts], start: float, n: Node, step: Callable[..., cf.Pair]) -> list[Value]:
    """y[k] = step(y[k-1], operands at k) along an axis, y[-1] = start; `exclusive` gives y[k-1] at k."""
    axis, backwards, exclusive = n.attrs["axis"], n.attrs["reverse"], n.attrs.get("exclusive", False)
    t = operands[0][0].type
    rest = t.with_shape(t.shape[:axis] + t.shape[axis + 1 :])
    size = t.shape[axis]

    def body(trip: Value, *carry: Value) -> list[Value]:
        k = dim_value(size - 1) - trip if backwards else trip
        before, out = carry[:2], carry[2:]
        xs = [_take(v, axis, k) for pair in operands for v in pair]
        after = step(*before, *xs)
        return [*after, *(_put(o, y, axis, k) for o, y in zip(out, before if exclusive else after))]

    first = [const(value=start, type=rest), zeros(rest)]
    made = _for(size, [*first, empty(type=t), empty(type=t)], build([I64, rest, rest, t, t], body))
    return list(made[2:])


def cumprod(s: Any, n: Node) -> list[Value]:
    return _scan([s.parts[n.inputs[0]]], 1.0, n, cf.multiply)


def linrec(s: Any, n: Node) -> list[Value]:
    def step(u: Value, v: Value, a: Value, b: Value, c: Value, d: Value) -> cf.Pair:
        p, q = cf.multiply(a, b, u, v)
        return p + c, q + d

    return _scan([s.parts[v] for v in n.inputs], 0.0, n, step)
