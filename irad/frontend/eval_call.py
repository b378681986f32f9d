"""Calls: NumPy functions through the table, Python builtins by their own rules, the user's functions by reading them."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from irad.errors import IradTypeError, UnsupportedError
from irad.frontend import views
from irad.frontend.arr import Arr, NeedStatic, is_traced
from irad.frontend.builtins import BUILTINS
from irad.frontend.eval_array import call_method, into, is_library, note_class
from irad.frontend.eval_expr import elements
from irad.frontend.flow import block, flag
from irad.frontend.liveness import Liveness
from irad.frontend.np_registry import NAMES
from irad.frontend.objects import Array, Callback, Closure, Either, Env, Maybe, Method, Native, Poison, describe, is_traced_deep
from irad.frontend.reader import Frame, Reader, expression
from irad.frontend.sequences import Seq
from irad.frontend.source import NoSource, Source, source_of
from irad.frontend.state import Name, Storage
from irad.frontend.table import add_at, lookup, nearest
from irad.frontend.transforms import CALLS, Pullback, Transform, apply_transform
from irad.ir import current

MAX_DEPTH = 400


@expression(ast.Call)
def call_expression(r: Reader, e: ast.Call) -> Any:
    fn = r.expr(e.func)
    args = elements(r, e.args)
    kwargs: dict[str, Any] = {}
    for k in e.keywords:
        if k.arg is None:
            kwargs.update(r.expr(k.value))
        else:
            kwargs[k.arg] = r.expr(k.value)
    r.at(e)
    if fn is super and not args:
        return _super(r)
    return r.call(fn, args, kwargs)


def _super(r: Reader) -> Any:
    """super() without arguments, from the class cell of the method that is being read."""
    fn = r.frame.globals_of
    cls = fn.__closure__[fn.__code__.co_freevars.index("__class__")].cell_contents
    first = r.frame.env.names[r.frame.source.node.args.args[0].arg]
    return super(cls, first)


def call(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """fn(*args, **kwargs)."""
    if isinstance(fn, (Native, Callback)):
        return fn.run(*args, **kwargs) if isinstance(fn, Native) else r.call(fn.fn, args, kwargs)
    if isinstance(fn, Method):
        return call_method(r, fn, args, kwargs)
    if isinstance(fn, Pullback):
        return fn.pull(r, *args)
    if isinstance(fn, Closure):
        return call_closure(r, fn, args, kwargs)
    if isinstance(fn, types.MethodType):
        return _bound_method(r, fn, args, kwargs)
    if isinstance(fn, functools.partial):
        return _partial(r, fn, args, kwargs)
    if isinstance(fn, Transform):
        return apply_transform(r, fn, args, kwargs)
    special = _hashed(BUILTINS, fn) or _hashed(CALLS, fn)
    if special is not None:
        return special(r, *args, **kwargs)
    numpy_made = _numpy(r, fn, args, kwargs)
    if numpy_made is not NotImplemented:
        return numpy_made
    if isinstance(fn, types.FunctionType):
        return _function(r, fn, args, kwargs)
    if isinstance(fn, type):
        return _construct(r, fn, args, kwargs)
    if isinstance(
        fn, (types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType, types.WrapperDescriptorType)
    ):
        return _builtin(r, fn, args, kwargs)
    return _callable_object(r, fn, args, kwargs)


def _hashed(table: dict[Any, Any], fn: Any) -> Any:
    try:
        return table.get(fn)
    except TypeError:
        return None


# ---- NumPy ------------------------------------------------------------------------------------------------------------

# functions whose results of rank 0 are arrays, not NumPy scalars
_ARRAY_RESULTS = {
    np.array, np.asarray, np.zeros, np.ones, np.full, np.empty, np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.copy,
    np.where, np.select, np.reshape, np.squeeze, np.broadcast_to, np.stack, np.linspace, np.choose, np.atleast_1d, np.tril, np.triu,
}  # fmt: skip
_MAKERS = {np.zeros, np.ones, np.full, np.empty, np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.eye, np.identity}
_LARGE = 1024  # elements from which an array made of static numbers is made in the graph


def _numpy(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a NumPy or scipy.special function; NotImplemented if fn is none."""
    mutating = _hashed(_MUTATING, fn)
    if mutating is not None:
        return mutating(r, *args, **kwargs)
    builder = lookup(fn)
    if builder is None and not _is_numpy(fn):
        return NotImplemented
    view = _hashed(views.FUNCTIONS, fn)
    if view is not None and args and isinstance(args[0], Array):
        return _call_view(r, view, args, kwargs)
    out = kwargs.pop("out", None)
    if out is not None and kwargs.get("where", True) is not True:
        kwargs["out"] = r.operand(out[0] if isinstance(out, tuple) else out)
    operands = [_function_operand(r, a) for a in args]
    named = {k: _function_operand(r, v) for k, v in kwargs.items()}
    zero_d = _hashed({f: True for f in _ARRAY_RESULTS}, fn) is True
    if not (is_traced(operands) or is_traced(named)) and not (_hashed({f: True for f in _MAKERS}, fn) and _large(operands)):
        return into(r, out, r.wrap(_run(r, fn, operands, named), zero_d))
    if builder is None:
        raise _unknown(fn)
    _fix_shape(r, fn, operands, named)
    return into(r, out, r.wrap(builder(*operands, **named), zero_d))


# where a function that makes an array takes the numbers that its shape depends on
_SHAPE_ARGUMENTS: dict[Any, tuple[Any, ...]] = {
    **{f: (0, "shape") for f in (np.zeros, np.ones, np.full, np.empty)}, np.eye: (0, 1, "N", "M"), np.identity: (0, "n"),
    np.arange: (0, 1, 2, "start", "stop", "step"), np.linspace: (2, "num"), np.indices: (0, "dimensions"), np.tri: (0, 1, "N", "M"),
}  # fmt: skip


def _fix_shape(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    """A shape that is computed from number arguments alone makes them static; other traced shapes are run-time extents."""
    for k in _hashed(_SHAPE_ARGUMENTS, fn) or ():
        x = kwargs.get(k) if isinstance(k, str) else args[k] if k < len(args) else None
        for n in x if isinstance(x, (tuple, list)) else (x,):
            if isinstance(n, Arr) and r.from_arguments(n):
                raise NeedStatic(n, f"the shape that np.{fn.__name__} makes")


def _call_view(r: Reader, view: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    operands = [r.operand(a) for a in args[1:]]
    named = {k: r.operand(v) for k, v in kwargs.items()}
    x = args[0]
    if isinstance(x, Either):
        from irad.frontend.flow import branch

        return branch(r, x.cond, lambda: view(r, x.left, *operands, **named), lambda: view(r, x.right, *operands, **named))
    return view(r, x, *operands, **named)


def _function_operand(r: Reader, x: Any) -> Any:
    """An argument of a NumPy function; sequences of sequences become lists."""
    if isinstance(x, Seq):
        return r.operand(r.items(x))
    return r.operand(x)


def _large(operands: list[Any]) -> bool:
    shape = operands[0] if operands else ()
    if isinstance(shape, np.ndarray):
        return shape.size > _LARGE
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    total = 1
    for n in sizes:
        total *= n if isinstance(n, (int, np.integer)) else 1
    return total > _LARGE


def _run(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A NumPy function on static operands, by NumPy itself."""
    module = str(getattr(fn, "__module__", "") or "")
    if module.startswith("numpy.random") or isinstance(
        getattr(fn, "__self__", None), (np.random.Generator, np.random.RandomState)
    ):
        raise UnsupportedError(
            "random numbers would be drawn once, at compile time; draw them outside and pass them as an argument"
        )
    with np.errstate(all="ignore"):
        return fn(*args, **kwargs)


def _is_numpy(fn: Any) -> bool:
    module = getattr(fn, "__module__", None) or getattr(type(fn), "__module__", "")
    return isinstance(fn, np.ufunc) or str(module).split(".")[0] in ("numpy", "scipy") and not isinstance(fn, type)


def _unknown(fn: Any) -> UnsupportedError:
    name = getattr(fn, "__name__", str(fn))
    module = str(getattr(fn, "__module__", "numpy") or "numpy")
    shown = f"{'np' if module.split('.')[0] == 'numpy' else module}.{name}"
    close = nearest(name)
    hint = f"; near it: {', '.join(close)}" if close else f"; irad ops lists the {len(NAMES)} functions that are"
    return UnsupportedError(f"{shown} of traced arrays is not supported{hint}")


def _add_at(r: Reader, x: Any, key: Any, v: Any) -> None:
    from irad.frontend.eval_array import put, writable

    writable(x)
    put(r, x, Arr(add_at(_lifted(r, x), r.operand(key), r.operand(v))))


def _lifted(r: Reader, x: Any) -> Arr:
    if not isinstance(x, Array):
        raise IradTypeError(f"an array is needed, got {describe(x)}")
    return Arr(r.value(x))


def _subtract_at(r: Reader, x: Any, key: Any, v: Any) -> None:
    _add_at(r, x, key, r.operator("neg", v))


def _copyto(r: Reader, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if where is True:
        r.setitem(dst, Ellipsis, src)
    else:
        r.setitem(dst, Ellipsis, r.call(np.where, [where, src, dst]))


def _fill_diagonal(r: Reader, a: Any, val: Any, wrap: bool = False) -> None:
    n = min(a.shape)
    r.setitem(a, (np.arange(n),) * len(a.shape), val)


_MUTATING: dict[Any, Callable[..., Any]] = {
    np.add.at: _add_at, np.subtract.at: _subtract_at, np.copyto: _copyto, np.fill_diagonal: _fill_diagonal,
    np.put_along_axis: lambda r, arr, indices, values, axis: _put_along(r, arr, indices, values, axis),
    np.putmask: lambda r, a, mask, values: _copyto(r, a, values, where=mask),
    np.place: lambda r, arr, mask, vals: r.setitem(arr, mask, vals),
}  # fmt: skip


def _put_along(r: Reader, arr: Any, indices: Any, values: Any, axis: int) -> None:
    n = len(arr.shape)
    at = []
    for k, d in enumerate(arr.shape):
        at.append(indices if k == axis % n else np.arange(d).reshape([-1 if j == k else 1 for j in range(n)]))
    r.setitem(arr, tuple(at), values)


# ---- the user's functions ---------------------------------------------------------------------------------------------------


def _function(r: Reader, fn: types.FunctionType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A Python function: read, or run by Python if it belongs to a library and everything is static."""
    wrapped = getattr(fn, "__wrapped__", None)
    traced = is_traced_deep(args) or is_traced_deep(kwargs)
    if is_library(str(fn.__module__).split(".")[0]) and not traced:
        return _native(r, fn, args, kwargs)
    try:
        source = source_of(fn.__code__)
    except NoSource as e:
        if wrapped is not None:
            return r.call(wrapped, args, kwargs)
        return r.without_source(fn, args, kwargs, str(e))
    return _enter(r, fn, source, args, kwargs)


def _enter(r: Reader, fn: types.FunctionType, source: Source, args: list[Any], kwargs: dict[str, Any]) -> Any:
    path = r.captures.path(fn)
    take = lambda obj, kind, key: r.captures.take(obj, path.child(kind, key)) if path is not None else r.wrap(obj)
    defaults = [take(d, "default", k) for k, d in enumerate(fn.__defaults__ or ())]
    kw_defaults = {k: take(d, "kwdefault", k) for k, d in (fn.__kwdefaults__ or {}).items()}
    env = Env()
    bind(r, source.node.args, fn.__name__, env, args, kwargs, defaults, kw_defaults)
    return activate(r, Frame(env, source, liveness_of(source.node), fn, fn.__code__), fn.__name__)


def call_closure(r: Reader, fn: Closure, args: Any, kwargs: dict[str, Any]) -> Any:
    """A function that was made by a `def` or `lambda` being read."""
    env = Env(parent=fn.env)
    frame = fn.frame
    bind(r, fn.node.args, fn.__name__, env, list(args), dict(kwargs), fn.defaults, fn.kw_defaults)
    return activate(r, Frame(env, frame.source, liveness_of(fn.node), frame.globals_of, fn.node), fn.__name__)


def activate(r: Reader, frame: Frame, name: str) -> Any:
    """Run a function's body in a new activation; what it returns."""
    node = frame.liveness.node
    frame.env.locals, frame.env.nonlocals = frame.liveness.locals, frame.liveness.nonlocals
    if len(r.frames) > MAX_DEPTH:
        raise UnsupportedError(f"calls nest deeper than {MAX_DEPTH}; is there a recursion that does not end?")
    r.state.made(frame.env)
    r.state.made(frame.flags)
    with r.activation(frame):
        if isinstance(node, ast.Lambda):
            return r.expr(node.body)
        if _is_generator(node):
            raise UnsupportedError(f"generator function {name}: collect the values in a list or array and return it", r.loc(node))
        block(r, node.body)
        return _returned(r, frame, name)


def _returned(r: Reader, frame: Frame, name: str) -> Any:
    done = flag(frame.flags, "return")
    value = frame.flags.names.get("value")
    if done is False:
        return None
    if isinstance(done, Arr) and not (isinstance(value, Maybe) and value.value is None):
        words = f"{name} returns a value on some paths and nothing on others; end it with a return statement"
        raise UnsupportedError(words, r.loc(frame.liveness.node))
    if isinstance(value, Maybe):
        value = value.value
    if isinstance(value, Poison):
        words = f"what {name} returns depends on data in its structure: {value.message}"
        raise UnsupportedError(words, r.loc(frame.liveness.node))
    return value


@functools.cache
def _is_generator(node: ast.FunctionDef) -> bool:
    todo: list[ast.AST] = list(node.body)
    while todo:
        n = todo.pop()
        if isinstance(n, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(n, (ast.FunctionDef, ast.Lambda)):
            todo += ast.iter_child_nodes(n)
    return False


@functools.cache
def liveness_of(node: ast.FunctionDef | ast.Lambda) -> Liveness:
    return Liveness(node)


def bind(
    r: Reader,
    spec: ast.arguments,
    name: str,
    env: Env,
    args: list[Any],
    kwargs: dict[str, Any],
    defaults: list[Any],
    kw_defaults: dict[str, Any],
) -> None:
    """Bind arguments to parameters as Python does. Raises TypeError with Python's words."""
    names = [a.arg for a in [*spec.posonlyargs, *spec.args]]
    only = len(spec.posonlyargs)
    bound: dict[str, Any] = dict(zip(names, args))
    extra = args[len(names) :]
    if extra and spec.vararg is None:
        raise TypeError(f"{name}() takes {len(names)} positional argument{'s' * (len(names) != 1)} but {len(args)} were given")
    if spec.vararg is not None:
        env.names[spec.vararg.arg] = tuple(extra)
    rest = {}
    keyword = {*names[only:], *(a.arg for a in spec.kwonlyargs)}
    for k, v in kwargs.items():
        if k in keyword:
            if k in bound:
                raise TypeError(f"{name}() got multiple values for argument '{k}'")
            bound[k] = v
        elif spec.kwarg is not None:
            rest[k] = v
        else:
            raise TypeError(f"{name}() got an unexpected keyword argument '{k}'")
    given = dict(zip(names[len(names) - len(defaults) :], defaults)) | kw_defaults
    missing = [n for n in [*names, *(a.arg for a in spec.kwonlyargs)] if n not in bound and n not in given]
    if missing:
        raise TypeError(
            f"{name}() missing {len(missing)} required argument{'s' * (len(missing) != 1)}: {', '.join(map(repr, missing))}"
        )
    env.names.update(given | bound)
    if spec.kwarg is not None:
        env.names[spec.kwarg.arg] = r.state.made(rest)


# ---- other callables ---------------------------------------------------------------------------------------------------------------


def _bound_method(r: Reader, m: types.MethodType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    path = r.captures.path(m)
    if path is not None:
        r.captures.note(m.__self__, path.child("self"))
        r.captures.note(m.__func__, path.child("func"))
    if isinstance(m.__self__, type) or not isinstance(m.__func__, types.FunctionType):
        return (
            r.call(m.__func__, [m.__self__, *args], kwargs)
            if isinstance(m.__func__, types.FunctionType)
            else _native(r, m, args, kwargs)
        )
    return r.call(m.__func__, [m.__self__, *args], kwargs)


def _partial(r: Reader, p: functools.partial[Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    path = r.captures.path(p)
    take = lambda obj, kind, key: obj if path is None else r.captures.take(obj, path.child(kind, key))
    fn = take(p.func, "partial", None)
    first = [take(a, "partial_arg", k) for k, a in enumerate(p.args)]
    named = {k: take(v, "partial_kw", k) for k, v in p.keywords.items()}
    return r.call(fn, [*first, *args], named | kwargs)


def _callable_object(r: Reader, obj: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    method = next((vars(k)["__call__"] for k in type(obj).__mro__ if "__call__" in vars(k)), None)
    if isinstance(method, types.FunctionType):
        note_class(r, obj)
        return r.call(method, [obj, *args], kwargs)
    if method is None:
        raise TypeError(f"'{type(obj).__name__}' object is not callable")
    wrapped = getattr(obj, "__wrapped__", None)
    if wrapped is not None:  # functools.lru_cache and the like
        path = r.captures.path(obj)
        return r.call(wrapped if path is None else r.captures.take(wrapped, path.child("wrapped")), args, kwargs)
    return _builtin(r, obj, args, kwargs)


def _construct(r: Reader, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """cls(*args, **kwargs): user classes are built by reading their __init__, all others by Python."""
    init, new = cls.__init__, cls.__new__  # type: ignore[misc]
    if issubclass(cls, BaseException) or cls.__module__.split(".")[0] == "irad" or not cls.__flags__ & (1 << 9):
        return r.state.made(_native(r, cls, args, kwargs))
    if isinstance(cls, type(type)) and type(cls).__call__ is not type.__call__:
        return _native(r, cls, args, kwargs)
    if dataclasses.is_dataclass(cls) and not isinstance(init, types.FunctionType):
        return _native(r, cls, args, kwargs)
    if dataclasses.is_dataclass(cls) and "__init__" in vars(cls) and cls.__dataclass_params__.init:  # type: ignore[attr-defined]
        return _dataclass(r, cls, args, kwargs)
    if new is not object.__new__ or not isinstance(init, types.FunctionType):
        return r.state.made(cls(*args, **kwargs))
    obj = r.state.made(object.__new__(cls))
    r.call(init, [obj, *args], kwargs)
    return obj


def _dataclass(r: Reader, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The generated __init__ of a dataclass, which has no source."""
    bound = inspect.signature(cls).bind(*args, **kwargs)
    obj = r.state.made(object.__new__(cls))
    for f in dataclasses.fields(cls):
        if f.init and f.name in bound.arguments:
            value = bound.arguments[f.name]
        elif f.default is not dataclasses.MISSING:
            value = r.wrap(f.default)
        elif f.default_factory is not dataclasses.MISSING:
            value = r.call(f.default_factory, [])
        else:
            continue
        object.__setattr__(obj, f.name, value)
    post = getattr(cls, "__post_init__", None)
    if post is not None:
        r.call(post, [obj])
    return obj


# modules whose functions give another result each time
_IMPURE = {"random", "time", "secrets", "uuid", "datetime", "_random", "_datetime"}


def _builtin(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A function implemented in C."""
    owner = getattr(fn, "__self__", None)
    if isinstance(owner, (list, dict, set)) or type(owner).__name__ == "deque":
        return call_method(r, Method(owner, fn.__name__), args, kwargs)
    if is_traced_deep(args) or is_traced_deep(kwargs):
        return r.without_source(fn, args, kwargs, "it is implemented in C")
    return _native(r, fn, args, kwargs)


def _native(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Let Python run something static."""
    module = str(getattr(fn, "__module__", "") or "")
    root = module.split(".")[0]
    owner = getattr(fn, "__self__", None)
    if (
        root in _IMPURE
        or type(owner).__module__.split(".")[0] in _IMPURE
        or module.startswith("numpy.random")
        or "numpy.random" in type(owner).__module__
    ):
        raise UnsupportedError(
            f"{module}.{getattr(fn, '__name__', fn)} gives another result at each call, but here it would run once, at compile time; "
            "call it outside and pass the result as an argument"
        )
    if fn is open or fn is input:
        raise UnsupportedError(f"{fn.__name__}() in compiled code: read the data outside and pass it as an argument")
    if root == "irad":  # our own, which know what they are given
        return fn(*args, **kwargs)
    operands = [_callback(r, r.operand(a)) for a in args]
    named = {k: _callback(r, r.operand(v)) for k, v in kwargs.items()}
    with np.errstate(all="ignore"):
        return r.wrap(fn(*operands, **named))


def _callback(r: Reader, x: Any) -> Any:
    """A function handed to native code comes back to the reader when it is called."""
    if isinstance(x, types.FunctionType) and not is_library(str(x.__module__).split(".")[0]):
        return Callback(r, x)
    if isinstance(x, Seq):
        return r.items(x)
    return x


__all__ = ["Name", "Storage", "activate", "call", "current", "operator"]
