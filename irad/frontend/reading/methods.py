"""Methods of arrays and traced numbers through the table, of lists, dicts and sets as Python runs them."""

from __future__ import annotations

import collections
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.once import import_later
from irad.core.structured import Bytes, Structured
from irad.errors import IradTypeError, UnsupportedError
from irad.frontend.control import list_changes, lists
from irad.frontend.control.flow import conjunction, negated
from irad.frontend.control.holders import known_apart
from irad.frontend.control.regions import Dead, raise_always
from irad.frontend.control.stands import Stands
from irad.frontend.control.varying import split, varies
from irad.frontend.numpy import views
from irad.frontend.numpy.table import METHODS, check_same_kind
from irad.frontend.python.text_pieces import METHODS as TEXT_METHODS
from irad.frontend.python.text_pieces import together
from irad.frontend.reader import Reader
from irad.frontend.reading.expressions import same_or_equal
from irad.frontend.reading.structured import call_node_method
from irad.frontend.reading.subscripts import change, extend, insert, pop, settled, store
from irad.frontend.reading.watched import Watched
from irad.frontend.values.arr import Arr, lift, static_int, static_value
from irad.frontend.values.fits import check_scalar
from irad.frontend.values.objects import (
    Array,
    Either,
    Method,
    Text,
    describe,
    is_traced_deep,
)
from irad.frontend.values.reach import CHANGES
from irad.frontend.values.result_layout import KEEPING_METHODS, of_operation
from irad.frontend.values.runs import has_run
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
    operands = [r.operand(a) for a in args]
    named = {k: r.operand(v) for k, v in kwargs.items() if k != "out"}
    if isinstance(x, Array) and isinstance(x, Either):
        return settled(r, x, lambda a: call_method(r, Method(a, m.name), args, kwargs))
    if isinstance(x, Array) and m.name in views.BY_NAME:
        return views.BY_NAME[m.name](r, x, *operands, **named)
    if m.name in MUTATING and isinstance(x, Array):
        return MUTATING[m.name](r, x, *operands, **named)
    content, arrays = r.operand(x), isinstance(x, Array) and m.name in _ARRAYS  # of a NumPy number they give one
    if not isinstance(content, Arr) and not is_traced_deep([*operands, *named.values()]):
        with Watched(r, f"ndarray.{m.name}()", (), [content, *operands, *named.values()]), np.errstate(all="ignore"):
            out = r.wrap(getattr(content, m.name)(*operands, **named), zero_d=arrays)
    elif m.name in METHODS:
        if isinstance(content, Arr) and content.weak:
            content = Arr(content.value) if m.name not in _PYTHON else content
        out = r.wrap(METHODS[m.name](content, *operands, **named), zero_d=arrays)
        out = of_operation(out, [x, *args, *kwargs.values()], m.name in KEEPING_METHODS)
    else:
        return _python_method_of_number(r, content, m.name, operands)
    return into(r, kwargs.get("out"), out)


_ARRAYS = {"astype", "copy", "reshape", "squeeze", "round", "clip", "view", "conj"}
_PYTHON = {"is_integer", "bit_length", "conjugate"}


def into(r: Reader, out: Any, result: Any) -> Any:
    """The `out=` argument of a function: store the result there, and give that array."""
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if target is None:
        return result
    if isinstance(target, tuple):
        return tuple(into(r, t, x) for t, x in zip(target, result))
    if not isinstance(target, Array):
        raise IradTypeError(f"out= must be an array, got {describe(target)}")
    value = r.operand(result)
    if isinstance(value, Arr):
        check_same_kind(value.name, target.type.dtype, "out")
    store(r, target, Ellipsis, value)
    return target


def _python_method_of_number(r: Reader, x: Any, name: str, args: Sequence[Any]) -> Any:
    if name in ("conjugate", "conj"):
        return METHODS["conj"](x) if isinstance(x, Arr) else x.conjugate()
    if name == "is_integer" and isinstance(x, Arr):
        if x.name != "f64":
            return True
        whole = r.operator("eq", r.operator("sub", x, r.call(np.floor, [x])), 0.0)  # inf - inf is NaN
        return Arr(whole.value, True)
    if isinstance(x, Arr) and name == "item" and not args:
        return Arr(x.value, True)
    raise UnsupportedError(f"method {name} of {describe(x)} is not supported in compiled code")


def _tolist(r: Reader, x: Array) -> Any:
    """Nested lists of Python numbers."""
    if not x.shape:
        return Arr(r.value(x), True)
    items = [r.getitem(x, k) for k in range(len(r.items(x)))]
    return r.state.made(
        [Arr(v.value, True) if isinstance(v, Arr) else _tolist(r, v) if isinstance(v, Array) else v.item() for v in items]
    )


def _fill(r: Reader, x: Array, value: Any) -> None:
    if isinstance(value, Arr):
        check_scalar(value, x.type.dtype)
    store(r, x, Ellipsis, value)


def _sort(r: Reader, x: Array, *args: Any, **kwargs: Any) -> None:
    store(r, x, Ellipsis, r.operand(r.call(np.sort, [x, *args], kwargs)))


def _partition(r: Reader, x: Array, *args: Any, **kwargs: Any) -> None:
    store(r, x, Ellipsis, r.operand(r.call(np.partition, [x, *args], kwargs)))


def _put(r: Reader, x: Array, indices: Any, values: Any, mode: str = "raise") -> None:
    r.call(np.put, [x, indices, values, mode])


def _resize(r: Reader, x: Array, *shape: Any, **kwargs: Any) -> None:
    raise UnsupportedError(
        "x.resize changes the array object itself; write x = np.resize(x, shape), or an array of the final size"
    )


MUTATING: dict[str, Callable[..., Any]] = {
    "fill": _fill, "sort": _sort, "put": _put, "partition": _partition, "resize": _resize, "tolist": _tolist,
    "__setitem__": store,
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
    if isinstance(owner, (dict, set)) and args:
        static_value(r.operand(args[0]), "a key of a dict" if isinstance(owner, dict) else "an element of a set")
    if (
        args
        and m.name in _BY_EQUALITY
        and isinstance(owner, (list, tuple, dict, set, frozenset, collections.deque))
        and not has_run(owner)
    ):
        known_apart(r, args[0], owner)
    if m.name == "extend":
        return extend(r, owner, *args)
    if type(owner) is list and m.name in _AT_POSITIONS:
        return _AT_POSITIONS[m.name](r, owner, *args, **kwargs)
    if has_run(owner) and m.name in LIST_METHODS:
        return LIST_METHODS[m.name](r, owner, *args, **kwargs)
    if m.name in CHANGES:
        change(r, owner)
    if m.name == "sort" or (m.name in ("index", "count", "remove") and is_traced_deep([owner, args])):
        return _sorted_in_place(r, owner, kwargs) if m.name == "sort" else _search(r, m.name, owner, args)
    args = [
        static_int(a, f"an argument of {m.name}") if isinstance(a, Arr) and m.name in ("pop", "insert") and k == 0 else a
        for k, a in enumerate(args)
    ]
    out = getattr(owner, m.name)(*args, **kwargs)
    return r.state.made(out) if m.name == "copy" else out


def _reversed_in_place(r: Reader, xs: list[Any]) -> None:
    new = lists.item(r, xs, slice(None, None, -1))
    change(r, xs)
    xs[:] = new


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
        text = together([import_later("irad.frontend.python.texts").text_of(r, x, "!r", inside=True), " is not in list"])
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
    new = r.call(sorted, [xs], kwargs)
    change(r, xs)
    xs[:] = new


_BY_EQUALITY = {"index", "count", "remove", "get", "pop", "setdefault", "add", "discard"}  # they look for an element or a key
_AT_POSITIONS: dict[str, Callable[..., Any]] = {"pop": pop, "insert": insert}
LIST_METHODS: dict[str, Callable[..., Any]] = {
    "reverse": _reversed_in_place, "index": _index, "count": _count,
    "remove": _remove, "sort": _sort_run,
}  # fmt: skip


def _sorted_in_place(r: Reader, owner: list[Any], kwargs: dict[str, Any]) -> None:
    owner[:] = r.call(sorted, [list(owner)], kwargs)


def _position(r: Reader, xs: Any, x: Any) -> Any:
    """xs.index(x): the first position of an equal element, a number or traced one."""
    out: Any = None
    absent: Any = True
    for k, y in reversed(list(enumerate(xs))):
        hit = same_or_equal(r, y, x)
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


def _search(r: Reader, name: str, owner: Any, args: list[Any]) -> Any:
    if name == "count" and isinstance(owner, (list, tuple)):
        total: Any = 0
        for x in owner:
            total = r.operator("add", total, r.call(int, [same_or_equal(r, x, args[0])]))
        return total
    if name == "index" and len(args) == 1:
        return _position(r, owner, args[0])
    if name == "remove" and type(owner) is list and len(args) == 1 and lists.numbers(owner):
        return _remove(r, owner, args[0])
    raise UnsupportedError(f"list.{name} with traced numbers; use an array and np.argmax(x == value), say")
