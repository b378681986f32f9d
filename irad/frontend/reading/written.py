"""Functions of NumPy and SciPy that are written in NumPy, in irad.frontend.library, and read where a program calls them.

They are read like the user's own functions, with three differences. Errors are at the user's line, not in irad's files
(`Reader.place`). What they read of their modules is no captured state: it does not change. And exceptions that they raise are those of
the function that they stand for.
"""

from __future__ import annotations

from typing import Any

from irad.core.foreign import base_items, is_instance
from irad.errors import IradTypeError, IradValueError
from irad.frontend.python.numbers import builtin
from irad.frontend.reader import Reader
from irad.frontend.reading.watched import Watched
from irad.frontend.registry import Written, known
from irad.frontend.values.arr import is_traced
from irad.frontend.values.objects import reads_traced

LIBRARY = "irad.frontend.library"
_OURS = ((TypeError, IradTypeError), (ValueError, IradValueError))


def in_library(fn: Any) -> bool:
    """Is a function one of irad's own that are written in NumPy?"""
    return str(getattr(fn, "__module__", "")).startswith(LIBRARY)


def call_written(r: Reader, entry: Written, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a function that is written in NumPy, with operands as the program has them."""
    try:
        return r.call(entry.fn, args, kwargs)
    except (TypeError, ValueError) as e:
        kind = next((ours for plain, ours in _OURS if type(e) is plain), None)
        if kind is None or entry.always:  # it may be the user's
            raise
        raise kind(str(e)) from None


def runs_plainly(args: Any, kwargs: Any) -> bool:
    """Can Python run a function of the library: does it know all numbers, and are there no functions or objects that may hold others?"""
    given = [*args, *kwargs.values()]
    return not (reads_traced(given) or _holds_function(given))


def _holds_function(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(map(_holds_function, base_items(x)))
    return callable(x) and not isinstance(x, type) or in_library(type(x)) or is_instance(x)


def run_plainly(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A function of the library on numbers that are known; NotImplemented if it gives an object or a function.

    Those hold arrays, which the program may read at places that it computes: they are made by reading.
    """
    with Watched(r, fn.__name__, [*args, *kwargs.values()]) as watched:
        out = fn(*map(watched.lend, args), **{k: watched.lend(v) for k, v in kwargs.items()})
        return NotImplemented if _holds_function(out) else watched.back(out)


@builtin(known)
def _known(r: Reader, x: Any) -> bool:
    return not is_traced([r.operand(x)])
