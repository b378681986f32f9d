"""Calls: NumPy functions through the table, Python builtins by their own rules, the user's functions by reading them."""

from __future__ import annotations

import ast
import functools
import gc
import operator
import types
from _ctypes import CFuncPtr
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from irad.core.array_classes import ArrayOfClass, stand_in
from irad.core.foreign import CACHE, is_library, is_mapped, module_of, own_dict
from irad.core.once import import_later
from irad.core.random_streams import is_stream
from irad.errors import UnsupportedError
from irad.frontend.control import varying
from irad.frontend.control.lists import with_items
from irad.frontend.control.special import at_site
from irad.frontend.control.templates import Ary, Composite, show
from irad.frontend.control.varying import varies
from irad.frontend.python.numbers import BUILTINS
from irad.frontend.reader import Reader, expression
from irad.frontend.reading.class_attributes import is_generated
from irad.frontend.reading.comprehensions import elements
from irad.frontend.reading.construction import construct, generated_method, made_by_base
from irad.frontend.reading.expressions import lookup_name
from irad.frontend.reading.functions import call_closure, call_function, refuse_outside
from irad.frontend.reading.instances import note_method, plain_attr, plain_set
from irad.frontend.reading.methods import call_method
from irad.frontend.reading.native_calls import call_builtin, looks, run_native
from irad.frontend.reading.numpy_calls import call_numpy, hashed
from irad.frontend.reading.packages import refuse
from irad.frontend.transforms.custom import Special
from irad.frontend.transforms.derivatives import MEANINGS, Pullback, apply_transform
from irad.frontend.transforms.transform import CALLS, Transform, Wrapper
from irad.frontend.values.callables import Callback, Native, OfOne
from irad.frontend.values.objects import (
    UNDEFINED,
    Choice,
    Closure,
    Env,
    Method,
    Nullable,
    Stand,
    Varying,
    describe,
    is_traced_deep,
    python_method,
)
from irad.frontend.values.runs import has_run, head


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
    if fn is zip and len(e.args) == 1 and isinstance(e.args[0], ast.Starred) and not e.keywords:
        rows = r.expr(e.args[0].value)
        r.at(e)
        return _transposed(r, rows) if has_run(rows) else r.call(zip, r.items(rows))
    args = [r.tabulated(e.args[0])] if len(e.args) == 1 and _takes_table(fn, e.args[0]) else elements(r, e.args, given)
    kwargs: dict[str, Any] = {}
    for k in e.keywords:
        if k.arg is None:
            named = r.expr(k.value)
            kwargs.update(named.whole(r) if isinstance(named, Stand) else named)
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
_GOING_OVER = (enumerate, zip, iter, map)  # which take items one by one, of whatever kind they are
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


def _transposed(r: Reader, rows: Any) -> Any:
    """zip(*rows) of a list of as many rows as data decide."""
    t = head(rows).element  # type: ignore[union-attr]
    shape = t.type.shape if isinstance(t, Ary) else (len(t.kids),) if isinstance(t, Composite) and t.cls in (tuple, list) else ()
    if not shape or not isinstance(shape[0], int):
        raise UnsupportedError(f"zip(*xs) of a list of as many elements as data decide, each of which is {show(t)}")
    return r.call(import_later("irad.frontend.library.python.standard").columns, [rows, shape[0]])


def _super(r: Reader) -> Any:
    """super() without arguments, from the class cell of the method that is being read."""
    fn, env = r.frame.globals_of, r.frame.env.parent
    while isinstance(env, Env) and "__class__" not in env.names:
        env = env.parent
    cell = lambda: fn.__closure__[fn.__code__.co_freevars.index("__class__")].cell_contents
    cls = env.names["__class__"] if isinstance(env, Env) else cell()
    taken = r.frame.liveness.node.args
    return _after(cls, r.frame.env.names[[*taken.posonlyargs, *taken.args][0].arg])


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
    if isinstance(fn, types.GenericAlias):  # list[float]()
        return r.call(fn.__origin__, args, kwargs)
    if isinstance(fn, functools.partial):
        return _partial(r, fn, args, kwargs)
    if (
        isinstance(fn, np.errstate)
        or getattr(fn, "__code__", None) is _IN_ERRSTATE
        and not str(fn.__module__).startswith("numpy.")
    ):
        return import_later("irad.frontend.reading.with_blocks").decorated(r, fn, args, kwargs)
    if isinstance(fn, np.vectorize):
        return r.vectorized(fn, args, kwargs)
    if isinstance(fn, Transform):
        return apply_transform(r, fn, args, kwargs)
    if isinstance(fn, Special):
        return fn.apply(r, args, kwargs)
    if varies(args) or varies(list(kwargs.values())):
        if not _is_read(fn) and not (args and is_mapped(args[0])) and not any(fn is f for f in _GOING_OVER):
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
        return construct(r, fn, args, kwargs)
    if isinstance(
        fn, (types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType, types.WrapperDescriptorType)
    ):
        return call_builtin(r, fn, args, kwargs)
    return _callable_object(r, fn, args, kwargs)


def _of_object_model(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of what Python itself calls to make objects and to get at their attributes; NotImplemented if fn is none of that."""
    if isinstance(fn, types.MethodWrapperType) and fn.__name__ == "__call__":
        return (
            construct(r, fn.__self__, args, kwargs, True) if isinstance(fn.__self__, type) else r.call(fn.__self__, args, kwargs)
        )
    if fn is type.__call__:
        return construct(r, args[0], args[1:], kwargs, True)
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


_COMPARED_BY = type(functools.cmp_to_key(lambda a, b: 0))
_GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)


def _got(r: Reader, getter: Any, x: Any) -> Any:
    """What a function that itemgetter, attrgetter or methodcaller has made gives of x."""
    made, given = getter.__reduce__()[:2]
    if isinstance(getter, operator.methodcaller):
        name, *args = (*made.args, *given) if isinstance(made, functools.partial) else given
        return r.call(r.getattr(x, name), args, dict(getattr(made, "keywords", {})))
    dotted = lambda name: functools.reduce(r.getattr, name.split("."), x)
    found = [r.getitem(x, k) if isinstance(getter, operator.itemgetter) else dotted(k) for k in given]
    return found[0] if len(found) == 1 else tuple(found)


def _callable_object(r: Reader, obj: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if isinstance(obj, _GETTERS) and len(args) == 1 and not kwargs:
        return _got(r, obj, args[0])
    if type(obj) is _COMPARED_BY:
        compare = next(x for x in gc.get_referents(obj) if x is not _COMPARED_BY)
        return r.call(r.call(functools.cmp_to_key, [compare]), args, kwargs)
    calls = [vars(k).get("__call__") for k in type(obj).__mro__]
    refuse_outside(getattr(obj, "__name__", type(obj).__name__), calls, [args, list(kwargs.values())])
    method = next((vars(k)["__call__"] for k in type(obj).__mro__ if "__call__" in vars(k)), None)
    if isinstance(method, types.FunctionType) and not isinstance(obj, Wrapper):
        note_method(r, obj, "__call__", method)
        return r.call(method, [obj, *args], kwargs)
    if method is None:
        raise TypeError(f"{describe(obj)} is not callable")
    if isinstance(obj, CFuncPtr) and is_traced_deep([args, kwargs]):
        raise UnsupportedError(
            "a function of ctypes is given numbers that the compiled code computes; call the Python function that it was made of, or make "
            "it irad.callback(f, 0.0)"
        )
    if (getter := python_method(method, "__get__")) is not None:
        r.captures.guard(r.captures.origin(type(obj)).child("found", "__call__"), "is", method)
        return r.call(r.call(getter, [method, obj, type(obj)]), args, kwargs)
    wrapped = getattr(obj, "__wrapped__", None)
    if wrapped is not None:  # functools.lru_cache and the like
        path = r.captures.path(obj)
        return r.call(wrapped if path is None else r.captures.take(wrapped, path.child("wrapped")), args, kwargs)
    return call_builtin(r, obj, args, kwargs)
