"""Lists whose length differs from trip to trip, or depends on data: their elements stand in arrays.

Such a list holds a `Run` as its first item: one array for each number or array of an element, with room for as many elements as
there may be. What was appended since follows it as plain items. Only the first item of a list may be a run.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

from irad.core.ir import Value
from irad.core.types import Dim, Type
from irad.errors import UnsupportedError
from irad.ops.array import Slice, broadcast_to, concat, dim_value, index, iota, reshape_to, slice_axis, update, zeros
from irad.ops.elementwise import cast, cast_to, lt, select
from irad.ops.intervals import definition, dim_interval


class Run:
    """The first `length` elements of a list: `element` is their template, `columns` hold what fills its holes, one row each.

    `most`: a bound of `length` that is in scope wherever the list is; `watch`: storage that elements may share, with its content;
    `checked`: the bound holds because a loop that nothing bounds checks it; then elements may be taken from the front without moving the
    others: the first row that counts is `start`, and `most` bounds where they end. `latest`: an index, and the number that was
    stored there just before, which may be of a narrower kind than the elements.
    """

    __slots__ = ("element", "columns", "length", "most", "watch", "checked", "start", "latest")

    def __init__(
        self,
        element: Any,
        columns: Sequence[Value],
        length: Dim,
        most: Dim,
        watch: Sequence[tuple[Any, Any]] = (),
        checked: bool = False,
        start: Dim = 0,
    ):
        self.element, self.columns, self.length, self.most = element, tuple(columns), length, most
        self.watch, self.checked, self.start = tuple(watch), checked, start
        self.latest: tuple[Any, Any] = (None, None)

    @property
    def rows(self) -> Dim:
        """How many elements there is room for."""
        return self.columns[0].type.shape[0] if self.columns else self.most

    @property
    def stale(self) -> bool:
        """Has storage been changed that elements may share?"""
        return any(cell.content is not content for cell, content in self.watch)


class RunTuple(list[Any]):
    """A tuple of as many elements as data decide: a list that nobody changes, of which the program sees that it is a tuple."""

    def __hash__(self) -> int:  # type: ignore[override]
        raise UnsupportedError(
            "a tuple of as many elements as data decide, as a key or in a set; use a number that says which it is"
        )


RunTuple.__name__ = "tuple"  # in errors
GROWING = (list, collections.deque, RunTuple)  # the classes of lists that may


def has_run(x: Any) -> bool:
    """Is x a list or deque with elements in arrays?"""
    if type(x) in GROWING:
        return len(x) > 0 and type(x[0]) is Run
    return isinstance(x, list) and list.__len__(x) > 0 and type(list.__getitem__(x, 0)) is Run


def head(xs: list[Any]) -> Run | None:
    return xs[0] if has_run(xs) else None


def tail(xs: list[Any]) -> list[Any]:
    """The plain items of a list, after its run."""
    return list(xs)[1:] if has_run(xs) else xs


def length_of(xs: list[Any]) -> Dim:
    n = base_length(xs)
    return xs[0].length + (n - 1) if has_run(xs) else n


def most_of(xs: list[Any]) -> Dim:
    n = base_length(xs)
    return xs[0].most + (n - 1) if has_run(xs) else n


def base_length(xs: list[Any]) -> int:
    """How many items a list or deque has, a run being one."""
    return list.__len__(xs) if isinstance(xs, list) else len(xs)


def refill(xs: Any, items: Sequence[Any]) -> None:
    """Let a list or deque hold other items."""
    items = list(items)
    if isinstance(xs, list):
        xs[:] = items
    else:
        xs.clear()
        xs.extend(items)


def is_checked(xs: list[Any]) -> bool:
    """Is the length of a list bounded because a loop checks it?"""
    return has_run(xs) and xs[0].checked


def larger(a: Dim, b: Dim) -> Dim | None:
    """The larger of two extents; None if that depends."""
    lo, hi = dim_interval(a - b)
    return a if lo >= 0 else b if hi <= 0 else None


# ---- columns ------------------------------------------------------------------------------------------------------------


def row(column: Value, position: Dim | Value) -> Value:
    """The row of a column at a position that is known to be there."""
    at, spec = _place(column, position)
    return index(column, *at, spec=spec)


def with_row(column: Value, position: Dim | Value, v: Value) -> Value:
    """A column with another row at a position."""
    at, spec = _place(column, position)
    return update(column, v, *at, spec=spec)


def _place(column: Value, position: Dim | Value) -> tuple[list[Value], tuple[Any, ...]]:
    rest = tuple(Slice(0, n) for n in column.type.shape[1:])
    if isinstance(position, int):
        return [], (position, *rest)
    return [position if isinstance(position, Value) else dim_value(position)], ("i", *rest)


def from_front(run: Run) -> Run:
    """The same elements, from row 0 on."""
    if run.start == 0:
        return run
    moved = []
    for c in run.columns:
        twice = concat(c, zeros(c.type), axis=0)
        moved.append(slice_axis(twice, 0, run.start, run.rows))
    return Run(run.element, moved, run.length, run.most, run.watch, run.checked)


def with_rows(column: Value, start: Dim, rows: Value) -> Value:
    """A column with other rows from a position on."""
    rest = tuple(Slice(0, n) for n in column.type.shape[1:])
    size = rows.type.shape[0]
    if isinstance(start, int):
        return update(column, rows, spec=(Slice(start, size), *rest))
    return update(column, rows, dim_value(start), spec=(Slice(None, size), *rest))


def without_row(column: Value, position: Dim | Value) -> Value:
    """A column in which the rows behind a position have moved up by one, with room for as many as before."""
    rows, shape = column.type.shape[0], column.type.shape
    if rows == 0:
        return column
    moved = slice_axis(concat(column, zeros(column.type), axis=0), 0, 1, rows)
    at = cast_to(position, "i64") if isinstance(position, Value) else dim_value(position)
    before = lt(iota(type=Type("i64", (rows,)), axis=0), broadcast_to(at, (rows,)))
    return select(broadcast_to(reshape_to(before, (rows, *(1 for _ in shape[1:]))), shape), column, moved)


def empty_column(of: Type, rows: Dim) -> Value:
    """A column with room for `rows` elements of a type."""
    return zeros(Type(of.dtype, (rows, *of.shape)))


def with_room(column: Value, rows: Dim, axis: int = 0) -> Value:
    """A column that has room for `rows` elements: the very value if it has."""
    have = column.type.shape[axis]
    if have == rows:
        return column
    if isinstance(have, int) and isinstance(rows, int) and have > rows:
        return slice_axis(column, axis, 0, rows)
    if axis:
        shape = tuple(rows - have if k == axis else d for k, d in enumerate(column.type.shape))
        return concat(column, zeros(Type(column.type.dtype, shape)), axis=axis)
    return with_rows(empty_column(Type(column.type.dtype, column.type.shape[1:]), rows), 0, column)


_FEW = 8  # rows that are stored one by one


def stacked(values: Sequence[Value], of: Type, rows: Dim) -> Value:
    """A column that begins with these rows."""
    if len(values) > _FEW:
        parts = [reshape_to(v, (1, *of.shape)) for v in values]
        room = rows - len(values)
        return concat(*parts, *([] if room == 0 else [empty_column(of, room)]), axis=0)
    column = empty_column(of, rows)
    for k, v in enumerate(values):
        column = with_row(column, k, v)
    return column


# ---- errors -----------------------------------------------------------------------------------------------------------------


def of_a_loop(e: UnsupportedError, v: Any) -> UnsupportedError:
    """The error; it says that it would not be there if the loop were written out that v is a result of, or a part of one."""
    if not isinstance(v, Value):
        return e
    node = definition(v)
    while node is not None and (node.op.moves or node.op in (update, cast)):
        v = node.inputs[0]
        node = definition(v)
    e.sources = {v}
    return e
