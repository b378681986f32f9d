"""What changes a list whose elements stand in arrays (irad.frontend.control.lists), at positions that may depend on data."""

from __future__ import annotations

from typing import Any

from irad.core.ir import Value
from irad.errors import UnsupportedError
from irad.frontend.control.filling import leaves, widened
from irad.frontend.control.list_rules import Taken
from irad.frontend.control.lists import arrays_in, at, change, item, joined, part, position, whole
from irad.frontend.control.merge import elements_of, meet
from irad.frontend.control.templates import Bad
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, from_dim, is_traced
from irad.frontend.values.objects import StructureError, is_number
from irad.frontend.values.positions import resolve_slice
from irad.frontend.values.runs import Run, has_run, head, is_checked, length_of, most_of, refill, with_row, without_row
from irad.ops.array import dim_value
from irad.ops.control import raise_if
from irad.ops.elementwise import ne
from irad.ops.intervals import dim_interval


def store(r: Reader, xs: list[Any], key: Any, value: Any) -> None:
    """xs[key] = value."""
    if isinstance(key, slice):
        _store_slice(r, xs, key, value)
        return
    for x in _containers(value):
        r.state.lock(x)  # what is stored has another name here, whose changes are not followed
    if isinstance(key, int) and -(len(xs) - 1) <= key < 0:
        change(r, xs)
        xs[key] = value
        return
    run, n = whole(r, xs), length_of(xs)
    element = meet(run.element, elements_of([value], None))  # type: ignore[arg-type]
    if isinstance(element, Bad):
        raise StructureError("an element of a list that grows is given another kind: " + element.message)
    at_ = position(key, n, "list assignment index out of range")
    values = leaves(element, value, r.read)
    columns = [with_row(c, at_, v) for c, v in zip(widened(run, element), values)]
    watch = [*run.watch, *((c, c.content) for c in arrays_in(value))]
    change(r, xs)
    new = Run(element, columns, run.length, run.most, watch, run.checked)
    if isinstance(key, Arr) and is_number(value):
        new.latest = (key.value, value)
    refill(xs, [new])


def _store_slice(r: Reader, xs: list[Any], key: slice, value: Any) -> None:
    """xs[a:b] = value, xs[a:b:c] = value."""
    new = value if has_run(value) else r.items(value)
    start, stop, step = _bounds(xs, key)
    if step == 1:
        replace(r, xs, joined(r, joined(r, part(r, xs, slice(None, start)), new), part(r, xs, slice(stop, None))))
        return
    if has_run(new):
        raise UnsupportedError(
            "a list whose length depends on data is assigned to a slice with a step; assign the elements one by one"
        )
    first, size, step = resolve_slice(key, length_of(xs))
    if not isinstance(size, int) or size != len(new):
        message = f"attempt to assign sequence of size {len(new)} to extended slice of size {{}}"
        raise_if(ne(dim_value(size), len(new)), dim_value(size), exc="ValueError", message=message)
    for k, x in enumerate(new):
        store(r, xs, from_dim(first + k * step), x)


def _bounds(xs: list[Any], key: slice) -> tuple[Any, Any, int]:
    """Where a slice begins and ends, as a store sees it: not before it begins."""
    n = length_of(xs)
    if isinstance(n, int) and not is_traced(key):
        start, stop, step = key.indices(n)
        return start, max(start, stop), step
    first, size, step = resolve_slice(key, n)
    return from_dim(first), from_dim(first + size), step


def replace(r: Reader, xs: list[Any], new: list[Any]) -> None:
    """Let a list have other elements."""
    change(r, xs)
    refill(xs, new)


def _containers(value: Any) -> list[Any]:
    taken = Taken()
    taken.take([value])
    return list(taken.containers.values())


def pop(r: Reader, xs: list[Any], key: Any = -1) -> Any:
    """xs.pop(key)."""
    if isinstance(key, int) and key == -1:
        change(r, xs)
        if len(xs) > 1:
            return xs.pop()
        run = xs[0]
        out = at(r, run, position(-1, run.length, "pop from empty list"))
        most = run.most - 1 if run.most != 0 else 0
        refill(xs, [Run(run.element, run.columns, run.length - 1, most, run.watch, run.checked, run.start)])
        return out
    if isinstance(key, int) and key == 0 and is_checked(xs):
        return pop_first(r, xs)
    at_ = _counted(key, xs, "pop index out of range")
    out = item(r, xs, at_) if has_run(xs) else at(r, whole(r, xs), at_.value)
    _remove(r, xs, at_)
    return out


def pop_first(r: Reader, xs: Any) -> Any:
    """xs.pop(0), xs.popleft(): the elements of a list that a loop checks stay where they are."""
    message = "pop index out of range" if isinstance(xs, list) else "pop from an empty deque"
    position(0, length_of(xs), message)
    run = xs[0]
    if not run.checked or (len(xs) > 1 and dim_interval(run.length)[0] < 1):
        run = whole(r, xs, anywhere=True)
    more = list(xs)[1:] if run is xs[0] else []
    out = at(r, run, 0)
    if run.checked:
        rest = [Run(run.element, run.columns, run.length - 1, run.most, run.watch, run.checked, run.start + 1)]
    else:
        rest = [whole(r, left)] if (left := part(r, [run], slice(1, None))) else []
    replace(r, xs, [*rest, *more])
    return out


def remove_at(r: Reader, xs: list[Any], key: Any) -> None:
    """del xs[key], of a position or a slice."""
    if not isinstance(key, slice):
        _remove(r, xs, _counted(key, xs, "list assignment index out of range"))
        return
    start, stop, step = _bounds(xs, key)
    if step != 1:
        raise StructureError("deleting a slice with a step of a list whose length or bounds depend on data; keep what is left")
    replace(r, xs, joined(r, part(r, xs, slice(None, start)), part(r, xs, slice(stop, None))))


def _counted(key: Any, xs: list[Any], message: str) -> Any:
    """A position, checked and counted from the front."""
    at_ = position(key, length_of(xs), message)
    return Arr(at_, True) if isinstance(at_, Value) else from_dim(at_)


def _remove(r: Reader, xs: list[Any], key: Any) -> None:
    """Take out the element at a position counted from the front."""
    run = whole(r, xs)
    if not isinstance(run.length, int) or isinstance(key, Arr):  # lengths stay as they are: a derivative keeps what was there
        columns = [without_row(c, key.value if isinstance(key, Arr) else key) for c in run.columns]
        most = run.most - 1 if isinstance(run.most, int) and run.most > 0 else run.most
        replace(r, xs, [Run(run.element, columns, run.length - 1, most, run.watch, run.checked)])
        return
    new = joined(r, part(r, xs, slice(None, key)), part(r, xs, slice(r.operator("add", key, 1), None)))
    left, before = head(new), most_of(xs)
    if left is not None and dim_interval(before)[1] < dim_interval(left.most)[1]:
        left.most = before  # there are no more of them than there were, wherever it was
    replace(r, xs, new)


def insert(r: Reader, xs: list[Any], key: Any, value: Any) -> None:
    """xs.insert(key, value)."""
    start, _, _ = _bounds(xs, slice(key, key))
    replace(r, xs, joined(r, [*part(r, xs, slice(None, start)), value], part(r, xs, slice(start, None))))


def extend(r: Reader, xs: list[Any], other: list[Any]) -> None:
    """xs.extend(other), where elements of either stand in arrays."""
    replace(r, xs, joined(r, xs, other))
