"""`vjp` outside of compiled code: a native forward that keeps what the backward needs, and a pullback that Python calls.

The joint graph of the function and its derivative is optimised as one and then cut in two (irad.passes.split). The pullback
owns copies of the arguments and results that it reads, and the memory of tapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.errors import IradTypeError, ShapeError
from irad.frontend.trace import Spec, Traced, trace
from irad.ir import Graph
from irad.ops.control import RaisedInGraph
from irad.passes.manager import run
from irad.passes.split import split
from irad.pipeline import DIFFERENTIATE, FINISH, native
from irad.runtime import Conditions, Leaves, finish, user_exception
from irad.tree import flatten
from irad.types import Type, is_float

Joint = Callable[[Any], Callable[[Any, Any], Any]]  # fn -> (primals, cotangent) -> (result, cotangents of the primals)


def make_vjp(joint: Joint) -> Callable[..., VjpSpecialisation]:
    """How a vjp of a function is compiled, given how its joint function is written."""

    def make(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> VjpSpecialisation:
        plain = trace(fn, args, kwargs)
        specs = [Spec(_cotangent_type(plain, k)) for k in range(len(plain.results))]
        traced = trace(joint(fn), (args, plain.out_tree.unflatten(specs)))
        return VjpSpecialisation(joint, traced, specs)

    return make


def _cotangent_type(t: Traced, k: int) -> Type:
    """The type of a cotangent of result leaf k."""
    r = t.results[k]
    if r.kind == "static":
        return Type("f64", np.shape(r.value))
    if r.same_as is not None:
        kind, at = r.same_as
        found = t.in_leaves[at].type if kind == "arg" else t.captures[at].type
    else:
        assert r.index is not None
        found = t.graph.results[r.index].type
    return found if is_float(found.dtype) else found.with_dtype("f64")


class VjpSpecialisation:
    """Forward and backward native code for one structure and types of the primals."""

    def __init__(self, joint: Joint, traced: Traced, specs: Sequence[Spec]):
        self.joint, self.traced, self.specs = joint, traced, specs
        primals = len(traced.in_leaves) - len(specs)
        program = run(traced.program, DIFFERENTIATE)
        entry = next(iter(program.values()))
        late = [info.param for info in traced.in_leaves[primals:]]
        own = [p for k, p in enumerate(entry.params) if k not in late]
        cts = [entry.params[k] for k in late if k is not None]
        out_leaves = traced.out_tree.children[0].size
        self.out, self.grads = traced.results[:out_leaves], traced.results[out_leaves:]
        self.own_results = sum(r.index is not None for r in self.out)
        name = next(iter(program))
        halves = split({**program, name: Graph((*own, *cts), entry.nodes, entry.results, name)}, len(own), self.own_results)
        self.residuals = halves.residuals
        self.forward, self.backward = (native(run(p, FINISH)) for p in (halves.forward, halves.backward))
        self.conditions = Conditions(traced, [v.type for v in own], primals)

    def holds(self, fn: Any, leaves: Leaves, rest: Sequence[Any]) -> bool:
        """Do a call's static values, aliases and captured state fit?"""
        return self.conditions.holds(self.joint(fn), leaves, rest)

    def __call__(self, fn: Any, leaves: Leaves, rest: Sequence[Any]) -> tuple[Any, Pullback]:
        """Run the forward: the result and its pullback."""
        args = self.conditions.arguments(self.joint(fn), leaves, rest)
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
        out_tree, grad_tree = self.traced.out_tree.children
        return out_tree.unflatten(out), Pullback(self, kept, out_tree, grad_tree)

    def _leaf(self, r: Any, values: Sequence[Any], leaves: Leaves, shift: int = 0) -> Any:
        if r.kind == "static":
            return r.value
        if r.same_as is not None:
            return leaves[r.same_as[1]]
        return finish(r.kind, values[r.index - shift])


class Pullback:
    """Cotangent of the result -> tuple of cotangents of the primals. May be called any number of times."""

    def __init__(self, made: VjpSpecialisation, kept: list[Any], out_tree: Any, grad_tree: Any):
        self._made, self._kept, self._out_tree, self._grad_tree = made, kept, out_tree, grad_tree

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        """`cotangent` has the structure and shapes of the result.

        Raises IradTypeError or ShapeError if it has not.
        """
        found, tree = flatten(cotangent)
        specs = self._made.specs
        if len(found) != len(specs):
            raise IradTypeError(
                f"the cotangent has {len(found)} leaves, the result has {len(specs)}: {tree!r} for {self._out_tree!r}"
            )
        cts = []
        for x, s in zip(found, specs):
            if np.shape(x) != s.type.shape:
                raise ShapeError(f"a cotangent of shape {np.shape(x)} for a result of shape {s.type.shape}")
            cts.append(np.ascontiguousarray(x, s.type.numpy).reshape(s.type.shape))
        infos = self._made.traced.in_leaves[len(self._made.traced.in_leaves) - len(specs) :]
        try:
            values = self._made.backward.run([*self._kept, *(ct for ct, info in zip(cts, infos) if info.param is not None)])
        except RaisedInGraph as e:
            raise user_exception(e, self._made.traced.exceptions) from None
        grads = [self._made._leaf(r, values, found, self._made.own_results) for r in self._made.grads]
        return self._grad_tree.unflatten(grads)
