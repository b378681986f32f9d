"""Classes that are defined in a function that is read.

Python's own class is made while the function is read, so that everything that is known of classes holds for it (bases, metaclasses,
properties, dataclasses, enumerations). Its methods are functions of Python by which the closures that are read instead are found.
"""

from __future__ import annotations

import ast
import functools
import types
from collections import deque
from typing import Any

from irad.core.foreign import is_instance, is_library
from irad.errors import UnsupportedError
from irad.frontend.activations import Activation
from irad.frontend.control.flow import block
from irad.frontend.reader import Reader
from irad.frontend.reading.expressions import make_closure
from irad.frontend.reading.statements import variable
from irad.frontend.syntax.liveness import liveness_of
from irad.frontend.syntax.source import code_of, mangled
from irad.frontend.values.callables import Callback
from irad.frontend.values.objects import Array, Closure, Env, is_traced_deep
from irad.frontend.values.state import Name


def define_class(r: Reader, s: ast.ClassDef) -> None:
    """A class statement: the body runs once, then the class is made, and decorated."""
    bases, keywords = [r.expr(b) for b in s.bases], {k.arg: r.expr(k.value) for k in s.keywords if k.arg}
    for base in bases:
        _check_base(base)
    inside = Env(parent=r.frame.env)  # what methods see: the variables around, and the class itself for super()
    names, annotations = _run_body(r, s, inside)
    own = {k: v for k, v in names.items() if _is_static(v)}
    around = r.frame.globals_of
    head = {
        "__module__": around.__module__,
        "__qualname__": f"{around.__qualname__}.<locals>.{s.name}",
        "__annotations__": annotations,
    }
    cls: Any = types.new_class(s.name, tuple(bases), keywords, lambda ns: ns.update(head | own))
    r.closures[id(cls)] = cls, None
    inside.names["__class__"] = cls
    for fn in own.values():
        if isinstance(fn, types.FunctionType) and "__class__" in fn.__code__.co_freevars:  # Python makes exceptions by itself
            fn.__closure__[fn.__code__.co_freevars.index("__class__")].cell_contents = cls  # type: ignore[index]
    for name in names.keys() - own.keys():
        r.state.assign(Name(r.outside.env(cls, r.captures.origin(cls), "attr", name, names[name]), name), names[name])
    for d in reversed(s.decorator_list):
        cls = r.call(r.expr(d), [cls])
    r.state.assign(variable(r, s.name), cls)


def _check_base(base: Any) -> None:
    if not isinstance(base, type) and not hasattr(base, "__mro_entries__"):
        raise UnsupportedError(
            "a base of a class that is defined in compiled code must be a class that is known when it is compiled"
        )
    hook: Any = getattr(base, "__init_subclass__", None)
    if isinstance(getattr(hook, "__func__", None), types.FunctionType) and not is_library(hook.__func__.__module__):
        raise UnsupportedError(
            f"{base.__name__} has an __init_subclass__, which compiled code does not run: define the class outside"
        )


def _run_body(r: Reader, s: ast.ClassDef, inside: Env) -> tuple[dict[str, Any], dict[str, str]]:
    """The names that a class's body leaves, and its annotations, as text; its methods see `inside`, not these names."""
    around, body = r.frame, _body(s)
    env = Env(parent=around.env)
    annotations: dict[str, str] = {}
    r.state.made(env)
    live = liveness_of(body)
    env.locals, env.nonlocals = live.locals, live.nonlocals
    frame = Activation(env, around.source, live, around.globals_of, body)
    r.state.made(frame.flags)
    methods = Activation(inside, around.source, around.liveness, around.globals_of, around.code)
    with r.activation(frame):
        for statement in body.body:
            if isinstance(statement, ast.FunctionDef):
                _define(r, statement, methods)
                continue
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                annotations[statement.target.id] = ast.unparse(statement.annotation)
            block(r, [statement])
    return {k: _as_function(r, v) for k, v in env.names.items()}, annotations


def _define(r: Reader, s: ast.FunctionDef, methods: Activation) -> None:
    closure = make_closure(r, s, s.name)  # defaults are evaluated in the body
    closure.frame, closure.env = methods, methods.env
    fn: Any = _as_function(r, closure)
    for d in reversed(s.decorator_list):
        fn = r.call(r.expr(d), [fn])
    r.state.assign(Name(r.frame.env, s.name), fn)


def _as_function(r: Reader, x: Any) -> Any:
    """The function of Python that stands for a closure among the members of a class."""
    if not isinstance(x, Closure):
        return x
    code = code_of(x.node, x.frame.source, r.frame.globals_of.__code__)
    fn = types.FunctionType(
        code, x.frame.globals_of.__globals__, x.__name__, None, tuple(types.CellType() for _ in code.co_freevars)
    )
    r.closures[id(fn)] = fn, x
    return fn


def _is_static(x: Any) -> bool:
    """Can it stand in the class itself? All else is assigned to it in the program, whose state it is part of."""
    if isinstance(x, (Array, list, dict, set, deque)) or is_traced_deep(x):
        return False
    return not is_instance(x) or isinstance(x, type) or is_library(type(x).__module__)


@functools.cache
def _body(s: ast.ClassDef) -> ast.FunctionDef:
    """A class's body, with its private names as they are called, as that of a function."""
    whole = mangled(s, s.name)  # type: ignore[arg-type, type-var]
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.copy_location(ast.FunctionDef(s.name, empty, whole.body, []), s)  # type: ignore[arg-type]


def complete(r: Reader, cls: Any) -> None:
    """Give the methods of a class, of which an object is returned, the variables that they read of the function around."""
    for owner, name, x in [(k, *item) for k in cls.__mro__ if id(k) in r.closures for item in vars(k).items()]:
        if isinstance(x, property):
            made: Any = property(*(_completed(r, owner, f) for f in (x.fget, x.fset, x.fdel)))
        elif isinstance(x, (staticmethod, classmethod)):
            made = type(x)(_completed(r, owner, x.__func__))
        else:
            made = _completed(r, owner, x)
        if made is not x:
            setattr(owner, name, made)


def _completed(r: Reader, cls: type, f: Any) -> Any:
    f = f.fn if isinstance(f, Callback) else f
    closure = r.closures.get(id(f), (None, None))[1]
    for name, cell in zip(f.__code__.co_freevars, f.__closure__) if closure is not None else ():
        known = name == "__class__"
        cell.cell_contents = cls if known else _known_variable(closure.env, name, f"{cls.__name__}.{f.__name__}")
    return f


def _known_variable(env: Any, name: str, of: str) -> Any:
    while isinstance(env, Env):
        if name in env.names and type(env.names[name]) in (bool, int, float, complex, str, type(None)):
            return env.names[name]
        env = None if name in env.names else env.parent
    raise UnsupportedError(
        f"an object is returned whose method {of} reads '{name}', a variable of a function in compiled code: make it a field"
    )
