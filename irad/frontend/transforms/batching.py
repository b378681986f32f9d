"""`vmap` in the front end: a function of one element as a region of a `vmap` op, and how its arguments and results nest.

`in_axes` says for each positional argument which axis of its arrays runs over the batch: an int, None for an argument that
all elements share, or a tuple, list or dict of those like the argument. Keyword arguments are batched along axis 0.
A plain object is batched attribute by attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irad.core.ir import Graph, Value, emit
from irad.core.tree import TreeDef, attributes, flatten, parts, structured_nodes
from irad.core.types import Dim, Type
from irad.errors import IradTypeError, IradValueError, ShapeError, UnsupportedError
from irad.frontend.control.lists import with_items
from irad.frontend.control.regions import dead_end, run_region
from irad.frontend.reader import Reader
from irad.frontend.transforms.linearise import is_leaf, note_copies, opened
from irad.frontend.values.arr import Arr, lift
from irad.frontend.values.objects import Array, Cell, describe, is_number
from irad.frontend.values.unfit import UNFIT, unfit
from irad.ops.array import transpose_to
from irad.ops.control import vmap


def apply_vmap(r: Reader, fun: Any, args: list[Any], kwargs: dict[str, Any], in_axes: Any, out_axes: Any) -> Any:
    """A call of irad.vmap(fun, in_axes, out_axes) while a function is read."""
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    if len(axes) != len(args):
        raise IradValueError(f"vmap: in_axes {in_axes} has {len(axes)} entries for {len(args)} arguments")
    given = [*args, *kwargs.values()]
    args = [x if axis is None else opened(r, x) for x, axis in zip(args, axes)]
    found, tree = flatten((args, kwargs), is_leaf, r.is_opened)
    _refuse_structured(tree)
    each = [a for x, axis in zip(args, axes) for a in spread(r, axis, x, "in_axes")] + [0] * (len(found) - _count(r, args))
    values, batched = _values(r, found, each)
    size = _batch_size(values, batched)
    params = [Value(Type(v.type.dtype, v.type.shape[1:]) if b else v.type, v.hint) for v, b in zip(values, batched)]

    def body() -> tuple[TreeDef, list[Value]]:
        inner_args, inner_kwargs = tree.unflatten([_element(x, p, b) for x, p, b in zip(found, params, batched)])
        copies = [*inner_args, *inner_kwargs.values()]
        note_copies(r, given, copies)
        _own(r, copies)
        return _results(r, r.call(fun, list(inner_args), dict(inner_kwargs)))

    region = run_region(r, body)
    if region.dead:
        raise dead_end(region, "the function under vmap")
    if any(True for _ in region.log.old):
        raise UnsupportedError("a function under vmap changes arrays or variables of its caller; return the new values")
    out_tree, results = region.result
    _refuse_structured(out_tree)
    graph = Graph(tuple(params), tuple(region.nodes), tuple(results))
    _check_shapes(graph)
    outs = emit(vmap, *values, regions=[graph], size=size, batched=tuple(batched))
    places = spread(r, out_axes, out_tree.unflatten([Array(Cell(v)) for v in outs]), "out_axes")
    return out_tree.unflatten([Array(Cell(_moved_back(v, a))) for v, a in zip(outs, places)])


def _own(r: Reader, x: Any) -> None:
    """What is around the arguments of one element was made for it: the function may change it."""
    node = None if is_leaf(x) else parts(x) or (attributes(x) if r.is_opened(x) else None)
    if node is not None:
        r.state.made(x)
        for c in node[2]:
            _own(r, c)


def _refuse_structured(tree: TreeDef) -> None:
    if structured_nodes(tree):
        raise UnsupportedError("vmap of structured arrays: give it the fields, p['x'], p['v'], as arguments of their own")


def _count(r: Reader, args: Any) -> int:
    return len(flatten(args, is_leaf, r.is_opened)[0])


def spread(r: Reader, axes: Any, x: Any, name: str) -> list[int | None]:
    """An axis for each leaf of x: `axes` is one for all, or nested like x."""
    if axes is None or type(axes) is int:
        return [axes] * _count(r, x)
    node, shape = parts(x), parts(axes)
    if node is None or shape is None or len(node[2]) != len(shape[2]) or isinstance(x, dict) != isinstance(axes, dict):
        raise IradTypeError(
            f"vmap: {name} {axes!r} does not fit {describe(x)}; use an int, None or a structure like the argument's"
        )
    kids = [axes[k] for k in x] if isinstance(x, dict) else shape[2]
    return [a for axis, child in zip(kids, node[2]) for a in spread(r, axis, child, name)]


def _values(r: Reader, found: Sequence[Any], axes: Sequence[int | None]) -> tuple[list[Value], list[bool]]:
    """The leaves as values, batch axis first; which of them are batched."""
    values, batched = [], []
    for x, axis in zip(found, axes):
        if isinstance(x, UNFIT):
            raise UnsupportedError(f"{describe(x)} cannot be an argument of a function under vmap")
        v = r.value(x) if isinstance(x, Array) else lift(x).value
        if axis is not None:
            if not -v.type.rank <= axis < v.type.rank:
                raise ShapeError(f"vmap: there is no axis {axis} in an argument of type {v.type}; in_axes None shares it")
            axis %= v.type.rank
            v = transpose_to(v, (axis, *(k for k in range(v.type.rank) if k != axis)))
        values.append(v)
        batched.append(axis is not None)
    return values, batched


def _batch_size(values: Sequence[Value], batched: Sequence[bool]) -> Dim:
    sizes = dict.fromkeys(v.type.shape[0] for v, b in zip(values, batched) if b)
    if not sizes:
        raise IradValueError("vmap: no argument is batched: give at least one an axis in in_axes")
    if len(sizes) > 1:
        raise ShapeError(f"vmap: the batched axes have different extents: {', '.join(map(str, sizes))}")
    return next(iter(sizes))


def _element(x: Any, p: Value, batched: bool) -> Any:
    """What stands for an argument inside: a row of an array is an array, an element of a 1-d array a NumPy scalar."""
    if not batched:
        return Array(Cell(p, p.hint)) if isinstance(x, Array) else x  # a number that all share is itself: it may decide a shape
    return Array(Cell(p, p.hint)) if p.type.shape else Arr(p, False)


def _results(r: Reader, out: Any) -> tuple[TreeDef, list[Value]]:
    found, tree = flatten(with_items(r, out, False), lambda x: is_number(x) or isinstance(x, (Array, *UNFIT)), r.is_opened)
    for x in found:
        if isinstance(x, UNFIT):
            raise UnsupportedError(f"the function under vmap returns {unfit(x)}")
    return tree, [r.value(x) if isinstance(x, Array) else lift(x).value for x in found]


def _check_shapes(graph: Graph) -> None:
    inside = {v for n in graph.nodes for v in n.outputs} | set(graph.params)
    for v in graph.results:
        if any(s in inside for s in v.type.symbols):
            raise UnsupportedError(
                f"the function under vmap returns an array of type {v.type} whose shape it computes itself; return one of fixed shape"
            )


def _moved_back(v: Value, axis: int | None) -> Value:
    """A result with its batch axis, which is the first, at `axis`."""
    if axis is None:
        raise IradValueError("vmap: out_axes None is not supported: index the result with [0] instead")
    rank = v.type.rank
    if not -rank <= axis < rank:
        raise ShapeError(f"vmap: out_axes {axis} is out of range for a result of type {v.type}")
    order = list(range(1, rank))
    order.insert(axis % rank, 0)
    return transpose_to(v, order)
