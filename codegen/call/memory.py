"""Memory that calls work in and that is kept between calls: arenas, and the memory of tapes.

A call takes a context of its own from the free list of its program and puts it back, so pages stay warm. What is idle is
bounded: before a new context is made, idle ones are freed until the rest hold at most `LIMIT` bytes, beginning
with those of the programs that have made none for the longest time. `release_memory` lets every idle one go. No lock is
held, so a fork finds none taken: each step on shared state is one that the interpreter does not interrupt.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from typing import Protocol

import numpy as np

LIMIT = 1 << 30  # bytes of all contexts, above which idle ones go
HUGE = 1 << 22  # bytes from which on memory lies in huge pages; NumPy's own limit for the arrays it makes
HUGE_PAGE = 1 << 21
ALIGN = 64


class Owner(Protocol):
    """What keeps contexts."""

    def held(self) -> int:
        """Bytes of its idle contexts; those in use may be among them."""

    def release(self) -> int:
        """Let the idle ones go; how many bytes those were."""


_owners: dict[int, weakref.ref[Owner]] = {}  # by identity, the one that made a context last at the end


def keeps(owner: Owner, size: int) -> None:
    """`owner` is about to make a context of `size` bytes: note that, and make room for it."""
    key = id(owner)
    _owners.pop(key, None)
    _owners[key] = weakref.ref(owner, lambda _, key=key, owners=_owners: owners.pop(key, None))  # type: ignore[misc]
    found = [o for r in list(_owners.values()) if (o := r()) is not None]
    total = size + sum(o.held() for o in found)
    for o in found:
        if total <= LIMIT:
            break
        total -= o.release()


def release_memory() -> int:
    """Give back the working memory that compiled functions keep between calls; how many bytes it was.

    What calls that run at the moment (in other threads, or around this one) work in stays with them. Later calls take
    memory anew. Results, what pullbacks keep, and compiled code are not touched.

    >>> slow = irad.compile(lambda x: np.sum(np.cumsum(np.cumsum(x)) ** 2))
    >>> _ = slow(np.ones(100_000))
    >>> irad.release_memory() >= 800_000
    True
    """
    return sum(o.release() for r in list(_owners.values()) if (o := r()) is not None)


def aligned(size: int) -> tuple[np.ndarray, int]:
    """Memory of at least `size` bytes, and the address in it to start from. From `HUGE` bytes on in huge pages where there are."""
    step = HUGE_PAGE if size >= HUGE else ALIGN
    memory = np.empty(max(size, 1) + step, np.uint8)
    start = -(-int(memory.__array_interface__["data"][0]) // step) * step
    if step == HUGE_PAGE:
        _advise(start, size)
    return memory, start


def _advise(start: int, size: int) -> None:
    """Ask for huge pages. It is advice: where it is not taken, nothing is lost."""
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if advice is not None:
        madvise = ctypes.CDLL(None).madvise
        madvise.argtypes, madvise.restype = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int], ctypes.c_int
        madvise(start, size // HUGE_PAGE * HUGE_PAGE, advice)
