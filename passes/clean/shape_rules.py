"""Simplification rules that no algebraic pattern can write: shapes, casts, indexing, checks.

A rule takes a node, whose operands are simplified, and `definition(value) -> node or None`; it gives the values that
replace the node's outputs, emitting nodes as it needs, or None. All hold bit for bit, or within the order of a reduction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from irad.core.ir import Node, Value, emit
from irad.core.types import bits, is_float, is_int, is_signed
from irad.errors import IradError
from irad.ops.array import Slice, broadcast, index, located, operand_types, reshape, transpose, update
from irad.ops.constant import const
from irad.ops.elementwise import cast_to, div, mul, szmul
from irad.passes.rewrite import splat_of

Defs = Callable[[Value], Node | None]
New = Sequence[Value] | None
StructuralRule = Callable[[Node, Defs], New]


def _source(node: Node, definition: Defs, op: str) -> Node | None:
    """The definition of the first operand, if it is by `op`."""
    d = definition(node.inputs[0])
    return d if d is not None and d.op.name == op else None


# ---- shapes -----------------------------------------------------------------------------------------------


def _same_shape(node: Node, definition: Defs) -> New:
    """A broadcast or reshape to the shape the operand has."""
    (x,) = node.inputs
    return (x,) if x.type == node.out.type else None


def _broadcast_of_broadcast(node: Node, definition: Defs) -> New:
    inner = _source(node, definition, "broadcast")
    if inner is None:
        return None
    dims = tuple(node.attrs["dims"][k] for k in inner.attrs["dims"])
    return (broadcast(inner.inputs[0], shape=node.attrs["shape"], dims=dims),)


def _broadcast_of_reshape(node: Node, definition: Defs) -> New:
    """Axes of extent 1 that a reshape put in need not exist for a broadcast."""
    inner = _source(node, definition, "reshape")
    if inner is None:
        return None
    (x,), t = inner.inputs, node.inputs[0].type
    places = [k for k, d in enumerate(t.shape) if d != 1]
    if tuple(t.shape[k] for k in places) != x.type.shape:
        return None
    return (broadcast(x, shape=node.attrs["shape"], dims=tuple(node.attrs["dims"][k] for k in places)),)


def _reshape_of_reshape(node: Node, definition: Defs) -> New:
    inner = _source(node, definition, "reshape")
    if inner is None:
        return None
    try:
        return (reshape(inner.inputs[0], shape=node.attrs["shape"]),)
    except IradError:  # run-time extents: only the two steps are known to fit
        return None


def _transpose(node: Node, definition: Defs) -> New:
    perm = node.attrs["perm"]
    if perm == tuple(range(len(perm))):
        return node.inputs
    inner = _source(node, definition, "transpose")
    if inner is not None:
        return (transpose(inner.inputs[0], perm=tuple(inner.attrs["perm"][k] for k in perm)),)
    inner = _source(node, definition, "broadcast")
    if inner is not None:
        dims = tuple(perm.index(k) for k in inner.attrs["dims"])
        if list(dims) == sorted(dims):
            return (broadcast(inner.inputs[0], shape=node.out.type.shape, dims=dims),)
    return _transpose_of_outer(node, definition)


def _transpose_of_outer(node: Node, definition: Defs) -> New:
    """The product of all elements of two arrays, turned, is that of the second and the first."""
    inner = _source(node, definition, "dot")
    if inner is None or any(inner.attrs["contract"]) or any(inner.attrs["batch"]):
        return None
    a, b = inner.inputs
    turned = (*range(a.type.rank, a.type.rank + b.type.rank), *range(a.type.rank))
    return (inner.op(b, a, **inner.attrs),) if node.attrs["perm"] == turned else None


def _concat_of_one(node: Node, definition: Defs) -> New:
    parts = tuple(v for v in node.inputs if v.type.shape[node.attrs["axis"]] != 0)
    if len(parts) == 1:
        return parts
    return (node.op(*parts, **node.attrs),) if parts and len(parts) < len(node.inputs) else None


# ---- casts ------------------------------------------------------------------------------------------------


def _cast(node: Node, definition: Defs) -> New:
    (x,), to = node.inputs, node.attrs["dtype"]
    if x.type.dtype == to:
        return (x,)
    inner = _source(node, definition, "cast")
    if inner is None:
        return None
    (y,) = inner.inputs
    a, b = y.type.dtype, x.type.dtype
    float_to_int = is_float(b) and is_int(to)  # saturates, where integer to integer wraps
    if not lossless(a, b) or (float_to_int and not (is_float(a) or lossless(a, to))):
        return None
    return (cast_to(y, to),)


def lossless(a: str, b: str) -> bool:
    """Does every value of dtype a survive the cast to dtype b?"""
    if a == b or a == "bool":
        return True
    if b == "bool" or (is_float(a) and not is_float(b)):
        return False
    if is_float(b):
        digits = np.finfo(b.replace("f", "float")).nmant + 1
        return bits(a) <= bits(b) if is_float(a) else bits(a) - is_signed(a) <= digits
    return bits(b) > bits(a) if is_signed(b) and not is_signed(a) else is_signed(b) == is_signed(a) and bits(b) >= bits(a)


# ---- indexing ---------------------------------------------------------------------------------------------


def _whole(node: Node, definition: Defs) -> New:
    """All elements in order: an `index` gives the array itself, an `update` what it stores."""
    whole = all(s == Slice(0, d) for s, d in zip(node.attrs["spec"], node.inputs[0].type.shape))
    return (node.inputs[node.op is update],) if whole else None


def _update_nothing(node: Node, definition: Defs) -> New:
    """A store of no elements."""
    return (node.inputs[0],) if 0 in node.inputs[1].type.shape else None


def _same_place(a: Node, b: Node, skip: int) -> bool:
    """Do `a` and the update `b` name the same place? `skip`: operands of `a` before the positions."""
    return a.attrs["spec"] == b.attrs["spec"] and a.inputs[skip:] == b.inputs[2:]


def _index_of_update(node: Node, definition: Defs) -> New:
    """What was just stored is read back; static positions and slices that do not meet it are read from before the store."""
    store = _source(node, definition, "update")
    if store is None:
        return None
    if "g" not in node.attrs["spec"] and _same_place(node, store, 1):
        return (store.inputs[1],)
    return (index(store.inputs[0], *node.inputs[1:], **node.attrs),) if _apart(node.attrs["spec"], store.attrs["spec"]) else None


def _apart(a: tuple, b: tuple) -> bool:
    """Are two places surely disjoint: different static positions on one axis?"""
    return any(p and q and (p[1] < q[0] or q[1] < p[0]) for p, q in zip(map(_span, a), map(_span, b)))


def _span(s: int | str | Slice) -> tuple[int, int] | None:
    """The first and the last position on an axis, if they are static."""
    if isinstance(s, int):
        return s, s
    if not isinstance(s, Slice) or s.start is None or not isinstance(s.size, int) or s.size == 0:
        return None
    last = s.start + (s.size - 1) * s.step
    return min(s.start, last), max(s.start, last)


def _index_of_index(node: Node, definition: Defs) -> New:
    """Static positions and slices compose."""
    inner = _source(node, definition, "index")
    if inner is None or operand_types(inner.attrs["spec"]):
        return None
    outer, spec = iter(node.attrs["spec"]), []
    for s in inner.attrs["spec"]:
        item = s if isinstance(s, int) else _compose(s, next(outer))
        if item is None:
            return None
        spec.append(item)
    return (index(inner.inputs[0], *node.inputs[1:], spec=tuple(spec)),)


def _compose(s: Slice, t: int | str | Slice) -> int | str | Slice | None:
    """The position in the array of position `t` in its slice `s`; None where an operand would have to change."""
    if s.start == 0 and s.step == 1:
        return t
    if isinstance(t, int):
        return s.start + t * s.step  # type: ignore[operator]
    if isinstance(t, Slice) and t.start is not None:
        return Slice(s.start + t.start * s.step, t.size, s.step * t.step)  # type: ignore[operator]
    return None


def _index_of_broadcast(node: Node, definition: Defs) -> New:
    """Positions on axes that a broadcast made or stretched do not matter."""
    inner = _source(node, definition, "broadcast")
    spec = node.attrs["spec"]
    if inner is None or "g" in spec:
        return None
    (x,), dims = inner.inputs, inner.attrs["dims"]
    stretched = {k for k, d in zip(dims, x.type.shape) if d == 1}
    kept, new, out_axes, axis = [], [], [], 0
    for k, (s, at) in enumerate(located(spec, node.inputs[1:])):
        if k in dims:
            new.append(s if k not in stretched else Slice(0, 1) if isinstance(s, Slice) else 0)
            if k not in stretched and isinstance(at, Value):
                kept.append(at)
            if isinstance(s, Slice):
                out_axes.append(axis)
        axis += isinstance(s, Slice)
    part = index(x, *kept, spec=tuple(new)) if new else x
    return (broadcast(part, shape=node.out.type.shape, dims=tuple(out_axes)),) if part.type != node.out.type else (part,)


def _index_of_iota(node: Node, definition: Defs) -> New:
    """Element i of iota is i."""
    inner = _source(node, definition, "iota")
    if inner is None or node.out.type.shape:
        return None
    s, at = node.attrs["spec"], inner.attrs["axis"]
    if isinstance(s[at], int):
        return (const(value=s[at], type=node.out.type),)
    operand = node.inputs[1 + sum(1 for t in s[:at] if t == "i")] if s[at] == "i" else None
    return (cast_to(operand, node.out.type.dtype),) if operand is not None else None


# ---- reductions -------------------------------------------------------------------------------------------


def _reduce_of_reduce(node: Node, definition: Defs) -> New:
    """Axes of two reductions of one kind, in the order of the innermost array."""
    if not node.attrs["axes"]:
        return node.inputs
    inner = _source(node, definition, node.op.name)
    if inner is None:
        return None
    first = inner.attrs["axes"]
    kept = [k for k in range(inner.inputs[0].type.rank) if k not in first]
    return (node.op(inner.inputs[0], axes=tuple(sorted((*first, *(kept[k] for k in node.attrs["axes"]))))),)


def _sum_of_repeated(node: Node, definition: Defs) -> New:
    """The sum of n equal terms as n times one, in derivatives only: NumPy's sum rounds at each step."""
    inner = _source(node, definition, "broadcast")
    if inner is None or not node.deriv or not is_float(node.out.type.dtype):
        return None
    (x,), dims, shape, axes = inner.inputs, inner.attrs["dims"], node.inputs[0].type.shape, node.attrs["axes"]
    repeated = [shape[k] for k in axes if k not in dims]
    if (
        any(not isinstance(n, int) for n in repeated)
        or any(k in dims for k in axes)
        or any(d != shape[k] for d, k in zip(x.type.shape, dims))
    ):
        return None
    kept = [k for k in range(len(shape)) if k not in axes]
    y = broadcast(x, shape=node.out.type.shape, dims=tuple(map(kept.index, dims))) if x.type != node.out.type else x
    return (y * float(np.prod(repeated)),)


# ---- strong zeros and checks ------------------------------------------------------------------------------


def _szmul(node: Node, definition: Defs) -> New:
    """A constant cotangent that is not zero cannot be a masked zero; nothing masks a finite constant partial."""
    c, p = (splat_of(definition(v)) for v in node.inputs)
    plain = (c is not None and c != 0) or (p is not None and np.isfinite(p) and node.deriv)
    return (mul(*node.inputs),) if plain else None


def _szmul2(node: Node, definition: Defs) -> New:
    """A factor that is a constant but not 0 masks nothing; neither is masked by the other if that is finite."""
    for c, x in (node.inputs, node.inputs[::-1]):
        s = splat_of(definition(c))
        if s is not None and s != 0:
            return (x * c if np.isfinite(s) and node.deriv else szmul(x, c),)
    return None


def _szdiv(node: Node, definition: Defs) -> New:
    """As `_szmul`."""
    c, p = (splat_of(definition(v)) for v in node.inputs)
    plain = (c is not None and c != 0) or (p is not None and p != 0 and p == p and node.deriv)
    return (div(*node.inputs),) if plain else None


def _raise_if(node: Node, definition: Defs) -> New:
    cond = splat_of(definition(node.inputs[0]))
    return () if cond is not None and not cond else None


def _if_of_not(node: Node, definition: Defs) -> New:
    """Branches that yield the same outer value; a negated condition."""
    then, orelse = node.regions
    if node.outputs and not then.nodes and not orelse.nodes and then.results == orelse.results:
        return then.results
    inner = _source(node, definition, "logical_not")
    return emit(node.op, *inner.inputs, regions=(orelse, then)) if inner is not None else None


STRUCTURAL: dict[str, tuple[StructuralRule, ...]] = {
    "broadcast": (_same_shape, _broadcast_of_broadcast, _broadcast_of_reshape),
    "reshape": (_same_shape, _reshape_of_reshape),
    "transpose": (_transpose,),
    "concat": (_concat_of_one,),
    "cast": (_cast,),
    "index": (_whole, _index_of_update, _index_of_index, _index_of_broadcast, _index_of_iota),
    "update": (_whole, _update_nothing),
    "update_add": (_update_nothing,),
    "sum": (_reduce_of_reduce, _sum_of_repeated),
    "max": (_reduce_of_reduce,),
    "min": (_reduce_of_reduce,),
    "any": (_reduce_of_reduce,),
    "all": (_reduce_of_reduce,),
    "szmul": (_szmul,),
    "szmul2": (_szmul2,),
    "szdiv": (_szdiv,),
    "raise_if": (_raise_if,),
    "if": (_if_of_not,),
}
