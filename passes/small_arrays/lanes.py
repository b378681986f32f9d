"""Which axes of small arrays in a loop are lanes: no operation of the loop mixes their elements.

The directions of forward mode and the elements of a batch go through a loop side by side. Such an axis is found by its
use alone: axes that an operation pairs form a class (by union), and a class is spoilt where one of its axes is reduced,
contracted, cut, joined or merged with another. What remains may stay one vector while the other axes are written out.

Values from outside the loop, constants and arrays in memory are read in either form, so they tie nothing together: it is
the operand of an operation (`Use`) that has a class, and a value only where the loop itself computes it element by element.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from irad.core.ir import Graph, Node, Value
from irad.core.types import Type
from irad.ops.array import Product, Slice, operand_types
from irad.ops.control import if_
from irad.ops.regions import is_loop, loop_of
from irad.passes.small_arrays.scalarize_rules import MAX_SIZE, RULES, fold_of

SIZES = (4, 8, 16)  # extents that fill vectors: axes of other extents are never lanes

FEW_ROWS = (
    4  # vectors that an array may become in a loop that only reads and stores large arrays: no registers last from trip to trip
)

_FREE = MAX_SIZE * max(SIZES)  # elements up to which a constant is written where it is read

Use = tuple[Node, int]  # operand k of a node
Axis = tuple[Any, int]  # an axis of a Value or of a Use
Ties = tuple[list[tuple[int, int, int]], set[int]]  # (operand, its axis, the result's axis); new axes of the result


class Lanes:
    """The lane axis of values (`of`) and of operands (`wanted`) in a loop; no entry where there is none."""

    def __init__(self, loop: Node | None = None):
        self.of: dict[Value, int] = {}
        self.wanted: dict[Use, int] = {}
        if loop is not None and any(list(_axes(v.type)) for r in loop.regions for v in r.params):
            self._parent: dict[Axis, Axis] = {}
            self._spoilt: set[Axis] = set()
            self._inside: set[Value] = set()
            self._derived: list[Axis] = []
            carried = (v.type for r in loop.regions for v in r.params if v.type.shape and v.type.static)
            self._most = MAX_SIZE if any(t.size <= _FREE for t in carried) else FEW_ROWS
            self._control(loop)
            self._choose()

    # ---- classes ----

    def _find(self, a: Axis) -> Axis:
        root = a
        while (up := self._parent.get(root, root)) is not root:
            root = up
        while a is not root:
            self._parent[a], a = root, self._parent.get(a, a)
        return root

    def _join(self, a: Axis, b: Axis) -> None:
        for x in (a, b):
            self._parent.setdefault(x, x)
        x, y = self._find(a), self._find(b)
        if x is not y:
            self._parent[y] = x

    def _spoil(self, a: Axis) -> None:
        self._spoilt.add(self._parent.setdefault(a, a))

    # ---- nodes ----

    def _region(self, graph: Graph) -> None:
        for n in graph.nodes:
            if is_loop(n) or n.op is if_:
                self._control(n)
            elif n.op.name == "push":
                self._pushed(n)
            elif not free(n) and written_out(n):
                self._node(n)

    def _control(self, n: Node) -> None:
        """Carries and results keep their axes."""
        loop = loop_of(n)
        bodies = [loop.body] if loop else n.regions
        for k, out in enumerate(n.outputs):
            params = loop.params(k) if loop else []
            self._inside.update((out, *params))
            for a in _axes(out.type):
                for p in params:
                    self._join((out, a), (p, a))
        for r in n.regions:
            self._region(r)
        for k, out in enumerate(n.outputs):
            sources = [*(r.results[k] for r in bodies), *([loop.inits[k]] if loop else [])]
            for a in _axes(out.type):
                for v in sources:
                    if v in self._inside:
                        self._join((out, a), (v, a))

    def _pushed(self, n: Node) -> None:
        """What a tape holds of small arrays is scalars (see irad.passes.small_arrays.scalarize)."""
        for v in n.inputs[1:]:
            if v in self._inside and v.type.static and v.type.size <= MAX_SIZE:
                for a in _axes(v.type):
                    self._spoil((v, a))

    def _node(self, n: Node) -> None:
        out = n.out
        self._inside.add(out)
        tied, new = ties(n)
        met = set()
        for k, a, b in tied:
            if n.inputs[k].type.shape[a] in SIZES:
                self._join(((n, k), a), (out, b))
                met.add((k, a))
                new = new | {b}
        for k, v in enumerate(n.inputs):
            for a in _axes(v.type):
                if (k, a) not in met:
                    self._spoil(((n, k), a))
                if v in self._inside:
                    self._join(((n, k), a), (v, a))
        for b in _axes(out.type):
            if b not in new:
                self._spoil((out, b))
            elif n.deriv:
                self._derived.append((out, b))

    # ---- the choice ----

    def _choose(self) -> None:
        """Choose the lanes among the classes that are left: those of derivatives, and of each array one axis, that of the larger class."""
        members: dict[Axis, list[Axis]] = {}
        for a in self._parent:
            members.setdefault(self._find(a), []).append(a)
        roots = {self._find(a) for a in self._derived if a in self._parent}
        roots -= {self._find(a) for a in self._spoilt}
        large = lambda a: isinstance(a[0], Value) and a[0].type.size // a[0].type.dims[a[1]] > self._most
        roots = {r for r in roots if not any(map(large, members[r]))}
        for r in sorted(roots, key=lambda r: -len(members[r])):
            here = members[r]
            if len({x for x, _ in here}) == len(here) and not any(x in self.of or x in self.wanted for x, _ in here):
                self.of.update((x, a) for x, a in here if isinstance(x, Value))
                self.wanted.update((x, a) for x, a in here if not isinstance(x, Value))


def _axes(t: Type) -> Iterator[int]:
    """The axes that may be lanes."""
    if t.shape and t.static:
        yield from (a for a, d in enumerate(t.dims) if d in SIZES)


def free(n: Node) -> bool:
    """Does the node make an array whose elements can be had in any form, where they are read?"""
    small = bool(n.outputs) and n.outputs[0].type.shape and n.outputs[0].type.static and n.outputs[0].type.size <= _FREE
    return bool(small) and (n.op.name in ("const", "iota") or (n.op.name == "broadcast" and not n.inputs[0].type.shape))


def written_out(n: Node) -> bool:
    """Is there a rule that writes the op out, element by element?"""
    arrays = [v for v in (*n.inputs, *n.outputs) if v.type.shape]
    if not arrays or not all(v.type.static and v.type.size > 0 for v in arrays):
        return False
    if "spec" in n.attrs:
        return not operand_types(n.attrs["spec"])
    return n.op.elementwise or n.op.name in RULES or fold_of(n.op) is not None


# ---- which axes of operands are axes of the result ----------------------------------------------------------------


def ties(n: Node) -> Ties:
    """The axes that the op carries over, element by element, and the result's axes along which it repeats."""
    name, arrays = n.op.name, [(k, v.type) for k, v in enumerate(n.inputs) if v.type.shape]
    if n.op.elementwise:
        return [(k, a, a) for k, t in arrays for a in range(t.rank)], set()
    if fold_of(n.op) is not None:
        kept = [a for a in range(n.inputs[0].type.rank) if a not in n.attrs["axes"]]
        return [(0, a, b) for b, a in enumerate(kept)], set()
    if name == "broadcast":
        dims = n.attrs["dims"]
        same = [(0, a, b) for a, b in enumerate(dims) if n.inputs[0].type.shape[a] == n.attrs["shape"][b]]
        return same, set(range(n.out.type.rank)) - {b for _, _, b in same}
    if name == "reshape":
        return [(0, a, b) for a, b in _kept_by_reshape(n.inputs[0].type.dims, n.out.type.dims)], set()
    if name == "transpose":
        return [(0, a, b) for b, a in enumerate(n.attrs["perm"])], set()
    if name in ("concat", "cumsum", "cumprod"):
        return [(k, a, a) for k, t in arrays for a in range(t.rank) if a != n.attrs["axis"]], set()
    if name == "dot":
        sides = Product(n).spread(range(n.out.type.rank), [None] * n.inputs[0].type.rank)
        return [(k, a, b) for k, at in enumerate(sides) for a, b in enumerate(at) if b is not None], set()
    return (_place_ties(n) if "spec" in n.attrs else []), set()  # a large constant stays as it is


def _kept_by_reshape(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[int, int]]:
    """Axes with the same extent and as many elements before them."""
    where = {(prod(old[:a]), d): a for a, d in enumerate(old) if d != 1}
    return [(where[key], b) for b, d in enumerate(new) if (key := (prod(new[:b]), d)) in where]


def _place_ties(n: Node) -> list[tuple[int, int, int]]:
    """The ties of index, update and update_add: an axis that is sliced whole is an axis of the result."""
    out, at = [], 0
    for a, (s, d) in enumerate(zip(n.attrs["spec"], n.inputs[0].type.dims)):
        if not isinstance(s, Slice):
            continue
        if s == Slice(0, d):
            out += [(0, a, at)] if n.op.name == "index" else [(0, a, a), (1, at, a)]
        at += 1
    return out
