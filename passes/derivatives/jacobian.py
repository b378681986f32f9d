"""Expansion of `jacobian`: a plan (forward or reverse, which directions together), then `jvp` or `vjp` under `vmap`.

Directions are lanes of one batch. Where the Jacobian is sparse, columns (or rows) that share no row share a direction, and
the entries are picked out of the compressed result; else the directions are the unit vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Builder, Graph, Node, Value, build, copy, emit, inline, walk
from irad.core.lazy_dataclass import dataclass
from irad.core.types import I64, Type
from irad.errors import UnsupportedError
from irad.ops.array import Slice, broadcast_to, index, iota, reshape_to, slice_axis, transpose_to, update, zeros
from irad.ops.constant import const, empty, scalar
from irad.ops.control import for_, jacobian_block, jvp, vjp, vmap
from irad.ops.elementwise import cast_to, eq, minimum
from irad.ops.regions import is_loop
from irad.passes.analyses import sparsity_control, sparsity_rules  # noqa: F401  (register the rules)
from irad.passes.analyses.colouring import columns, recovery, star
from irad.passes.analyses.pattern import Pattern
from irad.passes.analyses.sparsity import MAX_WORK, jacobian_pattern
from irad.passes.small_arrays.lanes import SIZES

LANES = 16  # directions followed at once; more of them go in a loop, LANES at a time
VECTOR = 3  # directions from which a batch through a loop is filled up to a vector
_CONST = 1 << 16  # elements up to which unit directions are a constant
_SMALL = 6  # arguments or results up to which sparsity is not looked for
_LARGE = 4096  # arguments or results from which it is not: the dense result is far larger than the sweeps
_PER_DIRECTION = 50_000  # dependencies that a direction which may be saved is worth, in time to compile
_REVERSE_COST = 2.0  # a backward sweep, in forward sweeps

Linear = Callable[..., list[Value]]


@dataclass(frozen=True)
class JacobianPlan:
    """How the Jacobian is computed. `seeds`: directions as rows over the flat arguments (or results), None: unit vectors.

    `pattern`: where it is not zero, with, for each entry, its direction and its place in what that direction gives.
    """

    forward: bool
    seeds: np.ndarray | None = None
    pattern: Pattern | None = None
    where: tuple[np.ndarray, np.ndarray] = (np.zeros(0, np.int64), np.zeros(0, np.int64))


def plan(pattern: Pattern | None, inputs: int, results: int, mode: str, symmetric: bool) -> JacobianPlan:
    """Fewest sweeps, a reverse one counted twice; `mode` insists on a direction."""
    forward = mode == "forward" or (mode == "" and inputs <= _REVERSE_COST * results)
    if pattern is None:
        return JacobianPlan(forward)
    ahead = None if mode == "reverse" else star(pattern) if symmetric else columns(pattern)
    cost = float("inf") if ahead is None else _count(ahead)
    if mode != "forward" and not symmetric:
        turned = pattern.transposed()
        if _REVERSE_COST * turned.longest < cost:  # rows that share a column have colours of their own
            back = columns(turned)
            if _REVERSE_COST * _count(back) < cost:
                return JacobianPlan(False, _seeds(back), pattern, (back[pattern.row_of()], pattern.cols))
    assert ahead is not None
    return JacobianPlan(True, _seeds(ahead), pattern, recovery(pattern, ahead, symmetric))


def _count(colour: np.ndarray) -> int:
    return int(colour.max(initial=-1)) + 1


def _seeds(colour: np.ndarray) -> np.ndarray:
    return (np.arange(_count(colour))[:, None] == colour).astype(float)


# ---- the expansion --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """Where one block of a sparse Jacobian has entries: rows and columns in order, and its shape, both sides flat."""

    rows: np.ndarray
    cols: np.ndarray
    shape: tuple[int, int]


def expanded(node: Node, inputs: Sequence[Value], f: Graph, program: Mapping[str, Graph], known: Mapping[Value, Any]) -> Graph:
    """A graph without parameters that computes the results of a `jacobian` of `f`, by `vmap`, `jvp` and `vjp`.

    `known`: numbers of values from outside `f`.
    """
    j = Jacobian(node, inputs, f)
    total, rows = j.size
    pattern = None
    if min(total, rows) > _SMALL and max(total, rows) < _LARGE:
        worth = min(_PER_DIRECTION * min(total, rows), MAX_WORK)
        found = jacobian_pattern(program, f, f.params, [f.results[k] for k in j.floats], known, worth)
        if found is not None and len(found.cols) < total * rows // 2:
            pattern = found
    p = plan(pattern, total, rows, node.attrs["mode"], node.attrs["symmetric"])
    with Builder(node.loc, deriv=True) as b:
        values, flat = j.sweep(p)
        blocks = j.blocks(p, flat)
    return Graph((), tuple(b.nodes), (*values, *blocks))


def expanded_sparse(
    node: Node, inputs: Sequence[Value], f: Graph, program: Mapping[str, Graph], known: Mapping[Value, Any]
) -> tuple[Graph, list[Block]]:
    """As `expanded`, with the entries of each block as one array; and where they stand.

    Raises UnsupportedError if the pattern cannot be found.
    """
    j = Jacobian(node, inputs, f)
    pattern = jacobian_pattern(program, f, f.params, [f.results[k] for k in j.floats], known)
    if pattern is None:
        raise UnsupportedError(
            "the sparsity of this Jacobian cannot be found at a reasonable cost (a shape or recursion that depends on data, "
            "or very many dependencies); use sparse=False"
        )
    p = plan(pattern, *j.size, node.attrs["mode"], node.attrs["symmetric"])
    blocks, data = [], []
    with Builder(node.loc, deriv=True) as b:
        values, flat = j.sweep(p)
        for t, rows in zip(j.results, _spans(j.results)):
            for x, cols in zip(j.inputs, _spans(j.inputs)):
                r, c, v = j.entries(p, flat, rows, cols)
                data.append(cast_to(v, jacobian_block(t, x).dtype))
                blocks.append(Block(r - rows[0], c - cols[0], (rows[1] - rows[0], cols[1] - cols[0])))
    return Graph((), tuple(b.nodes), (*values, *data)), blocks


def _spans(types: Sequence[Type]) -> list[tuple[int, int]]:
    """Where each array lies among all of them, flattened one after the other."""
    ends = np.cumsum([0, *(t.size for t in types)]).tolist()
    return list(zip(ends[:-1], ends[1:]))


class Jacobian:
    """The parts of one `jacobian` node: values of the arguments, the function, what is flat and what is not."""

    def __init__(self, node: Node, primals: Sequence[Value], f: Graph):
        self.primals, self.f = list(primals), f
        self.floats = [k for k, v in enumerate(f.results) if v.type.differentiable]
        self.inputs = [v.type for v in f.params]
        self.results = [f.results[k].type for k in self.floats]
        self.size = (sum(t.size for t in self.inputs), sum(t.size for t in self.results))

    def sweep(self, p: JacobianPlan) -> tuple[list[Value], list[Value]]:
        """The function's results, and for each direction the derivatives of the results (or by the arguments)."""
        wrt, n = tuple(range(len(self.primals))), len(self.f.results)

        def linear(*seeds: Value) -> list[Value]:
            return list(emit(jvp if p.forward else vjp, *self.primals, *seeds, regions=[copy(self.f, {})], wrt=wrt))

        types = self.inputs if p.forward else self.results
        seeds = p.seeds if p.pattern is not None else None
        if (sum(t.size for t in types) if seeds is None else len(seeds)) == 0:  # no sweep, which would give the results
            shapes = self.results if p.forward else self.inputs
            return list(inline(self.f, *self.primals)), [zeros(t.with_shape((0, *t.shape))) for t in shapes]
        out = directions(types, seeds, linear, n)
        return out[:n], out[n:]

    def blocks(self, p: JacobianPlan, flat: Sequence[Value]) -> list[Value]:
        """The Jacobian's blocks, results by arguments."""
        if p.pattern is not None:
            return self._picked(p, flat)
        return self._columns(flat) if p.forward else self._rows(flat)

    def _columns(self, flat: Sequence[Value]) -> list[Value]:
        out = []
        for t, block in zip(self.results, flat):
            start = 0
            for x in self.inputs:
                part = slice_axis(block, 0, start, x.size)
                turned = transpose_to(part, (*range(1, t.rank + 1), 0))
                out.append(reshape_to(turned, (*t.shape, *x.shape)))
                start += x.size
        return out

    def _rows(self, flat: Sequence[Value]) -> list[Value]:
        out, start = [], 0
        for t in self.results:
            for x, block in zip(self.inputs, flat):
                part = slice_axis(block, 0, start, t.size)
                out.append(cast_to(reshape_to(part, (*t.shape, *x.shape)), jacobian_block(t, x).dtype))
            start += t.size
        return out

    def _picked(self, p: JacobianPlan, flat: Sequence[Value]) -> list[Value]:
        """Dense blocks out of the compressed derivatives: the entries of the pattern, zeros elsewhere."""
        out = []
        for t, rows in zip(self.results, _spans(self.results)):
            for x, cols in zip(self.inputs, _spans(self.inputs)):
                r, c, values = self.entries(p, flat, rows, cols)
                dense = zeros(Type(jacobian_block(t, x).dtype, (t.size * x.size,)))
                if len(r):
                    at = _positions((r - rows[0]) * x.size + c - cols[0])
                    dense = update(dense, cast_to(values, dense.type.dtype), at, spec=("g",))
                out.append(reshape_to(dense, (*t.shape, *x.shape)))
        return out

    def entries(
        self, p: JacobianPlan, flat: Sequence[Value], rows: tuple[int, int], cols: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray, Value]:
        """Rows, columns and values of the pattern's entries in a block."""
        assert p.pattern is not None
        r, c = p.pattern.row_of(), p.pattern.cols
        inside = (r >= rows[0]) & (r < rows[1]) & (c >= cols[0]) & (c < cols[1])
        direction, place = p.where[0][inside], p.where[1][inside]
        return r[inside], c[inside], _gathered(flat, direction, place)


def _positions(at: np.ndarray) -> Value:
    return const(value=at.astype(np.int64), type=Type("i64", at.shape))


def _gathered(flat: Sequence[Value], direction: np.ndarray, place: np.ndarray) -> Value:
    """Elements of compressed derivatives: `place` counts through all of the values of a direction."""
    start = 0
    sizes = [v.type.size // n for v in flat if isinstance(n := v.type.shape[0], int)]
    ends = np.cumsum(sizes)
    which = np.searchsorted(ends, place, side="right")
    out = zeros(Type(flat[0].type.dtype, place.shape))
    for k, (v, size) in enumerate(zip(flat, sizes)):
        here = np.flatnonzero(which == k)
        if len(here):
            line = reshape_to(v, (v.type.size,))
            found = index(line, _positions(direction[here] * size + place[here] - start), spec=("g",))
            if len(here) == len(place):
                return found
            out = update(out, cast_to(found, out.type.dtype), _positions(here), spec=("g",))
        start += size
    return out


# ---- directions as lanes ------------------------------------------------------------------------------------------------------


def directions(types: Sequence[Type], seeds: np.ndarray | None, linear: Linear, plain: int) -> list[Value]:
    """A function of directions, LANES at a time. Its first `plain` results do not depend on the direction: they are
    given once; the others have the direction as first axis.

    `types`: of the arrays that make a direction. `seeds`: the directions, as rows over the flat arrays; None: unit vectors.
    """
    total = sum(t.size for t in types) if seeds is None else len(seeds)
    region = build(types, lambda *t: linear(*t))
    if total <= LANES:
        return _padded(types, seeds, linear, plain, total, region)
    shapes = [v.type for v in region.results]
    lanes = [t.with_shape((total, *t.shape)) for t in shapes[plain:]]
    whole = [zeros(t) for t in shapes[:plain]]

    def body(k: Value, *acc: Value) -> list[Value]:
        start = minimum(k * LANES, total - LANES)  # the last chunk overlaps the one before
        out = _lanes(types, seeds, linear, plain, LANES, start)
        spec = lambda v: (Slice(None, LANES), *(Slice(0, n) for n in v.type.shape[1:]))
        return [*out[:plain], *(update(a, new, start, spec=spec(new)) for a, new in zip(acc[plain:], out[plain:]))]

    inits = [*whole, *(empty(type=t) for t in lanes)]
    loop = build([Value(I64, "k"), *(Value(v.type) for v in inits)], body)
    return list(emit(for_, scalar(-(-total // LANES), "i64"), *inits, regions=[loop]))


def _padded(
    types: Sequence[Type], seeds: np.ndarray | None, linear: Linear, plain: int, total: int, region: Graph
) -> list[Value]:
    """All directions as one batch. Through a loop of few numbers a batch is a vector, if its size is that of one
    (irad.passes.small_arrays.lanes): it is filled up with directions that are zero, which are cut off at the end.
    """
    looped = any(map(is_loop, walk(region)))
    lanes = next((n for n in SIZES if n >= total), total) if looped and total >= VECTOR else total
    if lanes == total:
        return _lanes(types, seeds, linear, plain, total, None)
    rows = np.eye(total, sum(t.size for t in types)) if seeds is None else seeds
    out = _lanes(types, np.vstack([rows, np.zeros((lanes - total, rows.shape[1]))]), linear, plain, lanes, None)
    return [v if k < plain else slice_axis(v, 0, 0, total) for k, v in enumerate(out)]


def _lanes(
    types: Sequence[Type], seeds: np.ndarray | None, linear: Linear, plain: int, lanes: int, start: Value | None
) -> list[Value]:
    """Directions start, start + 1... (`lanes` of them) as one batch."""
    region = build(types, lambda *t: linear(*t))
    if not lanes:
        return [zeros(v.type if k < plain else v.type.with_shape((0, *v.type.shape))) for k, v in enumerate(region.results)]
    arrays = _units(types, lanes, start) if seeds is None else _rows_of(types, seeds, lanes, start)
    out = emit(vmap, *arrays, regions=[region], size=lanes, batched=(True,) * len(types))
    first = lambda v: index(v, spec=(0, *(Slice(0, n) for n in v.type.shape[1:])))
    return [first(v) if k < plain else v for k, v in enumerate(out)]


def _units(types: Sequence[Type], lanes: int, start: Value | None) -> list[Value]:
    """For each type, arrays that are 1 at one flat position, counted through all of them: a batch of such directions."""
    out, first = [], 0
    for t in types:
        shape, both = (lanes, *t.shape), Type("i64", (lanes, t.size))
        if start is None and lanes * t.size <= _CONST:
            unit = np.eye(lanes, t.size, -first, dtype=t.numpy)
            out.append(const(value=unit.reshape(shape), type=t.with_shape(shape)))
        else:
            at = iota(type=both, axis=0)
            at = at if start is None else at + broadcast_to(start, both.shape)
            hit = eq(at, iota(type=both, axis=1) + first)
            out.append(reshape_to(cast_to(hit, t.dtype), shape))
        first += t.size
    return out


def _rows_of(types: Sequence[Type], seeds: np.ndarray, lanes: int, start: Value | None) -> list[Value]:
    """The directions given, cut up into arrays."""
    out, first = [], 0
    for t in types:
        part = np.ascontiguousarray(seeds[:, first : first + t.size], t.numpy).reshape(len(seeds), *t.shape)
        v = const(value=part, type=t.with_shape((len(seeds), *t.shape)))
        out.append(v if start is None else slice_axis(v, 0, start, lanes))
        first += t.size
    return out
