"""Methods of arrays and traced numbers through the table, of lists, dicts and sets as Python runs them."""

from __future__ import annotations

import collections
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.foreign import base_items, base_method
from irad.core.ir import Value
from irad.core.once import import_later
from irad.core.structured import Bytes, Structured
from irad.core.types import DTYPES
from irad.errors import IradTypeError, UnsupportedError
from irad.frontend.control import list_changes, lists
from irad.frontend.control.flow import conjunction, negated
from irad.frontend.control.generators import made
from irad.frontend.control.holders import known_apart
from irad.frontend.control.regions import Dead, raise_always
from irad.frontend.control.special import compares_itself, joined_in_place, key_of
from irad.frontend.control.stands import Stands
from irad.frontend.control.varying import split, varies
from irad.frontend.numpy import views
from irad.frontend.numpy.table import METHODS, check_same_kind
from irad.frontend.python.text_pieces import METHODS as TEXT_METHODS
from irad.frontend.python.text_pieces import together
from irad.frontend.reader import Reader
from irad.frontend.reading.expressions import same_or_equal
from irad.frontend.reading.given import method_by_name
from irad.frontend.reading.logic import plain_contains
from irad.frontend.reading.structured import call_node_method
from irad.frontend.reading.subscripts import (
    by_data,
    change,
    extend,
    in_arrays,
    known,
    plain_delete,
    plain_item,
    plain_store,
    settled,
    store,
)
from irad.frontend.reading.watched import Watched
from irad.frontend.values.arr import Arr, from_dim, lift, static_int
from irad.frontend.values.extents import decided_by_data
from irad.frontend.values.fits import check_scalar
from irad.frontend.values.objects import Array, Either, Method, Text, describe, is_traced_deep
from irad.frontend.values.reach import CHANGES
from irad.frontend.values.result_layout import KEEPING_METHODS, of_operation
from irad.frontend.values.runs import has_run, length_of
from irad.ops.array import any_, argmax, sum_
from irad.ops.constant import scalar
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to, select


def call_method(r: Reader, m: Method, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A method of an array, a traced number, a list, dict or set."""
    x = m.owner
    if varies((x, *args)):
        return split(r, (x, *args), lambda y, *ys: r.call(r.getattr(y, m.name), list(ys), kwargs))
    if isinstance(x, Stands):
        return x.call(r, m.name, args, kwargs)
    if isinstance(x, (Structured, Bytes)):
        return call_node_method(r, x, m.name, args, kwargs)
    if not isinstance(x, (Array, Arr)):
        return _container_method(r, m, list(args), kwargs)
    if r.captures.array_classes and (of := import_later("irad.frontend.reading.array_classes")).holds([*args, *kwargs.values()]):
        return of.method_of_array(r, x, m.name, args, kwargs)
    args, kwargs = method_by_name(m.name, list(args), kwargs)
    operands = [r.operand(a) for a in args]
    named = {k: r.operand(v) for k, v in kwargs.items() if k != "out"}
    if isinstance(x, Array) and isinstance(x, Either):
        return settled(r, x, lambda a: call_method(r, Method(a, m.name), args, kwargs))
    if isinstance(x, Array) and m.name in views.BY_NAME:
        return views.BY_NAME[m.name](r, x, *operands, **named)
    if m.name in MUTATING and (isinstance(x, Array) or m.name == "tolist"):
        return MUTATING[m.name](r, x, *operands, **named)
    content, arrays = r.operand(x), isinstance(x, Array) and m.name in _ARRAYS  # of a NumPy number they give one
    if not isinstance(content, Arr) and not is_traced_deep([*operands, *named.values()]):
        with Watched(r, f"ndarray.{m.name}()", ()) as watched, np.errstate(all="ignore"):
            for o in (content, *operands, *named.values()):
                watched.guard(o)
            out = r.wrap(getattr(content, m.name)(*operands, **named), zero_d=arrays)
    elif m.name in METHODS:
        if isinstance(content, Arr) and content.weak:
            content = Arr(content.value) if m.name not in _PYTHON else content
        out = r.wrap(METHODS[m.name](content, *operands, **named), zero_d=arrays)
        out = of_operation(out, [x, *args, *kwargs.values()], m.name in KEEPING_METHODS)
    else:
        return _python_method_of_number(r, content, m.name, operands)
    return into(r, kwargs.get("out"), out, m.name)


_ARRAYS = {"astype", "copy", "reshape", "squeeze", "round", "clip", "view", "conj"}
_PYTHON = {"is_integer", "bit_length", "conjugate"}


def into(r: Reader, out: Any, result: Any, name: str) -> Any:
    """The `out=` argument of the function `name`: store the result there, and give that array."""
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if target is None:
        return result
    if isinstance(target, tuple):
        return tuple(into(r, t, x, name) for t, x in zip(target, result))
    if not isinstance(target, Array):
        raise IradTypeError(f"out= must be an array, got {describe(target)}")
    value = r.operand(result)
    if isinstance(value, Arr):
        check_same_kind(value.name, target.type.dtype, name, f"give out= an array of {DTYPES[value.name]}, or convert the result")
    store(r, target, Ellipsis, value)
    return target


def _python_method_of_number(r: Reader, x: Any, name: str, args: Sequence[Any]) -> Any:
    if name in ("conjugate", "conj"):
        return METHODS["conj"](x) if isinstance(x, Arr) else x.conjugate()
    if name == "is_integer" and isinstance(x, Arr):
        if x.name[0] != "f":
            return True
        whole = r.operator("eq", r.operator("sub", x, r.call(np.floor, [x])), 0.0)  # inf - inf is NaN
        return Arr(whole.value, True)
    raise UnsupportedError(f"method {name} of {describe(x)} is not supported in compiled code")


def _tolist(r: Reader, x: Array) -> Any:
    """Nested lists of Python numbers."""
    if isinstance(x, Arr) or not x.shape:
        return METHODS["item"](r.operand(x))
    if decided_by_data(x.shape[0]):
        return made(r, _numbers if len(x.shape) == 1 else _rows, x)
    items = [r.getitem(x, k) for k in range(len(r.items(x)))]
    return r.state.made(
        [METHODS["item"](v) if isinstance(v, Arr) else _tolist(r, v) if isinstance(v, Array) else v.item() for v in items]
    )


# read as if they were the program's: how many there are is known at run time only


def _numbers(x: Any) -> Any:
    return [v.item() for v in x]


def _rows(x: Any) -> Any:
    return [v.tolist() for v in x]


def _fill(r: Reader, x: Array, value: Any) -> None:
    if isinstance(value, Arr):
        check_scalar(value, x.type.dtype)
    store(r, x, Ellipsis, value)


def _stored(fn: Any) -> Callable[..., None]:
    """What a function of NumPy gives of an array, in the array."""
    return lambda r, x, *args, **kwargs: store(r, x, Ellipsis, r.operand(r.call(fn, [x, *args], kwargs)))


def _put(r: Reader, x: Array, indices: Any, values: Any, mode: str = "raise") -> None:
    r.call(np.put, [x, indices, values, mode])


_READ_ONLY = "assignment destination is read-only"


def _flags(r: Reader, x: Array, write: Any = None, align: Any = None, uic: Any = None) -> None:
    """setflags: an array that may not be written any more, or again."""
    if write is None or bool(write) == (not x.frozen):
        return
    if len(r.state.logs) > 1 or not r.state.is_made_here(x.cell) or x.frozen not in ("", _READ_ONLY):
        raise UnsupportedError(
            "setflags(write=) of an array from outside, or where data decide whether or how often that happens; leave it out"
        )
    x.frozen = "" if write else _READ_ONLY


MUTATING: dict[str, Callable[..., Any]] = {
    "fill": _fill, "sort": _stored(np.sort), "partition": _stored(np.partition), "put": _put, "tolist": _tolist,
    "__setitem__": store, "setflags": _flags,
}  # fmt: skip


def _container_method(r: Reader, m: Method, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A method of a list, dict, set... run as Python runs it; changes are logged."""
    owner = m.owner
    if isinstance(owner, Text):
        if m.name in TEXT_METHODS:
            return import_later("irad.frontend.python.text_formats").TEXT_METHODS[m.name](r, owner, args, kwargs)
        if any(isinstance(x, Text) for x in args) or is_traced_deep([args, kwargs]):
            raise owner.unknown()
        return r.chosen_items().of_choice(r, owner, lambda o: getattr(o, m.name)(*args, **kwargs))
    if m.name == "get" and args and (keys := r.chosen_keys()).by_data(r, owner, args[0]):
        return keys.get(r, owner, *args, **kwargs)
    joined_in_place(r, owner, *args)
    if isinstance(owner, (dict, set)) and args and m.name not in ("__init__", "update"):
        key_of(r, r.operand(args[0]), owner)
    if (
        args
        and m.name in _BY_EQUALITY
        and isinstance(owner, (list, tuple, dict, set, frozenset, collections.deque))
        and not has_run(owner)
    ):
        known_apart(r, args[0], owner)
    if m.name in PLAIN:
        return PLAIN[m.name](r, owner, *args, **kwargs)
    if m.name in _AT_POSITIONS and (type(owner) is list or has_run(owner)):
        return _AT_POSITIONS[m.name](r, owner, *args, **kwargs)
    if has_run(owner) and m.name in LIST_METHODS:
        return LIST_METHODS[m.name](r, owner, *args, **kwargs)
    if isinstance(owner, collections.deque) and has_run(owner) and m.name in _OF_DEQUES:
        return _OF_DEQUES[m.name](r, owner, *args)
    if m.name in CHANGES:
        change(r, owner)
    if m.name == "sort" or (m.name in ("index", "count", "remove") and _is_searched([owner, args])):
        return _sorted_in_place(r, owner, kwargs) if m.name == "sort" else _search(r, m.name, owner, args)
    args = [
        static_int(a, f"an argument of {m.name}") if isinstance(a, Arr) and m.name in ("pop", "insert") and k == 0 else a
        for k, a in enumerate(args)
    ]
    out = base_method(owner, m.name)(*args, **kwargs)
    return r.state.made(out) if m.name == "copy" else out


def _filled(r: Reader, owner: Any, /, *args: Any, **kwargs: Any) -> None:
    """`__init__` of a container."""
    if isinstance(owner, (tuple, frozenset)):
        return
    if isinstance(owner, collections.deque):
        base_method(owner, "__init__")(*map(r.items, args[:1]), *args[1:], **kwargs)
        return
    if isinstance(owner, collections.defaultdict):
        owner.default_factory, args = (args[0], args[1:]) if args else (None, args)
    change(r, owner)
    base_method(owner, "clear")()
    _updated(r, owner, *args, **kwargs) if isinstance(owner, (dict, set)) else extend(r, owner, *args) if args else None


def _updated(r: Reader, owner: Any, /, *args: Any, **kwargs: Any) -> None:
    """`update` of a dict or set."""
    if isinstance(owner, dict):
        new = r.call(dict, list(args), kwargs)
        joined_in_place(r, owner, new)
    else:
        new = [key_of(r, r.operand(x), owner) for a in args for x in r.items(a)]
    change(r, owner)
    base_method(owner, "update")(new)


def _length(r: Reader, owner: Any) -> Any:
    return from_dim(length_of(owner)) if has_run(owner) else base_method(owner, "__len__")()


def _iterated(r: Reader, owner: Any) -> Any:
    return r.call(iter, [list(owner) if has_run(owner) else base_items(owner)])


def _in_place(r: Reader, owner: Any, other: Any) -> Any:
    extend(r, owner, other)
    return owner


def _compared(name: str) -> Callable[..., Any]:
    return lambda r, owner, other: r.operator(name, _bare(owner), _bare(other))


def _bare(x: Any) -> Any:
    """A container of a class of the user's as one of Python's own."""
    for cls in (list, tuple, dict):
        if isinstance(x, cls) and type(x) is not cls:
            return dict(base_method(x, "items")()) if isinstance(x, dict) else cls(base_items(x))
    return x


# Methods of containers that have meanings of their own: those with which a class of the user's calls its base
PLAIN: dict[str, Callable[..., Any]] = {
    "extend": extend, "update": _updated, "__init__": _filled, "__setitem__": plain_store, "__getitem__": plain_item,
    "__delitem__": plain_delete, "__contains__": plain_contains, "__iter__": _iterated, "__len__": _length,
    **{f"__{name}__": _compared(name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "add", "mul")}, "__iadd__": _in_place,
}  # fmt: skip


def _reversed_in_place(r: Reader, xs: list[Any]) -> None:
    list_changes.replace(r, xs, lists.item(r, xs, slice(None, None, -1)))


def _index(r: Reader, xs: list[Any], x: Any, *bounds: Any) -> Any:
    """xs.index(x)."""
    if bounds:
        raise UnsupportedError("list.index between bounds of a list that grows in a loop; write xs[a:b].index(x) + a")
    hits = lists.equal_to(r, xs, x)
    _raise_absent(r, ~any_(hits, axes=(0,)), xs, x)
    return Arr(argmax(hits, axis=0), True)


def _raise_absent(r: Reader, absent: Value | None, xs: Any, x: Any) -> None:
    """What index() raises: always, if `absent` is None."""
    kind = "tuple" if isinstance(xs, tuple) else "list"
    text: Any = f"{kind}.index(x): x not in {kind}"
    if kind == "list" and sys.version_info < (3, 14):
        either = isinstance(x, Arr) and x.mixed  # Python's number or NumPy's: the text names no class
        shown = import_later("irad.frontend.python.texts").text_of(r, x, *(() if either else ("!r",)), inside=not either)
        text = together([shown, " is not in list"])
    if absent is None and isinstance(text, str):
        raise ValueError(text)
    name, template, operands = import_later("irad.frontend.reading.raises").described(r, ValueError(text))
    if absent is None:
        raise_always(name, template, [o.value for o in operands])
        raise Dead
    raise_if(absent, *(o.value for o in operands), exc=name, message=template)


def _count(r: Reader, xs: list[Any], x: Any) -> Any:
    return Arr(sum_(cast_to(lists.equal_to(r, xs, x), "i64"), axes=(0,)), True)


def _remove(r: Reader, xs: list[Any], x: Any) -> None:
    hits = lists.equal_to(r, xs, x)
    raise_if(~any_(hits, axes=(0,)), exc="ValueError", message="list.remove(x): x not in list")
    list_changes.remove_at(r, xs, Arr(argmax(hits, axis=0), True))


def _sort_run(r: Reader, xs: list[Any], **kwargs: Any) -> None:
    list_changes.replace(r, xs, r.call(sorted, [xs], kwargs))


def insert(r: Reader, xs: list[Any], key: Any, value: Any) -> None:
    """xs.insert(key, value)."""
    if has_run(xs) or by_data(r, xs, key):
        in_arrays(xs, key, lambda: list_changes.insert(r, xs, r.operand(key), value))
        return
    position = known(key, "an argument of insert")
    change(r, xs)
    xs.insert(position, value)


def pop(r: Reader, xs: list[Any], key: Any = -1) -> Any:
    """xs.pop(key)."""
    if has_run(xs) or by_data(r, xs, key):
        return in_arrays(xs, key, lambda: list_changes.pop(r, xs, r.operand(key)))
    position = known(key, "an argument of pop")
    change(r, xs)
    return xs.pop(position)


_BY_EQUALITY = {"index", "count", "remove", "get", "pop", "setdefault", "add", "discard"}  # they look for an element or a key
_AT_POSITIONS: dict[str, Callable[..., Any]] = {"pop": pop, "insert": insert}
LIST_METHODS: dict[str, Callable[..., Any]] = {
    "reverse": _reversed_in_place, "index": _index, "count": _count,
    "remove": _remove, "sort": _sort_run,
}  # fmt: skip


def _rotated(r: Reader, xs: Any, n: Any = 1) -> None:
    if lists.is_empty(xs):
        return
    at = r.operator("mod", r.operator("neg", n), lists.length(xs))
    list_changes.replace(r, xs, lists.joined(r, lists.item(r, xs, slice(at, None)), lists.item(r, xs, slice(None, at))))


# Methods of deques whose elements stand in arrays
_OF_DEQUES: dict[str, Callable[..., Any]] = {
    "popleft": list_changes.pop_first,
    "appendleft": lambda r, xs, x: list_changes.replace(r, xs, lists.joined(r, [x], xs)),
    "extendleft": lambda r, xs, more: list_changes.replace(r, xs, lists.joined(r, r.items(r.call(reversed, [more])), xs)),
    "rotate": _rotated,
}


def _sorted_in_place(r: Reader, owner: list[Any], kwargs: dict[str, Any]) -> None:
    list.__setitem__(owner, slice(None), r.call(sorted, [list.copy(owner)], kwargs))


def _remove_known(r: Reader, xs: Any, x: Any) -> bool:
    """xs.remove(x), where it is known at compile time which element is removed; False if data decides."""
    for k, y in enumerate(xs):
        hit = same_or_equal(r, y, x)
        if isinstance(hit, Arr):
            return False
        if hit:
            change(r, xs)
            base_method(xs, "__delitem__")(k)
            return True
    raise ValueError("list.remove(x): x not in list" if isinstance(xs, list) else "deque.remove(x): x not in deque")


def _position(r: Reader, xs: Any, x: Any) -> Any:
    """xs.index(x): the first position of an equal element, a number or traced one."""
    out: Any = None
    absent: Any = True
    hits = []
    for k, y in enumerate(xs):
        hits.append((k, same_or_equal(r, y, x)))
        if hits[-1][1] is True:
            break
    for k, hit in reversed(hits):
        if isinstance(hit, Arr):
            old = k if out is None else out
            out = Arr(select(hit.value, scalar(k, "i64"), lift(old).value), True)
            absent = negated(hit) if absent is True else conjunction(negated(hit), absent)
        elif hit:
            out, absent = k, False
    if absent is True:
        _raise_absent(r, None, xs, x)
    if isinstance(absent, Arr):
        _raise_absent(r, absent.value, xs, x)
    return out


def _is_searched(xs: Any) -> bool:
    """Do comparisons of the program's numbers or of the user's classes decide what is found?"""
    return is_traced_deep(xs) or compares_itself(xs)


def _search(r: Reader, name: str, owner: Any, args: list[Any]) -> Any:
    if name == "count" and isinstance(owner, (list, tuple, collections.deque)):
        total: Any = 0
        for x in owner:
            total = r.operator("add", total, r.call(int, [same_or_equal(r, x, args[0])]))
        return total
    if name == "index" and len(args) == 1:
        return _position(r, owner, args[0])
    if name == "index" and len(args) > 1:
        first, last, _ = slice(*(static_int(a, "a bound of index()") for a in args[1:]), *([None] * (3 - len(args)))).indices(
            len(owner)
        )
        return r.operator("add", _position(r, list(owner)[first:last], args[0]), first)
    if name == "remove" and type(owner) is list and len(args) == 1 and lists.alike(owner):
        return _remove(r, owner, args[0])
    if name == "remove" and _remove_known(r, owner, args[0]):
        return None
    raise UnsupportedError(f"list.{name} with traced numbers; use an array and np.argmax(x == value), say")
