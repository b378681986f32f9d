"""What calls leave behind."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any


def blocks_left(f: Callable[[], Any], n: int) -> int:
    """Memory blocks that n calls leave, after the first ones; the fewest of a few times, as Python itself keeps some now and then."""
    for _ in range(50):
        f()
    return min(_left(f, n) for _ in range(4))


def _left(f: Callable[[], Any], n: int) -> int:
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(n):
        f()
    gc.collect()
    return sys.getallocatedblocks() - before
