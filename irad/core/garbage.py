"""Garbage collection held off while the compiler is imported or runs.

Both make many objects that live on; walking them again and again takes up to a sixth of the time.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_held_off: set[int] = set()  # threads that have switched it off


@contextmanager
def uncollected() -> Iterator[None]:
    """No cyclic garbage collection meanwhile, in any thread; at the end it is as it was."""
    active, thread = gc.isenabled(), threading.get_ident()
    if active:
        _held_off.add(thread)
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()
            _held_off.discard(thread)  # last: a child forked in between enables it again, which does no harm


def all_old() -> None:
    """Let what there is count as old: the next collection of young objects need not walk it, which takes 20 ms after an import.

    Nothing is lost: full collections walk it.
    """
    if hasattr(gc, "freeze") and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


def _after_fork() -> None:
    """Let collection go on in a child process, if another thread of the parent held it off: that thread is not here."""
    if _held_off - {threading.get_ident()}:
        _held_off.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
