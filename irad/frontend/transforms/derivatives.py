"""Derivatives inside compiled code: `irad.grad(f)(x)` becomes a `vjp` op that holds f as a region.

The public functions are made elsewhere, on top of `Transform`; what they mean while a function is read is here. The
functions of `MEANINGS` take the reader first. Arrays changed by the differentiated function are changed in its region only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from irad.core.array_classes import ArrayOfClass
from irad.core.ir import Builder, Graph, Node, Value, copy, current, emit, inline, map_regions, substitute
from irad.core.lazy_dataclass import replace
from irad.core.tree import TreeDef, flatten, leaves_like
from irad.core.types import Type, is_complex
from irad.errors import IradTypeError, IradValueError, UnsupportedError
from irad.frontend.control.filling import Maker, fresh_array, leaves
from irad.frontend.control.merge import open_
from irad.frontend.control.regions import dead_end, run_region
from irad.frontend.reader import Reader
from irad.frontend.transforms.batching import apply_vmap
from irad.frontend.transforms.jacobian import blocks, jacobian
from irad.frontend.transforms.linearise import (
    Linearised,
    apart,
    arguments,
    is_data,
    is_leaf,
    linearise,
    opened,
    positions,
    rebuilt,
)
from irad.frontend.transforms.modes import check_one_direction, forward_is_cheaper, note_mode
from irad.frontend.transforms.transform import Transform
from irad.frontend.values.arr import dtype_of, lift
from irad.frontend.values.callables import Native
from irad.frontend.values.objects import Array, Closure, Text, is_number
from irad.frontend.values.unfit import UNFIT
from irad.ops.array import zeros
from irad.ops.constant import const
from irad.ops.control import checkpoint, jvp, vjp
from irad.ops.core import effects
from irad.ops.elementwise import cast_to


def apply_transform(r: Reader, t: Transform, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a transform while a function is read."""
    path = r.captures.path(t)
    part = lambda name: getattr(t, name) if path is None else r.captures.take(getattr(t, name), path.child("attr", name))
    fun, argnums, kind = part("fun"), part("argnums"), part("kind")
    has_aux, mode = part("has_aux"), part("mode")
    if kind == "checkpoint":
        return _checkpoint(r, fun, args, kwargs)
    if kind == "vmap":
        return apply_vmap(r, fun, args, kwargs, *part("axes"))
    if kind == "hvp":
        if len(args) < 2:
            raise IradTypeError(
                f"hvp(f) takes a point and a vector, f's arguments and v: {len(args)} given; write irad.hvp(f)(x, v)"
            )
        *primals, v = args
        gradient = Native(lambda *xs: _gradient(r, fun, list(xs), kwargs, 0, False, "reverse", kind)[1])
        return apply_jvp(r, gradient, primals, [v, *[None] * (len(primals) - 1)])[1]
    fun, args, kwargs, argnums = by_position(r, fun, args, kwargs, argnums)
    if kind in ("jacobian", "hessian"):
        return _second_or_jacobian(r, kind, fun, args, kwargs, argnums, has_aux, mode)
    out, grads = _gradient(r, fun, args, kwargs, argnums, has_aux, mode, kind)
    if kind == "value_and_grad":
        return out, grads
    return (grads, out[1]) if has_aux else grads


def _second_or_jacobian(
    r: Reader, kind: str, fun: Any, args: list[Any], kwargs: dict[str, Any], argnums: Any, has_aux: bool, mode: str
) -> Any:
    """jacobian or hessian, with what comes beside the value if `has_aux`."""
    main, aux = _without_aux(r, fun, has_aux, kwargs)
    if kind == "hessian":
        _check_real(r, args, argnums)
        slope = Native(lambda *xs: _gradient(r, main, list(xs), kwargs, argnums, False, "reverse", kind)[1])
        out = jacobian(r, slope, args, {}, argnums, mode or "forward", symmetric=True)
    else:
        out = jacobian(r, main, args, kwargs, argnums, mode)
    return (out, aux(args)) if has_aux else out


def by_position(
    r: Reader, fun: Any, args: list[Any], kwargs: dict[str, Any], argnums: Any
) -> tuple[Any, list[Any], dict[str, Any], Any]:
    """The function, arguments and numbers to differentiate by, where some were named: keyword arguments that are
    differentiated become positional ones behind the others. Raises IradValueError for a name that is no argument."""
    many = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    named = [k for k in many if isinstance(k, str) and k in kwargs]
    at = {name: len(args) + j for j, name in enumerate(named)}
    numbers = [at[k] if k in at else _number_of(fun, k, len(args)) if isinstance(k, str) else k for k in many]
    where = tuple(numbers) if isinstance(argnums, (tuple, list)) else numbers[0]
    if not named:
        return fun, args, kwargs, where
    rest, n = {k: v for k, v in kwargs.items() if k not in at}, len(args)
    call = Native(lambda *xs: r.call(fun, list(xs[:n]), {**rest, **dict(zip(named, xs[n:]))}))
    return call, [*args, *(kwargs[k] for k in named)], {}, where


def _number_of(fun: Any, name: str, count: int) -> int:
    """The position of a parameter of a function that is called with `count` positional arguments."""
    names = parameter_names(fun)
    if name not in names[:count]:
        raise IradValueError(f"argnames: {name!r} is no argument of this call; the function takes {', '.join(names) or 'none'}")
    return names.index(name)


def parameter_names(fun: Any) -> list[str]:
    """Names of the positional parameters of a function, read or not."""
    if isinstance(fun, Closure) and hasattr(fun, "node"):
        a = fun.node.args
        return [p.arg for p in (*a.posonlyargs, *a.args)]
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


# ---- grad -------------------------------------------------------------------------------------------------------------------


def _gradient(
    r: Reader, fun: Any, args: list[Any], kwargs: dict[str, Any], argnums: Any, has_aux: bool, mode: str, kind: str
) -> tuple[Any, Any]:
    """(result, gradients), for a transform of this kind."""
    at, single = positions(argnums, len(args))
    lin = linearise(r, fun, args, kwargs, at, numbers=True)
    _check_scalar(lin, has_aux, kind)
    forward = mode == "forward" or mode == "" and forward_is_cheaper(lin)
    if forward:
        check_one_direction(lin, "the forward mode")
    if r.notes is not None:
        note_mode(r.notes, lin, mode, forward)
    if forward:
        _check_real(r, args, argnums)
        values, found = blocks(lin, "forward")
        cts = [cast_to(ct, v.type.dtype) for ct, v in zip(found, lin.primals)]
    else:
        floats = lin.float_results
        seeds = [const(value=1.0 if k == 0 else 0.0, type=lin.graph.results[k].type) for k in floats]
        values, cts = _pulled(lin, lin.graph, seeds)
    grads = arguments(lin, cts)
    return rebuilt(lin, values), grads[0] if single else tuple(grads)


def _check_real(r: Reader, args: list[Any], argnums: Any) -> None:
    """One real direction does not give the slope of a real function along a complex argument."""
    found = flatten([args[k] for k in positions(argnums, len(args))[0]], is_leaf)[0]
    if any(is_complex(dtype_of(r.operand(x))) for x in found if not isinstance(x, Text)):
        raise IradTypeError(
            "hessian and forward-mode gradients are of real arguments; pass the real and imaginary parts, or use irad.grad and irad.hvp"
        )


def _pulled(lin: Linearised, graph: Graph, seeds: Sequence[Value]) -> tuple[list[Value], list[Value]]:
    """The results of a linearised function, run by a graph, and the cotangents of its arguments for those of its results."""
    outs = emit(vjp, *lin.primals, *seeds, regions=[graph], wrt=tuple(range(len(lin.primals))))
    n = len(lin.graph.results)
    return list(outs[:n]), list(outs[n:])


_INSTEAD = {"hessian": "irad.jacobian(irad.jacobian(f))", "hvp": "irad.jacobian and irad.jvp"}  # of functions that return arrays


def _check_scalar(lin: Linearised, has_aux: bool, kind: str) -> None:
    if has_aux and not (lin.out_tree.cls is tuple and len(lin.out_tree.children) == 2):
        raise IradTypeError("with has_aux=True the function must return (value, aux)")
    value = lin.out_tree.children[0] if has_aux else lin.out_tree
    of_class = value.cls is not None and issubclass(value.cls, ArrayOfClass)  # an array without axes, with its attributes
    if (value.cls is not None and not of_class) or not lin.graph.results:
        raise IradTypeError(f"{kind} wants a function that returns one number, this one returns {_returned(value)}")
    t = lin.graph.results[0].type
    if is_complex(t.dtype):
        raise IradTypeError(
            f"{kind} wants a real result, this one is complex; for a holomorphic function use irad.jacobian or irad.vjp"
        )
    if t.shape or not t.differentiable:
        instead = _INSTEAD.get(kind, "irad.vjp or irad.jacobian")
        raise IradTypeError(f"{kind} wants a function that returns one float, this one returns {t}; use {instead}")


def _returned(tree: TreeDef) -> str:
    """What a function returns that is no number, and what to write for its derivative."""
    if tree.cls is tuple:
        return f"a tuple of {len(tree.children)}; return the number alone, or (number, the rest) with has_aux=True"
    if tree.cls is TreeDef and tree.meta.value is None:
        return "None; is a `return` missing?"
    kind = type(tree.meta.value).__name__ if tree.cls is TreeDef else getattr(tree.cls, "__name__", "no number")
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}; use irad.vjp or irad.jacobian"


# ---- vjp and jvp ----------------------------------------------------------------------------------------------------------------


class Pullback(Closure):
    """The second result of irad.vjp inside compiled code: cotangents of the result to cotangents of the arguments."""

    def __init__(self, reader: Reader, lin: Linearised, again: Graph):
        self.reader, self.lin, self.again = reader, lin, again
        self.__name__ = self.__qualname__ = "pullback"

    def pull(self, r: Reader, ct: Any) -> Any:
        lin = self.lin
        cts = _like(r, ct, lin)
        seeds = [cts[k] for k in lin.float_results]
        return tuple(arguments(lin, _pulled(lin, copy(self.again, {}), seeds)[1]))


def apply_pulled(r: Reader, fun: Any, primals: Any, ct: Any) -> Any:
    """(fun(*primals), cotangents of the primals), of one run of fun."""
    lin = linearise(r, fun, list(primals), {}, range(len(primals)))
    cts = _like(r, ct, lin)
    seeds = [cts[k] for k in lin.float_results]
    values, found = _pulled(lin, lin.graph, seeds)
    return rebuilt(lin, values), tuple(arguments(lin, found))


def silent(graph: Graph, what: str) -> Graph:
    """The graph without its output, for a second run of it. Raises UnsupportedError for a callback that must run once."""
    nodes = []
    for n in graph.nodes:
        if n.op.effects == "io" and n.outputs:
            raise UnsupportedError(
                f"{what} would call this callback twice; if it may be, say irad.callback(..., pure=True), "
                "else call it before and pass its result in",
                n.loc,
            )
        if n.op.effects != "io":
            nodes.append(map_regions(n, lambda g: silent(g, what)))
    return graph.replace(nodes=nodes)


def _like(r: Reader, ct: Any, lin: Linearised) -> list[Value]:
    """Cotangents or tangents for the results of a function, checked against them."""
    given = leaves_like(lin.out_tree, opened(r, ct), "the cotangent", lambda x: is_number(x) or isinstance(x, Array))
    found = [x for x, kind in zip(given, lin.out_kinds) if isinstance(kind, str)]
    out = []
    for x, v in zip(found, lin.graph.results):
        value = r.value(x) if isinstance(x, Array) else lift(x).value
        if value.type.shape != v.type.shape:
            raise IradTypeError(f"a cotangent of shape {value.type.shape} for a result of shape {v.type.shape}")
        out.append(_as_dtype(value, v.type, "a cotangent", "a result"))
    return out


def _as_dtype(v: Value, t: Type, what: str, of: str) -> Value:
    """A cotangent or tangent in the dtype it must have. Raises IradTypeError for a complex one of something real."""
    if is_complex(v.type.dtype) and not is_complex(t.dtype):
        raise IradTypeError(f"{what} of type {v.type} for {of} of type {t}; give its real part")
    return cast_to(v, t.dtype)


def apply_vjp(r: Reader, fun: Any, *primals: Any, has_aux: bool = False) -> Any:
    """irad.vjp(fun, *primals) -> (result, pullback), or (result, pullback, aux)."""
    main, aux = _without_aux(r, fun, has_aux)
    lin = linearise(r, main, list(primals), {}, range(len(primals)))
    values, again = _first_run(lin)
    out, pullback = rebuilt(lin, values), Pullback(r, lin, again)
    return (out, pullback, aux(primals)) if has_aux else (out, pullback)


def _asks(n: Node) -> bool:
    """Does a node call back Python code that must run once, to give a result?"""
    plain = n.op.name == "callback" or (n.op.name == "custom_vjp" and not n.regions[1].results)
    return plain and bool(n.outputs) and effects(n) == "io"


def _answered(n: Node, values: Sequence[Value]) -> Node:
    """A `custom_vjp` of a callback that gave `values`: they are further arguments now, of cotangent 0."""
    f, fwd, bwd = n.regions
    new = lambda: [Value(v.type, v.hint) for v in values]
    answers, xs = new(), len(f.params)
    first = Graph((*f.params, *answers), (), tuple(answers))
    with Builder() as b:
        none = [zeros(v.type) for v in values]
    back = Graph((*bwd.params[:xs], *new(), *bwd.params[xs:]), (*bwd.nodes, *b.nodes), (*bwd.results, *none))
    regions = (first, fwd.replace(params=(*fwd.params, *new())), back)
    return n.replace(inputs=(*n.inputs, *values), regions=regions)


def _first_run(lin: Linearised) -> tuple[Sequence[Value], Graph]:
    """Run the function: its results, and its graph for a second run, in which callbacks give what they have given."""
    g = lin.graph
    asked = [n for n in g.nodes if _asks(n)]
    if not asked:
        return inline(g, *lin.primals), silent(g, "a function under irad.vjp in compiled code")
    values = inline(g.replace(results=(*g.results, *(v for n in asked for v in n.outputs))), *lin.primals)
    given = dict(zip((v for n in asked for v in n.outputs), values[len(g.results) :]))
    nodes = []
    for n in g.nodes:
        if n in asked and n.regions:
            n = _answered(n, [given.pop(v) for v in n.outputs])
        elif n in asked:
            continue
        nodes.append(n)
    again = substitute(g.replace(nodes=nodes), given)
    return values[: len(g.results)], silent(again, "a function under irad.vjp in compiled code")


def _without_aux(r: Reader, fun: Any, has_aux: bool, kwargs: dict[str, Any] | None = None) -> tuple[Any, Any]:
    """The function's value alone, and what comes beside it; both calls compute the same, which is shared later."""
    if not has_aux:
        return fun, None

    def aux(xs: Sequence[Any]) -> Any:
        with Builder() as b:
            out = apart(r, lambda: _pair(r.call(fun, list(xs), kwargs or {}))[1])
        current().nodes += silent(Graph((), tuple(b.nodes), ()), "a derivative with has_aux=True").nodes
        return out

    return Native(lambda *xs, **options: _pair(r.call(fun, list(xs), options))[0]), aux


def _pair(out: Any) -> Any:
    if not isinstance(out, tuple) or len(out) != 2:
        raise IradTypeError("with has_aux=True the function must return (value, aux)")
    return out


def apply_jvp(r: Reader, fun: Any, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """irad.jvp(fun, primals, tangents) -> (result, tangent of the result); a tangent None is zero, its primal as it is."""
    if len(primals) != len(tangents):
        raise IradTypeError(f"jvp: {len(primals)} primals, but {len(tangents)} tangents")
    moving = [k for k, t in enumerate(tangents) if t is not None] or range(len(primals))
    lin = linearise(r, fun, list(primals), {}, moving)
    out, along = _pushed(r, lin, [tangents[k] for k in moving])
    return (out[0], along[0], out[1]) if has_aux else (out, along)


def _pushed(r: Reader, lin: Linearised, tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The result of a linearised function, and its tangent."""
    dots: list[Value] = []
    k = 0
    for tree, t in zip(lin.trees, tangents):
        found = [None] * tree.size if t is None else leaves_like(tree, opened(r, t), "the tangent of an argument", is_leaf)
        for x in (x for x, held in zip(found, is_data(tree)) if not held):
            dots.append(_tangent(r, x, lin.primals[k].type))
            k += 1
    outs = emit(jvp, *lin.primals, *dots, regions=[lin.graph], wrt=tuple(range(len(lin.primals))))
    n = len(lin.graph.results)
    moved = iter(outs[n:])
    along = [next(moved) if v.type.differentiable else zeros(Type("f64", v.type.shape)) for v in lin.graph.results]
    return rebuilt(lin, outs[:n]), rebuilt(lin, along)


def _tangent(r: Reader, x: Any, t: Type) -> Value:
    if x is None:
        return zeros(t)
    v = r.value(x) if isinstance(x, Array) else lift(x).value
    if v.type.shape != t.shape:
        raise IradTypeError(f"a tangent of shape {v.type.shape} for an argument of shape {t.shape}")
    return _as_dtype(v, t, "a tangent", "an argument")


def apply_linearize(r: Reader, fun: Any, *primals: Any) -> Any:
    """irad.linearize(fun, *primals) -> (result, tangents -> tangent of the result)."""
    moving = [k for k, x in enumerate(primals) if _any_float(x)] or list(range(len(primals)))
    lin = linearise(r, fun, list(primals), {}, moving)
    graph = silent(lin.graph, "irad.linearize")

    def along(*tangents: Any) -> Any:
        if len(tangents) != len(primals):
            raise IradTypeError(f"linearize: {len(primals)} primals, but {len(tangents)} tangents")
        if any(t is not None and k not in moving for k, t in enumerate(tangents)):
            raise IradTypeError("the tangent of an argument of whole numbers must be None; linearize at floats instead")
        return _pushed(r, replace(lin, graph=copy(graph, {})), [tangents[k] for k in moving])[1]

    return apply_value(r, fun, primals), Native(along)


def _any_float(x: Any) -> bool:
    leaves = [x for x in flatten(x, is_leaf)[0] if not isinstance(x, UNFIT)]
    return any((x.type if isinstance(x, Array) else lift(x).type).differentiable for x in leaves)


def apply_tangent(r: Reader, fun: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The tangent of the result of a function whose result, with what it prints, is computed elsewhere."""
    moving = [k for k, t in enumerate(tangents) if t is not None] or list(range(len(primals)))
    lin = linearise(r, fun, list(primals), {}, moving)
    return _pushed(r, replace(lin, graph=silent(lin.graph, "irad.linearize")), [tangents[k] for k in moving])[1]


def apply_value(r: Reader, fun: Any, primals: Sequence[Any]) -> Any:
    """The result of a function whose tangent is computed elsewhere."""
    return apart(r, lambda: r.call(fun, list(primals)))


# ---- checkpoint ------------------------------------------------------------------------------------------------------------------


def _checkpoint(r: Reader, fun: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """fun's body as a region that the backward runs again."""
    region = run_region(r, lambda: r.call(fun, args, kwargs))
    if region.dead:
        raise dead_end(region, "the function under checkpoint")
    if any(True for _ in region.log.old):
        raise UnsupportedError("a function under checkpoint changes arrays or variables of its caller; return the new values")
    template = open_(region.result)
    with region.builder:
        values = leaves(template, region.result, r.read)
    outs = emit(checkpoint, regions=[Graph((), tuple(region.nodes), tuple(values))])
    return Maker(outs, fresh_array, r.state.made).make(template)


MEANINGS: dict[Any, Callable[..., Any]] = {
    "vjp": apply_vjp, "jvp": apply_jvp, "linearize": apply_linearize, "pulled": apply_pulled, "tangent": apply_tangent,
    "value": apply_value,
}  # fmt: skip
"""Values of irad.frontend.transforms.transform.CALLS."""
