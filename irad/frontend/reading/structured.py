"""Attributes and methods of structured arrays, and NumPy functions that take or make them: field by field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from irad.core.structured import Bytes, Field, Layout, Structured, fields, is_structured, why_not
from irad.core.types import promote
from irad.errors import IradValueError, UnsupportedError
from irad.frontend.numpy.attributes import item
from irad.frontend.reader import Reader
from irad.frontend.reading.records import get_field, node_item, set_node_item
from irad.frontend.values.arr import Arr, from_dim, normalize_axis
from irad.frontend.values.fields import array_class, made, stand_in
from irad.frontend.values.objects import Array, Method, describe, is_traced_deep

Node = Structured | Bytes

# ---- attributes and methods ---------------------------------------------------------------------------------------------


def _size(r: Reader, s: Node) -> Any:
    return reduce(lambda a, d: r.operator("mul", a, d), map(from_dim, s.shape), 1)


ATTRIBUTES: dict[str, Callable[[Reader, Any], Any]] = {
    "shape": lambda r, s: tuple(map(from_dim, s.shape)),
    "ndim": lambda r, s: len(s.shape),
    "size": _size,
    "dtype": lambda r, s: s.layout.dtype if isinstance(s, Structured) else s.dtype,
    "itemsize": lambda r, s: ATTRIBUTES["dtype"](r, s).itemsize,
    "nbytes": lambda r, s: r.operator("mul", _size(r, s), ATTRIBUTES["itemsize"](r, s)),
    "T": lambda r, s: _transpose(r, s),
}


def get_node_attr(r: Reader, s: Node, name: str) -> Any:
    """s.name: NumPy's attributes and methods first, then the fields of a recarray."""
    if name in ATTRIBUTES:
        return ATTRIBUTES[name](r, s)
    if name in METHODS and (isinstance(s, Structured) or name == "copy"):
        return Method(s, name)
    own: type = s.layout.cls if isinstance(s, Structured) else np.ndarray
    if not hasattr(own, name):
        if isinstance(s, Structured) and _by_attribute(s) and name in s.layout.dtype.names:  # type: ignore[operator]
            return node_item(r, s, name)
        raise AttributeError(f"'{own.__module__}.{own.__name__}' object has no attribute '{name}'")
    raise UnsupportedError(f"{name} of {describe(s)} is not supported in compiled code; take it of its fields")


def set_node_attr(r: Reader, s: Node, name: str, value: Any) -> None:
    """s.name = value, of a recarray."""
    if not isinstance(s, Structured) or not _by_attribute(s) or name not in (s.layout.dtype.names or ()):
        raise UnsupportedError(f"assigning attribute {name} of {describe(s)}; store into a field: p['x'] = ...")
    set_node_item(r, s, name, value)


def _by_attribute(s: Structured) -> bool:
    return s.layout.cls in (np.recarray, np.record)


def call_node_method(r: Reader, s: Any, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A method of a structured array or record."""
    if isinstance(s, Bytes):
        return copied(r, s)
    return METHODS[name](r, s, *args, **kwargs)


def copied(r: Reader, s: Any, *args: Any, **kwargs: Any) -> Any:
    """A copy of every field."""
    if isinstance(s, Array):
        return r.call(r.getattr(s, "copy"), [])
    if isinstance(s, Bytes):
        return Bytes(s.dtype, copied(r, s.bytes), s.scalar)
    return r.state.made(made(s, [copied(r, c) for c in s.children]))


def _each(r: Reader, s: Structured, f: Callable[[Array, int], Any]) -> Structured:
    """Another array of the same records: f of every array of a field and the number of its axes that are the field's own."""

    def one(x: Any, rank: int) -> Any:
        return (
            made(x, [one(c, rank + g.rank) for g, c in zip(x.layout.fields, x.children)])
            if isinstance(x, Structured)
            else f(x, rank)
        )

    return r.state.made(made(s, [one(c, g.rank) for g, c in zip(s.layout.fields, s.children)]))


def _reshape(r: Reader, s: Structured, *shape: Any, order: str = "C") -> Any:
    """s.reshape(shape): a view where NumPy makes one."""
    _only_c(order)
    given = shape[0] if len(shape) == 1 else shape
    new: Any = [given] if isinstance(given, (int, Arr)) else list(given)
    if any(isinstance(d, Arr) for d in new) or not all(isinstance(d, int) for d in s.shape):
        raise UnsupportedError("reshape of a structured array whose extents are known at run time only")
    want = np.broadcast_to(np.zeros((), np.int8), s.shape).reshape(new).shape
    return _each(r, s, lambda x, rank: r.call(r.getattr(x, "reshape"), [(*want, *x.shape[len(x.shape) - rank :])]))


def _only_c(order: str) -> None:
    if order != "C":
        raise UnsupportedError(f"order={order!r} of a structured array; only order='C'")


def _transpose(r: Reader, s: Structured, *axes: Any) -> Any:
    n = len(s.shape)
    given = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
    perm = [normalize_axis(k, n) for k in given] if given else list(range(n))[::-1]
    return _each(r, s, lambda x, rank: r.call(r.getattr(x, "transpose"), [(*perm, *range(n, n + rank))]))


def _view(r: Reader, s: Structured, *args: Any, **kwargs: Any) -> Any:
    """s.view(np.recarray), s.view(np.ndarray), s.view(its own dtype)."""
    for wanted in (*args, *kwargs.values()):
        if wanted in (np.recarray, np.ndarray) and not s.layout.scalar:
            s = made(s, s.children, wanted)
        elif isinstance(wanted, type) or np.dtype(wanted) != s.layout.dtype:
            raise UnsupportedError(
                f"view of {describe(s)} as {wanted!r}; np.recarray, np.ndarray, or its own dtype: other views of its memory are not followed"
            )
    return r.state.made(made(s, s.children))


def _astype(r: Reader, s: Structured, dtype: Any, **kwargs: Any) -> Any:
    if np.dtype(dtype) != s.layout.dtype:
        raise UnsupportedError(f"astype of {describe(s)}: make an array of the new dtype with np.zeros, and store its fields")
    return copied(r, s)


def _item(r: Reader, s: Structured, *key: Any) -> Any:
    """A record as a tuple of Python numbers."""
    if not s.layout.scalar:
        if not key and not all(d == 1 for d in s.shape):
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        s = node_item(r, s, key or (0,) * len(s.shape))
    return tuple(_plain(r, f, get_field(r, s, k)) for k, f in enumerate(s.layout.fields))


def _plain(r: Reader, f: Field, x: Any) -> Any:
    if isinstance(x, Structured):
        return _tolist(r, x)
    if f.kind == "bytes":
        raise UnsupportedError(f"field {f.name!r} of strings in item() or tolist(): take the fields that you need one by one")
    return x if f.shape else item(x) if isinstance(x, Arr) else x.item()


def _tolist(r: Reader, s: Structured) -> Any:
    if s.layout.scalar or not s.shape:
        return _item(r, s)
    return r.state.made([_tolist(r, row) for row in r.items(s)])


METHODS: dict[str, Callable[..., Any]] = {
    "copy": copied, "reshape": _reshape, "transpose": _transpose, "view": _view, "astype": _astype, "item": _item,
    "tolist": _tolist, "fill": lambda r, s, value: set_node_item(r, s, Ellipsis, value),
    "ravel": lambda r, s, order="C": _reshape(r, s, -1, order=order),
    "flatten": lambda r, s, order="C": copied(r, _reshape(r, s, -1, order=order)),
    "field": lambda r, s, attr: node_item(r, s, attr),
}  # fmt: skip


# ---- functions ----------------------------------------------------------------------------------------------------------------


def call_structured(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A NumPy function of structured arrays, or that makes one; NotImplemented where there are none."""
    made_of = fn in _MAKERS and _structured_dtype(fn, args, kwargs)
    if made_of:
        return _MAKERS[fn](r, made_of, *args if fn is np.full else args[:1], **{k: v for k, v in kwargs.items() if k != "dtype"})
    if fn in _RECARRAYS and is_traced_deep([args, kwargs]):
        return _RECARRAYS[fn](r, *args, **kwargs)
    if not any(map(_holds, (*args, *kwargs.values()))):
        return NotImplemented
    if fn in FUNCTIONS:
        return FUNCTIONS[fn](r, *args, **kwargs)
    name = getattr(fn, "__name__", str(fn))
    if str(getattr(fn, "__module__", "")).endswith("recfunctions") and name == "structured_to_unstructured":
        return _unstructured(r, *args, **kwargs)
    operands = r.operand([*args, *kwargs.values()])
    if any(map(_holds, operands)):
        what = next(x for x in (*args, *kwargs.values()) if _holds(x))
        raise UnsupportedError(f"np.{name} of {describe(what)} is not supported in compiled code; call it on the fields, p['x']")
    return NotImplemented


def _holds(x: Any) -> bool:
    return isinstance(x, (Structured, Bytes)) or (type(x) in (list, tuple) and any(map(_holds, x)))


def _structured_dtype(fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The structured dtype that is asked for, or None."""
    given = kwargs.get("dtype", args[1] if len(args) > 1 and fn is not np.full else None)
    if given is None or isinstance(given, (Array, Arr, type)):
        return None
    try:
        dtype = np.dtype(given)
    except TypeError:
        return None
    if dtype.names is None:
        return None
    if why_not(dtype):
        raise UnsupportedError(why_not(dtype))
    return dtype


def _filled(fn: Any) -> Callable[..., Any]:
    """np.zeros and its kin of a structured dtype: each field by the same function."""

    def make(r: Reader, dtype: np.dtype, shape: Any, *args: Any, order: str = "C") -> Structured:
        dims = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)

        def field(f: Field, before: tuple[Any, ...]) -> Any:
            if f.kind == "record":
                return level(f.dtype, (*before, *f.shape))
            if f.kind == "number":
                return r.call(fn, [(*before, *f.shape), *args, f.dtype.newbyteorder("=")])
            _no_text(fn, f)
            return r.call(np.zeros, [(*before, *f.view.shape), np.uint8])

        def level(dtype: np.dtype, before: tuple[Any, ...]) -> Structured:
            return Structured(Layout(dtype, np.ndarray), [field(f, before) for f in fields(dtype)])

        return r.state.made(level(dtype, dims))

    return make


def _no_text(fn: Any, f: Field) -> None:
    if fn not in (np.zeros, np.empty):
        raise UnsupportedError(
            f"np.{fn.__name__} of a dtype with the field {f.name!r} of {f.dtype}; use np.zeros, and store the fields"
        )


def _like(fn: Any) -> Callable[..., Any]:
    def make(r: Reader, a: Structured, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Any:
        dims = tuple(map(from_dim, a.shape)) if shape is None else shape
        if dtype is not None:
            return r.call(fn, [dims], {"dtype": dtype})
        out = _filled(fn)(r, a.layout.dtype, dims)
        return made(out, out.children, array_class(a.layout.cls) if subok else np.ndarray)

    return make


def _array(r: Reader, dtype: np.dtype, value: Any, **kwargs: Any) -> Any:
    """np.array of tuples, one for each record."""
    if is_structured(value):
        value = stand_in(value)
    if isinstance(value, Structured):
        return _astype(r, value, dtype)
    n = () if isinstance(value, tuple) else (len(r.items(value)),)
    out = _filled(np.zeros)(r, dtype, n)
    if n != (0,):
        set_node_item(r, out, Ellipsis, value if isinstance(value, tuple) else list(r.items(value)))
    return out


_MAKERS: dict[Any, Callable[..., Any]] = {
    np.zeros: _filled(np.zeros), np.empty: _filled(np.empty), np.ones: _filled(np.ones), np.array: _array, np.asarray: _array,
}  # fmt: skip


def _from_arrays(r: Reader, arrayList: Any, dtype: Any = None, shape: Any = None, formats: Any = None, names: Any = None) -> Any:
    """np.rec.fromarrays: a field for each array."""
    columns = [r.call(np.asarray, [x]) for x in r.items(arrayList)]
    dims = columns[0].shape if shape is None else shape
    if dtype is None:
        given = names.split(",") if isinstance(names, str) else list(names or ())
        named = [n.strip() for n in given] + [f"f{k}" for k in range(len(given), len(columns))]
        kinds = (
            [x.strip() for x in formats.split(",")] if isinstance(formats, str) else formats or [x.type.numpy for x in columns]
        )
        dtype = list(zip(named, kinds))
    out = _filled(np.zeros)(r, np.dtype(dtype), dims)
    for k, (name, x) in enumerate(zip(out.layout.dtype.names or (), columns)):
        if x.shape != (*dims, *out.layout.dtype[name].shape):
            raise IradValueError(f'array-shape mismatch in array {k} ("{name}")')
        set_node_item(r, out, name, x)
    return r.state.made(made(out, out.children, np.recarray))


def _from_records(r: Reader, recList: Any, dtype: Any = None, shape: Any = None, formats: Any = None, names: Any = None) -> Any:
    """np.rec.fromrecords: of rows, each a tuple."""
    rows = r.items(recList)
    if dtype is not None:
        out = _array(r, np.dtype(dtype), [tuple(r.items(row)) for row in rows])
        return r.state.made(made(out, out.children, np.recarray))
    columns = [r.call(np.array, [list(column)]) for column in zip(*map(r.items, rows))]
    return _from_arrays(r, columns, None, shape, formats, names)


def _record_array(r: Reader, obj: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """np.rec.array of a structured array, of rows, or of arrays."""
    if isinstance(obj, Structured):
        out = copied(r, obj) if dtype is None else _astype(r, obj, dtype)
        return r.state.made(made(out, out.children, np.recarray))
    first = r.items(obj)[0]
    return (_from_records if isinstance(first, tuple) else _from_arrays)(r, obj, dtype, **kwargs)


_RECARRAYS: dict[Any, Callable[..., Any]] = {
    np.rec.fromarrays: _from_arrays, np.rec.fromrecords: _from_records, np.rec.array: _record_array,
}  # fmt: skip


def _joined(r: Reader, arrays: Any, axis: Any = 0, **kwargs: Any) -> Any:
    """np.concatenate."""
    found = [stand_in(x) if is_structured(x) else x for x in r.items(arrays)]
    first = found[0]
    if not all(isinstance(x, Structured) and x.layout.dtype == first.layout.dtype for x in found) or kwargs:
        raise UnsupportedError(
            "np.concatenate of structured arrays that do not have one dtype; store their fields into one array"
        )
    k = normalize_axis(axis, len(first.shape))

    def join(xs: Sequence[Any]) -> Any:
        if isinstance(xs[0], Structured):
            return made(xs[0], list(map(join, zip(*(x.children for x in xs)))))
        return r.call(np.concatenate, [list(xs)], {"axis": k})

    return r.state.made(join(found))


def _where(r: Reader, condition: Any, x: Any = None, y: Any = None) -> Any:
    """np.where(condition, x, y): whole records."""
    x, y = (stand_in(a) if is_structured(a) else a for a in (x, y))
    if not (isinstance(x, Structured) and isinstance(y, Structured) and x.layout.dtype == y.layout.dtype):
        raise UnsupportedError(f"np.where of {describe(x)} and {describe(y)}: choose the fields one by one")

    def choose(a: Any, b: Any, rank: int) -> Any:
        if isinstance(a, Structured):
            kids = zip(a.layout.fields, a.children, b.children)
            return made(a, [choose(p, q, rank + f.rank) for f, p, q in kids], array_class(a.layout.cls))
        wide = r.getitem(condition, (Ellipsis, *[None] * rank)) if rank and isinstance(condition, Array) else condition
        return r.call(np.where, [wide, a, b])

    return r.state.made(choose(x, y, 0))


def _unstructured(r: Reader, arr: Any, dtype: Any = None, copy: bool = False, casting: str = "unsafe") -> Any:
    """recfunctions.structured_to_unstructured: the numbers of all fields along a new last axis."""
    columns = list(_columns(arr, len(arr.shape)))
    name = reduce(promote, [x.type.dtype for x, _ in columns])
    flat = [r.call(np.reshape, [x, (*x.shape[: len(x.shape) - rank], -1)]) for x, rank in columns]
    target = np.dtype(dtype) if dtype is not None else columns[0][0].type.with_dtype(name).numpy
    return r.call(np.concatenate, [[r.call(r.getattr(x, "astype"), [target]) for x in flat]], {"axis": -1})


def _columns(s: Structured, n: int) -> Any:
    for f, x in zip(s.layout.fields, s.children):
        if f.kind == "bytes":
            raise UnsupportedError(
                f"structured_to_unstructured with the field {f.name!r} of {f.dtype}: take the others, p[[...]]"
            )
        if f.kind == "record" and f.shape:
            raise UnsupportedError(f"structured_to_unstructured with the field {f.name!r}, an array of records: take its fields")
        yield from _columns(x, n) if f.kind == "record" else [(x, len(x.shape) - n)]


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.shape: lambda r, a: ATTRIBUTES["shape"](r, a), np.ndim: lambda r, a: len(a.shape),
    np.size: lambda r, a, axis=None: ATTRIBUTES["size"](r, a) if axis is None else ATTRIBUTES["shape"](r, a)[axis],
    np.zeros_like: _like(np.zeros), np.empty_like: _like(np.empty), np.ones_like: _like(np.ones),
    np.copy: lambda r, a, order="K", subok=False: copied(r, a),
    np.array: lambda r, a, dtype=None, copy=True, **kw: copied(r, _only_structured(a)),
    np.asarray: lambda r, a, dtype=None, **kw: _only_structured(a), np.asanyarray: lambda r, a, dtype=None, **kw: _only_structured(a),
    np.reshape: lambda r, a, shape, order="C": _reshape(r, a, shape, order=order),
    np.ravel: lambda r, a, order="C": _reshape(r, a, -1, order=order),
    np.transpose: lambda r, a, axes=None: _transpose(r, a, *(() if axes is None else (axes,))),
    np.concatenate: _joined, np.where: _where,
}  # fmt: skip


def _only_structured(a: Any) -> Any:
    if not isinstance(a, (Structured, Bytes)):
        raise UnsupportedError("an array is made of a list of structured arrays or records: give np.array their dtype")
    return a
