"""What a raise leaves behind: the stores that were made into the caller's arrays before it, as in NumPy.

A store makes a new value here, and the caller's arrays get the last one when the program returns. So every check takes
along what those arrays hold where it stands (`Builder.kept`), if they have changed by then. They are known by their number
here while a function is read, and by that of the result which is their final content in the program (`renumbered`). In a
loop whose variables change arrays (`u, v = v, u`), the variables have numbers until it is known how they do (`resolved`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from irad.core.ir import Builder, Graph, Node, Value, emit
from irad.core.lazy_dataclass import dataclass
from irad.frontend.values.arr import constant
from irad.frontend.values.objects import Array, Cell
from irad.ops.constant import scalar
from irad.ops.control import if_, raise_if, shown
from irad.ops.core import kept
from irad.ops.elementwise import eq


@dataclass(frozen=True, eq=False)
class Home:
    """Which array of the caller a parameter of a recursive function stands for. `changed`: it may have changed before the call."""

    number: int
    cell: Cell
    changed: bool


class Kept:
    """The arrays of the caller, and what they hold now."""

    def __init__(self, cells: list[Cell]) -> None:
        self.cells = cells  # grows as arrays are captured
        self._inside: list[Mapping[int, Home]] = []  # of the recursive functions around
        self._frozen: list[dict[int, Value | np.ndarray]] = []  # of the derivatives around
        self._carried: dict[int, Cell] = {}  # arrays of variables that loops around carry

    def now(self) -> dict[int, Value]:
        """The contents of the arrays that may have changed since the call, by their numbers."""
        return {k: x if isinstance(x, Value) else constant(x) for k, x in self.contents().items()}

    def contents(self) -> dict[int, Value | np.ndarray]:
        """The same, as the reader has them."""
        if self._frozen:
            return self._frozen[-1]
        out = {}
        for k, outer in enumerate(self.cells):
            home = self._home(k)
            cell = outer if home is None else home.cell
            if cell.content is not outer.given and (home is None or home.changed or cell.written):
                out[k] = cell.content
        return out | {k: cell.content for k, cell in self._carried.items()}

    def number(self, x: Array) -> int | None:
        """Which array of the caller this is, whole, or of those that loops around carry; None if it is none."""
        own = self.home(x)
        if own is not None or type(x) is not Array or x.steps or self._frozen:
            return own
        return next((k for k, cell in self._carried.items() if x.cell is cell), None)

    def home(self, x: Array) -> int | None:
        """Which array of the caller this is, whole; None if it is none, or a loop around decides which."""
        if type(x) is not Array or x.steps or self._frozen:
            return None
        for k, outer in enumerate(self.cells):
            home = self._home(k)
            if x.cell is (outer if home is None else home.cell):
                return k
        return None

    def stored(self) -> frozenset[int]:
        """The arrays of the caller that may have changed by now."""
        return frozenset(self.contents()) - self._carried.keys()

    def _home(self, k: int) -> Home | None:
        return next((homes[k] for homes in reversed(self._inside) if k in homes), None)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """While a function is differentiated: what it stores the caller does not see."""
        self._frozen.append(self.contents())
        try:
            yield
        finally:
            self._frozen.pop()

    @contextmanager
    def carried(self, cells: Iterable[Cell]) -> Iterator[list[int]]:
        """While a loop's body is read in which variables hold arrays that may be the caller's: numbers for them.

        `resolved` tells afterwards which arrays they are.
        """
        mine = {next(_numbers): cell for cell in cells}
        self._carried.update(mine)
        try:
            yield list(mine)
        finally:
            for k in mine:
                del self._carried[k]

    @contextmanager
    def inside(self, homes: Iterable[Home]) -> Iterator[None]:
        """While a recursive function is read: its parameters stand for arrays of the caller. Which array a variable of a loop
        around holds is not known in it."""
        self._inside.append({h.number: h for h in homes})
        carried, self._carried = self._carried, {}
        try:
            yield
        finally:
            self._carried = carried
            self._inside.pop()


_numbers = itertools.count(1 << 32)

# ---- programs ------------------------------------------------------------------------------------------------------------


def renumbered(graph: Graph, numbers: Mapping[int, int]) -> Graph:
    """The graph with other numbers for what is kept; what has none is not kept any more."""

    def node(n: Node) -> list[Node]:
        held = {numbers[k]: v for k, v in kept(n).items() if k in numbers}
        return [_keeping(n, held, [renumbered(r, numbers) for r in n.regions])]

    return graph.replace(nodes=[m for n in graph.nodes for m in node(n)])


def resolved(
    nodes: Iterable[Node], carried: Sequence[int], phases: Sequence[Mapping[int, int]], trip: Value | None
) -> list[Node]:
    """Nodes of a loop's body that keep arrays of the caller instead of the `carried` numbers.

    `phases[p]`: array of the caller -> the number whose content it is in trips of number p modulo the length; empty where
    none of them is the caller's. Which it is, is found out where a check raises, and only there.
    """
    return [m for n in nodes for m in _resolved(n, carried, phases, trip)]


def _resolved(n: Node, carried: Sequence[int], phases: Sequence[Mapping[int, int]], trip: Value | None) -> list[Node]:
    regions = [r.replace(nodes=resolved(r.nodes, carried, phases, trip)) for r in n.regions]
    held = kept(n)
    if not any(k in held for k in carried):
        return [_keeping(n, held, regions)]
    rest = {k: v for k, v in held.items() if k not in carried}
    if not phases:
        return [_keeping(n, rest, regions)]
    assert trip is not None
    targets = list(phases[0])

    def choice() -> dict[int, Value]:
        phase = trip % len(phases)
        contents = [held[phases[-1][t]] for t in targets]
        for p, numbers in enumerate(phases[:-1]):
            sides = [Graph((), (), tuple(x)) for x in ([held[numbers[t]] for t in targets], contents)]
            contents = list(emit(if_, eq(phase, p), regions=sides))
        return {**rest, **dict(zip(targets, contents))}

    with Builder(n.loc, n.deriv) as b:
        if n.op is raise_if:
            with Builder() as cold:
                raise_if(
                    scalar(True, "bool"), *shown(n), *choice().values(), **{**n.attrs, "keeps": tuple({**rest, **phases[0]})}
                )
            emit(if_, n.inputs[0], regions=[Graph((), tuple(cold.nodes), ()), Graph((), (), ())])
        else:
            b.nodes.append(_keeping(n, choice(), regions))
    return b.nodes


def _keeping(n: Node, held: Mapping[int, Value], regions: Sequence[Graph]) -> Node:
    """The node with what it keeps, and its regions, exchanged."""
    before = kept(n)
    if held == before:
        return n.replace(regions=regions)
    attrs = {**n.attrs, "keeps": tuple(held)} if held else {k: x for k, x in n.attrs.items() if k != "keeps"}
    inputs = (*n.inputs[: len(n.inputs) - len(before)], *held.values())
    return n.replace(inputs=inputs, attrs=attrs, regions=regions)
