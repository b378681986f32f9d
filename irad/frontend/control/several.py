"""One of several arrays, containers or objects, of which data say which it is: what is read of it, and how it is changed.

A number in it is read from all options and chosen; where one is stored, each option gets its old one or the new one. All else is done to
each option under the condition that it is the one. So a change is seen under every name that the option has.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from irad.core.foreign import found_in_class, is_instance, is_library, of_class, own_dict
from irad.errors import UnsupportedError
from irad.frontend.control import chosen_items, chosen_keys
from irad.frontend.control.filling import number_value
from irad.frontend.control.flow import branch, by_halves
from irad.frontend.control.regions import attempt
from irad.frontend.control.special import site_of
from irad.frontend.control.templates import MOST_CHOSEN, Num, join_numbers, structure
from irad.frontend.control.templates import number as kind_of
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, NeedStatic
from irad.frontend.values.callables import Native, OfOne
from irad.frontend.values.choices import OneOf, is_object
from irad.frontend.values.index import is_index
from irad.frontend.values.objects import Array, Cell, Choice, Maybe, Poison, Text, is_number, python_method
from irad.frontend.values.positions import position_of
from irad.frontend.values.runs import has_run
from irad.ops.elementwise import eq, select
from irad.ops.text import choices_of

_CONTAINERS = (list, dict, set, collections.deque)
_IN_PLACE = ("fill", "put", "partition", "sort", "resize", "__setitem__")  # methods that change an array
_FEW = 8  # arrays of which one is chosen as `Either`
_COPY = (
    "this variable is one of many arrays, by data; store into it where it is chosen (xs[k][...] = v), or copy it (x = x.copy())"
)
_PLACES = 1024  # numbers up to which one is stored by selections


# ---- which it is -----------------------------------------------------------------------------------------------------------


def chosen(r: Reader, obj: Any, key: Any, always: bool = False) -> OneOf | None:
    """obj[key] of a list, tuple or dict of containers, objects or many arrays, if data decide which it is; else None.

    `always`: also where the number that decides may be known. Raises IndexError or KeyError at run time.
    """
    if not isinstance(obj, (list, tuple, dict)) or has_run(obj) or python_method(obj, "__getitem__") is not None:
        return None
    items = list(dict.values(obj)) if isinstance(obj, dict) else list(obj)
    if not many(items):
        return None
    if not isinstance(obj, dict):
        if not isinstance(key, Arr) or key.shape or not is_index(key) or not (always or not r.may_be_known(key)):
            return None
        return _one_of(r, obj, items, position_of(key.value, len(items), chosen_items.out_of_range(obj)), key)
    if type(obj) is not dict:
        return None
    if isinstance(key, Text) and (options := choices_of(key.template)) is not None:
        there, place = chosen_keys.of_texts(obj, options, key.operands[0])
        return _one_of(r, obj, there, place.value, key.operands[0]) if there else None
    if isinstance(key, tuple):
        at = chosen_keys.tuple_place(r, obj, key, always)
        return None if at is None else _one_of(r, obj, items, at, next(k for k in key if isinstance(k, Arr)))
    if chosen_keys.by_data(r, obj, key, always):
        return _one_of(r, obj, items, chosen_keys.checked(r, obj, key), key)
    return None


def _one_of(r: Reader, obj: Any, items: Sequence[Any], place: Any, key: Arr) -> OneOf:
    wanted = NeedStatic(key, "a key of a dict" if isinstance(obj, dict) else f"an index into a {type(obj).__name__}")
    wanted.site = site_of(r, obj)
    return of(r, items, Arr(place, True), wanted)


def of(r: Reader, items: Sequence[Any], place: Arr, wanted: Exception | None = None) -> OneOf:
    """The one of some things at a position that is known to be there."""
    return OneOf(tuple(items), place, tuple(r.state.born(x) for x in items), wanted)


def of_choice(r: Reader, x: Choice) -> OneOf:
    """The same of a variable that is one of several objects, and may stand anywhere."""
    return of(r, x.options, x.at)


def many(items: Sequence[Any]) -> bool:
    """Are these things that can be changed, each itself, and not few arrays of one type?"""
    return (
        1 < len(items) <= MOST_CHOSEN
        and all(map(_changes, items))
        and not (len(items) <= _FEW and all(isinstance(x, Array) and x.type == items[0].type for x in items))
    )


def _changes(x: Any) -> bool:
    if isinstance(x, Array):
        return bool(x.shape)
    return isinstance(x, _CONTAINERS) or (
        is_instance(x) and not isinstance(x, (type, tuple, frozenset, str, int, float, complex)) and structure(x) is not None
    )


# ---- what is read ------------------------------------------------------------------------------------------------------------


def content(r: Reader, one: OneOf) -> Any:
    """What stands for its content: it and the options may not change any more."""
    if (first := one.options[0]) is not None and all(x is first for x in one.options):
        return first
    if all(isinstance(x, Array) for x in one.options) and len({x.type for x in one.options}) == 1:
        return _stacked(r, one)
    if all(map(is_object, one.options)) and not _alike(r, one.options):
        return chosen_items.choice(r, one.options, one.place)
    out = chosen_items.of_place(r, list(one.options), one.place, MOST_CHOSEN)
    if out is None:
        raise one.wanted or UnsupportedError("one of several things that data choose is used as a whole; read what is in it")
    return out[0]


def _alike(r: Reader, xs: Sequence[Any]) -> bool:
    """Can one object stand for the contents of each of these: of one class, with the same attributes, made by the program?"""
    kinds = [x[:2] for x in map(structure, xs) if x is not None]
    return len(kinds) == len(xs) and all(k == kinds[0] for k in kinds) and not any(map(r.captures.is_object, xs))


def looked_at(r: Reader, one: OneOf) -> Any:
    """Its content for what looks at it now, and keeps nothing."""
    if (rows := chosen_items.columns(list(one.options))) is not None and all(map(_numbers, rows)):
        made = [chosen_items.of_place(r, c, one.place) for c in rows]
        if None not in made:
            items = [x[0] for x in made]  # type: ignore[index]
            return dict(zip(one.options[0], items)) if type(one.options[0]) is dict else items
    return content(r, one)


def _numbers(xs: Sequence[Any]) -> bool:
    return all(map(is_number, xs)) or all(type(x) is str for x in xs)


@contextmanager
def looking(r: Reader, one: OneOf) -> Iterator[Any]:
    """Its content while somebody looks at it, and keeps nothing of it: neither the options nor what stands for it may change meanwhile."""
    before = r.state.locks()
    out = looked_at(r, one)
    for x in one.options:
        if not isinstance(x, Array):
            r.state.lock(x)
    mine = r.state.locks() - before
    try:
        yield out
    finally:
        if _holds_plain(out):
            r.state.unlock(mine)


def _holds_plain(x: Any) -> bool:
    """Is nothing in a container that somebody could keep and change?"""
    if isinstance(x, Array):
        return True
    if has_run(x):
        return isinstance(x[0].element, Num) and _holds_plain(list(x)[1:])
    return isinstance(x, _CONTAINERS) and all(map(_plain, dict.values(x) if isinstance(x, dict) else x))


def _plain(x: Any) -> bool:
    return is_number(x) or x is None or isinstance(x, (str, Text)) or (type(x) is tuple and all(map(_plain, x)))


def length(r: Reader, one: OneOf) -> Any:
    """len(one)."""
    return _joined(r, one, [r.call(len, [x]) for x in one.options])


def truth(r: Reader, one: OneOf) -> Any:
    """bool(one)."""
    return _joined(r, one, [r.truth(x) for x in one.options])


def identical(r: Reader, x: Any, y: Any) -> Any:
    """x is y, where one of them is one of several."""
    one, other = (x, y) if type(x) is OneOf else (y, x)
    return _joined(r, one, [r.identical(o, other) for o in one.options])


def item(r: Reader, one: OneOf, key: Any) -> Any:
    """one[key], which may be one of several things again."""
    xs = one.options
    if all(isinstance(x, Array) for x in xs) and len({x.type for x in xs}) == 1:
        return r.getitem(_stacked(r, one), key)
    rows = chosen_items.columns(list(xs))
    if rows is None:
        return _each(r, one, lambda x: r.getitem(x, key))
    if type(xs[0]) is dict:
        if isinstance(key, (str, int, tuple)) and key in xs[0]:
            return _joined(r, one, [x[key] for x in xs])
    elif type(key) is int and -len(rows) <= key < len(rows):
        return _joined(r, one, rows[key])
    elif isinstance(key, Arr) and is_index(key) and not key.shape and rows and all(map(many, rows)):
        at = position_of(key.value, len(rows), chosen_items.out_of_range(xs[0]))
        if len(xs) * len(rows) <= MOST_CHOSEN:
            return of(r, [x for row in xs for x in row], Arr(one.place.value * len(rows) + at, True), one.wanted)
    if all(map(_numbers, rows)):
        return r.getitem(looked_at(r, one), key)
    return _each(r, one, lambda x: r.getitem(x, key))


def _stacked(r: Reader, one: OneOf) -> Any:
    """A copy of the array that it is, of arrays of one type; it may not be read any more once one of them has changed."""
    out = Array(Cell(r.value(r.getitem(r.call(np.stack, [list(one.options)]), one.place))), frozen=_COPY)
    out.watch = tuple((c, c.content) for x in one.options for c in x.shared())
    return out


def _joined(r: Reader, one: OneOf, values: list[Any]) -> Any:
    """The one of some values that is there for the option that it is."""
    if all(x is values[0] for x in values):
        return values[0]
    if many(values):
        return of(r, values, one.place, one.wanted)
    out = chosen_items.of_place(r, values, one.place)
    return out[0] if out is not None else _each(r, of(r, values, one.place), lambda x: x)


def attribute(r: Reader, one: OneOf, name: str) -> Any:
    """one.name; a method of a container or object is called of the option that it is."""
    xs = one.options
    called = OfOne(lambda *args, **kwargs: _each(r, one, lambda x: r.call(r.getattr(x, name), list(args), kwargs)))
    if all(isinstance(x, Array) for x in xs):
        return called if name in _IN_PLACE else r.getattr(content(r, one), name)
    if all(isinstance(x, _CONTAINERS) for x in xs):
        return called
    if all(_own(x, name) for x in xs):
        return _joined(r, one, [r.getattr(x, name) for x in xs])
    found = [found_in_class(type(x), name) for x in xs]
    if isinstance(f := found[0], types.FunctionType) and len(set(map(type, xs))) == 1 and not is_library(f.__module__):
        return OfOne(lambda *args, **kwargs: _method(r, one, name, called, args, kwargs))
    if all(isinstance(f, types.FunctionType) for f in found) and not any(isinstance(x, _CONTAINERS) for x in xs):
        return chosen_items.choice(r, [r.getattr(x, name) for x in xs], one.place)
    if all(callable(f) and not isinstance(f, type) for f in found):
        return called
    return _each(r, one, lambda x: r.getattr(x, name))


def _method(r: Reader, one: OneOf, name: str, called: Native, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A method of objects of one class: read once for them all if it can be, else for each."""
    f = r.getattr(one.options[0], name).__func__  # the program relies on it
    try:
        return attempt(r, lambda: r.call(f, [one, *args], kwargs))
    except UnsupportedError:
        return called.run(*args, **kwargs)


def _own(x: Any, name: str) -> bool:
    """Has an object an attribute of its own, which reading does nothing but read?"""
    if not is_instance(x) or isinstance(x, _CONTAINERS) or name not in own_dict(x) or type(x.__dict__[name]) in (Poison, Maybe):
        return False
    return found_in_class(type(x), name) is None and python_method(x, "__getattribute__") is None


def _each(r: Reader, one: OneOf, f: Callable[[Any], Any]) -> Any:
    """f of the option that it is."""
    out = by_halves(r, one.place, range(len(one.options)), lambda k: f(one.options[k]))
    if isinstance(out, Poison):
        raise UnsupportedError(f"what is read of one of several things that data choose is of several kinds: {out.message}")
    return out


# ---- what is changed ---------------------------------------------------------------------------------------------------------


def each(r: Reader, one: OneOf, change: Callable[[Any], Any]) -> None:
    """Change the option that it is."""
    for k, x in enumerate(one.options):
        branch(r, _is(one, k), lambda x=x: change(x) and None, lambda: None)  # type: ignore[misc]


def _is(one: OneOf, k: int) -> Arr:
    return Arr(eq(one.place.value, k), True)


def store(r: Reader, one: OneOf, key: Any, value: Any) -> None:
    """one[key] = value."""
    xs = one.options
    if _is_element(xs, key) and is_number(value) and join_numbers(kind_of(value), kind_of(0.0)).dtype == xs[0].type.dtype:
        for k, x in enumerate(xs):
            r.setitem(x, key, _selected(_is(one, k).value, value, r.getitem(x, key)))
        return
    places = _places(xs, key) if is_number(value) else [None]
    olds = [[] if p is None else [x[k] for _, k in p] for x, p in zip(xs, places)]
    kinds = [_kind(old, value) for row in olds for old in row]
    if None in places or None in kinds or len(kinds) > _PLACES or any(map(r.state.locked, xs)):
        each(r, one, lambda x: r.setitem(x, key, value))
        return
    for n, (x, ps) in enumerate(zip(xs, places)):
        for same, k in ps or ():
            here = _is(one, n).value if same is None else _is(one, n).value & same
            r.setitem(x, k, _selected(here, value, x[k]))


def _is_element(xs: Sequence[Any], key: Any) -> bool:
    """Does a key name one element in arrays of floats of one type?"""
    if not all(isinstance(x, Array) for x in xs) or len({x.type for x in xs}) > 1 or xs[0].type.dtype != "f64":
        return False
    parts = key if isinstance(key, tuple) else (key,)
    return len(parts) == len(xs[0].shape) and all(type(k) is int or (isinstance(k, Arr) and is_index(k)) for k in parts)


def _selected(here: Any, new: Any, old: Any) -> Arr:
    kind = _kind(old, new)
    assert kind is not None
    return Arr(select(here, number_value(new, kind.dtype), number_value(old, kind.dtype)), kind.weak, kind.mixed)


def _kind(old: Any, new: Any) -> Num | None:
    return join_numbers(kind_of(old), kind_of(new)) if is_number(old) and is_number(new) else None


def _places(xs: Sequence[Any], key: Any) -> list[list[tuple[Any, Any]] | None]:
    """The places in each container that a key may be, with the condition under which it is (None: always); None if that is not known."""
    if not isinstance(key, Arr):
        return [_known_places(x, key) for x in xs]
    n = len(xs[0]) if type(xs[0]) is list else 0
    if not n or key.shape or not is_index(key) or any(type(x) is not list or has_run(x) or len(x) != n for x in xs):
        return [None]
    at = position_of(key.value, n, "list assignment index out of range")
    return [[(eq(at, k), k) for k in range(n)]] * len(xs)


def _known_places(x: Any, key: Any) -> list[tuple[Any, Any]] | None:
    if type(x) is dict:
        if isinstance(key, Text) and (options := choices_of(key.template)) is not None:
            known = all(o in x for o in options)
            return [(eq(key.operands[0].value, k), o) for k, o in enumerate(options)] if known else None
        return [(None, key)] if isinstance(key, (str, int, tuple)) and _is_known(key) and key in x else None
    known = type(x) is list and not has_run(x) and type(key) is int and -len(x) <= key < len(x)
    return [(None, key)] if known else None


def _is_known(key: Any) -> bool:
    return all(map(_is_known, key)) if isinstance(key, tuple) else isinstance(key, (str, int))


def set_attribute(r: Reader, one: OneOf, name: str, value: Any) -> None:
    """one.name = value."""
    xs = one.options
    plain = all(_own(x, name) and of_class(type(x), "__setattr__") is object.__setattr__ and not r.state.locked(x) for x in xs)
    if not plain or any(_kind(r.getattr(x, name), value) is None for x in xs):
        each(r, one, lambda x: r.setattr(x, name, value))
        return
    for k, x in enumerate(xs):
        r.setattr(x, name, _selected(_is(one, k).value, value, r.getattr(x, name)))


def before(r: Reader, one: OneOf, key: Any) -> Any:
    """What one[key] is before the right side of an assignment to it is found; None where it is an array, which is changed in place."""
    in_array = any(isinstance(x, Array) for x in one.options) and not _is_element(one.options, key)
    return None if in_array else item(r, one, key)


def augment_item(
    r: Reader, one: OneOf, key: Any, value: Any, old: Any, of_array: Callable[[Any], None], new: Callable[[Any], Any]
) -> None:
    """one[key] op= value: `of_array(x)` does it to an array, `new(old)` gives what takes the place of the old one."""
    if old is None:
        each(r, one, of_array)
    elif (now := augmented(r, old, new)) is not old:
        store(r, one, key, now)


def augmented(r: Reader, old: Any, new: Callable[[Any], Any]) -> Any:
    """What `old op= value` gives, where the old one may be one of several, which change in place."""
    if type(old) is not OneOf:
        return new(old)
    each(r, old, new)
    return old
