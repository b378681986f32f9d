"""The merge of the two sides of a branch: one `if` that yields what differs, and what the variables hold after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import NoneType
from typing import Any

import numpy as np

from irad.core.foreign import with_article
from irad.core.ir import Graph, Value, emit
from irad.core.lazy_dataclass import dataclass, replace
from irad.core.once import import_later
from irad.core.types import I64, Dim, Type
from irad.frontend.control.filling import Maker, holes, leaves, storage_of, watch_sides, zero
from irad.frontend.control.holders import held_around, is_last_result, knower, known, references
from irad.frontend.control.list_rules import OfBranch, Taken, grown_parts
from irad.frontend.control.merge import Joiner
from irad.frontend.control.templates import Ary, Bad, Composite, Opt, Same, Sized, Template, arrays_in, sized_in
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.choices import Outside
from irad.frontend.values.extents import equal
from irad.frontend.values.objects import STALE, UNDEFINED, Array, Cell, Either, StructureError
from irad.frontend.values.runs import Run
from irad.frontend.values.state import Items, Name, Place, Region, Storage
from irad.frontend.values.steps import At, Step
from irad.ops.control import if_
from irad.ops.core import effects
from irad.ops.intervals import affine_of

_ALTERNATIVES = 8  # arrays that one variable may be, up to which stores into it are followed
Live = frozenset[str] | None  # names of the running function that are read later; None: all


def graph_of(region: Region, results: Sequence[Value] = ()) -> Graph:
    return Graph((), tuple(region.nodes), tuple(results))


@dataclass(eq=False)
class _Item:
    """Something to be merged: a place (None: the result of the branch), and what it is on the two sides."""

    place: Place | None
    a: Any
    b: Any
    template: Template

    def side(self, k: int) -> Any:
        """What it is on a side, whose state is in force."""
        if isinstance(self.place, Storage):
            return Array(self.place.owner)
        return self.b if k else self.a


class Merge:
    """The merge of two sides of a branch."""

    def __init__(self, r: Reader, cond: Arr, a: Region, b: Region, live: Live):
        self.r, self.cond, self.a, self.b, self.live = r, cond, a, b, live
        self.lists = OfBranch(lambda v: a.defines(v) or b.defines(v), (a.builder, b.builder))
        self.joiner = Joiner(
            lambda obj, side: r.state.born(obj) is not (a, b)[side].builder,
            (a.content, b.content),
            self.lists,
            r.captures.is_object,
            there=Outside(False, r.state.born, lambda v: a.defines(v) or b.defines(v), r.state.stands),
            themselves=r.themselves,
        )
        self.joiner.static = lambda: any(v not in r.loop_of for v in r.decided_by(cond))
        self.became: dict[int, list[Cell]] = {}  # id of storage of a side -> what stands for it after the branch
        self.exports = Exports(r, (a, b))
        flag = Name(r.frame.flags, "return")
        self.returned = [x.value(flag) is True for x in (a, b)]  # the side has returned: it needs its variables no more
        self.uses: dict[int, set[Any]] = {}  # id of storage -> what the arrays are merged with that show it
        self.containers: dict[int, Any] = {}  # id of a template -> the container that was made of two
        self.rebuilt: dict[int, list[Callable[[], Array] | None]] = {}  # id of a template -> how to make each side's array
        self.known: tuple[dict[int, np.ndarray], ...] = (
            {},
            {},
        )  # of each side: id of an array -> what it holds at last, if known

    def run(self) -> Any:
        items = self._items()
        self.taken = self._taken(items)
        variables = [i for i in items if not isinstance(i.place, Storage)]
        each = lambda parts: list({id(t): t for i in variables for t in parts(i.template)}.values())
        self._pair(each(arrays_in), each(sized_in))
        self.own = {id(i.template): cells for i in variables if (cells := self._taken_over(i)) is not None}
        sides = [self._fill(region, items, k) for k, region in enumerate((self.a, self.b))]
        if not sides[0] and not any(effects(n) != "none" for region in (self.a, self.b) for n in region.nodes):
            outs: tuple[Value, ...] = ()
        else:
            which, (a, b) = _each_once(sides, [_numbers(*x) for x in zip((self.a, self.b), sides)])
            hints = _hints(items)
            named = [hints[which.index(k)] if which.index(k) < len(hints) else "" for k in range(len(a))]
            found = emit(if_, self.cond.value, regions=[graph_of(self.a, a), graph_of(self.b, b)], hints=named)
            outs = tuple(found[k] for k in which)
            self.lists.bound_extents(outs, sides)
        return self._place(items, list(outs))

    def _items(self) -> list[_Item]:
        places = {k: p for region in (self.a, self.b) for k, (p, _) in region.log.old.items()}
        items = []
        for place in places.values():
            if self._dead_name(place):
                continue
            a, b = self.a.value(place), self.b.value(place)
            template = self._template(place, a, b)
            if isinstance(template, Bad):
                if isinstance(place, Items) and not known(self.r, place.owner, self.live):
                    continue
                a, b, template = self._of_one_side(place, a, b, template)
            items.append(_Item(place, a, b, template))
        self.joiner.of_result = True
        items.append(_Item(None, self.a.result, self.b.result, self.joiner.join(self.a.result, self.b.result)))
        return items

    def _of_one_side(self, place: Place, a: Any, b: Any, t: Template) -> tuple[Any, Any, Template]:
        """A variable of two kinds: it is what it is on the side that goes on, if the other has returned."""
        own = isinstance(place, Name) and place.owner is self.r.frame.env and place.name not in self.r.frame.liveness.always
        if not own or self.returned[0] == self.returned[1]:
            return a, b, t
        a, b = (a, UNDEFINED) if self.returned[1] else (UNDEFINED, b)
        new = self.joiner.join(a, b)
        return (a, b, new.child) if isinstance(new, Opt) else (a, b, new)

    def _dead_name(self, place: Place) -> bool:
        return (
            isinstance(place, Name) and self.live is not None and place.owner is self.r.frame.env and place.name not in self.live
        )

    def _template(self, place: Place, a: Any, b: Any) -> Template:
        if isinstance(place, Storage):
            whole = Array(place.owner)
            return Same(a) if a is b else Ary(whole.type, (whole, whole))
        if self.a.stale(a) or self.b.stale(b):
            return Bad(STALE)
        t = self.joiner.join_result(a, b) if is_last_result(self.r, place) else self.joiner.join(a, b)
        if isinstance(place, Items) and isinstance(t, Bad) and known(self.r, place.owner, self.live):
            e = StructureError(
                f"{with_article(type(place.owner).__name__)} is changed under a condition that depends on data so that {t.message}; "
                "keep its length and types the same on both paths"
            )
            e.site = import_later("irad.frontend.reading.keyed").differing(self.r, place.owner, a, b)
            raise e
        return t

    def _lock(self, items: list[_Item]) -> None:
        """Containers that become one by data may not change from now on where they are known otherwise: which would is not followed.

        In a called function, expressions that are being evaluated around may know what its own variables do not hold.
        """
        inner = any(i.place is not None and i.place.owner is not self.r.frame.env for i in items)
        around, is_known = held_around(self.r) if inner else lambda x: False, knower(self.r)
        for a, b, node in self.joiner.ambiguous(lambda x: around(x) or is_known(x), self.r.state.locked):
            self._lock_all(a, b, self.containers.get(id(node)))
        taken = [t.containers for t in self.taken]
        self._lock_all(*(x for found in taken for x in found.values()))
        for a, b, node in self.joiner.pairs if any(taken) else ():
            if id(a) in taken[0] or id(b) in taken[1]:
                self._lock_all(self.containers.get(id(node)))

    def _lock_all(self, *xs: Any) -> None:
        for x in xs:
            if x is not None:
                self.r.state.lock(x)

    def _taken(self, items: list[_Item]) -> tuple[Taken, Taken]:
        """What lists that grow take on the two sides."""
        out = Taken(self.a.content), Taken(self.b.content)
        for taken, of in zip(out, ("a", "b")):
            for i in items:
                if not isinstance(i.place, Storage):
                    for _, xs in grown_parts(i.template, getattr(i, of), taken.content):
                        taken.take(xs)
        return out

    def _watch(self, runs: Iterable[Run]) -> None:
        """Lists that took arrays which others know watch them."""
        cells: list[Cell] = []
        for taken, region in zip(self.taken, (self.a, self.b)):
            for c in taken.cells.values():
                cells += self.became.get(id(c), []) if self.r.state.born(c) is region.builder else [c]
        for run in runs:
            run.watch = tuple((c, c.content) for c in cells)

    def _made(self, obj: Any, node: Composite) -> Any:
        self.containers[id(node)] = obj
        return self.r.state.met(obj)

    # ---- arrays ----

    def _pair(self, templates: list[Ary], sized: list[Sized]) -> None:
        """Decide what each merged array is: one new array, or an array of either side that lives on."""
        uses, fresh = self.uses, {id(t) for t in templates if self._both_fresh(t)}
        both: list[Ary | Sized] = [*templates, *sized]
        for t in both:
            for x, y in (t.pair, t.pair[::-1]):
                for cell in x.cells() if isinstance(x, Array) else ():
                    uses.setdefault(id(cell), set()).add(id(y.cell) if id(t) in fresh else id(t))
        for t in templates:
            if not (id(t) in fresh and all(len(uses[id(x.cell)]) == 1 for x in t.pair)):
                self.rebuilt[id(t)] = [None if x is None else self.exports.portable(x, k) for k, x in enumerate(t.pair)]

    def _taken_over(self, i: _Item) -> tuple[Cell, ...] | None:
        """The storage from before the branch that a variable of several sizes may hold, if nobody else knows what it holds."""
        if not isinstance(i.template, Sized) or not isinstance(i.place, (Name, NoneType)):
            return None
        r, out = self.r, list[Cell]()
        for x, region, taken in zip(i.template.pair, (self.a, self.b), self.taken):
            if type(x) is not Array or not x.fresh_whole or x.cell.parts is None or id(x.cell) in taken.cells:
                return None
            if self.uses[id(x.cell)] != {id(i.template)}:
                return None
            if r.state.born(x.cell) is region.builder:
                continue
            local = i.place is None or i.place.owner is r.frame.env or len(r.frames) <= 2
            mine = i.place is not None and i.place.owner.names.get(i.place.name) is x
            if not local or references(r, x.cell) > mine:
                return None
            out += storage_of(x)
        return tuple(dict.fromkeys(out))

    def _both_fresh(self, t: Ary) -> bool:
        """Two arrays made on the two sides, whole."""
        return all(
            isinstance(x, Array) and x.fresh_whole and self.r.state.born(x.cell) is region.builder
            for x, region in zip(t.pair, (self.a, self.b))
        )

    # ---- values ----

    def _fill(self, region: Region, items: list[_Item], side: int) -> list[Value]:
        """The values that a side yields, made at its end."""
        seen: set[int] = set()
        with region.builder, region.log.replayed():
            out = [v for i in items for v in self._leaves(i, side, seen)]
            return out + self.exports.values(side)

    def _leaves(self, i: _Item, side: int, seen: set[int]) -> list[Value]:
        x = i.side(side)
        if x is UNDEFINED and not isinstance(i.template, (Opt, Same, Bad)):
            return [zero(t) for t in holes(i.template, seen)]
        return leaves(i.template, x, lambda array: self._read(array, side), seen)

    def _read(self, array: Array, side: int) -> Any:
        out = self.r.read(array)
        if isinstance(out, np.ndarray):
            self.known[side][id(array)] = out
        return out

    def _known(self, t: Ary) -> np.ndarray | None:
        """What two arrays of known content hold at the ends of their sides, if it is the same: known after the branch too."""
        x, y = (found.get(id(v)) for found, v in zip(self.known, t.pair))
        if x is None or y is None or x.dtype != y.dtype or x.shape != y.shape:
            return None
        return x if x.tobytes() == y.tobytes() else None

    def _place(self, items: list[_Item], outs: list[Value]) -> Any:
        n = len(outs) - len(self.exports.items)
        self.exports.outs = outs[n:]
        maker = Maker(outs[:n], self._array, self._made)
        maker.decided, maker.by = lambda: self.r.decided_by(self.cond), self.cond.value
        result = None
        for i in items:
            if i.place is None:
                result = maker.make(i.template)
            elif isinstance(i.place, Storage):
                self.r.state.assign(i.place, i.a if isinstance(i.template, Same) else next(maker.values))
            else:
                self.r.state.give(i.place, maker.make(i.template))
        for array, cells in self.exports.watching:
            array.watch = tuple((c, c.content) for c in cells)
        self._watch(maker.runs.values())
        watch_sides(maker.sized, self.own, self.became)
        self._lock(items)
        return result

    def _array(self, t: Ary, value: Value) -> Array:
        out = self._one_array(t, value)
        for x in t.pair:
            for c in x.cells() if isinstance(x, Array) else ():
                self.became.setdefault(id(c), []).extend(out.cells())
        return out

    def _one_array(self, t: Ary, value: Value) -> Array:
        sides, found = self.rebuilt.get(id(t)), self._known(t)
        if sides is None:
            return merged(Array(Cell(value if found is None else found)), *t.pair)
        left, right = (None if make is None else make() for make in sides)
        if left is not None and right is not None:
            if left.type.dtype != right.type.dtype:
                why = "this array is of another dtype on another path, so it was copied; copy it (x = x.copy()) before storing into it"
                return self.exports.watching_copy(merged(Array(Cell(value), frozen=why), left, right), left, right)
            if len(left.cells()) + len(right.cells()) > _ALTERNATIVES:
                why = "this variable may be one of many arrays by now; copy the array (x = x.copy()) before storing into it"
                return self.exports.watching_copy(merged(Array(Cell(value), frozen=why), left, right), left, right)
            return Either(self.cond, left, right, value if found is None else found)
        only = left if left is not None else right
        assert only is not None
        return only


class Exports:
    """What the sides yield besides, so that arrays made or viewed in them can be used after the branch.

    A cell made in a side is exported by its content, once; a view by the positions that were computed in the side; a
    choice between arrays by its condition. On the other side these are zeros, which nobody reads.
    """

    def __init__(self, r: Reader, regions: tuple[Region, Region]):
        self.r, self.regions = r, regions
        self.items: list[tuple[int, Type, Callable[[], Value]]] = []  # side, type, value at the end of the side
        self.outs: list[Value] = []  # of the `if`, once it is emitted
        self.watching: list[tuple[Array, tuple[Cell, ...]]] = []  # copies of views, and what they are views of
        self.known: dict[tuple[int, int], Callable[[], Any]] = {}
        self.keep: list[Any] = []

    def values(self, side: int) -> list[Value]:
        return [value() if of == side else zero(t) for of, t, value in self.items]

    def _export(self, side: int, t: Type, value: Callable[[], Value]) -> Callable[[], Value]:
        k = len(self.items)
        self.items.append((side, t, value))
        return lambda: self.outs[k]

    def portable(self, x: Array, side: int) -> Callable[[], Array]:
        """Makes an array of a side usable outside: the same storage, seen through the same steps."""
        if isinstance(x, Either):
            cond, left, right = self._scalar(x.cond.value, side), self.portable(x.left, side), self.portable(x.right, side)
            return lambda: Either(Arr(cond(), True), left(), right(), None)
        if any(self._local_shape(s, side) for s in x.steps):
            content = self._export(side, x.type, lambda: self.r.value(x))
            why = "this view has a length that was computed under a condition; copy it before storing into it"
            return lambda: self.watching_copy(merged(Array(Cell(content()), frozen=why), x, x), x)
        with self.regions[side].log.replayed():
            stale = x.stale
        cell, steps = self._cell(x.cell, side), [self._step(s, side) for s in x.steps]

        def make() -> Array:
            out = Array(cell(), tuple(step() for step in steps), x.type, x.strides, x.frozen)
            out.loose = x.loose
            if x.watch and not stale:
                self.watching.append((out, tuple(c for c, _ in x.watch)))
            out.watch = x.watch
            return out

        return make

    def watching_copy(self, out: Array, *xs: Array) -> Array:
        """`out`, a copy of the content of `xs`, which is out of date once one of them changes."""
        self.watching.append((out, tuple(c for x in xs for c in x.shared())))
        return out

    def _cell(self, cell: Cell, side: int) -> Callable[[], Cell]:
        region = self.regions[side]
        if self.r.state.born(cell) is not region.builder:
            return lambda: cell
        if (side, id(cell)) not in self.known:
            whole = Array(cell)
            self.keep.append(cell)
            content = self._export(side, whole.type, lambda: self.r.value(whole))
            made: list[Cell] = []

            def make() -> Cell:
                if not made:
                    made.append(Cell(content(), cell.name))
                return made[0]

            self.known[side, id(cell)] = make
        return self.known[side, id(cell)]

    def _scalar(self, v: Value, side: int) -> Callable[[], Value]:
        if not self.regions[side].defines(v):
            return lambda: v
        if (side, v.id) not in self.known:
            self.known[side, v.id] = self._export(side, v.type, lambda: v)
        return self.known[side, v.id]

    def _local_shape(self, s: Step, side: int) -> bool:
        shape = s.plan.shape if isinstance(s, At) else getattr(s, "shape", ())
        return any(self.regions[side].defines(v) for v in Type("f64", shape).symbols)

    def _step(self, s: Step, side: int) -> Callable[[], Step]:
        if not isinstance(s, At) or not any(self.regions[side].defines(v) for v in s.plan.operands):
            return lambda: s
        operands = [self._scalar(v, side) for v in s.plan.operands]
        return lambda: At(s.key, replace(s.plan, operands=tuple(v() for v in operands)))


def merged(new: Array, a: Array, b: Array) -> Array:
    """A new array in place of either of two, of the memory order that both have."""
    if not (a.contiguous and b.contiguous):
        new.laid_out(a.strides if a.strides == b.strides else None)
    return new


def _each_once(sides: list[list[Value]], numbers: list[list[Any]]) -> tuple[list[int], tuple[list[Value], list[Value]]]:
    """What two sides yield, with each pair of whole numbers once, and where in that each stands: arrays whose lengths were one have one
    length afterwards. `numbers`: what tells the values of each side apart."""
    seen: dict[Any, int] = {}
    which: list[int] = []
    a: list[Value] = []
    b: list[Value] = []
    for x, y, m, n in zip(*sides, *numbers):
        key = (m, n) if x.type == y.type == I64 else object()
        if key not in seen:
            seen[key] = len(a)
            a.append(x)
            b.append(y)
        which.append(seen[key])
    return which, (a, b)


_COMPARED = 16  # whole numbers of a side that are compared with each other


def _numbers(region: Region, values: list[Value]) -> list[Any]:
    """For each whole number that a side yields the first one that is surely equal to it."""
    known: dict[Value, Dim] = {}
    found: list[Any] = []
    with region.builder:
        for v in values:
            like = v
            if v.type == I64 and v not in known and len(known) <= _COMPARED:
                form = affine_of(v)
                like = next((u for u, other in known.items() if equal(other, form)), v)
                if like is v:
                    known[v] = form
            found.append(id(like))
    return found


def _hints(items: list[_Item]) -> list[str]:
    """Names for the values that an `if` or a loop yields."""
    out: list[str] = []
    seen: set[int] = set()
    for i in items:
        out += ["" if i.place is None else i.place.hint] * len(holes(i.template, seen))
    return out
