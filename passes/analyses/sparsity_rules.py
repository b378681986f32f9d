"""How dependencies pass through each op, see irad.passes.analyses.sparsity: ops that move elements are run on their positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Node
from irad.core.types import Type
from irad.ops import OPS
from irad.ops.array import Product, located, numpy_key
from irad.passes.analyses.pattern import Pattern
from irad.passes.analyses.sparsity import RULES, Analysis, Fact

# ---- elementwise ops that know more ------------------------------------------------------------------------------------


def _product(a: Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    """A factor known to be 0 removes a dependency."""
    out = []
    for x, other in zip(facts, reversed(facts)):
        if x.deps is not None:
            keep = None if other.known is None else np.broadcast_to(np.asarray(other.known) != 0, dims(t)).ravel()
            out.append(x.deps if keep is None else x.deps.kept(keep))
    return Pattern.union(out)


def _select(a: Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    c, *sides = facts
    if c.known is None:
        return Pattern.union([x.deps for x in sides if x.deps is not None])
    first = np.broadcast_to(c.known, dims(t)).ravel()
    return Pattern.union([x.deps.kept(keep) for x, keep in zip(sides, (first, ~first)) if x.deps is not None])


# ---- ops that move elements: run on positions ------------------------------------------------------------------------------


def dims(t: Type) -> tuple[int, ...]:
    """The extents of a type, which are all known here."""
    return tuple(d for d in t.shape if isinstance(d, int))


def positions(t: Type) -> np.ndarray:
    """The flat position of each element."""
    return np.arange(t.size).reshape(dims(t))


def _move(a: Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    (x,) = facts
    at = n.op.eval(positions(n.inputs[0].type), **n.attrs)  # type: ignore[misc]
    return x.deps.taken(np.ravel(at)) if x.deps is not None else None


def _concat(a: Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    parts = [x.deps or Pattern.none(v.type.size, a.total) for x, v in zip(facts, n.inputs)]
    stacked, start, where = Pattern.stack(parts), 0, []
    for v in n.inputs:
        where.append(start + positions(v.type))
        start += v.type.size
    return stacked.taken(np.concatenate(where, n.attrs["axis"]).ravel())


def _reduce(a: Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    (x,), shape, axes = facts, dims(n.inputs[0].type), n.attrs["axes"]
    to = positions(t).reshape([1 if k in axes else d for k, d in enumerate(shape)])
    return x.deps.grouped(np.broadcast_to(to, shape).ravel(), t.size) if x.deps is not None else None


def _scan(a: Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    """Everything before, the element itself included (for an exclusive scan too, which is never too small)."""
    axis, order = n.attrs["axis"], -1 if n.attrs["reverse"] else 1
    lines = np.moveaxis(positions(t), axis, 0).reshape(dims(t)[axis], -1)[::order]
    both = Pattern.union([x.deps for x in facts if x.deps is not None])
    parts, so_far = [], None
    for row in lines:
        here = both.taken(row)
        so_far = here if so_far is None else Pattern.union([so_far, here])
        a.spend(len(so_far.cols))
        parts.append(so_far)
    if not parts:
        return None
    back = np.empty(t.size, np.int64)
    back[lines.ravel()] = np.arange(t.size)
    return Pattern.stack(parts).taken(back)


def _key(n: Node, facts: Sequence[Fact], idx: Sequence[int]) -> tuple[list[Any], list[int]]:
    """NumPy's index arrays for a place, 0 along axes whose position is not known; those axes."""
    values = [0 if facts[k].known is None else facts[k].known for k in idx]
    for j, k in enumerate(idx):
        if facts[k].known is None and n.inputs[k].type.shape:
            values[j] = np.zeros(dims(n.inputs[k].type), np.int64)
    key = list(numpy_key(values, n.attrs["spec"]))
    unknown = []
    for axis, (_, at) in enumerate(located(n.attrs["spec"], [facts[k] for k in idx])):
        if isinstance(at, Fact) and at.known is None:
            unknown.append(axis)
            key[axis] = np.zeros_like(key[axis])
    return key, unknown


def _smeared(p: Pattern, t: Type, axes: Sequence[int]) -> Pattern:
    """Every element along the axes depends on what any of them does."""
    if not axes:
        return p
    shape = [1 if k in axes else d for k, d in enumerate(dims(t))]
    to = np.broadcast_to(np.arange(int(np.prod(shape))).reshape(shape), dims(t)).ravel()
    return p.grouped(to, int(np.prod(shape))).taken(to)


def _index(a: Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    x, base = facts[0], n.inputs[0].type
    if x.deps is None:
        return None
    key, unknown = _key(n, facts, range(1, len(facts)))
    at = np.broadcast_to(positions(base)[tuple(key)], dims(t)) if base.size else positions(t)
    return _smeared(x.deps, base, unknown).taken(at.ravel())


def _update(a: Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    x, v = (fact.deps or Pattern.none(w.type.size, a.total) for fact, w in zip(facts[:2], n.inputs))
    key, unknown = _key(n, facts, range(2, len(facts)))
    if not n.inputs[1].type.size:
        return x
    at = np.broadcast_to(positions(t)[tuple(key)], dims(n.inputs[1].type)).ravel()
    placed = _smeared(v.grouped(at, t.size), t, unknown)
    if n.op.name == "update" and not unknown:
        old = np.ones(t.size, bool)
        old[at] = False
        x = x.kept(old)
        last = np.full(t.size, -1)
        last[at] = np.arange(len(at))
        placed = v.taken(np.maximum(last, 0)).kept(last >= 0)
    return Pattern.union([x, placed])


def _dot(a: Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    p = Product(n)
    sizes = [*dims(t), *(dims(n.inputs[0].type)[k] for k in p.contract[0])]
    pairs = int(np.prod(sizes))
    a.spend(pairs)
    grid = list(np.indices(sizes).reshape(len(sizes), -1))
    result, summed = grid[: t.rank], grid[t.rank :]
    to = _flat(t, result, pairs)
    at_x, at_y = (_flat(v.type, at, pairs) for v, at in zip(n.inputs, p.spread(result, summed)))
    out = []
    for fact, other, at, at_other in ((facts[0], facts[1], at_x, at_y), (facts[1], facts[0], at_y, at_x)):
        if fact.deps is not None:
            keep = slice(None) if other.known is None else np.asarray(other.known).ravel()[at_other] != 0
            a.spend(int(np.diff(fact.deps.starts)[at[keep]].sum()))
            out.append(fact.deps.related(at[keep], to[keep], t.size))
    return Pattern.union(out)


def _flat(t: Type, at: Sequence[np.ndarray], n: int) -> np.ndarray:
    strides = np.cumprod([1, *dims(t)[:0:-1]])[::-1]
    return np.asarray(sum((at[k] * int(strides[k]) for k in range(t.rank)), np.zeros(n, np.int64)))


def _sort(a: Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    return _smeared(facts[0].deps, t, [n.attrs["axis"]]) if facts[0].deps is not None else None


RULES.update(
    {
        **dict.fromkeys((op.name for op in OPS.values() if op.flat), lambda a, n, facts, t: None),
        **dict.fromkeys(("mul", "szmul", "szmul2"), _product),
        **dict.fromkeys(("broadcast", "reshape", "transpose"), _move),
        **dict.fromkeys(("sum", "prod", "max", "min"), _reduce),
        **dict.fromkeys(("cumsum", "cumprod", "linrec"), _scan),
        **{"select": _select, "concat": _concat, "index": _index, "update": _update, "update_add": _update},
        **{"dot": _dot, "sort": _sort},
    }
)
