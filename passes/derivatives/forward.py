"""Forward mode from the same rows: each region also computes tangents of what is active, in the same scope.

A tape's tangent is a tape, pushed and popped alongside, so forward over reverse works, and reverse over forward.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irad.core.ir import Builder, Graph, Node, Value, copy, current, types
from irad.ops.control import pop, push, zero
from irad.ops.regions import Loop, entries
from irad.passes.analyses.activity import activity, carries
from irad.passes.derivatives.reverse import Differentiation, no_derivative


class Tangents(dict[Value, Value]):
    """Value -> tangent; absent is a symbolic zero. A region sees its own, then those of its surroundings."""

    def __init__(self, outer: Tangents | None = None, own: Iterable[tuple[Value, Value]] = ()):
        super().__init__(own)
        self.outer = outer

    def get(self, v: Value, default: Value | None = None) -> Value | None:  # type: ignore[override]
        """The tangent of v, `default` if it is zero."""
        scope: Tangents | None = self
        while scope is not None:
            if v in scope:
                return scope[v]
            scope = scope.outer
        return default

    def full(self, v: Value) -> Value:
        """The tangent of v as a value; a tape's is made once, to stay linear."""
        d = self.get(v)
        if d is None:
            d = self[v] = zero(v.type)
        return d


class Forward:
    """Differentiates one graph; it is the `ad` of the rules (see irad.ops.core)."""

    def __init__(self, diff: Differentiation, graph: Graph, wrt: Iterable[Value]):
        self.diff = diff
        self._active = activity(graph, wrt, diff.open_entries)

    def active(self, v: Value) -> bool:
        """Does v carry a derivative?"""
        return v in self._active or v.type.dtype == "tape"

    def live_entries(self, node: Node) -> list[int]:
        """Positions in the record of a push or pop that carry a derivative."""
        return [k for k, e in enumerate(entries(node)) if e in self._active]

    def run(self, graph: Graph, tan: Tangents) -> None:
        """Append the nodes of `graph` and their tangents to the current builder; extends `tan`."""
        b = current()
        for node in graph.nodes:
            b.loc = node.loc
            rule = self.diff.rules.forward.get(node.op.name)
            if rule is not None and any(map(self.active, (*node.inputs, *node.outputs))):
                rule(self, node, tan)
                continue
            b.nodes.append(node)
            if any(self.active(v) for v in node.outputs) and any(tan.get(v) is not None for v in node.inputs):
                if node.op.jvp is None:
                    raise no_derivative(node)
                before = len(b.nodes)
                ds = node.op.jvp(self, node, tan)
                self.diff.emitted(b.nodes[before:])
                tan.update((v, d) for v, d in zip(node.outputs, ds) if d is not None)

    def region(self, graph: Graph, params: Sequence[Value], results: Sequence[int], outer: Tangents | None) -> Graph:
        """graph(params, tangents of `params`) -> (its results, the tangents of those at positions `results`)."""
        ds = new_tangents(params)
        with Builder(deriv=True) as b:
            tan = Tangents(outer, zip(params, ds))
            self.run(graph, tan)
            out = [tan.full(graph.results[k]) for k in results]
        return Graph((*graph.params, *ds), tuple(b.nodes), (*graph.results, *out))

    def function(self, name: str) -> str:
        """The tangent of @name: (x..., dx...) -> (y..., dy...), for all parameters and results that carry."""
        if name not in self.diff.pairs:
            self.diff.pairs[name] = new = self.diff.fresh(f"{name}.jvp")
            f = self.diff.made[new] = copy(self.diff.program[name], {})  # the name is taken
            params = [v for v in f.params if carries(v)]
            ad = Forward(self.diff, f, [v for v in params if v.type.differentiable])
            self.diff.made[new] = ad.region(f, params, [k for k, v in enumerate(f.results) if carries(v)], None)
        return self.diff.pairs[name]


def new_tangents(values: Sequence[Value]) -> list[Value]:
    """New values for tangents of these."""
    return [Value(v.type, "d" + v.hint if v.hint else "") for v in values]


def _finish(node: Node, tan: Tangents, ins: Sequence[Value], outs: Sequence[Value], regions: Sequence[Graph]) -> None:
    """Append the control op with tangents of `outs` as further results."""
    ds = new_tangents(outs)
    current().nodes.append(node.replace(inputs=ins, outputs=(*node.outputs, *ds), regions=regions))
    tan.update(zip(outs, ds))


def branches(ad: Forward, node: Node, tan: Tangents) -> None:
    ks = [k for k, v in enumerate(node.outputs) if ad.active(v)]
    regions = [ad.region(r, [], ks, tan) for r in node.regions]
    _finish(node, tan, node.inputs, [node.outputs[k] for k in ks], regions)


def loops(ad: Forward, node: Node, tan: Tangents) -> None:
    loop = Loop(node)
    ks = [k for k, p in enumerate(loop.carries) if ad.active(p)]
    ins = [*node.inputs, *(tan.full(loop.inits[k]) for k in ks)]
    body = ad.region(loop.body, [loop.carries[k] for k in ks], ks, tan)
    conds = [c.replace(params=(*c.params, *(Value(c.params[k].type) for k in ks))) for c in loop.conds]
    _finish(node, tan, ins, [loop.outs[k] for k in ks], [*conds, body])


def called(ad: Forward, node: Node, tan: Tangents) -> None:
    outs = [v for v in node.outputs if carries(v)]
    ins = (*node.inputs, *(tan.full(v) for v in node.inputs if carries(v)))
    attrs = {"callee": ad.function(node.attrs["callee"]), "types": (*node.attrs["types"], *types(outs))}
    _finish(node.replace(attrs=attrs), tan, ins, outs, ())


def pushed(ad: Forward, node: Node, tan: Tangents) -> None:
    live = ad.live_entries(node)
    t = tan.full(node.inputs[0])
    if live:
        t = push(t, *(tan.full(node.inputs[1 + k]) for k in live), site=ad.diff.adjoint_site(node.attrs["site"]))
    current().nodes.append(node)
    tan[node.outputs[0]] = t


def popped(ad: Forward, node: Node, tan: Tangents) -> None:
    live = ad.live_entries(node)
    t = tan.full(node.inputs[0])
    current().nodes.append(node)
    if live:
        outs = [node.outputs[1 + k] for k in live]
        t, *ds = pop(t, site=ad.diff.adjoint_site(node.attrs["site"]), types=types(outs))
        tan.update(zip(outs, ds))
    tan[node.outputs[0]] = t


def linearized(diff: Differentiation, graph: Graph, wrt: Sequence[Value], tangents: Sequence[Value]) -> list[Value]:
    """Append the nodes of `graph` and of its tangent to the current builder; tangents of its float results.

    `tangents`: those of the values `wrt`, one each.
    """
    ad = Forward(diff, graph, wrt)
    with Builder(deriv=True) as b:
        tan = Tangents(None, zip(wrt, tangents))
        ad.run(graph, tan)
        out = [tan.full(v) for v in graph.results if v.type.differentiable]
    current().nodes += b.nodes
    return out
