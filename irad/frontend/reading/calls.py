"""Calls: NumPy functions through the table, Python builtins by their own rules, the user's functions by reading them."""

from __future__ import annotations

import ast
import collections
import dataclasses
import functools
import inspect
import types
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from irad.core.array_classes import ArrayOfClass, class_behind, stand_in
from irad.core.foreign import CACHE, found_in_class, is_library, is_mapped, module_of, of_class, own_dict
from irad.core.once import import_later
from irad.core.random_streams import is_stream
from irad.errors import UnsupportedError
from irad.frontend.control import varying
from irad.frontend.control.lists import with_items
from irad.frontend.control.special import at_site, key, rely_on
from irad.frontend.control.varying import varies
from irad.frontend.python.numbers import BUILTINS
from irad.frontend.reader import Reader, expression
from irad.frontend.reading.class_attributes import is_generated
from irad.frontend.reading.comprehensions import elements
from irad.frontend.reading.expressions import COMPARED, compared, lookup_name
from irad.frontend.reading.functions import call_closure, call_function, refuse_outside
from irad.frontend.reading.instances import delete_attr, note_method, plain_attr, plain_set
from irad.frontend.reading.methods import call_method
from irad.frontend.reading.native_calls import call_builtin, looks, run_native
from irad.frontend.reading.numpy_calls import call_numpy, hashed
from irad.frontend.reading.packages import refuse
from irad.frontend.reading.written import in_library
from irad.frontend.transforms.custom import Special
from irad.frontend.transforms.derivatives import MEANINGS, Pullback, apply_transform
from irad.frontend.transforms.transform import CALLS, Transform, Wrapper
from irad.frontend.values.arr import Arr, NeedStatic, static_value
from irad.frontend.values.callables import Callback, Native, OfOne
from irad.frontend.values.objects import UNDEFINED, Choice, Closure, Method, Nullable, Varying, describe, is_traced_deep


@expression(ast.Call)
def call_expression(r: Reader, e: ast.Call) -> Any:
    fn = _appended(r, e.func) or _of_an_item(r, e.func) or r.expr(e.func)
    if looks(fn) and e.args:
        with ExitStack() as until:
            return _called(r, e, fn, lambda node: r.there(r.look(node, until), node))
    itself = isinstance(fn, OfOne) or (_is_read(fn) and not isinstance(fn, type))
    given = r.itself if itself else r.perhaps if _keeps_none(fn) else r.expr
    return _called(r, e, fn, given)


def _called(r: Reader, e: ast.Call, fn: Any, given: Callable[[ast.expr], Any]) -> Any:
    """fn(...), where `given` evaluates the arguments."""
    args = [r.tabulated(e.args[0])] if len(e.args) == 1 and _takes_table(fn, e.args[0]) else elements(r, e.args, given)
    kwargs: dict[str, Any] = {}
    for k in e.keywords:
        if k.arg is None:
            kwargs.update(r.expr(k.value))
        else:
            kwargs[k.arg] = given(k.value)
    r.at(e)
    if fn is super:
        return _after(*args) if args else _super(r)
    try:
        out = r.call(fn, args, kwargs)
        return at_site(r, e, out) if _makes(fn) else out
    except Exception as error:
        if not isinstance(fn, (types.FunctionType, types.MethodType, Closure, Native)) or is_library(module_of(fn)):
            r.blame(error, getattr(fn, "owner", None), args, kwargs)
        raise


def _makes(fn: Any) -> bool:
    """Is what a call gives a new container, which nothing else knows?"""
    return isinstance(fn, type) or fn is sorted or (isinstance(fn, Method) and fn.name in ("copy", "fromkeys", "tolist"))


def _appended(r: Reader, func: ast.expr) -> Any:
    """`append` of a list from outside, found by a name or an attribute, which is not read by this; None of anything else."""
    if not isinstance(func, ast.Attribute) or func.attr != "append" or not isinstance(func.value, (ast.Name, ast.Attribute)):
        return None
    node = func.value
    owner = r.expr(node.value, True) if isinstance(node, ast.Attribute) else None
    r.captures.appending = isinstance(node, ast.Name) or type(own_dict(owner).get(node.attr)) is list
    try:
        x = r.getattr(owner, node.attr) if isinstance(node, ast.Attribute) else lookup_name(r, node.id)
    finally:
        r.captures.appending = False
    return r.getattr(r.definite(x, node) if type(x) is Nullable else x, "append")


def _of_an_item(r: Reader, func: ast.expr) -> Any:
    """A method that may change its container, where data may choose which of several that is; None of anything else."""
    if isinstance(func, ast.Attribute) and isinstance(func.value, (ast.Subscript, ast.IfExp)) and func.attr in _CHANGES_ITEM:
        return import_later("irad.frontend.reading.buckets").changed_by_data(r, func)
    return None


_CHANGES_ITEM = ("append", "extend", "insert", "add", "update", "appendleft", "remove", "discard", "clear")
_IN_ERRSTATE = np.errstate()(lambda: None).__code__  # of functions that it decorates
_TABLES = (np.array, np.asarray, np.stack, np.sum, np.mean, np.max, np.min, np.prod, np.fromiter)


def _is_read(fn: Any) -> bool:
    """A function or class of the program, which tests its arguments itself."""
    if isinstance(fn, Closure):
        return True
    return isinstance(fn, (types.FunctionType, types.MethodType, type)) and not is_library(module_of(fn))


def _keeps_none(fn: Any) -> bool:
    """Does a call take None as it is, for what it makes, or puts into a list?"""
    return _is_read(fn) or (isinstance(fn, Method) and isinstance(fn.owner, (list, deque)))


def _takes_table(fn: Any, argument: ast.expr) -> bool:
    """A NumPy function of a comprehension: its elements go straight into an array."""
    return isinstance(argument, (ast.ListComp, ast.GeneratorExp)) and any(fn is f for f in _TABLES)


def _super(r: Reader) -> Any:
    """super() without arguments, from the class cell of the method that is being read."""
    fn = r.frame.globals_of
    cls = fn.__closure__[fn.__code__.co_freevars.index("__class__")].cell_contents
    return _after(cls, r.frame.env.names[r.frame.source.node.args.args[0].arg])


def _after(cls: type, first: Any) -> Any:
    """super(cls, first)."""
    return super(stand_in(cls) if isinstance(first, ArrayOfClass) and issubclass(cls, np.ndarray) else cls, first)


def call(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """fn(*args, **kwargs)."""
    if isinstance(fn, (Native, Callback)):
        return fn.run(*args, **kwargs) if isinstance(fn, Native) else r.call(fn.fn, args, kwargs)
    if isinstance(fn, Method):
        return call_method(r, fn, args, kwargs)
    if type(fn) is Choice:
        return varying.split(r, (fn,), lambda f: r.call(f, args, kwargs))
    if isinstance(fn, (Pullback, Transform, Special)) or hashed(CALLS, fn) is not None:
        args = with_items(r, args, False)
    if isinstance(fn, Pullback):
        return fn.pull(r, *args)
    if isinstance(fn, Closure):
        return call_closure(r, fn, args, kwargs)
    if isinstance(fn, types.MethodType):
        return _bound_method(r, fn, args, kwargs)
    if (found := _of_object_model(r, fn, args, kwargs)) is not NotImplemented:
        return found
    if isinstance(fn, functools.partial):
        return _partial(r, fn, args, kwargs)
    if isinstance(fn, np.errstate) or getattr(fn, "__code__", None) is _IN_ERRSTATE:
        return import_later("irad.frontend.reading.with_blocks").decorated(r, fn, args, kwargs)
    if isinstance(fn, np.vectorize):
        return r.vectorized(fn, args, kwargs)
    if isinstance(fn, Transform):
        return apply_transform(r, fn, args, kwargs)
    if isinstance(fn, Special):
        return fn.apply(r, args, kwargs)
    if varies(args) or varies(list(kwargs.values())):
        if not _is_read(fn) and not (args and is_mapped(args[0])):
            return varying.call(r, fn, args, kwargs)
    special = hashed(BUILTINS, fn) or MEANINGS.get(named := hashed(CALLS, fn), named) or _later(fn)
    if special is not None:
        return special(r, *args, **kwargs)
    if any(type(x) in (list, tuple) and any(type(e) is Varying for e in x) for x in args):
        return varying.call_on_items(r, fn, args, kwargs)
    numpy_made = call_numpy(r, fn, args, kwargs)
    if numpy_made is not NotImplemented:
        return numpy_made
    refuse(fn, [*args, *kwargs.values()])
    if isinstance(fn, types.FunctionType):
        own = generated_method(r, fn, args, kwargs) if is_generated(fn) and args else UNDEFINED
        return call_function(r, fn, args, kwargs) if own is UNDEFINED else own
    if isinstance(fn, type):
        return _construct(r, fn, args, kwargs)
    if isinstance(
        fn, (types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType, types.WrapperDescriptorType)
    ):
        return call_builtin(r, fn, args, kwargs)
    return _callable_object(r, fn, args, kwargs)


def _of_object_model(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of what Python itself calls to make objects and to get at their attributes; NotImplemented if fn is none of that."""
    if isinstance(fn, types.MethodWrapperType) and fn.__name__ == "__call__":
        return (
            _construct(r, fn.__self__, args, kwargs, True) if isinstance(fn.__self__, type) else r.call(fn.__self__, args, kwargs)
        )
    if fn is type.__call__:
        return _construct(r, args[0], args[1:], kwargs, True)
    if getattr(fn, "__name__", "") == "__new__" and _is_base_new(fn) and args and isinstance(args[0], type):
        cls = args[0]
        return made_by_base(r, fn, cls, args[1:], kwargs) if not is_library(cls.__module__) else call_builtin(r, fn, args, kwargs)
    if fn is object.__init__:
        return None
    if isinstance(fn, types.MethodWrapperType) and fn.__name__ == "__init__" and fn.__objclass__ is object:
        return None
    if fn is object.__setattr__ or fn is object.__getattribute__:
        return (plain_set if fn is object.__setattr__ else plain_attr)(r, *args)
    if isinstance(fn, types.MethodWrapperType) and fn.__name__ in ("__setattr__", "__getattribute__"):
        return (plain_set if fn.__name__ == "__setattr__" else plain_attr)(r, fn.__self__, *args)
    return NotImplemented


# modules that are imported when a function of these is met
_LATER = {
    "warnings": "reading.effects", "_warnings": "reading.effects", "logging": "reading.effects", "time": "reading.moments", "datetime": "reading.moments", "copy": "python.copies", "inspect": "reading.inspected",
    "numpy.matrixlib": "reading.np_matrix", "numpy.random": "reading.random_draws", "random": "reading.python_random", "scipy.sparse": "reading.sparse",
    **dict.fromkeys(("math", "bisect", "_bisect", "heapq", "_heapq", "statistics", "functools", "_functools", "queue", "_queue"), "reading.standard"),
}  # fmt: skip


def _later(fn: Any) -> Any:
    """What a function means that is in none of the tables yet."""
    module = "numpy.matrixlib" if fn is np.matrix else module_of(fn) or module_of(getattr(fn, "__self__", None))
    root, *rest = module.split(".", 2)
    found = _LATER.get(f"{root}.{rest[0]}" if root in ("numpy", "scipy") and rest else root)
    if found is None:
        return None
    import_later(f"irad.frontend.{found}")
    return hashed(BUILTINS, fn)


def _is_base_new(fn: Any) -> bool:
    """Is it the `__new__` of a class that is written in C, or of a named tuple?"""
    if isinstance(fn, types.BuiltinFunctionType):
        return isinstance(fn.__self__, type)
    return isinstance(fn, types.FunctionType) and is_generated(fn)


# ---- other callables ---------------------------------------------------------------------------------------------------------------


def _bound_method(r: Reader, m: types.MethodType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    path = r.captures.path(m)
    if is_stream(m.__self__):
        found = r.captures.origin(m.__self__) if path is None else path.child("self")
        return r.call(r.getattr(r.captures.take(m.__self__, found), m.__name__), args, kwargs)
    if path is not None:
        r.captures.note(m.__self__, path.child("self"))
        r.captures.note(m.__func__, path.child("func"))
    func: Any = m.__func__
    if not isinstance(func, (types.FunctionType, CACHE)):
        return run_native(r, m, args, kwargs)
    return r.call(func, [m.__self__, *args], kwargs)


def _partial(r: Reader, p: functools.partial[Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    path = r.captures.path(p)
    take = lambda obj, kind, key: obj if path is None else r.captures.take(obj, path.child(kind, key))
    fn = take(p.func, "partial", None)
    first = [take(a, "partial_arg", k) for k, a in enumerate(p.args)]
    named = {k: take(v, "partial_kw", k) for k, v in p.keywords.items()}
    return r.call(fn, [*first, *args], named | kwargs)


def _callable_object(r: Reader, obj: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    calls = [vars(k).get("__call__") for k in type(obj).__mro__]
    refuse_outside(getattr(obj, "__name__", type(obj).__name__), calls, [args, list(kwargs.values())])
    method = next((vars(k)["__call__"] for k in type(obj).__mro__ if "__call__" in vars(k)), None)
    if isinstance(method, types.FunctionType) and not isinstance(obj, Wrapper):
        note_method(r, obj, "__call__", method)
        return r.call(method, [obj, *args], kwargs)
    if method is None:
        raise TypeError(f"{describe(obj)} is not callable")
    wrapped = getattr(obj, "__wrapped__", None)
    if wrapped is not None:  # functools.lru_cache and the like
        path = r.captures.path(obj)
        return r.call(wrapped if path is None else r.captures.take(wrapped, path.child("wrapped")), args, kwargs)
    return call_builtin(r, obj, args, kwargs)


def _construct(r: Reader, cls: type, args: list[Any], kwargs: dict[str, Any], plain: bool = False) -> Any:
    """cls(*args, **kwargs): user classes are built by reading their __init__, all others by Python. `plain`: as `type.__call__` does
    it, whatever its metaclass makes of that."""
    init, new = of_class(cls, "__init__"), of_class(cls, "__new__")
    holder: Any = cls
    if holder in (types.SimpleNamespace, functools.partial, *_OF_ITEMS):  # they hold what they are given
        return r.state.made(holder(*_OF_ITEMS.get(holder, lambda r, *args: args)(r, *args), **kwargs))
    if in_library(cls) and new is object.__new__:
        obj = r.state.made(object.__new__(cls))
        r.call(init, [obj, *args], kwargs)
        return obj
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
