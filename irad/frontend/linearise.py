"""A function that is differentiated, as a graph of the leaves of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irad.errors import IradValueError, UnsupportedError
from irad.frontend.arr import Arr, lift
from irad.frontend.objects import Array, Cell, Poison, Text, describe, is_number
from irad.frontend.reader import Reader
from irad.frontend.regions import run_region
from irad.ir import Graph, Value
from irad.ops.elementwise import cast_to
from irad.records import dataclass
from irad.tree import TreeDef, flatten

RAGGED = (
    "the differentiated function returns an array whose length depends on data; reduce it to numbers there (np.sum), "
    "or write into an array of fixed length"
)


@dataclass(eq=False)
class Linearised:
    """A function of some leaves as a graph, and how its arguments and results are nested."""

    graph: Graph
    primals: list[Value]  # the leaves, floats
    weak: list[bool]  # which of them are Python numbers, which arrays (None: a NumPy scalar)
    kinds: list[str]
    trees: list[TreeDef]  # of each differentiated argument
    out_tree: TreeDef
    out_kinds: list[Any]  # per result leaf: how to build it from its value

    @property
    def float_results(self) -> list[int]:
        return [k for k, v in enumerate(self.graph.results) if v.type.differentiable]


def is_leaf(x: Any) -> bool:
    return is_number(x) and type(x) is not bool or isinstance(x, (Array, Poison, Text))


def linearise(r: Reader, fun: Any, args: list[Any], kwargs: dict[str, Any], argnums: Sequence[int]) -> Linearised:
    """`fun` as a graph of the leaves of the arguments `argnums`; everything else is captured."""
    primals: list[Value] = []
    kinds: list[str] = []
    trees: list[TreeDef] = []
    for k in argnums:
        found, tree = flatten(args[k], is_leaf)
        trees.append(tree)
        for x in found:
            kinds.append(kind_of(x))
            primals.append(float_value(r, x))
    params = [Value(v.type, v.hint) for v in primals]

    def body(given: Sequence[Value]) -> tuple[TreeDef, list[Any], list[Value]]:
        objects = iter([object_of(v, kind) for v, kind in zip(given, kinds)])
        inner = list(args)
        for k, tree in zip(argnums, trees):
            inner[k] = tree.unflatten([next(objects) for _ in range(tree.size)])
        return outcome(r, r.call(fun, inner, kwargs))

    with r.kept.frozen():
        region = run_region(r, lambda: body(params))
    if region.dead:  # so does its derivative
        body(primals)
        raise UnsupportedError("the function to differentiate always raises an exception")
    out_tree, out_kinds, results = region.result
    made = {v for n in region.nodes for v in n.outputs}
    if any(s in made for v in results for s in v.type.symbols):
        raise UnsupportedError(RAGGED)
    graph = Graph(tuple(params), tuple(region.nodes), tuple(results))
    return Linearised(graph, primals, [k == "number" for k in kinds], kinds, trees, out_tree, out_kinds)


def kind_of(x: Any) -> str:
    if isinstance(x, Array):
        return "array"
    if isinstance(x, (Poison, Text)):
        raise UnsupportedError(f"{describe(x)} cannot be differentiated")
    python = x.weak if isinstance(x, Arr) else type(x) in (bool, int, float, complex)
    return "number" if python else "generic"


def float_value(r: Reader, x: Any) -> Value:
    """A leaf as a real or complex float value; integers become float64."""
    v = r.value(x) if isinstance(x, Array) else lift(x).value
    return v if v.type.differentiable else cast_to(v, "f64")


def object_of(v: Value, kind: str) -> Any:
    return Array(Cell(v, v.hint)) if kind == "array" else Arr(v, kind == "number")


def outcome(r: Reader, out: Any) -> tuple[TreeDef, list[Any], list[Value]]:
    """A result as a tree of values; constants stay out of the graph's results unless they are numbers."""
    found, tree = flatten(out, lambda x: is_number(x) or isinstance(x, (Array, Poison, Text)))
    kinds: list[Any] = []
    results: list[Value] = []
    for x in found:
        if isinstance(x, (Poison, Text)):
            raise UnsupportedError(f"the differentiated function returns {x.message if isinstance(x, Poison) else 'a string'}")
        if type(x) is bool:
            kinds.append(x)
            continue
        kinds.append(kind_of(x))
        results.append(r.value(x) if isinstance(x, Array) else lift(x).value)
    return tree, kinds, results


def rebuilt(lin: Linearised, values: Sequence[Value]) -> Any:
    """The function's result from its values."""
    it = iter(values)
    return lin.out_tree.unflatten([object_of(next(it), k) if isinstance(k, str) else k for k in lin.out_kinds])


def arguments(lin: Linearised, values: Sequence[Value]) -> list[Any]:
    """Values like the leaves of the differentiated arguments, in their trees."""
    it = iter([object_of(v, k) for v, k in zip(values, lin.kinds)])
    return [t.unflatten([next(it) for _ in range(t.size)]) for t in lin.trees]


def positions(argnums: Any, n: int) -> tuple[list[int], bool]:
    """Argument numbers from the front, and whether one was asked for by itself."""
    many = tuple(argnums) if isinstance(argnums, (tuple, list)) else (argnums,)
    for k in many:
        if not isinstance(k, int) or not -n <= k < n:
            words = "argument" if n == 1 else "arguments"
            raise IradValueError(f"argnums {argnums} is out of range for a call with {n} positional {words}")
    if len({k % n for k in many}) < len(many):
        raise IradValueError(f"argnums {argnums} names an argument twice")
    return [k % n for k in many], not isinstance(argnums, (tuple, list))
