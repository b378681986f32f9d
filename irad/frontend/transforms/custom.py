"""Functions with a derivative of their own, and calls of Python, while a function is read.

The public classes and decorators are in irad.custom; what a call of one means in compiled code is here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Graph, Value, emit
from irad.core.lazy_dataclass import dataclass
from irad.core.tree import LEAF, TreeDef, flatten
from irad.core.types import Type, is_float
from irad.errors import IradTypeError, UnsupportedError
from irad.frontend.control.flow import branch
from irad.frontend.control.regions import dead_end, run_region
from irad.frontend.reader import Reader
from irad.frontend.transforms.linearise import is_leaf, kind_of, object_of, outcome
from irad.frontend.values.arr import Arr, lift
from irad.frontend.values.objects import Array, Either, Stopped, is_number
from irad.ops import custom as ops
from irad.ops.array import zeros
from irad.ops.elementwise import cast_to


class Special:
    """A callable that the reader does not read: `apply` says what a call of it means in compiled code."""

    def apply(self, r: Reader, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The call's result, as the reader has it."""
        raise NotImplementedError

    def part(self, r: Reader, name: str) -> Any:
        """An attribute, as something captured along with the object."""
        path = r.captures.path(self)
        return getattr(self, name) if path is None else r.captures.take(getattr(self, name), path.child("attr", name))


# ---- arguments and results ------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Operands:
    """The arguments of a call: `floats` are the leaves that carry derivatives, everything else is as it is."""

    leaves: list[Any]
    tree: TreeDef
    at: list[int]  # which leaves are floats
    floats: list[Value]
    kinds: list[str]
    counts: list[int]  # how many floats each argument has

    @staticmethod
    def of(r: Reader, args: Sequence[Any]) -> Operands:
        leaves, tree = flatten(tuple(args), is_leaf)
        at = [k for k, x in enumerate(leaves) if _differentiable(x)]
        ends = np.cumsum([0, *(c.size for c in tree.children)])
        counts = [sum(lo <= k < hi for k in at) for lo, hi in zip(ends, ends[1:])]
        return Operands(leaves, tree, at, [value_of(r, leaves[k]) for k in at], [kind_of(leaves[k]) for k in at], counts)

    def objects(self, values: Sequence[Value], rest: Sequence[Any] | None = None) -> list[Any]:
        """The arguments with other floats; `rest`: the leaves that are there for the others, instead of their own."""
        inner = list(self.leaves if rest is None else rest)
        for k, v, kind in zip(self.at, values, self.kinds):
            inner[k] = object_of(v, kind)
        return list(self.tree.unflatten(inner))

    def params(self) -> list[Value]:
        return [Value(v.type, v.hint) for v in self.floats]


def _differentiable(x: Any) -> bool:
    if isinstance(x, Array):
        return is_float(x.type.dtype)
    return isinstance(x, Arr) and is_float(x.name) or isinstance(x, (float, np.floating))


def value_of(r: Reader, x: Any) -> Value:
    """A number or array of the program as a value."""
    return r.value(x) if isinstance(x, Array) else lift(x).value


@dataclass(eq=False)
class Outcome:
    """A traced result: its values, and how they are nested."""

    tree: TreeDef
    kinds: list[Any]
    values: list[Value]

    def rebuilt(self, values: Sequence[Value]) -> Any:
        it = iter(values)
        return self.tree.unflatten([object_of(next(it), k) if isinstance(k, str) else k for k in self.kinds])

    def tangents(self, values: Sequence[Value]) -> Any:
        """The same nesting, float leaves exchanged; zeros (of float64) stand for the others."""
        it, given = iter(self.values), iter(values)
        leaves: list[Any] = []
        for kind in self.kinds:
            if not isinstance(kind, str):
                leaves.append(0.0)
                continue
            v = next(it)
            leaves.append(object_of(next(given) if v.type.differentiable else zeros(Type("f64", v.type.shape)), kind))
        return self.tree.unflatten(leaves)


def traced(r: Reader, x: Any) -> Outcome:
    """What a function returned, as an outcome."""
    return Outcome(*outcome(r, x))


def region(r: Reader, params: Sequence[Value], body: Callable[[], Outcome], what: str) -> tuple[Graph, Outcome]:
    """Run `body` in a region of its own; its graph over `params`, and what it gave."""
    made = run_region(r, body)
    if made.dead:
        raise dead_end(made, what)
    if any(True for _ in made.log.old):
        raise UnsupportedError(f"{what} changes arrays or variables of its caller; return the new values")
    out: Outcome = made.result
    return Graph(tuple(params), tuple(made.nodes), tuple(out.values)), out


def plain(values: Sequence[Value]) -> Outcome:
    """An outcome of values only."""
    return Outcome(TreeDef(tuple, None, (LEAF,) * len(values)), ["array"] * len(values), list(values))


def positional(fun: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Keyword arguments that have a position, in their position: a rule gives one derivative per position."""
    if not kwargs:
        return args, kwargs
    try:
        found = inspect.signature(fun).bind(*args, **kwargs)
    except ValueError:
        return args, kwargs
    return list(found.args), dict(found.kwargs)


def _like(r: Reader, given: Any, v: Value, what: str) -> Value:
    """A derivative that a rule gave, as a value of the type of v; None is zero. Raises IradTypeError if it does not fit."""
    if given is None:
        return zeros(v.type)
    d = value_of(r, given)
    if d.type.shape != v.type.shape:
        raise IradTypeError(f"{what} has shape {d.type.shape} where {v.type.shape} is wanted")
    return cast_to(d, v.type.dtype)


def _leaves(x: Any, count: int, tree: TreeDef, what: str) -> list[Any]:
    """Leaves of a derivative for one argument or result: None for all, or as many as there are floats or leaves."""
    if x is None:
        return [None] * count
    found, got = flatten(x, lambda x: x is None or is_leaf(x) or is_number(x))
    if len(found) not in (count, tree.size):
        raise IradTypeError(f"{what} is nested as {got!r}, it should be as {tree!r}")
    return found


# ---- custom_vjp ---------------------------------------------------------------------------------------------------------------


def apply_custom_vjp(r: Reader, fun: Any, fwd: Any, bwd: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """fun(*args, **kwargs) with fwd(*args, **kwargs) -> (result, residuals) and bwd(residuals, ct) -> cotangents as its rule."""
    ops_ = Operands.of(r, args)
    p, q = ops_.params(), ops_.params()
    f, out = region(r, p, lambda: traced(r, r.call(fun, ops_.objects(p), kwargs)), "a function with a custom derivative")
    forward, pair = region(r, q, lambda: traced(r, _pair(r.call(fwd, ops_.objects(q), kwargs))), "the forward of a custom_vjp")
    result, residuals = _split(pair)
    if result.tree != out.tree or [v.type for v in result.values] != [v.type for v in out.values]:
        raise IradTypeError(
            f"the forward of a custom_vjp must return (result, residuals) with the result of the function: "
            f"{', '.join(str(v.type) for v in out.values)} as {out.tree!r}; "
            f"got {', '.join(str(v.type) for v in result.values)} as {result.tree!r}"
        )
    kept = [Value(v.type, v.hint) for v in residuals.values]
    cts = [Value(v.type, "ct") for v in out.values if v.type.differentiable]

    def body() -> Outcome:
        got = r.call(bwd, [residuals.rebuilt(kept), out.tangents(cts)])
        return plain(_cotangents(r, got, ops_))

    backward, _ = region(r, [*kept, *cts], body, "the backward of a custom_vjp")
    values = emit(ops.custom_vjp, *ops_.floats, regions=[f, forward, backward])
    return out.rebuilt(values)


def _pair(x: Any) -> Any:
    if not isinstance(x, tuple) or len(x) != 2:
        raise IradTypeError("the forward of a custom_vjp must return a tuple (result, residuals)")
    return x


def _split(pair: Outcome) -> tuple[Outcome, Outcome]:
    first, second = pair.tree.children
    n = sum(isinstance(k, str) for k in pair.kinds[: first.size])
    return (Outcome(first, pair.kinds[: first.size], pair.values[:n]), Outcome(second, pair.kinds[first.size :], pair.values[n:]))


def _cotangents(r: Reader, got: Any, given: Operands) -> list[Value]:
    """What a backward returned as one cotangent per float leaf of the arguments."""
    count = len(given.counts)
    got = list(got) if isinstance(got, (tuple, list)) else [got] if count == 1 else got
    if not isinstance(got, list) or len(got) < count:
        raise IradTypeError(
            f"the backward of a custom_vjp must return a tuple with a cotangent (or None) for each of {count} arguments"
        )
    out: list[Value] = []
    values = iter(zip(given.at, given.floats))
    start = 0
    for x, tree, n in zip(got, given.tree.children, given.counts):
        what = f"the cotangent of argument {len(out)}"
        found = _leaves(x, n, tree, what)
        mine = [next(values) for _ in range(n)]
        for j, (k, v) in enumerate(mine):
            out.append(_like(r, found[j] if len(found) == n else found[k - start], v, what))
        start += tree.size
    return out


# ---- custom_jvp ---------------------------------------------------------------------------------------------------------------


def apply_custom_jvp(r: Reader, fun: Any, rule: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """fun(*args, **kwargs) with rule(primals, tangents, **kwargs) -> (result, tangent of the result) as its derivative."""
    ops_ = Operands.of(r, args)
    p, q = ops_.params(), ops_.params()
    dots = [Value(v.type, "d" + v.hint if v.hint else "") for v in ops_.floats]
    f, out = region(r, p, lambda: traced(r, r.call(fun, ops_.objects(p), kwargs)), "a function with a custom derivative")

    def body() -> Outcome:
        got = r.call(rule, [tuple(ops_.objects(q)), tuple(ops_.objects(dots, [0.0] * len(ops_.leaves)))], kwargs)
        if not isinstance(got, tuple) or len(got) != 2:
            raise IradTypeError("the rule of a custom_jvp must return a tuple (result, tangent of the result)")
        result = traced(r, got[0])
        if result.tree != out.tree or [v.type for v in result.values] != [v.type for v in out.values]:
            raise IradTypeError(
                f"the rule of a custom_jvp returns a result of types {', '.join(str(v.type) for v in result.values)}; the function "
                f"returns {', '.join(str(v.type) for v in out.values)}"
            )
        return plain([*result.values, *_result_tangents(r, got[1], out)])

    graph, _ = region(r, [*q, *dots], body, "the rule of a custom_jvp")
    return out.rebuilt(emit(ops.custom_jvp, *ops_.floats, regions=[f, graph]))


def _result_tangents(r: Reader, got: Any, out: Outcome) -> list[Value]:
    floats = [v for v in out.values if v.type.differentiable]
    at = [k for k, v in enumerate(out.values) if v.type.differentiable]
    found = _leaves(got, len(floats), out.tree, "the tangent of the result")
    picked = found if len(found) == len(floats) else [found[k] for k in at]
    return [_like(r, d, v, "the tangent of the result") for d, v in zip(picked, floats)]


# ---- stop_gradient and callbacks ------------------------------------------------------------------------------------------------


def apply_stop_gradient(r: Reader, x: Any) -> Any:
    """x with every float leaf a constant for derivatives; arrays stay the arrays they are."""
    leaves, tree = flatten(x, is_leaf)
    return tree.unflatten([_stopped(r, v) if _differentiable(v) else v for v in leaves])


def _stopped(r: Reader, x: Any) -> Any:
    if isinstance(x, Either):
        return branch(r, x.cond, lambda: _stopped(r, x.left), lambda: _stopped(r, x.right))
    if isinstance(x, Array):
        return x.view(Stopped(), x.type, x.strides)
    return object_of(ops.stop_gradient(value_of(r, x)), kind_of(x))


def apply_callback(
    r: Reader, host: ops.HostFunction, pure: bool, leaves: Sequence[Any], kinds: Sequence[str], tree: TreeDef
) -> Any:
    """A call of Python: the leaves' values are its operands; the result is nested as `tree`, its leaves of `kinds`."""
    op = ops.pure_callback if pure else ops.callback
    out = op(*(value_of(r, x) for x in leaves), name=host.name, types=host.types)
    values = out if isinstance(out, tuple) else (out,)
    return tree.unflatten([object_of(v, k) for v, k in zip(values, kinds)])


def differentiable_callback(r: Reader, call: Callable[..., Any], rule: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of Python with the rule `rule(ct, *args) -> cotangents`, which is read like any other function.

    The operands are the residuals, so the call itself stays where it is and can be differentiated again.
    """
    given = Operands.of(r, args)
    p, kept = given.params(), given.params()
    f, out = region(r, p, lambda: traced(r, call(given.objects(p), kwargs)), "a callback")
    cts = [Value(v.type, "ct") for v in out.values if v.type.differentiable]

    def body() -> Outcome:
        return plain(_cotangents(r, r.call(rule, [out.tangents(cts), *given.objects(kept)], kwargs), given))

    backward, _ = region(r, [*kept, *cts], body, "the rule of a callback")
    forward = Graph(tuple(given.params()), (), ())
    return out.rebuilt(emit(ops.custom_vjp, *given.floats, regions=[f, forward, backward]))
