"""How objects that stand in the place of a function, such as a decorated one, are pickled: by the name of the function, as Python
pickles functions."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from typing import Any


def name_of(obj: Any, fn: Any = None) -> str | None:
    """The name under which this very object is found in its module, its own or that of `fn`; None if it is not, or is to be pickled
    with its code."""
    fn = obj if fn is None else fn
    name: str = getattr(fn, "__qualname__", "")
    return name if name and _found(fn) is obj and not _with_code(obj) else None


def stands_for(fn: Any, cls: type) -> Any:
    """What a function is pickled as: the object of that class that has taken its name, else the function."""
    found = _found(fn)
    taken = isinstance(found, cls) and getattr(found, "__wrapped__", None) is fn
    return found if taken and name_of(found, fn) is not None else fn


def reduced(obj: Any, fn: Any, parts: Callable[[], tuple[Any, ...]]) -> str | tuple[Any, ...]:
    """For `__reduce__` of an object made from a function: the function's name if that is the object's now, or what `parts` says."""
    return name_of(obj, fn) or parts()


def _found(obj: Any) -> Any:
    at = sys.modules.get(getattr(obj, "__module__", None) or "")
    for part in (getattr(obj, "__qualname__", None) or "<none>").split("."):
        at = getattr(at, part, None)
    return at


def _with_code(obj: Any) -> bool:
    """Is something of the program that runs to be pickled with its code? Other processes do not know that by name."""
    return obj.__module__ == "__main__" and _by_cloudpickle()


_OURS = (__name__, "pickle", "copy", "irad.api", "irad.custom")


def _by_cloudpickle() -> bool:
    """Is it cloudpickle, or a copy of it in joblib or Dask, that pickles?"""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in _OURS:
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None and "cloudpickle" in frame.f_globals.get("__name__", "")


_arrived: dict[Any, tuple[str, str]] = {}  # code that came from another process -> name and text of its file


def carried(fn: Any) -> tuple[str, str] | None:
    """Name and text of the file of a function that is pickled with its code, which has lost its file's name at the other end.

    It may have come from another process itself, as a task that goes to its worker by way of a scheduler.
    """
    code = _code_of(fn)
    if code is None or not _by_cloudpickle():
        return None
    return _arrived.get(code) or (code.co_filename, "".join(linecache.getlines(code.co_filename)))


def arrived(fn: Any, text: tuple[str, str]) -> None:
    """A function came from another process, with the name and text of its file."""
    code = _code_of(fn)
    if code is not None:
        _arrived[code] = text


def _code_of(fn: Any) -> Any:
    """The code of the innermost function in an object."""
    while not hasattr(fn, "__code__"):
        inner = next((getattr(fn, a) for a in ("__func__", "fun", "__wrapped__", "func") if hasattr(fn, a)), None)
        if inner is None:
            return None
        fn = inner
    return fn.__code__
