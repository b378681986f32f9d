"""What a trace is: the program of a function, how its arguments and results are nested, and what it relies on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from irad.core.ir import Graph, Program
from irad.core.lazy_dataclass import dataclass, field
from irad.core.tree import TreeDef, structured_nodes
from irad.core.types import Type
from irad.frontend.values.guards import Capture, Guard, Path

VARYING = 5  # the least extent that may be known at run time only; each below has code of its own


@dataclass(frozen=True)
class Spec:
    """An argument known by its type only. `kind`: "ndarray", "generic" (a NumPy scalar), "int", "float" or "complex"."""

    type: Type
    kind: str = "ndarray"


@dataclass(frozen=True)
class Leaf:
    """One leaf of the arguments, in flattened order.

    `param`: index of its parameter, or None if it is static, with value `value`; then a call must pass an equal one.
    `alias`: index of an earlier leaf that is the very same array, whose parameter it shares.
    `strides`: in elements, of an array (None where they are no multiples of its elements), `steps`: in bytes; the program is
    for this memory layout. `int32`: the program assumes that the int lies in 32 bits.
    """

    type: Type
    kind: str
    param: int | None
    value: Any = None
    alias: int | None = None
    strides: tuple[int, ...] | None = None
    steps: tuple[int, ...] | None = None
    int32: bool = False


@dataclass(frozen=True)
class Sizes:
    """Axes of argument leaves whose extents are to be known at run time only. `close`: the code need not be for sizes far above."""

    axes: frozenset[tuple[int, int]]
    close: bool = False


@dataclass(frozen=True)
class RunTime:
    """An extent that is a parameter of the program: of the argument leaves and axes in `places`, all of which are equal in a call, and
    at least `low` and at most `high`. `name`: what it is called in types."""

    places: tuple[tuple[int, int], ...]
    low: int
    high: int
    name: str


@dataclass(frozen=True)
class Result:
    """One leaf of the result: `kind` "ndarray", "generic", "int", "float", "complex" or "bool", at `index` of the graph's results;

    with axes in the order `axes`, if that is not (), as memory order is not always C's; or the very object `same_as` = ("arg", leaf), ("capture", k), ("path", Path) or, of what the call makes, ("made", k); or, with kind "static", the constant `value`.
    """

    kind: str
    index: int | None = None
    value: Any = None
    same_as: tuple[str, Any] | None = None
    axes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Mutation:
    """An argument leaf ("arg", k) or capture ("capture", k) that the function changes; its final content is result `index`."""

    target: Target
    index: int


Target = tuple[str, int]
"""An argument leaf ("arg", k) or a capture ("capture", k)."""

GIVEN = "given"
"""The root of paths from the arguments of a call, the pair of the positional and the named ones."""


@dataclass(frozen=True)
class Apart:
    """Things of one class that the function changes, by their paths, are different ones, and none of the others: the program takes them
    for several. Some of all these are among the arguments of the call."""

    changed: tuple[Path, ...]
    others: tuple[Path, ...]


@dataclass(frozen=True)
class Write:
    """What a call assigns when it ends: the attribute, global or variable `name` of what is found at `path` (kind "attr", "global",
    "cell"; without a tree it is deleted), or what the container there holds ("items"), or what is added to it ("append"); its
    parts are results, nested as `tree` says. `there`: a bool, if data decides whether the name has a value in the end."""

    path: Path
    kind: str
    name: str
    tree: TreeDef | None
    results: tuple[Result, ...]
    there: Result | None = None


@dataclass(frozen=True)
class Traced:
    """A traced function. Parameters of the entry graph: run-time extents, dynamic argument leaves in order, then captures.

    `made`: things that stand in several places of the result and of what is assigned; each may hold those before it.
    `identities`: pairs of objects, argument leaves or found by paths, and whether they are one object. `once`: things that the function
    changes, maybe inside of a derivative only, and that it takes for others than all else that a call gives. `apart`: arrays of which the
    same is true. `ended`: the result that a raise keeps, with all others, where the function raises in the end whatever the data, and
    assigns something outside before.
    """

    program: Program
    in_tree: TreeDef
    in_leaves: tuple[Leaf, ...]
    captures: tuple[Capture, ...]
    guards: tuple[Guard, ...]
    out_tree: TreeDef
    results: tuple[Result, ...]
    mutated: tuple[Mutation, ...]
    made: tuple[tuple[TreeDef, tuple[Result, ...]], ...] = ()
    exceptions: Mapping[str, type[BaseException] | BaseException] = field(default_factory=dict)
    identities: tuple[tuple[Path | int, Path | int, bool], ...] = ()
    writes: tuple[Write, ...] = ()
    extents: tuple[RunTime, ...] = ()
    once: tuple[Apart, ...] = ()
    apart: tuple[Target, ...] = ()
    ended: int | None = None

    @property
    def graph(self) -> Graph:
        """The entry graph."""
        return next(iter(self.program.values()))

    @property
    def held(self) -> Iterator[Result]:
        """The results in what is assigned, and in things that stand in several places."""
        for w in self.writes:
            yield from w.results
        for _, inside in self.made:
            yield from inside

    @property
    def turned(self) -> dict[int, tuple[int, ...]]:
        """The results of the graph whose axes have another order in what is given, and that order."""
        return {r.index: r.axes for r in (*self.results, *self.held) if r.axes and r.index is not None}

    def parameter(self, target: tuple[str, int]) -> int:
        """The number of the parameter that stands for an array argument or capture."""
        kind, k = target
        if kind == "capture":
            return len(self.graph.params) - len(self.captures) + k
        param = self.in_leaves[k].param
        assert param is not None
        return param

    def type_of(self, r: Result) -> Type:
        """The type of a result that is no constant: that of the argument or capture that it is, or of what is computed."""
        if r.same_as is not None:
            kind, at = r.same_as
            return self.in_leaves[at].type if kind == "arg" else self.captures[at].type
        assert r.index is not None
        return self.graph.results[r.index].type


def record_of(t: Traced) -> dict[Target, Any]:
    """Which structured array an argument leaf or captured array is a field of: the fields of one do not overlap."""
    found: dict[Target, Any] = {}
    for first, tree in structured_nodes(t.in_tree):
        alias = t.in_leaves[first].alias
        taken = (k for k in range(first, first + tree.size) if t.in_leaves[k].param is not None)
        found |= {("arg", k): ("arg", first if alias is None else alias) for k in taken}
    whole = {g.path for g in t.guards if g.kind == "dtype"}
    for k, c in enumerate(t.captures):
        above = (Path(c.path.root, c.path.steps[:n]) for n in range(len(c.path.steps)))
        path = next((p for p in above if p in whole), None)
        if path is not None:
            found["capture", k] = path
    return found
