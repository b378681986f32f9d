"""The user's functions: their arguments are bound, and their bodies are read in an activation of their own."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Iterable, Iterator
from typing import Any

from irad.core.foreign import is_library, module_of
from irad.core.lazy_dataclass import replace
from irad.core.once import import_later
from irad.errors import UnsupportedError
from irad.frontend.activations import Activation
from irad.frontend.control.flow import block, conjunction, flag
from irad.frontend.control.generators import start
from irad.frontend.reader import Reader
from irad.frontend.reading.called import called
from irad.frontend.reading.native_calls import run_native
from irad.frontend.reading.recursion import recursive_call, written_out
from irad.frontend.reading.written import in_library, run_plainly, runs_plainly
from irad.frontend.syntax.liveness import liveness_of
from irad.frontend.syntax.source import NoSource, Source, source_of
from irad.frontend.transforms.transform import OUTSIDE
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Closure, Env, Maybe, Nullable, Poison, is_traced_deep, reads_traced

MAX_DEPTH = 400


_DISPATCHER = functools.singledispatch(lambda x: x).__code__  # type: ignore[attr-defined]


def call_function(r: Reader, fn: types.FunctionType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A Python function: read, or run by Python if it belongs to a library and everything is static."""
    if id(fn) in r.closures:
        return call_closure(r, r.closures[id(fn)][1], args, kwargs)
    if fn.__code__ is _DISPATCHER:  # which function it calls is looked up natively
        r.items(r.call(r.getattr(r.getattr(fn, "registry"), "items"), []))
    if in_library(fn) and runs_plainly(args, kwargs):
        known = run_plainly(r, fn, args, kwargs)
        if known is not NotImplemented:
            return known
    traced = reads_traced([*args, *kwargs.values()]) or in_library(fn)
    refuse_outside(f"irad.{fn.__name__}" if "." not in fn.__qualname__ else fn.__qualname__, [fn], [args, kwargs])
    ours = fn.__module__ == "irad.directional" and "<locals>" in fn.__qualname__  # what a transform makes of the user's function
    if is_library(module_of(fn)) and not traced and not ours and not _of_the_program(r, fn, args):
        return run_native(r, fn, args, kwargs)
    if fn.__code__.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise UnsupportedError(f"async function {fn.__name__}: compiled code does not await; write a plain def")
    try:
        source = source_of(fn.__code__)
    except NoSource as e:
        return r.without_source(fn, args, kwargs, str(e))
    return enter(r, fn, source, args, kwargs)


def _of_the_program(r: Reader, fn: types.FunctionType, args: list[Any]) -> bool:
    """Does a function of the standard library read what may change, or call what does? It is a method that a class of the program has
    of it, or a decorator has made it of a function of the program."""
    if args and (r.captures.is_object(args[0]) or not is_library(type(args[0]).__module__)):
        if any(vars(k).get(fn.__name__) is fn for k in type(args[0]).__mro__):
            return True
    wrapped = getattr(fn, "__wrapped__", None)
    return isinstance(wrapped, Closure) or isinstance(wrapped, types.FunctionType) and not is_library(module_of(wrapped))


def enter(r: Reader, fn: types.FunctionType, source: Source, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if in_library(fn):
        take = lambda obj, kind, key: r.wrap(obj)
    else:
        path = r.captures.origin(fn)
        take = lambda obj, kind, key: r.captures.take(obj, path.child(kind, key))
    defaults = [take(d, "default", k) for k, d in enumerate(fn.__defaults__ or ())]
    kw_defaults = {k: take(d, "kwdefault", k) for k, d in (fn.__kwdefaults__ or {}).items()}
    env = Env()
    bind(r, source.node.args, fn.__name__, env, args, kwargs, defaults, kw_defaults)
    return activate(r, Activation(env, source, liveness_of(source.node), fn, fn.__code__), fn.__name__)


def call_closure(r: Reader, fn: Closure, args: Any, kwargs: dict[str, Any]) -> Any:
    """A function that was made by a `def` or `lambda` being read."""
    env = Env(parent=fn.env)
    frame = fn.frame
    bind(r, fn.node.args, fn.__name__, env, list(args), dict(kwargs), fn.defaults, fn.kw_defaults)
    return activate(r, Activation(env, frame.source, liveness_of(fn.node), frame.globals_of, fn.node), fn.__name__)


def activate(r: Reader, frame: Activation, name: str) -> Any:
    """Run a function's body in a new activation; what it returns."""
    frame.around = frame.env.parent
    if isinstance(frame.liveness.node, ast.FunctionDef) and _is_generator(frame.liveness.node):
        return start(r, frame)
    done = recursive_call(r, frame, name, lambda f: _activate(r, f, name))
    written = lambda f: written_out(r, f, lambda: _activate(r, f, name))
    return called(r, frame, name, written) if done is NotImplemented else done


def _activate(r: Reader, frame: Activation, name: str) -> Any:
    node = frame.liveness.node
    frame.conditional = r.conditional
    frame.env.locals, frame.env.nonlocals = frame.liveness.locals, frame.liveness.nonlocals
    if len(r.frames) > MAX_DEPTH:
        raise UnsupportedError(f"calls nest deeper than {MAX_DEPTH}; is there a recursion that does not end?")
    r.state.made(frame.env)
    r.state.made(frame.flags)
    with r.activation(frame):
        if isinstance(node, ast.Lambda):
            return r.perhaps(node.body)
        if r.holds and any(f.guards for f in r.frames[:-1]):
            import_later("irad.frontend.reading.held").holding(r, frame, node.body)
        else:
            block(r, node.body)
        return _returned(r, frame, name)


def _returned(r: Reader, frame: Activation, name: str) -> Any:
    done = flag(frame.flags, "return")
    value = frame.flags.names.get("value")
    if done is False:
        return None
    if isinstance(value, Maybe):
        value = value.value
    if isinstance(value, Poison):
        words = f"what {name} returns depends on data in its structure: {value.message}"
        raise value.error(name, words).at(r.loc(frame.liveness.node))
    if isinstance(done, Arr) and value is not None:  # at its end it returns None
        value = Nullable(value.value, conjunction(done, value.there)) if isinstance(value, Nullable) else Nullable(value, done)
    return replace(value, where=_lines(r, frame, done)) if isinstance(value, Nullable) else value


def _lines(r: Reader, frame: Activation, done: Any) -> str:
    """Which lines of a function return None and which another thing; "" if that is not to be seen."""
    empty: dict[bool, str] = {True: "at its end"} if isinstance(done, Arr) else {}
    for n in _own(frame.liveness.node):  # type: ignore[arg-type]
        if isinstance(n, ast.Return):
            none = n.value is None or (isinstance(n.value, ast.Constant) and n.value.value is None)
            empty.setdefault(none, f"in line {r.loc(n).line}")
    return f" (a value {empty[False]}, None {empty[True]})" if len(empty) == 2 else ""


@functools.cache
def _is_generator(node: ast.FunctionDef) -> bool:
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in _own(node))


def _own(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function's body, without those of functions defined in it."""
    todo: list[ast.AST] = list(reversed(node.body))
    while todo:
        n = todo.pop()
        yield n
        if not isinstance(n, (ast.FunctionDef, ast.Lambda)):
            todo += reversed(list(ast.iter_child_nodes(n)))


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


def refuse_outside(name: str, fns: Iterable[Any], args: Any) -> None:
    """Raises UnsupportedError for what is irad's own and compiled code has no use of, on traced values."""
    words = next((OUTSIDE[fn] for fn in fns if fn is not None and fn in OUTSIDE), None)
    if words is not None and is_traced_deep(args):
        raise UnsupportedError(f"{name} in compiled code: {words}")
