"""The reference: run a graph with NumPy. Every pass and the native code must agree with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.affine import substitute
from irad.core.ir import Graph, Node, Program, Value
from irad.core.promotion import of_numpy_2
from irad.core.types import Dim, Extent


def interpret(program: Program | Graph, *args: Any) -> list[Any]:
    """Results of the entry graph for NumPy arguments (Python numbers are converted to the parameters' dtypes).

    Raises irad.ops.control.RaisedInGraph where the graph raises. Floating-point warnings are off, as in native code.
    """
    if isinstance(program, Graph):
        program = {program.name or "f": program}
    entry = next(iter(program.values()))
    args = tuple(a if p.type.dtype == "tape" else np.asarray(a, p.type.numpy)[()] for a, p in zip(args, entry.params))
    with of_numpy_2(), np.errstate(all="ignore"):
        return _Frame(program).graph(entry, args, {})


class _Frame:
    def __init__(self, program: Program):
        self.program = program

    def graph(self, graph: Graph, args: Sequence[Any], outer: dict[Value, Any]) -> list[Any]:
        env = {**outer, **dict(zip(graph.params, args))} if outer else dict(zip(graph.params, args))
        for node in graph.nodes:
            env.update(zip(node.outputs, self.node(node, env)))
        return [env[v] for v in graph.results]

    def node(self, node: Node, env: dict[Value, Any]) -> Sequence[Any]:
        ins = [env[v] for v in node.inputs]
        if node.op.name == "call":
            return self.graph(self.program[node.attrs["callee"]], ins, {})
        assert node.op.eval is not None, f"{node.op.name} has no meaning of its own: run the autodiff pass first"
        attrs = {k: _resolve(a, env) for k, a in node.attrs.items()}
        regions = {k: self._region(r, env) for k, r in zip(node.op.regions, node.regions)}
        out = node.op.eval(*ins, **attrs, **regions)
        return out if isinstance(out, tuple) else (out,)

    def _region(self, region: Graph, env: dict[Value, Any]) -> Callable[..., list[Any]]:
        return lambda *xs: self.graph(region, xs, env)


def _resolve(a: Any, env: dict[Value, Any]) -> Any:
    """An attribute with its run-time extents replaced by their values."""
    if isinstance(a, tuple):
        return tuple(_resolve(x, env) for x in a)
    if isinstance(a, Extent):
        return resolve_dim(a, env)
    if hasattr(a, "symbols") and a.symbols:
        return a.with_shape(tuple(resolve_dim(d, env) for d in a.shape))
    return type(a)(a.start, resolve_dim(a.size, env), a.step) if isinstance(getattr(a, "size", None), Extent) else a


def resolve_dim(d: Dim, env: dict[Value, Any]) -> int:
    """The number that an extent stands for."""
    return substitute(d, lambda v: int(env[v]))
