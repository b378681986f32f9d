"""The IR: immutable SSA graphs whose nodes may own graphs (regions) that capture lexically.

A pass is `Graph -> Graph` (or `Program -> Program`) and returns the same `Node` object where nothing changed,
so analyses are memoised by identity in `Graph.memo`. There are no use lists, and nodes and graphs never change.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar, Token
from typing import Any, TypeVar

from irad.core.affine import symbols
from irad.core.lazy_dataclass import dataclass, field
from irad.core.types import Type
from irad.errors import IradError, Loc

T = TypeVar("T")

_ids = itertools.count()


OPS: dict[str, Any] = {}  # the op table, which irad.ops.core fills


def _unary(op: str, of_bools: str = "") -> Callable[[Any], Value]:
    return lambda x: OPS[of_bools if of_bools and x.type.dtype == "bool" else op](x)


def _binary(op: str, of_bools: str = "") -> Callable[[Any, Any], Value]:
    return lambda x, y: OPS[of_bools if of_bools and x.type.dtype == "bool" else op](x, y)


def _reflected(op: str) -> Callable[[Any, Any], Value]:
    return lambda x, y: OPS[op](y, x)


class Value:
    """One SSA name. Equality is identity. `hint` is the user's name for it, `id` orders values by creation.

    Operators emit nodes; a number on either side takes the type of the value. `==` stays the identity, the ops `eq` and `ne` compare.
    `&`, `|`, `^` and `~` are the logical ops of bools, the bitwise ones of integers; `x ** 2` is `x * x`.

    `at` is where the plan pass keeps an array: "p0" (memory of parameter 0), "r1" (of result 1), "a64" (arena, byte 64).
    """

    __slots__ = ("type", "hint", "id", "at")

    def __init__(self, type: Type, hint: str = ""):
        self.type, self.hint, self.id, self.at = type, hint, next(_ids), ""

    def __repr__(self) -> str:
        return f"%{self.hint or self.id}: {self.type}"

    __array_ufunc__ = None  # a NumPy number on the left leaves the operation to the value

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("sub"), _reflected("sub")
    __mul__, __rmul__ = _binary("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _binary("div"), _reflected("div")
    __floordiv__, __mod__ = _binary("floor_divide"), _binary("remainder")
    __lt__, __le__, __gt__, __ge__ = _binary("lt"), _binary("le"), _binary("gt"), _binary("ge")
    __and__, __or__ = _binary("bitwise_and", "logical_and"), _binary("bitwise_or", "logical_or")
    __xor__ = _binary("bitwise_xor", "logical_xor")
    __lshift__, __rshift__ = _binary("left_shift"), _binary("right_shift")
    __neg__, __abs__, __invert__ = _unary("neg"), _unary("abs"), _unary("invert", "logical_not")

    def __pow__(self, y: Any) -> Value:
        return OPS["mul"](self, self) if isinstance(y, int) and y == 2 else OPS["pow"](self, y)


class Node:
    """One operation. `op` is a row of the op table (irad.ops), `regions` are graphs that may read any value in scope.

    `deriv`: the node computes a derivative, so it has no NumPy counterpart whose bits it must match: sums and products
    may be re-ordered and contracted. `verified` is the verifier's memo: once checked, the values that the attributes mention.
    """

    __slots__ = ("op", "inputs", "outputs", "attrs", "regions", "loc", "deriv", "verified", "_static")

    def __init__(
        self,
        op: Any,
        inputs: tuple[Value, ...],
        outputs: tuple[Value, ...],
        attrs: dict[str, Any] | None = None,
        regions: tuple[Graph, ...] = (),
        loc: Loc | None = None,
        deriv: bool = False,
    ):
        self.op, self.inputs, self.outputs, self.regions, self.loc = op, inputs, outputs, regions, loc
        self.deriv = deriv
        self.verified: tuple[Value, ...] | None = None
        self._static: bool | None = None
        self.attrs: dict[str, Any] = {} if attrs is None else attrs

    def replace(
        self,
        op: Any = None,
        inputs: Iterable[Value] | None = None,
        outputs: Iterable[Value] | None = None,
        attrs: dict[str, Any] | None = None,
        regions: Iterable[Graph] | None = None,
    ) -> Node:
        """A node with some parts exchanged, of the same line of source; the very same node if every part is the same."""
        op = self.op if op is None else op
        ins = self.inputs if inputs is None else tuple(inputs)
        outs = self.outputs if outputs is None else tuple(outputs)
        new = self.attrs if attrs is None else attrs
        inner = self.regions if regions is None else tuple(regions)
        if op is self.op and new is self.attrs and ins == self.inputs and outs == self.outputs and inner == self.regions:
            return self
        return Node(op, ins, outs, new, inner, self.loc, self.deriv)

    @property
    def out(self) -> Value:
        """The only output."""
        (v,) = self.outputs
        return v

    @property
    def static(self) -> bool:
        """Is every extent, in the attributes and in the types of the outputs, a number? Regions are not looked at."""
        if self._static is None:
            self._static = not (self.attrs and extents_in(self)) and not any([v.type.symbols for v in self.outputs])
        return self._static

    def __repr__(self) -> str:
        return f"{', '.join(map(repr, self.outputs))} = {self.op.name} {', '.join(map(repr, self.inputs))}"


@dataclass(frozen=True, eq=False)
class Graph:
    """Parameters, nodes in program order, results. `memo` keeps analyses, valid because a graph never changes."""

    params: tuple[Value, ...]
    nodes: tuple[Node, ...]
    results: tuple[Value, ...]
    name: str = ""
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    def replace(
        self, params: Sequence[Value] | None = None, nodes: Sequence[Node] | None = None, results: Sequence[Value] | None = None
    ) -> Graph:
        """A graph with some parts exchanged; the very same graph if every part is the same."""
        p = self.params if params is None else tuple(params)
        n = self.nodes if nodes is None else tuple(nodes)
        r = self.results if results is None else tuple(results)
        if p == self.params and r == self.results and len(n) == len(self.nodes) and all(a is b for a, b in zip(n, self.nodes)):
            return self
        return Graph(p, n, r, self.name)


Program = dict[str, Graph]  # the first graph is the entry; `call` names the others


def types(values: Iterable[Value]) -> tuple[Type, ...]:
    return tuple(v.type for v in values)


def captures(graph: Graph) -> tuple[Value, ...]:
    """Values a region reads from outside, in order of first use; extents mentioned in types count as reads."""
    if "captures" not in graph.memo:
        bound = set(graph.params)
        free: dict[Value, None] = {}
        for v in graph.params:
            free.update((s, None) for s in v.type.symbols if s not in bound)
        for node in graph.nodes:
            for v in reads(node):
                if v not in bound:
                    free[v] = None
            bound.update(node.outputs)
        free.update((v, None) for v in graph.results if v not in bound)
        graph.memo["captures"] = tuple(free)
    return graph.memo["captures"]


def captured(node: Node) -> list[Value]:
    """What the regions of a node read from outside, each once."""
    return list(dict.fromkeys(v for r in node.regions for v in captures(r)))


def reads(node: Node) -> tuple[Value, ...]:
    """Everything a node reads: inputs, captures of its regions, values in extents (of a loop, a slice, its result types)."""
    if node.static:
        return (*node.inputs, *captured(node)) if node.regions else node.inputs
    extra: list[Value] = captured(node) if node.regions else []
    for d in extents_in(node):
        extra = [*extra, *symbols(d)]
    for v in node.outputs:
        if v.type.symbols:
            extra = [*extra, *(s for s in v.type.symbols if s not in node.outputs)]
    return (*node.inputs, *extra) if extra else node.inputs


def extents_in(node: Node) -> list[Any]:
    """The run-time extents in the attributes of a node: of a loop, or of the slices of an index or update."""
    sizes = (getattr(s, "size", 0) for s in node.attrs.get("spec", ()))
    return [d for d in (*node.attrs.get("extents", ()), *sizes) if not isinstance(d, int)]


def map_regions(node: Node, f: Callable[[Graph], Graph]) -> Node:
    """The node with `f` of each of its regions; the very same node if none changes."""
    return node.replace(regions=map(f, node.regions)) if node.regions else node


def walk(graph: Graph) -> Iterator[Node]:
    """Every node, regions included, in program order."""
    return within(graph.nodes)


def within(nodes: Iterable[Node]) -> Iterator[Node]:
    """Nodes, and those in their regions, in program order."""
    for node in nodes:
        yield node
        for r in node.regions:
            yield from within(r.nodes)


def values(graph: Graph) -> Iterator[Value]:
    """Every value that is bound in a graph, regions included, in program order."""
    yield from graph.params
    for node in graph.nodes:
        yield from node.outputs
        for r in node.regions:
            yield from values(r)


def nodes_where(graph: Graph, name: str, wanted: Callable[[Node], bool]) -> tuple[Node, ...]:
    """The wanted nodes of a graph, regions included, in program order. Remembered under the name, for each region too."""
    if name not in graph.memo:
        nodes = [m for n in graph.nodes for m in ([n] * wanted(n) + [m for r in n.regions for m in nodes_where(r, name, wanted)])]
        graph.memo[name] = tuple(nodes)
    return graph.memo[name]


def calls(graph: Graph) -> tuple[Node, ...]:
    """The calls in a graph, regions included, in program order."""
    return nodes_where(graph, "calls", lambda n: n.op.name == "call")


def callees(graph: Graph) -> list[str]:
    """Names of the functions that a graph calls itself, each once."""
    return list(dict.fromkeys(n.attrs["callee"] for n in calls(graph)))


def closure(start: Iterable[T], step: Callable[[T], Iterable[T]]) -> dict[T, None]:
    """What is reached from some things in any number of steps, they themselves included, as keys in the order found."""
    found = dict.fromkeys(start)
    todo = list(found)
    while todo:
        for x in step(todo.pop()):
            if x not in found:
                found[x] = None
                todo.append(x)
    return found


def reachable(program: Mapping[str, Graph], names: Iterable[str]) -> dict[str, None]:
    """Functions, and what they call, directly or not. One that is not there yet calls nothing."""
    return closure(names, lambda f: callees(program[f]) if f in program else ())


class Builder:
    """Collects type-checked nodes; `with Builder() as b: ...` makes it current, then `b.nodes`.

    `loc` and `deriv` (see `Node`) are given to every node and are inherited from the surrounding builder if not set, as is
    `kept`: what results of the program hold if it raises here (see `irad.ops.control.raise_if`), by their numbers.
    """

    def __init__(self, loc: Loc | None = None, deriv: bool | None = None) -> None:
        self.nodes: list[Node] = []
        self.loc, self.deriv = loc, deriv
        self.kept: Callable[[], Mapping[int, Value]] | None = None
        self.outer: Builder | None = None  # the builder around this one, while it is current
        self.scopes: list[Any] = []  # what is known in it and in those around, while it is current: see irad.ops.intervals
        self._token: Token[Builder | None] | None = None

    def __enter__(self) -> Builder:
        self.outer, self.scopes = _current.get(), []
        if self.loc is None and self.outer is not None:
            self.loc = self.outer.loc
        if self.deriv is None:
            self.deriv = self.outer is not None and bool(self.outer.deriv)
        if self.kept is None and self.outer is not None:
            self.kept = self.outer.kept
        self._token = _current.set(self)
        return self

    def __exit__(self, *_: Any) -> None:
        assert self._token is not None
        _current.reset(self._token)


_current: ContextVar[Builder | None] = ContextVar("builder", default=None)


def current() -> Builder:
    b = _current.get()
    assert b is not None, "no graph is being built here"
    return b


def emit(op: Any, *inputs: Value, regions: Sequence[Graph] = (), hints: Sequence[str] = (), **attrs: Any) -> tuple[Value, ...]:
    """Append a node to the current builder; its result types come from the op's `infer`."""
    b = current()
    try:
        out = op.infer(*(v.type for v in inputs), **attrs, **dict(zip(op.regions, regions)))
    except IradError as e:
        raise e.at(b.loc) from None
    outputs = tuple(Value(t, hints[k] if k < len(hints) else "") for k, t in enumerate(out))
    b.nodes.append(Node(op, inputs, outputs, attrs, tuple(regions), b.loc, bool(b.deriv)))
    return outputs


def build(params_like: Iterable[Value | Type], body: Callable[..., Any], name: str = "") -> Graph:
    """The graph of `body(*params)`; a `Value` in `params_like` is used as the parameter itself."""
    params = tuple(p if isinstance(p, Value) else Value(p) for p in params_like)
    with Builder() as b:
        results = body(*params)
    return Graph(params, tuple(b.nodes), tuple(results if isinstance(results, (tuple, list)) else [results]), name)


def rename_attrs(attrs: dict[str, Any], get: Callable[[Any], Any]) -> dict[str, Any]:
    """Rename the SSA values that types and extents in attributes mention."""

    def go(x: Any) -> Any:
        if isinstance(x, tuple):
            new = tuple(map(go, x))
            return x if all(a is b for a, b in zip(x, new)) else new
        return x.rename(get) if hasattr(x, "rename") and hasattr(x, "show") else x

    new = {k: go(x) for k, x in attrs.items()}
    return attrs if all(new[k] is attrs[k] for k in attrs) else new


def copy(graph: Graph, env: dict[Value, Value]) -> Graph:
    """A copy with fresh bindings, captures renamed by `env` (which is extended with the fresh names)."""

    def get(v: Value) -> Value:
        return env.get(v, v)

    def new(vs: Iterable[Value]) -> tuple[Value, ...]:
        out = []
        for v in vs:
            if v not in env:
                env[v] = Value(v.type.rename(get), v.hint)
            out.append(env[v])
        return tuple(out)

    params, nodes = new(graph.params), []
    for n in graph.nodes:
        regions = tuple(copy(r, env) for r in n.regions)
        ins = tuple(map(get, n.inputs))
        nodes.append(Node(n.op, ins, new(n.outputs), rename_attrs(n.attrs, get), regions, n.loc, n.deriv))
    return Graph(params, tuple(nodes), tuple(map(get, graph.results)), graph.name)


def substitute(graph: Graph, env: Mapping[Value, Value]) -> Graph:
    """The graph with captured values exchanged, bindings kept; the same objects where nothing changed."""
    if not any(v in env for v in captures(graph)):
        return graph
    retype(graph.params, env)
    nodes = tuple([substitute_node(n, env) for n in graph.nodes])
    return Graph(graph.params, nodes, tuple([env.get(v, v) for v in graph.results]), graph.name)


def substitute_node(node: Node, env: Mapping[Value, Value]) -> Node:
    """The node with inputs and captures exchanged; the very node if none is in `env`."""
    if not any(v in env for v in reads(node)):
        return node

    inputs = [env.get(v, v) for v in node.inputs]
    return map_regions(retyped_node(node, env).replace(inputs=inputs), lambda r: substitute(r, env))


def retype(values: Iterable[Value], env: Mapping[Value, Value]) -> bool:
    """Rename the SSA values that the types of `values` mention: the type follows, the identity of the value stays.

    Were there any? Then the node or graph that binds the values is made anew: what is remembered on it, and on the graphs
    around it, may speak of the old ones.
    """
    named = [v for v in values if v.type.symbols and any(s in env for s in v.type.symbols)]
    for v in named:
        v.type = v.type.rename(lambda s: env.get(s, s))
    return bool(named)


def retyped(graph: Graph, env: Mapping[Value, Value]) -> Graph:
    """The graph with the types of its parameters renamed, see `retype`; the very graph if none changes."""
    return Graph(graph.params, graph.nodes, graph.results, graph.name) if retype(graph.params, env) else graph


def retyped_node(node: Node, env: Mapping[Value, Value]) -> Node:
    """The node with what its attributes and the types of its results mention renamed, see `retype`; the very node if nothing is."""
    if not env or node.static:
        return node
    made_anew = retype(node.outputs, env)
    attrs = rename_attrs(node.attrs, lambda v: env.get(v, v))
    if not made_anew:
        return node.replace(attrs=attrs)
    return Node(node.op, node.inputs, node.outputs, attrs, node.regions, node.loc, node.deriv)


def inline(graph: Graph, *args: Value) -> tuple[Value, ...]:
    """Append a copy of the body of `graph` to the current builder, its parameters bound to `args`."""
    g = copy(Graph((), graph.nodes, graph.results), dict(zip(graph.params, args)))
    current().nodes += g.nodes
    return g.results


def defs(graph: Graph) -> dict[Value, Node]:
    """The node that defines each value of this graph (not of its regions)."""
    if "defs" not in graph.memo:
        graph.memo["defs"] = {v: n for n in graph.nodes for v in n.outputs}
    return graph.memo["defs"]


def readers(graph: Graph) -> dict[Value, list[Node]]:
    """The nodes of this graph that read each value, themselves or in their regions, each once, in program order."""
    if "readers" not in graph.memo:
        reading: dict[Value, list[Node]] = {}
        for n in graph.nodes:
            for v in dict.fromkeys(reads(n)):
                reading.setdefault(v, []).append(n)
        graph.memo["readers"] = reading
    return graph.memo["readers"]


def uses(graph: Graph) -> dict[Value, int]:
    """How often each value is read by this graph's nodes (a region counts once) and results."""
    if "uses" not in graph.memo:
        count: dict[Value, int] = {}
        for n in graph.nodes:
            for v in reads(n):
                count[v] = count.get(v, 0) + 1
        for v in graph.results:
            count[v] = count.get(v, 0) + 1
        graph.memo["uses"] = count
    return graph.memo["uses"]


def size(program: Program | Graph) -> int:
    """Number of nodes, regions included."""
    graphs = program.values() if isinstance(program, dict) else [program]
    return sum(1 for g in graphs for _ in walk(g))
