"""Structured arrays and their records: fields, indexing, stores, comparisons.

What is read by basic indices is a view of every field, so that stores through it reach the array; masks and index arrays copy.
An index is worked out once, for all fields: a mask becomes positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from irad.core.structured import Bytes, Field, Layout, Structured, bytes_of, is_structured
from irad.errors import IradTypeError, IradValueError, UnsupportedError
from irad.frontend.numpy import views
from irad.frontend.reader import Reader
from irad.frontend.reading.subscripts import array_item, settled, store, writable
from irad.frontend.values.arr import Arr, static_int
from irad.frontend.values.fields import array_class, made, record_class, stand_in
from irad.frontend.values.index import expand_key
from irad.frontend.values.objects import Array, Either, Text, describe, is_number

Node = Structured | Bytes

# ---- fields ----------------------------------------------------------------------------------------------------------


def number_of(s: Structured, name: str) -> int:
    """The position of a field."""
    names = s.layout.dtype.names or ()
    if name not in names:
        raise IradValueError(f"no field of name {name}; there are {', '.join(names)}")
    return names.index(name)


def get_field(r: Reader, s: Structured, k: int) -> Any:
    """The field number k: an array, of a record a NumPy scalar or an array; another structured array or record; strings."""
    f, x = s.layout.fields[k], s.children[k]
    scalar = s.layout.scalar and not f.shape
    if f.kind == "bytes":
        return Bytes(f.dtype, x, scalar)
    if f.kind == "record":
        return made(x, x.children, s.layout.cls if scalar else array_class(s.layout.cls))
    return array_item(r, x, ()) if scalar else x


def subset(s: Structured, names: Sequence[str]) -> Structured:
    """The fields of some names, as a view."""
    at = [number_of(s, name) for name in names]
    return Structured(Layout(s.layout.dtype[list(names)], s.layout.cls), [s.children[k] for k in at])


# ---- indexing --------------------------------------------------------------------------------------------------------


def node_item(r: Reader, s: Node, key: Any) -> Any:
    """s[key]."""
    if isinstance(s, Structured):
        if isinstance(key, str):
            return get_field(r, s, number_of(s, key))
        if isinstance(key, list) and key and all(isinstance(k, str) for k in key):
            return subset(s, key)
        if s.layout.scalar:
            return get_field(r, s, _position(s, key))
    items, basic, element = _key(r, s, key)
    if isinstance(s, Bytes):
        return Bytes(s.dtype, _indexed(r, s.bytes, items, basic), element)
    cls = record_class(s.layout.cls) if element else array_class(s.layout.cls)
    return r.state.made(made(s, [_indexed(r, c, items, basic) for c in s.children], cls))


def _position(s: Structured, key: Any) -> int:
    n = len(s.children)
    k = static_int(key, "the number of a field")
    if not -n <= k < n:
        raise IndexError(f"invalid index ({k})")
    return k % n


def _key(r: Reader, s: Node, key: Any) -> tuple[tuple[Any, ...], bool, bool]:
    """A key as one item per axis of s; whether it makes views; whether it names a single element."""
    given = r.operand(key)
    dots = any(k is Ellipsis for k in (given if isinstance(given, tuple) else (given,)))
    items = tuple(expand_key(given, s.shape))
    basic = views.is_basic(items)
    return items, basic, basic and not dots and not any(k is None or isinstance(k, slice) for k in items)


def _indexed(r: Reader, x: Any, items: tuple[Any, ...], basic: bool) -> Any:
    """A field at a key that does not reach into it."""
    if isinstance(x, Structured):
        return made(x, [_indexed(r, c, items, basic) for c in x.children])
    if not basic:
        return array_item(r, x, items)
    return settled(r, x, lambda a: views.at(r, a, items)) if isinstance(x, Either) else views.at(r, x, items)


# ---- stores ----------------------------------------------------------------------------------------------------------

Store = Callable[[], None]


def set_node_item(r: Reader, s: Node, key: Any, value: Any) -> None:
    """s[key] = value; what is stored is worked out before anything is."""
    if isinstance(s, Bytes):
        items, _, _ = _key(r, s, key)
        todo = [_put(r, s.bytes, items, encoded(s.dtype, value))]
    elif isinstance(key, str) or s.layout.scalar:
        k = number_of(s, key) if isinstance(key, str) else _position(s, key)
        todo = _stores(r, s.layout.fields[k], s.children[k], Ellipsis, value)
    elif isinstance(key, list) and key and all(isinstance(k, str) for k in key):
        todo = _all_stores(r, subset(s, key), Ellipsis, value)
    else:
        todo = _all_stores(r, s, _key(r, s, key)[0], value)
    for run in todo:
        run()


def _all_stores(r: Reader, s: Structured, key: Any, value: Any) -> list[Store]:
    """The stores of a whole value at a key: of its fields, in their order."""
    values = components(r, s, value)
    triples = zip(s.layout.fields, s.children, values)
    return [run for f, x, v in triples for run in _stores(r, f, x, key, v)]


def _stores(r: Reader, f: Field, x: Any, key: Any, value: Any) -> list[Store]:
    """The stores into one field."""
    if f.kind == "record":
        return _all_stores(r, x, key, value)
    if f.kind == "number":
        return [_put(r, x, key, _number(value))]
    if isinstance(value, list) and value and all(isinstance(v, _Raw) for v in value):
        return [_put(r, x, key, r.call(np.stack, [[v.bytes for v in value]]))]
    return [_put(r, x, key, value.bytes if isinstance(value, _Raw) else encoded(f.dtype, value))]


def _put(r: Reader, x: Array, key: Any, value: Any) -> Store:
    writable(x)
    return partial(store, r, x, key, r.operand(value))


def _number(value: Any) -> Any:
    if isinstance(value, (Structured, Bytes, _Raw)):
        raise IradTypeError(f"{describe(value)} cannot be stored into a field of numbers")
    return value


class _Raw:
    """The bytes of a field of data that is not read."""

    def __init__(self, data: Array):
        self.bytes = data


def components(r: Reader, s: Structured, value: Any) -> list[Any]:
    """What goes into each field of s where `value` is stored as a whole: by position, as NumPy does."""
    n = len(s.children)
    if is_structured(value):
        value = stand_in(value)
    if isinstance(value, Structured):
        if len(value.children) != n:
            raise IradValueError(f"{describe(value)} does not fit into {describe(s)}: the fields are matched by position")
        return [_component(f, g, x) for f, g, x in zip(s.layout.fields, value.layout.fields, value.children)]
    if isinstance(value, tuple):
        if len(value) != n:
            raise IradValueError(f"could not assign tuple of length {len(value)} to structure with {n} fields.")
        return list(value)
    if isinstance(value, list):
        rows = [components(r, s, x) if isinstance(x, (tuple, Structured)) else None for x in value]
        if not rows or None in rows:
            raise UnsupportedError("a list is stored into a structured array: write a list of tuples, one for each record")
        return [[row[k] for row in rows] for k in range(n)]  # type: ignore[index]
    return [_spread(r, f, value) for f in s.layout.fields]


def _component(f: Field, g: Field, x: Any) -> Any:
    """A field of another structured array, for the field f."""
    if f.kind != g.kind or f.shape != g.shape or (f.kind == "bytes" and f.dtype != g.dtype):
        raise UnsupportedError(
            f"field {g.name!r} of dtype {g.dtype}{g.shape or ''} does not fit field {f.name!r} of {f.dtype}{f.shape or ''}"
        )
    return x if f.kind != "bytes" else _Raw(x)


def _spread(r: Reader, f: Field, value: Any) -> Any:
    """A number, or an array with one for each record, goes into every field."""
    if not (is_number(value) or isinstance(value, Array)) or f.kind == "bytes":
        raise UnsupportedError(
            f"{describe(value)} is stored into field {f.name!r} by storing into whole records: store by fields"
        )
    if is_number(value) or not f.shape or f.kind == "record":
        return value
    return r.getitem(value, (Ellipsis, *[None] * len(f.shape)))


def encoded(dtype: np.dtype, value: Any) -> Any:
    """Strings as bytes in the form that a field holds them."""
    if isinstance(value, Bytes):
        if value.dtype != dtype:
            raise UnsupportedError(f"strings of dtype {value.dtype} are stored into a field of {dtype}: give it the same dtype")
        return value.bytes
    _readable(dtype)
    if isinstance(value, (Text, Arr, Array, Structured)):
        raise IradTypeError(f"{describe(value)} cannot be stored into a field of strings ({dtype})")
    return bytes_of(dtype, value)


# ---- strings and comparisons ----------------------------------------------------------------------------------------------


def _readable(dtype: np.dtype) -> None:
    if dtype.kind not in "SU":
        raise UnsupportedError(
            f"a field of dtype {dtype} is carried along in compiled code, but cannot be read or stored into; "
            "give the program a field of numbers, made outside"
        )


def node_operator(r: Reader, name: str, *xs: Any) -> Any:
    """An operator with a structured array, a record, or strings among its operands."""
    if name in ("eq", "ne") and len(xs) == 2:
        same = _strings_equal(r, *xs) if any(isinstance(x, Bytes) for x in xs) else _records_equal(r, *xs)
        out = same if name == "eq" else r.operator("invert", same)
        single = all(isinstance(x, (str, bytes)) or (isinstance(x, Bytes) and x.scalar) for x in xs)
        return Arr(out.value, True) if single and isinstance(out, Arr) else out  # of strings a Python bool
    what = next(x for x in xs if isinstance(x, (Structured, Bytes)))
    raise IradTypeError(
        f"operator {name.rstrip('_')} on {describe(what)}"
        + ("; write it for each of its fields, p['x'] = ..." if isinstance(what, Structured) else "")
    )


def _strings_equal(r: Reader, x: Any, y: Any) -> Any:
    """x == y of strings, element by element."""
    if not isinstance(x, Bytes):
        x, y = y, x
    _readable(x.dtype)
    if isinstance(y, Bytes):
        if y.dtype != x.dtype:
            raise UnsupportedError(f"strings of dtypes {x.dtype} and {y.dtype} are compared: give the fields the same dtype")
        return _all_equal(r, x.bytes, y.bytes, 1)
    given = np.asarray(r.operand(y))
    if given.dtype.kind != x.dtype.kind:
        what = "bytes, b'...'" if x.dtype.kind == "S" else "a str"
        raise IradTypeError(f"an array of strings of dtype {x.dtype} is compared with {describe(y)}; compare it with {what}")
    same = _all_equal(r, x.bytes, r.wrap(bytes_of(x.dtype, given)), 1)
    fits = np.asarray(given.astype(x.dtype) == given)
    return same if np.all(fits) else r.operator("and_", same, r.wrap(fits))


def _records_equal(r: Reader, x: Any, y: Any) -> Any:
    """x == y of structured arrays of one dtype: all fields are equal."""
    x, y = (stand_in(a) if is_structured(a) else a for a in (x, y))
    if not (isinstance(x, Structured) and isinstance(y, Structured) and x.layout.dtype == y.layout.dtype):
        raise UnsupportedError(f"{describe(x)} is compared with {describe(y)}: compare the fields, p['x'] == ...")
    out: Any = None
    for f, a, b in zip(x.layout.fields, x.children, y.children):
        same = _all_equal(r, a, b, f.rank) if f.kind != "record" else _reduced(r, _records_equal(r, a, b), len(f.shape))
        out = same if out is None else r.operator("and_", out, same)
    return out


def _all_equal(r: Reader, x: Any, y: Any, rank: int) -> Any:
    return _reduced(r, r.operator("eq", x, y), rank)


def _reduced(r: Reader, same: Any, rank: int) -> Any:
    """All along the last axes."""
    return r.call(np.all, [same], {"axis": tuple(range(-rank, 0))}) if rank else same
