"""Functions that Python runs while a program is traced, because their text is not there: what they read from outside is read once.

So all of it has to be constant: numbers and texts are compared at each call, and functions by their code. Arrays, containers and
objects can change unseen, and are refused, as is an assignment to a variable outside.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterable, Iterator
from typing import Any

from irad.core.foreign import CODE, is_library, is_value, module_of
from irad.errors import UnsupportedError
from irad.frontend.values.captures import Captures
from irad.frontend.values.guards import Path
from irad.frontend.values.objects import describe

_NOT_CALLED = ("__init__", "__new__", "__post_init__", "__init_subclass__", "__setattr__", "__enter__", "__exit__")
_STORES = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR")


def rely_on(captures: Captures, fn: types.FunctionType, name: str) -> None:
    """Guard what a function reads from outside, with the functions that it calls. Raises UnsupportedError where that can change unseen."""
    _Unread(captures, name).function(fn, captures.origin(fn))


def rely_on_methods(captures: Captures, closures: dict[int, Any], name: str, objs: Iterable[Any]) -> None:
    """The same, for special methods of objects of the program that the function called `name`, which is not read, is given."""
    for cls in dict.fromkeys(k for x in objs for k in type(x).__mro__ if not is_library(k.__module__)):
        for method, fn in vars(cls).items():
            if method[:2] + method[-2:] == "____" and method not in _NOT_CALLED and isinstance(fn, types.FunctionType):
                _rely_on_method(captures, closures, fn, f"{cls.__name__}.{method}, which {name} may call,")


def _rely_on_method(captures: Captures, closures: dict[int, Any], fn: types.FunctionType, name: str) -> None:
    if is_library(module_of(fn)) or fn.__code__.co_filename.startswith("<string>"):  # of dataclasses
        return
    if id(fn) in closures and set(fn.__code__.co_freevars) - {"__class__"}:
        raise UnsupportedError(f"{name} reads variables of a function in compiled code; call the method itself")
    rely_on(captures, fn, name)


class _Unread:
    def __init__(self, captures: Captures, name: str):
        self.captures, self.name, self.seen = captures, name, set[int]()

    def visit(self, x: Any, path: Path) -> None:
        if is_value(x):
            self.captures.guard(path, "eq", x)
        elif isinstance(x, CODE):
            self.captures.take(x, path)
            self._code(x, path)
        else:
            raise UnsupportedError(
                f"{self.name} cannot be read, so it runs once, at compile time, and {path} ({describe(x)}) would be read then only; "
                "give it as an argument, or define the function in a file"
            )

    def _code(self, x: Any, path: Path) -> None:
        if id(x) in self.seen:
            return
        self.seen.add(id(x))
        if isinstance(x, types.FunctionType) and not is_library(x.__module__):
            self.function(x, path)
        elif isinstance(x, types.MethodType):
            self.visit(x.__self__, path.child("self"))
            self._code(x.__func__, path.child("func"))
        elif isinstance(x, type) and not is_library(x.__module__):
            for k, v in vars(x).items():
                if isinstance(v, types.FunctionType):
                    self.visit(v, path.child("attr", k))

    def function(self, fn: types.FunctionType, path: Path) -> None:
        globals_, attributes = set[str](), set[str]()
        for i in _instructions(fn.__code__):
            if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                globals_.add(i.argval)
            elif i.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                attributes.add(i.argval)
            elif i.opname in _STORES or i.opname == "STORE_DEREF" and i.argval in fn.__code__.co_freevars:
                raise UnsupportedError(
                    f"{self.name} cannot be read, so it runs once, at compile time, and would assign {i.argval} then only; "
                    "let it return the new value, or define the function in a file"
                )
        for n in sorted(globals_ & fn.__globals__.keys()):
            x = fn.__globals__[n]
            if isinstance(x, types.ModuleType) and not is_library(x.__name__):
                self._module(x, path.child("global", n), attributes)
            else:
                self.visit(x, path.child("global", n))
        for n, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
            self.visit(cell.cell_contents, path.child("cell", n))
        for k, x in enumerate(fn.__defaults__ or ()):
            self.visit(x, path.child("default", k))
        for n, x in (fn.__kwdefaults__ or {}).items():
            self.visit(x, path.child("kwdefault", n))

    def _module(self, module: types.ModuleType, path: Path, names: set[str]) -> None:
        self.captures.take(module, path)
        for n in sorted(names & vars(module).keys()):
            self.visit(vars(module)[n], path.child("attr", n))


def _instructions(code: types.CodeType) -> Iterator[dis.Instruction]:
    yield from dis.get_instructions(code)
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from _instructions(c)
