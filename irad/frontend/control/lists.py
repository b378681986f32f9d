"""What Python does with lists, for those whose elements stand in arrays (irad.frontend.values.runs)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import reduce
from itertools import islice
from typing import Any

import numpy as np

from irad.core.foreign import base_items, is_mapped, is_written, of_class, with_article
from irad.core.ir import Value
from irad.core.once import import_later
from irad.core.rows import Mapped, Objects, Options, Rows
from irad.core.tree import attributes, parts, rebuild
from irad.core.types import Dim
from irad.errors import IradTypeError, PythonTypeError, UnsupportedError
from irad.frontend.control.filling import STALE_LIST, Maker, holes, leaves, widened
from irad.frontend.control.merge import elements_of, meet
from irad.frontend.control.templates import Ary, Bad, Composite, Grown, Num, Pick, Template, show
from irad.frontend.numpy.join import stack
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, from_dim, lift
from irad.frontend.values.choices import place
from irad.frontend.values.extents import at_most
from irad.frontend.values.index import getitem
from irad.frontend.values.objects import Array, Cell, Closure, Stand, StructureError, describe, is_number, is_traced_deep
from irad.frontend.values.outside import CONTAINERS
from irad.frontend.values.positions import position_of, resolve_slice
from irad.frontend.values.runs import (
    Run,
    RunTuple,
    from_front,
    has_run,
    head,
    is_checked,
    larger,
    length_of,
    most_of,
    of_a_loop,
    row,
    tail,
    with_room,
    with_rows,
)
from irad.ops.array import dim_value, slice_axis
from irad.ops.control import raise_if
from irad.ops.intervals import affine_of, dim_interval

FROZEN = (
    "an array that is an element of a list which grows in a loop is stored into; give the list another one "
    "(xs[k] = xs[k] + ...), or keep the arrays in one array"
)


def whole(r: Reader, xs: list[Any], anywhere: bool = False) -> Run:
    """All elements of a list in arrays, from row 0 on unless they may be `anywhere`; the list itself stays as it is."""
    run = head(xs)
    if run is not None and run.stale:
        raise of_a_loop(StructureError(STALE_LIST), run.columns[0])
    if run is not None and len(xs) == 1:
        return run if anywhere else from_front(run)
    element = elements_of(xs, None)
    if element is None or isinstance(element, Bad):
        raise StructureError("the elements of this list are of several kinds: " + getattr(element, "message", "there are none"))
    return _run(r, xs, element, most_of(xs))


def _run(r: Reader, xs: list[Any], element: Template, rows: Dim) -> Run:
    """The elements of a list in arrays with room for so many."""
    run, most = head(xs), most_of(xs)
    if run is not None:
        room = larger(rows, run.rows)
        rows = rows if room is None else room
    length = length_of(xs)
    t = Grown(element, rows, length, 0, most, most)
    watch = [(c, c.content) for x in tail(xs) for c in arrays_in(x)]
    out = Run(element, leaves(t, xs, r.read), length, most, [*(run.watch if run is not None else ()), *watch], is_checked(xs))
    for x in tail(xs):
        if isinstance(x, (list, dict)) or (hasattr(x, "__dict__") and not isinstance(x, Arr)):
            r.lock(x, out.columns[0] if out.columns else None)
    return out


def arrays_in(x: Any) -> Iterator[Cell]:
    """The storage of the arrays in an element."""
    if isinstance(x, Array):
        yield from x.shared()
    elif isinstance(x, (list, tuple)):
        for e in base_items(x):
            yield from arrays_in(e) if type(e) is not Run else (c for c, _ in e.watch)
    elif isinstance(x, dict):
        for e in dict.values(x):
            yield from arrays_in(e)
    elif hasattr(x, "__dict__") and not isinstance(x, type):
        for e in vars(x).values():
            yield from arrays_in(e)


# ---- reading --------------------------------------------------------------------------------------------------------


def at(r: Reader, run: Run, position: Dim | Value) -> Any:
    """The element at a position that is known to be there."""

    def made(obj: Any, node: Any) -> Any:
        r.lock(r.state.made(obj), run.columns[0] if run.columns else None)
        return obj

    def array(t: Ary, v: Value) -> Array:
        out = Array(Cell(v), frozen=FROZEN)
        out.watch = run.watch
        return out

    if run.start != 0:
        position = run.start + (affine_of(position) if isinstance(position, Value) else position)
    values = [row(c, position) for c in run.columns]
    return Maker(values, array, made).make(run.element)


def length(xs: list[Any]) -> Any:
    """len(xs)."""
    return from_dim(length_of(xs))


def is_empty(xs: list[Any]) -> bool:
    """Is it known that there are no elements?"""
    return length_of(xs) == 0


def item(r: Reader, xs: list[Any], key: Any) -> Any:
    """xs[key], of a position or a slice."""
    if isinstance(key, slice):
        out = part(r, xs, key)
        if type(xs) is not RunTuple:
            return r.state.made(out)
        return RunTuple(out) if has_run(out) else tuple(out)
    if isinstance(key, int) and -(len(xs) - 1) <= key < 0:
        return xs[key]
    n = xs[0].length
    if isinstance(key, int) and key >= 0 and isinstance(n, int) and n <= key < n + len(xs) - 1:
        return xs[1 + key - n]
    run = whole(r, xs, anywhere=True) if not (isinstance(key, int) and _in_run(key, xs)) else xs[0]
    if run.stale:
        raise of_a_loop(StructureError(STALE_LIST), run.columns[0])
    if isinstance(key, Arr) and key.value is run.latest[0]:
        return run.latest[1]
    return at(r, run, position(key, length_of(xs), f"{_RETURNED.get(type(xs), list).__name__} index out of range"))


def _in_run(key: int, xs: list[Any]) -> bool:
    """Is the element surely in the arrays?"""
    return key < -(len(xs) - 1) or 0 <= key < dim_interval(xs[0].length)[0]


def position(key: Any, n: Dim, message: str) -> Dim | Value:
    """An index counted from the front, checked."""
    v = key.value if isinstance(key, Arr) else None
    if v is None:
        k = key.__index__()
        lo, hi = dim_interval(n)
        need = k + 1 if k >= 0 else -k
        if hi < need:
            raise IndexError(message)
        if lo < need:
            raise_if(dim_value(n) < need, exc="IndexError", message=message)
        return k if k >= 0 else n + k
    if key.name[0] not in "iu" and not (key.name == "bool" and key.weak):
        raise PythonTypeError(f"list indices must be integers or slices, not {key.name}")
    return position_of(v, n, message)


def part(r: Reader, xs: list[Any], key: slice) -> list[Any]:
    if key.start is None and key.stop is None and key.step is None:
        return list(xs)
    run = whole(r, xs)
    start, size, step = resolve_slice(key, run.length)
    if size == 0:
        return []
    if step == 1 and isinstance(start, int) and isinstance(run.most, int):
        room = size if isinstance(size, int) else run.most - start  # what is behind the last element is never read
        columns = [slice_axis(c, 0, start, room) for c in run.columns]
        return [Run(run.element, columns, size, room, run.watch, run.checked)] if room > 0 else []
    columns = [getitem(Arr(slice_axis(c, 0, 0, run.length)), key).value for c in run.columns]
    n = columns[0].type.shape[0] if columns else size
    if isinstance(n, int) or not isinstance(run.most, int):
        return [Run(run.element, columns, n, n, run.watch)]
    most = int(min(run.most, dim_interval(n)[1]))
    if isinstance(key.start, int) and key.stop is None and step > 0:
        most = min(most, -key.start if key.start < 0 else max(run.most - key.start, 0))
    if most == 0:
        return []
    return [Run(run.element, [with_room(c, most) for c in columns], n, most, run.watch, run.checked)]


def array_of(r: Reader, xs: list[Any]) -> Arr:
    """np.array(xs)."""
    run = whole(r, xs)
    columns = iter([slice_axis(c, 0, 0, run.length) for c in run.columns])
    return _array(run.element, columns)


def _array(t: Template, columns: Iterator[Value], depth: int = 1) -> Arr:
    """The elements of a template, whose columns have so many axes for positions, as one array."""
    if isinstance(t, (Num, Ary)):
        return Arr(next(columns))
    if isinstance(t, Composite) and t.cls in (list, tuple):
        return stack([_array(k, columns, depth) for k in t.kids], axis=depth)
    if isinstance(t, Grown) and t.rate == 0:
        cut = (slice_axis(c, depth, 0, t.base) for c in islice(columns, len(holes(t.element))))
        return _array(t.element, cut, depth + 1)
    if isinstance(t, Grown):
        raise UnsupportedError("an array of lists whose lengths depend on data; fill an array of the final size instead")
    raise IradTypeError(f"an array of a list whose elements are {show(t)}; make one of the numbers in them")


# ---- changing --------------------------------------------------------------------------------------------------------


def refilled(r: Reader, xs: Any, new: Any) -> Any:
    """A list or deque, in place of whose elements it gets those of a new one."""
    if isinstance(xs, list):
        r.setitem(xs, slice(None), new)
    else:
        change(r, xs).clear()
        xs.extend(new)
    return xs


def change(r: Reader, container: Any) -> Any:
    """A container, checked that it may be changed; the change is logged."""
    if not hasattr(container, "clear"):
        raise UnsupportedError(
            f"items of {with_article(type(container).__name__)} are assigned; compiled code assigns those of arrays and containers"
        )
    r.outside.note(container)
    found = r.captures.of_caller(container)
    if found is not None and isinstance(container, CONTAINERS):
        r.outside.hold(container, found)
    elif found is not None or r.captures.path(container) is not None:
        raise UnsupportedError(
            f"{with_article(type(container).__name__)} from outside the function is changed; return the new value, "
            "or change the arrays in it in place (x[...] = ...)"
        )
    if r.state.locked(container):
        error = r.locked_error(
            container,
            f"{with_article(type(container).__name__)} is changed that is one of several, depending on data; "
            "make a new one on each path, or choose between their items",
        )
        if id(container) in r.of_lists:
            import_later("irad.frontend.reading.keyed").element_changed(r, error, container)
        raise error
    r.state.touch(container)
    return container


def joined(r: Reader, xs: list[Any], ys: list[Any]) -> list[Any]:
    """xs + ys."""
    if not has_run(ys):
        return [*xs, *ys]
    if not xs:
        return list(ys)
    second = whole(r, ys)
    element = meet(elements_of(xs, None), second.element)  # type: ignore[arg-type]
    if isinstance(element, Bad):
        raise StructureError("two lists of other elements are put together: " + element.message)
    if second.checked and isinstance(second.most, int):  # room that is left is not handed on
        cut = [with_room(c, second.most) for c in second.columns]
        second = Run(second.element, cut, second.length, second.most, second.watch, True)
    n, most = length_of(xs), most_of(xs) + second.rows
    first = _run(r, xs, element, most)
    pairs = zip(first.columns, widened(second, element))
    columns = [with_rows(with_room(a, most), n, b) for a, b in pairs]
    checked = first.checked or second.checked
    both = Run(element, columns, n + second.length, most_of(xs) + second.most, [*first.watch, *second.watch], checked)
    return [both]


def alike(xs: list[Any]) -> bool:
    """Are the elements numbers, or tuples or lists of them, of one structure?"""
    t = elements_of(xs, None)
    kids = t.kids if isinstance(t, Composite) and _compares_items(t.cls) else (t,)
    return bool(kids) and all(isinstance(k, Num) for k in kids)


def _compares_items(cls: type) -> bool:
    """Is it a list, tuple or named tuple, of which the items alone decide what equals it?"""
    return cls is list or (issubclass(cls, tuple) and of_class(cls, "__eq__") is tuple.__eq__)


def equal_to(r: Reader, xs: list[Any], x: Any) -> Value:
    """Which elements equal x."""
    first = head(xs)
    if width_of(xs) or (first is not None and isinstance(first.element, Pick)):
        run = whole(r, xs)
        parts_ = _parts(run.element, x)
        columns = [slice_axis(c, 0, 0, run.length) for c in run.columns]
        if parts_ is None:
            return lift(r.operand(r.call(np.zeros, [from_dim(run.length), bool]))).value
        hits = [lift(r.operand(r.operator("eq", r.wrap(Arr(c)), p))).value for c, p in zip(columns, parts_)]
        return reduce(lambda a, b: a & b, hits)
    out = r.operand(r.operator("eq", r.wrap(array_of(r, xs)), x))
    return lift(out).value


def _parts(t: Template, x: Any) -> list[Any] | None:
    """The numbers in a thing, if it is made like the elements of a list; None if it equals none of them for its structure."""
    if isinstance(t, Num) and is_number(x):
        return [x]
    if isinstance(t, Pick) and not is_traced_deep(x):
        k = place(t.options, x)
        return None if k is None else [k]
    if not isinstance(t, Composite) or not _compares_items(t.cls) or any(isinstance(k, Ary) for k in t.kids):
        raise StructureError("a search for an element with an array in it, in a list; look for a number that says which it is")
    same = type(x) is t.cls or (issubclass(t.cls, tuple) and isinstance(x, tuple) and _compares_items(type(x)))
    if not same or len(x) != len(t.kids):
        return None
    found = [_parts(k, e) for k, e in zip(t.kids, x)]
    return None if None in found else [n for ns in found if ns is not None for n in ns]


# ---- where lists leave the program ------------------------------------------------------------------------------------------


_FACTORIES = "irad.frontend.control.factories"
_RETURNED: dict[type, type] = {list: list, RunTuple: tuple}  # what the caller gets
_FEW = 16  # elements that are returned one by one
_CYCLE = object()  # what stands for a thing while what it holds is looked at


def width_of(xs: list[Any]) -> int:
    """How many items the tuples or lists in a list have; 0 of a list of anything else."""
    run = head(xs)
    if run is None:
        return len(xs[0]) if xs and isinstance(xs[0], (tuple, list)) else 0
    return len(run.element.kids) if isinstance(run.element, Composite) and issubclass(run.element.cls, (tuple, list)) else 0


def with_items(
    r: Reader, x: Any, rows: bool, stays: Callable[[Any], bool] = lambda x: False, done: dict[int, tuple[Any, Any]] | None = None
) -> Any:
    """x with the elements of its lists one by one; with `rows` long lists as `Rows`, which become lists after the call.

    What `stays` is left as it is. `done`: what was met before, by its id, so that what stands in two places stays one thing.
    """
    done = {} if done is None else done
    if id(x) not in done:
        done[id(x)] = x, _CYCLE
        done[id(x)] = x, x if stays(x) else _with_items(r, x, rows, lambda e: with_items(r, e, rows, stays, done))
    found = done[id(x)][1]
    if found is _CYCLE:
        raise UnsupportedError(f"{describe(x)} that holds itself cannot be given to the caller")
    return found


def _with_items(r: Reader, x: Any, rows: bool, inner: Callable[[Any], Any]) -> Any:
    if has_run(x):
        n = length_of(x)
        form = _form(elements_of(x, None)) if rows and type(x) in _RETURNED and not (isinstance(n, int) and n <= _FEW) else None
        if form is not None:
            run = whole(r, x)
            length = affine_of(at_most(dim_value(run.length), run.rows))
            return Rows(form, [Array(Cell(slice_axis(c, 0, 0, length))) for c in run.columns], _RETURNED[type(x)])
        return _RETURNED.get(type(x), type(x))(map(inner, r.items(x)))
    if isinstance(x, Stand):
        x = x.whole(r, returned=True)
    if is_mapped(x) and hasattr(type(x), "for_the_caller"):
        x = r.call(r.getattr(x, "for_the_caller"), [])
    if is_written(type(x)) and hasattr(type(x), "for_result"):
        return Objects(tuple(map(inner, r.call(r.getattr(x, "for_result"), []))), x.shape)
    if is_mapped(x):
        return _mapped(r, x, type(x).MAPPED, inner)
    x = import_later(_FACTORIES).with_factory(x) if isinstance(x, defaultdict) else x
    held = isinstance(x, (list, tuple, dict)) or is_dataclass(x)
    found = attributes(x) if isinstance(x, deque) else parts(x) if held else None
    if found is None or isinstance(x, (Arr, Array)):
        return x
    kids = list(map(inner, found[2]))
    return x if all(a is b for a, b in zip(kids, found[2])) else rebuild(found[0], found[1], kids)


def _mapped(r: Reader, x: Any, of: Any, inner: Callable[[Any], Any]) -> Any:
    """What stands for a dict, set or list, as what becomes one after the call."""
    if of is np.ndarray:
        return r.call(r.getattr(x, "copy"), [])
    if of is list and "kind" not in vars(x):
        return inner(r.call(r.getattr(x, "whole"), []))
    have = lambda obj, *names: [r.getattr(obj, name) for name in names if name in vars(obj)]
    kind = have(x, "kind")
    pools = [*have(x.pool, "items", "owners"), *have(x.values_pool, "items")] if kind else []
    lists = [inner(xs) for xs in [*have(x, "names", "held"), *pools]]
    for_the_caller = import_later(_FACTORIES).for_the_caller
    values = (kind[0][0].MAPPED, *map(for_the_caller, kind[0][1:])) if kind else None
    return Mapped((of, *map(for_the_caller, have(x, "default_factory"))), values, lists)


def _form(t: Template | None) -> Any:
    """How an element is made of its columns; None if it is made one by one."""
    if isinstance(t, Num):
        return "python" if t.weak else "numpy"
    if isinstance(t, Ary):
        return "array"
    if isinstance(t, Pick) and not any(isinstance(x, Closure) for x in t.options):
        return Options(t.options)
    if not isinstance(t, Composite) or not t.kids or not (t.cls in (list, tuple, dict) or hasattr(t.cls, "_fields")):
        return None
    kids = tuple(map(_form, t.kids))
    return None if None in kids else (t.cls, t.meta, kids)
