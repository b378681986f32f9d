"""Room for lists that grow in loops which nothing bounds, and for arrays of a size that data decides: so many bytes in a version of
a function, and more in the next one.

A version has room for so many elements, and checks where a trip ends that they are not exceeded. If they are, the call begins
again in a version with more room (irad.call.runtime), so what a list takes grows with what it holds. `at` says how much room
versions get that are made meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

from irad.errors import NO_BOUND, IradError, UnsupportedError

T = TypeVar("T")

MESSAGE = "a list that grows in a loop, or an array whose size is computed from data, needs more room"  # of the check
LAST = 4  # the level after which there is no more
ONCE = 2  # the level to begin with where a call cannot begin again: it prints, or calls Python

_level: ContextVar[int] = ContextVar("room", default=0)
_sizes: ContextVar[bool] = ContextVar("sizes", default=True)
_checked: ContextVar[bool] = ContextVar("checked", default=False)


class Outgrown(BaseException):
    """A list has become longer than its version has room for. The call begins again; no handler of the program sees this."""


def level() -> int:
    """How much room versions get that are made now."""
    return _level.get()


def room(level: int, itemsize: int) -> int:
    """For how many elements of so many bytes there is room at a level: 32 KB of them, and 16 times as many at each level above."""
    return max(64, 2 ** (15 + 4 * level) // max(1, itemsize))  # of arrays without elements as of bytes


def extent(level: int) -> int:
    """How large the extent of an array may be that data decides: of such an array each element counts as 64 bytes."""
    return room(level, 64)


@contextmanager
def _while(variable: ContextVar[T], value: T) -> Iterator[None]:
    before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(before)


def at(level: int) -> AbstractContextManager[None]:
    """While versions are made that have the room of a level."""
    return _while(_level, level)


def extents_checked() -> bool:
    """Are extents of new arrays, computed from data, checked against the room, in versions that are made now?"""
    return _checked.get()


def checked_extents() -> AbstractContextManager[None]:
    """While versions are made in which they are: those that nothing else bounds."""
    return _while(_checked, True)


def sizes_vary() -> bool:
    """May an array have another size on each path or trip, in versions that are made now?"""
    return _sizes.get()


def one_size() -> AbstractContextManager[None]:
    """While versions are made in which no array has: loops in which sizes change are written out."""
    return _while(_sizes, False)


def bounded(make: Callable[[], T]) -> T:
    """A version of a function. If its memory cannot be bounded: one that checks extents that data decide, or in which loops are
    written out in which the sizes of arrays change."""
    try:
        return make()
    except UnsupportedError as e:
        if not e.message.startswith(NO_BOUND):
            raise
        for other in (checked_extents, one_size):
            try:
                with other():
                    return make()
            except IradError:
                pass
        raise
