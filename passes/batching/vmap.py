"""Expansion of `vmap`: a region that is run once, on values that have the batch as their first axis.

Only what differs between elements gets the axis (irad.passes.batching.flow). Control flow that does not differ stays as it
is. Where it does: both branches of an `if` run and each element selects; a loop runs until the last element is done, and
those that are done keep their values. `mask` says which elements are active; checks and positions obey it. What would
not be safe to run with no active element (loops, calls, checks) stands behind `if any(mask)`.

A tape is shared by the batch. The backward of a ragged loop meets its trips from the last to the first, so there the
elements with fewer trips start late instead of ending early (and branches run in the opposite order): `turned` loops and
branches are those that pop what was pushed by one that is not turned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from irad.core.ir import Graph, Node, Program, Value, build, callees, copy, current, reachable, walk
from irad.core.types import TAPE, Dim, Type
from irad.errors import UnsupportedError
from irad.ops.array import broadcast, zeros
from irad.ops.elementwise import select
from irad.ops.regions import entries
from irad.passes.batching.flow import Batched, batched_values
from irad.passes.batching.rules import RULES, each_element, elementwise, widen

Control = Callable[["Batching", Node], None]
CONTROL: dict[str, Control] = {}  # filled by irad.passes.batching.control


class BatchedFunctions:
    """Batched versions of called functions, shared by one expansion. All their parameters are batched."""

    def __init__(self, program: Mapping[str, Graph]):
        self.program = program
        self.made: Program = {}
        self.names: dict[tuple[str, Dim], str] = {}
        self.orientation: dict[int, tuple[bool, ...]] = {}  # tape site -> `turned` of the control ops where it is pushed

    def batched(self, name: str, size: Dim) -> str:
        """The batched version of @name: it takes the mask of active elements first."""
        key = (name, size)
        if key not in self.names:
            self.names[key] = new = self._fresh(f"{name}.vmap")
            f = copy(self.program[name], {})
            if any(v.type.symbols for v in (*f.params, *f.results)) or not isinstance(size, int):
                raise UnsupportedError(f"vmap of the recursive function @{name} with extents known at run time only")
            self.made[new] = Graph((), (), (), new)  # the name is taken
            b = Batching(self, f, [*f.params, *_entries(f)], size)
            self.made[new] = b.function(f, new)
        return self.names[key]

    def _fresh(self, name: str) -> str:
        k, new = 1, name
        while new in self.program or new in self.made:
            k, new = k + 1, f"{name}{k}"
        return new


def batch(functions: BatchedFunctions, f: Graph, batched: Sequence[bool], size: Dim, args: Sequence[Value]) -> list[Value]:
    """Append the batched body of `f`, a graph of its own values, to the current builder; its results, all batched."""
    b = Batching(functions, f, [p for p, yes in zip(f.params, batched) if yes], size)
    b.env.update(zip(f.params, args))
    return b.all_of(f)


class Batching:
    """Rewrites one graph; it is the `b` of the rules (see irad.passes.batching.rules)."""

    def __init__(self, functions: BatchedFunctions, graph: Graph, start: Sequence[Any], size: Dim):
        self.functions, self.size = functions, size
        self.found: Batched = batched_values(graph, [*start, *_entries_of_calls(functions.program, graph)])
        self.env: dict[Value, Value] = {}
        self.mask: Value | None = None
        self.turned: list[bool] = []  # of the control ops around

    # ---- values ----

    def is_batched(self, v: Value) -> bool:
        """Does v have the batch axis?"""
        return v in self.found and v.type != TAPE

    def get(self, v: Value) -> Value:
        """The value as it is now."""
        return self.env.get(v, v)

    def full(self, v: Value) -> Value:
        """The value with the batch axis; a tape is shared."""
        return self.get(v) if v.type == TAPE or v in self.found else widen(self.get(v), self.size)

    def like(self, values: Sequence[Value], places: Sequence[Value]) -> list[Value]:
        """The values as they are now, with the batch axis where the value that they become has it."""
        return [self.full(v) if self.is_batched(p) else self.get(v) for v, p in zip(values, places)]

    def position(self, v: Value) -> Value:
        """Positions to index with: 0 for elements that are not active."""
        x = self.get(v)
        if self.mask is None or not self.is_batched(v):
            return x
        return select(self._spread(self.mask, x.type), x, zeros(x.type))

    def _spread(self, mask: Value, t: Type) -> Value:
        return mask if t.rank == 1 else broadcast(mask, shape=t.shape, dims=(0,))

    def choose(self, mask: Value, x: Value, y: Value) -> Value:
        """x for the elements of the mask, else y."""
        return x if x is y else select(self._spread(mask, x.type), x, y)

    @contextmanager
    def masked(self, mask: Value) -> Iterator[Value]:
        """Only elements of `mask` that are active already are; gives the mask of both."""
        outer = self.mask
        self.mask = mask if outer is None else outer & mask
        try:
            yield self.mask
        finally:
            self.mask = outer

    # ---- nodes ----

    def function(self, f: Graph, name: str) -> Graph:
        """The batched version of a called function."""
        mask = Value(Type("bool", (self.size,)), "active")
        params = list(map(self.fresh, f.params))
        self.env.update(zip(f.params, params))
        self.mask = mask
        return build([mask, *params], lambda *_: self.all_of(f), name)

    def fresh(self, v: Value) -> Value:
        """A new value with the batch axis for one that has got it, else the value itself."""
        return Value(v.type.with_shape((self.size, *v.type.shape)), v.hint) if self.is_batched(v) else v

    def run(self, graph: Graph) -> None:
        """Append the batched nodes of a graph to the current builder."""
        for n in graph.nodes:
            self.node(n)

    def all_of(self, graph: Graph) -> list[Value]:
        """Append the batched nodes of a graph to the current builder; its results, all batched."""
        self.run(graph)
        return list(map(self.full, graph.results))

    def node(self, n: Node) -> None:
        b = current()
        b.loc, b.deriv = n.loc, n.deriv
        rule = CONTROL.get(n.op.name)
        if rule is not None:
            return rule(self, n)
        if not any(map(self.is_batched, n.inputs)):
            self.keep(n)
            return
        for v in n.outputs:
            if any(s in self.found for s in v.type.symbols):
                raise UnsupportedError(
                    "vmap: the length of this array differs between the elements of the batch; keep it whole and mask (np.where)",
                    n.loc,
                )
        general = elementwise if n.op.elementwise or n.op.stacks else each_element
        self.env.update(zip(n.outputs, RULES.get(n.op.name, general)(self, n)))

    def keep(self, n: Node) -> None:
        """A node that does not differ; its operands may have new names (tapes)."""
        if any(v in self.env for v in n.inputs):
            n = n.replace(inputs=tuple(map(self.get, n.inputs)))
        current().nodes.append(n)

    # ---- regions ----

    def region(self, body: Callable[[], Sequence[Value]], params: Sequence[Value] = ()) -> Graph:
        """A region whose nodes and results are made by `body`."""
        return build(params, lambda *_: body())

    def turn(self, n: Node) -> bool:
        """Does this control op undo one that was not turned?"""
        depth = len(self.turned)
        for m in walk(Graph((), (n,), ())):
            if m.op.name == "pop" and len(was := self.functions.orientation.get(m.attrs["site"], ())) > depth:
                return not was[depth]
        return False

    @contextmanager
    def inside(self, n: Node) -> Iterator[bool]:
        """While the regions of a control op are batched; gives whether the op is turned."""
        turned = self.turn(n)
        self.turned.append(turned)
        try:
            yield turned
        finally:
            self.turned.pop()


def _entries(graph: Graph) -> list[tuple[int, int]]:
    """All entries of the tape records that a graph pushes or pops."""
    return [e for n in walk(graph) if "site" in n.attrs for e in entries(n)]


def _entries_of_calls(program: Mapping[str, Graph], graph: Graph) -> list[tuple[int, int]]:
    """Tape entries of the functions that are called, directly or not: their batched versions differ in everything."""
    return [e for name in reachable(program, callees(graph)) for e in _entries(program[name])]
