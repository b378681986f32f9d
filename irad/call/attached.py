"""Calls of objects: the first two find their cache, from the third on a builtin that the object holds runs them."""

from __future__ import annotations

from typing import Any

from irad.call.runtime import Cache, cache_for
from irad.codegen.call import machine as entry
from irad.errors import shortened


def call(called: Any, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function, or a transform of one, compiled for these arguments, as a call of the object `called` with its options.

    Objects that are called again get a class of their own, whose `__call__` is a builtin that needs no Python code.
    """
    cache = cache_for(fn, called.options)
    if called.__dict__.setdefault("_calls", 0):
        attach(called, cache, fn)
    called._calls += 1
    try:
        return cache.run(fn, args, kwargs)
    except Exception as e:
        raise shortened(e)  # noqa: B904


def attach(called: Any, cache: Cache, fn: Any) -> None:
    """Let an object run the programs of a cache by itself."""
    base = type(called)
    if entry.available() and not base.__dict__.get("__slots__") == ():
        names = {"__slots__": (), "__module__": base.__module__, "__qualname__": base.__qualname__, "__doc__": base.__doc__}
        called.__class__ = type(base.__name__, (base,), {**names, "__call__": entry.builtin(cache.cell, fn)})
