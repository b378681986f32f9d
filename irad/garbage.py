"""Garbage collection held off while the compiler is imported or runs.

Both make many objects that live on; walking them again and again takes up to a sixth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No cyclic garbage collection meanwhile, in any thread; at the end it is as it was."""
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()
