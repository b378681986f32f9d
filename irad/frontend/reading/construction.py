"""Objects of classes: `cls(...)`, what `__new__` and `__init__` make, and the methods that `dataclasses` writes."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.array_classes import ArrayOfClass, class_behind
from irad.core.foreign import found_in_class, is_library, of_class
from irad.core.once import import_later
from irad.errors import UnsupportedError
from irad.frontend.control.special import key, rely_on
from irad.frontend.reader import Reader
from irad.frontend.reading.class_attributes import is_generated
from irad.frontend.reading.expressions import COMPARED, compared
from irad.frontend.reading.instances import delete_attr, plain_set
from irad.frontend.reading.native_calls import run_native
from irad.frontend.reading.written import in_library
from irad.frontend.values.arr import Arr, NeedStatic, static_value
from irad.frontend.values.callables import Native
from irad.frontend.values.objects import UNDEFINED, Method, is_traced_deep


def construct(r: Reader, cls: type, args: list[Any], kwargs: dict[str, Any], plain: bool = False) -> Any:
    """cls(*args, **kwargs): user classes are built by reading their __init__, all others by Python. `plain`: as `type.__call__` does
    it, whatever its metaclass makes of that."""
    init, new = of_class(cls, "__init__"), of_class(cls, "__new__")
    holder: Any = cls
    if holder is functools.partial and args and isinstance(method := args[0], Method):  # it wants what Python can call
        args = [Native(lambda *given, **named: r.call(method, list(given), named)), *args[1:]]
    if holder in (types.SimpleNamespace, functools.partial, *_OF_ITEMS):  # they hold what they are given
        return r.state.made(holder(*_OF_ITEMS.get(holder, lambda r, *args: args)(r, *args), **kwargs))
    if in_library(cls) and new is object.__new__:
        obj = r.state.made(object.__new__(cls))
        r.call(init, [obj, *args], kwargs)
        return obj
    if issubclass(cls, enum.Enum) and len(args) == 1 and not kwargs:
        found = import_later("irad.frontend.control.chosen_keys").member(r, cls, args[0])  # seldom wanted
        if found is not None:
            return found[0]
    if not _holds_anything(cls) and (is_traced_deep(args) or is_traced_deep(kwargs)):
        whole = [x for x in (*args, *kwargs.values()) if isinstance(x, Arr)]
        if whole and not any(is_traced_deep(x) for x in (*args, *kwargs.values()) if not isinstance(x, Arr)):
            raise NeedStatic(whole[0], f"a number given to {cls.__module__}.{cls.__qualname__}")
        raise UnsupportedError(
            f"{cls.__module__}.{cls.__qualname__}(...) of traced values: its numbers must be known at compile time"
        )
    if (
        issubclass(cls, BaseException)
        or (cls.__module__.split(".")[0] == "irad" and not in_library(cls))
        or not cls.__flags__ & (1 << 9)
        or (is_library(cls.__module__) and not isinstance(init, (types.FunctionType, types.WrapperDescriptorType)))  # of Cython
    ):
        return r.state.made(run_native(r, cls, args, kwargs))
    meta = found_in_class(type(cls), "__call__")
    if isinstance(meta, types.FunctionType) and not is_library(meta.__module__) and not plain:
        r.captures.guard(r.captures.origin(type(cls)).child("found", "__call__"), "is", meta)
        return r.call(meta, [cls, *args], kwargs)
    if type(cls).__call__ is not type.__call__ and not plain:
        return run_native(r, cls, args, kwargs)
    if dataclasses.is_dataclass(cls) and not isinstance(init, types.FunctionType):
        return run_native(r, cls, args, kwargs)
    if dataclasses.is_dataclass(cls) and "__init__" in vars(cls) and init.__code__.co_filename == "<string>":  # a generated one
        return _dataclass(r, cls, args, kwargs)
    obj = _new(r, cls, new, args, kwargs)
    if isinstance(obj, cls) or isinstance(obj, ArrayOfClass) and issubclass(class_behind(obj), cls):
        _init(r, obj, init, new, args, kwargs)
    return obj


def _new(r: Reader, cls: type, new: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """cls.__new__(cls, *args, **kwargs)."""
    if isinstance(new, types.FunctionType) and not is_generated(new):
        r.captures.guard(r.captures.origin(cls).child("attr", "__new__"), "is", new)
        return r.call(new, [cls, *args], kwargs)
    return made_by_base(r, new, cls, args, kwargs)


def made_by_base(r: Reader, new: Any, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """An object of a class of the user's, from the `__new__` of a base that is written in C, or of a named tuple."""
    if new is object.__new__:
        if abstract := sorted(getattr(cls, "__abstractmethods__", ())):
            methods = f"method{'s' * (len(abstract) > 1)} {', '.join(map(repr, abstract))}"
            raise TypeError(f"Can't instantiate abstract class {cls.__name__} without an implementation for abstract {methods}")
        return r.state.made(object.__new__(cls))
    if issubclass(cls, np.ndarray):
        return import_later("irad.frontend.reading.array_classes").new(r, cls, *args, **kwargs)
    if issubclass(cls, (list, dict, set, collections.deque)):
        return r.state.made(new(cls))
    if issubclass(cls, (int, float, complex, str, bytes)):
        for x in [*args, *kwargs.values()]:
            static_value(r.operand(x), f"the value of a {cls.__name__}, which is a {_kind(cls).__name__}")
    if issubclass(cls, (tuple, frozenset)) and not hasattr(cls, "_fields"):
        items = [r.items(x) for x in args]
        args = [[key(r, x, "an element of a set") for x in items[0]]] if items and issubclass(cls, frozenset) else items
    return r.state.made(r.wrap(new(cls, *map(r.operand, args) if issubclass(cls, (int, float)) else args, **kwargs)))


def _kind(cls: type) -> type:
    return next(k for k in (int, float, complex, str, bytes) if issubclass(cls, k))


def _init(r: Reader, obj: Any, init: Any, new: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    if isinstance(init, types.FunctionType):
        rely_on(r, type(obj) if not isinstance(obj, ArrayOfClass) else class_behind(obj), "__init__")
        r.call(init, [obj, *args], kwargs)
    elif isinstance(obj, (list, dict, set, collections.deque)):
        r.call(Method(obj, "__init__"), args, kwargs)
    elif new is object.__new__ and (args or kwargs):
        raise TypeError(f"{type(obj).__name__}() takes no arguments")


def _items_alone(r: Reader, iterable: Any = (), *more: Any) -> tuple[Any, ...]:
    return (r.items(iterable), *more)


def _pairs(r: Reader, given: Any = ()) -> tuple[Any, ...]:
    return (given if isinstance(given, dict) else [tuple(r.items(pair)) for pair in r.items(given)],)


# Containers that are written in C: what they are made of, as the very objects.
_OF_ITEMS: dict[Any, Callable[..., tuple[Any, ...]]] = {
    collections.deque: _items_alone,
    collections.OrderedDict: _pairs,
    collections.defaultdict: lambda r, factory=None, *given: (factory, *(_pairs(r, *given) if given else ())),
}
_HOLDERS = (
    BaseException, tuple, list, dict, collections.deque, collections.ChainMap, collections.UserDict, collections.UserList,
    slice, types.SimpleNamespace, functools.partial, type, property,
)  # fmt: skip


def _holds_anything(cls: type) -> bool:
    """May traced values be given to a class: the user's, which are read or hold them, and containers? Others want numbers."""
    plain = cls is not collections.Counter and issubclass(cls, _HOLDERS)
    return plain or in_library(cls) or (bool(cls.__flags__ & (1 << 9)) and not is_library(cls.__module__))


def generated_method(r: Reader, fn: types.FunctionType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A method that `dataclasses` made, which has no source, called by its name or by super(); UNDEFINED of other functions."""
    obj, name = args[0], fn.__name__
    cls = next((k for k in type(obj).__mro__ if vars(k).get(name) is fn and "__dataclass_fields__" in vars(k)), None)
    if cls is None:
        return UNDEFINED
    if name == "__init__":
        return _filled_in(r, obj, cls, fn, args[1:], kwargs)
    if name in ("__setattr__", "__delattr__"):
        if type(obj) is cls or args[1] in {f.name for f in dataclasses.fields(cls)}:
            raise dataclasses.FrozenInstanceError(
                f"cannot {'assign to' if name == '__setattr__' else 'delete'} field {args[1]!r}"
            )
        return plain_set(r, *args) if name == "__setattr__" else delete_attr(r, *args)
    if name == "__hash__":
        return r.call(
            hash, [tuple(r.getattr(obj, f.name) for f in dataclasses.fields(cls) if (f.compare if f.hash is None else f.hash))]
        )
    if name in COMPARED:
        return compared(r, name.strip("_"), obj, args[1], cls) if type(args[1]) is type(obj) else NotImplemented
    return UNDEFINED


def _dataclass(r: Reader, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The generated __init__ of a dataclass, which has no source."""
    obj = r.state.made(object.__new__(cls))
    _filled_in(r, obj, cls, cls.__init__, args, kwargs)
    return obj


def _filled_in(r: Reader, obj: Any, cls: Any, init: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    bound = inspect.signature(init).bind(obj, *args, **kwargs)
    for f in dataclasses.fields(cls):
        if f.init and f.name in bound.arguments:
            value = bound.arguments[f.name]
        elif f.default is not dataclasses.MISSING:
            value = r.wrap(f.default)
        elif f.default_factory is not dataclasses.MISSING:
            value = r.call(f.default_factory, [])
        else:
            continue
        plain_set(r, obj, f.name, value)
    if getattr(type(obj), "__post_init__", None) is not None:
        r.call(r.getattr(obj, "__post_init__"), _init_only(r, cls, bound.arguments))


def _init_only(r: Reader, cls: Any, given: dict[str, Any]) -> list[Any]:
    """What `__post_init__` gets: the fields that are given to `__init__` only."""
    only = [f for f in cls.__dataclass_fields__.values() if f._field_type is dataclasses._FIELD_INITVAR]  # type: ignore[attr-defined]
    return [given[f.name] if f.name in given else r.wrap(f.default) for f in only]
