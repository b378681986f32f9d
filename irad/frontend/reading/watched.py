"""Code that Python runs while a program is traced may change containers: what it changes is found afterwards, and logged like a store.

So it is undone on the paths where it did not happen. Arrays are read-only meanwhile: their stores are seen only where they are read.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from irad.core.foreign import WRAPPERS
from irad.errors import UnsupportedError
from irad.frontend.reader import Reader
from irad.frontend.reading.subscripts import change
from irad.frontend.values.state import Items

_KINDS = (list, dict, set, collections.deque)


class Watched:
    """A context in which a function is run on `operands`, which stand for `things`."""

    def __init__(self, r: Reader, name: str, things: Sequence[Any], operands: Sequence[Any]):
        self.r, self.name = r, name
        pairs = list(zip(things, operands))
        seen: set[int] = set()
        self.held = [(x, Items(x, "").get()) for t, o in pairs if t is o for x in _containers(t, seen)]
        self.copies = [(t, o, o.copy()) for t, o in pairs if t is not o and type(t) is type(o) and type(t) in (list, dict)]
        self.arrays = [o for o in operands if isinstance(o, np.ndarray) and o.flags.writeable]

    def __enter__(self) -> None:
        for a in self.arrays:
            a.flags.writeable = False

    def __exit__(self, kind: Any, e: Any, trace: Any) -> None:
        for a in self.arrays:
            a.flags.writeable = True
        if isinstance(e, ValueError) and ("read-only" in str(e) or "not writeable" in str(e)):
            raise UnsupportedError(f"{self.name} stores into an array; write the store as x[...] = values") from None
        for x, before in self.held:
            now = Items(x, "").get()
            if not _same(before, now):
                Items(x, "").set(before)
                self._changed(x, now)
        for x, given, before in self.copies:
            if not _same(before, given):
                self._changed(x, self.r.wrap(given))

    def _changed(self, x: Any, now: Any) -> None:
        change(self.r, x)
        Items(x, "").set(now)


def _containers(x: Any, seen: set[int]) -> Iterator[Any]:
    """x and what it holds, if they are containers that can change."""
    if id(x) in seen:
        return
    seen.add(id(x))
    if isinstance(x, _KINDS):
        yield x
    if isinstance(x, WRAPPERS):
        for held in vars(x).values():
            yield from _containers(held, seen)
    elif isinstance(x, (*_KINDS, tuple)):
        for held in x.values() if isinstance(x, dict) else x:
            yield from _containers(held, seen)


def _same(a: Any, b: Any) -> bool:
    """Do two copies of a container hold the same objects in the same order?"""
    if len(a) != len(b):
        return False
    if isinstance(a, dict) and any(x is not y for x, y in zip(a.values(), b.values())):
        return False
    return a == b if isinstance(a, set) else all(x is y for x, y in zip(a, b))
