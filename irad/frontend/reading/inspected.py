"""Functions of the module inspect that say what a function or class is: it is known when the program is read."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable
from typing import Any

from irad.core.foreign import is_value
from irad.errors import UnsupportedError
from irad.frontend.python.numbers import BUILTINS
from irad.frontend.reader import Reader
from irad.frontend.values.objects import Closure

_NAMES = ("getfullargspec", "signature", "isbuiltin", "isclass", "isfunction", "ismethod", "ismodule", "isroutine")


def _asked(native: Any) -> Callable[..., Any]:
    def ask(r: Reader, obj: Any, **kwargs: Any) -> Any:
        _relied_on(r, obj)
        return r.wrap(native(_function(obj) if isinstance(obj, Closure) else obj, **kwargs))

    return ask


def _relied_on(r: Reader, obj: Any) -> None:
    """The program relies on the code of a function from outside, and on its default arguments."""
    r.captures.hand("inspect", obj)
    path = r.captures.path(obj)
    if path is None or not isinstance(obj, types.FunctionType):
        return
    for k, x in enumerate(obj.__defaults__ or ()):
        if not is_value(x) and x is not None:
            raise UnsupportedError(f"inspect of {obj.__name__}, which has a default argument that is no number, text or None")
        r.captures.guard(path.child("default", k), "eq", x)


def _function(c: Closure) -> types.FunctionType:
    """A function of the same parameters as one that was made inside, without annotations."""
    given = c.node.args
    none = lambda xs: [x and ast.Constant(None) for x in xs]
    bare = lambda a: a and ast.arg(a.arg)
    args = ast.arguments(
        [bare(a) for a in given.posonlyargs], [bare(a) for a in given.args], bare(given.vararg), [bare(a) for a in given.kwonlyargs],
        none(given.kw_defaults), bare(given.kwarg), none(given.defaults),
    )  # fmt: skip
    made = ast.fix_missing_locations(ast.Expression(ast.Lambda(args, ast.Constant(None))))
    fn: types.FunctionType = eval(compile(made, "<inspect>", "eval"))
    fn.__defaults__, fn.__kwdefaults__, fn.__name__ = tuple(c.defaults) or None, c.kw_defaults or None, c.__name__
    wrapped = vars(c).get("__wrapped__")  # whose parameters `signature` shows
    if wrapped is not None:
        fn.__wrapped__ = _function(wrapped) if isinstance(wrapped, Closure) else wrapped  # type: ignore[attr-defined]
    return fn


BUILTINS.update((getattr(inspect, name), _asked(getattr(inspect, name))) for name in _NAMES)
