"""`vjp` outside of compiled code: a native forward that keeps what the backward needs, and a pullback that Python calls.

The joint graph of the function and its derivative is optimised as one and then cut in two (irad.passes.derivatives.split). The pullback
owns copies of the arguments and results that it reads, and the memory of tapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.call.compiled import Job, native_of
from irad.call.conditions import Conditions, Leaves
from irad.call.fastcall_vjp import write_backward, write_forward
from irad.call.specialisation import finish, outgrown, user_exception
from irad.codegen.call import machine as entry
from irad.codegen.call.native import NativeCode
from irad.core.ir import Graph, types
from irad.core.lazy_dataclass import replace
from irad.core.once import import_later
from irad.core.tree import TreeDef, flatten, leaves_like
from irad.core.types import Type
from irad.errors import IradTypeError, ShapeError, UnsupportedError
from irad.frontend.reading.returned import Perhaps
from irad.frontend.trace import trace
from irad.frontend.transforms.transform import OUTSIDE
from irad.frontend.values.traced import Spec, Traced
from irad.ops.control import RaisedInGraph
from irad.options import DEFAULT, Options, static_leaves
from irad.passes.derivatives.split import split
from irad.passes.manager import run
from irad.pipeline import DIFFERENTIATE, FINISH

Joint = Callable[[Any], Callable[[Any, Any], Any]]  # fn -> (primals, cotangent) -> (result, cotangents of the primals)


def make_vjp(joint: Joint, has_aux: bool = False) -> Callable[..., VjpSpecialisation]:
    """How a vjp of a function is compiled, given how its joint function is written.

    With `has_aux` the function returns (value, aux), of which only the value has a cotangent, and so does what is joint.
    """

    def make(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options = DEFAULT) -> VjpSpecialisation:
        static = static_leaves(fn, options, args, kwargs)
        plain = trace(fn, args, kwargs, static=static, rows=False)
        value = plain.out_tree
        if has_aux:
            if value.cls is not tuple or len(value.children) != 2:
                raise IradTypeError("with has_aux=True the function must return (value, aux)")
            value = value.children[0]
        surely_there(plain.out_tree)
        specs = [Spec(cotangent_type(plain, k)) for k in range(value.size)]
        traced = trace(joint(fn), (args, value.unflatten(specs)), static=static)
        return VjpSpecialisation(joint, traced, specs, options)

    return make


def surely_there(tree: TreeDef) -> None:
    """Raises UnsupportedError for a result, or a part of one, that may be None, or an array or a number."""
    if tree.cls is Perhaps and tree.children[2].size:
        words = (
            "what the differentiated function returns is an array on some paths and a number on the others; make it one of them"
        )
        raise UnsupportedError(words)
    if tree.cls is Perhaps:
        words = "what the differentiated function returns may be None, which has no cotangent; "
        raise UnsupportedError(words + "return a number that means none, or a bool beside it")
    for child in tree.children:
        surely_there(child)


def cotangent_type(t: Traced, k: int) -> Type:
    """The type of a cotangent of result leaf k."""
    r = t.results[k]
    if r.kind == "static":
        return Type("f64", np.shape(r.value))
    found = t.type_of(r)
    return found if found.differentiable else found.with_dtype("f64")


class VjpSpecialisation:
    """Forward and backward native code for one structure and types of the primals."""

    given = "the cotangent"  # what a derivative is called with

    def __init__(self, joint: Joint, traced: Traced, specs: Sequence[Spec], options: Options = DEFAULT):
        if not traced.out_tree.children:  # it always raises
            traced = replace(traced, out_tree=flatten((None, None))[1])
        self.joint, self.traced, self.specs = joint, traced, specs
        primals = len(traced.in_leaves) - len(specs)
        passes = lambda program, names: run(program, names, None, options.fastmath, budget=options.memory_budget)
        program = passes(traced.program, DIFFERENTIATE)
        graph = next(iter(program.values()))
        late = [info.param for info in traced.in_leaves[primals:]]
        own = [p for k, p in enumerate(graph.params) if k not in late]
        cts = [graph.params[k] for k in late if k is not None]
        out_leaves = traced.out_tree.children[0].size
        self.out, self.grads = traced.results[:out_leaves], traced.results[out_leaves:]
        self.own_results = sum(r.index is not None for r in self.out)
        name = next(iter(program))
        halves = split({**program, name: Graph((*own, *cts), graph.nodes, graph.results, name)}, len(own), self.own_results)
        self.residuals = halves.residuals
        params = [v.type for k, v in enumerate(traced.graph.params) if k not in late]
        outputs = types(traced.graph.results)
        kept = types(next(iter(halves.forward.values())).results)[self.own_results :]
        taken = types(next(iter(halves.backward.values())).params)
        given = (params, (*outputs[: self.own_results], *kept))
        self.forward = native_of(Job(halves.forward, given, options, steps=FINISH))
        self.backward = native_of(Job(halves.backward, (taken, outputs[self.own_results :]), options, steps=FINISH))
        self.conditions = Conditions(traced, params, primals)
        self.programs: dict[tuple[type, ...], entry.Program | None] = {}  # of pullbacks, by what they keep and take
        self.cell: list[Any] = [entry.table(self.pull, ())]

    def holds(self, fn: Any, leaves: Leaves, rest: Sequence[Any]) -> bool:
        """Do a call's static values, aliases and captured state fit?"""
        return self.conditions.holds(self.joint(fn), leaves, rest)

    def direct(self, fn: Any) -> entry.Program | None:
        """How calls run without Python code; None if they cannot."""
        residuals = self.residuals
        if outgrown(self.forward):
            return None
        return write_forward(
            self.traced,
            self.conditions,
            self.forward,
            self.joint(fn),
            self.raise_in(self.forward),
            self.out,
            residuals,
            self.pullback,
        )

    def pullback(self, kept: Sequence[Any]) -> Pullback:
        """The pullback for what a forward has kept."""
        return Pullback(self, list(kept))

    def raise_in(self, code: NativeCode) -> Callable[[int, int], None]:
        """What raises when half of the native code gives a status."""

        def fail(status: int, argv: int) -> None:
            try:
                code.fail(status, entry.arguments(argv, code)[-1])
            except RaisedInGraph as e:
                raise user_exception(e, self.traced.exceptions) from None

        return fail

    def __call__(self, fn: Any, leaves: Leaves, rest: Sequence[Any], given: Any = ((), {})) -> tuple[Any, Pullback]:
        """Run the forward: the result and its pullback."""
        joint = self.joint(fn)
        if self.traced.once or self.traced.apart:
            import_later("irad.call.aliasing").refuse(self.traced, joint, leaves, rest, ((given[0], None), {}))
        args = self.conditions.arguments(joint, leaves, rest)
        try:
            values = self.forward.run(args)
        except RaisedInGraph as e:
            raise user_exception(e, self.traced.exceptions) from None
        kept = []
        for r in self.residuals:
            if r.source == "value":
                kept.append(values[self.own_results + r.index])
            else:
                kept.append(np.array((args if r.source == "argument" else values)[r.index]))
        out = [self._leaf(r, values, leaves) for r in self.out]
        return self.traced.out_tree.children[0].unflatten(out), self.pullback(kept)

    def prefer(self, kept: Sequence[Any], cotangents: Sequence[Any]) -> None:
        """Let later calls of pullbacks with cotangents like these run without Python code, where that can be."""
        kinds = tuple(type(x) for x in (*kept, *cotangents))
        if not entry.available() or kinds in self.programs:
            return
        fail, shift = self.raise_in(self.backward), self.own_results
        self.programs[kinds] = write_backward(self.traced, self.backward, fail, kept, cotangents, self.grads, shift)
        found = [p for p in reversed(self.programs.values()) if p is not None]
        self.cell[0] = entry.table(self.pull, found)

    def pull(self, kept: Sequence[Any], cotangent: Any, /) -> tuple[Any, ...]:
        """Run the backward."""
        grad_tree = self.traced.out_tree.children[1]
        found = leaves_like(self.traced.in_tree.children[0].children[1], cotangent, self.given)
        cts = []
        for x, s in zip(found, self.specs):
            if np.shape(x) != s.type.shape:
                raise ShapeError(f"a cotangent of shape {np.shape(x)} for a result of shape {s.type.shape}")
            cts.append(np.ascontiguousarray(x, s.type.numpy).reshape(s.type.dims))
        infos = self.traced.in_leaves[len(self.traced.in_leaves) - len(self.specs) :]
        self.prefer(kept, found)
        own = [np.asarray(x) if isinstance(x, np.generic) else x for x in kept]
        try:
            values = self.backward.run([*own, *(ct for ct, info in zip(cts, infos) if info.param is not None)])
        except RaisedInGraph as e:
            raise user_exception(e, self.traced.exceptions) from None
        return grad_tree.unflatten([self._leaf(r, values, found, self.own_results) for r in self.grads])

    def _leaf(self, r: Any, values: Sequence[Any], leaves: Leaves, shift: int = 0) -> Any:
        if r.kind == "static":
            return r.value
        return leaves[r.same_as[1]] if r.same_as is not None else finish(r.kind, values[r.index - shift])


class Pullback:
    """Cotangent of the result -> tuple of cotangents of the primals. May be called any number of times."""

    __slots__ = ("_made", "_kept")
    what = "a pullback", "the function, and call irad.vjp there"

    def __init__(self, made: VjpSpecialisation, kept: list[Any]):
        self._made, self._kept = made, kept

    def __reduce__(self) -> Any:
        raise TypeError("{} cannot be pickled: it holds memory of this process; pickle {}".format(*self.what))

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        """`cotangent` has the structure and shapes of the result.

        Raises IradTypeError or ShapeError if it has not.
        """
        if entry.available():
            result: tuple[Any, ...] = entry.invoke()(self._made.cell, self._kept, cotangent)
            return result
        return self._made.pull(self._kept, cotangent)


OUTSIDE[Pullback.__call__] = "this pullback was made outside; call it there, or irad.vjp inside"
