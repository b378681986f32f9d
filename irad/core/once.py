"""What a process makes once, whichever of its threads asks first.

LLVM's objects are used by one thread at a time; code and tables that machine code points to must not be made twice, one of them to
be dropped. Both are guarded by one lock, which a fork waits for, so that it is free in the child.
So are imports at first use: a module that another thread was importing can never be imported in the child.
Every other lock of the process that code of ours takes is in the same list (`held_at_fork`).
"""

from __future__ import annotations

import functools
import importlib
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
L = TypeVar("L")

COMPILER = threading.RLock()
_held: list[Any] = [COMPILER]  # in the order in which a thread may take them


def held_at_fork(lock: L) -> L:
    """A lock that a fork waits for, so that no thread that is missing in the child holds it there.

    It may be taken by who has COMPILER, and not the other way round.
    """
    with COMPILER:  # no fork is under way
        _held.append(lock)
    return lock


def _take() -> None:
    for lock in _held:
        lock.acquire()


def _give_back() -> None:
    for lock in reversed(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_give_back, after_in_child=_give_back)


@functools.cache
def import_later(name: str) -> Any:
    """A module that few programs need, imported by the first that asks for it; from then on without the lock."""
    with COMPILER:
        return importlib.import_module(name)


def once(f: F) -> F:
    """Like functools.cache for positional arguments; two threads never run `f` at the same time, and get one result."""
    made: dict[tuple[Any, ...], Any] = {}

    @functools.wraps(f)
    def locked(*args: Any) -> Any:
        with COMPILER:
            if args not in made:
                made[args] = f(*args)
            return made[args]

    return functools.cache(locked)  # type: ignore[return-value]  # without Python code from the second call on
