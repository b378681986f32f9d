"""Derivatives inside compiled code: `irad.grad(f)(x)` becomes a `vjp` op that holds f as a region.

The public functions are made elsewhere, on top of `Transform`; what they mean while a function is read is here. The
functions of `CALLS` take the reader first. Arrays changed by the differentiated function are changed in its region only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from irad.errors import IradTypeError, IradValueError, UnsupportedError
from irad.frontend.arr import Arr, lift
from irad.frontend.flow import run_region
from irad.frontend.merge import Maker, fresh_array, leaves, open_
from irad.frontend.objects import Array, Cell, Closure, Native, Poison, Text, describe, is_number
from irad.frontend.reader import Reader
from irad.ir import Graph, Value, build, copy, emit, inline
from irad.ops.array import Slice, broadcast_to, iota, reshape_to, slice_axis, transpose_to, update, zeros
from irad.ops.constant import const, scalar
from irad.ops.control import checkpoint, for_, jvp, vjp
from irad.ops.elementwise import cast_to, eq, sub
from irad.tree import TreeDef, flatten
from irad.types import I64, Type, is_float

KINDS = ("grad", "value_and_grad", "jacobian", "hessian", "hvp", "checkpoint")


class Transform:
    """A function made from another one: `kind` of KINDS applied to `fun`.

    `argnums`: position or positions of the arguments to differentiate by; `has_aux`: fun returns (value, aux);
    `mode`: "reverse" or "forward", or "" to let the shapes decide.
    """

    def __init__(self, kind: str, fun: Any, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, mode: str = ""):
        if kind not in KINDS:
            raise IradValueError(f"no transform {kind!r}; there are {', '.join(KINDS)}")
        if not callable(fun):
            raise IradTypeError(f"{kind} wants a function, got {describe(fun)}")
        if mode not in ("", "reverse", "forward"):
            raise IradValueError(f"mode must be 'reverse' or 'forward', got {mode!r}")
        self.kind, self.fun, self.argnums, self.has_aux, self.mode = kind, fun, argnums, has_aux, mode
        self.__wrapped__ = fun
        self.__name__ = f"{kind}_{getattr(fun, '__name__', 'f').strip('<>')}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"{self.kind} is called outside of compiled code")


def apply_transform(r: Reader, t: Transform, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a transform while a function is read."""
    path = r.captures.path(t)
    part = lambda name: getattr(t, name) if path is None else r.captures.take(getattr(t, name), path.child("attr", name))
    fun, argnums, kind = part("fun"), part("argnums"), part("kind")
    has_aux, mode = part("has_aux"), part("mode")
    if kind == "checkpoint":
        return _checkpoint(r, fun, args, kwargs)
    if kind == "hvp":
        *primals, v = args
        gradient = Native(lambda *xs: _gradient(r, fun, list(xs), kwargs, 0, False, "reverse")[1])
        return apply_jvp(r, gradient, primals, [v, *[None] * (len(primals) - 1)])[1]
    if kind in ("jacobian", "hessian"):
        slope = Native(lambda *xs: _gradient(r, fun, list(xs), kwargs, argnums, False, "reverse")[1])
        inner = slope if kind == "hessian" else fun
        return _jacobian(
            r, inner, args, {} if kind == "hessian" else kwargs, argnums, mode or ("forward" if kind == "hessian" else "")
        )
    out, grads = _gradient(r, fun, args, kwargs, argnums, has_aux, mode)
    if kind == "value_and_grad":
        return out, grads
    return (grads, out[1]) if has_aux else grads


# ---- functions as regions ------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Linearised:
    """A function of some leaves as a graph, and how its arguments and results are nested."""

    graph: Graph
    primals: list[Value]  # the leaves, floats
    weak: list[bool]  # which of them are Python numbers, which arrays (None: a NumPy scalar)
    kinds: list[str]
    trees: list[TreeDef]  # of each differentiated argument
    out_tree: TreeDef
    out_kinds: list[Any]  # per result leaf: how to build it from its value

    @property
    def float_results(self) -> list[int]:
        return [k for k, v in enumerate(self.graph.results) if v.type.differentiable]


def _is_leaf(x: Any) -> bool:
    return is_number(x) and type(x) is not bool or isinstance(x, (Array, Poison, Text))


def _linearise(r: Reader, fun: Any, args: list[Any], kwargs: dict[str, Any], argnums: Sequence[int]) -> _Linearised:
    """`fun` as a graph of the leaves of the arguments `argnums`; everything else is captured."""
    primals: list[Value] = []
    kinds: list[str] = []
    trees: list[TreeDef] = []
    for k in argnums:
        found, tree = flatten(args[k], _is_leaf)
        trees.append(tree)
        for x in found:
            kinds.append(_kind(x))
            primals.append(_float(r, x))
    params = [Value(v.type, v.hint) for v in primals]

    def body() -> tuple[TreeDef, list[Any], list[Value]]:
        objects = iter([_object(v, kind) for v, kind in zip(params, kinds)])
        inner = list(args)
        for k, tree in zip(argnums, trees):
            inner[k] = tree.unflatten([next(objects) for _ in range(tree.size)])
        return _outcome(r, r.call(fun, inner, kwargs))

    region = run_region(r, body)
    if region.dead:
        raise UnsupportedError("the function to differentiate always raises")
    out_tree, out_kinds, results = region.result
    graph = Graph(tuple(params), tuple(region.nodes), tuple(results))
    return _Linearised(graph, primals, [k == "number" for k in kinds], kinds, trees, out_tree, out_kinds)


def _kind(x: Any) -> str:
    if isinstance(x, Array):
        return "array"
    if isinstance(x, (Poison, Text)):
        raise UnsupportedError(f"{describe(x)} cannot be differentiated")
    python = x.weak if isinstance(x, Arr) else type(x) in (bool, int, float)
    return "number" if python else "generic"


def _float(r: Reader, x: Any) -> Value:
    """A leaf as a float value; integers become float64."""
    v = r.value(x) if isinstance(x, Array) else lift(x).value
    return v if is_float(v.type.dtype) else cast_to(v, "f64")


def _object(v: Value, kind: str) -> Any:
    return Array(Cell(v, v.hint)) if kind == "array" else Arr(v, kind == "number")


def _outcome(r: Reader, out: Any) -> tuple[TreeDef, list[Any], list[Value]]:
    """A result as a tree of values; constants stay out of the graph's results unless they are numbers."""
    found, tree = flatten(out, lambda x: is_number(x) or isinstance(x, (Array, Poison, Text)))
    kinds: list[Any] = []
    results: list[Value] = []
    for x in found:
        if isinstance(x, (Poison, Text)):
            raise UnsupportedError(f"the differentiated function returns {x.message if isinstance(x, Poison) else 'a string'}")
        if type(x) is bool:
            kinds.append(x)
            continue
        kinds.append(_kind(x))
        results.append(r.value(x) if isinstance(x, Array) else lift(x).value)
    return tree, kinds, results


def _rebuilt(lin: _Linearised, values: Sequence[Value]) -> Any:
    """The function's result from its values."""
    it = iter(values)
    return lin.out_tree.unflatten([_object(next(it), k) if isinstance(k, str) else k for k in lin.out_kinds])


def _arguments(lin: _Linearised, values: Sequence[Value]) -> list[Any]:
    """Values like the leaves of the differentiated arguments, in their trees."""
    it = iter([_object(v, k) for v, k in zip(values, lin.kinds)])
    return [t.unflatten([next(it) for _ in range(t.size)]) for t in lin.trees]


def _positions(argnums: Any, n: int) -> tuple[list[int], bool]:
    """Argument numbers from the front, and whether one was asked for by itself."""
    many = tuple(argnums) if isinstance(argnums, (tuple, list)) else (argnums,)
    for k in many:
        if not isinstance(k, int) or not -n <= k < n:
            raise IradValueError(f"argnums {argnums} is out of range for a call with {n} positional arguments")
    return [k % n for k in many], not isinstance(argnums, (tuple, list))


# ---- grad -------------------------------------------------------------------------------------------------------------------


def _gradient(
    r: Reader, fun: Any, args: list[Any], kwargs: dict[str, Any], argnums: Any, has_aux: bool, mode: str
) -> tuple[Any, Any]:
    """(result, gradients)."""
    at, single = _positions(argnums, len(args))
    lin = _linearise(r, fun, args, kwargs, at)
    _check_scalar(lin, has_aux)
    if mode == "forward":
        values, cts = _forward_gradient(lin)
    else:
        floats = lin.float_results
        seeds = [_seed(lin.graph.results[k].type, 1.0 if k == 0 else 0.0) for k in floats]
        outs = emit(vjp, *lin.primals, *seeds, regions=[lin.graph], wrt=tuple(range(len(lin.primals))))
        values, cts = outs[: len(lin.graph.results)], outs[len(lin.graph.results) :]
    grads = _arguments(lin, cts)
    return _rebuilt(lin, values), grads[0] if single else tuple(grads)


def _seed(t: Type, value: float) -> Value:
    return const(value=value, type=t)


def _check_scalar(lin: _Linearised, has_aux: bool) -> None:
    if has_aux and not (lin.out_tree.cls is tuple and len(lin.out_tree.children) == 2):
        raise IradTypeError("with has_aux=True the function must return (value, aux)")
    value = lin.out_tree.children[0] if has_aux else lin.out_tree
    if value.cls is not None or not lin.graph.results:
        raise IradTypeError(
            f"grad wants a function that returns one number, this one returns {value!r}; use irad.vjp or irad.jacobian"
        )
    t = lin.graph.results[0].type
    if t.shape or not t.differentiable:
        raise IradTypeError(f"grad wants a function that returns one float, this one returns {t}; use irad.vjp or irad.jacobian")


def _forward_gradient(lin: _Linearised) -> tuple[list[Value], list[Value]]:
    """The gradient by forward mode: one direction per element of the arguments."""
    values = list(inline(lin.graph, *lin.primals))
    columns = _columns(lin, [0])[0]
    return values, _split_flat(columns, [v.type for v in lin.primals])


# ---- directions, one after the other --------------------------------------------------------------------------------------------


def _columns(lin: _Linearised, outs: list[int]) -> list[Value]:
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


def _rows(lin: _Linearised, out: int) -> list[Value]:
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


def _split_flat(flat: Value, types: Sequence[Type]) -> list[Value]:
    out, start = [], 0
    for t in types:
        out.append(cast_to(reshape_to(slice_axis(flat, 0, start, t.size), t.shape), t.dtype))
        start += t.size
    return out


def _jacobian(r: Reader, fun: Any, args: list[Any], kwargs: dict[str, Any], argnums: Any, mode: str) -> Any:
    """Derivatives of every result leaf by every argument leaf, of shape result.shape + argument.shape."""
    at, single = _positions(argnums, len(args))
    lin = _linearise(r, fun, args, kwargs, at)
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


def _trees(lin: _Linearised, values: Sequence[Value]) -> list[Any]:
    it = iter([Array(Cell(v)) for v in values])
    return [t.unflatten([next(it) for _ in range(t.size)]) for t in lin.trees]


def _forward_blocks(lin: _Linearised, outs: list[int]) -> list[list[Value]]:
    table = []
    for k, columns in zip(outs, _columns(lin, outs)):
        shape, start, row = lin.graph.results[k].type.shape, 0, []
        for v in lin.primals:
            part = slice_axis(columns, 0, start, v.type.size)
            turned = transpose_to(part, (*range(1, len(shape) + 1), 0))
            row.append(reshape_to(turned, (*shape, *v.type.shape)))
            start += v.type.size
        table.append(row)
    return table


def _reverse_blocks(lin: _Linearised, k: int) -> list[Value]:
    shape = lin.graph.results[k].type.shape
    return [reshape_to(v, (*shape, *p.type.shape)) for v, p in zip(_rows(lin, k), lin.primals)]


# ---- vjp and jvp ----------------------------------------------------------------------------------------------------------------


class Pullback(Closure):
    """The second result of irad.vjp inside compiled code: cotangents of the result to cotangents of the arguments."""

    def __init__(self, reader: Reader, lin: _Linearised):
        self.reader, self.lin = reader, lin
        self.__name__ = self.__qualname__ = "pullback"

    def pull(self, r: Reader, ct: Any) -> Any:
        lin = self.lin
        cts = _like(r, ct, lin)
        seeds = [cts[k] for k in lin.float_results]
        outs = emit(vjp, *lin.primals, *seeds, regions=[copy(lin.graph, {})], wrt=tuple(range(len(lin.primals))))
        return tuple(_arguments(lin, outs[len(lin.graph.results) :]))


def _like(r: Reader, ct: Any, lin: _Linearised) -> list[Value]:
    """Cotangents or tangents for the results of a function, checked against them."""
    found, tree = flatten(ct, lambda x: is_number(x) or isinstance(x, Array))
    numbers = [k for k in lin.out_kinds if isinstance(k, str)]
    if tree.size != len(lin.graph.results) or len(numbers) != len(found):
        raise IradTypeError(
            f"the cotangent has {tree.size} leaves, the result {len(lin.graph.results)}: {tree!r} for {lin.out_tree!r}"
        )
    out = []
    for x, v in zip(found, lin.graph.results):
        value = r.value(x) if isinstance(x, Array) else lift(x).value
        if value.type.shape != v.type.shape:
            raise IradTypeError(f"a cotangent of shape {value.type.shape} for a result of shape {v.type.shape}")
        out.append(cast_to(value, v.type.dtype))
    return out


def apply_vjp(r: Reader, fun: Any, *primals: Any, has_aux: bool = False) -> Any:
    """irad.vjp(fun, *primals) -> (result, pullback), or (result, pullback, aux)."""
    main, aux = _without_aux(r, fun, has_aux)
    lin = _linearise(r, main, list(primals), {}, range(len(primals)))
    out = _rebuilt(lin, inline(lin.graph, *lin.primals))
    return (out, Pullback(r, lin), aux(primals)) if has_aux else (out, Pullback(r, lin))


def _without_aux(r: Reader, fun: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return fun, None
    return Native(lambda *xs: r.call(fun, list(xs))[0]), (lambda xs: r.call(fun, list(xs))[1])


def apply_jvp(r: Reader, fun: Any, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """irad.jvp(fun, primals, tangents) -> (result, tangent of the result); a tangent None is zero."""
    if len(primals) != len(tangents):
        raise IradTypeError(f"jvp: {len(primals)} primals, but {len(tangents)} tangents")
    lin = _linearise(r, fun, list(primals), {}, range(len(primals)))
    dots: list[Value] = []
    k = 0
    for tree, t in zip(lin.trees, tangents):
        found = [None] * tree.size if t is None else flatten(t, _is_leaf)[0]
        if len(found) != tree.size:
            raise IradTypeError(f"a tangent with {len(found)} leaves for an argument with {tree.size}")
        for x in found:
            dots.append(_tangent(r, x, lin.primals[k].type))
            k += 1
    outs = emit(jvp, *lin.primals, *dots, regions=[lin.graph], wrt=tuple(range(len(lin.primals))))
    n = len(lin.graph.results)
    moved = iter(outs[n:])
    along = [next(moved) if v.type.differentiable else zeros(Type("f64", v.type.shape)) for v in lin.graph.results]
    out = _rebuilt(lin, outs[:n])
    if has_aux:
        return out[0], _rebuilt(lin, along)[0], out[1]
    return out, _rebuilt(lin, along)


def _tangent(r: Reader, x: Any, t: Type) -> Value:
    if x is None:
        return zeros(t)
    v = r.value(x) if isinstance(x, Array) else lift(x).value
    if v.type.shape != t.shape:
        raise IradTypeError(f"a tangent of shape {v.type.shape} for an argument of shape {t.shape}")
    return cast_to(v, t.dtype)


# ---- checkpoint ------------------------------------------------------------------------------------------------------------------


def _checkpoint(r: Reader, fun: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """fun's body as a region that the backward runs again."""
    region = run_region(r, lambda: r.call(fun, args, kwargs))
    if region.dead:
        raise UnsupportedError("the function under checkpoint always raises")
    if any(True for _ in region.log.old):
        raise UnsupportedError("a function under checkpoint changes arrays or variables of its caller; return the new values")
    template = open_(region.result)
    with region.builder:
        values = leaves(template, region.result, r.read)
    outs = emit(checkpoint, regions=[Graph((), tuple(region.nodes), tuple(values))])
    return Maker(outs, fresh_array, r.state.made).make(template)


CALLS: dict[Any, Callable[..., Any]] = {}
"""Public functions (irad.vjp, irad.jvp...) and what they mean here; filled by `bind`."""


def bind(fn: Any, name: str) -> None:
    """Let a public function mean `name` ("vjp", "jvp") in compiled code."""
    CALLS[fn] = {"vjp": apply_vjp, "jvp": apply_jvp}[name]


__all__ = ["CALLS", "Pullback", "Transform", "apply_jvp", "apply_transform", "apply_vjp", "bind"]
