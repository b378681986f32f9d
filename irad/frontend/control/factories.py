"""What makes the missing values of a defaultdict: called where one is asked for, and as a function for the caller where it is returned."""

from __future__ import annotations

import ast
import collections
from typing import Any

from irad.errors import UnsupportedError
from irad.frontend.control.lists import change
from irad.frontend.reader import Reader
from irad.frontend.values.objects import Closure, Env


def missing(r: Reader, obj: collections.defaultdict[Any, Any], key: Any) -> Any:
    """An item that a defaultdict makes when it is asked for."""
    if obj.default_factory is None:
        raise KeyError(key)
    if r.captures.of_caller(obj) is not None:
        raise UnsupportedError(
            "asking a defaultdict from outside for a key that it lacks would put it there; write d[key] if key in d else ..., "
            "or put it there before"
        )
    change(r, obj)
    obj[key] = r.call(obj.default_factory, [])
    return obj[key]


def for_the_caller(factory: Any) -> Any:
    """The factory as a Python function. Raises UnsupportedError for one that was made while the function was read, and that reads variables."""
    if not isinstance(factory, Closure):
        return factory
    names = {n.id for n in ast.walk(factory.node) if isinstance(n, ast.Name)}
    if not isinstance(factory.node, ast.Lambda) or factory.defaults or any(_is_variable(factory, n) for n in names):
        raise UnsupportedError(
            "a defaultdict whose factory is made in compiled code cannot be returned: return dict(d), or define the factory outside"
        )
    code = ast.fix_missing_locations(ast.Expression(factory.node))
    return eval(compile(code, factory.frame.source.file, "eval"), factory.frame.globals_of.__globals__)


def with_factory(d: dict[Any, Any]) -> dict[Any, Any]:
    """A dict that is returned, its factory as a Python function."""
    if not isinstance(d, collections.defaultdict) or not isinstance(d.default_factory, Closure):
        return d
    return collections.defaultdict(for_the_caller(d.default_factory), d)


def _is_variable(factory: Closure, name: str) -> bool:
    env: Any = factory.env
    while isinstance(env, Env):
        if name in env.names or name in env.locals:
            return True
        env = env.parent
    return name in factory.frame.globals_of.__code__.co_freevars
