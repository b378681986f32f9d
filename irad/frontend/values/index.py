"""NumPy indexing: reading `x[key]`, storing, and storing in place, for basic and advanced keys, static and traced.

A key becomes a `Plan`: the spec and operands of the `index` family, and how its result axes become NumPy's. Checks that
intervals prove are not emitted; the others raise IndexError at run time with NumPy's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.lazy_dataclass import dataclass
from irad.core.types import DTYPES, Dim, is_int
from irad.errors import IradIndexError, IradTypeError, IradValueError, UnsupportedError
from irad.frontend.registry import OPERATORS
from irad.frontend.values.arr import (
    Arr,
    broadcast_shapes,
    dtype_of,
    is_traced,
    lift,
    materialise,
    require_equal_dims,
    result_dtype,
    retype_extents,
    shape_of,
    show_shape,
    size_of,
)
from irad.frontend.values.extents import equal
from irad.frontend.values.positions import gather_positions, resolve_slice, static_gather, static_position, traced_position
from irad.ops.array import Slice, dim_value, index, reshape_to, sum_, transpose_to, update, update_add
from irad.ops.elementwise import cast_to, select
from irad.ops.intervals import affine_of, bound, dim_interval
from irad.ops.mask import nonzero


@dataclass(frozen=True)
class Plan:
    """How a key reads an array: `index(x, *operands, spec=spec)`, transposed by `perm`, reshaped to `shape`."""

    spec: tuple[Any, ...]
    operands: tuple[Value, ...]
    perm: tuple[int, ...]
    shape: tuple[Dim, ...]  # NumPy's result
    inserted: tuple[bool, ...]  # which axes of `shape` are newaxis
    whole: bool  # the key selects every element in place: no index is needed

    @property
    def gathers(self) -> bool:
        return "g" in self.spec

    def read(self, x: Value) -> Value:
        v = x if self.whole else index(x, *self.operands, spec=self.spec)
        return reshape_to(transpose_to(v, self.perm), self.shape)

    def place(self, v: Value) -> Value:
        """A value of NumPy's result shape as the `update` family wants it."""
        inner = [0] * len(self.perm)
        for k, p in enumerate(self.perm):
            inner[p] = k
        dims = [d for d, new in zip(self.shape, self.inserted) if not new]
        return transpose_to(reshape_to(v, dims), inner)


# ---- keys --------------------------------------------------------------------------------------------------------


def _is_bool_array(k: Any) -> bool:
    return (isinstance(k, Arr) and k.name == "bool") or (isinstance(k, np.ndarray) and k.dtype == bool)


def is_condition(k: Any) -> bool:
    """Is an index a single bool? It stands for a mask with an axis of its own, in front."""
    return isinstance(k, (bool, np.bool_)) or (isinstance(k, (Arr, np.ndarray)) and not shape_of(k) and dtype_of(k) == "bool")


def _in_front(x: Arr, key: Any) -> tuple[Arr, Arr]:
    """An array with an axis in front, and the mask of that axis which a single bool stands for."""
    return Arr(reshape_to(x.value, (1, *x.shape))), Arr(reshape_to(lift(key).value, (1,)))


def is_index(key: Arr) -> bool:
    """Does Python take a number as an index?"""
    return not key.shape and (key.name[0] in "iu" or (key.name == "bool" and key.weak))


def _normalize_item(k: Any) -> Any:
    """An item of a key as int, scalar Arr, slice, None, Ellipsis, or an index array (Arr or ndarray)."""
    if k is None or k is Ellipsis or isinstance(k, slice):
        return k
    if isinstance(k, (bool, np.bool_)):
        raise UnsupportedError("a bool as an index adds an axis in NumPy; write x[np.newaxis] or an if statement")
    if isinstance(k, (list, tuple)):
        if not len(k):
            return np.zeros(0, np.int64)
        k = lift(k) if is_traced(k) else np.asarray(k)
    if isinstance(k, Arr):
        if not (is_int(k.name) or k.name == "bool"):
            raise IradIndexError(
                f"only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays "
                f"are valid indices, not {k.type}"
            )
        if k.name == "bool" and not k.shape:
            raise UnsupportedError("a traced bool as an index: write an if statement or np.where")
        return k
    if isinstance(k, np.ndarray):
        if k.dtype.kind not in "iub":
            raise IradIndexError(f"arrays used as indices must be of integer (or boolean) type, not {k.dtype}")
        return k if k.ndim else k.item()
    try:
        return k.__index__()
    except (AttributeError, TypeError):
        raise IradIndexError(
            f"only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays "
            f"are valid indices, not {type(k).__name__}"
        ) from None


def _width(k: Any) -> int:
    """How many axes of the array an item consumes."""
    return 0 if k is None or k is Ellipsis else len(shape_of(k)) if _is_bool_array(k) else 1


def expand_key(key: Any, shape: Sequence[Dim]) -> list[Any]:
    """The key as one item per axis (None besides), masks replaced by their positions."""
    items = [_normalize_item(k) for k in (key if isinstance(key, tuple) else (key,))]
    dots = [j for j, k in enumerate(items) if k is Ellipsis]
    if len(dots) > 1:
        raise IradIndexError("an index can only have a single ellipsis ('...')")
    used, rank = sum(map(_width, items)), len(shape)
    if used > rank:
        raise IradIndexError(f"too many indices for array: array is {rank}-dimensional, but {used} were indexed")
    at = dots[0] if dots else len(items)
    items[at : at + 1] = [slice(None)] * (rank - used)
    out: list[Any] = []
    axis = 0
    for k in items:
        out += _mask_positions(k, shape, axis) if _is_bool_array(k) else [k]
        axis += _width(k)
    return out


def _mask_positions(mask: Any, shape: Sequence[Dim], axis: int) -> list[Any]:
    """A mask as one index array per axis it covers."""
    have = shape_of(mask)
    for j, d in enumerate(have):
        n = shape[axis + j]
        words = (
            f"boolean index did not match indexed array along axis {axis + j}; size of axis is {n} "
            f"but size of corresponding boolean axis is {d}"
        )
        if d != 0:  # a mask without elements selects none, along whatever axis
            require_equal_dims(d, n, words, "IndexError", empty=True)
    if isinstance(mask, np.ndarray):
        return list(np.nonzero(mask))
    return [Arr(v) for v in mask_indices(mask.value)]


def mask_indices(mask: Value) -> list[Value]:
    """np.nonzero of a traced mask: index arrays whose extent is the number of true elements."""
    shape = mask.type.shape
    flat = flat_positions(mask)
    out: list[Value] = []
    for n in reversed(shape):
        size = materialise(Arr(dim_value(n)), "i64", flat.type.shape)
        last = len(out) == len(shape) - 1
        out.append(flat if last else flat % size)
        bound(out[-1], 0, max(dim_interval(n)[1] - 1, 0))
        flat = flat if last else flat // size
    return out[::-1]


def flat_positions(mask: Value) -> Value:
    """Flat positions of the true elements of a mask."""
    count = sum_(cast_to(mask, "i64"), axes=tuple(range(mask.type.rank)))
    total = size_of(mask.type.shape)
    bound(count, 0, dim_interval(total)[1])
    flat = nonzero(mask, size=affine_of(count))
    bound(flat, 0, max(dim_interval(total)[1] - 1, 0))
    return flat


def _is_array(k: Any) -> bool:
    return isinstance(k, np.ndarray) or (isinstance(k, Arr) and bool(k.shape))


def plan(shape: Sequence[Dim], key: Any) -> Plan:
    """The plan of a key for an array of a shape. Emits the checks and the arithmetic of its operands."""
    items = expand_key(key, shape)
    advanced = [k for k in items if _is_array(k)]
    group = broadcast_shapes(*map(shape_of, advanced)) if advanced else ()
    spec: list[Any] = []
    operands: list[Value] = []
    layout: list[Any] = []  # NumPy's result axes: ("axis", extent), "new", and "group" where the gathered axes stand
    seen: list[int] = []  # places in `items` of advanced indices, integers included
    for j, k in enumerate(items):
        axis = len(spec)
        if k is None:
            layout.append("new")
        elif isinstance(k, slice):
            start, size, step = resolve_slice(k, shape[axis])
            spec.append(Slice(start if isinstance(start, int) else None, size, step))
            operands += [] if isinstance(start, int) else [dim_value(start)]
            layout.append(("axis", size))
        else:
            seen.append(j)
            if advanced and len(seen) == 1:
                layout.append("group")
            item, extra = _position(k, shape[axis], axis, group)
            spec.append(item)
            operands += extra
    if advanced and seen[-1] - seen[0] + 1 != len(seen):  # separated by a slice or newaxis: the group goes first
        layout = ["group"] + [t for t in layout if t != "group"]
    return _finish(shape, spec, operands, layout, group)


def _position(k: Any, n: Dim, axis: int, group: tuple[Dim, ...]) -> tuple[Any, list[Value]]:
    """Spec item and operand of an integer or an index array."""
    if _is_array(k):
        v = gather_positions(k.value, n, axis) if isinstance(k, Arr) else static_gather(k, n, axis)
        return "g", [materialise(Arr(v), "i64", group)]
    p = traced_position(k.value, n, axis) if isinstance(k, Arr) else static_position(k, n, axis)
    return (p, []) if isinstance(p, int) else ("i", [p])


def _finish(shape: Sequence[Dim], spec: list[Any], operands: list[Value], layout: list[Any], group: tuple[Dim, ...]) -> Plan:
    """The plan of an index: the axes of the result brought from the order of the spec to NumPy's order."""
    inner: list[Any] = []  # axes of the `index` result: number of the kept axis, or ("g", j)
    kept = 0
    for s in spec:
        if isinstance(s, Slice):
            inner.append(kept)
            kept += 1
        elif s == "g" and ("g", 0) not in inner:
            inner += [("g", j) for j in range(len(group))]
    outer: list[Any] = []
    result: list[Dim] = []
    inserted: list[bool] = []
    kept = 0
    for t in layout:
        if t == "new":
            result.append(1)
        elif t == "group":
            outer += [("g", j) for j in range(len(group))]
            result += group
        else:
            outer.append(kept)
            result.append(t[1])
            kept += 1
        inserted += [t == "new"] * (len(result) - len(inserted))
    perm = tuple(inner.index(a) for a in outer)
    whole = all(isinstance(s, Slice) and s.start == 0 and s.step == 1 and s.size == n for s, n in zip(spec, shape))
    return Plan(tuple(spec), tuple(operands), perm, tuple(result), tuple(inserted), whole)


# ---- reading and storing ------------------------------------------------------------------------------------------


def is_for_scalars(key: Any, x: Arr) -> bool:
    """Is key one that a scalar takes: of nothing but new axes and an ellipsis, or a single bool; of a Python number `()` and `...`,
    which `wrap` adds?"""
    if is_condition(key):
        return not x.weak
    parts = key if isinstance(key, tuple) else (key,)
    return (
        all(k is None or k is Ellipsis for k in parts)
        and sum(k is Ellipsis for k in parts) < 2
        and (not x.weak or None not in parts)
    )


def getitem(x: Any, key: Any) -> Arr:
    """x[key]. Raises IndexError kinds of irad with NumPy's words; a traced mask gives a run-time extent."""
    a, key = _in_front(lift(x), key) if is_condition(key) else (lift(x), key)
    return Arr(plan(a.shape, key).read(a.value))


def setitem(x: Arr, key: Any, v: Any) -> Value:
    """The array after x[key] = v; v is cast to x's dtype and broadcast. Of repeated positions the last wins."""
    if is_condition(key):
        return reshape_to(setitem(*_in_front(x, key), v), x.shape)
    mask = _lone_mask(x, key)
    if mask is not None and _is_scalar(v):
        return _mask_store(x, mask, v)
    return _store(x, plan(x.shape, key), v)


def _store(x: Arr, p: Plan, v: Any) -> Value:
    value = p.place(_fit(v, x.name, p.shape))
    if p.whole:
        return value
    return update(x.value, value, *p.operands, spec=p.spec)


def _fit(v: Any, dtype: str, shape: Sequence[Dim]) -> Value:
    """The right-hand side of a store: leading axes of extent 1 may go, the rest broadcasts."""
    have = shape_of(v)
    extra = len(have) - len(shape)
    if extra > 0 and all(d == 1 for d in have[:extra]):
        a = lift(v, dtype)
        v = Arr(reshape_to(a.value, have[extra:]))
    try:
        return materialise(v, dtype, shape)
    except IradValueError as e:
        if "broadcast" not in e.message:
            raise
        raise type(e)(f"could not broadcast input array from shape {show_shape(have)} into shape {show_shape(shape)}") from None


def _is_scalar(v: Any) -> bool:
    return all(d == 1 for d in shape_of(v))


def _lone_mask(x: Arr, key: Any) -> Arr | None:
    """The traced mask, if it is the whole key."""
    k = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    return k if isinstance(k, Arr) and k.name == "bool" and 0 < k.ndim <= x.ndim and all(map(equal, k.shape, x.shape)) else None


def _mask_store(x: Arr, mask: Arr, v: Any) -> Value:
    """x[mask] = v as a choice, element by element; v is a scalar or has x's shape."""
    m = retype_extents(mask.value, x.shape[: mask.ndim])
    m = materialise(Arr(reshape_to(m, m.type.shape + (1,) * (x.ndim - mask.ndim))), "bool", x.shape)
    return select(m, _fit(v, x.name, x.shape), x.value)


# operators as NumPy's errors name them, and as they are written
_SHOWN = {
    "add": ("add", "+"), "sub": ("subtract", "-"), "mul": ("multiply", "*"), "truediv": ("divide", "/"), "mod": ("remainder", "%"),
    "floordiv": ("floor_divide", "//"), "pow": ("power", "**"), "matmul": ("matmul", "@"), "and_": ("bitwise_and", "&"),
    "or_": ("bitwise_or", "|"), "xor": ("bitwise_xor", "^"), "lshift": ("left_shift", "<<"), "rshift": ("right_shift", ">>"),
}  # fmt: skip


def check_same_kind(result: str, into: str, name: str, hint: str = "") -> None:
    """NumPy's rule for in-place operators and `out=`. Raises IradTypeError if the result may not be cast to the array's dtype."""
    if not np.can_cast(DTYPES[result], DTYPES[into], "same_kind"):
        ufunc, symbol = _SHOWN.get(name, (name, name))
        raise IradTypeError(
            f"Cannot cast ufunc '{ufunc}' output from dtype('{DTYPES[result]}') to dtype('{DTYPES[into]}') "
            f"with casting rule 'same_kind'; {hint or f'write x = x {symbol} ... or convert the operand'}"
        )


def augitem(x: Arr, key: Any, op: str, v: Any) -> Value:
    """The array after x[key] op= v, `op` being a name of OPERATORS ("add", "mul"...), with NumPy's buffered meaning.

    Of repeated positions the last wins (np.add.at adds all). Raises IradTypeError if the result's dtype does not fit x's.
    """

    if is_condition(key):
        return reshape_to(augitem(*_in_front(x, key), op, v), x.shape)

    def combined(old: Arr) -> Arr:
        new = OPERATORS[op](old, v)
        check_same_kind(new.name, x.name, op)
        return new

    mask = _lone_mask(x, key)
    if mask is not None and _is_scalar(v):
        return _mask_store(x, mask, combined(x))
    p = plan(x.shape, key)
    if op == "add" and not p.gathers and x.name not in ("bool", "f16") and not p.whole and result_dtype(x, v) == x.name:
        return update_add(x.value, p.place(_fit(v, x.name, p.shape)), *p.operands, spec=p.spec)
    return _store(x, p, combined(Arr(p.read(x.value))))


def additem(x: Arr, key: Any, v: Any) -> Value:
    """The array after x[key] += v (buffered, as NumPy)."""
    return augitem(x, key, "add", v)


def add_at(x: Arr, key: Any, v: Any) -> Value:
    """The array after np.add.at(x, key, v): every repeated position adds."""
    check_same_kind(result_dtype(x, v), x.name, "add")
    p = plan(x.shape, key)
    if x.name in ("bool", "f16"):
        raise UnsupportedError(f"np.add.at on {DTYPES[x.name]}: convert the array to float32 first")
    return update_add(x.value, p.place(_fit(v, x.name, p.shape)), *p.operands, spec=p.spec)
