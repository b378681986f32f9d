"""A function that is differentiated, as a graph of the leaves of its arguments.

Fields of structured arrays that hold no floats are data: the function reads them as they are, and their derivatives are 0.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from irad.core.foreign import CODE, WRAPPERS, advice, is_instance, is_value, own_names
from irad.core.ir import Graph, Value, current
from irad.core.lazy_dataclass import dataclass
from irad.core.structured import Bytes, Structured
from irad.core.tree import Attributes, TreeDef, attributes, flatten, leaf_fields, parts, rebuild
from irad.core.types import Type
from irad.errors import IradTypeError, IradValueError, UnsupportedError
from irad.frontend.control.lists import with_items
from irad.frontend.control.regions import Dead, run_region
from irad.frontend.reader import Reader
from irad.frontend.transforms.transform import Transform
from irad.frontend.values.arr import Arr, lift
from irad.frontend.values.guards import Path
from irad.frontend.values.objects import Array, Cell, Nullable, describe, is_number
from irad.frontend.values.outside import Copied
from irad.frontend.values.unfit import UNFIT, unfit
from irad.ops.array import zeros
from irad.ops.elementwise import cast_to
from irad.ops.intervals import learn

RAGGED = (
    "the differentiated function returns an array whose length depends on data; reduce it to numbers there (np.sum), "
    "or write into an array of fixed length"
)


@dataclass(eq=False)
class Linearised:
    """A function of some leaves as a graph, and how its arguments and results are nested."""

    graph: Graph
    primals: list[Value]  # the leaves that are no data, floats
    kinds: list[str]  # of all leaves: "number" (Python's), "generic" (NumPy's), "array" or "data"
    data: list[Type]
    trees: list[TreeDef]  # of each differentiated argument
    out_tree: TreeDef
    out_kinds: list[Any]  # per result leaf: how to build it from its value

    @property
    def float_results(self) -> list[int]:
        return [k for k, v in enumerate(self.graph.results) if v.type.differentiable]


def is_leaf(x: Any) -> bool:
    return is_number(x) and type(x) is not bool or isinstance(x, (Array, *UNFIT))


def opened(r: Reader, x: Any) -> Any:
    """An argument whose plain objects are copies, which hold what stands for their attributes."""
    if is_leaf(x) or isinstance(x, (Structured, Bytes)) or is_value(x):
        return x
    if hasattr(type(x), "to_numpy"):  # of pandas, Polars, xarray: their attributes are no numbers of the user's
        raise IradTypeError(f"{describe(x)} is not read as numbers: {advice(x)}")
    node = parts(x)
    if node is not None:
        copied = [opened(r, c) for c in node[2]]
        same = all(a is b for a, b in zip(copied, node[2]))
        return x if same else rebuild(node[0], node[1], copied)
    if not (isinstance(x, (collections.deque, *WRAPPERS)) or (is_instance(x) and not isinstance(x, Transform))) or isinstance(
        x, CODE
    ):
        return x
    path = r.captures.path(x)
    if path is not None:
        r.captures.guard(path, "attributes", own_names(x))
    r.opened.add(type(x))
    cls, meta, children = attributes(x)
    found = [opened(r, r.getattr(x, n)) for n in meta.names] if meta.names else [opened(r, c) for c in children]
    return r.state.made(rebuild(cls, meta, found))


def note_copies(r: Reader, given: Sequence[Any], copies: Sequence[Any]) -> None:
    """A transform calls its function with copies of some arguments: what changes in them is found outside where the arguments are."""
    found: dict[int, Copied] = {}

    def mark(x: Any, copy: Any, path: Path | None) -> None:
        new = r.outside.copied(x, copy, path)
        first = found.setdefault(id(x), new)
        if first.copy is not copy:
            first.twice = new.twice = True

    def note(x: Any, copy: Any) -> None:
        if isinstance(x, Array) and isinstance(copy, Array):
            mark(x.cell, copy.cell, None)
        if is_leaf(x) or is_value(x):
            return
        mark(x, copy, r.captures.of_caller(x) or r.captures.path(x))
        node = parts(copy) or (attributes(copy) if r.is_opened(copy) else None)
        if node is None:
            return
        named = isinstance(node[1], Attributes) and node[1].names
        held = [r.getattr(x, n) for n in node[1].names] if named else (parts(x) or attributes(x))[2]
        for a, b in zip(held, node[2]):
            note(a, b)

    for x, copy in zip(given, copies):
        note(x, copy)


def _check_numbers(tree: TreeDef, x: Any, k: int) -> None:
    """Raises IradTypeError for an argument to differentiate by that has no number in it."""
    if tree.size == 0 and _some(tree):
        named = describe(x) if x is None or isinstance(x, (str, bool)) or is_leaf(x) else f"a {_class_name(x)}"
        raise IradTypeError(f"there is no number to differentiate by in argument {k}, {named}; {advice(x)}")


def _class_name(x: Any) -> str:
    cls = type(x)
    return cls.__qualname__ if cls.__module__ in ("builtins", "__main__") else f"{cls.__module__}.{cls.__qualname__}"


def _some(tree: TreeDef) -> bool:
    """Is there anything in it?"""
    return tree.cls is TreeDef or any(map(_some, tree.children))


def linearise(
    r: Reader, fun: Any, args: list[Any], kwargs: dict[str, Any], argnums: Sequence[int], numbers: bool = False
) -> Linearised:
    """`fun` as a graph of the leaves of the arguments `argnums`; everything else is captured.

    Raises IradTypeError where an argument has no leaf, if `numbers` are wanted.
    """
    primals: list[Value] = []
    data: list[Array] = []
    kinds: list[str] = []
    trees: list[TreeDef] = []
    for k in argnums:
        found, tree = flatten(opened(r, args[k]), is_leaf, r.is_opened)
        trees.append(tree)
        if numbers:
            _check_numbers(tree, args[k], k)
        for x, held in zip(found, is_data(tree)):
            kinds.append("data" if held else kind_of(x))
            if held:
                data.append(x)
            else:
                primals.append(float_value(r, x))
    if data and not primals:
        raise UnsupportedError("the argument to differentiate by has no field of floating-point numbers: its derivative is 0")
    params = [Value(v.type, v.hint) for v in primals]

    def body(given: Sequence[Value]) -> tuple[TreeDef, list[Any], list[Value]]:
        objects = iter(among(kinds, [_copied(r, x) for x in data], given))
        inner = list(args)
        for k, tree in zip(argnums, trees):
            inner[k] = tree.unflatten([next(objects) for _ in range(tree.size)])
        note_copies(r, [*args, *kwargs.values()], [*inner, *kwargs.values()])
        return outcome(r, r.call(fun, inner, kwargs))

    with r.kept.frozen(), _one_order_more(r):
        region = run_region(r, lambda: body(params))
    if region.dead:  # so does its derivative, which changes nothing outside
        with r.kept.frozen(), r.state.logged(current()):
            body(primals)
        raise UnsupportedError("the function to differentiate always raises an exception")
    out_tree, out_kinds, results = region.result
    made = {v for n in region.nodes for v in n.outputs}
    if any(s in made for v in results for s in v.type.symbols):
        raise UnsupportedError(RAGGED)
    graph = Graph(tuple(params), tuple(region.nodes), tuple(results))
    return Linearised(graph, primals, kinds, [x.type for x in data], trees, out_tree, out_kinds)


@contextmanager
def _one_order_more(r: Reader) -> Iterator[None]:
    r.orders += 1
    try:
        yield
    finally:
        r.orders -= 1


def is_data(tree: TreeDef) -> list[bool]:
    """Which leaves are fields of structured arrays that have no derivative."""
    return [f is not None and not f.differentiable for f in leaf_fields(tree)]


def among(kinds: Sequence[str], data: Sequence[Any], values: Sequence[Value]) -> list[Any]:
    """The objects of all leaves: those of the data, and the values of the others."""
    rest, held = iter(values), iter(data)
    return [next(held) if kind == "data" else object_of(next(rest), kind) for kind in kinds]


def _copied(r: Reader, x: Array) -> Array:
    content = r.read(x)
    return Array(Cell(content.value if isinstance(content, Arr) else content.copy()))


def kind_of(x: Any) -> str:
    if isinstance(x, Array):
        return "array"
    if isinstance(x, UNFIT):
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
    """A result as a tree of values; constants stay out of the graph's results unless they are numbers.

    Where the whole result is None, TypeError is raised at run time.
    """
    if type(out) is Nullable:
        out = r.definite(out, "what the differentiated function returns")
    found, tree = flatten(with_items(r, out, False), lambda x: is_number(x) or isinstance(x, (Array, *UNFIT)), r.is_opened)
    kinds: list[Any] = []
    results: list[Value] = []
    for x in found:
        if isinstance(x, UNFIT):
            raise UnsupportedError(f"the differentiated function returns {unfit(x)}")
        if type(x) is bool:
            kinds.append(x)
            continue
        kinds.append(kind_of(x))
        results.append(r.value(x) if isinstance(x, Array) else lift(x).value)
    return tree, kinds, results


def apart(r: Reader, body: Callable[[], Any]) -> Any:
    """The result of running something whose stores are seen by nobody else: arrays are copies, and the state is as before."""
    with r.kept.frozen():
        region = run_region(r, lambda: outcome(r, body()), conditional=False)
    current().nodes += region.nodes
    learn(region.builder)
    r.state.joined[region.builder] = current()
    if region.dead:
        raise Dead
    tree, kinds, values = region.result
    return _of_kinds(tree, kinds, values)


def rebuilt(lin: Linearised, values: Sequence[Value]) -> Any:
    """The function's result from its values."""
    return _of_kinds(lin.out_tree, lin.out_kinds, values)


def _of_kinds(tree: TreeDef, kinds: Sequence[Any], values: Sequence[Value]) -> Any:
    it = iter(values)
    return tree.unflatten([object_of(next(it), k) if isinstance(k, str) else k for k in kinds])


def arguments(lin: Linearised, values: Sequence[Value]) -> list[Any]:
    """Values like the leaves of the differentiated arguments, in their trees."""
    it = iter(among(lin.kinds, [Array(Cell(zeros(t))) for t in lin.data], values))
    return [None if t.cls is TreeDef else t.unflatten([next(it) for _ in range(t.size)]) for t in lin.trees]


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
