"""Expand the transform ops `vjp`, `jvp`, `jacobian` and `vmap`, innermost first, wherever they stand.

What the region of a transform captures is constant for this transform, and may be active for one further out: after
the inner transform is expanded, its joint graph is ordinary nodes in the surrounding scope.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from irad.core.ir import Builder, Graph, Node, Program, Value, callees, copy, current, inline, retyped, retyped_node, walk
from irad.core.notes import Notes
from irad.core.once import COMPILER
from irad.errors import UnsupportedError
from irad.ops.constant import const
from irad.passes.clean.strong_zeros import weaken
from irad.passes.derivatives.checkpointing import NOTHING_ASKED, Asked
from irad.passes.derivatives.forward import linearized
from irad.passes.derivatives.reverse import Differentiation, float_cotangents, free_sites, joint
from irad.passes.derivatives.rules import RULES
from irad.passes.derivatives.spectral_tables import completed
from irad.passes.derivatives.wholes import wholes

if TYPE_CHECKING:
    from irad.passes.derivatives.jacobian import Block

TRANSFORMS = ("vjp", "jvp", "vmap", "jacobian")


def expand(program: Program, budget: int | None = None, notes: Notes | None = None) -> Program:
    """The program without transform ops; the same graphs where there were none.

    `budget`: bytes that the tape of a loop may take. `notes`: where checkpoints are written down.
    Raises UnsupportedError for a function that differentiates itself (derivatives of every order would be needed).
    """
    if not any(map(_has_transform, program.values())):
        return program
    program = wholes(program)
    pass_ = _Expand(program, Asked(budget, notes))
    for name in program:
        pass_.function(name)
    return {**{name: pass_.done[name] for name in program}, **pass_.done}


def expand_sparse(program: Program, known: Mapping[Value, Any]) -> tuple[Program, list[Block]]:
    """As `expand`, for a program whose entry is one Jacobian: its results become the entries of the blocks.

    `known`: numbers of parameters that the pattern may depend on. Raises UnsupportedError if there is no such pattern.
    """
    program = wholes(program)
    pass_ = _Expand(program)
    pass_.constants.update(known)
    name, entry = next(iter(program.items()))
    for other in list(program)[1:]:
        pass_.function(other)
    pass_.sparse = next(n for n in entry.nodes if n.op.name == "jacobian")
    expanded_entry = Graph(entry.params, *pass_.parts(entry, {}), entry.name)
    return {name: expanded_entry, **pass_.done}, pass_.blocks


def _has_transform(graph: Graph) -> bool:
    return any(n.op.name in TRANSFORMS for n in walk(graph))


class _Expand:
    def __init__(self, program: Program, asked: Asked = NOTHING_ASKED):
        self.program, self.asked, self.sites = program, asked, free_sites(program)
        self.done: Program = {}
        self.open: list[str] = []
        self.inside = 0  # transforms around where we are
        self.constants: dict[Value, Any] = {}
        self.sparse: Node | None = None  # the Jacobian whose entries are wanted
        self.blocks: list[Block] = []
        self.nonzero: set[Value] = set()  # constants without a zero: what `grad` seeds with

    def function(self, name: str) -> None:
        """Expand @name, after the functions that its transforms differentiate."""
        if name in self.done:
            return
        g = self.program[name]
        if not _has_transform(g):
            self.done[name] = g
            return
        if name in self.open:
            raise UnsupportedError(
                f"@{name} differentiates itself: that needs derivatives of every order; pass the order down instead"
            )
        self.open.append(name)
        with self.within(name != next(iter(self.program))):  # a transform may call it
            self.done[name] = self.graph(g, {})
        self.open.pop()

    def needs(self, region: Graph) -> None:
        """Expand all that the region of a transform calls."""
        todo, seen = list(callees(region)), set()
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                self.function(name)
                todo += callees(self.done[name])

    def graph(self, graph: Graph, env: dict[Value, Value]) -> Graph:
        graph = retyped(graph, env)
        nodes, results = self.parts(graph, env)
        return graph.replace(nodes=nodes, results=results)

    def parts(self, graph: Graph, env: dict[Value, Value]) -> tuple[tuple[Node, ...], tuple[Value, ...]]:
        """Nodes and results of the graph without transforms."""
        nodes: list[Node] = []
        for n in graph.nodes:
            if n.op.name in TRANSFORMS:
                with self.within(n.op.name != "vmap"):
                    region = self.graph(n.regions[0], env)
                with Builder(n.loc) as b:
                    env.update(zip(n.outputs, self.transform(n, [env.get(v, v) for v in n.inputs], region)))
                nodes += b.nodes
            else:
                nodes.append(self.node(n, env))
                if n.op is const:
                    self.constant(n)
        return tuple(nodes), tuple(env.get(v, v) for v in graph.results)

    @contextmanager
    def within(self, transform: bool) -> Iterator[None]:
        self.inside += transform
        yield
        self.inside -= transform

    def constant(self, n: Node) -> None:
        if np.all(n.attrs["value"]):
            self.nonzero.add(n.out)
        if n.out.type.static and const.eval is not None:
            self.constants[n.out] = const.eval(**n.attrs)

    def node(self, n: Node, env: dict[Value, Value]) -> Node:
        """The node with its regions expanded and its operands renamed; the very node if nothing changes."""
        regions = tuple(self.graph(r, env) for r in n.regions)
        return retyped_node(n, env).replace(inputs=[env.get(v, v) for v in n.inputs], regions=regions)

    def transform(self, n: Node, inputs: list[Value], region: Graph) -> list[Value]:
        """Emit the derivative (or the batched body) of a transform's region, in the current builder."""
        self.needs(region)
        if n.op.name == "vmap":
            return self.batched(n, inputs, region)
        if n.op.name == "jacobian":
            return self.jacobian(n, inputs, region)
        count = len(region.params)
        f = copy(completed(region), {})
        wrt = [f.params[k] for k in n.attrs["wrt"]]
        body = Graph((), f.nodes, f.results)
        diff = Differentiation({**self.program, **self.done}, RULES, self.asked, self.sites, last=not self.inside)
        with Builder() as b:
            seeds = inputs[count:]
            if n.op.name == "vjp":
                d = joint(diff, f, wrt, float_cotangents(f.results, seeds))
            else:
                d = linearized(diff, body, wrt, seeds)
        graph = Graph(f.params, tuple(b.nodes), (*f.results, *d))
        made = weaken({"": graph, **diff.program, **diff.made}, [v for v in seeds if v not in self.nonzero], diff.products)
        graph = made.pop("")
        self.done.update((name, made[name]) for name in diff.made)
        return list(inline(graph, *inputs[:count]))

    def batched(self, n: Node, inputs: list[Value], region: Graph) -> list[Value]:
        """Emit the body of a `vmap`, batched, in the current builder."""
        with COMPILER:
            from irad.passes.batching import control  # noqa: F401  (registers the rules of control ops)
            from irad.passes.batching.vmap import BatchedFunctions, batch  # few programs need it
        functions = BatchedFunctions({**self.program, **self.done})
        out = batch(functions, copy(region, {}), n.attrs["batched"], n.attrs["size"], inputs)
        self.done.update(functions.made)
        return out

    def jacobian(self, n: Node, inputs: list[Value], region: Graph) -> list[Value]:
        """Emit a Jacobian as the transforms that it is made of, expanded, in the current builder."""
        with COMPILER:
            from irad.passes.derivatives.jacobian import expanded, expanded_sparse  # few programs need it
        f = copy(region, {})
        program, known = {**self.program, **self.done}, self.constants
        if n is self.sparse:
            made, self.blocks = expanded_sparse(n, inputs, f, program, known)
        else:
            made = expanded(n, inputs, f, program, known)
        g = self.graph(made, {})
        current().nodes += g.nodes
        return list(g.results)
