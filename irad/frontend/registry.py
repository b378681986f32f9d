"""Where the builders register: NumPy and SciPy functions by object, ndarray methods and attributes and Python operators by name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np

from irad.core.once import import_later
from irad.errors import IradTypeError

Builder = Callable[..., Any]
F = TypeVar("F", bound=Builder)

TABLE: dict[Any, Builder] = {}
METHODS: dict[str, Builder] = {}
ATTRIBUTES: dict[str, Builder] = {}
OPERATORS: dict[str, Builder] = {}
VIEWS: set[Any] = set()  # NumPy functions, and names of methods and attributes, whose result shares the operand's memory
NAMES: dict[str, Any] = {}  # "np.sum" -> np.sum: what `nearest` searches
OTHER_NAMES: set[str] = set()  # those that only other versions of NumPy have


def into(table: dict[Any, F]) -> Callable[..., Callable[[F], F]]:
    """A decorator that registers a function in a table, under each of the keys that it is given."""

    def of(*keys: Any) -> Callable[[F], F]:
        def register(f: F) -> F:
            table.update((key, f) for key in keys)
            return f

        return register

    return of


def find(path: str) -> Any:
    """np.<path> or scipy.<path>, or None if the installed version does not have it."""
    scipy = path.startswith("scipy.")
    found: Any = import_later(".".join(path.split(".")[:2])) if scipy else np
    for part in path.split(".")[2 * scipy :]:
        found = getattr(found, part, None)
    return found


ABSENT: Any = getattr(np, "_NoValue", None)  # the default of keywords that only some versions of NumPy have


@cache
def _keywords(fn: Any) -> frozenset[str]:
    return frozenset(inspect.signature(fn).parameters)


def refuse_keywords(fn: Any, **given: Any) -> None:
    """Keywords that were given and that the installed NumPy's function does not have are refused as it does."""
    for k, v in given.items():
        if v is not ABSENT and k not in _keywords(fn):
            raise IradTypeError(f"{fn.__name__}() got an unexpected keyword argument '{k}'")


def _register(path: str, builder: Builder, view: bool) -> None:
    fn = find(path)
    if fn is None:
        OTHER_NAMES.add(f"np.{path}")
        return
    TABLE[fn] = builder
    NAMES[f"np.{path}"] = fn
    if view:
        VIEWS.add(fn)


def numpy(*paths: str, method: str | None = None, view: bool = False) -> Callable[[F], F]:
    """Register the decorated builder for NumPy functions (those the installed NumPy has), and perhaps as a method."""

    def register(builder: F) -> F:
        for path in paths:
            _register(path, builder, view)
        if method:
            METHODS[method] = builder
            if view:
                VIEWS.add(method)
        return builder

    return register


class Written:
    """A builder that is a plain function of NumPy arrays: the front end reads it where it is called, as it reads the user's.

    `always`: it is read even if nothing is traced, since it takes functions or objects, whose numbers may be.
    """

    read: Callable[..., Any]  # outside of a reader; irad.frontend.reading.written sets it

    def __init__(self, fn: Builder, always: bool):
        self.fn, self.always = fn, always
        functools.update_wrapper(self, fn)

    def __call__(self, *operands: Any, **named: Any) -> Any:
        return Written.read(self, operands, named)


def written(*names: str, always: bool = False) -> Callable[[F], F]:
    """Register the decorated function, written in NumPy, for functions and methods of NumPy or SciPy by their full names.

    What the installed version does not have is left out; modules of SciPy are imported.
    """

    def register(fn: F) -> F:
        entry = Written(fn, always)
        for name in names:
            if name.startswith("numpy."):
                _register(name.removeprefix("numpy."), entry, False)
                continue
            path, _, last = name.rpartition(".")
            scipy(path, {last: entry})
        return fn

    return register


def known(x: Any) -> bool:
    """In a function that is `written`: is x known at compile time? The reader answers."""
    return True


def of_complex(name: str) -> Callable[[F], F]:
    """Register the decorated function, written in NumPy, for complex operands of a function whose builder takes real ones."""

    def register(fn: F) -> F:
        key, entry = find(name), Written(fn, False)
        real = TABLE[key]
        TABLE[key] = lambda x, **options: entry(x) if getattr(x, "name", "")[:1] == "c" else real(x, **options)
        return fn

    return register


def scipy(path: str, builders: dict[str, Builder]) -> None:
    """Register builders for the functions of a module of SciPy that the installed version has."""
    for name, builder in builders.items():
        found = find(f"{path}.{name}")
        if found is not None:
            TABLE[found] = builder
            NAMES[f"{path}.{name}"] = found


def method(*names: str, view: bool = False) -> Callable[[F], F]:
    """Register a builder for ndarray methods only; the array is its first argument."""

    def register(builder: F) -> F:
        METHODS.update((n, builder) for n in names)
        VIEWS.update(names if view else ())
        return builder

    return register


def attribute(name: str, view: bool = False) -> Callable[[F], F]:
    """Register a builder for an ndarray attribute."""

    def register(builder: F) -> F:
        ATTRIBUTES[name] = builder
        VIEWS.update([name] if view else [])
        return builder

    return register


operator = into(OPERATORS)  # a Python operator, by its name in the module `operator`
