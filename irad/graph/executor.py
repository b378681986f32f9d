"""Running the graphs of irad.graph: the nodes that are asked for become irad programs, compiled for what is fed.

A *step* is one native program and the ops that run in Python after it. Most graphs are one step. An op of the user's whose
`compute` irad cannot compile ends a step for what depends on it: its inputs come out of the program, `compute` runs in
Python, and another step goes on from there. What such a step is compiled for is known when its inputs are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from irad.call.conditions import Conditions
from irad.call.specialisation import user_exception
from irad.codegen.call.native import NativeCode
from irad.core.ir import Builder, Graph, Program, Value, inline
from irad.core.lazy_dataclass import dataclass
from irad.core.types import type_of
from irad.errors import IradError, IradTypeError, UnsupportedError
from irad.frontend.trace import trace
from irad.frontend.values.arr import Arr, is_weak, lift
from irad.frontend.values.guards import Capture
from irad.frontend.values.kept import renumbered
from irad.frontend.values.traced import Spec, Traced
from irad.ops.control import RaisedInGraph
from irad.pipeline import native, optimise

if TYPE_CHECKING:
    from irad.graph.nodes import Node

VERSIONS = 64  # compiled steps an executor keeps; the oldest goes first


def ancestors(nodes: Sequence[Node]) -> list[Node]:
    """The nodes that these depend on, and these, inputs before what reads them."""
    done: dict[Node, None] = {}
    stack = [(n, False) for n in reversed(nodes)]
    while stack:
        node, ready = stack.pop()
        if node in done:
            continue
        if ready:
            done[node] = None
        else:
            stack.append((node, True))
            stack += [(x, False) for x in reversed(node.inputs)]
    return list(done)


class Executor:
    """Computes nodes. `steps` holds what was compiled so far: see `Step`.

    >>> x, w = irad.graph.Variable("x"), irad.graph.Variable("w")
    >>> irad.graph.Executor([x * w, x + w]).run({x: np.array([1.0, 2.0]), w: 3})
    [array([3., 6.]), array([4., 5.])]
    """

    def __init__(self, eval_node_list: Sequence[Node]):
        self.nodes = list(eval_node_list)
        self._order = ancestors(self.nodes)
        self._steps: dict[Any, list[Step]] = {}

    @property
    def steps(self) -> list[Step]:
        """The compiled steps, oldest first."""
        return [s for versions in self._steps.values() for s in versions]

    def run(self, feed_dict: Mapping[Node, Any]) -> list[Any]:
        """The values of the executor's nodes, as arrays (NumPy scalars for those without axes), given those of variables.

        `feed_dict`: node -> number or array; any node may be fed, not only variables. Compiles at the first run for each
        combination of dtypes and shapes. Raises IradValueError if a variable is missing, ShapeError or IradTypeError, at
        the line that made the node, if values do not fit together, and what a user's `compute` raises.
        """
        values = {node: x if isinstance(x, np.ndarray) else _Number(x) for node, x in feed_dict.items()}
        while True:
            step = self._step(values)
            step.run(values)
            if step.last:
                return [_result(values[n], n in feed_dict) for n in self.nodes]

    def _step(self, values: dict[Node, Any]) -> Step:
        key = tuple((n, x.dtype, x.shape) if isinstance(x, np.ndarray) else (n, x.key) for n, x in values.items())
        for step in self._steps.get(key, ()):
            if step.holds():
                return step
        step = _Planner(self._order, self.nodes, values).step()
        self._steps.setdefault(key, []).insert(0, step)
        while len(self._steps) > VERSIONS:
            del self._steps[next(iter(self._steps))]
        return step


class _Number:
    """A number that was fed, or a list that becomes an array: a Python number keeps its kind for promotion."""

    __slots__ = ("value", "key")

    def __init__(self, x: Any):
        self.value = np.asarray(x)
        self.key = (type(x) if is_weak(x) else None, self.value.dtype, self.value.shape)


def _array(x: Any) -> np.ndarray:
    return x.value if isinstance(x, _Number) else x


def _result(x: Any, fed: bool) -> Any:
    """A value that the caller may change without changing what was fed."""
    a = _array(x)
    return (np.array(a) if fed else a)[()]


@dataclass(frozen=True)
class Read:
    """The `compute` of a user's op as irad read it, with the captured state that it depends on."""

    node: Node
    traced: Traced

    def holds(self) -> bool:
        """Is what was read as constant, and the types of the rest, still so?"""
        return Conditions(self.traced, (), 0).holds(_compute(self.node), (), [self.node])

    def get(self, c: Capture) -> Any:
        """The captured value of now."""
        return c.get(_compute(self.node), [self.node])


@dataclass(frozen=True)
class Step:
    """`program`: irad's graph before the passes; its parameters are the values of `inputs` and then captured numbers and
    arrays of users' ops, its results those of `outputs`. `python`: nodes whose `compute` runs in Python afterwards.
    """

    program: Program
    native: NativeCode | None
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    python: tuple[Node, ...]
    reads: tuple[Read, ...]
    exceptions: Mapping[str, type[BaseException] | BaseException]
    last: bool

    def holds(self) -> bool:
        """Does it still fit the state that users' ops capture?"""
        return all(r.holds() for r in self.reads)

    def run(self, values: dict[Node, Any]) -> None:
        """Add the values of `outputs` and of `python`."""
        if self.native is not None:
            given = [_array(values[n]) for n in self.inputs] + [r.get(c) for r in self.reads for c in r.traced.captures]
            args = [
                np.ascontiguousarray(x, t.numpy) if t.shape else np.asarray(x, t.numpy) for x, t in zip(given, self.native.params)
            ]
            try:
                values.update(zip(self.outputs, self.native.run(args)))
            except RaisedInGraph as e:
                raise user_exception(e, self.exceptions) from None
        for node in self.python:
            values[node] = _run_in_python(node, [_array(values[x]) for x in node.inputs])


def _compute(node: Node) -> Any:
    assert node.op is not None
    return node.op.compute


def _run_in_python(node: Node, inputs: list[np.ndarray]) -> np.ndarray:
    out = _compute(node)(node, [np.array(x)[()] for x in inputs])
    value = np.asarray(out)
    try:
        type_of(value)
    except TypeError as e:
        raise IradTypeError(f"{type(node.op).__name__}.compute gave {type(out).__name__}: {e}", node.loc) from None
    return value


class _Planner:
    """Builds the next step from the nodes whose values are known."""

    def __init__(self, order: Sequence[Node], wanted: Sequence[Node], values: Mapping[Node, Any]):
        self.wanted, self.values = wanted, values
        self.order = self._needed(order)
        self.params: dict[Node, Value] = {}
        self.env: dict[Node, Any] = {}  # node -> Arr, or a static number or array
        self.python: list[Node] = []
        self.reads: list[Read] = []
        self.captured: list[Value] = []
        self.exceptions: dict[str, type[BaseException] | BaseException] = {}

    def _needed(self, order: Sequence[Node]) -> list[Node]:
        """The nodes to compute: what is wanted and not known, and its inputs, in order."""
        needed = set(self.wanted)
        for node in reversed(order):
            if node in needed and node not in self.values:
                needed.update(node.inputs)
        return [n for n in order if n in needed and n not in self.values]

    def step(self) -> Step:
        """The step that computes all that can be computed now."""
        with Builder() as b:
            for node in self.order:
                if all(x in self.env or x in self.values for x in node.inputs):
                    self._add(node)
            outputs = self._outputs()
            results = [lift(self.env[n]).value for n in outputs]
        params = (*self.params.values(), *self.captured)
        program = {"graph": Graph(params, tuple(b.nodes), tuple(results), "graph")}
        return Step(
            program,
            native(optimise(program)) if results else None,
            tuple(self.params),
            tuple(outputs),
            tuple(self.python),
            tuple(self.reads),
            self.exceptions,
            all(n in self.env or n in self.values or n in self.python for n in self.wanted),
        )

    def _outputs(self) -> list[Node]:
        """What others read of this step: the caller, Python, later steps."""
        read = set(self.wanted)
        for node in self.order:
            if node not in self.env:
                read.update(node.inputs)
        return [n for n in self.order if n in read and n in self.env]

    def _operand(self, node: Node) -> Any:
        """What stands for a node: a parameter, if its value is known."""
        if node in self.env:
            return self.env[node]
        if node not in self.params:
            x = self.values[node]
            try:
                t = type_of(_array(x))
            except TypeError as e:
                raise IradTypeError(f"the value fed for {node}: {e}") from None
            self.params[node] = Value(t, node.name if node.name.isidentifier() else "")
        x = self.values[node]
        return Arr(self.params[node], weak=isinstance(x, _Number) and x.key[0] is not None)

    def _add(self, node: Node) -> None:
        """Emit a node, or leave it to Python."""
        operands = [self._operand(x) for x in node.inputs]
        assert node.op is not None
        try:
            with Builder(loc=node.loc, deriv=node.deriv) as b:
                value = node.op.lower(node, *operands) if node.op.lower else self._read(node, operands)
        except IradError as e:
            raise e.at(node.loc) from None
        if value is None:
            self.python.append(node)
            return
        assert b.outer is not None
        b.outer.nodes += b.nodes
        self.env[node] = value

    def _read(self, node: Node, operands: list[Any]) -> Any:
        """The node as its `compute` says, read by irad; None if it has to run in Python."""
        arrs = [lift(x) for x in operands]
        specs = [Spec(x.type, "ndarray" if x.shape else "generic") for x in arrs]
        try:
            traced = trace(_compute(node), (node, specs))
        except UnsupportedError:
            return None
        if (
            traced.writes
            or any(m.target[0] == "capture" for m in traced.mutated)
            or len(traced.program) > 1
            or traced.out_tree.cls is not None
        ):
            return None
        self.reads.append(Read(node, traced))
        self.exceptions.update(traced.exceptions)
        captured = [Value(c.type) for c in traced.captures]
        self.captured += captured
        values = [x.value for x in arrs] + captured
        results = inline(renumbered(traced.graph, {}), *values)
        (result,) = traced.results
        if result.kind == "static":
            return result.value
        if result.same_as is None:
            assert result.index is not None
            return Arr(results[result.index])
        changed = {m.target: results[m.index] for m in traced.mutated}  # the op works on copies of its inputs
        kind, k = result.same_as
        return Arr(changed[kind, k] if (kind, k) in changed else values[k if kind == "arg" else len(arrs) + k])
