"""Methods of ufuncs, element after element in NumPy's order: reduce and accumulate of what is not associative, reduceat, at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.ir import Value, build, emit
from irad.core.types import I64, Type
from irad.errors import IradIndexError, IradValueError, UnsupportedError
from irad.frontend.numpy.elementwise import LOWER, apply_ufunc, convert
from irad.frontend.numpy.join import stack
from irad.frontend.numpy.reduce import keep
from irad.frontend.numpy.scan import part
from irad.frontend.numpy.ufunc_methods import add_method, own_dtype
from irad.frontend.registry import TABLE
from irad.frontend.values.arr import Arr, lift, materialise, normalize_axes, normalize_axis, size_of, static_int, static_value
from irad.frontend.values.index import check_same_kind, getitem
from irad.ops.array import Slice, dim_value, index, iota, reshape_to, transpose_to, update
from irad.ops.constant import const, empty
from irad.ops.control import for_

ORDERED = (
    "subtract", "divide", "power", "float_power", "floor_divide", "remainder", "fmod", "arctan2", "copysign", "nextafter", "heaviside",
    "left_shift", "right_shift",
)  # fmt: skip
_NONE = np._NoValue
UNROLLED = 8  # elements combined without a loop


def _first(v: Value, k: Value | int) -> Value:
    """Element k of the first axis."""
    rest = tuple(Slice(0, d) for d in v.type.shape[1:])
    return index(v, spec=(k, *rest)) if isinstance(k, int) else index(v, k, spec=("i", *rest))


def _combined(name: str, x: Value, y: Value, dtype: str) -> Value:
    return convert(apply_ufunc(name, Arr(x), Arr(y)), dtype).value


def _fold(name: str, v: Value, start: Value | None) -> Value:
    """start op v[0] op v[1] ..., from the left."""
    n, first = v.type.shape[0], 0 if start is not None else 1
    acc = _first(v, 0) if start is None else start
    if isinstance(n, int) and n - first <= UNROLLED:
        for k in range(first, n):
            acc = _combined(name, acc, _first(v, k), v.type.dtype)
        return acc

    def body(k: Value, acc: Value) -> Value:
        at = k + 1 if first else k
        return _combined(name, acc, _first(v, at), v.type.dtype)

    return emit(for_, dim_value(n - first), acc, regions=[build([I64, acc.type], body)])[0]


def _reduce(name: str) -> Callable[..., Arr]:
    def call(
        array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _NONE, where: Any = True
    ) -> Arr:  # fmt: skip
        x = own_dtype(name, lift(array), dtype)
        axes = normalize_axes(axis, x.ndim)
        if len(axes) != 1:
            raise IradValueError(f"reduction operation '{name}' is not reorderable, so at most one axis may be specified")
        if where is not True:
            raise UnsupportedError(f"np.{name}.reduce(where=): select the elements first")
        (k,) = axes
        v = transpose_to(x.value, (k, *(j for j in range(x.ndim) if j != k)))
        given = initial is not _NONE and initial is not None
        if v.type.shape[0] == 0 and not given:
            raise IradValueError(f"zero-size array to reduction operation {name} which has no identity")
        out_v = _fold(name, v, materialise(initial, x.name, v.type.shape[1:]) if given else None)
        return keep(out_v, x.shape, axes, keepdims)

    return call


def _accumulate(name: str) -> Callable[..., Arr]:
    def call(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Arr:
        x = own_dtype(name, lift(array), dtype)
        k = normalize_axis(axis, x.ndim)
        order = (k, *(j for j in range(x.ndim) if j != k))
        v = transpose_to(x.value, order)
        n = v.type.shape[0]
        if n == 0:
            return x
        whole = tuple(Slice(0, d) for d in v.type.shape[1:])
        first = _first(v, 0)

        def body(trip: Value, acc: Value, made: Value) -> list[Value]:
            at = trip + 1
            acc = _combined(name, acc, _first(v, at), v.type.dtype)
            return [acc, update(made, acc, at, spec=("i", *whole))]

        made = update(empty(type=v.type), first, spec=(0, *whole))
        made = emit(for_, dim_value(n - 1), first, made, regions=[build([I64, first.type, v.type], body)])[1]
        return Arr(transpose_to(made, tuple(order.index(j) for j in range(x.ndim))))

    return call


def _reduceat(name: str) -> Callable[..., Arr]:
    """Reductions over x[i:j] for neighbours i, j of the static indices; x[i] alone where i >= j."""

    def call(array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Arr:
        x = lift(array)
        k = normalize_axis(axis, x.ndim)
        n = static_int(x.shape[k], "the extent of the axis of reduceat")
        at = np.asarray(static_value(indices, "the indices of reduceat")).tolist()
        for i in at:
            if not 0 <= i < n:
                raise IradIndexError(f"index {i} out-of-bounds in {name}.reduceat [0, {n})")
        reduce = TABLE[getattr(np, name).reduce]
        parts = [reduce(part(x, k, i, max(j - i, 1)), axis=k, dtype=dtype) for i, j in zip(at, [*at[1:], n])]
        return stack(parts, axis=k)

    return call


def at(name: str, a: Arr, indices: Any, b: Any = None) -> Arr:
    """The array after np.<name>.at(a, indices, b): one place after another, so that repeated ones count every time."""
    size = size_of(a.shape)
    places = Arr(reshape_to(iota(type=Type("i64", (size,)), axis=0), a.shape))
    chosen = getitem(places, indices)
    unary = getattr(np, name).nin == 1
    if unary != (b is None):
        raise IradValueError(f"np.{name}.at takes {'an array and indices' if unary else 'an array, indices and operands'}")
    count = size_of(chosen.shape)
    flat = reshape_to(chosen.value, (count,))
    operand = None if unary else lift(b)
    values = None if operand is None else reshape_to(materialise(operand, operand.name, chosen.shape), (count,))
    one = lambda t: Arr(const(value=1, type=Type(t)))
    result = apply_ufunc(name, one(a.name), *([] if operand is None else [one(operand.name)]))
    check_same_kind(result.name, a.name, name)

    def body(k: Value, y: Value) -> Value:
        p = index(flat, k, spec=("i",))
        old = Arr(index(y, p, spec=("i",)))
        new = apply_ufunc(name, old) if values is None else apply_ufunc(name, old, Arr(index(values, k, spec=("i",))))
        return update(y, convert(new, a.name).value, p, spec=("i",))

    start = reshape_to(a.value, (size,))
    return Arr(reshape_to(emit(for_, dim_value(count), start, regions=[build([I64, start.type], body)])[0], a.shape))


def _register() -> None:
    for name in ORDERED:
        add_method(name, "reduce", _reduce(name))
        add_method(name, "accumulate", _accumulate(name))
    for name in LOWER:
        if getattr(getattr(np, name, None), "nin", 0) == 2 and getattr(np, name).reduce in TABLE:
            add_method(name, "reduceat", _reduceat(name))


_register()
