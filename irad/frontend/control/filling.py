"""What fills the holes of a template for one thing, and the thing built back from values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from irad.core import room
from irad.core.ir import Value
from irad.core.once import import_later
from irad.core.room import Outgrown
from irad.core.tree import rebuild
from irad.core.types import BOOL, I64, Dim, Type
from irad.frontend.control.templates import (
    Ary,
    Bad,
    Chosen,
    Composite,
    Grown,
    Kinds,
    Null,
    Num,
    Opt,
    Pick,
    Same,
    Sized,
    Template,
    Words,
    equal,
    members,
    show,
    sides_of,
    structure,
)
from irad.frontend.numpy.python_scalars import OVERFLOW
from irad.frontend.values.arr import Arr, constant, lift
from irad.frontend.values.choices import OneOf, alike, number_of, of_number, place, things
from irad.frontend.values.extents import at_most
from irad.frontend.values.objects import UNDEFINED, Array, Cell, Choice, Maybe, Nullable, Poison, StructureError, Text, Varying
from irad.frontend.values.runs import Run, empty_column, from_front, has_run, length_of, stacked, tail, with_room, with_row
from irad.ops.array import Slice, concat, dim_value, index, slice_axis, update
from irad.ops.constant import const, scalar
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to, eq, select
from irad.ops.intervals import affine_of, bound, definition, dim_interval

OF_A_SIZE = "an array whose size depends on data may be one of several arrays, and is stored into; copy it first (x = x.copy())"
STALE_LIST = (
    "an array was put into this list, and has been changed since, or may be one that has; "
    "put a copy into the list (xs.append(x.copy()))"
)


def chosen(among: tuple[Any, ...], x: Any) -> Value:
    """The number of a string or known thing among the options."""
    own = things(x)
    assert own is not None
    return scalar(place(among, x), "i64") if own[0] is x else _renumbered(number_of(x).value, own, among)


def _renumbered(v: Value, own: Sequence[Any], among: Sequence[Any]) -> Value:
    """Numbers of options (of one thing, or a column of a list) as those among others."""
    if alike(own, among[: len(own)]):
        return v
    number = lambda o: const(value=place(among, o), type=v.type)
    out = number(own[0])
    for k, o in enumerate(own[1:], 1):
        out = select(eq(v, k), number(o), out)
    return out


def leaves(t: Template, obj: Any, read: Any, seen: set[int] | None = None) -> list[Value]:
    """Values that fill the holes of `t` for `obj`, made in the current builder. `read(array)` gives an array's content."""
    seen = set() if seen is None else seen
    if isinstance(t, Num):
        return [number_value(read(obj) if isinstance(obj, Array) else obj, t.dtype)]
    if isinstance(t, (Same, Bad)):
        return []
    if isinstance(t, Pick):
        end = obj if t.before is None else import_later("irad.frontend.python.text_pieces").end_of(obj, t.before)
        return [chosen(t.options, end)]
    if isinstance(t, Chosen):
        at = obj.place if type(obj) is OneOf else obj.at if isinstance(obj, Choice) else None
        return [scalar(place(t.options, obj), "i64") if at is None else _renumbered(at.value, obj.options, t.options)]
    if isinstance(t, Kinds):
        own = members(t.kids, obj)
        number = _renumbered(obj.at.value, obj.options, own) if isinstance(obj, Choice) else scalar(place(own, obj), "i64")
        return [number, *(v for k, x in zip(t.kids, own) for v in leaves(k, UNDEFINED if x is None else x, read, seen))]
    if isinstance(t, Opt):
        if obj is UNDEFINED:
            return [scalar(False, "bool"), *map(zero, holes(t.child, seen))]
        flag = lift(obj.defined).value if isinstance(obj, Maybe) else scalar(True, "bool")
        return [flag, *leaves(t.child, obj.value if isinstance(obj, Maybe) else obj, read, seen)]
    if isinstance(t, Null) and t.other is not None:
        first, second, turned = sides_of(t, obj)
        there = (
            scalar(first is not None, "bool") if not isinstance(obj, Varying) else ~obj.there.value if turned else obj.there.value
        )
        parts = ((t.child, first), (t.other, second))
        return [there, *(v for k, x in parts for v in (map(zero, holes(k, seen)) if x is None else leaves(k, x, read, seen)))]
    if isinstance(t, Null):
        if obj is None:
            return [scalar(False, "bool"), *map(zero, holes(t.child, seen))]
        flag = obj.there.value if isinstance(obj, Nullable) else scalar(True, "bool")
        return [flag, *leaves(t.child, obj.value if isinstance(obj, Nullable) else obj, read, seen)]
    if id(t) in seen:
        return []
    seen.add(id(t))
    if isinstance(t, Ary):
        content = read(obj)
        return [cast_to(content.value if isinstance(content, Arr) else constant(content), t.type.dtype)]
    if isinstance(t, Grown):
        return _run_leaves(t, obj, read)
    if isinstance(t, Sized):
        return _sized_leaves(t, read(obj))
    kids = obj.operands if isinstance(t, Words) else structure(obj)[2]  # type: ignore[index]
    return [v for k, x in zip(t.kids, kids) for v in leaves(k, x, read, seen)]  # type: ignore[attr-defined]


def holes(t: Template, seen: set[int] | None = None) -> list[Type]:
    """Types of the values that `leaves` gives, each shared template once."""
    seen = set() if seen is None else seen
    if isinstance(t, Num):
        return [Type(t.dtype)]
    if isinstance(t, (Pick, Chosen)):
        return [I64]
    if isinstance(t, Kinds):
        return [I64, *(h for k in t.kids for h in holes(k, seen))]
    if isinstance(t, Null) and t.other is not None:
        return [BOOL, *holes(t.child, seen), *holes(t.other, seen)]
    if isinstance(t, (Opt, Null)):
        return [BOOL, *holes(t.child, seen)]
    if isinstance(t, (Same, Bad)) or id(t) in seen:
        return []
    seen.add(id(t))
    if isinstance(t, Grown):
        columns = [Type(h.dtype, (t.rows, *h.shape)) for h in holes(t.element)]
        return [I64] * (t.moves + (t.rate is None)) + columns
    if isinstance(t, Sized):
        return [I64, t.type]
    return [t.type] if isinstance(t, Ary) else [h for k in t.kids for h in holes(k, seen)]  # type: ignore[attr-defined]


def number_value(x: Any, dtype: str) -> Value:
    """A number as a scalar value of a dtype; an int of more than 64 bits raises where the program gets there."""
    if type(x) is int and dtype == "i64" and not -(2**63) <= x < 2**63:
        raise_if(scalar(True, "bool"), exc="OverflowError", message=OVERFLOW)
        return scalar(0, dtype)
    return cast_to(x.value, dtype) if isinstance(x, Arr) else scalar(np.asarray(x).astype(Type(dtype).numpy).item(), dtype)


def zero(t: Type) -> Value:
    return const(value=0, type=t)


def _run_leaves(t: Grown, xs: list[Any], read: Any) -> list[Value]:
    """Values for a list: its length, unless the number of the trip tells it, and its columns."""
    if has_run(xs) and xs[0].stale:
        raise StructureError(STALE_LIST)
    read = getattr(read, "elements", read)
    types = holes(t.element)
    run = xs[0] if has_run(xs) else None
    if run is not None and not t.moves:
        run = from_front(run)
    start: Dim = run.start if run is not None else 0
    end = length_of(xs) + start
    if t.checked and dim_interval(end)[1] > dim_interval(t.most)[1]:
        raise_if(dim_value(end) > dim_value(t.most), exc=Outgrown.__name__, message=room.MESSAGE, keeps=())
    rows = [leaves(t.element, x, read) for x in tail(xs)]
    if run is not None:
        columns = [with_room(c, t.rows) for c in widened(run, t.element)]
        for k, values in enumerate(rows):
            columns = [with_row(c, start + run.length + k, v) for c, v in zip(columns, values)]
    else:
        columns = [stacked([values[k] for values in rows], h, t.rows) for k, h in enumerate(types)]
    counts = [*([dim_value(start)] if t.moves else []), *([dim_value(length_of(xs))] if t.rate is None else [])]
    if t.checked:
        counts = [at_most(n, t.most) for n in counts]
    return [*counts, *columns]


def _sized_leaves(t: Sized, content: Any) -> list[Value]:
    """The extent and the array with room."""
    v = cast_to(content.value if isinstance(content, Arr) else constant(content), t.type.dtype)
    n = v.type.shape[t.axis]
    if t.checked and dim_interval(n)[1] > t.most:
        raise_if(dim_value(n) > t.most, exc=Outgrown.__name__, message=room.MESSAGE, keeps=())
    grown = _appended(t, v)
    return [
        at_most(dim_value(n), t.most) if t.checked else dim_value(n),
        with_room(v, t.type.shape[t.axis], t.axis) if grown is None else grown,
    ]


def _appended(t: Sized, v: Value) -> Value | None:
    """For a value made by joining elements to the part of an array that is in use: the same array with those elements stored in
    the room behind that part. None if the value was not made so, or if there may not be enough room."""
    joined = definition(v)
    old = definition(joined.inputs[0]) if joined is not None and joined.op is concat and joined.attrs["axis"] == t.axis else None
    if joined is None or old is None or old.op is not index or old.inputs[0].type != t.type or len(old.inputs) != 1:
        return None
    part = old.attrs["spec"][t.axis]
    if not all(isinstance(s, Slice) for s in old.attrs["spec"]):
        return None
    if part.start != 0 or part.step != 1 or old.out.type.shape[t.axis] != part.size:
        return None
    if any(
        s.start != 0 or s.step != 1 or s.size != n for k, (s, n) in enumerate(zip(old.attrs["spec"], t.type.shape)) if k != t.axis
    ):
        return None
    room_, at = old.inputs[0], part.size
    for more in joined.inputs[1:]:
        places = [Slice(None if k == t.axis else 0, n) for k, n in enumerate(more.type.shape)]
        if isinstance(at, int):
            places[t.axis] = Slice(at, more.type.shape[t.axis])
        room_ = update(room_, more, *([] if isinstance(at, int) else [dim_value(at)]), spec=tuple(places))
        at = at + more.type.shape[t.axis]
    return room_


def widened(run: Run, element: Template) -> list[Value]:
    """The columns of a run as those of a wider template of its elements."""
    return _widened(run.element, element, iter(run.columns), run.rows)


def _widened(have: Template, want: Template, columns: Iterator[Value], rows: Dim) -> list[Value]:
    if isinstance(have, Num) and isinstance(want, Num):
        return [cast_to(next(columns), want.dtype)]
    if equal(have, want):
        return [next(columns) for _ in holes(have)]
    if isinstance(want, Pick):
        if isinstance(have, Pick):
            return [_renumbered(next(columns), have.options, want.options)]
        if isinstance(have, Same) and (k := place(want.options, have.obj)) is not None:
            return [const(value=k, type=Type("i64", (rows,)))]
    flag = lambda there: const(value=there, type=Type("bool", (rows,)))
    if isinstance(want, Null) and want.other is None and not (isinstance(have, Null) and have.other is not None):
        if isinstance(have, Null):
            return [next(columns), *_widened(have.child, want.child, columns, rows)]
        if isinstance(have, Same) and have.obj is None:
            return [flag(False), *(empty_column(h, rows) for h in holes(want.child))]
        return [flag(True), *_widened(have, want.child, columns, rows)]
    if isinstance(want, Grown) and isinstance(have, Grown) and equal(have.element, want.element):
        lengths = [next(columns)] if have.rate is None else [const(value=have.base, type=Type("i64", (rows,)))]
        inner = [next(columns) for _ in holes(have.element)]
        return [*(lengths if want.rate is None else []), *(with_room(c, want.rows, 1) for c in inner)]
    if isinstance(want, Composite) and isinstance(have, Composite) and len(want.kids) == len(have.kids):
        return [v for a, b in zip(have.kids, want.kids) for v in _widened(a, b, columns, rows)]
    raise StructureError(f"a list of {show(have)} becomes a list of {show(want)}")


class Maker:
    """Builds things back from the values of their holes; `array(template, value)` makes an array object.

    `trip`: how many trips have been made where the things are built: at the start of a trip, or, with `all`, after the loop. `handed`: the
    values are parameters or results of a graph, of which nothing else says how large counts may be.
    """

    def __init__(
        self,
        values: Sequence[Value],
        array: Any,
        made: Any = lambda obj, node: obj,
        trip: Dim | None = None,
        all: bool = True,
        handed: bool = False,
    ):
        self.trip, self.all, self.handed = trip, all, handed
        self.runs: dict[int, Run] = {}  # id of a template -> what the list holds
        self.sized: list[tuple[Sized, Array]] = []
        self.values: Iterator[Value] = iter(values)
        self.array, self.made = array, made
        self.decided: Callable[[], frozenset[Value]] = frozenset  # what decided between two kinds
        self.by: Value | None = None  # which of two paths it is
        self.memo: dict[int, Any] = {}

    def make(self, t: Template) -> Any:
        if isinstance(t, Same):
            return t.obj
        if isinstance(t, Bad):
            return Poison(t.message, self.decided(), t.dicts)
        if isinstance(t, Num):
            return Arr(next(self.values), t.weak, t.mixed, (self.by, *t.sides) if self.by is not None and t.sides else None)
        if isinstance(t, Pick):
            which = of_number(t.options, Arr(next(self.values), True))
            return which if t.before is None else import_later("irad.frontend.python.text_pieces").together([t.before, which])
        if isinstance(t, Chosen):
            return OneOf(t.options, Arr(next(self.values), True), t.homes, t.wanted)
        if isinstance(t, Kinds):
            at = Arr(next(self.values), True)
            made = [self.make(k) for k in t.kids]
            return Choice(tuple(x.value if isinstance(x, Maybe) else x for x in made), at)
        if isinstance(t, Opt):
            flag = Arr(next(self.values), True)
            return Maybe(self.make(t.child), flag)
        if isinstance(t, Null):
            there, value = Arr(next(self.values), True), self.make(t.child)
            return Nullable(value, there) if t.other is None else Varying(value, there, other=self.make(t.other))
        if id(t) not in self.memo:
            self.memo[id(t)] = self._new(t)
        return self.memo[id(t)]

    def _new(self, t: Template) -> Any:
        if isinstance(t, Ary):
            return self.array(t, next(self.values))
        if isinstance(t, Sized):
            return self._of_size(t)
        if isinstance(t, Words):
            return Text(t.template, tuple(map(self.make, t.kids)))
        if isinstance(t, Grown):
            return self.made(t.cls([self._run(t)]), t)
        assert isinstance(t, Composite)
        return self.made(rebuild(t.cls, t.meta, [self.make(k) for k in t.kids]), t)

    def _of_size(self, t: Sized) -> Array:
        n, v = next(self.values), next(self.values)
        bound(n, 0, t.after if self.all else t.most)
        out = Array(Cell(slice_axis(v, t.axis, 0, affine_of(n))), frozen=OF_A_SIZE)
        self.sized.append((t, out))
        return out

    def _run(self, t: Grown) -> Run:
        most = t.after if self.all else t.most
        start: Dim = 0
        if t.moves:
            start = self._count(most)
        if t.rate is None:
            length: Dim = self._count(most)
        else:
            assert self.trip is not None or not t.rate
            length = t.base + (self.trip * t.rate if self.trip is not None else 0)
        out = self.runs[id(t)] = t.run([next(self.values) for _ in holes(t.element)], length, most, start)
        return out

    def _count(self, most: Dim) -> Dim:
        n = at_most(next(self.values), most) if self.handed else next(self.values)
        bound(n, 0, dim_interval(most)[1])
        return affine_of(n)


def watch_sides(
    sized: list[tuple[Sized, Array]], own: Mapping[int, tuple[Cell, ...]], became: Mapping[int, list[Cell]] = MappingProxyType({})
) -> None:
    """Arrays of several sizes that may be known otherwise are copies: they may not be read any more once an array that they stand for is
    changed. `own`: id of a template -> the storage of the others. `became`: id of storage -> what stands for it now."""
    for t, out in sized:
        if id(t) in own:
            out.frozen, out.cell.parts = "", own[id(t)]
            continue
        cells = {id(d): d for x in t.pair if isinstance(x, Array) for c in x.shared() for d in became.get(id(c), [c])}
        out.watch = tuple((c, c.content) for c in cells.values())


def storage_of(x: Array) -> tuple[Cell, ...]:
    """The storage that is meant by an array that nobody else knows, or that this was made of."""
    return x.cell.parts or (x.cell,)


def fresh_array(t: Ary, value: Value) -> Array:
    """An array object with storage of its own."""
    return Array(Cell(value))
