"""How products are seen to be made of the eigenvectors of one matrix, of all or of some that stand one after the other."""

from __future__ import annotations

from collections import ChainMap
from typing import Any

import numpy as np

from irad.core.ir import Node, Value, current
from irad.ops import elementwise as ew
from irad.ops.array import Slice, broadcast, reshape_to
from irad.ops.constant import const
from irad.ops.spectral import svd
from irad.passes.derivatives.spectral_tables import Defs
from irad.passes.rewrite import splat_of

DEPTH = 32  # operations back in which a part of a vector is looked for

# Eigenvectors; transposed?; vectors that scale them, 0 for those left out; which are taken.
Factor = tuple[Value, bool, list[Value], Slice | None]


def made() -> dict[Value, Node]:
    """What has been emitted."""
    return {v: n for n in current().nodes for v in n.outputs}


def factor(defs: Defs, v: Value) -> Factor | None:
    """v as eigenvectors, transposed or not, each scaled."""
    n = defs.get(v)
    if n is None or v.type.rank < 2:
        return None
    if n.op.name == "eigh" and v is n.outputs[1]:
        return v, False, [], None
    if n.op is svd and v in (n.outputs[0], n.outputs[2]):
        return v, v is n.outputs[2], [], None
    if n.op.name == "cast" and n.inputs[0].type.dtype[0] == "f":
        return factor(defs, n.inputs[0])
    if n.op.name == "transpose" and n.attrs["perm"] == (*range(v.type.rank - 2), v.type.rank - 1, v.type.rank - 2):
        inner = factor(defs, n.inputs[0])
        return None if inner is None else (inner[0], not inner[1], *inner[2:])
    if n.op.name == "index":
        return _taken(defs, n)
    if n.op.name == "mul":
        for m, s in (n.inputs, n.inputs[::-1]):
            inner = factor(defs, m)
            if inner is not None and (scale := _scale(defs, s, inner)) is not None:
                return *inner[:2], [*inner[2], scale], inner[3]
    if n.op.name == "div":
        inner = factor(defs, n.inputs[0])
        if inner is not None and (scale := _scale(defs, n.inputs[1], inner, inverse=True)) is not None:
            return *inner[:2], [*inner[2], scale], inner[3]
    if n.op.name == "dot" and n.attrs["batch"] == ((), ()):
        return _scaled_by_product(defs, n)
    return None


def _scaled_by_product(defs: Defs, n: Node) -> Factor | None:
    """V times a diagonal matrix, or such a one times V^T."""
    x, y = n.inputs
    over = n.attrs["contract"]
    if over != ((1,), (0,)):
        return None
    for m, d, transposed in ((x, y, False), (y, x, True)):
        inner = factor(defs, m)
        if inner is None or inner[1] != transposed:
            continue
        if (scale := of_all(defs, diagonal(defs, d), inner[0], inner[3])) is not None:
            return *inner[:2], [*inner[2], scale], inner[3]
    return None


def _taken(defs: Defs, n: Node) -> Factor | None:
    """Some of the vectors, one after the other: the others are scaled by 0."""
    (x, *rest), spec = n.inputs, n.attrs["spec"]
    inner = factor(defs, x)
    if rest or inner is None or inner[3] is not None or not (x.type.static and n.out.type.static) or len(spec) != n.out.type.rank:
        return None
    axis = x.type.rank - 1 - int(inner[1])
    whole = lambda k, s: isinstance(s, Slice) and (s.start, s.size, s.step) == (0, x.type.dims[k], 1)
    part = spec[axis]
    if not isinstance(part, Slice) or part.start is None or not all(whole(k, s) for k, s in enumerate(spec) if k != axis):
        return None
    chosen = _chosen(inner[0], part)
    return *inner[:2], [*inner[2], const(value=chosen.astype(x.type.numpy), type=x.type.with_shape(chosen.shape))], part


def _chosen(v: Value, part: Slice) -> np.ndarray:
    """Of the eigenvectors v: is each of them taken?"""
    assert part.start is not None
    chosen = np.zeros((*v.type.dims[:-2], v.type.dims[-1]), bool)
    chosen[..., [part.start + k * part.step for k in range(int(part.size))]] = True  # type: ignore[arg-type]
    return chosen


def _scale(defs: Defs, v: Value, factor: Factor, inverse: bool = False) -> Value | None:
    """What scales the vectors of a factor, if v repeats it."""
    return of_all(defs, spread(defs, v, int(not factor[1])), factor[0], factor[3], inverse)


def of_all(defs: Defs, scale: Value | None, v: Value, part: Slice | None, inverse: bool = False) -> Value | None:
    """Scales of all eigenvectors v, given those of the ones that are taken: 0 for the others."""
    if scale is None or part is None:
        return 1 / scale if scale is not None and inverse else scale
    chosen = _chosen(v, part)
    scale = _longer(ChainMap(made(), defs), scale, chosen.shape, part, DEPTH)
    if scale is None:
        return None
    mask = const(value=chosen, type=scale.type.with_dtype("bool"))
    return ew.select(mask, 1 / scale if inverse else scale, 0)


def _longer(defs: Defs, v: Value, shape: tuple[int, ...], part: Slice, depth: int) -> Value | None:
    """What v is a part of, if it is made, element by element, of parts of what is so long."""
    n = defs.get(v)
    if splat_of(n) is not None:
        return ew.full(splat_of(n), Value(v.type.with_shape(shape)))
    if n is None or depth == 0:
        return None
    if n.op.name == "index":
        return n.inputs[0] if n.attrs["spec"] == (part,) and n.inputs[0].type.shape == shape else None
    if not n.op.elementwise:
        return None
    inputs = [_longer(defs, x, shape, part, depth - 1) for x in n.inputs]
    return None if any(x is None for x in inputs) else n.op(*inputs, **n.attrs)


def spread(defs: Defs, v: Value, axis: int) -> Value | None:
    """The vectors that v repeats along one axis of matrices; `axis`: 0 or 1, the one along which they stand."""
    n = defs.get(v)
    lead = v.type.rank - 2
    vector: tuple[Any, ...] = (*v.type.shape[:lead], v.type.shape[lead + axis])
    if splat_of(n) is not None:
        return ew.full(splat_of(n), Value(v.type.with_shape(vector)))
    if n is None or n.op.name != "broadcast":
        return None
    source = n.inputs[0]
    if all(d == 1 for d in source.type.shape):
        return source if source.type.shape == vector else broadcast(reshape_to(source, ()), shape=vector, dims=())
    shape: list[Any] = [1] * v.type.rank
    for d, k in zip(source.type.shape, n.attrs["dims"]):
        shape[k] = d
    if shape[lead + 1 - axis] != 1 or (*shape[:lead], shape[lead + axis]) != vector:
        return None
    before = defs.get(source)
    while before is not None and before.op.keeps_order and source.type.shape != vector:
        source = before.inputs[0]
        before = defs.get(source)
    return source if source.type.shape == vector else reshape_to(n.inputs[0], vector)


def diagonal(defs: Defs, v: Value) -> Value | None:
    """The diagonal of a matrix that is 0 elsewhere."""
    n = defs.get(v)
    if n is None or n.op.name != "update" or n.attrs["spec"] != ("g", "g"):
        return None
    zero, values, *at = (defs.get(x) for x in n.inputs)
    if zero is None or zero.op is not const or np.any(zero.attrs["value"]):
        return None
    places = [np.asarray(p.attrs["value"]) for p in at if p is not None and p.op is const]
    whole = len(places) == 2 and all(p.tolist() == list(range(p.size)) and p.size == v.type.shape[0] for p in places if p.ndim)
    return n.inputs[1] if whole and values is not None and all(p.ndim for p in places) else None
