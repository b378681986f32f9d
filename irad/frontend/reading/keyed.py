"""Dicts and sets whose keys data decide: what stands for them.

A dict or set is Python's own as long as its keys are known. Where one gets a key, or is asked for one, that data decide, the
function is read again, and the expression that makes it gives an object of `irad.frontend.library.python.keyed` instead. Where such a
dict gets a list, set or dict as a value, the function is read again, too: the dict is one of those then, and the expression that makes
the value gives one whose elements stand in a pool.
"""

from __future__ import annotations

import ast
import collections
import functools
import sys
from typing import Any

from irad.core.foreign import is_mapped, own_names
from irad.core.lazy_dataclass import dataclass
from irad.errors import UnsupportedError
from irad.frontend.control.generators import opened, uncounted
from irad.frontend.control.holders import known_by_name
from irad.frontend.control.lists import whole
from irad.frontend.control.special import alike, at_site, site_of
from irad.frontend.control.templates import Composite
from irad.frontend.library.python import hashes
from irad.frontend.library.python.grown import equal
from irad.frontend.library.python.hashes import hash_of, hashed
from irad.frontend.library.python.keyed import KeyedDefaultDict, container, read_out
from irad.frontend.library.python.keyed_arrays import KeyedArray, named, watching
from irad.frontend.library.python.keyed_by_name import KeyedByName, all_keys, field, fields
from irad.frontend.library.python.keyed_lists import KeyedList, refused
from irad.frontend.library.python.keyed_sets import NOT_FOLLOWED, KeyedSet, ask, asked, plain
from irad.frontend.library.python.keyed_values import CLASSES, OF, OF_ARRAYS, KeyedListOf
from irad.frontend.python.numbers import builtin
from irad.frontend.reader import Reader
from irad.frontend.reading.comprehensions import FILLED
from irad.frontend.reading.statements import run_over
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Array, Cell
from irad.frontend.values.runs import has_run
from irad.frontend.values.state import Name
from irad.ops.control import raise_if


def made(r: Reader, e: ast.expr, out: Any) -> Any:
    """What stands for a dict, set or list that an expression makes, with known keys so far."""
    cls: Any = type(out)
    if cls is list:
        kind = _kind(r, (e,))
        return r.call(KeyedList, [out], {}) if kind is None else r.call(KeyedListOf, [kind, out], {})
    by_name = ByName(_made_alike(r, frozenset(alike(r, e)))) if cls is dict and all(type(k) is str for k in out) else None
    if by_name is not None and by_name.made_by.isdisjoint(r.keyed):
        return r.call(KeyedByName, [by_name, [*out.items()]], {})
    if isinstance(out, collections.defaultdict):
        return _new(r, cls, e, [out.default_factory, [*out.items()]])
    if isinstance(out, collections.Counter):
        return _new(r, cls, e, [dict(out)])
    if isinstance(out, set):
        return r.call(plain, [out], {})
    return of_items(r, cls, [*out.items()] if isinstance(out, dict) else [*out], e)


def of_items(r: Reader, cls: Any, items: Any, e: ast.expr | None = None) -> Any:
    """What stands for a new dict of pairs, or set of elements, that an expression makes."""
    return _new(r, cls, e, [items])


def filled(r: Reader, e: ast.DictComp, over: Any) -> Any:
    """The dict of a comprehension over what data decide, as a loop fills it; None where it is known how many elements there are."""
    over = opened(r, over)
    if uncounted(r, over) is None:
        return None
    out = at_site(r, e, of_items(r, dict, [], e))
    r.state.assign(Name(r.frame.env, FILLED), out)
    loop, live = _as_loop(e), frozenset([FILLED])
    inner: ast.stmt = loop
    while isinstance(inner, (ast.For, ast.If)):
        r.frame.liveness.head[inner] = r.frame.liveness.after[inner] = live
        if isinstance(inner, ast.For):
            live |= {n.id for n in ast.walk(inner.target) if isinstance(n, ast.Name)}
        inner = inner.body[0]
    run_over(r, loop, over)
    return out


@functools.cache
def _as_loop(e: ast.DictComp) -> ast.For:
    """A comprehension as loops that store its elements."""
    body: ast.stmt = ast.Assign([ast.Subscript(ast.Name(FILLED, ast.Load()), e.key, ast.Store())], e.value)
    for g in reversed(e.generators):
        for test in reversed(g.ifs):
            body = ast.If(test, [body], [])
        body = ast.For(g.target, g.iter, [body], [])
    for n in ast.walk(body):
        if not hasattr(n, "lineno") and isinstance(n, (ast.stmt, ast.expr)):
            ast.copy_location(n, e)
    assert isinstance(body, ast.For)
    return body


@dataclass(frozen=True)
class _Holds:
    """What the next reading is told of an expression: its dict has containers of one kind as values."""

    made_by: ast.expr
    kind: tuple[Any, ...]


@dataclass(frozen=True)
class ByName:
    """What the next reading is told of expressions: their dicts have known texts as keys, some of which are there on some paths only."""

    made_by: frozenset[ast.expr]


def _made_alike(r: Reader, es: frozenset[ast.expr]) -> frozenset[ast.expr]:
    """Expressions, and those that make dicts of which one is theirs on another path."""
    more = es.union(*(x.made_by for x in r.keyed if type(x) is ByName and not es.isdisjoint(x.made_by)))
    return es if more == es else _made_alike(r, more)


def of_paths(r: Reader, dicts: Any) -> frozenset[Any]:
    """What the next reading is told of dicts with other known texts as keys, one of which a variable is on each path."""
    first = [d.kids[0] if isinstance(d, Composite) else None for d in dicts]
    markers: list[Any] = [d.made_by if type(d) is KeyedByName else getattr(t, "obj", None) for d, t in zip(dicts, first)]
    sites = [{site_of(r, d)} if m is None else m.made_by for d, m in zip(dicts, markers)]
    known = all(type(m) is ByName or (type(d) is dict and all(type(k) is str for k in d)) for d, m in zip(dicts, markers))
    made_by = frozenset[Any]().union(*sites)
    return frozenset([ByName(made_by)]) if known and None not in made_by and made_by.isdisjoint(r.keyed) else frozenset()


def differing(r: Reader, d: Any, *contents: Any) -> Any:
    """The same, for a dict that gets other keys on some path, where these are all known texts; for others the expression, or None."""
    site = site_of(r, d)
    known = type(d) is dict and all(type(x) is dict and all(type(k) is str for k in x) for x in contents)
    by_name = ByName(frozenset([site]))
    return by_name if known and site is not None and by_name not in r.keyed else site


@builtin(field)
def field_(r: Reader, key: Any, of: Any) -> str:
    return f"[{key}]" if type(key) is str else all_keys_(r, of)


@builtin(fields)
def fields_(r: Reader, of: Any) -> list[str]:
    return [name for name in own_names(of) if name[0] == "["]


@builtin(all_keys)
def all_keys_(r: Reader, of: Any) -> Any:
    error = UnsupportedError("all keys of a dict are asked for, of which some are there on some paths only")
    error.site = of.made_by.made_by
    raise error


def _kind(r: Reader, made_by: tuple[ast.expr, ...]) -> Any:
    """The kind of containers that what is made by one of these expressions has as values, as far as an earlier reading has told."""
    return next((x.kind for x in r.keyed if type(x) is _Holds and x.made_by in made_by), None)


def _new(r: Reader, cls: Any, e: ast.expr | None, args: list[Any]) -> Any:
    own = CLASSES[cls]
    kind = None if e is None or not r.keyed else _kind(r, alike(r, e))
    if kind is not None and own in OF:
        return r.call((OF_ARRAYS if kind[0] is KeyedArray else OF)[own], [kind, *args], {})
    try:
        return r.call(own, args, {})
    except UnsupportedError as error:
        if e is not None and (wanted := getattr(error, "wanted", None)) is not None:
            error.site = _Holds(e, wanted)
        raise


@builtin(container)
def container_(r: Reader, value: Any, holder: Any) -> bool:
    """Is a value a container? Raises UnsupportedError for one that the dict cannot hold, with what is to be made otherwise: dict or value."""
    cls: Any = type(value)
    if type(holder) in OF_ARRAYS.values():
        return isinstance(value, Array) or cls is KeyedArray
    if cls is KeyedArray:
        raise UnsupportedError("an array that is a value of one dict is put into another: put a copy into it (d[k] = x.copy())")
    if not is_mapped(value) and not isinstance(value, (list, set, dict, collections.deque)):
        return False
    holders = (*OF.values(), KeyedListOf)
    if type(holder) in holders and (cls, *_factory(value)) == holder.kind:
        pool = getattr(value if cls is KeyedList else value.names, "pool", None)
        if pool not in (None, holder.pool) and r.state.locked(pool):
            raise UnsupportedError(
                f"a {cls.MAPPED.__name__} that a comprehension took from another dict whose keys depend on data: "
                f"write a loop (for k, v in d.items(): new[k] = {cls.MAPPED.__name__}(v))"
            )
        return True
    of = cls.MAPPED if is_mapped(value) else cls
    cure = "is not supported: keep (key, value) pairs in one list"
    if of in (*CLASSES, list):
        cure = f"must be made for it: give the dict a new one (d[k] = {of.__name__}(xs))"
    error = UnsupportedError(f"a {of.__name__} as a value of a dict whose keys depend on data {cure}")
    if type(holder) in holders:
        error.site = site_of(r, value)
    elif of in (*CLASSES, list) and type(holder) in OF:
        wanted = (CLASSES.get(of, KeyedList), *_factory(value))
        error.wanted = wanted  # type: ignore[attr-defined]
        if (made_by := site_of(r, holder)) is not None:
            error.site = _Holds(made_by, wanted)
    raise error


def _factory(value: Any) -> list[Any]:
    """What a defaultdict makes of a key that it lacks."""
    return [value.default_factory] if isinstance(value, (collections.defaultdict, KeyedDefaultDict)) else []


def element_changed(r: Reader, error: UnsupportedError, container: Any) -> None:
    """A list, set or dict in a list is changed, and it is not followed which one: the function is read again with a list of such ones."""
    found, holder = r.of_lists[id(container)]
    cls: Any = type(container)
    if found is container and cls in (*CLASSES, list) and (made_by := site_of(r, holder)) is not None:
        error.site = _Holds(made_by, (CLASSES.get(cls, KeyedList), *_factory(container)))


@builtin(read_out)
def read_out_(r: Reader, value: Any, holder: Any) -> Any:
    if isinstance(value, Array):
        for cell in value.cells():
            r.of_dicts[id(cell)] = cell, holder
    return value


def changed_in_place(r: Reader, cell: Cell) -> None:
    """An array that is a value of a dict is changed: the function is read again with a dict of such arrays."""
    found, holder = r.of_dicts.get(id(cell), (None, None))
    if found is cell:
        error = UnsupportedError(
            "an array that is a value of this dict whose keys depend on data is changed in place; give the dict another one "
            "(row = d[k].copy(); row[i] = v; d[k] = row)"
        )
        if type(holder) in OF_ARRAYS and (made_by := site_of(r, holder)) is not None:
            error.site = _Holds(made_by, (KeyedArray,))
        raise error


@builtin(named)
def named_(r: Reader, array: Any) -> bool:
    if not isinstance(array, Array):
        return False
    cells = array.shared()
    return any(c.outside for c in cells) or any(map(lambda c: known_by_name(r, c), cells))


@builtin(watching)
def watching_(r: Reader, array: Array, stores: Array) -> Array:
    stores.cell.owner = None  # a content known at compile time is not to be changed in place meanwhile
    out = Array(array.cell, array.steps, array.type, array.strides, array.frozen or _COPY)
    out.loose = array.loose
    out.watch = (*array.watch, (stores.cell, stores.cell.content))
    return out


_COPY = (
    "a part of an array that is a value of a dict whose keys depend on data is changed; change it where it stands (d[k][i] = v)"
)


@builtin(plain)
def plain_(r: Reader, xs: Any) -> Any:
    if not isinstance(xs, (set, frozenset)):
        return xs
    # What the order is after more elements is told by where these stand, which other elements that came and went have a part in.
    alike, out = plain(xs), r.call(KeyedSet, [list(xs)], {})
    room = sys.getsizeof(xs) - sys.getsizeof(set())
    if alike._each() != list(xs) or len(alike.table) != (room // _ENTRY or len(KeyedSet().table)):
        r.setattr(out, "ordered", False)
    return out


_ORDERS = object()  # what the next reading is told where the order of a set is asked for


@builtin(asked)
def asked_(r: Reader) -> bool:
    return _ORDERS in r.keyed


@builtin(ask)
def ask_(r: Reader, xs: Any) -> None:
    error = UnsupportedError(NOT_FOLLOWED)
    error.site = None if asked_(r) else _ORDERS
    raise error


_ENTRY = 16  # bytes of a place in the table of a set


@builtin(hash_of)
def hash_of_(r: Reader, key: Any) -> Any:
    """hash() of a number that data decide, or of a tuple with such ones; of what has no hash that is known, 0."""
    if isinstance(key, tuple) and hashed_(r, key):
        return r.call(hashes.of_tuple, [[hash_of_(r, x) for x in key]], {})
    if isinstance(key, Arr) and hashed_(r, key):
        return r.call(hashes.of_float if key.name[0] == "f" else hashes.of_whole, [key], {})
    return hash_of(key)


@builtin(hashed)
def hashed_(r: Reader, key: Any) -> bool:
    if isinstance(key, tuple):
        return all(hashed_(r, x) for x in key)
    return key.name[0] in "biuf" and not key.shape if isinstance(key, Arr) else hashed(key)


@builtin(refused)
def refused_(r: Reader, condition: Any, message: str) -> None:
    holds = r.truth(condition)
    if isinstance(holds, Arr):
        raise_if(holds.value, exc="UnsupportedError", message=message)
    elif holds:
        raise UnsupportedError(message)


def lists_equal(r: Reader, a: list[Any], b: list[Any]) -> Any:
    """a == b of lists, of which data decide how many elements one has."""
    if a is b:
        return True
    if not a or not b:
        return r.operator("eq", r.call(len, [a], {}), r.call(len, [b], {}))
    return r.call(equal, [x if has_run(x) else r.state.made([whole(r, x)]) for x in (a, b)], {})
