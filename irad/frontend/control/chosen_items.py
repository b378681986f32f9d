"""Items of Python's sequences at a position that depends on data: which of them it is, is chosen at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from irad.errors import UnsupportedError
from irad.frontend.control.facts import all_values
from irad.frontend.control.filling import chosen
from irad.frontend.control.flow import by_halves
from irad.frontend.control.templates import Num, join_numbers
from irad.frontend.control.templates import number as kind_of
from irad.frontend.numpy.table import getitem
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, lift
from irad.frontend.values.choices import either, of_number, options, place
from irad.frontend.values.objects import Poison, Text, is_number
from irad.frontend.values.positions import position_of
from irad.frontend.values.runs import has_run
from irad.ops.elementwise import cast_to
from irad.ops.text import choices_of

MOST = 16  # items that are no numbers, tuples or lists of numbers, up to which one of them is chosen


def out_of_range(obj: Any) -> str:
    """Python's message."""
    kinds = ((list, "list"), (tuple, "tuple"), (str, "string"), (range, "range object"))
    return f"{next(name for cls, name in kinds if isinstance(obj, cls))} index out of range"


def one_kind(obj: Any) -> bool:
    """Is it a sequence of numbers of one class?"""
    if not isinstance(obj, (list, tuple, range)) or not len(obj) or not all(map(is_number, obj)):
        return False
    return len({x.name if isinstance(x, Arr) else type(x) for x in obj}) == 1


def position(obj: Any, key: Arr) -> Arr:
    """A traced index into a sequence, checked and counted from the front."""
    return Arr(position_of(key.value, len(obj), out_of_range(obj)), True)


def number(r: Reader, obj: Sequence[Any], key: Arr) -> Arr:
    """The number at a checked position among numbers of one class."""
    python = all(x.weak if isinstance(x, Arr) else type(x) in (bool, int, float, complex) for x in obj)
    return Arr(getitem(lift(r.operand(list(obj))), key).value, python)


def item(r: Reader, obj: Any, key: Arr) -> tuple[Any] | None:
    """(obj[key],) of a list, tuple or string; None where it cannot be chosen by data. Raises IndexError at run time.

    Rows of numbers become columns, each an array. Lists that are chosen, and those that they are chosen from, may not change any more.
    """
    items = _reachable(list(obj), key)
    if not _can(r, items):
        return None
    at = position(obj, key)
    return (choice(r, obj, at) if isinstance(obj, str) else _one_of(r, items, at),)


def _reachable(items: list[Any], key: Arr) -> list[Any]:
    """The same, where items that are at none of the places that a number may be at do not count."""
    numbers = all_values(key.value) or ()
    places = {k % len(items) for k in numbers if -len(items) <= k < len(items)}
    return [x if k in places else items[min(places)] for k, x in enumerate(items)] if places else items


def of_place(r: Reader, items: list[Any], at: Arr, most: int = MOST) -> tuple[Any] | None:
    """(items[at],), of a position that is known to be there; None where it cannot be chosen by data. `most`: of things that are no numbers."""
    return (_one_of(r, items, at),) if _can(r, items, most) else None


def of_choice(r: Reader, x: Text, f: Callable[[str], Any]) -> Any:
    """What f gives for a string that is one of several by data. Raises NeedStatic for text of another kind, or if f raises for one."""
    found = choices_of(x.template)
    if found is None:
        raise x.unknown()
    try:
        results = [f(o) for o in found]
    except Exception:
        raise x.unknown() from None
    chosen = item(r, results, x.operands[0])
    if chosen is None:
        raise x.unknown()
    return chosen[0]


def _can(r: Reader, items: list[Any], most: int = MOST) -> bool:
    if all(x is items[0] for x in items):
        return True
    if all(map(is_number, items)):
        return _joined(items) is not None
    if (parts := columns(items)) is not None and all(_can(r, c, most) for c in parts):
        return True
    return len(items) <= most or _options_of(items) is not None


def _options_of(items: list[Any]) -> tuple[Any, ...] | None:
    """All that some strings or known things may be, of which each may be one of several itself; None for other items, or too many."""
    found: tuple[Any, ...] = ()
    for x in items:
        own = options(x)
        both = either(found, own) if own is not None and found else own
        if both is None or isinstance(both, str):
            return None
        found = both
    return _each_once(found)


def _joined(items: list[Any]) -> Num | None:
    """The type of numbers of several classes; None where one is a bool among others."""
    kinds = [kind_of(x) for x in items]
    if len({k.dtype == "bool" for k in kinds}) > 1:
        return None
    return reduce(join_numbers, kinds)


def columns(items: list[Any]) -> list[list[Any]] | None:
    """What stands in each place of rows of one class and length, or of dicts of the same keys; None if they are no such rows."""
    cls = type(items[0])
    if cls is dict and all(type(x) is dict and list(x) == list(items[0]) for x in items):
        return [[row[k] for row in items] for k in items[0]]
    if any(map(has_run, items)):
        return None
    if not (cls is list or issubclass(cls, tuple)) or any(type(x) is not cls or len(x) != len(items[0]) for x in items):
        return None
    return [[row[k] for row in items] for k in range(len(items[0]))]


def _one_of(r: Reader, items: list[Any], at: Arr) -> Any:
    if all(x is items[0] for x in items):
        return items[0]
    if one_kind(items):
        return number(r, items, at)
    if all(map(is_number, items)):
        t = _joined(items)
        assert t is not None
        values = [Arr(cast_to(lift(r.operand(x)).value, t.dtype), t.weak) for x in items]
        return number(r, values, at)
    if (among := _options_of(items)) is not None:
        return _of_options(r, items, among, at)
    parts = columns(items)
    if parts is not None and all(_can(r, c) for c in parts):
        return _row(r, items, [_one_of(r, c, at) for c in parts])
    return _branched(r, items, at)


def _row(r: Reader, rows: list[Any], parts: list[Any]) -> Any:
    cls = type(rows[0])
    if cls is not list and cls is not dict:
        return tuple.__new__(cls, parts)
    out = r.state.made(parts if cls is list else dict(zip(rows[0], parts)))
    for x in (out, *rows):
        r.state.lock(x)
    return out


def choice(r: Reader, items: Sequence[Any], at: Arr) -> Any:
    """The one of some strings or known things at a position that is known to be there."""
    return _of_options(r, items, _each_once(items), at)


def _of_options(r: Reader, items: Sequence[Any], among: tuple[Any, ...], at: Arr) -> Any:
    """The same of things of which each may be one of several itself; `among`: all that they may be."""
    if len(among) == 1:
        return among[0]
    places = [place(among, x) for x in items]
    if places == [*range(len(places))]:
        return of_number(among, at)
    numbers = [Arr(chosen(among, x), True) if k is None else k for k, x in zip(places, items)]
    return of_number(among, number(r, numbers, at))


def _each_once(items: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(x for k, x in enumerate(items) if place(items, x) == k)


def _branched(r: Reader, items: list[Any], at: Arr) -> Any:
    """One of anything."""
    out = by_halves(r, at, range(len(items)), lambda k: items[k])
    if isinstance(out, Poison):
        error = UnsupportedError(f"which item it is depends on data, and {out.message.removeprefix('it ')}")
        raise r.needing_whole_numbers(error, at)
    return out
