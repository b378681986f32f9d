"""Lists that grow in a loop or on one path of a branch: how much room their arrays need, and that no element is changed later.

What is put into such a list is copied into its arrays. That means the same as Python's reference to the object as long as nobody
changes the object afterwards: the list watches the arrays that others may know, and containers must not change any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

from irad.core.affine import symbols
from irad.core.ir import Builder, Value
from irad.core.room import room, sizes_vary
from irad.core.types import Dim, Type
from irad.frontend.control.filling import holes
from irad.frontend.control.templates import Bad, Composite, Grown, Sized, Template, mutable, structure, walk
from irad.frontend.values.objects import Array, Cell, Maybe, Nullable
from irad.frontend.values.runs import Run, has_run, head, is_checked, larger, length_of, most_of, tail
from irad.ops.array import dim_value
from irad.ops.intervals import bound, dim_interval

MOST = 2**20  # trips for which room is made at run time; where there may be more, their number must be known
WRITTEN_OUT = 32  # trips of a loop that is written out where an array changes its size: then all sizes are known
_LONGEST = 2**26  # elements for which room is made
_FIRST = 256  # elements for which a call of a function that calls itself has room at least
NO_BOUND = "a list grows in it by a number of elements that nothing bounds; append them one by one"


class Grower:
    """What a loop or branch does with a list whose length differs. `inside`: is a value made there?"""

    inside: Callable[[Value], bool] = staticmethod(lambda v: False)

    def grown(self, old: Grown | None, element: Template, x: Any, y: list[Any]) -> Template:
        """The template of a list that was x (or had a template), and is y. May be `Bad`."""
        raise NotImplementedError

    def sized(self, old: Sized | None, before: Type, after: Type, axis: int) -> tuple[int, int, int, int, bool] | str:
        """For an array whose extent along an axis was that of one type (or had a template) and is now that of another: the room it needs
        and what else `Sized` wants; or why that cannot be."""
        return "its shape must be the same"

    def local(self, d: Dim) -> bool:
        """Is an extent computed on a side of the branch, or in a trip of the loop?"""
        return any(map(self.inside, symbols(d)))


class OfBranch(Grower):
    """The rules for lists that grow on one of the two sides of a branch."""

    def __init__(self, inside: Callable[[Value], bool], sides: Sequence[Builder] = ()):
        self.inside, self.sides = inside, sides  # `sides`: where they are made

    def grown(self, old: Grown | None, element: Template, x: Any, y: list[Any]) -> Template:
        assert old is None
        most, rows = larger(most_of(x), most_of(y)), None
        if most is not None:
            rows = most
            for run in filter(None, map(head, (x, y))):
                rows = None if rows is None else larger(rows, run.rows)
        if most is None or rows is None or any(map(self.local, (most, rows))):
            return Bad("it is a list whose length is computed on one path only; append in a loop of known length, under an if")
        a, b = length_of(x), length_of(y)
        same = a == b and not self.local(a)
        checked = is_checked(x) or is_checked(y)
        moves = any(run is not None and run.start != 0 for run in map(head, (x, y)))
        same = same and not moves
        return Grown(element, rows, a if same else 0, 0 if same else None, most, most, checked=checked, moves=moves)

    def sized(self, old: Sized | None, before: Type, after: Type, axis: int) -> tuple[int, int, int, int, bool] | str:
        if not sizes_vary():
            return "its shape must be the same"
        most = max(map(self._highest, (before.shape[axis], after.shape[axis])))
        return (int(most), int(most), int(most), 0, False) if most <= _LONGEST else "its length is not bounded"

    def _highest(self, d: Dim) -> float:
        """The greatest value of an extent; a side knows the bounds of what it computes."""
        found = dim_interval(d)[1]
        for b in self.sides:
            with b:
                found = min(found, dim_interval(d)[1])
        return found

    def bound_extents(self, outs: Sequence[Value], sides: Sequence[Sequence[Value]]) -> None:
        """What bounds the extents of the results of a branch: what bounds them on the sides."""
        for out, *found in zip(outs, *sides):
            for k, n in enumerate(out.type.shape):
                if not isinstance(n, int):
                    most = max(self._highest(v.type.shape[k]) for v in found)
                    if most < dim_interval(n)[1]:
                        bound(dim_value(n), 0, most)


class OfLoop(Grower):
    """The rules for lists that grow in a loop of at most `trips` trips (None: not bounded). `unbounded` gives the error for very
    many trips, if it helps to know their number. `level`: how much room lists get whose length nothing bounds (irad.core.room);
    None if that is an error."""

    def __init__(self, trips: Dim | None, unbounded: Callable[[], Exception | None], level: int | None = 0):
        self.trips, self.unbounded, self.level = trips, unbounded, level
        self.starts: dict[int, Run] = {}  # id of a template -> what its list holds at the start of a trip

    def grown(self, old: Grown | None, element: Template, x: Any, y: list[Any]) -> Template:
        highest = float("inf") if self.trips is None else dim_interval(self.trips)[1]
        if self.trips is not None and not isinstance(self.trips, int) and highest > MOST:
            error = self.unbounded()
            if error is not None:
                raise error
            highest = float("inf")
        start = self.starts.get(id(old)) if old is not None else None
        length, most = (start.length, start.most) if start is not None else (length_of(x), most_of(x))
        more, rate = most_of(y) - most, length_of(y) - length
        if old is not None and old.checked or is_checked(y) or (highest == float("inf") and dim_interval(more)[1] > 0):
            return self._checked(old, element, x, y)
        trips, bounded = (int(highest), True) if highest != float("inf") else (0, False)
        highest = dim_interval(more)[1]
        if highest == float("inf"):
            return Bad(NO_BOUND)
        growth = max(0, int(highest), old.growth if old is not None else 0)
        constant = isinstance(rate, int) and (old is None or old.rate == rate) and (bounded or rate == 0)
        if old is not None:
            base, first, room = old.base, old.after - trips * old.growth, old.rows
        else:
            base, first, room = length_of(x), most_of(x), head(x).rows if has_run(x) else 0  # type: ignore[union-attr]
        after = first + trips * growth
        rows = after if room == 0 else larger(after, room)
        if isinstance(after, int) and after > _LONGEST:
            return Bad("it is a list that may become longer than can be kept")
        if rows is None:
            return Bad("it is a list whose greatest length is not known")
        before = after - growth
        return Grown(element, rows, base, rate if constant else None, before, after, growth)  # type: ignore[arg-type]

    def sized(self, old: Sized | None, before: Type, after: Type, axis: int) -> tuple[int, int, int, int, bool] | str:
        if not sizes_vary() or (isinstance(self.trips, int) and self.trips <= WRITTEN_OUT):
            return "its shape must be the same"
        first = old.most if old is not None else dim_interval(before.shape[axis])[1]
        last = dim_interval(after.shape[axis])[1]
        if max(first, last) > _LONGEST:
            return "its length is not bounded"
        growth = max(0, int(last - first), old.growth if old is not None else 0)
        trips = float("inf") if self.trips is None else dim_interval(self.trips)[1]
        checked = (old is not None and old.checked) or (growth > 0 and trips > MOST)
        if not checked:
            start = int(first) if old is None else old.after - (0 if trips > MOST else int(trips)) * old.growth
            most = start + (int(trips) * growth if growth else 0)
            return (most, most - growth, most, growth, False) if most <= _LONGEST else "it may become longer than can be kept"
        if self.level is None and not (old is not None and old.checked):
            return NO_BOUND
        itemsize = before.numpy.itemsize * max(1, prod(n for k, n in enumerate(before.shape) if k != axis and isinstance(n, int)))
        rows = room(self.level or 0, itemsize)
        if old is not None and old.checked:
            rows = max(rows, old.type.dims[axis])
        while rows < last or rows // 2 < growth or rows // 2 < (first if old is None or not old.checked else 0):
            rows *= 2
        return rows, rows // 2, rows // 2, growth, True

    def _checked(self, old: Grown | None, element: Template, x: Any, y: list[Any]) -> Template:
        """The template of a list whose length nothing bounds: a check at the end of each trip says that there is room for the next one."""
        if self.level is None and not (old is not None and old.checked or is_checked(y)):
            return Bad(NO_BOUND)
        first = dim_interval(old.most if old is not None else most_of(x))[1]
        last = dim_interval(most_of(y))[1]
        if max(first, last) > _LONGEST:
            return Bad(NO_BOUND)
        itemsize = max((h.size * h.numpy.itemsize for h in holes(element) if h.static), default=8)
        held = old.rows if old is not None else head(x).rows if has_run(x) else 0  # type: ignore[union-attr]
        rows = max(room(self.level or 0, itemsize), held if isinstance(held, int) else 0)
        while rows < last or rows // 2 < last - first:
            rows *= 2
        left = 2  # what is left for a trip: a half, or less where this loop runs in a trip of another one
        while rows - rows // left < (first if old is None or not old.checked else 0):
            left *= 2
        most = max(rows - rows // left, int(old.most) if old is not None and old.checked and old.rows == rows else 0)  # type: ignore[arg-type]
        start = self.starts.get(id(old)) if old is not None else None
        before = start.start if start is not None else 0
        moves = (old is not None and old.moves) or any(run is not None and run.start != before for run in map(head, (x or [], y)))
        return Grown(element, rows, 0, None, most, most, checked=True, moves=moves)


class OfRecursion(Grower):
    """The rules for lists that a function returns which calls itself: each call has room for so many elements, which is checked.

    `level`: how much room (irad.core.room); at first for `given` elements, as many as there are in what the function is given.
    """

    def __init__(self, level: int, given: int):
        self.level, self.given = level, given

    def grown(self, old: Grown | None, element: Template, x: Any, y: list[Any]) -> Template:
        itemsize = max((h.size * h.numpy.itemsize for h in holes(element) if h.static), default=8)
        rows: Dim = room(self.level - 1, itemsize) if self.level else max(self.given, _FIRST)
        if old is not None and old.checked:
            rows = old.rows
        return Grown(element, rows, 0, None, rows, rows, checked=True)


class OfElements(Grower):
    """The rules for lists that are elements of a list."""

    def grown(self, old: Grown | None, element: Template, x: Any, y: list[Any]) -> Template:
        rows = room_of(x) if old is None else old.rows
        length = length_of(x) if old is None else old.base if old.rate is not None else None
        other = room_of(y)
        most = None if rows is None or other is None else larger(rows, other)
        if most is None:
            return Bad("it is a list of a length that is not known")
        same = length is not None and length == length_of(y) and isinstance(length, int)
        return Grown(element, most, length if same else 0, 0 if same else None, most, most)  # type: ignore[arg-type]


def room_of(xs: list[Any]) -> Dim | None:
    """How many elements of a list there is room for; None: not known."""
    return larger(most_of(xs), xs[0].rows) if has_run(xs) else len(xs)


def grown_parts(t: Template, x: Any, content: Callable[[Any], Any] = lambda x: x) -> Iterator[tuple[Grown, list[Any]]]:
    """The lists that grow in a thing of a template, and what they hold."""
    for part, (held,) in walk(t, x, content=content):
        if isinstance(part, Grown) and type(held) is part.cls:
            yield part, held  # type: ignore[misc]


class Taken:
    """What lists took into their arrays: arrays, and containers that may be changed."""

    def __init__(self, content: Callable[[Any], Any] = lambda x: x) -> None:
        self.content = content
        self.cells: dict[int, Cell] = {}
        self.containers: dict[int, Any] = {}

    def take(self, xs: list[Any]) -> None:
        """The items of a list that are plain so far, and what its arrays took earlier."""
        run = head(xs)
        if run is not None:
            self.cells.update((id(c), c) for c, _ in run.watch)
        for x in tail(xs):
            self._take(x)

    def _take(self, x: Any) -> None:
        if isinstance(x, (Maybe, Nullable)):
            x = x.value
        if isinstance(x, Array):
            self.cells.update((id(c), c) for c in x.shared())
            return
        if id(x) in self.containers:
            return
        found = structure(self.content(x))
        if found is None:
            return
        if mutable(x):
            self.containers[id(x)] = x
        for part in found[2]:
            if type(part) is Run:
                self.cells.update((id(c), c) for c, _ in part.watch)
            else:
                self._take(part)


def lock_taken(t: Template, x: Any, made: Any, taken: dict[int, Any], lock: Callable[[Any], None]) -> None:
    """Lock the containers of `made`, which stands for x from now on, that stand for ones that were taken."""
    for part, (old, new) in walk(t, x, made):
        if isinstance(part, Composite) and id(old) in taken and new is not None:
            lock(new)
