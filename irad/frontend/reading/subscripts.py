"""Indexing, stores and in-place operators: of arrays, and of everything else that is indexed."""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.foreign import base_method, of_class
from irad.core.ir import Value
from irad.core.once import import_later
from irad.core.structured import Structured
from irad.core.types import is_int
from irad.errors import IradTypeError, PythonTypeError, ReadOnlyError, UnsupportedError
from irad.frontend.control import list_changes, lists, nullable
from irad.frontend.control.array_like import array_like, index_like
from irad.frontend.control.flow import branch, branch_values
from irad.frontend.control.holders import known_apart
from irad.frontend.control.lists import change
from irad.frontend.control.regions import Dead, raise_always
from irad.frontend.control.sequences import Generator, Range, Stream, collected
from irad.frontend.control.special import class_name, full_name, joined_in_place, key_of, site_of, special_method
from irad.frontend.control.stands import Stands
from irad.frontend.control.varying import split, varies
from irad.frontend.numpy import views
from irad.frontend.numpy.operators import IN_PLACE, in_place
from irad.frontend.numpy.table import augitem, getitem, setitem
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, NeedStatic, lift, static_int
from irad.frontend.values.fits import check_scalar
from irad.frontend.values.index import is_condition, is_for_scalars, is_index
from irad.frontend.values.objects import (
    AliasError,
    Array,
    Cell,
    Either,
    Nullable,
    Poison,
    Stand,
    StructureError,
    Text,
    Varying,
    describe,
    is_traced_deep,
    python_method,
)
from irad.frontend.values.result_layout import of_gather
from irad.frontend.values.runs import GROWING, has_run, of_a_loop
from irad.frontend.values.state import Storage
from irad.ops.intervals import interval
from irad.ops.text import choices_of

# ---- reading ---------------------------------------------------------------------------------------------------------


def get_item(r: Reader, obj: Any, key: Any) -> Any:
    """obj[key]."""
    if isinstance(obj, Array):
        return array_item(r, obj, r.operand(index_like(r, key)))
    if varies((obj,)):
        return split(r, (obj,), lambda x: get_item(r, x, key))
    if isinstance(obj, (Stands, Range)):
        return obj.item(r, key)
    if isinstance(obj, Arr):
        k = r.operand(key)
        return r.wrap(getitem(obj, k), zero_d=k != ()) if is_for_scalars(k, obj) else _not_indexable(r, obj)
    if isinstance(obj, Text):
        if is_traced_deep(key):
            raise obj.unknown()
        return r.chosen_items().of_choice(r, obj, lambda o: o[key])
    method = special_method(r, obj, "__getitem__")
    if method is not None:
        return r.call(method, [key])
    return plain_item(r, obj, key)


def plain_item(r: Reader, obj: Any, key: Any) -> Any:
    """obj[key] as a container has it, whatever `__getitem__` its class has."""
    if isinstance(key, Array):
        key = r.operand(key)
        key = Arr(key.value) if isinstance(key, Arr) and not key.shape else key.item() if isinstance(key, np.ndarray) else key
    if isinstance(key, Arr) and not is_index(key) and isinstance(obj, (list, tuple, str, range, collections.deque)):
        kind = next(k for k in type(obj).__mro__ if k.__module__ in ("builtins", "collections")).__name__
        _type_error(r, f"{kind} indices must be integers{' or slices' * (kind != 'str')}, not {full_name(key)}")
    if has_run(obj) or (type(obj) is list and isinstance(key, slice) and is_traced_deep(key) and obj):
        return lists.item(r, obj, key)
    if isinstance(key, Arr):
        return _traced_position(r, obj, key)
    options = choices_of(key.template) if isinstance(key, Text) else None
    if options is not None and isinstance(obj, dict) and any(o in obj for o in options):
        return _traced_position(r, *r.chosen_keys().of_texts(obj, options, key.operands[0]))
    r.captures.pin(key)
    if isinstance(key, slice) and is_traced_deep(key):
        key = slice(
            *(None if k is None else static_int(k, "a bound of a slice of a list") for k in (key.start, key.stop, key.step))
        )
    if isinstance(obj, dict):
        key_of(r, key, obj)
    if r.captures.opaque(obj):
        r.captures.hand("an index", obj)
    if isinstance(obj, dict):
        known_apart(r, key, obj)
    if isinstance(obj, collections.defaultdict) and key not in obj:
        return import_later("irad.frontend.control.factories").missing(r, obj, key)
    factory = python_method(obj, "__missing__") if isinstance(obj, dict) else None
    if factory is not None and not dict.__contains__(obj, key):
        return r.call(factory, [obj, key])
    if isinstance(obj, type):  # list[float], or what a metaclass says
        return obj[key]  # type: ignore[index]
    out = base_method(obj, "__getitem__")(key) if hasattr(type(obj), "__getitem__") else _not_indexable(r, obj)
    if isinstance(out, Poison):
        raise out.error(f"an item of this {type(obj).__name__}")
    return r.state.made(out) if isinstance(key, slice) else out


def _not_indexable(r: Reader, obj: Any) -> Any:
    _type_error(r, f"'{class_name(obj)}' object is not subscriptable")


def _type_error(r: Reader, message: str) -> None:
    """A TypeError of Python: where it depends on data whether the program comes here, it is raised when it does."""
    if r.conditional:
        raise_always("TypeError", message)
        raise Dead
    raise PythonTypeError(message)


def _traced_position(r: Reader, obj: Any, key: Arr) -> Any:
    """A traced index into a sequence or dict: of numbers, they become an array; else the index must be known, or chooses by data."""
    lo, hi = interval(key.value)
    if lo == hi:
        return obj[int(lo)]
    if (keys := r.chosen_keys()).by_data(r, obj, key) and (found := keys.item(r, obj, key)) is not None:
        return found[0]
    chosen_items = r.chosen_items()
    if chosen_items.one_kind(obj):
        return chosen_items.number(r, obj, chosen_items.position(obj, key) if is_index(key) else key)
    wanted = NeedStatic(key, "a key of a dict" if isinstance(obj, dict) else f"an index into a {type(obj).__name__}")
    wanted.site = site_of(r, obj)
    if isinstance(obj, (list, tuple, str)) and len(obj) and is_index(key) and not r.may_be_known(key):
        if (found := chosen_items.item(r, obj, key)) is not None:
            return found[0]
    raise wanted


def array_item(r: Reader, x: Array, key: Any) -> Any:
    """x[key]: a NumPy scalar, a view, or for index arrays and masks a copy."""
    if isinstance(x, Either):
        if isinstance(now := x.current(), np.ndarray) and not (views.is_basic(k := r.operand(key)) or is_traced_deep(k)):
            return r.wrap(now[k])
        return settled(r, x, lambda a: array_item(r, a, key))
    if is_condition(k := r.operand(key) if isinstance(key, Array) else key):
        x, key = views.at(r, x, None), r.operand(r.call(np.reshape, [k, 1]))
    if not views.is_basic(key):
        found = _concrete(r, x, key, operator.getitem)
        return of_gather(r.wrap(getitem(r.operand(x), key) if found is None else found, zero_d=True), x, key)
    if _is_position(x, key):
        found = _concrete(r, x, key, operator.getitem)
        return found if found is not None else getitem(r.operand(x), key)
    return views.at(r, x, key)


def _is_position(x: Array, key: Any) -> bool:
    """Does the key name a single element?"""
    items = key if isinstance(key, tuple) else (key,)
    return len(items) == len(x.shape) and all(isinstance(k, (int, np.integer, Arr)) for k in items)


def _concrete(r: Reader, x: Array, key: Any, f: Callable[..., Any]) -> Any:
    content = r.read(x)
    return f(content, key) if isinstance(content, np.ndarray) and not is_traced_deep(key) else None


def settled(r: Reader, x: Either, f: Callable[[Array], Any]) -> Any:
    """f on the array that x is."""
    of = lambda y: settled(r, y, f) if isinstance(y, Either) else f(y)
    if isinstance(out := branch(r, x.cond, lambda: of(x.left), lambda: of(x.right)), Poison):
        raise UnsupportedError(f"what is read of an array that is one of two {out.message.removeprefix('it ')}")
    return out


# ---- storing ----------------------------------------------------------------------------------------------------------


def set_item(r: Reader, obj: Any, key: Any, value: Any) -> None:
    """obj[key] = value."""
    if varies((obj,)) or (type(value) is Varying and not isinstance(obj, (list, dict))):
        return split(r, (obj, value), lambda x, v: r.setitem(x, key, v))
    if isinstance(obj, Array):
        k, v = r.operand(index_like(r, key)), r.operand(array_like(r, value))
        if is_condition(k):  # all elements or none
            some = lift(v).ndim > len(obj.shape)  # what such a bool has picked
            v = Arr(setitem(lift(r.operand(obj)), k, v)) if some else r.operand(r.call(np.where, [key, value, obj]))
            k = Ellipsis
        if isinstance(value, Arr) and views.is_basic(k):
            if is_int(obj.type.dtype) and value.type.dtype != obj.type.dtype:
                r.getitem(obj, k)  # an index out of range is found first
            check_scalar(v, obj.type.dtype)
        store(r, obj, k, v)
        return
    if isinstance(obj, Stand):
        obj.store(r, key, value) if isinstance(obj, Stands) else r.several().store(r, obj, key, value)
        return
    method = special_method(r, obj, "__setitem__")
    if method is not None:
        r.call(method, [key, value])
    else:
        plain_store(r, obj, key, value)


def plain_store(r: Reader, obj: Any, key: Any, value: Any) -> None:
    """obj[key] = value as a container has it, whatever `__setitem__` its class has."""
    if type(obj) is list and isinstance(key, slice) and (has_run(obj) or has_run(value) or by_data(r, obj, key)):
        in_arrays(obj, key, lambda: list_changes.store(r, obj, key, value))
    elif has_run(obj) or (isinstance(key, Arr) and by_data(r, obj, key, True)):
        in_arrays(obj, key, lambda: list_changes.store(r, obj, r.operand(key), value))
    elif isinstance(key, Arr) and (chosen_keys := r.chosen_keys()).by_data(r, obj, key):
        chosen_keys.store(r, obj, key, value)
    elif isinstance(key, Text) and type(obj) is dict:
        r.chosen_keys().store_by_text(r, obj, key, value)
    elif isinstance(obj, (list, dict)) or hasattr(obj, "__setitem__"):
        position = _known_place(r, obj, key)
        if isinstance(value, (Generator, Stream)) or (isinstance(key, slice) and isinstance(value, Array)):
            value = r.items(value)
        r.captures.pin(key)
        change(r, obj)
        base_method(obj, "__setitem__")(position, value)
    else:
        _type_error(r, f"{describe(obj)} does not support item assignment")


def delete_item(r: Reader, obj: Any, key: Any) -> None:
    """del obj[key]."""
    if varies((obj,)):
        return split(r, (obj,), lambda x: delete_item(r, x, key))
    if isinstance(obj, Array):
        raise ValueError("cannot delete array elements")
    method = special_method(r, obj, "__delitem__")
    if method is not None:
        r.call(method, [key])
    else:
        plain_delete(r, obj, key)


def plain_delete(r: Reader, obj: Any, key: Any) -> None:
    """del obj[key] of a container, whatever `__delitem__` its class has."""
    if has_run(obj) or by_data(r, obj, key):
        in_arrays(obj, key, lambda: list_changes.remove_at(r, obj, key if isinstance(key, slice) else r.operand(key)))
    else:
        position = _known_place(r, obj, key)
        r.captures.pin(key)
        change(r, obj)
        base_method(obj, "__delitem__")(position)


def _known_place(r: Reader, obj: Any, key: Any) -> Any:
    """A key of a dict, or a position in a list, that is known."""
    if not isinstance(obj, dict):
        return known(key, f"an index into a {type(obj).__name__}")
    known_apart(r, key, obj)
    return key_of(r, key, obj)


def known(key: Any, what: str) -> Any:
    """A position or slice that must be known. Raises NeedStatic if it is traced."""
    if isinstance(key, slice) and is_traced_deep(key):
        return slice(*(None if k is None else static_int(k, what) for k in (key.start, key.stop, key.step)))
    return static_int(key, what) if isinstance(key, Arr) else key


def by_data(r: Reader, obj: Any, key: Any, always: bool = False) -> bool:
    """Does data decide which elements of a list it is? A number that may be known counts only with `always`."""
    if type(obj) is not list or not obj:
        return False
    parts = (key.start, key.stop) if isinstance(key, slice) else (key,)
    traced = [k for k in parts if isinstance(k, Arr) and not k.shape and len(set(interval(k.value))) > 1]
    return bool(traced) and (always or not all(map(r.may_be_known, traced)))


def in_arrays(xs: Any, key: Any, change: Callable[[], Any]) -> Any:
    """Change a list whose elements stand in arrays, or can; raises NeedStatic where they cannot and data decides the position."""
    try:
        return change()
    except StructureError:
        parts = (key.start, key.stop, key.step) if isinstance(key, slice) else (key,)
        traced = next((k for k in parts if isinstance(k, Arr)), None)
        if has_run(xs) or traced is None:
            raise
        raise NeedStatic(traced, f"an index into a {type(xs).__name__}") from None


def writable(x: Array, r: Reader | None = None) -> None:
    if not isinstance(x, Array):
        raise PythonTypeError(f"{describe(x)} does not support item assignment")
    for cell in x.cells() if r is not None and r.of_dicts else ():
        import_later("irad.frontend.reading.keyed").changed_in_place(r, cell)
    if x.frozen:
        if "read-only" in x.frozen:
            raise ReadOnlyError(x.frozen)
        raise of_a_loop(AliasError(x.frozen), x.cell.content)


def store(r: Reader, x: Array, key: Any, value: Any) -> None:
    """x[key] = value; `value` and `key` are operands (read before anything is stored)."""
    writable(x, r)
    if isinstance(x, Either):
        branch(r, x.cond, lambda: store(r, x.left, key, value), lambda: store(r, x.right, key, value))
        return
    to = x.memory  # what is read of x may be a constant for derivatives
    content = r.read(to)
    if isinstance(content, np.ndarray) and not is_traced_deep(key) and not is_traced_deep(value):
        put(r, to, _stored(r, to, content, key, value))
        return
    _check_stored(value)
    put(r, to, Arr(setitem(lift(content), key, value)))


def _check_stored(value: Any) -> None:
    if isinstance(value, (Text, str)) or value is None:
        raise IradTypeError(f"{describe(value)} cannot be stored into an array of numbers")


def _stored(r: Reader, x: Array, content: np.ndarray, key: Any, value: Any) -> np.ndarray:
    """A store at compile time; storage that this log owns already is changed in place."""
    mine = not x.steps and x.cell.owner is r.state.log and content is x.cell.content
    out = content if mine else content.copy()
    with np.errstate(all="ignore"):
        out[key] = value
    if not x.steps:
        x.cell.owner = r.state.log
    return out


def put(r: Reader, x: Array, new: Any) -> None:
    """Replace the whole content of an array, through its steps."""
    content = x.memory.replaced(new) if x.steps else new
    for c in (x.cell, *(x.cell.parts or ())):
        c.written = True
        r.outside.note(c)
    r.state.assign(Storage(x.cell), content.value if isinstance(content, Arr) else content)


def reading_before(r: Reader, obj: Any, key: Any) -> Callable[[], Any]:
    """How to read obj[key] as it is now, later: Python reads the target of an augmented assignment before its right side.

    None from it means that nothing has changed, or that obj[key] is a view, which has the content of later.
    """
    if not isinstance(obj, Array):
        old = r.getitem(obj, key)
        return lambda: old
    k = r.operand(key)
    if views.is_basic(k) and not _is_position(obj, k):
        return lambda: None
    cells = obj.cells()
    before = [c.content for c in cells]
    for c in cells:
        c.owner = None  # a content known at compile time is not to be changed in place meanwhile

    def read() -> Any:
        if all(c.content is content for c, content in zip(cells, before)):
            return None
        return array_item(r, _past(obj, dict(zip(map(id, cells), before))), k)

    return read


def _past(x: Array, contents: dict[int, Any]) -> Array:
    """An array with the content that its storage had before."""
    if isinstance(x, Either):
        return Either(x.cond, _past(x.left, contents), _past(x.right, contents), None)
    return Array(Cell(contents[id(x.cell)]), x.steps, x.type, x.strides)


def augmented_item(r: Reader, obj: Any, key: Any, name: str, value: Any, read: Callable[[], Any] | None = None) -> None:
    """obj[key] op= value; `read` gives the old obj[key], if it may have changed since."""
    if not isinstance(obj, Array):
        old = r.getitem(obj, key) if read is None else read()
        new = augmented(r, name, old, value)
        plain = isinstance(obj, Structured) or of_class(type(obj), "__setitem__") in _PLAIN_STORES
        if new is not old or not plain or isinstance(key, slice):  # else it is there
            r.setitem(obj, key, new)
        return
    k, v = r.operand(index_like(r, key)), r.operand(array_like(r, value))
    old = None if read is None else read()
    if old is not None:
        r.setitem(obj, key, augmented(r, name, old, value))
        return
    _augment_array(r, obj, k, name, v)


def _augment_array(r: Reader, x: Array, key: Any, name: str, v: Any) -> None:
    writable(x, r)
    if isinstance(x, Either):
        branch(r, x.cond, lambda: _augment_array(r, x.left, key, name, v), lambda: _augment_array(r, x.right, key, name, v))
        return
    to = x.memory
    content = r.read(to)
    if isinstance(content, np.ndarray) and not is_traced_deep(key) and not is_traced_deep(v):
        out = content.copy()
        with np.errstate(all="ignore"):
            out[key] = in_place(name)(out[key], v)
        put(r, to, out)
    else:
        put(r, to, Arr(augitem(lift(content), key, name, v)))


_PLAIN_STORES = (list.__setitem__, dict.__setitem__)


def augmented(r: Reader, name: str, old: Any, value: Any) -> Any:
    """The object that a variable is bound to after `old op= value`: arrays and lists change in place."""
    if type(old) is Nullable or type(value) is Nullable:
        old, value = nullable.operands(r, name, old, value, suffix="=")
    if varies((old, value)):
        return split(r, (old, value), lambda a, b: augmented(r, name, a, b))
    if isinstance(old, Array):
        _augment_array(r, old, Ellipsis, name, r.operand(array_like(r, value)))
        return old
    method = special_method(r, old, f"__{IN_PLACE[name].rstrip('_')}__", absent=True)
    if method is not None:
        return r.call(method, [value])
    if isinstance(old, (list, collections.deque)) and name == "add":
        extend(r, old, value)
        return old
    if isinstance(old, (list, collections.deque)) and name == "mul":
        return lists.refilled(r, old, r.operator(name, old, value))
    if isinstance(old, (dict, set)) and not isinstance(value, (Arr, Array)):
        joined_in_place(r, old, value)
        change(r, old)
        return in_place(name)(old, value)
    return r.operator(name, old, value)


def extend(r: Reader, xs: Any, more: Any) -> None:
    """xs.extend(more) of a list or deque."""
    more = collected(r, more) if isinstance(more, Stream) else more
    if has_run(more) and type(xs) in GROWING:
        list_changes.extend(r, xs, more)
    else:
        items = r.items(more)
        base_method(change(r, xs), "extend")(items)


def choose(r: Reader, cond: Arr, a: list[Any], b: list[Any]) -> list[Value]:
    """Whole contents, by a traced bool."""
    side = lambda xs: lambda: [x if isinstance(x, Value) else lift(x).value for x in xs]
    return branch_values(cond, side(a), side(b))
