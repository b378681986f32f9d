"""Jacobians: one direction after the other, in a loop; forward or reverse by the shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irad.errors import IradTypeError
from irad.frontend.linearise import Linearised, linearise, positions
from irad.frontend.objects import Array, Cell
from irad.frontend.reader import Reader
from irad.ir import Value, build, copy, emit
from irad.ops.array import Slice, broadcast_to, iota, reshape_to, slice_axis, transpose_to, update, zeros
from irad.ops.constant import scalar
from irad.ops.control import for_, jvp, vjp
from irad.ops.elementwise import cast_to, eq, sub
from irad.types import I64, Type


def columns(lin: Linearised, outs: list[int]) -> list[Value]:
    """Derivatives of float results along each element of the arguments: arrays with the direction as first axis."""
    total = sum(v.type.size for v in lin.primals)
    types = [lin.graph.results[k].type for k in outs]
    floats = lin.float_results

    def body(i: Value, *acc: Value) -> list[Value]:
        tangents = _one_hot(i, [v.type for v in lin.primals])
        graph = copy(lin.graph, {})
        all_outs = emit(jvp, *lin.primals, *tangents, regions=[graph], wrt=tuple(range(len(lin.primals))))
        directional = all_outs[len(lin.graph.results) :]
        return [_put_row(a, i, directional[floats.index(k)]) for a, k in zip(acc, outs)]

    inits = [zeros(t.with_shape((total, *t.shape))) for t in types]
    region = build([Value(I64, "k"), *(Value(v.type) for v in inits)], body)
    return list(emit(for_, scalar(total, "i64"), *inits, regions=[region]))


def _rows(lin: Linearised, out: int) -> list[Value]:
    """Derivatives of each element of one result by the arguments: arrays with the element as first axis."""
    t = lin.graph.results[out].type

    def body(i: Value, *acc: Value) -> list[Value]:
        seeds = [_one_hot(i, [t])[0] if k == out else zeros(lin.graph.results[k].type) for k in lin.float_results]
        graph = copy(lin.graph, {})
        outs = emit(vjp, *lin.primals, *seeds, regions=[graph], wrt=tuple(range(len(lin.primals))))
        return [_put_row(a, i, ct) for a, ct in zip(acc, outs[len(lin.graph.results) :])]

    inits = [zeros(v.type.with_shape((t.size, *v.type.shape))) for v in lin.primals]
    region = build([Value(I64, "k"), *(Value(v.type) for v in inits)], body)
    return list(emit(for_, scalar(t.size, "i64"), *inits, regions=[region]))


def _one_hot(i: Value, types: Sequence[Type]) -> list[Value]:
    """Arrays that are 1 at flat position i, counted through all of them, and 0 elsewhere."""
    out, start = [], 0
    for t in types:
        flat = iota(type=Type("i64", (t.size,)), axis=0)
        shifted = _splat(i, start, t.size)
        out.append(reshape_to(cast_to(eq(flat, shifted), t.dtype), t.shape))
        start += t.size
    return out


def _splat(i: Value, start: int, n: int) -> Value:
    """i - start as an array of n equal elements."""
    return broadcast_to(sub(i, scalar(start, "i64")), (n,))


def _put_row(acc: Value, i: Value, row: Value) -> Value:
    return update(acc, row, i, spec=("i", *(Slice(0, n) for n in row.type.shape)))


def split_flat(flat: Value, types: Sequence[Type]) -> list[Value]:
    out, start = [], 0
    for t in types:
        out.append(cast_to(reshape_to(slice_axis(flat, 0, start, t.size), t.shape), t.dtype))
        start += t.size
    return out


def jacobian(r: Reader, fun: Any, args: list[Any], kwargs: dict[str, Any], argnums: Any, mode: str) -> Any:
    """Derivatives of every result leaf by every argument leaf, of shape result.shape + argument.shape."""
    at, single = positions(argnums, len(args))
    lin = linearise(r, fun, args, kwargs, at)
    outs = lin.float_results
    if len(outs) != len(lin.graph.results) or not all(isinstance(k, str) for k in lin.out_kinds):
        raise IradTypeError("jacobian wants a function that returns floats only")
    inputs = sum(v.type.size for v in lin.primals)
    results = sum(lin.graph.results[k].type.size for k in outs)
    forward = mode == "forward" or (mode == "" and inputs <= results)
    blocks = _forward_blocks(lin, outs) if forward else [_reverse_blocks(lin, k) for k in outs]
    per_result = []
    for row in blocks:
        grads = _trees(lin, row)
        per_result.append(grads[0] if single else tuple(grads))
    return lin.out_tree.unflatten(per_result)


def _trees(lin: Linearised, values: Sequence[Value]) -> list[Any]:
    it = iter([Array(Cell(v)) for v in values])
    return [t.unflatten([next(it) for _ in range(t.size)]) for t in lin.trees]


def _forward_blocks(lin: Linearised, outs: list[int]) -> list[list[Value]]:
    table = []
    for k, block in zip(outs, columns(lin, outs)):
        shape, start, row = lin.graph.results[k].type.shape, 0, []
        for v in lin.primals:
            part = slice_axis(block, 0, start, v.type.size)
            turned = transpose_to(part, (*range(1, len(shape) + 1), 0))
            row.append(reshape_to(turned, (*shape, *v.type.shape)))
            start += v.type.size
        table.append(row)
    return table


def _reverse_blocks(lin: Linearised, k: int) -> list[Value]:
    shape = lin.graph.results[k].type.shape
    return [reshape_to(v, (*shape, *p.type.shape)) for v, p in zip(_rows(lin, k), lin.primals)]
