"""Where the builders register: NumPy functions by object, ndarray methods and attributes and Python operators by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np

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


def find(path: str) -> Any:
    """np.<path>, or None if the installed NumPy does not have it."""
    found: Any = np
    for part in path.split("."):
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


def operator(*names: str) -> Callable[[F], F]:
    """Register a builder for a Python operator, by its name in the module `operator`."""

    def register(builder: F) -> F:
        OPERATORS.update((n, builder) for n in names)
        return builder

    return register
